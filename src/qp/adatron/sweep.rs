//! A sweep: every variable once, at one intercept.
//!
//! Steps are taken in chunks: within one, only the kernel values between its members are needed to
//! know the gradient of the next; then the rows of all that changed are added to the whole gradient
//! at once, on all cores. The steps are those of a plain loop, whatever the number of threads.

use super::Sweeps;
use super::settings::Order;
use super::step::stepped;
use crate::error::{Polled, Stop};
use crate::matrix::{Change, Precision};
use crate::qp::divergence::has_outgrown;
use crate::qp::phases::Stopwatch;
use crate::qp::problem::Constraint;
use crate::qp::update::add_or_restore;
use crate::simd::memory;
use crate::simd::random::Random;

/// Variables of a chunk: enough to have rows for all cores to add, few enough to keep what is read
/// in between small.
const CHUNK: usize = 64;

/// What pushes the coefficients beside the gradient: the intercept, and half the square of the excess of
/// the sum times `charge`.
struct Push {
    intercept: f64,
    charge: f64,
    excess: f64,
}

impl Push {
    /// Returns a gradient with the push.
    fn on(&self, gradient: f64) -> f64 {
        gradient + self.intercept + self.charge * self.excess
    }
}

impl<T: Precision> Sweeps<'_, '_, T> {
    /// Takes every variable once, at one intercept, with half the square of the excess charged. Returns
    /// false if a variable without curvature would go to infinity. If that is halted, the chunks
    /// before have been taken.
    pub(super) fn sweep(&mut self, intercept: f64, charge: f64) -> Polled<bool> {
        self.reorder();
        let mut push = Push {
            intercept,
            charge,
            excess: self.state.coordinates.beta.iter().sum::<f64>() - self.sum,
        };
        let order = std::mem::take(&mut self.order);
        let mut bounded = Ok(true);
        for chunk in order.chunks(CHUNK) {
            bounded = self.sweep_chunk(chunk, &mut push);
            if !matches!(bounded, Ok(true)) {
                break;
            }
        }
        self.order = order;
        bounded
    }

    /// Puts the variables in the order of the next epoch.
    pub(super) fn reorder(&mut self) {
        match self.settings.order {
            Order::Cyclic => {}
            Order::Alternating if !self.state.iterations.is_multiple_of(2) => self.order.reverse(),
            Order::Alternating | Order::Random => shuffle(&mut self.order, self.state.iterations),
        }
    }

    fn sweep_chunk(&mut self, chunk: &[u32], push: &mut Push) -> Polled<bool> {
        let control = self.task.control;
        let gradients = &self.state.coordinates.gradient;
        let mut gradient: Vec<f64> = chunk.iter().map(|&i| gradients[i as usize]).collect();
        let mut moved: Vec<(usize, f64)> = Vec::with_capacity(chunk.len());
        self.block.clear();
        self.fetch_ahead(chunk, push)?;
        for (at, &variable) in chunk.iter().enumerate() {
            let i = variable as usize;
            let mut point = self.state.coordinates.point(i);
            point.gradient = push.on(gradient[at]);
            let curvature = self.curvature(i) + push.charge;
            let mut beta = stepped(&point, curvature, self.settings.eta);
            if beta.is_infinite() {
                if self.task.problem.constraint != Constraint::Sum {
                    return Ok(false);
                }
                // Another intercept may hold it back: some way to there.
                beta = stepped(&point, self.steepest, self.settings.eta);
            }
            if has_outgrown(beta, self.steepest) {
                return Ok(false);
            }
            let change = beta - point.beta;
            if change != 0.0 {
                push.excess += change;
                moved.push((i, beta));
                self.add_within(chunk, at, change, &mut gradient)?;
            }
        }
        self.apply(&moved, &|| control.stop())?;
        Ok(true)
    }

    fn curvature(&self, i: usize) -> f64 {
        self.task.matrix.diagonal()[i] + self.task.problem.ridge[i]
    }

