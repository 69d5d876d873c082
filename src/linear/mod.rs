//! Linear machines, solved in the weights.
//!
//! ```text
//! minimise  P(w) = 1/2 |w|^2 + sum_i C_i loss_i(w.x_i)
//! ```
//!
//! with the intercept as the weight of one more, constant, feature. Every method ends with coefficients that
//! are feasible for the dual problem ([`qp`](crate::qp)), whose gap is computed from them alone.

mod certificate;
mod charge;
mod descent;
mod equations;
mod found;
mod matrix;
mod multipliers;
mod newton;
mod rows;
mod sweep;
mod tiles;

pub(crate) use charge::Target;
pub(crate) use found::{Found, Goal};
pub(crate) use rows::Rows;

use crate::error::{Polled, Stop};
use equations::FACTORED;

/// One row in so many is enough for a first guess of the weights, if there are so many rows of them and so
/// many for each feature.
const EVERY: usize = 8;
const LEAST_ROWS: usize = 2048;
const LEAST_PER_FEATURE: usize = 8;
/// How good the guess is to be, in units of the values that rows are to have.
const GUESSED: f64 = 0.02;

/// Solves as is best for the rows: by coordinate descent where there are too many features for equations of
/// that size, and by Newton's method from where that has come, if it does not end.
pub(crate) fn solve(rows: &Rows, target: &Target, goal: Goal, stop: Stop) -> Polled<Found> {
    if rows.columns() <= FACTORED {
        let start = guess(rows, target, goal, stop)?;
        return multipliers::solve(rows, target, start, goal, stop);
    }
    let found = descent::solve(rows, target, goal, stop)?;
    if found.ends(&goal) {
        return Ok(found);
    }
    let rest = Goal {
        most: goal.most - found.steps,
        ..goal
    };
    let mut better = multipliers::solve(rows, target, Some(found.weights), rest, stop)?;
    better.steps += found.steps;
    Ok(better)
}

/// Returns the weights of a part of the rows, if there are enough of them.
fn guess(rows: &Rows, target: &Target, goal: Goal, stop: Stop) -> Polled<Option<Vec<f64>>> {
    let count = rows.len() / EVERY;
    let enough = LEAST_ROWS.max(LEAST_PER_FEATURE * rows.columns());
    if count < enough || goal.most == 0 {
        return Ok(None);
    }
    let (samples, constant) = rows.sampled(EVERY)?;
    let part = Rows::new(&samples, constant, stop)?;
    let every = |values: &[f64], factor: f64| -> Vec<f64> {
        let picked = values.iter().step_by(EVERY);
        picked.map(|value| factor * value).collect()
    };
    let value = every(target.value, 1.0);
    let cost = every(target.cost, EVERY as f64);
    let target = Target {
        value: &value,
        cost: &cost,
        ..*target
    };
    let tolerance = GUESSED * target.scale();
    let goal = Goal {
        tolerance,
        aim: tolerance,
        ..goal
    };
    let found = multipliers::solve(&part, &target, None, goal, stop)?;
    Ok(Some(found.weights))
}
