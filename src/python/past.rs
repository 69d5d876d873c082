//! What a fit leaves behind for the next: opaque to Python, but for copies and pickles.

use super::arrays::{copy, int64, numbers};
use super::run;
use crate::error::Error;
use crate::model::{Past, Place, Strategy};
use crate::qp::Footing;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

#[pyclass(name = "Past", module = "mercer._core", frozen)]
pub(super) struct PyPast(pub(super) Past);

/// Strategy, number and count of a machine; rows; bounds, coefficients, image and its errors; and
/// size and intercepts.
type Parts<'py> = (
    (String, usize, usize),
    Bound<'py, PyArray1<i64>>,
    Vec<Bound<'py, PyArray1<f64>>>,
    [f64; 3],
);

/// The same, as it comes back.
type Given<'py> = (
    (String, usize, usize),
    Bound<'py, PyAny>,
    [PyReadonlyArray1<'py, f64>; 5],
    [f64; 3],
);

const STRATEGIES: [(Strategy, &str); 5] = [
    (Strategy::Single, "single"),
    (Strategy::Pairs, "pairs"),
    (Strategy::Rest, "rest"),
    (Strategy::Tree, "tree"),
    (Strategy::Columns, "columns"),
];

fn named(strategy: Strategy) -> &'static str {
    let found = STRATEGIES.iter().find(|(other, _)| *other == strategy);
    found.map_or("", |(_, name)| name)
}

fn strategy_of(name: &str) -> PyResult<Strategy> {
    let found = STRATEGIES.iter().find(|(_, other)| *other == name);
    let refused = || Error::parameter("strategy", "one of this version", name);
    Ok(found.ok_or_else(refused)?.0)
}

#[pymethods]
impl PyPast {
    #[new]
    #[pyo3(signature = (machines=Vec::new()))]
    fn new(machines: Vec<Given>) -> PyResult<Self> {
        let mut past = Past::default();
        for ((strategy, machine, of), rows, columns, rest) in machines {
            let strategy = strategy_of(&strategy)?;
            let columns: Vec<Vec<f64>> = columns.iter().map(copy).collect::<PyResult<_>>()?;
            let columns: [Vec<f64>; 5] = columns.try_into().unwrap_or_default();
            let footing = Footing::from_parts(numbers("rows", &rows)?, columns, rest)?;
            past.note(
                Place {
                    strategy,
                    machine,
                    of,
                },
                footing,
            );
        }
        Ok(PyPast(past))
    }

    /// The same for another kernel, or other values of the rows: only coefficients count.
    fn doubted(&self) -> Self {
        let mut past = self.0.clone();
        past.doubt_images();
        PyPast(past)
    }

    /// The same with other numbers for the rows, -1 for rows that are gone.
    fn renumbered(&self, numbers: PyReadonlyArray1<i64>) -> PyResult<Self> {
        let numbers = copy(&numbers)?;
        let mut past = self.0.clone();
        past.renumber(&|row| usize::try_from(*numbers.get(row)?).ok());
        Ok(PyPast(past))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vec<Parts<'py>>,))> {
        let (py, past) = (slf.py(), &slf.get().0);
        let parts = |(place, footing): &(Place, Footing)| -> PyResult<Parts<'py>> {
            let (rows, columns, rest) = footing.parts();
            let array = |column: &[f64]| run::objects(|| column.to_vec().into_pyarray(py));
            let columns = columns.into_iter().map(array);
            Ok((
                (named(place.strategy).to_string(), place.machine, place.of),
                int64(py, rows)?,
                columns.collect::<PyResult<_>>()?,
                rest,
            ))
        };
        let machines = past.machines().iter().map(parts);
        Ok((
            slf.get_type().into_any(),
            (machines.collect::<PyResult<_>>()?,),
        ))
    }
}
