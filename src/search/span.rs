//! Span: how far each support vector is from those combinations of the others that could take its
//! place.
//!
//! A support vector p is left out, and the others may change as long as they stay within their bounds
//! and keep the sum of all coefficients. The least that the weight vector has to move is
//!
//! ```text
//! beta_p^2 S_p^2 = min |w - sum_i beta'_i phi(x_i)|^2,    beta'_p = 0,  lower <= beta' <= upper,
//!                                                         sum of beta' = sum of beta
//! ```
//!
//! where the last holds if the intercept is free. S_p is the span of p. With beta' = beta + beta_p lambda
//! this is Vapnik's and Chapelle's definition, the distance of phi(x_p) from the sums
//! `sum_i lambda_i phi(x_i)`. It is the programme of all machines with the linear term -K beta, which
//! the full solution solves: each span is a problem near that one.
//!
//! Vapnik, Chapelle: Bounds on error expectation for support vector machines, Neural Computation 12
//! (2000).

use crate::data::Samples;
use crate::error::{Error, Halt, Polled, Result, poll};
use crate::formulation::Intercept;
use crate::kernel::Kernel;
use crate::matrix::{HeldRows, KernelMatrix, KernelRows, fair_share};
use crate::qp::{
    Constraint, DualProblem, Image, Monitor, Origin, Solved, Solver, Start, Status, near, seed,
};
use crate::simd::threads;
use rayon::prelude::*;

/// The gap to which spans are found, as a share of the largest value of the machine: errors of spans
/// are of its order.
const TOLERANCE: f64 = 1e-7;

/// Support vectors of one machine that are not at their upper bounds.
///
/// ```
/// use mercer::qp::Unwatched;
/// use mercer::search::Spans;
/// use mercer::{Kernel, Samples, formulation::Intercept};
/// // f(x) = x has the support vectors -1 and 1. Nothing but the other one can take the place of one.
/// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
/// let spans = Spans {
///     kernel: Kernel::linear(),
///     beta: vec![-0.5, 0.5],
///     lower: vec![f64::NEG_INFINITY, 0.0],
///     upper: vec![0.0, f64::INFINITY],
///     ridge: vec![0.0, 0.0],
///     intercept: Intercept::Free,
/// };
/// let squared = spans.run(&samples, &Unwatched)?;
/// assert!(squared.iter().all(|s| (s - 4.0).abs() < 1e-9));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spans {
    /// The kernel.
    pub kernel: Kernel,
    /// The coefficient of each support vector, not zero.
    pub beta: Vec<f64>,
    /// Their lower bounds.
    pub lower: Vec<f64>,
    /// Their upper bounds.
    pub upper: Vec<f64>,
    /// What is added to the diagonal of the kernel matrix.
    pub ridge: Vec<f64>,
    /// Whether there is a constant term.
    pub intercept: Intercept,
}

