//! The settings that all solvers share.

/// Gives a solver with the fields `stop` and `cache_bytes` the methods that set them. The
/// literal says what an iteration is.
macro_rules! solver_methods {
    ($type:ident, $iterations:literal) => {
        impl $type {
            /// The solver with its default settings.
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::", stringify!($type), ";")]
            #[doc = concat!("let solver = ", stringify!($type), "::new();")]
            /// assert_eq!(solver.stop.tolerance, 1e-3);
            /// assert!(solver.cache_bytes.is_none());
            /// ```
            pub fn new() -> Self {
                Self::default()
            }

            /// Sets when to stop.
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::{StopRule, ", stringify!($type), "};")]
            /// let rule = StopRule::new().max_iterations(100);
            #[doc = concat!("assert_eq!(", stringify!($type), "::new().stop(rule).stop, rule);")]
            /// ```
            pub fn stop(mut self, stop: StopRule) -> Self {
                self.stop = stop;
                self
            }

            /// Sets the gap at which to stop.
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::", stringify!($type), ";")]
            #[doc = concat!("assert_eq!(", stringify!($type), "::new().tolerance(0.1).stop.tolerance, 0.1);")]
            /// ```
            pub fn tolerance(mut self, tolerance: f64) -> Self {
                self.stop.tolerance = tolerance;
                self
            }

            #[doc = concat!("Gives up after this many ", $iterations, ".")]
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::", stringify!($type), ";")]
            #[doc = concat!("let solver = ", stringify!($type), "::new().max_iterations(9);")]
            /// assert_eq!(solver.stop.max_iterations, Some(9));
            /// ```
            pub fn max_iterations(mut self, iterations: u64) -> Self {
                self.stop.max_iterations = Some(iterations);
                self
            }

            /// Gives up after this time.
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::", stringify!($type), ";")]
            /// let limit = std::time::Duration::from_secs(5);
            #[doc = concat!("let solver = ", stringify!($type), "::new().time_limit(limit);")]
            /// assert_eq!(solver.stop.time_limit, Some(limit));
            /// ```
            pub fn time_limit(mut self, limit: std::time::Duration) -> Self {
                self.stop.time_limit = Some(limit);
                self
            }

            /// Sets the bytes for kernel rows; None for a fair share of the free memory.
            ///
            /// ```
            #[doc = concat!("# use mercer::qp::", stringify!($type), ";")]
            #[doc = concat!("let solver = ", stringify!($type), "::new().cache_bytes(1 << 20);")]
            /// assert_eq!(solver.cache_bytes, Some(1 << 20));
            /// ```
            pub fn cache_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
                self.cache_bytes = bytes.into();
                self
            }
        }
    };
}
pub(super) use solver_methods;
