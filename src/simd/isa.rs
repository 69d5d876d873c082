//! Isa: the instruction set a hot loop runs on, found out once at run time.
//!
//! An [`Isa`] is a proof: it can only be made by asking the processor. That is what makes calling a
//! function that `dispatch!` defined sound.

/// An instruction set that this processor has and that hot loops are compiled for.
///
/// ```
/// use mercer::simd::Isa;
/// assert_eq!(Isa::detect(), Isa::detect()); // it does not change while a program runs
/// assert!(Isa::portable() <= Isa::detect());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isa(Level);

/// The instruction sets with a code path, each including those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every processor of the target architecture has.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// Returns the best instruction set of this processor that has a code path.
    ///
    /// ```
    /// use mercer::simd::Isa;
    /// assert_eq!(Isa::available().last(), Some(&Isa::detect()));
    /// ```
    pub fn detect() -> Self {
        Isa(best())
    }

    /// Returns every instruction set of this processor that has a code path, the best last.
    ///
    /// ```
    /// use mercer::simd::Isa;
    /// assert_eq!(Isa::available().first(), Some(&Isa::portable()));
    /// ```
    pub fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let all = [Level::Portable, Level::Avx2, Level::Avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let all = [Level::Portable];
        let best = Isa::detect();
        all.into_iter()
            .map(Isa)
            .filter(|&isa| isa <= best)
            .collect()
    }

    /// Returns the instruction set that every processor of the target architecture has.
    ///
    /// ```
    /// use mercer::simd::Isa;
    /// assert!(Isa::available().contains(&Isa::portable()));
    /// ```
    pub const fn portable() -> Self {
        Isa(Level::Portable)
    }

    /// Returns this instruction set, but none with vectors of more than 256 bits.
    pub(crate) fn up_to_256_bits(self) -> Self {
        #[cfg(target_arch = "x86_64")]
        return Isa(self.0.min(Level::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        self
    }

    /// Tells whether vectors have 512 bits.
    pub(crate) fn is_wide(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Level::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Returns what `dispatch!` chooses by: elsewhere there is one code path.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn level(self) -> Level {
        self.0
    }
}

/// Asks the processor; the standard library remembers the answers.
fn best() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq");
            return match wide && has!("avx512vl") {
                true => Level::Avx512,
                false => Level::Avx2,
            };
        }
    }
    Level::Portable
}

/// Defines a function that runs `$body` (an `#[inline(always)]` function generic in
/// `<T, const FMA: bool>`) compiled for the given instruction set.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<T: Real>($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name<T: Real>(isa: $crate::simd::Isa, $($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512<T: Real>($($arg: $type),*) $(-> $ret)? {
                    $body::<T, true>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<T: Real>($($arg: $type),*) $(-> $ret)? {
                    $body::<T, true>($($arg),*)
                }
                match isa.level() {
                    // SAFETY: an `Isa` of this level exists only if the processor has the features.
                    $crate::simd::Level::Avx512 => return unsafe { avx512::<T>($($arg),*) },
                    // SAFETY: the same.
                    $crate::simd::Level::Avx2 => return unsafe { avx2::<T>($($arg),*) },
                    $crate::simd::Level::Portable => {}
                }
            }
            let _ = isa;
            // Fused multiply-add is part of the baseline of aarch64.
            $body::<T, { cfg!(target_arch = "aarch64") }>($($arg),*)
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_ones_rise_from_portable_to_the_best() {
        let all = Isa::available();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert_eq!(all.first(), Some(&Isa::portable()));
        assert_eq!(all.last(), Some(&Isa::detect()));
        assert!(all.contains(&Isa::detect().up_to_256_bits()));
    }
}
