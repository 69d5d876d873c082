//! Smo on small problems: known solutions, indefinite kernels, early ends, and what is refused.

use crate::common;

use common::qp::{assert_feasible, gap, gradient, objective};
use common::{StopAfter, clouds};
use mercer::formulation::{Intercept, Loss, svc};
use mercer::matrix::KernelMatrix;
use mercer::qp::{Constraint, DualProblem, Monitor, Progress, Smo, Solution, Status, Unwatched};
use mercer::{Error, Kernel, Samples};
use ndarray::{Array2, array};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn with_tolerance(tolerance: f64) -> Smo {
    Smo::new().tolerance(tolerance)
}

/// The classifier with hinge loss and a free intercept.
fn hinge(positive: &[bool], cost: &[f64]) -> DualProblem {
    svc(positive, cost, Loss::Linear, Intercept::Free)
}

fn solve(smo: &Smo, problem: &DualProblem, kernel: &Kernel, x: &Array2<f64>) -> Solution {
    solve_watched(smo, problem, kernel, x, &Unwatched)
}

fn solve_watched(
    smo: &Smo,
    problem: &DualProblem,
    kernel: &Kernel,
    x: &Array2<f64>,
    monitor: &dyn Monitor,
) -> Solution {
    let samples = Samples::try_from(x.view()).expect("finite");
    let matrix = KernelMatrix::new(kernel, &samples, (0..x.nrows()).collect()).expect("a matrix");
    smo.solve(problem, &matrix, monitor).expect("a solution")
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-6,
            "{found} is not {expected} to 1e-6"
        );
    }
}

// --- Known solutions.

/// Two points: beta = -+ 2 / |x - z|^2 in feature space, the intercept puts the zero in the middle.
#[test]
fn two_points_with_a_hard_margin() {
    let x = array![[1.0], [3.0]];
    let problem = hinge(&[true, false], &[1e3, 1e3]);
    let solution = solve(&with_tolerance(1e-8), &problem, &Kernel::linear(), &x);
    assert_close(&solution.beta, &[0.5, -0.5]);
    assert_close(
        &[solution.intercept, solution.report.objective],
        &[2.0, -0.5],
    );
    assert_eq!(solution.report.status, Status::Converged);

    let k = (-0.3f64 * 4.0).exp();
    let solution = solve(&with_tolerance(1e-8), &problem, &Kernel::rbf(0.3), &x);
    assert_close(&solution.beta, &[1.0 / (1.0 - k), -1.0 / (1.0 - k)]);
    assert_close(&[solution.intercept], &[0.0]);
}

#[test]
fn two_points_at_the_bound() {
    let x = array![[1.0], [3.0]];
    let problem = hinge(&[true, false], &[0.1, 0.1]);
    let solution = solve(&Smo::default(), &problem, &Kernel::linear(), &x);
    assert_eq!(solution.beta, [0.1, -0.1]);
    // f(x) = -0.2 x + b may be anything between f(1) = 1 and f(3) = -1: the middle.
    assert_close(&[solution.intercept], &[0.4]);
}

/// Exclusive or under (x.z + 1)^2 (Cherkassky, Mulier): alpha = 1/8, no intercept.
#[test]
fn exclusive_or() {
    let x = array![[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]];
    let problem = hinge(&[true, true, false, false], &[10.0; 4]);
    let kernel = Kernel::polynomial(1.0, 1.0, 2);
    let solution = solve(&with_tolerance(1e-8), &problem, &kernel, &x);
    assert_close(&solution.beta, &[0.125, 0.125, -0.125, -0.125]);
    assert_close(
        &[solution.intercept, solution.report.objective],
        &[0.0, -0.25],
    );
}

/// With K = 0 and one ridge r: beta_i = s/n - (p_i - mean p) / r, and all gradients are equal.
#[test]
fn ridge_alone() {
    let linear = [0.3, -1.2, 2.0, 0.5, -0.1];
    let (n, r, sum) = (5.0, 0.8, 1.5);
    let mean = linear.iter().sum::<f64>() / n;
    let problem = DualProblem {
        linear: linear.to_vec(),
        lower: vec![f64::NEG_INFINITY; 5],
        upper: vec![f64::INFINITY; 5],
        ridge: vec![r; 5],
        absolute: vec![0.0; 5],
        start: vec![sum, 0.0, 0.0, 0.0, 0.0],
        constraint: Constraint::Sum,
    };
    let kernel = 0.0 * Kernel::linear();
    let solution = solve(
        &with_tolerance(1e-8),
        &problem,
        &kernel,
        &Array2::ones((5, 1)),
    );
    let expected: Vec<f64> = linear.iter().map(|p| sum / n - (p - mean) / r).collect();
    assert_close(&solution.beta, &expected);
    assert_close(&[solution.intercept], &[-(r * sum / n + mean)]);
}

