//! Svc and NuSvc against the oracle, hard margins that exist and that do not, the limits of nu.

use crate::common;

use common::clouds;
use common::oracle::{Found, Primal, Tally, dot};
use common::pairs::{Pair, coefficients, pairs};
use common::problems::{Problem, total};
use mercer::formulation::{Intercept, Loss};
use mercer::qp::{Status, Unwatched};
use mercer::{Error, Kernel, NuSvc, Svc, SvcModel};
use ndarray::{Array2, array};

const TIGHT: f64 = 1e-8;
const LOSSES: [Loss; 2] = [Loss::Linear, Loss::Squared];
const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::None, Intercept::Penalized];

/// minimise 1/2 |w|^2 + sum C_i max(0, 1 - y_i f_i), or its square.
fn svc_primal(pair: &Pair, cost: &[f64], loss: Loss, intercept: Intercept) -> Primal {
    let free = matches!(intercept, Intercept::Free);
    let scalars: &[f64] = if free { &[1.0] } else { &[] };
    Primal {
        price: vec![0.0; scalars.len()],
        directions: vec![vec![1.0]; scalars.len()],
        squared: matches!(loss, Loss::Squared),
        margins: pair.margins(cost, scalars, 1.0),
    }
}

fn compare_svc(
    tally: &mut Tally,
    problem: &Problem,
    c: f64,
    loss: Loss,
    intercept: Intercept,
    classes: usize,
) {
    let model = Svc::new(problem.kernel.clone())
        .c(c)
        .loss(loss)
        .intercept(intercept)
        .tolerance(TIGHT)
        .fit_weighted(
            problem.x.view(),
            &problem.class,
            &problem.weight,
            &Unwatched,
        )
        .expect("a model");
    let cost: Vec<f64> = problem.weight.iter().map(|weight| c * weight).collect();
    let penalized = matches!(intercept, Intercept::Penalized);
    for pair in pairs(problem, classes, penalized) {
        let report = &model.reports()[pair.index];
        assert_eq!(report.status, Status::Converged);
        let published = model.machines().intercept[pair.index];
        let t = match intercept {
            Intercept::Free => vec![published],
            _ => Vec::new(),
        };
        if matches!(intercept, Intercept::None) {
            assert_eq!(published, 0.0);
        }
        let found = Found {
            decisions: pair.decisions(&model, problem),
            t,
            value: -report.objective,
        };
        let name = format!("{}, C {c}, pair {}", problem.name, pair.index);
        tally.compare(
            &name,
            &svc_primal(&pair, &cost, loss, intercept),
            &found,
            |w, t| {
                let bias = t.first().copied().unwrap_or(0.0);
                pair.fresh.iter().map(|phi| dot(w, phi) + bias).collect()
            },
        );
    }
}

#[test]
fn svc_agrees_with_the_oracle() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            let mut tally = Tally::new(format!("SVC, {loss:?}, {intercept:?}"));
            for seed in 0..28 {
                // Every seventh with three classes.
                let classes = if seed / 7 == 3 { 3 } else { 2 };
                let mut problem = Problem::new(seed, classes);
                let c = 10f64.powf(3.0 * problem.random.uniform() - 1.5);
                compare_svc(&mut tally, &problem, c, loss, intercept, classes);
            }
            tally.finish(20);
        }
    }
}

/// Penalising the bias is adding a constant feature; the bias is its weight.
#[test]
fn a_penalized_bias_is_the_kernel_plus_one() {
    let one = Kernel::polynomial(1.0, 1.0, 0);
    for loss in LOSSES {
        for seed in 0..7 {
            let problem = Problem::new(seed, 2);
            let fit = |kernel: Kernel, intercept: Intercept| {
                let svc = Svc::new(kernel).loss(loss).intercept(intercept);
                svc.tolerance(TIGHT)
                    .fit(problem.x.view(), &problem.class)
                    .expect("a model")
            };
            let penalized = fit(problem.kernel.clone(), Intercept::Penalized);
            let with_one = fit(problem.kernel.clone() + one.clone(), Intercept::None);
            close(
                &values(&penalized, &problem.fresh),
                &values(&with_one, &problem.fresh),
                1e-6,
            );
            let (machines, reports) = (penalized.machines(), penalized.reports());
            let sum = machines.dual_coef.sum();
            assert!((machines.intercept[0] - sum).abs() <= 1e-12 * (1.0 + sum.abs()));
            let error = (reports[0].objective - with_one.reports()[0].objective).abs();
            assert!(error <= 1e-9 * (1.0 + reports[0].objective.abs()));
        }
    }
}

