//! Many fits at once find what each fit alone finds.

use mercer::formulation::{Intercept, Loss};
use mercer::model::{Margin, Multiclass};
use mercer::qp::{Monitor, Solver, Status};
use mercer::search::{Fit, Formulation, Plan};
use mercer::{Kernel, NuSvc, NuSvr, OneClassSvm, Samples, Svc, Svr};
use ndarray::Array2;
use std::sync::atomic::{AtomicUsize, Ordering};

const TOLERANCE: f64 = 1e-6;

/// Numbers in [-1, 1) that look random.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Rows of overlapping clouds, one for each class.
fn clouds(rows: usize, classes: usize) -> (Array2<f64>, Vec<usize>) {
    let (mut seed, labels) = (7, (0..rows).map(|i| i / 3 % classes).collect::<Vec<_>>());
    let x = Array2::from_shape_fn((rows, 3), |(row, column)| {
        let centre = if labels[row] % 3 == column { 0.8 } else { -0.3 };
        centre + noise(&mut seed) + noise(&mut seed)
    });
    (x, labels)
}

fn solver() -> Solver {
    let mut solver = Solver::default();
    solver.stop_mut().tolerance = TOLERANCE;
    solver
}

fn soft(loss: Loss, intercept: Intercept, multiclass: Multiclass) -> Formulation {
    let margin = Margin::Soft {
        loss: loss.into(),
        intercept,
    };
    Formulation::Classifier { margin, multiclass }
}

/// The fits of all costs and folds; row i is held out of fold i modulo 3.
fn grid(formulation: &Formulation, labels: &[usize], target: &[f64], costs: &[f64]) -> Vec<Fit> {
    let rows = labels.len();
    let fold = |cost: f64, fold: usize| Fit {
        formulation: formulation.clone(),
        kernel: Kernel::rbf(0.4),
        labels: labels.to_vec(),
        target: target.to_vec(),
        cost: (0..rows)
            .map(|row| if row % 3 == fold { 0.0 } else { cost })
            .collect(),
        asked: (0..rows).filter(|row| row % 3 == fold).collect(),
        solver: solver(),
    };
    let folds = costs
        .iter()
        .flat_map(|&cost| (0..3).map(move |i| (cost, i)));
    folds.map(|(cost, i)| fold(cost, i)).collect()
}

/// Checks the values that were asked for against those of a model fitted alone.
fn check(x: &Array2<f64>, fits: &[Fit], alone: impl Fn(&Fit, &Array2<f64>) -> Array2<f64>) {
    let samples = Samples::try_from(x.view()).expect("samples");
    for bytes in [None, Some(1 << 10)] {
        let fitted = Plan::new(&samples).bytes(bytes).run(fits);
        for (fit, fitted) in fits.iter().zip(fitted) {
            let fitted = fitted.expect("a fit");
            for report in &fitted.machines.reports {
                assert_eq!(report.status, Status::Converged);
                assert!(report.gap <= TOLERANCE);
            }
            let held_out = x.select(ndarray::Axis(0), &fit.asked);
            let expected = alone(fit, &held_out);
            assert_eq!(fitted.values.dim(), expected.dim());
            for (found, expected) in fitted.values.iter().zip(&expected) {
                let allowed = 2e-4 * expected.abs().max(1.0);
                assert!(
                    (found - expected).abs() < allowed,
                    "{found} is not {expected}"
                );
            }
        }
    }
}

