//! One file per machine: samples and parameters to a [`DualProblem`](crate::qp::DualProblem).

mod svc;

pub use svc::hinge;
