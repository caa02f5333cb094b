//! First in, first out: the storage that every single-queue discipline shares.

use crate::{Aqm, Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView, Verdict};
use narrows_units::{Bytes, Instant, Packets, Rate};
use narrows_wire::{Ecn, Packet};
use std::collections::VecDeque;

/// A waiting packet and its arrival time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    pub(crate) enqueued: Instant,
}

/// A ring of packets with a limit, controlled by an [`Aqm`].
///
/// The limit comes first: a packet that does not fit is dropped as [`DropReason::Overflow`], and the AQM is only
/// notified. The ring grows to the largest number of packets that ever waited and is then reused, so a queue in steady
/// state allocates nothing.
#[derive(Debug)]
pub struct Fifo<A> {
    ring: VecDeque<Waiting>,
    bytes: Bytes,
    limit: Limit,
    rate: Rate,
    aqm: A,
}

impl<A: Aqm> Fifo<A> {
    /// An empty queue. Its rate is zero until [`Queue::set_rate`].
    #[must_use]
    pub fn new(limit: Limit, aqm: A) -> Self {
        Self { ring: VecDeque::new(), bytes: Bytes::ZERO, limit, rate: Rate::ZERO, aqm }
    }

    /// The queue's discipline.
    #[must_use]
    pub const fn aqm(&self) -> &A {
        &self.aqm
    }

    /// The packet that leaves next.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet> {
        self.ring.front().map(|waiting| &waiting.packet)
    }

    /// Whether a packet of this size fits.
    #[inline]
    pub(crate) fn has_room_for(&self, size: Bytes) -> bool {
        match self.limit {
            Limit::Packets(limit) => (self.ring.len() as u64) < limit.as_u64(),
            Limit::Bytes(limit) => self.bytes + size <= limit,
        }
    }

    #[inline]
    fn snapshot(&self) -> QueueView {
        QueueView {
            bytes: self.bytes,
            packets: Packets::new(self.ring.len() as u64),
            limit: self.limit,
            rate: self.rate,
        }
    }
}

/// Applies a verdict to the packet: `Ok(marked)`, or `Err(reason)` if it must be dropped.
#[inline]
pub(crate) fn carry_out(verdict: Verdict, packet: &mut Packet) -> Result<bool, DropReason> {
    match (verdict, packet.ip.ecn()) {
        (Verdict::Pass, _) | (Verdict::Mark, Ecn::Ce) => Ok(false),
        (Verdict::Mark, Ecn::NotEct) => Err(DropReason::Early),
        (Verdict::Mark, Ecn::Ect0 | Ecn::Ect1) => {
            packet.ip.set_ecn(Ecn::Ce);
            Ok(true)
        }
        (Verdict::Drop(reason), _) => Err(reason),
    }
}

impl<A: Aqm> Queue for Fifo<A> {
    #[inline]
    fn enqueue(&mut self, mut packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let view = self.snapshot();
        let size = packet.len();
        if !self.has_room_for(size) {
            self.aqm.on_overflow(&packet, &view, now);
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue: 0 });
            return Enqueued::default();
        }
        match carry_out(self.aqm.on_enqueue(&packet, &view, now), &mut packet) {
            Ok(marked) => {
                self.bytes += size;
                self.ring.push_back(Waiting { packet, enqueued: now });
                Enqueued { marked, subqueue: 0 }
            }
            Err(reason) => {
                dropped.push(Dropped { packet, reason, subqueue: 0 });
                Enqueued::default()
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        while let Some(Waiting { mut packet, enqueued }) = self.ring.pop_front() {
            self.bytes -= packet.len();
            let verdict = self.aqm.on_dequeue(&packet, enqueued, &self.snapshot(), now);
            match carry_out(verdict, &mut packet) {
                Ok(marked) => return Some(Dequeued { packet, enqueued, marked, subqueue: 0 }),
                Err(reason) => dropped.push(Dropped { packet, reason, subqueue: 0 }),
            }
        }
        self.aqm.on_empty(now);
        None
    }

    #[inline]
    fn lets_pass(&self, size: Bytes) -> bool {
        self.aqm.ignores_passing() && self.ring.is_empty() && self.has_room_for(size)
    }

    #[inline]
    fn view(&self) -> QueueView {
        self.snapshot()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn next_timer(&self) -> Option<Instant> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) {
        let view = self.snapshot();
        self.aqm.on_timer(&view, now);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.state(visit);
    }
}
