//! The step of the Adatron: where it takes one variable.

use crate::qp::coordinates::Point;

/// Returns where a step takes a variable; its gradient includes the intercept.
pub(super) fn stepped(point: &Point, curvature: f64, eta: f64) -> f64 {
    if curvature <= 0.0 {
        return lowest_end(point, curvature);
    }
    if point.absolute == 0.0 {
        let beta = point.beta - eta * point.gradient / curvature;
        return beta.clamp(point.lower, point.upper);
    }
    // Of the two multipliers the one that is not zero, as far as zero.
    let mut beta = point.beta;
    if beta != 0.0 {
        let slope = point.gradient + point.absolute * beta.signum();
        let to = beta - eta * slope / curvature;
        let to = to.clamp(point.lower, point.upper);
        if to * beta > 0.0 {
            return to;
        }
        beta = 0.0;
    }
    // Then the other, whichever would grow.
    let gradient = point.gradient - curvature * point.beta;
    let slope = gradient.abs() - point.absolute;
    if slope > 0.0 {
        beta = (-eta * slope * gradient.signum() / curvature).clamp(point.lower, point.upper);
    }
    beta
}

/// Returns where the objective is lowest if it is nowhere convex along a variable: at an end of
/// what is allowed, where |beta| has its kink, or where the variable is.
fn lowest_end(point: &Point, curvature: f64) -> f64 {
    let value = |beta: f64| {
        let change = beta - point.beta;
        let size = point.absolute * (beta.abs() - point.beta.abs());
        change * point.gradient + 0.5 * curvature * change * change + size
    };
    let slope = |sign: f64| match curvature < 0.0 {
        true => f64::NEG_INFINITY,
        false => sign * point.gradient + point.absolute,
    };
    let mut best = (0.0, point.beta);
    for end in [point.lower, 0.0, point.upper] {
        if end.is_infinite() {
            if slope(end.signum()) < 0.0 {
                return end;
            }
        } else if (point.lower..=point.upper).contains(&end) && value(end) < best.0 {
            best = (value(end), end);
        }
    }
    best.1
}
