//! Trained machines: expansions in support vectors, and classifiers of many classes made of them.

#[macro_use]
mod settings;
mod expansion;
mod machine;
mod multiclass;
mod nu_svc;
mod nu_svr;
mod one_class;
mod one_vs_one;
mod one_vs_rest;
mod predictor;
#[cfg(feature = "python")]
mod resume;
mod svc;
mod svdd;
mod svr;

pub use expansion::Expansion;
pub use machine::Machine;
pub use multiclass::{Dag, Machines, Multiclass};
pub use nu_svc::NuSvc;
pub use nu_svr::NuSvr;
pub use one_class::{OneClassModel, OneClassSvm};
pub use one_vs_one::{Margin, OneVsOne};
pub use one_vs_rest::OneVsRest;
#[cfg(feature = "python")]
pub(crate) use resume::fit_from;
pub use svc::{Svc, SvcModel};
pub use svdd::{Svdd, SvddModel};
pub use svr::{Svr, SvrModel};

use crate::data::Samples;
use crate::error::{Error, Result};

/// Checks that there is one entry per row.
fn check_lengths(samples: &Samples, lengths: &[(&'static str, usize)]) -> Result<()> {
    match lengths.iter().find(|(_, length)| *length != samples.rows()) {
        None => Ok(()),
        Some((name, length)) => Err(Error::shape(
            name,
            format!("{} entries, one per row of X", samples.rows()),
            length.to_string(),
        )),
    }
}

/// Checks that there is one entry per row, and that weights are finite and not negative.
fn check_rows(samples: &Samples, lengths: &[(&'static str, usize)], weights: &[f64]) -> Result<()> {
    check_lengths(samples, lengths)?;
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

/// Returns the rows that count: those whose weight, or cost, is not zero.
fn weighty(weights: &[f64]) -> Result<Vec<usize>> {
    let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] != 0.0).collect();
    if rows.is_empty() {
        let allowed = "positive for at least one row";
        return Err(Error::parameter("sample_weight", allowed, "none"));
    }
    Ok(rows)
}

fn take(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| values[row]).collect()
}

fn check_c(c: f64) -> Result<()> {
    if c.is_finite() && c > 0.0 {
        return Ok(());
    }
    Err(Error::parameter("C", "positive and finite", c))
}

fn check_target(target: &[f64]) -> Result<()> {
    match target.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite {
            name: "y",
            row,
            value: target[row],
        }),
    }
}
