//! Svr: regression for Rust users.

use super::checks::{
    check_costs, check_lengths, check_target, check_weights, rows_with_weight, take,
};
use super::expansion::{Coefficients, Expansion, Kept};
use super::machine::{Machine, solve};
use super::multiclass::{Machines, Multiclass, assemble};
use super::score::{one_row, r_squared, weights_of_features};
use super::session::{Place, Session, Strategy};
use super::settings::Settings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, SvrLoss, svr};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{Monitor, Report, Unwatched};
use crate::simd::threads;
use ndarray::{Array2, ArrayView2};
use std::sync::Arc;
use std::time::Instant;

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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default = "Svr::linear", deny_unknown_fields))]
pub struct Svr {
    kernel: Kernel,
    #[cfg_attr(feature = "serde", serde(with = "crate::infinite"))]
    c: f64,
    epsilon: f64,
    loss: SvrLoss,
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
            loss: Loss::Linear.into(),
            intercept: Intercept::Free,
            settings: Settings::default(),
        }
    }

    /// Sets the cost of an error; infinity allows none beyond the tube.
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

    /// Sets how errors are charged: those outside the tube, or all of them by one of the other losses.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, formulation::{Loss, SvrLoss}};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let machine = Svr::new(Kernel::linear()).c(0.5).epsilon(0.0).loss(Loss::Squared);
    /// let model = machine.fit(x.view(), &[-1.0, 1.0])?;
    /// assert!((model.machine().dual_coef[1] - 1.0 / 3.0).abs() < 1e-9); // of ridge 1
    ///
    /// let median = Svr::new(Kernel::rbf(1.0)).loss(SvrLoss::Pinball { quantile: 0.5 });
    /// let same = ndarray::array![[0.0], [0.0], [0.0]];
    /// let model = median.fit(same.view(), &[1.0, 2.0, 9.0])?;
    /// assert!((model.predict(same.view())?[0] - 2.0).abs() < 1e-3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: impl Into<SvrLoss>) -> Self {
        self.loss = loss.into();
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
        self.fit_samples(&x.try_into()?, target, weights, &Session::watched(monitor))
    }

    pub(super) fn fit_samples(
        &self,
        samples: &Samples,
        target: &[f64],
        weights: &[f64],
        session: &Session,
    ) -> Result<SvrModel> {
        check_target(samples, target)?;
        check_weights(samples, weights)?;
        let train = || self.train(samples, target, weights, session);
        let machine = self.settings.threads.run(train)??;
        SvrModel::new(&self.kernel, samples, machine, self.epsilon)
    }

    /// Trains a machine for every column of `targets`; the kernel values are shared.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, qp::Unwatched};
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let targets = ndarray::array![[0.0, 4.0], [1.0, 2.0], [2.0, 0.0]];
    /// let svr = Svr::new(Kernel::linear()).c(100.0).epsilon(0.0);
    /// let model = svr.fit_columns(x.view(), targets.view(), &[1.0; 3], &Unwatched)?;
    /// let predicted = model.predict(ndarray::array![[3.0]].view())?;
    /// assert!((predicted[[0, 0]] - 3.0).abs() < 1e-2 && (predicted[[0, 1]] + 2.0).abs() < 1e-2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit_weighted`](Self::fit_weighted), and if there is no column.
    pub fn fit_columns<X>(
        &self,
        x: X,
        targets: ArrayView2<f64>,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<SvrColumns>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        check_lengths(&samples, &[("y", targets.nrows())])?;
        check_weights(&samples, weights)?;
        let session = Session::watched(monitor);
        let train = || self.train_columns(&samples, targets, weights, &session);
        let machines = self.settings.threads.run(train)??;
        SvrColumns::new(&self.kernel, &samples, machines)
    }

    /// Trains the machine alone; `weights[i]` times C is the cost of row i, which may be infinite, and
    /// rows of weight zero are left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        target: &[f64],
        weights: &[f64],
        session: &Session,
    ) -> Result<Machine> {
        check_target(samples, target)?;
        let (rows, cost) = self.check(samples, weights)?;
        let target = take(target, &rows);
        let problem = svr(&target, &cost, self.epsilon, self.loss, self.intercept);
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let solution = solve(&self.settings, &problem, &rows, &matrix, session)?;
        Ok(Machine::new(&rows, solution))
    }

    /// Trains the machines of all columns, with one set of support vectors.
    pub(crate) fn train_columns(
        &self,
        samples: &Samples,
        targets: ArrayView2<f64>,
        weights: &[f64],
        session: &Session,
    ) -> Result<Machines> {
        let started = Instant::now();
        let columns = targets.ncols();
        if columns == 0 {
            let expected = "at least one column".to_string();
            return Err(Error::shape("y", expected, "none".to_string()));
        }
        let columns_of = targets.columns().into_iter().map(|column| column.to_vec());
        let targets: Vec<Vec<f64>> = columns_of.collect();
        for target in &targets {
            check_target(samples, target)?;
        }
        let (rows, cost) = self.check(samples, weights)?;
        let matrix = KernelMatrix::new(&self.kernel, samples, rows.clone())?;
        let solve_all = || {
            let mut kernel_rows = KernelRows::new(&matrix);
            let solve = |(column, target): (usize, &Vec<f64>)| {
                let place = Place {
                    strategy: Strategy::Columns,
                    machine: column,
                    of: columns,
                };
                let target = take(target, &rows);
                let problem = svr(&target, &cost, self.epsilon, self.loss, self.intercept);
                let solver = self.settings.solver().since(started);
                session.solve(place, &solver, &problem, &rows, &mut kernel_rows)
            };
            targets.iter().enumerate().map(solve).collect::<Result<_>>()
        };
        let solutions = threads::call(matrix.work(), solve_all)?;
        Ok(assemble(&[rows], solutions))
    }

    /// Checks the parameters and weights, and returns the rows that count and what errors on them cost.
    fn check(&self, samples: &Samples, weights: &[f64]) -> Result<(Vec<usize>, Vec<f64>)> {
        if self.c.is_nan() || self.c <= 0.0 {
            return Err(Error::parameter("C", "positive", self.c));
        }
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            let allowed = "finite and not negative";
            return Err(Error::parameter("epsilon", allowed, self.epsilon));
        }
        self.loss.check()?;
        check_costs(samples, weights)?;
        let rows = rows_with_weight(weights)?;
        let cost = rows.iter().map(|&row| self.c * weights[row]).collect();
        Ok((rows, cost))
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
#[derive(Clone, Debug)]
pub struct SvrModel {
    machine: Machine,
    epsilon: f64,
    expansion: Arc<Expansion>,
}

