//! Face: from a point between the bounds to one on them, and the optimum there.
//!
//! Near the end of the path a variable is at a bound if its multiplier says so: kappa x < z, kappa its
//! curvature, means that moving it there leaves the slope on the right side. The others are free, and what
//! moving the first has changed is put right by Newton steps on their face,
//!
//! ```text
//! (K + ridge + theta) step + A' dy = -e   for the free variables,   A step = what the sums lack
//! ```
//!
//! theta keeps the equations regular where there are more free variables than features, and grows for
//! variables that are close to a bound. One that meets a bound stays there.

use super::barrier::{Barrier, base, has_kink, is_fixed};
use super::design::{Design, WHAT};
use super::slopes::Slopes;
use crate::error::Polled;
use crate::qp::coordinates::Coordinates;
use crate::qp::kkt::Thresholds;
use crate::qp::task::Task;
use crate::simd::memory;

/// Steps on one face: each puts right what bounds have taken from the one before.
const ROUNDS: usize = 6;
/// The least theta, as a share of the largest curvature: below, the normal matrix loses its digits.
const LEAST_STIFFNESS: f64 = 1e-9;
/// Sums are right if they lack no more than so many roundings of all their terms.
const ROUNDINGS: f64 = 16.0;

/// A feasible point, its gap and its objective.
pub(in crate::qp) struct Candidate {
    pub beta: Vec<f64>,
    pub gap: f64,
    pub objective: f64,
}

/// The face and where it is being searched.
pub(super) struct Face<'a> {
    task: Task<'a, 'a>,
    design: &'a Design<'a>,
    beta: Vec<f64>,
    /// The multipliers of the sums that are fixed.
    multipliers: Vec<f64>,
    /// Theta; infinite for variables that stay where they are.
    stiffness: Vec<f64>,
}

/// Where a face is, as the equations and as the optimality test see it.
struct Place {
    slope: Vec<f64>,
    /// What the sums lack.
    lack: Vec<f64>,
    candidate: Option<Candidate>,
}

