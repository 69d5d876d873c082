//! LinearSvc and LinearSvr against an interior-point method, and that threads change nothing.

use crate::common;

use common::Random;
use common::oracle::{Margin, Primal, times};
use mercer::formulation::Loss;
use mercer::qp::{Status, StopRule, Unwatched};
use mercer::{LinearSvc, LinearSvr};
use ndarray::Array2;

const C: f64 = 0.7;
const SCALING: f64 = 2.0;

fn data(rows: usize) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(11);
    let x = Array2::from_shape_fn((rows, 4), |_| random.normal());
    let y = x.rows().into_iter().map(|x| x[0] - 0.5 * x[1] + 0.2);
    let y: Vec<f64> = y
        .collect::<Vec<_>>()
        .into_iter()
        .map(|y| y + 0.5 * random.normal())
        .collect();
    let weight = (0..rows).map(|_| random.below(3) as f64).collect();
    (x, y, weight)
}

/// The rows with the constant feature, if there is one.
fn features(x: &Array2<f64>, scaling: Option<f64>) -> Vec<Vec<f64>> {
    let rows = x.rows().into_iter().map(|row| row.to_vec());
    rows.map(|mut row| {
        row.extend(scaling);
        row
    })
    .collect()
}

fn stop() -> StopRule {
    StopRule::new().tolerance(1e-8)
}

fn assert_optimal(margins: Vec<Margin>, squared: bool, coef: &[f64], intercept: f64, dual: f64) {
    let primal = Primal {
        price: Vec::new(),
        directions: Vec::new(),
        squared,
        margins: margins
            .into_iter()
            .filter(|margin| margin.cost > 0.0)
            .collect(),
    };
    let best = primal.minimise().expect("an optimum");
    let error = (best.value + dual).abs() / best.value.abs();
    assert!(error <= 1e-7, "{} not {}", -dual, best.value);
    for (found, expected) in coef.iter().zip(&best.w) {
        assert!((found - expected).abs() <= 1e-4, "{found} not {expected}");
    }
    if let Some(constant) = best.w.get(coef.len()) {
        assert!((intercept - SCALING * constant).abs() <= 1e-4);
    }
}

#[test]
fn classification_agrees_with_the_oracle() {
    for rows in [60, 300] {
        let (x, y, weight) = data(rows);
        let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
        for loss in [Loss::Linear, Loss::Squared] {
            for scaling in [None, Some(SCALING)] {
                let svc = LinearSvc::new().c(C).loss(loss).stop(stop());
                let svc = svc.intercept_scaling(scaling);
                let model = svc.fit_weighted(x.view(), &labels, &weight, &Unwatched);
                let model = model.expect("a model");
                let report = model.reports()[0];
                assert_eq!(report.status, Status::Converged);
                assert!(report.gap <= 1e-8);
                let phi = features(&x, scaling);
                let margin = |i: usize| Margin {
                    features: times(if labels[i] { 1.0 } else { -1.0 }, &phi[i]),
                    scalars: Vec::new(),
                    right: 1.0,
                    cost: C * weight[i],
                };
                let coef = model.coef().row(0).to_vec();
                let margins = (0..rows).map(margin).collect();
                let squared = loss == Loss::Squared;
                assert_optimal(
                    margins,
                    squared,
                    &coef,
                    model.intercept()[0],
                    report.objective,
                );
            }
        }
    }
}

#[test]
fn regression_agrees_with_the_oracle() {
    let (x, y, weight) = data(300);
    for loss in [Loss::Linear, Loss::Squared] {
        for epsilon in [0.0, 0.2] {
            let svr = LinearSvr::new().c(C).loss(loss).epsilon(epsilon);
            let svr = svr.stop(stop()).intercept_scaling(SCALING);
            let model = svr.fit_weighted(x.view(), &y, &weight, &Unwatched);
            let model = model.expect("a model");
            assert_eq!(model.report().status, Status::Converged);
            let phi = features(&x, Some(SCALING));
            let side = |sign: f64| {
                let (phi, y, weight) = (&phi, &y, &weight);
                (0..300).map(move |i| Margin {
                    features: times(sign, &phi[i]),
                    scalars: Vec::new(),
                    right: sign * y[i] - epsilon,
                    cost: C * weight[i],
                })
            };
            let margins = side(1.0).chain(side(-1.0)).collect();
            let (squared, dual) = (loss == Loss::Squared, model.report().objective);
            assert_optimal(margins, squared, model.coef(), model.intercept(), dual);
        }
    }
}

#[test]
fn threads_change_nothing() {
    let (x, y, _) = data(5000);
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    for loss in [Loss::Linear, Loss::Squared] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let fit = || LinearSvc::new().loss(loss).fit(x.view(), &labels);
            let model = pool.expect("a pool").install(fit).expect("a model");
            (model.coef().clone(), model.intercept())
        };
        assert_eq!(on(1), on(3));
    }
}
