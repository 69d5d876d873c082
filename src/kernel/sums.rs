//! Weighted sums of kernel values, sum_j c_j k(x_i, z_j), without keeping the values.
//!
//! This is prediction, the exact gradient of the solver and, over rows instead of columns, the
//! update of its gradient with rows that are not worth keeping. Sums are in `f64`, whatever the kernel
//! values are in. Each kernel value is computed once however many sums it enters; a row's sums run
//! over the columns in a fixed order, so they depend neither on the number of threads nor on the
//! other rows of the call.

use super::source::Source;
use super::tile::{Columns, PANEL, Rows, Scratch, TILE_ROWS};
use crate::data::Samples;
use crate::simd::{Isa, Real, dispatch};
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a batch: its tile of f64 values stays in L2.
const BATCH_ROWS: usize = 48;
/// Below this many multiplications threads cost more than they bring.
const SERIAL_WORK: usize = 1 << 17;

/// Coefficients of several sums over the same columns.
///
/// The columns are cut into segments (the support vectors of each class); within a segment every
/// one of `height` sums has a coefficient for each column.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// `height` rows of as many numbers as there are columns.
    pub coefficients: Vec<f64>,
    pub height: usize,
    pub segments: Vec<Range<usize>>,
}

impl Weights {
    /// One sum over all columns.
    pub fn single(coefficients: Vec<f64>) -> Self {
        Weights {
            segments: std::iter::once(0..coefficients.len()).collect(),
            coefficients,
            height: 1,
        }
    }

    /// Returns how many sums a row has.
    pub fn sums(&self) -> usize {
        self.height * self.segments.len()
    }

    /// Adds to `sums` (segment by segment) what columns from `start` on contribute to each row.
    fn accumulate<T: Real>(&self, isa: Isa, start: usize, values: &[&mut [T]], sums: &mut [f64]) {
        let Some(width) = values.first().map(|row| row.len()) else {
            return;
        };
        let columns = self.coefficients.len() / self.height.max(1);
        for (s, segment) in self.segments.iter().enumerate() {
            let range = segment.start.max(start)..segment.end.min(start + width);
            if range.is_empty() {
                continue;
            }
            let within = range.start - start..range.end - start;
            // Two sums at a time share the loading and widening of the values.
            for m in (0..self.height).step_by(2) {
                let other = (m + 1).min(self.height - 1);
                let [first, second] =
                    [m, other].map(|m| &self.coefficients[m * columns..][range.clone()]);
                let at = s * self.height + m;
                for (values, sums) in values.chunks(4).zip(sums.chunks_mut(4 * self.sums())) {
                    let mut rows = [&values[0][within.clone()]; 4];
                    for (row, value) in rows.iter_mut().zip(values) {
                        *row = &value[within.clone()];
                    }
                    let dots = eight_dots::<T>(isa, [first, second], rows);
                    for (r, sums) in sums.chunks_mut(self.sums()).enumerate() {
                        sums[at] += dots[0][r];
                        if other > m {
                            sums[at + 1] += dots[1][r];
                        }
                    }
                }
            }
        }
    }

    /// Returns the sums of given kernel values, `values` holding one row after another.
    pub fn apply(&self, values: &mut [f64], columns: usize) -> Vec<f64> {
        let isa = Isa::detect();
        let mut sums = vec![0.0; values.len() / columns.max(1) * self.sums()];
        if columns > 0 {
            let rows: Vec<&mut [f64]> = values.chunks_mut(columns).collect();
            self.accumulate(isa, 0, &rows, &mut sums);
        }
        sums
    }
}

impl<T: Real> Columns<T> {
    /// Returns the weighted sums for the given rows, row after row; None if `stop` said so.
    pub fn sums(
        &self,
        samples: &Samples,
        rows: &[usize],
        weights: &Weights,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; rows.len() * weights.sums()];
        if sums.is_empty() || self.len() == 0 {
            return Some(sums);
        }
        let work = rows.len() * self.len() * (samples.columns() + 8);
        let width = self.tile_columns();
        let batch = |buffers: &mut (Vec<T>, Scratch<T>), (rows, sums): (&[usize], &mut [f64])| {
            let (values, scratch) = buffers;
            let packed = self.pack_rows(Source::of(samples), rows);
            values.resize(BATCH_ROWS * width, T::ZERO);
            for start in (0..self.len()).step_by(width) {
                if stop() {
                    return false;
                }
                let width = width.min(self.len() - start);
                let mut out: Vec<&mut [T]> = values.chunks_mut(width).take(rows.len()).collect();
                self.tile(&packed, 0, start, &mut out, scratch);
                weights.accumulate(self.isa(), start, &out, sums);
            }
            true
        };
        let per_batch = BATCH_ROWS * weights.sums();
        let complete = if work < SERIAL_WORK {
            let mut buffers = Default::default();
            rows.chunks(BATCH_ROWS)
                .zip(sums.chunks_mut(per_batch))
                .all(|task| batch(&mut buffers, task))
        } else {
            rows.par_chunks(BATCH_ROWS)
                .zip(sums.par_chunks_mut(per_batch))
                .map_init(Default::default, batch)
                .reduce(|| true, |a, b| a && b)
        };
        complete.then_some(sums)
    }
}

