//! Decision values in f64.
//!
//! Kernel values are computed once per sample and support vector, whatever the number of machines.

use super::layout::{Coefficients, Layout, shift};
use super::primal::weight_vectors;
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll};
use crate::kernel::{Centred, Columns, Kernel, UserKernel, Weights, check_columns, user_block};
use crate::simd::memory;
use crate::simd::once::Once;
use ndarray::{Array2, ArrayView2, Axis};
use std::sync::Arc;

/// Values asked from a user kernel in one call.
const USER_VALUES: usize = 1 << 22;
/// What an error calls the results.
const DECISION: &str = "the decision values";
/// What an error calls kernel values that are held.
const VALUES: &str = "a block of kernel values";

/// What computes decision values in f64.
#[derive(Debug)]
pub(super) struct Exact {
    kernel: Kernel,
    support: Option<Arc<Samples>>,
    /// The support vectors packed in f64, when first needed: labels seldom need them.
    columns: Once<Columns<f64>>,
    weights: Weights<f64>,
    /// The weight vectors of the machines, where they take the place of the support vectors.
    primal: Option<Columns<f64>>,
    layout: Layout,
    intercept: Vec<f64>,
}

impl Exact {
    /// Packs the coefficients.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(
        kernel: Kernel,
        support: Option<Arc<Samples>>,
        coefficients: &Coefficients,
    ) -> Result<Self> {
        let layout = coefficients.layout();
        let segments = layout.segments(coefficients.n_support);
        let primal = match &support {
            Some(support) => weight_vectors(&kernel, support, coefficients)?,
            None => None,
        };
        Ok(Exact {
            weights: Weights::new(&coefficients.flat()?, layout.height(), segments)?,
            columns: Once::new(),
            primal,
            intercept: coefficients.intercept.to_vec(),
            layout,
            kernel,
            support,
        })
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub fn support(&self) -> Option<&Arc<Samples>> {
        self.support.as_ref()
    }

    pub fn has_weight_vectors(&self) -> bool {
        self.primal.is_some()
    }

    /// Returns how many vectors a row is multiplied with.
    pub fn vectors(&self) -> usize {
        (self.primal.as_ref()).map_or(self.weights.columns(), Columns::len)
    }

    /// Returns in how many sums each of them takes part.
    pub fn height(&self) -> usize {
        self.layout.height()
    }

    /// Returns the packed support vectors, if the kernel is one to be computed here.
    fn columns(&self) -> Result<Option<&Columns<f64>>> {
        let Some(support) = self.support.as_ref().filter(|_| self.kernel.is_tiled()) else {
            return Ok(None);
        };
        let packed = self.columns.get_or_try_make(|| {
            let all: Vec<usize> = (0..support.rows()).collect();
            Columns::new(&self.kernel, Centred::not(support), &all)
        });
        packed.map(Some)
    }

    /// Returns the values of all machines for some rows.
    pub fn decision(&self, samples: &Samples, rows: &[usize], stop: Stop) -> Polled<Array2<f64>> {
        let shape = (rows.len(), self.intercept.len());
        let mut decision = memory::zero_matrix(shape, DECISION)?;
        let out = decision.as_slice_mut().unwrap_or_default();
        if let Some(columns) = &self.primal {
            check_columns(samples, columns.dim())?;
            let f = |_, values: &[f64], out: &mut [f64]| shift(values, &self.intercept, out);
            columns.values(samples, rows, out, f, stop)?;
        } else if let Some(columns) = self.columns()? {
            check_columns(samples, columns.dim())?;
            let f =
                |_, sums: &[f64], out: &mut [f64]| self.layout.values(sums, &self.intercept, out);
            columns.sums(samples, rows, &self.weights, out, f, stop)?;
        } else if let (Kernel::User(user), Some(support)) = (&self.kernel, &self.support) {
            check_columns(samples, support.columns())?;
            self.ask_user(&**user, samples, rows, &mut decision, stop)?;
        } else {
            let (allowed, got) = ("one the core can evaluate", format!("{:?}", self.kernel));
            return Err(Error::parameter("kernel", allowed, got).into());
        }
        check_finite(&decision, |at| rows[at])?;
        Ok(decision)
    }

    /// Writes the values of all machines from those of the user's kernel.
    fn ask_user(
        &self,
        user: &dyn UserKernel,
        samples: &Samples,
        rows: &[usize],
        decision: &mut Array2<f64>,
        stop: Stop,
    ) -> Polled<()> {
        let Some(support) = &self.support else {
            return Ok(());
        };
        let all: Vec<usize> = (0..support.rows()).collect();
        let batch = (USER_VALUES / all.len().max(1)).max(1);
        let outs = decision.axis_chunks_iter_mut(Axis(0), batch);
        for (rows, mut out) in rows.chunks(batch).zip(outs) {
            poll(stop)?;
            let mut values = memory::zeros(rows.len() * all.len(), VALUES)?;
            if !all.is_empty() {
                user_block(user, samples, rows, support, &all, &mut values)?;
            }
            out.assign(&self.combined(values, rows.len())?);
        }
        Ok(())
    }

    /// Returns the values of all machines from those of the kernel.
    pub fn of_kernel_values(&self, values: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (expected, (rows, columns)) = (self.weights.columns(), values.dim());
        if columns != expected {
            let (expected, got) = (format!("{expected} columns"), columns.to_string());
            return Err(Error::shape("kernel values", expected, got));
        }
        let values = memory::collected(values.iter().copied(), VALUES)?;
        let decision = self.combined(values, rows)?;
        check_finite(&decision, |at| at)?;
        Ok(decision)
    }

    fn combined(&self, mut values: Vec<f64>, rows: usize) -> Result<Array2<f64>> {
        let count = self.weights.sums();
        let mut sums = self.weights.apply(&mut values, self.weights.columns())?;
        memory::resize(&mut sums, rows * count, DECISION)?;
        let mut decision = memory::zero_matrix((rows, self.intercept.len()), DECISION)?;
        let out = decision.as_slice_mut().unwrap_or_default();
        let outs = out.chunks_mut(self.intercept.len());
        for (sums, out) in sums.chunks(count).zip(outs) {
            self.layout.values(sums, &self.intercept, out);
        }
        Ok(decision)
    }
}

/// Checks that the values of every row are numbers; `row` names the rows.
fn check_finite(decision: &Array2<f64>, row: impl Fn(usize) -> usize) -> Result<()> {
    let found = decision
        .indexed_iter()
        .find(|(_, value)| !value.is_finite());
    let Some(((at, _), value)) = found else {
        return Ok(());
    };
    let allowed = "small enough for decision values to be finite (scale it as for the training)";
    Err(Error::parameter(
        "X",
        allowed,
        format!("{value} for row {}", row(at)),
    ))
}
