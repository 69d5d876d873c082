//! Columns and Groups: samples packed as the columns and as the rows of kernel tiles.
//!
//! The columns (training samples during a fit, support vectors during a prediction) are packed
//! once: dense ones into panels of a few samples, feature by feature, so that the product loop
//! reads contiguous vectors; sparse ones stay CSR, unless they are hardly sparse. The rows asked
//! for are packed per call, in groups as tall as the registers allow.

use super::centred::{Centred, Frame};
use super::function::Kernel;
use super::lengths::Lengths;
use super::rounding::Row;
use super::sparse::Sparse;
use super::underflow::TINY;
use crate::data::Samples;
use crate::error::Result;
use crate::simd::measure::Measure;
use crate::simd::product::{GROUP, chains, panel};
use crate::simd::{Isa, Real};

/// Tiles begin at multiples of this many columns, the widest panel.
pub(crate) const PANEL: usize = 32;

/// Samples packed as the columns of tiles.
#[derive(Debug)]
pub(crate) struct Columns<T> {
    pub(super) kernel: Kernel,
    pub(super) isa: Isa,
    pub(super) store: Store<T>,
    /// Squared norms of the packed (rounded, centred) samples, padded to whole panels.
    pub(super) norms: Vec<T>,
    /// What the parts of the kernel are computed from.
    pub(super) measures: Vec<Measure>,
    /// What normalised parts of the kernel divide by.
    pub(super) lengths: Vec<Lengths<T>>,
    largest_norm: f64,
    /// Whether values in f32 are as exact as their bounds say.
    fits_single: bool,
    frame: Frame,
    len: usize,
    pub(super) dim: usize,
}

#[derive(Debug)]
pub(super) enum Store<T> {
    /// `[panel][feature][panel()]`
    Panels(Vec<T>),
    Sparse(Sparse<T>),
}

/// Rows in a frame that are packed for an instruction set, as the columns they meet.
#[derive(Clone, Copy)]
pub(super) struct Packing<'a> {
    pub isa: Isa,
    pub samples: &'a Samples,
    pub index: &'a [usize],
    pub frame: &'a Frame,
    pub dense: bool,
}

/// Samples packed as the rows of tiles.
pub(crate) struct Groups<T> {
    pub(super) store: GroupStore<T>,
    pub(super) norms: Vec<T>,
    pub(super) lengths: Vec<Lengths<T>>,
}

pub(super) enum GroupStore<T> {
    /// `[group][feature][GROUP]`
    Dense(Vec<T>),
    Sparse(Sparse<T>),
}

/// Bounds of kernel values and of their errors, both absolute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub value: f64,
    /// Of roundings, which are taken to be independent.
    pub error: f64,
    /// What is lost to underflow in f32.
    pub loss: f64,
}

