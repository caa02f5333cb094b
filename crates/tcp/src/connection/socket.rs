//! What a socket asks of a connection: options, the ways to close, errors, and ICMP messages.

use super::Connection;
use crate::fastopen::{FastOpenClient, FastOpenReport, FastOpenServer};
use crate::socket::{Failure, Icmp, SocketOptions};
use crate::stats::State;
use narrows_units::{Bytes, Instant, SeqNum};

/// Bytes of a TCP header without options.
const TCP_HEADER: u64 = 20;
/// Smallest MSS that is sent with, options included (`tcp_min_snd_mss`).
const LEAST_MSS: u64 = 48;
/// Smallest path MTU over IPv4 that is believed (`ip_rt_min_pmtu`); IPv6 has 1280.
const LEAST_MTU: [u32; 2] = [552, 1280];

impl Connection {
    /// Makes this a full end with a socket's options; call it before the first segment.
    pub fn set_socket(&mut self, options: SocketOptions) {
        self.tx.calm = false;
        self.socket.get_or_insert_default();
        self.rx.take_whole();
        self.apply(options);
    }

    /// The options of a full end.
    #[must_use]
    pub fn socket_options(&self) -> Option<&SocketOptions> {
        self.socket.as_ref().map(|socket| &socket.options)
    }

    /// Changes the options of a full end. Poll for segments afterwards: data that waited may leave.
    pub fn change_socket(&mut self, options: SocketOptions, now: Instant) {
        let before = self.socket_options().map(|options| options.keep_alive);
        self.apply(options);
        if self.socket.as_ref().is_some_and(|socket| socket.mss_clamp > 0) {
            self.follow_path_mtu();
        }
        if let Some(before) = before
            && before != options.keep_alive
        {
            self.restart_keep_alive(before.is_some(), now);
        }
    }

    /// Lets what is written so far leave, although Nagle's algorithm or CORK would hold it: `TCP_NODELAY` is set, even
    /// if it was before (`tcp_sock_set_nodelay`). Poll for segments afterwards.
    pub fn urge(&mut self) {
        if let Some(socket) = &mut self.socket {
            socket.hold.urge();
        }
    }

    /// Lets what is written so far leave and end with PSH, because a program waits for room to write the rest
    /// (`wait_for_space` of `tcp_sendmsg_locked`). Poll for segments afterwards.
    pub fn push(&mut self) {
        self.urge();
        if let Some(gso) = &mut self.gso {
            gso.queue.push();
        }
    }

    fn apply(&mut self, options: SocketOptions) {
        let Some(socket) = &mut self.socket else { return };
        let memory = options.receive_memory.filter(|_| {
            let before = (socket.options.receive_memory, socket.options.fixed_memory);
            before != (options.receive_memory, options.fixed_memory)
        });
        socket.hold.set(options.nodelay, options.cork);
        socket.options = options;
        socket.ecn.set(options.ecn);
        self.choose_shift();
        self.rx.set_clamp(options.window_clamp);
        if let Some(memory) = memory {
            self.rx.set_memory(memory.as_u64(), options.fixed_memory);
        }
    }

    /// Sets whether the host's own device refuses packets and says so, as a full queue does. What would leave then
    /// waits, and is tried again every half second (`TCP_RESOURCE_PROBE_INTERVAL`).
    pub fn set_device_full(&mut self, full: bool) {
        if let Some(socket) = &mut self.socket {
            socket.device_full = full;
        }
    }

    /// Lets our SYN carry a Fast Open option and data; call it before the first poll.
    pub fn fast_open(&mut self, client: FastOpenClient) {
        if let (State::SynSent, Some(socket)) = (self.state, &mut self.socket) {
            socket.fast_open.client = Some(client);
        }
    }

    /// Notes that the program waits to write more once the handshake ends, so that data will carry the last ACK
    /// (`sk_write_pending`).
    pub fn expect_write(&mut self) {
        if let Some(socket) = &mut self.socket {
            socket.fast_open.write_waits = true;
        }
    }

