//! Every machine's programme on hundreds and thousands of rows: blocks, nested blocks, shrinking,
//! the cache and rows in f32 are all in play. Whatever the settings, the gap holds in f64.

use crate::common;

use common::machines::{Given, Machine, all};
use common::qp::{assert_feasible, gap, gradient, objective, value};
use common::{Random, StopAfter};
use mercer::formulation::{Intercept, Loss};
use mercer::matrix::KernelMatrix;
use mercer::qp::{DualProblem, Monitor, Selection, Smo, Solution, Status, Unwatched};
use mercer::{Kernel, Samples};
use ndarray::Array2;
use std::time::Duration;

/// The programme of a machine, with its data.
struct Problem {
    machine: Machine,
    dual: DualProblem,
    kernel: Kernel,
    x: Array2<f64>,
}

impl Problem {
    /// Noisy numbers that bend over `columns` normal columns; weights differ, some are small.
    fn new(machine: Machine, kernel: Kernel, rows: usize, columns: usize) -> Self {
        Self::weighted(machine, kernel, rows, columns, 1.0)
    }

    /// The same with all weights times a factor, and so the costs.
    fn weighted(
        machine: Machine,
        kernel: Kernel,
        rows: usize,
        columns: usize,
        factor: f64,
    ) -> Self {
        let mut random = Random::new(81);
        let x = Array2::from_shape_fn((rows, columns), |_| random.normal());
        let y: Vec<f64> = x
            .rows()
            .into_iter()
            .map(|x| (1.5 * x[0]).sin() + 0.3 * x[1] * x[1] - 0.3 + 0.3 * random.normal())
            .collect();
        let weight: Vec<f64> = (0..rows)
            .map(|_| factor * (0.2 + 2.0 * random.uniform()))
            .collect();
        let diagonal: Vec<f64> = x.rows().into_iter().map(|x| value(&kernel, x, x)).collect();
        let given = Given {
            y: &y,
            weight: &weight,
        };
        Problem {
            machine,
            dual: machine.dual(given, &diagonal),
            kernel,
            x,
        }
    }

    fn solve_watched(&self, smo: &Smo, monitor: &dyn Monitor) -> Solution {
        let samples = Samples::try_from(self.x.view()).expect("finite");
        let index = (0..self.dual.start.len()).map(|variable| variable % self.x.nrows());
        let matrix = KernelMatrix::new(&self.kernel, &samples, index.collect()).expect("a matrix");
        let mut smo = *smo;
        // A solver that hangs is to fail, not to hang the tests.
        smo.stop.time_limit = Some(Duration::from_secs(60));
        smo.solve(&self.dual, &matrix, monitor).expect("a solution")
    }

    fn solve(&self, smo: &Smo) -> Solution {
        self.solve_watched(smo, &Unwatched)
    }

    /// Asserts that a solution is one, and returns its objective.
    fn check(&self, smo: &Smo, solution: &Solution) -> f64 {
        let about = format!("{:?}, {:?}: {smo:?}", self.machine, self.kernel);
        let tolerance = smo.stop.tolerance;
        assert_eq!(solution.report.status, Status::Converged, "{about}");
        assert_feasible(&self.dual, solution);
        let gradient = gradient(&self.dual, &self.kernel, &self.x, &solution.beta);
        let gap = gap(&self.dual, &solution.beta, &gradient);
        assert!(gap <= 1.1 * tolerance, "{about}: gap {gap:e}");
        assert!(solution.report.gap <= 1.1 * tolerance, "{about}");
        let objective = objective(&self.dual, &solution.beta, &gradient);
        // Told from a gradient that may have been updated in f32.
        let told = solution.report.objective;
        let error = (told - objective).abs();
        assert!(
            error <= 1e-5 * objective.abs().max(0.01),
            "{about}: {told} not {objective}"
        );
        objective
    }

    /// Two solutions of gap `tolerance` differ by at most this in their objectives, by convexity:
    /// what moves, and what the bias takes up, times the gap.
    fn allowed(&self, a: &Solution, b: &Solution, tolerance: f64) -> f64 {
        let moves = || a.beta.iter().zip(&b.beta).map(|(a, b)| a - b);
        let far = moves().map(f64::abs).sum::<f64>() + moves().sum::<f64>().abs();
        1.1 * tolerance * 0.5 * far + 1e-9
    }
}

fn with_tolerance(tolerance: f64) -> Smo {
    let mut smo = Smo::default();
    smo.stop.tolerance = tolerance;
    smo
}

