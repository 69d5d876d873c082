//! What is fitted: a constructor for each machine, and one way to train them all.

use super::arrays::{copy, numbers};
use super::dual::PyDualProblem;
use super::expansion::multiclass_of;
use super::fit::{PyFit, Trained};
use super::kernel::PyKernel;
use super::past::PyPast;
use super::run;
use super::samples::PySamples;
use super::settings::PySettings;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{
    Intercept, Loss, SvcLoss, SvrLoss, boundary_shift, nu_svc, nu_svc::margin, one_class,
    squared_radius, svc, svdd, svr, tolerance_of_sphere,
};
use crate::kernel::Kernel;
use crate::model::{Margin, Multiclass, NuSvc, NuSvr, OneClassSvm, Session, Svc, Svdd, Svr};
use crate::qp::{Constraint, DualProblem, Solver};
use crate::search;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
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
        loss: SvrLoss,
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
    loss: SvcLoss,
    intercept: Intercept,
    multiclass: Multiclass,
    start: Option<Vec<f64>>,
}

impl SvcParameters {
    fn machine(&self, kernel: Kernel) -> Svc {
        let machine = Svc::new(kernel).loss(self.loss).intercept(self.intercept);
        let machine = machine.multiclass(self.multiclass.clone());
        match &self.start {
            Some(start) => machine.start(start),
            None => machine,
        }
    }
}

/// What is to be learnt for each row.
enum Target {
    None,
    Labels(Vec<usize>),
    Values(Vec<f64>),
    Columns(Array2<f64>),
}

impl Target {
    fn of(target: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let Some(target) = target else {
            return Ok(Target::None);
        };
        if let Ok(values) = target.extract::<PyReadonlyArray1<f64>>() {
            return Ok(Target::Values(copy(&values)?));
        }
        if let Ok(columns) = target.extract::<PyReadonlyArray2<f64>>() {
            return Ok(Target::Columns(columns.as_array().to_owned()));
        }
        Ok(Target::Labels(numbers("y", target)?))
    }

    /// Returns the number of rows that it is for.
    fn rows(&self) -> Option<usize> {
        match self {
            Target::None => None,
            Target::Labels(labels) => Some(labels.len()),
            Target::Values(values) => Some(values.len()),
            Target::Columns(columns) => Some(columns.nrows()),
        }
    }

    fn labels(&self) -> &[usize] {
        match self {
            Target::Labels(labels) => labels,
            _ => &[],
        }
    }

    fn values(&self) -> &[f64] {
        match self {
            Target::Values(values) => values,
            _ => &[],
        }
    }
}

/// What is trained on: samples, their class numbers or values, and their weights or costs.
struct Rows<'a> {
    samples: &'a Samples,
    target: Target,
    weight: Vec<f64>,
}

impl Formulation {
    fn train(
        &self,
        kernel: Kernel,
        rows: &Rows,
        solver: Solver,
        session: &Session,
    ) -> Result<Trained> {
        let (samples, weight) = (rows.samples, rows.weight.as_slice());
        let (labels, values) = (rows.target.labels(), rows.target.values());
        Ok(match self {
            Formulation::Svc(parameters) => {
                let machine = parameters.machine(kernel).solver(solver);
                machine.train(samples, labels, weight, session)?.into()
            }
            Formulation::NuSvc { nu, multiclass } => {
                let machine = NuSvc::new(kernel).nu(*nu).multiclass(multiclass.clone());
                let machine = machine.solver(solver);
                machine.train(samples, labels, weight, session)?.into()
            }
            Formulation::Svr {
                epsilon,
                loss,
                intercept,
            } => {
                let machine = Svr::new(kernel).epsilon(*epsilon).loss(*loss);
                let machine = machine.intercept(*intercept).solver(solver);
                match &rows.target {
                    Target::Columns(columns) => {
                        let columns = columns.view();
                        let machines = machine.train_columns(samples, columns, weight, session)?;
                        machines.into()
                    }
                    _ => machine.train(samples, values, weight, session)?.into(),
                }
            }
            Formulation::NuSvr { nu } => {
                let machine = NuSvr::new(kernel).nu(*nu).solver(solver);
                let (machine, epsilon) = machine.train(samples, values, weight, session)?;
                Trained {
                    epsilon: Some(epsilon),
                    ..machine.into()
                }
            }
            Formulation::OneClass { nu, loss } => {
                let machine = OneClassSvm::new(kernel).nu(*nu).loss(*loss).solver(solver);
                machine.train(samples, weight, session)?.into()
            }
            Formulation::Svdd { nu, loss } => {
                let machine = Svdd::new(kernel).nu(*nu).loss(*loss).solver(solver);
                let sphere = machine.train(samples, weight, session)?;
                Trained {
                    squared_radius: Some(sphere.squared_radius),
                    diagonal: sphere.diagonal,
                    ..sphere.machine.into()
                }
            }
        })
    }
}

