//! Rows on their way into tiles: centred, rounded to the precision of the tiles, and packed.

use crate::data::Samples;
use crate::error::Result;
use crate::simd::product::squared_norms;
use crate::simd::{Isa, Real, dispatch, memory, parallel};

/// Rows a thread packs at a time, more or less.
const ROWS: usize = 64;
/// Multiplications that take as long as packing one value.
const WORK_PER_VALUE: usize = 8;

/// What an error calls samples that are packed.
pub(super) const PACKED: &str = "a packed copy of the rows";

/// Where rows are seen from. Kernels of distances tell them apart by their norms and inner products, less
/// a centre to keep the norms small, or by their differences. The linear kernel may be that of the
/// centred rows where the coefficients sum to a constant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// What to subtract from every row before it is packed, if the kernel allows it.
    pub center: Option<Vec<f64>>,
    /// Whether distances in f64 are sums of differences between rows as they are. They are then as
    /// exact as the data, at any scale. f32 holds no data that need it.
    pub differences: bool,
}

impl Frame {
    /// Returns what is subtracted from rows in precision T.
    pub fn origin<T>(&self) -> Option<&[f64]> {
        let raw = self.differences && size_of::<T>() == 8;
        self.center.as_deref().filter(|_| !raw)
    }
}

/// Samples, and their frame where it is known.
#[derive(Clone, Copy)]
pub(crate) struct Centred<'a> {
    pub samples: &'a Samples,
    pub frame: Option<&'a Frame>,
}

impl<'a> Centred<'a> {
    /// The samples as they are.
    pub fn not(samples: &'a Samples) -> Self {
        let frame = None;
        Centred { samples, frame }
    }

    /// Returns what is subtracted from rows in f64.
    pub fn origin(&self) -> Option<&'a [f64]> {
        self.frame.and_then(Frame::origin::<f64>)
    }

    /// Packs rows as `[block][feature][height]`, in the frame and rounded to T, with their squared
    /// norms.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn pack<T: Real>(
        &self,
        isa: Isa,
        index: &[usize],
        height: usize,
    ) -> Result<(Vec<T>, Vec<T>)> {
        let dim = self.samples.columns();
        let size = index.len().div_ceil(height) * height * dim;
        let mut packed = memory::zeros(size, PACKED)?;
        let mut norms = memory::zeros(index.len(), PACKED)?;
        if dim == 0 {
            return Ok((packed, norms));
        }
        let origin = self.frame.and_then(Frame::origin::<T>);
        let rows = (ROWS / height).max(1) * height;
        let parts: Vec<_> = packed
            .chunks_mut(rows * dim)
            .zip(index.chunks(rows))
            .zip(norms.chunks_mut(rows))
            .collect();
        let work = index.len() * dim * WORK_PER_VALUE;
        parallel::for_each(parts, work, |buffers: &mut Buffers<T>, part| {
            let ((packed, index), norms) = part;
            buffers.exact.resize(dim, 0.0);
            buffers.rounded.resize(height * dim, T::ZERO);
            buffers.norms.resize(height, T::ZERO);
            let blocks = packed.chunks_mut(height * dim).zip(index.chunks(height));
            for ((block, index), norms) in blocks.zip(norms.chunks_mut(height)) {
                let lines = buffers.rounded.chunks_mut(dim);
                for (&i, line) in index.iter().zip(lines) {
                    self.samples.copy_row(i, &mut buffers.exact);
                    center_and_round(isa, &buffers.exact, origin, line);
                }
                transpose(&buffers.rounded, dim, index.len(), height, block);
                squared_norms(isa, block, &mut buffers.norms);
                norms.copy_from_slice(&buffers.norms[..index.len()]);
            }
        });
        Ok((packed, norms))
    }
}

/// Buffers a thread reuses from block to block.
#[derive(Default)]
struct Buffers<T> {
    exact: Vec<f64>,
    rounded: Vec<T>,
    norms: Vec<T>,
}

/// Writes `block[feature][lane]` from `rows[lane][feature]`.
fn transpose<T: Real>(rows: &[T], dim: usize, count: usize, height: usize, block: &mut [T]) {
    for (lane, row) in rows.chunks(dim).take(count).enumerate() {
        for (entry, &value) in block[lane..].iter_mut().step_by(height).zip(row) {
            *entry = value;
        }
    }
}

dispatch! {
    /// Writes a row less the centre in T.
    fn center_and_round<T: Real>(row: &[f64], center: Option<&[f64]>, out: &mut [T]) = center_and_round_body
}

#[inline(always)]
fn center_and_round_body<T: Real, const FMA: bool>(
    row: &[f64],
    center: Option<&[f64]>,
    out: &mut [T],
) {
    match center {
        None => {
            for (out, &value) in out.iter_mut().zip(row) {
                *out = T::from_f64(value);
            }
        }
        Some(center) => {
            for ((out, &value), &center) in out.iter_mut().zip(row).zip(center) {
                *out = T::from_f64(value - center);
            }
        }
    }
}
