//! Rows that several matrices over the same samples have in common.
//!
//! The samples fall into sets (the classes of a classifier, the folds of a cross-validation), and
//! each matrix is over the union of some of them. So samples are packed once, by set, and kernel
//! values within a set, which every matrix with that set needs, are computed once and kept, unless
//! two threads want the same row at the same moment or they cost less than the memory for them. Values
//! between two sets are computed anew for each matrix. Packed samples and rows together stay within a
//! budget of bytes; what does not fit is left to the matrices.

use super::source::{RowSource, Term, Terms};
use super::whole::{Part, PartRows};
use crate::data::Samples;
use crate::error::{Halt, Polled, Result, Stop};
use crate::kernel::{Columns, Kernel};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::matrix::worth::is_worth_a_copy;
use crate::simd::Real;
use crate::simd::once::Once;
use crate::simd::pieces::{Piece, Pieces};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes up to which all rows may be kept whatever they cost: the heap has them at hand.
const FEW_BYTES: usize = 4 << 20;

/// Sets of samples, for kernels evaluated in tiles.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    /// All samples, set after set.
    all: Description<'a>,
    /// Where the rows of each set begin in it, and where the last one ends.
    starts: Vec<usize>,
    single: Common<f32>,
    double: Common<f64>,
    /// Bytes that may still be taken.
    left: AtomicUsize,
    /// Where rows live.
    pieces: Pieces,
}

/// What is computed once, in precision T.
#[derive(Debug)]
pub(crate) struct Common<T> {
    /// The packed samples of each set; None where there was no room.
    columns: Vec<Once<Option<Columns<T>>>>,
    /// The kernel values of a sample with all of its set.
    rows: Vec<OnceLock<Piece<T>>>,
}

impl<T> Common<T> {
    fn new(sets: usize, rows: usize) -> Self {
        Common {
            columns: (0..sets).map(|_| Once::new()).collect(),
            rows: (0..rows).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl<'a> Shared<'a> {
    /// Describes sets by their rows; None if the kernel is not evaluated in tiles. `bytes` are for
    /// all that is kept.
    pub fn new(
        kernel: &Kernel,
        samples: &'a Samples,
        sets: &[Vec<usize>],
        bytes: usize,
    ) -> Result<Option<Self>> {
        if !kernel.is_tiled() {
            return Ok(None);
        }
        let mut starts = vec![0];
        starts.extend(sets.iter().scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        }));
        let all = Description::new(kernel, samples, sets.concat())?;
        Ok(Some(Shared {
            single: Common::new(sets.len(), all.len()),
            double: Common::new(sets.len(), all.len()),
            left: AtomicUsize::new(bytes),
            pieces: Pieces::default(),
            all,
            starts,
        }))
    }

    /// Describes the matrix over the rows of some sets, one set after another.
    pub(in crate::matrix) fn describe(&'a self, sets: &[usize]) -> (Description<'a>, Union<'a>) {
        let positions: Vec<usize> = sets.iter().flat_map(|&set| self.range(set)).collect();
        let union = Union {
            shared: self,
            sets: sets.to_vec(),
        };
        (self.all.part(&positions), union)
    }

    fn range(&self, set: usize) -> Range<usize> {
        self.starts[set]..self.starts[set + 1]
    }

    /// Returns the packed samples of a set, None if there is no room for them.
    fn columns<T: Shareable>(&self, set: usize) -> Option<&Columns<T>> {
        let all = &self.all;
        let Ok(packed) = T::common(self).columns[set].get_or_try_make(|| {
            let index = &all.index[self.range(set)];
            let bytes = index.len() * all.samples.columns() * size_of::<T>();
            // Two threads may pack the same set; both take from the budget, and one is kept.
            let fits = !all.samples.is_packed_dense() || self.reserve(bytes);
            let pack = || Columns::new(&all.kernel, all.centred(), index).ok();
            Ok::<_, Infallible>(fits.then(pack).flatten())
        });
        packed.as_ref()
    }

    /// Returns a copy of a row that is to be kept, None if there is no room.
    fn copied<T: Real>(&self, row: &[T]) -> Option<Piece<T>> {
        if !self.reserve(size_of_val(row)) {
            return None;
        }
        let mut copy = self.pieces.take(row.len(), "a shared row").ok()?;
        copy.values_mut().copy_from_slice(row);
        Some(copy)
    }

    /// Tells whether rows whose values have so many bytes are kept.
    fn keeps(&self, bytes: usize) -> bool {
        let sizes = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        let values: usize = sizes.map(|size| size * size).sum();
        values * bytes <= FEW_BYTES || is_worth_a_copy(self.all.samples, bytes)
    }

    /// Takes bytes from what is left; false if that is too little.
    fn reserve(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, take).is_ok()
    }
}

/// The precisions in which rows are shared.
pub(crate) trait Shareable: Real {
    /// Returns what is shared in this precision.
    fn common<'r>(shared: &'r Shared) -> &'r Common<Self>;

    /// Returns the rows of a part of a whole matrix; `own` are those that are computed.
    fn of_part<'a>(
        part: &'a Part<'a>,
        own: Box<dyn RowSource<Self> + 'a>,
    ) -> Box<dyn RowSource<Self> + 'a>;
}

impl Shareable for f32 {
    fn common<'r>(shared: &'r Shared) -> &'r Common<f32> {
        &shared.single
    }

    fn of_part<'a>(
        part: &'a Part<'a>,
        own: Box<dyn RowSource<f32> + 'a>,
    ) -> Box<dyn RowSource<f32> + 'a> {
        Box::new(PartRows::new(part, own))
    }
}

