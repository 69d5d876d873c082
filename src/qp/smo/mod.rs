//! Smo: sequential minimal optimisation in blocks.
//!
//! A pair at a time is bound by memory: every step wants two rows of the kernel matrix. So
//!
//! 1. choose a block of variables ([`WorkingSet`]);
//! 2. compute its small matrix and solve the sub-problem by pair steps ([`Block`]);
//! 3. fetch the rows of the coefficients that changed, those that are missing all at once;
//! 4. update the gradient of all active variables with them.
//!
//! Only the rows that are needed in steps 3 and 4 are ever computed.
//!
//! Variables stuck at a bound leave the active set ([`Shrinking`]); before convergence is declared
//! their gradient is rebuilt and they are checked. Large problems begin with a sample ([`Stages`]).

mod block;
mod block_size;
mod members;
mod noise;
mod path;
mod settings;
mod shrink;
mod stages;
#[cfg(test)]
mod tests;
mod variables;
mod working_set;

use super::control::StopRule;
use super::coordinates::Coordinates;
use super::divergence::{diverges, has_outgrown, largest_size};
use super::driver::{Method, Outcome, POLISH_SHARE, Run, State, TINY};
use super::kkt::Thresholds;
use super::phases::{Phases, Stopwatch};
use super::problem::DualProblem;
use super::report::{Algorithm, Status};
use super::task::Task;
use super::update::{add_or_restore, changes};
use crate::error::{Polled, Result};
use crate::matrix::{CachedRows, KernelMatrix, Precision};
use crate::simd::Real;
pub use block::Selection;
use block::{Block, Goal};
use block_size::{BlockSize, Inner};
use members::Members;
use noise::Noise;
use path::Path;
pub use settings::Smo;
use shrink::Shrinking;
use stages::{Over, Stages};
use variables::Variables;
use working_set::WorkingSet;

/// Steps of polishing that are always allowed; beyond, as many as it took to get there. They take
/// about a millisecond.
const POLISH_STEPS: u64 = 1000;
/// A block is solved until its gap has fallen to this share of what it was: more is lost when other
/// variables move.
const INNER_SHARE: f64 = 0.1;
/// A block is solved a little beyond the tolerance, so that rounding does not bring it back.
const BEYOND: f64 = 0.9;
/// The gradient of a block may be in f32 while the tolerance is so many of its roundings.
const RESOLVED: f64 = 256.0;
/// Steps of pairs do not depend on the origin; their roundings do. Centred rows are not shared with other
/// problems, so they are taken only where two digits are at stake.
const FAR: f64 = 100.0;
/// Variables of the longest problem that is solved with rows as they are needed, and its steps for each
/// of them: harder problems are better off with blocks.
const LONGEST_PATH: usize = 8192;
const PATH_STEPS: u64 = 4;
/// Steps for each variable of a block between two looks for divergence.
const STEPS_BEFORE_LOOK: u64 = 64;

/// Bytes of rows that are reckoned to be held where the user leaves it open: long rows are computed again
/// rather than kept, and there is little to reorder.
const USUALLY_HELD: usize = 1 << 30;

impl Method for Smo {
    fn stop_rule(&self) -> &StopRule {
        &self.stop
    }

    fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    fn is_rough(&self) -> bool {
        self.rough
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Smo
    }

    fn far(&self) -> f64 {
        FAR
    }

    fn check(&self, _problem: &DualProblem, _matrix: &KernelMatrix) -> Result<()> {
        Ok(())
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        mut rows: CachedRows<'m, T>,
        state: State,
    ) -> Box<dyn Run<'m, T> + 'a> {
        let (problem, matrix) = (task.problem, task.matrix);
        if matrix.may_be_indefinite() && state.coordinates.beta == problem.start {
            rows = rows.rounded();
        }
        Box::new(Blocks {
            settings: self,
            task,
            rows,
            variables: Variables::new(problem, matrix.diagonal(), state.coordinates),
            working_set: WorkingSet::default(),
            along_path: false,
            single: Block::default(),
            double: Block::default(),
            noise: Noise::default(),
            shrinking: Shrinking::new(self.shrinking && matrix.len() > TINY, matrix.len()),
            stages: Stages::default(),
            iterations: state.iterations,
            phases: state.phases,
            patience: match state.handed_over {
                true => None,
                false => self.interior.patience(matrix),
            },
        })
    }
}

