//! OneClassSvm and Svdd against the oracle, known solutions, what nu promises, what is refused.

use crate::common;

use common::clouds;
use common::oracle::{Features, Found, Margin, Primal, Tally, dot, times};
use common::problems::{Problem, total};
use common::qp::value;
use mercer::formulation::Loss;
use mercer::qp::{Monitor, Status, Unwatched};
use mercer::{Error, Kernel, OneClassSvm, Svdd, SvddModel};
use ndarray::{Array2, array};
use std::f64::consts::SQRT_2;

const TIGHT: f64 = 1e-8;
const LOSSES: [Loss; 2] = [Loss::Linear, Loss::Squared];

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

/// minimise 1/2 |w|^2 - rho + 1/(nu m) sum w_i max(0, rho - w.phi_i), or its square. LIBSVM and
/// the library multiply all of w, rho and the slacks by nu m.
fn compare_one_class(tally: &mut Tally, seed: u64, loss: Loss) {
    let mut problem = Problem::new(seed, 2);
    // Not around the origin, from which it is to be parted; the linear kernel cannot otherwise.
    problem.x += 1.5;
    problem.fresh += 1.5;
    let nu = 0.05 + 0.9 * problem.random.uniform();
    let model = OneClassSvm::new(problem.kernel.clone())
        .nu(nu)
        .loss(loss)
        .tolerance(TIGHT)
        .fit_weighted(problem.x.view(), &problem.weight, &Unwatched)
        .expect("a model");
    assert_eq!(model.report().status, Status::Converged);
    let kept = problem.kept();
    let scale = nu * total(&problem.weight, &kept);
    let features = Features::new(&problem.kernel, &problem.rows(&kept));
    let margin = |(at, &row): (usize, &usize)| Margin {
        features: features.rows[at].clone(),
        scalars: vec![-1.0],
        right: 0.0,
        cost: problem.weight[row] / scale,
    };
    let primal = Primal {
        price: vec![-1.0],
        directions: vec![vec![1.0]],
        squared: loss == Loss::Squared,
        margins: kept.iter().enumerate().map(margin).collect(),
    };
    let fresh: Vec<Vec<f64>> = problem
        .fresh
        .rows()
        .into_iter()
        .map(|z| features.of(z))
        .collect();
    let decisions = model
        .decision_function(problem.fresh.view())
        .expect("values");
    let scores = model.score_samples(problem.fresh.view()).expect("values");
    let inside = model.predict(problem.fresh.view()).expect("answers");
    for ((f, score), inside) in decisions.iter().zip(scores).zip(inside) {
        assert!((score - f - model.offset()).abs() <= 1e-9 * score.abs().max(1.0));
        assert_eq!(inside, *f >= 0.0);
    }
    let found = Found {
        decisions: times(1.0 / scale, &decisions),
        t: vec![model.offset() / scale],
        value: -model.report().objective / (scale * scale),
    };
    let name = format!("{}, nu {nu}", problem.name);
    tally.compare(&name, &primal, &found, |w, t| {
        fresh.iter().map(|phi| dot(w, phi) - t[0]).collect()
    });
}

#[test]
fn one_class_agrees_with_the_oracle() {
    for loss in LOSSES {
        let mut tally = Tally::new(format!("one-class, {loss:?}"));
        for seed in 0..42 {
            compare_one_class(&mut tally, seed, loss);
        }
        tally.finish(20);
    }
}

/// |a|^2 from the published coefficients.
fn squared_norm(model: &SvddModel, problem: &Problem) -> f64 {
    let machine = model.machine();
    let terms = machine.support.iter().zip(&machine.dual_coef);
    let rows: Vec<(usize, f64)> = terms.map(|(&row, &beta)| (row, beta)).collect();
    let product = |&(i, a): &(usize, f64), &(j, b): &(usize, f64)| {
        a * b * value(&problem.kernel, problem.x.row(i), problem.x.row(j))
    };
    let all = rows.iter().flat_map(|i| rows.iter().map(|j| product(i, j)));
    all.sum()
}

