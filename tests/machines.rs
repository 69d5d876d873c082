//! What holds for every machine: weights are repeated rows, and neither the order of rows nor the
//! way kernel values or data are given changes anything; early ends leave a usable model.

use crate::common;

use common::machines::{C, Given, Machine, Model, NU, all};
use common::qp::value;
use common::{Random, StopAfter, clouds, sparse};
use mercer::formulation::Intercept;
use mercer::model::Multiclass;
use mercer::qp::{Report, Smo, Status, Unwatched};
use mercer::{
    Error, Incremental, Kernel, NuSvc, NuSvr, OneClassModel, OneClassSvm, Samples, Svc, SvcModel,
    Svdd, SvddModel, Svr, SvrModel,
};
use ndarray::{Array2, ArrayView1, Axis, s};
use std::time::Duration;

/// So tight that equal problems have equal decision values to about 1e-6.
fn tight() -> Smo {
    let mut smo = Smo::default();
    smo.stop.tolerance = 1e-9;
    // A solver that hangs is to fail, not to hang the tests.
    smo.stop.time_limit = Some(Duration::from_secs(20));
    smo
}

/// Rows, fresh rows, and a number per row, whose sign follows the first column.
fn data(rows: usize, seed: u64) -> (Array2<f64>, Array2<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = Array2::from_shape_fn((rows, 3), |_| random.normal());
    let fresh = Array2::from_shape_fn((30, 3), |_| random.normal());
    let y = target(&x, &mut random);
    (x, fresh, y)
}

fn target(x: &Array2<f64>, random: &mut Random) -> Vec<f64> {
    let y = |x: ArrayView1<f64>| x[0] + 0.3 * x[1].sin() + 0.1 * x[1] * x[1] - 0.1;
    let rows = x.rows().into_iter();
    rows.map(|x| y(x) + 0.1 * random.normal()).collect()
}

fn fit(machine: Machine, kernel: &Kernel, x: &Array2<f64>, given: Given) -> Model {
    let model = machine.fit(kernel, tight(), x.view(), given, &Unwatched);
    let model = model.expect("a model");
    assert_eq!(model.report().status, Status::Converged, "{machine:?}");
    // Without a margin the classifier of nu would be rounding divided by rounding.
    assert!(machine != Machine::NuSvc || model.report().objective > 1e-3);
    model
}

fn decide(model: &Model, x: &Array2<f64>) -> Vec<f64> {
    model.decide(x.view()).expect("values")
}

/// Asserts equality to 1e-6, relative to the largest value or to 1 if that is more.
fn assert_close(machine: Machine, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1.0f64, |size, f| size.max(f.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs() / largest;
        assert!(error <= 1e-6, "{machine:?}: {found} is not {expected}");
    }
}

const KERNELS: [Kernel; 4] = [
    Kernel::Rbf { gamma: 0.5 },
    Kernel::Linear,
    Kernel::Polynomial {
        gamma: 0.5,
        coef0: 1.0,
        degree: 2,
    },
    Kernel::Laplacian { gamma: 0.5 },
];

// --- Invariances.

#[test]
fn weights_are_repeated_rows() {
    let (x, fresh, y) = data(60, 61);
    let mut random = Random::new(62);
    let times: Vec<usize> = (0..60).map(|_| random.below(4)).collect();
    let weight: Vec<f64> = times.iter().map(|&times| times as f64).collect();
    let order: Vec<usize> = (0..60).flat_map(|i| vec![i; times[i]]).collect();
    let (repeated, ones) = (x.select(Axis(0), &order), vec![1.0; order.len()]);
    let of_repeated: Vec<f64> = order.iter().map(|&i| y[i]).collect();
    for kernel in &KERNELS {
        for machine in all() {
            let given = Given {
                y: &y,
                weight: &weight,
            };
            let weighted = fit(machine, kernel, &x, given);
            let given = Given {
                y: &of_repeated,
                weight: &ones,
            };
            let expected = fit(machine, kernel, &repeated, given);
            assert_close(
                machine,
                &decide(&weighted, &fresh),
                &decide(&expected, &fresh),
            );
            let (a, b) = (weighted.report().objective, expected.report().objective);
            assert!(
                (a - b).abs() <= 1e-7 * b.abs().max(1.0),
                "{machine:?}: {a} not {b}"
            );
            for (row, _) in weighted.coefficients() {
                assert!(times[row] > 0, "{machine:?}: row {row} has weight zero");
            }
        }
    }
}

