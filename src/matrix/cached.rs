//! CachedRows: rows of a kernel matrix, computed in blocks and kept, and what the solvers do with
//! them: the small matrix of a block, and multiples of rows added to the gradient.

use super::cache::RowCache;
use super::kernel_matrix::KernelMatrix;
use super::order::Order;
use super::rows::shared::Shareable;
use super::rows::{RowSource, Term, Terms, add_in_parallel, rounded};
use super::worth::Worth;
use crate::error::{Error, Polled, Result, Stop};
use crate::kernel::PANEL;
use crate::simd::{Real, slab};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Variables up to which a problem is small. So many rows of f32 stay in the caches of the
/// processor: the values of a block are gathered from rows that serve other problems too.
pub(crate) const SMALL_PROBLEM: usize = 3000;

/// Rows of a [`KernelMatrix`] in precision `T`.
pub(crate) struct CachedRows<'a, T> {
    matrix: &'a KernelMatrix<'a>,
    order: Order,
    source: Box<dyn RowSource<T> + 'a>,
    cache: RowCache<T>,
    /// Rows computed without being kept.
    passed: u64,
    /// Which rows are kept.
    pub(super) worth: Worth,
    /// Whether values are rounded to f32 although T is f64: see [`CachedRows::rounded`].
    pub(super) rounded: bool,
    /// Time spent on kernel values.
    kernel_time: Duration,
    traffic: Traffic,
}

/// What has been added to a gradient, from which the rounding in it is bounded.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// The sizes of the multiples of each variable's row, added up.
    pub moved: Vec<f64>,
    /// How many rows there were.
    pub rows: u64,
}

impl<'a, T: Shareable> CachedRows<'a, T> {
    /// Begins with an empty cache and the natural order.
    pub fn new(matrix: &'a KernelMatrix<'a>, bytes: usize) -> Result<Self> {
        let (source, samples) = (matrix.source(), matrix.description().samples);
        let gathered = source.is_shared() && matrix.len() <= SMALL_PROBLEM;
        Ok(CachedRows {
            matrix,
            order: Order::natural(matrix.len()),
            worth: Worth::new(samples, matrix.len(), size_of::<T>(), gathered),
            source,
            cache: RowCache::new(matrix.len(), matrix.len(), bytes)?,
            passed: 0,
            rounded: false,
            kernel_time: Duration::ZERO,
            traffic: Traffic::none(matrix.len()),
        })
    }

    /// Computes in T but rounds every value to f32, as LIBSVM's rows are.
    pub fn rounded(mut self) -> Self {
        self.source = rounded(self.matrix.source());
        self.rounded = true;
        self
    }

    /// Tells whether values are as good as f64 can be.
    pub fn is_double(&self) -> bool {
        size_of::<T>() == 8 && !self.rounded
    }

    /// Returns the roundoff of its values.
    pub fn roundoff(&self) -> f64 {
        match self.is_double() {
            true => f64::ROUNDOFF,
            false => f32::ROUNDOFF,
        }
    }

    /// Tells whether a value is the same whenever it is computed: what was added and is taken away
    /// again leaves no error then.
    pub fn is_repeatable(&self) -> bool {
        self.source.is_repeatable()
    }

    /// Returns what has been added to the gradient.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Begins to count anew what is added to the gradient.
    pub fn forget_traffic(&mut self) {
        self.traffic = Traffic::none(self.matrix.len());
    }

    /// Returns the order of the entries of rows.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Returns the time spent on kernel values so far.
    pub fn kernel_time(&self) -> Duration {
        self.kernel_time
    }

    /// Returns how many rows the cache holds at the most.
    pub fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// Returns how many rows are held.
    pub fn held(&self) -> usize {
        self.cache.len()
    }

    /// Returns the counters: cache hits, cache misses, and of these the rows that were not kept.
    pub fn counters(&self) -> [u64; 3] {
        [
            self.cache.hits(),
            self.cache.misses() + self.passed,
            self.passed,
        ]
    }

    /// Makes the leading `length` entries of the rows of the given variables (at most
    /// [`capacity`](Self::capacity) of them, distinct) available to [`row`](Self::row), until
    /// the next call.
    pub fn fetch(&mut self, variables: &[u32], length: usize, stop: Stop) -> Polled<()> {
        if self.lends() {
            return self.provide(variables, stop);
        }
        debug_assert!(variables.len() <= self.capacity());
        // Touching what is there before making room keeps the block from evicting itself.
        let mut missing: Vec<u32> = Vec::new();
        for &variable in variables {
            if self.cache.get(variable, length).is_none() {
                missing.push(variable);
            }
        }
        let slots = missing
            .iter()
            .map(|&variable| self.cache.insert(variable))
            .collect::<Result<Vec<u32>>>()?;
        if variables.len() > self.capacity() {
            // The system refused the memory for so many rows.
            let bytes = variables.len() * self.order.len() * size_of::<T>();
            let what = "the kernel rows of a block";
            return Err(Error::Memory { what, bytes }.into());
        }
        let mut todo: Vec<(usize, u32, u32)> = missing
            .iter()
            .zip(&slots)
            .map(|(&variable, &slot)| (self.cache.length(slot) / PANEL * PANEL, variable, slot))
            .collect();
        // Rows that are valid up to the same entry are completed together.
        todo.sort_by_key(|&(start, ..)| start);
        for group in todo.chunk_by(|a, b| a.0 == b.0) {
            let variables: Vec<u32> = group.iter().map(|&(_, variable, _)| variable).collect();
            let slots: Vec<u32> = group.iter().map(|&(.., slot)| slot).collect();
            self.compute(&variables, &slots, group[0].0..length, stop)?;
        }
        Ok(())
    }

