//! The classifiers that train the machines of all classes as one problem.
//!
//! ```text
//! Weston, Watkins   minimise  1/2 sum_m |w_m|^2 + sum_i C_i sum over m != y_i of xi_im
//!                   with      f_{y_i}(x_i) - f_m(x_i) >= 2 - xi_im,   xi_im >= 0
//! Crammer, Singer   minimise  1/2 sum_m |w_m|^2 + sum_i C_i xi_i
//!                   with      f_{y_i}(x_i) - f_m(x_i) >= 1 - xi_i,    xi_i >= 0
//! ```
//!
//! f_m(z) = w_m.phi(z) + b_m, and the class is the m with the largest. With alpha_im the multiplier of
//! the condition of m != y_i, w_m = sum_i beta_im phi(x_i) for
//!
//! ```text
//! beta_im = -alpha_im  for m != y_i,     beta_iy = sum over m != y_i of alpha_im
//! ```
//!
//! so every row of beta adds up to zero, and the dual of both is the problem of a table with the linear
//! term -2 beta_iy, or -beta_iy. They differ in the bounds: each alpha_im is at most C_i, or their sum
//! beta_iy is. Columns add up to zero if b is free. An infinite cost makes a hard margin of both.
//!
//! Only differences of the f_m count, so the w_m add up to zero, and of the b_m those with a sum of zero
//! are taken. With two classes the first is the classifier of `svc` with the same costs, f_1 = -f_0 = f;
//! the second has f_1 - f_0 = f of twice the costs.
//!
//! Weston, Watkins: Multi-class support vector machines, ESANN (1999).
//! Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2
//! (2001).

use super::Intercept;
use crate::qp::TableProblem;

/// Returns the problem of Weston and Watkins; `labels` are class numbers, and `cost[i]` is C_i.
///
/// ```
/// use mercer::formulation::{Intercept, weston_watkins};
/// let problem = weston_watkins(&[1], &[3.0], 3, Intercept::Free);
/// assert_eq!(problem.linear, [0.0, -2.0, 0.0]);
/// assert_eq!(problem.lower, [-3.0, 0.0, -3.0]);
/// ```
///
/// # Panics
/// If the lengths differ, or a label is not below `classes`.
pub fn weston_watkins(
    labels: &[usize],
    cost: &[f64],
    classes: usize,
    intercept: Intercept,
) -> TableProblem {
    let all = |cost: f64| (f64::INFINITY, -cost);
    table(labels, cost, classes, (intercept, 2.0, &all))
}

/// Returns the problem of Crammer and Singer; `labels` are class numbers, and `cost[i]` is C_i.
///
/// ```
/// use mercer::formulation::{Intercept, crammer_singer};
/// let problem = crammer_singer(&[1], &[3.0], 3, Intercept::Free);
/// assert_eq!(problem.linear, [0.0, -1.0, 0.0]);
/// assert_eq!(problem.upper, [0.0, 3.0, 0.0]);
/// ```
///
/// # Panics
/// If the lengths differ, or a label is not below `classes`.
pub fn crammer_singer(
    labels: &[usize],
    cost: &[f64],
    classes: usize,
    intercept: Intercept,
) -> TableProblem {
    let largest = |cost: f64| (cost, f64::NEG_INFINITY);
    table(labels, cost, classes, (intercept, 1.0, &largest))
}

/// Makes the table; `kind` has the intercept, the margin, and the upper bound of the coefficient of a
/// sample's own class and the lower bound of the others at a cost.
fn table(
    labels: &[usize],
    cost: &[f64],
    classes: usize,
    kind: (Intercept, f64, &dyn Fn(f64) -> (f64, f64)),
) -> TableProblem {
    assert_eq!(labels.len(), cost.len(), "one cost per sample");
    let (intercept, margin, bounds) = kind;
    let length = labels.len() * classes;
    let mut problem = TableProblem {
        columns: classes,
        linear: vec![0.0; length],
        lower: vec![0.0; length],
        upper: vec![0.0; length],
        constraint: intercept.into(),
    };
    for (i, (&label, &cost)) in labels.iter().zip(cost).enumerate() {
        assert!(label < classes, "a label below the number of classes");
        let (own, other) = bounds(cost);
        problem.lower[i * classes..(i + 1) * classes].fill(other);
        let at = i * classes + label;
        (problem.linear[at], problem.lower[at], problem.upper[at]) = (-margin, 0.0, own);
    }
    problem
}
