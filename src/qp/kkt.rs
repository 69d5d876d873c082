//! Keerthi's two thresholds: the optimality test, independent of any solver.

use super::{Constraint, DualProblem};

/// One variable as the test sees it.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub beta: f64,
    /// The gradient of the smooth part of the objective.
    pub gradient: f64,
    pub lower: f64,
    pub upper: f64,
    /// The factor of |beta|.
    pub absolute: f64,
}

impl Point {
    pub fn may_grow(&self) -> bool {
        self.beta < self.upper
    }

    pub fn may_shrink(&self) -> bool {
        self.beta > self.lower
    }

    /// Tells whether it may move both ways without a kink.
    pub fn is_free(&self) -> bool {
        self.may_grow() && self.may_shrink() && (self.beta != 0.0 || self.absolute == 0.0)
    }

    /// How fast the objective falls when the variable grows.
    pub fn up(&self) -> f64 {
        -self.gradient + grow_offset(self.beta, self.absolute)
    }

    /// How fast the objective rises when the variable shrinks.
    pub fn down(&self) -> f64 {
        -self.gradient + shrink_offset(self.beta, self.absolute)
    }
}

/// What |beta| adds to the descent of a variable that grows: its slope changes sign at 0.
pub(super) fn grow_offset(beta: f64, absolute: f64) -> f64 {
    if beta >= 0.0 { -absolute } else { absolute }
}

/// What |beta| adds to the descent of a variable that shrinks.
pub(super) fn shrink_offset(beta: f64, absolute: f64) -> f64 {
    if beta > 0.0 { -absolute } else { absolute }
}

/// The thresholds (m, M) of each group of variables; there are two groups if two sums are fixed,
/// otherwise all variables are in the first.
///
/// ```
/// use mercer::{formulation::{Intercept, Loss, svc}, qp::Thresholds};
/// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::Free);
/// let thresholds = Thresholds::of(&problem, &[0.0, 0.0], &problem.linear);
/// assert_eq!(thresholds.gap(), 2.0); // the first may grow with m = 1, the second shrink: M = -1
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    m: [f64; 2],
    big_m: [f64; 2],
}

impl Thresholds {
    /// The thresholds of no variables.
    pub(super) fn empty() -> Self {
        Thresholds {
            m: [f64::NEG_INFINITY; 2],
            big_m: [f64::INFINITY; 2],
        }
    }

    /// Returns the thresholds of coefficients and their gradient, that of the smooth part of the
    /// objective without the square of the sum.
    ///
    /// ```
    /// # use mercer::{formulation::{Intercept, Loss, svc}, qp::Thresholds};
    /// let problem = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::Free);
    /// // Linear kernel, x = 1 and -1: optimal at beta = (1/2, -1/2).
    /// let thresholds = Thresholds::of(&problem, &[0.5, -0.5], &[0.0, 0.0]);
    /// assert_eq!(thresholds.gap(), 0.0);
    /// ```
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn of(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> Self {
        let mut thresholds = Thresholds::empty();
        for i in 0..beta.len() {
            let group = problem.constraint.group(i);
            thresholds.include(group, problem.point(i, beta[i], gradient[i]));
        }
        if let Some(curvature) = problem.constraint.slack() {
            thresholds.include_value(0, curvature * beta.iter().sum::<f64>());
        }
        thresholds
    }

    pub(super) fn include(&mut self, group: usize, point: Point) {
        if point.may_grow() {
            self.m[group] = self.m[group].max(point.up());
        }
        if point.may_shrink() {
            self.big_m[group] = self.big_m[group].min(point.down());
        }
    }

    /// Includes a variable that may move both ways.
    pub(super) fn include_value(&mut self, group: usize, descent: f64) {
        self.m[group] = self.m[group].max(descent);
        self.big_m[group] = self.big_m[group].min(descent);
    }

    /// Returns m, the fastest descent of the variables of a group that may grow.
    pub(super) fn m(&self, group: usize) -> f64 {
        self.m[group]
    }

    /// Returns M, the slowest of those that may shrink.
    pub(super) fn big_m(&self, group: usize) -> f64 {
        self.big_m[group]
    }

    /// Returns the largest m - M of a group; 0 where none may grow or none may shrink, because
    /// then the point is the only feasible one.
    ///
    /// ```
    /// # use mercer::{formulation::{Intercept, Loss, svc}, qp::Thresholds};
    /// let same = svc(&[true, true], &[1.0, 1.0], Loss::Linear, Intercept::Free);
    /// assert_eq!(Thresholds::of(&same, &[0.0, 0.0], &same.linear).gap(), 0.0);
    /// ```
    pub fn gap(&self) -> f64 {
        let gap = |group: usize| {
            let gap = self.m[group] - self.big_m[group];
            if gap.is_finite() { gap } else { 0.0 }
        };
        // Without a second group the first may be below zero.
        match self.m[1] == f64::NEG_INFINITY && self.big_m[1] == f64::INFINITY {
            true => gap(0),
            false => gap(0).max(gap(1)),
        }
    }

    /// Returns the largest absolute value of a threshold.
    pub(super) fn size(&self) -> f64 {
        let finite = self.m.iter().chain(&self.big_m).filter(|t| t.is_finite());
        finite.fold(0.0, |size, threshold| size.max(threshold.abs()))
    }
}

/// Returns the bias of each group: the mean descent of its free variables; if none is free, the
/// middle of what optimality allows.
pub(super) fn biases(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> [f64; 2] {
    if let Some(curvature) = problem.constraint.slack() {
        return [curvature * beta.iter().sum::<f64>(); 2];
    }
    let (mut sum, mut free) = ([0.0; 2], [0usize; 2]);
    for i in 0..beta.len() {
        let point = problem.point(i, beta[i], gradient[i]);
        if point.is_free() {
            let group = problem.constraint.group(i);
            sum[group] += point.up();
            free[group] += 1;
        }
    }
    let thresholds = Thresholds::of(problem, beta, gradient);
    let bias = |group: usize| {
        if free[group] > 0 {
            return sum[group] / free[group] as f64;
        }
        let (m, big_m) = (thresholds.m(group), thresholds.big_m(group));
        match (m.is_finite(), big_m.is_finite()) {
            (true, true) => (m + big_m) / 2.0,
            (true, false) => m,
            (false, true) => big_m,
            (false, false) => 0.0,
        }
    };
    match problem.constraint {
        Constraint::TwoSums(_) => [bias(0), bias(1)],
        _ => [bias(0); 2],
    }
}
