//! Buffer: numbers that are written before they are read, used again and again.
//!
//! Large ones live in slabs ([`slab`](super::slab)): in huge pages, which a walk down the columns of a
//! matrix needs, and in memory that others have used before. Small ones come from the heap.

use super::pieces::{Piece, Pieces};
use super::{Real, memory};
use crate::error::Result;
use std::ops::{Deref, DerefMut};

/// Bytes from which a buffer lives in a slab: a few huge pages.
const LARGE: usize = 4 << 20;

/// How many times as much as is needed a large buffer asks for: a matrix of twice as many rows.
const ROOM: usize = 4;

/// So many numbers as were last asked for, or more.
#[derive(Debug, Default)]
pub(crate) struct Buffer<T> {
    small: Vec<T>,
    large: Option<Piece<T>>,
}

impl<T: Real> Buffer<T> {
    /// Makes room for so many numbers, which are arbitrary ones.
    ///
    /// # Errors
    /// If there is no memory for them; `what` they are is told.
    pub fn reserve(&mut self, length: usize, what: &'static str) -> Result<()> {
        if self.len() >= length {
            return Ok(());
        }
        // What there was is given back first.
        *self = Buffer::default();
        match length.saturating_mul(size_of::<T>()) < LARGE {
            true => self.small = memory::zeros(length, what)?,
            false => self.large = Some(large(length, what)?),
        }
        Ok(())
    }
}

/// Asks for more than is needed: what nobody touches costs nothing, and a buffer that grows a little from
/// time to time would be in fresh memory each time.
fn large<T: Real>(length: usize, what: &'static str) -> Result<Piece<T>> {
    let roomy = Pieces::default().take(length.saturating_mul(ROOM), what);
    roomy.or_else(|_| Pieces::default().take(length, what))
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.large {
            Some(piece) => piece.values(),
            None => &self.small,
        }
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.large {
            Some(piece) => piece.values_mut(),
            None => &mut self.small,
        }
    }
}

impl<T: Real> From<Vec<T>> for Buffer<T> {
    fn from(small: Vec<T>) -> Self {
        Buffer { small, large: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_from_the_heap_into_a_slab_and_does_not_shrink() {
        let mut buffer = Buffer::<f64>::default();
        assert!(buffer.is_empty());
        let (many, room) = (LARGE / 8, ROOM * LARGE / 8);
        for (length, expected) in [(10, 10), (3, 10), (many, room), (20, room), (room, room)] {
            buffer.reserve(length, "a test").expect("memory");
            assert_eq!(buffer.len(), expected);
            buffer.fill(1.0);
            assert_eq!(buffer.iter().sum::<f64>(), expected as f64);
        }
        assert!(buffer.reserve(usize::MAX / 4, "a test").is_err());
    }
}
