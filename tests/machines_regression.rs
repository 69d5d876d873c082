//! Svr and NuSvr against the oracle, known solutions, what nu promises, what is refused.

use crate::common;

use common::Random;
use common::oracle::{Features, Found, Margin, Primal, Tally, dot, times};
use common::problems::{Problem, total};
use mercer::formulation::{Intercept, Loss};
use mercer::qp::{Status, Unwatched};
use mercer::{Error, Kernel, NuSvr, Svr};
use ndarray::{Array2, ArrayView1, array};
use std::time::Duration;

const TIGHT: f64 = 1e-8;
const LOSSES: [Loss; 2] = [Loss::Linear, Loss::Squared];
const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::None, Intercept::Penalized];

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance,
            "{found} is not {expected} to {tolerance}"
        );
    }
}

// --- The oracle.

/// The rows that count and the fresh ones in feature space; `one` adds a constant feature 1.
fn features(problem: &Problem, one: bool) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let features = Features::new(&problem.kernel, &problem.rows(&problem.kept()));
    let fresh = problem.fresh.rows().into_iter().map(|z| features.of(z));
    let (mut fresh, mut rows): (Vec<Vec<f64>>, _) = (fresh.collect(), features.rows);
    if one {
        rows.iter_mut()
            .chain(&mut fresh)
            .for_each(|phi| phi.push(1.0));
    }
    (rows, fresh)
}

/// Both sides of the tube: f >= y - epsilon - slack and -f >= -y - epsilon - slack. The bias is
/// the first scalar if it is free; epsilon is the last if it is not given.
fn tube(
    problem: &Problem,
    rows: &[Vec<f64>],
    cost: &[f64],
    free: bool,
    epsilon: Option<f64>,
) -> Vec<Margin> {
    let kept = problem.kept();
    let side = |sign: f64| {
        let kept = kept.clone();
        kept.into_iter().zip(rows).map(move |(row, phi)| {
            let mut scalars = if free { vec![sign] } else { Vec::new() };
            if epsilon.is_none() {
                scalars.push(1.0);
            }
            Margin {
                features: times(sign, phi),
                scalars,
                right: sign * problem.target[row] - epsilon.unwrap_or(0.0),
                cost: cost[row],
            }
        })
    };
    side(1.0).chain(side(-1.0)).collect()
}

/// minimise 1/2 |w|^2 + sum C_i max(0, |y_i - f_i| - epsilon), or its square.
fn compare_svr(tally: &mut Tally, seed: u64, loss: Loss, intercept: Intercept) {
    let mut problem = Problem::new(seed, 2);
    let c = 10f64.powf(3.0 * problem.random.uniform() - 1.5);
    // Sometimes no tube at all, and sometimes a wide one.
    let epsilon = [0.0, 0.1, 0.3, 1.0][problem.random.below(4)];
    let model = Svr::new(problem.kernel.clone())
        .c(c)
        .epsilon(epsilon)
        .loss(loss)
        .intercept(intercept)
        .tolerance(TIGHT)
        .fit_weighted(
            problem.x.view(),
            &problem.target,
            &problem.weight,
            &Unwatched,
        )
        .expect("a model");
    assert_eq!(model.report().status, Status::Converged);
    assert_eq!(model.epsilon(), epsilon);
    let bias = model.machine().intercept;
    if intercept == Intercept::None {
        assert_eq!(bias, 0.0);
    }
    let free = intercept == Intercept::Free;
    let (rows, fresh) = features(&problem, intercept == Intercept::Penalized);
    let cost = times(c, &problem.weight);
    let scalars = usize::from(free);
    let primal = Primal {
        price: vec![0.0; scalars],
        directions: vec![vec![1.0]; scalars],
        squared: loss == Loss::Squared,
        margins: tube(&problem, &rows, &cost, free, Some(epsilon)),
    };
    let found = Found {
        decisions: model.predict(problem.fresh.view()).expect("values"),
        t: vec![bias; scalars],
        value: -model.report().objective,
    };
    let name = format!("{}, C {c}, epsilon {epsilon}", problem.name);
    tally.compare(&name, &primal, &found, |w, t| {
        let bias = t.first().copied().unwrap_or(0.0);
        fresh.iter().map(|phi| dot(w, phi) + bias).collect()
    });
}

