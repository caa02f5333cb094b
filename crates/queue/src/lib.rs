//! Queues: storage, the limit, and the active queue management that decides what to drop or mark.
//!
//! A [`Queue`] returns every packet that it drops, with a typed reason, so that tests can check the conservation of
//! packets. An [`Aqm`] only decides; all disciplines share the storage ([`Fifo`]). The [`registry`](registry::registry)
//! lists the disciplines.

mod droptail;
mod fifo;
mod red;
pub mod registry;

use core::fmt;
use narrows_units::{Bytes, Instant, Packets, Rate};
use narrows_wire::Packet;

pub use droptail::{DropTail, droptail};
pub use fifo::Fifo;
pub use red::{Red, RedConfig, red};

/// How much a queue holds, in the unit of its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Waiting packets. The packet in transmission has left the queue (unlike ns-2's `limit_`, which counts it: ns-2's
    /// 50 is our 49).
    Packets(Packets),
    /// Waiting bytes, IP headers included.
    Bytes(Bytes),
}

/// The state of a queue, as an AQM, a router agent or a probe sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Waiting bytes.
    pub bytes: Bytes,
    /// Waiting packets.
    pub packets: Packets,
    /// The limit.
    pub limit: Limit,
    /// Current rate of the link that drains the queue.
    pub rate: Rate,
}

impl QueueView {
    /// Occupancy in [0, 1], in the unit of the queue's own limit.
    #[must_use]
    pub fn occupancy(&self) -> f64 {
        let (used, limit) = match self.limit {
            Limit::Packets(n) => (self.packets.as_f64(), n.as_f64()),
            Limit::Bytes(n) => (self.bytes.as_f64(), n.as_f64()),
        };
        if limit > 0.0 { (used / limit).min(1.0) } else { 1.0 }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// There was no room.
    Overflow,
    /// The AQM dropped it early, by chance.
    Early,
    /// The AQM dropped it by rule (for example RED above its upper threshold).
    Forced,
}

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
}

/// A packet that leaves a queue to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Dequeued {
    /// The packet, marked if the AQM marked it.
    pub packet: Packet,
    /// When the packet was enqueued, which gives its queueing delay.
    pub enqueued: Instant,
    /// Whether the AQM marked it CE on the way out (marks on the way in are what `enqueue` returns).
    pub marked: bool,
}

/// Storage with a discipline in front of a link.
pub trait Queue: fmt::Debug + Send {
    /// Enqueues a packet, or pushes it (or others) to `dropped`. Returns whether the packet was marked CE here; a
    /// packet that arrives with CE keeps it and does not count.
    ///
    /// `now` never decreases between calls.
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> bool;

    /// Removes and returns the next packet; packets that the AQM drops meanwhile go to `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued>;

    /// Whether a packet of this size may bypass the queue when the queue is empty and the link idle: that is,
    /// [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) at the same instant would return it unchanged and
    /// leave no trace. A discipline that keeps an average or a count returns `false`, which is the default.
    fn lets_pass(&self, _size: Bytes) -> bool {
        false
    }

    /// Waiting packets and bytes, and the limit.
    fn view(&self) -> QueueView;

    /// The link's rate changed (or is known for the first time).
    fn set_rate(&mut self, rate: Rate);

    /// Reports internal state by name (for example RED's avg).
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// What an AQM decides about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take it as it is.
    Pass,
    /// Mark it CE. Storage drops a packet that is not ECN-capable as [`DropReason::Early`] instead.
    Mark,
    /// Drop it.
    Drop(DropReason),
}

/// Active queue management: decides, stores nothing.
pub trait Aqm: fmt::Debug + Send {
    /// Decides about an arriving packet that would fit; `view` is the queue without it.
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict;

    /// Whether the discipline ignores packets that do not wait; see [`Queue::lets_pass`].
    fn ignores_passing(&self) -> bool {
        false
    }

    /// Notes an arriving packet that did not fit; `view` is the queue that dropped it.
    fn on_overflow(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) {}

    /// Decides about a packet about to be sent; `view` is the queue after it left.
    fn on_dequeue(&mut self, _packet: &Packet, _enqueued: Instant, _view: &QueueView, _now: Instant) -> Verdict {
        Verdict::Pass
    }

    /// Reports internal state by name.
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}
