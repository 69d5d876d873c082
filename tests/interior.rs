//! The interior-point method: random programmes against the oracle, every machine against pair steps,
//! early ends, and that threads change nothing.

use crate::common;

use common::machines::{Given, all};
use common::qp::{assert_feasible, gap, gradient, matrix, objective};
use common::random_qp::{Case, case, oracle, solve};
use common::{Random, StopAfter};
use mercer::formulation::{Intercept, Loss, svc};
use mercer::matrix::KernelMatrix;
use mercer::qp::{Algorithm, DualProblem, Interior, Smo, Solution, Status, Unwatched};
use mercer::{Kernel, Samples, Svc};
use ndarray::Array2;
use proptest::prelude::*;

/// More iterations than the method takes, and fewer than any pair steps after it would: they would show
/// that it did not get there by itself.
const ITERATIONS: u64 = 90;

fn interior(tolerance: f64) -> Smo {
    Smo::new().interior(Interior::Always).tolerance(tolerance)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_global_rejects: 20, ..Default::default() })]

    #[test]
    fn random_problems_agree_with_the_oracle(seed: u64, n in 2usize..40) {
        let Case { problem, kernel, x } = case(seed, n, 0);
        let best = oracle(&problem, &matrix(&kernel, &x));
        for tolerance in [1e-3, 1e-6] {
            let solution = solve(&interior(tolerance), &problem, &kernel, &x);
            prop_assert_eq!(solution.report.status, Status::Converged);
            assert_feasible(&problem, &solution);
            let here = gradient(&problem, &kernel, &x, &solution.beta);
            let gap = gap(&problem, &solution.beta, &here);
            prop_assert!(gap <= 1.1 * tolerance, "gap {:e} > 1.1 * {:e}", gap, tolerance);
            let found = objective(&problem, &solution.beta, &here);
            let error = (solution.report.objective - found).abs();
            prop_assert!(error <= 1e-9 * (1.0 + found.abs()));
            if let Some(best) = &best && tolerance < 1e-5 {
                let optimum = objective(&problem, best, &gradient(&problem, &kernel, &x, best));
                let allowed = 1e-6 * optimum.abs().max(1.0);
                prop_assert!((found - optimum).abs() <= allowed, "{} not {}", found, optimum);
            }
        }
        prop_assume!(best.is_some());
    }
}

/// Random programmes of more rows than are polished by pair steps: the method gets there by itself.
#[test]
fn random_problems_need_no_pair_steps() {
    for seed in 0..60 {
        let Case { problem, kernel, x } = case(seed, 300, 0);
        for tolerance in [1e-3, 1e-6] {
            let solution = solve(&interior(tolerance), &problem, &kernel, &x);
            let report = solution.report;
            assert_eq!(report.status, Status::Converged, "seed {seed}");
            assert_eq!(report.method, Algorithm::Interior, "seed {seed}");
            assert!(report.iterations < ITERATIONS, "seed {seed}: {report:?}");
            assert_feasible(&problem, &solution);
            let here = gradient(&problem, &kernel, &x, &solution.beta);
            let gap = gap(&problem, &solution.beta, &here);
            assert!(gap <= tolerance, "seed {seed}: gap {gap:e}");
        }
    }
}

/// Rows around the origin, and a number per row whose sign follows the first column.
fn data(rows: usize, columns: usize) -> (Array2<f64>, Vec<f64>) {
    let mut random = Random::new(7);
    let x = Array2::from_shape_fn((rows, columns), |_| random.normal());
    let y = x.rows().into_iter();
    let y = y.map(|x| x[0] + 0.3 * x[1].sin() - 0.1 + 0.4 * random.normal());
    (x.clone(), y.collect())
}

#[test]
fn every_machine_is_that_of_pair_steps() {
    let (mut x, y) = data(400, 5);
    // From which one class is to be parted.
    x.column_mut(4).mapv_inplace(|value| value + 3.0);
    let mut random = Random::new(9);
    let weight: Vec<f64> = (0..400).map(|_| random.below(4) as f64).collect();
    let given = Given {
        y: &y,
        weight: &weight,
    };
    for kernel in kernels_with_features() {
        let x = x.view();
        assert_machines_agree(&kernel, x, given);
    }
}

