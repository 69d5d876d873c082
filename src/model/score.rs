//! How good predictions are, and what a linear kernel makes of its features.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use ndarray::{Array2, ArrayView2};

/// Returns the share of labels that were predicted.
pub(super) fn accuracy<L: PartialEq>(predicted: &[L], labels: &[L]) -> Result<f64> {
    check("y", predicted.len(), labels.len())?;
    let right = predicted.iter().zip(labels).filter(|(a, b)| a == b);
    Ok(right.count() as f64 / labels.len() as f64)
}

/// Returns R^2 = 1 - sum (y - f)^2 / sum (y - mean)^2, scikit-learn's score of regressions.
pub(super) fn r_squared(predicted: &[f64], target: &[f64]) -> Result<f64> {
    check("y", predicted.len(), target.len())?;
    let mean = target.iter().sum::<f64>() / target.len() as f64;
    let pairs = predicted.iter().zip(target);
    let left: f64 = pairs.map(|(f, y)| (y - f) * (y - f)).sum();
    let total: f64 = target.iter().map(|y| (y - mean) * (y - mean)).sum();
    Ok(match total > 0.0 {
        true => 1.0 - left / total,
        false if left == 0.0 => 1.0,
        false => 0.0,
    })
}

fn check(name: &'static str, expected: usize, got: usize) -> Result<()> {
    match expected == got && got > 0 {
        true => Ok(()),
        false => {
            let expected = format!("one entry for each of {expected} rows");
            Err(Error::shape(name, expected, got.to_string()))
        }
    }
}

/// Returns one row as samples.
pub(super) fn one_row(row: &[f64]) -> Result<Samples> {
    let shape = |_| Error::shape("X", "one row", row.len().to_string());
    Samples::try_from(ArrayView2::from_shape((1, row.len()), row).map_err(shape)?)
}

/// Returns the weights of the features in each machine, `None` unless the kernel is linear; a row of
/// coefficients for each machine.
pub(super) fn weights_of_features(
    kernel: &Kernel,
    vectors: Option<&Samples>,
    coefficients: ArrayView2<f64>,
) -> Option<Array2<f64>> {
    let vectors = vectors.filter(|_| matches!(kernel, Kernel::Linear))?;
    let mut weights = Array2::zeros((coefficients.nrows(), vectors.columns()));
    for (row, of_vector) in coefficients.columns().into_iter().enumerate() {
        vectors.for_each(row, |column, value| {
            for (machine, coefficient) in of_vector.iter().enumerate() {
                weights[[machine, column]] += coefficient * value;
            }
        });
    }
    Some(weights)
}
