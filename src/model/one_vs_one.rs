//! One-vs-one: k(k-1)/2 machines on pairs of classes.
//!
//! Few large problems use all cores inside, one after another; many small ones run side by side.

use super::{Machines, check_lengths};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, check_nu, largest_nu, normalized, nu_svc, svc};
use crate::kernel::Kernel;
use crate::matrix::{Classes, KernelMatrix, fair_share};
use crate::qp::{DualProblem, Monitor, Solution, Solver};
use ndarray::Array2;
use rayon::prelude::*;
use std::time::Instant;

/// Problems of up to this many rows run side by side.
pub(super) const SMALL: usize = 3000;

/// How wide margins and few errors are weighed against each other.
///
/// ```
/// use mercer::{formulation::{Intercept, Loss}, model::Margin};
/// let margin = Margin::Soft { loss: Loss::Squared, intercept: Intercept::Free };
/// assert_ne!(margin, Margin::Nu(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// By the cost C_i of an error.
    Soft {
        /// How errors are charged.
        loss: Loss,
        /// Whether there is a constant term.
        intercept: Intercept,
    },
    /// By the share of errors that is allowed; C_i is the weight of a row. Of more than two
    /// classes, a pair for which the share is too large has the largest that is feasible.
    Nu(f64),
}

impl Margin {
    /// Lowers nu to what is feasible.
    pub(super) fn at_most(self, largest: impl Fn() -> f64) -> Self {
        match self {
            Margin::Nu(nu) => Margin::Nu(nu.min(largest())),
            margin => margin,
        }
    }

    pub(super) fn problem(self, positive: &[bool], cost: &[f64]) -> Result<DualProblem> {
        match self {
            Margin::Soft { loss, intercept } => Ok(svc(positive, cost, loss, intercept)),
            Margin::Nu(nu) => nu_svc(positive, cost, nu),
        }
    }

    pub(super) fn machine(
        self,
        solution: Solution,
        problem: &DualProblem,
        matrix: &KernelMatrix,
    ) -> Solution {
        let largest = || matrix.diagonal().iter().fold(0.0f64, |a, &b| a.max(b));
        match self {
            Margin::Soft { .. } => solution,
            Margin::Nu(_) => normalized(solution, problem, largest()),
        }
    }
}

/// Trains a machine for every pair of classes, in LIBSVM's layout; machine (i, j), i < j, is positive
/// for i.
///
/// ```
/// use mercer::{Kernel, Samples, model::{Margin, OneVsOne}, qp::{Solver, Unwatched}};
/// use mercer::formulation::{Intercept, Loss};
/// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
/// let margin = Margin::Soft { loss: Loss::Linear, intercept: Intercept::Free };
/// let trained = OneVsOne::fit(
///     &Kernel::linear(), &samples, &[0, 1], 2, &[10.0, 10.0], margin, &Solver::default(), &Unwatched,
/// )?;
/// assert_eq!(trained.support, [0, 1]);
/// assert_eq!(trained.dual_coef, ndarray::array![[0.5, -0.5]]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneVsOne;

