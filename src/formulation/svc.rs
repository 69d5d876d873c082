//! The classifier with hinge loss (L1 soft margin), squared hinge loss (L2) or a hard margin.
//!
//! ```text
//! minimise    1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) + b))^k,   k = 1 or 2
//! ```
//!
//! With beta_i = y_i alpha_i its dual is the one programme with linear term -y_i. For k = 1 the
//! bounds are [0, C_i] for y_i = +1 and [-C_i, 0] for y_i = -1; for k = 2 there is no bound on the
//! far side but a ridge of 1 / (2 C_i). An infinite cost makes a hard margin of both. The
//! coefficients sum to zero if b is free.
//!
//! Cortes, Vapnik: Support-vector networks, Machine Learning 20 (1995).

use super::{Intercept, Loss};
use crate::qp::DualProblem;

/// Returns the dual problem of a binary classifier; `positive[i]` says whether y_i is +1, and
/// `cost[i]` is C_i.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// let problem = svc(&[true, false], &[1.0, 2.0], Loss::Linear, Intercept::Free);
/// assert_eq!(problem.linear, [-1.0, 1.0]);
/// assert_eq!((problem.lower[1], problem.upper[1]), (-2.0, 0.0));
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn svc(positive: &[bool], cost: &[f64], loss: Loss, intercept: Intercept) -> DualProblem {
    assert_eq!(positive.len(), cost.len(), "one cost per sample");
    let n = positive.len();
    let far = |cost: f64| loss.bound_and_ridge(cost).0;
    let bound = |yes: bool, cost: f64| if yes { far(cost) } else { 0.0 };
    let pairs = || positive.iter().zip(cost);
    DualProblem {
        linear: positive
            .iter()
            .map(|&yes| if yes { -1.0 } else { 1.0 })
            .collect(),
        absolute: vec![0.0; n],
        lower: pairs().map(|(&yes, &cost)| -bound(!yes, cost)).collect(),
        upper: pairs().map(|(&yes, &cost)| bound(yes, cost)).collect(),
        ridge: cost
            .iter()
            .map(|&cost| loss.bound_and_ridge(cost).1)
            .collect(),
        start: vec![0.0; n],
        constraint: intercept.into(),
    }
}
