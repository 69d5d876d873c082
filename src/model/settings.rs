//! The settings that all machines share.

use crate::error::{Error, Result};
use crate::qp::Solver;
use crate::simd::threads;
use std::time::Duration;

/// A solver, and what was set apart from it. The two are combined only when a machine is trained, so
/// that the order in which they were set does not matter.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub(super) struct Settings {
    pub solver: Solver,
    pub tolerance: Option<f64>,
    pub max_iterations: Option<u64>,
    pub time_limit: Option<Duration>,
    pub threads: Threads,
}

impl Settings {
    /// Returns the solver with all settings.
    pub fn solver(&self) -> Solver {
        let mut solver = self.solver;
        let stop = solver.stop_mut();
        stop.tolerance = self.tolerance.unwrap_or(stop.tolerance);
        stop.max_iterations = self.max_iterations.or(stop.max_iterations);
        stop.time_limit = self.time_limit.or(stop.time_limit);
        solver
    }
}

/// How many threads a fit has: None for those of the pool around, or of a pool for the processors.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Threads(pub Option<usize>);

impl Threads {
    /// Does work on so many threads.
    ///
    /// # Errors
    /// If there are to be none.
    pub fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> Result<R> {
        match self.0 {
            None => Ok(work()),
            Some(0) => Err(Error::parameter("threads", "at least 1", 0)),
            Some(count) => Ok(threads::with(count, work)),
        }
    }
}

/// Gives a builder with a field `settings` the methods that set it. The literals complete the
/// examples: the call that fits the machine to the rows of `x`, and the one that returns its report.
macro_rules! solver_settings {
    ($type:ident, $fit:literal, $report:literal) => {
        impl $type {
            /// Returns the kernel.
            pub(super) fn own_kernel(&self) -> &Kernel {
                &self.kernel
            }

            /// Sets the gap at which to stop.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), "};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            #[doc = concat!("let error = machine.tolerance(0.0)", $fit, ".unwrap_err();")]
            /// assert_eq!(error.to_string(), "tol must be positive, got 0");
            /// ```
            pub fn tolerance(mut self, tolerance: f64) -> Self {
                self.settings.tolerance = Some(tolerance);
                self
            }

            /// Gives up after this many pair steps, or epochs, of a machine.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), ", qp::Status};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            #[doc = concat!("let model = machine.max_iterations(0)", $fit, "?;")]
            #[doc = concat!("assert_eq!(model", $report, ".status, Status::MaxIterations);")]
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn max_iterations(mut self, steps: u64) -> Self {
                self.settings.max_iterations = Some(steps);
                self
            }

            /// Gives up after this time.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), ", qp::Status};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            #[doc = concat!("let model = machine.time_limit(std::time::Duration::ZERO)", $fit, "?;")]
            #[doc = concat!("assert_eq!(model", $report, ".status, Status::TimeLimit);")]
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn time_limit(mut self, limit: std::time::Duration) -> Self {
                self.settings.time_limit = Some(limit);
                self
            }

            /// Sets the number of threads of a fit, whatever pool it is called from. The result does not
            /// depend on it.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), "};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            #[doc = concat!("assert!(machine.clone().threads(1)", $fit, ".is_ok());")]
            #[doc = concat!("let error = machine.threads(0)", $fit, ".unwrap_err();")]
            /// assert_eq!(error.to_string(), "threads must be at least 1, got 0");
            /// ```
            pub fn threads(mut self, threads: usize) -> Self {
                self.settings.threads = super::settings::Threads(Some(threads));
                self
            }

            /// Makes the machine that files describe by what differs from it.
            #[cfg(feature = "serde")]
            fn linear() -> Self {
                Self::new(Kernel::linear())
            }

            /// Sets the solver with its settings. [`tolerance`](Self::tolerance),
            /// [`max_iterations`](Self::max_iterations) and [`time_limit`](Self::time_limit) prevail
            /// over those of the solver, whether they are called before or after.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), ", qp::{Smo, Status}};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            #[doc = concat!("let model = machine.max_iterations(0).solver(Smo::default())", $fit, "?;")]
            #[doc = concat!("assert_eq!(model", $report, ".status, Status::MaxIterations);")]
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn solver(mut self, solver: impl Into<$crate::qp::Solver>) -> Self {
                self.settings.solver = solver.into();
                self
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qp::Adatron;

    #[test]
    fn what_is_set_apart_prevails() {
        let adatron = Adatron::new().tolerance(0.5).max_iterations(7);
        let mut settings = Settings {
            solver: adatron.into(),
            ..Settings::default()
        };
        assert_eq!(settings.solver().stop().tolerance, 0.5);
        settings.tolerance = Some(0.25);
        settings.time_limit = Some(Duration::from_secs(3));
        let solver = settings.solver();
        assert_eq!(solver.stop().tolerance, 0.25);
        assert_eq!(solver.stop().max_iterations, Some(7));
        assert_eq!(solver.stop().time_limit, Some(Duration::from_secs(3)));
    }
}
