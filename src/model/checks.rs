//! What the machines check before they train.

use crate::data::Samples;
use crate::error::{Error, Result};

/// Checks that there is one entry per row.
pub(super) fn check_lengths(samples: &Samples, lengths: &[(&'static str, usize)]) -> Result<()> {
    match lengths.iter().find(|(_, length)| *length != samples.rows()) {
        None => Ok(()),
        Some((name, length)) => Err(Error::shape(
            name,
            format!("{} entries, one per row of X", samples.rows()),
            length.to_string(),
        )),
    }
}

/// Checks that there is one weight per row, and that weights are finite and not negative.
pub(super) fn check_weights(samples: &Samples, weights: &[f64]) -> Result<()> {
    check_lengths(samples, &[("sample_weight", weights.len())])?;
    match weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        None => Ok(()),
        Some(weight) => Err(Error::parameter(
            "sample_weight",
            "finite and not negative",
            weight,
        )),
    }
}

/// Checks that there is one cost per row, and that none is negative; they may be infinite.
pub(super) fn check_costs(samples: &Samples, costs: &[f64]) -> Result<()> {
    check_lengths(samples, &[("sample_weight", costs.len())])?;
    match costs.iter().find(|c| c.is_nan() || **c < 0.0) {
        None => Ok(()),
        Some(cost) => Err(Error::parameter("C", "positive", cost)),
    }
}

/// Returns the rows that count: those whose weight is not zero.
pub(super) fn rows_with_weight(weights: &[f64]) -> Result<Vec<usize>> {
    let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] != 0.0).collect();
    if rows.is_empty() {
        let allowed = "positive for at least one row";
        return Err(Error::parameter("sample_weight", allowed, "none"));
    }
    Ok(rows)
}

/// Returns the values of some rows.
pub(super) fn take(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| values[row]).collect()
}

pub(super) fn check_c(c: f64) -> Result<()> {
    if c.is_finite() && c > 0.0 {
        return Ok(());
    }
    Err(Error::parameter("C", "positive and finite", c))
}

pub(super) fn check_target(samples: &Samples, target: &[f64]) -> Result<()> {
    check_lengths(samples, &[("y", target.len())])?;
    match target.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite {
            name: "y",
            row,
            value: target[row],
        }),
    }
}