/// Kernels with few features, of rows of five numbers.
fn kernels_with_features() -> [Kernel; 3] {
    let quadratic = || Kernel::polynomial(0.1, 1.0, 2);
    let scaled = Kernel::Scaled(0.5, Box::new(Kernel::linear()));
    [
        Kernel::linear(),
        quadratic(),
        Kernel::Sum(vec![scaled, Kernel::polynomial(0.05, 0.0, 3)]),
    ]
}

fn assert_machines_agree(kernel: &Kernel, x: ndarray::ArrayView2<f64>, given: Given) {
    for machine in all() {
        let fit = |smo: Smo| {
            let model = machine.fit(kernel, smo, x, given, &Unwatched);
            model.expect("a model")
        };
        let (found, expected) = (
            fit(interior(1e-7)),
            fit(Smo::new().interior(Interior::Never).tolerance(1e-7)),
        );
        let (report, other) = (found.report(), expected.report());
        assert_eq!(report.method, Algorithm::Interior, "{machine:?}");
        assert_eq!(other.method, Algorithm::Smo, "{machine:?}");
        assert_eq!(report.status, Status::Converged, "{machine:?}");
        assert!(report.gap <= 1e-7, "{machine:?}: {report:?}");
        assert!(report.iterations < ITERATIONS, "{machine:?}: {report:?}");
        let error = (report.objective - other.objective).abs();
        assert!(error <= 1e-8 * (1.0 + other.objective.abs()), "{machine:?}");
        let (f, g) = (found.decide(x), expected.decide(x));
        for (f, g) in f.expect("values").iter().zip(g.expect("values")) {
            assert!(
                (f - g).abs() <= 1e-5 * (1.0 + g.abs()),
                "{machine:?}: {f} {g}"
            );
        }
    }
}

fn overlapping(rows: usize, c: f64) -> (DualProblem, Samples) {
    let (x, y) = data(rows, 6);
    let positive: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let problem = svc(&positive, &vec![c; rows], Loss::Linear, Intercept::Free);
    (problem, Samples::try_from(x.view()).expect("finite"))
}

fn solved(problem: &DualProblem, samples: &Samples, limit: usize) -> (Solution, usize) {
    let all = (0..samples.rows()).collect();
    let matrix = KernelMatrix::new(&Kernel::linear(), samples, all).expect("a matrix");
    let monitor = StopAfter::new(limit);
    let solution = interior(1e-3).solve(problem, &matrix, &monitor);
    (solution.expect("a solution"), monitor.asked())
}

#[test]
fn a_monitor_stops_it_anywhere_at_a_feasible_point() {
    let (problem, samples) = overlapping(500, 10.0);
    let (whole, asked) = solved(&problem, &samples, usize::MAX);
    assert_eq!(whole.report.status, Status::Converged);
    assert!(asked > 100, "asked {asked} times");
    let mut interrupted = 0;
    for limit in 0..asked {
        let (solution, _) = solved(&problem, &samples, limit);
        match solution.report.status {
            Status::Interrupted => interrupted += 1,
            // Only the objective was still to be computed.
            status => assert_eq!(status, Status::Converged, "{limit}"),
        }
        assert_feasible(&problem, &solution);
        assert!(solution.report.gap > 0.0);
    }
    assert!(interrupted > asked / 2, "{interrupted} of {asked}");
}

#[test]
fn threads_change_nothing() {
    let (problem, samples) = overlapping(6000, 100.0);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool")
            .install(|| solved(&problem, &samples, usize::MAX).0)
    };
    let one = on(1);
    assert_eq!(one.report.method, Algorithm::Interior);
    for threads in [2, 3] {
        let more = on(threads);
        assert_eq!(one.beta, more.beta);
        assert_eq!(one.report.gap, more.report.gap);
    }
}

/// Pair steps hand over when they have taken as long as the method would.
#[test]
fn hard_problems_are_handed_over_and_easy_ones_are_not() {
    let (x, y) = data(8000, 10);
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let method = |c: f64| {
        let model = Svc::new(Kernel::linear()).c(c).fit(x.view(), &labels);
        model.expect("a model").reports()[0].method
    };
    assert_eq!(method(1e-3), Algorithm::Smo);
    assert_eq!(method(1e4), Algorithm::Interior);
    // A kernel without features is left to pair steps.
    let rbf = Svc::new(Kernel::rbf(0.1)).solver(interior(1e-3));
    let model = rbf.fit(x.view(), &labels).expect("a model");
    assert_eq!(model.reports()[0].method, Algorithm::Smo);
}
