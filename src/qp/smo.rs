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
//! for every value, and so only the rows that are needed in step 4 are ever computed. Small problems
//! whose rows serve other problems too gather it.
//!
//! Variables stuck at a bound leave the active set; before convergence is declared their gradient
//! is rebuilt and they are checked.

use super::block::{Block, Entry};
use super::kkt::{Point, Thresholds};
use super::solve::{
    CHECKED, Method, NOISE_SHARE, Outcome, Run, State, TINY, Task, diverges, largest,
    measured_noise, noise, solve_on,
};
use super::variables::Variables;
use super::working_set::WorkingSet;
use super::{DualProblem, Monitor, Phases, Solution, Status, StopRule};
use crate::error::Result;
use crate::matrix::{CachedRows, Change, KernelMatrix, KernelRows, Precision};
use crate::simd::Real;
use std::time::{Duration, Instant};

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
/// The share of the tolerance to which tiny problems are polished, as far as that takes no more
/// steps than it took to get there. It costs next to nothing, and results on toy data and in tests
/// then agree to many digits however they were asked for.
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
        solve_on(self, problem, rows, monitor)
    }
}

impl Method for Smo {
    type Run<'a, 'm: 'a, T: Precision> = Blocks<'a, 'm, T>;

    fn stop_rule(&self) -> &StopRule {
        &self.stop
    }

    fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        mut rows: CachedRows<'m, T>,
        state: State,
    ) -> Blocks<'a, 'm, T> {
        if task.matrix.may_be_indefinite() && state.beta == task.problem.start {
            rows = rows.rounded();
        }
        let diagonal = task.matrix.diagonal();
        Blocks {
            settings: self,
            task,
            rows,
            state: Variables::new(task.problem, diagonal, state.beta, state.gradient),
            working_set: WorkingSet::default(),
            single: Block::default(),
            double: Block::default(),
            iterations: state.iterations,
            phases: state.phases,
            updates: 0,
            noise_share: 1.0,
        }
    }
}

/// The state of the outer loop.
pub(super) struct Blocks<'a, 'm, T> {
    settings: &'a Smo,
    task: Task<'a, 'm>,
    rows: CachedRows<'m, T>,
    state: Variables,
    working_set: WorkingSet,
    single: Block<f32>,
    double: Block<f64>,
    iterations: u64,
    phases: Phases,
    /// Rows added to the gradient so far.
    updates: u64,
    /// What was measured of the rounding noise in the gradient, as a share of the estimate.
    noise_share: f64,
}

impl<'m, T: Precision> Run<'m, T> for Blocks<'_, 'm, T> {
    fn advance(&mut self, tolerance: f64) -> Result<Outcome> {
        self.outer_loop(tolerance)
    }

    fn is_double(&self) -> bool {
        self.rows.is_double()
    }

    fn point(&self) -> (Vec<f64>, Vec<f64>) {
        let gradient = self.state.by_variable(&self.state.gradient);
        (self.state.beta_by_variable(), gradient)
    }

    fn correct(&mut self, gradient: &[f64]) {
        for (variable, &gradient) in (0..).zip(gradient) {
            let at = self.state.position(variable);
            self.state.gradient[at] = gradient;
        }
    }

    fn end(self) -> (State, CachedRows<'m, T>) {
        let (beta, gradient) = self.point();
        let state = State {
            beta,
            gradient,
            iterations: self.iterations,
            history: Vec::new(),
            phases: self.phases,
        };
        (state, self.rows)
    }
}

impl<T: Precision> Blocks<'_, '_, T> {
    fn outer_loop(&mut self, tolerance: f64) -> Result<Outcome> {
        let control = self.task.control;
        let (mut size, mut largest) = (FIRST_BLOCK, LARGEST_BLOCK);
        let tiny = self.state.name.len() <= TINY;
        if self.state.name.len() <= ONE_BLOCK {
            size = ONE_BLOCK;
        }
        if self.task.matrix.may_be_indefinite() {
            (size, largest) = (INDEFINITE_BLOCK, INDEFINITE_BLOCK);
        }
        let easy = (self.state.name.len() / 16).clamp(EASY_BLOCK.0, EASY_BLOCK.1);
        let mut until_shrink = SHRINK_INTERVAL;
        // The block's own gradient may be in f32 while that resolves the tolerance.
        let mut single = size_of::<T>() == 4;
        let mut polish = tiny;
        let may_diverge = self.task.problem.may_diverge();
        loop {
            let started = Instant::now();
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
            if size_of::<T>() == 4 && self.is_too_noisy(gap_now)? {
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
            self.phases.selection += started.elapsed().as_secs_f64();
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
        let budget = steps.min(self.task.control.max_iterations);
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
        let stop = || self.task.control.stop();
        let rows = &mut self.rows;
        let (started, kernel) = (Instant::now(), rows.kernel_time());
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
            steps = if self.task.matrix.may_be_indefinite() {
                // Pair steps only, as LIBSVM takes them.
                self.double.solve(selection, false, target, budget, &stop)
            } else {
                self.double.solve_nested(selection, target, budget, &stop)
            };
            self.double.beta().collect()
        };
        let spent = |rows: &CachedRows<T>, started: Instant, kernel: Duration| {
            let others = rows.kernel_time() - kernel;
            started.elapsed().saturating_sub(others).as_secs_f64()
        };
        self.phases.inner += spent(&self.rows, started, kernel);
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
        let (started, kernel) = (Instant::now(), self.rows.kernel_time());
        let added = self.rows.add_to(&changes, 0, active, &stop)?;
        self.phases.update += spent(&self.rows, started, kernel);
        if !added {
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

    /// Tells whether rows in f32 cannot resolve the gap. The estimate takes all kernel values for as
    /// large as the diagonal; where it is too large, the errors of some gradients are measured.
    fn is_too_noisy(&mut self, gap: f64) -> Result<bool> {
        let (task, state) = (self.task, &self.state);
        let estimate = noise::<T>(task.matrix, &state.beta);
        if self.noise_share * estimate <= NOISE_SHARE * gap {
            return Ok(false);
        }
        let started = Instant::now();
        let some: Vec<(u32, f64)> = (0..state.active)
            .step_by(state.active.div_ceil(CHECKED.1).max(1))
            .map(|at| (state.name[at], state.gradient[at]))
            .collect();
        let measured = measured_noise(task, &state.beta_by_variable(), &some)?;
        self.phases.kernel += started.elapsed().as_secs_f64();
        // Where that was stopped, so is the solver at its next look.
        let measured = measured.unwrap_or(0.0);
        self.noise_share = measured / estimate;
        Ok(measured > NOISE_SHARE * gap)
    }

    /// Tells whether the objective seems to have no minimum.
    fn diverges(&self) -> bool {
        let state = &self.state;
        let active = (0..state.active).map(|at| {
            let linear = self.task.problem.linear[state.name[at] as usize];
            [
                state.beta[at],
                state.gradient[at],
                linear,
                state.absolute[at],
            ]
        });
        diverges(active, largest(&state.diagonal))
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
        let stop = || self.task.control.stop();
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
