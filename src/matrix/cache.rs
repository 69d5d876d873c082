//! RowCache: the most recently used kernel rows, under a budget of bytes.
//!
//! It knows nothing of kernels. A row has a key (the variable) and a length: how many of its
//! leading entries are valid. Rows live in slots of equal size inside large slabs of memory. Slots
//! are linked in order of use; a new key takes a free slot or that of the least recently used row.
//!
//! Invariant: `slot_of[key_of[slot]] == slot` for every occupied slot, and the list links exactly
//! the occupied slots.

use crate::error::{Error, Result};
use crate::simd::slab::{self, SLAB_BYTES, SMALL_BYTES, Slab};
use crate::simd::{Real, parallel};

const NONE: u32 = u32::MAX;
/// Multiplications that take as long as moving one entry of a row to another place.
const WORK_PER_ENTRY: usize = 4;

/// Numbers that vectorised loops over rows take at a time.
pub(crate) const CHUNK: usize = 16;
/// Bytes of a cache that takes its memory from the heap, little by little.
const SMALL_CACHE: usize = 1 << 20;
/// Bytes after the last row of a slab, so that its last chunk is whole.
const PADDING: usize = CHUNK * size_of::<f64>();

/// Least-recently-used rows of `T` under a budget of bytes.
///
/// ```
/// use mercer::matrix::RowCache;
/// let mut cache = RowCache::<f32>::new(100, 4, 2 * 4 * 4)?; // room for two rows of four
/// let slot = cache.insert(7)?;
/// cache.fill(&[slot], 4, |rows| rows[0].fill(1.5));
/// assert_eq!(cache.get(7, 4), Some(slot));
/// cache.insert(8)?;
/// cache.insert(9)?; // evicts 7
/// assert_eq!(cache.get(7, 4), None);
/// assert_eq!((cache.hits(), cache.misses()), (1, 1));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct RowCache<T> {
    slot_of: Vec<u32>,
    key_of: Vec<u32>,
    length_of: Vec<usize>,
    /// Neighbours in order of use; `newer[slot]` of the newest and `older[slot]` of the oldest
    /// are NONE.
    newer: Vec<u32>,
    older: Vec<u32>,
    newest: u32,
    oldest: u32,
    free: Vec<u32>,
    capacity: usize,
    row_length: usize,
    /// The distance between rows: the row length, rounded up to cache lines.
    stride: usize,
    slabs: Vec<Slab>,
    rows_per_slab: usize,
    hits: u64,
    misses: u64,
    number: std::marker::PhantomData<T>,
}

impl<T: Real> RowCache<T> {
    /// Makes a cache for keys below `keys` and rows of up to `row_length` numbers, holding as many
    /// rows as fit `bytes`, at least two. Memory is taken as rows come.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let cache = RowCache::<f32>::new(1000, 16, 5 * 16 * 4)?;
    /// assert_eq!(cache.capacity(), 5);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the sizes overflow.
    pub fn new(keys: usize, row_length: usize, bytes: usize) -> Result<Self> {
        // Rows start on cache lines.
        let stride = row_length.max(1).next_multiple_of(64 / size_of::<T>());
        let capacity = (bytes / (stride * size_of::<T>())).clamp(2, keys.max(2));
        let row_bytes = stride * size_of::<T>();
        let slab_bytes = match capacity * row_bytes <= SMALL_CACHE {
            true => SMALL_BYTES,
            false => SLAB_BYTES,
        };
        let rows_per_slab = ((slab_bytes - PADDING) / row_bytes).clamp(1, capacity);
        if u32::try_from(keys).is_err() {
            return Err(Error::parameter("X", "of fewer than 2^32 rows", keys));
        }
        Ok(RowCache {
            slot_of: vec![NONE; keys],
            key_of: Vec::new(),
            length_of: Vec::new(),
            newer: Vec::new(),
            older: Vec::new(),
            newest: NONE,
            oldest: NONE,
            free: Vec::new(),
            capacity,
            row_length,
            stride,
            slabs: Vec::new(),
            rows_per_slab,
            hits: 0,
            misses: 0,
            number: std::marker::PhantomData,
        })
    }

