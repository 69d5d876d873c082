//! The Python binding `mercer._core`: unpack, release the GIL, call, repack.
//!
//! A call runs on a thread pool of its own size while the thread that called waits with a timeout,
//! checks for signals and raises a flag that the workers poll ([`run::interruptible`]). Its types
//! are described in `python/mercer/_core.pyi`.

mod fit;
mod run;
mod user_kernel;

use crate::data::{Samples, Values};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::model::{Expansion, Multiclass};
use crate::qp::Monitor;
use crate::simd::Real;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

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

    fn diagonal<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.0.diagonal(&samples.0)?.into_pyarray(py))
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
    #[pyo3(signature = (kernel, support_vectors, n_support, dual_coef, intercept, multiclass="ovo"))]
    fn new(
        kernel: &PyKernel,
        support_vectors: Option<&PySamples>,
        n_support: PyReadonlyArray1<i32>,
        dual_coef: PyReadonlyArray2<f64>,
        intercept: PyReadonlyArray1<f64>,
        multiclass: &str,
    ) -> PyResult<Self> {
        let negative = |_| Error::parameter("n_support", "counts", "a negative number");
        let n_support: Vec<usize> = copy(&n_support)
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<_, _>>()
            .map_err(negative)?;
        Ok(PyExpansion(Expansion::with_multiclass(
            kernel.0.clone(),
            support_vectors.map(|samples| Samples::clone(&samples.0)),
            &n_support,
            dual_coef.as_array(),
            &copy(&intercept),
            multiclass_named(multiclass)?,
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

fn multiclass_named(name: &str) -> PyResult<Multiclass> {
    match name {
        "ovo" => Ok(Multiclass::OneVsOne),
        "ovr" => Ok(Multiclass::OneVsRest),
        "dag" => Ok(Multiclass::Dag),
        _ => Err(Error::parameter("multiclass", "'ovo', 'ovr' or 'dag'", name).into()),
    }
}

#[pyfunction]
fn winners<'py>(
    py: Python<'py>,
    decision: PyReadonlyArray2<f64>,
    n_classes: usize,
    multiclass: &str,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let multiclass = multiclass_named(multiclass)?;
    let (machines, decision) = (multiclass.machines(n_classes), decision.as_array());
    if n_classes < 2 || decision.ncols() != machines {
        let (expected, got) = (format!("{machines} columns"), decision.ncols().to_string());
        return Err(Error::shape("decision", expected, got).into());
    }
    let winners = multiclass.winners(decision, n_classes).into_iter();
    let winners: Vec<i64> = winners.map(|winner| winner as i64).collect();
    Ok(winners.into_pyarray(py))
}

#[pyfunction]
fn available_threads() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked
        .and_then(|text| text.parse::<usize>().ok())
        .filter(|&n| n > 0);
    asked.unwrap_or_else(processors)
}

/// Returns the processors of this process: the standard library asks for affinity and cgroup quota.
/// That reads files and takes longer than predicting one row, so an answer holds for a second.
fn processors() -> usize {
    static LAST: Mutex<Option<(Instant, usize)>> = Mutex::new(None);
    let ask = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let Ok(mut last) = LAST.lock() else {
        return ask();
    };
    match *last {
        Some((asked, count)) if asked.elapsed() < Duration::from_secs(1) => count,
        _ => {
            let count = ask();
            *last = Some((Instant::now(), count));
            count
        }
    }
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::fit::{
        PyFit, PyReport, fit_nu_svc, fit_nu_svr, fit_one_class, fit_svc, fit_svdd, fit_svr,
    };
    #[pymodule_export]
    use super::{PyExpansion, PyKernel, PySamples, available_threads, winners};
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
