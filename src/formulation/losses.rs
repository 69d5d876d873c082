//! What may be chosen of a machine: its loss and its intercept.

use crate::error::{Error, Result};
use crate::qp::Constraint;

/// How errors are charged: by their size or its square.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, svc};
/// let squared = svc(&[true, false], &[2.0, 2.0], Loss::Squared, Intercept::Free);
/// assert_eq!((squared.upper[0], squared.ridge[0]), (f64::INFINITY, 0.25));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Loss {
    /// By its size: hinge and epsilon-insensitive loss, L1 soft margin.
    #[default]
    Linear,
    /// By its square: L2 soft margin.
    Squared,
}

impl Loss {
    /// The largest coefficient and the ridge of a sample with this cost.
    pub(super) fn bound_and_ridge(self, cost: f64) -> (f64, f64) {
        match self {
            Loss::Linear => (cost, 0.0),
            Loss::Squared => (f64::INFINITY, 0.5 / cost),
        }
    }
}

/// How a classifier is charged for the distance of a row from its margin.
///
/// ```
/// use mercer::formulation::{Intercept, Loss, SvcLoss, svc};
/// let hinge = svc(&[true, false], &[2.0, 2.0], Loss::Linear, Intercept::Free);
/// assert_eq!((hinge.lower[0], hinge.upper[0]), (0.0, 2.0));
/// let least_squares = svc(&[true, false], &[2.0, 2.0], SvcLoss::SquaredError, Intercept::Free);
/// assert_eq!((least_squares.lower[0], least_squares.ridge[0]), (f64::NEG_INFINITY, 0.25));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SvcLoss {
    /// Rows on the wrong side of the margin pay: max(0, 1 - y f), or its square.
    Margin(Loss),
    /// Rows on either side pay (1 - y f)^2: least squares, the Adaline.
    SquaredError,
}

impl From<Loss> for SvcLoss {
    fn from(loss: Loss) -> Self {
        SvcLoss::Margin(loss)
    }
}

impl SvcLoss {
    /// Returns the smallest and the largest y beta and the ridge of a sample with this cost.
    pub(super) fn bounds_and_ridge(self, cost: f64) -> ((f64, f64), f64) {
        let (bound, ridge) = match self {
            SvcLoss::Margin(loss) => loss.bound_and_ridge(cost),
            SvcLoss::SquaredError => Loss::Squared.bound_and_ridge(cost),
        };
        match self {
            SvcLoss::Margin(_) => ((0.0, bound), ridge),
            SvcLoss::SquaredError => ((-bound, bound), ridge),
        }
    }
}

/// How a regression is charged for the residual r = y - f.
///
/// ```
/// use mercer::formulation::{Intercept, SvrLoss, svr};
/// let median = SvrLoss::Pinball { quantile: 0.5 };
/// let problem = svr(&[3.0], &[2.0], 0.1, median, Intercept::Free);
/// assert_eq!((problem.lower[0], problem.upper[0], problem.absolute[0]), (-1.0, 1.0, 0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SvrLoss {
    /// Rows outside the tube pay: max(0, |r| - epsilon), or its square. The other losses have no tube.
    Tube(Loss),
    /// Huber's: r^2 / 2 up to delta, then delta (|r| - delta / 2).
    Huber {
        /// Where the square ends, positive and finite.
        delta: f64,
    },
    /// That of quantile regression: max(q r, (q - 1) r).
    Pinball {
        /// The share q of values that are to be below f, above 0 and below 1.
        quantile: f64,
    },
    /// r^2: kernel ridge regression, with an intercept.
    SquaredError,
}

impl From<Loss> for SvrLoss {
    fn from(loss: Loss) -> Self {
        SvrLoss::Tube(loss)
    }
}

/// One term of the dual: bounds, ridge and the factor of the absolute value.
pub(super) struct Term {
    pub lower: f64,
    pub upper: f64,
    pub ridge: f64,
    pub absolute: f64,
}

impl SvrLoss {
    /// Returns the conjugate of C times the loss, which is what the dual charges for a coefficient:
    /// absolute |beta| + ridge beta^2 / 2 between the bounds.
    pub(super) fn conjugate(self, cost: f64, epsilon: f64) -> Term {
        let within = |lower, upper, ridge, absolute| Term {
            lower,
            upper,
            ridge,
            absolute,
        };
        match self {
            SvrLoss::Tube(loss) => {
                let (bound, ridge) = loss.bound_and_ridge(cost);
                within(-bound, bound, ridge, epsilon)
            }
            SvrLoss::Huber { delta } => within(-cost * delta, cost * delta, 1.0 / cost, 0.0),
            SvrLoss::Pinball { quantile } => {
                within((quantile - 1.0) * cost, quantile * cost, 0.0, 0.0)
            }
            SvrLoss::SquaredError => {
                let (bound, ridge) = Loss::Squared.bound_and_ridge(cost);
                within(-bound, bound, ridge, 0.0)
            }
        }
    }

    /// Checks its parameter.
    ///
    /// # Errors
    /// If it is out of range.
    pub(crate) fn check(self) -> Result<()> {
        let (name, value, allowed, ok) = match self {
            SvrLoss::Tube(_) | SvrLoss::SquaredError => return Ok(()),
            SvrLoss::Huber { delta } => {
                let ok = delta.is_finite() && delta > 0.0;
                ("delta", delta, "positive and finite", ok)
            }
            SvrLoss::Pinball { quantile } => {
                let ok = quantile > 0.0 && quantile < 1.0;
                ("quantile", quantile, "above 0 and below 1", ok)
            }
        };
        if ok {
            return Ok(());
        }
        Err(Error::parameter(name, allowed, value))
    }
}

/// Whether and how the decision function has a constant term.
///
/// ```
/// use mercer::{formulation::Intercept, qp::Constraint};
/// assert_eq!(Constraint::from(Intercept::Free), Constraint::Sum);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Intercept {
    /// It has one that costs nothing.
    #[default]
    Free,
    /// It has one whose square is charged like that of the weights: the kernel is K + 1.
    Penalized,
    /// It has none.
    None,
}

impl From<Intercept> for Constraint {
    fn from(intercept: Intercept) -> Self {
        match intercept {
            Intercept::Free => Constraint::Sum,
            Intercept::Penalized => Constraint::Penalized,
            Intercept::None => Constraint::None,
        }
    }
}
