//! KernelRows: the cached rows of a matrix, from problem to problem.

use super::cached::CachedRows;
use super::kernel_matrix::KernelMatrix;
use super::rows::shared::Shareable;
use crate::error::Result;

/// The cached rows of a kernel matrix, which may serve one problem after another: labels and costs
/// live in the problem, so all problems over the same samples share their kernel rows.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// use mercer::matrix::{KernelMatrix, KernelRows};
/// use mercer::{Kernel, Samples, qp::{Smo, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [5.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::rbf(0.1), &samples, vec![0, 1, 2])?;
/// let mut rows = KernelRows::new(&matrix);
/// for class in 0..3 {
///     let positive: Vec<bool> = (0..3).map(|i| i == class).collect();
///     let problem = svc(&positive, &[1.0; 3], Loss::Linear, Intercept::Free);
///     Smo::default().solve_on(&problem, &mut rows, &Unwatched)?;
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct KernelRows<'a> {
    matrix: &'a KernelMatrix<'a>,
    single: Option<CachedRows<'a, f32>>,
    double: Option<CachedRows<'a, f64>>,
    /// Kernel values computed for problems that are solved.
    told: u64,
}

impl std::fmt::Debug for KernelRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelRows")
            .field("matrix", self.matrix)
            .finish_non_exhaustive()
    }
}

impl<'a> KernelRows<'a> {
    /// Begins with no rows.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::{KernelMatrix, KernelRows}};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0])?;
    /// let rows = KernelRows::new(&matrix);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(matrix: &'a KernelMatrix<'a>) -> Self {
        KernelRows {
            matrix,
            single: None,
            double: None,
            told: 0,
        }
    }

    pub(crate) fn matrix(&self) -> &'a KernelMatrix<'a> {
        self.matrix
    }

    /// Takes the rows in order of variables, new ones if there are none.
    pub(crate) fn take<T: Precision>(&mut self, bytes: usize) -> Result<CachedRows<'a, T>> {
        match T::place(self).take() {
            Some(mut rows) => {
                rows.restore();
                Ok(rows)
            }
            None => CachedRows::new(self.matrix, bytes),
        }
    }

    /// Gives rows back for the next problem.
    pub(crate) fn give<T: Precision>(&mut self, rows: CachedRows<'a, T>) {
        if !rows.rounded {
            *T::place(self) = Some(rows);
        }
    }

    /// Gives up the rows in f32.
    pub(crate) fn forget_single(&mut self) {
        self.single = None;
    }

    /// Returns the kernel values computed since the last call.
    pub(crate) fn evaluations(&mut self) -> u64 {
        let all = self.matrix.evaluations();
        all - std::mem::replace(&mut self.told, all)
    }
}

/// The precisions of rows.
pub(crate) trait Precision: Shareable {
    /// Returns where rows of this precision are kept.
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, Self>>;
}

impl Precision for f32 {
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, f32>> {
        &mut rows.single
    }
}

impl Precision for f64 {
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, f64>> {
        &mut rows.double
    }
}