/// minimise R^2 + 1/(nu m) sum w_i max(0, |phi_i - a|^2 - R^2), or its square. With
/// t = R^2 - |a|^2 and w = sqrt(2) a that is 1/2 |w|^2 + t + 1/(nu m) sum w_i max(0, k(x_i, x_i) -
/// sqrt(2) w.phi_i - t).
fn compare_svdd(tally: &mut Tally, seed: u64, loss: Loss) {
    let mut problem = Problem::new(seed, 2);
    let nu = 0.05 + 0.9 * problem.random.uniform();
    let model = Svdd::new(problem.kernel.clone())
        .nu(nu)
        .loss(loss)
        .tolerance(TIGHT)
        .fit_weighted(problem.x.view(), &problem.weight, &Unwatched)
        .expect("a model");
    assert_eq!(model.report().status, Status::Converged);
    let sum: f64 = model.machine().dual_coef.iter().sum();
    assert!((sum - 1.0).abs() <= 1e-9);
    let kept = problem.kept();
    let scale = nu * total(&problem.weight, &kept);
    let features = Features::new(&problem.kernel, &problem.rows(&kept));
    let own = |x| value(&problem.kernel, x, x);
    let margin = |(at, &row): (usize, &usize)| Margin {
        features: times(SQRT_2, &features.rows[at]),
        scalars: vec![1.0],
        right: own(problem.x.row(row)),
        cost: problem.weight[row] / scale,
    };
    let primal = Primal {
        price: vec![1.0],
        directions: vec![vec![1.0]],
        squared: loss == Loss::Squared,
        margins: kept.iter().enumerate().map(margin).collect(),
    };
    let fresh: Vec<(Vec<f64>, f64)> = problem
        .fresh
        .rows()
        .into_iter()
        .map(|z| (features.of(z), own(z)))
        .collect();
    let decisions = model
        .decision_function(problem.fresh.view())
        .expect("values");
    let scores = model.score_samples(problem.fresh.view()).expect("values");
    let inside = model.predict(problem.fresh.view()).expect("answers");
    let squared_radius = model.squared_radius();
    for ((f, score), inside) in decisions.iter().zip(scores).zip(inside) {
        // R^2 - distance^2 and -distance^2.
        assert!((f - score - squared_radius).abs() <= 1e-9 * score.abs().max(1.0));
        assert!(score <= 1e-9, "distances are not negative");
        assert_eq!(inside, *f >= 0.0);
    }
    assert_eq!(model.radius(), squared_radius.max(0.0).sqrt());
    let found = Found {
        decisions,
        t: vec![squared_radius - squared_norm(&model, &problem)],
        value: -2.0 * model.report().objective,
    };
    let name = format!("{}, nu {nu}", problem.name);
    tally.compare(&name, &primal, &found, |w, t| {
        let f = |(phi, own): &(Vec<f64>, f64)| t[0] - own + SQRT_2 * dot(w, phi);
        fresh.iter().map(f).collect()
    });
}

#[test]
fn svdd_agrees_with_the_oracle() {
    for loss in LOSSES {
        let mut tally = Tally::new(format!("SVDD, {loss:?}"));
        for seed in 0..42 {
            compare_svdd(&mut tally, seed, loss);
        }
        tally.finish(20);
    }
}

// --- Known solutions.

/// Where k(x, x) is constant the plane cuts the sphere of all phi(x) where the small sphere does.
/// For squared slack the sphere's nu is twice the plane's: distances are squared already.
#[test]
fn plane_and_sphere_have_the_same_boundary_under_rbf() {
    let (x, _) = clouds(250, 3, 2, 2.0, 51);
    let (fresh, _) = clouds(200, 3, 2, 2.0, 52);
    for kernel in [Kernel::rbf(0.3), Kernel::Laplacian { gamma: 0.4 }] {
        for (loss, factor) in [(Loss::Linear, 1.0), (Loss::Squared, 2.0)] {
            for nu in [0.05, 0.2, 0.5] {
                let plane = OneClassSvm::new(kernel.clone()).nu(nu).loss(loss);
                let plane = plane.tolerance(TIGHT).fit(x.view()).expect("a model");
                let sphere = Svdd::new(kernel.clone()).nu(factor * nu).loss(loss);
                let sphere = sphere.tolerance(TIGHT).fit(x.view()).expect("a model");
                let scale = 2.0 / (nu * 250.0);
                let decision = plane.decision_function(fresh.view()).expect("values");
                let radial = sphere.decision_function(fresh.view()).expect("values");
                assert_close(&times(scale, &decision), &radial, 1e-6);
                assert!(decision.iter().any(|f| *f < 0.0));
                assert_eq!(
                    plane.predict(fresh.view()).expect("answers"),
                    sphere.predict(fresh.view()).expect("answers")
                );
            }
        }
    }
}

