//! Adatron: the Kernel-Adatron, coordinate ascent through all variables in turn.
//!
//! An epoch takes every variable once. At intercept b, with g the gradient, a step is
//!
//! ```text
//! beta_i <- clip(beta_i - eta (g_i + b) / (K_ii + ridge_i))
//! ```
//!
//! With eta between 0 and 2 no step can lower the dual objective at this intercept, and with eta = 1
//! each goes as far up as it can alone. Without an intercept b is 0; a penalised one is the sum of
//! the coefficients, which makes the kernel K + 1 and the steps those of successive over-relaxation.
//! The variable of a regression stands for two multipliers, alpha - alpha*, of which one is zero:
//! a step moves the other, and when that comes to zero, the one. A free intercept is the multiplier
//! of the fixed sum: see [`Secant`].
//!
//! The order is a new one in every second epoch, drawn from a fixed seed; the epoch between goes back
//! the same way. The published order is that of the rows, [`Order::Cyclic`]. In the same order again and again a step passes its error on to the next variable
//! rather than removing it, and an epoch hardly mixes the errors of variables far apart: that takes
//! up to some hundred times as many epochs. Going back makes a pair of epochs a symmetric one, for
//! which eta near 1 is best, as it is for steps alone; one way only, larger ones would be.
//!
//! Campbell, Cristianini: Simple learning algorithms for training support vector machines (1998).
//! Anlauf, Biehl: The AdaTron, an adaptive perceptron algorithm, Europhysics Letters 10 (1989).
//! Mangasarian, Musicant: Successive overrelaxation for support vector machines, IEEE Transactions
//! on Neural Networks 10 (1999).

mod perceptron;
mod secant;
mod settings;
mod step;
mod sum;
mod sweep;

use super::confirm::estimated_noise;
use super::control::StopRule;
use super::coordinates::Coordinates;
use super::divergence::{diverges, largest};
use super::driver::{Method, NOISE_SHARE, Outcome, POLISH_SHARE, Run, State, TINY};
use super::kkt::{Thresholds, intercepts};
use super::phases::Stopwatch;
use super::problem::{Constraint, DualProblem};
use super::report::{Algorithm, Epoch, Status};
use super::task::Task;
use crate::error::{Error, Halt, Polled, Result, Stop, unless_stopped};
use crate::matrix::{CachedRows, KernelMatrix, Precision};
use secant::Secant;
pub use settings::{Adatron, LearningRule, Order};

/// The search for the intercept is slow where the kernel has a large constant part, so linear kernels are
/// centred unless the origin is among the rows.
const FAR: f64 = 1.0;
/// Epochs between two looks for divergence: each is a pass over all variables.
const EPOCHS_BEFORE_LOOK: u64 = 16;
/// Epochs that polishing may take: of a tiny problem, some hundredths of a second.
const POLISH_EPOCHS: u64 = 1000;
/// The distance of the first two intercepts from that of the start, as a share of the gap: 0.1 for a
/// classifier.
const FIRST_DISTANCE: f64 = 0.05;

impl Method for Adatron {
    fn stop_rule(&self) -> &StopRule {
        &self.stop
    }

    fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    fn algorithm(&self) -> Algorithm {
        match self.rule {
            LearningRule::Adatron => Algorithm::Adatron,
            LearningRule::Perceptron => Algorithm::Perceptron,
            LearningRule::MinOver => Algorithm::MinOver,
        }
    }

