//! Kernel values in tiles: products of packed rows and columns, finished while still in L1.
//!
//! The columns (training samples during a fit, support vectors during a prediction) are packed
//! once: dense ones into panels of a few samples, feature by feature, so that the product loop
//! reads contiguous vectors; sparse ones stay CSR, unless they are hardly sparse. The rows asked for are packed per call, in
//! groups as tall as the registers allow. Products go straight to their destination, a few
//! kilobytes at a time, and are turned into kernel values there; each value is written once.
//!
//! Parallel over tiles of fixed shape, so results do not depend on the number of threads.

use super::Kernel;
use super::epilogue::{Ingredients, finish};
use super::source::Source;
use crate::data::Samples;
use crate::simd::{Isa, Real, dispatch};
use rayon::prelude::*;
use std::ops::Range;

/// Tiles begin at multiples of this many columns, the widest panel.
pub(crate) const PANEL: usize = 16;
/// Rows of a group of sparse rows: one scattered group is read a panel's width at a time.
const SPARSE_GROUP: usize = 16;
/// Bytes of a row of a tile: six of them stay in L1 between product and epilogue.
const TILE_ROW_BYTES: usize = 3072;
/// Rows of a tile: enough to make reading its columns from L2 cheap.
pub(super) const TILE_ROWS: usize = 96;
/// The packed columns of a tile should stay in L2.
const TILE_BYTES: usize = 1 << 19;
/// Below this many multiplications threads cost more than they bring.
const SERIAL_WORK: usize = 1 << 18;

/// Rows of a dense group: with 64 bytes of each row in flight, 12 of 16 vector registers.
const GROUP: usize = 6;
/// Samples per panel: 64 bytes, two 256-bit vectors.
const fn panel<T>() -> usize {
    64 / size_of::<T>()
}

/// Samples prepared as the columns of tiles.
#[derive(Debug)]
pub(crate) struct Columns<T> {
    kernel: Kernel,
    isa: Isa,
    store: Store<T>,
    /// Squared norms of the packed (rounded, centred) samples, padded to whole panels.
    norms: Vec<T>,
    largest_norm: f64,
    /// Subtracted from dense data of translation-invariant kernels: squared distances from norms
    /// lose digits when norms are large beside distances.
    center: Option<Vec<f64>>,
    len: usize,
    dim: usize,
}

/// Bounds of kernel values and of their errors, both absolute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub value: f64,
    pub error: f64,
}

#[derive(Debug)]
enum Store<T> {
    /// `[panel][feature][panel()]`
    Panels(Vec<T>),
    Sparse {
        starts: Vec<usize>,
        entries: Vec<(u32, T)>,
    },
}

/// Samples prepared as the rows of tiles.
pub(crate) struct Rows<T> {
    store: Left<T>,
    norms: Vec<T>,
}

enum Left<T> {
    /// `[group][feature][GROUP]`
    Groups(Vec<T>),
    Sparse {
        starts: Vec<usize>,
        entries: Vec<(u32, T)>,
    },
}

/// Buffers a thread reuses from tile to tile.
#[derive(Default)]
pub(crate) struct Scratch<T> {
    scattered: Vec<T>,
    distances: Vec<T>,
    dots: Vec<T>,
    spare: Vec<Vec<T>>,
}

