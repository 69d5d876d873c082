//! Divergence: problems whose objective has no minimum.

use super::report::Status;

/// A problem without bounds is taken for one without a minimum when the margin cannot be wider than
/// this share of the largest distance from the origin: no data that can be separated at all comes
/// near it. The margin is where decision values reach the largest of the linear terms, which is 1 for
/// a classifier, and grows with the targets of a regression.
const NARROWEST_MARGIN: f64 = 1e-5;
/// The norm, in the feature space, of what a coefficient stands for, beyond which it has outgrown the
/// numbers: the square is not far from the largest there is.
const OUTGROWN: f64 = 1e150;

/// What curvature has to be above for there to be a minimum.
#[derive(Clone, Copy)]
pub(super) struct Floor {
    /// The largest value of the diagonal; 0 where there is a ridge.
    pub largest: f64,
    /// The rounding of the curvature in a direction of length 1; 0 where there is no ridge.
    pub noise: f64,
}

/// Tells how to end where the objective seems to have no minimum, from the coefficient, gradient, linear
/// term and factor of |beta| of each variable.
///
/// Divergence is detected by a certificate: the ray through beta bounds the margin from above. With
/// A the fall of the linear terms and Q = beta' K beta, the minimum of the objective on this ray is
/// -A^2 / (2 Q). For a hard margin the minimum of the whole problem is -1/2 |w|^2, so |w| is at
/// least A / sqrt(Q), and the margin at most s sqrt(Q) / A, where s is the largest linear term.
///
/// With a ridge there is a minimum however narrow the margin, unless the kernel is indefinite: Q below 0
/// is the certificate. Where rounding alone can have made it so, precision is what is lacking.
pub(super) fn diverges(variables: impl Iterator<Item = [f64; 4]>, floor: Floor) -> Option<Status> {
    let (mut fall, mut square, mut scale, mut length) = (0.0, 0.0, 0.0f64, 0.0);
    for [beta, gradient, linear, absolute] in variables {
        fall -= beta * linear + beta.abs() * absolute;
        square += beta * (gradient - linear);
        scale = scale.max(linear.abs() + absolute);
        length += beta * beta;
    }
    if !(fall.is_finite() && square.is_finite()) {
        return Some(Status::Diverged);
    }
    let least = (NARROWEST_MARGIN * fall / scale).powi(2) * floor.largest;
    let status = match square <= least - floor.noise * length {
        true => Status::Diverged,
        false => Status::Precision,
    };
    (fall > 0.0 && square <= least).then_some(status)
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

    const HARD: Floor = Floor {
        largest: 1.0,
        noise: 0.0,
    };

    fn ends(variable: [f64; 4], floor: Floor) -> Option<Status> {
        diverges([variable].into_iter(), floor)
    }

    #[test]
    fn overflow_is_divergence() {
        let variable = |beta| [beta, 1e200, -1.0, 0.0];
        assert_eq!(ends(variable(1e200), HARD), Some(Status::Diverged));
        assert_eq!(ends(variable(1.0), HARD), None);
    }

    #[test]
    fn with_a_ridge_only_a_negative_square_counts() {
        // beta, gradient, linear: K beta is 1e-12 and -1e-12.
        let flat = [1.0, -1.0 + 1e-12, -1.0, 0.0];
        let ridge = |noise| Floor {
            largest: 0.0,
            noise,
        };
        assert_eq!(ends(flat, HARD), Some(Status::Diverged));
        assert_eq!(ends(flat, ridge(0.0)), None);
        let bent = [1.0, -1.0 - 1e-12, -1.0, 0.0];
        assert_eq!(ends(bent, ridge(1e-13)), Some(Status::Diverged));
        assert_eq!(ends(bent, ridge(1e-11)), Some(Status::Precision));
    }

    #[test]
    fn the_scale_of_the_linear_terms_does_not_matter() {
        // K = 1: beta minimises 1/2 beta^2 + linear beta.
        let at_minimum = |linear: f64| [-linear, 0.0, linear, 0.0];
        for linear in [1e-9, 1.0, 1e9] {
            assert_eq!(ends(at_minimum(linear), HARD), None, "{linear}");
        }
    }

    #[test]
    fn how_large_a_coefficient_may_be_depends_on_the_kernel() {
        assert!(has_outgrown(1e151, 1.0) && has_outgrown(f64::NAN, 1.0));
        assert!(!has_outgrown(-1e149, 1.0) && !has_outgrown(1e200, 1e-200));
        assert!(has_outgrown(f64::NEG_INFINITY, 0.0));
    }
}
