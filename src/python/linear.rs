//! Linear machines: weights in place of coefficients.

use super::arrays::{copy, numbers};
use super::fit::PyReport;
use super::formulation::check_length;
use super::run;
use super::samples::PySamples;
use super::settings::PySettings;
use crate::error::Error;
use crate::formulation::Loss;
use crate::kernel::Kernel;
use crate::model::{LinearMachine, LinearTraining};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

#[pyclass(name = "LinearFit", module = "mercer._core", frozen, get_all)]
pub(super) struct PyLinearFit {
    coef: Py<PyArray2<f64>>,
    intercept: Py<PyArray1<f64>>,
    reports: Vec<Py<PyReport>>,
}

#[pyclass(name = "LinearFormulation", module = "mercer._core", frozen)]
pub(super) struct PyLinearFormulation {
    loss: Loss,
    constant: f64,
    class_weight: Vec<f64>,
    epsilon: Option<f64>,
}

#[pymethods]
impl PyLinearFormulation {
    #[new]
    #[pyo3(signature = (*, squared, constant, class_weight=None, epsilon=None))]
    fn new(
        squared: bool,
        constant: f64,
        class_weight: Option<PyReadonlyArray1<f64>>,
        epsilon: Option<f64>,
    ) -> PyResult<Self> {
        let class_weight = class_weight.as_ref().map(copy).transpose()?;
        Ok(PyLinearFormulation {
            loss: if squared { Loss::Squared } else { Loss::Linear },
            constant,
            class_weight: class_weight.unwrap_or_default(),
            epsilon,
        })
    }

    fn fit(
        &self,
        py: Python,
        samples: &PySamples,
        target: &Bound<PyAny>,
        cost: PyReadonlyArray1<f64>,
        settings: &PySettings,
    ) -> PyResult<PyLinearFit> {
        let samples = &*samples.0;
        let cost = copy(&cost)?;
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        match self.epsilon {
            Some(_) => values = copy(&target.extract::<PyReadonlyArray1<f64>>()?)?,
            None => labels = numbers("y", target)?,
        }
        let factors = &self.class_weight;
        if let Some(class) = labels.iter().find(|&&class| class >= factors.len()) {
            let expected = format!("a weight for class {class}");
            return Err(Error::shape("class_weight", expected, factors.len().to_string()).into());
        }
        check_length("y", labels.len() + values.len(), samples)?;
        check_length("sample_weight", cost.len(), samples)?;
        let machines = settings.run(py, &Kernel::Linear, samples, |monitor| {
            let training = LinearTraining {
                samples,
                cost: &cost,
                loss: self.loss,
                constant: self.constant,
                stop: *settings.solver.stop(),
                monitor,
            };
            match self.epsilon {
                Some(epsilon) => Ok(vec![training.regression(&values, epsilon)?]),
                None => training.classes(&labels, factors),
            }
        })?;
        packed(py, &machines, samples.columns())
    }
}

/// Hands the machines over.
fn packed(py: Python, machines: &[LinearMachine], columns: usize) -> PyResult<PyLinearFit> {
    let shape = (machines.len(), columns);
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
