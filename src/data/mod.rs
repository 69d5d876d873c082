//! Samples: the rows a machine learns from or is asked about.
//!
//! Dense rows or compressed sparse rows (CSR), in the precision they came in: `f32` input is never
//! widened for storage. Dense values are owned, or shared with whoever made them
//! ([`Samples::shared`]). Invariants, checked on construction: every value is finite; the columns of
//! a sparse row are sorted, unique and below the number of columns.

mod convert;
mod join;
mod numbers;

use crate::error::{Error, Result};
pub use crate::simd::Real;
use crate::simd::{all_finite, memory};
use ndarray::{ArrayView2, ArrayViewMut2};
pub use numbers::{Numbers, Values};
use std::fmt::Display;

/// The share of entries that are not zero from which on sparse samples are packed as dense ones:
/// with 59% of them products of dense rows took half the time, with 11% a quarter more.
const DENSE_SHARE: f64 = 0.2;
/// What an error calls rows that are copied.
const COPY: &str = "a copy of the rows";

/// Where the values of a sparse matrix stand.
#[derive(Clone, Debug, PartialEq)]
struct Pattern {
    /// Row i owns entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
}

/// A dense row in the precision it came in.
pub(crate) enum RowValues<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

/// Rows of numbers, dense or CSR, in `f32` or `f64`.
///
/// ```
/// use mercer::Samples;
/// let samples = Samples::try_from(ndarray::array![[1.0f32, 2.0], [3.0, 4.0]].view())?;
/// assert_eq!((samples.rows(), samples.columns()), (2, 2));
/// assert!(Samples::try_from(ndarray::array![[f64::NAN]].view()).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    rows: usize,
    columns: usize,
    values: Values,
    pattern: Option<Pattern>,
}

