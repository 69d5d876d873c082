//! PerProcess: what belongs to the process that made it.
//!
//! A forked child has the memory of its parent and none of its threads but one: a lock that another
//! thread held is never given back, a pool has nobody to work in it. So the child begins anew, and
//! takes no lock of its parent's to find out.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A value of which every process has its own, made when it is first asked for. To be used in
/// statics: values are never dropped.
pub(crate) struct PerProcess<T> {
    current: AtomicPtr<Owned<T>>,
}

struct Owned<T> {
    process: u32,
    value: T,
}

impl<T> PerProcess<T> {
    pub const fn new() -> Self {
        PerProcess {
            current: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl<T: Default + Send + Sync> PerProcess<T> {
    /// Returns the value of this process.
    pub fn get(&self) -> &T {
        let process = process::id();
        let mut current = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: the pointer is null, or comes from a box that is never freed once it is here.
            if let Some(owned) = unsafe { current.as_ref() }
                && owned.process == process
            {
                return &owned.value;
            }
            let value = T::default();
            let made = Box::into_raw(Box::new(Owned { process, value }));
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match (self.current).compare_exchange(current, made, success, failure) {
                // The parent's stays where it is: nobody knows in which state it is.
                Ok(_) => current = made,
                Err(other) => {
                    // SAFETY: `made` comes from a box, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(made) });
                    current = other;
                }
            }
        }
    }
}

/// Returns what a mutex holds. A panic elsewhere left it whole: nobody panics while he holds one.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that takes long to find out and seldom changes: an answer holds for a while.
pub(crate) struct Recent {
    last: PerProcess<Mutex<Option<(Instant, usize)>>>,
    holds: Duration,
}

impl Recent {
    pub const fn new(holds: Duration) -> Self {
        let last = PerProcess::new();
        Recent { last, holds }
    }

    /// Returns the last answer, or a new one.
    pub fn get(&self, ask: impl FnOnce() -> usize) -> usize {
        let mut last = locked(self.last.get());
        match *last {
            Some((asked, answer)) if asked.elapsed() < self.holds => answer,
            _ => {
                let answer = ask();
                *last = Some((Instant::now(), answer));
                answer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_for_a_while() {
        static LONG: Recent = Recent::new(Duration::from_secs(3600));
        assert_eq!((LONG.get(|| 1), LONG.get(|| 2)), (1, 1));
        static SHORT: Recent = Recent::new(Duration::ZERO);
        assert_eq!((SHORT.get(|| 1), SHORT.get(|| 2)), (1, 2));
    }

    #[test]
    fn a_process_has_one_value() {
        static VALUE: PerProcess<Mutex<Vec<usize>>> = PerProcess::new();
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || VALUE.get().lock().unwrap().push(number));
            }
        });
        let mut all = VALUE.get().lock().unwrap().clone();
        all.sort_unstable();
        assert_eq!(all, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_value_of_another_process_is_left_alone() {
        static VALUE: PerProcess<Mutex<usize>> = PerProcess::new();
        // No process that runs tests has this number.
        static OTHER: Owned<Mutex<usize>> = Owned {
            process: 0,
            value: Mutex::new(7),
        };
        let other = (&raw const OTHER).cast_mut();
        VALUE.current.store(other, Ordering::Release);
        let _held = OTHER.value.lock();
        assert_eq!(*VALUE.get().lock().unwrap(), 0);
    }
}
