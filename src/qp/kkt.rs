//! Keerthi's two thresholds: the optimality test, independent of any solver.

/// Returns (m, M): the largest -g of the variables below their upper bound and the smallest -g of
/// those above their lower bound; minus and plus infinity where there are none.
///
/// ```
/// let (m, big_m) = mercer::qp::thresholds(&[0.0, 0.5], &[-1.0, 2.0], &[0.0, 0.0], &[1.0, 1.0]);
/// assert_eq!((m, big_m), (1.0, -2.0));
/// ```
pub fn thresholds(beta: &[f64], gradient: &[f64], lower: &[f64], upper: &[f64]) -> (f64, f64) {
    let (mut grow, mut shrink) = (f64::NEG_INFINITY, f64::INFINITY);
    for ((&beta, &gradient), (&lower, &upper)) in
        beta.iter().zip(gradient).zip(lower.iter().zip(upper))
    {
        if beta < upper {
            grow = grow.max(-gradient);
        }
        if beta > lower {
            shrink = shrink.min(-gradient);
        }
    }
    (grow, shrink)
}

/// Returns m - M, or 0 where no variable may grow or none may shrink: then the point is the only
/// feasible one.
///
/// ```
/// assert_eq!(mercer::qp::gap(1.5, 1.0), 0.5);
/// assert_eq!(mercer::qp::gap(f64::NEG_INFINITY, 1.0), 0.0);
/// ```
pub fn gap(m: f64, big_m: f64) -> f64 {
    if m.is_finite() && big_m.is_finite() {
        m - big_m
    } else {
        0.0
    }
}
