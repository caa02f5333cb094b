//! The sending half: the application's stream, the peer's window, and what may be sent.
//!
//! Offsets count this end's stream from 0 and never wrap; the FIN takes the octet after the last byte.

use crate::scoreboard::Scoreboard;
use crate::usage::Usage;
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Ip, TcpRepr};

/// New data that could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// `len` payload bytes, followed by the FIN if `fin`.
    Segment { len: u32, fin: bool },
    /// There is data, but the peer's window (or Nagle's algorithm) holds it back.
    Blocked,
    /// The application offers nothing.
    Nothing,
}

impl Fresh {
    /// Octets that must fit into the congestion window; 0 if nothing can be sent. The FIN of a segment with data is not
    /// counted, so that it never holds back a full segment.
    #[inline]
    pub(crate) fn window_octets(self) -> u64 {
        match self {
            Self::Segment { len, .. } => u64::from(len.max(1)),
            Self::Blocked | Self::Nothing => 0,
        }
    }
}

/// What all plain segments have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// [`Ip::traffic_class`].
    pub(crate) traffic_class: u8,
    /// Length of both headers in bytes: [`Ip::header_len`], without extensions 20 or 40, and that of TCP.
    pub(crate) len: u8,
}

impl Frame {
    /// `stamps`: whether timestamps are in use.
    pub(crate) fn of(ip: &Ip, stamps: bool) -> Self {
        let tcp = if stamps { TcpRepr::LEN_WITH_TIMESTAMPS } else { TcpRepr::LEN };
        // The network header of a connection has no options, so that the length fits.
        Self { traffic_class: ip.traffic_class(), len: (ip.header_len() + tcp) as u8 }
    }
}

/// The sending half of a connection.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// SND.UNA as an offset.
    pub(crate) una: u64,
    /// SND.NXT as an offset.
    pub(crate) nxt: u64,
    /// Bytes that the application has offered; `u64::MAX` means endless.
    end: u64,
    /// Sequence number of offset 0.
    first: SeqNum,
    /// Consecutive ACKs that acknowledged nothing new; only used to count triple duplicate ACKs.
    pub(crate) repeated_acks: u32,
    /// Duplicate ACKs since SND.UNA last advanced, where they count as deliveries.
    pub(crate) by_duplicates: u32,
    fin_wanted: bool,
    fin_sent: bool,
    /// Whether one octet beyond SND.NXT is in flight as a window probe.
    pub(crate) probed: bool,
    /// Whether a window probe is due.
    pub(crate) probe_due: bool,
    /// Whether the override timer has expired, so that segments may leave that silly-window avoidance would hold back.
    pub(crate) overridden: bool,
    /// Whether the connection may take the plain path (`connection/plain.rs`); here, because it fills a hole.
    pub(crate) calm: bool,
    /// Of a connection on the plain path: whether its sender needs more there than a window.
    pub(crate) rich: bool,
    /// Of the connection's segments; here, because it fills a hole.
    pub(crate) frame: Frame,
    /// The peer's window scale (RFC 7323's Snd.Wind.Shift); here, because it fills a hole.
    pub(crate) send_shift: u8,
    /// SND.UNA + SND.WND.
    pub(crate) edge: u64,
    /// SND.WL1 and SND.WL2 as offsets.
    wl1: i64,
    wl2: u64,
    /// Largest window that the peer ever offered.
    max_window: u64,
    /// The segments sent and not acknowledged.
    pub(crate) board: Scoreboard,
    /// SND.NXT when the timed segment was sent, where only one is timed at a time. It lies beside what the scoreboard
    /// needs for losses.
    pub(crate) timed_until: u64,
    /// How much of cwnd is used.
    pub(crate) usage: Usage,
    /// Last transmission of data; [`Instant::NEVER`] before the first.
    pub(crate) last_sent: Instant,
}

impl Sender {
    /// A sender whose SYN has sequence number `iss`.
    pub(crate) fn new(iss: SeqNum) -> Self {
        Self {
            first: iss + Bytes::new(1),
            board: Scoreboard::default(),
            una: 0,
            nxt: 0,
            end: 0,
            fin_wanted: false,
            fin_sent: false,
            edge: 0,
            wl1: i64::MIN,
            wl2: 0,
            max_window: 0,
            probed: false,
            repeated_acks: 0,
            by_duplicates: 0,
            probe_due: false,
            overridden: false,
            calm: false,
            rich: false,
            frame: Frame::default(),
            send_shift: 0,
            usage: Usage::default(),
            last_sent: Instant::NEVER,
            timed_until: 0,
        }
    }

    /// Sequence number of an offset.
    #[inline]
    pub(crate) fn seq(&self, offset: u64) -> SeqNum {
        self.first + Bytes::new(offset)
    }

    /// Offset of a sequence number near SND.UNA; negative before the stream.
    #[inline]
    pub(crate) fn offset(&self, seq: SeqNum) -> i64 {
        let distance = seq.as_u32().wrapping_sub(self.seq(self.una).as_u32()) as i32;
        (self.una as i64).wrapping_add(i64::from(distance))
    }

