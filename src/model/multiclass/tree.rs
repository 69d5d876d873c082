//! Tree: machines at the forks of a tree of classes.
//!
//! A fork of two branches has one machine, positive for the second; a fork of more has a machine for
//! each branch against the others, of which the largest value wins. Machines are trained on the rows of
//! the classes at their fork alone. A row goes down the tree until it comes to a class. The fingerprint
//! classifier of Sastry's tutorial, arches first and then each of three classes from the other two, is
//!
//! ```text
//! [AT, [L, R, W]]
//! ```
//!
//! and rejects a row that no machine of the second fork claims.

use super::choice::by_sign;
use super::machines::Machines;
use super::one_vs_rest::{assemble, largest};
use super::training::{Posed, Training, sizes, train_all};
use crate::error::{Error, Result};
use crate::formulation::largest_nu;
use crate::matrix::{KernelMatrix, KernelRows};
use crate::model::session::{Place, Session, Strategy};
use crate::qp::Solution;
use std::sync::Arc;
use std::time::Instant;

/// A branch of a [`Tree`].
///
/// ```
/// use mercer::model::Branch;
/// let fork = Branch::Fork(vec![Branch::Class(1), Branch::Class(2)]);
/// assert_ne!(fork, Branch::Class(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Branch {
    /// A class, by its number.
    Class(usize),
    /// Two or more branches.
    Fork(Vec<Branch>),
}

/// A tree of classes, for [`Multiclass::Tree`](super::Multiclass::Tree).
///
/// ```
/// use mercer::model::{Branch, Multiclass, Tree};
/// use mercer::{Kernel, Svc};
/// // First class 1 against 0 and 2, then 0 against 2.
/// let rest = Branch::Fork(vec![Branch::Class(0), Branch::Class(2)]);
/// let tree = Tree::new(&[Branch::Class(1), rest])?;
/// let x = ndarray::array![[0.0], [5.0], [1.0]];
/// let svc = Svc::new(Kernel::linear()).c(10.0).multiclass(Multiclass::Tree(tree));
/// let model = svc.fit(x.view(), &["a", "b", "c"])?;
/// assert_eq!(model.predict(x.view())?, ["a", "b", "c"]);
/// assert_eq!(model.reports().len(), 2);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "Vec<Branch>", into = "Vec<Branch>")
)]
pub struct Tree {
    /// The first is the root.
    forks: Arc<[Fork]>,
    classes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fork {
    /// The number of its first machine.
    first: usize,
    /// The classes of each branch, and where it leads if these are several.
    branches: Vec<(Vec<usize>, Option<usize>)>,
}

impl Fork {
    fn machines(&self) -> usize {
        match self.branches.len() {
            2 => 1,
            count => count,
        }
    }

    /// Returns the branch that a row takes, from the values of all machines.
    fn choose(&self, values: &[f64]) -> usize {
        match self.branches.len() {
            2 => by_sign(values[self.first], 0.0).class,
            count => largest(count, |branch| (values[self.first + branch], 0.0)).class,
        }
    }

    /// Returns the value of a branch less that of the best other one, or the value of the only machine.
    fn lead(&self, branch: usize, values: &[f64]) -> f64 {
        if self.branches.len() == 2 {
            return if branch == 1 {
                values[self.first]
            } else {
                -values[self.first]
            };
        }
        let others = (0..self.branches.len()).filter(|&other| other != branch);
        let best = others.map(|other| values[self.first + other]);
        values[self.first + branch] - best.fold(f64::NEG_INFINITY, f64::max)
    }

    fn rejects(&self, values: &[f64], threshold: f64) -> bool {
        let own = &values[self.first..self.first + self.machines()];
        match own {
            [value] => value.abs() < threshold,
            _ => own.iter().all(|&value| value <= threshold),
        }
    }

    /// Returns the classes of all branches, and of those for which a machine is positive.
    fn sides(&self, machine: usize) -> (Vec<usize>, &[usize]) {
        let all = self.branches.iter().flat_map(|(classes, _)| classes);
        let mut all: Vec<usize> = all.copied().collect();
        all.sort_unstable();
        let positive = match self.branches.len() {
            2 => 1,
            _ => machine - self.first,
        };
        (all, &self.branches[positive].0)
    }
}

impl TryFrom<Vec<Branch>> for Tree {
    type Error = Error;

