//! Coordinates: where variables are, between which bounds, and the gradient there.

use super::exact_sum::exact_sum;
use super::problem::DualProblem;
use crate::simd::{Isa, Real, dispatch};

/// What is left of a coefficient below this share of it is the rounding of sums and differences.
pub(super) const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// How often what the sum of a group has too much is taken off.
const SETTLINGS: usize = 4;

/// Coefficients, gradient and bounds, one entry per place: in the order of variables, of positions
/// or of the places of a block, whose gradient may be in f32.
#[derive(Clone, Default)]
pub(super) struct Coordinates<T = f64> {
    pub beta: Vec<f64>,
    /// The gradient of the smooth part of the objective.
    pub gradient: Vec<T>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// The factors of |beta|.
    pub absolute: Vec<f64>,
}

impl<T: Real> Coordinates<T> {
    pub fn len(&self) -> usize {
        self.beta.len()
    }

    #[inline]
    pub fn point(&self, i: usize) -> Point {
        Point {
            beta: self.beta[i],
            gradient: self.gradient[i].to_f64(),
            lower: self.lower[i],
            upper: self.upper[i],
            absolute: self.absolute[i],
        }
    }

    pub fn set(&mut self, i: usize, point: Point) {
        self.beta[i] = point.beta;
        self.gradient[i] = T::from_f64(point.gradient);
        self.lower[i] = point.lower;
        self.upper[i] = point.upper;
        self.absolute[i] = point.absolute;
    }

    /// Makes room for `count` variables that cannot move.
    pub fn clear(&mut self, count: usize) {
        for vector in [
            &mut self.beta,
            &mut self.lower,
            &mut self.upper,
            &mut self.absolute,
        ] {
            vector.clear();
            vector.resize(count, 0.0);
        }
        self.gradient.clear();
        self.gradient.resize(count, T::ZERO);
    }
}

impl Coordinates {
    /// Returns those of a problem, in the order of its variables.
    pub fn of(problem: &DualProblem, beta: Vec<f64>, gradient: Vec<f64>) -> Self {
        Coordinates {
            beta,
            gradient,
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            absolute: problem.absolute.clone(),
        }
    }

    /// Returns the largest descent of the variables that may grow and the smallest of those that may
    /// shrink; infinite where there is none.
    pub fn extremes(&self) -> (f64, f64) {
        let Coordinates {
            beta,
            gradient,
            lower,
            upper,
            absolute,
        } = self;
        extremes(
            Isa::detect(),
            [beta, gradient, lower, upper, absolute].map(Vec::as_slice),
        )
    }

    /// Returns what is at the given places, in their order.
    pub fn at(&self, places: &[u32]) -> Self {
        Coordinates {
            beta: taken(&self.beta, places),
            gradient: taken(&self.gradient, places),
            lower: taken(&self.lower, places),
            upper: taken(&self.upper, places),
            absolute: taken(&self.absolute, places),
        }
    }

    /// Returns the same with coefficients on their bounds, or on the kink at zero, that only rounding keeps
    /// from there: what is free decides on the intercept. Rounding is that of a sum of coefficients as
    /// large as the largest, or as the variable itself can become.
    pub fn landed(&self) -> Self {
        let largest = self.beta.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let terms = self.beta.iter().filter(|beta| **beta != 0.0).count();
        let share = ROUNDING + f64::EPSILON * terms as f64;
        let mut landed = self.clone();
        for (i, beta) in landed.beta.iter_mut().enumerate() {
            let Point { lower, upper, .. } = self.point(i);
            let kink = (self.absolute[i] > 0.0).then_some(0.0);
            let ends = [Some(lower), Some(upper), kink];
            let rounding = share * largest.min(lower.abs().max(upper.abs()));
            let near = |end: &f64| (*beta - end).abs() <= rounding;
            if let Some(end) = ends.into_iter().flatten().find(near) {
                *beta = end;
            }
        }
        landed
    }

    /// Returns the coefficients with the sums that those of the start have, where these are fixed, to the
    /// last digit: what is missing goes to the free variable of the group that is farthest from its
    /// bounds, or else to those from which the objective falls most, one after another. These are at the
    /// threshold, so the gap stays what it is.
    pub fn with_sums_of(&self, problem: &DualProblem) -> Vec<f64> {
        let mut there = self.clone();
        if problem.constraint.absorber().is_some() {
            return there.beta;
        }
        for group in 0..problem.constraint.groups() {
            // What is left may be as small as the rounding of what was taken off: so once more.
            for _ in 0..SETTLINGS {
                if !there.take_off_excess(problem, group) {
                    break;
                }
            }
        }
        there.beta
    }

