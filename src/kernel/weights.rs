//! Weights: the coefficients of several sums over the same kernel values.
//!
//! Many sums at once are a product of matrices: panels of eight coefficients, one for each sum, are
//! multiplied by a value that is broadcast. Few sums are inner products. Both add up in T, but
//! never more than [`TERMS`] terms before the result goes on in `f64`.

use crate::simd::{Isa, Real, dispatch};
use std::ops::Range;

/// Sums of a panel.
const LANES: usize = 8;
/// Up to so many sums are inner products: panels would be mostly empty.
const FEW_SUMS: usize = 3;
/// Terms added up in T.
const TERMS: usize = 32;
/// Numbers of an inner product handled together.
const WIDE: usize = 16;

/// Coefficients of several sums over the same columns.
///
/// The columns are cut into segments (the support vectors of each class); within a segment every
/// one of `height` sums has a coefficient for each column.
#[derive(Clone, Debug)]
pub(crate) struct Weights<T> {
    coefficients: Coefficients<T>,
    columns: usize,
    height: usize,
    segments: Vec<Range<usize>>,
}

#[derive(Clone, Debug)]
enum Coefficients<T> {
    /// `[sum][column]`
    Rows(Vec<T>),
    /// `[panel][column]`
    Panels(Vec<[T; LANES]>),
}

impl<T: Real> Weights<T> {
    /// Takes `height` rows of coefficients.
    pub fn new(coefficients: &[f64], height: usize, segments: Vec<Range<usize>>) -> Self {
        if height <= FEW_SUMS {
            return Self::by_rows(coefficients, height, segments);
        }
        let columns = coefficients.len() / height;
        let mut panels = vec![[T::ZERO; LANES]; height.div_ceil(LANES) * columns];
        for (sum, row) in coefficients.chunks(columns.max(1)).enumerate() {
            let panel = &mut panels[sum / LANES * columns..];
            for (lanes, &coefficient) in panel.iter_mut().zip(row) {
                lanes[sum % LANES] = T::from_f64(coefficient);
            }
        }
        Weights {
            coefficients: Coefficients::Panels(panels),
            columns,
            height,
            segments,
        }
    }

    /// The same, for those who want some of the sums only: see [`sum`](Self::sum).
    pub fn by_rows(coefficients: &[f64], height: usize, segments: Vec<Range<usize>>) -> Self {
        let rows = coefficients.iter().map(|&c| T::from_f64(c)).collect();
        Weights {
            coefficients: Coefficients::Rows(rows),
            columns: coefficients.len() / height.max(1),
            height,
            segments,
        }
    }

    /// One sum over all columns.
    pub fn single(coefficients: &[f64]) -> Self {
        let all = std::iter::once(0..coefficients.len()).collect();
        Self::by_rows(coefficients, 1, all)
    }

    /// Returns how many sums a row has.
    pub fn sums(&self) -> usize {
        self.height * self.segments.len()
    }

    /// Returns how many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Bounds the rounding error of a sum, as a share of the sum of absolute terms: that of the
    /// coefficients, the products and the sums in T.
    pub fn rounding() -> f64 {
        (TERMS + 8) as f64 * T::ROUNDOFF
    }

    /// Returns one sum over one segment of a row of values, of which there is one per column. The
    /// coefficients have to be there by rows.
    pub fn sum(&self, isa: Isa, segment: usize, sum: usize, values: &[T]) -> f64 {
        let Coefficients::Rows(rows) = &self.coefficients else {
            panic!("coefficients are not by rows");
        };
        let range = self.segments[segment].clone();
        let coefficients = &rows[sum * self.columns..][range.clone()];
        inner_product(isa, coefficients, &values[range])
    }

