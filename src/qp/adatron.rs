//! Adatron: the Kernel-Adatron, coordinate ascent through all variables in turn.
//!
//! An epoch takes every variable once. At bias b, with g the gradient, a step is
//!
//! ```text
//! beta_i <- clip(beta_i - eta (g_i + b) / (K_ii + ridge_i))
//! ```
//!
//! With eta between 0 and 2 no step can lower the dual objective at this bias, and with eta = 1
//! each goes as far up as it can alone. Without a bias b is 0; a penalised bias is the sum of the
//! coefficients, which makes the kernel K + 1 and the steps those of successive over-relaxation.
//! The variable of a regression stands for two multipliers, alpha - alpha*, of which one is zero:
//! a step moves the other, and when that comes to zero, the one. A free bias is the multiplier of
//! the fixed sum: see [`Secant`].
//!
//! The order is a new one in every second epoch, drawn from a fixed seed; the one between goes back the
//! same way. In the same order again and again a step passes its error on to the next variable rather
//! than removing it, and an epoch hardly mixes the errors of variables far apart: that takes up to some
//! hundred times as many epochs. Going back makes a pair of epochs a symmetric one, for which eta near
//! 1 is best, as it is for steps alone; one way only, larger ones would be.
//!
//! Steps are taken in chunks: within one, only the kernel values between its members are needed to
//! know the gradient of the next; then the rows of all that changed are added to the whole gradient
//! at once, on all cores. The steps are those of a plain loop, whatever the number of threads.
//!
//! Campbell, Cristianini: Simple learning algorithms for training support vector machines (1998).
//! Anlauf, Biehl: The AdaTron, an adaptive perceptron algorithm, Europhysics Letters 10 (1989).
//! Mangasarian, Musicant: Successive overrelaxation for support vector machines, IEEE Transactions
//! on Neural Networks 10 (1999).

mod step;
mod sum;

use super::kkt::{Point, Thresholds, biases};
use super::secant::Secant;
use super::solve::{
    Method, NOISE_SHARE, Outcome, Run, State, Task, diverges, largest, noise, objective, solve_on,
};
use super::{Constraint, DualProblem, Epoch, Monitor, Solution, Status, StopRule};
use crate::error::{Error, Result};
use crate::matrix::{CachedRows, Change, KernelMatrix, KernelRows, Precision};
use std::time::Instant;
use step::stepped;

/// Variables of a chunk: enough to have rows for all cores to add, few enough to keep what is read
/// in between small.
const CHUNK: usize = 64;
/// Epochs between two looks for divergence.
const EPOCHS_BEFORE_LOOK: u64 = 16;
/// Problems of up to this many variables are solved far beyond the tolerance: it costs next to
/// nothing, and results on toy data agree to many digits however they were asked for.
const TINY: usize = 64;
/// The share of the tolerance to which they are.
const POLISH_SHARE: f64 = 1e-6;
/// Epochs that this may take.
const POLISH_EPOCHS: u64 = 1000;
/// The distance of the first two biases from that of the start, as a share of the gap: 0.1 for a
/// classifier.
const FIRST_DISTANCE: f64 = 0.05;

/// The Kernel-Adatron and its settings.
///
/// ```
/// use mercer::{Kernel, Svc, qp::Adatron};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let svc = Svc::new(Kernel::rbf(1.0)).c(10.0).solver(Adatron { eta: 1.2, ..Adatron::default() });
/// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.predict(x.view())?, [0, 0, 1, 1]);
/// assert_eq!(model.machines().histories[0].len() as u64, model.reports()[0].iterations);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adatron {
    /// When to stop; iterations are epochs.
    pub stop: StopRule,
    /// The length of a step, as a share of that to the top: above 0 and below 2.
    pub eta: f64,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
}

impl Default for Adatron {
    fn default() -> Self {
        Adatron {
            stop: StopRule::default(),
            eta: 1.0,
            cache_bytes: None,
        }
    }
}

