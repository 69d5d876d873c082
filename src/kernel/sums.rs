//! Weighted sums of kernel values, sum_j c_j k(x_i, z_j), without keeping the values.
//!
//! This is prediction, the exact gradient of the solver and, over rows instead of columns, the
//! update of its gradient with rows that are not worth keeping. Sums are in `f64`, whatever the
//! precision of the kernel values. Each kernel value is computed once however many sums it enters;
//! a row's sums run over the columns in a fixed order, so they depend neither on the number of
//! threads nor on the other rows of the call.

use super::columns::{Columns, Groups, PANEL, Store};
use super::tile::{Scratch, TILE_ROWS};
use super::weights::Weights;
use crate::data::Samples;
use crate::error::{Polled, Stop, poll};
use crate::simd::{Real, add_multiples, memory, parallel};
use std::ops::Range;

/// Rows of a batch: its tile of f64 values stays in L2.
const BATCH_ROWS: usize = 48;
/// The same where columns are scattered for each batch, if there are so many batches of them.
const SPARSE_BATCH_ROWS: usize = 192;
const MANY_BATCHES: usize = 8;
/// Kernel values a thread holds when whole rows are wanted, unless that is less than a few rows.
const WHOLE_ROWS: usize = 1 << 17;
/// What an error calls kernel values that are added up.
const VALUES: &str = "kernel values of a few rows";

/// Buffers a thread reuses from batch to batch.
#[derive(Default)]
struct Buffers<T> {
    values: Vec<T>,
    sums: Vec<f64>,
    scratch: Scratch<T>,
}

impl<T: Real> Columns<T> {
    /// Computes the weighted sums of the given rows. `f(row, sums, out)` turns the sums of a row
    /// into its part of `out`, on the thread that computed them.
    pub fn sums<O: Send>(
        &self,
        samples: &Samples,
        rows: &[usize],
        weights: &Weights<T>,
        out: &mut [O],
        f: impl Fn(usize, &[f64], &mut [O]) + Send + Sync,
        stop: Stop,
    ) -> Polled<()> {
        let width = self.tile_columns();
        let count = weights.sums();
        let height = match self.store {
            Store::Sparse(_) if rows.len() >= MANY_BATCHES * SPARSE_BATCH_ROWS => SPARSE_BATCH_ROWS,
            _ => BATCH_ROWS,
        };
        let parts = batches(rows, height, out);
        let work = self.work(samples, rows);
        parallel::try_for_each(
            parts,
            work,
            stop,
            |buffers: &mut Buffers<T>, (rows, out)| {
                let Buffers {
                    values,
                    sums,
                    scratch,
                } = buffers;
                let packed = self.pack_rows(samples, rows)?;
                memory::resize(values, height * width, VALUES)?;
                sums.clear();
                memory::resize(sums, rows.len() * count, VALUES)?;
                for start in (0..self.len()).step_by(width) {
                    poll(stop)?;
                    let width = width.min(self.len() - start);
                    let mut tile: Vec<&mut [T]> =
                        values.chunks_mut(width).take(rows.len()).collect();
                    self.tile(&packed, 0, start, &mut tile, scratch);
                    weights.accumulate(self.isa(), start, &tile, sums);
                }
                let outs = out.chunks_mut(out.len() / rows.len());
                for ((&row, sums), out) in rows.iter().zip(sums.chunks(count)).zip(outs) {
                    f(row, sums, out);
                }
                Ok(())
            },
        )
    }

