//! Eigenvalues and eigenvectors of a symmetric matrix that lies in memory.
//!
//! ```text
//! A = sum_k lambda_k v_k v_k'        lambda_0 >= lambda_1 >= ..., v_k' v_l = 1 if k = l else 0
//! ```
//!
//! The decomposition is faer's: Householder reflections to tridiagonal form, then divide and conquer.
//! It runs on one thread, so the result does not depend on how many there are, and it cannot be
//! stopped once it has begun: callers keep the order small, or say so.

use crate::error::{Error, Result};
use crate::simd::{all_finite, memory};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par, Spec};
use ndarray::ArrayView2;

/// What an error calls the memory of a decomposition.
const DECOMPOSITION: &str = "an eigen-decomposition";

/// The eigenvalues of a symmetric matrix, the largest first, and its eigenvectors.
///
/// ```
/// use mercer::spectral::eigen::symmetric_eigen;
/// let eigen = symmetric_eigen(ndarray::array![[2.0, 1.0], [1.0, 2.0]].view())?;
/// assert!((eigen.values[0] - 3.0).abs() < 1e-15);
/// assert!((eigen.vector(0)[0] - eigen.vector(0)[1]).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, the largest first.
    pub values: Vec<f64>,
    /// The eigenvectors of length one, one after another.
    pub vectors: Vec<f64>,
}

impl Eigen {
    /// Returns the eigenvector of the k-th largest eigenvalue.
    ///
    /// ```
    /// # use mercer::spectral::eigen::symmetric_eigen;
    /// let eigen = symmetric_eigen(ndarray::array![[1.0, 0.0], [0.0, 5.0]].view())?;
    /// assert_eq!(eigen.vector(0)[1].abs(), 1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is none.
    pub fn vector(&self, k: usize) -> &[f64] {
        let order = self.vectors.len() / self.values.len();
        &self.vectors[k * order..(k + 1) * order]
    }
}

/// Decomposes a symmetric matrix. Of `matrix`, only the entries on and above the diagonal are read.
///
/// ```
/// use mercer::spectral::eigen::symmetric_eigen;
/// let eigen = symmetric_eigen(ndarray::array![[0.0, 1.0], [1.0, 0.0]].view())?;
/// assert!((eigen.values[1] + 1.0).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If the matrix is not square, an entry is not finite, or there is no memory for three more matrices
/// of its size.
pub fn symmetric_eigen(matrix: ArrayView2<f64>) -> Result<Eigen> {
    let order = checked_order(matrix)?;
    let copy = memory::collected(matrix.iter().copied(), DECOMPOSITION)?;
    decompose(&copy, order)
}

/// Returns the eigenvalues of a symmetric matrix, the largest first. Of `matrix`, only the entries on
/// and above the diagonal are read.
///
/// ```
/// use mercer::spectral::eigen::symmetric_eigenvalues;
/// let values = symmetric_eigenvalues(ndarray::array![[2.0, 1.0], [1.0, 2.0]].view())?;
/// assert!((values[0] - 3.0).abs() < 1e-15 && (values[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// As [`symmetric_eigen`].
pub fn symmetric_eigenvalues(matrix: ArrayView2<f64>) -> Result<Vec<f64>> {
    let order = checked_order(matrix)?;
    let copy = memory::collected(matrix.iter().copied(), DECOMPOSITION)?;
    let mut values = memory::zeros(order, DECOMPOSITION)?;
    solve(&copy, &mut values, None)?;
    values.reverse();
    Ok(values)
}

/// Decomposes a symmetric matrix given row after row, of which the upper half is read.
pub(crate) fn decompose(matrix: &[f64], order: usize) -> Result<Eigen> {
    let mut values = memory::zeros(order, DECOMPOSITION)?;
    let mut vectors = memory::zeros(order * order, DECOMPOSITION)?;
    solve(matrix, &mut values, Some(&mut vectors))?;
    values.reverse();
    // Column after column is eigenvector after eigenvector, the smallest first.
    let mut pairs = vectors.chunks_mut(order.max(1));
    while let (Some(first), Some(last)) = (pairs.next(), pairs.next_back()) {
        first.swap_with_slice(last);
    }
    Ok(Eigen { values, vectors })
}

