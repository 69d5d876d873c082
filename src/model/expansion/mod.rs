//! Expansion: decision functions f(x) = sum_i beta_i k(x_i, x) + b, that of one machine or those of a
//! classifier.
//!
//! [`layout`] knows where the coefficients of each machine are, [`exact`] computes decision values in
//! f64, [`coarse`] finds classes in f32 where that is enough, and [`primal`] makes one vector of the
//! support vectors of a linear kernel.

mod coarse;
mod exact;
mod layout;
mod primal;

pub(crate) use layout::Coefficients;
pub use layout::coefficients_by_machine;

use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, unless_stopped};
use crate::kernel::{Kernel, check_columns};
use crate::model::multiclass::Multiclass;
use crate::simd::memory;
use coarse::Coarse;
use exact::Exact;
use ndarray::{Array2, ArrayView2};
use std::sync::Arc;

/// Rows whose values are held at a time when only classes are wanted.
const ROWS: usize = 4096;

/// What is kept of the rows a machine was trained on.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// The support vectors.
    Vectors(Arc<Samples>),
    /// Of a precomputed kernel: how many rows there were, and which are the support vectors. Rows to
    /// decide hold the kernel values with all of them.
    Numbers(usize, Vec<usize>),
}

impl Kept {
    /// Keeps the rows `support` of samples.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(kernel: &Kernel, samples: &Samples, support: &[usize]) -> Result<Self> {
        Ok(match kernel {
            Kernel::Precomputed => Kept::Numbers(samples.rows(), support.to_vec()),
            _ => Kept::Vectors(Arc::new(samples.select(support)?)),
        })
    }
}

/// The decision functions of a classifier, or that of a machine without classes.
///
/// ```
/// use mercer::{Kernel, Samples, model::Expansion};
/// // f(x) = 1/2 * x - 1/2 * (-x) = x for the support vectors -1 (class 0) and 1 (class 1).
/// let support = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
/// let coefficients = ndarray::array![[-0.5, 0.5]];
/// let f = Expansion::new(Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0])?;
/// let x = Samples::try_from(ndarray::array![[3.0]].view())?;
/// assert_eq!(f.decision(&x, &|| false)?, Some(ndarray::array![[3.0]]));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Expansion {
    exact: Exact,
    /// `None` where f32 is too coarse to be of use.
    coarse: Option<Coarse>,
    /// If the kernel was precomputed and the training rows are known: their number, and which of them
    /// are the support vectors.
    precomputed: Option<(usize, Vec<usize>)>,
    classes: usize,
    multiclass: Multiclass,
}

impl Expansion {
    /// Makes the decision functions. `n_support` has an entry per class, `dual_coef` the shape
    /// (classes - 1, support vectors), `intercept` an entry per pair of classes; a machine without
    /// classes counts as a single class, with one row of coefficients and one intercept. `support`
    /// may be `None` if only [`decision_from_kernel`](Self::decision_from_kernel) is used.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// // Three classes with one support vector each: two rows, three machines.
    /// let support = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let coefficients = ndarray::array![[1.0, -1.0, -1.0], [1.0, 1.0, -1.0]];
    /// let intercept = [0.5, 1.0, 1.5];
    /// Expansion::new(
    ///     Kernel::linear(), Some(support), &[1, 1, 1], coefficients.view(), &intercept,
    /// )?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together, or a coefficient or intercept is not finite.
    pub fn new(
        kernel: Kernel,
        support: Option<Samples>,
        n_support: &[usize],
        dual_coef: ArrayView2<f64>,
        intercept: &[f64],
    ) -> Result<Self> {
        let multiclass = Multiclass::OneVsOne;
        Self::with_multiclass(kernel, support, n_support, dual_coef, intercept, multiclass)
    }

