//! Parts of a computation, one after another where it is small, on all threads where it is not.

use super::threads;
use crate::error::{Halt, Polled, Stop, poll};
use rayon::prelude::*;

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

#[cfg(test)]
mod tests {
    use super::*;
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