impl Adatron {
    /// Solves a problem. Running out of time or epochs is a [`Status`], not an error.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[false, true], &[9.0, 9.0], Loss::Linear, Intercept::Free);
    /// let solution = Adatron::default().solve(&problem, &matrix, &Unwatched)?;
    /// assert!((solution.beta[1] - 0.5).abs() < 1e-3); // f(x) = x
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If eta is not above 0 and below 2, the constraint fixes two sums, the kernel need not be
    /// positive semi-definite and the constraint fixes the sum, or as [`Smo::solve`](super::Smo::solve).
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
    /// # use mercer::{Kernel, Samples, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let mut rows = KernelRows::new(&matrix);
    /// let problem = svc(&[false, true], &[0.1, 0.1], Loss::Linear, Intercept::None);
    /// let solution = Adatron::default().solve_on(&problem, &mut rows, &Unwatched)?;
    /// assert_eq!(solution.beta, [-0.1, 0.1]);
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
        if !(self.eta > 0.0 && self.eta < 2.0) {
            let allowed =
                "above 0 and below 2 (outside, steps overshoot and the objective need not rise)";
            return Err(Error::parameter("eta", allowed, self.eta));
        }
        let fixes_sums = match problem.constraint {
            Constraint::Sum => rows.matrix().may_be_indefinite(),
            Constraint::TwoSums(_) => true,
            Constraint::Penalized | Constraint::None => false,
        };
        if fixes_sums {
            let allowed = match problem.constraint {
                Constraint::Sum => {
                    "'smo' for a kernel that need not be positive semi-definite (without a maximum \
                     at each bias there is no right one to be found)"
                }
                _ => "'smo' where two sums are fixed (the bias of one is all that 'adatron' finds)",
            };
            return Err(Error::parameter("solver", allowed, "'adatron'"));
        }
        solve_on(self, problem, rows, monitor)
    }
}

impl Method for Adatron {
    type Run<'a, 'm: 'a, T: Precision> = Sweeps<'a, 'm, T>;

    fn stop_rule(&self) -> &StopRule {
        &self.stop
    }

    fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Sweeps<'a, 'm, T> {
        Sweeps {
            settings: self,
            task,
            rows,
            order: (0..state.beta.len() as u32).collect(),
            block: Vec::new(),
            sum: match task.problem.constraint {
                Constraint::Sum => task.problem.start.iter().sum(),
                _ => 0.0,
            },
            // Kernels may be zero everywhere.
            steepest: (largest(task.matrix.diagonal()) + largest(&task.problem.ridge))
                .max(f64::MIN_POSITIVE),
            before: Vec::new(),
            state,
        }
    }
}

/// A run: the state of the epochs.
pub(super) struct Sweeps<'a, 'm, T> {
    settings: &'a Adatron,
    task: Task<'a, 'm>,
    rows: CachedRows<'m, T>,
    state: State,
    /// The order of the last epoch.
    order: Vec<u32>,
    /// The small matrix of a chunk, row by row; empty until it is needed.
    block: Vec<T>,
    /// The sum to keep; 0 if none is fixed.
    sum: f64,
    /// The largest curvature.
    steepest: f64,
    /// The gradient before a chunk.
    before: Vec<f64>,
}

impl<'m, T: Precision> Run<'m, T> for Sweeps<'_, 'm, T> {
    fn is_double(&self) -> bool {
        self.rows.is_double()
    }

    fn advance(&mut self, tolerance: f64) -> Result<Outcome> {
        let outcome = self.epochs(tolerance, self.task.control.max_iterations)?;
        match outcome {
            Outcome::Converged(_) if self.state.beta.len() <= TINY => {
                self.polish(tolerance)?;
                Ok(Outcome::Converged(self.thresholds().gap()))
            }
            Outcome::Stopped(status, _) => {
                self.keep_sum()?;
                let gap = self.thresholds().gap();
                let good = gap <= tolerance && self.excess() == 0.0;
                Ok(match status {
                    // The sum was all that was missing.
                    Status::MaxIterations if good => Outcome::Converged(gap),
                    _ => Outcome::Stopped(status, gap),
                })
            }
            outcome => Ok(outcome),
        }
    }

    fn point(&self) -> (Vec<f64>, Vec<f64>) {
        (self.state.beta.clone(), self.state.gradient.clone())
    }

    fn correct(&mut self, gradient: &[f64]) {
        self.state.gradient.copy_from_slice(gradient);
    }

    fn end(self) -> (State, CachedRows<'m, T>) {
        (self.state, self.rows)
    }
}

