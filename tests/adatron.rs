//! Adatron beside Smo on every machine, its epochs, and what it refuses; the published form of it, the
//! nearest points of hulls, and chunking.

use crate::common;

use common::qp::{assert_feasible, gap, gradient, objective};
use common::{StopAfter, clouds};
use mercer::formulation::{Intercept, Loss, nu_svc, one_class, svc, svdd, svr};
use mercer::matrix::{KernelMatrix, KernelRows};
use mercer::qp::{
    Adatron, Algorithm, Chunking, Constraint, DualProblem, LearningRule, Npa, Order, Smo, Solver,
    Status, StopRule, Unwatched,
};
use mercer::{Kernel, Samples, Svc};
use ndarray::{Array2, array};

const TOLERANCE: f64 = 1e-5;
const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::Penalized, Intercept::None];
const LOSSES: [Loss; 2] = [Loss::Linear, Loss::Squared];

fn stop(tolerance: f64) -> StopRule {
    StopRule::new().tolerance(tolerance)
}

fn adatron(eta: f64) -> Adatron {
    Adatron::new().stop(stop(TOLERANCE)).eta(eta)
}

/// Every programme that Adatron can solve, over the same rows.
fn problems(x: &Array2<f64>, labels: &[usize]) -> Vec<DualProblem> {
    let n = x.nrows();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    let target: Vec<f64> = x.rows().into_iter().map(|row| row[0].sin()).collect();
    let (cost, ones) = (vec![2.0; n], vec![1.0; n]);
    let mut problems = Vec::new();
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            problems.push(svc(&positive, &cost, loss, intercept));
            problems.push(svr(&target, &cost, 0.1, loss, intercept));
        }
        problems.push(one_class(&ones, 0.3, loss).expect("feasible"));
        problems.push(svdd(&ones, &ones, 0.3, loss).expect("feasible"));
    }
    problems
}

#[test]
fn every_machine_has_the_optimum_of_smo() {
    // In f64 and polished (one chunk, several), and in f32.
    for (rows, seed) in [(40, 1), (150, 2), (400, 3)] {
        let (x, labels) = clouds(rows, 3, 2, 1.5, seed);
        let samples = Samples::try_from(x.view()).unwrap();
        let kernel = Kernel::rbf(0.5);
        let matrix = KernelMatrix::new(&kernel, &samples, (0..rows).collect()).unwrap();
        for problem in problems(&x, &labels) {
            let smo = Smo::new().stop(stop(TOLERANCE));
            let expected = smo.solve(&problem, &matrix, &Unwatched).unwrap();
            let found = adatron(1.0).solve(&problem, &matrix, &Unwatched).unwrap();
            assert_eq!(found.report.status, Status::Converged);
            assert_feasible(&problem, &found);
            let exact = gradient(&problem, &kernel, &x, &found.beta);
            assert!(gap(&problem, &found.beta, &exact) <= 1.1 * TOLERANCE);
            let (a, b) = (
                objective(&problem, &found.beta, &exact),
                expected.report.objective,
            );
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} {b}");
            assert!(
                (found.intercept - expected.intercept).abs() <= 10.0 * TOLERANCE * b.abs().max(1.0)
            );
        }
    }
}

#[test]
fn a_hard_margin_has_the_optimum_of_smo() {
    let (x, labels) = clouds(150, 2, 2, 6.0, 10);
    for intercept in INTERCEPTS {
        let svc = Svc::new(Kernel::rbf(0.2))
            .c(f64::INFINITY)
            .intercept(intercept);
        let objective = |svc: Svc| {
            let model = svc.tolerance(TOLERANCE).fit(x.view(), &labels).unwrap();
            assert_eq!(model.reports()[0].status, Status::Converged);
            model.reports()[0].objective
        };
        let (a, b) = (objective(svc.clone().solver(adatron(1.0))), objective(svc));
        assert!((a - b).abs() <= 1e-4 * b.abs(), "{a} {b}");
    }
}

