//! How machines for two classes are made into a classifier of many.

mod choice;
mod dag;
mod joint;
mod machines;
mod nu;
mod one_vs_one;
mod one_vs_rest;
mod pairs;
mod training;
mod tree;

pub(crate) use choice::{Choice, by_sign, is_sure};
pub use dag::Dag;
pub(crate) use dag::walk;
pub use machines::Machines;
pub use one_vs_one::OneVsOne;
pub(crate) use one_vs_one::most_votes;
pub use one_vs_rest::OneVsRest;
pub(super) use one_vs_rest::assemble;
pub(crate) use one_vs_rest::largest;
pub(crate) use pairs::{pair, pairs};
pub(crate) use training::Posed;
pub use training::{Margin, Training};
pub use tree::{Branch, Tree};

use crate::error::{Error, Result};
use crate::qp::Solution;
use dag::{clearest_on_the_way, rounds};
use ndarray::{Array2, ArrayView2};
use nu::{class_weights, highest, limits_of_classes, limits_of_pairs, lowered};
use one_vs_one::{clearest_win, votes_and_confidences};

/// How a classifier of more than two classes is trained and decides. Two classes have one machine,
/// positive for the second, whatever the strategy.
///
/// ```
/// use mercer::{Kernel, Svc, model::Multiclass};
/// let x = ndarray::array![[0.0], [1.0], [5.0]];
/// let svc = Svc::new(Kernel::rbf(0.1)).c(10.0).multiclass(Multiclass::OneVsRest);
/// let model = svc.fit(x.view(), &["a", "b", "c"])?;
/// assert_eq!(model.decision_function(x.view())?.dim(), (3, 3)); // one machine per class
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Multiclass {
    /// A machine for every pair of classes; the class with most votes.
    #[default]
    OneVsOne,
    /// A machine for every class against all others; the class with the largest value.
    OneVsRest,
    /// Trained as one-vs-one; the class that is left when losers of comparisons are dropped.
    Dag,
    /// One problem for the machines of all classes, every class being kept apart from every other;
    /// the class with the largest value. See [`formulation`](crate::formulation::weston_watkins).
    WestonWatkins,
    /// One problem for the machines of all classes, in which the largest error of a row counts; the
    /// class with the largest value. See [`formulation`](crate::formulation::crammer_singer).
    CrammerSinger,
    /// Machines at the forks of a tree of classes.
    Tree(Tree),
}

/// How the values of machines become a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// By the sign of the one machine.
    Sign,
    /// By the votes of the machines of all pairs.
    Votes,
    /// By a walk through the machines of pairs.
    Walk,
    /// By the largest value of the machines of all classes.
    Largest,
    /// By the way down a tree.
    Tree,
}

