//! The settings of SMO.

use super::block::Selection;
use crate::error::Result;
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::control::{Monitor, StopRule};
use crate::qp::driver;
use crate::qp::interior::Interior;
use crate::qp::problem::DualProblem;
use crate::qp::report::Solution;
use crate::qp::settings::solver_methods;

/// Sequential minimal optimisation and its settings.
///
/// ```
/// use mercer::qp::{Selection, Smo};
/// let smo = Smo::new().tolerance(1e-5).selection(Selection::FirstOrder).cache_bytes(1 << 20);
/// assert_eq!((smo.stop.tolerance, smo.shrinking), (1e-5, true));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Smo {
    /// When to stop.
    pub stop: StopRule,
    /// How pairs are chosen.
    pub selection: Selection,
    /// Whether variables stuck at a bound are set aside.
    pub shrinking: bool,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
    /// When the interior-point method takes over, where the kernel is of low rank.
    pub interior: Interior,
    /// Whether the bytes were found by looking at the free memory: see `Solver::allow`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) found: bool,
    /// Whether the solution only has to be near: see `Solver::roughly`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) rough: bool,
}

impl Default for Smo {
    fn default() -> Self {
        Smo {
            stop: StopRule::default(),
            selection: Selection::SecondOrder,
            shrinking: true,
            cache_bytes: None,
            interior: Interior::Auto,
            found: false,
            rough: false,
        }
    }
}

solver_methods!(Smo, "pair steps");

impl Smo {
    /// Sets how pairs are chosen.
    ///
    /// ```
    /// use mercer::qp::{Selection, Smo};
    /// let smo = Smo::new().selection(Selection::FirstOrder);
    /// assert_eq!(smo.selection, Selection::FirstOrder);
    /// ```
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Sets whether variables stuck at a bound are set aside.
    ///
    /// ```
    /// assert!(!mercer::qp::Smo::new().shrinking(false).shrinking);
    /// ```
    pub fn shrinking(mut self, shrinking: bool) -> Self {
        self.shrinking = shrinking;
        self
    }

    /// Sets when the interior-point method takes over.
    ///
    /// ```
    /// use mercer::qp::{Algorithm, Interior, Smo};
    /// use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-2.0], [-1.0], [1.5], [2.0]];
    /// let svc = Svc::new(Kernel::linear()).solver(Smo::new().interior(Interior::Always));
    /// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
    /// assert_eq!(model.reports()[0].method, Algorithm::Interior);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn interior(mut self, when: Interior) -> Self {
        self.interior = when;
        self
    }

    /// Solves a problem. Running out of time or steps is a [`Status`](crate::qp::Status), not an
    /// error.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Constraint, DualProblem, Smo, Unwatched}};
    /// // The point of the simplex nearest to (0.9, 0.6, 0.1): K is the identity.
    /// let samples = Samples::try_from(ndarray::Array2::<f64>::eye(3).view())?;
    /// let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, vec![0, 1, 2])?;
    /// let problem = DualProblem {
    ///     linear: vec![-0.9, -0.6, -0.1],
    ///     absolute: vec![0.0; 3],
    ///     lower: vec![0.0; 3],
    ///     upper: vec![1.0; 3],
    ///     ridge: vec![0.0; 3],
    ///     start: vec![1.0, 0.0, 0.0],
    ///     constraint: Constraint::Sum,
    /// };
    /// let nearest = Smo::default().solve(&problem, &matrix, &Unwatched)?.beta;
    /// for (found, expected) in nearest.iter().zip([0.65, 0.35, 0.0]) {
    ///     assert!((found - expected).abs() < 1e-3);
    /// }
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the vectors differ in length, the start is not feasible, the tolerance is not positive,
    /// the user's kernel fails or the system refuses memory.
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
    /// # use mercer::{Kernel, Samples, qp::{Smo, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let mut rows = KernelRows::new(&matrix);
    /// let problem = |c: f64| svc(&[true, false], &[c, c], Loss::Linear, Intercept::Free);
    /// assert_eq!(Smo::default().solve_on(&problem(0.1), &mut rows, &Unwatched)?.beta, [0.1, -0.1]);
    /// assert_eq!(Smo::default().solve_on(&problem(9.0), &mut rows, &Unwatched)?.beta, [0.5, -0.5]);
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
