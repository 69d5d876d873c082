//! The state of a table: coefficients, gradients, and how wrong these may be.

use super::cycles::Edges;
use super::problem::TableProblem;
use crate::error::{Polled, Result, Stop};
use crate::matrix::KernelMatrix;
use crate::qp::confirm::estimated_noise;
use crate::qp::divergence::{Floor, diverges, largest};
use crate::qp::exact_sum::exact_sum;
use crate::qp::report::Status;
use crate::qp::task::DEVIATIONS;
use crate::simd::memory;

/// What an error calls the memory of a table.
const TABLE: &str = "the coefficients of all classes";
/// The roundoff of f32.
const SINGLE: f64 = f32::EPSILON as f64 / 2.0;

/// Where a solve is.
pub(super) struct State {
    samples: usize,
    columns: usize,
    /// Row by row.
    pub beta: Vec<f64>,
    /// Column by column, since rows of the kernel are added to columns.
    pub gradient: Vec<f64>,
    /// The coefficients at which the gradients were computed in f64, and how far each has moved since,
    /// back and forth; column by column.
    known: Vec<f64>,
    moved: Vec<f64>,
    /// Rows added to a column since, at the most.
    added: u64,
    pub iterations: u64,
    /// What the rows are like that are added.
    pub double: bool,
    pub repeatable: bool,
}

/// How far from optimal a state is.
pub(super) struct Seen {
    pub gap: f64,
    /// The intercepts b_m.
    pub intercepts: Vec<f64>,
    /// Of each sample, the gap of its row at these intercepts.
    pub violations: Vec<f64>,
    /// The samples of the steepest cycle.
    pub steepest: Vec<u32>,
}

impl State {
    /// All coefficients are zero, and gradients are the linear terms.
    pub fn start(problem: &TableProblem, samples: usize) -> Result<Self> {
        let (columns, length) = (problem.columns, problem.linear.len());
        let mut gradient = memory::zeros(length, TABLE)?;
        for (at, &linear) in problem.linear.iter().enumerate() {
            gradient[at % columns * samples + at / columns] = linear;
        }
        Ok(State {
            samples,
            columns,
            beta: memory::zeros(length, TABLE)?,
            gradient,
            known: memory::zeros(length, TABLE)?,
            moved: memory::zeros(length, TABLE)?,
            added: 0,
            iterations: 0,
            double: true,
            repeatable: true,
        })
    }

    /// Returns the coefficients of a sample.
    pub fn row(&self, sample: u32) -> &[f64] {
        let start = sample as usize * self.columns;
        &self.beta[start..start + self.columns]
    }

    /// Returns the coefficients of a column.
    pub fn column(&self, column: usize) -> Vec<f64> {
        let values = self.beta[column.min(self.beta.len())..].iter();
        values.step_by(self.columns).copied().collect()
    }

    /// Returns the gradients of a column.
    pub fn gradient_of(&self, column: usize) -> &[f64] {
        &self.gradient[column * self.samples..(column + 1) * self.samples]
    }

    /// Gives a sample new coefficients, whose rows have been added to the gradients.
    pub fn set_row(&mut self, sample: u32, row: &[f64]) {
        let start = sample as usize * self.columns;
        for (column, &beta) in row.iter().enumerate() {
            let change = (beta - self.beta[start + column]).abs();
            self.moved[column * self.samples + sample as usize] += change;
            self.beta[start + column] = beta;
        }
        self.added += 1;
    }

    /// Returns how far from optimal it is; with errors, column by column, the farthest it can be.
    pub fn seen(&self, problem: &TableProblem, errors: Option<&[f64]>) -> Seen {
        let k = self.columns;
        if !self.gradient.iter().all(|gradient| gradient.is_finite()) {
            // Overflow is no proof of anything.
            return Seen {
                gap: f64::INFINITY,
                intercepts: vec![0.0; k],
                violations: vec![0.0; self.samples],
                steepest: Vec::new(),
            };
        }
        let mut violations = vec![f64::NEG_INFINITY; self.samples];
        let charge = problem.constraint.absorber();
        let (intercepts, steepest) = match charge {
            Some(charge) => {
                let sum = |m| charge * exact_sum(self.column(m).into_iter()) + 0.0;
                ((0..k).map(sum).collect(), Vec::new())
            }
            None => {
                let mut edges = Edges::new(k);
                self.for_each_row(problem, errors, |i, up, down| {
                    edges.include(i as u32, up, down)
                });
                multipliers(&edges)
            }
        };
        self.for_each_row(problem, errors, |i, up, down| {
            let up = up.iter().zip(&intercepts).map(|(up, b)| up - b);
            let down = down.iter().zip(&intercepts).map(|(down, b)| down - b);
            let most = up.fold(f64::NEG_INFINITY, f64::max);
            violations[i] = most - down.fold(f64::INFINITY, f64::min);
        });
        let gap = violations.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Seen {
            // Where nothing may move there is but one feasible point.
            gap: if gap == f64::NEG_INFINITY { 0.0 } else { gap },
            intercepts,
            violations,
            steepest,
        }
    }

