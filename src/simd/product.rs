//! The innermost loop of a matrix product: a group of rows times many columns.
//!
//! ```text
//! left    [feature][GROUP]             a group of rows
//! panels  [panel][feature][PANEL]      columns, a panel of 128 bytes of each feature at a time
//! ```
//!
//! The sums of a group with as many columns as two vectors hold stay in registers: 12 of the 16 of AVX2,
//! and enough of those of 512 bits not to wait for each other (with half as many of these products took a
//! third longer). A panel is two vectors of 512 bits wide; shorter vectors take it in halves. Terms are
//! added up in chains of [`CHAIN`] features, and the chains one after another. [`chains`] counts the
//! roundings, and [`squared_norms`] takes the very same, so that x.x is the squared norm of x to the last
//! bit.

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

/// Columns of a panel: 128 bytes, two 512-bit vectors.
pub(crate) const fn panel<T>() -> usize {
    128 / size_of::<T>()
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
        (4, true) => for_each_panel::<T, 32, 32>(left, panels, dim, out, &Sums(term)),
        (4, false) => for_each_panel::<T, 32, 16>(left, panels, dim, out, &Sums(term)),
        (_, true) => for_each_panel::<T, 16, 16>(left, panels, dim, out, &Sums(term)),
        (_, false) => for_each_panel::<T, 16, 8>(left, panels, dim, out, &Sums(term)),
    });
}

/// What is made of a group of rows and a part of a panel of columns, `WIDTH` of them. Not a closure: see
/// [`Term`].
pub(super) trait PanelValues<T, const PANEL: usize, const WIDTH: usize> {
    fn of(&self, left: &[[T; GROUP]], panel: &[[T; PANEL]], part: usize) -> [[T; WIDTH]; GROUP];
}

/// The sums of terms over all features.
struct Sums<X>(X);

impl<T: Real, X: Term<T>, const PANEL: usize, const WIDTH: usize> PanelValues<T, PANEL, WIDTH>
    for Sums<X>
{
    #[inline(always)]
    fn of(&self, left: &[[T; GROUP]], panel: &[[T; PANEL]], part: usize) -> [[T; WIDTH]; GROUP] {
        panel_products(left, panel, part, self.0)
    }
}

/// Writes what `values` makes of a group of rows and each panel of columns, `WIDTH` of them at a time.
#[inline(always)]
pub(super) fn for_each_panel<T: Real, const PANEL: usize, const WIDTH: usize>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    values: &impl PanelValues<T, PANEL, WIDTH>,
) {
    let width = out[0].len();
    if dim == 0 {
        out.iter_mut().for_each(|row| row.fill(T::ZERO));
        return;
    }
    let (left, _) = left.as_chunks::<GROUP>();
    let (panels, _) = panels.as_chunks::<PANEL>();
    let (whole, parts) = (width / WIDTH, PANEL / WIDTH);
    let panel = |number: usize| &panels[number / parts * dim..][..dim];
    for number in 0..whole {
        let sums = values.of(left, panel(number), number % parts);
        // Numbers and lengths that the compiler knows keep sums in registers until they are written.
        #[allow(clippy::needless_range_loop)]
        for r in 0..GROUP {
            let row = out.get_mut(r).map(|row| &mut row[number * WIDTH..]);
            if let Some(place) = row.and_then(|row| row.first_chunk_mut()) {
                *place = sums[r];
            }
        }
    }
    if whole * WIDTH < width {
        let sums = values.of(left, panel(whole), whole % parts);
        for (row, sums) in out.iter_mut().zip(&sums) {
            row[whole * WIDTH..].copy_from_slice(&sums[..width - whole * WIDTH]);
        }
    }
}

/// The measures of a group of rows with a part of a panel.
#[inline(always)]
fn panel_products<T: Real, const PANEL: usize, const WIDTH: usize>(
    left: &[[T; GROUP]],
    panel: &[[T; PANEL]],
    part: usize,
    term: impl Term<T>,
) -> [[T; WIDTH]; GROUP] {
    if left.len() <= CHAIN {
        return chain(left, panel, part, term);
    }
    let mut sums = [[T::ZERO; WIDTH]; GROUP];
    for from in (0..left.len()).step_by(CHAIN) {
        let to = left.len().min(from + CHAIN);
        let terms: [[T; WIDTH]; GROUP] = chain(&left[from..to], &panel[from..to], part, term);
        for r in 0..GROUP {
            for c in 0..WIDTH {
                sums[r][c] += terms[r][c];
            }
        }
    }
    sums
}

/// Adds up the features of one chain. Loops are over numbers: what iterators call is not always inlined.
#[inline(always)]
fn chain<T: Real, const PANEL: usize, const WIDTH: usize>(
    left: &[[T; GROUP]],
    panel: &[[T; PANEL]],
    part: usize,
    term: impl Term<T>,
) -> [[T; WIDTH]; GROUP] {
    let mut sums = [[T::ZERO; WIDTH]; GROUP];
    let panel = &panel[..left.len()];
    for k in 0..left.len() {
        let columns = &panel[k].as_chunks::<WIDTH>().0[part];
        for r in 0..GROUP {
            for c in 0..WIDTH {
                sums[r][c] = term.add(left[k][r], columns[c], sums[r][c]);
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
        16 => lane_norms::<T, FMA, 16>(block, norms),
        32 => lane_norms::<T, FMA, 32>(block, norms),
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
