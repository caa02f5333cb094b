//! A drop-tail direction of a link, computed by arithmetic.
//!
//! When a packet arrives at a first-in-first-out queue, its departure time is known at once: it leaves when the
//! transmitter has sent everything ahead of it. So no packet is stored: its departure and its arrival at the far end
//! are computed when it comes. The queue only keeps a ring of pending departures. The length of the ring is the number
//! of waiting packets, which the limit applies to. Entries whose time has passed are removed when the next packet
//! comes.
//!
//! This needs only the times of arrival, in order, so a line can be served ahead of the clock. If all its packets come
//! from one other line, they are carried over both in one step, without an event in between. Samples of such a line are
//! taken when its own time passes the time of the sample.
//!
//! [`LinkDirection`](narrows_fabric::LinkDirection) does everything else: other queue disciplines, links that change,
//! packets that are changed as they leave, captures. The plain loop uses it for all links, and a test checks that both
//! give the same samples.

mod books;
mod cold;
mod ring;
#[cfg(test)]
mod tests;
mod train;
mod wire;

use crate::parcels::Parcel;
use cold::Cold;
use narrows_fabric::LossModel;
use narrows_queue::{DropReason, Limit};
use narrows_units::{Bytes, Duration, Instant, Rate, Serialiser};
use ring::Ring;
use train::Fold;
pub(crate) use train::Train;

/// Why a packet that is offered to a line does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The queue has no room.
    Dropped,
    /// The link corrupts it; the time is when its transmission starts.
    Corrupted(Instant),
}

/// Packets between two checks of whether the ring has more capacity than it needs.
const FIT_EVERY: u32 = 1024;

/// A packet whose transmission has not started.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Instant,
    size: u32,
    corrupted: bool,
}

/// A packet on the wire whose arrival at the far end is an event.
#[derive(Clone, Copy, Debug)]
struct OnWire {
    arrival: Instant,
    parcel: Parcel,
}

impl OnWire {
    /// No packet.
    const NONE: Self = Self { arrival: Instant::NEVER, parcel: Parcel::NONE };
}

/// A run of packets of one size that find the transmitter free and each take the same time: two numbers change with a
/// packet, and the sums of the line at the end of the run ([`Line::end_run`]).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// The size in bytes; no packet has size 0, which is for no run.
    pub(crate) size: u32,
    /// Whether the time of a transmission is a whole number of nanoseconds. If it is not, a packet that leaves at once
    /// after another carries the rest of a nanosecond, and is not of the run.
    pub(crate) whole: bool,
    /// Packets of the run that are not in the sums yet.
    packets: u64,
    /// Time of a transmission.
    pub(crate) time: Duration,
    /// From the start of a transmission to the arrival at the far end.
    pub(crate) passage: Duration,
}

impl Run {
    /// Whether the last packet did not find the transmitter free, or later ones may not take as long.
    pub(crate) fn is_none(self) -> bool {
        self.size == 0
    }
}

/// What is at the far end of a line.
///
/// It has 16 bits, so that the compiler lets [`Link`](crate::edge::Link) say with the values that are not used here
/// whether it is a line. It takes the field with the most such values, and any other would be on a cache line that
/// packets do not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum FarEnd {
    /// Anything that handles packets when their time comes.
    InTime,
    /// A host with one end of a flow, which may go ahead of the clock ([`ahead`](crate::ahead)).
    OneEnd,
    /// A host with several that may.
    SeveralEnds,
}

