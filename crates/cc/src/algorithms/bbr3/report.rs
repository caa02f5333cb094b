//! The variables that BBR version 3 reports, under the draft's names.

use super::{Bbr3, State};
use narrows_units::{Bytes, Duration, Rate, Variable};

/// The row's variables, in the order in which they are visited.
pub(super) const VARIABLES: &[Variable] = &[
    Variable::state(
        "phase",
        "State: 0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, 6 ProbeRTT.",
        &["Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT"],
    ),
    Variable::state(
        "ack_phase",
        "ack_phase: 0 init, 1 refilling, 2 probe starting, 3 probe feedback, 4 probe stopping.",
        &["init", "refilling", "probe starting", "probe feedback", "probe stopping"],
    ),
    Variable::new("bw_bps", "bit/s", "bw, the bandwidth in use: max_bw, bounded by bw_shortterm."),
    Variable::new("max_bw_bps", "bit/s", "max_bw, the maximum of two probing cycles."),
    Variable::new("bw_shortterm_bps", "bit/s", "bw_shortterm, the bound after recent losses; 0 without one."),
    Variable::new(
        "inflight_shortterm_bytes",
        "bytes",
        "inflight_shortterm, the bound after recent losses; 0 without one.",
    ),
    Variable::new(
        "inflight_longterm_bytes",
        "bytes",
        "inflight_longterm, the bound that a probe found too high; 0 without one.",
    ),
    Variable::new(
        "min_rtt_s",
        "s",
        "min_rtt, the smallest round-trip time of the last ten seconds; 0 before a sample.",
    ),
    Variable::new("pacing_gain", "", "Pacing rate divided by the bandwidth."),
    Variable::new("cwnd_gain", "", "Window divided by the bandwidth-delay product."),
    Variable::new("rounds", "rounds", "round_count, the rounds since the start."),
    Variable::new("full_bw_reached", "", "1 once Startup has found the full bandwidth, else 0."),
    Variable::new("extra_acked_bytes", "bytes", "Allowance in the window for ACK aggregation."),
    Variable::new(
        "ecn_alpha",
        "",
        "ecn_alpha, the moving average of the share of marked bytes; 1 before marks are used.",
    ),
    Variable::new("bw_latest_bps", "bit/s", "bw_latest, the largest delivery rate of this loss round."),
    Variable::new(
        "inflight_latest_bytes",
        "bytes",
        "inflight_latest, the most delivered in a sample of this loss round.",
    ),
    Variable::new("loss_in_round", "", "is_loss_in_round: 1 if this loss round had a loss or a mark, else 0."),
    Variable::new(
        "bdp_bytes",
        "bytes",
        "bdp, the product of bw and min_rtt; the initial window before a round-trip time.",
    ),
    Variable::new("inflight_1_bytes", "bytes", "Inflight(1.0): bdp, but at least offload_budget and four segments."),
    Variable::new(
        "inflight_with_headroom_bytes",
        "bytes",
        "InflightWithHeadroom(): inflight_longterm less 15 %, at least four segments; 0 without a bound.",
    ),
    Variable::new("max_inflight_bytes", "bytes", "max_inflight, what cwnd grows to where no bound is lower."),
    Variable::new(
        "send_quantum_bytes",
        "bytes",
        "send_quantum, a millisecond at the pacing rate, 2 segments to 64 KiB.",
    ),
    Variable::new("full_bw_bps", "bit/s", "full_bw, the delivery rate that a round has to exceed by 25 %."),
    Variable::new("full_bw_count", "rounds", "full_bw_count, the rounds since then that did not."),
    Variable::new("full_bw_now", "", "full_bw_now: 1 once three rounds did not, until the next probe, else 0."),
    Variable::new("drain_start_round", "rounds", "drain_start_round, the round in which Drain began; 0 before."),
    Variable::new(
        "idle_restart",
        "",
        "idle_restart: 1 from the first transmission after idle time to its first ACK, else 0.",
    ),
    Variable::new(
        "probe_rtt_min_delay_s",
        "s",
        "probe_rtt_min_delay, the smallest round-trip time of the last five seconds; 0 before a sample.",
    ),
    Variable::new("probe_rtt_min_stamp_s", "s", "probe_rtt_min_stamp, when that was taken."),
    Variable::new(
        "probe_rtt_expired",
        "",
        "probe_rtt_expired: 1 if the ACK found probe_rtt_min_delay too old, else 0.",
    ),
    Variable::new(
        "bw_probe_wait_s",
        "s",
        "bw_probe_wait, the longest time from ProbeBW_DOWN to the next ProbeBW_REFILL.",
    ),
    Variable::new("cycle_stamp_s", "s", "cycle_stamp, when the present cycle's ProbeBW_DOWN began."),
    Variable::new("rounds_since_probe_up", "rounds", "rounds_since_probe_up, plus the 0 or 1 drawn at ProbeBW_DOWN."),
    Variable::new(
        "bw_probe_up_rounds",
        "rounds",
        "bw_probe_up_rounds, the rounds in which this probe raised the bound.",
    ),
    Variable::new(
        "probe_up_acked_per_inc_bytes",
        "bytes",
        "probe_up_acked_per_inc, the ACKed data per segment added to inflight_longterm; 0 while it does not grow.",
    ),
    Variable::new("bw_probe_sample", "", "is_bw_probe_sample: 1 while ACKs answer a probe, else 0."),
    Variable::new("prev_probe_too_high", "", "prev_probe_too_high: 1 if the last probe lost too much, else 0."),
    Variable::new(
        "prev_probe_precautionary",
        "",
        "prev_probe_precautionary: 1 if the last probe stopped at the bound, else 0.",
    ),
    Variable::state(
        "undo_state",
        "undo_state: the state that the latest losses ended: 0 none, 1 Startup, 2 ProbeBW_UP.",
        &["None", "Startup", "ProbeBW_UP"],
    ),
    Variable::new("undo_bw_shortterm_bps", "bit/s", "undo_bw_shortterm, the bound before them; 0 without one."),
    Variable::new(
        "undo_inflight_shortterm_bytes",
        "bytes",
        "undo_inflight_shortterm, the bound before them; 0 without one.",
    ),
    Variable::new(
        "undo_inflight_longterm_bytes",
        "bytes",
        "undo_inflight_longterm, the bound before them; 0 without one.",
    ),
];

