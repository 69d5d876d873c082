//! Sparse: rows in compressed form, rounded to the precision of tiles.

use super::centred::PACKED;
use crate::data::Samples;
use crate::error::Result;
use crate::simd::{Isa, Real, dispatch, memory};

/// Samples of a group that is scattered: each entry of another sample meets so many at once. With 16
/// values took a quarter longer, with 48 those of many features did.
pub(super) const SPARSE_GROUP: usize = 32;

/// CSR rows rounded to T.
#[derive(Debug)]
pub(super) struct Sparse<T> {
    pub starts: Vec<usize>,
    pub entries: Vec<(u32, T)>,
}

impl<T: Real> Sparse<T> {
    /// Collects rows, with their squared norms.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn pack(isa: Isa, samples: &Samples, index: &[usize]) -> Result<(Self, Vec<T>)> {
        let total = index.iter().map(|&i| samples.entries(i)).sum();
        let mut starts = memory::with_capacity(index.len() + 1, PACKED)?;
        let mut entries = memory::with_capacity(total, PACKED)?;
        let mut norms = memory::with_capacity(index.len(), PACKED)?;
        starts.push(0);
        for &i in index {
            samples.for_each(i, |feature, value| {
                entries.push((feature as u32, T::from_f64(value)));
            });
            starts.push(entries.len());
        }
        let sparse = Sparse { starts, entries };
        norms.extend((0..index.len()).map(|i| sparse_norm(isa, sparse.row(i))));
        Ok((sparse, norms))
    }

    /// Returns the entries of a row.
    #[inline]
    pub fn row(&self, i: usize) -> &[(u32, T)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}

dispatch! {
    /// Returns the squared norm of a row, with the roundings of its inner product with itself.
    fn sparse_norm<T: Real>(entries: &[(u32, T)]) -> T = sparse_norm_body
}

#[inline(always)]
fn sparse_norm_body<T: Real, const FMA: bool>(entries: &[(u32, T)]) -> T {
    let terms = entries.iter();
    terms.fold(T::ZERO, |sum, &(_, value)| {
        value.multiply_add::<FMA>(value, sum)
    })
}
