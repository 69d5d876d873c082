//! Smo: sequential minimal optimisation in blocks.
//!
//! A pair at a time is bound by memory: every step wants two rows of the kernel matrix. So
//!
//! 1. choose a block of variables ([`WorkingSet`]);
//! 2. fetch their rows, those that are missing all at once;
//! 3. solve the sub-problem of the block by pair steps ([`Block`]);
//! 4. update the gradient of all active variables with the changed rows.
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

/// Variables of the first block; easy problems want no more.
const FIRST_BLOCK: usize = 512;
/// Variables of the largest block: hard problems want few, large blocks, because each costs a pass
/// over all its rows.
const LARGEST_BLOCK: usize = 4096;
/// A block is solved until its gap has fallen to this share of what it was.
const INNER_SHARE: f64 = 0.1;
/// The block grows when this many blocks in a row did not halve the gap.
const SLOW_BLOCKS: u32 = 3;
/// Blocks between two looks for variables to shrink away.
const SHRINK_INTERVAL: u32 = 4;
/// Shrinking must take away this share of the active variables to be worth reordering the cache.
const SHRINK_SHARE: f64 = 0.2;
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
/// See [`DualProblem`] for an example.
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
        let mut gradient;
        let mut double = false;
        let mut confirmations = 0;
        let (status, gap_now) = loop {
            let Some(exact) = exact_gradient(problem, matrix, &beta, &control)? else {
                // Stopped before there was a gradient to go on with: only after a restart.
                gradient = problem.linear.clone();
                break (control.status(), f64::INFINITY);
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
                        break (control.status(), self.stop.tolerance);
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
                kernel_evaluations: totals.evaluations,
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
        let rows = CachedRows::<T>::new(matrix, bytes)?;
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
        };
        let outcome = run.outer_loop();
        let (evaluations, hits, misses) = run.rows.counters();
        totals.iterations = run.iterations;
        totals.evaluations += evaluations;
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
    evaluations: u64,
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
}

impl<T: Real> Run<'_, T> {
    fn outer_loop(&mut self) -> Result<Outcome> {
        let tolerance = self.settings.stop.tolerance;
        let control = self.control;
        let largest = LARGEST_BLOCK.min((self.rows.capacity() / 2).max(2));
        let mut size = FIRST_BLOCK.min(largest);
        let (mut slow, mut reference) = (0, f64::INFINITY);
        let mut until_shrink = SHRINK_INTERVAL;
        // The block's own gradient may be in f32 while that resolves the tolerance.
        let mut single = size_of::<T>() == 4;
        loop {
            let (m, big_m) = self.state.thresholds();
            let gap_now = gap(m, big_m);
            control.tell(self.iterations, gap_now, self.state.active);
            if gap_now <= tolerance {
                if self.state.shrunk.is_empty() {
                    return Ok(Outcome::Converged);
                }
                if !self.unshrink()? {
                    return Ok(Outcome::Stopped(control.status(), gap_now));
                }
                until_shrink = SHRINK_INTERVAL;
                reference = f64::INFINITY;
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
            until_shrink -= 1;
            if self.settings.shrinking && until_shrink == 0 {
                self.shrink(m, big_m);
                until_shrink = SHRINK_INTERVAL;
            }
            let scale = m.abs().max(big_m.abs()).max(1.0);
            single &= tolerance > 256.0 * f32::ROUNDOFF * scale;

            self.working_set.select(&self.state, m, big_m, size);
            let variables = std::mem::take(&mut self.working_set.variables);
            if !self
                .rows
                .fetch(&variables, self.state.active, &|| control.stop())?
            {
                return Ok(Outcome::Stopped(control.status(), gap_now));
            }
            let target = (0.9 * tolerance).max(INNER_SHARE * gap_now);
            let steps = self.solve_block(&variables, single, target);
            self.iterations += steps;
            self.working_set.variables = variables;
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
            if gap_now < 0.5 * reference {
                (slow, reference) = (0, gap_now);
            } else {
                slow += 1;
                if slow >= SLOW_BLOCKS && size < largest {
                    size = (2 * size).min(largest);
                    (slow, reference) = (0, gap_now);
                }
            }
        }
    }

    /// Solves the sub-problem of a block, writes the coefficients back and updates the gradient.
    fn solve_block(&mut self, variables: &[u32], single: bool, target: f64) -> u64 {
        let state = &mut self.state;
        let at: Vec<u32> = variables
            .iter()
            .map(|&v| state.position(v) as u32)
            .collect();
        let entries: Vec<Entry> = at
            .iter()
            .map(|&at| at as usize)
            .map(|at| Entry {
                beta: state.beta[at],
                gradient: state.gradient[at],
                lower: state.lower[at],
                upper: state.upper[at],
                ridge: state.ridge[at],
                diagonal: state.diagonal[at],
            })
            .collect();
        let rows: Vec<&[T]> = variables
            .iter()
            .map(|&variable| self.rows.row(variable).unwrap_or(&[]))
            .collect();
        let budget = self.control.max_iterations - self.iterations;
        let selection = self.settings.selection;
        let stop = || self.control.stop();
        let (steps, solved) = if single {
            self.single.load(&entries, &rows, &at);
            (
                self.single.solve(selection, target, budget, &stop),
                self.single.beta(),
            )
        } else {
            self.double.load(&entries, &rows, &at);
            (
                self.double.solve(selection, target, budget, &stop),
                self.double.beta(),
            )
        };
        let active = state.active;
        let mut changes: Vec<(f64, &[T])> = Vec::with_capacity(at.len());
        for ((&at, &beta), row) in at.iter().zip(solved).zip(rows) {
            let at = at as usize;
            let change = beta - state.beta[at];
            if change != 0.0 {
                state.beta[at] = beta;
                state.gradient[at] += change * state.ridge[at];
                changes.push((change, &row[..active]));
            }
        }
        add_rows(&changes, &mut state.gradient[..active]);
        steps
    }

    /// Estimates the rounding error of the gradient: independent errors of the row entries.
    fn noise(&self) -> f64 {
        let squares: f64 = self.state.beta.iter().map(|beta| beta * beta).sum();
        self.matrix.noise::<T>() * squares.sqrt()
    }

    fn shrink(&mut self, m: f64, big_m: f64) {
        let (order, kept) = self.state.shrinking_order(m, big_m);
        if (kept as f64) < (1.0 - SHRINK_SHARE) * order.len() as f64 {
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
        for variables in changed.chunks(FIRST_BLOCK.min((self.rows.capacity() / 2).max(1))) {
            if !self.rows.fetch(variables, n, &|| self.control.stop())? {
                self.state.shrunk = shrunk;
                return Ok(false);
            }
            for part in &shrunk {
                let changes: Vec<(f64, &[T])> = variables
                    .iter()
                    .map(|&variable| {
                        let v = variable as usize;
                        let row = self.rows.row(variable).unwrap_or(&[]);
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
    for i in 0..n {
        if may_grow(i) {
            m = m.max(-gradient[i] + doubtful(i));
        }
        if may_shrink(i) {
            big_m = big_m.min(-gradient[i] - doubtful(i));
        }
    }
    Ok(Some(gap(m, big_m)))
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