/// Three times all weights is three times C. Where there is no C, it changes nothing but the scale
/// of the one-class machine, which is that of its coefficients.
#[test]
fn scaling_all_weights_is_scaling_the_cost() {
    let (x, fresh, y) = data(60, 63);
    let kernel = Kernel::rbf(0.5);
    let mut random = Random::new(64);
    let weight: Vec<f64> = (0..60).map(|_| 0.2 + random.uniform()).collect();
    let triple: Vec<f64> = weight.iter().map(|weight| 3.0 * weight).collect();
    let given = Given {
        y: &y,
        weight: &weight,
    };
    let scaled = Given {
        y: &y,
        weight: &triple,
    };
    for machine in all() {
        let tripled = decide(&fit(machine, &kernel, &x, scaled), &fresh);
        let expected = match machine {
            Machine::NuSvc | Machine::Svdd(_) => decide(&fit(machine, &kernel, &x, given), &fresh),
            Machine::OneClass(_) => decide(&fit(machine, &kernel, &x, given), &fresh)
                .iter()
                .map(|f| 3.0 * f)
                .collect(),
            _ => decide(&with_triple_cost(machine, &kernel, &x, given), &fresh),
        };
        assert_close(machine, &tripled, &expected);
    }
}

/// The machines that have a C, with three times that of the others.
fn with_triple_cost(machine: Machine, kernel: &Kernel, x: &Array2<f64>, given: Given) -> Model {
    use mercer::{NuSvr, Svc, Svr};
    let (kernel, smo, c) = (kernel.clone(), tight(), 3.0 * C);
    let labels: Vec<bool> = given.y.iter().map(|y| *y > 0.0).collect();
    match machine {
        Machine::Svc(loss, intercept) => {
            let svc = Svc::new(kernel).c(c).loss(loss).intercept(intercept);
            let model = svc
                .solver(smo)
                .fit_weighted(x.view(), &labels, given.weight, &Unwatched);
            Model::Classifier(model.expect("a model"))
        }
        Machine::Svr(loss, intercept) => {
            let svr = Svr::new(kernel).c(c).loss(loss).intercept(intercept);
            let model = svr
                .solver(smo)
                .fit_weighted(x.view(), given.y, given.weight, &Unwatched);
            Model::Regressor(model.expect("a model"))
        }
        _ => {
            let svr = NuSvr::new(kernel).c(c).nu(NU).solver(smo);
            let model = svr.fit_weighted(x.view(), given.y, given.weight, &Unwatched);
            Model::Regressor(model.expect("a model"))
        }
    }
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let (x, fresh, y) = data(150, 65);
    let mut random = Random::new(66);
    let weight: Vec<f64> = (0..150).map(|_| 0.2 + random.uniform()).collect();
    let order: Vec<usize> = (0..150).map(|i| (i * 77) % 150).collect();
    let other = x.select(Axis(0), &order);
    let of_other = |values: &[f64]| order.iter().map(|&i| values[i]).collect::<Vec<f64>>();
    let (other_y, other_weight) = (of_other(&y), of_other(&weight));
    for kernel in &KERNELS {
        for machine in all() {
            let given = Given {
                y: &y,
                weight: &weight,
            };
            let model = fit(machine, kernel, &x, given);
            let given = Given {
                y: &other_y,
                weight: &other_weight,
            };
            let shuffled = fit(machine, kernel, &other, given);
            assert_close(machine, &decide(&shuffled, &fresh), &decide(&model, &fresh));
        }
    }
}

