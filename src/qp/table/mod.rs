//! A table of coefficients: the machines of all classes, trained as one.
//!
//! ```text
//! minimise    sum over columns m of  1/2 beta_m' K beta_m + linear_m' beta_m
//! subject to  lower <= beta <= upper,   the sum of every row = 0,
//!             [the sum of every column = 0, or half its square is added to the objective]
//! ```
//!
//! beta has a row for each sample and a column for each machine, f_m(z) = sum_i beta_im k(x_i, z) + b_m.
//! The columns share K, so one row of the kernel matrix serves all gradients g_m = K beta_m + linear_m.
//!
//! Blocks of samples with the most violated conditions are optimised as [`block`] tells; then the rows
//! of the samples that moved are added to the gradients of all columns. Every point on the way is
//! feasible. What is violated is measured as [`cycles`] tells if the sums of columns are fixed. If not,
//! b is known, 0 or the sums of the columns, and the gap is
//!
//! ```text
//! max over rows of   (max of -g_m - b_m over columns that may grow) - (min over those that may shrink)
//! ```
//!
//! Rows of K are in f32 while their rounding cannot matter, else in f64, and the gap is confirmed as
//! that of the [`driver`](super::driver) is: by bounds of all errors, or from gradients that were
//! computed again in f64.
//!
//! Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2
//! (2001), has the row steps.

mod block;
mod cycles;
mod problem;
mod shares;
mod solution;
mod state;

pub use problem::TableProblem;

use super::confirm::estimated_noise;
use super::control::{Control, Monitor};
use super::driver::{Method, NOISE_SHARE, TINY};
use super::report::{Solution, Status};
use super::smo::Smo;
use crate::error::{Halt, Polled, Result, unless_stopped};
use crate::matrix::{CachedRows, KernelMatrix, KernelRows, Precision, add_in_parallel, fair_share};
use crate::simd::memory;
use block::Block;
use state::{Seen, State};

/// Samples of a block: enough for its steps to be worth the rows that they cost.
const BLOCK: usize = 64;
/// The share of the gap to which a block is solved.
const BLOCK_SHARE: f64 = 0.1;
/// Steps in a block, as a multiple of its samples.
const STEPS_PER_SAMPLE: u64 = 32;
/// The share of the tolerance at which to stop before the gap is confirmed.
const AIM: f64 = 0.75;
/// Runs with rows in f64 that do not halve the gap: what is left is the rounding of f64.
const ATTEMPTS: u32 = 3;

/// How a run ended.
enum Outcome {
    Converged,
    GaveUp(Status),
    /// Steps do not lower the gap that is seen any more, or the rounding of rows hides it.
    Lost,
}

/// A problem and where its solution is.
struct Table<'a, 'm> {
    problem: &'a TableProblem,
    matrix: &'m KernelMatrix<'m>,
    control: &'a Control<'a>,
    tolerance: f64,
    state: State,
    counters: [u64; 3],
    kernel_seconds: f64,
}