/// What is known of a solution when all parts of its problem have been examined.
#[derive(FromPyObject)]
struct Known {
    #[pyo3(item)]
    squared_norm: f64,
    #[pyo3(item)]
    gap: f64,
    #[pyo3(item)]
    tol: f64,
    #[pyo3(item)]
    largest: f64,
    /// Whether each group has variables elsewhere, which are zero.
    #[pyo3(item)]
    open: [bool; 2],
}

impl Formulation {
    /// Poses the problem of some rows; class numbers are 0 and 1, and `diagonal` is k(x, x) of each row,
    /// of a sphere.
    fn pose(&self, target: &Target, weight: &[f64], diagonal: &[f64]) -> Result<DualProblem> {
        let positive = || -> Vec<bool> { target.labels().iter().map(|&y| y == 1).collect() };
        match self {
            Formulation::Svc(parameters) => {
                let (loss, intercept) = (parameters.loss, parameters.intercept);
                Ok(svc(&positive(), weight, loss, intercept))
            }
            Formulation::NuSvc { nu, .. } => nu_svc(&positive(), weight, *nu),
            Formulation::Svr {
                epsilon,
                loss,
                intercept,
            } => Ok(svr(target.values(), weight, *epsilon, *loss, *intercept)),
            Formulation::NuSvr { .. } => {
                let allowed = "a machine whose problem can be divided";
                Err(Error::parameter("formulation", allowed, "nu_svr"))
            }
            Formulation::OneClass { nu, loss } => one_class(weight, *nu, *loss),
            Formulation::Svdd { nu, loss } => svdd(diagonal, weight, *nu, *loss),
        }
    }

    /// Makes the machine of the solution of its problem: its coefficients, its intercept, and R^2 of a
    /// sphere.
    fn finish(
        &self,
        problem: &DualProblem,
        mut beta: Vec<f64>,
        intercepts: [f64; 2],
        known: &Known,
    ) -> (Vec<f64>, f64, Option<f64>) {
        let intercept = (intercepts[0] + intercepts[1]) / 2.0;
        match self {
            Formulation::NuSvc { .. } => {
                // A variable elsewhere is not at its bound: one more that is zero says so.
                let (mut whole, mut all) = (problem.clone(), beta.clone());
                for (sign, _) in [1.0, -1.0]
                    .into_iter()
                    .zip(known.open)
                    .filter(|(_, open)| *open)
                {
                    all.push(0.0);
                    whole.lower.push(f64::min(sign, 0.0));
                    whole.upper.push(f64::max(sign, 0.0));
                }
                let (intercepts, rho) = margin(&all, intercepts, &whole, known.largest);
                let rho = rho.unwrap_or(1.0);
                beta.iter_mut().for_each(|beta| *beta /= rho);
                (beta, (intercepts[0] + intercepts[1]) / 2.0 / rho, None)
            }
            Formulation::OneClass { .. } => {
                let shift = boundary_shift(known.gap, known.tol, intercept.abs());
                (beta, intercept + shift, None)
            }
            Formulation::Svdd { .. } => {
                let norm = known.squared_norm;
                let radius = squared_radius(intercept, norm, known.gap, known.tol);
                (beta, -norm, Some(radius))
            }
            _ => (beta, intercept, None),
        }
    }
}

/// The weights of all rows elsewhere, as rows that follow the others: of each class if there are classes.
fn elsewhere(target: &mut Target, weight: &mut Vec<f64>, rest: &[f64]) -> Result<()> {
    for (class, &rest) in rest.iter().enumerate().filter(|(_, rest)| **rest > 0.0) {
        match target {
            Target::Labels(labels) => labels.push(class),
            Target::None => {}
            _ => return Err(Error::parameter("rest", "empty for values to learn", rest)),
        }
        weight.push(rest);
    }
    Ok(())
}

