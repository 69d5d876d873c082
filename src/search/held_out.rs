//! Held out: a classifier, and the values of rows by machines that were trained without them.
//!
//! The machines of a fold lack a part of the rows: the problem of each is that of all rows with some
//! variables fixed at zero, and starts from its solution. So a machine is trained on all rows, then on
//! those of the folds: one after another with the rows of K that it has, or side by side where these are
//! cheap and threads would be idle. Only rows of its own classes are asked for, which is what calibration needs of it; their values are (K beta)_i + b, so that nothing is
//! left to predict.

use super::chain::scale_of;
use super::fit::{Fit, Fitted, Formulation, Part, Pose};
use super::plan::{Plan, failure, side_by_side};
use super::stage::Places;
use crate::error::{Error, Halt, Result};
use crate::kernel::Kernel;
use crate::matrix::{KernelMatrix, KernelRows, Shared};
use crate::model::{Multiclass, pairs};
use crate::qp::{Image, Monitor, Origin, Solution, Solver, seed};
use crate::simd::process::locked;
use crate::simd::{parallel, threads};
use ndarray::Array2;
use std::sync::Mutex;
use std::time::Instant;

/// The tolerance of the folds, as a multiple of that of all rows, and at the most: what a sigmoid is
/// fitted to varies by far more from one draw of the rows to the next.
const COARSER: f64 = 50.0;
const COARSEST: f64 = 0.05;

/// What holding out finds.
///
/// ```
/// # use mercer::search::HeldOut;
/// fn held_out(found: &HeldOut) -> usize {
///     found.values.as_ref().map_or(0, |values| values.nrows())
/// }
/// ```
#[derive(Debug)]
pub struct HeldOut {
    /// The machines trained on all rows; no values are asked from them.
    pub whole: Fitted,
    /// The value of each row by each machine trained without it, shape (rows, machines): NaN where the
    /// row is never held out or the machine is of other classes. None if it is not possible to train
    /// without one of the parts.
    pub values: Option<Array2<f64>>,
}

impl Plan<'_> {
    /// Trains a classifier, and with each of these parts of its rows held out.
    ///
    /// ```
    /// use mercer::formulation::{Intercept, Loss};
    /// use mercer::search::{Fit, Formulation, Plan};
    /// use mercer::{Kernel, Samples, model::{Margin, Multiclass}, qp::Solver};
    /// let samples = Samples::try_from(ndarray::array![[0.0], [1.0], [5.0], [6.0]].view())?;
    /// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
    /// let fit = Fit {
    ///     formulation: Formulation::Classifier { margin, multiclass: Multiclass::OneVsOne },
    ///     kernel: Kernel::linear(),
    ///     labels: vec![0, 0, 1, 1],
    ///     target: vec![],
    ///     cost: vec![10.0; 4],
    ///     asked: vec![],
    ///     solver: Solver::default(),
    /// };
    /// let found = Plan::new(&samples).held_out(&fit, &[vec![0, 3], vec![1]])?;
    /// let values = found.values.unwrap();
    /// assert!((values[[0, 0]] + 1.5).abs() < 1e-9); // between 1 and 5
    /// assert!((values[[1, 0]] + 0.6).abs() < 1e-9); // between 0 and 5
    /// assert!(values[[2, 0]].is_nan());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no classifier, or cannot be trained.
    pub fn held_out(&self, fit: &Fit, parts: &[Vec<usize>]) -> Result<HeldOut> {
        let Formulation::Classifier { multiclass, .. } = &fit.formulation else {
            return Err(Error::parameter("fit", "a classifier", "another machine"));
        };
        if !multiclass.has_calibration() {
            let allowed = "'ovo', 'ovr' or 'dag' where probabilities are asked for";
            return Err(Error::parameter(
                "multiclass",
                allowed,
                format!("{multiclass:?}"),
            ));
        }
        let started = Instant::now();
        let whole = fit.pose(self.samples())?;
        let without = |part: &Vec<usize>| {
            let mut fit = fit.clone();
            part.iter().for_each(|&row| fit.cost[row] = 0.0);
            fit.pose(self.samples())
        };
        let folds: Option<Vec<Pose>> = parts.iter().map(|part| without(part).ok()).collect();
        let series = Series {
            fit,
            started,
            whole: &whole,
            folds: folds.as_deref().unwrap_or_default(),
            parts,
            monitor: self.watcher(),
        };
        let work = fit
            .kernel
            .work_of_matrix(self.samples(), self.samples().rows());
        let trained = threads::call(work.saturating_mul(2), || match multiclass {
            Multiclass::OneVsRest if whole.parts.len() > 1 => self.one_matrix(&series),
            _ => self.matrices(&series),
        })?;
        let mut values = Array2::from_elem((self.samples().rows(), whole.parts.len()), f64::NAN);
        let mut solutions = Vec::with_capacity(trained.len());
        for (machine, (solution, found)) in trained.into_iter().enumerate() {
            found
                .into_iter()
                .for_each(|(row, value)| values[[row, machine]] = value);
            solutions.push(solution);
        }
        let (machines, epsilon) = fit.assemble(&whole, solutions);
        Ok(HeldOut {
            whole: Fitted {
                values: Array2::zeros((0, whole.parts.len())),
                machines,
                epsilon,
                seconds: started.elapsed().as_secs_f64(),
            },
            values: folds.map(|_| values),
        })
    }

    /// Trains machines of pairs of classes, each with a matrix of its own.
    fn matrices(&self, series: &Series) -> Result<Vec<Trained>> {
        let (kernel, samples, whole) = (&series.fit.kernel, self.samples(), series.whole);
        let bytes = self.budget();
        let shared = match whole.parts.len() {
            1 => None,
            _ => Shared::new(kernel, samples, &whole.members, bytes / 2)?,
        };
        let side = match kernel {
            Kernel::User(_) => 1,
            _ => threads::width().min(whole.parts.len()),
        };
        let train = |(machine, (i, j)): (usize, (usize, usize))| -> Result<Trained> {
            let part = &whole.parts[machine];
            let matrix = match &shared {
                Some(shared) => shared.union(&[i, j]),
                None => KernelMatrix::new(kernel, samples, part.rows().to_vec())?,
            };
            series.train(machine, &mut KernelRows::new(&matrix), bytes / 2 / side)
        };
        let pairs: Vec<_> = pairs(whole.members.len()).enumerate().collect();
        match side {
            1 => pairs.into_iter().map(train).collect(),
            _ => side_by_side(pairs, train).into_iter().collect(),
        }
    }

    /// Trains machines of one class against the rest, which have their matrix in common.
    fn one_matrix(&self, series: &Series) -> Result<Vec<Trained>> {
        let rows = series.whole.parts[0].rows().to_vec();
        let matrix = KernelMatrix::new(&series.fit.kernel, self.samples(), rows)?;
        let mut rows = KernelRows::new(&matrix);
        (0..series.whole.parts.len())
            .map(|machine| series.train(machine, &mut rows, self.budget()))
            .collect()
    }
}