    /// Takes off what the sum of a group has too much, up to a rounding; false if that is nothing.
    fn take_off_excess(&mut self, problem: &DualProblem, group: usize) -> bool {
        let members: Vec<usize> = (0..self.len())
            .filter(|&i| problem.constraint.group(i) == group)
            .collect();
        let terms = members
            .iter()
            .flat_map(|&i| [self.beta[i], -problem.start[i]]);
        let mut excess = exact_sum(terms);
        let size: f64 = members.iter().map(|&i| self.beta[i].abs()).sum();
        if excess.abs() <= f64::EPSILON * size {
            return false;
        }
        let freest = (members.iter()).max_by(|&&i, &&j| self.room(i).total_cmp(&self.room(j)));
        if let Some(&i) = freest.filter(|&&i| excess.abs() < self.room(i)) {
            self.beta[i] -= excess;
            return true;
        }
        let slope = |i: usize| match excess > 0.0 {
            true => self.point(i).down(),
            false => -self.point(i).up(),
        };
        let mut takers: Vec<(f64, usize)> = members.iter().map(|&i| (slope(i), i)).collect();
        takers.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, i) in takers {
            let room = self.room_against(i, excess);
            let change = excess.clamp(-room, room);
            self.beta[i] -= change;
            excess -= change;
        }
        true
    }

    /// Returns how far a variable may move either way without meeting a bound or a kink.
    fn room(&self, i: usize) -> f64 {
        let point = self.point(i);
        let room = (point.upper - point.beta).min(point.beta - point.lower);
        match point.absolute > 0.0 {
            true => room.min(point.beta.abs()),
            false => room,
        }
    }

    /// Returns how far a variable may move against an excess, as far as to a bound or a kink.
    fn room_against(&self, i: usize, excess: f64) -> f64 {
        let point = self.point(i);
        let room = match excess > 0.0 {
            true => point.beta - point.lower,
            false => point.upper - point.beta,
        };
        let room = match point.absolute > 0.0 && point.beta * excess >= 0.0 {
            true => room.min(point.beta.abs()),
            false => room,
        };
        room.max(0.0)
    }

    /// Reorders the leading places: place p now holds what place `order[p]` held.
    pub fn permute(&mut self, order: &[u32]) {
        for values in [
            &mut self.beta,
            &mut self.gradient,
            &mut self.lower,
            &mut self.upper,
            &mut self.absolute,
        ] {
            permute(values, order);
        }
    }
}

/// Returns the values at the given places, in their order.
fn taken<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|&at| values[at as usize]).collect()
}

/// Reorders the leading values as [`Coordinates::permute`] does.
pub(super) fn permute<T: Copy>(values: &mut [T], order: &[u32]) {
    let new = taken(values, order);
    values[..order.len()].copy_from_slice(&new);
}

/// One variable as the optimality test sees it.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub beta: f64,
    pub gradient: f64,
    pub lower: f64,
    pub upper: f64,
    /// The factor of |beta|.
    pub absolute: f64,
}

dispatch! {
    /// Returns the extremes of coefficients, gradients, bounds and factors of the absolute value.
    fn extremes<T: Real>(coordinates: [&[T]; 5]) -> (T, T) = extremes_body
}

/// Numbers compared side by side.
const LANES: usize = 8;

/// [`Point::up`] and [`Point::down`] of all, as arithmetic without branches.
#[inline(always)]
fn extremes_body<T: Real, const FMA: bool>(coordinates: [&[T]; 5]) -> (T, T) {
    let (mut most, mut least) = ([-T::INFINITY; LANES], [T::INFINITY; LANES]);
    let [beta, gradient, lower, upper, absolute] = coordinates.map(|v| v.as_chunks::<LANES>());
    for at in 0..beta.0.len() {
        let (gradient, absolute) = (&gradient.0[at], &absolute.0[at]);
        let bounds = (&lower.0[at], &upper.0[at]);
        include(
            &beta.0[at],
            gradient,
            bounds,
            absolute,
            &mut most,
            &mut least,
        );
    }
    // What is missing may not move.
    let [beta, gradient, lower, upper, absolute] =
        [beta.1, gradient.1, lower.1, upper.1, absolute.1].map(padded);
    let bounds = (&lower, &upper);
    include(&beta, &gradient, bounds, &absolute, &mut most, &mut least);
    let larger = |a: T, b: T| a.larger(b);
    let smaller = |a: T, b: T| a.smaller(b);
    let most = most.into_iter().fold(-T::INFINITY, larger);
    (most, least.into_iter().fold(T::INFINITY, smaller))
}

