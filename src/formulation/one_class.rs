//! Novelty detection by a plane that separates the samples from the origin.
//!
//! ```text
//! minimise    1/2 |w|^2 - rho + 1/(nu m) sum_i w_i max(0, rho - w.phi(x_i))^k,   k = 1 or 2
//! ```
//!
//! with m the sum of the weights w_i. Its dual, with everything multiplied by nu m as in LIBSVM, is
//! the one programme without a linear term and with coefficients that sum to nu m. For k = 1 the
//! bounds are [0, w_i]; for k = 2 they are [0, infinity) with a ridge of nu m / (2 w_i). The
//! intercept is -rho.
//!
//! For k = 1 at most a fraction nu of the samples, by weight, are outside, and at least that
//! fraction are support vectors.
//!
//! Schölkopf, Platt, Shawe-Taylor, Smola, Williamson: Estimating the support of a high-dimensional
//! distribution, Neural Computation 13 (2001).

use super::{Loss, check_nu, fill};
use crate::error::Result;
use crate::qp::{Constraint, DualProblem};

/// Returns the dual problem of a detector.
///
/// ```
/// use mercer::formulation::{Loss, one_class};
/// let problem = one_class(&[1.0, 1.0, 1.0], 0.5, Loss::Linear)?;
/// assert_eq!(problem.start, [1.0, 0.5, 0.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If nu is not above 0 and at most 1.
pub fn one_class(weight: &[f64], nu: f64, loss: Loss) -> Result<DualProblem> {
    check_nu(nu, 1.0)?;
    let n = weight.len();
    let sum = nu * weight.iter().sum::<f64>();
    let (upper, ridge) = match loss {
        Loss::Linear => (weight.to_vec(), vec![0.0; n]),
        Loss::Squared => (
            vec![f64::INFINITY; n],
            weight.iter().map(|weight| sum / (2.0 * weight)).collect(),
        ),
    };
    Ok(DualProblem {
        linear: vec![0.0; n],
        absolute: vec![0.0; n],
        lower: vec![0.0; n],
        upper,
        ridge,
        // The weights bound the start in both cases: a share nu of them is enough.
        start: fill(sum, weight.iter().copied()),
        constraint: Constraint::Sum,
    })
}

/// Roundings of a score, as a multiple of those of a single operation.
const ROUNDINGS: f64 = 32.0;

/// Returns how far outside a sample on the boundary may seem.
///
/// The support vectors on the boundary are outside or inside by what the solver left to do, which is
/// the gap but not more than the tolerance, and by the rounding of scores of this size. Moved
/// outwards by that much, the boundary has all of them inside, and at most the share nu of the samples
/// outside.
pub(crate) fn boundary_shift(gap: f64, tolerance: f64, size: f64) -> f64 {
    gap.min(tolerance).max(0.0) + ROUNDINGS * f64::EPSILON * size
}
