//! CAKE: a shaper, fair queueing among hosts and flows, and COBALT in each sub-queue.
//!
//! # Idea
//! A home link has one bottleneck and many users. CAKE's shaper keeps the queue out of the modem, and counts what the
//! modem adds to packets. Eight-way set-associative hashing gives almost every flow a sub-queue of its own. Hosts share
//! the link first, and then the flows of a host: a host with many flows gets no more than one with few. Sub-queues that
//! send little go first. COBALT controls each sub-queue, and an overflow takes from the longest.
//!
//! This is one tier (tc's `besteffort`): the DSCP of a packet does not matter, whatever `diffserv` words tc has.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_cake.c`; tc-cake(8) for the names of the parameters.
//! - Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//!   LANMAN 2018.
//! - MacGregor and Shi, "Deficits for Bursty Latency-critical Flows: DRR++", ICON 2000.
//!
//! # State
//! | Linux | here | unit |
//! |---|---|---|
//! | `time_next_packet` | `Shaper::next` | time |
//! | `flow_quantum`, `quantum_div` | `Scheduler::quantum`, `share` | bytes, 1/65536 of it |
//! | `flows[].set`, `deficit` | `Entry::set`, `deficit` | -, bytes |
//! | `new_flows`, `old_flows`, `decaying_flows` | `Lists` | - |
//! | `hosts[].srchost_bulk_flow_count` and `dsthost_..` | `Hosts::bulk` | sub-queues |
//! | `tags`, `srchost_tag`, `dsthost_tag` | `Table::tags` | - |
//! | `way_hits`, `way_misses`, `way_collisions` | `Classifier` | packets |
//! | `overflow_heap` | `Longest` | - |
//! | `cvars` | `Controller` | see COBALT |
//!
//! ```text
//!         a packet arrives           first turn used up, packets wait
//!   idle ------------------> sparse ----------------------------------> bulk --+ its turn is used up:
//!                              |                                         ^  ^--+ + quantum / load
//!                              | first turn used up, empty               | a packet arrives
//!                              +---------------------------> sparse, waits
//!
//!   its turn comes, and it is empty: any of these becomes decaying, or idle if COBALT is at rest
//!   a packet arrives while it decays: sparse
//! ```
//!
//! The load of a sub-queue is the number of bulk sub-queues of its source or of its destination, whichever is larger
//! and whichever of the two `flowmode` looks at.
//!
//! # Differences
//! | question | Linux | here |
//! |---|---|---|
//! | tiers | `besteffort`, `precedence`, `diffserv3` (default), 4 and 8 | one, as `besteffort` |
//! | size of a packet | with its Ethernet header; IP if `overhead` is given | IP; Linux's default is `overhead = 14` |
//! | time of a packet | rounded down to 1 ns each | the remainder is carried, so that the rate is exact |
//! | `memlimit` | memory that buffers take, often twice the bytes | bytes of packets |
//! | rates below 512 b/s | count as 512 b/s | are refused |
//! | a packet of 0 bytes or less, by `overhead` | wraps around to 4 GB | counts as 1 byte |
//! | equally long sub-queues at an overflow | by the history of the heap | the lowest number loses |
//! | hash | flow dissector and SipHash, 32 bits, modulo 1024 | a mixing function with a salt from the seed, 64 bits |
//!
//! - Left out: `ingress` (and the fail-safe of the shaper that only it needs), `autorate-ingress`, `ack-filter`, `nat`,
//!   `wash`, `fwmark`, filters, and `split-gso`: packets here are never larger than the MTU of their host.
//! - `bandwidth` does not follow the link: it should be below its rate. Without it, the link's rate rules, the quantum
//!   is 1514 bytes, and COBALT has the times of `rtt`.
//! - With it, the quantum is what the rate brings in 1/4096 s, from 300 to 1514 bytes, and `target` is at least the
//!   time of one and a half packets of 1514 bytes, as in Linux.
//! - A collision moves a bulk sub-queue from its old hosts to the new ones, in each mode that shares among hosts. So
//!   does Linux 6.1.192 (`cake_dec_srchost_bulk_flow_count`).
//! - Bytes of the first turn of a sub-queue are rounded down. Linux 6.1.192 rounds them at random, as those of later
//!   turns are in both (`cake_get_flow_quantum`).
//! - Linux sets a timer where decaying sub-queues are left in an empty queue. Its handler finds nothing to do, so there
//!   is none here. They decay while other packets are sent, one sub-queue for each packet.
//! - COBALT's own differences are on its page. Its `profile` is a parameter here too.
//!
//! # Limits
//! - If the link is slower than `bandwidth` for a while, the shaper falls behind, and the link then sends what it may
//!   until the shaper has caught up or the queue is empty. So does Linux.
//! - A turn of a host with n bulk sub-queues brings each a quantum / n, so that a full-sized packet takes n turns, and
//!   up to five times as many with a quantum of 300. The cost of a packet grows with n. So it does in Linux.
//! - In `triple-isolate`, flows to one destination count at it: one source with eight flows and one with one flow, all
//!   to one destination, share the link by flows.
//! - The queues of 802.11 channels ask again only when the next packet arrives, and then send later than the shaper
//!   allows: shape on a link instead.
//!
//! # Vectors
//! `eight_flows_of_a_set_have_eight_sub_queues_and_the_ninth_collides`, `hosts_share_the_link_before_flows_do`,
//! `cells_of_53_carry_48_bytes`, `packets_leave_at_the_times_of_the_shaper`, `the_longest_sub_queue_pays`.

