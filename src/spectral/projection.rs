//! Projection: linear functions in feature space, sum_i c_i k(x_i, z) + b.
//!
//! Components, discriminants and distances from centres are all of this form. Rows are projected in
//! tiles of kernel values, each multiplied at once with the coefficients of all functions.

use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::kernel::{Centred, Columns, Kernel, Weights, check_columns, user_block, weight_vector};
use crate::simd::memory;
use crate::simd::once::Once;
use ndarray::{Array2, ArrayView2};
use std::sync::Arc;

/// Values asked from a user kernel in one call.
const USER_VALUES: usize = 1 << 22;
/// What an error calls the results.
const PROJECTIONS: &str = "the projections";

/// Several linear functions in feature space.
///
/// ```
/// use mercer::{Kernel, Samples, spectral::Projection};
/// let rows = Samples::try_from(ndarray::array![[1.0], [2.0]].view())?;
/// // f(z) = 1 z - 2 z + 3 = 3 - z
/// let f = Projection::new(Kernel::linear(), Some(rows), ndarray::array![[1.0, -1.0]].view(), &[3.0])?;
/// let z = Samples::try_from(ndarray::array![[5.0]].view())?;
/// assert_eq!(f.project(&z, &|| false)?, Some(ndarray::array![[-2.0]]));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Projection {
    kernel: Kernel,
    rows: Option<Arc<Samples>>,
    weights: Weights<f64>,
    intercept: Vec<f64>,
    /// The rows, or the weight vectors of a linear kernel, packed when first needed.
    columns: Once<Columns<f64>>,
    /// The weight vectors of a linear kernel, one for each function.
    primal: Option<Samples>,
}

impl Projection {
    /// Makes functions of coefficients, shape (functions, rows), and constants. `rows` may be `None`
    /// where kernel values are given.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::Projection};
    /// let f = Projection::new(Kernel::precomputed(), None, ndarray::array![[2.0]].view(), &[1.0])?;
    /// assert_eq!(f.from_kernel(ndarray::array![[3.0]].view())?, ndarray::array![[7.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together, a number is not finite, or there is no memory.
    pub fn new(
        kernel: Kernel,
        rows: Option<Samples>,
        coefficients: ArrayView2<f64>,
        intercept: &[f64],
    ) -> Result<Self> {
        Self::of(kernel, rows.map(Arc::new), coefficients, intercept)
    }

    /// Makes functions over rows that others may hold, too.
    pub(crate) fn of(
        kernel: Kernel,
        rows: Option<Arc<Samples>>,
        coefficients: ArrayView2<f64>,
        intercept: &[f64],
    ) -> Result<Self> {
        kernel.check()?;
        let (functions, length) = coefficients.dim();
        if intercept.len() != functions {
            let (expected, got) = (format!("{functions} numbers"), intercept.len().to_string());
            return Err(Error::shape("intercept", expected, got));
        }
        if let Some(rows) = rows.as_ref().filter(|rows| rows.rows() != length) {
            let (expected, got) = (format!("{length} rows"), rows.rows().to_string());
            return Err(Error::shape("X", expected, got));
        }
        let numbers = coefficients.iter().chain(intercept);
        if let Some(value) = numbers.clone().find(|value| !value.is_finite()) {
            return Err(Error::parameter("the coefficients", "finite", value));
        }
        let flat = memory::collected(coefficients.iter().copied(), "packed coefficients")?;
        let all = std::iter::once(0..length).collect();
        let primal = match &rows {
            Some(rows) if matches!(kernel, Kernel::Linear) && functions > 0 => {
                Some(weight_vectors(rows, coefficients)?)
            }
            _ => None,
        };
        Ok(Projection {
            weights: Weights::new(&flat, functions, all)?,
            intercept: intercept.to_vec(),
            columns: Once::new(),
            primal,
            kernel,
            rows,
        })
    }

