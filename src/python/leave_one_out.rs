//! Leaving rows out, one after another.

use super::arrays::{copy, numbers};
use super::expansion::{check_tree, multiclass_of};
use super::fit::PyReport;
use super::formulation::{PyFormulation, check_length, intercept_named};
use super::kernel::PyKernel;
use super::run;
use super::samples::PySamples;
use super::search::check_columns;
use super::settings::PySettings;
use crate::search::{Fit, LeaveOneOut, Spans, Sphere};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// What leaving rows out gives back.
#[pyclass(name = "LeftOut", module = "mercer._core", frozen, get_all)]
pub(super) struct PyLeftOut {
    values: Py<PyArray2<f64>>,
    reports: Vec<Py<PyReport>>,
    solved: usize,
    from_solver: usize,
    unconverged: usize,
}

#[pyfunction]
pub(super) fn leave_one_out(
    py: Python,
    formulation: &PyFormulation,
    kernel: &PyKernel,
    samples: &PySamples,
    rows: (Option<Bound<PyAny>>, PyReadonlyArray1<f64>),
    settings: &PySettings,
) -> PyResult<PyLeftOut> {
    let (samples, (target, weight)) = (&*samples.0, rows);
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    if let Some(target) = target {
        match target.extract::<PyReadonlyArray1<f64>>() {
            Ok(target) => values = copy(&target)?,
            Err(_) => labels = numbers("y", &target)?,
        }
        check_length("y", labels.len() + values.len(), samples)?;
    }
    let weights = copy(&weight)?;
    check_length("sample_weight", weights.len(), samples)?;
    let asked: Vec<usize> = (0..samples.rows()).collect();
    let (kernel, mut solver) = (kernel.0.clone(), settings.solver);
    let bytes = *solver.cache_bytes_mut();
    let work = |monitor: &run::Watch| {
        let leave = LeaveOneOut::new(samples).bytes(bytes).monitor(monitor);
        match formulation.sphere() {
            Some((nu, loss)) => leave.run_sphere(&Sphere {
                kernel: kernel.clone(),
                nu,
                loss,
                weights: weights.clone(),
                asked: asked.clone(),
                solver,
            }),
            None => leave.run(&Fit {
                formulation: formulation.shared().map_err(|_| unshared())?,
                kernel: kernel.clone(),
                labels: labels.clone(),
                target: values.clone(),
                cost: weights.clone(),
                asked: asked.clone(),
                solver,
            }),
        }
    };
    let found = settings.run_many(py, &kernel, samples, 4, work)?;
    let reports = found.reports.into_iter();
    Ok(PyLeftOut {
        values: run::objects(|| found.values.into_pyarray(py).unbind())?,
        reports: reports
            .map(|report| Py::new(py, PyReport(report)))
            .collect::<PyResult<_>>()?,
        solved: found.solved,
        from_solver: found.from_solver,
        unconverged: found.unconverged,
    })
}

/// The error of a machine that rows cannot be left out of.
fn unshared() -> crate::error::Error {
    crate::error::Error::parameter("estimator", "a machine without a start", "one with a start")
}

/// Coefficients, their lower and upper bounds, and ridges.
type Vectors<'py> = [PyReadonlyArray1<'py, f64>; 4];

#[pyfunction]
pub(super) fn spans<'py>(
    py: Python<'py>,
    kernel: &PyKernel,
    samples: &PySamples,
    vectors: Vectors,
    intercept: &str,
    settings: &PySettings,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let [beta, lower, upper, ridge] = vectors;
    let (kernel, samples) = (&kernel.0, &*samples.0);
    let spans = Spans {
        kernel: kernel.clone(),
        beta: copy(&beta)?,
        lower: copy(&lower)?,
        upper: copy(&upper)?,
        ridge: copy(&ridge)?,
        intercept: intercept_named(intercept)?,
    };
    let found = settings.run_many(py, kernel, samples, 4, |watch| spans.run(samples, watch))?;
    run::objects(|| found.into_pyarray(py))
}

#[pyfunction]
pub(super) fn confidences<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    n_classes: usize,
    multiclass: &Bound<PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let multiclass = multiclass_of(multiclass)?;
    check_tree(&multiclass, n_classes)?;
    check_columns(values.shape()[1], multiclass.machines(n_classes))?;
    let all = multiclass.confidences(values.as_array(), n_classes);
    run::objects(|| all.into_pyarray(py))
}
