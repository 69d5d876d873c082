//! The driver: the ladder of precisions that every solver climbs.
//!
//! Rows are in f32 as long as their rounding cannot matter, else in f64; the gradient is in f64.
//! A gap counts when it is confirmed: what could hide a larger one is computed again in f64, see
//! [`confirm`](super::confirm) and [`doubt`](super::doubt). If the gap is not confirmed, the solver
//! goes on with the better gradient, aims lower, and takes rows in f64 if those in f32 will not do.
//! Where f64 will not do either, the solve ends with [`Status::Precision`].
//!
//! From `Solver::solve` (or `Smo::solve`, `Adatron::solve`) to the algorithm there are three hops:
//!
//! 1. [`solve`] climbs the ladder, from f32 to f64, until the gap is confirmed or the solver ends
//!    early;
//! 2. `Ladder::rung` has rows of one precision: it begins a [`Run`] with them, advances it and
//!    confirms the gap;
//! 3. [`Run::advance`] is the algorithm: the outer loop of SMO, the epochs of the Adatron.
//!
//! Whatever may take long ends in `Halt` if it is asked to stop, and `?` passes that on to `solve`,
//! the one place where it becomes a [`Status`]. On the way up every part leaves what it holds as it
//! was before the change it could not finish; so the run still has a feasible point, and its gradient
//! or bounds of how wrong that is. Both become the solution and its gap.

mod settle;

use super::confirm::{bounded_gap, estimated_noise, exact_gradient, in_doubt};
use super::control::{Control, Monitor, StopRule};
use super::coordinates::Coordinates;
use super::doubt::{Doubt, Stale, rounding};
use super::duality::Point;
use super::image::Image;
use super::interior;
use super::kkt::{Thresholds, intercepts};
use super::phases::{Phases, Stopwatch};
use super::problem::DualProblem;
use super::report::{Algorithm, Epoch, Report, Solution, Status};
use super::task::Task;
use super::update::{add_or_restore, changes};
use crate::error::{Halt, Polled, Result, Stop};
use crate::matrix::{CachedRows, KernelMatrix, KernelRows, Precision, fair_share};

/// Problems of up to this many variables are solved in f64, and far beyond the tolerance: both cost
/// next to nothing, and results on toy data and in tests then agree to many digits however they were
/// asked for.
pub(super) const TINY: usize = 256;
/// The share of the tolerance to which tiny problems are polished.
pub(super) const POLISH_SHARE: f64 = 1e-6;
/// Rounding noise in the gradient beyond this share of the gap asks for rows in f64: steps would
/// follow the noise.
pub(super) const NOISE_SHARE: f64 = 0.25;
/// Standard deviations of the noise by which to aim below the tolerance before the gap is confirmed:
/// a few more steps cost less than confirming in vain.
const AIM_BELOW: f64 = 4.0;
/// The share of the tolerance that is given up to this at the most.
const MOST_BELOW: f64 = 0.25;
/// Where confirming lifts the gap by no more than this share of the tolerance, a run is better advanced
/// a little further than begun again: the rows are there, and computing the whole gradient again costs
/// more.
const WORTH_TIGHTENING: f64 = 0.3;
/// How often a run aims lower before it is begun again.
const TIGHTENINGS: u32 = 3;
/// A gap beyond so many tolerances shows that rows in f32 are of no further use.
const HOPELESS: f64 = 10.0;
/// Runs with rows in f64, each from an exact gradient, that do not halve the gap: what is left is the
/// rounding of f64.
const ATTEMPTS: u32 = 3;

/// A solver and its settings, as [`solve`] needs them.
pub(super) trait Method {
    fn stop_rule(&self) -> &StopRule;

    /// Bytes for kernel rows; None for a fair share of the free memory.
    fn cache_bytes(&self) -> Option<usize>;

    /// Tells whether the gap need not be confirmed, nor the objective exact.
    fn is_rough(&self) -> bool {
        false
    }

