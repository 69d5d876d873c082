//! Session: a fit as it goes, with who watches it, what it starts from and what it leaves behind.
//!
//! Every machine of every kind is solved by [`Session::solve`]: it starts from where the machine of the
//! same place stood at the end of the last fit, if there was one, and takes note of where it stands now,
//! however that ends. Whatever has changed since, the start is feasible, so the solution is that of a fit
//! from nothing, to the tolerance.
//!
//! These types are public because a sealed trait names them; the module is not.

use crate::error::Result;
use crate::matrix::KernelRows;
use crate::qp::{DualProblem, Footing, Monitor, Solution, Solver};
use crate::simd::process::locked;
use std::borrow::Cow;
use std::sync::Mutex;

/// What the machines of a fit have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// There is only one.
    Single,
    /// Each is of a pair of classes.
    Pairs,
    /// Each is of a class and the rest.
    Rest,
    /// Each is of a fork of a tree.
    Tree,
    /// Each is of a target of its own.
    Columns,
}

/// Which machine of a fit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub strategy: Strategy,
    pub machine: usize,
    pub of: usize,
}

impl Place {
    /// That of the only machine.
    pub const ONLY: Place = Place {
        strategy: Strategy::Single,
        machine: 0,
        of: 1,
    };
}

/// Where the machines of a fit stood at its end.
#[derive(Clone, Debug, Default)]
pub struct Past {
    machines: Vec<(Place, Footing)>,
}

impl Past {
    /// Takes note of where a machine stands.
    pub(crate) fn note(&mut self, place: Place, footing: Footing) {
        self.machines.push((place, footing));
    }

    /// Returns what is known of each machine.
    #[cfg(feature = "python")]
    pub(crate) fn machines(&self) -> &[(Place, Footing)] {
        &self.machines
    }

    /// Lets the kernel or the rows be others: only coefficients count from here on.
    pub fn doubt_images(&mut self) {
        let footings = self.machines.iter_mut();
        footings.for_each(|(_, footing)| footing.doubt_image());
    }

    /// Gives the rows other numbers; None for rows that were left out of the fit.
    pub fn renumber(&mut self, number: &dyn Fn(usize) -> Option<usize>) {
        let footings = self.machines.iter_mut();
        footings.for_each(|(_, footing)| footing.renumber(number));
    }

    fn of(&self, place: Place) -> Option<&Footing> {
        let mut machines = self.machines.iter();
        let found = machines.find(|(other, _)| *other == place);
        found.map(|(_, footing)| footing)
    }
}

/// A fit as it goes.
pub struct Session<'a> {
    pub monitor: &'a dyn Monitor,
    before: Option<&'a Past>,
    /// What it leaves behind, if that is wanted.
    after: Option<Mutex<Past>>,
}

impl<'a> Session<'a> {
    /// Begins a fit from nothing, of which nothing is kept.
    pub fn watched(monitor: &'a dyn Monitor) -> Self {
        Session {
            monitor,
            before: None,
            after: None,
        }
    }

    /// Begins a fit from where the last one ended, to be gone on with.
    pub fn from(monitor: &'a dyn Monitor, past: &'a Past) -> Self {
        Session {
            monitor,
            before: Some(past),
            after: Some(Mutex::default()),
        }
    }

    /// Returns what the next fit may start from.
    pub fn into_past(self) -> Option<Past> {
        let past = self.after?.into_inner();
        Some(past.unwrap_or_else(|poison| poison.into_inner()))
    }

    /// Solves the problem of a machine, over these rows of the samples.
    pub fn solve(
        &self,
        place: Place,
        solver: &Solver,
        problem: &DualProblem,
        rows: &[usize],
        kernel_rows: &mut KernelRows,
    ) -> Result<Solution> {
        self.monitor.machine(place.machine, place.of);
        let mut problem = Cow::Borrowed(problem);
        let mut image = None;
        if let Some(footing) = self.before.and_then(|past| past.of(place)) {
            let (matrix, stop) = (kernel_rows.matrix(), || self.monitor.stop());
            image = footing.seed(problem.to_mut(), rows, matrix, &stop)?;
        }
        let (solution, image) = solver.solve_from(&problem, kernel_rows, image, self.monitor)?;
        if let Some(past) = &self.after {
            let footing = Footing::new(rows, &problem, &solution, image);
            locked(past).note(place, footing);
        }
        self.monitor.done(place.machine, place.of);
        Ok(solution)
    }
}
