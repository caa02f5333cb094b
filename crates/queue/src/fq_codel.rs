//! FQ-CoDel: a queue for each flow, each with CoDel.
//!
//! # Idea
//! A hash of addresses, ports and protocol puts each packet into one of many sub-queues. Deficit round robin gives each
//! of them `quantum` bytes a round, so that flows share the link by bytes. A sub-queue that was empty goes first once:
//! flows that send little never wait behind those that fill the link. CoDel controls each sub-queue by itself.
//!
//! # Sources
//! - RFC 8290: sections 3 (flow queueing), 4.1 (enqueue), 4.2 (dequeue, and the two lists), 5.2 (parameters).
//! - Linux 6.1, `net/sched/sch_fq_codel.c`: what RFC 8290 describes.
//! - Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995.
//!
//! # State
//! | RFC 8290 | Linux | field |
//! |---|---|---|
//! | queues | `flows`, `backlogs` | `flows` |
//! | byte credits | `deficit` | `Flow::deficit`, bytes |
//! | lists of new and old queues | `new_flows`, `old_flows` | `new`, `old` |
//! | hash and its random salt | `skb_get_hash_perturb`, `perturbation` | `FlowHash` |
//!
//! ```text
//!              a packet arrives             no credit left, or its turn as a new one is over
//!   empty -----------------------> new --------------------------------------------> old
//!     ^                                                                               |
//!     +-------------------------------------------------------------------------------+
//!                               its turn comes, and it is empty
//! ```
//!
//! # Differences
//! - Sizes are those of IP packets; Linux counts the link-layer header too.
//! - `memory_limit` counts bytes of packets; Linux counts the memory that buffers take, some twice as much.
//! - Hash: a mixing function of our own with a salt from the run's seed, where Linux uses its flow dissector and
//!   SipHash. Which flows share a sub-queue differs, how often they do does not.
//! - Overflow drops packets from the head of the sub-queue with the most bytes, until half of them or `drop_batch`
//!   packets are gone, as Linux does (RFC 8290, sections 4.1 and 5.2.8).
//! - `ce_threshold` is an hour by default, which is never reached; in Linux it is off.
//!
//! # Limits
//! Flows whose hashes are equal share a sub-queue: one of n flows over 1024 sub-queues shares its own with a
//! probability of about n / 1024 (RFC 8290, section 5.3).
//!
//! # Vectors
//! `flows_share_the_link_by_bytes`, `a_new_flow_goes_first_once`, `overflow_drops_half_of_the_fattest_flow`,
//! `an_emptied_new_flow_waits_a_round_as_an_old_one`.

use crate::codel::{Codel, CodelConfig, INTERVAL, MTU, PROFILE, TARGET, below_interval};
use crate::fifo::{Waiting, carry_out};
use crate::flow_hash::{FlowHash, scaled};
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView, Verdict};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// The row of FQ-CoDel.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "fq_codel",
        title: "Flow Queue CoDel",
        doc: "FQ-CoDel (RFC 8290)",
        sources: &[
            "RFC 8290, sections 3 to 5",
            "Linux 6.1, net/sched/sch_fq_codel.c",
            "Shreedhar and Varghese, Efficient Fair Queuing using Deficit Round Robin, SIGCOMM 1995",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("fq_codel.rs"),
    },
    build,
};

const VARIABLES: &[Variable] = &[
    Variable::new("new_flows", "sub-queues", "Sub-queues in the list of new flows."),
    Variable::new("old_flows", "sub-queues", "Sub-queues in the list of old flows."),
    Variable::new("dropping", "sub-queues", "Sub-queues in which CoDel drops or marks."),
];

