//! Sums without rounding to speak of: that of coefficients may be many orders smaller than they are.

/// Adds up numbers without rounding to speak of (Neumaier, ZAMM 54, 1974).
pub(super) fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = sum + term;
        lost += match sum.abs() >= term.abs() {
            true => (sum - next) + term,
            false => (term - next) + sum,
        };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_leaves_the_rest() {
        assert_eq!(exact_sum([1e16, 1.0, -1e16].into_iter()), 1.0);
        assert_eq!(exact_sum([1.0, 1e16, 0.5, -1e16].into_iter()), 1.5);
        assert_eq!(exact_sum([].into_iter()), 0.0);
    }
}
