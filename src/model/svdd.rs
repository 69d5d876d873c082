//! Svdd: novelty detection by a sphere.

use super::checks::{check_weights, rows_with_weight, take};
use super::detector::Detector;
use super::expansion::{Expansion, Kept};
use super::machine::{Machine, solve};
use super::score::one_row;
use super::session::Session;
use super::settings::Settings;
use crate::data::Samples;
use crate::error::{Error, Result, unless_stopped};
use crate::formulation::{Loss, constant_diagonal, squared_radius, svdd, tolerance_of_sphere};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Report, Unwatched};
use std::sync::Arc;

/// A detector of novelty: the smallest sphere around the samples, nu being an upper bound on the
/// share of samples outside.
///
/// The boundary is moved outwards by what the solver left to do, at most the tolerance, and by
/// rounding: the support vectors on it are inside.
///
/// ```
/// use mercer::{Kernel, Svdd};
/// let x = ndarray::array![[0.0, 0.0], [2.0, 0.0]];
/// let model = Svdd::new(Kernel::linear()).fit(x.view())?;
/// assert!((model.radius() - 1.0).abs() < 1e-6); // around (1, 0)
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default = "Svdd::linear", deny_unknown_fields)
)]
pub struct Svdd {
    kernel: Kernel,
    nu: f64,
    loss: Loss,
    settings: Settings,
}

solver_settings!(Svdd, ".nu(0.2).fit(x.view())", ".report()");

impl Svdd {
    /// Makes a detector with nu = 0.5 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [3.0]].view())?;
    /// assert!((model.decision_function(ndarray::array![[2.0]].view())?[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        Svdd {
            kernel,
            nu: 0.5,
            loss: Loss::Linear,
            settings: Settings::default(),
        }
    }

    /// Sets the share of samples that may be outside.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let error = Svdd::new(Kernel::linear()).nu(2.0).fit(ndarray::array![[1.0]].view());
    /// assert_eq!(error.unwrap_err().to_string(), "nu must be above 0 and at most 1, got 2");
    /// ```
    pub fn nu(mut self, nu: f64) -> Self {
        self.nu = nu;
        self
    }

    /// Sets how samples outside are charged.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd, formulation::Loss};
    /// let x = ndarray::array![[0.0], [10.0]];
    /// let model = Svdd::new(Kernel::linear()).nu(0.1).loss(Loss::Squared).fit(x.view())?;
    /// // Both are outside by 0.05, which is nu / 2.
    /// assert!((model.squared_radius() - 24.95).abs() < 1e-6);
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
    /// # use mercer::{Kernel, Svdd};
    /// assert!(Svdd::new(Kernel::rbf(1.0)).fit(ndarray::array![[f64::NAN]].view()).is_err());
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite or there is no row.
    pub fn fit<X>(&self, x: X) -> Result<SvddModel>
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
    /// # use mercer::{Kernel, Svdd, qp::Unwatched};
    /// let x = ndarray::array![[1.0], [2.0], [9.0]];
    /// let machine = Svdd::new(Kernel::linear());
    /// let model = machine.fit_weighted(x.view(), &[1.0, 1.0, 0.0], &Unwatched)?;
    /// assert!((model.radius() - 0.5).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if a weight is negative or not finite, or none is positive.
    pub fn fit_weighted<X>(&self, x: X, weights: &[f64], monitor: &dyn Monitor) -> Result<SvddModel>
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
    ) -> Result<SvddModel> {
        let train = || self.train(samples, weights, session);
        let sphere = self.settings.threads.run(train)??;
        let kept = Kept::new(&self.kernel, samples, &sphere.machine.support)?;
        SvddModel::of(&self.kernel, kept, sphere)
    }

    /// Trains the machine alone; rows of weight zero are left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        weights: &[f64],
        session: &Session,
    ) -> Result<Sphere> {
        check_weights(samples, weights)?;
        let rows = rows_with_weight(weights)?;
        let weights = take(weights, &rows);
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let problem = svdd(matrix.diagonal(), &weights, self.nu, self.loss)?;
        let tolerance = self.settings.solver().stop().tolerance;
        let total = weights.iter().sum::<f64>();
        let settings = Settings {
            tolerance: Some(tolerance_of_sphere(tolerance, self.nu, total)),
            ..self.settings.clone()
        };
        let mut solution = solve(&settings, &problem, &rows, &matrix, session)?;
        let squared_norm = squared_norm(&matrix, &solution.beta)?;
        let gap = solution.report.gap;
        let squared_radius = squared_radius(solution.intercept, squared_norm, gap, tolerance);
        solution.intercept = -squared_norm;
        let constant = || constant_diagonal(matrix.diagonal(), samples.epsilon());
        let precomputed = matches!(self.kernel, Kernel::Precomputed);
        Ok(Sphere {
            machine: Machine::new(&rows, solution),
            squared_radius,
            diagonal: precomputed.then(constant).flatten(),
        })
    }
}

/// What training finds.
pub(crate) struct Sphere {
    /// The centre. The intercept is minus its squared norm, so that 2 sum_i beta_i k(x_i, z) + b -
    /// k(z, z) is minus the squared distance of z from it.
    pub machine: Machine,
    pub squared_radius: f64,
    /// k(x, x) of a precomputed kernel, if it is the same for all rows.
    pub diagonal: Option<f64>,
}

