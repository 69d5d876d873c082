//! Rotations that make several symmetric matrices as diagonal as can be, together.
//!
//! Jacobi rotations of one pair of axes after another, each with the angle that is best for all matrices
//! (Cardoso and Souloumiac, Jacobi angles for simultaneous diagonalization, 1996). Of the lagged covariances of
//! whitened time series this is TDSEP (Ziehe and Müller, 1998).

use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView2};

/// Angles below this are rounding.
const STILL: f64 = 1e-12;
/// Sweeps over all pairs of axes; a handful is usual.
const MOST_SWEEPS: usize = 200;

/// Returns the rotation R that makes R' A R as diagonal as can be, for all matrices A.
///
/// ```
/// use mercer::spectral::joint_diagonalizer;
/// let (c, s) = (0.3f64.cos(), 0.3f64.sin());
/// let turn = ndarray::array![[c, -s], [s, c]];
/// let make = |a, b| turn.dot(&ndarray::array![[a, 0.0], [0.0, b]]).dot(&turn.t());
/// let matrices = [make(1.0, 2.0), make(5.0, -1.0)];
/// let found = joint_diagonalizer(&matrices.iter().map(|m| m.view()).collect::<Vec<_>>())?;
/// let diagonal = found.t().dot(&matrices[1]).dot(&found);
/// assert!(diagonal[[0, 1]].abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If the matrices are not square and of one size, or a value is not finite.
pub fn joint_diagonalizer(matrices: &[ArrayView2<f64>]) -> Result<Array2<f64>> {
    let order = matrices.first().map_or(0, |matrix| matrix.nrows());
    for matrix in matrices {
        if matrix.dim() != (order, order) {
            let expected = format!("{order} rows and columns");
            return Err(Error::shape(
                "matrices",
                expected,
                format!("{:?}", matrix.dim()),
            ));
        }
        if let Some(value) = matrix.iter().find(|value| !value.is_finite()) {
            return Err(Error::parameter("matrices", "finite", value));
        }
    }
    let mut matrices: Vec<Array2<f64>> = matrices.iter().map(|matrix| matrix.to_owned()).collect();
    let mut rotation = Array2::eye(order);
    for _ in 0..MOST_SWEEPS {
        let mut moved = false;
        for p in 0..order {
            for q in p + 1..order {
                let (c, s) = angle(&matrices, p, q);
                if s.abs() > STILL {
                    moved = true;
                    for matrix in &mut matrices {
                        rotate_columns(matrix, p, q, c, s);
                        rotate_rows(matrix, p, q, c, s);
                    }
                    rotate_columns(&mut rotation, p, q, c, s);
                }
            }
        }
        if !moved {
            break;
        }
    }
    Ok(rotation)
}

/// Returns cosine and sine of the best angle for a pair of axes.
fn angle(matrices: &[Array2<f64>], p: usize, q: usize) -> (f64, f64) {
    let (mut on, mut off, mut cross) = (0.0, 0.0, 0.0);
    for matrix in matrices {
        let (a, b) = (
            matrix[[p, p]] - matrix[[q, q]],
            matrix[[p, q]] + matrix[[q, p]],
        );
        on += a * a;
        off += b * b;
        cross += a * b;
    }
    let theta =
        0.5 * (2.0 * cross).atan2(on - off + ((on - off).powi(2) + 4.0 * cross * cross).sqrt());
    (theta.cos(), theta.sin())
}

fn rotate_columns(matrix: &mut Array2<f64>, p: usize, q: usize, c: f64, s: f64) {
    for row in 0..matrix.nrows() {
        let (a, b) = (matrix[[row, p]], matrix[[row, q]]);
        matrix[[row, p]] = c * a + s * b;
        matrix[[row, q]] = c * b - s * a;
    }
}

fn rotate_rows(matrix: &mut Array2<f64>, p: usize, q: usize, c: f64, s: f64) {
    for column in 0..matrix.ncols() {
        let (a, b) = (matrix[[p, column]], matrix[[q, column]]);
        matrix[[p, column]] = c * a + s * b;
        matrix[[q, column]] = c * b - s * a;
    }
}
