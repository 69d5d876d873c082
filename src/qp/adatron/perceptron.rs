//! Perceptrons: other rules for the same coefficients, without an intercept or with one that is
//! penalised.
//!
//! With theta_i = y_i beta_i >= 0 the embedding strength of a row, and E_i = y_i f(x_i) its potential,
//!
//! ```text
//! Perceptron   every row in turn: if E_i <= 0, theta_i grows by a unit; until all E_i > 0
//! MinOver      the row with the smallest E_i: theta_i grows by a unit; kappa goes to its maximum
//! Adatron      theta_i <- max(0, theta_i + eta (1 - E_i) / K_ii): optimal stability, see above
//! ```
//!
//! kappa = min_i E_i / |w| is the stability. The w = sum_i theta_i y_i phi(x_i) of any theta >= 0 bounds
//! the largest there is: kappa_max <= |w| / sum_i theta_i, the distance of a point of the hull of
//! y_i phi(x_i) from the origin. So MinOver stops when kappa is within the tolerance of that bound,
//! relative to it. At the end w is scaled so that the smallest E_i is 1, and 1 / |w| is kappa.
//!
//! Rosenblatt: The perceptron, Psychological Review 65 (1958).
//! Krauth, Mezard: Learning algorithms with optimal stability in neural networks, Journal of Physics A 20
//! (1987).
//! Biehl: Support vector machine (streamlined), slides.

use super::Sweeps;
use super::settings::LearningRule;
use crate::error::{Error, Polled, Result};
use crate::matrix::Precision;
use crate::qp::confirm::exact_gradient;
use crate::qp::driver::Outcome;
use crate::qp::problem::{Constraint, DualProblem};
use crate::qp::report::{Epoch, Status};

/// Checks that a problem is one of a hard margin, without a free intercept.
pub(super) fn check(problem: &DualProblem) -> Result<()> {
    let unbounded = |i: usize| match problem.linear[i] {
        -1.0 => (problem.lower[i], problem.upper[i]) == (0.0, f64::INFINITY),
        1.0 => (problem.lower[i], problem.upper[i]) == (f64::NEG_INFINITY, 0.0),
        _ => false,
    };
    let hard = |i: usize| unbounded(i) && problem.ridge[i] == 0.0 && problem.absolute[i] == 0.0;
    let (name, allowed) = match problem.constraint {
        Constraint::Penalized | Constraint::None => {
            if (0..problem.linear.len()).all(hard) {
                return Ok(());
            }
            ("C", "inf for a perceptron, which knows no errors")
        }
        _ => ("fit_intercept", "False or 'penalized' for a perceptron"),
    };
    Err(Error::parameter(name, allowed, "another one"))
}

/// How clearly rows are separated.
struct Stability {
    /// The smallest potential, and its row.
    least: f64,
    row: usize,
    length: f64,
    strengths: f64,
}

impl Stability {
    fn kappa(&self) -> f64 {
        match self.length > 0.0 {
            true => self.least / self.length,
            false => 0.0,
        }
    }

    /// Returns how far kappa may be below its maximum, relative to that.
    fn lacks(&self) -> f64 {
        1.0 - self.kappa() * self.strengths / self.length
    }
}

impl<T: Precision> Sweeps<'_, '_, T> {
    /// Takes epochs until the rule has what it aims at.
    pub(super) fn learn(&mut self, tolerance: f64) -> Polled<Outcome> {
        let control = self.task.control;
        loop {
            let stability = self.stability();
            let gap = self.thresholds().gap();
            let at = &self.state.coordinates;
            control.tell(self.state.iterations, gap, at.len(), || {
                self.task.problem.point(&at.beta, &at.gradient)
            });
            let done = stability.least > 0.0
                && match self.settings.rule {
                    LearningRule::MinOver => stability.lacks() <= tolerance,
                    _ => true,
                };
            if done {
                return self.settle_scale(stability.least, tolerance);
            }
            control.poll()?;
            if self.state.iterations >= control.max_iterations {
                return Ok(Outcome::GaveUp(Status::MaxIterations));
            }
            match self.settings.rule {
                LearningRule::MinOver => self.raise_least()?,
                _ => self.add_errors()?,
            }
            self.state.iterations += 1;
            let epoch = self.learned();
            self.state.history.push(epoch);
        }
    }

