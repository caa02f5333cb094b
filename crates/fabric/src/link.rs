//! One direction of a link: a queue, a transmitter and the packets on the wire.
//!
//! The wire is a ring in order of arrival, and only its head is on the agenda. The queue is drained lazily: on each
//! access to the link, every transmission that has started by then is carried out at its exact time. This gives the
//! same sequence of operations as an event per transmission, because nothing else can touch the queue in between. At
//! one instant, the timer of the queue discipline comes first, then a departure, then an arrival. Timers that are due
//! fire in the order of times among the departures, each at its exact time, however late the link is looked at.

mod intervene;

pub use intervene::{Chosen, Counted, Intervention, Selection};

use crate::delivery::Delivery;
use crate::impair::{Impair, ImpairMeter};
use crate::loss::LossModel;
use crate::subqueues::Subqueues;
use crate::timer::QueueTimer;
use intervene::Interventions;
use narrows_queue::{Dequeued, DropReason, Dropped, Enqueued, NO_SUBQUEUE, Queue, QueueView};
use narrows_samples::Histogram;
use narrows_scenario::{Change, OutageQueue, Trace};
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

/// Counters of one direction, or of an interface queue; the source of [`narrows_samples::QueueTotal`].
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// Packets offered to the queue.
    pub arrived_packets: u64,
    /// Packets that left for the link.
    pub forwarded_packets: u64,
    /// IP bytes that left for the link.
    pub forwarded_bytes: u64,
    /// Dropped because there was no room.
    pub dropped_overflow: u64,
    /// Dropped by the AQM by chance.
    pub dropped_early: u64,
    /// Dropped by the AQM by rule.
    pub dropped_forced: u64,
    /// Lost on the link after the queue.
    pub corrupted: u64,
    /// Marked CE.
    pub marked: u64,
    /// Time that the link was sending.
    pub busy: Duration,
    /// Queueing delays, in nanoseconds.
    pub delay: Histogram,
    /// Most packets ever waiting.
    pub max_packets: u64,
    /// Most bytes ever waiting.
    pub max_bytes: u64,
    /// Counters of the sub-queues, if the discipline has any.
    pub subqueues: Subqueues,
    /// Counters of the link's impairments.
    pub impaired: ImpairMeter,
    /// Capacity in bits * ns up to `rate_since`.
    capacity: u128,
    rate_since: Instant,
}

impl LinkMeter {
    /// Counters at zero, for a queue with its sub-queues.
    #[must_use]
    pub fn of(queue: &dyn Queue) -> Self {
        Self { subqueues: Subqueues::of(queue), ..Self::default() }
    }

    /// Counts a packet that was offered to the queue, whatever became of it.
    #[inline]
    pub fn count_offer(&mut self, enqueued: Enqueued, size: Bytes) {
        self.marked += u64::from(enqueued.marked);
        if !self.subqueues.is_empty() {
            self.subqueues.offered(enqueued, size);
        }
    }

    /// Counts a packet that the queue, or a router agent in front of it, dropped.
    pub fn count_dropped(&mut self, dropped: &Dropped) {
        self.count_drop(dropped.reason);
        if !self.subqueues.is_empty() {
            self.subqueues.dropped(dropped);
        }
    }

    /// Counts the delay of a packet that leaves the queue; marks are counted by the caller.
    #[inline]
    pub fn count_delay(&mut self, dequeued: &Dequeued, delay: Duration) {
        self.delay.record(delay.as_nanos());
        if !self.subqueues.is_empty() {
            self.subqueues.left(dequeued, delay);
        }
    }

    /// Counts a drop for this reason.
    pub fn count_drop(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::Overflow => &mut self.dropped_overflow,
            DropReason::Early => &mut self.dropped_early,
            DropReason::Forced => &mut self.dropped_forced,
        };
        *counter += 1;
    }
}

