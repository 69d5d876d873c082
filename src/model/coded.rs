//! Coded: class numbers in place of labels.

use super::checks::{check_lengths, check_weights};
use crate::data::Samples;
use crate::error::Result;

/// Class numbers in place of labels.
pub(super) struct Coded<L> {
    pub labels: Vec<usize>,
    /// The label of each number, in order.
    pub classes: Vec<L>,
}

impl<L: Ord + Clone> Coded<L> {
    /// Numbers the classes of the rows with weight.
    ///
    /// # Errors
    /// If lengths differ, or a weight is negative or not finite.
    pub fn new(samples: &Samples, labels: &[L], weights: &[f64]) -> Result<Self> {
        check_lengths(samples, &[("y", labels.len())])?;
        check_weights(samples, weights)?;
        let kept = (0..labels.len()).filter(|&i| weights[i] > 0.0);
        let mut classes: Vec<L> = kept.map(|i| labels[i].clone()).collect();
        classes.sort();
        classes.dedup();
        // Labels of rows without weight may be of no class; these rows are left out.
        let number = |label| classes.binary_search(label).unwrap_or(0);
        Ok(Coded {
            labels: labels.iter().map(number).collect(),
            classes,
        })
    }
}
