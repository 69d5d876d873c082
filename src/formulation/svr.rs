//! Regression: the distance of a value from f is charged by a convex loss.
//!
//! ```text
//! minimise    1/2 |w|^2 + sum_i C_i loss(y_i - w.phi(x_i) - b)
//! ```
//!
//! Its dual is the one programme with linear term -y_i and, for each coefficient, the conjugate of
//! C_i times the loss, which for all of them is absolute |beta| + ridge beta^2 / 2 between two bounds:
//!
//! ```text
//! loss of the residual r                                   bounds               ridge        absolute
//! max(0, |r| - epsilon)                                    [-C, C]              0            epsilon
//! max(0, |r| - epsilon)^2                                  none                 1 / (2 C)    epsilon
//! r^2 / 2 up to delta, then delta (|r| - delta / 2)        [-C delta, C delta]  1 / C        0
//! max(q r, (q - 1) r)                                      [(q - 1) C, q C]     0            0
//! r^2                                                      none                 1 / (2 C)    0
//! ```
//!
//! The dual of the tube is usually written with two variables per sample, of which at most one is not
//! zero at the optimum: beta_i is their difference and |beta_i| their sum. The coefficients sum to zero
//! if b is free. For an infinite cost f must stay within the tube, or go through the points.
//!
//! Smola, Schölkopf: A tutorial on support vector regression, Statistics and Computing 14 (2004).
//! Takeuchi, Le, Sears, Smola: Nonparametric quantile estimation, JMLR 7 (2006).

use super::{Intercept, SvrLoss};
use crate::qp::DualProblem;

/// Returns the dual problem of a regression; `cost[i]` is C_i, and `epsilon` half the width of the tube
/// of the losses that have one.
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
    loss: impl Into<SvrLoss>,
    intercept: Intercept,
) -> DualProblem {
    let loss = loss.into();
    assert_eq!(target.len(), cost.len(), "one cost per sample");
    let terms = || cost.iter().map(|&cost| loss.conjugate(cost, epsilon));
    DualProblem {
        linear: target.iter().map(|target| -target).collect(),
        absolute: terms().map(|term| term.absolute).collect(),
        lower: terms().map(|term| term.lower).collect(),
        upper: terms().map(|term| term.upper).collect(),
        ridge: terms().map(|term| term.ridge).collect(),
        start: vec![0.0; target.len()],
        constraint: intercept.into(),
    }
}
