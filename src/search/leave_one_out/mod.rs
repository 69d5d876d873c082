//! Leaving one out: the decision value of every row, by the machine that is trained on all others.
//!
//! A machine with costs keeps its solution when a row without a coefficient is left out; only its
//! support vectors need a new one. Where nu stands for a share of all rows, every row does. Each new
//! problem is the old one with the variable of the row fixed at zero, whose gradient is then the
//! decision value of the row:
//!
//! ```text
//! f^i(x_i) = (K beta^i)_i + b^i,      beta^i = argmin of the problem with beta_i = 0
//! ```
//!
//! They are solved from the full solution, whose face they share
//! ([`nearby`](crate::qp)), side by side on all threads; one that is not solved so is left to
//! the solver, which starts from the full solution too. The result is that of training anew for every
//! row, to the tolerance.
//!
//! Luntz, Brailovsky: On estimation of characters obtained in statistical procedure of recognition
//! (1969): the leave-one-out error is an almost unbiased estimate of the error on new data.

mod case;
mod pose;
mod result;

pub use result::{LeftOut, Sphere};

use super::fit::{Fit, Formulation};
use crate::data::Samples;
use crate::error::{Error, Halt, Result};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, fair_share};
use crate::qp::{Monitor, Solver, Unwatched};
use crate::simd::threads;
use case::Case;
use ndarray::Array2;
use pose::Posing;

/// Leaves rows out of machines, one after another.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::search::{Fit, Formulation, LeaveOneOut};
/// use mercer::{Kernel, Samples, model::{Margin, Multiclass}, qp::Solver};
/// let x = ndarray::array![[0.0], [1.0], [5.0], [6.0]];
/// let samples = Samples::try_from(x.view())?;
/// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
/// let left_out = LeaveOneOut::new(&samples).run(&Fit {
///     formulation: Formulation::Classifier { margin, multiclass: Multiclass::OneVsOne },
///     kernel: Kernel::linear(),
///     labels: vec![0, 0, 1, 1],
///     target: vec![],
///     cost: vec![10.0; 4],
///     asked: vec![0, 1, 2, 3],
///     solver: Solver::default(),
/// })?;
/// // Without the row at 1 the boundary is at 2.5 and the margins at 0 and 5.
/// assert!((left_out.values[[1, 0]] + 0.6).abs() < 1e-6);
/// assert_eq!(left_out.solved, 2); // the outer rows are no support vectors
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct LeaveOneOut<'a> {
    samples: &'a Samples,
    bytes: Option<usize>,
    monitor: &'a dyn Monitor,
}

impl std::fmt::Debug for LeaveOneOut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LeaveOneOut")
            .field("samples", self.samples)
            .finish_non_exhaustive()
    }
}

