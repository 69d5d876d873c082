//! The solution of a table: a machine for each column.
//!
//! With h_i = g_i + b the values of a row, the machines are charged
//!
//! ```text
//! loss_i(h) = max over lower <= x <= upper with a sum of zero of   -h.x
//! ```
//!
//! and both objectives add up to the sum over rows of loss_i(h_i) + h_i.beta_i, no term of which is
//! negative: the duality gap, as in [`duality`](crate::qp::duality).

use super::Table;
use crate::qp::phases::Phases;
use crate::qp::report::{Algorithm, Report, Solution, Status};

impl Table<'_, '_> {
    /// Returns the machines. Where rows were centred, `offsets` has a_i with K_ij = K'_ij + a_i + a_j.
    pub(super) fn solutions(self, status: Status, gap: f64, offsets: &[f64]) -> Vec<Solution> {
        let seen = self.state.seen(self.problem, None);
        let duality_gap = self.duality_gap(&seen.intercepts);
        let seconds = self.control.started.elapsed().as_secs_f64();
        let machine = |m: usize| {
            let beta = self.state.column(m);
            let shift: f64 = beta.iter().zip(offsets).map(|(beta, a)| beta * a).sum();
            let intercept = seen.intercepts[m] - shift;
            let (objective, squared_norm) = self.objective_and_norm(m, &beta, seen.intercepts[m]);
            let own = |count: u64| if m == 0 { count } else { 0 };
            let share = if m == 0 { duality_gap } else { 0.0 };
            let seconds = if m == 0 { seconds } else { 0.0 };
            let kernel = if m == 0 { self.kernel_seconds } else { 0.0 };
            let report = Report {
                status,
                method: Algorithm::Smo,
                iterations: own(self.state.iterations),
                gap,
                objective,
                primal_objective: share - objective,
                duality_gap: share,
                squared_norm: squared_norm.max(0.0),
                kernel_evaluations: own(self.matrix.evaluations()),
                cache_hits: own(self.counters[0]),
                cache_misses: own(self.counters[1]),
                cache_bypasses: own(self.counters[2]),
                seconds,
                phases: Phases {
                    kernel,
                    inner: (seconds - kernel).max(0.0),
                    ..Phases::default()
                },
            };
            Solution {
                beta,
                intercept,
                intercepts: [intercept; 2],
                report,
                history: Vec::new(),
            }
        };
        (0..self.problem.columns).map(machine).collect()
    }

    /// Returns what a column adds to the dual objective, and |w|^2 of its machine.
    fn objective_and_norm(&self, column: usize, beta: &[f64], intercept: f64) -> (f64, f64) {
        let k = self.problem.columns;
        let (mut norm, mut linear) = (0.0, 0.0);
        for (i, (beta, gradient)) in beta.iter().zip(self.state.gradient_of(column)).enumerate() {
            let own = self.problem.linear[i * k + column];
            norm += beta * (gradient - own);
            linear += beta * own;
        }
        let charge = self.problem.constraint.absorber().unwrap_or(0.0);
        (
            0.5 * norm + linear + 0.5 * charge * intercept * intercept,
            norm,
        )
    }

    fn duality_gap(&self, intercepts: &[f64]) -> f64 {
        let (k, n) = (self.problem.columns, self.matrix.len());
        let mut h = vec![0.0; k];
        let row = |i: usize| {
            for (m, h) in h.iter_mut().enumerate() {
                *h = self.state.gradient[m * n + i] + intercepts[m];
            }
            let beta = self.state.row(i as u32);
            let dual: f64 = h.iter().zip(beta).map(|(h, beta)| h * beta).sum();
            let bounds = i * k..(i + 1) * k;
            let (lower, upper) = (&self.problem.lower, &self.problem.upper);
            (loss(&h, &lower[bounds.clone()], &upper[bounds]) + dual).max(0.0)
        };
        (0..n).map(row).sum()
    }
}

/// Returns the largest -h.x between the bounds with a sum of zero; infinite if nothing bounds it.
///
/// It is the smallest of the maxima without the sum at h - tau, which bend where tau is an entry of h.
fn loss(h: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
    let at = |tau: f64| {
        let terms = h.iter().zip(lower.iter().zip(upper));
        let terms = terms.map(|(h, (lower, upper))| match h - tau {
            slope if slope > 0.0 => -slope * lower,
            slope if slope < 0.0 => -slope * upper,
            _ => 0.0,
        });
        terms.sum::<f64>()
    };
    h.iter().map(|&tau| at(tau)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::loss;

    #[test]
    fn losses_are_those_of_the_machines() {
        let infinite = f64::INFINITY;
        // h_m - h_y is the margin less what is reached: 0.5, and 2 beyond.
        let h = [0.0, 0.5, -2.0];
        let weston_watkins = loss(&h, &[0.0, -3.0, -3.0], &[infinite, 0.0, 0.0]);
        assert_eq!(weston_watkins, 1.5);
        let crammer_singer = loss(&h, &[0.0, -infinite, -infinite], &[3.0, 0.0, 0.0]);
        assert_eq!(crammer_singer, 1.5);
        let hard = loss(&h, &[0.0, -infinite, -infinite], &[infinite, 0.0, 0.0]);
        assert_eq!(hard, infinite);
    }
}
