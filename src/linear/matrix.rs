//! Matrix: the products with rows that the methods take, for each way rows are stored.

use super::sweep::{RowWise, Sweep};
use crate::error::{Polled, Stop, poll};
use crate::simd::gram::{self, TILE};
use crate::simd::{Isa, Real, add_multiples, memory, value_dots};

/// What an error calls the memory of the methods.
pub(super) const WHAT: &str = "the rows of a linear machine";

/// Some rows, each with a factor.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub first: usize,
    pub factors: &'a [f64],
}

/// Rows with one more, constant, feature. A part of them begins at `first`.
pub(super) trait Matrix: Sync {
    /// Writes the inner products of rows with a vector.
    fn dots(&self, first: usize, weights: &[f64], out: &mut [f64]);
    /// Adds multiples of rows to a vector.
    fn combine(&self, first: usize, factors: &[f64], sums: &mut [f64]);
    /// Adds sum_i factor_i x_i x_i' to the lower half of a matrix.
    fn gram(&self, part: Part, gram: &mut [f64], stop: Stop) -> Polled<()>;
    /// Goes over the rows of a sweep.
    fn sweep(&self, sweep: &mut Sweep);
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Dense rows of many features, where they are.
pub(super) struct Dense<'a, T> {
    pub values: &'a [T],
    pub columns: usize,
    pub constant: f64,
    pub isa: Isa,
}

impl<T: Real> Dense<'_, T> {
    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..][..self.columns]
    }
}

impl<T: Real> Matrix for Dense<'_, T> {
    fn dots(&self, first: usize, weights: &[f64], out: &mut [f64]) {
        let (weights, last) = weights.split_at(self.columns);
        let constant = self.constant * last[0];
        for (at, out) in out.chunks_mut(4).enumerate() {
            // Of the last few rows, one stands in for those that are missing.
            let row = |k: usize| self.row(first + 4 * at + k.min(out.len() - 1));
            let found = value_dots(self.isa, weights, std::array::from_fn(row));
            for (out, found) in out.iter_mut().zip(found) {
                *out = found + constant;
            }
        }
    }

    fn combine(&self, first: usize, factors: &[f64], sums: &mut [f64]) {
        let (mut rows, mut kept) = (Vec::new(), Vec::new());
        for (i, &factor) in factors.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            rows.push(self.row(first + i));
            kept.push(factor);
        }
        let (features, last) = sums.split_at_mut(self.columns);
        add_multiples(self.isa, &kept, &rows, features);
        last[0] += self.constant * kept.iter().sum::<f64>();
    }

    fn gram(&self, part: Part, gram: &mut [f64], stop: Stop) -> Polled<()> {
        let copy = |row: usize, place: &mut [f64]| {
            let (features, last) = place.split_at_mut(self.columns);
            for (entry, value) in features.iter_mut().zip(self.row(row)) {
                *entry = value.to_f64();
            }
            last[0] = self.constant;
        };
        gram_of_copies(self.isa, self.columns + 1, part, copy, gram, stop)
    }

    fn sweep(&self, sweep: &mut Sweep) {
        sweep.go(self);
    }
}

impl<T: Real> RowWise for Dense<'_, T> {
    fn row_dot(&self, row: usize, weights: &[f64]) -> f64 {
        let mut value = [0.0];
        self.dots(row, weights, &mut value);
        value[0]
    }

    fn row_add(&self, row: usize, factor: f64, sums: &mut [f64]) {
        let (features, last) = sums.split_at_mut(self.columns);
        add_multiples(self.isa, &[factor], &[self.row(row)], features);
        last[0] += self.constant * factor;
    }
}

/// Sparse rows, where they are.
pub(super) struct Sparse<'a, T> {
    pub starts: &'a [usize],
    pub columns: &'a [u32],
    pub values: &'a [T],
    /// The number of features.
    pub width: usize,
    /// Whether so many entries are not zero that Gram matrices are those of dense rows.
    pub filled: bool,
    pub constant: f64,
    pub isa: Isa,
}

