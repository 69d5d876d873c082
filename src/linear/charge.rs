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

use super::rows::ROWS;
use crate::simd::{Isa, Real, dispatch, parallel};

/// Multiplications that take as long as the coefficient of a row.
const WORK: usize = 32;

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

    /// Writes the coefficients at some values, and the costs of those that would change with the value.
    pub fn coefficients(&self, values: &[f64], beta: &mut [f64], band: &mut [f64]) {
        let parts = values.chunks(ROWS).zip(beta.chunks_mut(ROWS));
        let parts = parts.zip(band.chunks_mut(ROWS)).enumerate().collect();
        let (shape, work) = (self.shape(), values.len() * WORK);
        parallel::for_each(parts, work, |_: &mut (), (part, ((values, beta), band))| {
            let chunk = self.chunk(part * ROWS, values.len());
            chunk_coefficients::<f64>(self.isa, shape, chunk, values, beta, band);
        });
    }

    /// Returns sum_i beta_i change_i with the coefficients at values + share * change.
    pub fn drop(&self, values: &[f64], change: &[f64], share: f64) -> f64 {
        let mut sums = vec![0.0; values.len().div_ceil(ROWS)];
        let parts = values.chunks(ROWS).zip(change.chunks(ROWS)).zip(&mut sums);
        let (shape, work) = (self.shape(), values.len() * WORK);
        parallel::for_each(
            parts.enumerate().collect(),
            work,
            |_: &mut (), (part, ((values, change), sum))| {
                let chunk = self.chunk(part * ROWS, values.len());
                *sum = chunk_drop::<f64>(self.isa, shape, chunk, values, change, share);
            },
        );
        sums.iter().sum()
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
        for lane in 0..LANES {
            sums[lane] += term(first + lane);
        }
    }
    sums.iter().sum::<f64>() + (whole..n).map(term).sum::<f64>()
}
