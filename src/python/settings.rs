//! How a fit is done, whatever is fitted.

use super::run::{self, Scale};
use crate::data::Samples;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::fair_share;
use crate::qp::{Adatron, Interior, LearningRule, Npa, Order, Smo, Solver, StopRule};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Values of a kernel matrix that is small: one large call takes less than many that ask for a part.
const SMALL_MATRIX: usize = 1 << 20;

#[pyclass(name = "Settings", module = "mercer._core", frozen)]
pub(super) struct PySettings {
    pub solver: Solver,
    n_threads: usize,
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl PySettings {
    #[new]
    #[pyo3(signature = (*, solver, eta, tol, shrinking, cache_bytes, max_iter, max_time, n_threads, progress=None, order="alternating", mu=None, stop="gap"))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments
    fn new(
        solver: &str,
        eta: f64,
        tol: f64,
        shrinking: bool,
        cache_bytes: Option<usize>,
        max_iter: i64,
        max_time: Option<f64>,
        n_threads: usize,
        progress: Option<Py<PyAny>>,
        order: &str,
        mu: Option<f64>,
        stop: &str,
    ) -> PyResult<Self> {
        let settle = settles(stop)?;
        let stop = StopRule {
            tolerance: tol,
            max_iterations: u64::try_from(max_iter).ok(),
            time_limit: time_limit(max_time)?,
        };
        let adatron = Adatron {
            stop,
            eta,
            order: order_named(order)?,
            mu,
            settle,
            rule: match solver {
                "perceptron" => LearningRule::Perceptron,
                "minover" => LearningRule::MinOver,
                _ => LearningRule::Adatron,
            },
            cache_bytes,
        };
        // Refused whichever solver there is.
        adatron.check_eta()?;
        let solver = solver_named(solver, adatron, shrinking)?;
        Ok(PySettings {
            solver,
            n_threads,
            progress,
        })
    }

    /// Tells whether the whole kernel matrix of so many rows is to be computed beforehand: several
    /// machines would ask for most of it more than once, or it is small; it fits into half of the
    /// memory for kernel values, and no clock could stop the fit meanwhile.
    fn holds_matrix(&self, rows: usize, machines: usize) -> bool {
        let mut solver = self.solver;
        let bytes = solver.cache_bytes_mut().unwrap_or_else(fair_share);
        let values = rows.saturating_mul(rows);
        (machines > 1 || values <= SMALL_MATRIX)
            && values.saturating_mul(size_of::<f64>()) <= bytes / 2
            && self.solver.stop().time_limit.is_none()
    }
}

impl PySettings {
    /// Runs a fit to these samples on the threads asked for.
    pub fn run<R: Send>(
        &self,
        py: Python,
        kernel: &Kernel,
        samples: &Samples,
        fit: impl FnOnce(&run::Watch) -> crate::Result<R> + Send,
    ) -> PyResult<R> {
        self.run_many(py, kernel, samples, 1, fit)
    }

    /// Runs so many fits to these samples on the threads asked for.
    pub fn run_many<R: Send>(
        &self,
        py: Python,
        kernel: &Kernel,
        samples: &Samples,
        fits: usize,
        fit: impl FnOnce(&run::Watch) -> crate::Result<R> + Send,
    ) -> PyResult<R> {
        match self.run_stoppable(py, kernel, samples, fits, fit)? {
            (result, None) => Ok(result),
            (_, Some(raised)) => Err(raised),
        }
    }

    /// Does the same, and returns what a fit has found by the time it was stopped, with the exception.
    pub fn run_stoppable<R: Send>(
        &self,
        py: Python,
        kernel: &Kernel,
        samples: &Samples,
        fits: usize,
        fit: impl FnOnce(&run::Watch) -> crate::Result<R> + Send,
    ) -> PyResult<(R, Option<PyErr>)> {
        let progress = self
            .progress
            .as_ref()
            .map(|function| function.clone_ref(py));
        let rows = samples.rows();
        let work = kernel.work_of_matrix(samples, rows).saturating_mul(fits);
        let scale = Scale {
            n_threads: self.n_threads,
            rows,
            work: match self.n_threads {
                1 => work,
                _ => work / ALONE,
            },
        };
        let started = Instant::now();
        let (result, raised) = run::stoppable(py, scale, progress, fit)?;
        if started.elapsed() > LONG {
            py.detach(return_memory);
        }
        match (result, raised) {
            (Err(_), Some(raised)) => Err(raised),
            (result, raised) => Ok((result?, raised)),
        }
    }
}

/// Returns a solver with the limits of this one.
fn solver_named(name: &str, adatron: Adatron, shrinking: bool) -> PyResult<Solver> {
    let Adatron {
        stop, cache_bytes, ..
    } = adatron;
    match name {
        "smo" | "interior" => Ok(Solver::Smo(Smo {
            stop,
            shrinking,
            cache_bytes,
            interior: match name {
                "smo" => Interior::Auto,
                _ => Interior::Always,
            },
            ..Smo::default()
        })),
        "adatron" | "perceptron" | "minover" => Ok(Solver::Adatron(adatron)),
        "npa" => Ok(Npa::new().stop(stop).cache_bytes(cache_bytes).into()),
        _ => {
            let allowed = "'smo', 'interior', 'adatron' or 'npa'";
            Err(Error::parameter("solver", allowed, name).into())
        }
    }
}

fn order_named(name: &str) -> PyResult<Order> {
    match name {
        "alternating" => Ok(Order::Alternating),
        "cyclic" => Ok(Order::Cyclic),
        "random" => Ok(Order::Random),
        _ => {
            let allowed = "'alternating', 'cyclic' or 'random'";
            Err(Error::parameter("order", allowed, name).into())
        }
    }
}

/// Tells whether the Adatron stops when margin and intercept have settled.
fn settles(stop: &str) -> PyResult<bool> {
    match stop {
        "gap" => Ok(false),
        "margin" => Ok(true),
        _ => Err(Error::parameter("stop", "'gap' or 'margin'", stop).into()),
    }
}

/// How many times as large as other calls a fit may be to run on the thread that called, however many it
/// may use: its steps follow one another, and 5 ms of them were no faster on two threads.
const ALONE: usize = 64;

/// How long a fit takes after which it is worth some milliseconds to return its memory.
const LONG: Duration = Duration::from_secs(1);

/// Returns freed memory to the system: thousands of kernel rows leave holes that the allocator would
/// otherwise keep, 45 MB after a fit on 60000 images.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_memory() {
    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> std::ffi::c_int;
    }
    // SAFETY: glibc's function takes any number, may be called by any thread at any time, and
    // touches only memory that is free.
    unsafe { malloc_trim(0) };
}

/// Other allocators look after themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_memory() {}

/// Returns a limit in seconds as a duration; longer than the clock can tell is no limit.
fn time_limit(max_time: Option<f64>) -> PyResult<Option<Duration>> {
    match max_time {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 => Ok(Duration::try_from_secs_f64(seconds).ok()),
        Some(seconds) => Err(Error::parameter("max_time", "positive", seconds).into()),
    }
}
