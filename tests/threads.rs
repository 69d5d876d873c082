//! Threads: who runs what. One test, because it ends by asking whether the global pool was ever made.

use mercer::model::{Expansion, Multiclass};
use mercer::qp::Adatron;
use mercer::{Kernel, OneClassSvm, Samples, Svc, Svr};
use ndarray::{Array2, ArrayView2};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Rows enough for every computation on them to be worth several threads.
const ROWS: usize = 700;

fn rows() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 12), |(i, j)| ((i * 7 + j * 31) as f64).sin())
}

fn labels(classes: usize) -> Vec<usize> {
    (0..ROWS).map(|i| i * i % classes).collect()
}

/// Trains and predicts in as many ways as there are ways to threads.
fn everything(x: ArrayView2<f64>) -> mercer::Result<Vec<f64>> {
    let mut seen = Vec::new();
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest, Multiclass::Dag] {
        let machine = Svc::new(Kernel::rbf(0.3)).multiclass(multiclass);
        let model = machine.fit(x, &labels(3))?;
        seen.extend(model.decision_function(x)?.iter());
        seen.extend(model.predict(x)?.iter().map(|&class| class as f64));
    }
    let solver = Adatron::default();
    let model = Svc::new(Kernel::rbf(0.3))
        .solver(solver)
        .fit(x, &labels(2))?;
    seen.extend(model.decision_function(x)?.iter());
    let target: Vec<f64> = x.rows().into_iter().map(|row| row.sum()).collect();
    seen.extend(Svr::new(Kernel::linear()).fit(x, &target)?.predict(x)?);
    seen.extend(
        OneClassSvm::new(Kernel::laplacian(0.2))
            .fit(x)?
            .decision_function(x)?,
    );
    let samples = Samples::try_from(x)?;
    seen.extend(Kernel::rbf(0.3).matrix(&samples, &samples)?.iter());
    let coefficients = Array2::from_elem((1, ROWS), 0.5);
    let kernel = Kernel::rbf(0.3);
    let f = Expansion::new(
        kernel,
        Some(samples.clone()),
        &[ROWS],
        coefficients.view(),
        &[0.0],
    )?;
    seen.extend(f.decision(&samples, &|| false)?.unwrap_or_default().iter());
    Ok(seen)
}

/// Trains with a kernel that tells who asked for it.
fn callers(x: ArrayView2<f64>) -> mercer::Result<BTreeSet<String>> {
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&names);
    let kernel = Kernel::from_fn(move |a: &[f64], b: &[f64]| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("nameless").to_string();
        noted.lock().unwrap().insert(name);
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    });
    Svc::new(kernel).fit(x, &labels(2))?;
    let names = names.lock().unwrap().clone();
    Ok(names)
}

#[test]
fn threads_are_those_of_the_pool_around_or_leased_but_never_global() -> mercer::Result<()> {
    let x = rows();
    let expected = everything(x.view())?;
    // From several threads of the user's at once.
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| everything(x.view())))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap().unwrap(), expected);
        }
    });
    // Inside a pool of the user's everything stays there.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("user-{index}"))
        .build()
        .unwrap();
    assert_eq!(pool.install(|| everything(x.view()))?, expected);
    let inside = pool.install(|| callers(x.view()))?;
    assert!(
        inside.iter().all(|name| name.starts_with("user-")),
        "{inside:?}"
    );
    let outside = callers(x.view())?;
    assert!(
        outside.iter().all(|name| !name.starts_with("user-")),
        "{outside:?}"
    );
    // The global pool can be made once: had it been used, this would fail.
    let global = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global();
    assert!(global.is_ok(), "the global pool was used");
    Ok(())
}
