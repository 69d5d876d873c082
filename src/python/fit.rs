//! Training: one function for each machine, and what they give back.

use super::{PyKernel, PySamples, copy, multiclass_named, run};
use crate::error::Error;
use crate::formulation::{Intercept, Loss};
use crate::model::{Machine, Machines, Margin, NuSvr, OneClassSvm, Svdd, Svr, fit_from};
use crate::qp::{Adatron, Epoch, Report, Smo, Solver, StopRule};
use ndarray::{Array1, Array2, Axis};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

#[pyclass(name = "Report", module = "mercer._core", frozen)]
pub(super) struct PyReport(Report);

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
    #[getter]
    fn phases(&self) -> (f64, f64, f64, f64) {
        let phases = self.0.phases;
        (phases.selection, phases.kernel, phases.inner, phases.update)
    }
}

/// What any fit gives back.
#[pyclass(name = "Fit", module = "mercer._core", frozen)]
pub(super) struct PyFit {
    support: Vec<usize>,
    n_support: Vec<usize>,
    dual_coef: Array2<f64>,
    intercept: Vec<f64>,
    reports: Vec<Report>,
    histories: Vec<Vec<Epoch>>,
    #[pyo3(get)]
    epsilon: Option<f64>,
    #[pyo3(get)]
    squared_radius: Option<f64>,
}

impl From<Machines> for PyFit {
    fn from(fit: Machines) -> Self {
        PyFit {
            support: fit.support,
            n_support: fit.n_support,
            dual_coef: fit.dual_coef,
            intercept: fit.intercept,
            reports: fit.reports,
            histories: fit.histories,
            epsilon: None,
            squared_radius: None,
        }
    }
}

impl From<Machine> for PyFit {
    fn from(fit: Machine) -> Self {
        PyFit {
            n_support: vec![fit.support.len()],
            support: fit.support,
            dual_coef: Array1::from_vec(fit.dual_coef).insert_axis(Axis(0)),
            intercept: vec![fit.intercept],
            reports: vec![fit.report],
            histories: vec![fit.history],
            epsilon: None,
            squared_radius: None,
        }
    }
}

fn int32<'py>(py: Python<'py>, values: &[usize]) -> Bound<'py, PyArray1<i32>> {
    let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
    values.into_pyarray(py)
}

#[pymethods]
impl PyFit {
    #[getter]
    fn support<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        int32(py, &self.support)
    }
    #[getter]
    fn n_support<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        int32(py, &self.n_support)
    }
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.dual_coef.clone().into_pyarray(py)
    }
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.intercept.clone().into_pyarray(py)
    }
    #[getter]
    fn reports(&self) -> Vec<PyReport> {
        self.reports
            .iter()
            .map(|&report| PyReport(report))
            .collect()
    }
    #[getter]
    fn histories<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray2<f64>>> {
        let table = |epochs: &Vec<Epoch>| {
            let shape = (epochs.len(), 4);
            let table = Array2::from_shape_fn(shape, |(row, column)| {
                let epoch = &epochs[row];
                [epoch.objective, epoch.margin, epoch.bias, epoch.gap][column]
            });
            table.into_pyarray(py)
        };
        self.histories.iter().map(table).collect()
    }
    /// The squared norm of a sphere's centre.
    #[getter]
    fn squared_norm(&self) -> Option<f64> {
        self.squared_radius.map(|_| -self.intercept[0])
    }
}

/// How a fit is done: the keyword arguments that all fits have.
struct Options {
    solver: Solver,
    n_threads: usize,
    progress: Option<Py<PyAny>>,
}

impl Options {
    const NAMES: [&str; 9] = [
        "solver",
        "eta",
        "tol",
        "shrinking",
        "cache_bytes",
        "max_iter",
        "max_time",
        "n_threads",
        "progress",
    ];

