//! Kernel principal component analysis.
//!
//! ```text
//! M u_k = lambda_k u_k                  M: the centred kernel matrix
//! f_k(z) = sum_i a_ki (k(x_i, z) - mean_j k(x_i, x_j)),   a_k = u_k / sqrt(lambda_k), centred
//! ```
//!
//! Scholkopf, Smola and Müller, Nonlinear component analysis as a kernel eigenvalue problem (1998). The
//! sum of a_k is zero, so centring the kernel values of a new row is a constant: a projection is an
//! expansion like any other. Rows may have weights, where 2 is the row twice.

use super::eigen::{Eigen, decompose};
use super::krylov::{self, Wanted};
use super::operator::{Frame, Operator, Passes, centred};
use super::projection::Projection;
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, unless_stopped};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::simd::memory;
use ndarray::Array2;

/// Rows up to which decomposing the matrix takes no longer than iterations.
const DENSE_ROWS: usize = 300;
/// The share of all components from which on the same holds.
const DENSE_SHARE: usize = 8;
/// Vectors multiplied in a pass that computes all kernel values again, which takes longer than the products.
const COMPUTED_BLOCK: usize = 24;
/// Vectors in a pass beyond those that are wanted, of a solver that does not look whether it is done.
const OVERSAMPLING: usize = 10;
/// Negative eigenvalues of this share of the largest are no rounding errors, in f64 and in f32, and
/// positive ones below the other share are. The figures are scikit-learn's.
const NEGATIVE: [f64; 2] = [1e-5, 5e-3];
const POSITIVE: [f64; 2] = [1e-12, 2e-7];

/// How eigenvalues are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EigenSolver {
    /// What is faster.
    #[default]
    Auto,
    /// By decomposing the matrix. It cannot be stopped once it has begun.
    Dense,
    /// By block Lanczos iterations, until they have converged.
    Lanczos,
    /// By so many passes of randomised block Krylov iteration.
    Randomized {
        /// Passes after the first; by default 7, or 4 for more than a tenth of all components.
        power: Option<usize>,
    },
}

/// Kernel PCA to be fitted.
///
/// ```
/// use mercer::{Kernel, spectral::KernelPca};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.1]];
/// let model = KernelPca::new(Kernel::linear()).components(1).fit(x.view())?;
/// // The only component of note runs along the diagonal.
/// let z = model.transform(ndarray::array![[1.5, 1.525]].view())?;
/// assert!(z[[0, 0]].abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelPca {
    kernel: Kernel,
    components: Option<usize>,
    solver: EigenSolver,
    tolerance: f64,
    passes: Option<usize>,
    seed: u64,
    bytes: Option<usize>,
}