impl<T: Real> Columns<T> {
    /// Adds to `sums` the sum over the packed rows of factor_i k(row_i, column), for as many columns
    /// from `start` on. Returns false if `stop` said so before the end: then `sums` is incomplete.
    pub fn add_rows(
        &self,
        rows: &Rows<T>,
        factors: &[f64],
        start: usize,
        sums: &mut [f64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let work = factors.len() * sums.len() * self.work_per_value();
        let width = self.tile_columns();
        // Tiles begin with a panel, of which the first may begin before `start`.
        let head = (start.next_multiple_of(PANEL) - start).min(sums.len());
        let (first, rest) = sums.split_at_mut(head);
        let mut tasks = vec![(start, first)];
        let columns = (start + head..).step_by(width);
        tasks.extend(columns.zip(rest.chunks_mut(width)));
        let add = |buffers: &mut (Vec<T>, Scratch<T>), (column, sums): (usize, &mut [f64])| {
            let (values, scratch) = buffers;
            let skip = column % PANEL;
            let width = skip + sums.len();
            values.resize(TILE_ROWS * width.max(1), T::ZERO);
            for (batch, factors) in factors.chunks(TILE_ROWS).enumerate() {
                if stop() {
                    return false;
                }
                let mut out: Vec<&mut [T]> = values.chunks_mut(width).take(factors.len()).collect();
                self.tile(rows, batch * TILE_ROWS, column - skip, &mut out, scratch);
                let rows: Vec<&[T]> = out.iter().map(|row| &row[skip..]).collect();
                add_multiples(self.isa(), factors, &rows, sums);
            }
            true
        };
        tasks.retain(|(_, sums)| !sums.is_empty());
        if work < SERIAL_WORK {
            let mut buffers = Default::default();
            tasks.into_iter().all(|task| add(&mut buffers, task))
        } else {
            tasks
                .into_par_iter()
                .map_init(Default::default, add)
                .reduce(|| true, |a, b| a && b)
        }
    }
}

/// Adds multiples of rows to a vector, four in one pass over it.
pub(crate) fn add_multiples<T: Real>(isa: Isa, factors: &[f64], rows: &[&[T]], sums: &mut [f64]) {
    let (four_rows, rest) = rows.as_chunks::<4>();
    let (four_factors, rest_factors) = factors.as_chunks::<4>();
    for (&factors, &rows) in four_factors.iter().zip(four_rows) {
        add_four(isa, factors, rows, sums);
    }
    for (&factor, &row) in rest_factors.iter().zip(rest) {
        add_four(isa, [factor, 0.0, 0.0, 0.0], [row; 4], sums);
    }
}

dispatch! {
    fn add_four<T: Real>(factors: [f64; 4], rows: [&[T]; 4], sums: &mut [f64]) = add_four_body
}

#[inline(always)]
fn add_four_body<T: Real, const FMA: bool>(factors: [f64; 4], rows: [&[T]; 4], sums: &mut [f64]) {
    let n = sums.len();
    let [a, b, c, d] = rows.map(|row| &row[..n]);
    for k in 0..n {
        let first = a[k].to_f64().multiply_add::<FMA>(factors[0], sums[k]);
        let second = b[k].to_f64().multiply_add::<FMA>(factors[1], first);
        let third = c[k].to_f64().multiply_add::<FMA>(factors[2], second);
        sums[k] = d[k].to_f64().multiply_add::<FMA>(factors[3], third);
    }
}

dispatch! {
    /// The inner products of two vectors with four others.
    fn eight_dots<T: Real>(a: [&[f64]; 2], rows: [&[T]; 4]) -> [[f64; 4]; 2] = eight_dots_body
}

#[inline(always)]
fn eight_dots_body<T: Real, const FMA: bool>(a: [&[f64]; 2], rows: [&[T]; 4]) -> [[f64; 4]; 2] {
    const LANES: usize = 4;
    let mut sums = [[[0.0; LANES]; 4]; 2];
    let vectors = a.map(|a| a.as_chunks::<LANES>());
    let chunks = rows.map(|row| row.as_chunks::<LANES>());
    for (k, (first, second)) in vectors[0].0.iter().zip(vectors[1].0).enumerate() {
        for r in 0..4 {
            let row = &chunks[r].0[k];
            for lane in 0..LANES {
                let value = row[lane].to_f64();
                sums[0][r][lane] = first[lane].multiply_add::<FMA>(value, sums[0][r][lane]);
                sums[1][r][lane] = second[lane].multiply_add::<FMA>(value, sums[1][r][lane]);
            }
        }
    }
    let mut dots = [[0.0; 4]; 2];
    for v in 0..2 {
        for r in 0..4 {
            let lanes = sums[v][r];
            dots[v][r] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
            for (&a, &value) in vectors[v].1.iter().zip(chunks[r].1) {
                dots[v][r] = a.multiply_add::<FMA>(value.to_f64(), dots[v][r]);
            }
        }
    }
    dots
}
