//! Rows with one more, constant, feature, and the products with them that a Newton step takes.
//!
//! Parts of the rows are added up one after another, so that results do not depend on the number of
//! threads.

use crate::data::Samples;
use crate::error::{Polled, Stop, poll};
use crate::simd::gram::{self, TILE};
use crate::simd::{Isa, add_multiple, inner_product, memory, parallel};

/// Rows a thread takes at a time.
const ROWS: usize = 512;
/// Bytes that the results of parts may take, and the most parts there are.
const PART_BYTES: usize = 1 << 28;
const MOST_PARTS: usize = 32;
/// Multiplications that take as long as reading one value of a row.
const WORK_PER_VALUE: usize = 4;

/// What an error calls the memory of a Newton step.
pub(super) const WHAT: &str = "Newton's method";

pub(crate) struct Rows<'a> {
    samples: &'a Samples,
    constant: f64,
    isa: Isa,
}

impl<'a> Rows<'a> {
    /// Takes samples and the constant feature, which is 0 where there is no intercept.
    pub fn new(samples: &'a Samples, constant: f64) -> Self {
        Rows {
            samples,
            constant,
            isa: Isa::detect(),
        }
    }

    pub fn len(&self) -> usize {
        self.samples.rows()
    }

    /// Returns the number of features, the constant among them.
    pub fn columns(&self) -> usize {
        self.samples.columns() + 1
    }

    /// Returns the squared norm of a row.
    fn squared_norm(&self, row: usize) -> f64 {
        let mut sum = self.constant * self.constant;
        self.samples.for_each(row, |_, value| sum += value * value);
        sum
    }

    /// Returns the largest norm of a row.
    pub fn largest_norm(&self) -> f64 {
        let squares = (0..self.len()).map(|row| self.squared_norm(row));
        squares.fold(0.0f64, f64::max).sqrt()
    }

    /// Returns the multiplications of a pass over all rows.
    fn work(&self) -> usize {
        let entries = self.samples.mean_entries() + 1.0;
        (self.len() as f64 * entries) as usize * WORK_PER_VALUE
    }

    /// Returns w.x of every row.
    pub fn times(&self, weights: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let mut products: Vec<f64> = memory::zeros(self.len(), WHAT)?;
        let chunks = products.chunks_mut(ROWS).enumerate().collect();
        parallel::try_for_each(chunks, self.work(), stop, |buffer, (part, products)| {
            for (i, product) in products.iter_mut().enumerate() {
                *product = self.product(part * ROWS + i, weights, buffer);
            }
            Ok(())
        })?;
        Ok(products)
    }

    fn product(&self, row: usize, weights: &[f64], buffer: &mut Vec<f64>) -> f64 {
        let features = self.samples.columns();
        let mut sum = self.constant * weights[features];
        if self.samples.is_sparse() {
            self.samples
                .for_each(row, |column, value| sum += weights[column] * value);
            return sum;
        }
        buffer.resize(features, 0.0);
        self.samples.copy_row(row, buffer);
        sum + inner_product(self.isa, buffer, &weights[..features])
    }

    /// Returns the sum of multiples of rows.
    pub fn transposed(&self, factors: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let (features, width) = (self.samples.columns(), self.columns());
        // A part is worth its zeros only if it has as many entries.
        let entries = self.work() / WORK_PER_VALUE;
        let rows = self.part_rows(width, entries / (4 * width));
        self.in_parts(rows, width, self.work(), stop, |range, sums| {
            let mut buffer = vec![0.0; features];
            for row in range.filter(|&row| factors[row] != 0.0) {
                let factor = factors[row];
                sums[features] += factor * self.constant;
                if self.samples.is_sparse() {
                    self.samples
                        .for_each(row, |column, value| sums[column] += factor * value);
                } else {
                    self.samples.copy_row(row, &mut buffer);
                    add_multiple(self.isa, factor, &buffer, &mut sums[..features]);
                }
            }
            Ok(())
        })
    }

    /// Returns the lower half of sum_i factor_i x_i x_i'.
    pub fn gram(&self, factors: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let width = self.columns();
        let used = factors.iter().filter(|factor| **factor != 0.0).count();
        let dense = self.samples.is_packed_dense();
        let per_row = match dense {
            true => width * width,
            false => (self.samples.mean_entries() * self.samples.mean_entries()) as usize * 4,
        };
        let work = used.saturating_mul(per_row);
        let rows = self.part_rows(width * width, work / (width * width));
        self.in_parts(rows, width * width, work, stop, |range, gram| {
            let used = range.filter(|&row| factors[row] != 0.0);
            match dense {
                true => self.add_dense(used, factors, gram, stop),
                false => self.add_sparse(used, factors, gram),
            }
        })
    }

    fn add_dense(
        &self,
        used: impl Iterator<Item = usize>,
        factors: &[f64],
        gram: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let width = self.columns();
        let mut used = used.peekable();
        let mut tile: Vec<f64> = memory::zeros(TILE * width, WHAT)?;
        let (mut weights, mut scratch) = (Vec::with_capacity(TILE), gram::Scratch::default());
        while used.peek().is_some() {
            poll(stop)?;
            weights.clear();
            for row in used.by_ref().take(TILE) {
                let place = &mut tile[weights.len() * width..][..width];
                self.samples.copy_row(row, &mut place[..width - 1]);
                place[width - 1] = self.constant;
                weights.push(factors[row]);
            }
            let tile = &tile[..weights.len() * width];
            gram::add_tile(self.isa, tile, &weights, &mut scratch, gram)?;
        }
        Ok(())
    }

    fn add_sparse(
        &self,
        used: impl Iterator<Item = usize>,
        factors: &[f64],
        gram: &mut [f64],
    ) -> Polled<()> {
        let width = self.columns();
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for row in used {
            entries.clear();
            self.samples
                .for_each(row, |column, value| entries.push((column, value)));
            entries.push((width - 1, self.constant));
            for (at, &(i, value)) in entries.iter().enumerate() {
                let factor = factors[row] * value;
                let sums = &mut gram[i * width..][..width];
                for &(j, value) in &entries[..=at] {
                    sums[j] += factor * value;
                }
            }
        }
        Ok(())
    }

    /// Returns the rows of a part whose result is so many numbers, of which at most so many parts pay.
    fn part_rows(&self, size: usize, worth: usize) -> usize {
        let parts = (PART_BYTES / (8 * size)).min(worth).clamp(1, MOST_PARTS);
        self.len().div_ceil(parts).max(ROWS)
    }

    /// Adds up what parts of the rows give, one after another.
    fn in_parts(
        &self,
        rows: usize,
        size: usize,
        work: usize,
        stop: Stop,
        add: impl Fn(std::ops::Range<usize>, &mut [f64]) -> Polled<()> + Send + Sync,
    ) -> Polled<Vec<f64>> {
        let parts = self.len().div_ceil(rows).max(1);
        let mut sums: Vec<f64> = memory::zeros(parts * size, WHAT)?;
        let chunks = sums.chunks_mut(size).enumerate().collect();
        parallel::try_for_each(chunks, work, stop, |_: &mut (), (part, sums)| {
            add(part * rows..self.len().min((part + 1) * rows), sums)
        })?;
        let (first, rest) = sums.split_at_mut(size);
        for part in rest.chunks(size) {
            first.iter_mut().zip(part).for_each(|(s, v)| *s += v);
        }
        sums.truncate(size);
        Ok(sums)
    }
}
