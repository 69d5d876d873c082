//! Weights: the coefficients of several sums over the same kernel values.
//!
//! Many sums at once are a product of matrices: panels of eight coefficients, one for each sum, are
//! multiplied by a value that is broadcast. Few sums are inner products. Both add up in T, but
//! never more than [`TERMS`] terms before the result goes on in `f64`.

use crate::error::Result;
use crate::simd::{Isa, Real, dispatch, four_dots, inner_product, memory};
use std::ops::Range;

/// Sums of a panel.
const LANES: usize = 8;
/// Up to so many sums are inner products: panels would be mostly empty.
const FEW_SUMS: usize = 3;
/// Terms added up in T.
const TERMS: usize = 32;

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

/// What a segment and the columns of a tile have in common.
struct Part {
    /// The first of its sums.
    first: usize,
    /// Its columns, and where they are in the tile.
    range: Range<usize>,
    within: Range<usize>,
}

impl<T: Real> Weights<T> {
    /// Takes `height` rows of coefficients.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(coefficients: &[f64], height: usize, segments: Vec<Range<usize>>) -> Result<Self> {
        if height <= FEW_SUMS {
            return Self::by_rows(coefficients, height, segments);
        }
        let columns = coefficients.len() / height;
        let mut panels: Vec<[T; LANES]> =
            memory::zeros(height.div_ceil(LANES) * columns, "packed coefficients")?;
        for (sum, row) in coefficients.chunks(columns.max(1)).enumerate() {
            let panel = &mut panels[sum / LANES * columns..];
            for (lanes, &coefficient) in panel.iter_mut().zip(row) {
                lanes[sum % LANES] = T::from_f64(coefficient);
            }
        }
        Ok(Weights {
            coefficients: Coefficients::Panels(panels),
            columns,
            height,
            segments,
        })
    }

    /// The same, for those who want some of the sums only: see [`sum`](Self::sum).
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn by_rows(
        coefficients: &[f64],
        height: usize,
        segments: Vec<Range<usize>>,
    ) -> Result<Self> {
        let rounded = coefficients.iter().map(|&c| T::from_f64(c));
        let rows = memory::collected(rounded, "packed coefficients")?;
        Ok(Weights {
            coefficients: Coefficients::Rows(rows),
            columns: coefficients.len() / height.max(1),
            height,
            segments,
        })
    }

    /// One sum over all columns.
    ///
    /// # Errors
    /// If there is no memory for the coefficients.
    pub fn single(coefficients: &[f64]) -> Result<Self> {
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
        for (number, segment) in self.segments.iter().enumerate() {
            let range = segment.start.max(start)..segment.end.min(start + width);
            if range.is_empty() {
                continue;
            }
            let part = Part {
                first: number * self.height,
                within: range.start - start..range.end - start,
                range,
            };
            match &self.coefficients {
                Coefficients::Rows(rows) => self.add_rows(isa, rows, &part, values, sums),
                // Panels are as wide as a 256-bit vector; code for wider ones was a fifth slower.
                Coefficients::Panels(panels) if values.len() == 1 => {
                    let row = &values[0][part.within.clone()];
                    self.add_panels_of_one(isa.up_to_256_bits(), panels, &part, row, sums);
                }
                Coefficients::Panels(panels) => {
                    self.add_panels(isa.up_to_256_bits(), panels, &part, values, sums);
                }
            }
        }
    }

    /// Adds the sums of a part, coefficients by rows, for four rows of values at a time.
    fn add_rows(&self, isa: Isa, rows: &[T], part: &Part, values: &[&mut [T]], sums: &mut [f64]) {
        for (sum, row) in rows.chunks(self.columns).enumerate() {
            let coefficients = &row[part.range.clone()];
            for (values, sums) in values.chunks(4).zip(sums.chunks_mut(4 * self.sums())) {
                let dots = four_dots(isa, coefficients, some(values, part.within.clone()));
                for (sums, dot) in sums.chunks_mut(self.sums()).zip(dots) {
                    sums[part.first + sum] += dot;
                }
            }
        }
    }

    /// Adds the sums of a part, coefficients in panels, for one row of values.
    fn add_panels_of_one(
        &self,
        isa: Isa,
        panels: &[[T; LANES]],
        part: &Part,
        row: &[T],
        sums: &mut [f64],
    ) {
        let all: Vec<&[[T; LANES]]> = panels.chunks(self.columns).collect();
        for (four, panels) in all.chunks(4).enumerate() {
            let mut parts = [&panels[0][part.range.clone()]; 4];
            for (entry, panel) in parts.iter_mut().zip(panels) {
                *entry = &panel[part.range.clone()];
            }
            let found = four_panels(isa, parts, row);
            let found = found[..panels.len()].as_flattened();
            let at = four * 4 * LANES;
            let sums = &mut sums[part.first..][at..self.height.min(at + 4 * LANES)];
            for (sum, value) in sums.iter_mut().zip(found) {
                *sum += value;
            }
        }
    }

    /// Adds the sums of a part, coefficients in panels, for eight rows of values at a time.
    fn add_panels(
        &self,
        isa: Isa,
        panels: &[[T; LANES]],
        part: &Part,
        values: &[&mut [T]],
        sums: &mut [f64],
    ) {
        for (number, panel) in panels.chunks(self.columns).enumerate() {
            let at = part.first + number * LANES;
            let lanes = LANES.min(self.height - number * LANES);
            let coefficients = &panel[part.range.clone()];
            for (values, sums) in values.chunks(8).zip(sums.chunks_mut(8 * self.sums())) {
                let rows = some(values, part.within.clone());
                let panels = eight_panels(isa, coefficients, rows);
                for (sums, panel) in sums.chunks_mut(self.sums()).zip(panels) {
                    for (sum, value) in sums[at..at + lanes].iter_mut().zip(panel) {
                        *sum += value;
                    }
                }
            }
        }
    }

    /// Returns the sums of given kernel values, `values` holding one row after another.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn apply(&self, values: &mut [T], columns: usize) -> Result<Vec<f64>> {
        let isa = Isa::detect();
        let count = values.len() / columns.max(1) * self.sums();
        let mut sums = memory::zeros(count, "sums of kernel values")?;
        if columns > 0 {
            let rows: Vec<&mut [T]> = values.chunks_mut(columns).collect();
            self.accumulate(isa, 0, &rows, &mut sums);
        }
        Ok(sums)
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
