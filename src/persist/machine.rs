//! Kernel machines as files have them.

use super::array::{Array, Values};
use super::document::Document;
use super::label::Label;
use super::parts::{labels, machines, samples, strategy, training_rows};
use super::value::{Object, damaged};
use super::{kernel, report};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::expansion::Kept;
use crate::model::{Branch, Machine, Machines, Multiclass};
use crate::qp::Status;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A kernel machine: what all of them have.
pub(super) struct Saved {
    pub kernel: Kernel,
    pub kept: Kept,
    pub machines: Machines,
    pub multiclass: Multiclass,
}

/// Returns a strategy by name, a tree as a nested list of class numbers.
fn strategy_value(multiclass: &Multiclass) -> Value {
    match multiclass {
        Multiclass::OneVsOne => json!("ovo"),
        Multiclass::OneVsRest => json!("ovr"),
        Multiclass::Dag => json!("dag"),
        Multiclass::WestonWatkins => json!("weston_watkins"),
        Multiclass::CrammerSinger => json!("crammer_singer"),
        Multiclass::Tree(tree) => tree.branches().iter().map(branch_value).collect(),
    }
}

fn branch_value(branch: &Branch) -> Value {
    match branch {
        Branch::Class(class) => json!(class),
        Branch::Fork(branches) => branches.iter().map(branch_value).collect(),
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
        let converged = |report: &crate::qp::Report| {
            matches!(report.status, Status::Converged | Status::Settled)
        };
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

    pub fn strategy(&mut self, multiclass: &Multiclass) {
        self.set("multiclass", strategy_value(multiclass));
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
    pub fn document(self, estimator: &str, parameters: Value) -> Document {
        let mut model = Object::new();
        model.insert("estimator".into(), json!(estimator));
        model.insert("parameters".into(), parameters);
        model.insert("attributes".into(), Value::Object(self.attributes));
        let arrays = self.arrays;
        Document { model, arrays }
    }
}
