//! `save` and `load` of the kernel machines for Rust users.

use super::document::Document;
use super::label::Label;
use super::machine::{Draft, Saved, classes, read};
use super::parts::real;
use super::value::{damaged, number, optional};
use super::{file, kernel};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::expansion::Kept;
use crate::model::{
    Machine, Machines, Multiclass, OneClassModel, Sphere, SvcModel, SvddModel, SvrColumns, SvrModel,
};
use serde_json::{Value, json};
use std::path::Path;

fn saved(
    kernel: &Kernel,
    kept: Option<Kept>,
    machines: Machines,
    multiclass: Multiclass,
) -> Result<Saved> {
    let kept = kept.ok_or_else(|| damaged("a model without support vectors cannot be saved"))?;
    Ok(Saved {
        kernel: kernel.clone(),
        kept,
        machines,
        multiclass,
    })
}

/// Returns a machine as one of several, with coefficients of its own kind.
fn as_machines(machine: &Machine) -> Machines {
    Machines::from(machine.clone())
}

fn iterations(machines: &Machines) -> Vec<usize> {
    let most = i32::MAX as u64;
    let reports = machines.reports.iter();
    reports
        .map(|report| report.iterations.min(most) as usize)
        .collect()
}

fn most_iterations(machines: &Machines) -> Value {
    json!(iterations(machines).into_iter().max().unwrap_or(0))
}

impl<L: Clone + Into<Label>> SvcModel<L> {
    /// Saves the model as a file, which Python's `mercer.load` reads, too: as an `SVC`.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, SvcModel};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let model = Svc::new(Kernel::linear()).fit(x.view(), &["left", "right"].map(String::from))?;
    /// let path = std::env::temp_dir().join("mercer-doctest-svc.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(SvcModel::<String>::load(&path)?.predict(x.view())?, ["left", "right"]);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is the user's own, or the file cannot be written; what was there is left then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let machines = self.machines().clone();
        let saved = saved(self.kernel(), self.kept(), machines, self.strategy())?;
        let mut draft = saved.write()?;
        let labels: Vec<Label> = self.classes().iter().cloned().map(Into::into).collect();
        draft.classes(&labels);
        draft.strategy(&self.strategy());
        draft.vector("intercept_", &saved.machines.intercept);
        draft.whole("n_iter_", &iterations(&saved.machines));
        let parameters = json!({"kernel": parameter(&saved.kernel)?});
        file::write(path.as_ref(), &draft.document("SVC", parameters))
    }
}

impl<L> SvcModel<L>
where
    L: TryFrom<Label>,
    Error: From<L::Error>,
{
    /// Loads a classifier that [`save`](Self::save) or Python's `mercer.save` has written: an `SVC` or
    /// a `NuSVC`. Its probabilities, if it has some, stay in the file.
    ///
    /// ```no_run
    /// # use mercer::{SvcModel, persist::Label};
    /// let model = SvcModel::<String>::load("model.safetensors")?;
    /// let labels_of_any_kind = SvcModel::<Label>::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = file::read(path.as_ref())?;
        let saved = read(&document, &["SVC", "NuSVC"])?;
        let classes = classes(&document)?;
        SvcModel::of(
            &saved.kernel,
            saved.kept,
            classes,
            saved.machines,
            saved.multiclass,
        )
    }
}

/// Returns the kernel as a parameter of a Python estimator.
fn parameter(kernel: &Kernel) -> Result<Value> {
    match kernel {
        Kernel::Precomputed => Ok(json!("precomputed")),
        kernel => kernel::write(kernel),
    }
}

fn write_regression(saved: &Saved, epsilon: Option<f64>, path: &Path) -> Result<()> {
    let mut draft = saved.write()?;
    draft.vector("intercept_", &saved.machines.intercept);
    draft.set("n_iter_", most_iterations(&saved.machines));
    let kernel = parameter(&saved.kernel)?;
    let parameters = match epsilon {
        Some(epsilon) => json!({"kernel": kernel, "epsilon": epsilon}),
        None => json!({ "kernel": kernel }),
    };
    file::write(path, &draft.document("SVR", parameters))
}

/// Returns the width of the tube: found by a `NuSVR`, given to an `SVR`.
fn epsilon(document: &Document) -> Result<f64> {
    if let Some(found) = optional("epsilon_", document.attribute("epsilon_"))? {
        return Ok(found);
    }
    let parameters = document.model.get("parameters");
    match parameters.and_then(|parameters| parameters.get("epsilon")) {
        Some(given) => number("epsilon", Some(given)),
        None => Ok(0.1),
    }
}