/// Receives what happens to packets, for the flows' counters and the capture.
pub trait LinkWatch {
    /// A queue dropped the packet.
    fn dropped(&mut self, dropped: &Dropped, at: Instant);
    /// The link corrupted the packet.
    fn corrupted(&mut self, packet: &Packet, at: Instant);
    /// The link delivers the packet twice: returns the copy, or `None` if there is no room for one.
    fn duplicated(&mut self, packet: &Packet) -> Option<Packet> {
        Some(*packet)
    }
    /// The packet leaves the queue; `queue` is its state without the packet. Called only after
    /// [`tell_departures`](LinkDirection::tell_departures).
    fn departing(&mut self, packet: &mut Packet, queue: &QueueView, at: Instant);
    /// The queue marked the packet, which has the mark, as it arrived or as it leaves.
    fn marked(&mut self, _packet: &Packet, _subqueue: u32) {}
    /// The transmission of the packet starts.
    fn departed(&mut self, packet: &Packet, at: Instant);
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

    /// From now on, the owner takes packets by [`take_early`](Self::take_early) after each call that may send any, and
    /// not as they arrive. The link must then only be looked at before the next packet could arrive, not at each
    /// arrival. Has no effect on a link that changes, follows a trace or has impairments or a watching agent: when its
    /// packets arrive is not known so early, or they may be changed.
    pub fn send_ahead(&mut self) {
        self.ahead = self.changes.is_empty() && self.delivery.is_none() && self.impair.is_none() && !self.watched;
    }

    /// Whether the owner takes packets by [`take_early`](Self::take_early).
    #[inline]
    pub const fn sends_ahead(&self) -> bool {
        self.ahead
    }

    /// The next packet on the wire and when it arrives at the far end, if that is not after `end`.
    #[inline]
    pub fn take_early(&mut self, end: Instant) -> Option<(Packet, Instant)> {
        if self.wire.front()?.arrival > end {
            return None;
        }
        self.wire.pop_front().map(|w| (w.packet, w.arrival))
    }

    /// When everything that waits will have been sent, for a first-in-first-out queue at a constant rate, just after a
    /// call at that time.
    pub fn clear_at(&self) -> Instant {
        let mut serialiser = self.serialiser;
        self.free_at + serialiser.time_for(self.queue.view().bytes, self.rate)
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

    /// When rate or delay change next, or an outage begins.
    pub fn next_change(&self) -> Instant {
        let change = self.changes.front().map_or(Instant::NEVER, |c| c.at);
        self.impair.as_ref().map_or(change, |impair| change.min(impair.next_outage()))
    }

    /// Applies the changes that are due; the packet in transmission keeps its old rate and delay.
    pub fn change(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        while let Some(&change) = self.changes.front()
            && change.at <= now
        {
            self.changes.pop_front();
            // A packet whose transmission starts at the instant of the change has the new rate and delay, and a timer
            // that fires then sees the new rate.
            if change.at > Instant::ZERO {
                self.drain(change.at - Duration::from_nanos(1), watch);
            }
            if let Some(rate) = change.rate {
                self.set_rate(rate, now);
            }
            self.delay = change.delay.unwrap_or(self.delay);
        }
        self.begin_outages(now, watch);
        self.drain(now, watch);
    }

    /// Sends at this rate from now on; the packet in transmission keeps its old rate.
    fn set_rate(&mut self, rate: Rate, now: Instant) {
        self.close_capacity(now);
        self.rate = rate;
        self.queue.set_rate(rate);
        self.timer.read_after_change(&*self.queue, now);
    }

    /// The rate and the propagation delay in force.
    pub const fn rate_and_delay(&self) -> (Rate, Duration) {
        (self.rate, self.delay)
    }

    /// Begins the outages that are due; the packet in transmission is still sent.
    fn begin_outages(&mut self, now: Instant, watch: &mut impl LinkWatch) {
        while let Some(outage) = self.impair.as_mut().and_then(|impair| impair.take_outage(now)) {
            if outage.start > Instant::ZERO {
                self.drain(outage.start - Duration::from_nanos(1), watch);
            }
            let end = outage.start + outage.duration;
            // The link cannot send meanwhile, so its capacity does not grow.
            self.close_capacity(outage.start);
            self.meter.rate_since = end;
            match (outage.queue, &mut self.impair) {
                (OutageQueue::Drop, Some(impair)) => impair.drop_until(end),
                (OutageQueue::Keep, _) if self.free_at < end => {
                    self.serialiser.restart();
                    self.free_at = end;
                }
                _ => {}
            }
        }
    }

    /// The state of the queue.
    pub fn view(&self) -> QueueView {
        self.queue.view()
    }

    /// Reports the discipline's internal state by name.
    pub fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.queue.state(visit);
    }

