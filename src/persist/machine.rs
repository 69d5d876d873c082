//! Kernel machines as files have them.

use super::array::{Array, Values};
use super::check::labels;
use super::document::Document;
use super::label::Label;
use super::value::{Object, damaged, shown, text};
use super::{kernel, report};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::expansion::{Coefficients, Kept};
use crate::model::{Machine, Machines, Multiclass};
use ndarray::Array2;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The estimators that are kernel machines.
const MACHINES: [&str; 6] = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"];

/// A kernel machine: what all of them have.
pub(super) struct Saved {
    pub kernel: Kernel,
    pub kept: Kept,
    pub machines: Machines,
    pub multiclass: Multiclass,
}

/// Checks that the parts of a kernel machine fit together; other estimators pass.
///
/// # Errors
/// If they do not.
pub(super) fn check(document: &Document, name: &str, attributes: &Object) -> Result<()> {
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

/// Reads how several classes are decided.
pub(super) fn strategy(value: &Value) -> Result<Multiclass> {
    match text("multiclass", Some(value))? {
        "ovo" => Ok(Multiclass::OneVsOne),
        "ovr" => Ok(Multiclass::OneVsRest),
        "dag" => Ok(Multiclass::Dag),
        other => Err(damaged(format!(
            "multiclass must be 'ovo', 'ovr' or 'dag', got {other:?}"
        ))),
    }
}

fn strategy_name(multiclass: Multiclass) -> &'static str {
    match multiclass {
        Multiclass::OneVsOne => "ovo",
        Multiclass::OneVsRest => "ovr",
        Multiclass::Dag => "dag",
    }
}

/// Reads a kernel machine of a document that was checked.
///
/// # Errors
/// If it is of another kind, or only Python can use it.
pub(super) fn read(document: &Document, estimators: &[&str]) -> Result<Saved> {
    let name = document.estimator()?;
    if !estimators.contains(&name) {
        let wanted = estimators.join(" or ");
        return Err(damaged(format!(
            "it holds a model of {name}, not of {wanted}"
        )));
    }
    let attributes = document.attributes()?;
    let kernel = kernel::read(attributes.get("kernel").unwrap_or(&Value::Null))?.of_numbers()?;
    let machines = machines(document, attributes)?;
    let kept = match kernel {
        Kernel::Precomputed => {
            let missing = || damaged("shape_fit_ must have the number of training rows");
            let rows = training_rows(attributes).ok_or_else(missing)?;
            Kept::Numbers(rows, machines.support.clone())
        }
        _ => {
            let value = attributes.get("support_vectors_").unwrap_or(&Value::Null);
            Kept::Vectors(Arc::new(samples(document, "support_vectors_", value)?))
        }
    };
    Ok(Saved {
        kernel,
        kept,
        machines,
        multiclass: match attributes.get("multiclass") {
            Some(value) => strategy(value)?,
            None => Multiclass::OneVsRest,
        },
    })
}

/// Returns the classes of a classifier.
pub(super) fn classes<L>(document: &Document) -> Result<Vec<L>>
where
    L: TryFrom<Label>,
    Error: From<L::Error>,
{
    let value = document.attribute("classes_").unwrap_or(&Value::Null);
    let labels = labels("classes_", value)?.into_iter();
    Ok(labels
        .map(L::try_from)
        .collect::<std::result::Result<_, _>>()?)
}

fn machines(document: &Document, attributes: &Object) -> Result<Machines> {
    let of = |name: &str| attributes.get(name).unwrap_or(&Value::Null);
    let whole = |name: &str| {
        let array = document.array(name, of(name))?;
        let wrong = || damaged(format!("{name} must be whole numbers from 0 on"));
        array.whole().ok_or_else(wrong)
    };
    let dual_coef = matrix(document, "dual_coef_", of("dual_coef_"))?;
    // The scores of the one-class machine have no intercept.
    let intercept = match attributes.contains_key("intercept_") {
        true => real(document, "intercept_", of("intercept_"))?,
        false => vec![0.0],
    };
    let reports = report::read(of("report_"))?;
    Ok(Machines {
        support: whole("support_")?,
        n_support: whole("n_support_")?,
        dual_coef,
        intercept,
        histories: vec![Vec::new(); reports.len()],
        reports,
    })
}

