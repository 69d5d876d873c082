//! Case: one machine, of which rows are left out.

use super::pose::{Posing, Product, spread};
use super::result::{LeftOut, converged};
use crate::error::{Halt, Polled, Result, poll};
use crate::matrix::{HeldRows, KernelMatrix, KernelRows};
use crate::qp::{
    DualProblem, Image, Monitor, Origin, Progress, Report, Solution, Solved, Solver, Start, Status,
    near, seed,
};
use crate::search::fit::Part;
use crate::simd::threads;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// One machine of those that are trained on the samples.
pub(super) struct Case<'a> {
    pub posing: &'a Posing<'a>,
    /// Its number.
    pub machine: usize,
    pub part: &'a Part,
    pub matrix: &'a KernelMatrix<'a>,
    /// The matrix of all samples.
    pub all: &'a KernelMatrix<'a>,
    pub solver: Solver,
    pub bytes: usize,
    pub monitor: &'a dyn Monitor,
    /// Whether kernel values may be asked for by several threads at once.
    pub side_by_side: bool,
}

/// The machine trained on all rows.
struct Full<'a> {
    solution: Solution,
    /// That of the solver.
    image: Image,
    near: Option<Solved<'a>>,
    /// K beta, for each variable.
    products: Vec<f64>,
}

/// A row that is left out: its value, and how it was found.
struct Left {
    value: f64,
    from_solver: bool,
    converged: bool,
}

/// Passes on requests to stop, and nothing else: there are thousands of solves.
struct Quiet<'a>(&'a dyn Monitor);

impl Monitor for Quiet<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}

