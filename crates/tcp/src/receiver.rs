//! The receiving half: what arrived, what window is offered, and when an ACK is due.
//!
//! Offsets count the peer's stream from 0 and never wrap; its FIN takes the octet after the last byte.

mod acks;
mod linux;
pub(crate) mod misbehavior;
pub(crate) mod rledbat;
mod window;

use crate::assist::WindowCap;
use crate::linux::Linux;
use crate::offset::MaybeOffset;
use crate::prefetch::prefetch_lines;
use crate::reassembly::Reassembly;
use misbehavior::Misbehaving;
use narrows_settings::{Config, DelayedAck, ReceiverCc};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use rledbat::Rledbat;

/// How the receiver took a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It extends the contiguous data.
    InOrder,
    /// It lies beyond a gap.
    OutOfOrder,
    /// Every octet had been received before, or lies beyond the window.
    Duplicate,
}

/// What few receivers do; their segments are never as predicted.
#[derive(Debug, Default)]
struct Unusual {
    /// rLEDBAT, if it bounds the window.
    rledbat: Option<Rledbat>,
    /// The rules that it breaks, if any.
    misbehaving: Option<Misbehaving>,
}

impl Unusual {
    fn of(config: &Config) -> Option<Box<Self>> {
        let rledbat = (config.receiver_cc == ReceiverCc::Rledbat).then(|| Rledbat::new(u64::from(config.mss)));
        let misbehaving = config.misbehavior.map(Misbehaving::new);
        (rledbat.is_some() || misbehaving.is_some()).then(|| Box::new(Self { rledbat, misbehaving }))
    }
}

/// The receiving half of a connection.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    // In the order of `Connection`'s cache lines: what plain segments never need, what only the next data in order
    // needs, and last what an ACK at a sender needs too.
    /// Data that waits beyond a gap; none before the first gap.
    waiting: Option<Box<Reassembly>>,
    /// Duplicate range to report in the next ACK (RFC 2883).
    dsack: Option<Box<(u64, u64)>>,
    unusual: Option<Box<Unusual>>,
    /// Bytes that the application has read in all; only kept while it reads by hand.
    read: u64,
    /// A scheme's bound of the window.
    cap: Option<Box<WindowCap>>,
    /// The rules of Linux, if they decide ACKs or the window.
    linux: Option<Box<Linux>>,
    /// Offset of the peer's FIN once known.
    fin: MaybeOffset,
    /// RMSS: the largest payload seen.
    rmss: u32,
    /// Delayed ACKs: the longest delay, in nanoseconds.
    delay: u32,
    buffer: u64,
    /// The right edge that the last ACK was meant to offer, before rounding to the field's units.
    promised: u64,
    /// Right edge of the window as advertised last. It lies before `edge` where a scheme may shrink the window, and by
    /// less than a unit of the window field where that field counts in coarse units.
    offered: u64,
    /// Farthest right edge of the window ever advertised; data before it is accepted.
    edge: u64,
    /// Whether any data waits beyond a gap.
    gap: bool,
    /// Whether acceptable segments are taken whole, as Linux does, even if they end beyond the window.
    whole: bool,
    shift: u8,
    auto_read: bool,
    ack_now: bool,
    /// Delayed ACKs: full segments per ACK. A scenario has 1000 at most, and two octets fill a hole here.
    every: u16,
    /// Sequence number of offset 0.
    first: SeqNum,
    /// The window field of the last ACK, while the next ACK would carry the same.
    field: Option<u16>,
    ack_at: Instant,
    /// RCV.NXT of the last ACK sent (RFC 7323's Last.ACK.sent).
    acked: u64,
    /// RCV.NXT as an offset.
    nxt: u64,
}

#[cfg(test)]
impl Receiver {
    /// Octets that plain data needs.
    pub(crate) const NEEDED_BY_DATA: core::ops::Range<usize> =
        core::mem::offset_of!(Self, linux)..core::mem::size_of::<Self>();
    /// Octets that a plain ACK needs.
    pub(crate) const NEEDED_BY_ACKS: core::ops::Range<usize> =
        core::mem::offset_of!(Self, gap)..core::mem::size_of::<Self>();
}

impl Receiver {
    /// A field on the cache line of what data in order needs, for [`prefetch`](crate::Connection::prefetch).
    #[inline]
    pub(crate) fn plain_line(&self) -> &u64 {
        &self.edge
    }

