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
//! draft-ietf-ccwg-bbr-06 (6 July 2026; what the working group's repository changed until 3 August 2026 is wording).
//! For `profile = "linux"`: the branch v3 of github.com/google/bbr. `profile = "draft"` is the newest revision that is
//! here, so it may change with a release; `draft-06` stays what it is. The draft's test cases: docs/bbr.md.
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
//! | undo_state, undo_bw_shortterm, undo_inflight_shortterm, undo_inflight_longterm | `undo` | -, rate, bytes, bytes |
//! | send_quantum, max_inflight | `send_quantum`, `latest` | bytes |
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
//! | a full pipe's level | set by the first ACK of a round | by any ACK | `profile` |
//! | losses end Startup | 6 ranges in a round, after a round of recovery | 6 ACKs in a round of recovery | `profile` |
//! | spurious losses | restore the bounds, and Startup or a probe that they ended | restore the bounds | `profile` |
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
//! * An ACK without a valid rate sample counts no round, as in Linux. In the draft every ACK may.
//! * The draft contradicts itself in places. Here an episode of losses saves once what an undo restores, as the text
//!   says and the pseudocode does not (`undo.rs`). T_reno counts segments, not bytes. After idle time the excess of ACK
//!   aggregation starts from zero, as in Linux. Losses that end Startup set full_bw_now, as the test cases say. A
//!   precautionary probe stops by what was in flight before the ACK, as in Linux. inflight_longterm does not bound
//!   Drain, as in the pseudocode; the table of control parameters says otherwise.
//! * An undo does not clear prev_probe_too_high, as in the draft and Linux: the probe that it resumes stops at
//!   inflight_longterm, if one was set before.
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
//! `bbr3_ecn_bounds_the_data_in_flight_and_not_the_bandwidth`, `bbr3_losses_that_end_startup_set_full_bw_now_too`,
//! `bbr3_an_undo_returns_to_startup_that_losses_ended`, `bbr3_an_undo_in_probe_rtt_returns_to_startup_afterwards`,
//! `bbr3_an_undo_does_not_return_to_startup_that_a_plateau_ended`,
//! `bbr3_an_episode_saves_once_however_many_losses_it_has`, `bbr3_a_timeout_saves_again`,
//! `bbr3_a_late_proof_still_undoes`, `bbr3_recovery_restores_the_window_before_it_and_no_older_one`,
//! `bbr3_a_loss_that_a_tail_probe_repaired_is_a_loss_of_its_round`, `bbr3_probe_rtt_in_startup_returns_to_startup`,
//! `bbr3_idle_time_stands_in_for_probe_rtt`, `bbr3_aggregation_is_the_maximum_of_ten_rounds`,
//! `bbr3_precautionary_probing_stops_at_the_bound_and_goes_on_after_a_round`,
//! `bbr3_reported_targets_are_those_of_the_text`, `bbr3_the_draft_is_draft_06`,
//! `bbr3_any_ack_raises_linuxs_level_of_a_full_pipe`.

mod cycle;
mod ecn;
mod report;
mod settings;
mod signals;
mod undo;
mod window;

use crate::algorithms::bbr::aggregation::Aggregation;
use crate::algorithms::bbr::recovering;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::windowed::MaxFilter;
use crate::{Ack, Congestion, CongestionControl, LostSegment, Needs, Path, Sent, Window};
use ecn::Marks;
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Rate};
use report::Latest;
use settings::Settings;
use undo::{Episode, Undo};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "bbr3",
    title: "BBR version 3",
    sources: &["draft-ietf-ccwg-bbr-06", "github.com/google/bbr, branch v3"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: the newest draft's that is here, which is -06; always those of -06; or those of google/bbr v3 for Linux.",
            kind: ParamKind::Choice { default: "draft", allowed: &["draft", "draft-06", "linux"] },
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
    variables: report::VARIABLES,
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
    /// ACKs that showed losses in this loss round (`loss_events_in_round`); Linux only.
    lost_acks: u32,
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
    undo: Undo,
    /// C.send_quantum.
    send_quantum: Bytes,
    latest: Latest,
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
            lost_acks: 0,
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
            undo: Undo::default(),
            send_quantum: Bytes::ZERO,
            latest: Latest::default(),
        }
    }

    fn restart_aggregation(&mut self, now: Instant) {
        (self.extra_since, self.extra_delivered) = (now, Bytes::ZERO);
        self.linux_aggregation.restart(now);
    }
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
        self.set_quantum(path, win);
        self.latest = Latest { smss: path.smss, initial_window: path.initial_window, max_inflight: win.cwnd };
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let sample = ack.rate.as_ref();
        self.marks.count(ack);
        self.end_episode_if_over(path);
        self.update_signals(sample, path, win);
        self.update_aggregation(ack, path, win);
        self.check_full_bw(sample);
        self.check_startup_done(ack, path, win);
        self.check_drain(path);
        self.update_cycle(ack, path, win);
        self.update_min_rtt(ack, path);
        self.check_probe_rtt(ack, path, win);
        self.advance_latest(sample);
        let max_bw = self.max_bw.max();
        self.bw = self.bounds.bw_short.map_or(max_bw, |short| short.min(max_bw));
        self.set_pacing(self.gains().0, path, win);
        self.set_quantum(path, win);
        self.set_cwnd(ack, path, win);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.handle_lost(lost, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        match event {
            Congestion::Ecn { .. } if self.marks.are_used() => {}
            Congestion::Ecn { .. } => self.note_loss(path),
            // A probe of the tail repaired the loss (RFC 8985, section 7.4): there is no recovery.
            Congestion::Loss { .. } if !recovering(path.phase) => {
                self.save_state(Episode::Losses, win);
                self.note_loss(path);
            }
            Congestion::Loss { .. } => {
                self.save_state(Episode::Losses, win);
                self.recovery_since.get_or_insert(path.delivered);
                self.in_recovery = true;
            }
            Congestion::Timeout { repeated } => {
                if !repeated {
                    self.save_state(Episode::Timeout, win);
                }
                (self.in_recovery, self.recovery_since) = (true, None);
                // Inflight plus one segment; inflight is zero, because everything was marked lost.
                win.cwnd = path.smss;
            }
        }
    }

    fn on_recovered(&mut self, _path: &Path, win: &mut Window) {
        if self.in_recovery {
            win.cwnd = win.cwnd.max(self.prior_cwnd);
        }
        self.end_episode();
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.restore_state(path, win);
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
        self.report(visit);
    }
}
