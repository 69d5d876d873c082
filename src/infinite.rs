//! Numbers that may be infinite, in formats that have none such: JSON writes null in their place.

use serde::Serializer;
use serde::de::{Deserialize, Deserializer, Error};

const INFINITE: &str = "infinity";

/// Writes a number, or the word for one that is not finite.
pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match *value == f64::INFINITY {
        true => to.serialize_str(INFINITE),
        false => to.serialize_f64(*value),
    }
}

/// Reads a number or the word.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }
    match Written::deserialize(from)? {
        Written::Number(value) => Ok(value),
        Written::Word(word) if word == INFINITE => Ok(f64::INFINITY),
        Written::Word(word) => Err(D::Error::custom(format!(
            "a cost must be a number or {INFINITE:?}, got {word:?}"
        ))),
    }
}