impl<T: Real> Columns<T> {
    /// Packs rows `index` of a source as columns. Its centre is used for dense data and
    /// translation-invariant kernels only; None stands for the mean of the packed rows.
    pub fn new(kernel: &Kernel, source: Source<T>, index: &[usize]) -> Self {
        let samples = source.samples;
        let dim = samples.columns();
        let mut columns: Columns<T> = Columns {
            kernel: kernel.clone(),
            isa: Isa::detect(),
            store: Store::Panels(Vec::new()),
            norms: Vec::new(),
            largest_norm: 0.0,
            center: None,
            len: index.len(),
            dim,
        };
        if !samples.is_packed_dense() {
            let (starts, entries, norms) = sparse_rows(samples, index);
            columns.store = Store::Sparse { starts, entries };
            columns.norms = norms;
        } else {
            if kernel.is_translation_invariant() {
                let mean = || samples.mean(index);
                columns.center = Some(source.center.map_or_else(mean, <[f64]>::to_vec));
            }
            let (panels, norms) = columns.centred(source).dense_rows(index, panel::<T>());
            columns.store = Store::Panels(panels);
            columns.norms = norms;
        }
        columns.largest_norm = columns
            .norms
            .iter()
            .fold(0.0f64, |max, norm| max.max(norm.to_f64()));
        columns
            .norms
            .resize(index.len().next_multiple_of(PANEL), T::ZERO);
        columns
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Bounds the kernel values of a row of `samples`, and their absolute error: that of the
    /// arithmetic in T, and of rounding the data to T, for inner products of any length.
    pub fn bounds(&self, samples: &Samples, row: usize) -> Bounds {
        let mut norm = 0.0;
        samples.for_each(row, |feature, value| {
            let value = value - self.center.as_ref().map_or(0.0, |center| center[feature]);
            norm += value * value;
        });
        // Values of a Gaussian with rows much further out are too small to have errors of size: the
        // largest of b^2 exp(-gamma (a - b)^2) is below (a + 1 / sqrt(gamma))^2.
        let reach = match self.kernel {
            Kernel::Rbf { gamma } => (norm.sqrt() + gamma.sqrt().recip()).powi(2),
            _ => f64::INFINITY,
        };
        let norm = norm.max(self.largest_norm.min(reach));
        let largest = self.kernel.on_diagonal(norm).unwrap_or(f64::INFINITY).abs();
        // Roundings of a sum of d terms add up to sqrt(d), not d, but for a factor.
        let terms = 4.0 + (self.dim as f64).sqrt();
        Bounds {
            value: largest,
            error: 2.0 * terms * T::ROUNDOFF * self.kernel.roundings(norm) * largest,
        }
    }

    /// Returns the instruction set its loops run on.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Chooses the instruction set.
    #[cfg(test)]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        self.isa = isa;
        self
    }

    /// The source with the centre of these columns.
    fn centred<'a>(&'a self, source: Source<'a, T>) -> Source<'a, T> {
        Source {
            center: self.center.as_deref(),
            ..source
        }
    }

    /// Packs rows for [`Columns::fill`].
    pub fn pack_rows(&self, source: Source<T>, rows: &[usize]) -> Rows<T> {
        match self.store {
            Store::Panels(_) => {
                let (groups, norms) = self.centred(source).dense_rows(rows, GROUP);
                Rows {
                    store: Left::Groups(groups),
                    norms,
                }
            }
            Store::Sparse { .. } => {
                let (starts, entries, norms) = sparse_rows(source.samples, rows);
                Rows {
                    store: Left::Sparse { starts, entries },
                    norms,
                }
            }
        }
    }

    /// Writes k(row, column) for all packed rows and the given columns; `columns.start` is a
    /// multiple of [`PANEL`]. Returns false if `stop` said so before the end: then the output is
    /// incomplete.
    pub fn fill(
        &self,
        rows: &Rows<T>,
        columns: Range<usize>,
        out: &mut [&mut [T]],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let work = out.len() * columns.len() * self.work_per_value();
        let tiles = cut(out, columns, self.tile_columns());
        let compute = |scratch: &mut Scratch<T>, (row, column, mut out): Tile<T>| {
            self.tile(rows, row, column, &mut out, scratch);
        };
        run(tiles, work, compute, stop)
    }

