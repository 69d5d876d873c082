//! The sub-problem of a block: small, dense, and solved by pair steps.
//!
//! Coefficients are kept in f64; the gradient of the block is in T, and the caller recomputes it
//! from the change of the coefficients. "May grow" and "may shrink" are penalties of -inf and +inf
//! that are added to -g, so that selection is arithmetic without branches; the slope of |beta|, on
//! whichever side of zero the variable would move, is added in the same way.
//!
//! Where two sums are fixed, the variables of the two groups lie one after the other. Where no sum is
//! fixed, the last variable absorbs it: see [`qp`](crate::qp).
//!
//! | file | how it is solved |
//! |---|---|
//! | `pairs` | two coefficients at a time |
//! | `face` | all free variables at once, now and then |
//! | `nested` | a large block through smaller ones |

mod face;
mod nested;
pub(super) mod pairs;

use crate::error::{Polled, Result, Stop};
use crate::qp::coordinates::{Coordinates, Point, ROUNDING};
use crate::simd::Real;
use crate::simd::buffer::Buffer;
use std::ops::Range;

/// Numbers handled together in the loops; the block is padded to a multiple.
const LANES: usize = 16;

/// How the second variable of a pair is chosen.
///
/// ```
/// use mercer::qp::{Selection, Smo};
/// assert_eq!(Smo::new().selection, Selection::SecondOrder);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Selection {
    /// The one that promises the largest fall of the objective.
    #[default]
    SecondOrder,
    /// The most violating one.
    FirstOrder,
}

/// How far to solve a block, and how.
#[derive(Clone, Copy)]
pub(super) struct Goal<'a> {
    pub selection: Selection,
    /// Whether to go to the minimum of all free variables now and then.
    pub faces: bool,
    /// The block's own gap at which to stop.
    pub tolerance: f64,
    pub max_steps: u64,
    pub stop: Stop<'a>,
}

/// The sub-problem over the variables of a working set, reused from block to block.
#[derive(Default)]
pub(super) struct Block<T> {
    /// Where the variables of each group begin and end.
    groups: [Range<usize>; 2],
    /// The places of all variables, with those between the groups that pad the first.
    size: usize,
    stride: usize,
    matrix: Buffer<T>,
    /// The variables that the matrix is of; none if that is not known.
    variables: Vec<u32>,
    diagonal: Vec<T>,
    coordinates: Coordinates<T>,
    may_grow: Vec<T>,
    may_shrink: Vec<T>,
    /// The matrix of the free variables, reused.
    face: Buffer<f64>,
    /// The smaller block a large one is solved through, reused.
    nested: Option<Box<Block<T>>>,
}

/// One variable as the block needs it.
pub(super) struct Entry {
    pub point: Point,
    /// Its diagonal value, ridge included.
    pub diagonal: f64,
}

impl Entry {
    /// The variable that absorbs a sum that is not fixed.
    pub fn absorber(curvature: f64, sum: f64) -> Self {
        Entry {
            point: Point {
                beta: -sum,
                gradient: -curvature * sum,
                lower: f64::NEG_INFINITY,
                upper: f64::INFINITY,
                absolute: 0.0,
            },
            diagonal: curvature,
        }
    }
}

impl<T: Real> Block<T> {
    /// Loads variables, those of the first group first, of which there are `first`; `fill` writes
    /// the matrix of those before the absorber, one row after another, each padded to the stride it
    /// is given. It is not asked for the matrix that is there. If it is halted, the block is of no use.
    pub fn load(
        &mut self,
        variables: &[u32],
        entries: impl ExactSizeIterator<Item = Entry>,
        first: usize,
        absorber: Option<Entry>,
        fill: impl FnOnce(&mut [T], usize) -> Polled<()>,
    ) -> Polled<()> {
        let count = variables.len();
        debug_assert!(
            absorber.is_none() || first == count,
            "no sum is fixed where there are two groups"
        );
        let known = count > 0 && self.variables == variables;
        self.resize(first + usize::from(absorber.is_some()), count - first)?;
        if !known {
            self.variables.clear();
            self.load_matrix(first, count, absorber.is_some(), fill)?;
            self.variables.extend_from_slice(variables);
        }
        let stride = self.stride;
        let places: Vec<usize> = self.places().collect();
        for (k, entry) in places.into_iter().zip(entries.chain(absorber)) {
            self.coordinates.set(k, entry.point);
            self.diagonal[k] = T::from_f64(entry.diagonal);
            self.matrix[k * stride + k] = self.diagonal[k];
            self.mark(k);
        }
        Ok(())
    }

