//! From inner products or distances to kernel values, in place, while they are in L1.
//!
//! Squared distances come from norms, |x|^2 + |z|^2 - 2 x.z, with the norms rounded as the inner
//! product is, so that the distance of equal rows is exactly 0, and k(x, x) what it has to be.

use super::function::Kernel;
use super::lengths::Lengths;
use crate::simd::measure::Measure;
use crate::simd::{Isa, Real, dispatch};
use std::f64::consts::LOG2_E;

/// The squared norms of a row and of the columns it meets; without them squared distances are given.
#[derive(Clone, Copy)]
pub(super) struct Norms<'a, T> {
    pub row: T,
    pub columns: &'a [T],
}

dispatch! {
    /// Turns inner products of one row with many columns, or what else the kernel is made from, into
    /// values of a basic kernel; without norms squared distances for kernels of these.
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
            let factor = InTwo::of(-gamma);
            of_squares::<T, FMA>(norms, values, |squared| factor.exponential::<FMA>(squared));
        }
        Kernel::Laplacian { gamma } | Kernel::ChiSquared { gamma } => {
            exponentials::<T, FMA>(-gamma, values);
        }
        Kernel::Periodic { length_scale, .. } => {
            exponentials::<T, FMA>(-2.0 / (length_scale * length_scale), values);
        }
        Kernel::Matern { nu, length_scale } => {
            matern::<T, FMA>(nu, length_scale, norms, values);
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
        Kernel::Sigmoid { gamma, coef0 } => sigmoid::<T, FMA>(gamma, coef0, values),
        // Linear, intersection and ANOVA kernels need nothing; composed kernels are taken apart in `combine`, and the tiles of
        // precomputed and user kernels are not made here.
        _ => {}
    }
}

/// Turns sums into exponentials of multiples of them; the factor is not positive.
#[inline(always)]
fn exponentials<T: Real, const FMA: bool>(factor: f64, values: &mut [T]) {
    let factor = InTwo::of(factor);
    for value in values {
        *value = factor.exponential::<FMA>(*value);
    }
}

/// A factor of exponents, not positive, times log2(e), in two numbers: the rounding of a single one would
/// be the same in all kernel values, and add up where they do.
#[derive(Clone, Copy)]
struct InTwo<T> {
    high: T,
    low: T,
}

impl<T: Real> InTwo<T> {
    fn of(factor: f64) -> Self {
        /// What f64 leaves of log2(e).
        const REST: f64 = 2.035_527_374_093_103_3e-17;
        let product = factor * LOG2_E;
        let rest = factor.mul_add(LOG2_E, -product) + factor * REST;
        let high = T::from_f64(product);
        InTwo {
            high,
            low: T::from_f64(product - high.to_f64() + rest),
        }
    }

    /// Returns exp(factor x) of an x that is not negative.
    #[inline(always)]
    fn exponential<const FMA: bool>(self, x: T) -> T {
        x.multiply_add::<FMA>(self.high, x * self.low)
            .power_of_two::<FMA>()
    }
}

