//! Random programmes of every kind, both solvers, every limit: whatever the status, the point is
//! feasible, no worse than the start, and its gap is not larger than reported; a point that is told to
//! be converged is as good as that of a naive solver.

use crate::common;

use common::naive::{Naive, gradient};
use common::qp::{gap, objective};
use common::{Random, StopAfter};
use mercer::matrix::KernelMatrix;
use mercer::qp::{
    Adatron, Constraint, DualProblem, Monitor, Selection, Smo, Solution, Solver, Status, StopRule,
    Unwatched,
};
use mercer::{Kernel, Samples};
use ndarray::Array2;
use proptest::prelude::*;
use std::time::Duration;

/// A programme with its matrix, written out.
struct Case {
    problem: DualProblem,
    matrix: Array2<f64>,
    samples: Samples,
    kernel: Kernel,
}

/// What is random about a case.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    rows: usize,
    columns: usize,
    kernel: usize,
    constraint: usize,
    /// The cost, as a power of ten.
    cost: i32,
    seed: u64,
}

fn recipe(rows: std::ops::Range<usize>) -> impl Strategy<Value = Recipe> {
    (
        rows,
        1usize..6,
        0usize..6,
        0usize..4,
        -2i32..5,
        any::<u64>(),
    )
        .prop_map(|(rows, columns, kernel, constraint, cost, seed)| Recipe {
            rows,
            columns,
            kernel,
            constraint,
            cost,
            seed,
        })
}

/// Kernel values by their formulas.
fn values(kernel: &Kernel, x: &Array2<f64>) -> Array2<f64> {
    match kernel {
        Kernel::InverseMultiquadric { c } => {
            Array2::from_shape_fn((x.nrows(), x.nrows()), |(i, j)| {
                let pairs = x.row(i).into_iter().zip(x.row(j));
                let squared: f64 = pairs.map(|(x, z)| (x - z) * (x - z)).sum();
                1.0 / (squared + c * c).sqrt()
            })
        }
        _ => common::qp::matrix(kernel, x),
    }
}

impl Case {
    fn new(recipe: Recipe) -> Self {
        let Recipe { rows, columns, .. } = recipe;
        let mut random = Random::new(recipe.seed);
        let offset = [0.0, 0.0, 3.0, 300.0][random.below(4)];
        let mut x = Array2::from_shape_fn((rows, columns), |_| offset + random.normal());
        // Some rows are there twice.
        for i in (1..rows).filter(|i| i % 7 == 0) {
            let twin = x.row(i - 1).to_owned();
            x.row_mut(i).assign(&twin);
        }
        let kernel = match recipe.kernel {
            0 => Kernel::linear(),
            1 => Kernel::rbf(0.5),
            2 => Kernel::laplacian(0.3),
            3 => Kernel::polynomial(0.5 / (1.0 + offset * offset), 1.0, 2),
            4 => Kernel::inverse_multiquadric(1.5),
            _ => Kernel::precomputed(),
        };
        let matrix = match recipe.kernel {
            5 => values(&Kernel::rbf(0.5), &x),
            _ => values(&kernel, &x),
        };
        let given = match recipe.kernel {
            5 => matrix.view(),
            _ => x.view(),
        };
        let samples = Samples::try_from(given).expect("finite");
        let problem = problem(recipe, &mut random);
        Case {
            problem,
            matrix,
            samples,
            kernel,
        }
    }

    fn solve(&self, solver: &Solver, monitor: &dyn Monitor) -> Solution {
        let all = (0..self.samples.rows()).collect();
        let matrix = KernelMatrix::new(&self.kernel, &self.samples, all).expect("a matrix");
        let solved = solver.solve(&self.problem, &matrix, monitor);
        solved.expect("a solution")
    }

    fn gradient(&self, beta: &[f64]) -> Vec<f64> {
        gradient(&self.problem, &self.matrix, beta)
    }

