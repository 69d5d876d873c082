//! Bayesian machines.

use super::arrays;
use super::run::{self, Scale};
use crate::bayes::{Noise, Perceptrons, Relevance, RelevanceSettings};
use crate::error::unless_stopped;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// A sparse Bayesian model.
#[pyclass(name = "Relevance", module = "mercer._core", frozen)]
pub(super) struct PyRelevance(Relevance);

#[pymethods]
impl PyRelevance {
    /// Finds the model for a design and targets, 0 or 1 where it is one of classes.
    #[staticmethod]
    fn fit(
        py: Python,
        phi: PyReadonlyArray2<f64>,
        targets: PyReadonlyArray1<f64>,
        classes: bool,
        tol: f64,
        max_iter: usize,
    ) -> PyResult<Self> {
        let noise = if classes {
            Noise::Bernoulli
        } else {
            Noise::Gaussian
        };
        let settings = RelevanceSettings { tol, max_iter };
        let (phi, targets) = (phi.as_array(), targets.as_array());
        let scale = Scale {
            n_threads: 1,
            rows: phi.nrows(),
            work: phi.len().saturating_mul(64),
        };
        let found = run::until(py, scale, |stop| {
            unless_stopped(Relevance::fit_until(phi, targets, noise, settings, stop))
        })?;
        Ok(PyRelevance(found))
    }

    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        arrays::int32(py, &self.0.columns)
    }

    #[getter]
    fn alpha<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        run::objects(|| self.0.alpha.clone().into_pyarray(py))
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        run::objects(|| self.0.mean.clone().into_pyarray(py))
    }

    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        run::objects(|| self.0.covariance.clone().into_pyarray(py))
    }

    #[getter]
    fn beta(&self) -> f64 {
        self.0.beta
    }

    #[getter]
    fn evidence(&self) -> f64 {
        self.0.evidence
    }

    #[getter]
    fn iterations(&self) -> usize {
        self.0.iterations
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.converged
    }
}

/// The coefficients of a Bayes point, passes over the rows, and how many perceptrons converged.
type Point<'py> = (Bound<'py, PyArray1<f64>>, usize, usize);

#[pyfunction]
pub(super) fn bayes_point<'py>(
    py: Python<'py>,
    kernel: PyReadonlyArray2<f64>,
    signs: PyReadonlyArray1<f64>,
    settings: (usize, f64, usize, u64),
) -> PyResult<Point<'py>> {
    let (count, ridge, max_iter, seed) = settings;
    let perceptrons = Perceptrons {
        count,
        ridge,
        max_iter,
        seed,
    };
    let (kernel, signs) = (kernel.as_array(), arrays::copy(&signs)?);
    let scale = Scale {
        n_threads: 1,
        rows: kernel.nrows(),
        work: kernel.len().saturating_mul(count),
    };
    let point = run::until(py, scale, |stop| {
        unless_stopped(perceptrons.fit_until(kernel, &signs, stop))
    })?;
    let coefficients = run::objects(|| point.coefficients.into_pyarray(py))?;
    Ok((coefficients, point.iterations, point.converged))
}
