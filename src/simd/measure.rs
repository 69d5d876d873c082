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

/// Runs `$body` with `$term(x, z, sum)`, which adds the term of one feature to a sum: each measure gets
/// loops of its own.
macro_rules! with_term {
    ($measure:expr, $term:ident => $body:expr) => {
        match $measure {
            Measure::Product => {
                let $term = |x: T, z: T, sum: T| x.multiply_add::<FMA>(z, sum);
                $body
            }
            Measure::Absolute => {
                let $term = |x: T, z: T, sum: T| sum + (x - z).absolute();
                $body
            }
            Measure::Square | Measure::Interactions { .. } => {
                let $term = |x: T, z: T, sum: T| (x - z).multiply_add::<FMA>(x - z, sum);
                $body
            }
            Measure::Minimum => {
                let $term = |x: T, z: T, sum: T| sum + x.smaller(z);
                $body
            }
            Measure::ChiSquared => {
                let least = $crate::simd::measure::least::<T>();
                // Divided first, so that no square overflows or underflows.
                let $term = |x: T, z: T, sum: T| {
                    let share = (x - z) / (x + z).larger(least);
                    share.multiply_add::<FMA>(x - z, sum)
                };
                $body
            }
            Measure::Sine { frequency } => {
                let frequency = T::from_f64(frequency);
                let $term = |x: T, z: T, sum: T| {
                    sum + $crate::simd::measure::sine_squared::<T, FMA>((x - z) * frequency)
                };
                $body
            }
        }
    };
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
