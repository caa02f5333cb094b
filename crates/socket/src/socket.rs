//! A socket: its state, its options, and what its calls may see.

use crate::chrono::Chrono;
use crate::errno::Errno;
use crate::memory::Memory;
use crate::number::event;
use core::net::SocketAddr;
use narrows_tcp::{Connection, State};
use narrows_units::Instant;
use std::collections::VecDeque;

/// A listener's queues.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    /// Most connections that wait for `accept`, less one.
    pub(crate) backlog: usize,
    /// Established connections that wait for `accept`.
    pub(crate) ready: VecDeque<usize>,
}

/// How far a socket has come.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Neither connected nor listening.
    Idle,
    /// Listens.
    Listening(Listener),
    /// Has a connection, which may be closed by now.
    Connected(Box<Connection>),
}

/// `SO_LINGER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Linger {
    pub(crate) on: bool,
    pub(crate) seconds: u32,
}

/// Options that `setsockopt` sets, in Linux's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) reuse_address: bool,
    pub(crate) reuse_port: bool,
    pub(crate) keep_alive: bool,
    pub(crate) linger: Linger,
    pub(crate) mark: u32,
    pub(crate) priority: u32,
    pub(crate) receive_lowat: u32,
    /// `sk_rcvbuf`, if `SO_RCVBUF` fixed it.
    pub(crate) receive_buffer: Option<u64>,
    pub(crate) zero_copy: bool,
    pub(crate) timestamping: u32,
    pub(crate) max_pacing_rate: u64,
    pub(crate) nodelay: bool,
    pub(crate) cork: bool,
    /// `TCP_MAXSEG`; 0 if not set.
    pub(crate) max_segment: u16,
    pub(crate) keep_idle: u32,
    pub(crate) keep_interval: u32,
    pub(crate) keep_count: u32,
    pub(crate) syn_count: Option<u32>,
    pub(crate) linger2: Option<i32>,
    pub(crate) defer_accept: u32,
    pub(crate) window_clamp: u32,
    pub(crate) quick_ack: bool,
    pub(crate) congestion: Option<String>,
    /// Milliseconds.
    pub(crate) user_timeout: u32,
    /// `TCP_FASTOPEN`: the queue's length; 0 if off.
    pub(crate) fast_open: u32,
    pub(crate) fast_open_connect: bool,
    pub(crate) fast_open_no_cookie: bool,
    pub(crate) fast_open_keys: Vec<u8>,
    /// `TCP_NOTSENT_LOWAT`; 0 if the sysctl applies.
    pub(crate) not_sent_lowat: u32,
    pub(crate) inq: bool,
    pub(crate) tos: u8,
    pub(crate) ttl: u8,
    pub(crate) mtu_discover: i32,
    pub(crate) receive_errors: bool,
    pub(crate) free_bind: bool,
    pub(crate) v6_only: bool,
    pub(crate) broadcast: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reuse_address: false,
            reuse_port: false,
            keep_alive: false,
            linger: Linger::default(),
            mark: 0,
            priority: 0,
            receive_lowat: 1,
            receive_buffer: None,
            zero_copy: false,
            timestamping: 0,
            max_pacing_rate: u64::MAX,
            nodelay: false,
            cork: false,
            max_segment: 0,
            keep_idle: 0,
            keep_interval: 0,
            keep_count: 0,
            syn_count: None,
            linger2: None,
            defer_accept: 0,
            window_clamp: 0,
            quick_ack: true,
            congestion: None,
            user_timeout: 0,
            fast_open: 0,
            fast_open_connect: false,
            fast_open_no_cookie: false,
            fast_open_keys: Vec::new(),
            not_sent_lowat: 0,
            inq: false,
            tos: 0,
            ttl: 64,
            mtu_discover: 1,
            receive_errors: false,
            free_bind: false,
            v6_only: false,
            broadcast: false,
        }
    }
}

