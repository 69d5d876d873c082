//! Confirming the gap: computing again, in f64, whatever could hide a larger one.
//!
//! Bounds of the errors of gradients ([`Doubt`](super::doubt::Doubt)) tell which variables may reach
//! beyond the thresholds. The gradients of these are computed again, in f64 and from the coefficients;
//! all others count with their bounds. What comes out is a bound of the true gap, but for the rounding
//! of f64 itself, which is estimated.

use super::coordinates::{Coordinates, Point};
use super::kkt::{Thresholds, absorbed};
use super::problem::DualProblem;
use super::task::Task;
use crate::error::{Polled, Stop};
use crate::matrix::KernelMatrix;
use crate::simd::Real;

/// Variables whose gradient is computed again to measure the noise in all of them.
const SAMPLE: usize = 256;
/// A gradient that was not computed again is taken to be at most so much more wrong than the worst of
/// those that were. This decides when rows in f32 are given up, not what is reported.
const UNSEEN: f64 = 1.5;
/// The share of what is left below the tolerance that unconfirmed variables may take up on each side.
const SLACK_SHARE: f64 = 0.25;

/// Returns the gradient at beta of the given variables, computed in f64.
pub(super) fn exact_gradient(task: Task, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
    let problem = task.problem;
    let mut gradient = task.matrix.product(beta, at, stop)?;
    for (&i, gradient) in at.iter().zip(&mut gradient) {
        let i = i as usize;
        *gradient += problem.linear[i] + problem.ridge[i] * beta[i];
    }
    Ok(gradient)
}

/// Estimates the rounding error of the gradient with rows of type T: independent errors of the row
/// entries.
pub(super) fn estimated_noise<T: Real>(matrix: &KernelMatrix, beta: &[f64]) -> f64 {
    matrix.noise::<T>() * length(beta)
}

/// The Euclidean norm.
pub(super) fn length(beta: &[f64]) -> f64 {
    beta.iter().map(|beta| beta * beta).sum::<f64>().sqrt()
}

/// Returns a sample of `n` positions for [`measured_noise`], spread evenly.
pub(super) fn sample(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(n.div_ceil(SAMPLE).max(1))
}

/// Estimates how wrong the gradient is from that of a few variables, given with what was found for
/// them.
pub(super) fn measured_noise(task: Task, beta: &[f64], found: &[(u32, f64)]) -> Polled<f64> {
    let variables: Vec<u32> = found.iter().map(|&(variable, _)| variable).collect();
    let exact = exact_gradient(task, beta, &variables, &|| task.control.stop())?;
    let errors = exact.into_iter().zip(found);
    let worst = errors.fold(0.0f64, |worst, (exact, &(_, found))| {
        worst.max((exact - found).abs())
    });
    Ok(UNSEEN * worst)
}

/// Returns the largest gap there can be if each gradient is at most so wrong.
pub(super) fn bounded_gap(problem: &DualProblem, at: &Coordinates, errors: &[f64]) -> f64 {
    let mut thresholds = Thresholds::at(at, &problem.constraint);
    for (i, &error) in errors.iter().enumerate() {
        let point = at.point(i);
        // Overflow is no proof of anything.
        if !point.gradient.is_finite() || error.is_nan() {
            return f64::INFINITY;
        }
        for gradient in [point.gradient - error, point.gradient + error] {
            let group = problem.constraint.group(i);
            thresholds.include(group, Point { gradient, ..point });
        }
    }
    if let Some(descent) = absorbed(at, &problem.constraint) {
        // Added up exactly, and then rounded.
        for share in [1.0 - f64::EPSILON, 1.0 + f64::EPSILON] {
            thresholds.include_value(0, share * descent);
        }
    }
    thresholds.gap()
}

/// Returns the variables whose gradient has to be known better: those that may reach beyond the
/// thresholds of the others by more than a share of what these leave below the tolerance.
pub(super) fn in_doubt(
    problem: &DualProblem,
    at: &Coordinates,
    errors: &[f64],
    tolerance: f64,
) -> Vec<u32> {
    let thresholds = Thresholds::at(at, &problem.constraint);
    let (mut most, mut least) = ([0.0; 2], [0.0; 2]);
    for group in 0..problem.constraint.groups() {
        let (m, big_m) = (thresholds.m(group), thresholds.big_m(group));
        let slack = SLACK_SHARE * (tolerance - (m - big_m)).max(0.0);
        // Where one threshold is missing there is no slack to speak of.
        let slack = if slack.is_finite() { slack } else { 0.0 };
        (most[group], least[group]) = (m + slack, big_m - slack);
    }
    let reaches = |i: usize| {
        let (point, error, group) = (at.point(i), errors[i], problem.constraint.group(i));
        let inside = (!point.may_grow() || point.up() + error <= most[group])
            && (!point.may_shrink() || point.down() - error >= least[group]);
        !inside && error > 0.0
    };
    let variables = (0..at.len()).filter(|&i| reaches(i));
    variables.map(|i| i as u32).collect()
}
