//! How far cwnd grows, and what becomes of it, while something other than cwnd limits the sender: the rules besides
//! Linux's, which [`usage`](crate::usage) has.
//!
//! | rule | grows | otherwise |
//! |---|---|---|
//! | `max_flight` (draft-ietf-ccwg-ratelimited-increase-11) | up to limit(maxFS) | |
//! | `rfc7661` (RFC 7661) | in the validated phase | a loss leaves half of what is in use; five minutes halve it |
//!
//! RFC 7661 names the phases: a window is validated if pipeACK, the most that was acknowledged in a round-trip time of
//! late, is at least half of it (section 4.3). pipeACK is undefined at the beginning and after a recovery, and the
//! window then counts as validated. pipeACK is the largest of the samples of max(3 RTT, 1 s), the pipeACK sampling
//! period (section 4.2); a sample is what is acknowledged from one ACK to the first that is a round-trip time later
//! (section 4.5.1).
//!
//! The draft's maxFS is the largest FlightSize since cwnd last decreased, at first the initial window. FlightSize is
//! largest when the sender stops, so it is looked at then.

use narrows_cc::windowed::MaxFilter;
use narrows_settings::{Config, RateLimited};
use narrows_units::{Duration, Instant};

/// NVP: how long a window may stay without validation (RFC 7661, section 4.4).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Shortest pipeACK sampling period (RFC 7661, section 4.2).
const MIN_SAMPLING_PERIOD: Duration = Duration::from_secs(1);

/// A rule that is not Linux's.
#[derive(Debug)]
pub(crate) enum Limits {
    /// draft-ietf-ccwg-ratelimited-increase.
    MaxFlight(MaxFlight),
    /// RFC 7661.
    Validation(Validation),
}

impl Limits {
    /// The rule of the settings, for an initial window of `initial` bytes; `None` where [`crate::usage`] has it.
    pub(crate) fn new(config: &Config, initial: u64) -> Option<Box<Self>> {
        match config.rate_limited {
            RateLimited::CwndLimited | RateLimited::Unlimited => None,
            RateLimited::MaxFlight => Some(Box::new(Self::MaxFlight(MaxFlight { largest: initial, cwnd: 0 }))),
            RateLimited::Rfc7661 => Some(Box::new(Self::Validation(Validation::default()))),
        }
    }

    /// Whether a window of `cwnd` may grow although cwnd did not stop the sender.
    pub(crate) fn lets_grow(&self, cwnd: u64) -> bool {
        match self {
            Self::MaxFlight(_) => true,
            Self::Validation(validation) => validation.is_validated(cwnd),
        }
    }

    /// RFC 7661's state, if that is the rule.
    pub(crate) fn validation(&mut self) -> Option<&mut Validation> {
        match self {
            Self::MaxFlight(_) => None,
            Self::Validation(validation) => Some(validation),
        }
    }

    /// The sender stops with `flight` bytes in flight and a window of `cwnd`.
    pub(crate) fn on_stop(&mut self, flight: u64, cwnd: u64) {
        if let Self::MaxFlight(rule) = self {
            rule.on_stop(flight, cwnd);
        }
    }
}

/// maxFS.
#[derive(Debug)]
pub(crate) struct MaxFlight {
    /// maxFS, bytes.
    pub(crate) largest: u64,
    /// cwnd at the last stop.
    cwnd: u64,
}

impl MaxFlight {
    fn on_stop(&mut self, flight: u64, cwnd: u64) {
        // A decrease, for whatever reason, forgets the flights before it.
        if cwnd < self.cwnd {
            self.largest = 0;
        }
        self.cwnd = cwnd;
        self.largest = self.largest.max(flight);
    }
}

/// What RFC 7661 knows of the path's use.
#[derive(Debug, Default)]
pub(crate) struct Validation {
    /// pipeACK; `None` is undefined.
    pipe_ack: Option<u64>,
    samples: MaxFilter<u64>,
    /// The sample that is being taken: when it began, and SND.UNA then.
    sample: Option<(Instant, u64)>,
    /// Since when the window is not validated.
    since: Option<Instant>,
    /// The loss that is being recovered from.
    loss: Option<Loss>,
}

/// A congestion event in the non-validated phase.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// `max(pipeACK, LossFlightSize)`.
    used: u64,
    /// Bytes that had been deemed lost before it.
    lost: u64,
}

impl Validation {
    /// Whether a window of `cwnd` is validated (section 4.3).
    pub(crate) fn is_validated(&self, cwnd: u64) -> bool {
        self.pipe_ack.is_none_or(|pipe| pipe >= cwnd / 2)
    }

    /// Takes note of SND.UNA after an ACK outside recovery; returns whether the window has been without validation for
    /// so long that it is halved now.
    pub(crate) fn on_ack(&mut self, una: u64, cwnd: u64, srtt: Option<Duration>, now: Instant) -> bool {
        let Some(srtt) = srtt else { return false };
        let (began, from) = *self.sample.get_or_insert((now, una));
        if now.since(began) >= srtt {
            let period = (srtt * 3).max(MIN_SAMPLING_PERIOD);
            let at = now.since(Instant::ZERO).as_micros();
            self.pipe_ack = Some(self.samples.update(at, una.saturating_sub(from), period.as_micros()));
            self.sample = Some((now, una));
        }
        self.is_overdue(cwnd, now)
    }

