//! The receiving half: what arrived, what window is offered, and when an ACK is due.
//!
//! Offsets count the peer's stream from 0 and never wrap; its FIN takes the octet after the last byte.

use crate::assist::WindowCap;
use crate::config::{Config, DelayedAck};
use crate::reassembly::Reassembly;
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::SackBlocks;

/// What became of a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It extends the contiguous data.
    InOrder,
    /// It lies beyond a gap.
    OutOfOrder,
    /// Every octet had been received before, or lies beyond the window.
    Duplicate,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Sequence number of offset 0.
    first: SeqNum,
    /// RCV.NXT as an offset.
    nxt: u64,
    /// Offset of the peer's FIN once known.
    fin: Option<u64>,
    waiting: Reassembly,
    buffer: u64,
    /// Bytes that the application has read.
    read: u64,
    auto_read: bool,
    /// Farthest right edge of the window ever advertised: what lies before it is accepted.
    edge: u64,
    /// Right edge of the window as advertised last. It lies before `edge` where a scheme may shrink the window, and by less
    /// than a unit of the window field where that counts in coarse units.
    offered: u64,
    /// The right edge that the last ACK was to offer, before the field's units rounded it.
    promised: u64,
    /// A scheme's bound of the window.
    cap: Option<WindowCap>,
    shift: u8,
    /// RCV.NXT of the last ACK sent (RFC 7323's Last.ACK.sent).
    acked: u64,
    /// RMSS: the largest payload seen.
    rmss: u64,
    /// Duplicate stretch to report in the next ACK (RFC 2883).
    dsack: Option<(u64, u64)>,
    /// Delayed ACKs: full segments per ACK and longest delay.
    every: u64,
    delay: Duration,
    ack_now: bool,
    ack_at: Instant,
}

impl Receiver {
    /// A receiver that has not seen the peer's SYN; the window in our own SYN is not scaled. `cap` is a scheme's bound of it.
    pub(crate) fn new(config: &Config, cap: Option<WindowCap>) -> Self {
        let (every, delay) = match config.delayed_ack {
            DelayedAck::Off => (1, Duration::ZERO),
            DelayedAck::On { every, timeout } => (u64::from(every.max(1)), timeout),
        };
        let buffer = config.recv_buffer.as_u64().min(65_535 << 14);
        let first = cap.map_or(buffer, |cap| buffer.min(cap.bytes.as_u64())).min(65_535);
        Self {
            first: SeqNum::default(),
            nxt: 0,
            fin: None,
            waiting: Reassembly::default(),
            buffer,
            read: 0,
            auto_read: true,
            edge: first,
            offered: first,
            promised: first,
            cap,
            shift: 0,
            acked: 0,
            rmss: 0,
            dsack: None,
            every,
            delay,
            ack_now: false,
            ack_at: Instant::NEVER,
        }
    }

    /// The peer's SYN arrived.
    pub(crate) fn start(&mut self, irs: SeqNum, shift: u8) {
        (self.first, self.shift) = (irs + Bytes::new(1), shift);
    }

    /// Sets a scheme's bound of the window.
    #[inline]
    pub(crate) fn set_cap(&mut self, cap: Option<WindowCap>) {
        self.cap = cap;
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
        self.fin.is_some_and(|f| self.nxt > f)
    }

    /// Bytes in order that the application has not read.
    pub(crate) fn readable(&self) -> u64 {
        if self.auto_read { 0 } else { self.delivered() - self.read }
    }

    /// Switches between reading at once and reading by hand.
    pub(crate) fn set_auto_read(&mut self, on: bool) {
        if on != self.auto_read {
            self.read = self.delivered();
            self.auto_read = on;
        }
    }

    /// The application reads up to `max` bytes. An ACK is due if that moves the window (RFC 9293, section 3.8.6.2.2).
    pub(crate) fn read(&mut self, max: u64) -> u64 {
        let n = self.readable().min(max);
        self.read += n;
        self.ack_now |= n > 0 && self.better_edge().is_some_and(|edge| edge > self.offered);
        n
    }

    /// Whether a segment of `len` octets at `offset` touches the window (RFC 9293, section 3.10.7.4).
    #[inline]
    pub(crate) fn is_acceptable(&self, offset: i64, len: u64) -> bool {
        let (nxt, edge) = (self.nxt as i64, self.edge as i64);
        if len == 0 {
            return offset == nxt || (nxt <= offset && offset < edge);
        }
        offset < edge && offset + len as i64 > nxt
    }

    /// Takes a segment's payload of `len` bytes and its FIN.
    #[inline]
    pub(crate) fn on_data(&mut self, offset: i64, len: u64, fin: bool, sack: bool, now: Instant) -> Arrival {
        self.rmss = self.rmss.max(len);
        let at = self.nxt as i64;
        if offset == at && self.waiting.is_empty() && !fin && self.nxt + len <= self.edge && self.fin.is_none() {
            self.nxt += len;
            self.on_in_order(false, now);
            return Arrival::InOrder;
        }
        self.on_data_slow(offset, len, fin, sack, now)
    }

