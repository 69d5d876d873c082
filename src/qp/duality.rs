//! Duality: what is left between a solution and its primal problem.
//!
//! For any beta and intercept b, the dual problem being to minimise D,
//!
//! ```text
//! P(beta, b) = 1/2 |w|^2 + b s + sum_i loss_i(h_i) >= -D(any feasible point),     w = sum_i beta_i phi(x_i)
//! loss_i(h) = max over lower_i <= z <= upper_i of  -h z - 1/2 ridge_i z^2 - absolute_i |z|
//! ```
//!
//! where s is the sum that is fixed and h = K beta + linear + b. P is the objective of the machine: for
//! the classifier loss_i is C_i max(0, 1 - y_i f(x_i)), and so on. With b charged there is 1/2 b^2 in place
//! of b s. Then
//!
//! ```text
//! P + D = sum_i (loss_i(h_i) + h_i beta_i + 1/2 ridge_i beta_i^2 + absolute_i |beta_i|),
//! ```
//!
//! of which no term is negative (Fenchel, Young): it is added up without cancellation.

use super::problem::{Constraint, DualProblem};

/// One variable: its bounds, its ridge and the factor of its absolute value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub lower: f64,
    pub upper: f64,
    pub ridge: f64,
    pub absolute: f64,
}

impl Charged {
    pub(super) fn of(problem: &DualProblem, i: usize) -> Self {
        Charged {
            lower: problem.lower[i],
            upper: problem.upper[i],
            ridge: problem.ridge[i],
            absolute: problem.absolute[i],
        }
    }

    /// Returns the loss at h; infinity where nothing bounds it.
    fn loss(&self, h: f64) -> f64 {
        let beyond = match h {
            _ if -h > self.absolute => -h - self.absolute,
            _ if h > self.absolute => self.absolute - h,
            _ => 0.0,
        };
        // Without a ridge the maximum is at a bound.
        let free = match (beyond == 0.0, self.ridge > 0.0) {
            (true, _) => 0.0,
            (false, true) => beyond / self.ridge,
            (false, false) => beyond.signum() * f64::INFINITY,
        };
        let z = free.clamp(self.lower, self.upper);
        match z.is_infinite() {
            true => f64::INFINITY,
            false => -h * z - 0.5 * self.ridge * z * z - self.absolute * z.abs(),
        }
    }

    /// Returns what a variable adds to the duality gap.
    pub fn gap(&self, h: f64, beta: f64) -> f64 {
        let dual = beta * (h + 0.5 * self.ridge * beta) + self.absolute * beta.abs();
        (self.loss(h) + dual).max(0.0)
    }
}

/// A point of the dual problem: coefficients, the gradient of the smooth part without the square of the
/// sum, and the intercepts of the groups.
pub(super) struct Point<'a> {
    pub problem: &'a DualProblem,
    pub beta: &'a [f64],
    pub gradient: &'a [f64],
    pub intercepts: [f64; 2],
}

impl Point<'_> {
    /// Returns the duality gap; infinity if the coefficients have no bounds and the machine does not
    /// satisfy its constraints, however it is scaled.
    pub fn duality_gap(&self) -> f64 {
        let gap: f64 = (0..self.beta.len())
            .map(|i| Charged::of(self.problem, i).gap(self.h(i), self.beta[i]))
            .sum();
        match gap.is_finite() {
            true => gap,
            false => self.scaled_gap().unwrap_or(f64::INFINITY),
        }
    }

    /// Returns |w|^2.
    pub fn squared_norm(&self) -> f64 {
        (0..self.beta.len())
            .map(|i| {
                let own = self.problem.linear[i] + self.problem.ridge[i] * self.beta[i];
                self.beta[i] * (self.gradient[i] - own)
            })
            .sum()
    }

    fn intercept(&self, i: usize) -> f64 {
        self.intercepts[self.problem.constraint.group(i)]
    }

    fn h(&self, i: usize) -> f64 {
        self.gradient[i] - self.problem.ridge[i] * self.beta[i] + self.intercept(i)
    }

    /// Returns the gap of the machine that is scaled up as little as satisfies the constraints of
    /// variables without bounds: a hard margin is reached but for the tolerance.
    fn scaled_gap(&self) -> Option<f64> {
        let (problem, n) = (self.problem, self.beta.len());
        let value = |i: usize| self.h(i) - problem.linear[i];
        let mut scale = 1.0f64;
        for i in 0..n {
            let one = Charged::of(problem, i);
            if one.loss(self.h(i)).is_infinite() {
                let side = if self.h(i) < 0.0 { 1.0 } else { -1.0 };
                let needed = -one.absolute - side * problem.linear[i];
                let reached = side * value(i);
                if reached <= 0.0 {
                    return None;
                }
                scale = scale.max(needed / reached);
            }
        }
        // Rounding of the quotient must not leave a constraint unsatisfied.
        scale *= 1.0 + 4.0 * f64::EPSILON;
        let losses: f64 = (0..n)
            .map(|i| Charged::of(problem, i).loss(scale * value(i) + problem.linear[i]))
            .sum();
        let primal = 0.5 * scale * scale * (self.squared_norm() + self.charged())
            + scale * self.fixed_sums()
            + losses;
        let gap = primal + problem.objective(self.beta, self.gradient);
        gap.is_finite().then_some(gap.max(0.0))
    }

    /// Returns b^2 where that is charged.
    fn charged(&self) -> f64 {
        match self.problem.constraint {
            Constraint::Penalized => self.intercepts[0].powi(2),
            _ => 0.0,
        }
    }

    /// Returns the intercepts times the sums that are fixed.
    fn fixed_sums(&self) -> f64 {
        match self.problem.constraint.absorber() {
            Some(_) => 0.0,
            None => {
                let terms = self.problem.start.iter().enumerate();
                terms.map(|(i, start)| start * self.intercept(i)).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_machines() {
        let hinge = |cost: f64| Charged {
            lower: 0.0,
            upper: cost,
            ridge: 0.0,
            absolute: 0.0,
        };
        // h = f - y with y = 1.
        assert_eq!(hinge(3.0).loss(0.25 - 1.0), 3.0 * 0.75);
        assert_eq!(hinge(3.0).loss(2.0 - 1.0), 0.0);
        assert_eq!(hinge(f64::INFINITY).loss(0.25 - 1.0), f64::INFINITY);
        let squared = Charged {
            ridge: 0.5 / 3.0,
            ..hinge(f64::INFINITY)
        };
        assert!((squared.loss(-0.75) - 3.0 * 0.75f64.powi(2)).abs() < 1e-12);
        let tube = Charged {
            lower: -2.0,
            upper: 2.0,
            ridge: 0.0,
            absolute: 0.1,
        };
        assert!((tube.loss(0.5) - 2.0 * 0.4).abs() < 1e-12);
        assert_eq!(tube.loss(-0.1), 0.0);
    }
}