    /// Writes the matrix of the packed columns with themselves, packed as rows too: the tiles on
    /// and above the diagonal are computed, the others mirrored. Returns the number of values
    /// computed, None if stopped.
    pub fn fill_symmetric(
        &self,
        rows: &Rows<T>,
        out: &mut [T],
        stride: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<usize> {
        let size = self.len;
        let mut lines: Vec<&mut [T]> = out
            .chunks_mut(stride)
            .map(|line| &mut line[..size])
            .collect();
        // Square tiles follow the diagonal closely. Each comes with its mirror image, if that is
        // another one.
        let mut grid: Vec<Option<Tile<T>>> = cut(&mut lines, 0..size, TILE_ROWS)
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
        let compute = |scratch: &mut Scratch<T>, (tile, image): (Tile<T>, Option<Tile<T>>)| {
            let (row, column, mut out) = tile;
            self.tile(rows, row, column, &mut out, scratch);
            if let Some((_, _, mut image)) = image {
                mirror(&out, &mut image);
            }
        };
        let done = run(pairs, computed * self.work_per_value(), compute, stop);
        done.then_some(computed)
    }

    /// Returns how wide a tile is: a multiple of [`PANEL`].
    pub fn tile_columns(&self) -> usize {
        let fits = TILE_BYTES / (self.work_per_value() * size_of::<T>()).max(1);
        fits.clamp(6 * PANEL, TILE_ROW_BYTES / size_of::<T>()) / PANEL * PANEL
    }

    /// Returns the multiplications behind one value, roughly.
    pub(super) fn work_per_value(&self) -> usize {
        match &self.store {
            Store::Panels(_) => self.dim + 4,
            Store::Sparse { entries, .. } => entries.len() / self.len.max(1) + 4,
        }
    }

    /// Computes one tile: rows from `row` on, columns from `column` on, as many as `out` holds.
    /// `row` is a multiple of every group height, `column` of [`PANEL`].
    pub fn tile(
        &self,
        rows: &Rows<T>,
        row: usize,
        column: usize,
        out: &mut [&mut [T]],
        scratch: &mut Scratch<T>,
    ) {
        let Some(width) = out.first().map(|row| row.len()) else {
            return;
        };
        let norms = &self.norms[column..column + width];
        let (needs_dots, needs_distances) = ingredients(&self.kernel);
        let group = match self.store {
            Store::Panels(_) => GROUP,
            Store::Sparse { .. } => SPARSE_GROUP,
        };
        for (g, out) in out.chunks_mut(group).enumerate() {
            let first = row + g * group;
            let row_norms = &rows.norms[first..first + out.len()];
            if is_basic(&self.kernel) {
                self.products(
                    rows,
                    first,
                    column,
                    out,
                    needs_distances,
                    &mut scratch.scattered,
                );
                for (values, &row_norm) in out.iter_mut().zip(row_norms) {
                    finish(self.isa, &self.kernel, row_norm, norms, values);
                }
                continue;
            }
            if needs_distances {
                scratch.distances.resize(group * width, T::ZERO);
                let mut distances: Vec<&mut [T]> = scratch
                    .distances
                    .chunks_mut(width)
                    .take(out.len())
                    .collect();
                self.products(
                    rows,
                    first,
                    column,
                    &mut distances,
                    true,
                    &mut scratch.scattered,
                );
            }
            if needs_dots {
                self.products(rows, first, column, out, false, &mut scratch.scattered);
            }
            for (r, values) in out.iter_mut().enumerate() {
                scratch.dots.clear();
                scratch.dots.extend_from_slice(values);
                let ingredients = Ingredients {
                    dots: &scratch.dots,
                    distances: scratch.distances.chunks(width).nth(r).unwrap_or(&[]),
                    row_norm: row_norms[r],
                    norms,
                };
                ingredients.combine(self.isa, &self.kernel, values, &mut scratch.spare);
            }
        }
    }

    /// Writes inner products, or L1 distances, of one group of rows with the tile's columns.
    fn products(
        &self,
        rows: &Rows<T>,
        first: usize,
        column: usize,
        out: &mut [&mut [T]],
        distances: bool,
        scattered: &mut Vec<T>,
    ) {
        match (&self.store, &rows.store) {
            (Store::Panels(panels), Left::Groups(groups)) => {
                let group = self.dim * GROUP;
                let left = &groups[first / GROUP * group..][..group];
                let panels = &panels[column * self.dim..];
                dense_products(self.isa, left, panels, self.dim, out, distances);
            }
            (
                Store::Sparse { starts, entries },
                Left::Sparse {
                    starts: row_starts,
                    entries: row_entries,
                },
            ) => {
                scattered.resize(self.dim * SPARSE_GROUP, T::ZERO);
                let mut sums = [T::ZERO; SPARSE_GROUP]; // L1 norms of the rows
                for (lane, sum) in sums.iter_mut().enumerate().take(out.len()) {
                    let range = row_starts[first + lane]..row_starts[first + lane + 1];
                    for &(feature, value) in &row_entries[range] {
                        scattered[feature as usize * SPARSE_GROUP + lane] = value;
                        *sum += value.absolute();
                    }
                }
                let starts = &starts[column..];
                sparse_products(self.isa, scattered, &sums, starts, entries, out, distances);
                for lane in 0..out.len() {
                    let range = row_starts[first + lane]..row_starts[first + lane + 1];
                    for &(feature, _) in &row_entries[range] {
                        scattered[feature as usize * SPARSE_GROUP + lane] = T::ZERO;
                    }
                }
            }
            _ => unreachable!("rows are packed by the columns they meet"),
        }
    }
}

/// Computes parts, in parallel if the work is worth it. Returns false if stopped.
fn run<T: Real, P: Send>(
    parts: Vec<P>,
    work: usize,
    compute: impl Fn(&mut Scratch<T>, P) + Sync + Send,
    stop: &(dyn Fn() -> bool + Sync),
) -> bool {
    let unless_stopped = |scratch: &mut Scratch<T>, part: P| {
        if stop() {
            return false;
        }
        compute(scratch, part);
        true
    };
    if work < SERIAL_WORK || parts.len() == 1 {
        let mut scratch = Scratch::default();
        let mut parts = parts.into_iter();
        parts.all(|part| unless_stopped(&mut scratch, part))
    } else {
        parts
            .into_par_iter()
            .map_init(Scratch::default, unless_stopped)
            .reduce(|| true, |a, b| a && b)
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

/// The first row and column of a tile, and where its rows are to be written.
type Tile<'a, T> = (usize, usize, Vec<&'a mut [T]>);

/// Cuts rows of output into tiles of [`TILE_ROWS`] rows and `width` columns.
fn cut<'a, T>(out: &'a mut [&mut [T]], columns: Range<usize>, width: usize) -> Vec<Tile<'a, T>> {
    let mut tiles: Vec<Tile<T>> = Vec::new();
    for (batch, rows) in out.chunks_mut(TILE_ROWS).enumerate() {
        let base = tiles.len();
        let height = rows.len();
        tiles.extend(
            (columns.clone().step_by(width))
                .map(|start| (batch * TILE_ROWS, start, Vec::with_capacity(height))),
        );
        for row in rows {
            for (tile, piece) in tiles[base..].iter_mut().zip(row.chunks_mut(width)) {
                tile.2.push(piece);
            }
        }
    }
    tiles
}