    /// Returns what it is called.
    fn algorithm(&self) -> Algorithm;

    /// Returns how far from the origin the rows of a linear kernel have to be to be centred: the squared
    /// norm of their mean as a multiple of their mean squared distance from it.
    fn far(&self) -> f64;

    /// Checks the settings, and that the solver can solve the problem.
    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()>;

    /// Begins with rows of type T, from a state whose gradient is complete.
    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Box<dyn Run<'m, T> + 'a>;
}

/// A solver at work with rows of one precision.
pub(super) trait Run<'m, T: Precision> {
    /// Goes on until the gap that it sees is at most `tolerance`. However it ends, the point is
    /// feasible.
    fn advance(&mut self, tolerance: f64) -> Polled<Outcome>;

    /// Returns its rows.
    fn rows(&mut self) -> &mut CachedRows<'m, T>;

    /// Returns where it is, in the order of variables.
    fn coordinates(&self) -> Coordinates;

    /// Takes over a better gradient, in the order of variables.
    fn correct(&mut self, gradient: &[f64]);

    /// Returns where it is, and the rows.
    fn end(self: Box<Self>) -> (State, CachedRows<'m, T>);
}

/// Where a solve is, in the order of variables.
#[derive(Default)]
pub(super) struct State {
    pub coordinates: Coordinates,
    /// Gradients that are not those of the coefficients.
    pub stale: Vec<Stale>,
    pub iterations: u64,
    pub history: Vec<Epoch>,
    /// Without the kernel values whose time the rows know.
    pub phases: Phases,
    /// Whether the interior-point method has had its turn.
    pub handed_over: bool,
}

impl State {
    /// The start of a problem, whose gradient still lacks the part of the kernel but for an image.
    fn start(problem: &DualProblem, image: &Image) -> Self {
        let terms = problem.linear.iter().zip(&problem.ridge);
        let terms = terms.zip(&problem.start).zip(&image.values);
        let gradient = terms.map(|(((p, ridge), beta), image)| p + ridge * beta + image);
        let gradient = gradient.collect();
        let coordinates = Coordinates::of(problem, problem.start.clone(), gradient);
        let stale = Stale {
            variables: (0..coordinates.len() as u32).collect(),
            beta: image.beta.clone(),
        };
        State {
            coordinates,
            stale: vec![stale],
            ..State::default()
        }
    }
}

/// How a run ended.
pub(super) enum Outcome {
    Converged,
    /// For a reason of its own: steps ran out, or there is no minimum.
    GaveUp(Status),
    /// Rows in f32 cannot resolve the gap any more.
    TooNoisy,
    /// The interior-point method would be faster.
    TooSlow,
}

/// Solves a problem with rows that may have served others before.
///
/// A linear kernel far from the origin is replaced by that of centred rows: with K = K' + a 1' + 1 a'
/// and the sum s of the coefficients fixed, the problem is that of K' with s a added to the linear
/// term. Its objective and gap are the same, and its intercept is larger by a.beta. Nothing is lost to
/// the distance then, neither digits nor, in solvers that look for the intercept, time.
pub(super) fn solve<M: Method>(
    method: &M,
    problem: &DualProblem,
    rows: &mut KernelRows,
    monitor: &dyn Monitor,
) -> Result<Solution> {
    let (solution, _) = solve_from(method, problem, rows, None, monitor)?;
    Ok(solution)
}

