//! An interface queue: where packets wait until their station takes them.
//!
//! Waiting ends when the station takes a packet to send it; contention for the medium and repetitions come after. A
//! queue for several stations that feeds A-MPDUs looks one packet ahead: a packet that cannot join the A-MPDU is held
//! back and leaves next. It counts as waiting, but it has left the storage of the queue discipline, so it takes no room
//! there.
//!
//! Timers of the discipline fire before everything else that happens at their time, as on links. While the discipline
//! holds all packets back, its timer wakes the station.

use crate::flow::FlowState;
use crate::recorder::count_loss;
use narrows_fabric::{LinkMeter, Nodes, QueueTimer};
use narrows_queue::{Dequeued, DropReason, Dropped, NO_SUBQUEUE, Queue, QueueView};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::Packet;

/// The latest frame that was sent for packets of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    until: Instant,
    airtime: Duration,
    /// Bytes of IP packets in it.
    bytes: u64,
}

/// A queue in front of a station.
#[derive(Debug)]
pub(crate) struct InterfaceQueue {
    queue: Box<dyn Queue>,
    timer: QueueTimer,
    /// When the station must ask again, because the discipline held all packets back when it last asked.
    wake_at: Instant,
    held: Option<Dequeued>,
    dropped: Vec<Dropped>,
    meter: LinkMeter,
    sending: Sending,
    changed: bool,
    /// An edge that leads to this queue, if a router agent sees packets leave it.
    watched: Option<usize>,
}

impl InterfaceQueue {
    /// An empty queue. Queue disciplines and router agents see `rate` as the rate that drains it.
    pub(crate) fn new(mut queue: Box<dyn Queue>, rate: Rate) -> Self {
        queue.set_rate(rate);
        Self {
            timer: QueueTimer::new(&*queue),
            meter: LinkMeter::of(&*queue),
            queue,
            wake_at: Instant::NEVER,
            held: None,
            dropped: Vec::new(),
            sending: Sending::default(),
            changed: false,
            watched: None,
        }
    }

    /// Shows packets that leave the queue to the agent at the start of `edge`, from now on.
    pub(crate) fn tell_departures(&mut self, edge: usize) {
        self.watched = Some(edge);
    }

    /// Lets the discipline's timer fire for every time up to `now`.
    pub(crate) fn catch_up(&mut self, now: Instant, flows: &mut [FlowState]) {
        while self.timer.at() <= now {
            let at = self.timer.at();
            self.queue.on_timer(at, &mut self.dropped);
            self.timer.read(&*self.queue, at);
            self.book_drops(flows);
        }
    }

    /// When the station must be woken for packets that were held back.
    pub(crate) const fn wake_at(&self) -> Instant {
        self.wake_at
    }

    /// Whether the station must be woken at `now`; asked once for each time.
    pub(crate) fn wakes(&mut self, now: Instant) -> bool {
        if self.wake_at > now {
            return false;
        }
        self.wake_at = Instant::NEVER;
        true
    }

    /// Enqueues a packet at `now`.
    pub(crate) fn offer(&mut self, packet: &Packet, now: Instant, flows: &mut [FlowState]) {
        self.catch_up(now, flows);
        self.changed = true;
        self.meter.arrived_packets += 1;
        let enqueued = self.queue.enqueue(*packet, now, &mut self.dropped);
        self.timer.read(&*self.queue, now);
        self.meter.count_offer(enqueued, packet.len());
        self.book_drops(flows);
    }

    /// Counts a packet that a router agent drops in front of the queue as a drop of the queue.
    pub(crate) fn refuse(&mut self, packet: Packet, reason: DropReason, flows: &mut [FlowState]) {
        self.changed = true;
        self.meter.arrived_packets += 1;
        self.dropped.push(Dropped { packet, reason, subqueue: NO_SUBQUEUE });
        self.book_drops(flows);
    }