impl Multiclass {
    /// Trains the machines: see [`OneVsOne::fit`] and [`OneVsRest::fit`].
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, Multiclass, Training}};
    /// let (kernel, x) = (Kernel::rbf(1.0), ndarray::array![[0.0], [1.0]]);
    /// let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1], &[1.0; 2], Margin::Nu(0.5));
    /// assert_eq!(Multiclass::OneVsRest.fit(&training)?.intercept.len(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OneVsOne::fit`].
    pub fn fit(&self, training: &Training) -> Result<Machines> {
        match self {
            Multiclass::WestonWatkins | Multiclass::CrammerSinger => joint::fit(self, training),
            _ if training.classes <= 2 => OneVsOne::fit(training),
            Multiclass::OneVsRest => OneVsRest::fit(training),
            Multiclass::Dag => Dag::fit(training),
            Multiclass::OneVsOne => OneVsOne::fit(training),
            Multiclass::Tree(tree) => tree.fit(training),
        }
    }

    /// Poses the problems of all machines, and returns the rows of each class with them.
    ///
    /// # Errors
    /// As [`OneVsOne::fit`], but for those of solvers.
    pub(crate) fn pose(&self, training: &Training) -> Result<(Vec<Vec<usize>>, Vec<Posed>)> {
        let members = training.members()?;
        let posed = match self {
            Multiclass::WestonWatkins | Multiclass::CrammerSinger => {
                let allowed = "one that has a problem for each machine";
                return Err(Error::parameter("multiclass", allowed, format!("{self:?}")));
            }
            Multiclass::OneVsRest if training.classes > 2 => OneVsRest::pose(training, &members)?,
            Multiclass::Tree(tree) if training.classes > 2 => tree.pose(training, &members)?,
            _ => OneVsOne::pose(training, &members)?,
        };
        Ok((members, posed))
    }

    /// Collects the machines of classes with these rows.
    pub(crate) fn assemble(&self, members: &[Vec<usize>], solutions: Vec<Solution>) -> Machines {
        match self {
            _ if members.len() <= 2 => one_vs_one::assemble(members, solutions),
            Multiclass::OneVsOne | Multiclass::Dag => one_vs_one::assemble(members, solutions),
            Multiclass::Tree(tree) => tree.assemble(members, solutions),
            _ => one_vs_rest::assemble(members, solutions),
        }
    }

    /// Returns how so many classes are decided; a machine without classes counts as one class.
    pub(crate) fn rule(&self, classes: usize) -> Rule {
        match self {
            _ if classes <= 2 => Rule::Sign,
            Multiclass::OneVsOne => Rule::Votes,
            Multiclass::OneVsRest | Multiclass::WestonWatkins | Multiclass::CrammerSinger => {
                Rule::Largest
            }
            Multiclass::Dag => Rule::Walk,
            Multiclass::Tree(_) => Rule::Tree,
        }
    }

    /// Tells whether the values of its machines can be made probabilities: each is of a pair of classes,
    /// or of one against the rest.
    pub(crate) fn has_calibration(&self) -> bool {
        use Multiclass::{Dag, OneVsOne, OneVsRest};
        matches!(self, OneVsOne | OneVsRest | Dag)
    }

    /// Returns by how much the value of a row's class is to be above the others, where only the
    /// difference counts.
    fn lead(&self) -> Option<f64> {
        match self {
            Multiclass::WestonWatkins => Some(2.0),
            Multiclass::CrammerSinger => Some(1.0),
            _ => None,
        }
    }

    /// Returns how many machines there are for so many classes.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// assert_eq!(Multiclass::OneVsOne.machines(4), 6);
    /// assert_eq!(Multiclass::OneVsRest.machines(4), 4);
    /// assert_eq!(Multiclass::OneVsRest.machines(2), 1);
    /// ```
    pub fn machines(&self, classes: usize) -> usize {
        match self {
            _ if classes <= 2 => 1,
            Multiclass::OneVsOne | Multiclass::Dag => classes * (classes - 1) / 2,
            Multiclass::Tree(tree) => tree.machines(),
            _ => classes,
        }
    }

    /// Returns the nu of each machine: `nu`, or the largest that is feasible, which is twice the share
    /// of the lighter side.
    ///
    /// `weights` are those of the rows, and `cost` what is left of them by class weights, which nobody
    /// chooses with nu in mind: they can lower the share of a machine but are no reason to refuse it.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// // Two rows against one, two against three, one against three.
    /// let (labels, ones) = ([0, 1, 2, 2, 0, 2], [1.0; 6]);
    /// let nu = Multiclass::OneVsOne.feasible_nu(0.7, &labels, &ones, &ones)?;
    /// assert_eq!(nu, [2.0 / 3.0, 0.7, 0.5]);
    /// assert!(Multiclass::OneVsOne.feasible_nu(0.9, &labels, &ones, &ones).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If nu is not above 0 and at most 1, or no machine can have it.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn feasible_nu(
        &self,
        nu: f64,
        labels: &[usize],
        cost: &[f64],
        weights: &[f64],
    ) -> Result<Vec<f64>> {
        assert!(labels.len() == cost.len() && labels.len() == weights.len());
        let classes = labels.iter().max().map_or(0, |&largest| largest + 1);
        let limits_with = |weights: &[f64]| {
            let class_weights = class_weights(labels, weights, classes);
            match self {
                _ if classes <= 2 => limits_of_pairs(&class_weights),
                Multiclass::OneVsOne | Multiclass::Dag => limits_of_pairs(&class_weights),
                Multiclass::Tree(tree) => tree.limits(&class_weights),
                _ => limits_of_classes(&class_weights),
            }
        };
        let limits = limits_with(cost);
        let allowed = highest(&limits).max(highest(&limits_with(weights)));
        lowered(nu, allowed, &limits)
    }
}

