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

/// Solves as is best for the rows: by coordinate descent where there are too many features for equations of
/// that size, and by Newton's method from where that has come, if it does not end.
pub(crate) fn solve(rows: &Rows, target: &Target, goal: Goal, stop: Stop) -> Polled<Found> {
    if rows.columns() <= FACTORED {
        return multipliers::solve(rows, target, None, goal, stop);
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
