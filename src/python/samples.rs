//! Samples from numpy arrays, dense or CSR.
//!
//! Dense arrays that lie row after row stay where they are; everything else is copied, with the GIL
//! released.

use super::arrays::numbers;
use crate::data::{Numbers, Samples, Values};
use crate::error::Result;
use crate::simd::{Real, all_finite, memory};
use ndarray::ArrayView1;
use numpy::{Element, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

#[pyclass(name = "Samples", module = "mercer._core", frozen)]
pub(super) struct PySamples(pub Arc<Samples>);

/// The numbers of a numpy array, which is kept alive.
struct Kept<T> {
    first: *const T,
    length: usize,
    _array: Py<PyArray2<T>>,
}

// SAFETY: the numbers are only read. They stay where they are while the array is alive: numpy moves
// them only if it is told to ignore references (`resize(refcheck=False)`). That nobody writes to them
// during a call is asked of the caller, as scikit-learn asks it.
unsafe impl<T: Sync> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T> AsRef<[T]> for Kept<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `first` and `length` come from a slice of the array, which is alive.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// Copies numbers of any stride.
fn copied<T: Copy>(values: ArrayView1<T>) -> Result<Vec<T>> {
    memory::collected(values.iter().copied(), "a copy of the rows")
}

impl PySamples {
    /// Makes samples of an array of numbers T, None if it is of another kind.
    fn of_array<T>(x: &Bound<PyAny>, finite: bool) -> PyResult<Option<Self>>
    where
        T: Real + Element,
        Vec<T>: Into<Values>,
        Numbers<T>: Into<Values>,
    {
        let Ok(array) = x.cast::<PyArray2<T>>() else {
            return Ok(None);
        };
        let (py, view) = (x.py(), array.try_readonly()?);
        let columns = view.as_array().ncols();
        let samples = match view.as_slice() {
            Ok(values) if columns > 0 && array.is_c_contiguous() => {
                let kept = Kept {
                    first: values.as_ptr(),
                    length: values.len(),
                    _array: array.clone().unbind(),
                };
                py.detach(|| match finite {
                    true => Samples::trusted(kept, columns),
                    false => Samples::shared(kept, columns),
                })?
            }
            _ => {
                let view = view.as_array();
                py.detach(|| Samples::try_from(view))?
            }
        };
        Ok(Some(PySamples(Arc::new(samples))))
    }

    /// Makes sparse samples; indices of 32 bits, which are most, are copied as they are.
    fn of_csr<T>(
        data: &PyReadonlyArray1<T>,
        indices: &Bound<PyAny>,
        indptr: &Bound<PyAny>,
        n_columns: usize,
    ) -> PyResult<Self>
    where
        T: Real + Element,
        Vec<T>: Into<Values>,
    {
        let (py, data) = (indices.py(), data.as_array());
        let narrow: [Option<PyReadonlyArray1<i32>>; 2] =
            [indices, indptr].map(|array| array.extract().ok());
        let samples = if let [Some(indices), Some(indptr)] = &narrow {
            let (indices, indptr) = (indices.as_array(), indptr.as_array());
            py.detach(|| {
                let (indices, indptr) = (copied(indices)?, copied(indptr)?);
                Samples::csr(copied(data)?, &indices, &indptr, n_columns)
            })
        } else {
            let (indices, indptr) = (numbers("indices", indices)?, numbers("indptr", indptr)?);
            py.detach(|| Samples::csr(copied(data)?, &indices, &indptr, n_columns))
        };
        Ok(PySamples(Arc::new(samples?)))
    }
}

#[pymethods]
impl PySamples {
    #[staticmethod]
    #[pyo3(signature = (x, *, finite=false))]
    fn dense(x: &Bound<PyAny>, finite: bool) -> PyResult<Self> {
        if let Some(samples) = Self::of_array::<f64>(x, finite)? {
            return Ok(samples);
        }
        let samples = Self::of_array::<f32>(x, finite)?;
        samples.ok_or_else(|| PyTypeError::new_err("X must be a float32 or float64 matrix"))
    }

    #[staticmethod]
    fn csr(
        data: &Bound<PyAny>,
        indices: &Bound<PyAny>,
        indptr: &Bound<PyAny>,
        n_columns: usize,
    ) -> PyResult<Self> {
        if let Ok(data) = data.extract::<PyReadonlyArray1<f64>>() {
            return Self::of_csr(&data, indices, indptr, n_columns);
        }
        if let Ok(data) = data.extract::<PyReadonlyArray1<f32>>() {
            return Self::of_csr(&data, indices, indptr, n_columns);
        }
        let message = "data must be a float32 or float64 vector";
        Err(PyTypeError::new_err(message))
    }

    /// Makes rows without numbers, for a callable that knows them by their position.
    #[staticmethod]
    fn numbered(n_rows: usize) -> Self {
        PySamples(Arc::new(Samples::numbered(n_rows)))
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }
}

/// Tells whether a matrix of numbers T is finite, None if it is of another kind.
fn finite<T: Real + Element>(x: &Bound<PyAny>) -> PyResult<Option<bool>> {
    let Ok(array) = x.cast::<PyArray2<T>>() else {
        return Ok(None);
    };
    let (py, view) = (x.py(), array.try_readonly()?);
    let view = view.as_array();
    Ok(Some(py.detach(|| match view.as_slice_memory_order() {
        Some(values) => all_finite(values),
        None => view.iter().all(|value| value.to_f64().is_finite()),
    })))
}

#[pyfunction]
pub(super) fn is_finite(x: &Bound<PyAny>) -> PyResult<bool> {
    if let Some(answer) = finite::<f64>(x)? {
        return Ok(answer);
    }
    let answer = finite::<f32>(x)?;
    answer.ok_or_else(|| PyTypeError::new_err("X must be a float32 or float64 matrix"))
}
