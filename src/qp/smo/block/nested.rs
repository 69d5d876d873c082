//! Large blocks, solved through smaller blocks of their own.
//!
//! A step of a block of thousands passes over vectors that leave the first cache, and most of its
//! variables stay at their bounds. So a large block is treated as the outer loop treats the whole
//! problem: its free and most violating variables form a block small enough for the first caches,
//! that block is solved, and the gradient of the large one is updated with the rows that changed.

use super::{Block, Goal};
use crate::error::{Polled, Result, poll};
use crate::qp::kkt::Thresholds;
use crate::simd::{Isa, Real, add_multiple};

/// Blocks up to this size are solved by pair steps at once; larger ones are those of hard problems.
const LARGE: usize = 1024;
/// Variables of the smaller blocks, unless more are free: their matrix of f32 stays in the second
/// cache.
const SMALL: usize = 384;
/// Of these, at least so many on each side are the most violating ones.
const VIOLATORS: usize = 64;
/// A smaller block is solved until its gap has fallen to this share of that of the large one.
const SHARE: f64 = 0.1;

impl<T: Real> Block<T> {
    /// Does what [`Block::solve`] does, through smaller blocks if this one is large.
    pub fn solve_nested(&mut self, goal: &Goal, steps: &mut u64) -> Polled<()> {
        if self.size <= LARGE {
            return self.solve(goal, steps);
        }
        let mut inner = self.nested.take().unwrap_or_default();
        let solved = self.solve_through(&mut inner, goal, steps);
        self.nested = Some(inner);
        solved
    }

    fn solve_through(&mut self, inner: &mut Self, goal: &Goal, steps: &mut u64) -> Polled<()> {
        let isa = Isa::detect();
        while *steps < goal.max_steps {
            poll(goal.stop)?;
            let thresholds = self.thresholds();
            let gap = thresholds.gap();
            if gap <= goal.tolerance {
                break;
            }
            let rest = Goal {
                max_steps: goal.max_steps - *steps,
                ..*goal
            };
            // All free variables depend on each other and belong together.
            let small = SMALL.max(self.free() / 4 * 5 + 2 * VIOLATORS);
            if small > self.size / 4 * 3 {
                return self.solve(&rest, steps);
            }
            let chosen = self.choose(&thresholds, small);
            inner.take_from(self, &chosen)?;
            let target = goal.tolerance.max(SHARE * gap);
            let rest = Goal {
                tolerance: target,
                ..rest
            };
            let before = *steps;
            let solved = inner.solve(&rest, steps);
            self.give_back(isa, inner, &chosen);
            solved?;
            if *steps == before {
                break; // rounding hides the violation
            }
        }
        Ok(())
    }

    /// Takes over the coefficients of part of this block.
    fn give_back(&mut self, isa: Isa, inner: &Self, chosen: &[usize]) {
        for (beta, &at) in inner.beta().zip(chosen) {
            self.move_to(isa, at, beta);
        }
    }

    /// Gives a variable a new coefficient.
    pub(super) fn move_to(&mut self, isa: Isa, k: usize, beta: f64) {
        let change = beta - self.coordinates.beta[k];
        if change != 0.0 {
            self.coordinates.beta[k] = beta;
            self.mark(k);
            let row = &self.matrix[k * self.stride..][..self.stride];
            let gradient = &mut self.coordinates.gradient;
            add_multiple(isa, T::from_f64(change), row, gradient);
        }
    }

    fn thresholds(&self) -> Thresholds {
        let mut thresholds = Thresholds::empty();
        for (number, group) in self.groups.iter().enumerate() {
            for k in group.clone() {
                thresholds.include(number, self.point(k));
            }
        }
        thresholds
    }

    /// Chooses the variables of a smaller block: the most violating of both sides, then free
    /// ones, the most violating first.
    fn choose(&self, thresholds: &Thresholds, small: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::with_capacity(small);
        let mut taken = vec![false; self.size];
        let mut take = |count: usize, score: &dyn Fn(usize) -> Option<f64>| {
            let mut candidates: Vec<(f64, usize)> = self
                .places()
                .filter(|&k| !taken[k])
                .filter_map(|k| Some((score(k)?, k)))
                .collect();
            let count = count.min(small - chosen.len());
            if candidates.len() > count {
                candidates
                    .select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                candidates.truncate(count);
            }
            for (_, k) in candidates {
                taken[k] = true;
                chosen.push(k);
            }
        };
        let group = |k: usize| usize::from(self.groups[1].contains(&k));
        let up = |k: usize| {
            let (point, big_m) = (self.point(k), thresholds.big_m(group(k)));
            (point.may_grow() && point.up() > big_m).then(|| point.up() - big_m)
        };
        let down = |k: usize| {
            let (point, m) = (self.point(k), thresholds.m(group(k)));
            (point.may_shrink() && point.down() < m).then(|| m - point.down())
        };
        let free = |k: usize| {
            let (point, k) = (self.point(k), group(k));
            let middle = (thresholds.m(k) + thresholds.big_m(k)) / 2.0;
            point.is_free().then(|| (point.up() - middle).abs())
        };
        take(VIOLATORS, &up);
        take(VIOLATORS, &down);
        take(small, &free);
        take(small / 3, &up);
        take(small, &down);
        chosen.sort_unstable();
        chosen
    }

    /// Loads part of another block.
    ///
    /// # Errors
    /// If there is no memory for its matrix.
    fn take_from(&mut self, block: &Block<T>, chosen: &[usize]) -> Result<()> {
        let first = chosen.partition_point(|k| block.groups[0].contains(k));
        self.resize(first, chosen.len() - first)?;
        self.clear_margins();
        let places: Vec<usize> = self.places().collect();
        for (&k, &at) in places.iter().zip(chosen) {
            self.coordinates.set(k, block.point(at));
            self.diagonal[k] = block.diagonal[at];
            self.mark(k);
            let row = block.row(at);
            let out = &mut self.matrix[k * self.stride..][..self.stride];
            for (&k, &at) in places.iter().zip(chosen) {
                out[k] = row[at];
            }
        }
        Ok(())
    }
}
