//! The settings of the Kernel-Adatron.

use crate::error::{Error, Result};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::control::{Monitor, StopRule};
use crate::qp::driver;
use crate::qp::problem::DualProblem;
use crate::qp::report::Solution;
use crate::qp::settings::solver_methods;

/// The Kernel-Adatron and its settings.
///
/// ```
/// use mercer::{Kernel, Svc, qp::Adatron};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let svc = Svc::new(Kernel::rbf(1.0)).c(10.0).solver(Adatron::new().eta(1.2));
/// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.predict(x.view())?, [0, 0, 1, 1]);
/// assert_eq!(model.machines().histories[0].len() as u64, model.reports()[0].iterations);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Adatron {
    /// When to stop; iterations are epochs.
    pub stop: StopRule,
    /// The length of a step, as a share of that to the top: above 0 and below 2.
    pub eta: f64,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
}

impl Default for Adatron {
    fn default() -> Self {
        Adatron {
            stop: StopRule::default(),
            eta: 1.0,
            cache_bytes: None,
        }
    }
}

solver_methods!(Adatron, "epochs");

impl Adatron {
    /// Sets the length of a step, as a share of that to the top.
    ///
    /// ```
    /// assert_eq!(mercer::qp::Adatron::new().eta(0.5).eta, 0.5);
    /// ```
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    /// Checks the length of steps.
    pub(crate) fn check_eta(&self) -> Result<()> {
        if self.eta > 0.0 && self.eta < 2.0 {
            return Ok(());
        }
        let allowed =
            "above 0 and below 2 (outside, steps overshoot and the objective need not rise)";
        Err(Error::parameter("eta", allowed, self.eta))
    }

    /// Solves a problem. Running out of time or epochs is a [`Status`](crate::qp::Status), not an
    /// error.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[false, true], &[9.0, 9.0], Loss::Linear, Intercept::Free);
    /// let solution = Adatron::default().solve(&problem, &matrix, &Unwatched)?;
    /// assert!((solution.beta[1] - 0.5).abs() < 1e-3); // f(x) = x
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If eta is not above 0 and below 2, the constraint fixes two sums, the kernel need not be
    /// positive semi-definite and the constraint fixes the sum, or as
    /// [`Smo::solve`](crate::qp::Smo::solve).
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        driver::solve(self, problem, &mut KernelRows::new(matrix), monitor)
    }

    /// Solves a problem with rows that have served others before; the budget of memory is that of
    /// the first.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::matrix::{KernelMatrix, KernelRows};
    /// # use mercer::{Kernel, Samples, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let mut rows = KernelRows::new(&matrix);
    /// let problem = svc(&[false, true], &[0.1, 0.1], Loss::Linear, Intercept::None);
    /// let solution = Adatron::default().solve_on(&problem, &mut rows, &Unwatched)?;
    /// assert_eq!(solution.beta, [-0.1, 0.1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_on(
        &self,
        problem: &DualProblem,
        rows: &mut KernelRows,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        driver::solve(self, problem, rows, monitor)
    }
}