#[test]
fn classifiers_agree_with_those_fitted_alone() {
    for (rows, classes) in [(420, 2), (420, 3)] {
        let (x, labels) = clouds(rows, classes);
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            for (loss, intercept) in [
                (Loss::Linear, Intercept::Free),
                (Loss::Linear, Intercept::None),
                (Loss::Linear, Intercept::Penalized),
                (Loss::Squared, Intercept::Free),
            ] {
                let formulation = soft(loss, intercept, multiclass.clone());
                let fits = grid(&formulation, &labels, &[], &[0.1, 20.0, 1.0]);
                check(&x, &fits, |fit, held_out| {
                    let machine = Svc::new(fit.kernel.clone()).c(1.0).loss(loss);
                    let machine = machine.intercept(intercept).multiclass(multiclass.clone());
                    let machine = machine.tolerance(TOLERANCE);
                    let watch = &mercer::qp::Unwatched;
                    let model = machine.fit_weighted(x.view(), &labels, &fit.cost, watch);
                    let model = model.expect("a model");
                    model.decision_function(held_out.view()).expect("values")
                });
            }
        }
    }
}

#[test]
fn other_machines_agree_with_those_fitted_alone() {
    let (x, labels) = clouds(420, 2);
    let target: Vec<f64> = x
        .rows()
        .into_iter()
        .map(|row| (2.0 * row[0]).sin() + row[1])
        .collect();
    let column =
        |values: Vec<f64>| Array2::from_shape_vec((values.len(), 1), values).expect("a column");
    let watch = &mercer::qp::Unwatched;
    for epsilon in [0.0, 0.2] {
        let (loss, intercept) = (Loss::Linear, Intercept::Free);
        let formulation = Formulation::Regression {
            epsilon,
            loss: loss.into(),
            intercept,
        };
        check(
            &x,
            &grid(&formulation, &labels, &target, &[0.5, 5.0, 50.0]),
            |fit, held_out| {
                let machine = Svr::new(fit.kernel.clone())
                    .epsilon(epsilon)
                    .tolerance(TOLERANCE);
                let model = machine
                    .fit_weighted(x.view(), &target, &fit.cost, watch)
                    .expect("a model");
                column(model.predict(held_out.view()).expect("values"))
            },
        );
    }
    for nu in [0.5, 0.7] {
        let formulation = Formulation::NuRegression { nu };
        check(
            &x,
            &grid(&formulation, &labels, &target, &[1.0, 10.0]),
            |fit, held_out| {
                let machine = NuSvr::new(fit.kernel.clone()).nu(nu).tolerance(TOLERANCE);
                let model = machine
                    .fit_weighted(x.view(), &target, &fit.cost, watch)
                    .expect("a model");
                column(model.predict(held_out.view()).expect("values"))
            },
        );
        let formulation = Formulation::OneClass {
            nu,
            loss: Loss::Linear,
        };
        check(
            &x,
            &grid(&formulation, &labels, &[], &[1.0]),
            |fit, held_out| {
                let machine = OneClassSvm::new(fit.kernel.clone())
                    .nu(nu)
                    .tolerance(TOLERANCE);
                let model = machine
                    .fit_weighted(x.view(), &fit.cost, watch)
                    .expect("a model");
                column(model.decision_function(held_out.view()).expect("values"))
            },
        );
        let margin = Margin::Nu(nu);
        let formulation = Formulation::Classifier {
            margin,
            multiclass: Multiclass::OneVsOne,
        };
        check(
            &x,
            &grid(&formulation, &labels, &[], &[1.0]),
            |fit, held_out| {
                let machine = NuSvc::new(fit.kernel.clone()).nu(nu).tolerance(TOLERANCE);
                let model = machine
                    .fit_weighted(x.view(), &labels, &fit.cost, watch)
                    .expect("a model");
                model.decision_function(held_out.view()).expect("values")
            },
        );
    }
}