    /// Sees to it that the rows of variables can be lent.
    fn provide(&mut self, variables: &[u32], stop: Stop) -> Polled<()> {
        let started = Instant::now();
        let provided = self.source.provide(variables, stop);
        self.kernel_time += started.elapsed();
        provided
    }

    /// Computes entries of rows into their slots, which are valid up to `positions.start`.
    fn compute(
        &mut self,
        variables: &[u32],
        slots: &[u32],
        positions: Range<usize>,
        stop: Stop,
    ) -> Polled<()> {
        let started = Instant::now();
        let (source, order) = (&mut self.source, &self.order);
        let computed = self.cache.try_fill(slots, positions.end, |out| {
            let mut out: Vec<&mut [T]> = out
                .iter_mut()
                .map(|row| &mut row[positions.start..])
                .collect();
            source.fill(order, variables, positions, &mut out, stop)
        });
        self.kernel_time += started.elapsed();
        computed
    }

    /// Adds multiples of rows to `gradient`, which belongs to the positions from `start` on. Rows
    /// that are held are used, rows worth keeping are computed and kept, and the others are
    /// computed without being written anywhere. If that is stopped the gradient is incomplete.
    pub fn add(
        &mut self,
        changes: &[Change],
        start: usize,
        gradient: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        for change in changes {
            self.traffic.moved[change.variable as usize] += change.factor.abs();
        }
        self.traffic.rows += changes.len() as u64;
        if self.lends() {
            let (terms, end) = (terms(changes), start + gradient.len());
            self.provide(&terms.variables, stop)?;
            let rows: Vec<&[T]> = (terms.variables.iter())
                .map(|&variable| &self.row(variable)[start..end])
                .collect();
            add_in_parallel(&terms.factors, &rows, gradient);
            return Ok(());
        }
        let is_held = |change: &&Change| self.cache.peek(change.variable).is_some();
        let held = changes.iter().filter(is_held).count();
        if self.source.prefers_add(changes.len() - held, held) {
            return self.add_passing(changes, start, gradient, stop);
        }
        let kept = self.choose(changes, gradient.len());
        // A cache too small for all rows takes them in turns.
        for turn in turns(&kept, self.capacity()) {
            self.add_turn(&changes[turn.clone()], &kept[turn], start, gradient, stop)?;
        }
        Ok(())
    }

    /// Tells which rows to keep, of which so many entries are wanted. That is for speed alone: sums do
    /// not depend on it where values are repeatable.
    fn choose(&mut self, changes: &[Change], length: usize) -> Vec<bool> {
        let precious = self.source.is_precious();
        // What is at hand and what it costs may differ from fit to fit.
        let repeatable = self.source.is_repeatable();
        let (mut at_hand, fresh) = match repeatable {
            true => (self.cache.rows_at_hand(), slab::fresh_cost()),
            false => (0, slab::USUAL_COST),
        };
        let row = self.order.len();
        self.worth.weigh(self.held() * row * size_of::<T>(), fresh);
        let mut keep = |change: &Change| {
            if precious || self.cache.peek(change.variable).is_some() {
                return true;
            }
            let worth = self.worth.count(change.variable, length);
            if !change.keep || at_hand == 0 {
                return change.keep && worth;
            }
            at_hand -= 1;
            true
        };
        changes.iter().map(&mut keep).collect()
    }

    /// Adds multiples of rows of which no more are to be kept than there is room for.
    fn add_turn(
        &mut self,
        changes: &[Change],
        kept: &[bool],
        start: usize,
        gradient: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let end = start + gradient.len();
        let chosen = changes.iter().zip(kept).filter(|(_, kept)| **kept);
        let variables: Vec<u32> = chosen.map(|(change, _)| change.variable).collect();
        self.fetch(&variables, end, stop)?;
        let cache = &self.cache;
        let row = |variable| {
            cache
                .peek(variable)
                .map(|slot| &cache.row(slot)[start..end])
        };
        let changes = changes.iter().zip(kept);
        let terms: Vec<Term<T>> = changes
            .map(|(change, &kept)| Term {
                variable: change.variable,
                factor: change.factor,
                row: kept.then(|| row(change.variable)).flatten(),
            })
            .collect();
        let held: Option<Vec<&[T]>> = terms.iter().map(|term| term.row).collect();
        if let Some(rows) = held {
            let factors: Vec<f64> = terms.iter().map(|term| term.factor).collect();
            add_in_parallel(&factors, &rows, gradient);
            return Ok(());
        }
        self.passed += (terms.len() - variables.len()) as u64;
        let started = Instant::now();
        let order = &self.order;
        let added = (self.source).add_beside(order, &terms, start, gradient, stop);
        self.kernel_time += started.elapsed();
        added
    }

