//! From inner products or distances to kernel values, in place, while they are in L1.
//!
//! Squared distances come from norms, |x|^2 + |z|^2 - 2 x.z, with the norms rounded as the inner
//! product is, so that the distance of equal rows is exactly 0, and k(x, x) what it has to be.

use super::function::Kernel;
use crate::simd::product::Measure;
use crate::simd::{Isa, Real, dispatch};

/// The squared norms of a row and of the columns it meets; without them squared distances are given.
#[derive(Clone, Copy)]
pub(super) struct Norms<'a, T> {
    pub row: T,
    pub columns: &'a [T],
}

dispatch! {
    /// Turns inner products of one row with many columns into values of a basic kernel; for the
    /// Laplacian the L1 distances, and without norms squared distances for kernels of these.
    pub(super) fn finish<T: Real>(kernel: &Kernel, norms: Option<Norms<T>>, values: &mut [T]) = finish_body
}

#[inline(always)]
fn finish_body<T: Real, const FMA: bool>(
    kernel: &Kernel,
    norms: Option<Norms<T>>,
    values: &mut [T],
) {
    match *kernel {
        Kernel::Rbf { gamma } => {
            let minus = T::from_f64(-gamma);
            of_squares::<T, FMA>(norms, values, |squared| {
                (squared * minus).exponential::<FMA>()
            });
        }
        Kernel::Laplacian { gamma } => {
            let minus = T::from_f64(-gamma);
            for value in values {
                *value = (*value * minus).exponential::<FMA>();
            }
        }
        Kernel::InverseMultiquadric { c } => {
            let c2 = T::from_f64(c * c);
            let largest = T::from_f64(c.recip());
            of_squares::<T, FMA>(norms, values, |squared| {
                // Not a number where norms overflow: at an infinite distance.
                let value = (T::ONE / (squared + c2).square_root()).larger(T::ZERO);
                // c^2 is rounded, and its root need not be c.
                if squared == T::ZERO { largest } else { value }
            });
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
                let signed = if t < T::ZERO { -size } else { size };
                // Overflow that cancels is not a number, and has no sign.
                *value = if t <= t.absolute() { signed } else { t };
            }
        }
        // Linear needs nothing; composed kernels are taken apart in `combine`, and the tiles of
        // precomputed and user kernels are not made here.
        _ => {}
    }
}

/// Applies a function to squared distances, which come from the norms if there are any. Where these
/// overflow it is applied to infinity or to NaN, but never to 0.
#[inline(always)]
fn of_squares<T: Real, const FMA: bool>(
    norms: Option<Norms<T>>,
    values: &mut [T],
    f: impl Fn(T) -> T,
) {
    let Some(Norms { row, columns }) = norms else {
        values.iter_mut().for_each(|value| *value = f(*value));
        return;
    };
    let minus_two = T::from_f64(-2.0);
    for (value, &norm) in values.iter_mut().zip(columns) {
        let squared = value.multiply_add::<FMA>(minus_two, row + norm);
        *value = f(T::ZERO.larger(squared));
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
    /// L1 distances.
    pub absolutes: &'a [T],
    /// Squared distances, where they do not come from norms.
    pub squares: &'a [T],
    pub norms: Option<Norms<'a, T>>,
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
            _ => {
                out.copy_from_slice(match kernel.measure(self.norms.is_none()) {
                    Measure::Product => self.dots,
                    Measure::Absolute => self.absolutes,
                    Measure::Square => self.squares,
                });
                finish(isa, kernel, self.norms, out);
            }
        }
    }
}

impl Kernel {
    /// Returns what a basic kernel is computed from; `differences` tells whether squared distances are
    /// measured, or come from norms and inner products.
    pub(super) fn measure(&self, differences: bool) -> Measure {
        match self {
            Kernel::Laplacian { .. } => Measure::Absolute,
            Kernel::Rbf { .. } | Kernel::InverseMultiquadric { .. } if differences => {
                Measure::Square
            }
            _ => Measure::Product,
        }
    }
}
