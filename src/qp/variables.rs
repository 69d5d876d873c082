//! The variables of a problem in the order of their positions, active ones first.

use super::DualProblem;
use super::kkt::thresholds;
use std::ops::Range;

/// The state of a solver: one entry per position in every vector.
pub(super) struct Variables {
    /// The variable at each position.
    pub name: Vec<u32>,
    pub beta: Vec<f64>,
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub ridge: Vec<f64>,
    pub diagonal: Vec<f64>,
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
            ridge: problem.ridge.clone(),
            diagonal: diagonal.to_vec(),
            shrunk: Vec::new(),
        }
    }

    pub fn position(&self, variable: u32) -> usize {
        self.position[variable as usize] as usize
    }

    pub fn may_grow(&self, at: usize) -> bool {
        self.beta[at] < self.upper[at]
    }

    pub fn may_shrink(&self, at: usize) -> bool {
        self.beta[at] > self.lower[at]
    }

    /// Returns (m, M) of the active variables.
    pub fn thresholds(&self) -> (f64, f64) {
        let active = ..self.active;
        thresholds(
            &self.beta[active],
            &self.gradient[active],
            &self.lower[active],
            &self.upper[active],
        )
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
    /// violating pair come last, and how many stay: a variable that may only shrink and has -g
    /// above m, or may only grow and has -g below M, stays at its bound.
    pub fn shrinking_order(&self, m: f64, big_m: f64) -> (Vec<u32>, usize) {
        let stuck = |at: usize| {
            let value = -self.gradient[at];
            (!self.may_grow(at) && value > m) || (!self.may_shrink(at) && value < big_m)
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
        for values in [
            &mut self.beta,
            &mut self.gradient,
            &mut self.lower,
            &mut self.upper,
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
