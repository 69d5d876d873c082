//! Arrays of numpy as vectors, and back.

use super::run;
use crate::error::Error;
use crate::simd::memory;
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What an error calls what is made here.
const COPY: &str = "a copy of an array";

/// Makes ready what handing arrays over needs: numpy's functions, the type that owns our memory, and the
/// table of borrows. Each is made under a lock by who needs it first, and a fork at that moment would leave
/// the lock to a thread that the child does not have.
pub(super) fn prepare(py: Python) -> PyResult<()> {
    let array = vec![0.0f64].into_pyarray(py);
    drop(array.try_readonly()?);
    drop(array.try_readwrite()?);
    Ok(())
}

/// Copies a one-dimensional array of any stride.
pub(super) fn copy<T: Element + Copy>(array: &PyReadonlyArray1<T>) -> PyResult<Vec<T>> {
    let values = array.as_array();
    Ok(memory::collected(values.iter().copied(), COPY)?)
}

/// Copies numbers that must not be negative, int32 or int64: class numbers, counts, indices.
pub(super) fn numbers(name: &'static str, array: &Bound<PyAny>) -> PyResult<Vec<usize>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<i64>>() {
        return whole(name, array.as_array().iter().copied());
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<i32>>() {
        return whole(name, array.as_array().iter().map(|&value| i64::from(value)));
    }
    let message = format!("{name} must be an int32 or int64 vector");
    Err(PyTypeError::new_err(message))
}

fn whole(name: &'static str, values: impl ExactSizeIterator<Item = i64>) -> PyResult<Vec<usize>> {
    let mut whole = memory::with_capacity(values.len(), COPY)?;
    for value in values {
        let negative = |_| Error::parameter(name, "whole numbers from 0 on", value);
        whole.push(usize::try_from(value).map_err(negative)?);
    }
    Ok(whole)
}

/// Returns row or class numbers as an array of int32, which scikit-learn uses for them.
pub(super) fn int32<'py>(py: Python<'py>, values: &[usize]) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let values = memory::collected(values.iter().map(|&value| value as i32), COPY)?;
    run::objects(|| values.into_pyarray(py))
}

/// Returns class numbers as an array of int64.
pub(super) fn int64<'py>(py: Python<'py>, values: &[usize]) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let values = memory::collected(values.iter().map(|&value| value as i64), COPY)?;
    run::objects(|| values.into_pyarray(py))
}
