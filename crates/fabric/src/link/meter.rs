//! What a direction counts.

use crate::impair::ImpairMeter;
use crate::subqueues::Subqueues;
use narrows_queue::{Dequeued, DropReason, Dropped, Enqueued, Queue};
use narrows_samples::Histogram;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// Counters of one direction, or of an interface queue; the source of [`narrows_samples::QueueTotal`].
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// Packets offered to the queue.
    pub arrived_packets: u64,
    /// Packets that left for the link.
    pub forwarded_packets: u64,
    /// IP bytes that left for the link.
    pub forwarded_bytes: u64,
    /// Dropped because there was no room.
    pub dropped_overflow: u64,
    /// Dropped by the AQM by chance.
    pub dropped_early: u64,
    /// Dropped by the AQM by rule.
    pub dropped_forced: u64,
    /// Lost on the link after the queue.
    pub corrupted: u64,
    /// Marked CE.
    pub marked: u64,
    /// Time that the link was sending.
    pub busy: Duration,
    /// Queueing delays, in nanoseconds.
    pub delay: Histogram,
    /// Most packets ever waiting.
    pub max_packets: u64,
    /// Most bytes ever waiting.
    pub max_bytes: u64,
    /// Counters of the sub-queues, if the discipline has any.
    pub subqueues: Subqueues,
    /// Counters of the link's impairments.
    pub impaired: ImpairMeter,
    /// Capacity in bits * ns up to `rate_since`.
    capacity: u128,
    rate_since: Instant,
}

impl LinkMeter {
    /// Counters at zero, for a queue with its sub-queues.
    #[must_use]
    pub fn of(queue: &dyn Queue) -> Self {
        Self { subqueues: Subqueues::of(queue), ..Self::default() }
    }

    /// Counts a packet that was offered to the queue, whatever became of it.
    #[inline]
    pub fn count_offer(&mut self, enqueued: Enqueued, size: Bytes) {
        self.marked += u64::from(enqueued.marked);
        if !self.subqueues.is_empty() {
            self.subqueues.offered(enqueued, size);
        }
    }

    /// Counts a packet that the queue, or a router agent in front of it, dropped.
    pub fn count_dropped(&mut self, dropped: &Dropped) {
        self.count_drop(dropped.reason);
        if !self.subqueues.is_empty() {
            self.subqueues.dropped(dropped);
        }
    }

    /// Counts the delay of a packet that leaves the queue; marks are counted by the caller.
    #[inline]
    pub fn count_delay(&mut self, dequeued: &Dequeued, delay: Duration) {
        self.delay.record(delay.as_nanos());
        if !self.subqueues.is_empty() {
            self.subqueues.left(dequeued, delay);
        }
    }

    /// Counts a drop for this reason.
    pub fn count_drop(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::Overflow => &mut self.dropped_overflow,
            DropReason::Early => &mut self.dropped_early,
            DropReason::Forced => &mut self.dropped_forced,
        };
        *counter += 1;
    }

    /// Adds what could be sent at `rate` up to `now`. Afterwards the rate may change.
    pub(super) fn close_capacity(&mut self, rate: Rate, now: Instant) {
        self.capacity += self.capacity_since(rate, now);
        self.rate_since = now.max(self.rate_since);
    }

    /// Lets the capacity grow again only from `end` on.
    pub(super) const fn pause_capacity(&mut self, end: Instant) {
        self.rate_since = end;
    }

    /// Bits that could have been sent from the start of the run to `end`; `rate` is that since the capacity was last
    /// closed.
    pub(super) fn capacity_bits(&self, rate: Rate, end: Instant) -> u64 {
        u64::try_from((self.capacity + self.capacity_since(rate, end)) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Bits * ns from `rate_since` to `end`.
    fn capacity_since(&self, rate: Rate, end: Instant) -> u128 {
        u128::from(rate.as_bps()) * u128::from(end.since(self.rate_since).as_nanos())
    }
}
