//! Kernel values in tiles: products of packed rows and columns, finished while still in L1.
//!
//! Products go straight to their destination, a few kilobytes at a time, and are turned into kernel
//! values there; each value is written once. Parallel over tiles of fixed shape, so results do not
//! depend on the number of threads.

use super::columns::{Columns, GroupStore, Groups, PANEL, Store};
use super::epilogue::{Ingredients, Norms, finish};
use super::function::Kernel;
use super::products::{Run, Scattered};
use crate::error::{Polled, Result, Stop};
use crate::simd::interactions::dense_interactions;
use crate::simd::measure::Measure;
use crate::simd::product::{GROUP, dense_products};
use crate::simd::{Real, dispatch, memory, parallel};
use std::ops::Range;

/// Bytes of a row of a tile: six of them stay in L1 between product and epilogue.
const TILE_ROW_BYTES: usize = 3072;
/// Rows of a tile: enough to make reading its columns from L2 cheap.
pub(super) const TILE_ROWS: usize = 96;
/// Rows of a tile that are rounded together: a multiple of every group height.
const ROUNDED_ROWS: usize = 96;
/// The packed columns of a tile should stay in L2.
const TILE_BYTES: usize = 1 << 19;

/// Buffers a thread reuses from tile to tile.
#[derive(Default)]
pub(crate) struct Scratch<T> {
    scattered: Scattered<T>,
    /// The measures of a group of rows that a composed kernel is made from.
    measures: Vec<Vec<T>>,
    spare: Vec<Vec<T>>,
}

/// The first row and column of a tile, and where its rows are to be written.
type Tile<'a, T> = (usize, usize, Vec<&'a mut [T]>);

impl<T: Real> Columns<T> {
    /// Writes k(row, column) for all packed rows and the given columns; `columns.start` is a
    /// multiple of [`PANEL`].
    pub fn fill(
        &self,
        rows: &Groups<T>,
        columns: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        let work = out.len() * columns.len() * self.work_per_value();
        let tiles = cut(out, columns, self.tile_columns())?;
        parallel::try_for_each(tiles, work, stop, |scratch, (row, column, mut out)| {
            self.tile(rows, row, column, &mut out, scratch);
            Ok(())
        })
    }

    /// Writes the matrix of the packed columns with themselves, packed as rows too: the tiles on
    /// and above the diagonal are computed, the others mirrored. Returns the number of values
    /// computed.
    pub fn fill_symmetric(
        &self,
        rows: &Groups<T>,
        lines: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<usize> {
        let size = self.len();
        // Square tiles follow the diagonal closely. Each comes with its mirror image, if that is
        // another one.
        let mut grid: Vec<Option<Tile<T>>> = cut(lines, 0..size, TILE_ROWS)?
            .into_iter()
            .map(Some)
            .collect();
        let side = size.div_ceil(TILE_ROWS);
        let mut pairs = Vec::new();
        for row in 0..side {
            for column in row..side {
                let tile = grid[row * side + column].take();
                pairs.extend(tile.map(|tile| (tile, grid[column * side + row].take())));
            }
        }
        let computed: usize = (0..size)
            .map(|row| size - row / TILE_ROWS * TILE_ROWS)
            .sum();
        let work = computed * self.work_per_value();
        parallel::try_for_each(pairs, work, stop, |scratch, (tile, image)| {
            let (row, column, mut out) = tile;
            self.tile(rows, row, column, &mut out, scratch);
            if let Some((_, _, mut image)) = image {
                mirror(&out, &mut image);
            }
            Ok(())
        })?;
        Ok(computed)
    }

    /// Returns how wide a tile is: a multiple of [`PANEL`].
    pub fn tile_columns(&self) -> usize {
        let fits = TILE_BYTES / (self.work_per_value() * size_of::<T>()).max(1);
        fits.clamp(6 * PANEL, TILE_ROW_BYTES / size_of::<T>()) / PANEL * PANEL
    }

    /// Computes one tile: rows from `row` on, columns from `column` on, as many as `out` holds.
    /// `row` is a multiple of every group height, `column` of [`PANEL`].
    pub fn tile(
        &self,
        rows: &Groups<T>,
        row: usize,
        column: usize,
        out: &mut [&mut [T]],
        scratch: &mut Scratch<T>,
    ) {
        let Some(width) = out.first().map(|row| row.len()) else {
            return;
        };
        let height = match self.store {
            Store::Panels(_) => GROUP,
            Store::Sparse(_) => out.len(),
        };
        let measure = self.kernel.measure(self.has_differences());
        for (group, out) in out.chunks_mut(height).enumerate() {
            let first = row + group * height;
            if !is_basic(&self.kernel) {
                self.composed(rows, first, column, out, scratch);
                continue;
            }
            let scattered = &mut scratch.scattered;
            self.products(rows, first, column, out, measure, scattered);
            for (r, values) in out.iter_mut().enumerate() {
                let norms = self.norms(rows, first + r, column, width);
                finish(self.isa, &self.kernel, norms, values);
            }
        }
    }

    /// Returns the norms of a row and of columns, unless distances are measured without them.
    fn norms<'a>(
        &'a self,
        rows: &Groups<T>,
        row: usize,
        column: usize,
        width: usize,
    ) -> Option<Norms<'a, T>> {
        let norms = Norms {
            row: rows.norms[row],
            columns: &self.norms[column..column + width],
        };
        (!self.has_differences()).then_some(norms)
    }

    /// Computes a group of rows of a tile for a kernel that is made of others.
    fn composed(
        &self,
        rows: &Groups<T>,
        first: usize,
        column: usize,
        out: &mut [&mut [T]],
        scratch: &mut Scratch<T>,
    ) {
        let (width, height) = (out[0].len(), out.len());
        let Scratch {
            scattered,
            measures,
            spare,
        } = scratch;
        measures.resize_with(self.measures.len(), Vec::new);
        for (&measure, buffer) in self.measures.iter().zip(&mut *measures) {
            buffer.resize(height * width, T::ZERO);
            let mut lines: Vec<&mut [T]> = buffer.chunks_mut(width).take(height).collect();
            self.products(rows, first, column, &mut lines, measure, scattered);
        }
        for (r, values) in out.iter_mut().enumerate() {
            let ingredients = Ingredients {
                measures: &self.measures,
                values: measures,
                row: r,
                norms: self.norms(rows, first + r, column, width),
                column,
                lengths: (&self.lengths, &rows.lengths, first + r),
            };
            ingredients.combine(self.isa, &self.kernel, values, spare, &mut 0);
        }
    }

    /// Writes a measure of one group of rows with the tile's columns.
    fn products(
        &self,
        rows: &Groups<T>,
        first: usize,
        column: usize,
        out: &mut [&mut [T]],
        measure: Measure,
        scattered: &mut Scattered<T>,
    ) {
        let (isa, dim) = (self.isa, self.dim);
        match (&self.store, &rows.store) {
            (Store::Panels(panels), GroupStore::Dense(groups)) => {
                let left = &groups[first / GROUP * dim * GROUP..][..dim * GROUP];
                let panels = &panels[column * dim..];
                match measure {
                    Measure::Interactions { gamma, degree } => {
                        dense_interactions(isa, left, panels, dim, out, (gamma, degree));
                    }
                    _ => dense_products(isa, left, panels, dim, out, measure),
                }
            }
            (Store::Sparse(columns), GroupStore::Sparse(rows)) => {
                let how = (measure, self.has_differences());
                let run = |samples, first, count| Run {
                    samples,
                    first,
                    count,
                };
                let sides = (
                    run(rows, first, out.len()),
                    run(columns, column, out[0].len()),
                );
                scattered.measure(isa, sides, dim, out, how);
            }
            _ => unreachable!("rows are packed by the columns they meet"),
        }
    }
}

