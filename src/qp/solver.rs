//! Solver: one of all, for those who let the user choose.

use super::adatron::Adatron;
use super::chunking::Chunking;
use super::control::{Monitor, StopRule};
use super::driver::{self, Method, Run, State};
use super::image::Image;
use super::npa::Npa;
use super::problem::DualProblem;
use super::report::{Algorithm, Solution};
use super::smo::Smo;
use super::task::Task;
use crate::error::Result;
use crate::matrix::{CachedRows, KernelMatrix, KernelRows, Precision};
use std::time::Instant;

/// The least tolerance at which the gap is taken for what rows in f32 say.
const ROUGH: f64 = 1e-3;

/// A solver with its settings.
///
/// ```
/// use mercer::qp::{Adatron, Smo, Solver};
/// let solvers: [Solver; 2] = [Smo::default().into(), Adatron::default().into()];
/// assert_eq!(solvers.map(|solver| solver.stop().tolerance), [1e-3, 1e-3]);
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Solver {
    /// Sequential minimal optimisation.
    Smo(Smo),
    /// The Kernel-Adatron.
    Adatron(Adatron),
    /// The nearest points of two hulls.
    Npa(Npa),
    /// A working set that grows.
    Chunking(Chunking),
}

impl Default for Solver {
    fn default() -> Self {
        Solver::Smo(Smo::default())
    }
}

impl From<Smo> for Solver {
    fn from(smo: Smo) -> Self {
        Solver::Smo(smo)
    }
}

impl From<Adatron> for Solver {
    fn from(adatron: Adatron) -> Self {
        Solver::Adatron(adatron)
    }
}

impl From<Npa> for Solver {
    fn from(npa: Npa) -> Self {
        Solver::Npa(npa)
    }
}

impl From<Chunking> for Solver {
    fn from(chunking: Chunking) -> Self {
        Solver::Chunking(chunking)
    }
}

impl Solver {
    /// Solves a problem: see [`Smo::solve`] and [`Adatron::solve`].
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::{Kernel, Samples, matrix::KernelMatrix, qp::{Solver, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[true, false], &[9.0, 9.0], Loss::Linear, Intercept::Free);
    /// let solution = Solver::default().solve(&problem, &matrix, &Unwatched)?;
    /// assert_eq!(solution.beta, [0.5, -0.5]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As those of the solver.
    pub fn solve(
        &self,
        problem: &DualProblem,
        matrix: &KernelMatrix,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        self.solve_on(problem, &mut KernelRows::new(matrix), monitor)
    }

    /// Solves a problem with rows that have served others before.
    ///
    /// ```
    /// # use mercer::formulation::{Intercept, Loss, svc};
    /// # use mercer::matrix::{KernelMatrix, KernelRows};
    /// # use mercer::{Kernel, Samples, qp::{Solver, Unwatched}};
    /// let samples = Samples::try_from(ndarray::array![[1.0], [3.0]].view())?;
    /// let matrix = KernelMatrix::new(&Kernel::linear(), &samples, vec![0, 1])?;
    /// let problem = svc(&[true, false], &[0.1, 0.1], Loss::Linear, Intercept::Free);
    /// let mut rows = KernelRows::new(&matrix);
    /// let solution = Solver::default().solve_on(&problem, &mut rows, &Unwatched)?;
    /// assert_eq!(solution.beta, [0.1, -0.1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As those of the solver.
    pub fn solve_on(
        &self,
        problem: &DualProblem,
        rows: &mut KernelRows,
        monitor: &dyn Monitor,
    ) -> Result<Solution> {
        match self {
            Solver::Chunking(chunking) => chunking.solve(problem, rows.matrix(), monitor),
            _ => driver::solve(self, problem, rows, monitor),
        }
    }

    /// Solves a problem from an image that is known, and returns that of the solution. One that is not
    /// exact tells nothing, and is returned where the matrix was replaced by another one.
    ///
    /// # Errors
    /// As those of the solver.
    pub(crate) fn solve_from(
        &self,
        problem: &DualProblem,
        rows: &mut KernelRows,
        image: Option<Image>,
        monitor: &dyn Monitor,
    ) -> Result<(Solution, Image)> {
        match self {
            Solver::Chunking(chunking) => {
                let solution = chunking.solve(problem, rows.matrix(), monitor)?;
                let image = Image::unknown(&solution.beta);
                Ok((solution, image))
            }
            _ => driver::solve_from(self, problem, rows, image, monitor),
        }
    }

    /// Returns when to stop.
    ///
    /// ```
    /// assert!(mercer::qp::Solver::default().stop().max_iterations.is_none());
    /// ```
    pub fn stop(&self) -> &StopRule {
        match self {
            Solver::Smo(smo) => &smo.stop,
            Solver::Adatron(adatron) => &adatron.stop,
            Solver::Npa(npa) => &npa.stop,
            Solver::Chunking(chunking) => &chunking.stop,
        }
    }

    /// Returns when to stop, to be changed.
    ///
    /// ```
    /// let mut solver = mercer::qp::Solver::default();
    /// solver.stop_mut().max_iterations = Some(100);
    /// assert_eq!(solver.stop().max_iterations, Some(100));
    /// ```
    pub fn stop_mut(&mut self) -> &mut StopRule {
        match self {
            Solver::Smo(smo) => &mut smo.stop,
            Solver::Adatron(adatron) => &mut adatron.stop,
            Solver::Npa(npa) => &mut npa.stop,
            Solver::Chunking(chunking) => &mut chunking.stop,
        }
    }

    /// Allows so many bytes for kernel rows: part of what the user allows, or of what was found to be
    /// free. Only the former may have a say in the path that a solver takes.
    pub(crate) fn allow(&mut self, bytes: usize) {
        if let Solver::Smo(smo) = self {
            smo.found |= smo.cache_bytes.is_none();
        }
        *self.cache_bytes_mut() = Some(bytes);
    }

    /// Asks for a solution near one that is known, of which nobody asks for more than the values: the gap is
    /// taken for what the rows say, as long as rounding has no say in it, and the objective is not computed
    /// again.
    pub(crate) fn roughly(&mut self, tolerance: f64) {
        self.stop_mut().tolerance = tolerance;
        if let Solver::Smo(smo) = self {
            smo.rough = tolerance >= ROUGH;
        }
    }

    /// Returns the bytes for kernel rows, None for a fair share, to be changed.
    pub(crate) fn cache_bytes_mut(&mut self) -> &mut Option<usize> {
        match self {
            Solver::Smo(smo) => &mut smo.cache_bytes,
            Solver::Adatron(adatron) => &mut adatron.cache_bytes,
            Solver::Npa(npa) => &mut npa.cache_bytes,
            Solver::Chunking(chunking) => &mut chunking.cache_bytes,
        }
    }

    /// Returns the settings with what is left of the time since `started`: several machines share
    /// one budget.
    pub(crate) fn since(mut self, started: Instant) -> Self {
        let limit = &mut self.stop_mut().time_limit;
        *limit = limit.map(|limit| limit.saturating_sub(started.elapsed()));
        self
    }
}

impl Method for Solver {
    fn stop_rule(&self) -> &StopRule {
        self.stop()
    }

