//! Weighted sums of kernel values, sum_j c_j k(x_i, z_j), without keeping the values.
//!
//! This is prediction, and the exact gradient of the solver. Sums are in `f64`, whatever the kernel
//! values are in. Each kernel value is computed once however many sums it enters; a row's sums run
//! over the columns in a fixed order, so they depend neither on the number of threads nor on the
//! other rows of the call.

use super::tile::{Columns, Scratch};
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
            for m in 0..self.height {
                let coefficients = &self.coefficients[m * columns..][range.clone()];
                let at = s * self.height + m;
                for (values, sums) in values.chunks(4).zip(sums.chunks_mut(4 * self.sums())) {
                    let mut rows = [&values[0][within.clone()]; 4];
                    for (row, value) in rows.iter_mut().zip(values) {
                        *row = &value[within.clone()];
                    }
                    let dots = four_dots::<T>(isa, coefficients, rows);
                    for (sums, dot) in sums.chunks_mut(self.sums()).zip(dots) {
                        sums[at] += dot;
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
            let packed = self.pack_rows(samples, rows);
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

dispatch! {
    /// The inner products of one vector with four others.
    fn four_dots<T: Real>(a: &[f64], rows: [&[T]; 4]) -> [f64; 4] = four_dots_body
}

#[inline(always)]
fn four_dots_body<T: Real, const FMA: bool>(a: &[f64], rows: [&[T]; 4]) -> [f64; 4] {
    const LANES: usize = 4;
    let mut sums = [[0.0; LANES]; 4];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let chunks = rows.map(|row| row.as_chunks::<LANES>());
    for (k, a) in a.iter().enumerate() {
        for r in 0..4 {
            let row = &chunks[r].0[k];
            for lane in 0..LANES {
                sums[r][lane] = a[lane].multiply_add::<FMA>(row[lane].to_f64(), sums[r][lane]);
            }
        }
    }
    let mut dots = [0.0; 4];
    for r in 0..4 {
        dots[r] = (sums[r][0] + sums[r][1]) + (sums[r][2] + sums[r][3]);
        for (&a, &value) in a_rest.iter().zip(chunks[r].1) {
            dots[r] = a.multiply_add::<FMA>(value.to_f64(), dots[r]);
        }
    }
    dots
}
