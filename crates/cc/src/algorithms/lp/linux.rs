//! TCP-LP as in Linux 6.1 (`net/ipv4/tcp_lp.c`): arithmetic with the 32-bit milliseconds of two clocks.
//!
//! The module takes the peer's TSval and the echo of its own, both in unsigned milliseconds. It estimates the rate of
//! the peer's clock from one pair of stamps after another. The estimate divides 1000 in integers: up to 500 Hz the
//! peer's stamp counts twice or more, up to 1000 Hz once, and above 1000 Hz *not at all*. The smoothed delay is kept
//! times 8 in 32 bits, so it wraps at 2^29 ms.

use super::Cut;
use crate::growth::{self, ByteCounter};
use crate::{Ack, Clocks, Congestion, CongestionControl, Needs, Path, Phase, Window};
use narrows_units::Instant;

/// Units per second (`LP_RESOL`, `TCP_TS_HZ`).
const HZ: u32 = 1000;

/// The module's variables (`struct lp`), in milliseconds modulo 2^32.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// Smoothed one-way delay, times 8.
    sowd: u32,
    min: u32,
    max: u32,
    reserve: u32,
    /// Estimated rate of the peer's clock in Hz.
    remote_hz: u32,
    /// Timestamps of the last sample.
    reference: Clocks,
}

impl Delays {
    const NONE: Self =
        Self { sowd: 0, min: u32::MAX, max: 0, reserve: 0, remote_hz: 0, reference: Clocks { remote: 0, local: 0 } };

    /// Adds a pair of timestamps to the estimate of the peer's clock rate (`tcp_lp_remote_hz_estimator`).
    fn estimate_hz(&mut self, clocks: Clocks) {
        let last = core::mem::replace(&mut self.reference, clocks);
        let (remote, local) = (clocks.remote.wrapping_sub(last.remote), clocks.local.wrapping_sub(last.local));
        if last.remote == 0 || last.local == 0 || remote == 0 || local == 0 {
            return;
        }
        let measured = i64::from(HZ.wrapping_mul(remote) / local);
        let scaled = i64::from(self.remote_hz << 6);
        let scaled = if scaled > 0 { scaled + measured - (scaled >> 6) } else { measured << 6 };
        // The kernel keeps the lower half.
        self.remote_hz = (scaled >> 6) as u32;
    }

    /// The delay that a pair of timestamps shows (`tcp_lp_owd_calculator`); `None` if it is not valid.
    fn delay(&mut self, clocks: Clocks) -> Option<u32> {
        self.estimate_hz(clocks);
        let scale = HZ.checked_div(self.remote_hz)?;
        let delay = clocks.remote.wrapping_mul(scale).wrapping_sub(clocks.local);
        (delay > 0).then_some(delay)
    }

    /// Adds a sample (`tcp_lp_rtt_sample`).
    fn sample(&mut self, clocks: Clocks) {
        let Some(delay) = self.delay(clocks) else { return };
        self.min = self.min.min(delay);
        if delay > self.max {
            if delay > self.reserve {
                self.max = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.max = delay;
            }
        }
        self.sowd =
            if self.sowd == 0 { delay << 3 } else { self.sowd.wrapping_add(delay).wrapping_sub(self.sowd >> 3) };
    }

    /// The smoothed delay from which an early indication is given, at `percent` of the range.
    fn threshold(&self, percent: u32) -> u32 {
        self.min.wrapping_add(percent.wrapping_mul(self.max.wrapping_sub(self.min)) / 100)
    }
}

/// TCP-LP by Linux 6.1; see the module's page.
#[derive(Clone, Debug)]
pub struct LpLinux {
    /// delta in percent.
    percent: u32,
    /// Length of the inference phase in round-trip times.
    rounds: f64,
    counter: ByteCounter,
    delays: Delays,
    /// When the window was last reduced, and the length of the inference phase, in ms.
    last_drop: u32,
    inference: u32,
    /// Whether the inference phase is running.
    frozen: bool,
    /// Reduction that the last indication asks for, pending until a hook may change the window.
    cut: Option<Cut>,
}

/// The kernel's clock in milliseconds.
fn millis(now: Instant) -> u32 {
    // Truncation implements the wrap of the clock.
    now.since(Instant::ZERO).as_millis() as u32
}

impl LpLinux {
    /// TCP-LP with this share of the range as the threshold and this length of the inference phase.
    #[must_use]
    pub fn new(delta: f64, rounds: f64) -> Self {
        Self {
            percent: (delta * 100.0 + 0.5) as u32,
            rounds,
            counter: ByteCounter::default(),
            delays: Delays::NONE,
            last_drop: 0,
            inference: 0,
            frozen: false,
            cut: None,
        }
    }

    /// Applies the reduction that the last indication asked for.
    fn apply_cut(&mut self, path: &Path, win: &mut Window) {
        if let Some(cut) = self.cut.take() {
            cut.apply(path, win);
        }
    }
}

impl CongestionControl for LpLinux {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        let now = millis(path.now);
        if let Some(clocks) = ack.clocks {
            if ack.rtt.is_some_and(|rtt| rtt.as_micros() > 0) {
                self.delays.sample(clocks);
            }
            let since = now.wrapping_sub(clocks.local);
            if since.cast_signed() > 0 {
                self.inference = (f64::from(since) * self.rounds) as u32;
            }
        }
        self.frozen = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        let delays = &mut self.delays;
        if delays.sowd == 0 || delays.sowd >> 3 < delays.threshold(self.percent) {
            return;
        }
        delays.min = delays.sowd >> 3;
        (delays.max, delays.reserve) = (delays.sowd >> 2, delays.sowd >> 2);
        // In Cwr and Recovery the reduction step sets the window again on the same ACK.
        if matches!(path.phase, Phase::Open | Phase::Disorder | Phase::Loss) {
            self.cut = Some(if self.frozen { Cut::ToOne } else { Cut::Half });
        }
        self.last_drop = now;
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.apply_cut(path, win);
        if !ack.acked.is_zero() && !self.frozen && growth::may_grow(path) {
            growth::linux_reno(&mut self.counter, ack.delivered, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        // The kernel has already reduced the window when it looks for losses.
        self.apply_cut(path, win);
        growth::answer(event, path, win, |win| growth::reduced_segments(win.cwnd, 512, 2, path));
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |millis: u32| f64::from(millis) / f64::from(HZ);
        visit("smoothed_delay", seconds(self.delays.sowd >> 3));
        visit("min_delay", seconds(self.delays.min));
        visit("max_delay", seconds(self.delays.max));
        visit("threshold", seconds(self.delays.threshold(self.percent)));
        visit("remote_hz", f64::from(self.delays.remote_hz));
        visit("inference", f64::from(u8::from(self.frozen)));
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
