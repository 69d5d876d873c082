//! The variables of a problem in the order of their positions, active ones first.

use crate::matrix::Order;
use crate::qp::coordinates::{Coordinates, Point, permute};
use crate::qp::doubt::Stale;
use crate::qp::kkt::Thresholds;
use crate::qp::problem::DualProblem;
use std::ops::Range;

/// Where the solver is: one entry per position in every vector.
pub(super) struct Variables {
    pub coordinates: Coordinates,
    pub ridge: Vec<f64>,
    pub diagonal: Vec<f64>,
    group: Vec<u8>,
    /// How many groups there are.
    pub groups: usize,
    /// The curvature of the variable that absorbs the sum, if the sum is not fixed.
    pub absorber: Option<f64>,
    /// How many leading positions are active.
    pub active: usize,
    /// What was set aside, in order: see [`Shrunk`].
    pub shrunk: Vec<Shrunk>,
}

/// Positions that left the active set together. Their gradients are those of the coefficients at
/// that time (in the order of variables), so rebuilding them needs the rows that changed since.
pub(super) struct Shrunk {
    pub positions: Range<usize>,
    pub beta: Vec<f64>,
}

impl Variables {
    /// Begins with all variables active and in order.
    pub fn new(problem: &DualProblem, diagonal: &[f64], coordinates: Coordinates) -> Self {
        let constraint = &problem.constraint;
        Variables {
            active: coordinates.len(),
            coordinates,
            ridge: problem.ridge.clone(),
            diagonal: diagonal.to_vec(),
            group: (0..diagonal.len())
                .map(|i| constraint.group(i) as u8)
                .collect(),
            groups: constraint.groups(),
            absorber: constraint.absorber(),
            shrunk: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.coordinates.len()
    }

    #[inline]
    pub fn point(&self, at: usize) -> Point {
        self.coordinates.point(at)
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
        if let Some(curvature) = self.absorber {
            thresholds.include_value(0, curvature * self.sum());
        }
        thresholds
    }

    /// Counts the active variables that are free, or would leave their bounds if the thresholds were
    /// where those that are free put them.
    pub fn moving(&self) -> usize {
        let (mut sum, mut free) = ([0.0; 2], [0usize; 2]);
        for at in 0..self.active {
            if self.point(at).is_free() {
                sum[self.group(at)] += self.point(at).up();
                free[self.group(at)] += 1;
            }
        }
        let middle = [0, 1].map(|group| sum[group] / free[group].max(1) as f64);
        let moves = |at: &usize| {
            let (point, middle) = (self.point(*at), middle[self.group(*at)]);
            point.is_free()
                || (point.may_grow() && point.up() > middle)
                || (point.may_shrink() && point.down() < middle)
        };
        (0..self.active).filter(moves).count()
    }

    /// Returns the sum of all coefficients.
    pub fn sum(&self) -> f64 {
        self.coordinates.beta.iter().sum()
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

    /// Returns the coefficients in the order of variables.
    pub fn beta_by_variable(&self, order: &Order) -> Vec<f64> {
        order.by_variable(&self.coordinates.beta)
    }

    /// Returns the coordinates in the order of variables.
    pub fn by_variable(&self, order: &Order) -> Coordinates {
        self.coordinates.at(order.inverse())
    }

    /// Returns the variables that were set aside.
    pub fn stale(&self, order: &Order) -> Vec<Stale> {
        let parts = self.shrunk.iter();
        parts
            .map(|part| Stale {
                variables: order.variables()[part.positions.clone()].to_vec(),
                beta: part.beta.clone(),
            })
            .collect()
    }

    /// Gives a variable a new coefficient, whose row has been added to the gradient.
    pub fn move_to(&mut self, at: usize, beta: f64) {
        let coordinates = &mut self.coordinates;
        coordinates.gradient[at] += (beta - coordinates.beta[at]) * self.ridge[at];
        coordinates.beta[at] = beta;
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
        let (gone, mut places): (Vec<u32>, Vec<u32>) =
            (0..self.active as u32).partition(|&at| stuck(at as usize));
        let kept = places.len();
        places.extend(gone);
        (places, kept)
    }

    /// Puts the leading positions in a new order and keeps the first `kept` active. `beta` are the
    /// coefficients in the order of variables.
    pub fn shrink(&mut self, places: &[u32], kept: usize, beta: Vec<f64>) {
        self.coordinates.permute(places);
        permute(&mut self.group, places);
        permute(&mut self.ridge, places);
        permute(&mut self.diagonal, places);
        self.shrunk.push(Shrunk {
            positions: kept..places.len(),
            beta,
        });
        self.active = kept;
    }
}
