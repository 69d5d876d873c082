//! Linear machines: one weight for each feature, and an intercept that is penalised like one.
//!
//! ```text
//! minimise  1/2 |w|^2 + 1/2 v^2 + sum_i C_i loss_i(w.x_i + scale v),   intercept = scale v
//! ```
//!
//! That is LIBLINEAR's problem. It is solved in the weights ([`linear`](crate::linear)); where that does not
//! reach the tolerance, the dual solution that belongs to these is where pair steps begin.

mod svc;
mod svr;

pub use svc::{LinearSvc, LinearSvcModel};
pub use svr::{LinearSvr, LinearSvrModel};

use crate::data::Samples;
use crate::error::{Error, Result, unless_stopped};
use crate::formulation::{Intercept, Loss, svc as svc_problem, svr as svr_problem};
use crate::kernel::Kernel;
use crate::linear::{self, Found, Goal, Rows, Target};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{Monitor, Phases, Progress, Report, Smo, Solver, Status, StopRule};
use crate::simd::parallel;
use std::borrow::Cow;
use std::time::Instant;

/// Up to so many rows a solution is polished, to this share of the tolerance: it costs next to nothing, and
/// results on toy data then agree to many digits.
const FEW: usize = 256;
const POLISHED: f64 = 1e-6;

/// What linear machines are trained on.
pub(crate) struct LinearTraining<'a> {
    /// The rows, all of which count.
    pub samples: &'a Samples,
    /// C times the weight of each row.
    pub cost: &'a [f64],
    pub loss: Loss,
    /// The constant feature whose weight makes the intercept; 0 for none.
    pub constant: f64,
    /// Iterations are passes over the rows.
    pub stop: StopRule,
    pub monitor: &'a dyn Monitor,
}

/// A weight for each feature, and an intercept.
#[derive(Clone, Debug)]
pub(crate) struct LinearMachine {
    pub weights: Vec<f64>,
    pub intercept: f64,
    pub report: Report,
}

impl LinearMachine {
    /// Returns the value of every row.
    fn values(&self, samples: &Samples) -> Result<Vec<f64>> {
        if samples.columns() != self.weights.len() {
            let expected = format!("{} columns", self.weights.len());
            return Err(Error::shape("X", expected, samples.columns().to_string()));
        }
        let mut weights = self.weights.clone();
        weights.push(self.intercept);
        let mut values = vec![0.0; samples.rows()];
        let rows = unless_stopped(Rows::new(samples, 1.0, &|| false))?;
        if let Some(rows) = rows {
            unless_stopped(rows.times(&weights, &mut values, &|| false))?;
        }
        Ok(values)
    }
}

