//! Parts of a document: matrices, labels and machines.

use super::array::Values;
use super::document::Document;
use super::label::Label;
use super::report;
use super::value::{Object, count, damaged, shown, text};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::model::{Branch, Machines, Multiclass, Tree};
use ndarray::Array2;
use serde_json::{Value, json};

/// Reads how several classes are decided.
pub(super) fn strategy(value: &Value) -> Result<Multiclass> {
    if let Value::Array(fork) = value {
        let root: Result<Vec<Branch>> = fork.iter().map(branch).collect();
        let tree = Tree::new(&root?).map_err(|error| damaged(error.to_string()))?;
        return Ok(Multiclass::Tree(tree));
    }
    match text("multiclass", Some(value))? {
        "ovo" => Ok(Multiclass::OneVsOne),
        "ovr" => Ok(Multiclass::OneVsRest),
        "dag" => Ok(Multiclass::Dag),
        "weston_watkins" => Ok(Multiclass::WestonWatkins),
        "crammer_singer" => Ok(Multiclass::CrammerSinger),
        other => Err(damaged(format!(
            "multiclass must be 'ovo', 'ovr', 'dag', 'weston_watkins', 'crammer_singer' or a tree, \
             got {other:?}"
        ))),
    }
}

/// Reads a branch of a tree: a class number or a list of branches. JSON is not nested any deeper than its
/// reader allows.
fn branch(value: &Value) -> Result<Branch> {
    match value {
        Value::Array(fork) => fork
            .iter()
            .map(branch)
            .collect::<Result<_>>()
            .map(Branch::Fork),
        _ => {
            let class = count("multiclass", Some(value))?;
            Ok(Branch::Class(usize::try_from(class).unwrap_or(usize::MAX)))
        }
    }
}

/// Reads the machines of a model.
///
/// # Errors
/// If something is missing or of another kind.
pub(super) fn machines(document: &Document, attributes: &Object) -> Result<Machines> {
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
pub(super) fn samples(document: &Document, name: &str, value: &Value) -> Result<Samples> {
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

/// Returns the number of training rows, if the file has it.
pub(super) fn training_rows(attributes: &Object) -> Option<usize> {
    let shape = attributes.get("shape_fit_")?.get("tuple")?;
    usize::try_from(shape.get(0)?.as_u64()?).ok()
}

/// Returns the labels of a value.
pub(super) fn labels(name: &str, value: &Value) -> Result<Vec<Label>> {
    text(&format!("the dtype of {name}"), value.get("dtype"))?;
    let labels = value.get("labels").and_then(Value::as_array);
    let wrong = || damaged(format!("{name} must be labels, got {}", shown(value)));
    labels.ok_or_else(wrong)?.iter().map(Label::read).collect()
}
