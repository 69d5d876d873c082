//! The ranges of the parameters of kernels, and of the data that kernels take.

use super::function::Kernel;
use super::properties::check_diagonal;
use super::rounding::Row;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::simd::interactions::LARGEST_DEGREE;

fn finite(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(Error::parameter(name, "finite", value)),
    }
}

fn not_negative(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, "finite and not negative", value)),
    }
}

/// Widths are squared and divided by.
fn width(name: &'static str, value: f64) -> Result<()> {
    let fits = |value: f64| value > 0.0 && value.is_finite();
    match value > 0.0 && fits(value * value) && fits((value * value).recip()) {
        true => Ok(()),
        false => Err(Error::parameter(name, "positive and finite", value)),
    }
}

impl Kernel {
    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Kernel::Linear
            | Kernel::HistogramIntersection
            | Kernel::Precomputed
            | Kernel::User(_) => Ok(()),
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } | Kernel::ChiSquared { gamma } => {
                not_negative("gamma", *gamma)
            }
            Kernel::Polynomial { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
                not_negative("gamma", *gamma)?;
                finite("coef0", *coef0)
            }
            Kernel::InverseMultiquadric { c } => match c.is_finite() && *c > 0.0 {
                true => Ok(()),
                false => Err(Error::parameter("c", "positive and finite", c)),
            },
            Kernel::Matern { nu, length_scale } => {
                if *nu != 1.5 && *nu != 2.5 {
                    return Err(Error::parameter("nu", "1.5 or 2.5", nu));
                }
                width("length_scale", *length_scale)
            }
            Kernel::Periodic {
                period,
                length_scale,
            } => {
                width("period", *period)?;
                width("length_scale", *length_scale)
            }
            Kernel::Anova { gamma, degree } => {
                if !(1..=LARGEST_DEGREE).contains(&(*degree as usize)) {
                    let allowed = format!("from 1 to {LARGEST_DEGREE}");
                    return Err(Error::parameter("degree", allowed, degree));
                }
                not_negative("gamma", *gamma)
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                if parts.is_empty() {
                    let allowed = "made of at least one part";
                    return Err(Error::parameter("kernel", allowed, "none"));
                }
                parts.iter().try_for_each(Kernel::check_part)
            }
            Kernel::Scaled(factor, kernel) => {
                not_negative("the factor of a kernel", *factor)?;
                kernel.check_part()
            }
            Kernel::Normalized(kernel) => kernel.check_part(),
        }
    }

    fn check_part(&self) -> Result<()> {
        match self {
            Kernel::Precomputed | Kernel::User(_) => Err(Error::parameter(
                "kernel",
                "made of built-in kernels",
                format!("{self:?} as a part"),
            )),
            _ => self.check(),
        }
    }

    /// Checks that the kernel is defined for rows `index` of `samples`.
    ///
    /// # Errors
    /// If numbers that must not be negative are, or a row cannot be normalised.
    pub(super) fn check_rows(&self, samples: &Samples, index: &[usize]) -> Result<()> {
        match self {
            Kernel::ChiSquared { .. } | Kernel::HistogramIntersection => {
                check_not_negative(samples, index)
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => parts
                .iter()
                .try_for_each(|kernel| kernel.check_rows(samples, index)),
            Kernel::Scaled(_, kernel) => kernel.check_rows(samples, index),
            Kernel::Normalized(kernel) => {
                kernel.check_rows(samples, index)?;
                let own = |&i: &usize| kernel.on_diagonal(&Row::of(samples, i, None));
                let diagonal: Vec<f64> = index.iter().filter_map(own).collect();
                check_diagonal(&diagonal, index)?;
                match diagonal.iter().position(|&value| value < 0.0) {
                    None => Ok(()),
                    Some(at) => Err(Error::parameter(
                        "kernel",
                        "not negative for a row with itself, to be normalised",
                        format!("{} for row {}", diagonal[at], index[at]),
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

fn check_not_negative(samples: &Samples, index: &[usize]) -> Result<()> {
    for &i in index {
        let mut least = 0.0f64;
        samples.for_each(i, |_, value| least = least.min(value));
        if least < 0.0 {
            return Err(Error::parameter(
                "X",
                "not negative, as chi-squared and intersection kernels need it",
                format!("{least} in row {i}"),
            ));
        }
    }
    Ok(())
}