    /// Adds `bytes` to the application's stream.
    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.fin_wanted {
            self.end = self.end.saturating_add(bytes);
        }
    }

    /// Withdraws what the application offered and was not sent yet; it may offer more later, unless it has closed.
    pub(crate) fn withdraw(&mut self) {
        if !self.fin_sent {
            self.end = self.end.min(self.nxt + u64::from(self.probed));
        }
    }

    /// Closes the application's stream. An endless stream ends at what has been sent.
    pub(crate) fn close(&mut self) {
        if self.end == u64::MAX {
            self.withdraw();
        }
        self.fin_wanted = true;
    }

    /// Whether the FIN is acknowledged.
    #[inline]
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin_sent && self.una > self.end
    }

    /// Offset after the last byte that the application has offered; `u64::MAX` for an endless stream.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Whether the FIN follows what was offered, and is not sent.
    #[inline]
    pub(crate) fn fin_waits(&self) -> bool {
        self.fin_wanted && !self.fin_sent
    }

    /// Bytes offered and not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.end.saturating_sub(self.nxt)
    }

    /// Bytes acknowledged, without the FIN.
    #[inline]
    pub(crate) fn acked(&self) -> u64 {
        self.una.min(self.end)
    }

    /// Sets the window from a SYN.
    pub(crate) fn start_window(&mut self, wl1: i64, window: u64) {
        (self.wl1, self.wl2, self.edge, self.max_window) = (wl1, 0, window, window);
    }

    /// Updates the window from a segment at `offset` in the peer's stream that acknowledges `ack` (RFC 9293, section
    /// 3.10.7.4). Returns whether the size of the window changed, not only its position.
    #[inline(always)]
    pub(crate) fn on_window(&mut self, offset: i64, ack: u64, window: u64) -> bool {
        if self.wl1 < offset || (self.wl1 == offset && self.wl2 <= ack) {
            let changed = self.edge.saturating_sub(self.wl2) != window;
            (self.wl1, self.wl2, self.edge) = (offset, ack, ack + window);
            self.max_window = self.max_window.max(window);
            return changed;
        }
        false
    }

    /// [`on_window`](Self::on_window) where it does not matter whether the size changed.
    #[inline(always)]
    pub(crate) fn move_window(&mut self, offset: i64, ack: u64, window: u64) {
        if self.wl1 < offset || (self.wl1 == offset && self.wl2 <= ack) {
            (self.wl1, self.wl2, self.edge) = (offset, ack, ack + window);
            self.max_window = self.max_window.max(window);
        }
    }

    /// Whether a segment at `offset` that acknowledges `ack` and offers `window` would change the window
    /// (`tcp_may_update_window`).
    pub(crate) fn would_move_window(&self, offset: i64, ack: u64, window: u64) -> bool {
        ack > self.una || offset > self.wl1 || (offset == self.wl1 && window > self.edge.saturating_sub(self.una))
    }

    /// Largest window that the peer ever offered.
    #[inline]
    pub(crate) fn max_window(&self) -> u64 {
        self.max_window
    }

    /// The peer's window at SND.UNA.
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }

    /// Whether a sequence number is SND.UNA.
    #[inline]
    pub(crate) fn is_una(&self, seq: SeqNum) -> bool {
        seq == self.seq(self.una)
    }

    /// Whether the application has not closed, and no window probe or override is due or in flight.
    pub(crate) fn is_calm(&self) -> bool {
        !(self.fin_wanted || self.fin_sent || self.probed || self.probe_due || self.overridden)
    }

    /// Whether the application and the peer's window have room for a full segment.
    #[inline]
    pub(crate) fn has_full(&self, smss: u64) -> bool {
        let next = self.nxt + smss;
        next <= self.edge && next <= self.end
    }

    /// Whether data or the FIN is still to be sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.nxt < self.end || (self.fin_wanted && !self.fin_sent)
    }

    /// The next new segment of at most `smss` bytes that the peer's window, silly-window avoidance (RFC 9293, section
    /// 3.8.6.2.1) and Nagle's algorithm (section 3.7.4) allow.
    #[inline]
    pub(crate) fn fresh(&self, smss: u64, nagle: bool) -> Fresh {
        let usable = self.edge.saturating_sub(self.nxt);
        let data = self.end.saturating_sub(self.nxt);
        if data >= smss && usable >= smss {
            // The last segment carries the FIN if the window has room for its octet.
            let fin = data == smss && self.fin_wanted && usable > smss;
            return Fresh::Segment { len: smss as u32, fin };
        }
        self.fresh_small(usable, data, smss, nagle)
    }

    fn fresh_small(&self, usable: u64, data: u64, smss: u64, nagle: bool) -> Fresh {
        let fin_waits = self.fin_wanted && !self.fin_sent;
        if data == 0 && !fin_waits {
            return Fresh::Nothing;
        }
        if usable == 0 {
            return Fresh::Blocked;
        }
        let len = data.min(usable).min(smss);
        let fin = fin_waits && len == data && usable > len;
        let all = len == data;
        let idle = self.una == self.nxt;
        let worthwhile = if all { !nagle || idle || fin } else { (!nagle || idle) && 2 * len >= self.max_window };
        if worthwhile || self.overridden { Fresh::Segment { len: len as u32, fin } } else { Fresh::Blocked }
    }

    /// Notes that the peer took the octet of the window probe: it counts as sent and is about to be acknowledged.
    pub(crate) fn on_probe_acked(&mut self) {
        self.fin_sent |= self.nxt >= self.end;
        self.nxt += 1;
        self.probed = false;
    }

    /// Notes a new segment of `len` octets of sequence space.
    #[inline]
    pub(crate) fn on_sent(&mut self, len: u64, fin: bool) {
        self.nxt += len;
        self.fin_sent |= fin;
        self.overridden = false;
        self.probed = false;
    }
}
