//! Npa: the nearest points of two convex hulls.
//!
//! For a hard margin the plane of widest margin halves the shortest line between the hulls of the two
//! classes. With theta_i = y_i beta_i / s, where s is the sum of the coefficients of either class,
//!
//! ```text
//! minimise    1/2 |sum over y_i = 1 of theta_i phi(x_i) - sum over y_i = -1 of theta_i phi(x_i)|^2
//! subject to  theta >= 0,   adding up to 1 in each class
//! ```
//!
//! and the coefficients of the classifier are those of this line in its best length: with K the matrix
//! with its ridge, s = 2 / theta' Y K Y theta. The squared hinge is a hard margin in the space of
//! K + diag(ridge). Without an intercept the hulls are those of the rows y_i phi(x_i) and the origin; a
//! penalised one adds 1 to the kernel.
//!
//! A step goes along an edge between two corners of a hull: from the corner j of those in use that is
//! farthest along the line to the corner i that is nearest, as far as shortens the line most. Of the
//! corners j, the one with which the line shortens most is taken. After every step the line has its best
//! length again, so a point of the dual problem is at hand, and its gap is that of every other solver.
//!
//! Mitchell, Dem'yanov, Malozemov: Finding the point of a polyhedron closest to the origin, SIAM Journal
//! on Control 12 (1974).
//! Keerthi, Shevade, Bhattacharyya, Murthy: A fast iterative nearest point algorithm for support vector
//! machine classifier design, IEEE Transactions on Neural Networks 11 (2000).

mod settings;

use super::confirm::{estimated_noise, exact_gradient};
use super::control::StopRule;
use super::coordinates::Coordinates;
use super::divergence::{diverges, has_outgrown};
use super::driver::{Method, NOISE_SHARE, Outcome, Run, State};
use super::kkt::{Thresholds, intercepts};
use super::phases::Stopwatch;
use super::problem::{Constraint, DualProblem};
use super::report::{Algorithm, Epoch, Status};
use super::task::Task;
use crate::error::{Error, Polled, Result};
use crate::matrix::{CachedRows, Change, KernelMatrix, Precision};
pub use settings::Npa;

/// The steepest descent that rounding may leave, as a share of the slopes.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The curvature below which two corners are one, as a share of the largest diagonal value.
const FLATTEST: f64 = 1e-14;
/// How far beyond a tolerance a run is taken before its gap is confirmed.
const AIM: f64 = 0.9;

impl Method for Npa {
    fn stop_rule(&self) -> &StopRule {
        &self.stop
    }

    fn cache_bytes(&self) -> Option<usize> {
        self.cache_bytes
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Npa
    }

