//! The variables of a problem in the order of their positions, active ones first.

use super::kkt::{Point, Thresholds};
use super::{Constraint, DualProblem};
use std::ops::Range;

/// The state of a solver: one entry per position in every vector.
pub(super) struct Variables {
    /// The variable at each position.
    pub name: Vec<u32>,
    pub beta: Vec<f64>,
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub absolute: Vec<f64>,
    pub ridge: Vec<f64>,
    pub diagonal: Vec<f64>,
    pub group: Vec<u8>,
    /// How many groups there are.
    pub groups: usize,
    /// The curvature of the variable that takes up the sum, if the sum is not fixed.
    pub slack: Option<f64>,
    /// The position of each variable.
    position: Vec<u32>,
    /// How many leading positions are active.
    pub active: usize,
    /// What was shrunk away, the last first: see [`Shrunk`].
    pub shrunk: Vec<Shrunk>,
}

/// Positions that left the active set together. Their gradients are those of the coefficients at
/// that time (by variable), so rebuilding them needs the rows that changed since.
pub(super) struct Shrunk {
    pub positions: Range<usize>,
    pub beta: Vec<f64>,
}

impl Variables {
    pub fn new(
        problem: &DualProblem,
        diagonal: &[f64],
        beta: Vec<f64>,
        gradient: Vec<f64>,
    ) -> Self {
        let name: Vec<u32> = (0..beta.len() as u32).collect();
        Variables {
            active: beta.len(),
            position: name.clone(),
            name,
            beta,
            gradient,
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            absolute: problem.absolute.clone(),
            ridge: problem.ridge.clone(),
            diagonal: diagonal.to_vec(),
            group: (0..diagonal.len())
                .map(|i| problem.constraint.group(i) as u8)
                .collect(),
            groups: match problem.constraint {
                Constraint::TwoSums(_) => 2,
                _ => 1,
            },
            slack: problem.constraint.slack(),
            shrunk: Vec::new(),
        }
    }

    pub fn position(&self, variable: u32) -> usize {
        self.position[variable as usize] as usize
    }

    #[inline]
    pub fn point(&self, at: usize) -> Point {
        Point {
            beta: self.beta[at],
            gradient: self.gradient[at],
            lower: self.lower[at],
            upper: self.upper[at],
            absolute: self.absolute[at],
        }
    }

    /// Tells whether a variable is free.
    pub fn is_free(&self, variable: u32) -> bool {
        self.point(self.position(variable)).is_free()
    }

    pub fn group(&self, at: usize) -> usize {
        usize::from(self.group[at])
    }

    /// Returns the thresholds of the active variables.
    pub fn thresholds(&self) -> Thresholds {
        let mut thresholds = Thresholds::empty();
        for at in 0..self.active {
            thresholds.include(self.group(at), self.point(at));
        }
        if let Some(curvature) = self.slack {
            thresholds.include_value(0, curvature * self.sum());
        }
        thresholds
    }

    /// Returns the sum of all coefficients.
    pub fn sum(&self) -> f64 {
        self.beta.iter().sum()
    }

    /// Returns by how much a variable that may grow violates optimality together with the best
    /// partner of its group, if it does.
    #[inline]
    pub fn violation_up(&self, at: usize, thresholds: &Thresholds) -> Option<f64> {
        let point = self.point(at);
        let violation = point.up() - thresholds.big_m(self.group(at));
        (point.may_grow() && violation > 0.0).then_some(violation)
    }

    /// Returns the same of a variable that may shrink.
    #[inline]
    pub fn violation_down(&self, at: usize, thresholds: &Thresholds) -> Option<f64> {
        let point = self.point(at);
        let violation = thresholds.m(self.group(at)) - point.down();
        (point.may_shrink() && violation > 0.0).then_some(violation)
    }

    /// Returns the coefficients by variable.
    pub fn beta_by_variable(&self) -> Vec<f64> {
        self.by_variable(&self.beta)
    }

    /// Returns a vector of positions in the order of variables.
    pub fn by_variable(&self, values: &[f64]) -> Vec<f64> {
        self.position
            .iter()
            .map(|&at| values[at as usize])
            .collect()
    }

    /// Returns the order of positions in which the active variables that cannot take part in a
    /// violating pair come last, and how many stay: such a variable may not grow or would be
    /// slower than M, and may not shrink or would be faster than m.
    pub fn shrinking_order(&self, thresholds: &Thresholds) -> (Vec<u32>, usize) {
        let stuck = |at: usize| {
            let (point, group) = (self.point(at), self.group(at));
            (!point.may_grow() || point.up() < thresholds.big_m(group))
                && (!point.may_shrink() || point.down() > thresholds.m(group))
        };
        let (gone, mut order): (Vec<u32>, Vec<u32>) =
            (0..self.active as u32).partition(|&at| stuck(at as usize));
        let kept = order.len();
        order.extend(gone);
        (order, kept)
    }

    /// Puts the leading positions in a new order and keeps the first `kept` active.
    pub fn shrink(&mut self, order: &[u32], kept: usize) {
        fn permute<T: Copy>(values: &mut [T], order: &[u32]) {
            let old = values[..order.len()].to_vec();
            for (value, &from) in values.iter_mut().zip(order) {
                *value = old[from as usize];
            }
        }
        permute(&mut self.name, order);
        permute(&mut self.group, order);
        for values in [
            &mut self.beta,
            &mut self.gradient,
            &mut self.lower,
            &mut self.upper,
            &mut self.absolute,
            &mut self.ridge,
            &mut self.diagonal,
        ] {
            permute(values, order);
        }
        for (at, &variable) in self.name.iter().enumerate() {
            self.position[variable as usize] = at as u32;
        }
        self.shrunk.push(Shrunk {
            positions: kept..order.len(),
            beta: self.beta_by_variable(),
        });
        self.active = kept;
    }
}
