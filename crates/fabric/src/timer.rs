//! The timer of a queue discipline, as the owner of its queue keeps it.

use narrows_queue::Queue;
use narrows_units::{Duration, Instant};

/// When a queue's timer fires next.
///
/// Queues without a timer cost one comparison with [`Instant::NEVER`] a look, and no call.
#[derive(Clone, Copy, Debug)]
pub struct QueueTimer {
    at: Instant,
    /// Whether the discipline has a timer at all.
    exists: bool,
}

impl QueueTimer {
    /// The timer of an empty queue.
    #[must_use]
    pub fn new(queue: &dyn Queue) -> Self {
        let first = queue.next_timer();
        Self { at: first.unwrap_or(Instant::NEVER), exists: first.is_some() }
    }

    /// When it fires; [`Instant::NEVER`] if it does not run.
    #[inline]
    #[must_use]
    pub const fn at(&self) -> Instant {
        self.at
    }

    /// Whether the discipline has a timer.
    #[inline]
    #[must_use]
    pub const fn exists(&self) -> bool {
        self.exists
    }

    /// Asks the queue again, after a change of its rate at `now`: a timer that is due then still comes.
    pub fn read_after_change(&mut self, queue: &dyn Queue, now: Instant) {
        if self.exists {
            self.at = queue.next_timer().unwrap_or(Instant::NEVER).max(now);
        }
    }

    /// Asks the queue again, after another call at `now`.
    #[inline]
    pub fn read(&mut self, queue: &dyn Queue, now: Instant) {
        if self.exists {
            // Later than now: a discipline that asks for the past would be called for ever.
            let next = queue.next_timer().unwrap_or(Instant::NEVER);
            self.at = next.max(now + Duration::from_nanos(1));
        }
    }
}
