//! Weighted sums of kernel values, sum_j c_j k(x_i, z_j), without keeping the values.
//!
//! This is prediction, the exact gradient of the solver and, over rows instead of columns, the
//! update of its gradient with rows that are not worth keeping. Sums are in `f64`, whatever the kernel
//! values are in. Each kernel value is computed once however many sums it enters; a row's sums run
//! over the columns in a fixed order, so they depend neither on the number of threads nor on the
//! other rows of the call.

use super::source::Source;
use super::tile::{Columns, PANEL, Rows, Scratch, TILE_ROWS};
use super::weights::Weights;
use crate::data::Samples;
use crate::simd::{Isa, Real, dispatch};
use rayon::prelude::*;

/// Rows of a batch: its tile of f64 values stays in L2.
const BATCH_ROWS: usize = 48;
/// Kernel values a thread holds when whole rows are wanted, unless that is less than a few rows.
const WHOLE_ROWS: usize = 1 << 17;
/// Below this many multiplications threads cost more than they bring.
const SERIAL_WORK: usize = 1 << 17;

/// Buffers a thread reuses from batch to batch.
#[derive(Default)]
struct Buffers<T> {
    values: Vec<T>,
    sums: Vec<f64>,
    scratch: Scratch<T>,
}

impl<T: Real> Columns<T> {
    /// Computes the weighted sums of the given rows and has `f` make of those of each row what is
    /// wanted, in its part of `out`. Returns false if `stop` said so before the end.
    pub fn sums<O: Send>(
        &self,
        samples: &Samples,
        rows: &[usize],
        weights: &Weights<T>,
        out: &mut [O],
        f: impl Fn(usize, &[f64], &mut [O]) + Sync,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let width = self.tile_columns();
        let count = weights.sums();
        let batch = |buffers: &mut Buffers<T>, rows: &[usize], out: &mut [O]| {
            let Buffers {
                values,
                sums,
                scratch,
            } = buffers;
            let packed = self.pack_rows(Source::of(samples), rows);
            values.resize(BATCH_ROWS * width, T::ZERO);
            sums.clear();
            sums.resize(rows.len() * count, 0.0);
            for start in (0..self.len()).step_by(width) {
                if stop() {
                    return false;
                }
                let width = width.min(self.len() - start);
                let mut tile: Vec<&mut [T]> = values.chunks_mut(width).take(rows.len()).collect();
                self.tile(&packed, 0, start, &mut tile, scratch);
                weights.accumulate(self.isa(), start, &tile, sums);
            }
            let outs = out.chunks_mut(out.len() / rows.len());
            for ((&row, sums), out) in rows.iter().zip(sums.chunks(count)).zip(outs) {
                f(row, sums, out);
            }
            true
        };
        self.in_batches(samples, rows, BATCH_ROWS, out, batch)
    }

    /// Computes the kernel values of the given rows with all columns and has `f` make of those of
    /// each row what is wanted. Returns false if `stop` said so before the end.
    pub fn values<O: Send>(
        &self,
        samples: &Samples,
        rows: &[usize],
        out: &mut [O],
        f: impl Fn(usize, &[T], &mut [O]) + Sync,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let width = self.tile_columns();
        let height = (WHOLE_ROWS / self.len().max(1)).clamp(6, BATCH_ROWS);
        let batch = |buffers: &mut Buffers<T>, rows: &[usize], out: &mut [O]| {
            let Buffers {
                values, scratch, ..
            } = buffers;
            let packed = self.pack_rows(Source::of(samples), rows);
            values.resize(rows.len() * self.len(), T::ZERO);
            for start in (0..self.len()).step_by(width) {
                if stop() {
                    return false;
                }
                let end = self.len().min(start + width);
                let lines = values.chunks_mut(self.len());
                let mut tile: Vec<&mut [T]> = lines.map(|line| &mut line[start..end]).collect();
                self.tile(&packed, 0, start, &mut tile, scratch);
            }
            let outs = out.chunks_mut(out.len() / rows.len());
            let lines = values.chunks(self.len().max(1));
            for ((&row, values), out) in rows.iter().zip(lines).zip(outs) {
                f(row, values, out);
            }
            true
        };
        self.in_batches(samples, rows, height, out, batch)
    }

    /// Runs batches of so many rows, in parallel if the work is worth it; `out` has the same number
    /// of places for each row. Returns false if stopped.
    fn in_batches<O: Send>(
        &self,
        samples: &Samples,
        rows: &[usize],
        height: usize,
        out: &mut [O],
        batch: impl Fn(&mut Buffers<T>, &[usize], &mut [O]) -> bool + Sync,
    ) -> bool {
        if out.is_empty() {
            return true;
        }
        let places = height * (out.len() / rows.len());
        let work = rows.len() * self.len() * (samples.columns() + 8);
        if work < SERIAL_WORK {
            let mut buffers = Buffers::default();
            rows.chunks(height)
                .zip(out.chunks_mut(places))
                .all(|(rows, out)| batch(&mut buffers, rows, out))
        } else {
            rows.par_chunks(height)
                .zip(out.par_chunks_mut(places))
                .map_init(Buffers::default, |buffers, (rows, out)| {
                    batch(buffers, rows, out)
                })
                .reduce(|| true, |a, b| a && b)
        }
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
