//! Deficit round robin: flows take turns, and what a turn leaves unused counts in the next.
//!
//! # Idea
//! A hash of the flow puts each packet into one of many sub-queues. Those that hold packets take turns. A turn adds
//! `quantum` bytes to the sub-queue's deficit counter, and the sub-queue sends while its head packet fits into the
//! counter. The rest is kept for the next turn, so that flows share the link by bytes whatever the sizes of packets.
//!
//! # Sources
//! - Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995: the
//!   algorithm, and its bounds of fairness and work.
//! - McKenney, "Stochastic Fairness Queueing", INFOCOM 1990: buffer stealing, which the paper uses.
//! - Linux 6.1, `net/sched/sch_drr.c`: the same scheduler, with classes instead of a hash.
//!
//! # State
//! | paper | field |
//! |---|---|
//! | `Queue_i` | `Flow::packets` |
//! | `DC_i`, deficit counter | `Flow::deficit`, bytes |
//! | `Quantum_i` | [`DrrConfig::quantum`], the same for all |
//! | `ActiveList` | `active` |
//! | | `in_turn`: whether the head of `active` has had its quantum in this turn |
//!
//! ```text
//!             a packet arrives: deficit 0, end of the list
//!    idle ------------------------------------------------> active <--+
//!      ^                                                       |      | head packet above the deficit:
//!      +-------------------------------------------------------+------+ end of the list
//!                       ran empty: deficit 0
//! ```
//!
//! # Differences
//! - The paper's loop sends all packets of a turn at once. A link asks for one packet at a time, so `in_turn` keeps a
//!   turn open between calls.
//! - `overflow = "longest"` drops the last packet of the sub-queue with the most bytes (the lower number if equal); the
//!   paper does not say which packet of the longest queue goes. `overflow = "arrival"` drops the packet that arrives,
//!   as Linux's classes do.
//! - Sizes are those of IP packets; Linux counts the link-layer header too.
//!
//! # Limits
//! A quantum below the largest packet costs several empty turns a packet (O(1) work needs a quantum of at least
//! the largest packet). Flows whose hashes are equal share a sub-queue. A drop from the longest sub-queue searches all
//! active ones.
//!
//! # Vectors
//! `deficits_follow_the_paper_step_by_step`, `bytes_of_two_backlogged_flows_differ_by_less_than_the_bound`,
//! `the_longest_sub_queue_pays_for_an_arrival`, `a_sub_queue_that_ran_empty_loses_its_deficit`.

use crate::fifo::Waiting;
use crate::flow_hash::{FlowHash, scaled};
use crate::registry::{Discipline, Kind, Param, Params, Row, Setup, Word, free};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// The row of deficit round robin.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "drr",
        title: "Deficit round robin",
        doc: "deficit round robin (Shreedhar and Varghese 1995)",
        sources: &[
            "Shreedhar and Varghese, Efficient Fair Queuing using Deficit Round Robin, SIGCOMM 1995",
            "Linux 6.1, net/sched/sch_drr.c",
        ],
        params: PARAMS,
        variables: &[
            Variable::new("active", "sub-queues", "Sub-queues that hold packets or wait to be found empty."),
            Variable::new("deficit", "bytes", "Deficit counter of the sub-queue whose turn it is; 0 if there is none."),
        ],
        tail_only: false,
        fit: free,
        source: include_str!("drr.rs"),
    },
    build,
};

const PARAMS: &[Param] = &[
    Param {
        name: "flows",
        doc: "Number of sub-queues.",
        kind: Kind::Integer { unit: "sub-queues", default: 1024, min: 1, max: 65_536 },
    },
    Param {
        name: "quantum",
        doc: "Bytes that a turn adds to the deficit counter of a sub-queue.",
        kind: Kind::Size { default: Bytes::new(1514), min: Bytes::new(256), max: Bytes::new(1_000_000) },
    },
    Param {
        name: "overflow",
        doc: "Which packet is dropped if there is no room.",
        kind: Kind::Choice {
            default: "longest",
            words: &[
                Word("longest", "the last one of the sub-queue with the most bytes (buffer stealing)"),
                Word("arrival", "the one that arrives"),
            ],
        },
    },
];

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Drr::new(limit, DrrConfig::of(params), chance))
}

/// Parameters of deficit round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrrConfig {
    /// Number of sub-queues, at least one.
    pub flows: u32,
    /// Bytes that a turn adds to the deficit counter; zero counts as one byte.
    pub quantum: Bytes,
    /// Whether an overflow drops from the longest sub-queue, instead of the arrival.
    pub steal: bool,
}

impl Default for DrrConfig {
    /// Buffer stealing as in the paper; numbers as for FQ-CoDel.
    fn default() -> Self {
        Self { flows: 1024, quantum: Bytes::new(1514), steal: true }
    }
}

impl DrrConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            flows: u32::try_from(params.integer("flows")).unwrap_or(u32::MAX),
            quantum: params.size("quantum"),
            steal: params.choice("overflow") == "longest",
        }
    }
}

