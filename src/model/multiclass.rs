//! How machines for two classes are made into a classifier of many.

use super::{Margin, OneVsOne, OneVsRest};
use crate::data::Samples;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::qp::{Epoch, Monitor, Report, Solver};
use ndarray::{Array2, ArrayView2};

/// The trained machines of a classifier.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[0.0], [1.0], [3.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1, 2])?;
/// let machines = model.machines();
/// assert_eq!((machines.intercept.len(), machines.dual_coef.dim()), (3, (2, 3)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machines {
    /// Rows that are support vectors of any machine, sorted by class, then by row.
    pub support: Vec<usize>,
    /// Support vectors of each class.
    pub n_support: Vec<usize>,
    /// Coefficients. One-vs-one: shape (classes - 1, support vectors), row r of a support vector of
    /// class c belonging to the machine of c and the r-th other class. One-vs-rest with more than
    /// two classes: shape (classes, support vectors), a row for each machine.
    pub dual_coef: Array2<f64>,
    /// The bias of each machine.
    pub intercept: Vec<f64>,
    /// What the solver did for each machine.
    pub reports: Vec<Report>,
    /// The epochs of each machine, if the solver was [`Adatron`](crate::qp::Adatron).
    pub histories: Vec<Vec<Epoch>>,
}

/// Trains as [`OneVsOne`], to be decided by a walk of the graph: [`Multiclass::Dag`].
///
/// ```
/// use mercer::{Kernel, Samples, model::{Dag, Margin}, qp::{Solver, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [3.0]].view())?;
/// let (kernel, solver, margin) = (Kernel::rbf(1.0), Solver::default(), Margin::Nu(0.5));
/// let trained = Dag::fit(&kernel, &samples, &[0, 1, 2], 3, &[1.0; 3], margin, &solver, &Unwatched)?;
/// assert_eq!(trained.intercept.len(), 3);
/// # Ok::<(), mercer::Error>(())
/// ```
pub type Dag = OneVsOne;

/// How a classifier of more than two classes is trained and decides.
///
/// ```
/// use mercer::{Kernel, Svc, model::Multiclass};
/// let x = ndarray::array![[0.0], [1.0], [5.0]];
/// let svc = Svc::new(Kernel::rbf(0.1)).c(10.0).multiclass(Multiclass::OneVsRest);
/// let model = svc.fit(x.view(), &["a", "b", "c"])?;
/// assert_eq!(model.decision_function(x.view())?.dim(), (3, 3)); // one machine per class
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multiclass {
    /// A machine for every pair of classes; the class with most votes.
    #[default]
    OneVsOne,
    /// A machine for every class against all others; the class with the largest value.
    OneVsRest,
    /// Trained as one-vs-one; the class that is left when losers of comparisons are dropped.
    Dag,
}

impl Multiclass {
    /// Trains the machines: see [`OneVsOne::fit`] and [`OneVsRest::fit`]. Two classes need one
    /// machine, whatever the strategy.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, Multiclass}, qp::{Solver, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0]].view())?;
    /// let (kernel, solver, margin) = (Kernel::rbf(1.0), Solver::default(), Margin::Nu(0.5));
    /// let strategy = Multiclass::OneVsRest;
    /// let trained =
    ///     strategy.fit(&kernel, &samples, &[0, 1], 2, &[1.0; 2], margin, &solver, &Unwatched)?;
    /// assert_eq!(trained.intercept.len(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OneVsOne::fit`].
    #[allow(clippy::too_many_arguments)] // the whole of a fit
    pub fn fit(
        self,
        kernel: &Kernel,
        samples: &Samples,
        labels: &[usize],
        classes: usize,
        cost: &[f64],
        margin: Margin,
        solver: &Solver,
        monitor: &dyn Monitor,
    ) -> Result<Machines> {
        let fit = match self {
            Multiclass::OneVsRest if classes > 2 => OneVsRest::fit,
            _ => OneVsOne::fit,
        };
        fit(
            kernel, samples, labels, classes, cost, margin, solver, monitor,
        )
    }

    /// Returns how many machines there are for so many classes; a classifier of two has one, and so
    /// has a machine without classes.
    pub(crate) fn machines(self, classes: usize) -> usize {
        match self {
            Multiclass::OneVsRest if classes > 2 => classes,
            _ => (classes * classes.saturating_sub(1) / 2).max(1),
        }
    }

    /// Returns the class of each row of decision values, of which there is a column per machine.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// // One-vs-one: (0, 1) votes 0, (0, 2) votes 2, (1, 2) votes 2.
    /// let pairs = ndarray::array![[1.0, -1.0, -1.0]];
    /// assert_eq!(Multiclass::OneVsOne.winners(pairs.view(), 3), [2]);
    /// // Dag: 2 beats 0, then 2 beats 1.
    /// assert_eq!(Multiclass::Dag.winners(pairs.view(), 3), [2]);
    /// // One-vs-rest: the largest.
    /// assert_eq!(Multiclass::OneVsRest.winners(pairs.view(), 3), [0]);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines.
    pub fn winners(self, decision: ArrayView2<f64>, classes: usize) -> Vec<usize> {
        assert_eq!(
            decision.ncols(),
            self.machines(classes),
            "one column per machine"
        );
        let decision = decision.as_standard_layout();
        let rows = decision.rows().into_iter();
        rows.map(|values| self.winner(values.as_slice().unwrap_or(&[]), classes))
            .collect()
    }