/// The machine of all rows, and the rows held out with their values.
type Trained = (Solution, Vec<(usize, f64)>);

/// What is trained.
struct Series<'a> {
    fit: &'a Fit,
    started: Instant,
    whole: &'a Pose,
    folds: &'a [Pose],
    parts: &'a [Vec<usize>],
    monitor: &'a dyn Monitor,
}

/// The machine of all rows, from which those of the folds start.
struct Full {
    origin: Origin,
    image: Image,
}

impl Series<'_> {
    /// Trains one machine, on all rows and then on those of each fold.
    fn train(&self, machine: usize, rows: &mut KernelRows, bytes: usize) -> Result<Trained> {
        self.monitor.machine(machine, self.whole.parts.len());
        let part = &self.whole.parts[machine];
        let mut solver = self.fit.solver.since(self.started);
        solver.allow(bytes);
        let (solution, image) = solver.solve_from(part.problem(), rows, None, self.monitor)?;
        let full = Full {
            origin: Origin::of(part.problem(), solution.intercepts),
            image,
        };
        let matrix = rows.matrix();
        let side = match matrix.is_cheap() {
            true => threads::width().min(self.folds.len()).max(1),
            false => 1,
        };
        *solver.stop_mut() = *self.fit.solver.stop();
        let tolerance = solver.stop().tolerance;
        solver.roughly(tolerance.max(COARSEST.min(COARSER * tolerance)));
        solver.allow(bytes / side);
        // A fold that finds no rows of another begins with none.
        let spare = Mutex::new(vec![std::mem::replace(rows, KernelRows::new(matrix))]);
        let folds = (0..self.folds.len()).collect();
        let mut found = parallel::try_side_by_side(folds, side, |fold| {
            let own = locked(&spare).pop();
            let mut own = own.unwrap_or_else(|| KernelRows::new(matrix));
            let part = &self.folds[fold].parts[machine];
            let work = (&solver, &mut own);
            let values = self.hold_out((&full, &self.whole.parts[machine]), part, fold, work)?;
            locked(&spare).push(own);
            Ok(values)
        })?;
        if let Some(kept) = locked(&spare).pop() {
            *rows = kept;
        }
        found.sort_unstable_by_key(|&(fold, _)| fold);
        let values = found.into_iter().flat_map(|(_, values)| values).collect();
        Ok((part.finish(solution, matrix), values))
    }

    /// Trains a machine of a fold, and returns the rows that it lacks with their values.
    fn hold_out(
        &self,
        (full, whole): (&Full, &Part),
        part: &Part,
        fold: usize,
        (solver, rows): (&Solver, &mut KernelRows),
    ) -> Result<Vec<(usize, f64)>> {
        let (places, held) = Places::within(whole.rows(), part.rows(), &self.parts[fold]);
        let mut problem = places.put(part.problem());
        let mut image = full.image.clone();
        let possible = seed(&mut problem, &full.origin, &mut image);
        let known = possible.then_some(image);
        let (raw, image) = solver.solve_from(&problem, rows, known, self.monitor)?;
        let at: Vec<u32> = places.asked.iter().map(|&at| at as u32).collect();
        let products = match image.is_exact() {
            true => places.asked.iter().map(|&at| image.values[at]).collect(),
            false => match rows
                .matrix()
                .product(&raw.beta, &at, &|| self.monitor.stop())
            {
                Ok(products) => products,
                // Whoever stops it has no use for the values.
                Err(Halt::Stopped) => vec![f64::NAN; at.len()],
                Err(halt) => return Err(failure(&halt)),
            },
        };
        let before = places.own(&raw.beta);
        let finished = part.finish(places.own_solution(raw), rows.matrix());
        let scale = scale_of(&before, &finished.beta);
        let found = products.into_iter().map(|v| scale * v + finished.intercept);
        Ok(held.into_iter().zip(found).collect())
    }
}
