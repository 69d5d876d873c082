//! Keerthi's two thresholds: the optimality test, independent of any solver.

use super::coordinates::{Coordinates, Point};
use super::exact_sum::exact_sum;
use super::problem::{Constraint, DualProblem};

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
        let coordinates = Coordinates::of(problem, beta.to_vec(), gradient.to_vec());
        Thresholds::at(&coordinates, &problem.constraint)
    }

    /// Returns the thresholds of coordinates in the order of variables.
    pub(super) fn at(coordinates: &Coordinates, constraint: &Constraint) -> Self {
        let mut thresholds = Thresholds::empty();
        if constraint.groups() == 1 {
            let (m, big_m) = coordinates.extremes();
            thresholds.include_extremes(0, m, big_m);
        } else {
            for i in 0..coordinates.len() {
                thresholds.include(constraint.group(i), coordinates.point(i));
            }
        }
        if let Some(descent) = absorbed(coordinates, constraint) {
            thresholds.include_value(0, descent);
        }
        thresholds
    }

    /// Returns the thresholds that were found elsewhere: m and M of each group, infinite where a group
    /// has no variables.
    ///
    /// ```
    /// use mercer::qp::Thresholds;
    /// let none = [f64::NEG_INFINITY, f64::INFINITY];
    /// let thresholds = Thresholds::from_groups([[0.5, 0.25], none]);
    /// assert_eq!((thresholds.gap(), thresholds.groups()[0]), (0.25, [0.5, 0.25]));
    /// ```
    pub fn from_groups(groups: [[f64; 2]; 2]) -> Self {
        Thresholds {
            m: groups.map(|group| group[0]),
            big_m: groups.map(|group| group[1]),
        }
    }

    /// Returns m and M of each group.
    ///
    /// ```
    /// # use mercer::qp::Thresholds;
    /// let groups = [[0.5, 0.25], [1.0, 2.0]];
    /// assert_eq!(Thresholds::from_groups(groups).groups(), groups);
    /// ```
    pub fn groups(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|group| [self.m[group], self.big_m[group]])
    }

    pub(super) fn include(&mut self, group: usize, point: Point) {
        if point.may_grow() {
            self.m[group] = self.m[group].max(point.up());
        }
        if point.may_shrink() {
            self.big_m[group] = self.big_m[group].min(point.down());
        }
    }

    /// Includes the fastest descent of some that may grow and the slowest of some that may shrink.
    pub(super) fn include_extremes(&mut self, group: usize, up: f64, down: f64) {
        self.m[group] = self.m[group].max(up);
        self.big_m[group] = self.big_m[group].min(down);
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
            let (m, big_m) = (self.m[group], self.big_m[group]);
            match m == f64::NEG_INFINITY || big_m == f64::INFINITY {
                true => 0.0,
                false => m - big_m,
            }
        };
        // Without a second group the first may be below zero.
        match self.m[1] == f64::NEG_INFINITY && self.big_m[1] == f64::INFINITY {
            true => gap(0),
            false => gap(0).max(gap(1)),
        }
    }

    /// Returns the middle of the thresholds of a group, as far as there are any.
    pub(super) fn middle(&self, group: usize) -> f64 {
        let (m, big_m) = (self.m[group], self.big_m[group]);
        match (m.is_finite(), big_m.is_finite()) {
            (true, true) => (m + big_m) / 2.0,
            (true, false) => m,
            (false, true) => big_m,
            (false, false) => 0.0,
        }
    }

    /// Returns the size of the largest threshold.
    pub(super) fn size(&self) -> f64 {
        let finite = self.m.iter().chain(&self.big_m).filter(|t| t.is_finite());
        finite.fold(0.0, |size, threshold| size.max(threshold.abs()))
    }
}

/// Returns the descent of the variable that absorbs the sum, where no sum is fixed. Coefficients may be
/// many orders larger than their sum, so it is added up exactly.
pub(super) fn absorbed(coordinates: &Coordinates, constraint: &Constraint) -> Option<f64> {
    let curvature = constraint.absorber()?;
    // Adding zero makes minus zero, where there is no intercept, zero.
    Some(curvature * exact_sum(coordinates.beta.iter().copied()) + 0.0)
}

/// Returns the intercept of each group: the mean descent of its free variables; if none is free, the
/// middle of what optimality allows.
pub(super) fn intercepts(coordinates: &Coordinates, constraint: &Constraint) -> [f64; 2] {
    if let Some(descent) = absorbed(coordinates, constraint) {
        return [descent; 2];
    }
    let (mut sum, mut free) = ([0.0; 2], [0usize; 2]);
    for i in 0..coordinates.len() {
        let point = coordinates.point(i);
        if point.is_free() {
            let group = constraint.group(i);
            sum[group] += point.up();
            free[group] += 1;
        }
    }
    let intercept = |group: usize| match free[group] {
        0 => Thresholds::at(coordinates, constraint).middle(group),
        count => sum[group] / count as f64,
    };
    match constraint.groups() {
        2 => [intercept(0), intercept(1)],
        _ => [intercept(0); 2],
    }
}