#[test]
fn the_objective_never_falls_at_the_same_intercept() {
    let (x, labels) = clouds(120, 3, 2, 1.0, 4);
    let samples = Samples::try_from(x.view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::rbf(0.5), &samples, (0..120).collect()).unwrap();
    for problem in problems(&x, &labels) {
        if problem.constraint == Constraint::Sum {
            continue; // A new intercept for each epoch.
        }
        for eta in [0.5, 1.0, 1.5, 1.9] {
            let found = adatron(eta).solve(&problem, &matrix, &Unwatched).unwrap();
            assert_eq!(found.history.len() as u64, found.report.iterations);
            for pair in found.history.windows(2) {
                // Up to the rounding of sums of this size.
                let rounding = 1e-13 * pair[0].objective.abs().max(1.0);
                assert!(pair[1].objective >= pair[0].objective - rounding);
            }
            let last = found.history.last().unwrap();
            assert!((last.objective + found.report.objective).abs() < 1e-9);
            assert!(last.gap <= TOLERANCE);
        }
    }
}

#[test]
fn history_has_the_margin_of_classifiers_only() {
    let (x, labels) = clouds(100, 2, 2, 6.0, 5);
    let samples = Samples::try_from(x.view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::rbf(0.2), &samples, (0..100).collect()).unwrap();
    for problem in problems(&x, &labels) {
        let found = adatron(1.0).solve(&problem, &matrix, &Unwatched).unwrap();
        let margin = found.history.last().unwrap().margin;
        let classes = problem.lower.contains(&0.0) && problem.upper.contains(&0.0);
        // Separable: at the optimum the closest samples of both classes are at distance 1.
        assert_eq!(margin.is_nan(), !classes);
        assert!(!classes || (margin - 1.0).abs() < 1e-4, "{margin}");
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_the_cache() {
    let (x, labels) = clouds(700, 5, 2, 1.0, 6);
    let samples = Samples::try_from(x.view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::rbf(0.2), &samples, (0..700).collect()).unwrap();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    let problem = svc(&positive, &[1.0; 700], Loss::Linear, Intercept::Free);
    let solve = |threads: usize, cache_bytes: Option<usize>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let solver = adatron(1.0).cache_bytes(cache_bytes);
        let pool = pool.build().unwrap();
        pool.install(|| solver.solve(&problem, &matrix, &Unwatched).unwrap())
    };
    let one = solve(1, None);
    let two = solve(2, None);
    assert_eq!((&one.beta, &one.history), (&two.beta, &two.history));
    let few_rows = solve(2, Some(20 * 700 * 8));
    let size = one.report.objective.abs();
    assert!((few_rows.report.objective - one.report.objective).abs() < 1e-5 * size);
}

#[test]
fn an_epoch_is_that_of_a_plain_loop() {
    // One variable per class of a kernel that is the identity: nothing depends on the order.
    let samples = Samples::try_from(Array2::<f64>::eye(100).view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, (0..100).collect()).unwrap();
    let positive: Vec<bool> = (0..100).map(|i| i % 2 == 0).collect();
    let problem = svc(&positive, &[0.8; 100], Loss::Linear, Intercept::None);
    let solver = adatron(0.5).stop(stop(1e-9).max_iterations(1));
    let found = solver.solve(&problem, &matrix, &Unwatched).unwrap();
    for (i, beta) in found.beta.iter().enumerate() {
        assert_eq!(*beta, if i % 2 == 0 { 0.5 } else { -0.5 });
    }
    assert_eq!(found.report.status, Status::MaxIterations);
    // Half the way of each: 100 (1/2 - 1/8).
    assert_eq!(found.history[0].objective, 37.5);
    assert_eq!(found.history[0].margin, 0.5);
}

#[test]
fn what_cannot_converge_is_refused() {
    let x = array![[-1.0], [1.0]];
    for eta in [0.0, -1.0, 2.0, 3.0, f64::NAN, f64::INFINITY] {
        let fit = Svc::new(Kernel::rbf(1.0))
            .solver(adatron(eta))
            .fit(x.view(), &[0, 1]);
        let message = fit.unwrap_err().to_string();
        assert!(
            message.starts_with("eta must be above 0 and below 2"),
            "{message}"
        );
    }
    let samples = Samples::try_from(x.view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::rbf(1.0), &samples, vec![0, 1]).unwrap();
    let nu = nu_svc(&[true, false], &[1.0, 1.0], 0.5).unwrap();
    let error = adatron(1.0).solve(&nu, &matrix, &Unwatched).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("solver must be 'smo' where two sums are fixed")
    );
    let sigmoid = Kernel::Sigmoid {
        gamma: 1.0,
        coef0: -0.5,
    };
    let error = Svc::new(sigmoid.clone())
        .solver(adatron(1.0))
        .fit(x.view(), &[0, 1]);
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("positive semi-definite")
    );
    // Without an intercept every step still goes up, and the box ends it; K_ii may be negative.
    let (x, labels) = clouds(60, 2, 2, 1.0, 7);
    let svc = Svc::new(sigmoid).intercept(Intercept::None);
    let model = svc
        .solver(adatron(1.0))
        .max_iterations(10_000)
        .fit(x.view(), &labels)
        .unwrap();
    let history = &model.machines().histories[0];
    assert!(
        history
            .windows(2)
            .all(|pair| pair[1].objective >= pair[0].objective - 1e-12)
    );
}