    /// Hands the next packet to the station.
    pub(crate) fn take(&mut self, now: Instant, flows: &mut [FlowState], nodes: &mut Nodes) -> Option<Packet> {
        let next = match self.held.take() {
            Some(held) => held,
            None => self.dequeue(now, flows, nodes)?,
        };
        Some(self.hand_out(&next, now))
    }

    /// Hands the next packet to the station if `wanted` accepts it; holds it back otherwise.
    pub(crate) fn take_if(
        &mut self,
        now: Instant,
        flows: &mut [FlowState],
        nodes: &mut Nodes,
        wanted: impl FnOnce(&Packet) -> bool,
    ) -> Option<Packet> {
        let next = match self.held.take() {
            Some(held) => held,
            None => self.dequeue(now, flows, nodes)?,
        };
        if wanted(&next.packet) {
            return Some(self.hand_out(&next, now));
        }
        self.held = Some(next);
        None
    }

    fn dequeue(&mut self, now: Instant, flows: &mut [FlowState], nodes: &mut Nodes) -> Option<Dequeued> {
        self.catch_up(now, flows);
        let next = self.queue.dequeue(now, &mut self.dropped);
        self.timer.read(&*self.queue, now);
        self.book_drops(flows);
        let holds_back = next.is_none() && !self.queue.view().packets.is_zero();
        self.wake_at = if holds_back { self.timer.at() } else { Instant::NEVER };
        let mut next = next?;
        if let Some(edge) = self.watched {
            nodes.on_departure(edge, &mut next.packet, &self.queue.view(), now);
        }
        self.meter.marked += u64::from(next.marked);
        Some(next)
    }

    fn hand_out(&mut self, next: &Dequeued, now: Instant) -> Packet {
        self.changed = true;
        self.meter.count_delay(next, now.since(next.enqueued));
        self.meter.forwarded_packets += 1;
        self.meter.forwarded_bytes += next.packet.len().as_u64();
        next.packet
    }

    /// Updates the largest queue length, after the station could take a packet.
    pub(crate) fn note_level(&mut self) {
        let view = self.view();
        self.meter.max_packets = self.meter.max_packets.max(view.packets.as_u64());
        self.meter.max_bytes = self.meter.max_bytes.max(view.bytes.as_u64());
    }

    /// Counts a packet of this queue that the station gave up at a retry limit.
    pub(crate) fn give_up(&mut self, packet: &Packet, flows: &mut [FlowState]) {
        self.changed = true;
        self.meter.corrupted += 1;
        count_loss(flows, packet);
    }

    /// Records the start of a frame that is sent for packets of this queue: an RTS, or a frame with `bytes` of them.
    pub(crate) fn sent(&mut self, start: Instant, airtime: Duration, bytes: u64) {
        self.meter.busy += airtime;
        self.sending = Sending { until: start + airtime, airtime, bytes };
    }

    /// Whether anything changed since the last call.
    pub(crate) fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// The state of the queue, including the packet that is held back.
    pub(crate) fn view(&self) -> QueueView {
        let mut view = self.queue.view();
        if let Some(held) = &self.held {
            view.packets += Packets::new(1);
            view.bytes += held.packet.len();
        }
        view
    }

    /// Reports the discipline's internal state by name.
    pub(crate) fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.queue.state(visit);
    }

    /// The counters.
    pub(crate) fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// The same, mutable.
    pub(crate) fn meter_mut(&mut self) -> &mut LinkMeter {
        &mut self.meter
    }

    /// Time and bytes of the current frame that fall after `end`.
    pub(crate) fn unsent(&self, end: Instant) -> (Duration, Bytes) {
        let Sending { until, airtime, bytes } = self.sending;
        let time = until.since(end);
        let part = u128::from(bytes) * u128::from(time.as_nanos()) / u128::from(airtime.as_nanos().max(1));
        (time, Bytes::new(u64::try_from(part).unwrap_or(bytes)))
    }

    fn book_drops(&mut self, flows: &mut [FlowState]) {
        for drop in self.dropped.drain(..) {
            self.changed = true;
            self.meter.count_dropped(&drop);
            count_loss(flows, &drop.packet);
        }
    }
}
