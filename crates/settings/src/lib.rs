//! Settings that scenario files set and the engine uses, each declared once: those of TCP here, those of queues in
//! [`queue`], and how schemes describe theirs in [`scheme`].
//!
//! `narrows_scenario::Tcp` holds a [`Config`], and `narrows_tcp::Connection` takes one. The format's words, units and
//! defaults for each setting are rows in `crates/scenario/src/schema/tcp`.

mod ip_options;
pub mod queue;
pub mod scheme;

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

/// Settings of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum segment size that is offered and used, TCP options included (RFC 9293's MSS). SMSS is this minus the
    /// options on each data segment.
    pub mss: u16,
    /// First congestion window.
    pub initial_window: InitialWindow,
    /// First slow-start threshold; `None` is unlimited.
    pub initial_ssthresh: Option<Bytes>,
    /// Upper bound of cwnd; `None` is unlimited.
    pub max_cwnd: Option<Bytes>,
    /// Delayed acknowledgments.
    pub delayed_ack: DelayedAck,
    /// With delayed ACKs: acknowledge as Linux does. Up to 16 segments are acknowledged at once at the beginning and
    /// after a possible loss (quick ACKs). Other ACKs wait for a delay that follows the interval between segments and
    /// is at least the `timeout` of [`delayed_ack`](Self::delayed_ack) (40 ms in Linux). Off: the delay is always
    /// `timeout`.
    pub quick_ack: bool,
    /// How long a segment that arrives may wait to be merged with those that follow it in order, as the host's device
    /// does with GRO (`dev_gro_receive`, `tcp_gro_receive`) and a `gro_flush_timeout`. Zero: segments are handled one
    /// by one, as behind a device without GRO.
    pub gro: Duration,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// Loss recovery.
    pub recovery: RecoveryKind,
    /// Rules of [`Rack`](RecoveryKind::Rack) and [`frto`](Self::frto).
    pub recovery_style: RecoveryStyle,
    /// With [`Rack`](RecoveryKind::Rack): probe the tail of what is outstanding (RFC 8985, section 7; Linux's
    /// `tcp_early_retrans`).
    pub tail_probes: bool,
    /// F-RTO (RFC 5682): after a timeout, new data leaves before a second retransmission, and the ACKs show whether
    /// the timeout was spurious. Tahoe and [`RtoOnly`](RecoveryKind::RtoOnly) do not have it.
    pub frto: bool,
    /// How cwnd is reduced in an episode.
    pub reduction: Reduction,
    /// Duplicate ACKs that mean loss (RFC 5681: 3).
    pub dupthresh: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// With SACK: find two more kinds of loss. Data sent before retransmissions that are delivered counts as lost, at
    /// the end of a burst too. A retransmission counts as lost, and is sent again, once enough data sent *after* it is
    /// delivered to mean the loss of an original (`dupthresh` segments, or more than `dupthresh - 1` SMSS). On by
    /// default: RFC 6675 leaves this to the retransmission timer, and meanwhile new data is sent at a constant window
    /// for a whole RTO; Linux and RFC 8985 do not wait. Off follows RFC 6675 to the letter, as ns-2's Sack1 does.
    pub lost_retransmission: bool,
    /// Offer SACK (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Timestamps count milliseconds from an offset of each end (`Connection::set_timestamp_offset`), as in Linux. Off:
    /// microseconds of a clock that both ends share.
    pub timestamp_offsets: bool,
    /// Offer window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer ECN (RFC 3168).
    pub ecn: bool,
    /// With [`ecn`](Self::ecn): offer AccECN (RFC 9768), and classic ECN only to a peer that has nothing else.
    pub accurate_ecn: bool,
    /// As a receiver, how CE marks are echoed.
    pub ecn_echo: EcnEcho,
    /// Send ECN-capable data as ECT(1), which asks for the low delay of L4S (RFC 9331, section 4.1), instead of ECT(0).
    pub ect1: bool,
    /// Receive buffer in bytes; the largest window that is advertised.
    pub recv_buffer: Bytes,
    /// Start the advertised window at about 64 kB and grow it with what the application reads, up to
    /// [`recv_buffer`](Self::recv_buffer), as Linux does (`tcp_rcv_space_adjust`, `tcp_grow_window`). Linux's
    /// `tcp_rmem[2]` is twice `recv_buffer`. Off: the whole buffer is offered from the beginning.
    pub autotuning: bool,
    /// As a receiver, the congestion control that bounds the advertised window.
    pub receiver_cc: ReceiverCc,
    /// As a receiver, which rules are broken; `None` breaks none.
    pub misbehavior: Option<Misbehavior>,
    /// The version of Linux that [`autotuning`](Self::autotuning) follows. Other settings that follow Linux have the
    /// same meaning in each version.
    pub kernel: LinuxVersion,
    /// Nagle's algorithm (RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// What an idle time of more than one RTO does to the window.
    pub idle_restart: IdleRestart,
    /// Decay a window that the application has not used for an RTO: `cwnd = (cwnd + used) / 2`, and `ssthresh` at least
    /// 3/4 of the old cwnd (RFC 2861; Linux's `tcp_cwnd_application_limited`). Off by default: RFC 7661 made RFC 2861
    /// historic.
    pub cwnd_validation: bool,
    /// How cwnd grows while something other than cwnd limits the sender.
    pub rate_limited: RateLimited,
    /// Slow start in place of the congestion control's.
    pub slow_start: SlowStart,
    /// With [`SlowStart::Limited`]: RFC 3742's max_ssthresh, in segments.
    pub max_ssthresh: u32,
    /// Begin near the window of an earlier connection (RFC 9959); `None` begins without one.
    pub careful_resume: Option<CarefulResume>,
    /// Whether `cwnd == ssthresh` is slow start (RFC 5681 leaves it free): it is in ns-2's TCP/Linux agent, and in no
    /// other.
    pub slow_start_at_equality: bool,
    /// Pacing where the congestion control sets no rate.
    pub pacing: Pacing,
    /// Undo reductions that prove spurious, by timestamps (Eifel, RFC 3522) or D-SACK (RFC 3708): cwnd and ssthresh
    /// return to the larger of their current and previous values. On by default: RFC 4015, the response, is on the
    /// standards track. Off follows RFC 5681 alone, as ns-2 does.
    pub undo: bool,
    /// Reduce once per episode, as Linux and ns-2's TCP/Linux agent do: a timeout in Recovery or CWR keeps the ssthresh
    /// that the episode began with, and a lost retransmission is sent again without a further reduction. Off follows
    /// RFC 5681, section 4.3, where the loss of a retransmission halves the window again.
    pub reduce_once: bool,
    /// On a full ACK, NewReno sets cwnd to `min(ssthresh, max(FlightSize, SMSS) + SMSS)`. Off: to ssthresh (the two
    /// choices of RFC 6582, section 3.2, step 3).
    pub full_ack_cap: bool,
    /// In a NewReno recovery, restart the retransmission timer at the first partial ACK only, so that a window with
    /// many holes ends in a timeout and slow start (RFC 6582's "Impatient" variant, section 3.2, step 3). Off: restart
    /// it at each partial ACK and repair one hole per round-trip time, however many there are ("Slow-but-Steady",
    /// section 4; Linux).
    pub impatient: bool,
    /// Send paced segments in bursts, as Linux does with TSO (`tcp_tso_autosize`): up to a millisecond's worth at the
    /// pacing rate, at least two segments. Off: one by one.
    pub tso: bool,
    /// Segments leave in bursts as Linux's do with GSO, paced or not: as many as one super-packet takes
    /// (`tcp_tso_autosize`, `tcp_tso_should_defer`). Off: one by one.
    pub gso: bool,
    /// With [`gso`](Self::gso): TCP Small Queues (`tcp_small_queue_check`). A sender stops while more of its packets
    /// wait in its host's device than two super-packets or about a millisecond at its rate. The caller reports what
    /// waits (`Connection::on_queued`). Off: nothing bounds what waits, as behind a device that releases a sender's
    /// memory at once (Linux's `tun_net_xmit`).
    pub tsq: bool,
    /// How large these bursts are. Scenario files have no key for it.
    pub burst: Burst,
    /// Consecutive expiries of the retransmission timer before the connection is given up (RFC 9293's R2; Linux's
    /// `tcp_retries2`); `None` is never.
    pub max_retries: Option<u32>,
    /// Duration of TIME-WAIT: twice the maximum segment lifetime (RFC 9293: MSL 2 minutes; Linux: 60 s in all).
    /// Scenario files have no key for it.
    pub time_wait: Duration,
}