    fn try_from(root: Vec<Branch>) -> Result<Self> {
        Tree::new(&root)
    }
}

impl From<Tree> for Vec<Branch> {
    fn from(tree: Tree) -> Self {
        tree.branches()
    }
}

impl Tree {
    /// Makes a tree of the branches of its root. Classes are numbered from 0, and each is there once.
    ///
    /// ```
    /// use mercer::model::{Branch, Tree};
    /// assert!(Tree::new(&[Branch::Class(0), Branch::Class(1), Branch::Class(2)]).is_ok());
    /// let error = Tree::new(&[Branch::Class(0), Branch::Class(0)]).unwrap_err();
    /// assert!(error.to_string().contains("each class once"));
    /// ```
    ///
    /// # Errors
    /// If a fork has fewer than two branches, or a class is missing or there twice.
    pub fn new(root: &[Branch]) -> Result<Self> {
        let mut forks = Vec::new();
        let mut machines = 0;
        grow(root, &mut forks, &mut machines)?;
        let (mut classes, _) = forks[0].sides(0);
        classes.dedup();
        let last = classes.last().copied().unwrap_or(0);
        let leaves: usize = forks[0]
            .branches
            .iter()
            .map(|(classes, _)| classes.len())
            .sum();
        if classes.len() != leaves || last >= leaves {
            let got = format!("{leaves} leaves");
            return Err(Error::parameter(
                "multiclass",
                "a tree with each class once",
                got,
            ));
        }
        Ok(Tree {
            forks: forks.into(),
            classes: leaves,
        })
    }

    /// Returns how many classes there are.
    ///
    /// ```
    /// # use mercer::model::{Branch, Tree};
    /// assert_eq!(Tree::new(&[Branch::Class(1), Branch::Class(0)])?.classes(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the branches of the root.
    ///
    /// ```
    /// # use mercer::model::{Branch, Tree};
    /// let root = [Branch::Class(1), Branch::Class(0)];
    /// assert_eq!(Tree::new(&root)?.branches(), root);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn branches(&self) -> Vec<Branch> {
        self.branches_of(0)
    }

    fn branches_of(&self, fork: usize) -> Vec<Branch> {
        let branch = |(classes, below): &(Vec<usize>, Option<usize>)| match below {
            Some(fork) => Branch::Fork(self.branches_of(*fork)),
            None => Branch::Class(classes[0]),
        };
        self.forks[fork].branches.iter().map(branch).collect()
    }

    pub(super) fn machines(&self) -> usize {
        self.forks.iter().map(Fork::machines).sum()
    }

    /// Returns the fork of each machine.
    fn by_machine(&self) -> impl Iterator<Item = &Fork> {
        let repeated = |fork| std::iter::repeat_n(fork, Fork::machines(fork));
        self.forks.iter().flat_map(repeated)
    }

    /// Returns the forks on the way of a row, and the branches it takes, from the values of machines.
    fn way<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = (&'a Fork, usize)> {
        let mut at = Some(0);
        std::iter::from_fn(move || {
            let fork = &self.forks[at?];
            let branch = fork.choose(values);
            at = fork.branches[branch].1;
            Some((fork, branch))
        })
    }

    pub(super) fn winner(&self, values: &[f64]) -> usize {
        let end = self.way(values).last();
        end.map_or(0, |(fork, branch)| fork.branches[branch].0[0])
    }

    /// Writes for each class the smallest lead of the branches on the way to it.
    pub(super) fn leads(&self, values: &[f64], out: &mut [f64]) {
        out.fill(f64::INFINITY);
        for fork in self.forks.iter() {
            for (branch, (classes, _)) in fork.branches.iter().enumerate() {
                let lead = fork.lead(branch, values);
                classes
                    .iter()
                    .for_each(|&class| out[class] = out[class].min(lead));
            }
        }
    }

    pub(super) fn rejects(&self, values: &[f64], threshold: f64) -> bool {
        let mut way = self.way(values);
        way.any(|(fork, _)| fork.rejects(values, threshold))
    }

