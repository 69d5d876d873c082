//! Reserve: memory held back so that a call that runs out of it ends with a `MemoryError`.
//!
//! Large pieces of memory are asked for where a refusal is an error. The many small ones (a vector of
//! one number per row, a string, a list of tasks) are not: the standard library ends the process if
//! one of them is refused. So a reserve is mapped that nobody touches: one that stands from call to
//! call, and one for each call that is large. When the system refuses a small piece, the allocator
//! of this extension gives up all reserves and asks again; the calls that run notice, stop and
//! raise. When a large call ends, its reserve is given back, so that there is memory for what it
//! returns.

use crate::error::Result;
use crate::simd::memory;
use memmap2::MmapMut;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

/// Bytes of the reserve that stands.
const STANDING: usize = 16 << 20;
/// Bytes held for each row: several times what is allocated between two looks at the reserve.
const PER_ROW: usize = 256;
/// The share of a reserve up to which a piece counts as small.
const SMALL: usize = 8;
/// Large calls at the same time that can hold a reserve, and one; further ones go without.
const SLOTS: usize = 65;
/// How often a piece is asked for while another thread is giving up reserves.
const ATTEMPTS: usize = 100;

/// What an error calls a reserve.
const WHAT: &str = "the memory held back for a call";

/// The states of a slot. Whoever changes a slot to `BUSY` has it to himself.
const EMPTY: u8 = 0;
const BUSY: u8 = 1;
const HELD: u8 = 2;
const SPENT: u8 = 3;

/// A place for one reserve. The allocator reads them, so they neither lock nor allocate.
struct Slot {
    state: AtomicU8,
    /// The size of the last reserve.
    bytes: AtomicUsize,
    memory: UnsafeCell<Option<MmapMut>>,
}

// SAFETY: `memory` is used only by the thread that has changed the state to `BUSY`.
unsafe impl Sync for Slot {}

/// The reserve that stands, then those of calls.
static RESERVES: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
/// How often reserves were given up.
static SPENDS: AtomicUsize = AtomicUsize::new(0);

impl Slot {
    const fn new() -> Self {
        Slot {
            state: AtomicU8::new(EMPTY),
            bytes: AtomicUsize::new(0),
            memory: UnsafeCell::new(None),
        }
    }

    /// Exchanges what is in the slot, if it is in the state `from`, and leaves it in the state `to`.
    fn exchange(&self, from: u8, to: u8, memory: &mut Option<MmapMut>) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let mine = (self.state).compare_exchange(from, BUSY, success, failure);
        if mine.is_ok() {
            // SAFETY: the slot is busy, and this thread made it so.
            let held = unsafe { &mut *self.memory.get() };
            std::mem::swap(held, memory);
            if let Some(held) = held {
                self.bytes.store(held.len(), Ordering::Relaxed);
            }
            self.state.store(to, Ordering::Release);
        }
        mine.is_ok()
    }
}

/// What is held during a call.
pub(super) struct Reserve {
    /// Where the reserve of the call itself is.
    own: Option<&'static Slot>,
    /// How often reserves had been given up when the call began.
    spends: usize,
}

impl Reserve {
    /// Makes sure that there is a reserve for a small call.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn stand() -> Result<Self> {
        let spends = SPENDS.load(Ordering::Relaxed);
        let standing = &RESERVES[0];
        let state = standing.state.load(Ordering::Relaxed);
        if state == EMPTY || state == SPENT {
            let mut memory = Some(memory::map(STANDING, WHAT)?);
            // If it is no longer in that state, another call has done it.
            standing.exchange(state, HELD, &mut memory);
        }
        Ok(Reserve { own: None, spends })
    }

    /// Holds a reserve for a large call, on so many rows.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn hold(rows: usize) -> Result<Self> {
        let standing = Self::stand()?;
        let bytes = STANDING.saturating_add(rows.saturating_mul(PER_ROW));
        let mut memory = Some(memory::map(bytes, WHAT)?);
        let mut slots = RESERVES[1..].iter();
        Ok(Reserve {
            own: slots.find(|slot| slot.exchange(EMPTY, HELD, &mut memory)),
            ..standing
        })
    }

    /// Tells whether reserves were given up since the call began.
    pub fn is_spent(&self) -> bool {
        SPENDS.load(Ordering::Relaxed) != self.spends
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        let Some(slot) = self.own else { return };
        let mut memory = None; // given back when the slot is free
        for _ in 0..ATTEMPTS {
            if slot.exchange(HELD, EMPTY, &mut memory) || slot.exchange(SPENT, EMPTY, &mut memory) {
                return;
            }
            thread::yield_now(); // another thread is giving it up
        }
    }
}

/// Gives up all reserves. Returns whether there is hope that memory has become free.
fn spend() -> bool {
    let mut hope = false;
    for slot in &RESERVES {
        let mut memory = None;
        if slot.exchange(HELD, SPENT, &mut memory) {
            SPENDS.fetch_add(1, Ordering::Relaxed);
        }
        hope |= memory.is_some() || slot.state.load(Ordering::Relaxed) == BUSY;
    }
    hope
}

/// Returns the size of the largest reserve that is held, or was by a call that runs.
fn largest() -> usize {
    let used = |slot: &&Slot| slot.state.load(Ordering::Relaxed) != EMPTY;
    let bytes = |slot: &Slot| slot.bytes.load(Ordering::Relaxed);
    RESERVES.iter().filter(used).map(bytes).max().unwrap_or(0)
}

/// Asks again for a piece of so many bytes that was refused.
#[cold]
fn ask_again(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    if bytes > largest() / SMALL {
        return std::ptr::null_mut();
    }
    for _ in 0..ATTEMPTS {
        let hope = spend();
        let piece = ask();
        if !piece.is_null() || !hope {
            return piece;
        }
        thread::yield_now();
    }
    std::ptr::null_mut()
}

/// The allocator of the system, with the reserves behind it.
struct Frugal;

#[global_allocator]
static ALLOCATOR: Frugal = Frugal;

// SAFETY: every piece comes from the allocator of the system and goes back to it.
unsafe impl GlobalAlloc for Frugal {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        let ask = || unsafe { System.alloc(layout) };
        let piece = ask();
        match piece.is_null() {
            true => ask_again(layout.size(), ask),
            false => piece,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let ask = || unsafe { System.alloc_zeroed(layout) };
        let piece = ask();
        match piece.is_null() {
            true => ask_again(layout.size(), ask),
            false => piece,
        }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; a refusal leaves the old piece as it was.
        let ask = || unsafe { System.realloc(old, layout, size) };
        let piece = ask();
        match piece.is_null() {
            true => ask_again(size, ask),
            false => piece,
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(piece, layout) }
    }
}
