//! The interface between a connection and an algorithm.

use core::fmt;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// What an algorithm may write: the congestion window, the slow-start threshold and the pacing rate.
///
/// The connection clamps once after each hook: `cwnd` to at least one SMSS and at most the configured limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window (RFC 5681), in bytes.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` is "arbitrarily high" (RFC 5681, section 3.1).
    pub ssthresh: Option<Bytes>,
    /// Rate at which the algorithm wants the connection to send; `None` leaves pacing to the connection's own setting.
    /// The rate in force, whoever set it, is [`Path::pacing_rate`].
    pub pacing_rate: Option<Rate>,
}

impl Window {
    /// Whether the flow is in slow start: `cwnd < ssthresh`. RFC 5681 leaves equality free; Linux, ns-3 and ns-2's own
    /// agents compare as here, ns-2's TCP/Linux agent uses `<=`, which [`Path::slow_start_at_equality`] gives.
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self, path: &Path) -> bool {
        self.is_below_ssthresh(path.slow_start_at_equality)
    }

    /// Whether cwnd is less than ssthresh or, if `at_equality`, equal to it.
    #[inline]
    #[must_use]
    pub fn is_below_ssthresh(&self, at_equality: bool) -> bool {
        self.ssthresh.is_none_or(|s| self.cwnd < s || (at_equality && self.cwnd == s))
    }

    /// How much slow start may still add to cwnd: up to ssthresh, or one segment further where equality is slow start.
    #[inline]
    #[must_use]
    pub fn slow_start_room(&self, path: &Path) -> Bytes {
        let beyond = if path.slow_start_at_equality { path.smss } else { Bytes::ZERO };
        self.ssthresh.map_or(Bytes::MAX, |s| (s + beyond).saturating_sub(self.cwnd))
    }
}

/// The phase of loss recovery, in Linux's terms (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs were seen, fewer than the threshold.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until what was outstanding then is acknowledged.
    Loss,
}

/// How the peer reports ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EcnFeedback {
    /// Not at all.
    #[default]
    Nothing,
    /// That there was a mark, until the sender answers (RFC 3168).
    Classic,
    /// Which ACKs are about marked segments (RFC 8257).
    EachMark,
    /// How many packets and bytes were marked (RFC 9768).
    Accurate,
}

/// What the connection knows about its path; read-only to the algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The present time.
    pub now: Instant,
    /// Sender maximum segment size: payload bytes of a full segment.
    pub smss: Bytes,
    /// Initial window (RFC 6928) of this connection, which is also the restart window's bound.
    pub initial_window: Bytes,
    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time ever sampled.
    pub min_rtt: Option<Duration>,
    /// Present retransmission timeout.
    pub rto: Duration,
    /// Sent and not cumulatively acknowledged (RFC 5681's FlightSize). During [`CongestionControl::on_ack`] it is the
    /// value after the ACK; during [`CongestionControl::on_congestion`] the value when the loss was found, without
    /// what limited transmit added (RFC 5681, section 3.2).
    pub flightsize: Bytes,
    /// The scoreboard's estimate of what is in the network (RFC 6675's pipe).
    pub inflight: Bytes,
    /// Stream offset of the first byte not acknowledged; counts from 0 and never wraps.
    pub snd_una: u64,
    /// Stream offset of the next byte to send for the first time.
    pub snd_nxt: u64,
    /// Bytes delivered over the life of the connection, cumulatively or selectively acknowledged.
    pub delivered: Bytes,
    /// Bytes marked lost over the life of the connection.
    pub lost: Bytes,
    /// Whether cwnd stopped the sender last time (Linux's `is_cwnd_limited`; otherwise RFC 9438 and RFC 7661 do not let
    /// the window grow).
    pub cwnd_limited: bool,
    /// Rate at which the connection paces its segments: the algorithm's own ([`Window::pacing_rate`]) where it set one,
    /// else what the connection's setting gives. `None`: segments leave as ACKs allow.
    pub pacing_rate: Option<Rate>,
    /// Earliest time at which pacing lets the next segment leave (Linux's `tcp_wstamp_ns`). It is `now` or
    /// earlier if nothing waits.
    pub departure: Instant,
    /// Phase of loss recovery; in [`CongestionControl::observe`], the phase before the ACK.
    pub phase: Phase,
    /// What the handshake agreed on for ECN marks; constant over a connection's life.
    pub ecn: EcnFeedback,
    /// Whether `cwnd == ssthresh` counts as slow start too, as in ns-2's TCP/Linux agent (RFC 5681 permits it).
    pub slow_start_at_equality: bool,
}