    /// Makes the decision functions of a classifier of another kind: for one-vs-rest with more than
    /// two classes there is a row of coefficients and an intercept per class.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Expansion, Multiclass}};
    /// let support = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let coefficients = ndarray::Array2::<f64>::eye(3);
    /// let f = Expansion::with_multiclass(
    ///     Kernel::rbf(1.0), Some(support), &[1, 1, 1], coefficients.view(), &[0.0; 3],
    ///     Multiclass::OneVsRest,
    /// )?;
    /// let x = Samples::try_from(ndarray::array![[0.9]].view())?;
    /// assert_eq!(f.predict(&x, &|| false)?, Some(vec![1]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together, or a coefficient or intercept is not finite.
    pub fn with_multiclass(
        kernel: Kernel,
        support: Option<Samples>,
        n_support: &[usize],
        dual_coef: ArrayView2<f64>,
        intercept: &[f64],
        multiclass: Multiclass,
    ) -> Result<Self> {
        let coefficients = Coefficients {
            n_support,
            dual_coef,
            intercept,
            multiclass,
        };
        Self::of(kernel, support.map(Arc::new), &coefficients)
    }

    /// Makes the decision functions of support vectors that others may hold, too.
    ///
    /// # Errors
    /// If the shapes do not fit together, or a coefficient or intercept is not finite.
    pub(crate) fn of(
        kernel: Kernel,
        support: Option<Arc<Samples>>,
        coefficients: &Coefficients,
    ) -> Result<Self> {
        kernel.check()?;
        coefficients.check()?;
        let vectors = coefficients.vectors();
        if let Some(support) = &support
            && support.rows() != vectors
        {
            let (expected, got) = (format!("{vectors} rows"), support.rows().to_string());
            return Err(Error::shape("support_vectors_", expected, got));
        }
        let exact = Exact::new(kernel.clone(), support.clone(), coefficients)?;
        let coarse = match support {
            Some(support) if !exact.has_weight_vectors() && coefficients.outputs().is_none() => {
                Coarse::new(&kernel, &support, coefficients)?
            }
            _ => None,
        };
        Ok(Expansion {
            exact,
            coarse,
            precomputed: None,
            classes: coefficients.classes(),
            multiclass: coefficients.multiclass.clone(),
        })
    }

    /// Makes the decision functions of a machine from what it keeps.
    ///
    /// # Errors
    /// If the shapes do not fit together, or a coefficient or intercept is not finite.
    pub(crate) fn of_kept(
        kernel: &Kernel,
        kept: Kept,
        coefficients: &Coefficients,
    ) -> Result<Self> {
        Ok(match kept {
            Kept::Vectors(vectors) => Self::of(kernel.clone(), Some(vectors), coefficients)?,
            Kept::Numbers(rows, support) => Expansion {
                precomputed: Some((rows, support)),
                ..Self::of(kernel.clone(), None, coefficients)?
            },
        })
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        self.exact.kernel()
    }

    pub(crate) fn support_vectors(&self) -> Option<&Samples> {
        self.exact.support().map(AsRef::as_ref)
    }

    /// Returns what is kept of the rows trained on, `None` if only kernel values are asked for.
    #[cfg(feature = "persist")]
    pub(crate) fn kept(&self) -> Option<Kept> {
        match &self.precomputed {
            Some((rows, support)) => Some(Kept::Numbers(*rows, support.clone())),
            None => self.exact.support().cloned().map(Kept::Vectors),
        }
    }

    /// Returns the multiplications that the decisions of these samples cost, roughly: whether they are
    /// worth threads.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// # let support = Samples::try_from(ndarray::array![[1.0], [-1.0]].view())?;
    /// # let coefficients = ndarray::array![[0.5, -0.5]];
    /// # let f = Expansion::new(
    /// #     Kernel::rbf(1.0), Some(support), &[1, 1], coefficients.view(), &[0.0],
    /// # )?;
    /// let x = Samples::try_from(ndarray::array![[3.0], [-2.0]].view())?;
    /// assert!(f.work(&x) >= 4); // two rows, two support vectors
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn work(&self, samples: &Samples) -> usize {
        let values = samples.rows().saturating_mul(self.exact.vectors());
        values.saturating_mul(samples.columns() + 8 + self.exact.height())
    }

