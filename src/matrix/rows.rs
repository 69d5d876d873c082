//! The rows of a kernel matrix, computed in blocks and cached, and what the solvers do with them: the
//! small matrix of a block, and multiples of rows added to the gradient.

use super::cache::RowCache;
use super::classes::Pair;
use super::{KernelMatrix, Precision, Stop};
use crate::error::Result;
use crate::kernel::{Columns, Kernel, PANEL, add_multiples};
use crate::simd::{Isa, Real};
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Bytes up to which every row is kept: memory that has been used before costs little, fresh memory
/// more than computing a row of few features again.
const ROOM: usize = 1 << 27;
/// Variables up to which the values of a block are gathered from rows, where these serve other
/// problems too: so many rows stay in the caches of the processor.
const GATHERED: usize = 3000;
/// Rows of the linear kernel that are computed in the time of a pass over all samples.
const ROWS_PER_PASS: f64 = 32.0;
/// Columns of the gradient a thread updates at a time.
const UPDATE_COLUMNS: usize = 4096;

/// Rows of a [`KernelMatrix`] in precision `T`, computed in blocks and cached.
pub(crate) struct CachedRows<'a, T> {
    matrix: &'a KernelMatrix<'a>,
    /// The variable at each position.
    order: Vec<u32>,
    /// The columns in order, for kernels evaluated in tiles, packed when they are needed.
    columns: Option<Columns<T>>,
    cache: RowCache<T>,
    /// Rows computed without being kept.
    passed: u64,
    /// Bytes up to which every row is kept.
    pub(super) room: usize,
    /// Whether values are rounded to f32 although T is f64: see [`CachedRows::rounded`].
    pub(super) rounded: bool,
    /// Time spent on kernel values.
    kernel_time: Duration,
}

impl<'a, T: Precision> CachedRows<'a, T> {
    /// Begins with an empty cache, columns in order of variables.
    pub fn new(matrix: &'a KernelMatrix<'a>, bytes: usize) -> Result<Self> {
        Ok(CachedRows {
            matrix,
            order: (0..matrix.len() as u32).collect(),
            columns: None,
            cache: RowCache::new(matrix.len(), matrix.len(), bytes)?,
            passed: 0,
            room: ROOM,
            rounded: false,
            kernel_time: Duration::ZERO,
        })
    }

    /// Computes in T but rounds every value to f32, as LIBSVM's rows are.
    pub fn rounded(mut self) -> Self {
        self.rounded = true;
        self
    }

    /// Tells whether values are as good as f64 can be.
    pub fn is_double(&self) -> bool {
        size_of::<T>() == 8 && !self.rounded
    }

    /// Packs the columns, if the kernel is evaluated in tiles.
    fn pack(&mut self) {
        let matrix = self.matrix;
        if self.columns.is_none() && matrix.kernel.is_tiled() {
            let index = self.samples_at(0..self.order.len());
            self.columns = Some(Columns::new(&matrix.kernel, matrix.source(), &index));
        }
    }

