//! The fixed sum, which epochs at one bias do not keep: what it has too much is taken off at the end.

use super::Sweeps;
use crate::error::Result;
use crate::matrix::Precision;
use crate::qp::kkt::Point;

impl<T: Precision> Sweeps<'_, '_, T> {
    /// Makes a sum that is almost right exactly so, by changes of variables that leave the gap below
    /// the tolerance. Returns false if stopped.
    pub(super) fn settle_sum(&mut self, tolerance: f64) -> Result<bool> {
        let (thresholds, excess) = (self.thresholds(), self.excess());
        let room = 0.5 * (tolerance + thresholds.gap());
        let near = |point: &Point| match excess > 0.0 {
            true => point.down() <= thresholds.big_m(0) + room,
            false => point.up() >= thresholds.m(0) - room,
        };
        let moved = self.spread(excess, |_, point| near(point));
        self.apply(&moved, &|| self.task.control.stop())
    }

    /// Makes the sum right wherever that is possible at once, because a model is to keep it for
    /// whatever reason it was stopped: with rows that are held.
    pub(super) fn keep_sum(&mut self) -> Result<()> {
        let moved = self.spread(self.excess(), |i, _| self.rows.holds(i as u32));
        self.apply(&moved, &|| false)?;
        Ok(())
    }

    /// Spreads what the sum has too much over the variables that `may` be moved, as evenly as their
    /// bounds allow and without making one cross zero. Returns their new coefficients.
    fn spread(&self, excess: f64, may: impl Fn(usize, &Point) -> bool) -> Vec<(usize, f64)> {
        if excess == 0.0 {
            return Vec::new();
        }
        let room = |point: &Point| {
            let before_zero = |end: f64| if point.beta * end < 0.0 { 0.0 } else { end };
            match excess > 0.0 {
                true => point.beta - before_zero(point.lower),
                false => before_zero(point.upper) - point.beta,
            }
        };
        let mut rooms: Vec<(f64, usize)> = (0..self.state.beta.len())
            .map(|i| (self.point_of(i), i))
            .filter(|(point, i)| room(point) > 0.0 && may(*i, point))
            .map(|(point, i)| (room(&point), i))
            .collect();
        rooms.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut rest, mut left) = (excess.abs(), rooms.len());
        let moved = rooms.into_iter().map(|(room, i)| {
            let share = room.min(rest / left as f64);
            rest -= share;
            left -= 1;
            let point = self.point_of(i);
            let beta = point.beta - share * excess.signum();
            (i, beta.clamp(point.lower, point.upper))
        });
        moved.collect()
    }
}
