//! What lives in feature space: components, projections, pre-images, discriminants, clusters, neighbours.

use super::arrays::{copy, int32, int64, numbers};
use super::formulation::check_length;
use super::kernel::PyKernel;
use super::run::{self, Scale};
use super::samples::PySamples;
use crate::data::Samples;
use crate::error::{Error, unless_stopped};
use crate::kernel::Kernel;
use crate::spectral::pre_image::PreImages;
use crate::spectral::{
    self, EigenSolver, KernelFisher, KernelKMeans, KernelPca, Neighbors, Projection, Regularisation,
};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Runs what is so many times the kernel matrix of these samples.
pub(super) fn on_matrix<R: Send>(
    py: Python,
    kernel: &Kernel,
    samples: &Samples,
    n_threads: usize,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> crate::Result<Option<R>> + Send,
) -> PyResult<R> {
    let scale = Scale {
        n_threads,
        rows: samples.rows(),
        work: kernel
            .work_of_matrix(samples, samples.rows())
            .saturating_mul(8),
    };
    run::until(py, scale, work)
}

#[pyclass(name = "Components", module = "mercer._core", frozen, get_all)]
pub(super) struct PyComponents {
    eigenvalues: Py<PyArray1<f64>>,
    eigenvectors: Py<PyArray2<f64>>,
    coefficients: Py<PyArray2<f64>>,
    intercept: Py<PyArray1<f64>>,
    converged: bool,
}

/// How components are found.
#[pyclass(name = "ComponentSettings", module = "mercer._core", frozen)]
pub(super) struct PyComponentSettings {
    components: Option<usize>,
    solver: EigenSolver,
    tol: f64,
    max_iter: Option<usize>,
    seed: u64,
    cache_bytes: Option<usize>,
    n_threads: usize,
}

#[pymethods]
impl PyComponentSettings {
    #[new]
    #[pyo3(signature = (*, n_components, eigen_solver, tol, max_iter, iterated_power, seed, cache_bytes, n_threads))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments
    fn new(
        n_components: Option<usize>,
        eigen_solver: &str,
        tol: f64,
        max_iter: Option<usize>,
        iterated_power: Option<usize>,
        seed: u64,
        cache_bytes: Option<usize>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let solver = match eigen_solver {
            "auto" => EigenSolver::Auto,
            "dense" => EigenSolver::Dense,
            "arpack" => EigenSolver::Lanczos,
            "randomized" => EigenSolver::Randomized {
                power: iterated_power,
            },
            other => {
                let allowed = "'auto', 'dense', 'arpack' or 'randomized'";
                return Err(Error::parameter("eigen_solver", allowed, other).into());
            }
        };
        Ok(PyComponentSettings {
            components: n_components,
            solver,
            tol,
            max_iter,
            seed,
            cache_bytes,
            n_threads,
        })
    }

    fn fit(
        &self,
        py: Python,
        kernel: &PyKernel,
        samples: &PySamples,
        weight: PyReadonlyArray1<f64>,
    ) -> PyResult<PyComponents> {
        let (kernel, samples, weight) = (&kernel.0, &*samples.0, copy(&weight)?);
        check_length("sample_weight", weight.len(), samples)?;
        let mut pca = KernelPca::new(kernel.clone())
            .solver(self.solver)
            .tolerance(self.tol)
            .seed(self.seed);
        if let Some(components) = self.components {
            pca = pca.components(components);
        }
        if let Some(passes) = self.max_iter {
            pca = pca.passes(passes);
        }
        if let Some(bytes) = self.cache_bytes {
            pca = pca.cache_bytes(bytes);
        }
        let model = on_matrix(py, kernel, samples, self.n_threads, |stop| {
            pca.fit_weighted(samples, &weight, stop)
        })?;
        let parts = (
            model.eigenvalues().to_vec(),
            model.eigenvectors().clone(),
            model.coefficients().clone(),
            model.intercept().to_vec(),
        );
        run::objects(|| PyComponents {
            eigenvalues: parts.0.into_pyarray(py).unbind(),
            eigenvectors: parts.1.into_pyarray(py).unbind(),
            coefficients: parts.2.into_pyarray(py).unbind(),
            intercept: parts.3.into_pyarray(py).unbind(),
            converged: model.converged(),
        })
    }
}

#[pyclass(name = "Projection", module = "mercer._core", frozen)]
pub(super) struct PyProjection(Projection);

#[pymethods]
impl PyProjection {
    #[new]
    fn new(
        kernel: &PyKernel,
        rows: Option<&PySamples>,
        coefficients: PyReadonlyArray2<f64>,
        intercept: PyReadonlyArray1<f64>,
    ) -> PyResult<Self> {
        let rows = rows.map(|samples| Arc::clone(&samples.0));
        let projection = Projection::of(
            kernel.0.clone(),
            rows,
            coefficients.as_array(),
            &copy(&intercept)?,
        )?;
        Ok(PyProjection(projection))
    }

