//! Random numbers, the same for the same seed: splitmix64.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Begins a stream.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut random = self.0;
        random = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        random ^ (random >> 31)
    }

    /// Returns a number from 0 to 1.
    pub fn share(&mut self) -> f64 {
        self.bits() as f64 / u64::MAX as f64
    }

    /// Puts things in a random order: Fisher and Yates.
    pub fn shuffle<T>(&mut self, order: &mut [T]) {
        for last in (1..order.len()).rev() {
            let other = (u128::from(self.bits()) * (last as u128 + 1)) >> 64;
            order.swap(last, other as usize);
        }
    }

    /// Returns a place with a probability proportional to its weight.
    pub fn place(&mut self, weights: &[f64]) -> usize {
        let total: f64 = weights.iter().sum();
        let mut left = self.share() * total;
        for (at, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return at;
            }
        }
        // Rounding: the last that can be drawn.
        weights
            .iter()
            .rposition(|&weight| weight > 0.0)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_drawn_by_weight() {
        let mut random = Random::new(1);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[random.place(&[1.0, 0.0, 3.0])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((counts[0] as f64 - 2500.0).abs() < 200.0);
        assert_eq!(random.place(&[0.0, 0.0]), 0);
    }
}
