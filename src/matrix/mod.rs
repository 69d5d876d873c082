//! The kernel matrix of a problem, row by row on demand.
//!
//! [`KernelMatrix`] says what the matrix is: a kernel, samples, and which sample stands behind
//! each variable. `CachedRows` computes its rows in blocks, in `f32` or `f64`, and keeps the most
//! recently used ones. The solver orders its variables so that the active ones come first; columns
//! follow that order ("positions"), so a row of an active set is a prefix. Rows are named by
//! variable, which never changes.

mod cache;
mod classes;
mod memory;
mod rows;
mod slab;
#[cfg(test)]
mod tests;

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::{
    Columns, Kernel, Source, USER_DIAGONAL, Weights, add_products, user_block, user_diagonal,
    weight_vector,
};
use crate::simd::Real;
pub use cache::RowCache;
pub(crate) use classes::Classes;
use classes::{Common, Pair};
pub(crate) use memory::fair_share;
pub(crate) use rows::{CachedRows, Change, add_in_parallel};
use std::sync::atomic::{AtomicU64, Ordering};

/// Values asked from a user kernel in one call: 32 MB of f64.
const USER_BLOCK: usize = 1 << 22;

/// A polled request to stop.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A symmetric kernel matrix over the variables of a problem, computed on demand.
///
/// ```
/// use mercer::{Kernel, Samples, matrix::KernelMatrix};
/// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![2, 0])?;
/// assert_eq!(matrix.diagonal(), &[9.0, 0.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct KernelMatrix<'a> {
    kernel: Kernel,
    samples: &'a Samples,
    /// The sample behind each variable.
    index: Vec<usize>,
    diagonal: Vec<f64>,
    center: Option<Vec<f64>>,
    /// Estimated absolute error of one value computed in f32.
    single_noise: f64,
    /// Kernel values computed so far.
    evaluations: AtomicU64,
    /// The classes the variables are of, if their kernel values serve other problems too.
    pair: Option<Pair<'a>>,
}

impl<'a> KernelMatrix<'a> {
    /// Describes the matrix of `kernel` over rows `index` of `samples`.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let oblong = Samples::try_from(ndarray::array![[1.0, 2.0]].view())?;
    /// assert!(KernelMatrix::new(&Kernel::rbf(1.0), &oblong, vec![0]).is_ok());
    /// assert!(KernelMatrix::new(&Kernel::Precomputed, &oblong, vec![0]).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a kernel parameter is out of range, a precomputed matrix is not square, or the user's
    /// kernel fails.
    ///
    /// # Panics
    /// If a number in `index` is not a row.
    pub fn new(kernel: &Kernel, samples: &'a Samples, index: Vec<usize>) -> Result<Self> {
        kernel.check()?;
        let mut matrix = KernelMatrix {
            kernel: kernel.clone(),
            samples,
            diagonal: Vec::with_capacity(index.len()),
            center: None,
            single_noise: 0.0,
            evaluations: AtomicU64::new(0),
            pair: None,
            index,
        };
        match &matrix.kernel {
            Kernel::Precomputed => {
                if samples.rows() != samples.columns() || samples.is_sparse() {
                    return Err(Error::shape(
                        "X",
                        "as many columns as rows (a dense, square kernel matrix)",
                        format!("{} x {}", samples.rows(), samples.columns()),
                    ));
                }
                let index = &matrix.index;
                matrix.diagonal = index.iter().map(|&i| samples.dense_value(i, i)).collect();
                matrix.set_noise(0.0);
            }
            Kernel::User(user) => {
                matrix.diagonal = user_diagonal(&**user, samples, &matrix.index)?;
                matrix.count(matrix.index.len(), USER_DIAGONAL);
                matrix.set_noise(0.0);
            }
            kernel => {
                if kernel.is_translation_invariant() && samples.is_packed_dense() {
                    matrix.center = Some(samples.mean(&matrix.index));
                }
                let center = matrix.center.as_deref();
                let mut total = 0.0f64;
                for &i in &matrix.index {
                    // The diagonal wants the norm as it is, the noise that of the centred row.
                    let (mut norm, mut centred) = (0.0, 0.0);
                    samples.for_each(i, |column, value| {
                        norm += value * value;
                        let value = value - center.map_or(0.0, |center| center[column]);
                        centred += value * value;
                    });
                    total += centred;
                    matrix.diagonal.extend(kernel.on_diagonal(norm));
                }
                // The mean, not the largest: kernels of distances vanish between a row far out and
                // most others, and so do their errors there.
                matrix.set_noise(2.0 * total / matrix.index.len().max(1) as f64);
            }
        }
        match matrix.diagonal.iter().position(|value| !value.is_finite()) {
            None => Ok(matrix),
            Some(variable) => Err(Error::NotFinite {
                name: "the kernel of a row of X with itself",
                row: matrix.index[variable],
                value: matrix.diagonal[variable],
            }),
        }
    }