/// Solves a problem, with the part of the kernel in its gradient coming from an image where that is
/// known. Returns the image of the solution too, which is a guide only if the matrix was replaced.
pub(super) fn solve_from<M: Method>(
    method: &M,
    problem: &DualProblem,
    rows: &mut KernelRows,
    image: Option<Image>,
    monitor: &dyn Monitor,
) -> Result<(Solution, Image)> {
    let matrix = rows.matrix();
    method.check(problem, matrix)?;
    problem.check(matrix.len())?;
    method.stop_rule().check()?;
    let control = Control::new(method.stop_rule(), monitor);
    let centred = match problem.constraint.absorber() {
        None => matrix.centred(method.far())?,
        Some(_) => None,
    };
    let Some((matrix, offsets)) = centred else {
        let task = Task::new(problem, matrix, &control, &[]);
        return climb(method, task, rows, image.filter(Image::is_exact));
    };
    let sum: f64 = problem.start.iter().sum();
    let linear = problem.linear.iter().zip(&offsets);
    let shifted = DualProblem {
        linear: linear
            .map(|(linear, offset)| linear + sum * offset)
            .collect(),
        ..problem.clone()
    };
    let task = Task::new(&shifted, &matrix, &control, &offsets);
    let (solution, image) = climb(method, task, &mut KernelRows::new(&matrix), None)?;
    let shift = task.shift(&solution.beta);
    Ok((solution, image.shifted(&offsets, sum, shift)))
}

/// Climbs the ladder.
fn climb<M: Method>(
    method: &M,
    task: Task,
    rows: &mut KernelRows,
    image: Option<Image>,
) -> Result<(Solution, Image)> {
    let image = image.unwrap_or_else(|| Image::zero(task.matrix.len()));
    let mut ladder = Ladder::new(task, method.stop_rule().tolerance, image);
    ladder.algorithm = method.algorithm();
    ladder.rough = method.is_rough();
    let status = loop {
        let outcome = if ladder.double {
            rows.forget_single();
            ladder.rung::<M, f64>(method, rows)
        } else {
            ladder.rung::<M, f32>(method, rows)
        };
        let outcome = match outcome {
            Ok(Outcome::TooSlow) => match ladder.hand_over() {
                Ok(()) => continue,
                Err(halt) => Err(halt),
            },
            outcome => outcome,
        };
        match outcome {
            Ok(Outcome::Converged) if ladder.gap <= ladder.tolerance => break Status::Converged,
            Ok(Outcome::GaveUp(status)) => break status,
            Ok(outcome) => {
                if !ladder.improve(matches!(outcome, Outcome::TooNoisy)) {
                    break Status::Precision;
                }
            }
            Err(Halt::Stopped) => break task.control.status(),
            Err(Halt::Failed(error)) => return Err(error),
        }
    };
    if status != Status::Converged {
        ladder.settle_gap(status)?;
    }
    if matches!(status, Status::Precision | Status::Diverged) {
        ladder.settle_descent()?;
    }
    if !ladder.rough {
        ladder.settle_objective()?;
        ladder.settle_sums(status)?;
    }
    Ok(ladder.solution(status, rows.evaluations()))
}

/// A point with its gradient, and the objective there.
struct Lowest {
    objective: f64,
    coordinates: Coordinates,
}

/// The ladder, and what has been reached on it.
struct Ladder<'a, 'm> {
    task: Task<'a, 'm>,
    tolerance: f64,
    state: State,
    /// Whether rows are in f64 from here on.
    double: bool,
    /// Whether the gradient of the next rung is to be computed exactly. That of the start comes from
    /// the rows, which will be wanted anyway, unless these are rounded at first.
    exact: bool,
    /// Whether the gradient has ever had the part of the kernel.
    complete: bool,
    /// How wrong the gradient of the run may be, and that of the state; nothing is where the gap is believed.
    doubt: Doubt,
    errors: Vec<f64>,
    /// Runs that were begun again in vain.
    attempts: u32,
    /// The lowest point that a rung has begun with, where rounding may lead uphill.
    lowest: Option<Lowest>,
    /// A bound of the gap, that of the run before, and the largest error of the gradient found with it.
    gap: f64,
    last_gap: f64,
    error: f64,
    /// Of the cache: hits, misses, and of these the rows that were not kept.
    counters: [u64; 3],
    /// Seconds spent on kernel values, beside those that runs count themselves.
    kernel: f64,
    algorithm: Algorithm,
    /// Whether the gap is believed.
    rough: bool,
}

