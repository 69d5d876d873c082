//! The machines of a one-vs-one classifier in feature space.

use super::oracle::{Features, Margin, times};
use super::problems::Problem;
use mercer::SvcModel;
use mercer::model::Machines;

/// One machine of a classifier: the rows of its two classes, in feature space.
pub struct Pair {
    /// Its number.
    pub index: usize,
    pub rows: Vec<usize>,
    /// +1 or -1 for each row.
    pub sign: Vec<f64>,
    pub features: Features,
    pub fresh: Vec<Vec<f64>>,
}

/// The pairs of classes; `one` adds a constant feature 1, that is the kernel k + 1.
pub fn pairs(problem: &Problem, classes: usize, one: bool) -> Vec<Pair> {
    let all = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j)));
    all.enumerate()
        .map(|(index, (i, j))| {
            let rows: Vec<usize> = problem
                .kept()
                .into_iter()
                .filter(|&row| [i, j].contains(&problem.class[row]))
                .collect();
            // Of two classes the second is positive, of a pair of more the first.
            let positive = if classes == 2 { j } else { i };
            let sign = |&row: &usize| {
                if problem.class[row] == positive {
                    1.0
                } else {
                    -1.0
                }
            };
            let mut features = Features::new(&problem.kernel, &problem.rows(&rows));
            let fresh = problem.fresh.rows().into_iter();
            let mut fresh: Vec<Vec<f64>> = fresh.map(|z| features.of(z)).collect();
            if one {
                features.rows.iter_mut().for_each(|phi| phi.push(1.0));
                fresh.iter_mut().for_each(|phi| phi.push(1.0));
            }
            Pair {
                index,
                sign: rows.iter().map(sign).collect(),
                rows,
                features,
                fresh,
            }
        })
        .collect()
}

impl Pair {
    /// One margin per row: its features, and its scalars and right side as given.
    pub fn margins(&self, cost: &[f64], scalars: &[f64], right: f64) -> Vec<Margin> {
        let row = |at: usize| Margin {
            features: times(self.sign[at], &self.features.rows[at]),
            // The first is the bias, which the sign goes with; rho has none.
            scalars: scalars
                .iter()
                .enumerate()
                .map(|(k, s)| if k == 0 { self.sign[at] * s } else { *s })
                .collect(),
            right,
            cost: cost[self.rows[at]],
        };
        (0..self.rows.len()).map(row).collect()
    }

    /// Published decision values of the fresh rows.
    pub fn decisions(&self, model: &SvcModel<usize>, problem: &Problem) -> Vec<f64> {
        let all = model.decision_function(problem.fresh.view());
        all.expect("values").column(self.index).to_vec()
    }
}

/// The published coefficients of machine (i, j): row and value.
pub fn coefficients(machines: &Machines, class: &[usize], i: usize, j: usize) -> Vec<(usize, f64)> {
    let of = |(at, &row): (usize, &usize)| match class[row] {
        c if c == i => Some((row, machines.dual_coef[[j - 1, at]])),
        c if c == j => Some((row, machines.dual_coef[[i, at]])),
        _ => None,
    };
    machines.support.iter().enumerate().filter_map(of).collect()
}
