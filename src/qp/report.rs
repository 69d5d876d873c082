//! What a solver returns: the solution, how it ended, and what it took.

use super::phases::Phases;

/// A solution of a [`DualProblem`](super::DualProblem).
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Smo, Unwatched}};
/// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
/// let problem = svc(&[true, false], &[9.0, 9.0], Loss::Linear, Intercept::Free);
/// let solution = Smo::default().solve(&problem, &matrix, &Unwatched)?;
/// assert_eq!((solution.beta, solution.intercept), (vec![0.5, -0.5], 2.0)); // f(x) = 2 - x
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    /// The coefficients.
    pub beta: Vec<f64>,
    /// The mean of -g over the free variables; if none is free, the middle of what optimality
    /// allows. Of two groups, the middle of their intercepts.
    pub intercept: f64,
    /// The intercepts of the two groups; equal unless two sums are fixed.
    pub intercepts: [f64; 2],
    /// What the solver did.
    pub report: Report,
    /// One entry per epoch of [`Adatron`](super::Adatron) and [`Npa`](super::Npa); empty for
    /// [`Smo`](super::Smo).
    pub history: Vec<Epoch>,
}

impl Solution {
    /// Returns the solution of the problem in -beta.
    pub(crate) fn mirrored(mut self) -> Self {
        let intercepts = [&mut self.intercept]
            .into_iter()
            .chain(&mut self.intercepts);
        let epochs = self.history.iter_mut().map(|epoch| &mut epoch.intercept);
        for value in self.beta.iter_mut().chain(intercepts).chain(epochs) {
            *value = 0.0 - *value;
        }
        self
    }
}

/// Where [`Adatron`](super::Adatron) was at the end of an epoch.
///
/// ```
/// use mercer::{Kernel, Svc, formulation::Intercept, qp::Adatron};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let svc = Svc::new(Kernel::rbf(0.5)).c(10.0).intercept(Intercept::None);
/// let model = svc.solver(Adatron::default()).fit(x.view(), &[0, 1])?;
/// let history = &model.machines().histories[0];
/// assert_eq!(history.len() as u64, model.reports()[0].iterations);
/// assert!((history.last().unwrap().margin - 1.0).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The dual objective that is maximised, at the intercept of the epoch: minus the objective of
    /// the problem, minus the intercept times the excess of the sum. It never falls from one epoch
    /// to the next of the same intercept.
    pub objective: f64,
    /// Half the distance between the lowest value of a positive sample and the highest of a
    /// negative one, leaving out those at an upper bound of their multipliers. It grows to 1; NaN
    /// where a problem has no classes, or all of one class is left out.
    pub margin: f64,
    /// The intercept of the epoch.
    pub intercept: f64,
    /// m - M at its end. The sum may still be off: see [`Adatron`](super::Adatron).
    pub gap: f64,
}

/// How a solver ended. The solution is usable in every case.
///
/// ```
/// assert_eq!(mercer::qp::Status::TimeLimit.to_string(), "time_limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The gap is at most the tolerance.
    Converged,
    /// What was asked for instead of a gap has been reached: margin and intercept do not change any more,
    /// or a perceptron has the stability that its rule aims at.
    Settled,
    /// The number of pair steps or epochs ran out.
    MaxIterations,
    /// The time ran out.
    TimeLimit,
    /// The [`Monitor`](super::Monitor) asked to stop.
    Interrupted,
    /// The objective has no lower bound, as for a hard margin between classes that cannot be
    /// separated: the coefficients would grow for ever.
    Diverged,
    /// f64 is too coarse to bring the gap below the tolerance, or to tell that it is there:
    /// coefficients times kernel values are too large beside it. [`Report::gap`] tells how far it came.
    Precision,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Converged => "converged",
            Status::Settled => "settled",
            Status::MaxIterations => "max_iterations",
            Status::TimeLimit => "time_limit",
            Status::Interrupted => "interrupted",
            Status::Diverged => "diverged",
            Status::Precision => "precision",
        })
    }
}

/// What found the solution.
///
/// ```
/// assert_eq!(mercer::qp::Algorithm::Interior.to_string(), "interior");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Sequential minimal optimisation.
    #[default]
    Smo,
    /// The Kernel-Adatron.
    Adatron,
    /// Newton's method in the weights of a linear machine.
    Newton,
    /// Coordinate descent, of a linear machine with many features.
    Descent,
    /// The interior-point method, whether or not pair steps went before or after it.
    Interior,
    /// The nearest points of two hulls.
    Npa,
    /// A working set that grows.
    Chunking,
    /// The rule of Rosenblatt's perceptron.
    Perceptron,
    /// The perceptron rule for the row of least stability.
    MinOver,
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Algorithm::Smo => "smo",
            Algorithm::Adatron => "adatron",
            Algorithm::Newton => "newton",
            Algorithm::Descent => "descent",
            Algorithm::Interior => "interior",
            Algorithm::Npa => "npa",
            Algorithm::Chunking => "chunking",
            Algorithm::Perceptron => "perceptron",
            Algorithm::MinOver => "minover",
        })
    }
}

/// What a solver did.
///
/// ```
/// use mercer::{Kernel, Svc};
/// let x = ndarray::array![[-1.0], [1.0]];
/// let model = Svc::new(Kernel::linear()).fit(x.view(), &[0, 1])?;
/// assert!(model.reports()[0].gap <= 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// What found the solution.
    pub method: Algorithm,
    /// Pair steps and iterations of the interior-point method; epochs of [`Adatron`](super::Adatron).
    pub iterations: u64,
    /// An upper bound of m - M at the coefficients returned, however the solver ended; infinite if
    /// there was no time to find one.
    ///
    /// What is proved and what is not: the rounding of rows in f32 and of running sums, and the
    /// gradients of variables set aside, are bounded in the worst case, or computed again in f64 where
    /// these bounds would hide a larger gap. What was computed in f64 at once is itself rounded; of that,
    /// eight standard deviations of a sum of independent roundings are included, which is an estimate.
    /// The user's own kernel is taken to return the same value whenever it is asked.
    pub gap: f64,
    /// The objective at the end. After a stop by the clock or the monitor it is an estimate: the
    /// gradient of variables set aside is not rebuilt for it. After a stop before the first gradient it
    /// is an upper bound.
    pub objective: f64,
    /// The objective of the machine itself at the solution, in the scaling of `objective`: at the optimum
    /// it is minus that. Infinite where coefficients without bounds belong to a machine that breaks its
    /// constraints, or there was no time to find it.
    pub primal_objective: f64,
    /// The sum of both objectives: how far the solution is from the optimum at the most.
    pub duality_gap: f64,
    /// The squared length |w|^2 of the weight vector of the machine.
    pub squared_norm: f64,
    /// Kernel values computed.
    pub kernel_evaluations: u64,
    /// Rows found in the cache.
    pub cache_hits: u64,
    /// Rows not found in the cache.
    pub cache_misses: u64,
    /// Rows among these that were not kept: memory for them would have cost more than it takes to
    /// compute them again.
    pub cache_bypasses: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// How the time divides into phases.
    pub phases: Phases,
}
