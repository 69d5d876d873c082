//! Svr: regression for Rust users.

use super::checks::{check_c, check_target, check_weights, rows_with_weight, take};
use super::expansion::Expansion;
use super::machine::{Machine, solve};
use super::settings::Settings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, svr};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Report, Unwatched};

/// Support vector regression with a tube of width epsilon.
///
/// ```
/// use mercer::{Kernel, Svr};
/// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
/// let model = Svr::new(Kernel::linear()).c(100.0).epsilon(0.0).fit(x.view(), &[1.0, 3.0, 5.0, 7.0])?;
/// let predicted = model.predict(ndarray::array![[10.0]].view())?;
/// assert!((predicted[0] - 21.0).abs() < 1e-2);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Svr {
    kernel: Kernel,
    c: f64,
    epsilon: f64,
    loss: Loss,
    intercept: Intercept,
    settings: Settings,
}

solver_settings!(Svr, ".fit(x.view(), &[0.0, 1.0, 2.0, 3.0])", ".report()");

impl Svr {
    /// Makes a regression with C = 1, epsilon = 0.1 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::rbf(0.5)).fit(x.view(), &[-1.0, 1.0])?;
    /// assert!((model.predict(x.view())?[1] - 0.864664716763387).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        Svr {
            kernel,
            c: 1.0,
            epsilon: 0.1,
            loss: Loss::Linear,
            intercept: Intercept::Free,
            settings: Settings::default(),
        }
    }

    /// Sets the cost of an error.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).c(0.1).fit(x.view(), &[-1.0, 1.0])?;
    /// assert_eq!(model.machine().dual_coef, [-0.1, 0.1]); // both at the bound
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn c(mut self, c: f64) -> Self {
        self.c = c;
        self
    }

    /// Sets the width of the tube within which errors cost nothing.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(2.0).fit(x.view(), &[-1.0, 1.0])?;
    /// assert!(model.machine().support.is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Sets how errors outside the tube are charged.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, formulation::Loss};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let machine = Svr::new(Kernel::linear()).c(0.5).epsilon(0.0).loss(Loss::Squared);
    /// let model = machine.fit(x.view(), &[-1.0, 1.0])?;
    /// assert!((model.machine().dual_coef[1] - 1.0 / 3.0).abs() < 1e-9); // of ridge 1
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Sets whether the function has a constant term.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, formulation::Intercept};
    /// let x = ndarray::array![[1.0], [2.0]];
    /// let machine = Svr::new(Kernel::linear()).intercept(Intercept::None);
    /// assert_eq!(machine.fit(x.view(), &[1.0, 2.0])?.machine().intercept, 0.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn intercept(mut self, intercept: Intercept) -> Self {
        self.intercept = intercept;
        self
    }

    /// Trains on the rows of `x` with one target each, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let error = Svr::new(Kernel::linear()).fit(x.view(), &[0.0, f64::NAN]).unwrap_err();
    /// assert_eq!(error.to_string(), "y must be finite, got NaN in row 1");
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite or the lengths differ.
    pub fn fit<X>(&self, x: X, target: &[f64]) -> Result<SvrModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.fit_weighted(x, target, &vec![1.0; target.len()], &Unwatched)
    }

    /// Trains with C times `weights[i]` as the cost of row i, watched by a [`Monitor`]. Rows of
    /// weight zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, qp::Unwatched};
    /// let x = ndarray::array![[-1.0], [1.0], [9.0]];
    /// let target = [-1.0, 1.0, 0.0];
    /// let model =
    ///     Svr::new(Kernel::linear()).fit_weighted(x.view(), &target, &[1.0, 1.0, 0.0], &Unwatched)?;
    /// assert_eq!(model.machine().support, [0, 1]);
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
    ) -> Result<SvrModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let machine = self.train(&samples, target, weights, monitor)?;
        SvrModel::new(&self.kernel, &samples, machine, self.epsilon)
    }

    /// Trains the machine alone; `weights[i]` times C is the cost of row i, and rows of weight zero are
    /// left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        target: &[f64],
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<Machine> {
        check_c(self.c)?;
        check_target(samples, target)?;
        check_weights(samples, weights)?;
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            let allowed = "finite and not negative";
            return Err(Error::parameter("epsilon", allowed, self.epsilon));
        }
        let rows = rows_with_weight(weights)?;
        let cost: Vec<f64> = rows.iter().map(|&row| self.c * weights[row]).collect();
        let target = take(target, &rows);
        let problem = svr(&target, &cost, self.epsilon, self.loss, self.intercept);
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let solution = solve(&self.settings, &problem, &matrix, monitor)?;
        Ok(Machine::new(&rows, solution))
    }
}

/// A trained [`Svr`] or [`NuSvr`](crate::NuSvr).
///
/// ```
/// use mercer::{Kernel, Svr};
/// let x = ndarray::array![[0.0], [1.0]];
/// let model = Svr::new(Kernel::linear()).fit(x.view(), &[5.0, 5.0])?;
/// assert_eq!(model.predict(x.view())?, [5.0, 5.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct SvrModel {
    machine: Machine,
    epsilon: f64,
    expansion: Expansion,
}

impl SvrModel {
    pub(super) fn new(
        kernel: &Kernel,
        samples: &Samples,
        machine: Machine,
        epsilon: f64,
    ) -> Result<Self> {
        Ok(SvrModel {
            expansion: machine.expansion(kernel, samples, 1.0, machine.intercept)?,
            machine,
            epsilon,
        })
    }

    /// Returns the support vectors, coefficients and intercept.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).fit(x.view(), &[0.0, 1.0])?;
    /// assert_eq!(model.machine().support, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns what the solver did.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, qp::Status};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).fit(x.view(), &[0.0, 1.0])?;
    /// assert_eq!(model.report().status, Status::Converged);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn report(&self) -> &Report {
        &self.machine.report
    }

    /// Returns the width of the tube: the one given, or the one found if nu was.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(0.2).fit(x.view(), &[0.0, 1.0])?;
    /// assert_eq!(model.epsilon(), 0.2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Returns the value of each row. With a precomputed kernel, row i of `x` holds the kernel
    /// values with all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(0.0).fit(x.view(), &[0.0, 1.0])?;
    /// assert!((model.predict(ndarray::array![[3.0]].view())?[0] - 2.0).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those trained on, or an entry is not finite.
    pub fn predict<X>(&self, x: X) -> Result<Vec<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.expansion.values(&x.try_into()?)
    }
}
