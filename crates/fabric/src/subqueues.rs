//! Counters of the sub-queues of one queue.
//!
//! The discipline says to which sub-queue a packet belongs, and the queue's owner counts. A sub-queue that no packet
//! has reached has no counters: of a thousand hash buckets, only those in use take memory and rows.

use narrows_queue::{Dequeued, DropReason, Dropped, Enqueued, Queue};
use narrows_samples::{Histogram, SubqueueRow, SubqueueTotal};
use narrows_units::{Bytes, Duration, Instant};

/// Counters of a sub-queue.
#[derive(Clone, Debug, Default)]
struct Counters {
    arrived_packets: u64,
    arrived_bytes: u64,
    forwarded_packets: u64,
    forwarded_bytes: u64,
    dropped_overflow: u64,
    dropped_early: u64,
    dropped_forced: u64,
    dropped_bytes: u64,
    marked: u64,
    /// Queueing delays, in nanoseconds.
    delay: Histogram,
    /// Whether anything was counted since the last sample on change.
    changed: bool,
}

impl Counters {
    const fn dropped(&self) -> u64 {
        self.dropped_overflow + self.dropped_early + self.dropped_forced
    }

    /// Waiting packets. A packet that is offered and dropped by one call is counted out before the counters are read.
    const fn packets(&self) -> u64 {
        self.arrived_packets.saturating_sub(self.forwarded_packets + self.dropped())
    }

    const fn bytes(&self) -> u64 {
        self.arrived_bytes.saturating_sub(self.forwarded_bytes + self.dropped_bytes)
    }
}

/// The sub-queues of a queue; empty for a discipline with one queue.
#[derive(Clone, Debug, Default)]
pub struct Subqueues {
    labels: Vec<String>,
    list: Vec<Option<Box<Counters>>>,
}

impl Subqueues {
    /// The sub-queues of a queue.
    #[must_use]
    pub fn of(queue: &dyn Queue) -> Self {
        let labels = queue.subqueues();
        Self { list: vec![None; labels.len()], labels }
    }

    /// Whether the discipline has no sub-queues.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn counters(&mut self, subqueue: u32) -> Option<&mut Counters> {
        let counters = self.list.get_mut(subqueue as usize)?.get_or_insert_default();
        counters.changed = true;
        Some(counters)
    }

    /// Counts a packet that was offered, whatever became of it.
    pub(crate) fn offered(&mut self, enqueued: Enqueued, size: Bytes) {
        if let Some(counters) = self.counters(enqueued.subqueue) {
            counters.arrived_packets += 1;
            counters.arrived_bytes += size.as_u64();
            counters.marked += u64::from(enqueued.marked);
        }
    }

    /// Counts a packet that was dropped.
    pub(crate) fn dropped(&mut self, dropped: &Dropped) {
        let Some(counters) = self.counters(dropped.subqueue) else { return };
        match dropped.reason {
            DropReason::Overflow => counters.dropped_overflow += 1,
            DropReason::Early => counters.dropped_early += 1,
            DropReason::Forced => counters.dropped_forced += 1,
        }
        counters.dropped_bytes += dropped.packet.len().as_u64();
    }

    /// Counts a packet that leaves.
    pub(crate) fn left(&mut self, dequeued: &Dequeued, delay: Duration) {
        if let Some(counters) = self.counters(dequeued.subqueue) {
            counters.forwarded_packets += 1;
            counters.forwarded_bytes += dequeued.packet.len().as_u64();
            counters.marked += u64::from(dequeued.marked);
            counters.delay.record(delay.as_nanos());
        }
    }

    /// Sub-queues that a packet has reached, with their numbers.
    fn used(&self) -> impl Iterator<Item = (usize, &Counters)> {
        self.list.iter().enumerate().filter_map(|(number, counters)| Some((number, counters.as_deref()?)))
    }

    /// The sub-queues of queue number `queue` at one time.
    pub fn rows(&self, now: Instant, queue: usize) -> impl Iterator<Item = SubqueueRow> {
        self.used().map(move |(number, counters)| row(now, queue, number, counters))
    }

    /// The same, of those that have changed since the last call.
    pub fn changed_rows(&mut self, now: Instant, queue: usize) -> impl Iterator<Item = SubqueueRow> {
        self.list.iter_mut().enumerate().filter_map(move |(number, counters)| {
            let counters = counters.as_deref_mut().filter(|counters| counters.changed)?;
            counters.changed = false;
            Some(row(now, queue, number, counters))
        })
    }

    /// The sub-queues of queue number `queue` over the whole run, with their labels.
    pub fn totals(&self, queue: usize) -> impl Iterator<Item = (&str, SubqueueTotal)> {
        self.used().map(move |(number, counters)| {
            let total = SubqueueTotal {
                queue: queue as u64,
                subqueue: number as u64,
                arrived_packets: counters.arrived_packets,
                forwarded_bytes: counters.forwarded_bytes,
                forwarded_packets: counters.forwarded_packets,
                dropped_overflow: counters.dropped_overflow,
                dropped_early: counters.dropped_early,
                dropped_forced: counters.dropped_forced,
                marked: counters.marked,
                waiting_packets: counters.packets(),
                delay_samples: counters.delay.count(),
                delay_sum_ns: counters.delay.sum(),
                delay_max_ns: counters.delay.max(),
                delay_p50_ns: counters.delay.percentile(0.50),
                delay_p95_ns: counters.delay.percentile(0.95),
                delay_p99_ns: counters.delay.percentile(0.99),
            };
            (self.labels.get(number).map_or("", String::as_str), total)
        })
    }
}

fn row(now: Instant, queue: usize, number: usize, counters: &Counters) -> SubqueueRow {
    SubqueueRow {
        time_ns: now.as_nanos(),
        queue: queue as u64,
        subqueue: number as u64,
        bytes: counters.bytes(),
        packets: counters.packets(),
        forwarded_bytes: counters.forwarded_bytes,
        forwarded_packets: counters.forwarded_packets,
        dropped_overflow: counters.dropped_overflow,
        dropped_early: counters.dropped_early,
        dropped_forced: counters.dropped_forced,
        marked: counters.marked,
    }
}