mod hashing;
mod lists;
mod longest;
mod queue;
mod scheduler;
mod shaper;

use crate::cobalt::{CobaltProfile, PROFILE};
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Value, Word};
use crate::{Limit, Queue};
use narrows_units::{Bytes, Duration, Rate, Variable};

pub use hashing::FlowMode;
pub use queue::Cake;
pub use shaper::Atm;

/// The row of CAKE.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "cake",
        title: "Common Applications Kept Enhanced",
        doc: "CAKE (Linux), with one tier",
        sources: &[
            "Linux 6.1, net/sched/sch_cake.c",
            "Høiland-Jørgensen, Täht, Morton, Piece of CAKE, LANMAN 2018",
            "MacGregor and Shi, Deficits for Bursty Latency-critical Flows: DRR++, ICON 2000",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("cake.rs"),
    },
    build,
};

const VARIABLES: &[Variable] = &[
    Variable::new("sparse_flows", "sub-queues", "Sub-queues that send little."),
    Variable::new("bulk_flows", "sub-queues", "Sub-queues that take turns."),
    Variable::new("decaying_flows", "sub-queues", "Empty sub-queues whose COBALT has not come to rest."),
    Variable::new("unresponsive_flows", "sub-queues", "Sub-queues in which BLUE drops."),
    Variable::new("way_hits", "packets", "Packets found in another sub-queue of their set."),
    Variable::new("way_misses", "packets", "Packets that began to use a sub-queue."),
    Variable::new("way_collisions", "packets", "Packets that joined the sub-queue of another flow."),
    Variable::state("throttled", "Whether the shaper holds a packet back.", &["open", "throttled"]),
];

const PARAMS: &[Param] = &[
    Param {
        name: "bandwidth",
        doc: "Rate of the shaper, below that of the link. \"0 b/s\" is none (`unlimited`).",
        kind: Kind::Rate { default: Rate::ZERO, min: Rate::ZERO, max: Rate::gbps(10_000) },
    },
    Param {
        name: "rtt",
        doc: "Round-trip time of most flows: COBALT's interval. Its target is 5 % of it.",
        kind: Kind::Time {
            default: Duration::from_millis(100),
            min: Duration::from_micros(1),
            max: Duration::from_secs(3600),
        },
    },
    Param {
        name: "flowmode",
        doc: "What packets are told apart by, and who shares the link.",
        kind: Kind::Choice {
            default: "triple-isolate",
            words: &[
                Word("flowblind", "one sub-queue for all"),
                Word("srchost", "a sub-queue for each source"),
                Word("dsthost", "a sub-queue for each destination"),
                Word("hosts", "a sub-queue for each pair of hosts"),
                Word("flows", "a sub-queue for each flow"),
                Word("dual-srchost", "sources share the link, and then the flows of each"),
                Word("dual-dsthost", "destinations share the link, and then the flows of each"),
                Word("triple-isolate", "sources and destinations share the link, and then the flows of each"),
            ],
        },
    },
    Param {
        name: "overhead",
        doc: "Bytes that the link adds to each IP packet; whole, and negative if it takes some away.",
        kind: Kind::Number { unit: "bytes", default: 0.0, min: -64.0, max: 256.0 },
    },
    Param {
        name: "mpu",
        doc: "Smallest size of a packet on the link, with `overhead` and without cells.",
        kind: Kind::Size { default: Bytes::ZERO, min: Bytes::ZERO, max: Bytes::new(256) },
    },
    Param {
        name: "atm",
        doc: "Cells in which the link carries packets.",
        kind: Kind::Choice {
            default: "noatm",
            words: &[
                Word("noatm", "none"),
                Word("atm", "ATM: 53 bytes for each 48, the last cell padded"),
                Word("ptm", "PTM: a byte more for each 64, or part of them"),
            ],
        },
    },
    Param {
        name: "memlimit",
        doc: "Bytes of packets that all sub-queues hold at most. \"0 B\" is four times what `bandwidth` brings in `rtt`, \
              from 4 MiB to 10240 packets of 1514 bytes, which it is without `bandwidth`.",
        kind: Kind::Size { default: Bytes::ZERO, min: Bytes::ZERO, max: Bytes::new(1_000_000_000) },
    },
    PROFILE,
];

