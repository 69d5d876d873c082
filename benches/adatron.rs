//! Adatron with every row in the cache, beside a plain loop over a precomputed matrix in f64 that
//! takes as many epochs with the same steps, and beside Smo to the same tolerance. And the solvers of
//! the papers beside Smo, with empty caches: the Adatron as published, nearest points, and chunking.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mercer::formulation::{Intercept, Loss, svc};
use mercer::matrix::{KernelMatrix, KernelRows};
use mercer::qp::{Adatron, Chunking, DualProblem, Npa, Order, Smo, Solver, Unwatched};
use mercer::{Kernel, Samples};
use std::time::Duration;

/// Epochs of the classifier without a bias: every step that is not zero adds a row to the gradient.
fn plain_loop(k: &ndarray::Array2<f64>, problem: &DualProblem, epochs: u64) -> Vec<f64> {
    let n = k.nrows();
    let mut random = common::Random::new(0);
    let mut order: Vec<usize> = (0..n).collect();
    let (mut beta, mut gradient) = (vec![0.0; n], problem.linear.clone());
    for _ in 0..epochs {
        for last in (1..n).rev() {
            order.swap(last, random.below(last + 1));
        }
        for &i in &order {
            let to = beta[i] - gradient[i] / k[(i, i)];
            let change = to.clamp(problem.lower[i], problem.upper[i]) - beta[i];
            if change != 0.0 {
                beta[i] += change;
                for (gradient, value) in gradient.iter_mut().zip(k.row(i)) {
                    *gradient += change * value;
                }
            }
        }
    }
    beta
}

fn adatron(c: &mut Criterion) {
    let mut group = c.benchmark_group("adatron");
    group.sample_size(10);
    group.warm_up_time(Duration::from_secs(1));
    for (rows, columns) in [(1000, 5), (4000, 20)] {
        let (x, labels) = common::clouds(rows, columns, 2, 1.5, 1);
        let samples = Samples::try_from(x.view()).expect("finite data");
        let kernel = Kernel::rbf(1.0 / columns as f64);
        let matrix = KernelMatrix::new(&kernel, &samples, (0..rows).collect()).expect("a matrix");
        let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
        let problem = svc(&positive, &vec![1.0; rows], Loss::Linear, Intercept::None);
        let (solver, smo) = (Adatron::default(), Smo::default());
        // The first solve fills the cache.
        let mut cached = KernelRows::new(&matrix);
        let solve = |cached: &mut KernelRows| solver.solve_on(&problem, cached, &Unwatched);
        let epochs = solve(&mut cached).expect("a solution").report.iterations;
        let size = format!("{rows}x{columns}, {epochs} epochs");
        let id = BenchmarkId::new("adatron", &size);
        group.bench_function(id, |b| b.iter(|| solve(&mut cached)));
        let k = kernel.matrix(&samples, &samples).expect("a matrix");
        let id = BenchmarkId::new("plain_loop", &size);
        group.bench_function(id, |b| b.iter(|| plain_loop(&k, &problem, epochs)));
        let mut cached = KernelRows::new(&matrix);
        let id = BenchmarkId::new("smo", &size);
        let solve = |cached: &mut KernelRows| smo.solve_on(&problem, cached, &Unwatched);
        group.bench_function(id, |b| b.iter(|| solve(&mut cached)));
    }
    group.finish();
}

/// Every solver on the same squared hinge, which all of them know, from nothing.
fn published(c: &mut Criterion) {
    let mut group = c.benchmark_group("published");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    for (rows, columns) in [(500, 5), (2000, 10)] {
        let (x, labels) = common::clouds(rows, columns, 2, 1.5, 1);
        let samples = Samples::try_from(x.view()).expect("finite data");
        let kernel = Kernel::rbf(1.0 / columns as f64);
        let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
        for cost in [1.0, 100.0] {
            let problem = svc(&positive, &vec![cost; rows], Loss::Squared, Intercept::Free);
            let solvers: [(&str, Solver); 5] = [
                ("smo", Smo::new().into()),
                ("adatron", Adatron::new().into()),
                (
                    "adatron, published",
                    Adatron::new().order(Order::Cyclic).mu(0.1).into(),
                ),
                ("npa", Npa::new().into()),
                ("chunking", Chunking::new().into()),
            ];
            for (name, solver) in solvers {
                let id = BenchmarkId::new(name, format!("{rows}x{columns}, C = {cost}"));
                group.bench_function(id, |b| {
                    b.iter(|| {
                        let rows = (0..rows).collect();
                        let matrix = KernelMatrix::new(&kernel, &samples, rows).expect("a matrix");
                        solver
                            .solve(&problem, &matrix, &Unwatched)
                            .expect("a solution")
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, adatron, published);
criterion_main!(benches);