impl Multiclass {
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
    /// // Two classes: positive is the second, and so is zero.
    /// let one = ndarray::array![[-0.5], [0.0], [0.5]];
    /// assert_eq!(Multiclass::OneVsOne.winners(one.view(), 2), [0, 1, 1]);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines.
    pub fn winners(&self, decision: ArrayView2<f64>, classes: usize) -> Vec<usize> {
        let winner = |values: &[f64]| self.winner(values, classes);
        self.of_rows(decision, classes, winner)
    }

    /// Returns the class for the values of all machines.
    fn winner(&self, values: &[f64], classes: usize) -> usize {
        match self.rule(classes) {
            Rule::Sign if classes < 2 => 0,
            Rule::Sign => by_sign(values[0], 0.0).class,
            Rule::Votes => most_votes(classes, |_, _, machine| (values[machine], 0.0)).class,
            Rule::Walk => walk(classes, |i, j| values[pair(classes, i, j)]),
            Rule::Largest | Rule::Tree => match self {
                Multiclass::Tree(tree) => tree.winner(values),
                _ => largest(classes, |class| (values[class], 0.0)).class,
            },
        }
    }

    /// Returns a value for each class, shape (rows, classes), of which the largest stands for the
    /// winner, from decision values with a column per machine.
    ///
    /// - Two classes: the value of the machine and its negative.
    /// - [`OneVsRest`](Multiclass::OneVsRest): the values of the machines.
    /// - [`OneVsOne`](Multiclass::OneVsOne): the votes for the class plus s / (3 (|s| + 1)), where s is
    ///   the sum of the values for and against it. This breaks ties of votes, which
    ///   [`winners`](Self::winners) gives to the lowest class.
    /// - [`Dag`](Multiclass::Dag): the number 0, 1, ..., classes - 2 of the comparison that dropped the
    ///   class, classes - 1 for the one that is left; plus c / (3 (|c| + 1)), where c is the value in
    ///   favour of the class in that comparison, the last one for the class that is left.
    /// - [`WestonWatkins`](Multiclass::WestonWatkins), [`CrammerSinger`](Multiclass::CrammerSinger): the
    ///   values of the machines.
    /// - [`Tree`](Multiclass::Tree): the smallest lead of the branches on the way to the class, each over
    ///   the best of the others at its fork.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// let pairs = ndarray::array![[1.0, -1.0, -1.0]];
    /// let votes = Multiclass::OneVsOne.confidences(pairs.view(), 3);
    /// assert_eq!(votes, ndarray::array![[1.0, 0.0 - 2.0 / 9.0, 2.0 + 2.0 / 9.0]]);
    /// let rounds = Multiclass::Dag.confidences(pairs.view(), 3);
    /// assert_eq!(rounds, ndarray::array![[0.0 - 1.0 / 6.0, 1.0 - 1.0 / 6.0, 2.0 + 1.0 / 6.0]]);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines.
    pub fn confidences(&self, decision: ArrayView2<f64>, classes: usize) -> Array2<f64> {
        let mut confidences = Array2::zeros((decision.nrows(), classes));
        let mut rows = confidences.rows_mut().into_iter();
        self.of_rows(decision, classes, |values: &[f64]| {
            let row = rows.next().and_then(|row| row.into_slice());
            let out = row.unwrap_or_default();
            match self.rule(classes) {
                Rule::Sign if classes < 2 => out.copy_from_slice(values),
                Rule::Sign => out.copy_from_slice(&[-values[0], values[0]]),
                Rule::Votes => votes_and_confidences(values, out),
                Rule::Walk => rounds(values, out),
                Rule::Largest | Rule::Tree => match self {
                    Multiclass::Tree(tree) => tree.leads(values, out),
                    _ => out.copy_from_slice(values),
                },
            }
        });
        confidences
    }

