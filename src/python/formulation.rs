//! What is fitted: a constructor for each machine, and one way to train them all.

use super::arrays::{copy, numbers};
use super::expansion::multiclass_named;
use super::fit::{PyFit, Trained};
use super::kernel::PyKernel;
use super::run;
use super::samples::PySamples;
use super::settings::PySettings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss};
use crate::kernel::Kernel;
use crate::model::{Margin, Multiclass, NuSvc, NuSvr, OneClassSvm, Svc, Svdd, Svr};
use crate::qp::{Monitor, Solver};
use crate::search;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

#[pyclass(name = "Formulation", module = "mercer._core", frozen)]
pub(super) struct PyFormulation(Formulation);

enum Formulation {
    Svc(SvcParameters),
    NuSvc {
        nu: f64,
        multiclass: Multiclass,
    },
    Svr {
        epsilon: f64,
        loss: Loss,
        intercept: Intercept,
    },
    NuSvr {
        nu: f64,
    },
    OneClass {
        nu: f64,
        loss: Loss,
    },
    Svdd {
        nu: f64,
        loss: Loss,
    },
}

struct SvcParameters {
    loss: Loss,
    intercept: Intercept,
    multiclass: Multiclass,
    start: Option<Vec<f64>>,
}

impl SvcParameters {
    fn machine(&self, kernel: Kernel) -> Svc {
        let machine = Svc::new(kernel).loss(self.loss).intercept(self.intercept);
        let machine = machine.multiclass(self.multiclass);
        match &self.start {
            Some(start) => machine.start(start),
            None => machine,
        }
    }
}

/// What is trained on: samples, their class numbers or values, and their weights or costs.
struct Rows<'a> {
    samples: &'a Samples,
    labels: Vec<usize>,
    values: Vec<f64>,
    weight: Vec<f64>,
}

impl Formulation {
    fn train(
        &self,
        kernel: Kernel,
        rows: &Rows,
        solver: Solver,
        monitor: &dyn Monitor,
    ) -> Result<Trained> {
        let (samples, weight) = (rows.samples, rows.weight.as_slice());
        let (labels, values) = (rows.labels.as_slice(), rows.values.as_slice());
        Ok(match self {
            Formulation::Svc(parameters) => {
                let machine = parameters.machine(kernel).solver(solver);
                machine.train(samples, labels, weight, monitor)?.into()
            }
            Formulation::NuSvc { nu, multiclass } => {
                let machine = NuSvc::new(kernel).nu(*nu).multiclass(*multiclass);
                let machine = machine.solver(solver);
                machine.train(samples, labels, weight, monitor)?.into()
            }
            Formulation::Svr {
                epsilon,
                loss,
                intercept,
            } => {
                let machine = Svr::new(kernel).epsilon(*epsilon).loss(*loss);
                let machine = machine.intercept(*intercept).solver(solver);
                machine.train(samples, values, weight, monitor)?.into()
            }
            Formulation::NuSvr { nu } => {
                let machine = NuSvr::new(kernel).nu(*nu).solver(solver);
                let (machine, epsilon) = machine.train(samples, values, weight, monitor)?;
                Trained {
                    epsilon: Some(epsilon),
                    ..machine.into()
                }
            }
            Formulation::OneClass { nu, loss } => {
                let machine = OneClassSvm::new(kernel).nu(*nu).loss(*loss).solver(solver);
                machine.train(samples, weight, monitor)?.into()
            }
            Formulation::Svdd { nu, loss } => {
                let machine = Svdd::new(kernel).nu(*nu).loss(*loss).solver(solver);
                let sphere = machine.train(samples, weight, monitor)?;
                Trained {
                    squared_radius: Some(sphere.squared_radius),
                    diagonal: sphere.diagonal,
                    ..sphere.machine.into()
                }
            }
        })
    }
}

impl PyFormulation {
    /// Returns nu and loss of a sphere, which many fits at once do not know.
    pub fn sphere(&self) -> Option<(f64, Loss)> {
        match &self.0 {
            Formulation::Svdd { nu, loss } => Some((*nu, *loss)),
            _ => None,
        }
    }

    /// Returns what many fits at once know; an error for a machine that they do not.
    pub fn shared(&self) -> PyResult<search::Formulation> {
        Ok(match &self.0 {
            Formulation::Svc(SvcParameters {
                loss,
                intercept,
                multiclass,
                start: None,
            }) => search::Formulation::Classifier {
                margin: Margin::Soft {
                    loss: *loss,
                    intercept: *intercept,
                },
                multiclass: *multiclass,
            },
            Formulation::NuSvc { nu, multiclass } => search::Formulation::Classifier {
                margin: Margin::Nu(*nu),
                multiclass: *multiclass,
            },
            Formulation::Svr {
                epsilon,
                loss,
                intercept,
            } => search::Formulation::Regression {
                epsilon: *epsilon,
                loss: *loss,
                intercept: *intercept,
            },
            Formulation::NuSvr { nu } => search::Formulation::NuRegression { nu: *nu },
            Formulation::OneClass { nu, loss } => search::Formulation::OneClass {
                nu: *nu,
                loss: *loss,
            },
            Formulation::Svc(_) | Formulation::Svdd { .. } => {
                let message = "this machine shares no work with others";
                return Err(PyTypeError::new_err(message));
            }
        })
    }
}

