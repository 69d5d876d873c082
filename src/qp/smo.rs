//! Smo: sequential minimal optimisation in blocks.
//!
//! A pair at a time is bound by memory: every step wants two rows of the kernel matrix. So
//!
//! 1. choose a block of variables ([`WorkingSet`]);
//! 2. compute its small matrix and solve the sub-problem by pair steps ([`Block`]);
//! 3. fetch the rows of the coefficients that changed, those that are missing all at once;
//! 4. update the gradient of all active variables with them.
//!
//! The small matrix is computed rather than gathered from the rows: gathering reads a cache line
//! for every value, and so only the rows that are needed in step 4 are ever computed.
//!
//! Variables stuck at a bound leave the active set; before convergence is declared their gradient
//! is rebuilt and they are checked.
//!
//! Rows are in f32 as long as their rounding cannot matter, else in f64; the gradient is in f64.
//! Whatever the rows, the gap that is reported is true: before the solver returns, a sample of the
//! gradient with all its extremes is recomputed in f64 from the coefficients, and if the gap is not
//! confirmed the whole gradient is recomputed and the solver goes on from there.

use super::block::{Block, Entry};
use super::kkt::{gap, thresholds};
use super::variables::Variables;
use super::working_set::WorkingSet;
use super::{DualProblem, Monitor, Progress, Report, Status, StopRule};
use crate::error::{Error, Result};
use crate::matrix::{CachedRows, KernelMatrix, fair_share};
use crate::simd::{Isa, Real, dispatch};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Variables of the first block; it grows from block to block up to the next constant.
const FIRST_BLOCK: usize = 64;
/// Variables of the blocks of easy problems, twice as many if there are many variables.
const EASY_BLOCK: usize = 512;
/// Variables of the largest block: hard problems want few, large blocks, because each costs a pass
/// over all its rows.
const LARGEST_BLOCK: usize = 4096;
/// Variables of a block when the kernel may be indefinite. Such a problem has many local minima,
/// and which one is found depends on the path, down to the rounding of the rows. A block that holds
/// all variables, with rows first rounded as LIBSVM's, takes LIBSVM's path, so that users find what
/// they found there; the true gap is reached from its end.
const INDEFINITE_BLOCK: usize = 6000;
/// Problems of up to this many variables are solved in f64 and far beyond the tolerance, as far as
/// that takes no more steps than it took to get there. It costs next to nothing, and results on
/// toy data and in tests then agree to many digits however they were asked for.
const TINY: usize = 256;
/// The share of the tolerance to which tiny problems are polished.
const POLISH_SHARE: f64 = 1e-6;
/// Steps of polishing that are always allowed.
const POLISH_STEPS: u64 = 1000;
/// A block is solved until its gap has fallen to this share of what it was.
const INNER_SHARE: f64 = 0.1;
/// A block that takes more steps than this for each of its variables is hard: the next is larger.
const HARD_STEPS: u64 = 2;
/// Blocks between two looks for variables to shrink away.
const SHRINK_INTERVAL: u32 = 4;
/// Reordering a row of the cache costs about as much as this many updates of the gradient with it.
const REORDER_COST: f64 = 6.0;
/// Rounding noise in the gradient beyond this share of the gap asks for rows in f64.
const NOISE_SHARE: f64 = 0.25;
/// The part of the tolerance left to rounding when the gap is confirmed.
const SLACK: f64 = 1.05;
/// Positions of each kind (spread, extreme above, extreme below) whose gradient is recomputed.
const CHECKED: usize = 256;
/// Columns of the gradient a thread updates at a time.
const UPDATE_COLUMNS: usize = 4096;

/// How the second variable of a pair is chosen.
///
/// ```
/// use mercer::qp::{Selection, Smo};
/// let smo = Smo { selection: Selection::FirstOrder, ..Smo::default() };
/// assert_eq!(smo.selection, Selection::FirstOrder);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The one that promises the largest fall of the objective.
    #[default]
    SecondOrder,
    /// The most violating one.
    FirstOrder,
}