    /// Tells for each row of decision values whether no class is supported.
    ///
    /// - Two classes: the absolute value is below the threshold.
    /// - [`OneVsRest`](Multiclass::OneVsRest): no value is above the threshold.
    /// - [`OneVsOne`](Multiclass::OneVsOne): every comparison that the winner has won has an absolute
    ///   value below the threshold.
    /// - [`Dag`](Multiclass::Dag): so has every comparison of the walk that the winner took part in.
    /// - [`WestonWatkins`](Multiclass::WestonWatkins), [`CrammerSinger`](Multiclass::CrammerSinger): the
    ///   largest value is above the second by less than the threshold times the margin, which is 2 or 1.
    /// - [`Tree`](Multiclass::Tree): at some fork on the way the row would be rejected, as one of two
    ///   classes or of one-vs-rest.
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
    pub fn rejects(&self, decision: ArrayView2<f64>, classes: usize, threshold: f64) -> Vec<bool> {
        let winners = self.winners(decision, classes);
        self.rejects_winners(decision, classes, threshold, &winners)
    }

    /// The same for winners found otherwise, as when [`confidences`](Self::confidences) have broken
    /// ties; they matter to [`OneVsOne`](Multiclass::OneVsOne) only.
    ///
    /// ```
    /// use mercer::model::Multiclass;
    /// // A tie of all: 0 wins over 1 by 0.3, 1 over 2 by 0.1 and 2 over 0 by 0.6.
    /// let pairs = ndarray::array![[0.3, -0.6, 0.1]];
    /// assert_eq!(Multiclass::OneVsOne.rejects(pairs.view(), 3, 0.5), [true]);
    /// assert_eq!(Multiclass::OneVsOne.rejects_winners(pairs.view(), 3, 0.5, &[2]), [false]);
    /// ```
    ///
    /// # Panics
    /// If there are not as many columns as machines, or not as many winners as rows.
    pub fn rejects_winners(
        &self,
        decision: ArrayView2<f64>,
        classes: usize,
        threshold: f64,
        winners: &[usize],
    ) -> Vec<bool> {
        assert_eq!(decision.nrows(), winners.len(), "one winner per row");
        let mut winners = winners.iter().copied();
        self.of_rows(decision, classes, |values: &[f64]| {
            let winner = winners.next().unwrap_or_default();
            match self.rule(classes) {
                Rule::Sign => values[0].abs() < threshold,
                Rule::Largest | Rule::Tree => match (self, self.lead()) {
                    (Multiclass::Tree(tree), _) => tree.rejects(values, threshold),
                    (_, Some(lead)) => lead_of(values, winner) < lead * threshold,
                    _ => values.iter().all(|&value| value <= threshold),
                },
                Rule::Votes => clearest_win(values, classes, winner) < threshold,
                Rule::Walk => {
                    clearest_on_the_way(values, classes, self.winner(values, classes)) < threshold
                }
            }
        })
    }

    /// Returns what `f` makes of each row of decision values.
    fn of_rows<T>(
        &self,
        decision: ArrayView2<f64>,
        classes: usize,
        f: impl FnMut(&[f64]) -> T,
    ) -> Vec<T> {
        let machines = self.machines(classes);
        assert_eq!(decision.ncols(), machines, "one column per machine");
        let decision = decision.as_standard_layout();
        let values = decision.as_slice().unwrap_or(&[]);
        values.chunks(machines).map(f).collect()
    }
}

/// Returns by how much the value of the winner is above the next.
fn lead_of(values: &[f64], winner: usize) -> f64 {
    let others = values
        .iter()
        .enumerate()
        .filter(|&(class, _)| class != winner);
    let next = others.fold(f64::NEG_INFINITY, |next, (_, &value)| next.max(value));
    values[winner] - next
}
