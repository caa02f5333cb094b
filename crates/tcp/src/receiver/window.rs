//! The right edge of the advertised window: where it is and where it should be (RFC 9293, section 3.8.6).

use super::Receiver;
use crate::assist::WindowCap;
use narrows_units::Bytes;

impl Receiver {
    /// Whether the right edge may move left.
    #[inline]
    fn shrinks(&self) -> bool {
        self.cap.as_ref().is_some_and(|cap| cap.shrink)
    }

    /// The smallest step of the right edge. Linux has no such step with window scaling, where its window is in units.
    #[inline]
    pub(super) fn step(&self) -> u64 {
        if self.linux.as_ref().is_some_and(|linux| linux.tuning.is_some()) {
            return 1;
        }
        self.plain_step()
    }

    /// [`step`](Self::step) where the receiver does not follow Linux.
    #[inline]
    pub(super) fn plain_step(&self) -> u64 {
        (self.buffer / 2).min(u64::from(self.rmss.max(1)))
    }

    /// Where the right edge should move to, if at all: forward only by a worthwhile step (RFC 9293, section 3.8.6.2.2),
    /// and back only if a scheme may shrink the window.
    #[inline]
    pub(super) fn better_edge(&self) -> Option<u64> {
        let mut room = self.tuned_room().unwrap_or_else(|| self.buffer.saturating_sub(self.readable()));
        if let Some(cap) = self.bound() {
            // A window of less than a segment, after rounding to the field's units, would be silly: it is closed
            // instead.
            room = room.min(if cap >> self.shift << self.shift < u64::from(self.rmss) { 0 } else { cap });
        }
        let edge = self.nxt + room;
        (edge >= self.offered + self.step() || (edge < self.offered && self.shrinks())).then_some(edge)
    }

    /// Moves the right edge to where it should be, and returns the window field.
    #[inline(never)]
    pub(super) fn advertise(&mut self, scaled: bool) -> u16 {
        let shift = if scaled { self.shift } else { 0 };
        let better = self.better_edge();
        let widest = self.nxt + (u64::from(u16::MAX) << shift);
        self.promised = better.unwrap_or(self.promised).clamp(self.nxt, widest);
        let mut field = (better.unwrap_or(self.offered).max(self.nxt) - self.nxt) >> shift;
        // A window that was rounded up may be reduced next time, and a scheme or rLEDBAT may change its bound; any
        // other field stays valid.
        let mut settled = scaled && self.cap.is_none() && !self.has_rledbat();
        if !self.shrinks() && self.nxt + (field << shift) < self.offered {
            field = self.round_up(shift);
            settled = false;
        }
        let field = u16::try_from(field).unwrap_or(u16::MAX);
        self.field = settled.then_some(field);
        self.offered = self.nxt + (u64::from(field) << shift);
        self.edge = self.edge.max(self.offered);
        field
    }

    /// The window in units of `1 << shift` bytes, rounded up so that the edge does not move back. If less than a unit
    /// arrives per ACK, rounding up each time would push the edge on, and the window would never close. So the promised
    /// edge is kept, and what rounding gave beyond it is taken back (RFC 7323, section 2.4, allows both).
    fn round_up(&self, shift: u8) -> u64 {
        let unit = 1 << shift;
        let field = (self.offered - self.nxt).div_ceil(unit);
        if self.nxt + field * unit < self.promised + unit { field } else { (self.promised - self.nxt).div_ceil(unit) }
    }

    /// Offers the whole buffer, if that moves the edge on by a worthwhile step: as [`advertise`](Self::advertise), by
    /// less. Nothing is unread, and nothing else bounds the window.
    #[inline(always)]
    pub(super) fn offer_whole(&mut self, step: u64) -> Option<u16> {
        let field = (self.buffer >> self.shift).min(u64::from(u16::MAX));
        let offered = self.nxt + (field << self.shift);
        let edge = self.nxt + self.buffer;
        if edge < self.offered + step || offered < self.offered {
            return None;
        }
        self.promised = edge.min(self.nxt + (u64::from(u16::MAX) << self.shift));
        self.offered = offered;
        self.edge = self.edge.max(offered);
        self.field = Some(field as u16);
        Some(field as u16)
    }

    /// Bounds the window of our SYN, which has not been sent. A bound below `smss` closes it, as any silly window is
    /// closed (RFC 9293, section 3.8.6.2.2).
    pub(crate) fn bound_first(&mut self, cap: WindowCap, smss: u64) {
        let bytes = if cap.bytes.as_u64() < smss { Bytes::ZERO } else { cap.bytes };
        let first = self.offered.min(bytes.as_u64());
        (self.edge, self.offered, self.promised) = (first, first, first);
        self.set_cap(Some(WindowCap { bytes, ..cap }));
    }

    /// Sets a scheme's bound of the window.
    #[inline]
    pub(crate) fn set_cap(&mut self, cap: Option<WindowCap>) {
        (self.cap, self.field) = (cap.map(Box::new), None);
    }

    /// The farthest right edge of the window ever advertised, as an offset, or RCV.NXT if a segment went beyond it.
    pub(crate) fn limit(&self) -> u64 {
        self.edge.max(self.nxt)
    }

    /// Moves the window that is offered on by `octets`, before anything but the SYN-ACK offers it.
    pub(crate) fn shift_window(&mut self, octets: u64) {
        self.edge += octets;
        self.offered += octets;
        self.promised += octets;
    }

    /// Sets the memory of the socket where the window follows Linux; `fixed` is whether it stays as it is.
    pub(crate) fn set_memory(&mut self, memory: u64, fixed: bool) {
        let Some(tuning) = self.linux.as_mut().and_then(|linux| linux.tuning.as_mut()) else { return };
        if let Some(first) = tuning.set_memory(memory, fixed) {
            let first = self.bound().map_or(first, |bound| first.min(bound));
            (self.edge, self.offered, self.promised, self.field) = (first, first, first, None);
        }
    }

    /// Bounds the window that is advertised (`TCP_WINDOW_CLAMP`).
    pub(crate) fn set_clamp(&mut self, clamp: Option<Bytes>) {
        if let Some(clamp) = clamp {
            self.cap = Some(Box::new(WindowCap { bytes: clamp, shrink: false }));
            self.field = None;
        } else if self.cap.is_some() {
            (self.cap, self.field) = (None, None);
        }
    }
}