    /// Returns the classes of the variables, if their kernel values are shared and the positions
    /// are in order of variables.
    fn pair(&self) -> Option<Pair<'a>> {
        let in_order = || (0..).zip(&self.order).all(|(at, &variable)| at == variable);
        self.matrix.pair.filter(|_| !self.rounded && in_order())
    }

    fn samples_at(&self, positions: std::ops::Range<usize>) -> Vec<usize> {
        self.matrix.samples_of(&self.order[positions])
    }

    /// Returns the time spent on kernel values so far.
    pub fn kernel_time(&self) -> Duration {
        self.kernel_time
    }

    /// Returns how many rows the cache holds at the most.
    pub fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// Returns the counters: cache hits, cache misses.
    pub fn counters(&self) -> (u64, u64) {
        (self.cache.hits(), self.cache.misses() + self.passed)
    }

    /// Makes the leading `length` entries of the rows of the given variables (at most
    /// [`capacity`](Self::capacity) of them, distinct) available to [`row`](Self::row), until
    /// the next call. Returns false if stopped; then none of them is.
    pub fn fetch(&mut self, variables: &[u32], length: usize, stop: Stop) -> Result<bool> {
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
            let done = self.compute(&variables, &slots, group[0].0..length, stop);
            if !matches!(done, Ok(true)) {
                for &variable in &missing {
                    self.cache.remove(variable);
                }
                return done;
            }
        }
        Ok(true)
    }

    fn compute(
        &mut self,
        variables: &[u32],
        slots: &[u32],
        positions: std::ops::Range<usize>,
        stop: Stop,
    ) -> Result<bool> {
        let started = Instant::now();
        let computed = self.compute_rows(variables, slots, positions, stop);
        self.kernel_time += started.elapsed();
        computed
    }

    fn compute_rows(
        &mut self,
        variables: &[u32],
        slots: &[u32],
        positions: std::ops::Range<usize>,
        stop: Stop,
    ) -> Result<bool> {
        let matrix = self.matrix;
        if let Some(pair) = self.pair().filter(|_| positions == (0..self.order.len())) {
            return Ok(self.cache.fill(slots, positions.end, |out| {
                let computed = pair.fill(variables, out, stop);
                matrix.count(computed.unwrap_or(0), 1);
                computed.is_some()
            }));
        }
        let rows = matrix.samples_of(variables);
        matrix.count(rows.len(), positions.len());
        self.pack();
        if let Some(columns) = &self.columns {
            let packed = columns.pack_rows(matrix.source(), &rows);
            return Ok(self.cache.fill(slots, positions.end, |out| {
                let mut out = tails(out, positions.start);
                let done = columns.fill(&packed, positions, &mut out, stop);
                if self.rounded {
                    out.iter_mut().for_each(|row| round(row));
                }
                done
            }));
        }
        let columns = self.samples_at(positions.clone());
        self.cache.fill(slots, positions.end, |out| {
            let mut out = tails(out, positions.start);
            matrix.given_rows(&rows, &columns, &mut out, stop)
        })
    }

    /// Adds multiples of rows to `gradient`, which belongs to the positions from `start` on. Rows
    /// that are held are used, rows worth keeping are computed and kept, and the others are
    /// computed without being written anywhere. Returns false if stopped: then the gradient is
    /// incomplete.
    pub fn add_to(
        &mut self,
        changes: &[Change],
        start: usize,
        gradient: &mut [f64],
        stop: Stop,
    ) -> Result<bool> {
        let end = start + gradient.len();
        if self.is_better_as_vector(changes) {
            let (variables, factors) = parts(changes);
            let terms = self.matrix.samples_of(&variables).into_iter().zip(factors);
            let rows = self.samples_at(start..end);
            let added = self.matrix.add_through_vector(terms, &rows, gradient, stop);
            return Ok(added);
        }
        let room = self.held() * self.order.len() * size_of::<T>() < self.room;
        let (kept, passing): (Vec<Change>, Vec<Change>) = changes.iter().partition(|change| {
            change.keep || room || self.rounded || self.cache.peek(change.variable).is_some()
        });
        // A cache too small for all rows takes them in turns.
        for changes in kept.chunks(self.capacity()) {
            let (variables, factors) = parts(changes);
            if !self.fetch(&variables, end, stop)? {
                return Ok(false);
            }
            let rows: Vec<&[T]> = variables
                .iter()
                .map(|&v| &self.row(v)[start..end])
                .collect();
            add_in_parallel(&factors, &rows, gradient);
        }
        if !passing.is_empty() {
            self.pack();
        }
        let Some(columns) = self.columns.as_ref().filter(|_| !passing.is_empty()) else {
            let all: Vec<Change> = passing
                .iter()
                .map(|c| Change { keep: true, ..*c })
                .collect();
            return Ok(all.is_empty() || self.add_to(&all, start, gradient, stop)?);
        };
        let (variables, factors) = parts(&passing);
        let rows = self.matrix.samples_of(&variables);
        self.matrix.count(rows.len(), gradient.len());
        self.passed += rows.len() as u64;
        let started = Instant::now();
        let packed = columns.pack_rows(self.matrix.source(), &rows);
        let added = columns.add_rows(&packed, &factors, start, gradient, stop);
        self.kernel_time += started.elapsed();
        Ok(added)
    }

    /// Tells whether changes are better added up as one vector, whose inner products with all samples
    /// are wanted then, than row by row: for the linear kernel, unless they are few. The rows that are
    /// missing are computed from columns packed for the purpose, those that are held are only read.
    fn is_better_as_vector(&self, changes: &[Change]) -> bool {
        let matrix = self.matrix;
        if !matches!(matrix.kernel, Kernel::Linear) {
            return false;
        }
        let held = changes
            .iter()
            .filter(|change| self.cache.peek(change.variable).is_some())
            .count();
        let numbers = 2.0 * matrix.samples.mean_entries().max(1.0);
        (changes.len() - held) as f64 / ROWS_PER_PASS + held as f64 / numbers > 1.0
    }

    /// Computes the small matrix of the given variables into rows of `stride` numbers. Returns
    /// false if stopped.
    pub fn block<B: Precision>(
        &mut self,
        variables: &[u32],
        out: &mut [B],
        stride: usize,
        stop: Stop,
    ) -> Result<bool> {
        let matrix = self.matrix;
        let size = variables.len();
        let small = self.order.len() <= GATHERED && size <= self.capacity();
        if size_of::<B>() == size_of::<T>() && small && self.pair().is_some() {
            if !self.fetch(variables, self.order.len(), stop)? {
                return Ok(false);
            }
            for (out, &variable) in out.chunks_mut(stride).zip(variables) {
                let row = self.row(variable);
                for (entry, &column) in out.iter_mut().zip(variables) {
                    *entry = B::from_f64(row[column as usize].to_f64());
                }
            }
            return Ok(true);
        }
        let index = matrix.samples_of(variables);
        let started = Instant::now();
        if matrix.kernel.is_tiled() {
            let columns = Columns::<B>::new(&matrix.kernel, matrix.source(), &index);
            let rows = columns.pack_rows(matrix.source(), &index);
            let computed = columns.fill_symmetric(&rows, out, stride, stop);
            matrix.count(computed.unwrap_or(0), 1);
            if self.rounded {
                round(out);
            }
            self.kernel_time += started.elapsed();
            return Ok(computed.is_some());
        }
        matrix.count(size, size);
        let mut out: Vec<&mut [B]> = out.chunks_mut(stride).map(|row| &mut row[..size]).collect();
        let given = matrix.given_rows(&index, &index, &mut out, stop);
        self.kernel_time += started.elapsed();
        given
    }

    /// Returns how many rows are held.
    pub fn held(&self) -> usize {
        self.cache.len()
    }

    /// Tells whether the whole row of a variable is held.
    pub fn holds(&self, variable: u32) -> bool {
        let slot = self.cache.peek(variable);
        slot.is_some_and(|slot| self.cache.length(slot) == self.order.len())
    }

    /// Returns the row of a variable that was just fetched.
    ///
    /// # Panics
    /// If it is not held.
    pub fn row(&self, variable: u32) -> &[T] {
        match self.cache.peek(variable) {
            Some(slot) => self.cache.row(slot),
            None => panic!("row {variable} was not fetched"),
        }
    }

    /// Puts the positions back in order of variables.
    pub(super) fn restore(&mut self) {
        let mut order = vec![0; self.order.len()];
        for (position, &variable) in (0..).zip(&self.order) {
            order[variable as usize] = position;
        }
        if order != self.order {
            self.reorder(&order);
        }
    }

    /// Reorders the leading positions: position p now holds what position `order[p]` held.
    pub fn reorder(&mut self, order: &[u32]) {
        let old: Vec<u32> = self.order[..order.len()].to_vec();
        for (variable, &from) in self.order.iter_mut().zip(order) {
            *variable = old[from as usize];
        }
        self.cache.reorder(order);
        self.columns = None;
    }
}

