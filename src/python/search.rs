//! Many fits at once.

use super::arrays::{copy, numbers};
use super::expansion::multiclass_named;
use super::fit::{PyFit, Trained};
use super::formulation::PyFormulation;
use super::kernel::PyKernel;
use super::run::{self, Watch};
use super::samples::PySamples;
use super::settings::PySettings;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Progress};
use crate::search::{Calibration, Fit, Fitted, Plan, Sigmoid};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What one of many fits gives back.
#[pyclass(name = "SearchFit", module = "mercer._core", frozen, get_all)]
pub(super) struct PySearchFit {
    fit: Py<PyFit>,
    values: Py<PyArray2<f64>>,
    seconds: f64,
}

impl PySearchFit {
    fn new(py: Python, fitted: Fitted) -> PyResult<Self> {
        let trained = Trained {
            epsilon: fitted.epsilon,
            ..fitted.machines.into()
        };
        Ok(PySearchFit {
            fit: Py::new(py, PyFit::new(py, trained)?)?,
            values: run::objects(|| fitted.values.into_pyarray(py).unbind())?,
            seconds: fitted.seconds,
        })
    }
}

/// A fit as Python describes it.
type Asked<'py> = (
    PyRef<'py, PyFormulation>,
    PyRef<'py, PyKernel>,
    Option<Bound<'py, PyAny>>,
    PyReadonlyArray1<'py, f64>,
    Bound<'py, PyAny>,
    PyRef<'py, PySettings>,
);

fn unpacked(asked: &Asked) -> PyResult<Fit> {
    let (formulation, kernel, target, cost, rows, settings) = asked;
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    if let Some(target) = target {
        match target.extract::<PyReadonlyArray1<f64>>() {
            Ok(target) => values = copy(&target)?,
            Err(_) => labels = numbers("y", target)?,
        }
    }
    Ok(Fit {
        formulation: formulation.shared()?,
        kernel: kernel.0.clone(),
        labels,
        target: values,
        cost: copy(cost)?,
        asked: numbers("asked", rows)?,
        solver: settings.solver,
    })
}

/// Watches many fits: what the user is told is how many are done.
struct Many<'a> {
    watch: &'a Watch,
    started: Instant,
    done: AtomicUsize,
    all: usize,
}

impl Many<'_> {
    fn one_is_done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watch.machine(done, self.all);
        let seconds = self.started.elapsed().as_secs_f64();
        self.watch
            .progress(&Progress::new(done as u64, 0.0, 0, seconds));
    }
}

impl Monitor for Many<'_> {
    fn stop(&self) -> bool {
        self.watch.stop()
    }
}

/// Does many fits; `settings` say on how many threads, with how much memory and who is told.
#[pyfunction]
#[pyo3(signature = (samples, fits, settings, *, in_order=false))]
pub(super) fn search(
    py: Python,
    samples: &PySamples,
    fits: Vec<Asked>,
    settings: &PySettings,
    in_order: bool,
) -> PyResult<Vec<Option<PySearchFit>>> {
    let fits: Vec<Fit> = fits.iter().map(unpacked).collect::<PyResult<_>>()?;
    let samples = &*samples.0;
    let mut solver = settings.solver;
    let bytes = *solver.cache_bytes_mut();
    let found: Vec<Result<Fitted>> =
        settings.run_many(py, &Kernel::Linear, samples, fits.len(), |watch| {
            let many = Many {
                watch,
                started: Instant::now(),
                done: AtomicUsize::new(0),
                all: fits.len(),
            };
            let done = |_: usize| many.one_is_done();
            let mut plan = Plan::new(samples).bytes(bytes);
            if in_order {
                plan = plan.in_order();
            }
            Ok(plan.monitor(&many).done(&done).run(&fits))
        })?;
    let repack = |found: Result<Fitted>| match found {
        Ok(fitted) => Ok(Some(PySearchFit::new(py, fitted)?)),
        // Whoever fits it alone will hear why, and in its place.
        Err(_) => Ok(None),
    };
    found.into_iter().map(repack).collect()
}

#[pyfunction]
pub(super) fn winners<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    n_classes: usize,
    multiclass: &str,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let multiclass = multiclass_named(multiclass)?;
    check_columns(values.shape()[1], multiclass.machines(n_classes))?;
    let winners = multiclass.winners(values.as_array(), n_classes);
    super::arrays::int64(py, &winners)
}

/// Checks that there is a column for each machine.
fn check_columns(columns: usize, machines: usize) -> PyResult<()> {
    if columns == machines {
        return Ok(());
    }
    let expected = format!("{machines} columns, one for each machine");
    Err(Error::shape("values", expected, columns.to_string()).into())
}

/// Class numbers, of which there is one per row.
fn classes_of(
    name: &'static str,
    array: &Bound<PyAny>,
    rows: usize,
    n_classes: usize,
) -> PyResult<Vec<usize>> {
    let classes = numbers(name, array)?;
    if classes.len() != rows || classes.iter().any(|&class| class >= n_classes) {
        let expected = format!("{rows} class numbers below {n_classes}");
        return Err(Error::shape(name, expected, classes.len().to_string()).into());
    }
    Ok(classes)
}

#[pyfunction]
pub(super) fn calibrate<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    labels: &Bound<PyAny>,
    n_classes: usize,
    multiclass: &str,
) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
    let multiclass = multiclass_named(multiclass)?;
    check_columns(values.shape()[1], multiclass.machines(n_classes))?;
    let labels = classes_of("y", labels, values.shape()[0], n_classes)?;
    let calibration = Calibration::fit(values.as_array(), &labels, n_classes, multiclass);
    let slopes: Vec<f64> = calibration.sigmoids.iter().map(|s| s.a).collect();
    let constants: Vec<f64> = calibration.sigmoids.iter().map(|s| s.b).collect();
    run::objects(|| [slopes.into_pyarray(py), constants.into_pyarray(py)])
}

#[pyfunction]
pub(super) fn probabilities<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    winners: &Bound<PyAny>,
    sigmoids: (PyReadonlyArray1<f64>, PyReadonlyArray1<f64>),
    n_classes: usize,
    multiclass: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let multiclass = multiclass_named(multiclass)?;
    let machines = multiclass.machines(n_classes);
    check_columns(values.shape()[1], machines)?;
    let winners = classes_of("winners", winners, values.shape()[0], n_classes)?;
    let (slopes, constants) = (copy(&sigmoids.0)?, copy(&sigmoids.1)?);
    if slopes.len() != machines || constants.len() != machines {
        let expected = format!("{machines} entries, one for each machine");
        return Err(Error::shape("probA_ and probB_", expected, slopes.len().to_string()).into());
    }
    let sigmoids = slopes.into_iter().zip(constants);
    let calibration = Calibration {
        sigmoids: sigmoids.map(|(a, b)| Sigmoid { a, b }).collect(),
        classes: n_classes,
        multiclass,
    };
    let all = calibration.probabilities(values.as_array(), &winners);
    run::objects(|| all.into_pyarray(py))
}
