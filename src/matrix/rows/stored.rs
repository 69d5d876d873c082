//! Rows of a precomputed matrix, read where they are and in the precision they came in.
//!
//! A row of a problem is a selection of a row of the matrix: the columns of its own samples, in the
//! order of positions. Selecting is all there is to do, so nothing is packed, and of the matrix only
//! the rows that are asked for are ever read.

use super::given::too_large;
use super::source::{RowSource, Terms, add_row_by_row};
use crate::data::RowValues;
use crate::error::{Polled, Stop};
use crate::kernel::{LARGEST_VALUE, Weights};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Real, memory, parallel};
use std::ops::Range;

/// Multiplications that take as long as selecting one value.
const WORK_PER_VALUE: usize = 4;
/// Values selected before they are multiplied: they stay in the second cache.
const BLOCK_VALUES: usize = 1 << 15;

pub(super) struct Stored<'a> {
    matrix: &'a Description<'a>,
    /// The samples of the last columns asked for, and the positions these were.
    columns: Vec<usize>,
    positions: Range<usize>,
}

impl<'a> Stored<'a> {
    pub fn new(matrix: &'a Description<'a>) -> Self {
        Stored {
            matrix,
            columns: Vec::new(),
            positions: 0..0,
        }
    }

    /// Writes the values of samples with the samples `columns`.
    ///
    /// # Errors
    /// If one is too large to compute with.
    fn select<T: Real>(
        &self,
        rows: &[usize],
        columns: &[usize],
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        let matrix = self.matrix;
        let work = rows.len() * columns.len() * WORK_PER_VALUE;
        let parts: Vec<_> = rows.iter().zip(out).collect();
        parallel::try_for_each(parts, work, stop, |_: &mut (), (&row, out)| {
            let largest = match matrix.samples.dense_row(row) {
                RowValues::Single(values) => select(values, columns, out),
                RowValues::Double(values) => select(values, columns, out),
            };
            if largest > LARGEST_VALUE {
                return Err(self.refuse(row, columns).into());
            }
            matrix.note(largest);
            Ok(())
        })
    }

    /// Tells which value of a row is too large.
    #[cold]
    fn refuse(&self, row: usize, columns: &[usize]) -> crate::Error {
        let value = |&column: &usize| self.matrix.samples.dense_value(row, column);
        let values: Vec<f64> = columns.iter().map(value).collect();
        too_large(&[row], columns, &values)
    }
}

/// Writes the values at some places of a row. Returns the size of the largest.
fn select<V: Real, T: Real>(values: &[V], columns: &[usize], out: &mut [T]) -> f64 {
    let mut largest = V::ZERO;
    for (entry, &column) in out.iter_mut().zip(columns) {
        let value = values[column];
        largest = value.larger(-value).larger(largest);
        *entry = T::from_f64(value.to_f64());
    }
    largest.to_f64()
}

impl<T: Real> RowSource<T> for Stored<'_> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        if self.positions != positions {
            self.columns = self
                .matrix
                .samples_of(&order.variables()[positions.clone()]);
            self.positions = positions;
        }
        let rows = self.matrix.samples_of(variables);
        self.select(&rows, &self.columns, out, stop)
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        let index = self.matrix.samples_of(variables);
        let lines = out.chunks_mut(stride).take(index.len());
        let mut out: Vec<&mut [T]> = lines.map(|row| &mut row[..index.len()]).collect();
        self.select(&index, &index, &mut out, stop)
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        add_row_by_row::<T>(self, order, terms, start, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        let index = self.matrix.index.iter().copied();
        let terms = index.zip(beta.iter().copied()).filter(|t| t.1 != 0.0);
        let (columns, coefficients): (Vec<usize>, Vec<f64>) = terms.unzip();
        let mut products = memory::zeros(at.len(), "the gradient")?;
        if columns.is_empty() {
            return Ok(products);
        }
        let weights = Weights::<f64>::single(&coefficients)?;
        let rows = self.matrix.samples_of(at);
        let batch = (BLOCK_VALUES / columns.len()).max(1);
        let work = rows.len() * columns.len() * WORK_PER_VALUE;
        let parts: Vec<_> = rows.chunks(batch).zip(products.chunks_mut(batch)).collect();
        let this = &*self;
        parallel::try_for_each(parts, work, stop, |block: &mut Vec<f64>, (rows, out)| {
            let sums = this.sums(rows, &columns, &weights, block)?;
            out.copy_from_slice(&sums);
            Ok(())
        })?;
        Ok(products)
    }

    fn reordered(&mut self) {
        self.positions = 0..0;
    }

    fn is_precious(&self) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }
}

impl Stored<'_> {
    /// Returns the weighted sums of some columns of rows.
    fn sums(
        &self,
        rows: &[usize],
        columns: &[usize],
        weights: &Weights<f64>,
        block: &mut Vec<f64>,
    ) -> Polled<Vec<f64>> {
        memory::resize(block, rows.len() * columns.len(), "kernel values")?;
        let mut lines: Vec<&mut [f64]> = block.chunks_mut(columns.len()).collect();
        // The caller polls.
        self.select(rows, columns, &mut lines, &|| false)?;
        Ok(weights.apply(block, columns.len())?)
    }
}
