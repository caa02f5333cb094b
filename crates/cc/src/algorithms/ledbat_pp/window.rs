//! The rules of LEDBAT++ for a window, whoever owns it: a sender's cwnd, or a receiver's window (rLEDBAT, RFC 9840).

use crate::Window;
use crate::delays::Delays;
use crate::growth::Fraction;
use narrows_units::{Bytes, Duration, Instant};

/// Smallest window, in segments.
pub const MIN_WINDOW: u64 = 2;

/// Largest divisor of GAIN.
const MOST_DIVISOR: f64 = 16.0;

/// How many times a slowdown's duration passes before the next one, so that slowdowns take a tenth of the time.
const GAP: u64 = 9;

/// The values of LEDBAT++.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// TARGET, the queuing delay that the flow aims at.
    pub target: Duration,
    /// Constant of the multiplicative decrease.
    pub constant: f64,
    /// Minutes that the base round-trip time comes from.
    pub base_history: usize,
    /// Round-trip times whose smallest is the current one.
    pub filter: usize,
    /// Whether there are slowdowns.
    pub slowdowns: bool,
}

impl Default for Settings {
    /// The draft's values: 60 ms, 1, 10 minutes, 4 samples, with slowdowns.
    fn default() -> Self {
        Self { target: Duration::from_millis(60), constant: 1.0, base_history: 10, filter: 4, slowdowns: true }
    }
}

/// What the flow does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stage {
    /// The initial slow start.
    #[default]
    Start = 0,
    /// Congestion avoidance, and slow start after a timeout.
    Avoidance = 1,
    /// A slowdown: two segments for two round-trip times.
    Frozen = 2,
    /// Slow start back to the window before the slowdown.
    Regrowth = 3,
}

impl Stage {
    /// The words of the stages, by number.
    pub const WORDS: &'static [&'static str] = &["Start", "Avoidance", "Frozen", "Regrowth"];
}

/// Data that arrived at its destination.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The present time.
    pub now: Instant,
    /// Bytes of it.
    pub bytes: Bytes,
    /// Size of a full segment.
    pub smss: Bytes,
    /// Smoothed round-trip time, if known.
    pub srtt: Option<Duration>,
    /// Whether the window may grow, because it limits the flow.
    pub may_grow: bool,
}

/// LEDBAT++ for one window. The owner keeps the window and hands it over with each event.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    settings: Settings,
    delays: Delays,
    carry: Fraction,
    stage: Stage,
    /// When the present or last slowdown began.
    entered: Instant,
    /// End of the frozen time.
    until: Instant,
    /// When the next slowdown is due; `None` before the initial slow start has ended, and in a slowdown.
    next: Option<Instant>,
    /// Duration of the last slowdown.
    lasted: Duration,
    slowdowns: u64,
    /// Until when another multiplicative decrease would be of the same round trip.
    decreased: Instant,
}