    /// Returns how many rows fit.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// assert_eq!(RowCache::<f32>::new(10, 3, 0)?.capacity(), 2); // never fewer
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many rows are held.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// cache.insert(7)?;
    /// assert_eq!(cache.len(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.key_of.len() - self.free.len()
    }

    /// Tells whether no row is held.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// assert!(RowCache::<f64>::new(10, 3, 1 << 10)?.is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many look-ups found their row.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// cache.insert(7)?;
    /// cache.get(7, 0);
    /// assert_eq!(cache.hits(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns how many look-ups did not.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// cache.get(7, 0);
    /// assert_eq!(cache.misses(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Looks a row up, marks it as used, and returns its slot if at least `length` entries of it
    /// are valid.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// cache.fill(&[slot], 2, |rows| rows[0].fill(1.0));
    /// assert_eq!(cache.get(7, 2), Some(slot));
    /// assert_eq!(cache.get(7, 3), None); // too short
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn get(&mut self, key: u32, length: usize) -> Option<u32> {
        let slot = self.slot_of[key as usize];
        if slot != NONE && self.length_of[slot as usize] >= length {
            self.unlink(slot);
            self.link_newest(slot);
            self.hits += 1;
            return Some(slot);
        }
        self.misses += 1;
        None
    }

    /// Returns the slot of a row without marking it as used, however long it is.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// assert_eq!((cache.peek(7), cache.peek(8)), (Some(slot), None));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn peek(&self, key: u32) -> Option<u32> {
        let slot = self.slot_of[key as usize];
        (slot != NONE).then_some(slot)
    }

    /// Returns how many leading entries of the row in a slot are valid.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// assert_eq!(cache.length(slot), 0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn length(&self, slot: u32) -> usize {
        self.length_of[slot as usize]
    }

    /// Gives `key` a slot as the most recently used row; if it has none, a free one or that of
    /// the least recently used row. The row keeps its valid entries if it had a slot.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// assert_eq!(cache.insert(7)?, slot);
    /// assert_ne!(cache.insert(8)?, slot);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses memory and no row is held that could make way.
    pub fn insert(&mut self, key: u32) -> Result<u32> {
        if let Some(slot) = self.peek(key) {
            self.unlink(slot);
            self.link_newest(slot);
            return Ok(slot);
        }
        let slot = if let Some(slot) = self.free.pop() {
            slot
        } else if self.key_of.len() < self.capacity {
            self.new_slot()?
        } else {
            self.evict()
        };
        self.slot_of[key as usize] = slot;
        self.key_of[slot as usize] = key;
        self.length_of[slot as usize] = 0;
        self.link_newest(slot);
        Ok(slot)
    }

    /// Returns the valid entries of a slot.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// cache.fill(&[slot], 2, |rows| rows[0].copy_from_slice(&[1.0, 2.0]));
    /// assert_eq!(cache.row(slot), [1.0, 2.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn row(&self, slot: u32) -> &[T] {
        let slot = slot as usize;
        let slab = bytemuck::cast_slice::<u8, T>(self.slabs[slot / self.rows_per_slab].bytes());
        &slab[slot % self.rows_per_slab * self.stride..][..self.length_of[slot]]
    }

    /// Returns the entries of a slot up to the next whole chunk after `length`; those that are not
    /// valid are any numbers, those of the next row among them, or NaN.
    pub(crate) fn chunks(&self, slot: u32, length: usize) -> &[T] {
        let slot = slot as usize;
        let slab = bytemuck::cast_slice::<u8, T>(self.slabs[slot / self.rows_per_slab].bytes());
        &slab[slot % self.rows_per_slab * self.stride..][..length.next_multiple_of(CHUNK)]
    }

    /// Lets `write` fill the leading `length` entries of distinct slots, given in their order, and
    /// then marks them valid.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slots = [cache.insert(7)?, cache.insert(8)?];
    /// cache.fill(&slots, 1, |rows| {
    ///     rows[0][0] = 7.0;
    ///     rows[1][0] = 8.0;
    /// });
    /// assert_eq!(cache.row(slots[1]), [8.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Panics
    /// If a slot is named twice or `length` exceeds the row length.
    pub fn fill<R>(
        &mut self,
        slots: &[u32],
        length: usize,
        write: impl FnOnce(&mut [&mut [T]]) -> R,
    ) -> R {
        let written = |rows: &mut [&mut [T]]| Ok::<R, std::convert::Infallible>(write(rows));
        let Ok(result) = self.try_fill(slots, length, written);
        result
    }

    /// Does the same with a `write` that may fail: then the rows keep the valid entries they had.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// let failed: Result<(), &str> = cache.try_fill(&[slot], 3, |_| Err("no values"));
    /// assert_eq!((failed, cache.length(slot)), (Err("no values"), 0));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `write`.
    ///
    /// # Panics
    /// If a slot is named twice or `length` exceeds the row length.
    pub fn try_fill<R, E>(
        &mut self,
        slots: &[u32],
        length: usize,
        write: impl FnOnce(&mut [&mut [T]]) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        assert!(
            length <= self.row_length,
            "a row has at most {} entries",
            self.row_length
        );
        if let &[slot] = slots {
            return self.try_fill_one(slot as usize, length, write);
        }
        let mut position = vec![NONE; self.key_of.len()];
        for (at, &slot) in slots.iter().enumerate() {
            let earlier = std::mem::replace(&mut position[slot as usize], at as u32);
            assert_eq!(earlier, NONE, "slots are distinct");
        }
        let mut rows: Vec<(u32, &mut [T])> = self
            .slabs
            .iter_mut()
            .flat_map(|slab| {
                bytemuck::cast_slice_mut::<u8, T>(slab.bytes_mut())
                    .chunks_exact_mut(self.stride)
                    .take(self.rows_per_slab)
            })
            .zip(&position)
            .filter(|&(_, &at)| at != NONE)
            .map(|(row, &at)| (at, &mut row[..length]))
            .collect();
        rows.sort_unstable_by_key(|&(at, _)| at);
        let mut rows: Vec<&mut [T]> = rows.into_iter().map(|(_, row)| row).collect();
        let result = write(&mut rows)?;
        for &slot in slots {
            let valid = &mut self.length_of[slot as usize];
            *valid = length.max(*valid);
        }
        Ok(result)
    }

    /// Fills a single slot, without looking at the others.
    fn try_fill_one<R, E>(
        &mut self,
        slot: usize,
        length: usize,
        write: impl FnOnce(&mut [&mut [T]]) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let slab = self.slabs[slot / self.rows_per_slab].bytes_mut();
        let row = &mut bytemuck::cast_slice_mut::<u8, T>(slab)
            [slot % self.rows_per_slab * self.stride..][..length];
        let result = write(&mut [row])?;
        self.length_of[slot] = length.max(self.length_of[slot]);
        Ok(result)
    }

    /// Forgets a row.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// cache.insert(7)?;
    /// cache.remove(7);
    /// assert_eq!(cache.peek(7), None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn remove(&mut self, key: u32) {
        if let Some(slot) = self.peek(key) {
            self.unlink(slot);
            self.slot_of[key as usize] = NONE;
            self.key_of[slot as usize] = NONE;
            self.length_of[slot as usize] = 0;
            self.free.push(slot);
        }
    }

    /// Reorders the leading entries of every row: entry p becomes what entry `order[p]` was. Rows
    /// shorter than `order` are forgotten.
    ///
    /// ```
    /// # use mercer::matrix::RowCache;
    /// let mut cache = RowCache::<f64>::new(10, 3, 1 << 10)?;
    /// let slot = cache.insert(7)?;
    /// cache.fill(&[slot], 3, |rows| rows[0].copy_from_slice(&[0.0, 1.0, 2.0]));
    /// cache.reorder(&[1, 0]);
    /// assert_eq!(cache.row(slot), [1.0, 0.0, 2.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn reorder(&mut self, order: &[u32]) {
        for slot in 0..self.key_of.len() {
            let key = self.key_of[slot];
            if key != NONE && self.length_of[slot] < order.len() {
                self.remove(key);
            }
        }
        let (stride, per_slab) = (self.stride, self.rows_per_slab);
        let occupied: Vec<bool> = self.key_of.iter().map(|&key| key != NONE).collect();
        let slots: Vec<&mut [T]> = self
            .slabs
            .iter_mut()
            .flat_map(|slab| {
                bytemuck::cast_slice_mut::<u8, T>(slab.bytes_mut())
                    .chunks_exact_mut(stride)
                    .take(per_slab)
            })
            .zip(&occupied)
            .filter_map(|(row, &occupied)| occupied.then_some(row))
            .collect();
        let work = slots.len() * order.len() * WORK_PER_ENTRY;
        parallel::for_each(slots, work, |old: &mut Vec<T>, row| {
            old.clear();
            old.extend_from_slice(&row[..order.len()]);
            for (entry, &from) in row.iter_mut().zip(order) {
                *entry = old[from as usize];
            }
        });
    }

    /// Returns how many more rows there is memory for that was used before, by other rows or other
    /// caches.
    pub(crate) fn rows_at_hand(&self) -> usize {
        let slots = self.slabs.len() * self.rows_per_slab - self.key_of.len();
        let begun = match self.slabs.last().is_some_and(Slab::is_reused) {
            true => slots,
            false => 0,
        };
        let spare = slab::reusable(self.slab_bytes()) * self.rows_per_slab;
        let room = self.capacity - self.len();
        (self.free.len() + begun + spare).min(room)
    }

    fn slab_bytes(&self) -> usize {
        self.rows_per_slab * self.stride * size_of::<T>() + PADDING
    }

    fn new_slot(&mut self) -> Result<u32> {
        let slot = self.key_of.len();
        if slot == self.slabs.len() * self.rows_per_slab {
            match Slab::new(self.slab_bytes(), "a cache of kernel rows") {
                Ok(slab) => self.slabs.push(slab),
                Err(refused) if self.is_empty() => return Err(refused),
                Err(_) => {
                    // Do with what there is.
                    self.capacity = slot;
                    return Ok(self.evict());
                }
            }
        }
        self.key_of.push(NONE);
        self.length_of.push(0);
        self.newer.push(NONE);
        self.older.push(NONE);
        Ok(slot as u32)
    }

    fn evict(&mut self) -> u32 {
        let slot = self.oldest;
        self.unlink(slot);
        self.slot_of[self.key_of[slot as usize] as usize] = NONE;
        slot
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = (self.newer[slot as usize], self.older[slot as usize]);
        match newer {
            NONE => self.newest = older,
            _ => self.older[newer as usize] = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.newer[older as usize] = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        self.newer[slot as usize] = NONE;
        self.older[slot as usize] = self.newest;
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.newer[newest as usize] = slot,
        }
        self.newest = slot;
    }
}
