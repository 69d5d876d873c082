//! The dual problem: what a solver is given.

use super::exact_sum::exact_sum;
use crate::error::{Error, Result};

/// A dual problem. All vectors have one entry per variable.
///
/// ```
/// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Constraint, DualProblem, Smo, Unwatched}};
/// // Two points at distance 2 on a line, hard margin: beta = (-1/2, 1/2), f(x) = x.
/// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let problem = DualProblem {
///     linear: vec![1.0, -1.0],
///     absolute: vec![0.0, 0.0],
///     lower: vec![-10.0, 0.0],
///     upper: vec![0.0, 10.0],
///     ridge: vec![0.0, 0.0],
///     start: vec![0.0, 0.0],
///     constraint: Constraint::Sum,
/// };
/// let solution = Smo::default().solve(&problem, &matrix, &Unwatched)?;
/// assert_eq!(solution.beta, [-0.5, 0.5]);
/// assert_eq!(solution.intercept, 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DualProblem {
    /// The linear term.
    pub linear: Vec<f64>,
    /// The factors of |beta_i|, not negative: the width of the tube in regression.
    pub absolute: Vec<f64>,
    /// Lower bounds; may be minus infinity.
    pub lower: Vec<f64>,
    /// Upper bounds; may be infinity.
    pub upper: Vec<f64>,
    /// Added to the diagonal of the kernel matrix.
    pub ridge: Vec<f64>,
    /// A feasible point: where to start, and the sums to keep.
    pub start: Vec<f64>,
    /// What is fixed beside the bounds.
    pub constraint: Constraint,
}

impl DualProblem {
    /// Returns the problem in -beta, whose solution is that of this one with the other sign.
    pub(crate) fn mirrored(&self) -> Self {
        let minus = |values: &[f64]| values.iter().map(|value| 0.0 - value).collect();
        DualProblem {
            linear: minus(&self.linear),
            lower: minus(&self.upper),
            upper: minus(&self.lower),
            start: minus(&self.start),
            ..self.clone()
        }
    }

    /// Returns the smallest ridge of a variable without a bound; infinity if all have bounds.
    pub(super) fn least_ridge(&self) -> f64 {
        let bounds = self.lower.iter().zip(&self.upper);
        let unbounded = bounds.map(|(lower, upper)| lower.is_infinite() || upper.is_infinite());
        let ridges = unbounded
            .zip(&self.ridge)
            .filter(|(unbounded, _)| *unbounded);
        ridges.fold(f64::INFINITY, |least, (_, &ridge)| least.min(ridge))
    }

    /// Returns the objective at beta, whose smooth part has this gradient.
    pub(super) fn objective(&self, beta: &[f64], gradient: &[f64]) -> f64 {
        let terms = beta.iter().enumerate().map(|(i, beta)| {
            0.5 * beta * (gradient[i] + self.linear[i]) + self.absolute[i] * beta.abs()
        });
        let sum = exact_sum(beta.iter().copied());
        let curvature = self.constraint.absorber().unwrap_or(0.0);
        terms.sum::<f64>() + 0.5 * curvature * sum * sum
    }

    /// Returns the objective, and how many coefficients are not zero.
    pub(super) fn point(&self, beta: &[f64], gradient: &[f64]) -> (f64, usize) {
        let support = beta.iter().filter(|beta| **beta != 0.0).count();
        (self.objective(beta, gradient), support)
    }

    /// Returns the sizes of the terms of the objective, added up: what its relative error refers to.
    pub(super) fn terms(&self, beta: &[f64], gradient: &[f64]) -> f64 {
        let sizes = beta.iter().enumerate().map(|(i, beta)| {
            let product = gradient[i] - self.linear[i] - self.ridge[i] * beta;
            beta.abs() * (product.abs() + self.linear[i].abs() + self.absolute[i])
        });
        sizes.sum()
    }

    /// Checks that there are `n` variables, none of them is charged for less than nothing, and the
    /// start is within the bounds.
    pub(super) fn check(&self, n: usize) -> Result<()> {
        let second = match &self.constraint {
            Constraint::TwoSums(second) => second.len(),
            _ => n,
        };
        for (name, length) in [
            ("linear", self.linear.len()),
            ("absolute", self.absolute.len()),
            ("lower", self.lower.len()),
            ("upper", self.upper.len()),
            ("ridge", self.ridge.len()),
            ("start", self.start.len()),
            ("constraint", second),
        ] {
            if length != n {
                return Err(Error::shape(
                    name,
                    format!("{n} entries"),
                    length.to_string(),
                ));
            }
        }
        if let Some(factor) = self.absolute.iter().find(|f| f.is_nan() || **f < 0.0) {
            return Err(Error::parameter("absolute", "not negative", factor));
        }
        let bounds = self.lower.iter().zip(&self.upper);
        let feasible = self
            .start
            .iter()
            .zip(bounds)
            .all(|(&start, (&lower, &upper))| lower <= start && start <= upper);
        if !feasible {
            let allowed = "between lower and upper";
            return Err(Error::parameter("start", allowed, "another point"));
        }
        Ok(())
    }
}

/// What is fixed beside the bounds.
///
/// ```
/// use mercer::{formulation::{Intercept, Loss, svc}, qp::Constraint};
/// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::None);
/// assert_eq!(problem.constraint, Constraint::None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The sum of all coefficients: its multiplier is the intercept.
    Sum,
    /// The sums of two groups; true for the variables of the second.
    TwoSums(Vec<bool>),
    /// Nothing, but half the square of the sum of all coefficients is added to the objective, as if
    /// the kernel were K + 1: the intercept is then that sum.
    Penalized,
    /// Nothing: there is no intercept.
    None,
}

impl Constraint {
    /// Returns the number of the group of a variable.
    pub(super) fn group(&self, variable: usize) -> usize {
        match self {
            Constraint::TwoSums(second) => usize::from(second[variable]),
            _ => 0,
        }
    }

    /// Returns how many groups there are.
    pub(super) fn groups(&self) -> usize {
        match self {
            Constraint::TwoSums(_) => 2,
            _ => 1,
        }
    }

    /// Returns the curvature of the variable that absorbs the sum, where no sum is fixed.
    pub(super) fn absorber(&self) -> Option<f64> {
        match self {
            Constraint::Sum | Constraint::TwoSums(_) => None,
            Constraint::Penalized => Some(1.0),
            Constraint::None => Some(0.0),
        }
    }
}
