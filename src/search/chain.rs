//! Chain: fits one after another, each starting from the solution of the last.

use super::fit::{Fit, Fitted, Formulation, Part};
use super::stage::{Places, Stage};
use crate::error::{Result, unless_stopped};
use crate::matrix::{KernelMatrix, KernelRows};
use crate::qp::{Image, Monitor, Origin, Solution, Solver, seed};
use ndarray::Array2;
use std::time::Instant;

/// What is known of the last solution of a machine.
#[derive(Clone)]
struct Last {
    places: Places,
    origin: Origin,
    image: Image,
}

/// Fits on one stage.
pub(super) struct Chain<'a> {
    stage: &'a Stage<'a>,
    /// The last solution of each machine.
    last: Vec<Option<Last>>,
    bytes: usize,
    monitor: &'a dyn Monitor,
}

impl<'a> Chain<'a> {
    /// Begins a chain in which a solve may take so many bytes for rows.
    pub fn new(stage: &'a Stage<'a>, bytes: usize, monitor: &'a dyn Monitor) -> Self {
        Chain {
            stage,
            last: Vec::new(),
            bytes,
            monitor,
        }
    }

    /// Begins a chain that starts from where this one is.
    pub fn branch(&self) -> Self {
        Chain {
            last: self.last.clone(),
            ..*self
        }
    }

    /// Fits, starting from the last solution if there is one.
    ///
    /// # Errors
    /// If the fit is not possible: see [`Fit::pose`].
    pub fn fit(&mut self, fit: &Fit) -> Result<Fitted> {
        let started = Instant::now();
        let pose = fit.pose(self.stage.samples())?;
        if self.last.len() != pose.parts.len() {
            self.last.clear();
            self.last.resize_with(pose.parts.len(), || None);
        }
        let mut values = Array2::zeros((fit.asked.len(), pose.parts.len()));
        let mut solutions = Vec::with_capacity(pose.parts.len());
        for (machine, part) in pose.parts.iter().enumerate() {
            self.monitor.machine(machine, pose.parts.len());
            let family = fit.family(part.rows());
            let places = self.stage.places(part.rows(), &fit.asked, &family);
            let solver = self.solver(fit, &places, started);
            let matrix = self.stage.matrix(&places)?;
            let (raw, image) = self.solve(machine, part, &places, &matrix, solver)?;
            let beta = raw.beta.clone();
            let finished = part.finish(places.own_solution(raw), &matrix);
            let asked = Asked {
                fit,
                stage: self.stage,
                places: &places,
                matrix: &matrix,
                beta: &beta,
                image: &image,
                finished: &finished,
            };
            let column = values.column_mut(machine);
            column
                .into_iter()
                .zip(asked.values(self.monitor)?)
                .for_each(|(v, value)| *v = value);
            solutions.push(finished);
        }
        let (machines, epsilon) = fit.assemble(&pose, solutions);
        Ok(Fitted {
            machines,
            epsilon,
            values,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    /// Returns the solver for a problem with these places.
    fn solver(&self, fit: &Fit, places: &Places, started: Instant) -> Solver {
        let mut solver = fit.solver.since(started);
        solver.allow(self.bytes);
        if let (Solver::Smo(smo), true) = (&mut solver, places.is_lent()) {
            // Rows are read where they lie, in their order.
            smo.shrinking = false;
        }
        solver
    }

    /// Solves the problem of a machine, over all of its places.
    fn solve(
        &mut self,
        machine: usize,
        part: &Part,
        places: &Places,
        matrix: &KernelMatrix,
        solver: Solver,
    ) -> Result<(Solution, Image)> {
        let mut problem = places.put(part.problem());
        let mut image = None;
        if let Some(last) = self.last[machine].take()
            && last.places.rows == places.rows
        {
            let mut known = last.image;
            if seed(&mut problem, &last.origin, &mut known) {
                image = Some(known);
            }
        }
        let mut rows = KernelRows::new(matrix);
        let (solution, image) = solver.solve_from(&problem, &mut rows, image, self.monitor)?;
        self.last[machine] = Some(Last {
            places: places.clone(),
            origin: Origin::of(&problem, solution.intercepts),
            image: image.clone(),
        });
        Ok((solution, image))
    }
}

/// Decision values that are asked for.
struct Asked<'a> {
    fit: &'a Fit,
    stage: &'a Stage<'a>,
    places: &'a Places,
    matrix: &'a KernelMatrix<'a>,
    /// The coefficients on the stage, and their image.
    beta: &'a [f64],
    image: &'a Image,
    /// The machine made of them.
    finished: &'a Solution,
}

impl Asked<'_> {
    /// Returns the values: from the image where only their sign is of use and that is certain, else
    /// computed in f64. Whoever stops it has no use for them.
    fn values(&self, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let scale = scale_of(&self.places.own(self.beta), &self.finished.beta);
        let value = |product: f64| scale * product + self.finished.intercept;
        let signs = matches!(self.fit.formulation, Formulation::Classifier { .. });
        let mut values = vec![0.0; self.places.asked.len()];
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (i, &at) in self.places.asked.iter().enumerate() {
            let (known, error) = (self.image.values[at], self.image.errors[at]);
            match signs && value(known).abs() > scale * error {
                true => values[i] = value(known),
                false => open.push((i, at as u32)),
            }
        }
        let stop = || monitor.stop();
        let at: Vec<u32> = open.iter().map(|&(_, at)| at).collect();
        let exact = unless_stopped(self.matrix.product(self.beta, &at, &stop))?;
        for (&(i, _), exact) in open.iter().zip(exact.into_iter().flatten()) {
            values[i] = value(exact);
        }
        let outside = &self.places.outside;
        if outside.is_empty() {
            return Ok(values);
        }
        let exact = self.stage.product(self.places, self.beta, outside, &stop);
        let exact = unless_stopped(exact)?.unwrap_or_else(|| vec![0.0; outside.len()]);
        Ok(self.merged(values, exact.into_iter().map(value).collect()))
    }

    /// Returns the values of all rows asked for, in order, from those inside and those outside.
    fn merged(&self, inside: Vec<f64>, outside: Vec<f64>) -> Vec<f64> {
        let (mut inside, mut outside) = (inside.into_iter(), outside.into_iter());
        let mut rows = self.places.outside.iter().peekable();
        let next = |row: &usize| match rows.next_if_eq(&row) {
            Some(_) => outside.next(),
            None => inside.next(),
        };
        let values = self.fit.asked.iter().map(next);
        values
            .map(|value| value.expect("each row is in one of them"))
            .collect()
    }
}

/// Returns what coefficients were multiplied by to make a machine of them.
pub(super) fn scale_of(before: &[f64], after: &[f64]) -> f64 {
    let pairs = before.iter().zip(after);
    let largest = pairs.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    match largest {
        Some((before, after)) if *before != 0.0 => after / before,
        _ => 1.0,
    }
}
