//! Gram matrices of weighted rows.
//!
//! ```text
//! G = sum_i d_i h_i h_i'
//! ```
//!
//! A tile of rows at a time: its columns are packed as panels, and once more, times the weights, as
//! groups; then the sums over the rows are what the product loop of kernel tiles computes
//! ([`product`]). Only the lower half is.

use super::product::{self, GROUP, Measure};
use super::{Isa, memory};
use crate::error::Result;

/// Rows of a tile: its panels stay in the second-level cache, and its sums are added up seldom.
pub(crate) const TILE: usize = 128;
/// Columns of a panel.
const PANEL: usize = product::panel::<f64>();
/// Columns of the products that are held.
const COLUMNS: usize = 512;

/// What a thread needs beside the matrix.
#[derive(Default)]
pub(crate) struct Scratch {
    panels: Vec<f64>,
    group: Vec<f64>,
    products: Vec<f64>,
}

/// Adds the Gram matrix of a tile, up to [`TILE`] rows of `width` numbers each with its weight, to the
/// lower half of `gram`.
///
/// # Errors
/// If there is no memory for a copy of the tile.
pub(crate) fn add_tile(
    isa: Isa,
    tile: &[f64],
    weights: &[f64],
    scratch: &mut Scratch,
    gram: &mut [f64],
) -> Result<()> {
    let height = weights.len();
    if height == 0 {
        return Ok(());
    }
    let width = tile.len() / height;
    let Scratch {
        panels,
        group,
        products,
    } = scratch;
    pack(tile, height, width, panels)?;
    group.resize(GROUP * height, 0.0);
    products.resize(GROUP * COLUMNS, 0.0);
    for first in (0..width).step_by(GROUP) {
        let count = GROUP.min(width - first);
        group.fill(0.0);
        for ((row, entries), weight) in tile
            .chunks_exact(width)
            .zip(group.chunks_exact_mut(GROUP))
            .zip(weights)
        {
            for (entry, value) in entries.iter_mut().zip(&row[first..first + count]) {
                *entry = weight * value;
            }
        }
        // As far as the diagonal of the last column of the group.
        let columns = first + count;
        for column in (0..columns).step_by(COLUMNS) {
            let size = COLUMNS.min(columns - column);
            let mut out: Vec<&mut [f64]> = products.chunks_mut(size).take(GROUP).collect();
            let panels = &panels[column * height..];
            product::dense_products(isa, group, panels, height, &mut out, Measure::Product);
            for (row, products) in gram[first * width..].chunks_mut(width).zip(out).take(count) {
                for (entry, product) in row[column..].iter_mut().zip(products.iter()) {
                    *entry += product;
                }
            }
        }
    }
    Ok(())
}

/// Packs the columns of a tile as `[panel][row][PANEL]`, padded by zeros.
fn pack(tile: &[f64], height: usize, width: usize, panels: &mut Vec<f64>) -> Result<()> {
    panels.clear();
    let needed = width.next_multiple_of(PANEL) * height;
    memory::resize(panels, needed, "a tile of samples")?;
    for (number, panel) in panels.chunks_exact_mut(PANEL * height).enumerate() {
        let first = number * PANEL;
        let count = PANEL.min(width - first);
        for (row, entries) in tile.chunks_exact(width).zip(panel.chunks_exact_mut(PANEL)) {
            entries[..count].copy_from_slice(&row[first..first + count]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_add_up_to_the_gram_matrix() {
        for isa in Isa::available() {
            for (height, width) in [(1, 1), (3, 7), (TILE, 6), (50, 8), (33, 49), (7, 530)] {
                let value = |at: usize| (at as f64 * 0.37).sin();
                let tile: Vec<f64> = (0..height * width).map(value).collect();
                let weights: Vec<f64> = (0..height).map(|i| i as f64 - 1.5).collect();
                let mut gram = vec![0.0; width * width];
                let mut scratch = Scratch::default();
                for _ in 0..2 {
                    assert!(add_tile(isa, &tile, &weights, &mut scratch, &mut gram).is_ok());
                }
                for i in 0..width {
                    for j in 0..=i {
                        let terms = weights.iter().enumerate().map(|(row, weight)| {
                            2.0 * weight * tile[row * width + i] * tile[row * width + j]
                        });
                        let expected: f64 = terms.sum();
                        let found = gram[i * width + j];
                        assert!((found - expected).abs() < 1e-9, "{found} not {expected}");
                    }
                }
            }
        }
    }
}