#[test]
fn precomputed_built_in_and_user_kernels_agree() {
    let (x, fresh, y) = data(80, 67);
    let weight = vec![1.0; 80];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    let user_rbf = Kernel::from_fn(|x, z| {
        let squared: f64 = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum();
        (-0.5 * squared).exp()
    });
    let user_linear = Kernel::from_fn(|x, z| x.iter().zip(z).map(|(x, z)| x * z).sum());
    for (kernel, user) in [
        (Kernel::rbf(0.5), user_rbf),
        (Kernel::linear(), user_linear),
    ] {
        let between = |a: &Array2<f64>| {
            Array2::from_shape_fn((a.nrows(), 80), |(i, j)| value(&kernel, a.row(i), x.row(j)))
        };
        for machine in all() {
            let expected = decide(&fit(machine, &kernel, &x, given), &fresh);
            let called = fit(machine, &user, &x, given);
            assert_close(machine, &decide(&called, &fresh), &expected);
            let precomputed = fit(machine, &Kernel::Precomputed, &between(&x), given);
            let values = precomputed.decide(between(&fresh).view());
            if matches!((machine, &kernel), (Machine::Svdd(_), Kernel::Linear)) {
                // A distance to the centre needs k(z, z), which is not among the values.
                let error = values.expect_err("unknown");
                assert!(
                    matches!(error, Error::Parameter { name: "kernel", .. }),
                    "{error}"
                );
            } else {
                assert_close(machine, &values.expect("values"), &expected);
            }
        }
    }
}

#[test]
fn sparse_and_dense_agree() {
    let (mut x, fresh, _) = data(90, 68);
    let mut random = Random::new(69);
    x.mapv_inplace(|value| if random.uniform() < 0.5 { 0.0 } else { value });
    let y = target(&x, &mut random);
    let weight = vec![1.0; 90];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for kernel in &KERNELS {
        for machine in all() {
            let dense = fit(machine, kernel, &x, given);
            let other = machine.fit(kernel, tight(), sparse(x.view()), given, &Unwatched);
            let other = other.expect("a model");
            let expected = decide(&dense, &fresh);
            // All four meetings of storages.
            assert_close(machine, &decide(&other, &fresh), &expected);
            for model in [&dense, &other] {
                let values = model.decide(sparse(fresh.view())).expect("values");
                assert_close(machine, &values, &expected);
            }
        }
    }
}

// --- Early ends.

/// Asserts that the model decides, and that its coefficients are those of a feasible point.
fn assert_usable(machine: Machine, model: &Model, given: Given, x: &Array2<f64>) {
    assert!(
        decide(model, x).iter().all(|f| f.is_finite()),
        "{machine:?}"
    );
    let coefficients = model.coefficients();
    let sum: f64 = coefficients.iter().map(|(_, beta)| beta).sum();
    let size: f64 = coefficients.iter().map(|(_, beta)| beta.abs()).sum();
    let m: f64 = given.weight.iter().sum();
    let expected = match machine {
        Machine::Svc(_, Intercept::Free) | Machine::Svr(_, Intercept::Free) => Some(0.0),
        Machine::NuSvc | Machine::NuSvr => Some(0.0),
        Machine::OneClass(_) => Some(NU * m),
        Machine::Svdd(_) => Some(1.0),
        _ => None,
    };
    if let Some(expected) = expected {
        let error = (sum - expected).abs();
        assert!(error <= 1e-10 * (1.0 + size), "{machine:?}: sum {sum}");
    }
    match machine {
        // Divided by r, both classes sum to the same.
        Machine::NuSvc => assert!(size > 0.0),
        // At most: a row may have a coefficient on both sides of the tube.
        Machine::NuSvr => assert!(size <= NU * C * m * (1.0 + 1e-10)),
        _ => {}
    }
}

