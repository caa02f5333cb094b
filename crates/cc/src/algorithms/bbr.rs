//! BBR version 1: a model of the path (bandwidth and round-trip time) sets the rate, and the window only bounds it.
//!
//! # Idea
//! The largest recent delivery rate estimates the bandwidth of the bottleneck. The smallest recent round-trip time
//! estimates the path without a queue. One flow cannot measure both at the same time. To measure bandwidth, it sends 25
//! % faster for one round-trip time and 25 % slower in the next, which drains the queue. To measure the round-trip
//! time, it keeps four segments in flight for 200 ms every ten seconds. Losses do not change the model.
//!
//! # Sources
//! N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; Linux, `net/ipv4/tcp_bbr.c`, whose rules these are; for the
//! long-term bandwidth T. Flach et al., SIGCOMM 2016.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | mode | `mode`; shown as `phase`: 0 STARTUP, 1 DRAIN, 2 PROBE_BW, 3 PROBE_RTT | - |
//! | cycle_idx | `cycle`: 0 probes up, 1 drains, 2 to 7 cruise | - |
//! | BtlBw | `max_bw`: maximum of ten rounds | rate |
//! | RTprop, its time stamp | `min_rtt`, `min_rtt_at` | time |
//! | round_count, next_round_delivered | `rounds`, `round_end` | -, bytes |
//! | full_bw, full_bw_cnt, full_bw_reached | the same | rate, -, - |
//! | pacing_gain, cwnd_gain | the same | 1/256 |
//! | lt_bw, lt_use_bw | `policer` | rate, - |
//! | extra_acked | `aggregation` | bytes |
//! | prior_cwnd, packet_conservation | `prior_cwnd`, `conserving` | bytes, - |
//!
//! # Differences
//! | question | paper, draft 00 | Linux | ns-3 TcpBbr | here |
//! |---|---|---|---|---|
//! | STARTUP's gain | 2/ln 2 = 2.885 | 739/256 | 2.89 | Linux |
//! | maximum of bandwidth | exact, 10 rounds | best three samples, 10 rounds | exact, 10 rounds | exact |
//! | a round-trip time equal to the minimum | renews it | does not renew it (6.1, 7.2) | renews it | Linux |
//! | data in flight at the end of a phase | now | when the next segment may leave | now | Linux |
//! | pacing margin | none | 1 % | none | 1 % |
//! | ACK aggregation in the window | no | yes | yes, epochs of 2^17 bytes | `ack_aggregation` |
//! | policers | no | long-term bandwidth | no | `policer` |
//! | loss | first round conserves packets | the same | the same | the same |
//! | ECN | ignored | ignored | ignored | ignored |
//!
//! # Limits
//! * The data in flight at the next departure are those of `bbr_packets_in_net_at_edt`, in whole segments as there.
//!   With exact bytes the RTT at 1 Mb/s and 100 ms is 160.7 ms, where Linux has 151.4 and whole segments give 150.2.
//! * Segments leave one by one at the pacing rate, unless the connection sends bursts (`tso`, on with
//!   `stack = "linux"`). The goal of `tso_segs_goal` counts in the window in both cases.
//! * Time is in nanoseconds. Linux uses microseconds, and milliseconds for the ten seconds and the 200 ms.
//! * A rate is never below one segment per minute, so that a wrong sample cannot silence a flow.
//! * Growth does not depend on whether cwnd limits the sender. Samples that the application limited do not lower the
//!   model.
//! * Without SACK, a duplicate ACK delivers nothing here; Linux counts one segment for each. In recovery without SACK,
//!   the model learns from partial ACKs only.
//!
//! # Vectors
//! `bbr_pacing_of_the_gains`, `bbr_cwnd_targets`, `bbr_initial_pacing_without_rtt`,
//! `bbr_startup_doubles_and_ends_after_three_flat_rounds`, `bbr_enters_the_cycle_anywhere_but_in_its_drain`,
//! `bbr_cycle_phases_end_as_they_should`, `bbr_counts_what_arrives_before_the_next_departure`,
//! `bbr_an_equal_rtt_does_not_renew_the_minimum`, `bbr_an_ack_that_delivers_nothing_leaves_the_window`,
//! `bbr_probe_rtt_holds_four_segments`,
//! `bbr_bandwidth_is_forgotten_after_ten_rounds`, `bbr_app_limited_samples_count_only_upwards`,
//! `bbr_recovery_conserves_packets_for_a_round`, `bbr_timeout_grows_back_to_the_window_before`,
//! `bbr_undo_resets_the_search_for_full_bandwidth`, `bbr_restart_after_idle_paces_at_the_bandwidth`,
//! `bbr_finds_a_policer`, `bbr_aggregation_is_added_to_the_window`.

pub(crate) mod aggregation;
mod model;
mod policer;
mod window;

use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::windowed::MaxFilter;
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Sent, Window};
use aggregation::Aggregation;
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use policer::Policer;

