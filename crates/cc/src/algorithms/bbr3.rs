//! BBR version 3: BBR with bounds that losses set, and probes far apart.
//!
//! # Idea
//! As in version 1, the flow paces at the bandwidth of its model. Version 3 adds two pairs of bounds. The long-term
//! bound limits the data in flight; it is learned from probes that lost more than 2 %. The short-term bounds limit the
//! rate and the data in flight; each lossy round reduces them by 30 %, until the next probe. Probes are two to three
//! seconds apart, or as far apart as a Reno flow needs to recover. Between probes the flow leaves 15 % of the long-term
//! bound to others.
//!
//! # Sources
//! draft-ietf-ccwg-bbr (the working group's draft of August 2026); for `profile = "linux"` the branch v3 of
//! github.com/google/bbr.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | state | `state`; reported as `phase` | - |
//! | max_bw, bw | `max_bw` (maximum of two probing cycles), `bw` | rate |
//! | bw_shortterm, inflight_shortterm, inflight_longterm | `bounds` | rate, bytes, bytes |
//! | min_rtt; probe_rtt_min_delay | `min_rtt`, `probe_rtt_min` with `.._at` | time |
//! | bw_latest, inflight_latest, is_loss_in_round | `bw_latest`, `inflight_latest`, `loss_in_round` | rate, bytes, - |
//! | round_count, next_round_delivered, loss_round_delivered | `rounds`, `round_end`, `loss_round_end` | -, bytes |
//! | full_bw, full_bw_count, full_bw_now, full_bw_reached | the same | rate, - |
//! | ack_phase, is_bw_probe_sample | `ack_phase`, `probe_samples` | - |
//! | bw_probe_up_rounds, bw_probe_up_acked | `up_rounds`, `up_acked` | -, bytes |
//! | probe_up_acked_per_inc | `up_per_segment` | bytes |
//! | ecn_alpha, `ecn_eligible`, `ecn_in_round` (Linux) | `marks` | share, -, - |
//! | bw_probe_wait, cycle_stamp, rounds_since_probe_up | `probe_wait`, `cycle_start`, `rounds_since_probe` | time, - |
//! | prev_probe_too_high, prev_probe_precautionary | `prev_too_high`, `prev_precautionary` | - |
//!
//! # Differences
//! | question | draft (default) | Linux v3 | parameter |
//! |---|---|---|---|
//! | Startup's pacing gain | 2.77 | 710/256 | `profile` |
//! | Drain | gain 0.5, three rounds at most | gain 88/256, until the pipe holds one product | `profile` |
//! | ProbeBW_DOWN | 0.90 | 232/256 | `profile` |
//! | ACK aggregation | maximum of 10 rounds (1 in Startup) | two windows of 5 rounds, at most 100 ms | `profile` |
//! | a probe after one that went too far | stops at the bound and is taken up again | the same | - |
//! | ECN | left open, a mark counts as congestion | alpha where min_rtt is at most 5 ms | `ecn`, `ecn_max_rtt` |
//!
//! # Limits
//! * Without `ecn`, an ECN echo counts as a loss in its round: it sets the short-term bounds, never the long-term one.
//!   The same holds with `ecn` where the feedback is too coarse (RFC 3168) or min_rtt too long. Linux ignores marks
//!   then.
//! * With `ecn`, a marked round reduces inflight_shortterm by a third of alpha. A round with more than half of its
//!   bytes marked is a probe that went too far, or ends Startup after two of them. Linux counts the marks of a rate
//!   sample for this; here they are those of the present round. Linux switches this on by the route.
//! * Segments leave one by one at the pacing rate. The send quantum counts in the window only. It is never below two
//!   segments.
//! * Without SACK, the draft ends Startup at any loss in recovery, and treats any loss in a probe as too much. Here
//!   losses are judged alike with and without SACK.
//! * If the handshake gave no round-trip time, the first rate is computed again at the first sample, as in Linux.
//! * A rate is never below one segment per minute, so that a wrong sample cannot silence a flow.
//! * Growth does not depend on whether cwnd limits the sender, but inflight_longterm grows only while it does.
//!
//! # Vectors
//! `bbr3_bdp_probe_rtt_cwnd_and_headroom`, `bbr3_pacing_of_the_gains`, `bbr3_initial_pacing`,
//! `bbr3_startup_ends_after_three_flat_rounds`, `bbr3_startup_ends_by_many_losses`,
//! `bbr3_drain_ends_by_inflight_or_rounds`, `bbr3_a_lossy_round_of_cruise_cuts_by_beta`,
//! `bbr3_refill_forgets_the_short_term`, `bbr3_up_grows_the_long_term_bound_exponentially`, `bbr3_inflight_at_loss`,
//! `bbr3_a_probe_that_loses_goes_down`, `bbr3_probes_every_two_to_three_seconds`, `bbr3_coexists_with_reno`,
//! `bbr3_probe_rtt_every_five_seconds`, `bbr3_bandwidth_is_forgotten_after_two_cycles`, `bbr3_timeout_and_undo`,
//! `bbr3_restart_after_idle_paces_at_the_bandwidth`, `bbr3_profiles_differ_as_the_page_says`,
//! `bbr3_a_mark_is_a_loss_of_its_round`, `bbr3_ecn_alpha_is_a_moving_average_of_rounds`,
//! `bbr3_ecn_cuts_by_a_third_of_alpha_once_per_marked_round`, `bbr3_ecn_is_too_high_above_one_half`,
//! `bbr3_ecn_bounds_the_data_in_flight_and_not_the_bandwidth`.