const PARAMS: &[Param] = &[
    TARGET,
    INTERVAL,
    Param {
        name: "flows",
        doc: "Number of sub-queues.",
        kind: Kind::Integer { unit: "sub-queues", default: 1024, min: 1, max: 65_536 },
    },
    Param {
        name: "quantum",
        doc: "Bytes that a sub-queue may send in a round.",
        kind: Kind::Size { default: Bytes::new(1514), min: Bytes::new(256), max: Bytes::new(1_000_000) },
    },
    Param {
        name: "memory_limit",
        doc: "Bytes of packets that all sub-queues hold at most.",
        kind: Kind::Size { default: Bytes::new(32 << 20), min: Bytes::new(1500), max: Bytes::new(1_000_000_000) },
    },
    Param {
        name: "drop_batch",
        doc: "Packets that an overflow drops at most from the longest sub-queue.",
        kind: Kind::Integer { unit: "packets", default: 64, min: 1, max: 65_536 },
    },
    Param {
        name: "ecn",
        doc: "Mark ECN-capable packets (RFC 3168) instead of dropping them.",
        kind: Kind::Switch { default: true },
    },
    Param {
        name: "ce_threshold",
        doc: "Sojourn time above which each ECN-capable packet is marked; the default is never reached.",
        kind: Kind::Time {
            default: Duration::from_secs(3600),
            min: Duration::from_micros(1),
            max: Duration::from_secs(3600),
        },
    },
    MTU,
    PROFILE,
];

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    below_interval(params)
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(FqCodel::new(limit, FqCodelConfig::of(params), chance))
}

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// CoDel in each sub-queue.
    pub codel: CodelConfig,
    /// Number of sub-queues, at least one.
    pub flows: u32,
    /// Bytes that a sub-queue may send in a round.
    pub quantum: Bytes,
    /// Bytes of packets that all sub-queues hold at most.
    pub memory_limit: Bytes,
    /// Packets that an overflow drops at most.
    pub drop_batch: u64,
    /// Sojourn time above which each ECN-capable packet is marked.
    pub ce_threshold: Duration,
}

impl Default for FqCodelConfig {
    /// RFC 8290, section 5.2, and Linux's batch and memory.
    fn default() -> Self {
        Self {
            codel: CodelConfig { ecn: true, ..CodelConfig::default() },
            flows: 1024,
            quantum: Bytes::new(1514),
            memory_limit: Bytes::new(32 << 20),
            drop_batch: 64,
            ce_threshold: Duration::from_secs(3600),
        }
    }
}

impl FqCodelConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            codel: CodelConfig::of(params),
            flows: u32::try_from(params.integer("flows")).unwrap_or(u32::MAX),
            quantum: params.size("quantum"),
            memory_limit: params.size("memory_limit"),
            drop_batch: params.integer("drop_batch"),
            ce_threshold: params.time("ce_threshold"),
        }
    }
}

/// A sub-queue.
#[derive(Clone, Debug)]
struct Flow {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
    /// Bytes that it may still send in this round.
    deficit: i64,
    codel: Codel,
    /// Whether it is in one of the two lists.
    listed: bool,
}

/// An FQ-CoDel queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    limit: Limit,
    rate: Rate,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: Bytes,
    hash: FlowHash,
}

impl FqCodel {
    /// An empty queue; `chance` gives the salt of its hash.
    #[must_use]
    pub fn new(limit: Limit, config: FqCodelConfig, mut chance: Stream) -> Self {
        let flow = Flow {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            deficit: 0,
            codel: Codel::new(config.codel),
            listed: false,
        };
        Self {
            flows: vec![flow; config.flows.max(1) as usize],
            config,
            limit,
            rate: Rate::ZERO,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: Bytes::ZERO,
            hash: FlowHash::new(&mut chance),
        }
    }

    /// Number of the sub-queue of a packet.
    fn number(&self, packet: &Packet) -> u32 {
        scaled(self.hash.of_flow(packet), self.flows.len())
    }

    fn is_over_limit(&self) -> bool {
        let over = match self.limit {
            Limit::Packets(limit) => self.packets > limit.as_u64(),
            Limit::Bytes(limit) => self.bytes > limit,
        };
        over || self.bytes > self.config.memory_limit
    }

