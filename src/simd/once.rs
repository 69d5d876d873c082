//! Once: a value that is made when it is first needed, without a lock.
//!
//! `OnceLock` makes others wait for the thread that makes the value. That thread may be given other
//! work that wants the same value, and in a forked child it does not exist. Here nobody waits: two
//! threads may make the same value, and one of the two is kept.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for one value.
pub(crate) struct Once<T> {
    place: AtomicPtr<T>,
    owned: PhantomData<Box<T>>,
}

impl<T> Once<T> {
    pub const fn new() -> Self {
        Once {
            place: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }

    /// Returns the value, if there is one.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the pointer is null, or comes from a box that lives as long as this place does: it
        // is never replaced, and freed by `drop` alone.
        unsafe { self.place.load(Ordering::Acquire).as_ref() }
    }
}

impl<T: Send + Sync> Once<T> {
    /// Returns the value, and makes it first if there is none. A failure leaves the place empty.
    pub fn get_or_try_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let made = Box::into_raw(Box::new(make()?));
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let kept = (self.place).compare_exchange(ptr::null_mut(), made, success, failure);
        if kept.is_err() {
            // SAFETY: `made` comes from a box, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
        // SAFETY: as in `get`; it is `made` or what another thread was faster with.
        Ok(unsafe { &*kept.map_or_else(|other| other, |_| made) })
    }
}

impl<T> Drop for Once<T> {
    fn drop(&mut self) {
        let place = *self.place.get_mut();
        if !place.is_null() {
            // SAFETY: it comes from a box, and nobody can ask for it any more.
            drop(unsafe { Box::from_raw(place) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Once").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;

    #[test]
    fn the_first_value_is_kept_and_the_others_are_dropped() {
        let (place, value) = (Once::new(), Arc::new(()));
        assert!(place.get().is_none());
        let make = || Ok::<_, Infallible>(Arc::clone(&value));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(place.get_or_try_make(make).is_ok()));
            }
        });
        assert_eq!(Arc::strong_count(&value), 2);
        drop(place);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn a_value_may_be_asked_for_while_it_is_made() {
        let place = Once::new();
        let made = place.get_or_try_make(|| {
            place.get_or_try_make(|| Ok::<_, Infallible>(1))?;
            Ok::<_, Infallible>(2)
        });
        assert_eq!(made, Ok(&1));
    }

    #[test]
    fn a_failure_leaves_the_place_empty() {
        let place = Once::new();
        assert_eq!(place.get_or_try_make(|| Err("refused")), Err("refused"));
        assert_eq!(place.get_or_try_make(|| Ok::<_, &str>(3)), Ok(&3));
    }
}
