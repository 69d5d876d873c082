//! The problem of a table of coefficients: what its solver is given.

use crate::error::{Error, Result};
use crate::qp::problem::Constraint;

/// A problem whose coefficients are a table with a row for each sample: see
/// [`Smo::solve_table`](crate::qp::Smo::solve_table). All vectors hold the table row by row.
///
/// ```
/// use mercer::formulation::{Intercept, weston_watkins};
/// let problem = weston_watkins(&[0, 1, 2], &[1.0; 3], 3, Intercept::Free);
/// assert_eq!((problem.columns, problem.linear.len()), (3, 9));
/// ```
#[derive(Clone, Debug)]
pub struct TableProblem {
    /// Coefficients of each sample.
    pub columns: usize,
    /// The linear term.
    pub linear: Vec<f64>,
    /// Lower bounds, at most 0; may be minus infinity.
    pub lower: Vec<f64>,
    /// Upper bounds, at least 0; may be infinity.
    pub upper: Vec<f64>,
    /// What is fixed of each column beside the bounds; not two sums.
    pub constraint: Constraint,
}

impl TableProblem {
    /// Checks that there are so many samples, that zero is feasible, and what is fixed.
    pub(super) fn check(&self, samples: usize) -> Result<()> {
        let length = samples * self.columns;
        for (name, values) in [
            ("linear", &self.linear),
            ("lower", &self.lower),
            ("upper", &self.upper),
        ] {
            if values.len() != length {
                let expected = format!("{length} entries");
                return Err(Error::shape(name, expected, values.len().to_string()));
            }
        }
        let bounds = self.lower.iter().zip(&self.upper);
        let mut bounds = bounds.map(|(&lower, &upper)| lower <= 0.0 && 0.0 <= upper);
        if !bounds.all(|feasible| feasible) {
            return Err(Error::parameter(
                "lower",
                "at most 0, and upper at least",
                "other bounds",
            ));
        }
        match self.constraint {
            Constraint::TwoSums(_) => {
                let allowed = "one sum of each column, or none";
                Err(Error::parameter("constraint", allowed, "two sums"))
            }
            _ => Ok(()),
        }
    }

    /// Tells whether the sums of the columns are fixed.
    pub(super) fn fixes_sums(&self) -> bool {
        self.constraint == Constraint::Sum
    }

    /// Tells whether some coefficient has no bound but the sum of its row.
    pub(super) fn is_unbounded(&self) -> bool {
        let rows = self
            .lower
            .chunks(self.columns)
            .zip(self.upper.chunks(self.columns));
        let mut free = rows.map(|(lower, upper)| {
            let down = lower.iter().any(|bound| bound.is_infinite());
            down && upper.iter().any(|bound| bound.is_infinite())
        });
        free.any(|free| free)
    }
}
