//! Leases of pools: each pool serves one call at a time.

use super::desk::{Desk, Event};
use crate::error::{Error, Result};
use crate::simd::memory;
use crate::simd::process::{PerProcess, locked};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pools that are kept for later calls: as many calls at once are served without making threads.
const KEPT: usize = 8;

/// Leases a pool for as long as the lease lives.
///
/// # Errors
/// If the system refuses threads.
pub(crate) fn lease(threads: usize) -> Result<Lease> {
    let kept = {
        let mut free = locked(free_pools());
        let found = free.iter().rposition(|pool| pool.size == threads);
        found.map(|at| free.remove(at))
    };
    Ok(Lease {
        pool: match kept {
            Some(pool) => Some(pool),
            None => Some(Pool::new(threads)?),
        },
        process: process::id(),
    })
}

/// Returns the pools that nobody uses, the last used last.
fn free_pools() -> &'static Mutex<Vec<Pool>> {
    static FREE: PerProcess<Mutex<Vec<Pool>>> = PerProcess::new();
    FREE.get()
}

struct Pool {
    size: usize,
    threads: ThreadPool,
    desk: Arc<Desk>,
}

impl Pool {
    fn new(size: usize) -> Result<Self> {
        // A thread that starts asks for a little memory and cannot be refused.
        memory::probe("the threads of a call")?;
        let desk = Arc::new(Desk::default());
        let served = Arc::clone(&desk);
        let threads = ThreadPoolBuilder::new()
            .num_threads(size)
            .thread_name(|index| format!("mercer-{index}"))
            .start_handler(move |_| Arc::clone(&served).serve())
            .build()
            .map_err(|source| Error::System {
                what: "threads",
                source: source.into(),
            })?;
        // Wait until all have started and looked for work once: nothing is made for the first time
        // later, when there may be no memory or another thread forks.
        threads.broadcast(|_| ());
        Ok(Pool {
            size,
            threads,
            desk,
        })
    }
}

/// Why work on a lease has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work, or something done while waiting for it, panicked.
    Panicked,
    /// This is a child that was forked by the thread that waited: the workers are its parent's.
    Forked,
}

/// A pool for one call.
pub(crate) struct Lease {
    /// `None` only while it is given back.
    pool: Option<Pool>,
    process: u32,
}

impl Lease {
    fn pool(&self) -> &Pool {
        self.pool.as_ref().expect("given back on drop alone")
    }

    /// Does work on the pool. Nobody does its errands.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool().threads.install(work)
    }

    /// Does work on the pool, while this thread does its errands and calls `look` at intervals.
    ///
    /// # Errors
    /// If the work or `look` panics, or an errand forks and this is the child.
    pub fn run<R: Send>(
        &mut self,
        interval: Duration,
        mut look: impl FnMut(),
        work: impl FnOnce() -> R + Send,
    ) -> std::result::Result<R, Failure> {
        let pool = self.pool();
        let result = Mutex::new(None);
        pool.desk.open();
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(|| {
            let desk = Arc::clone(&pool.desk);
            *locked(&result) = catch_unwind(AssertUnwindSafe(work)).ok();
            desk.close();
        });
        // SAFETY: the job outlives none of its borrows. It uses them until it closes the desk, and
        // this function returns only when it has seen the desk closed; nothing in between unwinds.
        // In a forked child, where it returns earlier, no thread has the job.
        let job: Box<dyn FnOnce() + Send + 'static> = unsafe { mem::transmute(job) };
        pool.threads.spawn(job);
        let mut panicked = false;
        loop {
            match pool.desk.wait(interval) {
                Event::Errand(errand) => errand(),
                Event::Nothing => panicked |= catch_unwind(AssertUnwindSafe(&mut look)).is_err(),
                Event::Ended => break,
            }
            if process::id() != self.process {
                return Err(Failure::Forked);
            }
        }
        let result = result.into_inner().ok().flatten();
        result.filter(|_| !panicked).ok_or(Failure::Panicked)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let pool = self.pool.take();
        if process::id() != self.process {
            // Ending threads that do not exist would wait for them.
            mem::forget(pool);
            return;
        }
        let mut free = locked(free_pools());
        free.extend(pool);
        let oldest = (free.len() > KEPT).then(|| free.remove(0));
        drop(free);
        drop(oldest); // its threads end by themselves
    }
}

#[cfg(test)]
mod tests {
    use super::super::on_caller;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, ThreadId};

    const OFTEN: Duration = Duration::from_millis(1);

    fn leased(threads: usize) -> Lease {
        lease(threads).expect("threads")
    }

    fn workers(lease: &Lease) -> Vec<ThreadId> {
        lease.pool().threads.broadcast(|_| thread::current().id())
    }

    #[test]
    fn a_pool_serves_one_call_at_a_time_and_then_another() {
        // A size that no other test asks for.
        let (first, second) = (leased(5), leased(5));
        let (a, b) = (workers(&first), workers(&second));
        assert!(a.iter().all(|thread| !b.contains(thread)));
        drop(first);
        assert_eq!(workers(&leased(5)), a);
    }

    #[test]
    fn a_call_inside_a_call_has_a_pool_of_its_own() {
        fn depth(left: usize) -> usize {
            let mut lease = leased(1);
            let inner = move || if left > 0 { depth(left - 1) } else { 0 };
            let done = lease.run(OFTEN, || {}, || 1 + on_caller(inner));
            done.expect("no panic")
        }
        assert_eq!(depth(3), 4);
    }

    #[test]
    fn the_caller_does_errands_while_it_waits() {
        let here = thread::current().id();
        let mut lease = leased(2);
        let places = lease.run(
            OFTEN,
            || {},
            || {
                let own = thread::current().id();
                (own, on_caller(|| thread::current().id()))
            },
        );
        let (own, errand) = places.expect("no panic");
        assert_ne!(own, here);
        assert_eq!(errand, here);
        // Nobody waits for what is installed.
        let (own, errand) = lease.install(|| {
            let own = thread::current().id();
            (own, on_caller(|| thread::current().id()))
        });
        assert_eq!(own, errand);
    }

    #[test]
    fn the_caller_looks_around_at_intervals() {
        let (looks, enough) = (AtomicUsize::new(0), 3);
        let look = || {
            looks.fetch_add(1, Ordering::SeqCst);
        };
        let work = || {
            while looks.load(Ordering::SeqCst) < enough {
                thread::yield_now();
            }
            "done"
        };
        assert_eq!(leased(1).run(OFTEN, look, work).expect("no panic"), "done");
    }

    #[test]
    fn a_panic_ends_the_call_and_leaves_the_pool_usable() {
        let mut lease = leased(2);
        let mut panics = [0; 3];
        for (at, panics) in panics.iter_mut().enumerate() {
            let look = || assert_ne!(at, 0, "expected by the test");
            let work = || {
                thread::sleep(10 * OFTEN);
                assert_ne!(at, 1, "expected by the test");
                on_caller(move || assert_ne!(at, 2, "expected by the test"));
            };
            *panics += usize::from(matches!(
                lease.run(OFTEN, look, work),
                Err(Failure::Panicked)
            ));
        }
        assert_eq!(panics, [1; 3]);
        assert_eq!(lease.run(OFTEN, || {}, || 7).expect("no panic"), 7);
    }

    #[test]
    fn few_idle_pools_are_kept() {
        let leases: Vec<Lease> = (0..2 * KEPT).map(|_| leased(1)).collect();
        drop(leases);
        assert!(locked(free_pools()).len() <= KEPT);
    }
}
