//! Svdd: novelty detection by a sphere.

use super::predictor::Predictor;
use super::{Machine, check_rows, take, weighty};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Loss, svdd};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Report, Solver, Unwatched};

/// A detector of novelty: the smallest sphere around the samples, nu being an upper bound on the
/// share of samples outside.
///
/// ```
/// use mercer::{Kernel, Svdd};
/// let x = ndarray::array![[0.0, 0.0], [2.0, 0.0]];
/// let model = Svdd::new(Kernel::linear()).fit(x.view())?;
/// assert!((model.radius() - 1.0).abs() < 1e-6); // around (1, 0)
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Svdd {
    kernel: Kernel,
    nu: f64,
    loss: Loss,
    solver: Solver,
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
            solver: Solver::default(),
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
    /// // Both are outside by 0.05: their mean slack is nu / 2.
    /// assert!((model.squared_radius() - 24.95).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Trains on the rows of `x`, on the threads of the current rayon pool.
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
        self.fit_samples(&samples, &weights, &Unwatched)
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
        self.fit_samples(&x.try_into()?, weights, monitor)
    }

    fn fit_samples(
        &self,
        samples: &Samples,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<SvddModel> {
        check_rows(samples, &[], weights)?;
        let (machine, squared_radius) = self.train(samples, weights, monitor)?;
        let diagonal = match self.kernel {
            Kernel::Precomputed => Diagonal::of_matrix(samples),
            _ => Diagonal::Kernel(self.kernel.clone()),
        };
        Ok(SvddModel {
            predictor: machine.predictor(&self.kernel, samples, 2.0)?,
            machine,
            squared_radius,
            diagonal,
        })
    }

    /// Trains the machine alone, and returns R^2 with it. Its bias is -|a|^2, so that
    /// 2 sum_i beta_i k(x_i, z) + b - k(z, z) is minus the squared distance of z from the centre.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<(Machine, f64)> {
        let rows = weighty(weights)?;
        let weights = take(weights, &rows);
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let problem = svdd(matrix.diagonal(), &weights, self.nu, self.loss)?;
        let mut solver = self.solver;
        // The coefficients are nu m times smaller than those of the one-class machine: the same
        // tolerance is to mean the same precision of the same boundary.
        solver.stop_mut().tolerance /= (self.nu * weights.iter().sum::<f64>()).max(1.0);
        monitor.machine(0, 1);
        let solution = solver.solve(&problem, &matrix, monitor)?;
        let support: Vec<u32> = (0..rows.len() as u32)
            .filter(|&i| solution.beta[i as usize] != 0.0)
            .collect();
        let product = matrix.product(&solution.beta, &support, &|| false)?;
        let squared_norm: f64 = support
            .iter()
            .zip(product.unwrap_or_default())
            .map(|(&i, product)| solution.beta[i as usize] * product)
            .sum();
        let squared_radius = 2.0 * solution.bias + squared_norm;
        let machine = Machine::new(
            &rows,
            &solution.beta,
            -squared_norm,
            solution.report,
            solution.history,
        );
        Ok((machine, squared_radius))
    }
}

/// Where k(z, z) comes from.
#[derive(Debug)]
enum Diagonal {
    Kernel(Kernel),
    /// The same for every row.
    Constant(f64),
    /// A precomputed matrix does not tell.
    Unknown,
}

impl Diagonal {
    /// A matrix with a constant diagonal is taken for that of a normalised kernel.
    fn of_matrix(matrix: &Samples) -> Self {
        let values = || (0..matrix.rows()).map(|i| matrix.dense_value(i, i));
        let (low, high) = values()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if high - low <= 1e-6 * high.abs() {
            Diagonal::Constant((low + high) / 2.0)
        } else {
            Diagonal::Unknown
        }
    }

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
#[derive(Debug)]
pub struct SvddModel {
    machine: Machine,
    squared_radius: f64,
    diagonal: Diagonal,
    predictor: Predictor,
}

impl SvddModel {
    /// Returns the support vectors and coefficients of the centre; the bias is minus its squared
    /// norm.
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
        let scores = self.score_samples(x)?;
        Ok(scores
            .iter()
            .map(|score| score + self.squared_radius)
            .collect())
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
        let samples = x.try_into()?;
        let (values, diagonal) = (
            self.predictor.values(&samples)?,
            self.diagonal.values(&samples)?,
        );
        Ok(values
            .iter()
            .zip(diagonal)
            .map(|(value, own)| value - own)
            .collect())
    }

    /// Tells for each row whether it is inside.
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
        let values = self.decision_function(x)?;
        Ok(values.iter().map(|&value| value >= 0.0).collect())
    }
}