impl<T: Precision> Sweeps<'_, '_, T> {
    fn thresholds(&self) -> Thresholds {
        Thresholds::of(self.task.problem, &self.state.beta, &self.state.gradient)
    }

    fn point_of(&self, i: usize) -> Point {
        let state = &self.state;
        self.task.problem.point(i, state.beta[i], state.gradient[i])
    }

    /// Returns by how much the sum is too large; 0 if it is not fixed.
    fn excess(&self) -> f64 {
        match self.task.problem.constraint {
            Constraint::Sum => {
                let (excess, size) = self
                    .state
                    .beta
                    .iter()
                    .fold((-self.sum, 0.0), |(s, a), b| (s + b, a + b.abs()));
                if excess.abs() <= 4.0 * f64::EPSILON * size {
                    0.0
                } else {
                    excess
                }
            }
            _ => 0.0,
        }
    }

    /// Goes from epoch to epoch until the gap is at most `tolerance` and the sum is kept.
    fn epochs(&mut self, tolerance: f64, max_epochs: u64) -> Result<Outcome> {
        let Task {
            problem,
            matrix,
            control,
        } = self.task;
        let mut secant = self.secant();
        // The excess that was last made to vanish, in vain.
        let mut tried = f64::INFINITY;
        loop {
            let mut gap = self.thresholds().gap();
            control.tell(self.state.iterations, gap, self.state.beta.len());
            let excess = self.excess().abs();
            // The first is sure to succeed; the second often does long before.
            let sure = gap + self.steepest * excess <= tolerance;
            if sure || (gap <= 0.5 * tolerance && excess <= 0.5 * tried) {
                tried = excess;
                if !self.settle_sum(tolerance)? {
                    return Ok(Outcome::Stopped(control.status(), gap));
                }
                gap = self.thresholds().gap();
            }
            if gap <= tolerance && self.excess() == 0.0 {
                return Ok(Outcome::Converged(gap));
            }
            if control.stop() {
                return Ok(Outcome::Stopped(control.status(), gap));
            }
            if self.state.iterations >= max_epochs {
                return Ok(Outcome::Stopped(Status::MaxIterations, gap));
            }
            if self.diverges() {
                return Ok(Outcome::Stopped(Status::Diverged, gap));
            }
            let noise = noise::<T>(matrix, &self.state.beta);
            if size_of::<T>() == 4 && noise > NOISE_SHARE * gap.max(tolerance) {
                return Ok(Outcome::TooNoisy);
            }
            let (bias, charge) = match problem.constraint {
                Constraint::Penalized => (0.0, 1.0),
                Constraint::Sum => (secant.bias(), secant.charge()),
                _ => (0.0, 0.0),
            };
            let (started, kernel) = (Instant::now(), self.rows.kernel_time());
            let update = self.state.phases.update;
            let swept = self.sweep(bias, charge)?;
            let others = (self.rows.kernel_time() - kernel).as_secs_f64()
                + (self.state.phases.update - update);
            self.state.phases.inner += (started.elapsed().as_secs_f64() - others).max(0.0);
            match swept {
                Swept::Stopped => return Ok(Outcome::Stopped(control.status(), gap)),
                Swept::Unbounded => return Ok(Outcome::Stopped(Status::Diverged, gap)),
                Swept::Whole => {}
            }
            self.state.iterations += 1;
            let epoch = self.epoch(bias);
            secant.observe(self.excess(), epoch.gap);
            self.state.history.push(epoch);
        }
    }

    /// Begins the search for the bias where the coefficients are.
    fn secant(&self) -> Secant {
        let Task {
            problem, matrix, ..
        } = self.task;
        let bias = biases(problem, &self.state.beta, &self.state.gradient)[0];
        let distance = FIRST_DISTANCE * self.thresholds().gap();
        let total: f64 = matrix.diagonal().iter().chain(&problem.ridge).sum();
        let mean = total / matrix.len() as f64;
        let curvature = if mean > 0.0 { mean } else { 1.0 };
        Secant::new(bias, distance, curvature, self.settings.eta)
    }

