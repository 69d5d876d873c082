//! Mercer's condition on a sample, and the features it promises.
//!
//! ```text
//! k is a Mercer kernel  =>  K = (k(x_i, x_j)) is symmetric and c' K c >= 0 for every c
//! K = sum_k lambda_k v_k v_k',   psi_k(x) = sum_i v_ki k(x_i, x) / lambda_k
//! k(x, z) = sum_k lambda_k psi_k(x) psi_k(z)       for x and z in the sample
//! ```
//!
//! Mercer: Functions of positive and negative type (1909). Beyond the sample the features
//! sqrt(lambda_k) psi_k are those of Nystrom's method.

use super::eigen::{Eigen, symmetric_eigen};
use crate::error::Result;
use ndarray::{Array2, ArrayView2};

/// Roundings of a decomposition, and of kernel values: eigenvalues down to this many, times the order
/// of the matrix and its largest eigenvalue, are zero.
const ROUNDINGS: f64 = 8.0;

/// What Mercer's theorem asks, and what a kernel matrix has.
///
/// ```
/// use mercer::spectral::Condition;
/// let condition = Condition::of(ndarray::array![[1.0, 2.0], [2.0, 1.0]].view())?;
/// assert!(condition.is_symmetric() && !condition.is_positive());
/// assert!((condition.smallest + 1.0).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Condition {
    /// The largest |k(x, z) - k(z, x)|.
    pub asymmetry: f64,
    /// The smallest eigenvalue of the symmetric part.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// What is zero to rounding.
    pub rounding: f64,
    /// The eigenvector of the smallest eigenvalue, of length one.
    pub witness: Vec<f64>,
}

fn rounding(eigen: &Eigen) -> f64 {
    let size = eigen
        .values
        .iter()
        .fold(0.0f64, |max, value| max.max(value.abs()));
    ROUNDINGS * f64::EPSILON * eigen.values.len() as f64 * size
}

impl Condition {
    /// Finds out about a kernel matrix.
    ///
    /// # Errors
    /// If the matrix is not square, an entry is not finite, or there is no memory.
    ///
    /// ```
    /// # use mercer::spectral::Condition;
    /// assert!(Condition::of(ndarray::array![[1.0, 0.5], [0.5, 1.0]].view())?.is_positive());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn of(matrix: ArrayView2<f64>) -> Result<Self> {
        let mut symmetric = matrix.to_owned();
        let mut asymmetry = 0.0f64;
        if matrix.is_square() {
            symmetric.zip_mut_with(&matrix.t(), |value, other| {
                asymmetry = asymmetry.max((*value - other).abs());
                *value = 0.5 * (*value + other);
            });
        }
        let eigen = symmetric_eigen(symmetric.view())?;
        let last = eigen.values.len().saturating_sub(1);
        Ok(Condition {
            asymmetry,
            smallest: eigen.values.last().copied().unwrap_or_default(),
            largest: eigen.values.first().copied().unwrap_or_default(),
            rounding: rounding(&eigen),
            witness: if eigen.values.is_empty() {
                Vec::new()
            } else {
                eigen.vector(last).to_vec()
            },
        })
    }

    /// Tells whether the matrix is symmetric to rounding.
    ///
    /// ```
    /// # use mercer::spectral::Condition;
    /// assert!(!Condition::of(ndarray::array![[1.0, 0.5], [0.4, 1.0]].view())?.is_symmetric());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_symmetric(&self) -> bool {
        self.asymmetry <= self.rounding
    }

    /// Tells whether it is symmetric and no eigenvalue is negative, to rounding.
    ///
    /// ```
    /// # use mercer::spectral::Condition;
    /// assert!(Condition::of(ndarray::array![[0.0]].view())?.is_positive());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_positive(&self) -> bool {
        self.is_symmetric() && self.smallest >= -self.rounding
    }
}

/// Returns the eigenvalues of a kernel matrix that are positive to rounding, at most `count`, and the
/// matrix that makes features of kernel values: row x of K(x, sample) times it is sqrt(lambda) psi(x).
///
/// ```
/// let kernel = ndarray::array![[2.0, 1.0], [1.0, 2.0]];
/// let (values, map) = mercer::spectral::mercer_map(kernel.view(), usize::MAX)?;
/// let features = kernel.dot(&map);
/// assert_eq!(values.len(), 2);
/// assert!((features.row(0).dot(&features.row(1)) - 1.0).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// As [`Condition::of`].
pub fn mercer_map(matrix: ArrayView2<f64>, count: usize) -> Result<(Vec<f64>, Array2<f64>)> {
    let eigen = symmetric_eigen(matrix)?;
    let least = rounding(&eigen);
    let positive = eigen.values.iter().filter(|&&value| value > least).count();
    let count = positive.min(count);
    let mut map = Array2::zeros((matrix.nrows(), count));
    for k in 0..count {
        let vector = eigen.vector(k);
        // Signs are a matter of choice: the largest entry is positive.
        let largest = vector
            .iter()
            .fold(0.0f64, |a, &b| if b.abs() > a.abs() { b } else { a });
        let factor = largest.signum() / eigen.values[k].sqrt();
        for (entry, &value) in map.column_mut(k).iter_mut().zip(vector) {
            *entry = factor * value;
        }
    }
    Ok((eigen.values[..count].to_vec(), map))
}