expansion_access!(
    SvrModel,
    "Svr::new(Kernel::rbf(0.5)).fit(x.view(), &[0.0, 1.0, 2.0, 3.0])?"
);

impl SvrModel {
    pub(super) fn new(
        kernel: &Kernel,
        samples: &Samples,
        machine: Machine,
        epsilon: f64,
    ) -> Result<Self> {
        let kept = Kept::new(kernel, samples, &machine.support)?;
        Self::of(kernel, kept, machine, epsilon)
    }

    /// Makes a model of its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(crate) fn of(kernel: &Kernel, kept: Kept, machine: Machine, epsilon: f64) -> Result<Self> {
        let expansion = machine.expansion_of(kernel, kept, 1.0, machine.intercept)?;
        Ok(SvrModel {
            expansion: Arc::new(expansion),
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

    /// Returns the value of one row.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(0.0).fit(&x, &[0.0, 1.0])?;
    /// assert!((model.predict_one(&[3.0])? - 2.0).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_one(&self, row: &[f64]) -> Result<f64> {
        let values = self.expansion.values(&one_row(row)?)?;
        Ok(values.first().copied().unwrap_or(0.0))
    }

    /// Returns R^2 = 1 - sum (y - f)^2 / sum (y - mean)^2.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(0.0).fit(&x, &[0.0, 1.0])?;
    /// assert!((model.score(&x, &[0.0, 1.0])? - 1.0).abs() < 1e-9);
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

    /// Returns the weights of the features, `None` unless the kernel is linear.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svr::new(Kernel::linear()).epsilon(0.0).fit(&x, &[0.0, 1.0])?;
    /// assert!((model.coef().expect("linear")[0] - 0.5).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn coef(&self) -> Option<Vec<f64>> {
        let of = &self.machine.dual_coef;
        let row = ArrayView2::from_shape((1, of.len()), of).ok()?;
        let vectors = self.expansion.support_vectors();
        let weights = weights_of_features(self.expansion.kernel(), vectors, row)?;
        Some(weights.into_iter().collect())
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

/// A trained [`Svr`] of several targets.
///
/// ```
/// use mercer::{Kernel, Svr, qp::Unwatched};
/// let x = ndarray::array![[0.0], [1.0]];
/// let targets = ndarray::array![[5.0, 7.0], [5.0, 7.0]];
/// let svr = Svr::new(Kernel::linear());
/// let model = svr.fit_columns(x.view(), targets.view(), &[1.0; 2], &Unwatched)?;
/// assert_eq!(model.predict(x.view())?, targets);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SvrColumns {
    machines: Machines,
    expansion: Arc<Expansion>,
}

expansion_access!(
    SvrColumns,
    "Svr::new(Kernel::rbf(0.5)).fit_columns(x.view(), x.view(), &[1.0; 4], &qp::Unwatched)?"
);

impl SvrColumns {
    fn new(kernel: &Kernel, samples: &Samples, machines: Machines) -> Result<Self> {
        let kept = Kept::new(kernel, samples, &machines.support)?;
        Self::of(kernel, kept, machines)
    }

    /// Makes a model of its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(crate) fn of(kernel: &Kernel, kept: Kept, machines: Machines) -> Result<Self> {
        let coefficients = Coefficients {
            n_support: &machines.n_support,
            dual_coef: machines.dual_coef.view(),
            intercept: &machines.intercept,
            multiclass: Multiclass::OneVsRest,
        };
        Ok(SvrColumns {
            expansion: Arc::new(Expansion::of_kept(kernel, kept, &coefficients)?),
            machines,
        })
    }

    /// Returns the support vectors of all machines, the coefficients and intercepts of each, and what
    /// the solver did.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, qp::Unwatched};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let targets = ndarray::array![[0.0, 7.0], [1.0, 7.0]];
    /// let svr = Svr::new(Kernel::linear());
    /// let model = svr.fit_columns(x.view(), targets.view(), &[1.0; 2], &Unwatched)?;
    /// assert_eq!(model.machines().intercept[1], 7.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Returns the values of each row, one for each target.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, qp::Unwatched};
    /// # let x = ndarray::array![[0.0], [1.0]];
    /// # let targets = ndarray::array![[0.0, 7.0], [1.0, 7.0]];
    /// # let svr = Svr::new(Kernel::linear());
    /// let model = svr.fit_columns(x.view(), targets.view(), &[1.0; 2], &Unwatched)?;
    /// assert_eq!(model.predict(ndarray::array![[9.0]].view())?.dim(), (1, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`SvrModel::predict`].
    pub fn predict<X>(&self, x: X) -> Result<Array2<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        // None only if stopped, and nothing stops it here.
        let decision = self.expansion.decision(&x.try_into()?, &|| false)?;
        Ok(decision.unwrap_or_default())
    }
}
