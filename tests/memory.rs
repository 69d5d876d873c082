//! Memory that runs out: at every large allocation of every call in turn, and each time the call ends
//! with an error and the next one gives the same as ever.
//!
//! The allocator of this file grants k large pieces and then none. A call is repeated with k = 0, 1,
//! 2, ... until it needs no more. Large is what grows with the number of values; a vector of one
//! number for each row is not, and is always granted. A call that cannot be refused ends the process.

// The extension module has an allocator of its own.
#![cfg(not(feature = "python"))]

use mercer::model::Multiclass;
use mercer::qp::Adatron;
use mercer::{Error, Kernel, NuSvr, OneClassSvm, Result, Samples, Svc, Svdd, Svr};
use ndarray::{Array2, ArrayView2};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: usize = 900;
const COLUMNS: usize = 40;
/// Bytes of a large piece: a third of the rows in f32, several times a vector of a number per row.
const LARGE: usize = ROWS * COLUMNS * 4 / 3;

/// Large pieces that are still granted.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

fn is_refused(bytes: usize) -> bool {
    let take = |left: usize| left.checked_sub(1);
    bytes >= LARGE && (LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)).is_err()
}

// SAFETY: every piece comes from the allocator of the system and goes back to it.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_refused(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: the promises of the caller are those of the system's allocator.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_refused(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: as above.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match is_refused(size) {
            true => std::ptr::null_mut(),
            // SAFETY: as above.
            false => unsafe { System.realloc(old, layout, size) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// The rows, made before memory runs out.
static ROWS_OF_ALL: LazyLock<Array2<f64>> = LazyLock::new(|| {
    Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| {
        ((i * 7 + j * 31) as f64).sin() + (i % 3) as f64 * 0.3
    })
});

fn rows() -> ArrayView2<'static, f64> {
    ROWS_OF_ALL.view()
}

fn labels(classes: usize) -> Vec<usize> {
    (0..ROWS).map(|i| i * i % classes).collect()
}

fn target(x: ArrayView2<f64>) -> Vec<f64> {
    x.rows().into_iter().map(|row| row.sum().sin()).collect()
}

/// Rows of which most entries are zero.
fn sparse() -> Result<Samples> {
    let entries = COLUMNS / 8;
    let column = |at: usize| at % entries * 8 + at / entries % 8;
    let count = ROWS * entries;
    let data: Vec<f64> = (0..count).map(|at| 1.0 + (at as f64).sin()).collect();
    let indices: Vec<usize> = (0..count).map(column).collect();
    let starts: Vec<usize> = (0..=ROWS).map(|row| row * entries).collect();
    Samples::csr(data, &indices, &starts, COLUMNS)
}

fn classified(machine: Svc, classes: usize) -> Result<Vec<f64>> {
    let x = rows();
    let model = machine.fit(x, &labels(classes))?;
    let mut seen: Vec<f64> = model.decision_function(x)?.iter().copied().collect();
    let predicted = model.predict(x)?;
    seen.extend(predicted.into_iter().map(|class| class as f64));
    Ok(seen)
}

type Call = fn() -> Result<Vec<f64>>;

/// Calls that between them use every solver, source of rows, layout and precision.
const CALLS: [(&str, Call); 15] = [
    ("one vs one", || {
        classified(Svc::new(Kernel::rbf(0.1)).c(10.0), 3)
    }),
    ("one vs rest", || {
        classified(
            Svc::new(Kernel::rbf(0.1)).multiclass(Multiclass::OneVsRest),
            3,
        )
    }),
    ("graph", || {
        let kernel = 0.5 * Kernel::laplacian(0.05) + Kernel::linear();
        classified(Svc::new(kernel).multiclass(Multiclass::Dag), 3)
    }),
    ("free vectors", || {
        classified(Svc::new(Kernel::rbf(0.1)).c(1e4), 2)
    }),
    ("linear", || classified(Svc::new(Kernel::linear()), 2)),
    ("sigmoid", || {
        classified(Svc::new(Kernel::sigmoid(0.01, 0.1)), 2)
    }),
    ("adatron", || {
        classified(Svc::new(Kernel::rbf(0.1)).solver(Adatron::default()), 2)
    }),
    ("function", || {
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        classified(Svc::new(Kernel::from_fn(product)), 2)
    }),
    ("precomputed", || {
        let samples = Samples::try_from(rows())?;
        let matrix = Kernel::rbf(0.1).matrix(&samples, &samples)?;
        let model = Svc::new(Kernel::Precomputed).fit(matrix.view(), &labels(2))?;
        Ok(model
            .decision_function(matrix.view())?
            .into_iter()
            .collect())
    }),
    ("sparse", || {
        let model = Svc::new(Kernel::rbf(0.1)).fit(sparse()?, &labels(3))?;
        Ok(model.decision_function(sparse()?)?.into_iter().collect())
    }),
    ("regression", || {
        let x = rows();
        let model = Svr::new(Kernel::rbf(0.1)).c(100.0).fit(x, &target(x))?;
        model.predict(x)
    }),
    ("nu regression", || {
        let x = rows();
        let model = NuSvr::new(Kernel::rbf(0.1)).fit(x, &target(x))?;
        model.predict(x)
    }),
    ("one class", || {
        let x = rows();
        OneClassSvm::new(Kernel::rbf(0.1))
            .fit(x)?
            .decision_function(x)
    }),
    ("sphere", || {
        let x = rows();
        Svdd::new(Kernel::rbf(0.1)).fit(x)?.decision_function(x)
    }),
    ("matrix", || {
        let samples = Samples::try_from(rows())?;
        let matrix = Kernel::rbf(0.1).matrix(&samples, &samples)?;
        Ok(matrix.into_raw_vec_and_offset().0)
    }),
];

// One test, because all tests of a file share the allocator.
#[test]
fn a_call_that_runs_out_of_memory_says_so_and_the_next_one_works() {
    for (name, call) in CALLS {
        let expected = call().unwrap();
        let (mut granted, mut refusals) = (0, 0);
        loop {
            LEFT.store(granted, Ordering::Relaxed);
            let result = call();
            LEFT.store(usize::MAX, Ordering::Relaxed);
            match result {
                Err(Error::Memory { bytes, .. }) => assert!(bytes >= LARGE, "{name}: {bytes}"),
                Err(error) => panic!("{name}: {error}"),
                Ok(found) => {
                    assert_eq!(found, expected, "{name}");
                    break;
                }
            }
            refusals += 1;
            granted += 1 + granted / 20; // of hundreds of pieces most are alike
        }
        assert!(refusals >= 3, "{name} met {refusals} refusals");
        assert_eq!(call().unwrap(), expected, "{name}");
    }
}
