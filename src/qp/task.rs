//! Task: what all parts of a solve are told.

use super::control::Control;
use super::problem::DualProblem;
use crate::matrix::KernelMatrix;

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Task<'a, 'm> {
    pub problem: &'a DualProblem,
    pub matrix: &'m KernelMatrix<'m>,
    pub control: &'a Control<'a>,
    /// a_i where the matrix lacks a_i + a_j, because the problem is one of centred rows; else empty.
    pub offsets: &'a [f64],
}

impl Task<'_, '_> {
    /// Returns by how much the intercept of the problem is less than that of centred rows, at these
    /// coefficients.
    pub fn shift(&self, beta: &[f64]) -> f64 {
        let terms = self.offsets.iter().zip(beta);
        terms.map(|(offset, beta)| offset * beta).sum()
    }
}
