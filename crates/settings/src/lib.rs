//! Settings that scenario files set and the engine uses, each declared once: those of TCP in [`Config`], those of
//! queues in [`queue`], and how schemes describe theirs in [`scheme`].
//!
//! `narrows_scenario::Tcp` holds a [`Config`], and `narrows_tcp::Connection` takes one. The format's words, units and
//! defaults for each setting are rows in `crates/scenario/src/schema/tcp`.

mod config;
mod ip_options;
pub mod queue;
pub mod scheme;

pub use config::Config;
pub use ip_options::IpOptions;

use narrows_units::{Bytes, Duration, Variable};

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// `min(10 SMSS, max(2 SMSS, 14600 bytes))` (RFC 6928).
    Rfc6928,
    /// 4, 3 or 2 segments by their size (RFC 5681, section 3.1).
    Rfc5681,
    /// This many segments.
    Segments(u32),
}

/// When the receiver acknowledges in-order data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment at once, as ns-2's default sink does.
    Off,
    /// At least every `every`-th full segment and after at most `timeout` (RFC 1122, 4.2.3.2: 2 and 500 ms; RFC 5681).
    On {
        /// Segments per ACK.
        every: u32,
        /// Longest delay.
        timeout: Duration,
    },
}

/// The arithmetic that computes the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoStyle {
    /// RFC 6298: SRTT + max(G, 4 RTTVAR), with the sum floored at `min`.
    Rfc6298,
    /// Linux: the floor `min` is on the variance term, so RTO is at least SRTT + `min`; falling RTTs raise mdev by an
    /// eighth only.
    Linux,
    /// ns-2: integer ticks of the granularity, SRTT scaled by 8 and RTTVAR by 4, one timed segment at a time
    /// unless timestamps are on.
    Ns2,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Arithmetic of the estimator.
    pub style: RtoStyle,
    /// Timeout before any sample (RFC 6298: 1 s; ns-2: 3 s).
    pub initial: Duration,
    /// Floor (RFC 6298: 1 s; Linux and ns-2: 200 ms).
    pub min: Duration,
    /// Ceiling (RFC 6298: at least 60 s; Linux: 120 s).
    pub max: Duration,
    /// Clock granularity G.
    pub granularity: Duration,
}

/// How cwnd moves to the congestion control's new value after a loss or an ECN echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// At once (RFC 5681, RFC 6675): nothing leaves until the pipe has drained to the new window.
    Immediate,
    /// Proportional Rate Reduction (RFC 9937, which obsoletes RFC 6937): transmissions are spread over the recovery.
    /// Applies to a recovery with SACK and to the window after an ECN echo. Without SACK a recovery reduces at once:
    /// RFC 9937 would allow an estimate by duplicate ACKs, but Reno and NewReno already count these in the inflation of
    /// their window (RFC 5681, section 3.2, step 4). It does not apply if the congestion control left its window
    /// unchanged or rules recovery itself.
    Prr,
    /// Like [`Prr`](Self::Prr), with Linux's `RecoverFS`, which is cwnd at the beginning of the episode.
    PrrLinux,
}

/// Pacing where the congestion control sets no rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Segments leave as ACKs allow.
    Off,
    /// Linux's internal pacing: `ratio * SMSS * max(cwnd, packets out) / SRTT`, in percent; the first ten segments of a
    /// connection are not paced (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`: 200 and 120).
    Ratio {
        /// While `cwnd < ssthresh / 2`.
        slow_start: u32,
        /// Otherwise.
        avoidance: u32,
    },
}

/// How large the bursts of [`Config::gso`] are: Linux's settings of the same names, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Least segments that the pacing rate bounds a burst to (`tcp_min_tso_segs`).
    pub min_segments: u32,
    /// A sender whose ACK is due waits until this fraction of the window is free (`tcp_tso_win_divisor`); 0: until more
    /// than three segments are.
    pub win_divisor: u32,
    /// The share of the largest burst that short paths add halves with each `2^rtt_log` microseconds of the smallest
    /// round-trip time (`tcp_tso_rtt_log`).
    pub rtt_log: u8,
}

impl Default for Burst {
    fn default() -> Self {
        Self { min_segments: 2, win_divisor: 3, rtt_log: 9 }
    }
}

/// A version of Linux whose TCP differs from that of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinuxVersion {
    /// Linux 6.1.
    V6_1,
    /// Linux 6.12: since 6.6 the receive window follows the measured overhead of segments.
    V6_12,
    /// Linux 6.18: the receive memory also grows by other rules, which count what waits behind gaps.
    V6_18,
    /// Linux 7.2: also, on paths of less than a millisecond it grows less.
    #[default]
    V7_2,
}

/// What an idle time of more than one RTO does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Nothing, as in ns-2 without `slow_start_restart_`.
    Off,
    /// `cwnd = min(IW, cwnd)` (RFC 5681, section 4.1; RFC 9293 requires RFC 5681).
    Rfc5681,
    /// Linux's `tcp_cwnd_restart`: `ssthresh = max(ssthresh, 3/4 cwnd)`, and cwnd is halved for each RTO of idleness,
    /// down to the restart window (its origin is RFC 2861).
    Linux,
}

/// How slow start goes and when it ends, where the congestion control has the standard one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// As the congestion control has it.
    #[default]
    Own,
    /// RFC 5681's, until a loss or an ECN echo.
    Standard,
    /// Linux's HyStart, which Linux has in CUBIC alone: ends by the length of an ACK train or by delay.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search, SEARCH 3.0): ends when deliveries no longer double.
    Search,
    /// Limited slow start (RFC 3742): above [`Config::max_ssthresh`] it grows by half of that per round-trip time.
    Limited,
}

