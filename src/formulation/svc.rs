//! The classifier with hinge loss (L1 soft margin).
//!
//! ```text
//! minimise    1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) + b))
//! ```
//!
//! With beta_i = y_i alpha_i its dual is the one programme with linear term -y_i, bounds [0, C_i]
//! for y_i = +1 and [-C_i, 0] for y_i = -1, no ridge, and the coefficients summing to zero.
//!
//! Cortes, Vapnik: Support-vector networks, Machine Learning 20 (1995).

use crate::qp::DualProblem;

/// Returns the dual problem of a binary classifier; `positive[i]` says whether y_i is +1, and
/// `cost[i]` is C_i.
///
/// ```
/// let problem = mercer::formulation::hinge(&[true, false], &[1.0, 2.0]);
/// assert_eq!(problem.linear, [-1.0, 1.0]);
/// assert_eq!((problem.lower[1], problem.upper[1]), (-2.0, 0.0));
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn hinge(positive: &[bool], cost: &[f64]) -> DualProblem {
    assert_eq!(positive.len(), cost.len(), "one cost per sample");
    let n = positive.len();
    let pick = |yes: bool, cost: f64| if yes { cost } else { 0.0 };
    let pairs = || positive.iter().zip(cost);
    DualProblem {
        linear: positive
            .iter()
            .map(|&yes| if yes { -1.0 } else { 1.0 })
            .collect(),
        lower: pairs().map(|(&yes, &cost)| -pick(!yes, cost)).collect(),
        upper: pairs().map(|(&yes, &cost)| pick(yes, cost)).collect(),
        ridge: vec![0.0; n],
        start: vec![0.0; n],
    }
}
