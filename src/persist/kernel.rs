//! Kernel functions by name and parameters.

use super::value::{Object, count, damaged, number, object, shown, text};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use serde_json::{Value, json};

/// A kernel as a file has it.
pub(super) enum Saved {
    /// One that the crate evaluates.
    Numbers(Kernel),
    /// One of sequences, which only the Python package has machines for.
    Sequences,
}

impl Saved {
    /// Returns the kernel of numbers.
    ///
    /// # Errors
    /// If it is one of sequences.
    pub fn of_numbers(self) -> Result<Kernel> {
        match self {
            Saved::Numbers(kernel) => Ok(kernel),
            Saved::Sequences => Err(damaged(
                "its kernel is one of sequences, which only the Python package can load",
            )),
        }
    }
}

/// Reads a fitted kernel, whose parameters are numbers.
///
/// # Errors
/// If there is no such kernel, or a parameter is out of range.
pub(super) fn read(value: &Value) -> Result<Saved> {
    let saved = parse(value)?;
    if let Saved::Numbers(kernel) = &saved {
        kernel
            .check()
            .map_err(|error| damaged(format!("its kernel: {error}")))?;
    }
    Ok(saved)
}

fn parse(value: &Value) -> Result<Saved> {
    let name = text("kernel", value.get("kernel"))?;
    let of = object("the parameters of a kernel", value.get("parameters"))?;
    let real = |key: &str| number(&format!("{key} of the kernel {name}"), of.get(key));
    let degree = |key: &str| -> Result<u32> {
        let degree = count(&format!("{key} of the kernel {name}"), of.get(key))?;
        u32::try_from(degree)
            .map_err(|_| damaged(format!("{key} of a kernel is too large: {degree}")))
    };
    let (kernel, parameters) = match name {
        "Linear" => (Kernel::Linear, 0),
        "HistogramIntersection" => (Kernel::HistogramIntersection, 0),
        "Precomputed" => (Kernel::Precomputed, 0),
        "RBF" => (Kernel::rbf(real("gamma")?), 1),
        "Laplacian" => (
            Kernel::Laplacian {
                gamma: real("gamma")?,
            },
            1,
        ),
        "ChiSquared" => (Kernel::chi_squared(real("gamma")?), 1),
        "InverseMultiquadric" => (Kernel::InverseMultiquadric { c: real("c")? }, 1),
        "Polynomial" => {
            let (gamma, coef0) = (real("gamma")?, real("coef0")?);
            (Kernel::polynomial(gamma, coef0, degree("degree")?), 3)
        }
        "Sigmoid" => (Kernel::sigmoid(real("gamma")?, real("coef0")?), 2),
        "Matern" => (Kernel::matern(real("nu")?, real("length_scale")?), 2),
        "Periodic" => (Kernel::periodic(real("period")?, real("length_scale")?), 2),
        "ANOVA" => (Kernel::anova(real("gamma")?, degree("degree")?), 2),
        _ => return composed(name, of),
    };
    only(name, of, parameters)?;
    Ok(Saved::Numbers(kernel))
}

/// Reads a kernel that is made of others, or one of sequences.
fn composed(name: &str, of: &Object) -> Result<Saved> {
    let part = |key: &str| {
        let missing = || damaged(format!("{key} of the kernel {name} is missing"));
        parse(of.get(key).ok_or_else(missing)?)
    };
    let pair = |made: fn(Vec<Kernel>) -> Kernel| -> Result<Saved> {
        Ok(match (part("left")?, part("right")?) {
            (Saved::Numbers(left), Saved::Numbers(right)) => {
                Saved::Numbers(made(vec![left, right]))
            }
            _ => Saved::Sequences,
        })
    };
    let (saved, parameters) = match name {
        "Sum" => (pair(Kernel::Sum)?, 2),
        "Product" => (pair(Kernel::Product)?, 2),
        "Scaled" => {
            let factor = number("the factor of a kernel", of.get("factor"))?;
            let saved = match part("kernel")? {
                Saved::Numbers(kernel) => Saved::Numbers(Kernel::Scaled(factor, Box::new(kernel))),
                Saved::Sequences => Saved::Sequences,
            };
            (saved, 2)
        }
        "Normalized" => match part("kernel")? {
            Saved::Numbers(kernel) => (Saved::Numbers(kernel.normalized()), 1),
            Saved::Sequences => (Saved::Sequences, 1),
        },
        "Spectrum" => {
            count("length of the kernel Spectrum", of.get("length"))?;
            (Saved::Sequences, 1)
        }
        "Subsequence" => {
            count("length of the kernel Subsequence", of.get("length"))?;
            number("decay of the kernel Subsequence", of.get("decay"))?;
            (Saved::Sequences, 2)
        }
        _ => return Err(damaged(format!("there is no kernel {name:?}"))),
    };
    only(name, of, parameters)?;
    Ok(saved)
}

