//! Image: coefficients and their product with the kernel matrix, from solve to solve.
//!
//! ```text
//! gradient = K beta + ridge beta + linear
//! ```
//!
//! Of these three terms only K beta is dear, and it does not depend on the problem: whoever knows it
//! for one problem knows it for all problems over the same variables. A multiple of the coefficients
//! has a multiple of the image; other coefficients need the rows of those that differ.

use super::problem::DualProblem;

/// Coefficients and their product with the matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    pub beta: Vec<f64>,
    /// K beta.
    pub values: Vec<f64>,
    /// Bounds of the errors of these values.
    pub errors: Vec<f64>,
}

impl Image {
    /// Returns that of coefficients that are all zero.
    pub fn zero(variables: usize) -> Self {
        Image {
            beta: vec![0.0; variables],
            values: vec![0.0; variables],
            errors: vec![0.0; variables],
        }
    }

    /// Returns one of which nothing is known but the coefficients.
    pub(super) fn unknown(beta: &[f64]) -> Self {
        Image {
            beta: beta.to_vec(),
            errors: vec![f64::INFINITY; beta.len()],
            ..Image::zero(beta.len())
        }
    }

    /// Returns that of coefficients with this gradient, whose errors have these bounds, if any are known.
    pub(super) fn of_gradient(
        problem: &DualProblem,
        beta: &[f64],
        gradient: &[f64],
        errors: Option<Vec<f64>>,
    ) -> Self {
        let terms = problem.linear.iter().zip(&problem.ridge).zip(beta);
        let terms = terms.map(|((linear, ridge), beta)| linear + ridge * beta);
        Image {
            beta: beta.to_vec(),
            values: gradient
                .iter()
                .zip(terms)
                .map(|(g, term)| g - term)
                .collect(),
            errors: errors.unwrap_or_else(|| vec![f64::INFINITY; beta.len()]),
        }
    }

    /// Returns that of a matrix with a_i + a_j added to each value, `offsets` being a, for coefficients
    /// with this sum and sum of a_i beta_i. Values that were centred to keep their digits have lost them
    /// again: they are a guide, no more.
    pub(super) fn shifted(mut self, offsets: &[f64], sum: f64, shift: f64) -> Self {
        for (value, offset) in self.values.iter_mut().zip(offsets) {
            *value += offset * sum + shift;
        }
        self.errors.fill(f64::INFINITY);
        self
    }

    /// Tells whether the values are known up to the bounds of their errors.
    pub fn is_exact(&self) -> bool {
        let mut values = self.values.iter().zip(&self.errors);
        values.all(|(value, error)| value.is_finite() && error.is_finite())
    }

    /// Multiplies everything.
    pub fn scale(&mut self, factor: f64) {
        let values = self.beta.iter_mut().chain(&mut self.values);
        values.for_each(|value| *value *= factor);
        // Each product is rounded once.
        for (error, value) in self.errors.iter_mut().zip(&self.values) {
            *error = *error * factor.abs() + f64::EPSILON * value.abs();
        }
    }
}