/// Returns beta' K beta.
fn squared_norm(matrix: &KernelMatrix, beta: &[f64]) -> Result<f64> {
    let support: Vec<u32> = (0..beta.len() as u32)
        .filter(|&i| beta[i as usize] != 0.0)
        .collect();
    // None only if stopped, and nothing stops it here.
    let product = unless_stopped(matrix.product(beta, &support, &|| false))?;
    let product = product.unwrap_or_default();
    let terms = support.iter().zip(product);
    Ok(terms.map(|(&i, product)| beta[i as usize] * product).sum())
}

/// Where k(z, z) comes from.
#[derive(Clone, Debug)]
enum Diagonal {
    Kernel(Kernel),
    /// The same for every row.
    Constant(f64),
    /// A precomputed matrix does not tell.
    Unknown,
}

impl Diagonal {
    fn values(&self, samples: &Samples) -> Result<Vec<f64>> {
        match self {
            Diagonal::Kernel(kernel) => kernel.diagonal(samples),
            Diagonal::Constant(value) => Ok(vec![*value; samples.rows()]),
            Diagonal::Unknown => Err(Error::parameter(
                "kernel",
                "normalised to k(x, x) = 1 if it is precomputed, or else a function: distances \
                 need k(x, x)",
                "a precomputed matrix with a diagonal that is not constant",
            )),
        }
    }
}

/// A trained [`Svdd`].
///
/// ```
/// use mercer::{Kernel, Svdd};
/// let x = ndarray::array![[0.0], [0.1], [0.2]];
/// let model = Svdd::new(Kernel::rbf(1.0)).nu(0.1).fit(x.view())?;
/// assert_eq!(model.predict(ndarray::array![[0.1], [5.0]].view())?, [true, false]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SvddModel {
    machine: Machine,
    squared_radius: f64,
    diagonal: Diagonal,
    expansion: Arc<Expansion>,
}

expansion_access!(SvddModel, "Svdd::new(Kernel::rbf(0.5)).fit(x.view())?");

impl Detector for SvddModel {
    fn scores(&self, samples: &Samples) -> Result<Vec<f64>> {
        let mut scores = self.expansion.values(samples)?;
        for (score, own) in scores.iter_mut().zip(self.diagonal.values(samples)?) {
            *score -= own;
        }
        Ok(scores)
    }

    fn boundary(&self) -> f64 {
        self.offset()
    }
}

impl SvddModel {
    /// Makes a model of its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(crate) fn of(kernel: &Kernel, kept: Kept, sphere: Sphere) -> Result<Self> {
        let Sphere {
            machine,
            squared_radius,
            diagonal,
        } = sphere;
        let diagonal = match (kernel, diagonal) {
            (Kernel::Precomputed, None) => Diagonal::Unknown,
            (Kernel::Precomputed, Some(value)) => Diagonal::Constant(value),
            (kernel, _) => Diagonal::Kernel(kernel.clone()),
        };
        let expansion = machine.expansion_of(kernel, kept, 2.0, machine.intercept)?;
        Ok(SvddModel {
            expansion: Arc::new(expansion),
            machine,
            squared_radius,
            diagonal,
        })
    }

    /// Returns k(x, x) of a precomputed kernel, if it is constant.
    #[cfg(feature = "persist")]
    pub(crate) fn constant_diagonal(&self) -> Option<f64> {
        match self.diagonal {
            Diagonal::Constant(value) => Some(value),
            Diagonal::Kernel(_) | Diagonal::Unknown => None,
        }
    }

    /// Returns the support vectors and coefficients of the centre; the intercept is minus its
    /// squared norm.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [3.0]].view())?;
    /// assert!((model.machine().intercept + 4.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns what the solver did.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd, qp::Status};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[2.0], [3.0]].view())?;
    /// assert_eq!(model.report().status, Status::Converged);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn report(&self) -> &Report {
        &self.machine.report
    }

    /// Returns R^2, which with the squared loss can be negative: then no point is inside.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert!((model.squared_radius() - 4.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn squared_radius(&self) -> f64 {
        self.squared_radius
    }

    /// Returns the radius, 0 if its square is negative.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert!((model.radius() - 2.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn radius(&self) -> f64 {
        self.squared_radius.max(0.0).sqrt()
    }

    /// Returns the score on the sphere, -R^2.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert!((model.offset() + 4.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn offset(&self) -> f64 {
        -self.squared_radius
    }

    /// Returns R^2 minus the squared distance from the centre: positive inside, negative outside.
    /// With a precomputed kernel, row i of `x` holds the kernel values with all training rows, and
    /// the diagonal of the training matrix must have been constant.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert!((model.decision_function(ndarray::array![[4.0]].view())?[0] - 3.0).abs() < 1e-6);
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

    /// Returns minus the squared distance from the centre.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert!((model.score_samples(ndarray::array![[4.0]].view())?[0] + 1.0).abs() < 1e-6);
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
    /// # use mercer::{Kernel, Svdd};
    /// let x = ndarray::array![[0.0], [0.5], [1.0]];
    /// let model = Svdd::new(Kernel::rbf(1.0)).nu(0.1).fit(&x)?;
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
    /// # use mercer::{Kernel, Svdd};
    /// let model = Svdd::new(Kernel::linear()).fit(ndarray::array![[1.0], [5.0]].view())?;
    /// assert_eq!(model.predict(ndarray::array![[4.0], [6.0]].view())?, [true, false]);
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
