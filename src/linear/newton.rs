//! Newton's method in the weights.
//!
//! With the coefficients beta(w) that a [`Charge`] gives to rows, the objective
//!
//! ```text
//! P(w) = 1/2 |w|^2 + sum_i charge_i(w.x_i),   P'(w) = w - sum_i beta_i(w) x_i
//! ```
//!
//! is quadratic where the band, the rows whose coefficient changes with their value, stays the same. A step
//! goes to the minimum of the quadratic of the present band,
//!
//! ```text
//! (I + X' C X / bend) step = -P'(w),   rows of the band only
//! ```
//!
//! or, where the band changes on the way, to about the minimum of P on that line, whose slope is piecewise
//! linear. That ends after a few steps (Mangasarian). With few features the equations are factored, and
//! their matrix changes by the rows that enter the band or leave it; with many, conjugate gradients solve
//! them to a share of the gradient.
//!
//! Mangasarian: A finite Newton method for classification, Optimization Methods and Software 17 (2002).
//! Keerthi, DeCoste: A modified finite Newton method for fast solution of large scale linear SVMs, Journal
//! of Machine Learning Research 6 (2005).

use super::charge::{Charge, WORK};
use super::equations::Equations;
use super::matrix::{Part, WHAT, dot};
use super::rows::{self, ROWS, Rows};
use crate::error::{Polled, Stop, poll};
use crate::simd::{memory, parallel};

/// The share of its first slope at which a line counts as searched, after so many steps and before, and
/// how often it is looked at.
const FLAT: f64 = 1e-3;
const NEARLY_FLAT: f64 = 0.1;
const EARLY: u64 = 8;
const LOOKS: usize = 40;

/// Where the method is.
pub(super) struct Newton<'a> {
    rows: &'a Rows<'a>,
    stop: Stop<'a>,
    pub weights: Vec<f64>,
    /// w.x of the rows.
    values: Vec<f64>,
    change: Vec<f64>,
    /// The coefficients at these values, and the costs of the rows of the band.
    pub beta: Vec<f64>,
    band: Vec<f64>,
    /// The sum of beta x.
    pub sums: Vec<f64>,
    equations: Equations,
    pub steps: u64,
}

impl<'a> Newton<'a> {
    /// Begins at zero, or at weights.
    pub fn new(rows: &'a Rows<'a>, weights: Option<Vec<f64>>, stop: Stop<'a>) -> Polled<Self> {
        let zeros = || memory::zeros::<f64>(rows.len(), WHAT);
        let mut values = zeros()?;
        if let Some(weights) = &weights {
            rows.times(weights, &mut values, stop)?;
        }
        Ok(Newton {
            rows,
            stop,
            weights: weights.unwrap_or_else(|| vec![0.0; rows.columns()]),
            values,
            change: zeros()?,
            beta: zeros()?,
            band: zeros()?,
            sums: Vec::new(),
            equations: Equations::default(),
            steps: 0,
        })
    }

    /// Minimises P until no value w.x would change by more than `tolerance` if w were the sum of beta x, or
    /// for so many steps altogether.
    pub fn minimise(&mut self, charge: &Charge, tolerance: f64, most: u64) -> Polled<()> {
        let begun = self.steps;
        let mut share = 0.0;
        loop {
            poll(self.stop)?;
            self.evaluate(charge, share)?;
            let terms = self.weights.iter().zip(&self.sums);
            let gradient: Vec<f64> = terms.map(|(w, sum)| w - sum).collect();
            let off = dot(&gradient, &gradient).sqrt() * self.rows.norm();
            if off <= tolerance || self.steps >= most || !off.is_finite() {
                return Ok(());
            }
            let scale = 1.0 / charge.bend();
            let equations = &mut self.equations;
            let step = equations.solve(self.rows, &self.band, scale, &gradient, self.stop)?;
            let full = self.look_ahead(charge, &step)?;
            let flat = match self.steps < begun + EARLY {
                true => NEARLY_FLAT,
                false => FLAT,
            };
            let line = Line {
                charge,
                values: &self.values,
                change: &self.change,
                along: dot(&self.weights, &step),
                square: dot(&step, &step),
            };
            share = line.minimum(dot(&gradient, &step), full, flat);
            if share <= 0.0 || !share.is_finite() {
                return Ok(());
            }
            for (weight, step) in self.weights.iter_mut().zip(&step) {
                *weight += share * step;
            }
            self.steps += 1;
        }
    }

