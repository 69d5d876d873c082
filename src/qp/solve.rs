//! What the solvers share: checks, clock and monitor, the ladder of precisions, the confirmed gap.
//!
//! A [`Method`] begins runs with rows in f32 or f64. Rows are in f32 as long as their rounding
//! cannot matter, else in f64; the gradient is in f64. Whatever the rows, the gap that is reported
//! is true: before a solve ends, a sample of the gradient with all its extremes is recomputed in
//! f64 from the coefficients, and if the gap is not confirmed the whole gradient is recomputed and
//! the solver goes on from there.

use super::kkt::{Thresholds, biases};
use super::{
    Constraint, DualProblem, Epoch, Monitor, Phases, Progress, Report, Solution, Status, StopRule,
};
use crate::error::{Error, Result};
use crate::matrix::{CachedRows, Change, KernelMatrix, KernelRows, Precision, fair_share};
use crate::simd::Real;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Problems of up to this many variables are solved in f64: it costs next to nothing.
pub(super) const TINY: usize = 256;
/// Rounding noise in the gradient beyond this share of the gap asks for rows in f64.
pub(super) const NOISE_SHARE: f64 = 0.25;
/// The part of the tolerance left to rounding when the gap is confirmed.
const SLACK: f64 = 1.05;
/// Rows in f64 whose rounding is below this share of the tolerance need no confirmation.
const SURE_SHARE: f64 = 1e-6;
/// Variables of each kind (spread, extreme above, extreme below) whose gradient is recomputed: a
/// sixteenth of all, within these limits.
pub(super) const CHECKED: (usize, usize) = (64, 256);
/// A gradient that was not recomputed may be so much more wrong than the worst of those that were.
const UNSEEN: f64 = 1.5;
/// The objective is computed again where rounding makes it doubtful by more than this share.
const OBJECTIVE_SHARE: f64 = 1e-5;
/// A problem without bounds is taken for one without a minimum when the margin cannot be wider
/// than this share of the largest distance from the origin: see [`diverges`].
const NARROWEST_MARGIN: f64 = 1e-5;

/// A solver and its settings, as [`solve_on`] needs them.
pub(super) trait Method {
    type Run<'a, 'm: 'a, T: Precision>: Run<'m, T>
    where
        Self: 'a;

    fn stop_rule(&self) -> &StopRule;

    fn cache_bytes(&self) -> Option<usize>;

    /// Begins with rows of type T, from a state whose gradient is complete.
    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Self::Run<'a, 'm, T>;
}

/// A run with rows of one type.
pub(super) trait Run<'m, T: Precision> {
    /// Goes on until the gap that it sees is at most `tolerance`.
    fn advance(&mut self, tolerance: f64) -> Result<Outcome>;

    /// Tells whether its rows are as good as f64 can be.
    fn is_double(&self) -> bool;

    /// Returns coefficients and gradient, by variable.
    fn point(&self) -> (Vec<f64>, Vec<f64>);

    /// Takes over a better gradient, by variable.
    fn correct(&mut self, gradient: &[f64]);

    /// Returns what it has come to, and the rows for those that come after.
    fn end(self) -> (State, CachedRows<'m, T>);
}

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Task<'a, 'm> {
    pub problem: &'a DualProblem,
    pub matrix: &'m KernelMatrix<'m>,
    pub control: &'a Control<'a>,
}

/// Where a solve is, by variable.
#[derive(Default)]
pub(super) struct State {
    pub beta: Vec<f64>,
    pub gradient: Vec<f64>,
    pub iterations: u64,
    pub history: Vec<Epoch>,
    /// Without kernel values, whose time the rows know.
    pub phases: Phases,
}

/// How a run ended.
pub(super) enum Outcome {
    /// With the gap it sees; [`confirmed`] makes it an upper estimate of the true gap.
    Converged(f64),
    Stopped(Status, f64),
    /// Rows in f32 cannot resolve the gap any more.
    TooNoisy,
}

