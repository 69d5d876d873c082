//! Barrier: where the variables are between their bounds, and the multipliers of these.
//!
//! A variable is what its halves add up to: beta = base + sum of sign x, 0 <= x <= width. There is one
//! half for a variable between two bounds or with one of them; two, x and x', for one whose |beta| has a
//! price on both sides of zero, where beta = x - x' and the price of both is that of |beta|; none for one
//! that is free, or fixed. With s = width - x, and e_i the gradient of the smooth part and the multipliers
//! of the sums, the optimum and the path to it are
//!
//! ```text
//! sign e + cost - z + t = 0,   x z = mu,   s t = mu,   mu -> 0
//! ```
//!
//! A step dx of a half solves, to first order and with the residuals of the second order corrected
//! (Mehrotra),
//!
//! ```text
//! theta dx + sign v = rho,   theta = z / x + t / s,   v the change of e
//! ```
//!
//! and the halves of a variable together theta_i dbeta + v_i = rho_i with 1 / theta_i the sum of
//! 1 / theta. That is all that the equations of the step know of them.
//!
//! Mehrotra: On the implementation of a primal-dual interior point method, SIAM Journal on Optimization
//! 2 (1992). Ferris, Munson: Interior-point methods for massive support vector machines, SIAM Journal on
//! Optimization 13 (2002).

use super::design::WHAT;
use crate::error::Result;
use crate::qp::problem::DualProblem;
use crate::simd::{memory, parallel};

/// Variables a thread takes at a time.
const CHUNK: usize = 2048;
/// Multiplications that take as long as one variable.
const WORK: usize = 64;
/// The share of the way to a bound that is taken at the most.
const NEAREST: f64 = 0.995;
/// What a free variable without a ridge is held by, as a share of the largest curvature.
const PROXIMAL: f64 = 1e-8;

/// One side of a variable.
#[derive(Clone, Copy)]
pub(super) struct Half {
    /// The distance from the bound that it begins at, and from the other, infinite where there is none.
    pub x: f64,
    pub s: f64,
    /// The multipliers of both.
    pub z: f64,
    pub t: f64,
    /// The last step.
    dx: f64,
    dz: f64,
    dt: f64,
    /// 1 where the variable grows with x, -1 where it shrinks, 0 for a half that is not there.
    pub sign: f64,
    /// Its price beside the gradient.
    pub cost: f64,
}

/// A half that is not there.
const ABSENT: Half = Half {
    x: 0.0,
    s: f64::INFINITY,
    z: 0.0,
    t: 0.0,
    dx: 0.0,
    dz: 0.0,
    dt: 0.0,
    sign: 0.0,
    cost: 0.0,
};

/// Where a step aims: at what xz = st is to be, and whether the second order is corrected by the last
/// step.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    pub mu: f64,
    pub corrected: bool,
}

impl Half {
    fn new(sign: f64, width: f64, cost: f64, start: f64) -> Self {
        let x = if width.is_finite() {
            0.5 * width
        } else {
            start
        };
        Half {
            x,
            s: width - x,
            sign,
            cost,
            ..ABSENT
        }
    }

    fn is_there(&self) -> bool {
        self.sign != 0.0
    }

    fn is_bounded(&self) -> bool {
        self.s.is_finite()
    }

    /// Returns theta.
    pub fn stiffness(&self) -> f64 {
        self.z / self.x + self.t / self.s
    }

    /// Returns what x z and s t are too large by.
    fn excess(&self, aim: Aim) -> (f64, f64) {
        let (mut low, mut high) = (self.x * self.z - aim.mu, 0.0);
        if self.is_bounded() {
            high = self.s * self.t - aim.mu;
        }
        if aim.corrected {
            low += self.dx * self.dz;
            high -= self.dx * self.dt;
        }
        (low, high)
    }

    /// Returns rho.
    fn right(&self, slope: f64, aim: Aim) -> f64 {
        let residual = self.sign * slope + self.cost - self.z + self.t;
        let (low, high) = self.excess(aim);
        -residual - low / self.x + high / self.s
    }

    /// Computes the step where e changes by v. Returns the share of it that meets a bound.
    fn step(&mut self, slope: f64, change: f64, aim: Aim) -> f64 {
        let (low, high) = self.excess(aim);
        self.dx = (self.right(slope, aim) - self.sign * change) / self.stiffness();
        self.dz = -(low + self.z * self.dx) / self.x;
        let mut share = most(self.x, self.dx).min(most(self.z, self.dz));
        if self.is_bounded() {
            self.dt = -(high - self.t * self.dx) / self.s;
            share = share.min(most(self.s, -self.dx)).min(most(self.t, self.dt));
        }
        share
    }

    fn advance(&mut self, share: f64) {
        self.x += share * self.dx;
        self.z += share * self.dz;
        if self.is_bounded() {
            self.s -= share * self.dx;
            self.t += share * self.dt;
        }
    }
}

/// Returns the share of a step that makes a value zero; infinity if none does.
fn most(value: f64, step: f64) -> f64 {
    match step < 0.0 {
        true => -value / step,
        false => f64::INFINITY,
    }
}