/// The solver and its settings.
///
/// ```
/// use mercer::qp::{Smo, StopRule};
/// let smo = Smo { stop: StopRule { tolerance: 1e-5, ..StopRule::default() }, ..Smo::default() };
/// assert!(smo.shrinking);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Smo {
    /// When to stop.
    pub stop: StopRule,
    /// How pairs are chosen.
    pub selection: Selection,
    /// Whether variables stuck at a bound are set aside.
    pub shrinking: bool,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
}

impl Default for Smo {
    fn default() -> Self {
        Smo {
            stop: StopRule::default(),
            selection: Selection::SecondOrder,
            shrinking: true,
            cache_bytes: None,
        }
    }
}

/// A solution of a [`DualProblem`].
///
/// ```
/// use mercer::{Kernel, Samples, formulation::hinge, matrix::KernelMatrix, qp::{Smo, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let solution = Smo::default().solve(&hinge(&[true, false], &[9.0, 9.0]), &matrix, &Unwatched)?;
/// assert_eq!((solution.beta, solution.bias), (vec![0.5, -0.5], 2.0)); // f(x) = 2 - x
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    /// The coefficients.
    pub beta: Vec<f64>,
    /// The mean of -g over the free variables; if none is free, the middle of what optimality
    /// allows.
    pub bias: f64,
    /// What the solver did.
    pub report: Report,
}

