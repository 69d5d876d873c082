//! Pairs of classes: their numbers, and which class of a pair is the positive one.

/// Returns the number of the machine of classes i < j: (0, 1), (0, 2), ..., (1, 2), ...
pub(crate) fn pair(classes: usize, i: usize, j: usize) -> usize {
    i * (2 * classes - i - 1) / 2 + j - i - 1
}

/// Returns all pairs i < j in the order of their numbers.
pub(crate) fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |i| (i + 1..classes).map(move |j| (i, j)))
}

/// Returns the class for which machine (i, j) is positive: i, but the second class if there are only
/// two, as in scikit-learn.
pub(super) fn positive(classes: usize, (i, j): (usize, usize)) -> usize {
    if classes == 2 { j } else { i }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_numbered_by_their_classes() {
        for classes in 2..9 {
            for (machine, (i, j)) in pairs(classes).enumerate() {
                assert_eq!(pair(classes, i, j), machine);
            }
            assert_eq!(pairs(classes).count(), classes * (classes - 1) / 2);
        }
    }
}
