//! Models as files, which Python and Rust read and write alike.
//!
//! A file is in the safetensors format: a JSON header, then arrays. Nothing in it is ever executed. The
//! entry `mercer` of its metadata is a JSON document that says what the arrays are:
//!
//! ```text
//! {"format_version": 1, "library_version": "0.2.0",
//!  "model": {"estimator": "SVC", "parameters": {..}, "attributes": {..}}}
//! ```
//!
//! Estimators and attributes have the names of the Python package, private ones without underscores.
//! Values are those of JSON, or an object with one of these keys:
//!
//! | key | value |
//! |---|---|
//! | `array` | the name of an array: `F64`, `F32`, `I64` or `I32` |
//! | `csr`, `shape` | a sparse matrix: the name of three arrays with `.data`, `.indices`, `.indptr` appended |
//! | `labels`, `dtype` | text, whole numbers, numbers or booleans, and numpy's name of their type |
//! | `kernel`, `parameters` | a kernel function |
//! | `estimator`, `parameters`, `attributes` | a model within a model |
//! | `machines`, `seconds` | what a solver did |
//! | `float` | `"inf"`, `"-inf"` or `"nan"` |
//! | `tuple`, `dict`, `bytes`, `integer` | what JSON has not: a list, a list of pairs, hexadecimal digits, decimal digits |
//!
//! `schema.rs` lists the attributes of every estimator with their shapes and ranges. A file is checked
//! against it before it is written and after it was read, in Rust, whoever asks: what passes can be used
//! as it is. Files of a later format are refused with advice. A file is written under another name and
//! then renamed, so that a file with the right name is whole.
//!
//! ```
//! use mercer::{Kernel, Svc, SvcModel};
//! let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
//! let labels = ["same", "same", "differ", "differ"].map(String::from);
//! let model = Svc::new(Kernel::rbf(1.0)).c(10.0).fit(x.view(), &labels)?;
//! let path = std::env::temp_dir().join("mercer-doctest-xor.safetensors");
//! model.save(&path)?;
//! let same = SvcModel::<String>::load(&path)?;
//! assert_eq!(same.decision_function(x.view())?, model.decision_function(x.view())?);
//! assert_eq!(same.predict(x.view())?, labels);
//! # std::fs::remove_file(path).unwrap();
//! # Ok::<(), mercer::Error>(())
//! ```

mod array;
mod check;
mod document;
mod file;
mod kernel;
mod label;
mod linear;
mod machine;
mod models;
mod parts;
mod report;
mod schema;
mod value;

#[cfg(feature = "python")]
pub(crate) use array::{Array, Values};
#[cfg(feature = "python")]
pub(crate) use document::Document;
#[cfg(feature = "python")]
pub(crate) use file::{read, write};
pub use label::Label;
#[cfg(feature = "python")]
pub(crate) use schema::attributes;

use crate::error::Result;

/// Reads a model file from memory and checks it.
///
/// ```
/// let error = mercer::persist::check(b"nonsense").unwrap_err();
/// assert!(error.to_string().contains("no model file"));
/// ```
///
/// # Errors
/// What is wrong with it.
pub fn check(bytes: &[u8]) -> Result<()> {
    file::parse(bytes).map(|_| ())
}
