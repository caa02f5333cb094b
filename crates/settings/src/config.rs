//! All settings of one end of a connection, and the defaults of the RFCs.

use crate::{
    Burst, CarefulResume, DelayedAck, EcnEcho, IdleRestart, InitialWindow, LinuxVersion, Misbehavior, Pacing,
    RateLimited, ReceiverCc, RecoveryKind, RecoveryStyle, Reduction, RtoConfig, RtoStyle, SlowStart,
};
use narrows_units::{Bytes, Duration};

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
