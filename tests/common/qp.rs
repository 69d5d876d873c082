//! The programme written out: kernel values by formula, the gradient, the gap and the objective,
//! with nothing taken from the library but its types.

use mercer::Kernel;
use mercer::qp::{DualProblem, Solution};
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

/// (K + diag(ridge)) beta + linear, without keeping K.
pub fn gradient(problem: &DualProblem, kernel: &Kernel, x: &Array2<f64>, beta: &[f64]) -> Vec<f64> {
    let support: Vec<usize> = (0..beta.len()).filter(|&j| beta[j] != 0.0).collect();
    (0..beta.len())
        .map(|i| {
            let sum: f64 = support
                .iter()
                .map(|&j| beta[j] * value(kernel, x.row(i), x.row(j)))
                .sum();
            sum + problem.ridge[i] * beta[i] + problem.linear[i]
        })
        .collect()
}

/// m - M: how far the most violating pair is from agreeing.
pub fn gap(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let mut gap = f64::NEG_INFINITY;
    let grows = (0..beta.len()).filter(|&i| beta[i] < problem.upper[i]);
    let steepest = grows
        .map(|i| -gradient[i])
        .fold(f64::NEG_INFINITY, f64::max);
    for j in 0..beta.len() {
        if beta[j] > problem.lower[j] {
            gap = gap.max(steepest + gradient[j]);
        }
    }
    gap.max(0.0)
}

/// 1/2 beta' (K + diag(ridge)) beta + linear' beta, from the gradient at beta.
pub fn objective(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> f64 {
    let terms = beta.iter().zip(gradient).zip(&problem.linear);
    0.5 * terms.map(|((b, g), p)| b * (g + p)).sum::<f64>()
}

/// Asserts that the coefficients are within their bounds, exactly, and sum to what the start sums
/// to, up to a rounding for each step and for each term of the sum.
pub fn assert_feasible(problem: &DualProblem, solution: &Solution) {
    let beta = &solution.beta;
    assert_eq!(beta.len(), problem.start.len());
    for (i, &beta) in beta.iter().enumerate() {
        assert!(
            problem.lower[i] <= beta && beta <= problem.upper[i],
            "beta[{i}] = {beta} is outside [{}, {}]",
            problem.lower[i],
            problem.upper[i]
        );
    }
    let size: f64 = beta.iter().chain(&problem.start).map(|b| b.abs()).sum();
    let error = beta.iter().sum::<f64>() - problem.start.iter().sum::<f64>();
    let roundings = (solution.report.iterations as usize + beta.len()) as f64;
    let allowed = roundings * f64::EPSILON * size;
    assert!(error.abs() <= allowed, "the sum moved by {error:e}");
}
