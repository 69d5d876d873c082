//! One file per machine: samples and parameters to a [`DualProblem`](crate::qp::DualProblem).
//!
//! Costs and weights belong to samples: C_i = C * weight_i, and a weight of two is the same as the
//! sample twice, for every machine.

mod joint;
mod losses;
pub(crate) mod nu_svc;
mod nu_svr;
mod one_class;
mod svc;
mod svdd;
mod svr;

use crate::error::{Error, Result};
pub use joint::{crammer_singer, weston_watkins};
pub use losses::{Intercept, Loss, SvcLoss, SvrLoss};
pub(crate) use nu_svc::normalized;
pub use nu_svc::{largest_nu, nu_svc};
pub use nu_svr::nu_svr;
pub(crate) use one_class::boundary_shift;
pub use one_class::one_class;
pub use svc::svc;
pub use svdd::{constant_diagonal, svdd};
pub(crate) use svdd::{squared_radius, tolerance_of_sphere};
pub use svr::svr;

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
