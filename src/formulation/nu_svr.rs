//! Regression in which nu takes the place of the width of the tube.
//!
//! ```text
//! minimise    1/2 |w|^2 + nu epsilon sum_i C_i + sum_i C_i max(0, |y_i - w.phi(x_i) - b| - epsilon)
//! ```
//!
//! over epsilon >= 0 too. Its dual has two variables per sample, one for each side of the tube, with
//! linear term -y_i and bounds [0, C_i] and [-C_i, 0]; the variables of each side sum to
//! nu / 2 sum_i C_i and to minus that. With t and u the multipliers of the two sums, b = (t + u) / 2
//! and epsilon = (t - u) / 2. When epsilon is zero, both variables of a sample may be different from
//! zero, so they cannot be made one.
//!
//! At most a fraction nu of the samples, by weight, are outside the tube, and at least that
//! fraction are support vectors.
//!
//! Schölkopf, Smola, Williamson, Bartlett: New support vector algorithms, Neural Computation 12
//! (2000).

use super::{check_nu, fill};
use crate::error::Result;
use crate::qp::{Constraint, DualProblem};

/// Returns the dual problem of a regression of n samples; `cost[i]` is C_i. Variables i and n + i
/// both belong to sample i, whose coefficient is their sum.
///
/// ```
/// let problem = mercer::formulation::nu_svr(&[3.0, 4.0], &[1.0, 2.0], 0.5)?;
/// assert_eq!(problem.upper, [1.0, 2.0, 0.0, 0.0]);
/// assert_eq!(problem.start, [0.75, 0.0, -0.75, 0.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If nu is not above 0 and at most 1.
///
/// # Panics
/// If the lengths differ.
pub fn nu_svr(target: &[f64], cost: &[f64], nu: f64) -> Result<DualProblem> {
    assert_eq!(target.len(), cost.len(), "one cost per sample");
    check_nu(nu, 1.0)?;
    let n = target.len();
    let start = fill(nu * cost.iter().sum::<f64>() / 2.0, cost.iter().copied());
    let minus = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<f64>>();
    let (zeros, linear) = (vec![0.0; n], minus(target));
    Ok(DualProblem {
        linear: [linear.as_slice(), &linear].concat(),
        absolute: vec![0.0; 2 * n],
        lower: [zeros.clone(), minus(cost)].concat(),
        upper: [cost, &zeros].concat(),
        ridge: vec![0.0; 2 * n],
        start: [start.clone(), minus(&start)].concat(),
        constraint: Constraint::TwoSums((0..2 * n).map(|variable| variable >= n).collect()),
    })
}
