//! Parts of a computation, one after another where it is small, on all threads where it is not.

use super::process::locked;
use super::threads;
use crate::error::{Halt, Polled, Result, Stop, poll};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Multiplications below which threads cost more than they bring: waking one takes some ten microseconds.
const SERIAL_WORK: usize = 1 << 19;

/// Does `task` for every part, each thread with a scratch of its own that it reuses from part to
/// part. `work` counts the multiplications of all parts together, roughly.
///
/// Which thread does which part is left open, so `task` may depend on nothing but its part. The
/// request to stop is polled before each part.
pub(crate) fn try_for_each<P: Send, S: Default>(
    parts: Vec<P>,
    work: usize,
    stop: Stop,
    task: impl Fn(&mut S, P) -> Polled<()> + Send + Sync,
) -> Polled<()> {
    let polled = |scratch: &mut S, part: P| {
        poll(stop)?;
        task(scratch, part)
    };
    if work < SERIAL_WORK || parts.len() < 2 || threads::width() < 2 {
        let mut scratch = S::default();
        return parts
            .into_iter()
            .try_for_each(|part| polled(&mut scratch, part));
    }
    threads::pooled(|| parts.into_par_iter().try_for_each_init(S::default, polled))
}

/// Does `task` for every part of a computation that is too short to be stopped.
pub(crate) fn for_each<P: Send, S: Default>(
    parts: Vec<P>,
    work: usize,
    task: impl Fn(&mut S, P) + Send + Sync,
) {
    let done = try_for_each(parts, work, &|| false, |scratch, part| {
        task(scratch, part);
        Ok(())
    });
    debug_assert!(!matches!(done, Err(Halt::Failed(_))), "no part fails");
}

/// Does jobs in their order, up to `at_a_time` of them side by side. What a job does in parallel has the
/// threads that find no other job. No job is begun after one has failed.
///
/// Each job is begun by a loop that ends with the last of them: a thread that waits for a part of its own
/// job never begins another, so no more than `at_a_time` are ever under way.
pub(crate) fn try_side_by_side<R: Send>(
    jobs: Vec<usize>,
    at_a_time: usize,
    run: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<(usize, R)>> {
    if at_a_time < 2 {
        let run = |job| Ok((job, run(job)?));
        return jobs.into_iter().map(run).collect();
    }
    let results = Mutex::new(Vec::with_capacity(jobs.len()));
    let queue = Mutex::new(jobs.into_iter());
    let one_after_another = |_: &rayon::Scope| loop {
        let next = locked(&queue).next();
        let Some(job) = next else { return };
        let result = run(job);
        if result.is_err() {
            locked(&queue).by_ref().for_each(drop);
        }
        locked(&results).push(result.map(|result| (job, result)));
    };
    threads::pooled(|| {
        rayon::scope(|scope| (0..at_a_time).for_each(|_| scope.spawn(one_after_another)));
    });
    let results = results.into_inner();
    results
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_part_is_done_once_whatever_the_work() {
        for work in [0, usize::MAX] {
            let mut numbers = vec![0usize; 1000];
            let parts: Vec<_> = numbers.iter_mut().enumerate().collect();
            for_each(parts, work, |_: &mut (), (at, number)| *number += at);
            assert!(numbers.iter().enumerate().all(|(at, &number)| at == number));
        }
    }

    #[test]
    fn jobs_side_by_side_are_each_done_once_and_never_more_at_a_time() {
        for at_a_time in [1, 2, 3] {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let run = |job: usize| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let sum = AtomicUsize::new(0);
                for_each((0..100).collect(), usize::MAX, |_: &mut (), part: usize| {
                    sum.fetch_add(part, Ordering::SeqCst);
                });
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(job * sum.into_inner())
            };
            let found = try_side_by_side((0..50).rev().collect(), at_a_time, run);
            let mut found = found.expect("no job fails");
            found.sort_unstable();
            let expected: Vec<_> = (0..50).map(|job| (job, job * 4950)).collect();
            assert_eq!(found, expected);
            assert!(most.into_inner() <= at_a_time);
        }
    }

    #[test]
    fn a_job_that_fails_is_the_last() {
        for at_a_time in [1, 2] {
            let begun = AtomicUsize::new(0);
            let fail = |_| {
                begun.fetch_add(1, Ordering::SeqCst);
                Err::<(), _>(Error::Exhausted)
            };
            let result = try_side_by_side((0..100).collect(), at_a_time, fail);
            assert!(matches!(result, Err(Error::Exhausted)));
            assert!(begun.into_inner() <= at_a_time);
        }
    }

    #[test]
    fn a_request_to_stop_is_noticed_before_the_next_part() {
        for work in [0, usize::MAX] {
            let done = AtomicUsize::new(0);
            let stop = || done.load(Ordering::SeqCst) >= 5;
            let result = try_for_each(vec![(); 10_000], work, &stop, |_: &mut (), ()| {
                done.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            assert!(matches!(result, Err(Halt::Stopped)));
            // Each thread finishes at most the part it had begun.
            assert!(done.into_inner() <= 5 + threads::available());
        }
    }
}