impl Smo {
    /// Solves a problem. Running out of time or steps is a [`Status`], not an error.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{DualProblem, Smo, Unwatched}};
    /// // The point of the simplex nearest to (0.9, 0.6, 0.1): K is the identity.
    /// let samples = Samples::try_from(ndarray::Array2::<f64>::eye(3).view())?;
    /// let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, vec![0, 1, 2])?;
    /// let problem = DualProblem {
    ///     linear: vec![-0.9, -0.6, -0.1],
    ///     lower: vec![0.0; 3],
    ///     upper: vec![1.0; 3],
    ///     ridge: vec![0.0; 3],
    ///     start: vec![1.0, 0.0, 0.0],
    /// };
    /// let nearest = Smo::default().solve(&problem, &matrix, &Unwatched)?.beta;
    /// for (found, expected) in nearest.iter().zip([0.65, 0.35, 0.0]) {
    ///     assert!((found - expected).abs() < 1e-3);
    /// }
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the vectors differ in length, the start is not feasible, the tolerance is not positive,
    /// the user's kernel fails or the system refuses memory.
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        self.check(problem, matrix)?;
        let control = Control::new(self, monitor);
        let mut totals = Totals::default();
        let mut beta = problem.start.clone();
        let mut gradient = problem.linear.clone();
        let mut double = matrix.may_be_indefinite() || matrix.len() <= TINY;
        let mut confirmations = 0;
        let (status, gap_now) = loop {
            let Some(exact) = exact_gradient(problem, matrix, &beta, &control)? else {
                // Stopped on the way to an exact gradient: the last one has to do.
                break (control.status(), problem_gap(problem, &beta, &gradient));
            };
            gradient = exact;
            let outcome = if double {
                self.run::<f64>(
                    problem,
                    matrix,
                    &control,
                    &mut totals,
                    &mut beta,
                    &mut gradient,
                )?
            } else {
                self.run::<f32>(
                    problem,
                    matrix,
                    &control,
                    &mut totals,
                    &mut beta,
                    &mut gradient,
                )?
            };
            match outcome {
                Outcome::Stopped(status, gap) => break (status, gap),
                Outcome::TooNoisy => double = true,
                Outcome::Converged => {
                    let check = confirm(problem, matrix, &beta, &mut gradient, &control)?;
                    let Some(confirmed) = check else {
                        break (control.status(), problem_gap(problem, &beta, &gradient));
                    };
                    confirmations += 1;
                    // f64 rows cannot do better than their own rounding.
                    if confirmed <= SLACK * self.stop.tolerance || (double && confirmations > 3) {
                        break (Status::Converged, confirmed);
                    }
                    // One refinement with f32 rows: the gradient is exact again, and only the
                    // rounding of what changes from here on enters.
                    double = double || confirmations > 1 || confirmed > 10.0 * self.stop.tolerance;
                }
            }
        };
        let objective = 0.5
            * beta
                .iter()
                .zip(gradient.iter().zip(&problem.linear))
                .map(|(beta, (gradient, linear))| beta * (gradient + linear))
                .sum::<f64>();
        Ok(Solution {
            bias: bias(problem, &beta, &gradient),
            report: Report {
                status,
                iterations: totals.iterations,
                gap: gap_now,
                objective,
                kernel_evaluations: matrix.evaluations(),
                cache_hits: totals.hits,
                cache_misses: totals.misses,
                seconds: control.started.elapsed().as_secs_f64(),
            },
            beta,
        })
    }

    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()> {
        let n = matrix.len();
        for (name, vector) in [
            ("linear", &problem.linear),
            ("lower", &problem.lower),
            ("upper", &problem.upper),
            ("ridge", &problem.ridge),
            ("start", &problem.start),
        ] {
            if vector.len() != n {
                return Err(Error::shape(
                    name,
                    format!("{n} entries"),
                    vector.len().to_string(),
                ));
            }
        }
        let feasible = problem
            .start
            .iter()
            .zip(problem.lower.iter().zip(&problem.upper))
            .all(|(&start, (&lower, &upper))| lower <= start && start <= upper);
        if !feasible {
            return Err(Error::parameter(
                "start",
                "between lower and upper",
                "another point",
            ));
        }
        if self.stop.tolerance.is_nan() || self.stop.tolerance <= 0.0 {
            return Err(Error::parameter("tol", "positive", self.stop.tolerance));
        }
        Ok(())
    }

    /// The outer loop with rows of type T, from `beta` with its `gradient`; leaves both as found.
    fn run<T: Real>(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        control: &Control,
        totals: &mut Totals,
        beta: &mut Vec<f64>,
        gradient: &mut Vec<f64>,
    ) -> Result<Outcome> {
        if matrix.noise::<T>().is_infinite() && size_of::<T>() == 4 {
            return Ok(Outcome::TooNoisy);
        }
        let bytes = self.cache_bytes.unwrap_or_else(fair_share);
        let mut rows = CachedRows::<T>::new(matrix, bytes)?;
        if matrix.may_be_indefinite() && beta == &problem.start {
            rows = rows.rounded();
        }
        let state = Variables::new(
            problem,
            matrix.diagonal(),
            std::mem::take(beta),
            std::mem::take(gradient),
        );
        let mut run = Run {
            settings: self,
            matrix,
            control,
            rows,
            state,
            working_set: WorkingSet::default(),
            single: Block::default(),
            double: Block::default(),
            iterations: totals.iterations,
            updates: 0,
        };
        let outcome = run.outer_loop();
        let (hits, misses) = run.rows.counters();
        totals.iterations = run.iterations;
        totals.hits += hits;
        totals.misses += misses;
        *beta = run.state.beta_by_variable();
        *gradient = run.state.by_variable(&run.state.gradient);
        outcome
    }
}

/// Counters over all runs of a solve.
#[derive(Default)]
struct Totals {
    iterations: u64,
    hits: u64,
    misses: u64,
}

enum Outcome {
    Converged,
    Stopped(Status, f64),
    /// Rows in f32 cannot resolve the gap any more.
    TooNoisy,
}

/// Clock and monitor.
struct Control<'a> {
    started: Instant,
    deadline: Option<Instant>,
    max_iterations: u64,
    monitor: &'a dyn Monitor,
    /// Tenths of a second for which progress was told.
    told: AtomicU64,
}

impl<'a> Control<'a> {
    fn new(settings: &Smo, monitor: &'a dyn Monitor) -> Self {
        let started = Instant::now();
        let limit = settings.stop.time_limit;
        Control {
            started,
            deadline: limit.and_then(|limit| started.checked_add(limit)),
            max_iterations: settings.stop.max_iterations.unwrap_or(u64::MAX),
            monitor,
            told: AtomicU64::new(0),
        }
    }