    /// Drops from the head of the sub-queue with the most bytes, until half of them or a batch of packets are gone.
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Dropped>) {
        let fattest = self.flows.iter().enumerate().max_by_key(|(number, flow)| (flow.bytes, usize::MAX - number));
        let Some((number, _)) = fattest else { return };
        let flow = &mut self.flows[number];
        let half = flow.bytes / 2;
        let (mut count, mut bytes) = (0, Bytes::ZERO);
        while let Some(Waiting { packet, .. }) = flow.packets.pop_front() {
            count += 1;
            bytes += packet.len();
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue: number as u32 });
            if count == self.config.drop_batch || bytes >= half {
                break;
            }
        }
        flow.bytes -= bytes;
        flow.codel.add_drops(count);
        self.packets -= count;
        self.bytes -= bytes;
    }

    /// The next packet of a sub-queue that CoDel does not drop.
    fn next_of(&mut self, number: u32, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        let FqCodelConfig { codel: CodelConfig { ecn, .. }, ce_threshold, .. } = self.config;
        let flow = &mut self.flows[number as usize];
        while let Some(Waiting { mut packet, enqueued }) = flow.packets.pop_front() {
            let size = packet.len();
            flow.bytes -= size;
            self.bytes -= size;
            self.packets -= 1;
            let capable = packet.ip.ecn().is_capable();
            let verdict = match flow.codel.decide(ecn && capable, enqueued, self.bytes, now) {
                Verdict::Pass if capable && now.since(enqueued) > ce_threshold => Verdict::Mark,
                verdict => verdict,
            };
            match carry_out(verdict, &mut packet) {
                Ok(marked) => return Some(Dequeued { packet, enqueued, marked, subqueue: number }),
                Err(reason) => dropped.push(Dropped { packet, reason, subqueue: number }),
            }
        }
        flow.codel.ran_empty();
        None
    }
}