/// What came of a block.
enum Solved {
    /// So many steps; none if rounding hides the violation.
    Steps(u64),
    /// After so many the coefficients would be too large to go on with; none was taken.
    Outgrown(u64),
}

/// The outer loop and where it is.
struct Blocks<'a, 'm, T> {
    settings: &'a Smo,
    task: Task<'a, 'm>,
    rows: CachedRows<'m, T>,
    variables: Variables,
    working_set: WorkingSet,
    /// Whether the next block is solved with rows as they are needed.
    along_path: bool,
    single: Block<f32>,
    double: Block<f64>,
    noise: Noise,
    shrinking: Shrinking,
    stages: Stages,
    iterations: u64,
    phases: Phases,
    /// Steps after which to hand over to the interior-point method, if that is still to have its turn.
    patience: Option<u64>,
}

impl<'m, T: Precision> Run<'m, T> for Blocks<'_, 'm, T> {
    /// The outer loop.
    fn advance(&mut self, tolerance: f64) -> Polled<Outcome> {
        let Task {
            control, matrix, ..
        } = self.task;
        let (several, at_hand) = (self.rows.is_shared(), self.rows.lends());
        let mut size = BlockSize::new(matrix.len(), matrix.may_be_indefinite(), several, at_hand);
        let mut single = size_of::<T>() == 4;
        let mut polish = matrix.len() <= TINY && !self.settings.rough;
        self.shrinking.restart();
        self.begin_with_sample();
        loop {
            let watch = Stopwatch::beside(self.phases.kernel);
            let thresholds = self.variables.thresholds();
            let gap = thresholds.gap();
            control.tell(self.iterations, gap, self.variables.active, || {
                let at = self.coordinates();
                self.task.problem.point(&at.beta, &at.gradient)
            });
            if let Some(over) = self.stages.end(gap, self.iterations) {
                self.widen(over, &thresholds)?;
                size.forget();
                continue;
            }
            if gap <= tolerance {
                if polish && gap > 0.0 {
                    polish = false;
                    self.polish(&thresholds)?;
                } else if self.variables.shrunk.is_empty() {
                    return Ok(Outcome::Converged);
                } else {
                    self.unshrink()?;
                }
                continue;
            }
            control.poll()?;
            if let Some(outcome) = self.must_end(gap)? {
                return Ok(outcome);
            }
            if self.shrinking.is_due() {
                self.shrink(&thresholds);
            }
            let wanted = size.choose(|| self.variables.moving());
            self.select(&thresholds, wanted);
            self.phases.selection += watch.seconds_beside(self.phases.kernel);
            single &= tolerance > RESOLVED * f32::ROUNDOFF * thresholds.size().max(1.0);
            let target = (BEYOND * tolerance).max(INNER_SHARE * gap);
            let inner = size.inner(single);
            let steps = self.solve_in_bounds(inner, target, self.budget(size.cap()))?;
            if steps == 0 {
                // Rounding hides the violation from the block.
                match (inner == Inner::Single, size_of::<T>()) {
                    (true, _) => single = false,
                    (false, 4) => return Ok(Outcome::TooNoisy),
                    (false, _) if !self.variables.shrunk.is_empty() => self.unshrink()?,
                    (false, _) => return Ok(Outcome::Converged),
                }
            }
            size.grow(steps);
        }
    }

