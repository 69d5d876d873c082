//! Measures of a group of sparse rows with sparse columns: inner products and distances.

use super::sparse::{SPARSE_GROUP, Sparse};
use crate::simd::interactions::Polynomials;
use crate::simd::measure::{Measure, Term, with_term};
use crate::simd::{Isa, Real, dispatch};
use std::ops::Range;

/// Columns whose values are computed before they are written: a cache line of f32 for every row. Values of
/// one column alone, each to another row, took three times as long.
const BATCH: usize = 16;

/// A group of rows, scattered: what is read for every entry of a column.
#[derive(Default)]
pub(super) struct Scattered<T> {
    /// `[feature][SPARSE_GROUP]`, zero where a row has no entry.
    values: Vec<T>,
    /// The features of which some row has an entry, and for each feature whether it is one.
    features: Vec<u32>,
    is_one: Vec<bool>,
    /// A column, scattered too while it is compared by differences.
    column: Vec<T>,
}

impl<T: Real> Scattered<T> {
    /// Takes the rows from `first` on, `count` of them.
    fn take(&mut self, rows: &Sparse<T>, first: usize, count: usize, dim: usize) {
        self.values.resize(dim * SPARSE_GROUP, T::ZERO);
        self.is_one.resize(dim, false);
        self.column.resize(dim, T::ZERO);
        for lane in 0..count {
            for &(feature, value) in rows.row(first + lane) {
                self.values[feature as usize * SPARSE_GROUP + lane] = value;
                if !std::mem::replace(&mut self.is_one[feature as usize], true) {
                    self.features.push(feature);
                }
            }
        }
    }

    /// Makes all values zero again.
    fn clear(&mut self) {
        for feature in self.features.drain(..) {
            let feature = feature as usize;
            self.values[feature * SPARSE_GROUP..][..SPARSE_GROUP].fill(T::ZERO);
            self.is_one[feature] = false;
        }
    }

    /// Writes a measure of the rows from `first` on with the columns from `column` on, as many as `out`
    /// holds; sums over both from differences if that is asked for.
    pub fn measure(
        &mut self,
        isa: Isa,
        (rows, first): (&Sparse<T>, usize),
        columns: (&Sparse<T>, usize),
        dim: usize,
        out: &mut [&mut [T]],
        (measure, differences): (Measure, bool),
    ) {
        self.take(rows, first, out.len(), dim);
        match measure {
            Measure::Product | Measure::Minimum => {
                products(isa, &self.values, columns, out, measure);
            }
            Measure::Interactions { gamma, degree } => {
                self.interactions(columns, out, gamma, degree);
            }
            _ if !differences && measure != Measure::Square => {
                let alone = alone(isa, rows, first, out.len(), measure);
                distances(isa, &self.values, &alone, columns, out, measure);
            }
            _ => {
                for at in 0..out[0].len() {
                    let entries = columns.0.row(columns.1 + at);
                    let sums = self.differences(isa, entries, measure);
                    write(out, at, &sums);
                }
            }
        }
        self.clear();
    }

    /// Adds up the terms with a column over the features of either.
    fn differences(
        &mut self,
        isa: Isa,
        entries: &[(u32, T)],
        measure: Measure,
    ) -> [T; SPARSE_GROUP] {
        for &(feature, value) in entries {
            self.column[feature as usize] = value;
        }
        let (values, column) = (&self.values, &self.column);
        let mut sums = differences(isa, values, &self.features, column, measure);
        let others = others(isa, entries, &self.is_one, measure);
        for &(feature, _) in entries {
            self.column[feature as usize] = T::ZERO;
        }
        sums.iter_mut().for_each(|sum| *sum += others);
        sums
    }

    /// Writes the interactions of the rows with columns. Features of neither are equal, and only their
    /// number matters. In f64, where sums of ones are exact: rows of other groups share no features.
    fn interactions(
        &mut self,
        (columns, first): (&Sparse<T>, usize),
        out: &mut [&mut [T]],
        gamma: f64,
        degree: u32,
    ) {
        let dim = self.column.len();
        for at in 0..out[0].len() {
            let entries = columns.row(first + at);
            let only = |&&(feature, _): &&(u32, T)| !self.is_one[feature as usize];
            let others: Vec<u32> = entries.iter().filter(only).map(|entry| entry.0).collect();
            for &(feature, value) in entries {
                self.column[feature as usize] = value;
            }
            let mut sums = Polynomials::<f64, SPARSE_GROUP>::new(degree as usize);
            for &feature in self.features.iter().chain(&others) {
                let feature = feature as usize;
                let rows = &self.values[feature * SPARSE_GROUP..][..SPARSE_GROUP];
                let x = std::array::from_fn(|lane| rows[lane].to_f64());
                let z = [self.column[feature].to_f64(); SPARSE_GROUP];
                sums.extend::<false>(&x, &z, -gamma);
            }
            let values = sums.highest_with_ones(dim - self.features.len() - others.len());
            write(out, at, &values.map(T::from_f64));
            for &(feature, _) in entries {
                self.column[feature as usize] = T::ZERO;
            }
        }
    }
}

/// Writes the values of rows with one column.
#[inline(always)]
fn write<T: Real>(out: &mut [&mut [T]], column: usize, values: &[T; SPARSE_GROUP]) {
    for (row, &value) in out.iter_mut().zip(values) {
        row[column] = value;
    }
}