/// All variables.
pub(super) struct Barrier<'a> {
    problem: &'a DualProblem,
    /// Halves of a variable.
    stride: usize,
    pub halves: Vec<Half>,
    pub beta: Vec<f64>,
    /// e.
    pub slope: Vec<f64>,
    /// The products xz and st there are.
    pairs: usize,
    proximal: f64,
}

/// What a step comes to: the products as a function of the share a of it that is taken, the sum of
/// linear a + square a^2 added to what they are, and the largest share.
#[derive(Clone, Copy, Default)]
pub(super) struct Reach {
    linear: f64,
    square: f64,
    inverse_share: f64,
}

impl Reach {
    /// Returns the share to be taken.
    pub fn share(&self) -> f64 {
        (NEAREST / self.inverse_share).min(1.0)
    }

    fn include(&mut self, half: &Half, share: f64) {
        self.linear += half.x * half.dz + half.z * half.dx;
        self.square += half.dx * half.dz;
        if half.is_bounded() {
            self.linear += half.s * half.dt - half.t * half.dx;
            self.square -= half.dx * half.dt;
        }
        self.inverse_share = self.inverse_share.max(1.0 / share);
    }
}

impl<'a> Barrier<'a> {
    /// Begins in the middle, or this far from the only bound. The slopes are still missing.
    pub fn new(problem: &'a DualProblem, curvature: f64) -> Result<Self> {
        let start = 1.0 / curvature.max(f64::MIN_POSITIVE);
        let all = 0..problem.linear.len();
        let two = all.clone().any(|i| has_kink(problem, i));
        let stride = 1 + usize::from(two);
        let mut halves = memory::with_capacity(all.len() * stride, WHAT)?;
        let mut beta = memory::with_capacity(all.len(), WHAT)?;
        for i in all {
            let new = halves_of(problem, i, start);
            halves.extend_from_slice(&new[..stride]);
            let value = base(problem, i);
            beta.push(value + new.iter().map(|half| half.sign * half.x).sum::<f64>());
        }
        let there = halves.iter().filter(|half| half.is_there());
        let pairs = there.map(|half| 1 + usize::from(half.is_bounded())).sum();
        Ok(Barrier {
            problem,
            stride,
            halves,
            beta,
            slope: Vec::new(),
            pairs,
            proximal: PROXIMAL * curvature.max(f64::MIN_POSITIVE),
        })
    }

    /// Chooses multipliers that fit the slopes.
    pub fn begin(&mut self) {
        let halves = self.halves.chunks_mut(self.stride);
        let total: f64 = halves
            .zip(&self.slope)
            .flat_map(|(halves, &slope)| {
                let there = halves.iter().filter(|half| half.is_there());
                there.map(move |half| (half.sign * slope + half.cost).abs())
            })
            .sum();
        let mean = (total / self.pairs.max(1) as f64).max(f64::MIN_POSITIVE);
        for (halves, slope) in self.halves.chunks_mut(self.stride).zip(&self.slope) {
            for half in halves.iter_mut().filter(|half| half.is_there()) {
                let rise = half.sign * slope + half.cost;
                half.z = rise.max(0.0) + mean;
                if half.is_bounded() {
                    half.t = (-rise).max(0.0) + mean;
                }
            }
        }
    }

    /// Returns the halves of a variable.
    pub fn halves_of(&self, i: usize) -> &[Half] {
        &self.halves[i * self.stride..][..self.stride]
    }

    /// Returns the mean of xz and st; 0 if there are none.
    pub fn mu(&self) -> f64 {
        let products = self.halves.iter().map(|half| {
            let high = if half.is_bounded() {
                half.s * half.t
            } else {
                0.0
            };
            half.x * half.z + high
        });
        products.sum::<f64>() / self.pairs.max(1) as f64
    }

    /// Returns what that would be after a step.
    pub fn mu_after(&self, mu: f64, reach: &Reach, share: f64) -> f64 {
        let change = share * (reach.linear + share * reach.square);
        mu + change / self.pairs.max(1) as f64
    }

    /// Writes D and rho.
    pub fn assemble(&self, aim: Aim, diagonal: &mut [f64], rho: &mut [f64]) {
        let stride = self.stride;
        let parts = (self.halves.chunks(CHUNK * stride))
            .zip(self.slope.chunks(CHUNK))
            .zip(diagonal.chunks_mut(CHUNK).zip(rho.chunks_mut(CHUNK)));
        let work = self.slope.len() * WORK;
        parallel::for_each(
            parts.enumerate().collect(),
            work,
            |_: &mut (), (part, ((halves, slope), (diagonal, rho)))| {
                for (at, halves) in halves.chunks(stride).enumerate() {
                    let i = part * CHUNK + at;
                    (diagonal[at], rho[at]) = self.equation(i, halves, slope[at], aim);
                }
            },
        );
    }

