//! Chunking: a working set that grows.
//!
//! A subset of the variables is optimised to the end, the others being zero. Then the gradients of all
//! are computed, and the next subset is what is not zero and so many of the others whose conditions are
//! violated most; until none is violated. With few support vectors that takes few rounds of small
//! problems. With many the last subset is almost everything, and every round before was in vain, which
//! is why decomposition took its place: [`Smo`] keeps its blocks small. It is here to be compared.
//!
//! Vapnik: Estimation of dependences based on empirical data (1982).
//! Campbell: An introduction to kernel methods, section 3.1.

use super::confirm::{bounded_gap, estimated_noise, exact_gradient};
use super::control::{Control, Monitor, StopRule};
use super::coordinates::Coordinates;
use super::duality::Point;
use super::kkt::intercepts;
use super::phases::Phases;
use super::problem::{Constraint, DualProblem};
use super::report::{Algorithm, Report, Solution, Status};
use super::settings::solver_methods;
use super::smo::Smo;
use super::task::{DEVIATIONS, Task};
use crate::error::{Error, Result, unless_stopped};
use crate::matrix::KernelMatrix;

/// The share of the tolerance to which chunks are solved: the gradients of all are computed anew.
const CHUNK_SHARE: f64 = 0.5;
/// Rounds without a variable to add, in which rounding alone keeps the gap above the tolerance.
const ATTEMPTS: u32 = 3;

/// Chunking and its settings.
///
/// ```
/// use mercer::{Kernel, Svc, qp::Chunking};
/// let x = ndarray::array![[-2.0], [-1.0], [1.0], [2.0]];
/// let svc = Svc::new(Kernel::linear()).c(10.0).solver(Chunking::new().growth(1));
/// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.machines().support, [1, 2]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Chunking {
    /// When to stop; iterations are the pair steps within all chunks.
    pub stop: StopRule,
    /// Variables that are added in every round, a pair at least; the first chunk has as many.
    pub growth: usize,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
    /// What solves the chunks.
    pub(super) smo: Smo,
}

impl Default for Chunking {
    fn default() -> Self {
        Chunking {
            stop: StopRule::default(),
            growth: 500,
            cache_bytes: None,
            smo: Smo::default(),
        }
    }
}

solver_methods!(Chunking, "pair steps");

impl Chunking {
    /// Sets how many variables are added in every round.
    ///
    /// ```
    /// assert_eq!(mercer::qp::Chunking::new().growth(7).growth, 7);
    /// ```
    pub fn growth(mut self, variables: usize) -> Self {
        self.growth = variables;
        self
    }

    /// Solves a problem.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Chunking, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[false, true], &[9.0, 9.0], Loss::Linear, Intercept::Free);
    /// let solution = Chunking::new().solve(&problem, &matrix, &Unwatched)?;
    /// assert_eq!(solution.beta, [-0.5, 0.5]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no variable is to be added, two sums are fixed, zero is not feasible, or as
    /// [`Smo::solve`](super::Smo::solve).
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        self.check(problem)?;
        problem.check(matrix.len())?;
        self.stop.check()?;
        let control = Control::new(&self.stop, monitor);
        let mut rounds = Rounds {
            task: Task::new(problem, matrix, &control, &[]),
            settings: self,
            monitor,
            at: Coordinates::of(problem, problem.start.clone(), problem.linear.clone()),
            iterations: 0,
            evaluations: 0,
        };
        let status = rounds.run()?;
        Ok(rounds.solution(status))
    }

    pub(super) fn check(&self, problem: &DualProblem) -> Result<()> {
        if self.growth == 0 {
            return Err(Error::parameter("growth", "positive", self.growth));
        }
        if matches!(problem.constraint, Constraint::TwoSums(_)) {
            let allowed = "'smo' where two sums are fixed";
            return Err(Error::parameter("solver", allowed, "chunking"));
        }
        Ok(())
    }
}

/// The rounds, and where they are.
struct Rounds<'a, 'm> {
    task: Task<'a, 'm>,
    settings: &'a Chunking,
    monitor: &'a dyn Monitor,
    at: Coordinates,
    iterations: u64,
    evaluations: u64,
}

impl Rounds<'_, '_> {
    /// Goes from chunk to chunk.
    fn run(&mut self) -> Result<Status> {
        let (control, tolerance) = (self.task.control, self.settings.stop.tolerance);
        let (mut attempts, mut last) = (0, Vec::new());
        loop {
            if self.refresh()?.is_none() {
                return Ok(control.status());
            }
            if self.gap() <= tolerance {
                return Ok(Status::Converged);
            }
            if self.iterations >= control.max_iterations {
                return Ok(Status::MaxIterations);
            }
            let chunk = self.chunk();
            attempts = if chunk == last { attempts + 1 } else { 0 };
            if attempts >= ATTEMPTS {
                return Ok(Status::Precision);
            }
            let solution = self.solve(&chunk, CHUNK_SHARE * 0.25f64.powi(attempts as i32))?;
            self.iterations += solution.report.iterations;
            self.evaluations += solution.report.kernel_evaluations;
            for (&i, beta) in chunk.iter().zip(&solution.beta) {
                self.at.beta[i] = *beta;
            }
            last = chunk;
            let status = solution.report.status;
            if !matches!(status, Status::Converged | Status::Precision) {
                self.refresh()?;
                return Ok(status);
            }
        }
    }