fn loss(squared: bool) -> Loss {
    if squared { Loss::Squared } else { Loss::Linear }
}

pub(super) fn intercept_named(name: &str) -> PyResult<Intercept> {
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

/// Checks that there is one entry per row.
pub(super) fn check_length(name: &'static str, length: usize, samples: &Samples) -> PyResult<()> {
    if length == samples.rows() {
        return Ok(());
    }
    let expected = format!("{} entries, one per row of X", samples.rows());
    Err(Error::shape(name, expected, length.to_string()).into())
}

#[pymethods]
impl PyFormulation {
    #[staticmethod]
    #[pyo3(signature = (*, squared, intercept, multiclass, start=None))]
    fn svc(
        squared: bool,
        intercept: &str,
        multiclass: &str,
        start: Option<PyReadonlyArray1<f64>>,
    ) -> PyResult<Self> {
        Ok(PyFormulation(Formulation::Svc(SvcParameters {
            loss: loss(squared),
            intercept: intercept_named(intercept)?,
            multiclass: multiclass_named(multiclass)?,
            start: start.as_ref().map(copy).transpose()?,
        })))
    }

    #[staticmethod]
    #[pyo3(signature = (*, nu, multiclass))]
    fn nu_svc(nu: f64, multiclass: &str) -> PyResult<Self> {
        let multiclass = multiclass_named(multiclass)?;
        Ok(PyFormulation(Formulation::NuSvc { nu, multiclass }))
    }

    #[staticmethod]
    #[pyo3(signature = (*, epsilon, squared, intercept))]
    fn svr(epsilon: f64, squared: bool, intercept: &str) -> PyResult<Self> {
        Ok(PyFormulation(Formulation::Svr {
            epsilon,
            loss: loss(squared),
            intercept: intercept_named(intercept)?,
        }))
    }

    #[staticmethod]
    #[pyo3(signature = (*, nu))]
    fn nu_svr(nu: f64) -> Self {
        PyFormulation(Formulation::NuSvr { nu })
    }

    #[staticmethod]
    #[pyo3(signature = (*, nu, squared))]
    fn one_class(nu: f64, squared: bool) -> Self {
        let loss = loss(squared);
        PyFormulation(Formulation::OneClass { nu, loss })
    }

    #[staticmethod]
    #[pyo3(signature = (*, nu, squared))]
    fn svdd(nu: f64, squared: bool) -> Self {
        let loss = loss(squared);
        PyFormulation(Formulation::Svdd { nu, loss })
    }

    fn fit(
        &self,
        py: Python,
        kernel: &PyKernel,
        samples: &PySamples,
        target: Option<&Bound<PyAny>>,
        weight: PyReadonlyArray1<f64>,
        settings: &PySettings,
    ) -> PyResult<PyFit> {
        let samples = &*samples.0;
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        if let Some(target) = target {
            match target.extract::<PyReadonlyArray1<f64>>() {
                Ok(target) => values = copy(&target)?,
                Err(_) => labels = numbers("y", target)?,
            }
            check_length("y", labels.len() + values.len(), samples)?;
        }
        let weight = copy(&weight)?;
        check_length("sample_weight", weight.len(), samples)?;
        let rows = Rows {
            samples,
            labels,
            values,
            weight,
        };
        let trained = settings.run(py, &kernel.0, samples, |monitor| {
            let solver = settings.solver;
            self.0.train(kernel.0.clone(), &rows, solver, monitor)
        })?;
        PyFit::new(py, trained)
    }
}

#[pyfunction]
pub(super) fn feasible_nu<'py>(
    py: Python<'py>,
    nu: f64,
    labels: &Bound<PyAny>,
    cost: PyReadonlyArray1<f64>,
    weight: PyReadonlyArray1<f64>,
    multiclass: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (labels, cost, weight) = (numbers("y", labels)?, copy(&cost)?, copy(&weight)?);
    for (name, length) in [("cost", cost.len()), ("weight", weight.len())] {
        if length != labels.len() {
            let expected = format!("{} entries", labels.len());
            return Err(Error::shape(name, expected, length.to_string()).into());
        }
    }
    let shares = multiclass_named(multiclass)?.feasible_nu(nu, &labels, &cost, &weight)?;
    run::objects(|| shares.into_pyarray(py))
}