    fn far(&self) -> f64 {
        1.0
    }

    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()> {
        let allowed = match &problem.constraint {
            _ if matrix.may_be_indefinite() => {
                "'smo' for a kernel that need not be positive semi-definite (its rows have no hulls)"
            }
            Constraint::TwoSums(_) => "'smo' where two sums are fixed",
            _ if !(0..problem.linear.len()).all(|i| is_corner(problem, i)) => {
                "'smo' unless the margin is hard (C=inf) or its errors are squared: corners of \
                 hulls have no upper bounds"
            }
            Constraint::Sum if !has_both(problem) => "'smo' for one class",
            _ => return Ok(()),
        };
        Err(Error::parameter("solver", allowed, "'npa'"))
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Box<dyn Run<'m, T> + 'a> {
        let sides = task.problem.linear.iter().map(|linear| -linear);
        Box::new(Hulls {
            side: sides.collect(),
            task,
            rows,
            state,
        })
    }
}

/// Tells whether a variable is a multiplier of a margin without an upper bound.
fn is_corner(problem: &DualProblem, i: usize) -> bool {
    let bounds = (problem.lower[i], problem.upper[i]);
    let of_side = match problem.linear[i] {
        -1.0 => bounds == (0.0, f64::INFINITY),
        1.0 => bounds == (f64::NEG_INFINITY, 0.0),
        _ => false,
    };
    of_side && problem.absolute[i] == 0.0
}

fn has_both(problem: &DualProblem) -> bool {
    problem.linear.contains(&1.0) && problem.linear.contains(&-1.0)
}

/// The hulls, and the points on them.
struct Hulls<'a, 'm, T> {
    task: Task<'a, 'm>,
    rows: CachedRows<'m, T>,
    /// The coefficients in their best length, and their gradient.
    state: State,
    /// y_i.
    side: Vec<f64>,
}

/// An edge of a hull to go along, how steep it is and how it bends.
struct Edge {
    to: usize,
    from: usize,
    slope: f64,
    curvature: f64,
}

impl<'m, T: Precision> Run<'m, T> for Hulls<'_, 'm, T> {
    fn advance(&mut self, tolerance: f64) -> Polled<Outcome> {
        let outcome = self.steps(AIM * tolerance);
        // Scaling has scaled the errors of rows as well: from here on the gradient is exact.
        let (task, beta) = (self.task, &self.state.coordinates.beta);
        let all: Vec<u32> = (0..beta.len() as u32).collect();
        if outcome.is_ok() {
            let gradient = exact_gradient(task, beta, &all, &|| task.control.stop())?;
            self.state.coordinates.gradient = gradient;
            self.rows.forget_traffic();
        }
        outcome
    }

    fn rows(&mut self) -> &mut CachedRows<'m, T> {
        &mut self.rows
    }

    fn coordinates(&self) -> Coordinates {
        self.state.coordinates.clone()
    }

    fn correct(&mut self, gradient: &[f64]) {
        self.state.coordinates.gradient.copy_from_slice(gradient);
    }

    fn end(self: Box<Self>) -> (State, CachedRows<'m, T>) {
        (self.state, self.rows)
    }
}

