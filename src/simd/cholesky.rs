//! Cholesky's factors of a symmetric positive definite matrix.
//!
//! ```text
//! A = L L',   L_ij = (A_ij - sum_k<j L_ik L_jk) / L_jj,   L_ii = sqrt(A_ii - sum_k<i L_ik^2)
//! ```
//!
//! A block of columns at a time: the block on the diagonal is factored, the rows below are divided
//! by it, and their products with each other are subtracted from all that is right of the block and
//! below the diagonal ([`rank_update`](super::rank_update)). Rows are divided in panels, a vector of
//! rows at a time. The request to stop is polled after every block, which takes a few milliseconds.

use super::isa::dispatch;
use super::rank_update::{Left, Lower, PANEL, subtract_products};
use super::{Isa, Real, add_multiple, inner_product, memory, parallel};
use crate::error::{Polled, Result, Stop, poll};
use std::ops::Range;

/// Columns of a block: enough to read the rest of the matrix seldom.
const BLOCK: usize = 128;
/// Columns of the blocks that a block on the diagonal is itself factored in: few enough to leave
/// little to inner products, which are slower than the product loop.
const SMALL_BLOCK: usize = 24;

/// Sums that a row is divided with side by side, and rows of a panel that are divided together: as many as
/// it takes to wait for none, and as registers hold.
const SUMS: usize = 4;
const LANES: usize = 8;

/// What an error calls the columns that are copied.
const PANELS: &str = "panels of a matrix to be factored";

/// Factors a symmetric matrix of `n` rows in place; its lower half becomes L, its upper half is
/// neither read nor of use afterwards. Returns false if the matrix is not positive definite.
pub(crate) fn factor(isa: Isa, matrix: &mut [f64], n: usize, stop: Stop) -> Polled<bool> {
    for start in (0..n).step_by(BLOCK) {
        poll(stop)?;
        let end = n.min(start + BLOCK);
        let (above, below) = matrix.split_at_mut(end * n);
        let block = &mut above[start * n..];
        for from in (start..end).step_by(SMALL_BLOCK) {
            let to = end.min(from + SMALL_BLOCK);
            let (above, below) = block[(from - start) * n..].split_at_mut((to - from) * n);
            if !factor_diagonal(isa, above, n, from) {
                return Ok(false);
            }
            eliminate(isa, above, below, n, from..to)?;
        }
        eliminate(isa, block, below, n, start..end)?;
    }
    Ok(true)
}

/// Divides the rows below a block that is factored by its factor, and takes what they then explain
/// from the rest of them.
///
/// # Errors
/// If there is no memory for a copy of their columns.
fn eliminate(
    isa: Isa,
    block: &[f64],
    below: &mut [f64],
    n: usize,
    columns: Range<usize>,
) -> Result<()> {
    let triangle = Triangle::new(block, n, columns.clone())?;
    let panels = divide(isa, &triangle, below, n, columns.start)?;
    let lower = Lower {
        rows: below,
        stride: n,
        first: columns.end,
    };
    let left = Left::Within(columns.start);
    subtract_products(isa, lower, left, &panels, columns.len());
    Ok(())
}

/// Solves L L' x = b in place.
pub(crate) fn solve(isa: Isa, factor: &[f64], b: &mut [f64]) {
    let n = b.len();
    for i in 0..n {
        let row = &factor[i * n..][..n];
        b[i] = (b[i] - inner_product(isa, &row[..i], &b[..i])) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * n..][..n];
        b[i] /= row[i];
        let value = b[i];
        add_multiple(isa, -value, &row[..i], &mut b[..i]);
    }
}

/// Factors the rows of a block on the diagonal, whose first row is `start`. Returns false if a
/// pivot is not positive.
pub(super) fn factor_diagonal(isa: Isa, block: &mut [f64], n: usize, start: usize) -> bool {
    for r in 0..block.len() / n {
        let (before, row) = block.split_at_mut(r * n);
        let row = &mut row[start..n];
        for (j, other) in before.chunks(n).enumerate() {
            let other = &other[start..];
            row[j] = (row[j] - inner_product(isa, &row[..j], &other[..j])) / other[j];
        }
        let pivot = row[r] - inner_product(isa, &row[..r], &row[..r]);
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        row[r] = pivot.sqrt();
    }
    true
}

/// The factor of a block on the diagonal, its rows one after another.
pub(super) struct Triangle {
    pub rows: Vec<f64>,
    /// One over the diagonal.
    pub inverse: Vec<f64>,
}

impl Triangle {
    pub fn new(block: &[f64], n: usize, columns: Range<usize>) -> Result<Self> {
        let width = columns.len();
        let mut rows = memory::with_capacity(block.len() / n * width, PANELS)?;
        for row in block.chunks(n) {
            rows.extend_from_slice(&row[columns.clone()]);
        }
        let inverse = (0..width).map(|j| 1.0 / rows[j * width + j]).collect();
        Ok(Triangle { rows, inverse })
    }
}