    /// Returns the largest feasible nu of each machine.
    pub(super) fn limits(&self, class_weights: &[f64]) -> Vec<f64> {
        let limit = |(machine, fork): (usize, &Fork)| {
            let (all, positive) = fork.sides(machine);
            let weight = |side: bool| {
                let members = all.iter().filter(|class| positive.contains(class) == side);
                members.map(|&class| class_weights[class]).sum::<f64>()
            };
            largest_nu(weight(true), weight(false))
        };
        self.by_machine().enumerate().map(limit).collect()
    }

    /// Trains the machines.
    pub(super) fn fit(&self, training: &Training) -> Result<Machines> {
        training.within(|session| training.call(|| self.train(training, session)))
    }

    fn train(&self, training: &Training, session: &Session) -> Result<Machines> {
        let started = Instant::now();
        let members = training.members()?;
        let posed = self.pose(training, &members)?;
        let (count, bytes) = (posed.len(), training.bytes());
        let train = |machine: usize, side_by_side: usize| -> Result<Solution> {
            let place = Place {
                strategy: Strategy::Tree,
                machine,
                of: count,
            };
            let Posed { rows, problem, .. } = &posed[machine];
            let mut solver = training.solver.since(started);
            solver.allow(bytes / side_by_side);
            let matrix = KernelMatrix::new(training.kernel, training.samples, rows.clone())?;
            let mut kernel_rows = KernelRows::new(&matrix);
            let solution = session.solve(place, &solver, problem, rows, &mut kernel_rows)?;
            Ok(posed[machine].finish(solution, &matrix))
        };
        let solutions = train_all(training, &sizes(&posed), train)?;
        Ok(self.assemble(&members, solutions))
    }

    /// Poses the problem of every machine; `members` are the rows of each class.
    ///
    /// # Errors
    /// If the tree is one of another number of classes, or as [`Training::margins`].
    pub(super) fn pose(&self, training: &Training, members: &[Vec<usize>]) -> Result<Vec<Posed>> {
        if self.classes != members.len() {
            let allowed = format!("a tree of {} classes", members.len());
            return Err(Error::parameter(
                "multiclass",
                allowed,
                format!("one of {}", self.classes),
            ));
        }
        let margins = training.margins(|weights| self.limits(weights))?;
        let machines = self.by_machine().zip(margins).enumerate();
        let pose = |(machine, (fork, margin)): (usize, (&Fork, _))| {
            let (classes, positive) = fork.sides(machine);
            let rows = classes
                .iter()
                .flat_map(|&class| members[class].iter().copied());
            training.pose(rows.collect(), positive, margin)
        };
        machines.map(pose).collect()
    }

    /// Collects the solutions of all machines into one set of support vectors; coefficients of rows
    /// that a machine was not trained on are zero.
    pub(super) fn assemble(&self, members: &[Vec<usize>], solutions: Vec<Solution>) -> Machines {
        let spread = |((machine, fork), mut solution): ((usize, &Fork), Solution)| {
            let (classes, _) = fork.sides(machine);
            let mut own = std::mem::take(&mut solution.beta).into_iter();
            for (class, rows) in members.iter().enumerate() {
                match classes.contains(&class) {
                    true => solution.beta.extend(own.by_ref().take(rows.len())),
                    false => solution.beta.resize(solution.beta.len() + rows.len(), 0.0),
                }
            }
            solution
        };
        let machines = self.by_machine().enumerate().zip(solutions);
        assemble(members, machines.map(spread).collect())
    }
}

/// Adds the fork of these branches, and those below it, to the list. Returns its number.
fn grow(branches: &[Branch], forks: &mut Vec<Fork>, machines: &mut usize) -> Result<usize> {
    if branches.len() < 2 {
        let got = format!("a fork of {}", branches.len());
        return Err(Error::parameter(
            "multiclass",
            "a tree whose forks have two branches or more",
            got,
        ));
    }
    let number = forks.len();
    let mut fork = Fork {
        first: *machines,
        branches: Vec::with_capacity(branches.len()),
    };
    forks.push(fork.clone());
    *machines += if branches.len() == 2 {
        1
    } else {
        branches.len()
    };
    for branch in branches {
        fork.branches.push(match branch {
            Branch::Class(class) => (vec![*class], None),
            Branch::Fork(below) => {
                let below = grow(below, forks, machines)?;
                let classes = forks[below]
                    .branches
                    .iter()
                    .flat_map(|(classes, _)| classes);
                (classes.copied().collect(), Some(below))
            }
        });
    }
    forks[number] = fork;
    Ok(number)
}