    /// Decides about a SYN's Fast Open option and data; call it before the SYN is handled.
    pub fn decide_fast_open(&mut self, server: FastOpenServer) {
        if let Some(socket) = &mut self.socket {
            socket.fast_open.server = server;
        }
    }

    /// What the SYN-ACK showed to a client that used Fast Open; each report is returned once.
    pub fn take_fast_open_report(&mut self) -> Option<FastOpenReport> {
        self.socket.as_mut().and_then(|socket| socket.fast_open.report.take())
    }

    /// Whether data of the peer's SYN was taken and our SYN-ACK is not acknowledged yet.
    #[must_use]
    pub fn is_fast_open_pending(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.fast_open.pending)
    }

    /// Payload bytes that our SYN carried.
    #[must_use]
    pub fn syn_data(&self) -> Bytes {
        self.socket.as_ref().map_or(Bytes::ZERO, |socket| socket.fast_open.sent)
    }

    /// Notes that the program reads no more (`SHUT_RD`).
    pub fn stop_reading(&mut self) {
        if let Some(socket) = &mut self.socket {
            socket.no_reader = true;
        }
    }

    /// Closes the sending side: a FIN follows what was written (`SHUT_WR`).
    pub fn shutdown(&mut self) {
        if self.state == State::SynSent && self.socket.is_some() {
            self.enter_closed();
        } else {
            self.close();
        }
    }

    /// The program closes its socket (`__tcp_close`). Data that it has not read, or `abruptly` (`SO_LINGER` with zero),
    /// makes it a reset; otherwise a FIN follows what was written, and the end goes on without a program.
    pub fn release(&mut self, abruptly: bool, now: Instant) {
        let Some(socket) = &mut self.socket else { return self.close() };
        socket.orphan = true;
        socket.no_reader = true;
        let unread = self.rx.readable() > 0;
        match self.state {
            State::Closed | State::Listen | State::SynSent => self.enter_closed(),
            State::TimeWait => {}
            _ if unread => self.reset_actively(),
            State::Closing | State::LastAck if abruptly => {
                if self.tx.has_unsent() {
                    self.reset_actively()
                } else {
                    self.enter_closed()
                }
            }
            _ if abruptly => self.reset_actively(),
            State::FinWait2 => match self.socket_options().and_then(|options| options.fin_wait) {
                Some(wait) => self.set_time_wait(now + wait),
                None => self.reset_actively(),
            },
            _ => self.tx.close(),
        }
    }

    /// Resets the connection from this end (`tcp_send_active_reset`).
    pub(super) fn reset_actively(&mut self) {
        let nxt = self.tx.nxt.min(self.tx.edge.max(self.tx.una));
        let seq = self.tx.seq(nxt);
        self.urgent.get_or_insert_default().reset = Some(super::Reset { seq, ack: None, own: true });
        self.enter_closed();
    }

    /// The state and the counters of ECN at a full end.
    #[must_use]
    pub fn ecn_counters(&self) -> Option<crate::ecn::LinuxEcnCounters> {
        self.socket.as_ref().map(|socket| socket.ecn.counters())
    }

    /// Why the connection ended; `None` if it has not, or at the program's wish.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.socket.as_ref().and_then(|socket| socket.failure)
    }

    /// An error that did not end the connection (`sk_err_soft`); progress clears it.
    #[must_use]
    pub fn soft_failure(&self) -> Option<Failure> {
        self.socket.as_ref().and_then(|socket| socket.soft)
    }

    /// Returns the error that did not end the connection, and forgets it (`SO_ERROR`).
    pub fn take_soft_failure(&mut self) -> Option<Failure> {
        self.socket.as_mut().and_then(|socket| socket.soft.take())
    }

    /// An error that did not end the connection and that the program wants to know at once (`IP_RECVERR`); each is
    /// returned once.
    pub fn take_told_failure(&mut self) -> Option<Failure> {
        self.socket.as_mut().and_then(|socket| socket.told.take())
    }

    /// Bytes that the peer may still send by the window that was advertised last (`tcp_receive_window`).
    #[must_use]
    pub fn window_left(&self) -> Bytes {
        Bytes::new(self.rx.window_left())
    }

    /// Estimate of the peer's segment size (`icsk_ack.rcv_mss`).
    #[must_use]
    pub fn peer_mss(&self) -> Bytes {
        Bytes::new(self.rx.peer_mss())
    }

    /// Handles an ICMP message about a segment of ours with sequence number `seq` (RFC 5927; `tcp_v4_err`). Returns
    /// whether it is about this connection's data in flight, without which it is ignored.
    pub fn on_icmp(&mut self, message: Icmp, seq: SeqNum, now: Instant) -> bool {
        if self.socket.is_none() || matches!(self.state, State::Closed | State::Listen | State::TimeWait) {
            return false;
        }
        let offset = self.tx.offset(seq);
        let first = if self.syn.is_some() { -1 } else { self.tx.una as i64 };
        if offset < first || offset > self.tx.nxt as i64 {
            return false;
        }
        match message {
            Icmp::SourceQuench => {}
            Icmp::TooBig { mtu } => self.on_path_mtu(mtu, now),
            Icmp::Error(failure) => self.on_icmp_error(failure, now),
        }
        true
    }

    fn on_icmp_error(&mut self, failure: Failure, now: Instant) {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let Some(socket) = &mut self.socket else { return };
        if opening {
            self.fail(failure, now);
        } else if socket.options.receive_errors {
            socket.told = Some(failure);
        } else {
            socket.soft = Some(failure);
        }
    }

    /// The path carries less than was thought (RFC 1191, section 6.4; `tcp_v4_mtu_reduced`): segments become shorter,
    /// and those in flight that are too long are sent again.
    fn on_path_mtu(&mut self, mtu: u32, now: Instant) {
        let mtu = mtu.max(LEAST_MTU[usize::from(self.is_ipv6())]);
        let Some(socket) = &mut self.socket else { return };
        if !socket.options.path_mtu_discovery || mtu >= socket.options.path_mtu {
            return;
        }
        socket.options.path_mtu = mtu;
        if socket.mss_clamp == 0 {
            if !socket.fast_open.sent.is_zero() {
                // The SYN with data was too long; it goes again without (`tcp_simple_retransmit`).
                if let Some(syn) = &mut self.syn {
                    syn.due = true;
                }
            }
            return;
        }
        if self.follow_path_mtu() {
            self.resend_longer_than_mss(now);
        }
    }

    /// Sets SMSS by the path MTU and the peer's MSS (`tcp_sync_mss`); returns whether it became smaller.
    pub(super) fn follow_path_mtu(&mut self) -> bool {
        let header = if self.is_ipv6() { 40 } else { 20 };
        let Some(socket) = &self.socket else { return false };
        let report = if socket.ecn.takes_room() { crate::ecn::FULL } else { 0 };
        let options = if self.ts.on { 12 } else { 0 };
        let by_path = u64::from(socket.options.path_mtu).saturating_sub(header + TCP_HEADER).max(LEAST_MSS) - options;
        let smss = by_path.min(socket.mss_clamp).saturating_sub(report).max(LEAST_MSS - options);
        let smaller = smss < self.smss;
        if smss != self.smss {
            self.congestion.on_smss(self.smss, smss);
            self.episode.on_smss(smss);
            self.smss = smss;
        }
        smaller
    }

    /// Sends what is in flight in segments that are too long again, in shorter ones, without a reduction of the window
    /// (`tcp_simple_retransmit`).
    fn resend_longer_than_mss(&mut self, now: Instant) {
        let newly_lost = self.tx.board.shorten(self.smss);
        if newly_lost > 0 {
            self.count_lost(newly_lost);
            let clock = self.clock(now);
            self.recovery.on_timeout(self.tx.nxt, &clock, &mut self.tx.board);
            self.timers.rto = now + self.rto.current();
        }
    }
}