    fn stop(&self) -> bool {
        self.monitor.stop()
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Why [`stop`](Self::stop) was true.
    fn status(&self) -> Status {
        if self.monitor.stop() {
            Status::Interrupted
        } else {
            Status::TimeLimit
        }
    }

    fn tell(&self, iterations: u64, gap: f64, active: usize) {
        let seconds = self.started.elapsed().as_secs_f64();
        let tenth = (seconds * 10.0) as u64;
        if self.told.swap(tenth, Ordering::Relaxed) != tenth {
            self.monitor.progress(&Progress {
                iterations,
                gap,
                active,
                seconds,
            });
        }
    }
}

/// The state of the outer loop.
struct Run<'a, T> {
    settings: &'a Smo,
    matrix: &'a KernelMatrix<'a>,
    control: &'a Control<'a>,
    rows: CachedRows<'a, T>,
    state: Variables,
    working_set: WorkingSet,
    single: Block<f32>,
    double: Block<f64>,
    iterations: u64,
    /// Rows added to the gradient so far.
    updates: u64,
}

impl<T: Real> Run<'_, T> {
    fn outer_loop(&mut self) -> Result<Outcome> {
        let tolerance = self.settings.stop.tolerance;
        let control = self.control;
        let (mut size, mut largest) = (FIRST_BLOCK, LARGEST_BLOCK);
        let tiny = self.state.name.len() <= TINY;
        if self.state.name.len() <= EASY_BLOCK {
            size = EASY_BLOCK; // all of it at once
        }
        if self.matrix.may_be_indefinite() {
            (size, largest) = (INDEFINITE_BLOCK, INDEFINITE_BLOCK);
        }
        let easy = (self.state.name.len() / 16).clamp(EASY_BLOCK, 2 * EASY_BLOCK);
        let mut until_shrink = SHRINK_INTERVAL;
        // The block's own gradient may be in f32 while that resolves the tolerance.
        let mut single = size_of::<T>() == 4;
        let mut polish = tiny;
        loop {
            let (m, big_m) = self.state.thresholds();
            let gap_now = gap(m, big_m);
            control.tell(self.iterations, gap_now, self.state.active);
            if gap_now <= tolerance && polish && gap_now > 0.0 {
                polish = false;
                self.polish(m, big_m)?;
                continue;
            }
            if gap_now <= tolerance {
                if self.state.shrunk.is_empty() {
                    return Ok(Outcome::Converged);
                }
                if !self.unshrink()? {
                    return Ok(Outcome::Stopped(control.status(), gap_now));
                }
                until_shrink = SHRINK_INTERVAL;
                continue;
            }
            if control.stop() {
                return Ok(Outcome::Stopped(control.status(), gap_now));
            }
            if self.iterations >= control.max_iterations {
                return Ok(Outcome::Stopped(Status::MaxIterations, gap_now));
            }
            if size_of::<T>() == 4 && self.noise() > NOISE_SHARE * gap_now {
                // The inactive gradients are not needed: the restart computes all of them.
                return Ok(Outcome::TooNoisy);
            }
            until_shrink = until_shrink.saturating_sub(1);
            if self.settings.shrinking && until_shrink == 0 && !tiny {
                self.shrink(m, big_m);
                until_shrink = SHRINK_INTERVAL;
            }
            let scale = m.abs().max(big_m.abs()).max(1.0);
            single &= tolerance > 256.0 * f32::ROUNDOFF * scale;

            self.working_set.select(&self.state, m, big_m, size);
            let variables = std::mem::take(&mut self.working_set.variables);
            let target = (0.9 * tolerance).max(INNER_SHARE * gap_now);
            let solved = self.solve_block(&variables, single, target, control.max_iterations)?;
            self.working_set.variables = variables;
            let Some(steps) = solved else {
                return Ok(Outcome::Stopped(control.status(), gap_now));
            };
            self.iterations += steps;
            if steps == 0 && !control.stop() {
                // Rounding hides the violation from the block.
                if single {
                    single = false;
                } else {
                    return Ok(match size_of::<T>() {
                        4 => Outcome::TooNoisy,
                        _ => Outcome::Converged,
                    });
                }
            }
            // Easy problems bring in their support vectors a few steps each; when a block takes
            // many steps its variables depend on each other, and more of them should move together.
            if size < easy || steps > HARD_STEPS * size as u64 {
                size = (2 * size).min(largest);
            }
        }
    }

    /// Goes on from a tolerable solution of a tiny problem, for about as many steps as it took.
    fn polish(&mut self, m: f64, big_m: f64) -> Result<()> {
        let steps = self
            .iterations
            .max(POLISH_STEPS)
            .saturating_add(self.iterations);
        let budget = steps.min(self.control.max_iterations);
        let target = POLISH_SHARE * self.settings.stop.tolerance;
        self.working_set.select(&self.state, m, big_m, TINY);
        let variables = std::mem::take(&mut self.working_set.variables);
        if let Some(steps) = self.solve_block(&variables, false, target, budget)? {
            self.iterations += steps;
        }
        self.working_set.variables = variables;
        Ok(())
    }

    /// Solves the sub-problem of a block, then fetches the rows of the coefficients that changed,
    /// and only those, and updates the gradient with them. Returns the number of steps; None if
    /// stopped, and then nothing has changed.
    fn solve_block(
        &mut self,
        variables: &[u32],
        single: bool,
        target: f64,
        max_iterations: u64,
    ) -> Result<Option<u64>> {
        let state = &mut self.state;
        let at: Vec<u32> = variables
            .iter()
            .map(|&v| state.position(v) as u32)
            .collect();
        let entries = at.iter().map(|&at| at as usize).map(|at| Entry {
            beta: state.beta[at],
            gradient: state.gradient[at],
            lower: state.lower[at],
            upper: state.upper[at],
            ridge: state.ridge[at],
            diagonal: state.diagonal[at],
        });
        let budget = max_iterations.saturating_sub(self.iterations);
        let selection = self.settings.selection;
        let stop = || self.control.stop();
        let rows = &mut self.rows;
        let steps;
        let solved = if single {
            let fill = |out: &mut [f32], stride| rows.block(variables, out, stride, &stop);
            if !self.single.load(entries, fill)? {
                return Ok(None);
            }
            steps = self.single.solve_nested(selection, target, budget, &stop);
            self.single.beta()
        } else {
            let fill = |out: &mut [f64], stride| rows.block(variables, out, stride, &stop);
            if !self.double.load(entries, fill)? {
                return Ok(None);
            }
            steps = if self.matrix.may_be_indefinite() {
                self.double.solve(selection, target, budget, &stop)
            } else {
                self.double.solve_nested(selection, target, budget, &stop)
            };
            self.double.beta()
        };
        let changed: Vec<(u32, u32, f64)> = variables
            .iter()
            .zip(&at)
            .zip(solved)
            .map(|((&variable, &at), &beta)| (variable, at, beta))
            .filter(|&(_, at, beta)| beta != state.beta[at as usize])
            .collect();
        // A cache too small for all changed rows takes them in turns.
        let turn = self.rows.capacity();
        let before = (changed.len() > turn).then(|| state.gradient[..state.active].to_vec());
        for changed in changed.chunks(turn) {
            let names: Vec<u32> = changed.iter().map(|&(variable, ..)| variable).collect();
            if !self.rows.fetch(&names, state.active, &stop)? {
                if let Some(before) = before {
                    state.gradient[..state.active].copy_from_slice(&before);
                }
                return Ok(None);
            }
            let changes: Vec<(f64, &[T])> = changed
                .iter()
                .map(|&(variable, at, beta)| {
                    let row = &self.rows.row(variable)[..state.active];
                    (beta - state.beta[at as usize], row)
                })
                .collect();
            add_rows(&changes, &mut state.gradient[..state.active]);
        }
        for &(_, at, beta) in &changed {
            let at = at as usize;
            state.gradient[at] += (beta - state.beta[at]) * state.ridge[at];
            state.beta[at] = beta;
        }
        self.updates += changed.len() as u64;
        Ok(Some(steps))
    }

    /// Estimates the rounding error of the gradient: independent errors of the row entries.
    fn noise(&self) -> f64 {
        let squares: f64 = self.state.beta.iter().map(|beta| beta * beta).sum();
        self.matrix.noise::<T>() * squares.sqrt()
    }

    /// Sets variables aside if that pays: every update from here on is shorter, and about as many
    /// are expected as have been, but the cached rows have to be reordered.
    fn shrink(&mut self, m: f64, big_m: f64) {
        let (order, kept) = self.state.shrinking_order(m, big_m);
        let saved = self.updates as f64 * (order.len() - kept) as f64;
        let cost = REORDER_COST * self.rows.held() as f64 * order.len() as f64;
        if saved > cost {
            self.state.shrink(&order, kept);
            self.rows.reorder(&order);
        }
    }

    /// Rebuilds the gradient of what was shrunk away and makes everything active again. Returns
    /// false if stopped.
    fn unshrink(&mut self) -> Result<bool> {
        let n = self.state.name.len();
        let shrunk = std::mem::take(&mut self.state.shrunk);
        let now = self.state.beta_by_variable();
        let changed: Vec<u32> = (0..n as u32)
            .filter(|&variable| {
                let v = variable as usize;
                shrunk.iter().any(|shrunk| shrunk.beta[v] != now[v])
            })
            .collect();
        for variables in changed.chunks(EASY_BLOCK.min(self.rows.capacity())) {
            if !self.rows.fetch(variables, n, &|| self.control.stop())? {
                self.state.shrunk = shrunk;
                return Ok(false);
            }
            for part in &shrunk {
                let changes: Vec<(f64, &[T])> = variables
                    .iter()
                    .map(|&variable| {
                        let v = variable as usize;
                        let row = self.rows.row(variable);
                        (now[v] - part.beta[v], &row[part.positions.clone()])
                    })
                    .filter(|&(change, _)| change != 0.0)
                    .collect();
                add_rows(&changes, &mut self.state.gradient[part.positions.clone()]);
            }
        }
        self.state.active = n;
        Ok(true)
    }
}

