//! SMO on a block: two coefficients at a time.
//!
//! A step takes i, the variable that may grow with the largest -g, and j, one that may shrink with
//! a smaller -g. With b = g_j - g_i > 0 and a = K_ii + K_jj - 2 K_ij the objective falls by
//! b^2 / (2 a) when beta_i grows and beta_j shrinks by b / a. Second order takes the j of the
//! largest b^2 / a; first order the j of the largest b, the maximal violating pair.
//!
//! Where two sums are fixed, both variables of a pair are of the group that violates optimality more.
//!
//! Fan, Chen, Lin: Working set selection using second order information for training SVM,
//! JMLR 6 (2005).

use super::{Block, Goal, LANES, Selection, landing};
use crate::error::{Polled, poll};
use crate::simd::{Isa, Real, dispatch};

/// Curvature is never taken below this: kernels need not be positive definite.
pub(crate) const TAU: f64 = 1e-12;
/// Steps between two looks at the clock and the monitor: together they cost about as much as one
/// step of a small block.
pub(crate) const STEPS_BETWEEN_POLLS: u64 = 64;

impl<T: Real> Block<T> {
    /// Steps until the goal is reached or rounding leaves no pair. Adds the number of steps to
    /// `steps`; those done before a halt count as well.
    pub fn solve(&mut self, goal: &Goal, steps: &mut u64) -> Polled<()> {
        let isa = Isa::detect();
        let mut done = 0;
        let solved = self.step_to(goal, isa, &mut done);
        *steps += done;
        solved
    }

    fn step_to(&mut self, goal: &Goal, isa: Isa, steps: &mut u64) -> Polled<()> {
        let mut found = self.step_and_select(isa, 0, 0, T::ZERO);
        let mut next_face = self.face_interval();
        while *steps < goal.max_steps {
            let gap = found.m.to_f64() - found.big_m.to_f64();
            if gap <= goal.tolerance || gap.is_nan() || found.i >= self.size {
                break;
            }
            if steps.is_multiple_of(STEPS_BETWEEN_POLLS) {
                poll(goal.stop)?;
            }
            if goal.faces && *steps >= next_face {
                let moved = self.minimise_on_face(isa, goal.stop)?;
                next_face = *steps + self.face_interval();
                if moved {
                    found = self.step_and_select(isa, 0, 0, T::ZERO);
                    *steps += 1;
                    continue;
                }
            }
            match self.step(isa, &found, goal.selection) {
                Some(next) => found = next,
                None => break,
            }
            *steps += 1;
        }
        Ok(())
    }

    /// Takes a step from the thresholds that were found and returns the next; None if overflow or
    /// rounding leaves no partner.
    #[inline]
    fn step(&mut self, isa: Isa, found: &Extremes<T>, selection: Selection) -> Option<Extremes<T>> {
        let &Extremes { m, i, .. } = found;
        let j = match selection {
            Selection::FirstOrder => found.j,
            Selection::SecondOrder => self.best_partner(isa, i, m),
        };
        if j >= self.size || j == i {
            return None;
        }
        let descent = self.may_shrink[j] - self.coordinates.gradient[j];
        let violation = m.to_f64() - descent.to_f64();
        if violation <= 0.0 {
            return None;
        }
        let two = T::ONE + T::ONE;
        let between = self.matrix[i * self.stride + j];
        let curvature = self.diagonal[i] + self.diagonal[j] - two * between;
        let wanted = violation / curvature.to_f64().max(TAU);
        let (room_i, end_i) = self.room_above(i);
        let (room_j, end_j) = self.room_below(j);
        let step = wanted.min(room_i).min(room_j);
        let beta = &mut self.coordinates.beta;
        beta[i] = landing(beta[i], step, room_i, end_i);
        beta[j] = landing(beta[j], -step, room_j, end_j);
        self.mark(i);
        self.mark(j);
        Some(self.step_and_select(isa, i, j, T::from_f64(step)))
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
                &mut self.coordinates.gradient[lanes.clone()],
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
            &self.coordinates.gradient[lanes.clone()],
            &self.may_shrink[lanes],
            m,
            self.diagonal[i],
        );
        group.start + best
    }
}

/// The thresholds of a block and where they are reached.
pub(crate) struct Extremes<T> {
    pub m: T,
    pub i: usize,
    pub big_m: T,
    pub j: usize,
}

dispatch! {
    /// Adds step (row_i - row_j) to the gradient and finds the thresholds in the same pass.
    pub(crate) fn step_and_select<T: Real>(
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
    pub(crate) fn best_partner<T: Real>(
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
        let portable = run(Isa::portable());
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