fn is_basic(kernel: &Kernel) -> bool {
    !matches!(
        kernel,
        Kernel::Sum(_) | Kernel::Product(_) | Kernel::Scaled(..)
    )
}

/// Tells whether a kernel is made from inner products, and whether from L1 distances.
fn ingredients(kernel: &Kernel) -> (bool, bool) {
    match kernel {
        Kernel::Laplacian { .. } => (false, true),
        Kernel::Sum(parts) | Kernel::Product(parts) => parts
            .iter()
            .map(ingredients)
            .fold((false, false), |a, b| (a.0 || b.0, a.1 || b.1)),
        Kernel::Scaled(_, kernel) => ingredients(kernel),
        _ => (true, false),
    }
}

type SparseRows<T> = (Vec<usize>, Vec<(u32, T)>, Vec<T>);

/// Collects rows as CSR rounded to T, with their squared norms.
fn sparse_rows<T: Real>(samples: &Samples, index: &[usize]) -> SparseRows<T> {
    let total = index.iter().map(|&i| samples.entries(i)).sum();
    let mut starts = Vec::with_capacity(index.len() + 1);
    let mut entries = Vec::with_capacity(total);
    let mut norms = Vec::with_capacity(index.len());
    starts.push(0);
    for &i in index {
        let mut sum = 0.0;
        samples.for_each(i, |feature, value| {
            let value = T::from_f64(value);
            sum += value.to_f64() * value.to_f64();
            entries.push((feature as u32, value));
        });
        starts.push(entries.len());
        norms.push(T::from_f64(sum));
    }
    (starts, entries, norms)
}

dispatch! {
    fn dense_products<T: Real>(
        left: &[T], panels: &[T], dim: usize, out: &mut [&mut [T]], distances: bool
    ) = dense_products_body
}

