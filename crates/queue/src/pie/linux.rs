//! The controller in Linux's integer arithmetic: `net/sched/sch_pie.c` and `include/net/pie.h`, Linux 6.1.

use super::PieConfig;
use super::control::{Departure, Report};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant};

/// The probability 1: `MAX_PROB`.
const CERTAIN: u64 = u64::MAX >> 8;

/// Ticks of a second: a tick (`PSCHED_NS2TICKS`) is 64 ns.
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> 6;

/// Delay above which the probability rises faster, in ticks.
const HIGH_DELAY: u64 = TICKS_PER_SECOND / 4;

/// Bytes of a measurement of the dequeue rate: `QUEUE_THRESHOLD`.
const THRESHOLD: u64 = 16_384;

/// The state of one queue; the table is in the head of `pie.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    probability: u64,
    accumulated: u64,
    delay: u64,
    delay_old: u64,
    burst: u64,
    /// The latest departure, or with the estimator the start of the measurement.
    left_at: Option<u64>,
    /// Bytes of the present measurement.
    departed: Option<u64>,
    /// Average rate in bytes per 256 ticks; 0 before the first measurement.
    rate: u64,
}

/// A time in ticks.
const fn ticks(nanos: u64) -> u64 {
    nanos >> 6
}

/// A gain as `tc` takes it: in sixteenths of a hertz.
fn sixteenths(gain: f64) -> u64 {
    (gain * 16.0).round() as u64
}

impl State {
    pub(super) const fn new(config: &PieConfig) -> Self {
        Self {
            probability: 0,
            accumulated: 0,
            delay: 0,
            delay_old: 0,
            burst: ticks(config.max_burst.as_nanos()),
            left_at: None,
            departed: None,
            rate: 0,
        }
    }

    /// Forgets what was measured, and renews the burst allowance (`pie_vars_init`).
    fn restart(&mut self, config: &PieConfig) {
        let Self { probability, delay, delay_old, .. } = *self;
        *self = Self { probability, delay, delay_old, ..Self::new(config) };
    }

    /// Whether an arriving packet is hit (`pie_drop_early`).
    pub(super) fn hits(&mut self, config: &PieConfig, size: Bytes, backlog: Bytes, chance: &mut Stream) -> bool {
        let spared = self.delay < ticks(config.target.as_nanos()) / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || spared || backlog < config.mtu * 2 {
            return false;
        }
        let scaled = if config.bytemode && size <= config.mtu {
            size.as_u64() * (self.probability / config.mtu.as_u64().max(1))
        } else {
            self.probability
        };
        if config.derandomize {
            self.accumulated = if scaled == 0 { 0 } else { self.accumulated.wrapping_add(scaled) };
            if self.accumulated < CERTAIN / 100 * 85 {
                return false;
            }
            if self.accumulated >= CERTAIN / 2 * 17 {
                return true;
            }
        }
        let hit = chance.next_u64() >> 8 < scaled;
        if hit {
            self.accumulated = 0;
        }
        hit
    }

    /// Whether the probability is low enough for marks.
    pub(super) fn may_mark(&self, config: &PieConfig) -> bool {
        self.probability <= (CERTAIN as f64 * config.mark_ecnth.as_f64()) as u64
    }

    pub(super) const fn on_drop(&mut self) {
        self.accumulated = 0;
    }

    /// Measures delay or rate (`pie_process_dequeue`).
    pub(super) fn on_departure(&mut self, config: &PieConfig, departure: Departure, now: Instant) {
        let now = ticks(now.as_nanos());
        let passed = if config.dq_rate_estimator {
            self.measure(departure, now)
        } else {
            let waited = now - ticks(departure.enqueued.as_nanos()).min(now);
            self.delay = if departure.backlog.is_zero() { 0 } else { waited };
            let last = self.left_at.replace(now).unwrap_or(now);
            now - last.min(now)
        };
        self.burst = self.burst.saturating_sub(passed);
    }