impl KernelPca {
    /// Begins with all components and the solver that is faster.
    ///
    /// ```
    /// let pca = mercer::spectral::KernelPca::new(mercer::Kernel::rbf(0.5));
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        KernelPca {
            kernel,
            components: None,
            solver: EigenSolver::Auto,
            tolerance: 0.0,
            passes: None,
            seed: 0,
            bytes: None,
        }
    }

    /// Sets the number of components; by default all whose eigenvalue is not zero.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let x = ndarray::array![[0.0], [1.0], [3.0]];
    /// let model = KernelPca::new(Kernel::rbf(1.0)).components(1).fit(x.view())?;
    /// assert_eq!(model.eigenvalues().len(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn components(mut self, components: usize) -> Self {
        self.components = Some(components);
        self
    }

    /// Sets how eigenvalues are found.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::{EigenSolver, KernelPca}};
    /// let pca = KernelPca::new(Kernel::rbf(1.0)).solver(EigenSolver::Lanczos);
    /// ```
    pub fn solver(mut self, solver: EigenSolver) -> Self {
        self.solver = solver;
        self
    }

    /// Sets the residual, as a share of its eigenvalue, that iterations may leave: 0, the default, is
    /// that of rounding.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let pca = KernelPca::new(Kernel::rbf(1.0)).tolerance(1e-6);
    /// ```
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets how many passes over the kernel values iterations may take.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let pca = KernelPca::new(Kernel::rbf(1.0)).passes(100);
    /// ```
    pub fn passes(mut self, passes: usize) -> Self {
        self.passes = Some(passes);
        self
    }

    /// Sets the seed of the vectors iterations begin with.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let pca = KernelPca::new(Kernel::rbf(1.0)).seed(7);
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how many bytes of kernel values iterations may keep; by default up to 2 GB and up to half of
    /// the memory that is free.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let pca = KernelPca::new(Kernel::rbf(1.0)).cache_bytes(1 << 20);
    /// ```
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Fits to the rows of an array or to [`Samples`].
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert!((model.eigenvalues()[0] - 0.5).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, an entry is not finite, the matrix has a negative eigenvalue of
    /// note, or there is no memory.
    pub fn fit<X>(&self, x: X) -> Result<KernelPcaModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let weights = vec![1.0; samples.rows()];
        let fitted = self.fit_weighted(&samples, &weights, &|| false)?;
        fitted.ok_or(Error::Exhausted)
    }

    /// Fits to rows with weights, all positive; `None` if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, spectral::KernelPca};
    /// let x = Samples::try_from(ndarray::array![[0.0], [1.0]].view())?;
    /// let model = KernelPca::new(Kernel::linear()).fit_weighted(&x, &[2.0, 2.0], &|| false)?;
    /// assert!((model.expect("not stopped").eigenvalues()[0] - 1.0).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and if a weight is not positive.
    pub fn fit_weighted(
        &self,
        samples: &Samples,
        weights: &[f64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<KernelPcaModel>> {
        unless_stopped(self.fit_until(samples, weights, stop))
    }

    fn fit_until(&self, samples: &Samples, weights: &[f64], stop: Stop) -> Polled<KernelPcaModel> {
        let rows = check_weights(samples, weights)?;
        if self.components == Some(0) {
            return Err(Error::parameter("n_components", "at least 1", 0).into());
        }
        let matrix = KernelMatrix::new(&self.kernel, samples, (0..rows).collect())?;
        let frame = Frame::new(weights);
        let count = self.components.unwrap_or(rows).min(rows);
        let (mut eigen, means, converged) = match self.wanted(rows, count) {
            None => {
                let (values, means) = centred(&matrix, &frame, stop)?;
                (decompose(&values, rows)?, means, true)
            }
            Some(mut wanted) => {
                let passes = Passes::new(&matrix, self.bytes, stop)?;
                if !passes.are_held() && !wanted.fixed {
                    wanted.block = wanted.block.max(COMPUTED_BLOCK);
                }
                let mut operator = Operator::new(passes, &frame);
                let mut apply =
                    |vectors: &[f64], count: usize| operator.apply(vectors, count, stop);
                let found = krylov::largest(rows, &wanted, &mut apply, stop)?;
                (found.eigen, operator.into_means(), found.converged)
            }
        };
        eigen.values.truncate(count);
        eigen.vectors.truncate(count * rows);
        settle(&mut eigen.values, samples.epsilon())?;
        if self.components.is_none() {
            let nonzero = eigen.values.partition_point(|&value| value > 0.0);
            eigen.values.truncate(nonzero);
            eigen.vectors.truncate(nonzero * rows);
        }
        flip(&mut eigen, &frame);
        Ok(self.model(samples, eigen, &frame, &means, converged)?)
    }

    /// Returns what the iterations are to find, `None` if the matrix is decomposed.
    fn wanted(&self, rows: usize, count: usize) -> Option<Wanted> {
        let solver = match self.solver {
            EigenSolver::Auto if rows <= DENSE_ROWS || count > rows / DENSE_SHARE => {
                EigenSolver::Dense
            }
            EigenSolver::Auto => EigenSolver::Lanczos,
            solver => solver,
        };
        let wanted = Wanted {
            count,
            // Panels of coefficients hold eight.
            block: (count.div_ceil(2).clamp(8, 16) / 8) * 8,
            tolerance: self.tolerance,
            passes: self.passes,
            fixed: false,
            seed: self.seed,
        };
        match solver {
            EigenSolver::Randomized { power } => {
                let usual = if count * 10 < rows { 7 } else { 4 };
                Some(Wanted {
                    block: count + OVERSAMPLING,
                    passes: Some(1 + power.unwrap_or(usual)),
                    fixed: true,
                    ..wanted
                })
            }
            EigenSolver::Lanczos => Some(wanted),
            _ => None,
        }
    }

    fn model(
        &self,
        samples: &Samples,
        eigen: Eigen,
        frame: &Frame,
        means: &[f64],
        converged: bool,
    ) -> Result<KernelPcaModel> {
        let (rows, count) = (means.len(), eigen.values.len());
        let mut coefficients = memory::zero_matrix((count, rows), "the coefficients")?;
        let mut intercept = Vec::with_capacity(count);
        for (k, mut row) in coefficients.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().unwrap_or_default();
            if eigen.values[k] > 0.0 {
                let root = eigen.values[k].sqrt();
                for (entry, value) in row.iter_mut().zip(eigen.vector(k)) {
                    *entry = value / root;
                }
                frame.enter(row);
            }
            let terms = row.iter().zip(means);
            intercept.push(-terms.map(|(entry, mean)| entry * mean).sum::<f64>());
        }
        let mut eigenvectors = memory::zero_matrix((rows, count), "the eigenvectors")?;
        for (k, mut column) in eigenvectors.columns_mut().into_iter().enumerate() {
            for (entry, &value) in column.iter_mut().zip(eigen.vector(k)) {
                *entry = value;
            }
        }
        let kept = match self.kernel {
            Kernel::Precomputed => None,
            _ => Some(samples.clone()),
        };
        let projection =
            Projection::new(self.kernel.clone(), kept, coefficients.view(), &intercept)?;
        Ok(KernelPcaModel {
            eigenvalues: eigen.values,
            eigenvectors,
            coefficients,
            intercept,
            projection,
            converged,
        })
    }
}

