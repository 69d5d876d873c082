//! The settings of the nearest-point algorithm.

use crate::error::Result;
use crate::matrix::KernelMatrix;
use crate::matrix::KernelRows;
use crate::qp::control::{Monitor, StopRule};
use crate::qp::driver;
use crate::qp::problem::DualProblem;
use crate::qp::report::Solution;
use crate::qp::settings::solver_methods;

/// The nearest-point algorithm and its settings: for hard margins and squared errors.
///
/// ```
/// use mercer::{Kernel, Svc, qp::Npa};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let svc = Svc::new(Kernel::rbf(1.0)).c(f64::INFINITY).solver(Npa::new());
/// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.predict(x.view())?, [0, 0, 1, 1]);
/// assert!(!model.machines().histories[0].is_empty());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Npa {
    /// When to stop.
    pub stop: StopRule,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
}

solver_methods!(Npa, "steps");

impl Npa {
    /// Solves a problem. Running out of time or steps is a [`Status`](crate::qp::Status), not an error.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Npa, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let costs = [f64::INFINITY; 2];
    /// let problem = svc(&[false, true], &costs, Loss::Linear, Intercept::Free);
    /// let solution = Npa::new().solve(&problem, &matrix, &Unwatched)?;
    /// assert_eq!(solution.beta, [-0.5, 0.5]); // f(x) = x
    /// let soft = svc(&[false, true], &[1.0, 1.0], Loss::Linear, Intercept::Free);
    /// assert!(Npa::new().solve(&soft, &matrix, &Unwatched).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If coefficients have upper bounds, linear terms are not 1 or -1, two sums are fixed, the kernel
    /// need not be positive semi-definite, or as [`Smo::solve`](crate::qp::Smo::solve).
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        driver::solve(self, problem, &mut KernelRows::new(matrix), monitor)
    }
}
