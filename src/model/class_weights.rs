//! ClassWeights: how much the classes count.

use super::coded::Coded;
use crate::error::{Error, Result};

/// How much the rows of each class count, times their own weights.
///
/// ```
/// use mercer::{ClassWeights, Kernel, Svc};
/// let (x, labels) = (vec![vec![0.0], vec![1.0], vec![3.0]], ["a", "a", "b"]);
/// let svc = Svc::new(Kernel::linear()).c(0.1);
/// let model = svc.clone().class_weights(ClassWeights::Balanced).fit(&x, &labels)?;
/// let same = svc.class_weights([0.75, 1.5]).fit(&x, &labels)?;
/// assert_eq!(model.machines().dual_coef, same.machines().dual_coef);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClassWeights {
    /// All rows alike.
    #[default]
    Equal,
    /// All classes alike: the number of rows, divided by the number of classes times the number of rows
    /// of the class. Rows of weight zero are not counted.
    Balanced,
    /// A weight for each class, in the order of the labels.
    Each(Vec<f64>),
}

impl From<Vec<f64>> for ClassWeights {
    fn from(weights: Vec<f64>) -> Self {
        ClassWeights::Each(weights)
    }
}

impl From<&[f64]> for ClassWeights {
    fn from(weights: &[f64]) -> Self {
        ClassWeights::Each(weights.to_vec())
    }
}

impl<const N: usize> From<[f64; N]> for ClassWeights {
    fn from(weights: [f64; N]) -> Self {
        ClassWeights::Each(weights.to_vec())
    }
}

impl ClassWeights {
    /// Returns the weight of each class.
    ///
    /// # Errors
    /// If there is not one for each class, or one is not positive and finite.
    pub(super) fn factors<L>(&self, coded: &Coded<L>, weights: &[f64]) -> Result<Vec<f64>> {
        let classes = coded.classes.len();
        match self {
            ClassWeights::Equal => Ok(vec![1.0; classes]),
            ClassWeights::Balanced => Ok(balanced(&coded.labels, weights, classes)),
            ClassWeights::Each(factors) => {
                if factors.len() != classes {
                    let expected = format!("one for each of {classes} classes");
                    let got = factors.len().to_string();
                    return Err(Error::shape("class_weights", expected, got));
                }
                let wrong = |factor: &&f64| !(factor.is_finite() && **factor > 0.0);
                match factors.iter().find(wrong) {
                    None => Ok(factors.clone()),
                    Some(wrong) => {
                        let allowed = "positive and finite";
                        Err(Error::parameter("class_weights", allowed, *wrong))
                    }
                }
            }
        }
    }

    /// Returns the weights of the rows, times those of their classes.
    ///
    /// # Errors
    /// As [`factors`](Self::factors).
    pub(super) fn of_rows<L>(&self, coded: &Coded<L>, weights: &[f64]) -> Result<Vec<f64>> {
        let factors = self.factors(coded, weights)?;
        let rows = weights.iter().zip(&coded.labels);
        let weight = |(weight, &class): (&f64, &usize)| match *weight > 0.0 {
            true => weight * factors[class],
            false => *weight,
        };
        Ok(rows.map(weight).collect())
    }
}

/// Returns a weight for each row that makes all classes count alike, for `fit_weighted`: the number of
/// rows, divided by the number of classes times the number of rows of its class.
///
/// ```
/// use mercer::{Kernel, Svc, Unwatched, balanced_weights};
/// let (x, labels) = (vec![vec![0.0], vec![1.0], vec![3.0]], ["a", "a", "b"]);
/// let weights = balanced_weights(&labels);
/// assert_eq!(weights, [0.75, 0.75, 1.5]);
/// let model = Svc::new(Kernel::linear()).fit_weighted(&x, &labels, &weights, &Unwatched)?;
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn balanced_weights<L: Ord>(labels: &[L]) -> Vec<f64> {
    let mut classes: Vec<&L> = labels.iter().collect();
    classes.sort();
    classes.dedup();
    let number = |label| classes.binary_search(&label).unwrap_or(0);
    let numbers: Vec<usize> = labels.iter().map(number).collect();
    let weights = balanced(&numbers, &vec![1.0; labels.len()], classes.len());
    numbers.iter().map(|&class| weights[class]).collect()
}

/// Returns the weight of each class that makes all count alike; rows of weight zero are not counted.
fn balanced(labels: &[usize], weights: &[f64], classes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; classes];
    let counted = labels
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight > 0.0);
    counted.for_each(|(&class, _)| counts[class] += 1.0);
    let share = counts.iter().sum::<f64>() / classes as f64;
    counts.iter().map(|count| share / count).collect()
}
