//! The minimum on the face of a block: all its free variables at once, now and then.
//!
//! When it has become roughly clear which variables are free, what is left is a system of linear
//! equations with bounds: see [`face`](crate::qp::face). Pair steps go on from wherever it ends, and
//! let in what should not have been left at a bound.

use super::{Block, landing};
use crate::error::{Polled, Result, Stop};
use crate::qp::face::{End, Face, Move};
use crate::simd::{Isa, Real};
use std::ops::Range;

/// Pair steps between two faces, for each free variable: fewer do not tell which variables are free.
const STEPS_PER_VARIABLE: u64 = 2;
/// Further, n^3 / (this times the size of the block) pair steps for a face of n variables, which take a
/// fifth of its time.
const COST: u64 = 120;
/// Free variables up to which a face is worth its memory and time.
const LARGEST: usize = 6000;
/// Added to the diagonal, as a share of its mean: so many roundings, of which the square root of the
/// number of rows may come together in an eigenvalue.
const RIDGE: f64 = 4.0;
/// And at the least: what smaller eigenvalues do to a gradient is below any tolerance, and their
/// directions would be lost to rounding.
const LEAST_RIDGE: f64 = 1e-10;

impl<T: Real> Block<T> {
    /// Returns how many pair steps a face should wait for.
    pub(super) fn face_interval(&self) -> u64 {
        let free = self.free() as u64;
        let cost = free * free * free / (COST * (self.size as u64 + 256));
        cost.max(STEPS_PER_VARIABLE * free).max(64)
    }

    /// Goes to the minimum on the face of the free variables. Returns false if there is none to be
    /// found; if that is stopped, nothing has moved.
    pub(super) fn minimise_on_face(&mut self, isa: Isa, stop: Stop) -> Polled<bool> {
        // What absorbs a sum at no cost leaves it free, and follows the others.
        let absorber = self.costless_absorber();
        let free: Vec<usize> = self
            .places()
            .filter(|&k| Some(k) != absorber && self.point(k).is_free())
            .collect();
        // A variable without curvature makes the system singular.
        if !(2..=LARGEST).contains(&free.len()) || free.iter().any(|&k| self.diagonal[k] <= T::ZERO)
        {
            return Ok(false);
        }
        let groups = match absorber {
            Some(_) => Vec::new(),
            None => self.groups_of(&free),
        };
        self.load_face(&free)?;
        let mut matrix = std::mem::take(&mut self.face);
        let rooms = free
            .iter()
            .map(|&k| (self.room_below(k).0, self.room_above(k).0));
        let (below, above): (Vec<f64>, Vec<f64>) = rooms.unzip();
        let descent: Vec<f64> = free.iter().map(|&k| self.point(k).up()).collect();
        let face = Face {
            matrix: &mut matrix,
            groups: &groups,
            descent: &descent,
            below: &below,
            above: &above,
        };
        let minimum = face.minimum(isa, stop);
        self.face = matrix;
        let Some(found) = minimum? else {
            return Ok(false);
        };
        Ok(self.follow(isa, &free, &groups, absorber, found))
    }

    /// Returns the place of the variable that absorbs the sum without curvature, if there is one.
    fn costless_absorber(&self) -> Option<usize> {
        let last = self.size.checked_sub(1)?;
        let point = self.point(last);
        let unbounded = point.lower.is_infinite() && point.upper.is_infinite();
        let alone = self.diagonal[last] == T::ZERO && self.groups[1].is_empty();
        let apart = || self.row(last).iter().all(|value| *value == T::ZERO);
        (unbounded && alone && apart()).then_some(last)
    }

    /// Returns which of the free variables belong to each group.
    fn groups_of(&self, free: &[usize]) -> Vec<Range<usize>> {
        let second = free.partition_point(|k| self.groups[0].contains(k));
        let mut groups = vec![0..second, second..free.len()];
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Copies the matrix of the free variables, with a little more on its diagonal.
    fn load_face(&mut self, free: &[usize]) -> Result<()> {
        let n = free.len();
        let mean = free.iter().map(|&k| self.diagonal[k].to_f64()).sum::<f64>() / n as f64;
        let ridge = mean * (RIDGE * T::ROUNDOFF * (n as f64).sqrt()).max(LEAST_RIDGE);
        let mut matrix = std::mem::take(&mut self.face);
        matrix.reserve(n * n, "the matrix of the free variables")?;
        for (i, (row, &k)) in matrix.chunks_mut(n).zip(free).enumerate() {
            let values = self.row(k);
            for (entry, &other) in row.iter_mut().zip(&free[..=i]) {
                *entry = values[other].to_f64();
            }
            row[i] += ridge;
        }
        self.face = matrix;
        Ok(())
    }

    /// Takes over what was found. Returns false if nothing moves.
    fn follow(
        &mut self,
        isa: Isa,
        free: &[usize],
        groups: &[Range<usize>],
        absorber: Option<usize>,
        found: Move,
    ) -> bool {
        let before: Vec<f64> = free.iter().map(|&k| self.coordinates.beta[k]).collect();
        let mut after: Vec<f64> = before.clone();
        for (i, &k) in free.iter().enumerate() {
            after[i] = match found.end[i] {
                End::Inside => {
                    let change = found.change[i];
                    let (room, end) = match change > 0.0 {
                        true => self.room_above(k),
                        false => self.room_below(k),
                    };
                    landing(before[i], change, room, end)
                }
                End::Below => self.room_below(k).1,
                End::Above => self.room_above(k).1,
            };
        }
        for group in groups {
            self.keep_sum(free, group.clone(), &before, &mut after);
        }
        for (&k, &beta) in free.iter().zip(&after) {
            self.move_to(isa, k, beta);
        }
        if let Some(last) = absorber {
            let sum: f64 = after.iter().zip(&before).map(|(a, b)| a - b).sum();
            self.coordinates.beta[last] -= sum;
        }
        before != after
    }

    /// Gives what rounding has made of a sum to the variable that has the most room for it: it would
    /// add up.
    fn keep_sum(&self, free: &[usize], group: Range<usize>, before: &[f64], after: &mut [f64]) {
        let rest: f64 = group.clone().map(|i| after[i] - before[i]).sum();
        let room = |i: &usize| {
            let point = self.point(free[*i]);
            let kink = match point.absolute > 0.0 {
                true => after[*i].abs(),
                false => f64::INFINITY,
            };
            (point.upper - after[*i])
                .min(after[*i] - point.lower)
                .min(kink)
        };
        let freest = group.max_by(|a, b| room(a).total_cmp(&room(b)));
        if let Some(i) = freest
            && room(&i) > rest.abs()
        {
            after[i] -= rest;
        }
    }
}
