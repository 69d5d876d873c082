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
use super::kkt::{Point, Thresholds, biases};
use super::variables::Variables;
use super::working_set::WorkingSet;
use super::{Constraint, DualProblem, Monitor, Progress, Report, Status, StopRule};
use crate::error::{Error, Result};
use crate::matrix::{CachedRows, Change, KernelMatrix, KernelRows, Precision, fair_share};
use crate::simd::Real;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Variables of the first block; it grows from block to block up to the next constant.
const FIRST_BLOCK: usize = 64;
/// Variables of the blocks of easy problems: a sixteenth of all, within these limits.
const EASY_BLOCK: (usize, usize) = (128, 1024);
/// Variables up to which a problem is solved as one block.
const ONE_BLOCK: usize = 512;
/// Variables of the blocks of hard problems: they want few, large blocks, because each costs a pass
/// over all its rows.
const HARD_BLOCK: usize = 2048;
/// Variables of the largest block, for problems in which so many are free.
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
/// Rows in f64 whose rounding is below this share of the tolerance need no confirmation.
const SURE_SHARE: f64 = 1e-6;
/// The part of the tolerance left to rounding when the gap is confirmed.
const SLACK: f64 = 1.05;
/// Positions of each kind (spread, extreme above, extreme below) whose gradient is recomputed.
const CHECKED: usize = 256;
/// The same for one of many machines: a sixteenth of all positions, but at least so many.
const FEWEST_CHECKED: usize = 64;
/// A problem without bounds is taken for one without a minimum when the margin cannot be wider
/// than this share of the largest distance from the origin: see [`Run::diverges`].
const NARROWEST_MARGIN: f64 = 1e-5;
/// Steps for each variable of a block between two looks for divergence.
const STEPS_BEFORE_LOOK: u64 = 64;

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
/// use mercer::formulation::{Intercept, Loss, svc};
/// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Smo, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let problem = svc(&[true, false], &[9.0, 9.0], Loss::Linear, Intercept::Free);
/// let solution = Smo::default().solve(&problem, &matrix, &Unwatched)?;
/// assert_eq!((solution.beta, solution.bias), (vec![0.5, -0.5], 2.0)); // f(x) = 2 - x
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    /// The coefficients.
    pub beta: Vec<f64>,
    /// The mean of -g over the free variables; if none is free, the middle of what optimality
    /// allows. Of two groups, the middle of their biases.
    pub bias: f64,
    /// The biases of the two groups, if two sums are fixed; otherwise twice the bias.
    pub biases: [f64; 2],
    /// What the solver did.
    pub report: Report,
}

