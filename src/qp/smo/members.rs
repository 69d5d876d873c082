//! The members of a block, from the outer loop to the sub-problem and back.

use super::block::{Block, Entry, Goal};
use super::variables::Variables;
use crate::error::Polled;
use crate::matrix::{CachedRows, Change, Order, Precision};
use crate::qp::coordinates::Point;

/// The variables of a block, those of the first group first, and their positions.
pub(super) struct Members {
    variables: Vec<u32>,
    at: Vec<usize>,
    /// How many there are of the first group.
    first: usize,
}

impl Members {
    pub fn new(chosen: &[u32], variables: &Variables, order: &Order) -> Self {
        let mut members = chosen.to_vec();
        members.sort_by_key(|&variable| variables.group(order.position(variable)));
        let at: Vec<usize> = members.iter().map(|&v| order.position(v)).collect();
        Members {
            first: at.partition_point(|&at| variables.group(at) == 0),
            variables: members,
            at,
        }
    }

    /// Poses the sub-problem of the members to a block.
    pub fn load<B: Precision, T: Precision>(
        &self,
        block: &mut Block<B>,
        variables: &Variables,
        rows: &mut CachedRows<T>,
        goal: &Goal,
    ) -> Polled<()> {
        let entries = self.at.iter().map(|&at| Entry {
            point: variables.point(at),
            diagonal: variables.diagonal[at] + variables.ridge[at],
        });
        let absorber = variables
            .absorber
            .map(|curvature| Entry::absorber(curvature, variables.sum()));
        let fill = |out: &mut [B], stride| rows.block(&self.variables, out, stride, goal.stop);
        block.load(&self.variables, entries, self.first, absorber, fill)
    }

    /// Returns the members whose coefficients have changed: the rows to add to the gradient, and
    /// the new coefficients by position.
    pub fn changes(
        &self,
        solved: impl Iterator<Item = f64>,
        variables: &Variables,
    ) -> (Vec<Change>, Vec<(usize, f64)>) {
        let members = self.variables.iter().zip(&self.at).zip(solved);
        members
            .filter(|&((_, &at), beta)| beta != variables.coordinates.beta[at])
            .map(|((&variable, &at), beta)| {
                let before = variables.point(at);
                let after = Point { beta, ..before };
                let change = Change {
                    variable,
                    factor: beta - before.beta,
                    // What came to rest at a bound tends to stay there.
                    keep: after.is_free(),
                };
                (change, (at, beta))
            })
            .unzip()
    }
}