    /// Goes on from a tolerable solution of a tiny problem, unless that makes it worse.
    fn polish(&mut self, tolerance: f64) -> Result<()> {
        let (beta, gradient) = (self.state.beta.clone(), self.state.gradient.clone());
        let epochs = self.state.iterations.saturating_add(POLISH_EPOCHS);
        let epochs = epochs.min(self.task.control.max_iterations);
        self.epochs(POLISH_SHARE * tolerance, epochs)?;
        self.keep_sum()?;
        if self.excess() != 0.0 || self.thresholds().gap() > tolerance {
            (self.state.beta, self.state.gradient) = (beta, gradient);
        }
        Ok(())
    }

    /// Describes the epoch that has just ended.
    fn epoch(&self, bias: f64) -> Epoch {
        let (problem, state) = (self.task.problem, &self.state);
        let sum: f64 = state.beta.iter().sum();
        let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
        for i in 0..state.beta.len() {
            let point = self.point_of(i);
            if point.lower == 0.0 && point.may_grow() {
                m = m.max(point.up());
            }
            if point.upper == 0.0 && point.may_shrink() {
                big_m = big_m.min(point.down());
            }
        }
        let margin = 1.0 - (m - big_m) / 2.0;
        let objective = objective(problem, &state.beta, &state.gradient);
        Epoch {
            objective: -objective - bias * (sum - self.sum),
            margin: if margin.is_finite() { margin } else { f64::NAN },
            bias: match problem.constraint {
                Constraint::Penalized => sum,
                _ => bias,
            },
            gap: self.thresholds().gap(),
        }
    }

    /// Tells whether the objective seems to have no minimum.
    fn diverges(&self) -> bool {
        let (problem, state) = (self.task.problem, &self.state);
        if !problem.may_diverge() || !state.iterations.is_multiple_of(EPOCHS_BEFORE_LOOK) {
            return false;
        }
        let all = (0..state.beta.len()).map(|i| {
            let (linear, absolute) = (problem.linear[i], problem.absolute[i]);
            [state.beta[i], state.gradient[i], linear, absolute]
        });
        diverges(all, largest(self.task.matrix.diagonal()))
    }

