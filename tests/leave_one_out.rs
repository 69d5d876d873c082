//! Leaving a row out finds what training without it finds.

use crate::common;

use common::{StopAfter, clouds};
use mercer::formulation::{Intercept, Loss};
use mercer::model::{Margin, Multiclass};
use mercer::qp::{Solver, Unwatched};
use mercer::search::{Fit, Formulation, LeaveOneOut, LeftOut, Sphere};
use mercer::{Kernel, NuSvc, NuSvr, OneClassSvm, Samples, Svc, Svdd, Svr};
use ndarray::{Array2, Axis};

const TOLERANCE: f64 = 1e-6;
const ALLOWED: f64 = 1e-4;

fn solver() -> Solver {
    let mut solver = Solver::default();
    solver.stop_mut().tolerance = TOLERANCE;
    solver
}

fn fit(formulation: Formulation, kernel: Kernel, labels: &[usize], target: &[f64]) -> Fit {
    let rows = labels.len().max(target.len());
    Fit {
        formulation,
        kernel,
        labels: labels.to_vec(),
        target: target.to_vec(),
        cost: (0..rows).map(|row| [2.0, 1.0, 3.0][row % 3]).collect(),
        asked: (0..rows).collect(),
        solver: solver(),
    }
}

fn soft(loss: Loss, intercept: Intercept, multiclass: Multiclass) -> Formulation {
    let margin = Margin::Soft {
        loss: loss.into(),
        intercept,
    };
    Formulation::Classifier { margin, multiclass }
}

/// Checks values against those of machines trained without each row.
fn check(x: &Array2<f64>, found: &LeftOut, alone: impl Fn(&[f64], &Array2<f64>) -> Vec<f64>) {
    assert_eq!(found.unconverged, 0);
    let cost: Vec<f64> = (0..x.nrows()).map(|row| [2.0, 1.0, 3.0][row % 3]).collect();
    for row in (0..x.nrows()).step_by(5) {
        let mut without = cost.clone();
        without[row] = 0.0;
        let held_out = x.select(Axis(0), &[row]);
        let expected = alone(&without, &held_out);
        let values = found.values.row(row);
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!(
                (value - expected).abs() < ALLOWED,
                "{row}: {value} is not {expected}"
            );
        }
    }
}

#[test]
fn classifiers() {
    for (classes, rows) in [(2, 100), (3, 120)] {
        let (x, labels) = clouds(rows, 3, classes, 1.3, 5);
        let samples = Samples::try_from(x.view()).expect("samples");
        for (loss, intercept, multiclass) in [
            (Loss::Linear, Intercept::Free, Multiclass::OneVsOne),
            (Loss::Linear, Intercept::None, Multiclass::OneVsRest),
            (Loss::Linear, Intercept::Penalized, Multiclass::OneVsRest),
            (Loss::Squared, Intercept::Free, Multiclass::Dag),
        ] {
            let kernel = Kernel::rbf(0.3);
            let fit = fit(
                soft(loss, intercept, multiclass.clone()),
                kernel,
                &labels,
                &[],
            );
            let found = LeaveOneOut::new(&samples).run(&fit).expect("values");
            assert_eq!(
                found.from_solver, 0,
                "the face of the full solution is enough"
            );
            check(&x, &found, |weights, held_out| {
                let machine = Svc::new(Kernel::rbf(0.3))
                    .c(1.0)
                    .loss(loss)
                    .intercept(intercept);
                let machine = machine.multiclass(multiclass.clone()).tolerance(TOLERANCE);
                let model = machine.fit_weighted(x.view(), &labels, weights, &Unwatched);
                let model = model.expect("a model");
                model
                    .decision_function(held_out.view())
                    .expect("values")
                    .row(0)
                    .to_vec()
            });
        }
    }
}

#[test]
fn shares_are_those_of_the_rows_that_are_left() {
    let (x, labels) = clouds(100, 3, 2, 1.3, 5);
    let samples = Samples::try_from(x.view()).expect("samples");
    let leave = LeaveOneOut::new(&samples);
    let kernel = || Kernel::rbf(0.3);
    let formulation = Formulation::Classifier {
        margin: Margin::Nu(0.3),
        multiclass: Multiclass::OneVsOne,
    };
    let found = leave
        .run(&fit(formulation, kernel(), &labels, &[]))
        .expect("values");
    check(&x, &found, |weights, held_out| {
        let machine = NuSvc::new(kernel()).nu(0.3).tolerance(TOLERANCE);
        let model = machine.fit_weighted(x.view(), &labels, weights, &Unwatched);
        model
            .expect("a model")
            .decision_function(held_out.view())
            .expect("values")
            .row(0)
            .to_vec()
    });
    for loss in [Loss::Linear, Loss::Squared] {
        let formulation = Formulation::OneClass { nu: 0.2, loss };
        let found = leave
            .run(&fit(formulation, kernel(), &labels, &[]))
            .expect("values");
        check(&x, &found, |weights, held_out| {
            let machine = OneClassSvm::new(kernel())
                .nu(0.2)
                .loss(loss)
                .tolerance(TOLERANCE);
            let model = machine
                .fit_weighted(x.view(), weights, &Unwatched)
                .expect("a model");
            model
                .decision_function(held_out.view())
                .expect("values")
                .to_vec()
        });
        let sphere = Sphere {
            kernel: kernel(),
            nu: 0.2,
            loss,
            weights: (0..100).map(|row| [2.0, 1.0, 3.0][row % 3]).collect(),
            asked: (0..100).collect(),
            solver: solver(),
        };
        let found = leave.run_sphere(&sphere).expect("values");
        check(&x, &found, |weights, held_out| {
            let machine = Svdd::new(kernel()).nu(0.2).loss(loss).tolerance(TOLERANCE);
            let model = machine
                .fit_weighted(x.view(), weights, &Unwatched)
                .expect("a model");
            model
                .decision_function(held_out.view())
                .expect("values")
                .to_vec()
        });
    }
}

