//! The one quadratic programme and the solvers for it.
//!
//! ```text
//! minimise    1/2 beta' (K + diag(ridge)) beta + linear' beta + sum_i absolute_i |beta_i|
//! subject to  lower <= beta <= upper,   sum of beta = sum of start
//! ```
//!
//! in signed coefficients beta: labels live in the bounds, not in the matrix, and the two halves of
//! regression are the two sides of |beta|. With g the one-sided derivatives, Keerthi's two
//! thresholds are
//!
//! ```text
//! m = max of -g over the variables that may grow,   M = min of -g over those that may shrink
//! ```
//!
//! and beta is optimal when gap = m - M <= 0; a solver stops when gap <= tolerance, which is
//! LIBSVM's criterion.
//!
//! A [`Constraint`] may also fix two sums, those of two groups of variables: then there are
//! thresholds for each group, and the larger gap counts. Or it fixes none: that is the same as one
//! more variable without bounds and with kernel values of zero, which takes up the sum, and whose
//! own -g is the bias: 0, or the sum of beta if half its square is added to the objective.
//!
//! Keerthi, Shevade, Bhattacharyya, Murthy: Improvements to Platt's SMO algorithm for SVM
//! classifier design, Neural Computation 13 (2001).

mod adatron;
mod block;
mod kkt;
mod secant;
mod smo;
mod solve;
mod solver;
#[cfg(test)]
mod tests;
mod variables;
mod working_set;

pub use adatron::Adatron;
use kkt::Point;
pub use kkt::Thresholds;
pub use smo::{Selection, Smo};
pub use solver::Solver;
use std::time::Duration;

/// A dual problem. All vectors have one entry per variable.
///
/// ```
/// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Constraint, DualProblem, Smo, Unwatched}};
/// // Two points at distance 2 on a line, hard margin: beta = (-1/2, 1/2), f(x) = x.
/// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let problem = DualProblem {
///     linear: vec![1.0, -1.0],
///     absolute: vec![0.0, 0.0],
///     lower: vec![-10.0, 0.0],
///     upper: vec![0.0, 10.0],
///     ridge: vec![0.0, 0.0],
///     start: vec![0.0, 0.0],
///     constraint: Constraint::Sum,
/// };
/// let solution = Smo::default().solve(&problem, &matrix, &Unwatched)?;
/// assert_eq!(solution.beta, [-0.5, 0.5]);
/// assert_eq!(solution.bias, 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DualProblem {
    /// The linear term.
    pub linear: Vec<f64>,
    /// The factors of |beta_i|, not negative: the width of the tube in regression.
    pub absolute: Vec<f64>,
    /// Lower bounds; may be minus infinity.
    pub lower: Vec<f64>,
    /// Upper bounds; may be infinity.
    pub upper: Vec<f64>,
    /// Added to the diagonal of the kernel matrix.
    pub ridge: Vec<f64>,
    /// A feasible point: where to start, and the sums to keep.
    pub start: Vec<f64>,
    /// What is fixed beside the bounds.
    pub constraint: Constraint,
}

impl DualProblem {
    /// Tells whether the objective may be without a minimum: a variable has neither a bound nor a
    /// ridge.
    fn may_diverge(&self) -> bool {
        let unbounded = |i: usize| self.lower[i].is_infinite() || self.upper[i].is_infinite();
        (0..self.ridge.len()).any(|i| self.ridge[i] == 0.0 && unbounded(i))
    }

    fn point(&self, i: usize, beta: f64, gradient: f64) -> Point {
        Point {
            beta,
            gradient,
            lower: self.lower[i],
            upper: self.upper[i],
            absolute: self.absolute[i],
        }
    }
}

/// What is fixed beside the bounds.
///
/// ```
/// use mercer::{formulation::{Intercept, Loss, svc}, qp::Constraint};
/// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::None);
/// assert_eq!(problem.constraint, Constraint::None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The sum of all coefficients: its multiplier is the bias.
    Sum,
    /// The sums of two groups; true for the variables of the second.
    TwoSums(Vec<bool>),
    /// Nothing, but half the square of the sum of all coefficients is added to the objective, as if
    /// the kernel were K + 1: the bias is then that sum.
    Penalized,
    /// Nothing: there is no bias.
    None,
}