/// Returns the number of rows if each has a positive weight.
pub(super) fn check_weights(samples: &Samples, weights: &[f64]) -> Result<usize> {
    let rows = samples.rows();
    if rows == 0 {
        return Err(Error::shape("X", "at least one row", "0"));
    }
    if weights.len() != rows {
        let (expected, got) = (format!("{rows} weights"), weights.len().to_string());
        return Err(Error::shape("sample_weight", expected, got));
    }
    match weights
        .iter()
        .find(|&&weight| !(weight > 0.0 && weight.is_finite()))
    {
        Some(weight) => Err(Error::parameter("sample_weight", "positive", weight)),
        None => Ok(rows),
    }
}

/// Sets to zero what rounding made of zero.
///
/// # Errors
/// If an eigenvalue is negative for another reason.
fn settle(values: &mut [f64], epsilon: f64) -> Result<()> {
    let single = usize::from(epsilon > 1e-10);
    let largest = values.first().copied().unwrap_or_default();
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    if smallest < -NEGATIVE[single] * largest && smallest < -1e-10 || largest < 0.0 {
        let allowed = "positive semi-definite: the centred kernel matrix has negative eigenvalues";
        return Err(Error::parameter(
            "kernel",
            allowed,
            format!("{smallest:e} beside {largest:e}"),
        ));
    }
    for value in values {
        if *value < POSITIVE[single] * largest {
            *value = 0.0;
        }
    }
    Ok(())
}

/// Gives each eigenvector the sign with which its largest entry is positive, as scikit-learn does. A
/// weight does not change which entry is the largest: it is the row so many times.
fn flip(eigen: &mut Eigen, frame: &Frame) {
    let order = frame.roots.len();
    for vector in eigen.vectors.chunks_mut(order) {
        let (mut largest, mut sign) = (0.0, 1.0);
        for (value, root) in vector.iter().zip(&frame.roots) {
            if value.abs() / root > largest {
                (largest, sign) = (value.abs() / root, value.signum());
            }
        }
        vector.iter_mut().for_each(|value| *value *= sign);
    }
}

/// A fitted [`KernelPca`].
///
/// ```
/// use mercer::{Kernel, spectral::KernelPca};
/// let x = ndarray::array![[0.0], [1.0], [3.0]];
/// let model = KernelPca::new(Kernel::rbf(1.0)).fit(x.view())?;
/// assert_eq!(model.eigenvalues().len(), 2); // one is lost to the mean
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct KernelPcaModel {
    eigenvalues: Vec<f64>,
    eigenvectors: Array2<f64>,
    coefficients: Array2<f64>,
    intercept: Vec<f64>,
    projection: Projection,
    converged: bool,
}

impl KernelPcaModel {
    /// Returns the eigenvalues of the centred kernel matrix, the largest first.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// # let x = ndarray::array![[0.0], [2.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert!((model.eigenvalues()[0] - 2.0).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Returns the eigenvectors, of length one, as columns.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// # let x = ndarray::array![[0.0], [2.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert_eq!(model.eigenvectors().dim(), (2, 1));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn eigenvectors(&self) -> &Array2<f64> {
        &self.eigenvectors
    }

    /// Returns the coefficients of the components, one row for each.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// # let x = ndarray::array![[0.0], [2.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert!(model.coefficients().sum().abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn coefficients(&self) -> &Array2<f64> {
        &self.coefficients
    }

    /// Returns the constants of the components, which centre them.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// # let x = ndarray::array![[-1.0], [1.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert_eq!(model.intercept(), [0.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// Tells whether the iterations converged; always true of a decomposition.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// # let x = ndarray::array![[-1.0], [1.0]];
    /// assert!(KernelPca::new(Kernel::linear()).fit(x.view())?.converged());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Projects rows on the components. With a precomputed kernel, row i of `x` holds the kernel values
    /// with all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelPca};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = KernelPca::new(Kernel::linear()).fit(x.view())?;
    /// assert!((model.transform(ndarray::array![[3.0]].view())?[[0, 0]].abs() - 3.0).abs() < 1e-14);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those fitted to, or an entry is not finite.
    pub fn transform<X>(&self, x: X) -> Result<Array2<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        // None only if stopped, and nothing stops it here.
        let found = self.projection.project(&x.try_into()?, &|| false)?;
        Ok(found.unwrap_or_default())
    }
}