dispatch! {
    /// Writes a measure of scattered rows with columns whose terms vanish where the column does.
    fn products<T: Real>(
        scattered: &[T], columns: (&Sparse<T>, usize), out: &mut [&mut [T]], measure: Measure
    ) = products_body
}

#[inline(always)]
fn products_body<T: Real, const FMA: bool>(
    scattered: &[T],
    (columns, first): (&Sparse<T>, usize),
    out: &mut [&mut [T]],
    measure: Measure,
) {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let mut batch = [[T::ZERO; SPARSE_GROUP]; BATCH];
    with_term!(measure, term => for columns_of_batch in batches(out[0].len()) {
        for (values, column) in batch.iter_mut().zip(columns_of_batch.clone()) {
            let mut sums = [T::ZERO; SPARSE_GROUP];
            for &(feature, value) in columns.row(first + column) {
                let row = &scattered[feature as usize];
                for lane in 0..SPARSE_GROUP {
                    sums[lane] = term.add(row[lane], value, sums[lane]);
                }
            }
            *values = sums;
        }
        write_batch(out, columns_of_batch, &batch);
    });
}

/// Returns the columns that are computed before they are written.
fn batches(width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..width)
        .step_by(BATCH)
        .map(move |start| start..width.min(start + BATCH))
}

/// Writes the values of rows with columns.
#[inline(always)]
fn write_batch<T: Real>(
    out: &mut [&mut [T]],
    columns: Range<usize>,
    batch: &[[T; SPARSE_GROUP]; BATCH],
) {
    for (lane, row) in out.iter_mut().take(SPARSE_GROUP).enumerate() {
        for (value, values) in row[columns.clone()].iter_mut().zip(batch) {
            *value = values[lane];
        }
    }
}

dispatch! {
    /// Returns the measures of rows with a column that is zero.
    fn alone<T: Real>(
        rows: &Sparse<T>, first: usize, count: usize, measure: Measure
    ) -> [T; SPARSE_GROUP] = alone_body
}

#[inline(always)]
fn alone_body<T: Real, const FMA: bool>(
    rows: &Sparse<T>,
    first: usize,
    count: usize,
    measure: Measure,
) -> [T; SPARSE_GROUP] {
    let mut sums = [T::ZERO; SPARSE_GROUP];
    with_term!(measure, term => for (lane, sum) in sums.iter_mut().take(count).enumerate() {
        for &(_, value) in rows.row(first + lane) {
            *sum = term.add(value, T::ZERO, *sum);
        }
    });
    sums
}

dispatch! {
    /// Writes a measure of scattered rows with columns, whose terms do not vanish where the column does.
    fn distances<T: Real>(
        scattered: &[T], alone: &[T; SPARSE_GROUP], columns: (&Sparse<T>, usize),
        out: &mut [&mut [T]], measure: Measure
    ) = distances_body
}

#[inline(always)]
fn distances_body<T: Real, const FMA: bool>(
    scattered: &[T],
    alone: &[T; SPARSE_GROUP],
    (columns, first): (&Sparse<T>, usize),
    out: &mut [&mut [T]],
    measure: Measure,
) {
    // |x - z|_1 = sum over the entries of z of |x_k - z_k|, and |x|_1 less what it has there. The two
    // are added up alike, so that nothing is left of them where x = z.
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let mut batch = [[T::ZERO; SPARSE_GROUP]; BATCH];
    with_term!(measure, term => for columns_of_batch in batches(out[0].len()) {
        for (values, column) in batch.iter_mut().zip(columns_of_batch.clone()) {
            let (mut apart, mut there) = ([T::ZERO; SPARSE_GROUP], [T::ZERO; SPARSE_GROUP]);
            for &(feature, value) in columns.row(first + column) {
                let row = &scattered[feature as usize];
                for lane in 0..SPARSE_GROUP {
                    apart[lane] = term.add(row[lane], value, apart[lane]);
                    there[lane] = term.add(row[lane], T::ZERO, there[lane]);
                }
            }
            for lane in 0..SPARSE_GROUP {
                apart[lane] += (alone[lane] - there[lane]).larger(T::ZERO);
            }
            *values = apart;
        }
        write_batch(out, columns_of_batch, &batch);
    });
}

dispatch! {
    /// Adds up the terms of scattered rows with a scattered column over the features of the rows.
    fn differences<T: Real>(
        scattered: &[T], features: &[u32], column: &[T], measure: Measure
    ) -> [T; SPARSE_GROUP] = differences_body
}

#[inline(always)]
fn differences_body<T: Real, const FMA: bool>(
    scattered: &[T],
    features: &[u32],
    column: &[T],
    measure: Measure,
) -> [T; SPARSE_GROUP] {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let mut sums = [T::ZERO; SPARSE_GROUP];
    with_term!(measure, term => for &feature in features {
        let (row, value) = (&scattered[feature as usize], column[feature as usize]);
        for lane in 0..SPARSE_GROUP {
            sums[lane] = term.add(row[lane], value, sums[lane]);
        }
    });
    sums
}

dispatch! {
    /// Adds up the terms of a column with rows that are zero, over its features that are not marked.
    fn others<T: Real>(entries: &[(u32, T)], marked: &[bool], measure: Measure) -> T = others_body
}

#[inline(always)]
fn others_body<T: Real, const FMA: bool>(
    entries: &[(u32, T)],
    marked: &[bool],
    measure: Measure,
) -> T {
    let mut sum = T::ZERO;
    with_term!(measure, term => for &(feature, value) in entries {
        if !marked[feature as usize] {
            sum = term.add(T::ZERO, value, sum);
        }
    });
    sum
}