#[test]
fn svr_agrees_with_the_oracle() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            let mut tally = Tally::new(format!("SVR, {loss:?}, {intercept:?}"));
            for seed in 0..28 {
                compare_svr(&mut tally, seed, loss, intercept);
            }
            tally.finish(20);
        }
    }
}

/// minimise 1/2 |w|^2 + C (nu epsilon m + sum w_i max(0, |y_i - f_i| - epsilon)), epsilon >= 0.
#[test]
fn nu_svr_agrees_with_the_oracle() {
    let mut tally = Tally::new("NuSVR");
    for seed in 0..42 {
        let mut problem = Problem::new(seed, 2);
        let c = 10f64.powf(3.0 * problem.random.uniform() - 1.5);
        let nu = 0.05 + 0.9 * problem.random.uniform();
        let model = NuSvr::new(problem.kernel.clone())
            .c(c)
            .nu(nu)
            .tolerance(TIGHT)
            .fit_weighted(
                problem.x.view(),
                &problem.target,
                &problem.weight,
                &Unwatched,
            )
            .expect("a model");
        assert_eq!(model.report().status, Status::Converged);
        let (rows, fresh) = features(&problem, false);
        let cost = times(c, &problem.weight);
        let mut margins = tube(&problem, &rows, &cost, true, None);
        margins.push(Margin {
            features: vec![0.0; rows[0].len()],
            scalars: vec![0.0, 1.0],
            right: 0.0,
            cost: f64::INFINITY,
        });
        let primal = Primal {
            price: vec![0.0, nu * total(&cost, &problem.kept())],
            // The upper side of the tube, b + epsilon, and the lower.
            directions: vec![vec![0.5, 0.5], vec![0.5, -0.5]],
            squared: false,
            margins,
        };
        let found = Found {
            decisions: model.predict(problem.fresh.view()).expect("values"),
            t: vec![model.machine().intercept, model.epsilon()],
            value: -model.report().objective,
        };
        let name = format!("{}, C {c}, nu {nu}", problem.name);
        tally.compare(&name, &primal, &found, |w, t| {
            fresh.iter().map(|phi| dot(w, phi) + t[0]).collect()
        });
    }
    tally.finish(20);
}

/// A tube of the epsilon that nu led to leads to the same function.
#[test]
fn nu_svr_is_the_svr_of_its_epsilon() {
    for seed in 0..14 {
        let problem = Problem::new(seed, 2);
        let (kernel, x) = (&problem.kernel, problem.x.view());
        let nu = NuSvr::new(kernel.clone()).c(2.0).nu(0.4).tolerance(TIGHT);
        let nu = nu.fit(x, &problem.target).expect("a model");
        let svr = Svr::new(kernel.clone()).c(2.0).epsilon(nu.epsilon());
        let svr = svr
            .tolerance(TIGHT)
            .fit(x, &problem.target)
            .expect("a model");
        assert!(nu.epsilon() > 0.0);
        let [a, b] = [nu, svr].map(|model| model.predict(problem.fresh.view()).expect("values"));
        assert_close(&a, &b, 1e-5);
    }
}

// --- Known solutions.

/// y = 0 and 2 at x = 0 and 1 in a tube of 1/2: the flattest line has slope 1.
#[test]
fn regression_on_two_points() {
    let (x, y) = (array![[0.0], [1.0]], [0.0, 2.0]);
    let fit = |c: f64, loss: Loss| {
        let svr = Svr::new(Kernel::linear()).epsilon(0.5).c(c).loss(loss);
        let model = svr.tolerance(TIGHT).fit(x.view(), &y).expect("a model");
        let machine = model.machine();
        assert_eq!(machine.support, [0, 1]);
        assert_close(
            &model.predict(array![[0.0], [3.0]].view()).expect("values"),
            &[
                machine.intercept,
                machine.intercept + 3.0 * machine.dual_coef[1],
            ],
            1e-12,
        );
        (
            machine.dual_coef.clone(),
            machine.intercept,
            machine.report.objective,
        )
    };
    let (beta, bias, objective) = fit(10.0, Loss::Linear);
    assert_close(&beta, &[-1.0, 1.0], 1e-7);
    assert_close(&[bias, objective], &[0.5, -0.5], 1e-7);
    // Both at the bound: the bias may be anything from 0.5 to 1.25. The middle.
    let (beta, bias, _) = fit(0.25, Loss::Linear);
    assert_eq!(beta, [-0.25, 0.25]);
    assert_close(&[bias], &[0.875], 1e-7);
    // Squared: slope = beta = C / (1 + C), by symmetry.
    let (beta, bias, _) = fit(3.0, Loss::Squared);
    assert_close(&beta, &[-0.75, 0.75], 1e-7);
    assert_close(&[bias], &[1.0 - 0.75 / 2.0], 1e-7);
}

