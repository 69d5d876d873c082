//! Samples: whatever the storage, the numbers are the caller's, and what is no matrix is refused.

use crate::common;

use common::Random;
use mercer::{Error, Kernel, Result, Samples};
use ndarray::{Array2, ArrayView2, ShapeBuilder, array, s};
use proptest::prelude::*;

fn rows(samples: &Samples) -> Array2<f64> {
    let mut out = Array2::zeros((samples.rows(), samples.columns()));
    for (i, mut row) in out.rows_mut().into_iter().enumerate() {
        samples.copy_row(i, row.as_slice_mut().expect("a row of a new array"));
    }
    out
}

fn table(rows: usize, columns: usize) -> Array2<f64> {
    let mut random = Random::new(1);
    Array2::from_shape_fn((rows, columns), |_| random.normal())
}

#[test]
fn every_memory_order_is_read() {
    let x = table(6, 8);
    let mut fortran = Array2::zeros((6, 8).f());
    fortran.assign(&x);
    assert!(!fortran.is_standard_layout());
    let views: [ArrayView2<f64>; 8] = [
        x.view(),
        fortran.view(),
        x.t(),
        x.slice(s![..;2, ..]),
        x.slice(s![1..5, ..;3]),
        x.slice(s![..;-1, ..]),
        x.slice(s![..;-2, ..;-3]),
        fortran.slice(s![2.., ..;-1]),
    ];
    for view in views {
        let samples = Samples::try_from(view).expect("finite");
        assert_eq!((samples.rows(), samples.columns()), view.dim());
        assert!(!samples.is_sparse());
        assert_eq!(rows(&samples), view);
    }
    // One row seen many times: stride zero.
    let many = x.row(0);
    let many = many.broadcast((5, 8)).expect("a row is repeated");
    assert_eq!(rows(&Samples::try_from(many).expect("finite")), many);
}

#[test]
fn empty_tables_are_samples() {
    for shape in [(0, 3), (3, 0), (0, 0)] {
        let samples = Samples::try_from(Array2::<f64>::zeros(shape).view()).expect("finite");
        assert_eq!((samples.rows(), samples.columns()), shape);
    }
    let samples = Samples::csr(Vec::<f64>::new(), &[], &[0i32], 5).expect("no rows");
    assert_eq!((samples.rows(), samples.columns()), (0, 5));
}

#[test]
fn single_precision_is_kept() {
    let x = table(4, 3);
    let single = x.mapv(|value| value as f32);
    let samples = Samples::try_from(single.view()).expect("finite");
    assert_eq!(rows(&samples), single.mapv(f64::from));
    // Equality of samples includes the precision they are stored in.
    let widened = Samples::try_from(single.mapv(f64::from).view()).expect("finite");
    assert_ne!(samples, widened);
    assert_eq!(rows(&samples), rows(&widened));
    // The kernel of either is the same to the last bit: computing is in f64 all the same.
    let kernel = |samples| Kernel::rbf(0.5).matrix(samples, samples).expect("values");
    assert_eq!(kernel(&samples), kernel(&widened));
}

#[test]
fn sparse_single_precision_is_kept_and_summed_in_it() {
    let thirds = vec![1.0f32 / 3.0, 1.0 / 7.0];
    let samples = Samples::csr(thirds, &[0i32, 0], &[0, 2], 1).expect("valid");
    assert_eq!(
        rows(&samples)[[0, 0]],
        f64::from(1.0f32 / 3.0 + 1.0f32 / 7.0)
    );
}

/// A CSR structure in any order with duplicates, and what it adds up to.
fn csr() -> impl Strategy<Value = (Vec<f64>, Vec<i64>, Vec<i64>, usize)> {
    (1usize..8, prop::collection::vec(0usize..12, 0..7)).prop_flat_map(|(columns, lengths)| {
        let total: usize = lengths.iter().sum();
        let mut starts = vec![0i64];
        for length in &lengths {
            starts.push(starts[starts.len() - 1] + *length as i64);
        }
        (
            prop::collection::vec((-8i32..8).prop_map(|value| f64::from(value) / 4.0), total),
            prop::collection::vec(0..columns as i64, total),
            Just(starts),
            Just(columns),
        )
    })
}

proptest! {
    #[test]
    fn sparse_rows_add_up_to_the_dense_sum((data, indices, starts, columns) in csr()) {
        let mut dense = Array2::<f64>::zeros((starts.len() - 1, columns));
        for i in 0..starts.len() - 1 {
            for at in starts[i] as usize..starts[i + 1] as usize {
                dense[[i, indices[at] as usize]] += data[at]; // quarters: exact in any order
            }
        }
        let samples = Samples::csr(data.clone(), &indices, &starts, columns).expect("valid");
        prop_assert!(samples.is_sparse());
        prop_assert_eq!(rows(&samples), &dense);
        // 32-bit indices and single precision describe the same matrix.
        let narrow = |values: &[i64]| -> Vec<i32> { values.iter().map(|&v| v as i32).collect() };
        let single: Vec<f32> = data.iter().map(|&value| value as f32).collect();
        let other = Samples::csr(single, &narrow(&indices), &narrow(&starts), columns);
        prop_assert_eq!(rows(&other.expect("valid")), &dense);
        // Selecting rows, with repetition and in any order.
        let picked: Vec<usize> = (0..dense.nrows()).rev().chain(0..dense.nrows()).collect();
        let selected = samples.select(&picked).unwrap();
        prop_assert_eq!(rows(&selected), dense.select(ndarray::Axis(0), &picked));
        prop_assert!(selected.is_sparse());
        // Canonical: sums of the same entries compare equal, in whatever order they came.
        let mut sorted: Vec<Vec<(i64, f64)>> = starts
            .windows(2)
            .map(|w| (w[0] as usize..w[1] as usize).map(|at| (indices[at], data[at])).collect())
            .collect();
        sorted.iter_mut().for_each(|row| row.reverse());
        let (columns_again, data_again): (Vec<i64>, Vec<f64>) = sorted.concat().into_iter().unzip();
        let again = Samples::csr(data_again, &columns_again, &starts, columns).expect("valid");
        prop_assert_eq!(again, samples);
    }

    #[test]
    fn selected_rows_are_those_rows(picked in prop::collection::vec(0usize..9, 0..20)) {
        let x = table(9, 4);
        let samples = Samples::try_from(x.view()).expect("finite");
        let expected = x.select(ndarray::Axis(0), &picked);
        prop_assert_eq!(rows(&samples.select(&picked).unwrap()), expected);
    }
}

