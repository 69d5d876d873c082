//! Svc: the classifier for Rust users.

use super::predictor::Predictor;
use super::{Machines, Margin, Multiclass, check_rows};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Report, Solver, Unwatched};
use ndarray::Array2;

/// A support vector classifier, for more than two classes one-vs-one unless told otherwise.
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
    loss: Loss,
    intercept: Intercept,
    multiclass: Multiclass,
    solver: Solver,
}

solver_settings!(Svc, ".fit(x.view(), &[0, 1, 0, 1])", ".reports()[0]");

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
            loss: Loss::Linear,
            intercept: Intercept::Free,
            multiclass: Multiclass::OneVsOne,
            solver: Solver::default(),
        }
    }

    /// Sets the cost of a margin error; infinity asks for a hard margin.
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

    /// Sets how margin errors are charged.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, formulation::Loss};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear()).c(0.5).loss(Loss::Squared);
    /// let model = svc.fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.machines().dual_coef, ndarray::array![[-1.0 / 3.0, 1.0 / 3.0]] * -1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Sets whether the decision functions have a constant term.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, formulation::Intercept};
    /// let x = ndarray::array![[1.0], [3.0]];
    /// let svc = Svc::new(Kernel::linear()).intercept(Intercept::None);
    /// assert_eq!(svc.fit(x.view(), &[0, 1])?.machines().intercept, [0.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn intercept(mut self, intercept: Intercept) -> Self {
        self.intercept = intercept;
        self
    }

    /// Sets how more than two classes are trained and decided.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Multiclass};
    /// let x = ndarray::array![[0.0], [1.0], [5.0]];
    /// let model = Svc::new(Kernel::rbf(0.1)).c(10.0).multiclass(Multiclass::Dag)
    ///     .fit(x.view(), &[0, 1, 2])?;
    /// assert_eq!(model.predict(x.view())?, [0, 1, 2]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn multiclass(mut self, multiclass: Multiclass) -> Self {
        self.multiclass = multiclass;
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
        if self.c.is_nan() || self.c <= 0.0 {
            return Err(Error::parameter("C", "positive", self.c));
        }
        let cost = |weight: f64| {
            if weight > 0.0 {
                self.c * weight
            } else {
                weight
            }
        };
        let margin = Margin::Soft {
            loss: self.loss,
            intercept: self.intercept,
        };
        let machines = (&self.kernel, &self.solver, margin, self.multiclass);
        SvcModel::fit(machines, samples, labels, weights, cost, monitor)
    }
}

/// A trained [`Svc`] or [`NuSvc`](crate::NuSvc).
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
    machines: Machines,
    multiclass: Multiclass,
    predictor: Predictor,
}

impl<L: Ord + Clone> SvcModel<L> {
    /// Trains on labels of any kind; `cost` makes C_i of a weight.
    pub(super) fn fit(
        (kernel, solver, margin, multiclass): (&Kernel, &Solver, Margin, Multiclass),
        samples: Samples,
        labels: &[L],
        weights: &[f64],
        cost: impl Fn(f64) -> f64,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        check_rows(&samples, &[("y", labels.len())], weights)?;
        let kept = (0..labels.len()).filter(|&i| weights[i] > 0.0);
        let mut classes: Vec<L> = kept.map(|i| labels[i].clone()).collect();
        classes.sort();
        classes.dedup();
        // Labels of rows without weight may be of no class; these rows are left out.
        let codes: Vec<usize> = labels
            .iter()
            .map(|label| classes.binary_search(label).unwrap_or(0))
            .collect();
        let cost: Vec<f64> = weights.iter().map(|&weight| cost(weight)).collect();
        let machines = multiclass.fit(
            kernel,
            &samples,
            &codes,
            classes.len(),
            &cost,
            margin,
            solver,
            monitor,
        )?;
        let predictor = Predictor::new(
            kernel,
            &samples,
            &machines.support,
            &machines.n_support,
            machines.dual_coef.view(),
            &machines.intercept,
            multiclass,
        )?;
        Ok(SvcModel {
            classes,
            machines,
            multiclass,
            predictor,
        })
    }
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
    pub fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Returns what the solver did for each machine.
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

    /// Returns the values of all machines, shape (rows, machines): machine (i, j), i < j, is
    /// positive for class i; machine c of one-vs-rest, with more than two classes, for c. With a precomputed kernel, row i of `x` holds the kernel values
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
        self.predictor.decision(&x.try_into()?)
    }

    /// Tells for each row whether no class is supported: see
    /// [`Multiclass::rejects`](crate::model::Multiclass::rejects).
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
    /// let between = ndarray::array![[-2.0], [0.1]];
    /// assert_eq!(model.reject(between.view(), 0.5)?, [false, true]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function).
    pub fn reject<X>(&self, x: X, threshold: f64) -> Result<Vec<bool>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let decision = self.predictor.decision(&x.try_into()?)?;
        let classes = self.classes.len();
        Ok(self.multiclass.rejects(decision.view(), classes, threshold))
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
        let winners = self.predictor.classes(&x.try_into()?)?;
        Ok(winners
            .into_iter()
            .map(|class| self.classes[class].clone())
            .collect())
    }
}
