//! Faces: the exact minimum over the variables that are free, others meeting their bounds on the way.
//!
//! Pair steps are good at finding which variables are free and bad at solving for them: they converge
//! at a rate that falls with the cost. With F the free variables, r = -g what the objective gains when
//! they grow, and one row of A for each sum that is kept, the minimum on the face is where
//!
//! ```text
//! K_FF d + A' mu = r,   A d = 0,   that is  d = P r
//! ```
//!
//! with P the inverse of K_FF after it has lost a rank for each sum ([`Inverse`]). The step is cut
//! where the first variable meets its bound. That variable is fixed there and P loses one more rank:
//!
//! ```text
//! d <- (1 - t) d,   then   d <- d - p d_j / p_j,   p = P e_j
//! ```
//!
//! is the step to the minimum over what is left, for it keeps d_j = 0 and the gradient along all others.
//! So each variable that is fixed costs a column of P, until a full step is taken. The objective falls
//! all the way, wherever it ends.

use crate::error::{Polled, Stop, poll};
use crate::simd::buffer::Buffer;
use crate::simd::inverse::Inverse;
use crate::simd::{Isa, add_multiple};
use std::ops::Range;

/// The largest rest of a sum that should be zero, as a share of the largest change: more shows that
/// the system is too badly conditioned.
const LARGEST_REST: f64 = 1e-9;
/// A variable whose share of P is less than this is held by the sums and by what is fixed.
const HELD: f64 = 1e-13;
/// Variables that are fixed between two looks at the stop flag: about a millisecond.
const FIXES_BETWEEN_POLLS: usize = 8;

/// How far each variable may go, and where it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// Between its bounds.
    Inside,
    /// At the lower bound.
    Below,
    /// At the upper bound.
    Above,
}

/// The variables of a face.
pub(super) struct Face<'a> {
    /// Their matrix, of which the lower half is read; it is used again when the minimum is found.
    pub matrix: &'a mut Buffer<f64>,
    /// Those whose sums are kept.
    pub groups: &'a [Range<usize>],
    /// What the objective gains, to first order, when a variable grows.
    pub descent: &'a [f64],
    /// How far each may shrink, and how far it may grow.
    pub below: &'a [f64],
    pub above: &'a [f64],
}

/// How the variables of a face move to its minimum.
pub(super) struct Move {
    pub change: Vec<f64>,
    pub end: Vec<End>,
}

impl Face<'_> {
    /// Finds the minimum. Returns None where the system is singular to rounding.
    pub fn minimum(self, isa: Isa, stop: Stop) -> Polled<Option<Move>> {
        let n = self.descent.len();
        let matrix = std::mem::take(self.matrix);
        let Some(mut inverse) = Inverse::new(isa, matrix, n, stop)? else {
            return Ok(None);
        };
        let largest = inverse.diagonal();
        for group in self.groups {
            let mut normal = vec![0.0; n];
            normal[group.clone()].fill(1.0);
            let column = inverse.times(&normal);
            let pivot = sum(&column, group);
            if !(pivot.is_finite() && pivot > 0.0) {
                return Ok(None);
            }
            inverse.lose(&column, pivot)?;
        }
        let mut path = Path {
            largest,
            step: inverse.times(self.descent),
            change: vec![0.0; n],
            end: vec![End::Inside; n],
        };
        let mut column = vec![0.0; n];
        for fixes in 0..=n {
            if fixes.is_multiple_of(FIXES_BETWEEN_POLLS) {
                poll(stop)?;
            }
            let Some(j) = path.follow(self.below, self.above) else {
                break;
            };
            inverse.column(j, &mut column);
            if path.leave_out(isa, j, &mut column) {
                inverse.lose(&column, column[j])?;
            }
        }
        *self.matrix = inverse.into_memory();
        let Path { change, end, .. } = path;
        let sound = change.iter().all(|change| change.is_finite()) && self.keeps_sums(&change);
        Ok(sound.then_some(Move { change, end }))
    }

    /// Tells whether the sums are kept to rounding.
    fn keeps_sums(&self, change: &[f64]) -> bool {
        let largest = change.iter().fold(0.0f64, |a, &b| a.max(b.abs()));
        self.groups.iter().all(|group| {
            let rest = sum(change, group) / group.len() as f64;
            rest.abs() <= LARGEST_REST * largest
        })
    }
}