    fn far(&self) -> f64 {
        FAR
    }

    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()> {
        self.check_eta()?;
        if self.rule != LearningRule::Adatron {
            return perceptron::check(problem);
        }
        let allowed = match problem.constraint {
            Constraint::Sum if matrix.may_be_indefinite() => {
                "'smo' for a kernel that need not be positive semi-definite (without a maximum at \
                 each intercept there is no right one to be found)"
            }
            Constraint::TwoSums(_) => {
                "'smo' where two sums are fixed (the intercept of one is all that 'adatron' finds)"
            }
            _ => return Ok(()),
        };
        Err(Error::parameter("solver", allowed, "'adatron'"))
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Box<dyn Run<'m, T> + 'a> {
        let (problem, matrix) = (task.problem, task.matrix);
        Box::new(Sweeps {
            settings: self,
            task,
            rows,
            order: (0..matrix.len() as u32).collect(),
            block: Vec::new(),
            sum: match problem.constraint {
                Constraint::Sum => problem.start.iter().sum(),
                _ => 0.0,
            },
            // Kernels may be zero everywhere.
            steepest: (largest(matrix.diagonal()) + largest(&problem.ridge)).max(f64::MIN_POSITIVE),
            feasible: state.coordinates.clone(),
            state,
        })
    }
}

/// The epochs and where they are.
struct Sweeps<'a, 'm, T> {
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
    /// The last point at which the sum was kept.
    feasible: Coordinates,
}

impl<'m, T: Precision> Run<'m, T> for Sweeps<'_, 'm, T> {
    /// Takes epochs to the tolerance, and far beyond for tiny problems. A model is to keep the sum
    /// for whatever reason it was stopped, so an early end makes it right.
    fn advance(&mut self, tolerance: f64) -> Polled<Outcome> {
        if self.excess() == 0.0 {
            self.feasible = self.state.coordinates.clone();
        }
        let control = self.task.control;
        if self.settings.rule != LearningRule::Adatron {
            return self.learn(tolerance);
        }
        let outcome = self.epochs(tolerance, control.max_iterations);
        match &outcome {
            Ok(Outcome::Converged) if self.state.coordinates.len() <= TINY => {
                self.polish(tolerance)?;
            }
            Ok(Outcome::Converged) | Err(Halt::Failed(_)) => {}
            Ok(Outcome::GaveUp(Status::MaxIterations | Status::Settled)) => {
                self.become_feasible(&|| control.stop())?;
                if self.thresholds().gap() <= tolerance {
                    return Ok(Outcome::Converged); // the sum was all that was missing
                }
            }
            Ok(_) => self.become_feasible(&|| control.stop())?,
            Err(Halt::Stopped) => self.become_feasible(&|| true)?,
        }
        outcome
    }

    fn rows(&mut self) -> &mut CachedRows<'m, T> {
        &mut self.rows
    }

    fn coordinates(&self) -> Coordinates {
        self.state.coordinates.clone()
    }

    fn correct(&mut self, gradient: &[f64]) {
        self.state.coordinates.gradient.copy_from_slice(gradient);
    }

    fn end(self: Box<Self>) -> (State, CachedRows<'m, T>) {
        (self.state, self.rows)
    }
}

impl<T: Precision> Sweeps<'_, '_, T> {
    /// Goes from epoch to epoch until the gap is at most `tolerance` and the sum is kept.
    fn epochs(&mut self, tolerance: f64, max_epochs: u64) -> Polled<Outcome> {
        let control = self.task.control;
        let mut secant = self.secant();
        // The excess that was last made to vanish, in vain.
        let mut tried = f64::INFINITY;
        loop {
            let mut gap = self.thresholds().gap();
            let at = &self.state.coordinates;
            control.tell(self.state.iterations, gap, at.len(), || {
                self.task.problem.point(&at.beta, &at.gradient)
            });
            let excess = self.excess().abs();
            // The first is sure to succeed; the second often does long before.
            let sure = gap + self.steepest * excess <= tolerance;
            if sure || (gap <= 0.5 * tolerance && excess <= 0.5 * tried) {
                tried = excess;
                self.settle_sum(tolerance)?;
                gap = self.thresholds().gap();
            }
            if gap <= tolerance && self.excess() == 0.0 {
                return Ok(Outcome::Converged);
            }
            control.poll()?;
            if self.state.iterations >= max_epochs {
                return Ok(Outcome::GaveUp(Status::MaxIterations));
            }
            if let Some(status) = self.diverges() {
                return Ok(Outcome::GaveUp(status));
            }
            if self.noise() > NOISE_SHARE * gap.max(tolerance) {
                return Ok(Outcome::TooNoisy);
            }
            let (intercept, charge) = self.intercept_and_charge(&secant);
            let watch = Stopwatch::beside(self.other_phases());
            let bounded = self.sweep(intercept, charge);
            self.state.phases.inner += watch.seconds_beside(self.other_phases());
            if !bounded? {
                return Ok(Outcome::GaveUp(Status::Diverged));
            }
            self.state.iterations += 1;
            let epoch = self.epoch(intercept);
            secant.observe(self.excess(), epoch.gap);
            let settled = self.has_settled(&epoch, tolerance);
            self.state.history.push(epoch);
            if settled {
                return Ok(Outcome::GaveUp(Status::Settled));
            }
        }
    }

