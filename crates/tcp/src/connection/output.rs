//! Which segment leaves next, and its header.

use super::Connection;
use crate::assist::{Outgoing, SegmentKind};
use crate::config::IdleRestart;
use crate::handshake::syn_options;
use crate::options::tick;
use crate::recovery::{Next, Room};
use crate::segment::{Segment, flag};
use crate::sender::Fresh;
use crate::stats::State;
use crate::usage::Stop;
use narrows_cc::{Phase, Sent};
use narrows_units::{Bytes, Duration, Instant, Packets, SeqNum};
use narrows_wire::{Ecn, Packet, TcpFlags, TcpOptions, TcpRepr, Timestamps, Transport};

/// SACK blocks that fit beside timestamps, and without them (RFC 2018, section 3).
const BLOCKS: [usize; 2] = [4, 3];

impl Connection {
    /// The next segment that leaves now; call until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(reset) = self.take_reset() {
            return Some(self.reset_packet(reset.seq, reset.ack, now));
        }
        if let Some(ack) = self.parted_ack.take() {
            return Some(ack);
        }
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.poll_opening(now),
            // A duplicate ACK that reports blocks goes alone: on a full data segment they would not fit.
            _ if self.rx.ack_due() && self.rx.has_blocks() => Some(self.pure_ack(now)),
            State::TimeWait | State::FinWait2 if self.rx.ack_due() => Some(self.pure_ack(now)),
            State::TimeWait | State::FinWait2 => None,
            _ => match self.poll_data(now) {
                None if self.rx.ack_due() => Some(self.pure_ack(now)),
                packet => packet,
            },
        }
    }

    fn poll_opening(&mut self, now: Instant) -> Option<Packet> {
        if !core::mem::take(&mut self.syn.due) {
            return self.rx.ack_due().then(|| self.pure_ack(now));
        }
        if self.timers.rto == Instant::NEVER {
            self.timers.rto = now + self.rto.current();
        } else {
            self.syn.retransmissions += 1;
        }
        self.syn.sent_at = now;
        let answers = self.state == State::SynReceived;
        let ours = Timestamps { val: tick(now), ecr: 0 };
        let ts = Some(self.ts.option(now).unwrap_or(ours));
        let options = syn_options(&self.config, self.syn.peer.as_ref(), ts);
        let flags = TcpFlags::SYN.with(self.syn.flags).with(if answers { TcpFlags::ACK } else { TcpFlags::NONE });
        let mut tcp = TcpRepr { seq: self.syn_seq(), flags, options, ..TcpRepr::default() };
        if answers {
            tcp.ack = self.rx.ack();
        }
        tcp.window = self.rx.on_ack_sent(false);
        Some(self.packet(tcp, 0))
    }

    /// A segment with data or FIN, or a window probe.
    fn poll_data(&mut self, now: Instant) -> Option<Packet> {
        if self.tx.board.is_empty() && !self.tx.has_unsent() {
            self.rate.on_app_limited(0);
            self.pacer.idle();
            return None;
        }
        if self.tx.probe_due {
            return Some(self.window_probe(now));
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
                return None;
            }
            Next::Retransmit(index) => return self.retransmit(index, next, now),
            Next::Rescue(index) => return self.retransmit(index, next, now),
            Next::New => {
                if let Fresh::Segment { len, fin } = fresh {
                    return Some(self.send_new(len, fin, now));
                }
            }
        }
        self.pacer.idle();
        None
    }

    /// Something is about to leave with nothing in flight: the window of long ago may say nothing of the path by now. An
    /// algorithm that sets its window in every phase has its own answer.
    fn restart_if_idle(&mut self, now: Instant) {
        let rto = self.rto.current();
        let Some(idle) = self.tx.last_sent.map(|t| now.since(t)).filter(|idle| *idle > rto) else { return };
        let kind = self.config.idle_restart;
        if kind == IdleRestart::Off || self.congestion.rules_recovery() {
            return;
        }
        let path = self.path(0, now);
        match kind {
            IdleRestart::Linux => self.congestion.decay_idle(idle, &path),
            IdleRestart::Rfc5681 | IdleRestart::Off => self.congestion.restart(&path),
        }
        self.tx.usage.restart(now);
    }

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

    /// Notes where the sender stops whether cwnd stopped it.
    #[inline]
    fn note_usage(&mut self, limited: bool, now: Instant) {
        let tx = &mut self.tx;
        let stop = Stop { limited, flight: tx.board.flight(), una: tx.una, nxt: tx.nxt, now };
        tx.usage.note(&stop, &self.congestion.win);
    }

    /// Lets a window decay that the application has not used for an RTO (RFC 2861; Linux's `tcp_cwnd_application_limited`).
    /// An application with data that waits for the peer's window or the pacer has filled the window as far as it could.
    fn validate_window(&mut self, now: Instant) {
        let applies = self.config.cwnd_validation && self.phase() == Phase::Open && !self.congestion.rules_recovery();
        if applies && let Some(used) = self.tx.usage.unused_for(self.rto.current(), now) {
            let path = self.path(self.tx.board.flight(), now);
            self.congestion.decay_unused(used, &path);
        }
    }

    fn send_new(&mut self, len: u32, fin: bool, now: Instant) -> Packet {
        let start = self.tx.nxt;
        let flight = self.tx.board.flight();
        let octets = u64::from(len) + u64::from(fin);
        let idle =
            if flight == 0 { self.tx.last_sent.map_or(Duration::ZERO, |t| now.since(t)) } else { Duration::ZERO };
        if flight + u64::from(len) > self.cwnd().as_u64() {
            self.tx.limited += octets;
        }
        let stamp = self.rate.on_sent(self.tx.board.pipe(), len + u32::from(fin), now);
        let mut flags = if fin { flag::FIN } else { 0 };
        if self.rate.is_app_limited() {
            flags |= flag::APP_LIMITED;
        }
        self.tx.board.push(Segment { start, len: len + u32::from(fin), flags, sent_at: now, stamp });
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
        let ect = self.ecn.on && len > 0;
        if ect && core::mem::take(&mut self.ecn.cwr_pending) {
            bits = bits.with(TcpFlags::CWR);
        }
        let seq = self.tx.seq(start);
        let kind = if fin { SegmentKind::Control } else { SegmentKind::Data };
        let mut packet = self.segment(seq, bits, len, now);
        if ect {
            packet.ip.set_ecn(Ecn::Ect0);
        }
        self.finish(packet, kind, flight, now)
    }

    fn on_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    fn retransmit(&mut self, index: u64, next: Next, now: Instant) -> Option<Packet> {
        let segment = *self.tx.board.get(index)?;
        let flight = self.tx.board.flight();
        let stamp = self.rate.on_sent(self.tx.board.pipe(), segment.len, now);
        let rescue = matches!(next, Next::Rescue(_));
        let again = self.tx.board.on_retransmit(index, now, stamp, self.rate.is_app_limited(), rescue);
        if again && index == self.tx.board.head_index() {
            // Nothing can advance SND.UNA before this one arrives (RFC 6675, section 6: the more careful variant).
            self.timers.rto = now + self.rto.current();
        }
        self.recovery.on_sent(next);
        if self.undo.is_armed() {
            let first_time = !segment.has(flag::EVER) || self.recovery.phase() == Phase::Loss;
            self.undo.on_retransmit(tick(now), first_time && index == self.tx.board.head_index());
        }
        let payload = segment.payload();
        self.stats.retransmitted_bytes += Bytes::new(u64::from(payload));
        self.stats.retransmitted_packets += Packets::new(u64::from(payload > 0));
        if let Some(prr) = &mut self.prr {
            prr.on_sent(u64::from(segment.len));
        }
        self.note_sent(payload, true, Duration::ZERO, now);
        let fin = if segment.has(flag::FIN) { TcpFlags::FIN } else { TcpFlags::NONE };
        let packet = self.segment(self.tx.seq(segment.start), TcpFlags::ACK.with(fin), payload, now);
        Some(self.finish(packet, SegmentKind::Retransmission, flight, now))
    }

    /// What every transmission of data means for counters, timer, pacer and congestion control.
    #[inline]
    fn note_sent(&mut self, payload: u32, retransmission: bool, idle: Duration, now: Instant) {
        let bytes = u64::from(payload);
        self.stats.sent_bytes += Bytes::new(bytes);
        self.stats.sent_packets += Packets::new(u64::from(payload > 0));
        self.tx.last_sent = Some(now);
        self.tx.usage.on_sent();
        if self.timers.rto == Instant::NEVER {
            self.timers.rto = now + self.rto.current();
        }
        self.timers.persist = Instant::NEVER;
        let path = self.path(self.tx.board.flight(), now);
        let app_limited = self.rate.is_app_limited();
        self.congestion.on_sent(&Sent { bytes: Bytes::new(bytes), retransmission, idle, app_limited }, &path);
        self.pacer.on_sent(bytes, self.stats.sent_packets, &self.congestion.win, now);
    }

    /// One octet beyond the closed window (RFC 9293, section 3.8.6.1).
    fn window_probe(&mut self, now: Instant) -> Packet {
        self.tx.probe_due = false;
        self.tx.probed = true;
        self.stats.probes_sent += Packets::new(1);
        let payload = u32::from(self.tx.unsent() > 0);
        // The peer may take the octet; what is delivered must have been sent.
        self.stats.sent_bytes += Bytes::new(u64::from(payload));
        self.stats.sent_packets += Packets::new(u64::from(payload));
        let fin = if payload == 0 { TcpFlags::FIN } else { TcpFlags::NONE };
        if payload == 0 {
            self.on_fin_sent();
        }
        let flight = self.tx.board.flight();
        let packet = self.segment(self.tx.seq(self.tx.nxt), TcpFlags::ACK.with(fin), payload, now);
        self.finish(packet, SegmentKind::Probe, flight, now)
    }

    pub(super) fn pure_ack(&mut self, now: Instant) -> Packet {
        self.stats.acks_sent += Packets::new(1);
        let blocks = if self.sack && self.rx.has_blocks() {
            Some(self.rx.take_blocks(BLOCKS[usize::from(self.ts.on)]))
        } else {
            None
        };
        // A probe's octet may have been taken; until the peer says so it is not part of SND.NXT.
        let mut packet = self.segment(self.tx.seq(self.tx.nxt), TcpFlags::ACK, 0, now);
        if let (Some(blocks), Some(tcp)) = (blocks, packet.tcp_mut()) {
            tcp.options.sack = blocks;
        }
        let flight = self.tx.board.flight();
        self.finish(packet, SegmentKind::PureAck, flight, now)
    }

    fn reset_packet(&mut self, seq: SeqNum, ack: Option<SeqNum>, now: Instant) -> Packet {
        self.stats.resets_sent += Packets::new(1);
        let flags = if ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
        let tcp = TcpRepr { seq, ack: ack.unwrap_or_default(), flags, ..TcpRepr::default() };
        let packet = self.packet(tcp, 0);
        let flight = self.tx.board.flight();
        self.finish(packet, SegmentKind::Control, flight, now)
    }

    /// A segment of a synchronized connection; it carries the present ACK and window.
    #[inline]
    fn segment(&mut self, seq: SeqNum, flags: TcpFlags, payload: u32, now: Instant) -> Packet {
        let ack = self.rx.ack();
        let window = self.rx.on_ack_sent(true);
        let flags = if self.ecn.echo { flags.with(TcpFlags::ECE) } else { flags };
        let options = TcpOptions { timestamps: self.ts.option(now), ..TcpOptions::default() };
        self.packet(TcpRepr { seq, ack, flags, window, options, ..TcpRepr::default() }, payload)
    }

    #[inline]
    fn packet(&self, tcp: TcpRepr, payload_len: u32) -> Packet {
        let (src_port, dst_port) = self.header.tcp().map_or((0, 0), |h| (h.src_port, h.dst_port));
        Packet { ip: self.header.ip, transport: Transport::Tcp(TcpRepr { src_port, dst_port, ..tcp }), payload_len }
    }

    /// Lets the scheme write its bits.
    #[inline]
    fn finish(&mut self, mut packet: Packet, kind: SegmentKind, flightsize: u64, now: Instant) -> Packet {
        if self.active_assist().is_some() {
            let more = kind == SegmentKind::Data && self.more_follows();
            let cwnd = self.cwnd();
            if let Some(assist) = self.active_assist() {
                let out = Outgoing { now, kind, cwnd, flightsize: Bytes::new(flightsize), more };
                assist.on_transmit(&mut packet, &out);
            }
        }
        packet
    }

    /// Whether another segment of new data can leave at once.
    fn more_follows(&mut self) -> bool {
        let new = self.tx.fresh(self.smss, self.config.nagle).window_octets();
        let room = Room { cwnd: self.cwnd().as_u64(), new };
        self.recovery.next(&mut self.tx.board, &room) == Next::New
    }
}