/// See the module. Fields are in groups of whole cache lines, because there may be tens of thousands of lines: what a
/// packet needs that finds the line free and the host ahead, what a packet on the wire needs, what a train needs, and
/// what only waiting packets need.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line {
    free_at: Instant,
    /// When the line will next be sampled.
    look_at: Instant,
    /// What a packet of the present run takes.
    run: Run,
    fold: Fold,
    far_end: FarEnd,
    lossy: bool,
    /// Whether a packet is on the wire: the head.
    occupied: bool,
    /// The packet that arrives next; it arrives never if there is none. It is stored here and not in the ring, because
    /// an entry of the ring may not be in the caches.
    head: OnWire,
    wire: Ring<OnWire>,
    /// The largest number of packets in the ring since its capacity was last fitted, and the number of packets until it
    /// is fitted again.
    most_on_wire: usize,
    fit_in: u32,
    /// The packets that go over this line and those folded into it in one step.
    train: Train,
    /// The largest packet that an empty queue takes.
    largest: Bytes,
    delay: Duration,
    rate: Rate,
    busy: Duration,
    /// Packets that did not wait.
    passed: u64,
    forwarded_bytes: u64,
    serialiser: Serialiser,
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
    /// Packets that had to wait, and the part of them that has left.
    waited: u64,
    left: u64,
    most_bytes: u64,
    /// The limit in packets, or in bytes; the other is never reached.
    limit_packets: u64,
    limit_bytes: u64,
    /// End of the run: transmissions that start later are not counted.
    end: Instant,
    cold: Box<Cold>,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<Line>() == 6 * 64, "a line takes six cache lines");
    assert!(offset_of!(Line, occupied) < 64 && offset_of!(Line, head) == 64 && offset_of!(Line, fit_in) < 128);
    assert!(offset_of!(Line, train) == 128 && offset_of!(Line, busy) == 192);
};

impl Line {
    /// A line that starts idle, in a run that ends at `end`.
    pub(crate) fn new(rate: Rate, delay: Duration, limit: Limit, loss: LossModel, lossy: bool, end: Instant) -> Self {
        Self {
            free_at: Instant::ZERO,
            delay,
            serialiser: Serialiser::default(),
            waiting: Ring::default(),
            waiting_bytes: 0,
            head: OnWire::NONE,
            train: Train::default(),
            fold: Fold::default(),
            wire: Ring::default(),
            most_on_wire: 0,
            fit_in: FIT_EVERY,
            largest: match limit {
                Limit::Packets(n) if n.is_zero() => Bytes::ZERO,
                Limit::Packets(_) => Bytes::MAX,
                Limit::Bytes(n) => n,
            },
            passed: 0,
            waited: 0,
            left: 0,
            forwarded_bytes: 0,
            busy: Duration::ZERO,
            most_bytes: 0,
            look_at: Instant::NEVER,
            run: Run::default(),
            end,
            lossy,
            far_end: FarEnd::InTime,
            occupied: false,
            rate,
            limit_packets: if let Limit::Packets(n) = limit { n.as_u64() } else { u64::MAX },
            limit_bytes: if let Limit::Bytes(n) = limit { n.as_u64() } else { u64::MAX },
            cold: Box::new(Cold::new(loss, lossy, limit)),
        }
    }

    /// Notes what is at the far end.
    pub(crate) fn set_far_end(&mut self, far_end: FarEnd) {
        self.far_end = far_end;
    }

    /// What is at the far end.
    #[inline]
    pub(crate) fn far_end(&self) -> FarEnd {
        self.far_end
    }

    /// Whether the host at the far end may go ahead.
    #[inline]
    pub(crate) fn leads_to_host(&self) -> bool {
        self.far_end != FarEnd::InTime
    }

    /// Samples the line at `at` and then at every interval `every`.
    pub(crate) fn look_from(&mut self, at: Instant, every: Duration) {
        self.look_at = at;
        self.cold.look_every = every;
    }

    /// Accepts a packet of `size` at `at`, which is not earlier than for the packets before it; returns when it arrives
    /// at the far end.
    #[inline]
    pub(crate) fn offer(&mut self, size: Bytes, at: Instant) -> Result<Instant, Loss> {
        if size.as_u64() == u64::from(self.run.size)
            && (at > self.free_at || (at == self.free_at && self.run.whole))
            && at <= self.look_at
        {
            debug_assert!(self.waiting.is_empty() && !self.lossy && self.takes(size));
            self.run.packets += 1;
            self.free_at = at + self.run.time;
            return Ok(at + self.run.passage);
        }
        self.offer_any(size, at)
    }

