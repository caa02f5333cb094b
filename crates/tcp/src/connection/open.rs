//! Segments before the connection is synchronized (RFC 9293, sections 3.5 and 3.10.7).

use super::Connection;
use crate::assist::{Agreement, Assist};
use crate::ecn::{Offer, accept, agreed, mirrors, negotiates};
use crate::handshake::{Terms, first_cap};
use crate::receiver::Receiver;
use crate::recovery;
use crate::stats::State;
use narrows_units::{Bytes, Instant};
use narrows_wire::{Packet, TcpFlags, TcpRepr};

impl Connection {
    /// Handles a segment in LISTEN.
    pub(super) fn on_listen(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        if tcp.flags.has(TcpFlags::RST) {
            return;
        }
        if tcp.flags.has(TcpFlags::ACK) {
            self.reject(segment, tcp);
        } else if tcp.flags.has(TcpFlags::SYN) {
            self.on_peer_syn(segment, tcp, now);
            self.accept_as_linux();
            self.hear_syn(segment, now);
            self.accept_offer(tcp);
            let syn = self.syn.get_or_insert_default();
            (syn.passive, syn.capable) = (true, true);
            self.state = State::SynReceived;
        }
    }

    /// Handles a segment in SYN-SENT.
    pub(super) fn on_syn_sent(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let acks = tcp.flags.has(TcpFlags::ACK);
        // Before the first transmission nothing can be acknowledged.
        let sent = self.timers.rto != Instant::NEVER;
        if acks && self.socket.is_none() && (!sent || tcp.ack != self.tx.seq(0)) {
            self.reject(segment, tcp);
            return;
        }
        if tcp.flags.has(TcpFlags::RST) {
            if acks {
                self.enter_aborted(now);
            }
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) {
            return;
        }
        self.on_peer_syn(segment, tcp, now);
        self.unnegotiated().map(|assist| assist.on_receive(segment, now));
        if acks {
            if let Some(socket) = &mut self.socket {
                socket.ecn.on_syn_ack(tcp, segment.ip.ecn());
                self.agreement = socket.ecn.agreement();
            } else {
                let answer = agreed(&self.config, self.assist.as_deref_mut(), tcp.flags);
                self.agreement = answer.agreement;
                self.syn.get_or_insert_default().reported = answer.reported;
            }
            self.rx.request_ack();
            self.establish(now);
        } else {
            // Simultaneous open: both answer with SYN-ACK.
            self.accept_offer(tcp);
            self.state = State::SynReceived;
        }
    }

    /// Handles a segment in SYN-RECEIVED; returns whether to go on with it as in a synchronized state.
    pub(super) fn on_syn_received(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) -> bool {
        let offset = self.rx.offset(tcp.seq);
        let is_syn = tcp.flags.has(TcpFlags::SYN) && offset == -1;
        if !is_syn && !self.rx.is_acceptable(offset, segment.seq_len().as_u64()) {
            if !tcp.flags.has(TcpFlags::RST) {
                self.rx.request_ack();
            }
            return false;
        }
        if tcp.flags.has(TcpFlags::RST) {
            if self.syn.as_ref().is_some_and(|syn| syn.passive) {
                self.listen_again();
            } else {
                self.enter_aborted(now);
            }
            return false;
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            if is_syn {
                self.on_syn_again(segment, tcp, now);
            }
            return false;
        }
        if tcp.ack != self.tx.seq(0) {
            self.reject(segment, tcp);
            return false;
        }
        self.establish(now);
        if is_syn {
            self.rx.request_ack();
            return false;
        }
        if segment.payload_len == 0 && tcp.options.sack.is_empty() {
            self.ecn.on_last_handshake_ack(tcp);
        }
        true
    }

    /// The peer's SYN came again: our answer was lost. The new answer reports the last SYN's IP-ECN field, and a SYN
    /// without the offer ends ECN-capable data (RFC 9768, section 3.1.5).
    pub(super) fn on_syn_again(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        self.unnegotiated().map(|assist| assist.on_receive(segment, now));
        let syn = self.syn.get_or_insert_default();
        syn.due = true;
        if let Some(socket) = &mut self.socket {
            socket.ecn.on_syn_again(tcp, segment.ip.ecn());
        } else if self.agreement == Agreement::AccurateEcn {
            syn.peer_ecn = segment.ip.ecn();
            syn.flags = mirrors(syn.peer_ecn);
            syn.capable &= tcp.flags.ace() != 0;
        }
    }

    fn on_peer_syn(&mut self, segment: &Packet, tcp: &TcpRepr, now: Instant) {
        let terms = Terms::agree(&self.config, &tcp.options, self.is_ipv6());
        let shift = self.fixed_shift().filter(|_| tcp.options.window_scale.is_some()).unwrap_or(terms.recv_shift);
        self.rx.start(tcp.seq, shift);
        self.tx.start_window(-1, u64::from(tcp.window));
        self.smss = terms.smss;
        self.tx.send_shift = terms.send_shift;
        self.sack = terms.sack;
        if let Some(val) = terms.timestamps {
            self.ts.start(val, now);
        }
        let syn = self.syn.get_or_insert_default();
        (syn.peer, syn.peer_ecn) = (Some(tcp.options), segment.ip.ecn());
    }

