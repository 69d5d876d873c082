//! A document against the schema.

use super::array::Array;
use super::document::Document;
use super::parts::{labels, machines, sparse, strategy, training_rows};
use super::schema::{self, Attribute, Kind};
use super::value::{Object, count, damaged, number, object, shown, text};
use super::{kernel, report};
use crate::error::Result;
use crate::model::Multiclass;
use crate::model::expansion::Coefficients;
use serde_json::Value;
use std::collections::HashMap;

/// The estimators that are kernel machines.
const MACHINES: [&str; 7] = [
    "SVC",
    "NuSVC",
    "SVR",
    "NuSVR",
    "OneClassSVM",
    "SVDD",
    "Perceptron",
];
/// How deep models may be in models.
const DEEPEST: usize = 4;

/// Checks a whole document.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn document(document: &Document) -> Result<()> {
    let model = &document.model;
    model_within(document, model, 0)
}

fn model_within(document: &Document, model: &Object, depth: usize) -> Result<()> {
    if depth > DEEPEST {
        return Err(damaged(
            "there are models in models more than four levels deep",
        ));
    }
    let name = text("estimator", model.get("estimator"))?;
    let parameters = object("parameters", model.get("parameters"))?;
    for (parameter, value) in parameters {
        anything(
            document,
            &format!("the parameter {parameter}"),
            value,
            depth,
        )?;
    }
    // A parameter may be an estimator that was not fitted.
    if depth > 0 && !model.contains_key("attributes") {
        return Ok(());
    }
    let attributes = object("attributes", model.get("attributes"))?;
    let Some(expected) = schema::of(name) else {
        let known = known();
        return Err(damaged(format!(
            "there is no estimator {name:?} that a file can hold: these are {known}"
        )));
    };
    let expected: Vec<&Attribute> = expected.collect();
    for attribute in attributes.keys() {
        if !expected.iter().any(|known| known.name == attribute) {
            return Err(damaged(format!("{name} has no attribute {attribute:?}")));
        }
    }
    let mut scope = Scope::new(document, attributes, depth);
    for attribute in expected {
        match attributes.get(attribute.name) {
            Some(value) => scope.check(attribute, value)?,
            None if attribute.optional => {}
            None => return Err(damaged(format!("{} is missing", attribute.name))),
        }
    }
    scope.check_precomputed()?;
    kernel_machine(document, name, attributes)?;
    one_vs_rest(name, &scope.letters)
}

/// Checks that a value of any kind can be read: the arrays it names are there.
fn anything(document: &Document, name: &str, value: &Value, depth: usize) -> Result<()> {
    match value {
        Value::Array(values) => {
            (values.iter()).try_for_each(|value| anything(document, name, value, depth))
        }
        Value::Object(of) if of.contains_key("array") => document.array(name, value).map(|_| ()),
        Value::Object(of) if of.contains_key("csr") => sparse(document, name, value).map(|_| ()),
        Value::Object(of) if of.contains_key("estimator") => model_within(document, of, depth + 1),
        Value::Object(of) => {
            (of.values()).try_for_each(|value| anything(document, name, value, depth))
        }
        _ => Ok(()),
    }
}

/// What the letters of shapes stand for, as attribute after attribute is checked.
struct Scope<'a> {
    document: &'a Document,
    attributes: &'a Object,
    letters: HashMap<&'static str, usize>,
    precomputed: bool,
    depth: usize,
}

impl<'a> Scope<'a> {
    fn new(document: &'a Document, attributes: &'a Object, depth: usize) -> Self {
        let kernel = attributes
            .get("kernel")
            .and_then(|kernel| kernel.get("kernel"));
        Scope {
            document,
            attributes,
            letters: HashMap::from([("1", 1), ("2", 2)]),
            precomputed: kernel.and_then(Value::as_str) == Some("Precomputed"),
            depth,
        }
    }

