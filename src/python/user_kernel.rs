//! A Python callable as a kernel: a function of row numbers, called with the GIL held.

use crate::data::Samples;
use crate::kernel::UserKernel;
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::error::Error;
use std::fmt;

/// The callable. It looks the rows up itself, so rows may be any objects.
pub(super) struct Callable(Py<PyAny>);

impl Callable {
    pub fn new(function: Py<PyAny>) -> Self {
        Callable(function)
    }

    fn call(&self, rows: &[usize], columns: &[usize], out: &mut [f64]) -> PyResult<()> {
        let numbers = |index: &[usize]| index.iter().map(|&i| i as i64).collect::<Vec<i64>>();
        Python::attach(|py| {
            let arguments = (
                numbers(rows).into_pyarray(py),
                numbers(columns).into_pyarray(py),
            );
            let block = self.0.call1(py, arguments)?;
            let block: PyReadonlyArray2<f64> = block.extract(py).map_err(|_| {
                PyValueError::new_err("kernel must return a two-dimensional float64 array")
            })?;
            let block = block.as_array();
            let expected = (rows.len(), columns.len());
            if block.dim() != expected {
                let got = block.dim();
                return Err(PyValueError::new_err(format!(
                    "kernel must return an array of shape {expected:?}, got {got:?}"
                )));
            }
            for (out, &value) in out.iter_mut().zip(block.iter()) {
                *out = value;
            }
            Ok(())
        })
    }
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
        Ok(self.call(rows, columns, out)?)
    }
}
