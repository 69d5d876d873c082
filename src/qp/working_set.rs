//! Choosing the block: the most violating variables of both sides, and what the last block kept.
//!
//! Half of a block stays from block to block: the free variables of the last one first, for they
//! have to move again when others do. The rest are those that violate optimality most, half of them
//! by growing and half by shrinking, so the maximal violating pair of every group is always in.

use super::kkt::Thresholds;
use super::variables::Variables;

/// The positions of the current block.
#[derive(Default)]
pub(super) struct WorkingSet {
    /// Names of the variables, which survive reordering.
    pub variables: Vec<u32>,
    chosen: Vec<bool>,
    candidates: Vec<(f64, u32, u32)>,
}

impl WorkingSet {
    /// Replaces the block by one of up to `size` active variables.
    pub fn select(&mut self, state: &Variables, thresholds: &Thresholds, size: usize) {
        let previous = std::mem::take(&mut self.variables);
        self.chosen.clear();
        self.chosen.resize(state.name.len(), false);
        if size >= state.active {
            self.variables
                .extend_from_slice(&state.name[..state.active]);
            return;
        }
        let up = |at: usize| state.violation_up(at, thresholds);
        let down = |at: usize| state.violation_down(at, thresholds);
        // What comes in: at least half of the block, if there are so many violators, the same
        // number from each group.
        let fresh = size - (size / 2).min(previous.len());
        for group in 0..state.groups {
            let of_group = |at: usize| state.group(at) == group;
            let share = |count: usize| (count / state.groups).max(1);
            self.take(state, share(fresh.div_ceil(2)), |at| {
                of_group(at).then(|| up(at)).flatten()
            });
            self.take(state, share(fresh / 2), |at| {
                of_group(at).then(|| down(at)).flatten()
            });
        }
        // What stays.
        for free in [true, false] {
            for &variable in &previous {
                let at = state.position(variable);
                if state.point(at).is_free() == free
                    && at < state.active
                    && self.variables.len() < size
                {
                    self.add(state, at);
                }
            }
        }
        // Where that is not enough, further violators.
        let rest = size - self.variables.len();
        self.take(state, rest.div_ceil(2), up);
        let rest = size - self.variables.len();
        self.take(state, rest, down);
    }

    fn add(&mut self, state: &Variables, at: usize) {
        if !std::mem::replace(&mut self.chosen[at], true) {
            self.variables.push(state.name[at]);
        }
    }

    /// Adds the `count` positions with the largest score.
    fn take(&mut self, state: &Variables, count: usize, score: impl Fn(usize) -> Option<f64>) {
        if count == 0 {
            return;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for at in 0..state.active {
            if !self.chosen[at]
                && let Some(score) = score(at)
            {
                // Ties, of which the first block is full, are broken by a scrambled position:
                // data often comes sorted.
                let scrambled = (at as u32).wrapping_mul(0x9E37_79B1);
                candidates.push((score, scrambled, at as u32));
            }
        }
        if count < candidates.len() {
            candidates
                .select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            candidates.truncate(count);
        }
        // In order of positions, so that the block's columns are read in ascending order.
        candidates.sort_unstable_by_key(|candidate| candidate.2);
        for &(.., at) in &candidates {
            self.add(state, at as usize);
        }
        self.candidates = candidates;
    }
}