/// Where no vector is free the bias is the middle of what optimality allows: with next to no cost
/// and an even number of rows that is the middle of the two in the middle.
#[test]
fn without_free_vectors_the_bias_is_in_the_middle() {
    for seed in 0..14 {
        let problem = Problem::new(seed, 2);
        let rows: Vec<usize> = (0..problem.x.nrows() / 2 * 2).collect();
        let x = problem.rows(&rows);
        let mut target: Vec<f64> = rows.iter().map(|&i| problem.target[i]).collect();
        let svr = Svr::new(problem.kernel.clone()).c(1e-9).epsilon(0.0);
        let model = svr.fit(x.view(), &target).expect("a model");
        target.sort_by(f64::total_cmp);
        let middle = (target[rows.len() / 2 - 1] + target[rows.len() / 2]) / 2.0;
        assert_close(&[model.machine().intercept], &[middle], 1e-5);
    }
}

/// All targets within the tube: no support vector, and the bias is the middle of the targets.
#[test]
fn a_wide_tube_needs_no_support_vectors() {
    let (x, y) = (array![[0.0], [1.0], [5.0]], [1.0, 4.0, 2.0]);
    for loss in LOSSES {
        let svr = Svr::new(Kernel::rbf(1.0)).epsilon(2.0).loss(loss);
        let model = svr.fit(x.view(), &y).expect("a model");
        assert!(model.machine().support.is_empty());
        assert_close(&model.predict(x.view()).expect("values"), &[2.5; 3], 1e-12);
    }
}

/// One sample, two equal samples: the tube closes on it.
#[test]
fn nu_regression_on_one_value() {
    for n in [1, 2] {
        let x = Array2::from_elem((n, 1), 2.0);
        for nu in [0.3, 1.0] {
            let nu = NuSvr::new(Kernel::linear()).nu(nu).tolerance(TIGHT);
            let model = nu.fit(x.view(), &vec![7.0; n]).expect("a model");
            assert_eq!(model.report().status, Status::Converged);
            assert_close(&[model.epsilon()], &[0.0], 1e-7);
            assert_close(
                &model.predict(x.view()).expect("a value"),
                &vec![7.0; n],
                1e-6,
            );
        }
    }
}

#[test]
fn a_penalized_bias_is_the_kernel_plus_one() {
    let one = Kernel::polynomial(1.0, 1.0, 0);
    for loss in LOSSES {
        for seed in 0..7 {
            let problem = Problem::new(seed, 2);
            let fit = |kernel: Kernel, intercept: Intercept| {
                let svr = Svr::new(kernel).loss(loss).intercept(intercept);
                svr.tolerance(TIGHT)
                    .fit(problem.x.view(), &problem.target)
                    .expect("a model")
            };
            let penalized = fit(problem.kernel.clone(), Intercept::Penalized);
            let with_one = fit(problem.kernel.clone() + one.clone(), Intercept::None);
            let values = |model: &mercer::SvrModel| model.predict(problem.fresh.view());
            assert_close(
                &values(&penalized).expect("values"),
                &values(&with_one).expect("values"),
                1e-5,
            );
            let machine = penalized.machine();
            let sum: f64 = machine.dual_coef.iter().sum();
            assert!((machine.intercept - sum).abs() <= 1e-12 * (1.0 + sum.abs()));
        }
    }
}

