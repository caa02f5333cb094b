//! Stochastic fairness queueing: flows take turns, and the longest sub-queue pays for an overflow.
//!
//! # Idea
//! A hash of the flow puts each packet into one of `divisor` sub-queues, which share the link by bytes in turns. The
//! sub-queue with the most packets loses one when there is no room. A new salt every `perturb` separates flows that
//! share a sub-queue.
//!
//! # Sources
//! - McKenney, "Stochastic Fairness Queueing", INFOCOM 1990: hash, turns, perturbation, drops from the longest queue.
//! - Linux 6.1, `net/sched/sch_sfq.c`: `sfq_enqueue`, `sfq_dequeue`, `sfq_drop`, `sfq_rehash`, `sfq_perturbation`.
//!
//! # State
//! | Linux | field |
//! |---|---|
//! | `ht`, `slots` | `flows`, one for each value of the hash |
//! | `tail` and the ring of slots | `turns`: sub-queues that hold packets |
//! | `allot` | `Flow::allot`, bytes |
//! | `dep`: slots by their number of packets | `lengths`, `Flow::before`, `Flow::after` |
//! | `cur_depth` | `longest`, packets |
//!
//! Sub-queues of one length are linked to each other, and a packet moves its sub-queue to the next list. The longest
//! one is therefore found without a search.
//!
//! # Differences
//! - A turn is counted in bytes; Linux counts in units of 8 bytes. As in Linux, a sub-queue sends while its allotment
//!   is positive, so that the last packet of a turn may exceed it.
//! - `flows` is 127 by default, as the manual page of tc-sfq has it; the constant of the module is 128.
//! - `headdrop`: off as in Linux; a full sub-queue then drops the arrival, and an overflow the last packet.
//! - All sub-queues with one packet: the one whose turn it is loses its packet, as in Linux.
//! - Linux's timer runs always. Here it stops when it finds the queue empty, and starts with the next packet.
//! - Packets keep the number of the sub-queue that they came into when a perturbation moves them.
//! - RED in each sub-queue (Linux's `redflowlimit`) is left out. Linux also accepts limits in packets only.
//! - Sizes are those of IP packets; Linux counts the link-layer header too.
//!
//! # Limits
//! Flows whose hashes are equal share a sub-queue until the next perturbation. A perturbation costs time in proportion
//! to the waiting packets and to `divisor`, and may reorder packets of flows that it joins, but not those of one flow.
//!
//! # Vectors
//! `the_longest_sub_queue_loses_its_last_packet`, `of_equal_lengths_the_latest_to_reach_it_loses`,
//! `among_single_packets_the_next_turn_loses`, `turns_share_the_link_by_bytes`, `a_full_sub_queue_drops_by_headdrop`,
//! `a_perturbation_keeps_packets_and_their_order`.

use crate::fifo::Waiting;
use crate::flow_hash::{FlowHash, scaled};
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// The row of SFQ.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "sfq",
        title: "Stochastic fairness queueing",
        doc: "stochastic fairness queueing (McKenney 1990)",
        sources: &["McKenney, Stochastic Fairness Queueing, INFOCOM 1990", "Linux 6.1, net/sched/sch_sfq.c"],
        params: PARAMS,
        variables: &[
            Variable::new("active", "sub-queues", "Sub-queues that hold packets."),
            Variable::new("longest", "packets", "Packets in the longest sub-queue."),
        ],
        tail_only: false,
        fit,
        source: include_str!("sfq.rs"),
    },
    build,
};

const PARAMS: &[Param] = &[
    Param {
        name: "divisor",
        doc: "Number of values of the hash, which are the sub-queues.",
        kind: Kind::Integer { unit: "sub-queues", default: 1024, min: 1, max: 65_536 },
    },
    Param {
        name: "flows",
        doc: "Sub-queues that hold packets at once; a packet for a further one is dropped.",
        kind: Kind::Integer { unit: "sub-queues", default: 127, min: 1, max: 65_408 },
    },
    Param {
        name: "depth",
        doc: "Packets that a sub-queue holds at most.",
        kind: Kind::Integer { unit: "packets", default: 127, min: 1, max: 127 },
    },
    Param {
        name: "quantum",
        doc: "Bytes that a sub-queue may send in a turn.",
        kind: Kind::Size { default: Bytes::new(1514), min: Bytes::new(256), max: Bytes::new(1_000_000) },
    },
    Param {
        name: "perturb",
        doc: "Time between two changes of the hash; 0 for none.",
        kind: Kind::Time { default: Duration::ZERO, min: Duration::ZERO, max: Duration::from_secs(3600) },
    },
    Param {
        name: "headdrop",
        doc: "Drop the first packet of a sub-queue instead of the last one.",
        kind: Kind::Switch { default: false },
    },
];