/// A sub-queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
    /// Bytes that it may still send in this turn, or has left from the one before.
    deficit: u64,
    /// Whether it is in the list of active ones.
    active: bool,
}

/// A deficit round robin queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Drr {
    config: DrrConfig,
    limit: Limit,
    rate: Rate,
    flows: Vec<Flow>,
    active: VecDeque<u32>,
    in_turn: bool,
    packets: u64,
    bytes: Bytes,
    hash: FlowHash,
}

impl Drr {
    /// An empty queue; `chance` gives the salt of its hash.
    #[must_use]
    pub fn new(limit: Limit, config: DrrConfig, mut chance: Stream) -> Self {
        let config = DrrConfig { quantum: config.quantum.max(Bytes::new(1)), ..config };
        Self {
            flows: vec![Flow::default(); config.flows.max(1) as usize],
            config,
            limit,
            rate: Rate::ZERO,
            active: VecDeque::new(),
            in_turn: false,
            packets: 0,
            bytes: Bytes::ZERO,
            hash: FlowHash::new(&mut chance),
        }
    }

    /// Whether `packets` and `bytes` are within the limit.
    fn fits(&self, packets: u64, bytes: Bytes) -> bool {
        match self.limit {
            Limit::Packets(limit) => packets <= limit.as_u64(),
            Limit::Bytes(limit) => bytes <= limit,
        }
    }

    /// Drops the last packet of the sub-queue with the most bytes. If it runs empty, its turn finds that out.
    fn steal(&mut self, dropped: &mut Vec<Dropped>) {
        let key = |&number: &u32| (self.flows[number as usize].bytes, u32::MAX - number);
        let Some(longest) = self.active.iter().copied().max_by_key(key) else { return };
        let flow = &mut self.flows[longest as usize];
        let Some(Waiting { packet, .. }) = flow.packets.pop_back() else { return };
        flow.bytes -= packet.len();
        self.packets -= 1;
        self.bytes -= packet.len();
        dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue: longest });
    }
}