    /// Returns the class for the values of all machines.
    pub(crate) fn winner(self, values: &[f64], classes: usize) -> usize {
        match self {
            _ if classes < 2 => 0,
            Multiclass::OneVsRest if classes > 2 => largest(values.iter().copied()),
            Multiclass::Dag => walk(classes, |i, j| values[pair(classes, i, j)]),
            _ => most_votes(classes, |pair| values[pair]),
        }
    }
}

impl Multiclass {
    /// Tells for each row of decision values whether no class is supported.
    ///
    /// One-vs-rest with more than two classes: no value is above the threshold. Otherwise: every
    /// comparison that the winner has won has an absolute value below the threshold; of a
    /// [`Dag`](Multiclass::Dag) these are comparisons of the walk.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// // 2 wins over 0 by 0.3 and over 1 by 0.1.
    /// let pairs = ndarray::array![[1.0, -0.3, -0.1]];
    /// assert_eq!(Multiclass::OneVsOne.rejects(pairs.view(), 3, 0.2), [false]);
    /// assert_eq!(Multiclass::OneVsOne.rejects(pairs.view(), 3, 0.4), [true]);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines.
    pub fn rejects(self, decision: ArrayView2<f64>, classes: usize, threshold: f64) -> Vec<bool> {
        let winners = self.winners(decision, classes);
        let rows = decision.rows().into_iter().zip(winners);
        rows.map(|(values, winner)| {
            if self == Multiclass::OneVsRest && classes > 2 {
                return values.iter().all(|&value| value <= threshold);
            }
            let value = |i: usize, j: usize| values[pair(classes, i, j)];
            let mut rejected = true;
            if self == Multiclass::Dag {
                // What the winner took part in, it won.
                walk(classes, |i, j| {
                    let value = value(i, j);
                    rejected &= (i != winner && j != winner) || value.abs() < threshold;
                    value
                });
                return rejected;
            }
            for other in (0..classes).filter(|&other| other != winner) {
                let value = value(winner.min(other), winner.max(other));
                let won = (value > 0.0) == (winner < other);
                rejected &= !won || value.abs() < threshold;
            }
            rejected
        })
        .collect()
    }
}

/// Returns the number of the machine of classes i < j.
pub(crate) fn pair(classes: usize, i: usize, j: usize) -> usize {
    i * (2 * classes - i - 1) / 2 + j - i - 1
}

/// Returns the first of the largest values.
fn largest(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (class, value) in values.enumerate() {
        if value > best.0 {
            best = (value, class);
        }
    }
    best.1
}

/// Returns the class with most votes; a machine votes for its first class where it is positive, and
/// ties go to the lowest class, as in LIBSVM.
fn most_votes(classes: usize, value: impl Fn(usize) -> f64) -> usize {
    let mut votes = vec![0usize; classes];
    let mut machine = 0;
    for i in 0..classes {
        for j in i + 1..classes {
            votes[if value(machine) > 0.0 { i } else { j }] += 1;
            machine += 1;
        }
    }
    let most = votes.iter().max().copied().unwrap_or(0);
    votes.iter().position(|&count| count == most).unwrap_or(0)
}

/// Walks the graph: compares the first and the last class left and drops the loser, until one is
/// left. `value` is asked for k - 1 pairs of classes i < j.
///
/// Platt, Cristianini, Shawe-Taylor: Large margin DAGs for multiclass classification, NIPS 12
/// (2000).
pub(crate) fn walk(classes: usize, mut value: impl FnMut(usize, usize) -> f64) -> usize {
    let (mut first, mut last) = (0, classes - 1);
    while first < last {
        if value(first, last) > 0.0 {
            last -= 1;
        } else {
            first += 1;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_numbered_by_their_classes() {
        for classes in 2..9 {
            let mut machine = 0;
            for i in 0..classes {
                for j in i + 1..classes {
                    assert_eq!(pair(classes, i, j), machine);
                    machine += 1;
                }
            }
            assert_eq!(Multiclass::OneVsOne.machines(classes), machine);
        }
    }

    #[test]
    fn a_walk_asks_one_question_less_than_there_are_classes() {
        for winner in 0..7 {
            let mut asked = 0;
            // The winner beats all, and of others the lower class wins.
            let found = walk(7, |_, j| {
                asked += 1;
                if j == winner { -1.0 } else { 1.0 }
            });
            assert_eq!((found, asked), (winner, 6));
        }
    }
}