#[test]
fn a_path_of_nu_and_of_weights_is_followed() {
    let (x, labels) = clouds(450, 2);
    let mut fits = Vec::new();
    for nu in [0.5, 0.8, 0.65] {
        let (margin, multiclass) = (Margin::Nu(nu), Multiclass::OneVsOne);
        fits.extend(grid(
            &Formulation::Classifier { margin, multiclass },
            &labels,
            &[],
            &[1.0],
        ));
    }
    check(&x, &fits, |fit, held_out| {
        let Formulation::Classifier {
            margin: Margin::Nu(nu),
            ..
        } = fit.formulation
        else {
            unreachable!("all have nu")
        };
        let machine = NuSvc::new(fit.kernel.clone()).nu(nu).tolerance(TOLERANCE);
        let watch = &mercer::qp::Unwatched;
        let model = machine
            .fit_weighted(x.view(), &labels, &fit.cost, watch)
            .expect("a model");
        model.decision_function(held_out.view()).expect("values")
    });
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let mut fits = grid(&formulation, &labels, &[], &[1.0, 1.5, 2.0]);
    for (number, fit) in fits.iter_mut().enumerate() {
        for (row, cost) in fit.cost.iter_mut().enumerate() {
            *cost *= 1.0 + ((row + number) % 4) as f64;
        }
    }
    check(&x, &fits, |fit, held_out| {
        let machine = Svc::new(fit.kernel.clone()).c(1.0).tolerance(TOLERANCE);
        let watch = &mercer::qp::Unwatched;
        let model = machine
            .fit_weighted(x.view(), &labels, &fit.cost, watch)
            .expect("a model");
        model.decision_function(held_out.view()).expect("values")
    });
}

#[test]
fn kernel_values_are_computed_once_for_all_costs_and_folds() {
    // Values of few features are computed again where that is faster than reading them.
    let (few, labels) = clouds(900, 2);
    let mut x = ndarray::Array2::zeros((900, 400));
    x.slice_mut(ndarray::s![.., ..few.ncols()]).assign(&few);
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let mut fits = grid(&formulation, &labels, &[], &[0.1, 1.0]);
    fits.iter_mut()
        .for_each(|fit| fit.solver.stop_mut().tolerance = 1e-3);
    let alone: u64 = (fits.iter())
        .map(|fit| {
            let machine = Svc::new(fit.kernel.clone()).c(1.0);
            let watch = &mercer::qp::Unwatched;
            let model = machine
                .fit_weighted(x.view(), &labels, &fit.cost, watch)
                .expect("a model");
            model.reports()[0].kernel_evaluations
        })
        .sum();
    let fitted = Plan::new(&samples).run(&fits);
    let together: u64 = (fitted.iter())
        .map(|fitted| fitted.as_ref().expect("a fit").machines.reports[0].kernel_evaluations)
        .sum();
    // Each value once, and those that confirm the gaps and objectives.
    let once = (samples.rows() * samples.rows()) as u64;
    assert!(
        together < alone && 2 * together < 3 * once,
        "{together}, alone {alone}"
    );
}

/// Of matrices that are large, only the rows that some fit needs are computed.
#[test]
fn large_matrices_have_the_rows_that_are_needed() {
    let (mut x, labels) = clouds(8400, 2);
    for (mut row, &label) in x.rows_mut().into_iter().zip(&labels) {
        row[label] += 2.0; // few support vectors
    }
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let fits = grid(&formulation, &labels, &[], &[0.1, 1.0]);
    let fitted = Plan::new(&samples).run(&fits);
    let mut computed = 0;
    for (fit, fitted) in fits.iter().zip(fitted) {
        let fitted = fitted.expect("a fit");
        computed += fitted.machines.reports[0].kernel_evaluations;
        let machine = Svc::new(fit.kernel.clone()).c(1.0).tolerance(TOLERANCE);
        let watch = &mercer::qp::Unwatched;
        let model = machine
            .fit_weighted(x.view(), &labels, &fit.cost, watch)
            .expect("a model");
        let held_out = x.select(ndarray::Axis(0), &fit.asked);
        let expected = model.decision_function(held_out.view()).expect("values");
        for (found, expected) in fitted.values.iter().zip(&expected) {
            assert!((found - expected).abs() < 2e-4 * expected.abs().max(1.0));
        }
    }
    assert!(computed < (8400 * 8400 / 2) as u64, "{computed}");
}

