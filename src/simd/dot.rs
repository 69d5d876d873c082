//! Inner products, and multiples of vectors added to a vector.

use super::isa::dispatch;
use super::{Isa, Real};

/// Numbers of an inner product handled together.
pub(crate) const WIDE: usize = 16;
/// Terms of each of these added up in T before the sum goes on in f64.
const TERMS: usize = 32;

dispatch! {
    /// Returns an inner product, added up in T a few terms at a time and in f64 beyond.
    pub(crate) fn inner_product<T: Real>(a: &[T], b: &[T]) -> f64 = inner_product_body
}

dispatch! {
    /// Returns the inner products of a vector with four others.
    pub(crate) fn four_dots<T: Real>(a: &[T], rows: [&[T]; 4]) -> [f64; 4] = four_dots_body
}

#[inline(always)]
fn four_dots_body<T: Real, const FMA: bool>(a: &[T], rows: [&[T]; 4]) -> [f64; 4] {
    dots::<T, FMA, 4>(a, rows)
}

#[inline(always)]
fn inner_product_body<T: Real, const FMA: bool>(a: &[T], b: &[T]) -> f64 {
    dots::<T, FMA, 1>(a, [b])[0]
}

/// Adds up sums that were made side by side, the halves first.
///
/// A function of its own, because the compiler would build the loop before it around these last
/// additions: two numbers at a time, or one.
#[inline(never)]
pub(crate) fn added_up<T: Real>(lanes: &[T; WIDE]) -> T {
    let mut lanes = *lanes;
    let mut width = WIDE / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn dots<T: Real, const FMA: bool, const N: usize>(a: &[T], rows: [&[T]; N]) -> [f64; N] {
    let mut totals = [0.0; N];
    for start in (0..a.len()).step_by(TERMS * WIDE) {
        let end = a.len().min(start + TERMS * WIDE);
        let (a, rest) = a[start..end].as_chunks::<WIDE>();
        let chunks = rows.map(|row| row[start..end].as_chunks::<WIDE>());
        let mut sums = [[T::ZERO; WIDE]; N];
        for (k, a) in a.iter().enumerate() {
            for r in 0..N {
                let row = &chunks[r].0[k];
                for lane in 0..WIDE {
                    sums[r][lane] = a[lane].multiply_add::<FMA>(row[lane], sums[r][lane]);
                }
            }
        }
        for r in 0..N {
            if !a.is_empty() {
                totals[r] += added_up(&sums[r]).to_f64();
            }
            for (&a, &value) in rest.iter().zip(chunks[r].1) {
                totals[r] += (a * value).to_f64();
            }
        }
    }
    totals
}

dispatch! {
    /// Returns the inner products of a vector in f64 with four rows, added up in f64.
    pub(crate) fn value_dots<T: Real>(vector: &[f64], rows: [&[T]; 4]) -> [f64; 4] = value_dots_body
}

#[inline(always)]
fn value_dots_body<T: Real, const FMA: bool>(vector: &[f64], rows: [&[T]; 4]) -> [f64; 4] {
    let (chunks, rest) = vector.as_chunks::<WIDE>();
    let rows = rows.map(|row| row[..vector.len()].as_chunks::<WIDE>());
    let mut sums = [[0.0f64; WIDE]; 4];
    for (k, chunk) in chunks.iter().enumerate() {
        for r in 0..4 {
            let row = &rows[r].0[k];
            for lane in 0..WIDE {
                let value = row[lane].to_f64();
                sums[r][lane] = value.multiply_add::<FMA>(chunk[lane], sums[r][lane]);
            }
        }
    }
    let mut totals = [0.0; 4];
    for r in 0..4 {
        totals[r] = added_up(&sums[r]);
        for (&a, &value) in rest.iter().zip(rows[r].1) {
            totals[r] += a * value.to_f64();
        }
    }
    totals
}

dispatch! {
    /// Adds a multiple of a row to a vector of the same precision.
    pub(crate) fn add_multiple<T: Real>(factor: T, row: &[T], sums: &mut [T]) = add_multiple_body
}

#[inline(always)]
fn add_multiple_body<T: Real, const FMA: bool>(factor: T, row: &[T], sums: &mut [T]) {
    for (sum, &value) in sums.iter_mut().zip(row) {
        *sum = factor.multiply_add::<FMA>(value, *sum);
    }
}

/// Adds multiples of rows to a vector in f64, four in one pass over it.
pub(crate) fn add_multiples<T: Real>(isa: Isa, factors: &[f64], rows: &[&[T]], sums: &mut [f64]) {
    let (four_rows, rest) = rows.as_chunks::<4>();
    let (four_factors, rest_factors) = factors.as_chunks::<4>();
    for (&factors, &rows) in four_factors.iter().zip(four_rows) {
        add_four(isa, factors, rows, sums);
    }
    for (&factor, &row) in rest_factors.iter().zip(rest) {
        add_four(isa, [factor, 0.0, 0.0, 0.0], [row; 4], sums);
    }
}

dispatch! {
    fn add_four<T: Real>(factors: [f64; 4], rows: [&[T]; 4], sums: &mut [f64]) = add_four_body
}

#[inline(always)]
fn add_four_body<T: Real, const FMA: bool>(factors: [f64; 4], rows: [&[T]; 4], sums: &mut [f64]) {
    let n = sums.len();
    let [a, b, c, d] = rows.map(|row| &row[..n]);
    for k in 0..n {
        let first = a[k].to_f64().multiply_add::<FMA>(factors[0], sums[k]);
        let second = b[k].to_f64().multiply_add::<FMA>(factors[1], first);
        let third = c[k].to_f64().multiply_add::<FMA>(factors[2], second);
        sums[k] = d[k].to_f64().multiply_add::<FMA>(factors[3], third);
    }
}
