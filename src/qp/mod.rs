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

mod block;
mod kkt;
mod smo;
#[cfg(test)]
mod tests;
mod variables;
mod working_set;

use kkt::Point;
pub use kkt::Thresholds;
pub use smo::{Selection, Smo, Solution};
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
    /// The number of pair steps after which to give up.
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
    /// The number of pair steps ran out.
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
    /// Pair steps.
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
}

/// Where a solver is.
///
/// ```
/// let progress = mercer::qp::Progress { iterations: 10, gap: 0.5, active: 100, seconds: 0.1 };
/// assert!(progress.gap < 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Pair steps so far.
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
