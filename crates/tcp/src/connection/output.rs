//! Which segment leaves next.

use super::Connection;
use crate::assist::{Agreement, SegmentKind};
use crate::ecn::first_option;
use crate::handshake::syn_options;
use crate::pacer::{Departure, burst_segments};
use crate::recovery::{Next, Room};
use crate::scoreboard::Resend;
use crate::segment::{Segment, flag};
use crate::sender::Fresh;
use crate::stats::State;
use narrows_cc::{Phase, Sent};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::{Packet, TcpFlags, TcpRepr, Timestamps};

/// Retransmissions of a SYN that still offer AccECN (RFC 9768, section 3.1.4).
const OFFERS: u32 = 1;

/// New data that leaves as one segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// Payload in bytes.
    pub(super) len: u32,
    /// Flags of its entry on the board; [`flag::FIN`] is whether the FIN follows the payload.
    pub(super) marks: u16,
    /// Whether it has PSH.
    pub(super) push: bool,
    /// Whether it is a tail loss probe.
    pub(super) probe: bool,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// Nothing, for now.
    Nothing,
    /// New data.
    New(Part),
    /// The segment with this index, again, because recovery named it.
    Again(u64, Next),
}

impl Connection {
    /// The next segment that leaves now; call until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.blank();
        self.poll_transmit_into(now, &mut packet).then_some(packet)
    }

    /// Like [`poll_transmit`](Self::poll_transmit), into a packet of the caller's. If it returns `true`, the segment is
    /// in `out`, all of which was written; if not, nothing leaves now and the content of `out` has no meaning.
    pub fn poll_transmit_into(&mut self, now: Instant, out: &mut Packet) -> bool {
        if self.is_device_full() {
            self.wait_for_device(now);
            return false;
        }
        let left = self.poll_any(now, out);
        if left && self.socket.is_some() {
            self.report_ecn(now, out);
        }
        left
    }

    #[inline]
    fn poll_any(&mut self, now: Instant, out: &mut Packet) -> bool {
        if self.urgent.is_some() && self.poll_urgent(now, out) {
            return true;
        }
        if self.socket.is_some() && self.vigil_probe(now, out) {
            return true;
        }
        if self.state != State::Established {
            return self.poll_other(now, out);
        }
        if self.tx.board.is_empty() && !self.tx.has_unsent() {
            self.note_no_data();
            return self.rx.ack_due() && self.pure_ack(now, out);
        }
        if self.rx.ack_due() {
            // A duplicate ACK with SACK blocks goes alone: the blocks would not fit on a full data segment.
            return (!self.rx.has_blocks() && self.poll_data(now, out)) || self.pure_ack(now, out);
        }
        self.poll_data(now, out)
    }

    /// The next segment in states other than ESTABLISHED.
    #[inline(never)]
    fn poll_other(&mut self, now: Instant, out: &mut Packet) -> bool {
        match self.state {
            State::Closed | State::Listen => false,
            State::SynSent | State::SynReceived => self.poll_opening(now, out),
            _ if self.syn.as_ref().is_some_and(|syn| syn.due) => self.poll_opening(now, out),
            _ if self.rx.ack_due() && self.rx.has_blocks() => self.pure_ack(now, out),
            State::TimeWait | State::FinWait2 => self.rx.ack_due() && self.pure_ack(now, out),
            _ => self.poll_data(now, out) || (self.rx.ack_due() && self.pure_ack(now, out)),
        }
    }

    /// The next segment of those that leave before all others.
    #[cold]
    fn poll_urgent(&mut self, now: Instant, out: &mut Packet) -> bool {
        let Some(urgent) = &mut self.urgent else { return false };
        if let Some(reset) = urgent.reset.take() {
            if reset.own {
                self.own_reset(reset.seq, now, out);
            } else {
                self.reset_packet(reset.seq, reset.ack, now, out);
            }
            return true;
        }
        let ack = urgent.acks.pop_front();
        if urgent.acks.is_empty() {
            self.urgent = None;
        }
        ack.map(|ack| *out = ack).is_some()
    }

    fn poll_opening(&mut self, now: Instant, out: &mut Packet) -> bool {
        let early = self.is_fast_open_pending();
        let syn = self.syn.get_or_insert_default();
        if !core::mem::take(&mut syn.due) {
            return (early && self.poll_data(now, out)) || (self.rx.ack_due() && self.pure_ack(now, out));
        }
        let first = self.timers.rto == Instant::NEVER;
        if first {
            self.timers.rto = now + self.rto.current();
            syn.first_sent = now;
        } else {
            syn.retransmissions += 1;
        }
        syn.sent_at = now;
        let again = syn.retransmissions;
        let answers = self.state != State::SynSent;
        if !answers && syn.retransmissions > OFFERS && syn.flags == TcpFlags::ACE {
            // Something on the way may drop SYNs with these flags.
            (syn.flags, syn.capable) = (TcpFlags::NONE, false);
        }
        let ours = Timestamps { val: self.ts.tick(now), ecr: 0 };
        let ts = Some(self.ts.option(now).unwrap_or(ours));
        let mut options = syn_options(&self.config, syn.peer.as_ref(), ts);
        let ours = self.socket.is_none() && self.agreement == Agreement::AccurateEcn;
        if answers && ours && syn.retransmissions == 0 {
            options.set_accecn(first_option());
        }
        let flags = TcpFlags::SYN.with(syn.flags).with(if answers { TcpFlags::ACK } else { TcpFlags::NONE });
        let mut tcp = TcpRepr { seq: self.syn_seq(), flags, options, ..TcpRepr::default() };
        if answers {
            tcp.ack = self.rx.ack();
        }
        tcp.window = self.rx.on_ack_sent(false);
        if early {
            // Data of the SYN does not count against the window of the answer.
            let taken = u16::try_from(self.rx.delivered()).unwrap_or(u16::MAX);
            tcp.window = tcp.window.saturating_add(taken);
        }
        *out = self.packet(tcp);
        if self.socket.is_some() {
            self.write_syn_ecn(again, out);
            if first {
                self.add_fast_open(now, out);
            }
        }
        true
    }

    /// Counts `len` bytes of data as sent with our SYN.
    pub(super) fn send_with_syn(&mut self, len: u32, now: Instant) {
        let start = self.tx.nxt;
        let stamp = self.rate.on_sent(self.tx.board.in_flight(), len, now);
        self.tx.board.push(Segment { start, len, flags: 0, turn: 0, sent_at: now }, stamp);
        self.tx.on_sent(u64::from(len), false);
        self.stats.sent_bytes += Bytes::new(u64::from(len));
        self.stats.sent_packets += Packets::new(1);
        self.tx.last_sent = now;
    }

    /// A segment with data or FIN, or a window probe.
    pub(super) fn poll_data(&mut self, now: Instant, out: &mut Packet) -> bool {
        if self.tx.board.is_empty() && !self.tx.has_unsent() {
            self.note_no_data();
            return false;
        }
        if self.tx.probe_due {
            self.window_probe(now, out);
            return true;
        }
        let choice = if self.gso.is_some() { self.choose_together(now) } else { self.choose(now) };
        match choice {
            Choice::New(part) => {
                self.send_new(&part, now, out);
                true
            }
            Choice::Again(index, next) if self.gso.is_some() => self.retransmit_together(index, next, now, out),
            Choice::Again(index, next) => self.retransmit(index, next, now, out),
            Choice::Nothing => false,
        }
    }

    /// What leaves next, where segments leave one by one.
    #[inline(always)]
    fn choose(&mut self, now: Instant) -> Choice {
        let fresh = self.tx.fresh(self.smss, self.holds_small());
        let new = fresh.window_octets();
        if new > 0 && self.tx.board.is_empty() {
            self.restart_if_idle(now);
        }
        let cwnd = self.cwnd().as_u64();
        let next = self.recovery.next(&mut self.tx.board, &Room { cwnd, new });
        match next {
            Next::Hold => self.note_usage(true, now),
            Next::Idle => self.on_nothing_to_send(fresh, cwnd, now),
            _ if !self.pacer.admits(now) => {
                // There was room: the rate, not cwnd, is what stops the sender.
                self.note_usage(false, now);
                return Choice::Nothing;
            }
            Next::Retransmit(index) | Next::Rescue(index) | Next::Probe(Some(index)) => {
                return Choice::Again(index, next);
            }
            Next::New | Next::Probe(None) => {
                if let Fresh::Segment { len, fin } = fresh {
                    let push = len > 0 && self.tx.unsent() == u64::from(len);
                    return Choice::New(Part {
                        len,
                        marks: if fin { flag::FIN } else { 0 },
                        push,
                        probe: next != Next::New,
                    });
                }
            }
        }
        self.pacer.idle();
        Choice::Nothing
    }

    /// Whether a segment that is not full waits while data is in flight.
    #[inline]
    pub(super) fn holds_small(&self) -> bool {
        self.socket.as_ref().map_or(self.config.nagle, |socket| socket.hold.holds(true))
    }

    /// Sends new data.
    #[inline(always)]
    fn send_new(&mut self, part: &Part, now: Instant, out: &mut Packet) {
        let Part { len, marks, push, probe } = *part;
        let fin = marks & flag::FIN != 0;
        let start = self.tx.nxt;
        let flight = self.tx.board.flight();
        let octets = u64::from(len) + u64::from(fin);
        let idle = if flight == 0 { now.since(self.tx.last_sent) } else { Duration::ZERO };
        let beyond = flight + u64::from(len) > self.cwnd().as_u64();
        let stamp = self.rate.on_sent(self.tx.board.in_flight(), len + u32::from(fin), now);
        let mut flags = marks;
        if self.rate.is_app_limited() {
            flags |= flag::APP_LIMITED;
        }
        self.tx.board.push(Segment { start, len: len + u32::from(fin), flags, turn: 0, sent_at: now }, stamp);
        self.tx.on_sent(octets, fin);
        self.episode.on_sent(octets, beyond);
        self.note_sent(len, false, idle, now);
        self.recovery.touch(now, true);
        if probe {
            self.on_probe_sent();
        }
        if fin {
            self.on_fin_sent();
        }
        let mut bits = TcpFlags::ACK;
        if fin {
            bits = bits.with(TcpFlags::FIN);
        }
        if push {
            bits = bits.with(TcpFlags::PSH);
        }
        let seq = self.tx.seq(start);
        let kind = if fin { SegmentKind::Control } else { SegmentKind::Data };
        self.segment(seq, bits, len, now, out);
        if len > 0 && self.ecn.is_on() {
            self.ecn.on_new_data(out);
            let room = self.smss.saturating_sub(u64::from(len));
            self.ecn.on_data_segment(out, room, now, self.rto.srtt());
        }
        self.finish(kind, flight, now, out);
    }

    #[inline(never)]
    fn on_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    #[inline(never)]
    pub(super) fn retransmit(&mut self, index: u64, next: Next, now: Instant, out: &mut Packet) -> bool {
        let Some(&segment) = self.tx.board.get(index) else { return false };
        let flight = self.tx.board.flight();
        let stamp = self.rate.on_sent(self.tx.board.in_flight(), segment.len, now);
        let why = match next {
            Next::Rescue(_) => Resend::Rescue,
            Next::Probe(_) => Resend::Probe,
            _ => Resend::Repair,
        };
        let again = self.tx.board.on_retransmit(index, now, stamp, self.rate.is_app_limited(), why);
        if again && index == self.tx.board.head_index() {
            // Nothing can advance SND.UNA before this segment arrives (RFC 6675, section 6: the more careful variant).
            self.timers.rto = now + self.rto.current();
        }
        if why == Resend::Probe {
            self.stats.rare().tail_probes += 1;
        }
        self.recovery.on_sent(next, &self.tx.board);
        let first_time = !segment.has(flag::EVER) || self.recovery.phase() == Phase::Loss;
        let decisive = first_time && index == self.tx.board.head_index();
        self.episode.on_retransmit(u64::from(segment.len), self.ts.tick(now), decisive);
        let payload = segment.payload();
        let stats = self.stats.rare();
        stats.retransmitted_bytes += Bytes::new(u64::from(payload));
        stats.retransmitted_packets += Packets::new(u64::from(payload > 0));
        self.note_sent(payload, true, Duration::ZERO, now);
        let fin = if segment.has(flag::FIN) { TcpFlags::FIN } else { TcpFlags::NONE };
        let push = if segment.has(flag::PUSH) { TcpFlags::PSH } else { TcpFlags::NONE };
        self.segment(self.tx.seq(segment.start), TcpFlags::ACK.with(fin).with(push), payload, now, out);
        self.finish(SegmentKind::Retransmission, flight, now, out);
        true
    }

    /// Notes a probe of new data.
    #[cold]
    fn on_probe_sent(&mut self) {
        self.stats.rare().tail_probes += 1;
        self.recovery.on_sent(Next::Probe(None), &self.tx.board);
    }

    /// Updates counters, timer, pacer and congestion control after a transmission of data.
    #[inline(always)]
    fn note_sent(&mut self, payload: u32, retransmission: bool, idle: Duration, now: Instant) {
        let bytes = u64::from(payload);
        self.stats.sent_bytes += Bytes::new(bytes);
        self.stats.sent_packets += Packets::new(u64::from(payload > 0));
        self.tx.last_sent = now;
        if payload > 0 && self.rx.follows_linux() {
            self.rx.on_data_sent(now);
        }
        self.tx.usage.on_sent();
        if self.timers.rto == Instant::NEVER {
            self.timers.rto = now + self.rto.current();
        }
        self.timers.persist = Instant::NEVER;
        if self.congestion.needs.sending || !idle.is_zero() {
            self.tell_sent(bytes, retransmission, idle, now);
        }
        if let Some(rate) = self.pacer.rate(&self.congestion.win) {
            self.pace(bytes, rate, now);
        }
    }

    /// Reports a data segment that leaves to the pacer, where `rate` paces them.
    #[inline(never)]
    pub(super) fn pace(&mut self, bytes: u64, rate: Rate, now: Instant) {
        let segment = Departure { bytes, number: self.stats.sent_packets, burst: None };
        if self.gso.is_some() {
            return self.pace_together(segment, now);
        }
        let burst = self.config.tso.then(|| burst_segments(rate, self.smss, self.rtt.min()));
        self.pacer.on_sent(Departure { burst, ..segment }, &self.congestion.win, now);
    }

    #[inline(never)]
    pub(super) fn tell_sent(&mut self, bytes: u64, retransmission: bool, idle: Duration, now: Instant) {
        let path = self.path(self.tx.board.flight(), now);
        let app_limited = self.rate.is_app_limited();
        self.congestion.on_sent(&Sent { bytes: Bytes::new(bytes), retransmission, idle, app_limited }, &path);
    }

    /// Sends one octet beyond the closed window (RFC 9293, section 3.8.6.1).
    #[inline(never)]
    fn window_probe(&mut self, now: Instant, out: &mut Packet) {
        self.tx.probe_due = false;
        self.tx.probed = true;
        self.stats.rare().probes_sent += Packets::new(1);
        let payload = u32::from(self.tx.unsent() > 0);
        // The peer may take the octet, and what is delivered must count as sent.
        self.stats.sent_bytes += Bytes::new(u64::from(payload));
        self.stats.sent_packets += Packets::new(u64::from(payload));
        let fin = if payload == 0 { TcpFlags::FIN } else { TcpFlags::NONE };
        if payload == 0 {
            self.on_fin_sent();
        }
        let flight = self.tx.board.flight();
        self.segment(self.tx.seq(self.tx.nxt), TcpFlags::ACK.with(fin), payload, now, out);
        self.finish(SegmentKind::Probe, flight, now, out);
    }
}
