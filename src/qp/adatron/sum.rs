//! The fixed sum, which epochs at one intercept do not keep: its excess is taken off at the end.

use super::Sweeps;
use crate::error::{Polled, Stop};
use crate::matrix::Precision;
use crate::qp::coordinates::Point;

impl<T: Precision> Sweeps<'_, '_, T> {
    /// Makes a sum that is almost right exactly so, by changes of variables that leave the gap below
    /// the tolerance.
    pub(super) fn settle_sum(&mut self, tolerance: f64) -> Polled<()> {
        let control = self.task.control;
        let (thresholds, excess) = (self.thresholds(), self.excess());
        let room = 0.5 * (tolerance + thresholds.gap());
        let near = |point: &Point| match excess > 0.0 {
            true => point.down() <= thresholds.big_m(0) + room,
            false => point.up() >= thresholds.m(0) - room,
        };
        let moved = self.spread(excess, false, |_, point| near(point));
        self.apply(&moved, &|| control.stop())
    }

    /// Makes the sum right, with rows that are held if they suffice. `stop` is asked before others are
    /// computed; if it says so, the sum may still be wrong.
    pub(super) fn keep_sum(&mut self, stop: Stop) -> Polled<()> {
        for (crossing, any) in [(false, false), (true, false), (false, true), (true, true)] {
            let may = |i: usize| any || self.rows.holds(i as u32);
            let moved = self.spread(self.excess(), crossing, |i, _| may(i));
            self.apply(&moved, stop)?;
        }
        Ok(())
    }

    /// Spreads the excess of the sum over the variables that `may` be moved, as evenly as their
    /// bounds allow, and without making one cross zero unless that is allowed, too. Returns their new
    /// coefficients.
    fn spread(
        &self,
        excess: f64,
        crossing: bool,
        may: impl Fn(usize, &Point) -> bool,
    ) -> Vec<(usize, f64)> {
        if excess == 0.0 {
            return Vec::new();
        }
        let coordinates = &self.state.coordinates;
        let room = |point: &Point| {
            let crosses = |end: f64| point.beta * end < 0.0 && !crossing;
            let before_zero = |end: f64| if crosses(end) { 0.0 } else { end };
            match excess > 0.0 {
                true => point.beta - before_zero(point.lower),
                false => before_zero(point.upper) - point.beta,
            }
        };
        let mut rooms: Vec<(f64, usize)> = (0..coordinates.len())
            .map(|i| (coordinates.point(i), i))
            .filter(|(point, i)| room(point) > 0.0 && may(*i, point))
            .map(|(point, i)| (room(&point), i))
            .collect();
        rooms.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut rest, mut left) = (excess.abs(), rooms.len());
        let moved = rooms.into_iter().map(|(room, i)| {
            let share = room.min(rest / left as f64);
            rest -= share;
            left -= 1;
            let point = coordinates.point(i);
            let beta = point.beta - share * excess.signum();
            (i, beta.clamp(point.lower, point.upper))
        });
        moved.collect()
    }
}
