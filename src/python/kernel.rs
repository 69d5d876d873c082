//! Kernel functions.

use super::run::{self, Scale};
use super::samples::PySamples;
use super::user_kernel;
use crate::data::Samples;
use crate::kernel::Kernel;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

#[pyclass(name = "Kernel", module = "mercer._core", frozen)]
pub(super) struct PyKernel(pub Kernel);

fn inner(kernels: &[PyRef<PyKernel>]) -> Vec<Kernel> {
    kernels.iter().map(|kernel| kernel.0.clone()).collect()
}

impl PyKernel {
    fn checked(kernel: Kernel) -> PyResult<Self> {
        kernel.check()?;
        Ok(PyKernel(kernel))
    }
}

#[pymethods]
impl PyKernel {
    #[staticmethod]
    fn linear() -> Self {
        PyKernel(Kernel::Linear)
    }

    #[staticmethod]
    fn polynomial(gamma: f64, coef0: f64, degree: u32) -> PyResult<Self> {
        Self::checked(Kernel::polynomial(gamma, coef0, degree))
    }

    #[staticmethod]
    fn rbf(gamma: f64) -> PyResult<Self> {
        Self::checked(Kernel::rbf(gamma))
    }

    #[staticmethod]
    fn sigmoid(gamma: f64, coef0: f64) -> PyResult<Self> {
        Self::checked(Kernel::Sigmoid { gamma, coef0 })
    }

    #[staticmethod]
    fn laplacian(gamma: f64) -> PyResult<Self> {
        Self::checked(Kernel::Laplacian { gamma })
    }

    #[staticmethod]
    fn inverse_multiquadric(c: f64) -> PyResult<Self> {
        Self::checked(Kernel::InverseMultiquadric { c })
    }

    #[staticmethod]
    fn matern(nu: f64, length_scale: f64) -> PyResult<Self> {
        Self::checked(Kernel::matern(nu, length_scale))
    }

    #[staticmethod]
    fn periodic(period: f64, length_scale: f64) -> PyResult<Self> {
        Self::checked(Kernel::periodic(period, length_scale))
    }

    #[staticmethod]
    fn chi_squared(gamma: f64) -> PyResult<Self> {
        Self::checked(Kernel::chi_squared(gamma))
    }

    #[staticmethod]
    fn histogram_intersection() -> Self {
        PyKernel(Kernel::HistogramIntersection)
    }

    #[staticmethod]
    fn anova(gamma: f64, degree: u32) -> PyResult<Self> {
        Self::checked(Kernel::anova(gamma, degree))
    }

    #[staticmethod]
    fn normalized(kernel: PyRef<PyKernel>) -> PyResult<Self> {
        Self::checked(kernel.0.clone().normalized())
    }

    #[staticmethod]
    fn precomputed() -> Self {
        PyKernel(Kernel::Precomputed)
    }

    #[staticmethod]
    fn callable(function: Py<PyAny>) -> Self {
        PyKernel(Kernel::user(user_kernel::Callable::new(function)))
    }

    #[staticmethod]
    fn sum(terms: Vec<PyRef<PyKernel>>) -> PyResult<Self> {
        Self::checked(Kernel::Sum(inner(&terms)))
    }

    #[staticmethod]
    fn product(factors: Vec<PyRef<PyKernel>>) -> PyResult<Self> {
        Self::checked(Kernel::Product(inner(&factors)))
    }

    #[staticmethod]
    fn scaled(factor: f64, kernel: PyRef<PyKernel>) -> PyResult<Self> {
        Self::checked(Kernel::Scaled(factor, Box::new(kernel.0.clone())))
    }

    fn diagonal<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let diagonal = self.0.diagonal(&samples.0)?;
        run::objects(|| diagonal.into_pyarray(py))
    }

    fn matrix<'py>(
        &self,
        py: Python<'py>,
        a: &PySamples,
        b: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, a, b) = (&self.0, &a.0, &b.0);
        between(py, a, b, n_threads, |stop| kernel.matrix_until(a, b, stop))
    }

    fn distance<'py>(
        &self,
        py: Python<'py>,
        a: &PySamples,
        b: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, a, b) = (&self.0, &a.0, &b.0);
        between(py, a, b, n_threads, |stop| {
            kernel.distance_until(a, b, stop)
        })
    }
}

/// Computes a matrix of values between two sets of rows.
fn between<'py>(
    py: Python<'py>,
    a: &Samples,
    b: &Samples,
    n_threads: usize,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> crate::Result<Option<Array2<f64>>> + Send,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let values = a.rows().saturating_mul(b.rows());
    let scale = Scale {
        n_threads,
        rows: a.rows().max(b.rows()),
        work: values.saturating_mul(a.columns() + 8),
    };
    let matrix = run::until(py, scale, work)?;
    run::objects(|| matrix.into_pyarray(py))
}
