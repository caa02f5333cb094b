//! Queues: storage, the limit, and the active queue management that decides what to drop or mark.
//!
//! A [`Queue`] returns every packet that it drops, with a typed reason, so that tests can check the conservation of
//! packets. An [`Aqm`] only decides; disciplines with one queue share the storage ([`Fifo`]). The
//! [`registry`](registry::registry) lists the disciplines: each is a file here and a row there.
//!
//! # Time
//! A queue has no clock. Its owner calls it, with the time, in this order: at one instant, a timer that is due comes
//! first ([`Queue::on_timer`]), then a departure ([`Queue::dequeue`]), then an arrival ([`Queue::enqueue`]); a change
//! of the rate ([`Queue::set_rate`]) comes before all of them. The owner may be late: it makes up for all calls since
//! its last look, each with its exact time and in the order of times. A queue thus sees the same calls whether it is
//! looked at for every event or seldom.
//!
//! # Sub-queues
//! A discipline may keep several queues behind one limit, by class or by a hash of the flow. It names them
//! ([`Queue::subqueues`]) and says of each packet to which it belongs ([`Enqueued`], [`Dropped`], [`Dequeued`]). The
//! owner counts.

mod cake;
mod cobalt;
mod codel;
mod droptail;
mod drr;
mod dualpi2;
mod fifo;
mod flow_hash;
mod fq;
mod fq_codel;
mod fq_pie;
mod pie;
mod policer;
mod prio;
mod red;
pub mod registry;
mod sfq;
mod tbf;
mod token_bucket;

use core::fmt;
use narrows_units::{Bytes, Instant, Packets, Rate};
use narrows_wire::Packet;

pub use cake::{Atm, Cake, CakeConfig, FlowMode};
pub use cobalt::{Cobalt, CobaltConfig, CobaltProfile};
pub use codel::{Codel, CodelConfig, CodelProfile};
pub use droptail::{DropTail, droptail};
pub use drr::{Drr, DrrConfig};
pub use dualpi2::{DualPi2, DualPi2Config, Native, Scheduler};
pub use fifo::Fifo;
pub use fq::{Fq, FqConfig};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use narrows_settings::queue::Limit;
pub use pie::{Pie, PieConfig, PieProfile};
pub use policer::{Exceed, Meter, Policer, PolicerConfig};
pub use prio::{Prio, PrioConfig, PrioMap};
pub use red::{Red, RedConfig, red};
pub use registry::{BuildError, Disciplines, Row, Setup};
pub use sfq::{Sfq, SfqConfig};
pub use tbf::{Tbf, TbfConfig};

/// The state of a queue, as an AQM, a router agent or a probe sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Waiting bytes.
    pub bytes: Bytes,
    /// Waiting packets.
    pub packets: Packets,
    /// The limit.
    pub limit: Limit,
    /// Current rate of the link that drains the queue.
    pub rate: Rate,
}

impl QueueView {
    /// Occupancy in [0, 1], in the unit of the queue's own limit.
    #[must_use]
    pub fn occupancy(&self) -> f64 {
        let (used, limit) = match self.limit {
            Limit::Packets(n) => (self.packets.as_f64(), n.as_f64()),
            Limit::Bytes(n) => (self.bytes.as_f64(), n.as_f64()),
        };
        if limit > 0.0 { (used / limit).min(1.0) } else { 1.0 }
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// There was no room.
    Overflow,
    /// The AQM dropped it before the queue was full, by chance (RED) or by its control law (CoDel).
    Early,
    /// The discipline dropped it by rule (for example RED above its upper threshold, or a policer).
    Forced,
}

/// Number of the sub-queue of a packet that entered none.
pub const NO_SUBQUEUE: u32 = u32::MAX;

/// What a queue did with a packet that it was offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// Whether the packet was marked CE here; a packet that arrived with CE keeps it and does not count.
    pub marked: bool,
    /// The sub-queue that it belongs to, even if it was dropped; 0 for a discipline with one queue.
    pub subqueue: u32,
}

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
    /// The sub-queue that it belongs to; 0 for a discipline with one queue, [`NO_SUBQUEUE`] if the packet did not
    /// reach the discipline.
    pub subqueue: u32,
}