impl LedbatPp {
    /// A flow before its first round-trip time.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            delays: Delays::new(settings.base_history, settings.filter),
            settings,
            carry: Fraction::default(),
            stage: Stage::Start,
            entered: Instant::ZERO,
            until: Instant::ZERO,
            next: None,
            lasted: Duration::ZERO,
            slowdowns: 0,
            decreased: Instant::ZERO,
        }
    }

    /// Adds a round-trip time sample.
    pub fn sample(&mut self, rtt: Duration, now: Instant) {
        self.delays.sample(i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX), now);
    }

    /// The base round-trip time; `None` before a sample.
    #[must_use]
    pub fn base(&self) -> Option<Duration> {
        self.delays.base().map(|base| Duration::from_nanos(u64::try_from(base).unwrap_or(0)))
    }

    /// The queuing delay; `None` before a sample.
    #[must_use]
    pub fn queuing(&self) -> Option<Duration> {
        self.delays.queuing()
    }

    /// GAIN, `1 / min(16, ceil(2 TARGET / base))`: growth in segments per round-trip time, and the share of slow
    /// start's growth. Without a sample it is the smallest.
    #[must_use]
    pub fn gain(&self) -> f64 {
        let base = self.base().map_or(0.0, Duration::as_secs_f64);
        let twice = 2.0 * self.settings.target.as_secs_f64();
        // Rounding in the last place must not make a quotient of whole numbers a larger one.
        let divisor = if base > 0.0 { (twice / base - 1e-9).ceil() } else { MOST_DIVISOR };
        1.0 / divisor.clamp(1.0, MOST_DIVISOR)
    }

    /// What the flow does.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Slowdowns so far.
    #[must_use]
    pub fn slowdowns(&self) -> u64 {
        self.slowdowns
    }

    /// Duration of the last slowdown that has ended: from its beginning until the window was regrown; zero before one.
    #[must_use]
    pub fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Moves the window after a delivery.
    pub fn on_delivery(&mut self, data: &Delivery, win: &mut Window) {
        if self.stage == Stage::Frozen {
            win.cwnd = win.cwnd.min(data.smss * MIN_WINDOW);
            if data.now < self.until {
                return;
            }
            self.stage = Stage::Regrowth;
        }
        let below = win.is_below_ssthresh(false);
        if !below && self.settings.slowdowns && self.next.is_some_and(|next| data.now >= next) {
            self.slow_down(data, win);
            return;
        }
        if below && !self.leaves_start(win) {
            self.slow_start(data, win);
            if win.is_below_ssthresh(false) {
                return;
            }
            self.settle(data);
        } else {
            self.settle(data);
            self.avoid(data, win);
        }
    }

    /// The threshold that a loss leaves: half of the window, which in a slowdown is the one before it.
    #[must_use]
    pub fn reduced(&self, smss: Bytes, win: &Window) -> Bytes {
        let window = match (self.stage, win.ssthresh) {
            (Stage::Frozen, Some(before)) => before.max(win.cwnd),
            _ => win.cwnd,
        };
        (window / 2).max(smss * MIN_WINDOW)
    }

    /// A loss, an ECN echo or a timeout has reduced the window.
    pub fn on_reduced(&mut self, now: Instant, srtt: Option<Duration>) {
        self.carry.reset();
        let srtt = srtt.unwrap_or(Duration::ZERO);
        self.decreased = now + srtt;
        if self.stage == Stage::Start {
            self.end_start(now, srtt);
        }
    }

    /// Whether the initial slow start ends at this queuing delay, of more than 3/4 TARGET. The window is then the
    /// threshold. A later slow start is bounded by ssthresh alone.
    fn leaves_start(&self, win: &mut Window) -> bool {
        let most = self.settings.target.as_secs_f64() * 0.75;
        let leaves = self.stage == Stage::Start && self.queuing().is_some_and(|queuing| queuing.as_secs_f64() > most);
        if leaves {
            win.ssthresh = Some(win.cwnd);
        }
        leaves
    }

    /// The initial slow start has ended: the first slowdown follows after two round-trip times.
    fn end_start(&mut self, now: Instant, srtt: Duration) {
        self.stage = Stage::Avoidance;
        self.next = Some(now + srtt * 2);
    }

    /// Notes that the window has reached ssthresh.
    fn settle(&mut self, data: &Delivery) {
        match self.stage {
            Stage::Start => self.end_start(data.now, data.srtt.unwrap_or(Duration::ZERO)),
            Stage::Regrowth => {
                self.lasted = data.now.since(self.entered);
                self.stage = Stage::Avoidance;
                self.next = Some(data.now + self.lasted * GAP);
            }
            Stage::Avoidance | Stage::Frozen => {}
        }
    }

    /// Begins a slowdown: ssthresh keeps the window, which becomes two segments for two round-trip times.
    fn slow_down(&mut self, data: &Delivery, win: &mut Window) {
        win.ssthresh = Some(win.cwnd.max(data.smss * MIN_WINDOW));
        win.cwnd = win.cwnd.min(data.smss * MIN_WINDOW);
        self.carry.reset();
        self.stage = Stage::Frozen;
        self.entered = data.now;
        self.until = data.now + data.srtt.unwrap_or(Duration::ZERO) * 2;
        self.next = None;
        self.slowdowns += 1;
    }

    /// Slow start with GAIN: `cwnd += GAIN * acked`, up to ssthresh.
    fn slow_start(&mut self, data: &Delivery, win: &mut Window) {
        if !data.may_grow {
            return;
        }
        let gain = self.gain();
        self.carry.add(gain * data.bytes.as_f64(), win);
        if let Some(ssthresh) = win.ssthresh.filter(|ssthresh| *ssthresh < win.cwnd) {
            win.cwnd = ssthresh;
            self.carry.reset();
        }
    }

    /// Congestion avoidance: GAIN segments per round-trip time up to TARGET; above it, once per round-trip time,
    /// `W += max(GAIN - constant * W * (delay / TARGET - 1), -W/2)`.
    fn avoid(&mut self, data: &Delivery, win: &mut Window) {
        let target = self.settings.target.as_secs_f64();
        let queuing = self.queuing().unwrap_or(Duration::ZERO).as_secs_f64();
        let (window, smss) = (win.cwnd.as_f64().max(1.0), data.smss.as_f64());
        let gain = self.gain() * smss;
        if queuing <= target {
            if data.may_grow {
                self.carry.add(gain * data.bytes.as_f64() / window, win);
            }
        } else if data.now >= self.decreased {
            let step = (gain - self.settings.constant * window * (queuing / target - 1.0)).max(-window / 2.0);
            if step < 0.0 || data.may_grow {
                self.carry.shift(step, win);
            }
            self.decreased = data.now + data.srtt.unwrap_or(Duration::ZERO);
        }
        if win.cwnd < data.smss * MIN_WINDOW {
            win.cwnd = data.smss * MIN_WINDOW;
            self.carry.reset();
        }
        // A threshold above the window would be slow start.
        win.ssthresh = win.ssthresh.map(|ssthresh| ssthresh.min(win.cwnd)).or(Some(win.cwnd));
    }
}
