//! Which segment leaves next, and its header.

use super::Connection;
use crate::assist::{Outgoing, SegmentKind};
use crate::handshake::syn_options;
use crate::pacer::{Departure, burst_segments};
use crate::recovery::{Next, Room};
use crate::segment::{Segment, flag};
use crate::sender::Fresh;
use crate::stats::State;
use crate::usage::Stop;
use narrows_cc::{Phase, Sent};
use narrows_settings::IdleRestart;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, SeqNum};
use narrows_wire::{Packet, TcpFlags, TcpOptions, TcpRepr, Timestamps, Transport};

/// SACK blocks that fit without timestamps, and beside them (RFC 2018, section 3).
const BLOCKS: [usize; 2] = [4, 3];

impl Connection {
    /// The next segment that leaves now; call until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.blank();
        self.poll_transmit_into(now, &mut packet).then_some(packet)
    }

    /// Like [`poll_transmit`](Self::poll_transmit), into a packet of the caller's. If it returns `true`, the segment is
    /// in `out`, all of which was written; if not, nothing leaves now and the content of `out` has no meaning.
    pub fn poll_transmit_into(&mut self, now: Instant, out: &mut Packet) -> bool {
        if self.urgent.is_some() && self.poll_urgent(now, out) {
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
            self.reset_packet(reset.seq, reset.ack, now, out);
            return true;
        }
        let parted = urgent.parted_ack.take();
        self.urgent = None;
        parted.map(|ack| *out = ack).is_some()
    }

    fn poll_opening(&mut self, now: Instant, out: &mut Packet) -> bool {
        let syn = self.syn.get_or_insert_default();
        if !core::mem::take(&mut syn.due) {
            return self.rx.ack_due() && self.pure_ack(now, out);
        }
        if self.timers.rto == Instant::NEVER {
            self.timers.rto = now + self.rto.current();
        } else {
            syn.retransmissions += 1;
        }
        syn.sent_at = now;
        let answers = self.state == State::SynReceived;
        let ours = Timestamps { val: self.ts.tick(now), ecr: 0 };
        let ts = Some(self.ts.option(now).unwrap_or(ours));
        let options = syn_options(&self.config, syn.peer.as_ref(), ts);
        let flags = TcpFlags::SYN.with(syn.flags).with(if answers { TcpFlags::ACK } else { TcpFlags::NONE });
        let mut tcp = TcpRepr { seq: self.syn_seq(), flags, options, ..TcpRepr::default() };
        if answers {
            tcp.ack = self.rx.ack();
        }
        tcp.window = self.rx.on_ack_sent(false);
        *out = self.packet(tcp);
        true
    }

    /// Notes that nothing is in flight and nothing waits to be sent.
    #[inline]
    fn note_no_data(&mut self) {
        self.rate.on_app_limited(0);
        self.pacer.idle();
    }

    /// A segment with data or FIN, or a window probe.
    fn poll_data(&mut self, now: Instant, out: &mut Packet) -> bool {
        if self.tx.board.is_empty() && !self.tx.has_unsent() {
            self.note_no_data();
            return false;
        }
        if self.tx.probe_due {
            self.window_probe(now, out);
            return true;
        }
        let fresh = self.tx.fresh(self.smss, self.config.nagle);
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
                return false;
            }
            Next::Retransmit(index) => return self.retransmit(index, next, now, out),
            Next::Rescue(index) => return self.retransmit(index, next, now, out),
            Next::New => {
                if let Fresh::Segment { len, fin } = fresh {
                    self.send_new(len, fin, now, out);
                    return true;
                }
            }
        }
        self.pacer.idle();
        false
    }

    /// Restarts an old window before something leaves with nothing in flight, because that window may no longer fit the
    /// path. Algorithms that set their window in every phase have their own rule.
    #[inline(never)]
    fn restart_if_idle(&mut self, now: Instant) {
        let rto = self.rto.current();
        // Before the first transmission this is zero.
        let idle = now.since(self.tx.last_sent);
        if idle <= rto {
            return;
        }
        let kind = self.config.idle_restart;
        if kind == IdleRestart::Off || self.congestion.needs.window_in_recovery {
            return;
        }
        let path = self.path(0, now);
        match kind {
            IdleRestart::Linux => self.congestion.decay_idle(idle, &path),
            IdleRestart::Rfc5681 | IdleRestart::Off => self.congestion.restart(&path),
        }
        self.tx.usage.restart(now);
    }

    #[inline(never)]
    fn on_nothing_to_send(&mut self, fresh: Fresh, cwnd: u64, now: Instant) {
        let pipe = self.tx.board.pipe();
        let sent = self.tx.usage.has_sent();
        self.note_usage(pipe + self.smss > cwnd, now);
        if sent && fresh == Fresh::Nothing {
            self.validate_window(now);
        }
        if fresh == Fresh::Blocked && self.tx.board.is_empty() {
            self.arm_persist(now);
        }
        if fresh == Fresh::Nothing && pipe < cwnd {
            self.rate.on_app_limited(pipe);
        }
    }

    /// Notes, when the sender stops, whether cwnd stopped it.
    #[inline]
    fn note_usage(&mut self, limited: bool, now: Instant) {
        let tx = &mut self.tx;
        let stop = Stop { limited, flight: tx.board.flight(), una: tx.una, nxt: tx.nxt, now };
        tx.usage.note(&stop, &self.congestion.win, self.config.slow_start_at_equality);
    }

    /// Decays a window that the application has not used for an RTO (RFC 2861; Linux's `tcp_cwnd_application_limited`).
    /// An application with data that waits for the peer's window or the pacer has used cwnd as far as it could.
    fn validate_window(&mut self, now: Instant) {
        let applies =
            self.config.cwnd_validation && self.phase() == Phase::Open && !self.congestion.needs.window_in_recovery;
        if applies && let Some(used) = self.tx.usage.unused_for(self.rto.current(), now) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.decay_unused(used, &path);
        }
    }

    #[inline]
    fn send_new(&mut self, len: u32, fin: bool, now: Instant, out: &mut Packet) {
        let start = self.tx.nxt;
        let flight = self.tx.board.flight();
        let octets = u64::from(len) + u64::from(fin);
        let idle = if flight == 0 { now.since(self.tx.last_sent) } else { Duration::ZERO };
        if flight + u64::from(len) > self.cwnd().as_u64() {
            self.tx.limited += octets;
        }
        let stamp = self.rate.on_sent(self.tx.board.pipe(), len + u32::from(fin), now);
        let mut flags = if fin { flag::FIN } else { 0 };
        if self.rate.is_app_limited() {
            flags |= flag::APP_LIMITED;
        }
        self.tx.board.push(Segment { start, len: len + u32::from(fin), flags, sent_at: now }, stamp);
        self.tx.on_sent(octets, fin);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(octets);
        }
        self.note_sent(len, false, idle, now);
        if fin {
            self.on_fin_sent();
        }
        let mut bits = TcpFlags::ACK;
        if fin {
            bits = bits.with(TcpFlags::FIN);
        }
        if self.tx.unsent() == 0 && len > 0 {
            bits = bits.with(TcpFlags::PSH);
        }
        let seq = self.tx.seq(start);
        let kind = if fin { SegmentKind::Control } else { SegmentKind::Data };
        self.segment(seq, bits, len, now, out);
        if len > 0 && self.ecn.is_on() {
            self.ecn.on_new_data(out);
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
    fn retransmit(&mut self, index: u64, next: Next, now: Instant, out: &mut Packet) -> bool {
        let Some(&segment) = self.tx.board.get(index) else { return false };
        let flight = self.tx.board.flight();
        let stamp = self.rate.on_sent(self.tx.board.pipe(), segment.len, now);
        let rescue = matches!(next, Next::Rescue(_));
        let again = self.tx.board.on_retransmit(index, now, stamp, self.rate.is_app_limited(), rescue);
        if again && index == self.tx.board.head_index() {
            // Nothing can advance SND.UNA before this segment arrives (RFC 6675, section 6: the more careful variant).
            self.timers.rto = now + self.rto.current();
        }
        self.recovery.on_sent(next);
        if self.undo.is_armed() {
            let first_time = !segment.has(flag::EVER) || self.recovery.phase() == Phase::Loss;
            self.undo.on_retransmit(self.ts.tick(now), first_time && index == self.tx.board.head_index());
        }
        let payload = segment.payload();
        let stats = self.stats.rare();
        stats.retransmitted_bytes += Bytes::new(u64::from(payload));
        stats.retransmitted_packets += Packets::new(u64::from(payload > 0));
        if let Some(prr) = &mut self.prr {
            prr.on_sent(u64::from(segment.len));
        }
        self.note_sent(payload, true, Duration::ZERO, now);
        let fin = if segment.has(flag::FIN) { TcpFlags::FIN } else { TcpFlags::NONE };
        self.segment(self.tx.seq(segment.start), TcpFlags::ACK.with(fin), payload, now, out);
        self.finish(SegmentKind::Retransmission, flight, now, out);
        true
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
    fn pace(&mut self, bytes: u64, rate: Rate, now: Instant) {
        let burst = self.config.tso.then(|| burst_segments(rate, self.smss, self.rtt.min()));
        let segment = Departure { bytes, number: self.stats.sent_packets, burst };
        self.pacer.on_sent(segment, &self.congestion.win, now);
    }

    #[inline(never)]
    fn tell_sent(&mut self, bytes: u64, retransmission: bool, idle: Duration, now: Instant) {
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

    /// Writes an ACK without data; returns `true`.
    pub(super) fn pure_ack(&mut self, now: Instant, out: &mut Packet) -> bool {
        self.stats.acks_sent += Packets::new(1);
        // The peer may have taken a probe's octet; until it says so, the octet is not part of SND.NXT.
        self.segment(self.tx.seq(self.tx.nxt), TcpFlags::ACK, 0, now, out);
        if self.sack && self.rx.has_blocks() {
            self.add_blocks(out);
        }
        #[cfg(test)]
        self.ecn.on_pure_ack(out);
        let flight = self.tx.board.flight();
        self.finish(SegmentKind::PureAck, flight, now, out);
        true
    }

    #[inline(never)]
    fn add_blocks(&mut self, out: &mut Packet) {
        let blocks = self.rx.take_blocks(BLOCKS[usize::from(self.ts.on)]);
        if let Some(tcp) = out.tcp_mut() {
            tcp.options.sack = blocks;
        }
    }

    fn reset_packet(&mut self, seq: SeqNum, ack: Option<SeqNum>, now: Instant, out: &mut Packet) {
        self.stats.rare().resets_sent += Packets::new(1);
        let flags = if ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
        let tcp = TcpRepr { seq, ack: ack.unwrap_or_default(), flags, ..TcpRepr::default() };
        *out = self.packet(tcp);
        let flight = self.tx.board.flight();
        self.finish(SegmentKind::Control, flight, now, out);
    }

    /// Writes a segment of a synchronized connection, with the current ACK and window.
    #[inline(always)]
    fn segment(&mut self, seq: SeqNum, flags: TcpFlags, payload: u32, now: Instant, out: &mut Packet) {
        let ack = self.rx.ack();
        let window = self.rx.on_ack_sent(true);
        let flags = flags.with(self.ecn.answer());
        let options = TcpOptions { timestamps: self.ts.option(now), ..TcpOptions::default() };
        *out = self.packet(TcpRepr { seq, ack, flags, window, options, ..TcpRepr::default() });
        out.payload_len = payload;
    }

    /// A packet of this connection with a blank TCP header.
    pub(super) fn blank(&self) -> Packet {
        self.packet(TcpRepr::default())
    }

    /// A segment with this header, the connection's ports and no data.
    #[inline]
    fn packet(&self, tcp: TcpRepr) -> Packet {
        let tcp = TcpRepr { src_port: self.src_port, dst_port: self.dst_port, ..tcp };
        Packet { ip: self.ip, transport: Transport::Tcp(tcp), payload_len: 0 }
    }

    /// Lets the scheme write its bits.
    #[inline]
    fn finish(&mut self, kind: SegmentKind, flightsize: u64, now: Instant, packet: &mut Packet) {
        if self.assist.is_some() {
            self.assist_with(kind, flightsize, now, packet);
        }
    }

    #[inline(never)]
    fn assist_with(&mut self, kind: SegmentKind, flightsize: u64, now: Instant, packet: &mut Packet) {
        if self.active_assist().is_some() {
            let more = kind == SegmentKind::Data && self.more_follows();
            let cwnd = self.cwnd();
            if let Some(assist) = self.active_assist() {
                let out = Outgoing { now, kind, cwnd, flightsize: Bytes::new(flightsize), more };
                assist.on_transmit(packet, &out);
            }
        }
    }

    /// Whether another segment of new data can leave at once.
    fn more_follows(&mut self) -> bool {
        let new = self.tx.fresh(self.smss, self.config.nagle).window_octets();
        let room = Room { cwnd: self.cwnd().as_u64(), new };
        self.recovery.next(&mut self.tx.board, &room) == Next::New
    }
}
