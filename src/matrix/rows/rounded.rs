//! Rows in which every value is rounded to f32 although its type may be f64.

use super::source::{RowSource, Terms, add_row_by_row};
use crate::error::{Polled, Stop};
use crate::matrix::order::Order;
use crate::simd::Real;
use std::ops::Range;

pub(super) struct Rounded<'a, T>(pub Box<dyn RowSource<T> + 'a>);

/// Rounds values to f32, keeping their type.
fn round<T: Real>(values: &mut [T]) {
    for value in values {
        *value = T::from_f64(f64::from(value.to_f64() as f32));
    }
}

impl<T: Real> RowSource<T> for Rounded<'_, T> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        self.0.fill(order, variables, positions, out, stop)?;
        out.iter_mut().for_each(|row| round(row));
        Ok(())
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        self.0.block(variables, out, stride, stop)?;
        round(out);
        Ok(())
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        add_row_by_row(self, order, terms, start, sums, stop)
    }

    /// Not rounded: a product is wanted as exact as it can be.
    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        self.0.product(beta, at, stop)
    }

    fn is_repeatable(&self) -> bool {
        self.0.is_repeatable()
    }

    fn reordered(&mut self) {
        self.0.reordered();
    }

    fn is_precious(&self) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        self.0.is_stored()
    }
}