    /// Computes the kernel values of the given rows with all columns. `f(row, values, out)` turns
    /// those of a row into its part of `out`, on the thread that computed them.
    pub fn values<O: Send>(
        &self,
        samples: &Samples,
        rows: &[usize],
        out: &mut [O],
        f: impl Fn(usize, &[T], &mut [O]) + Send + Sync,
        stop: Stop,
    ) -> Polled<()> {
        let width = self.tile_columns();
        let height = (WHOLE_ROWS / self.len().max(1)).clamp(6, BATCH_ROWS);
        let parts = batches(rows, height, out);
        let work = self.work(samples, rows);
        parallel::try_for_each(
            parts,
            work,
            stop,
            |buffers: &mut Buffers<T>, (rows, out)| {
                let Buffers {
                    values, scratch, ..
                } = buffers;
                let packed = self.pack_rows(samples, rows)?;
                memory::resize(values, rows.len() * self.len(), VALUES)?;
                for start in (0..self.len()).step_by(width) {
                    poll(stop)?;
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
                Ok(())
            },
        )
    }

    /// Adds to `sums` the terms factor_i k(row_i, column), one after another, for as many columns from
    /// `start` on. A term that has a row of values brings those of these columns; the others are the
    /// packed rows, in order.
    pub fn add_rows(
        &self,
        rows: &Groups<T>,
        terms: &[(f64, Option<&[T]>)],
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let work = terms.len() * sums.len() * self.work_per_value();
        let width = self.tile_columns();
        // Tiles begin with a panel, of which the first may begin before `start`.
        let head = (start.next_multiple_of(PANEL) - start).min(sums.len());
        let (first, rest) = sums.split_at_mut(head);
        let mut parts = vec![(start, first)];
        let columns = (start + head..).step_by(width);
        parts.extend(columns.zip(rest.chunks_mut(width)));
        parts.retain(|(_, sums)| !sums.is_empty());
        let batches = batches_of_terms(terms);
        let factors: Vec<f64> = terms.iter().map(|term| term.0).collect();
        type Reused<T> = (Vec<T>, Scratch<T>);
        parallel::try_for_each(
            parts,
            work,
            stop,
            |reused: &mut Reused<T>, (column, sums)| {
                let (values, scratch) = reused;
                let skip = column % PANEL;
                let width = skip + sums.len();
                memory::resize(values, TILE_ROWS * width.max(1), VALUES)?;
                for (number, batch) in batches.iter().enumerate() {
                    poll(stop)?;
                    let terms = &terms[batch.clone()];
                    let missing = terms.iter().filter(|term| term.1.is_none()).count();
                    let mut out: Vec<&mut [T]> = values.chunks_mut(width).take(missing).collect();
                    self.tile(rows, number * TILE_ROWS, column - skip, &mut out, scratch);
                    let mut computed = out.iter().map(|row| &row[skip..]);
                    let here = column - start..column - start + sums.len();
                    let rows: Vec<&[T]> = (terms.iter())
                        .filter_map(|&(_, held)| match held {
                            Some(row) => Some(&row[here.clone()]),
                            None => computed.next(),
                        })
                        .collect();
                    add_multiples(self.isa(), &factors[batch.clone()], &rows, sums);
                }
                Ok(())
            },
        )
    }

    /// Returns the multiplications behind the values of rows with all columns, roughly.
    fn work(&self, samples: &Samples, rows: &[usize]) -> usize {
        rows.len() * self.len() * (samples.columns() + 8)
    }
}

/// Cuts rows into batches, each with its part of `out`, which has the same number of places for
/// each row.
fn batches<'a, O>(
    rows: &'a [usize],
    height: usize,
    out: &'a mut [O],
) -> Vec<(&'a [usize], &'a mut [O])> {
    if out.is_empty() {
        return Vec::new();
    }
    let places = height * (out.len() / rows.len());
    rows.chunks(height).zip(out.chunks_mut(places)).collect()
}

/// Cuts terms into batches with as many packed rows as a tile has, but for the last.
fn batches_of_terms<T>(terms: &[(f64, Option<&[T]>)]) -> Vec<Range<usize>> {
    let (mut batches, mut start, mut missing) = (Vec::new(), 0, 0);
    for (at, term) in terms.iter().enumerate() {
        if term.1.is_none() {
            if missing == TILE_ROWS {
                batches.push(start..at);
                (start, missing) = (at, 0);
            }
            missing += 1;
        }
    }
    batches.push(start..terms.len());
    batches
}