/// K = I, p = -v, 0 <= beta, sum 1: the projection of v on the simplex. Here v - 1/4, cut at 0.
#[test]
fn projection_on_the_simplex() {
    let problem = DualProblem {
        linear: vec![-0.9, -0.1, -0.6],
        lower: vec![0.0; 3],
        upper: vec![1.0; 3],
        ridge: vec![0.0; 3],
        absolute: vec![0.0; 3],
        start: vec![0.0, 1.0, 0.0],
        constraint: Constraint::Sum,
    };
    for kernel in [Kernel::Precomputed, Kernel::linear()] {
        let solution = solve(&with_tolerance(1e-8), &problem, &kernel, &Array2::eye(3));
        assert_close(&solution.beta, &[0.65, 0.0, 0.35]);
        assert_eq!(solution.beta[1], 0.0, "at its bound, not near it");
        assert_close(&[solution.intercept], &[0.25]);
    }
}

#[test]
fn the_only_feasible_point_is_optimal() {
    let x = array![[1.0], [2.0]];
    let fixed = |lower: f64, upper: f64, start: f64| DualProblem {
        linear: vec![5.0, -3.0],
        lower: vec![lower; 2],
        upper: vec![upper; 2],
        ridge: vec![0.0; 2],
        absolute: vec![0.0; 2],
        start: vec![start; 2],
        constraint: Constraint::Sum,
    };
    for problem in [
        fixed(0.25, 0.25, 0.25),
        fixed(0.0, 1.0, 0.0),
        fixed(0.0, 1.0, 1.0),
    ] {
        let solution = solve(&Smo::default(), &problem, &Kernel::linear(), &x);
        assert_eq!(solution.beta, problem.start);
        assert_eq!(solution.report.status, Status::Converged);
        assert_eq!((solution.report.gap, solution.report.iterations), (0.0, 0));
        assert!(solution.intercept.is_finite());
    }
}

#[test]
fn one_variable_and_none() {
    for n in [0, 1] {
        let problem = hinge(&vec![true; n], &vec![1.0; n]);
        let solution = solve(
            &Smo::default(),
            &problem,
            &Kernel::rbf(1.0),
            &Array2::ones((n, 1)),
        );
        assert_eq!(solution.beta, vec![0.0; n]);
        assert_eq!(solution.report.status, Status::Converged);
    }
}

// --- Indefinite kernels.

#[test]
fn indefinite_kernels_end_at_a_stationary_point() {
    for (rows, gamma, coef0) in [(40, 1.0, -1.0), (300, 0.5, 0.5), (500, 2.0, -2.0)] {
        let (x, labels) = clouds(rows, 3, 2, 1.0, 5);
        let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
        let kernel = Kernel::Sigmoid { gamma, coef0 };
        for c in [0.1, 10.0] {
            for tolerance in [1e-3, 1e-6] {
                let problem = hinge(&positive, &vec![c; rows]);
                let solution = solve(&with_tolerance(tolerance), &problem, &kernel, &x);
                assert_eq!(solution.report.status, Status::Converged);
                assert_feasible(&problem, &solution);
                let gradient = gradient(&problem, &kernel, &x, &solution.beta);
                let gap = gap(&problem, &solution.beta, &gradient);
                assert!(gap <= 1.1 * tolerance, "{rows} rows, C {c}: gap {gap:e}");
                // It went down from zero, where the objective is 0.
                assert!(objective(&problem, &solution.beta, &gradient) < 0.0);
            }
        }
    }
}