impl PyFormulation {
    /// Returns nu and loss of a sphere, which many fits at once do not know.
    pub fn sphere(&self) -> Option<(f64, Loss)> {
        match &self.0 {
            Formulation::Svdd { nu, loss } => Some((*nu, *loss)),
            _ => None,
        }
    }

    /// Returns what many fits at once know; an error for a machine that they do not, see `shares`.
    pub fn shared(&self) -> PyResult<search::Formulation> {
        Ok(match &self.0 {
            Formulation::Svc(SvcParameters {
                loss,
                intercept,
                multiclass,
                start: None,
            }) if multiclass.has_calibration() => search::Formulation::Classifier {
                margin: Margin::Soft {
                    loss: *loss,
                    intercept: *intercept,
                },
                multiclass: multiclass.clone(),
            },
            Formulation::NuSvc { nu, multiclass } if multiclass.has_calibration() => {
                search::Formulation::Classifier {
                    margin: Margin::Nu(*nu),
                    multiclass: multiclass.clone(),
                }
            }
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
            Formulation::Svc(_) | Formulation::NuSvc { .. } | Formulation::Svdd { .. } => {
                let message = "this machine shares no work with others";
                return Err(PyTypeError::new_err(message));
            }
        })
    }
}

fn loss(squared: bool) -> Loss {
    if squared { Loss::Squared } else { Loss::Linear }
}

fn svc_loss(name: &str) -> PyResult<SvcLoss> {
    match name {
        "hinge" => Ok(Loss::Linear.into()),
        "squared_hinge" => Ok(Loss::Squared.into()),
        "squared_error" => Ok(SvcLoss::SquaredError),
        _ => {
            let allowed = "'hinge', 'squared_hinge' or 'squared_error'";
            Err(Error::parameter("loss", allowed, name).into())
        }
    }
}