#[test]
fn steps_run_out() {
    let (x, _, y) = data(300, 70);
    let weight = vec![1.0; 300];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for rows in [60, 300] {
        let part = x.slice(ndarray::s![..rows, ..]).to_owned();
        let given = Given {
            y: &given.y[..rows],
            weight: &weight[..rows],
        };
        for machine in all() {
            for steps in [0, 1, 2, 10] {
                let mut smo = tight();
                smo.stop.max_iterations = Some(steps);
                let model = machine.fit(&KERNELS[0], smo, part.view(), given, &Unwatched);
                let model = model.expect("a model");
                let report = model.report();
                assert_eq!(report.status, Status::MaxIterations, "{machine:?}");
                assert_eq!(report.iterations, steps, "{machine:?}");
                assert!(report.gap > 0.0 && report.objective.is_finite());
                assert_usable(machine, &model, given, &part);
            }
        }
    }
}

#[test]
fn time_runs_out() {
    let (x, _, y) = data(300, 71);
    let weight = vec![1.0; 300];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for machine in all() {
        let mut smo = tight();
        smo.stop.time_limit = Some(Duration::ZERO);
        let model = machine.fit(&KERNELS[0], smo, x.view(), given, &Unwatched);
        let model = model.expect("a model");
        assert_eq!(model.report().status, Status::TimeLimit, "{machine:?}");
        assert_usable(machine, &model, given, &x);
    }
}

#[test]
fn a_monitor_stops_it_anywhere() {
    let (x, _, y) = data(300, 72);
    let weight = vec![1.0; 300];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for machine in all() {
        let mut interrupted = 0;
        for limit in (0..12).chain([20, 40, 80]) {
            let monitor = StopAfter::new(limit);
            let model = machine.fit(&KERNELS[0], Smo::default(), x.view(), given, &monitor);
            let model = model.expect("a model");
            assert_usable(machine, &model, given, &x);
            match model.report().status {
                Status::Interrupted => interrupted += 1,
                status => {
                    assert_eq!(status, Status::Converged, "{machine:?}");
                    assert!(monitor.asked() <= limit, "{machine:?}: asked but not heard");
                }
            }
        }
        assert!(interrupted >= 5, "{machine:?}: {interrupted} interrupted");
    }
}

// --- What is refused.

#[test]
fn rows_of_another_length_are_refused_at_prediction() {
    let (x, _, y) = data(30, 73);
    let weight = vec![1.0; 30];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for machine in all() {
        let model = fit(machine, &KERNELS[0], &x, given);
        for columns in [0, 2, 4] {
            let wrong = Array2::<f64>::zeros((2, columns));
            let error = model.decide(wrong.view()).expect_err("refused");
            assert!(matches!(error, Error::Shape { name: "X", .. }), "{error}");
        }
        let nan = Array2::from_elem((1, 3), f64::NAN);
        let error = model.decide(nan.view()).expect_err("refused");
        assert!(matches!(error, Error::NotFinite { row: 0, .. }), "{error}");
        let none = Array2::<f64>::zeros((0, 3));
        assert!(model.decide(none.view()).expect("nothing").is_empty());
    }
}

#[test]
fn nothing_to_train_on_is_refused() {
    let (x, _, y) = data(10, 74);
    let empty = Array2::<f64>::zeros((0, 3));
    let zeros = vec![0.0; 10];
    for machine in all() {
        let given = Given {
            y: &[],
            weight: &[],
        };
        let none = machine.fit(&KERNELS[0], Smo::default(), empty.view(), given, &Unwatched);
        assert!(none.is_err(), "{machine:?} was trained on no rows");
        let given = Given {
            y: &y,
            weight: &zeros,
        };
        let weightless = machine.fit(&KERNELS[0], Smo::default(), x.view(), given, &Unwatched);
        assert!(
            weightless.is_err(),
            "{machine:?} was trained without weights"
        );
    }
}

