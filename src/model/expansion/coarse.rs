//! Classes from values in f32.
//!
//! Most rows are so far from a boundary that f32 tells their class. An estimate of the error of each
//! value says which are not, and these are left to f64. The estimate is statistical: rounding errors of
//! kernel values are taken for independent, and eight standard deviations of their sum for its bound.

use super::layout::{Coefficients, Layout};
use crate::data::Samples;
use crate::error::{Polled, Result, Stop};
use crate::kernel::{
    Bounds, Centred, Columns, Kernel, LARGEST_SINGLE, TINY, Weights, check_columns,
};
use crate::model::multiclass::{Choice, Rule, by_sign, is_sure, largest, most_votes, pair, walk};

/// The largest error of a decision value for which f32 is worth a try: not too many rows are then so
/// close to a boundary that they have to be computed again.
const LARGEST_ERROR: f64 = 0.1;
/// The rows after which f32 is given up if more than half of them have to be computed again.
const TRIAL: usize = 512;
/// Standard deviations of an error that are taken for its bound.
const DEVIATIONS: f64 = 8.0;

/// What finds classes in f32.
#[derive(Debug)]
pub(super) struct Coarse {
    columns: Columns<f32>,
    weights: Weights<f32>,
    /// How much errors of kernel values count in each machine.
    sizes: Vec<Size>,
    intercept: Vec<f64>,
    layout: Layout,
    rule: Rule,
}

impl Coarse {
    /// Packs the support vectors; `None` if f32 is too coarse to be of use.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(
        kernel: &Kernel,
        support: &Samples,
        coefficients: &Coefficients,
    ) -> Result<Option<Self>> {
        let rule = coefficients.multiclass.rule(coefficients.classes());
        let classes = coefficients.classes();
        // Of a tree nothing is known in f32 but the values: where it leads is seldom asked that often.
        if !kernel.is_tiled() || classes < 2 || support.rows() == 0 || rule == Rule::Tree {
            return Ok(None);
        }
        let all: Vec<usize> = (0..support.rows()).collect();
        let columns = Columns::<f32>::new(kernel, Centred::not(support), &all)?;
        let (bounds, sizes) = (columns.bounds(support, 0), sizes(coefficients));
        let error = sizes
            .iter()
            .map(|size| size.error(bounds))
            .fold(0.0, f64::max);
        if error.is_nan() || error >= LARGEST_ERROR {
            return Ok(None);
        }
        let weights = match rule {
            // A walk wants some of the sums.
            Rule::Walk => Weights::by_rows,
            _ => Weights::new,
        };
        let layout = coefficients.layout();
        let segments = layout.segments(coefficients.n_support);
        Ok(Some(Coarse {
            columns,
            weights: weights(&coefficients.flat()?, layout.height(), segments)?,
            sizes,
            intercept: coefficients.intercept.to_vec(),
            layout,
            rule,
        }))
    }

    /// Chooses the classes of all rows. Where most of the first ones are doubtful, the rest is not
    /// tried.
    pub fn choose(&self, samples: &Samples, stop: Stop) -> Polled<Vec<Choice>> {
        check_columns(samples, self.columns.dim())?;
        let all: Vec<usize> = (0..samples.rows()).collect();
        let mut choices = vec![Choice::default(); all.len()];
        let trial = all.len().min(TRIAL);
        for part in [0..trial, trial..all.len()] {
            let (rows, out) = (&all[part.clone()], &mut choices[part]);
            self.choose_some(samples, rows, out, stop)?;
            if 2 * out.iter().filter(|choice| choice.doubtful).count() > out.len() {
                break;
            }
        }
        Ok(choices)
    }

    fn choose_some(
        &self,
        samples: &Samples,
        rows: &[usize],
        out: &mut [Choice],
        stop: Stop,
    ) -> Polled<()> {
        let columns = &self.columns;
        if self.rule == Rule::Walk {
            let walk = |row, values: &[f32], out: &mut [Choice]| {
                out[0] = self.walked(values, columns.bounds(samples, row));
            };
            columns.values(samples, rows, out, walk, stop)
        } else {
            let elect = |row, sums: &[f64], out: &mut [Choice]| {
                out[0] = self.elected(sums, columns.bounds(samples, row));
            };
            columns.sums(samples, rows, &self.weights, out, elect, stop)
        }
    }

    /// Chooses a class from the sums of a row.
    fn elected(&self, sums: &[f64], bounds: Bounds) -> Choice {
        let error = |machine: usize| self.sizes[machine].error(bounds);
        match self.layout {
            Layout::Single => by_sign(sums[0] + self.intercept[0], error(0)),
            Layout::PerClass(classes) => {
                largest(classes, |c| (sums[c] + self.intercept[c], error(c)))
            }
            Layout::Pairs(classes) => most_votes(classes, |i, j, machine| {
                let intercept = self.intercept[machine];
                (self.layout.of_pair(sums, (i, j), intercept), error(machine))
            }),
        }
    }

    /// Walks the graph with the kernel values of a row. Of all pairs of classes only those on the way
    /// are evaluated.
    fn walked(&self, values: &[f32], bounds: Bounds) -> Choice {
        let classes = self.layout.height() + 1;
        let isa = self.columns.isa();
        let mut doubtful = false;
        let class = walk(classes, |i, j| {
            let machine = pair(classes, i, j);
            let sum = |segment, row| self.weights.sum(isa, segment, row, values);
            let value = sum(i, j - 1) + sum(j, i) + self.intercept[machine];
            doubtful |= !is_sure(value, self.sizes[machine].error(bounds));
            value
        });
        Choice { class, doubtful }
    }
}

/// How much errors of kernel values count in a machine.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// The factor of independent errors, those of kernel values: their sum grows with the square root
    /// of the sum of squared coefficients, and never beyond the next.
    independent: f64,
    /// The sum of the coefficients without their signs.
    total: f64,
}

impl Size {
    /// Estimates the error of the machine's value in f32; infinite where something may overflow.
    fn error(&self, bounds: Bounds) -> f64 {
        let largest = bounds.value.max(1.0) * self.total.max(1.0);
        let rounded = bounds.error * self.independent
            + Weights::<f32>::rounding() * bounds.value * self.total;
        // Coefficients, and their products with values, may underflow, too.
        let lost = bounds.loss * self.total + TINY * (1.0 + bounds.value);
        match largest <= LARGEST_SINGLE {
            true => rounded + lost,
            false => f64::INFINITY,
        }
    }
}

fn sizes(coefficients: &Coefficients) -> Vec<Size> {
    let mut sums = vec![(0.0, 0.0); coefficients.machines()];
    for part in coefficients.parts() {
        let row = coefficients.dual_coef.row(part.row);
        let (total, squares) = &mut sums[part.machine];
        for beta in part.columns.map(|column| row[column]) {
            *total += f64::abs(beta);
            *squares += beta * beta;
        }
    }
    let size = |(total, squares): (f64, f64)| Size {
        independent: (DEVIATIONS * squares.sqrt()).min(total),
        total,
    };
    sums.into_iter().map(size).collect()
}