    fn objective(&self, beta: &[f64]) -> f64 {
        objective(&self.problem, beta, &self.gradient(beta))
    }

    /// Bounds the rounding of a naive gradient.
    fn rounding(&self, beta: &[f64]) -> f64 {
        let largest = self.matrix.iter().fold(0.0f64, |max, k| max.max(k.abs()));
        let size: f64 = beta.iter().map(|beta| beta.abs()).sum();
        let linear = self
            .problem
            .linear
            .iter()
            .fold(0.0f64, |a, b| a.max(b.abs()));
        (beta.len() + 8) as f64 * f64::EPSILON * (largest * size + linear)
    }
}

/// A random programme: some variables cannot move, some have no bound but a ridge, some a kink.
fn problem(recipe: Recipe, random: &mut Random) -> DualProblem {
    let n = recipe.rows;
    let cost = 10f64.powi(recipe.cost);
    let kinks = random.below(2) == 0;
    let mut problem = DualProblem {
        linear: (0..n).map(|_| random.normal()).collect(),
        absolute: vec![0.0; n],
        lower: vec![0.0; n],
        upper: vec![0.0; n],
        ridge: vec![0.0; n],
        start: vec![0.0; n],
        constraint: match recipe.constraint {
            0 => Constraint::Sum,
            1 => Constraint::TwoSums((0..n).map(|_| random.below(2) == 0).collect()),
            2 => Constraint::Penalized,
            _ => Constraint::None,
        },
    };
    let zero_start = random.below(3) == 0;
    for i in 0..n {
        let (low, high) = match random.below(8) {
            0 => (0.0, 0.0),
            1 => (f64::NEG_INFINITY, f64::INFINITY),
            2 => (0.0, f64::INFINITY),
            3 => (-cost * random.uniform(), cost * random.uniform()),
            4 => (-cost, 0.0),
            _ => (0.0, cost),
        };
        (problem.lower[i], problem.upper[i]) = (low, high);
        if low.is_infinite() || high.is_infinite() || random.below(5) == 0 {
            problem.ridge[i] = (0.1 + random.uniform()) / cost;
        }
        if kinks {
            problem.absolute[i] = random.uniform();
        }
        let share = random.uniform();
        if !zero_start {
            let (low, high) = (low.max(-cost), high.min(cost));
            problem.start[i] = low + share * (high - low);
        }
    }
    problem
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    None,
    Iterations(u64),
    Microseconds(u64),
    Questions(usize),
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        2 => Just(Limit::None),
        2 => (0u64..200).prop_map(Limit::Iterations),
        1 => (0u64..2000).prop_map(Limit::Microseconds),
        2 => (0usize..60).prop_map(Limit::Questions),
    ]
}

fn solver() -> impl Strategy<Value = Solver> {
    let cache = prop_oneof![Just(None), Just(Some(0)), Just(Some(20_000))];
    let smo =
        (any::<bool>(), any::<bool>(), cache.clone()).prop_map(|(shrinking, first, cache)| {
            let selection = match first {
                true => Selection::FirstOrder,
                false => Selection::SecondOrder,
            };
            let smo = Smo::new().shrinking(shrinking).selection(selection);
            Solver::from(smo.cache_bytes(cache))
        });
    let adatron = (0.3f64..1.8, cache)
        .prop_map(|(eta, cache)| Solver::from(Adatron::new().eta(eta).cache_bytes(cache)));
    prop_oneof![3 => smo, 2 => adatron]
}

/// The steps of the naive solver.
const STEPS: usize = 20_000;

