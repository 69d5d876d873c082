//! Kernel values of whole sets of samples, in f64.

use super::centred::Centred;
use super::columns::Columns;
use super::function::Kernel;
use super::rounding::Row;
use super::user::{user_block, user_diagonal};
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::simd::memory;

/// Rows of a kernel matrix that are computed at a time: what is needed beside it is then small.
pub(super) const ROWS: usize = 1024;

impl Kernel {
    /// Computes all values k(a_i, b_j) in `f64`, in parallel.
    ///
    /// ```
    /// # use mercer::Kernel;
    /// let x = ndarray::array![[1.0, 2.0]].view().try_into()?;
    /// assert_eq!(Kernel::linear().matrix(&x, &x)?[[0, 0]], 5.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is precomputed or not defined for a row, a parameter is out of range, the rows
    /// differ in length or there is no memory for the matrix.
    pub fn matrix(&self, a: &Samples, b: &Samples) -> Result<ndarray::Array2<f64>> {
        // None only if stopped, and nothing stops it here.
        Ok(self.matrix_until(a, b, &|| false)?.unwrap_or_default())
    }

    /// Computes all values k(a_i, b_j); `None` if `stop` said so.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub(crate) fn matrix_until(
        &self,
        a: &Samples,
        b: &Samples,
        stop: Stop,
    ) -> Result<Option<ndarray::Array2<f64>>> {
        self.check()?;
        if matches!(self, Kernel::Precomputed) {
            let allowed = "a function of two rows";
            return Err(Error::parameter("kernel", allowed, "precomputed"));
        }
        let shape = (a.rows(), b.rows());
        if shape.0 == 0 || shape.1 == 0 {
            return Ok(Some(ndarray::Array2::zeros(shape)));
        }
        check_columns(a, b.columns())?;
        let size = shape.0.saturating_mul(shape.1);
        let mut values = memory::zeros(size, "the kernel matrix")?;
        if unless_stopped(self.fill_matrix(a, b, &mut values, stop))?.is_none() {
            return Ok(None);
        }
        let matrix = ndarray::Array2::from_shape_vec(shape, values);
        matrix.map(Some).map_err(|source| Error::System {
            what: "a kernel matrix",
            source: source.into(),
        })
    }

    /// Writes the values of all rows of `a` with all rows of `b`, of which there are some.
    fn fill_matrix(&self, a: &Samples, b: &Samples, out: &mut [f64], stop: Stop) -> Polled<()> {
        let all_a: Vec<usize> = (0..a.rows()).collect();
        let all_b: Vec<usize> = (0..b.rows()).collect();
        let parts = all_a.chunks(ROWS).zip(out.chunks_mut(ROWS * all_b.len()));
        if let Kernel::User(kernel) = self {
            for (rows, out) in parts {
                poll(stop)?;
                user_block(&**kernel, a, rows, b, &all_b, out)?;
            }
            return Ok(());
        }
        let columns = Columns::<f64>::new(self, Centred::not(b), &all_b)?;
        for (rows, out) in parts {
            let packed = columns.pack_rows(a, rows)?;
            let mut out: Vec<&mut [f64]> = out.chunks_mut(all_b.len()).collect();
            columns.fill(&packed, 0..all_b.len(), &mut out, stop)?;
        }
        Ok(())
    }

    /// Computes k(x, x) of every row.
    ///
    /// ```
    /// # use mercer::Kernel;
    /// let x = ndarray::array![[1.0, 2.0], [0.0, 3.0]].view().try_into()?;
    /// assert_eq!(Kernel::linear().diagonal(&x)?, [5.0, 9.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is precomputed or not defined for a row, a parameter is out of range or the user's
    /// kernel fails.
    pub fn diagonal(&self, samples: &Samples) -> Result<Vec<f64>> {
        self.check()?;
        let all: Vec<usize> = (0..samples.rows()).collect();
        if let Kernel::User(kernel) = self {
            return user_diagonal(&**kernel, samples, &all);
        }
        self.check_rows(samples, &all)?;
        let value = |row: usize| self.on_diagonal(&Row::of(samples, row, None));
        let values: Option<Vec<f64>> = all.into_iter().map(value).collect();
        values.ok_or_else(|| Error::parameter("kernel", "a function of two rows", "precomputed"))
    }
}

/// Checks that samples have as many columns as what they are compared with.
pub(crate) fn check_columns(samples: &Samples, columns: usize) -> Result<()> {
    if samples.columns() == columns {
        return Ok(());
    }
    Err(Error::shape(
        "X",
        format!("{columns} columns"),
        format!("{}", samples.columns()),
    ))
}
