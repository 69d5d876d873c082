//! Divergence: problems whose objective has no minimum.

/// A problem without bounds is taken for one without a minimum when the margin cannot be wider than
/// this share of the largest distance from the origin: no data that can be separated at all comes
/// near it.
const NARROWEST_MARGIN: f64 = 1e-5;

/// Tells whether the objective seems to have no minimum, from the coefficient, gradient, linear
/// term and factor of |beta| of each variable, and the largest value of the diagonal.
///
/// Divergence is detected by a certificate: the ray through beta bounds the margin from above. With
/// A the fall of the linear terms and Q = beta' K beta, the minimum of the objective on this ray is
/// -A^2 / (2 Q). For a hard margin the minimum of the whole problem is -1/2 |w|^2, so |w| is at
/// least A / sqrt(Q), and the margin at most sqrt(Q) / A.
pub(super) fn diverges(variables: impl Iterator<Item = [f64; 4]>, largest: f64) -> bool {
    let (mut fall, mut square) = (0.0, 0.0);
    for [beta, gradient, linear, absolute] in variables {
        fall -= beta * linear + beta.abs() * absolute;
        square += beta * (gradient - linear);
    }
    fall > 0.0 && square <= (NARROWEST_MARGIN * fall).powi(2) * largest
}

/// Returns the largest value of a diagonal, at least 0.
pub(super) fn largest(diagonal: &[f64]) -> f64 {
    diagonal.iter().fold(0.0f64, |a, &b| a.max(b))
}