/// Where no vector is free the bias is the middle of what optimality allows.
#[test]
fn without_free_vectors_the_bias_is_in_the_middle() {
    let mut wide = 0;
    for seed in 0..14 {
        // As many rows of either class, and all of them at the bound.
        let mut problem = Problem::new(seed, 2);
        problem.weight.fill(1.0);
        if problem.x.nrows() % 2 == 1 {
            problem.weight[0] = 0.0;
        }
        let (c, loss, intercept) = (1e-3, Loss::Linear, Intercept::Free);
        let model = Svc::new(problem.kernel.clone()).c(c).tolerance(TIGHT);
        let model = model
            .fit_weighted(
                problem.x.view(),
                &problem.class,
                &problem.weight,
                &Unwatched,
            )
            .expect("a model");
        let pair = &pairs(&problem, 2, false)[0];
        let primal = svc_primal(pair, &vec![c; problem.x.nrows()], loss, intercept);
        let Some(best) = primal.minimise() else {
            continue;
        };
        let (down, up) = best.ranges[0];
        if up - down > 1e-2 {
            close(&model.machines().intercept, &best.t, 1e-6);
            wide += 1;
        }
    }
    assert!(wide >= 5, "only {wide} with a choice");
}

/// The bias does not depend on whether a row is there three times or has weight three either. In
/// f64 3 * 0.0007 and the sum of three 0.0007 differ: what remains of a coefficient by rounding does
/// not make a free vector.
#[test]
fn rounding_makes_no_vector_free() {
    for c in [0.001, 0.0007, 0.0011, 0.0013] {
        let fit = |x: Array2<f64>, class: &[usize], weight: &[f64]| {
            let svc = Svc::new(Kernel::linear()).c(c).tolerance(TIGHT);
            let model = svc.fit_weighted(x.view(), class, weight, &Unwatched);
            let model = model.expect("a model");
            let machines = model.machines();
            (machines.support.len(), machines.intercept[0])
        };
        let weighted = fit(
            array![[0.0], [-3.0], [10.0], [11.0], [12.0]],
            &[0, 0, 1, 1, 1],
            &[3.0, 3.0, 1.0, 1.0, 1.0],
        );
        let repeated = fit(
            array![
                [0.0],
                [0.0],
                [0.0],
                [-3.0],
                [-3.0],
                [-3.0],
                [10.0],
                [11.0],
                [12.0]
            ],
            &[0, 0, 0, 0, 0, 0, 1, 1, 1],
            &[1.0; 9],
        );
        // All of 0 and of 10, 11, 12 are at their bounds, -3 has none.
        assert_eq!((weighted.0, repeated.0), (4, 6), "C {c}");
        let error = (weighted.1 - repeated.1).abs();
        assert!(
            error <= 1e-6,
            "C {c}: bias {} not {}",
            weighted.1,
            repeated.1
        );
    }
}

fn values(model: &SvcModel<usize>, x: &Array2<f64>) -> Vec<f64> {
    let values = model.decision_function(x.view()).expect("values");
    values.into_iter().collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1.0f64, |size, f| size.max(f.abs()));
    for (f, expected) in found.iter().zip(expected) {
        let error = (f - expected).abs() / largest;
        assert!(error <= tolerance, "{f} is not {expected} to {tolerance}");
    }
}

// --- Hard margins.

/// Data that a plane through the origin parts; rows near it have weight zero.
fn separable(seed: u64) -> Problem {
    let mut problem = Problem::new(seed, 2);
    for i in 0..problem.x.nrows() {
        let side = problem.x.row(i).sum();
        problem.class[i] = usize::from(side > 0.0);
        problem.weight[i] = f64::from(u8::from(side.abs() > 0.3));
    }
    problem
}

