//! Running a call while the thread that made it watches for signals.
//!
//! A small call runs on that thread, which looks for signals whenever the work asks whether to stop.
//! Any other runs on a pool that it has for itself, and the calling thread waits: it looks for
//! signals, tells the progress, and calls Python functions for the workers
//! ([`threads::on_caller`]). A call inside such a function is a call like any other.
//!
//! A signal handler or a progress function that raises makes the work stop, and so does a progress
//! function that returns True. What the work has found until then is not lost: [`stoppable`] returns it
//! beside the exception.

use super::reserve::Reserve;
use crate::error::Error;
use crate::qp::{Monitor, Progress};
use crate::simd::memory;
use crate::simd::process::locked;
use crate::simd::threads::{self, Failure};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the calling thread goes without a look for signals.
const POLL: Duration = Duration::from_millis(40);
/// Looks for signals between two calls of the progress function: about ten a second.
const POLLS_PER_PROGRESS: u32 = 2;

/// How large a call is, and what it may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub n_threads: usize,
    pub rows: usize,
    /// Multiplications, roughly.
    pub work: usize,
}

/// How many times as large as others a call on one thread may be to run on that which called: there
/// is nothing to share, and waking another would only take time.
const ALONE: usize = 64;

impl Scale {
    /// Tells whether the work is done where it is asked for.
    fn is_small(&self) -> bool {
        let alone = if self.n_threads == 1 { ALONE } else { 1 };
        self.work < alone * threads::SMALL_CALL
    }
}

/// What the work is asked to poll, and where it leaves its progress.
pub(super) struct Watch {
    stop: AtomicBool,
    reserve: Reserve,
    last: Mutex<Last>,
    progress: Option<Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
    looks: AtomicU32,
    /// When the next look is due, if the work runs on the calling thread: nanoseconds from the start.
    due: Option<AtomicU64>,
    started: Instant,
}

#[derive(Clone, Copy, Default)]
struct Last {
    machine: usize,
    machines: usize,
    done: usize,
    progress: Option<Progress>,
}

/// How far a call is, as Python is told.
#[pyclass(name = "Progress", module = "mercer._core", frozen, get_all)]
pub(super) struct PyProgress {
    machine: usize,
    machines: usize,
    done: usize,
    iteration: u64,
    gap: f64,
    objective: f64,
    support_vectors: usize,
    seconds: f64,
}

impl Watch {
    fn new(progress: Option<Py<PyAny>>, scale: Scale, here: bool) -> PyResult<Self> {
        Ok(Watch {
            stop: AtomicBool::new(false),
            reserve: match here {
                true => Reserve::stand()?,
                false => Reserve::hold(scale.rows)?,
            },
            last: Mutex::default(),
            progress,
            raised: Mutex::default(),
            looks: AtomicU32::new(0),
            due: here.then(|| AtomicU64::new(POLL.as_nanos() as u64)),
            started: Instant::now(),
        })
    }

    /// Looks around if the work runs on the calling thread and it is time.
    fn look_if_due(&self) {
        let Some(due) = &self.due else { return };
        let now = self.started.elapsed().as_nanos() as u64;
        if now >= due.load(Ordering::Relaxed) {
            self.look();
            due.store(now + POLL.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Handles pending signals and tells the progress; an exception is a request to stop. To be called
    /// on the calling thread.
    fn look(&self) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = Python::attach(|py| self.handle(py)) {
            *locked(&self.raised) = Some(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn handle(&self, py: Python) -> PyResult<()> {
        py.check_signals()?;
        let last = *locked(&self.last);
        let looks = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(function) = &self.progress
            && looks.is_multiple_of(POLLS_PER_PROGRESS)
        {
            // Nothing is known before the first step.
            let now = last.progress;
            let now = now.unwrap_or_else(|| Progress::new(0, f64::INFINITY, 0, 0.0));
            let told = PyProgress {
                machine: last.machine,
                machines: last.machines,
                done: last.done,
                iteration: now.iterations,
                gap: now.gap,
                objective: now.objective,
                support_vectors: now.support,
                seconds: self.started.elapsed().as_secs_f64(),
            };
            if function.call1(py, (told,))?.is_truthy(py)? {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Returns the result of the work, and what is to be raised nevertheless.
    fn finish<R>(self, result: std::result::Result<R, Failure>) -> PyResult<(R, Option<PyErr>)> {
        let raised = locked(&self.raised).take();
        let spent = self.reserve.is_spent();
        drop(self.reserve); // so that there is memory for what is returned
        match (result, raised) {
            (Ok(result), Some(raised)) if !spent => Ok((result, Some(raised))),
            (_, Some(raised)) => Err(raised),
            (Err(Failure::Forked), None) => Err(PyRuntimeError::new_err(
                "this process was forked by a function that a call of its parent was waiting for: \
                 it cannot go on with that call",
            )),
            _ if spent => Err(Error::Exhausted.into()),
            (Ok(result), None) => Ok((result, None)),
            (Err(Failure::Panicked), None) => Err(PyRuntimeError::new_err(
                "internal error: the core panicked; please report it",
            )),
        }
    }
}

impl Monitor for Watch {
    fn stop(&self) -> bool {
        self.look_if_due();
        self.stop.load(Ordering::Relaxed) || self.reserve.is_spent()
    }

    fn machine(&self, index: usize, of: usize) {
        let mut last = locked(&self.last);
        (last.machine, last.machines) = (index, of);
    }

    fn done(&self, _index: usize, _of: usize) {
        locked(&self.last).done += 1;
    }

    fn progress(&self, progress: &Progress) {
        locked(&self.last).progress = Some(*progress);
    }
}

/// Does `work` with the GIL released. A signal whose handler raises, or a progress function that
/// raises, makes the work stop and the exception propagate.
pub(super) fn interruptible<R: Send>(
    py: Python,
    scale: Scale,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<R> {
    match stoppable(py, scale, progress, work)? {
        (result, None) => Ok(result),
        (_, Some(raised)) => Err(raised),
    }
}

/// Does the same, and returns what the work has found by the time it was stopped, with the exception.
pub(super) fn stoppable<R: Send>(
    py: Python,
    scale: Scale,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    if scale.n_threads == 0 {
        return Err(PyValueError::new_err("n_jobs must not be 0"));
    }
    let here = scale.is_small();
    let watch = Watch::new(progress, scale, here)?;
    if here {
        let result = py.detach(|| {
            let work = || threads::serially(|| work(&watch));
            catch_unwind(AssertUnwindSafe(work)).map_err(|_| Failure::Panicked)
        });
        return watch.finish(result);
    }
    // With the GIL, so that no other thread forks while a pool is half made.
    let mut lease = threads::lease(scale.n_threads).map_err(PyErr::from)?;
    let result = py.detach(|| lease.run(POLL, || watch.look(), || work(&watch)));
    drop(lease);
    watch.finish(result)
}

/// Makes Python objects. If there is no memory for one of them, that is a panic inside.
pub(super) fn objects<R>(make: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(make)).or_else(|panic| {
        memory::probe("the result")?;
        resume_unwind(panic)
    })
}

#[pyfunction]
pub(super) fn available_threads() -> usize {
    threads::available()
}

/// Runs a call that polls a request to stop.
pub(super) fn until<R: Send>(
    py: Python,
    scale: Scale,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> crate::Result<Option<R>> + Send,
) -> PyResult<R> {
    let result = interruptible(py, scale, None, |watch| work(&|| watch.stop()))??;
    result.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
}
