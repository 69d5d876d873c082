//! One semantics: small data sets with the numbers that Rust and Python both give. Those of Python are
//! checked by tests/python/test_semantics.py.

use mercer::model::{Multiclass, coefficients_by_machine};
use mercer::qp::Unwatched;
use mercer::{
    Error, Kernel, NuSvc, OneClassModel, OneClassSvm, Result, Samples, Svc, SvcModel, Svdd,
    SvddModel,
};
use ndarray::{Array2, ArrayView2};
use std::collections::BTreeMap;

const FIXTURE: &str = include_str!("fixtures/semantics.txt");

/// How closely numbers agree.
const CLOSE: f64 = 1e-8;

/// What is known of a case.
#[derive(Default)]
struct Case {
    name: &'static str,
    values: BTreeMap<&'static str, Vec<&'static str>>,
}

fn cases(machine: &str) -> Vec<Case> {
    let mut cases: BTreeMap<&str, Case> = BTreeMap::new();
    let lines = FIXTURE.lines().filter(|line| !line.starts_with('#'));
    for line in lines.filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a case and a key");
        let (name, key) = (word(), word());
        let case = cases.entry(name).or_default();
        case.name = name;
        assert!(case.values.insert(key, words.collect()).is_none(), "{line}");
    }
    let cases: Vec<Case> = (cases.into_values())
        .filter(|case| case.word("machine") == machine)
        .collect();
    assert!(!cases.is_empty(), "no {machine}");
    cases
}

impl Case {
    fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    fn words(&self, key: &str) -> &[&'static str] {
        let words = self.values.get(key);
        words.unwrap_or_else(|| panic!("{} has no {key}", self.name))
    }

    fn word(&self, key: &str) -> &'static str {
        self.words(key)[0]
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        let number = |word: &&str| word.parse().expect("a number");
        self.words(key).iter().map(number).collect()
    }

    fn number(&self, key: &str) -> f64 {
        self.numbers(key)[0]
    }

    fn counts(&self, key: &str) -> Vec<usize> {
        self.numbers(key).iter().map(|&n| n as usize).collect()
    }

    fn flags(&self, key: &str) -> Vec<bool> {
        self.words(key).iter().map(|&word| word == "1").collect()
    }

    /// A table with so many columns.
    fn table(&self, key: &str, columns: usize) -> Array2<f64> {
        let numbers = self.numbers(key);
        Array2::from_shape_vec((numbers.len() / columns, columns), numbers).expect("whole rows")
    }

    fn rows(&self, key: &str) -> Array2<f64> {
        self.table(key, self.counts("columns")[0])
    }

    /// The rows in the precision they are to have.
    fn samples(&self, key: &str) -> Samples {
        let rows = self.rows(key);
        let samples = if self.has("precision") && self.word("precision") == "single" {
            Samples::try_from(rows.mapv(|value| value as f32).view())
        } else {
            Samples::try_from(rows.view())
        };
        samples.expect("finite rows")
    }

    fn kernel(&self) -> Kernel {
        match self.word("kernel") {
            "linear" => Kernel::linear(),
            "precomputed" => Kernel::Precomputed,
            other => panic!("{other}"),
        }
    }

    fn tolerance(&self) -> f64 {
        if self.has("tol") {
            self.number("tol")
        } else {
            1e-10
        }
    }

    fn multiclass(&self) -> Multiclass {
        match self.has("multiclass").then(|| self.word("multiclass")) {
            None | Some("ovo") => Multiclass::OneVsOne,
            Some("ovr") => Multiclass::OneVsRest,
            Some("dag") => Multiclass::Dag,
            Some(other) => panic!("{other}"),
        }
    }

    /// Compares with what the fixture says, row by row.
    fn agrees<'a>(&self, key: &str, found: impl IntoIterator<Item = &'a f64>) {
        let (found, expected): (Vec<f64>, _) =
            (found.into_iter().copied().collect(), self.numbers(key));
        assert_eq!(found.len(), expected.len(), "{} {key}", self.name);
        for (found, expected) in found.iter().zip(&expected) {
            let close = (found - expected).abs() <= CLOSE * expected.abs().max(1.0);
            assert!(close, "{} {key}: {found} not {expected}", self.name);
        }
    }
}

fn check_classifier(case: &Case, model: &SvcModel<usize>) {
    let (new, machines) = (case.rows("new"), model.machines());
    let (multiclass, classes) = (case.multiclass(), model.classes().len());
    let decision = model.decision_function(new.view()).expect("values");
    case.agrees("decision", &decision);
    case.agrees("intercept", &machines.intercept);
    assert_eq!(model.predict(new.view()).unwrap(), case.counts("classes"));
    assert_eq!(
        multiclass.winners(decision.view(), classes),
        case.counts("classes")
    );
    let rejected = model.reject(new.view(), case.number("threshold"));
    assert_eq!(rejected.unwrap(), case.flags("rejected"), "{}", case.name);
    if case.has("dual_coef") {
        case.agrees("dual_coef", &machines.dual_coef);
    }
    if case.has("by_machine") {
        let coefficients = machines.dual_coef.view();
        let rows = coefficients_by_machine(multiclass.clone(), coefficients, &machines.n_support);
        case.agrees("by_machine", &rows.expect("rows"));
    }
    if case.has("confidences") {
        case.agrees(
            "confidences",
            &multiclass.confidences(decision.view(), classes),
        );
    }
}

#[test]
fn classifiers_have_these_values_classes_and_rejects() {
    for case in cases("svc") {
        let svc = Svc::new(case.kernel()).c(case.number("C"));
        let svc = svc
            .tolerance(case.tolerance())
            .multiclass(case.multiclass());
        let model = svc.fit(case.rows("x").view(), &case.counts("labels"));
        check_classifier(&case, &model.expect("a model"));
    }
}

