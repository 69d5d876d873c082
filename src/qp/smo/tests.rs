//! The bookkeeping of the solver: variables in a changing order, and the choice of blocks.

use super::variables::Variables;
use super::working_set::WorkingSet;
use crate::matrix::Order;
use crate::qp::coordinates::Coordinates;
use crate::qp::problem::{Constraint, DualProblem};
use proptest::prelude::*;

/// A variable: where it is between its bounds -1 and 1, its gradient, its group and the factor of
/// its absolute value.
type Value = (u8, f64, bool, f64);

/// Variable v has ridge v and diagonal 100 + v, so that it can be told wherever it goes.
fn variables(values: &[Value]) -> (Variables, Order, DualProblem) {
    let n = values.len();
    let problem = DualProblem {
        linear: vec![0.0; n],
        absolute: values.iter().map(|value| value.3).collect(),
        lower: vec![-1.0; n],
        upper: vec![1.0; n],
        ridge: (0..n).map(|v| v as f64).collect(),
        start: values
            .iter()
            .map(|value| [-1.0, -0.5, 0.0, 0.5, 1.0][value.0 as usize])
            .collect(),
        constraint: Constraint::TwoSums(values.iter().map(|value| value.2).collect()),
    };
    let diagonal: Vec<f64> = (0..n).map(|v| 100.0 + v as f64).collect();
    let gradient = values.iter().map(|value| value.1).collect();
    let coordinates = Coordinates::of(&problem, problem.start.clone(), gradient);
    let state = Variables::new(&problem, &diagonal, coordinates);
    (state, Order::natural(n), problem)
}

fn values(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Value>> {
    // Few different gradients, so that there are ties.
    let whole = |range: std::ops::Range<i32>| range.prop_map(f64::from);
    prop::collection::vec((0u8..5, whole(-6..6), any::<bool>(), whole(0..2)), n)
}

/// The descent of a variable that grows and of one that shrinks, written out; None if it may not.
fn descents(value: &Value, gradient: f64) -> (Option<f64>, Option<f64>) {
    let beta = [-1.0, -0.5, 0.0, 0.5, 1.0][value.0 as usize];
    let right = if beta < 0.0 { value.3 } else { -value.3 };
    let left = if beta > 0.0 { -value.3 } else { value.3 };
    (
        (beta < 1.0).then_some(right - gradient),
        (beta > -1.0).then_some(left - gradient),
    )
}

proptest! {
    /// Shrinking renames nothing: by variable, every vector is what it was; what left cannot be
    /// part of a violating pair of its group.
    #[test]
    fn shrinking_sets_aside_what_is_stuck(values in values(1..60), slack in 0i32..4) {
        let (mut state, mut positions, problem) = variables(&values);
        // Twice in a row, as the thresholds come closer.
        for slack in [f64::from(slack), 0.0] {
            let mut thresholds = state.thresholds();
            for group in 0..2 {
                thresholds.include_value(group, thresholds.m(group) + slack);
                thresholds.include_value(group, thresholds.big_m(group) - slack);
            }
            let before = state.active;
            let (order, kept) = state.shrinking_order(&thresholds);
            prop_assert_eq!(order.len(), before);
            state.shrink(&order, kept, state.beta_by_variable(&positions));
            positions.rearrange(&order);
            prop_assert_eq!(state.active, kept);
            for at in 0..before {
                let value = &values[positions.variable(at) as usize];
                let (up, down) = descents(value, state.coordinates.gradient[at]);
                let group = usize::from(value.2);
                let stuck = up.is_none_or(|up| up < thresholds.big_m(group))
                    && down.is_none_or(|down| down > thresholds.m(group));
                prop_assert_eq!(at >= kept, stuck);
            }
        }
        prop_assert_eq!(&state.beta_by_variable(&positions), &problem.start);
        let gradient: Vec<f64> = values.iter().map(|value| value.1).collect();
        let found = state.by_variable(&positions);
        prop_assert_eq!(found.beta, problem.start);
        prop_assert_eq!(found.gradient, gradient);
        prop_assert_eq!(found.lower, problem.lower);
        prop_assert_eq!(found.upper, problem.upper);
        prop_assert_eq!(found.absolute, problem.absolute);
        prop_assert_eq!(positions.by_variable(&state.ridge), problem.ridge);
        for (at, &variable) in positions.variables().iter().enumerate() {
            prop_assert_eq!(state.diagonal[at], 100.0 + f64::from(variable));
            prop_assert_eq!(state.group(at) == 1, values[variable as usize].2);
        }
        // The shrunk pieces and the active part tile all positions.
        let pieces: usize = state.shrunk.iter().map(|piece| piece.positions.len()).sum();
        prop_assert_eq!(state.active + pieces, values.len());
    }

    /// A block holds distinct active variables, as many as asked for or as there are violators,
    /// among them a maximal violating pair, also when it follows another block.
    #[test]
    fn a_block_holds_the_maximal_violating_pair(
        values in values(2..80), others in values(80..81), size in 4usize..30,
    ) {
        let (mut state, mut positions, _) = variables(&values);
        let mut block = WorkingSet::default();
        for round in 0..3 {
            let thresholds = state.thresholds();
            let gap = thresholds.gap();
            if gap <= 0.0 {
                break;
            }
            block.select(&state, &positions, &thresholds, size);
            prop_assert!(block.variables.len() <= size);
            let mut distinct = block.variables.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), block.variables.len());
            let at: Vec<usize> = block.variables.iter().map(|&v| positions.position(v)).collect();
            prop_assert!(at.iter().all(|&at| at < state.active));
            let worst = |group: usize| {
                let descents = at
                    .iter()
                    .map(|&at| {
                        let value = &values[positions.variable(at) as usize];
                        (value, state.coordinates.gradient[at])
                    })
                    .filter(|(value, _)| usize::from(value.2) == group)
                    .map(|(value, gradient)| descents(value, gradient));
                let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
                for (up, down) in descents {
                    m = m.max(up.unwrap_or(m));
                    big_m = big_m.min(down.unwrap_or(big_m));
                }
                m - big_m
            };
            prop_assert_eq!(worst(0).max(worst(1)), gap);
            // The gradient moves between blocks, and once some variables are set aside.
            let gradient = state.coordinates.gradient.iter_mut();
            for (gradient, other) in gradient.zip(&others[round..]) {
                *gradient = other.1;
            }
            if round == 1 {
                let (order, kept) = state.shrinking_order(&state.thresholds());
                state.shrink(&order, kept, state.beta_by_variable(&positions));
                positions.rearrange(&order);
            }
        }
    }
}