/// Adds multiples of rows to the gradient, in parallel over columns.
fn add_rows<T: Real>(changes: &[(f64, &[T])], gradient: &mut [f64]) {
    let isa = Isa::detect();
    let add = |(chunk, gradient): (usize, &mut [f64])| {
        let start = chunk * UPDATE_COLUMNS;
        let mut groups = changes.chunks_exact(4);
        for four in &mut groups {
            let rows = [0, 1, 2, 3].map(|k| &four[k].1[start..start + gradient.len()]);
            let factors = [0, 1, 2, 3].map(|k| four[k].0);
            add_four(isa, factors, rows, gradient);
        }
        for &(factor, row) in groups.remainder() {
            let row = &row[start..start + gradient.len()];
            add_four(isa, [factor, 0.0, 0.0, 0.0], [row; 4], gradient);
        }
    };
    if changes.len() * gradient.len() < 1 << 16 {
        gradient
            .chunks_mut(UPDATE_COLUMNS)
            .enumerate()
            .for_each(add);
    } else {
        gradient
            .par_chunks_mut(UPDATE_COLUMNS)
            .enumerate()
            .for_each(add);
    }
}

dispatch! {
    /// Adds multiples of four rows to the gradient in one pass over it.
    fn add_four<T: Real>(factors: [f64; 4], rows: [&[T]; 4], gradient: &mut [f64]) = add_four_body
}

