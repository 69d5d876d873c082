//! Control: when to stop, and who watches.

use super::report::Status;
use crate::error::{Error, Polled, Result, poll};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a solve that is out of time may still take, as a share of the time it took, and at the most:
/// stopping should not be felt, nor add up over many machines.
const GRACE_SHARE: f64 = 0.1;
const GRACE: Duration = Duration::from_millis(50);

/// When to stop.
///
/// ```
/// use mercer::qp::StopRule;
/// let rule = StopRule::new().tolerance(1e-5).max_iterations(1000);
/// assert_eq!((rule.tolerance, rule.max_iterations), (1e-5, Some(1000)));
/// assert_eq!(StopRule::new().tolerance, 1e-3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct StopRule {
    /// The gap at which a solution is good enough.
    pub tolerance: f64,
    /// The number of pair steps, or epochs of [`Adatron`](super::Adatron), after which to give up.
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

impl StopRule {
    /// A gap of 1e-3, however long that takes.
    ///
    /// ```
    /// use mercer::qp::StopRule;
    /// assert_eq!(StopRule::new(), StopRule::default());
    /// ```
    pub fn new() -> Self {
        StopRule::default()
    }

    /// Sets the gap at which a solution is good enough.
    ///
    /// ```
    /// assert_eq!(mercer::qp::StopRule::new().tolerance(0.1).tolerance, 0.1);
    /// ```
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Gives up after this many pair steps, or epochs.
    ///
    /// ```
    /// assert_eq!(mercer::qp::StopRule::new().max_iterations(9).max_iterations, Some(9));
    /// ```
    pub fn max_iterations(mut self, iterations: u64) -> Self {
        self.max_iterations = Some(iterations);
        self
    }

    /// Gives up after this time.
    ///
    /// ```
    /// use std::time::Duration;
    /// let rule = mercer::qp::StopRule::new().time_limit(Duration::from_secs(5));
    /// assert_eq!(rule.time_limit, Some(Duration::from_secs(5)));
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return Err(Error::parameter("tol", "positive", self.tolerance));
        }
        Ok(())
    }
}

/// Where a solver is.
///
/// ```
/// let progress = mercer::qp::Progress::new(10, 0.5, 100, 0.1);
/// assert_eq!((progress.iterations, progress.gap), (10, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Pair steps so far, or epochs.
    pub iterations: u64,
    /// The gap now.
    pub gap: f64,
    /// Variables not shrunk away.
    pub active: usize,
    /// Time since the start.
    pub seconds: f64,
    /// The objective now, an estimate while variables are shrunk away; NaN where nobody knows.
    pub objective: f64,
    /// Coefficients that are not zero.
    pub support: usize,
}

impl Progress {
    /// Makes one, to try out a [`Monitor`].
    ///
    /// ```
    /// use mercer::qp::{Monitor, Progress, Unwatched};
    /// Unwatched.progress(&Progress::new(10, 0.5, 100, 0.1));
    /// ```
    pub fn new(iterations: u64, gap: f64, active: usize, seconds: f64) -> Self {
        Progress {
            iterations,
            gap,
            active,
            seconds,
            objective: f64::NAN,
            support: 0,
        }
    }

    /// Adds the objective and how many coefficients are not zero.
    ///
    /// ```
    /// let progress = mercer::qp::Progress::new(10, 0.5, 100, 0.1).point(-3.0, 7);
    /// assert_eq!((progress.objective, progress.support), (-3.0, 7));
    /// ```
    pub fn point(self, objective: f64, support: usize) -> Self {
        Progress {
            objective,
            support,
            ..self
        }
    }
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
    /// Told when one of several machines is done.
    ///
    /// ```
    /// use mercer::{Kernel, Svc, qp::Monitor};
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// struct Count(AtomicUsize);
    /// impl Monitor for Count {
    ///     fn done(&self, _index: usize, _of: usize) {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// }
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let count = Count(AtomicUsize::new(0));
    /// Svc::new(Kernel::linear()).fit_weighted(x.view(), &[0, 1, 2], &[1.0; 3], &count)?;
    /// assert_eq!(count.0.into_inner(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    fn done(&self, _index: usize, _of: usize) {}
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
    /// lowest.progress(&Progress::new(10, 0.5, 100, 0.1));
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

/// A little more time.
pub(super) struct Grace(Option<Instant>);

impl Grace {
    pub fn is_over(&self) -> bool {
        self.0.is_none_or(|end| Instant::now() >= end)
    }
}

/// Clock and monitor of one solve.
pub(super) struct Control<'a> {
    pub started: Instant,
    deadline: Option<Instant>,
    pub max_iterations: u64,
    monitor: &'a dyn Monitor,
    /// The tenth of a second in which progress was last told.
    told: AtomicU64,
}

impl<'a> Control<'a> {
    pub fn new(stop: &StopRule, monitor: &'a dyn Monitor) -> Self {
        let started = Instant::now();
        Control {
            started,
            deadline: stop.time_limit.and_then(|limit| started.checked_add(limit)),
            max_iterations: stop.max_iterations.unwrap_or(u64::MAX),
            monitor,
            told: AtomicU64::new(0),
        }
    }

    /// Tells whether to stop: the time is over, or the monitor says so.
    pub fn stop(&self) -> bool {
        let over = |deadline: Instant| Instant::now() >= deadline;
        self.monitor.stop() || self.deadline.is_some_and(over)
    }

    pub fn poll(&self) -> Polled<()> {
        poll(&|| self.stop())
    }

    /// Begins the time that a solve which is out of time may take to tell how good its result is.
    pub fn grace(&self) -> Grace {
        let share = self.started.elapsed().mul_f64(GRACE_SHARE);
        Grace(Instant::now().checked_add(share.min(GRACE)))
    }

    /// Tells why [`stop`](Self::stop) was true.
    pub fn status(&self) -> Status {
        match self.monitor.stop() {
            true => Status::Interrupted,
            false => Status::TimeLimit,
        }
    }

    /// Tells the monitor about the progress, if it is time to. `point` has the objective and how many
    /// coefficients are not zero.
    pub fn tell(
        &self,
        iterations: u64,
        gap: f64,
        active: usize,
        point: impl FnOnce() -> (f64, usize),
    ) {
        let seconds = self.started.elapsed().as_secs_f64();
        let tenth = (seconds * 10.0) as u64;
        if self.told.swap(tenth, Ordering::Relaxed) != tenth {
            let (objective, support) = point();
            let progress = Progress::new(iterations, gap, active, seconds);
            self.monitor.progress(&progress.point(objective, support));
        }
    }
}
