//! Pieces of slabs: numbers that many hold and nobody gives back alone.
//!
//! Matrices of pairs of classes and rows that many fits read are made one at a time, by several threads,
//! and dropped together. They are cut from common slabs, so that the next ones find memory that was used
//! before; from the heap they would be fresh pages each time.

use super::Real;
use super::process::locked;
use super::slab::{SLAB_BYTES, SMALL_BYTES, Slab};
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Bytes of a cache line, at which pieces begin.
const LINE: usize = 64;

/// Where pieces are cut from.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// The last slab, and how many of its bytes are taken.
    last: Mutex<Option<(Arc<Slab>, usize)>>,
}

impl Pieces {
    /// Cuts a piece for so many numbers, which are arbitrary ones.
    ///
    /// # Errors
    /// If there is no memory for them; `what` they are is told.
    pub fn take<T: Real>(&self, length: usize, what: &'static str) -> Result<Piece<T>> {
        let bytes = length
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_next_multiple_of(LINE))
            .ok_or(Error::Memory {
                what,
                bytes: usize::MAX,
            })?;
        let mut last = locked(&self.last);
        let room = |(slab, taken): &(Arc<Slab>, usize)| slab.len() - taken;
        let (slab, start) = match last.take() {
            Some(found) if room(&found) >= bytes => found,
            found => {
                // A few small pieces are not worth asking the system.
                let size = match found.is_none() && bytes <= SMALL_BYTES / 8 {
                    true => SMALL_BYTES,
                    false => bytes.max(SLAB_BYTES),
                };
                (Arc::new(Slab::new(size, what)?), 0)
            }
        };
        *last = Some((slab.clone(), start + bytes));
        Ok(Piece {
            range: start..start + length * size_of::<T>(),
            slab,
            number: std::marker::PhantomData,
        })
    }
}

/// Numbers in a slab; no other piece has any of them.
#[derive(Debug)]
pub(crate) struct Piece<T> {
    slab: Arc<Slab>,
    range: Range<usize>,
    number: std::marker::PhantomData<T>,
}

impl<T: Real> Piece<T> {
    pub fn values(&self) -> &[T] {
        // SAFETY: the range is within the slab, which lives as long as this piece. Nobody else has it, so
        // nobody writes to it while it is borrowed.
        let bytes = unsafe { std::slice::from_raw_parts(self.start(), self.range.len()) };
        bytemuck::cast_slice(bytes)
    }

    pub fn values_mut(&mut self) -> &mut [T] {
        let start = self.start().cast_mut();
        // SAFETY: as above; the slab is writable memory, and nobody else refers to the range: slices of
        // the slab itself are never made once it is cut.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, self.range.len()) };
        bytemuck::cast_slice_mut(bytes)
    }

    /// Returns where the numbers begin.
    fn start(&self) -> *const u8 {
        // SAFETY: the range is within the slab.
        unsafe { self.slab.start().add(self.range.start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap() {
        let pieces = Pieces::default();
        let sizes = [1, 7, 1000, 0, 9_000_000, 16, 5_000_000, 3];
        let mut all: Vec<Piece<f32>> = sizes
            .iter()
            .map(|&size| pieces.take(size, "a test").unwrap())
            .collect();
        for (mark, piece) in all.iter_mut().enumerate() {
            piece.values_mut().fill(mark as f32);
        }
        for (mark, (piece, &size)) in all.iter().zip(&sizes).enumerate() {
            assert_eq!(piece.values().len(), size);
            assert_eq!(piece.values().as_ptr().addr() % LINE, 0);
            assert!(piece.values().iter().all(|value| *value == mark as f32));
        }
    }

    #[test]
    fn threads_take_pieces_side_by_side() {
        let pieces = Pieces::default();
        std::thread::scope(|scope| {
            for mark in 0..4 {
                let pieces = &pieces;
                scope.spawn(move || {
                    let fill = |at: usize| {
                        let mut piece = pieces.take::<f64>(1 + 97 * at, "a test").unwrap();
                        piece.values_mut().fill(f64::from(mark));
                        piece
                    };
                    let held: Vec<_> = (0..50).map(fill).collect();
                    let all = held.iter().flat_map(|piece| piece.values());
                    assert!(all.into_iter().all(|value| *value == f64::from(mark)));
                });
            }
        });
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert!(
            Pieces::default()
                .take::<f64>(usize::MAX / 8, "a test")
                .is_err()
        );
        assert!(Pieces::default().take::<f64>(usize::MAX, "a test").is_err());
    }
}
