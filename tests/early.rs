//! The Adatron with a linear kernel far from the origin: it ends by every limit, and needs none.

use crate::common;

use common::clouds;
use mercer::qp::{Adatron, Report, Solver, Status};
use mercer::{Kernel, OneClassSvm, Svc, Svdd, Svr};
use std::time::Duration;

/// Trains every machine far from the origin.
fn reports(solver: Adatron) -> Vec<Report> {
    let (mut x, labels) = clouds(60, 2, 2, 2.0, 1);
    x += 1000.0;
    let target: Vec<f64> = x.rows().into_iter().map(|row| row[0].sin()).collect();
    let (solver, kernel) = (Solver::from(solver), Kernel::linear());
    let svc = Svc::new(kernel.clone()).solver(solver);
    let svr = Svr::new(kernel.clone()).solver(solver);
    let plane = OneClassSvm::new(kernel.clone()).solver(solver);
    let sphere = Svdd::new(kernel).solver(solver);
    vec![
        svc.fit(x.view(), &labels).unwrap().reports()[0],
        *svr.fit(x.view(), &target).unwrap().report(),
        *plane.fit(x.view()).unwrap().report(),
        *sphere.fit(x.view()).unwrap().report(),
    ]
}

/// Each of these panicked when its time was over.
#[test]
fn time_that_is_over_is_no_panic() {
    for report in reports(Adatron::new().time_limit(Duration::ZERO)) {
        assert_eq!(report.status, Status::TimeLimit);
        assert!(report.gap > 1e-3, "{}", report.gap);
    }
}

/// Rows are centred, or the search for the intercept would crawl.
#[test]
fn the_distance_costs_no_epochs() {
    for report in reports(Adatron::new().max_iterations(2000)) {
        assert_eq!(report.status, Status::Converged);
        assert!(report.gap <= 1e-3, "{}", report.gap);
    }
}
