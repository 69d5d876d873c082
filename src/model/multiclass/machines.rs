//! Machines: what is left of the trained machines of a classifier.

use crate::qp::{Epoch, Report, Solution};
use ndarray::Array2;

/// The trained machines of a classifier.
///
/// The machine of two classes is positive for the second, as in scikit-learn. Of more classes,
/// machine (i, j), i < j, of one-vs-one is positive for class i, and machine c of one-vs-rest for
/// class c.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[0.0], [1.0], [3.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1, 2])?;
/// let machines = model.machines();
/// assert_eq!((machines.intercept.len(), machines.dual_coef.dim()), (3, (2, 3)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machines {
    /// Rows that are support vectors of any machine, sorted by class, then by row.
    pub support: Vec<usize>,
    /// Support vectors of each class.
    pub n_support: Vec<usize>,
    /// Coefficients. One-vs-one: shape (classes - 1, support vectors), row r of a support vector of
    /// class c belonging to the machine of c and the r-th other class. One-vs-rest with more than
    /// two classes: shape (classes, support vectors), a row for each machine.
    pub dual_coef: Array2<f64>,
    /// The intercept of each machine.
    pub intercept: Vec<f64>,
    /// What the solver did for each machine.
    pub reports: Vec<Report>,
    /// The epochs of each machine, if the solver was [`Adatron`](crate::qp::Adatron).
    pub histories: Vec<Vec<Epoch>>,
}

impl Machines {
    /// Collects the coefficients, made of the solutions, and what else they hold.
    pub(super) fn new(
        support: Vec<usize>,
        n_support: Vec<usize>,
        dual_coef: Array2<f64>,
        solutions: Vec<Solution>,
    ) -> Self {
        Machines {
            support,
            n_support,
            dual_coef,
            intercept: solutions
                .iter()
                .map(|solution| solution.intercept)
                .collect(),
            reports: solutions.iter().map(|solution| solution.report).collect(),
            histories: (solutions.into_iter())
                .map(|solution| solution.history)
                .collect(),
        }
    }
}