    fn rows(&mut self) -> &mut CachedRows<'m, T> {
        &mut self.rows
    }

    fn coordinates(&self) -> Coordinates {
        self.variables.by_variable(self.rows.order())
    }

    fn correct(&mut self, gradient: &[f64]) {
        let positions = self.rows.order().inverse();
        for (&at, &gradient) in positions.iter().zip(gradient) {
            self.variables.coordinates.gradient[at as usize] = gradient;
        }
    }

    fn end(self: Box<Self>) -> (State, CachedRows<'m, T>) {
        let state = State {
            coordinates: self.coordinates(),
            stale: self.variables.stale(self.rows.order()),
            iterations: self.iterations,
            history: Vec::new(),
            phases: self.phases,
            handed_over: self.patience.is_none(),
        };
        (state, self.rows)
    }
}

impl<T: Precision> Blocks<'_, '_, T> {
    /// Tells whether and how to end before convergence.
    fn must_end(&mut self, gap: f64) -> Polled<Option<Outcome>> {
        if self.iterations >= self.task.control.max_iterations {
            return Ok(Some(Outcome::GaveUp(Status::MaxIterations)));
        }
        if self.patience.is_some_and(|steps| self.iterations >= steps) {
            return Ok(Some(Outcome::TooSlow));
        }
        if let Some(status) = self.diverges() {
            return Ok(Some(Outcome::GaveUp(status)));
        }
        // In f64 only where a ridge is as small as the rounding of kernel values: there the solver would
        // follow that for ever.
        if size_of::<T>() == 8 && !self.task.hides_ridge() {
            return Ok(None);
        }
        let watch = Stopwatch::start();
        let order = self.rows.order();
        let hidden = (self.noise).hides::<T>(gap, self.task, &self.variables, order);
        self.phases.kernel += watch.seconds();
        // The inactive gradients are not needed: the next rung computes all of them.
        Ok(hidden?.then_some(Outcome::TooNoisy))
    }

    /// Tells how to end if the objective seems to have no minimum.
    fn diverges(&self) -> Option<Status> {
        if !self.task.may_be_unbounded() {
            return None;
        }
        let Variables { coordinates, .. } = &self.variables;
        let active = (0..self.variables.active).map(|at| {
            let variable = self.rows.order().variable(at) as usize;
            let (linear, point) = (self.task.problem.linear[variable], coordinates.point(at));
            [point.beta, point.gradient, linear, point.absolute]
        });
        diverges(active, self.task.floor())
    }

    /// Chooses the next block.
    fn select(&mut self, thresholds: &Thresholds, size: usize) {
        let order = self.rows.order();
        self.along_path = self.path_steps() > 0;
        let size = match self.along_path {
            true => self.variables.active,
            false => size,
        };
        self.working_set
            .select(&self.variables, order, thresholds, size);
    }

    /// Returns how many steps may still be taken with rows as they are needed.
    fn path_steps(&self) -> u64 {
        let (variables, rows) = (&self.variables, &self.rows);
        let suits = rows.is_stored()
            && (TINY + 1..=LONGEST_PATH).contains(&variables.len())
            && rows.capacity() >= variables.len()
            && Path::<T>::leads(variables);
        let most = PATH_STEPS * variables.len() as u64;
        match suits {
            true => most.saturating_sub(self.iterations),
            false => 0,
        }
    }

    /// Returns the steps that may have been taken at the end of the next block.
    fn budget(&self, cap: u64) -> u64 {
        let look = match self.task.may_be_unbounded() {
            true => {
                let variables = self.working_set.variables.len().max(64);
                self.iterations + STEPS_BEFORE_LOOK * variables as u64
            }
            false => u64::MAX,
        };
        let patience = self.patience.unwrap_or(u64::MAX);
        look.min(self.iterations.saturating_add(cap))
            .min(patience)
            .min(self.task.control.max_iterations)
    }