#[test]
fn rows_without_curvature_go_to_a_bound() {
    // The kernel of the first row is zero: its slope is that of the labels alone.
    let x = array![[0.0], [2.0], [-2.0]];
    let fit = |c: f64, intercept| {
        let svc = Svc::new(Kernel::linear()).c(c).intercept(intercept);
        svc.solver(adatron(1.0)).fit(x.view(), &[0, 0, 1]).unwrap()
    };
    assert_eq!(fit(0.7, Intercept::None).machines().dual_coef[(0, 0)], -0.7);
    let unbounded = fit(f64::INFINITY, Intercept::None);
    assert_eq!(unbounded.reports()[0].status, Status::Diverged);
    // An intercept can separate it from the last: f(x) = -1 - x.
    let parted = fit(f64::INFINITY, Intercept::Free);
    assert_eq!(parted.reports()[0].status, Status::Converged);
    assert!((parted.machines().intercept[0] + 1.0).abs() < 1e-4);
}

#[test]
fn a_hard_margin_that_does_not_exist_is_noticed() {
    let x = array![[0.0], [0.0], [1.0], [1.5]];
    for intercept in INTERCEPTS {
        let svc = Svc::new(Kernel::rbf(1.0))
            .c(f64::INFINITY)
            .intercept(intercept);
        let model = svc
            .solver(adatron(1.0))
            .fit(x.view(), &[0, 1, 0, 1])
            .unwrap();
        assert_eq!(model.reports()[0].status, Status::Diverged);
    }
}

#[test]
fn an_early_end_leaves_a_feasible_point() {
    let (x, labels) = clouds(500, 4, 2, 1.0, 8);
    let samples = Samples::try_from(x.view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::rbf(0.2), &samples, (0..500).collect()).unwrap();
    for problem in problems(&x, &labels) {
        for epochs in [0, 1, 7] {
            let solver = adatron(1.0).stop(stop(1e-9).max_iterations(epochs));
            let found = solver.solve(&problem, &matrix, &Unwatched).unwrap();
            assert_eq!(found.report.status, Status::MaxIterations);
            assert_eq!(found.report.iterations, epochs);
            assert_feasible(&problem, &found);
        }
        for asked in [0, 3, 30] {
            let found = adatron(1.0).solve(&problem, &matrix, &StopAfter::new(asked));
            let found = found.unwrap();
            assert_eq!(found.report.status, Status::Interrupted);
            assert_feasible(&problem, &found);
        }
    }
}

