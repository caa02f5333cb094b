//! One flow's TCP settings after stack and flow defaults are merged.

use narrows_units::{Bytes, Duration, Rate};

/// TCP settings of a flow, both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The system whose defaults apply; every setting below has them resolved.
    pub stack: Stack,
    /// Congestion control, by its name in the registry.
    pub cc: String,
    /// Its parameters.
    pub cc_params: Vec<(String, ParamValue)>,
    /// Scheme at the end points: `None`, `Some("acns")` or `Some("ngwa")`.
    pub assist: Option<String>,
    /// Maximum segment size: payload and TCP options.
    pub mss: Bytes,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// First slow-start threshold; `None` is unlimited.
    pub initial_ssthresh: Option<Bytes>,
    /// Upper bound of cwnd; `None` is unlimited.
    pub max_cwnd: Option<Bytes>,
    /// Delayed ACKs; `None` is one ACK per segment.
    pub delayed_ack: Option<DelayedAck>,
    /// Delayed ACKs follow Linux: quick ACKs, and a delay that adapts.
    pub quick_ack: bool,
    /// Recovery.
    pub recovery: Recovery,
    /// How a congestion episode reduces the window.
    pub reduction: Reduction,
    /// Number of duplicate ACKs that indicate a loss.
    pub dupthresh: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Lost retransmissions are detected without the timer (RFC 8985's rule, by segments and bytes).
    pub lost_retransmission: bool,
    /// Reductions that prove spurious are undone (RFC 4015).
    pub undo: bool,
    /// Only one reduction per episode, as in Linux; otherwise a timeout or a lost retransmission in the episode reduces
    /// again (RFC 5681).
    pub reduce_once: bool,
    /// On a full ACK NewReno sets cwnd to `min(ssthresh, max(FlightSize, SMSS) + SMSS)` (RFC 6582), otherwise to
    /// ssthresh.
    pub full_ack_cap: bool,
    /// Only the first partial ACK of a NewReno recovery restarts the retransmission timer (RFC 6582), otherwise each
    /// one does (Linux).
    pub impatient: bool,
    /// Paced segments leave in bursts, as from Linux with TSO, otherwise one by one.
    pub tso: bool,
    /// Number of timeouts in a row after which the connection is given up (RFC 9293's R2); `None` is never.
    pub max_retries: Option<u32>,
    /// SACK (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Timestamps count milliseconds from an offset of each end, as in Linux; otherwise microseconds of one clock.
    pub timestamp_offsets: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Classic ECN (RFC 3168).
    pub ecn: bool,
    /// How a receiver echoes marks.
    pub ecn_echo: EcnEcho,
    /// Receive buffer: the largest window that is advertised.
    pub recv_buffer: Bytes,
    /// The advertised window starts at 64 kB and grows up to the receive buffer, as in Linux 6.1.
    pub autotuning: bool,
    /// Rate at which the receiving application reads; `None` is immediately.
    pub read_rate: Option<Rate>,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// What an idle time of more than one RTO does to the window.
    pub idle_restart: IdleRestart,
    /// A window that the application does not use decays (RFC 2861).
    pub cwnd_validation: bool,
    /// Whether cwnd grows while something other than cwnd limits the sender.
    pub unused_growth: bool,
    /// Whether `cwnd == ssthresh` counts as slow start.
    pub slow_start_at_equality: bool,
    /// Pacing if the congestion control sets no rate; `None` is no pacing.
    pub pacing: Option<Pacing>,
    /// Arithmetic of the retransmission timer.
    pub rto_style: RtoStyle,
    /// RTO before any sample.
    pub rto_initial: Duration,
    /// Floor of the RTO.
    pub rto_min: Duration,
    /// Ceiling of the RTO.
    pub rto_max: Duration,
    /// Clock granularity.
    pub rto_granularity: Duration,
}

/// A system whose defaults a flow uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The RFCs' recommendations.
    Rfc,
    /// Linux 6.1.
    Linux,
    /// ns-2.35.
    Ns2,
}

/// Delayed acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Segments per ACK.
    pub every: u32,
    /// Longest delay.
    pub timeout: Duration,
}

/// Pacing at a multiple of `cwnd / SRTT`, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// While `cwnd < ssthresh / 2`.
    pub slow_start: u32,
    /// Otherwise.
    pub avoidance: u32,
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 6928.
    Rfc6928,
    /// RFC 5681.
    Rfc5681,
    /// This many segments.
    Segments(u32),
}

/// Loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Timer only.
    RtoOnly,
    /// Fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// RFC 2581.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
    /// Forward acknowledgments (Mathis and Mahdavi 1996).
    Fack,
}

/// How a congestion episode reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// At once (RFC 5681, RFC 6675).
    Immediate,
    /// Proportional Rate Reduction (RFC 9937).
    Prr,
    /// The same with Linux's `RecoverFS`.
    PrrLinux,
}

/// What an idle time of more than one RTO does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// Nothing.
    Off,
    /// Down to the restart window (RFC 5681, section 4.1).
    Rfc5681,
    /// Halved for each RTO of idleness, down to the restart window.
    Linux,
}

/// How a receiver echoes CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// On every ACK until CWR arrives (RFC 3168, section 6.1.3).
    UntilCwr,
    /// On exactly the ACKs of marked segments (RFC 8257, section 3.2).
    EachMark,
}

/// Arithmetic of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoStyle {
    /// RFC 6298.
    Rfc6298,
    /// Linux.
    Linux,
    /// ns-2.
    Ns2,
}

/// A value of an algorithm's parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number in the parameter's unit.
    Number(f64),
    /// A word.
    Choice(String),
    /// On or off.
    Switch(bool),
}
