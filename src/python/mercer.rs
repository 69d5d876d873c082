//! Mercer's condition and Mercer's features.

use super::run::{self, Scale};
use crate::spectral::{Condition, mercer_map};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

/// How large the decomposition of a matrix is.
fn scale(matrix: &PyReadonlyArray2<f64>) -> Scale {
    let order = matrix.as_array().nrows();
    Scale {
        n_threads: 1,
        rows: order,
        work: order.saturating_pow(3),
    }
}

/// Returns (is symmetric, is positive, asymmetry, smallest and largest eigenvalue) and the witness.
type Found<'py> = ((bool, bool, f64, f64, f64), Bound<'py, PyArray1<f64>>);

#[pyfunction]
pub(super) fn mercer_condition<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<f64>,
) -> PyResult<Found<'py>> {
    let view = matrix.as_array();
    let found = run::interruptible(py, scale(&matrix), None, |_| Condition::of(view))??;
    let (symmetric, positive) = (found.is_symmetric(), found.is_positive());
    let figures = (
        symmetric,
        positive,
        found.asymmetry,
        found.smallest,
        found.largest,
    );
    let witness = run::objects(|| found.witness.into_pyarray(py))?;
    Ok((figures, witness))
}

/// Eigenvalues, and the matrix that makes features of kernel values.
type Map<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

#[pyfunction]
pub(super) fn mercer_features<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<f64>,
    count: usize,
) -> PyResult<Map<'py>> {
    let view = matrix.as_array();
    let (values, map) = run::interruptible(py, scale(&matrix), None, |_| mercer_map(view, count))??;
    let values = run::objects(|| values.into_pyarray(py))?;
    Ok((values, run::objects(|| map.into_pyarray(py))?))
}
