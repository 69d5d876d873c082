//! One-vs-one: k(k-1)/2 machines on pairs of classes, which vote.

use super::choice::{Choice, is_sure};
use super::machines::Machines;
use super::nu::limits_of_pairs;
use super::pairs::{pair, pairs, positive};
use super::training::{Margin, Posed, Training, train_all};
use crate::error::Result;
use crate::matrix::{KernelMatrix, KernelRows, Shared};
use crate::model::session::{Place, Session, Strategy};
use crate::qp::Solution;
use ndarray::Array2;
use std::time::Instant;

/// Trains a machine for every pair of classes, in LIBSVM's layout; machine (i, j), i < j, is positive
/// for i, but that of two classes for the second.
///
/// ```
/// use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
/// let (kernel, x) = (Kernel::linear(), ndarray::array![[0.0], [1.0], [3.0]]);
/// let samples = Samples::try_from(x.view())?;
/// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], Margin::Nu(0.5));
/// let trained = OneVsOne::fit(&training)?;
/// assert_eq!((trained.intercept.len(), trained.dual_coef.dim()), (3, (2, 3)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneVsOne;

impl OneVsOne {
    /// Trains the machines, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss};
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[-1.0], [1.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
    /// let training = Training::new(&kernel, &samples, &[0, 1], &[10.0, 10.0], margin);
    /// assert_eq!(OneVsOne::fit(&training)?.support, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If lengths differ, a cost is negative, a class is empty, nu is not feasible for any pair of
    /// classes, the start is not feasible, or as [`Solver::solve`](crate::qp::Solver::solve).
    pub fn fit(training: &Training) -> Result<Machines> {
        training.within(|session| training.call(|| Self::train(training, session)))
    }

    fn train(training: &Training, session: &Session) -> Result<Machines> {
        let started = Instant::now();
        let (kernel, samples) = (training.kernel, training.samples);
        let members = training.members()?;
        let margins = training.margins(limits_of_pairs)?;
        let pairs: Vec<(usize, usize)> = pairs(members.len()).collect();
        // One budget of memory for all machines.
        let bytes = training.bytes();
        let shared = match pairs.len() {
            1 => None,
            _ => Shared::new(kernel, samples, &members, bytes / 2)?,
        };
        let train = |machine: usize, side_by_side: usize| -> Result<Solution> {
            let place = Place {
                strategy: Strategy::Pairs,
                machine,
                of: pairs.len(),
            };
            let (i, j) = pairs[machine];
            let posed = Self::pose_pair(training, &members, (i, j), margins[machine])?;
            let Posed { rows, problem, .. } = &posed;
            // One budget of time for all machines.
            let mut solver = training.solver.since(started);
            let (matrix, bytes) = match &shared {
                Some(shared) => (shared.union(&[i, j]), bytes / 2),
                None => (KernelMatrix::new(kernel, samples, rows.clone())?, bytes),
            };
            solver.allow(bytes / side_by_side);
            let mut kernel_rows = KernelRows::new(&matrix);
            let solution = match pairs.len() == 1 && kernel.may_be_indefinite() {
                // Which of many minima is found depends on the sign, and LIBSVM has the other one.
                true => {
                    let mirrored = problem.mirrored();
                    let found = session.solve(place, &solver, &mirrored, rows, &mut kernel_rows)?;
                    found.mirrored()
                }
                false => session.solve(place, &solver, problem, rows, &mut kernel_rows)?,
            };
            Ok(posed.finish(solution, &matrix))
        };
        let size = |&(i, j): &(usize, usize)| members[i].len() + members[j].len();
        let sizes: Vec<usize> = pairs.iter().map(size).collect();
        let solutions = train_all(training, &sizes, train)?;
        Ok(assemble(&members, solutions))
    }

    /// Poses the problem of every pair of classes, of which these are the rows.
    pub(super) fn pose(training: &Training, members: &[Vec<usize>]) -> Result<Vec<Posed>> {
        let margins = training.margins(limits_of_pairs)?;
        let pairs = pairs(members.len()).zip(margins);
        let pose = |(pair, margin)| Self::pose_pair(training, members, pair, margin);
        pairs.map(pose).collect()
    }

    /// Poses the problem of one pair of classes.
    fn pose_pair(
        training: &Training,
        members: &[Vec<usize>],
        (i, j): (usize, usize),
        margin: Margin,
    ) -> Result<Posed> {
        let rows = [members[i].as_slice(), &members[j]].concat();
        training.pose(rows, &[positive(members.len(), (i, j))], margin)
    }
}

/// Collects the solutions of all pairs into one set of support vectors.
pub(super) fn assemble(members: &[Vec<usize>], solutions: Vec<Solution>) -> Machines {
    let classes = members.len();
    // coefficients[c][member][other class]
    let mut coefficients: Vec<Vec<f64>> = members
        .iter()
        .map(|rows| vec![0.0; rows.len() * (classes - 1)])
        .collect();
    for ((i, j), solution) in pairs(classes).zip(&solutions) {
        let (of_i, of_j) = solution.beta.split_at(members[i].len());
        for (at, &beta) in of_i.iter().enumerate() {
            coefficients[i][at * (classes - 1) + j - 1] = beta;
        }
        for (at, &beta) in of_j.iter().enumerate() {
            coefficients[j][at * (classes - 1) + i] = beta;
        }
    }
    let mut support = Vec::new();
    let mut n_support = Vec::with_capacity(classes);
    let mut columns: Vec<&[f64]> = Vec::new();
    for (rows, coefficients) in members.iter().zip(&coefficients) {
        let before = support.len();
        for (&row, column) in rows.iter().zip(coefficients.chunks(classes - 1)) {
            if column.iter().any(|&beta| beta != 0.0) {
                support.push(row);
                columns.push(column);
            }
        }
        n_support.push(support.len() - before);
    }
    let dual_coef = Array2::from_shape_fn((classes - 1, support.len()), |(r, i)| columns[i][r]);
    Machines::new(support, n_support, dual_coef, solutions)
}

/// Classes whose votes are counted at a time, on the stack.
const BLOCK: usize = 64;

/// The votes for a class: those it has, those that no error can take from it, and those it would have
/// if all errors were in its favour.
#[derive(Clone, Copy, Default)]
struct Votes {
    cast: u32,
    sure: u32,
    best: u32,
}

/// Returns the class with most votes; machine (i, j) votes for i where it is positive, else for j, and
/// ties go to the lowest class, as in LIBSVM. `value(i, j, machine)` returns the value of a machine and
/// a bound of its error.
pub(crate) fn most_votes(
    classes: usize,
    value: impl Fn(usize, usize, usize) -> (f64, f64),
) -> Choice {
    let (mut winner, mut most) = (0, Votes::default());
    // The two classes that could have most votes, and how many: one of them may be the winner.
    let mut rivals = [(0, usize::MAX); 2];
    for start in (0..classes).step_by(BLOCK) {
        let mut votes = [Votes::default(); BLOCK];
        count(classes, start, &value, &mut votes);
        for (class, votes) in (start..classes).zip(votes) {
            if votes.cast > most.cast {
                (winner, most) = (class, votes);
            }
            if votes.best > rivals[0].0 {
                rivals = [(votes.best, class), rivals[0]];
            } else if votes.best > rivals[1].0 {
                rivals[1] = (votes.best, class);
            }
        }
    }
    let (best, rival) = rivals[usize::from(rivals[0].1 == winner)];
    Choice {
        class: winner,
        doubtful: (most.sure, rival) <= (best, winner),
    }
}

/// Counts the votes for the classes of a block.
fn count(
    classes: usize,
    start: usize,
    value: impl Fn(usize, usize, usize) -> (f64, f64),
    votes: &mut [Votes; BLOCK],
) {
    let end = classes.min(start + BLOCK);
    for i in 0..end {
        let others = if i < start {
            start..end
        } else {
            i + 1..classes
        };
        for j in others {
            let (value, error) = value(i, j, pair(classes, i, j));
            let (winner, loser) = if value > 0.0 { (i, j) } else { (j, i) };
            let sure = is_sure(value, error);
            // Classes of other blocks are beyond the end, those before by wrapping around.
            if let Some(votes) = votes.get_mut(winner.wrapping_sub(start)) {
                votes.cast += 1;
                votes.best += 1;
                votes.sure += u32::from(sure);
            }
            if let Some(votes) = votes.get_mut(loser.wrapping_sub(start)) {
                votes.best += u32::from(!sure);
            }
        }
    }
}

/// Returns the value of a pair of classes in favour of the first one given.
fn in_favour(values: &[f64], classes: usize, class: usize, other: usize) -> f64 {
    if class < other {
        values[pair(classes, class, other)]
    } else {
        -values[pair(classes, other, class)]
    }
}

/// Writes votes plus confidence for each class, as in scikit-learn: the sum s of the values in favour
/// of a class becomes s / (3 (|s| + 1)), which lies between -1/3 and 1/3 and so can only decide between
/// classes with as many votes.
pub(super) fn votes_and_confidences(values: &[f64], out: &mut [f64]) {
    let classes = out.len();
    for (class, out) in out.iter_mut().enumerate() {
        let (mut votes, mut sum) = (0.0, 0.0);
        for other in (0..classes).filter(|&other| other != class) {
            let value = in_favour(values, classes, class, other);
            sum += value;
            // A value of zero counts for the first class here, also in scikit-learn.
            let won = value > 0.0 || (value == 0.0 && class < other);
            votes += f64::from(u8::from(won));
        }
        *out = votes + confidence(sum);
    }
}

/// Returns a number between -1/3 and 1/3 that grows with the sum.
pub(super) fn confidence(sum: f64) -> f64 {
    sum / (3.0 * (sum.abs() + 1.0))
}

/// Returns the largest value by which a class has won over another, 0 if it has won over none.
pub(super) fn clearest_win(values: &[f64], classes: usize, winner: usize) -> f64 {
    (0..classes)
        .filter(|&other| other != winner)
        .map(|other| in_favour(values, classes, winner, other))
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number in [-1, 1) that looks random.
    fn noise(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Votes as they are written in a textbook: all errors in favour of a class, and all against it.
    fn plain(classes: usize, values: &[f64], error: f64) -> Choice {
        let mut votes = vec![Votes::default(); classes];
        for (machine, (i, j)) in pairs(classes).enumerate() {
            let value = values[machine];
            votes[if value > 0.0 { i } else { j }].cast += 1;
            votes[i].best += u32::from(value > -error || value.abs() <= error);
            votes[j].best += u32::from(value <= error);
            votes[i].sure += u32::from(value > error);
            votes[j].sure += u32::from(value < -error);
        }
        let most = votes.iter().map(|votes| votes.cast).max().unwrap_or(0);
        let class = votes.iter().position(|votes| votes.cast == most);
        let class = class.unwrap_or(0);
        let beaten = |other: usize| (votes[class].sure, other) > (votes[other].best, class);
        Choice {
            class,
            doubtful: !(0..classes).all(|other| other == class || beaten(other)),
        }
    }

    #[test]
    fn votes_are_counted_in_blocks_of_classes() {
        let mut seed = 1;
        for classes in [2, 3, 5, 63, 64, 65, 130, 200] {
            let mut doubts = 0;
            for round in 0..40 {
                // One class is favoured, so that there are clear winners as well as ties.
                let favourite = round * 7 % classes;
                let strength = f64::from((round % 4) as u8) / 2.0;
                let favour = |i, j| match favourite {
                    class if class == i => strength,
                    class if class == j => -strength,
                    _ => 0.0,
                };
                let values: Vec<f64> = pairs(classes)
                    .map(|(i, j)| noise(&mut seed) + favour(i, j))
                    .collect();
                for error in [0.0, 0.01, 0.2, 2.0] {
                    let choice = most_votes(classes, |_, _, machine| (values[machine], error));
                    assert_eq!(choice, plain(classes, &values, error), "{classes} classes");
                    doubts += usize::from(choice.doubtful);
                }
            }
            assert!((1..160).contains(&doubts), "{doubts} of 160 are doubtful");
        }
    }
}