impl SvrModel {
    /// Saves the model as a file, which Python's `mercer.load` reads, too: as an `SVR`.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, SvrModel};
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let model = Svr::new(Kernel::rbf(0.5)).fit(x.view(), &[0.0, 2.0, 4.0])?;
    /// let path = std::env::temp_dir().join("mercer-doctest-svr.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(SvrModel::load(&path)?.predict(x.view())?, model.predict(x.view())?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is the user's own, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let machines = as_machines(self.machine());
        let saved = saved(self.kernel(), self.kept(), machines, Multiclass::OneVsRest)?;
        write_regression(&saved, Some(self.epsilon()), path.as_ref())
    }

    /// Loads an `SVR` or a `NuSVR` of one output that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::SvrModel::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = file::read(path.as_ref())?;
        let saved = read(&document, &["SVR", "NuSVR"])?;
        let machine = Saved::machine(saved.machines)?;
        SvrModel::of(&saved.kernel, saved.kept, machine, epsilon(&document)?)
    }
}

impl SvrColumns {
    /// Saves the model as a file, which Python's `mercer.load` reads, too: as an `SVR`.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, SvrColumns, qp::Unwatched};
    /// let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// let y = ndarray::array![[0.0, 1.0], [2.0, 0.0], [4.0, -1.0]];
    /// let model = Svr::new(Kernel::rbf(0.5)).fit_columns(x.view(), y.view(), &[1.0; 3], &Unwatched)?;
    /// let path = std::env::temp_dir().join("mercer-doctest-columns.safetensors");
    /// model.save(&path)?;
    /// assert_eq!(SvrColumns::load(&path)?.predict(x.view())?, model.predict(x.view())?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is the user's own, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let machines = self.machines().clone();
        let saved = saved(self.kernel(), self.kept(), machines, Multiclass::OneVsRest)?;
        write_regression(&saved, None, path.as_ref())
    }

    /// Loads an `SVR` of one output or several that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::SvrColumns::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = file::read(path.as_ref())?;
        let saved = read(&document, &["SVR", "NuSVR"])?;
        SvrColumns::of(&saved.kernel, saved.kept, saved.machines)
    }
}

fn one_number(document: &Document, name: &str) -> Result<f64> {
    let value = document.attribute(name).unwrap_or(&Value::Null);
    let values = real(document, name, value)?;
    values
        .first()
        .copied()
        .ok_or_else(|| damaged(format!("{name} is empty")))
}

fn detector(name: &str, saved: &Saved, mut draft: Draft, offset: f64) -> Result<Document> {
    draft.vector("offset_", &[offset]);
    draft.set("n_iter_", most_iterations(&saved.machines));
    let kernel = parameter(&saved.kernel)?;
    Ok(draft.document(name, json!({ "kernel": kernel })))
}

impl OneClassModel {
    /// Saves the model as a file, which Python's `mercer.load` reads, too: as a `OneClassSVM`.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassModel, OneClassSvm};
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [9.0]];
    /// let model = OneClassSvm::new(Kernel::rbf(0.5)).fit(x.view())?;
    /// let path = std::env::temp_dir().join("mercer-doctest-one-class.safetensors");
    /// model.save(&path)?;
    /// let same = OneClassModel::load(&path)?;
    /// assert_eq!(same.decision_function(x.view())?, model.decision_function(x.view())?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is the user's own, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let machines = as_machines(self.machine());
        let saved = saved(self.kernel(), self.kept(), machines, Multiclass::OneVsRest)?;
        let draft = saved.write()?;
        let document = detector("OneClassSVM", &saved, draft, self.offset())?;
        file::write(path.as_ref(), &document)
    }

    /// Loads a `OneClassSVM` that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::OneClassModel::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = file::read(path.as_ref())?;
        let saved = read(&document, &["OneClassSVM"])?;
        let mut machine = Saved::machine(saved.machines)?;
        machine.intercept = -one_number(&document, "offset_")?;
        OneClassModel::of(&saved.kernel, saved.kept, machine)
    }
}

impl SvddModel {
    /// Saves the model as a file, which Python's `mercer.load` reads, too: as an `SVDD`.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd, SvddModel};
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [9.0]];
    /// let model = Svdd::new(Kernel::rbf(0.5)).fit(x.view())?;
    /// let path = std::env::temp_dir().join("mercer-doctest-svdd.safetensors");
    /// model.save(&path)?;
    /// let same = SvddModel::load(&path)?;
    /// assert_eq!(same.decision_function(x.view())?, model.decision_function(x.view())?);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is the user's own, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let machines = as_machines(self.machine());
        let saved = saved(self.kernel(), self.kept(), machines, Multiclass::OneVsRest)?;
        let mut draft = saved.write()?;
        draft.vector("intercept_", &saved.machines.intercept);
        draft.set("diagonal", json!(self.constant_diagonal()));
        let document = detector("SVDD", &saved, draft, self.offset())?;
        file::write(path.as_ref(), &document)
    }

    /// Loads an `SVDD` that Rust or Python has saved.
    ///
    /// ```no_run
    /// let model = mercer::SvddModel::load("model.safetensors")?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, of a later format, or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let document = file::read(path.as_ref())?;
        let saved = read(&document, &["SVDD"])?;
        let sphere = Sphere {
            machine: Saved::machine(saved.machines)?,
            squared_radius: -one_number(&document, "offset_")?,
            diagonal: optional("diagonal", document.attribute("diagonal"))?,
        };
        SvddModel::of(&saved.kernel, saved.kept, sphere)
    }
}
