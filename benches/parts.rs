//! The parts a fit and a prediction are made of.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mercer::matrix::RowCache;
use mercer::{Kernel, Samples, Svc};
use std::hint::black_box;
use std::time::Duration;

/// All values of a kernel matrix; the throughput is in kernel values.
fn kernel_matrix(c: &mut Criterion) {
    let kernels = [
        ("linear", Kernel::linear()),
        ("rbf", Kernel::rbf(0.05)),
        ("laplacian", Kernel::Laplacian { gamma: 0.05 }),
        (
            "rbf_plus_linear",
            Kernel::rbf(0.05) + 0.1 * Kernel::linear(),
        ),
    ];
    let mut group = c.benchmark_group("kernel_matrix");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    for (rows, columns) in [(2000, 4), (2000, 64)] {
        let (x, _) = common::clouds(rows, columns, 2, 1.0, 2);
        let samples = Samples::try_from(x.view()).expect("finite data");
        group.throughput(Throughput::Elements((rows * rows) as u64));
        for (name, kernel) in &kernels {
            let id = BenchmarkId::new(*name, format!("{rows}x{rows}x{columns}"));
            group.bench_function(id, |b| b.iter(|| kernel.matrix(&samples, &samples)));
        }
    }
    group.finish();
}

/// Finding a row, and giving a row the slot of the least recently used one.
fn row_cache(c: &mut Criterion) {
    const KEYS: u32 = 10_000;
    const ROWS: usize = 1000;
    const LENGTH: usize = 1024;
    let mut group = c.benchmark_group("row_cache");
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    let bytes = ROWS * LENGTH * size_of::<f32>();
    let new = || RowCache::<f32>::new(KEYS as usize, LENGTH, bytes).expect("a small cache");
    let size = format!("{ROWS}x{LENGTH}");

    let mut full = new();
    for key in 0..ROWS as u32 {
        let slot = full.insert(key).expect("memory for a small cache");
        full.fill(&[slot], LENGTH, |rows| rows[0].fill(key as f32));
    }
    let mut key = 0;
    group.bench_function(BenchmarkId::new("hit", &size), |b| {
        b.iter(|| {
            key = (key + 7) % ROWS as u32;
            full.get(black_box(key), LENGTH)
        });
    });
    let mut evicting = new();
    let mut key = 0;
    group.bench_function(BenchmarkId::new("insert", &size), |b| {
        b.iter(|| {
            key = (key + 7) % KEYS;
            evicting.insert(black_box(key))
        });
    });
    group.finish();
}

/// Predicting rows (rows x support vectors x features); the throughput is in rows.
fn predict(c: &mut Criterion) {
    let mut group = c.benchmark_group("predict");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    for classes in [2, 5] {
        let (x, labels) = common::clouds(2000, 20, classes, 1.5, 3);
        let svc = Svc::new(Kernel::rbf(0.05));
        let model = svc.fit(x.view(), &labels).expect("a model");
        let vectors = model.machines().support.len();
        group.throughput(Throughput::Elements(x.nrows() as u64));
        let id = BenchmarkId::new(format!("{classes}_classes"), format!("2000x{vectors}x20"));
        group.bench_function(id, |b| b.iter(|| model.predict(x.view())));
    }
    group.finish();
}

criterion_group!(benches, kernel_matrix, row_cache, predict);
criterion_main!(benches);
