//! The handshake of a full end: as in `open.rs`, with Linux's checks (`tcp_rcv_synsent_state_process`, `tcp_check_req`)
//! and Fast Open (RFC 7413).

use super::Connection;
use crate::fastopen::FastOpenReport;
use crate::linux::autotuning;
use crate::socket::Failure;
use crate::stats::State;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Packet, TcpFlags, TcpRepr};

/// Time after which the first SYN goes again if it was answered for another connection: our RST ends that one, so the
/// next answer will be ours (Linux's `TCP_TIMEOUT_MIN`, two ticks).
const SOON: Duration = Duration::from_millis(2);

impl Connection {
    /// Handles a segment in LISTEN. A SYN whose data is taken makes the connection usable before its end of the
    /// handshake (RFC 7413, section 4.2.2).
    pub(super) fn on_listen_full(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        if tcp.flags.has(TcpFlags::SYN) && tcp.flags.has(TcpFlags::FIN) {
            return;
        }
        self.on_listen(segment, tcp, now);
        if self.state != State::SynReceived {
            return;
        }
        if self.socket.as_ref().is_some_and(|socket| socket.fast_open.server.accept) {
            self.accept_early(segment, tcp, now);
        }
    }

    /// Takes data and FIN of the SYN, and lets data of our own leave after the SYN-ACK.
    fn accept_early(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        if let Some(socket) = &mut self.socket {
            socket.fast_open.pending = true;
        }
        self.begin_transfer(true, now);
        let fin = tcp.flags.has(TcpFlags::FIN);
        if segment.payload_len > 0 || fin {
            self.count_data(segment);
            self.rx.on_data(0, (u64::from(segment.payload_len), segment.payload_len), fin, false, now);
            // The window moves on with the data.
            self.rx.shift_window(u64::from(segment.payload_len) + u64::from(fin));
            if self.rx.is_finished() {
                self.state = State::CloseWait;
            }
        }
    }

    /// Notes what the two SYNs allow a segment to carry.
    pub(super) fn note_mss(&mut self) {
        let smss = self.smss;
        if let Some(socket) = &mut self.socket {
            socket.mss_clamp = smss;
        }
        self.follow_path_mtu();
    }

    /// Handles a segment in SYN-SENT.
    pub(super) fn on_syn_sent_full(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let acks = tcp.flags.has(TcpFlags::ACK);
        let sent = self.timers.rto != Instant::NEVER;
        if acks {
            let ack = self.tx.offset(tcp.ack);
            let unacceptable = ack < 0 || ack > self.tx.nxt as i64;
            if !sent || unacceptable || self.echoes_another(tcp, now) {
                self.reject(segment, tcp);
                if sent && unacceptable && self.syn.as_ref().is_some_and(|syn| syn.retransmissions == 0) {
                    self.timers.rto = self.timers.rto.min(now + SOON);
                }
                return;
            }
        }
        if tcp.flags.has(TcpFlags::RST) {
            if acks {
                self.on_reset(now);
            }
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) {
            return;
        }
        if !acks {
            self.on_syn_sent(segment, tcp, now);
            return;
        }
        let retransmitted = self.syn.as_ref().is_some_and(|syn| syn.retransmissions > 0);
        self.on_syn_sent(segment, tcp, now);
        if self.state != State::Established {
            return;
        }
        self.after_syn_ack(segment, tcp, retransmitted, now);
        self.restart_keep_alive(false, now);
    }

    /// Whether the timestamp that an ACK echoes is none of ours: it answers an earlier connection.
    fn echoes_another(&self, tcp: &TcpRepr, now: Instant) -> bool {
        let Some(echo) = tcp.options.timestamps.filter(|_| self.config.timestamps).map(|ts| ts.ecr) else {
            return false;
        };
        let Some(syn) = self.syn.as_ref() else { return false };
        echo != 0 && !self.ts.is_between(echo, syn.first_sent, now)
    }

    /// What a SYN-ACK shows about data of our SYN (`tcp_rcv_fastopen_synack`). Data that it does not acknowledge is
    /// sent again.
    fn after_syn_ack(&mut self, segment: &Packet, tcp: &TcpRepr, retransmitted: bool, now: Instant) {
        let acked = self.tx.offset(tcp.ack).max(0) as u64;
        let Some(socket) = &mut self.socket else { return };
        let fast_open = &mut socket.fast_open;
        let (asked, sent) = (fast_open.asked, fast_open.sent.as_u64());
        if !asked && sent == 0 {
            return;
        }
        if fast_open.write_waits {
            self.rx.enter_quick_acks();
        }
        let cookie = tcp.options.fast_open().filter(|option| asked && !option.is_request());
        let data_lost = sent > 0 && acked < sent;
        fast_open.report = Some(FastOpenReport {
            cookie,
            mss: tcp.options.mss,
            data_acked: sent > 0 && !data_lost,
            data_lost,
            syn_dropped: retransmitted && cookie.is_none() && data_lost,
            refused: asked && !retransmitted && cookie.is_none() && sent == 0,
        });
        if sent > 0 {
            if acked > 0 {
                if let Some(socket) = &mut self.socket {
                    socket.ecn.set_third(true);
                }
                self.on_ack(tcp, 0, -1, None, now);
            }
            self.take_back(acked);
        }
        if segment.payload_len > 0 {
            // RFC 7413, section 4.2.1: data of a SYN-ACK is taken where Fast Open is used.
            self.count_data(segment);
            let sizes = (u64::from(segment.payload_len), segment.payload_len);
            self.rx.on_data(0, sizes, tcp.flags.has(TcpFlags::FIN), self.sack, now);
            self.rx.request_ack();
            if self.rx.is_finished() {
                self.on_fin(now);
            }
        }
    }

