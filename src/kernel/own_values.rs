//! The values k(x, x) of packed rows, for kernels that divide by them.
//!
//! They come from tiles, as all values of the rows do, so that k(x, x) is rounded alike wherever it
//! stands.

use super::columns::{Columns, PANEL, Packing};
use super::function::Kernel;
use super::lengths::Lengths;
use super::tile::Scratch;
use crate::error::Result;
use crate::simd::Real;

impl<T: Real> Columns<T> {
    /// Returns the lengths of rows for every normalised part of a kernel, from the outermost on.
    ///
    /// # Errors
    /// If there is no memory for a few packed rows.
    pub(super) fn lengths(kernel: &Kernel, packing: &Packing) -> Result<Vec<Lengths<T>>> {
        let mut lengths = Vec::new();
        collect(kernel, packing, &mut lengths)?;
        Ok(lengths)
    }
}

fn collect<T: Real>(
    kernel: &Kernel,
    packing: &Packing,
    lengths: &mut Vec<Lengths<T>>,
) -> Result<()> {
    match kernel {
        Kernel::Normalized(kernel) => {
            lengths.push(own_values(kernel, packing)?);
            collect(kernel, packing, lengths)
        }
        Kernel::Scaled(_, kernel) => collect(kernel, packing, lengths),
        Kernel::Sum(parts) | Kernel::Product(parts) => parts
            .iter()
            .try_for_each(|kernel| collect(kernel, packing, lengths)),
        _ => Ok(()),
    }
}

/// Computes k(x, x) of rows from small square tiles.
fn own_values<T: Real>(kernel: &Kernel, packing: &Packing) -> Result<Lengths<T>> {
    let mut lengths = Lengths::default();
    let mut scratch = Scratch::default();
    let mut values = [T::ZERO; PANEL * PANEL];
    for index in packing.index.chunks(PANEL) {
        let columns = Columns::in_frame(kernel, &Packing { index, ..*packing })?;
        let rows = columns.pack_rows(packing.samples, index)?;
        let count = index.len();
        let mut out: Vec<&mut [T]> = values.chunks_mut(count).take(count).collect();
        columns.tile(&rows, 0, 0, &mut out, &mut scratch);
        (0..count).for_each(|i| lengths.push(out[i][i]));
    }
    Ok(lengths)
}
