//! What a socket sets on a connection at any time, and how a connection ends for it.
//!
//! A connection of a simulated flow has none of this. With [`Connection::set_socket`](crate::Connection::set_socket) it
//! is a full end: it checks arriving segments, probes, keeps alive and gives up as Linux does.

use crate::ecn::{EcnOptions, LinuxEcn};
use crate::fastopen::FastOpen;
use narrows_units::{Bytes, Duration, Instant};

/// Keep-alive of a connection (RFC 9293, section 3.8.4; `SO_KEEPALIVE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence after which the first probe is sent (`TCP_KEEPIDLE`).
    pub idle: Duration,
    /// Time between probes (`TCP_KEEPINTVL`).
    pub interval: Duration,
    /// Unanswered probes after which the connection is given up (`TCP_KEEPCNT`).
    pub probes: u32,
}

impl Default for KeepAlive {
    /// Linux's values: 2 h, 75 s, 9 probes.
    fn default() -> Self {
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// Options of a socket that its program or the system changes while the connection lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Nagle's algorithm is off (`TCP_NODELAY`).
    pub nodelay: bool,
    /// Segments that are not full wait for more data (`TCP_CORK`).
    pub cork: bool,
    /// Longest time that data may stay unacknowledged (`TCP_USER_TIMEOUT`; RFC 5482).
    pub user_timeout: Option<Duration>,
    /// Keep-alive, if it is on.
    pub keep_alive: Option<KeepAlive>,
    /// Longest stay in FIN-WAIT-2 after close (`TCP_LINGER2`, `tcp_fin_timeout`); `None` ends the connection there.
    pub fin_wait: Option<Duration>,
    /// Memory of the receive buffer at first, `sk_rcvbuf`, where the window follows Linux (`tcp_rmem`, `SO_RCVBUF`).
    pub receive_memory: Option<Bytes>,
    /// Whether that memory does not grow (`SO_RCVBUF`).
    pub fixed_memory: bool,
    /// Largest window that is advertised (`TCP_WINDOW_CLAMP`).
    pub window_clamp: Option<Bytes>,
    /// Retransmissions of a SYN (`TCP_SYNCNT`, `tcp_syn_retries`).
    pub syn_retries: u32,
    /// Retransmissions of a SYN whose timeout does not double, which come on top (`tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// Retransmissions of a SYN-ACK (`tcp_synack_retries`).
    pub synack_retries: u32,
    /// Retransmissions after which the path is suspected (`tcp_retries1`).
    pub retries1: u32,
    /// Retransmissions that make the longest time without progress (`tcp_retries2`).
    pub retries2: u32,
    /// As [`retries2`](Self::retries2), once the program has closed; 0 is Linux's own choice (`tcp_orphan_retries`).
    pub orphan_retries: u32,
    /// Shortest time between answers to segments that are not acceptable (`tcp_invalid_ratelimit`).
    pub invalid_ratelimit: Duration,
    /// Largest packet that the path is known to carry, network header included.
    pub path_mtu: u32,
    /// Whether a smaller path MTU is believed (`IP_MTU_DISCOVER` is not `IP_PMTUDISC_DONT`).
    pub path_mtu_discovery: bool,
    /// Whether the program is told of ICMP errors that do not end the connection, instead of their being kept for later
    /// (`IP_RECVERR`).
    pub receive_errors: bool,
    /// Duplicates are reported (RFC 2883; `tcp_dsack`).
    pub dsack: bool,
    /// ECN.
    pub ecn: EcnOptions,
}

impl Default for SocketOptions {
    /// Linux's values.
    fn default() -> Self {
        Self {
            nodelay: false,
            cork: false,
            user_timeout: None,
            keep_alive: None,
            fin_wait: Some(Duration::from_secs(60)),
            receive_memory: None,
            fixed_memory: false,
            window_clamp: None,
            syn_retries: 6,
            syn_linear_timeouts: 4,
            synack_retries: 5,
            retries1: 3,
            retries2: 15,
            orphan_retries: 0,
            invalid_ratelimit: Duration::from_millis(500),
            path_mtu: 1500,
            path_mtu_discovery: true,
            receive_errors: false,
            dsack: true,
            ecn: EcnOptions::default(),
        }
    }
}

/// Why a connection ended, or an error that it met (the names of Linux's `errno`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer reset the connection (`ECONNRESET`).
    Reset,
    /// The peer, or a port unreachable message, refused it (`ECONNREFUSED`).
    Refused,
    /// The peer reset the connection after its FIN (`EPIPE`).
    BrokenPipe,
    /// No answer came in time (`ETIMEDOUT`).
    TimedOut,
    /// ICMP: the host cannot be reached (`EHOSTUNREACH`).
    HostUnreachable,
    /// ICMP: the network cannot be reached (`ENETUNREACH`).
    NetworkUnreachable,
    /// ICMP: the host does not speak TCP (`ENOPROTOOPT`; IPv6: `EPROTO`).
    ProtocolUnreachable,
    /// ICMP: a packet is too long (`EMSGSIZE`).
    TooLong,
    /// ICMP: the source route failed (`EOPNOTSUPP`).
    SourceRoute,
    /// ICMP: the host is down (`EHOSTDOWN`).
    HostDown,
    /// ICMP: the host is isolated (`ENONET`).
    Isolated,
    /// ICMPv6: an administrator forbids it (`EACCES`).
    Forbidden,
    /// ICMP: a parameter is wrong (`EPROTO`).
    Parameter,
}

