//! The document of a file: what it says, and the arrays it speaks of.

use super::array::Array;
use super::value::{Object, count, damaged, object, text};
use crate::error::Result;
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// The version of the format that is written, and the latest that can be read.
const VERSION: u64 = 1;
/// The entry of the metadata that is ours.
const KEY: &str = "mercer";
/// Readers of safetensors refuse longer headers.
const LONGEST_HEADER: usize = 100_000_000;

/// A model as its file has it.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Estimator, parameters and attributes.
    pub model: Object,
    pub arrays: BTreeMap<String, Array>,
}

impl Document {
    /// Makes the document of a model whose JSON is text.
    ///
    /// # Errors
    /// If it is no object.
    #[cfg(feature = "python")]
    pub fn from_json(model: &str, arrays: BTreeMap<String, Array>) -> Result<Self> {
        let model: Value = serde_json::from_str(model)
            .map_err(|error| damaged(format!("its description cannot be read: {error}")))?;
        let model = object("the model", Some(&model))?.clone();
        Ok(Document { model, arrays })
    }

    /// Reads a file, which is still to be checked.
    ///
    /// # Errors
    /// If it is damaged or of a later format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let unreadable = |error| damaged(format!("it is no model file: {error}"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let entries = metadata.metadata().as_ref();
        let manifest = entries
            .and_then(|entries| entries.get(KEY))
            .ok_or_else(|| {
                let what = "it is a safetensors file, but not one of a Mercer model";
                damaged(what)
            })?;
        let model = model_of(manifest)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let mut arrays = BTreeMap::new();
        for (name, view) in tensors.iter() {
            let array = Array::read(name, view.dtype(), view.shape(), view.data())?;
            arrays.insert(name.to_string(), array);
        }
        Ok(Document { model, arrays })
    }

    /// Returns the JSON of the model as text.
    #[cfg(feature = "python")]
    pub fn text(&self) -> String {
        Value::Object(self.model.clone()).to_string()
    }

    pub fn write(&self, out: &mut impl Write) -> Result<std::io::Result<()>> {
        let order = self.order();
        let header = self.header(&order)?;
        let mut write = || {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(header.as_bytes())?;
            order.iter().try_for_each(|(_, array)| array.write(out))
        };
        Ok(write())
    }

    /// Returns the arrays, those of long numbers first: so all begin where such numbers may.
    fn order(&self) -> Vec<(&String, &Array)> {
        let mut order: Vec<_> = self.arrays.iter().collect();
        order.sort_by_key(|(_, array)| std::cmp::Reverse(array.values.dtype().1));
        order
    }

    /// Returns the header: always the same for the same model.
    fn header(&self, order: &[(&String, &Array)]) -> Result<String> {
        let manifest = json!({
            "format_version": VERSION,
            "library_version": env!("CARGO_PKG_VERSION"),
            "model": self.model,
        });
        let mut header = Object::new();
        let metadata = json!({KEY: manifest.to_string()});
        header.insert("__metadata__".into(), metadata);
        let mut begin = 0;
        for (name, array) in order {
            let (dtype, size) = array.values.dtype();
            let end = begin + size * array.values.len();
            let entry = json!({"dtype": dtype, "shape": array.shape, "data_offsets": [begin, end]});
            header.insert((*name).clone(), entry);
            begin = end;
        }
        let mut header = Value::Object(header).to_string();
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        if header.len() > LONGEST_HEADER {
            return Err(damaged(
                "its text takes more than 100 MB, which a model file cannot hold",
            ));
        }
        Ok(header)
    }

    pub fn estimator(&self) -> Result<&str> {
        text("estimator", self.model.get("estimator"))
    }

    pub fn attributes(&self) -> Result<&Object> {
        object("attributes", self.model.get("attributes"))
    }

    /// Returns an attribute; the schema knows whether it is there.
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes().ok()?.get(name)
    }

    /// Returns the array that a value names.
    ///
    /// # Errors
    /// If it names none.
    pub fn array(&self, name: &str, value: &Value) -> Result<&Array> {
        let wrong = || {
            damaged(format!(
                "{name} must name an array, got {}",
                super::value::shown(value)
            ))
        };
        let key = value
            .get("array")
            .and_then(Value::as_str)
            .ok_or_else(wrong)?;
        let missing = || damaged(format!("{name} names the array {key:?}, which is missing"));
        self.arrays.get(key).ok_or_else(missing)
    }
}

/// Returns the model of a manifest of a format that is known.
fn model_of(manifest: &str) -> Result<Object> {
    let manifest: Value = serde_json::from_str(manifest)
        .map_err(|error| damaged(format!("its description cannot be read: {error}")))?;
    let manifest = object("its description", Some(&manifest))?;
    let version = count("format_version", manifest.get("format_version"))?;
    let library = text("library_version", manifest.get("library_version"))?;
    if version > VERSION {
        return Err(damaged(format!(
            "it has format version {version}, written by Mercer {library}, and this is Mercer {}, \
             which reads versions up to {VERSION}: install Mercer {library} or later",
            env!("CARGO_PKG_VERSION")
        )));
    }
    if version == 0 {
        return Err(damaged(format!(
            "there is no format version 0: versions begin at 1, and {VERSION} is the latest known here"
        )));
    }
    Ok(object("model", manifest.get("model"))?.clone())
}
