//! Worth: which rows are worth their memory.
//!
//! Under a hypervisor the first touch of a page costs more than the values that go there. So a row is
//! kept when what it took to compute it so far has come up to what its memory would have cost: the
//! rule of those who rent skis until the rent has come up to the price, which never costs more than
//! twice what the best choice would have. The costs are those measured on one machine and are not
//! measured on yours: what is kept decides which rows are added first, so results would differ from
//! run to run in their last digits.

use crate::data::Samples;

/// Nanoseconds of one thread for a byte of memory that nothing has touched: 1 to 2.5 were measured under
/// a hypervisor. The next fit finds some of it touched already, so the lower one counts: with 2, later
/// fits of 20000 x 100 rows took 1.6 times as long as with all rows kept, with 1 1.2 times.
const FRESH: f64 = 1.0;
/// For a value of a Gaussian without features, and for each feature: dense, and sparse, where products
/// are scattered.
const VALUE: f64 = 0.6;
const FEATURE: f64 = 0.022;
const SPARSE_FEATURE: f64 = 0.2;
/// For reading a byte of a row.
const READ: f64 = 0.08;
/// Bytes up to which every row is kept: so much memory is often used again, by the next fit.
const ROOM: usize = 1 << 27;

/// Which rows are worth keeping.
#[derive(Debug)]
pub(super) struct Worth {
    /// How often each row was computed; part of a row counts as that part.
    computed: Vec<f32>,
    /// How often a row must have been computed to be kept.
    needed: f32,
    /// Bytes up to which every row is kept.
    pub room: usize,
}

impl Worth {
    /// `bytes` are those of one value. Rows that are `shared` serve other problems too, and may all be
    /// kept.
    pub fn new(samples: &Samples, variables: usize, bytes: usize, shared: bool) -> Self {
        let feature = match samples.is_packed_dense() {
            true => FEATURE,
            false => SPARSE_FEATURE,
        };
        let saved = VALUE + feature * samples.mean_entries() - READ * bytes as f64;
        Worth {
            computed: vec![0.0; variables],
            needed: match shared {
                true => 0.0,
                false => (FRESH * bytes as f64 / saved) as f32,
            },
            room: ROOM,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use ndarray::Array2;

    /// Rows of many features are kept at once, others when they are wanted again and again.
    #[test]
    fn cheap_rows_have_to_prove_themselves() -> Result<()> {
        let mut last = usize::MAX;
        for features in [2, 50, 784] {
            let samples = Array2::<f64>::zeros((4, features));
            let samples = Samples::try_from(samples.view())?;
            let mut worth = Worth::new(&samples, 4, 4, false);
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
}
