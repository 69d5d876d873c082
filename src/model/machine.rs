//! Machine: the solution of one quadratic programme, as far as it is not zero.

use super::expansion::{Coefficients, Expansion, Kept};
use super::multiclass::{Machines, Multiclass};
use super::session::{Place, Session};
use super::settings::Settings;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{DualProblem, Epoch, Report, Solution};
use crate::simd::threads;
use ndarray::{Array1, ArrayView2, Axis};

/// A trained machine without classes: f(x) = sum_i beta_i k(x_i, x) + b.
///
/// ```
/// use mercer::{Kernel, Svr};
/// let x = ndarray::array![[0.0], [1.0], [2.0]];
/// let model = Svr::new(Kernel::linear()).c(10.0).epsilon(0.5).fit(x.view(), &[0.0, 2.0, 4.0])?;
/// assert_eq!(model.machine().support, [0, 2]); // the one in the middle is within the tube
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    /// The rows that are support vectors, in order.
    pub support: Vec<usize>,
    /// Their coefficients beta.
    pub dual_coef: Vec<f64>,
    /// The intercept b.
    pub intercept: f64,
    /// What the solver did.
    pub report: Report,
    /// Its epochs, if it was [`Adatron`](crate::qp::Adatron).
    pub history: Vec<Epoch>,
}

impl Machine {
    /// Keeps the coefficients that are not zero; `rows[i]` is the row of coefficient i.
    pub(crate) fn new(rows: &[usize], solution: Solution) -> Self {
        let kept = || {
            let coefficients = rows.iter().zip(&solution.beta);
            coefficients.filter(|&(_, &beta)| beta != 0.0)
        };
        Machine {
            support: kept().map(|(&row, _)| row).collect(),
            dual_coef: kept().map(|(_, &beta)| beta).collect(),
            intercept: solution.intercept,
            report: solution.report,
            history: solution.history,
        }
    }

    /// Returns z -> factor * sum_i beta_i k(x_i, z) + intercept from what is kept of the x_i.
    pub(crate) fn expansion_of(
        &self,
        kernel: &Kernel,
        kept: Kept,
        factor: f64,
        intercept: f64,
    ) -> Result<Expansion> {
        let scaled: Vec<f64> = self.dual_coef.iter().map(|beta| factor * beta).collect();
        let coefficients = Coefficients {
            n_support: &[scaled.len()],
            dual_coef: ArrayView2::from_shape((1, scaled.len()), &scaled)
                .expect("as many coefficients as support vectors"),
            intercept: &[intercept],
            multiclass: Multiclass::OneVsOne,
        };
        Expansion::of_kept(kernel, kept, &coefficients)
    }
}

/// A machine without classes is a classifier of one class.
impl From<Machine> for Machines {
    fn from(machine: Machine) -> Self {
        Machines {
            n_support: vec![machine.support.len()],
            support: machine.support,
            dual_coef: Array1::from_vec(machine.dual_coef).insert_axis(Axis(0)),
            intercept: vec![machine.intercept],
            reports: vec![machine.report],
            histories: vec![machine.history],
        }
    }
}

/// Solves the problem of a machine that is the only one, over these rows of the samples.
pub(super) fn solve(
    settings: &Settings,
    problem: &DualProblem,
    rows: &[usize],
    matrix: &KernelMatrix,
    session: &Session,
) -> Result<Solution> {
    let solver = settings.solver();
    threads::call(matrix.work(), || {
        let mut kernel_rows = KernelRows::new(matrix);
        session.solve(Place::ONLY, &solver, problem, rows, &mut kernel_rows)
    })
}
