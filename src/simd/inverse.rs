//! The inverse of a symmetric positive definite matrix, and that of a part of it.
//!
//! Sweeping a block B of rows and columns (Goodnight, The American Statistician 33, 1979)
//!
//! ```text
//! A_BB <- -A_BB^-1,   A_iB <- A_iB A_BB^-1,   A_ij <- A_ij - A_iB A_BB^-1 A_Bj
//! ```
//!
//! over all blocks leaves -A^-1 in the place of A, n^3 / 2 multiplications in all, nearly all of them
//! products of matrices.
//!
//! Where x' A x / 2 - r' x is to be minimised and linear functions a' x of it are to stay as they are,
//! one after another, the inverse P in x = P r loses a rank with each:
//!
//! ```text
//! P <- P - q q',   q = P a / sqrt(a' P a)
//! ```
//!
//! With a = e_j that is the inverse of the matrix without row and column j. The q are kept apart and
//! subtracted from P many at a time, so each costs what it takes to read them, not P.

use super::buffer::Buffer;
use super::cholesky::{Triangle, divide_panel, factor_diagonal};
use super::product::{self, GROUP, Measure};
use super::rank_update::{Left, Lower, PANEL, pack, subtract_products};
use super::{Isa, add_multiple, add_multiples, inner_product, memory, parallel};
use crate::error::{Polled, Result, Stop, poll};
use std::ops::Range;

/// Rows of a block that is swept: enough to read the rest of the matrix seldom.
const BLOCK: usize = 96;
/// Numbers of the q that are kept before they are subtracted: these stay in the second cache. At the least
/// and at the most so many q.
const KEPT_NUMBERS: usize = 1 << 17;
const KEPT: (usize, usize) = (32, 160);
/// What an error calls the rows that are copied.
const ROWS: &str = "rows of a matrix to be inverted";

/// The inverse of a matrix, less the ranks it has lost.
pub(crate) struct Inverse {
    isa: Isa,
    n: usize,
    /// Minus the inverse, lower half, in the first rows of `n` numbers.
    negative: Buffer<f64>,
    /// The q that are not yet subtracted, one after another.
    kept: Vec<f64>,
    scratch: Scratch,
}

/// What is written before it is read, from block to block: the heap would give it back each time, and
/// fresh pages cost more than the products.
#[derive(Default)]
struct Scratch {
    columns: Vec<f64>,
    panels: Vec<f64>,
    products: Vec<f64>,
}

impl Inverse {
    /// Inverts a matrix of `n` rows in place, of which only the lower half is read; what follows the rows
    /// does not matter. Returns None if it is not positive definite.
    pub fn new(isa: Isa, mut matrix: Buffer<f64>, n: usize, stop: Stop) -> Polled<Option<Self>> {
        let mut scratch = Scratch::default();
        for start in (0..n).step_by(BLOCK) {
            poll(stop)?;
            let rows = &mut matrix[..n * n];
            if !sweep(isa, rows, n, start..n.min(start + BLOCK), &mut scratch)? {
                return Ok(None);
            }
        }
        Ok(Some(Inverse {
            isa,
            n,
            negative: matrix,
            kept: memory::with_capacity(most_kept(n) * n, ROWS)?,
            scratch,
        }))
    }

    /// Returns the memory of the matrix.
    pub fn into_memory(self) -> Buffer<f64> {
        self.negative
    }

    /// Returns the whole matrix P, both halves, in the place of what was inverted.
    ///
    /// # Errors
    /// If there is no memory to subtract what was kept.
    pub fn into_whole(mut self) -> Result<Buffer<f64>> {
        self.subtract_kept()?;
        let n = self.n;
        for i in 0..n {
            for j in 0..=i {
                let value = -self.negative[i * n + j];
                self.negative[i * n + j] = value;
                self.negative[j * n + i] = value;
            }
        }
        Ok(self.negative)
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.negative.chunks(self.n).take(self.n)
    }