impl Queue for FqCodel {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let number = self.number(&packet);
        let size = packet.len();
        let flow = &mut self.flows[number as usize];
        flow.packets.push_back(Waiting { packet, enqueued: now });
        flow.bytes += size;
        self.bytes += size;
        self.packets += 1;
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.config.quantum.as_u64() as i64;
            self.new.push_back(number);
        }
        while self.is_over_limit() {
            self.drop_from_fattest(dropped);
        }
        Enqueued { marked: false, subqueue: number }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.config.quantum.as_u64() as i64;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            if let Some(next) = self.next_of(number, now, dropped) {
                self.flows[number as usize].deficit -= next.packet.len().as_u64() as i64;
                return Some(next);
            }
            if is_new {
                self.new.pop_front();
            } else {
                self.old.pop_front();
            }
            // A new sub-queue that has run empty waits a round as an old one. If it left the lists at once, the next
            // packet would make it a new one again, and the old ones could starve.
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else {
                self.flows[number as usize].listed = false;
            }
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
        visit("new_flows", self.new.len() as f64);
        visit("old_flows", self.old.len() as f64);
        let listed = self.new.iter().chain(&self.old).map(|&number| &self.flows[number as usize]);
        visit("dropping", listed.filter(|flow| flow.codel.is_dropping()).count() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};
    use narrows_wire::{Ecn, Ip, Transport, UdpRepr};

    const LIMIT: Limit = Limit::Packets(Packets::new(10_240));

    fn queue(limit: Limit, config: FqCodelConfig) -> FqCodel {
        FqCodel::new(limit, config, Stream::new(1, 0, "test", "fq_codel"))
    }

    fn packet(flow: u16, size: u32, ecn: Ecn) -> Packet {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut ip = Ip::between(host, host);
        ip.set_ecn(ecn);
        let ports = UdpRepr { src_port: flow, dst_port: 9, rtp: None };
        Packet { ip, transport: Transport::Udp(ports), payload_len: size - 28 }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000 * ms)
    }

    /// Puts `count` packets of a flow into the queue.
    fn put(queue: &mut FqCodel, flow: u16, size: u32, count: usize) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        for _ in 0..count {
            queue.enqueue(packet(flow, size, Ecn::NotEct), at(0), &mut dropped);
        }
        dropped
    }

    /// Source ports of the next packets.
    fn order(queue: &mut FqCodel, count: usize) -> Vec<u16> {
        let mut dropped = Vec::new();
        let port = |next: Dequeued| next.packet.flow().src_port;
        let order = (0..count).filter_map(|_| queue.dequeue(at(0), &mut dropped).map(port)).collect();
        assert!(dropped.is_empty());
        order
    }

    #[test]
    fn defaults_of_the_row_are_those_of_the_type() {
        assert_eq!(FqCodelConfig::of(&Params::defaults(PARAMS)), FqCodelConfig::default());
    }

    #[test]
    fn flows_share_the_link_by_bytes() {
        let mut queue = queue(LIMIT, FqCodelConfig::default());
        put(&mut queue, 1, 1500, 100);
        put(&mut queue, 2, 500, 300);
        put(&mut queue, 3, 1500, 100);
        let order = order(&mut queue, 200);
        let bytes = |flow| order.iter().filter(|&&of| of == flow).count() * if flow == 2 { 500 } else { 1500 };
        let shares = [1, 2, 3].map(bytes);
        assert!(shares.iter().all(|&share| share.abs_diff(shares[0]) <= 1514 + 1500), "{shares:?}");
    }

    #[test]
    fn a_new_flow_goes_first_once() {
        let mut queue = queue(LIMIT, FqCodelConfig { quantum: Bytes::new(1500), ..FqCodelConfig::default() });
        put(&mut queue, 1, 1500, 10);
        put(&mut queue, 2, 1500, 10);
        assert_eq!(order(&mut queue, 3), [1, 2, 1]);
        put(&mut queue, 3, 1500, 10);
        assert_eq!(order(&mut queue, 6), [3, 2, 3, 1, 2, 3], "first, and then in turn");
    }

    #[test]
    fn an_emptied_new_flow_waits_a_round_as_an_old_one() {
        let mut queue = queue(LIMIT, FqCodelConfig { quantum: Bytes::new(1500), ..FqCodelConfig::default() });
        put(&mut queue, 1, 500, 10);
        order(&mut queue, 4);
        assert_eq!((queue.new.len(), queue.old.len()), (0, 1));
        put(&mut queue, 2, 100, 1);
        assert_eq!(order(&mut queue, 2), [2, 1], "first, and then its queue is empty");
        put(&mut queue, 2, 100, 1);
        assert_eq!((queue.new.len(), queue.old.len()), (0, 2), "it is not new again");
        assert_eq!(order(&mut queue, 3), [1, 2, 1]);
        put(&mut queue, 2, 100, 1);
        assert_eq!(queue.new.len(), 1, "after a round it is");
    }

    #[test]
    fn overflow_drops_half_of_the_fattest_flow() {
        let mut queue = queue(Limit::Packets(Packets::new(100)), FqCodelConfig::default());
        assert!(put(&mut queue, 1, 100, 60).is_empty());
        assert!(put(&mut queue, 2, 1000, 40).is_empty());
        let dropped = put(&mut queue, 1, 100, 1);
        let of = |port| dropped.iter().filter(|d| d.packet.flow().src_port == port).count();
        assert_eq!((of(1), of(2)), (0, 20), "most bytes, not most packets");
        assert!(dropped.iter().all(|d| d.reason == DropReason::Overflow && d.subqueue == dropped[0].subqueue));
        assert_eq!((queue.view().packets.as_u64(), queue.view().bytes.as_u64()), (81, 26_100));
        let mut small = FqCodel::new(
            Limit::Packets(Packets::new(100)),
            FqCodelConfig { drop_batch: 3, ..FqCodelConfig::default() },
            Stream::new(1, 0, "test", "fq_codel"),
        );
        assert_eq!(put(&mut small, 1, 100, 101).len(), 3);
    }

    #[test]
    fn memory_is_bounded_in_bytes() {
        let config = FqCodelConfig { memory_limit: Bytes::new(10_000), drop_batch: 1, ..FqCodelConfig::default() };
        let mut queue = queue(LIMIT, config);
        assert_eq!(put(&mut queue, 1, 1000, 12).len(), 2);
        assert_eq!(queue.view().bytes, Bytes::new(10_000));
    }

    #[test]
    fn codel_controls_each_flow_by_itself() {
        let mut queue = queue(LIMIT, FqCodelConfig::default());
        let mut dropped = Vec::new();
        let (mut last, mut lost) = ([0; 2], [0, 0]);
        // Flow 1 keeps 30 packets waiting, flow 2 sends one a turn; one packet leaves each millisecond.
        for _ in 0..30 {
            queue.enqueue(packet(1, 1500, Ecn::NotEct), at(0), &mut dropped);
        }
        for ms in 1..1000 {
            queue.enqueue(packet(1, 1500, Ecn::NotEct), at(ms), &mut dropped);
            if ms % 10 == 0 {
                queue.enqueue(packet(2, 1500, Ecn::NotEct), at(ms), &mut dropped);
            }
            if let Some(next) = queue.dequeue(at(ms), &mut dropped) {
                last[usize::from(next.packet.flow().src_port) - 1] = at(ms).since(next.enqueued).as_millis();
            }
            for drop in dropped.drain(..) {
                lost[usize::from(drop.packet.flow().src_port) - 1] += 1;
            }
        }
        assert!(lost[0] > 5 && lost[1] == 0, "{lost:?}");
        assert!(last[1] <= 1, "{last:?}");
    }

    #[test]
    fn packets_are_marked_above_the_threshold() {
        let config = FqCodelConfig { ce_threshold: Duration::from_millis(1), ..FqCodelConfig::default() };
        let mut queue = queue(LIMIT, config);
        let mut dropped = Vec::new();
        for ecn in [Ecn::Ect1, Ecn::NotEct, Ecn::Ect0] {
            queue.enqueue(packet(1, 1500, ecn), at(0), &mut dropped);
        }
        let marks = [1, 2, 3].map(|ms| queue.dequeue(at(ms), &mut dropped).map(|next| next.marked));
        assert_eq!(marks, [Some(false), Some(false), Some(true)], "strictly above; what is not capable passes");
        assert!(dropped.is_empty());
    }

    #[test]
    fn the_hash_spreads_flows_and_depends_on_the_salt() {
        let spread = |seed| {
            let queue = FqCodel::new(LIMIT, FqCodelConfig::default(), Stream::new(seed, 0, "test", "fq_codel"));
            (0..1024).map(|flow| queue.number(&packet(flow, 100, Ecn::NotEct))).collect::<Vec<_>>()
        };
        let (one, other) = (spread(1), spread(2));
        assert_eq!(one, spread(1));
        assert_ne!(one, other);
        let mut used = one;
        used.sort_unstable();
        used.dedup();
        // 1024 balls in 1024 bins leave a share of 1/e empty: 647 are used, with a deviation of 10.
        assert!(used.len().abs_diff(647) < 50, "{}", used.len());
    }

    #[test]
    fn the_owner_learns_of_labels_limit_and_rate() {
        let mut queue = queue(LIMIT, FqCodelConfig::default());
        queue.set_rate(Rate::mbps(10));
        assert_eq!((queue.view().rate, queue.view().limit), (Rate::mbps(10), LIMIT));
        let labels = queue.subqueues();
        assert_eq!((labels.len(), labels[0].as_str(), labels[1023].as_str()), (1024, "0", "1023"));
    }

    #[test]
    fn capable_packets_are_marked_only_where_ecn_is_on() {
        for (ecn, expected) in [(true, (true, 0)), (false, (false, 1))] {
            let codel = CodelConfig { ecn, ..CodelConfig::default() };
            let mut queue = queue(LIMIT, FqCodelConfig { codel, ..FqCodelConfig::default() });
            let mut dropped = Vec::new();
            for _ in 0..10 {
                queue.enqueue(packet(1, 1500, Ecn::Ect0), at(0), &mut dropped);
            }
            // Above the target from 10 ms on, so the first hit is at 110 ms.
            assert!(!queue.dequeue(at(10), &mut dropped).unwrap().marked);
            let marked = queue.dequeue(at(110), &mut dropped).unwrap().marked;
            assert_eq!((marked, dropped.len()), expected);
        }
    }
}
