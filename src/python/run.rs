//! Running a computation on a thread pool while the calling thread watches for signals.

use crate::qp::{Monitor, Progress};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// How long the calling thread sleeps between two looks for signals.
const POLL: Duration = Duration::from_millis(40);
/// Looks for signals between two calls of the progress function: about ten a second.
const POLLS_PER_PROGRESS: u32 = 2;

/// What the workers are asked to poll, and where they leave their progress.
#[derive(Default)]
pub(super) struct Watch {
    stop: AtomicBool,
    last: Mutex<Last>,
}

#[derive(Clone, Copy, Default)]
struct Last {
    machine: usize,
    machines: usize,
    progress: Option<Progress>,
}

impl Watch {
    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Watch {
    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn machine(&self, index: usize, of: usize) {
        let mut last = self.last();
        (last.machine, last.machines) = (index, of);
    }

    fn progress(&self, progress: &Progress) {
        self.last().progress = Some(*progress);
    }
}

/// Runs `work` on a pool of `n_threads` with the GIL released. A signal whose handler raises, or a
/// progress function that raises, makes the workers stop and the exception propagate.
pub(super) fn interruptible<R: Send>(
    py: Python,
    n_threads: usize,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<R> {
    let pool = pool(n_threads)?;
    let watch = Watch::default();
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let watch = &watch;
            let worker = std::thread::Builder::new()
                .name("mercer".into())
                .spawn_scoped(scope, {
                    move || {
                        let result = pool.install(|| work(watch));
                        drop(done); // wakes the waiting thread, as a panic does
                        result
                    }
                })?;
            let mut raised = None;
            let mut polls = 0;
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                polls += 1;
                let progress = progress
                    .as_ref()
                    .filter(|_| polls % POLLS_PER_PROGRESS == 0);
                if raised.is_none()
                    && let Err(error) = look(watch, progress)
                {
                    watch.stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            let result = worker.join();
            match (raised, result) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => Ok(result),
                (None, Err(_)) => Err(PyRuntimeError::new_err(
                    "internal error: the core panicked; please report it",
                )),
            }
        })
    })
}

/// Handles pending signals and tells the progress.
fn look(watch: &Watch, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let last = *watch.last();
        if let (Some(function), Some(now)) = (progress, last.progress) {
            let (machine, machines) = (last.machine, last.machines);
            function.call1(
                py,
                (machine, machines, now.iterations, now.gap, now.seconds),
            )?;
        }
        Ok(())
    })
}

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Returns the pool of a size, made on first use; a forked child, in which the threads of the
/// parent do not exist, makes its own.
fn pool(n_threads: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Default::default);
    if n_threads == 0 {
        return Err(PyValueError::new_err("n_jobs must not be 0"));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), n_threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(n_threads)
        .thread_name(|index| format!("mercer-{index}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("n_jobs={n_threads}: {error}")))?;
    let pool = Arc::new(pool);
    pools.insert(key, Arc::clone(&pool));
    Ok(pool)
}
