//! The innermost loop of a matrix product: a group of rows times many columns.
//!
//! ```text
//! left    [feature][GROUP]             a group of rows
//! panels  [panel][feature][PANEL]      columns, a panel of 64 bytes of each feature at a time
//! ```
//!
//! The sums of a group with a panel stay in registers: 12 of the 16 vectors of AVX2. In vectors of 512
//! bits they would be 6, fewer than additions are under way at a time, so two panels are taken together
//! there, which is a quarter faster. Terms are added up in chains of [`CHAIN`] features, and the chains
//! one after another. [`chains`] counts the roundings, and [`squared_norms`] takes the very same, so that
//! x.x is the squared norm of x to the last bit.

use super::Real;
use super::isa::{Isa, dispatch};
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

/// Writes a measure of a group of rows with the columns of panels.
pub(crate) fn dense_products<T: Real>(
    isa: Isa,
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    measure: Measure,
) {
    products(isa, left, panels, (dim, isa.is_wide()), out, measure);
}

dispatch! {
    /// Writes what `dense_products` does; `wide` tells whether vectors have 512 bits.
    fn products<T: Real>(
        left: &[T], panels: &[T], dim_and_wide: (usize, bool), out: &mut [&mut [T]], measure: Measure
    ) = products_body
}

#[inline(always)]
fn products_body<T: Real, const FMA: bool>(
    left: &[T],
    panels: &[T],
    (dim, wide): (usize, bool),
    out: &mut [&mut [T]],
    measure: Measure,
) {
    with_term!(measure, term => match (size_of::<T>(), wide) {
        (4, true) => for_each_panel::<T, 16, 2>(left, panels, dim, out, &Sums(term)),
        (4, false) => for_each_panel::<T, 16, 1>(left, panels, dim, out, &Sums(term)),
        (_, true) => for_each_panel::<T, 8, 2>(left, panels, dim, out, &Sums(term)),
        (_, false) => for_each_panel::<T, 8, 1>(left, panels, dim, out, &Sums(term)),
    });
}

/// What is made of a group of rows and neighbouring panels of columns. Not a closure: see [`Term`].
pub(super) trait PanelValues<T, const WIDTH: usize> {
    fn of<const PANELS: usize>(
        &self,
        left: &[[T; GROUP]],
        panels: &[[T; WIDTH]],
    ) -> [[[T; WIDTH]; GROUP]; PANELS];
}

/// The sums of terms over all features.
struct Sums<X>(X);

impl<T: Real, X: Term<T>, const WIDTH: usize> PanelValues<T, WIDTH> for Sums<X> {
    #[inline(always)]
    fn of<const PANELS: usize>(
        &self,
        left: &[[T; GROUP]],
        panels: &[[T; WIDTH]],
    ) -> [[[T; WIDTH]; GROUP]; PANELS] {
        panel_products(left, panels, self.0)
    }
}

/// Writes what `values` makes of a group of rows and each panel of columns, so many panels at once.
#[inline(always)]
pub(super) fn for_each_panel<T: Real, const WIDTH: usize, const AT_ONCE: usize>(
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
    let (panels, _) = panels.as_chunks::<WIDTH>();
    let (whole, rest) = (width / WIDTH, width % WIDTH);
    let together = whole - whole % AT_ONCE;
    for first in (0..together).step_by(AT_ONCE) {
        let sums = values.of::<AT_ONCE>(left, &panels[first * dim..]);
        for (p, sums) in sums.iter().enumerate() {
            write(out, (first + p) * WIDTH, sums);
        }
    }
    for number in together..whole {
        let [sums] = values.of::<1>(left, &panels[number * dim..]);
        write(out, number * WIDTH, &sums);
    }
    if rest > 0 {
        let [sums] = values.of::<1>(left, &panels[whole * dim..]);
        for (row, sums) in out.iter_mut().zip(&sums) {
            row[whole * WIDTH..].copy_from_slice(&sums[..rest]);
        }
    }
}

/// Writes the values of a whole panel.
#[inline(always)]
fn write<T: Real, const WIDTH: usize>(
    out: &mut [&mut [T]],
    column: usize,
    values: &[[T; WIDTH]; GROUP],
) {
    for (row, values) in out.iter_mut().zip(values) {
        // Of a length the compiler knows, or it calls a function to copy.
        if let Some(place) = row[column..].first_chunk_mut() {
            *place = *values;
        }
    }
}

/// The measures of a group of rows with the first of some panels.
///
/// Loops are over numbers, here and below: iterators over arrays by value, and functions that take
/// closures, are not always made into vector instructions.
#[inline(always)]
fn panel_products<T: Real, const WIDTH: usize, const PANELS: usize>(
    left: &[[T; GROUP]],
    panels: &[[T; WIDTH]],
    term: impl Term<T>,
) -> [[[T; WIDTH]; GROUP]; PANELS] {
    let dim = left.len();
    if dim <= CHAIN {
        return chain(left, panels, dim, term);
    }
    let mut sums = [[[T::ZERO; WIDTH]; GROUP]; PANELS];
    for (number, left) in left.chunks(CHAIN).enumerate() {
        let terms: [[[T; WIDTH]; GROUP]; PANELS] =
            chain(left, &panels[number * CHAIN..], dim, term);
        for p in 0..PANELS {
            for r in 0..GROUP {
                for c in 0..WIDTH {
                    sums[p][r][c] += terms[p][r][c];
                }
            }
        }
    }
    sums
}

/// Adds up the features of one chain: as many as there are of the rows. A panel is `dim` features from
/// the next.
#[inline(always)]
fn chain<T: Real, const WIDTH: usize, const PANELS: usize>(
    left: &[[T; GROUP]],
    panels: &[[T; WIDTH]],
    dim: usize,
    term: impl Term<T>,
) -> [[[T; WIDTH]; GROUP]; PANELS] {
    let mut columns = [panels; PANELS];
    for (p, columns) in columns.iter_mut().enumerate() {
        *columns = &panels[p * dim..][..left.len()];
    }
    let mut sums = [[[T::ZERO; WIDTH]; GROUP]; PANELS];
    for (k, a) in left.iter().enumerate() {
        for p in 0..PANELS {
            for r in 0..GROUP {
                for c in 0..WIDTH {
                    sums[p][r][c] = term.add(a[r], columns[p][k][c], sums[p][r][c]);
                }
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