/// The shortest period of perturbations: each visits all sub-queues.
const SHORTEST: Duration = Duration::from_millis(1);

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    let perturb = params.time("perturb");
    if perturb.is_zero() || perturb >= SHORTEST {
        return Ok(());
    }
    let reason = "is too short".to_owned();
    Err(Broken { param: "perturb", reason, allowed: format!("0 for none, or at least {SHORTEST}") })
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Sfq::new(limit, SfqConfig::of(params), chance))
}

/// Parameters of SFQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfqConfig {
    /// Number of sub-queues, at least one.
    pub divisor: u32,
    /// Sub-queues that hold packets at once.
    pub flows: usize,
    /// Packets that a sub-queue holds at most, at least one.
    pub depth: usize,
    /// Bytes that a sub-queue may send in a turn; zero counts as one byte.
    pub quantum: Bytes,
    /// Time between two changes of the hash; zero for none.
    pub perturb: Duration,
    /// Drop the first packet of a sub-queue instead of the last one.
    pub headdrop: bool,
}

impl Default for SfqConfig {
    /// The defaults of tc-sfq.
    fn default() -> Self {
        let (quantum, perturb) = (Bytes::new(1514), Duration::ZERO);
        Self { divisor: 1024, flows: 127, depth: 127, quantum, perturb, headdrop: false }
    }
}

impl SfqConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            divisor: u32::try_from(params.integer("divisor")).unwrap_or(u32::MAX),
            flows: params.integer("flows") as usize,
            depth: params.integer("depth") as usize,
            quantum: params.size("quantum"),
            perturb: params.time("perturb"),
            headdrop: params.switch("headdrop"),
        }
    }
}

/// A waiting packet and the sub-queue that it came into, which is what the owner of the queue counts.
#[derive(Clone, Copy, Debug)]
struct Held {
    waiting: Waiting,
    label: u32,
}

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A sub-queue.
#[derive(Clone, Debug)]
struct Flow {
    packets: VecDeque<Held>,
    /// Bytes that it may still send in this turn.
    allot: i64,
    /// Neighbours in the list of its length.
    before: u32,
    after: u32,
}

/// An SFQ queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Sfq {
    config: SfqConfig,
    limit: Limit,
    rate: Rate,
    flows: Vec<Flow>,
    turns: VecDeque<u32>,
    /// The first sub-queue of each length.
    lengths: Vec<u32>,
    longest: usize,
    packets: u64,
    bytes: Bytes,
    chance: Stream,
    hash: FlowHash,
    next_perturbation: Instant,
    /// Packets on their way to other sub-queues, empty between calls.
    moving: Vec<Held>,
}

impl Sfq {
    /// An empty queue; `chance` gives the salts of its hash.
    #[must_use]
    pub fn new(limit: Limit, config: SfqConfig, mut chance: Stream) -> Self {
        let (quantum, depth) = (config.quantum.max(Bytes::new(1)), config.depth.max(1));
        let config = SfqConfig { quantum, depth, ..config };
        let flow = Flow { packets: VecDeque::new(), allot: 0, before: NONE, after: NONE };
        Self {
            flows: vec![flow; config.divisor.max(1) as usize],
            lengths: vec![NONE; depth + 1],
            hash: FlowHash::new(&mut chance),
            config,
            limit,
            rate: Rate::ZERO,
            turns: VecDeque::new(),
            longest: 0,
            packets: 0,
            bytes: Bytes::ZERO,
            chance,
            next_perturbation: Instant::NEVER,
            moving: Vec::new(),
        }
    }

    fn number(&self, packet: &Packet) -> u32 {
        scaled(self.hash.of_flow(packet), self.flows.len())
    }

