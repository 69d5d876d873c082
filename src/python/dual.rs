//! Dual problems as such: for those who divide one among processes and put it together again.

use super::arrays::copy;
use super::fit::PyReport;
use super::kernel::PyKernel;
use super::run;
use super::samples::PySamples;
use super::settings::PySettings;
use crate::error::{Error, Result};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{Constraint, DualProblem, Image, Thresholds};
use crate::simd::threads;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Rows of the matrix that describes a problem: linear, absolute, lower, upper, ridge, start.
const TERMS: usize = 6;

#[pyclass(name = "DualProblem", module = "mercer._core", frozen)]
pub(super) struct PyDualProblem(pub(super) DualProblem);

/// Roundings in a sum of kernel values, in terms of the sum of its coefficients: a few for each value,
/// and one for each of some rounds in which the sum was changed.
const ROUNDINGS: f64 = 32.0;

/// m and M of each group.
type Groups = [[f64; 2]; 2];

impl PyDualProblem {
    /// Returns the image of the start, which was computed in f64: its errors are those of sums of kernel
    /// values, of which none is larger than the largest of the diagonal.
    fn image(&self, values: Vec<f64>, diagonal: &[f64]) -> Image {
        let largest = diagonal.iter().fold(0.0f64, |largest, &k| largest.max(k));
        let size: f64 = self.0.start.iter().map(|beta| beta.abs()).sum();
        Image {
            beta: self.0.start.clone(),
            errors: vec![ROUNDINGS * f64::EPSILON * size * largest; values.len()],
            values,
        }
    }

    fn check(&self, name: &'static str, length: usize) -> Result<()> {
        let n = self.0.linear.len();
        match length == n {
            true => Ok(()),
            false => Err(Error::shape(
                name,
                format!("{n} entries"),
                length.to_string(),
            )),
        }
    }
}

fn constraint_named(name: &str, second: Option<Vec<bool>>) -> Result<Constraint> {
    match (name, second) {
        ("sum", None) => Ok(Constraint::Sum),
        ("two_sums", Some(second)) => Ok(Constraint::TwoSums(second)),
        ("penalized", None) => Ok(Constraint::Penalized),
        ("none", None) => Ok(Constraint::None),
        _ => {
            let allowed = "'sum', 'penalized', 'none', or 'two_sums' with a second group";
            Err(Error::parameter("constraint", allowed, name))
        }
    }
}

#[pymethods]
impl PyDualProblem {
    #[new]
    #[pyo3(signature = (terms, constraint, second=None))]
    fn new(
        terms: PyReadonlyArray2<f64>,
        constraint: &str,
        second: Option<PyReadonlyArray1<bool>>,
    ) -> PyResult<Self> {
        let terms = terms.as_array();
        if terms.nrows() != TERMS {
            let got = format!("{}", terms.nrows());
            return Err(Error::shape("terms", format!("{TERMS} rows"), got).into());
        }
        let second = second.as_ref().map(copy).transpose()?;
        let row = |number: usize| terms.row(number).to_vec();
        let problem = PyDualProblem(DualProblem {
            linear: row(0),
            absolute: row(1),
            lower: row(2),
            upper: row(3),
            ridge: row(4),
            start: row(5),
            constraint: constraint_named(constraint, second)?,
        });
        if let Constraint::TwoSums(second) = &problem.0.constraint {
            problem.check("second", second.len())?;
        }
        Ok(problem)
    }

    #[getter]
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let problem = &self.0;
        let rows = [
            &problem.linear,
            &problem.absolute,
            &problem.lower,
            &problem.upper,
            &problem.ridge,
            &problem.start,
        ];
        let terms = Array2::from_shape_fn((TERMS, problem.linear.len()), |(row, i)| rows[row][i]);
        run::objects(|| terms.into_pyarray(py))
    }

    #[getter]
    fn constraint(&self) -> &'static str {
        match self.0.constraint {
            Constraint::Sum => "sum",
            Constraint::TwoSums(_) => "two_sums",
            Constraint::Penalized => "penalized",
            Constraint::None => "none",
        }
    }

    #[getter]
    fn second<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<bool>>>> {
        match &self.0.constraint {
            Constraint::TwoSums(second) => {
                run::objects(|| second.clone().into_pyarray(py)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn examine<'py>(
        &self,
        py: Python<'py>,
        beta: PyReadonlyArray1<f64>,
        gradient: PyReadonlyArray1<f64>,
        intercepts: [f64; 2],
    ) -> PyResult<(Groups, Bound<'py, PyArray1<f64>>, f64)> {
        let (beta, gradient) = (copy(&beta)?, copy(&gradient)?);
        self.check("beta", beta.len())?;
        self.check("gradient", gradient.len())?;
        let part = py.detach(|| self.0.part(&beta, &gradient, intercepts));
        let violations = run::objects(|| part.violations.into_pyarray(py))?;
        Ok((part.thresholds.groups(), violations, part.duality_gap))
    }

    /// Returns the gap of thresholds, those of all variables.
    #[staticmethod]
    fn gap(groups: Groups) -> f64 {
        Thresholds::from_groups(groups).gap()
    }

    fn settled(
        &self,
        beta: PyReadonlyArray1<f64>,
        intercepts: [f64; 2],
        groups: Groups,
    ) -> PyResult<[f64; 2]> {
        let beta = copy(&beta)?;
        self.check("beta", beta.len())?;
        let all = Thresholds::from_groups(groups);
        Ok(self.0.settled(&beta, intercepts, &all))
    }

    #[pyo3(signature = (kernel, samples, settings, image=None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        kernel: &PyKernel,
        samples: &PySamples,
        settings: &PySettings,
        image: Option<PyReadonlyArray1<f64>>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, [f64; 2], PyReport)> {
        let samples = &*samples.0;
        self.check("samples", samples.rows())?;
        let image = image.as_ref().map(copy).transpose()?;
        if let Some(values) = &image {
            self.check("image", values.len())?;
        }
        let (solution, _) = settings.run(py, &kernel.0, samples, |monitor| {
            let matrix = KernelMatrix::new(&kernel.0, samples, (0..samples.rows()).collect())?;
            let image = image.map(|values| self.image(values, matrix.diagonal()));
            threads::call(matrix.work(), || {
                let rows = &mut KernelRows::new(&matrix);
                settings.solver.solve_from(&self.0, rows, image, monitor)
            })
        })?;
        let beta = run::objects(|| solution.beta.into_pyarray(py))?;
        Ok((beta, solution.intercepts, PyReport(solution.report)))
    }
}