    /// Adds multiples of rows that are not kept.
    fn add_passing(
        &mut self,
        changes: &[Change],
        start: usize,
        gradient: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let started = Instant::now();
        let terms = terms(changes);
        let added = self.source.add(&self.order, &terms, start, gradient, stop);
        self.kernel_time += started.elapsed();
        added
    }

    /// Computes the small matrix of the given variables into rows of `stride` numbers.
    ///
    /// It is computed rather than gathered from rows: gathering reads a cache line for every value,
    /// and the rows may never be needed. Small problems whose rows serve other problems gather it.
    pub fn block<B: Shareable>(
        &mut self,
        variables: &[u32],
        out: &mut [B],
        stride: usize,
        stop: Stop,
    ) -> Polled<()> {
        let size = variables.len();
        let small = self.order.len() <= SMALL_PROBLEM && size <= self.capacity();
        let shared = self.source.is_shared() && self.order.is_natural();
        if size_of::<B>() == size_of::<T>() && small && shared {
            self.fetch(variables, self.order.len(), stop)?;
            for (out, &variable) in out.chunks_mut(stride).zip(variables) {
                let row = self.row(variable);
                for (entry, &column) in out.iter_mut().zip(variables) {
                    *entry = B::from_f64(row[column as usize].to_f64());
                }
            }
            return Ok(());
        }
        let started = Instant::now();
        let mut source = match self.rounded {
            true => rounded(self.matrix.source::<B>()),
            false => self.matrix.source::<B>(),
        };
        let computed = source.block(variables, out, stride, stop);
        self.kernel_time += started.elapsed();
        computed
    }

    /// Tells whether rows need not be fetched.
    pub fn lends(&self) -> bool {
        self.source.lends() && self.order.is_natural()
    }

    /// Tells whether the whole row of a variable is held.
    pub fn holds(&self, variable: u32) -> bool {
        if self.lends() {
            return self.source.lend(variable).is_some();
        }
        let slot = self.cache.peek(variable);
        slot.is_some_and(|slot| self.cache.length(slot) == self.order.len())
    }

    /// Returns the row of a variable that was just fetched.
    ///
    /// # Panics
    /// If it is not held.
    pub fn row(&self, variable: u32) -> &[T] {
        if self.order.is_natural()
            && let Some(row) = self.source.lend(variable)
        {
            return row;
        }
        match self.cache.peek(variable) {
            Some(slot) => self.cache.row(slot),
            None => panic!("row {variable} was not fetched"),
        }
    }

    /// Tells whether rows serve other matrices too.
    pub fn is_shared(&self) -> bool {
        self.source.is_shared()
    }

    /// Tells whether rows are read from memory, so that a row alone costs no more than one of many.
    pub fn is_stored(&self) -> bool {
        self.source.is_stored()
    }

    /// Returns the leading `length` entries of the rows of two variables, which are fetched if need be,
    /// and what follows them up to a whole chunk.
    pub fn pair(&mut self, i: u32, j: u32, length: usize, stop: Stop) -> Polled<[&[T]; 2]> {
        let held = |rows: &mut Self, variable| rows.cache.get(variable, length);
        let slots = match (held(self, i), held(self, j)) {
            (Some(i), Some(j)) => [i, j],
            _ => {
                let both = [i, j];
                self.fetch(&both[..1 + usize::from(i != j)], length, stop)?;
                both.map(|variable| self.cache.peek(variable).unwrap_or_default())
            }
        };
        Ok(slots.map(|slot| self.cache.chunks(slot, length)))
    }

    /// Puts the positions back in order of variables.
    pub(super) fn restore(&mut self) {
        if !self.order.is_natural() {
            let inverse = self.order.inverse().to_vec();
            self.reorder(&inverse);
        }
    }

    /// Reorders the leading positions: position p now holds what position `order[p]` held.
    pub fn reorder(&mut self, order: &[u32]) {
        self.order.rearrange(order);
        self.cache.reorder(order);
        self.source.reordered();
    }
}

impl Traffic {
    fn none(variables: usize) -> Self {
        Traffic {
            moved: vec![0.0; variables],
            rows: 0,
        }
    }
}

/// A multiple of the row of a variable, and whether the row is worth keeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub variable: u32,
    pub factor: f64,
    pub keep: bool,
}

fn terms(changes: &[Change]) -> Terms {
    let changes = changes.iter();
    changes
        .map(|change| (change.variable, change.factor))
        .collect()
}

/// Cuts rows into runs of which no more than so many are to be kept.
fn turns(kept: &[bool], most: usize) -> Vec<Range<usize>> {
    let (mut turns, mut start, mut count) = (Vec::new(), 0, 0);
    for (at, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        if count == most {
            turns.push(start..at);
            (start, count) = (at, 0);
        }
        count += 1;
    }
    turns.push(start..kept.len());
    turns
}