    /// Adds to `sums` (segment by segment) what columns from `start` on contribute to each row.
    pub(super) fn accumulate(&self, isa: Isa, start: usize, values: &[&mut [T]], sums: &mut [f64]) {
        let Some(width) = values.first().map(|row| row.len()) else {
            return;
        };
        // Panels are as wide as a 256-bit vector; code for wider ones was a fifth slower.
        let isa = match self.coefficients {
            Coefficients::Panels(_) => isa.min(Isa::Avx2),
            Coefficients::Rows(_) => isa,
        };
        for (s, segment) in self.segments.iter().enumerate() {
            let range = segment.start.max(start)..segment.end.min(start + width);
            if range.is_empty() {
                continue;
            }
            let within = range.start - start..range.end - start;
            match &self.coefficients {
                Coefficients::Rows(rows) => {
                    for (sum, row) in rows.chunks(self.columns).enumerate() {
                        let at = s * self.height + sum;
                        let coefficients = &row[range.clone()];
                        for (values, sums) in values.chunks(4).zip(sums.chunks_mut(4 * self.sums()))
                        {
                            let dots = four_dots(isa, coefficients, some(values, within.clone()));
                            for (sums, dot) in sums.chunks_mut(self.sums()).zip(dots) {
                                sums[at] += dot;
                            }
                        }
                    }
                }
                Coefficients::Panels(panels) if values.len() == 1 => {
                    let row = &values[0][within];
                    let all: Vec<&[[T; LANES]]> = panels.chunks(self.columns).collect();
                    for (four, panels) in all.chunks(4).enumerate() {
                        let mut parts = [&panels[0][range.clone()]; 4];
                        for (part, panel) in parts.iter_mut().zip(panels) {
                            *part = &panel[range.clone()];
                        }
                        let found = four_panels(isa, parts, row);
                        let found = found[..panels.len()].as_flattened();
                        let at = four * 4 * LANES;
                        let sums =
                            &mut sums[s * self.height..][at..self.height.min(at + 4 * LANES)];
                        for (sum, value) in sums.iter_mut().zip(found) {
                            *sum += value;
                        }
                    }
                }
                Coefficients::Panels(panels) => {
                    for (p, panel) in panels.chunks(self.columns).enumerate() {
                        let at = s * self.height + p * LANES;
                        let lanes = LANES.min(self.height - p * LANES);
                        let coefficients = &panel[range.clone()];
                        for (values, sums) in values.chunks(8).zip(sums.chunks_mut(8 * self.sums()))
                        {
                            let rows = some(values, within.clone());
                            let panels = eight_panels(isa, coefficients, rows);
                            for (sums, panel) in sums.chunks_mut(self.sums()).zip(panels) {
                                for (sum, value) in sums[at..at + lanes].iter_mut().zip(panel) {
                                    *sum += value;
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the sums of given kernel values, `values` holding one row after another.
    pub fn apply(&self, values: &mut [T], columns: usize) -> Vec<f64> {
        let isa = Isa::detect();
        let mut sums = vec![0.0; values.len() / columns.max(1) * self.sums()];
        if columns > 0 {
            let rows: Vec<&mut [T]> = values.chunks_mut(columns).collect();
            self.accumulate(isa, 0, &rows, &mut sums);
        }
        sums
    }
}

/// The same part of up to N rows; the first stands in for those that are missing.
fn some<'a, T, const N: usize>(rows: &'a [&mut [T]], part: Range<usize>) -> [&'a [T]; N] {
    let mut parts = [&rows[0][part.clone()]; N];
    for (slot, row) in parts.iter_mut().zip(rows) {
        *slot = &row[part.clone()];
    }
    parts
}

dispatch! {
    /// The inner products of a vector with four others.
    fn four_dots<T: Real>(a: &[T], rows: [&[T]; 4]) -> [f64; 4] = four_dots_body
}

dispatch! {
    /// An inner product.
    pub(crate) fn inner_product<T: Real>(a: &[T], row: &[T]) -> f64 = inner_product_body
}

#[inline(always)]
fn four_dots_body<T: Real, const FMA: bool>(a: &[T], rows: [&[T]; 4]) -> [f64; 4] {
    dots::<T, FMA, 4>(a, rows)
}

#[inline(always)]
fn inner_product_body<T: Real, const FMA: bool>(a: &[T], row: &[T]) -> f64 {
    dots::<T, FMA, 1>(a, [row])[0]
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
            let mut lanes = sums[r];
            let mut width = WIDE / 2;
            while width > 0 {
                for lane in 0..width {
                    lanes[lane] += lanes[lane + width];
                }
                width /= 2;
            }
            totals[r] += lanes[0].to_f64();
            for (&a, &value) in rest.iter().zip(chunks[r].1) {
                totals[r] += (a * value).to_f64();
            }
        }
    }
    totals
}

dispatch! {
    /// Eight sums over the values of each of eight rows.
    fn eight_panels<T: Real>(coefficients: &[[T; LANES]], rows: [&[T]; 8]) -> [[f64; LANES]; 8] = panels
}

#[inline(always)]
fn panels<T: Real, const FMA: bool>(
    coefficients: &[[T; LANES]],
    rows: [&[T]; 8],
) -> [[f64; LANES]; 8] {
    if size_of::<T>() == 4 {
        return panel::<T, FMA, 8>(coefficients, rows);
    }
    // As many rows as the registers hold.
    let [a, b, c, d, e, f, g, h] = rows;
    let [a, b, c, d] = panel::<T, FMA, 4>(coefficients, [a, b, c, d]);
    let [e, f, g, h] = panel::<T, FMA, 4>(coefficients, [e, f, g, h]);
    [a, b, c, d, e, f, g, h]
}

#[inline(always)]
fn panel<T: Real, const FMA: bool, const N: usize>(
    coefficients: &[[T; LANES]],
    rows: [&[T]; N],
) -> [[f64; LANES]; N] {
    let mut totals = [[0.0; LANES]; N];
    for start in (0..coefficients.len()).step_by(TERMS) {
        let end = coefficients.len().min(start + TERMS);
        let coefficients = &coefficients[start..end];
        let rows = rows.map(|row| &row[start..end]);
        let mut sums = [[T::ZERO; LANES]; N];
        for k in 0..coefficients.len() {
            for r in 0..N {
                let value = rows[r][k];
                for lane in 0..LANES {
                    sums[r][lane] = coefficients[k][lane].multiply_add::<FMA>(value, sums[r][lane]);
                }
            }
        }
        for r in 0..N {
            for lane in 0..LANES {
                totals[r][lane] += sums[r][lane].to_f64();
            }
        }
    }
    totals
}

dispatch! {
    /// Four panels of sums over the values of one row, each as [`eight_panels`] adds it up.
    fn four_panels<T: Real>(coefficients: [&[[T; LANES]]; 4], row: &[T]) -> [[f64; LANES]; 4] = four_panels_body
}

#[inline(always)]
fn four_panels_body<T: Real, const FMA: bool>(
    coefficients: [&[[T; LANES]]; 4],
    row: &[T],
) -> [[f64; LANES]; 4] {
    let mut totals = [[0.0; LANES]; 4];
    for start in (0..row.len()).step_by(TERMS) {
        let end = row.len().min(start + TERMS);
        let coefficients = coefficients.map(|panel| &panel[start..end]);
        let mut sums = [[T::ZERO; LANES]; 4];
        for (k, &value) in row[start..end].iter().enumerate() {
            for p in 0..4 {
                let panel = &coefficients[p][k];
                for lane in 0..LANES {
                    sums[p][lane] = panel[lane].multiply_add::<FMA>(value, sums[p][lane]);
                }
            }
        }
        for p in 0..4 {
            for lane in 0..LANES {
                totals[p][lane] += sums[p][lane].to_f64();
            }
        }
    }
    totals
}