    fn is_over_limit(&self) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets > limit.as_u64(),
            Limit::Bytes(limit) => self.bytes > limit,
        }
    }

    /// Takes a sub-queue that holds `length` packets out of the list of that length.
    fn unlink(&mut self, number: u32, length: usize) {
        let Flow { before, after, .. } = self.flows[number as usize];
        match before {
            NONE => self.lengths[length] = after,
            before => self.flows[before as usize].after = after,
        }
        if after != NONE {
            self.flows[after as usize].before = before;
        }
    }

    /// Puts a sub-queue at the front of the list of its length (`sfq_link`).
    fn link(&mut self, number: u32) {
        let length = self.flows[number as usize].packets.len();
        let after = core::mem::replace(&mut self.lengths[length], number);
        if after != NONE {
            self.flows[after as usize].before = number;
        }
        let flow = &mut self.flows[number as usize];
        (flow.before, flow.after) = (NONE, after);
        self.longest = self.longest.max(length);
    }

    /// Adds a packet at the end of a sub-queue that has room, and gives it a turn if it had none.
    fn push(&mut self, number: u32, held: Held) {
        let length = self.flows[number as usize].packets.len();
        if length > 0 {
            self.unlink(number, length);
        } else {
            self.turns.push_back(number);
            self.flows[number as usize].allot = self.config.quantum.as_u64() as i64;
        }
        self.packets += 1;
        self.bytes += held.waiting.packet.len();
        self.flows[number as usize].packets.push_back(held);
        self.link(number);
    }

    /// Takes the first or the last packet of a sub-queue. The caller ends the turns of one that ran empty.
    fn pop(&mut self, number: u32, first: bool) -> Option<Held> {
        let packets = &mut self.flows[number as usize].packets;
        let length = packets.len();
        let held = if first { packets.pop_front() } else { packets.pop_back() }?;
        self.unlink(number, length);
        if length > 1 {
            self.link(number);
        }
        if self.longest == length && self.lengths[length] == NONE {
            self.longest = length - 1;
        }
        self.packets -= 1;
        self.bytes -= held.waiting.packet.len();
        Some(held)
    }

    /// Adds a packet at the end of a sub-queue and takes its first one. Its length and its turn stay as they are.
    fn replace_first(&mut self, number: u32, held: Held) -> Option<Held> {
        let packets = &mut self.flows[number as usize].packets;
        let first = packets.pop_front()?;
        packets.push_back(held);
        self.bytes += held.waiting.packet.len();
        self.bytes -= first.waiting.packet.len();
        Some(first)
    }

    /// Whether a sub-queue may take a packet: it has turns already, or there are turns left to give.
    fn has_turn(&self, number: u32) -> bool {
        !self.flows[number as usize].packets.is_empty() || self.turns.len() < self.config.flows
    }

    /// Drops a packet of the longest sub-queue (`sfq_drop`).
    fn drop_from_longest(&mut self, dropped: &mut Vec<Dropped>) {
        let number = if self.longest > 1 {
            Some(self.lengths[self.longest])
        } else {
            // All have one packet.
            self.turns.pop_front()
        };
        let held = number.and_then(|number| self.pop(number, self.config.headdrop));
        dropped.extend(held.map(overflown));
    }
}

fn overflown(held: Held) -> Dropped {
    Dropped { packet: held.waiting.packet, reason: DropReason::Overflow, subqueue: held.label }
}

impl Queue for Sfq {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let label = self.number(&packet);
        let enqueued = Enqueued { marked: false, subqueue: label };
        let held = Held { waiting: Waiting { packet, enqueued: now }, label };
        let never_fits = matches!(self.limit, Limit::Bytes(limit) if packet.len() > limit);
        let is_full = self.flows[label as usize].packets.len() >= self.config.depth;
        if never_fits || !self.has_turn(label) || (is_full && !self.config.headdrop) {
            dropped.push(overflown(held));
            return enqueued;
        }
        if is_full {
            dropped.extend(self.replace_first(label, held).map(overflown));
        } else {
            self.push(label, held);
        }
        if self.next_perturbation == Instant::NEVER && !self.config.perturb.is_zero() {
            self.next_perturbation = now + self.config.perturb;
        }
        while self.is_over_limit() {
            self.drop_from_longest(dropped);
        }
        enqueued
    }

    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        loop {
            let number = *self.turns.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.allot <= 0 {
                flow.allot += self.config.quantum.as_u64() as i64;
                self.turns.rotate_left(1);
                continue;
            }
            let Held { waiting: Waiting { packet, enqueued }, label } = self.pop(number, true)?;
            let flow = &mut self.flows[number as usize];
            flow.allot -= packet.len().as_u64() as i64;
            if flow.packets.is_empty() {
                self.turns.pop_front();
            }
            return Some(Dequeued { packet, enqueued, marked: false, subqueue: label });
        }
    }

    fn view(&self) -> QueueView {
        QueueView { bytes: self.bytes, packets: Packets::new(self.packets), limit: self.limit, rate: self.rate }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn next_timer(&self) -> Option<Instant> {
        if self.config.perturb.is_zero() { None } else { Some(self.next_perturbation) }
    }

    /// Changes the salt and moves all packets (`sfq_rehash`): sub-queue by sub-queue, in the order of their numbers.
    fn on_timer(&mut self, now: Instant, dropped: &mut Vec<Dropped>) {
        self.hash = FlowHash::new(&mut self.chance);
        self.next_perturbation = if self.packets == 0 { Instant::NEVER } else { now + self.config.perturb };
        for flow in &mut self.flows {
            self.moving.extend(flow.packets.drain(..));
        }
        self.turns.clear();
        self.lengths.fill(NONE);
        (self.longest, self.packets, self.bytes) = (0, 0, Bytes::ZERO);
        let mut moving = core::mem::take(&mut self.moving);
        for held in moving.drain(..) {
            let number = self.number(&held.waiting.packet);
            if self.has_turn(number) && self.flows[number as usize].packets.len() < self.config.depth {
                self.push(number, held);
            } else {
                dropped.push(overflown(held));
            }
        }
        self.moving = moving;
    }

    fn subqueues(&self) -> Vec<String> {
        (0..self.flows.len()).map(|number| number.to_string()).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active", self.turns.len() as f64);
        visit("longest", self.longest as f64);
    }
}

#[cfg(test)]
#[path = "sfq/tests.rs"]
mod tests;
