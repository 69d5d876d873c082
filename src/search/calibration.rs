//! Calibration: the probabilities of classes from the values of machines.
//!
//! A sigmoid for each machine, fitted to values of rows that were held out. Those of pairs are coupled;
//! those of classes against the rest are divided by their sum. Then they are changed as little as makes
//! the class that is predicted the most probable one.

use super::coupling::{agree, couple};
use super::sigmoid::Sigmoid;
use crate::model::{Multiclass, pairs};
use crate::simd::parallel;
use ndarray::{Array2, ArrayView2, Axis, Zip};

/// Multiplications for each value of a sigmoid, roughly.
const STEPS: usize = 50;

/// How values become probabilities.
///
/// ```
/// use mercer::{model::Multiclass, search::Calibration};
/// let values = ndarray::array![[-1.0], [-0.5], [0.2], [1.5], [0.5], [-0.1]];
/// let labels = [0, 0, 1, 1, 1, 0];
/// let calibration = Calibration::fit(values.view(), &labels, 2, Multiclass::OneVsOne);
/// let p = calibration.probabilities(values.view(), &[0, 0, 1, 1, 1, 0]);
/// assert!(p[[3, 1]] > 0.5 && p[[0, 0]] > 0.5);
/// ```
#[derive(Clone, Debug)]
pub struct Calibration {
    /// A sigmoid for each machine: of class 1 if there are two classes, else of the class for which the
    /// machine is positive.
    pub sigmoids: Vec<Sigmoid>,
    /// The number of classes.
    pub classes: usize,
    /// How the machines were trained.
    pub multiclass: Multiclass,
}

impl Calibration {
    /// Returns the multiplications behind the sigmoids of so many values, roughly.
    pub(crate) fn work(values: usize) -> usize {
        STEPS * values
    }

    /// Fits sigmoids to the values of held-out rows, shape (rows, machines), of these classes.
    ///
    /// ```
    /// # use mercer::{model::Multiclass, search::Calibration};
    /// let values = ndarray::array![[-1.0], [1.0]];
    /// let calibration = Calibration::fit(values.view(), &[0, 1], 2, Multiclass::OneVsOne);
    /// assert_eq!(calibration.sigmoids.len(), 1);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines, or not as many labels as rows, or the machines are
    /// neither of pairs of classes nor of one against the rest.
    pub fn fit(
        values: ArrayView2<f64>,
        labels: &[usize],
        classes: usize,
        multiclass: Multiclass,
    ) -> Self {
        assert_eq!(
            values.ncols(),
            multiclass.machines(classes),
            "a column per machine"
        );
        assert_eq!(values.nrows(), labels.len(), "a label per row");
        assert!(multiclass.has_calibration(), "machines of pairs or classes");
        // The class for which each machine is positive, and the only other one it knows, if it is one.
        let sides: Vec<(usize, Option<usize>)> =
            match (classes, multiclass != Multiclass::OneVsRest) {
                (2, _) => vec![(1, None)],
                (_, true) => pairs(classes).map(|(i, j)| (i, Some(j))).collect(),
                (_, false) => (0..classes).map(|class| (class, None)).collect(),
            };
        let fit = |column: usize| {
            let (own, other) = sides[column];
            let known = |label: usize| label == own || other.is_none_or(|other| label == other);
            let rows = values.column(column).into_iter().zip(labels);
            let rows = rows.filter(|&(_, &label)| known(label));
            let (values, positive): (Vec<f64>, Vec<bool>) =
                rows.map(|(&value, &label)| (value, label == own)).unzip();
            Sigmoid::fit(&values, &positive)
        };
        let mut sigmoids = vec![Sigmoid { a: 0.0, b: 0.0 }; sides.len()];
        let parts = sigmoids.iter_mut().enumerate().collect();
        let work = Self::work(values.len());
        parallel::for_each(parts, work, |_: &mut (), (column, sigmoid)| {
            *sigmoid = fit(column);
        });
        Calibration {
            sigmoids,
            classes,
            multiclass,
        }
    }

    /// Returns the probabilities of all classes, shape (rows, classes), for rows with these values of
    /// which the predicted classes are `winners`.
    ///
    /// ```
    /// # use mercer::{model::Multiclass, search::{Calibration, Sigmoid}};
    /// let sigmoids = vec![Sigmoid { a: -1.0, b: -2.0 }];
    /// let calibration = Calibration { sigmoids, classes: 2, multiclass: Multiclass::OneVsOne };
    /// // The sigmoid says class 1, the machine class 0.
    /// let p = calibration.probabilities(ndarray::array![[-0.1]].view(), &[0]);
    /// assert!(p[[0, 0]] > p[[0, 1]] && (p[[0, 0]] - 0.5).abs() < 1e-12);
    /// ```
    ///
    /// # Panics
    /// If shapes do not fit, or a winner is not a class.
    pub fn probabilities(&self, values: ArrayView2<f64>, winners: &[usize]) -> Array2<f64> {
        assert_eq!(values.ncols(), self.sigmoids.len(), "a column per machine");
        assert_eq!(values.nrows(), winners.len(), "a winner per row");
        let mut all = Array2::zeros((values.nrows(), self.classes));
        let winners = ndarray::aview1(winners);
        Zip::from(all.axis_iter_mut(Axis(0)))
            .and(values.axis_iter(Axis(0)))
            .and(winners)
            .for_each(|mut out, values, &winner| {
                let sigmoids = self.sigmoids.iter().zip(values);
                let of_machines: Vec<f64> = sigmoids
                    .map(|(sigmoid, &value)| sigmoid.probability(value))
                    .collect();
                let mut p = self.of_classes(&of_machines);
                agree(&mut p, winner);
                out.iter_mut().zip(p).for_each(|(out, p)| *out = p);
            });
        all
    }

    /// Makes probabilities of classes of those of machines.
    fn of_classes(&self, of_machines: &[f64]) -> Vec<f64> {
        if self.classes == 2 {
            return vec![1.0 - of_machines[0], of_machines[0]];
        }
        let mut p = vec![0.0; self.classes];
        if self.multiclass != Multiclass::OneVsRest {
            couple(of_machines, &mut p);
            return p;
        }
        let sum: f64 = of_machines.iter().sum();
        for (p, &of_machine) in p.iter_mut().zip(of_machines) {
            *p = match sum > 0.0 {
                true => of_machine / sum,
                false => 1.0 / self.classes as f64,
            };
        }
        p
    }
}
