//! One direction of a link: a queue, a transmitter and the packets on the wire.
//!
//! The wire is a ring in order of arrival, and only its head is on the agenda. The queue is drained lazily: on each
//! access to the link, every transmission that has started by then is carried out at its exact time. This gives the
//! same sequence of operations as an event per transmission, because nothing else can touch the queue in between. At
//! one instant, the timer of the queue discipline comes first, then a departure, then an arrival. Timers that are due
//! fire in the order of times among the departures, each at its exact time, however late the link is looked at.

mod ahead;
mod changes;
mod intervene;
mod meter;
mod shown;
#[cfg(test)]
mod tests;
mod watch;

pub use intervene::{Chosen, Counted, Intervention, Selection};
pub use meter::LinkMeter;
pub use watch::LinkWatch;

use crate::delivery::Delivery;
use crate::impair::Impair;
use crate::loss::LossModel;
use crate::timer::QueueTimer;
use intervene::Interventions;
use narrows_queue::{Dequeued, DropReason, Dropped, NO_SUBQUEUE, Queue};
use narrows_scenario::{Change, Trace};
use narrows_units::{Bytes, Duration, Instant, Rate, Serialiser};
use narrows_wire::{Ecn, Packet};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet on the wire.
#[derive(Debug)]
struct OnWire {
    arrival: Instant,
    packet: Packet,
}

/// One direction of a link with any queue discipline, simulated packet by packet.
#[derive(Debug)]
pub struct LinkDirection {
    queue: Box<dyn Queue>,
    /// Whether the queue is to be asked for a packet when the transmitter is free.
    waiting: bool,
    /// Whether the discipline holds all waiting packets back until its timer fires.
    held: bool,
    timer: QueueTimer,
    rate: Rate,
    delay: Duration,
    serialiser: Serialiser,
    /// What the transmitter follows instead of the rate.
    delivery: Option<Box<Delivery>>,
    /// When the next transmission may start.
    free_at: Instant,
    /// When the current transmission ends. An opportunity that is used up is the end of a transmission, and the next
    /// one starts later.
    sent_at: Instant,
    wire: VecDeque<OnWire>,
    last_arrival: Instant,
    loss: LossModel,
    lossy: bool,
    /// Whether a router agent sees packets leave the queue.
    watched: bool,
    /// Whether the owner takes packets off the wire as soon as they have left; see
    /// [`send_ahead`](Self::send_ahead).
    ahead: bool,
    changes: VecDeque<Change>,
    /// Impairments, if the link has any; they then hold the packets on the wire instead of `wire`.
    impair: Option<Box<Impair>>,
    /// What the steps of a timeline do, if they may touch the link.
    interventions: Option<Box<Interventions>>,
    dropped: Vec<Dropped>,
    meter: LinkMeter,
}

impl LinkDirection {
    /// A direction that starts idle.
    pub fn new(
        mut queue: Box<dyn Queue>,
        rate: Rate,
        delay: Duration,
        loss: LossModel,
        lossy: bool,
        changes: Vec<Change>,
    ) -> Self {
        queue.set_rate(rate);
        Self {
            timer: QueueTimer::new(&*queue),
            meter: LinkMeter::of(&*queue),
            queue,
            waiting: false,
            held: false,
            rate,
            delay,
            serialiser: Serialiser::default(),
            delivery: None,
            free_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            wire: VecDeque::new(),
            last_arrival: Instant::ZERO,
            loss,
            lossy,
            watched: false,
            ahead: false,
            changes: changes.into(),
            impair: None,
            interventions: None,
            dropped: Vec::new(),
        }
    }

    /// Reports packets that leave the queue to the watch, from now on.
    pub fn tell_departures(&mut self) {
        self.watched = true;
    }

    /// Impairs the link, which has carried nothing yet.
    pub fn impair(&mut self, impair: Impair) {
        self.impair = Some(Box::new(impair));
    }

    /// Lets the transmitter follow a trace instead of the rate, which is then the nominal one.
    pub fn follow(&mut self, trace: Arc<Trace>) {
        self.delivery = Some(Box::new(Delivery::new(trace)));
    }

    /// Accepts a packet at `now`. Afterwards the caller arms [`next_event`](Self::next_event).
    #[inline]
    pub fn offer(&mut self, packet: &Packet, now: Instant, watch: &mut impl LinkWatch) {
        self.drain(now, watch);
        if let Some(impair) = &mut self.impair
            && impair.thins(packet, &mut self.meter.impaired)
        {
            return self.refuse(*packet, DropReason::Forced, now, watch);
        }
        if self.interventions.is_some() {
            let Some(packet) = self.pass_interventions(packet, now, watch) else { return };
            return self.accept(&packet, now, watch);
        }
        self.accept(packet, now, watch);
    }

