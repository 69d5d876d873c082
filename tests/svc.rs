//! The classifier as a Rust user sees it.

use crate::common;

use common::qp::value;
use common::{Random, clouds, sparse};
use mercer::formulation::{Intercept, Loss};
use mercer::model::{Expansion, Margin, Multiclass, OneVsOne, Training};
use mercer::qp::{Monitor, Status, Unwatched};
use mercer::{Error, Kernel, Samples, Svc, SvcModel, UserKernel};
use ndarray::{Array2, Axis, array, concatenate};
use std::sync::Mutex;
use std::time::Duration;

/// So tight that equal problems have equal decision values to about 1e-6.
const TIGHT: f64 = 1e-8;

fn tight(kernel: Kernel) -> Svc {
    Svc::new(kernel).tolerance(TIGHT)
}

fn close(a: &Array2<f64>, b: &Array2<f64>, tolerance: f64) {
    assert_eq!(a.dim(), b.dim());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} to {tolerance}");
    }
}

fn decision<L: Clone>(model: &SvcModel<L>, x: &Array2<f64>) -> Array2<f64> {
    model.decision_function(x.view()).expect("values")
}

// --- One-vs-one.

/// Every machine is the binary classifier of its two classes.
#[test]
fn machines_are_the_binary_classifiers_of_their_pairs() {
    for classes in 2..=5 {
        let (x, labels) = clouds(40 * classes, 3, classes, 2.0, 11);
        let svc = tight(Kernel::rbf(0.3)).c(5.0);
        let model = svc.fit(x.view(), &labels).expect("a model");
        assert_eq!(model.classes(), (0..classes).collect::<Vec<_>>());
        let all = decision(&model, &x);
        assert_eq!(all.dim(), (x.nrows(), classes * (classes - 1) / 2));
        assert_eq!(model.reports().len(), all.ncols());
        let mut pair = 0;
        for i in 0..classes {
            for j in i + 1..classes {
                let rows: Vec<usize> = (0..labels.len())
                    .filter(|&row| labels[row] == i || labels[row] == j)
                    .collect();
                let y: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
                let part = x.select(Axis(0), &rows);
                let binary = svc.fit(part.view(), &y).expect("a model");
                let column = all.select(Axis(1), &[pair]);
                // Alone, the machine is positive for the second class.
                let sign = if classes == 2 { 1.0 } else { -1.0 };
                close(&(sign * decision(&binary, &x)), &column, 1e-6);
                pair += 1;
            }
        }
        let votes = Multiclass::OneVsOne.winners(all.view(), classes);
        assert_eq!(model.predict(x.view()).expect("classes"), votes);
    }
}

/// The decision values are those of the published coefficients: for a support vector of class c,
/// row r of dual_coef belongs to the machine of c and the r-th other class.
#[test]
fn decisions_are_the_expansion_in_the_published_coefficients() {
    let (x, labels) = clouds(150, 4, 3, 1.5, 12);
    let (new, _) = clouds(30, 4, 3, 1.5, 13);
    for kernel in [
        Kernel::linear(),
        Kernel::rbf(0.2),
        Kernel::Laplacian { gamma: 0.2 },
    ] {
        let model = Svc::new(kernel.clone())
            .fit(x.view(), &labels)
            .expect("a model");
        let machines = model.machines();
        assert_eq!(
            machines.support.len(),
            machines.n_support.iter().sum::<usize>()
        );
        let sorted = machines.support.iter().map(|&row| (labels[row], row));
        assert!(sorted.is_sorted(), "by class, then by row");
        let mut expected = Array2::zeros((30, 3));
        for ((row, pair), f) in expected.indexed_iter_mut() {
            let (i, j) = [(0, 1), (0, 2), (1, 2)][pair];
            *f = machines.intercept[pair];
            for (at, &vector) in machines.support.iter().enumerate() {
                let r = match labels[vector] {
                    class if class == i => j - 1,
                    class if class == j => i,
                    _ => continue,
                };
                let k = value(&kernel, x.row(vector), new.row(row));
                *f += machines.dual_coef[[r, at]] * k;
            }
        }
        close(&decision(&model, &new), &expected, 1e-10);
        for r in 0..2 {
            // beta_i >= 0 in machines that are positive for the vector's class, <= 0 in others.
            for (at, &vector) in machines.support.iter().enumerate() {
                let sign = if r < labels[vector] { -1.0 } else { 1.0 };
                assert!(sign * machines.dual_coef[[r, at]] >= 0.0);
            }
        }
    }
}

