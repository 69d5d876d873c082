//! Svc: the classifier for Rust users.

use super::{Expansion, OneVsOne, vote};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Report, Smo, Unwatched};
use ndarray::Array2;
use std::time::Duration;

/// A support vector classifier: hinge loss, one-vs-one for more than two classes.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let labels = ["same", "same", "differ", "differ"];
/// let model = Svc::new(Kernel::rbf(1.0)).c(10.0).fit(x.view(), &labels)?;
/// assert_eq!(model.predict(x.view())?, labels);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Svc {
    kernel: Kernel,
    c: f64,
    smo: Smo,
}

impl Svc {
    /// Makes a classifier with C = 1 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let svc = Svc::new(Kernel::rbf(0.5));
    /// let model = svc.fit(ndarray::array![[-1.0], [1.0]].view(), &[0, 1])?;
    /// assert_eq!(model.predict(ndarray::array![[-2.0]].view())?, [0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        Svc {
            kernel,
            c: 1.0,
            smo: Smo::default(),
        }
    }

    /// Sets the cost of a margin error.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).c(0.1).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.machines().dual_coef, ndarray::array![[0.1, -0.1]]); // both at the bound
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn c(mut self, c: f64) -> Self {
        self.c = c;
        self
    }

    /// Sets the gap at which to stop.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let error = Svc::new(Kernel::linear()).tolerance(0.0)
    ///     .fit(ndarray::array![[-1.0], [1.0]].view(), &[0, 1]).unwrap_err();
    /// assert_eq!(error.to_string(), "tol must be positive, got 0");
    /// ```
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.smo.stop.tolerance = tolerance;
        self
    }

    /// Gives up after this many pair steps of a machine.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, qp::Status};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).max_iterations(0).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.reports()[0].status, Status::MaxIterations);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn max_iterations(mut self, steps: u64) -> Self {
        self.smo.stop.max_iterations = Some(steps);
        self
    }

    /// Gives up after this time.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, qp::Status};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear()).time_limit(std::time::Duration::ZERO);
    /// assert_eq!(svc.fit(x.view(), &[0, 1])?.reports()[0].status, Status::TimeLimit);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.smo.stop.time_limit = Some(limit);
        self
    }

    /// Sets the solver with all its settings.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, qp::Smo};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear()).solver(Smo { shrinking: false, ..Smo::default() });
    /// assert_eq!(svc.fit(x.view(), &[0, 1])?.predict(x.view())?, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn solver(mut self, smo: Smo) -> Self {
        self.smo = smo;
        self
    }

    /// Trains on the rows of `x` with one label each, on the threads of the current rayon pool.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, Svc};
    /// let svc = Svc::new(Kernel::linear());
    /// let dense = ndarray::array![[-1.0, 0.0], [0.0, 2.0]];
    /// let sparse = Samples::csr(vec![-1.0, 2.0], &[0i32, 1], &[0, 1, 2], 2)?;
    /// let (a, b) = (svc.fit(dense.view(), &["a", "b"])?, svc.fit(sparse, &["a", "b"])?);
    /// assert_eq!(a.machines().dual_coef, b.machines().dual_coef);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite, the lengths differ or there are
    /// fewer than two classes.
    pub fn fit<X, L>(&self, x: X, labels: &[L]) -> Result<SvcModel<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: Ord + Clone,
    {
        let weights = vec![1.0; labels.len()];
        self.fit_weighted(x, labels, &weights, &Unwatched)
    }

    /// Trains with C times `weights[i]` as the cost of row i, watched by a [`Monitor`]. Rows of
    /// weight zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, qp::Unwatched};
    /// let x = ndarray::array![[-1.0], [1.0], [9.0]];
    /// let svc = Svc::new(Kernel::linear());
    /// let model = svc.fit_weighted(x.view(), &[0, 1, 0], &[1.0, 1.0, 0.0], &Unwatched)?;
    /// assert_eq!(model.predict(x.view())?, [0, 1, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if a weight is negative or not finite.
    pub fn fit_weighted<X, L>(
        &self,
        x: X,
        labels: &[L],
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<SvcModel<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: Ord + Clone,
    {
        let samples = x.try_into()?;
        if !(self.c.is_finite() && self.c > 0.0) {
            return Err(Error::parameter("C", "positive and finite", self.c));
        }
        for (name, length) in [("y", labels.len()), ("sample_weight", weights.len())] {
            if length != samples.rows() {
                return Err(Error::shape(
                    name,
                    format!("{} entries, one per row of X", samples.rows()),
                    length.to_string(),
                ));
            }
        }
        if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::parameter(
                "sample_weight",
                "finite and not negative",
                weight,
            ));
        }
        let kept: Vec<usize> = (0..labels.len()).filter(|&i| weights[i] > 0.0).collect();
        if kept.len() < labels.len() && matches!(self.kernel, Kernel::Precomputed) {
            return Err(Error::parameter(
                "sample_weight",
                "positive with a precomputed kernel",
                0.0,
            ));
        }
        let mut classes: Vec<L> = kept.iter().map(|&i| labels[i].clone()).collect();
        classes.sort();
        classes.dedup();
        let codes: Vec<usize> = kept
            .iter()
            .map(|&i| classes.partition_point(|class| *class < labels[i]))
            .collect();
        let cost: Vec<f64> = kept.iter().map(|&i| self.c * weights[i]).collect();
        let samples = if kept.len() < labels.len() {
            samples.select(&kept)
        } else {
            samples
        };
        let mut machines = OneVsOne::fit(
            &self.kernel,
            &samples,
            &codes,
            classes.len(),
            &cost,
            &self.smo,
            monitor,
        )?;
        let expansion = Expansion::new(
            self.kernel.clone(),
            Some(samples.select(&machines.support)),
            &machines.n_support,
            machines.dual_coef.view(),
            &machines.intercept,
        )?;
        machines.support = machines.support.iter().map(|&i| kept[i]).collect();
        Ok(SvcModel {
            classes,
            machines,
            expansion,
            precomputed: matches!(self.kernel, Kernel::Precomputed).then_some(samples.rows()),
        })
    }
}

