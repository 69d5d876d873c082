//! LinearSvr: linear regression with a tube.

use super::{LinearMachine, LinearTraining, check_scaling, kept, linear_settings};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::Loss;
use crate::model::checks::{check_target, check_weights, take};
use crate::model::score::{one_row, r_squared};
use crate::model::settings::Threads;
use crate::qp::{Monitor, Report, StopRule, Unwatched};

/// Linear regression with a penalised intercept: LIBLINEAR's problem.
///
/// ```
/// use mercer::LinearSvr;
/// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
/// let model = LinearSvr::new().c(1e4).fit(x.view(), &[1.0, 3.0, 5.0, 7.0])?;
/// assert!((model.coef()[0] - 2.0).abs() < 1e-3);
/// assert!((model.intercept() - 1.0).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LinearSvr {
    c: f64,
    epsilon: f64,
    loss: Loss,
    scaling: Option<f64>,
    stop: StopRule,
    threads: Threads,
}

impl Default for LinearSvr {
    fn default() -> Self {
        LinearSvr {
            c: 1.0,
            epsilon: 0.0,
            loss: Loss::Linear,
            scaling: Some(1.0),
            stop: StopRule::new().tolerance(1e-4),
            threads: Threads::default(),
        }
    }
}

linear_settings!(LinearSvr, "[0.0, 1.0]");

impl LinearSvr {
    /// C = 1, no tube, absolute errors, intercept scaling 1.
    ///
    /// ```
    /// let machine = mercer::LinearSvr::new();
    /// ```
    pub fn new() -> Self {
        LinearSvr::default()
    }

    /// Sets half the width of the tube within which errors cost nothing.
    ///
    /// ```
    /// let machine = mercer::LinearSvr::new().epsilon(0.1);
    /// ```
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Trains on rows and their values.
    ///
    /// ```
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// assert!(model.report().gap <= 1e-4);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, lengths differ or a value is not finite.
    pub fn fit<X>(&self, x: X, target: &[f64]) -> Result<LinearSvrModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.fit_weighted(x, target, &vec![1.0; target.len()], &Unwatched)
    }

    /// Trains with C times `weights[i]` as the cost of row i, watched by a [`Monitor`]. Rows of weight zero
    /// are left out.
    ///
    /// ```
    /// use mercer::{LinearSvr, qp::Unwatched};
    /// let x = ndarray::array![[1.0], [2.0], [9.0]];
    /// let svr = LinearSvr::new().c(1e4).intercept_scaling(None);
    /// let model = svr.fit_weighted(x.view(), &[1.0, 2.0, 0.0], &[1.0, 1.0, 0.0], &Unwatched)?;
    /// assert!((model.coef()[0] - 1.0).abs() < 1e-3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if a weight is negative or not finite.
    pub fn fit_weighted<X>(
        &self,
        x: X,
        target: &[f64],
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<LinearSvrModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        check_target(&samples, target)?;
        check_weights(&samples, weights)?;
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            let allowed = "finite and not negative";
            return Err(Error::parameter("epsilon", allowed, self.epsilon));
        }
        let (samples, cost, rows) = kept(samples, self.c, weights)?;
        let training = LinearTraining {
            samples: &samples,
            cost: &cost,
            loss: self.loss,
            constant: self.constant()?,
            stop: self.stop,
            monitor,
        };
        let train = || training.regression(&take(target, &rows), self.epsilon);
        let machine = self.threads.run(train)??;
        Ok(LinearSvrModel { machine })
    }
}

/// A trained [`LinearSvr`].
///
/// ```
/// let x = ndarray::array![[0.0], [1.0]];
/// let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
/// assert_eq!(model.coef().len(), 1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearSvrModel {
    machine: LinearMachine,
}

impl LinearSvrModel {
    /// Makes a model of its machine.
    #[cfg(feature = "persist")]
    pub(crate) fn of(machine: LinearMachine) -> Self {
        LinearSvrModel { machine }
    }

    /// Returns the weights of the features.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// # let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// assert_eq!(model.coef().len(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn coef(&self) -> &[f64] {
        &self.machine.weights
    }

    /// Returns the intercept.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// # let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// assert!(model.intercept().is_finite());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn intercept(&self) -> f64 {
        self.machine.intercept
    }

    /// Returns what the solver did.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// # let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// assert!(model.report().gap <= 1e-4);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn report(&self) -> &Report {
        &self.machine.report
    }

    /// Returns the value of one row.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// let svr = mercer::LinearSvr::new().c(1e4);
    /// let model = svr.fit(&x, &[0.0, 1.0])?;
    /// assert!((model.predict_one(&[3.0])? - 3.0).abs() < 1e-3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_one(&self, row: &[f64]) -> Result<f64> {
        let values = self.machine.values(&one_row(row)?)?;
        Ok(values.first().copied().unwrap_or(0.0))
    }

    /// Returns R^2 = 1 - sum (y - f)^2 / sum (y - mean)^2.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// let svr = mercer::LinearSvr::new().c(1e4);
    /// assert!(svr.fit(&x, &[0.0, 1.0])?.score(&x, &[0.0, 1.0])? > 0.999);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and if the lengths differ.
    pub fn score<X>(&self, x: X, target: &[f64]) -> Result<f64>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        r_squared(&self.predict(x)?, target)
    }

    /// Computes the value of each row.
    ///
    /// ```
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// # let model = mercer::LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// assert_eq!(model.predict(x.view())?.len(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If rows have another length than those trained on, or a value is not finite.
    pub fn predict<X>(&self, x: X) -> Result<Vec<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.machine.values(&x.try_into()?)
    }
}
