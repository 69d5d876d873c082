//! Adding rows to a gradient.

use crate::error::{Polled, Stop};
use crate::matrix::{CachedRows, Change, Precision};

/// Adds multiples of rows to `gradient`, which belongs to the positions from `start` on. If that is
/// halted, the gradient is as it was.
pub(super) fn add_or_restore<T: Precision>(
    rows: &mut CachedRows<T>,
    changes: &[Change],
    start: usize,
    gradient: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let before = gradient.to_vec();
    let added = rows.add(changes, start, gradient, stop);
    if added.is_err() {
        gradient.copy_from_slice(&before);
    }
    added
}

/// Returns the rows to add for variables whose coefficients were `then` and are `now`, both in the
/// order of variables.
pub(super) fn changes(now: &[f64], then: impl Iterator<Item = f64>) -> Vec<Change> {
    (0..)
        .zip(now.iter().zip(then))
        .filter(|&(_, (&now, then))| now != then)
        .map(|(variable, (now, then))| Change {
            variable,
            factor: now - then,
            keep: false,
        })
        .collect()
}
