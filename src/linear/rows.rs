//! Rows with one more, constant, feature, and the products with them that the methods take.
//!
//! Parts of the rows are added up one after another, so that results do not depend on the number of
//! threads.

use super::matrix::{Dense, Matrix, Part, Sparse, WHAT};
use super::sweep::Sweep;
use super::tiles::{self, Tiles};
use crate::data::{Samples, Values};
use crate::error::{Polled, Result, Stop};
use crate::simd::{Isa, Real, memory, parallel};

/// Rows a thread takes at a time: a multiple of a tile.
pub(super) const ROWS: usize = 2 * tiles::TILE;
/// Bytes that the results of parts may take, and the most parts there are.
const PART_BYTES: usize = 1 << 25;
const MOST_PARTS: usize = 32;
/// Features up to which a Gram matrix of all rows takes about as long as reading them.
const SHORT: usize = 24;
/// Multiplications that take as long as reading one value of a row.
const WORK_PER_VALUE: usize = 4;

pub(crate) struct Rows<'a> {
    matrix: Box<dyn Matrix + 'a>,
    len: usize,
    columns: usize,
    /// Entries of a row, on average, and how many of its products with itself a Gram matrix takes.
    entries: f64,
    products: f64,
    norm: f64,
    short: bool,
    samples: &'a Samples,
    constant: f64,
}

impl<'a> Rows<'a> {
    /// Takes samples and the constant feature, which is 0 where there is no intercept.
    pub fn new(samples: &'a Samples, constant: f64, stop: Stop) -> Polled<Self> {
        let matrix = match samples.values() {
            Values::Single(values) => stored::<f32>(samples, values, constant, stop)?,
            Values::Double(values) => stored::<f64>(samples, values, constant, stop)?,
        };
        let columns = samples.columns() + 1;
        let entries = samples.mean_entries() + 1.0;
        let wide = if samples.is_packed_dense() {
            0.5 * (columns * columns) as f64
        } else {
            4.0 * entries * entries
        };
        let mut rows = Rows {
            matrix,
            len: samples.rows(),
            columns,
            entries,
            products: wide,
            norm: 0.0,
            short: samples.is_packed_dense() && columns <= SHORT,
            samples,
            constant,
        };
        rows.norm = rows.largest_norm(stop)?;
        Ok(rows)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of features, the constant among them.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns a copy of every so many rows, and their constant feature.
    pub(super) fn sampled(&self, every: usize) -> Result<(Samples, f64)> {
        let picked: Vec<usize> = (0..self.len).step_by(every).collect();
        Ok((self.samples.select(&picked)?, self.constant))
    }

    /// Returns the largest norm of a row.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    fn largest_norm(&self, stop: Stop) -> Polled<f64> {
        let mut squares = vec![0.0f64; self.len.div_ceil(ROWS)];
        let parts = squares.iter_mut().enumerate().collect();
        parallel::try_for_each(parts, self.work(), stop, |_: &mut (), (part, square)| {
            let rows = part * ROWS..self.len.min((part + 1) * ROWS);
            *square = rows.map(|row| self.squared_norm(row)).fold(0.0, f64::max);
            Ok(())
        })?;
        Ok(squares.into_iter().fold(0.0, f64::max).sqrt())
    }

    fn squared_norm(&self, row: usize) -> f64 {
        let mut sum = self.constant * self.constant;
        self.samples.for_each(row, |_, value| sum += value * value);
        sum
    }

    /// Returns the squared norms of all rows.
    pub fn squared_norms(&self, stop: Stop) -> Polled<Vec<f64>> {
        let mut squares: Vec<f64> = memory::zeros(self.len, WHAT)?;
        let parts = squares.chunks_mut(ROWS).enumerate().collect();
        parallel::try_for_each(parts, self.work(), stop, |_: &mut (), (part, squares)| {
            for (at, square) in squares.iter_mut().enumerate() {
                *square = self.squared_norm(part * ROWS + at);
            }
            Ok(())
        })?;
        Ok(squares)
    }

    /// Goes over the rows of a sweep.
    pub(super) fn sweep(&self, sweep: &mut Sweep) {
        self.matrix.sweep(sweep);
    }

    /// Returns the multiplications of a pass over all rows.
    pub fn work(&self) -> usize {
        (self.len as f64 * self.entries) as usize * WORK_PER_VALUE
    }