fn svr_loss(name: &str, delta: f64, quantile: f64) -> PyResult<SvrLoss> {
    match name {
        "epsilon_insensitive" => Ok(Loss::Linear.into()),
        "squared_epsilon_insensitive" => Ok(Loss::Squared.into()),
        "huber" => Ok(SvrLoss::Huber { delta }),
        "pinball" => Ok(SvrLoss::Pinball { quantile }),
        "squared_error" => Ok(SvrLoss::SquaredError),
        _ => {
            let allowed = "'epsilon_insensitive', 'squared_epsilon_insensitive', 'huber', 'pinball' \
                           or 'squared_error'";
            Err(Error::parameter("loss", allowed, name).into())
        }
    }
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
    /// Whether many fits at once know this machine.
    #[getter]
    fn shares(&self) -> bool {
        self.shared().is_ok()
    }

    #[staticmethod]
    #[pyo3(signature = (*, loss, intercept, multiclass, start=None))]
    fn svc(
        loss: &str,
        intercept: &str,
        multiclass: &Bound<PyAny>,
        start: Option<PyReadonlyArray1<f64>>,
    ) -> PyResult<Self> {
        Ok(PyFormulation(Formulation::Svc(SvcParameters {
            loss: svc_loss(loss)?,
            intercept: intercept_named(intercept)?,
            multiclass: multiclass_of(multiclass)?,
            start: start.as_ref().map(copy).transpose()?,
        })))
    }

    #[staticmethod]
    #[pyo3(signature = (*, nu, multiclass))]
    fn nu_svc(nu: f64, multiclass: &Bound<PyAny>) -> PyResult<Self> {
        let multiclass = multiclass_of(multiclass)?;
        Ok(PyFormulation(Formulation::NuSvc { nu, multiclass }))
    }

    #[staticmethod]
    #[pyo3(signature = (*, loss, epsilon, delta, quantile, intercept))]
    fn svr(loss: &str, epsilon: f64, delta: f64, quantile: f64, intercept: &str) -> PyResult<Self> {
        Ok(PyFormulation(Formulation::Svr {
            epsilon,
            loss: svr_loss(loss, delta, quantile)?,
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

    /// Returns the tolerance of the dual problem, of so many rows by weight.
    fn tolerance(&self, tol: f64, total: f64) -> f64 {
        match &self.0 {
            Formulation::Svdd { nu, .. } => tolerance_of_sphere(tol, *nu, total),
            _ => tol,
        }
    }

    fn pose(
        &self,
        target: Option<&Bound<PyAny>>,
        weight: PyReadonlyArray1<f64>,
        rest: Vec<f64>,
        diagonal: PyReadonlyArray1<f64>,
    ) -> PyResult<(PyDualProblem, [f64; 2])> {
        let (mut target, mut weight) = (Target::of(target)?, copy(&weight)?);
        let (mut diagonal, n) = (copy(&diagonal)?, weight.len());
        let is_sphere = matches!(self.0, Formulation::Svdd { .. });
        for (name, length) in [
            ("y", target.rows().unwrap_or(n)),
            ("diagonal", if is_sphere { diagonal.len() } else { n }),
        ] {
            if length != n {
                return Err(Error::shape(name, format!("{n} entries"), length.to_string()).into());
            }
        }
        elsewhere(&mut target, &mut weight, &rest)?;
        if is_sphere {
            diagonal.resize(weight.len(), 0.0);
        }
        let mut problem = self.0.pose(&target, &weight, &diagonal)?;
        let mut sums = [0.0; 2];
        for (i, start) in problem.start.iter().enumerate() {
            let second = matches!(&problem.constraint, Constraint::TwoSums(second) if second[i]);
            sums[usize::from(second)] += start;
        }
        for values in [
            &mut problem.linear,
            &mut problem.absolute,
            &mut problem.lower,
            &mut problem.upper,
            &mut problem.ridge,
            &mut problem.start,
        ] {
            values.truncate(n);
        }
        if let Constraint::TwoSums(second) = &mut problem.constraint {
            second.truncate(n);
        }
        Ok((PyDualProblem(problem), sums))
    }

    fn finish<'py>(
        &self,
        py: Python<'py>,
        problem: &PyDualProblem,
        beta: PyReadonlyArray1<f64>,
        intercepts: [f64; 2],
        known: Known,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, Option<f64>)> {
        let beta = copy(&beta)?;
        let (beta, intercept, radius) = self.0.finish(&problem.0, beta, intercepts, &known);
        let beta = run::objects(|| beta.into_pyarray(py))?;
        Ok((beta, intercept, radius))
    }

    #[pyo3(signature = (kernel, samples, wanted, settings, past=None))]
    fn fit(
        &self,
        py: Python,
        kernel: &PyKernel,
        samples: &PySamples,
        wanted: (Option<Bound<PyAny>>, PyReadonlyArray1<f64>),
        settings: &PySettings,
        past: Option<&PyPast>,
    ) -> PyResult<PyFit> {
        let samples = &*samples.0;
        let (target, weight) = (Target::of(wanted.0.as_ref())?, copy(&wanted.1)?);
        if let Some(rows) = target.rows() {
            check_length("y", rows, samples)?;
        }
        check_length("sample_weight", weight.len(), samples)?;
        let rows = Rows {
            samples,
            target,
            weight,
        };
        let train = |monitor: &run::Watch| {
            let session = match past {
                Some(PyPast(past)) => Session::from(monitor, past),
                None => Session::watched(monitor),
            };
            let solver = settings.solver;
            let trained = self.0.train(kernel.0.clone(), &rows, solver, &session)?;
            Ok((trained, session.into_past()))
        };
        let ((trained, past), raised) = settings.run_stoppable(py, &kernel.0, samples, 1, train)?;
        PyFit::new(py, trained)?.stopped(py, past, raised)
    }
}

#[pyfunction]
pub(super) fn feasible_nu<'py>(
    py: Python<'py>,
    nu: f64,
    labels: &Bound<PyAny>,
    cost: PyReadonlyArray1<f64>,
    weight: PyReadonlyArray1<f64>,
    multiclass: &Bound<PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (labels, cost, weight) = (numbers("y", labels)?, copy(&cost)?, copy(&weight)?);
    for (name, length) in [("cost", cost.len()), ("weight", weight.len())] {
        if length != labels.len() {
            let expected = format!("{} entries", labels.len());
            return Err(Error::shape(name, expected, length.to_string()).into());
        }
    }
    let shares = multiclass_of(multiclass)?.feasible_nu(nu, &labels, &cost, &weight)?;
    run::objects(|| shares.into_pyarray(py))
}
