//! The classifier with hinge loss (L1 soft margin), squared hinge loss (L2), a hard margin, or least
//! squares.
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
//! With C_i (1 - y_i f(x_i))^2, least squares, rows beyond the margin pay as well: there is no bound
//! on either side, and a ridge of 1 / (2 C_i). An infinite cost makes f(x_i) = y_i of it, with the
//! least norm: the Adaline in feature space.
//!
//! Suykens, Vandewalle: Least squares support vector machine classifiers, Neural Processing Letters 9
//! (1999).
//! Cortes, Vapnik: Support-vector networks, Machine Learning 20 (1995).

use super::{Intercept, SvcLoss};
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
pub fn svc(
    positive: &[bool],
    cost: &[f64],
    loss: impl Into<SvcLoss>,
    intercept: Intercept,
) -> DualProblem {
    let loss = loss.into();
    assert_eq!(positive.len(), cost.len(), "one cost per sample");
    let n = positive.len();
    let terms = positive.iter().zip(cost).map(|(&yes, &cost)| {
        let ((least, most), ridge) = loss.bounds_and_ridge(cost);
        // y beta is between least and most.
        let (lower, upper) = if yes { (least, most) } else { (-most, -least) };
        (lower, (upper, ridge))
    });
    // Minus zero is no bound that anyone should see.
    let (lower, rest): (Vec<f64>, Vec<(f64, f64)>) = terms
        .map(|(lower, (upper, ridge))| (lower + 0.0, (upper + 0.0, ridge)))
        .unzip();
    let (upper, ridge) = rest.into_iter().unzip();
    DualProblem {
        linear: positive
            .iter()
            .map(|&yes| if yes { -1.0 } else { 1.0 })
            .collect(),
        absolute: vec![0.0; n],
        lower,
        upper,
        ridge,
        start: vec![0.0; n],
        constraint: intercept.into(),
    }
}
