//! Linear machines: weights in place of coefficients.

use super::arrays::{copy, numbers};
use super::fit::PyReport;
use super::formulation::check_length;
use super::run;
use super::samples::PySamples;
use super::settings::PySettings;
use crate::formulation::Loss;
use crate::kernel::Kernel;
use crate::model::LinearTraining;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

#[pyclass(name = "LinearFit", module = "mercer._core", frozen, get_all)]
pub(super) struct PyLinearFit {
    coef: Py<PyArray2<f64>>,
    intercept: Py<PyArray1<f64>>,
    reports: Vec<Py<PyReport>>,
}

#[pyfunction]
#[pyo3(signature = (samples, target, cost, settings, loss))]
pub(super) fn fit_linear(
    py: Python,
    samples: &PySamples,
    target: &Bound<PyAny>,
    cost: PyReadonlyArray1<f64>,
    settings: &PySettings,
    loss: (bool, f64, Option<f64>),
) -> PyResult<PyLinearFit> {
    let (squared, constant, epsilon) = loss;
    let samples = &*samples.0;
    let cost = copy(&cost)?;
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    match epsilon {
        Some(_) => values = copy(&target.extract::<PyReadonlyArray1<f64>>()?)?,
        None => labels = numbers("y", target)?,
    }
    check_length("y", labels.len() + values.len(), samples)?;
    check_length("sample_weight", cost.len(), samples)?;
    let machines = settings.run(py, &Kernel::Linear, samples, |monitor| {
        let training = LinearTraining {
            samples,
            cost: &cost,
            loss: if squared { Loss::Squared } else { Loss::Linear },
            constant,
            stop: *settings.solver.stop(),
            monitor,
        };
        match epsilon {
            Some(epsilon) => Ok(vec![training.regression(&values, epsilon)?]),
            None => {
                let classes = labels.iter().max().map_or(0, |last| last + 1);
                training.classes(&labels, classes)
            }
        }
    })?;
    let shape = (machines.len(), samples.columns());
    let coef = machines.iter().flat_map(|machine| &machine.weights);
    let coef = Array2::from_shape_vec(shape, coef.copied().collect()).unwrap_or_default();
    let intercept: Vec<f64> = machines.iter().map(|machine| machine.intercept).collect();
    Ok(PyLinearFit {
        coef: run::objects(|| coef.into_pyarray(py).unbind())?,
        intercept: run::objects(|| intercept.into_pyarray(py).unbind())?,
        reports: machines
            .iter()
            .map(|machine| Py::new(py, PyReport(machine.report)))
            .collect::<PyResult<_>>()?,
    })
}
