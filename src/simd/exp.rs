//! The exponential as straight-line arithmetic, so that loops over it vectorise.
//!
//! ```text
//! x = n ln 2 + r,  |r| <= ln(2)/2,   exp(x) = 2^n exp(r)
//! ```
//!
//! n comes from adding and subtracting 1.5 * 2^(mantissa bits), which rounds to an integer and
//! leaves it in the low bits; ln 2 is split in two so that r is exact (Cody and Waite); exp(r) is
//! a polynomial: in f32 Cephes', in f64 1 + r + r^2 q(r) with q of degree 9 by Remez' algorithm, whose
//! own error is 8e-18.
//!
//! Kernels that are an exponential of a multiple of something take a power of two of another multiple of
//! it, which costs two thirds: r = x - n is exact, there is nothing to split, and n goes straight into the
//! exponent of 2^r = 1 + r q(r), with q by Remez' algorithm of degree 5 in f32 and 10 in f64, whose own
//! errors are 2e-9 and 4e-18. 2^0 is 1.
//!
//! Error bound, tested below against the standard library: at most 2 units in the last place; results
//! below 1e-30 in f32, and subnormal ones in f64, are 0; arguments above the largest finite
//! result are clamped to it. NaN is not handled: kernel values come from finite data.

/// `$a * $b + $c`, with one rounding where there is an instruction for it.
macro_rules! fused {
    ($a:expr, $b:expr, $c:expr) => {
        if FMA {
            $a.mul_add($b, $c)
        } else {
            $a * $b + $c
        }
    };
}

/// `$x` within bounds, by two instructions: NaN need not be handled.
macro_rules! clamped {
    ($x:expr, $low:expr, $high:expr) => {{
        let above = if $x > $low { $x } else { $low };
        if above < $high { above } else { $high }
    }};
}

/// Exponentials below this are 0 in f32.
pub(crate) const SMALLEST_EXPONENTIAL: f64 = 1e-30;

