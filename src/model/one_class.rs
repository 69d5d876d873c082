//! OneClassSvm: novelty detection by a plane.

use super::checks::{check_weights, rows_with_weight, take};
use super::detector::Detector;
use super::expansion::{Expansion, Kept};
use super::machine::{Machine, solve};
use super::score::one_row;
use super::session::Session;
use super::settings::Settings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Loss, boundary_shift, one_class};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Report, Unwatched};
use std::sync::Arc;

/// A detector of novelty: the plane that separates the samples from the origin, nu being an upper
/// bound on the share of samples outside.
///
/// The boundary is moved outwards by what the solver left to do, at most the tolerance, and by
/// rounding: the support vectors on it are inside.
///
/// ```
/// use mercer::{Kernel, OneClassSvm};
/// let x = ndarray::array![[0.0], [0.1], [0.2], [0.3], [5.0]];
/// let model = OneClassSvm::new(Kernel::rbf(1.0)).nu(0.3).fit(x.view())?;
/// assert_eq!(model.predict(ndarray::array![[0.15], [9.0]].view())?, [true, false]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default = "OneClassSvm::linear", deny_unknown_fields)
)]
pub struct OneClassSvm {
    kernel: Kernel,
    nu: f64,
    loss: Loss,
    settings: Settings,
}

solver_settings!(OneClassSvm, ".nu(0.9).fit(x.view())", ".report()");

impl OneClassSvm {
    /// Makes a detector with nu = 0.5 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let x = ndarray::array![[1.0], [2.0], [3.0]];
    /// let model = OneClassSvm::new(Kernel::linear()).fit(x.view())?;
    /// assert_eq!(model.machine().dual_coef, [1.0, 0.5]); // half of three, the nearest to the origin
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        OneClassSvm {
            kernel,
            nu: 0.5,
            loss: Loss::Linear,
            settings: Settings::default(),
        }
    }

    /// Sets the share of samples that may be outside.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let error = OneClassSvm::new(Kernel::linear()).nu(0.0).fit(ndarray::array![[1.0]].view());
    /// assert_eq!(error.unwrap_err().to_string(), "nu must be above 0 and at most 1, got 0");
    /// ```
    pub fn nu(mut self, nu: f64) -> Self {
        self.nu = nu;
        self
    }

    /// Sets how samples outside are charged.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm, formulation::Loss};
    /// let x = ndarray::array![[1.0], [1.0]];
    /// let model = OneClassSvm::new(Kernel::linear()).loss(Loss::Squared).fit(x.view())?;
    /// assert!((model.machine().dual_coef[0] - 0.5).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Trains on the rows of `x`, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// assert!(OneClassSvm::new(Kernel::rbf(1.0)).fit(ndarray::array![[f64::NAN]].view()).is_err());
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite or there is no row.
    pub fn fit<X>(&self, x: X) -> Result<OneClassModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let weights = vec![1.0; samples.rows()];
        self.fit_samples(&samples, &weights, &Session::watched(&Unwatched))
    }

    /// Trains with `weights[i]` as the weight of row i, watched by a [`Monitor`]. Rows of weight
    /// zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm, qp::Unwatched};
    /// let x = ndarray::array![[1.0], [2.0], [3.0]];
    /// let machine = OneClassSvm::new(Kernel::linear());
    /// let model = machine.fit_weighted(x.view(), &[0.0, 1.0, 1.0], &Unwatched)?;
    /// assert_eq!(model.machine().support, [1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if a weight is negative or not finite, or none is positive.
    pub fn fit_weighted<X>(
        &self,
        x: X,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<OneClassModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.fit_samples(&x.try_into()?, weights, &Session::watched(monitor))
    }

    pub(super) fn fit_samples(
        &self,
        samples: &Samples,
        weights: &[f64],
        session: &Session,
    ) -> Result<OneClassModel> {
        let train = || self.train(samples, weights, session);
        let machine = self.settings.threads.run(train)??;
        let kept = Kept::new(&self.kernel, samples, &machine.support)?;
        OneClassModel::of(&self.kernel, kept, machine)
    }

    /// Trains the machine alone; rows of weight zero are left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        weights: &[f64],
        session: &Session,
    ) -> Result<Machine> {
        check_weights(samples, weights)?;
        let rows = rows_with_weight(weights)?;
        let problem = one_class(&take(weights, &rows), self.nu, self.loss)?;
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let solution = solve(&self.settings, &problem, &rows, &matrix, session)?;
        let mut machine = Machine::new(&rows, solution);
        let tolerance = self.settings.solver().stop().tolerance;
        let size = machine.intercept.abs();
        machine.intercept += boundary_shift(machine.report.gap, tolerance, size);
        Ok(machine)
    }
}