#[test]
fn votes_are_counted_and_ties_go_to_the_lowest_class() {
    let values = array![
        [1.0, 1.0, 1.0],    // 0, 0, 1
        [-1.0, 1.0, 1.0],   // 1, 0, 1
        [-1.0, -1.0, -1.0], // 1, 2, 2
        [1.0, -1.0, 1.0],   // 0, 2, 1: a tie of all
        [0.0, 0.0, 0.0],    // zero is not positive: 1, 2, 2
        [5.0, -0.1, 0.1],   // 0, 2, 1: sizes do not matter
    ];
    assert_eq!(
        Multiclass::OneVsOne.winners(values.view(), 3),
        [0, 1, 2, 0, 2, 0]
    );
    assert_eq!(
        Multiclass::OneVsOne.winners(array![[0.1], [-0.1], [0.0]].view(), 2),
        [1, 0, 1]
    );
    // Four classes, 2 and 3 with two votes each: (0,1) 0, (0,2) 2, (0,3) 3, (1,2) 2, (1,3) 3, (2,3) 2.
    let tie = array![
        [1.0, -1.0, -1.0, -1.0, -1.0, 1.0],
        [1.0, -1.0, -1.0, 1.0, -1.0, 1.0]
    ];
    assert_eq!(Multiclass::OneVsOne.winners(tie.view(), 4), [2, 2]);
}

#[test]
fn labels_may_be_of_any_kind() {
    let (x, codes) = clouds(90, 2, 3, 4.0, 14);
    let names = ["pear", "apple", "fig"];
    let labels: Vec<String> = codes.iter().map(|&code| names[code].to_string()).collect();
    let model = Svc::new(Kernel::rbf(0.5))
        .fit(x.view(), &labels)
        .expect("a model");
    assert_eq!(model.classes(), ["apple", "fig", "pear"]);
    let predicted = model.predict(x.view()).expect("classes");
    let right = predicted
        .iter()
        .zip(&labels)
        .filter(|(a, b)| a == b)
        .count();
    assert!(
        right >= 80,
        "{right} of 90 right on classes 4 deviations apart"
    );
    // The same as with the numbers of the sorted names.
    let order: Vec<i8> = codes.iter().map(|&code| [5, -1, 2][code]).collect();
    let numbered = Svc::new(Kernel::rbf(0.5))
        .fit(x.view(), &order)
        .expect("a model");
    assert_eq!(numbered.classes(), [-1, 2, 5]);
    assert_eq!(decision(&numbered, &x), decision(&model, &x));
    let numbers = numbered.predict(x.view()).expect("classes");
    for (number, name) in numbers.iter().zip(&predicted) {
        assert_eq!(
            *number,
            [("apple", -1), ("fig", 2), ("pear", 5)]
                .iter()
                .find(|p| p.0 == name)
                .expect("a class")
                .1
        );
    }
}

#[test]
fn a_class_may_have_one_sample() {
    let x = array![[0.0, 0.0], [0.2, 0.1], [4.0, 4.0], [4.1, 3.9], [-4.0, 4.0]];
    let labels = [0, 0, 1, 1, 2];
    let model = Svc::new(Kernel::linear())
        .c(100.0)
        .fit(x.view(), &labels)
        .expect("a model");
    assert_eq!(model.predict(x.view()).expect("classes"), labels);
    assert_eq!(
        model.machines().n_support[2],
        1,
        "a class of one is its own support"
    );
}

/// Records which machines were begun.
#[derive(Default)]
struct Machines(Mutex<Vec<(usize, usize)>>);

impl Monitor for Machines {
    fn machine(&self, index: usize, of: usize) {
        self.0.lock().expect("no panic").push((index, of));
    }
}

#[test]
fn the_monitor_is_told_of_every_machine() {
    let (x, labels) = clouds(60, 2, 4, 2.0, 15);
    let monitor = Machines::default();
    let svc = Svc::new(Kernel::rbf(0.5));
    svc.fit_weighted(x.view(), &labels, &[1.0; 60], &monitor)
        .expect("a model");
    let mut told = monitor.0.into_inner().expect("no panic");
    told.sort_unstable();
    assert_eq!(told, (0..6).map(|index| (index, 6)).collect::<Vec<_>>());
}

