//! Fit: one of the many fits, as problems over rows of the common samples.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, SvrLoss, nu_svr, one_class, svr};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::model::{Machine, Machines, Margin, Multiclass, Posed, Training};
use crate::qp::{DualProblem, Solution, Solver};
use ndarray::Array2;

/// Which machine is fitted. Costs come with the rows.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::search::Formulation;
/// let svr = Formulation::Regression { epsilon: 0.1, loss: Loss::Linear.into(), intercept: Intercept::Free };
/// assert!(!matches!(svr, Formulation::OneClass { .. }));
/// ```
#[derive(Clone, Debug)]
pub enum Formulation {
    /// [`Svc`](crate::Svc) or [`NuSvc`](crate::NuSvc).
    Classifier {
        /// How margin and errors are weighed against each other.
        margin: Margin,
        /// How more than two classes are decided.
        multiclass: Multiclass,
    },
    /// [`Svr`](crate::Svr).
    Regression {
        /// Half the width of the tube.
        epsilon: f64,
        /// How errors are charged.
        loss: SvrLoss,
        /// Whether there is a constant term.
        intercept: Intercept,
    },
    /// [`NuSvr`](crate::NuSvr).
    NuRegression {
        /// The share of errors.
        nu: f64,
    },
    /// [`OneClassSvm`](crate::OneClassSvm).
    OneClass {
        /// The share of outliers.
        nu: f64,
        /// How outliers are charged.
        loss: Loss,
    },
}

/// One of many fits on the same samples.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::search::{Fit, Formulation};
/// use mercer::{Kernel, model::{Margin, Multiclass}, qp::Solver};
/// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
/// let fit = Fit {
///     formulation: Formulation::Classifier { margin, multiclass: Multiclass::OneVsOne },
///     kernel: Kernel::rbf(1.0),
///     labels: vec![0, 1, 0, 1],
///     target: vec![],
///     cost: vec![1.0, 1.0, 1.0, 0.0], // the last row is held out
///     asked: vec![3],
///     solver: Solver::default(),
/// };
/// assert_eq!(fit.asked, [3]);
/// ```
#[derive(Clone, Debug)]
pub struct Fit {
    /// Which machine.
    pub formulation: Formulation,
    /// Its kernel.
    pub kernel: Kernel,
    /// The class of each row, for a classifier; those of rows left out do not matter.
    pub labels: Vec<usize>,
    /// The value of each row, for a regression.
    pub target: Vec<f64>,
    /// The cost or weight of each row; rows of cost zero are left out.
    pub cost: Vec<f64>,
    /// The rows whose decision values are wanted.
    pub asked: Vec<usize>,
    /// How to solve; a limit of time is one for this fit.
    pub solver: Solver,
}

/// What a [`Fit`] found.
///
/// ```
/// # use mercer::search::Fitted;
/// fn errors(fitted: &Fitted) -> usize {
///     fitted.values.column(0).iter().filter(|&&value| value < 0.0).count()
/// }
/// ```
#[derive(Debug)]
pub struct Fitted {
    /// The machines; a machine without classes is a classifier of one class.
    pub machines: Machines,
    /// Half the width of the tube, of the regression that finds it.
    pub epsilon: Option<f64>,
    /// The values of all machines for the rows asked for, shape (rows, machines). The sign of each is
    /// that of `f64` arithmetic.
    pub values: Array2<f64>,
    /// The processor time that was spent on it.
    pub seconds: f64,
}

/// The problem of one machine of a fit.
pub(super) enum Part {
    OfClassifier(Posed),
    Other {
        rows: Vec<usize>,
        problem: DualProblem,
    },
}

impl Part {
    pub fn rows(&self) -> &[usize] {
        match self {
            Part::OfClassifier(posed) => &posed.rows,
            Part::Other { rows, .. } => rows,
        }
    }

    pub fn problem(&self) -> &DualProblem {
        match self {
            Part::OfClassifier(posed) => &posed.problem,
            Part::Other { problem, .. } => problem,
        }
    }

    /// Makes the machine of the solution, whose coefficients may be multiplied by that.
    pub fn finish(&self, solution: Solution, matrix: &KernelMatrix) -> Solution {
        match self {
            Part::OfClassifier(posed) => posed.finish(solution, matrix),
            Part::Other { .. } => solution,
        }
    }
}

/// The problems of all machines of a fit, and the rows of each class.
pub(super) struct Pose {
    pub members: Vec<Vec<usize>>,
    pub parts: Vec<Part>,
}