impl Default for Config {
    /// The RFCs' defaults: SMSS from a 1500-byte IPv4 packet, RFC 6928 window, delayed ACKs of 2 and 200 ms (inside RFC
    /// 1122's 500 ms), RFC 6298 timer with a 1 s floor, SACK, timestamps and window scaling on, ECN off.
    fn default() -> Self {
        Self {
            mss: 1460,
            initial_window: InitialWindow::Rfc6928,
            initial_ssthresh: None,
            max_cwnd: None,
            delayed_ack: DelayedAck::On { every: 2, timeout: Duration::from_millis(200) },
            quick_ack: false,
            gro: Duration::ZERO,
            rto: RtoConfig {
                style: RtoStyle::Rfc6298,
                initial: Duration::from_secs(1),
                min: Duration::from_secs(1),
                max: Duration::from_secs(60),
                granularity: Duration::from_millis(1),
            },
            recovery: RecoveryKind::Sack,
            recovery_style: RecoveryStyle::Rfc,
            tail_probes: true,
            frto: false,
            reduction: Reduction::Immediate,
            dupthresh: 3,
            limited_transmit: true,
            lost_retransmission: true,
            sack: true,
            timestamps: true,
            timestamp_offsets: false,
            window_scaling: true,
            ecn: false,
            accurate_ecn: false,
            ecn_echo: EcnEcho::UntilCwr,
            ect1: false,
            recv_buffer: Bytes::new(16 * 1024 * 1024),
            autotuning: false,
            receiver_cc: ReceiverCc::None,
            misbehavior: None,
            kernel: LinuxVersion::V7_2,
            nagle: false,
            idle_restart: IdleRestart::Rfc5681,
            cwnd_validation: false,
            rate_limited: RateLimited::CwndLimited,
            slow_start: SlowStart::Own,
            max_ssthresh: 100,
            careful_resume: None,
            slow_start_at_equality: false,
            pacing: Pacing::Off,
            undo: true,
            reduce_once: false,
            full_ack_cap: true,
            impatient: true,
            tso: false,
            gso: false,
            tsq: false,
            burst: Burst::default(),
            max_retries: Some(15),
            time_wait: Duration::from_secs(240),
        }
    }
}
