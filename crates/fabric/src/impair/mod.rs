//! The wire of a link with impairments: jitter, reordering, duplication, outages, and what happens to ACKs.
//!
//! # Sources
//! Linux 6.1 `net/sched/sch_netem.c` (`netem_enqueue`, `get_crandom`, `tabledist`) for jitter, reordering and
//! duplication; RFC 3449, section 5.2, for links that thin ACKs; RFC 4737, section 3, for what counts as reordered.
//! Bursts and the ratio of decimation are models of ours: RFC 3449's filter and decimation depend on what waits in the
//! queue (5.2.1, 5.2.2), and ours passes a fixed share of each flow's ACKs.
//!
//! # Order of steps
//! 1. A pure ACK that is decimated is dropped in front of the queue ([`Impair::thins`]).
//! 2. In an outage the transmitter waits, or drops what the queue hands it ([`Impair::drops_at`]).
//! 3. A packet that is lost (packet error rate, or loss of ACKs) takes the transmitter's time and does not arrive.
//! 4. A packet that is duplicated goes onto the wire twice. Both take the next steps by themselves.
//! 5. It is selected for reordering, or not, and gets its delay.
//! 6. At the far end it may be held until a burst is complete.
//!
//! # Differences from netem
//! netem is a queue of its own, in front of a device; this wire is behind the queue and the transmitter. `delay` of the
//! link is never skipped: it is propagation. netem draws duplication and loss independently, so that one of two copies
//! may be lost; here a lost packet is not duplicated. netem's copy passes netem's `rate` again; ours takes no time.
//!
//! # Time
//! A packet may arrive before one that was sent earlier. So a link with impairments must be looked at when each
//! transmission starts, and not only when the head of the wire arrives: [`LinkDirection`](crate::LinkDirection) puts
//! the ends of transmissions on the agenda.

mod acks;
mod burst;
mod draw;

use crate::Seeds;
use acks::Acks;
use burst::Bursts;
use core::cmp::{Ordering, Reverse};
use draw::{Correlated, Delays, Gap};
use narrows_scenario::{Impairments, JitterOrder, LinkAggregation, Outage, Selected};
use narrows_units::{Duration, Instant, Probability};
use narrows_wire::Packet;
use std::collections::{BinaryHeap, VecDeque};

/// Counters of a direction's impairments, besides those of its queue and its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairMeter {
    /// Copies of packets that went onto the wire.
    pub duplicated: u64,
    /// Packets that arrived after one that was sent later (RFC 4737, section 3).
    pub reordered: u64,
    /// Packets that were held at the far end for a burst.
    pub held: u64,
    /// Pure ACKs that decimation dropped; also counted in `dropped_forced`.
    pub decimated: u64,
    /// Pure ACKs that were lost on the link; also counted in `corrupted`.
    pub acks_lost: u64,
    /// Packets that an outage dropped; also counted in `dropped_forced`.
    pub outage_drops: u64,
}

/// A packet on the wire. Its number counts the packets in the order in which they were sent.
#[derive(Clone, Copy, Debug)]
struct OnWire {
    arrival: Instant,
    number: u64,
    packet: Packet,
}

impl OnWire {
    /// Packets that arrive at one instant keep the order in which they were sent.
    const fn order(&self) -> (Instant, u64) {
        (self.arrival, self.number)
    }
}

impl PartialEq for OnWire {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for OnWire {}

impl PartialOrd for OnWire {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OnWire {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// Selection of packets that overtake, or are overtaken.
#[derive(Debug)]
struct Reordering {
    delay: Duration,
    selected: Selected,
    gap: Gap,
}

/// The impairments of one direction of a link, and the packets on its wire.
#[derive(Debug)]
pub struct Impair {
    delays: Option<Delays>,
    /// With order kept: no later packet arrives before this time.
    earliest: Option<Instant>,
    reordering: Option<Reordering>,
    duplicate: Option<(Probability, Correlated)>,
    acks: Acks,
    bursts: Option<Bursts>,
    outages: VecDeque<Outage>,
    /// End of an outage that drops packets.
    dropping_until: Instant,
    wire: BinaryHeap<Reverse<OnWire>>,
    /// Number of the next packet that is sent.
    sent: u64,
    /// Number after the highest one that has arrived.
    arrived: u64,
}

impl Impair {
    /// Impairments that draw from the streams of a component: `path` is `link/A->B`.
    #[must_use]
    pub fn new(impairments: &Impairments, path: &str, seeds: Seeds) -> Self {
        let Impairments { jitter, reorder, duplicate, outages, aggregation, ack_decimation, ack_loss } = impairments;
        Self {
            delays: jitter.map(|jitter| Delays::new(&jitter, seeds.stream(path, "jitter"))),
            earliest: jitter.filter(|jitter| jitter.order == JitterOrder::Kept).map(|_| Instant::ZERO),
            reordering: reorder.map(|reorder| Reordering {
                delay: reorder.delay,
                selected: reorder.selected,
                gap: Gap::new(&reorder, seeds.stream(path, "reorder")),
            }),
            duplicate: duplicate
                .map(|of| (of.probability, Correlated::new(of.correlation, seeds.stream(path, "duplicate")))),
            acks: Acks::new(*ack_decimation, *ack_loss, seeds.stream(path, "acks")),
            bursts: aggregation.map(|aggregation| Bursts::new(&aggregation)),
            outages: outages.clone().into(),
            dropping_until: Instant::ZERO,
            wire: BinaryHeap::new(),
            sent: 0,
            arrived: 0,
        }
    }