/// Solves a problem with rows that may have served others before.
pub(super) fn solve_on<M: Method>(
    method: &M,
    problem: &DualProblem,
    rows: &mut KernelRows,
    monitor: &dyn Monitor,
) -> Result<Solution> {
    let matrix = rows.matrix();
    let stop = method.stop_rule();
    check(problem, matrix, stop)?;
    let control = Control::new(stop, monitor);
    let task = Task {
        problem,
        matrix,
        control: &control,
    };
    // The part of the gradient that needs no kernel.
    let terms = problem.linear.iter().zip(&problem.ridge);
    let terms = terms.zip(&problem.start);
    let mut state = State {
        beta: problem.start.clone(),
        gradient: terms.map(|((p, ridge), beta)| p + ridge * beta).collect(),
        ..State::default()
    };
    let mut tally = Tally::default();
    // Without bounds a curvature that rounding makes zero would throw a step anywhere.
    let mut double = matrix.may_be_indefinite() || matrix.len() <= TINY || problem.may_diverge();
    let mut confirmations = 0;
    // The gradient of the start is computed with the rows that will be wanted, but for kernels whose
    // rows are rounded at first; later runs begin with it exact.
    let mut known = matrix.may_be_indefinite();
    let (status, gap) = loop {
        if known {
            let started = Instant::now();
            let all: Vec<u32> = (0..matrix.len() as u32).collect();
            let exact = exact_gradient(task, &state.beta, &all)?;
            state.phases.kernel += started.elapsed().as_secs_f64();
            let Some(exact) = exact else {
                // Stopped on the way to an exact gradient: the last one has to do.
                let gap = Thresholds::of(problem, &state.beta, &state.gradient).gap();
                break (control.status(), gap);
            };
            state.gradient = exact;
        }
        let outcome = if double {
            rows.forget_single();
            run::<M, f64>(method, task, rows, known, &mut state, &mut tally)?
        } else {
            run::<M, f32>(method, task, rows, known, &mut state, &mut tally)?
        };
        known = true;
        match outcome {
            Outcome::Stopped(status, gap) => break (status, gap),
            Outcome::TooNoisy => double = true,
            Outcome::Converged(confirmed) => {
                confirmations += 1;
                // f64 rows cannot do better than their own rounding.
                if confirmed <= SLACK * stop.tolerance || (double && confirmations > 3) {
                    break (Status::Converged, confirmed);
                }
                // One refinement with f32 rows: the gradient is exact again, and only the
                // rounding of what changes from here on enters.
                double = double || confirmations > 1 || confirmed > 10.0 * stop.tolerance;
            }
        }
    };
    if status == Status::Converged {
        settle_objective(task, &mut state, tally.error)?;
    }
    let biases = biases(problem, &state.beta, &state.gradient);
    Ok(Solution {
        bias: (biases[0] + biases[1]) / 2.0,
        biases,
        report: Report {
            status,
            iterations: state.iterations,
            gap,
            objective: objective(problem, &state.beta, &state.gradient),
            kernel_evaluations: rows.evaluations(),
            cache_hits: tally.hits,
            cache_misses: tally.misses,
            seconds: control.started.elapsed().as_secs_f64(),
            phases: state.phases,
        },
        beta: state.beta,
        history: state.history,
    })
}

/// Computes the gradient of the support vectors again where its error makes the objective doubtful.
fn settle_objective(task: Task, state: &mut State, error: f64) -> Result<()> {
    let value = objective(task.problem, &state.beta, &state.gradient);
    if 0.5 * error * length(&state.beta) <= OBJECTIVE_SHARE * value.abs() {
        return Ok(());
    }
    let started = Instant::now();
    let support = (0..).zip(&state.beta).filter(|&(_, &beta)| beta != 0.0);
    let support: Vec<u32> = support.map(|(variable, _)| variable).collect();
    if let Some(exact) = exact_gradient(task, &state.beta, &support)? {
        for (&variable, exact) in support.iter().zip(exact) {
            state.gradient[variable as usize] = exact;
        }
    }
    state.phases.kernel += started.elapsed().as_secs_f64();
    Ok(())
}

/// What runs tell apart from what they have come to.
#[derive(Default)]
struct Tally {
    /// Of the cache.
    hits: u64,
    misses: u64,
    /// The largest error of the gradient that the last confirmation found.
    error: f64,
}