fn only(name: &str, of: &Object, parameters: usize) -> Result<()> {
    // A parameter that Python has as None was not given.
    match of.values().filter(|value| !value.is_null()).count() == parameters {
        true => Ok(()),
        false => Err(damaged(format!(
            "the kernel {name} has {parameters} parameters, got {}",
            shown(&Value::Object(of.clone()))
        ))),
    }
}

/// Returns the JSON of a kernel.
///
/// # Errors
/// If it is the user's own: files hold no code.
pub(super) fn write(kernel: &Kernel) -> Result<Value> {
    let named = |name: &str, parameters: Value| json!({"kernel": name, "parameters": parameters});
    Ok(match kernel {
        Kernel::Linear => named("Linear", json!({})),
        Kernel::HistogramIntersection => named("HistogramIntersection", json!({})),
        Kernel::Precomputed => named("Precomputed", json!({})),
        Kernel::Rbf { gamma } => named("RBF", json!({"gamma": gamma})),
        Kernel::Laplacian { gamma } => named("Laplacian", json!({"gamma": gamma})),
        Kernel::ChiSquared { gamma } => named("ChiSquared", json!({"gamma": gamma})),
        Kernel::InverseMultiquadric { c } => named("InverseMultiquadric", json!({"c": c})),
        Kernel::Polynomial {
            gamma,
            coef0,
            degree,
        } => named(
            "Polynomial",
            json!({"gamma": gamma, "coef0": coef0, "degree": degree}),
        ),
        Kernel::Sigmoid { gamma, coef0 } => {
            named("Sigmoid", json!({"gamma": gamma, "coef0": coef0}))
        }
        Kernel::Matern { nu, length_scale } => {
            named("Matern", json!({"nu": nu, "length_scale": length_scale}))
        }
        Kernel::Periodic {
            period,
            length_scale,
        } => named(
            "Periodic",
            json!({"period": period, "length_scale": length_scale}),
        ),
        Kernel::Anova { gamma, degree } => {
            named("ANOVA", json!({"gamma": gamma, "degree": degree}))
        }
        Kernel::Normalized(kernel) => named("Normalized", json!({"kernel": write(kernel)?})),
        Kernel::Scaled(factor, kernel) => named(
            "Scaled",
            json!({"factor": factor, "kernel": write(kernel)?}),
        ),
        Kernel::Sum(parts) => folded("Sum", parts)?,
        Kernel::Product(parts) => folded("Product", parts)?,
        Kernel::User(_) => {
            let allowed = "built in, since files hold no code";
            return Err(Error::parameter("kernel", allowed, format!("{kernel:?}")));
        }
    })
}

/// Returns kernels in pairs, as Python has them.
fn folded(name: &str, parts: &[Kernel]) -> Result<Value> {
    let mut written = parts.iter().map(write);
    let Some(first) = written.next() else {
        return Err(Error::parameter(
            "kernel",
            "made of at least one part",
            "none",
        ));
    };
    written.try_fold(first?, |left, right| {
        Ok(json!({"kernel": name, "parameters": {"left": left, "right": right?}}))
    })
}
