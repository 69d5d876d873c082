//! Certificate: what coefficients prove.
//!
//! The gradient of the dual problem at beta is that of the values of w = sum_i beta_i x_i, both computed
//! anew; its optimality conditions give the gap as for any other solver ([`qp`](crate::qp)).

use super::charge::Target;
use super::matrix::{WHAT, dot};
use super::rows::{ROWS, Rows};
use crate::error::{Polled, Stop};
use crate::qp::Charged;
use crate::simd::{memory, parallel};

/// Standard deviations of rounding errors that are added to the gap, on either side.
const DEVIATIONS: f64 = 8.0;
/// Multiplications that take as long as the conditions of a row.
const WORK: usize = 32;

/// What coefficients prove.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub gap: f64,
    /// The objective of the dual problem.
    pub objective: f64,
    /// How far that is from the objective of the machine.
    pub duality_gap: f64,
    /// The squared length of the weight vector, that of a constant feature included.
    pub squared_norm: f64,
}

/// What some rows add to it.
#[derive(Clone, Copy, Default)]
struct Share {
    m: f64,
    big_m: f64,
    objective: f64,
    duality_gap: f64,
    square: f64,
}

impl Share {
    fn include(&mut self, target: &Target, i: usize, f: f64, beta: f64) {
        let (value, cost) = (target.value[i], target.cost[i]);
        let (ridge, top) = (target.ridge() / cost, target.top() * cost);
        let (lower, upper) = match target.tube {
            None if value > 0.0 => (0.0, top),
            None => (-top, 0.0),
            Some(_) => (-top, top),
        };
        let tube = target.tube.unwrap_or(0.0);
        // There is no sum to be kept, so thresholds are those of a variable whose descent is zero.
        let descent = value - f - ridge * beta;
        if beta < upper {
            let price = if beta >= 0.0 { tube } else { -tube };
            self.m = self.m.max(descent - price);
        }
        if beta > lower {
            let price = if beta > 0.0 { tube } else { -tube };
            self.big_m = self.big_m.min(descent - price);
        }
        self.objective += beta * (0.5 * ridge * beta - value) + tube * beta.abs();
        let charged = Charged {
            lower,
            upper,
            ridge,
            absolute: tube,
        };
        self.duality_gap += charged.gap(f - value, beta);
        self.square += beta * beta;
    }
}

/// Returns the certificate of coefficients and the sum of these times rows.
pub(super) fn certify(
    rows: &Rows,
    target: &Target,
    beta: &[f64],
    sums: &[f64],
    stop: Stop,
) -> Polled<Certificate> {
    let mut values: Vec<f64> = memory::zeros(rows.len(), WHAT)?;
    rows.times(sums, &mut values, stop)?;
    let mut shares = vec![Share::default(); rows.len().div_ceil(ROWS)];
    let parts = values.chunks(ROWS).zip(&mut shares).enumerate().collect();
    let work = rows.len() * WORK;
    parallel::for_each(parts, work, |_: &mut (), (part, (values, share))| {
        for (at, &f) in values.iter().enumerate() {
            let i = part * ROWS + at;
            share.include(target, i, f, beta[i]);
        }
    });
    let all = shares.iter().fold(Share::default(), |all, share| Share {
        m: all.m.max(share.m),
        big_m: all.big_m.min(share.big_m),
        objective: all.objective + share.objective,
        duality_gap: all.duality_gap + share.duality_gap,
        square: all.square + share.square,
    });
    let squared_norm = dot(sums, sums);
    let norm = rows.norm();
    let rounding = DEVIATIONS * 0.5 * f64::EPSILON * norm * norm * all.square.sqrt();
    let gap = all.m - all.big_m + 2.0 * rounding;
    Ok(Certificate {
        gap: if gap.is_nan() { f64::INFINITY } else { gap },
        objective: 0.5 * squared_norm + all.objective,
        duality_gap: all.duality_gap,
        squared_norm,
    })
}
