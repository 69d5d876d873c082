//! A Python callable as a kernel: a function of row numbers, called with the GIL held.
//!
//! It is called on the thread that called into the core, which waits anyway: there it may use the
//! core again, and Ctrl-C reaches it as it would without the core.

use crate::data::Samples;
use crate::kernel::UserKernel;
use crate::simd::{memory, threads};
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The callable. It looks the rows up itself, so rows may be any objects.
pub(super) struct Callable(Arc<Py<PyAny>>);

impl Callable {
    pub fn new(function: Py<PyAny>) -> Self {
        Callable(Arc::new(function))
    }
}

/// Calls the function and returns its values, row after row.
fn ask(function: &Py<PyAny>, rows: Vec<i64>, columns: Vec<i64>) -> PyResult<Vec<f64>> {
    let expected = (rows.len(), columns.len());
    // Python objects that cannot be made are a panic, not an exception.
    memory::probe("the arguments of a kernel function")?;
    Python::attach(|py| {
        let arguments = (rows.into_pyarray(py), columns.into_pyarray(py));
        let block = function.call1(py, arguments)?;
        let block: PyReadonlyArray2<f64> = block.extract(py).map_err(|_| {
            PyValueError::new_err("kernel must return a two-dimensional float64 array")
        })?;
        let block = block.as_array();
        if block.dim() != expected {
            let got = block.dim();
            return Err(PyValueError::new_err(format!(
                "kernel must return an array of shape {expected:?}, got {got:?}"
            )));
        }
        let values = block.iter().copied();
        Ok(memory::collected(
            values,
            "the values of a kernel function",
        )?)
    })
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("callable")
    }
}

impl UserKernel for Callable {
    fn block(
        &self,
        _a: &Samples,
        rows: &[usize],
        _b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let numbers = |index: &[usize]| index.iter().map(|&i| i as i64).collect::<Vec<i64>>();
        let (function, rows, columns) = (Arc::clone(&self.0), numbers(rows), numbers(columns));
        let values = threads::on_caller(move || ask(&function, rows, columns))?;
        out.copy_from_slice(&values);
        Ok(())
    }
}
