//! Choosing the block: the most violating variables of both sides, and what the last block kept.
//!
//! Half of a block stays from block to block: the free variables of the last one first, for they
//! have to move again when others do. The rest are those that violate optimality most, half of them
//! by growing and half by shrinking, so the maximal violating pair of every group is always in.

use super::variables::Variables;
use crate::matrix::Order;
use crate::qp::kkt::Thresholds;

/// The current block.
#[derive(Default)]
pub(super) struct WorkingSet {
    /// The variables, whose names survive reordering.
    pub variables: Vec<u32>,
    chosen: Vec<bool>,
    growing: Vec<Violator>,
    shrinking: Vec<Violator>,
    candidates: Vec<Violator>,
}

/// A position and by how much it violates optimality.
type Violator = (f64, u32);

impl WorkingSet {
    /// Replaces the block by one of up to `size` active variables.
    pub fn select(
        &mut self,
        state: &Variables,
        order: &Order,
        thresholds: &Thresholds,
        size: usize,
    ) {
        let previous = std::mem::take(&mut self.variables);
        if size >= state.active {
            self.variables
                .extend_from_slice(&order.variables()[..state.active]);
            return;
        }
        self.chosen.clear();
        self.chosen.resize(state.active, false);
        let (growing, shrinking) = self.violators(state, thresholds);
        // What comes in: at least half of the block, if there are so many violators, the same
        // number from each group.
        let fresh = size - (size / 2).min(previous.len());
        for group in 0..state.groups {
            let share = |count: usize| (count / state.groups).max(1);
            self.take(
                state,
                order,
                Some(group),
                share(fresh.div_ceil(2)),
                &growing,
            );
            self.take(state, order, Some(group), share(fresh / 2), &shrinking);
        }
        // What stays.
        for free in [true, false] {
            for &variable in &previous {
                let at = order.position(variable);
                if at < state.active
                    && state.point(at).is_free() == free
                    && self.variables.len() < size
                {
                    self.add(order.variable(at), at);
                }
            }
        }
        // Where that is not enough, further violators.
        let rest = size - self.variables.len();
        self.take(state, order, None, rest.div_ceil(2), &growing);
        let rest = size - self.variables.len();
        self.take(state, order, None, rest, &shrinking);
        (self.growing, self.shrinking) = (growing, shrinking);
    }

    /// Returns the variables that violate optimality by growing and by shrinking.
    fn violators(
        &mut self,
        state: &Variables,
        thresholds: &Thresholds,
    ) -> (Vec<Violator>, Vec<Violator>) {
        let mut growing = std::mem::take(&mut self.growing);
        let mut shrinking = std::mem::take(&mut self.shrinking);
        growing.clear();
        shrinking.clear();
        for at in 0..state.active {
            let up = state.violation_up(at, thresholds);
            growing.extend(up.map(|violation| (violation, at as u32)));
            let down = state.violation_down(at, thresholds);
            shrinking.extend(down.map(|violation| (violation, at as u32)));
        }
        (growing, shrinking)
    }

    fn add(&mut self, variable: u32, at: usize) {
        if !std::mem::replace(&mut self.chosen[at], true) {
            self.variables.push(variable);
        }
    }

    /// Adds the `count` largest violators, of one group or of any.
    fn take(
        &mut self,
        state: &Variables,
        order: &Order,
        group: Option<usize>,
        count: usize,
        from: &[Violator],
    ) {
        if count == 0 {
            return;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend(from.iter().filter(|&&(_, at)| {
            let at = at as usize;
            !self.chosen[at] && group.is_none_or(|group| state.group(at) == group)
        }));
        if count < candidates.len() {
            // Ties, of which the first block is full, are broken by a scrambled position: data
            // often comes sorted.
            let scrambled = |at: u32| at.wrapping_mul(0x9E37_79B1);
            candidates.select_nth_unstable_by(count, |a, b| {
                b.0.total_cmp(&a.0)
                    .then_with(|| scrambled(a.1).cmp(&scrambled(b.1)))
            });
            candidates.truncate(count);
        }
        // In order of positions, so that the block's columns are read in ascending order.
        candidates.sort_unstable_by_key(|&(_, at)| at);
        for &(_, at) in &candidates {
            self.add(order.variable(at as usize), at as usize);
        }
        self.candidates = candidates;
    }
}