    /// Takes every variable once, at one bias, with half the square of the excess charged.
    fn sweep(&mut self, bias: f64, charge: f64) -> Result<Swept> {
        let problem = self.task.problem;
        let mut excess = self.state.beta.iter().sum::<f64>() - self.sum;
        match self.state.iterations.is_multiple_of(2) {
            true => shuffle(&mut self.order, self.state.iterations),
            false => self.order.reverse(),
        }
        let order = std::mem::take(&mut self.order);
        let mut swept = Swept::Whole;
        let mut gradient = Vec::with_capacity(CHUNK);
        let mut moved: Vec<(usize, f64)> = Vec::with_capacity(CHUNK);
        'chunks: for chunk in order.chunks(CHUNK) {
            gradient.clear();
            gradient.extend(chunk.iter().map(|&i| self.state.gradient[i as usize]));
            self.block.clear();
            moved.clear();
            if !self.fetch_ahead(chunk, bias + charge * excess, charge)? {
                swept = Swept::Stopped;
                break;
            }
            for (at, &variable) in chunk.iter().enumerate() {
                let i = variable as usize;
                let mut point = self.point_of(i);
                point.gradient = gradient[at] + bias + charge * excess;
                let mut beta = stepped(&point, self.curvature(i) + charge, self.settings.eta);
                if beta.is_infinite() {
                    if problem.constraint != Constraint::Sum {
                        swept = Swept::Unbounded;
                        break 'chunks;
                    }
                    // Another bias may hold it back: some way to there.
                    beta = stepped(&point, self.steepest, self.settings.eta);
                }
                let change = beta - point.beta;
                if change == 0.0 {
                    continue;
                }
                excess += change;
                moved.push((i, beta));
                if !self.add_within(chunk, at, change, &mut gradient)? {
                    swept = Swept::Stopped;
                    break 'chunks;
                }
            }
            if !self.apply(&moved, &|| self.task.control.stop())? {
                swept = Swept::Stopped;
                break;
            }
        }
        self.order = order;
        Ok(swept)
    }

    fn curvature(&self, i: usize) -> f64 {
        self.task.matrix.diagonal()[i] + self.task.problem.ridge[i]
    }

    /// Tells whether so many rows more can be held without giving others up: every epoch wants the
    /// same rows, and what does not fit is better computed again than put in the place of what will
    /// be wanted sooner.
    fn has_room(&self, rows: usize) -> bool {
        self.rows.held() + rows <= self.rows.capacity()
    }

    /// Fetches the rows of the members of a chunk that would move now, all at once. Returns false if
    /// stopped.
    fn fetch_ahead(&mut self, chunk: &[u32], bias: f64, charge: f64) -> Result<bool> {
        let moves = |variable: u32| {
            let i = variable as usize;
            let mut point = self.point_of(i);
            point.gradient += bias;
            stepped(&point, self.curvature(i) + charge, self.settings.eta) != point.beta
        };
        let missing = chunk.iter().copied();
        let missing: Vec<u32> = missing
            .filter(|&variable| !self.rows.holds(variable) && moves(variable))
            .collect();
        if missing.is_empty() || !self.has_room(missing.len()) {
            return Ok(true);
        }
        let stop = || self.task.control.stop();
        self.rows.fetch(&missing, self.state.beta.len(), &stop)
    }

    /// Adds a multiple of the row of a member to the gradients of those after it in the chunk.
    /// Returns false if stopped.
    fn add_within(
        &mut self,
        chunk: &[u32],
        at: usize,
        change: f64,
        gradient: &mut [f64],
    ) -> Result<bool> {
        let (variable, after) = (chunk[at], at + 1..chunk.len());
        let gradients = gradient[after.clone()].iter_mut();
        let stop = || self.task.control.stop();
        if !self.rows.holds(variable) && self.has_room(1) {
            let length = self.state.beta.len();
            if !self.rows.fetch(&[variable], length, &stop)? {
                return Ok(false);
            }
        }
        if self.rows.holds(variable) {
            let row = self.rows.row(variable);
            for (gradient, &other) in gradients.zip(&chunk[after]) {
                *gradient += change * row[other as usize].to_f64();
            }
            return Ok(true);
        }
        if self.block.is_empty() {
            let size = chunk.len();
            self.block.resize(size * size, T::from_f64(0.0));
            if !self.rows.block(chunk, &mut self.block, size, &stop)? {
                return Ok(false);
            }
        }
        let row = &self.block[at * chunk.len()..];
        for (gradient, value) in gradients.zip(&row[after]) {
            *gradient += change * value.to_f64();
        }
        Ok(true)
    }

    /// Gives variables new coefficients. Returns false if stopped, and then nothing has changed.
    fn apply(&mut self, moved: &[(usize, f64)], stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        if moved.is_empty() {
            return Ok(true);
        }
        let changes: Vec<Change> = moved
            .iter()
            .map(|&(i, beta)| Change {
                variable: i as u32,
                factor: beta - self.state.beta[i],
                keep: false,
            })
            .collect();
        // With rows that are held there is nothing to wait for, and nothing to undo.
        if !moved.iter().all(|&(i, _)| self.rows.holds(i as u32)) {
            self.before.clone_from(&self.state.gradient);
        }
        let (started, kernel) = (Instant::now(), self.rows.kernel_time());
        let gradient = &mut self.state.gradient;
        let added = self.rows.add_to(&changes, 0, gradient, stop)?;
        let others = self.rows.kernel_time() - kernel;
        self.state.phases.update += started.elapsed().saturating_sub(others).as_secs_f64();
        if !added {
            std::mem::swap(&mut self.before, &mut self.state.gradient);
            return Ok(false);
        }
        for &(i, beta) in moved {
            self.state.gradient[i] += (beta - self.state.beta[i]) * self.task.problem.ridge[i];
            self.state.beta[i] = beta;
        }
        Ok(true)
    }
}

/// Puts variables in a new order, which is the same for the same epoch of the same order.
fn shuffle(order: &mut [u32], epoch: u64) {
    let mut state = epoch;
    for last in (1..order.len()).rev() {
        // Splitmix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut random = state;
        random = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        random ^= random >> 31;
        order.swap(last, (random % (last as u64 + 1)) as usize);
    }
}

/// How a sweep ended.
enum Swept {
    Whole,
    Stopped,
    /// A variable without curvature would go to infinity.
    Unbounded,
}