impl Path {
    /// What growth needs of an ACK of `acked` on this path.
    #[must_use]
    pub fn plain(&self, acked: Bytes) -> PlainAck {
        PlainAck {
            acked,
            now: self.now,
            smss: self.smss,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            cwnd_limited: self.cwnd_limited,
            slow_start_at_equality: self.slow_start_at_equality,
        }
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// The connection's `delivered` when the sampled segment was sent.
    pub prior_delivered: Bytes,
    /// Bytes in flight when that segment was sent, itself included.
    pub tx_inflight: Bytes,
    /// Bytes marked lost between that segment's sending and now.
    pub lost: Bytes,
    /// Whether the application, not the network, limited the sample.
    pub app_limited: bool,
}

/// The timestamps of an ACK in milliseconds modulo 2^32, as Linux's modules read them (`rcv_tsval`, `rcv_tsecr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// TSval: the peer's clock when it sent the ACK, including the peer's timestamp offset.
    pub remote: u32,
    /// TSecr minus our own timestamp offset: our clock when we sent the segment that the ACK answers.
    pub local: u32,
}

/// An acknowledgment that was accepted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Bytes newly acknowledged cumulatively; 0 on a duplicate ACK.
    pub acked: Bytes,
    /// Bytes newly delivered: newly acknowledged cumulatively or by SACK, each byte once.
    pub delivered: Bytes,
    /// Round-trip time sample of this ACK, if it has a valid one (Karn's rule).
    pub rtt: Option<Duration>,
    /// Delivery-rate sample, if valid. Taken only with [`Needs::rates`].
    pub rate: Option<RateSample>,
    /// Whether the ACK is a duplicate by RFC 5681, section 2.
    pub duplicate: bool,
    /// Time that the acknowledged segment took to the receiver, by the timestamps of both ends: the receiver's clock
    /// minus the sender's (TSval - TSecr). It includes the offset between the clocks, so only differences are
    /// meaningful. `None` without timestamps.
    pub one_way_delay: Option<Duration>,
    /// The clocks of both ends, as Linux's modules see them. `None` without timestamps. Given only with
    /// [`Needs::acks`].
    pub clocks: Option<Clocks>,
    /// Bytes of this ACK that the receiver reports as marked CE (all of `delivered` with classic ECN and ECE set).
    pub marked: Bytes,
    /// Bytes that this ACK showed to be lost.
    pub newly_lost: Bytes,
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Payload bytes.
    pub bytes: Bytes,
    /// Whether these bytes had been sent before.
    pub retransmission: bool,
    /// Time since the last transmission if nothing was in flight before this one, else zero.
    pub idle: Duration,
    /// Whether the application, not the network, limits the connection when it is sent.
    pub app_limited: bool,
}

/// A segment that was found lost, with what was known when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Stream offset of its first octet.
    pub start: u64,
    /// Octets of the segment.
    pub bytes: Bytes,
    /// Bytes in flight when it was sent, itself included.
    pub tx_inflight: Bytes,
    /// Bytes marked lost since it was sent, itself included.
    pub lost: Bytes,
    /// Whether the application, not the network, limited the connection when it was sent.
    pub app_limited: bool,
}

