//! The parts a fit and a prediction are made of, in units that tell how far they are from what the
//! machine can do.

#[path = "../tests/common/mod.rs"]
mod common;
mod machine;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine::{Best, Body, on_this_cpu};
use mercer::bench::{Tiles, update_gradient};
use mercer::data::Real;
use mercer::formulation::{Intercept, Loss, svc};
use mercer::matrix::{KernelMatrix, RowCache};
use mercer::qp::{Smo, Unwatched};
use mercer::{Kernel, Samples, Svc};
use std::hint::black_box;
use std::time::Duration;

/// All values of a kernel matrix, tile by tile, into memory that is there; the throughput is in
/// kernel values, the rate counts the products alone.
fn tiles<T: Real>(c: &mut Criterion, name: &str, peak: f64) {
    const ROWS: usize = 2000;
    let kernels = [
        ("linear", Kernel::linear()),
        ("rbf", Kernel::rbf(0.05)),
        ("laplacian", Kernel::Laplacian { gamma: 0.05 }),
        (
            "rbf_plus_linear",
            Kernel::rbf(0.05) + 0.1 * Kernel::linear(),
        ),
    ];
    let mut group = c.benchmark_group(format!("tiles_{name}"));
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(1));
    group.warm_up_time(Duration::from_millis(500));
    group.throughput(Throughput::Elements((ROWS * ROWS) as u64));
    let mut values = vec![T::ZERO; ROWS * ROWS];
    for columns in [4, 64, 512] {
        let (x, _) = common::clouds(ROWS, columns, 2, 1.0, 2);
        for (name, kernel) in &kernels {
            let samples = Samples::try_from(x.view()).expect("finite data");
            let tiles = Tiles::<T>::new(kernel, samples);
            let id = BenchmarkId::new(*name, format!("{ROWS}x{ROWS}x{columns}"));
            let mut best = Best::new();
            group.bench_function(id, |b| best.iter(b, || tiles.fill(&mut values)));
            if *name != "laplacian" {
                best.print_rate((2 * ROWS * ROWS * columns) as f64, peak);
            }
        }
    }
    group.finish();
}

fn kernel_tiles(c: &mut Criterion) {
    tiles::<f32>(c, "f32", machine::peak_single());
    tiles::<f64>(c, "f64", machine::peak_double());
}

/// Adding multiples of rows to the gradient: rows that fit into the last cache, and more.
fn gradient_update(c: &mut Criterion) {
    let mut group = c.benchmark_group("gradient_update");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(1));
    group.warm_up_time(Duration::from_millis(500));
    for (rows, length) in [(64, 20_000), (1024, 20_000)] {
        let values: Vec<f32> = (0..rows * length).map(|i| (i % 7) as f32).collect();
        let lines: Vec<&[f32]> = values.chunks(length).collect();
        let factors: Vec<f64> = (0..rows).map(|i| [1e-3, -1e-3][i % 2]).collect();
        let mut gradient = vec![0.0; length];
        let bytes = size_of_val(&values[..]);
        group.throughput(Throughput::Bytes(bytes as u64));
        let mut best = Best::new();
        let id = BenchmarkId::new("f32", format!("{rows}x{length}"));
        group.bench_function(id, |b| {
            best.iter(b, || update_gradient(&factors, &lines, &mut gradient));
        });
        best.print_bandwidth(bytes as f64);
    }
    group.finish();
}

/// Exponentials of a kernel's usual arguments.
struct Exponentials<'a, T> {
    of: &'a [T],
    to: &'a mut [T],
}

impl<T: Real> Body for Exponentials<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (x, exp) in self.of.iter().zip(self.to) {
            *exp = x.exponential::<FMA>();
        }
    }
}

fn exponential<T: Real>(c: &mut Criterion, name: &str, of_the_system: fn(T) -> T) {
    const LENGTH: usize = 1024; // stays in L1
    let mut group = c.benchmark_group("exp");
    group.measurement_time(Duration::from_secs(1));
    group.warm_up_time(Duration::from_millis(500));
    group.throughput(Throughput::Elements(LENGTH as u64));
    let of: Vec<T> = (0..LENGTH)
        .map(|i| T::from_f64(-20.0 * i as f64 / LENGTH as f64))
        .collect();
    let mut to = vec![T::ZERO; LENGTH];

    let mut best = Best::new();
    group.bench_function(BenchmarkId::new("mercer", name), |b| {
        best.iter(b, || {
            let (of, to) = (black_box(&of[..]), &mut to[..]);
            on_this_cpu(Exponentials { of, to });
            black_box(to[0])
        });
    });
    best.print_share(LENGTH as f64, "value");
    let mut best = Best::new();
    group.bench_function(BenchmarkId::new("std", name), |b| {
        best.iter(b, || {
            for (&x, exp) in black_box(&of).iter().zip(&mut to) {
                *exp = of_the_system(x);
            }
            black_box(to[0])
        });
    });
    best.print_share(LENGTH as f64, "value");
    group.finish();
}

/// The exponential, one thread, beside the standard library's.
fn exp(c: &mut Criterion) {
    exponential::<f32>(c, "f32", f32::exp);
    exponential::<f64>(c, "f64", f64::exp);
}

/// A hard problem small enough to be solved as one block: nearly all of its time goes into steps.
fn smo_step(c: &mut Criterion) {
    const ROWS: usize = 500;
    let mut group = c.benchmark_group("smo_step");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    let (x, labels) = common::clouds(ROWS, 5, 2, 1.0, 4);
    let samples = Samples::try_from(x.view()).expect("finite data");
    let positive: Vec<bool> = labels.iter().map(|&label| label == 0).collect();
    let problem = svc(&positive, &[1000.0; ROWS], Loss::Linear, Intercept::Free);
    let solve = || {
        let all = (0..ROWS).collect();
        let matrix = KernelMatrix::new(&Kernel::rbf(0.2), &samples, all)?;
        Smo::default().solve(&problem, &matrix, &Unwatched)
    };
    let steps = solve().expect("a solution").report.iterations;
    let mut best = Best::new();
    let id = BenchmarkId::new("hard", format!("{ROWS}x5"));
    group.bench_function(id, |b| best.iter(b, solve));
    best.print_share(steps as f64, "step");
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

/// Predicting rows (rows x support vectors x features), many in a call and one; the throughput is
/// in rows, the rate counts the products alone. Tiles are in f32.
fn predict(c: &mut Criterion) {
    let mut group = c.benchmark_group("predict");
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    let peak = machine::peak_single();
    for (classes, columns) in [(2, 20), (2, 200), (5, 20)] {
        let (x, labels) = common::clouds(2000, columns, classes, 1.5, 3);
        let svc = Svc::new(Kernel::rbf(1.0 / columns as f64));
        let model = svc.fit(x.view(), &labels).expect("a model");
        let vectors = model.machines().support.len();
        for rows in [2000, 1] {
            let x = x.slice(ndarray::s![..rows, ..]);
            group.throughput(Throughput::Elements(rows as u64));
            let id = BenchmarkId::new(
                format!("{classes}_classes"),
                format!("{rows}x{vectors}x{columns}"),
            );
            let mut best = Best::new();
            group.bench_function(id, |b| best.iter(b, || model.predict(x)));
            best.print_rate((2 * rows * vectors * columns) as f64, peak);
        }
    }
    group.finish();
}

criterion_group!(
    benches,
    kernel_tiles,
    exp,
    row_cache,
    smo_step,
    gradient_update,
    predict
);
criterion_main!(benches);
