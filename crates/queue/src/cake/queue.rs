//! The queue: sub-queues with COBALT behind the shaper and the scheduler.

use super::CakeConfig;
use super::hashing::{Classifier, QUEUES};
use super::longest::Longest;
use super::scheduler::Scheduler;
use super::shaper::{Framing, Shaper, quantum, times};
use crate::cobalt::{CobaltConfig, Controller, Head};
use crate::fifo::{Waiting, carry_out};
use crate::flow_hash::FlowHash;
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// A sub-queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: VecDeque<Waiting>,
    controller: Controller,
}

/// A CAKE queue; see the head of `cake.rs`.
#[derive(Clone, Debug)]
pub struct Cake {
    limit: Limit,
    memlimit: Bytes,
    rate: Rate,
    cobalt: CobaltConfig,
    framing: Framing,
    classifier: Classifier,
    pub(super) scheduler: Scheduler,
    shaper: Shaper,
    flows: Vec<Flow>,
    /// Waiting bytes of each sub-queue.
    backlogs: Vec<u64>,
    longest: Longest,
    packets: u64,
    bytes: Bytes,
    /// Sub-queues whose BLUE is active.
    unresponsive: u32,
    /// When the shaper lets the next packet leave, if it holds one back.
    timer: Instant,
    chance: Stream,
}

impl Cake {
    /// An empty queue; `chance` gives the salt of its hash and the random numbers of BLUE and of the scheduler.
    #[must_use]
    pub fn new(limit: Limit, config: CakeConfig, mut chance: Stream) -> Self {
        let (target, interval, mtu_time) = times(config.bandwidth, config.rtt);
        Self {
            limit,
            memlimit: config.memlimit,
            rate: Rate::ZERO,
            cobalt: CobaltConfig {
                target,
                interval,
                mtu_time,
                // As in Linux, BLUE acts on overflows alone: `unresponsive` counts on it.
                blue_threshold: Duration::MAX,
                profile: config.profile,
                ..CobaltConfig::default()
            },
            framing: Framing { overhead: config.overhead, mpu: config.mpu, atm: config.atm },
            classifier: Classifier::new(config.flowmode, FlowHash::new(&mut chance)),
            scheduler: Scheduler::new(config.flowmode, quantum(config.bandwidth)),
            shaper: Shaper::new(config.bandwidth),
            flows: vec![Flow::default(); QUEUES],
            backlogs: vec![0; QUEUES],
            longest: Longest::new(QUEUES),
            packets: 0,
            bytes: Bytes::ZERO,
            unresponsive: 0,
            timer: Instant::NEVER,
            chance,
        }
    }

    fn is_over_limit(&self) -> bool {
        let over = match self.limit {
            Limit::Packets(limit) => self.packets > limit.as_u64(),
            Limit::Bytes(limit) => self.bytes > limit,
        };
        over || self.bytes > self.memlimit
    }

    /// Takes the first packet of a sub-queue.
    fn take(&mut self, number: u32) -> Option<Waiting> {
        let waiting = self.flows[number as usize].packets.pop_front()?;
        let size = waiting.packet.len();
        self.backlogs[number as usize] -= size.as_u64();
        self.bytes -= size;
        self.packets -= 1;
        self.longest.shrank(number, &self.backlogs);
        Some(waiting)
    }

    /// Drops the first packet of the sub-queue with the most bytes (`cake_drop`).
    fn drop_from_longest(&mut self, now: Instant, dropped: &mut Vec<Dropped>) {
        let number = self.longest.find(&self.backlogs);
        let Some(Waiting { packet, .. }) = self.take(number) else { return };
        let became_active = self.flows[number as usize].controller.was_full(&self.cobalt, now);
        self.unresponsive += u32::from(became_active);
        dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue: number });
    }

    /// The next packet of a sub-queue that COBALT does not drop; the last one is never dropped.
    fn next_of(&mut self, number: u32, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        while let Some(Waiting { mut packet, enqueued }) = self.take(number) {
            let flow = &mut self.flows[number as usize];
            let head = Head { enqueued, capable: packet.ip.ecn().is_capable(), last: flow.packets.is_empty() };
            match carry_out(flow.controller.decide(&self.cobalt, head, now, &mut self.chance), &mut packet) {
                Ok(marked) => return Some(Dequeued { packet, enqueued, marked, subqueue: number }),
                Err(reason) => dropped.push(Dropped { packet, reason, subqueue: number }),
            }
        }
        None
    }

    /// Ends the turn of an empty sub-queue, whose controller comes to rest step by step.
    fn pass_over(&mut self, number: u32, now: Instant) {
        let controller = &mut self.flows[number as usize].controller;
        let became_quiet = controller.was_empty(&self.cobalt, now);
        self.unresponsive -= u32::from(became_quiet);
        self.scheduler.was_empty(number, controller.is_active(now));
    }
}

impl Queue for Cake {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let number = self.classifier.find(&packet, &mut self.scheduler);
        if self.packets == 0 {
            self.shaper.wake(now);
        }
        let size = packet.len();
        self.flows[number as usize].packets.push_back(Waiting { packet, enqueued: now });
        self.backlogs[number as usize] += size.as_u64();
        self.bytes += size;
        self.packets += 1;
        self.longest.grew(number, &self.backlogs);
        self.scheduler.arrived(number, &mut self.chance);
        while self.is_over_limit() {
            self.drop_from_longest(now, dropped);
        }
        Enqueued { marked: false, subqueue: number }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        if self.packets == 0 {
            return None;
        }
        if self.shaper.is_limited() && self.shaper.next() > now {
            self.timer = self.shaper.next();
            return None;
        }
        self.timer = Instant::NEVER;
        let mut first = true;
        loop {
            let number = self.scheduler.next(first)?;
            first = false;
            let is_empty = self.flows[number as usize].packets.is_empty();
            if self.scheduler.ends_turn(number, is_empty, &mut self.chance) {
                continue;
            }
            if let Some(next) = self.next_of(number, now, dropped) {
                let cost = self.framing.cost(next.packet.len());
                self.scheduler.sent(number, cost);
                self.shaper.charge(cost);
                self.longest.departed();
                return Some(next);
            }
            self.pass_over(number, now);
        }
    }

    fn view(&self) -> QueueView {
        QueueView { bytes: self.bytes, packets: Packets::new(self.packets), limit: self.limit, rate: self.rate }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn next_timer(&self) -> Option<Instant> {
        self.shaper.is_limited().then_some(self.timer)
    }

    fn on_timer(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) {
        // The owner asks for the packet now, or when the link is free.
        self.timer = Instant::NEVER;
    }

    fn subqueues(&self) -> Vec<String> {
        (0..QUEUES).map(|number| number.to_string()).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("sparse_flows", f64::from(self.scheduler.sparse));
        visit("bulk_flows", f64::from(self.scheduler.bulk));
        visit("decaying_flows", f64::from(self.scheduler.decaying));
        visit("unresponsive_flows", f64::from(self.unresponsive));
        visit("way_hits", self.classifier.hits as f64);
        visit("way_misses", self.classifier.misses as f64);
        visit("way_collisions", self.classifier.collisions as f64);
        visit("throttled", f64::from(u8::from(self.timer < Instant::NEVER)));
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
