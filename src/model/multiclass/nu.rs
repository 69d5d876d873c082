//! The share of margin errors that each machine of a classifier can have.

use super::pairs::pairs;
use crate::error::Result;
use crate::formulation::{check_nu, largest_nu};

/// Returns the weight of each class.
pub(super) fn class_weights(labels: &[usize], weights: &[f64], classes: usize) -> Vec<f64> {
    let mut sums = vec![0.0; classes];
    for (&label, weight) in labels.iter().zip(weights) {
        sums[label] += weight;
    }
    sums
}

/// Returns the largest feasible nu of the machine of each pair of classes.
pub(super) fn limits_of_pairs(class_weights: &[f64]) -> Vec<f64> {
    pairs(class_weights.len())
        .map(|(i, j)| largest_nu(class_weights[i], class_weights[j]))
        .collect()
}

/// Returns the largest feasible nu of the machine of each class against the rest.
pub(super) fn limits_of_classes(class_weights: &[f64]) -> Vec<f64> {
    let limit = |(class, &weight): (usize, &f64)| {
        // Added up, not subtracted from the sum of all, which may be many times larger.
        let (before, after) = (&class_weights[..class], &class_weights[class + 1..]);
        largest_nu(weight, before.iter().chain(after).sum())
    };
    class_weights.iter().enumerate().map(limit).collect()
}

/// Returns the nu of each machine: `nu`, or its limit if that is lower.
///
/// # Errors
/// If nu is above `allowed` or not a share.
pub(super) fn lowered(nu: f64, allowed: f64, limits: &[f64]) -> Result<Vec<f64>> {
    check_nu(nu, allowed)?;
    Ok(limits.iter().map(|limit| nu.min(*limit)).collect())
}

/// Returns the highest limit: what some machine can have.
pub(super) fn highest(limits: &[f64]) -> f64 {
    limits.iter().fold(0.0, |a, &b| a.max(b))
}