/// Twins with opposite labels have curvature zero: the step is cut by the bounds, not infinite.
#[test]
fn twins_with_opposite_labels_go_to_their_bounds() {
    let x = array![[1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [0.0, 1.0]];
    let problem = hinge(&[true, false, true, false], &[3.0, 3.0, 7.0, 7.0]);
    for kernel in [
        Kernel::linear(),
        Kernel::rbf(1.0),
        Kernel::Sigmoid {
            gamma: 1.0,
            coef0: 0.0,
        },
    ] {
        let solution = solve(&Smo::default(), &problem, &kernel, &x);
        assert_eq!(solution.beta, [3.0, -3.0, 7.0, -7.0]);
        assert_eq!(solution.report.objective, -20.0);
    }
}

// --- Early ends.

fn overlapping(rows: usize, c: f64) -> (DualProblem, Array2<f64>) {
    let (x, labels) = clouds(rows, 4, 2, 1.0, 6);
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    (hinge(&positive, &vec![c; rows]), x)
}

#[test]
fn steps_run_out() {
    let kernel = Kernel::rbf(0.25);
    for rows in [60, 900] {
        let (problem, x) = overlapping(rows, 10.0);
        let mut last = 0.0;
        for steps in [0, 1, 10, 100] {
            let mut smo = Smo::default();
            smo.stop.max_iterations = Some(steps);
            let solution = solve(&smo, &problem, &kernel, &x);
            assert_eq!(solution.report.status, Status::MaxIterations);
            assert_eq!(solution.report.iterations, steps);
            assert_feasible(&problem, &solution);
            let moved = solution.beta.iter().filter(|&&beta| beta != 0.0).count();
            assert!(moved as u64 <= 2 * steps, "a step moves two coefficients");
            let gradient = gradient(&problem, &kernel, &x, &solution.beta);
            let gap = gap(&problem, &solution.beta, &gradient);
            assert!((solution.report.gap - gap).abs() <= 1e-4, "the gap is told");
            let now = objective(&problem, &solution.beta, &gradient);
            assert!((solution.report.objective - now).abs() <= 1e-5 * (1.0 + now.abs()));
            assert!(now < last || steps == 0, "every step goes down");
            last = now;
        }
    }
}

#[test]
fn time_runs_out() {
    let (problem, x) = overlapping(900, 10.0);
    let mut smo = Smo::default();
    smo.stop.time_limit = Some(Duration::ZERO);
    let solution = solve(&smo, &problem, &Kernel::rbf(0.25), &x);
    assert_eq!(solution.report.status, Status::TimeLimit);
    assert_feasible(&problem, &solution);
    // From a start whose gradient would have to be computed first.
    let (mut problem, x) = overlapping(900, 10.0);
    problem.start = (0..900)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    let solution = solve(&smo, &problem, &Kernel::rbf(0.25), &x);
    assert_eq!(solution.report.status, Status::TimeLimit);
    assert_eq!(solution.beta, problem.start);
}

#[test]
fn a_monitor_stops_it_anywhere() {
    let kernel = Kernel::rbf(0.25);
    let mut seen = 0;
    for rows in [100, 900] {
        let (problem, x) = overlapping(rows, 100.0);
        for limit in (0..40).chain([60, 100, 200, 400]) {
            let monitor = StopAfter::new(limit);
            let solution = solve_watched(&Smo::default(), &problem, &kernel, &x, &monitor);
            assert_feasible(&problem, &solution);
            assert!(solution.intercept.is_finite());
            if solution.report.status == Status::Interrupted {
                seen += 1;
                continue;
            }
            assert_eq!(solution.report.status, Status::Converged);
            assert!(monitor.asked() <= limit, "asked but not heard");
            let gradient = gradient(&problem, &kernel, &x, &solution.beta);
            assert!(gap(&problem, &solution.beta, &gradient) <= 1.1e-3);
        }
    }
    assert!(seen >= 40, "only {seen} of the fits were interrupted");
}

/// Makes the solver slow, and stops it once it has told its progress.
struct Patient {
    told: AtomicUsize,
}

impl Monitor for Patient {
    fn stop(&self) -> bool {
        std::thread::sleep(Duration::from_millis(2));
        self.told.load(Ordering::Relaxed) > 0
    }
    fn progress(&self, progress: &Progress) {
        assert!(progress.gap > 0.0 && progress.active <= 900 && progress.seconds > 0.0);
        self.told.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn progress_is_told() {
    let (problem, x) = overlapping(900, 1000.0);
    let told = AtomicUsize::new(0);
    let monitor = Patient { told };
    let solution = solve_watched(
        &with_tolerance(1e-6),
        &problem,
        &Kernel::rbf(0.25),
        &x,
        &monitor,
    );
    assert!(monitor.told.load(Ordering::Relaxed) > 0);
    assert_eq!(solution.report.status, Status::Interrupted);
    assert_feasible(&problem, &solution);
}

// --- What is refused.

#[test]
fn wrong_requests_are_refused() {
    let x = array![[0.0], [1.0], [2.0]];
    let samples = Samples::try_from(x.view()).expect("finite");
    let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1, 2]).expect("a matrix");
    let good = hinge(&[true, false, true], &[1.0; 3]);
    let refuse = |smo: &Smo, problem: &DualProblem| {
        smo.solve(problem, &matrix, &Unwatched)
            .expect_err("it is refused")
    };
    type Vector = fn(&mut DualProblem) -> &mut Vec<f64>;
    let cut: [(&str, Vector); 6] = [
        ("linear", |problem| &mut problem.linear),
        ("absolute", |problem| &mut problem.absolute),
        ("lower", |problem| &mut problem.lower),
        ("upper", |problem| &mut problem.upper),
        ("ridge", |problem| &mut problem.ridge),
        ("start", |problem| &mut problem.start),
    ];
    for (argument, vector) in cut {
        for longer in [false, true] {
            let mut problem = good.clone();
            match longer {
                true => vector(&mut problem).push(0.0),
                false => drop(vector(&mut problem).pop()),
            }
            let error = refuse(&Smo::default(), &problem);
            assert!(
                matches!(error, Error::Shape { name, .. } if name == argument),
                "{error}"
            );
        }
    }
    for (i, bad) in [(0, -0.1), (0, 1.1), (1, 0.1), (2, f64::NAN)] {
        let mut problem = good.clone();
        problem.start[i] = bad;
        let error = refuse(&Smo::default(), &problem);
        assert!(
            matches!(error, Error::Parameter { name: "start", .. }),
            "{error}"
        );
    }
    for tolerance in [0.0, -1e-3, f64::NAN] {
        let error = refuse(&with_tolerance(tolerance), &good);
        assert!(
            matches!(error, Error::Parameter { name: "tol", .. }),
            "{error}"
        );
    }
}

#[test]
fn matrices_that_are_none_are_refused() {
    let oblong =
        Samples::try_from(array![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].view()).expect("finite");
    let error = KernelMatrix::new(&Kernel::Precomputed, &oblong, vec![0, 1]).expect_err("oblong");
    assert!(matches!(error, Error::Shape { name: "X", .. }));
    let sparse = Samples::csr(vec![1.0], &[0i32], &[0, 1], 1).expect("valid");
    assert!(KernelMatrix::new(&Kernel::Precomputed, &sparse, vec![0]).is_err());
    let huge = Samples::try_from(array![[1e200]].view()).expect("finite");
    let error = KernelMatrix::new(&Kernel::linear(), &huge, vec![0]).expect_err("overflow");
    assert!(matches!(error, Error::NotFinite { row: 0, .. }));
    assert!(KernelMatrix::new(&Kernel::rbf(-1.0), &oblong, vec![0]).is_err());
}

#[test]
fn a_kernel_that_fails_later_ends_the_solver() {
    // On the diagonal all is well; elsewhere one value is not.
    let x = Array2::from_shape_fn((300, 1), |(i, _)| i as f64);
    let kernel = Kernel::from_fn(|x, z| match (x[0] - z[0]).abs() {
        200.0 => f64::NAN,
        distance => (-distance).exp(),
    });
    let samples = Samples::try_from(x.view()).expect("finite");
    let matrix = KernelMatrix::new(&kernel, &samples, (0..300).collect()).expect("a diagonal");
    let positive: Vec<bool> = (0..300).map(|i| i % 2 == 0).collect();
    let error = Smo::default()
        .solve(&hinge(&positive, &[1.0; 300]), &matrix, &Unwatched)
        .expect_err("a NaN is met");
    assert!(
        matches!(error, Error::NotFinite { name: "kernel", .. }),
        "{error}"
    );
}
