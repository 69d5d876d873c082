//! Solves that end early, by every limit there is: the point is feasible, and its gap is told.

mod common;

use common::clouds;
use mercer::qp::{Adatron, Solver};
use mercer::{Kernel, OneClassSvm, Svc, Svdd, Svr};
use std::time::Duration;

/// The linear kernel far from the origin: with Adatron each of these panicked when its time was over.
#[test]
fn adatron_far_from_the_origin() {
    let (mut x, labels) = clouds(60, 2, 2, 2.0, 1);
    x += 1000.0;
    let target: Vec<f64> = x.rows().into_iter().map(|row| row[0].sin()).collect();
    let solver = Solver::from(Adatron::new().time_limit(Duration::from_millis(100)));
    let kernel = Kernel::linear();
    let svc = Svc::new(kernel.clone())
        .solver(solver)
        .fit(x.view(), &labels)
        .unwrap();
    eprintln!("{:?}", svc.reports()[0]);
    let svr = Svr::new(kernel.clone())
        .solver(solver)
        .fit(x.view(), &target)
        .unwrap();
    eprintln!("{:?}", svr.report());
    let plane = OneClassSvm::new(kernel.clone())
        .solver(solver)
        .fit(x.view())
        .unwrap();
    eprintln!("{:?}", plane.report());
    let sphere = Svdd::new(kernel).solver(solver).fit(x.view()).unwrap();
    eprintln!("{:?}", sphere.report());
}