    /// Whether a window of `cwnd` has been without validation for the NVP; a new period then begins.
    pub(crate) fn is_overdue(&mut self, cwnd: u64, now: Instant) -> bool {
        if self.is_validated(cwnd) {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let overdue = now.since(since) >= NON_VALIDATED_PERIOD;
        if overdue {
            self.since = Some(now);
        }
        overdue
    }

    /// A congestion event with `flight` bytes in flight and a window of `cwnd` before it: returns what was in use if
    /// the window was not validated (section 4.4.1). `lost`: bytes deemed lost before the event.
    pub(crate) fn on_congestion(&mut self, cwnd: u64, flight: u64, lost: u64) -> Option<u64> {
        if self.is_validated(cwnd) {
            return None;
        }
        let used = self.pipe_ack.unwrap_or(0).max(flight);
        self.loss = Some(Loss { used, lost });
        Some(used)
    }

    /// A timeout: the window begins again at one segment, whatever was in use.
    pub(crate) fn on_timeout(&mut self) {
        self.loss = None;
    }

    /// Recovery has ended: returns the window to go on with if the event was in the non-validated phase (section
    /// 4.4.1). `lost`: bytes deemed lost so far. pipeACK becomes undefined.
    pub(crate) fn on_recovered(&mut self, lost: u64) -> Option<u64> {
        (self.pipe_ack, self.sample, self.since) = (None, None, None);
        self.samples = MaxFilter::default();
        let loss = self.loss.take()?;
        // R: what recovery found lost and sent again.
        Some(loss.used.saturating_sub(lost.saturating_sub(loss.lost)) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    #[test]
    fn max_flight_starts_at_the_initial_window_and_forgets_at_a_decrease() {
        let mut rule = MaxFlight { largest: 10_000, cwnd: 0 };
        rule.on_stop(4_000, 10_000);
        assert_eq!(rule.largest, 10_000, "appendix A, round 1");
        rule.on_stop(20_000, 20_000);
        assert_eq!(rule.largest, 20_000, "round 4");
        rule.on_stop(6_000, 10_000);
        assert_eq!(rule.largest, 6_000, "reset, then the first flight after the reduction");
        rule.on_stop(2_000, 10_000);
        assert_eq!(rule.largest, 6_000);
    }

    #[test]
    fn pipe_ack_is_the_largest_sample_of_the_period() {
        let mut validation = Validation::default();
        assert!(validation.is_validated(1 << 30), "undefined");
        validation.on_ack(0, 80_000, RTT, at(0));
        validation.on_ack(10_000, 80_000, RTT, at(99));
        assert_eq!(validation.pipe_ack, None, "less than a round-trip time");
        validation.on_ack(40_000, 80_000, RTT, at(100));
        assert_eq!(validation.pipe_ack, Some(40_000));
        assert!(validation.is_validated(80_000) && !validation.is_validated(80_002));
        validation.on_ack(45_000, 80_000, RTT, at(200));
        assert_eq!(validation.pipe_ack, Some(40_000), "within a second");
        validation.on_ack(50_000, 80_000, RTT, at(1_101));
        assert_eq!(validation.pipe_ack, Some(5_000), "the sampling period is max(3 RTT, 1 s)");
        let far = Some(Duration::from_millis(500));
        validation.on_ack(51_000, 80_000, far, at(2_200));
        assert_eq!(validation.pipe_ack, Some(5_000), "1.5 s");
    }

    #[test]
    fn a_loss_without_validation_reduces_to_half_of_what_was_used() {
        let mut validation = Validation { pipe_ack: Some(12_000), ..Validation::default() };
        assert_eq!(validation.on_congestion(24_000, 8_000, 0), None, "validated");
        assert_eq!(validation.on_congestion(80_000, 8_000, 3_000), Some(12_000));
        assert_eq!(validation.on_recovered(5_000), Some(5_000), "(12000 - 2000) / 2");
        assert_eq!(validation.pipe_ack, None, "undefined again");
        assert_eq!(validation.on_recovered(5_000), None);
    }

    #[test]
    fn five_minutes_without_validation_are_the_longest() {
        let mut validation = Validation { pipe_ack: Some(1_000), ..Validation::default() };
        assert!(!validation.is_overdue(80_000, at(0)));
        assert!(!validation.is_overdue(80_000, at(299_999)));
        assert!(validation.is_overdue(80_000, at(300_000)));
        assert!(!validation.is_overdue(40_000, at(300_001)), "a new period");
        assert!(!validation.is_overdue(2_000, at(400_000)), "validated");
        assert!(!validation.is_overdue(80_000, at(600_001)), "a new period");
    }
}
