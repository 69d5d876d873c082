//! One-vs-rest: a machine for every class against all other rows, of which the largest value wins.
//!
//! The problems differ in their labels only, so large ones are solved one after another with the
//! same cached kernel rows; small ones run side by side.

use super::choice::Choice;
use super::machines::Machines;
use super::nu::limits_of_classes;
use super::training::{Posed, Training, sizes, train_all};
use crate::error::{Error, Result};
use crate::matrix::{KernelMatrix, KernelRows, SMALL_PROBLEM};
use crate::model::session::{Place, Session, Strategy};
use crate::qp::{Solution, Solver};
use ndarray::Array2;
use std::time::Instant;

/// Trains a machine for every class against the rest; machine c is positive for class c.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::{Kernel, Samples, model::{Margin, OneVsRest, Training}};
/// let (kernel, x) = (Kernel::rbf(0.1), ndarray::array![[0.0], [1.0], [5.0]]);
/// let samples = Samples::try_from(x.view())?;
/// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
/// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], margin);
/// assert_eq!(OneVsRest::fit(&training)?.dual_coef.dim(), (3, 3));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneVsRest;

impl OneVsRest {
    /// Trains the machines, on the threads of the current rayon pool, or
    /// of one of its own if there is none.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsRest, Training}};
    /// # let (kernel, x) = (Kernel::rbf(1.0), ndarray::array![[0.0], [1.0], [3.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], Margin::Nu(0.5));
    /// assert_eq!(OneVsRest::fit(&training)?.reports.len(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OneVsOne::fit`](super::OneVsOne::fit), nu being feasible for a class if it is for it and
    /// the rest.
    pub fn fit(training: &Training) -> Result<Machines> {
        training.within(|session| training.call(|| Self::train(training, session)))
    }

    fn train(training: &Training, session: &Session) -> Result<Machines> {
        let started = Instant::now();
        let classes = training.classes;
        let members = training.members()?;
        let posed = Self::pose(training, &members)?;
        let rows = members.concat();
        let matrix = || KernelMatrix::new(training.kernel, training.samples, rows.clone());
        let solve = |machine, solver: &Solver, posed: &Posed, kernel_rows: &mut KernelRows| {
            let place = Place {
                strategy: Strategy::Rest,
                machine,
                of: classes,
            };
            session.solve(place, solver, &posed.problem, &posed.rows, kernel_rows)
        };
        let solutions: Vec<Solution> =
            if rows.len() <= SMALL_PROBLEM && training.side_by_side(&sizes(&posed)) > 1 {
                let bytes = training.bytes();
                let train = |class: usize, side_by_side: usize| {
                    let mut solver = training.solver.since(started);
                    solver.allow(bytes / side_by_side);
                    let (matrix, posed) = (matrix()?, &posed[class]);
                    let solution = solve(class, &solver, posed, &mut KernelRows::new(&matrix))?;
                    Ok(posed.finish(solution, &matrix))
                };
                train_all(training, &sizes(&posed), train)?
            } else {
                let matrix = matrix()?;
                let mut kernel_rows = KernelRows::new(&matrix);
                let train = |class: usize| {
                    let (solver, posed) = (training.solver.since(started), &posed[class]);
                    let solution = solve(class, &solver, posed, &mut kernel_rows)?;
                    Ok::<_, Error>(posed.finish(solution, &matrix))
                };
                (0..classes).map(train).collect::<Result<_>>()?
            };
        Ok(assemble(&members, solutions))
    }

    /// Poses the problem of every class against the rest; `members` are the rows of each.
    pub(super) fn pose(training: &Training, members: &[Vec<usize>]) -> Result<Vec<Posed>> {
        let margins = training.margins(limits_of_classes)?;
        let pose = |(class, margin)| training.pose(members.concat(), &[class], margin);
        margins.into_iter().enumerate().map(pose).collect()
    }
}

/// Collects the solutions of all classes, or of all outputs of a regression, whose rows count as one
/// class, into one set of support vectors.
pub(in crate::model) fn assemble(members: &[Vec<usize>], solutions: Vec<Solution>) -> Machines {
    let used = |at: &usize| solutions.iter().any(|solution| solution.beta[*at] != 0.0);
    let mut n_support = Vec::with_capacity(members.len());
    let mut start = 0;
    let mut support: Vec<usize> = Vec::new();
    for rows in members {
        let before = support.len();
        support.extend((start..start + rows.len()).filter(used));
        n_support.push(support.len() - before);
        start += rows.len();
    }
    let shape = (solutions.len(), support.len());
    let dual_coef = Array2::from_shape_fn(shape, |(class, i)| solutions[class].beta[support[i]]);
    let rows = members.concat();
    let support = support.iter().map(|&at| rows[at]).collect();
    Machines::new(support, n_support, dual_coef, solutions)
}

/// Returns the first class with the largest value; `value(c)` returns the value of machine c and a
/// bound of its error.
pub(crate) fn largest(classes: usize, value: impl Fn(usize) -> (f64, f64)) -> Choice {
    let (mut winner, mut most) = (0, f64::NEG_INFINITY);
    for class in 0..classes {
        let (value, _) = value(class);
        if value > most {
            (winner, most) = (class, value);
        }
    }
    let lowest = most - value(winner).1;
    let beaten = |class: usize| {
        let (value, error) = value(class);
        value + error < lowest
    };
    Choice {
        class: winner,
        doubtful: !(0..classes).all(|class| class == winner || beaten(class)),
    }
}