/// On the diagonal all is well; elsewhere nothing is.
#[test]
fn errors_of_a_user_kernel_come_through() {
    let (x, _, y) = data(40, 75);
    let weight = vec![1.0; 40];
    let given = Given {
        y: &y,
        weight: &weight,
    };
    let kernel = Kernel::from_fn(|x, z| if x == z { 1.0 } else { f64::NAN });
    for machine in all() {
        let samples = Samples::try_from(x.view()).expect("finite");
        let error = machine.fit(&kernel, Smo::default(), samples, given, &Unwatched);
        let error = error.err().expect("refused");
        assert!(
            matches!(error, Error::NotFinite { name: "kernel", .. }),
            "{machine:?}: {error}"
        );
    }
}

// Going on

/// What the solver did, of all machines together.
fn totals(reports: &[Report]) -> (f64, u64) {
    assert!(reports.iter().all(|report| report.gap <= 1e-3));
    let objective = reports.iter().map(|report| report.objective).sum();
    (
        objective,
        reports.iter().map(|report| report.iterations).sum(),
    )
}

/// Checks that a machine that goes on ends where one from nothing does. Returns the steps of both.
fn assert_same_end(name: &str, on: &[Report], anew: &[Report]) -> (u64, u64) {
    let ((objective, steps), (expected, most)) = (totals(on), totals(anew));
    // Two points with gaps of 1e-3: a share of that of the coefficients, of which the objective tells.
    let close = (objective - expected).abs() <= 1e-2 * expected.abs().max(1e-3);
    assert!(close, "{name}: {objective} for {expected}");
    (steps, most)
}

/// The same, and that it gets there sooner.
fn assert_goes_on(name: &str, on: &[Report], anew: &[Report]) {
    let (steps, most) = assert_same_end(name, on, anew);
    assert!(steps < most, "{name}: {steps} steps, not fewer than {most}");
}

/// Rows learnt, unlearnt and kept while a parameter changes; the steps of three draws of the rows count
/// together, for those of one depend on roundings.
macro_rules! goes_on {
    ($machine:expr, $changed:expr, $targets:expr, $reports:expr) => {{
        let mut steps = [[0; 2]; 2];
        for seed in [5, 6, 7] {
            let (x, labels) = clouds(420, 4, 2, 1.0, seed);
            goes_on!(
                ($machine, $changed, $targets(&x, &labels), $reports),
                x,
                steps
            );
        }
        for ([on, anew], name) in steps.into_iter().zip(["add", "change"]) {
            assert!(on < anew, "{name}: {on} steps, not fewer than {anew}");
        }
    }};
    (($machine:expr, $changed:expr, $targets:expr, $reports:expr), $x:ident, $steps:ident) => {{
        let (machine, changed, targets, reports) = ($machine, $changed, $targets, $reports);
        let x = &$x;
        let mut count = |change: usize, (on, anew): (u64, u64)| {
            $steps[change][0] += on;
            $steps[change][1] += anew;
        };
        let anew = |machine: &_, rows: &[usize]| {
            let targets: Vec<_> = rows.iter().map(|&row| targets[row]).collect();
            let x = x.select(Axis(0), rows);
            let fitted = Incremental::fit(Clone::clone(machine), x.view(), &targets);
            fitted.expect("it can be trained")
        };
        let (all, most): (Vec<usize>, Vec<usize>) = ((0..420).collect(), (0..400).collect());
        let mut on = anew(&machine, &most);
        on.add(x.slice(s![400.., ..]), &targets[400..])
            .expect("more rows");
        count(
            0,
            assert_same_end(
                "add",
                &reports(on.model()),
                &reports(anew(&machine, &all).model()),
            ),
        );
        let gone = [0, 7, 401];
        let left: Vec<usize> = all
            .iter()
            .copied()
            .filter(|row| !gone.contains(row))
            .collect();
        on.remove(&gone).expect("fewer rows");
        assert_eq!(on.rows(), left.len());
        let without = anew(&machine, &left);
        let (found, expected) = (reports(on.model()), reports(without.model()));
        assert!((totals(&found).0 - totals(&expected).0).abs() <= 1e-2 * totals(&expected).0.abs());
        on.change(Clone::clone(&changed)).expect("other parameters");
        count(
            1,
            assert_same_end(
                "change",
                &reports(on.model()),
                &reports(anew(&changed, &left).model()),
            ),
        );
        assert!(on.remove(&[left.len()]).is_err());
        assert!(on.add(x.slice(s![.., ..3]), &targets).is_err());
        assert_eq!(on.rows(), left.len(), "nothing has changed");
    }};
}