/// A message about a packet of this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
    /// The packet did not arrive.
    Error(Failure),
    /// The packet was longer than this MTU in bytes (fragmentation needed, packet too big).
    TooBig {
        /// MTU of the next link.
        mtu: u32,
    },
    /// A router asks for less, and is ignored (RFC 6633).
    SourceQuench,
}

impl Icmp {
    /// The meaning of an `ICMPv4` message; `None` if it is no error. `mtu` is the field of code 4.
    #[must_use]
    pub fn from_v4(kind: u8, code: u8, mtu: u16) -> Option<Self> {
        Some(match (kind, code) {
            (3, 4) => Self::TooBig { mtu: u32::from(mtu) },
            (3, 0 | 6 | 9 | 11) => Self::Error(Failure::NetworkUnreachable),
            (3, 2) => Self::Error(Failure::ProtocolUnreachable),
            (3, 3) => Self::Error(Failure::Refused),
            (3, 5) => Self::Error(Failure::SourceRoute),
            (3, 7) => Self::Error(Failure::HostDown),
            (3, 8) => Self::Error(Failure::Isolated),
            (3, 1 | 10 | 12..=15) | (11, _) => Self::Error(Failure::HostUnreachable),
            (4, _) => Self::SourceQuench,
            (12, _) => Self::Error(Failure::Parameter),
            _ => return None,
        })
    }

    /// The meaning of an `ICMPv6` message; `None` if it is no error. `mtu` is the field of type 2.
    #[must_use]
    pub fn from_v6(kind: u8, code: u8, mtu: u32) -> Option<Self> {
        Some(match (kind, code) {
            (2, _) => Self::TooBig { mtu },
            (1, 0) => Self::Error(Failure::NetworkUnreachable),
            (1, 1 | 5 | 6) => Self::Error(Failure::Forbidden),
            (1, 4) => Self::Error(Failure::Refused),
            (1, _) | (3, _) => Self::Error(Failure::HostUnreachable),
            (4, _) => Self::Error(Failure::Parameter),
            _ => return None,
        })
    }
}

/// The state of a full end beyond that of a flow.
#[derive(Debug, Default)]
pub(crate) struct Socket {
    pub(crate) options: SocketOptions,
    pub(crate) hold: Hold,
    /// Why the connection ended.
    pub(crate) failure: Option<Failure>,
    /// An error that did not end it.
    pub(crate) soft: Option<Failure>,
    /// One that the program wants to know at once.
    pub(crate) told: Option<Failure>,
    /// Whether the program has closed the socket.
    pub(crate) orphan: bool,
    /// Whether the program reads no more.
    pub(crate) no_reader: bool,
    /// When a segment that was not acceptable was last answered.
    pub(crate) refused_at: Option<Instant>,
    /// When an acceptable segment last arrived.
    pub(crate) heard_at: Instant,
    /// When the first retransmission left since SND.UNA moved.
    pub(crate) stuck_since: Option<Instant>,
    /// When the first of the window probes in a row was due.
    pub(crate) probing_since: Option<Instant>,
    /// When keep-alive looks next; `None` if it is off.
    pub(crate) keep_alive_at: Option<Instant>,
    /// Probes, of the window or to keep alive, since the last ACK.
    pub(crate) probes_out: u32,
    /// Whether the host's own device refuses packets, and says so.
    pub(crate) device_full: bool,
    /// Whether a segment without data, before SND.UNA, is to be sent: a probe that any peer answers.
    pub(crate) probe_due: bool,
    /// Timeouts of the SYN.
    pub(crate) syn_timeouts: u32,
    /// Payload bytes of a full segment that the peer allows; zero before the handshake.
    pub(crate) mss_clamp: u64,
    /// Shift of our windows, where a fixed receive buffer bounds them.
    pub(crate) shift: Option<u8>,
    /// Fast Open.
    pub(crate) fast_open: FastOpen,
    /// ECN.
    pub(crate) ecn: LinuxEcn,
    /// Whether the timer of our SYN or SYN-ACK has expired since it was last sent.
    pub(crate) syn_by_timer: bool,
    /// Where the last D-SACK block began.
    pub(crate) reported: Option<i64>,
}