    /// A scheme that is not negotiated, which therefore counts from the first segment.
    fn unnegotiated(&mut self) -> Option<&mut (dyn Assist + 'static)> {
        self.assist.as_deref_mut().filter(|assist| !negotiates(*assist))
    }

    /// Gives the peer's SYN to a scheme that is not negotiated, which may bound the window of our answer.
    fn hear_syn(&mut self, segment: &Packet, now: Instant) {
        let (smss, ipv6) = (self.smss, self.is_ipv6());
        let Some(assist) = self.unnegotiated() else { return };
        assist.on_receive(segment, now);
        let overhead = u64::from(assist.header_overhead(ipv6));
        if let Some(cap) = assist.window_cap() {
            self.rx.bound_first(cap, smss.saturating_sub(overhead));
        }
    }

    fn accept_offer(&mut self, tcp: &TcpRepr) {
        let ecn = self.syn.get_or_insert_default().peer_ecn;
        if let Some(socket) = &mut self.socket {
            socket.ecn.on_syn(tcp, ecn);
            self.agreement = socket.ecn.agreement();
            self.syn.get_or_insert_default().due = true;
            return;
        }
        let (agreement, flags) = accept(&self.config, self.assist.as_deref_mut(), Offer { flags: tcp.flags, ecn });
        self.agreement = agreement;
        let syn = self.syn.get_or_insert_default();
        (syn.flags, syn.due) = (flags, true);
    }

    /// Enters ESTABLISHED: both SYNs are acknowledged.
    pub(super) fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        self.timers.rto = Instant::NEVER;
        self.timers.retries = 0;
        self.begin_transfer(false, now);
    }

    /// Prepares to send and to receive data, after the handshake or, if it is `early`, with our SYN-ACK.
    pub(super) fn begin_transfer(&mut self, early: bool, now: Instant) {
        let syn = self.syn.take().unwrap_or_default();
        if self.socket.is_some() {
            self.note_mss();
        }
        let ipv6 = self.is_ipv6();
        if let Some(assist) = self.active_assist() {
            let (overhead, cap) = (u64::from(assist.header_overhead(ipv6)), assist.window_cap());
            self.smss = self.smss.saturating_sub(overhead).max(1);
            self.rx.set_cap(cap);
        }
        if self.rx.has_rledbat() {
            self.rx.start_rledbat(self.smss, self.ts.on);
        }
        self.establish_as_linux(syn.passive, now);
        if self.socket.is_some() && self.agreement == Agreement::AccurateEcn {
            self.ecn.start_full();
        } else {
            self.ecn.start(self.agreement, &self.config, &syn, self.smss);
        }
        self.recovery = recovery::build(&self.config, self.smss, self.sack, &mut self.tx.board);
        if self.congestion.needs.losses {
            self.tx.board.report_losses();
        }
        let initial = crate::congestion::initial_window(self.config.initial_window, self.smss);
        self.initial_window = u32::try_from(initial).unwrap_or(u32::MAX);
        // After the loss of a SYN or SYN-ACK the window is one segment (RFC 5681, section 3.1).
        let lost = match &self.socket {
            // Linux looks at timeouts, and forgives one retransmission (`tcp_init_transfer`).
            Some(socket) => syn.retransmissions > 1 && socket.syn_timeouts > 0,
            None => syn.retransmissions > 0,
        };
        self.congestion.start(if lost { self.smss } else { u64::from(self.initial_window) }, self.smss);
        if syn.retransmissions > 0 {
            self.rto.restart_after_lost_syn();
        } else if !early {
            let rtt = now.since(syn.sent_at);
            self.rtt.on_sample(rtt);
            self.sample_rto(rtt);
        }
        let path = self.path(0, now);
        self.congestion.on_start(&path);
        self.tx.usage.restart(now);
        self.pacer.on_ack(self.config.pacing, &self.congestion.win, 0, self.smss, self.rto.srtt());
        if early {
            self.syn = Some(syn);
        }
    }

    fn listen_again(&mut self) {
        self.state = State::Listen;
        self.timers = super::Timers::default();
        self.episode.end();
        self.syn = None;
        self.rx = Receiver::new(&self.config, first_cap(self.assist.as_deref()));
        self.ts.restart();
        self.agreement = Agreement::Nothing;
        self.urgent = None;
    }

    /// Handles a segment without a connection.
    pub(super) fn on_closed(&mut self, segment: &Packet, tcp: &TcpRepr) {
        self.reject(segment, tcp);
    }

    /// Sequence number of our SYN.
    pub(super) fn syn_seq(&self) -> narrows_units::SeqNum {
        self.tx.seq(0) - Bytes::new(1)
    }
}