impl<'a> Face<'a> {
    /// Returns the face next to a point between the bounds.
    pub fn new(
        task: Task<'a, 'a>,
        design: &'a Design<'a>,
        barrier: &Barrier,
        multipliers: Vec<f64>,
    ) -> Self {
        let (problem, diagonal) = (task.problem, task.matrix.diagonal());
        let largest = diagonal.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b));
        let least = LEAST_STIFFNESS * largest;
        let all = 0..problem.linear.len();
        let (beta, stiffness) = all
            .map(|i| {
                let (beta, stiffness) = snapped(task, barrier, i);
                (beta, stiffness.max(least))
            })
            .unzip();
        Face {
            task,
            design,
            beta,
            multipliers,
            stiffness,
        }
    }

    /// Goes to the optimum of the face, and returns the best point on the way whose sums are right, if
    /// there is one.
    pub fn optimum(mut self, tolerance: f64) -> Polled<Option<Candidate>> {
        let mut best: Option<Candidate> = None;
        for round in 0..ROUNDS {
            let place = self.place()?;
            if let Some(found) = place.candidate
                && best.as_ref().is_none_or(|best| found.gap < best.gap)
            {
                best = Some(found);
            }
            let done = best.as_ref().is_some_and(|best| best.gap <= tolerance);
            if done || round + 1 == ROUNDS || !self.step(&place.slope, &place.lack)? {
                break;
            }
        }
        Ok(best)
    }

    /// Computes the slopes.
    fn place(&self) -> Polled<Place> {
        let problem = self.task.problem;
        let Slopes {
            slope,
            offsets,
            lack,
        } = Slopes::at(self.task, self.design, &self.beta, &self.multipliers)?;
        let offset = |i: usize| offsets.get(problem.constraint.group(i)).copied();
        let gradient = slope.iter().enumerate();
        let gradient = gradient.map(|(i, slope)| slope - offset(i).unwrap_or(0.0));
        let gradient = memory::collected(gradient, WHAT)?;
        let size: f64 = self.beta.iter().map(|beta| beta.abs()).sum();
        let right = |lack: &f64| lack.abs() <= ROUNDINGS * f64::EPSILON * size;
        let candidate = lack.iter().all(right).then(|| {
            let at = Coordinates::of(problem, self.beta.clone(), gradient);
            Candidate {
                gap: Thresholds::at(&at, &problem.constraint).gap(),
                objective: problem.objective(&at.beta, &at.gradient),
                beta: at.beta,
            }
        });
        Ok(Place {
            slope,
            lack,
            candidate,
        })
    }

    /// Takes a step. Returns false if the equations cannot be solved.
    fn step(&mut self, slope: &[f64], lack: &[f64]) -> Polled<bool> {
        let (problem, design) = (self.task.problem, self.design);
        let stop = || self.task.control.stop();
        let n = self.beta.len();
        let (mut diagonal, mut rho) = (vec![0.0; n], vec![0.0; n]);
        for i in (0..n).filter(|&i| self.stiffness[i].is_finite()) {
            diagonal[i] = 1.0 / (problem.ridge[i] + self.stiffness[i]);
            let price = problem.absolute[i] * self.beta[i].signum();
            rho[i] = -(slope[i] + price);
        }
        let Some((normal, mut right)) = design.normal(&diagonal, &rho, &stop)? else {
            return Ok(false);
        };
        let sums = right.len() - lack.len();
        for (right, lack) in right[sums..].iter_mut().zip(lack) {
            *right -= lack;
        }
        normal.solve(&mut right);
        let mut change = vec![0.0; n];
        design.times(&right, &mut change, &stop)?;
        for (multiplier, change) in self.multipliers.iter_mut().zip(&right[sums..]) {
            *multiplier += change;
        }
        for i in (0..n).filter(|&i| diagonal[i] > 0.0) {
            self.move_to(i, self.beta[i] + diagonal[i] * (rho[i] - change[i]));
        }
        Ok(right.iter().all(|value| value.is_finite()))
    }

    /// Moves a free variable; if it meets a bound or a kink, it stays there.
    fn move_to(&mut self, i: usize, beta: f64) {
        let problem = self.task.problem;
        let (mut lower, mut upper) = (problem.lower[i], problem.upper[i]);
        if has_kink(problem, i) {
            match self.beta[i] > 0.0 {
                true => lower = 0.0,
                false => upper = 0.0,
            }
        }
        self.beta[i] = beta.clamp(lower, upper);
        if self.beta[i] != beta {
            self.stiffness[i] = f64::INFINITY;
        }
    }
}

/// Returns where a variable is on the face, and its theta.
fn snapped(task: Task, barrier: &Barrier, i: usize) -> (f64, f64) {
    let problem = task.problem;
    if is_fixed(problem, i) {
        return (problem.lower[i], f64::INFINITY);
    }
    let curvature = task.matrix.diagonal()[i] + problem.ridge[i];
    let (mut beta, mut inverse, mut free) = (base(problem, i), 0.0, false);
    for half in barrier.halves_of(i).iter().filter(|half| half.sign != 0.0) {
        if half.s.is_finite() && curvature * half.s < half.t {
            let bounds = [problem.lower[i], problem.upper[i]];
            return (bounds[usize::from(half.sign > 0.0)], f64::INFINITY);
        }
        if curvature * half.x >= half.z {
            beta += half.sign * half.x;
            inverse += 1.0 / half.stiffness();
            free = true;
        }
    }
    let absent = barrier.halves_of(i).iter().all(|half| half.sign == 0.0);
    match (absent, free) {
        (true, _) => (barrier.beta[i], 0.0),
        (false, true) => {
            // Rounding may have put the sum of a bound and a distance beyond the other bound.
            let beta = beta.clamp(problem.lower[i], problem.upper[i]);
            (beta, 1.0 / inverse)
        }
        (false, false) => (beta, f64::INFINITY),
    }
}