impl Spans {
    /// Returns the square of the span of each support vector, which are the rows of `samples`: infinity
    /// where the others cannot take its place.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, formulation::Intercept, qp::Unwatched, search::Spans};
    /// let samples = Samples::try_from(ndarray::array![[2.0]].view())?;
    /// let spans = Spans {
    ///     kernel: Kernel::linear(),
    ///     beta: vec![0.5],
    ///     lower: vec![0.0],
    ///     upper: vec![1.0],
    ///     ridge: vec![0.0],
    ///     intercept: Intercept::None,
    /// };
    /// assert_eq!(spans.run(&samples, &Unwatched)?, [4.0]); // its distance from the origin
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If lengths differ, a coefficient is not within its bounds, or kernel values cannot be computed.
    pub fn run(&self, samples: &Samples, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let n = samples.rows();
        for (name, length) in [
            ("beta", self.beta.len()),
            ("lower", self.lower.len()),
            ("upper", self.upper.len()),
            ("ridge", self.ridge.len()),
        ] {
            if length != n {
                let expected = format!("{n} entries, one per row of X");
                return Err(Error::shape(name, expected, length.to_string()));
            }
        }
        let work = self.kernel.work_of_matrix(samples, n).saturating_mul(4);
        match threads::call(work, || self.all(samples, monitor)) {
            Ok(spans) => Ok(spans),
            // Whoever stops it has no use for them.
            Err(Halt::Stopped) => Ok(vec![f64::NAN; n]),
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    fn all(&self, samples: &Samples, monitor: &dyn Monitor) -> Polled<Vec<f64>> {
        let n = samples.rows();
        let matrix = KernelMatrix::new(&self.kernel, samples, (0..n).collect())?;
        let every: Vec<u32> = (0..n as u32).collect();
        let products = matrix.product(&self.beta, &every, &|| monitor.stop())?;
        let problem = self.problem(&products);
        let rows = HeldRows::new(&matrix, fair_share());
        let solved = match matrix.may_be_indefinite() {
            true => None,
            false => Solved::new(&problem, self.beta.clone(), &rows, &|| monitor.stop())?,
        };
        let size = products.iter().fold(1e-300f64, |m, v| m.max(v.abs()));
        let near = Near {
            problem,
            products,
            sum: self.charged_sum(),
            matrix: &matrix,
            solved,
            tolerance: TOLERANCE * size,
            monitor,
        };
        let span = |p: usize| Ok(near.moved(p)? / self.beta[p].powi(2));
        if matches!(self.kernel, Kernel::User(_)) || threads::width() == 1 {
            return (0..n).map(span).collect();
        }
        let serially = |p| threads::serially(|| span(p));
        threads::pooled(|| {
            (0..n)
                .into_par_iter()
                .with_max_len(1)
                .map(serially)
                .collect()
        })
    }

    /// Returns the sum of the coefficients where its square is part of the objective, else 0.
    fn charged_sum(&self) -> f64 {
        match self.intercept {
            Intercept::Penalized => self.beta.iter().sum(),
            _ => 0.0,
        }
    }

    /// Returns the problem that the full solution solves.
    fn problem(&self, products: &[f64]) -> DualProblem {
        let sum = self.charged_sum();
        let terms = products.iter().zip(&self.ridge).zip(&self.beta);
        let linear = terms.map(|((kb, ridge), beta)| -kb - ridge * beta - sum);
        DualProblem {
            linear: linear.collect(),
            absolute: vec![0.0; self.beta.len()],
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            ridge: self.ridge.clone(),
            start: self.beta.clone(),
            constraint: self.intercept.into(),
        }
    }
}

/// The problem of all support vectors, near which those without one are.
struct Near<'a> {
    problem: DualProblem,
    /// K beta.
    products: Vec<f64>,
    /// The sum of all coefficients where its square is part of the objective, else 0.
    sum: f64,
    matrix: &'a KernelMatrix<'a>,
    solved: Option<Solved<'a>>,
    tolerance: f64,
    monitor: &'a dyn Monitor,
}

impl Near<'_> {
    /// Returns the square of how far the weight vector has to move if p is left out.
    fn moved(&self, p: usize) -> Polled<f64> {
        let stop = || self.monitor.stop();
        poll(&stop)?;
        let mut beta = self.problem.start.clone();
        beta[p] = 0.0;
        let start = Start { beta, scale: 1.0 };
        let found = match &self.solved {
            Some(solved) => near(solved, &self.problem, &[p], start, self.tolerance, &stop)?,
            None => None,
        };
        match found {
            // The gradient is minus (K + ridge) times what has changed, less the sum.
            Some(found) => Ok(self.squared(&found.beta, |i| -found.gradient[i] - self.sum)),
            None => self.ask_solver(p),
        }
    }

    /// Returns |w - w'|^2, given the product of the matrix and what has changed, with the square of the
    /// difference of the intercepts where that is charged.
    fn squared(&self, beta: &[f64], product: impl Fn(usize) -> f64) -> f64 {
        let change = |i: usize| self.problem.start[i] - beta[i];
        let squared: f64 = (0..beta.len()).map(|i| change(i) * product(i)).sum();
        let charged = match self.problem.constraint {
            Constraint::Penalized => (0..beta.len()).map(change).sum::<f64>().powi(2),
            _ => 0.0,
        };
        (squared + charged).max(0.0)
    }

    /// Asks the solver for what is not near.
    fn ask_solver(&self, p: usize) -> Polled<f64> {
        let mut problem = self.problem.clone();
        (problem.lower[p], problem.upper[p]) = (0.0, 0.0);
        let mut image = Image {
            beta: self.problem.start.clone(),
            values: self.products.clone(),
            errors: vec![self.tolerance; self.products.len()],
        };
        let origin = Origin::of(&self.problem, [0.0; 2]);
        if !seed(&mut problem, &origin, &mut image) {
            return Ok(f64::INFINITY);
        }
        let mut solver = Solver::default();
        solver.stop_mut().tolerance = self.tolerance;
        let mut rows = KernelRows::new(self.matrix);
        let (solution, _) = solver.solve_from(&problem, &mut rows, None, self.monitor)?;
        if solution.report.status == Status::Interrupted {
            return Err(Halt::Stopped);
        }
        let pairs = self.problem.start.iter().zip(&solution.beta);
        let change: Vec<f64> = pairs.map(|(before, now)| before - now).collect();
        let every: Vec<u32> = (0..change.len() as u32).collect();
        let stop = || self.monitor.stop();
        let product = self.matrix.product(&change, &every, &stop)?;
        let with_ridge = |i: usize| product[i] + self.problem.ridge[i] * change[i];
        Ok(self.squared(&solution.beta, with_ridge))
    }
}