    fn check(&mut self, attribute: &Attribute, value: &Value) -> Result<()> {
        let name = attribute.name;
        match attribute.kind {
            Kind::Kernel => kernel::read(value).map(|_| ()),
            Kind::Rows(letter) => self.rows(name, letter, value),
            Kind::Numbers(shape) => self.numbers(name, shape, value, true),
            Kind::AnyNumbers(shape) => self.numbers(name, shape, value, false),
            Kind::Targets(letter) => self.targets(name, letter, value),
            Kind::Whole(shape, below) => self.whole(name, shape, below, value),
            Kind::Labels(letter) => {
                let found = labels(name, value)?;
                let in_order = found.windows(2).all(|pair| pair[0].is_before(&pair[1]));
                if found.len() < 2 || !in_order {
                    let what = "must be two labels or more of one kind, in order, each once";
                    return Err(damaged(format!("{name} {what}, got {}", shown(value))));
                }
                self.bind(name, letter, found.len())
            }
            Kind::Names => {
                let found = labels(name, value)?.len();
                self.bind(name, "d", found)
            }
            Kind::Number => number(name, Some(value)).map(|_| ()),
            Kind::NumberOrNone if value.is_null() => Ok(()),
            Kind::NumberOrNone => number(name, Some(value)).map(|_| ()),
            Kind::Count => {
                let found = count(name, Some(value))?;
                let found = usize::try_from(found).unwrap_or(usize::MAX);
                match name {
                    "n_features_in_" => self.bind(name, "d", found),
                    _ => Ok(()),
                }
            }
            Kind::Flag if value.is_boolean() => Ok(()),
            Kind::Flag => Err(damaged(format!(
                "{name} must be a bool, got {}",
                shown(value)
            ))),
            Kind::Strategy => strategy(value).map(|_| ()),
            Kind::Report => report::read(value).map(|_| ()),
            Kind::Shape => shape_of(name, value),
            Kind::Histories => self.histories(name, value),
            Kind::Model(estimator) => self.model(name, estimator, value),
            Kind::Anything => anything(self.document, name, value, self.depth),
        }
    }

    /// Gives a letter its number, or checks that it has this one.
    fn bind(&mut self, name: &str, letter: &'static str, size: usize) -> Result<()> {
        match *self.letters.entry(letter).or_insert(size) {
            known if known == size => Ok(()),
            known => Err(damaged(format!(
                "{name} does not fit the other attributes: it is for {size} where these are for {known}"
            ))),
        }
    }

