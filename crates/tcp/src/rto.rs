//! The retransmission timeout: RFC 6298, and the arithmetic of Linux and ns-2.
//!
//! | | RFC 6298 | Linux | ns-2 |
//! |---|---|---|---|
//! | unit | ns | us, SRTT * 8, deviation * 4 | ticks of G, SRTT * 8, RTTVAR * 4 |
//! | floor | on the RTO | on the variance term: RTO >= SRTT + min | on the RTO |
//! | falling RTT | as rising | raises the deviation by an eighth of the usual step | as rising |
//! | samples | every ACK, gains divided (RFC 7323, appendix G) | every ACK | once per window without timestamps |

use narrows_settings::{Config, RtoStyle};
use narrows_units::Duration;
use std::sync::Arc;

/// State of the sender when a sample is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleContext {
    /// FlightSize in segments, for the expected number of samples per round trip.
    pub(crate) flight_segments: u64,
    /// First octet not acknowledged.
    pub(crate) snd_una: u64,
    /// Next octet to send.
    pub(crate) snd_nxt: u64,
}

#[derive(Clone, Copy, Debug)]
enum Estimate {
    /// No sample yet.
    None,
    /// Nanoseconds.
    Rfc { srtt: u64, rttvar: u64 },
    /// Microseconds, scaled by 8, 4, 4 and 4.
    Linux { srtt8: u64, mdev4: u64, mdev_max: u64, rttvar: u64, window_end: u64 },
    /// Ticks, scaled by 8 and 4.
    Ns2 { srtt8: u64, rttvar4: u64 },
}

/// The largest backoff exponent; every sensible RTO has reached its ceiling there.
const MAX_BACKOFF: u32 = 32;

/// The retransmission timeout of a connection.
#[derive(Debug)]
pub(crate) struct Rto {
    config: Arc<Config>,
    estimate: Estimate,
    /// Timeout without backoff.
    base: Duration,
    backoff: u32,
}

