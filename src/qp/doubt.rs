//! Doubt: how wrong each gradient may be.
//!
//! A gradient is exact when it has just been computed in f64 from the coefficients. Then rows are
//! added to it, and what they may have made of it is bounded, variable by variable, by
//!
//! ```text
//! the rounding of kernel values   u (r_i + r_j) s_i s_j for each that entered, see `kernel::rounding`
//! the rounding of running sums    one rounding per row of the largest they can have been
//! what was not added              the sizes of kernel values, for variables set aside
//! ```
//!
//! These are worst cases, not estimates. Only the rounding of what was computed in f64 at once is an
//! estimate: [`DEVIATIONS`] standard deviations of a sum of independent roundings.

use super::confirm::estimated_noise;
use super::problem::DualProblem;
use super::task::{DEVIATIONS, Task};
use crate::matrix::{CachedRows, KernelMatrix, Precision, Traffic};

/// Variables whose gradient lacks the changes of coefficients since some time: what these were, in the
/// order of variables.
#[derive(Clone, Debug)]
pub(super) struct Stale {
    pub variables: Vec<u32>,
    pub beta: Vec<f64>,
}

/// Bounds of the errors of gradients.
#[derive(Default)]
pub(super) struct Doubt {
    /// The bounds at some coefficients, and these: since then only what rows were told counts.
    errors: Vec<f64>,
    beta: Vec<f64>,
}

impl Doubt {
    /// Begins with bounds at some coefficients.
    pub fn new(errors: Vec<f64>, beta: &[f64]) -> Self {
        Doubt {
            errors,
            beta: beta.to_vec(),
        }
    }

    /// Begins with a gradient just computed in f64.
    pub fn exact(task: Task, beta: &[f64]) -> Self {
        Doubt::new(vec![rounding(task, beta); beta.len()], beta)
    }

    /// Returns the bounds at other coefficients, reached with these rows.
    pub fn at<T: Precision>(&self, task: Task, beta: &[f64], rows: &CachedRows<T>) -> Vec<f64> {
        let traffic = rows.traffic();
        let mut errors = self.errors.clone();
        let changed: Vec<f64> = beta.iter().zip(&self.beta).map(|(a, b)| a - b).collect();
        // Values that are the same whenever they are computed leave no error where they are taken away
        // again; in f64 those of rows are the ones an exact gradient is made of.
        let values = match (rows.is_repeatable(), rows.is_double()) {
            (true, true) => None,
            (true, false) => Some(&changed),
            (false, _) => Some(&traffic.moved),
        };
        match values {
            Some(factors) => {
                let bounds = task.matrix.errors(factors, rows.roundoff());
                errors
                    .iter_mut()
                    .zip(bounds)
                    .for_each(|(e, bound)| *e += bound);
            }
            // An exact gradient has their rounding in it, too.
            None => {
                let least = rounding(task, beta);
                errors.iter_mut().for_each(|e| *e = e.max(least));
            }
        }
        let sums = self.running_sums(task, traffic);
        errors
            .iter_mut()
            .zip(sums)
            .for_each(|(e, bound)| *e += bound);
        errors
    }

    /// Bounds the rounding of the running sums.
    fn running_sums(&self, task: Task, traffic: &Traffic) -> Vec<f64> {
        let DualProblem { linear, ridge, .. } = task.problem;
        let most = self.beta.iter().zip(&traffic.moved);
        let most: Vec<f64> = most.map(|(beta, moved)| beta.abs() + moved).collect();
        let mut sizes = task.matrix.sizes(&most);
        for (i, size) in sizes.iter_mut().enumerate() {
            let largest = *size + linear[i].abs() + ridge[i] * most[i];
            *size = f64::EPSILON * (traffic.rows + 2) as f64 * largest;
        }
        if traffic.rows == 0 {
            sizes.fill(0.0);
        }
        sizes
    }
}

/// Estimates the rounding of gradients just computed in f64.
pub(super) fn rounding(task: Task, beta: &[f64]) -> f64 {
    rounding_of_product(task.matrix, beta)
}

/// Estimates the rounding of products with the matrix just computed in f64.
pub(super) fn rounding_of_product(matrix: &KernelMatrix, beta: &[f64]) -> f64 {
    DEVIATIONS * estimated_noise::<f64>(matrix, beta)
}

/// Adds to bounds what gradients lack.
pub(super) fn add_stale(task: Task, beta: &[f64], stale: &[Stale], errors: &mut [f64]) {
    for part in stale {
        let lacking: Vec<f64> = beta.iter().zip(&part.beta).map(|(a, b)| a - b).collect();
        if lacking.iter().all(|change| *change == 0.0) {
            continue;
        }
        let sizes = task.matrix.sizes(&lacking);
        for &variable in &part.variables {
            let i = variable as usize;
            errors[i] += match task.matrix.is_bounded() {
                true => sizes[i],
                false => f64::INFINITY,
            };
        }
    }
}
