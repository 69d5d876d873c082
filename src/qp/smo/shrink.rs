//! Shrinking: setting aside variables that are stuck at a bound.
//!
//! They leave the active set, and every update of the gradient is shorter. Before convergence is
//! declared their gradient is rebuilt and they are checked.

use crate::matrix::Change;

/// Blocks between two looks for variables to set aside: each is a pass over all of them.
const INTERVAL: u32 = 4;
/// Reordering a row of the cache costs about as much as this many updates of the gradient with it.
const REORDER_COST: f64 = 6.0;

/// When to shrink.
pub(super) struct Shrinking {
    enabled: bool,
    /// Blocks until the next look.
    wait: u32,
    /// Rows added to the gradient so far.
    updates: u64,
    /// Which rows were worth keeping, and how many: those that a cache would hold. What it does hold
    /// depends on the memory at hand, and the path must not.
    kept: Vec<bool>,
    count: usize,
}

impl Shrinking {
    pub fn new(enabled: bool, variables: usize) -> Self {
        Shrinking {
            enabled,
            wait: INTERVAL,
            updates: 0,
            kept: vec![false; if enabled { variables } else { 0 }],
            count: 0,
        }
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Begins to wait anew.
    pub fn restart(&mut self) {
        self.wait = INTERVAL;
    }

    /// Counts a block. Tells whether it is time to look for variables to set aside.
    pub fn is_due(&mut self) -> bool {
        self.wait = self.wait.saturating_sub(1);
        let due = self.enabled && self.wait == 0;
        if due {
            self.restart();
        }
        due
    }

    /// Counts rows added to the gradient.
    pub fn count(&mut self, changes: &[Change]) {
        if !self.enabled {
            return;
        }
        self.updates += changes.len() as u64;
        for change in changes.iter().filter(|change| change.keep) {
            let kept = &mut self.kept[change.variable as usize];
            self.count += usize::from(!*kept);
            *kept = true;
        }
    }

    /// Tells whether it pays to set aside `gone` of so many active variables: about as many updates
    /// are expected as there have been, and each will be shorter, but the rows that are held, `most` of
    /// them at the most, have to be reordered.
    pub fn pays(&self, gone: usize, active: usize, most: usize) -> bool {
        let saved = self.updates as f64 * gone as f64;
        saved > REORDER_COST * self.count.min(most) as f64 * active as f64
    }
}
