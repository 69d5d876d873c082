//! Cached rows against the whole matrix, in any sequence of fetches, stops and reorderings.

use super::*;
use crate::data::Samples;
use crate::error::Halt;
use crate::kernel::Kernel;
use crate::simd::Real;
use ndarray::Array2;
use proptest::prelude::*;

const ROWS: usize = 60;

/// A pseudo-random number in [-1, 1) (a multiplicative congruential generator).
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    move || {
        state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Samples and the kernel values between them, by formula.
fn data(which: usize) -> (Kernel, Samples, Array2<f64>) {
    let mut number = numbers(1);
    let x = Array2::from_shape_fn((ROWS, 3), |_| number());
    let squared = |i: usize, j: usize| (&x.row(i) - &x.row(j)).mapv(|d| d * d).sum();
    let values = Array2::from_shape_fn((ROWS, ROWS), |(i, j)| (-squared(i, j)).exp());
    let dense = Samples::try_from(x.view()).expect("finite");
    let user = Kernel::from_fn(|x, z| {
        let squared: f64 = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum();
        (-squared).exp()
    });
    let indices: Vec<i32> = (0..ROWS).flat_map(|_| 0..3).collect();
    let starts: Vec<i32> = (0..=ROWS as i32).map(|row| 3 * row).collect();
    let sparse = Samples::csr(x.iter().copied().collect(), &indices, &starts, 3);
    match which % 4 {
        0 => (Kernel::rbf(1.0), dense, values),
        1 => (Kernel::rbf(1.0), sparse.expect("valid"), values),
        2 => (user, dense, values),
        _ => {
            let given = Samples::try_from(values.view()).expect("finite");
            (Kernel::Precomputed, given, values)
        }
    }
}

/// Variables 0.. stand for these rows: not in order, and some rows twice.
fn index() -> Vec<usize> {
    (0..50).map(|variable| variable * 37 % 43).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Fetch(Vec<u32>, usize),
    /// The same, but stopped: nothing may be taken for valid afterwards.
    Stopped(Vec<u32>, usize),
    Reorder(Vec<u32>),
    Block(Vec<u32>),
    /// Adds rows to the positions between two numbers.
    Add(Vec<u32>, usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let variables = || prop::collection::btree_set(0u32..50, 1..8).prop_map(Vec::from_iter);
    let step = prop_oneof![
        5 => (variables(), 1usize..=50).prop_map(|(v, length)| Step::Fetch(v, length)),
        1 => (variables(), 1usize..=50).prop_map(|(v, length)| Step::Stopped(v, length)),
        2 => prop::collection::vec(any::<u32>(), 1..50).prop_map(Step::Reorder),
        1 => variables().prop_map(Step::Block),
        3 => (variables(), 0usize..50, 0usize..50)
            .prop_map(|(v, a, b)| Step::Add(v, a.min(b), a.max(b) + 1)),
    ];
    prop::collection::vec(step, 1..30)
}

/// `kept` is for how many rows within classes there is memory, if the variables are of two classes.
fn run<T: Precision>(which: usize, rows: usize, kept: Option<usize>, steps: &[Step]) {
    let (kernel, samples, values) = data(which);
    let index = index();
    let members = [index[..20].to_vec(), vec![], index[20..].to_vec()];
    let bytes = kept.unwrap_or(0) * 25 * size_of::<T>();
    let classes = Shared::new(&kernel, &samples, &members, bytes).expect("a matrix");
    let matrix = match classes.as_ref().filter(|_| kept.is_some()) {
        Some(classes) => classes.union(&[0, 2]),
        None => KernelMatrix::new(&kernel, &samples, index.clone()).expect("a matrix"),
    };
    let bytes = rows * (50 * size_of::<T>()).next_multiple_of(64);
    let mut cached = CachedRows::<T>::new(&matrix, bytes).expect("memory");
    // A dozen roundings of numbers up to 1: three features, a product, an exponential.
    let close = |value: T, i: u32, j: u32| {
        let expected = values[[index[i as usize], index[j as usize]]];
        let error = (value.to_f64() - expected).abs();
        assert!(
            error <= 12.0 * T::ROUNDOFF,
            "k({i}, {j}): {value:?} not {expected}"
        );
    };
    let mut order: Vec<u32> = (0..50).collect();
    for step in steps {
        match step {
            Step::Fetch(variables, length) => {
                let variables = &variables[..variables.len().min(cached.capacity())];
                assert!(cached.fetch(variables, *length, &|| false).is_ok());
                for &variable in variables {
                    let row = cached.row(variable);
                    assert!(row.len() >= *length);
                    for (position, &value) in row.iter().enumerate() {
                        close(value, variable, order[position]);
                    }
                }
            }
            Step::Stopped(variables, length) => {
                let variables = &variables[..variables.len().min(cached.capacity())];
                let fetched = cached.fetch(variables, *length, &|| true);
                assert!(!matches!(fetched, Err(Halt::Failed(_))));
            }
            Step::Reorder(keys) => {
                let mut shuffle: Vec<u32> = (0..keys.len() as u32).collect();
                shuffle.sort_by_key(|&at| (keys[at as usize], at));
                cached.reorder(&shuffle);
                let old = order.clone();
                for (variable, &from) in order.iter_mut().zip(&shuffle) {
                    *variable = old[from as usize];
                }
            }
            Step::Block(variables) => {
                let size = variables.len();
                let mut out = vec![T::from_f64(f64::NAN); size * 16];
                assert!(cached.block(variables, &mut out, 16, &|| false).is_ok());
                for (row, &i) in out.chunks(16).zip(variables) {
                    for (&value, &j) in row.iter().zip(variables) {
                        close(value, i, j);
                    }
                }
            }
            Step::Add(variables, start, end) => {
                // Every third is worth keeping, the others are computed in passing or held.
                let changes: Vec<Change> = variables
                    .iter()
                    .map(|&variable| Change {
                        variable,
                        factor: 1.0 + f64::from(variable),
                        keep: variable % 3 == 0,
                    })
                    .collect();
                let mut sums = vec![7.0; end - start];
                let added = cached.add(&changes, *start, &mut sums, &|| false);
                assert!(added.is_ok());
                for (&sum, &j) in sums.iter().zip(&order[*start..*end]) {
                    let value = |i: u32| values[[index[i as usize], index[j as usize]]];
                    let terms = changes.iter().map(|c| c.factor * value(c.variable));
                    let (expected, size): (f64, f64) =
                        terms.fold((7.0, 7.0), |(a, b), term| (a + term, b + term.abs()));
                    assert!((sum - expected).abs() <= 12.0 * T::ROUNDOFF * size * 3.0);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn rows_are_those_of_the_matrix(
        which in 0usize..4,
        rows in 2usize..20,
        kept in prop_oneof![Just(None), (0usize..100).prop_map(Some)],
        steps in steps(),
    ) {
        run::<f32>(which, rows, kept, &steps);
        run::<f64>(which, rows, kept, &steps);
    }
}

#[test]
fn products_are_those_of_the_matrix() {
    let mut number = numbers(2);
    let beta: Vec<f64> = (0..50)
        .map(|i| if i % 3 == 0 { 0.0 } else { number() })
        .collect();
    let at = [49, 0, 7, 7];
    for which in 0..4 {
        let (kernel, samples, values) = data(which);
        let index = index();
        let matrix = KernelMatrix::new(&kernel, &samples, index.clone()).expect("a matrix");
        let product = matrix.product(&beta, &at, &|| false).expect("values");
        for (&i, product) in at.iter().zip(product) {
            let row = values.row(index[i as usize]);
            let exact: f64 = beta.iter().zip(&index).map(|(b, &j)| b * row[j]).sum();
            assert!((product - exact).abs() <= 50.0 * 12.0 * f64::ROUNDOFF);
        }
        assert!(matches!(
            matrix.product(&beta, &at, &|| true),
            Err(Halt::Stopped)
        ));
        let none = matrix.product(&[0.0; 50], &at, &|| true).expect("values");
        assert_eq!(none, vec![0.0; 4], "nothing to compute");
    }
}

/// Which rows are kept depends on the memory at hand; results must not.
#[test]
fn sums_do_not_depend_on_which_rows_are_held() {
    let (kernel, samples, _) = data(0);
    let many: Vec<usize> = (0..900).map(|i| index()[i * 7 % 50]).collect();
    let matrix = KernelMatrix::new(&kernel, &samples, many).expect("a matrix");
    let changes: Vec<Change> = (0..300)
        .map(|i| Change {
            variable: i * 3,
            factor: 1.0 / f64::from(i + 1) - 0.01,
            keep: false,
        })
        .collect();
    // No rows, some of them, all of them; and room for a few.
    let sums = |held: &dyn Fn(u32) -> bool, bytes: usize| {
        let mut cached = CachedRows::<f32>::new(&matrix, bytes).expect("memory");
        let held: Vec<u32> = (0..900).filter(|&variable| held(variable)).collect();
        let held = &held[..held.len().min(cached.capacity())];
        assert!(cached.fetch(held, 900, &|| false).is_ok());
        let mut sums = vec![0.1; 870];
        let added = cached.add(&changes, 30, &mut sums, &|| false);
        assert!(added.is_ok());
        sums
    };
    let none = sums(&|_| false, 1 << 24);
    for (which, bytes) in [(1, 1 << 24), (2, 1 << 24), (5, 1 << 24), (1, 40_000)] {
        assert_eq!(sums(&|variable| variable % which == 0, bytes), none);
    }
}

#[test]
fn kernel_values_are_counted() {
    let (kernel, samples, _) = data(0);
    let matrix = KernelMatrix::new(&kernel, &samples, index()).expect("a matrix");
    let mut cached = CachedRows::<f32>::new(&matrix, 1 << 20).expect("memory");
    let fetch = |cached: &mut CachedRows<f32>, variables: &[u32], length| {
        let before = matrix.evaluations();
        assert!(cached.fetch(variables, length, &|| false).is_ok());
        matrix.evaluations() - before
    };
    assert_eq!(fetch(&mut cached, &[1, 2], 40), 80);
    assert_eq!(fetch(&mut cached, &[1, 2], 40), 0, "held");
    // The rest of a row, from the last whole panel on.
    assert_eq!(fetch(&mut cached, &[2], 50), 18);
    assert_eq!(cached.counters(), [2, 3, 0]);
    assert_eq!(cached.held(), 2);
}

#[test]
fn values_within_a_class_are_computed_once_for_all_pairs() {
    let (kernel, samples, _) = data(0);
    let members = [
        index()[..20].to_vec(),
        index()[20..30].to_vec(),
        index()[30..].to_vec(),
    ];
    let classes = Shared::new(&kernel, &samples, &members, 1 << 20).expect("a matrix");
    let classes = classes.expect("a kernel evaluated in tiles");
    let fetch = |first, second, variables: &[u32]| {
        let matrix = classes.union(&[first, second]);
        let mut cached = CachedRows::<f32>::new(&matrix, 1 << 20).expect("memory");
        let fetched = cached.fetch(variables, matrix.len(), &|| false);
        assert!(fetched.is_ok());
        matrix.evaluations()
    };
    assert_eq!(fetch(0, 1, &[3, 4, 20]), 3 * 30);
    assert_eq!(
        fetch(0, 2, &[3, 4, 5]),
        2 * 20 + 40,
        "two rows of the first class are there"
    );
    assert_eq!(fetch(1, 2, &[0]), 20, "so is one of the second");
}

#[test]
fn a_failing_kernel_leaves_no_half_row() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let kernel = Kernel::from_fn(|x, z| match BROKEN.load(Ordering::Relaxed) {
        true => f64::NAN,
        false => x[0] * z[0],
    });
    let (_, samples, _) = data(0);
    let matrix = KernelMatrix::new(&kernel, &samples, index()).expect("a matrix");
    let mut cached = CachedRows::<f64>::new(&matrix, 1 << 20).expect("memory");
    BROKEN.store(true, Ordering::Relaxed);
    assert!(cached.fetch(&[3, 4], 50, &|| false).is_err());
    BROKEN.store(false, Ordering::Relaxed);
    assert!(cached.fetch(&[3, 4], 50, &|| false).is_ok());
    assert!(cached.row(4).iter().all(|value| value.is_finite()));
}

#[test]
fn noise_is_larger_where_values_are() {
    let near = Samples::try_from(ndarray::array![[1.0], [2.0]].view()).expect("finite");
    let far = Samples::try_from(ndarray::array![[1e3], [2e3]].view()).expect("finite");
    let noise = |kernel: &Kernel, samples| {
        let matrix = KernelMatrix::new(kernel, samples, vec![0, 1]).expect("a matrix");
        assert!(matrix.noise::<f64>() < 1e-8 * matrix.noise::<f32>());
        matrix.noise::<f32>()
    };
    for kernel in [Kernel::linear(), Kernel::rbf(1.0)] {
        assert!(noise(&kernel, &near) > 0.0);
        assert!(noise(&kernel, &far) > 1e4 * noise(&kernel, &near));
    }
    // Rows that f32 cannot hold.
    let huge = Samples::try_from(ndarray::array![[1e20]].view()).expect("finite");
    let matrix = KernelMatrix::new(&Kernel::linear(), &huge, vec![0]).expect("a matrix");
    assert_eq!(matrix.noise::<f32>(), f64::INFINITY);
}