impl LinearTraining<'_> {
    /// Trains the machine of two classes, or one for each of more against the rest. The weight of a class
    /// counts where it is not part of the rest, as in LIBLINEAR.
    pub fn classes(&self, labels: &[usize], factors: &[f64]) -> Result<Vec<LinearMachine>> {
        let classes = factors.len();
        let machines = if classes == 2 { 1 } else { classes };
        let rows = self.rows()?;
        let mut trained: Vec<Option<LinearMachine>> = vec![None; machines];
        let parts = trained.iter_mut().enumerate().collect();
        let work = self.samples.work_of_matrix(self.samples.rows());
        let done = parallel::try_for_each(
            parts,
            work,
            &|| false,
            |_: &mut (), (machine, trained): (usize, &mut Option<LinearMachine>)| {
                self.monitor.machine(machine, machines);
                let class = if classes == 2 { 1 } else { machine };
                let sign = |&own: &usize| if own == class { 1.0 } else { -1.0 };
                let signs: Vec<f64> = labels.iter().map(sign).collect();
                let factor = |&own: &usize| match classes == 2 || own == class {
                    true => factors[own],
                    false => 1.0,
                };
                let cost = self.cost.iter().zip(labels);
                let cost: Vec<f64> = cost.map(|(cost, own)| cost * factor(own)).collect();
                *trained = Some(self.machine(&rows, &self.target(&signs, None, &cost))?);
                Ok(())
            },
        );
        unless_stopped(done)?;
        Ok(trained.into_iter().flatten().collect())
    }

    /// Trains a regression.
    pub fn regression(&self, target: &[f64], epsilon: f64) -> Result<LinearMachine> {
        let rows = self.rows()?;
        self.machine(&rows, &self.target(target, Some(epsilon), self.cost))
    }

    /// Packs the rows; that is a pass over them, and not stopped.
    fn rows(&self) -> Result<Rows<'_>> {
        self.stop.check()?;
        let rows = unless_stopped(Rows::new(self.samples, self.constant, &|| false))?;
        rows.ok_or(Error::Exhausted)
    }

    fn target<'t>(&self, value: &'t [f64], tube: Option<f64>, cost: &'t [f64]) -> Target<'t> {
        Target {
            value,
            tube,
            cost,
            squared: self.loss == Loss::Squared,
        }
    }

    /// Trains one machine.
    fn machine(&self, rows: &Rows, target: &Target) -> Result<LinearMachine> {
        let started = Instant::now();
        let deadline = self
            .stop
            .time_limit
            .and_then(|limit| started.checked_add(limit));
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let stop = || self.monitor.stop() || late();
        let tell = |steps: u64, gap: f64| {
            let seconds = started.elapsed().as_secs_f64();
            let progress = Progress::new(steps, gap, rows.len(), seconds);
            self.monitor.progress(&progress);
        };
        let tolerance = self.stop.tolerance;
        let goal = Goal {
            tolerance,
            aim: match rows.len() <= FEW {
                true => POLISHED * tolerance,
                false => tolerance,
            },
            most: self.stop.max_iterations.unwrap_or(u64::MAX),
            tell: &tell,
        };
        let found = unless_stopped(linear::solve(rows, target, goal, &stop))?;
        let (mut weights, mut report) = match found {
            Some(found) if found.ends(&goal) => (found.weights.clone(), reported(&found, &goal)),
            other => self.with_pairs(rows, target, other, started)?,
        };
        report.seconds = started.elapsed().as_secs_f64();
        let intercept = self.constant * weights.pop().unwrap_or(0.0);
        Ok(LinearMachine {
            weights,
            intercept,
            report,
        })
    }

    /// Goes on by pair steps, the last resort of all solvers: they know more about rounding.
    fn with_pairs(
        &self,
        rows: &Rows,
        target: &Target,
        found: Option<Found>,
        started: Instant,
    ) -> Result<(Vec<f64>, Report)> {
        // A penalised intercept is that of the constant 1; any other is a feature like all.
        let (samples, intercept) = match self.constant {
            0.0 => (Cow::Borrowed(self.samples), Intercept::None),
            1.0 => (Cow::Borrowed(self.samples), Intercept::Penalized),
            constant => (
                Cow::Owned(self.samples.with_constant(constant)?),
                Intercept::None,
            ),
        };
        let mut problem = match target.tube {
            Some(tube) => svr_problem(target.value, target.cost, tube, self.loss, intercept),
            None => {
                let positive: Vec<bool> = target.value.iter().map(|value| *value > 0.0).collect();
                svc_problem(&positive, target.cost, self.loss, intercept)
            }
        };
        let steps = found.as_ref().map_or(0, |found| found.steps);
        if let Some(found) = found {
            problem.start = found.beta;
        }
        let passes = self.stop.max_iterations;
        let stop = StopRule {
            max_iterations: passes.map(|passes| passes.saturating_mul(rows.len() as u64)),
            ..self.stop
        };
        let solver: Solver = Smo::new().stop(stop).into();
        let all = (0..samples.rows()).collect();
        let matrix = KernelMatrix::new(&Kernel::linear(), &samples, all)?;
        let mut kernel_rows = KernelRows::new(&matrix);
        let solver = solver.since(started);
        let solution = solver.solve_on(&problem, &mut kernel_rows, self.monitor)?;
        let weights = unless_stopped(rows.combined(&solution.beta, &|| false))?;
        let mut report = solution.report;
        report.iterations += steps;
        Ok((weights.unwrap_or_default(), report))
    }
}

