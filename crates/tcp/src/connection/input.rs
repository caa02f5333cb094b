//! Segments of a synchronized connection (RFC 9293, section 3.10.7.4).

use super::Connection;
use crate::ecn::{Feedback, Mode};
use crate::linux::OwnPath;
use crate::receiver::Arrival;
use crate::receiver::rledbat::DataSegment;
use crate::stats::State;
use narrows_units::{Instant, Packets};
use narrows_wire::{Ecn, Packet, TcpFlags, TcpRepr};

impl Connection {
    /// Handles a segment that arrived from the peer. Poll for segments afterwards.
    pub fn handle_segment(&mut self, segment: &Packet, now: Instant) {
        self.tx.calm = false;
        if self.device.is_some() {
            self.on_arrival(segment, now);
        } else {
            self.handle(segment, now);
        }
    }

    /// Handles a segment.
    #[inline]
    pub(super) fn handle(&mut self, segment: &Packet, now: Instant) {
        let Some(tcp) = segment.tcp() else { return };
        self.stats.segments_received += Packets::new(1);
        let una = self.tx.una;
        let reports = self.socket.as_ref().is_some_and(|socket| socket.ecn.is_accurate());
        if !reports && self.on_predicted(segment, tcp, now) {
            let progress = self.tx.una > una;
            if let Some(socket) = &mut self.socket {
                socket.on_ack(progress, now);
            }
        } else {
            self.handle_unpredicted(segment, tcp, now);
        }
        if let Some(socket) = &mut self.socket {
            socket.hold.on_event();
        }
    }

    /// Handles a segment that is not as predicted.
    #[inline]
    pub(super) fn handle_unpredicted(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        if self.socket.is_some() {
            self.on_full(segment, tcp, now);
        } else {
            self.on_any(segment, tcp, now);
        }
    }

    /// Handles a segment in any state, by all the rules.
    #[inline(never)]
    fn on_any(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        match self.state {
            State::Closed => self.on_closed(segment, tcp),
            State::Listen => self.on_listen(segment, tcp, now),
            State::SynSent => self.on_syn_sent(segment, tcp, now),
            State::SynReceived => {
                if self.on_syn_received(segment, tcp, now) {
                    self.on_synchronized(segment, tcp, now);
                }
            }
            _ => self.on_synchronized(segment, tcp, now),
        }
    }

    fn on_synchronized(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let offset = self.rx.offset(tcp.seq);
        let mut advice = None;
        if let Some(assist) = self.active_assist() {
            advice = assist.on_receive(segment, now);
            let cap = assist.window_cap();
            self.rx.set_cap(cap);
        }
        if !self.check_sequence(segment, tcp, offset, now) {
            return;
        }
        if tcp.flags.has(TcpFlags::RST) {
            // In these states the RFC signals nothing to the application either: both sides have closed.
            match self.state {
                State::Closing | State::LastAck | State::TimeWait => self.enter_closed(),
                _ => self.enter_aborted(now),
            }
            return;
        }
        if tcp.flags.has(TcpFlags::SYN) {
            // A challenge ACK: a peer that restarted answers it with a RST (RFC 9293, section 3.10.7.4).
            if tcp.flags.has(TcpFlags::ACK) {
                self.ecn.on_repeated_syn_ack(segment);
            }
            self.rx.request_ack();
            return;
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            return;
        }
        if !self.on_ack(tcp, segment.payload_len, offset, advice, now) {
            return;
        }
        self.after_ack(now);
        let fin = tcp.flags.has(TcpFlags::FIN);
        if segment.payload_len > 0 || fin {
            self.on_payload(segment, tcp, offset, fin, now);
        } else if self.rx.misbehaves() {
            self.on_refused_ack(offset, now);
        }
    }

    /// Checks PAWS and the acceptability of the sequence number; returns `false` if the segment is dropped.
    #[inline]
    fn check_sequence(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) -> bool {
        let len = segment.seq_len().as_u64();
        let reset = tcp.flags.has(TcpFlags::RST);
        if self.ts.on && !reset {
            // A segment without the option is not of this connection (RFC 7323, section 3.2).
            let Some(ts) = tcp.options.timestamps else { return false };
            if self.ts.is_old(ts.val, now) {
                self.stats.rare_received().paws_drops += Packets::new(1);
                self.rx.request_ack();
                return false;
            }
            if self.rx.is_acceptable(offset, len) && offset <= self.rx.last_ack() as i64 {
                self.ts.on_segment(ts.val, now);
            }
        }
        if self.rx.is_acceptable(offset, len) {
            return true;
        }
        if !reset {
            self.refuse(segment, tcp, offset, now);
        }
        false
    }