/// A trained [`Svc`].
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &['a', 'b'])?;
/// assert_eq!(model.classes(), ['a', 'b']);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct SvcModel<L> {
    classes: Vec<L>,
    machines: OneVsOne,
    expansion: Expansion,
    /// The number of training rows, if the kernel was precomputed.
    precomputed: Option<usize>,
}

impl<L: Clone> SvcModel<L> {
    /// Returns the classes in order.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &["no", "yes", "maybe"])?;
    /// assert_eq!(model.classes(), ["maybe", "no", "yes"]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Returns the support vectors, coefficients and biases.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.machines().support, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn machines(&self) -> &OneVsOne {
        &self.machines
    }

    /// Returns what the solver did for each pair of classes.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, qp::Status};
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1, 2])?;
    /// assert_eq!(model.reports().len(), 3);
    /// assert!(model.reports().iter().all(|report| report.status == Status::Converged));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn reports(&self) -> &[Report] {
        &self.machines.reports
    }

    /// Returns the values of all machines, shape (rows, pairs of classes); machine (i, j), i < j,
    /// is positive for class i. With a precomputed kernel, row i of `x` holds the kernel values
    /// with all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.decision_function(x.view())?, ndarray::array![[1.0], [-1.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those trained on, or an entry is not finite.
    pub fn decision_function<X>(&self, x: X) -> Result<Array2<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        self.decide(&x.try_into()?)
    }

    fn decide(&self, samples: &Samples) -> Result<Array2<f64>> {
        if let Some(rows) = self.precomputed {
            crate::kernel::check_columns(samples, rows)?;
            let support = &self.machines.support;
            let mut row = vec![0.0; rows];
            let mut values = Array2::zeros((samples.rows(), support.len()));
            for (i, mut values) in values.rows_mut().into_iter().enumerate() {
                samples.copy_row(i, &mut row);
                for (value, &j) in values.iter_mut().zip(support) {
                    *value = row[j];
                }
            }
            return self.expansion.decision_from_kernel(values.view());
        }
        // A decision is only None if it was stopped, and nothing stops it here.
        let decision = self.expansion.decision(samples, &|| false)?;
        Ok(decision.unwrap_or_default())
    }

    /// Returns the predicted class of each row.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &["left", "right"])?;
    /// assert_eq!(model.predict(ndarray::array![[7.0]].view())?, ["right"]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function).
    pub fn predict<X>(&self, x: X) -> Result<Vec<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let winners = if self.precomputed.is_some() {
            vote(self.decide(&samples)?.view(), self.classes.len())
        } else {
            let winners = self.expansion.predict(&samples, &|| false)?;
            winners.unwrap_or_default() // None only if stopped, and nothing stops it here
        };
        Ok(winners
            .into_iter()
            .map(|class| self.classes[class].clone())
            .collect())
    }
}