/// A trained [`OneClassSvm`].
///
/// ```
/// use mercer::{Kernel, OneClassSvm};
/// let x = ndarray::array![[0.0], [0.1], [0.2]];
/// let model = OneClassSvm::new(Kernel::rbf(1.0)).nu(0.1).fit(x.view())?;
/// assert!(model.offset() > 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OneClassModel {
    machine: Machine,
    expansion: Arc<Expansion>,
}

expansion_access!(
    OneClassModel,
    "OneClassSvm::new(Kernel::rbf(0.5)).fit(x.view())?"
);

impl Detector for OneClassModel {
    fn scores(&self, samples: &Samples) -> Result<Vec<f64>> {
        self.expansion.values(samples)
    }

    fn boundary(&self) -> f64 {
        self.offset()
    }
}

impl OneClassModel {
    /// Makes a model of its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(crate) fn of(kernel: &Kernel, kept: Kept, machine: Machine) -> Result<Self> {
        Ok(OneClassModel {
            // Scores have no intercept.
            expansion: Arc::new(machine.expansion_of(kernel, kept, 1.0, 0.0)?),
            machine,
        })
    }

    /// Returns the support vectors, coefficients and intercept, which is minus the offset.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [2.0]].view())?;
    /// assert_eq!(model.machine().dual_coef.iter().sum::<f64>(), 1.0); // nu times two rows
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns what the solver did.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm, qp::Status};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [3.0]].view())?;
    /// assert_eq!(model.report().status, Status::Converged);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn report(&self) -> &Report {
        &self.machine.report
    }

    /// Returns rho, the score on the plane.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [2.0]].view())?;
    /// assert!((model.offset() - 4.0).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn offset(&self) -> f64 {
        -self.machine.intercept
    }

    /// Returns how far inside each row is: positive inside, negative outside. With a precomputed
    /// kernel, row i of `x` holds the kernel values with all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [2.0]].view())?;
    /// let values = model.decision_function(ndarray::array![[3.0]].view())?;
    /// assert!((values[0] - 2.0).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those trained on, or an entry is not finite.
    pub fn decision_function<X>(&self, x: X) -> Result<Vec<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.depths(&x.try_into()?)
    }

    /// Returns the decision function without its constant.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [2.0]].view())?;
    /// assert_eq!(model.score_samples(ndarray::array![[3.0]].view())?, [6.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function).
    pub fn score_samples<X>(&self, x: X) -> Result<Vec<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.scores(&x.try_into()?)
    }

    /// Tells whether one row is inside or on the boundary.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let x = ndarray::array![[0.0], [0.5], [1.0]];
    /// let model = OneClassSvm::new(Kernel::rbf(1.0)).nu(0.1).fit(&x)?;
    /// assert!(model.predict_one(&[0.5])? && !model.predict_one(&[9.0])?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the row is not as long as those trained on, or an entry is not finite.
    pub fn predict_one(&self, row: &[f64]) -> Result<bool> {
        Ok(self
            .insides(&one_row(row)?)?
            .first()
            .copied()
            .unwrap_or(false))
    }

    /// Tells for each row whether it is inside or on the boundary.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm};
    /// let model = OneClassSvm::new(Kernel::linear()).fit(ndarray::array![[2.0], [2.0]].view())?;
    /// assert_eq!(model.predict(ndarray::array![[3.0], [-1.0]].view())?, [true, false]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function).
    pub fn predict<X>(&self, x: X) -> Result<Vec<bool>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.insides(&x.try_into()?)
    }
}
