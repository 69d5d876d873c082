//! Settling: what is still computed when a solver has ended, so that what is reported holds.

use super::Ladder;
use crate::error::{Result, unless_stopped};
use crate::qp::confirm::{bounded_gap, estimated_noise, exact_gradient, length};
use crate::qp::coordinates::Coordinates;
use crate::qp::doubt::{add_stale, rounding};
use crate::qp::phases::Stopwatch;
use crate::qp::report::Status;
use std::f64::consts::FRAC_1_SQRT_2;

/// The objective is computed again where rounding makes it doubtful by more than this share of its
/// terms.
const OBJECTIVE_SHARE: f64 = 1e-6;

/// Standard deviations of its rounding that are taken for what it may be.
const OBJECTIVE_DEVIATIONS: f64 = 4.0;

/// A ridge so many times as large as all other terms is what the gradient consists of.
const LARGE_RIDGE: f64 = 1e3;

impl Ladder<'_, '_> {
    /// Bounds the gap of a solve that has ended early. Where time has run out, what could hide a larger
    /// gap is computed again only as far as a little more time allows.
    pub(super) fn settle_gap(&mut self, status: Status) -> Result<()> {
        let task = self.task;
        let mut coordinates = std::mem::take(&mut self.state.coordinates);
        let mut errors = std::mem::take(&mut self.errors);
        add_stale(task, &coordinates.beta, &self.state.stale, &mut errors);
        let grace = task.control.grace();
        let late = matches!(status, Status::TimeLimit | Status::Interrupted);
        let stop = || match late {
            true => grace.is_over(),
            false => task.control.stop(),
        };
        let cleared = self.clear_doubt(&mut coordinates, &mut errors, &stop);
        let found = unless_stopped(cleared)?;
        self.gap = bounded_gap(task.problem, &coordinates, &errors);
        // What was not computed again counts with its bound.
        let support = coordinates.beta.iter().zip(&errors);
        let support = support.filter(|&(&beta, _)| beta != 0.0);
        self.error = support.fold(found.unwrap_or(0.0), |worst, (_, &error)| worst.max(error));
        self.errors = errors;
        self.state.coordinates = coordinates;
        Ok(())
    }

    /// Goes back to the lowest point that a rung has begun with if rounding has led uphill from there.
    pub(super) fn settle_descent(&mut self) -> Result<()> {
        let Some(lowest) = self.lowest.take() else {
            return Ok(());
        };
        let (task, beta) = (self.task, &self.state.coordinates.beta);
        let all: Vec<u32> = (0..beta.len() as u32).collect();
        let exact = unless_stopped(exact_gradient(task, beta, &all, &|| task.control.stop()))?;
        let objective = exact.map(|gradient| task.problem.objective(beta, &gradient));
        if objective.is_none_or(|objective| objective <= lowest.objective) {
            return Ok(());
        }
        self.error = rounding(task, &lowest.coordinates.beta);
        self.errors.fill(self.error);
        self.gap = bounded_gap(task.problem, &lowest.coordinates, &self.errors);
        self.state.coordinates = lowest.coordinates;
        Ok(())
    }

    /// Computes the gradient of the support vectors again where its error makes the objective
    /// doubtful. If that is stopped, the objective is left as it is: the solution is not.
    ///
    /// Rows with independent errors of the size e make an error of e |beta| in the gradient. K is
    /// symmetric, and so are its errors E: 1/2 beta' E beta has the deviation e |beta|^2 / sqrt(2).
    /// A ridge beside which the kernel is next to nothing leaves more than that in running sums.
    pub(super) fn settle_objective(&mut self) -> Result<()> {
        let matrix = self.task.matrix;
        let Coordinates { beta, gradient, .. } = &self.state.coordinates;
        // Rows of an indefinite kernel are rounded to f32, whatever their type.
        let noise = match self.double && !matrix.may_be_indefinite() {
            true => estimated_noise::<f64>(matrix, beta),
            false => estimated_noise::<f32>(matrix, beta),
        };
        let doubt = FRAC_1_SQRT_2 * self.error.max(noise) * length(beta);
        let problem = self.task.problem;
        let terms = problem.terms(beta, gradient);
        let ridges = beta.iter().zip(&problem.ridge);
        let ridges: f64 = ridges.map(|(beta, ridge)| ridge * beta * beta).sum();
        let certain = OBJECTIVE_DEVIATIONS * doubt <= OBJECTIVE_SHARE * terms;
        match certain && ridges <= LARGE_RIDGE * terms {
            true => Ok(()),
            false => self.refresh_support(),
        }
    }

    /// Computes the gradient of the support vectors again, unless that is stopped.
    fn refresh_support(&mut self) -> Result<()> {
        let watch = Stopwatch::start();
        let Coordinates { beta, gradient, .. } = &mut self.state.coordinates;
        let support = (0..).zip(beta.iter()).filter(|&(_, &beta)| beta != 0.0);
        let support: Vec<u32> = support.map(|(variable, _)| variable).collect();
        let stop = || self.task.control.stop();
        let exact = unless_stopped(exact_gradient(self.task, beta, &support, &stop))?;
        let rounding = rounding(self.task, beta);
        for (&variable, exact) in support.iter().zip(exact.into_iter().flatten()) {
            let variable = variable as usize;
            (gradient[variable], self.errors[variable]) = (exact, rounding);
        }
        self.kernel += watch.seconds();
        Ok(())
    }

    /// Takes off what the roundings of many steps have made of coefficients at bounds and of the sums, if
    /// that leaves the gap where it has to be.
    pub(super) fn settle_sums(&mut self, status: Status) -> Result<()> {
        let problem = self.task.problem;
        let moved = self.state.coordinates.landed().with_sums_of(problem);
        let beta = &self.state.coordinates.beta;
        let changes: Vec<f64> = moved.iter().zip(beta).map(|(a, b)| a - b).collect();
        if changes.iter().all(|change| *change == 0.0) {
            return Ok(());
        }
        let sizes = self.task.matrix.sizes(&changes);
        let ridges = changes.iter().zip(&problem.ridge);
        let ridges = ridges.map(|(change, ridge)| change.abs() * ridge);
        let sizes: Vec<f64> = sizes.into_iter().zip(ridges).map(|(a, b)| a + b).collect();
        let errors = self.errors.iter().zip(sizes);
        let errors: Vec<f64> = errors.map(|(error, size)| error + size).collect();
        let gradient = self.state.coordinates.gradient.clone();
        // A variable that has left its bound may go back there, which counts, too.
        let there = Coordinates::of(problem, moved.clone(), gradient);
        let gap = self.gap.max(bounded_gap(problem, &there, &errors));
        if gap > self.tolerance && status == Status::Converged {
            return Ok(());
        }
        self.errors = errors;
        let Coordinates { beta, gradient, .. } = &mut self.state.coordinates;
        let slopes = changes.iter().zip(gradient.iter());
        let change: f64 = slopes.map(|(change, slope)| (change * slope).abs()).sum();
        let visible = change > OBJECTIVE_SHARE * problem.terms(beta, gradient);
        *beta = moved;
        // Where the ridge is nearly all of the gradient, it has to be that of these coefficients.
        let ridges = changes.iter().zip(&problem.ridge);
        let moves = ridges.map(|(change, ridge)| change * ridge);
        gradient.iter_mut().zip(moves).for_each(|(g, m)| *g += m);
        self.gap = gap;
        match visible {
            true => self.refresh_support(),
            false => Ok(()),
        }
    }
}
