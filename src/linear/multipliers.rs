//! The method of multipliers: Newton's method where coefficients jump.
//!
//! For losses that are not squared the dual problem gets a proximal term (see [`charge`](super::charge))
//! that draws coefficients to those of the round before and weakens from round to round. In the weights
//! that is the augmented Lagrangian; each round is smooth enough for [`Newton`], begins where the last has
//! ended, and the optimum is reached after a few rounds, as that of a quadratic programme is by proximal
//! steps. For squared losses there is nothing to be added, and rounds only differ in how exact they are.
//!
//! Rockafellar: Augmented Lagrangians and applications of the proximal point algorithm in convex
//! programming, Mathematics of Operations Research 1 (1976). Li, Sun, Toh: A highly efficient semismooth
//! Newton augmented Lagrangian method for solving Lasso problems, SIAM Journal on Optimization 28 (2018).

use super::certificate::certify;
use super::charge::{Charge, Target};
use super::found::{Found, Goal};
use super::matrix::WHAT;
use super::newton::Newton;
use super::rows::Rows;
use crate::error::{Polled, Stop};
use crate::qp::Algorithm;
use crate::simd::{Isa, memory};

/// Rounds after which the method gives up: it takes up to 10.
const ROUNDS: usize = 40;
/// The first width where the method begins near the optimum, as a share of what it is elsewhere.
const AFTER_GUESS: f64 = 0.04;
/// By how much the proximal term weakens.
const WEAKER: f64 = 5.0;
/// The least width as a share of the tolerance: less would only cost digits.
const NARROWEST: f64 = 1e-3;
/// How exact a round is: a share of the width, but no better than a share of the tolerance.
const OF_WIDTH: f64 = 0.1;
const OF_TOLERANCE: f64 = 0.25;
/// The same of a squared loss, at first and as it falls: that values may change by so much is a bound far
/// above what they do.
const FIRST_OF_SQUARED: f64 = 8.0;
const FINER: f64 = 0.05;

/// Solves by Newton's method, beginning at weights if there are some.
pub(super) fn solve(
    rows: &Rows,
    target: &Target,
    start: Option<Vec<f64>>,
    goal: Goal,
    stop: Stop,
) -> Polled<Found> {
    let mut centre: Vec<f64> = memory::zeros(rows.len(), WHAT)?;
    let mut round = Round::first(target, start.is_some(), goal);
    let mut newton = Newton::new(rows, start, stop)?;
    let mut best: Option<Found> = None;
    loop {
        let charge = Charge {
            target,
            centre: &centre,
            width: round.width,
            isa: Isa::detect(),
        };
        newton.minimise(&charge, round.exactness, goal.most)?;
        let certificate = certify(rows, target, &newton.beta, &newton.sums, stop)?;
        let before = best.as_ref().map_or(f64::INFINITY, Found::gap);
        let gap = certificate.gap;
        (goal.tell)(newton.steps, gap);
        let mut found = match best {
            Some(best) if before <= gap => best,
            _ => Found {
                beta: newton.beta.clone(),
                weights: newton.sums.clone(),
                certificate,
                steps: 0,
                method: Algorithm::Newton,
            },
        };
        // Beyond the tolerance, go on as long as that helps.
        let enough = found.gap() <= goal.tolerance && gap >= 0.5 * before;
        let out = newton.steps >= goal.most || round.number >= ROUNDS || !gap.is_finite();
        if found.gap() <= goal.aim || enough || out {
            found.steps = newton.steps;
            return Ok(found);
        }
        best = Some(found);
        if !target.squared {
            for ((centre, beta), cost) in centre.iter_mut().zip(&newton.beta).zip(target.cost) {
                *centre = beta / cost;
            }
        }
        round = round.next(target, goal);
    }
}

/// How wide and how exact a round is.
struct Round {
    number: usize,
    width: f64,
    exactness: f64,
}

impl Round {
    fn first(target: &Target, guessed: bool, goal: Goal) -> Self {
        if target.squared {
            return Round {
                number: 1,
                width: 0.0,
                exactness: FIRST_OF_SQUARED * goal.tolerance,
            };
        }
        // From zero every error counts: the width is that of the values themselves.
        let share = if guessed { AFTER_GUESS } else { 1.0 };
        Round::wide(1, share * target.scale(), goal)
    }

    fn wide(number: usize, width: f64, goal: Goal) -> Self {
        Round {
            number,
            width,
            exactness: (OF_WIDTH * width).max(OF_TOLERANCE * goal.aim),
        }
    }

    fn next(self, target: &Target, goal: Goal) -> Self {
        let number = self.number + 1;
        match target.squared {
            true => Round {
                number,
                width: 0.0,
                exactness: FINER * self.exactness,
            },
            false => {
                let width = (self.width / WEAKER).max(NARROWEST * goal.aim);
                Round::wide(number, width, goal)
            }
        }
    }
}
