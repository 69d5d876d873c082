//! Data of every scale: a kernel of distances does not depend on where rows lie and in which units, so
//! neither do the machines; what cannot be computed is refused.

use crate::common;

use common::machines::{Given, Machine, all};
use common::qp::value;
use common::{Random, sparse};
use mercer::formulation::{Intercept, Loss};
use mercer::qp::{Adatron, Smo, Status, Unwatched};
use mercer::{Error, Kernel, OneClassSvm, Result, Samples, Svc, Svdd, Svr};
use ndarray::{Array2, Axis, array, concatenate};
use std::time::{Duration, Instant};

fn solver() -> Smo {
    Smo::new()
        .tolerance(1e-9)
        .time_limit(Duration::from_secs(20))
}

/// Forty rows, ten of them twice, with a number each.
fn data(seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = Array2::from_shape_fn((30, 3), |_| (256.0 * random.normal()).round() / 256.0);
    let twice = x.slice(ndarray::s![..10, ..]).to_owned();
    let x = concatenate(Axis(0), &[x.view(), twice.view()]).expect("as wide");
    let y = (0..40)
        .map(|i| x[[i, 0]] - 0.5 * x[[i, 1]] * x[[i, 2]])
        .collect();
    (x, y)
}

/// k(x, z) from differences.
fn exact(kernel: &Kernel, x: &Array2<f64>, z: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows(), z.nrows()), |(i, j)| match kernel {
        Kernel::InverseMultiquadric { c } => {
            let pairs = x.row(i).into_iter().zip(z.row(j));
            let squared: f64 = pairs.map(|(x, z)| (x - z) * (x - z)).sum();
            1.0 / (squared + c * c).sqrt()
        }
        _ => value(kernel, x.row(i), z.row(j)),
    })
}

/// A machine on data that are scaled and moved is the one on the exact kernel matrix.
fn is_that_of_the_exact_matrix(machine: Machine, kernel: &Kernel, x: &Array2<f64>, y: &[f64]) {
    let fresh = x.slice(ndarray::s![5..25;2, ..]).to_owned();
    let weight = [1.0; 40];
    let given = Given { y, weight: &weight };
    let matrix = exact(kernel, x, x);
    let fit = |kernel: &Kernel, samples: Samples| {
        let model = machine.fit(kernel, solver(), samples, given, &Unwatched);
        let model = model.expect("a model");
        assert_eq!(
            model.report().status,
            Status::Converged,
            "{machine:?}, {kernel:?}"
        );
        model
    };
    let reference = fit(
        &Kernel::precomputed(),
        Samples::try_from(matrix.view()).unwrap(),
    );
    let expected = reference.decide(exact(kernel, &fresh, x).view());
    // The sphere wants k(z, z), which a matrix has only if its diagonal is constant.
    let expected = expected.expect("a constant diagonal");
    let size = expected.iter().fold(1.0f64, |size, f| size.max(f.abs()));
    for samples in [Samples::try_from(x.view()).unwrap(), sparse(x.view())] {
        let model = fit(kernel, samples);
        let found = model.decide(fresh.view()).expect("values");
        for (found, expected) in found.iter().zip(&expected) {
            let error = (found - expected).abs() / size;
            assert!(
                error <= 1e-6,
                "{machine:?}, {kernel:?}: {found} not {expected}"
            );
        }
    }
}

#[test]
fn machines_do_not_depend_on_scale_or_place() {
    let (x, y) = data(1);
    for (scale, offset) in [
        (1e-12, 0.0),
        (1e-6, 1.0),
        (1.0, 1e9),
        (1e6, 0.0),
        (1e9, 0.0),
        (1e12, -1e15),
    ] {
        let moved = x.mapv(|value| scale * value + offset);
        // A width that goes with the scale, and one that makes all rows strangers or all the same.
        for width in [scale, 1.0] {
            for kernel in [
                Kernel::rbf(0.5 / (width * width)),
                Kernel::laplacian(0.5 / width),
                Kernel::inverse_multiquadric(width),
            ] {
                for machine in [
                    Machine::Svc(Loss::Linear, Intercept::Free),
                    Machine::Svr(Loss::Squared, Intercept::Free),
                    Machine::Svr(Loss::Linear, Intercept::None),
                ] {
                    is_that_of_the_exact_matrix(machine, &kernel, &moved, &y);
                }
            }
        }
    }
}

