//! Slabs: the large pieces of memory that kernel rows live in, kept from fit to fit.
//!
//! The first touch of fresh memory costs as much as computing the row that goes there, and under
//! a hypervisor many times as much. So slabs are asked for as huge pages, and when a cache is done
//! its slabs go into a pool for the next one (of the next pair of classes, say, or of the next point
//! of a grid search). A slab in the pool is marked as free: the system takes its pages back
//! whenever it needs them, and until then they can be used again at no cost. Where memory is refused
//! to others, they are given back first. Small pieces come from the heap: thousands of small problems
//! would ask the system for each of theirs.

use super::process::{PerProcess, locked};
use crate::error::{Error, Result};
use bytemuck::{Pod, Zeroable, allocation};
use memmap2::MmapMut;
use std::sync::{Mutex, MutexGuard};

/// Bytes of a slab: large enough for huge pages, small enough not to ask for much too much.
pub(crate) const SLAB_BYTES: usize = 32 << 20;
/// Bytes up to which a slab comes from the heap.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// Slabs kept at the most: 1 GiB.
const KEPT: usize = 32;

/// The slabs of this process that nobody uses.
fn spare() -> MutexGuard<'static, Vec<MmapMut>> {
    static SPARE: PerProcess<Mutex<Vec<MmapMut>>> = PerProcess::new();
    locked(SPARE.get())
}

/// Gives the slabs that nobody uses back to the system.
pub(super) fn give_back() {
    let slabs = std::mem::take(&mut *spare());
    drop(slabs); // not while others wait for the lock
}

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; 8]);

// SAFETY: it is made of integers, which zeros are.
unsafe impl Zeroable for Line {}
// SAFETY: it is made of integers without padding: 64 bytes, aligned to as many.
unsafe impl Pod for Line {}

/// A piece of memory of at least the size asked for; its contents are arbitrary numbers.
#[derive(Debug)]
pub(crate) struct Slab {
    /// None while it is dropped, and if it is small.
    mapped: Option<MmapMut>,
    small: Vec<Line>,
}

impl Slab {
    /// Takes a slab from the pool or the heap, or asks the system for one.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(bytes: usize, what: &'static str) -> Result<Self> {
        if bytes <= SMALL_BYTES {
            let lines = bytes.div_ceil(size_of::<Line>());
            let small = allocation::try_zeroed_vec(lines);
            return Ok(Slab {
                mapped: None,
                small: small.map_err(|()| Error::Memory { what, bytes })?,
            });
        }
        Ok(Slab {
            mapped: Some(mapped(bytes, what)?),
            small: Vec::new(),
        })
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.mapped {
            Some(slab) => slab,
            None => bytemuck::cast_slice(&self.small),
        }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.mapped {
            Some(slab) => slab,
            None => bytemuck::cast_slice_mut(&mut self.small),
        }
    }
}

/// Takes pages from the pool or asks the system for some.
fn mapped(bytes: usize, what: &'static str) -> Result<MmapMut> {
    let usual = bytes.max(SLAB_BYTES);
    if usual == SLAB_BYTES
        && let Some(slab) = spare().pop()
    {
        return Ok(slab);
    }
    let slab = MmapMut::map_anon(usual).or_else(|_| {
        give_back();
        MmapMut::map_anon(bytes)
    });
    let slab = slab.map_err(|_| Error::Memory { what, bytes })?;
    // Advice only: where the system has no huge pages small ones will do.
    #[cfg(target_os = "linux")]
    let _ = slab.advise(memmap2::Advice::HugePage);
    Ok(slab)
}

#[cfg(target_os = "linux")]
impl Drop for Slab {
    fn drop(&mut self) {
        let Some(slab) = self.mapped.take().filter(|slab| slab.len() == SLAB_BYTES) else {
            return;
        };
        if spare().len() >= KEPT {
            return;
        }
        // SAFETY: the mapping is private, anonymous and owned by this value alone. The system may
        // replace its pages by zeros at any time from now on; nothing refers to them, and whoever
        // takes the slab from the pool expects arbitrary numbers.
        let advised = unsafe { slab.unchecked_advise(memmap2::UncheckedAdvice::Free) };
        if advised.is_ok() {
            spare().push(slab);
        }
    }
}
