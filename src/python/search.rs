//! Many fits at once.

use super::arrays::{copy, numbers};
use super::expansion::{check_tree, multiclass_of};
use super::fit::{PyFit, Trained};
use super::formulation::PyFormulation;
use super::kernel::PyKernel;
use super::run::{self, Scale, Watch};
use super::samples::PySamples;
use super::settings::PySettings;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::Multiclass;
use crate::qp::{Monitor, Progress};
use crate::search::{Calibration, Fit, Fitted, Plan, Sigmoid};
use crate::simd::process::locked;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use std::sync::Mutex;
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

/// What held-out rows should give, and to which candidate each fit belongs.
type Expected<'py> = (PyReadonlyArray1<'py, f64>, Vec<usize>);

/// The scores of candidates, of which each is fitted several times.
struct Scores {
    expected: Vec<f64>,
    candidate_of: Vec<usize>,
    /// The sum of the scores of each candidate, and how many are still to come.
    sums: Mutex<Vec<(f64, usize)>>,
}

impl Scores {
    fn new((expected, candidate_of): Expected, samples: usize, fits: usize) -> PyResult<Self> {
        let expected = copy(&expected)?;
        if expected.len() != samples || candidate_of.len() != fits {
            let wanted = format!("{samples} values and {fits} numbers");
            let got = format!("{} and {}", expected.len(), candidate_of.len());
            return Err(Error::shape("expected", wanted, got).into());
        }
        let candidates = candidate_of.iter().max().map_or(0, |last| last + 1);
        let mut sums = vec![(0.0, 0); candidates];
        candidate_of.iter().for_each(|&at| sums[at].1 += 1);
        Ok(Scores {
            expected,
            candidate_of,
            sums: Mutex::new(sums),
        })
    }

    /// Counts a fit. Returns how many candidates are done, and the best mean score of these.
    fn count(&self, number: usize, fit: &Fit, fitted: &Result<Fitted>) -> (usize, f64) {
        let score = match fitted {
            Ok(fitted) => fitted.score(fit, &self.expected),
            Err(_) => f64::NAN,
        };
        let mut sums = locked(&self.sums);
        let (sum, left) = &mut sums[self.candidate_of[number]];
        *sum += score;
        *left -= 1;
        let folds = self.candidate_of.len() / sums.len();
        let done = sums.iter().filter(|(_, left)| *left == 0);
        done.fold((0, f64::NAN), |(count, best), (sum, _)| {
            (count + 1, best.max(sum / folds as f64))
        })
    }
}

/// Watches many fits: what the user is told is how many are done, how many candidates that makes, and
/// the best score of these.
struct Many<'a> {
    watch: &'a Watch,
    started: Instant,
    done: AtomicUsize,
    fits: &'a [Fit],
    scores: Option<&'a Scores>,
}

impl Many<'_> {
    fn one_is_done(&self, number: usize, fitted: &Result<Fitted>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watch.machine(done, self.fits.len());
        let (candidates, best) = match self.scores {
            Some(scores) => scores.count(number, &self.fits[number], fitted),
            None => (0, f64::NAN),
        };
        let seconds = self.started.elapsed().as_secs_f64();
        self.watch
            .progress(&Progress::new(candidates as u64, best, 0, seconds));
    }
}

impl Monitor for Many<'_> {
    fn stop(&self) -> bool {
        self.watch.stop()
    }
}