/// The kink of |beta| is added to a gradient in f32 here, and what rounding leaves of it must not
/// make a variable its own partner: the solver would step on the spot for ever.
#[test]
fn a_few_hundred_rows_do_not_hang() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            let mut random = Random::new(91);
            let x = Array2::from_shape_fn((500, 2), |_| random.normal());
            let noisy = |x: ArrayView1<f64>| (1.5 * x[0]).sin() + 0.3 * random.normal();
            let target: Vec<f64> = x.rows().into_iter().map(noisy).collect();
            let svr = Svr::new(Kernel::rbf(0.5)).c(2.0).loss(loss);
            let svr = svr.intercept(intercept).time_limit(Duration::from_secs(5));
            let model = svr.fit(x.view(), &target).expect("a model");
            let status = model.report().status;
            assert_eq!(status, Status::Converged, "{loss:?}, {intercept:?}");
        }
    }
}

// --- Nu.

#[test]
fn nu_bounds_what_is_outside_the_tube_and_the_support_vectors() {
    let mut problem = Problem::new(2, 2);
    problem.x = Array2::from_shape_fn((300, 2), |_| problem.random.normal());
    let noise: Vec<f64> = (0..300).map(|_| problem.random.normal()).collect();
    let target: Vec<f64> = (0..300)
        .map(|i| (2.0 * problem.x[[i, 0]]).sin() + 0.3 * noise[i])
        .collect();
    for kernel in [Kernel::rbf(0.5), Kernel::linear()] {
        for nu in [0.05, 0.2, 0.5, 0.8, 1.0] {
            let svr = NuSvr::new(kernel.clone()).c(5.0).nu(nu).tolerance(1e-6);
            let model = svr.fit(problem.x.view(), &target).expect("a model");
            let f = model.predict(problem.x.view()).expect("values");
            let outside = |i: &usize| (f[*i] - target[*i]).abs() > model.epsilon() + 1e-4;
            let errors = (0..300).filter(outside).count() as f64;
            let support = model.machine().support.len() as f64;
            assert!(
                errors <= 300.0 * nu + 1.0,
                "{kernel:?}, nu {nu}: {errors} outside"
            );
            assert!(
                support >= 300.0 * nu - 1.0,
                "{kernel:?}, nu {nu}: {support} vectors"
            );
        }
    }
}

// --- What is refused.

#[test]
fn wrong_parameters_are_refused() {
    let (x, y) = (array![[0.0], [1.0], [2.0]], [0.5, 1.5, 2.5]);
    let name = |error: Error| match error {
        Error::Parameter { name, .. }
        | Error::Shape { name, .. }
        | Error::NotFinite { name, .. } => name,
        other => panic!("{other}"),
    };
    let svr = Svr::new(Kernel::rbf(1.0));
    let nu_svr = NuSvr::new(Kernel::rbf(1.0));
    let refuse = |svr: &Svr| name(svr.fit(x.view(), &y).expect_err("refused"));
    let refuse_nu = |svr: &NuSvr| name(svr.fit(x.view(), &y).expect_err("refused"));
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refuse(&svr.clone().epsilon(bad)), "epsilon");
    }
    for bad in [0.0, -1.0, f64::NAN] {
        assert_eq!(refuse(&svr.clone().c(bad)), "C");
        assert_eq!(refuse_nu(&nu_svr.clone().c(bad)), "C");
        assert_eq!(refuse(&svr.clone().tolerance(bad)), "tol");
        assert_eq!(refuse_nu(&nu_svr.clone().tolerance(bad)), "tol");
    }
    for bad in [0.0, -0.5, 1.5, f64::NAN] {
        assert_eq!(refuse_nu(&nu_svr.clone().nu(bad)), "nu");
    }
    for y in [
        vec![0.0; 2],
        vec![0.0; 4],
        vec![0.0, f64::NAN, 1.0],
        vec![0.0, 1.0, f64::INFINITY],
    ] {
        assert_eq!(name(svr.fit(x.view(), &y).expect_err("refused")), "y");
        assert_eq!(name(nu_svr.fit(x.view(), &y).expect_err("refused")), "y");
    }
    for weight in [vec![1.0; 2], vec![1.0, -1.0, 1.0], vec![1.0, f64::NAN, 1.0]] {
        let error = svr.fit_weighted(x.view(), &y, &weight, &Unwatched);
        assert_eq!(name(error.expect_err("refused")), "sample_weight");
        let error = nu_svr.fit_weighted(x.view(), &y, &weight, &Unwatched);
        assert_eq!(name(error.expect_err("refused")), "sample_weight");
    }
}
