//! Segments that arrive at a full end (see [`crate::socket`]), checked as Linux checks them.
//!
//! | rule | source |
//! |---|---|
//! | PAWS and its exceptions for old ACKs and RST | RFC 7323, section 5; `tcp_validate_incoming` |
//! | RST and SYN in the window, ranges of ACKs, limits of answers | RFC 5961; `tcp_validate_incoming`, `tcp_ack` |
//! | TS.Recent moves with acceptable ACKs only | RFC 7323, section 4.3; `tcp_replace_ts_recent` |
//! | data after the program has closed is answered by RST | RFC 9293, section 3.6.1; RFC 1122, section 4.2.2.13 |

use super::Connection;
use crate::assist::Agreement;
use crate::ecn::{Delivered, Echo};
use crate::socket::{Failure, Socket};
use crate::stats::State;
use narrows_cc::Phase;
use narrows_units::{Instant, Packets};
use narrows_wire::{Packet, TcpFlags, TcpRepr};

/// How far a TSval may lie before TS.Recent without being old (`TCP_PAWS_WINDOW`): segments may overtake by one tick.
const PAWS_WINDOW: u32 = 1;

/// Where the ACK field of a segment lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckRange {
    /// From SND.UNA to SND.NXT.
    Usable,
    /// Before SND.UNA, within the largest window: from a segment that others overtook.
    Old,
    /// Neither: answered by a challenge ACK (RFC 5961, section 5.2).
    Impossible,
}

impl Connection {
    /// Handles a segment that is not as predicted, at a full end.
    pub(super) fn on_full(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        match self.state {
            State::Closed => self.on_closed(segment, tcp),
            State::Listen => self.on_listen_full(segment, tcp, now),
            State::SynSent => self.on_syn_sent_full(segment, tcp, now),
            State::SynReceived => {
                if self.on_syn_received_full(segment, tcp, now) {
                    self.on_synchronized_full(segment, tcp, true, now);
                }
            }
            State::TimeWait => self.on_time_wait(segment, tcp, now),
            State::FinWait2 if self.is_orphan() => self.on_orphaned_fin_wait(segment, tcp, now),
            _ => {
                let third = self.is_fast_open_pending();
                if self.takes_early_ack(segment, tcp, now) {
                    self.on_synchronized_full(segment, tcp, third, now);
                }
            }
        }
    }

    /// Handles a segment of a synchronized connection; `third` is whether it has just ended a passive open.
    fn on_synchronized_full(&mut self, segment: &Packet, tcp: &TcpRepr, third: bool, now: Instant) {
        if !tcp.flags.any(TcpFlags::ACK.with(TcpFlags::RST).with(TcpFlags::SYN)) {
            return;
        }
        let offset = self.rx.offset(tcp.seq);
        if !self.validate(segment, tcp, offset, now) || !tcp.flags.has(TcpFlags::ACK) {
            return;
        }
        if !third
            && self.state == State::Established
            && let Some(socket) = &mut self.socket
        {
            socket.ecn.count(segment.ip.ecn(), segment.payload_len);
        }
        if let Some(socket) = &mut self.socket {
            socket.ecn.set_third(third);
        }
        let range = self.ack_range(tcp);
        if range == AckRange::Impossible {
            self.challenge(now);
            return;
        }
        if range == AckRange::Usable {
            self.renew_recent(tcp, offset, now);
            let progress = self.tx.offset(tcp.ack) > self.tx.una as i64;
            if let Some(socket) = &mut self.socket {
                socket.on_ack(progress, now);
            }
        }
        let idle = self.tx.board.is_empty();
        if !self.on_ack(tcp, segment.payload_len, offset, None, now) {
            return;
        }
        if !third {
            self.after_report(tcp, idle);
        }
        if !self.after_full_ack(segment, tcp, offset, now) {
            return;
        }
        let fin = tcp.flags.has(TcpFlags::FIN);
        if segment.payload_len > 0 || fin {
            self.on_text(segment, tcp, offset, fin, now);
            if self.socket.as_ref().is_some_and(|socket| socket.ecn.is_ack_due()) {
                self.rx.request_ack();
            }
        }
    }

    /// Reads what an ACK reports about ECN that found nothing in flight (`idle`), and follows a change of the room for
    /// data.
    fn after_report(&mut self, tcp: &TcpRepr, idle: bool) {
        if idle {
            self.report_delivery(tcp, 0, 0, false);
        }
        if self.agreement == Agreement::AccurateEcn {
            self.follow_path_mtu();
        }
    }

    /// Reads what an ACK that delivers segments reports about ECN; `None` if that is not AccECN at a full end.
    pub(super) fn report_delivery(&mut self, tcp: &TcpRepr, packets: u64, bytes: u64, progress: bool) -> Option<Echo> {
        let reliable = self.sack || matches!(self.phase(), Phase::Open | Phase::Cwr);
        let (sent, smss) = (self.stats.sent_bytes.as_u64(), self.smss as u32);
        let socket = self.socket.as_mut().filter(|socket| socket.ecn.is_accurate())?;
        let delivered = Delivered { packets: packets as u32, bytes: bytes as u32, progress, smss, reliable, sent };
        Some(socket.ecn.on_ack(tcp, &delivered))
    }