impl<'a, 'm> Ladder<'a, 'm> {
    fn new(task: Task<'a, 'm>, tolerance: f64, image: Image) -> Self {
        let (problem, matrix) = (task.problem, task.matrix);
        Ladder {
            task,
            tolerance,
            state: State::start(problem, &image),
            // Without bounds a curvature that rounding makes zero would throw a step anywhere; and
            // rows may overflow f32.
            double: matrix.may_be_indefinite()
                || matrix.len() <= TINY
                || task.may_diverge::<f32>()
                || matrix.noise::<f32>().is_infinite(),
            exact: matrix.may_be_indefinite(),
            complete: false,
            errors: image.errors.clone(),
            doubt: Doubt::new(image.errors, &image.beta),
            attempts: 0,
            lowest: None,
            gap: f64::INFINITY,
            last_gap: f64::INFINITY,
            error: 0.0,
            counters: [0; 3],
            kernel: 0.0,
            algorithm: Algorithm::default(),
            rough: false,
        }
    }

    /// Gives the interior-point method its turn, and goes where it has been unless that is worse. The
    /// gradient is computed at the beginning of the next rung.
    fn hand_over(&mut self) -> Polled<()> {
        self.state.handed_over = true;
        let watch = Stopwatch::start();
        let found = interior::solve(self.task, self.tolerance);
        self.state.phases.inner += watch.seconds();
        let Some(found) = found? else { return Ok(()) };
        self.state.iterations += found.iterations;
        let Some(candidate) = found.candidate else {
            return Ok(());
        };
        let Coordinates { beta, gradient, .. } = &self.state.coordinates;
        let objective = self.task.problem.objective(beta, gradient);
        if candidate.gap <= self.tolerance || candidate.objective < objective {
            let at = candidate.beta;
            let terms = self
                .task
                .problem
                .linear
                .iter()
                .zip(&self.task.problem.ridge);
            let gradient = terms.zip(&at).map(|((p, ridge), beta)| p + ridge * beta);
            self.state.coordinates =
                Coordinates::of(self.task.problem, at.clone(), gradient.collect());
            // Should the next rung be halted, nothing is known of the gradient.
            self.errors.fill(f64::INFINITY);
            self.complete = false;
            self.algorithm = Algorithm::Interior;
        }
        Ok(())
    }

    /// Solves with rows of type T until the gap is confirmed. The rows are given back however that
    /// ends.
    fn rung<M: Method, T: Precision>(
        &mut self,
        method: &M,
        kernel_rows: &mut KernelRows,
    ) -> Polled<Outcome> {
        // The rows and what is done with them live as long as the rows of other problems.
        let task = Task {
            matrix: kernel_rows.matrix(),
            ..self.task
        };
        let bytes = method.cache_bytes().unwrap_or_else(fair_share);
        let mut rows = kernel_rows.take::<T>(bytes)?;
        let (before, time_before) = (rows.counters(), rows.kernel_time());
        let outcome = match self.complete_gradient(&mut rows) {
            Err(halt) => Err(halt),
            Ok(()) => {
                let mut run = method.begin(task, rows, std::mem::take(&mut self.state));
                let outcome = self.advance(&mut *run);
                (self.state, rows) = run.end();
                let beta = &self.state.coordinates.beta;
                self.errors = match self.rough {
                    true => vec![0.0; beta.len()],
                    false => self.doubt.at(self.task, beta, &rows),
                };
                outcome
            }
        };
        for (sum, (now, before)) in
            (self.counters.iter_mut()).zip(rows.counters().iter().zip(before))
        {
            *sum += now - before;
        }
        self.kernel += (rows.kernel_time() - time_before).as_secs_f64();
        kernel_rows.give(rows);
        outcome
    }

