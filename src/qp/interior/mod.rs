//! Interior: a primal-dual interior-point method for kernels of low rank.
//!
//! With K = G G' and r features an iteration takes n r^2 multiplications ([`Design`]), and their number
//! hardly depends on the costs or on how far classes overlap, where pair steps are of no use any more.
//!
//! 1. Follow the path between the bounds ([`Barrier`]) by predictor-corrector steps.
//! 2. When the multipliers tell which variables are at a bound, put them there, and find the optimum of
//!    the others ([`Face`]).
//! 3. If its gap is not small enough, go on along the path.
//!
//! What comes out is a feasible point, which the driver confirms as it does those of any solver; pair
//! steps go on from there if anything is left to do.

mod barrier;
mod cost;
mod design;
mod face;
mod slopes;

use super::task::Task;
use crate::error::Polled;
use crate::simd::memory;
use barrier::{Aim, Barrier};
pub use cost::Interior;
use design::{Design, WHAT};
use face::{Candidate, Face};
use slopes::Slopes;

/// Iterations after which the method gives up: it takes 15 to 40.
const MOST: u64 = 100;
/// A step that is cut to less than this share gets nowhere.
const SHORTEST: f64 = 1e-6;
/// Steps in a row that may be so short.
const PATIENCE: u32 = 3;
/// The share of the tolerance to aim at: rounding, and bounds of it, come on top.
const BELOW: f64 = 0.5;

/// What was found.
pub(super) struct Found {
    pub iterations: u64,
    /// The best feasible point, if there is one.
    pub candidate: Option<Candidate>,
}

/// Looks for a point whose gap is below the tolerance. None if the kernel has no features.
pub(super) fn solve(task: Task, tolerance: f64) -> Polled<Option<Found>> {
    let problem = task.problem;
    let Some(features) = task.matrix.features() else {
        return Ok(None);
    };
    let design = Design::new(features, &problem.constraint, problem.linear.len());
    let mut path = Path::new(task, &design)?;
    let mut best: Option<Candidate> = None;
    let mut iterations = 0;
    while iterations < MOST {
        task.control.poll()?;
        if path.is_near_the_end(tolerance) {
            path.refresh()?;
            let multipliers = path.multipliers.clone();
            let face = Face::new(task, &design, &path.barrier, multipliers);
            if let Some(found) = face.optimum(BELOW * tolerance)? {
                let control = task.control;
                control.tell(iterations, found.gap, problem.linear.len(), || {
                    let support = found.beta.iter().filter(|beta| **beta != 0.0);
                    (found.objective, support.count())
                });
                if best.as_ref().is_none_or(|best| found.gap < best.gap) {
                    best = Some(found);
                }
            }
        }
        let done = best
            .as_ref()
            .is_some_and(|best| best.gap <= BELOW * tolerance);
        if done || !path.iterate()? {
            break;
        }
        iterations += 1;
    }
    Ok(Some(Found {
        iterations,
        candidate: best,
    }))
}

/// The path and where on it the method is.
struct Path<'a> {
    task: Task<'a, 'a>,
    design: &'a Design<'a>,
    barrier: Barrier<'a>,
    /// Of the sums that are fixed, and what these still lack.
    multipliers: Vec<f64>,
    lack: Vec<f64>,
    mu: f64,
    diagonal: Vec<f64>,
    rho: Vec<f64>,
    change: Vec<f64>,
    short: u32,
}

impl<'a> Path<'a> {
    fn new(task: Task<'a, 'a>, design: &'a Design<'a>) -> Polled<Self> {
        let (problem, matrix) = (task.problem, task.matrix);
        let n = problem.linear.len();
        let curvatures = || matrix.diagonal().iter().zip(&problem.ridge);
        let curvature = curvatures().map(|(k, ridge)| k + ridge).sum::<f64>() / n as f64;
        let barrier = Barrier::new(problem, curvature)?;
        let columns = design.columns();
        let fixed = (0..columns).filter(|&column| design.prior(column) == 0.0);
        let mut path = Path {
            task,
            design,
            barrier,
            multipliers: vec![0.0; fixed.count()],
            lack: Vec::new(),
            mu: 0.0,
            diagonal: memory::zeros(n, WHAT)?,
            rho: memory::zeros(n, WHAT)?,
            change: memory::zeros(n, WHAT)?,
            short: 0,
        };
        path.refresh()?;
        path.barrier.begin();
        path.mu = path.barrier.mu();
        Ok(path)
    }

    /// Computes the slopes, and what the sums lack, from the coefficients: steps leave their roundings.
    fn refresh(&mut self) -> Polled<()> {
        let task = self.task;
        let beta = &self.barrier.beta;
        let at = Slopes::at(task, self.design, beta, &self.multipliers)?;
        self.lack = at.lack;
        self.barrier.slope = at.slope;
        Ok(())
    }

    /// Tells whether the multipliers of free variables are below the tolerance, on average.
    fn is_near_the_end(&self, tolerance: f64) -> bool {
        let halves = &self.barrier.halves;
        let total: f64 = halves.iter().map(|half| half.x.min(half.s)).sum();
        let mean = total / halves.len().max(1) as f64;
        self.mu <= tolerance * mean
    }

    /// Takes a predictor-corrector step. Returns false if that gets nowhere.
    fn iterate(&mut self) -> Polled<bool> {
        let task = self.task;
        let stop = || task.control.stop();
        let aim = Aim {
            mu: 0.0,
            corrected: false,
        };
        self.barrier
            .assemble(aim, &mut self.diagonal, &mut self.rho);
        let normal = self.design.normal(&self.diagonal, &self.rho, &stop)?;
        let Some((normal, mut right)) = normal else {
            return Ok(false);
        };
        let reach = self.direction(&normal, &mut right, aim)?;
        let predicted = self.barrier.mu_after(self.mu, &reach, reach.share());
        let centring = (predicted / self.mu).clamp(0.0, 1.0).powi(3);
        let aim = Aim {
            mu: centring * self.mu,
            corrected: true,
        };
        self.barrier
            .assemble(aim, &mut self.diagonal, &mut self.rho);
        let weighted = self.diagonal.iter().zip(&self.rho);
        let weighted: Vec<f64> = weighted.map(|(d, rho)| d * rho).collect();
        let mut right = self.design.transposed(&weighted, &stop)?;
        let reach = self.direction(&normal, &mut right, aim)?;
        let share = reach.share();
        if !(share > 0.0 && right.iter().all(|value| value.is_finite())) {
            return Ok(false);
        }
        let sums = right.len() - self.lack.len();
        for (at, change) in right[sums..].iter().enumerate() {
            self.multipliers[at] += share * change;
            self.lack[at] *= 1.0 - share;
        }
        self.barrier.advance(share, &self.rho, &self.change);
        self.mu = self.barrier.mu();
        self.short = match share < SHORTEST {
            true => self.short + 1,
            false => 0,
        };
        Ok(self.short < PATIENCE && self.mu > 0.0 && self.mu.is_finite())
    }

    /// Computes the step of a right side, which becomes [q; dy].
    fn direction(
        &mut self,
        normal: &design::Normal,
        right: &mut [f64],
        aim: Aim,
    ) -> Polled<barrier::Reach> {
        let task = self.task;
        let sums = right.len() - self.lack.len();
        for (right, lack) in right[sums..].iter_mut().zip(&self.lack) {
            *right -= lack;
        }
        normal.solve(right);
        self.design
            .times(right, &mut self.change, &|| task.control.stop())?;
        Ok(self
            .barrier
            .step(aim, &self.diagonal, &mut self.rho, &mut self.change))
    }
}
