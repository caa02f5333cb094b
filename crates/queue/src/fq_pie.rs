//! FQ-PIE: a queue for each flow, each with PIE.
//!
//! # Idea
//! A hash of addresses, ports and protocol puts each packet into one of many sub-queues. Deficit round robin gives each
//! of them `quantum` bytes a round, and one that was empty goes first once, as in FQ-CoDel. A PIE controller of its own
//! drops, or marks, packets that arrive at a sub-queue. Nothing is dropped on the way out.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_fq_pie.c` and `net/sched/sch_pie.c`.
//! - RFC 8033 (PIE); RFC 8290, sections 4.1 and 4.2 (flow queueing and the two lists).
//! - Ramakrishnan et al., "FQ-PIE Queue Discipline in the Linux Kernel", LCN 2019.
//!
//! # State
//! | Linux | field | unit |
//! |---|---|---|
//! | `flows` | `flows` | - |
//! | `vars` | `Flow::controller` | see PIE |
//! | `deficit`, `backlog` | `Flow::deficit`, `Flow::bytes` | bytes |
//! | `new_flows`, `old_flows` | `new`, `old` | - |
//! | - (the timer scans all flows) | `updated` | sub-queues whose controllers an update changes |
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
//! - No RFC describes FQ-PIE. It follows Linux; `profile = "rfc8033"` gives its controllers the arithmetic of RFC 8033,
//!   whose differences PIE's page lists. RFC 8033, section 5.3 (inactive PIE), has no counterpart.
//! - A full queue drops the packet that arrives, as Linux does. FQ-CoDel drops from the longest sub-queue.
//! - `memory_limit` drops the packet that arrives and counts bytes of packets. Linux 6.1 only counts such packets in a
//!   statistic and takes them; it counts the memory that buffers take, some twice as much. By default the limit in
//!   packets comes first.
//! - `ecn_prob` is a probability; in Linux it is in per cent.
//! - All controllers are updated at multiples of `tupdate`. Recent kernels update at most 2048 sub-queues at a time, so
//!   that an update of more takes several jiffies. A controller that an update would not change is not updated,
//!   which cannot be observed.
//! - Hash: a mixing function of our own with a salt from the run's seed, where Linux uses its flow dissector and
//!   SipHash. Which flows share a sub-queue differs, how often they do does not.
//! - Sizes are those of IP packets; Linux counts the link-layer header too.
//!
//! # Limits
//! Flows whose hashes are equal share a sub-queue: one of n flows over 1024 sub-queues shares its own with a
//! probability of about n / 1024 (RFC 8290, section 5.3).
//!
//! # Vectors
//! `flows_share_the_link_by_bytes`, `a_new_flow_goes_first_once`, `a_full_queue_drops_the_arrival`,
//! `only_the_flow_that_fills_its_queue_loses_packets`, `the_timer_updates_only_controllers_that_change`.

use crate::fifo::{Waiting, carry_out};
use crate::flow_hash::{FlowHash, scaled};
use crate::pie::params::{
    ALPHA, BETA, BYTEMODE, DERANDOMIZE, DQ_RATE_ESTIMATOR, ECN, MAX_BURST, MTU, TARGET, TUPDATE, fits, profile,
};
use crate::pie::{Controller, Departure, PieConfig, PieProfile};
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_rng::Stream;
use narrows_units::{Bytes, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// The row of FQ-PIE.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "fq_pie",
        title: "Flow Queue PIE",
        doc: "FQ-PIE (Linux)",
        sources: &[
            "Linux 6.1, net/sched/sch_fq_pie.c",
            "RFC 8033, sections 4 and 5",
            "RFC 8290, sections 4.1 and 4.2",
            "Ramakrishnan et al., FQ-PIE Queue Discipline in the Linux Kernel, LCN 2019",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("fq_pie.rs"),
    },
    build,
};

const VARIABLES: &[Variable] = &[
    Variable::new("new_flows", "sub-queues", "Sub-queues in the list of new flows."),
    Variable::new("old_flows", "sub-queues", "Sub-queues in the list of old flows."),
    Variable::new("controlled", "sub-queues", "Sub-queues with a probability above 0."),
    Variable::new("p_max", "", "Largest probability of a sub-queue, at most 1."),
];

const PARAMS: &[Param] = &[
    TARGET,
    TUPDATE,
    ALPHA,
    BETA,
    MAX_BURST,
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
        name: "ecn_prob",
        doc: "Probability up to which ECN-capable packets are marked; above, they are dropped.",
        kind: Kind::Probability { default: 0.1 },
    },
    ECN,
    BYTEMODE,
    DQ_RATE_ESTIMATOR,
    DERANDOMIZE,
    MTU,
    profile("linux"),
];

fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    fits(params, limit)
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(FqPie::new(limit, FqPieConfig::of(params), chance))
}

/// Parameters of FQ-PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqPieConfig {
    /// PIE in each sub-queue; its `mark_ecnth` is `ecn_prob`.
    pub pie: PieConfig,
    /// Number of sub-queues, at least one.
    pub flows: u32,
    /// Bytes that a sub-queue may send in a round.
    pub quantum: Bytes,
    /// Bytes of packets that all sub-queues hold at most.
    pub memory_limit: Bytes,
}