    /// Completes the gradient before a rung: exactly, but that of the start with the rows.
    fn complete_gradient<T: Precision>(&mut self, rows: &mut CachedRows<T>) -> Polled<()> {
        let (task, coordinates) = (self.task, &mut self.state.coordinates);
        let stop = || task.control.stop();
        rows.forget_traffic();
        if self.exact {
            let watch = Stopwatch::start();
            let all: Vec<u32> = (0..coordinates.len() as u32).collect();
            let exact = exact_gradient(task, &coordinates.beta, &all, &stop);
            self.kernel += watch.seconds();
            coordinates.gradient = exact?;
            self.doubt = Doubt::exact(task, &coordinates.beta);
        } else {
            // What the image has in it already is not added again.
            let known = match self.state.stale.first() {
                Some(start) => start.beta.clone(),
                None => vec![0.0; coordinates.len()],
            };
            let changes = changes(&coordinates.beta, known.into_iter());
            add_or_restore(rows, &changes, 0, &mut coordinates.gradient, &stop)?;
        }
        self.state.stale.clear();
        self.exact = true;
        self.complete = true;
        self.note_lowest();
        Ok(())
    }

    /// Notes where the rung begins if that is the lowest point so far.
    fn note_lowest(&mut self) {
        if !(self.double && self.task.hides_ridge()) {
            return;
        }
        let at = &self.state.coordinates;
        let objective = self.task.problem.objective(&at.beta, &at.gradient);
        if (self.lowest.as_ref()).is_none_or(|lowest| objective < lowest.objective) {
            let coordinates = at.clone();
            self.lowest = Some(Lowest {
                objective,
                coordinates,
            });
        }
    }

