//! LinearSvc: a linear classifier, one class against the rest.

use super::{LinearMachine, LinearTraining, check_scaling, kept, linear_settings};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::Loss;
use crate::model::class_weights::ClassWeights;
use crate::model::coded::Coded;
use crate::model::score::{accuracy, one_row};
use crate::model::settings::Threads;
use crate::qp::{Monitor, Report, StopRule, Unwatched};
use ndarray::Array2;

/// Linear classification with a penalised intercept: LIBLINEAR's problem.
///
/// ```
/// use mercer::LinearSvc;
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = LinearSvc::new().c(0.25).fit(x.view(), &["no", "yes"])?;
/// // 1/2 w^2 + 1/4 * 2 (1 - w)^2 is least at w = 1/2.
/// assert!((model.coef()[[0, 0]] - 0.5).abs() < 1e-9);
/// assert_eq!(model.predict(x.view())?, ["no", "yes"]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LinearSvc {
    c: f64,
    loss: Loss,
    class_weights: ClassWeights,
    scaling: Option<f64>,
    stop: StopRule,
    threads: Threads,
}

impl Default for LinearSvc {
    fn default() -> Self {
        LinearSvc {
            c: 1.0,
            loss: Loss::Squared,
            class_weights: ClassWeights::Equal,
            scaling: Some(1.0),
            stop: StopRule::new().tolerance(1e-4),
            threads: Threads::default(),
        }
    }
}

linear_settings!(LinearSvc, "[0, 1]");

impl LinearSvc {
    /// C = 1, squared hinge loss, intercept scaling 1.
    ///
    /// ```
    /// let machine = mercer::LinearSvc::new();
    /// ```
    pub fn new() -> Self {
        LinearSvc::default()
    }

    /// Sets how much the classes count. In a machine of more than two classes, the weight of a class counts
    /// where it is not part of the rest, as in LIBLINEAR.
    ///
    /// ```
    /// use mercer::{ClassWeights, LinearSvc};
    /// let x = ndarray::array![[-1.0], [0.5], [1.0]];
    /// let machine = LinearSvc::new().class_weights(ClassWeights::Balanced);
    /// assert_eq!(machine.fit(&x, &[0, 1, 1])?.predict(&x)?, [0, 1, 1]);
    /// assert!(machine.class_weights([1.0]).fit(&x, &[0, 1, 1]).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn class_weights(mut self, weights: impl Into<ClassWeights>) -> Self {
        self.class_weights = weights.into();
        self
    }

    /// Trains on rows and their labels.
    ///
    /// ```
    /// let x = ndarray::array![[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[0, 1, 2])?;
    /// assert_eq!(model.coef().dim(), (3, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, lengths differ, a value is not finite, or there are fewer than two
    /// classes.
    pub fn fit<X, L>(&self, x: X, labels: &[L]) -> Result<LinearSvcModel<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: Ord + Clone,
    {
        let weights = vec![1.0; labels.len()];
        self.fit_weighted(x, labels, &weights, &Unwatched)
    }

    /// Trains with C times `weights[i]` as the cost of row i, watched by a [`Monitor`]. Rows of weight zero
    /// are left out.
    ///
    /// ```
    /// use mercer::{LinearSvc, qp::Unwatched};
    /// let x = ndarray::array![[-1.0], [1.0], [9.0]];
    /// let model = LinearSvc::new().fit_weighted(x.view(), &[0, 1, 0], &[1.0, 1.0, 0.0], &Unwatched)?;
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
    ) -> Result<LinearSvcModel<L>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: Ord + Clone,
    {
        let samples = x.try_into()?;
        let coded = Coded::new(&samples, labels, weights)?;
        let factors = self.class_weights.factors(&coded, weights)?;
        let classes = coded.classes;
        if classes.len() < 2 {
            return Err(Error::TooFewClasses {
                classes: classes.len(),
            });
        }
        let (samples, cost, rows) = kept(samples, self.c, weights)?;
        let labels: Vec<usize> = rows.iter().map(|&row| coded.labels[row]).collect();
        let training = LinearTraining {
            samples: &samples,
            cost: &cost,
            loss: self.loss,
            constant: self.constant()?,
            stop: self.stop,
            monitor,
        };
        let train = || training.classes(&labels, &factors);
        let machines = self.threads.run(train)??;
        Ok(LinearSvcModel::of(classes, machines, samples.columns()))
    }
}
/// A trained [`LinearSvc`].
///
/// ```
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = mercer::LinearSvc::new().fit(x.view(), &['a', 'b'])?;
/// assert_eq!(model.classes(), ['a', 'b']);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearSvcModel<L> {
    classes: Vec<L>,
    machines: Vec<LinearMachine>,
    coef: Array2<f64>,
    reports: Vec<Report>,
}