/// Features in different units, and clusters far apart: no centre makes norms small.
#[test]
fn machines_do_not_depend_on_units() {
    let (x, y) = data(2);
    let mut mixed = x.clone();
    for (column, scale) in [1e-9, 1.0, 1e9].into_iter().enumerate() {
        mixed.column_mut(column).mapv_inplace(|value| scale * value);
    }
    let mut clusters = x.clone();
    for (i, mut row) in clusters.rows_mut().into_iter().enumerate() {
        row += [0.0, 1e10, -3e12][i % 30 % 3];
    }
    for x in [mixed, clusters] {
        for kernel in [Kernel::rbf(0.5), Kernel::laplacian(0.2)] {
            for machine in all() {
                // Of rows that are strangers to each other nu leaves no margin.
                if machine != Machine::NuSvc {
                    is_that_of_the_exact_matrix(machine, &kernel, &x, &y);
                }
            }
        }
    }
}

/// Forty distinct points times 1e9 are strangers to each other: K is the identity, and by hand alpha is
/// min(C, 1) for balanced classes.
#[test]
fn strangers_have_the_identity_for_a_kernel() {
    let mut random = Random::new(3);
    let x = Array2::from_shape_fn((40, 2), |_| 1e9 * random.normal());
    let labels: Vec<usize> = (0..40).map(|i| i % 2).collect();
    for kernel in [Kernel::rbf(0.5), Kernel::laplacian(0.5)] {
        let model = Svc::new(kernel).c(10.0).fit(x.view(), &labels).unwrap();
        let report = &model.reports()[0];
        assert_eq!(report.status, Status::Converged);
        assert!(
            model
                .machines()
                .dual_coef
                .iter()
                .all(|beta| (beta.abs() - 1.0).abs() < 1e-3)
        );
        assert!(
            (report.objective + 20.0).abs() < 1e-3,
            "{}",
            report.objective
        );
    }
}

/// The linear kernel with a free intercept does not depend on the place either.
#[test]
fn a_linear_machine_does_not_depend_on_the_place() {
    let (x, y) = data(4);
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let smo = Smo::new().tolerance(1e-6);
    let adatron = Adatron::new()
        .tolerance(1e-6)
        .time_limit(Duration::from_secs(20));
    for solver in [smo.into(), mercer::qp::Solver::from(adatron)] {
        let fit = |x: &Array2<f64>| -> Result<[f64; 3]> {
            let kernel = Kernel::linear();
            let svc = Svc::new(kernel.clone())
                .solver(solver)
                .fit(x.view(), &labels)?;
            let svr = Svr::new(kernel.clone()).solver(solver).fit(x.view(), &y)?;
            let sphere = Svdd::new(kernel).nu(0.3).solver(solver).fit(x.view())?;
            let reports = [&svc.reports()[0], svr.report(), sphere.report()];
            let statuses = reports.map(|report| report.status);
            assert_eq!(statuses, [Status::Converged; 3], "{solver:?}");
            Ok(reports.map(|report| report.objective))
        };
        // The sphere's linear term is half its diagonal, so that only the others have one objective.
        let near = fit(&x).unwrap();
        for offset in [1e3, 1e5, 1e7] {
            let far = fit(&x.mapv(|value| value + offset)).unwrap();
            for (far, near) in far.iter().zip(&near).take(2) {
                assert!(
                    (far - near).abs() <= 1e-6 * near.abs(),
                    "{offset}: {far} {near}"
                );
            }
        }
    }
}

