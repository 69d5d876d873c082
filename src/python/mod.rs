//! The Python binding `mercer._core`: unpack, release the GIL, call, repack.
//!
//! A call runs on a thread pool of its own size while the thread that called waits with a timeout,
//! checks for signals and raises a flag that the workers poll ([`run::interruptible`]). Its types
//! are described in `python/mercer/_core.pyi`.

mod run;
mod user_kernel;

use crate::data::{Samples, Values};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::model::{Expansion, OneVsOne, vote};
use crate::qp::{Monitor, Report, Smo, StopRule};
use crate::simd::Real;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// The one place where errors become exceptions.
impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::UserKernel(source) => match source.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(source) => PyValueError::new_err(format!("kernel: {source}")),
            },
            Error::System { .. } => PyMemoryError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}

#[pyclass(name = "Samples", module = "mercer._core", frozen)]
struct PySamples(Arc<Samples>);

/// Copies a one-dimensional array of any stride.
fn copy<T: Element + Copy>(array: &PyReadonlyArray1<T>) -> Vec<T> {
    array.as_array().iter().copied().collect()
}

/// Copies an integer array, int32 or int64.
fn integers(array: &Bound<PyAny>, name: &str) -> PyResult<Vec<i64>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<i64>>() {
        return Ok(copy(&array));
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<i32>>() {
        return Ok(array
            .as_array()
            .iter()
            .map(|&value| i64::from(value))
            .collect());
    }
    Err(PyTypeError::new_err(format!(
        "{name} must be an int32 or int64 vector"
    )))
}

#[pymethods]
impl PySamples {
    #[staticmethod]
    fn dense(x: &Bound<PyAny>) -> PyResult<Self> {
        let samples = if let Ok(x) = x.extract::<PyReadonlyArray2<f64>>() {
            Samples::try_from(x.as_array())?
        } else if let Ok(x) = x.extract::<PyReadonlyArray2<f32>>() {
            Samples::try_from(x.as_array())?
        } else {
            return Err(PyTypeError::new_err(
                "X must be a float32 or float64 matrix",
            ));
        };
        Ok(PySamples(Arc::new(samples)))
    }

    #[staticmethod]
    fn csr(
        data: &Bound<PyAny>,
        indices: &Bound<PyAny>,
        indptr: &Bound<PyAny>,
        n_columns: usize,
    ) -> PyResult<Self> {
        fn make<T>(data: Vec<T>, indices: &[i64], indptr: &[i64], n: usize) -> PyResult<PySamples>
        where
            T: Real,
            Vec<T>: Into<Values>,
        {
            Ok(PySamples(Arc::new(Samples::csr(data, indices, indptr, n)?)))
        }
        let (indices, indptr) = (integers(indices, "indices")?, integers(indptr, "indptr")?);
        if let Ok(data) = data.extract::<PyReadonlyArray1<f64>>() {
            make(copy(&data), &indices, &indptr, n_columns)
        } else if let Ok(data) = data.extract::<PyReadonlyArray1<f32>>() {
            make(copy(&data), &indices, &indptr, n_columns)
        } else {
            Err(PyTypeError::new_err(
                "data must be a float32 or float64 vector",
            ))
        }
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }
}

#[pyclass(name = "Kernel", module = "mercer._core", frozen)]
struct PyKernel(Kernel);

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

    fn matrix<'py>(
        &self,
        py: Python<'py>,
        a: &PySamples,
        b: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, a, b) = (&self.0, &a.0, &b.0);
        let matrix = run::interruptible(py, n_threads, None, |_| kernel.matrix(a, b))??;
        Ok(matrix.into_pyarray(py))
    }
}

#[pyclass(name = "Report", module = "mercer._core", frozen)]
struct PyReport(Report);

#[pymethods]
impl PyReport {
    #[getter]
    fn status(&self) -> String {
        self.0.status.to_string()
    }
    #[getter]
    fn iterations(&self) -> u64 {
        self.0.iterations
    }
    #[getter]
    fn gap(&self) -> f64 {
        self.0.gap
    }
    #[getter]
    fn objective(&self) -> f64 {
        self.0.objective
    }
    #[getter]
    fn kernel_evaluations(&self) -> u64 {
        self.0.kernel_evaluations
    }
    #[getter]
    fn cache_hits(&self) -> u64 {
        self.0.cache_hits
    }
    #[getter]
    fn cache_misses(&self) -> u64 {
        self.0.cache_misses
    }
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }
}

#[pyclass(name = "SvcFit", module = "mercer._core", frozen)]
struct PySvcFit(OneVsOne);

fn int32<'py>(py: Python<'py>, values: &[usize]) -> Bound<'py, PyArray1<i32>> {
    let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
    values.into_pyarray(py)
}

#[pymethods]
impl PySvcFit {
    #[getter]
    fn support<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        int32(py, &self.0.support)
    }
    #[getter]
    fn n_support<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        int32(py, &self.0.n_support)
    }
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.0.dual_coef.clone().into_pyarray(py)
    }
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.intercept.clone().into_pyarray(py)
    }
    #[getter]
    fn reports(&self) -> Vec<PyReport> {
        self.0
            .reports
            .iter()
            .map(|&report| PyReport(report))
            .collect()
    }
}