    fn decision<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = &*samples.0;
        let scale = Scale {
            n_threads,
            rows: samples.rows(),
            work: self.0.work(samples),
        };
        let found = run::until(py, scale, |stop| self.0.project(samples, stop))?;
        run::objects(|| found.into_pyarray(py))
    }

    fn decision_from_kernel<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = values.as_array();
        let found = py.detach(|| self.0.from_kernel(values))?;
        run::objects(|| found.into_pyarray(py))
    }
}

/// What pre-images are made of, and how they are searched for.
#[pyclass(name = "PreImages", module = "mercer._core", frozen)]
pub(super) struct PyPreImages {
    kernel: Kernel,
    rows: Arc<Samples>,
    coefficients: Array2<f64>,
    shares: Vec<f64>,
    max_iter: usize,
    tol: f64,
    n_threads: usize,
}

#[pymethods]
impl PyPreImages {
    #[new]
    #[pyo3(signature = (kernel, rows, coefficients, shares, *, max_iter, tol, n_threads))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments
    fn new(
        kernel: &PyKernel,
        rows: &PySamples,
        coefficients: PyReadonlyArray2<f64>,
        shares: PyReadonlyArray1<f64>,
        max_iter: usize,
        tol: f64,
        n_threads: usize,
    ) -> PyResult<Self> {
        let shares = copy(&shares)?;
        check_length("shares", shares.len(), &rows.0)?;
        Ok(PyPreImages {
            kernel: kernel.0.clone(),
            rows: Arc::clone(&rows.0),
            coefficients: coefficients.as_array().to_owned(),
            shares,
            max_iter,
            tol,
            n_threads,
        })
    }

    fn find<'py>(
        &self,
        py: Python<'py>,
        coordinates: PyReadonlyArray2<f64>,
        starts: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = &*self.rows;
        let images = PreImages {
            kernel: &self.kernel,
            rows,
            coefficients: self.coefficients.view(),
            shares: &self.shares,
            iterations: self.max_iter,
            tolerance: self.tol,
        };
        let (coordinates, starts) = (coordinates.as_array(), starts.as_array());
        let values = coordinates.nrows().saturating_mul(rows.rows());
        let scale = Scale {
            n_threads: self.n_threads,
            rows: rows.rows(),
            work: values.saturating_mul(16 * (rows.columns() + 8)),
        };
        let found = run::until(py, scale, |stop| {
            unless_stopped(images.find(coordinates, starts, stop))
        })?;
        run::objects(|| found.into_pyarray(py))
    }
}

#[pyclass(name = "Discriminants", module = "mercer._core", frozen, get_all)]
pub(super) struct PyDiscriminants {
    coefficients: Py<PyArray2<f64>>,
    intercept: Py<PyArray1<f64>>,
    means: Py<PyArray2<f64>>,
    eigenvalues: Py<PyArray1<f64>>,
    reg: f64,
    tried: Vec<(f64, f64)>,
    landmarks: Option<Py<PyArray1<i32>>>,
}

/// How discriminants are found.
#[pyclass(name = "DiscriminantSettings", module = "mercer._core", frozen)]
pub(super) struct PyDiscriminantSettings {
    reg: Option<f64>,
    priors: Option<Vec<f64>>,
    n_landmarks: Option<usize>,
    n_threads: usize,
}

#[pymethods]
impl PyDiscriminantSettings {
    #[new]
    #[pyo3(signature = (*, reg, priors, n_landmarks, n_threads))]
    fn new(
        reg: Option<f64>,
        priors: Option<PyReadonlyArray1<f64>>,
        n_landmarks: Option<usize>,
        n_threads: usize,
    ) -> PyResult<Self> {
        Ok(PyDiscriminantSettings {
            reg,
            priors: priors.as_ref().map(copy).transpose()?,
            n_landmarks,
            n_threads,
        })
    }

    fn fit(
        &self,
        py: Python,
        kernel: &PyKernel,
        samples: &PySamples,
        labels: &Bound<PyAny>,
        weight: PyReadonlyArray1<f64>,
    ) -> PyResult<PyDiscriminants> {
        let (kernel, samples, weight) = (&kernel.0, &*samples.0, copy(&weight)?);
        let labels = numbers("y", labels)?;
        check_length("sample_weight", weight.len(), samples)?;
        let reg = (self.reg).map_or(Regularisation::LeaveOneOut, Regularisation::Fixed);
        let mut fisher = KernelFisher::new(kernel.clone(), reg);
        if let Some(count) = self.n_landmarks {
            fisher = fisher.landmarks(count);
        }
        let found = on_matrix(py, kernel, samples, self.n_threads, |stop| {
            fisher.fit(samples, &labels, &weight, self.priors.as_deref(), stop)
        })?;
        let landmarks = match &found.landmarks {
            Some(rows) => Some(int32(py, rows)?.unbind()),
            None => None,
        };
        run::objects(|| PyDiscriminants {
            landmarks,
            coefficients: found.coefficients.into_pyarray(py).unbind(),
            intercept: found.intercept.into_pyarray(py).unbind(),
            means: found.means.into_pyarray(py).unbind(),
            eigenvalues: found.eigenvalues.into_pyarray(py).unbind(),
            reg: found.reg,
            tried: found.tried,
        })
    }
}