#[inline(always)]
fn dense_products_body<T: Real, const FMA: bool>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    distances: bool,
) {
    match (size_of::<T>() == 4, distances) {
        (true, false) => group_products::<T, FMA, 16, false>(left, panels, dim, out),
        (true, true) => group_products::<T, FMA, 16, true>(left, panels, dim, out),
        (false, false) => group_products::<T, FMA, 8, false>(left, panels, dim, out),
        (false, true) => group_products::<T, FMA, 8, true>(left, panels, dim, out),
    }
}

/// `out[r][c] = sum_k left[k][r] * panel[k][c]`, or the sum of absolute differences.
#[inline(always)]
fn group_products<T: Real, const FMA: bool, const WIDTH: usize, const L1: bool>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
) {
    let width = out[0].len();
    if dim == 0 {
        out.iter_mut().for_each(|row| row.fill(T::ZERO));
        return;
    }
    let (left, _) = left.as_chunks::<GROUP>();
    let mut panels = panels.chunks_exact(dim * WIDTH);
    let whole = width / WIDTH;
    for (number, panel) in panels.by_ref().take(whole).enumerate() {
        let sums = panel_products::<T, FMA, WIDTH, L1>(left, panel);
        for (row, sums) in out.iter_mut().zip(sums) {
            // Of a length the compiler knows, or it calls a function to copy.
            if let Some(place) = row[number * WIDTH..].first_chunk_mut() {
                *place = sums;
            }
        }
    }
    let rest = width - whole * WIDTH;
    if let Some(panel) = panels.next().filter(|_| rest > 0) {
        let sums = panel_products::<T, FMA, WIDTH, L1>(left, panel);
        for (row, sums) in out.iter_mut().zip(sums) {
            row[whole * WIDTH..].copy_from_slice(&sums[..rest]);
        }
    }
}

/// The products of a group of rows with one panel.
#[inline(always)]
fn panel_products<T: Real, const FMA: bool, const WIDTH: usize, const L1: bool>(
    left: &[[T; GROUP]],
    panel: &[T],
) -> [[T; WIDTH]; GROUP] {
    let (panel, _) = panel.as_chunks::<WIDTH>();
    let mut sums = [[T::ZERO; WIDTH]; GROUP];
    for (a, b) in left.iter().zip(panel) {
        for r in 0..GROUP {
            for c in 0..WIDTH {
                sums[r][c] = if L1 {
                    sums[r][c] + (a[r] - b[c]).absolute()
                } else {
                    a[r].multiply_add::<FMA>(b[c], sums[r][c])
                };
            }
        }
    }
    sums
}

dispatch! {
    fn sparse_products<T: Real>(
        scattered: &[T], sums: &[T; SPARSE_GROUP], starts: &[usize], entries: &[(u32, T)],
        out: &mut [&mut [T]], distances: bool
    ) = sparse_products_body
}

/// `out[r][c]` from scattered rows `[feature][SPARSE_GROUP]` and the sparse columns.
#[inline(always)]
fn sparse_products_body<T: Real, const FMA: bool>(
    scattered: &[T],
    sums: &[T; SPARSE_GROUP],
    starts: &[usize],
    entries: &[(u32, T)],
    out: &mut [&mut [T]],
    distances: bool,
) {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let width = out[0].len();
    for column in 0..width {
        let entries = &entries[starts[column]..starts[column + 1]];
        let mut values = [T::ZERO; SPARSE_GROUP];
        if distances {
            // |x - z|_1 = |x|_1 + sum over the entries of z of |x_k - z_k| - |x_k|
            values = *sums;
            for &(feature, value) in entries {
                let row = &scattered[feature as usize];
                for lane in 0..SPARSE_GROUP {
                    values[lane] += (row[lane] - value).absolute() - row[lane].absolute();
                }
            }
        } else {
            for &(feature, value) in entries {
                let row = &scattered[feature as usize];
                for lane in 0..SPARSE_GROUP {
                    values[lane] = value.multiply_add::<FMA>(row[lane], values[lane]);
                }
            }
        }
        for (row, &value) in out.iter_mut().zip(&values) {
            row[column] = value;
        }
    }
}
