//! Threads: where work runs, and pools that are leased for the time of a call.
//!
//! - Inside a worker of any pool, work stays in that pool: who calls from `ThreadPool::install`
//!   decides.
//! - Inside [`serially`] it stays on the thread.
//! - Otherwise it gets a leased pool of [`available`] threads, if it is large enough to gain by one.
//!   A call as a whole is put into one ([`call`]); what is called without goes there piece by piece.
//!
//! A call has a pool of its own while it runs, so that a call inside a call, or beside it, never
//! waits for a worker of another. Pools are kept for later calls, and belong to the process that
//! made them: a forked child makes its own. Rayon's global pool is never used, because it survives a
//! fork as a pool without workers.

mod desk;
mod lease;

pub(crate) use desk::on_caller;
pub(crate) use lease::{Failure, lease};

use super::process::Recent;
use std::cell::Cell;
use std::num::NonZero;
use std::time::Duration;

/// Multiplications below which a call is not worth waking a thread.
pub(crate) const SMALL_CALL: usize = 1 << 20;

thread_local! {
    /// Whether the work of this thread stays on it.
    static SERIAL: Cell<bool> = const { Cell::new(false) };
}

/// Returns how many threads a call uses by default: what `RAYON_NUM_THREADS` asks for, otherwise the
/// processors of this process.
pub(crate) fn available() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked.and_then(|text| text.parse::<usize>().ok());
    asked.filter(|&n| n > 0).unwrap_or_else(processors)
}

/// Returns the processors of this process: the standard library asks for affinity and cgroup quota.
/// That reads files and takes longer than predicting one row, so an answer holds for a second.
fn processors() -> usize {
    static PROCESSORS: Recent = Recent::new(Duration::from_secs(1));
    PROCESSORS.get(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Returns how many threads work that begins here can use.
pub(crate) fn width() -> usize {
    match (SERIAL.get(), rayon::current_thread_index()) {
        (true, _) => 1,
        (false, Some(_)) => rayon::current_num_threads(),
        (false, None) => available(),
    }
}

/// Does work, and on this thread all that it would do in parallel.
pub(crate) fn serially<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SERIAL.set(self.0);
        }
    }
    let _restore = Restore(SERIAL.replace(true));
    work()
}

/// Does a call of so many multiplications: on this thread if it is small, else inside a pool.
pub(crate) fn call<R: Send>(multiplications: usize, work: impl FnOnce() -> R + Send) -> R {
    match multiplications < SMALL_CALL {
        true => serially(work),
        false => pooled(work),
    }
}

/// Does work inside a pool: the current one, or one that is leased for the purpose. If the system
/// refuses threads, it is done on this one.
pub(crate) fn pooled<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if SERIAL.get() || rayon::current_thread_index().is_some() {
        return work();
    }
    with(available(), work)
}

/// Does work on so many threads, whatever is around. If the system refuses them, it is done on this one.
pub(crate) fn with<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    match threads {
        0 | 1 => serially(work),
        _ => match lease(threads) {
            Ok(lease) => lease.install(work),
            Err(_) => serially(work),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads")
    }

    #[test]
    fn the_width_is_that_of_the_pool_around() {
        assert_eq!(width(), available());
        assert_eq!(pool(3).install(width), 3);
        assert_eq!(serially(width), 1);
        assert_eq!(width(), available()); // no longer serial
    }

    #[test]
    fn work_stays_in_the_pool_of_who_calls() {
        let seen = pool(3).install(|| pooled(rayon::current_num_threads));
        assert_eq!(seen, 3);
    }

    #[test]
    fn asked_for_threads_are_given_inside_any_pool() {
        assert_eq!(pool(3).install(|| with(2, width)), 2);
        assert_eq!(pool(3).install(|| with(1, width)), 1);
        assert_eq!(with(3, width), 3);
    }

    #[test]
    fn serial_work_stays_on_its_thread() {
        let here = std::thread::current().id();
        let there = serially(|| pooled(|| std::thread::current().id()));
        assert_eq!(here, there);
    }

    #[test]
    fn other_work_gets_a_pool() {
        let inside = pooled(|| (rayon::current_thread_index(), width()));
        match available() {
            1 => assert_eq!(inside, (None, 1)),
            threads => assert_eq!((inside.0.is_some(), inside.1), (true, threads)),
        }
    }
}