    /// Measures the rate; the time of the measurement if one ends here, and otherwise 0.
    fn measure(&mut self, departure: Departure, now: u64) -> u64 {
        let backlog = departure.backlog.as_u64();
        if self.departed.is_none() && backlog >= THRESHOLD {
            (self.left_at, self.departed) = (Some(now), Some(0));
        }
        let (Some(departed), Some(since)) = (self.departed, self.left_at) else { return 0 };
        let departed = departed + departure.size.as_u64();
        self.departed = Some(departed);
        let time = now - since.min(now);
        if departed < THRESHOLD || time == 0 {
            return 0;
        }
        let rate = (departed << 8) / time;
        self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
        if backlog < THRESHOLD {
            self.departed = None;
        } else {
            (self.left_at, self.departed) = (Some(now), Some(0));
        }
        time
    }

    /// Updates the probability (`pie_calculate_probability`); whether this is a fixed point.
    pub(super) fn update(&mut self, config: &PieConfig, backlog: Bytes) -> bool {
        let before = self.clone();
        let low = ticks(config.target.as_nanos()) / 2;
        let estimated = config.dq_rate_estimator;
        if estimated {
            self.delay_old = self.delay;
            self.delay = (backlog.as_u64() << 8).checked_div(self.rate).unwrap_or(0);
        }
        self.move_probability(config);
        // A delay of 0 with a backlog comes from a very short queue, not from an idle one.
        let idle = self.delay == 0 && self.delay_old == 0 && backlog.is_zero();
        if idle {
            self.probability -= self.probability / 64;
        }
        let uncongested = self.delay < low && self.delay_old < low && self.probability == 0;
        if uncongested && (!estimated || self.rate > 0) {
            self.restart(config);
        }
        if !estimated {
            self.delay_old = self.delay;
        }
        backlog.is_zero() && *self == before
    }

    /// Adds the controller's step. A sum above what 64 bits hold becomes `MAX_PROB`; it never comes from an idle queue.
    fn move_probability(&mut self, config: &PieConfig) {
        let (alpha, beta) = self.gains(config);
        // Differences and products are those of unsigned numbers in Linux; their sum is taken as a signed one.
        let from_target = self.delay.wrapping_sub(ticks(config.target.as_nanos()));
        let growth = self.delay.wrapping_sub(self.delay_old);
        let mut step = alpha.wrapping_mul(from_target).wrapping_add(beta.wrapping_mul(growth)) as i64;
        let most = (CERTAIN / 50) as i64;
        if step > most && self.probability >= CERTAIN / 10 {
            step = (CERTAIN / 100 * 2) as i64;
        }
        if self.delay > HIGH_DELAY {
            step = step.wrapping_add(most);
        }
        let moved = self.probability.wrapping_add(step as u64);
        let (overflow, underflow) = (step > 0 && moved < self.probability, step <= 0 && moved > self.probability);
        self.probability = match (overflow, underflow) {
            (true, _) => CERTAIN,
            (_, true) => 0,
            _ => moved,
        };
    }

    /// The gains alpha and beta, in probability per tick. They fall with the probability (RFC 8033, section 4.2).
    fn gains(&self, config: &PieConfig) -> (u64, u64) {
        let [alpha, beta] =
            [config.alpha, config.beta].map(|gain| (sixteenths(gain) * (CERTAIN / TICKS_PER_SECOND)) >> 4);
        // Linux's loop shifts by 1 below 1/10, and by 2 more below each of 10^-2 to 10^-6.
        let below = [100, 1_000, 10_000, 100_000, 1_000_000].iter().take_while(|&&n| self.probability < CERTAIN / n);
        let shift = if self.probability < CERTAIN / 10 { 1 + 2 * below.count() } else { 0 };
        (alpha >> shift, beta >> shift)
    }

    pub(super) fn report(&self, config: &PieConfig) -> Report {
        let seconds = |ticks: u64| Duration::from_nanos(ticks.saturating_mul(64)).as_secs_f64();
        let share = |sum: u64| sum as f64 / CERTAIN as f64;
        let rate =
            if config.dq_rate_estimator { self.rate as f64 / 256.0 * TICKS_PER_SECOND as f64 * 8.0 } else { 0.0 };
        Report {
            probability: share(self.probability).min(1.0),
            delay: seconds(self.delay),
            burst: seconds(self.burst),
            accumulated: share(self.accumulated),
            rate,
        }
    }
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