/// Two rows: as little as a cache can be.
const TWO_ROWS: Option<usize> = Some(0);

fn settings(smo: Smo) -> [Smo; 5] {
    [
        smo,
        smo.shrinking(false),
        smo.selection(Selection::FirstOrder),
        smo.cache_bytes(TWO_ROWS),
        smo.shrinking(false).cache_bytes(1 << 17),
    ]
}

fn all_settings_agree(problem: &Problem, tolerance: f64) {
    let all = settings(with_tolerance(tolerance));
    let reference = problem.solve(&all[0]);
    let objective = problem.check(&all[0], &reference);
    for smo in &all[1..] {
        let solution = problem.solve(smo);
        let difference = (problem.check(smo, &solution) - objective).abs();
        let allowed = problem.allowed(&solution, &reference, tolerance);
        assert!(difference <= allowed, "{:?}: {smo:?}", problem.machine);
    }
}

#[test]
fn settings_do_not_change_a_solution() {
    for machine in all() {
        all_settings_agree(&Problem::new(machine, Kernel::rbf(0.3), 700, 4), 1e-3);
    }
}

#[test]
fn settings_do_not_change_a_tight_solution() {
    for machine in all() {
        all_settings_agree(&Problem::new(machine, Kernel::rbf(0.3), 400, 4), 1e-6);
    }
}

/// Fifteen hundred rows (three thousand variables with two per row) make several blocks.
#[test]
fn many_rows() {
    for machine in all() {
        let problem = Problem::new(machine, Kernel::rbf(0.15), 1500, 6);
        let smo = Smo::default();
        problem.check(&smo, &problem.solve(&smo));
    }
}

/// Large costs make hard problems: large blocks, solved through smaller ones.
#[test]
fn large_costs() {
    for machine in all() {
        let problem = Problem::weighted(machine, Kernel::rbf(1.0), 1200, 3, 20.0);
        let smo = Smo::default();
        problem.check(&smo, &problem.solve(&smo));
    }
}

/// Kernels of low rank: many variables are at a bound, and many solutions are equally good.
#[test]
fn other_kernels() {
    for kernel in [
        Kernel::linear(),
        Kernel::polynomial(0.3, 1.0, 3),
        Kernel::Laplacian { gamma: 0.2 },
        Kernel::rbf(0.1) + 0.5 * Kernel::linear(),
    ] {
        for machine in all() {
            let problem = Problem::new(machine, kernel.clone(), 600, 4);
            for smo in [Smo::default(), Smo::new().cache_bytes(TWO_ROWS)] {
                problem.check(&smo, &problem.solve(&smo));
            }
        }
    }
}

/// Rows that are the same, in twenty places.
#[test]
fn repeated_rows() {
    for machine in all() {
        let mut problem = Problem::new(machine, Kernel::rbf(0.5), 800, 3);
        for i in 20..800 {
            let row = problem.x.row(i % 20).to_owned();
            problem.x.row_mut(i).assign(&row);
        }
        for smo in settings(Smo::default()) {
            problem.check(&smo, &problem.solve(&smo));
        }
    }
}

/// Setting variables aside changes the path to the solution, or it did not happen. It pays most
/// where rows are not kept.
#[test]
fn shrinking_takes_place() {
    let mut without_any = Vec::new();
    for machine in all() {
        let problem = Problem::weighted(machine, Kernel::rbf(1.0), 1200, 2, 10.0);
        let smo = Smo::new().cache_bytes(TWO_ROWS);
        let with = problem.solve(&smo);
        let without = problem.solve(&smo.shrinking(false));
        problem.check(&smo, &with);
        if with.beta == without.beta {
            without_any.push(machine);
        }
    }
    // With squared slack most variables are free at the end, and there is little to set aside.
    let most = all().len() / 2;
    assert!(without_any.len() <= most, "{without_any:?}");
}

#[test]
fn runs_and_threads_change_no_bit() {
    for machine in all() {
        let problem = Problem::new(machine, Kernel::rbf(0.2), 1200, 5);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let smo = Smo::new().cache_bytes(2 << 20);
            pool.expect("a pool").install(|| problem.solve(&smo))
        };
        let one = on(1);
        for threads in [1, 2] {
            let other = on(threads);
            assert!(one.beta == other.beta, "{machine:?}, {threads} threads");
            assert_eq!(one.intercept.to_bits(), other.intercept.to_bits());
            assert_eq!(one.intercepts, other.intercepts);
            assert_eq!(one.report.gap.to_bits(), other.report.gap.to_bits());
            assert_eq!(one.report.iterations, other.report.iterations);
        }
    }
}