#[pyfunction]
#[pyo3(signature = (samples, labels, cost, kernel, *, tol, shrinking, cache_bytes, max_iter,
                    max_time, n_threads, progress=None))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
fn fit_svc(
    py: Python,
    samples: &PySamples,
    labels: PyReadonlyArray1<i64>,
    cost: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    tol: f64,
    shrinking: bool,
    cache_bytes: Option<usize>,
    max_iter: i64,
    max_time: Option<f64>,
    n_threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<PySvcFit> {
    let out_of_range = |_| Error::parameter("y", "class numbers", "a negative number");
    let labels: Vec<usize> = copy(&labels)
        .into_iter()
        .map(usize::try_from)
        .collect::<Result<_, _>>()
        .map_err(out_of_range)?;
    let cost = copy(&cost);
    let classes = labels.iter().max().map_or(0, |&largest| largest + 1);
    let time_limit = match max_time.map(Duration::try_from_secs_f64) {
        None => None,
        // Longer than the clock can tell is no limit.
        Some(Err(_)) if max_time.is_some_and(|seconds| seconds > 0.0) => None,
        Some(Err(_)) => {
            let given = max_time.unwrap_or_default();
            return Err(Error::parameter("max_time", "positive", given).into());
        }
        Some(Ok(limit)) => Some(limit),
    };
    let smo = Smo {
        stop: StopRule {
            tolerance: tol,
            max_iterations: u64::try_from(max_iter).ok(),
            time_limit,
        },
        shrinking,
        cache_bytes,
        ..Smo::default()
    };
    let (samples, kernel) = (&samples.0, &kernel.0);
    let fit = run::interruptible(py, n_threads, progress, |monitor| {
        OneVsOne::fit(kernel, samples, &labels, classes, &cost, &smo, monitor)
    })??;
    Ok(PySvcFit(fit))
}

#[pyclass(name = "Expansion", module = "mercer._core", frozen)]
struct PyExpansion(Expansion);

/// Work (multiplications) below which a prediction is not worth a thread.
const SMALL_PREDICTION: usize = 1 << 20;

type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

impl PyExpansion {
    /// Runs a prediction, on this thread if it is small.
    fn run<R: Send>(
        &self,
        py: Python,
        samples: &Samples,
        n_threads: usize,
        predict: impl Fn(&Expansion, &Samples, Stop) -> crate::Result<Option<R>> + Sync,
    ) -> PyResult<R> {
        let expansion = &self.0;
        let result = if expansion.work(samples) < SMALL_PREDICTION {
            py.detach(|| predict(expansion, samples, &|| false))?
        } else {
            run::interruptible(py, n_threads, None, |monitor| {
                predict(expansion, samples, &|| monitor.stop())
            })??
        };
        result.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
    }
}

#[pymethods]
impl PyExpansion {
    #[new]
    fn new(
        kernel: &PyKernel,
        support_vectors: Option<&PySamples>,
        n_support: PyReadonlyArray1<i32>,
        dual_coef: PyReadonlyArray2<f64>,
        intercept: PyReadonlyArray1<f64>,
    ) -> PyResult<Self> {
        let negative = |_| Error::parameter("n_support", "counts", "a negative number");
        let n_support: Vec<usize> = copy(&n_support)
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<_, _>>()
            .map_err(negative)?;
        Ok(PyExpansion(Expansion::new(
            kernel.0.clone(),
            support_vectors.map(|samples| Samples::clone(&samples.0)),
            &n_support,
            dual_coef.as_array(),
            &copy(&intercept),
        )?))
    }

    fn decision<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let decision = self.run(py, &samples.0, n_threads, Expansion::decision)?;
        Ok(decision.into_pyarray(py))
    }

    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let winners = self.run(py, &samples.0, n_threads, Expansion::predict)?;
        let winners: Vec<i64> = winners.into_iter().map(|winner| winner as i64).collect();
        Ok(winners.into_pyarray(py))
    }

    fn decision_from_kernel<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let decision = self.0.decision_from_kernel(values.as_array())?;
        Ok(decision.into_pyarray(py))
    }
}

#[pyfunction(name = "vote")]
fn py_vote<'py>(
    py: Python<'py>,
    decision: PyReadonlyArray2<f64>,
    n_classes: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let pairs = n_classes * n_classes.saturating_sub(1) / 2;
    let decision = decision.as_array();
    if pairs == 0 || decision.ncols() != pairs {
        let (expected, got) = (format!("{pairs} columns"), decision.ncols().to_string());
        return Err(Error::shape("decision", expected, got).into());
    }
    let winners: Vec<i64> = vote(decision, n_classes)
        .into_iter()
        .map(|w| w as i64)
        .collect();
    Ok(winners.into_pyarray(py))
}

#[pyfunction]
fn available_threads() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked
        .and_then(|text| text.parse::<usize>().ok())
        .filter(|&n| n > 0);
    // The standard library asks for affinity and cgroup quota.
    let has = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.unwrap_or_else(has)
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{
        PyExpansion, PyKernel, PyReport, PySamples, PySvcFit, available_threads, fit_svc, py_vote,
    };
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