    /// The counters.
    pub fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// The same, mutable: to take what has changed.
    pub fn meter_mut(&mut self) -> &mut LinkMeter {
        &mut self.meter
    }

    /// What its impairments did; `None` without any.
    pub fn impaired(&self) -> Option<&ImpairMeter> {
        self.impair.as_ref().map(|_| &self.meter.impaired)
    }

    /// Time and bytes of the current transmission that fall after `end`.
    pub fn unsent(&self, end: Instant) -> (Duration, Bytes) {
        let time = self.sent_at.since(end);
        match &self.delivery {
            Some(delivery) if !time.is_zero() => (time, delivery.unsent(end)),
            _ => (time, self.rate.bytes_in(time)),
        }
    }

    /// Bits that could have been sent from the start of the run to `end`.
    pub fn capacity_bits(&self, end: Instant) -> u64 {
        if let Some(delivery) = &self.delivery {
            return delivery.capacity_bits(end);
        }
        let last = u128::from(self.rate.as_bps()) * u128::from(end.since(self.meter.rate_since).as_nanos());
        u64::try_from((self.meter.capacity + last) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    fn close_capacity(&mut self, now: Instant) {
        let span = u128::from(now.since(self.meter.rate_since).as_nanos());
        self.meter.capacity += u128::from(self.rate.as_bps()) * span;
        self.meter.rate_since = now.max(self.meter.rate_since);
    }

    #[cold]
    fn account_for_drops(&mut self, at: Instant, watch: &mut impl LinkWatch) {
        for drop in self.dropped.drain(..) {
            self.meter.count_dropped(&drop);
            watch.dropped(&drop, at);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_queue::Limit;
    use narrows_rng::Stream;
    use narrows_scenario::Loss;
    use narrows_units::Packets;
    use narrows_wire::{Ip, Transport, UdpRepr};

    #[derive(Default)]
    struct Log {
        departures: Vec<u64>,
        drops: usize,
    }

    impl LinkWatch for Log {
        fn dropped(&mut self, _dropped: &Dropped, _at: Instant) {
            self.drops += 1;
        }
        fn corrupted(&mut self, _packet: &Packet, _at: Instant) {}
        fn departing(&mut self, _packet: &mut Packet, _queue: &QueueView, _at: Instant) {}
        fn departed(&mut self, _packet: &Packet, at: Instant) {
            self.departures.push(at.as_nanos());
        }
    }

    fn packet() -> Packet {
        Packet {
            ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
            payload_len: 97,
        }
    }

    /// 8 Mb/s and packets of 125 bytes: 125 us each.
    fn link(limit: u64, changes: Vec<Change>) -> LinkDirection {
        LinkDirection::new(
            narrows_queue::droptail(Limit::Packets(Packets::new(limit))),
            Rate::mbps(8),
            Duration::from_millis(1),
            LossModel::new(Loss::None, Stream::new(1, 0, "l", "loss")),
            false,
            changes,
        )
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    #[test]
    fn packets_leave_back_to_back_and_arrive_after_the_delay() {
        let (mut link, mut log) = (link(10, Vec::new()), Log::default());
        (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
        let mut arrivals = Vec::new();
        while link.next_event() != Instant::NEVER {
            let now = link.next_event();
            if link.arrive(now, &mut log).is_some() {
                arrivals.push(now);
            }
        }
        assert_eq!(log.departures, [0, 125_000, 250_000]);
        assert_eq!(arrivals, [us(1125), us(1250), us(1375)]);
    }

    #[test]
    fn packets_that_are_taken_early_are_due_when_the_next_one_could_arrive() {
        let (mut link, mut log) = (link(10, Vec::new()), Log::default());
        link.send_ahead();
        (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
        let mut seen = Vec::new();
        let end = us(1374);
        for _ in 0..3 {
            seen.extend(link.take_early(end).map(|(_, arrival)| (arrival, link.next_event())));
            link.drain(link.next_event(), &mut log);
        }
        // The second packet leaves at 125 us, so it cannot arrive before 1125. By then all have left.
        assert_eq!(seen, [(us(1125), us(1125)), (us(1250), us(1375))]);
        assert_eq!(link.next_event(), us(1375), "the packet that arrives after the end stays");
        let changing = vec![Change { at: us(1), rate: None, delay: Some(Duration::ZERO) }];
        let mut link = self::link(10, changing);
        link.send_ahead();
        assert!(!link.sends_ahead());
    }

    #[test]
    fn the_limit_counts_waiting_packets_only() {
        let (mut link, mut log) = (link(2, Vec::new()), Log::default());
        (0..5).for_each(|_| link.offer(&packet(), us(0), &mut log));
        assert_eq!((log.drops, link.view().packets), (2, Packets::new(2)), "one is in transmission, two wait");
    }

    #[test]
    fn a_departure_comes_before_an_arrival_at_the_same_instant() {
        let (mut link, mut log) = (link(1, Vec::new()), Log::default());
        (0..2).for_each(|_| link.offer(&packet(), us(0), &mut log));
        link.offer(&packet(), us(125), &mut log);
        assert_eq!(log.drops, 0);
        link.offer(&packet(), us(249), &mut log);
        assert_eq!(log.drops, 1);
    }

    #[test]
    fn a_change_of_rate_spares_the_packet_in_transmission() {
        let change = Change { at: us(60), rate: Some(Rate::mbps(4)), delay: None };
        let (mut link, mut log) = (link(10, vec![change]), Log::default());
        (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
        link.change(us(60), &mut log);
        link.drain(us(1000), &mut log);
        assert_eq!(log.departures, [0, 125_000, 375_000]);
        assert_eq!(link.capacity_bits(us(160)), 480 + 400);
    }

    #[test]
    fn a_change_rules_the_packet_that_starts_at_its_instant() {
        let change = Change { at: us(125), rate: Some(Rate::mbps(4)), delay: None };
        let (mut link, mut log) = (link(10, vec![change]), Log::default());
        (0..3).for_each(|_| link.offer(&packet(), us(0), &mut log));
        link.change(us(125), &mut log);
        link.drain(us(1000), &mut log);
        assert_eq!(log.departures, [0, 125_000, 375_000]);
    }

    #[test]
    fn packets_shorter_than_a_nanosecond_still_keep_the_rate() {
        let (mut link, mut log) = (link(1000, Vec::new()), Log::default());
        link.rate = Rate::gbps(10_000);
        // 125 bytes take 0.1 ns, so ten packets take one nanosecond.
        (0..1000).for_each(|_| link.offer(&packet(), us(0), &mut log));
        link.drain(us(1), &mut log);
        assert_eq!(link.meter.busy, Duration::from_nanos(100));
    }

    #[test]
    fn what_lies_after_the_end_is_not_sent() {
        let (mut link, mut log) = (link(10, Vec::new()), Log::default());
        link.offer(&packet(), us(0), &mut log);
        assert_eq!(link.unsent(us(25)), (Duration::from_micros(100), Bytes::new(100)));
        assert_eq!(link.unsent(us(200)), (Duration::ZERO, Bytes::ZERO));
    }

    #[test]
    fn a_shorter_delay_lets_nobody_overtake() {
        let change = Change { at: us(10), rate: None, delay: Some(Duration::ZERO) };
        let (mut link, mut log) = (link(10, vec![change]), Log::default());
        link.offer(&packet(), us(0), &mut log);
        link.change(us(10), &mut log);
        link.offer(&packet(), us(10), &mut log);
        assert!(link.arrive(us(1124), &mut log).is_none());
        assert!(link.arrive(us(1125), &mut log).is_some());
        assert!(link.arrive(us(1125), &mut log).is_some(), "it waits for the one ahead, not for its own 250 us");
    }
}
