//! From inner products (or L1 distances) to kernel values, in place, while they are in L1.

use super::Kernel;
use crate::simd::{Isa, Real, dispatch};

dispatch! {
    /// Turns inner products of one row with many columns into values of a basic kernel; for the
    /// Laplacian the L1 distances. `norms` are the squared norms of the columns.
    pub(super) fn finish<T: Real>(kernel: &Kernel, row_norm: T, norms: &[T], values: &mut [T]) = finish_body
}

#[inline(always)]
fn finish_body<T: Real, const FMA: bool>(
    kernel: &Kernel,
    row_norm: T,
    norms: &[T],
    values: &mut [T],
) {
    match *kernel {
        Kernel::Rbf { gamma } => {
            // -gamma |x - z|^2 = (2 gamma x.z - gamma |x|^2) - gamma |z|^2, never above 0.
            let twice = T::from_f64(2.0 * gamma);
            let minus = T::from_f64(-gamma);
            let row = row_norm * minus;
            for (value, &norm) in values.iter_mut().zip(norms) {
                let exponent =
                    norm.multiply_add::<FMA>(minus, value.multiply_add::<FMA>(twice, row));
                *value = exponent.smaller(T::ZERO).exponential::<FMA>();
            }
        }
        Kernel::Laplacian { gamma } => {
            let minus = T::from_f64(-gamma);
            for value in values {
                *value = (*value * minus).exponential::<FMA>();
            }
        }
        Kernel::InverseMultiquadric { c } => {
            let c2 = T::from_f64(c * c);
            let minus_two = T::from_f64(-2.0);
            for (value, &norm) in values.iter_mut().zip(norms) {
                let squared = value.multiply_add::<FMA>(minus_two, row_norm + norm);
                *value = T::ONE / (squared.larger(T::ZERO) + c2).square_root();
            }
        }
        Kernel::Polynomial {
            gamma,
            coef0,
            degree,
        } => {
            let (gamma, coef0) = (T::from_f64(gamma), T::from_f64(coef0));
            for value in values {
                let base = value.multiply_add::<FMA>(gamma, coef0);
                *value = power(base, degree);
            }
        }
        Kernel::Sigmoid { gamma, coef0 } => {
            // tanh t = sign(t) (1 - e) / (1 + e) with e = exp(-2 |t|): no overflow, and an
            // absolute error of a few roundings.
            let (gamma, coef0) = (T::from_f64(gamma), T::from_f64(coef0));
            let minus_two = T::from_f64(-2.0);
            for value in values {
                let t = value.multiply_add::<FMA>(gamma, coef0);
                let e = (t.absolute() * minus_two).exponential::<FMA>();
                let size = (T::ONE - e) / (T::ONE + e);
                *value = if t < T::ZERO { -size } else { size };
            }
        }
        // Linear needs nothing; composed kernels are taken apart in `combine`, and the tiles of
        // precomputed and user kernels are not made here.
        _ => {}
    }
}

/// Integer power by squaring.
#[inline(always)]
fn power<T: Real>(base: T, degree: u32) -> T {
    let (mut result, mut square, mut rest) = (T::ONE, base, degree);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result * square;
        }
        square = square * square;
        rest >>= 1;
    }
    result
}

/// What all parts of a composed kernel are computed from: one row of a tile.
pub(super) struct Ingredients<'a, T> {
    pub dots: &'a [T],
    pub distances: &'a [T],
    pub row_norm: T,
    pub norms: &'a [T],
}

impl<T: Real> Ingredients<'_, T> {
    /// Writes the values of `kernel` into `out`; `spare` lends buffers of the same length.
    pub fn combine(&self, isa: Isa, kernel: &Kernel, out: &mut [T], spare: &mut Vec<Vec<T>>) {
        let mut fold = |parts: &[Kernel], out: &mut [T], operation: fn(T, T) -> T| {
            self.combine(isa, &parts[0], out, spare);
            let mut part = spare.pop().unwrap_or_default();
            part.resize(out.len(), T::ZERO);
            for kernel in &parts[1..] {
                self.combine(isa, kernel, &mut part, spare);
                for (total, &value) in out.iter_mut().zip(&part) {
                    *total = operation(*total, value);
                }
            }
            spare.push(part);
        };
        match kernel {
            Kernel::Sum(parts) => fold(parts, out, |a, b| a + b),
            Kernel::Product(parts) => fold(parts, out, |a, b| a * b),
            Kernel::Scaled(factor, kernel) => {
                self.combine(isa, kernel, out, spare);
                let factor = T::from_f64(*factor);
                out.iter_mut().for_each(|value| *value = *value * factor);
            }
            Kernel::Laplacian { .. } => {
                out.copy_from_slice(self.distances);
                finish(isa, kernel, self.row_norm, self.norms, out);
            }
            _ => {
                out.copy_from_slice(self.dots);
                finish(isa, kernel, self.row_norm, self.norms, out);
            }
        }
    }
}