    /// Adds the packets of the run to the sums, and ends it.
    fn end_run(&mut self) {
        if self.run.is_none() {
            return;
        }
        let run = core::mem::take(&mut self.run);
        self.passed += run.packets;
        self.forwarded_bytes += run.packets * u64::from(run.size);
        self.busy += run.time * run.packets;
    }

    /// Begins a run of packets like the one that now leaves, if those to come take as long and need no chance.
    #[inline]
    fn begin_run(&mut self, size: Bytes) {
        if !self.lossy
            && let Some((time, whole)) = self.serialiser.steady(size)
        {
            // An IP packet has at most 65,535 bytes.
            let size = size.as_u64() as u32;
            self.run = Run { size, packets: 0, time, passage: time + self.delay, whole };
        }
    }

    /// Like [`offer`](Self::offer), for any packet.
    #[inline(never)]
    fn offer_any(&mut self, size: Bytes, at: Instant) -> Result<Instant, Loss> {
        self.end_run();
        if at > self.look_at {
            self.look_ahead(at);
        }
        if self.free_at > at {
            return self.queue_up(size, at);
        }
        // The transmitter is free, so nothing waits any more.
        if !self.waiting.is_empty() {
            self.settle(at);
        }
        if !self.takes(size) {
            return Err(self.refuse_for_room());
        }
        if self.free_at < at {
            // The remainder is dropped only after an idle time: packets that take less than a nanosecond must add up.
            self.serialiser.restart();
        }
        let time = self.serialiser.time_for(size, self.rate);
        self.free_at = at + time;
        self.busy += time;
        self.passed += 1;
        self.forwarded_bytes += size.as_u64();
        self.begin_run(size);
        if self.lossy && self.cold.loss.strikes() {
            self.cold.meter.corrupted += 1;
            return Err(Loss::Corrupted(at));
        }
        Ok(self.free_at + self.delay)
    }

    #[inline]
    fn queue_up(&mut self, size: Bytes, at: Instant) -> Result<Instant, Loss> {
        self.settle(at);
        let octets = size.as_u64();
        if !self.has_room_for(octets) {
            return Err(self.refuse_for_room());
        }
        let start = self.free_at;
        self.free_at = start + self.serialiser.time_for(size, self.rate);
        let corrupted = self.lossy && self.cold.loss.strikes();
        self.waiting.push(Waiting { start, size: octets as u32, corrupted });
        self.waiting_bytes += octets;
        self.waited += 1;
        self.cold.most_packets = self.cold.most_packets.max(self.waiting.len() as u64);
        self.most_bytes = self.most_bytes.max(self.waiting_bytes);
        if start <= self.end {
            self.cold.meter.delay.record(start.since(at).as_nanos());
        }
        if corrupted { Err(Loss::Corrupted(start)) } else { Ok(self.free_at + self.delay) }
    }

    /// Whether an empty queue takes a packet of `size`.
    #[inline]
    fn takes(&self, size: Bytes) -> bool {
        size <= self.largest
    }

    #[inline]
    fn has_room_for(&self, octets: u64) -> bool {
        (self.waiting.len() as u64) < self.limit_packets && self.waiting_bytes + octets <= self.limit_bytes
    }

    #[cold]
    fn refuse_for_room(&mut self) -> Loss {
        self.cold.meter.count_drop(DropReason::Overflow);
        self.cold.refused += 1;
        Loss::Dropped
    }

    /// Counts every transmission that has started by `now`.
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant) {
        let Some(&(mut first)) = self.waiting.front() else { return };
        if first.start > now {
            return;
        }
        // The transmitter is busy from this start to the start that is still to come, or to the end of the last
        // transmission.
        let since = first.start;
        let until = loop {
            self.waiting.pop();
            self.waiting_bytes -= u64::from(first.size);
            self.left += 1;
            self.forwarded_bytes += u64::from(first.size);
            if first.corrupted {
                self.cold.meter.corrupted += 1;
            }
            match self.waiting.front() {
                Some(next) if next.start <= now => first = *next,
                Some(next) => break next.start,
                None => break self.free_at,
            }
        };
        self.busy += until.since(since);
    }
}
