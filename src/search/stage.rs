//! Stage: the common samples under one kernel, and problems over some of their rows put on it.
//!
//! A problem over most of the rows is put on all of them: rows that are not its own are variables
//! fixed at zero. Then the rows of K are read where they lie, solutions of one fold can be compared
//! with those of another, variable by variable, and (K beta)_i is there for every row. A problem over
//! fewer rows, such as that of a pair of classes, is put on its own and those asked for.

use crate::data::Samples;
use crate::error::{Polled, Result, Stop};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, Whole};
use crate::qp::{Constraint, DualProblem, Solution};
use std::sync::Arc;

/// The share of all rows from which a problem is put on all of them.
const MOST: f64 = 0.6;

/// The samples under one kernel.
pub(super) struct Stage<'a> {
    kernel: Kernel,
    samples: &'a Samples,
    /// The matrix of all samples, if there was room for it.
    whole: Option<Whole<'a>>,
}

/// Where the variables of a problem are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places {
    /// The row behind each variable of the stage.
    pub rows: Arc<[usize]>,
    /// The variable of the stage for each variable of the problem.
    pub own: Vec<usize>,
    /// The variable for each row asked for.
    pub asked: Vec<usize>,
    complete: bool,
}

impl<'a> Stage<'a> {
    /// Computes what fits `bytes`.
    pub fn new(kernel: &Kernel, samples: &'a Samples, bytes: usize, stop: Stop) -> Polled<Self> {
        let index = (0..samples.rows()).collect();
        Ok(Stage {
            whole: Whole::new(kernel, samples, index, bytes, stop)?,
            kernel: kernel.clone(),
            samples,
        })
    }

    /// Returns the kernel values that were computed beforehand.
    pub fn evaluations(&self) -> u64 {
        self.whole.as_ref().map_or(0, Whole::evaluations)
    }

    pub fn samples(&self) -> &'a Samples {
        self.samples
    }

    /// Finds places for the variables of a problem over `rows`, and for the rows asked for.
    pub fn places(&self, rows: &[usize], asked: &[usize]) -> Places {
        let n = self.samples.rows();
        let mut place = vec![usize::MAX; n];
        let distinct = rows
            .iter()
            .all(|&row| std::mem::replace(&mut place[row], 0) != 0);
        let complete = distinct && rows.len() as f64 >= MOST * n as f64 && self.whole.is_some();
        if complete {
            return Places {
                rows: (0..n).collect(),
                own: rows.to_vec(),
                asked: asked.to_vec(),
                complete,
            };
        }
        place.fill(usize::MAX);
        let mut all = Vec::with_capacity(rows.len() + asked.len());
        for &row in rows {
            place[row] = all.len();
            all.push(row);
        }
        let mut asked_at = Vec::with_capacity(asked.len());
        for &row in asked {
            if place[row] == usize::MAX {
                place[row] = all.len();
                all.push(row);
            }
            asked_at.push(place[row]);
        }
        Places {
            own: (0..rows.len()).collect(),
            rows: all.into(),
            asked: asked_at,
            complete,
        }
    }

    /// Describes the matrix over the rows of some places.
    pub fn matrix(&'a self, places: &Places) -> Result<KernelMatrix<'a>> {
        match &self.whole {
            Some(whole) => Ok(whole.part(&places.rows)),
            None => KernelMatrix::new(&self.kernel, self.samples, places.rows.to_vec()),
        }
    }
}

impl Places {
    /// Finds places for the variables of a problem over `rows` among those of a problem over more rows,
    /// and for the rows asked for that are among these, which are returned.
    pub fn within(all: &[usize], rows: &[usize], asked: &[usize]) -> (Self, Vec<usize>) {
        let n = all.iter().max().map_or(0, |largest| largest + 1);
        let mut place = vec![usize::MAX; n];
        for (at, &row) in all.iter().enumerate() {
            place[row] = at;
        }
        let known = |row: &usize| *row < n && place[*row] != usize::MAX;
        let found: Vec<usize> = asked.iter().copied().filter(known).collect();
        let places = Places {
            own: rows.iter().map(|&row| place[row]).collect(),
            asked: found.iter().map(|&row| place[row]).collect(),
            rows: all.into(),
            complete: false,
        };
        (places, found)
    }

    /// Tells whether the problem is put on all rows.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the problem with variables fixed at zero for what is not its own.
    pub fn put(&self, problem: &DualProblem) -> DualProblem {
        let spread = |values: &[f64]| {
            let mut all = vec![0.0; self.rows.len()];
            for (&at, &value) in self.own.iter().zip(values) {
                all[at] = value;
            }
            all
        };
        DualProblem {
            linear: spread(&problem.linear),
            absolute: spread(&problem.absolute),
            lower: spread(&problem.lower),
            upper: spread(&problem.upper),
            ridge: spread(&problem.ridge),
            start: spread(&problem.start),
            constraint: match &problem.constraint {
                Constraint::TwoSums(second) => {
                    let mut all = vec![false; self.rows.len()];
                    for (&at, &second) in self.own.iter().zip(second) {
                        all[at] = second;
                    }
                    Constraint::TwoSums(all)
                }
                other => other.clone(),
            },
        }
    }

    /// Returns the solution of the problem itself.
    pub fn own_solution(&self, mut solution: Solution) -> Solution {
        solution.beta = self.own(&solution.beta);
        solution
    }

    /// Returns the entries of the problem's own variables.
    pub fn own(&self, values: &[f64]) -> Vec<f64> {
        self.own.iter().map(|&at| values[at]).collect()
    }
}