impl Smo {
    /// Solves the problem of a table: the machines of its columns, which are trained together. What
    /// that took is told of the first.
    ///
    /// ```
    /// use mercer::formulation::{Intercept, weston_watkins};
    /// use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Smo, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[-1.0], [1.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = weston_watkins(&[0, 1], &[9.0, 9.0], 2, Intercept::Free);
    /// let solutions = Smo::default().solve_table(&problem, &matrix, &Unwatched)?;
    /// assert_eq!(solutions[1].beta, [-0.5, 0.5]); // f(x) = x, and -x for the other class
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit, zero is not feasible, two sums are fixed, the tolerance is not
    /// positive, or kernel rows cannot be had.
    pub fn solve_table(
        &self,
        problem: &TableProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Solution>> {
        problem.check(matrix.len())?;
        self.stop.check()?;
        let control = Control::new(&self.stop, monitor);
        // With the sums fixed, centred rows have the same solution but for the intercepts.
        let centred = match problem.fixes_sums() {
            true => matrix.centred(self.far())?,
            false => None,
        };
        match &centred {
            None => self.solve_with(problem, matrix, &control, &[]),
            Some((matrix, offsets)) => self.solve_with(problem, matrix, &control, offsets),
        }
    }

    fn solve_with(
        &self,
        problem: &TableProblem,
        matrix: &KernelMatrix,
        control: &Control,
        offsets: &[f64],
    ) -> Result<Vec<Solution>> {
        let mut table = Table {
            problem,
            matrix,
            control,
            tolerance: self.stop.tolerance,
            state: State::start(problem, matrix.len())?,
            counters: [0; 3],
            kernel_seconds: 0.0,
        };
        let bytes = self.cache_bytes.unwrap_or_else(fair_share);
        let (status, gap) = table.climb(bytes)?;
        Ok(table.solutions(status, gap, offsets))
    }
}

/// Writes the small matrix of samples whose rows are held.
fn gather<T: Precision>(rows: &CachedRows<T>, chosen: &[u32], out: &mut [f64]) {
    for (out, &sample) in out.chunks_mut(chosen.len()).zip(chosen) {
        let row = rows.row(sample);
        for (entry, &other) in out.iter_mut().zip(chosen) {
            *entry = row[other as usize].to_f64();
        }
    }
}

impl<'m> Table<'_, 'm> {
    /// Solves with rows in f32, then in f64 where that is needed. Returns how that ended, and a bound of
    /// the gap.
    fn climb(&mut self, bytes: usize) -> Result<(Status, f64)> {
        let matrix = self.matrix;
        let mut rows = KernelRows::new(matrix);
        let mut double = matrix.len() <= TINY
            || matrix.may_be_indefinite()
            || matrix.noise::<f32>().is_infinite()
            || self.problem.is_unbounded();
        let (mut attempts, mut last) = (0, f64::INFINITY);
        loop {
            let outcome = match double {
                true => self.rung(&mut rows.take::<f64>(bytes)?),
                false => self.rung(&mut rows.take::<f32>(bytes)?),
            };
            let outcome = match outcome {
                Err(Halt::Failed(error)) => return Err(error),
                Err(Halt::Stopped) => Outcome::GaveUp(self.control.status()),
                Ok(outcome) => outcome,
            };
            if let Outcome::GaveUp(status) = outcome {
                return Ok((status, self.late_gap(status)?));
            }
            let gap = match unless_stopped(self.confirmed_gap())? {
                Some(gap) => gap,
                None => return Ok((self.control.status(), self.late_gap(self.control.status())?)),
            };
            if gap <= self.tolerance {
                return Ok((Status::Converged, gap));
            }
            attempts = if gap < 0.5 * last { 0 } else { attempts + 1 };
            last = gap;
            if double && attempts >= ATTEMPTS {
                return Ok((Status::Precision, gap));
            }
            // The gradient is exact now: once more with rows in f32, unless they were too noisy.
            double = double || attempts > 0 || matches!(outcome, Outcome::Lost);
        }
    }

    /// Takes blocks with these rows, until the gap that is seen is small enough.
    fn rung<T: Precision>(&mut self, rows: &mut CachedRows<'m, T>) -> Polled<Outcome> {
        self.state.double = rows.is_double();
        self.state.repeatable = rows.is_repeatable();
        let (before, time) = (rows.counters(), rows.kernel_time());
        let outcome = self.blocks(rows);
        let counters = self.counters.iter_mut().zip(rows.counters());
        counters
            .zip(before)
            .for_each(|((sum, now), before)| *sum += now - before);
        self.kernel_seconds += (rows.kernel_time() - time).as_secs_f64();
        outcome
    }

    fn blocks<T: Precision>(&mut self, rows: &mut CachedRows<'m, T>) -> Polled<Outcome> {
        loop {
            let seen = self.state.seen(self.problem, None);
            let (iterations, most) = (self.state.iterations, self.control.max_iterations);
            // Its objective is not at hand.
            let unknown = || (f64::NAN, 0);
            self.control
                .tell(iterations, seen.gap, self.matrix.len(), unknown);
            if seen.gap <= AIM * self.tolerance {
                return Ok(Outcome::Converged);
            }
            self.control.poll()?;
            if iterations >= most {
                return Ok(Outcome::GaveUp(Status::MaxIterations));
            }
            if self.noise::<T>() > NOISE_SHARE * seen.gap.max(self.tolerance) {
                return Ok(Outcome::Lost);
            }
            if let Some(status) = self.state.diverges(self.problem, self.matrix) {
                return Ok(Outcome::GaveUp(status));
            }
            let chosen = self.choose(&seen);
            let mut block = self.block(&chosen, &seen, rows)?;
            let tolerance = (BLOCK_SHARE * seen.gap).max(0.5 * AIM * self.tolerance);
            let most = (most - iterations).min(STEPS_PER_SAMPLE * chosen.len() as u64);
            let walked = block.solve(tolerance, most, self.control)?;
            if walked.diverged {
                return Ok(Outcome::GaveUp(Status::Diverged));
            }
            if walked.steps == 0 {
                return Ok(Outcome::Lost);
            }
            self.apply(&chosen, &block, rows)?;
            self.state.iterations += walked.steps;
        }
    }

    /// Estimates the rounding error of the gradients with rows of type T.
    fn noise<T: Precision>(&self) -> f64 {
        let columns = (0..self.problem.columns).map(|m| self.state.column(m));
        let noises = columns.map(|beta| estimated_noise::<T>(self.matrix, &beta));
        noises.fold(0.0, f64::max)
    }