/// exp in f32.
#[inline(always)]
pub(super) fn exp_f32<const FMA: bool>(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    const LN2_HIGH: f32 = 0.693_359_4; // 355/512: exact in 9 bits, so n * LN2_HIGH is exact
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // ln 1e-30: far from the subnormal numbers, on which processors are slow, in products too.
    const UNDERFLOW: f32 = -69.077_55;
    const LARGEST: f32 = 88.3; // below ln(f32::MAX) = 88.72 so that n <= 127
    let clamped = clamped!(x, UNDERFLOW, LARGEST);
    let shifted = fused!(clamped, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused!(n, -LN2_HIGH, clamped);
    let r = fused!(n, -LN2_LOW, r);
    let mut p = 1.987_569_1e-4f32;
    p = fused!(p, r, 1.398_199_9e-3);
    p = fused!(p, r, 8.333_452e-3);
    p = fused!(p, r, 4.166_579_6e-2);
    p = fused!(p, r, 1.666_666_5e-1);
    p = fused!(p, r, 0.5);
    let exp_r = fused!(p, r * r, r) + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x < UNDERFLOW { 0.0 } else { exp_r * power }
}

/// exp in f64.
#[inline(always)]
pub(super) fn exp_f64<const FMA: bool>(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1; // 33 bits, so n * LN2_HIGH is exact
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const UNDERFLOW: f64 = -708.396_418_532_264_1; // ln of the smallest normal number
    const LARGEST: f64 = 709.0; // below ln(f64::MAX) = 709.78 so that n <= 1023
    let clamped = clamped!(x, UNDERFLOW, LARGEST);
    let shifted = fused!(clamped, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused!(n, -LN2_HIGH, clamped);
    let r = fused!(n, -LN2_LOW, r);
    let mut p = 2.499_811_530_918_896_3e-8f64;
    p = fused!(p, r, 2.762_950_802_296_26e-7);
    p = fused!(p, r, 2.755_758_977_080_063e-6);
    p = fused!(p, r, 2.480_149_536_467_043_4e-5);
    p = fused!(p, r, 1.984_126_950_686_433_2e-4);
    p = fused!(p, r, 1.388_888_894_120_327_5e-3);
    p = fused!(p, r, 8.333_333_333_491_713e-3);
    p = fused!(p, r, 4.166_666_666_654_066e-2);
    p = fused!(p, r, 1.666_666_666_666_642_1e-1);
    p = fused!(p, r, 5.000_000_000_000_009e-1);
    let exp_r = fused!(p, r * r, r) + 1.0;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < UNDERFLOW { 0.0 } else { exp_r * power }
}

/// 2^x in f32, for x of at most 0.
#[inline(always)]
pub(super) fn power_f32<const FMA: bool>(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    const UNDERFLOW: f32 = -99.657_84; // the binary logarithm of 1e-30: see above
    let bounded = if x > UNDERFLOW { x } else { UNDERFLOW };
    let shifted = bounded + ROUND;
    let r = bounded - (shifted - ROUND);
    let mut q = 1.535_336_3e-4f32;
    q = fused!(q, r, 1.339_887_5e-3);
    q = fused!(q, r, 9.618_437e-3);
    q = fused!(q, r, 5.550_332_5e-2);
    q = fused!(q, r, 2.402_264_8e-1);
    q = fused!(q, r, 6.931_472e-1);
    let power_r = fused!(q, r, 1.0);
    let power = f32::from_bits(power_r.to_bits().wrapping_add(shifted.to_bits() << 23));
    if x < UNDERFLOW { 0.0 } else { power }
}

/// 2^x in f64, for x of at most 0.
#[inline(always)]
pub(super) fn power_f64<const FMA: bool>(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    const UNDERFLOW: f64 = -1022.0; // the smallest normal number
    let bounded = if x > UNDERFLOW { x } else { UNDERFLOW };
    let shifted = bounded + ROUND;
    let r = bounded - (shifted - ROUND);
    let mut q = 4.434_768_928_626_276e-10f64;
    q = fused!(q, r, 7.073_783_184_458_316e-9);
    q = fused!(q, r, 1.017_819_958_644_790_9e-7);
    q = fused!(q, r, 1.321_543_528_268_066_3e-6);
    q = fused!(q, r, 1.525_273_349_309_594e-5);
    q = fused!(q, r, 1.540_353_045_711_136_1e-4);
    q = fused!(q, r, 1.333_355_814_677_464_9e-3);
    q = fused!(q, r, 9.618_129_107_594_12e-3);
    q = fused!(q, r, 5.550_410_866_482_008e-2);
    q = fused!(q, r, 2.402_265_069_591_013e-1);
    q = fused!(q, r, std::f64::consts::LN_2); // so it comes out, too
    let power_r = fused!(q, r, 1.0);
    let power = f64::from_bits(power_r.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x < UNDERFLOW { 0.0 } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error, in units of the type's `EPSILON`.
    const ULPS: f64 = 2.0;

    fn worst<const FMA: bool>() -> (f64, f64) {
        let (mut worst32, mut worst64) = (0.0f64, 0.0f64);
        let steps = 2_000_000;
        for k in 0..=steps {
            let t = k as f64 / steps as f64;
            let x32 = (-69.07 + t * (69.07 + 88.2)) as f32;
            let exact = f64::from(x32).exp();
            let error = (f64::from(exp_f32::<FMA>(x32)) - exact).abs() / exact;
            worst32 = worst32.max(error / f64::from(f32::EPSILON));
            // Dense near 0, where kernels live, and over the whole range.
            for x in [-708.39 + t * (708.39 + 708.9), -t * t * 20.0] {
                let exact = x.exp();
                let error = (exp_f64::<FMA>(x) - exact).abs() / exact;
                worst64 = worst64.max(error / f64::EPSILON);
            }
        }
        (worst32, worst64)
    }

    fn worst_power<const FMA: bool>() -> (f64, f64) {
        let (mut worst32, mut worst64) = (0.0f64, 0.0f64);
        let steps = 2_000_000;
        for k in 0..=steps {
            let t = f64::from(k) / f64::from(steps);
            for x in [-99.65 * t, -t] {
                let x32 = x as f32;
                let exact = f64::from(x32).exp2();
                let error = (f64::from(power_f32::<FMA>(x32)) - exact).abs() / exact;
                worst32 = worst32.max(error / f64::from(f32::EPSILON));
            }
            for x in [-1021.9 * t, -t * t * 20.0] {
                let exact = x.exp2();
                let error = (power_f64::<FMA>(x) - exact).abs() / exact;
                worst64 = worst64.max(error / f64::EPSILON);
            }
        }
        (worst32, worst64)
    }

    #[test]
    fn error_is_within_the_stated_bound() {
        let powers = [worst_power::<false>(), worst_power::<true>()];
        for (e32, e64) in [worst::<false>(), worst::<true>()]
            .into_iter()
            .chain(powers)
        {
            assert!(e32 <= ULPS, "f32: {e32} ulps");
            assert!(e64 <= ULPS, "f64: {e64} ulps");
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(exp_f32::<false>(0.0), 1.0);
        assert_eq!(exp_f64::<false>(0.0), 1.0);
        assert_eq!(exp_f32::<false>(-1e30), 0.0);
        assert_eq!(exp_f64::<false>(f64::NEG_INFINITY), 0.0);
        assert!(exp_f32::<false>(1e30).is_finite());
        assert!(exp_f64::<false>(1e30).is_finite());
        for zero in [0.0, -0.0] {
            assert_eq!(power_f32::<false>(zero as f32), 1.0);
            assert_eq!(power_f64::<true>(zero), 1.0);
        }
        for far in [-1e30, f64::NEG_INFINITY] {
            assert_eq!(power_f32::<true>(far as f32), 0.0);
            assert_eq!(power_f64::<false>(far), 0.0);
        }
        assert_eq!(power_f64::<true>(-1022.0), f64::MIN_POSITIVE);
    }
}
