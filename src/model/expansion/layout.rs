//! Layout: which coefficients belong to which machine, and how sums over support vectors become the
//! values of machines.
//!
//! The support vectors of a classifier are sorted by class. The machines of pairs of classes have
//! LIBSVM's layout: row r of the coefficients of a support vector of class c belongs to the machine of
//! c and the r-th other class, so that the support vectors of each class are a segment of their own.

use crate::error::{Error, Result};
use crate::model::multiclass::{Multiclass, Rule, pair, pairs};
use crate::simd::memory;
use ndarray::{Array2, ArrayView2};
use std::ops::Range;

/// How coefficients are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One machine over all support vectors: that of two classes, or one without classes.
    Single,
    /// A machine for every pair of so many classes.
    Pairs(usize),
    /// So many machines over all support vectors: one for each class, or output of a regression, or
    /// those of a tree.
    PerClass(usize),
}

/// One row of coefficients over one segment of the support vectors.
pub(super) struct Part {
    pub columns: Range<usize>,
    pub row: usize,
    /// The machine they belong to.
    pub machine: usize,
}

impl Layout {
    pub fn new(multiclass: &Multiclass, classes: usize) -> Self {
        match multiclass.rule(classes) {
            Rule::Sign => Layout::Single,
            Rule::Votes | Rule::Walk => Layout::Pairs(classes),
            Rule::Largest | Rule::Tree => Layout::PerClass(multiclass.machines(classes)),
        }
    }

    /// Returns the rows of coefficients: in how many sums a support vector takes part.
    pub fn height(self) -> usize {
        match self {
            Layout::Single => 1,
            Layout::Pairs(classes) => classes - 1,
            Layout::PerClass(classes) => classes,
        }
    }

    /// Returns the support vectors that have their machines in common.
    pub fn segments(self, n_support: &[usize]) -> Vec<Range<usize>> {
        let total = n_support.iter().sum();
        match self {
            Layout::Single | Layout::PerClass(_) => std::iter::once(0..total).collect(),
            Layout::Pairs(_) => {
                let mut end = 0;
                let segment = |&count: &usize| {
                    end += count;
                    end - count..end
                };
                n_support.iter().map(segment).collect()
            }
        }
    }

    /// Returns the machine that a row of the coefficients of a segment belongs to.
    fn machine(self, segment: usize, row: usize) -> usize {
        match self {
            Layout::Single => 0,
            Layout::PerClass(_) => row,
            Layout::Pairs(classes) if row < segment => pair(classes, row, segment),
            Layout::Pairs(classes) => pair(classes, segment, row + 1),
        }
    }

    /// Returns all rows of coefficients of all segments.
    pub fn parts(self, n_support: &[usize]) -> impl Iterator<Item = Part> {
        let segments = self.segments(n_support).into_iter().enumerate();
        segments.flat_map(move |(segment, columns)| {
            (0..self.height()).map(move |row| Part {
                columns: columns.clone(),
                row,
                machine: self.machine(segment, row),
            })
        })
    }

    /// Returns the value of the machine of classes i < j from the sums of all segments.
    pub fn of_pair(self, sums: &[f64], (i, j): (usize, usize), intercept: f64) -> f64 {
        let height = self.height();
        sums[i * height + j - 1] + sums[j * height + i] + intercept
    }

    /// Writes the values of all machines: the sums of all segments, added up, and the intercepts.
    pub fn values(self, sums: &[f64], intercept: &[f64], out: &mut [f64]) {
        match self {
            Layout::Single | Layout::PerClass(_) => shift(sums, intercept, out),
            Layout::Pairs(classes) => {
                let machines = pairs(classes).zip(intercept).zip(out);
                for ((pair, &intercept), out) in machines {
                    *out = self.of_pair(sums, pair, intercept);
                }
            }
        }
    }
}

/// Adds its intercept to the value of every machine.
pub(super) fn shift(values: &[f64], intercept: &[f64], out: &mut [f64]) {
    for ((out, value), intercept) in out.iter_mut().zip(values).zip(intercept) {
        *out = value + intercept;
    }
}

/// The machines of an expansion: their coefficients, as they are published, and their intercepts.
#[derive(Clone)]
pub(crate) struct Coefficients<'a> {
    /// Support vectors of each class; a machine without classes counts as one.
    pub n_support: &'a [usize],
    pub dual_coef: ArrayView2<'a, f64>,
    pub intercept: &'a [f64],
    pub multiclass: Multiclass,
}

