//! Decision functions, and the rules that make classes of their values.

use super::arrays::{copy, int64, numbers};
use super::kernel::PyKernel;
use super::run::{self, Scale};
use super::samples::PySamples;
use crate::data::Samples;
use crate::error::Error;
use crate::model::expansion::Coefficients;
use crate::model::{self, Branch, Expansion, Multiclass, Tree};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

#[pyclass(name = "Expansion", module = "mercer._core", frozen)]
pub(super) struct PyExpansion {
    expansion: Expansion,
    classes: usize,
    multiclass: Multiclass,
}

impl PyExpansion {
    /// Runs a prediction.
    fn run<R: Send>(
        &self,
        py: Python,
        samples: &Samples,
        n_threads: usize,
        predict: impl Fn(&Expansion, &Samples, Stop) -> crate::Result<Option<R>> + Sync,
    ) -> PyResult<R> {
        let expansion = &self.expansion;
        let scale = Scale {
            n_threads,
            rows: samples.rows(),
            work: expansion.work(samples),
        };
        run::until(py, scale, |stop| predict(expansion, samples, stop))
    }

    /// Checks that values have a column for each machine of a classifier.
    fn check_values(&self, values: &PyReadonlyArray2<f64>) -> PyResult<()> {
        let (machines, columns) = (
            self.multiclass.machines(self.classes),
            values.as_array().ncols(),
        );
        if self.classes >= 2 && columns == machines {
            return Ok(());
        }
        let (expected, got) = (format!("{machines} columns"), columns.to_string());
        Err(Error::shape("values", expected, got).into())
    }
}

#[pymethods]
impl PyExpansion {
    #[new]
    #[pyo3(signature = (kernel, support_vectors, n_support, dual_coef, intercept, multiclass=None))]
    fn new(
        kernel: &PyKernel,
        support_vectors: Option<&PySamples>,
        n_support: &Bound<PyAny>,
        dual_coef: PyReadonlyArray2<f64>,
        intercept: PyReadonlyArray1<f64>,
        multiclass: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let n_support = numbers("n_support_", n_support)?;
        let multiclass = multiclass.map_or(Ok(Multiclass::OneVsOne), multiclass_of)?;
        check_tree(&multiclass, n_support.len())?;
        let coefficients = Coefficients {
            n_support: &n_support,
            dual_coef: dual_coef.as_array(),
            intercept: &copy(&intercept)?,
            multiclass: multiclass.clone(),
        };
        let support = support_vectors.map(|samples| Arc::clone(&samples.0));
        Ok(PyExpansion {
            expansion: Expansion::of(kernel.0.clone(), support, &coefficients)?,
            classes: n_support.len(),
            multiclass,
        })
    }

    fn decision<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let decision = self.run(py, &samples.0, n_threads, Expansion::decision)?;
        run::objects(|| decision.into_pyarray(py))
    }

    fn decision_from_kernel<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = values.as_array();
        let decision = py.detach(|| self.expansion.decision_from_kernel(values))?;
        run::objects(|| decision.into_pyarray(py))
    }

    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let winners = self.run(py, &samples.0, n_threads, Expansion::predict)?;
        int64(py, &winners)
    }

    fn winners<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.check_values(&values)?;
        let winners = self.multiclass.winners(values.as_array(), self.classes);
        int64(py, &winners)
    }

    fn confidences<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.check_values(&values)?;
        let confidences = self.multiclass.confidences(values.as_array(), self.classes);
        run::objects(|| confidences.into_pyarray(py))
    }

    #[pyo3(signature = (values, threshold, winners=None))]
    fn rejects<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<f64>,
        threshold: f64,
        winners: Option<&Bound<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.check_values(&values)?;
        let (values, classes) = (values.as_array(), self.classes);
        let winners = match winners {
            Some(winners) => numbers("winners", winners)?,
            None => self.multiclass.winners(values, classes),
        };
        if winners.len() != values.nrows() || winners.iter().any(|&winner| winner >= classes) {
            let expected = format!("{} class numbers below {classes}", values.nrows());
            let got = winners.len().to_string();
            return Err(Error::shape("winners", expected, got).into());
        }
        let rejected = (self.multiclass).rejects_winners(values, classes, threshold, &winners);
        run::objects(|| rejected.into_pyarray(py))
    }
}

/// Returns the strategy of a name, or of a nested list of class numbers.
pub(super) fn multiclass_of(given: &Bound<PyAny>) -> PyResult<Multiclass> {
    let Ok(name) = given.extract::<String>() else {
        return Ok(Multiclass::Tree(Tree::new(&branches(given)?)?));
    };
    match name.as_str() {
        "ovo" => Ok(Multiclass::OneVsOne),
        "ovr" => Ok(Multiclass::OneVsRest),
        "dag" => Ok(Multiclass::Dag),
        "weston_watkins" => Ok(Multiclass::WestonWatkins),
        "crammer_singer" => Ok(Multiclass::CrammerSinger),
        _ => {
            let allowed =
                "'ovo', 'ovr', 'dag', 'weston_watkins', 'crammer_singer' or a nested list";
            Err(Error::parameter("multiclass", allowed, name).into())
        }
    }
}

/// Returns the branches of a fork.
fn branches(fork: &Bound<PyAny>) -> PyResult<Vec<Branch>> {
    let branch = |given: PyResult<Bound<PyAny>>| {
        let given = given?;
        match given.extract::<usize>() {
            Ok(class) => Ok(Branch::Class(class)),
            Err(_) => Ok(Branch::Fork(branches(&given)?)),
        }
    };
    fork.try_iter()?.map(branch).collect()
}

/// Checks that a tree is one of so many classes; fewer than two need none.
pub(super) fn check_tree(multiclass: &Multiclass, classes: usize) -> PyResult<()> {
    match multiclass {
        Multiclass::Tree(tree) if classes > 2 && tree.classes() != classes => {
            let allowed = format!("a tree of {classes} classes");
            let got = format!("one of {}", tree.classes());
            Err(Error::parameter("multiclass", allowed, got).into())
        }
        _ => Ok(()),
    }
}

#[pyfunction]
pub(super) fn coefficients_by_machine<'py>(
    py: Python<'py>,
    dual_coef: PyReadonlyArray2<f64>,
    n_support: &Bound<PyAny>,
    multiclass: &Bound<PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let n_support = numbers("n_support_", n_support)?;
    let multiclass = multiclass_of(multiclass)?;
    check_tree(&multiclass, n_support.len())?;
    let rows = model::coefficients_by_machine(multiclass, dual_coef.as_array(), &n_support)?;
    run::objects(|| rows.into_pyarray(py))
}