#[test]
fn a_start_saves_epochs_and_rows_may_be_shared() {
    let (x, labels) = clouds(300, 4, 2, 1.0, 9);
    let samples = Samples::try_from(x.view()).unwrap();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    let mut problem = svc(&positive, &[1.0; 300], Loss::Linear, Intercept::Free);
    let kernel =
        |gamma: f64| KernelMatrix::new(&Kernel::rbf(gamma), &samples, (0..300).collect()).unwrap();
    let (before, after) = (kernel(0.2), kernel(0.19));
    let from_zero = adatron(1.0).solve(&problem, &after, &Unwatched).unwrap();
    problem.start = adatron(1.0)
        .solve(&problem, &before, &Unwatched)
        .unwrap()
        .beta;
    let mut rows = KernelRows::new(&after);
    let resumed = adatron(1.0)
        .solve_on(&problem, &mut rows, &Unwatched)
        .unwrap();
    assert!(resumed.report.iterations < from_zero.report.iterations);
    let size = from_zero.report.objective.abs();
    assert!((resumed.report.objective - from_zero.report.objective).abs() < 1e-5 * size);
    // Rows that Smo has cut short are of no use to an epoch, and are not taken for whole ones.
    let smo = Smo::new().stop(stop(TOLERANCE));
    let mut rows = KernelRows::new(&after);
    smo.solve_on(&problem, &mut rows, &Unwatched).unwrap();
    let shared = adatron(1.0)
        .solve_on(&problem, &mut rows, &Unwatched)
        .unwrap();
    assert!((shared.report.objective - from_zero.report.objective).abs() < 1e-5 * size);
}

/// Wherever it is stopped, coefficients and gradient belong together. Rows of the linear kernel are
/// added through the weight vector, which may be stopped although all of them are held.
#[test]
fn a_stopped_solver_tells_the_objective_of_its_point() {
    let (x, labels) = clouds(400, 3, 2, 1.0, 10);
    let samples = Samples::try_from(x.view()).unwrap();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    let problem = svc(&positive, &[1.0; 400], Loss::Linear, Intercept::Free);
    for kernel in [Kernel::linear(), Kernel::rbf(0.3)] {
        let matrix = KernelMatrix::new(&kernel, &samples, (0..400).collect()).unwrap();
        let (adatron, smo) = (adatron(1.0), Smo::new().shrinking(false));
        for limit in (0..40).chain([60, 100, 200, 300]) {
            let solvers: [Solver; 2] = [adatron.into(), smo.into()];
            for solver in solvers {
                let monitor = StopAfter::new(limit);
                let found = solver.solve(&problem, &matrix, &monitor).unwrap();
                assert_feasible(&problem, &found);
                let gradient = gradient(&problem, &kernel, &x, &found.beta);
                let objective = objective(&problem, &found.beta, &gradient);
                let error = (found.report.objective - objective).abs();
                assert!(error <= 1e-4 * (1.0 + objective.abs()), "off by {error}");
            }
        }
    }
}

/// Solves with another solver, and compares with Smo; the gap is computed anew.
fn assert_optimum_of_smo(solver: Solver, problem: &DualProblem, rows: usize) {
    let (x, _) = clouds(rows, 3, 2, 1.5, 3);
    let samples = Samples::try_from(x.view()).unwrap();
    let kernel = Kernel::rbf(0.5);
    let matrix = KernelMatrix::new(&kernel, &samples, (0..rows).collect()).unwrap();
    let smo = Smo::new().stop(stop(TOLERANCE));
    let expected = smo.solve(problem, &matrix, &Unwatched).unwrap();
    let found = solver.solve(problem, &matrix, &Unwatched).unwrap();
    assert_eq!(found.report.status, Status::Converged, "{solver:?}");
    assert_feasible(problem, &found);
    let exact = gradient(problem, &kernel, &x, &found.beta);
    let seen = gap(problem, &found.beta, &exact);
    assert!(
        seen <= found.report.gap && found.report.gap <= TOLERANCE,
        "{solver:?}: {seen}"
    );
    let (a, b) = (found.report.objective, expected.report.objective);
    assert!(
        (a - b).abs() <= 1e-4 * b.abs().max(1.0),
        "{solver:?}: {a}, {b}"
    );
    assert!((found.intercept - expected.intercept).abs() <= 10.0 * TOLERANCE);
    for (a, b) in found.beta.iter().zip(&expected.beta) {
        assert!((a - b).abs() <= 2e-2, "{solver:?}: {a}, {b}");
    }
}

fn signs(rows: usize) -> Vec<bool> {
    let (_, labels) = clouds(rows, 3, 2, 1.5, 3);
    labels.iter().map(|&label| label == 0).collect()
}