impl<'a> LeaveOneOut<'a> {
    /// Leaves out rows of these samples.
    ///
    /// ```
    /// # use mercer::{Samples, search::LeaveOneOut};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// let leave_one_out = LeaveOneOut::new(&samples);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(samples: &'a Samples) -> Self {
        LeaveOneOut {
            samples,
            bytes: None,
            monitor: &Unwatched,
        }
    }

    /// Sets the bytes for kernel values; None for a fair share of the free memory. What does not fit is
    /// computed when it is needed, which takes much longer.
    ///
    /// ```
    /// # use mercer::{Samples, search::LeaveOneOut};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// let leave_one_out = LeaveOneOut::new(&samples).bytes(1 << 20);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Sets who watches: told how many rows have been left out, and asked whether to stop. After a stop
    /// the values that are missing are NaN.
    ///
    /// ```
    /// # use mercer::{Samples, qp::Unwatched, search::LeaveOneOut};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// let leave_one_out = LeaveOneOut::new(&samples).monitor(&Unwatched);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn monitor(mut self, monitor: &'a dyn Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// Leaves out the rows asked for of a fit, on the threads of the current rayon pool, or of one of its
    /// own if there is none. The value of a row that is not trained on, because its cost is zero, is that
    /// of the full machine.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, qp::Solver, search::{Fit, Formulation, LeaveOneOut}};
    /// # use mercer::formulation::{Intercept, Loss};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let (loss, intercept) = (Loss::Linear, Intercept::Free);
    /// let left_out = LeaveOneOut::new(&samples).run(&Fit {
    ///     formulation: Formulation::Regression { epsilon: 0.0, loss: loss.into(), intercept },
    ///     kernel: Kernel::linear(),
    ///     labels: vec![],
    ///     target: vec![0.0, 1.0, 4.0],
    ///     cost: vec![100.0; 3],
    ///     asked: vec![2],
    ///     solver: Solver::default(),
    /// })?;
    /// assert!((left_out.values[[0, 0]] - 2.0).abs() < 1e-6); // the line through the others
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the fit is not possible, or is not without one of the rows: a class of one row, or a nu that is
    /// too large.
    pub fn run(&self, fit: &Fit) -> Result<LeftOut> {
        check_classes(fit)?;
        self.of(&Posing::Fit(fit), &fit.kernel, &fit.asked, fit.solver)
    }

    /// Leaves out the rows asked for of a sphere. A value is that of
    /// [`SvddModel`](crate::SvddModel): R^2 less the squared distance from the centre.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, formulation::Loss, qp::Solver};
    /// # use mercer::search::{LeaveOneOut, Sphere};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [9.0]].view())?;
    /// let left_out = LeaveOneOut::new(&samples).run_sphere(&Sphere {
    ///     kernel: Kernel::linear(),
    ///     nu: 0.1,
    ///     loss: Loss::Linear,
    ///     weights: vec![1.0; 3],
    ///     asked: vec![2],
    ///     solver: Solver::default(),
    /// })?;
    /// // The sphere around 0 and 1 has its centre at 0.5.
    /// assert!((left_out.values[[0, 0]] - (0.25 - 72.25)).abs() < 1e-2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the machine cannot be trained, on all rows or without one.
    pub fn run_sphere(&self, sphere: &Sphere) -> Result<LeftOut> {
        let kernel = &sphere.kernel;
        self.of(
            &Posing::Sphere(sphere),
            kernel,
            &sphere.asked,
            sphere.solver,
        )
    }

    fn of(
        &self,
        posing: &Posing,
        kernel: &Kernel,
        asked: &[usize],
        solver: Solver,
    ) -> Result<LeftOut> {
        let rows = self.samples.rows();
        if let Some(row) = asked.iter().find(|&&row| row >= rows) {
            return Err(Error::parameter("asked", "numbers of rows", row));
        }
        let work = kernel.work_of_matrix(self.samples, rows);
        threads::call(work.saturating_mul(4), || {
            self.machines(posing, kernel, asked, solver)
        })
    }

    fn machines(
        &self,
        posing: &Posing,
        kernel: &Kernel,
        asked: &[usize],
        solver: Solver,
    ) -> Result<LeftOut> {
        let posed = posing.pose(kernel, self.samples, None)?;
        let mut left_out = LeftOut {
            values: Array2::from_elem((asked.len(), posed.len()), f64::NAN),
            reports: Vec::with_capacity(posed.len()),
            solved: 0,
            from_solver: 0,
            unconverged: 0,
        };
        let all = KernelMatrix::new(kernel, self.samples, (0..self.samples.rows()).collect())?;
        let bytes = self.bytes.unwrap_or_else(fair_share);
        for (machine, part) in posed.iter().enumerate() {
            let matrix = KernelMatrix::new(kernel, self.samples, part.rows().to_vec())?;
            let case = Case {
                posing,
                machine,
                part,
                matrix: &matrix,
                all: &all,
                solver,
                bytes,
                monitor: self.monitor,
                side_by_side: !matches!(kernel, Kernel::User(_)),
            };
            match case.leave_out(asked, &mut left_out) {
                Ok(()) => {}
                Err(Halt::Stopped) => break,
                Err(Halt::Failed(error)) => return Err(error),
            }
        }
        Ok(left_out)
    }
}

/// Checks that every class has a row left when one is left out.
fn check_classes(fit: &Fit) -> Result<()> {
    let Formulation::Classifier { .. } = fit.formulation else {
        return Ok(());
    };
    let kept = |row: usize| fit.cost.get(row).is_some_and(|cost| *cost != 0.0);
    let mut sizes: Vec<usize> = Vec::new();
    for (row, &label) in fit.labels.iter().enumerate() {
        if kept(row) {
            sizes.resize(sizes.len().max(label + 1), 0);
            sizes[label] += 1;
        }
    }
    match sizes.iter().position(|&size| size == 1) {
        Some(class) => Err(Error::parameter(
            "y",
            "of classes that have two rows or more, so that one can be left out",
            format!("one row of class number {class}"),
        )),
        None => Ok(()),
    }
}
