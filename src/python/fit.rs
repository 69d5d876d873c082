//! What a fit gives back. Arrays are handed over, not copied.

use super::arrays::int32;
use super::past::PyPast;
use super::run;
use crate::model::{Machine, Machines, Past};
use crate::qp::{Epoch, Report};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

#[pyclass(name = "Report", module = "mercer._core", frozen)]
pub(super) struct PyReport(pub(super) Report);

#[pymethods]
impl PyReport {
    #[getter]
    fn status(&self) -> String {
        self.0.status.to_string()
    }
    #[getter]
    fn method(&self) -> String {
        self.0.method.to_string()
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
    fn primal_objective(&self) -> f64 {
        self.0.primal_objective
    }
    #[getter]
    fn duality_gap(&self) -> f64 {
        self.0.duality_gap
    }
    #[getter]
    fn squared_norm(&self) -> f64 {
        self.0.squared_norm
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
    fn cache_bypasses(&self) -> u64 {
        self.0.cache_bypasses
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

/// What any machine finds: a machine without classes is a classifier of one class.
pub(super) struct Trained {
    pub machines: Machines,
    /// Half the width of the tube, of the regression that finds it.
    pub epsilon: Option<f64>,
    /// R^2, of a sphere.
    pub squared_radius: Option<f64>,
    /// k(x, x) of a precomputed kernel, of a sphere, if it is the same for all rows.
    pub diagonal: Option<f64>,
}

impl From<Machines> for Trained {
    fn from(machines: Machines) -> Self {
        Trained {
            machines,
            epsilon: None,
            squared_radius: None,
            diagonal: None,
        }
    }
}

impl From<Machine> for Trained {
    fn from(machine: Machine) -> Self {
        Machines::from(machine).into()
    }
}

#[pyclass(name = "Fit", module = "mercer._core", frozen, get_all)]
pub(super) struct PyFit {
    support: Py<PyArray1<i32>>,
    n_support: Py<PyArray1<i32>>,
    dual_coef: Py<PyArray2<f64>>,
    intercept: Py<PyArray1<f64>>,
    reports: Vec<Py<PyReport>>,
    histories: Vec<Py<PyArray2<f64>>>,
    epsilon: Option<f64>,
    squared_radius: Option<f64>,
    diagonal: Option<f64>,
    /// What the next fit may start from, if that was asked for.
    past: Option<Py<PyPast>>,
    /// What a signal handler or a callback has raised: this is how far the fit had come.
    raised: Option<Py<PyBaseException>>,
}

impl PyFit {
    /// Adds what the next fit may start from, and what was raised meanwhile.
    pub fn stopped(self, py: Python, past: Option<Past>, raised: Option<PyErr>) -> PyResult<Self> {
        let past = past.map(|past| Py::new(py, PyPast(past)));
        Ok(PyFit {
            past: past.transpose()?,
            raised: raised.map(|raised| raised.into_value(py)),
            ..self
        })
    }

    pub fn new(py: Python, trained: Trained) -> PyResult<Self> {
        let machines = trained.machines;
        let reports = machines.reports.into_iter();
        let histories = machines.histories.iter();
        Ok(PyFit {
            support: int32(py, &machines.support)?.unbind(),
            n_support: int32(py, &machines.n_support)?.unbind(),
            dual_coef: run::objects(|| machines.dual_coef.into_pyarray(py).unbind())?,
            intercept: run::objects(|| machines.intercept.into_pyarray(py).unbind())?,
            reports: reports
                .map(|report| Py::new(py, PyReport(report)))
                .collect::<PyResult<_>>()?,
            histories: histories
                .map(|epochs| table(epochs).into_pyarray(py).unbind())
                .collect(),
            epsilon: trained.epsilon,
            squared_radius: trained.squared_radius,
            diagonal: trained.diagonal,
            past: None,
            raised: None,
        })
    }
}

/// Returns a row for each epoch.
fn table(epochs: &[Epoch]) -> Array2<f64> {
    Array2::from_shape_fn((epochs.len(), 4), |(row, column)| {
        let epoch = &epochs[row];
        [epoch.objective, epoch.margin, epoch.intercept, epoch.gap][column]
    })
}
