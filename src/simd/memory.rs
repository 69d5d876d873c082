//! Memory that may be refused.
//!
//! `vec!` and `collect` end the process if the system has no memory left. What grows with the number
//! of values (samples, packed panels, kernel matrices, blocks) is therefore asked for here, and a
//! refusal is an [`Error::Memory`] that says what was to be kept. Vectors of a few numbers for each
//! row are not: who cannot afford to lose the process holds a reserve for them, as the Python
//! binding does.

use super::{slab, system_memory};
use crate::error::{Error, Result};
use bytemuck::{Zeroable, allocation};
use memmap2::MmapMut;
use ndarray::Array2;

/// Bytes from which it is checked first whether there is so much memory at all.
const LARGE: usize = 1 << 28;
/// Bytes that are a little: more than the C library asks for at a time.
const A_LITTLE: usize = 4 << 20;

/// Returns so many zeros.
///
/// # Errors
/// If there is no memory for them; `what` they are is told.
pub(crate) fn zeros<T: Zeroable>(length: usize, what: &'static str) -> Result<Vec<T>> {
    granted::<T, _>(length, what, || allocation::try_zeroed_vec(length).ok())
}

/// Returns an empty vector with room for so many values.
///
/// # Errors
/// As [`zeros`].
pub(crate) fn with_capacity<T>(length: usize, what: &'static str) -> Result<Vec<T>> {
    let mut values = Vec::new();
    make_room(&mut values, length, what)?;
    Ok(values)
}

/// Returns the values of an iterator.
///
/// # Errors
/// As [`zeros`].
pub(crate) fn collected<T>(
    values: impl ExactSizeIterator<Item = T>,
    what: &'static str,
) -> Result<Vec<T>> {
    let mut all = with_capacity(values.len(), what)?;
    all.extend(values);
    Ok(all)
}

/// Returns a matrix of zeros.
///
/// # Errors
/// As [`zeros`].
pub(crate) fn zero_matrix(shape: (usize, usize), what: &'static str) -> Result<Array2<f64>> {
    let values = zeros(shape.0.saturating_mul(shape.1), what)?;
    // The shape is that of the values.
    Ok(Array2::from_shape_vec(shape, values).unwrap_or_default())
}

/// Returns memory that nothing has touched.
///
/// # Errors
/// As [`zeros`].
pub(crate) fn map(bytes: usize, what: &'static str) -> Result<MmapMut> {
    granted::<u8, _>(bytes, what, || MmapMut::map_anon(bytes).ok())
}

/// Tells whether a little memory is to be had: for what asks for it and cannot be refused.
///
/// # Errors
/// If not even that is to be had.
pub(crate) fn probe(what: &'static str) -> Result<()> {
    map(A_LITTLE, what).map(drop)
}

/// Makes a vector so long, with zeros for what is new.
///
/// # Errors
/// As [`zeros`]; the vector is then as it was.
pub(crate) fn resize<T: Copy + Zeroable>(
    values: &mut Vec<T>,
    length: usize,
    what: &'static str,
) -> Result<()> {
    make_room(values, length.saturating_sub(values.len()), what)?;
    values.resize(length, T::zeroed());
    Ok(())
}

/// Makes room for so many more values.
fn make_room<T>(values: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    let length = values.len().saturating_add(more);
    granted::<T, _>(length, what, || values.try_reserve_exact(more).ok())
}

/// Returns what `ask` is given. If it is refused, it asks again when the slabs that are kept for later
/// have been given back.
fn granted<T, R>(
    length: usize,
    what: &'static str,
    mut ask: impl FnMut() -> Option<R>,
) -> Result<R> {
    let bytes = length.saturating_mul(size_of::<T>());
    let refused = Error::Memory { what, bytes };
    if bytes >= LARGE && bytes > system_memory::capacity() {
        return Err(refused);
    }
    if let Some(given) = ask() {
        return Ok(given);
    }
    slab::give_back();
    ask().ok_or(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_what_was_asked_for() -> Result<()> {
        assert_eq!(zeros::<f64>(3, "zeros")?, [0.0; 3]);
        let squares = collected((0..4).map(|i| i * i), "squares")?;
        assert_eq!(squares, [0, 1, 4, 9]);
        assert_eq!(squares.capacity(), 4);
        assert_eq!(zero_matrix((2, 3), "zeros")?, Array2::<f64>::zeros((2, 3)));
        assert_eq!(zero_matrix((0, 3), "zeros")?.dim(), (0, 3));
        let mut values = vec![1.0f32, 2.0];
        resize(&mut values, 3, "values")?;
        assert_eq!(values, [1.0, 2.0, 0.0]);
        resize(&mut values, 1, "values")?;
        assert_eq!(values, [1.0]);
        Ok(())
    }

    #[test]
    fn what_nobody_has_is_refused() {
        let mut kept = vec![1.0f64];
        let sizes = [1 << 48, usize::MAX / 8, usize::MAX];
        for length in sizes {
            for refused in [
                zeros::<f64>(length, "a giant").err(),
                with_capacity::<f64>(length, "a giant").err(),
                resize(&mut kept, length, "a giant").err(),
            ] {
                assert!(
                    matches!(refused, Some(Error::Memory { what: "a giant", bytes }) if bytes >= 1 << 51)
                );
            }
        }
        assert_eq!(kept, [1.0]);
    }
}