/// Asserts that the coefficients are within their bounds, exactly, and have the sums of the start, up to a
/// rounding of each and a few of the largest on the way.
fn assert_feasible(problem: &DualProblem, solution: &Solution) {
    let beta = &solution.beta;
    for (i, &beta) in beta.iter().enumerate() {
        assert!(problem.lower[i] <= beta && beta <= problem.upper[i] && beta.is_finite());
    }
    let bounds = problem.lower.iter().chain(&problem.upper);
    let largest = bounds.filter(|bound| bound.is_finite());
    let largest = largest.fold(0.0f64, |max, bound| max.max(bound.abs()));
    for group in [false, true] {
        let members = || {
            (0..beta.len()).filter(|&i| match &problem.constraint {
                Constraint::Sum => !group,
                Constraint::TwoSums(second) => second[i] == group,
                _ => false,
            })
        };
        let error: f64 = members().map(|i| beta[i] - problem.start[i]).sum();
        let size: f64 = members()
            .map(|i| beta[i].abs() + problem.start[i].abs())
            .sum();
        let steps = solution.report.iterations as f64;
        let allowed = f64::EPSILON * (beta.len() as f64 * size + (8.0 + steps.sqrt()) * largest);
        assert!(error.abs() <= allowed, "the sum moved by {error:e}");
    }
}

fn check(case: &Case, solution: &Solution, tolerance: f64) {
    let (problem, report) = (&case.problem, &solution.report);
    assert_feasible(problem, solution);
    let gradient = case.gradient(&solution.beta);
    let rounding = case.rounding(&solution.beta);
    let true_gap = gap(problem, &solution.beta, &gradient);
    assert!(
        report.gap.max(0.0) >= true_gap - 2.0 * rounding,
        "{:?}: the gap is {true_gap:e}, not {:e}",
        report.status,
        report.gap
    );
    let size: f64 = solution.beta.iter().map(|beta| beta.abs()).sum();
    let found = objective(problem, &solution.beta, &gradient);
    let start = case.objective(&problem.start);
    let allowed = rounding * (1.0 + size) + 1e-12 * (start.abs() + found.abs());
    assert!(
        found <= start + allowed,
        "{:?}: {found} > {start}",
        report.status
    );
    if report.status != Status::Converged {
        return;
    }
    assert!(report.gap <= tolerance, "{:e} > {tolerance:e}", report.gap);
    let reference = Naive::new(problem, &case.matrix).solve(STEPS);
    let best = case.objective(&reference);
    let apart = solution
        .beta
        .iter()
        .zip(&reference)
        .map(|(a, b)| (a - b).abs());
    // By convexity the objective is above that of another point by no more than the gap times what has
    // to move; without a fixed sum that moves against the intercept.
    let allowed = allowed + report.gap.max(0.0) * apart.sum::<f64>() + 1e-9 * best.abs();
    assert!(found <= best + allowed, "{found} > {best}");
}

fn run(recipe: Recipe, mut solver: Solver, limit: Limit, exponent: i32) {
    let mut case = Case::new(recipe);
    if matches!(solver, Solver::Adatron(_)) && recipe.constraint == 1 {
        case.problem.constraint = Constraint::Sum;
    }
    let tolerance = 10f64.powi(exponent);
    let mut rule = StopRule::new().tolerance(tolerance);
    // No problem is worth more: some of the random ones would take Adatron for ever.
    rule = rule.time_limit(Duration::from_millis(500));
    match limit {
        Limit::Iterations(iterations) => rule = rule.max_iterations(iterations),
        Limit::Microseconds(time) => rule = rule.time_limit(Duration::from_micros(time)),
        _ => {}
    }
    *solver.stop_mut() = rule;
    let solution = match limit {
        Limit::Questions(limit) => case.solve(&solver, &StopAfter::new(limit)),
        _ => case.solve(&solver, &Unwatched),
    };
    check(&case, &solution, tolerance);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn small_programmes(
        recipe in recipe(1..40), solver in solver(), limit in limit(), exponent in -7i32..0,
    ) {
        run(recipe, solver, limit, exponent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Rows in f32, variables set aside, several blocks.
    #[test]
    fn larger_programmes(
        recipe in recipe(257..700), solver in solver(), limit in limit(), exponent in -5i32..0,
    ) {
        run(recipe, solver, limit, exponent);
    }
}
