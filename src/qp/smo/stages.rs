//! Stages: large problems begin with a sample of their variables.
//!
//! While most support vectors are still to be found the thresholds are far apart, no variable can be set
//! aside, and every row is as long as the problem. A sample is solved roughly at a small part of that cost.
//! Then the next stage joins it: the gradients of what joins are computed, and what is far from the
//! thresholds of the sample is set aside at once, as by shrinking. When all have joined and the gap is small
//! again, what was set aside is examined once before the rest of the way is gone.
//!
//! That pays where a few steps for each variable lead near the optimum. Otherwise all join at once.

use super::variables::Variables;
use crate::matrix::Order;
use crate::qp::kkt::Thresholds;

/// Variables from which a problem begins with a sample.
const MANY: usize = 4096;
/// One of so many variables is in the stage before the last, and in the one before that.
const SHARES: [u32; 2] = [4, 16];
/// The gap at which a stage is over, and the distance from its thresholds at which variables are far, as a
/// share of the gap at zero.
const NEAR: f64 = 0.1;
/// The cost, times the largest k(x, x), beyond which a sample tells little: its solution has so large
/// coefficients that most of what joins violates optimality, and blocks of all of it take much memory.
pub(super) const HARD: f64 = 50.0;
/// Steps for each variable of a stage after which the problem is too hard for stages.
const STEPS: u64 = 2;

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Over {
    /// The next ones, so many, are to join.
    Joins(usize),
    /// All have joined, and what was set aside is to be examined.
    Examination,
    /// It takes too long: all are to join now.
    Hard,
}

/// The stages that are still to come.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// How many there are, the examination of all among them. What joins in the others was set aside first,
    /// that of the last of them before all else.
    pending: usize,
    /// The distance at which variables are far.
    near: f64,
    /// The number of steps at which the stage is too long.
    limit: u64,
}

impl Stages {
    /// Returns the shares of the variables that stages begin with, the largest first: none where there are
    /// few variables.
    pub fn shares(variables: usize) -> &'static [u32] {
        match variables >= MANY {
            true => &SHARES,
            false => &[],
        }
    }

    /// Begins with so many stages before all variables have joined, where the first has so many; `gap` is
    /// that at zero.
    pub fn new(stages: usize, variables: usize, gap: f64) -> Self {
        let mut stages = Stages {
            pending: stages + usize::from(stages > 0),
            near: NEAR * gap,
            limit: 0,
        };
        stages.begin(0, variables);
        stages
    }

    /// Begins a stage of so many variables after so many steps.
    pub fn begin(&mut self, steps: u64, variables: usize) {
        self.limit = steps + STEPS * variables as u64;
    }

    /// Tells whether the stage is over at this gap and after so many steps, and notes it.
    pub fn end(&mut self, gap: f64, steps: u64) -> Option<Over> {
        if self.pending == 0 || gap > self.near && steps < self.limit {
            return None;
        }
        self.pending = match gap <= self.near {
            true => self.pending - 1,
            false => 0,
        };
        Some(match (gap <= self.near, self.pending) {
            (false, _) => Over::Hard,
            (true, 0) => Over::Examination,
            (true, pending) => Over::Joins(pending - 1),
        })
    }

    /// Returns thresholds beyond which variables are far from these.
    pub fn around(&self, thresholds: &Thresholds) -> Thresholds {
        Thresholds::from_groups([0, 1].map(|group| {
            let middle = thresholds.middle(group);
            [middle + self.near, middle - self.near]
        }))
    }
}

/// Returns the order of positions in which one of `share` active variables come first, and how many these
/// are. Which ones has nothing to do with the order of the data.
pub(super) fn sample(variables: &Variables, order: &Order, share: u32) -> (Vec<u32>, usize) {
    let chosen =
        |at: &u32| order.variable(*at as usize).wrapping_mul(0x9E37_79B1) < u32::MAX / share;
    let (mut places, rest): (Vec<u32>, Vec<u32>) = (0..variables.active as u32).partition(chosen);
    let kept = places.len();
    places.extend(rest);
    (places, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other_until_all_is_examined() {
        let mut stages = Stages::new(2, 100, 2.0);
        assert_eq!(stages.end(0.3, 50), None);
        assert_eq!(stages.end(0.2, 50), Some(Over::Joins(1)));
        stages.begin(50, 400);
        assert_eq!(stages.end(3.0, 849), None);
        assert_eq!(stages.end(0.1, 849), Some(Over::Joins(0)));
        stages.begin(849, 1600);
        assert_eq!(stages.end(0.1, 900), Some(Over::Examination));
        assert_eq!(stages.end(0.0, u64::MAX), None);
    }

    #[test]
    fn hard_problems_have_no_more_stages() {
        let mut stages = Stages::new(2, 100, 2.0);
        assert_eq!(stages.end(0.3, 200), Some(Over::Hard));
        assert_eq!(stages.end(0.1, 201), None);
        assert_eq!(Stages::default().end(0.0, 0), None);
        assert!(Stages::shares(MANY - 1).is_empty());
    }
}
