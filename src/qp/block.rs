//! SMO on a block: a small dense problem, two coefficients at a time.
//!
//! A step takes i, the variable that may grow with the largest -g, and j, one that may shrink with
//! a smaller -g. With b = g_j - g_i > 0 and a = K_ii + K_jj - 2 K_ij the objective falls by
//! b^2 / (2 a) when beta_i grows and beta_j shrinks by b / a. Second order takes the j of the
//! largest b^2 / a; first order the j of the largest b, the maximal violating pair.
//!
//! Fan, Chen, Lin: Working set selection using second order information for training SVM,
//! JMLR 6 (2005).
//!
//! Coefficients are kept in f64; the gradient of the block is in T, and the caller recomputes it
//! from the change of the coefficients. "May grow" and "may shrink" are penalties of -inf and +inf
//! that are added to -g, so that selection is arithmetic without branches; the slope of |beta|, on
//! whichever side of zero the variable would move, is added in the same way. A step ends at zero
//! at the latest if the slope changes there.
//!
//! Where two sums are fixed, the variables of the two groups lie one after the other, and both
//! variables of a pair are of the group that violates optimality more. Where no sum is fixed, the
//! last variable takes it up: see [`qp`](crate::qp).

mod nested;
mod newton;

use super::kkt::{Point, grow_offset, shrink_offset};
use super::smo::Selection;
use crate::error::Result;
use crate::simd::{Isa, Real, dispatch};
use std::ops::Range;

/// Curvature is never taken below this: kernels need not be positive definite.
const TAU: f64 = 1e-12;
/// Numbers handled together in the loops; the block is padded to a multiple.
const LANES: usize = 16;
/// What is left of a coefficient below this share of it is the rounding of sums and differences.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Steps between two looks at the clock and the monitor.
const STEPS_BETWEEN_POLLS: u64 = 64;