/// Unit of gains (`BBR_UNIT`).
pub(crate) const UNIT: u64 = 256;
/// `bbr_high_gain`: 2885/1000 in 1/256, plus one.
const HIGH_GAIN: u64 = 739;
/// Smallest window (`bbr_cwnd_min_target`).
const MIN_SEGMENTS: u64 = 4;

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "bbr",
    title: "BBR version 1",
    sources: &["Cardwell et al., ACM Queue 14(5), 2016", "Linux, net/ipv4/tcp_bbr.c"],
    params: &[
        Param {
            name: "ack_aggregation",
            doc: "Room in the window for ACKs that come in bunches (Linux since 5.1; the paper has none).",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "policer",
            doc: "Look for a token-bucket policer and keep to its rate (Linux's long-term bandwidth; the paper has none).",
            kind: ParamKind::Switch { default: true },
        },
    ],
    variables: &[
        Variable::state(
            "phase",
            "State: 0 STARTUP, 1 DRAIN, 2 PROBE_BW, 3 PROBE_RTT.",
            &["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"],
        ),
        Variable::new("cycle", "", "Phase of the gain cycle: 0 probes up, 1 drains, 2 to 7 cruise."),
        Variable::new("bw_bps", "bit/s", "Bandwidth in use: the maximum of ten rounds, or the policer's rate."),
        Variable::new(
            "min_rtt_s",
            "s",
            "RTprop, the smallest round-trip time of the last ten seconds; 0 before a sample.",
        ),
        Variable::new("pacing_gain", "", "Pacing rate divided by the bandwidth."),
        Variable::new("cwnd_gain", "", "Window divided by the bandwidth-delay product."),
        Variable::new("rounds", "rounds", "Rounds since the start."),
        Variable::new("full_bw_reached", "", "1 once STARTUP has found the full bandwidth, else 0."),
        Variable::new(
            "extra_acked_bytes",
            "bytes",
            "Largest recent excess of ACKed data over the bandwidth (ACK aggregation).",
        ),
        Variable::new("policed", "", "1 while the rate is that of a policer, else 0."),
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
    source: include_str!("bbr.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Bbr::new(params.seed(), params.switch(&ROW, "ack_aggregation"), params.switch(&ROW, "policer")))
}

/// State of the flow, numbered as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup = 0,
    Drain = 1,
    ProbeBw = 2,
    ProbeRtt = 3,
}

/// BBR version 1; see the module's page.
#[derive(Clone, Debug)]
pub struct Bbr {
    random: Stream,
    aggregates: bool,
    polices: bool,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    max_bw: MaxFilter<Rate>,
    rounds: u64,
    round_end: Bytes,
    round_start: bool,
    full_bw: Rate,
    full_bw_count: u32,
    full_bw_reached: bool,
    cycle: usize,
    cycle_start: Instant,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    seen_rtt: bool,
    probe_rtt_done: Option<Instant>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// Phase of recovery at the previous ACK (`prev_ca_state`).
    was: Phase,
    prior_cwnd: Bytes,
    conserving: bool,
    aggregation: Aggregation,
    policer: Policer,
}

/// Whether Linux calls the phase Recovery or worse.
pub(crate) fn recovering(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

/// Smallest rate that a model may set: one segment a minute.
pub(crate) fn least_rate(path: &Path) -> Rate {
    Rate::of(path.smss, Duration::from_secs(60)).max(Rate::bps(1))
}

impl Bbr {
    fn new(seed: u64, aggregates: bool, polices: bool) -> Self {
        Self {
            random: Stream::new(seed, 0, "cc/bbr", "cycle"),
            aggregates,
            polices,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_bw: MaxFilter::default(),
            rounds: 0,
            round_end: Bytes::ZERO,
            round_start: false,
            full_bw: Rate::ZERO,
            full_bw_count: 0,
            full_bw_reached: false,
            cycle: 0,
            cycle_start: Instant::ZERO,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            seen_rtt: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            was: Phase::Open,
            prior_cwnd: Bytes::ZERO,
            conserving: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
        }
    }

    /// The bandwidth in use (`bbr_bw`).
    fn bw(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.max_bw.max())
    }

    fn save_cwnd(&mut self, win: &Window) {
        let fresh = !recovering(self.was) && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if fresh { win.cwnd } else { self.prior_cwnd.max(win.cwnd) };
    }
}

impl CongestionControl for Bbr {
    fn needs(&self) -> Needs {
        Needs { rates: true, window_in_recovery: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        (self.min_rtt, self.min_rtt_at) = (path.min_rtt, path.now);
        self.aggregation.restart(path.now);
        self.init_pacing(path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.update_bw(ack, path);
        self.update_aggregation(ack, path, win);
        self.update_cycle(ack, path, win);
        self.check_full_bw(ack.rate.as_ref());
        self.check_drain(path, win);
        self.update_min_rtt(ack, path, win);
        self.update_gains();
        self.set_pacing(self.bw(), self.pacing_gain, path, win);
        self.set_cwnd(ack, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if !matches!(event, Congestion::Timeout { repeated: true }) {
            self.save_cwnd(win);
        }
        if matches!(event, Congestion::Timeout { .. }) {
            (self.was, self.full_bw, self.round_start) = (Phase::Loss, Rate::ZERO, true);
            self.look_for_policer(true, false, path);
            // Linux sets inflight plus one segment; inflight is zero here, because everything was marked lost.
            win.cwnd = path.smss;
        }
    }

    fn on_undo(&mut self, path: &Path, _win: &mut Window) {
        (self.full_bw, self.full_bw_count) = (Rate::ZERO, 0);
        self.policer.reset(path);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if sent.idle.is_zero() || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(path.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing(self.bw(), UNIT, path, win),
            Mode::ProbeRtt => self.check_probe_rtt_done(path, win),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("phase", f64::from(self.mode as u8));
        visit("cycle", self.cycle as f64);
        visit("bw_bps", self.bw().as_bps() as f64);
        visit("min_rtt_s", self.min_rtt.map_or(0.0, Duration::as_secs_f64));
        visit("pacing_gain", self.pacing_gain as f64 / UNIT as f64);
        visit("cwnd_gain", self.cwnd_gain as f64 / UNIT as f64);
        visit("rounds", self.rounds as f64);
        visit("full_bw_reached", f64::from(u8::from(self.full_bw_reached)));
        visit("extra_acked_bytes", self.aggregation.max().as_f64());
        visit("policed", f64::from(u8::from(self.policer.rate().is_some())));
    }
}
