//! What leaving rows out gives, and the machine that only this knows.

use crate::formulation::Loss;
use crate::kernel::Kernel;
use crate::qp::{Report, Solver, Status};
use ndarray::Array2;

/// Decision values of rows, each left out in turn.
///
/// ```
/// # use mercer::search::LeftOut;
/// fn errors(left_out: &LeftOut, positive: &[bool]) -> usize {
///     let values = left_out.values.column(0);
///     values.iter().zip(positive).filter(|&(&value, &positive)| (value >= 0.0) != positive).count()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// The values of all machines for the rows asked for, shape (rows, machines): each by machines
    /// that were trained without the row.
    pub values: Array2<f64>,
    /// What the solver did for each machine trained on all rows.
    pub reports: Vec<Report>,
    /// How many problems were solved anew.
    pub solved: usize,
    /// How many of these the solver had to be asked for.
    pub from_solver: usize,
    /// How many problems have a gap above the tolerance, those of all rows included.
    pub unconverged: usize,
}

/// The sphere of [`Svdd`](crate::Svdd), to leave rows out of.
///
/// ```
/// use mercer::search::Sphere;
/// use mercer::{Kernel, formulation::Loss, qp::Solver};
/// let sphere = Sphere {
///     kernel: Kernel::rbf(1.0),
///     nu: 0.2,
///     loss: Loss::Linear,
///     weights: vec![1.0; 4],
///     asked: vec![0, 1, 2, 3],
///     solver: Solver::default(),
/// };
/// assert_eq!(sphere.weights.len(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct Sphere {
    /// The kernel.
    pub kernel: Kernel,
    /// The share of outliers.
    pub nu: f64,
    /// How outliers are charged.
    pub loss: Loss,
    /// The weight of each row; rows of weight zero are not trained on.
    pub weights: Vec<f64>,
    /// The rows whose values are wanted.
    pub asked: Vec<usize>,
    /// How to solve.
    pub solver: Solver,
}

/// Tells whether a solve came to its end.
pub(super) fn converged(status: Status) -> bool {
    status == Status::Converged
}