#[test]
fn every_machine_goes_on() {
    let two = |_: &Array2<f64>, labels: &[usize]| labels.to_vec();
    let three = |_: &Array2<f64>, labels: &[usize]| -> Vec<usize> {
        (0..420).map(|i| (labels[i] + i / 7) % 3).collect()
    };
    let values = |x: &Array2<f64>, _: &[usize]| -> Vec<f64> {
        let rows = x.rows().into_iter();
        rows.map(|row| row[0].sin() + row[1]).collect()
    };
    let nothing = |_: &Array2<f64>, _: &[usize]| vec![(); 420];
    let kernel = || Kernel::rbf(0.3);
    let of_classes = |model: &SvcModel<usize>| model.reports().to_vec();
    let svc = Svc::new(kernel());
    goes_on!(svc.clone(), svc.clone().c(1.3), two, of_classes);
    goes_on!(svc.clone(), Svc::new(Kernel::rbf(0.31)), three, of_classes);
    let rest = svc.multiclass(Multiclass::OneVsRest);
    goes_on!(rest.clone(), rest.clone().c(1.3), three, of_classes);
    let nu_svc = NuSvc::new(kernel());
    goes_on!(nu_svc.clone(), nu_svc.clone().nu(0.52), two, of_classes);
    let of_values = |model: &SvrModel| vec![*model.report()];
    let svr = Svr::new(kernel());
    goes_on!(svr.clone(), svr.clone().c(1.3), values, of_values);
    let nu_svr = NuSvr::new(kernel());
    goes_on!(nu_svr.clone(), nu_svr.clone().nu(0.52), values, of_values);
    let plane = OneClassSvm::new(kernel());
    let of_plane = |model: &OneClassModel| vec![*model.report()];
    goes_on!(plane.clone(), plane.clone().nu(0.52), nothing, of_plane);
    let sphere = Svdd::new(kernel());
    let of_sphere = |model: &SvddModel| vec![*model.report()];
    goes_on!(sphere.clone(), sphere.clone().nu(0.52), nothing, of_sphere);
}

#[test]
fn a_machine_that_was_stopped_goes_on() {
    let (x, labels) = clouds(500, 4, 2, 0.5, 5);
    let svc = Svc::new(Kernel::rbf(0.3)).c(50.0);
    let whole = svc.fit(x.view(), &labels).expect("it can be trained");
    let limited = svc
        .clone()
        .max_iterations(whole.reports()[0].iterations / 3);
    let mut on = Incremental::fit(limited, x.view(), &labels).expect("it can be trained");
    assert_eq!(on.model().reports()[0].status, Status::MaxIterations);
    on.change(svc).expect("it can be trained");
    assert_goes_on("limit", on.model().reports(), whole.reports());
    // Stopped at once, it is where it was.
    on.go_on(&StopAfter::new(0)).expect("it can be trained");
    assert_eq!(on.model().reports()[0].status, Status::Interrupted);
    on.go_on(&Unwatched).expect("it can be trained");
    assert_eq!(on.model().reports()[0].iterations, 0);
}