    /// Computes the gradients of all; None if that was stopped.
    fn refresh(&mut self) -> Result<Option<()>> {
        let all: Vec<u32> = (0..self.at.len() as u32).collect();
        let stop = || self.task.control.stop();
        let gradient = unless_stopped(exact_gradient(self.task, &self.at.beta, &all, &stop))?;
        let known = gradient.is_some();
        self.at.gradient = gradient.unwrap_or_else(|| vec![f64::NAN; self.at.len()]);
        Ok(known.then_some(()))
    }

    /// Returns a bound of the gap.
    fn gap(&self) -> f64 {
        let noise = DEVIATIONS * estimated_noise::<f64>(self.task.matrix, &self.at.beta);
        bounded_gap(self.task.problem, &self.at, &vec![noise; self.at.len()])
    }

    /// Returns the next chunk: the variables that are not zero, and those of the others that should grow
    /// or shrink most. Half of them each, and one at least: what one gains another has to give.
    fn chunk(&self) -> Vec<usize> {
        let grows = |i: usize| match self.at.point(i).may_grow() {
            true => self.at.point(i).up(),
            false => f64::NEG_INFINITY,
        };
        let shrinks = |i: usize| match self.at.point(i).may_shrink() {
            true => -self.at.point(i).down(),
            false => f64::NEG_INFINITY,
        };
        let is_used = |i: usize| self.at.beta[i] != 0.0;
        let (mut chunk, mut others): (Vec<usize>, Vec<usize>) =
            (0..self.at.len()).partition(|&i| is_used(i));
        let half = self.settings.growth.div_ceil(2);
        let sides: [&dyn Fn(usize) -> f64; 2] = [&grows, &shrinks];
        for gain in sides {
            others.sort_by(|&i, &j| gain(j).total_cmp(&gain(i)));
            chunk.extend(others.drain(..half.min(others.len())));
        }
        chunk.sort_unstable();
        chunk
    }

    /// Solves the problem of a chunk to a share of the tolerance, from where it is.
    fn solve(&self, chunk: &[usize], share: f64) -> Result<Solution> {
        let Task {
            problem,
            matrix,
            control,
            ..
        } = self.task;
        let take = |values: &[f64]| -> Vec<f64> { chunk.iter().map(|&i| values[i]).collect() };
        let part = DualProblem {
            linear: take(&problem.linear),
            absolute: take(&problem.absolute),
            lower: take(&problem.lower),
            upper: take(&problem.upper),
            ridge: take(&problem.ridge),
            start: take(&self.at.beta),
            constraint: problem.constraint.clone(),
        };
        let stop = &self.settings.stop;
        let elapsed = control.started.elapsed();
        let smo = Smo {
            stop: StopRule {
                tolerance: share * stop.tolerance,
                max_iterations: stop
                    .max_iterations
                    .map(|most| most - self.iterations.min(most)),
                time_limit: stop.time_limit.map(|limit| limit.saturating_sub(elapsed)),
            },
            cache_bytes: self.settings.cache_bytes,
            ..self.settings.smo
        };
        smo.solve(&part, &matrix.part(chunk), self.monitor)
    }

    fn solution(self, status: Status) -> Solution {
        let (problem, matrix) = (self.task.problem, self.task.matrix);
        let intercepts = intercepts(&self.at.landed(), &problem.constraint);
        let point = Point {
            problem,
            beta: &self.at.beta,
            gradient: &self.at.gradient,
            intercepts,
        };
        let objective = problem.objective(&self.at.beta, &self.at.gradient);
        let known = self.at.gradient.iter().all(|gradient| gradient.is_finite());
        let duality_gap = if known {
            point.duality_gap()
        } else {
            f64::INFINITY
        };
        let report = Report {
            status,
            method: Algorithm::Chunking,
            iterations: self.iterations,
            gap: if known { self.gap() } else { f64::INFINITY },
            objective,
            primal_objective: duality_gap - objective,
            duality_gap,
            squared_norm: point.squared_norm().max(0.0),
            kernel_evaluations: self.evaluations + matrix.evaluations(),
            cache_hits: 0,
            cache_misses: 0,
            cache_bypasses: 0,
            seconds: self.task.control.started.elapsed().as_secs_f64(),
            phases: Phases::default(),
        };
        Solution {
            intercept: intercepts[0],
            intercepts,
            report,
            beta: self.at.beta,
            history: Vec::new(),
        }
    }
}
