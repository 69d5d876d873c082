//! Linear machines with squared losses, by Newton's method in the weights.
//!
//! ```text
//! minimise  P(w) = 1/2 |w|^2 + sum_i C_i excess_i(w.x_i)^2
//! ```
//!
//! with the intercept as the weight of one more, constant, feature. beta_i = 2 C_i excess_i is feasible for
//! the dual problem ([`qp`](crate::qp)), and optimal where w = sum_i beta_i x_i: that is how a solution is
//! confirmed.

mod newton;
mod rows;

pub(crate) use newton::{Target, minimise};
pub(crate) use rows::Rows;