impl OneVsOne {
    /// Trains the machines: `labels` are class numbers below `classes`, `cost[i]` is C_i. Rows of
    /// cost zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne}, qp::{Solver, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [3.0]].view())?;
    /// let (labels, weights, margin) = ([0, 1, 2], [1.0; 3], Margin::Nu(0.5));
    /// let trained = OneVsOne::fit(
    ///     &Kernel::linear(), &samples, &labels, 3, &weights, margin, &Solver::default(), &Unwatched,
    /// )?;
    /// assert_eq!((trained.intercept.len(), trained.dual_coef.dim()), (3, (2, 3)));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If lengths differ, a cost is negative, a class is empty, nu is not feasible for any pair of
    /// classes, or as [`Solver::solve`].
    #[allow(clippy::too_many_arguments)] // the whole of a fit
    pub fn fit(
        kernel: &Kernel,
        samples: &Samples,
        labels: &[usize],
        classes: usize,
        cost: &[f64],
        margin: Margin,
        solver: &Solver,
        monitor: &dyn Monitor,
    ) -> Result<Machines> {
        let started = Instant::now();
        let members = members_of(samples, labels, classes, cost)?;
        let pairs: Vec<(usize, usize)> = (0..classes)
            .flat_map(|i| (i + 1..classes).map(move |j| (i, j)))
            .collect();
        let size = |pair: usize| members[pairs[pair].0].len() + members[pairs[pair].1].len();
        let weight = |class: usize| members[class].iter().map(|&row| cost[row]).sum::<f64>();
        let weights: Vec<f64> = (0..classes).map(weight).collect();
        // A pair of classes that differ too much in weight for nu has as much of it as it can.
        let limit = |pair: usize| largest_nu(weights[pairs[pair].0], weights[pairs[pair].1]);
        // One budget of memory for all machines.
        let mut solver = *solver;
        let bytes = solver.cache_bytes_mut().unwrap_or_else(fair_share);
        let pose = |pair: usize| {
            let (i, j) = pairs[pair];
            let rows = [members[i].as_slice(), &members[j]].concat();
            let positive: Vec<bool> = (0..rows.len()).map(|at| at < members[i].len()).collect();
            let cost: Vec<f64> = rows.iter().map(|&row| cost[row]).collect();
            let margin = margin.at_most(|| limit(pair));
            Ok::<_, Error>((margin.problem(&positive, &cost)?, rows))
        };
        if let Margin::Nu(nu) = margin {
            // What no pair of classes can have is refused before anything is computed.
            check_nu(nu, (0..pairs.len()).map(limit).fold(0.0, f64::max))?;
        }
        let shared = match pairs.len() {
            1 => None,
            _ => Classes::new(kernel, samples, &members, bytes / 2)?,
        };
        let train = |pair: usize, side_by_side: usize| -> Result<Solution> {
            monitor.machine(pair, pairs.len());
            let (problem, rows) = pose(pair)?;
            // One budget of time for all machines.
            let mut solver = solver.since(started);
            let (matrix, bytes) = match &shared {
                Some(classes) => (classes.pair(pairs[pair].0, pairs[pair].1), bytes / 2),
                None => (KernelMatrix::new(kernel, samples, rows)?, bytes),
            };
            *solver.cache_bytes_mut() = Some(bytes / side_by_side);
            let solution = solver.solve(&problem, &matrix, monitor)?;
            Ok(margin.machine(solution, &problem, &matrix))
        };
        let (small, large): (Vec<usize>, Vec<usize>) =
            (0..pairs.len()).partition(|&pair| pairs.len() > 1 && size(pair) <= SMALL);
        let mut solutions: Vec<Option<Solution>> = vec![None; pairs.len()];
        for pair in large {
            solutions[pair] = Some(train(pair, 1)?);
        }
        // The user's kernel is not asked from several threads at once.
        let threads = match kernel {
            Kernel::User(_) => 1,
            _ => rayon::current_num_threads().min(small.len()),
        };
        let trained: Vec<(usize, Solution)> = if threads > 1 {
            small
                .into_par_iter()
                .with_max_len(1)
                .map(|pair| Ok((pair, train(pair, threads)?)))
                .collect::<Result<_>>()?
        } else {
            let train = |pair| Ok((pair, train(pair, 1)?));
            small.into_iter().map(train).collect::<Result<_>>()?
        };
        for (pair, solution) in trained {
            solutions[pair] = Some(solution);
        }
        let solutions: Vec<Solution> = solutions.into_iter().flatten().collect();
        Ok(assemble(&members, &pairs, &solutions))
    }
}

/// Returns the rows of each class.
pub(super) fn members_of(
    samples: &Samples,
    labels: &[usize],
    classes: usize,
    cost: &[f64],
) -> Result<Vec<Vec<usize>>> {
    check_lengths(
        samples,
        &[("y", labels.len()), ("sample_weight", cost.len())],
    )?;
    if let Some(cost) = cost.iter().find(|cost| cost.is_nan() || **cost < 0.0) {
        return Err(Error::parameter("C", "positive", cost));
    }
    let mut members = vec![Vec::new(); classes];
    for (row, &label) in labels.iter().enumerate() {
        match members.get_mut(label) {
            Some(_) if cost[row] == 0.0 => {}
            Some(rows) => rows.push(row),
            None => {
                return Err(Error::parameter(
                    "y",
                    "class numbers below n_classes",
                    label,
                ));
            }
        }
    }
    let filled = members.iter().filter(|rows| !rows.is_empty()).count();
    if filled < 2 || filled < classes {
        return Err(Error::TooFewClasses { classes: filled });
    }
    Ok(members)
}

/// Collects the solutions of all pairs into one set of support vectors.
pub(super) fn assemble(
    members: &[Vec<usize>],
    pairs: &[(usize, usize)],
    solutions: &[Solution],
) -> Machines {
    let classes = members.len();
    // coefficients[c][member][other class]
    let mut coefficients: Vec<Vec<f64>> = members
        .iter()
        .map(|rows| vec![0.0; rows.len() * (classes - 1)])
        .collect();
    for (&(i, j), solution) in pairs.iter().zip(solutions) {
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
    Machines {
        dual_coef: Array2::from_shape_fn((classes - 1, support.len()), |(r, i)| columns[i][r]),
        support,
        n_support,
        intercept: solutions.iter().map(|solution| solution.bias).collect(),
        reports: solutions.iter().map(|solution| solution.report).collect(),
        histories: solutions
            .iter()
            .map(|solution| solution.history.clone())
            .collect(),
    }
}