/// Divides the rows below a block by its factor. Returns them in panels, padded by zeros.
fn divide(
    isa: Isa,
    triangle: &Triangle,
    below: &mut [f64],
    n: usize,
    start: usize,
) -> Result<Vec<f64>> {
    let width = triangle.inverse.len();
    let count = below.len() / n;
    let mut panels = memory::zeros(count.next_multiple_of(PANEL) * width, PANELS)?;
    let parts: Vec<_> = panels
        .chunks_mut(PANEL * width)
        .zip(below.chunks_mut(PANEL * n))
        .collect();
    parallel::for_each(parts, count * width * width, |_: &mut (), (panel, rows)| {
        for (lane, row) in rows.chunks(n).enumerate() {
            let entries = panel[lane..].iter_mut().step_by(PANEL);
            for (entry, &value) in entries.zip(&row[start..]) {
                *entry = value;
            }
        }
        let (vectors, _) = panel.as_chunks_mut::<PANEL>();
        divide_panel(isa, &triangle.rows, &triangle.inverse, vectors);
        for (lane, row) in rows.chunks_mut(n).enumerate() {
            let entries = panel[lane..].iter().step_by(PANEL);
            for (value, &entry) in row[start..start + width].iter_mut().zip(entries) {
                *value = entry;
            }
        }
    });
    Ok(panels)
}

dispatch! {
    /// Divides a panel of rows by a triangle, all rows at the same time.
    pub(super) fn divide_panel<T: Real>(triangle: &[T], inverse: &[T], panel: &mut [[T; PANEL]]) = divide_panel_body
}

#[inline(always)]
fn divide_panel_body<T: Real, const FMA: bool>(
    triangle: &[T],
    inverse: &[T],
    panel: &mut [[T; PANEL]],
) {
    for part in 0..PANEL / LANES {
        divide_part::<T, FMA>(triangle, inverse, panel, part * LANES);
    }
}

/// Divides the rows of a panel from `first` on, as many as there are lanes.
#[inline(always)]
fn divide_part<T: Real, const FMA: bool>(
    triangle: &[T],
    inverse: &[T],
    panel: &mut [[T; PANEL]],
    first: usize,
) {
    for (j, (row, &inverse)) in triangle.chunks(panel.len()).zip(inverse).enumerate() {
        let (known, rest) = panel.split_at_mut(j);
        // Several sums: one would wait for itself.
        let mut sums = [[T::ZERO; LANES]; SUMS];
        sums[0].copy_from_slice(&rest[0][first..][..LANES]);
        let (factors, last_factors) = row[..j].as_chunks::<SUMS>();
        let (values, last_values) = known.as_chunks::<SUMS>();
        for (factors, values) in factors.iter().zip(values) {
            for s in 0..SUMS {
                let values = &values[s][first..][..LANES];
                for lane in 0..LANES {
                    let value = values[lane];
                    sums[s][lane] = (-factors[s]).multiply_add::<FMA>(value, sums[s][lane]);
                }
            }
        }
        for (factor, values) in last_factors.iter().zip(last_values) {
            let values = &values[first..][..LANES];
            for lane in 0..LANES {
                sums[0][lane] = (-*factor).multiply_add::<FMA>(values[lane], sums[0][lane]);
            }
        }
        for (lane, entry) in rest[0][first..][..LANES].iter_mut().enumerate() {
            let sum = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
            *entry = sum * inverse;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Halt;

    /// A positive definite matrix without a pattern.
    fn matrix(n: usize) -> Vec<f64> {
        let point = |i: usize| {
            [
                (i as f64 * 0.7).sin(),
                (i as f64 * 1.3).cos(),
                i as f64 / n as f64,
            ]
        };
        let value = |i: usize, j: usize| {
            let square = |(x, y): (f64, f64)| (x - y) * (x - y);
            let distance: f64 = point(i).into_iter().zip(point(j)).map(square).sum();
            (-distance).exp() + if i == j { 0.1 } else { 0.0 }
        };
        (0..n * n).map(|at| value(at / n, at % n)).collect()
    }

    #[test]
    fn factors_multiply_to_the_matrix_and_solve_it() {
        for isa in Isa::available() {
            for n in [1, 2, 5, 63, 127, 128, 129, 200, 331, 700] {
                let a = matrix(n);
                let mut l = a.clone();
                assert!(matches!(factor(isa, &mut l, n, &|| false), Ok(true)));
                let entry = |i: usize, j: usize| if j <= i { l[i * n + j] } else { 0.0 };
                for i in 0..n {
                    for j in 0..=i {
                        let product: f64 = (0..=j).map(|k| entry(i, k) * entry(j, k)).sum();
                        assert!((product - a[i * n + j]).abs() < 1e-12, "{n}: ({i}, {j})");
                    }
                }
                let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
                let times = |i: usize| (0..n).map(|j| a[i * n + j] * x[j]).sum();
                let mut b: Vec<f64> = (0..n).map(times).collect();
                solve(isa, &l, &mut b);
                for (found, expected) in b.iter().zip(&x) {
                    assert!((found - expected).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        let n = 150;
        for bad in [0, 70, 149] {
            let mut a = matrix(n);
            a[bad * n + bad] = -1.0;
            assert!(matches!(
                factor(Isa::detect(), &mut a, n, &|| false),
                Ok(false)
            ));
            a[bad * n + bad] = f64::NAN;
            assert!(matches!(
                factor(Isa::detect(), &mut a, n, &|| false),
                Ok(false)
            ));
        }
    }

    #[test]
    fn a_request_to_stop_is_noticed() {
        let mut a = matrix(100);
        let stopped = factor(Isa::detect(), &mut a, 100, &|| true);
        assert!(matches!(stopped, Err(Halt::Stopped)));
    }
}
