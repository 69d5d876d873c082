//! Fitting a classifier: two overlapping normal classes, RBF kernel, C = 1, tolerance 1e-3.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mercer::{Kernel, Svc};
use std::time::Duration;

fn svc(c: &mut Criterion) {
    let mut group = c.benchmark_group("svc_fit");
    group.sample_size(10);
    group.warm_up_time(Duration::from_secs(1));
    for (rows, columns) in [(1000, 2), (5000, 20), (10000, 50)] {
        let (x, labels) = common::clouds(rows, columns, 2, 1.5, 1);
        let svc = Svc::new(Kernel::rbf(1.0 / columns as f64));
        let id = BenchmarkId::new("rbf", format!("{rows}x{columns}"));
        group.bench_function(id, |b| b.iter(|| svc.fit(x.view(), &labels)));
    }
    group.finish();
}

criterion_group!(benches, svc);
criterion_main!(benches);
