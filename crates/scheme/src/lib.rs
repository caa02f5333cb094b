//! Network-assisted congestion control: routers that write into packet headers, and the end points that read them.
//!
//! A scheme is a folder: a router part (a [`RouterAgent`]), an end-point part (a `tcp::Assist`), a codec, and, if it
//! changes cwnd, a decorator over any congestion control. The parts communicate only through headers; none of them
//! knows another's state. Adding a scheme takes one folder and one row in [`registry`].
//!
//! A router part works on packets as values, in the engine, and as bytes, on a wire: [`on_bytes`] and
//! [`on_departing_bytes`] show real packets to the same agent and copy its changes back.

pub mod acns;
mod bytes;
pub mod flow_table;
pub mod ngwa;
mod registry;

pub use bytes::{BytesError, on_bytes, on_departing_bytes};
pub use registry::{SchemeRow, find, registry};

use core::fmt;
use narrows_queue::{QueueView, Verdict};
use narrows_units::{Bytes, Instant};
use narrows_wire::Packet;

/// An output queue of a router, identified by a number from 0 on that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port(u32);

impl Port {
    /// Returns the output queue of this number. A router's numbers are small, so agents may index a list by them.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A router's counts of its flows, for samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FlowCounts {
    /// Flows that the router keeps state for; each direction of a connection counts on its own.
    pub flows: u64,
    /// Flows taking part in the scheme that would receive "normal": continue unchanged.
    pub normal: u64,
    /// Flows taking part in the scheme that would receive "freeze": keep the window.
    pub freeze: u64,
    /// Flows taking part in the scheme that would receive "fallback": return to a smaller window.
    pub fallback: u64,
    /// The window that flows would receive, in bytes, if the scheme sends one.
    pub window: Option<Bytes>,
}

/// Counts of what a router did to packets. Counters that a scheme does not use stay zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AgentCounters {
    /// Segments that asked for a command.
    pub asked: u64,
    /// Segments into which "freeze" was written.
    pub wrote_freeze: u64,
    /// Segments into which "fallback" was written.
    pub wrote_fallback: u64,
    /// Segments that got an option.
    pub inserted: u64,
    /// Segments whose option had a larger value and got a smaller one.
    pub lowered: u64,
    /// Segments whose option stayed, its value as small or smaller.
    pub kept: u64,
    /// Segments left alone because their option area had no room.
    pub full: u64,
    /// Segments left alone because their options were malformed.
    pub malformed: u64,
    /// Segments left alone because they cannot carry the scheme's value, or because their queue has none.
    pub unsupported: u64,
}

impl AgentCounters {
    /// All counters zero.
    pub const ZERO: Self = Self {
        asked: 0,
        wrote_freeze: 0,
        wrote_fallback: 0,
        inserted: 0,
        lowered: 0,
        kept: 0,
        full: 0,
        malformed: 0,
        unsupported: 0,
    };
}

/// The part of a scheme that runs in a router. One agent serves all the output queues of one router.
pub trait RouterAgent: fmt::Debug + Send {
    /// Sees a packet that is about to enter the queue at `port`, described by `queue` (the queue before the packet),
    /// and may rewrite its headers. Calls come in order of time.
    fn on_packet(&mut self, packet: &mut Packet, port: Port, queue: &QueueView, now: Instant) -> Verdict;

    /// Whether [`on_departure`](Self::on_departure) is to be called. The answer never changes.
    fn sees_departures(&self) -> bool {
        false
    }

    /// Sees a packet that leaves the queue at `port`, described by `queue` (the queue without the packet), and may
    /// rewrite its headers. For each port the calls of this and of [`on_packet`](Self::on_packet) come in order of
    /// time. Departures from one port may be reported after later events of another, because a simulator looks at a
    /// queue only when something happens to it. The result may therefore depend only on the state of the same port.
    fn on_departure(&mut self, _packet: &mut Packet, _port: Port, _queue: &QueueView, _now: Instant) {}

    /// Counts the flows in the table, and what each would receive now if it went through the queue at `port`, described
    /// by `queue`. Takes time in proportion to the number of flows: for samples, not for packets.
    fn flow_counts(&self, port: Port, queue: &QueueView, now: Instant) -> FlowCounts;

    /// Returns the counts of what was done to packets so far.
    fn counters(&self) -> AgentCounters;
}