/// Slowest shaper: 64 bytes a second (`MIN_RATE`).
const SLOWEST: Rate = Rate::bps(512);

/// Least memory that may be given.
const LEAST: Bytes = Bytes::new(1500);

/// Least and most memory that CAKE takes by itself (`cake_reconfigure`).
const MEMORY: (Bytes, Bytes) = (Bytes::new(4 << 20), Bytes::new(10_240 * 1514));

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    let bandwidth = params.rate("bandwidth");
    if !bandwidth.is_zero() && bandwidth < SLOWEST {
        let allowed = format!("at least {SLOWEST}, or \"0 b/s\" for no shaper");
        return Err(Broken { param: "bandwidth", reason: "is too low for a shaper".to_owned(), allowed });
    }
    let overhead = params.number("overhead");
    if overhead % 1.0 != 0.0 {
        let reason = "is not a whole number of bytes".to_owned();
        return Err(Broken { param: "overhead", reason, allowed: "whole numbers from -64 to 256".to_owned() });
    }
    let memlimit = params.size("memlimit");
    if !memlimit.is_zero() && memlimit < LEAST {
        let allowed = format!("at least {LEAST}, or \"0 B\" for the default");
        return Err(Broken { param: "memlimit", reason: "does not hold a packet".to_owned(), allowed });
    }
    if memlimit.is_zero() {
        params.set("memlimit", Value::Size(memory_for(bandwidth, params.time("rtt"))));
    }
    Ok(())
}

/// The memory that CAKE takes by itself.
fn memory_for(bandwidth: Rate, rtt: Duration) -> Bytes {
    let (least, most) = MEMORY;
    if bandwidth.is_zero() { most } else { bandwidth.bytes_in(rtt * 4).max(least).min(most) }
}

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Cake::new(limit, CakeConfig::of(params), chance))
}

/// Parameters of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeConfig {
    /// Rate of the shaper; zero for none.
    pub bandwidth: Rate,
    /// Round-trip time of most flows.
    pub rtt: Duration,
    /// What packets are told apart by, and who shares the link.
    pub flowmode: FlowMode,
    /// Bytes that the link adds to each IP packet.
    pub overhead: i64,
    /// Smallest size of a packet on the link.
    pub mpu: Bytes,
    /// Cells in which the link carries packets.
    pub atm: Atm,
    /// Bytes of packets that all sub-queues hold at most.
    pub memlimit: Bytes,
    /// How COBALT computes square roots.
    pub profile: CobaltProfile,
}

impl Default for CakeConfig {
    /// Linux 6.1, with one tier.
    fn default() -> Self {
        Self {
            bandwidth: Rate::ZERO,
            rtt: Duration::from_millis(100),
            flowmode: FlowMode::TripleIsolate,
            overhead: 0,
            mpu: Bytes::ZERO,
            atm: Atm::Noatm,
            memlimit: MEMORY.1,
            profile: CobaltProfile::Linux,
        }
    }
}

impl CakeConfig {
    /// The values of the row's parameters, after [`fit`].
    fn of(params: &Params) -> Self {
        Self {
            bandwidth: params.rate("bandwidth"),
            rtt: params.time("rtt"),
            flowmode: match params.choice("flowmode") {
                "flowblind" => FlowMode::Flowblind,
                "srchost" => FlowMode::Srchost,
                "dsthost" => FlowMode::Dsthost,
                "hosts" => FlowMode::Hosts,
                "flows" => FlowMode::Flows,
                "dual-srchost" => FlowMode::DualSrchost,
                "dual-dsthost" => FlowMode::DualDsthost,
                _ => FlowMode::TripleIsolate,
            },
            overhead: params.number("overhead") as i64,
            mpu: params.size("mpu"),
            atm: match params.choice("atm") {
                "atm" => Atm::Atm,
                "ptm" => Atm::Ptm,
                _ => Atm::Noatm,
            },
            memlimit: params.size("memlimit"),
            profile: CobaltProfile::of(params),
        }
    }
}

#[cfg(test)]
#[path = "cake/row_tests.rs"]
mod tests;