#[test]
fn broken_structures_are_refused() {
    type Structure = (&'static str, Vec<f64>, Vec<i64>, Vec<i64>, usize);
    let broken: [Structure; 11] = [
        ("no indptr", vec![], vec![], vec![], 2),
        ("not from 0", vec![1.0], vec![0], vec![1, 1], 2),
        ("falling", vec![1.0, 2.0], vec![0, 1], vec![0, 2, 1, 2], 2),
        ("too short", vec![1.0, 2.0], vec![0, 1], vec![0, 1], 2),
        ("too long", vec![1.0], vec![0], vec![0, 2], 2),
        ("negative start", vec![1.0], vec![0], vec![-1, 1], 2),
        ("fewer indices", vec![1.0, 2.0], vec![0], vec![0, 2], 2),
        ("more indices", vec![1.0], vec![0, 1], vec![0, 1], 2),
        ("column too large", vec![1.0], vec![2], vec![0, 1], 2),
        ("negative column", vec![1.0], vec![-1], vec![0, 1], 2),
        ("no columns", vec![1.0], vec![0], vec![0, 1], 0),
    ];
    let refused = |result: Result<Samples>, what: &str| {
        assert!(
            matches!(result, Err(Error::Shape { name: "X", .. })),
            "{what}: {result:?}"
        );
    };
    for (what, data, indices, starts, columns) in broken {
        let narrow = |values: &[i64]| -> Vec<i32> { values.iter().map(|&v| v as i32).collect() };
        let small = Samples::csr(data.clone(), &narrow(&indices), &narrow(&starts), columns);
        refused(small, what);
        refused(Samples::csr(data, &indices, &starts, columns), what);
    }
    let wide = 1usize << 32;
    refused(Samples::csr(vec![1.0], &[0i64], &[0, 1], wide), "too wide");
}

/// Which array, which entry, what it is, and what it may be.
#[test]
fn messages_name_what_is_broken() {
    type Structure = (&'static str, Vec<i64>, Vec<i64>);
    let broken: [Structure; 7] = [
        (
            "an indptr that begins with 0, got indptr[0] = 1",
            vec![0, 1],
            vec![1, 2],
        ),
        (
            "an indptr without negative entries, got indptr[1] = -1",
            vec![0, 1],
            vec![0, -1, 2],
        ),
        (
            "an indptr that does not fall below 2, got indptr[2] = 1",
            vec![0, 1],
            vec![0, 2, 1],
        ),
        (
            "an indptr that ends with the number of values, 2, got indptr[1] = 3",
            vec![0, 1],
            vec![0, 3],
        ),
        (
            "an indptr that ends with the number of values, 2, got no indptr",
            vec![0, 1],
            vec![],
        ),
        ("as many indices as values, 2, got 1", vec![0], vec![0, 2]),
        (
            "indices from 0 on and below 3, the columns, got indices[1] = 3 in row 2",
            vec![0, 3],
            vec![0, 1, 1, 2],
        ),
    ];
    for (message, indices, starts) in broken {
        let error = Samples::csr(vec![1.0, 2.0], &indices, &starts, 3).unwrap_err();
        assert_eq!(error.to_string(), format!("X must have {message}"));
    }
}

#[test]
fn what_is_not_finite_is_named_with_its_row() {
    let check = |result: Result<Samples>, row: usize, bad: f64| match result {
        Err(Error::NotFinite {
            name,
            row: at,
            value,
        }) => {
            assert_eq!((name, at), ("X", row));
            assert!(value == bad || (value.is_nan() && bad.is_nan()));
        }
        other => panic!("{other:?}"),
    };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (i, j) in [(0, 0), (2, 2), (1, 0), (3, 2)] {
            let mut x = table(4, 3);
            x[[i, j]] = bad;
            check(Samples::try_from(x.view()), i, bad);
            check(Samples::try_from(x.mapv(|v| v as f32).view()), i, bad);
            check(Samples::try_from(x.t().to_owned().t()), i, bad);
        }
        // Rows 0 and 2 are empty; the bad value is in row 3, whichever place it has there.
        for place in 1..3 {
            let mut data = vec![1.0, 2.0, 3.0];
            data[place] = bad;
            let starts = [0, 0, 1, 1, 3];
            check(Samples::csr(data, &[0i32, 2, 1], &starts, 3), 3, bad);
        }
    }
    // Finite numbers whose sum is not.
    check(
        Samples::csr(vec![f64::MAX, f64::MAX], &[0i32, 0], &[0, 2], 1),
        0,
        f64::INFINITY,
    );
}

#[test]
fn samples_compare_by_what_they_hold() {
    let a = Samples::try_from(array![[1.0, 0.0]].view()).expect("finite");
    let b = Samples::csr(vec![1.0], &[0i32], &[0, 1], 2).expect("valid");
    assert_ne!(a, b, "dense and sparse storage differ");
    assert_eq!(rows(&a), rows(&b));
    assert_eq!(a, a.select(&[0]).unwrap());
}