impl Case<'_> {
    fn problem(&self) -> &DualProblem {
        self.part.problem()
    }

    /// Writes the values of the rows asked for.
    pub fn leave_out(&self, asked: &[usize], out: &mut LeftOut) -> Polled<()> {
        let rows = HeldRows::new(self.matrix, self.bytes / 2);
        let full = self.full(&rows)?;
        out.unconverged += usize::from(!converged(full.solution.report.status));
        out.reports.push(full.solution.report);
        let mut variables: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        for (variable, &row) in self.part.rows().iter().enumerate() {
            variables[row].push(variable);
        }
        let anew: Vec<(usize, &[usize])> = (asked.iter().enumerate())
            .map(|(at, &row)| (at, variables[row].as_slice()))
            .filter(|(_, variables)| self.needs_solution(variables, &full))
            .collect();
        let done = AtomicUsize::new(0);
        let started = Instant::now();
        let leave = |&(at, variables): &(usize, &[usize])| -> Polled<(usize, Left)> {
            poll(&|| self.monitor.stop())?;
            let left = self.left(variables, &full)?;
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.monitor.machine(count, anew.len());
            let seconds = started.elapsed().as_secs_f64();
            let progress = Progress::new(count as u64, 0.0, anew.len() - count, seconds);
            self.monitor.progress(&progress);
            Ok((at, left))
        };
        let found: Vec<(usize, Left)> = if self.side_by_side && threads::width() > 1 {
            let serially = |item| threads::serially(|| leave(item));
            threads::pooled(|| {
                anew.par_iter()
                    .with_max_len(1)
                    .map(serially)
                    .collect::<Polled<_>>()
            })?
        } else {
            anew.iter().map(leave).collect::<Polled<_>>()?
        };
        for (at, left) in found {
            out.values[[at, self.machine]] = left.value;
            out.solved += 1;
            out.from_solver += usize::from(left.from_solver);
            out.unconverged += usize::from(!left.converged);
        }
        self.keep_others(asked, &variables, &full, out)
    }

    /// Tells whether a machine without these variables, those of a row, differs from the full one.
    fn needs_solution(&self, variables: &[usize], full: &Full) -> bool {
        let beta = &full.solution.beta;
        !variables.is_empty()
            && (!self.posing.is_plain()
                || variables.iter().any(|&i| beta[i] != 0.0)
                // The intercept is between those of variables at their bounds.
                || !(full.near.as_ref()).is_some_and(|near| near.has_free(&self.problem().constraint)))
    }

    /// Trains on all rows.
    fn full<'r>(&self, rows: &'r HeldRows<'r>) -> Polled<Full<'r>> {
        let stop = || self.monitor.stop();
        let (mut solution, image) = self.solve(self.problem(), None)?;
        if solution.report.status == Status::Interrupted {
            return Err(Halt::Stopped);
        }
        let near = match self.matrix.may_be_indefinite() {
            true => None,
            false => Solved::new(self.problem(), solution.beta.clone(), rows, &stop)?,
        };
        let products = match &near {
            Some(near) => {
                let intercepts = near.intercepts(self.problem());
                solution.intercepts = intercepts;
                solution.intercept = (intercepts[0] + intercepts[1]) / 2.0;
                solution.beta = near.beta().to_vec();
                near.image().to_vec()
            }
            None => {
                let beta = &solution.beta;
                let every: Vec<u32> = (0..beta.len() as u32).collect();
                self.matrix.product(beta, &every, &stop)?
            }
        };
        solution.history.clear();
        Ok(Full {
            solution,
            image,
            near,
            products,
        })
    }

    /// Asks the solver.
    fn solve(&self, problem: &DualProblem, image: Option<Image>) -> Result<(Solution, Image)> {
        let mut solver = self.solver;
        let tolerance = &mut solver.stop_mut().tolerance;
        *tolerance = self.posing.tolerance(*tolerance);
        solver.allow(self.bytes / 2 / threads::width());
        let mut rows = KernelRows::new(self.matrix);
        solver.solve_from(problem, &mut rows, image, &Quiet(self.monitor))
    }

    /// Leaves out the row of these variables.
    fn left(&self, variables: &[usize], full: &Full) -> Polled<Left> {
        let row = self.part.rows()[variables[0]];
        let reposed = match self.posing.is_plain() {
            true => None,
            false => {
                let (kernel, samples) = (self.all.kernel(), self.all.samples());
                let parts = self.posing.pose(kernel, samples, Some(row))?;
                parts.into_iter().nth(self.machine)
            }
        };
        let spread =
            (reposed.as_ref()).map(|part| spread(part.problem(), variables, self.matrix.len()));
        let problem = spread.as_ref().unwrap_or(self.problem());
        if let Some((solution, product)) = self.nearby(problem, variables, full)? {
            return Ok(Left {
                value: self.value(solution, product, reposed.as_ref(), variables),
                from_solver: false,
                converged: true,
            });
        }
        let mut problem = problem.clone();
        for &i in variables {
            (problem.lower[i], problem.upper[i]) = (0.0, 0.0);
        }
        self.ask_solver(problem, reposed.as_ref(), variables, full)
    }

    /// Solves a problem from the face of the full one, if that is possible.
    fn nearby(
        &self,
        problem: &DualProblem,
        held: &[usize],
        full: &Full,
    ) -> Polled<Option<(Solution, Product)>> {
        let Some(solved) = &full.near else {
            return Ok(None);
        };
        let start = self.start(problem, held, &full.solution.beta);
        let tolerance = self.posing.tolerance(self.solver.stop().tolerance);
        let stop = || self.monitor.stop();
        let Some(found) = near(solved, problem, held, start, tolerance, &stop)? else {
            return Ok(None);
        };
        let image = |i: usize| {
            let own = problem.linear[i] + problem.ridge[i] * found.beta[i];
            found.gradient[i] - own
        };
        let product = self.product(held[0], &found.beta, image);
        let solution = Solution {
            beta: found.beta,
            intercept: (found.intercepts[0] + found.intercepts[1]) / 2.0,
            intercepts: found.intercepts,
            report: Report {
                gap: found.gap,
                status: Status::Converged,
                ..full.solution.report
            },
            history: Vec::new(),
        };
        Ok(Some((solution, product)))
    }

    /// Returns what the value of a variable is made of, given K beta.
    fn product(&self, at: usize, beta: &[f64], image: impl Fn(usize) -> f64) -> Product {
        let squared_norm = match self.posing {
            Posing::Sphere(_) => (0..beta.len()).map(|i| beta[i] * image(i)).sum(),
            Posing::Fit(_) => 0.0,
        };
        Product {
            value: image(at),
            scale: 1.0,
            squared_norm,
            diagonal: self.matrix.diagonal()[at],
        }
    }

    /// Makes the start of a problem from the full solution: what is at a bound stays there.
    fn start(&self, problem: &DualProblem, held: &[usize], beta: &[f64]) -> Start {
        let before = self.problem();
        let (lower, upper) = (&problem.lower, &problem.upper);
        let bounded = |i: usize| lower[i] < upper[i] && before.upper[i].is_finite();
        let width = |problem: &DualProblem, i: usize| problem.upper[i] - problem.lower[i];
        let scale = match (0..beta.len()).find(|&i| bounded(i) && before.lower[i].is_finite()) {
            Some(i) => width(problem, i) / width(before, i),
            None => 1.0,
        };
        let start = |i: usize| match beta[i] {
            beta if beta == before.upper[i] => upper[i],
            beta if beta == before.lower[i] => lower[i],
            beta => (scale * beta).clamp(lower[i], upper[i]),
        };
        let mut beta: Vec<f64> = (0..beta.len()).map(start).collect();
        for &i in held {
            beta[i] = 0.0;
        }
        Start { beta, scale }
    }

    /// Solves a problem with the solver, from the full solution if that can be its start.
    fn ask_solver(
        &self,
        mut problem: DualProblem,
        reposed: Option<&Part>,
        variables: &[usize],
        full: &Full,
    ) -> Polled<Left> {
        let mut image = full.image.clone();
        let origin = Origin::of(self.problem(), full.solution.intercepts);
        let possible = seed(&mut problem, &origin, &mut image);
        let (solution, _) = self.solve(&problem, possible.then_some(image))?;
        let status = solution.report.status;
        if status == Status::Interrupted {
            return Err(Halt::Stopped);
        }
        let every: Vec<u32> = match self.posing {
            Posing::Sphere(_) => (0..self.matrix.len() as u32).collect(),
            Posing::Fit(_) => vec![variables[0] as u32],
        };
        let stop = || self.monitor.stop();
        let found = self.matrix.product(&solution.beta, &every, &stop)?;
        let product = match self.posing {
            Posing::Sphere(_) => self.product(variables[0], &solution.beta, |i| found[i]),
            Posing::Fit(_) => self.product(variables[0], &[], |_| found[0]),
        };
        Ok(Left {
            value: self.value(solution, product, reposed, variables),
            from_solver: true,
            converged: converged(status),
        })
    }

    /// Returns the value of a row that was left out.
    fn value(
        &self,
        mut solution: Solution,
        mut product: Product,
        reposed: Option<&Part>,
        variables: &[usize],
    ) -> f64 {
        if let Some(part) = reposed {
            for &i in variables.iter().rev() {
                solution.beta.remove(i);
            }
            (solution, product.scale) = finished(part, solution, self.matrix);
        }
        let tolerance = self.solver.stop().tolerance;
        self.posing.value(product, &solution, tolerance)
    }

    /// Writes the values of rows without which the machine is the same.
    fn keep_others(
        &self,
        asked: &[usize],
        variables: &[Vec<usize>],
        full: &Full,
        out: &mut LeftOut,
    ) -> Polled<()> {
        let (own, scale) = finished(self.part, full.solution.clone(), self.matrix);
        let rows = self.part.rows();
        let pairs = full.solution.beta.iter().zip(&full.products);
        let squared_norm = pairs.map(|(b, p)| b * p).sum();
        let mut beta = vec![0.0; self.all.len()];
        for (&row, value) in rows.iter().zip(&full.solution.beta) {
            beta[row] += value;
        }
        let mut others = Vec::new();
        for (at, &row) in asked.iter().enumerate() {
            match variables[row].first() {
                Some(_) if self.needs_solution(&variables[row], full) => {}
                first => others.push((at, row, first.map(|&i| full.products[i]))),
            }
        }
        let open = others.iter().filter(|(_, _, known)| known.is_none());
        let open: Vec<u32> = open.map(|&(_, row, _)| row as u32).collect();
        let stop = || self.monitor.stop();
        let mut found = self.all.product(&beta, &open, &stop)?.into_iter();
        for (at, row, known) in others {
            let value = known.or_else(|| found.next()).unwrap_or(f64::NAN);
            let product = Product {
                value,
                scale,
                squared_norm,
                diagonal: self.all.diagonal()[row],
            };
            let tolerance = self.solver.stop().tolerance;
            out.values[[at, self.machine]] = self.posing.value(product, &own, tolerance);
        }
        Ok(())
    }
}

/// Makes the machine of a solution. Returns what its coefficients were multiplied by.
fn finished(part: &Part, solution: Solution, matrix: &KernelMatrix) -> (Solution, f64) {
    let size = |i: &usize| solution.beta[*i].abs();
    let largest = (0..solution.beta.len()).max_by(|i, j| size(i).total_cmp(&size(j)));
    let before = largest.map_or(0.0, |i| solution.beta[i]);
    let after = part.finish(solution, matrix);
    let scale = match largest {
        Some(i) if before != 0.0 => after.beta[i] / before,
        _ => 1.0,
    };
    (after, scale)
}
