//! Model files: those that Python wrote are served, those that Rust wrote come back, damage is named.

#[path = "common/model_bytes.rs"]
mod model_bytes;

use mercer::formulation::SvrLoss;
use mercer::persist::Label;
use mercer::qp::Unwatched;
use mercer::{
    Error, Kernel, LinearSvcModel, LinearSvrModel, OneClassModel, OneClassSvm, Samples, Svc,
    SvcModel, SvddModel, Svr, SvrColumns, SvrModel,
};
use ndarray::{Array2, array};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that Python has written, and what it said of some rows.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models")
}

fn expected() -> serde_json::Map<String, Value> {
    let text = fs::read_to_string(folder().join("expected.json")).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn matrix(value: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(value.clone()).expect("rows of numbers");
    let shape = (rows.len(), rows[0].len());
    Array2::from_shape_vec(shape, rows.concat()).expect("rows of one length")
}

fn path(name: &str) -> PathBuf {
    folder().join(format!("{name}.safetensors"))
}

/// A path of this process alone.
fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mercer-{}-{name}", std::process::id()))
}

fn column(values: Vec<f64>) -> mercer::Result<Array2<f64>> {
    let rows = values.len();
    Ok(Array2::from_shape_vec((rows, 1), values).expect("a column"))
}

/// The values that a model of a file says of rows. Classifiers are saved again on the way.
fn values(name: &str, x: Samples) -> mercer::Result<Array2<f64>> {
    let path = path(name);
    match name {
        "svr_columns" => SvrColumns::load(path)?.predict(x),
        "svr" | "nu_svr" => column(SvrModel::load(path)?.predict(x)?),
        "one_class" => column(OneClassModel::load(path)?.decision_function(x)?),
        "linear_svc" => LinearSvcModel::<i64>::load(path)?.decision_function(x),
        "linear_svr" => column(LinearSvrModel::load(path)?.predict(x)?),
        _ if name.starts_with("svdd") => column(SvddModel::load(path)?.decision_function(x)?),
        _ => {
            let again = temporary(name);
            SvcModel::<Label>::load(path)?.save(&again)?;
            let model = SvcModel::<Label>::load(&again)?;
            fs::remove_file(again).expect("it is there");
            model.decision_function(x)
        }
    }
}

/// The rows in the form the model was trained with: a sparse model is asked about sparse rows.
fn rows(name: &str, x: &Array2<f64>) -> mercer::Result<Samples> {
    if name == "svc_float" {
        return Samples::try_from(x.mapv(|value| value as f32).view());
    }
    if name != "svc_sparse" {
        return Samples::try_from(x.view());
    }
    let (mut data, mut indices, mut indptr) = (vec![], vec![], vec![0usize]);
    for row in x.rows() {
        for (at, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            data.push(value);
            indices.push(at);
        }
        indptr.push(data.len());
    }
    Samples::csr(data, &indices, &indptr, x.ncols())
}

const ONLY_PYTHON: [&str; 14] = [
    "svc_sequences",
    "kernel_pca",
    "kernel_ica",
    "fisher",
    "k_means",
    "neighbors",
    "neighbors_prototypes",
    "neighbors_regressor",
    "rvc",
    "rvr",
    "bayes_point",
    "mercer_map",
    "sampler",
    "perceptron",
];

#[test]
fn models_that_python_trained_say_the_same_in_rust() {
    let mut compared = 0;
    for (name, entry) in expected() {
        if ONLY_PYTHON.contains(&name.as_str()) {
            continue;
        }
        let x = rows(&name, &matrix(&entry["X"])).expect("rows");
        let found = values(&name, x).unwrap_or_else(|error| panic!("{name}: {error}"));
        let wanted = matrix(&entry["values"]);
        assert_eq!(found.dim(), wanted.dim(), "{name}");
        // The values were computed on another machine, maybe with other instructions: the bits are
        // compared in tests/python/test_files.py.
        for (found, wanted) in found.iter().zip(&wanted) {
            let far = (found - wanted).abs() > 1e-12 * (1.0 + wanted.abs());
            assert!(!far, "{name}: {found} is not {wanted}");
        }
        compared += 1;
    }
    assert_eq!(compared, 22);
}

#[test]
fn labels_of_every_kind_are_read() {
    let x = matrix(&expected()["svc"]["X"]);
    let text: Vec<String> = SvcModel::load(path("svc"))
        .and_then(|model| model.predict(x.view()))
        .expect("text");
    let wanted = &expected()["svc"]["labels"];
    assert_eq!(serde_json::to_value(text).expect("JSON"), *wanted);
    let numbers: Vec<i32> = SvcModel::load(path("svc_ovr"))
        .and_then(|model| model.predict(x.view()))
        .expect("numbers");
    let wanted = &expected()["svc_ovr"]["labels"];
    assert_eq!(serde_json::to_value(numbers).expect("JSON"), *wanted);
    let flags = SvcModel::<bool>::load(path("svc_two")).expect("booleans");
    assert_eq!(flags.classes(), [false, true]);
    let reals = SvcModel::<f64>::load(path("svc_float")).expect("numbers");
    assert_eq!(reals.classes(), [0.0, 1.0, 2.0]);
    let wrong = SvcModel::<i64>::load(path("svc")).expect_err("text is no number");
    assert!(wrong.to_string().contains("are text such as"), "{wrong}");
}

