//! Task: what all parts of a solve are told.

use super::control::Control;
use super::divergence::{Floor, largest};
use super::problem::DualProblem;
use crate::matrix::KernelMatrix;
use crate::simd::Real;

/// Standard deviations of the rounding of a sum in f64 that are taken for its bound.
pub(super) const DEVIATIONS: f64 = 8.0;

/// A variable without bounds is held by its ridge alone, which has to be so many times the noise of
/// kernel values.
const RESOLVED_RIDGE: f64 = 64.0;

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Task<'a, 'm> {
    pub problem: &'a DualProblem,
    pub matrix: &'m KernelMatrix<'m>,
    pub control: &'a Control<'a>,
    /// a_i where the matrix lacks a_i + a_j, because the problem is one of centred rows; else empty.
    pub offsets: &'a [f64],
    /// The smallest ridge of a variable without a bound: see [`DualProblem::least_ridge`].
    pub least_ridge: f64,
}

impl<'a, 'm> Task<'a, 'm> {
    /// Returns the task of solving a problem; `offsets` are those of centred rows, if it is one of these.
    pub fn new(
        problem: &'a DualProblem,
        matrix: &'m KernelMatrix<'m>,
        control: &'a Control<'a>,
        offsets: &'a [f64],
    ) -> Self {
        Task {
            least_ridge: problem.least_ridge(),
            problem,
            matrix,
            control,
            offsets,
        }
    }

    /// Tells whether there may be no minimum with rows of type T: a variable without bounds has no ridge,
    /// or one that the noise of kernel values hides.
    pub fn may_diverge<T: Real>(&self) -> bool {
        self.least_ridge <= RESOLVED_RIDGE * self.matrix.noise::<T>()
    }

    /// Tells whether there may be no minimum, be it that the kernel is not positive semi-definite and some
    /// variable has no bounds.
    pub fn may_be_unbounded(&self) -> bool {
        let held = self.least_ridge == f64::INFINITY || self.matrix.is_semidefinite();
        !held || self.may_diverge::<f64>()
    }

    /// Tells whether a ridge holds variables without bounds, but rounding hides it.
    pub fn hides_ridge(&self) -> bool {
        self.least_ridge > 0.0 && self.may_diverge::<f64>()
    }

    /// Returns what curvature has to be above for there to be a minimum.
    pub fn floor(&self) -> Floor {
        match self.least_ridge > 0.0 {
            true => Floor {
                largest: 0.0,
                noise: DEVIATIONS * self.matrix.noise::<f64>(),
            },
            false => Floor {
                largest: largest(self.matrix.diagonal()),
                noise: 0.0,
            },
        }
    }

    /// Returns by how much the intercept of the problem is less than that of centred rows, at these
    /// coefficients.
    pub fn shift(&self, beta: &[f64]) -> f64 {
        let terms = self.offsets.iter().zip(beta);
        terms.map(|(offset, beta)| offset * beta).sum()
    }
}
