//! The one error type. Messages name the argument as Python spells it and say what is allowed.

use std::borrow::Cow;
use std::error::Error as StdError;

/// What can be wrong with a request. Running out of time or iterations is not an error but a
/// [`Status`](crate::qp::Status).
///
/// ```
/// use mercer::{Error, Kernel, Svc};
/// let x = ndarray::array![[0.0], [1.0]];
/// let error = Svc::new(Kernel::rbf(1.0)).c(-1.0).fit(x.view(), &[0, 1]).unwrap_err();
/// assert!(matches!(error, Error::Parameter { name: "C", .. }));
/// assert_eq!(error.to_string(), "C must be positive, got -1");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("{name} must be {allowed}, got {value}")]
    Parameter {
        /// The parameter as Python spells it.
        name: &'static str,
        /// What would have been accepted.
        allowed: Cow<'static, str>,
        /// What was given.
        value: String,
    },
    /// An array has the wrong shape.
    #[error("{name} must have {expected}, got {got}")]
    Shape {
        /// The array.
        name: &'static str,
        /// What its shape should be.
        expected: String,
        /// What its shape is.
        got: String,
    },
    /// An array holds NaN or infinity.
    #[error("{name} must be finite, got {value} in row {row}")]
    NotFinite {
        /// The array.
        name: &'static str,
        /// The first row with such a value.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A classifier was given fewer than two classes.
    #[error("y must have at least two classes, got {classes}")]
    TooFewClasses {
        /// How many there are.
        classes: usize,
    },
    /// The user's own kernel failed or returned something that is not a kernel block.
    #[error("kernel: {0}")]
    UserKernel(#[source] Box<dyn StdError + Send + Sync>),
    /// There was no memory for something that had to be kept.
    #[error("not enough memory: {what} would take {}", size(*.bytes))]
    Memory {
        /// What was to be kept.
        what: &'static str,
        /// Its size.
        bytes: usize,
    },
    /// Memory ran out in the middle of a computation.
    #[error("not enough memory: it ran out in the middle of the computation")]
    Exhausted,
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is no model file, is damaged, or holds something else than was asked for.
    #[error("{what}")]
    Format {
        /// What is wrong, and what to do.
        what: String,
    },
    /// The system refused something else, such as threads.
    #[error("the system refused {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// The system's answer.
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// A result with the crate's [`Error`].
///
/// ```
/// fn positive(c: f64) -> mercer::Result<f64> { Ok(c) }
/// assert!(positive(1.0).is_ok());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn parameter(
        name: &'static str,
        allowed: impl Into<Cow<'static, str>>,
        value: impl ToString,
    ) -> Self {
        Error::Parameter {
            name,
            allowed: allowed.into(),
            value: value.to_string(),
        }
    }

    pub(crate) fn shape(
        name: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Error::Shape {
            name,
            expected: expected.into(),
            got: got.into(),
        }
    }
}

/// Converting samples into samples cannot fail, so that they are accepted wherever arrays are.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// Returns a number of bytes in words.
fn size(bytes: usize) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1000.0 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{} {}", (size * 10.0).round() / 10.0, units[unit]),
    }
}

/// A request to stop, polled by everything that may take long.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Why a computation ended without its result.
#[derive(Debug)]
pub(crate) enum Halt {
    /// It was asked to stop. What it was writing to is incomplete.
    Stopped,
    /// It failed.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

/// The result of a computation that polls a [`Stop`]: `?` passes both ways of ending on.
pub(crate) type Polled<T> = std::result::Result<T, Halt>;

/// Ends a computation if it is asked to stop.
pub(crate) fn poll(stop: Stop) -> Polled<()> {
    if stop() { Err(Halt::Stopped) } else { Ok(()) }
}

/// Returns the result of a computation, `None` if it was stopped: for interfaces that show
/// stopping to the user.
pub(crate) fn unless_stopped<T>(result: Polled<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Halt::Stopped) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(320_000_000_000), "320 GB");
        assert_eq!(size(1_234_567), "1.2 MB");
        let what = "the kernel matrix";
        let error = Error::Memory { what, bytes: 2000 };
        let told = "not enough memory: the kernel matrix would take 2 kB";
        assert_eq!(error.to_string(), told);
    }
}