// --- Early ends.

#[test]
fn a_monitor_stops_it_anywhere_at_a_feasible_point() {
    for machine in all() {
        let mut interrupted = 0;
        for rows in [80, 600] {
            let problem = Problem::new(machine, Kernel::rbf(0.3), rows, 4);
            let smo = with_tolerance(1e-5).cache_bytes(1 << 18);
            for limit in (0..25).chain([40, 80, 160, 320]) {
                let monitor = StopAfter::new(limit);
                let solution = problem.solve_watched(&smo, &monitor);
                assert_feasible(&problem.dual, &solution);
                assert!(
                    solution.intercept.is_finite()
                        && solution.intercepts.iter().all(|b| b.is_finite())
                );
                assert!(solution.report.objective.is_finite());
                if solution.report.status == Status::Interrupted {
                    interrupted += 1;
                } else {
                    assert_eq!(solution.report.status, Status::Converged);
                    assert!(monitor.asked() <= limit, "asked but not heard");
                }
            }
        }
        assert!(interrupted >= 20, "{machine:?}: {interrupted} interrupted");
    }
}

/// The more steps, the better, and what is told is true.
#[test]
fn steps_run_out_at_a_feasible_point() {
    for machine in all() {
        for rows in [80, 600] {
            let problem = Problem::new(machine, Kernel::rbf(0.3), rows, 4);
            let mut last = f64::INFINITY;
            for steps in [0, 1, 7, 50] {
                let mut smo = with_tolerance(1e-9);
                smo.stop.max_iterations = Some(steps);
                let solution = problem.solve(&smo);
                assert_eq!(solution.report.status, Status::MaxIterations, "{machine:?}");
                assert_eq!(solution.report.iterations, steps);
                assert_feasible(&problem.dual, &solution);
                let gradient = gradient(&problem.dual, &problem.kernel, &problem.x, &solution.beta);
                let now = objective(&problem.dual, &solution.beta, &gradient);
                let error = (solution.report.objective - now).abs();
                assert!(
                    error <= 1e-5 * (1.0 + now.abs()),
                    "{machine:?}, {steps} steps"
                );
                let gap = gap(&problem.dual, &solution.beta, &gradient);
                let error = (solution.report.gap - gap).abs();
                assert!(error <= 1e-4 * (1.0 + gap), "{machine:?}: gap {gap}");
                assert!(now < last, "{machine:?}: every step goes down");
                last = now;
            }
        }
    }
}

/// Starting at the solution takes next to no steps.
#[test]
fn a_warm_start_stays_where_it_is() {
    for machine in all() {
        let mut problem = Problem::new(machine, Kernel::rbf(0.3), 500, 4);
        let smo = with_tolerance(1e-4);
        let cold = problem.solve(&smo);
        problem.dual.start = cold.beta.clone();
        let warm = problem.solve(&with_tolerance(1.2e-4));
        assert_eq!(warm.report.status, Status::Converged);
        let (few, many) = (warm.report.iterations, cold.report.iterations);
        assert!(10 * few <= many, "{machine:?}: {few} steps after {many}");
        assert_feasible(&problem.dual, &warm);
    }
}

// --- Without a minimum.

/// A kernel matrix of zeros lets nothing hold the coefficients back.
#[test]
fn what_has_no_minimum_diverges() {
    for rows in [10, 500] {
        for intercept in [Intercept::Free, Intercept::None, Intercept::Penalized] {
            for loss in [Loss::Linear, Loss::Squared] {
                let mut random = Random::new(82);
                let positive: Vec<bool> = (0..rows).map(|i| i % 2 == 0).collect();
                let cost = vec![f64::INFINITY; rows];
                let machine = Machine::Svc(loss, intercept);
                let problem = Problem {
                    machine,
                    dual: mercer::formulation::svc(&positive, &cost, loss, intercept),
                    kernel: 0.0 * Kernel::linear(),
                    x: Array2::from_shape_fn((rows, 2), |_| random.normal()),
                };
                let solution = problem.solve(&Smo::default());
                assert_eq!(
                    solution.report.status,
                    Status::Diverged,
                    "{machine:?}, {rows} rows"
                );
                assert!(solution.beta.iter().all(|beta| beta.is_finite()));
                assert!(solution.intercept.is_finite());
            }
        }
    }
}
