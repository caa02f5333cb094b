//! The phases of BBR version 3: Startup, Drain, the four of ProbeBW, and ProbeRTT.

use super::settings as set;
use super::{AckPhase, Bbr3, State};
use crate::{Ack, Path, RateSample, Window};
use narrows_units::{Bytes, Duration};

impl Bbr3 {
    pub(super) fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Step 5.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.check_startup_loss(ack, path);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start = self.rounds;
            // Linux records here what it later compares to tell whether cwnd limits the flow.
            win.ssthresh = Some(self.inflight(1.0, path));
        }
    }

    /// Step 6.
    pub(super) fn check_drain(&mut self, path: &Path) {
        if self.state != State::Drain {
            return;
        }
        let late = self.settings.drain_rounds.is_some_and(|rounds| self.rounds > self.drain_start + rounds);
        if late || path.inflight <= self.inflight(1.0, path) {
            self.enter_down(path);
        }
    }

    /// Clears the short-term bounds.
    pub(super) fn reset_short_term(&mut self) {
        (self.bounds.bw_short, self.bounds.inflight_short) = (None, None);
    }

    /// Enters ProbeBW_DOWN, which drains the queue made by probing (BBRStartProbeBW_DOWN).
    pub(super) fn enter_down(&mut self, path: &Path) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (Default::default(), Bytes::ZERO);
        self.up_per_segment = None;
        self.rounds_since_probe = self.random.below(2);
        let (least, most) = set::PROBE_WAIT;
        self.probe_wait = Duration::from_secs_f64(least + (most - least) * self.random.uniform());
        self.cycle_start = path.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(path);
        self.state = State::Down;
    }

    /// Enters ProbeBW_REFILL, which fills the pipe without a queue before the next probe (BBRStartProbeBW_REFILL).
    pub(super) fn enter_refill(&mut self, path: &Path) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked) = (0, Bytes::ZERO);
        self.prev_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(path);
        self.state = State::Refill;
    }

    fn enter_up(&mut self, sample: Option<&RateSample>, path: &Path, win: &Window) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(path);
        self.reset_full_bw(Self::rate_of(sample));
        self.state = State::Up;
        self.raise_slope(path, win);
    }

    /// Doubles the growth of inflight_longterm: 1, 2, 4 .. segments per round.
    fn raise_slope(&mut self, path: &Path, win: &Window) {
        let growth = 1_u64 << self.up_rounds.min(set::MAX_UP_ROUNDS);
        self.up_rounds = (self.up_rounds + 1).min(set::MAX_UP_ROUNDS);
        self.up_per_segment = Some((win.cwnd / growth).max(path.smss));
    }

    /// Whether cwnd, bounded by inflight_longterm, limits the flow.
    fn at_long_term(&self, path: &Path, win: &Window) -> bool {
        path.cwnd_limited && self.bounds.inflight_long.is_some_and(|long| win.cwnd >= long)
    }

    fn grow_long_term(&mut self, ack: &Ack, path: &Path, win: &Window) {
        if !self.at_long_term(path, win) {
            return;
        }
        self.up_acked += ack.delivered;
        if let (Some(per), Some(long)) = (self.up_per_segment, self.bounds.inflight_long)
            && self.up_acked >= per
        {
            let steps = self.up_acked.as_u64() / per.as_u64().max(1);
            self.up_acked = self.up_acked.saturating_sub(per * steps);
            self.bounds.inflight_long = Some(long + path.smss * steps);
        }
        if self.round_start {
            self.raise_slope(path, win);
        }
    }

    /// Updates the ACK phase and the long-term bound (BBRAdaptLongTermModel); `true` if a probe was resumed.
    fn adapt_long_term(&mut self, ack: &Ack, path: &Path, win: &Window) -> bool {
        let sample = ack.rate.as_ref();
        if self.round_start && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.round_start && self.ack_phase == AckPhase::ProbeStopping {
            (self.probe_samples, self.ack_phase) = (false, AckPhase::Init);
            if self.in_probe_bw() && sample.is_some_and(|s| !s.app_limited) {
                self.cycles += 1;
                self.max_bw.advance(self.cycles, set::MAX_BW_CYCLES);
            }
            if self.in_probe_bw() && self.prev_precautionary && !self.prev_too_high {
                self.enter_refill(path);
                return true;
            }
        }
        if let Some(sample) = sample
            && self.marks.too_high()
        {
            if self.probe_samples {
                self.probe_too_high(sample.tx_inflight, sample.app_limited, path, win);
            }
            return false;
        }
        if let (Some(sample), Some(long)) = (sample, self.bounds.inflight_long)
            && !Self::sample_too_high(sample)
        {
            self.bounds.inflight_long = Some(long.max(sample.tx_inflight));
            if self.state == State::Up {
                self.grow_long_term(ack, path, win);
            }
        }
        false
    }

    /// Whether the wait is over or a Reno flow would have grown to this window (BBRIsTimeToProbeBW).
    fn time_to_probe(&self, path: &Path, win: &Window) -> bool {
        let rounds = self.rounds_since_probe;
        let grown = path.smss.max(Bytes::new(1)) * rounds;
        path.now > self.cycle_start + self.probe_wait
            || rounds >= set::COEXIST_ROUNDS
            || self.target_inflight(path, win) <= grown
    }

    fn time_to_cruise(&self, path: &Path) -> bool {
        let room = self.with_headroom(path.smss).is_none_or(|limit| path.inflight <= limit);
        let bdp = self.bdp(self.max_bw.max(), 1.0, path);
        room && path.inflight <= self.quantized(bdp, path.smss)
    }

    /// Whether the probe is complete; one that inflight_longterm limits is not (IsTimeToGoDown).
    ///
    /// The precaution compares what was in flight when the ACK arrived, as google/bbr does (`prior_in_flight`). The
    /// draft does not say which C.inflight it means. After an ACK it is below cwnd, and cwnd is at most
    /// inflight_longterm in this state, so a flow that the bound limits would never stop at it.
    fn time_to_go_down(&mut self, ack: &Ack, path: &Path, win: &Window) -> bool {
        let inflight = path.inflight + ack.delivered + ack.newly_lost;
        let reached = self.bounds.inflight_long.is_some_and(|long| inflight >= long);
        if self.prev_too_high && reached {
            self.prev_precautionary = true;
            return true;
        }
        if self.at_long_term(path, win) {
            self.reset_full_bw(Self::rate_of(ack.rate.as_ref()));
            return false;
        }
        self.full_bw_now
    }

    /// Step 7.
    pub(super) fn update_cycle(&mut self, ack: &Ack, path: &Path, win: &Window) {
        let sample = ack.rate.as_ref();
        if !self.full_bw_reached || self.adapt_long_term(ack, path, win) {
            return;
        }
        let down = self.state == State::Up && self.time_to_go_down(ack, path, win);
        match self.state {
            State::Down | State::Cruise if self.time_to_probe(path, win) => self.enter_refill(path),
            State::Down if self.time_to_cruise(path) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                // From here on, losses belong to the probe.
                self.probe_samples = true;
                self.enter_up(sample, path, win);
            }
            State::Up if down => {
                self.prev_too_high = false;
                self.enter_down(path);
            }
            _ => {}
        }
    }

    /// Step 8.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, path: &Path) {
        self.probe_rtt_expired = path.now > self.probe_rtt_at + set::PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (self.probe_rtt_min.is_none_or(|min| rtt < min) || self.probe_rtt_expired)
        {
            (self.probe_rtt_min, self.probe_rtt_at) = (Some(rtt), path.now);
        }
        let expired = path.now > self.min_rtt_at + set::MIN_RTT_FILTER;
        if let Some(latest) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|min| latest < min))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(latest), self.probe_rtt_at);
        }
    }

    /// Step 9.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // The draft and google/bbr enter the state before they save the window: a larger one saved before stays.
            (self.state, self.probe_rtt_done) = (State::ProbeRtt, None);
            self.save_cwnd(win);
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round(path);
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(path, win);
        }
        if ack.rate.is_some_and(|s| !s.delivered.is_zero()) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, path: &Path, win: &mut Window) {
        if self.probe_rtt_done.is_none() {
            if path.inflight <= self.probe_rtt_cwnd(path) {
                self.probe_rtt_done = Some(path.now + set::PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.start_round(path);
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
        self.probe_rtt_at = path.now;
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.full_bw_reached {
            self.enter_down(path);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
