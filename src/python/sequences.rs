//! Sequences and their kernels.

use super::arrays;
use super::run::{self, Scale};
use crate::kernel::{SequenceKernel, Sequences};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

#[pyclass(name = "Sequences", module = "mercer._core", frozen)]
pub(super) struct PySequences(Sequences);

#[pymethods]
impl PySequences {
    #[new]
    fn new(symbols: PyReadonlyArray1<u32>, starts: &Bound<PyAny>) -> PyResult<Self> {
        let starts = arrays::numbers("starts", starts)?;
        let sequences = Sequences::new(arrays::copy(&symbols)?, starts)?;
        Ok(PySequences(sequences))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

#[pyclass(name = "SequenceKernel", module = "mercer._core", frozen)]
pub(super) struct PySequenceKernel(SequenceKernel);

impl PySequenceKernel {
    fn checked(kernel: SequenceKernel) -> PyResult<Self> {
        kernel.check()?;
        Ok(PySequenceKernel(kernel))
    }

    fn scale(&self, a: &Sequences, b: &Sequences, n_threads: usize) -> Scale {
        Scale {
            n_threads,
            rows: a.len().max(b.len()),
            work: self.0.work(a, b),
        }
    }
}

#[pymethods]
impl PySequenceKernel {
    #[staticmethod]
    fn spectrum(length: usize) -> PyResult<Self> {
        Self::checked(SequenceKernel::Spectrum { length })
    }

    #[staticmethod]
    fn subsequence(length: usize, decay: f64) -> PyResult<Self> {
        Self::checked(SequenceKernel::Subsequence { length, decay })
    }

    fn matrix<'py>(
        &self,
        py: Python<'py>,
        a: &PySequences,
        b: Option<&PySequences>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, a, b) = (&self.0, &a.0, b.map(|b| &b.0));
        let scale = self.scale(a, b.unwrap_or(a), n_threads);
        let matrix = run::until(py, scale, |stop| kernel.matrix_until(a, b, stop))?;
        run::objects(|| matrix.into_pyarray(py))
    }

    fn diagonal<'py>(
        &self,
        py: Python<'py>,
        a: &PySequences,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (kernel, a) = (&self.0, &a.0);
        let scale = self.scale(a, a, n_threads);
        let diagonal = run::until(py, scale, |stop| kernel.diagonal_until(a, stop))?;
        run::objects(|| diagonal.into_pyarray(py))
    }
}
