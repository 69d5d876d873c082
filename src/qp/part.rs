//! Part: the optimality conditions of some variables of a problem, while the others are elsewhere.
//!
//! Thresholds, violations and the duality gap are each found variable by variable, so what was found
//! for the parts of a problem, on machines that know nothing of each other, adds up to the whole: m and
//! the duality gap by maximum and sum, M by minimum. What is known of all variables together, the sums
//! and the intercepts, has to be told.

use super::coordinates::Coordinates;
use super::duality::Charged;
use super::kkt::Thresholds;
use super::problem::DualProblem;

/// What is to be said of the optimality of some variables.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::Free);
/// let part = problem.part(&[0.0, 0.0], &problem.linear, [0.5; 2]);
/// assert_eq!(part.violations, [0.5, 1.5]);
/// assert_eq!((part.thresholds.gap(), part.duality_gap), (2.0, 2.0)); // the second row costs 1 + 0.5
/// ```
#[derive(Clone, Debug)]
pub struct Part {
    /// The thresholds of these variables alone, without the one that absorbs the sum.
    pub thresholds: Thresholds,
    /// By how much each variable violates the conditions of optimality at the given intercepts; zero if
    /// it does not.
    pub violations: Vec<f64>,
    /// What these variables add to the duality gap; infinity where nothing bounds a loss.
    pub duality_gap: f64,
}

impl DualProblem {
    /// Examines some variables, of which this is the problem: `gradient` is that of the smooth part of
    /// the objective without the square of the sum, `intercepts` are those of the groups.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::Free);
    /// // Linear kernel, x = 1 and -1: optimal at beta = (1/2, -1/2).
    /// let part = problem.part(&[0.5, -0.5], &[0.0, 0.0], [0.0; 2]);
    /// assert_eq!((part.violations, part.duality_gap), (vec![0.0, 0.0], 0.0));
    /// // With squared losses the ridge belongs to the gradient, not to the decision values.
    /// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Squared, Intercept::Free);
    /// let beta = 1.0 / (2.0 + problem.ridge[0]);
    /// let part = problem.part(&[beta, -beta], &[0.0, 0.0], [0.0; 2]);
    /// assert!(problem.ridge[0] > 0.0 && part.duality_gap.abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn part(&self, beta: &[f64], gradient: &[f64], intercepts: [f64; 2]) -> Part {
        assert_eq!(
            beta.len(),
            self.linear.len(),
            "one coefficient per variable"
        );
        assert_eq!(gradient.len(), beta.len(), "one slope per variable");
        let coordinates = Coordinates::of(self, beta.to_vec(), gradient.to_vec());
        let mut part = Part {
            thresholds: Thresholds::empty(),
            violations: Vec::with_capacity(beta.len()),
            duality_gap: 0.0,
        };
        for i in 0..beta.len() {
            let (group, point) = (self.constraint.group(i), coordinates.point(i));
            let intercept = intercepts[group];
            part.thresholds.include(group, point);
            let above = match point.may_grow() {
                true => point.up() - intercept,
                false => 0.0,
            };
            let below = match point.may_shrink() {
                true => intercept - point.down(),
                false => 0.0,
            };
            part.violations.push(above.max(below).max(0.0));
            let h = gradient[i] - self.ridge[i] * beta[i] + intercept;
            part.duality_gap += Charged::of(self, i).gap(h, beta[i]);
        }
        part
    }

    /// Returns the intercepts of the groups if these are all variables that are not zero: as given where
    /// one of the group is free, else the middle of its thresholds over all variables.
    ///
    /// ```
    /// # use mercer::{formulation::{Intercept, Loss, svc}, qp::Thresholds};
    /// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::Free);
    /// let all = Thresholds::from_groups([[-0.5, 0.25], [f64::NEG_INFINITY, f64::INFINITY]]);
    /// assert_eq!(problem.settled(&[0.5, -0.5], [0.0; 2], &all), [0.0; 2]);
    /// assert_eq!(problem.settled(&[1.0, -1.0], [0.0; 2], &all)[0], -0.125);
    /// ```
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn settled(&self, beta: &[f64], intercepts: [f64; 2], all: &Thresholds) -> [f64; 2] {
        if self.constraint.absorber().is_some() {
            return intercepts;
        }
        let coordinates = Coordinates::of(self, beta.to_vec(), vec![0.0; beta.len()]);
        let mut free = [false; 2];
        for i in 0..beta.len() {
            free[self.constraint.group(i)] |= coordinates.point(i).is_free();
        }
        let settle = |group: usize| match free[group] {
            true => intercepts[group],
            false => all.middle(group),
        };
        match self.constraint.groups() {
            2 => [settle(0), settle(1)],
            _ => [settle(0); 2],
        }
    }
}
