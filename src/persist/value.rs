//! Values of the JSON document, and what is said of wrong ones.

use crate::error::{Error, Result};
use serde_json::{Map, Value, json};

pub(super) type Object = Map<String, Value>;

/// Returns the error of a file with something wrong inside.
pub(super) fn damaged(what: impl Into<String>) -> Error {
    Error::Format { what: what.into() }
}

/// Returns a value as the end of a message, cut if it is long.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

pub(super) fn object<'a>(name: &str, value: Option<&'a Value>) -> Result<&'a Object> {
    match value {
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(damaged(format!(
            "{name} must be an object, got {}",
            shown(other)
        ))),
        None => Err(damaged(format!("{name} is missing"))),
    }
}

pub(super) fn text<'a>(name: &str, value: Option<&'a Value>) -> Result<&'a str> {
    match value {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(damaged(format!(
            "{name} must be text, got {}",
            shown(other)
        ))),
        None => Err(damaged(format!("{name} is missing"))),
    }
}

pub(super) fn count(name: &str, value: Option<&Value>) -> Result<u64> {
    let what = || {
        let got = value.map_or("nothing".into(), shown);
        damaged(format!(
            "{name} must be a whole number from 0 on, got {got}"
        ))
    };
    value.and_then(Value::as_u64).ok_or_else(what)
}

/// Returns a number that may be infinite or NaN.
pub(super) fn any_number(name: &str, value: Option<&Value>) -> Result<f64> {
    let number = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::Object(object)) => match object.get("float").and_then(Value::as_str) {
            Some("inf") => Some(f64::INFINITY),
            Some("-inf") => Some(f64::NEG_INFINITY),
            Some("nan") => Some(f64::NAN),
            _ => None,
        },
        _ => None,
    };
    let what = || {
        let got = value.map_or("nothing".into(), shown);
        damaged(format!("{name} must be a number, got {got}"))
    };
    number.ok_or_else(what)
}

pub(super) fn number(name: &str, value: Option<&Value>) -> Result<f64> {
    match any_number(name, value)? {
        number if number.is_finite() => Ok(number),
        other => Err(damaged(format!("{name} must be finite, got {other}"))),
    }
}

/// Returns the JSON of a number that may be infinite or NaN.
pub(super) fn of_number(number: f64) -> Value {
    match number.is_finite() {
        true => json!(number),
        false if number.is_nan() => json!({"float": "nan"}),
        false if number > 0.0 => json!({"float": "inf"}),
        false => json!({"float": "-inf"}),
    }
}

/// Returns a finite number or `None`.
pub(super) fn optional(name: &str, value: Option<&Value>) -> Result<Option<f64>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        value => any_number(name, value).map(Some),
    }
}