    /// Tells whether to stop after an epoch because margin and intercept have settled: the margin, which
    /// may pass 1 on its way, was there in the epoch before, too, and the sum is kept.
    fn has_settled(&self, epoch: &Epoch, tolerance: f64) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance;
        let is_near =
            |before: &Epoch| near(before.margin, 1.0) && near(before.intercept, epoch.intercept);
        self.settings.settle
            && near(epoch.margin, 1.0)
            && self.state.history.last().is_some_and(is_near)
            && self.steepest * self.excess().abs() <= tolerance
    }

    /// Makes the sum right; where there is no time for that, or the objective would be higher than it was
    /// when the sum was last right, goes back to there.
    fn become_feasible(&mut self, stop: Stop) -> Polled<()> {
        let kept = unless_stopped(self.keep_sum(stop))?;
        let objective = |at: &Coordinates| self.task.problem.objective(&at.beta, &at.gradient);
        let risen = objective(&self.state.coordinates) > objective(&self.feasible);
        if kept.is_none() || self.excess() != 0.0 || risen {
            self.state.coordinates.clone_from(&self.feasible);
        }
        Ok(())
    }

    /// Goes on from a tolerable solution of a tiny problem, unless that makes it worse.
    fn polish(&mut self, tolerance: f64) -> Polled<()> {
        let before = self.state.coordinates.clone();
        let epochs = self.state.iterations.saturating_add(POLISH_EPOCHS);
        let epochs = epochs.min(self.task.control.max_iterations);
        let polished = self.epochs(POLISH_SHARE * tolerance, epochs);
        unless_stopped(self.keep_sum(&|| true))?;
        if self.excess() != 0.0 || self.thresholds().gap() > tolerance {
            self.state.coordinates = before;
        }
        polished.map(|_| ())
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds::at(&self.state.coordinates, &self.task.problem.constraint)
    }

    /// Returns by how much the sum is too large; 0 if it is not fixed.
    fn excess(&self) -> f64 {
        if self.task.problem.constraint != Constraint::Sum {
            return 0.0;
        }
        let beta = self.state.coordinates.beta.iter();
        let (excess, size) = beta.fold((-self.sum, 0.0), |(s, a), b| (s + b, a + b.abs()));
        match excess.abs() <= 4.0 * f64::EPSILON * size {
            true => 0.0,
            false => excess,
        }
    }

    fn noise(&self) -> f64 {
        estimated_noise::<T>(self.task.matrix, &self.state.coordinates.beta)
    }

    /// Returns the seconds of the phases that a sweep goes through beside its own.
    fn other_phases(&self) -> f64 {
        self.rows.kernel_time().as_secs_f64() + self.state.phases.update
    }

    /// Begins the search for the intercept where the coefficients are.
    fn secant(&self) -> Secant {
        let Task {
            problem, matrix, ..
        } = self.task;
        let start = intercepts(&self.state.coordinates, &problem.constraint)[0];
        let distance = FIRST_DISTANCE * self.thresholds().gap();
        let total: f64 = matrix.diagonal().iter().chain(&problem.ridge).sum();
        let mean = total / matrix.len() as f64;
        let curvature = if mean > 0.0 { mean } else { 1.0 };
        match self.settings.mu {
            // After the first epochs the search goes on from where it is.
            Some(mu) if self.state.history.is_empty() => {
                Secant::published(mu, curvature, self.settings.eta)
            }
            _ => Secant::new(start, distance, curvature, self.settings.eta),
        }
    }

    /// Returns the intercept of the next epoch, and the factor of half the square of the excess.
    fn intercept_and_charge(&self, secant: &Secant) -> (f64, f64) {
        match self.task.problem.constraint {
            Constraint::Penalized => (0.0, 1.0),
            Constraint::Sum => (secant.intercept(), secant.charge()),
            _ => (0.0, 0.0),
        }
    }

    /// Describes the epoch that has just ended.
    fn epoch(&self, intercept: f64) -> Epoch {
        let (problem, coordinates) = (self.task.problem, &self.state.coordinates);
        let sum: f64 = coordinates.beta.iter().sum();
        let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
        for i in 0..coordinates.len() {
            let point = coordinates.point(i);
            if point.lower == 0.0 && point.may_grow() {
                m = m.max(point.up());
            }
            if point.upper == 0.0 && point.may_shrink() {
                big_m = big_m.min(point.down());
            }
        }
        let margin = 1.0 - (m - big_m) / 2.0;
        let objective = problem.objective(&coordinates.beta, &coordinates.gradient);
        Epoch {
            objective: -objective - intercept * (sum - self.sum),
            margin: if margin.is_finite() { margin } else { f64::NAN },
            intercept: match problem.constraint {
                Constraint::Penalized => sum,
                _ => intercept - self.task.shift(&coordinates.beta),
            },
            gap: self.thresholds().gap(),
        }
    }

    /// Tells how to end if the objective seems to have no minimum.
    fn diverges(&self) -> Option<Status> {
        let (problem, state) = (self.task.problem, &self.state);
        if !self.task.may_be_unbounded() || !state.iterations.is_multiple_of(EPOCHS_BEFORE_LOOK) {
            return None;
        }
        let all = (0..state.coordinates.len()).map(|i| {
            let point = state.coordinates.point(i);
            let linear = problem.linear[i];
            [point.beta, point.gradient, linear, point.absolute]
        });
        diverges(all, self.task.floor())
    }
}