impl Queue for Drr {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let subqueue = scaled(self.hash.of_flow(&packet), self.flows.len());
        let (size, enqueued) = (packet.len(), Enqueued { marked: false, subqueue });
        if !self.config.steal && !self.fits(self.packets + 1, self.bytes + size) {
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue });
            return enqueued;
        }
        let flow = &mut self.flows[subqueue as usize];
        flow.packets.push_back(Waiting { packet, enqueued: now });
        flow.bytes += size;
        self.packets += 1;
        self.bytes += size;
        if !flow.active {
            flow.active = true;
            self.active.push_back(subqueue);
        }
        // Each round drops a packet, and an empty queue is within any limit.
        while !self.fits(self.packets, self.bytes) {
            self.steal(dropped);
        }
        enqueued
    }

    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        loop {
            let number = *self.active.front()?;
            let flow = &mut self.flows[number as usize];
            let Some(size) = flow.packets.front().map(|head| head.packet.len()) else {
                flow.deficit = 0;
                flow.active = false;
                self.active.pop_front();
                self.in_turn = false;
                continue;
            };
            if !self.in_turn {
                flow.deficit += self.config.quantum.as_u64();
                self.in_turn = true;
            }
            if size.as_u64() > flow.deficit {
                self.active.rotate_left(1);
                self.in_turn = false;
                continue;
            }
            let Waiting { packet, enqueued } = flow.packets.pop_front()?;
            flow.deficit -= size.as_u64();
            flow.bytes -= size;
            self.packets -= 1;
            self.bytes -= size;
            if flow.packets.is_empty() {
                flow.deficit = 0;
                flow.active = false;
                self.active.pop_front();
                self.in_turn = false;
            }
            return Some(Dequeued { packet, enqueued, marked: false, subqueue: number });
        }
    }

    fn view(&self) -> QueueView {
        QueueView { bytes: self.bytes, packets: Packets::new(self.packets), limit: self.limit, rate: self.rate }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn subqueues(&self) -> Vec<String> {
        (0..self.flows.len()).map(|number| number.to_string()).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active", self.active.len() as f64);
        visit("deficit", self.active.front().map_or(0.0, |&number| self.flows[number as usize].deficit as f64));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};
    use narrows_wire::{Ip, Transport, UdpRepr};

    const LIMIT: Limit = Limit::Packets(Packets::new(10_000));

    fn queue(limit: Limit, quantum: u64, steal: bool) -> Drr {
        let config = DrrConfig { quantum: Bytes::new(quantum), steal, ..DrrConfig::default() };
        Drr::new(limit, config, Stream::new(1, 0, "test", "drr"))
    }

    fn packet(flow: u16, size: u32) -> Packet {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ports = UdpRepr { src_port: flow, dst_port: 9, rtp: None };
        Packet { ip: Ip::between(host, host), transport: Transport::Udp(ports), payload_len: size - 28 }
    }

    /// Offers a packet; flow and size of those that were dropped.
    fn put(queue: &mut Drr, flow: u16, size: u32) -> Vec<(u16, u64)> {
        let mut dropped = Vec::new();
        queue.enqueue(packet(flow, size), Instant::ZERO, &mut dropped);
        dropped.iter().map(|d| (d.packet.flow().src_port, d.packet.len().as_u64())).collect()
    }

    /// Flow and size of the next packet, and the deficit of its flow afterwards.
    fn next(queue: &mut Drr) -> Option<(u16, u64, u64)> {
        let out = queue.dequeue(Instant::ZERO, &mut Vec::new())?;
        let deficit = queue.flows[out.subqueue as usize].deficit;
        Some((out.packet.flow().src_port, out.packet.len().as_u64(), deficit))
    }

    #[test]
    fn defaults_of_the_row_are_those_of_the_type() {
        assert_eq!(DrrConfig::of(&Params::defaults(PARAMS)), DrrConfig::default());
    }

    /// A quantum of 500. Turn 1 of flow 1: 500 - 200 = 300, and 750 does not fit; flow 2: 500 - 500 = 0. Turn 2 of
    /// flow 1: 300 + 500 - 750 = 50, and 200 does not fit; flow 2 (700): 500, waits. Turn 3 of flow 1: 50 + 500 - 200,
    /// then empty: 0; flow 2: 500 + 500 - 700 = 300, then 100 more: 200, and 300 does not fit. Turn 4 of flow 2: empty.
    #[test]
    fn deficits_follow_the_paper_step_by_step() {
        let mut queue = queue(LIMIT, 500, true);
        for (flow, sizes) in [(1, [200, 750, 200].as_slice()), (2, &[500, 700, 100, 300])] {
            sizes.iter().for_each(|&size| assert!(put(&mut queue, flow, size).is_empty()));
        }
        let seen: Vec<_> = core::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(
            seen,
            [(1, 200, 300), (2, 500, 0), (1, 750, 50), (1, 200, 0), (2, 700, 300), (2, 100, 200), (2, 300, 0)]
        );
        assert_eq!((queue.active.len(), queue.in_turn), (0, false));
    }

    #[test]
    fn bytes_of_two_backlogged_flows_differ_by_less_than_the_bound() {
        let mut queue = queue(LIMIT, 700, true);
        for _ in 0..300 {
            put(&mut queue, 1, 1500);
            put(&mut queue, 2, 40);
            (0..20).for_each(|_| _ = put(&mut queue, 2, 90));
        }
        let mut sent = [0_u64; 2];
        // Between any two backlogged flows, at most a quantum and twice the deficit kept, which is below the
        // largest packet. A turn of flow 1 keeps up to 1500 bytes, and one of flow 2 up to 90.
        for _ in 0..3_000 {
            let (flow, size, _) = next(&mut queue).unwrap();
            sent[usize::from(flow - 1)] += size;
            assert!(sent[0].abs_diff(sent[1]) <= 700 + 1500, "{sent:?}");
        }
    }

    #[test]
    fn the_longest_sub_queue_pays_for_an_arrival() {
        let limit = Limit::Packets(Packets::new(4));
        let mut stealing = queue(limit, 1514, true);
        for size in [1000, 1100, 1200] {
            put(&mut stealing, 1, size);
        }
        put(&mut stealing, 2, 100);
        assert_eq!(put(&mut stealing, 3, 100), [(1, 1200)], "its last packet");
        assert_eq!(put(&mut stealing, 3, 100), [(1, 1100)]);
        assert_eq!(put(&mut stealing, 1, 500), [(1, 500)], "an arrival of the longest one itself");
        let mut plain = queue(limit, 1514, false);
        (0..4).for_each(|_| _ = put(&mut plain, 1, 1000));
        assert_eq!(put(&mut plain, 2, 100), [(2, 100)]);
    }

    #[test]
    fn a_sub_queue_that_ran_empty_loses_its_deficit() {
        let mut queue = queue(LIMIT, 1000, true);
        put(&mut queue, 1, 100);
        assert_eq!(next(&mut queue), Some((1, 100, 0)));
        put(&mut queue, 1, 1000);
        put(&mut queue, 1, 1000);
        put(&mut queue, 2, 1000);
        assert_eq!([1, 2, 1].map(|_| next(&mut queue).unwrap().0), [1, 2, 1]);
    }

    #[test]
    fn a_sub_queue_emptied_by_stealing_loses_its_turn() {
        let mut queue = queue(Limit::Bytes(Bytes::new(1_000)), 300, true);
        put(&mut queue, 1, 900);
        // Flow 2 has the 950 bytes, and flow 1 the 900: flow 2 loses its own packet and stays listed, but empty.
        assert_eq!(put(&mut queue, 2, 950), [(2, 950)]);
        assert_eq!((next(&mut queue), next(&mut queue)), (Some((1, 900, 0)), None));
        assert!(queue.flows.iter().all(|flow| !flow.active && flow.deficit == 0));
    }
}
