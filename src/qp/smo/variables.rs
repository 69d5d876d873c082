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
    /// What is added to the descent where a variable grows and where it shrinks, see [`Point::ways`]:
    /// the passes over all variables are arithmetic without branches.
    grow: Vec<f64>,
    shrink: Vec<f64>,
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
        let ways = (0..coordinates.len()).map(|at| coordinates.point(at).ways::<f64>());
        let (grow, shrink) = ways.unzip();
        Variables {
            grow,
            shrink,
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

    /// How fast the objective falls when a variable grows; minus infinity if it may not.
    #[inline]
    fn up(&self, at: usize) -> f64 {
        self.grow[at] - self.coordinates.gradient[at]
    }

    /// How fast the objective rises when a variable shrinks; infinity if it may not.
    #[inline]
    fn down(&self, at: usize) -> f64 {
        self.shrink[at] - self.coordinates.gradient[at]
    }

    /// Returns the thresholds of the active variables.
    pub fn thresholds(&self) -> Thresholds {
        let mut thresholds = Thresholds::empty();
        if self.groups == 1 {
            let (m, big_m) = self.extremes();
            thresholds.include_extremes(0, m, big_m);
        } else {
            for at in 0..self.active {
                thresholds.include_extremes(self.group(at), self.up(at), self.down(at));
            }
        }
        if let Some(curvature) = self.absorber {
            thresholds.include_value(0, curvature * self.sum());
        }
        thresholds
    }

    /// Returns the largest descent of the active variables that may grow and the smallest of those
    /// that may shrink.
    fn extremes(&self) -> (f64, f64) {
        /// Numbers compared side by side.
        const LANES: usize = 8;
        let gradient = &self.coordinates.gradient[..self.active];
        let (grow, shrink) = (&self.grow[..self.active], &self.shrink[..self.active]);
        let (mut most, mut least) = ([f64::NEG_INFINITY; LANES], [f64::INFINITY; LANES]);
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        let smaller = |a: f64, b: f64| if a < b { a } else { b };
        let parts = gradient.chunks(LANES).zip(grow.chunks(LANES));
        for ((gradient, grow), shrink) in parts.zip(shrink.chunks(LANES)) {
            for (lane, &gradient) in gradient.iter().enumerate() {
                most[lane] = larger(grow[lane] - gradient, most[lane]);
                least[lane] = smaller(shrink[lane] - gradient, least[lane]);
            }
        }
        let most = most.into_iter().fold(f64::NEG_INFINITY, larger);
        (most, least.into_iter().fold(f64::INFINITY, smaller))
    }

    /// Counts the active variables that are free, or would leave their bounds if the thresholds were
    /// where those that are free put them.
    pub fn moving(&self) -> usize {
        let (mut sum, mut free) = ([0.0; 2], [0usize; 2]);
        for at in 0..self.active {
            // Both are finite, and the same but for a kink.
            if self.grow[at] == self.shrink[at] {
                sum[self.group(at)] += self.up(at);
                free[self.group(at)] += 1;
            }
        }
        let middle = [0, 1].map(|group| sum[group] / free[group].max(1) as f64);
        let moves = |at: &usize| {
            let middle = middle[self.group(*at)];
            self.grow[*at] == self.shrink[*at] || self.up(*at) > middle || self.down(*at) < middle
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
        let violation = self.up(at) - thresholds.big_m(self.group(at));
        (violation > 0.0).then_some(violation)
    }

    /// Returns the same of a variable that may shrink.
    #[inline]
    pub fn violation_down(&self, at: usize, thresholds: &Thresholds) -> Option<f64> {
        let violation = thresholds.m(self.group(at)) - self.down(at);
        (violation > 0.0).then_some(violation)
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
        (self.grow[at], self.shrink[at]) = coordinates.point(at).ways();
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
        permute(&mut self.grow, places);
        permute(&mut self.shrink, places);
        permute(&mut self.ridge, places);
        permute(&mut self.diagonal, places);
        self.shrunk.push(Shrunk {
            positions: kept..places.len(),
            beta,
        });
        self.active = kept;
    }
}
