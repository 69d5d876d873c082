//! Divergence: problems whose objective has no minimum.

/// A problem without bounds is taken for one without a minimum when the margin cannot be wider than
/// this share of the largest distance from the origin: no data that can be separated at all comes
/// near it. The margin is where decision values reach the largest of the linear terms, which is 1 for
/// a classifier, and grows with the targets of a regression.
const NARROWEST_MARGIN: f64 = 1e-5;
/// The norm, in the feature space, of what a coefficient stands for, beyond which it has outgrown the
/// numbers: the square is not far from the largest there is.
const OUTGROWN: f64 = 1e150;

/// Tells whether the objective seems to have no minimum, from the coefficient, gradient, linear
/// term and factor of |beta| of each variable, and the largest value of the diagonal.
///
/// Divergence is detected by a certificate: the ray through beta bounds the margin from above. With
/// A the fall of the linear terms and Q = beta' K beta, the minimum of the objective on this ray is
/// -A^2 / (2 Q). For a hard margin the minimum of the whole problem is -1/2 |w|^2, so |w| is at
/// least A / sqrt(Q), and the margin at most s sqrt(Q) / A, where s is the largest linear term.
///
/// With a ridge there is a minimum however narrow the margin, unless rounding has made the kernel
/// indefinite: `largest` is then to be 0, and Q below 0 is the certificate.
pub(super) fn diverges(variables: impl Iterator<Item = [f64; 4]>, largest: f64) -> bool {
    let (mut fall, mut square, mut scale) = (0.0, 0.0, 0.0f64);
    for [beta, gradient, linear, absolute] in variables {
        fall -= beta * linear + beta.abs() * absolute;
        square += beta * (gradient - linear);
        scale = scale.max(linear.abs() + absolute);
    }
    let overflows = !(fall.is_finite() && square.is_finite());
    overflows || fall > 0.0 && square <= (NARROWEST_MARGIN * fall / scale).powi(2) * largest
}

/// Tells whether a coefficient is too large to go on with, given the size of the values of the diagonal.
pub(super) fn has_outgrown(beta: f64, size: f64) -> bool {
    beta.is_nan() || beta.abs() > OUTGROWN / size.max(f64::MIN_POSITIVE).sqrt()
}

/// Returns the largest size of the values of a diagonal, which are negative for some kernels.
pub(super) fn largest_size(diagonal: &[f64]) -> f64 {
    diagonal.iter().fold(0.0f64, |a, &b| a.max(b.abs()))
}

/// Returns the largest value of a diagonal, at least 0.
pub(super) fn largest(diagonal: &[f64]) -> f64 {
    diagonal.iter().fold(0.0f64, |a, &b| a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_divergence() {
        let variable = |beta| [beta, 1e200, -1.0, 0.0];
        assert!(diverges([variable(1e200)].into_iter(), 1.0));
        assert!(!diverges([variable(1.0)].into_iter(), 1.0));
    }

    #[test]
    fn with_a_ridge_only_a_negative_square_counts() {
        // beta, gradient, linear: K beta is 1e-12 and -1e-12.
        let flat = [1.0, -1.0 + 1e-12, -1.0, 0.0];
        assert!(diverges([flat].into_iter(), 1.0));
        assert!(!diverges([flat].into_iter(), 0.0));
        let bent = [1.0, -1.0 - 1e-12, -1.0, 0.0];
        assert!(diverges([bent].into_iter(), 0.0));
    }

    #[test]
    fn the_scale_of_the_linear_terms_does_not_matter() {
        // K = 1: beta minimises 1/2 beta^2 + linear beta.
        let at_minimum = |linear: f64| [-linear, 0.0, linear, 0.0];
        for linear in [1e-9, 1.0, 1e9] {
            assert!(!diverges([at_minimum(linear)].into_iter(), 1.0), "{linear}");
        }
    }

    #[test]
    fn how_large_a_coefficient_may_be_depends_on_the_kernel() {
        assert!(has_outgrown(1e151, 1.0) && has_outgrown(f64::NAN, 1.0));
        assert!(!has_outgrown(-1e149, 1.0) && !has_outgrown(1e200, 1e-200));
        assert!(has_outgrown(f64::NEG_INFINITY, 0.0));
    }
}