#[test]
fn the_sphere_of_two_points() {
    for (kernel, apart) in [
        (Kernel::linear(), 4.0),
        (Kernel::rbf(0.1), 2.0 - 2.0 * (-0.4f64).exp()),
    ] {
        let x = array![[1.0, 1.0], [1.0, 3.0]];
        let fit = |loss: Loss, nu: f64| {
            let svdd = Svdd::new(kernel.clone()).nu(nu).loss(loss);
            svdd.tolerance(TIGHT).fit(x.view()).expect("a model")
        };
        let model = fit(Loss::Linear, 0.5);
        assert_close(&model.machine().dual_coef, &[0.5, 0.5], 1e-7);
        assert_close(&[model.squared_radius()], &[apart / 4.0], 1e-7);
        assert_close(&[model.radius()], &[apart.sqrt() / 2.0], 1e-7);
        let middle = model
            .decision_function(array![[1.0, 2.0]].view())
            .expect("a value");
        if matches!(kernel, Kernel::Linear) {
            assert_close(&middle, &[1.0], 1e-7);
        }
        // Slack of nu m / 4 = nu / 2 each.
        let model = fit(Loss::Squared, 0.2);
        assert_close(&[model.squared_radius()], &[apart / 4.0 - 0.1], 1e-7);
    }
}

/// Closer together than the slack that nu grants: R^2 < 0, and nothing is inside.
#[test]
fn a_squared_radius_may_be_negative() {
    let x = array![[0.0], [0.1]];
    let svdd = Svdd::new(Kernel::linear()).nu(1.0).loss(Loss::Squared);
    let model = svdd.tolerance(TIGHT).fit(x.view()).expect("a model");
    assert_close(&[model.squared_radius()], &[0.0025 - 0.5], 1e-7);
    assert_eq!(model.radius(), 0.0);
    let inside = model.predict(array![[0.05], [0.0], [9.0]].view());
    assert_eq!(inside.expect("answers"), [false; 3]);
}

#[test]
fn the_sphere_of_one_point_is_the_point() {
    for n in [1, 3] {
        let x = Array2::from_elem((n, 2), 2.0);
        let svdd = Svdd::new(Kernel::linear()).nu(0.5).tolerance(TIGHT);
        let model = svdd.fit(x.view()).expect("a model");
        assert_close(&[model.squared_radius()], &[0.0], 1e-9);
        let scores = model.score_samples(array![[2.0, 2.0], [5.0, 6.0]].view());
        assert_close(&scores.expect("values"), &[0.0, -25.0], 1e-9);
    }
}

/// On a line, 1 and 2: with nu = 1/2 all weight is on the nearer. rho may be anything from 1 to 2.
#[test]
fn the_plane_of_two_points() {
    let x = array![[1.0], [2.0]];
    let svm = OneClassSvm::new(Kernel::linear()).nu(0.5).tolerance(TIGHT);
    let model = svm.fit(x.view()).expect("a model");
    assert_eq!(model.machine().support, [0]);
    assert_eq!(model.machine().dual_coef, [1.0]);
    assert_close(&[model.offset()], &[1.5], 1e-7);
    assert_close(&[model.machine().report.objective], &[0.5], 1e-7);
    assert_eq!(model.predict(x.view()).expect("answers"), [false, true]);
    let scores = model.score_samples(x.view()).expect("values");
    assert_close(&scores, &[1.0, 2.0], 1e-7);
}

// --- Nu.

#[test]
fn nu_bounds_the_outliers_and_the_support_vectors() {
    let (x, _) = clouds(300, 3, 2, 2.0, 53);
    let shifted = &x + 3.0;
    for kernel in [Kernel::rbf(0.2), Kernel::linear()] {
        for nu in [0.03, 0.1, 0.4, 0.8, 1.0] {
            let x = shifted.view();
            let plane = OneClassSvm::new(kernel.clone()).nu(nu).tolerance(1e-6);
            let plane = plane.fit(x).expect("a model");
            let sphere = Svdd::new(kernel.clone()).nu(nu).tolerance(1e-6);
            let sphere = sphere.fit(x).expect("a model");
            for (name, f, support, slack) in [
                (
                    "plane",
                    plane.decision_function(x).expect("values"),
                    plane.machine().support.len(),
                    1e-3,
                ),
                (
                    "sphere",
                    sphere.decision_function(x).expect("values"),
                    sphere.machine().support.len(),
                    1e-5,
                ),
            ] {
                let outside = f.iter().filter(|f| **f < -slack).count() as f64;
                assert!(
                    outside <= 300.0 * nu + 1.0,
                    "{name}, nu {nu}: {outside} outside"
                );
                let support = support as f64;
                assert!(
                    support >= 300.0 * nu - 1.0,
                    "{name}, nu {nu}: {support} vectors"
                );
            }
        }
    }
}

