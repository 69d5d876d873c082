//! `save` and `load` of the linear machines for Rust users.

use super::array::Array;
use super::document::Document;
use super::label::Label;
use super::machine::{Draft, classes};
use super::parts::{matrix, real};
use super::value::damaged;
use super::{file, report};
use crate::error::{Error, Result};
use crate::model::{LinearMachine, LinearSvcModel, LinearSvrModel};
use crate::qp::Report;
use serde_json::{Value, json};
use std::path::Path;

fn draft(coef: Array, intercept: &[f64], reports: &[Report]) -> Draft {
    let mut draft = Draft::default();
    let columns = coef.shape.last().copied().unwrap_or(0);
    draft.set("n_features_in_", json!(columns));
    draft.array("coef_", coef);
    draft.vector("intercept_", intercept);
    draft.set("report_", report::write(reports));
    let most = reports.iter().map(|report| report.iterations).max();
    draft.set("n_iter_", json!(most.unwrap_or(0)));
    draft
}

fn opened(path: &Path, estimator: &str) -> Result<Document> {
    let document = file::read(path)?;
    match document.estimator()? {
        found if found == estimator => Ok(document),
        found => Err(damaged(format!(
            "it holds a model of {found}, not of {estimator}"
        ))),
    }
}

fn attribute<'a>(document: &'a Document, name: &str) -> &'a Value {
    document.attribute(name).unwrap_or(&Value::Null)
}

impl<L: Clone + Into<Label>> LinearSvcModel<L> {
    /// Saves the model as a file, which Python's `mercer.load` reads, too.
    ///
    /// ```
    /// # use mercer::{LinearSvc, LinearSvcModel};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = LinearSvc::new().fit(x.view(), &[0, 1])?;
    /// let path = std::env::temp_dir().join("mercer-doctest-linear-svc.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(LinearSvcModel::<i32>::load(&path)?.coef(), model.coef());
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written; what was there is left then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (rows, columns) = self.coef().dim();
        let coef: Vec<f64> = self.coef().iter().copied().collect();
        let coef = Array::matrix(rows, columns, coef.into());
        let mut draft = draft(coef, &self.intercept(), self.reports());
        let labels: Vec<Label> = self.classes().iter().cloned().map(Into::into).collect();
        draft.classes(&labels);
        file::write(path.as_ref(), &draft.document("LinearSVC", json!({})))
    }
}

impl<L> LinearSvcModel<L>
where
    L: TryFrom<Label>,
    Error: From<L::Error>,
{
    /// Loads a `LinearSVC` that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::LinearSvcModel::<i64>::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = opened(path.as_ref(), "LinearSVC")?;
        let coef = matrix(&document, "coef_", attribute(&document, "coef_"))?;
        let intercept = real(&document, "intercept_", attribute(&document, "intercept_"))?;
        let mut reports = report::read(attribute(&document, "report_"))?;
        if let Some(&last) = reports.last() {
            reports.resize(intercept.len(), last);
        }
        let rows = coef.rows().into_iter().zip(intercept).zip(reports);
        let machine =
            |((weights, intercept), report): ((ndarray::ArrayView1<f64>, f64), Report)| {
                let weights = weights.to_vec();
                LinearMachine {
                    weights,
                    intercept,
                    report,
                }
            };
        let machines = rows.map(machine).collect();
        Ok(LinearSvcModel::of(
            classes(&document)?,
            machines,
            coef.ncols(),
        ))
    }
}

impl LinearSvrModel {
    /// Saves the model as a file, which Python's `mercer.load` reads, too.
    ///
    /// ```
    /// # use mercer::{LinearSvr, LinearSvrModel};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let model = LinearSvr::new().fit(x.view(), &[0.0, 1.0])?;
    /// let path = std::env::temp_dir().join("mercer-doctest-linear-svr.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(LinearSvrModel::load(&path)?.predict(x.view())?, model.predict(x.view())?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written; what was there is left then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let coef = Array::vector(self.coef().to_vec().into());
        let draft = draft(coef, &[self.intercept()], &[*self.report()]);
        file::write(path.as_ref(), &draft.document("LinearSVR", json!({})))
    }

    /// Loads a `LinearSVR` that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::LinearSvrModel::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = opened(path.as_ref(), "LinearSVR")?;
        let weights = real(&document, "coef_", attribute(&document, "coef_"))?;
        let intercept = real(&document, "intercept_", attribute(&document, "intercept_"))?;
        let reports = report::read(attribute(&document, "report_"))?;
        let missing = || damaged("it has no machine");
        Ok(LinearSvrModel::of(LinearMachine {
            weights,
            intercept: *intercept.first().ok_or_else(missing)?,
            report: *reports.first().ok_or_else(missing)?,
        }))
    }
}
