//! Regression with a tube of width epsilon, charged by the distance from it or its square.
//!
//! ```text
//! minimise    1/2 |w|^2 + sum_i C_i max(0, |y_i - w.phi(x_i) - b| - epsilon)^k,   k = 1 or 2
//! ```
//!
//! Its dual is usually written with two variables per sample, of which at most one is not zero at
//! the optimum. They are the two sides of one: with beta_i = alpha_i - alpha*_i and
//! alpha_i + alpha*_i = |beta_i| it is the one programme with linear term -y_i and epsilon as the
//! factor of |beta_i|. For k = 1 the bounds are [-C_i, C_i]; for k = 2 there are none but a ridge
//! of 1 / (2 C_i). The coefficients sum to zero if b is free.
//!
//! Smola, Schölkopf: A tutorial on support vector regression, Statistics and Computing 14 (2004).

use super::{Intercept, Loss};
use crate::qp::DualProblem;

/// Returns the dual problem of a regression; `cost[i]` is C_i.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svr};
/// let problem = svr(&[3.0, 4.0], &[1.0, 2.0], 0.1, Loss::Linear, Intercept::Free);
/// assert_eq!((&problem.linear, &problem.absolute), (&vec![-3.0, -4.0], &vec![0.1, 0.1]));
/// assert_eq!((problem.lower[1], problem.upper[1]), (-2.0, 2.0));
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn svr(
    target: &[f64],
    cost: &[f64],
    epsilon: f64,
    loss: Loss,
    intercept: Intercept,
) -> DualProblem {
    assert_eq!(target.len(), cost.len(), "one cost per sample");
    let n = target.len();
    let (upper, ridge): (Vec<f64>, Vec<f64>) =
        cost.iter().map(|&cost| loss.bound_and_ridge(cost)).unzip();
    DualProblem {
        linear: target.iter().map(|target| -target).collect(),
        absolute: vec![epsilon; n],
        lower: upper.iter().map(|upper| -upper).collect(),
        upper,
        ridge,
        start: vec![0.0; n],
        constraint: intercept.into(),
    }
}
