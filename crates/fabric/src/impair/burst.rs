//! Delivery in bursts: packets wait at the far end and are released together.

use super::acks::pure_ack;
use narrows_scenario::{Held, LinkAggregation};
use narrows_units::{Duration, Instant};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// A packet with its number on the wire.
type Numbered = (u64, Packet);

/// Packets that wait, and those that are released.
#[derive(Debug)]
pub(super) struct Bursts {
    packets: u64,
    time: Duration,
    /// Which packets are held; `None` for none.
    of: Option<Held>,
    /// Packets that wait, followed in time by none that is released.
    held: VecDeque<Numbered>,
    /// When the packets that wait are released; [`Instant::NEVER`] if none waits.
    deadline: Instant,
    released: VecDeque<Numbered>,
    /// When the packets in `released` were.
    released_at: Instant,
}

impl Bursts {
    /// Collects packets as these settings say.
    pub(super) fn new(aggregation: &LinkAggregation) -> Self {
        let LinkAggregation { packets, time, of } = *aggregation;
        let (held, released) = (VecDeque::new(), VecDeque::new());
        Self { packets, time, of: Some(of), held, deadline: Instant::NEVER, released, released_at: Instant::ZERO }
    }

    /// Whether this packet waits for others.
    pub(super) fn holds(&self, packet: &Packet) -> bool {
        match self.of {
            None => false,
            Some(Held::All) => true,
            Some(Held::Acks) => pure_ack(packet).is_some(),
        }
    }

    /// Collects packets as this says from `now` on, or none; those that wait are released.
    pub(super) fn set(&mut self, aggregation: Option<LinkAggregation>, now: Instant) {
        if !self.held.is_empty() {
            self.release(now);
        }
        self.of = aggregation.map(|aggregation| aggregation.of);
        if let Some(LinkAggregation { packets, time, .. }) = aggregation {
            (self.packets, self.time) = (packets, time);
        }
    }

    /// Holds a packet that arrives at `at`. The burst is released if it is complete.
    pub(super) fn hold(&mut self, packet: Numbered, at: Instant) {
        if self.held.is_empty() {
            self.deadline = at + self.time;
        }
        self.held.push_back(packet);
        if self.held.len() as u64 >= self.packets {
            self.release(at);
        }
    }

    /// Releases all packets that wait.
    pub(super) fn release(&mut self, at: Instant) {
        self.released.append(&mut self.held);
        self.released_at = at;
        self.deadline = Instant::NEVER;
    }

    /// Returns the next released packet.
    pub(super) fn released(&mut self) -> Option<Numbered> {
        self.released.pop_front()
    }

    /// When the packets that wait are released, unless others complete the burst before.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When a packet is released next, unless others complete the burst before.
    pub(super) fn next_event(&self) -> Instant {
        if self.released.is_empty() { self.deadline } else { self.released_at }
    }
}