impl<T: Real> Columns<T> {
    /// Packs rows `index` of the samples as columns. Without a frame they get their own.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(kernel: &Kernel, rows: Centred, index: &[usize]) -> Result<Self> {
        Self::for_isa(Isa::detect(), kernel, rows, index)
    }

    /// Packs rows as columns for loops of an instruction set.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn for_isa(isa: Isa, kernel: &Kernel, rows: Centred, index: &[usize]) -> Result<Self> {
        let samples = rows.samples;
        let dense = samples.is_packed_dense();
        let packing = |frame| Packing {
            isa,
            samples,
            index,
            frame,
            dense,
        };
        if let Some(frame) = rows.frame {
            return Self::in_frame(kernel, &packing(frame));
        }
        let mut frame = Frame::default();
        if kernel.is_translation_invariant() && dense {
            frame.center = Some(samples.mean(index));
        }
        let columns = Self::in_frame(kernel, &packing(&frame))?;
        let (largest, width) = (columns.largest_norm, samples.columns() as f64);
        let row = Row {
            squares: largest,
            absolutes: (width * largest).sqrt(),
            terms: if dense { chains(columns.dim) } else { width },
            columns: columns.dim,
            sparse: !dense,
        };
        if !kernel.wants_differences(&row) {
            return Ok(columns);
        }
        let frame = Frame {
            differences: true,
            ..columns.frame
        };
        Self::in_frame(kernel, &packing(&frame))
    }

    /// Packs rows as columns.
    ///
    /// # Errors
    /// If the kernel is not defined for one of them, or there is no memory.
    pub(super) fn in_frame(kernel: &Kernel, packing: &Packing) -> Result<Self> {
        let &Packing {
            isa,
            samples,
            index,
            frame,
            dense,
        } = packing;
        kernel.check_rows(samples, index)?;
        let (store, mut norms) = if dense {
            let rows = Centred {
                samples,
                frame: Some(frame),
            };
            let (panels, norms) = rows.pack(isa, index, panel::<T>())?;
            (Store::Panels(panels), norms)
        } else {
            let (sparse, norms) = Sparse::pack(isa, samples, index)?;
            (Store::Sparse(sparse), norms)
        };
        let largest = |max: f64, norm: &T| match norm.to_f64() {
            // Overflow may end in either.
            norm if norm.is_finite() => max.max(norm),
            _ => f64::INFINITY,
        };
        let largest_norm = norms.iter().fold(0.0, largest);
        norms.resize(index.len().next_multiple_of(PANEL), T::ZERO);
        let lengths = Self::lengths(kernel, packing)?;
        let center = frame.center.as_deref();
        let fits = |&i: &usize| kernel.fits_row(&Row::of(samples, i, center));
        Ok(Columns {
            kernel: kernel.clone(),
            isa,
            store,
            norms,
            measures: kernel.measures(frame.differences && size_of::<T>() == 8),
            fits_single: lengths.is_empty() || kernel.fits_single() && index.iter().all(fits),
            lengths,
            largest_norm,
            frame: frame.clone(),
            len: index.len(),
            dim: samples.columns(),
        })
    }

    /// Tells whether distances are sums of differences.
    pub(super) fn has_differences(&self) -> bool {
        self.frame.differences && size_of::<T>() == 8
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the instruction set its loops run on.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Bounds the kernel values of a row of `samples`, and estimates their absolute error: that of
    /// the arithmetic in T and that of rounding the data to T. The errors of a long sum are taken
    /// to be independent, so that figure is a matter of probability, not a strict bound.
    pub fn bounds(&self, samples: &Samples, row: usize) -> Bounds {
        let center = self.frame.center.as_deref();
        let row = Row::of(samples, row, center);
        let fits = self.fits_single && self.kernel.fits_row(&row);
        if self.frame.differences || !fits {
            // In f64 nothing asks for bounds, and f32 holds no such data.
            return Bounds {
                value: f64::INFINITY,
                error: f64::INFINITY,
                loss: f64::INFINITY,
            };
        }
        let norm = row.squares;
        // Values of a Gaussian with rows much further out are too small to have errors of size: the
        // largest of b^2 exp(-gamma (a - b)^2) is below (a + 1 / sqrt(gamma))^2.
        let reach = match self.kernel {
            Kernel::Rbf { gamma } => (norm.sqrt() + gamma.sqrt().recip()).powi(2),
            _ => f64::INFINITY,
        };
        // Squares may have underflowed.
        let norm = norm.max((self.largest_norm + TINY).min(reach));
        let largest = self.kernel.largest_value(norm, self.dim);
        // Roundings of a sum of d terms add up to sqrt(d), not d, but for a factor.
        let terms = 4.0 + (self.dim as f64).sqrt();
        Bounds {
            value: largest,
            error: 2.0 * terms * T::ROUNDOFF * self.kernel.roundings(norm) * largest,
            loss: self.kernel.loss(norm, self.dim),
        }
    }

    /// Packs rows to meet these columns.
    ///
    /// # Errors
    /// If the kernel is not defined for one of them, or there is no memory.
    pub fn pack_rows(&self, samples: &Samples, rows: &[usize]) -> Result<Groups<T>> {
        self.kernel.check_rows(samples, rows)?;
        let packing = Packing {
            isa: self.isa,
            samples,
            index: rows,
            frame: &self.frame,
            dense: matches!(self.store, Store::Panels(_)),
        };
        let (store, norms) = match packing.dense {
            true => {
                let source = Centred {
                    samples,
                    frame: Some(&self.frame),
                };
                let (groups, norms) = source.pack(self.isa, rows, GROUP)?;
                (GroupStore::Dense(groups), norms)
            }
            false => {
                let (sparse, norms) = Sparse::pack(self.isa, samples, rows)?;
                (GroupStore::Sparse(sparse), norms)
            }
        };
        let lengths = Self::lengths(&self.kernel, &packing)?;
        Ok(Groups {
            store,
            norms,
            lengths,
        })
    }

    /// Returns the multiplications behind one value, roughly.
    pub(super) fn work_per_value(&self) -> usize {
        match &self.store {
            Store::Panels(_) => self.dim + 4,
            Store::Sparse(sparse) => sparse.entries.len() / self.len.max(1) + 4,
        }
    }
}