mod cycle;
mod ecn;
mod settings;
mod signals;
mod window;

use crate::algorithms::bbr::aggregation::Aggregation;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::windowed::MaxFilter;
use crate::{Ack, Congestion, CongestionControl, LostSegment, Needs, Path, Sent, Window};
use ecn::Marks;
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use settings::Settings;

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "bbr3",
    title: "BBR version 3",
    sources: &["draft-ietf-ccwg-bbr", "github.com/google/bbr, branch v3"],
    params: &[
        Param {
            name: "profile",
            doc: "Numbers: the draft's, or those of google/bbr v3 for Linux.",
            kind: ParamKind::Choice { default: "draft", allowed: &["draft", "linux"] },
        },
        Param {
            name: "ecn",
            doc: "Respond to marks in proportion to their share, as google/bbr v3; needs AccECN or an echo of each mark. Off: a mark counts as a loss.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "ecn_max_rtt",
            doc: "With `ecn`: longest min_rtt with which marks are used (bbr_ecn_max_rtt_us); 0 is no limit.",
            kind: ParamKind::Number { unit: "ms", default: 5.0, min: 0.0, max: 1000.0 },
        },
    ],
    variables: &[
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
        Variable::new("rounds", "rounds", "Rounds since the start."),
        Variable::new("full_bw_reached", "", "1 once Startup has found the full bandwidth, else 0."),
        Variable::new("extra_acked_bytes", "bytes", "Allowance in the window for ACK aggregation."),
        Variable::new(
            "ecn_alpha",
            "",
            "ecn_alpha, the moving average of the share of marked bytes; 1 before marks are used.",
        ),
    ],
    traits: Traits {
        response: Response::Models,
        needs_ecn: false,
        scales: false,
        l4s: false,
        own_start: Some("has its Startup in place of slow start"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("bbr3.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let linux = params.choice(&ROW, "profile") == "linux";
    let max_rtt = Duration::from_nanos((params.number(&ROW, "ecn_max_rtt") * 1e6) as u64);
    let marks = Marks::new(params.switch(&ROW, "ecn"), max_rtt);
    Box::new(Bbr3::new(params.seed(), if linux { settings::LINUX } else { settings::DRAFT }, marks))
}

/// State of the flow; the numbers are those reported as `phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    #[default]
    Startup = 0,
    Drain = 1,
    Down = 2,
    Cruise = 3,
    Refill = 4,
    Up = 5,
    ProbeRtt = 6,
}

/// Part of the probing cycle that the arriving ACKs answer: segments are sent a round before their ACKs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Bounds set by congestion; `None` means no bound.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    bw_short: Option<Rate>,
    inflight_short: Option<Bytes>,
    inflight_long: Option<Bytes>,
}