/// Not a closure, which would be compiled without the instructions of the loop around it.
#[inline(always)]
fn include<T: Real>(
    beta: &[T; LANES],
    gradient: &[T; LANES],
    (lower, upper): (&[T; LANES], &[T; LANES]),
    absolute: &[T; LANES],
    most: &mut [T; LANES],
    least: &mut [T; LANES],
) {
    for lane in 0..LANES {
        let (beta, slope) = (beta[lane], absolute[lane]);
        let grow = if beta >= T::ZERO { -slope } else { slope };
        let shrink = if beta > T::ZERO { -slope } else { slope };
        let (up, down) = (grow - gradient[lane], shrink - gradient[lane]);
        let up = if beta < upper[lane] { up } else { -T::INFINITY };
        let down = if beta > lower[lane] {
            down
        } else {
            T::INFINITY
        };
        most[lane] = up.larger(most[lane]);
        least[lane] = down.smaller(least[lane]);
    }
}

/// Fills the lanes up with zeros.
fn padded<T: Real>(values: &[T]) -> [T; LANES] {
    let mut lanes = [T::ZERO; LANES];
    lanes[..values.len()].copy_from_slice(values);
    lanes
}

impl Point {
    pub fn may_grow(&self) -> bool {
        self.beta < self.upper
    }

    pub fn may_shrink(&self) -> bool {
        self.beta > self.lower
    }

    /// Tells whether it may move both ways without a kink.
    pub fn is_free(&self) -> bool {
        self.may_grow() && self.may_shrink() && (self.beta != 0.0 || self.absolute == 0.0)
    }

    /// How fast the objective falls when the variable grows.
    pub fn up(&self) -> f64 {
        -self.gradient + self.grow_offset()
    }

    /// How fast the objective rises when the variable shrinks.
    pub fn down(&self) -> f64 {
        -self.gradient + self.shrink_offset()
    }

    /// Returns what is added to its descent where it grows and where it shrinks: an infinity that no
    /// search finds where it may not.
    pub fn ways<T: Real>(&self) -> (T, T) {
        let grow = match self.may_grow() {
            true => T::from_f64(self.grow_offset()),
            false => -T::INFINITY,
        };
        let shrink = match self.may_shrink() {
            true => T::from_f64(self.shrink_offset()),
            false => T::INFINITY,
        };
        (grow, shrink)
    }

    /// How far the variable may grow in one step, and where that ends: at zero at the latest if the
    /// slope of |beta| changes there.
    pub fn room_above(&self) -> (f64, f64) {
        let kink = self.beta < 0.0 && self.absolute > 0.0;
        let end = match kink {
            true => self.upper.min(0.0),
            false => self.upper,
        };
        (end - self.beta, end)
    }

    /// How far the variable may shrink in one step, and where that ends.
    pub fn room_below(&self) -> (f64, f64) {
        let kink = self.beta > 0.0 && self.absolute > 0.0;
        let end = match kink {
            true => self.lower.max(0.0),
            false => self.lower,
        };
        (self.beta - end, end)
    }

    /// What |beta| adds to the descent of a variable that grows: its slope changes sign at 0.
    pub fn grow_offset(&self) -> f64 {
        if self.beta >= 0.0 {
            -self.absolute
        } else {
            self.absolute
        }
    }