    fn shape(&mut self, name: &str, shape: &[&'static str], got: &[usize]) -> Result<()> {
        if shape.len() != got.len() {
            let dimensions = shape.len();
            return Err(damaged(format!(
                "{name} must have {dimensions} dimensions, got the shape {got:?}"
            )));
        }
        (shape.iter().zip(got)).try_for_each(|(letter, &size)| self.bind(name, letter, size))
    }

    fn numbers(
        &mut self,
        name: &str,
        shape: &[&'static str],
        value: &Value,
        finite: bool,
    ) -> Result<()> {
        if value.get("csr").is_some() {
            let samples = sparse(self.document, name, value)?;
            return self.shape(name, shape, &[samples.rows(), samples.columns()]);
        }
        let array = self.document.array(name, value)?;
        real(name, array, finite)?;
        self.shape(name, shape, &array.shape)
    }

    fn targets(&mut self, name: &str, letter: &'static str, value: &Value) -> Result<()> {
        let array = self.document.array(name, value)?;
        real(name, array, true)?;
        match array.shape[..] {
            [rows] | [rows, _] => self.bind(name, letter, rows),
            _ => Err(damaged(format!("{name} must have one or two dimensions"))),
        }
    }

    fn whole(
        &mut self,
        name: &str,
        shape: &[&'static str],
        below: &str,
        value: &Value,
    ) -> Result<()> {
        let array = self.document.array(name, value)?;
        self.shape(name, shape, &array.shape)?;
        let wrong = || damaged(format!("{name} must be whole numbers from 0 on"));
        let most = array.whole().ok_or_else(wrong)?.into_iter().max();
        let end = match below {
            "" => None,
            "n+1" => self.letters.get("n").map(|n| n + 1),
            letter => self.letters.get(letter).copied(),
        };
        match (most, end) {
            (Some(most), Some(end)) if most >= end => Err(damaged(format!(
                "{name} must be numbers below {end}, got {most}"
            ))),
            _ => Ok(()),
        }
    }

    fn rows(&mut self, name: &str, letter: &'static str, value: &Value) -> Result<()> {
        if let Value::Array(sequences) = value {
            return self.bind(name, letter, sequences.len());
        }
        let (rows, columns) = if value.get("csr").is_some() {
            let samples = sparse(self.document, name, value)?;
            (samples.rows(), samples.columns())
        } else {
            let array = self.document.array(name, value)?;
            real(name, array, true)?;
            match array.shape[..] {
                [rows, columns] => (rows, columns),
                _ => {
                    return Err(damaged(format!("{name} must have two dimensions")));
                }
            }
        };
        match self.precomputed {
            // Machines keep nothing of a precomputed kernel; others keep its values.
            true if (rows, columns) == (0, 0) => Ok(()),
            true => self.bind(name, letter, rows),
            false => {
                self.bind(name, letter, rows)?;
                self.bind(name, "d", columns)
            }
        }
    }

    /// Row numbers are columns of the values that a precomputed kernel is given.
    fn check_precomputed(&self) -> Result<()> {
        let Some(&end) = self.letters.get("d").filter(|_| self.precomputed) else {
            return Ok(());
        };
        for name in ["support_", "columns", "row_numbers"] {
            let Some(value) = self.attributes.get(name) else {
                continue;
            };
            let numbers = self.document.array(name, value)?.whole();
            let most = numbers.unwrap_or_default().into_iter().max();
            if most.is_some_and(|most| most >= end) {
                return Err(damaged(format!(
                    "{name} must be numbers of rows below {end}"
                )));
            }
        }
        Ok(())
    }

    fn histories(&self, name: &str, value: &Value) -> Result<()> {
        let one = std::slice::from_ref(value);
        let all = value.as_array().map_or(one, Vec::as_slice);
        for history in all {
            let pairs = history.get("dict").and_then(Value::as_array);
            let wrong = || damaged(format!("{name} must hold arrays by name"));
            for pair in pairs.ok_or_else(wrong)? {
                let array = pair.get(1).ok_or_else(wrong)?;
                real(name, self.document.array(name, array)?, false)?;
            }
        }
        Ok(())
    }

    fn model(&self, name: &str, estimator: &str, value: &Value) -> Result<()> {
        let model = object(name, Some(value))?;
        if text(name, model.get("estimator"))? != estimator || !model.contains_key("attributes") {
            return Err(damaged(format!("{name} must be a fitted {estimator}")));
        }
        model_within(self.document, model, self.depth + 1)
    }
}

fn real(name: &str, array: &Array, finite: bool) -> Result<()> {
    if !array.is_real() {
        let dtype = array.values.dtype().0;
        return Err(damaged(format!("{name} must be real numbers, got {dtype}")));
    }
    match finite && !array.is_finite() {
        true => Err(damaged(format!(
            "{name} must be finite, got NaN or infinity"
        ))),
        false => Ok(()),
    }
}

fn shape_of(name: &str, value: &Value) -> Result<()> {
    let sizes = value.get("tuple").and_then(Value::as_array);
    let sizes = sizes.filter(|sizes| sizes.iter().all(|size| size.is_null() || size.is_u64()));
    match sizes {
        Some(_) => Ok(()),
        None => {
            let got = shown(value);
            Err(damaged(format!("{name} must be a shape, got {got}")))
        }
    }
}

/// Checks that the parts of a kernel machine fit together; other estimators pass.
///
/// # Errors
/// If they do not.
fn kernel_machine(document: &Document, name: &str, attributes: &Object) -> Result<()> {
    if !MACHINES.contains(&name) {
        return Ok(());
    }
    let machines = machines(document, attributes)?;
    let multiclass = match attributes.get("multiclass") {
        Some(value) => strategy(value)?,
        None => Multiclass::OneVsRest, // one for each output
    };
    let coefficients = Coefficients {
        n_support: &machines.n_support,
        dual_coef: machines.dual_coef.view(),
        intercept: &machines.intercept,
        multiclass,
    };
    coefficients
        .check()
        .map_err(|error| damaged(error.to_string()))?;
    let (support, counted) = (machines.support.len(), coefficients.vectors());
    if support != counted {
        return Err(damaged(format!(
            "support_ must have as many entries as n_support_ counts, {counted}, got {support}"
        )));
    }
    let rows = training_rows(attributes).unwrap_or(usize::MAX);
    match machines.support.iter().find(|&&row| row >= rows) {
        Some(row) => Err(damaged(format!(
            "support_ must be numbers of rows below {rows}, got {row}"
        ))),
        None => Ok(()),
    }
}

/// Checks that a classifier that sets one class against the rest has as many machines as it needs.
///
/// # Errors
/// If it has not.
fn one_vs_rest(estimator: &str, letters: &HashMap<&'static str, usize>) -> Result<()> {
    let classified = ["LinearSVC", "RVC", "BayesPointClassifier"];
    let (Some(&classes), Some(&machines)) = (letters.get("c"), letters.get("m")) else {
        return Ok(());
    };
    let expected = if classes == 2 { 1 } else { classes };
    match classified.contains(&estimator) && machines != expected {
        true => Err(damaged(format!(
            "intercept_ must have {expected} entries for {classes} classes, got {machines}"
        ))),
        false => Ok(()),
    }
}

/// Returns the estimators that files can hold, as messages list them.
fn known() -> String {
    let names: Vec<&str> = schema::names().collect();
    names.join(", ")
}
