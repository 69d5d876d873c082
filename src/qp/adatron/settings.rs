//! The settings of the Kernel-Adatron.

use crate::error::{Error, Result};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::control::{Monitor, StopRule};
use crate::qp::driver;
use crate::qp::problem::DualProblem;
use crate::qp::report::Solution;
use crate::qp::settings::solver_methods;

/// The Kernel-Adatron and its settings.
///
/// ```
/// use mercer::{Kernel, Svc, qp::Adatron};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
/// let svc = Svc::new(Kernel::rbf(1.0)).c(10.0).solver(Adatron::new().eta(1.2));
/// let model = svc.fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.predict(x.view())?, [0, 0, 1, 1]);
/// assert_eq!(model.machines().histories[0].len() as u64, model.reports()[0].iterations);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Adatron {
    /// When to stop; iterations are epochs.
    pub stop: StopRule,
    /// The length of a step, as a share of that to the top: above 0 and below 2.
    pub eta: f64,
    /// In which order variables are taken.
    pub order: Order,
    /// The first two intercepts, mu and -mu, of the published search for a free one, in which every epoch
    /// has the intercept of the plain secant rule; None for one that is guarded.
    pub mu: Option<f64>,
    /// Whether to stop, as published, when margin and intercept have settled to the tolerance, however
    /// large the gap: in two epochs the margin is 1 and the intercept the same, and the sum is kept.
    pub settle: bool,
    /// How coefficients are changed.
    pub rule: LearningRule,
    /// Bytes for kernel rows; None for what is needed up to a fair share of the free memory.
    pub cache_bytes: Option<usize>,
}

/// The order in which an epoch takes the variables.
///
/// ```
/// use mercer::qp::{Adatron, Order};
/// assert_eq!(Adatron::new().order, Order::Alternating);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Order {
    /// A new one in every second epoch, and the same way back in the epoch between.
    #[default]
    Alternating,
    /// That of the rows, always.
    Cyclic,
    /// A new one in every epoch, the same in every run.
    Random,
}

/// How a perceptron learns: see [`Adatron::rule`].
///
/// ```
/// use mercer::qp::{Adatron, LearningRule};
/// assert_eq!(Adatron::new().rule, LearningRule::Adatron);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LearningRule {
    /// A step up the dual objective: optimal stability in the end.
    #[default]
    Adatron,
    /// Rosenblatt's: a row on the wrong side is added, until none is.
    Perceptron,
    /// The row of least stability is added: optimal stability in the limit.
    MinOver,
}

impl Default for Adatron {
    fn default() -> Self {
        Adatron {
            stop: StopRule::default(),
            eta: 1.0,
            order: Order::Alternating,
            mu: None,
            settle: false,
            rule: LearningRule::Adatron,
            cache_bytes: None,
        }
    }
}

solver_methods!(Adatron, "epochs");

impl Adatron {
    /// Sets the length of a step, as a share of that to the top.
    ///
    /// ```
    /// assert_eq!(mercer::qp::Adatron::new().eta(0.5).eta, 0.5);
    /// ```
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    /// Sets the order in which variables are taken.
    ///
    /// ```
    /// use mercer::qp::{Adatron, Order};
    /// assert_eq!(Adatron::new().order(Order::Cyclic).order, Order::Cyclic);
    /// ```
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Searches for a free intercept as published: with mu, then -mu, then the secant rule.
    ///
    /// ```
    /// assert_eq!(mercer::qp::Adatron::new().mu(0.1).mu, Some(0.1));
    /// ```
    pub fn mu(mut self, mu: f64) -> Self {
        self.mu = Some(mu);
        self
    }

    /// Sets whether to stop, as published, when margin and intercept have settled.
    ///
    /// ```
    /// assert!(mercer::qp::Adatron::new().settle(true).settle);
    /// ```
    pub fn settle(mut self, settle: bool) -> Self {
        self.settle = settle;
        self
    }

    /// Sets how coefficients are changed: by the rule of the Adatron, or those of perceptrons, which are
    /// for a hard margin, without an intercept or with one that is penalised. Their solution is scaled so
    /// that the nearest row has the value 1; then 1 / |w| is its stability.
    ///
    /// ```
    /// use mercer::qp::{Adatron, LearningRule, Status};
    /// use mercer::{Kernel, Svc, formulation::Intercept};
    /// let x = ndarray::array![[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]];
    /// let svc = Svc::new(Kernel::linear()).c(f64::INFINITY).intercept(Intercept::None);
    /// let perceptron = svc.solver(Adatron::new().rule(LearningRule::Perceptron));
    /// let model = perceptron.fit(x.view(), &[0, 0, 1, 1])?;
    /// assert_eq!(model.predict(x.view())?, [0, 0, 1, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn rule(mut self, rule: LearningRule) -> Self {
        self.rule = rule;
        self
    }

    /// Checks the length of steps, and mu.
    pub(crate) fn check_eta(&self) -> Result<()> {
        if let Some(mu) = self.mu.filter(|mu| !(mu.is_finite() && *mu > 0.0)) {
            return Err(Error::parameter("mu", "positive and finite", mu));
        }
        if self.eta > 0.0 && self.eta < 2.0 {
            return Ok(());
        }
        let allowed =
            "above 0 and below 2 (outside, steps overshoot and the objective need not rise)";
        Err(Error::parameter("eta", allowed, self.eta))
    }

    /// Solves a problem. Running out of time or epochs is a [`Status`](crate::qp::Status), not an
    /// error.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[false, true], &[9.0, 9.0], Loss::Linear, Intercept::Free);
    /// let solution = Adatron::default().solve(&problem, &matrix, &Unwatched)?;
    /// assert!((solution.beta[1] - 0.5).abs() < 1e-3); // f(x) = x
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If eta is not above 0 and below 2, the constraint fixes two sums, the kernel need not be
    /// positive semi-definite and the constraint fixes the sum, or as
    /// [`Smo::solve`](crate::qp::Smo::solve).
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        driver::solve(self, problem, &mut KernelRows::new(matrix), monitor)
    }

    /// Solves a problem with rows that have served others before; the budget of memory is that of
    /// the first.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::matrix::{KernelMatrix, KernelRows};
    /// # use mercer::{Kernel, Samples, qp::{Adatron, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let mut rows = KernelRows::new(&matrix);
    /// let problem = svc(&[false, true], &[0.1, 0.1], Loss::Linear, Intercept::None);
    /// let solution = Adatron::default().solve_on(&problem, &mut rows, &Unwatched)?;
    /// assert_eq!(solution.beta, [-0.1, 0.1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_on(
        &self,
        problem: &DualProblem,
        rows: &mut KernelRows,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        driver::solve(self, problem, rows, monitor)
    }
}