    /// Advances a run until its gap is confirmed, or it is better begun again.
    fn advance<'r, T: Precision>(&mut self, run: &mut (dyn Run<'r, T> + '_)) -> Polled<Outcome> {
        let mut target = self.tolerance;
        for tightening in 0.. {
            match run.advance(target)? {
                Outcome::Converged => {}
                early => return Ok(early),
            }
            if self.rough {
                self.gap = target;
                break;
            }
            self.task.control.poll()?;
            match self.confirmed(run, target)? {
                Some(lower) if tightening < TIGHTENINGS => target = lower,
                _ => break,
            }
        }
        Ok(Outcome::Converged)
    }

    /// Confirms the gap of a run that has converged to `target`. Returns a lower target where that would
    /// help.
    fn confirmed<'r, T: Precision>(
        &mut self,
        run: &mut (dyn Run<'r, T> + '_),
        target: f64,
    ) -> Polled<Option<f64>> {
        let (task, tolerance) = (self.task, self.tolerance);
        let mut coordinates = run.coordinates();
        let mut errors = self.doubt.at(task, &coordinates.beta, run.rows());
        self.gap = bounded_gap(task.problem, &coordinates, &errors);
        if self.gap <= tolerance {
            self.error = estimated_noise::<T>(task.matrix, &coordinates.beta);
            return Ok(None);
        }
        let found = Thresholds::at(&coordinates, &task.problem.constraint).gap();
        let noise = AIM_BELOW * estimated_noise::<T>(task.matrix, &coordinates.beta);
        let aim = tolerance - (2.0 * noise).min(MOST_BELOW * tolerance);
        if found > aim && aim < target {
            return Ok(Some(aim));
        }
        self.error = self.clear_doubt(&mut coordinates, &mut errors, &|| task.control.stop())?;
        run.correct(&coordinates.gradient);
        run.rows().forget_traffic();
        self.gap = bounded_gap(task.problem, &coordinates, &errors);
        self.doubt = Doubt::new(errors, &coordinates.beta);
        let lifted = self.gap - found;
        let worth = self.gap > tolerance && lifted < WORTH_TIGHTENING * tolerance;
        Ok(worth.then_some(target.min(found) - 2.0 * lifted.max(0.0)))
    }

    /// Computes the gradients again that could hide a larger gap. Returns the largest error that was
    /// found. If that is halted, nothing has changed.
    fn clear_doubt(
        &mut self,
        coordinates: &mut Coordinates,
        errors: &mut [f64],
        stop: Stop,
    ) -> Polled<f64> {
        let (task, watch) = (self.task, Stopwatch::start());
        let rounding = rounding(task, &coordinates.beta);
        let mut doubtful = in_doubt(task.problem, coordinates, errors, self.tolerance);
        doubtful.retain(|&i| errors[i as usize] > 2.0 * rounding);
        let exact = exact_gradient(task, &coordinates.beta, &doubtful, stop);
        self.kernel += watch.seconds();
        let mut worst = 0.0f64;
        for (&i, exact) in doubtful.iter().zip(exact?) {
            let i = i as usize;
            worst = worst.max((exact - coordinates.gradient[i]).abs());
            (coordinates.gradient[i], errors[i]) = (exact, rounding);
        }
        Ok(worst)
    }

    /// Makes the next rung better than one that has not confirmed the gap, because its rows were too
    /// noisy or for another reason. Returns false if nothing is left to try.
    fn improve(&mut self, noisy: bool) -> bool {
        self.attempts += 1;
        if self.double {
            if self.gap < 0.5 * self.last_gap && !noisy {
                self.attempts = 0;
            }
            self.last_gap = self.gap;
            return self.attempts < ATTEMPTS;
        }
        // One refinement with rows in f32: the gradient is exact again, and only the rounding of
        // what changes from here on enters.
        self.double = noisy || self.attempts > 1 || self.gap > HOPELESS * self.tolerance;
        if self.double {
            self.attempts = 0;
        }
        true
    }

    fn solution(self, status: Status, kernel_evaluations: u64) -> (Solution, Image) {
        let (task, state, errors) = (self.task, self.state, self.errors);
        let Coordinates { beta, gradient, .. } = &state.coordinates;
        let shift = task.shift(beta);
        let intercepts = intercepts(&state.coordinates.landed(), &task.problem.constraint);
        // A gradient that lacks the part of the kernel leaves out 1/2 beta' K beta: bound it.
        let lacking = match self.complete {
            true => 0.0,
            false => {
                let sizes = task.matrix.sizes(beta);
                let terms = beta.iter().zip(sizes);
                terms.map(|(beta, size)| 0.5 * beta.abs() * size).sum()
            }
        };
        let objective = task.problem.objective(beta, gradient) + lacking;
        let point = Point {
            problem: task.problem,
            beta,
            gradient,
            intercepts,
        };
        // Of variables that were set aside the gradient is not known.
        let known = self.complete && state.stale.is_empty();
        let duality_gap = match known && !self.rough {
            true => point.duality_gap(),
            false => f64::INFINITY,
        };
        let sum: f64 = task.problem.start.iter().sum();
        let squared_norm = point.squared_norm() + 2.0 * sum * shift;
        let intercepts = intercepts.map(|intercept| intercept - shift);
        let errors = known.then_some(errors);
        let image = Image::of_gradient(task.problem, beta, gradient, errors);
        let solution = Solution {
            intercept: (intercepts[0] + intercepts[1]) / 2.0,
            intercepts,
            report: Report {
                status,
                method: self.algorithm,
                iterations: state.iterations,
                gap: self.gap,
                objective,
                primal_objective: duality_gap - objective,
                duality_gap,
                squared_norm: squared_norm.max(0.0),
                kernel_evaluations,
                cache_hits: self.counters[0],
                cache_misses: self.counters[1],
                cache_bypasses: self.counters[2],
                seconds: task.control.started.elapsed().as_secs_f64(),
                phases: Phases {
                    kernel: state.phases.kernel + self.kernel,
                    ..state.phases
                },
            },
            beta: state.coordinates.beta,
            history: state.history,
        };
        (solution, image)
    }
}
