//! Newton's method for squared losses.
//!
//! P is quadratic where the set of rows with an excess stays the same. A step goes to the minimum of the
//! quadratic of the present set,
//!
//! ```text
//! (I + 2 X' C X) step = -gradient,   rows with an excess only
//! ```
//!
//! or, where the set changes on the way, to the minimum of P on that line, whose slope is piecewise linear.
//! That ends after a few steps (Mangasarian). With few features the equations are factored; with many,
//! conjugate gradients solve them to a share of the gradient.
//!
//! Mangasarian: A finite Newton method for classification, Optimization Methods and Software 17 (2002).
//! Keerthi, DeCoste: A modified finite Newton method for fast solution of large scale linear SVMs, Journal
//! of Machine Learning Research 6 (2005).

use super::rows::Rows;
use crate::error::{Polled, Stop, poll};
use crate::simd::{Isa, cholesky};

/// Features up to which the equations are factored.
const FACTORED: usize = 1024;
/// Steps after which the method gives up: it takes 5 to 15.
const MOST: u64 = 200;
/// The share of the gradient that conjugate gradients leave, and their most steps.
const LEFT: f64 = 0.1;
const MOST_PRODUCTS: usize = 1000;
/// The share of its first slope at which a line counts as searched, and how often it is looked at.
const FLAT: f64 = 1e-10;
const LOOKS: usize = 60;

/// What rows are to have, and what they cost otherwise.
pub(crate) struct Target<'a> {
    /// A value for each row: 1 or -1 for the classes.
    pub value: &'a [f64],
    /// The width of the tube of a regression; None for classes, of which more than 1 is no error.
    pub tube: Option<f64>,
    /// C_i.
    pub cost: &'a [f64],
}

impl Target<'_> {
    /// Returns by how much row i falls short if its value is f.
    fn excess(&self, i: usize, f: f64) -> f64 {
        let error = self.value[i] - f;
        match self.tube {
            None if self.value[i] * error > 0.0 => error,
            None => 0.0,
            Some(tube) if error.abs() > tube => error - tube.copysign(error),
            Some(_) => 0.0,
        }
    }

    /// Returns the coefficients beta at these values.
    fn coefficients(&self, values: &[f64]) -> Vec<f64> {
        let all = values.iter().enumerate();
        all.map(|(i, &f)| 2.0 * self.cost[i] * self.excess(i, f))
            .collect()
    }
}

/// Where the method has ended.
pub(crate) struct Minimum {
    /// The coefficients of rows.
    pub beta: Vec<f64>,
    pub steps: u64,
}

/// Minimises P until no value w.x would change by more than `tolerance` if w were the sum of beta x, or for
/// so many steps.
pub(crate) fn minimise(
    rows: &Rows,
    target: &Target,
    tolerance: f64,
    most: u64,
    stop: Stop,
) -> Polled<Minimum> {
    let norm = rows.largest_norm();
    let mut weights = vec![0.0; rows.columns()];
    let mut values = vec![0.0; rows.len()];
    let mut steps = 0;
    loop {
        poll(stop)?;
        let beta = target.coefficients(&values);
        let sums = rows.transposed(&beta, stop)?;
        let gradient: Vec<f64> = weights.iter().zip(&sums).map(|(w, sum)| w - sum).collect();
        let off = dot(&gradient, &gradient).sqrt();
        if off * norm <= tolerance || steps >= most.min(MOST) || !off.is_finite() {
            return Ok(Minimum { beta, steps });
        }
        let curvature = beta.iter().zip(target.cost);
        let curvature: Vec<f64> = curvature
            .map(|(beta, cost)| if *beta != 0.0 { 2.0 * cost } else { 0.0 })
            .collect();
        let step = match rows.columns() <= FACTORED {
            true => factored(rows, &curvature, &gradient, stop)?,
            false => conjugate(rows, &curvature, &gradient, stop)?,
        };
        let change = rows.times(&step, stop)?;
        let line = Line {
            target,
            values: &values,
            change: &change,
            along: dot(&weights, &step),
            square: dot(&step, &step),
        };
        let share = line.minimum();
        if share <= 0.0 || !share.is_finite() {
            return Ok(Minimum { beta, steps });
        }
        for (weight, step) in weights.iter_mut().zip(&step) {
            *weight += share * step;
        }
        for (value, change) in values.iter_mut().zip(&change) {
            *value += share * change;
        }
        steps += 1;
    }
}

/// P along a step.
struct Line<'a> {
    target: &'a Target<'a>,
    values: &'a [f64],
    change: &'a [f64],
    /// w.step and step.step.
    along: f64,
    square: f64,
}

impl Line<'_> {
    /// Returns the slope of P after a share of the step.
    fn slope(&self, share: f64) -> f64 {
        let terms = self.values.iter().zip(self.change).enumerate();
        let losses: f64 = terms
            .map(|(i, (value, change))| {
                let excess = self.target.excess(i, value + share * change);
                2.0 * self.target.cost[i] * excess * change
            })
            .sum();
        self.along + share * self.square - losses
    }

    /// Returns the share at which the slope is zero: it never falls.
    fn minimum(&self) -> f64 {
        let first = self.slope(0.0);
        if first >= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = ((0.0, first), (1.0, self.slope(1.0)));
        while high.1 < 0.0 && high.0 < 1e6 {
            (low, high) = (high, (2.0 * high.0, self.slope(2.0 * high.0)));
        }
        for look in 0..LOOKS {
            if high.1.abs() <= FLAT * -first {
                return high.0;
            }
            // Where the chord meets zero; the middle from time to time, as a chord may hardly move.
            let share = match look % 3 {
                2 => 0.5 * (low.0 + high.0),
                _ => low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1),
            };
            let slope = self.slope(share);
            if slope.abs() <= FLAT * -first {
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves the equations by factoring them.
fn factored(rows: &Rows, curvature: &[f64], gradient: &[f64], stop: Stop) -> Polled<Vec<f64>> {
    let n = gradient.len();
    let mut matrix = rows.gram(curvature, stop)?;
    for at in 0..n {
        matrix[at * n + at] += 1.0;
    }
    let isa = Isa::detect();
    let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
    match cholesky::factor(isa, &mut matrix, n, stop)? {
        true => {
            cholesky::solve(isa, &matrix, &mut step);
            Ok(step)
        }
        // Beyond the digits of f64.
        false => conjugate(rows, curvature, gradient, stop),
    }
}

/// Solves the equations by conjugate gradients.
fn conjugate(rows: &Rows, curvature: &[f64], gradient: &[f64], stop: Stop) -> Polled<Vec<f64>> {
    let mut step = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut square = dot(&residual, &residual);
    let enough = LEFT * LEFT * square;
    for _ in 0..MOST_PRODUCTS {
        let mut values = rows.times(&direction, stop)?;
        for (value, curvature) in values.iter_mut().zip(curvature) {
            *value *= curvature;
        }
        let mut product = rows.transposed(&values, stop)?;
        product
            .iter_mut()
            .zip(&direction)
            .for_each(|(p, d)| *p += d);
        let length = square / dot(&direction, &product);
        for at in 0..step.len() {
            step[at] += length * direction[at];
            residual[at] -= length * product[at];
        }
        let next = dot(&residual, &residual);
        if next <= enough || !next.is_finite() {
            break;
        }
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            *direction = residual + next / square * *direction;
        }
        square = next;
    }
    Ok(step)
}
