//! Shares: the nearest point of a box in which coordinates add up to zero.

/// Writes to `point` the nearest point with lower <= x <= upper and a sum of zero; `point` is where it
/// is measured from. Zero is within the bounds.
///
/// It is x = clip(point - tau) with the tau at which the sum vanishes. The sum falls with tau, along a
/// line between two values at which a coordinate meets a bound.
pub(super) fn nearest(point: &mut [f64], lower: &[f64], upper: &[f64], ends: &mut Vec<f64>) {
    let clipped = |i: usize, tau: f64| (point[i] - tau).clamp(lower[i], upper[i]);
    let sum = |tau: f64| (0..point.len()).map(|i| clipped(i, tau)).sum::<f64>();
    ends.clear();
    let bounds = lower.iter().chain(upper).zip(point.iter().cycle());
    ends.extend(bounds.map(|(bound, point)| point - bound));
    ends.retain(|end| end.is_finite());
    ends.sort_by(f64::total_cmp);
    // The first end at which the sum is not above zero, and the one before.
    let after = ends.partition_point(|&end| sum(end) > 0.0);
    let (low, high) = (
        after
            .checked_sub(1)
            .map_or(f64::NEG_INFINITY, |at| ends[at]),
        ends.get(after).copied().unwrap_or(f64::INFINITY),
    );
    // Between the two the same coordinates are free.
    let inside = match (low.is_finite(), high.is_finite()) {
        (true, true) => 0.5 * (low + high),
        (true, false) => low + 1.0,
        (false, true) => high - 1.0,
        (false, false) => 0.0,
    };
    let is_free = |i: usize| {
        let value = point[i] - inside;
        lower[i] < value && value < upper[i]
    };
    let free = (0..point.len()).filter(|&i| is_free(i)).count();
    let tau = match free {
        0 => inside.clamp(low, high),
        _ => {
            let fixed = (0..point.len()).map(|i| match is_free(i) {
                true => point[i],
                false => clipped(i, inside),
            });
            (fixed.sum::<f64>() / free as f64).clamp(low, high)
        }
    };
    for (i, value) in point.iter_mut().enumerate() {
        *value = (*value - tau).clamp(lower[i], upper[i]);
    }
    take_up(point, lower, upper);
}

/// Gives what rounding has left of the sum to the coordinate farthest from its bounds.
fn take_up(point: &mut [f64], lower: &[f64], upper: &[f64]) {
    let rest: f64 = point.iter().sum();
    let room = |i: usize| (upper[i] - point[i]).min(point[i] - lower[i]);
    let freest = (0..point.len()).max_by(|&i, &j| room(i).total_cmp(&room(j)));
    if let Some(i) = freest.filter(|&i| room(i) > rest.abs()) {
        point[i] -= rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::random::Random;

    #[test]
    fn the_nearest_point_is_feasible_and_no_other_is_nearer() {
        let mut random = Random::new(3);
        let mut uniform = move || (random.bits() % 10_000) as f64 / 5000.0 - 1.0;
        for round in 0..500 {
            let k = 2 + round % 6;
            let infinite = round % 3;
            let lower: Vec<f64> = (0..k)
                .map(|i| {
                    if i < infinite {
                        f64::NEG_INFINITY
                    } else {
                        uniform().min(0.0)
                    }
                })
                .collect();
            let upper: Vec<f64> = (0..k)
                .map(|i| {
                    if i == 1 {
                        f64::INFINITY
                    } else {
                        uniform().max(0.0)
                    }
                })
                .collect();
            let from: Vec<f64> = (0..k).map(|_| 3.0 * uniform()).collect();
            let mut point = from.clone();
            nearest(&mut point, &lower, &upper, &mut Vec::new());
            assert!(point.iter().sum::<f64>().abs() < 1e-12);
            // Slopes of the distance: what may grow rises as fast as what may shrink at least.
            let slope = |i: usize| point[i] - from[i];
            for i in (0..k).filter(|&i| point[i] < upper[i]) {
                for j in (0..k).filter(|&j| point[j] > lower[j]) {
                    assert!(slope(i) - slope(j) > -1e-9, "{point:?} from {from:?}");
                }
            }
            for i in 0..k {
                assert!(lower[i] <= point[i] && point[i] <= upper[i]);
            }
        }
    }
}
