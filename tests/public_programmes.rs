//! Public quadratic programmes as problems with a precomputed kernel: those of the Maros-Meszaros
//! collection that have a box and at most one row, and the duals of some that have more. The optimum is
//! that of an interior-point method (Clarabel) on the programme as published.

use crate::common;

use common::naive::gradient;
use common::qp::{assert_feasible, gap, objective};
use common::qps::{Posed, Public};
use mercer::matrix::KernelMatrix;
use mercer::qp::{Adatron, Smo, Solution, Solver, Status, Unwatched};
use mercer::{Kernel, Samples};
use std::path::Path;

/// The tolerance, as a share of the largest linear term.
const TOLERANCE: f64 = 1e-10;
/// How far from Clarabel's an optimum may be, relative to it or to 1 if that is more. Clarabel's own
/// is good to 1e-9 or better.
const OPTIMUM: f64 = 1e-9;

fn read(name: &str) -> Public {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/maros_meszaros");
    let text = std::fs::read_to_string(folder.join(format!("{name}.qps"))).expect("a fixture");
    Public::read(&text)
}

fn solve(solver: &Solver, posed: &Posed) -> Solution {
    let samples = Samples::try_from(posed.matrix.view()).expect("finite");
    let all = (0..posed.problem.start.len()).collect();
    let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, all).expect("a matrix");
    let solution = match solver {
        Solver::Smo(smo) => smo.solve(&posed.problem, &matrix, &Unwatched),
        Solver::Adatron(adatron) => adatron.solve(&posed.problem, &matrix, &Unwatched),
        Solver::Npa(_) | Solver::Chunking(_) => unreachable!("not among those tried here"),
    };
    solution.expect("a solution")
}

fn tolerance(posed: &Posed) -> f64 {
    let sizes = posed.problem.linear.iter().map(|value| value.abs());
    TOLERANCE * sizes.fold(1.0, f64::max)
}

/// Asserts that a solution is feasible, converged as told, and has the optimum of the programme.
fn assert_optimal(name: &str, posed: &Posed, solution: &Solution, best: f64) {
    let report = &solution.report;
    assert_eq!(report.status, Status::Converged, "{name}: {report:?}");
    assert_feasible(&posed.problem, solution);
    let gradient = gradient(&posed.problem, &posed.matrix, &solution.beta);
    let gap = gap(&posed.problem, &solution.beta, &gradient);
    assert!(gap <= report.gap, "{name}: {gap} > {}", report.gap);
    assert!(report.gap <= tolerance(posed), "{name}: {}", report.gap);
    let own = objective(&posed.problem, &solution.beta, &gradient);
    let found = posed.sign * own + posed.constant;
    let error = (found - best).abs() / best.abs().max(1.0);
    assert!(error <= OPTIMUM, "{name}: {found}, not {best}");
}

fn smo(posed: &Posed) -> Solver {
    let mut smo = Smo::new();
    smo.stop.tolerance = tolerance(posed);
    Solver::Smo(smo)
}

fn adatron(posed: &Posed) -> Solver {
    let mut adatron = Adatron::new().max_iterations(1_000_000);
    adatron.stop.tolerance = tolerance(posed);
    Solver::Adatron(adatron)
}

#[test]
fn a_box_and_at_most_one_row() {
    for name in [
        "DUAL1", "DUAL2", "DUAL3", "DUAL4", "TAME", "VALUES", "HS21", "HS35", "HS35MOD",
    ] {
        let public = read(name);
        let best = public.minimum().expect("an optimum");
        let posed = public.posed();
        for solver in [smo(&posed), adatron(&posed)] {
            assert_optimal(name, &posed, &solve(&solver, &posed), best);
        }
    }
}

#[test]
fn duals_of_strictly_convex_programmes() {
    for name in [
        "DUAL1", "DUAL2", "DUAL3", "DUAL4", "DUALC1", "DUALC5", "HS21", "HS35", "HS35MOD", "HS76",
        "HS118", "HS268", "QPCBLEND", "QPTEST",
    ] {
        let public = read(name);
        let best = public.minimum().expect("an optimum");
        let posed = public.dual();
        assert_optimal(name, &posed, &solve(&smo(&posed), &posed), best);
    }
}

/// The files hold what was published: the optima are those that the collection lists, to their digits.
#[test]
fn optima_are_those_of_the_collection() {
    for (name, listed) in [
        ("DUAL1", 3.5012966e-2),
        ("DUAL2", 3.3733676e-2),
        ("DUAL3", 1.3575584e-1),
        ("DUAL4", 7.4609084e-1),
        ("DUALC1", 6.1552508e3),
        ("DUALC5", 4.2723233e2),
        ("HS118", 6.6482045e2),
        ("HS21", -9.9960000e1),
        ("HS35", 1.1111111e-1),
        ("HS35MOD", 2.5000000e-1),
        ("HS76", -4.6818182),
        ("QPTEST", 4.3718750),
        ("TAME", 0.0),
        ("VALUES", -1.3966211),
    ] {
        let best = read(name).minimum().expect("an optimum");
        let error = (best - listed).abs();
        assert!(error <= 1e-7 * listed.abs(), "{name}: {best}, not {listed}");
    }
}
