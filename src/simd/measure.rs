//! Measure: what is added up over the features of two samples.
//!
//! Every term f(x, z) is 0 where both numbers are, so that sums over sparse samples need only the
//! features of either, and f(x, x) is exactly 0 for the measures of difference.

use super::Real;

/// What is added up over the features of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// x z: the inner product.
    Product,
    /// |x - z|: the L1 distance.
    Absolute,
    /// (x - z)^2: the squared distance.
    Square,
    /// min(x, z), of numbers that are not negative.
    Minimum,
    /// (x - z)^2 / (x + z), 0 where both are; of numbers that are not negative.
    ChiSquared,
    /// sin^2(pi frequency (x - z))
    Sine {
        /// Periods per unit.
        frequency: f64,
    },
    /// The sum over all subsets of `degree` features of the products of exp(-gamma (x - z)^2). This one
    /// is not a sum of terms.
    Interactions {
        /// Factor of the squared difference.
        gamma: f64,
        /// Features that interact.
        degree: u32,
    },
}

impl Measure {
    /// Tells whether a term is 0 where one of its numbers is.
    pub(crate) fn vanishes_with_either(self) -> bool {
        matches!(self, Measure::Product | Measure::Minimum)
    }
}

/// How one feature enters a measure.
///
/// A type of its own for each, not a closure: closures are not always inlined into the loops for an
/// instruction set, and are compiled without its instructions where they are not.
pub(crate) trait Term<T>: Copy {
    /// Adds the term of values of a row and of a column to a sum.
    fn add(self, x: T, z: T, sum: T) -> T;
}

macro_rules! terms {
    ($($(#[$meta:meta])* $name:ident($field:ty) = |$own:ident, $x:ident, $z:ident, $sum:ident| $body:expr;)*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy)]
            pub(crate) struct $name<T, const FMA: bool>(pub $field, pub std::marker::PhantomData<T>);

            impl<T: Real, const FMA: bool> Term<T> for $name<T, FMA> {
                #[inline(always)]
                fn add(self, $x: T, $z: T, $sum: T) -> T {
                    let $own = self.0;
                    $body
                }
            }
        )*
    };
}

terms! {
    /// x z
    Product(()) = |_own, x, z, sum| x.multiply_add::<FMA>(z, sum);
    /// |x - z|
    Absolute(()) = |_own, x, z, sum| sum + (x - z).absolute();
    /// (x - z)^2
    Square(()) = |_own, x, z, sum| (x - z).multiply_add::<FMA>(x - z, sum);
    /// min(x, z)
    Minimum(()) = |_own, x, z, sum| sum + x.smaller(z);
    /// (x - z)^2 / (x + z), divided first, so that no square overflows or underflows.
    ChiSquared(T) = |least, x, z, sum| {
        let share = (x - z) / (x + z).larger(least);
        share.multiply_add::<FMA>(x - z, sum)
    };
    /// sin^2 of a multiple of x - z
    Sine(T) = |frequency, x, z, sum| sum + sine_squared::<T, FMA>((x - z) * frequency);
}

/// Runs `$body` with a [`Term`]: each measure gets loops of its own.
macro_rules! with_term {
    (@ $term:ident = $name:ident($value:expr), $body:expr) => {{
        let $term = $crate::simd::measure::$name::<T, FMA>($value, std::marker::PhantomData);
        $body
    }};
    ($measure:expr, $term:ident => $body:expr) => {{
        match $measure {
            Measure::Product => with_term!(@ $term = Product(()), $body),
            Measure::Absolute => with_term!(@ $term = Absolute(()), $body),
            Measure::Square | Measure::Interactions { .. } => {
                with_term!(@ $term = Square(()), $body)
            }
            Measure::Minimum => with_term!(@ $term = Minimum(()), $body),
            Measure::ChiSquared => {
                with_term!(@ $term = ChiSquared($crate::simd::measure::least::<T>()), $body)
            }
            Measure::Sine { frequency } => {
                with_term!(@ $term = Sine(T::from_f64(frequency)), $body)
            }
        }
    }};
}
pub(crate) use with_term;

/// Returns the smallest normal number.
#[inline(always)]
pub(crate) fn least<T: Real>() -> T {
    T::from_f64(match size_of::<T>() {
        4 => f64::from(f32::MIN_POSITIVE),
        _ => f64::MIN_POSITIVE,
    })
}

/// The coefficients of sin(t) / t in powers of t^2. Up to t = pi / 2, those after the seventh are below
/// 7e-10, the roundings of f32, and those after the eleventh below 2e-18.
const SINE: [f64; 11] = {
    let mut coefficients = [1.0; 11];
    let mut k = 1;
    while k < 11 {
        coefficients[k] = -coefficients[k - 1] / ((2 * k) as f64 * (2 * k + 1) as f64);
        k += 1;
    }
    coefficients
};

/// Returns sin^2(pi t) to a few roundings of itself beside those of t; 0 where t is not finite.
#[inline(always)]
pub(crate) fn sine_squared<T: Real, const FMA: bool>(t: T) -> T {
    let angle = (t - t.nearest()) * T::from_f64(std::f64::consts::PI);
    let square = angle * angle;
    let mut sum = T::ZERO;
    let terms = if size_of::<T>() == 4 { 7 } else { 11 };
    for k in (0..terms).rev() {
        sum = sum.multiply_add::<FMA>(square, T::from_f64(SINE[k]));
    }
    // Not a number compares as smaller.
    (square * sum * sum).larger(T::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Real, const FMA: bool>() {
        for k in -4000..=4000 {
            let t = T::from_f64(f64::from(k) / 1000.0);
            let within = t.to_f64() - t.to_f64().round();
            let exact = (std::f64::consts::PI * within).sin().powi(2);
            let error = (sine_squared::<T, FMA>(t).to_f64() - exact).abs();
            assert!(
                error <= 8.0 * T::ROUNDOFF * exact + 1e-28,
                "{t:?}: {error:e}"
            );
        }
        for whole in [0.0, 1.0, -7.0, 1e30, f64::INFINITY, f64::NAN] {
            assert_eq!(sine_squared::<T, FMA>(T::from_f64(whole)), T::ZERO);
        }
    }

    #[test]
    fn the_square_of_the_sine_is_right_to_a_few_roundings() {
        check::<f32, false>();
        check::<f32, true>();
        check::<f64, false>();
        check::<f64, true>();
    }
}