    /// Returns D and rho of a variable.
    fn equation(&self, i: usize, halves: &[Half], slope: f64, aim: Aim) -> (f64, f64) {
        let ridge = self.problem.ridge[i];
        if is_fixed(self.problem, i) {
            return (0.0, 0.0);
        }
        let (mut inverse, mut mixed) = (0.0, 0.0);
        for half in halves.iter().filter(|half| half.is_there()) {
            let softness = 1.0 / half.stiffness();
            inverse += softness;
            mixed += half.sign * softness * half.right(slope, aim);
        }
        if inverse == 0.0 {
            return (1.0 / ridge.max(self.proximal), -slope);
        }
        (1.0 / (ridge + 1.0 / inverse), mixed / inverse)
    }

    /// Computes the step from H [q; dy], which becomes the change of e, and rho, which becomes the step
    /// of the variables.
    pub fn step(
        &mut self,
        aim: Aim,
        diagonal: &[f64],
        rho: &mut [f64],
        change: &mut [f64],
    ) -> Reach {
        let (stride, problem) = (self.stride, self.problem);
        let mut reaches = vec![Reach::default(); rho.len().div_ceil(CHUNK)];
        let parts = (self.halves.chunks_mut(CHUNK * stride))
            .zip(self.slope.chunks(CHUNK))
            .zip(diagonal.chunks(CHUNK))
            .zip(rho.chunks_mut(CHUNK))
            .zip(change.chunks_mut(CHUNK))
            .zip(&mut reaches);
        let work = self.slope.len() * WORK;
        parallel::for_each(
            parts.enumerate().collect(),
            work,
            |_: &mut (), (part, (((((halves, slope), diagonal), rho), change), reach))| {
                for (at, halves) in halves.chunks_mut(stride).enumerate() {
                    let step = diagonal[at] * (rho[at] - change[at]);
                    rho[at] = step;
                    change[at] += problem.ridge[part * CHUNK + at] * step;
                    for half in halves.iter_mut().filter(|half| half.is_there()) {
                        let share = half.step(slope[at], change[at], aim);
                        reach.include(half, share);
                    }
                }
            },
        );
        reaches.iter().fold(Reach::default(), |all, part| Reach {
            linear: all.linear + part.linear,
            square: all.square + part.square,
            inverse_share: all.inverse_share.max(part.inverse_share),
        })
    }

    /// Takes a share of the step.
    pub fn advance(&mut self, share: f64, step: &[f64], change: &[f64]) {
        let (stride, problem) = (self.stride, self.problem);
        let parts = (self.halves.chunks_mut(CHUNK * stride))
            .zip(self.slope.chunks_mut(CHUNK))
            .zip(self.beta.chunks_mut(CHUNK))
            .zip(step.chunks(CHUNK).zip(change.chunks(CHUNK)));
        let work = step.len() * WORK;
        parallel::for_each(
            parts.enumerate().collect(),
            work,
            |_: &mut (), (part, (((halves, slope), beta), (step, change)))| {
                for (at, halves) in halves.chunks_mut(stride).enumerate() {
                    slope[at] += share * change[at];
                    beta[at] += share * step[at];
                    halves.iter_mut().for_each(|half| half.advance(share));
                    if halves[0].is_there() {
                        let sides = halves.iter().map(|half| half.sign * half.x);
                        beta[at] = base(problem, part * CHUNK + at) + sides.sum::<f64>();
                    }
                }
            },
        );
    }
}

/// Tells whether a variable cannot move.
pub(super) fn is_fixed(problem: &DualProblem, i: usize) -> bool {
    problem.lower[i] >= problem.upper[i]
}

/// Tells whether |beta| has a kink between the bounds of a variable.
pub(super) fn has_kink(problem: &DualProblem, i: usize) -> bool {
    problem.absolute[i] > 0.0 && problem.lower[i] < 0.0 && problem.upper[i] > 0.0
}

/// Returns where the halves of a variable begin.
pub(super) fn base(problem: &DualProblem, i: usize) -> f64 {
    let (lower, upper) = (problem.lower[i], problem.upper[i]);
    match (has_kink(problem, i), lower.is_finite(), upper.is_finite()) {
        (true, ..) | (false, false, false) => 0.0,
        (false, true, _) => lower,
        (false, false, true) => upper,
    }
}

/// Returns the halves of a variable, each so far from its bound or in the middle.
fn halves_of(problem: &DualProblem, i: usize, start: f64) -> [Half; 2] {
    let (lower, upper) = (problem.lower[i], problem.upper[i]);
    let price = problem.absolute[i];
    if is_fixed(problem, i) {
        return [ABSENT; 2];
    }
    if has_kink(problem, i) {
        return [
            Half::new(1.0, upper, price, start),
            Half::new(-1.0, -lower, price, start),
        ];
    }
    // On one side of zero |beta| is plus or minus beta.
    let price = if lower >= 0.0 { price } else { -price };
    match (lower.is_finite(), upper.is_finite()) {
        (true, _) => [Half::new(1.0, upper - lower, price, start), ABSENT],
        (false, true) => [Half::new(-1.0, f64::INFINITY, -price, start), ABSENT],
        (false, false) => [ABSENT; 2],
    }
}