impl Fit {
    /// Returns the problems of all its machines.
    ///
    /// # Errors
    /// If lengths differ, a parameter is out of range, or a class is empty.
    pub(super) fn pose(&self, samples: &Samples) -> Result<Pose> {
        let classifier = matches!(self.formulation, Formulation::Classifier { .. });
        let regression = matches!(
            self.formulation,
            Formulation::Regression { .. } | Formulation::NuRegression { .. }
        );
        let n = samples.rows();
        for (name, length, wanted) in [
            ("y", self.labels.len(), classifier),
            ("y", self.target.len(), regression),
            ("sample_weight", self.cost.len(), true),
        ] {
            if wanted && length != n {
                let expected = format!("{n} entries, one per row of X");
                return Err(Error::shape(name, expected, length.to_string()));
            }
        }
        if let Some(row) = self.asked.iter().find(|&&row| row >= n) {
            return Err(Error::parameter("asked", "numbers of rows", row));
        }
        if let Formulation::Classifier { margin, multiclass } = &self.formulation {
            let (labels, cost) = (&self.labels, &self.cost);
            let training = Training::new(&self.kernel, samples, labels, cost, *margin);
            let kept = labels.iter().zip(cost).filter(|&(_, &cost)| cost != 0.0);
            let classes = kept.map(|(label, _)| label + 1).max().unwrap_or(0);
            let (members, posed) = multiclass.pose(&training.classes(classes))?;
            let parts = posed.into_iter().map(Part::OfClassifier).collect();
            return Ok(Pose { members, parts });
        }
        let rows: Vec<usize> = (0..n).filter(|&row| self.cost[row] != 0.0).collect();
        if rows.is_empty() {
            let allowed = "positive for at least one row";
            return Err(Error::parameter("sample_weight", allowed, "none"));
        }
        let cost: Vec<f64> = rows.iter().map(|&row| self.cost[row]).collect();
        let target = || -> Vec<f64> { rows.iter().map(|&row| self.target[row]).collect() };
        let (rows, problem) = match self.formulation {
            Formulation::Regression {
                epsilon,
                loss,
                intercept,
            } => {
                let problem = svr(&target(), &cost, epsilon, loss, intercept);
                (rows, problem)
            }
            Formulation::NuRegression { nu } => {
                let problem = nu_svr(&target(), &cost, nu)?;
                ([rows.as_slice(), &rows].concat(), problem)
            }
            Formulation::OneClass { nu, loss } => (rows, one_class(&cost, nu, loss)?),
            Formulation::Classifier { .. } => unreachable!("posed above"),
        };
        Ok(Pose {
            members: Vec::new(),
            parts: vec![Part::Other { rows, problem }],
        })
    }

    /// Returns all rows of the classes that are among some rows, held out or not.
    pub(super) fn family(&self, rows: &[usize]) -> Vec<usize> {
        let most = rows.iter().filter_map(|&row| self.labels.get(row)).max();
        let mut among = vec![false; most.map_or(0, |&label| label + 1)];
        rows.iter()
            .filter_map(|&row| self.labels.get(row))
            .for_each(|&label| among[label] = true);
        let belongs = |row: &usize| among.get(self.labels[*row]).is_some_and(|&is| is);
        (0..self.labels.len()).filter(belongs).collect()
    }

    /// Tells whether it has a single machine, of most rows that are not held out.
    pub(super) fn has_one_machine(&self) -> bool {
        match self.formulation {
            Formulation::Classifier { .. } => self.labels.iter().all(|&label| label < 2),
            _ => true,
        }
    }

    /// Collects the solutions of its problems; returns the width of the tube with them, if it was found.
    pub(super) fn assemble(
        &self,
        pose: &Pose,
        solutions: Vec<Solution>,
    ) -> (Machines, Option<f64>) {
        if let Formulation::Classifier { multiclass, .. } = &self.formulation {
            return (multiclass.assemble(&pose.members, solutions), None);
        }
        let mut solutions = solutions.into_iter();
        let mut solution = solutions.next().expect("one machine");
        let rows = pose.parts[0].rows();
        let Formulation::NuRegression { .. } = self.formulation else {
            return (Machine::new(rows, solution).into(), None);
        };
        let rows = &rows[..rows.len() / 2];
        let below = solution.beta.split_off(rows.len());
        let both = solution.beta.iter_mut().zip(below);
        both.for_each(|(beta, below)| *beta += below);
        // Below zero only by the tolerance.
        let epsilon = ((solution.intercepts[0] - solution.intercepts[1]) / 2.0).max(0.0);
        (Machine::new(rows, solution).into(), Some(epsilon))
    }
}
