//! Model files: their text and their arrays.

use super::run;
use crate::error::Error;
use crate::persist::{self, Array, Document, Values};
use crate::simd::memory;
use numpy::{Element, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What an error calls what is made here.
const COPY: &str = "a copy of an array";

/// Returns the text and the arrays of a file, which was checked.
#[pyfunction]
pub(super) fn read_model<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyDict>)> {
    let document = py.detach(|| persist::read(&path))?;
    let text = document.text();
    let arrays = PyDict::new(py);
    for (name, array) in document.arrays {
        arrays.set_item(name, to_python(py, array)?)?;
    }
    let text = PyString::new(py, &text);
    Ok((text, arrays))
}

/// Checks a model and writes its file.
#[pyfunction]
pub(super) fn write_model(
    py: Python,
    path: PathBuf,
    text: &str,
    arrays: &Bound<PyDict>,
) -> PyResult<()> {
    let mut copies = BTreeMap::new();
    for (name, array) in arrays {
        let name: String = name.extract()?;
        let copy = from_python(&name, &array)?;
        copies.insert(name, copy);
    }
    py.detach(|| {
        let document = Document::from_json(text, copies)?;
        persist::write(&path, &document)
    })?;
    Ok(())
}

/// Returns the attributes of an estimator that a file holds, None if it holds no such estimator.
#[pyfunction]
pub(super) fn saved_attributes(estimator: &str) -> Option<Vec<&'static str>> {
    persist::attributes(estimator)
}

fn to_python(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    fn shaped<'py, T: Element>(
        py: Python<'py>,
        values: Vec<T>,
        shape: Vec<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = ndarray::ArrayD::from_shape_vec(shape, values).map_err(|error| {
            Error::shape("an array", "the values of its shape", error.to_string())
        })?;
        run::objects(|| PyArrayDyn::from_owned_array(py, array).into_any())
    }
    let shape = array.shape;
    match array.values {
        Values::F64(values) => shaped(py, values, shape),
        Values::F32(values) => shaped(py, values, shape),
        Values::I64(values) => shaped(py, values, shape),
        Values::I32(values) => shaped(py, values, shape),
    }
}

fn from_python(name: &str, array: &Bound<PyAny>) -> PyResult<Array> {
    fn copied<T: Element + Copy>(array: &PyReadonlyArrayDyn<T>) -> PyResult<(Vec<usize>, Vec<T>)> {
        let values = memory::collected(array.as_array().iter().copied(), COPY)?;
        Ok((array.shape().to_vec(), values))
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<f64>>() {
        let (shape, values) = copied(&array)?;
        return Ok(Array {
            shape,
            values: Values::F64(values),
        });
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<f32>>() {
        let (shape, values) = copied(&array)?;
        return Ok(Array {
            shape,
            values: Values::F32(values),
        });
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<i64>>() {
        let (shape, values) = copied(&array)?;
        return Ok(Array {
            shape,
            values: Values::I64(values),
        });
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<i32>>() {
        let (shape, values) = copied(&array)?;
        return Ok(Array {
            shape,
            values: Values::I32(values),
        });
    }
    let message = format!("{name} must be an array of float64, float32, int64 or int32");
    Err(pyo3::exceptions::PyTypeError::new_err(message))
}