impl<T: Real> Sparse<'_, T> {
    /// Returns the columns and values of a row.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Returns the inner product of a row with a vector, without the constant.
    #[inline(always)]
    pub fn dot(&self, row: usize, weights: &[f64]) -> f64 {
        assert!(weights.len() >= self.width);
        let (columns, values) = self.row(row);
        let product = |column: u32, value: T| {
            // SAFETY: columns of samples are below their number, `width`, and weights are not shorter.
            let weight = unsafe { weights.get_unchecked(column as usize) };
            weight * value.to_f64()
        };
        // Four sums side by side: one would wait for each of its additions.
        let (places, last_places) = columns.as_chunks::<4>();
        let (entries, last_entries) = values.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for (places, entries) in places.iter().zip(entries) {
            for lane in 0..4 {
                sums[lane] += product(places[lane], entries[lane]);
            }
        }
        let last = last_places.iter().zip(last_entries);
        let last: f64 = last.map(|(&column, &value)| product(column, value)).sum();
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + last
    }

    /// Adds a multiple of a row to a vector, without the constant.
    #[inline(always)]
    pub fn add(&self, row: usize, factor: f64, sums: &mut [f64]) {
        assert!(sums.len() >= self.width);
        let (columns, values) = self.row(row);
        for (&column, value) in columns.iter().zip(values) {
            // SAFETY: as above.
            *unsafe { sums.get_unchecked_mut(column as usize) } += factor * value.to_f64();
        }
    }
}

impl<T: Real> Matrix for Sparse<'_, T> {
    fn dots(&self, first: usize, weights: &[f64], out: &mut [f64]) {
        let constant = self.constant * weights[self.width];
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.dot(first + i, weights) + constant;
        }
    }

    fn combine(&self, first: usize, factors: &[f64], sums: &mut [f64]) {
        let mut total = 0.0;
        for (i, &factor) in factors.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            total += factor;
            self.add(first + i, factor, sums);
        }
        sums[self.width] += self.constant * total;
    }

    fn gram(&self, part: Part, gram: &mut [f64], stop: Stop) -> Polled<()> {
        let stride = self.width + 1;
        if self.filled {
            let copy = |row: usize, place: &mut [f64]| {
                place.fill(0.0);
                self.add(row, 1.0, place);
                place[self.width] = self.constant;
            };
            return gram_of_copies(self.isa, stride, part, copy, gram, stop);
        }
        let chosen = part.factors.iter().enumerate().filter(|(_, f)| **f != 0.0);
        for (count, (i, &factor)) in chosen.enumerate() {
            if count % TILE == 0 {
                poll(stop)?;
            }
            let (columns, values) = self.row(part.first + i);
            for (at, (&column, value)) in columns.iter().zip(values).enumerate() {
                let factor = factor * value.to_f64();
                let sums = &mut gram[column as usize * stride..][..stride];
                for (&other, value) in columns[..=at].iter().zip(values) {
                    sums[other as usize] += factor * value.to_f64();
                }
            }
            let last = &mut gram[self.width * stride..][..stride];
            self.add(part.first + i, factor * self.constant, last);
            last[self.width] += factor * self.constant * self.constant;
        }
        Ok(())
    }

    fn sweep(&self, sweep: &mut Sweep) {
        sweep.go(self);
    }
}

impl<T: Real> RowWise for Sparse<'_, T> {
    #[inline(always)]
    fn row_dot(&self, row: usize, weights: &[f64]) -> f64 {
        self.dot(row, weights) + self.constant * weights[self.width]
    }

    #[inline(always)]
    fn row_add(&self, row: usize, factor: f64, sums: &mut [f64]) {
        self.add(row, factor, sums);
        sums[self.width] += factor * self.constant;
    }
}

/// Adds the Gram matrix of rows that are copied into tiles.
fn gram_of_copies(
    isa: Isa,
    width: usize,
    part: Part,
    copy: impl Fn(usize, &mut [f64]),
    gram: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let chosen = part.factors.iter().enumerate().filter(|(_, f)| **f != 0.0);
    let mut chosen = chosen.peekable();
    let mut tile: Vec<f64> = memory::zeros(TILE * width, WHAT)?;
    let (mut weights, mut scratch) = (Vec::with_capacity(TILE), gram::Scratch::default());
    while chosen.peek().is_some() {
        poll(stop)?;
        weights.clear();
        for (i, &factor) in chosen.by_ref().take(TILE) {
            copy(part.first + i, &mut tile[weights.len() * width..][..width]);
            weights.push(factor);
        }
        let tile = &tile[..weights.len() * width];
        gram::add_tile(isa, tile, &weights, &mut scratch, gram)?;
    }
    Ok(())
}