    /// Sends a packet at once, or queues it up.
    #[inline]
    fn accept(&mut self, packet: &Packet, now: Instant, watch: &mut impl LinkWatch) {
        self.meter.arrived_packets += 1;
        if self.free_at <= now {
            if let Some(delivery) = &mut self.delivery {
                self.free_at = delivery.wake(self.free_at, now);
                if self.free_at > now {
                    return self.queue_up(packet, now, watch);
                }
            } else if self.free_at < now {
                // The remainder is dropped only after an idle time: packets that take less than a nanosecond must add
                // up.
                self.serialiser.restart();
                self.free_at = now;
            }
            let size = packet.len();
            if !self.waiting && self.queue.lets_pass(size) && !self.drops_at(now) {
                self.meter.delay.record(0);
                if self.watched {
                    return self.let_leave(*packet, now, watch);
                }
                return self.put_on_wire(packet, size, now, watch);
            }
        }
        self.queue_up(packet, now, watch);
    }

    fn queue_up(&mut self, packet: &Packet, now: Instant, watch: &mut impl LinkWatch) {
        let enqueued = self.queue.enqueue(*packet, now, &mut self.dropped);
        self.timer.read(&*self.queue, now);
        self.meter.count_offer(enqueued, packet.len());
        if enqueued.marked {
            let mut marked = *packet;
            marked.ip.set_ecn(Ecn::Ce);
            watch.marked(&marked, enqueued.subqueue);
        }
        if !self.dropped.is_empty() {
            self.account_for_drops(now, watch);
        }
        self.waiting = true;
        if self.free_at > now {
            self.waiting = self.note_level();
        } else {
            self.drain(now, watch);
            // The link is idle, and still packets wait.
            if self.held {
                self.note_level();
            }
        }
    }

    /// Updates the largest queue length; returns whether packets wait.
    #[inline]
    fn note_level(&mut self) -> bool {
        let view = self.queue.view();
        self.meter.max_packets = self.meter.max_packets.max(view.packets.as_u64());
        self.meter.max_bytes = self.meter.max_bytes.max(view.bytes.as_u64());
        !view.packets.is_zero()
    }

    /// Carries out every transmission that has started by `now`, and every timer that has fired.
    #[inline]
    pub fn drain(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        while self.waiting && self.free_at <= now && self.free_at < self.timer.at() {
            self.transmit(watch);
        }
        if self.timer.at() <= now {
            self.catch_up(now, watch);
        }
    }

    /// Carries out transmissions and timers up to `now` in the order of their times; at one instant, the timer first.
    #[cold]
    fn catch_up(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        loop {
            let departure = if self.waiting { self.free_at } else { Instant::NEVER };
            if departure.min(self.timer.at()) > now {
                return;
            }
            if self.timer.at() <= departure { self.fire(self.timer.at(), watch) } else { self.transmit(watch) }
        }
    }

    /// Asks the discipline, at a time that is not its timer's, because something outside of the run has changed it.
    pub fn wake(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        self.drain(now, watch);
        self.fire(now, watch);
        self.drain(now, watch);
    }

    /// Lets the discipline's timer fire.
    fn fire(&mut self, at: Instant, watch: &mut impl LinkWatch) {
        self.queue.on_timer(at, &mut self.dropped);
        self.timer.read(&*self.queue, at);
        if !self.dropped.is_empty() {
            self.account_for_drops(at, watch);
        }
        if self.held {
            self.held = false;
            self.waiting = true;
            if self.free_at < at {
                self.serialiser.restart();
                self.free_at = self.delivery.as_mut().map_or(at, |delivery| delivery.release(self.free_at, at));
            }
        }
    }

    /// Starts the next transmission at the time when the transmitter is free.
    fn transmit(&mut self, watch: &mut impl LinkWatch) {
        let start = self.free_at;
        let next = self.queue.dequeue(start, &mut self.dropped);
        self.timer.read(&*self.queue, start);
        if !self.dropped.is_empty() {
            self.account_for_drops(start, watch);
        }
        let Some(next) = next else {
            self.waiting = false;
            self.held = self.timer.exists() && !self.queue.view().packets.is_zero();
            return;
        };
        if self.drops_at(start) {
            self.meter.impaired.outage_drops += 1;
            let Dequeued { packet, subqueue, .. } = next;
            self.dropped.push(Dropped { packet, reason: DropReason::Forced, subqueue });
            return self.account_for_drops(start, watch);
        }
        if next.marked {
            self.meter.marked += 1;
            watch.marked(&next.packet, next.subqueue);
        }
        self.meter.count_delay(&next, start.since(next.enqueued));
        if self.watched {
            return self.let_leave(next.packet, start, watch);
        }
        self.put_on_wire(&next.packet, next.packet.len(), start, watch);
    }