    /// Returns how many kernel values have been computed.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert_eq!(KernelMatrix::new(&Kernel::rbf(1.0), &samples, vec![0])?.evaluations(), 0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Where columns and rows are packed from.
    fn source<T: Precision>(&self) -> Source<'_, T> {
        Source {
            samples: self.samples,
            center: self.center.as_deref(),
            prepared: self.pair.and_then(|pair| pair.classes.prepared()),
        }
    }

    fn count(&self, rows: usize, columns: usize) {
        self.evaluations
            .fetch_add((rows * columns) as u64, Ordering::Relaxed);
    }

    fn set_noise(&mut self, squared_norm: f64) {
        let scale = self
            .diagonal
            .iter()
            .fold(0.0f64, |max, value| max.max(value.abs()));
        self.single_noise = f32::ROUNDOFF * scale * self.kernel.roundings(squared_norm);
        // Rows that overflow f32 are of no use.
        if scale > f64::from(f32::MAX) / 1e6 {
            self.single_noise = f64::INFINITY;
        }
    }

    /// Returns the number of variables.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// // Several variables may share a sample.
    /// assert_eq!(KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 0])?.len(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Tells whether there are no variables.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(KernelMatrix::new(&Kernel::linear(), &samples, vec![])?.is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns k(x_i, x_i) for every variable.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![1, 0, 1])?;
    /// assert_eq!(matrix.diagonal(), [9.0, 1.0, 9.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// Tells whether the kernel is one that need not be positive semi-definite.
    pub(crate) fn may_be_indefinite(&self) -> bool {
        self.kernel.may_be_indefinite()
    }

    /// Returns the estimated absolute error of one value in a row of type T.
    pub(crate) fn noise<T: Real>(&self) -> f64 {
        self.single_noise / f32::ROUNDOFF * T::ROUNDOFF
    }

    /// Computes (K beta)_i in `f64` for the variables `at`; None if stopped.
    pub(crate) fn product(&self, beta: &[f64], at: &[u32], stop: Stop) -> Result<Option<Vec<f64>>> {
        let support = (0..).zip(beta).filter(|&(_, &beta)| beta != 0.0);
        let (support, coefficients): (Vec<u32>, Vec<f64>) = support.unzip();
        let (rows, columns) = (self.samples_of(at), self.samples_of(&support));
        let mut products = vec![0.0; rows.len()];
        if support.is_empty() || rows.is_empty() {
            return Ok(Some(products));
        }
        let samples = self.samples;
        if matches!(self.kernel, Kernel::Linear) {
            let terms = columns.into_iter().zip(coefficients);
            let done = self.add_through_vector(terms, &rows, &mut products, stop);
            return Ok(done.then_some(products));
        }
        let weights = Weights::<f64>::single(&coefficients);
        self.count(rows.len(), columns.len());
        match &self.kernel {
            Kernel::Precomputed | Kernel::User(_) => {
                products.clear();
                for rows in rows.chunks((USER_BLOCK / columns.len()).max(1)) {
                    if stop() {
                        return Ok(None);
                    }
                    let mut block = vec![0.0; rows.len() * columns.len()];
                    self.given_block(rows, &columns, &mut block)?;
                    products.extend(weights.apply(&mut block, columns.len()));
                }
                Ok(Some(products))
            }
            kernel => {
                let center = self.center.as_deref();
                let source = Source {
                    center,
                    ..Source::of(samples)
                };
                let columns = Columns::<f64>::new(kernel, source, &columns);
                let copy = |_, sums: &[f64], out: &mut [f64]| out.copy_from_slice(sums);
                let done = columns.sums(samples, &rows, &weights, &mut products, copy, stop);
                Ok(done.then_some(products))
            }
        }
    }

    /// Adds the inner products of samples with a sum of multiples of samples. Returns false if
    /// stopped.
    fn add_through_vector(
        &self,
        terms: impl Iterator<Item = (usize, f64)>,
        rows: &[usize],
        out: &mut [f64],
        stop: Stop,
    ) -> bool {
        let vector = weight_vector(self.samples, terms);
        self.count(rows.len(), 1);
        add_products(self.samples, &vector, rows, out, stop)
    }

    /// Returns the samples behind variables.
    fn samples_of(&self, variables: &[u32]) -> Vec<usize> {
        let variables = variables.iter();
        variables.map(|&i| self.index[i as usize]).collect()
    }

    /// Rows of a precomputed or user kernel, asked for in blocks. Returns false if stopped.
    fn given_rows<T: Real>(
        &self,
        rows: &[usize],
        columns: &[usize],
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Result<bool> {
        let batch = (USER_BLOCK / columns.len().max(1)).max(1);
        let mut block = Vec::new();
        for (rows, out) in rows.chunks(batch).zip(out.chunks_mut(batch)) {
            if stop() {
                return Ok(false);
            }
            block.resize(rows.len() * columns.len(), 0.0);
            self.given_block(rows, columns, &mut block)?;
            for (out, values) in out.iter_mut().zip(block.chunks(columns.len())) {
                for (entry, &value) in out.iter_mut().zip(values) {
                    *entry = T::from_f64(value);
                }
            }
        }
        Ok(true)
    }

    /// A block of a precomputed or user kernel.
    fn given_block(&self, rows: &[usize], columns: &[usize], out: &mut [f64]) -> Result<()> {
        let Kernel::User(user) = &self.kernel else {
            for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
                for (&j, value) in columns.iter().zip(values) {
                    *value = self.samples.dense_value(i, j);
                }
            }
            return Ok(());
        };
        // The user's kernel is asked once for samples behind several variables.
        let distinct = |index: &[usize]| {
            let mut distinct = index.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            distinct
        };
        let (some_rows, some_columns) = (distinct(rows), distinct(columns));
        if some_rows.len() == rows.len() && some_columns.len() == columns.len() {
            return user_block(&**user, self.samples, rows, self.samples, columns, out);
        }
        let mut block = vec![0.0; some_rows.len() * some_columns.len()];
        let samples = self.samples;
        user_block(
            &**user,
            samples,
            &some_rows,
            samples,
            &some_columns,
            &mut block,
        )?;
        let place = |index: &[usize], i: usize| index.partition_point(|&other| other < i);
        let places: Vec<usize> = columns.iter().map(|&j| place(&some_columns, j)).collect();
        for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
            let row = &block[place(&some_rows, i) * some_columns.len()..];
            for (value, &at) in values.iter_mut().zip(&places) {
                *value = row[at];
            }
        }
        Ok(())
    }
}

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

/// The types of rows.
pub(crate) trait Precision: Real {
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, Self>>;
    fn common<'r>(classes: &'r Classes) -> &'r Common<Self>;
}

impl Precision for f32 {
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, f32>> {
        &mut rows.single
    }
    fn common<'r>(classes: &'r Classes) -> &'r Common<f32> {
        &classes.single
    }
}

impl Precision for f64 {
    fn place<'r, 'a>(rows: &'r mut KernelRows<'a>) -> &'r mut Option<CachedRows<'a, f64>> {
        &mut rows.double
    }
    fn common<'r>(classes: &'r Classes) -> &'r Common<f64> {
        &classes.double
    }
}
