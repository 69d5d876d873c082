//! Smo on problems of thousands of rows: blocks, shrinking, the cache and rows in f32 are all in
//! play. Whatever the settings, the gap holds in f64, and the solutions agree.

use crate::common;

use common::clouds;
use common::qp::{assert_feasible, gap, gradient, objective};
use mercer::formulation::{Intercept, Loss, svc};
use mercer::matrix::KernelMatrix;
use mercer::qp::{DualProblem, Selection, Smo, Solution, Status, Unwatched};
use mercer::{Kernel, Samples};
use ndarray::{Array2, Axis, concatenate};

struct Problem {
    dual: DualProblem,
    kernel: Kernel,
    x: Array2<f64>,
}

impl Problem {
    /// Two normal classes, 1.5 standard deviations apart.
    fn new(rows: usize, columns: usize, kernel: Kernel, c: f64) -> Self {
        Self::apart(1.5, rows, columns, kernel, c)
    }

    fn apart(distance: f64, rows: usize, columns: usize, kernel: Kernel, c: f64) -> Self {
        let (x, labels) = clouds(rows, columns, 2, distance, 7);
        let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
        let dual = svc(&positive, &vec![c; rows], Loss::Linear, Intercept::Free);
        Problem { dual, kernel, x }
    }

    fn solve(&self, smo: &Smo) -> Solution {
        let samples = Samples::try_from(self.x.view()).expect("finite");
        let all = (0..self.x.nrows()).collect();
        let matrix = KernelMatrix::new(&self.kernel, &samples, all).expect("a matrix");
        smo.solve(&self.dual, &matrix, &Unwatched)
            .expect("a solution")
    }

    /// Asserts that a solution is one, and returns its objective.
    fn check(&self, smo: &Smo, solution: &Solution) -> f64 {
        let tolerance = smo.stop.tolerance;
        assert_eq!(solution.report.status, Status::Converged);
        assert_feasible(&self.dual, solution);
        let gradient = gradient(&self.dual, &self.kernel, &self.x, &solution.beta);
        let gap = gap(&self.dual, &solution.beta, &gradient);
        assert!(
            gap <= 1.1 * tolerance,
            "gap {gap:e} at tol {tolerance:e}: {smo:?}"
        );
        assert!(solution.report.gap <= 1.1 * tolerance);
        let objective = objective(&self.dual, &solution.beta, &gradient);
        // Told from a gradient that may have been updated in f32.
        let told = solution.report.objective;
        assert!(
            (told - objective).abs() <= 1e-5 * objective.abs(),
            "{told} not {objective}"
        );
        objective
    }

    /// Two solutions of gap `tolerance` differ by at most this in their objectives, by convexity.
    fn allowed(&self, a: &Solution, b: &Solution, tolerance: f64) -> f64 {
        let moves = a.beta.iter().zip(&b.beta).map(|(a, b)| (a - b).abs());
        1.1 * tolerance * 0.5 * moves.sum::<f64>() + 1e-9
    }
}

fn with_tolerance(tolerance: f64) -> Smo {
    let mut smo = Smo::default();
    smo.stop.tolerance = tolerance;
    smo
}

/// Two rows: as little as a cache can be.
const TWO_ROWS: Option<usize> = Some(0);

fn settings(tolerance: f64) -> [Smo; 5] {
    let smo = with_tolerance(tolerance);
    [
        smo,
        smo.shrinking(false),
        smo.selection(Selection::FirstOrder),
        smo.cache_bytes(TWO_ROWS),
        smo.cache_bytes(1 << 20),
    ]
}

fn all_settings_agree(problem: &Problem, tolerance: f64) {
    let all = settings(tolerance);
    let reference = problem.solve(&all[0]);
    let objective = problem.check(&all[0], &reference);
    for smo in &all[1..] {
        let solution = problem.solve(smo);
        let difference = (problem.check(smo, &solution) - objective).abs();
        assert!(difference <= problem.allowed(&solution, &reference, tolerance));
    }
}