    /// Checks timestamps, sequence number, RST and SYN; returns whether the segment goes on.
    fn validate(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) -> bool {
        let len = segment.seq_len().as_u64();
        let (reset, syn) = (tcp.flags.has(TcpFlags::RST), tcp.flags.has(TcpFlags::SYN));
        if let Some(ts) = tcp.options.timestamps.filter(|_| self.ts.on)
            && self.ts.is_before(ts.val, PAWS_WINDOW, now)
            && !reset
            && !self.is_disordered_ack(segment, tcp, offset)
        {
            self.stats.rare_received().paws_drops += Packets::new(1);
            let old_ack = tcp.flags.has(TcpFlags::ACK) && len == 0 && offset < self.rx.nxt() as i64;
            if syn {
                self.challenge(now);
            } else if !old_ack {
                self.refuse_full(segment, tcp, offset, now);
            }
            return false;
        }
        if !self.in_sequence(segment, tcp, offset) {
            if syn && !reset {
                self.challenge(now);
            } else if !reset {
                self.refuse_full(segment, tcp, offset, now);
            } else if self.resets_after_fin(offset) {
                self.on_reset(now);
            }
            return false;
        }
        if reset {
            if offset == self.rx.nxt() as i64 || self.resets_after_fin(offset) || self.rx.highest_end() == Some(offset)
            {
                self.on_reset(now);
            } else {
                self.challenge(now);
            }
            return false;
        }
        if syn {
            self.on_syn_in_window(segment, tcp, now);
            return false;
        }
        true
    }

    /// Whether a segment older than TS.Recent is an ACK that others overtook on a path that reorders
    /// (`tcp_disordered_ack`): a duplicate, without data, which changes nothing, and not older than a timeout.
    fn is_disordered_ack(&self, segment: &Packet, tcp: &TcpRepr, offset: i64) -> bool {
        let Some(ts) = tcp.options.timestamps else { return false };
        let replay = (self.rto.current().as_millis() * self.ts.ticks_per_ms() * 1_200 / 1_000) as i64;
        tcp.flags.has(TcpFlags::ACK)
            && segment.seq_len().is_zero()
            && offset == self.rx.nxt() as i64
            && self.tx.offset(tcp.ack) == self.tx.una as i64
            && !self.tx.would_move_window(offset, self.tx.una, u64::from(tcp.window) << self.tx.send_shift)
            && i64::from(self.ts.behind(ts.val)) <= replay
    }

    /// Whether a segment touches the window (`tcp_sequence`): it may end where the last ACK ends, and it may end beyond
    /// the window if nothing waits for the program.
    fn in_sequence(&self, segment: &Packet, tcp: &TcpRepr, offset: i64) -> bool {
        let end = offset + segment.seq_len().as_u64() as i64;
        let limit = self.rx.limit() as i64;
        if end < self.rx.last_ack() as i64 {
            return false;
        }
        let fin = i64::from(tcp.flags.has(TcpFlags::FIN));
        end - fin <= limit || (offset <= limit && self.rx.readable() == 0)
    }

    /// Whether a RST is that of a peer that counts its FIN differently (RFC 5961, section 3.2, as Linux extends it).
    fn resets_after_fin(&self, offset: i64) -> bool {
        offset == self.rx.nxt() as i64 - 1 && matches!(self.state, State::CloseWait | State::LastAck | State::Closing)
    }

    /// The peer resets the connection (`tcp_reset`).
    pub(super) fn on_reset(&mut self, now: Instant) {
        let failure = match self.state {
            State::SynSent => Failure::Refused,
            State::CloseWait => Failure::BrokenPipe,
            _ => Failure::Reset,
        };
        self.fail(failure, now);
    }

    fn on_syn_in_window(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        if let Some(socket) = &mut self.socket {
            // The challenge itself has the handshake's encoding; where it is not sent, no other ACK has.
            let answers = socket.answers(now);
            socket.ecn.on_late_syn(tcp, segment.ip.ecn(), answers);
            if answers {
                self.rx.request_ack();
            }
        }
    }