pub(super) fn real(document: &Document, name: &str, value: &Value) -> Result<Vec<f64>> {
    let wrong = || damaged(format!("{name} must be real numbers"));
    document.array(name, value)?.real().ok_or_else(wrong)
}

/// Returns a matrix of numbers, dense whether or not the file has it so.
pub(super) fn matrix(document: &Document, name: &str, value: &Value) -> Result<Array2<f64>> {
    if value.get("csr").is_some() {
        let samples = sparse(document, name, value)?;
        let shape = (samples.rows(), samples.columns());
        let mut matrix = crate::simd::memory::zero_matrix(shape, "a matrix of a model file")?;
        for (i, mut row) in matrix.rows_mut().into_iter().enumerate() {
            if let Some(row) = row.as_slice_mut() {
                samples.copy_row(i, row);
            }
        }
        return Ok(matrix);
    }
    let array = document.array(name, value)?;
    let wrong = || damaged(format!("{name} must be a matrix of real numbers"));
    let shape = match array.shape[..] {
        [rows, columns] => (rows, columns),
        _ => return Err(wrong()),
    };
    let values = array.real().ok_or_else(wrong)?;
    Array2::from_shape_vec(shape, values).map_err(|_| wrong())
}

/// Returns rows, dense or sparse, in the precision they were trained in.
fn samples(document: &Document, name: &str, value: &Value) -> Result<Samples> {
    if value.get("csr").is_some() {
        return sparse(document, name, value);
    }
    let array = document.array(name, value)?;
    let wrong = || damaged(format!("{name} must be a matrix of real numbers"));
    let columns = *array.shape.get(1).ok_or_else(wrong)?;
    match &array.values {
        Values::F64(values) => Samples::shared(values.clone(), columns),
        Values::F32(values) => Samples::shared(values.clone(), columns),
        Values::I64(_) | Values::I32(_) => Err(wrong()),
    }
}

/// Reads a sparse matrix.
///
/// # Errors
/// If its arrays do not fit together.
pub(super) fn sparse(document: &Document, name: &str, value: &Value) -> Result<Samples> {
    let key = text(name, value.get("csr"))?;
    let part = |ending: &str| {
        let key = format!("{key}.{ending}");
        document.array(name, &json!({ "array": key }))
    };
    let wrong = || damaged(format!("{name} must be a sparse matrix of real numbers"));
    let shape = value.get("shape").and_then(Value::as_array);
    let shape: Option<Vec<u64>> = shape.and_then(|s| s.iter().map(Value::as_u64).collect());
    let [rows, columns] = shape.ok_or_else(wrong)?[..] else {
        return Err(wrong());
    };
    let columns = usize::try_from(columns).map_err(|_| wrong())?;
    let indices = part("indices")?.whole().ok_or_else(wrong)?;
    let indptr = part("indptr")?.whole().ok_or_else(wrong)?;
    let samples = match &part("data")?.values {
        Values::F64(data) => Samples::csr(data.clone(), &indices, &indptr, columns),
        Values::F32(data) => Samples::csr(data.clone(), &indices, &indptr, columns),
        Values::I64(_) | Values::I32(_) => return Err(wrong()),
    };
    let samples = samples.map_err(|error| match error {
        Error::Shape { .. } | Error::NotFinite { .. } => damaged(format!("{name}: {error}")),
        other => other,
    })?;
    match samples.rows() as u64 == rows {
        true => Ok(samples),
        false => Err(damaged(format!(
            "{name} must have {} rows, got {}",
            samples.rows(),
            shown(value)
        ))),
    }
}

fn training_rows(attributes: &Object) -> Option<usize> {
    let shape = attributes.get("shape_fit_")?.get("tuple")?;
    usize::try_from(shape.get(0)?.as_u64()?).ok()
}

impl Saved {
    /// Returns the only machine.
    ///
    /// # Errors
    /// If there are several.
    pub fn machine(machines: Machines) -> Result<Machine> {
        let (outputs, mut reports) = (machines.intercept.len(), machines.reports);
        match (machines.intercept.first(), reports.pop()) {
            (Some(&intercept), Some(report)) if outputs == 1 => Ok(Machine {
                support: machines.support,
                dual_coef: machines.dual_coef.into_iter().collect(),
                intercept,
                report,
                history: Vec::new(),
            }),
            _ => Err(damaged(format!(
                "it has {outputs} outputs: load it as SvrColumns"
            ))),
        }
    }