impl Samples {
    /// Returns the number of rows.
    ///
    /// ```
    /// # use mercer::Samples;
    /// assert_eq!(Samples::try_from(ndarray::array![[1.0, 2.0]].view())?.rows(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    ///
    /// ```
    /// # use mercer::Samples;
    /// assert_eq!(Samples::try_from(ndarray::array![[1.0, 2.0]].view())?.columns(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Tells whether the rows are stored sparse.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let sparse = Samples::csr(vec![5.0], &[1i32], &[0i32, 1], 3)?;
    /// assert!(sparse.is_sparse());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_sparse(&self) -> bool {
        self.pattern.is_some()
    }

    /// Makes samples from compressed sparse rows; unsorted columns are sorted and duplicates
    /// summed, as scipy does.
    ///
    /// ```
    /// # use mercer::Samples;
    /// // One row of three columns in which column 2 is named twice.
    /// let samples = Samples::csr(vec![1.0, 2.0, 4.0], &[2i64, 0, 2], &[0i64, 3], 3)?;
    /// let mut row = [0.0; 3];
    /// samples.copy_row(0, &mut row);
    /// assert_eq!(row, [2.0, 0.0, 5.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the three arrays do not describe a matrix, a value is not finite or there is no memory.
    pub fn csr<V, I>(data: Vec<V>, indices: &[I], indptr: &[I], columns: usize) -> Result<Self>
    where
        V: Real,
        Vec<V>: Into<Values>,
        I: Copy + Display + TryInto<usize>,
    {
        let starts = checked_starts(indptr, data.len())?;
        let refuse = |expected: String, got: String| Err(Error::shape("X", expected, got));
        if indices.len() != data.len() {
            let expected = format!("as many indices as values, {}", data.len());
            return refuse(expected, indices.len().to_string());
        }
        if u32::try_from(columns).is_err() {
            return refuse("fewer than 2^32 columns".into(), columns.to_string());
        }
        let mut pattern = Pattern {
            starts,
            columns: memory::with_capacity(data.len(), COPY)?,
        };
        for (at, &index) in indices.iter().enumerate() {
            match index.try_into() {
                Ok(index) if index < columns => pattern.columns.push(index as u32),
                _ => {
                    let row = pattern.starts.partition_point(|&start| start <= at) - 1;
                    let got = format!("indices[{at}] = {index} in row {row}");
                    let expected = format!("indices from 0 on and below {columns}, the columns");
                    return refuse(expected, got);
                }
            }
        }
        let mut data = data;
        pattern.make_canonical(&mut data);
        let samples = Samples {
            rows: pattern.starts.len() - 1,
            columns,
            values: data.into(),
            pattern: Some(pattern),
        };
        samples.check_finite()?;
        Ok(samples)
    }

    /// Makes dense samples of numbers that stay where they are: `values` holds rows of `columns`
    /// numbers, one after another, and is kept alive as long as the samples.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let values: std::sync::Arc<[f64]> = vec![1.0, 2.0, 3.0, 4.0].into();
    /// let samples = Samples::shared(values, 2)?; // a mapped file or a foreign array would do, too
    /// assert_eq!((samples.rows(), samples.columns()), (2, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the last row is incomplete or a value is not finite.
    pub fn shared<T, V>(values: V, columns: usize) -> Result<Self>
    where
        V: AsRef<[T]> + Send + Sync + 'static,
        Numbers<T>: Into<Values>,
    {
        let samples = Self::trusted(values, columns)?;
        samples.check_finite()?;
        Ok(samples)
    }

    /// Does the same with values that are known to be finite.
    pub(crate) fn trusted<T, V>(values: V, columns: usize) -> Result<Self>
    where
        V: AsRef<[T]> + Send + Sync + 'static,
        Numbers<T>: Into<Values>,
    {
        let values: Values = Numbers::shared(values).into();
        let length = values.len();
        if columns == 0 || !length.is_multiple_of(columns) {
            let got = format!("{length} values");
            return Err(Error::shape("X", format!("rows of {columns} values"), got));
        }
        Ok(Samples {
            rows: length / columns,
            columns,
            values,
            pattern: None,
        })
    }

    /// Makes rows without numbers, for a [`UserKernel`](crate::UserKernel) that knows them by their
    /// position.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let samples = Samples::numbered(3);
    /// assert_eq!((samples.rows(), samples.columns()), (3, 0));
    /// ```
    pub fn numbered(rows: usize) -> Self {
        Samples {
            rows,
            columns: 0,
            values: Vec::<f64>::new().into(),
            pattern: None,
        }
    }

    /// Writes row `i` into a dense buffer of `columns()` numbers.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let samples = Samples::try_from(ndarray::array![[1.0f32, 2.0]].view())?;
    /// let mut row = [0.0; 2];
    /// samples.copy_row(0, &mut row);
    /// assert_eq!(row, [1.0, 2.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `i` is not a row or the buffer is not as long as a row.
    pub fn copy_row(&self, i: usize, buffer: &mut [f64]) {
        assert_eq!(buffer.len(), self.columns, "a row has columns() numbers");
        let range = self.range(i);
        match &self.values {
            Values::Double(values) if !self.is_sparse() => buffer.copy_from_slice(&values[range]),
            Values::Single(values) if !self.is_sparse() => {
                for (entry, &value) in buffer.iter_mut().zip(&values[range]) {
                    *entry = f64::from(value);
                }
            }
            _ => {
                buffer.fill(0.0);
                self.for_each(i, |column, value| buffer[column] = value);
            }
        }
    }

    /// Returns a copy of the given rows, in their order.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let samples = Samples::try_from(ndarray::array![[1.0], [2.0], [3.0]].view())?;
    /// let picked = samples.select(&[2, 0])?;
    /// assert_eq!(picked, Samples::try_from(ndarray::array![[3.0], [1.0]].view())?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for them.
    ///
    /// # Panics
    /// If a number is not a row.
    pub fn select(&self, rows: &[usize]) -> Result<Samples> {
        fn pick<T: Copy>(values: &[T], ranges: &[std::ops::Range<usize>]) -> Result<Vec<T>> {
            let count = ranges.iter().map(ExactSizeIterator::len).sum();
            let mut picked = memory::with_capacity(count, COPY)?;
            for range in ranges {
                picked.extend_from_slice(&values[range.clone()]);
            }
            Ok(picked)
        }
        let ranges: Vec<_> = rows.iter().map(|&i| self.range(i)).collect();
        let pattern = self.pattern.as_ref().map(|pattern| -> Result<Pattern> {
            let mut starts = memory::with_capacity(rows.len() + 1, COPY)?;
            starts.push(0);
            for range in &ranges {
                starts.push(starts[starts.len() - 1] + range.len());
            }
            let columns = pick(&pattern.columns, &ranges)?;
            Ok(Pattern { starts, columns })
        });
        Ok(Samples {
            rows: rows.len(),
            columns: self.columns,
            values: match &self.values {
                Values::Single(values) => pick(values, &ranges)?.into(),
                Values::Double(values) => pick(values, &ranges)?.into(),
            },
            pattern: pattern.transpose()?,
        })
    }

    /// Returns a copy with one more column of a constant.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn with_constant(&self, constant: f64) -> Result<Samples> {
        fn widened<T: Real>(samples: &Samples, values: &[T], constant: f64) -> Result<Vec<T>> {
            let mut all = memory::with_capacity(values.len() + samples.rows, COPY)?;
            for i in 0..samples.rows {
                all.extend_from_slice(&values[samples.range(i)]);
                all.push(T::from_f64(constant));
            }
            Ok(all)
        }
        let pattern = self.pattern.as_ref().map(|pattern| -> Result<Pattern> {
            let count = pattern.columns.len() + self.rows;
            let mut columns = memory::with_capacity(count, COPY)?;
            for i in 0..self.rows {
                columns.extend_from_slice(&pattern.columns[self.range(i)]);
                columns.push(self.columns as u32);
            }
            let starts = pattern.starts.iter().enumerate();
            let starts = starts.map(|(row, start)| start + row).collect();
            Ok(Pattern { starts, columns })
        });
        Ok(Samples {
            rows: self.rows,
            columns: self.columns + 1,
            values: match &self.values {
                Values::Single(values) => widened(self, values, constant)?.into(),
                Values::Double(values) => widened(self, values, constant)?.into(),
            },
            pattern: pattern.transpose()?,
        })
    }

    /// Calls `f(column, value)` for the stored entries of row `i`.
    #[inline]
    pub(crate) fn for_each(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let range = self.range(i);
        let columns = self.pattern.as_ref().map(|p| &p.columns[range.clone()]);
        match (&self.values, columns) {
            (Values::Single(values), None) => values[range]
                .iter()
                .enumerate()
                .for_each(|(column, &value)| f(column, f64::from(value))),
            (Values::Double(values), None) => values[range]
                .iter()
                .enumerate()
                .for_each(|(column, &value)| f(column, value)),
            (Values::Single(values), Some(columns)) => columns
                .iter()
                .zip(&values[range])
                .for_each(|(&column, &value)| f(column as usize, f64::from(value))),
            (Values::Double(values), Some(columns)) => columns
                .iter()
                .zip(&values[range])
                .for_each(|(&column, &value)| f(column as usize, value)),
        }
    }

    /// Tells whether the samples are to be packed as dense ones: if they are, or if so many of their
    /// entries are not zero that products of dense rows are faster.
    pub(crate) fn is_packed_dense(&self) -> bool {
        !self.is_sparse() || self.mean_entries() > DENSE_SHARE * self.columns as f64
    }

    /// Returns the mean number of stored entries of a row.
    pub(crate) fn mean_entries(&self) -> f64 {
        match self.rows {
            0 => 0.0,
            rows => self.range(rows - 1).end as f64 / rows as f64,
        }
    }

    /// Returns the multiplications behind the kernel matrix of so many rows, roughly.
    pub(crate) fn work_of_matrix(&self, rows: usize) -> usize {
        rows.saturating_mul(rows).saturating_mul(self.columns + 8)
    }

    /// Returns the number of stored entries of row `i`.
    pub(crate) fn entries(&self, i: usize) -> usize {
        self.range(i).len()
    }

    /// Returns the distance from 1 to the next number, in the precision of the values.
    pub(crate) fn epsilon(&self) -> f64 {
        match self.values {
            Values::Single(_) => f64::from(f32::EPSILON),
            Values::Double(_) => f64::EPSILON,
        }
    }

    /// Returns the values as they are stored, row after row.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Returns where the entries of sparse rows begin, and their columns, each below the number of
    /// columns.
    pub(crate) fn pattern(&self) -> Option<(&[usize], &[u32])> {
        let pattern = self.pattern.as_ref()?;
        Some((&pattern.starts, &pattern.columns))
    }

    /// Returns row `i` of dense samples.
    pub(crate) fn dense_row(&self, i: usize) -> RowValues<'_> {
        debug_assert!(!self.is_sparse());
        let range = self.range(i);
        match &self.values {
            Values::Single(values) => RowValues::Single(&values[range]),
            Values::Double(values) => RowValues::Double(&values[range]),
        }
    }

    /// Returns entry (i, j) of dense samples.
    pub(crate) fn dense_value(&self, i: usize, j: usize) -> f64 {
        debug_assert!(!self.is_sparse());
        match &self.values {
            Values::Single(values) => f64::from(values[i * self.columns + j]),
            Values::Double(values) => values[i * self.columns + j],
        }
    }

    /// Returns the mean of the given rows.
    pub(crate) fn mean(&self, rows: &[usize]) -> Vec<f64> {
        let mut mean = vec![0.0; self.columns];
        for &i in rows {
            self.for_each(i, |column, value| mean[column] += value);
        }
        let scale = 1.0 / rows.len().max(1) as f64;
        mean.iter_mut().for_each(|sum| *sum *= scale);
        mean
    }

    fn range(&self, i: usize) -> std::ops::Range<usize> {
        match &self.pattern {
            None => i * self.columns..(i + 1) * self.columns,
            Some(pattern) => pattern.starts[i]..pattern.starts[i + 1],
        }
    }

    /// Makes dense samples of rows that lie one after another.
    ///
    /// # Errors
    /// If a value is not finite.
    fn dense<T: Real>(values: Vec<T>, (rows, columns): (usize, usize)) -> Result<Self>
    where
        Vec<T>: Into<Values>,
    {
        let samples = Samples {
            rows,
            columns,
            values: values.into(),
            pattern: None,
        };
        samples.check_finite()?;
        Ok(samples)
    }

    fn check_finite(&self) -> Result<()> {
        fn first<T: Real>(values: &[T]) -> Option<(usize, f64)> {
            if all_finite(values) {
                return None;
            }
            let finite = |value: &T| value.to_f64().is_finite();
            let at = values.iter().position(|value| !finite(value))?;
            Some((at, values[at].to_f64()))
        }
        let found = match &self.values {
            Values::Single(values) => first(values),
            Values::Double(values) => first(values),
        };
        match found {
            None => Ok(()),
            Some((at, value)) => Err(Error::NotFinite {
                name: "X",
                row: match &self.pattern {
                    None => at / self.columns.max(1),
                    Some(pattern) => pattern.starts.partition_point(|&start| start <= at) - 1,
                },
                value,
            }),
        }
    }
}