impl Coefficients<'_> {
    pub fn classes(&self) -> usize {
        self.n_support.len()
    }

    pub fn machines(&self) -> usize {
        match self.outputs() {
            Some(outputs) => outputs,
            None => self.multiclass.machines(self.classes()),
        }
    }

    /// Returns the number of values of a machine without classes, if it has several.
    pub(super) fn outputs(&self) -> Option<usize> {
        let outputs = self.intercept.len();
        (self.classes() == 1 && outputs > 1).then_some(outputs)
    }

    pub(super) fn layout(&self) -> Layout {
        match self.outputs() {
            Some(outputs) => Layout::PerClass(outputs),
            None => Layout::new(&self.multiclass, self.classes()),
        }
    }

    /// Returns the number of support vectors.
    pub fn vectors(&self) -> usize {
        self.n_support.iter().sum()
    }

    /// Returns the coefficients, one row after another.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn flat(&self) -> Result<Vec<f64>> {
        memory::collected(self.dual_coef.iter().copied(), "a copy of the coefficients")
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part> {
        self.layout().parts(self.n_support)
    }

    /// Checks the shapes, and that all numbers are finite.
    pub fn check(&self) -> Result<()> {
        let classes = self.classes();
        if classes == 0 {
            return Err(Error::TooFewClasses { classes });
        }
        if let Multiclass::Tree(tree) = &self.multiclass
            && classes > 2
            && tree.classes() != classes
        {
            let allowed = format!("a tree of {classes} classes");
            let got = format!("one of {}", tree.classes());
            return Err(Error::parameter("multiclass", allowed, got));
        }
        let mut counts = self.n_support.iter();
        if (counts.try_fold(0usize, |sum, &count| sum.checked_add(count))).is_none() {
            let allowed = "counts with a sum that can be counted";
            return Err(Error::parameter(
                "n_support",
                allowed,
                "a sum that overflows",
            ));
        }
        let (expected, got) = (
            (self.layout().height(), self.vectors()),
            self.dual_coef.dim(),
        );
        if got != expected {
            let why = match self.outputs() {
                Some(_) => ", a row for each entry of intercept_",
                None => "",
            };
            let (expected, got) = (format!("shape {expected:?}{why}"), format!("{got:?}"));
            return Err(Error::shape("dual_coef_", expected, got));
        }
        if self.intercept.len() != self.machines() {
            let (expected, got) = (self.machines(), self.intercept.len());
            let expected = format!("{expected} entries");
            return Err(Error::shape("intercept_", expected, got.to_string()));
        }
        for (row, coefficients) in self.dual_coef.rows().into_iter().enumerate() {
            check_finite("dual_coef_", row, coefficients)?;
        }
        check_finite("intercept_", 0, self.intercept)
    }
}

fn check_finite<'a>(
    name: &'static str,
    row: usize,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<()> {
    match values.into_iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NotFinite { name, row, value }),
    }
}

/// Returns the coefficients of all support vectors in each machine, shape (machines, support
/// vectors), from those of [`Machines`](crate::model::Machines).
///
/// ```
/// use mercer::model::{Multiclass, coefficients_by_machine};
/// // Three classes with one support vector each; the machines are (0, 1), (0, 2), (1, 2).
/// let dual_coef = ndarray::array![[1.0, -1.0, -2.0], [2.0, 3.0, -3.0]];
/// let rows = coefficients_by_machine(Multiclass::OneVsOne, dual_coef.view(), &[1, 1, 1])?;
/// assert_eq!(rows, ndarray::array![[1.0, -1.0, 0.0], [2.0, 0.0, -2.0], [0.0, 3.0, -3.0]]);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If the shapes do not fit together.
pub fn coefficients_by_machine(
    multiclass: Multiclass,
    dual_coef: ArrayView2<f64>,
    n_support: &[usize],
) -> Result<Array2<f64>> {
    // A machine without classes has as many as it has rows.
    let machines = match n_support.len() {
        1 => dual_coef.nrows(),
        classes => multiclass.machines(classes),
    };
    let coefficients = Coefficients {
        n_support,
        dual_coef,
        intercept: &vec![0.0; machines],
        multiclass,
    };
    coefficients.check()?;
    let shape = (machines, dual_coef.ncols());
    let mut rows = memory::zero_matrix(shape, "the coefficients of all machines")?;
    for part in coefficients.parts() {
        for column in part.columns {
            rows[[part.machine, column]] = dual_coef[[part.row, column]];
        }
    }
    Ok(rows)
}
