//! One-vs-rest: a machine for every class against all other rows.
//!
//! The problems differ in their labels only, so large ones are solved one after another with the
//! same cached kernel rows; small ones run side by side.

use super::Machines;
use super::one_vs_one::{Margin, SMALL, members_of};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{check_nu, largest_nu};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, KernelRows, fair_share};
use crate::qp::{Monitor, Solution, Solver};
use ndarray::Array2;
use rayon::prelude::*;
use std::time::Instant;

/// Trains a machine for every class against the rest; machine c is positive for class c.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::{Kernel, Samples, model::{Margin, OneVsRest}, qp::{Solver, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [5.0]].view())?;
/// let margin = Margin::Soft { loss: Loss::Linear, intercept: Intercept::Free };
/// let trained = OneVsRest::fit(
///     &Kernel::rbf(0.1), &samples, &[0, 1, 2], 3, &[1.0; 3], margin, &Solver::default(), &Unwatched,
/// )?;
/// assert_eq!(trained.dual_coef.dim(), (3, 3));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneVsRest;

impl OneVsRest {
    /// Trains the machines: `labels` are class numbers below `classes`, `cost[i]` is C_i. Rows of
    /// cost zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsRest}, qp::{Solver, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [3.0]].view())?;
    /// let (labels, weights, margin) = ([0, 1, 2], [1.0; 3], Margin::Nu(0.5));
    /// let trained = OneVsRest::fit(
    ///     &Kernel::rbf(1.0), &samples, &labels, 3, &weights, margin, &Solver::default(), &Unwatched,
    /// )?;
    /// assert_eq!(trained.reports.len(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If lengths differ, a cost is negative, a class is empty, nu is not feasible for any class,
    /// or as [`Solver::solve`].
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
        let rows = members.concat();
        let cost: Vec<f64> = rows.iter().map(|&row| cost[row]).collect();
        let mut weights = vec![0.0; classes];
        for (&row, cost) in rows.iter().zip(&cost) {
            weights[labels[row]] += cost;
        }
        let limit = |class: usize| {
            // Added up, not subtracted from the sum of all, which may be many times larger.
            let others = (0..classes).filter(|&other| other != class);
            largest_nu(weights[class], others.map(|other| weights[other]).sum())
        };
        if let Margin::Nu(nu) = margin {
            check_nu(nu, (0..classes).map(limit).fold(0.0, f64::max))?;
        }
        let pose = |class: usize| {
            let positive: Vec<bool> = rows.iter().map(|&row| labels[row] == class).collect();
            margin.at_most(|| limit(class)).problem(&positive, &cost)
        };
        // The user's kernel is not asked from several threads at once.
        let threads = match kernel {
            Kernel::User(_) => 1,
            _ => rayon::current_num_threads().min(classes),
        };
        let solutions: Vec<Solution> = if threads > 1 && rows.len() <= SMALL {
            let train = |class: usize| {
                monitor.machine(class, classes);
                let mut solver = solver.since(started);
                let bytes = solver.cache_bytes_mut();
                *bytes = Some(bytes.unwrap_or_else(fair_share) / threads);
                let matrix = KernelMatrix::new(kernel, samples, rows.clone())?;
                let problem = pose(class)?;
                let solution = solver.solve(&problem, &matrix, monitor)?;
                Ok(margin.machine(solution, &problem, &matrix))
            };
            let classes = (0..classes).into_par_iter().with_max_len(1);
            classes.map(train).collect::<Result<_>>()?
        } else {
            let matrix = KernelMatrix::new(kernel, samples, rows.clone())?;
            let mut kernel_rows = KernelRows::new(&matrix);
            let train = |class: usize| {
                monitor.machine(class, classes);
                let problem = pose(class)?;
                let solution =
                    solver
                        .since(started)
                        .solve_on(&problem, &mut kernel_rows, monitor)?;
                Ok::<_, Error>(margin.machine(solution, &problem, &matrix))
            };
            (0..classes).map(train).collect::<Result<_>>()?
        };
        let used = |at: &usize| solutions.iter().any(|solution| solution.beta[*at] != 0.0);
        let support: Vec<usize> = (0..rows.len()).filter(used).collect();
        let mut n_support = vec![0; classes];
        for &at in &support {
            n_support[labels[rows[at]]] += 1;
        }
        Ok(Machines {
            dual_coef: Array2::from_shape_fn((classes, support.len()), |(class, i)| {
                solutions[class].beta[support[i]]
            }),
            support: support.iter().map(|&at| rows[at]).collect(),
            n_support,
            intercept: solutions.iter().map(|solution| solution.bias).collect(),
            reports: solutions.iter().map(|solution| solution.report).collect(),
            histories: solutions
                .iter()
                .map(|solution| solution.history.clone())
                .collect(),
        })
    }
}
