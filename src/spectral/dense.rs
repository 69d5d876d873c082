//! Products of matrices that lie in memory, row after row: faer's, each thread some rows.

use crate::simd::parallel;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Rows of a product that a thread computes at a time: fixed, so that its rounding does not depend on the
/// number of threads.
const ROWS: usize = 8;

/// Returns the inner products of the rows of `a` with the rows of `b`, all of `length` numbers.
pub(super) fn cross(a: &[f64], b: &[f64], length: usize) -> Vec<f64> {
    let (rows, columns) = (a.len() / length.max(1), b.len() / length.max(1));
    let mut out = vec![0.0; rows * columns];
    if out.is_empty() || length == 0 {
        return out;
    }
    let b = MatRef::from_column_major_slice(b, length, columns);
    let parts = (a.chunks(ROWS * length)).zip(out.chunks_mut(ROWS * columns));
    let work = rows * columns * length;
    parallel::for_each(parts.collect(), work, |_: &mut (), (a, out)| {
        let rows = a.len() / length;
        let a = MatRef::from_row_major_slice(a, rows, length);
        let place = MatMut::from_row_major_slice_mut(out, rows, columns);
        matmul(place, Accum::Replace, a, b, 1.0, Par::Seq);
    });
    out
}

/// Adds `factor` times the product of `left`, of `inner` columns, and `right`, of `inner` rows.
pub(super) fn add_product(out: &mut [f64], left: &[f64], right: &[f64], inner: usize, factor: f64) {
    if inner == 0 || out.is_empty() {
        return;
    }
    let columns = right.len() / inner;
    let right = MatRef::from_row_major_slice(right, inner, columns);
    let work = out.len() * inner;
    let parts = (left.chunks(ROWS * inner)).zip(out.chunks_mut(ROWS * columns));
    parallel::for_each(parts.collect(), work, |_: &mut (), (left, out)| {
        let rows = left.len() / inner;
        let left = MatRef::from_row_major_slice(left, rows, inner);
        let place = MatMut::from_row_major_slice_mut(out, rows, columns);
        matmul(place, Accum::Add, left, right, factor, Par::Seq);
    });
}

/// Returns the transpose of a matrix of so many columns.
pub(super) fn transposed(matrix: &[f64], columns: usize) -> Vec<f64> {
    let rows = matrix.len() / columns.max(1);
    let entries = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    entries.map(|at| matrix[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // two rows
        let b = [1.0, 0.0, -1.0];
        assert_eq!(cross(&a, &b, 3), [-2.0, -2.0]);
        let mut out = [1.0; 3];
        add_product(&mut out, &[2.0, -1.0], &a, 2, 1.0); // one row times two
        assert_eq!(out, [-1.0, 0.0, 1.0]);
        assert_eq!(transposed(&a, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