// --- Invariances.

#[test]
fn weights_are_repeated_rows() {
    let (x, labels) = clouds(60, 2, 3, 1.0, 16);
    let mut random = Random::new(17);
    let times: Vec<usize> = (0..60).map(|_| random.below(4)).collect();
    let repeated: Vec<usize> = (0..60).flat_map(|i| vec![i; times[i]]).collect();
    let y: Vec<usize> = repeated.iter().map(|&row| labels[row]).collect();
    let weights: Vec<f64> = times.iter().map(|&times| times as f64).collect();
    for kernel in [Kernel::rbf(0.5), Kernel::linear()] {
        let svc = tight(kernel).c(0.7);
        let weighted = svc
            .fit_weighted(x.view(), &labels, &weights, &Unwatched)
            .expect("a model");
        let rows = x.select(Axis(0), &repeated);
        let expected = svc.fit(rows.view(), &y).expect("a model");
        close(&decision(&weighted, &x), &decision(&expected, &x), 1e-6);
        for &row in &weighted.machines().support {
            assert!(times[row] > 0, "row {row} has weight zero");
        }
        // Scaling C is scaling all weights.
        let scaled: Vec<f64> = weights.iter().map(|weight| weight * 0.35).collect();
        let halved = svc
            .clone()
            .c(2.0)
            .fit_weighted(x.view(), &labels, &scaled, &Unwatched);
        close(
            &decision(&halved.expect("a model"), &x),
            &decision(&weighted, &x),
            1e-6,
        );
    }
}

#[test]
fn a_class_without_weight_is_no_class() {
    let (x, labels) = clouds(60, 2, 3, 2.0, 18);
    let weights: Vec<f64> = labels.iter().map(|&label| f64::from(label != 1)).collect();
    let svc = Svc::new(Kernel::rbf(0.5));
    let model = svc
        .fit_weighted(x.view(), &labels, &weights, &Unwatched)
        .expect("a model");
    assert_eq!(model.classes(), [0, 2]);
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let (x, labels) = clouds(200, 3, 2, 1.0, 19);
    let order: Vec<usize> = (0..200).map(|i| (i * 77) % 200).collect();
    let y: Vec<usize> = order.iter().map(|&row| labels[row]).collect();
    let svc = tight(Kernel::rbf(0.3));
    let model = svc.fit(x.view(), &labels).expect("a model");
    let other = svc
        .fit(x.select(Axis(0), &order).view(), &y)
        .expect("a model");
    close(&decision(&model, &x), &decision(&other, &x), 1e-6);
}

#[test]
fn precomputed_built_in_and_user_kernels_agree() {
    let (x, labels) = clouds(120, 3, 3, 1.5, 20);
    let (new, _) = clouds(25, 3, 3, 1.5, 21);
    let kernel = Kernel::rbf(0.4);
    let user = Kernel::from_fn(|x, z| {
        let squared: f64 = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum();
        (-0.4 * squared).exp()
    });
    let between = |a: &Array2<f64>| {
        Array2::from_shape_fn((a.nrows(), 120), |(i, j)| {
            value(&kernel, a.row(i), x.row(j))
        })
    };
    let model = tight(kernel.clone())
        .fit(x.view(), &labels)
        .expect("a model");
    let given = tight(Kernel::Precomputed)
        .fit(between(&x).view(), &labels)
        .expect("a model");
    let called = tight(user).fit(x.view(), &labels).expect("a model");
    assert_eq!(model.machines().support, given.machines().support);
    assert_eq!(model.machines().support, called.machines().support);
    let expected = decision(&model, &new);
    close(&decision(&given, &between(&new)), &expected, 1e-6);
    close(&decision(&called, &new), &expected, 1e-6);
    // Kernel values may come in sparse storage too.
    let values = between(&new);
    let indices: Vec<i32> = (0..25).flat_map(|_| 0..120).collect();
    let starts: Vec<i32> = (0..=25).map(|row| 120 * row).collect();
    let sparse = Samples::csr(values.iter().copied().collect(), &indices, &starts, 120);
    let sparse = given.decision_function(sparse.expect("valid"));
    assert_eq!(sparse.expect("values"), decision(&given, &values));
}