#[test]
fn what_is_impossible_fails_alone() {
    let (x, labels) = clouds(60, 2);
    let samples = Samples::try_from(x.view()).expect("samples");
    let (multiclass, out) = (Multiclass::OneVsOne, |nu| Margin::Nu(nu));
    let mut fits = grid(
        &Formulation::Classifier {
            margin: out(0.3),
            multiclass: multiclass.clone(),
        },
        &labels,
        &[],
        &[1.0],
    );
    fits[1].formulation = Formulation::Classifier {
        margin: out(2.0),
        multiclass,
    };
    fits[2].asked = vec![60];
    let fitted = Plan::new(&samples).run(&fits);
    assert!(fitted[0].is_ok());
    let error = |at: usize| fitted[at].as_ref().expect_err("an error").to_string();
    assert_eq!(error(1), "nu must be above 0 and at most 1, got 2");
    assert_eq!(error(2), "asked must be numbers of rows, got 60");
}

/// Stops after it was asked a few times.
struct Impatient(AtomicUsize);

impl Monitor for Impatient {
    fn stop(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 20
    }
}

#[test]
fn stopping_one_stops_all() {
    let (x, labels) = clouds(600, 2);
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let fits = grid(&formulation, &labels, &[], &[0.1, 1.0, 10.0, 100.0]);
    let impatient = Impatient(AtomicUsize::new(0));
    let fitted = Plan::new(&samples).monitor(&impatient).run(&fits);
    let interrupted = |status: Status| status == Status::Interrupted;
    let last = fitted.last().expect("a fit");
    let stopped = match last {
        Ok(fitted) => interrupted(fitted.machines.reports[0].status),
        Err(_) => true,
    };
    assert!(stopped);
}

#[test]
fn holding_out_finds_what_fits_without_a_part_find() {
    for (classes, multiclass) in [
        (2, Multiclass::OneVsOne),
        (3, Multiclass::OneVsOne),
        (3, Multiclass::OneVsRest),
    ] {
        let (x, labels) = clouds(420, classes);
        let samples = Samples::try_from(x.view()).expect("samples");
        for margin in [
            Margin::Nu(0.3),
            Margin::Soft {
                loss: Loss::Linear.into(),
                intercept: Intercept::Free,
            },
        ] {
            let formulation = Formulation::Classifier {
                margin,
                multiclass: multiclass.clone(),
            };
            // Folds are solved to fifty times the tolerance, and the values of nu are as wrong as that
            // divided by rho.
            let mut folds = grid(&formulation, &labels, &[], &[2.0]);
            for fit in &mut folds {
                fit.solver.stop_mut().tolerance = 2e-9;
            }
            let whole = Fit {
                cost: vec![2.0; labels.len()],
                asked: vec![],
                ..folds[0].clone()
            };
            let parts: Vec<Vec<usize>> = folds.iter().map(|fit| fit.asked.clone()).collect();
            let found = Plan::new(&samples).held_out(&whole, &parts).expect("a fit");
            let alone = Plan::new(&samples).run(&[whole]).remove(0).expect("a fit");
            let pairs = found
                .whole
                .machines
                .intercept
                .iter()
                .zip(&alone.machines.intercept);
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 2e-4, "{a} is not {b}"));
            let values = found.values.expect("values");
            for (fit, fitted) in folds.iter().zip(Plan::new(&samples).run(&folds)) {
                let expected = fitted.expect("a fit").values;
                for (&row, expected) in fit.asked.iter().zip(expected.rows()) {
                    for (machine, expected) in expected.iter().enumerate() {
                        let value = values[[row, machine]];
                        // A machine of a pair is not asked for rows of the third class.
                        let foreign = multiclass == Multiclass::OneVsOne
                            && classes == 3
                            && labels[row] == 2 - machine;
                        assert_eq!(value.is_nan(), foreign);
                        let allowed = 1e-3 * expected.abs().max(1.0);
                        assert!(
                            foreign || (value - expected).abs() < allowed,
                            "{margin:?}, {multiclass:?} of {classes}: {value} is not {expected}"
                        );
                    }
                }
            }
        }
    }
}
