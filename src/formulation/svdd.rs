//! Novelty detection by the smallest sphere around the samples.
//!
//! ```text
//! minimise    R^2 + 1/(nu m) sum_i w_i max(0, |phi(x_i) - a|^2 - R^2)^k,   k = 1 or 2
//! ```
//!
//! with m the sum of the weights w_i. Its dual, halved, is the one programme with linear term
//! -K_ii / 2 and coefficients that sum to 1; the centre is a = sum_i beta_i phi(x_i). For k = 1 the
//! bounds are [0, w_i / (nu m)]; for k = 2 they are [0, infinity) with a ridge of nu m / (4 w_i).
//! With b the intercept, R^2 = 2 b + |a|^2. For k = 2 nothing keeps R^2 from being negative, which
//! it is when the samples are closer together than nu asks for: then no point is inside.
//!
//! For k = 1 at most a fraction nu of the samples, by weight, are outside, and at least that
//! fraction are support vectors.
//!
//! Tax, Duin: Support vector data description, Machine Learning 54 (2004).

use super::{Loss, boundary_shift, one_class};
use crate::error::Result;
use crate::qp::DualProblem;

/// Returns the dual problem of a detector; `diagonal[i]` is K_ii.
///
/// ```
/// use mercer::formulation::{Loss, svdd};
/// let problem = svdd(&[1.0, 4.0], &[1.0, 1.0], 0.8, Loss::Linear)?;
/// assert_eq!((&problem.linear, problem.upper[0]), (&vec![-0.5, -2.0], 0.625));
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If nu is not above 0 and at most 1.
///
/// # Panics
/// If the lengths differ.
pub fn svdd(diagonal: &[f64], weight: &[f64], nu: f64, loss: Loss) -> Result<DualProblem> {
    assert_eq!(diagonal.len(), weight.len(), "one weight per sample");
    let mut problem = one_class(weight, nu, loss)?;
    let sum = nu * weight.iter().sum::<f64>();
    problem.linear = diagonal.iter().map(|value| -value / 2.0).collect();
    for value in problem.upper.iter_mut().chain(&mut problem.start) {
        *value /= sum;
    }
    problem.ridge.iter_mut().for_each(|ridge| *ridge /= 2.0);
    Ok(problem)
}

/// Returns the tolerance of the problem that makes its boundary as accurate as `tolerance` makes that of
/// the one-class machine, whose coefficients are nu m times larger; m is the sum of the weights.
pub(crate) fn tolerance_of_sphere(tolerance: f64, nu: f64, total: f64) -> f64 {
    tolerance / (nu * total).max(1.0)
}

/// Returns R^2 of the sphere with the intercept of its problem and |a|^2, moved outwards so far that
/// support vectors on the boundary are inside.
pub(crate) fn squared_radius(intercept: f64, squared_norm: f64, gap: f64, tolerance: f64) -> f64 {
    let squared_radius = 2.0 * intercept + squared_norm;
    let size = squared_radius.abs() + squared_norm.abs();
    // R^2 is twice the threshold of the programme, and so is the shift.
    squared_radius + 2.0 * boundary_shift(gap, tolerance, size)
}

/// By how many roundings the diagonal of a constant kernel may vary. One value takes a few, whatever
/// the number of features, since those of a sum mostly cancel.
const DIAGONAL_ROUNDINGS: f64 = 100.0;

/// Returns k(x, x) if the diagonal of a precomputed kernel matrix is constant, as that of a normalised
/// kernel is. Only then are distances to new points known, of which the matrix does not hold k(z, z).
///
/// Constant means to 100 roundings in the precision of the matrix, in which `epsilon` is the distance
/// from 1 to the next number: to 1e-5 of the value in `f32`, to 2e-14 in `f64`.
///
/// ```
/// use mercer::formulation::constant_diagonal;
/// let diagonal = [2.0, 2.000001];
/// assert!(constant_diagonal(&diagonal, f32::EPSILON.into()).is_some());
/// assert_eq!(constant_diagonal(&diagonal, f64::EPSILON), None);
/// ```
pub fn constant_diagonal(diagonal: &[f64], epsilon: f64) -> Option<f64> {
    let (low, high) = diagonal
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
    let rounding = epsilon * low.abs().max(high.abs());
    (high - low <= DIAGONAL_ROUNDINGS * rounding).then_some((low + high) / 2.0)
}
