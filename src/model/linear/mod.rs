//! Linear machines: one weight for each feature, and an intercept that is penalised like one.
//!
//! ```text
//! minimise  1/2 |w|^2 + 1/2 v^2 + sum_i C_i loss_i(w.x_i + scale v),   intercept = scale v
//! ```
//!
//! That is LIBLINEAR's problem. Squared losses are minimised by Newton's method in the weights, and the
//! dual solution that belongs to these is the start of the quadratic programme; others begin with the
//! interior-point method. Either way the gap is confirmed as it is for all machines, and the solver goes on
//! where it is too large.

mod svc;
mod svr;

pub use svc::{LinearSvc, LinearSvcModel};
pub use svr::{LinearSvr, LinearSvrModel};

use crate::data::Samples;
use crate::error::{Error, Result, unless_stopped};
use crate::formulation::{Intercept, Loss, svc as svc_problem, svr as svr_problem};
use crate::kernel::Kernel;
use crate::linear::{Rows, Target, minimise};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{Algorithm, DualProblem, Interior, Monitor, Report, Smo, Solver, StopRule};
use std::borrow::Cow;
use std::time::Instant;

/// The share of the tolerance to which weights are found: the gap has two sides, and rounding comes on top.
const SHARE: f64 = 0.25;
/// Up to so many rows pair steps are faster than the interior-point method.
const FEW: usize = 256;

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
        let values = unless_stopped(Rows::new(samples, 1.0).times(&weights, &|| false))?;
        Ok(values.unwrap_or_default())
    }
}

impl LinearTraining<'_> {
    /// Trains the machine of two classes, or one for each of more against the rest. The weight of a class
    /// counts where it is not part of the rest, as in LIBLINEAR.
    pub fn classes(&self, labels: &[usize], factors: &[f64]) -> Result<Vec<LinearMachine>> {
        let classes = factors.len();
        let machines = if classes == 2 { 1 } else { classes };
        self.with_matrix(|rows| {
            (0..machines)
                .map(|machine| {
                    self.monitor.machine(machine, machines);
                    let class = if classes == 2 { 1 } else { machine };
                    let positive: Vec<bool> = labels.iter().map(|&own| own == class).collect();
                    let signs = positive.iter().map(|yes| if *yes { 1.0 } else { -1.0 });
                    let signs: Vec<f64> = signs.collect();
                    let factor = |&own: &usize| match classes == 2 || own == class {
                        true => factors[own],
                        false => 1.0,
                    };
                    let cost = self.cost.iter().zip(labels);
                    let cost: Vec<f64> = cost.map(|(cost, own)| cost * factor(own)).collect();
                    let intercept = self.intercept();
                    let problem = svc_problem(&positive, &cost, self.loss, intercept);
                    let target = Target {
                        value: &signs,
                        tube: None,
                        cost: &cost,
                    };
                    self.machine(problem, &target, rows)
                })
                .collect()
        })
    }

    /// Trains a regression.
    pub fn regression(&self, target: &[f64], epsilon: f64) -> Result<LinearMachine> {
        let intercept = self.intercept();
        let problem = svr_problem(target, self.cost, epsilon, self.loss, intercept);
        let target = Target {
            value: target,
            tube: Some(epsilon),
            cost: self.cost,
        };
        self.with_matrix(|rows| self.machine(problem, &target, rows))
    }

    /// A penalised intercept is that of the constant 1; any other is a feature like all.
    fn intercept(&self) -> Intercept {
        match self.constant == 1.0 {
            true => Intercept::Penalized,
            false => Intercept::None,
        }
    }

    fn with_matrix<R>(&self, train: impl FnOnce(&mut KernelRows) -> Result<R>) -> Result<R> {
        let samples = match self.constant {
            0.0 | 1.0 => Cow::Borrowed(self.samples),
            constant => Cow::Owned(self.samples.with_constant(constant)?),
        };
        let all = (0..samples.rows()).collect();
        let matrix = KernelMatrix::new(&Kernel::linear(), &samples, all)?;
        train(&mut KernelRows::new(&matrix))
    }

    /// Trains one machine.
    fn machine(
        &self,
        mut problem: DualProblem,
        target: &Target,
        kernel_rows: &mut KernelRows,
    ) -> Result<LinearMachine> {
        let started = Instant::now();
        let rows = Rows::new(self.samples, self.constant);
        let deadline = self
            .stop
            .time_limit
            .and_then(|limit| started.checked_add(limit));
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let stop = || self.monitor.stop() || late();
        let mut steps = 0;
        if self.loss == Loss::Squared {
            let most = self.stop.max_iterations.unwrap_or(u64::MAX);
            let found = minimise(&rows, target, SHARE * self.stop.tolerance, most, &stop);
            if let Some(found) = unless_stopped(found)? {
                (problem.start, steps) = (found.beta, found.steps);
            }
        }
        let solver = self.solver().since(started);
        let solution = solver.solve_on(&problem, kernel_rows, self.monitor)?;
        let mut report = solution.report;
        if steps > 0 && report.iterations == 0 {
            report.method = Algorithm::Newton;
        }
        report.iterations += steps;
        report.seconds = started.elapsed().as_secs_f64();
        let weights = unless_stopped(rows.transposed(&solution.beta, &|| false))?;
        let mut weights = weights.unwrap_or_default();
        let intercept = self.constant * weights.pop().unwrap_or(0.0);
        Ok(LinearMachine {
            weights,
            intercept,
            report,
        })
    }

    /// Returns what confirms a start, or goes on from it.
    fn solver(&self) -> Solver {
        let rows = self.samples.rows() as u64;
        let passes = self.stop.max_iterations;
        let stop = StopRule {
            max_iterations: passes.map(|passes| passes.saturating_mul(rows)),
            ..self.stop
        };
        let at_once = self.loss == Loss::Linear && self.samples.rows() > FEW;
        let interior = match at_once && passes != Some(0) {
            true => Interior::Always,
            false => Interior::Auto,
        };
        Smo::new().stop(stop).interior(interior).into()
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

/// Gives a builder with the fields `c`, `loss`, `constant`, `scaling` and `stop` the methods that set them.
macro_rules! linear_settings {
    ($type:ident) => {
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
