//! Huber's loss, the pinball loss and least squares against the oracle, and what they promise.

use crate::common;

use common::oracle::{Features, Found, Margin, Primal, Tally, dot, times};
use common::problems::Problem;
use mercer::formulation::{Intercept, SvcLoss, SvrLoss};
use mercer::qp::{Status, Unwatched};
use mercer::{Kernel, Svc, Svr};
use ndarray::{Array2, array};

const TIGHT: f64 = 1e-8;
const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::None, Intercept::Penalized];

/// A problem in feature space: the rows that count, fresh ones, and what errors on the former cost.
struct Posed {
    rows: Vec<Vec<f64>>,
    fresh: Vec<Vec<f64>>,
    /// What f is to be at each row.
    right: Vec<f64>,
    cost: Vec<f64>,
    free: bool,
}

impl Posed {
    fn new(problem: &Problem, right: &[f64], c: f64, intercept: Intercept) -> Self {
        let kept = problem.kept();
        let features = Features::new(&problem.kernel, &problem.rows(&kept));
        let fresh = problem.fresh.rows().into_iter().map(|z| features.of(z));
        let (mut fresh, mut rows): (Vec<Vec<f64>>, _) = (fresh.collect(), features.rows);
        if intercept == Intercept::Penalized {
            let all = rows.iter_mut().chain(&mut fresh);
            all.for_each(|phi| phi.push(1.0));
        }
        Posed {
            rows,
            fresh,
            right: kept.iter().map(|&row| right[row]).collect(),
            cost: kept.iter().map(|&row| c * problem.weight[row]).collect(),
            free: intercept == Intercept::Free,
        }
    }

    /// sign f >= sign y - slack, of these costs.
    fn side(&self, sign: f64, cost: impl Fn(f64) -> f64) -> Vec<Margin> {
        let rows = self.rows.iter().zip(&self.right).zip(&self.cost);
        rows.map(|((phi, right), &c)| Margin {
            features: times(sign, phi),
            scalars: if self.free { vec![sign] } else { Vec::new() },
            right: sign * right,
            cost: cost(c),
        })
        .collect()
    }

    /// Charges residuals on both sides.
    fn primal(
        &self,
        squared: bool,
        above: impl Fn(f64) -> f64,
        below: impl Fn(f64) -> f64,
    ) -> Primal {
        let scalars = usize::from(self.free);
        let mut margins = self.side(1.0, above);
        margins.extend(self.side(-1.0, below));
        Primal {
            price: vec![0.0; scalars],
            directions: vec![vec![1.0]; scalars],
            squared,
            margins,
        }
    }

    /// Adds a feature e_i / sqrt(C_i) to row i, which none but it has: C h^2 / 2 is charged for moving
    /// the row by h, and Huber's loss is the least of that and delta times what is left.
    fn with_own_features(mut self) -> Self {
        let n = self.rows.len();
        for (i, phi) in self.rows.iter_mut().enumerate() {
            phi.extend((0..n).map(|j| f64::from(i == j) / self.cost[i].sqrt()));
        }
        let none = vec![0.0; n];
        self.fresh.iter_mut().for_each(|phi| phi.extend(&none));
        self
    }

    fn compare(&self, tally: &mut Tally, name: &str, primal: &Primal, found: &Found) {
        tally.compare(name, primal, found, |w, t| {
            let bias = t.first().copied().unwrap_or(0.0);
            let values = self.fresh.iter().map(|phi| dot(w, phi) + bias);
            values.collect()
        });
    }
}

fn compare_svr(tally: &mut Tally, seed: u64, loss: SvrLoss, intercept: Intercept) {
    let mut problem = Problem::new(seed, 2);
    let c = 10f64.powf(3.0 * problem.random.uniform() - 1.5);
    let svr = Svr::new(problem.kernel.clone()).c(c).loss(loss);
    let svr = svr.intercept(intercept).tolerance(TIGHT);
    let (x, target, weight) = (problem.x.view(), &problem.target, &problem.weight);
    let model = svr.fit_weighted(x, target, weight, &Unwatched);
    let model = model.expect("a model");
    assert_eq!(model.report().status, Status::Converged);
    let mut posed = Posed::new(&problem, target, c, intercept);
    let primal = match loss {
        SvrLoss::Huber { delta } => {
            posed = posed.with_own_features();
            posed.primal(false, |c| delta * c, |c| delta * c)
        }
        SvrLoss::Pinball { quantile } => {
            posed.primal(false, |c| quantile * c, |c| (1.0 - quantile) * c)
        }
        _ => posed.primal(true, |c| c, |c| c),
    };
    let found = Found {
        decisions: model.predict(problem.fresh.view()).expect("values"),
        t: vec![model.machine().intercept; usize::from(posed.free)],
        value: -model.report().objective,
    };
    posed.compare(tally, &format!("{}, C {c}", problem.name), &primal, &found);
}

#[test]
fn regressions_agree_with_the_oracle() {
    let losses = [
        SvrLoss::Huber { delta: 0.3 },
        SvrLoss::Pinball { quantile: 0.2 },
        SvrLoss::SquaredError,
    ];
    for loss in losses {
        for intercept in INTERCEPTS {
            let mut tally = Tally::new(format!("SVR, {loss:?}, {intercept:?}"));
            for seed in 0..28 {
                compare_svr(&mut tally, seed, loss, intercept);
            }
            tally.finish(20);
        }
    }
}

