//! Labels of classes as files have them.

use super::value::{damaged, shown};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::fmt;

/// A label of a class: of the kind that Python or Rust has trained with.
///
/// A model whose labels are of an unknown kind is loaded as `SvcModel<Label>`.
///
/// ```
/// use mercer::persist::Label;
/// assert_eq!(Label::from("spam"), Label::Text("spam".into()));
/// assert_eq!(i32::try_from(Label::Integer(7))?, 7);
/// assert!(String::try_from(Label::Integer(7)).is_err());
/// assert_eq!(format!("{} {}", Label::Integer(7), Label::from("spam")), "7 spam");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Boolean(bool),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Text(text) => text.fmt(f),
            Label::Integer(number) => number.fmt(f),
            Label::Real(number) => number.fmt(f),
            Label::Boolean(flag) => flag.fmt(f),
        }
    }
}

impl Label {
    /// Returns the label of a value of the document.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn read(value: &Value) -> Result<Self> {
        let wrong = || {
            damaged(format!(
                "labels must be text, numbers or booleans, got {}",
                shown(value)
            ))
        };
        match value {
            Value::String(text) => Ok(Label::Text(text.clone())),
            Value::Bool(flag) => Ok(Label::Boolean(*flag)),
            Value::Number(number) if number.is_f64() => {
                number.as_f64().map(Label::Real).ok_or_else(wrong)
            }
            Value::Number(number) => number.as_i64().map(Label::Integer).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    pub(super) fn write(&self) -> Value {
        match self {
            Label::Text(text) => json!(text),
            Label::Integer(number) => json!(number),
            Label::Real(number) => json!(number),
            Label::Boolean(flag) => json!(flag),
        }
    }

    /// Returns numpy's name of the type of labels.
    pub(super) fn dtype(labels: &[Label]) -> String {
        let longest = labels.iter().filter_map(|label| match label {
            Label::Text(text) => Some(text.chars().count()),
            _ => None,
        });
        match labels.first() {
            Some(Label::Integer(_)) => "int64".into(),
            Some(Label::Real(_)) => "float64".into(),
            Some(Label::Boolean(_)) => "bool".into(),
            _ => format!("<U{}", longest.max().unwrap_or(1).max(1)),
        }
    }

    /// Tells whether this label is of the same kind as another and comes before it.
    pub(super) fn is_before(&self, other: &Label) -> bool {
        match (self, other) {
            (Label::Text(a), Label::Text(b)) => a < b,
            (Label::Integer(a), Label::Integer(b)) => a < b,
            (Label::Real(a), Label::Real(b)) => a < b,
            (Label::Boolean(a), Label::Boolean(b)) => a < b,
            _ => false,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Label::Text(_) => "text",
            Label::Integer(_) => "whole numbers",
            Label::Real(_) => "numbers",
            Label::Boolean(_) => "booleans",
        }
    }
}

fn unfit(label: &Label, wanted: &'static str) -> Error {
    let what = format!(
        "the labels of this model are {} such as {label:?}, not {wanted}: load it with labels of that \
         type, or as a model of mercer::persist::Label",
        label.kind()
    );
    Error::Format { what }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Label::Text(text.into())
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Label::Text(text)
    }
}

impl From<char> for Label {
    fn from(letter: char) -> Self {
        Label::Text(letter.into())
    }
}

impl From<f64> for Label {
    fn from(number: f64) -> Self {
        Label::Real(number)
    }
}

impl From<bool> for Label {
    fn from(flag: bool) -> Self {
        Label::Boolean(flag)
    }
}

impl TryFrom<Label> for String {
    type Error = Error;

    fn try_from(label: Label) -> Result<Self> {
        match label {
            Label::Text(text) => Ok(text),
            other => Err(unfit(&other, "text")),
        }
    }
}

impl TryFrom<Label> for char {
    type Error = Error;

    fn try_from(label: Label) -> Result<Self> {
        let wanted = "single letters";
        match &label {
            Label::Text(text) => {
                let mut letters = text.chars();
                let first = letters.next().filter(|_| letters.next().is_none());
                first.ok_or_else(|| unfit(&label, wanted))
            }
            other => Err(unfit(other, wanted)),
        }
    }
}

impl TryFrom<Label> for f64 {
    type Error = Error;

    fn try_from(label: Label) -> Result<Self> {
        match label {
            Label::Real(number) => Ok(number),
            other => Err(unfit(&other, "numbers")),
        }
    }
}

impl TryFrom<Label> for bool {
    type Error = Error;

    fn try_from(label: Label) -> Result<Self> {
        match label {
            Label::Boolean(flag) => Ok(flag),
            other => Err(unfit(&other, "booleans")),
        }
    }
}

macro_rules! whole_labels {
    ($($type:ty),*) => {$(
        impl From<$type> for Label {
            fn from(number: $type) -> Self {
                Label::Integer(i64::from(number))
            }
        }

        impl TryFrom<Label> for $type {
            type Error = Error;

            fn try_from(label: Label) -> Result<Self> {
                let wanted = concat!("whole numbers of the type ", stringify!($type));
                match &label {
                    Label::Integer(number) => {
                        <$type>::try_from(*number).map_err(|_| unfit(&label, wanted))
                    }
                    other => Err(unfit(other, wanted)),
                }
            }
        }
    )*};
}

whole_labels!(i64, i32, i16, i8, u32, u16, u8);

/// Numbers above those of `i64` are saved as text.
impl From<usize> for Label {
    fn from(number: usize) -> Self {
        match i64::try_from(number) {
            Ok(number) => Label::Integer(number),
            Err(_) => Label::Text(number.to_string()),
        }
    }
}

impl TryFrom<Label> for usize {
    type Error = Error;

    fn try_from(label: Label) -> Result<Self> {
        let wanted = "whole numbers of the type usize";
        let number = match &label {
            Label::Integer(number) => usize::try_from(*number).ok(),
            Label::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| unfit(&label, wanted))
    }
}
