//! Smo on small problems: known solutions, an interior-point oracle, indefinite kernels, early
//! ends, and what is refused.

mod common;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};
use common::qp::{assert_feasible, gap, gradient, matrix, objective};
use common::{Random, clouds};
use mercer::formulation::hinge;
use mercer::matrix::KernelMatrix;
use mercer::qp::{
    DualProblem, Monitor, Progress, Selection, Smo, Solution, Status, StopRule, Unwatched,
};
use mercer::{Error, Kernel, Samples};
use ndarray::{Array2, array};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn with_tolerance(tolerance: f64) -> Smo {
    Smo {
        stop: StopRule {
            tolerance,
            ..StopRule::default()
        },
        ..Smo::default()
    }
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

/// Two points: beta = -+ 2 / |x - z|^2 in feature space, the bias puts the zero in the middle.
#[test]
fn two_points_with_a_hard_margin() {
    let x = array![[1.0], [3.0]];
    let problem = hinge(&[true, false], &[1e3, 1e3]);
    let solution = solve(&with_tolerance(1e-8), &problem, &Kernel::linear(), &x);
    assert_close(&solution.beta, &[0.5, -0.5]);
    assert_close(&[solution.bias, solution.report.objective], &[2.0, -0.5]);
    assert_eq!(solution.report.status, Status::Converged);

    let k = (-0.3f64 * 4.0).exp();
    let solution = solve(&with_tolerance(1e-8), &problem, &Kernel::rbf(0.3), &x);
    assert_close(&solution.beta, &[1.0 / (1.0 - k), -1.0 / (1.0 - k)]);
    assert_close(&[solution.bias], &[0.0]);
}

#[test]
fn two_points_at_the_bound() {
    let x = array![[1.0], [3.0]];
    let problem = hinge(&[true, false], &[0.1, 0.1]);
    let solution = solve(&Smo::default(), &problem, &Kernel::linear(), &x);
    assert_eq!(solution.beta, [0.1, -0.1]);
    // f(x) = -0.2 x + b may be anything between f(1) = 1 and f(3) = -1: the middle.
    assert_close(&[solution.bias], &[0.4]);
}

/// Exclusive or under (x.z + 1)^2 (Cherkassky, Mulier): alpha = 1/8, no bias.
#[test]
fn exclusive_or() {
    let x = array![[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]];
    let problem = hinge(&[true, true, false, false], &[10.0; 4]);
    let kernel = Kernel::polynomial(1.0, 1.0, 2);
    let solution = solve(&with_tolerance(1e-8), &problem, &kernel, &x);
    assert_close(&solution.beta, &[0.125, 0.125, -0.125, -0.125]);
    assert_close(&[solution.bias, solution.report.objective], &[0.0, -0.25]);
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
        start: vec![sum, 0.0, 0.0, 0.0, 0.0],
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
    assert_close(&[solution.bias], &[-(r * sum / n + mean)]);
}

/// K = I, p = -v, 0 <= beta, sum 1: the projection of v on the simplex. Here v - 1/4, cut at 0.
#[test]
fn projection_on_the_simplex() {
    let problem = DualProblem {
        linear: vec![-0.9, -0.1, -0.6],
        lower: vec![0.0; 3],
        upper: vec![1.0; 3],
        ridge: vec![0.0; 3],
        start: vec![0.0, 1.0, 0.0],
    };
    for kernel in [Kernel::Precomputed, Kernel::linear()] {
        let solution = solve(&with_tolerance(1e-8), &problem, &kernel, &Array2::eye(3));
        assert_close(&solution.beta, &[0.65, 0.0, 0.35]);
        assert_eq!(solution.beta[1], 0.0, "at its bound, not near it");
        assert_close(&[solution.bias], &[0.25]);
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
        start: vec![start; 2],
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
        assert!(solution.bias.is_finite());
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

// --- An interior-point oracle.

/// The optimal coefficients by Clarabel, to 1e-9 or better; None where it cannot promise that.
fn oracle(problem: &DualProblem, k: &Array2<f64>) -> Option<Vec<f64>> {
    let n = problem.start.len();
    let hessian: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| match i.cmp(&j) {
                    std::cmp::Ordering::Less => k[[i, j]],
                    std::cmp::Ordering::Equal => k[[i, i]] + problem.ridge[i],
                    std::cmp::Ordering::Greater => 0.0, // the upper triangle only
                })
                .collect()
        })
        .collect();
    let (mut equal, mut at_most) = (vec![(vec![1.0; n], problem.start.iter().sum())], Vec::new());
    for i in 0..n {
        let unit = |sign: f64| (0..n).map(|j| if i == j { sign } else { 0.0 }).collect();
        if problem.lower[i] == problem.upper[i] {
            equal.push((unit(1.0), problem.upper[i]));
            continue;
        }
        if problem.upper[i].is_finite() {
            at_most.push((unit(1.0), problem.upper[i]));
        }
        if problem.lower[i].is_finite() {
            at_most.push((unit(-1.0), -problem.lower[i]));
        }
    }
    let cones: [SupportedConeT<f64>; 2] = [ZeroConeT(equal.len()), NonnegativeConeT(at_most.len())];
    let (rows, right): (Vec<Vec<f64>>, Vec<f64>) = equal.into_iter().chain(at_most).unzip();
    let (hessian, rows) = (CscMatrix::from(&hessian), CscMatrix::from(&rows));
    // As accurate as it gets; near duplicates may not allow the first.
    [1e-11, 1e-10, 1e-9].into_iter().find_map(|accuracy| {
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: accuracy,
            tol_gap_rel: accuracy,
            tol_feas: accuracy,
            max_iter: 500,
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&hessian, &problem.linear, &rows, &right, &cones, settings)
                .expect("a well-formed programme");
        solver.solve();
        (solver.solution.status == SolverStatus::Solved).then(|| solver.solution.x.clone())
    })
}

