//! Whether numbers are finite, found out as fast as memory is read.
//!
//! ```text
//! 0 x = 0 if x is finite, else NaN
//! ```

use super::{Isa, Real, dispatch};

/// Numbers handled together.
const LANES: usize = 32;

/// Tells whether all numbers are finite.
pub(crate) fn all_finite<T: Real>(values: &[T]) -> bool {
    sums_of_zeros(Isa::detect(), values)
        .iter()
        .all(|&sum| sum == T::ZERO)
}

dispatch! {
    /// Adds up the numbers times zero.
    fn sums_of_zeros<T: Real>(values: &[T]) -> [T; LANES] = sums_of_zeros_body
}

#[inline(always)]
fn sums_of_zeros_body<T: Real, const FMA: bool>(values: &[T]) -> [T; LANES] {
    let mut sums = [T::ZERO; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum = value.multiply_add::<FMA>(T::ZERO, *sum);
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum = value.multiply_add::<FMA>(T::ZERO, *sum);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found_everywhere<T: Real>() {
        for length in [0, 1, 31, 32, 33, 100] {
            let mut values = vec![T::from_f64(-3.0); length];
            assert!(all_finite(&values));
            for at in 0..length {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let good = std::mem::replace(&mut values[at], T::from_f64(bad));
                    assert!(!all_finite(&values), "{bad} at {at} of {length}");
                    values[at] = good;
                }
            }
        }
        // Sums of which would overflow.
        assert!(all_finite(&[T::from_f64(3e38); 100]));
    }

    #[test]
    fn whatever_is_not_finite_is_found() {
        is_found_everywhere::<f32>();
        is_found_everywhere::<f64>();
    }
}
