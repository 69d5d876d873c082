//! Rows of the linear kernel: multiples of rows add up to one weight vector, and what is wanted of
//! them are inner products with it.

use super::source::{PRODUCTS, RowSource, Terms};
use super::tiled::Tiled;
use crate::error::{Polled, Stop};
use crate::kernel::{add_products, weight_vector};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Real, memory, parallel, threads};
use std::ops::Range;

/// Rows that are computed in the time of a pass over all samples.
const ROWS_PER_PASS: f64 = 32.0;

pub(super) struct Linear<'a, T> {
    matrix: &'a Description<'a>,
    tiled: Tiled<'a, T>,
}

impl<'a, T: Real> Linear<'a, T> {
    pub fn new(matrix: &'a Description<'a>) -> Self {
        Linear {
            matrix,
            tiled: Tiled::new(matrix),
        }
    }

    /// Adds the inner products of variables with a sum of multiples of others.
    fn add_through_vector(
        &self,
        terms: impl Iterator<Item = (usize, f64)>,
        at: &[u32],
        out: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let matrix = self.matrix;
        let vector = weight_vector(matrix.centred(), terms);
        matrix.count(at.len());
        add_products(matrix.centred(), &vector, &matrix.samples_of(at), out, stop)
    }
}

impl<T: Real> RowSource<T> for Linear<'_, T> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        self.tiled.fill(order, variables, positions, out, stop)
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        self.tiled.block(variables, out, stride, stop)
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let index = self.matrix.samples_of(&terms.variables);
        let vector = index.into_iter().zip(terms.factors.iter().copied());
        let at = &order.variables()[start..start + sums.len()];
        self.add_through_vector(vector, at, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        let mut products = vec![0.0; at.len()];
        let index = self.matrix.index.iter().copied();
        let terms = index.zip(beta.iter().copied()).filter(|t| t.1 != 0.0);
        self.add_through_vector(terms, at, &mut products, stop)?;
        Ok(products)
    }

    fn products(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let matrix = self.matrix;
        let length = matrix.len();
        let mut columns: Vec<f64> = memory::zeros(vectors.len(), PRODUCTS)?;
        let mut products: Vec<f64> = memory::zeros(vectors.len(), PRODUCTS)?;
        matrix.count(vectors.len());
        let parts: Vec<_> = (vectors.chunks(length.max(1)))
            .zip(columns.chunks_mut(length.max(1)))
            .collect();
        let work = vectors.len() * matrix.samples.columns();
        parallel::try_for_each(parts, work, stop, |_: &mut (), (vector, out)| {
            let terms = matrix.index.iter().copied().zip(vector.iter().copied());
            let weights = weight_vector(matrix.centred(), terms);
            // The vectors are shared out among the threads already.
            threads::serially(|| add_products(matrix.centred(), &weights, &matrix.index, out, stop))
        })?;
        for (row, products) in products.chunks_mut(count.max(1)).enumerate() {
            for (product, column) in products.iter_mut().zip(columns.chunks(length)) {
                *product = column[row];
            }
        }
        Ok(products)
    }

    /// Rows and weight vectors round differently.
    fn is_repeatable(&self) -> bool {
        false
    }

    fn reordered(&mut self) {
        self.tiled.reordered();
    }

    /// Rows that are missing are computed from columns packed for the purpose; those that are held
    /// are only read.
    fn prefers_add(&self, missing: usize, held: usize) -> bool {
        let numbers = 2.0 * self.matrix.samples.mean_entries().max(1.0);
        missing as f64 / ROWS_PER_PASS + held as f64 / numbers > 1.0
    }
}