    fn on_data_slow(&mut self, offset: i64, len: u64, fin: bool, sack: bool, now: Instant) -> Arrival {
        let stop = (offset + len as i64).max(0) as u64;
        if fin && stop < self.edge && self.fin.is_none() {
            self.fin = Some(stop);
        }
        let last = self.fin.map_or(self.edge, |f| self.edge.min(f + 1));
        let end = (stop + u64::from(fin)).min(last);
        let start = offset.max(0) as u64;
        if sack && start < self.nxt && start < end {
            self.dsack = Some((start, end.min(self.nxt)));
        }
        let from = start.max(self.nxt);
        if from >= end {
            self.ack_now = true;
            return Arrival::Duplicate;
        }
        if from > self.nxt {
            let inserted = self.waiting.insert(from, end);
            self.dsack = if sack { inserted.duplicate } else { None };
            self.ack_now = true;
            return if inserted.new == 0 { Arrival::Duplicate } else { Arrival::OutOfOrder };
        }
        let filled = !self.waiting.is_empty();
        if sack
            && filled
            && let Some(held) = self.waiting.containing(end - 1)
        {
            self.dsack = Some((held.0.max(from), end));
        }
        self.nxt = self.waiting.advance(end);
        let finished = self.is_finished();
        self.on_in_order(filled || finished || self.dsack.is_some(), now);
        Arrival::InOrder
    }

    #[inline]
    fn on_in_order(&mut self, at_once: bool, now: Instant) {
        if self.auto_read {
            self.read = self.delivered();
        }
        if at_once || self.every == 1 || self.nxt - self.acked >= self.every * self.rmss {
            self.ack_now = true;
        } else if self.ack_at == Instant::NEVER {
            self.ack_at = now + self.delay;
        }
    }

    /// Asks for an ACK at once.
    #[inline]
    pub(crate) fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// Whether an ACK is due.
    #[inline]
    pub(crate) fn ack_due(&self) -> bool {
        self.ack_now
    }

    /// Whether an ACK is due now or later.
    #[inline]
    pub(crate) fn ack_pending(&self) -> bool {
        self.ack_now || self.ack_at != Instant::NEVER
    }

    /// Whether the next ACK brings SACK blocks, so that it must not ride on data.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        !self.waiting.is_empty() || self.dsack.is_some()
    }

    /// When a delayed ACK is due.
    #[inline]
    pub(crate) fn ack_deadline(&self) -> Instant {
        self.ack_at
    }

    /// The delayed-ACK timer may have expired.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.ack_now |= now >= self.ack_at;
    }

    /// Whether the right edge may move left.
    #[inline]
    fn shrinks(&self) -> bool {
        self.cap.is_some_and(|cap| cap.shrink)
    }

    /// Where the right edge should move to, if it should: only by a worthwhile step (RFC 9293, section 3.8.6.2.2), and back
    /// only where a scheme may shrink the window.
    #[inline]
    fn better_edge(&self) -> Option<u64> {
        let unread = self.delivered() - self.read;
        let mut room = self.buffer.saturating_sub(unread);
        if let Some(cap) = self.cap {
            let cap = cap.bytes.as_u64();
            // A window of less than a segment, as the field's units will say it, would be a silly one: better none.
            room = room.min(if cap >> self.shift << self.shift < self.rmss { 0 } else { cap });
        }
        let edge = self.nxt + room;
        let step = (self.buffer / 2).min(self.rmss.max(1));
        (edge >= self.offered + step || (edge < self.offered && self.shrinks())).then_some(edge)
    }

    /// The window field of a segment that leaves now; `scaled` is false for SYN. The segment carries the ACK too.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, scaled: bool) -> u16 {
        self.acked = self.nxt;
        self.ack_now = false;
        self.ack_at = Instant::NEVER;
        let shift = if scaled { self.shift } else { 0 };
        let better = self.better_edge();
        let widest = self.nxt + (u64::from(u16::MAX) << shift);
        self.promised = better.unwrap_or(self.promised).clamp(self.nxt, widest);
        let mut field = (better.unwrap_or(self.offered).max(self.nxt) - self.nxt) >> shift;
        if !self.shrinks() && self.nxt + (field << shift) < self.offered {
            field = self.round_up(shift);
        }
        let field = u16::try_from(field).unwrap_or(u16::MAX);
        self.offered = self.nxt + (u64::from(field) << shift);
        self.edge = self.edge.max(self.offered);
        field
    }

    /// The window in units of `1 << shift` bytes, rounded up so that the edge does not move back. Where less than a unit
    /// arrives per ACK that would push the edge on with each of them, and the window would never close: what was promised
    /// is kept, and what rounding gave beyond it is taken back (RFC 7323, section 2.4, allows both).
    fn round_up(&self, shift: u8) -> u64 {
        let unit = 1 << shift;
        let field = (self.offered - self.nxt).div_ceil(unit);
        if self.nxt + field * unit < self.promised + unit { field } else { (self.promised - self.nxt).div_ceil(unit) }
    }

    /// The SACK blocks of the next ACK, at most `max` of them; a duplicate is reported once.
    pub(crate) fn take_blocks(&mut self, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        let first = self.first;
        let seq = |offset: u64| first + Bytes::new(offset);
        if let Some((left, right)) = self.dsack.take() {
            blocks.push(seq(left), seq(right));
        }
        self.waiting
            .report(|left, right| blocks.len() < max && blocks.push(seq(left), seq(right)) && blocks.len() < max);
        blocks
    }

    /// Farthest right edge of the window ever advertised, and that of the last ACK, for tests.
    #[cfg(test)]
    pub(crate) fn edges(&self) -> (u64, u64) {
        (self.edge, self.offered)
    }
}
