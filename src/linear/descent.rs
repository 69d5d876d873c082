//! Coordinate descent in the dual problem, for rows of many features: text.
//!
//! A coefficient at a time goes to its minimum ([`Sweep`]), and the weights follow; a sweep reads every row
//! once. For costs that are not large that takes 10 to 50 sweeps, each far cheaper than a Newton step.
//!
//! Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM,
//! ICML (2008). Ho, Lin: Large-scale linear support vector regression, Journal of Machine Learning Research
//! 13 (2012).

use super::certificate::certify;
use super::charge::Target;
use super::found::{Found, Goal};
use super::matrix::WHAT;
use super::rows::Rows;
use super::sweep::Sweep;
use crate::error::{Polled, Stop, poll};
use crate::qp::Algorithm;
use crate::simd::memory;

/// Sweeps after which Newton's method is better.
const MOST: u64 = 400;
/// The share of the tolerance at which the gap is computed, and by how much that falls where this was too
/// soon: coefficients move after they are looked at, and the others with them.
const FIRST: f64 = 0.8;
const FINER: f64 = 0.5;
/// The start of the random orders.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// Solves by sweeps, or returns where they have come.
pub(super) fn solve(rows: &Rows, target: &Target, goal: Goal, stop: Stop) -> Polled<Found> {
    let mut sweep = Sweep {
        target,
        beta: memory::zeros(rows.len(), WHAT)?,
        weights: memory::zeros(rows.columns(), WHAT)?,
        curvature: rows.squared_norms(stop)?,
        order: (0..rows.len() as u32).collect(),
        active: rows.len(),
        largest: f64::INFINITY,
        m: 0.0,
        big_m: 0.0,
        random: SEED,
    };
    for (curvature, cost) in sweep.curvature.iter_mut().zip(target.cost) {
        // A row of zeros with a loss that is not squared: any step is long enough.
        *curvature = (*curvature + target.ridge() / cost).max(f64::MIN_POSITIVE);
    }
    let most = goal.most.min(MOST);
    let (mut aim, mut sweeps) = (FIRST * goal.aim, 0);
    loop {
        let complete = sweep.active == sweep.order.len();
        let near = sweeps > 0 && sweep.m - sweep.big_m <= aim;
        if sweeps >= most || (near && complete) {
            sweep.weights = rows.combined(&sweep.beta, stop)?;
            let certificate = certify(rows, target, &sweep.beta, &sweep.weights, stop)?;
            (goal.tell)(sweeps, certificate.gap);
            if sweeps >= most || certificate.gap <= goal.aim {
                return Ok(Found {
                    beta: sweep.beta,
                    weights: sweep.weights,
                    certificate,
                    steps: sweeps,
                    method: Algorithm::Descent,
                });
            }
            aim *= FINER;
        }
        if near {
            sweep.look_at_all();
        }
        poll(stop)?;
        rows.sweep(&mut sweep);
        sweeps += 1;
    }
}