#[test]
fn files_of_other_models_are_refused() {
    let refused = |error: Error, text: &str| {
        assert!(matches!(error, Error::Format { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    for name in ONLY_PYTHON {
        let bytes = fs::read(path(name)).expect("a file");
        mercer::persist::check(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        refused(
            SvcModel::<Label>::load(path(name)).expect_err("only Python"),
            "",
        );
    }
    refused(
        SvrModel::load(path("svc")).expect_err("a classifier"),
        "a model of SVC, not of SVR",
    );
    refused(
        SvrModel::load(path("svr_columns")).expect_err("two outputs"),
        "load it as SvrColumns",
    );
    let sequences = SvcModel::<i64>::load(path("svc_sequences")).expect_err("of sequences");
    refused(sequences, "only the Python package");
    let missing = SvrModel::load(folder().join("nothing")).expect_err("no file");
    assert!(matches!(missing, Error::File { .. }), "{missing}");
}

#[test]
fn what_rust_saves_comes_back_bit_by_bit() {
    let x = array![[0.0, 1.0], [1.0, 0.5], [2.0, 0.25], [3.0, 0.0], [0.3, 0.3]];
    let file = temporary("round");
    let kernel = || 0.5 * Kernel::rbf(0.7) + Kernel::linear() + Kernel::anova(0.3, 2).normalized();
    let labels = [7u8, 7, 9, 200, 9];
    let svc = Svc::new(kernel()).fit(x.view(), &labels).expect("a fit");
    svc.save(&file).expect("written");
    let same = SvcModel::<u8>::load(&file).expect("read");
    assert_eq!(same.classes(), svc.classes());
    assert_eq!(same.reports(), svc.reports());
    let values = svc.decision_function(x.view()).expect("values");
    assert_eq!(same.decision_function(x.view()).expect("values"), values);
    let gram = x.dot(&x.t());
    let given = Svc::new(Kernel::precomputed()).fit(gram.view(), &labels);
    let given = given.expect("a fit");
    given.save(&file).expect("written");
    let same = SvcModel::<u8>::load(&file).expect("read");
    let values = given.decision_function(gram.view()).expect("values");
    assert_eq!(same.decision_function(gram.view()).expect("values"), values);
    let svr = Svr::new(kernel())
        .epsilon(0.01)
        .loss(SvrLoss::SquaredError)
        .fit(x.view(), &[0.0, 1.0, 0.5, 2.0, 1.5])
        .expect("a fit");
    svr.save(&file).expect("written");
    let same = SvrModel::load(&file).expect("read");
    assert_eq!(same.epsilon(), 0.01);
    let values = svr.predict(x.view()).expect("values");
    assert_eq!(same.predict(x.view()).expect("values"), values);
    fs::remove_file(file).expect("it is there");
}

#[test]
fn a_kernel_of_the_users_own_is_not_saved_and_nothing_is_left() {
    let x = array![[0.0], [1.0]];
    let kernel = Kernel::from_fn(|a: &[f64], b: &[f64]| a[0] * b[0] + 1.0);
    let model = Svc::new(kernel).fit(x.view(), &[0, 1]).expect("a fit");
    let file = temporary("own");
    let error = model.save(&file).expect_err("files hold no code");
    assert!(error.to_string().contains("files hold no code"), "{error}");
    assert!(!file.exists());
    let nowhere = temporary("no-such-folder").join("model");
    let model = OneClassSvm::new(Kernel::linear()).fit(x.view());
    let error = model.expect("a fit").save(nowhere).expect_err("no folder");
    assert!(matches!(error, Error::File { .. }), "{error}");
}

#[test]
fn a_later_format_is_refused_with_advice() {
    let mut later = fs::read(path("svr")).expect("a file");
    let version = br#"\"format_version\":1"#;
    let mut places = later.windows(version.len());
    let at = places.position(|part| part == version).expect("found");
    later[at + version.len() - 1] = b'7';
    let error = mercer::persist::check(&later).expect_err("a later format");
    assert!(error.to_string().contains("format version 7"), "{error}");
    assert!(error.to_string().contains("install Mercer"), "{error}");
}

#[test]
fn several_outputs_come_back() {
    let x = array![[0.0], [1.0], [2.0]];
    let y = array![[0.0, 1.0], [2.0, 0.0], [4.0, -1.0]];
    let svr = Svr::new(Kernel::rbf(0.5));
    let model = svr.fit_columns(x.view(), y.view(), &[1.0; 3], &Unwatched);
    let model = model.expect("a fit");
    let file = temporary("columns");
    model.save(&file).expect("written");
    let same = SvrColumns::load(&file).expect("read");
    let values = model.predict(x.view()).expect("values");
    assert_eq!(same.predict(x.view()).expect("values"), values);
    fs::remove_file(file).expect("it is there");
}

#[test]
fn files_of_any_bytes_are_read_or_refused() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<u8>(), 0..20);
    let mut accepted = 0;
    for _ in 0..2_000 {
        let tree = strategy.new_tree(&mut runner).expect("bytes");
        accepted += u32::from(model_bytes::model_file(&tree.current()));
    }
    // Some changes are of numbers, which leave another sound model.
    assert!((20..1_900).contains(&accepted), "{accepted}");
}
