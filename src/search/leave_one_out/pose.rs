//! The problems of machines trained on all rows but one.

use super::result::Sphere;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{boundary_shift, svdd};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::model::Margin;
use crate::qp::{Constraint, DualProblem, Solution};
use crate::search::fit::{Fit, Formulation, Part};

/// How the problems of the machines are posed.
pub(super) enum Posing<'a> {
    Fit(&'a Fit),
    Sphere(&'a Sphere),
}

impl Posing<'_> {
    /// Returns the problems of all machines, on all rows or without one.
    pub fn pose(
        &self,
        kernel: &Kernel,
        samples: &Samples,
        without: Option<usize>,
    ) -> Result<Vec<Part>> {
        match self {
            Posing::Fit(fit) => match without {
                None => Ok(fit.pose(samples)?.parts),
                Some(row) => {
                    let mut fit = Fit {
                        asked: Vec::new(),
                        ..(*fit).clone()
                    };
                    fit.cost[row] = 0.0;
                    Ok(fit.pose(samples)?.parts)
                }
            },
            Posing::Sphere(sphere) => {
                let n = samples.rows();
                if sphere.weights.len() != n {
                    let expected = format!("{n} entries, one per row of X");
                    let got = sphere.weights.len().to_string();
                    return Err(Error::shape("sample_weight", expected, got));
                }
                let kept = |row: &usize| sphere.weights[*row] != 0.0 && Some(*row) != without;
                let rows: Vec<usize> = (0..n).filter(kept).collect();
                if rows.is_empty() {
                    let allowed = "positive for at least one row that is not left out";
                    return Err(Error::parameter("sample_weight", allowed, "none"));
                }
                let weights: Vec<f64> = rows.iter().map(|&row| sphere.weights[row]).collect();
                let matrix = KernelMatrix::new(kernel, samples, rows.clone())?;
                let problem = svdd(matrix.diagonal(), &weights, sphere.nu, sphere.loss)?;
                Ok(vec![Part::Other { rows, problem }])
            }
        }
    }

    /// Tells whether a problem without a row is that of all rows with its variable fixed: no share of
    /// all rows is fixed.
    pub fn is_plain(&self) -> bool {
        match self {
            Posing::Fit(fit) => matches!(
                fit.formulation,
                Formulation::Regression { .. }
                    | Formulation::Classifier {
                        margin: Margin::Soft { .. },
                        ..
                    }
            ),
            Posing::Sphere(_) => false,
        }
    }

    /// Returns the tolerance at which to solve the problem of a machine.
    pub fn tolerance(&self, asked: f64) -> f64 {
        match self {
            Posing::Fit(_) => asked,
            // As Svdd does: its coefficients are so much smaller than those of the one-class machine.
            Posing::Sphere(sphere) => {
                asked / (sphere.nu * sphere.weights.iter().sum::<f64>()).max(1.0)
            }
        }
    }

    /// Returns the value of a row, from that of K beta.
    pub fn value(&self, product: Product, solution: &Solution, tolerance: f64) -> f64 {
        let gap = solution.report.gap;
        match self {
            Posing::Sphere(_) => {
                let radius = 2.0 * solution.intercept + product.squared_norm;
                let size = radius.abs() + product.squared_norm.abs();
                let shift = 2.0 * boundary_shift(gap, tolerance, size);
                2.0 * (product.value + solution.intercept) - product.diagonal + shift
            }
            Posing::Fit(fit) => {
                let shift = match fit.formulation {
                    Formulation::OneClass { .. } => {
                        boundary_shift(gap, tolerance, solution.intercept.abs())
                    }
                    _ => 0.0,
                };
                product.scale * product.value + solution.intercept + shift
            }
        }
    }
}

/// What the value of a row is made of.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// (K beta)_i.
    pub value: f64,
    /// What beta was multiplied by to make the machine.
    pub scale: f64,
    /// beta' K beta, where it is of use.
    pub squared_norm: f64,
    /// k(x_i, x_i).
    pub diagonal: f64,
}

/// Puts a problem that lacks some variables on all of them: those are fixed at zero.
pub(super) fn spread(problem: &DualProblem, lacking: &[usize], n: usize) -> DualProblem {
    let own: Vec<usize> = (0..n).filter(|i| !lacking.contains(i)).collect();
    let put = |values: &[f64]| {
        let mut all = vec![0.0; n];
        for (&at, &value) in own.iter().zip(values) {
            all[at] = value;
        }
        all
    };
    DualProblem {
        linear: put(&problem.linear),
        absolute: put(&problem.absolute),
        lower: put(&problem.lower),
        upper: put(&problem.upper),
        ridge: put(&problem.ridge),
        start: put(&problem.start),
        constraint: match &problem.constraint {
            Constraint::TwoSums(second) => {
                let mut all = vec![false; n];
                for (&at, &second) in own.iter().zip(second) {
                    all[at] = second;
                }
                Constraint::TwoSums(all)
            }
            other => other.clone(),
        },
    }
}