/// Calls faer; what it finds is in ascending order.
fn solve(matrix: &[f64], values: &mut [f64], vectors: Option<&mut [f64]>) -> Result<()> {
    let order = values.len();
    if order == 0 {
        return Ok(());
    }
    // Row after row of a symmetric matrix is column after column.
    let matrix = MatRef::from_column_major_slice(matrix, order, order);
    let wanted = match vectors {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let vectors = vectors.map(|slice| MatMut::from_column_major_slice_mut(slice, order, order));
    let needed = self_adjoint_evd_scratch::<f64>(order, wanted, Par::Seq, Spec::default());
    let bytes = needed.unaligned_bytes_required();
    let refused = |_| Error::Memory {
        what: DECOMPOSITION,
        bytes,
    };
    // The system promises more than it has: a request of this size is looked at first.
    memory::map(bytes, DECOMPOSITION).map(drop)?;
    let mut buffer = MemBuffer::try_new(needed).map_err(refused)?;
    let stack = MemStack::new(&mut buffer);
    let values = DiagMut::from_slice_mut(values);
    self_adjoint_evd(matrix, values, vectors, Par::Seq, stack, Spec::default()).map_err(|_| {
        let allowed = "finite and of moderate size (an eigen-decomposition does not converge)";
        Error::parameter("the kernel matrix", allowed, "other values")
    })
}

/// Returns the order of a matrix that can be decomposed.
fn checked_order(matrix: ArrayView2<f64>) -> Result<usize> {
    let (rows, columns) = matrix.dim();
    if rows != columns {
        let got = format!("{rows} x {columns}");
        return Err(Error::shape("the matrix", "as many rows as columns", got));
    }
    let finite = match matrix.as_slice_memory_order() {
        Some(values) => all_finite(values),
        None => matrix.iter().all(|value| value.is_finite()),
    };
    match finite {
        true => Ok(rows),
        false => Err(Error::parameter(
            "the matrix",
            "finite",
            "NaN or infinity in it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn symmetric(order: usize) -> Array2<f64> {
        let value = |(i, j): (usize, usize)| ((i.min(j) * 31 + i.max(j) * 17) as f64).sin();
        Array2::from_shape_fn((order, order), value)
    }

    #[test]
    fn the_parts_make_the_matrix() -> Result<()> {
        for order in [1, 2, 3, 17, 40, 150] {
            let matrix = symmetric(order);
            let eigen = symmetric_eigen(matrix.view())?;
            assert!(eigen.values.is_sorted_by(|a, b| a >= b));
            let vectors = Array2::from_shape_vec((order, order), eigen.vectors.clone());
            let vectors = vectors.expect("a square");
            let identity = vectors.dot(&vectors.t()) - Array2::<f64>::eye(order);
            assert!(identity.iter().all(|entry| entry.abs() < 1e-13));
            let values = Array2::from_diag(&ndarray::Array1::from(eigen.values.clone()));
            let error = vectors.t().dot(&values).dot(&vectors) - &matrix;
            assert!(error.iter().all(|entry| entry.abs() < 1e-12 * order as f64));
            assert_eq!(eigen.vector(0), vectors.row(0).to_vec());
            let alone = symmetric_eigenvalues(matrix.view())?;
            for (one, other) in alone.iter().zip(&eigen.values) {
                assert!((one - other).abs() < 1e-12 * order as f64);
            }
        }
        Ok(())
    }

    #[test]
    fn other_matrices_are_refused_and_none_is_allowed() -> Result<()> {
        assert!(symmetric_eigen(Array2::zeros((2, 3)).view()).is_err());
        assert!(symmetric_eigenvalues(ndarray::array![[f64::NAN]].view()).is_err());
        assert!(
            symmetric_eigen(Array2::zeros((0, 0)).view())?
                .values
                .is_empty()
        );
        Ok(())
    }
}
