//! Charge: what a row costs at a value, and the coefficient that this gives it.
//!
//! With e = y - f the error of a row, its coefficient is C a, where a is
//!
//! ```text
//! classes      e / bend, cut at 0 on one side and at top on the other
//! regression   (|e| - tube)+ sign(e) / bend, cut at -top and top
//! ```
//!
//! For a squared loss bend = 1/2 and there is no top. Other losses have top = 1 and no bend: a jumps. There
//! the dual problem gets a proximal term, C width / 2 (a - centre)^2, which makes bend = width and adds
//! width times centre to e.

use crate::simd::{Isa, Real, dispatch};

/// Multiplications that take as long as the coefficient of a row.
pub(super) const WORK: usize = 32;

/// What rows are to have, and what they cost otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// A value for each row: 1 or -1 for the classes.
    pub value: &'a [f64],
    /// The width of the tube of a regression; None for classes, of which more than 1 is no error.
    pub tube: Option<f64>,
    /// C_i.
    pub cost: &'a [f64],
    /// Whether errors are squared.
    pub squared: bool,
}

impl Target<'_> {
    /// Returns the largest coefficient of a row as a share of its cost.
    pub fn top(&self) -> f64 {
        if self.squared { f64::INFINITY } else { 1.0 }
    }

    /// Returns the mean size of a value, 1 if all are zero.
    pub fn scale(&self) -> f64 {
        let total: f64 = self.value.iter().map(|value| value.abs()).sum();
        let mean = total / self.value.len().max(1) as f64;
        if mean > 0.0 { mean } else { 1.0 }
    }

    /// Returns the ridge of the dual problem times the cost.
    pub fn ridge(&self) -> f64 {
        if self.squared { 0.5 } else { 0.0 }
    }
}

/// The charges of all rows.
pub(super) struct Charge<'a> {
    pub target: &'a Target<'a>,
    /// The proximal term: where a is drawn to, and how strongly.
    pub centre: &'a [f64],
    pub width: f64,
    pub isa: Isa,
}

/// What is the same for all rows.
#[derive(Clone, Copy)]
struct Shape {
    classes: bool,
    tube: f64,
    width: f64,
    inverse: f64,
    top: f64,
}

/// Some rows.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    value: &'a [f64],
    cost: &'a [f64],
    centre: &'a [f64],
}

impl Charge<'_> {
    /// Returns the width of the errors over which a coefficient changes.
    pub fn bend(&self) -> f64 {
        self.width + self.target.ridge()
    }

    fn shape(&self) -> Shape {
        Shape {
            classes: self.target.tube.is_none(),
            tube: self.target.tube.unwrap_or(0.0),
            width: self.width,
            inverse: 1.0 / self.bend(),
            top: self.target.top(),
        }
    }

    fn chunk(&self, first: usize, count: usize) -> Chunk<'_> {
        Chunk {
            value: &self.target.value[first..][..count],
            cost: &self.target.cost[first..][..count],
            centre: &self.centre[first..][..count],
        }
    }

    /// Writes the coefficients of rows from `first` on at their values, and the costs of those that would
    /// change with the value.
    pub fn coefficients(&self, first: usize, values: &[f64], beta: &mut [f64], band: &mut [f64]) {
        let chunk = self.chunk(first, values.len());
        chunk_coefficients::<f64>(self.isa, self.shape(), chunk, values, beta, band);
    }

    /// Returns the sum of beta_i change_i over rows from `first` on, with the coefficients at
    /// values + share * change.
    pub fn drop(&self, first: usize, values: &[f64], change: &[f64], share: f64) -> f64 {
        let chunk = self.chunk(first, values.len());
        chunk_drop::<f64>(self.isa, self.shape(), chunk, values, change, share)
    }
}

/// Returns a.
#[inline(always)]
fn unit<const CLASSES: bool>(shape: Shape, value: f64, centre: f64, f: f64) -> f64 {
    let error = shape.width * centre + (value - f);
    if CLASSES {
        let (lower, upper) = if value > 0.0 {
            (0.0, shape.top)
        } else {
            (-shape.top, 0.0)
        };
        (error * shape.inverse).larger(lower).smaller(upper)
    } else {
        let beyond = (error.abs() - shape.tube).larger(0.0) * shape.inverse;
        beyond.smaller(shape.top).copysign(error)
    }
}

dispatch! {
    fn chunk_coefficients<T: Real>(
        shape: Shape, chunk: Chunk, values: &[f64], beta: &mut [f64], band: &mut [f64],
    ) = chunk_coefficients_body
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "dispatch! gives one")]
fn chunk_coefficients_body<T: Real, const FMA: bool>(
    shape: Shape,
    chunk: Chunk,
    values: &[f64],
    beta: &mut [f64],
    band: &mut [f64],
) {
    match shape.classes {
        true => write_coefficients::<true>(shape, chunk, values, beta, band),
        false => write_coefficients::<false>(shape, chunk, values, beta, band),
    }
}

#[inline(always)]
fn write_coefficients<const CLASSES: bool>(
    shape: Shape,
    chunk: Chunk,
    values: &[f64],
    beta: &mut [f64],
    band: &mut [f64],
) {
    let n = values.len();
    let (value, cost, centre) = (&chunk.value[..n], &chunk.cost[..n], &chunk.centre[..n]);
    let (beta, band) = (&mut beta[..n], &mut band[..n]);
    for i in 0..n {
        let a = unit::<CLASSES>(shape, value[i], centre[i], values[i]);
        beta[i] = cost[i] * a;
        let changes = a != 0.0 && a.abs() < shape.top;
        band[i] = if changes { cost[i] } else { 0.0 };
    }
}

dispatch! {
    fn chunk_drop<T: Real>(
        shape: Shape, chunk: Chunk, values: &[f64], change: &[f64], share: f64,
    ) -> f64 = chunk_drop_body
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters, reason = "dispatch! gives one")]
fn chunk_drop_body<T: Real, const FMA: bool>(
    shape: Shape,
    chunk: Chunk,
    values: &[f64],
    change: &[f64],
    share: f64,
) -> f64 {
    match shape.classes {
        true => add_drop::<true>(shape, chunk, values, change, share),
        false => add_drop::<false>(shape, chunk, values, change, share),
    }
}

/// Sums that are added up side by side.
const LANES: usize = 16;

#[inline(always)]
fn add_drop<const CLASSES: bool>(
    shape: Shape,
    chunk: Chunk,
    values: &[f64],
    change: &[f64],
    share: f64,
) -> f64 {
    let n = values.len();
    let (value, cost, centre) = (&chunk.value[..n], &chunk.cost[..n], &chunk.centre[..n]);
    let change = &change[..n];
    let term = |i: usize| {
        let f = values[i] + share * change[i];
        cost[i] * unit::<CLASSES>(shape, value[i], centre[i], f) * change[i]
    };
    let mut sums = [0.0; LANES];
    let whole = n - n % LANES;
    for first in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(first + lane);
        }
    }
    sums.iter().sum::<f64>() + (whole..n).map(term).sum::<f64>()
}
