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
use crate::kernel::inner_product;
use crate::simd::{Isa, Real};

/// Pair steps between two Newton steps, for each free variable.
const STEPS_PER_VARIABLE: u64 = 2;
/// A Newton step of n variables costs as much as n^3 / (this times the size of the block) pair steps.
const COST: u64 = 24;
/// The largest rest of a sum that should be zero, as a share of the largest change.
const LARGEST_REST: f64 = 1e-9;
/// Added to the diagonal, as a share of its mean: rounding leaves no smaller eigenvalues.
const RIDGE: f64 = 16.0;

impl<T: Real> Block<T> {
    /// Returns how many pair steps a Newton step should wait for: as many as cost the same.
    pub(super) fn newton_interval(&self) -> u64 {
        let free = self.free() as u64;
        let cost = free * free * free / (COST * (self.size as u64 + 256));
        cost.max(STEPS_PER_VARIABLE * free).max(64)
    }

    /// Takes a Newton step. Returns false if there is none worth taking.
    pub(super) fn newton(&mut self, isa: Isa) -> bool {
        let free: Vec<usize> = self.places().filter(|&k| self.point(k).is_free()).collect();
        let n = free.len();
        // A variable without curvature makes the system singular.
        if n < 2 || free.iter().any(|&k| self.diagonal[k] <= T::ZERO) {
            return false;
        }
        let mean = free.iter().map(|&k| self.diagonal[k].to_f64()).sum::<f64>() / n as f64;
        let mut factor = vec![0.0; n * n];
        for (row, &k) in factor.chunks_mut(n).zip(&free) {
            let values = &self.matrix[k * self.stride..][..self.stride];
            for (entry, &other) in row.iter_mut().zip(&free) {
                *entry = values[other].to_f64();
            }
        }
        for i in 0..n {
            factor[i * n + i] += RIDGE * T::ROUNDOFF * mean;
        }
        if !cholesky(isa, &mut factor, n) {
            return false;
        }
        let mut step: Vec<f64> = free.iter().map(|&k| self.point(k).up()).collect();
        solve(isa, &factor, &mut step);
        // The sums of the groups stay as they are.
        let second = free.partition_point(|k| self.groups[0].contains(k));
        let groups: Vec<_> = [0..second, second..n]
            .into_iter()
            .filter(|group| !group.is_empty())
            .collect();
        let normals: Vec<Vec<f64>> = groups
            .iter()
            .map(|group| {
                let mut normal = vec![0.0; n];
                normal[group.clone()].fill(1.0);
                solve(isa, &factor, &mut normal);
                normal
            })
            .collect();
        let sum = |values: &[f64], group: &std::ops::Range<usize>| -> f64 {
            values[group.clone()].iter().sum()
        };
        let multipliers = match (groups.as_slice(), normals.as_slice()) {
            ([group], [normal]) => vec![sum(&step, group) / sum(normal, group)],
            ([first, second], [one, two]) => {
                let (a, b) = (sum(one, first), sum(two, first));
                let (c, d) = (sum(one, second), sum(two, second));
                let (p, q) = (sum(&step, first), sum(&step, second));
                let det = a * d - b * c;
                vec![(p * d - b * q) / det, (a * q - p * c) / det]
            }
            _ => return false,
        };
        for (normal, multiplier) in normals.iter().zip(multipliers) {
            for (step, normal) in step.iter_mut().zip(normal) {
                *step -= multiplier * normal;
            }
        }
        // Rounding of a nearly singular system may leave a sum that would add up.
        let largest = step.iter().fold(0.0f64, |a, &b| a.max(b.abs()));
        for group in &groups {
            let left = sum(&step, group) / group.len() as f64;
            if left.is_nan() || left.abs() > LARGEST_REST * largest {
                return false;
            }
            step[group.clone()]
                .iter_mut()
                .for_each(|step| *step -= left);
        }
        let mut length = 1.0f64;
        for (&k, &step) in free.iter().zip(&step) {
            let room = match step > 0.0 {
                true => self.room_above(k).0,
                false => self.room_below(k).0,
            };
            if step != 0.0 {
                length = length.min(room / step.abs());
            }
        }
        if !(length > 0.0 && step.iter().all(|step| step.is_finite())) {
            return false;
        }
        for (&k, &step) in free.iter().zip(&step) {
            let (room, end) = match step > 0.0 {
                true => self.room_above(k),
                false => self.room_below(k),
            };
            let before = self.beta[k];
            self.beta[k] = landing(before, length * step, room, end);
            self.mark(k);
            let change = T::from_f64(self.beta[k] - before);
            let row = &self.matrix[k * self.stride..][..self.stride];
            super::nested::add_multiple(isa, change, row, &mut self.gradient);
        }
        true
    }
}

/// Factors a symmetric matrix in place, L in its lower half. Returns false if it is not positive
/// definite.
fn cholesky(isa: Isa, matrix: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = matrix.split_at_mut(i * n);
        let row = &mut row[..n];
        for j in 0..i {
            let other = &above[j * n..][..n];
            row[j] = (row[j] - inner_product(isa, &row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - inner_product(isa, &row[..i], &row[..i]);
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        row[i] = pivot.sqrt();
    }
    true
}

/// Solves L L' x = b in place.
fn solve(isa: Isa, factor: &[f64], b: &mut [f64]) {
    let n = b.len();
    for i in 0..n {
        let row = &factor[i * n..][..n];
        b[i] = (b[i] - inner_product(isa, &row[..i], &b[..i])) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * n..][..n];
        b[i] /= row[i];
        let value = b[i];
        for (b, &l) in b[..i].iter_mut().zip(row) {
            *b -= value * l;
        }
    }
}