    /// Whether decimation drops this packet, which comes to the queue.
    pub fn thins(&mut self, packet: &Packet, meter: &mut ImpairMeter) -> bool {
        let drops = self.acks.thins(packet);
        meter.decimated += u64::from(drops);
        drops
    }

    /// Whether the link loses this packet, which is being sent, because it is an ACK.
    pub fn loses(&mut self, packet: &Packet, meter: &mut ImpairMeter) -> bool {
        let lost = self.acks.loses(packet);
        meter.acks_lost += u64::from(lost);
        lost
    }

    /// Whether an outage drops packets that would be sent at this time.
    #[must_use]
    pub fn drops_at(&self, at: Instant) -> bool {
        at < self.dropping_until
    }

    /// When the next outage begins.
    #[must_use]
    pub fn next_outage(&self) -> Instant {
        self.outages.front().map_or(Instant::NEVER, |outage| outage.start)
    }

    /// Removes and returns the next outage, if it has begun by `now`.
    pub fn take_outage(&mut self, now: Instant) -> Option<Outage> {
        if self.next_outage() <= now { self.outages.pop_front() } else { None }
    }

    /// Drops packets until this time, from now on.
    pub fn drop_until(&mut self, end: Instant) {
        self.dropping_until = end;
    }

    /// Whether the next packet is sent twice.
    pub fn duplicates(&mut self) -> bool {
        self.duplicate.as_mut().is_some_and(|(probability, draws)| draws.strikes(*probability))
    }

    /// Delivers packets in bursts as this says from `now` on, or, with `None`, as they come. Packets that wait are
    /// released.
    pub fn aggregate(&mut self, aggregation: Option<LinkAggregation>, now: Instant) {
        match (&mut self.bursts, aggregation) {
            (Some(bursts), _) => bursts.set(aggregation, now),
            (None, Some(aggregation)) => self.bursts = Some(Bursts::new(&aggregation)),
            (None, None) => {}
        }
    }

    /// Puts a packet on the wire whose transmission ends at `sent`, and which would arrive at `due` without
    /// impairments; it arrives `late` later than impairments alone would have it.
    pub fn send(&mut self, packet: Packet, sent: Instant, due: Instant, late: Duration) {
        let arrival = self.arrival(sent, due) + late;
        self.wire.push(Reverse(OnWire { arrival, number: self.sent, packet }));
        self.sent += 1;
    }

    /// The time at which a packet arrives.
    ///
    /// As in `netem_enqueue`, a packet that goes ahead has neither the extra delay nor a jitter.
    fn arrival(&mut self, sent: Instant, due: Instant) -> Instant {
        let (extra, steady) = match &mut self.reordering {
            None => (Duration::ZERO, false),
            Some(Reordering { delay, selected, gap }) => match (selected, gap.selects()) {
                (Selected::Ahead, true) => (Duration::ZERO, true),
                (Selected::Ahead, false) | (Selected::Behind, true) => (*delay, false),
                (Selected::Behind, false) => (Duration::ZERO, false),
            },
        };
        if steady {
            return due;
        }
        let Some(delays) = &mut self.delays else { return due + extra };
        let part = delays.next();
        let size = Duration::from_nanos(part.unsigned_abs());
        // In the `ahead` mode the extra delay is part of the delay that varies. With `behind`, a late packet does not
        // hold back those after it, so that it comes on top.
        let (base, on_top) = match self.reordering.as_ref().map(|of| of.selected) {
            Some(Selected::Ahead) => (due + extra, Duration::ZERO),
            _ => (due, extra),
        };
        let mut arrival = if part < 0 { (base - size).max(sent) } else { base + size };
        if let Some(earliest) = &mut self.earliest {
            arrival = arrival.max(*earliest);
            *earliest = arrival;
        }
        arrival + on_top
    }

    /// Returns the packet that arrives at the far end at `now`, if one does.
    pub fn arrive(&mut self, now: Instant, meter: &mut ImpairMeter) -> Option<Packet> {
        let Some(bursts) = &mut self.bursts else {
            self.wire.peek().filter(|Reverse(first)| first.arrival <= now)?;
            let Reverse(first) = self.wire.pop()?;
            return Some(self.count(first.number, first.packet, meter));
        };
        loop {
            if let Some((number, packet)) = bursts.released() {
                return Some(self.count(number, packet, meter));
            }
            let deadline = bursts.deadline();
            // A packet that arrives at the deadline still belongs to the burst.
            let first = self.wire.peek().filter(|Reverse(first)| first.arrival <= now.min(deadline)).copied();
            let Some(Reverse(first)) = first else {
                if deadline > now {
                    return None;
                }
                bursts.release(deadline);
                continue;
            };
            self.wire.pop();
            if bursts.holds(&first.packet) {
                meter.held += 1;
                bursts.hold((first.number, first.packet), first.arrival);
            } else {
                return Some(self.count(first.number, first.packet, meter));
            }
        }
    }

    fn count(&mut self, number: u64, packet: Packet, meter: &mut ImpairMeter) -> Packet {
        meter.reordered += u64::from(number < self.arrived);
        self.arrived = self.arrived.max(number + 1);
        packet
    }

    /// When a packet arrives next, or a burst is released.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        let first = self.wire.peek().map_or(Instant::NEVER, |Reverse(first)| first.arrival);
        self.bursts.as_ref().map_or(first, |bursts| first.min(bursts.next_event()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