#[inline(always)]
fn add_four_body<T: Real, const FMA: bool>(
    factors: [f64; 4],
    rows: [&[T]; 4],
    gradient: &mut [f64],
) {
    let n = gradient.len();
    let [a, b, c, d] = rows.map(|row| &row[..n]);
    for k in 0..n {
        let first = a[k].to_f64().multiply_add::<FMA>(factors[0], gradient[k]);
        let second = b[k].to_f64().multiply_add::<FMA>(factors[1], first);
        let third = c[k].to_f64().multiply_add::<FMA>(factors[2], second);
        gradient[k] = d[k].to_f64().multiply_add::<FMA>(factors[3], third);
    }
}

/// The gradient at beta, computed in f64; None if stopped.
fn exact_gradient(
    problem: &DualProblem,
    matrix: &KernelMatrix,
    beta: &[f64],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    if beta.iter().all(|&beta| beta == 0.0) {
        return Ok(Some(problem.linear.clone()));
    }
    let all: Vec<u32> = (0..beta.len() as u32).collect();
    let product = matrix.product(beta, &all, &|| control.stop())?;
    Ok(product.map(|mut gradient| {
        for (i, gradient) in gradient.iter_mut().enumerate() {
            *gradient += problem.linear[i] + problem.ridge[i] * beta[i];
        }
        gradient
    }))
}