/// A congestion event, reported once per window of data (RFC 5681, RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Fast retransmit: loss found by duplicate ACKs or SACK.
    Loss {
        /// Bytes marked lost so far in this episode.
        lost: Bytes,
    },
    /// ECN echo (RFC 3168, section 6.1.2).
    Ecn {
        /// Bytes reported as marked by the ACK.
        marked: Bytes,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Whether this is a further expiry for the same data: `ssthresh` must then stay (RFC 5681, section 3.1).
        repeated: bool,
    },
}

/// What routers on the path ask of the sender, as an endpoint agent decoded it from the headers of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Advice {
    /// Continue as the algorithm does.
    Normal = 1,
    /// Keep the window as it is.
    Freeze = 2,
    /// Go back to the latest smaller window.
    Fallback = 3,
}

/// What an algorithm asks of the connection beyond [`on_ack`](CongestionControl::on_ack) and
/// [`on_congestion`](CongestionControl::on_congestion). An algorithm that asks for nothing costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// [`observe`](CongestionControl::observe) is called.
    pub acks: bool,
    /// Where ACKs have no timestamps, [`on_plain_ack`](CongestionControl::on_plain_ack) does what
    /// [`observe`](CongestionControl::observe) does too. Means nothing without `acks`.
    pub observes_plainly: bool,
    /// [`Ack::rate`] is taken, at the cost of a timestamp on every segment.
    pub rates: bool,
    /// [`on_lost`](CongestionControl::on_lost) is called.
    pub losses: bool,
    /// [`on_sent`](CongestionControl::on_sent) is called for transmissions with other data in flight too.
    pub sending: bool,
    /// The algorithm sets the window in Cwr and Recovery too (BBR; Linux's `cong_control`). Nothing else sets it then:
    /// there is no reduction in steps, no cap at the end of recovery and no restart after idle time, and an undo
    /// restores nothing but calls [`on_undo`](CongestionControl::on_undo).
    pub window_in_recovery: bool,
    /// A loss in a window that an ECN echo has reduced already is reported too. By default the echo covers it (RFC
    /// 3168, section 6.1.2). DCTCP reduces by less for an echo, and a loss must count as one (Linux; RFC 8257, 3.5).
    pub loss_after_echo: bool,
}

/// An ACK that delivers data while nothing is suspicious: what growth in congestion avoidance needs of [`Ack`] and
/// [`Path`]. Filling those in costs more than the growth.
#[derive(Clone, Copy, Debug)]
pub struct PlainAck {
    /// [`Ack::acked`].
    pub acked: Bytes,
    /// [`Path::now`].
    pub now: Instant,
    /// [`Path::smss`].
    pub smss: Bytes,
    /// [`Path::srtt`].
    pub srtt: Option<Duration>,
    /// [`Path::min_rtt`].
    pub min_rtt: Option<Duration>,
    /// [`Path::cwnd_limited`].
    pub cwnd_limited: bool,
    /// [`Path::slow_start_at_equality`].
    pub slow_start_at_equality: bool,
}

/// A congestion control algorithm.
///
/// Call order for one ACK: [`observe`](Self::observe), [`on_lost`](Self::on_lost) for each segment found lost,
/// [`on_advice`](Self::on_advice) if it carries advice, then [`on_congestion`](Self::on_congestion) if it shows
/// congestion, then [`on_ack`](Self::on_ack). `on_ack` is called for ACKs that deliver data in the phases Open,
/// Disorder and Loss. In Cwr and Recovery the recovery's reduction step sets the window, unless
/// [`Needs::window_in_recovery`] says that the algorithm does.
pub trait CongestionControl: fmt::Debug + Send {
    /// What the algorithm asks of the connection; constant over its life.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The connection is established; `win` holds the initial window, and `path` has the handshake's round-trip time if
    /// that was measured.
    fn on_start(&mut self, _path: &Path, _win: &mut Window) {}