    /// Takes a share of the last step, and finds coefficients, band and sums there: all in one pass over
    /// the rows, with the Gram matrix of the band where rows are so short that it costs little more.
    fn evaluate(&mut self, charge: &Charge, share: f64) -> Polled<()> {
        let (rows, stop) = (self.rows, self.stop);
        let columns = rows.columns();
        let squares = if rows.are_short() {
            columns * columns
        } else {
            0
        };
        let size = columns + squares;
        let part_rows = rows.part_rows(size);
        let parts = rows.len().div_ceil(part_rows).max(1);
        let mut results: Vec<f64> = memory::zeros(parts * size, WHAT)?;
        let chunks = (self
            .values
            .chunks_mut(part_rows)
            .zip(self.change.chunks(part_rows)))
        .zip(
            self.beta
                .chunks_mut(part_rows)
                .zip(self.band.chunks_mut(part_rows)),
        )
        .zip(results.chunks_mut(size));
        parallel::try_for_each(
            chunks.enumerate().collect(),
            rows.work() + rows.len() * WORK,
            stop,
            |_: &mut (), (part, (((values, change), (beta, band)), result))| {
                let (sums, gram) = result.split_at_mut(columns);
                let pieces = (values.chunks_mut(ROWS).zip(change.chunks(ROWS)))
                    .zip(beta.chunks_mut(ROWS).zip(band.chunks_mut(ROWS)));
                for (piece, ((values, change), (beta, band))) in pieces.enumerate() {
                    let first = part * part_rows + piece * ROWS;
                    for (value, change) in values.iter_mut().zip(change) {
                        *value += share * change;
                    }
                    charge.coefficients(first, values, beta, band);
                    rows.matrix().combine(first, beta, sums);
                    if squares > 0 {
                        let factors = &*band;
                        rows.matrix().gram(Part { first, factors }, gram, stop)?;
                    }
                }
                Ok(())
            },
        )?;
        let mut total = rows::added(results, size);
        if squares > 0 {
            self.equations.hold(total.split_off(columns));
        }
        self.sums = total;
        Ok(())
    }

    /// Finds how values change by a step, and the sum of beta_i change_i at its end.
    fn look_ahead(&mut self, charge: &Charge, step: &[f64]) -> Polled<f64> {
        let rows = self.rows;
        let mut drops = vec![0.0; rows.len().div_ceil(ROWS)];
        let chunks = self.change.chunks_mut(ROWS).zip(self.values.chunks(ROWS));
        let chunks = chunks.zip(&mut drops).enumerate().collect();
        let work = rows.work() + rows.len() * WORK;
        parallel::try_for_each(
            chunks,
            work,
            self.stop,
            |_: &mut (), (part, ((change, values), drop))| {
                rows.matrix().dots(part * ROWS, step, change);
                *drop = charge.drop(part * ROWS, values, change, 1.0);
                Ok(())
            },
        )?;
        Ok(drops.iter().sum())
    }
}

/// P along a step.
struct Line<'a> {
    charge: &'a Charge<'a>,
    values: &'a [f64],
    change: &'a [f64],
    /// w.step and step.step.
    along: f64,
    square: f64,
}

impl Line<'_> {
    /// Returns the slope of P after a share of the step.
    fn slope(&self, share: f64) -> f64 {
        let mut drops = vec![0.0; self.values.len().div_ceil(ROWS)];
        let parts = self.values.chunks(ROWS).zip(self.change.chunks(ROWS));
        let parts = parts.zip(&mut drops).enumerate().collect();
        let work = self.values.len() * WORK;
        parallel::for_each(
            parts,
            work,
            |_: &mut (), (part, ((values, change), drop))| {
                *drop = self.charge.drop(part * ROWS, values, change, share);
            },
        );
        self.along + share * self.square - drops.iter().sum::<f64>()
    }

    /// Returns a share at which the slope, which never falls, is zero up to a share of the first; `full` is
    /// the sum of beta_i change_i at the end of the step.
    fn minimum(&self, first: f64, full: f64, flat: f64) -> f64 {
        if first >= 0.0 {
            return 0.0;
        }
        let enough = -flat * first;
        let last = self.along + self.square - full;
        let (mut low, mut high) = ((0.0, first), (1.0, last));
        while high.1 < -enough && high.0 < 1e6 {
            (low, high) = (high, (2.0 * high.0, self.slope(2.0 * high.0)));
        }
        for look in 0..LOOKS {
            if high.1.abs() <= enough {
                return high.0;
            }
            // Where the chord meets zero; the middle from time to time, as a chord may hardly move.
            let share = match look % 3 {
                2 => 0.5 * (low.0 + high.0),
                _ => low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1),
            };
            let slope = self.slope(share);
            if slope.abs() <= enough {
                return share;
            }
            match slope < 0.0 {
                true => low = (share, slope),
                false => high = (share, slope),
            }
        }
        low.0
    }
}
