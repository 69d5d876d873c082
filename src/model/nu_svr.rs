//! NuSvr: the regression that finds the width of its tube.

use super::checks::{check_c, check_target, check_weights, rows_with_weight, take};
use super::machine::{Machine, solve};
use super::session::Session;
use super::settings::Settings;
use super::svr::SvrModel;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::nu_svr;
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Unwatched};

/// Support vector regression in which nu, an upper bound on the share of errors and a lower bound
/// on that of support vectors, takes the place of the width of the tube.
///
/// ```
/// use mercer::{Kernel, NuSvr};
/// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
/// let model = NuSvr::new(Kernel::linear()).c(10.0).nu(0.5).fit(x.view(), &[1.0, 3.0, 5.0, 7.0])?;
/// assert!(model.epsilon() < 1e-6); // a line through all points
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default = "NuSvr::linear", deny_unknown_fields)
)]
pub struct NuSvr {
    kernel: Kernel,
    c: f64,
    nu: f64,
    settings: Settings,
}

solver_settings!(NuSvr, ".fit(x.view(), &[0.0, 1.0, 2.0, 3.0])", ".report()");

impl NuSvr {
    /// Makes a regression with C = 1, nu = 0.5 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = NuSvr::new(Kernel::linear()).fit(x.view(), &[-1.0, 1.0])?;
    /// assert!(model.predict(ndarray::array![[0.0]].view())?[0].abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        NuSvr {
            kernel,
            c: 1.0,
            nu: 0.5,
            settings: Settings::default(),
        }
    }

    /// Sets the cost of an error.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let error = NuSvr::new(Kernel::linear()).c(0.0).fit(x.view(), &[-1.0, 1.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "C must be positive and finite, got 0");
    /// ```
    pub fn c(mut self, c: f64) -> Self {
        self.c = c;
        self
    }

    /// Sets the share of errors.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvr};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let error = NuSvr::new(Kernel::linear()).nu(1.5).fit(x.view(), &[-1.0, 1.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "nu must be above 0 and at most 1, got 1.5");
    /// ```
    pub fn nu(mut self, nu: f64) -> Self {
        self.nu = nu;
        self
    }

    /// Trains on the rows of `x` with one target each, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvr};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// assert!(NuSvr::new(Kernel::linear()).fit(x.view(), &[0.0]).is_err());
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
    /// # use mercer::{Kernel, NuSvr, qp::Unwatched};
    /// let x = ndarray::array![[-1.0], [1.0], [9.0]];
    /// let (target, weights) = ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0]);
    /// let machine = NuSvr::new(Kernel::linear());
    /// let model = machine.fit_weighted(x.view(), &target, &weights, &Unwatched)?;
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
        let train = || self.train(samples, target, weights, session);
        let (machine, epsilon) = self.settings.threads.run(train)??;
        SvrModel::new(&self.kernel, samples, machine, epsilon)
    }

    /// Trains the machine alone, as [`Svr::train`](super::Svr::train), and returns the width of the tube
    /// with it.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        target: &[f64],
        weights: &[f64],
        session: &Session,
    ) -> Result<(Machine, f64)> {
        check_c(self.c)?;
        check_target(samples, target)?;
        check_weights(samples, weights)?;
        let rows = rows_with_weight(weights)?;
        let cost: Vec<f64> = rows.iter().map(|&row| self.c * weights[row]).collect();
        let problem = nu_svr(&take(target, &rows), &cost, self.nu)?;
        let both = [rows.as_slice(), &rows].concat();
        let matrix = KernelMatrix::new(&self.kernel, samples, both.clone())?;
        let mut solution = solve(&self.settings, &problem, &both, &matrix, session)?;
        let below = solution.beta.split_off(rows.len());
        for (beta, below) in solution.beta.iter_mut().zip(below) {
            *beta += below;
        }
        // Below zero only by the tolerance.
        let epsilon = ((solution.intercepts[0] - solution.intercepts[1]) / 2.0).max(0.0);
        Ok((Machine::new(&rows, solution), epsilon))
    }
}