    /// Returns P x.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.n];
        for (i, row) in self.rows().enumerate() {
            product[i] -= inner_product(self.isa, &row[..=i], &x[..=i]);
            add_multiple(self.isa, -x[i], &row[..i], &mut product[..i]);
        }
        for q in self.kept.chunks(self.n) {
            let share = inner_product(self.isa, q, x);
            add_multiple(self.isa, -share, q, &mut product);
        }
        product
    }

    /// Returns the diagonal of the inverse before it lost a rank.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.n)
            .map(|i| -self.negative[i * self.n + i])
            .collect()
    }

    /// Writes column j of P.
    pub fn column(&self, j: usize, out: &mut [f64]) {
        let n = self.n;
        for (out, value) in out.iter_mut().zip(&self.negative[j * n..=j * n + j]) {
            *out = -value;
        }
        for (i, out) in out.iter_mut().enumerate().skip(j + 1) {
            *out = -self.negative[i * n + j];
        }
        let kept: Vec<&[f64]> = self.kept.chunks(n).collect();
        let shares: Vec<f64> = kept.iter().map(|q| -q[j]).collect();
        add_multiples(self.isa, &shares, &kept, out);
    }

    /// Takes a rank away: from P e, which is given, with e' P e, so that e' x stays as it is.
    ///
    /// # Errors
    /// If there is no memory to subtract what was kept.
    pub fn lose(&mut self, column: &[f64], pivot: f64) -> Result<()> {
        let scale = 1.0 / pivot.sqrt();
        self.kept.extend(column.iter().map(|value| scale * value));
        match self.kept.len() >= most_kept(self.n) * self.n {
            true => self.subtract_kept(),
            false => Ok(()),
        }
    }

    fn subtract_kept(&mut self) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let (n, width) = (self.n, self.kept.len() / self.n);
        let Scratch {
            columns: rows,
            panels,
            ..
        } = &mut self.scratch;
        memory::resize(rows, n * width, ROWS)?;
        for (k, q) in self.kept.chunks(n).enumerate() {
            let entries = rows[k..].iter_mut().step_by(width);
            entries.zip(q).for_each(|(entry, &value)| *entry = value);
        }
        pack(rows, width, panels, ROWS)?;
        // Minus the inverse grows by what the inverse loses.
        rows.iter_mut().for_each(|value| *value = -*value);
        let lower = Lower {
            rows: &mut self.negative[..n * n],
            stride: n,
            first: 0,
        };
        subtract_products(self.isa, lower, Left::Packed(rows), panels, width);
        self.kept.clear();
        Ok(())
    }
}

/// Returns how many q of so many numbers are kept.
fn most_kept(n: usize) -> usize {
    (KEPT_NUMBERS / n.max(1)).clamp(KEPT.0, KEPT.1)
}

/// Sweeps some rows and columns. Returns false if the matrix is not positive definite.
///
/// With L the factor of A_BB all goes through W = A_iB L^-T, as in Cholesky's factorisation: to use the
/// inverse of A_BB itself would square what a bad condition costs.
fn sweep(
    isa: Isa,
    matrix: &mut [f64],
    n: usize,
    block: Range<usize>,
    scratch: &mut Scratch,
) -> Result<bool> {
    let (start, end, width) = (block.start, block.end, block.len());
    let Scratch {
        columns,
        panels,
        products,
    } = scratch;
    let mut pivot = memory::zeros(width * width, ROWS)?;
    for (r, row) in pivot.chunks_mut(width).enumerate() {
        row[..=r].copy_from_slice(&matrix[(start + r) * n + start..][..=r]);
    }
    if !factor_diagonal(isa, &mut pivot, width, 0) {
        return Ok(false);
    }
    let triangle = Triangle::new(&pivot, width, 0..width)?;
    let mut one = memory::zeros(width * width, ROWS)?;
    one.iter_mut().step_by(width + 1).for_each(|one| *one = 1.0);
    divide(isa, &mut one, &triangle, panels)?;
    copy_columns(matrix, n, block, columns)?;
    divide(isa, columns, &triangle, panels)?;
    multiply(isa, columns, &one, width, products)?;
    let lower = Lower {
        rows: matrix,
        stride: n,
        first: 0,
    };
    subtract_products(isa, lower, Left::Packed(columns), panels, width);
    for (i, values) in products.chunks(width).enumerate() {
        if i >= end {
            matrix[i * n + start..][..width].copy_from_slice(values);
        } else if i < start {
            for (r, &value) in values.iter().enumerate() {
                matrix[(start + r) * n + i] = value;
            }
        }
    }
    for (r, row) in one.chunks(width).enumerate() {
        let out = &mut matrix[(start + r) * n + start..][..=r];
        for (out, other) in out.iter_mut().zip(one.chunks(width)) {
            *out = -inner_product(isa, row, other);
        }
    }
    Ok(true)
}

