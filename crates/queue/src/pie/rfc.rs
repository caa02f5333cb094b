//! The controller as RFC 8033 has it.

use super::PieConfig;
use super::control::{Departure, Report};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Rate};

/// Bytes of a measurement of the dequeue rate: DQ_THRESHOLD (section 5.2).
const THRESHOLD: Bytes = Bytes::new(1 << 14);

/// The probability below which that of an idle queue counts as 0: Linux's resolution. Without it, a queue with an
/// `alpha` of 0 would decay forever.
const NEGLIGIBLE: f64 = 1.0 / (1_u64 << 56) as f64;

/// The state of one queue; the table is in the head of `pie.rs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    probability: f64,
    delay: Duration,
    delay_old: Duration,
    burst: Duration,
    accumulated: f64,
    /// When the present measurement began.
    since: Option<Instant>,
    departed: Bytes,
    /// Average time in which [`THRESHOLD`] departs; 0 before the first measurement.
    drain_time: Duration,
}

impl State {
    pub(super) const fn new(config: &PieConfig) -> Self {
        Self {
            probability: 0.0,
            delay: Duration::ZERO,
            delay_old: Duration::ZERO,
            burst: config.max_burst,
            accumulated: 0.0,
            since: None,
            departed: Bytes::ZERO,
            drain_time: Duration::ZERO,
        }
    }

    pub(super) fn measuring_since(self, now: Instant) -> Self {
        Self { since: Some(now), ..self }
    }

    /// Whether the congestion is over: no probability, and low delays (section 4.4).
    fn is_uncongested(&self, config: &PieConfig) -> bool {
        let low = config.target / 2;
        self.probability <= 0.0 && self.delay < low && self.delay_old < low
    }

    /// Whether an arriving packet is hit: sections 4.4, 4.1 and 5.4, in this order.
    pub(super) fn hits(&mut self, config: &PieConfig, size: Bytes, backlog: Bytes, chance: &mut Stream) -> bool {
        if self.is_uncongested(config) {
            self.burst = config.max_burst;
        }
        let spared = self.delay_old < config.target / 2 && self.probability < 0.2;
        if !self.burst.is_zero() || spared || backlog <= config.mtu * 2 {
            return false;
        }
        let scaled = if config.bytemode && size <= config.mtu {
            self.probability * (size.as_f64() / config.mtu.as_f64())
        } else {
            self.probability
        };
        if config.derandomize {
            if self.probability <= 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += scaled;
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let due = config.derandomize && self.accumulated >= 8.5;
        let hit = due || chance.chance(scaled);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Whether the probability is low enough for marks (section 5.1).
    pub(super) fn may_mark(&self, config: &PieConfig) -> bool {
        self.probability < config.mark_ecnth.as_f64()
    }

    pub(super) const fn on_drop(&mut self) {
        self.accumulated = 0.0;
    }

    pub(super) fn on_departure(&mut self, config: &PieConfig, departure: Departure, now: Instant) {
        let Departure { size, enqueued, backlog } = departure;
        if !config.dq_rate_estimator {
            self.delay = if backlog.is_zero() { Duration::ZERO } else { now.since(enqueued) };
            return;
        }
        if let Some(since) = self.since {
            self.departed += size;
            if self.departed >= THRESHOLD {
                self.average(now.since(since));
                self.since = None;
            }
        }
        if self.since.is_none() && backlog >= THRESHOLD {
            (self.since, self.departed) = (Some(now), Bytes::ZERO);
        }
    }

    /// Averages the time of a measurement, with a weight of DQ_THRESHOLD / 2^16 = 1/4 (appendix B).
    fn average(&mut self, time: Duration) {
        self.drain_time = if self.drain_time.is_zero() { time } else { (self.drain_time * 3 + time) / 4 };
    }

    /// Updates the probability (section 4.2 with 5.5); whether this is a fixed point.
    pub(super) fn update(&mut self, config: &PieConfig, backlog: Bytes) -> bool {
        if config.dq_rate_estimator {
            self.delay = self.drain_time * backlog.as_u64() / THRESHOLD.as_u64();
        }
        let (delay, delay_old) = (self.delay.as_secs_f64(), self.delay_old.as_secs_f64());
        let step = config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - delay_old);
        let mut step = step / tuning(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        let mut moved = self.probability + step;
        let idle = self.delay.is_zero() && self.delay_old.is_zero();
        if idle {
            moved *= 0.98;
        }
        self.probability = if idle && moved < NEGLIGIBLE { 0.0 } else { moved.clamp(0.0, 1.0) };
        self.delay_old = self.delay;
        self.burst = Duration::from_nanos(self.burst.as_nanos().saturating_sub(config.tupdate.as_nanos()));
        let settled = backlog.is_zero() && self.probability <= 0.0 && self.delay.is_zero();
        if settled {
            // What the next arrival would do first.
            self.burst = config.max_burst;
        }
        settled
    }

    /// Whether a packet that passes an empty queue changes nothing.
    pub(super) fn rests(&self, config: &PieConfig) -> bool {
        self.probability <= 0.0
            && self.delay.is_zero()
            && self.delay_old.is_zero()
            && self.burst == config.max_burst
            && self.since.is_none()
    }

    pub(super) fn report(&self) -> Report {
        let rate = if self.drain_time.is_zero() { Rate::ZERO } else { Rate::of(THRESHOLD, self.drain_time) };
        Report {
            probability: self.probability,
            delay: self.delay.as_secs_f64(),
            burst: self.burst.as_secs_f64(),
            accumulated: self.accumulated,
            rate: rate.as_bps() as f64,
        }
    }
}

/// The divisor of steps at this probability: the lower it is, the smaller are the steps (section 4.2).
fn tuning(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
#[path = "rfc_tests.rs"]
mod tests;
