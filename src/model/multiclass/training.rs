//! Training: what a classifier is trained on, and how its machines are trained.
//!
//! Machines are trained side by side, and the last of them use all cores inside; one after another where
//! their rows would not fit the memory together.

use super::nu::{class_weights, highest, lowered};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, SvcLoss, normalized, nu_svc, svc};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, SMALL_PROBLEM, fair_share};
use crate::model::checks::{check_costs, check_lengths, take};
use crate::model::session::Session;
use crate::qp::{DualProblem, Monitor, Solution, Solver, Unwatched};
use crate::simd::parallel::try_side_by_side;
use crate::simd::threads;
use std::cmp::Reverse;

/// How far from zero the coefficients of a start may add up to, as a share of their absolute sum:
/// more than solvers leave to rounding, less than would make another problem.
const START_SUM: f64 = 1e-6;
/// The share of a matrix that a machine is reckoned to keep: one row of so many.
const MOST_KEPT: usize = 8;

/// How wide margins and few errors are weighed against each other.
///
/// ```
/// use mercer::{formulation::{Intercept, Loss}, model::Margin};
/// let margin = Margin::Soft { loss: Loss::Squared.into(), intercept: Intercept::Free };
/// assert_ne!(margin, Margin::Nu(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// By the cost C_i of an error.
    Soft {
        /// How errors are charged.
        loss: SvcLoss,
        /// Whether there is a constant term.
        intercept: Intercept,
    },
    /// By the share of errors that is allowed; C_i is the weight of a row. Of more than two
    /// classes, a machine for which the share is too large has the largest that is feasible.
    Nu(f64),
}

impl Margin {
    fn problem(self, positive: &[bool], cost: &[f64]) -> Result<DualProblem> {
        match self {
            Margin::Soft { loss, intercept } => Ok(svc(positive, cost, loss, intercept)),
            Margin::Nu(nu) => nu_svc(positive, cost, nu),
        }
    }

    /// Makes the machine of the solution of its problem.
    fn finish(self, solution: Solution, problem: &DualProblem, matrix: &KernelMatrix) -> Solution {
        let largest = || matrix.diagonal().iter().fold(0.0f64, |a, &b| a.max(b));
        match self {
            Margin::Soft { .. } => solution,
            Margin::Nu(_) => normalized(solution, problem, largest()),
        }
    }
}

/// The problem of one machine of a classifier.
#[derive(Clone, Debug)]
pub(crate) struct Posed {
    /// The row behind each variable.
    pub rows: Vec<usize>,
    pub problem: DualProblem,
    margin: Margin,
}

impl Posed {
    /// Makes the machine of the solution.
    pub fn finish(&self, solution: Solution, matrix: &KernelMatrix) -> Solution {
        self.margin.finish(solution, &self.problem, matrix)
    }
}

/// What a classifier is trained on, and how: given to [`OneVsOne`](super::OneVsOne),
/// [`OneVsRest`](super::OneVsRest), [`Dag`](super::Dag) or [`Multiclass`](super::Multiclass).
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
/// let (kernel, x) = (Kernel::linear(), ndarray::array![[-1.0], [1.0]]);
/// let samples = Samples::try_from(x.view())?;
/// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
/// let training = Training::new(&kernel, &samples, &[0, 1], &[10.0, 10.0], margin);
/// let trained = OneVsOne::fit(&training)?;
/// assert_eq!(trained.dual_coef, ndarray::array![[-0.5, 0.5]]); // positive for class 1
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Training<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) samples: &'a Samples,
    pub(super) labels: &'a [usize],
    pub(super) classes: usize,
    pub(super) cost: &'a [f64],
    pub(super) solver: Solver,
    pub(super) monitor: &'a dyn Monitor,
    pub(super) session: Option<&'a Session<'a>>,
    pub(super) margin: Margin,
    pub(super) start: Option<&'a [f64]>,
}