impl Shareable for f64 {
    fn common<'r>(shared: &'r Shared) -> &'r Common<f64> {
        &shared.double
    }

    fn of_part<'a>(
        part: &'a Part<'a>,
        own: Box<dyn RowSource<f64> + 'a>,
    ) -> Box<dyn RowSource<f64> + 'a> {
        part.exact_rows(own)
    }
}

/// Some of the sets.
#[derive(Clone, Debug)]
pub(in crate::matrix) struct Union<'a> {
    shared: &'a Shared<'a>,
    sets: Vec<usize>,
}

/// A row to be written: its number within its set, and its entries, cut by set.
struct Line<'r, T> {
    member: usize,
    parts: Vec<&'r mut [T]>,
}

impl Union<'_> {
    /// Writes whole rows of variables. Returns how many values were computed.
    fn fill<T: Shareable>(
        &self,
        packed: &[&Columns<T>],
        variables: &[u32],
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<usize> {
        let mut lines: Vec<Vec<Line<T>>> = self.sets.iter().map(|_| Vec::new()).collect();
        for (&variable, row) in variables.iter().zip(out) {
            let (mut member, mut own) = (variable as usize, 0);
            while member >= packed[own].len() {
                member -= packed[own].len();
                own += 1;
            }
            let (mut parts, mut rest) = (Vec::with_capacity(packed.len()), &mut **row);
            for columns in packed {
                let (part, after) = rest.split_at_mut(columns.len());
                parts.push(part);
                rest = after;
            }
            lines[own].push(Line { member, parts });
        }
        let mut computed = 0;
        for (own, lines) in lines.into_iter().enumerate() {
            computed += self.fill_set(own, packed, lines, stop)?;
        }
        Ok(computed)
    }

    /// Writes rows of members of one set: their values within it, and those with the others.
    fn fill_set<T: Shareable>(
        &self,
        own: usize,
        packed: &[&Columns<T>],
        lines: Vec<Line<T>>,
        stop: Stop,
    ) -> Polled<usize> {
        let all = &self.shared.all;
        let range = self.shared.range(self.sets[own]);
        let index = &all.index[range.clone()];
        let kept = &T::common(self.shared).rows[range];
        let members: Vec<usize> = lines.iter().map(|line| line.member).collect();
        let mut by_set: Vec<Vec<&mut [T]>> = packed.iter().map(|_| Vec::new()).collect();
        for line in lines {
            for (parts, part) in by_set.iter_mut().zip(line.parts) {
                parts.push(part);
            }
        }
        let compute = |members: &[usize], columns: &Columns<T>, out: &mut [&mut [T]]| {
            let rows: Vec<usize> = members.iter().map(|&member| index[member]).collect();
            let packed = columns.pack_rows(all.samples, &rows)?;
            columns.fill(&packed, 0..columns.len(), out, stop)?;
            Ok::<usize, Halt>(rows.len() * columns.len())
        };
        let mut computed = 0;
        for (set, (columns, mut out)) in packed.iter().zip(by_set).enumerate() {
            if set != own {
                computed += compute(&members, columns, &mut out)?;
                continue;
            }
            let (mut missing, mut within) = (Vec::new(), Vec::new());
            for (&member, out) in members.iter().zip(out) {
                match kept[member].get() {
                    Some(row) => out.copy_from_slice(row.values()),
                    None => {
                        missing.push(member);
                        within.push(out);
                    }
                }
            }
            computed += compute(&missing, columns, &mut within)?;
            if !self.shared.keeps(size_of::<T>()) {
                continue;
            }
            for (&member, row) in missing.iter().zip(within) {
                // Another thread may have been faster with the same row.
                if let Some(copy) = self.shared.copied(row) {
                    let _ = kept[member].set(copy);
                }
            }
        }
        Ok(computed)
    }
}

/// The rows of a union: shared while the order is natural, its own otherwise.
pub(super) struct SharedRows<'a, T> {
    matrix: &'a Description<'a>,
    union: &'a Union<'a>,
    own: Box<dyn RowSource<T> + 'a>,
}

impl<'a, T: Shareable> SharedRows<'a, T> {
    /// `own` is what the rows would come from if they were not shared.
    pub fn new(
        matrix: &'a Description<'a>,
        union: &'a Union<'a>,
        own: Box<dyn RowSource<T> + 'a>,
    ) -> Self {
        SharedRows { matrix, union, own }
    }
}

impl<T: Shareable> RowSource<T> for SharedRows<'_, T> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        if order.is_natural() && positions == (0..order.len()) {
            let sets = self.union.sets.iter();
            let packed = sets.map(|&set| self.union.shared.columns(set));
            if let Some(packed) = packed.collect::<Option<Vec<&Columns<T>>>>() {
                let computed = self.union.fill(&packed, variables, out, stop)?;
                self.matrix.count(computed);
                return Ok(());
            }
        }
        self.own.fill(order, variables, positions, out, stop)
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        self.own.block(variables, out, stride, stop)
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        self.own.add(order, terms, start, sums, stop)
    }

    fn add_beside(
        &mut self,
        order: &Order,
        terms: &[Term<T>],
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        self.own.add_beside(order, terms, start, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        self.own.product(beta, at, stop)
    }

    fn is_repeatable(&self) -> bool {
        self.own.is_repeatable()
    }

    fn reordered(&mut self) {
        self.own.reordered();
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn prefers_add(&self, missing: usize, held: usize) -> bool {
        self.own.prefers_add(missing, held)
    }
}