/// A shift of the kernel changes the linear term where the sum is not zero.
#[test]
fn a_plane_far_from_the_origin_is_the_same_by_both_solvers() {
    let (x, _) = data(5);
    let x = x.mapv(|value| value + 1e3);
    let tolerance = 1e-3;
    let smo = OneClassSvm::new(Kernel::linear())
        .nu(0.3)
        .tolerance(tolerance);
    let adatron = smo
        .clone()
        .solver(Adatron::new().time_limit(Duration::from_secs(20)));
    let [a, b] = [smo, adatron].map(|machine| {
        let model = machine.fit(x.view()).unwrap();
        assert_eq!(model.report().status, Status::Converged);
        model.report().objective
    });
    assert!((a - b).abs() <= 1e-9 * a.abs(), "{a} {b}");
}

// --- What cannot be computed.

/// A row so far away that its norm overflows has kernel values of 0 with all others, and no decision
/// value is anything but a number.
#[test]
fn rows_beyond_all_measure_are_strangers() {
    let (x, y) = data(6);
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    for kernel in [
        Kernel::rbf(0.5),
        Kernel::laplacian(0.5),
        Kernel::inverse_multiquadric(1.0),
        Kernel::rbf(0.5) * Kernel::laplacian(0.5),
    ] {
        let model = Svc::new(kernel.clone()).fit(x.view(), &labels).unwrap();
        let intercept = model.machines().intercept[0];
        for size in [1e20, 1e160, 1e300] {
            let far = array![[size, -size, 0.0], [size, size, size]];
            let found = model.decision_function(far.view()).unwrap();
            for value in found {
                assert!(
                    (value.abs() - intercept.abs()).abs() < 1e-6,
                    "{kernel:?}: {value}"
                );
            }
            let labels = model.predict(far.view()).unwrap();
            assert_eq!(labels[0], labels[1]);
        }
    }
}

/// Powers that overflow cancel to anything: they are refused, and never a label.
#[test]
fn decision_values_that_are_no_numbers_are_refused() {
    let (x, y) = data(7);
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let kernel = Kernel::polynomial(1.0, 1.0, 3);
    let svc = Svc::new(kernel.clone())
        .c(0.01)
        .fit(x.view(), &labels)
        .unwrap();
    let svr = Svr::new(kernel.clone()).c(0.01).fit(x.view(), &y).unwrap();
    let plane = OneClassSvm::new(kernel).fit(x.view()).unwrap();
    let far = array![[1.0, 1.0, 1.0], [1e150, -1e150, 1e150]];
    let errors = [
        svc.decision_function(far.view()).unwrap_err(),
        svc.predict(far.view()).unwrap_err(),
        svr.predict(far.view()).unwrap_err(),
        plane.decision_function(far.view()).unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error, Error::Parameter { name: "X", .. }),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("small enough") && text.contains("for row 1"),
            "{text}"
        );
    }
}

#[test]
fn values_that_are_too_large_are_refused_at_once() {
    let labels = [0, 1, 0, 1];
    let started = Instant::now();
    for (at, value) in [((0, 1), 1e308), ((2, 2), 1e308), ((1, 3), -1e200)] {
        let mut matrix = Array2::<f64>::eye(4);
        matrix[[at.0, at.1]] = value;
        matrix[[at.1, at.0]] = value;
        let svc = Svc::new(Kernel::precomputed());
        let text = svc.fit(matrix.view(), &labels).unwrap_err().to_string();
        assert!(
            text.contains("at most 1e150") && text.contains(&format!("{value:e}")),
            "{text}"
        );
        let user = Kernel::from_fn(move |x, z| match x[0] != z[0] {
            true => value,
            false => 1.0,
        });
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        assert!(Svc::new(user).fit(x.view(), &labels).is_err());
    }
    let x = array![[1e60], [-1e60], [2e60], [-2e60]];
    let error = Svc::new(Kernel::polynomial(1.0, 0.0, 2)).fit(x.view(), &labels);
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("X must be scaled") && text.contains("row 0"),
        "{text}"
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}
