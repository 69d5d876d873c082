//! Desk: where the workers of a pool leave errands for the thread that waits for them.

use crate::simd::process::locked;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

thread_local! {
    /// The desk of the pool that this thread works in.
    static DESK: RefCell<Option<Arc<Desk>>> = const { RefCell::new(None) };
}

/// Runs something on the thread that waits for this worker's pool, or here if no thread does. What
/// panics there panics here.
pub(crate) fn on_caller<R: Send + 'static>(errand: impl FnOnce() -> R + Send + 'static) -> R {
    let desk = DESK.with_borrow(Clone::clone);
    let Some(desk) = desk.filter(|desk| desk.is_attended()) else {
        return errand();
    };
    let (answer, answered) = sync_channel(1);
    desk.leave(Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(errand));
        // The worker waits for it.
        let _ = answer.send(result);
    }));
    match answered.recv() {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => unreachable!("an errand answers whatever happens"),
    }
}

type Errand = Box<dyn FnOnce() + Send>;

/// What the waiting thread is woken for.
pub(super) enum Event {
    /// An errand to be done; it does not panic.
    Errand(Errand),
    /// The work has ended.
    Ended,
    /// The time is over.
    Nothing,
}

#[derive(Default)]
pub(super) struct Desk {
    inbox: Mutex<Inbox>,
    bell: Condvar,
}

#[derive(Default)]
struct Inbox {
    /// Whether there is work for which a thread waits here.
    attended: bool,
    errands: VecDeque<Errand>,
}

impl Desk {
    /// Makes this the desk of the current thread.
    pub fn serve(self: Arc<Self>) {
        DESK.set(Some(self));
    }

    /// Begins work for which a thread waits.
    pub fn open(&self) {
        locked(&self.inbox).attended = true;
    }

    /// Ends it.
    pub fn close(&self) {
        locked(&self.inbox).attended = false;
        self.bell.notify_all();
    }

    fn is_attended(&self) -> bool {
        locked(&self.inbox).attended
    }

    fn leave(&self, errand: Errand) {
        locked(&self.inbox).errands.push_back(errand);
        self.bell.notify_all();
    }

    /// Waits for the next event, but not longer than the given time.
    pub fn wait(&self, time: Duration) -> Event {
        let quiet = |inbox: &mut Inbox| inbox.attended && inbox.errands.is_empty();
        let waited = (self.bell).wait_timeout_while(locked(&self.inbox), time, quiet);
        let (mut inbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match inbox.errands.pop_front() {
            Some(errand) => Event::Errand(errand),
            None if inbox.attended => Event::Nothing,
            None => Event::Ended,
        }
    }
}