    /// Returns the attributes and arrays that all kernel machines have, to which `multiclass` and
    /// intercepts come.
    ///
    /// # Errors
    /// If the kernel is the user's own.
    pub fn write(&self) -> Result<Draft> {
        let machines = &self.machines;
        let mut draft = Draft::default();
        let (rows, columns) = match &self.kept {
            Kept::Numbers(rows, _) => (Some(*rows), *rows),
            Kept::Vectors(vectors) => (None, vectors.columns()),
        };
        draft.set("kernel", kernel::write(&self.kernel)?);
        draft.set("n_features_in_", json!(columns));
        draft.set("shape_fit_", json!({"tuple": [rows, columns]}));
        let converged = |report: &crate::qp::Report| report.status.to_string() == "converged";
        let failed = !machines.reports.iter().all(converged);
        draft.set("fit_status_", json!(u8::from(failed)));
        draft.set("report_", report::write(&machines.reports));
        draft.whole("support_", &machines.support);
        draft.whole("n_support_", &machines.n_support);
        let (height, width) = machines.dual_coef.dim();
        let coefficients: Vec<f64> = machines.dual_coef.iter().copied().collect();
        draft.array(
            "dual_coef_",
            Array::matrix(height, width, coefficients.into()),
        );
        match &self.kept {
            Kept::Numbers(..) => draft.array(
                "support_vectors_",
                Array::matrix(0, 0, Vec::<f64>::new().into()),
            ),
            Kept::Vectors(vectors) => draft.rows("support_vectors_", vectors),
        }
        Ok(draft)
    }
}

/// The attributes and arrays of a model to be written.
#[derive(Default)]
pub(super) struct Draft {
    attributes: Object,
    arrays: BTreeMap<String, Array>,
}

impl Draft {
    pub fn set(&mut self, name: &str, value: Value) {
        self.attributes.insert(name.into(), value);
    }

    pub fn array(&mut self, name: &str, array: Array) {
        self.set(name, json!({ "array": name }));
        self.arrays.insert(name.into(), array);
    }

    pub fn vector(&mut self, name: &str, values: &[f64]) {
        self.array(name, Array::vector(values.to_vec().into()));
    }

    /// Row numbers and counts are of the type that scikit-learn uses for them.
    pub fn whole(&mut self, name: &str, values: &[usize]) {
        let values = values.iter().map(|&value| value as i32).collect();
        self.array(name, Array::vector(Values::I32(values)));
    }

    pub fn strategy(&mut self, multiclass: Multiclass) {
        self.set("multiclass", json!(strategy_name(multiclass)));
    }

    pub fn classes(&mut self, labels: &[Label]) {
        let dtype = Label::dtype(labels);
        let labels: Vec<Value> = labels.iter().map(Label::write).collect();
        self.set("classes_", json!({"labels": labels, "dtype": dtype}));
    }

    fn rows(&mut self, name: &str, samples: &Samples) {
        let values = match samples.values() {
            crate::data::Values::Single(values) => Values::F32(values.to_vec()),
            crate::data::Values::Double(values) => Values::F64(values.to_vec()),
        };
        let (rows, columns) = (samples.rows(), samples.columns());
        let Some((starts, numbers)) = samples.pattern() else {
            return self.array(name, Array::matrix(rows, columns, values));
        };
        self.set(name, json!({"csr": name, "shape": [rows, columns]}));
        let numbers = numbers.iter().map(|&column| i64::from(column)).collect();
        let starts = starts.iter().map(|&start| start as i64).collect();
        let parts = [
            ("data", values),
            ("indices", Values::I64(numbers)),
            ("indptr", Values::I64(starts)),
        ];
        for (ending, values) in parts {
            let array = Array::vector(values);
            self.arrays.insert(format!("{name}.{ending}"), array);
        }
    }

    /// Makes the document of a model.
    ///
    /// # Errors
    /// If it is not as the schema says.
    pub fn document(self, estimator: &str, parameters: Value) -> Result<Document> {
        let mut model = Object::new();
        model.insert("estimator".into(), json!(estimator));
        model.insert("parameters".into(), parameters);
        model.insert("attributes".into(), Value::Object(self.attributes));
        Document::new(model, self.arrays)
    }
}