impl Constraint {
    /// Returns the number of the group of a variable.
    fn group(&self, variable: usize) -> usize {
        match self {
            Constraint::TwoSums(second) => usize::from(second[variable]),
            _ => 0,
        }
    }

    /// Returns the curvature of the variable that takes up the sum, if there is one.
    fn slack(&self) -> Option<f64> {
        match self {
            Constraint::Sum | Constraint::TwoSums(_) => None,
            Constraint::Penalized => Some(1.0),
            Constraint::None => Some(0.0),
        }
    }
}

/// A solution of a [`DualProblem`].
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Smo, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let problem = svc(&[true, false], &[9.0, 9.0], Loss::Linear, Intercept::Free);
/// let solution = Smo::default().solve(&problem, &matrix, &Unwatched)?;
/// assert_eq!((solution.beta, solution.bias), (vec![0.5, -0.5], 2.0)); // f(x) = 2 - x
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    /// The coefficients.
    pub beta: Vec<f64>,
    /// The mean of -g over the free variables; if none is free, the middle of what optimality
    /// allows. Of two groups, the middle of their biases.
    pub bias: f64,
    /// The biases of the two groups, if two sums are fixed; otherwise twice the bias.
    pub biases: [f64; 2],
    /// What the solver did.
    pub report: Report,
    /// One entry per epoch of [`Adatron`]; empty for [`Smo`].
    pub history: Vec<Epoch>,
}

/// Where [`Adatron`] was at the end of an epoch.
///
/// ```
/// use mercer::{Kernel, Svc, formulation::Intercept, qp::Adatron};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let svc = Svc::new(Kernel::rbf(0.5)).c(10.0).intercept(Intercept::None);
/// let model = svc.solver(Adatron::default()).fit(x.view(), &[0, 1])?;
/// let history = &model.machines().histories[0];
/// assert_eq!(history.len() as u64, model.reports()[0].iterations);
/// assert!((history.last().unwrap().margin - 1.0).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The dual objective that is maximised, at the bias of the epoch: minus the objective of the
    /// problem, minus the bias times the excess of the sum. It never falls from one epoch to the
    /// next of the same bias.
    pub objective: f64,
    /// Half the distance between the lowest value of a positive sample and the highest of a
    /// negative one, those at an upper bound of their multipliers left out. It grows to 1; NaN
    /// where a problem has no classes, or one of them is left out altogether.
    pub margin: f64,
    /// The bias of the epoch.
    pub bias: f64,
    /// m - M at its end. The sum may still be off: see [`Adatron`].
    pub gap: f64,
}

/// When to stop.
///
/// ```
/// let rule = mercer::qp::StopRule::default();
/// assert_eq!(rule.tolerance, 1e-3);
/// assert!(rule.max_iterations.is_none() && rule.time_limit.is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// The gap at which a solution is good enough.
    pub tolerance: f64,
    /// The number of pair steps, or epochs of [`Adatron`], after which to give up.
    pub max_iterations: Option<u64>,
    /// The time after which to give up.
    pub time_limit: Option<Duration>,
}

impl Default for StopRule {
    fn default() -> Self {
        StopRule {
            tolerance: 1e-3,
            max_iterations: None,
            time_limit: None,
        }
    }
}

/// How a solver ended. The solution is usable in every case.
///
/// ```
/// assert_eq!(mercer::qp::Status::TimeLimit.to_string(), "time_limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The gap is at most the tolerance (5% of it are left to rounding), or rows in f64 cannot
    /// bring it lower: [`Report::gap`] tells.
    Converged,
    /// The number of pair steps or epochs ran out.
    MaxIterations,
    /// The time ran out.
    TimeLimit,
    /// The [`Monitor`] asked to stop.
    Interrupted,
    /// The objective has no lower bound, as for a hard margin between classes that cannot be
    /// separated: the coefficients would grow for ever.
    Diverged,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Converged => "converged",
            Status::MaxIterations => "max_iterations",
            Status::TimeLimit => "time_limit",
            Status::Interrupted => "interrupted",
            Status::Diverged => "diverged",
        })
    }
}