#[test]
fn least_squares_classifiers_agree_with_the_oracle() {
    for intercept in INTERCEPTS {
        let mut tally = Tally::new(format!("SVC, least squares, {intercept:?}"));
        for seed in 0..28 {
            let mut problem = Problem::new(seed, 2);
            let c = 10f64.powf(3.0 * problem.random.uniform() - 1.5);
            let svc = Svc::new(problem.kernel.clone()).c(c).intercept(intercept);
            let svc = svc.loss(SvcLoss::SquaredError).tolerance(TIGHT);
            let (x, weight) = (problem.x.view(), &problem.weight);
            let model = svc.fit_weighted(x, &problem.class, weight, &Unwatched);
            let model = model.expect("a model");
            let sign = |&class: &usize| if class == 0 { -1.0 } else { 1.0 };
            let right: Vec<f64> = problem.class.iter().map(sign).collect();
            let posed = Posed::new(&problem, &right, c, intercept);
            let values = model.decision_function(problem.fresh.view());
            let found = Found {
                decisions: values.expect("values").into_iter().collect(),
                t: vec![model.machines().intercept[0]; usize::from(posed.free)],
                value: -model.reports()[0].objective,
            };
            let primal = posed.primal(true, |c| c, |c| c);
            posed.compare(
                &mut tally,
                &format!("{}, C {c}", problem.name),
                &primal,
                &found,
            );
        }
        tally.finish(20);
    }
}

/// With an infinite cost every row is met, and nothing is longer than it must be: the solution of
/// K beta = y.
#[test]
fn an_infinite_cost_interpolates() {
    let (x, target) = (array![[0.0], [1.0], [2.5]], [1.0, -1.0, 2.0]);
    let losses = [
        SvrLoss::Huber { delta: 0.3 },
        SvrLoss::Pinball { quantile: 0.2 },
        SvrLoss::SquaredError,
    ];
    for loss in losses {
        let svr = Svr::new(Kernel::rbf(1.0)).c(f64::INFINITY).loss(loss);
        let svr = svr.intercept(Intercept::None).tolerance(TIGHT);
        let model = svr.fit(x.view(), &target).expect("a model");
        let values = model.predict(x.view()).expect("values");
        for (value, target) in values.iter().zip(target) {
            assert!((value - target).abs() < 1e-7, "{loss:?}: {value}");
        }
    }
    let tube = Svr::new(Kernel::rbf(1.0)).c(f64::INFINITY).epsilon(0.25);
    let model = tube
        .tolerance(TIGHT)
        .fit(x.view(), &target)
        .expect("a model");
    let values = model.predict(x.view()).expect("values");
    let off = values
        .iter()
        .zip(target)
        .map(|(value, target)| (value - target).abs());
    assert!((off.fold(0.0, f64::max) - 0.25).abs() < 1e-7);
}

/// Where no function can do that, the solver says so.
#[test]
fn an_infinite_cost_may_ask_too_much() {
    let (x, target) = (array![[1.0], [1.0]], [0.0, 1.0]);
    let svr = Svr::new(Kernel::linear()).c(f64::INFINITY).epsilon(0.1);
    let model = svr.fit(x.view(), &target).expect("a model");
    assert_ne!(model.report().status, Status::Converged);
}

/// Several targets are the machines of each, on one set of support vectors.
#[test]
fn columns_are_machines_of_their_own() {
    for seed in 0..7 {
        let problem = Problem::new(seed, 2);
        let n = problem.target.len();
        let targets = Array2::from_shape_fn((n, 3), |(row, column)| {
            problem.target[row] * (column as f64 - 1.5) + problem.x[[row, 0]]
        });
        let svr = Svr::new(problem.kernel.clone()).c(2.0).tolerance(TIGHT);
        let weight = &problem.weight;
        let all = svr.fit_columns(problem.x.view(), targets.view(), weight, &Unwatched);
        let all = all.expect("a model");
        let values = all.predict(problem.fresh.view()).expect("values");
        assert_eq!(all.machines().dual_coef.nrows(), 3);
        for (column, values) in values.columns().into_iter().enumerate() {
            let target = targets.column(column).to_vec();
            let one = svr.fit_weighted(problem.x.view(), &target, weight, &Unwatched);
            let one = one.expect("a model").predict(problem.fresh.view());
            for (a, b) in values.iter().zip(one.expect("values")) {
                assert!((a - b).abs() < 1e-6, "{}: {a} and {b}", problem.name);
            }
        }
    }
}

#[test]
fn wrong_parameters_are_named() {
    let x = array![[0.0], [1.0]];
    for (loss, name) in [
        (SvrLoss::Huber { delta: 0.0 }, "delta"),
        (SvrLoss::Pinball { quantile: 1.0 }, "quantile"),
        (SvrLoss::Pinball { quantile: f64::NAN }, "quantile"),
    ] {
        let svr = Svr::new(Kernel::linear()).loss(loss);
        let error = svr.fit(x.view(), &[0.0, 1.0]).expect_err("a refusal");
        assert!(error.to_string().starts_with(name), "{error}");
    }
    let none = Array2::zeros((2, 0));
    let refused =
        Svr::new(Kernel::linear()).fit_columns(x.view(), none.view(), &[1.0; 2], &Unwatched);
    assert!(refused.expect_err("a refusal").to_string().starts_with('y'));
}