/// In f64 and in f32.
#[test]
fn nearest_points_have_the_optimum_of_smo() {
    for rows in [40, 300] {
        for intercept in INTERCEPTS {
            let problem = svc(&signs(rows), &vec![3.0; rows], Loss::Squared, intercept);
            assert_optimum_of_smo(Npa::new().stop(stop(TOLERANCE)).into(), &problem, rows);
        }
    }
}

#[test]
fn chunks_have_the_optimum_of_smo() {
    for intercept in INTERCEPTS {
        for loss in LOSSES {
            let problem = svc(&signs(300), &[3.0; 300], loss, intercept);
            let chunking = Chunking::new().stop(stop(TOLERANCE)).growth(20);
            assert_optimum_of_smo(chunking.into(), &problem, 300);
        }
    }
}

#[test]
fn the_published_adatron_has_the_optimum_of_smo() {
    for intercept in INTERCEPTS {
        for order in [Order::Cyclic, Order::Random] {
            let problem = svc(&signs(40), &[3.0; 40], Loss::Squared, intercept);
            let published = adatron(1.0).order(order).mu(0.1);
            assert_optimum_of_smo(published.into(), &problem, 40);
        }
    }
}

#[test]
fn what_has_no_hulls_is_refused() {
    let samples = Samples::try_from(array![[0.0], [1.0]].view()).unwrap();
    let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1]).unwrap();
    let refused = |problem: &DualProblem| {
        let error = Npa::new().solve(problem, &matrix, &Unwatched).unwrap_err();
        assert!(error.to_string().starts_with("solver"), "{error}");
    };
    refused(&svc(
        &[true, false],
        &[1.0, 1.0],
        Loss::Linear,
        Intercept::Free,
    ));
    refused(&svc(
        &[true, true],
        &[1.0, 1.0],
        Loss::Squared,
        Intercept::Free,
    ));
    refused(&svr(
        &[0.5, 1.0],
        &[1.0, 1.0],
        0.1,
        Loss::Squared,
        Intercept::Free,
    ));
    refused(&nu_svc(&[true, false], &[1.0, 1.0], 0.5).unwrap());
    let soft = svc(&[true, false], &[1.0, 1.0], Loss::Linear, Intercept::None);
    let perceptron = Adatron::new().rule(LearningRule::Perceptron);
    let error = perceptron.solve(&soft, &matrix, &Unwatched).unwrap_err();
    assert!(error.to_string().starts_with('C'), "{error}");
    let error = Chunking::new()
        .growth(0)
        .solve(&soft, &matrix, &Unwatched)
        .unwrap_err();
    assert!(error.to_string().starts_with("growth"), "{error}");
    let error = Adatron::new()
        .mu(0.0)
        .solve(&soft, &matrix, &Unwatched)
        .unwrap_err();
    assert!(error.to_string().starts_with("mu"), "{error}");
}

/// The stability of MinOver is within the tolerance of the largest, and 1 / |w| of what is returned.
#[test]
fn perceptrons_are_scaled_to_their_stability() {
    let (x, _) = clouds(60, 3, 2, 1.5, 3);
    let hard = Svc::new(Kernel::rbf(2.0))
        .c(f64::INFINITY)
        .intercept(Intercept::None);
    let norm = |rule: LearningRule| {
        let svc = hard
            .clone()
            .solver(Adatron::new().rule(rule).tolerance(0.01));
        let model = svc.fit(x.view(), &signs(60)).expect("a model");
        let values = model.decision_function(x.view()).expect("values");
        let values = values.iter().zip(signs(60));
        let potentials = values.map(|(f, yes)| if yes { *f } else { -f });
        let least = potentials.fold(f64::INFINITY, f64::min);
        assert!(
            (least - 1.0).abs()
                < if rule == LearningRule::Adatron {
                    0.02
                } else {
                    1e-9
                }
        );
        (
            model.reports()[0].squared_norm.sqrt(),
            model.reports()[0].method,
        )
    };
    let (best, _) = norm(LearningRule::Adatron);
    let (minover, method) = norm(LearningRule::MinOver);
    let (perceptron, _) = norm(LearningRule::Perceptron);
    assert_eq!(method, Algorithm::MinOver);
    assert!(
        minover <= 1.03 * best && best <= 1.03 * minover,
        "{minover}, {best}"
    );
    assert!(perceptron >= 0.99 * minover);
}