/// A report in the error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Zero-copy sends with these numbers are complete.
    ZeroCopy { first: u32, last: u32 },
    /// A byte passed a point (`SCM_TSTAMP_SND` ..) at this time.
    Timestamp { point: u32, at: Instant, key: u32 },
}

/// A send whose last byte is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// Offset after its last byte.
    pub(crate) end: u64,
    /// Its number, if it is a zero-copy send.
    pub(crate) zero_copy: Option<u32>,
    /// Points still to be reported (`SOF_TIMESTAMPING_` flags), and the key.
    pub(crate) points: u32,
    pub(crate) key: u32,
}

/// What a socket showed when it was looked at last, to find out what woke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) state: State,
    /// Bytes in order so far.
    pub(crate) delivered: u64,
    pub(crate) finished: bool,
}

/// A socket.
#[derive(Debug)]
pub(crate) struct Socket {
    /// Whether its family is `AF_INET6`.
    pub(crate) is_v6: bool,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) remote: Option<SocketAddr>,
    /// The address that `bind` set, which outlasts a connection.
    pub(crate) bound: Option<SocketAddr>,
    /// Whether `connect` has begun and no call has returned how it ended (`SS_CONNECTING`).
    pub(crate) connecting: bool,
    pub(crate) nonblocking: bool,
    pub(crate) options: Options,
    pub(crate) stage: Stage,
    /// The listener of a connection that nobody accepted yet.
    pub(crate) parent: Option<usize>,
    /// Whether a descriptor or a listener's queue refers to it.
    pub(crate) held: bool,
    /// `sk_err`.
    pub(crate) error: Option<Errno>,
    /// `RCV_SHUTDOWN` and `SEND_SHUTDOWN`.
    pub(crate) shut_read: bool,
    pub(crate) shut_write: bool,
    pub(crate) memory: Memory,
    /// `SOCK_NOSPACE`: somebody waits for room.
    pub(crate) no_space: bool,
    /// Whether `connect` waits for the first write (`TCP_FASTOPEN_CONNECT`).
    pub(crate) deferred: bool,
    pub(crate) errors: VecDeque<Report>,
    pub(crate) watched: VecDeque<Watched>,
    /// Number of the next zero-copy send.
    pub(crate) next_zero_copy: u32,
    /// Offset of the byte with timestamp key 0 (`SOF_TIMESTAMPING_OPT_ID`).
    pub(crate) key_base: u64,
    pub(crate) seen: Seen,
    /// The listener that made it.
    pub(crate) listener: Option<usize>,
    /// Whether it is, or was, in its listener's queue.
    pub(crate) queued: bool,
    /// Whether data of the SYN was taken (`tp->syn_data_acked`).
    pub(crate) syn_data_acked: bool,
    pub(crate) chrono: Chrono,
}

impl Socket {
    /// A new socket; `wmem` is `tcp_wmem`.
    pub(crate) fn new(is_v6: bool, wmem: [u64; 3], now: Instant) -> Self {
        Self {
            is_v6,
            local: None,
            remote: None,
            bound: None,
            connecting: false,
            nonblocking: false,
            options: Options::default(),
            stage: Stage::Idle,
            parent: None,
            held: true,
            error: None,
            shut_read: false,
            shut_write: false,
            memory: Memory::new(wmem),
            no_space: false,
            deferred: false,
            errors: VecDeque::new(),
            watched: VecDeque::new(),
            next_zero_copy: 0,
            key_base: 0,
            seen: Seen::default(),
            listener: None,
            queued: false,
            syn_data_acked: false,
            chrono: Chrono::new(now),
        }
    }