    /// What |beta| adds to the descent of a variable that shrinks.
    pub fn shrink_offset(&self) -> f64 {
        if self.beta > 0.0 {
            -self.absolute
        } else {
            self.absolute
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qp::problem::Constraint;

    /// The extremes of any number of variables are those of their points one by one.
    #[test]
    fn extremes_are_those_of_the_points() {
        let value = |i: usize, step: f64| (i as f64 * step).sin();
        for n in [0, 1, 7, 8, 9, 40, 103] {
            for absolute in [0.0, 0.25] {
                let beta = |i: usize| [0.0, -1.0, 1.0, value(i, 0.7)][i % 4];
                let at = Coordinates {
                    beta: (0..n).map(beta).collect(),
                    gradient: (0..n).map(|i| value(i, 1.3)).collect(),
                    lower: vec![-1.0; n],
                    upper: vec![1.0; n],
                    absolute: vec![absolute; n],
                };
                let points = || (0..n).map(|i| at.point(i));
                let up = points().filter(Point::may_grow).map(|p| p.up());
                let down = points().filter(Point::may_shrink).map(|p| p.down());
                let expected = (
                    up.fold(f64::NEG_INFINITY, f64::max),
                    down.fold(f64::INFINITY, f64::min),
                );
                assert_eq!(at.extremes(), expected, "{n} variables");
            }
        }
    }

    /// Coefficients between -1 and 1, the sum of which should be 0.
    fn settled(beta: &[f64], absolute: f64) -> Vec<f64> {
        let all = |value: f64| vec![value; beta.len()];
        let problem = DualProblem {
            linear: all(0.0),
            absolute: all(absolute),
            lower: all(-1.0),
            upper: all(1.0),
            ridge: all(0.0),
            start: all(0.0),
            constraint: Constraint::Sum,
        };
        Coordinates::of(&problem, beta.to_vec(), all(0.0)).with_sums_of(&problem)
    }

    #[test]
    fn the_freest_variable_makes_the_sum_right() {
        assert_eq!(
            settled(&[0.5, -0.25, -1.0, 1.0], 0.0),
            [0.5, -0.5, -1.0, 1.0]
        );
        assert_eq!(settled(&[0.5, -0.5], 0.0), [0.5, -0.5]);
    }

    #[test]
    fn several_make_it_right_where_none_has_room() {
        // Neither zero, which is a kink, nor a bound is crossed.
        assert_eq!(
            settled(&[0.0, 0.25, 0.5, -0.125], 0.1),
            [0.0, 0.0, 0.125, -0.125]
        );
        assert_eq!(settled(&[1.0, 1.0, -0.75], 0.1), [0.0, 0.75, -0.75]);
        assert_eq!(settled(&[-1.0, -1.0, 0.75], 0.0), [0.25, -1.0, 0.75]);
    }

    #[test]
    fn nothing_is_left_of_coefficients_that_are_all_excess() {
        let beta: Vec<f64> = (1..12).map(|i| 2.7e-5 / f64::from(i)).collect();
        assert_eq!(settled(&beta, 0.1), [0.0; 11]);
    }

    #[test]
    fn rounding_keeps_no_coefficient_from_its_bound() {
        let tiny = 4e-16;
        let at = |beta: &[f64], absolute: f64, upper: f64| {
            let all = |value: f64| vec![value; beta.len()];
            Coordinates {
                beta: beta.to_vec(),
                gradient: all(0.0),
                lower: all(0.0 - upper),
                upper: all(upper),
                absolute: all(absolute),
            }
        };
        let beta = [-tiny, 0.5, 1.0 - tiny, tiny - 1.0];
        assert_eq!(at(&beta, 0.1, 1.0).landed().beta, [0.0, 0.5, 1.0, -1.0]);
        // Zero is nothing special where it is no kink.
        assert_eq!(at(&beta, 0.0, 1.0).landed().beta, [-tiny, 0.5, 1.0, -1.0]);
        // Small beside its bounds, but not beside the others.
        assert_eq!(at(&[tiny, -tiny], 0.1, 1.0).landed().beta, [tiny, -tiny]);
        let mut light = at(&[tiny, 1.0], 0.1, 1.0);
        light.upper[0] = 2.0 * tiny;
        light.lower[0] = 0.0;
        assert_eq!(light.landed().beta, [tiny, 1.0]);
    }

    /// One that may grow without lifting the gap: not the first, which would leave its bound for less.
    #[test]
    fn what_is_missing_goes_where_the_objective_falls() {
        let below = 1.0 - 8.0 * f64::EPSILON;
        let problem = DualProblem {
            linear: vec![0.0; 3],
            absolute: vec![0.0; 3],
            lower: vec![0.0; 3],
            upper: vec![1.0; 3],
            ridge: vec![0.0; 3],
            start: vec![0.0, 1.0, 1.0],
            constraint: Constraint::Sum,
        };
        let at = Coordinates::of(&problem, vec![0.0, below, 1.0], vec![0.5, -1.0, -2.0]);
        assert_eq!(at.with_sums_of(&problem), [0.0, 1.0, 1.0]);
    }
}
