//! Worth: which rows are worth their memory.
//!
//! Under a hypervisor the first touch of a page costs more than the values that go there. Memory that was
//! used before costs next to nothing, so rows go there first. A row for which there is only fresh memory
//! is kept at once where the few reads that are to be expected pay for it, as long as the memory is of
//! use to the next fit too. Otherwise it is kept when what it took to compute it so far has come up to
//! what its memory costs: the rule of those who rent skis until the rent has come up to the price,
//! which never costs more than twice what the best choice would have.
//!
//! What fresh memory costs is measured as it is taken. Nothing but time depends on what is kept: sums are the
//! same to the last bit.

use crate::data::Samples;
use crate::simd::{Isa, slab, threads};

/// Nanoseconds of one thread for a value of a Gaussian.
#[derive(Clone, Copy)]
struct Cost {
    /// Without features.
    value: f64,
    /// For each feature: dense, and sparse, where products are scattered.
    feature: f64,
    sparse_feature: f64,
}

/// Those of vectors of 512 bits, and of shorter ones, where a sparse feature is taken for twice as dear.
const WIDE: Cost = Cost {
    value: 0.35,
    feature: 0.012,
    sparse_feature: 0.032,
};
const NARROW: Cost = Cost {
    value: 0.45,
    feature: 0.022,
    sparse_feature: 0.064,
};
/// For reading a byte of a row.
const READ: f64 = 0.08;
/// For a value that is held: it is moved whenever variables are set aside.
const HELD: f64 = 4.0;
/// How often the row of a free variable is read again: 3 to 6 times where problems are easy, more where
/// they are hard.
const EXPECTED_READS: f64 = 4.5;

/// Threads that make up for one where fresh memory is taken: two were hardly faster than one.
const TOGETHER: usize = 2;

/// Which rows are worth keeping.
#[derive(Debug)]
pub(super) struct Worth {
    /// How often each row was computed; part of a row counts as that part.
    computed: Vec<f32>,
    /// Nanoseconds that reading a value saves beside computing it.
    saved: f64,
    /// Bytes of a value.
    bytes: usize,
    /// Whether blocks are gathered from rows: then all are kept.
    gathered: bool,
    /// How often a row must have been computed to be kept.
    needed: f32,
}

impl Worth {
    /// `bytes` are those of one value; where blocks are `gathered` from rows, all rows are kept.
    pub fn new(samples: &Samples, variables: usize, bytes: usize, gathered: bool) -> Self {
        Worth {
            computed: vec![0.0; variables],
            saved: Cost::here().saved(samples, bytes),
            bytes,
            gathered,
            needed: 0.0,
        }
    }

    /// Weighs anew, when rows of so many bytes are held and fresh memory costs so many nanoseconds a
    /// byte.
    pub fn weigh(&mut self, held: usize, fresh: f64) {
        let price = self.price(fresh) / self.saved;
        let at_once = price <= EXPECTED_READS && held < slab::KEPT_BYTES;
        self.needed = match self.gathered || at_once {
            true => 0.0,
            false => price as f32,
        };
    }

    /// Returns the nanoseconds of all threads for the fresh memory of a value, and for having it there.
    fn price(&self, fresh: f64) -> f64 {
        fresh * (self.bytes * threads::width().min(TOGETHER)) as f64 + HELD
    }

    /// Counts the computation of so many values of a row, to which a slot of whole length is given if it
    /// is kept. Tells whether it is to be kept from now on.
    pub fn count(&mut self, variable: u32, values: usize) -> bool {
        let part = values as f32 / self.computed.len() as f32;
        let computed = &mut self.computed[variable as usize];
        *computed += part;
        *computed >= self.needed
    }
}

impl Cost {
    /// Returns those of this processor.
    fn here() -> Self {
        match Isa::detect().is_wide() {
            true => WIDE,
            false => NARROW,
        }
    }

    /// Returns the nanoseconds that reading a value of so many bytes saves beside computing it.
    fn saved(self, samples: &Samples, bytes: usize) -> f64 {
        let feature = match samples.is_packed_dense() {
            true => self.feature,
            false => self.sparse_feature,
        };
        self.value + feature * samples.mean_entries() - READ * bytes as f64
    }
}

/// Tells whether one read of a row pays for the copy that is read, in memory that may be fresh.
pub(super) fn is_worth_a_copy(samples: &Samples, bytes: usize) -> bool {
    slab::USUAL_COST * bytes as f64 <= Cost::here().saved(samples, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use ndarray::Array2;

    fn worth(features: usize, cost: Cost) -> Result<Worth> {
        let samples = Array2::<f64>::zeros((4, features));
        let samples = Samples::try_from(samples.view())?;
        Ok(Worth {
            saved: cost.saved(&samples, 4),
            ..Worth::new(&samples, 4, 4, false)
        })
    }

    /// Rows of many features are kept at once, others when they are wanted again and again.
    #[test]
    fn cheap_rows_have_to_prove_themselves() -> Result<()> {
        let mut last = usize::MAX;
        for features in [2, 50, 784] {
            let mut worth = worth(features, NARROW)?;
            worth.weigh(slab::KEPT_BYTES, 1.0);
            let needed = (1..100).find(|_| worth.count(1, 4)).unwrap_or(100);
            assert!(needed < last, "{features} features: {needed} times");
            assert!(worth.count(1, 4));
            // Half a row has to be computed twice as often.
            let halves = (1..200).find(|_| worth.count(2, 2)).unwrap_or(200);
            assert!((2 * needed - 1..=2 * needed).contains(&halves));
            last = needed;
        }
        assert_eq!(last, 1);
        Ok(())
    }

    #[test]
    fn rows_are_kept_at_once_where_the_reads_to_be_expected_pay() -> Result<()> {
        for (features, held, fresh, [narrow, wide]) in [
            (100, 0, 0.6, [true, false]),
            (100, slab::KEPT_BYTES, 0.6, [false; 2]),
            (50, 0, 2.0, [false; 2]),
            (2, 0, 0.6, [false; 2]),
            (784, 0, 0.6, [true; 2]),
        ] {
            for (cost, at_once) in [(NARROW, narrow), (WIDE, wide)] {
                let mut worth = worth(features, cost)?;
                worth.weigh(held, fresh);
                assert_eq!(worth.count(1, 1), at_once, "{features} {held} {fresh}");
            }
        }
        Ok(())
    }
}
