//! Svc: the classifier for Rust users.

use super::class_weights::ClassWeights;
use super::coded::Coded;
use super::expansion::{Coefficients, Expansion, Kept, coefficients_by_machine};
use super::multiclass::{Machines, Margin, Multiclass, Training};
use super::score::{accuracy, one_row, weights_of_features};
use super::session::Session;
use super::settings::Settings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, SvcLoss};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Report, Unwatched};
use ndarray::Array2;
use std::sync::Arc;

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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default = "Svc::linear", deny_unknown_fields))]
pub struct Svc {
    kernel: Kernel,
    #[cfg_attr(feature = "serde", serde(with = "crate::infinite"))]
    c: f64,
    loss: SvcLoss,
    intercept: Intercept,
    multiclass: Multiclass,
    class_weights: ClassWeights,
    start: Option<Vec<f64>>,
    settings: Settings,
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
            loss: Loss::Linear.into(),
            intercept: Intercept::Free,
            multiclass: Multiclass::OneVsOne,
            class_weights: ClassWeights::Equal,
            start: None,
            settings: Settings::default(),
        }
    }

    /// Sets the cost of a margin error; infinity asks for a hard margin.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).c(0.1).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.machines().dual_coef, ndarray::array![[-0.1, 0.1]]); // both at the bound
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn c(mut self, c: f64) -> Self {
        self.c = c;
        self
    }

    /// Sets how margin errors are charged, or asks for least squares.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, formulation::{Loss, SvcLoss}};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear()).c(0.5).loss(Loss::Squared);
    /// let model = svc.fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.machines().dual_coef, ndarray::array![[-1.0 / 3.0, 1.0 / 3.0]]);
    ///
    /// let adaline = Svc::new(Kernel::linear()).c(f64::INFINITY).loss(SvcLoss::SquaredError);
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let values = adaline.fit(x.view(), &[0, 1])?.decision_function(x.view())?;
    /// assert!((values[[1, 0]] - 1.0).abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn loss(mut self, loss: impl Into<SvcLoss>) -> Self {
        self.loss = loss.into();
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

    /// Sets how much the classes count.
    ///
    /// ```
    /// # use mercer::{ClassWeights, Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [0.5], [1.0]];
    /// let machine = Svc::new(Kernel::linear());
    /// assert!(machine.clone().class_weights(ClassWeights::Balanced).fit(&x, &[0, 1, 1]).is_ok());
    /// let error = machine.class_weights([1.0, 2.0, 3.0]).fit(&x, &[0, 1, 1]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "class_weights must have one for each of 2 classes, got 3"
    /// );
    /// ```
    pub fn class_weights(mut self, weights: impl Into<ClassWeights>) -> Self {
        self.class_weights = weights.into();
        self
    }

    /// Starts from given coefficients, as when the kernel or the cost has changed a little: one for
    /// each row, negative for the first class and positive for the second, of at most the row's cost,
    /// and with a sum of zero if the intercept is free. For two classes only.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let svc = Svc::new(Kernel::linear());
    /// let model = svc.clone().start(&[-0.5, 0.5]).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.reports()[0].iterations, 0); // nothing is left to do
    /// assert!(svc.start(&[0.5, 0.5]).fit(x.view(), &[0, 1]).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn start(mut self, coefficients: &[f64]) -> Self {
        self.start = Some(coefficients.to_vec());
        self
    }

    /// Trains on the rows of `x` with one label each, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
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
        self.fit_samples(&x.try_into()?, labels, weights, &Session::watched(monitor))
    }

    pub(super) fn fit_samples<L: Ord + Clone>(
        &self,
        samples: &Samples,
        labels: &[L],
        weights: &[f64],
        session: &Session,
    ) -> Result<SvcModel<L>> {
        let coded = Coded::new(samples, labels, weights)?;
        let weights = self.class_weights.of_rows(&coded, weights)?;
        let train = || self.train(samples, &coded.labels, &weights, session);
        let machines = self.settings.threads.run(train)??;
        let kept = Kept::new(&self.kernel, samples, &machines.support)?;
        let multiclass = self.multiclass.clone();
        SvcModel::of(&self.kernel, kept, coded.classes, machines, multiclass)
    }

    /// Trains the machines alone, on class numbers; `weights[i]` times C is the cost of row i, and rows
    /// of weight zero are left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        labels: &[usize],
        weights: &[f64],
        session: &Session,
    ) -> Result<Machines> {
        if self.c.is_nan() || self.c <= 0.0 {
            return Err(Error::parameter("C", "positive", self.c));
        }
        let cost = |&weight: &f64| {
            if weight > 0.0 {
                self.c * weight
            } else {
                weight
            }
        };
        let cost: Vec<f64> = weights.iter().map(cost).collect();
        let margin = Margin::Soft {
            loss: self.loss,
            intercept: self.intercept,
        };
        let training = Training::new(&self.kernel, samples, labels, &cost, margin)
            .solver(self.settings.solver())
            .session(session);
        self.multiclass.fit(&match &self.start {
            Some(start) => training.start(start),
            None => training,
        })
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
#[derive(Clone, Debug)]
pub struct SvcModel<L> {
    classes: Vec<L>,
    machines: Machines,
    multiclass: Multiclass,
    expansion: Arc<Expansion>,
}

expansion_access!(
    SvcModel<L>,
    "Svc::new(Kernel::rbf(0.5)).fit(x.view(), &[0, 0, 1, 1])?"
);

impl<L> SvcModel<L> {
    /// Makes a model of its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(crate) fn of(
        kernel: &Kernel,
        kept: Kept,
        classes: Vec<L>,
        machines: Machines,
        multiclass: Multiclass,
    ) -> Result<Self> {
        let coefficients = Coefficients {
            n_support: &machines.n_support,
            dual_coef: machines.dual_coef.view(),
            intercept: &machines.intercept,
            multiclass: multiclass.clone(),
        };
        Ok(SvcModel {
            expansion: Arc::new(Expansion::of_kept(kernel, kept, &coefficients)?),
            classes,
            machines,
            multiclass,
        })
    }

    /// Returns how several classes are decided.
    #[cfg(feature = "persist")]
    pub(crate) fn strategy(&self) -> Multiclass {
        self.multiclass.clone()
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

    /// Returns the support vectors, coefficients and intercepts.
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

    /// Returns the values of all machines, shape (rows, machines). That of two classes is positive for
    /// the second; of more, machine (i, j), i < j, is positive for class i, and machine c of
    /// one-vs-rest for class c. With a precomputed kernel, row i of `x` holds the kernel values with
    /// all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.decision_function(x.view())?, ndarray::array![[-1.0], [1.0]]);
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
        // None only if stopped, and nothing stops it here.
        let decision = self.expansion.decision(&x.try_into()?, &|| false)?;
        Ok(decision.unwrap_or_default())
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
        let decision = self.decision_function(x)?;
        let classes = self.classes.len();
        Ok(self.multiclass.rejects(decision.view(), classes, threshold))
    }

    /// Returns the predicted class of one row.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0, 0.0], [1.0, 0.0]];
    /// let model = Svc::new(Kernel::linear()).fit(&x, &["left", "right"])?;
    /// assert_eq!(model.predict_one(&[7.0, 0.0])?, "right");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function).
    pub fn predict_one(&self, row: &[f64]) -> Result<L> {
        let winners = self.expansion.predict(&one_row(row)?, &|| false)?;
        let winner = winners.and_then(|winners| winners.first().copied());
        Ok(self.classes[winner.unwrap_or(0)].clone())
    }

    /// Returns the share of rows whose label is predicted.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = vec![vec![-1.0], vec![1.0], vec![2.0]];
    /// let model = Svc::new(Kernel::linear()).fit(&x, &[0, 1, 1])?;
    /// assert_eq!(model.score(&x, &[0, 1, 1])?, 1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision_function`](Self::decision_function), and if the lengths differ.
    pub fn score<X>(&self, x: X, labels: &[L]) -> Result<f64>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: PartialEq,
    {
        accuracy(&self.predict(x)?, labels)
    }

    /// Returns the weights of the features, a row for each machine; `None` unless the kernel is linear.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(&x, &[0, 1])?;
    /// assert_eq!(model.coef()?, Some(ndarray::array![[1.0]]));
    /// assert_eq!(Svc::new(Kernel::rbf(1.0)).fit(&x, &[0, 1])?.coef()?, None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn coef(&self) -> Result<Option<Array2<f64>>> {
        let of = &self.machines;
        let rows =
            coefficients_by_machine(self.multiclass.clone(), of.dual_coef.view(), &of.n_support)?;
        let vectors = self.expansion.support_vectors();
        Ok(weights_of_features(
            self.expansion.kernel(),
            vectors,
            rows.view(),
        ))
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
        let winners = self.expansion.predict(&x.try_into()?, &|| false)?;
        let label = |class: usize| self.classes[class].clone();
        Ok(winners.into_iter().flatten().map(label).collect())
    }
}