/// Does many fits; `settings` say on how many threads, with how much memory and who is told.
#[pyfunction]
#[pyo3(signature = (samples, fits, settings, *, expected=None))]
pub(super) fn search(
    py: Python,
    samples: &PySamples,
    fits: Vec<Asked>,
    settings: &PySettings,
    expected: Option<Expected>,
) -> PyResult<Vec<Option<PySearchFit>>> {
    let fits: Vec<Fit> = fits.iter().map(unpacked).collect::<PyResult<_>>()?;
    let samples = &*samples.0;
    let scores = expected.map(|expected| Scores::new(expected, samples.rows(), fits.len()));
    let scores = scores.transpose()?;
    let mut solver = settings.solver;
    let bytes = *solver.cache_bytes_mut();
    let found: Vec<Result<Fitted>> =
        settings.run_many(py, &Kernel::Linear, samples, fits.len(), |watch| {
            let many = Many {
                watch,
                started: Instant::now(),
                done: AtomicUsize::new(0),
                fits: &fits,
                scores: scores.as_ref(),
            };
            let done = |number, fitted: &_| many.one_is_done(number, fitted);
            let plan = Plan::new(samples).bytes(bytes);
            Ok(plan.monitor(&many).done(&done).run(&fits))
        })?;
    let repack = |found: Result<Fitted>| match found {
        Ok(fitted) => Ok(Some(PySearchFit::new(py, fitted)?)),
        // Whoever fits it alone will hear why, and in its place.
        Err(_) => Ok(None),
    };
    found.into_iter().map(repack).collect()
}

/// Trains a classifier, and with each of these parts of its rows held out.
#[pyfunction]
pub(super) fn held_out(
    py: Python,
    samples: &PySamples,
    fit: Asked,
    parts: Vec<Bound<PyAny>>,
    settings: &PySettings,
) -> PyResult<(PySearchFit, Option<Py<PyArray2<f64>>>)> {
    let (fit, samples) = (unpacked(&fit)?, &*samples.0);
    let parts = parts.iter().map(|part| numbers("parts", part));
    let parts: Vec<Vec<usize>> = parts.collect::<PyResult<_>>()?;
    if let Some(row) = parts.iter().flatten().find(|&&row| row >= fit.cost.len()) {
        return Err(Error::parameter("parts", "numbers of rows", row).into());
    }
    let mut solver = settings.solver;
    let bytes = *solver.cache_bytes_mut();
    let found = settings.run_many(py, &fit.kernel, samples, 2, |watch| {
        let plan = Plan::new(samples).bytes(bytes).monitor(watch);
        plan.held_out(&fit, &parts)
    })?;
    let values = found
        .values
        .map(|values| run::objects(|| values.into_pyarray(py).unbind()));
    Ok((PySearchFit::new(py, found.whole)?, values.transpose()?))
}

#[pyfunction]
pub(super) fn winners<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<f64>,
    n_classes: usize,
    multiclass: &Bound<PyAny>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let multiclass = multiclass_of(multiclass)?;
    check_tree(&multiclass, n_classes)?;
    check_columns(values.shape()[1], multiclass.machines(n_classes))?;
    let winners = multiclass.winners(values.as_array(), n_classes);
    super::arrays::int64(py, &winners)
}

/// Returns a strategy whose values can be made probabilities.
fn calibrated(given: &Bound<PyAny>) -> PyResult<Multiclass> {
    let multiclass = multiclass_of(given)?;
    match multiclass.has_calibration() {
        true => Ok(multiclass),
        false => {
            let allowed = "'ovo', 'ovr' or 'dag' where probabilities are asked for";
            Err(Error::parameter("multiclass", allowed, given).into())
        }
    }
}

/// Checks that there is a column for each machine.
pub(super) fn check_columns(columns: usize, machines: usize) -> PyResult<()> {
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
    multiclass: &Bound<PyAny>,
    n_threads: usize,
) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
    let multiclass = calibrated(multiclass)?;
    check_columns(values.shape()[1], multiclass.machines(n_classes))?;
    let labels = classes_of("y", labels, values.shape()[0], n_classes)?;
    let scale = Scale {
        n_threads,
        rows: labels.len(),
        work: Calibration::work(values.len()),
    };
    let values = values.as_array();
    let calibration = run::interruptible(py, scale, None, |_| {
        Calibration::fit(values, &labels, n_classes, multiclass)
    })?;
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
    multiclass: &Bound<PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let multiclass = calibrated(multiclass)?;
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
