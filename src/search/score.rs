//! Score: how well a fit does on the rows asked for, by scikit-learn's default rules.

use super::fit::{Fit, Fitted, Formulation};

impl Fitted {
    /// Returns the share of rows asked for whose class is found or, of a regression, the coefficient of
    /// determination; NaN where neither has a meaning. `expected` has the class or value of every row of
    /// the samples.
    ///
    /// ```
    /// use mercer::formulation::{Intercept, Loss};
    /// use mercer::search::{Fit, Formulation, Plan};
    /// use mercer::{Kernel, Samples, model::{Margin, Multiclass}, qp::Solver};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [5.0], [6.0]].view())?;
    /// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
    /// let fit = Fit {
    ///     formulation: Formulation::Classifier { margin, multiclass: Multiclass::OneVsOne },
    ///     kernel: Kernel::linear(),
    ///     labels: vec![0, 0, 1, 1],
    ///     target: vec![],
    ///     cost: vec![0.0, 1.0, 1.0, 0.0],
    ///     asked: vec![0, 3],
    ///     solver: Solver::default(),
    /// };
    /// let fitted = Plan::new(&samples).run(std::slice::from_ref(&fit)).remove(0)?;
    /// assert_eq!(fitted.score(&fit, &[0.0, 0.0, 1.0, 1.0]), 1.0);
    /// assert_eq!(fitted.score(&fit, &[1.0, 0.0, 1.0, 1.0]), 0.5);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Panics
    /// If a row asked for has nothing expected of it.
    pub fn score(&self, fit: &Fit, expected: &[f64]) -> f64 {
        let expected = fit.asked.iter().map(|&row| expected[row]);
        let n = fit.asked.len() as f64;
        match &fit.formulation {
            Formulation::Classifier { multiclass, .. } => {
                let classes = self.machines.n_support.len();
                let found = multiclass.winners(self.values.view(), classes);
                let right = found.iter().zip(expected).filter(|&(&a, b)| a as f64 == b);
                right.count() as f64 / n
            }
            Formulation::Regression { .. } | Formulation::NuRegression { .. } => {
                let mean = expected.clone().sum::<f64>() / n;
                let pairs = self.values.column(0).into_iter().zip(expected.clone());
                let left: f64 = pairs.map(|(found, value)| (value - found).powi(2)).sum();
                let all: f64 = expected.map(|value| (value - mean).powi(2)).sum();
                1.0 - left / all
            }
            Formulation::OneClass { .. } => f64::NAN,
        }
    }
}