/// Which data waits although the windows allow it: what the program asks of Nagle's algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    /// Nagle's algorithm is off.
    nodelay: bool,
    /// Segments that are not full wait.
    cork: bool,
    /// What is written so far leaves whatever the options say (`TCP_NAGLE_PUSH`).
    urged: bool,
    /// The last write asked to wait for more (`MSG_MORE`); until something else happens.
    more: bool,
}

impl Hold {
    /// Takes the program's options. Switching Nagle's algorithm off urges what waits, and ending CORK too.
    pub(crate) fn set(&mut self, nodelay: bool, cork: bool) {
        self.urged |= nodelay && (!self.nodelay || (self.cork && !cork));
        (self.nodelay, self.cork, self.more) = (nodelay, cork, false);
    }

    /// Lets what is written so far leave.
    pub(crate) fn urge(&mut self) {
        self.urged = true;
    }

    /// Notes a write.
    pub(crate) fn on_write(&mut self, more: bool) {
        (self.urged, self.more) = (false, more);
    }

    /// Notes something else than a write: a wait for more ends.
    #[inline]
    pub(crate) fn on_event(&mut self) {
        self.more = false;
    }

    /// Whether a last segment that is not full waits; `small_in_flight` is whether one like it is not acknowledged
    /// (`tcp_nagle_check`, with Minshall's change).
    #[inline]
    pub(crate) fn holds(&self, small_in_flight: bool) -> bool {
        !self.urged && (self.cork || self.more || (!self.nodelay && small_in_flight))
    }
}

impl Socket {
    /// Whether an answer to a segment that is not acceptable is due: there was none for `tcp_invalid_ratelimit`
    /// (`tcp_oow_rate_limited`).
    pub(crate) fn answers(&mut self, now: Instant) -> bool {
        let limit = self.options.invalid_ratelimit;
        if self.refused_at.is_some_and(|last| now.since(last) < limit) {
            return false;
        }
        self.refused_at = Some(now);
        true
    }

    /// Notes an acceptable ACK.
    #[inline]
    pub(crate) fn on_ack(&mut self, progress: bool, now: Instant) {
        self.heard_at = now;
        (self.probes_out, self.soft) = (0, None);
        self.probing_since = None;
        if progress {
            self.stuck_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minshall_holds_a_segment_only_behind_another_small_one() {
        let mut hold = Hold::default();
        assert!(hold.holds(true) && !hold.holds(false));
        hold.set(true, false);
        assert!(!hold.holds(true));
    }

    #[test]
    fn nodelay_urges_what_is_corked_once() {
        let mut hold = Hold::default();
        hold.set(false, true);
        assert!(hold.holds(false));
        hold.set(true, true);
        assert!(!hold.holds(false), "an explicit push");
        hold.on_write(false);
        assert!(hold.holds(false), "the cork is stronger");
        hold.set(true, false);
        assert!(!hold.holds(true));
    }

    #[test]
    fn a_write_with_more_waits_until_something_happens() {
        let mut hold = Hold::default();
        hold.on_write(true);
        assert!(hold.holds(false));
        hold.on_event();
        assert!(!hold.holds(false));
    }

    #[test]
    fn answers_are_limited_by_time() {
        let mut socket = Socket::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert!(socket.answers(at(10)) && !socket.answers(at(500)) && socket.answers(at(510)));
    }

    #[test]
    fn icmp_messages_have_linux_s_errors() {
        assert_eq!(Icmp::from_v4(3, 3, 0), Some(Icmp::Error(Failure::Refused)));
        assert_eq!(Icmp::from_v4(3, 4, 1400), Some(Icmp::TooBig { mtu: 1400 }));
        assert_eq!(Icmp::from_v4(8, 0, 0), None, "an echo request");
        assert_eq!(Icmp::from_v6(2, 0, 1280), Some(Icmp::TooBig { mtu: 1280 }));
        assert_eq!(Icmp::from_v6(1, 4, 0), Some(Icmp::Error(Failure::Refused)));
    }
}
