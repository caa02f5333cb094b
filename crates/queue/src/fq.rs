//! FQ: Linux's fair queue, with a rate for each flow.
//!
//! # Idea
//! Each flow has a queue of its own, and the queues share the link by bytes in turns of `quantum`. A flow that appears
//! sends `initial_quantum` bytes before the others go on, which is a TCP's initial window. A flow holds `flow_limit`
//! packets at most, and sends `maxrate` at most: while it is ahead of that rate, the link serves the others, or waits.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_fq.c`: `fq_classify`, `fq_enqueue`, `fq_check_throttled`, `fq_dequeue`, `fq_init`.
//! - tc-fq(8) for the names of the parameters.
//! - Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995.
//!
//! # State
//! | Linux | field | unit |
//! |---|---|---|
//! | `fq_root`, `orphan_mask` | `flows`, one for each value of the hash | |
//! | `new_flows`, `old_flows` | `new`, `old` | |
//! | `delayed` | `throttled`, by time | |
//! | `credit` | `Flow::credit` | bytes |
//! | `time_next_packet` | `Flow::next` | ns |
//! | `age` | `Flow::idle_since` | ns |
//! | `watchdog` | `wake`: when the first throttled flow may send | ns |
//!
//! ```text
//!           a packet arrives            no credit left, or empty while others are old
//!   idle ----------------------> new -----------------------------------------------> old
//!    ^                            |                                                   | |  ^
//!    |                            | ahead of maxrate             ahead of maxrate     | |  | its time comes
//!    |                            +----------------> throttled <----------------------+ |  |
//!    |                                               throttled -------------------------|--+
//!    +----------------------------------------------------------------------------------+
//!                                  its turn comes, and it is empty
//! ```
//!
//! # Differences
//! | question | Linux | here |
//! |---|---|---|
//! | what a flow is | a socket; in a router, one of 1024 hashes (`orphan_mask`) | one of `flows` hashes |
//! | pacing rate of a socket | obeyed | hosts pace by themselves (`pacing`) |
//! | departure times in packets (`horizon`) | obeyed | packets have none |
//! | packets of priority 7 (`TC_PRIO_CONTROL`) | go first | are not told apart: no DSCP maps to it in a router |
//! | `maxrate`, `ce_threshold` that are not given | none | "0 b/s" is none; an hour is never reached |
//! | `limit` | 10000 packets by default | the queue's limit, in packets or bytes |
//! | `refill_delay` | in ticks of the kernel (1 to 10 ms) | exact |
//! | `timer_slack` | 10 us | none: a packet leaves at the nanosecond of its time |
//! | bytes of a packet | with its link-layer header | IP |
//!
//! - `maxrate`: as in Linux, a flow sends until its credit is used and then pauses for what `quantum`, or the last
//!   packet if it is larger, takes at the rate. Up to `low_rate_threshold`, it pauses after each packet for what that
//!   packet takes. A flow that sends late makes up for it: the lateness, at most half of the pause, shortens the pause.
//!   No pause is longer than a second; `fit` refuses the rates that this would break.
//! - `ce_threshold` counts from the time that `maxrate` allows, not from the arrival, as in Linux.
//! - Linux forgets idle flows only when it knows more than 2048, which a hash of 1024 values never reaches.
//! - A queue without packets does not look at its lists, so that the last flow stays listed. That is also Linux's way.
//!
//! # Limits
//! `initial_quantum` is for the first packets of a sub-queue in a run; a later flow with the same hash has what credit
//! is left, and at least `quantum` after `refill_delay`. Flows whose hashes are equal share a sub-queue. A flow that
//! was idle may exceed `maxrate` by its credit and by half a pause.
//!
//! # Vectors
//! `a_new_flow_sends_its_initial_quantum_first`, `credit_is_refilled_only_after_more_than_the_delay`,
//! `a_flow_holds_its_limit_and_no_more`, `maxrate_lets_a_quantum_leave_at_a_time`,
//! `lateness_shortens_a_pause_by_half_at_most`, `low_rates_pause_after_each_packet`.

