//! The settings that all machines share.

/// Gives a builder with a field `solver` the methods that set it. The literals complete the examples:
/// how the machine is made, how it is fitted to the rows of `x`, how its report is had.
macro_rules! solver_settings {
    ($type:ident, $fit:literal, $report:literal) => {
        impl $type {
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
                self.solver.stop_mut().tolerance = tolerance;
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
                self.solver.stop_mut().max_iterations = Some(steps);
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
                self.solver.stop_mut().time_limit = Some(limit);
                self
            }

            /// Sets the solver with all its settings.
            ///
            /// ```
            #[doc = concat!("# use mercer::{Kernel, ", stringify!($type), ", qp::{Smo, Status}};")]
            /// let x = ndarray::array![[-2.0], [3.0], [-1.0], [1.0]];
            #[doc = concat!("let machine = ", stringify!($type), "::new(Kernel::linear());")]
            /// let smo = Smo { shrinking: false, ..Smo::default() };
            #[doc = concat!("let model = machine.solver(smo)", $fit, "?;")]
            #[doc = concat!("assert_eq!(model", $report, ".status, Status::Converged);")]
            /// # Ok::<(), mercer::Error>(())
            /// ```
            pub fn solver(mut self, solver: impl Into<$crate::qp::Solver>) -> Self {
                self.solver = solver.into();
                self
            }
        }
    };
}
