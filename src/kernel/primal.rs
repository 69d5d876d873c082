//! The linear kernel through weight vectors: a sum of multiples of inner products is one inner
//! product, with the sum of the multiples.

use super::centred::Centred;
use crate::error::{Polled, Stop};
use crate::simd::{Isa, inner_product, parallel};

/// Rows a thread takes at a time.
const ROWS: usize = 256;
/// Multiplications that take as long as reading one value of a row and multiplying it.
const WORK_PER_VALUE: usize = 2;

/// Returns the sum of multiples of rows, in their frame.
pub(crate) fn weight_vector(rows: Centred, terms: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
    let samples = rows.samples;
    let mut weights = vec![0.0; samples.columns()];
    let Some(origin) = rows.origin() else {
        for (row, factor) in terms {
            samples.for_each(row, |column, value| weights[column] += factor * value);
        }
        return weights;
    };
    let mut buffer = vec![0.0; samples.columns()];
    for (row, factor) in terms {
        samples.copy_row(row, &mut buffer);
        for ((weight, value), origin) in weights.iter_mut().zip(&buffer).zip(origin) {
            *weight += factor * (value - origin);
        }
    }
    weights
}

/// Adds the inner products of rows, in their frame, with a weight vector to `out`.
pub(crate) fn add_products(
    source: Centred,
    weights: &[f64],
    rows: &[usize],
    out: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let (isa, samples, origin) = (Isa::detect(), source.samples, source.origin());
    let work = rows.len() * weights.len() * WORK_PER_VALUE;
    let parts: Vec<_> = rows.chunks(ROWS).zip(out.chunks_mut(ROWS)).collect();
    parallel::try_for_each(parts, work, stop, |buffer: &mut Vec<f64>, (rows, out)| {
        buffer.resize(weights.len(), 0.0);
        for (&row, out) in rows.iter().zip(out) {
            *out += if samples.is_sparse() && origin.is_none() {
                let mut sum = 0.0;
                samples.for_each(row, |column, value| sum += weights[column] * value);
                sum
            } else {
                samples.copy_row(row, buffer);
                for (value, origin) in buffer.iter_mut().zip(origin.unwrap_or_default()) {
                    *value -= origin;
                }
                inner_product(isa, buffer, weights)
            };
        }
        Ok(())
    })
}