#[test]
fn hard_margins_agree_with_the_oracle() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            let mut tally = Tally::new(format!("hard margin, {loss:?}, {intercept:?}"));
            for seed in 0..24 {
                let problem = separable(seed);
                compare_svc(&mut tally, &problem, f64::INFINITY, loss, intercept, 2);
            }
            tally.finish(20);
        }
    }
}

/// Overlapping classes in few columns, or in many with ten pairs of twins.
fn inseparable(kernel: &Kernel, rows: usize) -> (Array2<f64>, Vec<usize>) {
    let (mut x, class) = clouds(rows, 2, 2, 0.5, 31);
    if matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. }) {
        for i in 0..10 {
            let twin = x.row(2 * i).to_owned();
            x.row_mut(2 * i + 1).assign(&twin);
        }
    }
    (x, class)
}

#[test]
fn a_hard_margin_that_does_not_exist_diverges() {
    for kernel in [
        Kernel::linear(),
        Kernel::polynomial(1.0, 1.0, 2),
        Kernel::rbf(1.0),
        Kernel::Laplacian { gamma: 1.0 },
    ] {
        for rows in [40, 600] {
            let (x, class) = inseparable(&kernel, rows);
            for loss in LOSSES {
                for intercept in INTERCEPTS {
                    for tolerance in [1e-3, TIGHT] {
                        let svc = Svc::new(kernel.clone()).c(f64::INFINITY).loss(loss);
                        let model = svc
                            .intercept(intercept)
                            .tolerance(tolerance)
                            .fit(x.view(), &class)
                            .expect("a model");
                        let about = format!("{kernel:?}, {rows} rows, {loss:?}, {intercept:?}");
                        let report = &model.reports()[0];
                        assert_eq!(report.status, Status::Diverged, "{about}: {report:?}");
                        assert_eq!(report.status.to_string(), "diverged");
                        let machines = model.machines();
                        assert!(machines.dual_coef.iter().all(|beta| beta.is_finite()));
                        assert!(values(&model, &x).iter().all(|f| f.is_finite()), "{about}");
                        if intercept == Intercept::Free {
                            let largest = machines
                                .dual_coef
                                .iter()
                                .fold(0.0, |a: f64, b| a.max(b.abs()));
                            assert!(machines.dual_coef.sum().abs() <= 1e-9 * largest);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn steps_run_out_before_a_hard_margin_diverges() {
    let (x, class) = inseparable(&Kernel::linear(), 200);
    for loss in LOSSES {
        for steps in [0, 1, 20] {
            let svc = Svc::new(Kernel::linear()).c(f64::INFINITY).loss(loss);
            let model = svc.max_iterations(steps).fit(x.view(), &class);
            let model = model.expect("a model");
            let report = &model.reports()[0];
            assert_eq!(report.status, Status::MaxIterations);
            assert_eq!(report.iterations, steps);
            assert!(values(&model, &x).iter().all(|f| f.is_finite()));
        }
    }
}

/// Separable, but only just: the hard margin is found, not given up.
#[test]
fn a_narrow_margin_is_no_divergence() {
    for (kernel, gap) in [
        (Kernel::linear(), 1e-2),
        (Kernel::linear(), 1e-3),
        (Kernel::polynomial(1.0, 1.0, 2), 1e-2),
    ] {
        // f(x) = (x - 1) 2 / gap on a line; symmetric, so that it is known for the linear kernel.
        let x = array![[0.0], [1.0 - gap / 2.0], [1.0 + gap / 2.0], [2.0]];
        let svc = Svc::new(kernel.clone()).c(f64::INFINITY).tolerance(1e-6);
        let model = svc.fit(x.view(), &[0, 0, 1, 1]).expect("a model");
        assert_eq!(model.reports()[0].status, Status::Converged, "{kernel:?}");
        let f = values(&model, &x);
        close(&f[1..3], &[-1.0, 1.0], 1e-5);
        if matches!(kernel, Kernel::Linear) {
            close(&[f[0], f[3]], &[-2.0 / gap, 2.0 / gap], 1e-5);
        }
    }
}

// --- Nu.

/// minimise 1/2 |w|^2 - nu m rho + sum w_i max(0, rho - y_i f_i), m the sum of the weights.
fn nu_svc_primal(pair: &Pair, weight: &[f64], nu: f64) -> Primal {
    Primal {
        price: vec![0.0, -nu * total(weight, &pair.rows)],
        // rho - b, which the positive class sees, and rho + b.
        directions: vec![vec![-0.5, 0.5], vec![0.5, 0.5]],
        squared: false,
        margins: pair.margins(weight, &[1.0, -1.0], 0.0),
    }
}

/// The largest nu for which every pair of classes has a solution.
fn largest_nu(problem: &Problem, classes: usize) -> f64 {
    let mut sums = vec![0.0; classes];
    for (&class, weight) in problem.class.iter().zip(&problem.weight) {
        sums[class] += weight;
    }
    let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
    let most = sums.iter().copied().fold(0.0, f64::max);
    2.0 * least / (least + most)
}

/// Compares one fit; returns how many pairs have next to no margin.
fn compare_nu_svc(tally: &mut Tally, problem: &Problem, nu: f64, classes: usize) -> usize {
    let model = NuSvc::new(problem.kernel.clone())
        .nu(nu)
        .tolerance(TIGHT)
        .fit_weighted(
            problem.x.view(),
            &problem.class,
            &problem.weight,
            &Unwatched,
        )
        .expect("a model");
    let machines = model.machines();
    let mut degenerate = 0;
    for pair in pairs(problem, classes, false) {
        let report = &model.reports()[pair.index];
        assert_eq!(report.status, Status::Converged);
        let primal = nu_svc_primal(&pair, &problem.weight, nu);
        let decisions = pair.decisions(&model, problem);
        if let Some(best) = primal.minimise()
            && best.t[1] < 1e4 * TIGHT
        {
            // The reduced hulls of the classes meet or nearly so. The solver finds w and b to its
            // tolerance, and divided by so small an r that is not the 1e-4 asked for here.
            assert!((report.objective + best.value).abs() <= 1e-6);
            assert!(decisions.iter().all(|f| f.is_finite()));
            degenerate += 1;
            continue;
        }
        // The coefficients of a class summed to nu m / 2 before they were divided by r.
        let (i, j) = [(0, 1), (0, 2), (1, 2)][pair.index];
        let coefficients = coefficients(machines, &problem.class, i, j);
        let half = nu * total(&problem.weight, &pair.rows) / 2.0;
        let of_class = |class: usize| {
            let own = coefficients
                .iter()
                .filter(|(row, _)| problem.class[*row] == class);
            own.map(|(_, beta)| beta).sum::<f64>()
        };
        let (positive, negative) = if classes == 2 { (j, i) } else { (i, j) };
        let r = half / of_class(positive);
        assert!(
            (r * of_class(negative) + half).abs() <= 1e-9 * half,
            "the other class"
        );
        let found = Found {
            decisions,
            t: vec![r * machines.intercept[pair.index], r],
            value: -report.objective,
        };
        let name = format!("{}, nu {nu}, pair {}", problem.name, pair.index);
        tally.compare(&name, &primal, &found, |w, t| {
            let f = |phi: &Vec<f64>| (dot(w, phi) + t[0]) / t[1];
            pair.fresh.iter().map(f).collect()
        });
    }
    degenerate
}

#[test]
fn nu_svc_agrees_with_the_oracle() {
    for classes in [2, 3] {
        let mut tally = Tally::new(format!("NuSVC, {classes} classes"));
        let mut degenerate = 0;
        for seed in 0..35 {
            let mut problem = Problem::new(seed, classes);
            let nu = largest_nu(&problem, classes) * (0.05 + 0.9 * problem.random.uniform());
            degenerate += compare_nu_svc(&mut tally, &problem, nu, classes);
        }
        println!("{degenerate} with next to no margin");
        tally.finish(20);
    }
}

/// A kernel that must not be asked.
fn untouchable() -> Kernel {
    Kernel::from_fn(|_, _| panic!("a kernel value was computed"))
}

#[test]
fn the_largest_feasible_nu_is_named_before_any_kernel_value_is_computed() {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| i as f64);
    let refuse = |class: &[usize], weight: &[f64], nu: f64| {
        let svc = NuSvc::new(untouchable()).nu(nu);
        let rows = x.slice(ndarray::s![..class.len(), ..]);
        let error = svc.fit_weighted(rows, class, weight, &Unwatched);
        let error = error.expect_err("infeasible");
        assert!(
            matches!(error, Error::Parameter { name: "nu", .. }),
            "{error}"
        );
        error.to_string()
    };
    let three_of_ten: Vec<usize> = (0..10).map(|i| usize::from(i < 3)).collect();
    for nu in [0.6001, 0.7, 1.0] {
        let message = refuse(&three_of_ten, &[1.0; 10], nu);
        assert!(message.contains("at most 0.6 "), "{message}");
    }
    // By weight the classes are 6 and 7, so the limit is 12/13.
    let weight: Vec<f64> = (0..10).map(|i| if i < 3 { 2.0 } else { 1.0 }).collect();
    let message = refuse(&three_of_ten, &weight, 0.95);
    assert!(message.contains("at most 0.923"), "{message}");
    // Of three classes with 7, 3 and 2 rows, the last two allow most, 4/5.
    let uneven = [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2];
    for nu in [0.81, 1.0] {
        let message = refuse(&uneven, &[1.0; 12], nu);
        assert!(message.contains("at most 0.8 "), "{message}");
    }
}

/// Of several classes, those too different for nu have the largest that is feasible for them.
#[test]
fn pairs_have_as_much_of_nu_as_they_can() {
    let (x, _) = clouds(12, 2, 3, 1.0, 5);
    let uneven = [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2];
    let together = NuSvc::new(Kernel::rbf(0.5)).nu(0.5).fit(x.view(), &uneven);
    let decision = together.expect("a model").decision_function(x.view());
    let decision = decision.expect("values");
    for (pair, (a, b, nu)) in [(0, 1, 0.5), (0, 2, 4.0 / 9.0), (1, 2, 0.5)]
        .into_iter()
        .enumerate()
    {
        let weight: Vec<f64> = uneven
            .iter()
            .map(|&class| if class == a || class == b { 1.0 } else { 0.0 })
            .collect();
        let alone = NuSvc::new(Kernel::rbf(0.5)).nu(nu);
        let alone = alone.fit_weighted(x.view(), &uneven, &weight, &Unwatched);
        let values = alone.expect("a model").decision_function(x.view());
        let values = values.expect("values");
        for (together, alone) in decision.column(pair).iter().zip(values.column(0)) {
            // Alone, the machine is positive for the second class.
            assert!((together + alone).abs() <= 1e-6 * alone.abs().max(1.0));
        }
    }
}

/// At the limit the smaller class is at its bounds, all of it.
#[test]
fn the_largest_feasible_nu_works() {
    for classes in [2, 3] {
        for seed in 0..21 {
            let mut problem = Problem::new(seed, classes);
            if seed % 3 == 0 {
                problem.weight.fill(1.0);
            }
            let nu = largest_nu(&problem, classes);
            let svc = NuSvc::new(problem.kernel.clone()).nu(nu).tolerance(TIGHT);
            let model = svc
                .fit_weighted(
                    problem.x.view(),
                    &problem.class,
                    &problem.weight,
                    &Unwatched,
                )
                .expect("a model");
            for pair in pairs(&problem, classes, false) {
                let report = &model.reports()[pair.index];
                assert_eq!(report.status, Status::Converged);
                let best = nu_svc_primal(&pair, &problem.weight, nu).minimise();
                let Some(best) = best else {
                    continue; // no interior: the oracle may fail, the solver may not
                };
                let error = (report.objective + best.value).abs();
                assert!(
                    error <= 1e-6 * best.value.abs().max(1.0),
                    "{}",
                    problem.name
                );
            }
            let finite = values(&model, &problem.fresh);
            assert!(finite.iter().all(|f| f.is_finite()), "{}", problem.name);
            let machines = model.machines();
            assert!(machines.dual_coef.iter().all(|beta| beta.is_finite()));
        }
    }
}

/// Tiny and nearly infeasible: the case of scikit-learn's issue 13075, which did not return.
#[test]
fn tiny_problems_close_to_the_limit_return() {
    let x = array![
        [0.0, 0.0],
        [1.0, 0.0],
        [0.0, 1.0],
        [1.0, 1.0],
        [2.0, 0.5],
        [0.5, 2.0]
    ];
    for class in [[0, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0]] {
        let few = class.iter().sum::<usize>().min(3) as f64;
        let largest = 2.0 * few / 6.0;
        for below in [0.0, 1e-15, 1e-9, 1e-3] {
            for kernel in [
                Kernel::linear(),
                Kernel::rbf(0.5),
                Kernel::polynomial(1.0, 0.0, 3),
            ] {
                for tolerance in [1e-3, 1e-10] {
                    let svc = NuSvc::new(kernel.clone()).nu(largest - below);
                    let model = svc.tolerance(tolerance).fit(x.view(), &class);
                    let model = model.expect("a model");
                    assert_eq!(model.reports()[0].status, Status::Converged);
                    assert!(values(&model, &x).iter().all(|f| f.is_finite()));
                }
            }
        }
    }
}

#[test]
fn nu_bounds_the_errors_and_the_support_vectors_of_a_classifier() {
    let (x, class) = clouds(300, 3, 2, 1.5, 41);
    for kernel in [Kernel::rbf(0.3), Kernel::polynomial(0.5, 1.0, 2)] {
        for nu in [0.35, 0.5, 0.75, 0.95] {
            let svc = NuSvc::new(kernel.clone()).nu(nu).tolerance(1e-6);
            let model = svc.fit(x.view(), &class).expect("a model");
            let f = values(&model, &x);
            let margin = |i: usize| if class[i] == 1 { f[i] } else { -f[i] };
            let errors = (0..300).filter(|&i| margin(i) < 1.0 - 1e-3).count() as f64;
            let support = model.machines().support.len() as f64;
            assert!(
                errors <= 300.0 * nu + 1.0,
                "{kernel:?}, nu {nu}: {errors} errors"
            );
            assert!(
                support >= 300.0 * nu - 1.0,
                "{kernel:?}, nu {nu}: {support} vectors"
            );
        }
    }
}

// --- What is refused.

#[test]
fn wrong_parameters_are_refused() {
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let class = [0, 1, 0, 1];
    for nu in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        let error = NuSvc::new(untouchable()).nu(nu).fit(x.view(), &class);
        let error = error.expect_err("refused");
        assert!(
            matches!(error, Error::Parameter { name: "nu", .. }),
            "{error}"
        );
    }
    let svc = NuSvc::new(untouchable());
    let name = |error: Error| match error {
        Error::Parameter { name, .. } | Error::Shape { name, .. } => name,
        other => panic!("{other}"),
    };
    let error = svc.fit(x.view(), &[0, 1]).expect_err("refused");
    assert_eq!(name(error), "y");
    for weight in [
        vec![1.0; 3],
        vec![1.0, -1.0, 1.0, 1.0],
        vec![1.0, f64::NAN, 1.0, 1.0],
    ] {
        let error = svc.fit_weighted(x.view(), &class, &weight, &Unwatched);
        assert_eq!(name(error.expect_err("refused")), "sample_weight");
    }
    let error = svc.fit(x.view(), &[1; 4]).expect_err("refused");
    assert!(
        matches!(error, Error::TooFewClasses { classes: 1 }),
        "{error}"
    );
    let error = NuSvc::new(Kernel::rbf(1.0))
        .tolerance(0.0)
        .fit(x.view(), &class);
    assert_eq!(name(error.expect_err("refused")), "tol");
}