    /// Returns the values of all machines, shape (rows, machines), with the signs of
    /// [`Machines`](crate::model::Machines); `None` if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// # let support = Samples::try_from(ndarray::array![[1.0], [-1.0]].view())?;
    /// # let coefficients = ndarray::array![[0.5, -0.5]];
    /// # let f = Expansion::new(
    /// #     Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0],
    /// # )?;
    /// let x = Samples::try_from(ndarray::array![[3.0], [-2.0]].view())?;
    /// assert_eq!(f.decision(&x, &|| false)?, Some(ndarray::array![[3.0], [-2.0]]));
    /// assert_eq!(f.decision(&x, &|| true)?, None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as the support vectors, the user's kernel fails, or the kernel
    /// cannot be evaluated here.
    pub fn decision(
        &self,
        samples: &Samples,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Array2<f64>>> {
        let all: Vec<usize> = (0..samples.rows()).collect();
        unless_stopped(self.decision_of(samples, &all, stop))
    }

    /// Returns the values of all machines for some rows.
    fn decision_of(&self, samples: &Samples, rows: &[usize], stop: Stop) -> Polled<Array2<f64>> {
        let Some((columns, support)) = &self.precomputed else {
            return self.exact.decision(samples, rows, stop);
        };
        check_columns(samples, *columns)?;
        let mut buffer = vec![0.0; *columns];
        let shape = (rows.len(), support.len());
        let mut values = memory::zero_matrix(shape, "a block of kernel values")?;
        for (mut values, &row) in values.rows_mut().into_iter().zip(rows) {
            samples.copy_row(row, &mut buffer);
            for (value, &column) in values.iter_mut().zip(support) {
                *value = buffer[column];
            }
        }
        Ok(self.exact.of_kernel_values(values.view())?)
    }

    /// Returns the values of the only machine.
    pub(crate) fn values(&self, samples: &Samples) -> Result<Vec<f64>> {
        // None only if stopped, and nothing stops it here.
        let decision = self.decision(samples, &|| false)?.unwrap_or_default();
        Ok(decision.into_iter().collect())
    }

    /// Returns the class of each row, 0 if there are no classes; `None` if `stop` said so.
    ///
    /// The labels are those of [`decision`](Self::decision), with near certainty: values are computed
    /// in f32 first, and again in f64 for the rows in which an error of eight standard deviations of
    /// rounding could change the class.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// let support = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let coefficients = ndarray::array![[-0.5, 0.5]];
    /// let f = Expansion::new(Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0])?;
    /// let x = Samples::try_from(ndarray::array![[3.0], [-1e-300]].view())?;
    /// assert_eq!(f.predict(&x, &|| false)?, Some(vec![1, 0]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision`](Self::decision).
    pub fn predict(
        &self,
        samples: &Samples,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<usize>>> {
        unless_stopped(self.classes_of(samples, stop))
    }

    fn classes_of(&self, samples: &Samples, stop: Stop) -> Polled<Vec<usize>> {
        let Some(coarse) = &self.coarse else {
            let all: Vec<usize> = (0..samples.rows()).collect();
            return self.exact_classes(samples, &all, stop);
        };
        let choices = coarse.choose(samples, stop)?;
        let doubtful: Vec<usize> = (0..choices.len())
            .filter(|&row| choices[row].doubtful)
            .collect();
        let mut classes: Vec<usize> = choices.into_iter().map(|choice| choice.class).collect();
        let exact = self.exact_classes(samples, &doubtful, stop)?;
        for (&row, class) in doubtful.iter().zip(exact) {
            classes[row] = class;
        }
        Ok(classes)
    }

    /// Returns the classes of some rows from values in f64, of which a few thousand rows are held at a
    /// time.
    fn exact_classes(&self, samples: &Samples, rows: &[usize], stop: Stop) -> Polled<Vec<usize>> {
        let mut classes = Vec::with_capacity(rows.len());
        for rows in rows.chunks(ROWS) {
            let decision = self.decision_of(samples, rows, stop)?;
            classes.extend(match self.classes {
                1 => vec![0; rows.len()], // of one value or several
                classes => self.multiclass.winners(decision.view(), classes),
            });
        }
        Ok(classes)
    }

    /// Returns the decision values from kernel values against the support vectors, shape
    /// (rows, vectors).
    ///
    /// ```
    /// # use mercer::{Kernel, model::Expansion};
    /// let coefficients = ndarray::array![[0.5, -0.5]];
    /// let f = Expansion::new(Kernel::Precomputed, None, &[1, 1], coefficients.view(), &[1.0])?;
    /// assert_eq!(f.decision_from_kernel(ndarray::array![[3.0, -3.0]].view())?, ndarray::array![[4.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of columns is not that of the support vectors.
    pub fn decision_from_kernel(&self, values: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.exact.of_kernel_values(values)
    }
}
