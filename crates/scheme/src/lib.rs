//! Network-assisted congestion control: routers that speak through packet headers, and the end points that listen.
//!
//! A scheme is a folder: a router part (a [`RouterAgent`]), an end-point part (a `tcp::Assist`), a decorator over any
//! congestion control, and a codec. The parts meet only in headers; none of them knows another's state. Adding a
//! scheme is one folder and one row in [`registry`].

pub mod acns;
mod registry;

pub use registry::{SchemeRow, find, registry};

use core::fmt;
use narrows_queue::{QueueView, Verdict};
use narrows_units::Instant;
use narrows_wire::Packet;

/// What a router knows of its flows, for samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Census {
    /// Flows that the router keeps state for, each direction of a connection on its own.
    pub flows: u64,
    /// Flows taking part in the scheme that would be told to go on as they do.
    pub normal: u64,
    /// Flows taking part in the scheme that would be told to let their window stay.
    pub freeze: u64,
    /// Flows taking part in the scheme that would be told to fall back.
    pub fallback: u64,
}

/// The part of a scheme that runs in a router. One agent serves all the output queues of one router.
pub trait RouterAgent: fmt::Debug + Send {
    /// Sees a packet that is about to enter the queue described by `queue` (the queue before the packet), and may
    /// rewrite its headers. Calls come in order of time.
    fn on_packet(&mut self, packet: &mut Packet, queue: &QueueView, now: Instant) -> Verdict;

    /// Counts the flows in the table, and what each would now be told if it went through the queue described by
    /// `queue`. Costs time in proportion to the flows: for samples, not for packets.
    fn census(&self, queue: &QueueView, now: Instant) -> Census;

    /// Shows internal state by name, for samples and debugging.
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}
