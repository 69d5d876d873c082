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
//! that are added to -g, so that selection is arithmetic without branches.

mod nested;

use super::smo::Selection;
use crate::error::Result;
use crate::simd::{Isa, Real, dispatch};

/// Curvature is never taken below this: kernels need not be positive definite.
const TAU: f64 = 1e-12;
/// Numbers handled together in the loops; the block is padded to a multiple.
const LANES: usize = 16;
/// Steps between two looks at the clock and the monitor.
const STEPS_BETWEEN_POLLS: u64 = 64;

/// The sub-problem over the variables of a working set, reused from block to block.
#[derive(Default)]
pub(super) struct Block<T> {
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
    /// The smaller block a large one is solved through, reused.
    nested: Option<Box<Block<T>>>,
}

/// One variable as the block needs it.
pub(super) struct Entry {
    pub beta: f64,
    pub gradient: f64,
    pub lower: f64,
    pub upper: f64,
    pub ridge: f64,
    pub diagonal: f64,
}

impl<T: Real> Block<T> {
    /// Loads variables; `fill` writes their sub-matrix, one row after another, each padded to the
    /// stride it is given. Returns what `fill` returns, and after anything but true the block is
    /// of no use.
    pub fn load(
        &mut self,
        entries: impl ExactSizeIterator<Item = Entry>,
        fill: impl FnOnce(&mut [T], usize) -> Result<bool>,
    ) -> Result<bool> {
        self.resize(entries.len());
        let needed = self.size * self.stride;
        if !fill(&mut self.matrix[..needed], self.stride)? {
            return Ok(false);
        }
        for (k, entry) in entries.enumerate() {
            self.beta.push(entry.beta);
            self.lower.push(entry.lower);
            self.upper.push(entry.upper);
            self.gradient[k] = T::from_f64(entry.gradient);
            self.diagonal[k] = T::from_f64(entry.diagonal + entry.ridge);
            self.matrix[k * self.stride + k] = self.diagonal[k];
            self.mark(k);
        }
        Ok(true)
    }

    /// Makes room for `size` variables, all closed.
    fn resize(&mut self, size: usize) {
        self.size = size;
        self.stride = size.next_multiple_of(LANES);
        for (vector, value) in [
            (&mut self.diagonal, T::ZERO),
            (&mut self.gradient, T::ZERO),
            (&mut self.may_grow, -T::INFINITY),
            (&mut self.may_shrink, T::INFINITY),
        ] {
            vector.clear();
            vector.resize(self.stride, value);
        }
        for vector in [&mut self.beta, &mut self.lower, &mut self.upper] {
            vector.clear();
        }
        let needed = size * self.stride;
        if self.matrix.len() < needed {
            self.matrix.resize(needed, T::ZERO);
        }
    }

    /// Returns the coefficients.
    pub fn beta(&self) -> &[f64] {
        &self.beta
    }

    fn mark(&mut self, k: usize) {
        let open = |open: bool, closed: T| if open { T::ZERO } else { closed };
        self.may_grow[k] = open(self.beta[k] < self.upper[k], -T::INFINITY);
        self.may_shrink[k] = open(self.beta[k] > self.lower[k], T::INFINITY);
    }

    /// Steps until the block's own gap is at most `tolerance`, `max_steps` are done or `stop` says
    /// so. Returns the number of steps.
    pub fn solve(
        &mut self,
        selection: Selection,
        tolerance: f64,
        max_steps: u64,
        stop: &dyn Fn() -> bool,
    ) -> u64 {
        let isa = Isa::detect();
        let mut steps = 0;
        let mut found = {
            let row = &self.matrix[..self.stride];
            // A step of length zero: selection only.
            step_and_select(
                isa,
                row,
                row,
                T::ZERO,
                &mut self.gradient,
                &self.may_grow,
                &self.may_shrink,
            )
        };
        while steps < max_steps {
            let Extremes { m, i, big_m, j } = found;
            let gap = m.to_f64() - big_m.to_f64();
            if gap <= tolerance || gap.is_nan() || i >= self.size {
                break;
            }
            if steps % STEPS_BETWEEN_POLLS == 0 && stop() {
                break;
            }
            let row_i = &self.matrix[i * self.stride..][..self.stride];
            let j = match selection {
                Selection::FirstOrder => j,
                Selection::SecondOrder => best_partner(
                    isa,
                    row_i,
                    &self.diagonal,
                    &self.gradient,
                    &self.may_shrink,
                    m,
                    self.diagonal[i],
                ),
            };
            if j >= self.size {
                break; // overflow left no partner
            }
            let violation = m.to_f64() + self.gradient[j].to_f64();
            let two = T::ONE + T::ONE;
            let curvature = self.diagonal[i] + self.diagonal[j] - two * row_i[j];
            let wanted = violation / curvature.to_f64().max(TAU);
            let room_i = self.upper[i] - self.beta[i];
            let room_j = self.beta[j] - self.lower[j];
            let step = wanted.min(room_i).min(room_j);
            // Land on a bound exactly: a variable is at its bound or it is not.
            self.beta[i] = if step >= room_i {
                self.upper[i]
            } else {
                self.beta[i] + step
            };
            self.beta[j] = if step >= room_j {
                self.lower[j]
            } else {
                self.beta[j] - step
            };
            steps += 1;
            self.mark(i);
            self.mark(j);
            let (row_i, row_j) = (
                &self.matrix[i * self.stride..][..self.stride],
                &self.matrix[j * self.stride..][..self.stride],
            );
            found = step_and_select(
                isa,
                row_i,
                row_j,
                T::from_f64(step),
                &mut self.gradient,
                &self.may_grow,
                &self.may_shrink,
            );
        }
        steps
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
    let mut largest = [-T::INFINITY; LANES];
    let mut largest_at = [T::ZERO; LANES];
    let mut smallest = [T::INFINITY; LANES];
    let mut smallest_at = [T::ZERO; LANES];
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
            let better = grow >= largest[lane];
            largest[lane] = if better { grow } else { largest[lane] };
            largest_at[lane] = if better { chunk } else { largest_at[lane] };
            let shrink = may_shrink[lane] - g;
            let better = shrink <= smallest[lane];
            smallest[lane] = if better { shrink } else { smallest[lane] };
            smallest_at[lane] = if better { chunk } else { smallest_at[lane] };
        }
        chunk += T::ONE;
    }
    let (m, i) = last_largest(&largest, &largest_at);
    let (minus_big_m, j) = last_largest(&smallest.map(|value| -value), &smallest_at);
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
            let b = ((m + gradient[lane]) - may_shrink[lane]).larger(T::ZERO);
            let gain = b * b / a.larger(tau);
            let better = gain >= largest[lane];
            largest[lane] = if better { gain } else { largest[lane] };
            largest_at[lane] = if better { chunk } else { largest_at[lane] };
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
        let (portable, vector) = (run(Isa::Portable), run(Isa::detect()));
        for (a, b) in portable.2.iter().zip(&vector.2) {
            assert!((a.to_f64() - b.to_f64()).abs() <= tolerance);
        }
        assert_eq!((portable.0.i, portable.0.j), (vector.0.i, vector.0.j));
        assert_eq!(portable.1, vector.1);
        // And both against the plain search.
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