    /// Prefetches what waits behind a gap.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        if let Some(waiting) = &self.waiting {
            prefetch_lines(&**waiting, 0..2);
        }
    }

    /// A receiver that has not seen the peer's SYN; the window in our own SYN is not scaled. `cap` is a scheme's bound
    /// of that window.
    pub(crate) fn new(config: &Config, cap: Option<WindowCap>) -> Self {
        let (every, delay) = match config.delayed_ack {
            DelayedAck::Off => (1, Duration::ZERO),
            DelayedAck::On { every, timeout } => (u16::try_from(every.max(1)).unwrap_or(u16::MAX), timeout),
        };
        let buffer = config.recv_buffer.as_u64().min(65_535 << 14);
        let linux = Linux::new(config);
        let tuned = linux.as_ref().and_then(|linux| linux.tuning.as_ref()).map(|tuning| tuning.window(0, 1));
        let first = tuned.unwrap_or(buffer);
        let unusual = Unusual::of(config);
        let rledbat = unusual.as_ref().and_then(|unusual| unusual.rledbat.as_ref());
        let own = rledbat.map_or(u64::MAX, |rledbat| rledbat.cap(0));
        let first = cap.map_or(first, |cap| first.min(cap.bytes.as_u64())).min(own).min(65_535);
        Self {
            first: SeqNum::default(),
            nxt: 0,
            fin: MaybeOffset::NONE,
            waiting: None,
            gap: false,
            whole: false,
            buffer,
            read: 0,
            auto_read: true,
            edge: first,
            offered: first,
            promised: first,
            cap: cap.map(Box::new),
            shift: 0,
            acked: 0,
            field: None,
            rmss: 0,
            dsack: None,
            every,
            delay: u32::try_from(delay.as_nanos()).unwrap_or(u32::MAX),
            ack_now: false,
            ack_at: Instant::NEVER,
            linux,
            unusual,
        }
    }

    /// The peer's SYN arrived.
    pub(crate) fn start(&mut self, irs: SeqNum, shift: u8) {
        (self.first, self.shift, self.field) = (irs + Bytes::new(1), shift, None);
    }

    /// Offset of a sequence number near RCV.NXT; negative before the stream.
    #[inline]
    pub(crate) fn offset(&self, seq: SeqNum) -> i64 {
        let distance = seq.as_u32().wrapping_sub(self.ack().as_u32()) as i32;
        (self.nxt as i64).wrapping_add(i64::from(distance))
    }

    /// RCV.NXT.
    #[inline]
    pub(crate) fn ack(&self) -> SeqNum {
        self.first + Bytes::new(self.nxt)
    }

    /// RCV.NXT as an offset.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// RCV.NXT of the last ACK sent, as an offset.
    #[inline]
    pub(crate) fn last_ack(&self) -> u64 {
        self.acked
    }

    /// Bytes in order, without the FIN.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt - u64::from(self.is_finished())
    }

    /// Whether the peer's FIN and all before it has arrived.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.get().is_some_and(|f| self.nxt > f)
    }

    /// Bytes in order that the application has not read.
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        if self.auto_read { 0 } else { self.delivered() - self.read }
    }

    /// Switches between reading at once and reading by hand.
    pub(crate) fn set_auto_read(&mut self, on: bool) {
        if on != self.auto_read {
            self.read = self.delivered();
            (self.auto_read, self.field) = (on, None);
        }
    }

    /// Reads up to `max` bytes for the application. An ACK is due if that moves the window (RFC 9293, section
    /// 3.8.6.2.2).
    pub(crate) fn read(&mut self, max: u64) -> u64 {
        let n = self.readable().min(max);
        self.read += n;
        self.field = None;
        if n > 0 && !self.on_read_as_linux() {
            self.ack_now |= self.better_edge().is_some_and(|edge| edge > self.offered);
        }
        n
    }

    /// Whether a segment of `len` octets at `offset` touches the window (RFC 9293, section 3.10.7.4).
    ///
    /// A segment without octets may also lie at the window's right edge, as in Linux (`tcp_sequence`). The RFC's table
    /// refuses it there. But a peer that has filled the window sends its ACKs from there while a gap is open. If both
    /// ends did so and each refused the other's ACKs, they would answer ACKs with ACKs forever.
    #[inline]
    pub(crate) fn is_acceptable(&self, offset: i64, len: u64) -> bool {
        let (nxt, edge) = (self.nxt as i64, self.edge as i64);
        if len == 0 {
            return nxt <= offset && offset <= edge.max(nxt);
        }
        offset < edge && offset + len as i64 > nxt
    }

    /// Whether [`on_expected`](Self::on_expected) can take `len` bytes of payload at RCV.NXT: nothing waits behind a
    /// gap, no FIN is known, and they are within the window.
    #[inline]
    pub(crate) fn expects(&self, len: u64) -> bool {
        !self.gap && self.fin.get().is_none() && self.nxt + len <= self.edge
    }

    /// Whether data waits behind a gap.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        self.gap
    }

    /// Whether nothing waits behind a gap or is to be reported, no FIN is known, the application reads at once, and
    /// neither a scheme, Linux's rules nor rLEDBAT decide ACKs or the window.
    pub(crate) fn is_calm(&self) -> bool {
        !self.gap
            && self.dsack.is_none()
            && self.fin.get().is_none()
            && self.auto_read
            && self.cap.is_none()
            && self.linux.is_none()
            && self.unusual.is_none()
    }

    /// Takes `len` bytes of payload at RCV.NXT that it [`expects`](Self::expects), without a FIN.
    #[inline]
    pub(crate) fn on_expected(&mut self, len: u64, now: Instant) {
        self.rmss = self.rmss.max(u32::try_from(len).unwrap_or(u32::MAX));
        self.field = None;
        self.nxt += len;
        self.on_in_order(false, now);
    }

    /// Takes a segment's payload of `len` bytes and its FIN, or several segments of up to `size` bytes.
    pub(crate) fn on_data(
        &mut self,
        offset: i64,
        (len, size): (u64, u32),
        fin: bool,
        sack: bool,
        now: Instant,
    ) -> Arrival {
        self.rmss = self.rmss.max(size);
        self.field = None;
        if offset == self.nxt as i64 && !fin && self.expects(len) {
            self.nxt += len;
            self.on_in_order(false, now);
            return Arrival::InOrder;
        }
        self.on_data_slow(offset, len, fin, sack, now)
    }

    fn on_data_slow(&mut self, offset: i64, len: u64, fin: bool, sack: bool, now: Instant) -> Arrival {
        let stop = (offset + len as i64).max(0) as u64;
        if fin && (stop < self.edge || self.whole) && self.fin.get().is_none() {
            self.fin = MaybeOffset::at(stop);
        }
        let most = if self.whole { u64::MAX } else { self.edge };
        let last = self.fin.get().map_or(most, |f| most.min(f + 1));
        let end = (stop + u64::from(fin)).min(last);
        let start = offset.max(0) as u64;
        if sack && start < self.nxt && start < end {
            self.dsack = Some(Box::new((start, end.min(self.nxt))));
        }
        let from = start.max(self.nxt);
        if from >= end {
            self.ack_now = true;
            return Arrival::Duplicate;
        }
        if from > self.nxt {
            let inserted = self.waiting.get_or_insert_default().insert(from, end);
            self.gap = true;
            self.dsack = inserted.duplicate.filter(|_| sack).map(Box::new);
            self.ack_now = true;
            return if inserted.new == 0 { Arrival::Duplicate } else { Arrival::OutOfOrder };
        }
        let filled = self.gap;
        self.nxt = end;
        if let Some(waiting) = self.waiting.as_mut().filter(|_| filled) {
            if sack && let Some(held) = waiting.overlap(from, end) {
                self.dsack = Some(Box::new(held));
            }
            self.nxt = waiting.advance(end);
            self.gap = !waiting.is_empty();
        }
        let finished = self.is_finished();
        self.on_in_order(filled || finished || self.dsack.is_some(), now);
        Arrival::InOrder
    }

    #[inline]
    fn on_in_order(&mut self, at_once: bool, now: Instant) {
        if at_once || self.every == 1 {
            self.ack_now = true;
        } else if self.acks_as_linux() {
            // Decided by `on_data_as_linux`, which follows.
        } else if self.nxt - self.acked >= u64::from(self.every) * u64::from(self.rmss) {
            self.ack_now = true;
        } else if self.ack_at == Instant::NEVER {
            self.ack_at = now + Duration::from_nanos(u64::from(self.delay));
        }
    }

    /// The end of the highest data that waits behind a gap.
    pub(crate) fn highest_end(&self) -> Option<i64> {
        let waiting = self.waiting.as_ref().filter(|_| self.gap)?;
        waiting.end().map(|end| end as i64)
    }

    /// Takes octets that were received before, from `offset` to `end`; reports them if `report`.
    pub(crate) fn on_old(&mut self, offset: i64, end: i64, report: bool) -> Arrival {
        if report && end > offset && end > 0 {
            self.dsack = Some(Box::new((offset.max(0) as u64, end as u64)));
        }
        self.field = None;
        self.ack_now = true;
        Arrival::Duplicate
    }

    /// The peer's FIN arrived: nothing can wait behind it, and duplicates are reported no more (`tcp_fin`).
    pub(crate) fn forget_blocks(&mut self) {
        (self.waiting, self.gap, self.dsack) = (None, false, None);
    }

    /// Takes acceptable segments whole from now on.
    pub(crate) fn take_whole(&mut self) {
        self.whole = true;
    }

    /// Whether its segments are never as predicted.
    #[inline]
    pub(crate) fn is_unusual(&self) -> bool {
        self.unusual.is_some()
    }

    /// Farthest right edge of the window ever advertised, and that of the last ACK, for tests.
    #[cfg(test)]
    pub(crate) fn edges(&self) -> (u64, u64) {
        (self.edge, self.offered)
    }
}