    /// Answers with an ACK of the current state, not too often (RFC 5961, section 7).
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.socket.as_mut().is_none_or(|socket| socket.answers(now)) {
            self.rx.request_ack();
        }
    }

    /// Answers a segment that is not acceptable with an ACK (`tcp_send_dupack`). Without data the answers are limited,
    /// so that two ends cannot answer each other for ever.
    fn refuse_full(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) {
        let len = segment.seq_len().as_u64();
        if len == 0 && !self.socket.as_mut().is_none_or(|socket| socket.answers(now)) {
            return;
        }
        if len > 0 && offset < self.rx.nxt() as i64 {
            self.on_old_data(segment, tcp, offset, now);
        }
        self.rx.request_ack();
    }

    /// Reports data that was received before (RFC 2883).
    fn on_old_data(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) {
        self.count_data(segment);
        self.stats.rare_received().duplicate_segments += Packets::new(1);
        let fin = tcp.flags.has(TcpFlags::FIN);
        let end = (offset + segment.seq_len().as_u64() as i64).min(self.rx.nxt() as i64);
        if let Some(socket) = &mut self.socket {
            if socket.reported == Some(offset) {
                socket.ecn.on_duplicate_again();
            }
            socket.reported = Some(offset);
        }
        let arrival = self.rx.on_old(offset, end, self.sack && self.reports_duplicates());
        if (segment.payload_len > 0 || fin) && self.rx.follows_linux() {
            self.data_as_linux((segment, self.parts(segment).size), offset, arrival, now);
        }
    }

    /// Whether duplicates are reported.
    pub(super) fn reports_duplicates(&self) -> bool {
        self.socket.as_ref().is_none_or(|socket| socket.options.dsack)
    }

    /// Where the ACK field lies (RFC 5961, section 5.2).
    fn ack_range(&self, tcp: &TcpRepr) -> AckRange {
        let ack = self.tx.offset(tcp.ack);
        let una = self.tx.una as i64;
        if ack > self.tx.nxt as i64 {
            return AckRange::Impossible;
        }
        if ack >= una {
            return AckRange::Usable;
        }
        let most = self.tx.max_window().min(self.tx.una) as i64;
        // Octets before the stream are our SYN, which Linux counts as acknowledged too.
        if ack < una - most - i64::from(self.tx.una == 0) { AckRange::Impossible } else { AckRange::Old }
    }

    /// Moves TS.Recent if the segment begins at or before the last ACK sent (RFC 7323, section 4.3).
    fn renew_recent(&mut self, tcp: &TcpRepr, offset: i64, now: Instant) {
        if let (true, Some(ts)) = (self.ts.on, tcp.options.timestamps)
            && offset <= self.rx.last_ack() as i64
            && !self.ts.is_before(ts.val, 0, now)
        {
            if let Some(socket) = &mut self.socket {
                socket.ecn.stamp_progress = self.ts.behind(ts.val) < 0;
            }
            self.ts.take(ts.val, now);
        }
    }

    /// Changes the state if our FIN is acknowledged; returns whether the connection goes on.
    fn after_full_ack(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) -> bool {
        let before = self.state;
        self.after_ack(now);
        if before == self.state || !self.is_orphan() || self.state != State::FinWait2 {
            return self.state != State::Closed;
        }
        let fin = tcp.flags.has(TcpFlags::FIN);
        let beyond = offset + i64::from(segment.payload_len) > self.rx.nxt() as i64;
        match self.socket.as_ref().and_then(|socket| socket.options.fin_wait) {
            Some(_) if beyond => {
                self.reject(segment, tcp);
                self.enter_closed();
                false
            }
            Some(wait) => {
                // A FIN that comes along begins TIME-WAIT at once.
                self.set_time_wait(if fin { Instant::NEVER } else { now + wait });
                true
            }
            None => {
                self.reject(segment, tcp);
                self.enter_closed();
                false
            }
        }
    }

    /// Handles data and FIN.
    fn on_text(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, fin: bool, now: Instant) {
        let end = offset + i64::from(segment.payload_len);
        let fresh = end > self.rx.nxt() as i64;
        let finished = matches!(self.state, State::CloseWait | State::Closing | State::LastAck);
        if finished && offset >= self.rx.nxt() as i64 {
            return;
        }
        let closing = finished || matches!(self.state, State::FinWait1 | State::FinWait2);
        if closing && fresh && self.socket.as_ref().is_some_and(|socket| socket.no_reader || socket.orphan) {
            // RFC 1122, section 4.2.2.13: the program would never know of the data.
            self.reject(segment, tcp);
            self.on_reset(now);
            return;
        }
        if offset + segment.seq_len().as_u64() as i64 <= self.rx.nxt() as i64 {
            self.on_old_data(segment, tcp, offset, now);
            self.rx.request_ack();
            return;
        }
        if finished {
            return;
        }
        self.on_payload(segment, tcp, offset, fin, now);
    }

    /// Ends the connection, and lets the program know why.
    pub(super) fn fail(&mut self, failure: Failure, now: Instant) {
        if let Some(socket) = &mut self.socket {
            socket.failure.get_or_insert(failure);
        }
        self.enter_aborted(now);
    }

    /// Whether the program has closed the socket.
    pub(super) fn is_orphan(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.orphan)
    }

    /// The state of a full end.
    pub(super) fn socket_mut(&mut self) -> Option<&mut Socket> {
        self.socket.as_deref_mut()
    }
}
