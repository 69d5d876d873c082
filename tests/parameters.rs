//! Parameters of machines in files: what is written is read again, and trains the same model.

use mercer::model::{Branch, Tree};
use mercer::qp::{Adatron, Order, Smo, StopRule};
use mercer::{
    ClassWeights, Intercept, Kernel, LinearSvc, LinearSvr, Loss, Multiclass, NuSvc, NuSvr,
    OneClassSvm, Svc, Svdd, Svr, SvrLoss,
};
use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// Writes a value, reads it, and checks that it is written the same again.
fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("written");
    let read: T = serde_json::from_str(&text).expect(&text);
    assert_eq!(serde_json::to_string(&read).expect("written"), text);
    read
}

#[test]
fn every_machine_is_read_as_it_was_written() {
    let kernel = 0.5 * Kernel::rbf(0.25) + Kernel::polynomial(1.0, 0.5, 3).normalized();
    again(&NuSvc::new(kernel.clone()).nu(0.2).threads(2));
    again(&Svr::new(kernel.clone()).loss(SvrLoss::Huber { delta: 0.3 }));
    again(&NuSvr::new(kernel.clone()).time_limit(Duration::from_millis(1500)));
    again(&OneClassSvm::new(kernel.clone()).solver(Adatron::new().order(Order::Cyclic)));
    again(&Svdd::new(kernel).loss(Loss::Squared).solver(Smo::new()));
    again(&LinearSvc::new().class_weights(ClassWeights::Balanced));
    again(&LinearSvr::new().stop(StopRule::new().max_iterations(7)));
}

#[test]
fn what_was_read_trains_the_same_model() {
    let x = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| ((i * (j + 3) * 7) % 23) as f64 / 9.0);
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let rest = Branch::Fork(vec![Branch::Class(0), Branch::Class(2)]);
    let tree = Tree::new(&[Branch::Class(1), rest]).expect("a tree");
    let svc = Svc::new(Kernel::rbf(0.7))
        .c(f64::INFINITY)
        .loss(Loss::Squared)
        .intercept(Intercept::Penalized)
        .multiclass(Multiclass::Tree(tree))
        .class_weights([1.0, 2.0, 0.5])
        .tolerance(1e-5)
        .threads(1);
    for svc in [svc.clone().c(3.0), svc] {
        let here = svc.fit(&x, &labels).expect("a model");
        let there = again(&svc).fit(&x, &labels).expect("a model");
        assert_eq!(here.machines().dual_coef, there.machines().dual_coef);
    }
}

#[test]
fn what_is_missing_has_its_default_and_what_is_unknown_is_refused() {
    let svc: Svc = serde_json::from_str(r#"{"c": 7.0}"#).expect("a machine");
    let same = Svc::new(Kernel::linear()).c(7.0);
    let written = |svc: &Svc| serde_json::to_string(svc).expect("written");
    assert_eq!(written(&svc), written(&same));
    let error = serde_json::from_str::<Svc>(r#"{"cost": 7.0}"#).expect_err("no such field");
    assert!(error.to_string().contains("unknown field `cost`"));
    let error = serde_json::from_str::<Svc>(r#"{"c": "much"}"#).expect_err("no cost");
    assert!(error.to_string().contains("a number or \"infinity\""));
    let forked = r#"{"multiclass": {"Tree": [{"Class": 0}, {"Class": 0}]}}"#;
    let error = serde_json::from_str::<Svc>(forked).expect_err("no tree");
    assert!(error.to_string().contains("each class once"), "{error}");
}

#[test]
fn kernels_of_code_cannot_be_written() {
    let own = Kernel::from_fn(|x: &[f64], z: &[f64]| x[0] * z[0]);
    assert!(serde_json::to_string(&Svc::new(own)).is_err());
}