    /// Goes on from a tolerable solution of a tiny problem, for about as many steps as it took.
    fn polish(&mut self, thresholds: &Thresholds) -> Polled<()> {
        let steps = self.iterations.max(POLISH_STEPS);
        let budget = steps.saturating_add(self.iterations);
        let target = POLISH_SHARE * self.settings.stop.tolerance;
        self.select(thresholds, TINY);
        self.solve_block(
            Inner::Faces,
            target,
            budget.min(self.task.control.max_iterations),
        )?;
        Ok(())
    }

    /// Solves the sub-problem of the block as `solve_block` does, but ends while numbers can still tell
    /// whether it has a minimum. Returns the number of steps.
    fn solve_in_bounds(&mut self, inner: Inner, target: f64, max_iterations: u64) -> Polled<u64> {
        let mut end = max_iterations;
        loop {
            match self.solve_block(inner, target, end)? {
                Solved::Outgrown(steps) if steps > 1 => end = self.iterations + steps / 2,
                Solved::Outgrown(_) => return Ok(0),
                Solved::Steps(steps) => return Ok(steps),
            }
        }
    }

    /// Solves the sub-problem of the block until its gap is at most `target` or
    /// there have been `max_iterations` steps in all. Then fetches the rows of the coefficients that
    /// changed, and only those, and updates the gradient with them.
    ///
    /// A block that is stopped counts as far as it came, if the rows it needs are there. Otherwise
    /// nothing has changed.
    fn solve_block(&mut self, inner: Inner, target: f64, max_iterations: u64) -> Polled<Solved> {
        let control = self.task.control;
        let order = self.rows.order();
        let members = Members::new(&self.working_set.variables, &self.variables, order);
        // Along a path the gradient is as precise as the rows.
        let along_path = self.along_path && (inner == Inner::Single || size_of::<T>() == 8);
        let max_steps = max_iterations.saturating_sub(self.iterations);
        let goal = Goal {
            selection: self.settings.selection,
            // An indefinite kernel has no minimum on a face; pair steps go LIBSVM's way.
            faces: inner == Inner::Faces && !self.task.matrix.may_be_indefinite(),
            tolerance: target,
            max_steps: match along_path {
                true => max_steps.min(self.path_steps()),
                false => max_steps,
            },
            stop: &|| control.stop(),
        };
        let watch = Stopwatch::beside(self.rows.kernel_time().as_secs_f64());
        let (rows, variables) = (&mut self.rows, &self.variables);
        let mut steps = 0;
        let (solved, beta): (Polled<()>, Vec<f64>) = if along_path {
            let mut path = Path::new(variables);
            let solved = path.solve(rows, &goal, &mut steps);
            (solved, path.into_beta())
        } else if inner == Inner::Single {
            members.load(&mut self.single, variables, rows, &goal)?;
            let solved = self.single.solve_nested(&goal, &mut steps);
            (solved, self.single.beta().collect())
        } else {
            members.load(&mut self.double, variables, rows, &goal)?;
            let solved = if goal.faces || self.task.matrix.may_be_indefinite() {
                self.double.solve(&goal, &mut steps)
            } else {
                self.double.solve_nested(&goal, &mut steps)
            };
            (solved, self.double.beta().collect())
        };
        self.phases.inner += watch.seconds_beside(self.rows.kernel_time().as_secs_f64());
        let steepest = largest_size(&self.variables.diagonal);
        if beta.iter().any(|&beta| has_outgrown(beta, steepest)) {
            return Ok(Solved::Outgrown(steps));
        }
        self.apply(&members, beta)?;
        self.iterations += steps;
        solved.map(|()| Solved::Steps(steps))
    }

    /// Gives the members of a block new coefficients and updates the gradient. If that is halted,
    /// nothing has changed.
    fn apply(&mut self, members: &Members, beta: Vec<f64>) -> Polled<()> {
        let (changes, moved) = members.changes(beta.into_iter(), &self.variables);
        let (control, variables) = (self.task.control, &mut self.variables);
        let active = &mut variables.coordinates.gradient[..variables.active];
        let watch = Stopwatch::beside(self.rows.kernel_time().as_secs_f64());
        let added = add_or_restore(&mut self.rows, &changes, 0, active, &|| control.stop());
        self.phases.update += watch.seconds_beside(self.rows.kernel_time().as_secs_f64());
        added?;
        for &(at, beta) in &moved {
            variables.move_to(at, beta);
        }
        self.shrinking.count(&changes);
        Ok(())
    }

