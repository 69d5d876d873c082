//! The bookkeeping of the solver: variables in a changing order, and the choice of blocks.

use super::DualProblem;
use super::variables::Variables;
use super::working_set::WorkingSet;
use proptest::prelude::*;

/// Variables with coefficients at bounds and between them, and any gradient. Variable v has ridge
/// v and diagonal 100 + v, so that it can be told wherever it goes.
fn variables(values: &[(u8, f64)]) -> (Variables, DualProblem) {
    let n = values.len();
    let problem = DualProblem {
        linear: vec![0.0; n],
        lower: vec![0.0; n],
        upper: vec![1.0; n],
        ridge: (0..n).map(|v| v as f64).collect(),
        start: values
            .iter()
            .map(|&(kind, _)| [0.0, 0.5, 1.0][kind as usize])
            .collect(),
    };
    let diagonal: Vec<f64> = (0..n).map(|v| 100.0 + v as f64).collect();
    let gradient = values.iter().map(|&(_, gradient)| gradient).collect();
    let state = Variables::new(&problem, &diagonal, problem.start.clone(), gradient);
    (state, problem)
}

fn values(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(u8, f64)>> {
    // Few different gradients, so that there are ties.
    prop::collection::vec((0u8..3, (-6i32..6).prop_map(f64::from)), n)
}

proptest! {
    /// Shrinking renames nothing: by variable, every vector is what it was; what left is at a
    /// bound it cannot leave with a gradient beyond both thresholds.
    #[test]
    fn shrinking_sets_aside_what_is_stuck(values in values(1..60), slack in 0i32..4) {
        let (mut state, problem) = variables(&values);
        // Twice in a row, as the thresholds come closer.
        for slack in [f64::from(slack), 0.0] {
            let (m, big_m) = state.thresholds();
            let (m, big_m) = (m + slack, big_m - slack);
            let before = state.active;
            let (order, kept) = state.shrinking_order(m, big_m);
            prop_assert_eq!(order.len(), before);
            state.shrink(&order, kept);
            prop_assert_eq!(state.active, kept);
            for at in 0..before {
                let stuck_up = values[state.name[at] as usize].0 == 2 && -state.gradient[at] > m;
                let stuck_down =
                    values[state.name[at] as usize].0 == 0 && -state.gradient[at] < big_m;
                prop_assert_eq!(at >= kept, stuck_up || stuck_down);
            }
        }
        prop_assert_eq!(state.beta_by_variable(), problem.start);
        let by_variable = |vector: &[f64]| state.by_variable(vector);
        let gradient: Vec<f64> = values.iter().map(|&(_, gradient)| gradient).collect();
        prop_assert_eq!(by_variable(&state.gradient), gradient);
        prop_assert_eq!(by_variable(&state.ridge), problem.ridge);
        for (at, &variable) in state.name.iter().enumerate() {
            prop_assert_eq!(state.position(variable), at);
            prop_assert_eq!(state.diagonal[at], 100.0 + f64::from(variable));
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
        let (mut state, _) = variables(&values);
        let mut block = WorkingSet::default();
        for round in 0..3 {
            let (m, big_m) = state.thresholds();
            if m <= big_m || !m.is_finite() || !big_m.is_finite() {
                break;
            }
            block.select(&state, m, big_m, size);
            prop_assert!(block.variables.len() <= size);
            let mut distinct = block.variables.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), block.variables.len());
            let at: Vec<usize> = block.variables.iter().map(|&v| state.position(v)).collect();
            prop_assert!(at.iter().all(|&at| at < state.active));
            prop_assert!(at.iter().any(|&at| state.may_grow(at) && -state.gradient[at] == m));
            prop_assert!(at.iter().any(|&at| state.may_shrink(at) && -state.gradient[at] == big_m));
            // The gradient moves between blocks, and once some variables are set aside.
            for (gradient, other) in state.gradient.iter_mut().zip(&others[round..]) {
                *gradient = other.1;
            }
            if round == 1 {
                let (m, big_m) = state.thresholds();
                let (order, kept) = state.shrinking_order(m, big_m);
                state.shrink(&order, kept);
            }
        }
    }
}