impl Rto {
    /// An estimator without samples.
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self { estimate: Estimate::None, base: config.rto.initial, backoff: 0, config }
    }

    /// With these settings, for tests.
    #[cfg(test)]
    pub(crate) fn of(rto: narrows_settings::RtoConfig) -> Self {
        Self::new(Arc::new(Config { rto, ..Config::default() }))
    }

    /// The timeout in force, backoff included.
    #[inline]
    pub(crate) fn current(&self) -> Duration {
        if self.backoff == 0 {
            return self.base;
        }
        (self.base * (1 << self.backoff)).min(self.config.rto.max).max(self.base.min(self.config.rto.max))
    }

    /// Whether there was a sample.
    pub(crate) fn has_sample(&self) -> bool {
        !matches!(self.estimate, Estimate::None)
    }

    /// Smoothed round-trip time.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        match self.estimate {
            Estimate::None => None,
            Estimate::Rfc { srtt, .. } => Some(Duration::from_nanos(srtt)),
            Estimate::Linux { srtt8, .. } => Some(Duration::from_micros(srtt8 >> 3)),
            Estimate::Ns2 { srtt8, .. } => Some(self.config.rto.granularity * srtt8 / 8),
        }
    }

    /// Variation of the round-trip time; in Linux's arithmetic a quarter of its `rttvar`.
    pub(crate) fn rttvar(&self) -> Option<Duration> {
        match self.estimate {
            Estimate::None => None,
            Estimate::Rfc { rttvar, .. } => Some(Duration::from_nanos(rttvar)),
            Estimate::Linux { rttvar, .. } => Some(Duration::from_micros(rttvar) / 4),
            Estimate::Ns2 { rttvar4, .. } => Some(self.config.rto.granularity * rttvar4 / 4),
        }
    }

    /// Times that the timeout is doubled.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Doubles the timeout (RFC 6298, rule 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// Ends the backoff after a retransmitted SYN; without a sample the timeout is at least 3 s (RFC 6298, rule 5.7).
    pub(crate) fn restart_after_lost_syn(&mut self) {
        self.backoff = 0;
        if !self.has_sample() && self.config.rto.style == RtoStyle::Rfc6298 {
            self.base = self.base.max(Duration::from_secs(3));
        }
    }

    /// Ends the backoff: something new arrived.
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Takes a valid round-trip time sample, which also ends the backoff.
    #[inline(always)]
    pub(crate) fn on_sample(&mut self, rtt: Duration, context: &SampleContext) {
        self.backoff = 0;
        match self.config.rto.style {
            RtoStyle::Rfc6298 => self.sample_rfc(rtt.as_nanos(), context),
            RtoStyle::Linux => self.sample_linux(rtt.as_micros().max(1), *context),
            RtoStyle::Ns2 => self.sample_ns2(rtt),
        }
    }

    #[inline(always)]
    fn sample_rfc(&mut self, r: u64, context: &SampleContext) {
        let (srtt, rttvar) = match self.estimate {
            Estimate::Rfc { srtt, rttvar } => {
                // Appendix G of RFC 7323: about one ACK per two segments comes each round trip.
                let expected = context.flight_segments.div_ceil(2).max(1);
                let deviation = srtt.abs_diff(r);
                (toward(srtt, r, 8 * expected), toward(rttvar, deviation, 4 * expected))
            }
            _ => (r, r / 2),
        };
        self.estimate = Estimate::Rfc { srtt, rttvar };
        let term = (4 * rttvar).max(self.config.rto.granularity.as_nanos());
        self.base = Duration::from_nanos(srtt.saturating_add(term)).max(self.config.rto.min).min(self.config.rto.max);
    }

    #[inline(never)]
    fn sample_linux(&mut self, m: u64, context: SampleContext) {
        let floor = self.config.rto.min.as_micros();
        let Estimate::Linux { mut srtt8, mut mdev4, mut mdev_max, mut rttvar, mut window_end } = self.estimate else {
            let rttvar = (2 * m).max(floor);
            self.estimate =
                Estimate::Linux { srtt8: 8 * m, mdev4: 2 * m, mdev_max: rttvar, rttvar, window_end: context.snd_nxt };
            self.base = Duration::from_micros(m + rttvar).min(self.config.rto.max);
            return;
        };
        let (srtt, step) = (srtt8 >> 3, mdev4 >> 2);
        if m >= srtt {
            srtt8 += m - srtt;
            mdev4 = mdev4 + (m - srtt) - step;
        } else {
            let deviation = srtt - m;
            srtt8 -= deviation;
            // A falling RTT that raises the deviation does so at an eighth of the gain.
            mdev4 = if deviation > step { mdev4 + ((deviation - step) >> 3) } else { mdev4 + deviation - step };
        }
        if mdev4 > mdev_max {
            mdev_max = mdev4;
            rttvar = rttvar.max(mdev_max);
        }
        if context.snd_una > window_end {
            rttvar -= rttvar.saturating_sub(mdev_max) >> 2;
            window_end = context.snd_nxt;
            mdev_max = floor;
        }
        self.estimate = Estimate::Linux { srtt8, mdev4, mdev_max, rttvar, window_end };
        self.base = Duration::from_micros((srtt8 >> 3) + rttvar).min(self.config.rto.max);
    }

    #[inline(never)]
    fn sample_ns2(&mut self, rtt: Duration) {
        let tick = self.config.rto.granularity.as_nanos().max(1);
        let m = ((rtt.as_nanos() + tick / 2) / tick).max(1);
        let (srtt8, rttvar4) = match self.estimate {
            Estimate::Ns2 { srtt8, rttvar4 } => {
                let srtt = srtt8 >> 3;
                let deviation = m.abs_diff(srtt);
                ((srtt8 + m - srtt).max(1), (rttvar4 + deviation - (rttvar4 >> 2)).max(1))
            }
            _ => (m << 3, m << 1),
        };
        self.estimate = Estimate::Ns2 { srtt8, rttvar4 };
        let ticks = ((rttvar4 << 3) + srtt8) >> 3;
        self.base = (self.config.rto.granularity * ticks).max(self.config.rto.min).min(self.config.rto.max);
    }
}

/// Moves `from` towards `to` by one part in `parts` of the distance.
#[inline]
fn toward(from: u64, to: u64, parts: u64) -> u64 {
    if to >= from { from + (to - from) / parts } else { from - (from - to) / parts }
}