/// Runs with rows of type T from a state, of whose gradient the part of the kernel is missing
/// unless it is `known`.
fn run<M: Method, T: Precision>(
    method: &M,
    task: Task,
    kernel_rows: &mut KernelRows,
    known: bool,
    state: &mut State,
    tally: &mut Tally,
) -> Result<Outcome> {
    if task.matrix.noise::<T>().is_infinite() && size_of::<T>() == 4 {
        return Ok(Outcome::TooNoisy);
    }
    let bytes = method.cache_bytes().unwrap_or_else(fair_share);
    // The rows and what is done with them live as long as the rows of other problems.
    let task = Task {
        matrix: kernel_rows.matrix(),
        ..task
    };
    let mut rows = kernel_rows.take::<T>(bytes)?;
    let (before, time_before) = (rows.counters(), rows.kernel_time());
    let mut confirming = Duration::ZERO;
    tally.error = 0.0;
    let outcome = if known || add_start(task.control, &mut rows, state)? {
        let mut run = method.begin(task, rows, std::mem::take(state));
        let tolerance = method.stop_rule().tolerance;
        let outcome = confirmed(task, tolerance, &mut run, &mut tally.error, &mut confirming);
        (*state, rows) = run.end();
        outcome
    } else {
        let gap = Thresholds::of(task.problem, &state.beta, &state.gradient).gap();
        Ok(Outcome::Stopped(task.control.status(), gap))
    };
    let (hits, misses) = rows.counters();
    tally.hits += hits - before.0;
    tally.misses += misses - before.1;
    let kernel_time = rows.kernel_time() - time_before + confirming;
    state.phases.kernel += kernel_time.as_secs_f64();
    kernel_rows.give(rows);
    outcome
}

/// Advances a run and confirms the gap. Where the rounding of the rows alone lifts it over the
/// tolerance, the run goes on until there is room for that: the rows are there, and computing the
/// whole gradient again costs more. `error` becomes that of the gradient; `time` grows by what
/// confirming takes.
fn confirmed<'m, T: Precision>(
    task: Task,
    tolerance: f64,
    run: &mut impl Run<'m, T>,
    error: &mut f64,
    time: &mut Duration,
) -> Result<Outcome> {
    let mut target = tolerance;
    loop {
        let outcome = run.advance(target)?;
        if !matches!(outcome, Outcome::Converged(_)) {
            return Ok(outcome);
        }
        let (beta, mut gradient) = run.point();
        let found = Thresholds::of(task.problem, &beta, &gradient).gap();
        if run.is_double() && noise::<T>(task.matrix, &beta) < SURE_SHARE * tolerance {
            return Ok(match task.control.stop() {
                true => Outcome::Stopped(task.control.status(), found),
                false => Outcome::Converged(found),
            });
        }
        let started = Instant::now();
        let gap = confirm(task, &beta, &mut gradient, error)?;
        *time += started.elapsed();
        run.correct(&gradient);
        let Some(confirmed) = gap else {
            return Ok(Outcome::Stopped(task.control.status(), found));
        };
        let rounding = confirmed - found;
        let first = target == tolerance;
        if confirmed > SLACK * tolerance && rounding < 0.3 * tolerance && first {
            target -= 2.0 * rounding;
            continue;
        }
        return Ok(Outcome::Converged(confirmed));
    }
}

/// Adds the rows of the starting coefficients to the gradient. Returns false if stopped.
fn add_start<T: Precision>(
    control: &Control,
    rows: &mut CachedRows<T>,
    state: &mut State,
) -> Result<bool> {
    let changes: Vec<Change> = (0..)
        .zip(&state.beta)
        .filter(|&(_, &beta)| beta != 0.0)
        .map(|(variable, &factor)| Change {
            variable,
            factor,
            keep: false,
        })
        .collect();
    rows.add_to(&changes, 0, &mut state.gradient, &|| control.stop())
}

fn check(problem: &DualProblem, matrix: &KernelMatrix, stop: &StopRule) -> Result<()> {
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
    if stop.tolerance.is_nan() || stop.tolerance <= 0.0 {
        return Err(Error::parameter("tol", "positive", stop.tolerance));
    }
    Ok(())
}

/// Clock and monitor.
pub(super) struct Control<'a> {
    started: Instant,
    deadline: Option<Instant>,
    pub max_iterations: u64,
    monitor: &'a dyn Monitor,
    /// Tenths of a second for which progress was told.
    told: AtomicU64,
}

impl<'a> Control<'a> {
    fn new(stop: &StopRule, monitor: &'a dyn Monitor) -> Self {
        let started = Instant::now();
        Control {
            started,
            deadline: stop.time_limit.and_then(|limit| started.checked_add(limit)),
            max_iterations: stop.max_iterations.unwrap_or(u64::MAX),
            monitor,
            told: AtomicU64::new(0),
        }
    }

