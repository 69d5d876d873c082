//! Real: the numbers that kernel rows are made of.

use super::exp::{exp_f32, exp_f64, power_f32, power_f64};
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// The numbers kernel rows are made of: `f32` or `f64`.
///
/// ```
/// use mercer::simd::Real;
/// fn squared_norm<T: Real>(x: &[T]) -> f64 {
///     x.iter().fold(T::ZERO, |sum, &x| x.multiply_add::<false>(x, sum)).to_f64()
/// }
/// assert_eq!(squared_norm(&[3.0f32, 4.0]), 25.0);
/// assert_eq!(squared_norm(&[3.0f64, 4.0]), 25.0);
/// ```
pub trait Real:
    bytemuck::Pod
    + PartialOrd
    + Debug
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Half the distance from 1 to the next number: the relative error of one rounding.
    const ROUNDOFF: f64;
    /// Rounds to this type.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(<f32 as Real>::from_f64(0.1), 0.1f32);
    /// ```
    fn from_f64(value: f64) -> Self;
    /// Widens to `f64`.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(0.5f32.to_f64(), 0.5f64);
    /// ```
    fn to_f64(self) -> f64;
    /// `self * factor + term`, fused where the code path has the instruction.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(2.0f32.multiply_add::<false>(3.0, 4.0), 10.0);
    /// assert_eq!(2.0f32.multiply_add::<true>(3.0, 4.0), 10.0); // one rounding, here none
    /// ```
    fn multiply_add<const FMA: bool>(self, factor: Self, term: Self) -> Self;
    /// The exponential, to two units in the last place where the result is a normal number;
    /// smaller results are 0.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert!((1.0f64.exponential::<false>() - std::f64::consts::E).abs() < 1e-15);
    /// assert_eq!((-1e4f64).exponential::<false>(), 0.0);
    /// ```
    fn exponential<const FMA: bool>(self) -> Self;
    /// Two to the power of a number that is at most 0, as precise as the exponential and cheaper.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!((-3.0f32).power_of_two::<false>(), 0.125);
    /// assert_eq!(f64::NEG_INFINITY.power_of_two::<false>(), 0.0);
    /// ```
    fn power_of_two<const FMA: bool>(self) -> Self;
    /// Absolute value.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!((-2.0f32).absolute(), 2.0);
    /// ```
    fn absolute(self) -> Self;
    /// Square root.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(9.0f32.square_root(), 3.0);
    /// ```
    fn square_root(self) -> Self;
    /// The nearest whole number, of two the even one.
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!((-2.6f32).nearest(), -3.0);
    /// ```
    fn nearest(self) -> Self;

    /// The larger of two numbers that are not NaN (compiles to one instruction).
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(1.0f32.larger(2.0), 2.0);
    /// ```
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The smaller of two numbers that are not NaN (compiles to one instruction).
    ///
    /// ```
    /// # use mercer::simd::Real;
    /// assert_eq!(1.0f32.smaller(2.0), 1.0);
    /// ```
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
}

macro_rules! real {
    ($type:ty, $exp:path, $power:path) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = <$type>::INFINITY;
            const ROUNDOFF: f64 = <$type>::EPSILON as f64 / 2.0;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn multiply_add<const FMA: bool>(self, factor: Self, term: Self) -> Self {
                if FMA {
                    self.mul_add(factor, term)
                } else {
                    self * factor + term
                }
            }
            #[inline(always)]
            fn exponential<const FMA: bool>(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn power_of_two<const FMA: bool>(self) -> Self {
                $power(self)
            }
            #[inline(always)]
            fn absolute(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                self.round_ties_even()
            }
        }
    };
}
real!(f32, exp_f32::<FMA>, power_f32::<FMA>);
real!(f64, exp_f64::<FMA>, power_f64::<FMA>);
