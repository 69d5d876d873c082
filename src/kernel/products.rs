//! Measures of a group of sparse rows with sparse columns: inner products and distances.

use super::sparse::{SPARSE_GROUP, Sparse};
use crate::simd::product::Measure;
use crate::simd::{Isa, Real, dispatch};

/// A group of rows, scattered: what is read for every entry of a column.
#[derive(Default)]
pub(super) struct Scattered<T> {
    /// `[feature][SPARSE_GROUP]`, zero where a row has no entry.
    values: Vec<T>,
    /// The L1 norms of the rows.
    absolutes: [T; SPARSE_GROUP],
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
        self.absolutes = [T::ZERO; SPARSE_GROUP];
        for lane in 0..count {
            for &(feature, value) in rows.row(first + lane) {
                self.values[feature as usize * SPARSE_GROUP + lane] = value;
                self.absolutes[lane] += value.absolute();
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
    /// holds; distances from differences if that is asked for.
    pub fn measure(
        &mut self,
        isa: Isa,
        (rows, first): (&Sparse<T>, usize),
        (columns, column): (&Sparse<T>, usize),
        dim: usize,
        out: &mut [&mut [T]],
        (measure, differences): (Measure, bool),
    ) {
        self.take(rows, first, out.len(), dim);
        let width = out[0].len();
        match measure {
            Measure::Product => products(isa, &self.values, columns, column, out),
            Measure::Absolute if !differences => {
                distances(isa, &self.values, &self.absolutes, columns, column, out);
            }
            _ => {
                for at in 0..width {
                    let entries = columns.row(column + at);
                    let sums = self.differences(isa, entries, measure == Measure::Square);
                    write(out, at, &sums);
                }
            }
        }
        self.clear();
    }

    /// Adds up the differences to a column over the features of either, or their squares.
    fn differences(&mut self, isa: Isa, entries: &[(u32, T)], square: bool) -> [T; SPARSE_GROUP] {
        let mut others = T::ZERO;
        for &(feature, value) in entries {
            self.column[feature as usize] = value;
            if !self.is_one[feature as usize] {
                others += if square {
                    value * value
                } else {
                    value.absolute()
                };
            }
        }
        let (values, column) = (&self.values, &self.column);
        let mut sums = differences(isa, values, &self.features, column, square);
        for &(feature, _) in entries {
            self.column[feature as usize] = T::ZERO;
        }
        sums.iter_mut().for_each(|sum| *sum += others);
        sums
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
    /// Writes the inner products of scattered rows with the columns from `first` on.
    fn products<T: Real>(
        scattered: &[T], columns: &Sparse<T>, first: usize, out: &mut [&mut [T]]
    ) = products_body
}

#[inline(always)]
fn products_body<T: Real, const FMA: bool>(
    scattered: &[T],
    columns: &Sparse<T>,
    first: usize,
    out: &mut [&mut [T]],
) {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    for column in 0..out[0].len() {
        let mut sums = [T::ZERO; SPARSE_GROUP];
        for &(feature, value) in columns.row(first + column) {
            let row = &scattered[feature as usize];
            for lane in 0..SPARSE_GROUP {
                sums[lane] = value.multiply_add::<FMA>(row[lane], sums[lane]);
            }
        }
        write(out, column, &sums);
    }
}

dispatch! {
    /// Writes the L1 distances of scattered rows to the columns from `first` on.
    fn distances<T: Real>(
        scattered: &[T], absolutes: &[T; SPARSE_GROUP], columns: &Sparse<T>, first: usize,
        out: &mut [&mut [T]]
    ) = distances_body
}

#[inline(always)]
fn distances_body<T: Real, const FMA: bool>(
    scattered: &[T],
    absolutes: &[T; SPARSE_GROUP],
    columns: &Sparse<T>,
    first: usize,
    out: &mut [&mut [T]],
) {
    // |x - z|_1 = sum over the entries of z of |x_k - z_k|, and |x|_1 less what it has there. The two
    // are added up alike, so that nothing is left of them where x = z.
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    for column in 0..out[0].len() {
        let (mut apart, mut there) = ([T::ZERO; SPARSE_GROUP], [T::ZERO; SPARSE_GROUP]);
        for &(feature, value) in columns.row(first + column) {
            let row = &scattered[feature as usize];
            for lane in 0..SPARSE_GROUP {
                apart[lane] += (row[lane] - value).absolute();
                there[lane] += row[lane].absolute();
            }
        }
        for lane in 0..SPARSE_GROUP {
            apart[lane] += (absolutes[lane] - there[lane]).larger(T::ZERO);
        }
        write(out, column, &apart);
    }
}

dispatch! {
    /// Adds up the differences of scattered rows to a scattered column, or their squares.
    fn differences<T: Real>(
        scattered: &[T], features: &[u32], column: &[T], square: bool
    ) -> [T; SPARSE_GROUP] = differences_body
}

#[inline(always)]
fn differences_body<T: Real, const FMA: bool>(
    scattered: &[T],
    features: &[u32],
    column: &[T],
    square: bool,
) -> [T; SPARSE_GROUP] {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let mut sums = [T::ZERO; SPARSE_GROUP];
    for &feature in features {
        let (row, value) = (&scattered[feature as usize], column[feature as usize]);
        for lane in 0..SPARSE_GROUP {
            let difference = row[lane] - value;
            sums[lane] = match square {
                true => difference.multiply_add::<FMA>(difference, sums[lane]),
                false => sums[lane] + difference.absolute(),
            };
        }
    }
    sums
}
