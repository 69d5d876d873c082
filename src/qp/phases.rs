//! The phases of a solve, and the watch that times them.

use std::time::Instant;

/// The seconds of each phase of a solve. The rest of its time is preparation.
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
    /// Choosing which variables to move.
    pub selection: f64,
    /// Computing kernel values, and adding up those of rows that are not kept.
    pub kernel: f64,
    /// Moving variables.
    pub inner: f64,
    /// Adding rows to the gradient.
    pub update: f64,
}

/// Times a phase, leaving out what other phases take within it.
pub(super) struct Stopwatch {
    started: Instant,
    others: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch::beside(0.0)
    }

    /// Starts beside other phases, which have taken so many seconds so far.
    pub fn beside(others: f64) -> Self {
        Stopwatch {
            started: Instant::now(),
            others,
        }
    }

    /// Returns the seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Returns the seconds since the start without those of the other phases, which have taken
    /// `others` by now.
    pub fn seconds_beside(&self, others: f64) -> f64 {
        (self.seconds() - (others - self.others)).max(0.0)
    }
}
