//! Arrays and nested vectors as samples.

use super::{Real, Samples, Values};
use crate::error::{Error, Result};
use crate::simd::memory;
use ndarray::Array2;

/// What an error calls what is made here.
const COPY: &str = "a copy of the rows";

impl<T> TryFrom<&Array2<T>> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Copies an array of any memory order.
    ///
    /// # Errors
    /// If a value is not finite or there is no memory for a copy.
    fn try_from(x: &Array2<T>) -> Result<Self> {
        Samples::try_from(x.view())
    }
}

impl<T> TryFrom<Array2<T>> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Takes over an array whose rows lie one after another, and copies others.
    ///
    /// # Errors
    /// If a value is not finite or there is no memory for a copy.
    fn try_from(x: Array2<T>) -> Result<Self> {
        let (rows, columns) = x.dim();
        if !x.is_standard_layout() {
            return Samples::try_from(x.view());
        }
        let (mut values, offset) = x.into_raw_vec_and_offset();
        // A part of an array has more in its memory than its own.
        values.drain(..offset.unwrap_or(0));
        values.truncate(rows * columns);
        Samples::dense(values, (rows, columns))
    }
}

impl<T> TryFrom<&[Vec<T>]> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Copies rows, which must have one length.
    ///
    /// # Errors
    /// If lengths differ, a value is not finite or there is no memory for a copy.
    fn try_from(x: &[Vec<T>]) -> Result<Self> {
        let columns = x.first().map_or(0, Vec::len);
        if let Some((row, other)) = x.iter().enumerate().find(|(_, row)| row.len() != columns) {
            let got = format!("{} in row {row}", other.len());
            return Err(Error::shape("X", format!("rows of {columns} values"), got));
        }
        let mut values = memory::with_capacity(x.len() * columns, COPY)?;
        x.iter().for_each(|row| values.extend_from_slice(row));
        Samples::dense(values, (x.len(), columns))
    }
}

impl<T> TryFrom<&Vec<Vec<T>>> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Copies rows, which must have one length.
    ///
    /// # Errors
    /// If lengths differ, a value is not finite or there is no memory for a copy.
    fn try_from(x: &Vec<Vec<T>>) -> Result<Self> {
        Samples::try_from(x.as_slice())
    }
}

impl<T> TryFrom<Vec<Vec<T>>> for Samples
where
    T: Real,
    Vec<T>: Into<Values>,
{
    type Error = Error;

    /// Copies rows, which must have one length.
    ///
    /// # Errors
    /// If lengths differ, a value is not finite or there is no memory for a copy.
    fn try_from(x: Vec<Vec<T>>) -> Result<Self> {
        Samples::try_from(x.as_slice())
    }
}
