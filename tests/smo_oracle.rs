//! Smo on random small problems, with every bound, constraint and kink there is, against an
//! interior-point method.

use crate::common;

use common::qp::{assert_feasible, gap, gradient, matrix, objective};
use common::random_qp::{Case, case, oracle, solve};
use mercer::qp::{Selection, Smo, Status};
use proptest::prelude::*;

proptest! {
    // The oracle may fail where the feasible set has no interior; rarely, or the test is void.
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 20, ..Default::default() })]

    #[test]
    fn random_problems_agree_with_the_oracle(seed: u64, n in 2usize..40, which in 0usize..6) {
        let Case { problem, kernel, x } = case(seed, n, which);
        let best = oracle(&problem, &matrix(&kernel, &x));
        for tolerance in [1e-3, 1e-6] {
            for selection in [Selection::SecondOrder, Selection::FirstOrder] {
                let mut smo = Smo::new().selection(selection);
                smo.stop.tolerance = tolerance;
                let solution = solve(&smo, &problem, &kernel, &x);
                prop_assert_eq!(solution.report.status, Status::Converged);
                assert_feasible(&problem, &solution);
                let here = gradient(&problem, &kernel, &x, &solution.beta);
                let gap = gap(&problem, &solution.beta, &here);
                prop_assert!(gap <= 1.1 * tolerance, "gap {:e} > 1.1 * {:e}", gap, tolerance);
                let found = objective(&problem, &solution.beta, &here);
                let error = (solution.report.objective - found).abs();
                prop_assert!(error <= 1e-9 * (1.0 + found.abs()));
                let Some(best) = &best else {
                    continue;
                };
                let optimum = objective(&problem, best, &gradient(&problem, &kernel, &x, best));
                let allowed = 1e-6 * optimum.abs().max(1.0);
                if tolerance < 1e-5 {
                    prop_assert!((found - optimum).abs() <= allowed, "{} not {}", found, optimum);
                }
                // By convexity f - f* <= gap * (what has to move up to reach the optimum), where
                // what is not balanced by other moves is so by the intercept.
                let moves = || solution.beta.iter().zip(best).map(|(a, b)| a - b);
                let far = moves().map(f64::abs).sum::<f64>() + moves().sum::<f64>().abs();
                let bound = 1.1 * tolerance * 0.5 * far;
                prop_assert!(found - optimum <= bound + allowed);
            }
        }
        prop_assume!(best.is_some());
    }
}