mod params;

pub use params::FqConfig;

use crate::fifo::{Waiting, carry_out};
use crate::flow_hash::{FlowHash, scaled};
use crate::registry::{Discipline, Row, Setup};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView, Verdict};
use core::cmp::Reverse;
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use params::{LONGEST_PAUSE, PARAMS, fit};
use std::collections::{BinaryHeap, VecDeque};

/// The row of Linux's fair queue.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "fq",
        title: "Fair queue",
        doc: "Linux's fair queue (sch_fq)",
        sources: &[
            "Linux 6.1, net/sched/sch_fq.c",
            "Shreedhar and Varghese, Efficient Fair Queuing using Deficit Round Robin, SIGCOMM 1995",
        ],
        params: PARAMS,
        variables: &[
            Variable::new("new_flows", "sub-queues", "Sub-queues in the list of new flows."),
            Variable::new("old_flows", "sub-queues", "Sub-queues in the list of old flows."),
            Variable::new("throttled", "sub-queues", "Sub-queues that wait for their time by `maxrate`."),
        ],
        tail_only: false,
        fit,
        source: include_str!("fq.rs"),
    },
    build,
};

fn build(Setup { limit, params, chance }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Fq::new(limit, FqConfig::of(params), chance))
}

/// A sub-queue.
#[derive(Clone, Debug)]
struct Flow {
    packets: VecDeque<Waiting>,
    /// Bytes that it may still send in this round.
    credit: i64,
    /// When `maxrate` lets its next packet leave; zero before the first pause.
    next: Instant,
    /// Since when it is in no list, never if it has not been in one yet; `None` while it is listed or throttled.
    idle_since: Option<Instant>,
}

/// An FQ queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Fq {
    config: FqConfig,
    limit: Limit,
    rate: Rate,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Flows whose time has not come, the earliest first; of equal times the first that was throttled.
    throttled: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    /// Number of flows throttled so far, which orders equal times.
    count: u64,
    wake: Instant,
    packets: u64,
    bytes: Bytes,
    hash: FlowHash,
}

impl Fq {
    /// An empty queue; `chance` gives the salt of its hash.
    #[must_use]
    pub fn new(limit: Limit, config: FqConfig, mut chance: Stream) -> Self {
        let config = FqConfig { quantum: config.quantum.max(Bytes::new(1)), ..config };
        let flow = Flow {
            packets: VecDeque::new(),
            credit: signed(config.initial_quantum),
            next: Instant::ZERO,
            idle_since: Some(Instant::NEVER),
        };
        Self {
            flows: vec![flow; config.flows.max(1) as usize],
            config,
            limit,
            rate: Rate::ZERO,
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BinaryHeap::new(),
            count: 0,
            wake: Instant::NEVER,
            packets: 0,
            bytes: Bytes::ZERO,
            hash: FlowHash::new(&mut chance),
        }
    }

    fn has_room_for(&self, size: Bytes) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.packets < limit.as_u64(),
            Limit::Bytes(limit) => self.bytes + size <= limit,
        }
    }

    /// Puts flows whose time has come at the end of the old ones (`fq_check_throttled`).
    fn release(&mut self, now: Instant) {
        while let Some(&Reverse((at, _, number))) = self.throttled.peek()
            && at <= now
        {
            self.throttled.pop();
            self.old.push_back(number);
        }
    }

    /// Holds a flow back until `at`.
    fn throttle(&mut self, number: u32, at: Instant) {
        self.flows[number as usize].next = at;
        self.throttled.push(Reverse((at, self.count, number)));
        self.count += 1;
    }

    /// Takes the first flow out of its list.
    fn unlist(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }

    /// The first packet of a flow, without which it is empty. The packet might have left at `due`.
    fn send(&mut self, number: u32, due: Instant, now: Instant) -> Option<Dequeued> {
        let Waiting { mut packet, enqueued } = self.flows[number as usize].packets.pop_front()?;
        let size = packet.len();
        self.packets -= 1;
        self.bytes -= size;
        let over = now.since(due) > self.config.ce_threshold;
        let verdict = if over && packet.ip.ecn().is_capable() { Verdict::Mark } else { Verdict::Pass };
        let marked = carry_out(verdict, &mut packet) == Ok(true);
        let flow = &mut self.flows[number as usize];
        flow.credit -= signed(size);
        if let Some(rate) = self.config.maxrate {
            pause(flow, (size, rate), &self.config, now);
        }
        Some(Dequeued { packet, enqueued, marked, subqueue: number })
    }
}