impl Default for FqPieConfig {
    /// Linux 6.1.
    fn default() -> Self {
        Self {
            pie: PieConfig::new(PieProfile::Linux),
            flows: 1024,
            quantum: Bytes::new(1514),
            memory_limit: Bytes::new(32 << 20),
        }
    }
}

impl FqPieConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        Self {
            pie: PieConfig { mark_ecnth: params.probability("ecn_prob"), ..PieConfig::shared(params) },
            flows: u32::try_from(params.integer("flows")).unwrap_or(u32::MAX),
            quantum: params.size("quantum"),
            memory_limit: params.size("memory_limit"),
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
    controller: Controller,
    /// Whether it is in one of the two lists.
    listed: bool,
    /// Whether updates change its controller.
    updated: bool,
}

/// An FQ-PIE queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct FqPie {
    config: FqPieConfig,
    limit: Limit,
    rate: Rate,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Sub-queues whose controllers an update changes; the timer runs while there are any.
    updated: Vec<u32>,
    next_update: Instant,
    packets: u64,
    bytes: Bytes,
    hash: FlowHash,
    chance: Stream,
}

impl FqPie {
    /// An empty queue; `chance` gives the salt of its hash and the random numbers of its decisions.
    #[must_use]
    pub fn new(limit: Limit, config: FqPieConfig, mut chance: Stream) -> Self {
        let flow = Flow {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            deficit: 0,
            controller: Controller::new(&config.pie),
            listed: false,
            updated: false,
        };
        Self {
            flows: vec![flow; config.flows.max(1) as usize],
            config,
            limit,
            rate: Rate::ZERO,
            new: VecDeque::new(),
            old: VecDeque::new(),
            updated: Vec::new(),
            next_update: Instant::NEVER,
            packets: 0,
            bytes: Bytes::ZERO,
            hash: FlowHash::new(&mut chance),
            chance,
        }
    }

    /// Number of the sub-queue of a packet.
    fn number(&self, packet: &Packet) -> u32 {
        scaled(self.hash.of_flow(packet), self.flows.len())
    }

    fn has_room_for(&self, size: Bytes) -> bool {
        let fits = match self.limit {
            Limit::Packets(limit) => self.packets < limit.as_u64(),
            Limit::Bytes(limit) => self.bytes + size <= limit,
        };
        fits && self.bytes + size <= self.config.memory_limit
    }

    /// Has the controller of a sub-queue updated from the next multiple of `tupdate` on.
    fn keep_updated(&mut self, number: u32, now: Instant) {
        let flow = &mut self.flows[number as usize];
        if !flow.updated {
            flow.updated = true;
            self.updated.push(number);
        }
        if self.next_update == Instant::NEVER {
            self.next_update = self.config.pie.first_update_after(now);
        }
    }

    /// Removes the first packet of a sub-queue.
    fn next_of(&mut self, number: u32, now: Instant) -> Option<Dequeued> {
        let flow = &mut self.flows[number as usize];
        let Waiting { packet, enqueued } = flow.packets.pop_front()?;
        let size = packet.len();
        flow.bytes -= size;
        flow.deficit -= size.as_u64() as i64;
        self.bytes -= size;
        self.packets -= 1;
        let departure = Departure { size, enqueued, backlog: flow.bytes };
        flow.controller.on_departure(&self.config.pie, departure, now);
        Some(Dequeued { packet, enqueued, marked: false, subqueue: number })
    }
}

impl Queue for FqPie {
    fn enqueue(&mut self, mut packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let subqueue = self.number(&packet);
        let size = packet.len();
        let has_room = self.has_room_for(size);
        let flow = &mut self.flows[subqueue as usize];
        let verdict = if has_room {
            let verdict = flow.controller.on_arrival(&self.config.pie, &packet, flow.bytes, &mut self.chance);
            carry_out(verdict, &mut packet)
        } else {
            flow.controller.on_drop();
            Err(DropReason::Overflow)
        };
        let marked = match verdict {
            Ok(marked) => marked,
            Err(reason) => {
                dropped.push(Dropped { packet, reason, subqueue });
                return Enqueued { marked: false, subqueue };
            }
        };
        flow.packets.push_back(Waiting { packet, enqueued: now });
        flow.bytes += size;
        self.bytes += size;
        self.packets += 1;
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.config.quantum.as_u64() as i64;
            self.new.push_back(subqueue);
        }
        self.keep_updated(subqueue, now);
        Enqueued { marked, subqueue }
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
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
            if let Some(next) = self.next_of(number, now) {
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

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) {
        let (flows, config) = (&mut self.flows, &self.config.pie);
        self.updated.retain(|&number| {
            let flow = &mut flows[number as usize];
            flow.updated = !flow.controller.update(config, flow.bytes);
            flow.updated
        });
        self.next_update = if self.updated.is_empty() { Instant::NEVER } else { now + config.tupdate };
    }

    fn subqueues(&self) -> Vec<String> {
        (0..self.flows.len()).map(|number| number.to_string()).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("new_flows", self.new.len() as f64);
        visit("old_flows", self.old.len() as f64);
        let of = |&number: &u32| self.flows[number as usize].controller.report(&self.config.pie).probability;
        visit("controlled", self.updated.iter().map(of).filter(|&p| p > 0.0).count() as f64);
        visit("p_max", self.updated.iter().map(of).fold(0.0, f64::max));
    }
}

#[cfg(test)]
#[path = "fq_pie/tests.rs"]
mod tests;