/// Checks where rows begin and end in `length` values.
fn checked_starts<I>(indptr: &[I], length: usize) -> Result<Vec<usize>>
where
    I: Copy + Display + TryInto<usize>,
{
    let refuse = |expected: String, at: usize| {
        let got = match indptr.get(at) {
            Some(start) => format!("indptr[{at}] = {start}"),
            None => "no indptr".into(),
        };
        Err(Error::shape("X", expected, got))
    };
    let mut starts = Vec::with_capacity(indptr.len());
    for (at, &start) in indptr.iter().enumerate() {
        let Ok(start) = start.try_into() else {
            return refuse("an indptr without negative entries".into(), at);
        };
        match starts.last() {
            None if start != 0 => return refuse("an indptr that begins with 0".into(), at),
            Some(&last) if start < last => {
                return refuse(format!("an indptr that does not fall below {last}"), at);
            }
            _ => starts.push(start),
        }
    }
    match starts.last() {
        Some(&last) if last == length => Ok(starts),
        _ => {
            let expected = format!("an indptr that ends with the number of values, {length}");
            refuse(expected, starts.len().saturating_sub(1))
        }
    }
}

impl Pattern {
    /// Sorts each row by column and sums duplicates.
    fn make_canonical<V: Real>(&mut self, data: &mut Vec<V>) {
        let canonical = self
            .starts
            .windows(2)
            .all(|w| self.columns[w[0]..w[1]].is_sorted_by(|a, b| a < b));
        if canonical {
            return;
        }
        let mut row: Vec<(u32, V)> = Vec::new();
        let mut kept = 0;
        let mut begin = 0;
        for end in self.starts.iter_mut().skip(1) {
            row.clear();
            row.extend((begin..*end).map(|at| (self.columns[at], data[at])));
            row.sort_by_key(|&(column, _)| column); // stable, so sums run in the order given
            let first = kept;
            for &(column, value) in &row {
                if kept > first && self.columns[kept - 1] == column {
                    data[kept - 1] += value;
                } else {
                    self.columns[kept] = column;
                    data[kept] = value;
                    kept += 1;
                }
            }
            begin = *end;
            *end = kept;
        }
        self.columns.truncate(kept);
        data.truncate(kept);
    }
}

impl<T> TryFrom<ArrayView2<'_, T>> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Copies an array of any memory order.
    ///
    /// # Errors
    /// If a value is not finite or there is no memory for a copy.
    fn try_from(x: ArrayView2<'_, T>) -> Result<Self> {
        let (rows, columns) = x.dim();
        let mut values = memory::zeros(rows * columns, COPY)?;
        // The shape fits by construction; `assign` walks both arrays in blocks.
        if let Ok(mut copy) = ArrayViewMut2::from_shape((rows, columns), &mut values) {
            copy.assign(&x);
        }
        Samples::dense(values, (rows, columns))
    }
}
