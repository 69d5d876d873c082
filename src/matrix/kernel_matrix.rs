//! KernelMatrix: the matrix of a problem, described but not computed.

use super::description::Description;
use super::rows::shared::{Shareable, Shared};
use super::rows::whole::{Gathered, Whole};
use super::rows::{Common, RowSource, source_of};
use super::worth::is_worth_a_copy;
use crate::data::Samples;
use crate::error::{Polled, Result, Stop};
use crate::kernel::Kernel;
use crate::simd::Real;
use std::sync::Arc;

/// A symmetric kernel matrix over the variables of a problem, computed on demand.
///
/// ```
/// use mercer::{Kernel, Samples, matrix::KernelMatrix};
/// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [3.0]].view())?;
/// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![2, 0])?;
/// assert_eq!(matrix.diagonal(), &[9.0, 0.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct KernelMatrix<'a> {
    description: Description<'a>,
    /// What its rows have in common with those of others.
    common: Option<Common<'a>>,
}

impl<'a> KernelMatrix<'a> {
    /// Describes the matrix of `kernel` over rows `index` of `samples`.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let oblong = Samples::try_from(ndarray::array![[1.0, 2.0]].view())?;
    /// assert!(KernelMatrix::new(&Kernel::rbf(1.0), &oblong, vec![0]).is_ok());
    /// assert!(KernelMatrix::new(&Kernel::Precomputed, &oblong, vec![0]).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a kernel parameter is out of range, a precomputed matrix is not square, or the user's
    /// kernel fails.
    ///
    /// # Panics
    /// If a number in `index` is not a row.
    pub fn new(kernel: &Kernel, samples: &'a Samples, index: Vec<usize>) -> Result<Self> {
        Ok(KernelMatrix {
            description: Description::new(kernel, samples, index)?,
            common: None,
        })
    }

    /// Tells whether rows are computed, and that again rather than copied into memory that may be fresh.
    pub(crate) fn is_cheap(&self) -> bool {
        let Description {
            kernel, samples, ..
        } = &self.description;
        !matches!(kernel, Kernel::User(_)) && !is_worth_a_copy(samples, size_of::<f32>())
    }