/// What a connection takes over from an earlier one on the same path (RFC 9959).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarefulResume {
    /// saved_cwnd: bytes that the earlier connection had delivered in a round-trip time.
    pub saved_cwnd: Bytes,
    /// saved_rtt: its smallest round-trip time.
    pub saved_rtt: Duration,
}

/// How cwnd grows while something other than cwnd limits the sender: the application, or the peer's advertised window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimited {
    /// It does not, except in slow start up to twice what was in flight (Linux's `tcp_is_cwnd_limited`; RFC 9438,
    /// section 5.8).
    #[default]
    CwndLimited,
    /// Up to what the largest flight since the last reduction allows
    /// (draft-ietf-ccwg-ratelimited-increase-11, section 3).
    MaxFlight,
    /// RFC 7661: it grows in the validated phase only, in which at least half of cwnd is acknowledged per round-trip
    /// time. Otherwise a congestion event reduces to half of what was in use, five minutes halve the window, and idle
    /// time alone does not: this replaces [`Config::idle_restart`] and [`Config::cwnd_validation`].
    Rfc7661,
    /// As if cwnd limited it: RFC 5681 to the letter, ns-2, and ns-3 of 2011. Algorithms see cwnd as always the limit.
    Unlimited,
}

/// The congestion control of a receiver, which bounds the window that it advertises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiverCc {
    /// None: the window is what the receive buffer allows.
    #[default]
    None,
    /// rLEDBAT (RFC 9840): the window follows LEDBAT++ by round-trip times and retransmissions that the receiver sees.
    /// It needs timestamps; without them the window is that of the buffer.
    Rledbat,
}

/// What a receiver with [`ReceiverCc::Rledbat`] reports. A quantity has no value (NaN) before it was measured.
pub const RLEDBAT_VARIABLES: [Variable; 11] = [
    Variable::state("stage", "What LEDBAT++ does.", &["Start", "Avoidance", "Frozen", "Regrowth"]),
    Variable::new("window", "bytes", "RLWND, the receiver's window by LEDBAT++."),
    Variable::new("ssthresh", "bytes", "Slow-start threshold of RLWND; no value while it is arbitrarily high."),
    Variable::new("offered", "bytes", "Window of the last ACK: the edge that it offered minus what it acknowledged."),
    Variable::new("rtt", "s", "Latest round-trip time, by timestamps at the receiver."),
    Variable::new("base_rtt", "s", "Smallest of these in the last minutes."),
    Variable::new("queuing_delay", "s", "Least of the last four round-trip times minus the base."),
    Variable::new("gain", "segments per RTT", "GAIN, growth per round-trip time below the target."),
    Variable::new("slowdowns", "", "Slowdowns that have begun so far."),
    Variable::new("slowdown_time", "s", "Duration of the last slowdown that has ended; 0 before one."),
    Variable::new("losses", "", "Halvings of RLWND after retransmissions."),
];

/// How a receiver breaks the rules to make its sender send more (S. Savage et al., "TCP Congestion Control with a
/// Misbehaving Receiver", SIGCOMM CCR 29(5), 1999). Each field acts on its own, and several act together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misbehavior {
    /// ACK division (section 2.1): in how many ACKs the receiver acknowledges what one ACK would. One: as the rules
    /// say.
    pub ack_division: u32,
    /// DupACK spoofing (section 2.2): duplicates that follow each ACK of new data.
    pub duplicate_acks: u32,
    /// Optimistic ACKing (section 2.3): up to how many bytes beyond the highest that arrived are acknowledged. More
    /// than zero also conceals losses: what is acknowledged is never sent again, and the receiver does without.
    pub optimistic_acks: Bytes,
    /// CE marks are not echoed, which is what ECN-nonce was to detect (RFC 3540, section 2; RFC 9768, section 5.2).
    pub conceal_ce: bool,
}

impl Misbehavior {
    /// What keeps to the rules.
    pub const HONEST: Self =
        Self { ack_division: 1, duplicate_acks: 0, optimistic_acks: Bytes::ZERO, conceal_ce: false };
}

/// How a receiver echoes CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECE on every ACK until CWR arrives (RFC 3168, section 6.1.3).
    UntilCwr,
    /// ECE exactly on the ACKs of marked segments (RFC 8257, section 3.2).
    EachMark,
}

/// How losses are found and repaired; independent of the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Only the retransmission timer (RFC 793).
    RtoOnly,
    /// Fast retransmit, then slow start from one segment (Jacobson 1988; ns-2's Agent/TCP).
    Tahoe,
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 2581).
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675; falls back to NewReno where the peer does not permit SACK.
    Sack,
    /// Forward acknowledgments (Mathis and Mahdavi, SIGCOMM 1996); needs SACK like [`Sack`](Self::Sack).
    Fack,
    /// RACK-TLP (RFC 8985); needs SACK like [`Sack`](Self::Sack).
    Rack,
}

/// Which rules RACK-TLP, F-RTO and the detection of spurious reductions follow where an RFC leaves a choice or Linux
/// differs from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryStyle {
    /// The letter of RFC 8985, RFC 5682, RFC 3522 and RFC 3708.
    #[default]
    Rfc,
    /// Linux 7.2.
    Linux,
}