#[test]
fn regressions() {
    let (x, _) = clouds(100, 3, 2, 1.3, 5);
    let samples = Samples::try_from(x.view()).expect("samples");
    let target: Vec<f64> = (x.rows().into_iter())
        .map(|row| (2.0 * row[0]).sin() + row[1])
        .collect();
    let kernel = || Kernel::rbf(0.3);
    for (loss, intercept) in [
        (Loss::Linear, Intercept::Free),
        (Loss::Squared, Intercept::None),
    ] {
        let formulation = Formulation::Regression {
            epsilon: 0.2,
            loss: loss.into(),
            intercept,
        };
        let fit = fit(formulation, kernel(), &[], &target);
        let found = LeaveOneOut::new(&samples).run(&fit).expect("values");
        assert!(
            found.solved < 100,
            "rows inside the tube need no new solution"
        );
        check(&x, &found, |weights, held_out| {
            let machine = Svr::new(kernel())
                .c(1.0)
                .epsilon(0.2)
                .loss(loss)
                .intercept(intercept);
            let machine = machine.tolerance(TOLERANCE);
            let model = machine.fit_weighted(x.view(), &target, weights, &Unwatched);
            model
                .expect("a model")
                .predict(held_out.view())
                .expect("values")
                .to_vec()
        });
    }
    let fit = fit(
        Formulation::NuRegression { nu: 0.4 },
        kernel(),
        &[],
        &target,
    );
    let found = LeaveOneOut::new(&samples).run(&fit).expect("values");
    check(&x, &found, |weights, held_out| {
        let machine = NuSvr::new(kernel()).c(1.0).nu(0.4).tolerance(TOLERANCE);
        let model = machine.fit_weighted(x.view(), &target, weights, &Unwatched);
        model
            .expect("a model")
            .predict(held_out.view())
            .expect("values")
            .to_vec()
    });
}

#[test]
fn without_room_for_rows_the_solver_finds_the_same() {
    let (x, labels) = clouds(90, 3, 2, 1.3, 5);
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let fit = fit(formulation, Kernel::rbf(0.3), &labels, &[]);
    let found = LeaveOneOut::new(&samples).run(&fit).expect("values");
    let poor = LeaveOneOut::new(&samples)
        .bytes(1 << 10)
        .run(&fit)
        .expect("values");
    assert!(
        found.from_solver == 0 && poor.from_solver >= poor.solved && poor.solved >= found.solved
    );
    for (a, b) in found.values.iter().zip(&poor.values) {
        assert!((a - b).abs() < ALLOWED, "{a} is not {b}");
    }
}

#[test]
fn rows_that_are_the_same_and_linear_kernels_leave_no_inverse_in_doubt() {
    let (mut x, labels) = clouds(90, 2, 2, 1.3, 5);
    for row in 0..30 {
        let copy = x.row(row).to_owned();
        x.row_mut(row + 30).assign(&copy);
    }
    let samples = Samples::try_from(x.view()).expect("samples");
    for kernel in [Kernel::linear(), Kernel::rbf(1.0)] {
        let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
        let fit = fit(formulation, kernel.clone(), &labels, &[]);
        let found = LeaveOneOut::new(&samples).run(&fit).expect("values");
        check(&x, &found, |weights, held_out| {
            let machine = Svc::new(kernel.clone()).c(1.0).tolerance(TOLERANCE);
            let model = machine.fit_weighted(x.view(), &labels, weights, &Unwatched);
            model
                .expect("a model")
                .decision_function(held_out.view())
                .expect("values")
                .row(0)
                .to_vec()
        });
    }
}

#[test]
fn a_class_of_one_row_cannot_lose_it() {
    let x = ndarray::array![[0.0], [1.0], [2.0]];
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let fit = fit(formulation, Kernel::linear(), &[0, 0, 1], &[]);
    let error = LeaveOneOut::new(&samples).run(&fit).unwrap_err();
    assert!(
        error.to_string().contains("one row of class number 1"),
        "{error}"
    );
}

#[test]
fn a_request_to_stop_is_noticed() {
    let (x, labels) = clouds(200, 3, 2, 1.3, 5);
    let samples = Samples::try_from(x.view()).expect("samples");
    let formulation = soft(Loss::Linear, Intercept::Free, Multiclass::OneVsOne);
    let fit = fit(formulation, Kernel::rbf(0.3), &labels, &[]);
    let all = StopAfter::new(usize::MAX);
    LeaveOneOut::new(&samples)
        .monitor(&all)
        .run(&fit)
        .expect("values");
    let some = StopAfter::new(all.asked() / 2);
    let found = LeaveOneOut::new(&samples)
        .monitor(&some)
        .run(&fit)
        .expect("values");
    assert!(found.values.iter().any(|value| value.is_nan()));
}
