//! Kernels of the user's own.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::simd::{all_finite, memory, parallel};
use std::fmt;

/// Diagonal values asked from a user kernel in one call (it computes the whole square).
pub(crate) const USER_DIAGONAL: usize = 32;
/// Multiplications that a function of the user's is taken to need beside those of an inner product.
const UNKNOWN_WORK: usize = 64;

/// A kernel of the user's own, evaluated on blocks of rows on demand.
///
/// ```
/// use mercer::{Kernel, Samples, Svc, UserKernel};
///
/// #[derive(Debug)]
/// struct Overlap; // the histogram intersection kernel
///
/// impl UserKernel for Overlap {
///     fn block(
///         &self, a: &Samples, rows: &[usize], b: &Samples, columns: &[usize], out: &mut [f64],
///     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///         let (mut x, mut z) = (vec![0.0; a.columns()], vec![0.0; b.columns()]);
///         for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
///             a.copy_row(i, &mut x);
///             for (&j, value) in columns.iter().zip(values) {
///                 b.copy_row(j, &mut z);
///                 *value = x.iter().zip(&z).map(|(x, z)| x.min(*z)).sum();
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let x = ndarray::array![[1.0, 0.0], [0.8, 0.2], [0.1, 0.9], [0.0, 1.0]];
/// let model = Svc::new(Kernel::user(Overlap)).fit(x.view(), &["a", "a", "b", "b"])?;
/// assert_eq!(model.predict(x.view())?, ["a", "a", "b", "b"]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait UserKernel: fmt::Debug + Send + Sync {
    /// Writes k(a_i, b_j) for i in `rows` and j in `columns` into `out`, row after row.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, UserKernel};
    /// #[derive(Debug)]
    /// struct Constant(f64);
    ///
    /// impl UserKernel for Constant {
    ///     fn block(
    ///         &self, _: &Samples, rows: &[usize], _: &Samples, columns: &[usize], out: &mut [f64],
    ///     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ///         assert_eq!(out.len(), rows.len() * columns.len());
    ///         out.fill(self.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let x = ndarray::array![[1.0], [2.0]].view().try_into()?;
    /// assert_eq!(Kernel::user(Constant(3.0)).matrix(&x, &x)?[[0, 1]], 3.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the kernel cannot do; it ends the fit as [`Error::UserKernel`].
    fn block(
        &self,
        a: &Samples,
        rows: &[usize],
        b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Evaluates a user kernel and checks what it returned.
pub(crate) fn user_block(
    kernel: &dyn UserKernel,
    a: &Samples,
    rows: &[usize],
    b: &Samples,
    columns: &[usize],
    out: &mut [f64],
) -> Result<()> {
    kernel
        .block(a, rows, b, columns, out)
        // What the crate itself refuses is not the user's fault.
        .map_err(|source| source.downcast().map_or_else(Error::UserKernel, |own| *own))?;
    if all_finite(out) {
        return Ok(());
    }
    match out.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFinite {
            name: "kernel",
            row: rows[at / columns.len()],
            value: out[at],
        }),
    }
}

/// The diagonal of a user kernel, which is asked for small squares.
pub(crate) fn user_diagonal(
    kernel: &dyn UserKernel,
    samples: &Samples,
    rows: &[usize],
) -> Result<Vec<f64>> {
    let mut diagonal = Vec::with_capacity(rows.len());
    for rows in rows.chunks(USER_DIAGONAL) {
        let mut block = vec![0.0; rows.len() * rows.len()];
        user_block(kernel, samples, rows, samples, rows, &mut block)?;
        diagonal.extend(block.iter().step_by(rows.len() + 1));
    }
    Ok(diagonal)
}

/// A function of two rows as a kernel.
pub(super) struct RowFunction<F>(pub F);

impl<F> fmt::Debug for RowFunction<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowFunction")
    }
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Send + Sync> UserKernel for RowFunction<F> {
    fn block(
        &self,
        a: &Samples,
        rows: &[usize],
        b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let width = b.columns();
        let mut right = memory::zeros(columns.len() * width, "a copy of the rows")?;
        for (k, &j) in columns.iter().enumerate() {
            b.copy_row(j, &mut right[k * width..][..width]);
        }
        let parts: Vec<_> = out.chunks_mut(columns.len()).zip(rows).collect();
        let work = rows.len() * columns.len() * (width + UNKNOWN_WORK);
        parallel::for_each(parts, work, |x: &mut Vec<f64>, (values, &i)| {
            x.resize(a.columns(), 0.0);
            a.copy_row(i, x);
            // Rows may have no entries, so they are not the chunks of anything.
            for (k, value) in values.iter_mut().enumerate() {
                *value = (self.0)(x, &right[k * width..][..width]);
            }
        });
        Ok(())
    }
}