#[test]
fn nu_classifiers_have_these_values_classes_and_rejects() {
    for case in cases("nu_svc") {
        let svc = NuSvc::new(case.kernel()).nu(case.number("nu"));
        let svc = svc
            .tolerance(case.tolerance())
            .multiclass(case.multiclass());
        let model = svc.fit(case.rows("x").view(), &case.counts("labels"));
        check_classifier(&case, &model.expect("a model"));
    }
}

/// What a detector makes of rows.
trait Detector {
    fn coefficients(&self) -> &[f64];
    fn offset(&self) -> f64;
    fn scores(&self, x: ArrayView2<f64>) -> Result<Vec<f64>>;
    fn decision(&self, x: ArrayView2<f64>) -> Result<Vec<f64>>;
    fn inside(&self, x: ArrayView2<f64>) -> Result<Vec<bool>>;
}

macro_rules! detector {
    ($type:ident) => {
        impl Detector for $type {
            fn coefficients(&self) -> &[f64] {
                &self.machine().dual_coef
            }
            fn offset(&self) -> f64 {
                self.offset()
            }
            fn scores(&self, x: ArrayView2<f64>) -> Result<Vec<f64>> {
                self.score_samples(x)
            }
            fn decision(&self, x: ArrayView2<f64>) -> Result<Vec<f64>> {
                self.decision_function(x)
            }
            fn inside(&self, x: ArrayView2<f64>) -> Result<Vec<bool>> {
                self.predict(x)
            }
        }
    };
}

detector!(OneClassModel);
detector!(SvddModel);

fn check_detector(case: &Case, model: &dyn Detector) {
    let new = case.rows("new");
    case.agrees("dual_coef", model.coefficients());
    case.agrees("offset", &[model.offset()]);
    let scores = model.scores(new.view()).expect("scores");
    case.agrees("scores", &scores);
    for (decision, score) in model.decision(new.view()).unwrap().iter().zip(&scores) {
        assert_eq!(*decision, score - model.offset(), "{}", case.name);
    }
    let inside = model.inside(new.view()).expect("answers");
    assert_eq!(inside, case.flags("inside"), "{}", case.name);
}

#[test]
fn planes_have_these_offsets_and_scores() {
    for case in cases("one_class") {
        let svm = OneClassSvm::new(case.kernel()).nu(case.number("nu"));
        let mut svm = svm.tolerance(case.tolerance());
        if case.has("max_iter") {
            svm = svm.max_iterations(0);
        }
        let model = svm.fit(case.samples("x")).expect("a model");
        check_detector(&case, &model);
        assert_eq!(model.offset(), -model.machine().intercept);
    }
}

#[test]
fn spheres_have_these_radii_and_scores() {
    for case in cases("svdd") {
        let svdd = Svdd::new(case.kernel()).nu(case.number("nu"));
        let mut svdd = svdd.tolerance(case.tolerance());
        if case.has("max_iter") {
            svdd = svdd.max_iterations(0);
        }
        let model = svdd.fit(case.samples("x")).expect("a model");
        assert_eq!(model.squared_radius(), -model.offset());
        if !case.has("diagonal") {
            check_detector(&case, &model);
            continue;
        }
        // A score is 2 sum_i beta_i k(x_i, z) - |a|^2 - k(z, z), of which the last is not in the rows.
        let new = case.rows("new");
        let scores = model.score_samples(new.view());
        if case.word("diagonal") == "none" {
            let refused = matches!(scores, Err(Error::Parameter { name: "kernel", .. }));
            assert!(refused, "{}", case.name);
            continue;
        }
        let machine = model.machine();
        let terms = machine.support.iter().zip(&machine.dual_coef);
        let sum: f64 = terms.map(|(&row, beta)| beta * new[[0, row]]).sum();
        let diagonal = 2.0 * sum + machine.intercept - scores.expect("scores")[0];
        assert!((diagonal - case.number("diagonal")).abs() < 1e-12);
    }
}

#[test]
fn these_shares_of_margin_errors_are_feasible() {
    for case in cases("nu") {
        let labels = case.counts("labels");
        let mut weights = vec![1.0; labels.len()];
        if case.has("weights") {
            weights = case.numbers("weights");
        }
        let mut cost = weights.clone();
        if case.has("class_weight") {
            let factors = case.numbers("class_weight");
            for (cost, &label) in cost.iter_mut().zip(&labels) {
                *cost *= factors[label];
            }
        }
        let (nu, multiclass) = (case.number("nu"), case.multiclass());
        let shares = multiclass.feasible_nu(nu, &labels, &cost, &weights);
        // Rows on a line, to be told apart from the largest share alone.
        let x = Array2::from_shape_fn((labels.len(), 1), |(i, _)| i as f64);
        let fit = |nu: f64| {
            let svc = NuSvc::new(Kernel::rbf(1.0)).nu(nu).multiclass(multiclass);
            svc.fit_weighted(x.view(), &labels, &cost, &Unwatched)
        };
        if case.has("allowed") {
            let message = shares.expect_err("refused").to_string();
            let expected = format!("nu must be at most {} ", case.word("allowed"));
            assert!(message.starts_with(&expected), "{message}");
            assert!(fit(nu).is_err());
            continue;
        }
        let shares = shares.expect("shares");
        case.agrees("shares", &shares);
        let highest = shares.iter().copied().fold(0.0, f64::max);
        assert_eq!(fit(highest).expect("a model").reports().len(), shares.len());
    }
}