impl Columns<f64> {
    /// Writes what [`fill`](Self::fill) does, rounded to `f32`. Numbers too small for that are zero: those
    /// that are not normal would be slow to compute with.
    pub fn fill_rounded(
        &self,
        rows: &Groups<f64>,
        columns: Range<usize>,
        out: &mut [&mut [f32]],
        stop: Stop,
    ) -> Polled<()> {
        let work = out.len() * columns.len() * self.work_per_value();
        let tiles = cut(out, columns, self.tile_columns())?;
        type Buffers = (Scratch<f64>, Vec<f64>);
        parallel::try_for_each(tiles, work, stop, |buffers: &mut Buffers, tile| {
            let ((scratch, values), (row, column, mut out)) = (buffers, tile);
            for (group, out) in out.chunks_mut(ROUNDED_ROWS).enumerate() {
                let width = out[0].len();
                values.resize(ROUNDED_ROWS * width, 0.0);
                let mut lines: Vec<&mut [f64]> = values.chunks_mut(width).take(out.len()).collect();
                self.tile(
                    rows,
                    row + group * ROUNDED_ROWS,
                    column,
                    &mut lines,
                    scratch,
                );
                for (out, values) in out.iter_mut().zip(&lines) {
                    round(self.isa, values, out);
                }
            }
            Ok(())
        })
    }
}

dispatch! {
    /// Rounds numbers to `f32`.
    fn round<T: Real>(values: &[T], out: &mut [f32]) = round_body
}

#[inline(always)]
fn round_body<T: Real, const FMA: bool>(values: &[T], out: &mut [f32]) {
    for (out, &value) in out.iter_mut().zip(values) {
        let rounded = value.to_f64() as f32;
        *out = if rounded.abs() < f32::MIN_POSITIVE {
            0.0
        } else {
            rounded
        };
    }
}

/// Writes the transpose of a tile, a few rows at a time, so that the lines written to stay in L1.
fn mirror<T: Real>(tile: &[&mut [T]], image: &mut [&mut [T]]) {
    for (rows, start) in tile.chunks(PANEL).zip((0..).step_by(PANEL)) {
        for (column, line) in image.iter_mut().enumerate() {
            for (value, row) in line[start..].iter_mut().zip(rows) {
                *value = row[column];
            }
        }
    }
}

/// Cuts rows of output into tiles of [`TILE_ROWS`] rows and `width` columns.
///
/// # Errors
/// If there is no memory for the list of them.
fn cut<'a, T>(
    out: &'a mut [&mut [T]],
    columns: Range<usize>,
    width: usize,
) -> Result<Vec<Tile<'a, T>>> {
    const LIST: &str = "the list of tiles of a kernel matrix";
    let count = out.len().div_ceil(TILE_ROWS) * columns.len().div_ceil(width);
    let mut tiles: Vec<Tile<T>> = memory::with_capacity(count, LIST)?;
    for (batch, rows) in out.chunks_mut(TILE_ROWS).enumerate() {
        let base = tiles.len();
        for start in columns.clone().step_by(width) {
            let pieces = memory::with_capacity(rows.len(), LIST)?;
            tiles.push((batch * TILE_ROWS, start, pieces));
        }
        for row in rows {
            for (tile, piece) in tiles[base..].iter_mut().zip(row.chunks_mut(width)) {
                tile.2.push(piece);
            }
        }
    }
    Ok(tiles)
}

fn is_basic(kernel: &Kernel) -> bool {
    !matches!(
        kernel,
        Kernel::Sum(_) | Kernel::Product(_) | Kernel::Scaled(..) | Kernel::Normalized(_)
    )
}
