//! The classifier in which nu takes the place of C.
//!
//! ```text
//! minimise    1/2 |w|^2 - nu rho + 1/m sum_i w_i max(0, rho - y_i (w.phi(x_i) + b)),   rho >= 0
//! ```
//!
//! with m the sum of the weights w_i. In LIBSVM's scaling its dual is the one programme without a
//! linear term, with the bounds of the classifier for C_i = w_i, and with coefficients that sum to
//! nu m / 2 in the positive and to -nu m / 2 in the negative class. With t and u the multipliers of the
//! two sums, b = (t + u) / 2 and rho = (u - t) / 2. Dividing everything by rho makes the decision
//! function +-1 on the margin, as that of the classifier with C = 1 / rho.
//!
//! At most a fraction nu of the samples, by weight, are margin errors, and at least that fraction
//! are support vectors.
//!
//! Schölkopf, Smola, Williamson, Bartlett: New support vector algorithms, Neural Computation 12
//! (2000); Chang, Lin: Training nu-support vector classifiers, Neural Computation 13 (2001).

use super::{Intercept, Loss, check_nu, fill, svc};
use crate::error::Result;
use crate::qp::{Constraint, DualProblem, Solution};

/// Returns the dual problem of a binary classifier; `positive[i]` says whether y_i is +1.
///
/// ```
/// use mercer::formulation::nu_svc;
/// let problem = nu_svc(&[true, false, false], &[1.0; 3], 0.5)?;
/// assert_eq!(problem.start, [0.75, -0.75, 0.0]);
/// let error = nu_svc(&[true, false, false], &[1.0; 3], 0.8).unwrap_err();
/// assert!(error.to_string().starts_with("nu must be at most 0.66666"));
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
/// If nu is not above 0 and at most [`largest_nu`].
///
/// # Panics
/// If the lengths differ.
pub fn nu_svc(positive: &[bool], weight: &[f64], nu: f64) -> Result<DualProblem> {
    let of_class = |class: bool| {
        let weights = positive.iter().zip(weight);
        weights
            .filter(move |&(&yes, _)| yes == class)
            .map(|(_, weight)| weight)
            .sum::<f64>()
    };
    check_nu(nu, largest_nu(of_class(true), of_class(false)))?;
    let mut problem = svc(positive, weight, Loss::Linear, Intercept::Free);
    let half = nu * weight.iter().sum::<f64>() / 2.0;
    let of_class = |class: bool| {
        let upper = positive.iter().zip(weight);
        fill(
            half,
            upper.map(|(&yes, &weight)| if yes == class { weight } else { 0.0 }),
        )
    };
    problem.linear.fill(0.0);
    problem.start = of_class(true)
        .iter()
        .zip(of_class(false))
        .map(|(plus, minus)| plus - minus)
        .collect();
    problem.constraint = Constraint::TwoSums(positive.iter().map(|&yes| !yes).collect());
    Ok(problem)
}

/// Returns the largest nu for which a classifier exists: twice the share of the class that weighs
/// less.
///
/// ```
/// assert_eq!(mercer::formulation::largest_nu(1.0, 3.0), 0.5);
/// ```
pub fn largest_nu(weight: f64, other: f64) -> f64 {
    2.0 * weight.min(other) / (weight + other)
}

/// Divides a solution by rho, unless rho is no more than the rounding of kernel values up to
/// `largest`: then there is no margin.
pub(crate) fn normalized(mut solution: Solution, problem: &DualProblem, largest: f64) -> Solution {
    let (intercepts, rho) = margin(&solution.beta, solution.intercepts, problem, largest);
    solution.intercepts = intercepts;
    solution.intercept = (intercepts[0] + intercepts[1]) / 2.0;
    if let Some(rho) = rho {
        solution.beta.iter_mut().for_each(|beta| *beta /= rho);
        solution.intercept /= rho;
        solution.report.squared_norm /= rho * rho;
    }
    solution
}

/// Returns the multipliers of the two sums and what everything is to be divided by; None if that is no
/// more than the rounding of kernel values up to `largest`.
///
/// At the largest nu a class has all its coefficients at their bounds, and rho has no upper limit:
/// there it is at least 1, which makes the machine that of C = 1.
pub(crate) fn margin(
    beta: &[f64],
    intercepts: [f64; 2],
    problem: &DualProblem,
    largest: f64,
) -> ([f64; 2], Option<f64>) {
    let [mut positive, mut negative] = intercepts;
    let variables = || beta.iter().zip(problem.lower.iter().zip(&problem.upper));
    let bounded = [
        variables().all(|(&beta, (_, &upper))| beta == upper || upper == 0.0),
        variables().all(|(&beta, (&lower, _))| beta == lower || lower == 0.0),
    ];
    let missing = (2.0 - (negative - positive)).max(0.0);
    match bounded {
        [true, true] => (positive, negative) = (positive - missing / 2.0, negative + missing / 2.0),
        [true, false] => positive -= missing,
        [false, true] => negative += missing,
        [false, false] => {}
    }
    let rho = (negative - positive) / 2.0;
    let size: f64 = beta.iter().map(|beta| beta.abs()).sum();
    let clear = rho > 16.0 * f64::EPSILON * size * largest && rho.is_normal();
    ([positive, negative], clear.then_some(rho))
}