    /// Returns y_i.
    fn side(&self, i: usize) -> f64 {
        -self.task.problem.linear[i]
    }

    /// Returns the penalised intercept.
    fn charged(&self) -> f64 {
        match self.task.problem.constraint {
            Constraint::Penalized => self.state.coordinates.beta.iter().sum(),
            _ => 0.0,
        }
    }

    /// Returns the potential of a row.
    fn potential(&self, i: usize, intercept: f64) -> f64 {
        let value = self.state.coordinates.gradient[i] - self.task.problem.linear[i];
        self.side(i) * (value + intercept)
    }

    fn stability(&self) -> Stability {
        let intercept = self.charged();
        let (mut least, mut row) = (f64::INFINITY, 0);
        let (mut square, mut strengths) = (intercept * intercept, 0.0);
        for (i, &beta) in self.state.coordinates.beta.iter().enumerate() {
            let potential = self.potential(i, intercept);
            if potential < least {
                (least, row) = (potential, i);
            }
            let value = self.state.coordinates.gradient[i] - self.task.problem.linear[i];
            square += beta * value;
            strengths += beta.abs();
        }
        Stability {
            least,
            row,
            length: square.max(0.0).sqrt(),
            strengths,
        }
    }

    /// Gives a row one unit more of strength.
    fn add_row(&mut self, i: usize) -> Polled<()> {
        let control = self.task.control;
        // A unit that leaves potentials near 1, whatever the scale of the kernel.
        let unit = self.side(i) / self.steepest;
        let beta = self.state.coordinates.beta[i] + unit;
        self.apply(&[(i, beta)], &|| control.stop())
    }

    /// An epoch of the perceptron rule: every row on the wrong side, in turn.
    fn add_errors(&mut self) -> Polled<()> {
        self.reorder();
        let order = std::mem::take(&mut self.order);
        let mut added = Ok(());
        for &i in &order {
            if self.potential(i as usize, self.charged()) <= 0.0 {
                added = self.add_row(i as usize);
            }
            if added.is_err() {
                break;
            }
        }
        self.order = order;
        added
    }

    /// An epoch of MinOver: as many steps as there are rows.
    fn raise_least(&mut self) -> Polled<()> {
        for _ in 0..self.state.coordinates.len() {
            self.task.control.poll()?;
            let row = self.stability().row;
            self.add_row(row)?;
        }
        Ok(())
    }

    /// Describes the epoch that has just ended: its margin is the stability.
    fn learned(&self) -> Epoch {
        let coordinates = &self.state.coordinates;
        let objective = self
            .task
            .problem
            .objective(&coordinates.beta, &coordinates.gradient);
        Epoch {
            objective: -objective,
            margin: self.stability().kappa(),
            intercept: self.charged(),
            gap: self.thresholds().gap(),
        }
    }

    /// Makes the smallest potential 1, and computes the gradient there.
    fn settle_scale(&mut self, least: f64, tolerance: f64) -> Polled<Outcome> {
        let (task, coordinates) = (self.task, &mut self.state.coordinates);
        let all: Vec<u32> = (0..coordinates.len() as u32).collect();
        let beta: Vec<f64> = coordinates.beta.iter().map(|beta| beta / least).collect();
        coordinates.gradient = exact_gradient(task, &beta, &all, &|| task.control.stop())?;
        coordinates.beta = beta;
        self.rows.forget_traffic();
        Ok(match self.thresholds().gap() <= tolerance {
            true => Outcome::Converged,
            false => Outcome::GaveUp(Status::Settled),
        })
    }
}
