//! The linear kernel through weight vectors: a sum of multiples of inner products is one inner
//! product, with the sum of the multiples.

use super::weights::inner_product;
use crate::data::Samples;
use crate::simd::Isa;
use rayon::prelude::*;

/// Rows a thread takes at a time.
const ROWS: usize = 256;
/// Below this many multiplications threads cost more than they bring.
const SERIAL_WORK: usize = 1 << 16;

/// Returns the sum of multiples of rows.
pub(crate) fn weight_vector(
    samples: &Samples,
    terms: impl Iterator<Item = (usize, f64)>,
) -> Vec<f64> {
    let mut weights = vec![0.0; samples.columns()];
    for (row, factor) in terms {
        samples.for_each(row, |column, value| weights[column] += factor * value);
    }
    weights
}

/// Adds the inner products of rows with a weight vector to `out`. Returns false if `stop` said so
/// before the end.
pub(crate) fn add_products(
    samples: &Samples,
    weights: &[f64],
    rows: &[usize],
    out: &mut [f64],
    stop: &(dyn Fn() -> bool + Sync),
) -> bool {
    let isa = Isa::detect();
    let add = |buffer: &mut Vec<f64>, (rows, out): (&[usize], &mut [f64])| {
        if stop() {
            return false;
        }
        buffer.resize(weights.len(), 0.0);
        for (&row, out) in rows.iter().zip(out) {
            *out += if samples.is_sparse() {
                let mut sum = 0.0;
                samples.for_each(row, |column, value| sum += weights[column] * value);
                sum
            } else {
                samples.copy_row(row, buffer);
                inner_product(isa, buffer, weights)
            };
        }
        true
    };
    if rows.len() * weights.len() < SERIAL_WORK {
        let mut buffer = Vec::new();
        let mut parts = rows.chunks(ROWS).zip(out.chunks_mut(ROWS));
        parts.all(|part| add(&mut buffer, part))
    } else {
        rows.par_chunks(ROWS)
            .zip(out.par_chunks_mut(ROWS))
            .map_init(Vec::new, add)
            .reduce(|| true, |a, b| a && b)
    }
}
