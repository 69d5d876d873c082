//! NuSvc: the classifier whose parameter is the share of errors.

use super::class_weights::ClassWeights;
use super::coded::Coded;
use super::expansion::Kept;
use super::multiclass::{Machines, Margin, Multiclass, Training};
use super::session::Session;
use super::settings::Settings;
use super::svc::SvcModel;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Unwatched};

/// A support vector classifier in which nu, an upper bound on the share of margin errors and a
/// lower bound on that of support vectors, takes the place of C. Of more than two classes, a pair
/// that cannot have so large a share has the largest that is feasible.
///
/// ```
/// use mercer::{Kernel, NuSvc};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let labels = ["same", "same", "differ", "differ"];
/// let model = NuSvc::new(Kernel::rbf(1.0)).nu(0.4).fit(x.view(), &labels)?;
/// assert_eq!(model.predict(x.view())?, labels);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(default = "NuSvc::linear", deny_unknown_fields)
)]
pub struct NuSvc {
    kernel: Kernel,
    nu: f64,
    multiclass: Multiclass,
    class_weights: ClassWeights,
    settings: Settings,
}

solver_settings!(NuSvc, ".fit(x.view(), &[0, 1, 0, 1])", ".reports()[0]");

impl NuSvc {
    /// Makes a classifier with nu = 0.5 and tolerance 1e-3.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvc};
    /// let model = NuSvc::new(Kernel::linear()).fit(ndarray::array![[-1.0], [1.0]].view(), &[0, 1])?;
    /// assert_eq!(model.predict(ndarray::array![[-2.0]].view())?, [0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        NuSvc {
            kernel,
            nu: 0.5,
            multiclass: Multiclass::OneVsOne,
            class_weights: ClassWeights::Equal,
            settings: Settings::default(),
        }
    }

    /// Sets the share of margin errors.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvc};
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
    /// let error = NuSvc::new(Kernel::linear()).nu(0.6).fit(x.view(), &[0, 0, 0, 1]).unwrap_err();
    /// assert!(error.to_string().starts_with("nu must be at most 0.5"));
    /// ```
    pub fn nu(mut self, nu: f64) -> Self {
        self.nu = nu;
        self
    }

    /// Sets how more than two classes are trained and decided.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvc, model::Multiclass};
    /// let x = ndarray::array![[0.0], [1.0], [5.0]];
    /// let machine = NuSvc::new(Kernel::rbf(0.1)).nu(0.3).multiclass(Multiclass::OneVsRest);
    /// assert_eq!(machine.fit(x.view(), &[0, 1, 2])?.reports().len(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn multiclass(mut self, multiclass: Multiclass) -> Self {
        self.multiclass = multiclass;
        self
    }

    /// Sets how much the classes count.
    ///
    /// ```
    /// # use mercer::{ClassWeights, Kernel, NuSvc};
    /// let x = ndarray::array![[-1.0], [0.5], [1.0]];
    /// let machine = NuSvc::new(Kernel::linear()).nu(0.5);
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

    /// Trains on the rows of `x` with one label each, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvc};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = NuSvc::new(Kernel::linear()).fit(x.view(), &["a", "b"])?;
    /// assert_eq!(model.decision_function(x.view())?, ndarray::array![[-1.0], [1.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite, the lengths differ, there are fewer
    /// than two classes, or nu is more than any pair of classes allows.
    pub fn fit<X, L>(&self, x: X, labels: &[L]) -> Result<SvcModel<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: Ord + Clone,
    {
        let weights = vec![1.0; labels.len()];
        self.fit_weighted(x, labels, &weights, &Unwatched)
    }

    /// Trains with `weights[i]` as the weight of row i, watched by a [`Monitor`]. Rows of weight
    /// zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, NuSvc, qp::Unwatched};
    /// let x = ndarray::array![[-1.0], [1.0], [9.0]];
    /// let machine = NuSvc::new(Kernel::linear());
    /// let model = machine.fit_weighted(x.view(), &[0, 1, 0], &[1.0, 1.0, 0.0], &Unwatched)?;
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

    /// Trains the machines alone, on class numbers; rows of weight zero are left out.
    pub(crate) fn train(
        &self,
        samples: &Samples,
        labels: &[usize],
        weights: &[f64],
        session: &Session,
    ) -> Result<Machines> {
        let margin = Margin::Nu(self.nu);
        let training = Training::new(&self.kernel, samples, labels, weights, margin);
        let training = training.solver(self.settings.solver()).session(session);
        self.multiclass.fit(&training)
    }
}
