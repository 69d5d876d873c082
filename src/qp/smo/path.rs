//! LIBSVM's path: pair steps over all active variables, with rows as they are needed.
//!
//! A block that holds all variables takes the same steps ([`pairs`](super::block)), but has its whole
//! matrix first, and again whenever it is posed anew. Where rows are read from memory that is most of
//! the work: n^2 values, of which the steps need the rows of the variables that move. So here a step
//! fetches two rows, and finds most of them in the cache.

use super::block::pairs::{Extremes, STEPS_BETWEEN_POLLS, TAU, best_partner, step_and_select};
use super::block::{Goal, Selection, landing};
use super::variables::Variables;
use crate::error::{Polled, poll};
use crate::matrix::{CHUNK, CachedRows, Precision};
use crate::qp::coordinates::Coordinates;
use crate::simd::Isa;

/// The variables by position, padded to whole chunks with some that cannot move.
pub(super) struct Path<T> {
    /// How many there are.
    size: usize,
    coordinates: Coordinates<T>,
    diagonal: Vec<T>,
    may_grow: Vec<T>,
    may_shrink: Vec<T>,
}

impl<T: Precision> Path<T> {
    /// Tells whether such a path leads where a block would: one sum is fixed, and no ridge is added to
    /// the rows.
    pub fn leads(variables: &Variables) -> bool {
        let plain = variables.groups == 1 && variables.absorber.is_none();
        plain && variables.ridge.iter().all(|&ridge| ridge == 0.0)
    }

    /// Begins where the active variables are.
    pub fn new(variables: &Variables) -> Self {
        let size = variables.active;
        let padded = size.next_multiple_of(CHUNK);
        let mut coordinates = Coordinates::default();
        coordinates.clear(padded);
        let mut path = Path {
            size,
            coordinates,
            diagonal: vec![T::ZERO; padded],
            may_grow: vec![-T::INFINITY; padded],
            may_shrink: vec![T::INFINITY; padded],
        };
        for at in 0..size {
            path.coordinates.set(at, variables.point(at));
            path.diagonal[at] = T::from_f64(variables.diagonal[at]);
            path.mark(at);
        }
        path
    }

    /// Returns the coefficients by position.
    pub fn into_beta(mut self) -> Vec<f64> {
        self.coordinates.beta.truncate(self.size);
        self.coordinates.beta
    }

    /// Steps until the goal is reached or rounding leaves no pair. Adds the number of steps to
    /// `steps`; those done before a halt count as well.
    pub fn solve(&mut self, rows: &mut CachedRows<T>, goal: &Goal, steps: &mut u64) -> Polled<()> {
        let isa = Isa::detect();
        let nothing = vec![T::ZERO; self.diagonal.len()];
        let mut found = self.step_and_select(isa, [&nothing, &nothing], T::ZERO);
        for step in 0..goal.max_steps {
            let gap = found.m.to_f64() - found.big_m.to_f64();
            if gap <= goal.tolerance || gap.is_nan() || found.i >= self.size {
                break;
            }
            if step.is_multiple_of(STEPS_BETWEEN_POLLS) {
                poll(goal.stop)?;
            }
            match self.step(isa, rows, &found, goal)? {
                Some(next) => found = next,
                None => break,
            }
            *steps += 1;
        }
        Ok(())
    }

    /// Takes a step from the thresholds that were found and returns the next; None if overflow or
    /// rounding leaves no partner.
    fn step(
        &mut self,
        isa: Isa,
        rows: &mut CachedRows<T>,
        found: &Extremes<T>,
        goal: &Goal,
    ) -> Polled<Option<Extremes<T>>> {
        let &Extremes { m, i, .. } = found;
        let name = rows.order().variable(i);
        let j = match goal.selection {
            Selection::FirstOrder => found.j,
            Selection::SecondOrder => {
                let [row, _] = rows.pair(name, name, self.size, goal.stop)?;
                let Coordinates { gradient, .. } = &self.coordinates;
                let (diagonal, closed) = (&self.diagonal, &self.may_shrink);
                best_partner(isa, row, diagonal, gradient, closed, m, diagonal[i])
            }
        };
        if j >= self.size || j == i {
            return Ok(None);
        }
        let descent = self.may_shrink[j] - self.coordinates.gradient[j];
        let violation = m.to_f64() - descent.to_f64();
        if violation <= 0.0 {
            return Ok(None);
        }
        let partner = rows.order().variable(j);
        let pair = rows.pair(name, partner, self.size, goal.stop)?;
        let two = T::ONE + T::ONE;
        let curvature = self.diagonal[i] + self.diagonal[j] - two * pair[0][j];
        let wanted = violation / curvature.to_f64().max(TAU);
        let (point_i, point_j) = (self.coordinates.point(i), self.coordinates.point(j));
        let (room_i, end_i) = point_i.room_above();
        let (room_j, end_j) = point_j.room_below();
        let step = wanted.min(room_i).min(room_j);
        self.coordinates.beta[i] = landing(point_i.beta, step, room_i, end_i);
        self.coordinates.beta[j] = landing(point_j.beta, -step, room_j, end_j);
        self.mark(i);
        self.mark(j);
        Ok(Some(self.step_and_select(isa, pair, T::from_f64(step))))
    }

    /// Adds step (row_i - row_j) to the gradient and finds the thresholds.
    fn step_and_select(&mut self, isa: Isa, [i, j]: [&[T]; 2], step: T) -> Extremes<T> {
        let Path {
            coordinates,
            may_grow,
            may_shrink,
            ..
        } = self;
        step_and_select(
            isa,
            i,
            j,
            step,
            &mut coordinates.gradient,
            may_grow,
            may_shrink,
        )
    }

    /// Notes which ways a variable may move from where it is.
    fn mark(&mut self, at: usize) {
        let point = self.coordinates.point(at);
        (self.may_grow[at], self.may_shrink[at]) = point.ways();
    }
}