impl Smo {
    /// Solves a problem. Running out of time or steps is a [`Status`], not an error.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Constraint, DualProblem, Smo, Unwatched}};
    /// // The point of the simplex nearest to (0.9, 0.6, 0.1): K is the identity.
    /// let samples = Samples::try_from(ndarray::Array2::<f64>::eye(3).view())?;
    /// let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, vec![0, 1, 2])?;
    /// let problem = DualProblem {
    ///     linear: vec![-0.9, -0.6, -0.1],
    ///     absolute: vec![0.0; 3],
    ///     lower: vec![0.0; 3],
    ///     upper: vec![1.0; 3],
    ///     ridge: vec![0.0; 3],
    ///     start: vec![1.0, 0.0, 0.0],
    ///     constraint: Constraint::Sum,
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
        self.solve_on(problem, &mut KernelRows::new(matrix), monitor)
    }

    /// Solves a problem with rows that have served others before; the budget of memory is that of
    /// the first.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::matrix::{KernelMatrix, KernelRows};
    /// # use mercer::{Kernel, Samples, qp::{Smo, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let mut rows = KernelRows::new(&matrix);
    /// let problem = |c: f64| svc(&[true, false], &[c, c], Loss::Linear, Intercept::Free);
    /// assert_eq!(Smo::default().solve_on(&problem(0.1), &mut rows, &Unwatched)?.beta, [0.1, -0.1]);
    /// assert_eq!(Smo::default().solve_on(&problem(9.0), &mut rows, &Unwatched)?.beta, [0.5, -0.5]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_on(
        &self,
        problem: &DualProblem,
        rows: &mut KernelRows,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        let matrix = rows.matrix();
        self.check(problem, matrix)?;
        let control = Control::new(self, monitor);
        let mut totals = Totals::default();
        let mut beta = problem.start.clone();
        // The part of the gradient that needs no kernel.
        let terms = problem.linear.iter().zip(&problem.ridge).zip(&beta);
        let mut gradient: Vec<f64> = terms.map(|((p, ridge), beta)| p + ridge * beta).collect();
        // Without bounds a curvature that rounding makes zero would throw a step anywhere.
        let mut double =
            matrix.may_be_indefinite() || matrix.len() <= TINY || problem.may_diverge();
        let mut confirmations = 0;
        // Rows in f32 compute the gradient of the start as they go; later ones begin with it exact.
        let mut known = double;
        let (status, gap_now) = loop {
            if known {
                let Some(exact) = exact_gradient(problem, matrix, &beta, &control)? else {
                    // Stopped on the way to an exact gradient: the last one has to do.
                    let gap = Thresholds::of(problem, &beta, &gradient).gap();
                    break (control.status(), gap);
                };
                gradient = exact;
            }
            let outcome = if double {
                rows.forget_single();
                self.run::<f64>(
                    problem,
                    rows,
                    &control,
                    known,
                    &mut totals,
                    &mut beta,
                    &mut gradient,
                )?
            } else {
                self.run::<f32>(
                    problem,
                    rows,
                    &control,
                    known,
                    &mut totals,
                    &mut beta,
                    &mut gradient,
                )?
            };
            known = true;
            match outcome {
                Outcome::Stopped(status, gap) => break (status, gap),
                Outcome::TooNoisy => double = true,
                Outcome::Converged(confirmed) => {
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
        let biases = biases(problem, &beta, &gradient);
        Ok(Solution {
            bias: (biases[0] + biases[1]) / 2.0,
            biases,
            report: Report {
                status,
                iterations: totals.iterations,
                gap: gap_now,
                objective: objective(problem, &beta, &gradient),
                kernel_evaluations: rows.evaluations(),
                cache_hits: totals.hits,
                cache_misses: totals.misses,
                seconds: control.started.elapsed().as_secs_f64(),
            },
            beta,
        })
    }

    /// Returns the settings with what is left of the time since `started`: several machines share
    /// one budget.
    pub(crate) fn since(mut self, started: Instant) -> Self {
        let limit = &mut self.stop.time_limit;
        *limit = limit.map(|limit| limit.saturating_sub(started.elapsed()));
        self
    }

    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()> {
        let n = matrix.len();
        for (name, vector) in [
            ("linear", &problem.linear),
            ("absolute", &problem.absolute),
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
        if let Constraint::TwoSums(second) = &problem.constraint
            && second.len() != n
        {
            let (expected, got) = (format!("{n} entries"), second.len().to_string());
            return Err(Error::shape("constraint", expected, got));
        }
        if let Some(factor) = problem.absolute.iter().find(|f| f.is_nan() || **f < 0.0) {
            return Err(Error::parameter("absolute", "not negative", factor));
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

    /// The outer loop with rows of type T, from `beta` with its `gradient`, of which the part of the
    /// kernel is missing unless it is `known`; leaves both as found.
    #[allow(clippy::too_many_arguments)] // the state of a solve
    fn run<T: Precision>(
        &self,
        problem: &DualProblem,
        kernel_rows: &mut KernelRows,
        control: &Control,
        known: bool,
        totals: &mut Totals,
        beta: &mut Vec<f64>,
        gradient: &mut Vec<f64>,
    ) -> Result<Outcome> {
        let matrix = kernel_rows.matrix();
        if matrix.noise::<T>().is_infinite() && size_of::<T>() == 4 {
            return Ok(Outcome::TooNoisy);
        }
        let bytes = self.cache_bytes.unwrap_or_else(fair_share);
        let mut rows = kernel_rows.take::<T>(bytes)?;
        let before = rows.counters();
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
            problem,
            matrix,
            control,
            rows,
            state,
            working_set: WorkingSet::default(),
            single: Block::default(),
            double: Block::default(),
            tolerance: self.stop.tolerance,
            iterations: totals.iterations,
            updates: 0,
        };
        let outcome = if known || run.add_start()? {
            run.confirmed_loop()
        } else {
            let gap = run.state.thresholds().gap();
            Ok(Outcome::Stopped(control.status(), gap))
        };
        let (hits, misses) = run.rows.counters();
        totals.iterations = run.iterations;
        totals.hits += hits - before.0;
        totals.misses += misses - before.1;
        *beta = run.state.beta_by_variable();
        *gradient = run.state.by_variable(&run.state.gradient);
        kernel_rows.give(run.rows);
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
    /// With an upper estimate of the true gap.
    Converged(f64),
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
struct Run<'a, 'm, T> {
    settings: &'a Smo,
    problem: &'a DualProblem,
    matrix: &'m KernelMatrix<'m>,
    control: &'a Control<'a>,
    rows: CachedRows<'m, T>,
    state: Variables,
    working_set: WorkingSet,
    single: Block<f32>,
    double: Block<f64>,
    /// The gap to reach.
    tolerance: f64,
    iterations: u64,
    /// Rows added to the gradient so far.
    updates: u64,
}

impl<T: Precision> Run<'_, '_, T> {
    /// Runs the outer loop and confirms the gap. Where the rounding of the rows alone lifts it over
    /// the tolerance, it goes on until there is room for that: the rows are there, and computing
    /// the whole gradient again costs more.
    fn confirmed_loop(&mut self) -> Result<Outcome> {
        loop {
            let outcome = self.outer_loop()?;
            if !matches!(outcome, Outcome::Converged(_)) {
                return Ok(outcome);
            }
            let found = self.state.thresholds().gap();
            if self.rows.is_double() && self.noise() < SURE_SHARE * self.settings.stop.tolerance {
                return Ok(match self.control.stop() {
                    true => Outcome::Stopped(self.control.status(), found),
                    false => Outcome::Converged(found),
                });
            }
            let (beta, mut gradient) = (
                self.state.beta_by_variable(),
                self.state.by_variable(&self.state.gradient),
            );
            let check = confirm(
                self.problem,
                self.matrix,
                &beta,
                &mut gradient,
                self.control,
            )?;
            for (variable, &gradient) in gradient.iter().enumerate() {
                let at = self.state.position(variable as u32);
                self.state.gradient[at] = gradient;
            }
            let Some(confirmed) = check else {
                return Ok(Outcome::Stopped(self.control.status(), found));
            };
            let tolerance = self.settings.stop.tolerance;
            let rounding = confirmed - found;
            let first = self.tolerance == tolerance;
            if confirmed > SLACK * tolerance && rounding < 0.3 * tolerance && first {
                self.tolerance -= 2.0 * rounding;
                continue;
            }
            return Ok(Outcome::Converged(confirmed));
        }
    }

    fn outer_loop(&mut self) -> Result<Outcome> {
        let tolerance = self.tolerance;
        let control = self.control;
        let (mut size, mut largest) = (FIRST_BLOCK, LARGEST_BLOCK);
        let tiny = self.state.name.len() <= TINY;
        if self.state.name.len() <= ONE_BLOCK {
            size = ONE_BLOCK;
        }
        if self.matrix.may_be_indefinite() {
            (size, largest) = (INDEFINITE_BLOCK, INDEFINITE_BLOCK);
        }
        let easy = (self.state.name.len() / 16).clamp(EASY_BLOCK.0, EASY_BLOCK.1);
        let mut until_shrink = SHRINK_INTERVAL;
        // The block's own gradient may be in f32 while that resolves the tolerance.
        let mut single = size_of::<T>() == 4;
        let mut polish = tiny;
        let may_diverge = self.problem.may_diverge();
        loop {
            let thresholds = self.state.thresholds();
            let gap_now = thresholds.gap();
            control.tell(self.iterations, gap_now, self.state.active);
            if gap_now <= tolerance && polish && gap_now > 0.0 {
                polish = false;
                self.polish(&thresholds)?;
                continue;
            }
            if gap_now <= tolerance {
                if self.state.shrunk.is_empty() {
                    return Ok(Outcome::Converged(gap_now));
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
            if may_diverge && self.diverges() {
                return Ok(Outcome::Stopped(Status::Diverged, gap_now));
            }
            if size_of::<T>() == 4 && self.noise() > NOISE_SHARE * gap_now {
                // The inactive gradients are not needed: the restart computes all of them.
                return Ok(Outcome::TooNoisy);
            }
            until_shrink = until_shrink.saturating_sub(1);
            if self.settings.shrinking && until_shrink == 0 && !tiny {
                self.shrink(&thresholds);
                until_shrink = SHRINK_INTERVAL;
            }
            let scale = thresholds.size().max(1.0);
            single &= tolerance > 256.0 * f32::ROUNDOFF * scale;

            self.working_set.select(&self.state, &thresholds, size);
            let variables = std::mem::take(&mut self.working_set.variables);
            let target = (0.9 * tolerance).max(INNER_SHARE * gap_now);
            let budget = match may_diverge {
                true => self.iterations + STEPS_BEFORE_LOOK * variables.len().max(64) as u64,
                false => u64::MAX,
            };
            let budget = budget.min(control.max_iterations);
            let solved = self.solve_block(&variables, single, target, budget)?;
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
                        _ => Outcome::Converged(gap_now),
                    });
                }
            }
            // Easy problems bring in their support vectors a few steps each; when a block takes
            // many steps its variables depend on each other, and more of them should move together.
            if size < easy || steps > HARD_STEPS * size as u64 {
                let free = self.working_set.variables.iter();
                let free = free.filter(|&&v| self.state.is_free(v)).count();
                let enough = if 3 * free > 2 * size {
                    largest
                } else {
                    HARD_BLOCK
                };
                size = (2 * size).min(enough).max(size);
            }
        }
    }

    /// Goes on from a tolerable solution of a tiny problem, for about as many steps as it took.
    fn polish(&mut self, thresholds: &Thresholds) -> Result<()> {
        let steps = self
            .iterations
            .max(POLISH_STEPS)
            .saturating_add(self.iterations);
        let budget = steps.min(self.control.max_iterations);
        let target = POLISH_SHARE * self.settings.stop.tolerance;
        self.working_set.select(&self.state, thresholds, TINY);
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
        // The variables of the first group come first.
        let mut variables = variables.to_vec();
        variables.sort_by_key(|&variable| state.group(state.position(variable)));
        let variables = variables.as_slice();
        let at: Vec<u32> = variables
            .iter()
            .map(|&v| state.position(v) as u32)
            .collect();
        let first = at.partition_point(|&at| state.group(at as usize) == 0);
        let slack = state
            .slack
            .map(|curvature| Entry::slack(curvature, state.sum()));
        let entries = at.iter().map(|&at| at as usize).map(|at| Entry {
            point: state.point(at),
            diagonal: state.diagonal[at] + state.ridge[at],
        });
        let budget = max_iterations.saturating_sub(self.iterations);
        let selection = self.settings.selection;
        let stop = || self.control.stop();
        let rows = &mut self.rows;
        let steps;
        let solved: Vec<f64> = if single {
            let fill = |out: &mut [f32], stride| rows.block(variables, out, stride, &stop);
            if !self.single.load(entries, first, slack, fill)? {
                return Ok(None);
            }
            steps = self.single.solve_nested(selection, target, budget, &stop);
            self.single.beta().collect()
        } else {
            let fill = |out: &mut [f64], stride| rows.block(variables, out, stride, &stop);
            if !self.double.load(entries, first, slack, fill)? {
                return Ok(None);
            }
            steps = if self.matrix.may_be_indefinite() {
                // Pair steps only, as LIBSVM takes them.
                self.double.solve(selection, false, target, budget, &stop)
            } else {
                self.double.solve_nested(selection, target, budget, &stop)
            };
            self.double.beta().collect()
        };
        let changed: Vec<(u32, u32, f64)> = variables
            .iter()
            .zip(&at)
            .zip(solved)
            .map(|((&variable, &at), beta)| (variable, at, beta))
            .filter(|&(_, at, beta)| beta != state.beta[at as usize])
            .collect();
        let changes: Vec<Change> = changed
            .iter()
            .map(|&(variable, at, beta)| {
                let point = Point {
                    beta,
                    ..state.point(at as usize)
                };
                Change {
                    variable,
                    factor: beta - state.beta[at as usize],
                    // What came to rest at a bound tends to stay there.
                    keep: point.is_free(),
                }
            })
            .collect();
        let active = &mut state.gradient[..state.active];
        let before = active.to_vec();
        if !self.rows.add_to(&changes, 0, active, &stop)? {
            active.copy_from_slice(&before);
            return Ok(None);
        }
        for &(_, at, beta) in &changed {
            let at = at as usize;
            state.gradient[at] += (beta - state.beta[at]) * state.ridge[at];
            state.beta[at] = beta;
        }
        self.updates += changed.len() as u64;
        Ok(Some(steps))
    }

    /// Adds the rows of the starting coefficients to the gradient. Returns false if stopped.
    fn add_start(&mut self) -> Result<bool> {
        // No position has been moved yet: variable and position are the same.
        let changes: Vec<Change> = (0..self.state.name.len() as u32)
            .map(|variable| Change {
                variable,
                factor: self.state.beta[variable as usize],
                keep: false,
            })
            .filter(|change| change.factor != 0.0)
            .collect();
        let stop = || self.control.stop();
        self.rows
            .add_to(&changes, 0, &mut self.state.gradient, &stop)
    }

    /// Tells whether the objective seems to have no minimum.
    ///
    /// With A the fall of the linear terms and Q = beta' K beta, the objective on the ray through
    /// beta has the minimum -A^2 / (2 Q). For a hard margin the minimum of the whole problem is
    /// -1/2 |w|^2, so A^2 / Q is a lower bound of |w|^2 and sqrt(Q) / A one above the margin.
    fn diverges(&self) -> bool {
        let state = &self.state;
        let (mut fall, mut square) = (0.0, 0.0);
        for at in 0..state.active {
            let (beta, linear) = (state.beta[at], self.problem.linear[state.name[at] as usize]);
            fall -= beta * linear + beta.abs() * state.absolute[at];
            square += beta * (state.gradient[at] - linear);
        }
        let largest = state.diagonal.iter().fold(0.0f64, |a, &b| a.max(b));
        fall > 0.0 && square <= (NARROWEST_MARGIN * fall).powi(2) * largest
    }

    /// Estimates the rounding error of the gradient: independent errors of the row entries.
    fn noise(&self) -> f64 {
        let squares: f64 = self.state.beta.iter().map(|beta| beta * beta).sum();
        self.matrix.noise::<T>() * squares.sqrt()
    }

    /// Sets variables aside if that pays: every update from here on is shorter, and about as many
    /// are expected as have been, but the cached rows have to be reordered.
    fn shrink(&mut self, thresholds: &Thresholds) {
        let (order, kept) = self.state.shrinking_order(thresholds);
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
        let shrunk = std::mem::take(&mut self.state.shrunk);
        let now = self.state.beta_by_variable();
        let stop = || self.control.stop();
        for part in &shrunk {
            let changes: Vec<Change> = (0..)
                .zip(now.iter().zip(&part.beta))
                .filter(|(_, (now, then))| now != then)
                .map(|(variable, (now, then))| Change {
                    variable,
                    factor: now - then,
                    keep: false,
                })
                .collect();
            let positions = part.positions.clone();
            let gradient = &mut self.state.gradient[positions.clone()];
            let before = gradient.to_vec();
            if !self
                .rows
                .add_to(&changes, positions.start, gradient, &stop)?
            {
                gradient.copy_from_slice(&before);
                self.state.shrunk = shrunk;
                return Ok(false);
            }
        }
        self.state.active = self.state.name.len();
        Ok(true)
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
    let point = |i: usize, gradient: &[f64]| problem.point(i, beta[i], gradient[i]);
    let count = match matrix.is_of_pair() {
        true => (n / 16).clamp(FEWEST_CHECKED, CHECKED),
        false => CHECKED,
    };
    let mut checked: Vec<u32> = (0..n as u32).step_by(n.div_ceil(count).max(1)).collect();
    let mut extremes = |group: usize, score: &dyn Fn(usize) -> Option<f64>| {
        let mut order: Vec<(f64, u32)> = (0..n)
            .filter(|&i| problem.constraint.group(i) == group)
            .filter_map(|i| Some((score(i)?, i as u32)))
            .collect();
        if order.len() > count {
            order.select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            order.truncate(count);
        }
        checked.extend(order.iter().map(|&(_, i)| i));
    };
    for group in 0..2 {
        let point = |i: usize| point(i, gradient);
        extremes(group, &|i| point(i).may_grow().then(|| point(i).up()));
        extremes(group, &|i| point(i).may_shrink().then(|| -point(i).down()));
    }
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
    let mut thresholds = Thresholds::of(problem, beta, gradient);
    for i in 0..n {
        for sign in [1.0, -1.0] {
            let mut point = point(i, gradient);
            point.gradient += sign * doubtful(i);
            thresholds.include(problem.constraint.group(i), point);
        }
    }
    Ok(Some(thresholds.gap()))
}

/// The objective at beta, whose smooth part has this gradient.
fn objective(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let terms = beta.iter().enumerate().map(|(i, beta)| {
        0.5 * beta * (gradient[i] + problem.linear[i]) + problem.absolute[i] * beta.abs()
    });
    let sum: f64 = beta.iter().sum();
    let slack = problem.constraint.slack().unwrap_or(0.0);
    terms.sum::<f64>() + 0.5 * slack * sum * sum
}
