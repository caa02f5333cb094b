//! BBR's model of the path from ACKs: bandwidth, round-trip time, and the phase that follows from them.

use super::policer::Look;
use super::{Bbr, HIGH_GAIN, MIN_SEGMENTS, Mode, UNIT};
use crate::{Ack, Path, RateSample, Window};
use narrows_units::{Duration, Instant, Rate};

/// `bbr_pacing_gain`: one phase probes, one drains, six cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases in which a cycle may begin (`bbr_cycle_rand`): all but the draining one.
const CYCLE_STARTS: u64 = 7;
/// Rounds over which the maximum bandwidth is taken (`bbr_bw_rtts`).
const BW_ROUNDS: u64 = 10;
/// Lifetime of the smallest round-trip time (`bbr_min_rtt_win_sec`).
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
/// Time at the smallest window (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Rounds without a growth of 25 % after which the pipe counts as full (`bbr_full_bw_cnt`).
const FULL_BW_ROUNDS: u32 = 3;
/// `bbr_drain_gain`.
const DRAIN_GAIN: u64 = 88;
/// `bbr_cwnd_gain`.
const CWND_GAIN: u64 = 2 * UNIT;

/// Whether the ACK may have been delayed because it answers a lone segment that is not full (`FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(ack: &Ack, path: &Path) -> bool {
    ack.acked < path.smss && ack.rate.is_some_and(|r| r.tx_inflight < path.smss && r.delivered == ack.delivered)
}

impl Bbr {
    /// Begins the cycle in any phase but the draining one (`bbr_reset_probe_bw_mode`).
    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.cycle = (CYCLE.len() - self.random.below(CYCLE_STARTS) as usize) % CYCLE.len();
        self.cycle_start = now;
    }

    pub(super) fn update_bw(&mut self, ack: &Ack, path: &Path) {
        self.round_start = false;
        let Some(sample) = &ack.rate else { return };
        if sample.prior_delivered >= self.round_end {
            (self.round_end, self.round_start, self.conserving) = (path.delivered, true, false);
            self.rounds += 1;
        }
        self.look_for_policer(!ack.newly_lost.is_zero(), sample.app_limited, path);
        let bw = Rate::of(sample.delivered, sample.interval);
        if !sample.app_limited || bw >= self.max_bw.max() {
            self.max_bw.update(self.rounds, bw, BW_ROUNDS);
        }
    }

    pub(super) fn look_for_policer(&mut self, losses: bool, app_limited: bool, path: &Path) {
        let in_probe_bw = self.mode == Mode::ProbeBw;
        let look = Look { round_start: self.round_start, losses, app_limited, in_probe_bw };
        if self.polices && self.policer.look(look, path) {
            self.enter_probe_bw(path.now);
        }
    }

    pub(super) fn update_aggregation(&mut self, ack: &Ack, path: &Path, win: &Window) {
        if self.aggregates && ack.rate.is_some() {
            self.aggregation.on_ack(ack.delivered, self.bw(), win.cwnd, self.round_start, path);
        }
    }

    /// Whether the present phase of the cycle is over (`bbr_is_next_cycle_phase`).
    pub(super) fn phase_is_over(&self, ack: &Ack, path: &Path, win: &Window) -> bool {
        let full_length = self.min_rtt.is_some_and(|rtt| path.now.since(self.cycle_start) > rtt);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let before = path.inflight + ack.delivered + ack.newly_lost;
        let inflight = self.in_network(before, path, win);
        if self.pacing_gain > UNIT {
            let reached = || inflight >= self.target(self.pacing_gain, path, win);
            return full_length && (!ack.newly_lost.is_zero() || reached());
        }
        full_length || inflight <= self.target(UNIT, path, win)
    }

    pub(super) fn update_cycle(&mut self, ack: &Ack, path: &Path, win: &Window) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack, path, win) {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_start = path.now;
        }
    }

    pub(super) fn check_full_bw(&mut self, sample: Option<&RateSample>) {
        if self.full_bw_reached || !self.round_start || sample.is_some_and(|s| s.app_limited) {
            return;
        }
        let bw = self.max_bw.max();
        if u128::from(bw.as_bps()) * 4 >= u128::from(self.full_bw.as_bps()) * 5 {
            (self.full_bw, self.full_bw_count) = (bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, path: &Path, win: &mut Window) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            win.ssthresh = Some(self.target(UNIT, path, win));
        }
        if self.mode == Mode::Drain && self.in_network(path.inflight, path, win) <= self.target(UNIT, path, win) {
            self.enter_probe_bw(path.now);
        }
    }

    pub(super) fn update_min_rtt(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let expired = path.now > self.min_rtt_at + MIN_RTT_LIFE;
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.is_none_or(|min| rtt < min) || (expired && !maybe_delayed(ack, path)))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), path.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(win);
            (self.mode, self.probe_rtt_done) = (Mode::ProbeRtt, None);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(path, win);
        }
        if ack.rate.is_some_and(|sample| !sample.delivered.is_zero()) {
            self.idle_restart = false;
        }
    }

    /// Waits until four segments are in flight, then for 200 ms and a round.
    pub(super) fn probe_rtt(&mut self, path: &Path, win: &mut Window) {
        if self.probe_rtt_done.is_none() {
            if path.inflight <= path.smss * MIN_SEGMENTS {
                self.probe_rtt_done = Some(path.now + PROBE_RTT_TIME);
                (self.probe_rtt_round_done, self.round_end) = (false, path.delivered);
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(path, win);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, path: &Path, win: &mut Window) {
        if self.probe_rtt_done.is_none_or(|done| path.now <= done) {
            return;
        }
        self.min_rtt_at = path.now;
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(path.now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE.get(self.cycle).copied().unwrap_or(UNIT), CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}