/// Values that only [`Bbr3::report`] reads, from the latest ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    pub(super) smss: Bytes,
    pub(super) initial_window: Bytes,
    /// BBR.max_inflight.
    pub(super) max_inflight: Bytes,
}

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

fn bytes(bytes: Option<Bytes>) -> f64 {
    bytes.map_or(0.0, Bytes::as_f64)
}

fn rate(rate: Option<Rate>) -> f64 {
    rate.map_or(0.0, |rate| rate.as_bps() as f64)
}

impl Bbr3 {
    /// Visits every variable of [`VARIABLES`].
    pub(super) fn report(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let (pacing_gain, cwnd_gain) = self.gains();
        visit("phase", f64::from(self.state as u8));
        visit("ack_phase", f64::from(self.ack_phase as u8));
        visit("bw_bps", rate(Some(self.bw)));
        visit("max_bw_bps", rate(Some(self.max_bw.max())));
        visit("bw_shortterm_bps", rate(self.bounds.bw_short));
        visit("inflight_shortterm_bytes", bytes(self.bounds.inflight_short));
        visit("inflight_longterm_bytes", bytes(self.bounds.inflight_long));
        visit("min_rtt_s", self.min_rtt.map_or(0.0, Duration::as_secs_f64));
        visit("pacing_gain", pacing_gain);
        visit("cwnd_gain", cwnd_gain);
        visit("rounds", self.rounds as f64);
        visit("full_bw_reached", flag(self.full_bw_reached));
        visit("extra_acked_bytes", self.allowance().as_f64());
        visit("ecn_alpha", self.marks.alpha());
        self.report_model(visit);
        self.report_probes(visit);
        self.report_undo(visit);
    }

    fn report_model(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let smss = self.latest.smss;
        let bdp = self.bdp_from(self.bw, 1.0, self.latest.initial_window);
        visit("bw_latest_bps", rate(Some(self.bw_latest)));
        visit("inflight_latest_bytes", self.inflight_latest.as_f64());
        visit("loss_in_round", flag(self.loss_in_round));
        visit("bdp_bytes", bdp.as_f64());
        visit("inflight_1_bytes", self.quantized(bdp, smss).as_f64());
        visit("inflight_with_headroom_bytes", bytes(self.with_headroom(smss)));
        visit("max_inflight_bytes", self.latest.max_inflight.as_f64());
        visit("send_quantum_bytes", self.send_quantum.as_f64());
        visit("full_bw_bps", rate(Some(self.full_bw)));
        visit("full_bw_count", f64::from(self.full_bw_count));
        visit("full_bw_now", flag(self.full_bw_now));
        visit("drain_start_round", self.drain_start as f64);
    }

    fn report_probes(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("idle_restart", flag(self.idle_restart));
        visit("probe_rtt_min_delay_s", self.probe_rtt_min.map_or(0.0, Duration::as_secs_f64));
        visit("probe_rtt_min_stamp_s", self.probe_rtt_at.as_secs_f64());
        visit("probe_rtt_expired", flag(self.probe_rtt_expired));
        visit("bw_probe_wait_s", self.probe_wait.as_secs_f64());
        visit("cycle_stamp_s", self.cycle_start.as_secs_f64());
        visit("rounds_since_probe_up", self.rounds_since_probe as f64);
        visit("bw_probe_up_rounds", f64::from(self.up_rounds));
        visit("probe_up_acked_per_inc_bytes", bytes(self.up_per_segment));
        visit("bw_probe_sample", flag(self.probe_samples));
        visit("prev_probe_too_high", flag(self.prev_too_high));
        visit("prev_probe_precautionary", flag(self.prev_precautionary));
    }

    fn report_undo(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let state = match self.undo.state {
            None => 0.0,
            Some(State::Startup) => 1.0,
            Some(_) => 2.0,
        };
        visit("undo_state", state);
        visit("undo_bw_shortterm_bps", rate(self.undo.bounds.bw_short));
        visit("undo_inflight_shortterm_bytes", bytes(self.undo.bounds.inflight_short));
        visit("undo_inflight_longterm_bytes", bytes(self.undo.bounds.inflight_long));
    }
}
