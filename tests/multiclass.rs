//! One-vs-rest and DAG: against independent machines for two classes, and against a walk written
//! out.

use crate::common;

use common::clouds;
use mercer::model::Multiclass;
use mercer::qp::{Smo, Status, Unwatched};
use mercer::{Kernel, NuSvc, Svc};
use ndarray::{Array2, s};

fn svc(strategy: Multiclass, tolerance: f64) -> Svc {
    let svc = Svc::new(Kernel::rbf(0.2)).c(2.0);
    svc.tolerance(tolerance).multiclass(strategy)
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance, "{a} not {b}");
    }
}

fn column(values: &Array2<f64>, machine: usize) -> Vec<f64> {
    values.column(machine).to_vec()
}

/// Small problems run side by side, large ones share their kernel rows: both must be the machines
/// that are trained alone. Shrinking reorders the shared rows, and little memory evicts them.
#[test]
fn one_vs_rest_is_one_machine_per_class() {
    for (rows, tolerance, cache_bytes) in [
        (300, 1e-6, None),
        (3600, 1e-4, None),
        (3600, 1e-4, Some(1 << 20)),
    ] {
        let (x, class) = clouds(rows, 5, 4, 1.5, 7);
        let smo = Smo::new().tolerance(tolerance).cache_bytes(cache_bytes);
        let together = svc(Multiclass::OneVsRest, tolerance).solver(smo);
        let together = together.fit(x.view(), &class).expect("a model");
        let z = x.slice(s![..200, ..]);
        let values = together.decision_function(z).expect("values");
        assert_eq!(values.dim(), (200, 4));
        for machine in 0..4 {
            // The second of two classes is the positive one.
            let rest: Vec<bool> = class.iter().map(|&class| class == machine).collect();
            let alone = svc(Multiclass::OneVsOne, tolerance).solver(smo);
            let alone = alone.fit(x.view(), &rest).expect("a model");
            let expected = column(&alone.decision_function(z).expect("values"), 0);
            assert_close(&column(&values, machine), &expected, 10.0 * tolerance);
        }
        let winners = together.predict(z).expect("classes");
        for (values, winner) in values.rows().into_iter().zip(winners) {
            assert!(values.iter().all(|&value| value <= values[winner]));
        }
        let machines = together.machines();
        assert_eq!(machines.dual_coef.dim(), (4, machines.support.len()));
        assert_eq!(
            machines.n_support.iter().sum::<usize>(),
            machines.support.len()
        );
        assert!(
            machines
                .reports
                .iter()
                .all(|r| r.status == Status::Converged)
        );
    }
}

/// The rows that several machines need are computed once, if they are long enough to be worth keeping.
#[test]
fn one_cache_serves_all_machines() {
    let (x, class) = clouds(3600, 200, 6, 3.0, 3);
    let together = svc(Multiclass::OneVsRest, 1e-3).fit(x.view(), &class);
    let together = together.expect("a model");
    let shared: u64 = together
        .reports()
        .iter()
        .map(|r| r.kernel_evaluations)
        .sum();
    let alone: u64 = (0..6)
        .map(|machine| {
            let rest: Vec<bool> = class.iter().map(|&class| class != machine).collect();
            let alone = svc(Multiclass::OneVsOne, 1e-3).fit(x.view(), &rest);
            alone.expect("a model").reports()[0].kernel_evaluations
        })
        .sum();
    // What confirms the gap of a machine is computed for it alone, and rows that shrinking cut short
    // are no use to the next: 0.75 of the values are left.
    assert!(
        shared * 100 < alone * 85,
        "{shared} of {alone} kernel values"
    );
}

/// k(x, z) is computed in the row of x and in the row of z; the values within a class, which many
/// machines need, are shared. What comes on top is the check of the gap in f64: three times a
/// sixteenth of the rows of a machine, or 64.
#[test]
fn no_value_of_one_vs_one_is_computed_more_than_twice() {
    for (rows, classes) in [(600, 12), (1500, 5), (3000, 3)] {
        let (x, class) = clouds(rows, 5, classes, 0.3, 7); // next to all are support vectors
        // On one thread: two may happen to compute the same row at the same time.
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let model = one.expect("a thread").install(|| {
            let svc = svc(Multiclass::OneVsOne, 1e-3);
            svc.fit(x.view(), &class).expect("a model")
        });
        let computed: u64 = model.reports().iter().map(|r| r.kernel_evaluations).sum();
        let vectors = model.machines().support.len();
        assert!(2 * vectors > rows, "{vectors} support vectors");
        let pair = 2 * rows / classes;
        // Small machines are in f64 all through and need no check.
        let checked = if pair > 256 {
            3 * (pair / 16).max(64)
        } else {
            0
        };
        let most = rows * rows + model.reports().len() * checked * pair;
        assert!(computed <= most as u64, "{computed} for {rows} rows");
    }
}

