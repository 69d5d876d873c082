//! Where packed rows come from: the samples as they are, or prepared once for many problems.

use crate::data::Samples;
use crate::simd::Real;
use rayon::prelude::*;

/// Below this many values threads cost more than they bring.
const SERIAL_VALUES: usize = 1 << 14;

/// Dense samples centred and rounded to T, with their squared norms: what packing a row costs most.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    /// Row after row.
    values: Vec<T>,
    norms: Vec<T>,
}

impl<T: Real> Prepared<T> {
    /// Prepares all rows of dense samples.
    pub fn new(samples: &Samples, center: Option<&[f64]>) -> Self {
        let all: Vec<usize> = (0..samples.rows()).collect();
        let (values, norms) = Source {
            center,
            ..Source::of(samples)
        }
        .dense_rows(&all, 1);
        Prepared { values, norms }
    }
}

/// Samples to be packed, with what is subtracted from dense ones.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a, T> {
    pub samples: &'a Samples,
    pub center: Option<&'a [f64]>,
    /// The same samples with the same centre, prepared.
    pub prepared: Option<&'a Prepared<T>>,
}

impl<'a, T: Real> Source<'a, T> {
    /// The samples as they are.
    pub fn of(samples: &'a Samples) -> Self {
        Source {
            samples,
            center: None,
            prepared: None,
        }
    }

    /// Packs rows as `[block][feature][height]`, centred and rounded to T, with their squared norms.
    pub fn dense_rows(&self, index: &[usize], height: usize) -> (Vec<T>, Vec<T>) {
        let dim = self.samples.columns();
        let mut packed = vec![T::ZERO; index.len().div_ceil(height) * height * dim];
        let mut norms = vec![T::ZERO; index.len()];
        if dim == 0 {
            return (packed, norms);
        }
        let pack = |((block, index), norms): ((&mut [T], &[usize]), &mut [T])| match self.prepared {
            Some(prepared) => {
                for (lane, (&i, norm)) in index.iter().zip(norms).enumerate() {
                    *norm = prepared.norms[i];
                    let row = &prepared.values[i * dim..][..dim];
                    for (entry, &value) in block[lane..].iter_mut().step_by(height).zip(row) {
                        *entry = value;
                    }
                }
            }
            None => {
                let mut row = vec![0.0; dim];
                for (lane, (&i, norm)) in index.iter().zip(norms).enumerate() {
                    self.samples.copy_row(i, &mut row);
                    let mut sum = 0.0;
                    for (feature, &value) in row.iter().enumerate() {
                        let center = self.center.map_or(0.0, |center| center[feature]);
                        let value = T::from_f64(value - center);
                        sum += value.to_f64() * value.to_f64();
                        block[feature * height + lane] = value;
                    }
                    *norm = T::from_f64(sum);
                }
            }
        };
        let pack_all = |((packed, index), norms): ((&mut [T], &[usize]), &mut [T])| {
            let blocks = packed.chunks_mut(height * dim).zip(index.chunks(height));
            blocks.zip(norms.chunks_mut(height)).for_each(pack);
        };
        if packed.len() < SERIAL_VALUES {
            pack_all(((&mut packed, index), &mut norms));
        } else {
            // Several blocks at a time: of height 1 there are as many as rows.
            let rows = (64 / height).max(1) * height;
            packed
                .par_chunks_mut(rows * dim)
                .zip(index.par_chunks(rows))
                .zip(norms.par_chunks_mut(rows))
                .for_each(pack_all);
        }
        (packed, norms)
    }
}
