//! What can be looked at: counters, a snapshot, and the path as congestion control sees it.

use super::Connection;
use crate::assist::Assist;
use crate::ecn::AccurateEcn;
use crate::recovery::{Clock, Tail};
use crate::stats::{Info, State, Stats};
use narrows_cc::{CongestionControl, Path, Phase};
use narrows_settings::RateLimited;
use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::Ip;

impl Connection {
    /// In-order payload bytes received so far, read or not.
    #[inline]
    #[must_use]
    pub fn delivered_to_app(&self) -> Bytes {
        Bytes::new(self.rx.delivered())
    }

    /// Whether the peer's FIN and all its data have arrived.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.rx.is_finished()
    }

    /// Bytes written and not sent yet; [`Bytes::MAX`] minus what was sent for an endless stream.
    #[inline]
    #[must_use]
    pub fn unsent(&self) -> Bytes {
        Bytes::new(self.tx.unsent())
    }

    /// Bytes written and cumulatively acknowledged.
    #[inline]
    #[must_use]
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.tx.acked())
    }

    /// State by RFC 9293.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// When the connection ended prematurely: it was given up after [`Config::max_retries`](crate::Config::max_retries)
    /// timeouts in a row, or the peer reset it (RFC 9293, sections 3.8.3 and 3.10.7). `None` otherwise, after
    /// [`abort`](Self::abort) too. A RST once both sides have closed is not premature.
    #[must_use]
    pub fn aborted_at(&self) -> Option<Instant> {
        self.stats.aborted_at()
    }

    /// Counters.
    #[inline]
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats.all()
    }

    /// A snapshot.
    #[must_use]
    pub fn info(&self) -> Info {
        let win = &self.congestion.win;
        Info {
            cwnd: self.cwnd(),
            ssthresh: win.ssthresh,
            pacing_rate: self.pacer.rate(win),
            srtt: self.rto.srtt(),
            rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            rttvar: self.rto.rttvar(),
            rto: self.rto.current(),
            rwnd: Bytes::new(self.tx.window()),
            flightsize: Bytes::new(self.tx.board.flight()),
            inflight: Bytes::new(self.tx.board.pipe()),
            delivered: Bytes::new(self.rate.delivered()),
            smss: Bytes::new(self.smss),
            phase: self.phase(),
            agreement: self.agreement,
            sack: self.sack,
            timestamps: self.ts.on,
        }
    }

    /// The latest round-trip time sample, unless an earlier call returned it.
    #[inline]
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.rtt.take()
    }

    /// The counters of AccECN, where the handshake agreed on it.
    #[must_use]
    pub fn accurate_ecn(&self) -> Option<AccurateEcn> {
        self.ecn.accurate()
    }

    /// The congestion control.
    #[must_use]
    pub fn cc(&self) -> &dyn CongestionControl {
        self.congestion.algorithm()
    }

    /// The end-point part of a scheme, if there is one.
    #[must_use]
    pub fn assist(&self) -> Option<&dyn Assist> {
        self.assist.as_deref()
    }

    /// Reports the variables that the receiving half keeps where a control bounds its window
    /// ([`narrows_settings::RLEDBAT_VARIABLES`]); nothing without one.
    pub fn receiver_state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.rx.rledbat_state(visit);
    }

    /// Whether the network header is IPv6.
    pub(super) fn is_ipv6(&self) -> bool {
        matches!(self.ip, Ip::V6(_))
    }

    /// Where recovery and the episode stand.
    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.episode.phase(self.recovery.phase())
    }

    /// The usable window: that of the reduction step, or the congestion control's.
    #[inline]
    pub(super) fn cwnd(&self) -> Bytes {
        self.episode.cwnd(&self.congestion.win)
    }

    /// The path as congestion control sees it; `flightsize` is an argument because its meaning depends on the event.
    pub(super) fn path(&self, flightsize: u64, now: Instant) -> Path {
        self.path_in(self.phase(), flightsize, now)
    }

    /// The path in the given phase.
    #[inline]
    pub(super) fn path_in(&self, phase: Phase, flightsize: u64, now: Instant) -> Path {
        let tx = &self.tx;
        let win = &self.congestion.win;
        Path {
            now,
            smss: Bytes::new(self.smss),
            initial_window: Bytes::new(u64::from(self.initial_window)),
            srtt: self.rto.srtt(),
            min_rtt: self.rtt.min(),
            rto: self.rto.current(),
            flightsize: Bytes::new(flightsize),
            inflight: Bytes::new(tx.board.pipe()),
            snd_una: tx.una,
            snd_nxt: tx.nxt,
            delivered: Bytes::new(self.rate.delivered()),
            lost: Bytes::new(self.rate.lost()),
            cwnd_limited: self.is_cwnd_limited(),
            pacing_rate: self.pacer.rate(win),
            departure: self.pacer.due(),
            phase,
            ecn: self.ecn.feedback(),
            slow_start_at_equality: self.config.slow_start_at_equality,
        }
    }

    /// Whether cwnd stopped the sender last time, or the window may grow without that.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        (self.config.rate_limited != RateLimited::CwndLimited && self.grows_anyway())
            || self.tx.usage.is_limited(&self.congestion.win, self.config.slow_start_at_equality)
    }

    /// Whether the window may grow although cwnd did not stop the sender.
    #[cold]
    fn grows_anyway(&self) -> bool {
        let cwnd = self.congestion.win.cwnd.as_u64();
        self.congestion.limits.as_ref().is_none_or(|limits| limits.lets_grow(cwnd))
    }

    /// The time, and what the reordering window is computed from, for recovery.
    #[inline]
    pub(super) fn clock(&self, now: Instant) -> Clock {
        Clock { now, srtt: self.rto.srtt(), min_rtt: self.rtt.min(), latest_rtt: self.rtt.latest() }
    }

    /// What recovery's probe timeout is computed from.
    #[inline]
    pub(super) fn tail(&self) -> Tail {
        Tail {
            srtt: self.rto.srtt(),
            rto_at: self.timers.rto,
            rto: self.rto.current(),
            rto_min: self.config.rto.min,
            head_sent_at: self.tx.board.head().map(|head| head.sent_at),
            single: self.tx.board.is_single(),
        }
    }
}