    /// Tells of each row how fast the objective falls where a column grows, minus infinity if it may
    /// not, and how fast it rises where it shrinks.
    fn for_each_row(
        &self,
        problem: &TableProblem,
        errors: Option<&[f64]>,
        mut tell: impl FnMut(usize, &[f64], &[f64]),
    ) {
        let k = self.columns;
        let (mut up, mut down) = (vec![0.0; k], vec![0.0; k]);
        for i in 0..self.samples {
            for m in 0..k {
                let (row, column) = (i * k + m, m * self.samples + i);
                let error = errors.map_or(0.0, |errors| errors[column]);
                let (beta, slope) = (self.beta[row], -self.gradient[column]);
                up[m] = match beta < problem.upper[row] {
                    true => slope + error,
                    false => f64::NEG_INFINITY,
                };
                down[m] = match beta > problem.lower[row] {
                    true => slope - error,
                    false => f64::INFINITY,
                };
            }
            tell(i, &up, &down);
        }
    }

    /// Computes the gradients again in f64. If that is halted, nothing has changed.
    pub fn refresh(
        &mut self,
        problem: &TableProblem,
        matrix: &KernelMatrix,
        stop: Stop,
    ) -> Polled<()> {
        let (n, k) = (self.samples, self.columns);
        let mut vectors = memory::with_capacity(n * k, TABLE)?;
        for column in 0..k {
            vectors.extend(self.column(column));
        }
        let products = matrix.products(&vectors, k, stop)?;
        for (at, (product, linear)) in products.iter().zip(&problem.linear).enumerate() {
            self.gradient[at % k * n + at / k] = product + linear;
        }
        self.known = vectors;
        self.moved.fill(0.0);
        self.added = 0;
        Ok(())
    }

    /// Bounds the errors of the gradients, column by column, as [`Doubt`](crate::qp::doubt) does.
    pub fn errors(&self, problem: &TableProblem, matrix: &KernelMatrix) -> Vec<f64> {
        let mut errors = Vec::with_capacity(self.gradient.len());
        for column in 0..self.columns {
            let part = column * self.samples..(column + 1) * self.samples;
            let (known, moved) = (&self.known[part.clone()], &self.moved[part]);
            let rounding = DEVIATIONS * estimated_noise::<f64>(matrix, known);
            let mut of_column = vec![rounding; self.samples];
            let changed = self.column(column);
            let changed: Vec<f64> = changed.iter().zip(known).map(|(a, b)| a - b).collect();
            let roundoff = if self.double {
                f64::EPSILON / 2.0
            } else {
                SINGLE
            };
            let values = match (self.repeatable, self.double) {
                (true, true) => None,
                (true, false) => Some(matrix.errors(&changed, roundoff)),
                (false, _) => Some(matrix.errors(moved, roundoff)),
            };
            for (error, bound) in of_column.iter_mut().zip(values.into_iter().flatten()) {
                *error += bound;
            }
            if self.added > 0 {
                let most = known
                    .iter()
                    .zip(moved)
                    .map(|(beta, moved)| beta.abs() + moved);
                let sizes = matrix.sizes(&most.collect::<Vec<f64>>());
                for (i, (error, size)) in of_column.iter_mut().zip(sizes).enumerate() {
                    let largest = size + problem.linear[i * self.columns + column].abs();
                    *error += f64::EPSILON * (self.added + 2) as f64 * largest;
                }
            }
            errors.extend(of_column);
        }
        errors
    }

    /// Tells how to end if coefficients have no bounds and the objective seems to have no minimum.
    pub fn diverges(&self, problem: &TableProblem, matrix: &KernelMatrix) -> Option<Status> {
        if !problem.is_unbounded() {
            return None;
        }
        let all = (0..self.beta.len()).map(|at| {
            let (i, m) = (at / self.columns, at % self.columns);
            let gradient = self.gradient[m * self.samples + i];
            [self.beta[at], gradient, problem.linear[at], 0.0]
        });
        let floor = Floor {
            largest: largest(matrix.diagonal()),
            noise: 0.0,
        };
        diverges(all, floor)
    }
}

/// Returns the intercepts that prove the smallest gap, and the samples of the steepest cycle.
fn multipliers(edges: &Edges) -> (Vec<f64>, Vec<u32>) {
    let Some(cycle) = edges.best() else {
        return (edges.multipliers(0.0), Vec::new());
    };
    let next = cycle.columns.iter().cycle().skip(1);
    let samples = cycle.columns.iter().zip(next);
    let samples = samples.map(|(&u, &v)| edges.row(u, v)).collect();
    (edges.multipliers(cycle.mean), samples)
}
