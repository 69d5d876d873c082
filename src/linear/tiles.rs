//! Tiles: rows of few features, packed by column.
//!
//! With a handful of features a row is shorter than a vector of the processor. So a few hundred rows make a
//! tile, in which the values of a feature stand one after another, and every loop runs over rows.

use super::matrix::{Matrix, Part, WHAT};
use super::sweep::{RowWise, Sweep};
use crate::data::Samples;
use crate::error::{Polled, Stop, poll};
use crate::simd::{Isa, Real, WIDE as LANES, added_up, dispatch, memory, parallel};

/// Rows of a tile: what belongs to them stays in the first-level cache.
pub(super) const TILE: usize = 256;
/// Features up to which rows are packed so, the constant among them.
pub(super) const MOST_COLUMNS: usize = 64;
/// Products of columns that are added up together.
const TOGETHER: usize = 4;

/// `[tile][column][row]`, the last tile padded by zeros.
pub(super) struct Tiles<T> {
    values: Vec<T>,
    width: usize,
    isa: Isa,
}

impl<T: Real> Tiles<T> {
    /// Packs samples and a constant as their last feature.
    pub fn pack(samples: &Samples, constant: f64, isa: Isa, stop: Stop) -> Polled<Self> {
        let (rows, width) = (samples.rows(), samples.columns() + 1);
        let size = width * TILE;
        let mut values: Vec<T> = memory::zeros(rows.div_ceil(TILE) * size, WHAT)?;
        let tiles = values.chunks_mut(size).enumerate().collect();
        let work = rows * width * 8;
        parallel::try_for_each(tiles, work, stop, |_: &mut (), (number, tile)| {
            let first = number * TILE;
            let count = TILE.min(rows - first);
            for row in 0..count {
                samples.for_each(first + row, |column, value| {
                    tile[column * TILE + row] = T::from_f64(value);
                });
            }
            tile[(width - 1) * TILE..][..count].fill(T::from_f64(constant));
            Ok(())
        })?;
        Ok(Tiles { values, width, isa })
    }

    fn tile(&self, number: usize) -> &[T] {
        let size = self.width * TILE;
        &self.values[number * size..][..size]
    }
}

impl<T: Real> Matrix for Tiles<T> {
    fn dots(&self, first: usize, weights: &[f64], out: &mut [f64]) {
        for (number, out) in out.chunks_mut(TILE).enumerate() {
            let tile = self.tile(first / TILE + number);
            tile_dots::<T>(self.isa, tile, weights, out);
        }
    }

    fn combine(&self, first: usize, factors: &[f64], sums: &mut [f64]) {
        let mut padded = [0.0; TILE];
        for (number, factors) in factors.chunks(TILE).enumerate() {
            padded[..factors.len()].copy_from_slice(factors);
            padded[factors.len()..].fill(0.0);
            let tile = self.tile(first / TILE + number);
            tile_sums::<T>(self.isa, tile, &padded, sums);
        }
    }

    fn gram(&self, part: Part, gram: &mut [f64], stop: Stop) -> Polled<()> {
        let mut padded = [0.0; TILE];
        for (number, factors) in part.factors.chunks(TILE).enumerate() {
            if factors.iter().all(|factor| *factor == 0.0) {
                continue;
            }
            poll(stop)?;
            padded[..factors.len()].copy_from_slice(factors);
            padded[factors.len()..].fill(0.0);
            let tile = self.tile(part.first / TILE + number);
            tile_gram::<T>(self.isa, tile, &padded, gram);
        }
        Ok(())
    }

    fn sweep(&self, sweep: &mut Sweep) {
        sweep.go(self);
    }
}

impl<T: Real> RowWise for Tiles<T> {
    fn row_dot(&self, row: usize, weights: &[f64]) -> f64 {
        let values = self.tile(row / TILE).iter().skip(row % TILE).step_by(TILE);
        let terms = values.zip(weights);
        terms.map(|(value, weight)| value.to_f64() * weight).sum()
    }

    fn row_add(&self, row: usize, factor: f64, sums: &mut [f64]) {
        let values = self.tile(row / TILE).iter().skip(row % TILE).step_by(TILE);
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += factor * value.to_f64();
        }
    }
}

dispatch! {
    fn tile_dots<T: Real>(tile: &[T], weights: &[f64], out: &mut [f64]) = tile_dots_body
}

#[inline(always)]
fn tile_dots_body<T: Real, const FMA: bool>(tile: &[T], weights: &[f64], out: &mut [f64]) {
    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let mut sums = [0.0f64; LANES];
        for (column, weight) in tile.chunks_exact(TILE).zip(weights) {
            let values = &column.as_chunks::<LANES>().0[at];
            for lane in 0..LANES {
                let value = values[lane].to_f64();
                sums[lane] = value.multiply_add::<FMA>(*weight, sums[lane]);
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

dispatch! {
    fn tile_sums<T: Real>(tile: &[T], factors: &[f64; TILE], sums: &mut [f64]) = tile_sums_body
}

#[inline(always)]
fn tile_sums_body<T: Real, const FMA: bool>(tile: &[T], factors: &[f64; TILE], sums: &mut [f64]) {
    for (column, sum) in tile.chunks_exact(TILE).zip(sums) {
        *sum += products::<T, FMA, 1>(factors, [column])[0];
    }
}

/// Returns the inner products of factors with columns.
#[inline(always)]
fn products<T: Real, const FMA: bool, const N: usize>(
    factors: &[f64; TILE],
    columns: [&[T]; N],
) -> [f64; N] {
    let mut sums = [[0.0f64; LANES]; N];
    // Arrays of known length: nothing is left to check in the loop.
    let columns = columns.map(|column| column.as_chunks::<LANES>().0);
    for (at, factors) in factors.as_chunks::<LANES>().0.iter().enumerate() {
        for n in 0..N {
            let values = &columns[n][at];
            for lane in 0..LANES {
                let value = values[lane].to_f64();
                sums[n][lane] = value.multiply_add::<FMA>(factors[lane], sums[n][lane]);
            }
        }
    }
    std::array::from_fn(|n| added_up(&sums[n]))
}

dispatch! {
    fn tile_gram<T: Real>(tile: &[T], factors: &[f64; TILE], gram: &mut [f64]) = tile_gram_body
}

#[inline(always)]
fn tile_gram_body<T: Real, const FMA: bool>(tile: &[T], factors: &[f64; TILE], gram: &mut [f64]) {
    let width = tile.len() / TILE;
    let column = |at: usize| &tile[at * TILE..][..TILE];
    let mut weighted = [0.0; TILE];
    for (at, row) in gram.chunks_exact_mut(width).enumerate() {
        let values = column(at);
        for k in 0..TILE {
            weighted[k] = factors[k] * values[k].to_f64();
        }
        let mut other = 0;
        while other + TOGETHER <= at + 1 {
            let columns: [&[T]; TOGETHER] = std::array::from_fn(|k| column(other + k));
            let found = products::<T, FMA, TOGETHER>(&weighted, columns);
            for (entry, product) in row[other..].iter_mut().zip(found) {
                *entry += product;
            }
            other += TOGETHER;
        }
        for (other, entry) in row.iter_mut().enumerate().take(at + 1).skip(other) {
            *entry += products::<T, FMA, 1>(&weighted, [column(other)])[0];
        }
    }
}