    /// Returns the multiplications behind the projections of these samples, roughly.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    pub(crate) fn work(&self, samples: &Samples) -> usize {
        let vectors = match &self.primal {
            Some(primal) => primal.rows(),
            None => self.weights.columns(),
        };
        let values = samples.rows().saturating_mul(vectors);
        values.saturating_mul(samples.columns() + 8 + self.intercept.len())
    }

    /// Returns the values of all functions, shape (rows, functions); `None` if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, spectral::Projection};
    /// # let rows = Samples::try_from(ndarray::array![[0.0]].view())?;
    /// let f = Projection::new(Kernel::rbf(1.0), Some(rows), ndarray::array![[2.0]].view(), &[0.0])?;
    /// let z = Samples::try_from(ndarray::array![[0.0], [1.0]].view())?;
    /// let values = f.project(&z, &|| false)?.expect("not stopped");
    /// assert!((values[[1, 0]] - 2.0 * (-1.0f64).exp()).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those of the functions or the user's kernel fails.
    pub fn project(
        &self,
        samples: &Samples,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Array2<f64>>> {
        unless_stopped(self.project_until(samples, stop))
    }

    fn project_until(&self, samples: &Samples, stop: Stop) -> Polled<Array2<f64>> {
        let all: Vec<usize> = (0..samples.rows()).collect();
        let shape = (all.len(), self.intercept.len());
        let mut found = memory::zero_matrix(shape, PROJECTIONS)?;
        let out = found.as_slice_mut().unwrap_or_default();
        let add = |_, sums: &[f64], out: &mut [f64]| self.shift(sums, out);
        match (&self.kernel, &self.rows) {
            (Kernel::Precomputed, _) => {
                let mut values = memory::zero_matrix((all.len(), samples.columns()), PROJECTIONS)?;
                for (row, mut values) in values.rows_mut().into_iter().enumerate() {
                    samples.copy_row(row, values.as_slice_mut().unwrap_or_default());
                }
                return Ok(self.from_kernel(values.view())?);
            }
            (_, None) => {
                let got = "a function without the rows it was trained on";
                return Err(Error::parameter("kernel", "one the core can evaluate", got).into());
            }
            (Kernel::User(user), Some(rows)) => {
                check_columns(samples, rows.columns())?;
                let columns: Vec<usize> = (0..rows.rows()).collect();
                let batch = (USER_VALUES / columns.len().max(1)).max(1);
                let outs = out.chunks_mut(batch * self.intercept.len().max(1));
                for (some, out) in all.chunks(batch).zip(outs) {
                    poll(stop)?;
                    let mut values = memory::zeros(some.len() * columns.len(), PROJECTIONS)?;
                    user_block(&**user, samples, some, rows, &columns, &mut values)?;
                    self.sum(&mut values, out)?;
                }
            }
            (_, Some(rows)) => {
                check_columns(samples, rows.columns())?;
                let columns = self.columns(rows)?;
                match &self.primal {
                    Some(_) => columns.values(samples, &all, out, add, stop)?,
                    None => columns.sums(samples, &all, &self.weights, out, add, stop)?,
                }
            }
        }
        Ok(found)
    }

    /// Returns the values of all functions from kernel values with all rows.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::Projection};
    /// let f = Projection::new(Kernel::precomputed(), None, ndarray::array![[1.0, 2.0]].view(), &[0.0])?;
    /// assert!(f.from_kernel(ndarray::array![[3.0]].view()).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of columns is not that of the rows.
    pub fn from_kernel(&self, values: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (expected, (rows, columns)) = (self.weights.columns(), values.dim());
        if columns != expected {
            let (expected, got) = (format!("{expected} columns"), columns.to_string());
            return Err(Error::shape("kernel values", expected, got));
        }
        let mut found = memory::zero_matrix((rows, self.intercept.len()), PROJECTIONS)?;
        let mut values = memory::collected(values.iter().copied(), PROJECTIONS)?;
        self.sum(&mut values, found.as_slice_mut().unwrap_or_default())?;
        Ok(found)
    }

    /// Writes the values of all functions from kernel values.
    fn sum(&self, values: &mut [f64], out: &mut [f64]) -> Result<()> {
        let functions = self.intercept.len();
        if functions == 0 || out.is_empty() {
            return Ok(());
        }
        let sums = self.weights.apply(values, self.weights.columns())?;
        for (sums, out) in sums.chunks(functions).zip(out.chunks_mut(functions)) {
            self.shift(sums, out);
        }
        Ok(())
    }

    fn shift(&self, sums: &[f64], out: &mut [f64]) {
        for ((out, sum), constant) in out.iter_mut().zip(sums).zip(&self.intercept) {
            *out = sum + constant;
        }
    }

    fn columns(&self, rows: &Samples) -> Result<&Columns<f64>> {
        self.columns.get_or_try_make(|| {
            let rows = self.primal.as_ref().unwrap_or(rows);
            let all: Vec<usize> = (0..rows.rows()).collect();
            Columns::new(&self.kernel, Centred::not(rows), &all)
        })
    }
}

/// Returns what the rows of each function add up to.
fn weight_vectors(rows: &Samples, coefficients: ArrayView2<f64>) -> Result<Samples> {
    let shape = (coefficients.nrows(), rows.columns());
    let mut vectors = memory::zero_matrix(shape, "the weight vectors")?;
    for (mut vector, coefficients) in vectors.rows_mut().into_iter().zip(coefficients.rows()) {
        let terms = coefficients.iter().copied().enumerate();
        let sum = weight_vector(Centred::not(rows), terms);
        vector += &ndarray::ArrayView1::from(&sum);
    }
    Samples::try_from(vectors.view())
}
