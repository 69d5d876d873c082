//! Subtracting the products of rows from the lower half of a symmetric matrix.
//!
//! ```text
//! A_ij -= sum_k l_ik r_jk   for j <= i
//! ```
//!
//! The rows r are packed in panels, as the product loop of kernel tiles wants them ([`product`]). Parts of the matrix are done on all threads; which thread does which
//! changes no bit.

use super::product::{self, GROUP, Measure};
use super::{Isa, add_multiple, memory, parallel};
use crate::error::Result;

/// Rows of a panel.
pub(super) const PANEL: usize = product::panel::<f64>();
/// Rows whose products a thread subtracts at a time: a multiple of a group and of a panel.
const ROWS: usize = 48;
/// Columns of the products it holds.
const COLUMNS: usize = 512;

/// Where the rows l stand.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    /// In the rows of the matrix themselves, from this column on.
    Within(usize),
    /// One after another.
    Packed(&'a [f64]),
}

/// Some of the lower rows of a matrix.
pub(super) struct Lower<'a> {
    /// The rows, `stride` apart.
    pub rows: &'a mut [f64],
    pub stride: usize,
    /// Where the column of the first row's diagonal stands.
    pub first: usize,
}

/// Packs rows of `width` numbers in panels, padded by zeros, into memory that is used again.
///
/// # Errors
/// If there is no memory for them.
pub(super) fn pack(
    rows: &[f64],
    width: usize,
    panels: &mut Vec<f64>,
    what: &'static str,
) -> Result<()> {
    let count = rows.len() / width;
    let size = PANEL * width;
    memory::resize(panels, count.next_multiple_of(PANEL) * width, what)?;
    if !count.is_multiple_of(PANEL) {
        let last = panels.len() - size;
        panels[last..].fill(0.0);
    }
    for (panel, rows) in panels.chunks_mut(size).zip(rows.chunks(size)) {
        for (lane, row) in rows.chunks(width).enumerate() {
            let entries = panel[lane..].iter_mut().step_by(PANEL);
            entries.zip(row).for_each(|(entry, &value)| *entry = value);
        }
    }
    Ok(())
}

/// Subtracts the products of rows of `width` numbers: those on the left with those in panels.
pub(super) fn subtract_products(isa: Isa, lower: Lower, left: Left, panels: &[f64], width: usize) {
    let Lower {
        rows,
        stride,
        first,
    } = lower;
    let count = rows.len() / stride;
    let parts: Vec<_> = rows.chunks_mut(ROWS * stride).enumerate().collect();
    let work = count * count / 2 * width;
    parallel::for_each(parts, work, |buffers: &mut Buffers, (part, rows)| {
        buffers.group.resize(GROUP * width, 0.0);
        buffers.products.resize(GROUP * COLUMNS, 0.0);
        for (number, rows) in rows.chunks_mut(GROUP * stride).enumerate() {
            let start = part * ROWS + number * GROUP;
            buffers.gather(left, start, rows, stride, width);
            // As far as the diagonal of the last row of the group.
            let columns = count.min(start + GROUP);
            for column in (0..columns).step_by(COLUMNS) {
                let size = COLUMNS.min(columns - column);
                let products = buffers.products.chunks_mut(size);
                let mut out: Vec<&mut [f64]> = products.take(GROUP).collect();
                let panels = &panels[column * width..];
                let group = &buffers.group;
                product::dense_products(isa, group, panels, width, &mut out, Measure::Product);
                for (row, products) in rows.chunks_mut(stride).zip(out) {
                    add_multiple(isa, -1.0, products, &mut row[first + column..]);
                }
            }
        }
    });
}

/// What a thread reuses from part to part.
#[derive(Default)]
struct Buffers {
    group: Vec<f64>,
    products: Vec<f64>,
}

impl Buffers {
    /// Gathers the left rows of a group, of which `start` is the first.
    fn gather(&mut self, left: Left, start: usize, rows: &[f64], stride: usize, width: usize) {
        for (lane, row) in rows.chunks(stride).enumerate() {
            let values = match left {
                Left::Within(column) => &row[column..][..width],
                Left::Packed(all) => &all[(start + lane) * width..][..width],
            };
            let entries = self.group[lane..].iter_mut().step_by(GROUP);
            entries
                .zip(values)
                .for_each(|(entry, &value)| *entry = value);
        }
    }
}