    /// Answers an unacceptable segment with an ACK. Its own ACK field is not used, since only an acceptable segment
    /// updates the sender, unless it tells that the peer took the octet of our window probe.
    #[cold]
    fn refuse(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) {
        let fin = tcp.flags.has(TcpFlags::FIN);
        if segment.payload_len > 0 || fin {
            self.count_data(segment);
            self.stats.rare_received().duplicate_segments += Packets::new(1);
            // Old data is reported by D-SACK (RFC 2883).
            if offset < self.rx.nxt() as i64 {
                let arrival = self.take_data(segment, offset, fin, now);
                if segment.payload_len > 0 && self.rx.follows_linux() {
                    self.data_as_linux((segment, self.parts(segment).size), offset, arrival, now);
                }
            }
            if self.state == State::TimeWait && fin {
                self.set_time_wait(now + self.config.time_wait);
            }
        }
        if self.reports_probe(tcp, offset) && self.on_ack(tcp, 0, offset, None, now) {
            self.after_ack(now);
        }
        self.rx.request_ack();
    }

    /// Whether an unacceptable segment of a peer whose own window probe we took acknowledges the octet of ours.
    ///
    /// An end that does not know that its probe was taken sends all its segments from the octet before RCV.NXT. If both
    /// ends did so, each would refuse the ACK that could tell it, and answer ACKs with ACKs forever. Linux's probes
    /// have old sequence numbers (`tcp_xmit_probe_skb`), so its ends are never in this state.
    fn reports_probe(&self, tcp: &TcpRepr, offset: i64) -> bool {
        let probe = self.tx.probed && self.tx.offset(tcp.ack) == self.tx.nxt as i64 + 1;
        probe && offset + 1 == self.rx.nxt() as i64 && tcp.flags.has(TcpFlags::ACK) && !tcp.flags.has(TcpFlags::SYN)
    }

    #[inline]
    pub(super) fn count_data(&mut self, segment: &Packet) {
        if segment.payload_len > 0 {
            let count = self.parts(segment).count;
            self.stats.data_segments_received += Packets::new(count.into());
            Feedback::count(segment, count, &mut self.stats);
        }
    }

    /// Changes the state if our FIN is acknowledged.
    #[inline]
    pub(super) fn after_ack(&mut self, now: Instant) {
        if !self.tx.fin_acked() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.enter_closed(),
            _ => {}
        }
    }

    fn take_data(&mut self, segment: &Packet, offset: i64, fin: bool, now: Instant) -> Arrival {
        let sizes = (u64::from(segment.payload_len), self.parts(segment).size);
        self.rx.on_data(offset, sizes, fin, self.sack, now)
    }

    /// Gives a data segment to a receiver with rLEDBAT, before the receiver takes it.
    fn data_of_rledbat(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, now: Instant) {
        let Some(ts) = tcp.options.timestamps else { return };
        let end = offset + i64::from(segment.payload_len);
        let rtt = self.ts.since(ts.ecr, now);
        let data = DataSegment { start: offset, end, new: true, val: ts.val, echo: ts.ecr, rtt };
        self.rx.on_data_of_rledbat(&data, now);
    }

    #[inline]
    pub(super) fn on_payload(&mut self, segment: &Packet, tcp: &TcpRepr, offset: i64, fin: bool, now: Instant) {
        self.count_data(segment);
        if matches!(self.state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed) {
            // Nothing can follow the peer's FIN.
            self.rx.request_ack();
            return;
        }
        let mut concealed;
        let mut segment = segment;
        if self.rx.misbehaves() {
            concealed = *segment;
            concealed.ip.set_ecn(self.rx.seen_codepoint(segment.ip.ecn()));
            segment = &concealed;
        }
        if self.ecn.is_on() {
            if self.ecn.parts(segment.ip.ecn() == Ecn::Ce) && self.rx.ack_pending() {
                let mut ack = self.blank();
                self.pure_ack(now, &mut ack);
                self.urgent.get_or_insert_default().acks.push_back(ack);
            }
            let echoed = self.ecn.echoes();
            let due = self.ecn.on_data(segment, tcp, self.parts(segment).count);
            if self.rx.acks_as_linux() && self.ecn.mode() == Mode::UntilCwr {
                self.ecn_as_linux(segment, tcp, echoed);
            } else if due {
                self.rx.request_ack();
            }
        }
        if segment.payload_len > 0 && self.rx.has_rledbat() {
            self.data_of_rledbat(segment, tcp, offset, now);
        }
        let arrival = self.take_data(segment, offset, fin, now);
        if segment.payload_len > 0 && self.rx.follows_linux() {
            self.data_as_linux((segment, self.parts(segment).size), offset, arrival, now);
        }
        if self.rx.misbehaves() {
            self.misbehave(u64::from(segment.payload_len), now);
        }
        match arrival {
            Arrival::InOrder => {}
            Arrival::OutOfOrder => self.stats.rare_received().out_of_order_segments += Packets::new(1),
            Arrival::Duplicate => self.stats.rare_received().duplicate_segments += Packets::new(1),
        }
        if self.rx.is_finished() {
            self.on_fin(now);
        }
    }

    pub(super) fn on_fin(&mut self, now: Instant) {
        let own = OwnPath { srtt: self.rto.srtt(), rto: self.rto.current() };
        if self.socket.is_none() {
            self.rx.request_ack();
        } else {
            self.rx.forget_blocks();
            if self.state != State::Established || !self.rx.delay_ack_of_fin(&own, now) {
                self.rx.request_ack();
            }
        }
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.rto = Instant::NEVER;
        self.stop_persist();
        self.set_time_wait(now + self.config.time_wait);
    }
}
