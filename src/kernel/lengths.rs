//! Lengths: the values k(x, x) that a normalised kernel divides by.
//!
//! With k(x, x) = 4^e m and 1 <= m < 4,
//!
//! ```text
//! k(x, z) / sqrt(k(x, x) k(z, z)) = (k(x, z) 2^-e_x 2^-e_z) / sqrt(m_x m_z)
//! ```
//!
//! where nothing overflows, and the root of a square is exact: k(x, x) becomes 1.

use crate::simd::{Isa, Real, dispatch};

/// The lengths of rows in the feature space of one kernel.
#[derive(Debug, Default)]
pub(super) struct Lengths<T> {
    /// m, 1 where the length is zero.
    squares: Vec<T>,
    /// 2^-e, 0 where the length is zero.
    scales: Vec<T>,
}

impl<T: Real> Lengths<T> {
    /// Adds a row with this k(x, x).
    pub fn push(&mut self, own: T) {
        let own = own.to_f64();
        if own <= 0.0 {
            self.squares.push(T::ONE);
            self.scales.push(T::ZERO);
            return;
        }
        let mut half = (own.log2() / 2.0).floor() as i32;
        // Rounding may have carried a logarithm over a whole number.
        while own < 4f64.powi(half) {
            half -= 1;
        }
        while own >= 4f64.powi(half + 1) {
            half += 1;
        }
        self.squares.push(T::from_f64(own / 4f64.powi(half)));
        self.scales.push(T::from_f64(2f64.powi(-half)));
    }

    /// Divides values of one row with the columns from `column` on by the lengths of both.
    pub fn divide(&self, isa: Isa, (rows, row): (&Self, usize), column: usize, values: &mut [T]) {
        let columns = column..column + values.len();
        let own = (rows.squares[row], rows.scales[row]);
        let (squares, scales) = (&self.squares[columns.clone()], &self.scales[columns]);
        divide(isa, own, squares, scales, values);
    }
}

dispatch! {
    fn divide<T: Real>(own: (T, T), squares: &[T], scales: &[T], values: &mut [T]) = divide_body
}

#[inline(always)]
fn divide_body<T: Real, const FMA: bool>(
    (square, scale): (T, T),
    squares: &[T],
    scales: &[T],
    values: &mut [T],
) {
    for (value, (&other, &factor)) in values.iter_mut().zip(squares.iter().zip(scales)) {
        *value = *value * scale * factor / (square * other).square_root();
    }
}