#[pyclass(name = "Clusters", module = "mercer._core", frozen, get_all)]
pub(super) struct PyClusters {
    labels: Py<PyArray1<i32>>,
    coefficients: Py<PyArray2<f64>>,
    norms: Py<PyArray1<f64>>,
    inertia: f64,
    iterations: usize,
    converged: bool,
}

/// How clusters are found.
#[pyclass(name = "ClusterSettings", module = "mercer._core", frozen)]
pub(super) struct PyClusterSettings {
    n_clusters: usize,
    seeds: Option<Vec<usize>>,
    n_init: usize,
    max_iter: usize,
    seed: u64,
    n_threads: usize,
}

#[pymethods]
impl PyClusterSettings {
    #[new]
    #[pyo3(signature = (*, n_clusters, seeds, n_init, max_iter, seed, n_threads))]
    fn new(
        n_clusters: usize,
        seeds: Option<&Bound<PyAny>>,
        n_init: usize,
        max_iter: usize,
        seed: u64,
        n_threads: usize,
    ) -> PyResult<Self> {
        Ok(PyClusterSettings {
            n_clusters,
            seeds: seeds.map(|seeds| numbers("init", seeds)).transpose()?,
            n_init,
            max_iter,
            seed,
            n_threads,
        })
    }

    fn fit(
        &self,
        py: Python,
        kernel: &PyKernel,
        samples: &PySamples,
        weight: PyReadonlyArray1<f64>,
    ) -> PyResult<PyClusters> {
        let (kernel, samples, weight) = (&kernel.0, &*samples.0, copy(&weight)?);
        check_length("sample_weight", weight.len(), samples)?;
        let mut means = KernelKMeans::new(kernel.clone(), self.n_clusters)
            .starts(self.n_init)
            .max_iterations(self.max_iter)
            .seed(self.seed);
        if let Some(seeds) = &self.seeds {
            means = means.seeds(seeds.clone());
        }
        let found = on_matrix(py, kernel, samples, self.n_threads, |stop| {
            means.fit(samples, &weight, stop)
        })?;
        let labels = int32(py, &found.labels)?.unbind();
        run::objects(|| PyClusters {
            labels,
            coefficients: found.coefficients.into_pyarray(py).unbind(),
            norms: found.norms.into_pyarray(py).unbind(),
            inertia: found.inertia,
            iterations: found.iterations,
            converged: found.converged,
        })
    }
}

/// Row numbers and distances.
type Near<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

#[pyfunction]
pub(super) fn nearest<'py>(
    py: Python<'py>,
    kernel: &PyKernel,
    known: &PySamples,
    samples: &PySamples,
    count: usize,
    n_threads: usize,
) -> PyResult<Near<'py>> {
    let (kernel, known, samples) = (&kernel.0, &*known.0, &*samples.0);
    let values = samples.rows().saturating_mul(known.rows());
    let scale = Scale {
        n_threads,
        rows: samples.rows().max(known.rows()),
        work: values.saturating_mul(samples.columns() + 8),
    };
    let near = run::until(py, scale, |stop| {
        Neighbors::find(kernel, known, samples, count, stop)
    })?;
    let rows = int64(py, &near.rows)?;
    run::objects(|| (rows, near.distances.into_pyarray(py)))
}

#[pyfunction]
pub(super) fn nearest_from_kernel<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    known: PyReadonlyArray1<f64>,
    own: PyReadonlyArray1<f64>,
    count: usize,
) -> PyResult<Near<'py>> {
    let (known, own, values) = (copy(&known)?, copy(&own)?, values.as_array());
    let near = py.detach(|| Neighbors::from_kernel(values, &known, &own, count))?;
    let rows = int64(py, &near.rows)?;
    run::objects(|| (rows, near.distances.into_pyarray(py)))
}

#[pyfunction]
pub(super) fn joint_diagonalizer<'py>(
    py: Python<'py>,
    matrices: Vec<PyReadonlyArray2<f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let views: Vec<_> = matrices.iter().map(|matrix| matrix.as_array()).collect();
    let rotation = py.detach(|| spectral::joint_diagonalizer(&views))?;
    run::objects(|| rotation.into_pyarray(py))
}

type Matrix<'py> = Bound<'py, PyArray2<f64>>;

#[pyfunction]
pub(super) fn sources<'py>(
    py: Python<'py>,
    signals: PyReadonlyArray2<f64>,
    n_components: usize,
    n_lags: usize,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let view = signals.as_array();
    let found = py.detach(|| spectral::Sources::of(view, n_components, n_lags))?;
    run::objects(|| {
        (
            found.rotation.into_pyarray(py),
            found.autocorrelations.into_pyarray(py),
        )
    })
}