    /// The connection, if there is one.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        match &self.stage {
            Stage::Connected(connection) => Some(connection),
            _ => None,
        }
    }

    /// The connection for changes, if there is one.
    pub(crate) fn connection_mut(&mut self) -> Option<&mut Connection> {
        match &mut self.stage {
            Stage::Connected(connection) => Some(connection),
            _ => None,
        }
    }

    /// The connection's state; CLOSED without one.
    pub(crate) fn state(&self) -> State {
        match &self.stage {
            Stage::Idle => State::Closed,
            Stage::Listening(_) => State::Listen,
            Stage::Connected(connection) => connection.state(),
        }
    }

    /// Whether the handshake has to end before data may go (`sk_stream_wait_connect`).
    pub(crate) fn is_opening(&self) -> bool {
        let pending = self.connection().is_some_and(Connection::is_fast_open_pending);
        self.deferred || (matches!(self.state(), State::SynSent | State::SynReceived) && !pending)
    }

    /// Bytes that can be read.
    pub(crate) fn readable(&self) -> u64 {
        self.connection().map_or(0, |connection| connection.readable().as_u64())
    }

    /// Whether there is as much to read as a reader wants, or as the window lets the peer send (`tcp_epollin_ready`).
    fn has_enough(&self) -> bool {
        let Some(connection) = self.connection() else { return false };
        let available = connection.readable().as_u64();
        let is_last = || connection.window_left() <= connection.peer_mss();
        available > 0 && (available >= self.options.receive_lowat.into() || is_last())
    }

    /// Whether the peer has closed and all its data arrived (`RCV_SHUTDOWN` and `SOCK_DONE`).
    pub(crate) fn is_finished(&self) -> bool {
        self.connection().is_some_and(Connection::is_finished)
    }

    /// Returns the pending error and forgets it.
    pub(crate) fn take_error(&mut self) -> Option<Errno> {
        self.error.take()
    }

    /// Returns the pending error or, without one, that which did not end the connection, and forgets it (`SO_ERROR`).
    pub(crate) fn take_any_error(&mut self) -> Option<Errno> {
        let soft = |socket: &mut Self| socket.connection_mut().and_then(Connection::take_soft_failure).map(Errno::from);
        self.error.take().or_else(|| soft(self))
    }

    /// The limit of what may wait unsent; `sysctl` is `tcp_notsent_lowat`.
    pub(crate) fn lowat(&self, sysctl: u64) -> u64 {
        let lowat = match self.options.not_sent_lowat {
            0 => sysctl,
            own => u64::from(own),
        };
        if lowat >= u64::from(u32::MAX) { u64::MAX } else { lowat }
    }

    /// The events that `poll` reports (`tcp_poll`), and whether a writer has to be told once there is room.
    pub(crate) fn poll(&self, sysctl_lowat: u64) -> (u32, bool) {
        if let Stage::Listening(listener) = &self.stage {
            let ready = if listener.ready.is_empty() { 0 } else { event::IN | event::RDNORM };
            return (ready, false);
        }
        let state = self.state();
        let read_shut = self.shut_read || self.is_finished();
        let mut mask = 0;
        let mut wants_space = false;
        if state == State::Closed && !self.deferred || (read_shut && self.shut_write) {
            mask |= event::HUP;
        }
        if read_shut {
            mask |= event::IN | event::RDNORM | event::RDHUP;
        }
        let opening = self.is_opening();
        if self.deferred {
            mask |= event::OUT | event::WRNORM;
        }
        if !opening {
            if self.has_enough() {
                mask |= event::IN | event::RDNORM;
            }
            if self.shut_write || state == State::Closed || self.memory.is_writable(self.lowat(sysctl_lowat)) {
                mask |= event::OUT | event::WRNORM;
            } else {
                wants_space = true;
            }
        }
        if self.error.is_some() || !self.errors.is_empty() {
            mask |= event::ERR;
        }
        (mask, wants_space)
    }

    /// Adds a report; consecutive zero-copy sends share one.
    pub(crate) fn report(&mut self, report: Report) {
        if let (Some(Report::ZeroCopy { last, .. }), Report::ZeroCopy { first, last: newest }) =
            (self.errors.back_mut(), report)
            && last.wrapping_add(1) == first
        {
            *last = newest;
            return;
        }
        self.errors.push_back(report);
    }
}
