//! The sending half: the stream that the application offers, the peer's window, and what may be sent of it.
//!
//! Offsets count the own stream from 0 and never wrap; the FIN takes the octet after the last byte.

use crate::scoreboard::Scoreboard;
use crate::usage::Usage;
use narrows_units::{Bytes, Instant, SeqNum};

/// New data that could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// So many payload bytes, followed by the FIN or not.
    Segment { len: u32, fin: bool },
    /// There is data, but the peer's window (or Nagle's algorithm) holds it back.
    Blocked,
    /// The application offers nothing.
    Nothing,
}

impl Fresh {
    /// Octets that the congestion window must have room for; the FIN of a segment with data is not counted, so that it
    /// never holds back a full segment. 0 if nothing can be sent.
    #[inline]
    pub(crate) fn window_octets(self) -> u64 {
        match self {
            Self::Segment { len, .. } => u64::from(len.max(1)),
            Self::Blocked | Self::Nothing => 0,
        }
    }
}

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// SND.UNA as an offset.
    pub(crate) una: u64,
    /// SND.NXT as an offset.
    pub(crate) nxt: u64,
    /// Bytes that the application has offered; `u64::MAX` is without end.
    end: u64,
    /// Sequence number of offset 0.
    first: SeqNum,
    /// ACKs in a row that acknowledged nothing new, for the count of triple ones alone.
    pub(crate) repeated_acks: u32,
    fin_wanted: bool,
    fin_sent: bool,
    /// One octet beyond SND.NXT is on its way as a window probe.
    pub(crate) probed: bool,
    /// A probe is due.
    pub(crate) probe_due: bool,
    /// Segments smaller than the rules against silly windows allow may leave now, since the override timer expired.
    pub(crate) overridden: bool,
    /// SND.UNA + SND.WND.
    pub(crate) edge: u64,
    /// SND.WL1 and SND.WL2 as offsets.
    wl1: i64,
    wl2: u64,
    /// Largest window that the peer ever offered.
    max_window: u64,
    /// What was sent and is not acknowledged.
    pub(crate) board: Scoreboard,
    /// Octets that limited transmit added beyond cwnd since the last new ACK.
    pub(crate) limited: u64,
    /// How much of cwnd is used.
    pub(crate) usage: Usage,
    /// Last transmission of data; [`Instant::NEVER`] before the first.
    pub(crate) last_sent: Instant,
    /// SND.NXT when the segment was sent that is timed, where only one is at a time.
    pub(crate) timed_until: u64,
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
            probe_due: false,
            overridden: false,
            limited: 0,
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

    /// The application offers more.
    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.fin_wanted {
            self.end = self.end.saturating_add(bytes);
        }
    }

    /// The application takes back what was not sent yet; it may offer more later, unless it has closed.
    pub(crate) fn withdraw(&mut self) {
        if !self.fin_sent {
            self.end = self.end.min(self.nxt + u64::from(self.probed));
        }
    }

    /// The application offers no more. A stream without end ends where it has been sent.
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

    /// Takes the window of a segment at `offset` in the peer's stream that acknowledges `ack` (RFC 9293, section
    /// 3.10.7.4). Returns whether the window itself, not just its place, changed.
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

    /// The peer's window at SND.UNA.
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }

    /// Octets of data or FIN not yet sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.nxt < self.end || (self.fin_wanted && !self.fin_sent)
    }

    /// The next new segment of at most `smss` bytes, by the peer's window, silly-window avoidance (RFC 9293, section
    /// 3.8.6.2.1) and Nagle's algorithm (section 3.7.4).
    #[inline]
    pub(crate) fn fresh(&self, smss: u64, nagle: bool) -> Fresh {
        let usable = self.edge.saturating_sub(self.nxt);
        let data = self.end.saturating_sub(self.nxt);
        if data >= smss && usable >= smss {
            // The FIN rides on the last segment if the window has room for its octet.
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

    /// The octet of the window probe was taken: it counts as sent and is about to be acknowledged.
    pub(crate) fn on_probe_acked(&mut self) {
        self.fin_sent |= self.nxt >= self.end;
        self.nxt += 1;
        self.probed = false;
    }

    /// A new segment was sent: `len` octets of sequence space.
    #[inline]
    pub(crate) fn on_sent(&mut self, len: u64, fin: bool) {
        self.nxt += len;
        self.fin_sent |= fin;
        self.overridden = false;
        self.probed = false;
    }
}