/// The boundary is moved outwards by what the solver left to do: the support vectors on it are inside,
/// and nu bounds the share outside without any allowance.
#[test]
fn what_is_on_the_boundary_is_inside() {
    let (x, _) = clouds(300, 3, 2, 2.0, 54);
    for tolerance in [1e-1, 1e-3, 1e-9] {
        for nu in [0.05, 0.2, 0.6] {
            let plane = OneClassSvm::new(Kernel::rbf(0.2)).nu(nu);
            let plane = plane.tolerance(tolerance).fit(x.view()).expect("a model");
            let sphere = Svdd::new(Kernel::rbf(0.2)).nu(nu);
            let sphere = sphere.tolerance(tolerance).fit(x.view()).expect("a model");
            let most = (300.0 * nu).round() as usize;
            let about = format!("nu {nu}, tolerance {tolerance}");
            for (machine, inside, upper) in [
                (plane.machine(), plane.predict(x.view()), 1.0),
                (
                    sphere.machine(),
                    sphere.predict(x.view()),
                    1.0 / (300.0 * nu),
                ),
            ] {
                let inside = inside.expect("answers");
                let outside = inside.iter().filter(|inside| !**inside).count();
                assert!(outside <= most, "{about}: {outside} of {most} outside");
                for (&row, &beta) in machine.support.iter().zip(&machine.dual_coef) {
                    assert!(inside[row] || beta >= upper * (1.0 - 1e-9), "{about}");
                }
            }
        }
    }
}

/// Rows without weight are no part of what is trained on, nor is their place on the diagonal.
#[test]
fn only_the_diagonal_of_rows_with_weight_counts() {
    let matrix = array![[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 7.0]];
    let svdd = Svdd::new(Kernel::Precomputed).tolerance(TIGHT);
    let model = svdd.fit_weighted(matrix.view(), &[1.0, 1.0, 0.0], &Unwatched);
    let scores = model.expect("a model").score_samples(matrix.view());
    // a = (phi_0 + phi_1) / 2 with |a|^2 = 0.75.
    assert_close(&scores.expect("scores")[..2], &[-0.25, -0.25], 1e-9);
    let model = svdd.fit(matrix.view()).expect("a model");
    assert!(model.score_samples(matrix.view()).is_err());
}

// --- What is refused.

#[test]
fn wrong_parameters_are_refused() {
    let x = array![[0.0], [1.0], [2.0]];
    let name = |error: Error| match error {
        Error::Parameter { name, .. }
        | Error::Shape { name, .. }
        | Error::NotFinite { name, .. } => name,
        other => panic!("{other}"),
    };
    let plane = OneClassSvm::new(Kernel::rbf(1.0));
    let sphere = Svdd::new(Kernel::rbf(1.0));
    for loss in LOSSES {
        for nu in [0.0, -0.5, 1.5, f64::NAN] {
            let error = plane.clone().loss(loss).nu(nu).fit(x.view());
            assert_eq!(name(error.expect_err("refused")), "nu");
            let error = sphere.clone().loss(loss).nu(nu).fit(x.view());
            assert_eq!(name(error.expect_err("refused")), "nu");
        }
    }
    for weight in [vec![1.0; 2], vec![1.0, -1.0, 1.0], vec![1.0, f64::NAN, 1.0]] {
        let error = plane.fit_weighted(x.view(), &weight, &Unwatched);
        assert_eq!(name(error.expect_err("refused")), "sample_weight");
        let error = sphere.fit_weighted(x.view(), &weight, &Unwatched);
        assert_eq!(name(error.expect_err("refused")), "sample_weight");
    }
    let nan = array![[0.0], [f64::NAN]];
    assert_eq!(name(plane.fit(nan.view()).expect_err("refused")), "X");
    assert_eq!(name(sphere.fit(nan.view()).expect_err("refused")), "X");
    for tolerance in [0.0, f64::NAN] {
        let error = plane.clone().tolerance(tolerance).fit(x.view());
        assert_eq!(name(error.expect_err("refused")), "tol");
        let error = sphere.clone().tolerance(tolerance).fit(x.view());
        assert_eq!(name(error.expect_err("refused")), "tol");
    }
}

/// Kernel values beyond f32 are left to f64 at once; stopping on the way to the first gradient still
/// gives a feasible point.
#[test]
fn stopped_before_the_first_gradient() {
    struct Stop;
    impl Monitor for Stop {
        fn stop(&self) -> bool {
            true
        }
    }
    let x = Array2::from_shape_fn((300, 2), |(i, j)| 1e20 * (1.0 + (i + j) as f64));
    let model = OneClassSvm::new(Kernel::linear()).fit_weighted(x.view(), &[1.0; 300], &Stop);
    let machine = model.expect("a model").machine().clone();
    assert_eq!(machine.report.status, Status::Interrupted);
    assert!((machine.dual_coef.iter().sum::<f64>() - 150.0).abs() < 1e-9);
}