#[test]
fn sparse_and_dense_agree() {
    let (mut x, labels) = clouds(200, 8, 2, 1.5, 22);
    let mut random = Random::new(23);
    x.mapv_inplace(|value| if random.uniform() < 0.6 { 0.0 } else { value });
    for kernel in [
        Kernel::linear(),
        Kernel::rbf(0.2),
        Kernel::Laplacian { gamma: 0.2 },
    ] {
        let svc = tight(kernel);
        let dense = svc.fit(x.view(), &labels).expect("a model");
        let other = svc.fit(sparse(x.view()), &labels).expect("a model");
        let expected = decision(&dense, &x);
        // All four meetings of storages.
        close(&decision(&other, &x), &expected, 1e-6);
        for model in [&dense, &other] {
            let values = model.decision_function(sparse(x.view())).expect("values");
            close(&values, &expected, 1e-6);
        }
    }
}

#[test]
fn single_precision_is_close_to_double() {
    let (x, labels) = clouds(400, 5, 2, 1.5, 24);
    let single = x.mapv(|value| value as f32);
    let svc = tight(Kernel::rbf(0.2));
    let double = svc.fit(x.view(), &labels).expect("a model");
    let rounded = svc.fit(single.view(), &labels).expect("a model");
    let values = rounded.decision_function(single.view()).expect("values");
    // Inputs differ by 6e-8 relative; C = 1 and 400 rows magnify that by less than a thousand.
    close(&values, &decision(&double, &x), 1e-4);
    // The same numbers in the other type are the same problem.
    let widened = svc
        .fit(single.mapv(f64::from).view(), &labels)
        .expect("a model");
    assert_eq!(decision(&widened, &x), decision(&rounded, &x));
}

#[test]
fn large_classes_are_trained_as_small_ones_are() {
    // Pairs of 3200 rows run one after another, pairs of 400 side by side.
    let (x, labels) = clouds(3600, 3, 2, 1.5, 25);
    let (extra, _) = clouds(200, 3, 1, 1.5, 26);
    let x = concatenate![Axis(0), x, extra - 3.0];
    let labels: Vec<usize> = labels.into_iter().chain(vec![2; 200]).collect();
    let svc = tight(Kernel::rbf(0.3));
    let model = svc.fit(x.view(), &labels).expect("a model");
    for report in model.reports() {
        assert_eq!(report.status, Status::Converged);
        assert!(report.gap <= 1.1 * TIGHT);
    }
    let first = svc
        .fit(x.slice(ndarray::s![..3600, ..]), &labels[..3600])
        .expect("a model");
    // Not to the last bit: rows are centred at the mean of all classes, or of these two.
    let column = decision(&model, &x).select(Axis(1), &[0]);
    // Of only two classes the machine is positive for the second.
    close(&-column, &decision(&first, &x), 1e-6);
}

// --- Early ends.

#[test]
fn a_model_without_support_vectors_is_usable() {
    let (x, labels) = clouds(30, 2, 3, 1.0, 27);
    let user = Kernel::from_fn(|x, z| x[0] * z[0]);
    let square = Array2::eye(30);
    for (kernel, x) in [
        (Kernel::rbf(1.0), &x),
        (user, &x),
        (Kernel::Precomputed, &square),
    ] {
        let model = Svc::new(kernel)
            .max_iterations(0)
            .fit(x.view(), &labels)
            .expect("a model");
        assert!(model.machines().support.is_empty());
        assert!(
            model
                .reports()
                .iter()
                .all(|report| report.status == Status::MaxIterations)
        );
        let values = decision(&model, x);
        for row in values.rows() {
            assert_eq!(row.to_vec(), model.machines().intercept);
        }
        assert_eq!(model.predict(x.view()).expect("classes").len(), 30);
    }
}

#[test]
fn time_is_shared_by_all_machines() {
    let (x, labels) = clouds(60, 2, 4, 1.0, 28);
    let svc = Svc::new(Kernel::rbf(1.0)).time_limit(Duration::ZERO);
    let model = svc.fit(x.view(), &labels).expect("a model");
    assert_eq!(model.reports().len(), 6);
    assert!(
        model
            .reports()
            .iter()
            .all(|report| report.status == Status::TimeLimit)
    );
}