    fn new(given: Option<&Bound<PyDict>>) -> PyResult<Self> {
        for name in given.map(|given| given.keys()).iter().flatten() {
            let name: String = name.extract()?;
            if !Self::NAMES.contains(&name.as_str()) {
                let message = format!("unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(message));
            }
        }
        let optional = |name: &str| -> PyResult<Option<Bound<PyAny>>> {
            Ok(given
                .map(|given| given.get_item(name))
                .transpose()?
                .flatten())
        };
        let required = |name: &str| {
            let missing = || PyTypeError::new_err(format!("missing keyword argument '{name}'"));
            optional(name)?.ok_or_else(missing)
        };
        let max_time: Option<f64> = required("max_time")?.extract()?;
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
        let max_iter: i64 = required("max_iter")?.extract()?;
        let stop = StopRule {
            tolerance: required("tol")?.extract()?,
            max_iterations: u64::try_from(max_iter).ok(),
            time_limit,
        };
        let cache_bytes = required("cache_bytes")?.extract()?;
        let name: String = required("solver")?.extract()?;
        let solver = match name.as_str() {
            "smo" => Solver::Smo(Smo {
                stop,
                shrinking: required("shrinking")?.extract()?,
                cache_bytes,
                ..Smo::default()
            }),
            "adatron" => Solver::Adatron(Adatron {
                stop,
                eta: required("eta")?.extract()?,
                cache_bytes,
            }),
            _ => return Err(Error::parameter("solver", "'smo' or 'adatron'", name).into()),
        };
        Ok(Options {
            solver,
            n_threads: required("n_threads")?.extract()?,
            progress: match optional("progress")? {
                Some(function) => function.extract()?,
                None => None,
            },
        })
    }

    /// Runs a fit on the threads asked for.
    fn run<R: Send>(
        self,
        py: Python,
        fit: impl FnOnce(&run::Watch) -> crate::Result<R> + Send,
    ) -> PyResult<R> {
        Ok(run::interruptible(py, self.n_threads, self.progress, fit)??)
    }
}

fn loss(squared: bool) -> Loss {
    if squared { Loss::Squared } else { Loss::Linear }
}

fn intercept_named(name: &str) -> PyResult<Intercept> {
    match name {
        "free" => Ok(Intercept::Free),
        "none" => Ok(Intercept::None),
        "penalized" => Ok(Intercept::Penalized),
        _ => {
            let allowed = "'free', 'none' or 'penalized'";
            Err(Error::parameter("intercept", allowed, name).into())
        }
    }
}

/// Trains a classifier on class numbers.
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
fn fit_classifier(
    py: Python,
    samples: &PySamples,
    labels: &PyReadonlyArray1<i64>,
    cost: &PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    (margin, multiclass): (Margin, &str),
    start: Option<Vec<f64>>,
    options: Options,
) -> PyResult<PyFit> {
    let out_of_range = |_| Error::parameter("y", "class numbers", "a negative number");
    let labels: Vec<usize> = copy(labels)
        .into_iter()
        .map(usize::try_from)
        .collect::<Result<_, _>>()
        .map_err(out_of_range)?;
    let cost = copy(cost);
    let classes = labels.iter().max().map_or(0, |&largest| largest + 1);
    let multiclass = multiclass_named(multiclass)?;
    let (samples, kernel, solver) = (&samples.0, &kernel.0, options.solver);
    let fit = options.run(py, |monitor| match &start {
        Some(start) => fit_from(
            start, kernel, samples, &labels, &cost, margin, &solver, monitor,
        ),
        None => multiclass.fit(
            kernel, samples, &labels, classes, &cost, margin, &solver, monitor,
        ),
    })?;
    Ok(fit.into())
}

#[pyfunction]
#[pyo3(signature = (samples, labels, cost, kernel, *, squared, intercept, multiclass, start=None, **options))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub(super) fn fit_svc(
    py: Python,
    samples: &PySamples,
    labels: PyReadonlyArray1<i64>,
    cost: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    squared: bool,
    intercept: &str,
    multiclass: &str,
    start: Option<PyReadonlyArray1<f64>>,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let margin = Margin::Soft {
        loss: loss(squared),
        intercept: intercept_named(intercept)?,
    };
    let options = Options::new(options)?;
    fit_classifier(
        py,
        samples,
        &labels,
        &cost,
        kernel,
        (margin, multiclass),
        start.as_ref().map(copy),
        options,
    )
}

