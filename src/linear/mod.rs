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
mod equations;
mod matrix;
mod multipliers;
mod newton;
mod rows;
mod tiles;

pub(crate) use charge::Target;
pub(crate) use multipliers::{Found, Goal};
pub(crate) use rows::Rows;

use crate::error::{Polled, Stop};

/// Solves as is best for the rows.
pub(crate) fn solve(rows: &Rows, target: &Target, goal: Goal, stop: Stop) -> Polled<Found> {
    multipliers::solve(rows, target, None, goal, stop)
}
