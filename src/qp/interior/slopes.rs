//! Slopes: the gradient with the multipliers of the sums, computed from the coefficients.

use super::design::{Design, WHAT};
use crate::error::Polled;
use crate::qp::task::Task;
use crate::simd::memory;

/// What the equations of a step are made of.
pub(super) struct Slopes {
    /// e: the gradient of the smooth part, and of the penalty of a sum, and the multipliers of the sums
    /// that are fixed.
    pub slope: Vec<f64>,
    /// What e has beside the gradient, by group.
    pub offsets: Vec<f64>,
    /// What the sums that are fixed lack.
    pub lack: Vec<f64>,
}

impl Slopes {
    /// Computes them at some coefficients and multipliers.
    pub fn at(task: Task, design: &Design, beta: &[f64], multipliers: &[f64]) -> Polled<Self> {
        let problem = task.problem;
        let stop = || task.control.stop();
        let mut vector = design.transposed(beta, &stop)?;
        let sums = vector.len() - multipliers.len();
        let mut lack = vec![0.0; multipliers.len()];
        for (i, start) in problem.start.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            if let Some(lack) = lack.get_mut(problem.constraint.group(i)) {
                *lack += start;
            }
        }
        for (lack, sum) in lack.iter_mut().zip(&vector[sums..]) {
            *lack -= sum;
        }
        vector[sums..].copy_from_slice(multipliers);
        let mut slope: Vec<f64> = memory::zeros(beta.len(), WHAT)?;
        design.times(&vector, &mut slope, &stop)?;
        for (i, slope) in slope.iter_mut().enumerate() {
            *slope += problem.ridge[i] * beta[i] + problem.linear[i];
        }
        Ok(Slopes {
            slope,
            offsets: vector.split_off(design.features()),
            lack,
        })
    }
}
