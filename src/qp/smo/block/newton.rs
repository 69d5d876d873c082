//! Newton steps: all free variables of a block at once.
//!
//! When it has become clear which variables are free, what is left is a system of linear equations,
//! and pair steps solve it slowly if it is badly conditioned, as it is for a large C. With F the free
//! variables, g their gradient and one row of A for each sum that is kept,
//!
//! ```text
//! K_FF d + A' mu = -g,   A d = 0
//! ```
//!
//! is solved by Cholesky's factors of K_FF, and the step is cut where the first variable meets its
//! bound. The objective cannot rise, so pair steps go on from wherever this ends.

use super::{Block, landing};
use crate::error::{Polled, Result, Stop};
use crate::simd::{Isa, Real, cholesky, memory};
use std::ops::Range;

/// Pair steps between two Newton steps, for each free variable: fewer do not tell which variables
/// are free.
const STEPS_PER_VARIABLE: u64 = 2;
/// A Newton step of n variables costs as much as n^3 / (this times the size of the block) pair steps.
const COST: u64 = 24;
/// The largest rest of a sum that should be zero, as a share of the largest change: more shows that
/// the system is too badly conditioned.
const LARGEST_REST: f64 = 1e-9;
/// Added to the diagonal, in roundings of its mean: rounding leaves no smaller eigenvalues.
const RIDGE: f64 = 16.0;

impl<T: Real> Block<T> {
    /// Returns how many pair steps a Newton step should wait for: as many as cost the same.
    pub(super) fn newton_interval(&self) -> u64 {
        let free = self.free() as u64;
        let cost = free * free * free / (COST * (self.size as u64 + 256));
        cost.max(STEPS_PER_VARIABLE * free).max(64)
    }

    /// Takes a Newton step. Returns false if there is none worth taking; if that is stopped, none
    /// has been taken.
    pub(super) fn newton(&mut self, isa: Isa, stop: Stop) -> Polled<bool> {
        let free: Vec<usize> = self.places().filter(|&k| self.point(k).is_free()).collect();
        // A variable without curvature makes the system singular.
        if free.len() < 2 || free.iter().any(|&k| self.diagonal[k] <= T::ZERO) {
            return Ok(false);
        }
        let mut factor = self.free_matrix(&free)?;
        if !cholesky::factor(isa, &mut factor, free.len(), stop)? {
            return Ok(false);
        }
        let second = free.partition_point(|k| self.groups[0].contains(k));
        let mut groups = vec![0..second, second..free.len()];
        groups.retain(|group| !group.is_empty());
        let mut step: Vec<f64> = free.iter().map(|&k| self.point(k).up()).collect();
        cholesky::solve(isa, &factor, &mut step);
        keep_sums(isa, &factor, &groups, &mut step);
        if !remove_rest(&groups, &mut step) {
            return Ok(false);
        }
        Ok(self.follow(isa, &free, &step))
    }

    /// Returns the matrix of the free variables, with a little more on its diagonal.
    fn free_matrix(&self, free: &[usize]) -> Result<Vec<f64>> {
        let n = free.len();
        let mean = free.iter().map(|&k| self.diagonal[k].to_f64()).sum::<f64>() / n as f64;
        let mut matrix = memory::zeros(n * n, "the matrix of a Newton step")?;
        for (row, &k) in matrix.chunks_mut(n).zip(free) {
            let values = self.row(k);
            for (entry, &other) in row.iter_mut().zip(free) {
                *entry = values[other].to_f64();
            }
        }
        for i in 0..n {
            matrix[i * n + i] += RIDGE * T::ROUNDOFF * mean;
        }
        Ok(matrix)
    }

    /// Goes along a direction as far as the first bound. Returns false if that is nowhere.
    fn follow(&mut self, isa: Isa, free: &[usize], step: &[f64]) -> bool {
        let mut length = 1.0f64;
        for (&k, &step) in free.iter().zip(step) {
            if step != 0.0 {
                length = length.min(self.room_along(k, step).0 / step.abs());
            }
        }
        if !(length > 0.0 && step.iter().all(|step| step.is_finite())) {
            return false;
        }
        for (&k, &step) in free.iter().zip(step) {
            let (room, end) = self.room_along(k, step);
            let beta = landing(self.coordinates.beta[k], length * step, room, end);
            self.move_to(isa, k, beta);
        }
        true
    }

    /// How far a variable may move in the direction of a step, and where that ends.
    fn room_along(&self, k: usize, step: f64) -> (f64, f64) {
        match step > 0.0 {
            true => self.room_above(k),
            false => self.room_below(k),
        }
    }
}

/// Takes from a step what changes the sums of the groups.
fn keep_sums(isa: Isa, factor: &[f64], groups: &[Range<usize>], step: &mut [f64]) {
    let normals: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| {
            let mut normal = vec![0.0; step.len()];
            normal[group.clone()].fill(1.0);
            cholesky::solve(isa, factor, &mut normal);
            normal
        })
        .collect();
    let multipliers = match (groups, normals.as_slice()) {
        ([first, second], [one, two]) => {
            let (a, b) = (sum(one, first), sum(two, first));
            let (c, d) = (sum(one, second), sum(two, second));
            let (p, q) = (sum(step, first), sum(step, second));
            let det = a * d - b * c;
            vec![(p * d - b * q) / det, (a * q - p * c) / det]
        }
        _ => {
            let pairs = groups.iter().zip(&normals);
            pairs
                .map(|(group, normal)| sum(step, group) / sum(normal, group))
                .collect()
        }
    };
    for (normal, multiplier) in normals.iter().zip(multipliers) {
        for (step, normal) in step.iter_mut().zip(normal) {
            *step -= multiplier * normal;
        }
    }
}

/// Removes what rounding left of the sums of a step, which would add up. Returns false if that is
/// too much, as for a nearly singular system.
fn remove_rest(groups: &[Range<usize>], step: &mut [f64]) -> bool {
    let largest = step.iter().fold(0.0f64, |a, &b| a.max(b.abs()));
    for group in groups {
        let rest = sum(step, group) / group.len() as f64;
        if rest.is_nan() || rest.abs() > LARGEST_REST * largest {
            return false;
        }
        let steps = step[group.clone()].iter_mut();
        steps.for_each(|step| *step -= rest);
    }
    true
}

fn sum(values: &[f64], group: &Range<usize>) -> f64 {
    values[group.clone()].iter().sum()
}