    /// Writes w.x of every row.
    pub fn times(&self, weights: &[f64], out: &mut [f64], stop: Stop) -> Polled<()> {
        let chunks = out.chunks_mut(ROWS).enumerate().collect();
        parallel::try_for_each(chunks, self.work(), stop, |_: &mut (), (part, out)| {
            self.matrix.dots(part * ROWS, weights, out);
            Ok(())
        })
    }

    /// Returns the sum of multiples of rows.
    pub fn combined(&self, factors: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let rows = self.part_rows(self.columns);
        self.in_parts(rows, self.columns, self.work(), stop, |first, sums| {
            let end = self.len.min(first + rows);
            self.matrix.combine(first, &factors[first..end], sums);
            Ok(())
        })
    }

    /// Returns the product of X' diag(factors) X with a vector.
    pub fn squared(&self, factors: &[f64], vector: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let mut values: Vec<f64> = memory::zeros(self.len, WHAT)?;
        self.times(vector, &mut values, stop)?;
        for (value, factor) in values.iter_mut().zip(factors) {
            *value *= factor;
        }
        self.combined(&values, stop)
    }

    /// Returns the lower half of sum_i factor_i x_i x_i'.
    pub fn gram(&self, factors: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let size = self.columns * self.columns;
        let used = factors.iter().filter(|factor| **factor != 0.0).count();
        let work = used.saturating_mul(self.products as usize);
        let rows = self.parts_of(size, work / (8 * size));
        self.in_parts(rows, size, work, stop, |first, gram| {
            let factors = &factors[first..self.len.min(first + rows)];
            self.matrix.gram(Part { first, factors }, gram, stop)
        })
    }

    /// Returns the rows of a part whose result is so many numbers.
    pub(super) fn part_rows(&self, size: usize) -> usize {
        // A part is worth its zeros only if it has as many entries.
        let entries = (self.len as f64 * self.entries) as usize;
        self.parts_of(size, entries / (4 * size))
    }

    /// Returns the rows of a part, of which at most so many are worth their result.
    fn parts_of(&self, size: usize, worth: usize) -> usize {
        let parts = (PART_BYTES / (8 * size)).min(worth).clamp(1, MOST_PARTS);
        self.len.div_ceil(parts).max(ROWS).next_multiple_of(ROWS)
    }

    pub(super) fn matrix(&self) -> &dyn Matrix {
        &*self.matrix
    }

    /// Tells whether the Gram matrix of all rows takes about as long as reading them.
    pub(super) fn are_short(&self) -> bool {
        self.short
    }

    /// Adds up what parts of the rows give, one after another.
    fn in_parts(
        &self,
        rows: usize,
        size: usize,
        work: usize,
        stop: Stop,
        add: impl Fn(usize, &mut [f64]) -> Polled<()> + Send + Sync,
    ) -> Polled<Vec<f64>> {
        let parts = self.len.div_ceil(rows).max(1);
        let mut sums: Vec<f64> = memory::zeros(parts * size, WHAT)?;
        let chunks = sums.chunks_mut(size).enumerate().collect();
        parallel::try_for_each(chunks, work, stop, |_: &mut (), (part, sums)| {
            add(part * rows, sums)
        })?;
        Ok(added(sums, size))
    }
}

/// Adds up vectors that are stored one after another.
pub(super) fn added(mut vectors: Vec<f64>, size: usize) -> Vec<f64> {
    let (first, rest) = vectors.split_at_mut(size);
    for part in rest.chunks(size) {
        first.iter_mut().zip(part).for_each(|(s, v)| *s += v);
    }
    vectors.truncate(size);
    vectors
}

/// Returns rows as they are best read.
fn stored<'a, T: Real>(
    samples: &'a Samples,
    values: &'a [T],
    constant: f64,
    stop: Stop,
) -> Polled<Box<dyn Matrix + 'a>> {
    let isa = Isa::detect();
    let columns = samples.columns();
    if columns < tiles::MOST_COLUMNS && samples.is_packed_dense() {
        return Ok(Box::new(Tiles::<T>::pack(samples, constant, isa, stop)?));
    }
    Ok(match samples.pattern() {
        None => Box::new(Dense {
            values,
            columns,
            constant,
            isa,
        }),
        Some((starts, places)) => Box::new(Sparse {
            starts,
            columns: places,
            values,
            width: columns,
            filled: samples.is_packed_dense(),
            constant,
            isa,
        }),
    })
}
