//! One-vs-rest, DAG and trees: against independent machines for two classes, and against a walk
//! written out. Machines of all classes in one problem: against the oracle.

use crate::common;

use common::clouds;
use common::oracle::{Features, Programme, dot};
use common::problems::Problem;
use mercer::formulation::{Intercept, Loss};
use mercer::model::{Branch, Multiclass, Tree};
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
/// machines need, are shared, unless there are more of them than the heap has memory at hand for. What
/// comes on top is the check of the gap in f64: three times a sixteenth of the rows of a machine, or 64.
#[test]
fn no_value_of_one_vs_one_is_computed_more_than_twice() {
    for (rows, classes) in [(600, 12), (1500, 5), (1500, 3)] {
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
        let machine = svc(strategy.clone(), 1e-3);
        let model = machine.fit(x.view(), &class).expect("a model");
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

const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::None, Intercept::Penalized];

/// The primal problem of all classes in feature space: weights of each class, intercepts of all but the
/// last if they are free, and slacks, one for each row and other class or one for each row.
struct Together {
    rows: Vec<Vec<f64>>,
    class: Vec<usize>,
    cost: Vec<f64>,
    classes: usize,
    free: bool,
    shared_slack: bool,
}

impl Together {
    /// The minimiser: the weights and the intercept of each class, these adding up to zero, and the
    /// minimum.
    fn minimise(&self) -> Option<(Vec<Vec<f64>>, Vec<f64>, f64)> {
        let (k, d) = (self.classes, self.rows[0].len());
        let scalars = if self.free { k - 1 } else { 0 };
        let slacks = self.rows.len() * if self.shared_slack { 1 } else { k };
        let size = k * d + scalars + slacks;
        let mut linear = vec![0.0; size];
        let mut at_most = Vec::new();
        for (i, phi) in self.rows.iter().enumerate() {
            for m in (0..k).filter(|&m| m != self.class[i]) {
                // f_m - f_y - slack <= -margin
                let mut row = vec![0.0; size];
                for (sign, class) in [(1.0, m), (-1.0, self.class[i])] {
                    for (entry, phi) in row[class * d..].iter_mut().zip(phi) {
                        *entry = sign * phi;
                    }
                    if self.free && class < k - 1 {
                        row[k * d + class] = sign;
                    }
                }
                let slack = if self.shared_slack { i } else { i * k + m };
                row[k * d + scalars + slack] = -1.0;
                linear[k * d + scalars + slack] = self.cost[i];
                at_most.push((row, if self.shared_slack { -1.0 } else { -2.0 }));
            }
        }
        for slack in k * d + scalars..size {
            let mut row = vec![0.0; size];
            row[slack] = -1.0;
            at_most.push((row, 0.0));
        }
        let curvature = |i: usize| {
            let mut row = vec![0.0; size];
            row[i] = f64::from(i < k * d);
            row
        };
        let programme = Programme {
            hessian: (0..size).map(curvature).collect(),
            linear,
            equal: Vec::new(),
            at_most,
        };
        let x = programme.minimise()?;
        let weights: Vec<Vec<f64>> = x[..k * d].chunks(d).map(<[f64]>::to_vec).collect();
        let mut intercepts = x[k * d..k * d + scalars].to_vec();
        intercepts.resize(k, 0.0);
        let mean = intercepts.iter().sum::<f64>() / k as f64;
        intercepts.iter_mut().for_each(|b| *b -= mean);
        let value = self.value(&weights, &intercepts);
        Some((weights, intercepts, value))
    }

    /// What is minimised.
    fn value(&self, weights: &[Vec<f64>], intercepts: &[f64]) -> f64 {
        let norms: f64 = weights.iter().map(|w| dot(w, w)).sum();
        let losses = self.rows.iter().enumerate().map(|(i, phi)| {
            let f = |m: usize| dot(&weights[m], phi) + intercepts[m];
            let own = f(self.class[i]);
            let others = (0..self.classes).filter(|&m| m != self.class[i]);
            let margin = if self.shared_slack { 1.0 } else { 2.0 };
            let errors = others.map(|m| (margin - (own - f(m))).max(0.0));
            self.cost[i]
                * match self.shared_slack {
                    true => errors.fold(0.0, f64::max),
                    false => errors.sum(),
                }
        });
        0.5 * norms + losses.sum::<f64>()
    }
}

/// Compares one problem. Returns the relative errors of decision values and objective; None where the
/// oracle gives up.
fn compare_together(strategy: &Multiclass, seed: u64, intercept: Intercept) -> Option<(f64, f64)> {
    let classes = 3;
    let mut problem = Problem::new(seed, classes);
    let c = 10f64.powf(2.5 * problem.random.uniform() - 1.5);
    let svc = Svc::new(problem.kernel.clone()).c(c).intercept(intercept);
    let svc = svc.multiclass(strategy.clone()).tolerance(1e-8);
    let (x, weight) = (problem.x.view(), &problem.weight);
    let model = svc.fit_weighted(x, &problem.class, weight, &Unwatched);
    let model = model.expect("a model");
    let about = format!("{strategy:?}, {intercept:?}, {}, C {c}", problem.name);
    for report in model.reports() {
        assert_eq!(report.status, Status::Converged, "{about}");
        assert!(report.gap <= 1e-8);
    }
    let kept = problem.kept();
    let features = Features::new(&problem.kernel, &problem.rows(&kept));
    let fresh = problem.fresh.rows().into_iter().map(|z| features.of(z));
    let (mut fresh, mut rows): (Vec<Vec<f64>>, _) = (fresh.collect(), features.rows);
    if intercept == Intercept::Penalized {
        rows.iter_mut()
            .chain(&mut fresh)
            .for_each(|phi| phi.push(1.0));
    }
    let primal = Together {
        rows,
        class: kept.iter().map(|&row| problem.class[row]).collect(),
        cost: kept.iter().map(|&row| c * weight[row]).collect(),
        classes,
        free: intercept == Intercept::Free,
        shared_slack: *strategy == Multiclass::CrammerSinger,
    };
    let (weights, intercepts, value) = primal.minimise()?;
    // The objective, at the intercepts found, is the smallest there is: they are optimal, unique or not.
    let found = &model.machines().intercept;
    let own = if primal.free { found } else { &intercepts };
    let at_found = primal.value(&weights, own);
    assert!(
        (at_found - value).abs() <= 1e-5 * value.max(1.0),
        "{about}: {at_found}, {value}"
    );
    let objective: f64 = model.reports().iter().map(|report| -report.objective).sum();
    let objective_error = (objective - value).abs() / value.max(1.0);
    let primal_objective: f64 = model.reports().iter().map(|r| r.primal_objective).sum();
    assert!(
        (primal_objective - objective).abs() <= 1e-6 * value.max(1.0),
        "{about}"
    );
    let values = model
        .decision_function(problem.fresh.view())
        .expect("values");
    let largest = values
        .iter()
        .fold(1.0f64, |largest, value| largest.max(value.abs()));
    let mut error = 0.0f64;
    for (values, phi) in values.rows().into_iter().zip(&fresh) {
        for (m, value) in values.iter().enumerate() {
            let expected = dot(&weights[m], phi) + own[m];
            error = error.max((value - expected).abs() / largest);
        }
    }
    Some((error, objective_error))
}

#[test]
fn all_classes_together_agree_with_the_oracle() {
    for strategy in [Multiclass::WestonWatkins, Multiclass::CrammerSinger] {
        for intercept in INTERCEPTS {
            let compared = (0..28).filter_map(|seed| compare_together(&strategy, seed, intercept));
            let errors: Vec<(f64, f64)> = compared.collect();
            let worst = errors.iter().fold((0.0f64, 0.0f64), |worst, error| {
                (worst.0.max(error.0), worst.1.max(error.1))
            });
            println!(
                "{strategy:?}, {intercept:?}: {} compared, worst {worst:?}",
                errors.len()
            );
            assert!(errors.len() >= 20, "the oracle gives up");
            assert!(
                worst.0 <= 1e-5,
                "{strategy:?}, {intercept:?}: decisions {}",
                worst.0
            );
            assert!(
                worst.1 <= 1e-6,
                "{strategy:?}, {intercept:?}: objective {}",
                worst.1
            );
        }
    }
}

/// With two classes both are machines for two classes, one of them of twice the cost.
#[test]
fn two_classes_together_are_a_machine_for_two_classes() {
    let (x, class) = clouds(80, 3, 2, 1.0, 5);
    for (strategy, factor) in [
        (Multiclass::WestonWatkins, 1.0),
        (Multiclass::CrammerSinger, 2.0),
    ] {
        let fit = |c: f64, strategy: Multiclass| {
            let svc = svc(strategy, 1e-6).c(c);
            svc.fit(x.view(), &class).expect("a model")
        };
        let (a, b) = (fit(0.7, strategy), fit(0.7 * factor, Multiclass::OneVsOne));
        assert_eq!(a.machines().dual_coef, b.machines().dual_coef);
    }
}

/// Many rows, so that blocks are parts, rows are in f32, and little memory evicts them.
#[test]
fn all_classes_together_of_many_rows() {
    let (x, class) = clouds(900, 5, 4, 1.2, 7);
    for strategy in [Multiclass::WestonWatkins, Multiclass::CrammerSinger] {
        for intercept in INTERCEPTS {
            let fit = |smo: Smo| {
                let svc = svc(strategy.clone(), 1e-3).intercept(intercept).solver(smo);
                svc.fit(x.view(), &class).expect("a model")
            };
            let model = fit(Smo::new().tolerance(1e-4));
            let little = fit(Smo::new().tolerance(1e-4).cache_bytes(1 << 14));
            let (a, b) = (&model.machines(), &little.machines());
            assert_close(&a.intercept, &b.intercept, 2e-3);
            for report in model.reports().iter().chain(little.reports()) {
                assert_eq!(report.status, Status::Converged);
                assert!(report.gap <= 1e-3);
            }
            let gap: f64 = model.reports().iter().map(|r| r.duality_gap).sum();
            let objective: f64 = model.reports().iter().map(|r| r.objective).sum();
            assert!(
                (0.0..1e-3 * objective.abs()).contains(&gap),
                "{gap} of {objective}"
            );
            // Rows and, where intercepts are free, columns add up to zero.
            let sums = a.dual_coef.sum_axis(ndarray::Axis(0));
            assert!(sums.iter().all(|sum| sum.abs() < 1e-9), "{sums}");
            if intercept == Intercept::Free {
                let sums = a.dual_coef.sum_axis(ndarray::Axis(1));
                assert!(sums.iter().all(|sum| sum.abs() < 1e-9), "{sums}");
            }
        }
    }
}

#[test]
fn what_cannot_be_trained_together_is_refused() {
    let (x, class) = clouds(30, 2, 3, 1.0, 5);
    let together = || svc(Multiclass::WestonWatkins, 1e-3);
    let error = together()
        .loss(Loss::Squared)
        .fit(x.view(), &class)
        .unwrap_err();
    assert!(error.to_string().starts_with("loss"), "{error}");
    let error = together()
        .solver(mercer::qp::Adatron::new())
        .fit(x.view(), &class)
        .unwrap_err();
    assert!(error.to_string().starts_with("solver"), "{error}");
    let nu = NuSvc::new(Kernel::rbf(0.2)).multiclass(Multiclass::CrammerSinger);
    let error = nu.fit(x.view(), &class).unwrap_err();
    assert!(error.to_string().starts_with("multiclass"), "{error}");
    for limited in [
        together().max_iterations(0),
        together().time_limit(std::time::Duration::ZERO),
    ] {
        let model = limited.fit(x.view(), &class).expect("a model");
        assert!(model.machines().support.is_empty() && model.reports()[0].gap >= 2.0);
        assert_ne!(model.reports()[0].status, Status::Converged);
    }
}

/// Every machine of a tree is the one that is trained alone on the classes of its fork.
#[test]
fn machines_of_a_tree_are_machines_of_their_own() {
    let (x, class) = clouds(240, 4, 4, 1.5, 7);
    let below = Branch::Fork([0, 1, 3].map(Branch::Class).to_vec());
    let tree = Tree::new(&[below, Branch::Class(2)]).expect("a tree");
    let model = svc(Multiclass::Tree(tree), 1e-6).fit(x.view(), &class);
    let model = model.expect("a model");
    let values = model.decision_function(x.view()).expect("values");
    assert_eq!(values.ncols(), 4);
    let alone = |rows: Vec<usize>, positive: usize| {
        let own: Vec<bool> = rows.iter().map(|&row| class[row] == positive).collect();
        let rows = x.select(ndarray::Axis(0), &rows);
        let model = svc(Multiclass::OneVsOne, 1e-6).fit(rows.view(), &own);
        column(
            &model
                .expect("a model")
                .decision_function(x.view())
                .expect("values"),
            0,
        )
    };
    let all: Vec<usize> = (0..x.nrows()).collect();
    assert_close(&column(&values, 0), &alone(all.clone(), 2), 1e-5);
    let rest: Vec<usize> = all.into_iter().filter(|&row| class[row] != 2).collect();
    for (machine, own) in [(1, 0), (2, 1), (3, 3)] {
        assert_close(&column(&values, machine), &alone(rest.clone(), own), 1e-5);
    }
    let expected = values
        .rows()
        .into_iter()
        .map(|values| match values[0] >= 0.0 {
            true => 2,
            false => {
                [0, 1, 3][(1..4).fold(1, |a, b| if values[b] > values[a] { b } else { a }) - 1]
            }
        });
    let winners = model.predict(x.view()).expect("classes");
    assert_eq!(winners, expected.collect::<Vec<_>>());
    let rejected = model.reject(x.view(), 0.0).expect("a verdict");
    for (values, rejected) in values.rows().into_iter().zip(rejected) {
        let claimed = values.iter().skip(1).any(|&value| value > 0.0);
        assert_eq!(rejected, values[0] < 0.0 && !claimed);
    }
}