/// A packet that leaves a queue to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Dequeued {
    /// The packet, marked if the AQM marked it.
    pub packet: Packet,
    /// When the packet was enqueued, which gives its queueing delay.
    pub enqueued: Instant,
    /// Whether the AQM marked it CE on the way out (marks on the way in are what `enqueue` returns).
    pub marked: bool,
    /// The sub-queue that it comes from; 0 for a discipline with one queue.
    pub subqueue: u32,
}

/// Storage with a discipline in front of a link.
pub trait Queue: fmt::Debug + Send {
    /// Enqueues a packet, or pushes it (or others) to `dropped`.
    ///
    /// `now` never decreases between calls.
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued;

    /// Removes and returns the next packet; packets that the AQM drops meanwhile go to `dropped`.
    ///
    /// `None` though packets wait means that the discipline holds them back. It is then asked again after its next
    /// timer or the next arrival.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued>;

    /// Whether a packet of this size may bypass the queue when the queue is empty and the link idle: that is,
    /// [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) at the same instant would return it unchanged and
    /// leave no trace. A discipline that keeps an average or a count, or has sub-queues, returns `false`, which is the
    /// default.
    fn lets_pass(&self, _size: Bytes) -> bool {
        false
    }

    /// Waiting packets and bytes, and the limit.
    fn view(&self) -> QueueView;

    /// The link's rate changed (or is known for the first time).
    fn set_rate(&mut self, rate: Rate);

    /// When the timer fires next, [`Instant::NEVER`] if it does not run; `None` if the discipline has no timer.
    ///
    /// Whether it is `None` is asked once, of the empty queue. The time is asked after each call that may change it. It
    /// must be later than that call, except after [`set_rate`](Self::set_rate), where a timer may be due at once; an
    /// earlier time counts as one nanosecond later. A timer that has nothing
    /// left to do should stop: the owner makes up for every firing of an idle time, one by one.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// The timer fires: `now` is exactly the time that [`next_timer`](Self::next_timer) gave last. All departures
    /// before that time have taken place; departures and arrivals at that time come after it. Packets that the
    /// discipline drops go to `dropped`.
    fn on_timer(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) {}

    /// Labels of the sub-queues, whose numbers are their places in the list; empty for a discipline with one queue.
    /// They do not change.
    fn subqueues(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reports the variables that the row declares, in its order (for example RED's avg).
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// What an AQM decides about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take it as it is.
    Pass,
    /// Mark it CE. Storage drops a packet that is not ECN-capable as [`DropReason::Early`] instead.
    Mark,
    /// Drop it.
    Drop(DropReason),
}

/// Active queue management: decides, stores nothing.
pub trait Aqm: fmt::Debug + Send {
    /// Decides about an arriving packet that would fit; `view` is the queue without it.
    fn on_enqueue(&mut self, packet: &Packet, view: &QueueView, now: Instant) -> Verdict;

    /// Whether the discipline ignores packets that do not wait; see [`Queue::lets_pass`].
    fn ignores_passing(&self) -> bool {
        false
    }

    /// Notes an arriving packet that did not fit; `view` is the queue that dropped it.
    fn on_overflow(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) {}

    /// Decides about a packet about to be sent; `view` is the queue after it left.
    fn on_dequeue(&mut self, _packet: &Packet, _enqueued: Instant, _view: &QueueView, _now: Instant) -> Verdict {
        Verdict::Pass
    }

    /// Notes that the owner asked for a packet at `now`, and none was left.
    fn on_empty(&mut self, _now: Instant) {}

    /// See [`Queue::next_timer`].
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// The timer fires at `now`; `view` is the queue before departures at that time. See [`Queue::on_timer`].
    fn on_timer(&mut self, _view: &QueueView, _now: Instant) {}

    /// Reports the variables that the row declares, in its order.
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}