/// Recomputes part of the gradient in f64, puts it in its place, and returns an upper estimate of
/// the true gap; None if stopped.
///
/// Recomputed are the extremes on both sides, which decide the gap, and a sample of all variables,
/// which tells how wrong the others may be.
fn confirm(
    problem: &DualProblem,
    matrix: &KernelMatrix,
    beta: &[f64],
    gradient: &mut [f64],
    control: &Control,
) -> Result<Option<f64>> {
    let n = beta.len();
    let may_grow = |i: usize| beta[i] < problem.upper[i];
    let may_shrink = |i: usize| beta[i] > problem.lower[i];
    let mut checked: Vec<u32> = (0..n as u32).step_by(n.div_ceil(CHECKED).max(1)).collect();
    let mut extremes = |side: &dyn Fn(usize) -> bool, sign: f64| {
        let mut order: Vec<u32> = (0..n as u32).filter(|&i| side(i as usize)).collect();
        let key = |i: &u32| sign * gradient[*i as usize];
        if order.len() > CHECKED {
            order.select_nth_unstable_by(CHECKED, |a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
            order.truncate(CHECKED);
        }
        checked.extend(order);
    };
    extremes(&may_grow, 1.0);
    extremes(&may_shrink, -1.0);
    checked.sort_unstable();
    checked.dedup();
    let Some(product) = matrix.product(beta, &checked, &|| control.stop())? else {
        return Ok(None);
    };
    let mut is_checked = vec![false; n];
    let mut error = 0.0f64;
    for (&i, product) in checked.iter().zip(product) {
        let i = i as usize;
        let exact = product + problem.linear[i] + problem.ridge[i] * beta[i];
        error = error.max((exact - gradient[i]).abs());
        gradient[i] = exact;
        is_checked[i] = true;
    }
    // What was not recomputed may be half as wrong again as the worst that was.
    let doubtful = |i: usize| if is_checked[i] { 0.0 } else { 1.5 * error };
    let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
    for (i, &gradient) in gradient.iter().enumerate() {
        if may_grow(i) {
            m = m.max(-gradient + doubtful(i));
        }
        if may_shrink(i) {
            big_m = big_m.min(-gradient - doubtful(i));
        }
    }
    Ok(Some(gap(m, big_m)))
}

/// The gap of all variables.
fn problem_gap(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let (m, big_m) = thresholds(beta, gradient, &problem.lower, &problem.upper);
    gap(m, big_m)
}

/// The bias of a solution.
fn bias(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let (mut sum, mut free) = (0.0, 0usize);
    for i in 0..beta.len() {
        if problem.lower[i] < beta[i] && beta[i] < problem.upper[i] {
            sum -= gradient[i];
            free += 1;
        }
    }
    if free > 0 {
        return sum / free as f64;
    }
    let (m, big_m) = thresholds(beta, gradient, &problem.lower, &problem.upper);
    match (m.is_finite(), big_m.is_finite()) {
        (true, true) => (m + big_m) / 2.0,
        (true, false) => m,
        (false, true) => big_m,
        (false, false) => 0.0,
    }
}
