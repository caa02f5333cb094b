//! What is left of a full end once both sides have closed, or the program has and the peer not yet: TIME-WAIT, and
//! FIN-WAIT-2 without a program (RFC 9293, section 3.10.7.4; `tcp_timewait_state_process`).

use super::Connection;
use crate::stats::State;
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Packet, TcpFlags, TcpRepr};

impl Connection {
    /// Handles a segment in TIME-WAIT.
    pub(super) fn on_time_wait(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let offset = self.rx.offset(tcp.seq);
        let reset = tcp.flags.has(TcpFlags::RST);
        let old = self.is_old_here(tcp, now);
        let len = segment.seq_len().as_u64();
        if !old && offset == self.rx.nxt() as i64 && (len == 0 || reset) {
            if reset {
                self.enter_closed();
                return;
            }
            self.renew_time_wait(now);
            if let Some(ts) = tcp.options.timestamps.filter(|_| self.ts.on) {
                self.ts.take(ts.val, now);
            }
            return;
        }
        if !reset {
            if old || tcp.flags.has(TcpFlags::ACK) {
                self.renew_time_wait(now);
            }
            self.challenge(now);
        }
    }

    fn renew_time_wait(&mut self, now: Instant) {
        self.set_time_wait(now + self.config.time_wait);
    }

    fn is_old_here(&self, tcp: &TcpRepr, now: Instant) -> bool {
        let stamp = tcp.options.timestamps.filter(|_| self.ts.on);
        stamp.is_some_and(|ts| self.ts.is_before(ts.val, 0, now))
    }

    /// The initial sequence number with which a SYN may open a new connection in the place of this one in TIME-WAIT: it
    /// is beyond the old one by sequence number or by timestamp (RFC 6191). `None` if it may not.
    #[must_use]
    pub fn yields_to(&self, segment: &Packet, now: Instant) -> Option<SeqNum> {
        let tcp = segment.tcp()?;
        let plain = tcp.flags.has(TcpFlags::SYN) && !tcp.flags.any(TcpFlags::ACK.with(TcpFlags::RST));
        if self.state != State::TimeWait || !plain || self.is_old_here(tcp, now) {
            return None;
        }
        let newer = tcp.options.timestamps.filter(|_| self.ts.on).is_some_and(|ts| self.ts.behind(ts.val) < 0);
        let beyond = self.rx.offset(tcp.seq) > self.rx.nxt() as i64;
        // Beyond anything that the old connection could have sent.
        (beyond || newer).then(|| self.tx.seq(self.tx.nxt) + Bytes::new(65_535 + 2))
    }

    /// Handles a segment in FIN-WAIT-2 after the program has closed.
    pub(super) fn on_orphaned_fin_wait(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let offset = self.rx.offset(tcp.seq);
        let (nxt, end) = (self.rx.nxt() as i64, offset + segment.seq_len().as_u64() as i64);
        let (reset, fin) = (tcp.flags.has(TcpFlags::RST), tcp.flags.has(TcpFlags::FIN));
        let inside = offset == nxt || (end > nxt && offset < self.rx.limit() as i64) || (offset == end && end == nxt);
        if self.is_old_here(tcp, now) || !inside {
            if !reset {
                self.challenge(now);
            }
            return;
        }
        if reset {
            self.enter_closed();
        } else if tcp.flags.has(TcpFlags::SYN) && offset >= nxt {
            self.reject(segment, tcp);
            self.enter_closed();
        } else if tcp.flags.has(TcpFlags::ACK) && end > nxt && segment.seq_len().as_u64() > 0 {
            if !fin || end != nxt + 1 {
                self.reject(segment, tcp);
                self.enter_closed();
                return;
            }
            if let Some(ts) = tcp.options.timestamps.filter(|_| self.ts.on) {
                self.ts.take(ts.val, now);
            }
            self.rx.on_data(offset, (0, 0), true, self.sack, now);
            self.rx.request_ack();
            self.enter_time_wait(now);
        }
    }
}