/// BBR version 3; see the module's page.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    settings: Settings,
    marks: Marks,
    random: Stream,
    state: State,
    bw: Rate,
    max_bw: MaxFilter<Rate>,
    /// Probing cycles so far, by which the maximum bandwidth ages.
    cycles: u64,
    bounds: Bounds,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    probe_rtt_min: Option<Duration>,
    probe_rtt_at: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Instant>,
    probe_rtt_round_done: bool,
    seen_rtt: bool,
    bw_latest: Rate,
    inflight_latest: Bytes,
    loss_in_round: bool,
    loss_round_end: Bytes,
    loss_round_start: bool,
    /// Ranges lost in this loss round, and the end of the last one.
    lost_ranges: u32,
    lost_until: u64,
    rounds: u64,
    round_end: Bytes,
    round_start: bool,
    full_bw: Rate,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start: u64,
    ack_phase: AckPhase,
    probe_samples: bool,
    probe_wait: Duration,
    cycle_start: Instant,
    rounds_since_probe: u64,
    up_rounds: u32,
    up_acked: Bytes,
    up_per_segment: Option<Bytes>,
    prev_too_high: bool,
    prev_precautionary: bool,
    extra_acked: MaxFilter<Bytes>,
    extra_since: Instant,
    extra_delivered: Bytes,
    linux_aggregation: Aggregation,
    prior_cwnd: Bytes,
    in_recovery: bool,
    /// `delivered` when fast recovery began.
    recovery_since: Option<Bytes>,
    idle_restart: bool,
    undo_state: State,
    undo_bounds: Bounds,
}

impl Bbr3 {
    fn new(seed: u64, settings: Settings, marks: Marks) -> Self {
        Self {
            settings,
            marks,
            random: Stream::new(seed, 0, "cc/bbr3", "probe"),
            state: State::Startup,
            bw: Rate::ZERO,
            max_bw: MaxFilter::default(),
            cycles: 0,
            bounds: Bounds::default(),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            probe_rtt_min: None,
            probe_rtt_at: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            seen_rtt: false,
            bw_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
            loss_in_round: false,
            loss_round_end: Bytes::ZERO,
            loss_round_start: false,
            lost_ranges: 0,
            lost_until: 0,
            rounds: 0,
            round_end: Bytes::ZERO,
            round_start: false,
            full_bw: Rate::ZERO,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_start: 0,
            ack_phase: AckPhase::Init,
            probe_samples: false,
            probe_wait: Duration::ZERO,
            cycle_start: Instant::ZERO,
            rounds_since_probe: 0,
            up_rounds: 0,
            up_acked: Bytes::ZERO,
            up_per_segment: None,
            prev_too_high: false,
            prev_precautionary: false,
            extra_acked: MaxFilter::default(),
            extra_since: Instant::ZERO,
            extra_delivered: Bytes::ZERO,
            linux_aggregation: Aggregation::default(),
            prior_cwnd: Bytes::ZERO,
            in_recovery: false,
            recovery_since: None,
            idle_restart: false,
            undo_state: State::Startup,
            undo_bounds: Bounds::default(),
        }
    }

    /// Saves the state that is restored if a loss was spurious (BBRSaveStateUponLoss).
    fn save_state(&mut self) {
        (self.undo_state, self.undo_bounds) = (self.state, self.bounds);
    }

    fn restart_aggregation(&mut self, now: Instant) {
        (self.extra_since, self.extra_delivered) = (now, Bytes::ZERO);
        self.linux_aggregation.restart(now);
    }
}

/// The wider of two bounds, where `None` means no bound.
fn wider<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.zip(b).map(|(a, b)| a.max(b))
}