#[test]
fn a_dag_walks_the_pairwise_machines() {
    let (x, class) = clouds(500, 3, 6, 1.0, 11);
    let pairs = svc(Multiclass::OneVsOne, 1e-4).fit(x.view(), &class);
    let graph = svc(Multiclass::Dag, 1e-4).fit(x.view(), &class);
    let (pairs, graph) = (pairs.expect("a model"), graph.expect("a model"));
    let values = pairs.decision_function(x.view()).expect("values");
    assert_eq!(graph.decision_function(x.view()).expect("values"), values);
    let found = graph.predict(x.view()).expect("classes");
    let mut different = 0;
    for (i, values) in values.rows().into_iter().enumerate() {
        let mut left: Vec<usize> = (0..6).collect();
        while left.len() > 1 {
            let (first, last) = (left[0], left[left.len() - 1]);
            let machine = (0..6)
                .flat_map(|i| (i + 1..6).map(move |j| (i, j)))
                .position(|pair| pair == (first, last))
                .expect("a machine");
            if values[machine] > 0.0 {
                left.pop();
            } else {
                left.remove(0);
            }
        }
        assert_eq!(found[i], left[0]);
        different +=
            usize::from(found[i] != pairs.predict(x.slice(s![i..=i, ..])).expect("one")[0]);
    }
    assert!(
        different > 0,
        "the strategies never differ: the test tells nothing"
    );
}

#[test]
fn two_classes_are_the_same_under_all_strategies() {
    let (x, class) = clouds(100, 3, 2, 1.0, 1);
    let fit = |strategy| {
        let model = svc(strategy, 1e-3).fit(x.view(), &class).expect("a model");
        let values = model.decision_function(x.view()).expect("values");
        (values, model.predict(x.view()).expect("classes"))
    };
    let expected = fit(Multiclass::OneVsOne);
    assert_eq!(fit(Multiclass::OneVsRest), expected);
    assert_eq!(fit(Multiclass::Dag), expected);
}

#[test]
fn nu_machines_have_strategies_too() {
    let (x, class) = clouds(240, 3, 4, 2.0, 5);
    let nu = NuSvc::new(Kernel::rbf(0.2)).nu(0.3).tolerance(1e-6);
    let model = nu.clone().multiclass(Multiclass::OneVsRest);
    let model = model.fit(x.view(), &class).expect("a model");
    let values = model.decision_function(x.view()).expect("values");
    for machine in 0..4 {
        let rest: Vec<bool> = class.iter().map(|&class| class == machine).collect();
        let alone = nu.fit(x.view(), &rest).expect("a model");
        let expected = alone.decision_function(x.view()).expect("values");
        assert_close(&column(&values, machine), &column(&expected, 0), 1e-4);
    }
    // Of 240 rows a class has 60: nu of a half is the limit for all.
    let error = nu.nu(0.6).multiclass(Multiclass::OneVsRest);
    let error = error.fit(x.view(), &class).expect_err("infeasible");
    assert!(
        error.to_string().starts_with("nu must be at most 0.5"),
        "{error}"
    );
}

/// Labels in f32 are those in f64, on rows driven onto the boundary between two classes too.
#[test]
fn labels_are_those_of_the_decision_values() {
    let (x, class) = clouds(400, 3, 5, 1.0, 2);
    for strategy in [Multiclass::OneVsOne, Multiclass::OneVsRest, Multiclass::Dag] {
        let model = svc(strategy, 1e-3).fit(x.view(), &class).expect("a model");
        let label = |z: &Array2<f64>| model.predict(z.view()).expect("a class")[0];
        let mut close = Vec::new();
        for (i, j) in (0..60).map(|i| (i, i + 61)) {
            let at = |t: f64| {
                let mixed = &x.row(i).mapv(|v| v * (1.0 - t)) + &x.row(j).mapv(|v| v * t);
                mixed.insert_axis(ndarray::Axis(0))
            };
            let (mut low, mut high, start) = (0.0, 1.0, label(&at(0.0)));
            if label(&at(1.0)) == start {
                continue;
            }
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if label(&at(middle)) == start {
                    low = middle
                } else {
                    high = middle
                }
            }
            close.extend([at(low), at(high)]);
        }
        assert!(close.len() > 20);
        let views: Vec<_> = close.iter().map(|row| row.view()).collect();
        let rows = ndarray::concatenate(ndarray::Axis(0), &views).expect("rows");
        let values = model.decision_function(rows.view()).expect("values");
        let expected = strategy.winners(values.view(), 5);
        let found = model.predict(rows.view()).expect("classes");
        assert_eq!(found, expected);
    }
}

#[test]
fn time_is_shared_by_all_machines_of_one_vs_rest() {
    let (x, class) = clouds(4000, 5, 4, 0.5, 9);
    let limit = std::time::Duration::from_millis(1);
    let model = svc(Multiclass::OneVsRest, 1e-6).time_limit(limit);
    let weights = vec![1.0; class.len()];
    let model = model.fit_weighted(x.view(), &class, &weights, &Unwatched);
    let model = model.expect("a model");
    assert!(
        model
            .reports()
            .iter()
            .all(|r| r.status == Status::TimeLimit)
    );
    assert_eq!(model.predict(x.view()).expect("classes").len(), 4000);
}

/// Rejection by the values of the comparisons, written out for one row each.
#[test]
fn rows_are_rejected_by_what_the_winner_won() {
    // 3 classes; the pairs are (0, 1), (0, 2), (1, 2). Class 1 wins over 0 by 0.2 and over 2 by 0.6.
    let pairs = ndarray::array![[-0.2, 0.9, 0.6]];
    let rejects = |strategy: Multiclass, threshold| strategy.rejects(pairs.view(), 3, threshold)[0];
    assert!(!rejects(Multiclass::OneVsOne, 0.5) && rejects(Multiclass::OneVsOne, 0.7));
    // The walk drops 2 by 0.9, in which the winner took no part, then 0 by 0.2.
    assert!(!rejects(Multiclass::Dag, 0.2) && rejects(Multiclass::Dag, 0.3));
    // The largest value is 0.9.
    assert!(!rejects(Multiclass::OneVsRest, 0.8) && rejects(Multiclass::OneVsRest, 0.9));
}