    /// Sets variables aside if that pays.
    fn shrink(&mut self, thresholds: &Thresholds) {
        let (places, kept) = self.variables.shrinking_order(thresholds);
        let gone = places.len() - kept;
        // How much memory is free must not matter, what the user allows may.
        let most = match self.settings.cache_bytes {
            Some(_) if !self.settings.found => self.rows.capacity(),
            _ => USUALLY_HELD / (self.variables.len() * size_of::<T>()),
        };
        if self.shrinking.pays(gone, places.len(), most) {
            self.set_aside(&places, kept);
        }
    }

    /// Sets all but a sample of the variables aside at the beginning, where that pays.
    fn begin_with_sample(&mut self) {
        let at_zero = (self.variables.coordinates.beta.iter()).all(|beta| *beta == 0.0);
        let suits = self.shrinking.is_enabled() && at_zero && self.patience.is_none();
        // Rows that are there cost nothing, and indefinite kernels go LIBSVM's way.
        let others = self.rows.is_stored() || self.rows.is_shared();
        let DualProblem { lower, upper, .. } = self.task.problem;
        let cost = largest_size(lower).max(largest_size(upper));
        let hard = cost * largest_size(&self.variables.diagonal) > stages::HARD;
        if !suits || others || hard || self.task.matrix.may_be_indefinite() {
            return;
        }
        let gap = self.variables.thresholds().gap();
        let shares = Stages::shares(self.variables.len());
        for &share in shares {
            let (places, kept) = stages::sample(&self.variables, self.rows.order(), share);
            self.set_aside(&places, kept);
        }
        self.stages = Stages::new(shares.len(), self.variables.active, gap);
    }

    /// Lets the next stage join, and sets aside what is far from the thresholds of the last one.
    fn widen(&mut self, over: Over, thresholds: &Thresholds) -> Polled<()> {
        let left = match over {
            Over::Joins(left) => left,
            Over::Examination | Over::Hard => 0,
        };
        if self.variables.shrunk.len() > left {
            self.rebuild(left)?;
        }
        if over != Over::Hard {
            let around = self.stages.around(thresholds);
            let (places, kept) = self.variables.shrinking_order(&around);
            self.set_aside(&places, kept);
        }
        self.stages.begin(self.iterations, self.variables.active);
        Ok(())
    }

    /// Puts the active variables in a new order and keeps the first of them active.
    fn set_aside(&mut self, places: &[u32], kept: usize) {
        let beta = self.variables.beta_by_variable(self.rows.order());
        self.variables.shrink(places, kept, beta);
        self.rows.reorder(places);
    }

    /// Makes everything active again.
    fn unshrink(&mut self) -> Polled<()> {
        self.rebuild(0)
    }

    /// Rebuilds the gradient of what was set aside, but for the first so many parts, and makes it active
    /// again.
    fn rebuild(&mut self, first: usize) -> Polled<()> {
        let control = self.task.control;
        let now = self.variables.beta_by_variable(self.rows.order());
        let Variables {
            coordinates,
            shrunk,
            ..
        } = &mut self.variables;
        for part in &mut shrunk[first..] {
            let changes = changes(&now, part.beta.iter().copied());
            let start = part.positions.start;
            let gradient = &mut coordinates.gradient[part.positions.clone()];
            add_or_restore(&mut self.rows, &changes, start, gradient, &|| {
                control.stop()
            })?;
            // Should a later part be halted, this one is up to date.
            part.beta.copy_from_slice(&now);
        }
        let end = shrunk[first].positions.end;
        shrunk.truncate(first);
        self.variables.active = end;
        self.shrinking.restart();
        Ok(())
    }
}
