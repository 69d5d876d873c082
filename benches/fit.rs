//! Fitting machines from end to end: overlapping normal classes, RBF kernel, C = 1, tolerance 1e-3.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use mercer::{Kernel, OneClassSvm, Svc, Svr};
use std::time::Duration;

fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    group.warm_up_time(Duration::from_secs(1));
    group
}

fn svc(c: &mut Criterion) {
    let mut group = group(c, "svc_fit");
    for (rows, columns, classes) in [(1000, 2, 2), (5000, 20, 2), (10000, 50, 2), (5000, 20, 5)] {
        let (x, labels) = common::clouds(rows, columns, classes, 1.5, 1);
        let svc = Svc::new(Kernel::rbf(1.0 / columns as f64));
        let name = if classes == 2 { "rbf" } else { "rbf_5_classes" };
        let id = BenchmarkId::new(name, format!("{rows}x{columns}"));
        group.bench_function(id, |b| b.iter(|| svc.fit(x.view(), &labels)));
    }
    // One value in ten is left: as sparse as text or one-hot columns with few levels.
    let (mut x, labels) = common::clouds(5000, 100, 2, 3.0, 5);
    let mut random = common::Random::new(6);
    x.iter_mut()
        .filter(|_| random.uniform() > 0.1)
        .for_each(|x| *x = 0.0);
    let sparse = common::sparse(x.view());
    let svc = Svc::new(Kernel::rbf(0.05));
    let id = BenchmarkId::new("rbf_sparse", "5000x100");
    group.bench_function(id, |b| b.iter(|| svc.fit(sparse.clone(), &labels)));
    group.finish();
}

fn svr(c: &mut Criterion) {
    let mut group = group(c, "svr_fit");
    let (x, _) = common::clouds(3000, 8, 1, 0.0, 7);
    let target: Vec<f64> = x.rows().into_iter().map(|x| x[0].sin() + x[1]).collect();
    let svr = Svr::new(Kernel::rbf(0.125)).epsilon(0.1);
    let id = BenchmarkId::new("rbf", "3000x8");
    group.bench_function(id, |b| b.iter(|| svr.fit(x.view(), &target)));
    group.finish();
}

fn one_class(c: &mut Criterion) {
    let mut group = group(c, "one_class_fit");
    let (x, _) = common::clouds(5000, 20, 1, 0.0, 8);
    let machine = OneClassSvm::new(Kernel::rbf(0.05)).nu(0.1);
    let id = BenchmarkId::new("rbf", "5000x20");
    group.bench_function(id, |b| b.iter(|| machine.fit(x.view())));
    group.finish();
}

criterion_group!(benches, svc, svr, one_class);
criterion_main!(benches);