#[pyfunction]
#[pyo3(signature = (samples, labels, weight, kernel, *, nu, multiclass, **options))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub(super) fn fit_nu_svc(
    py: Python,
    samples: &PySamples,
    labels: PyReadonlyArray1<i64>,
    weight: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    nu: f64,
    multiclass: &str,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let options = Options::new(options)?;
    let margin = (Margin::Nu(nu), multiclass);
    fit_classifier(py, samples, &labels, &weight, kernel, margin, None, options)
}

#[pyfunction]
#[pyo3(signature = (samples, target, cost, kernel, *, epsilon, squared, intercept, **options))]
#[allow(clippy::too_many_arguments)] // Python's keyword arguments
pub(super) fn fit_svr(
    py: Python,
    samples: &PySamples,
    target: PyReadonlyArray1<f64>,
    cost: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    epsilon: f64,
    squared: bool,
    intercept: &str,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let (options, target, cost) = (Options::new(options)?, copy(&target), copy(&cost));
    let machine = Svr::new(kernel.0.clone())
        .epsilon(epsilon)
        .loss(loss(squared))
        .intercept(intercept_named(intercept)?)
        .solver(options.solver);
    let samples = &samples.0;
    let fit = options.run(py, |monitor| {
        machine.train(samples, &target, &cost, monitor)
    })?;
    Ok(fit.into())
}

#[pyfunction]
#[pyo3(signature = (samples, target, cost, kernel, *, nu, **options))]
pub(super) fn fit_nu_svr(
    py: Python,
    samples: &PySamples,
    target: PyReadonlyArray1<f64>,
    cost: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    nu: f64,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let (options, target, cost) = (Options::new(options)?, copy(&target), copy(&cost));
    let machine = NuSvr::new(kernel.0.clone()).nu(nu).solver(options.solver);
    let samples = &samples.0;
    let (fit, epsilon) = options.run(py, |monitor| {
        machine.train(samples, &target, &cost, monitor)
    })?;
    Ok(PyFit {
        epsilon: Some(epsilon),
        ..fit.into()
    })
}

#[pyfunction]
#[pyo3(signature = (samples, weight, kernel, *, nu, squared, **options))]
pub(super) fn fit_one_class(
    py: Python,
    samples: &PySamples,
    weight: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    nu: f64,
    squared: bool,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let (options, weight) = (Options::new(options)?, copy(&weight));
    let machine = OneClassSvm::new(kernel.0.clone())
        .nu(nu)
        .loss(loss(squared))
        .solver(options.solver);
    let samples = &samples.0;
    let fit = options.run(py, |monitor| machine.train(samples, &weight, monitor))?;
    Ok(fit.into())
}

#[pyfunction]
#[pyo3(signature = (samples, weight, kernel, *, nu, squared, **options))]
pub(super) fn fit_svdd(
    py: Python,
    samples: &PySamples,
    weight: PyReadonlyArray1<f64>,
    kernel: &PyKernel,
    nu: f64,
    squared: bool,
    options: Option<&Bound<PyDict>>,
) -> PyResult<PyFit> {
    let (options, weight) = (Options::new(options)?, copy(&weight));
    let machine = Svdd::new(kernel.0.clone())
        .nu(nu)
        .loss(loss(squared))
        .solver(options.solver);
    let samples = &samples.0;
    let (fit, squared_radius) =
        options.run(py, |monitor| machine.train(samples, &weight, monitor))?;
    Ok(PyFit {
        squared_radius: Some(squared_radius),
        ..fit.into()
    })
}