#[test]
fn settings_do_not_change_an_easy_problem() {
    all_settings_agree(&Problem::new(3000, 10, Kernel::rbf(0.1), 1.0), 1e-3);
}

#[test]
fn settings_do_not_change_a_hard_problem() {
    all_settings_agree(&Problem::new(3000, 10, Kernel::rbf(0.1), 100.0), 1e-3);
}

/// With shrinking it begins with a sample.
#[test]
fn settings_do_not_change_a_problem_of_many_rows() {
    all_settings_agree(&Problem::new(5000, 10, Kernel::rbf(0.1), 1.0), 1e-3);
}

/// While a sample is solved rows are short: 1.97 n nSV are computed in all, and 2.15 without it.
#[test]
fn a_sample_saves_kernel_values() {
    let problem = Problem::apart(3.0, 12_000, 5, Kernel::rbf(0.2), 1.0);
    let smo = Smo::new().cache_bytes(TWO_ROWS);
    let solution = problem.solve(&smo);
    problem.check(&smo, &solution);
    let support = solution.beta.iter().filter(|&&beta| beta != 0.0).count();
    let share = solution.report.kernel_evaluations as f64 / (12_000 * support) as f64;
    assert!(share < 2.06, "{share:.2} n nSV kernel values");
}

#[test]
fn settings_do_not_change_a_tight_solution() {
    all_settings_agree(&Problem::new(1000, 5, Kernel::rbf(0.2), 10.0), 1e-6);
}

#[test]
fn other_kernels_and_storages() {
    let laplacian = Kernel::Laplacian { gamma: 0.1 };
    for kernel in [
        laplacian.clone(),
        Kernel::polynomial(0.1, 1.0, 3),
        Kernel::linear(),
        Kernel::rbf(0.1) + 0.5 * laplacian,
    ] {
        let problem = Problem::new(1500, 10, kernel, 1.0);
        let smo = Smo::default();
        problem.check(&smo, &problem.solve(&smo));
    }
}

/// Setting variables aside changes the path to the solution, or it did not happen. It pays most
/// where rows are not kept, so there it must happen.
#[test]
fn shrinking_takes_place_and_changes_nothing_else() {
    let problem = Problem::new(1500, 2, Kernel::rbf(1.0), 100.0);
    let smo = Smo::new().cache_bytes(TWO_ROWS);
    let with = problem.solve(&smo);
    let without = problem.solve(&smo.shrinking(false));
    assert!(with.beta != without.beta, "nothing was shrunk away");
    let difference = problem.check(&smo, &with) - problem.check(&smo, &without);
    assert!(difference.abs() <= problem.allowed(&with, &without, smo.stop.tolerance));
}

#[test]
fn runs_and_threads_change_no_bit() {
    for (c, smo) in [
        (1.0, Smo::default()),
        (100.0, Smo::new().cache_bytes(8 << 20)),
    ] {
        let problem = Problem::new(3000, 10, Kernel::rbf(0.1), c);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| problem.solve(&smo))
        };
        let one = on(1);
        for threads in [1, 2, 3] {
            let other = on(threads);
            assert!(one.beta == other.beta, "C {c}, {threads} threads");
            assert_eq!(one.intercept.to_bits(), other.intercept.to_bits());
            assert_eq!(one.report.gap.to_bits(), other.report.gap.to_bits());
            // How many kernel values are computed again depends on the memory at hand.
            assert_eq!(one.report.iterations, other.report.iterations);
        }
    }
}