/// Divides rows by the transpose of a triangle, and writes them in panels, too.
fn divide(isa: Isa, rows: &mut [f64], triangle: &Triangle, panels: &mut Vec<f64>) -> Result<()> {
    let width = triangle.inverse.len();
    pack(rows, width, panels, ROWS)?;
    let parts = panels
        .chunks_mut(PANEL * width)
        .zip(rows.chunks_mut(PANEL * width));
    let work = parts.len() * PANEL * width * width / 2;
    parallel::for_each(parts.collect(), work, |_: &mut (), (panel, rows)| {
        let (vectors, _) = panel.as_chunks_mut::<PANEL>();
        divide_panel(isa, &triangle.rows, &triangle.inverse, vectors);
        for (lane, row) in rows.chunks_mut(width).enumerate() {
            let entries = panel[lane..].iter().step_by(PANEL);
            row.iter_mut()
                .zip(entries)
                .for_each(|(value, &entry)| *value = entry);
        }
    });
    Ok(())
}

/// Copies the columns of a block of a symmetric matrix, a row after another, with zeros for the rows of
/// the block.
fn copy_columns(
    matrix: &[f64],
    n: usize,
    block: Range<usize>,
    columns: &mut Vec<f64>,
) -> Result<()> {
    let (start, end, width) = (block.start, block.end, block.len());
    memory::resize(columns, n * width, ROWS)?;
    columns[start * width..end * width].fill(0.0);
    for r in 0..width {
        let row = &matrix[(start + r) * n..][..start];
        let entries = columns[r..].iter_mut().step_by(width);
        entries.zip(row).for_each(|(entry, &value)| *entry = value);
    }
    for i in end..n {
        columns[i * width..][..width].copy_from_slice(&matrix[i * n + start..][..width]);
    }
    Ok(())
}

