//! Network-assisted congestion control: routers that write into packet headers, and the end points that read them.
//!
//! A scheme is a folder: a router part (a [`RouterAgent`]), an end-point part (a `tcp::Assist`), a codec, and, if it
//! changes cwnd, a decorator over any congestion control. The parts communicate only through headers; none of them
//! knows another's state. Adding a scheme takes one folder, whose `row.rs`
//! describes it, and one line in [`registry`].
//!
//! A router part works on packets as values, in the engine, and as bytes, on a wire: [`on_bytes`] and
//! [`on_departing_bytes`] show real packets to the same agent and copy its changes back.

pub mod acns;
mod bytes;
pub mod flow_table;
mod middlebox;
pub mod ngwa;
mod registry;

pub use bytes::{BytesError, on_bytes, on_departing_bytes};
pub use middlebox::Middlebox;
pub use registry::{Counter, End, FlowCounters, SchemeRow, find, registry};

use core::fmt;
use narrows_cc::CongestionControl;
use narrows_queue::{QueueView, Verdict};
use narrows_tcp::{Assist, Config};
use narrows_units::Instant;
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

/// Most counters that a scheme's row names per flow.
pub use narrows_tcp::COUNTERS as FLOW_COUNTERS;

/// Most values that a scheme's row names per router agent over time.
pub const ROUTER_VALUES: usize = 3;

/// Most counters that a scheme's row names per router agent.
pub const ROUTER_COUNTERS: usize = 6;

/// A router's counts of its flows, for samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FlowCounts {
    /// Flows that the router keeps state for; each direction of a connection counts on its own.
    pub flows: u64,
    /// The `router_values` of the scheme's row, in its order; `None` where there is none.
    pub values: [Option<u64>; ROUTER_VALUES],
}

/// Counts of what a router did to packets: the `router_counters` of the scheme's row, in its order. Counters that the
/// row does not name stay zero.
pub type AgentCounters = [u64; ROUTER_COUNTERS];

/// A scheme with its parameters, from which the parts of one run are made.
pub trait Parts: fmt::Debug + Send + Sync {
    /// Makes the part of one router.
    fn router(&self) -> Box<dyn RouterAgent>;

    /// Makes the part of one end of a flow, and its congestion control: `control`, one over it, or another.
    fn end(&self, control: Box<dyn CongestionControl>) -> (Box<dyn CongestionControl>, Box<dyn Assist>);

    /// Changes the TCP settings of a flow that takes part.
    fn configure(&self, _config: &mut Config) {}
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

    /// Whether its flows and counters belong into results. The answer never changes.
    fn reports(&self) -> bool {
        true
    }
}
