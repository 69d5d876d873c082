//! Rows of the user's kernel, which is asked for them in blocks.

use super::source::{PRODUCTS, RowSource, Terms, add_row_by_row};
use crate::error::{Error, Polled, Result, Stop, poll};
use crate::kernel::{LARGEST_VALUE, UserKernel, Weights, user_block};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Real, memory};
use std::ops::Range;

/// Values asked from a user kernel in one call: 32 MB of f64.
const BLOCK_VALUES: usize = 1 << 22;
/// What an error calls such a block.
const BLOCK: &str = "a block of kernel values";

pub(super) struct Given<'a> {
    matrix: &'a Description<'a>,
    kernel: &'a dyn UserKernel,
}

impl<'a> Given<'a> {
    pub fn new(matrix: &'a Description<'a>, kernel: &'a dyn UserKernel) -> Self {
        Given { matrix, kernel }
    }

    /// Writes rows of samples, a block of them at a time.
    fn rows<T: Real>(
        &self,
        rows: &[usize],
        columns: &[usize],
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        let batch = (BLOCK_VALUES / columns.len().max(1)).max(1);
        let mut block = Vec::new();
        for (rows, out) in rows.chunks(batch).zip(out.chunks_mut(batch)) {
            poll(stop)?;
            memory::resize(&mut block, rows.len() * columns.len(), BLOCK)?;
            self.values(rows, columns, &mut block)?;
            for (out, values) in out.iter_mut().zip(block.chunks(columns.len())) {
                for (entry, &value) in out.iter_mut().zip(values) {
                    *entry = T::from_f64(value);
                }
            }
        }
        Ok(())
    }

    /// Writes the values of samples with samples, row after row, and notes the largest.
    fn values(&self, rows: &[usize], columns: &[usize], out: &mut [f64]) -> Result<()> {
        self.ask(rows, columns, out)?;
        let largest = out.iter().fold(0.0f64, |max, value| max.max(value.abs()));
        if largest > LARGEST_VALUE {
            return Err(too_large(rows, columns, out));
        }
        self.matrix.note(largest);
        Ok(())
    }

    /// Returns the weighted sums of some columns of rows, row after row.
    fn sums(
        &self,
        rows: &[usize],
        columns: &[usize],
        weights: &Weights<f64>,
        stop: Stop,
    ) -> Polled<Vec<f64>> {
        let mut sums = memory::with_capacity(rows.len() * weights.sums(), PRODUCTS)?;
        for rows in rows.chunks((BLOCK_VALUES / columns.len()).max(1)) {
            poll(stop)?;
            let mut block = memory::zeros(rows.len() * columns.len(), BLOCK)?;
            self.values(rows, columns, &mut block)?;
            sums.extend(weights.apply(&mut block, columns.len())?);
        }
        Ok(sums)
    }

    fn ask(&self, rows: &[usize], columns: &[usize], out: &mut [f64]) -> Result<()> {
        let (samples, user) = (self.matrix.samples, self.kernel);
        self.matrix.count(rows.len() * columns.len());
        // The user's kernel is asked once for samples behind several variables.
        let (some_rows, some_columns) = (distinct(rows), distinct(columns));
        if some_rows.len() == rows.len() && some_columns.len() == columns.len() {
            return user_block(user, samples, rows, samples, columns, out);
        }
        let mut block = memory::zeros(some_rows.len() * some_columns.len(), BLOCK)?;
        let (i, j) = (&some_rows, &some_columns);
        user_block(user, samples, i, samples, j, &mut block)?;
        let place = |index: &[usize], i: usize| index.partition_point(|&other| other < i);
        let places: Vec<usize> = columns.iter().map(|&j| place(&some_columns, j)).collect();
        for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
            let row = &block[place(&some_rows, i) * some_columns.len()..];
            for (value, &at) in values.iter_mut().zip(&places) {
                *value = row[at];
            }
        }
        Ok(())
    }
}

/// Tells which value is too large.
pub(super) fn too_large(rows: &[usize], columns: &[usize], values: &[f64]) -> Error {
    let at = values.iter().position(|value| value.abs() > LARGEST_VALUE);
    let at = at.unwrap_or_default();
    let (row, column) = (rows[at / columns.len()], columns[at % columns.len()]);
    let allowed = format!("at most {LARGEST_VALUE:e} in size (divide the kernel by a number)");
    let value = format!("{:e} for rows {row} and {column} of X", values[at]);
    Error::parameter("the kernel", allowed, value)
}

/// Returns numbers in order, each once.
fn distinct(index: &[usize]) -> Vec<usize> {
    let mut distinct = index.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

impl<T: Real> RowSource<T> for Given<'_> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        let rows = self.matrix.samples_of(variables);
        let columns = self.matrix.samples_of(&order.variables()[positions]);
        self.rows(&rows, &columns, out, stop)
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        let index = self.matrix.samples_of(variables);
        let lines = out.chunks_mut(stride).take(index.len());
        let mut out: Vec<&mut [T]> = lines.map(|row| &mut row[..index.len()]).collect();
        self.rows(&index, &index, &mut out, stop)
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
        if columns.is_empty() {
            return Ok(vec![0.0; at.len()]);
        }
        let weights = Weights::<f64>::single(&coefficients)?;
        self.sums(&self.matrix.samples_of(at), &columns, &weights, stop)
    }

    fn products(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let index = &self.matrix.index;
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let all = std::iter::once(0..index.len()).collect();
        self.sums(index, index, &Weights::new(vectors, count, all)?, stop)
    }

    fn is_precious(&self) -> bool {
        true
    }
}