    /// Loads the matrix of `count` variables.
    fn load_matrix(
        &mut self,
        first: usize,
        count: usize,
        absorbs: bool,
        fill: impl FnOnce(&mut [T], usize) -> Polled<()>,
    ) -> Polled<()> {
        let (stride, end) = (self.stride, self.size);
        self.clear_margins();
        fill(&mut self.matrix[..count * stride], stride)?;
        self.part_groups(first, count);
        if absorbs {
            let last = end - 1;
            for row in self.matrix.chunks_mut(stride).take(end) {
                row[last] = T::ZERO;
            }
            self.matrix[last * stride..][..stride].fill(T::ZERO);
        }
        Ok(())
    }

    /// Makes room for so many variables of each group, all closed.
    ///
    /// # Errors
    /// If there is no memory for their matrix.
    fn resize(&mut self, first: usize, second: usize) -> Result<()> {
        // The second group begins with a full set of lanes.
        let start = if second > 0 && first > 0 {
            first.next_multiple_of(LANES)
        } else {
            first
        };
        self.groups = [0..first, start..start + second];
        self.size = start + second;
        self.stride = self.size.next_multiple_of(LANES);
        // Rows a power of two apart would share a few places of the first cache.
        if self.stride.is_multiple_of(256) {
            self.stride += LANES;
        }
        self.coordinates.clear(self.stride);
        for (vector, value) in [
            (&mut self.diagonal, T::ZERO),
            (&mut self.may_grow, -T::INFINITY),
            (&mut self.may_shrink, T::INFINITY),
        ] {
            vector.clear();
            vector.resize(self.stride, value);
        }
        let needed = self.size * self.stride;
        self.matrix.reserve(needed, "the kernel matrix of a block")
    }

    /// Writes zeros between the groups and behind them: what is never written must be a number.
    fn clear_margins(&mut self) {
        let (stride, end) = (self.stride, self.size);
        let gap = self.groups[0].end..self.groups[1].start;
        for row in self.matrix[..end * stride].chunks_mut(stride.max(1)) {
            row[gap.clone()].fill(T::ZERO);
            row[end..].fill(T::ZERO);
        }
    }

    /// Moves rows and columns of the second group to their places.
    fn part_groups(&mut self, first: usize, count: usize) {
        let (stride, shift) = (self.stride, self.groups[1].start - first);
        if shift == 0 || first == count {
            return;
        }
        for row in self.matrix.chunks_mut(stride).take(count) {
            row.copy_within(first..count, first + shift);
            row[first..first + shift].fill(T::ZERO);
        }
        let moved = first * stride..count * stride;
        self.matrix.copy_within(moved, (first + shift) * stride);
        self.matrix[first * stride..(first + shift) * stride].fill(T::ZERO);
    }

    /// The places of the variables in the order they were loaded.
    fn places(&self) -> impl Iterator<Item = usize> + use<T> {
        let [first, second] = self.groups.clone();
        first.chain(second)
    }

    /// Returns the coefficients in the order the variables were loaded.
    pub fn beta(&self) -> impl Iterator<Item = f64> {
        self.places().map(|k| self.coordinates.beta[k])
    }

    fn point(&self, k: usize) -> Point {
        self.coordinates.point(k)
    }

    /// Notes which ways a variable may move from where it is.
    fn mark(&mut self, k: usize) {
        (self.may_grow[k], self.may_shrink[k]) = self.point(k).ways();
    }

    fn row(&self, k: usize) -> &[T] {
        &self.matrix[k * self.stride..][..self.stride]
    }

    /// Counts the free variables.
    fn free(&self) -> usize {
        self.places().filter(|&k| self.point(k).is_free()).count()
    }

    fn room_above(&self, k: usize) -> (f64, f64) {
        self.point(k).room_above()
    }

    fn room_below(&self, k: usize) -> (f64, f64) {
        self.point(k).room_below()
    }
}

/// Where a step ends: exactly on the bound if it takes up the room to it, up to rounding. A variable
/// is at its bound or it is not.
pub(super) fn landing(beta: f64, step: f64, room: f64, end: f64) -> f64 {
    let rounding = ROUNDING * beta.abs().max(end.abs());
    if end.is_finite() && room - step.abs() <= rounding {
        end
    } else {
        beta + step
    }
}
