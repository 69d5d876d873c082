//! Training that goes on from given coefficients, as when the kernel or the cost changes a little.

use super::one_vs_one::{assemble, members_of};
use super::{Machines, Margin, check_lengths, take};
use crate::data::Samples;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::qp::{Monitor, Solver};

/// Trains the machine of two classes, 0 being the positive one, from `start`: a coefficient for
/// each row, within its bounds, and with the sum that is to be kept.
///
/// # Errors
/// As [`OneVsOne::fit`](super::OneVsOne::fit), and if the start is not feasible.
#[allow(clippy::too_many_arguments)] // the whole of a fit
pub(crate) fn fit_from(
    start: &[f64],
    kernel: &Kernel,
    samples: &Samples,
    labels: &[usize],
    cost: &[f64],
    margin: Margin,
    solver: &Solver,
    monitor: &dyn Monitor,
) -> Result<Machines> {
    check_lengths(samples, &[("start", start.len())])?;
    let members = members_of(samples, labels, 2, cost)?;
    let rows = members.concat();
    let positive: Vec<bool> = rows.iter().map(|&row| labels[row] == 0).collect();
    let mut problem = margin.problem(&positive, &take(cost, &rows))?;
    problem.start = take(start, &rows);
    let matrix = KernelMatrix::new(kernel, samples, rows)?;
    monitor.machine(0, 1);
    let solution = solver.solve(&problem, &matrix, monitor)?;
    let solution = margin.machine(solution, &problem, &matrix);
    Ok(assemble(&members, &[(0, 1)], &[solution]))
}
