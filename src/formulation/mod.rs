//! One file per machine: samples and parameters to a [`DualProblem`](crate::qp::DualProblem).
//!
//! Costs and weights belong to samples: C_i = C * weight_i, and a weight of two is the same as the
//! sample twice, for every machine.

mod nu_svc;
mod nu_svr;
mod one_class;
mod svc;
mod svdd;
mod svr;

use crate::error::{Error, Result};
use crate::qp::Constraint;
pub(crate) use nu_svc::normalized;
pub use nu_svc::{largest_nu, nu_svc};
pub use nu_svr::nu_svr;
pub(crate) use one_class::boundary_shift;
pub use one_class::one_class;
pub use svc::svc;
pub use svdd::{constant_diagonal, svdd};
pub use svr::svr;

/// How errors are charged.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// let squared = svc(&[true, false], &[2.0, 2.0], Loss::Squared, Intercept::Free);
/// assert_eq!((squared.upper[0], squared.ridge[0]), (f64::INFINITY, 0.25));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// By its size: hinge and epsilon-insensitive loss, L1 soft margin.
    #[default]
    Linear,
    /// By its square: L2 soft margin.
    Squared,
}

impl Loss {
    /// The largest coefficient and the ridge of a sample with this cost.
    fn bound_and_ridge(self, cost: f64) -> (f64, f64) {
        match self {
            Loss::Linear => (cost, 0.0),
            Loss::Squared => (f64::INFINITY, 0.5 / cost),
        }
    }
}

/// Whether and how the decision function has a constant term.
///
/// ```
/// use mercer::{formulation::Intercept, qp::Constraint};
/// assert_eq!(Constraint::from(Intercept::Free), Constraint::Sum);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intercept {
    /// It has one that costs nothing.
    #[default]
    Free,
    /// It has one whose square is charged like that of the weights: the kernel is K + 1.
    Penalized,
    /// It has none.
    None,
}

impl From<Intercept> for Constraint {
    fn from(intercept: Intercept) -> Self {
        match intercept {
            Intercept::Free => Constraint::Sum,
            Intercept::Penalized => Constraint::Penalized,
            Intercept::None => Constraint::None,
        }
    }
}

/// Checks that nu is above 0 and at most `largest`, which is 1 or less.
pub(crate) fn check_nu(nu: f64, largest: f64) -> Result<()> {
    if !(nu > 0.0 && nu <= 1.0) {
        return Err(Error::parameter("nu", "above 0 and at most 1", nu));
    }
    // Sums of weights are rounded, so that the largest nu itself may seem too large.
    if nu > largest * (1.0 + 1e-12) {
        let allowed = format!("at most {largest} (twice the share of the smaller class)");
        return Err(Error::parameter("nu", allowed, nu));
    }
    Ok(())
}

/// Spreads a sum over variables from the first on, each taking up to its bound.
fn fill(sum: f64, upper: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut rest = sum;
    upper
        .map(|upper| {
            // What rounding leaves over makes neither a support vector nor one off its bound.
            let share = if rest < upper - 1e-14 * sum {
                rest
            } else {
                upper
            };
            rest -= share;
            if rest < 1e-14 * sum {
                rest = 0.0;
            }
            share
        })
        .collect()
}