    fn cache_bytes(&self) -> Option<usize> {
        match self {
            Solver::Smo(smo) => smo.cache_bytes,
            Solver::Adatron(adatron) => adatron.cache_bytes,
            Solver::Npa(npa) => npa.cache_bytes,
            Solver::Chunking(chunking) => chunking.cache_bytes,
        }
    }

    fn is_rough(&self) -> bool {
        matches!(self, Solver::Smo(smo) if smo.is_rough())
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Solver::Smo(smo) => smo.algorithm(),
            Solver::Adatron(adatron) => adatron.algorithm(),
            Solver::Npa(npa) => npa.algorithm(),
            Solver::Chunking(_) => Algorithm::Chunking,
        }
    }

    fn far(&self) -> f64 {
        match self {
            Solver::Smo(smo) => smo.far(),
            Solver::Adatron(adatron) => adatron.far(),
            Solver::Npa(npa) => npa.far(),
            Solver::Chunking(chunking) => chunking.smo.far(),
        }
    }

    fn check(&self, problem: &DualProblem, matrix: &KernelMatrix) -> Result<()> {
        match self {
            Solver::Smo(smo) => smo.check(problem, matrix),
            Solver::Adatron(adatron) => adatron.check(problem, matrix),
            Solver::Npa(npa) => npa.check(problem, matrix),
            Solver::Chunking(chunking) => chunking.check(problem),
        }
    }

    fn begin<'a, 'm: 'a, T: Precision>(
        &'a self,
        task: Task<'a, 'm>,
        rows: CachedRows<'m, T>,
        state: State,
    ) -> Box<dyn Run<'m, T> + 'a> {
        match self {
            Solver::Smo(smo) => smo.begin(task, rows, state),
            Solver::Adatron(adatron) => adatron.begin(task, rows, state),
            Solver::Npa(npa) => npa.begin(task, rows, state),
            // It has the chunks solved itself; this is what solves them.
            Solver::Chunking(chunking) => chunking.smo.begin(task, rows, state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Samples;
    use crate::kernel::Kernel;
    use crate::qp::Unwatched;
    use ndarray::Array2;

    /// Points of a grid whose classes overlap by a hash.
    fn solved(solver: Solver) -> Result<Solution> {
        let hash = |i: usize| (i as u32).wrapping_mul(0x9E37_79B1) >> 20;
        let rows = Array2::from_shape_fn((2000, 2), |(i, j)| f64::from(hash(2 * i + j)) / 2048.0);
        let class = |i: usize| hash(2 * i) + hash(5 * i + 1) / 4 > 2400;
        let classes: Vec<bool> = (0..2000).map(class).collect();
        let samples = Samples::try_from(rows.view())?;
        let matrix = KernelMatrix::new(&Kernel::rbf(8.0), &samples, (0..2000).collect())?;
        let sign = |positive: bool| if positive { 1.0 } else { -1.0 };
        let problem = DualProblem {
            linear: classes.iter().map(|&class| -sign(class)).collect(),
            absolute: vec![0.0; 2000],
            lower: classes.iter().map(|&class| sign(class).min(0.0)).collect(),
            upper: classes.iter().map(|&class| sign(class).max(0.0)).collect(),
            ridge: vec![0.0; 2000],
            start: vec![0.0; 2000],
            constraint: crate::qp::Constraint::Sum,
        };
        solver.solve(&problem, &matrix, &Unwatched)
    }

    /// What the user allows may change the path, what happens to be free may not.
    #[test]
    fn free_memory_has_no_say_in_the_path() -> Result<()> {
        let allowed = |bytes: usize, asked: Option<usize>| {
            let mut solver = Solver::default();
            *solver.cache_bytes_mut() = asked;
            solver.allow(bytes);
            solved(solver)
        };
        let (much, little) = (allowed(1 << 30, None)?, allowed(1 << 18, None)?);
        assert_eq!(much.beta, little.beta);
        assert_eq!(much.report.iterations, little.report.iterations);
        let asked = allowed(1 << 16, Some(1 << 16))?;
        assert_ne!(much.beta, asked.beta); // or the test shows nothing
        Ok(())
    }
}