    /// Returns how many kernel values have been computed.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert_eq!(KernelMatrix::new(&Kernel::rbf(1.0), &samples, vec![0])?.evaluations(), 0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn evaluations(&self) -> u64 {
        self.description.evaluations()
    }

    /// Returns the number of variables.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// // Several variables may share a sample.
    /// assert_eq!(KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 0])?.len(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.description.len()
    }

    /// Tells whether there are no variables.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(KernelMatrix::new(&Kernel::linear(), &samples, vec![])?.is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns k(x_i, x_i) for every variable.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![1, 0, 1])?;
    /// assert_eq!(matrix.diagonal(), [9.0, 1.0, 9.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn diagonal(&self) -> &[f64] {
        &self.description.profile.diagonal
    }

    /// Returns the matrix K' of the linear kernel of centred rows, with a_i such that
    /// K_ij = K'_ij + a_i + a_j, if the kernel is linear and the squared norm of the centre more than
    /// `far` times the mean squared distance from it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn centred(&self, far: f64) -> Result<Option<(KernelMatrix<'a>, Vec<f64>)>> {
        let Description {
            kernel,
            samples,
            index,
            ..
        } = &self.description;
        if !kernel.is_linear() || !samples.is_packed_dense() || index.is_empty() {
            return Ok(None);
        }
        let center = samples.mean(index);
        let norm: f64 = center.iter().map(|value| value * value).sum();
        let total: f64 = self.diagonal().iter().sum();
        // The mean of squared norms is that of squared distances from the centre, and its own.
        let apart = total / index.len() as f64 - norm;
        if !(norm.is_finite() && norm > far * apart) {
            return Ok(None);
        }
        let offset = |&i: &usize| {
            let mut product = 0.0;
            samples.for_each(i, |column, value| product += value * center[column]);
            product - 0.5 * norm
        };
        let offsets = index.iter().map(offset).collect();
        let profile = kernel.profile_around(Some(center), samples, index)?;
        let matrix = KernelMatrix {
            description: Description::with(kernel, samples, index.clone(), profile),
            common: None,
        };
        Ok(Some((matrix, offsets)))
    }

    /// Describes the matrix of some of the variables.
    pub(crate) fn part(&self, variables: &[usize]) -> KernelMatrix<'a> {
        KernelMatrix {
            description: self.description.part(variables),
            common: None,
        }
    }

    /// Returns the kernel.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.description.kernel
    }

    /// Returns the samples.
    pub(crate) fn samples(&self) -> &'a Samples {
        self.description.samples
    }

    /// Returns the multiplications behind all values, roughly.
    pub(crate) fn work(&self) -> usize {
        let Description {
            kernel, samples, ..
        } = &self.description;
        kernel.work_of_matrix(samples, self.len())
    }

    /// Tells whether the kernel is one that need not be positive semi-definite.
    pub(crate) fn may_be_indefinite(&self) -> bool {
        self.description.kernel.may_be_indefinite()
    }

    /// Tells whether the kernel is known to be positive semi-definite.
    pub(crate) fn is_semidefinite(&self) -> bool {
        self.description.kernel.is_semidefinite()
    }

    /// Returns the estimated absolute error of one value in a row of type T; infinite where T is of no
    /// use.
    pub(crate) fn noise<T: Real>(&self) -> f64 {
        let profile = &self.description.profile;
        let noise = match size_of::<T>() {
            4 => profile.single_noise,
            _ => profile.double_noise,
        };
        // A matrix that is given may have values larger than its diagonal.
        noise.max(T::ROUNDOFF * self.description.largest())
    }

    /// Bounds the errors of the sums over j of factor_j K_ij, for every i, with values computed with this
    /// roundoff.
    pub(crate) fn errors(&self, factors: &[f64], roundoff: f64) -> Vec<f64> {
        let Description { profile, .. } = &self.description;
        let largest = self.description.largest();
        profile.rounding.errors(factors, largest, roundoff)
    }

    /// Bounds the sums over j of |factor_j K_ij|, for every i. Of a matrix that is given only the values
    /// asked for so far are known.
    pub(crate) fn sizes(&self, factors: &[f64]) -> Vec<f64> {
        let Description { profile, .. } = &self.description;
        profile.rounding.sizes(factors, self.description.largest())
    }

    /// Tells whether all values are known to be within bounds, those not computed yet, too.
    pub(crate) fn is_bounded(&self) -> bool {
        self.description.kernel.is_tiled()
    }

    /// Returns (K beta)_i, computed in `f64`, for the variables `at`.
    pub(crate) fn product(&self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        self.source::<f64>().product(beta, at, stop)
    }

    /// Returns K times `count` vectors, which stand one after another, computed in `f64`: row after row
    /// one sum for each vector. No kernel value is kept.
    pub(crate) fn products(&self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        self.source::<f64>().products(vectors, count, stop)
    }

    /// Writes the whole matrix in `f64`, row after row.
    pub(crate) fn write(&self, out: &mut [f64], stop: Stop) -> Polled<()> {
        let all: Vec<u32> = (0..self.len() as u32).collect();
        self.source::<f64>()
            .block(&all, out, self.len().max(1), stop)
    }

    /// Returns what it is made of.
    pub(super) fn description(&self) -> &Description<'a> {
        &self.description
    }

    /// Returns where its rows come from.
    pub(super) fn source<T: Shareable>(&'a self) -> Box<dyn RowSource<T> + 'a> {
        source_of(&self.description, self.common.as_ref())
    }
}

impl<'a> Shared<'a> {
    /// Describes the matrix over the rows of some sets, one set after another.
    pub(crate) fn union(&'a self, sets: &[usize]) -> KernelMatrix<'a> {
        let (description, union) = self.describe(sets);
        KernelMatrix {
            description,
            common: Some(Common::Union(union)),
        }
    }
}

impl<'a> Whole<'a> {
    /// Describes the matrix of some of the variables, which may be named more than once, with rows that
    /// have been gathered.
    pub(crate) fn part(
        &'a self,
        variables: &[usize],
        gathered: Option<Arc<Gathered>>,
    ) -> KernelMatrix<'a> {
        let (description, part) = self.describe(variables);
        KernelMatrix {
            description,
            common: Some(Common::Part(part.with(gathered))),
        }
    }
}