impl CongestionControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs { losses: true, rates: true, window_in_recovery: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        (self.min_rtt, self.min_rtt_at) = (path.min_rtt, path.now);
        (self.probe_rtt_min, self.probe_rtt_at) = (path.min_rtt, path.now);
        self.restart_aggregation(path.now);
        self.init_pacing(path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let sample = ack.rate.as_ref();
        self.marks.count(ack);
        self.update_signals(sample, path, win);
        self.update_aggregation(ack, path, win);
        self.check_full_bw(sample);
        self.check_startup_done(sample, path, win);
        self.check_drain(path, win);
        self.update_cycle(ack, path, win);
        self.update_min_rtt(ack, path);
        self.check_probe_rtt(ack, path, win);
        self.advance_latest(sample);
        let max_bw = self.max_bw.max();
        self.bw = self.bounds.bw_short.map_or(max_bw, |short| short.min(max_bw));
        self.set_pacing(self.gains().0, path, win);
        self.set_cwnd(ack, path, win);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.handle_lost(lost, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        match event {
            Congestion::Ecn { .. } if self.marks.are_used() => {}
            Congestion::Ecn { .. } => self.note_loss(path),
            Congestion::Loss { .. } => {
                self.save_cwnd(path, win);
                self.recovery_since.get_or_insert(path.delivered);
                self.in_recovery = true;
            }
            Congestion::Timeout { repeated } => {
                if !repeated {
                    self.save_cwnd(path, win);
                }
                (self.in_recovery, self.recovery_since) = (true, None);
                // Inflight plus one segment; inflight is zero, because everything was marked lost.
                win.cwnd = path.smss;
            }
        }
    }

    fn on_recovered(&mut self, _path: &Path, win: &mut Window) {
        if core::mem::take(&mut self.in_recovery) {
            win.cwnd = win.cwnd.max(self.prior_cwnd);
        }
        self.recovery_since = None;
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        win.cwnd = win.cwnd.max(self.prior_cwnd);
        (self.loss_in_round, self.in_recovery, self.recovery_since) = (false, false, None);
        self.reset_full_bw(Rate::ZERO);
        let (now, before) = (self.bounds, self.undo_bounds);
        self.bounds = Bounds {
            bw_short: wider(now.bw_short, before.bw_short),
            inflight_short: wider(now.inflight_short, before.inflight_short),
            inflight_long: wider(now.inflight_long, before.inflight_long),
        };
        match self.undo_state {
            undo if self.state == State::ProbeRtt || self.state == undo => {}
            State::Startup => (self.full_bw_reached, self.state) = (false, State::Startup),
            State::Up => self.enter_refill(path),
            _ => {}
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if sent.idle.is_zero() || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.restart_aggregation(path.now);
        if self.in_probe_bw() {
            self.set_pacing(1.0, path, win);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(path, win);
        }
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let or_zero = |bytes: Option<Bytes>| bytes.map_or(0.0, Bytes::as_f64);
        let (pacing_gain, cwnd_gain) = self.gains();
        visit("phase", f64::from(self.state as u8));
        visit("ack_phase", f64::from(self.ack_phase as u8));
        visit("bw_bps", self.bw.as_bps() as f64);
        visit("max_bw_bps", self.max_bw.max().as_bps() as f64);
        visit("bw_shortterm_bps", self.bounds.bw_short.map_or(0.0, |r| r.as_bps() as f64));
        visit("inflight_shortterm_bytes", or_zero(self.bounds.inflight_short));
        visit("inflight_longterm_bytes", or_zero(self.bounds.inflight_long));
        visit("min_rtt_s", self.min_rtt.map_or(0.0, Duration::as_secs_f64));
        visit("pacing_gain", pacing_gain);
        visit("cwnd_gain", cwnd_gain);
        visit("rounds", self.rounds as f64);
        visit("full_bw_reached", f64::from(u8::from(self.full_bw_reached)));
        visit("extra_acked_bytes", self.allowance().as_f64());
        visit("ecn_alpha", self.marks.alpha());
    }
}
