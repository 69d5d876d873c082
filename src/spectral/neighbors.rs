//! Nearest neighbours in feature space.
//!
//! ```text
//! |phi(z) - phi(x)|^2 = k(z, z) - 2 k(z, x) + k(x, x)
//! ```
//!
//! Kernel values are computed in tiles, and of each row only the nearest are kept. Equal rows have the
//! distance zero, as of [`Kernel::distance`].

use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, unless_stopped};
use crate::kernel::{Kernel, RowSquares, Squares};
use crate::simd::memory;
use ndarray::ArrayView2;

/// What an error calls the result.
const NEIGHBOURS: &str = "the nearest neighbours";

/// The nearest rows of each row that was asked about, the nearest first; of equally near ones the first.
///
/// ```
/// use mercer::{Kernel, Samples, spectral::Neighbors};
/// let x = Samples::try_from(ndarray::array![[0.0], [2.0], [5.0]].view())?;
/// let z = Samples::try_from(ndarray::array![[4.0]].view())?;
/// let near = Neighbors::find(&Kernel::linear(), &x, &z, 2, &|| false)?.expect("not stopped");
/// assert_eq!(near.rows, [2, 1]);
/// assert_eq!(near.distances, [1.0, 2.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    /// Row numbers: so many for each row that was asked about.
    pub rows: Vec<usize>,
    /// The distances in feature space.
    pub distances: Vec<f64>,
}

impl Neighbors {
    /// Finds the nearest `count` rows of `known` of each row of `samples`; `None` if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, spectral::Neighbors};
    /// let x = Samples::try_from(ndarray::array![[0.0]].view())?;
    /// assert!(Neighbors::find(&Kernel::rbf(1.0), &x, &x, 2, &|| false).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are not so many rows, they differ in length or the kernel is precomputed or the user's.
    pub fn find(
        kernel: &Kernel,
        known: &Samples,
        samples: &Samples,
        count: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>> {
        kernel.check()?;
        check_count(count, known.rows())?;
        if !kernel.is_tiled() {
            let got = format!("{kernel:?}");
            return Err(Error::parameter("kernel", "one the core can evaluate", got));
        }
        unless_stopped(Self::find_until(kernel, known, samples, count, stop))
    }

    fn find_until(
        kernel: &Kernel,
        known: &Samples,
        samples: &Samples,
        count: usize,
        stop: Stop,
    ) -> Polled<Self> {
        let squares = Squares::new(kernel, samples, known)?;
        let mut near = places(samples.rows(), count)?;
        let keep = |squares: &RowSquares, out: &mut [_]| nearest(squares.iter(), out);
        squares.for_each_row(&mut near, keep, stop)?;
        Ok(Self::of(&near))
    }

    /// Finds the nearest from kernel values with all known rows, shape (rows, known rows), k(x, x) of
    /// these and k(z, z) of the rows.
    ///
    /// ```
    /// # use mercer::spectral::Neighbors;
    /// let values = ndarray::array![[0.0, 8.0, 20.0]]; // of 4 with 0, 2 and 5
    /// let near = Neighbors::from_kernel(values.view(), &[0.0, 4.0, 25.0], &[16.0], 1)?;
    /// assert_eq!((near.rows, near.distances), (vec![2], vec![1.0]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together.
    pub fn from_kernel(
        values: ArrayView2<f64>,
        known: &[f64],
        own: &[f64],
        count: usize,
    ) -> Result<Self> {
        if values.dim() != (own.len(), known.len()) {
            let expected = format!("{} x {} values", own.len(), known.len());
            let got = format!("{} x {}", values.nrows(), values.ncols());
            return Err(Error::shape("kernel values", expected, got));
        }
        check_count(count, known.len())?;
        let mut near = places(own.len(), count)?;
        let rows = values.rows().into_iter().zip(own);
        for ((values, own), out) in rows.zip(near.chunks_mut(count)) {
            let terms = values.iter().zip(known);
            nearest(terms.map(|(value, known)| own - 2.0 * value + known), out);
        }
        Ok(Self::of(&near))
    }

    fn of(near: &[(f64, usize)]) -> Self {
        Neighbors {
            rows: near.iter().map(|&(_, row)| row).collect(),
            distances: near
                .iter()
                .map(|(square, _)| square.max(0.0).sqrt())
                .collect(),
        }
    }
}

fn check_count(count: usize, known: usize) -> Result<()> {
    if (1..=known).contains(&count) {
        return Ok(());
    }
    let allowed = format!("from 1 to {known}, the number of rows to choose from");
    Err(Error::parameter("n_neighbors", allowed, count))
}

/// Returns places for so many rows near to each of so many.
fn places(rows: usize, count: usize) -> Result<Vec<(f64, usize)>> {
    let size = rows.saturating_mul(count);
    let mut near = memory::with_capacity(size, NEIGHBOURS)?;
    near.resize(size, (0.0, 0));
    Ok(near)
}

/// Writes the nearest rows with their squared distances, in order.
fn nearest(squares: impl Iterator<Item = f64>, out: &mut [(f64, usize)]) {
    let mut filled = 0;
    for (row, square) in squares.enumerate() {
        if filled == out.len() && square >= out[filled - 1].0 {
            continue;
        }
        let at = out[..filled].partition_point(|&(other, _)| other <= square);
        let end = (filled + 1).min(out.len());
        out[at..end].rotate_right(1);
        out[at] = (square, row);
        filled = end;
    }
}
