//! Dag: machines on pairs of classes, of which a walk through a graph asks one for each class but one.
//!
//! Platt, Cristianini, Shawe-Taylor: Large margin DAGs for multiclass classification, NIPS 12
//! (2000).

use super::machines::Machines;
use super::one_vs_one::{OneVsOne, confidence};
use super::pairs::pair;
use super::training::Training;
use crate::error::Result;

/// Trains as [`OneVsOne`], to be decided by a walk of the graph:
/// [`Multiclass::Dag`](super::Multiclass::Dag).
///
/// ```
/// use mercer::{Kernel, Samples, model::{Dag, Margin, Training}};
/// let (kernel, x) = (Kernel::rbf(1.0), ndarray::array![[0.0], [1.0], [3.0]]);
/// let samples = Samples::try_from(x.view())?;
/// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], Margin::Nu(0.5));
/// assert_eq!(Dag::fit(&training)?.intercept.len(), 3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dag;

impl Dag {
    /// Trains the machines: see [`OneVsOne::fit`].
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Dag, Margin, OneVsOne, Training}};
    /// # let (kernel, x) = (Kernel::rbf(1.0), ndarray::array![[0.0], [1.0], [3.0]]);
    /// # let samples = Samples::try_from(x.view())?;
    /// let training = Training::new(&kernel, &samples, &[0, 1, 2], &[1.0; 3], Margin::Nu(0.5));
    /// assert_eq!(Dag::fit(&training)?.dual_coef, OneVsOne::fit(&training)?.dual_coef);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OneVsOne::fit`].
    pub fn fit(training: &Training) -> Result<Machines> {
        OneVsOne::fit(training)
    }
}

/// Walks the graph: compares the first and the last class left and drops the loser, until one is
/// left. `value` is asked for k - 1 pairs of classes i < j.
pub(crate) fn walk(classes: usize, mut value: impl FnMut(usize, usize) -> f64) -> usize {
    let (mut first, mut last) = (0, classes - 1);
    while first < last {
        if value(first, last) > 0.0 {
            last -= 1;
        } else {
            first += 1;
        }
    }
    first
}

/// Writes for each class the number of the comparison that dropped it, or how many there are for the
/// one that is left, plus the [`confidence`] of the value in its favour there; of the one that is left,
/// in the last comparison.
pub(super) fn rounds(values: &[f64], out: &mut [f64]) {
    let classes = out.len();
    let mut round = 0.0;
    walk(classes, |i, j| {
        let value = values[pair(classes, i, j)];
        let (winner, loser) = if value > 0.0 { (i, j) } else { (j, i) };
        out[loser] = round - confidence(value.abs());
        round += 1.0;
        // Unless a later comparison drops it.
        out[winner] = round + confidence(value.abs());
        value
    });
}

/// Returns the largest value by which the winner has won a comparison on the way.
pub(super) fn clearest_on_the_way(values: &[f64], classes: usize, winner: usize) -> f64 {
    let mut clearest = 0.0;
    walk(classes, |i, j| {
        let value = values[pair(classes, i, j)];
        // What the winner took part in, it won.
        if i == winner || j == winner {
            clearest = f64::max(clearest, value.abs());
        }
        value
    });
    clearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_asks_one_question_less_than_there_are_classes() {
        for winner in 0..7 {
            let mut asked = 0;
            // The winner beats all, and of others the lower class wins.
            let found = walk(7, |_, j| {
                asked += 1;
                if j == winner { -1.0 } else { 1.0 }
            });
            assert_eq!((found, asked), (winner, 6));
        }
    }
}
