//! Predictor: an expansion that also knows where a precomputed kernel has its support vectors.

use super::{Expansion, Multiclass};
use crate::data::Samples;
use crate::error::Result;
use crate::kernel::{Kernel, check_columns};
use ndarray::{Array2, ArrayView2};

#[derive(Debug)]
pub(super) struct Predictor {
    expansion: Expansion,
    /// The number of training rows and the support vectors, if the kernel was precomputed.
    precomputed: Option<(usize, Vec<usize>)>,
    classes: usize,
    multiclass: Multiclass,
}

impl Predictor {
    /// Takes the rows `support` of the training samples; the rest is as in [`Expansion::new`].
    pub fn new(
        kernel: &Kernel,
        samples: &Samples,
        support: &[usize],
        n_support: &[usize],
        dual_coef: ArrayView2<f64>,
        intercept: &[f64],
        multiclass: Multiclass,
    ) -> Result<Self> {
        let vectors = Some(samples.select(support));
        let precomputed = matches!(kernel, Kernel::Precomputed);
        Ok(Predictor {
            expansion: Expansion::with_multiclass(
                kernel.clone(),
                vectors,
                n_support,
                dual_coef,
                intercept,
                multiclass,
            )?,
            precomputed: precomputed.then(|| (samples.rows(), support.to_vec())),
            classes: n_support.len(),
            multiclass,
        })
    }

    /// Returns the values of all machines.
    pub fn decision(&self, samples: &Samples) -> Result<Array2<f64>> {
        if let Some((rows, support)) = &self.precomputed {
            check_columns(samples, *rows)?;
            let mut row = vec![0.0; *rows];
            let mut values = Array2::zeros((samples.rows(), support.len()));
            for (i, mut values) in values.rows_mut().into_iter().enumerate() {
                samples.copy_row(i, &mut row);
                for (value, &j) in values.iter_mut().zip(support) {
                    *value = row[j];
                }
            }
            return self.expansion.decision_from_kernel(values.view());
        }
        // A decision is only None if it was stopped, and nothing stops it here.
        let decision = self.expansion.decision(samples, &|| false)?;
        Ok(decision.unwrap_or_default())
    }

    /// Returns the values of the only machine.
    pub fn values(&self, samples: &Samples) -> Result<Vec<f64>> {
        Ok(self.decision(samples)?.into_iter().collect())
    }

    /// Returns the class of each row.
    pub fn classes(&self, samples: &Samples) -> Result<Vec<usize>> {
        if self.precomputed.is_some() {
            let decision = self.decision(samples)?;
            return Ok(self.multiclass.winners(decision.view(), self.classes));
        }
        let winners = self.expansion.predict(samples, &|| false)?;
        Ok(winners.unwrap_or_default()) // None only if stopped, and nothing stops it here
    }
}
