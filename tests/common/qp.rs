//! The programme written out: kernel values by formula, the gradient, the gap and the objective,
//! with nothing taken from the library but its types.

use mercer::Kernel;
use mercer::qp::{Constraint, DualProblem, Solution};
use ndarray::{Array2, ArrayView1};

/// k(x, z) by its formula.
pub fn value(kernel: &Kernel, x: ArrayView1<f64>, z: ArrayView1<f64>) -> f64 {
    let pairs = || x.iter().zip(z);
    let dot = || pairs().map(|(x, z)| x * z).sum::<f64>();
    match kernel {
        Kernel::Linear => dot(),
        Kernel::Polynomial {
            gamma,
            coef0,
            degree,
        } => (gamma * dot() + coef0).powi(*degree as i32),
        Kernel::Rbf { gamma } => {
            (-gamma * pairs().map(|(x, z)| (x - z) * (x - z)).sum::<f64>()).exp()
        }
        Kernel::Laplacian { gamma } => {
            (-gamma * pairs().map(|(x, z)| (x - z).abs()).sum::<f64>()).exp()
        }
        Kernel::Sigmoid { gamma, coef0 } => (gamma * dot() + coef0).tanh(),
        Kernel::Sum(parts) => parts.iter().map(|kernel| value(kernel, x, z)).sum(),
        Kernel::Scaled(factor, kernel) => factor * value(kernel, x, z),
        other => unimplemented!("{other:?}"),
    }
}

/// The kernel matrix of the rows of x.
pub fn matrix(kernel: &Kernel, x: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows(), x.nrows()), |(i, j)| {
        value(kernel, x.row(i), x.row(j))
    })
}

/// (K + diag(ridge)) beta + linear, without keeping K. Variable i stands for row i of x, counted
/// round: two variables may share a row.
pub fn gradient(problem: &DualProblem, kernel: &Kernel, x: &Array2<f64>, beta: &[f64]) -> Vec<f64> {
    let n = x.nrows();
    let mut of_rows = vec![0.0; n];
    for (i, beta) in beta.iter().enumerate() {
        of_rows[i % n] += beta;
    }
    let support: Vec<usize> = (0..n).filter(|&j| of_rows[j] != 0.0).collect();
    let product: Vec<f64> = (0..n)
        .map(|i| {
            let terms = support.iter();
            terms
                .map(|&j| of_rows[j] * value(kernel, x.row(i), x.row(j)))
                .sum()
        })
        .collect();
    (0..beta.len())
        .map(|i| product[i % n] + problem.ridge[i] * beta[i] + problem.linear[i])
        .collect()
}

/// The variables whose sum is kept, as one group or two; without such a constraint, all of them.
fn groups(problem: &DualProblem) -> Vec<Vec<usize>> {
    let all = 0..problem.start.len();
    match &problem.constraint {
        Constraint::TwoSums(second) => {
            let (a, b) = all.partition(|&i| second[i]);
            vec![a, b]
        }
        _ => vec![all.collect()],
    }
}

/// m - M: how far the most violating pair is from agreeing, in the worse group. |beta| has a slope
/// for either side. Where no sum is kept, the intercept is known, and is one of those to agree.
pub fn gap(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let intercept = match problem.constraint {
        Constraint::None => Some(0.0),
        Constraint::Penalized => Some(beta.iter().sum::<f64>()),
        _ => None,
    };
    let mut worst = 0.0f64;
    for group in groups(problem) {
        let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
        if let Some(intercept) = intercept {
            (m, big_m) = (intercept, intercept);
        }
        for i in group {
            let kink = |positive: bool| {
                let absolute = problem.absolute[i];
                if positive { absolute } else { -absolute }
            };
            if beta[i] < problem.upper[i] {
                m = m.max(-gradient[i] - kink(beta[i] >= 0.0));
            }
            if beta[i] > problem.lower[i] {
                big_m = big_m.min(-gradient[i] - kink(beta[i] > 0.0));
            }
        }
        if m.is_finite() && big_m.is_finite() {
            worst = worst.max(m - big_m);
        }
    }
    worst
}

/// 1/2 beta' (K + diag(ridge)) beta + linear' beta + absolute' |beta|, and half the square of the
/// sum where that is penalised, from the gradient at beta.
pub fn objective(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let sum: f64 = beta.iter().sum();
    let penalty = match problem.constraint {
        Constraint::Penalized => 0.5 * sum * sum,
        _ => 0.0,
    };
    let terms = (0..beta.len()).map(|i| {
        0.5 * beta[i] * (gradient[i] + problem.linear[i]) + problem.absolute[i] * beta[i].abs()
    });
    terms.sum::<f64>() + penalty
}

/// Asserts that the coefficients are within their bounds, exactly, and sum to what the start sums
/// to, in each group, up to a rounding for each step and for each term of the sum.
pub fn assert_feasible(problem: &DualProblem, solution: &Solution) {
    let beta = &solution.beta;
    assert_eq!(beta.len(), problem.start.len());
    for (i, &beta) in beta.iter().enumerate() {
        assert!(
            problem.lower[i] <= beta && beta <= problem.upper[i] && beta.is_finite(),
            "beta[{i}] = {beta} is outside [{}, {}]",
            problem.lower[i],
            problem.upper[i]
        );
    }
    if matches!(problem.constraint, Constraint::None | Constraint::Penalized) {
        return;
    }
    for group in groups(problem) {
        let sum = |values: &[f64]| group.iter().map(|&i| values[i]).sum::<f64>();
        let size = |values: &[f64]| group.iter().map(|&i| values[i].abs()).sum::<f64>();
        let error = sum(beta) - sum(&problem.start);
        let roundings = (solution.report.iterations as usize + beta.len()) as f64;
        let allowed = roundings * f64::EPSILON * (size(beta) + size(&problem.start));
        assert!(error.abs() <= allowed, "the sum moved by {error:e}");
    }
}