/// A multiple of the row of a variable, and whether the row is worth keeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub variable: u32,
    pub factor: f64,
    pub keep: bool,
}

/// The variables and the factors of changes.
fn parts(changes: &[Change]) -> (Vec<u32>, Vec<f64>) {
    let changes = changes.iter();
    changes
        .map(|change| (change.variable, change.factor))
        .unzip()
}

/// Rows from a position on.
fn tails<'r, T>(rows: &'r mut [&mut [T]], start: usize) -> Vec<&'r mut [T]> {
    rows.iter_mut().map(|row| &mut row[start..]).collect()
}

/// Adds multiples of rows to the gradient, in parallel over columns.
pub(crate) fn add_in_parallel<T: Real>(factors: &[f64], rows: &[&[T]], gradient: &mut [f64]) {
    let isa = Isa::detect();
    let serial = factors.len() * gradient.len() < 1 << 16;
    let add = |(chunk, gradient): (usize, &mut [f64])| {
        let start = chunk * UPDATE_COLUMNS;
        let rows: Vec<&[T]> = rows
            .iter()
            .map(|row| &row[start..start + gradient.len()])
            .collect();
        add_multiples(isa, factors, &rows, gradient);
    };
    if serial {
        gradient
            .chunks_mut(UPDATE_COLUMNS)
            .enumerate()
            .for_each(add);
    } else {
        gradient
            .par_chunks_mut(UPDATE_COLUMNS)
            .enumerate()
            .for_each(add);
    }
}

/// Rounds values to f32, keeping their type.
fn round<T: Real>(values: &mut [T]) {
    for value in values {
        *value = T::from_f64(f64::from(value.to_f64() as f32));
    }
}