    /// Tells whether so many rows more can be held without giving others up: every epoch wants the
    /// same rows, and what does not fit is better computed again than put in the place of what will
    /// be wanted sooner.
    fn has_room(&self, rows: usize) -> bool {
        self.rows.held() + rows <= self.rows.capacity()
    }

    /// Fetches the rows of the members of a chunk that would move now, all at once.
    fn fetch_ahead(&mut self, chunk: &[u32], push: &Push) -> Polled<()> {
        let moves = |variable: u32| {
            let i = variable as usize;
            let mut point = self.state.coordinates.point(i);
            point.gradient = push.on(point.gradient);
            let curvature = self.curvature(i) + push.charge;
            stepped(&point, curvature, self.settings.eta) != point.beta
        };
        let missing = chunk.iter().copied();
        let missing: Vec<u32> = missing
            .filter(|&variable| !self.rows.holds(variable) && moves(variable))
            .collect();
        if missing.is_empty() || !self.has_room(missing.len()) {
            return Ok(());
        }
        self.fetch(&missing)
    }

    fn fetch(&mut self, variables: &[u32]) -> Polled<()> {
        let control = self.task.control;
        let length = self.state.coordinates.len();
        self.rows.fetch(variables, length, &|| control.stop())
    }

    /// Adds a multiple of the row of a member to the gradients of those after it in the chunk.
    fn add_within(
        &mut self,
        chunk: &[u32],
        at: usize,
        change: f64,
        gradient: &mut [f64],
    ) -> Polled<()> {
        let (variable, after) = (chunk[at], at + 1..chunk.len());
        let gradients = gradient[after.clone()].iter_mut();
        if !self.rows.holds(variable) && self.has_room(1) {
            self.fetch(&[variable])?;
        }
        if self.rows.holds(variable) {
            let row = self.rows.row(variable);
            for (gradient, &other) in gradients.zip(&chunk[after]) {
                *gradient += change * row[other as usize].to_f64();
            }
            return Ok(());
        }
        let size = chunk.len();
        if self.block.is_empty() {
            let control = self.task.control;
            memory::resize(&mut self.block, size * size, "the kernel matrix of a block")?;
            self.rows
                .block(chunk, &mut self.block, size, &|| control.stop())?;
        }
        let row = &self.block[at * size..];
        for (gradient, value) in gradients.zip(&row[after]) {
            *gradient += change * value.to_f64();
        }
        Ok(())
    }

    /// Gives variables new coefficients. If that is halted, nothing has changed.
    pub(super) fn apply(&mut self, moved: &[(usize, f64)], stop: Stop) -> Polled<()> {
        if moved.is_empty() {
            return Ok(());
        }
        let coordinates = &mut self.state.coordinates;
        let changes: Vec<Change> = moved
            .iter()
            .map(|&(i, beta)| Change {
                variable: i as u32,
                factor: beta - coordinates.beta[i],
                keep: false,
            })
            .collect();
        let rows = &mut self.rows;
        let held = moved.iter().all(|&(i, _)| rows.holds(i as u32));
        let watch = Stopwatch::beside(rows.kernel_time().as_secs_f64());
        let gradient = &mut coordinates.gradient;
        let added = match held {
            // There is nothing to wait for, and nothing to undo.
            true => rows.add(&changes, 0, gradient, &|| false),
            false => add_or_restore(rows, &changes, 0, gradient, stop),
        };
        self.state.phases.update += watch.seconds_beside(rows.kernel_time().as_secs_f64());
        added?;
        for &(i, beta) in moved {
            coordinates.gradient[i] += (beta - coordinates.beta[i]) * self.task.problem.ridge[i];
            coordinates.beta[i] = beta;
        }
        Ok(())
    }
}

/// Puts variables in a new order, which is the same for the same epoch of the same order.
fn shuffle(order: &mut [u32], epoch: u64) {
    let mut random = Random::new(epoch);
    for last in (1..order.len()).rev() {
        order.swap(last, (random.bits() % (last as u64 + 1)) as usize);
    }
}
