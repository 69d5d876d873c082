//! Rows of a precomputed matrix, read where they are and in the precision they came in.
//!
//! A row of a problem is a selection of a row of the matrix: the columns of its own samples, in the
//! order of positions. Selecting is all there is to do, so nothing is packed, and of the matrix only
//! the rows that are asked for are ever read.

use super::given::too_large;
use super::source::{PRODUCTS, RowSource, Terms, add_row_by_row};
use crate::data::RowValues;
use crate::error::{Polled, Stop};
use crate::kernel::{LARGEST_VALUE, Weights};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Real, memory, parallel};
use std::ops::Range;

/// Multiplications that take as long as selecting one value.
const WORK_PER_VALUE: usize = 4;
/// Values selected between two looks for a request to stop, which takes as long as some ten values.
const PART_VALUES: usize = 1 << 12;
/// Values compared side by side.
const LANES: usize = 4;
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
        let batch = PART_VALUES.div_ceil(columns.len().max(1));
        let parts: Vec<_> = rows.chunks(batch).zip(out.chunks_mut(batch)).collect();
        parallel::try_for_each(parts, work, stop, |_: &mut (), (rows, out)| {
            let mut largest_of_all = 0.0f64;
            for (&row, out) in rows.iter().zip(out) {
                let largest = match matrix.samples.dense_row(row) {
                    RowValues::Single(values) => select(values, columns, out),
                    RowValues::Double(values) => select(values, columns, out),
                };
                if largest > LARGEST_VALUE {
                    return Err(self.refuse(row, columns).into());
                }
                largest_of_all = largest_of_all.max(largest);
            }
            matrix.note(largest_of_all);
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
    let mut largest = [V::ZERO; LANES];
    let mut pick = |lane: usize, column: usize, entry: &mut T| {
        let value = values[column];
        largest[lane] = value.larger(-value).larger(largest[lane]);
        *entry = T::from_f64(value.to_f64());
    };
    let (groups, rest) = columns.as_chunks::<LANES>();
    let (outs, out_rest) = out[..columns.len()].as_chunks_mut::<LANES>();
    for (group, out) in groups.iter().zip(outs) {
        for lane in 0..LANES {
            pick(lane, group[lane], &mut out[lane]);
        }
    }
    for (&column, out) in rest.iter().zip(out_rest) {
        pick(0, column, out);
    }
    let largest = largest.into_iter().fold(V::ZERO, |a, b| a.larger(b));
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
        self.write_sums(&rows, &columns, &weights, &mut products, stop)?;
        Ok(products)
    }

    fn products(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let index = &self.matrix.index;
        let mut products = memory::zeros(vectors.len(), PRODUCTS)?;
        if vectors.is_empty() {
            return Ok(products);
        }
        let all = std::iter::once(0..index.len()).collect();
        let weights = Weights::new(vectors, count, all)?;
        self.write_sums(index, index, &weights, &mut products, stop)?;
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
    /// Writes the weighted sums of some columns of rows, row after row.
    fn write_sums(
        &self,
        rows: &[usize],
        columns: &[usize],
        weights: &Weights<f64>,
        out: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let batch = (BLOCK_VALUES / columns.len()).max(1);
        let work = rows.len() * columns.len() * (WORK_PER_VALUE + weights.sums());
        let outs = out.chunks_mut(batch * weights.sums());
        let parts: Vec<_> = rows.chunks(batch).zip(outs).collect();
        parallel::try_for_each(parts, work, stop, |block: &mut Vec<f64>, (rows, out)| {
            let sums = self.sums(rows, columns, weights, block)?;
            out.copy_from_slice(&sums);
            Ok(())
        })
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Samples;
    use crate::error::Halt;
    use crate::kernel::Kernel;
    use ndarray::Array2;

    const SIZE: usize = 300;

    /// Every value tells its place, in f32 as well; two variables may be one sample.
    fn matrix() -> Array2<f64> {
        Array2::from_shape_fn((SIZE, SIZE), |(i, j)| (1000 * i.min(j) + i.max(j)) as f64)
    }

    fn index() -> Vec<usize> {
        (0..SIZE).map(|variable| variable * 7 % 290).collect()
    }

    fn describe(samples: &Samples) -> Description<'_> {
        Description::new(&Kernel::Precomputed, samples, index()).expect("a matrix")
    }

    /// Both precisions that a matrix may come in.
    fn samples() -> [Samples; 2] {
        let single = matrix().mapv(|value| value as f32);
        [
            Samples::try_from(matrix().view()).expect("finite"),
            Samples::try_from(single.view()).expect("finite"),
        ]
    }

    #[test]
    fn entries_follow_the_order_of_positions() {
        for samples in samples() {
            let (values, index, description) = (matrix(), index(), describe(&samples));
            let mut stored = Stored::new(&description);
            let mut order = Order::natural(SIZE);
            for round in 0..2 {
                let (variables, positions) = ([5, 290, 5], 16..SIZE);
                let mut out = vec![vec![f32::NAN; SIZE - 16]; 3];
                let mut lines: Vec<&mut [f32]> = out.iter_mut().map(Vec::as_mut_slice).collect();
                let filled = stored.fill(&order, &variables, positions, &mut lines, &|| false);
                assert!(filled.is_ok());
                for (&variable, row) in variables.iter().zip(&out) {
                    for (at, &value) in row.iter().enumerate() {
                        let column = index[order.variable(16 + at) as usize];
                        let expected = values[[index[variable as usize], column]];
                        assert_eq!(f64::from(value), expected, "round {round}");
                    }
                }
                let backwards: Vec<u32> = (0..SIZE as u32).rev().collect();
                order.rearrange(&backwards);
                RowSource::<f32>::reordered(&mut stored);
            }
            assert_eq!(description.largest(), values[[35, 289]], "of what was read");
        }
    }

    #[test]
    fn a_block_leaves_what_lies_between_its_rows() {
        for samples in samples() {
            let (values, index, description) = (matrix(), index(), describe(&samples));
            let variables = [8u32, 1, 299];
            let mut out = vec![-1.0; 3 * 5];
            let mut stored = Stored::new(&description);
            let written = stored.block(&variables, &mut out, 5, &|| false);
            assert!(written.is_ok());
            for (i, row) in out.chunks(5).enumerate() {
                for (j, &value) in row[..3].iter().enumerate() {
                    let at = [variables[i], variables[j]].map(|variable| index[variable as usize]);
                    assert_eq!(value, values[at]);
                }
                assert_eq!(row[3..], [-1.0, -1.0]);
            }
        }
    }

    #[test]
    fn products_in_several_batches_are_those_of_the_matrix() {
        for samples in samples() {
            let (values, index, description) = (matrix(), index(), describe(&samples));
            // Whole numbers, so that sums are exact; some are zero.
            let beta: Vec<f64> = (0..SIZE).map(|i| (i % 4) as f64 - 1.0).collect();
            let at: Vec<u32> = (0..SIZE as u32).rev().collect();
            assert!(at.len() * SIZE > 2 * BLOCK_VALUES);
            let mut stored = Stored::new(&description);
            let product = RowSource::<f64>::product(&mut stored, &beta, &at, &|| false);
            for (&i, product) in at.iter().zip(product.expect("values")) {
                let row = values.row(index[i as usize]);
                let exact: f64 = beta.iter().zip(&index).map(|(b, &j)| b * row[j]).sum();
                assert_eq!(product, exact, "row {i}");
            }
        }
    }

    #[test]
    fn a_value_too_large_is_named() {
        let mut values = Array2::eye(SIZE);
        values[[14, 21]] = -2.0 * LARGEST_VALUE;
        let samples = Samples::try_from(values.view()).expect("finite");
        let description = describe(&samples);
        let mut stored = Stored::new(&description);
        let mut block = |variables: &[u32]| {
            let mut out = vec![0.0f64; 9];
            stored.block(variables, &mut out, 3, &|| false)
        };
        assert!(block(&[1, 2, 4]).is_ok(), "it is not asked for");
        let Err(Halt::Failed(error)) = block(&[1, 2, 3]) else {
            panic!("accepted");
        };
        assert!(error.to_string().contains("rows 14 and 21 of X"), "{error}");
    }
}