/// A start that is not zero: the solution of a smaller C.
#[test]
fn a_warm_start_ends_where_a_cold_one_does() {
    let smo = Smo::default();
    let mut problem = Problem::new(2000, 5, Kernel::rbf(0.2), 1.0);
    let first = problem.solve(&smo);
    let scale = |values: &mut Vec<f64>| values.iter_mut().for_each(|value| *value *= 2.0);
    scale(&mut problem.dual.lower);
    scale(&mut problem.dual.upper);
    let cold = problem.solve(&smo);
    problem.dual.start = first.beta;
    let warm = problem.solve(&smo);
    let difference = problem.check(&smo, &warm) - problem.check(&smo, &cold);
    assert!(difference.abs() <= problem.allowed(&warm, &cold, smo.stop.tolerance));
    assert!(warm.report.iterations < cold.report.iterations);
}

// --- Where single precision would be wrong.

/// Coefficients of 1e4 magnify the rounding of f32 rows to far above the tolerance.
#[test]
fn large_costs_at_a_tight_tolerance() {
    let smo = with_tolerance(1e-6);
    for (kernel, c) in [
        (Kernel::linear(), 1e4),
        (Kernel::polynomial(0.5, 1.0, 2), 1e3),
        (Kernel::rbf(0.01), 1e4),
    ] {
        let problem = Problem::apart(2.5, 400, 3, kernel, c);
        problem.check(&smo, &problem.solve(&smo));
    }
}

/// Far from the origin a squared distance in f32 would have no digit right.
#[test]
fn data_far_from_the_origin() {
    for tolerance in [1e-3, 1e-6] {
        let smo = with_tolerance(tolerance);
        let mut problem = Problem::new(1000, 5, Kernel::rbf(0.2), 10.0);
        let near = problem.check(&smo, &problem.solve(&smo));
        problem.x += 1e4;
        let far = problem.solve(&smo);
        assert!((problem.check(&smo, &far) - near).abs() <= 1e-3 * near.abs());
    }
}

/// One feature a thousand times as wide as the others: centring does not help.
#[test]
fn features_of_different_scales() {
    for c in [1.0, 1e3] {
        let smo = with_tolerance(1e-5);
        let mut problem = Problem::new(800, 4, Kernel::rbf(0.5), c);
        problem.x.column_mut(3).mapv_inplace(|value| 1e3 * value);
        problem.check(&smo, &problem.solve(&smo));
    }
}

/// All of the classes on top of each other: every coefficient at its bound or tied.
#[test]
fn repeated_rows() {
    let mut problem = Problem::new(2000, 3, Kernel::rbf(1.0), 10.0);
    for i in 20..2000 {
        let row = problem.x.row(i % 20).to_owned();
        problem.x.row_mut(i).assign(&row);
    }
    // Every tenth label is wrong, so that twins disagree.
    for i in (0..2000).step_by(11) {
        problem.dual.linear[i] = -problem.dual.linear[i];
        let (lower, upper) = (problem.dual.lower[i], problem.dual.upper[i]);
        (problem.dual.lower[i], problem.dual.upper[i]) = (-upper, -lower);
    }
    for smo in settings(1e-3) {
        problem.check(&smo, &problem.solve(&smo));
    }
}

// --- Efficiency, counted.

/// A kernel row holds n values and each support vector needs one: n nSV is the least there is. The
/// small matrices of the blocks and the confirmation of the gap weigh less in larger problems. Features
/// that are zero make values dear enough to be kept whatever memory costs.
#[test]
fn kernel_values_are_computed_for_support_vectors_only() {
    for (rows, most) in [(4000, 1.6), (8000, 1.5)] {
        let mut problem = Problem::new(rows, 10, Kernel::rbf(0.1), 1.0);
        let zeros = Array2::zeros((rows, 300));
        problem.x = concatenate![Axis(1), problem.x, zeros];
        let solution = problem.solve(&Smo::default());
        assert_eq!(solution.report.status, Status::Converged);
        let support = solution.beta.iter().filter(|&&beta| beta != 0.0).count();
        let share = solution.report.kernel_evaluations as f64 / (rows * support) as f64;
        assert!(
            share <= most,
            "{share:.2} n nSV kernel values, n = {rows}, nSV = {support}"
        );
    }
}