    /// Takes what was sent beyond `acked` back, to be sent as if for the first time.
    fn take_back(&mut self, acked: u64) {
        if self.tx.nxt > acked {
            self.tx.board.ack(self.tx.nxt, |_, _| {});
            let sent = core::mem::replace(&mut self.tx.nxt, acked);
            self.write_again(sent);
            if let Some(socket) = &mut self.socket {
                socket.fast_open.again = sent;
            }
            self.timers.rto = Instant::NEVER;
        }
    }

    /// Handles a segment in SYN-RECEIVED; returns whether to go on with it as in a synchronized state.
    pub(super) fn on_syn_received_full(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) -> bool {
        let passive = self.syn.as_ref().is_none_or(|syn| syn.passive);
        if !passive {
            let goes_on = self.on_syn_received(segment, tcp, now);
            if self.state == State::Closed {
                self.fail(Failure::Reset, now);
            }
            return goes_on;
        }
        if self.is_fast_open_pending() {
            return self.takes_early_ack(segment, tcp, now);
        }
        let Some(ack) = self.check_request(segment, tcp, now) else { return false };
        if ack != self.tx.seq(0) {
            self.reject(segment, tcp);
            return false;
        }
        self.report_third_ack(segment, tcp);
        self.establish(now);
        self.restart_keep_alive(false, now);
        true
    }

    /// Handles the parts of a segment that concern a SYN-ACK of ours which is not acknowledged, if there is one.
    /// Returns whether to go on with it as in a synchronized state.
    pub(super) fn takes_early_ack(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) -> bool {
        if !self.is_fast_open_pending() {
            return true;
        }
        let Some(ack) = self.check_request(segment, tcp, now) else { return false };
        let ack = self.tx.offset(ack);
        if ack < 0 || ack > self.tx.nxt as i64 {
            self.reject(segment, tcp);
            return false;
        }
        if let Some(socket) = &mut self.socket {
            socket.fast_open.pending = false;
        }
        let syn = self.syn.take().unwrap_or_default();
        if self.state == State::SynReceived {
            self.state = State::Established;
        }
        if syn.retransmissions == 0 {
            let rtt = now.since(syn.sent_at);
            self.rtt.on_sample(rtt);
            self.sample_rto(rtt);
        }
        self.timers.retries = 0;
        self.rto.end_backoff();
        self.timers.rto = if self.tx.board.is_empty() { Instant::NEVER } else { now + self.rto.current() };
        self.report_third_ack(segment, tcp);
        self.restart_keep_alive(false, now);
        true
    }

    /// Reads what the end of a passive open reports about ECN.
    fn report_third_ack(&mut self, segment: &Packet, tcp: &TcpRepr) {
        if let Some(socket) = &mut self.socket {
            socket.ecn.on_third_ack(tcp, segment.ip.ecn(), segment.payload_len);
        }
    }

    /// Checks a segment for a SYN-ACK that is not acknowledged (`tcp_check_req`); returns its ACK field if it may end
    /// the handshake.
    fn check_request(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) -> Option<narrows_units::SeqNum> {
        let pending = self.is_fast_open_pending();
        let offset = self.rx.offset(tcp.seq);
        let (syn, reset, acks) =
            (tcp.flags.has(TcpFlags::SYN), tcp.flags.has(TcpFlags::RST), tcp.flags.has(TcpFlags::ACK));
        let stamp = tcp.options.timestamps.filter(|_| self.ts.on);
        let old = stamp.is_some_and(|ts| self.ts.is_before(ts.val, 0, now));
        if offset == -1 && syn && !acks && !reset && !old {
            if self.socket_mut().is_none_or(|socket| socket.answers(now)) {
                self.on_syn_again(segment, tcp, now);
            }
            return None;
        }
        if acks && !reset && !pending && tcp.ack != self.tx.seq(0) {
            self.reject(segment, tcp);
            return None;
        }
        let first = self.syn.as_ref().map(|syn| syn.first_sent);
        let foreign =
            acks && stamp.zip(first).is_some_and(|(ts, first)| ts.ecr != 0 && !self.ts.is_between(ts.ecr, first, now));
        let end = offset + segment.seq_len().as_u64() as i64;
        let (nxt, limit) = (self.rx.nxt() as i64, self.rx.limit() as i64);
        let inside = offset == nxt || (end > nxt && offset < limit) || (offset == end && end == limit);
        if old || foreign || !inside {
            if !reset && self.socket_mut().is_none_or(|socket| socket.answers(now)) {
                self.rx.request_ack();
            }
            return None;
        }
        if reset {
            if pending {
                self.on_reset(now);
            } else if offset == nxt {
                self.fail(Failure::Reset, now);
            } else if self.socket_mut().is_none_or(|socket| socket.answers(now)) {
                self.rx.request_ack();
            }
            return None;
        }
        if syn && offset != -1 {
            self.reject(segment, tcp);
            if !pending {
                self.enter_closed();
            }
            return None;
        }
        acks.then_some(tcp.ack)
    }