#[test]
fn no_rows_have_no_classes() {
    let (x, labels) = clouds(30, 2, 2, 1.0, 29);
    let model = Svc::new(Kernel::rbf(1.0))
        .fit(x.view(), &labels)
        .expect("a model");
    let none = Array2::<f64>::zeros((0, 2));
    assert!(model.predict(none.view()).expect("no classes").is_empty());
    assert_eq!(decision(&model, &none).dim(), (0, 1));
}

// --- What is refused.

#[test]
fn wrong_requests_are_refused() {
    let x = array![[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]];
    let labels = [0, 1, 0];
    let svc = Svc::new(Kernel::rbf(1.0));
    let refuse = |svc: &Svc, labels: &[i32]| svc.fit(x.view(), labels).expect_err("refused");
    for c in [0.0, -1.0, f64::NAN] {
        let error = refuse(&svc.clone().c(c), &labels);
        assert!(
            matches!(error, Error::Parameter { name: "C", .. }),
            "{error}"
        );
    }
    for tolerance in [0.0, -1.0, f64::NAN] {
        let error = refuse(&svc.clone().tolerance(tolerance), &labels);
        assert!(
            matches!(error, Error::Parameter { name: "tol", .. }),
            "{error}"
        );
    }
    let error = refuse(&Svc::new(Kernel::rbf(-1.0)), &labels);
    assert_eq!(
        error.to_string(),
        "gamma must be finite and not negative, got -1"
    );
    assert!(matches!(
        refuse(&svc, &[0, 1]),
        Error::Shape { name: "y", .. }
    ));
    assert!(matches!(
        refuse(&svc, &[0, 1, 0, 1]),
        Error::Shape { name: "y", .. }
    ));
    assert!(matches!(
        refuse(&svc, &[7, 7, 7]),
        Error::TooFewClasses { classes: 1 }
    ));
    let empty = Array2::<f64>::zeros((0, 2));
    let error = svc.fit(empty.view(), &[] as &[i32]).expect_err("refused");
    assert!(matches!(error, Error::TooFewClasses { classes: 0 }));
    let error = refuse(&Svc::new(Kernel::Precomputed), &labels);
    assert!(matches!(error, Error::Shape { name: "X", .. }), "{error}");
    let error = svc
        .fit(array![[0.0], [f64::NAN]].view(), &[0, 1])
        .expect_err("refused");
    assert!(
        matches!(
            error,
            Error::NotFinite {
                name: "X",
                row: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn wrong_weights_are_refused() {
    let x = array![[0.0], [1.0]];
    let refuse = |kernel, x: &Array2<f64>, weights: &[f64]| {
        Svc::new(kernel)
            .fit_weighted(x.view(), &[0, 1], weights, &Unwatched)
            .expect_err("refused")
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = refuse(Kernel::linear(), &x, &[1.0, bad]);
        assert!(
            matches!(
                error,
                Error::Parameter {
                    name: "sample_weight",
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = refuse(Kernel::linear(), &x, &[1.0]);
    assert!(
        matches!(
            error,
            Error::Shape {
                name: "sample_weight",
                ..
            }
        ),
        "{error}"
    );
    let error = refuse(Kernel::linear(), &x, &[1.0, 0.0]);
    assert!(
        matches!(error, Error::TooFewClasses { classes: 1 }),
        "{error}"
    );
}

/// Rows without weight are left out of a precomputed kernel too, which keeps all its columns.
#[test]
fn weights_of_zero_with_a_precomputed_kernel() {
    let (x, labels) = clouds(40, 2, 2, 1.0, 30);
    let kernel = Kernel::rbf(0.5);
    let square = Array2::from_shape_fn((40, 40), |(i, j)| value(&kernel, x.row(i), x.row(j)));
    let weights: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 5 != 0))).collect();
    let fit = |kernel: Kernel, x: &Array2<f64>| {
        tight(kernel)
            .fit_weighted(x.view(), &labels, &weights, &Unwatched)
            .expect("a model")
    };
    let expected = decision(&fit(kernel, &x), &x);
    let given = fit(Kernel::Precomputed, &square);
    close(&decision(&given, &square), &expected, 1e-6);
}

#[test]
fn rows_of_another_length_are_refused_at_prediction() {
    let x = array![[0.0, 1.0], [1.0, 0.0]];
    let user = Kernel::from_fn(|x, z| x[0] * z[0] + x[1] * z[1]);
    for kernel in [
        Kernel::rbf(1.0),
        Kernel::linear(),
        Kernel::Precomputed,
        user,
    ] {
        let model = Svc::new(kernel).fit(x.view(), &[0, 1]).expect("a model");
        for columns in [0, 1, 3] {
            let wrong = Array2::<f64>::zeros((2, columns));
            let error = model.predict(wrong.view()).expect_err("refused");
            assert!(matches!(error, Error::Shape { name: "X", .. }), "{error}");
        }
        let nan = array![[0.0, f64::NAN]];
        let error = model.decision_function(nan.view()).expect_err("refused");
        assert!(matches!(error, Error::NotFinite { row: 0, .. }), "{error}");
    }
}

/// Fails where a row is compared with another beyond a distance.
#[derive(Debug)]
struct ShortSighted;

impl UserKernel for ShortSighted {
    fn block(
        &self,
        a: &Samples,
        rows: &[usize],
        b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (mut x, mut z) = ([0.0], [0.0]);
        for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
            a.copy_row(i, &mut x);
            for (&j, value) in columns.iter().zip(values) {
                b.copy_row(j, &mut z);
                if (x[0] - z[0]).abs() > 100.0 {
                    return Err(format!("cannot see from {} to {}", x[0], z[0]).into());
                }
                *value = (-(x[0] - z[0]).powi(2)).exp();
            }
        }
        Ok(())
    }
}

#[test]
fn errors_of_a_user_kernel_come_through() {
    let svc = Svc::new(Kernel::user(ShortSighted));
    let error = svc
        .fit(array![[0.0], [500.0]].view(), &[0, 1])
        .expect_err("too far");
    assert!(matches!(error, Error::UserKernel(_)));
    assert!(error.to_string().starts_with("kernel: cannot see from"));
    assert!(std::error::Error::source(&error).is_some());
    // Within a model's sight, and beyond it at prediction.
    let model = svc
        .fit(array![[0.0], [5.0]].view(), &[0, 1])
        .expect("a model");
    assert_eq!(
        model.predict(array![[1.0], [6.0]].view()).expect("classes"),
        [0, 1]
    );
    let error = model
        .predict(array![[1.0], [600.0]].view())
        .expect_err("too far");
    assert_eq!(error.to_string(), "kernel: cannot see from 600 to 0");
    let nan = Svc::new(Kernel::from_fn(|_, _| f64::NAN));
    let error = nan
        .fit(array![[0.0], [5.0]].view(), &[0, 1])
        .expect_err("not a number");
    assert!(matches!(error, Error::NotFinite { name: "kernel", .. }));
}

#[test]
fn one_vs_one_checks_its_arguments() {
    let samples = Samples::try_from(array![[0.0], [1.0], [2.0]].view()).expect("finite");
    let refuse = |labels: &[usize], classes: usize, cost: &[f64]| {
        let kernel = Kernel::linear();
        let margin = Margin::Soft {
            loss: Loss::Linear.into(),
            intercept: Intercept::Free,
        };
        let training = Training::new(&kernel, &samples, labels, cost, margin);
        OneVsOne::fit(&training.classes(classes)).expect_err("refused")
    };
    assert!(matches!(
        refuse(&[0, 1], 2, &[1.0; 3]),
        Error::Shape { name: "y", .. }
    ));
    assert!(matches!(
        refuse(&[0, 1, 1], 2, &[1.0; 2]),
        Error::Shape {
            name: "sample_weight",
            ..
        }
    ));
    for bad in [-1.0, f64::NAN] {
        assert!(matches!(
            refuse(&[0, 1, 1], 2, &[1.0, bad, 1.0]),
            Error::Parameter { name: "C", .. }
        ));
    }
    // Rows without cost do not count.
    assert!(matches!(
        refuse(&[0, 1, 1], 2, &[1.0, 0.0, 0.0]),
        Error::TooFewClasses { classes: 1 }
    ));
    assert!(matches!(
        refuse(&[0, 1, 2], 2, &[1.0; 3]),
        Error::Parameter { name: "y", .. }
    ));
    assert!(matches!(
        refuse(&[0, 1, 1], 3, &[1.0; 3]),
        Error::TooFewClasses { classes: 2 }
    ));
    assert!(matches!(
        refuse(&[0, 0, 0], 1, &[1.0; 3]),
        Error::TooFewClasses { classes: 1 }
    ));
}

// --- Starting from given coefficients.

/// The coefficients of one cost are almost right for the next, and after that nothing is left to do.
#[test]
fn training_goes_on_from_given_coefficients() {
    let (x, labels) = clouds(400, 3, 2, 1.0, 61);
    for intercept in [Intercept::Free, Intercept::None, Intercept::Penalized] {
        let svc = |c: f64| tight(Kernel::rbf(0.3)).c(c).intercept(intercept);
        let fit = |svc: Svc| svc.fit(x.view(), &labels).expect("a model");
        let coefficients = |model: &SvcModel<usize>| {
            let machines = model.machines();
            let mut all = vec![0.0; labels.len()];
            for (&row, &beta) in machines.support.iter().zip(machines.dual_coef.row(0)) {
                assert_eq!(
                    beta > 0.0,
                    labels[row] == 1,
                    "positive for the second class"
                );
                all[row] = beta;
            }
            all
        };
        let (first, cold) = (fit(svc(1.0)), fit(svc(1.1)));
        let warm = fit(svc(1.1).start(&coefficients(&first)));
        close(&decision(&warm, &x), &decision(&cold, &x), 1e-6);
        let (few, many) = (warm.reports()[0].iterations, cold.reports()[0].iterations);
        assert!(few < many, "{intercept:?}: {few} steps, not below {many}");
        let again = fit(svc(1.1).start(&coefficients(&cold)).tolerance(1e-6));
        assert!(10 * again.reports()[0].iterations <= many);
    }
}

#[test]
fn a_start_has_to_be_feasible() {
    let x = array![[-1.0], [1.0], [2.0]];
    let refuse = |start: &[f64], labels: &[usize]| {
        let svc = Svc::new(Kernel::linear()).start(start);
        let error = svc.fit(x.view(), labels).expect_err("refused");
        assert!(error.to_string().starts_with("start"), "{error}");
    };
    refuse(&[-0.5, 0.5], &[0, 1, 1]); // a row without
    refuse(&[0.5, -0.5, 0.0], &[0, 1, 1]); // the wrong signs
    refuse(&[-2.0, 2.0, 0.0], &[0, 1, 1]); // beyond the cost
    refuse(&[-0.5, 0.4, 0.0], &[0, 1, 1]); // another sum
    refuse(&[-0.5, f64::NAN, 0.5], &[0, 1, 1]);
    refuse(&[-0.5, 0.5, 0.0], &[0, 1, 2]); // three classes
    let samples = Samples::try_from(x.view()).expect("finite");
    let (kernel, start) = (Kernel::linear(), [-0.5, 0.5, 0.0]);
    let training = Training::new(&kernel, &samples, &[0, 1, 1], &[1.0; 3], Margin::Nu(0.5));
    let error = OneVsOne::fit(&training.start(&start)).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "start must be for a machine with C, got nu"
    );
    // Without a free intercept no sum is kept.
    let svc = Svc::new(Kernel::linear()).intercept(Intercept::None);
    assert!(
        svc.start(&[-0.5, 0.4, 0.0])
            .fit(x.view(), &[0, 1, 1])
            .is_ok()
    );
}

#[test]
fn expansions_check_their_shapes() {
    let support = Samples::try_from(array![[1.0], [-1.0], [2.0]].view()).expect("finite");
    let new = |support: Option<Samples>, n: &[usize], coef: (usize, usize), intercept: &[f64]| {
        let coef = Array2::<f64>::zeros(coef);
        Expansion::new(Kernel::linear(), support, n, coef.view(), intercept)
    };
    let some = || Some(support.clone());
    assert!(new(some(), &[2, 1], (1, 3), &[0.0]).is_ok());
    assert!(new(some(), &[1, 1, 1], (2, 3), &[0.0; 3]).is_ok());
    let name = |result: mercer::Result<Expansion>| match result.expect_err("refused") {
        Error::Shape { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(name(new(some(), &[2, 1], (2, 3), &[0.0])), "dual_coef_");
    assert_eq!(name(new(some(), &[2, 2], (1, 3), &[0.0])), "dual_coef_");
    assert_eq!(
        name(new(some(), &[2, 1], (1, 3), &[0.0, 0.0])),
        "intercept_"
    );
    assert_eq!(name(new(some(), &[1, 1, 1], (2, 3), &[0.0])), "intercept_");
    assert_eq!(
        name(new(some(), &[2, 2], (1, 4), &[0.0])),
        "support_vectors_"
    );
    // A machine without classes counts as one.
    assert!(new(some(), &[3], (1, 3), &[0.0]).is_ok());
    assert_eq!(name(new(some(), &[3], (0, 3), &[0.0])), "dual_coef_");
    assert_eq!(name(new(some(), &[3], (1, 3), &[])), "intercept_");
    assert!(matches!(
        new(some(), &[], (0, 3), &[]),
        Err(Error::TooFewClasses { classes: 0 })
    ));
    let coefficients = array![[1.0, f64::NAN, 0.0]];
    let tampered = Expansion::new(Kernel::linear(), some(), &[3], coefficients.view(), &[0.0]);
    assert!(matches!(
        tampered,
        Err(Error::NotFinite {
            name: "dual_coef_",
            ..
        })
    ));
    let infinite = Expansion::new(
        Kernel::linear(),
        some(),
        &[3],
        Array2::zeros((1, 3)).view(),
        &[f64::INFINITY],
    );
    assert!(matches!(
        infinite,
        Err(Error::NotFinite {
            name: "intercept_",
            ..
        })
    ));
    let bad = Expansion::new(
        Kernel::rbf(-1.0),
        some(),
        &[2, 1],
        Array2::zeros((1, 3)).view(),
        &[0.0],
    );
    assert!(matches!(bad, Err(Error::Parameter { name: "gamma", .. })));
}

#[test]
fn expansions_evaluate_or_say_why_not() {
    let coefficients = array![[1.0, 2.0, -1.0]];
    let support = Samples::try_from(array![[1.0], [-1.0], [2.0]].view()).expect("finite");
    let new = |kernel, support| {
        Expansion::new(kernel, support, &[2, 1], coefficients.view(), &[0.5]).expect("an expansion")
    };
    let x = Samples::try_from(array![[3.0], [0.0]].view()).expect("finite");
    let expected = array![[3.0 - 6.0 - 6.0 + 0.5], [0.5]];
    let product = Kernel::from_fn(|x, z| x[0] * z[0]);
    for kernel in [Kernel::linear(), product] {
        let f = new(kernel, Some(support.clone()));
        assert_eq!(
            f.decision(&x, &|| false).expect("values"),
            Some(expected.clone())
        );
        assert_eq!(f.decision(&x, &|| true).expect("values"), None, "stopped");
    }
    let values = array![[3.0, -3.0, 6.0], [0.0, 0.0, 0.0]];
    let given = new(Kernel::Precomputed, None);
    assert_eq!(
        given.decision_from_kernel(values.view()).expect("values"),
        expected
    );
    let wrong = given.decision_from_kernel(array![[1.0, 2.0]].view());
    assert!(matches!(wrong, Err(Error::Shape { .. })));
    // What cannot be evaluated here is said.
    for f in [given, new(Kernel::linear(), None)] {
        let error = f.decision(&x, &|| false).expect_err("no support vectors");
        assert!(
            matches!(error, Error::Parameter { name: "kernel", .. }),
            "{error}"
        );
    }
}

// --- Newton steps.

/// A large C leaves a badly conditioned system of the free variables, for which pair steps alone
/// take tens of thousands.
#[test]
fn a_large_cost_takes_few_steps() {
    let x = Array2::from_shape_fn((1000, 2), |(i, j)| {
        let golden = [0.618_033_988_749_895, 0.754_877_666_246_693][j];
        4.0 * (i as f64 * golden).fract()
    });
    let square = |i: usize| (x[[i, 0]].floor() + x[[i, 1]].floor()) as usize % 2;
    let labels: Vec<usize> = (0..1000).map(square).collect();
    let svc = Svc::new(Kernel::rbf(1.0)).c(1e4).tolerance(1e-4);
    let model = svc.fit(x.view(), &labels).expect("a model");
    let report = model.reports()[0];
    assert_eq!(report.status, Status::Converged);
    assert!(report.gap <= 1.1e-4);
    assert!(report.iterations < 15_000, "{} steps", report.iterations);
}
