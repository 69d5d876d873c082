//! Stage: the common samples under one kernel, and problems over some of their rows put on it.
//!
//! A problem over most of the rows is put on all of them: rows that are not its own are variables
//! fixed at zero. Then the rows of K are read where they lie, solutions of one fold can be compared
//! with those of another, variable by variable, and (K beta)_i is there for every row. A problem over
//! fewer rows, such as that of a pair of classes, is put on all rows of these classes, the matrix of
//! which is copied once for all folds and costs; of other rows that are asked for, values are computed.
//! Where there is no memory for that, it is put on its own rows and those asked for.

use crate::data::Samples;
use crate::error::{Polled, Result, Stop};
use crate::kernel::Kernel;
use crate::matrix::{Gathered, KernelMatrix, Whole};
use crate::qp::{Constraint, DualProblem, Solution};
use crate::simd::process::locked;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The share of all rows from which a problem is put on all of them.
const MOST: f64 = 0.6;

/// The samples under one kernel.
pub(super) struct Stage<'a> {
    kernel: Kernel,
    samples: &'a Samples,
    /// The matrix of all samples, if there was room for it.
    whole: Option<Whole<'a>>,
    /// Matrices of some of the rows that have been copied.
    gathered: Mutex<BTreeMap<Arc<[usize]>, Place>>,
}

/// Where a copy is put; whoever makes it has the lock.
type Place = Arc<Mutex<Option<Arc<Gathered>>>>;

/// Where the variables of a problem are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places {
    /// The row behind each variable of the stage.
    pub rows: Arc<[usize]>,
    /// The variable of the stage for each variable of the problem.
    pub own: Vec<usize>,
    /// The variable for each row asked for that has one.
    pub asked: Vec<usize>,
    /// The rows asked for that have none.
    pub outside: Vec<usize>,
    /// Whether rows of the matrix are read where they lie.
    is_lent: bool,
}

impl<'a> Stage<'a> {
    /// Computes what fits `bytes`; `pairs` tells that many problems are over few of the rows.
    pub fn new(
        kernel: &Kernel,
        samples: &'a Samples,
        bytes: usize,
        pairs: bool,
        stop: Stop,
    ) -> Polled<Self> {
        let index = (0..samples.rows()).collect();
        Ok(Stage {
            whole: Whole::new(kernel, samples, index, (bytes, pairs), stop)?,
            kernel: kernel.clone(),
            samples,
            gathered: Mutex::default(),
        })
    }

    /// Returns the kernel values that were computed beforehand.
    pub fn evaluations(&self) -> u64 {
        self.whole.as_ref().map_or(0, Whole::evaluations)
    }

    pub fn samples(&self) -> &'a Samples {
        self.samples
    }

    /// Finds places for the variables of a problem over `rows`, and for the rows asked for. `family` are
    /// the rows of its classes, held out or not.
    pub fn places(&self, rows: &[usize], asked: &[usize], family: &[usize]) -> Places {
        let n = self.samples.rows();
        let mut place = vec![usize::MAX; n];
        let distinct = rows
            .iter()
            .all(|&row| std::mem::replace(&mut place[row], 0) != 0);
        let Some(whole) = self.whole.as_ref().filter(|_| distinct) else {
            return Places::apart(rows, asked, place);
        };
        if rows.len() as f64 >= MOST * n as f64 {
            return Places {
                rows: (0..n).collect(),
                own: rows.to_vec(),
                asked: asked.to_vec(),
                outside: Vec::new(),
                is_lent: true,
            };
        }
        if !whole.gathers || family.is_empty() {
            return Places::apart(rows, asked, place);
        }
        let (mut places, _) = Places::within(family, rows, asked);
        places.is_lent = true;
        places
    }

    /// Describes the matrix over the rows of some places.
    pub fn matrix(&'a self, places: &Places) -> Result<KernelMatrix<'a>> {
        let Some(whole) = &self.whole else {
            return KernelMatrix::new(&self.kernel, self.samples, places.rows.to_vec());
        };
        let gathered = match places.is_lent && places.rows.len() < self.samples.rows() {
            true => Some(self.gather(whole, &places.rows)?),
            false => None,
        };
        Ok(whole.part(&places.rows, gathered))
    }

    /// Returns a copy of the matrix of some rows, made when it is first asked for.
    fn gather(&self, whole: &Whole, rows: &Arc<[usize]>) -> Result<Arc<Gathered>> {
        let place = locked(&self.gathered)
            .entry(rows.clone())
            .or_default()
            .clone();
        // Other folds need the same copy at the same time, and wait: the loop that makes it asks nobody
        // for help.
        let mut place = locked(&place);
        if let Some(found) = &*place {
            return Ok(found.clone());
        }
        let made = Arc::new(whole.gather(rows)?);
        Ok(place.insert(made).clone())
    }

    /// Returns (K beta)_i for other rows than those of the places that beta belongs to.
    pub fn product(
        &self,
        places: &Places,
        beta: &[f64],
        rows: &[usize],
        stop: Stop,
    ) -> Polled<Vec<f64>> {
        let support = places.rows.iter().zip(beta).filter(|t| *t.1 != 0.0);
        let (mut all, mut beta): (Vec<usize>, Vec<f64>) = support.unzip();
        let at: Vec<u32> = (all.len() as u32..).take(rows.len()).collect();
        all.extend(rows);
        beta.resize(all.len(), 0.0);
        match &self.whole {
            Some(whole) => whole.part(&all, None).product(&beta, &at, stop),
            None => KernelMatrix::new(&self.kernel, self.samples, all)?.product(&beta, &at, stop),
        }
    }
}

impl Places {
    /// Puts a problem on its own rows and those asked for; `place` has room for all rows.
    fn apart(rows: &[usize], asked: &[usize], mut place: Vec<usize>) -> Self {
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
            outside: Vec::new(),
            is_lent: false,
        }
    }

    /// Finds places for the variables of a problem over `rows` among those of a problem over more rows,
    /// and for the rows asked for that are among these, which are returned.
    pub fn within(all: &[usize], rows: &[usize], asked: &[usize]) -> (Self, Vec<usize>) {
        let n = all.iter().max().map_or(0, |largest| largest + 1);
        let mut place = vec![usize::MAX; n];
        for (at, &row) in all.iter().enumerate() {
            place[row] = at;
        }
        let known = |row: &usize| *row < n && place[*row] != usize::MAX;
        let (found, outside): (Vec<usize>, Vec<usize>) = asked.iter().partition(|row| known(row));
        let places = Places {
            own: rows.iter().map(|&row| place[row]).collect(),
            asked: found.iter().map(|&row| place[row]).collect(),
            rows: all.into(),
            outside,
            is_lent: false,
        };
        (places, found)
    }

    /// Tells whether rows of the matrix are read where they lie, in their order.
    pub fn is_lent(&self) -> bool {
        self.is_lent
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