/// tanh t = sign(t) (1 - e) / (1 + e) with e = exp(-2 |t|): no overflow, and an absolute error of a few
/// roundings.
#[inline(always)]
fn sigmoid<T: Real, const FMA: bool>(gamma: f64, coef0: f64, values: &mut [T]) {
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

/// Turns squared distances, or inner products, into values of a Matern kernel.
#[inline(always)]
fn matern<T: Real, const FMA: bool>(
    nu: f64,
    length_scale: f64,
    norms: Option<Norms<T>>,
    values: &mut [T],
) {
    let scale = T::from_f64((2.0 * nu).sqrt() / length_scale);
    let third = T::from_f64(if nu == 1.5 { 0.0 } else { 1.0 / 3.0 });
    // Where the exponential is 0 in either precision; and for what is not a number.
    let far = T::from_f64(1e3);
    of_squares::<T, FMA>(norms, values, |squared| {
        let r = (squared.square_root() * scale).smaller(far);
        let polynomial = r.multiply_add::<FMA>(third * r, T::ONE + r);
        polynomial * (-r).exponential::<FMA>()
    });
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
    /// What is measured, and the values: for each measure those of several rows.
    pub measures: &'a [Measure],
    pub values: &'a [Vec<T>],
    /// The number of this row among these.
    pub row: usize,
    pub norms: Option<Norms<'a, T>>,
    /// The first column.
    pub column: usize,
    /// What normalised parts divide by: of the columns, of the rows, and the number of this row.
    pub lengths: (&'a [Lengths<T>], &'a [Lengths<T>], usize),
}

impl<T: Real> Ingredients<'_, T> {
    /// Writes the values of `kernel` into `out`; `spare` lends buffers of the same length, and `part` is
    /// the number of the next normalised part.
    pub fn combine(
        &self,
        isa: Isa,
        kernel: &Kernel,
        out: &mut [T],
        spare: &mut Vec<Vec<T>>,
        part: &mut usize,
    ) {
        let mut fold = |parts: &[Kernel], out: &mut [T], operation: fn(T, T) -> T| {
            self.combine(isa, &parts[0], out, spare, part);
            let mut values = spare.pop().unwrap_or_default();
            values.resize(out.len(), T::ZERO);
            for kernel in &parts[1..] {
                self.combine(isa, kernel, &mut values, spare, part);
                for (total, &value) in out.iter_mut().zip(&values) {
                    *total = operation(*total, value);
                }
            }
            spare.push(values);
        };
        match kernel {
            Kernel::Sum(parts) => fold(parts, out, |a, b| a + b),
            Kernel::Product(parts) => fold(parts, out, |a, b| a * b),
            Kernel::Scaled(factor, kernel) => {
                self.combine(isa, kernel, out, spare, part);
                let factor = T::from_f64(*factor);
                out.iter_mut().for_each(|value| *value = *value * factor);
            }
            Kernel::Normalized(kernel) => {
                let (columns, rows, row) = self.lengths;
                let number = *part;
                *part += 1;
                self.combine(isa, kernel, out, spare, part);
                columns[number].divide(isa, (&rows[number], row), self.column, out);
            }
            _ => {
                let measure = kernel.measure(self.norms.is_none());
                let mut kinds = self.measures.iter();
                if let Some(at) = kinds.position(|other| *other == measure) {
                    let width = out.len();
                    out.copy_from_slice(&self.values[at][self.row * width..][..width]);
                }
                finish(isa, kernel, self.norms, out);
            }
        }
    }
}

impl Kernel {
    /// Returns what a basic kernel is computed from; `differences` tells whether squared distances are
    /// measured, or come from norms and inner products.
    pub(super) fn measure(&self, differences: bool) -> Measure {
        match *self {
            Kernel::Laplacian { .. } => Measure::Absolute,
            Kernel::ChiSquared { .. } => Measure::ChiSquared,
            Kernel::HistogramIntersection => Measure::Minimum,
            Kernel::Periodic { period, .. } => Measure::Sine {
                frequency: period.recip(),
            },
            Kernel::Anova { gamma, degree } => Measure::Interactions { gamma, degree },
            Kernel::Rbf { .. } | Kernel::InverseMultiquadric { .. } | Kernel::Matern { .. }
                if differences =>
            {
                Measure::Square
            }
            _ => Measure::Product,
        }
    }

    /// Returns what the parts of a kernel are computed from, each measure once.
    pub(super) fn measures(&self, differences: bool) -> Vec<Measure> {
        let mut measures = Vec::new();
        self.collect_measures(differences, &mut measures);
        measures
    }

    fn collect_measures(&self, differences: bool, measures: &mut Vec<Measure>) {
        match self {
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let collect = |part: &Kernel| part.collect_measures(differences, measures);
                parts.iter().for_each(collect);
            }
            Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => {
                kernel.collect_measures(differences, measures);
            }
            _ => {
                let measure = self.measure(differences);
                if !measures.contains(&measure) {
                    measures.push(measure);
                }
            }
        }
    }
}
