//! Large blocks, solved through smaller blocks of their own.
//!
//! A step of a block of thousands passes over vectors that leave the first cache, and most of its
//! variables stay at their bounds. So a large block is treated as the outer loop treats the whole
//! problem: its free and most violating variables form a block small enough for the first caches,
//! that block is solved, and the gradient of the large one is updated with the rows that changed.

use super::{Block, Selection};
use crate::qp::kkt::{gap, thresholds};
use crate::simd::{Isa, Real, dispatch};

/// Blocks up to this size are solved by pair steps at once; larger ones are those of hard problems.
const LARGE: usize = 1024;
/// Variables of the smaller blocks: their matrix of f32 stays in the second cache.
const SMALL: usize = 384;
/// Of these, at least so many on each side are the most violating ones.
const VIOLATORS: usize = 64;
/// A smaller block is solved until its gap has fallen to this share of that of the large one.
const SHARE: f64 = 0.1;

impl<T: Real> Block<T> {
    /// Does what [`Block::solve`] does, through smaller blocks if this one is large.
    pub fn solve_nested(
        &mut self,
        selection: Selection,
        tolerance: f64,
        max_steps: u64,
        stop: &dyn Fn() -> bool,
    ) -> u64 {
        if self.size <= LARGE {
            return self.solve(selection, tolerance, max_steps, stop);
        }
        let isa = Isa::detect();
        let mut inner = self.nested.take().unwrap_or_default();
        let mut steps = 0;
        while steps < max_steps && !stop() {
            let gradient: Vec<f64> = self.gradient.iter().map(|g| g.to_f64()).collect();
            let (m, big_m) = thresholds(&self.beta, &gradient, &self.lower, &self.upper);
            let gap_now = gap(m, big_m);
            if gap_now <= tolerance {
                break;
            }
            let chosen = self.choose(&gradient, m, big_m);
            inner.take_from(self, &chosen);
            let target = tolerance.max(SHARE * gap_now);
            let done = inner.solve(selection, target, max_steps - steps, stop);
            if done == 0 {
                break; // rounding hides the violation
            }
            steps += done;
            for (k, &at) in chosen.iter().enumerate() {
                let change = inner.beta[k] - self.beta[at];
                if change != 0.0 {
                    self.beta[at] = inner.beta[k];
                    self.mark(at);
                    let row = &self.matrix[at * self.stride..][..self.stride];
                    add_multiple(isa, T::from_f64(change), row, &mut self.gradient);
                }
            }
        }
        self.nested = Some(inner);
        steps
    }

    /// Chooses the variables of a smaller block: the most violating of both sides, then free
    /// ones, the most violating first.
    fn choose(&self, gradient: &[f64], m: f64, big_m: f64) -> Vec<usize> {
        let open_up = |k: usize| self.beta[k] < self.upper[k];
        let open_down = |k: usize| self.beta[k] > self.lower[k];
        let mut chosen: Vec<usize> = Vec::with_capacity(SMALL);
        let mut taken = vec![false; self.size];
        let mut take = |count: usize, score: &dyn Fn(usize) -> Option<f64>| {
            let mut candidates: Vec<(f64, usize)> = (0..self.size)
                .filter(|&k| !taken[k])
                .filter_map(|k| Some((score(k)?, k)))
                .collect();
            let count = count.min(SMALL - chosen.len());
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
        let up = |k: usize| (open_up(k) && -gradient[k] > big_m).then_some(-gradient[k]);
        let down = |k: usize| (open_down(k) && -gradient[k] < m).then_some(gradient[k]);
        let middle = (m + big_m) / 2.0;
        let free = |k: usize| (open_up(k) && open_down(k)).then_some((-gradient[k] - middle).abs());
        take(VIOLATORS, &up);
        take(VIOLATORS, &down);
        take(SMALL, &free);
        take(SMALL / 3, &up);
        take(SMALL, &down);
        chosen.sort_unstable();
        chosen
    }

    /// Loads part of another block.
    fn take_from(&mut self, block: &Block<T>, chosen: &[usize]) {
        self.resize(chosen.len());
        for (k, &at) in chosen.iter().enumerate() {
            self.beta.push(block.beta[at]);
            self.lower.push(block.lower[at]);
            self.upper.push(block.upper[at]);
            self.gradient[k] = block.gradient[at];
            self.diagonal[k] = block.diagonal[at];
            self.mark(k);
            let row = &block.matrix[at * block.stride..][..block.stride];
            let out = &mut self.matrix[k * self.stride..][..self.stride];
            for (value, &at) in out.iter_mut().zip(chosen) {
                *value = row[at];
            }
        }
    }
}

dispatch! {
    fn add_multiple<T: Real>(factor: T, row: &[T], gradient: &mut [T]) = add_multiple_body
}

#[inline(always)]
fn add_multiple_body<T: Real, const FMA: bool>(factor: T, row: &[T], gradient: &mut [T]) {
    for (gradient, &value) in gradient.iter_mut().zip(row) {
        *gradient = factor.multiply_add::<FMA>(value, *gradient);
    }
}