impl<L> LinearSvcModel<L> {
    /// Makes a model of its machines, of so many weights each.
    pub(crate) fn of(classes: Vec<L>, machines: Vec<LinearMachine>, columns: usize) -> Self {
        let coef = machines.iter().flat_map(|machine| &machine.weights);
        let coef = Array2::from_shape_vec((machines.len(), columns), coef.copied().collect());
        LinearSvcModel {
            classes,
            coef: coef.unwrap_or_default(),
            reports: machines.iter().map(|machine| machine.report).collect(),
            machines,
        }
    }
}

impl<L: Clone> LinearSvcModel<L> {
    /// Returns the classes in order.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[5, 3])?;
    /// assert_eq!(model.classes(), [3, 5]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Returns the weights of the features, a row for each machine.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.coef().dim(), (1, 1));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn coef(&self) -> &Array2<f64> {
        &self.coef
    }

    /// Returns the intercept of each machine.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[0, 1])?;
    /// assert!(model.intercept()[0].abs() < 1e-9);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn intercept(&self) -> Vec<f64> {
        self.machines.iter().map(|m| m.intercept).collect()
    }

    /// Returns what the solver did for each machine.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[0, 1])?;
    /// assert!(model.reports()[0].gap <= 1e-4);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Computes the value of each machine for every row: positive for the second of two classes, or for the
    /// machine's own.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &[0, 1])?;
    /// assert_eq!(model.decision_function(x.view())?.dim(), (2, 1));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If rows have another length than those trained on, or a value is not finite.
    pub fn decision_function<X>(&self, x: X) -> Result<Array2<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let mut values = Array2::zeros((samples.rows(), self.machines.len()));
        for (machine, mut column) in self.machines.iter().zip(values.columns_mut()) {
            for (place, value) in column.iter_mut().zip(machine.values(&samples)?) {
                *place = value;
            }
        }
        Ok(values)
    }

    /// Returns the predicted class of one row.
    ///
    /// ```
    /// # use mercer::LinearSvc;
    /// let model = LinearSvc::new().fit(&ndarray::array![[-1.0], [1.0]], &["left", "right"])?;
    /// assert_eq!(model.predict_one(&[7.0])?, "right");
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_one(&self, row: &[f64]) -> Result<L> {
        let mut labels = self.predict(one_row(row)?)?;
        labels.pop().ok_or(Error::TooFewClasses { classes: 0 })
    }

    /// Returns the share of rows whose label is predicted.
    ///
    /// ```
    /// # use mercer::LinearSvc;
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// assert_eq!(LinearSvc::new().fit(&x, &[0, 1])?.score(&x, &[0, 1])?, 1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and if the lengths differ.
    pub fn score<X>(&self, x: X, labels: &[L]) -> Result<f64>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
        L: PartialEq,
    {
        accuracy(&self.predict(x)?, labels)
    }

    /// Finds the class of each row: the one with the largest value.
    ///
    /// ```
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = mercer::LinearSvc::new().fit(x.view(), &["a", "b"])?;
    /// assert_eq!(model.predict(x.view())?, ["a", "b"]);
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
        let values = self.decision_function(x)?;
        let winner = |row: ndarray::ArrayView1<f64>| match row.len() {
            1 => usize::from(row[0] > 0.0),
            // The first of equals, as scikit-learn has it.
            _ => (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best }),
        };
        let winners = values.rows().into_iter().map(winner);
        Ok(winners.map(|class| self.classes[class].clone()).collect())
    }
}