impl<'a> Training<'a> {
    /// Describes a training with the default solver: `labels` are class numbers, `cost[i]` is C_i.
    /// Rows of cost zero are left out.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[0.0], [1.0], [3.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], Margin::Nu(0.5));
    /// assert_eq!(OneVsOne::fit(&training)?.intercept.len(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(
        kernel: &'a Kernel,
        samples: &'a Samples,
        labels: &'a [usize],
        cost: &'a [f64],
        margin: Margin,
    ) -> Self {
        Training {
            kernel,
            samples,
            labels,
            classes: labels.iter().max().map_or(0, |&largest| largest + 1),
            cost,
            margin,
            solver: Solver::default(),
            monitor: &Unwatched,
            session: None,
            start: None,
        }
    }

    /// Sets the number of classes, which otherwise is one more than the largest label.
    ///
    /// ```
    /// # use mercer::{Error, Kernel, Samples, model::{Margin, OneVsOne, Training}};
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[0.0], [1.0], [3.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1, 1], &[1.0; 3], Margin::Nu(0.5));
    /// let refused = OneVsOne::fit(&training.classes(3)); // one of them is empty
    /// assert!(matches!(refused, Err(Error::TooFewClasses { classes: 2 })));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn classes(mut self, classes: usize) -> Self {
        self.classes = classes;
        self
    }

    /// Sets the solver.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss};
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}, qp::Adatron};
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[-1.0], [1.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// # let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::None };
    /// let training = Training::new(&kernel, &samples, &[0, 1], &[10.0, 10.0], margin);
    /// let trained = OneVsOne::fit(&training.solver(Adatron::default()))?;
    /// assert!(!trained.histories[0].is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn solver(mut self, solver: impl Into<Solver>) -> Self {
        self.solver = solver.into();
        self
    }

    /// Sets who watches.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
    /// # use mercer::qp::{Monitor, Status};
    /// struct Impatient;
    /// impl Monitor for Impatient {
    ///     fn stop(&self) -> bool {
    ///         true
    ///     }
    /// }
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[-1.0], [1.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1], &[1.0; 2], Margin::Nu(0.5));
    /// let trained = OneVsOne::fit(&training.monitor(&Impatient))?;
    /// assert_eq!(trained.reports[0].status, Status::Interrupted);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn monitor(mut self, monitor: &'a dyn Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// Starts from given coefficients, as when the kernel or the cost has changed a little: one for
    /// each row, positive for class 1 and negative for class 0, of at most the row's cost, and with a
    /// sum of zero if the intercept is free. For two classes and [`Margin::Soft`] only.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss};
    /// # use mercer::{Kernel, Samples, model::{Margin, OneVsOne, Training}};
    /// # let (kernel, x) = (Kernel::linear(), ndarray::array![[-1.0], [1.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// # let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
    /// let training = Training::new(&kernel, &samples, &[0, 1], &[10.0, 10.0], margin);
    /// let trained = OneVsOne::fit(&training.start(&[-0.5, 0.5]))?;
    /// assert_eq!(trained.reports[0].iterations, 0); // nothing is left to do
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn start(mut self, coefficients: &'a [f64]) -> Self {
        self.start = Some(coefficients);
        self
    }

    /// Sets who watches, and what is started from and left behind.
    pub(in crate::model) fn session(mut self, session: &'a Session<'a>) -> Self {
        (self.session, self.monitor) = (Some(session), session.monitor);
        self
    }

    /// Trains with the session that was set, or else one of its own.
    pub(super) fn within<R>(&self, train: impl FnOnce(&Session) -> R) -> R {
        match self.session {
            Some(session) => train(session),
            None => train(&Session::watched(self.monitor)),
        }
    }

    /// Returns the rows of each class, those of cost zero aside.
    ///
    /// # Errors
    /// If lengths differ, a cost is negative, a label is too large, or a class is empty.
    pub(super) fn members(&self) -> Result<Vec<Vec<usize>>> {
        let lengths = [
            ("y", self.labels.len()),
            ("start", self.start.map_or(self.labels.len(), <[f64]>::len)),
        ];
        check_lengths(self.samples, &lengths)?;
        check_costs(self.samples, self.cost)?;
        let mut members = vec![Vec::new(); self.classes];
        for (row, &label) in self.labels.iter().enumerate() {
            let Some(rows) = members.get_mut(label) else {
                let allowed = "class numbers below n_classes";
                return Err(Error::parameter("y", allowed, label));
            };
            if self.cost[row] != 0.0 {
                rows.push(row);
            }
        }
        let filled = members.iter().filter(|rows| !rows.is_empty()).count();
        if filled < 2 || filled < self.classes {
            return Err(Error::TooFewClasses { classes: filled });
        }
        self.check_start()?;
        Ok(members)
    }

    fn check_start(&self) -> Result<()> {
        let Some(start) = self.start else {
            return Ok(());
        };
        let refuse = |allowed, got| Err(Error::parameter("start", allowed, got));
        if self.classes != 2 {
            return refuse("for two classes", format!("{} classes", self.classes));
        }
        let Margin::Soft { intercept, .. } = self.margin else {
            return refuse("for a machine with C", "nu".into());
        };
        let (sum, size) =
            (start.iter()).fold((0.0, 0.0), |(sum, size), c| (sum + c, size + c.abs()));
        if intercept == Intercept::Free && f64::abs(sum) > START_SUM * size {
            return refuse("coefficients with a sum of zero", format!("a sum of {sum}"));
        }
        Ok(())
    }

    /// Returns the margin of each machine; `limits` makes their largest feasible nu of the weights of
    /// the classes. What no machine can have is refused, before anything is computed.
    pub(super) fn margins(&self, limits: impl Fn(&[f64]) -> Vec<f64>) -> Result<Vec<Margin>> {
        let limits = limits(&class_weights(self.labels, self.cost, self.classes));
        match self.margin {
            Margin::Soft { .. } => Ok(vec![self.margin; limits.len()]),
            Margin::Nu(nu) => {
                let shares = lowered(nu, highest(&limits), &limits)?;
                Ok(shares.into_iter().map(Margin::Nu).collect())
            }
        }
    }

    /// Poses the problem of some rows, of which those of some classes are positive.
    pub(super) fn pose(
        &self,
        rows: Vec<usize>,
        positive: &[usize],
        margin: Margin,
    ) -> Result<Posed> {
        let signs: Vec<bool> = (rows.iter())
            .map(|&row| positive.contains(&self.labels[row]))
            .collect();
        let mut problem = margin.problem(&signs, &take(self.cost, &rows))?;
        if let Some(start) = self.start {
            problem.start = take(start, &rows);
        }
        Ok(Posed {
            rows,
            problem,
            margin,
        })
    }

    /// Trains, in a pool if that is worth while.
    pub(super) fn call<R: Send>(&self, train: impl FnOnce() -> R + Send) -> R {
        let rows = self.samples.rows();
        threads::call(self.kernel.work_of_matrix(self.samples, rows), train)
    }

    /// Returns the bytes for the kernel rows of all machines together.
    pub(super) fn bytes(&self) -> usize {
        let mut solver = self.solver;
        solver.cache_bytes_mut().unwrap_or_else(fair_share)
    }

    /// Returns how many problems of so many variables are to be solved at a time.
    pub(super) fn side_by_side(&self, sizes: &[usize]) -> usize {
        // The user's kernel is not asked from several threads at once.
        if matches!(self.kernel, Kernel::User(_)) {
            return 1;
        }
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let wanted = largest.saturating_mul(largest) / MOST_KEPT * size_of::<f32>();
        let roomy =
            largest <= SMALL_PROBLEM || wanted.saturating_mul(threads::width()) <= self.bytes();
        match roomy {
            true => threads::width().min(sizes.len()),
            false => 1,
        }
    }
}

/// Returns the numbers of variables of problems.
pub(super) fn sizes(posed: &[Posed]) -> Vec<usize> {
    posed.iter().map(|posed| posed.rows.len()).collect()
}

/// Trains machines of so many variables: side by side, the large ones first, or one after another where
/// they need all of the memory. `train` is told the number of a machine and how many run at the same
/// time; it uses the threads that no machine keeps busy.
pub(super) fn train_all(
    training: &Training,
    sizes: &[usize],
    train: impl Fn(usize, usize) -> Result<Solution> + Sync,
) -> Result<Vec<Solution>> {
    let mut machines: Vec<usize> = (0..sizes.len()).collect();
    machines.sort_by_key(|&machine| Reverse(sizes[machine]));
    let threads = training.side_by_side(sizes);
    let mut solutions = try_side_by_side(machines, threads, |machine| train(machine, threads))?;
    solutions.sort_by_key(|&(machine, _)| machine);
    let solutions = solutions.into_iter().map(|(_, solution)| solution);
    Ok(solutions.collect())
}