    /// Whether an outage drops packets that would be sent at this time.
    #[inline]
    fn drops_at(&self, at: Instant) -> bool {
        self.impair.as_ref().is_some_and(|impair| impair.drops_at(at))
    }

    /// Sends a packet that a router agent may still change.
    fn let_leave(&mut self, mut packet: Packet, start: Instant, watch: &mut impl LinkWatch) {
        watch.departing(&mut packet, &self.queue.view(), start);
        self.put_on_wire(&packet, packet.len(), start, watch);
    }

    /// Sends a packet from `start`, when the transmitter is free.
    #[inline]
    fn put_on_wire(&mut self, packet: &Packet, size: Bytes, start: Instant, watch: &mut impl LinkWatch) {
        match &mut self.delivery {
            None => {
                self.free_at = start + self.serialiser.time_for(size, self.rate);
                self.sent_at = self.free_at;
            }
            Some(delivery) => {
                let sent = delivery.send(size, start);
                (self.sent_at, self.free_at) = (sent.end, sent.free_at);
            }
        }
        self.meter.busy += self.sent_at.since(start);
        self.meter.forwarded_packets += 1;
        self.meter.forwarded_bytes += size.as_u64();
        watch.departed(packet, start);
        let loses = |impair: &mut Box<Impair>| impair.loses(packet, &mut self.meter.impaired);
        if (self.lossy && self.loss.strikes()) || self.impair.as_mut().is_some_and(loses) {
            self.meter.corrupted += 1;
            // No arrival will trigger the next access to the link, so one is due when the transmission ends.
            self.waiting = true;
            return watch.corrupted(packet, start);
        }
        // A packet with a shorter delay does not overtake others: the wire stays first in, first out.
        self.last_arrival = (self.sent_at + self.delay).max(self.last_arrival);
        let arrival = self.last_arrival;
        match &mut self.impair {
            None => self.wire.push_back(OnWire { arrival, packet: *packet }),
            Some(impair) => {
                let twice = impair.duplicates();
                let late = self.interventions.as_mut().map_or(Duration::ZERO, |of| of.delays(packet, start));
                impair.send(*packet, self.sent_at, arrival, late);
                if twice && let Some(copy) = watch.duplicated(packet) {
                    self.meter.impaired.duplicated += 1;
                    impair.send(copy, self.sent_at, arrival, Duration::ZERO);
                }
            }
        }
    }

    /// The packet that arrives at the far end at `now`, if one does.
    #[inline]
    pub fn arrive(&mut self, now: Instant, watch: &mut impl LinkWatch) -> Option<Packet> {
        self.drain(now, watch);
        if let Some(impair) = &mut self.impair {
            return impair.arrive(now, &mut self.meter.impaired);
        }
        if self.wire.front()?.arrival > now {
            return None;
        }
        self.wire.pop_front().map(|w| w.packet)
    }

    /// Counts a packet that a router agent drops in front of the queue as a drop of the queue.
    pub fn refuse(&mut self, packet: Packet, reason: DropReason, now: Instant, watch: &mut impl LinkWatch) {
        self.meter.arrived_packets += 1;
        self.dropped.push(Dropped { packet, reason, subqueue: NO_SUBQUEUE });
        self.account_for_drops(now, watch);
    }

    /// When the link must be handled next: at the head's arrival, at the end of a transmission whose packet was lost,
    /// or when the discipline may let go of packets that it holds back. With impairments, also at the end of each
    /// transmission: a packet may arrive before those that are on the wire. If packets are taken early, it is the
    /// earliest time at which one that has not left could arrive.
    #[inline]
    pub fn next_event(&self) -> Instant {
        if let Some(impair) = &self.impair {
            let departure = if self.waiting { self.free_at } else { Instant::NEVER };
            let release = if self.held { self.timer.at() } else { Instant::NEVER };
            return impair.next_event().min(departure).min(release);
        }
        let departure = match self.wire.front() {
            Some(head) => return head.arrival,
            None if self.waiting => self.free_at,
            None if self.held => self.timer.at(),
            None => return Instant::NEVER,
        };
        if self.ahead { departure + self.delay } else { departure }
    }

    /// When the current transmission ends, if another packet waits, or the discipline's timer fires: the plain loop
    /// drains the link then.
    pub fn next_departure(&self) -> Instant {
        if self.waiting { self.free_at.min(self.timer.at()) } else { self.timer.at() }
    }

    #[cold]
    fn account_for_drops(&mut self, at: Instant, watch: &mut impl LinkWatch) {
        for drop in self.dropped.drain(..) {
            self.meter.count_dropped(&drop);
            watch.dropped(&drop, at);
        }
    }
}