impl<T: Precision> Hulls<'_, '_, T> {
    /// Takes steps until the gap is at most `tolerance`; every as many as there are variables are an
    /// epoch.
    fn steps(&mut self, tolerance: f64) -> Polled<Outcome> {
        let control = self.task.control;
        if self.state.coordinates.beta.iter().all(|beta| *beta == 0.0) {
            self.begin()?;
        }
        let length = self.state.coordinates.len() as u64;
        loop {
            let gap = self.thresholds().gap();
            let at = &self.state.coordinates;
            control.tell(self.state.iterations, gap, at.len(), || {
                self.task.problem.point(&at.beta, &at.gradient)
            });
            let done = gap <= tolerance;
            if done || self.state.iterations.is_multiple_of(length) {
                let epoch = self.epoch(gap);
                self.state.history.push(epoch);
            }
            if done {
                return Ok(Outcome::Converged);
            }
            control.poll()?;
            if self.state.iterations >= control.max_iterations {
                return Ok(Outcome::GaveUp(Status::MaxIterations));
            }
            if self.state.iterations.is_multiple_of(length)
                && let Some(status) = self.diverges()
            {
                return Ok(Outcome::GaveUp(status));
            }
            let noise = estimated_noise::<T>(self.task.matrix, &self.state.coordinates.beta);
            if noise > NOISE_SHARE * gap.max(tolerance) {
                return Ok(Outcome::TooNoisy);
            }
            let watch = Stopwatch::beside(self.rows.kernel_time().as_secs_f64());
            let Some(edge) = self.edge()? else {
                // Corners cannot be told apart any better.
                return Ok(Outcome::Converged);
            };
            let bounded = self.go(&edge)?;
            let seconds = watch.seconds_beside(self.rows.kernel_time().as_secs_f64());
            self.state.phases.inner += seconds;
            if !bounded {
                return Ok(Outcome::GaveUp(Status::Diverged));
            }
            self.state.iterations += 1;
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds::at(&self.state.coordinates, &self.task.problem.constraint)
    }

    /// Returns the hull of a variable: that of its class, or the only one.
    fn hull(&self, i: usize) -> usize {
        let two = self.task.problem.constraint == Constraint::Sum;
        usize::from(two && self.side[i] > 0.0)
    }

    /// Returns the sum that is charged, where it is.
    fn charged_sum(&self) -> f64 {
        match self.task.problem.constraint {
            Constraint::Penalized => self.state.coordinates.beta.iter().sum(),
            _ => 0.0,
        }
    }

    fn charge(&self) -> f64 {
        f64::from(u8::from(
            self.task.problem.constraint == Constraint::Penalized,
        ))
    }

    /// Returns the slope of half the squared length along a corner: y_i (K beta)_i.
    fn slope(&self, i: usize, charged: f64) -> f64 {
        let image = self.state.coordinates.gradient[i] - self.task.problem.linear[i];
        self.side[i] * (image + charged)
    }

    /// Begins with the first corner of each hull.
    fn begin(&mut self) -> Polled<()> {
        let n = self.state.coordinates.len();
        let first = |hull: usize| (0..n).find(|&i| self.hull(i) == hull);
        let corners: Vec<usize> = [first(0), first(1)].into_iter().flatten().collect();
        let changes: Vec<(usize, f64)> = corners.iter().map(|&i| (i, self.side[i])).collect();
        self.apply(&changes)?;
        self.rescale();
        Ok(())
    }

    /// Returns the edge to go along: of both hulls the corner that is nearest, and the one in use from
    /// which that shortens the line most; None where rounding hides all that is left.
    fn edge(&mut self) -> Polled<Option<Edge>> {
        let (n, charged) = (self.state.coordinates.len(), self.charged_sum());
        let mut nearest = [(f64::INFINITY, 0); 2];
        let mut farthest = [f64::NEG_INFINITY; 2];
        for i in 0..n {
            let (hull, slope) = (self.hull(i), self.slope(i, charged));
            if slope < nearest[hull].0 {
                nearest[hull] = (slope, i);
            }
            if self.state.coordinates.beta[i] != 0.0 {
                farthest[hull] = farthest[hull].max(slope);
            }
        }
        let fall = |hull: usize| farthest[hull] - nearest[hull].0;
        let hull = usize::from(fall(1) > fall(0));
        let (lowest, to) = nearest[hull];
        let size = farthest[hull].abs().max(lowest.abs());
        if fall(hull).is_nan() || fall(hull) <= ROUNDING * size {
            return Ok(None);
        }
        let control = self.task.control;
        self.rows.fetch(&[to as u32], n, &|| control.stop())?;
        let row = self.rows.row(to as u32);
        let mut best = (f64::NEG_INFINITY, None);
        for from in (0..n).filter(|&from| from != to && self.hull(from) == hull) {
            let beta = self.state.coordinates.beta[from].abs();
            let slope = self.slope(from, charged) - lowest;
            if beta > 0.0 && slope > 0.0 {
                let curvature = self.curvature(to, from, row[from].to_f64());
                // What a step as far as the corner allows takes off.
                let step = (slope / curvature).min(beta);
                let gain = step * (slope - 0.5 * step * curvature);
                if gain > best.0 {
                    let edge = Edge {
                        to,
                        from,
                        slope,
                        curvature,
                    };
                    best = (gain, Some(edge));
                }
            }
        }
        Ok(best.1)
    }

    /// Returns the squared length of the edge between two corners whose rows have this kernel value.
    fn curvature(&self, i: usize, j: usize, value: f64) -> f64 {
        let Task {
            matrix, problem, ..
        } = self.task;
        let own = |i: usize| matrix.diagonal()[i] + problem.ridge[i] + self.charge();
        let mixed = self.side[i] * self.side[j] * (value + self.charge());
        let floor = FLATTEST * own(i).max(own(j)).max(f64::MIN_POSITIVE);
        (own(i) + own(j) - 2.0 * mixed).max(floor)
    }

    /// Goes along an edge, and makes the line as long as is best. Returns false if it has become too
    /// long for the numbers.
    fn go(&mut self, edge: &Edge) -> Polled<bool> {
        let beta = &self.state.coordinates.beta;
        let most = beta[edge.from].abs();
        let step = (edge.slope / edge.curvature).min(most);
        let left = match step == most {
            true => 0.0,
            false => beta[edge.from] - self.side[edge.from] * step,
        };
        let grown = beta[edge.to] + self.side[edge.to] * step;
        self.apply(&[(edge.to, grown), (edge.from, left)])?;
        Ok(self.rescale())
    }

    /// Gives variables new coefficients. If that is halted, nothing has changed.
    fn apply(&mut self, moved: &[(usize, f64)]) -> Polled<()> {
        let control = self.task.control;
        let coordinates = &mut self.state.coordinates;
        let variables: Vec<u32> = moved.iter().map(|&(i, _)| i as u32).collect();
        self.rows
            .fetch(&variables, coordinates.len(), &|| control.stop())?;
        let changes: Vec<Change> = (moved.iter())
            .map(|&(i, beta)| Change {
                variable: i as u32,
                factor: beta - coordinates.beta[i],
                keep: true,
            })
            .collect();
        // The rows are held.
        self.rows
            .add(&changes, 0, &mut coordinates.gradient, &|| false)?;
        for &(i, beta) in moved {
            coordinates.gradient[i] += (beta - coordinates.beta[i]) * self.task.problem.ridge[i];
            coordinates.beta[i] = beta;
        }
        Ok(())
    }

    /// Makes the line as long as minimises the objective. Returns false if that is too long.
    fn rescale(&mut self) -> bool {
        let linear = &self.task.problem.linear;
        let charged = self.charged_sum();
        let Coordinates { beta, gradient, .. } = &mut self.state.coordinates;
        let (mut fall, mut square) = (0.0, charged * charged);
        for (i, &beta) in beta.iter().enumerate().filter(|(_, beta)| **beta != 0.0) {
            fall -= linear[i] * beta;
            square += beta * (gradient[i] - linear[i]);
        }
        let factor = fall / square;
        if !(factor > 0.0 && factor.is_finite()) {
            return false;
        }
        for (i, (beta, gradient)) in beta.iter_mut().zip(gradient.iter_mut()).enumerate() {
            *beta *= factor;
            *gradient = factor * (*gradient - linear[i]) + linear[i];
        }
        let largest = beta.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        !has_outgrown(
            largest,
            self.task
                .matrix
                .diagonal()
                .iter()
                .fold(0.0, |a, &b| a.max(b)),
        )
    }

    /// Describes where it is.
    fn epoch(&self, gap: f64) -> Epoch {
        let (problem, coordinates) = (self.task.problem, &self.state.coordinates);
        let intercept = intercepts(coordinates, &problem.constraint)[0];
        let values = |side: f64| {
            let members = (0..coordinates.len()).filter(move |&i| self.side[i] == side);
            members.map(move |i| {
                side * (coordinates.gradient[i]
                    - problem.linear[i]
                    - problem.ridge[i] * coordinates.beta[i])
            })
        };
        let nearest = |side: f64| values(side).fold(f64::INFINITY, f64::min);
        Epoch {
            objective: -problem.objective(&coordinates.beta, &coordinates.gradient),
            margin: 0.5 * (nearest(1.0) + nearest(-1.0)),
            intercept: intercept - self.task.shift(&coordinates.beta),
            gap,
        }
    }

    /// Tells how to end if the hulls seem to meet.
    fn diverges(&self) -> Option<Status> {
        if !self.task.may_be_unbounded() {
            return None;
        }
        let (problem, coordinates) = (self.task.problem, &self.state.coordinates);
        let all = (0..coordinates.len()).map(|i| {
            let point = coordinates.point(i);
            [
                point.beta,
                point.gradient,
                problem.linear[i],
                point.absolute,
            ]
        });
        diverges(all, self.task.floor())
    }
}