/// Multiplies rows by the transpose of a small matrix.
fn multiply(
    isa: Isa,
    rows: &[f64],
    matrix: &[f64],
    width: usize,
    products: &mut Vec<f64>,
) -> Result<()> {
    let mut panels = Vec::new();
    pack(matrix, width, &mut panels, ROWS)?;
    memory::resize(products, rows.len(), ROWS)?;
    let parts = rows
        .chunks(GROUP * width)
        .zip(products.chunks_mut(GROUP * width));
    let work = rows.len() * width;
    parallel::for_each(
        parts.collect(),
        work,
        |group: &mut Vec<f64>, (rows, out)| {
            group.clear();
            group.resize(GROUP * width, 0.0);
            for (lane, row) in rows.chunks(width).enumerate() {
                let entries = group[lane..].iter_mut().step_by(GROUP);
                entries.zip(row).for_each(|(entry, &value)| *entry = value);
            }
            let mut out: Vec<&mut [f64]> = out.chunks_mut(width).collect();
            product::dense_products(isa, group, &panels, width, &mut out, Measure::Product);
        },
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Halt;

    /// A positive definite matrix without a pattern.
    fn matrix(n: usize) -> Vec<f64> {
        let point = |i: usize| [(i as f64 * 0.7).sin(), (i as f64 * 1.3).cos()];
        let value = |i: usize, j: usize| {
            let distance: f64 = (0..2).map(|k| (point(i)[k] - point(j)[k]).powi(2)).sum();
            (-distance).exp() + if i == j { 0.3 } else { 0.0 }
        };
        (0..n * n).map(|at| value(at / n, at % n)).collect()
    }

    fn inverse(isa: Isa, values: Vec<f64>, n: usize) -> Inverse {
        match Inverse::new(isa, values.into(), n, &|| false) {
            Ok(Some(inverse)) => inverse,
            _ => panic!("positive definite"),
        }
    }

    /// The largest entry of A P - 1 over the given rows and columns.
    fn error(a: &[f64], n: usize, inverse: &Inverse, within: &[usize]) -> f64 {
        let mut column = vec![0.0; n];
        let mut worst = 0.0f64;
        for &j in within {
            inverse.column(j, &mut column);
            for &i in within {
                let product: f64 = within.iter().map(|&k| a[i * n + k] * column[k]).sum();
                worst = worst.max((product - f64::from(u8::from(i == j))).abs());
            }
        }
        worst
    }

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        for isa in Isa::available() {
            for n in [1, 2, 7, 95, 96, 97, 200, 300] {
                let a = matrix(n);
                let inverse = inverse(isa, a.clone(), n);
                let all: Vec<usize> = (0..n).collect();
                assert!(error(&a, n, &inverse, &all) < 1e-11, "{n}");
                let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
                let b: Vec<f64> = (0..n)
                    .map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum())
                    .collect();
                for (found, expected) in inverse.times(&b).iter().zip(&x) {
                    assert!((found - expected).abs() < 1e-11);
                }
            }
        }
    }

    #[test]
    fn without_rows_it_is_the_inverse_of_the_rest() {
        let n = 230;
        let a = matrix(n);
        let mut inverse = inverse(Isa::detect(), a.clone(), n);
        let mut column = vec![0.0; n];
        let gone: Vec<usize> = (0..n).filter(|i| i % 3 == 1).collect();
        for &j in &gone {
            inverse.column(j, &mut column);
            let pivot = column[j];
            assert!(inverse.lose(&column, pivot).is_ok());
        }
        let rest: Vec<usize> = (0..n).filter(|i| i % 3 != 1).collect();
        assert!(error(&a, n, &inverse, &rest) < 1e-11);
        for &j in &rest {
            inverse.column(j, &mut column);
            assert!(gone.iter().all(|&i| column[i].abs() < 1e-11));
        }
    }

    #[test]
    fn the_whole_inverse_has_the_same_columns() {
        let n = 130;
        let (mut one, mut two) = (vec![0.0; n], vec![0.0; n]);
        let mut first = inverse(Isa::detect(), matrix(n), n);
        let mut second = inverse(Isa::detect(), matrix(n), n);
        for inverse in [&mut first, &mut second] {
            inverse.column(7, &mut one);
            let pivot = one[7];
            assert!(inverse.lose(&one, pivot).is_ok());
        }
        let whole = second.into_whole().expect("memory");
        for j in 0..n {
            first.column(j, &mut one);
            two.copy_from_slice(&whole[j * n..][..n]);
            let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-11;
            assert!(!one.iter().zip(&two).any(far));
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        for bad in [0, 70, 149] {
            let mut a = matrix(150);
            a[bad * 150 + bad] = -1.0;
            let refused = Inverse::new(Isa::detect(), a.into(), 150, &|| false);
            assert!(matches!(refused, Ok(None)));
        }
    }

    #[test]
    fn a_request_to_stop_is_noticed() {
        let stopped = Inverse::new(Isa::detect(), matrix(100).into(), 100, &|| true);
        assert!(matches!(stopped, Err(Halt::Stopped)));
    }
}