/// The way to the minimum: what is left of the step, and where the variables are.
struct Path {
    /// The diagonal of the inverse at first.
    largest: Vec<f64>,
    step: Vec<f64>,
    change: Vec<f64>,
    end: Vec<End>,
}

impl Path {
    /// Goes along the step as far as the first bound. Returns the variable that meets it; None at the
    /// end of the step.
    fn follow(&mut self, below: &[f64], above: &[f64]) -> Option<usize> {
        let (mut length, mut first) = (1.0f64, None);
        for (i, (&step, &change)) in self.step.iter().zip(&self.change).enumerate() {
            let room = match step > 0.0 {
                true => above[i] - change,
                false => below[i] + change,
            };
            if step != 0.0 && room < length * step.abs() {
                (length, first) = ((room / step.abs()).max(0.0), Some(i));
            }
        }
        for (change, step) in self.change.iter_mut().zip(&mut self.step) {
            *change += length * *step;
            *step *= 1.0 - length;
        }
        let j = first?;
        (self.change[j], self.end[j]) = match self.step[j] > 0.0 {
            true => (above[j], End::Above),
            false => (-below[j], End::Below),
        };
        Some(j)
    }

    /// Leaves a variable where it is, given its column of P. Returns false if P has no part in it.
    fn leave_out(&mut self, isa: Isa, j: usize, column: &mut [f64]) -> bool {
        let pivot = column[j];
        // What is fixed already has no part in P but for rounding.
        for (value, end) in column.iter_mut().zip(&self.end) {
            if *end != End::Inside {
                *value = 0.0;
            }
        }
        column[j] = pivot;
        let free = pivot > HELD * self.largest[j];
        if free {
            add_multiple(isa, -self.step[j] / pivot, column, &mut self.step);
        }
        self.step[j] = 0.0;
        free
    }
}

fn sum(values: &[f64], group: &Range<usize>) -> f64 {
    values[group.clone()].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix without a pattern.
    fn matrix(n: usize) -> Vec<f64> {
        let point = |i: usize| (i as f64 * 0.7).sin() + i as f64 / n as f64;
        let value = |i: usize, j: usize| {
            (-(point(i) - point(j)).powi(2)).exp() + if i == j { 0.05 } else { 0.0 }
        };
        (0..n * n).map(|at| value(at / n, at % n)).collect()
    }

    fn minimum(groups: &[Range<usize>], below: &[f64], above: &[f64]) -> (Vec<f64>, Move) {
        let n = below.len();
        let descent: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).cos()).collect();
        let k = matrix(n);
        let face = Face {
            matrix: &mut k.clone().into(),
            groups,
            descent: &descent,
            below,
            above,
        };
        let Ok(Some(found)) = face.minimum(Isa::detect(), &|| false) else {
            panic!("a minimum")
        };
        let rest = |i: usize| {
            let product = (0..n).map(|j| k[i * n + j] * found.change[j]).sum::<f64>();
            descent[i] - product
        };
        ((0..n).map(rest).collect(), found)
    }

    /// What is left to gain is the same for all of a group that are not at a bound, and sums are kept.
    #[test]
    #[allow(clippy::single_range_in_vec_init)] // one group is a range
    fn nothing_is_left_to_gain() {
        let n = 150;
        for groups in [vec![], vec![0..n], vec![0..60, 60..n]] {
            let wide = vec![f64::INFINITY; n];
            let narrow: Vec<f64> = (0..n).map(|i| 0.01 * (1 + i % 7) as f64).collect();
            for room in [wide, narrow] {
                let (rest, found) = minimum(&groups, &room, &room);
                let free = |i: &usize| found.end[*i] == End::Inside;
                assert_eq!((0..n).all(|i| free(&i)), room[0].is_infinite());
                for (i, &change) in found.change.iter().enumerate() {
                    match found.end[i] {
                        End::Inside => assert!(change.abs() <= room[i]),
                        End::Below => assert_eq!(change, -room[i]),
                        End::Above => assert_eq!(change, room[i]),
                    }
                }
                let whole = [0..n];
                let parts = if groups.is_empty() {
                    &whole[..]
                } else {
                    &groups
                };
                for group in parts {
                    let left: Vec<f64> = group.clone().filter(free).map(|i| rest[i]).collect();
                    let level = if groups.is_empty() { 0.0 } else { left[0] };
                    assert!(left.iter().all(|rest| (rest - level).abs() < 1e-9));
                }
                assert!(groups.iter().all(|g| sum(&found.change, g).abs() < 1e-9));
            }
        }
    }
}