    /// Returns the samples of the next block: those of the steepest cycle, and those whose conditions
    /// are violated most.
    fn choose(&self, seen: &Seen) -> Vec<u32> {
        let n = self.matrix.len();
        if n <= TINY {
            return (0..n as u32).collect();
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        let key = |&sample: &u32| {
            let first = seen.steepest.contains(&sample);
            if first {
                f64::INFINITY
            } else {
                seen.violations[sample as usize]
            }
        };
        let size = BLOCK.max(seen.steepest.len()).min(n);
        order.select_nth_unstable_by(size - 1, |a, b| key(b).total_cmp(&key(a)));
        order.truncate(size);
        order.sort_unstable();
        order
    }

    /// Returns the block of some samples.
    fn block<T: Precision>(
        &self,
        chosen: &[u32],
        seen: &Seen,
        rows: &mut CachedRows<'m, T>,
    ) -> Polled<Block> {
        let (problem, control, size) = (self.problem, self.control, chosen.len());
        let mut kernel = memory::zeros(size * size, "the kernel matrix of a block")?;
        match chosen.iter().all(|&sample| rows.holds(sample)) {
            true => gather(rows, chosen, &mut kernel),
            false => rows.block(chosen, &mut kernel, size, &|| control.stop())?,
        }
        let charge = problem.constraint.absorber().unwrap_or(0.0);
        kernel
            .iter_mut()
            .for_each(|value: &mut f64| *value += charge);
        let k = problem.columns;
        let taken = |values: &[f64]| -> Vec<f64> {
            let row = |&sample: &u32| &values[sample as usize * k..(sample as usize + 1) * k];
            chosen.iter().flat_map(row).copied().collect()
        };
        let gradient = chosen.iter().flat_map(|&sample| {
            let at = (0..k).map(move |m| m * self.matrix.len() + sample as usize);
            at.zip(&seen.intercepts)
                .map(|(at, b)| self.state.gradient[at] + charge * b)
        });
        Ok(Block {
            columns: k,
            keeps_sums: problem.fixes_sums(),
            kernel,
            gradient: gradient.collect(),
            beta: taken(&self.state.beta),
            lower: taken(&problem.lower),
            upper: taken(&problem.upper),
        })
    }

    /// Takes over the coefficients of a block. If that is halted, nothing has changed.
    fn apply<T: Precision>(
        &mut self,
        chosen: &[u32],
        block: &Block,
        rows: &mut CachedRows<'m, T>,
    ) -> Polled<()> {
        let (n, k, control) = (self.matrix.len(), self.problem.columns, self.control);
        let new = |at: usize| &block.beta[at * k..(at + 1) * k];
        let moved: Vec<(usize, u32)> = (chosen.iter().copied().enumerate())
            .filter(|&(at, sample)| new(at) != self.state.row(sample))
            .collect();
        let turns = moved.chunks(rows.capacity());
        // A cache too small for all rows takes them in turns, between which it may be halted.
        let before = (turns.len() > 1).then(|| self.state.gradient.clone());
        for turn in turns {
            let samples: Vec<u32> = turn.iter().map(|&(_, sample)| sample).collect();
            if let Err(halt) = rows.fetch(&samples, n, &|| control.stop()) {
                if let Some(before) = before {
                    self.state.gradient = before;
                }
                return Err(halt);
            }
            let held: Vec<&[T]> = samples
                .iter()
                .map(|&sample| &rows.row(sample)[..n])
                .collect();
            for (m, gradient) in self.state.gradient.chunks_mut(n).enumerate() {
                let (mut factors, mut used) = (Vec::new(), Vec::new());
                for (&(at, sample), row) in turn.iter().zip(&held) {
                    let change = new(at)[m] - self.state.beta[sample as usize * k + m];
                    if change != 0.0 {
                        factors.push(change);
                        used.push(*row);
                    }
                }
                add_in_parallel(&factors, &used, gradient);
            }
        }
        for (at, sample) in moved {
            self.state.set_row(sample, new(at));
        }
        Ok(())
    }

    /// Returns a bound of the gap, from gradients computed again in f64 where it is not small enough.
    fn confirmed_gap(&mut self) -> Polled<f64> {
        let gap = self.bounded_gap();
        if gap <= self.tolerance {
            return Ok(gap);
        }
        let control = self.control;
        self.state
            .refresh(self.problem, self.matrix, &|| control.stop())?;
        Ok(self.bounded_gap())
    }

    fn bounded_gap(&self) -> f64 {
        let errors = self.state.errors(self.problem, self.matrix);
        self.state.seen(self.problem, Some(&errors)).gap
    }

    /// Returns a bound of the gap of a solve that has ended early. Where time has run out, gradients are
    /// computed again only if a little more time allows that.
    fn late_gap(&mut self, status: Status) -> Result<f64> {
        let (control, grace) = (self.control, self.control.grace());
        let late = matches!(status, Status::TimeLimit | Status::Interrupted);
        let stop = || {
            if late {
                grace.is_over()
            } else {
                control.stop()
            }
        };
        unless_stopped(self.state.refresh(self.problem, self.matrix, &stop))?;
        Ok(self.bounded_gap())
    }
}
