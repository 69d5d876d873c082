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
    /// The system refused memory or threads.
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