/// A random problem: data with exact and near duplicates, bounds of every kind.
#[derive(Debug)]
struct Case {
    problem: DualProblem,
    kernel: Kernel,
    x: Array2<f64>,
}

fn case(seed: u64, n: usize, which: usize) -> Case {
    let mut random = Random::new(seed);
    let columns = 1 + random.below(4);
    let mut x = Array2::from_shape_fn((n, columns), |_| random.normal());
    for i in 1..n {
        if random.uniform() < 0.25 {
            let twin = x.row(random.below(i)).to_owned();
            let distance = [0.0, 1e-9, 1e-5][random.below(3)];
            x.row_mut(i).assign(&(twin + distance));
        }
    }
    let kernel = match which % 6 {
        0 => Kernel::linear(),
        1 => Kernel::rbf(0.5),
        2 => Kernel::polynomial(0.5, 1.0, 2),
        3 => Kernel::Laplacian { gamma: 0.7 },
        4 => Kernel::rbf(5.0),
        _ => Kernel::rbf(0.3) + 0.1 * Kernel::linear(),
    };
    let mut problem = DualProblem {
        linear: Vec::new(),
        lower: Vec::new(),
        upper: Vec::new(),
        ridge: Vec::new(),
        start: Vec::new(),
    };
    let classifier = random.uniform() < 0.4;
    for _ in 0..n {
        let positive = random.uniform() < 0.5;
        let mut ridge = if random.uniform() < 0.3 {
            0.01 + random.uniform()
        } else {
            0.0
        };
        let cost = 10f64.powf(3.0 * random.uniform() - 1.0);
        let (mut lower, mut upper) = match (classifier, positive) {
            (true, true) => (0.0, cost),
            (true, false) => (-cost, 0.0),
            (false, _) => (-cost * random.uniform(), cost),
        };
        if !classifier {
            match random.below(8) {
                0 => lower = upper, // fixed
                // Without a ridge there might be no minimum.
                1 => (upper, ridge) = (f64::INFINITY, ridge.max(0.05)),
                2 => (lower, ridge) = (f64::NEG_INFINITY, ridge.max(0.05)),
                3 => (lower, upper, ridge) = (f64::NEG_INFINITY, f64::INFINITY, ridge.max(0.05)),
                _ => {}
            }
        }
        problem.linear.push(match (classifier, positive) {
            (true, true) => -1.0,
            (true, false) => 1.0,
            (false, _) => 3.0 * random.normal(),
        });
        let inside =
            lower.max(-2.0) + random.uniform() * (upper.min(2.0) - lower.max(-2.0)).max(0.0);
        problem.start.push(match (classifier, random.below(4)) {
            (true, _) => 0.0,
            (false, 0) if lower.is_finite() => lower,
            (false, 1) if upper.is_finite() => upper,
            _ => inside.clamp(lower, upper),
        });
        problem.lower.push(lower);
        problem.upper.push(upper);
        problem.ridge.push(ridge);
    }
    Case { problem, kernel, x }
}