/// What a solver did.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
/// assert!(model.reports()[0].gap <= 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Pair steps; epochs of [`Adatron`].
    pub iterations: u64,
    /// m - M at the end. After an early stop it is that of the active variables.
    pub gap: f64,
    /// The objective at the end.
    pub objective: f64,
    /// Kernel values computed.
    pub kernel_evaluations: u64,
    /// Rows found in the cache.
    pub cache_hits: u64,
    /// Rows not found in the cache.
    pub cache_misses: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Where it went.
    pub phases: Phases,
}

/// The seconds of the phases of a solve. What is left to its whole time is preparation.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
/// let report = model.reports()[0];
/// assert!(report.phases.kernel <= report.seconds);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// Finding out which variables to move.
    pub selection: f64,
    /// Kernel values, with the sums of those that are not kept.
    pub kernel: f64,
    /// Steps.
    pub inner: f64,
    /// Adding rows to the gradient.
    pub update: f64,
}

/// Where a solver is.
///
/// ```
/// let progress = mercer::qp::Progress { iterations: 10, gap: 0.5, active: 100, seconds: 0.1 };
/// assert!(progress.gap < 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Pair steps so far, or epochs.
    pub iterations: u64,
    /// The gap now.
    pub gap: f64,
    /// Variables not shrunk away.
    pub active: usize,
    /// Time since the start.
    pub seconds: f64,
}

/// Watches a solver and may stop it. Called from the solver's threads.
///
/// ```
/// use mercer::qp::{Monitor, Progress};
/// struct Print;
/// impl Monitor for Print {
///     fn progress(&self, progress: &Progress) {
///         eprintln!("gap {:.2e} after {} steps", progress.gap, progress.iterations);
///     }
/// }
/// assert!(!Print.stop());
/// ```
pub trait Monitor: Sync {
    /// Asked often; true ends the solver with [`Status::Interrupted`].
    ///
    /// ```
    /// use mercer::{Kernel, Svc, qp::{Monitor, Status}};
    /// struct Impatient;
    /// impl Monitor for Impatient {
    ///     fn stop(&self) -> bool {
    ///         true
    ///     }
    /// }
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear());
    /// let model = svc.fit_weighted(x.view(), &[0, 1], &[1.0, 1.0], &Impatient)?;
    /// assert_eq!(model.reports()[0].status, Status::Interrupted);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    fn stop(&self) -> bool {
        false
    }
    /// Told when one of several machines begins.
    ///
    /// ```
    /// use mercer::{Kernel, Svc, qp::Monitor};
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// struct Count(AtomicUsize);
    /// impl Monitor for Count {
    ///     fn machine(&self, _index: usize, of: usize) {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///         assert_eq!(of, 3); // pairs of three classes
    ///     }
    /// }
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let count = Count(AtomicUsize::new(0));
    /// Svc::new(Kernel::linear()).fit_weighted(x.view(), &[0, 1, 2], &[1.0; 3], &count)?;
    /// assert_eq!(count.0.into_inner(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    fn machine(&self, _index: usize, _of: usize) {}
    /// Told about ten times a second.
    ///
    /// ```
    /// use mercer::qp::{Monitor, Progress};
    /// struct Lowest(std::sync::Mutex<f64>);
    /// impl Monitor for Lowest {
    ///     fn progress(&self, progress: &Progress) {
    ///         if let Ok(mut lowest) = self.0.lock() {
    ///             *lowest = lowest.min(progress.gap);
    ///         }
    ///     }
    /// }
    /// let lowest = Lowest(f64::INFINITY.into());
    /// lowest.progress(&Progress { iterations: 10, gap: 0.5, active: 100, seconds: 0.1 });
    /// assert_eq!(*lowest.0.lock().unwrap(), 0.5);
    /// ```
    fn progress(&self, _progress: &Progress) {}
}

/// The monitor of those who do not watch.
///
/// ```
/// use mercer::qp::{Monitor, Unwatched};
/// assert!(!Unwatched.stop());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Monitor for Unwatched {}