/// The sub-problem over the variables of a working set, reused from block to block.
#[derive(Default)]
pub(super) struct Block<T> {
    /// Where the variables of each group begin and end.
    groups: [Range<usize>; 2],
    /// The places of all variables, with those between the groups that pad the first.
    size: usize,
    stride: usize,
    matrix: Vec<T>,
    diagonal: Vec<T>,
    gradient: Vec<T>,
    may_grow: Vec<T>,
    may_shrink: Vec<T>,
    beta: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    absolute: Vec<f64>,
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
    /// The variable that takes up a sum that is not fixed.
    pub fn slack(curvature: f64, sum: f64) -> Self {
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
    /// the matrix of those before the slack variable, one row after another, each padded to the
    /// stride it is given. Returns what `fill` returns, and after anything but true the block is
    /// of no use.
    pub fn load(
        &mut self,
        entries: impl ExactSizeIterator<Item = Entry>,
        first: usize,
        slack: Option<Entry>,
        fill: impl FnOnce(&mut [T], usize) -> Result<bool>,
    ) -> Result<bool> {
        let count = entries.len();
        debug_assert!(
            slack.is_none() || first == count,
            "slack is for a single group"
        );
        self.resize(first + usize::from(slack.is_some()), count - first);
        let stride = self.stride;
        if !fill(&mut self.matrix[..count * stride], stride)? {
            return Ok(false);
        }
        self.part_groups(first, count);
        if slack.is_some() {
            let last = self.size - 1;
            for row in self.matrix.chunks_mut(stride).take(self.size) {
                row[last] = T::ZERO;
            }
            self.matrix[last * stride..][..stride].fill(T::ZERO);
        }
        let places: Vec<usize> = self.places().collect();
        for (k, entry) in places.into_iter().zip(entries.chain(slack)) {
            let point = entry.point;
            (self.beta[k], self.absolute[k]) = (point.beta, point.absolute);
            (self.lower[k], self.upper[k]) = (point.lower, point.upper);
            self.gradient[k] = T::from_f64(point.gradient);
            self.diagonal[k] = T::from_f64(entry.diagonal);
            self.matrix[k * stride + k] = self.diagonal[k];
            self.mark(k);
        }
        Ok(true)
    }

    /// Makes room for so many variables of each group, all closed.
    fn resize(&mut self, first: usize, second: usize) {
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
        for (vector, value) in [
            (&mut self.diagonal, T::ZERO),
            (&mut self.gradient, T::ZERO),
            (&mut self.may_grow, -T::INFINITY),
            (&mut self.may_shrink, T::INFINITY),
        ] {
            vector.clear();
            vector.resize(self.stride, value);
        }
        for vector in [
            &mut self.beta,
            &mut self.lower,
            &mut self.upper,
            &mut self.absolute,
        ] {
            vector.clear();
            vector.resize(self.size, 0.0);
        }
        let needed = self.size * self.stride;
        if self.matrix.len() < needed {
            self.matrix.resize(needed, T::ZERO);
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
        self.places().map(|k| self.beta[k])
    }

    fn point(&self, k: usize) -> Point {
        Point {
            beta: self.beta[k],
            gradient: self.gradient[k].to_f64(),
            lower: self.lower[k],
            upper: self.upper[k],
            absolute: self.absolute[k],
        }
    }

    fn mark(&mut self, k: usize) {
        let (point, absolute) = (self.point(k), self.absolute[k]);
        self.may_grow[k] = if point.may_grow() {
            T::from_f64(grow_offset(point.beta, absolute))
        } else {
            -T::INFINITY
        };
        self.may_shrink[k] = if point.may_shrink() {
            T::from_f64(shrink_offset(point.beta, absolute))
        } else {
            T::INFINITY
        };
    }

    /// How far a variable may grow in one step, and where that ends.
    fn room_above(&self, k: usize) -> (f64, f64) {
        let kink = self.beta[k] < 0.0 && self.absolute[k] > 0.0;
        let end = if kink {
            self.upper[k].min(0.0)
        } else {
            self.upper[k]
        };
        (end - self.beta[k], end)
    }

    /// How far a variable may shrink in one step, and where that ends.
    fn room_below(&self, k: usize) -> (f64, f64) {
        let kink = self.beta[k] > 0.0 && self.absolute[k] > 0.0;
        let end = if kink {
            self.lower[k].max(0.0)
        } else {
            self.lower[k]
        };
        (self.beta[k] - end, end)
    }

    /// Steps until the block's own gap is at most `tolerance`, `max_steps` are done or `stop` says
    /// so, with a Newton step now and then if `newton`. Returns the number of steps.
    pub fn solve(
        &mut self,
        selection: Selection,
        newton: bool,
        tolerance: f64,
        max_steps: u64,
        stop: &dyn Fn() -> bool,
    ) -> u64 {
        let isa = Isa::detect();
        let mut steps = 0;
        let mut found = self.step_and_select(isa, 0, 0, T::ZERO);
        let mut next_newton = self.newton_interval();
        while steps < max_steps {
            let Extremes { m, i, big_m, j } = found;
            let gap = m.to_f64() - big_m.to_f64();
            if gap <= tolerance || gap.is_nan() || i >= self.size {
                break;
            }
            if steps % STEPS_BETWEEN_POLLS == 0 && stop() {
                break;
            }
            if newton && steps >= next_newton {
                let moved = self.newton(isa);
                next_newton = steps + self.newton_interval();
                if moved {
                    found = self.step_and_select(isa, 0, 0, T::ZERO);
                    steps += 1;
                    continue;
                }
            }
            let j = match selection {
                Selection::FirstOrder => j,
                Selection::SecondOrder => self.best_partner(isa, i, m),
            };
            if j >= self.size || j == i {
                break; // overflow or rounding left no partner
            }
            let violation = m.to_f64() - (self.may_shrink[j] - self.gradient[j]).to_f64();
            if violation <= 0.0 {
                break;
            }
            let two = T::ONE + T::ONE;
            let between = self.matrix[i * self.stride + j];
            let curvature = self.diagonal[i] + self.diagonal[j] - two * between;
            let wanted = violation / curvature.to_f64().max(TAU);
            let (room_i, end_i) = self.room_above(i);
            let (room_j, end_j) = self.room_below(j);
            let step = wanted.min(room_i).min(room_j);
            self.beta[i] = landing(self.beta[i], step, room_i, end_i);
            self.beta[j] = landing(self.beta[j], -step, room_j, end_j);
            steps += 1;
            self.mark(i);
            self.mark(j);
            found = self.step_and_select(isa, i, j, T::from_f64(step));
        }
        steps
    }

    /// Adds step (row_i - row_j) to the gradient and returns the thresholds of the group whose gap
    /// is the largest.
    fn step_and_select(&mut self, isa: Isa, i: usize, j: usize, step: T) -> Extremes<T> {
        let row_i = &self.matrix[i * self.stride..][..self.stride];
        let row_j = &self.matrix[j * self.stride..][..self.stride];
        let mut worst: Option<Extremes<T>> = None;
        for group in &self.groups {
            if group.is_empty() {
                continue;
            }
            let lanes = group.start..group.end.next_multiple_of(LANES);
            let mut found = step_and_select(
                isa,
                &row_i[lanes.clone()],
                &row_j[lanes.clone()],
                step,
                &mut self.gradient[lanes.clone()],
                &self.may_grow[lanes.clone()],
                &self.may_shrink[lanes],
            );
            found.i += group.start;
            found.j += group.start;
            if worst
                .as_ref()
                .is_none_or(|worst| found.m - found.big_m > worst.m - worst.big_m)
            {
                worst = Some(found);
            }
        }
        worst.unwrap_or(Extremes {
            m: -T::INFINITY,
            i: 0,
            big_m: T::INFINITY,
            j: 0,
        })
    }

    /// Returns the partner of i, whose descent is m, that promises the largest fall.
    fn best_partner(&self, isa: Isa, i: usize, m: T) -> usize {
        let group = &self.groups[usize::from(self.groups[1].contains(&i))];
        let lanes = group.start..group.end.next_multiple_of(LANES);
        let row_i = &self.matrix[i * self.stride..][..self.stride];
        let best = best_partner(
            isa,
            &row_i[lanes.clone()],
            &self.diagonal[lanes.clone()],
            &self.gradient[lanes.clone()],
            &self.may_shrink[lanes],
            m,
            self.diagonal[i],
        );
        group.start + best
    }
}

/// Where a step ends: exactly on the bound if it takes up the room to it, up to rounding. A variable
/// is at its bound or it is not.
fn landing(beta: f64, step: f64, room: f64, end: f64) -> f64 {
    let rounding = ROUNDING * beta.abs().max(end.abs());
    if end.is_finite() && room - step.abs() <= rounding {
        end
    } else {
        beta + step
    }
}

/// The thresholds of a block and where they are reached.
struct Extremes<T> {
    m: T,
    i: usize,
    big_m: T,
    j: usize,
}

dispatch! {
    /// Adds step (row_i - row_j) to the gradient and finds the thresholds in the same pass.
    fn step_and_select<T: Real>(
        row_i: &[T], row_j: &[T], step: T, gradient: &mut [T], may_grow: &[T], may_shrink: &[T]
    ) -> Extremes<T> = step_and_select_body
}

#[inline(always)]
fn step_and_select_body<T: Real, const FMA: bool>(
    row_i: &[T],
    row_j: &[T],
    step: T,
    gradient: &mut [T],
    may_grow: &[T],
    may_shrink: &[T],
) -> Extremes<T> {
    // Both searches are for the largest: of -g, and of g for those that may shrink. Maxima are taken
    // apart from their places: a conditional store to both is slow.
    let mut growing = [-T::INFINITY; LANES];
    let mut growing_at = [T::ZERO; LANES];
    let mut shrinking = [-T::INFINITY; LANES];
    let mut shrinking_at = [T::ZERO; LANES];
    // Chunk numbers travel as T, so that values and places share their masks.
    let mut chunk = T::ZERO;
    let chunks = gradient
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(row_i.as_chunks::<LANES>().0)
        .zip(row_j.as_chunks::<LANES>().0)
        .zip(may_grow.as_chunks::<LANES>().0)
        .zip(may_shrink.as_chunks::<LANES>().0);
    for ((((gradient, row_i), row_j), may_grow), may_shrink) in chunks {
        for lane in 0..LANES {
            let g = step.multiply_add::<FMA>(row_i[lane] - row_j[lane], gradient[lane]);
            gradient[lane] = g;
            let grow = may_grow[lane] - g;
            let at = growing_at[lane];
            growing_at[lane] = if grow >= growing[lane] { chunk } else { at };
            growing[lane] = grow.larger(growing[lane]);
            let shrink = g - may_shrink[lane];
            let at = shrinking_at[lane];
            shrinking_at[lane] = if shrink >= shrinking[lane] { chunk } else { at };
            shrinking[lane] = shrink.larger(shrinking[lane]);
        }
        chunk += T::ONE;
    }
    let (m, i) = last_largest(&growing, &growing_at);
    let (minus_big_m, j) = last_largest(&shrinking, &shrinking_at);
    Extremes {
        m,
        i,
        big_m: -minus_big_m,
        j,
    }
}

/// Reduces the lanes of a search; ties go to the last place, as in LIBSVM.
#[inline(always)]
fn last_largest<T: Real>(values: &[T; LANES], chunks: &[T; LANES]) -> (T, usize) {
    let (mut best, mut place) = (values[0], chunks[0].to_f64() as usize * LANES);
    for lane in 1..LANES {
        let at = chunks[lane].to_f64() as usize * LANES + lane;
        if values[lane] > best || (values[lane] == best && at > place) {
            (best, place) = (values[lane], at);
        }
    }
    (best, place)
}

dispatch! {
    /// Finds the partner of i with the largest b^2 / a.
    fn best_partner<T: Real>(
        row_i: &[T], diagonal: &[T], gradient: &[T], may_shrink: &[T], m: T, diagonal_i: T
    ) -> usize = best_partner_body
}

#[inline(always)]
fn best_partner_body<T: Real, const FMA: bool>(
    row_i: &[T],
    diagonal: &[T],
    gradient: &[T],
    may_shrink: &[T],
    m: T,
    diagonal_i: T,
) -> usize {
    let tau = T::from_f64(TAU);
    let minus_two = T::from_f64(-2.0);
    let mut largest = [-T::ONE; LANES];
    let mut largest_at = [T::ZERO; LANES];
    let mut chunk = T::ZERO;
    let chunks = row_i
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(diagonal.as_chunks::<LANES>().0)
        .zip(gradient.as_chunks::<LANES>().0)
        .zip(may_shrink.as_chunks::<LANES>().0);
    for (((row_i, diagonal), gradient), may_shrink) in chunks {
        for lane in 0..LANES {
            let a = row_i[lane].multiply_add::<FMA>(minus_two, diagonal_i + diagonal[lane]);
            // Written so that it is exactly zero for i itself, whose curvature is zero too.
            let b = (m - (may_shrink[lane] - gradient[lane])).larger(T::ZERO);
            let gain = b * b / a.larger(tau);
            let at = largest_at[lane];
            largest_at[lane] = if gain >= largest[lane] { chunk } else { at };
            largest[lane] = gain.larger(largest[lane]);
        }
        chunk += T::ONE;
    }
    last_largest(&largest, &largest_at).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern.
    fn numbers<T: Real>(count: usize, seed: u32) -> Vec<T> {
        (0..count as u32)
            .map(|k| {
                (k.wrapping_add(seed))
                    .wrapping_mul(0x9E37_79B1)
                    .wrapping_mul(k | 1)
            })
            .map(|bits| T::from_f64(f64::from(bits) / f64::from(u32::MAX) * 2.0 - 1.0))
            .collect()
    }

    fn paths_agree<T: Real>(tolerance: f64) {
        let n = 20 * LANES;
        let (row_i, row_j) = (numbers::<T>(n, 1), numbers::<T>(n, 2));
        let closed = |value: T| move |k: usize| if k.is_multiple_of(3) { value } else { T::ZERO };
        let may_grow: Vec<T> = (0..n).map(closed(-T::INFINITY)).collect();
        let may_shrink: Vec<T> = (0..n).rev().map(closed(T::INFINITY)).collect();
        let diagonal = vec![T::from_f64(2.0); n];
        let step = T::from_f64(0.3);
        let run = |isa| {
            let mut gradient = numbers::<T>(n, 3);
            let found = step_and_select(
                isa,
                &row_i,
                &row_j,
                step,
                &mut gradient,
                &may_grow,
                &may_shrink,
            );
            let j = best_partner(
                isa,
                &row_i,
                &diagonal,
                &gradient,
                &may_shrink,
                found.m,
                diagonal[found.i],
            );
            (found, j, gradient)
        };
        let portable = run(Isa::Portable);
        for vector in Isa::available().into_iter().map(run) {
            for (a, b) in portable.2.iter().zip(&vector.2) {
                assert!((a.to_f64() - b.to_f64()).abs() <= tolerance);
            }
            assert_eq!((portable.0.i, portable.0.j), (vector.0.i, vector.0.j));
            assert_eq!(portable.1, vector.1);
        }
        // And against the plain search.
        let value = |k: usize| (may_grow[k] - portable.2[k]).to_f64();
        let best = (0..n)
            .max_by(|&a, &b| value(a).total_cmp(&value(b)))
            .expect("not empty");
        assert_eq!(portable.0.i, best);
        assert_eq!(portable.0.m.to_f64(), value(best));
    }

    #[test]
    fn portable_and_vector_paths_agree() {
        paths_agree::<f32>(1e-6);
        paths_agree::<f64>(1e-15);
    }
}
