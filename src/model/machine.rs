//! Machine: the solution of one quadratic programme, as far as it is not zero.

use super::Multiclass;
use super::predictor::Predictor;
use crate::data::Samples;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::qp::{Epoch, Report};
use ndarray::ArrayView2;

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
    /// The bias b.
    pub intercept: f64,
    /// What the solver did.
    pub report: Report,
    /// Its epochs, if it was [`Adatron`](crate::qp::Adatron).
    pub history: Vec<Epoch>,
}

impl Machine {
    /// Keeps the coefficients that are not zero; `rows[i]` is the row of `beta[i]`.
    pub(super) fn new(
        rows: &[usize],
        beta: &[f64],
        intercept: f64,
        report: Report,
        history: Vec<Epoch>,
    ) -> Self {
        let kept = || rows.iter().zip(beta).filter(|&(_, &beta)| beta != 0.0);
        Machine {
            support: kept().map(|(&row, _)| row).collect(),
            dual_coef: kept().map(|(_, &beta)| beta).collect(),
            intercept,
            report,
            history,
        }
    }

    /// Returns f with its coefficients multiplied by `factor`.
    pub(super) fn predictor(
        &self,
        kernel: &Kernel,
        samples: &Samples,
        factor: f64,
    ) -> Result<Predictor> {
        let count = self.support.len();
        let coefficients: Vec<f64> = self.dual_coef.iter().map(|beta| factor * beta).collect();
        let coefficients = ArrayView2::from_shape((1, count), &coefficients)
            .expect("as many coefficients as support vectors");
        let intercept = [self.intercept];
        Predictor::new(
            kernel,
            samples,
            &self.support,
            &[count],
            coefficients,
            &intercept,
            Multiclass::OneVsOne,
        )
    }
}