    /// The shift of our windows where a fixed receive buffer bounds them (`tcp_select_initial_window`).
    pub(super) fn fixed_shift(&self) -> Option<u8> {
        self.socket.as_ref()?.shift
    }

    /// Chooses that shift, before a SYN has announced one: from then on it stands, whatever the buffer (RFC 7323,
    /// section 2.2).
    pub(super) fn choose_shift(&mut self) {
        let announced = self.state != State::Listen && self.timers.rto != Instant::NEVER;
        let open = matches!(self.state, State::Listen | State::SynSent) && !announced;
        let Some(socket) = self.socket.as_mut().filter(|_| open) else { return };
        let memory = socket.options.receive_memory.filter(|_| socket.options.fixed_memory);
        socket.shift = memory.map(|memory| autotuning::shift_of(memory.as_u64() / 2));
    }

    /// Puts the offer of ECN into our SYN, or the answer into our SYN-ACK.
    pub(super) fn write_syn_ecn(&mut self, retransmissions: u32, out: &mut Packet) {
        let answers = self.state != State::SynSent;
        let shift = self.fixed_shift();
        let Some(socket) = &mut self.socket else { return };
        let by_timer = core::mem::take(&mut socket.syn_by_timer);
        let (flags, ecn, option) = if answers {
            let timeouts = socket.syn_timeouts - u32::from(by_timer);
            let answer = socket.ecn.answer(timeouts, retransmissions > 0);
            socket.ecn.on_answer_again(retransmissions);
            answer
        } else {
            let (flags, ecn) = socket.ecn.offer(retransmissions);
            (flags, ecn, None)
        };
        out.ip.set_ecn(ecn);
        let headers = if matches!(out.ip, narrows_wire::Ip::V6(_)) { 60 } else { 40 };
        let by_path = u16::try_from(socket.options.path_mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
        if let Some(tcp) = out.tcp_mut() {
            tcp.flags = tcp.flags.without(TcpFlags::ACE).with(flags);
            if let Some(option) = option {
                tcp.options.set_accecn(option);
            }
            // The MSS that is announced follows the path.
            tcp.options.mss = tcp.options.mss.map(|mss| mss.min(by_path));
            if let Some(shift) = shift {
                tcp.options.window_scale = tcp.options.window_scale.map(|_| shift);
            }
        }
    }

    /// Puts the Fast Open option and data into our first SYN (`tcp_send_syn_data`).
    pub(super) fn add_fast_open(&mut self, now: Instant, out: &mut Packet) {
        let answers = self.state != State::SynSent;
        let Some(socket) = &mut self.socket else { return };
        if answers {
            if let (Some(grant), Some(tcp)) = (socket.fast_open.server.grant, out.tcp_mut()) {
                tcp.options.set_fast_open(grant);
            }
            return;
        }
        let Some(client) = socket.fast_open.client else { return };
        if let (Some(option), Some(tcp)) = (client.option, out.tcp_mut()) {
            tcp.options.set_fast_open(option);
            socket.fast_open.asked = true;
        }
        if !client.data {
            return;
        }
        let path = u64::from(socket.options.path_mtu);
        let header = if matches!(out.ip, narrows_wire::Ip::V6(_)) { 40 } else { 20 };
        let mss =
            client.mss.map_or(536, u64::from).min(u64::from(self.config.mss)).min(path.saturating_sub(header + 20));
        // Linux leaves room for as many options as a header takes.
        let room = mss.saturating_sub(40);
        let len = self.tx.unsent().min(room);
        if len > 0 {
            self.send_with_syn(u32::try_from(len).unwrap_or(u32::MAX), now);
            out.payload_len = u32::try_from(len).unwrap_or(u32::MAX);
            if let Some(socket) = &mut self.socket {
                socket.fast_open.sent = Bytes::new(len);
            }
        }
    }
}