/// Sets when `maxrate` lets the next packet of a flow leave, after one of this size (the end of `fq_dequeue`).
fn pause(flow: &mut Flow, (size, rate): (Bytes, Rate), config: &FqConfig, now: Instant) {
    let time = if rate <= config.low_rate_threshold {
        flow.credit = 0;
        rate.time_for(size)
    } else if flow.credit > 0 {
        return;
    } else {
        rate.time_for(size.max(config.quantum))
    };
    let time = time.min(LONGEST_PAUSE);
    let late = if flow.next > Instant::ZERO { now.since(flow.next) } else { Duration::ZERO };
    flow.next = now + (time - late.min(time / 2));
}

const fn signed(size: Bytes) -> i64 {
    size.as_u64() as i64
}

impl Queue for Fq {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let number = scaled(self.hash.of_flow(&packet), self.flows.len());
        let (size, fits) = (packet.len(), self.has_room_for(packet.len()));
        let flow = &mut self.flows[number as usize];
        if !fits || flow.packets.len() >= self.config.flow_limit {
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue: number });
            return Enqueued { marked: false, subqueue: number };
        }
        if let Some(since) = flow.idle_since.take() {
            self.new.push_back(number);
            if now.since(since) > self.config.refill_delay {
                flow.credit = flow.credit.max(signed(self.config.quantum));
            }
        }
        flow.packets.push_back(Waiting { packet, enqueued: now });
        self.packets += 1;
        self.bytes += size;
        Enqueued { marked: false, subqueue: number }
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        self.wake = Instant::NEVER;
        if self.packets == 0 {
            return None;
        }
        self.release(now);
        loop {
            let is_new = !self.new.is_empty();
            let Some(&number) = (if is_new { self.new.front() } else { self.old.front() }) else {
                self.wake = self.throttled.peek().map_or(Instant::NEVER, |&Reverse((at, _, _))| at);
                return None;
            };
            let flow = &mut self.flows[number as usize];
            if flow.credit <= 0 {
                flow.credit += signed(self.config.quantum);
                self.unlist(is_new);
                self.old.push_back(number);
                continue;
            }
            if let Some(head) = flow.packets.front() {
                let due = head.enqueued.max(flow.next);
                if due <= now {
                    return self.send(number, due, now);
                }
                self.unlist(is_new);
                self.throttle(number, due);
                continue;
            }
            self.unlist(is_new);
            // A new flow that has run empty waits a round as an old one. If it left the lists at once, its next packet
            // would make it a new one again, and the old ones could starve.
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else {
                self.flows[number as usize].idle_since = Some(now);
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
        self.config.maxrate.map(|_| self.wake)
    }

    fn on_timer(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) {
        // The owner asks for the packet now, or when the link is free.
        self.wake = Instant::NEVER;
    }

    fn subqueues(&self) -> Vec<String> {
        (0..self.flows.len()).map(|number| number.to_string()).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("new_flows", self.new.len() as f64);
        visit("old_flows", self.old.len() as f64);
        visit("throttled", self.throttled.len() as f64);
    }
}

#[cfg(test)]
#[path = "fq/tests.rs"]
mod tests;