/// Returns the report of a method that has ended.
fn reported(found: &Found, goal: &Goal) -> Report {
    let gap = found.certificate.gap;
    Report {
        status: match gap <= goal.tolerance {
            true => Status::Converged,
            false => Status::MaxIterations,
        },
        method: found.method,
        iterations: found.steps,
        gap,
        objective: found.certificate.objective,
        primal_objective: found.certificate.duality_gap - found.certificate.objective,
        duality_gap: found.certificate.duality_gap,
        squared_norm: found.certificate.squared_norm,
        kernel_evaluations: 0,
        cache_hits: 0,
        cache_misses: 0,
        cache_bypasses: 0,
        seconds: 0.0,
        phases: Phases::default(),
    }
}

/// Returns C times weights, and the rows on which they are not zero with what belongs to these.
fn kept(samples: Samples, c: f64, weights: &[f64]) -> Result<(Samples, Vec<f64>, Vec<usize>)> {
    super::checks::check_c(c)?;
    let rows = super::checks::rows_with_weight(weights)?;
    let cost = rows.iter().map(|&row| c * weights[row]).collect();
    let samples = match rows.len() == samples.rows() {
        true => samples,
        false => samples.select(&rows)?,
    };
    Ok((samples, cost, rows))
}

/// Checks the constant feature.
pub(crate) fn check_scaling(scaling: f64) -> Result<()> {
    match scaling.is_finite() && scaling > 0.0 {
        true => Ok(()),
        false => {
            let allowed = "positive and finite";
            Err(Error::parameter("intercept_scaling", allowed, scaling))
        }
    }
}

/// Gives a builder with the fields `c`, `loss`, `scaling`, `stop` and `threads` the methods that set them.
/// `$targets` are those of two rows, for the examples.
macro_rules! linear_settings {
    ($type:ident, $targets:literal) => {
        impl $type {
            /// Sets the cost of errors.
            ///
            /// ```
            #[doc = concat!("let machine = mercer::", stringify!($type), "::new().c(10.0);")]
            /// ```
            pub fn c(mut self, c: f64) -> Self {
                self.c = c;
                self
            }

            /// Sets whether errors are squared.
            ///
            /// ```
            /// use mercer::formulation::Loss;
            #[doc = concat!("let machine = mercer::", stringify!($type), "::new().loss(Loss::Linear);")]
            /// ```
            pub fn loss(mut self, loss: Loss) -> Self {
                self.loss = loss;
                self
            }

            /// Sets the constant feature whose weight, which is penalised, makes the intercept; `None` for
            /// no intercept.
            ///
            /// ```
            #[doc = concat!("let machine = mercer::", stringify!($type), "::new().intercept_scaling(None);")]
            /// ```
            pub fn intercept_scaling(mut self, scaling: impl Into<Option<f64>>) -> Self {
                self.scaling = scaling.into();
                self
            }

            /// Sets when to stop; iterations are passes over the rows.
            ///
            /// ```
            /// use mercer::qp::StopRule;
            #[doc = concat!("let machine = mercer::", stringify!($type), "::new().stop(StopRule::new().tolerance(1e-6));")]
            /// ```
            pub fn stop(mut self, stop: StopRule) -> Self {
                self.stop = stop;
                self
            }

            /// Sets the number of threads of a fit, whatever pool it is called from.
            ///
            /// ```
            /// let x = ndarray::array![[-1.0], [1.0]];
            #[doc = concat!("let machine = mercer::", stringify!($type), "::new();")]
            #[doc = concat!("assert!(machine.clone().threads(2).fit(&x, &", $targets, ").is_ok());")]
            #[doc = concat!("assert!(machine.threads(0).fit(&x, &", $targets, ").is_err());")]
            /// ```
            pub fn threads(mut self, threads: usize) -> Self {
                self.threads = Threads(Some(threads));
                self
            }

            fn constant(&self) -> Result<f64> {
                match self.scaling {
                    None => Ok(0.0),
                    Some(scaling) => check_scaling(scaling).map(|()| scaling),
                }
            }
        }
    };
}
use linear_settings;
