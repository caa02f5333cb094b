//! What a line shows: its samples, its counters and its queue.

use super::Line;
use narrows_fabric::LinkMeter;
use narrows_queue::{DropReason, QueueView};
use narrows_samples::QueueRow;
use narrows_units::{Bytes, Duration, Instant, Packets};

impl Line {
    /// Samples the line at every sampling time before `at`.
    #[cold]
    pub(super) fn look_ahead(&mut self, at: Instant) {
        while self.look_at < at {
            self.settle(self.look_at);
            let row = self.row();
            self.cold.looks.push_back(row);
            self.look_at += self.cold.look_every;
        }
    }

    /// The sample of the line at `now`, a sampling time, after all packets that came by then. The caller fills in the
    /// time and the number of the queue.
    pub(crate) fn look(&mut self, now: Instant) -> QueueRow {
        self.end_run();
        if let Some(row) = self.cold.looks.pop_front() {
            return row;
        }
        self.settle(now);
        self.look_at = now + self.cold.look_every;
        self.row()
    }

    fn row(&self) -> QueueRow {
        let meter = &self.cold.meter;
        QueueRow {
            bytes: self.waiting_bytes,
            packets: self.waiting.len() as u64,
            forwarded_bytes: self.forwarded_bytes,
            forwarded_packets: self.passed + self.left,
            dropped_overflow: meter.dropped_overflow,
            dropped_early: meter.dropped_early,
            dropped_forced: meter.dropped_forced,
            corrupted: meter.corrupted,
            ..QueueRow::default()
        }
    }

    /// Counts everything up to `now`, the end of the run, so that [`meter`](Self::meter) is complete.
    pub(crate) fn close_books(&mut self, now: Instant) {
        self.end_run();
        self.settle(now);
        self.cold.meter.delay.record_many(0, self.passed);
    }

    /// The state of the queue, valid after [`settle`](Self::settle).
    pub(crate) fn view(&self) -> QueueView {
        QueueView {
            bytes: Bytes::new(self.waiting_bytes),
            packets: Packets::new(self.waiting.len() as u64),
            limit: self.cold.limit,
            rate: self.rate,
        }
    }

    /// The counters, valid after [`close_books`](Self::close_books).
    pub(crate) fn meter(&self) -> LinkMeter {
        let mut meter = self.cold.meter.as_link_meter();
        meter.arrived_packets = self.passed + self.waited + self.cold.refused;
        meter.forwarded_packets = self.passed + self.left;
        meter.forwarded_bytes = self.forwarded_bytes;
        meter.busy = self.busy;
        meter.max_packets = self.cold.most_packets;
        meter.max_bytes = self.most_bytes;
        meter
    }

    /// When everything in the queue will have been sent, and how many packets had no room.
    pub(crate) fn backlog(&self) -> (Instant, u64) {
        (self.free_at, self.cold.refused)
    }

    /// Counts a packet that a router agent dropped in front of the queue.
    pub(crate) fn refuse(&mut self, reason: DropReason) {
        self.cold.refused += 1;
        self.cold.meter.count_drop(reason);
    }

    /// Time and bytes of the current transmission that fall after `end`; everything up to then is counted.
    pub(crate) fn unsent(&self, end: Instant) -> (Duration, Bytes) {
        let until = self.waiting.front().map_or(self.free_at, |next| next.start);
        let time = until.since(end);
        (time, self.rate.bytes_in(time))
    }

    /// Bits that could have been sent up to `end`.
    pub(crate) fn capacity_bits(&self, end: Instant) -> u64 {
        let bits = u128::from(self.rate.as_bps()) * u128::from(end.as_nanos()) / 1_000_000_000;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }
}
