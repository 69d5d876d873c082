//! Rows put behind others, and columns taken out.

use super::{COPY, Pattern, Samples, Values};
use crate::error::{Error, Result};
use crate::simd::memory;

impl Samples {
    /// Returns these rows and then those of others, copied; in `f64` if either are.
    ///
    /// ```
    /// # use mercer::Samples;
    /// let first = Samples::try_from(ndarray::array![[1.0], [2.0]].view())?;
    /// let second = Samples::try_from(ndarray::array![[3.0]].view())?;
    /// let all = Samples::try_from(ndarray::array![[1.0], [2.0], [3.0]].view())?;
    /// assert_eq!(first.followed_by(&second)?, all);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the numbers of columns differ, only one of the two is sparse, or there is no memory.
    pub fn followed_by(&self, other: &Samples) -> Result<Samples> {
        if self.columns != other.columns || self.is_sparse() != other.is_sparse() {
            let kind = |samples: &Samples| {
                if samples.is_sparse() {
                    "sparse"
                } else {
                    "dense"
                }
            };
            let name = |samples: &Samples| format!("{} {} columns", samples.columns, kind(samples));
            return Err(Error::shape("X", name(self), name(other)));
        }
        fn joined<T: Copy>(a: &[T], b: &[T]) -> Result<Vec<T>> {
            let mut all = memory::with_capacity(a.len() + b.len(), COPY)?;
            all.extend_from_slice(a);
            all.extend_from_slice(b);
            Ok(all)
        }
        let pattern = match (&self.pattern, &other.pattern) {
            (Some(a), Some(b)) => {
                let end = a.columns.len();
                let shifted: Vec<usize> = b.starts[1..].iter().map(|start| start + end).collect();
                Some(Pattern {
                    starts: joined(&a.starts, &shifted)?,
                    columns: joined(&a.columns, &b.columns)?,
                })
            }
            _ => None,
        };
        Ok(Samples {
            rows: self.rows + other.rows,
            columns: self.columns,
            values: match (&self.values, &other.values) {
                (Values::Single(a), Values::Single(b)) => joined(a, b)?.into(),
                (a, b) => joined(&a.double()?, &b.double()?)?.into(),
            },
            pattern,
        })
    }

    /// Returns some of the columns of dense rows, as of a kernel matrix that is given.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn select_columns(&self, columns: &[usize]) -> Result<Samples> {
        fn pick<T: Copy>(values: &[T], width: usize, columns: &[usize]) -> Result<Vec<T>> {
            let rows = values.len() / width.max(1);
            let mut picked = memory::with_capacity(rows * columns.len(), COPY)?;
            for row in values.chunks(width.max(1)) {
                picked.extend(columns.iter().map(|&column| row[column]));
            }
            Ok(picked)
        }
        let width = self.columns;
        Ok(Samples {
            rows: self.rows,
            columns: columns.len(),
            values: match &self.values {
                Values::Single(values) => pick(values, width, columns)?.into(),
                Values::Double(values) => pick(values, width, columns)?.into(),
            },
            pattern: None,
        })
    }
}
