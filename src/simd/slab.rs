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
use std::time::Instant;

/// Bytes of a slab: large enough for huge pages, small enough not to ask for much too much.
pub(crate) const SLAB_BYTES: usize = 32 << 20;
/// Bytes up to which a slab comes from the heap.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// Small slabs that the heap is expected to have: it is where all else comes from.
const A_FEW: usize = 16;
/// Bytes of the slabs that are kept at the most.
pub(crate) const KEPT_BYTES: usize = 32 * SLAB_BYTES;
/// A slab that is kept serves who asks for at least this part of it.
const FITTING: usize = 2;
/// Nanoseconds of one thread for a byte of fresh memory, as long as nobody has measured: 0.6 to 2.5 were
/// under a hypervisor.
pub(crate) const USUAL_COST: f64 = 0.6;
/// What it is taken for at the most: the price jumps from minute to minute, and who waits for a better one
/// computes rows again and again (5 to 8 times each instead of 2, where 2.5 was believed).
const DEAREST: f64 = 0.75;
/// Bytes at the beginning of the first slab that are in small pages: who keeps a few rows does not pay
/// for huge ones. Of these, bytes that are touched to see what that costs.
#[cfg(target_os = "linux")]
const SMALL_PAGES: usize = 4 << 20;
const FIRST_PROBE: usize = 256 << 10;
/// The same of other slabs: a huge page. Under a hypervisor the more is taken the more it costs.
const PROBE: usize = 2 << 20;
/// Bytes of a small page.
const PAGE: usize = 4 << 10;

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
    reused: bool,
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
                reused: true,
                small: small.map_err(|()| Error::Memory { what, bytes })?,
            });
        }
        let spare = take_spare(bytes);
        let reused = spare.is_some();
        let mapped = spare.map_or_else(|| mapped(bytes, what), Ok)?;
        Ok(Slab {
            mapped: Some(mapped),
            small: Vec::new(),
            reused,
        })
    }

    /// Tells whether its memory was used before, so that touching it costs nothing more.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// Returns where its memory begins; writing there is up to those who share it.
    pub(super) fn start(&self) -> *const u8 {
        match &self.mapped {
            Some(slab) => slab.as_ptr(),
            None => self.small.as_ptr().cast(),
        }
    }

    /// Returns how many bytes it has.
    pub(super) fn len(&self) -> usize {
        match &self.mapped {
            Some(slab) => slab.len(),
            None => self.small.len() * size_of::<Line>(),
        }
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

/// Returns how many slabs of this size can be had that were used before.
pub(crate) fn reusable(bytes: usize) -> usize {
    match bytes {
        ..=SMALL_BYTES => A_FEW,
        _ => spare().iter().filter(|slab| fits(slab, bytes)).count(),
    }
}

/// Tells whether a slab that is kept serves who asks for so many bytes.
fn fits(slab: &MmapMut, bytes: usize) -> bool {
    (bytes..=FITTING * bytes.max(SLAB_BYTES)).contains(&slab.len())
}

/// Takes the smallest slab from the pool that serves.
fn take_spare(bytes: usize) -> Option<MmapMut> {
    let mut spare = spare();
    let sizes = (spare.iter().enumerate()).filter(|(_, slab)| fits(slab, bytes));
    let (at, _) = sizes.min_by_key(|(_, slab)| slab.len())?;
    Some(spare.swap_remove(at))
}

/// Asks the system for pages.
fn mapped(bytes: usize, what: &'static str) -> Result<MmapMut> {
    let usual = bytes.max(SLAB_BYTES);
    let slab = MmapMut::map_anon(usual).or_else(|_| {
        give_back();
        MmapMut::map_anon(bytes)
    });
    let mut slab = slab.map_err(|_| Error::Memory { what, bytes })?;
    let first = locked(COST.get()).bytes == 0.0;
    #[cfg(target_os = "linux")]
    {
        let small = if first { SMALL_PAGES } else { 0 };
        let rest = slab.len().saturating_sub(small);
        // Advice only: where the system has no huge pages small ones will do.
        let _ = slab.advise_range(memmap2::Advice::HugePage, small, rest);
    }
    probe(&mut slab, if first { FIRST_PROBE } else { PROBE });
    Ok(slab)
}

/// What a byte of fresh memory cost so far, on average.
#[derive(Default)]
struct Cost {
    nanoseconds: f64,
    bytes: f64,
}

static COST: PerProcess<Mutex<Cost>> = PerProcess::new();

/// Touches the pages of a slab that are wanted first, and notes what that costs.
fn probe(slab: &mut MmapMut, bytes: usize) {
    let started = Instant::now();
    let pages = slab.iter_mut().take(bytes).step_by(PAGE);
    let count = pages.map(|byte| *byte = 1).count();
    let mut cost = locked(COST.get());
    cost.nanoseconds += started.elapsed().as_secs_f64() * 1e9;
    cost.bytes += (count * PAGE) as f64;
}

/// Returns the nanoseconds of one thread for a byte of fresh memory, as they were in this process.
pub(crate) fn fresh_cost() -> f64 {
    let cost = locked(COST.get());
    match cost.bytes > 0.0 {
        true => (cost.nanoseconds / cost.bytes).min(DEAREST),
        false => USUAL_COST,
    }
}

#[cfg(target_os = "linux")]
impl Drop for Slab {
    fn drop(&mut self) {
        let Some(slab) = self.mapped.take() else {
            return;
        };
        let kept: usize = spare().iter().map(|slab| slab.len()).sum();
        if slab.len() < SLAB_BYTES || kept + slab.len() > KEPT_BYTES {
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
