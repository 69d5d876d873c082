//! Random small programmes with every bound, constraint and kink there is, and an interior-point
//! method (Clarabel) that solves them.

use super::Random;
use super::oracle::{Programme, Row};
use mercer::matrix::KernelMatrix;
use mercer::qp::{Constraint, DualProblem, Smo, Solution, Unwatched};
use mercer::{Kernel, Samples};
use ndarray::Array2;
use std::cmp::Ordering;

pub fn solve(smo: &Smo, problem: &DualProblem, kernel: &Kernel, x: &Array2<f64>) -> Solution {
    let samples = Samples::try_from(x.view()).expect("finite");
    let matrix = KernelMatrix::new(kernel, &samples, (0..x.nrows()).collect()).expect("a matrix");
    smo.solve(problem, &matrix, &Unwatched).expect("a solution")
}

/// The optimal coefficients by the interior-point method; None where it cannot promise them. Beside
/// each coefficient whose absolute value costs, it has one that is at least that absolute value.
pub fn oracle(problem: &DualProblem, k: &Array2<f64>) -> Option<Vec<f64>> {
    let n = problem.start.len();
    let kinked: Vec<usize> = (0..n).filter(|&i| problem.absolute[i] > 0.0).collect();
    let size = n + kinked.len();
    let one = f64::from(u8::from(problem.constraint == Constraint::Penalized));
    let entry = |i: usize, j: usize| match i.cmp(&j) {
        _ if i >= n || j >= n => 0.0,
        Ordering::Less => k[[i, j]] + one,
        Ordering::Equal => k[[i, i]] + one + problem.ridge[i],
        Ordering::Greater => 0.0, // the upper triangle only
    };
    let row = |entries: &[(usize, f64)]| {
        let mut row = vec![0.0; size];
        entries.iter().for_each(|&(at, value)| row[at] = value);
        row
    };
    let keep = |group: &dyn Fn(usize) -> bool| -> Row {
        let own: Vec<usize> = (0..n).filter(|&i| group(i)).collect();
        let ones: Vec<(usize, f64)> = own.iter().map(|&i| (i, 1.0)).collect();
        (row(&ones), own.iter().map(|&i| problem.start[i]).sum())
    };
    let mut equal = match &problem.constraint {
        Constraint::Sum => vec![keep(&|_| true)],
        Constraint::TwoSums(second) => vec![keep(&|i| second[i]), keep(&|i| !second[i])],
        Constraint::Penalized | Constraint::None => Vec::new(),
    };
    let mut at_most = Vec::new();
    for i in 0..n {
        if problem.lower[i] == problem.upper[i] {
            equal.push((row(&[(i, 1.0)]), problem.upper[i]));
            continue;
        }
        if problem.upper[i].is_finite() {
            at_most.push((row(&[(i, 1.0)]), problem.upper[i]));
        }
        if problem.lower[i].is_finite() {
            at_most.push((row(&[(i, -1.0)]), -problem.lower[i]));
        }
    }
    for (at, &i) in kinked.iter().enumerate() {
        at_most.push((row(&[(i, 1.0), (n + at, -1.0)]), 0.0));
        at_most.push((row(&[(i, -1.0), (n + at, -1.0)]), 0.0));
    }
    let factors = kinked.iter().map(|&i| problem.absolute[i]);
    let programme = Programme {
        hessian: (0..size)
            .map(|i| (0..size).map(|j| entry(i, j)).collect())
            .collect(),
        linear: problem.linear.iter().copied().chain(factors).collect(),
        equal,
        at_most,
    };
    let mut best = programme.minimise()?;
    best.truncate(n);
    Some(best)
}

/// A random problem: data with exact and near duplicates, bounds of every kind.
#[derive(Debug)]
pub struct Case {
    pub problem: DualProblem,
    pub kernel: Kernel,
    pub x: Array2<f64>,
}

pub fn case(seed: u64, n: usize, which: usize) -> Case {
    let mut random = Random::new(seed);
    let columns = 1 + random.below(4);
    let mut x = Array2::from_shape_fn((n, columns), |_| random.normal());
    for i in 1..n {
        if random.uniform() < 0.25 {
            let twin = x.row(random.below(i)).to_owned();
            let distance = [0.0, 1e-9, 1e-5][random.below(3)];
            x.row_mut(i).assign(&(twin + distance));
        }
    }
    let kernel = match which % 6 {
        0 => Kernel::linear(),
        1 => Kernel::rbf(0.5),
        2 => Kernel::polynomial(0.5, 1.0, 2),
        3 => Kernel::Laplacian { gamma: 0.7 },
        4 => Kernel::rbf(5.0),
        _ => Kernel::rbf(0.3) + 0.1 * Kernel::linear(),
    };
    let mut problem = DualProblem {
        linear: Vec::new(),
        lower: Vec::new(),
        upper: Vec::new(),
        absolute: Vec::new(),
        ridge: Vec::new(),
        start: Vec::new(),
        constraint: match random.below(6) {
            0 => Constraint::None,
            1 => Constraint::Penalized,
            2 => Constraint::TwoSums((0..n).map(|i| i % 3 == 0).collect()),
            _ => Constraint::Sum,
        },
    };
    let classifier = random.uniform() < 0.4;
    let kinked = random.uniform() < 0.4;
    for _ in 0..n {
        let positive = random.uniform() < 0.5;
        let mut ridge = if random.uniform() < 0.3 {
            0.01 + random.uniform()
        } else {
            0.0
        };
        let cost = 10f64.powf(3.0 * random.uniform() - 1.0);
        let (mut lower, mut upper) = match (classifier, positive) {
            (true, true) => (0.0, cost),
            (true, false) => (-cost, 0.0),
            (false, _) => (-cost * random.uniform(), cost),
        };
        if !classifier {
            match random.below(8) {
                0 => lower = upper, // fixed
                // Without a ridge there might be no minimum.
                1 => (upper, ridge) = (f64::INFINITY, ridge.max(0.05)),
                2 => (lower, ridge) = (f64::NEG_INFINITY, ridge.max(0.05)),
                3 => (lower, upper, ridge) = (f64::NEG_INFINITY, f64::INFINITY, ridge.max(0.05)),
                _ => {}
            }
        }
        problem.linear.push(match (classifier, positive) {
            (true, true) => -1.0,
            (true, false) => 1.0,
            (false, _) => 3.0 * random.normal(),
        });
        let inside =
            lower.max(-2.0) + random.uniform() * (upper.min(2.0) - lower.max(-2.0)).max(0.0);
        problem.start.push(match (classifier, random.below(4)) {
            (true, _) => 0.0,
            (false, 0) if lower.is_finite() => lower,
            (false, 1) if upper.is_finite() => upper,
            _ => inside.clamp(lower, upper),
        });
        problem.lower.push(lower);
        problem.upper.push(upper);
        problem.ridge.push(ridge);
        problem.absolute.push(match (kinked, random.below(4)) {
            (false, _) | (true, 0) => 0.0,
            (true, 1) => 0.1,
            (true, _) => random.uniform(),
        });
    }
    Case { problem, kernel, x }
}
