//! Numbers and instruction sets: the `Real` trait and the choice of code path at run time.
//!
//! Hot loops are written once as `#[inline(always)]` bodies over plain slices, generic in the
//! number type and in `const FMA: bool`, and compiled twice: for AVX2 with fused multiply-add,
//! and portably. The constant keeps `mul_add` out of the portable code, where it would be a
//! function call.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// The instruction set a hot loop is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What every CPU of the target architecture has.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
}

impl Isa {
    /// Returns the best instruction set of this CPU that has a code path.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Isa::Avx2;
        }
        Isa::Portable
    }
}

/// The numbers kernel rows are made of: `f32` or `f64`.
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
    fn from_f64(value: f64) -> Self;
    /// Widens to `f64`.
    fn to_f64(self) -> f64;
    /// `self * factor + term`, fused where the code path has the instruction.
    fn multiply_add<const FMA: bool>(self, factor: Self, term: Self) -> Self;
    /// The exponential; see [`crate::kernel::exp`] for its error bound.
    fn exponential<const FMA: bool>(self) -> Self;
    /// Absolute value.
    fn absolute(self) -> Self;
    /// Square root.
    fn square_root(self) -> Self;
    /// Runs `f` for this type's flavour of a slice of samples.
    fn borrow(values: &crate::data::Values) -> Option<&[Self]>;

    /// The larger of two numbers that are not NaN (compiles to one instruction).
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The smaller of two numbers that are not NaN (compiles to one instruction).
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
}

macro_rules! real {
    ($type:ty, $variant:ident, $exp:path) => {
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
            fn absolute(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }
            fn borrow(values: &crate::data::Values) -> Option<&[Self]> {
                match values {
                    crate::data::Values::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}
real!(f32, Single, crate::kernel::exp::exp_f32::<FMA>);
real!(f64, Double, crate::kernel::exp::exp_f64::<FMA>);

/// Defines a function that runs `$body` (an `#[inline(always)]` function generic in
/// `<T, const FMA: bool>`) compiled for the given instruction set.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<T: Real>($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name<T: Real>(isa: $crate::simd::Isa, $($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2<T: Real>($($arg: $type),*) $(-> $ret)? {
                    $body::<T, true>($($arg),*)
                }
                if isa == $crate::simd::Isa::Avx2 {
                    // SAFETY: `Isa::Avx2` is only made by `Isa::detect` after asking the CPU.
                    return unsafe { avx2::<T>($($arg),*) };
                }
            }
            let _ = isa;
            $body::<T, false>($($arg),*)
        }
    };
}
pub(crate) use dispatch;