    pub fn stop(&self) -> bool {
        self.monitor.stop()
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Why [`stop`](Self::stop) was true.
    pub fn status(&self) -> Status {
        if self.monitor.stop() {
            Status::Interrupted
        } else {
            Status::TimeLimit
        }
    }

    pub fn tell(&self, iterations: u64, gap: f64, active: usize) {
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

/// The gradient at beta of the given variables, computed in f64; None if stopped.
fn exact_gradient(task: Task, beta: &[f64], at: &[u32]) -> Result<Option<Vec<f64>>> {
    let problem = task.problem;
    let product = task.matrix.product(beta, at, &|| task.control.stop())?;
    Ok(product.map(|mut gradient| {
        for (&i, gradient) in at.iter().zip(&mut gradient) {
            let i = i as usize;
            *gradient += problem.linear[i] + problem.ridge[i] * beta[i];
        }
        gradient
    }))
}

/// Tells how wrong the gradient may be, from that of a few variables recomputed in f64.
pub(super) fn measured_noise(task: Task, beta: &[f64], some: &[(u32, f64)]) -> Result<Option<f64>> {
    let variables: Vec<u32> = some.iter().map(|&(variable, _)| variable).collect();
    let exact = exact_gradient(task, beta, &variables)?;
    let errors = |exact: Vec<f64>| {
        let pairs = exact.into_iter().zip(some);
        pairs.fold(0.0f64, |worst, (exact, &(_, found))| {
            worst.max((exact - found).abs())
        })
    };
    Ok(exact.map(|exact| UNSEEN * errors(exact)))
}

/// Recomputes part of the gradient in f64, puts it in its place, and returns an upper estimate of
/// the true gap; None if stopped. `error` becomes the largest error that was found.
///
/// Recomputed are the extremes on both sides, which decide the gap, and a sample of all variables,
/// which tells how wrong the others may be.
fn confirm(task: Task, beta: &[f64], gradient: &mut [f64], error: &mut f64) -> Result<Option<f64>> {
    let (problem, n) = (task.problem, beta.len());
    let point = |i: usize, gradient: &[f64]| problem.point(i, beta[i], gradient[i]);
    let count = (n / 16).clamp(CHECKED.0, CHECKED.1);
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
    let Some(exact) = exact_gradient(task, beta, &checked)? else {
        return Ok(None);
    };
    let mut is_checked = vec![false; n];
    *error = 0.0;
    for (&i, exact) in checked.iter().zip(exact) {
        let i = i as usize;
        *error = error.max((exact - gradient[i]).abs());
        gradient[i] = exact;
        is_checked[i] = true;
    }
    let doubtful = |i: usize| if is_checked[i] { 0.0 } else { UNSEEN * *error };
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
pub(super) fn objective(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let terms = beta.iter().enumerate().map(|(i, beta)| {
        0.5 * beta * (gradient[i] + problem.linear[i]) + problem.absolute[i] * beta.abs()
    });
    let sum: f64 = beta.iter().sum();
    let slack = problem.constraint.slack().unwrap_or(0.0);
    terms.sum::<f64>() + 0.5 * slack * sum * sum
}

/// Tells whether the objective seems to have no minimum, from the coefficients, gradients, linear
/// terms and factors of |beta| of variables and their largest diagonal value.
///
/// With A the fall of the linear terms and Q = beta' K beta, the objective on the ray through
/// beta has the minimum -A^2 / (2 Q). For a hard margin the minimum of the whole problem is
/// -1/2 |w|^2, so A^2 / Q is a lower bound of |w|^2 and sqrt(Q) / A one above the margin.
pub(super) fn diverges(variables: impl Iterator<Item = [f64; 4]>, largest: f64) -> bool {
    let (mut fall, mut square) = (0.0, 0.0);
    for [beta, gradient, linear, absolute] in variables {
        fall -= beta * linear + beta.abs() * absolute;
        square += beta * (gradient - linear);
    }
    fall > 0.0 && square <= (NARROWEST_MARGIN * fall).powi(2) * largest
}

/// Estimates the rounding error of the gradient with rows of type T: independent errors of the row
/// entries.
pub(super) fn noise<T: Real>(matrix: &KernelMatrix, beta: &[f64]) -> f64 {
    matrix.noise::<T>() * length(beta)
}

/// The Euclidean norm.
fn length(beta: &[f64]) -> f64 {
    beta.iter().map(|beta| beta * beta).sum::<f64>().sqrt()
}

/// Returns the largest value of a diagonal, at least 0.
pub(super) fn largest(diagonal: &[f64]) -> f64 {
    diagonal.iter().fold(0.0f64, |a, &b| a.max(b))
}