proptest! {
    // The oracle may fail where the feasible set has no interior; rarely, or the test is void.
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 8, ..Default::default() })]

    #[test]
    fn random_problems_agree_with_the_oracle(seed: u64, n in 2usize..40, which in 0usize..6) {
        let Case { problem, kernel, x } = case(seed, n, which);
        let best = oracle(&problem, &matrix(&kernel, &x));
        for tolerance in [1e-3, 1e-6] {
            for selection in [Selection::SecondOrder, Selection::FirstOrder] {
                let smo = Smo { selection, ..with_tolerance(tolerance) };
                let solution = solve(&smo, &problem, &kernel, &x);
                prop_assert_eq!(solution.report.status, Status::Converged);
                assert_feasible(&problem, &solution);
                let here = gradient(&problem, &kernel, &x, &solution.beta);
                let gap = gap(&problem, &solution.beta, &here);
                prop_assert!(gap <= 1.1 * tolerance, "gap {:e} > 1.1 * {:e}", gap, tolerance);
                let found = objective(&problem, &solution.beta, &here);
                let error = (solution.report.objective - found).abs();
                prop_assert!(error <= 1e-9 * (1.0 + found.abs()));
                let Some(best) = &best else {
                    continue;
                };
                let optimum = objective(&problem, best, &gradient(&problem, &kernel, &x, best));
                let allowed = 1e-6 * optimum.abs().max(1.0);
                if tolerance < 1e-5 {
                    prop_assert!((found - optimum).abs() <= allowed, "{} not {}", found, optimum);
                }
                // By convexity f - f* <= gap * (what has to move up to reach the optimum).
                let moves = solution.beta.iter().zip(best).map(|(a, b)| (a - b).abs());
                let bound = 1.1 * tolerance * 0.5 * moves.sum::<f64>();
                prop_assert!(found - optimum <= bound + allowed);
            }
        }
        prop_assume!(best.is_some());
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

/// Stops when asked for the n-th time.
struct StopAfter {
    asked: AtomicUsize,
    limit: usize,
}

impl Monitor for StopAfter {
    fn stop(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.limit
    }
}

#[test]
fn a_monitor_stops_it_anywhere() {
    let kernel = Kernel::rbf(0.25);
    let mut seen = 0;
    for rows in [100, 900] {
        let (problem, x) = overlapping(rows, 100.0);
        for limit in (0..40).chain([60, 100, 200, 400]) {
            let asked = AtomicUsize::new(0);
            let monitor = StopAfter { asked, limit };
            let solution = solve_watched(&Smo::default(), &problem, &kernel, &x, &monitor);
            assert_feasible(&problem, &solution);
            assert!(solution.bias.is_finite());
            if solution.report.status == Status::Interrupted {
                seen += 1;
                continue;
            }
            assert_eq!(solution.report.status, Status::Converged);
            assert!(
                monitor.asked.load(Ordering::Relaxed) <= limit,
                "asked but not heard"
            );
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
    let cut: [(&str, Vector); 5] = [
        ("linear", |problem| &mut problem.linear),
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
