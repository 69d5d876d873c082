//! The innermost loop of a matrix product: a group of rows times many columns.
//!
//! ```text
//! left    [feature][GROUP]             a group of rows
//! panels  [panel][feature][PANEL]      columns, a panel of 64 bytes of each feature at a time
//! ```
//!
//! The sums of a group with a panel stay in registers: 12 of the 16 vectors of AVX2. Terms are added
//! up in chains of [`CHAIN`] features, and the chains one after another. [`chains`] counts the
//! roundings, and [`squared_norms`] takes the very same, so that x.x is the squared norm of x to the
//! last bit.

use super::Real;
use super::isa::dispatch;
use super::measure::{Term, with_term};

pub(crate) use super::measure::Measure;

/// Rows of a group.
pub(crate) const GROUP: usize = 6;
/// Features added up in one chain: the error of a sum grows with the length of its chains and with
/// their number.
pub(crate) const CHAIN: usize = 32;

/// Returns how many roundings a sum over `dim` features takes at the most.
pub(crate) fn chains(dim: usize) -> f64 {
    (dim.min(CHAIN) + dim.div_ceil(CHAIN)) as f64
}

/// Columns of a panel: 64 bytes, two 256-bit vectors.
pub(crate) const fn panel<T>() -> usize {
    64 / size_of::<T>()
}

dispatch! {
    /// Writes a measure of a group of rows with the columns of panels.
    pub(crate) fn dense_products<T: Real>(
        left: &[T], panels: &[T], dim: usize, out: &mut [&mut [T]], measure: Measure
    ) = dense_products_body
}

#[inline(always)]
fn dense_products_body<T: Real, const FMA: bool>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    measure: Measure,
) {
    with_term!(measure, term => match size_of::<T>() {
        4 => for_each_panel::<T, 16>(left, panels, dim, out, &Sums(term)),
        _ => for_each_panel::<T, 8>(left, panels, dim, out, &Sums(term)),
    });
}

/// What is made of a group of rows and a panel of columns. Not a closure: see [`Term`].
pub(super) trait PanelValues<T, const WIDTH: usize> {
    fn of(&self, left: &[[T; GROUP]], panel: &[[T; WIDTH]]) -> [[T; WIDTH]; GROUP];
}

/// The sums of terms over all features.
struct Sums<X>(X);

impl<T: Real, X: Term<T>, const WIDTH: usize> PanelValues<T, WIDTH> for Sums<X> {
    #[inline(always)]
    fn of(&self, left: &[[T; GROUP]], panel: &[[T; WIDTH]]) -> [[T; WIDTH]; GROUP] {
        panel_products(left, panel, self.0)
    }
}

/// Writes what `values` makes of a group of rows and each panel of columns.
#[inline(always)]
pub(super) fn for_each_panel<T: Real, const WIDTH: usize>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    values: &impl PanelValues<T, WIDTH>,
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
        let sums = values.of(left, panel.as_chunks().0);
        for (row, sums) in out.iter_mut().zip(sums) {
            // Of a length the compiler knows, or it calls a function to copy.
            if let Some(place) = row[number * WIDTH..].first_chunk_mut() {
                *place = sums;
            }
        }
    }
    let rest = width - whole * WIDTH;
    if let Some(panel) = panels.next().filter(|_| rest > 0) {
        let sums = values.of(left, panel.as_chunks().0);
        for (row, sums) in out.iter_mut().zip(sums) {
            row[whole * WIDTH..].copy_from_slice(&sums[..rest]);
        }
    }
}

/// The measures of a group of rows with one panel.
#[inline(always)]
fn panel_products<T: Real, const WIDTH: usize>(
    left: &[[T; GROUP]],
    panel: &[[T; WIDTH]],
    term: impl Term<T>,
) -> [[T; WIDTH]; GROUP] {
    if left.len() <= CHAIN {
        return chain(left, panel, term);
    }
    let mut sums = [[T::ZERO; WIDTH]; GROUP];
    for (left, panel) in left.chunks(CHAIN).zip(panel.chunks(CHAIN)) {
        let terms = chain(left, panel, term);
        // By number: iterators over arrays by value are not always made into vector instructions.
        for r in 0..GROUP {
            for c in 0..WIDTH {
                sums[r][c] += terms[r][c];
            }
        }
    }
    sums
}

/// Adds up the features of one chain.
#[inline(always)]
fn chain<T: Real, const WIDTH: usize>(
    left: &[[T; GROUP]],
    panel: &[[T; WIDTH]],
    term: impl Term<T>,
) -> [[T; WIDTH]; GROUP] {
    let mut sums = [[T::ZERO; WIDTH]; GROUP];
    for (a, b) in left.iter().zip(panel) {
        for r in 0..GROUP {
            for c in 0..WIDTH {
                sums[r][c] = term.add(a[r], b[c], sums[r][c]);
            }
        }
    }
    sums
}

dispatch! {
    /// Writes the squared norms of samples packed as `[feature][norms.len()]`, with the roundings of
    /// their inner products with themselves.
    pub(crate) fn squared_norms<T: Real>(block: &[T], norms: &mut [T]) = squared_norms_body
}

#[inline(always)]
fn squared_norms_body<T: Real, const FMA: bool>(block: &[T], norms: &mut [T]) {
    match norms.len() {
        6 => lane_norms::<T, FMA, 6>(block, norms),
        8 => lane_norms::<T, FMA, 8>(block, norms),
        16 => lane_norms::<T, FMA, 16>(block, norms),
        height => unreachable!("no block is {height} samples high"),
    }
}

#[inline(always)]
fn lane_norms<T: Real, const FMA: bool, const HEIGHT: usize>(block: &[T], norms: &mut [T]) {
    let mut sums = [T::ZERO; HEIGHT];
    for features in block.as_chunks::<HEIGHT>().0.chunks(CHAIN) {
        let mut terms = [T::ZERO; HEIGHT];
        for values in features {
            for (term, &value) in terms.iter_mut().zip(values) {
                *term = value.multiply_add::<FMA>(value, *term);
            }
        }
        for lane in 0..HEIGHT {
            sums[lane] += terms[lane];
        }
    }
    norms.copy_from_slice(&sums);
}