    /// Observes every ACK that is not old, in any phase and including duplicates, before any decision. Algorithms
    /// measure here (Linux's `pkts_acked` and `in_ack_event`, in this order). `path` is the state after the ACK, except
    /// for [`Path::phase`], which is the phase before it: the ACK that ends a recovery still belongs to it, and the ACK
    /// that begins a recovery does not yet. Called only with [`Needs::acks`], and not for an ACK that
    /// [`on_plain_ack`](Self::on_plain_ack) takes.
    fn observe(&mut self, _ack: &Ack, _path: &Path) {}

    /// Handles a segment that was found lost. Called only with [`Needs::losses`].
    fn on_lost(&mut self, _lost: &LostSegment, _path: &Path, _win: &mut Window) {}

    /// Grows (or moves) the window on an ACK that delivered data.
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window);

    /// Does [`on_ack`](Self::on_ack) for an ACK in the phase Open, by less; returns `false`, with nothing changed, if
    /// that needs more than `ack` has. An algorithm that needs no more than this in congestion avoidance saves the
    /// connection the work of filling in [`Ack`] and [`Path`]. Not called if the algorithm
    /// [needs](Needs) more, but for [`Needs::observes_plainly`].
    fn on_plain_ack(&mut self, _ack: &PlainAck, _win: &mut Window) -> bool {
        false
    }

    /// Reduces the window: sets `ssthresh`, and sets `cwnd` to its value after recovery (after a timeout: to its value
    /// from now on, one SMSS by RFC 5681). Recovery inflates the window or phases in the reduction.
    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window);

    /// Handles a transmission: every one with [`Needs::sending`], otherwise only one that ends an idle time.
    fn on_sent(&mut self, _sent: &Sent, _path: &Path, _win: &mut Window) {}

    /// The last congestion event was spurious; `win` is already restored to the larger of its values now and before the
    /// event.
    fn on_undo(&mut self, _path: &Path, _win: &mut Window) {}

    /// Handles advice that routers give to the sender.
    fn on_advice(&mut self, _advice: Advice, _path: &Path, _win: &mut Window) {}

    /// The window was set by something other than this algorithm and the connection's recovery: a scheme's decorator
    /// made it fall back. `win` is the window now. An algorithm whose growth follows a curve in time or its own copy of
    /// cwnd (CUBIC, BIC, H-TCP ..) begins a new epoch here and keeps its memory of losses, so that it grows on from
    /// `win` and does not jump back. An algorithm that only adds to cwnd has nothing to do.
    fn on_window_set(&mut self, _path: &Path, _win: &Window) {}

    /// Recovery has ended and the connection is Open again.
    fn on_recovered(&mut self, _path: &Path, _win: &mut Window) {}

    /// Whether the algorithm holds the flow back on purpose (BBR's ProbeRTT). Rate samples of segments sent now then do
    /// not measure the path, and the connection marks them as limited by the application. Called after each
    /// [`on_ack`](Self::on_ack), only with [`Needs::window_in_recovery`].
    fn holds_back(&self) -> bool {
        false
    }

    /// The largest window that growth may reach for a sender whose flight was at most `flight`: what the ACKs of one
    /// window of that size would give (limit(maxFS) of draft-ietf-ccwg-ratelimited-increase-11, section 3). Twice the
    /// flight in slow start, otherwise a segment more than it. Asked only where the connection's setting is that rule.
    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        if win.in_slow_start(path) { flight + flight } else { flight + path.smss }
    }

    /// Whether the reduction of the last congestion event is made at once, even if the connection would spread it over
    /// the recovery (PRR). Asked after [`on_congestion`](Self::on_congestion).
    fn reduces_at_once(&self) -> bool {
        false
    }

    /// Reports the present value of each variable by name. Names, units and meanings stand in the algorithm's row
    /// ([`Row::variables`](crate::Row::variables)); which of them are reported is constant over its life.
    fn state(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// The congestion control of an end that sends no data. It leaves the window as it is, and takes no memory.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl CongestionControl for Silent {
    fn on_ack(&mut self, _ack: &Ack, _path: &Path, _win: &mut Window) {}

    fn on_congestion(&mut self, _event: &Congestion, _path: &Path, _win: &mut Window) {}
}
