//! Westwood and Westwood+: after a loss, the window is what the measured bandwidth fills.
//!
//! # Idea
//! Reno halves its window at any loss. Westwood measures the rate at which ACKs report data as delivered. After a loss
//! it sets the window to that bandwidth times the smallest round-trip time, which is what the path carries with an
//! empty queue. So a random loss on a wireless link costs little, and a loss by congestion costs the queue. Growth is
//! Reno's.
//!
//! # Sources
//! C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001 (`paper`); S. Mascolo, L. A. Grieco, R. Ferorelli, P. Camarda, G.
//! Piscitelli, "Performance evaluation of Westwood+ TCP congestion control", Performance Evaluation 55, 2004 (`plus`);
//! Linux 6.1, `net/ipv4/tcp_westwood.c`, which is Westwood+, and its ancestor of 2007 in ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | BWE | `bw_est` | in `estimate` | bytes/ms (`linux`), bytes/s |
//! | RTTmin | `rtt_min` | `rtt_min` | time |
//! | last RTT | `rtt` | `rtt` | time |
//! | - | `reset_rtt_min` | `restart_rtt_min` | - |
//! | accounted_for | `accounted`, `cumul_ack` | `count` | bytes |
//! | - | `snd_cwnd_cnt` | `counter` | bytes |
//!
//! # Differences
//! | question | Westwood 2001 | Westwood+ 2004 | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|---|
//! | sample | each ACK | once per RTT | once per RTT, at least 50 ms | as Linux | once per RTT | `profile` |
//! | filter | Tustin, 0.5 s, 0 when idle | Tustin, 0.9 | twice 7/8, in integers | as Linux | Tustin, 0.9 | `profile` |
//! | window set | at once | at once | after recovery | at the loss, at least half | at once | `profile`, `keeps_half` |
//! | may raise the window | no | no | yes | - | - | `profile` |
//! | during recovery | BWE * RTTmin | BWE * RTTmin | half | half | BWE * RTTmin | `profile` |
//! | RTT | sample | sample | sample, up to whole ms | srtt, in jiffies | sample | - |
//! | after a timeout | BWE * RTTmin | BWE * RTTmin | BWE * RTTmin | half | BWE * RTTmin | `keeps_half` |
//! | RTTmin after a timeout | kept | kept | starts again | starts again | kept | `profile` |
//!
//! `profile = "linux"` is the default, because it is what hosts run. It is Westwood+. The filter of 2001 overestimates
//! if ACKs come in bursts, so its authors replaced it; `profile = "paper"` shows this. `keeps_half = true` uses Linux's
//! estimate as ns-2.35's TCP/Linux does. That agent never sends CA_EVENT_COMPLETE_CWR, so the window ends at half or at
//! the estimate, whichever is larger. The switch isolates the effect (docs/validation.md); no stack turns it on.
//!
//! # Limits
//! * All ACKs count by the slow path's rule, which subtracts what duplicate ACKs counted before. The kernel's fast path
//!   does not subtract it, which matters for few ACKs.
//! * The kernel sets the window even if an undo has just ended recovery. Here the undo stays in effect.
//! * The first kernels of 6.1 called `in_ack_event` before `pkts_acked`, so they estimated with the round-trip time of
//!   the previous ACK. Later ones (6.1 with its fixes, 6.15) and ns-2 call it after, and so do we.
//! * The kernel's integers stop up to 7 bytes/ms too low in each filter, so small rates are underestimated.
//! * Westwood+'s filter is ns-3's, with constant coefficients. `paper` uses the paper's filter, whose coefficients
//!   contain Delta_k.
//!
//! # Vectors
//! `westwood_linux_filter`, `westwood_bandwidth_times_rtt`, `westwood_plus_filter`, `westwood_tustin_filter`,
//! `westwood_linux_sets_the_window_at_the_end_of_recovery`, `westwood_timeout_sets_ssthresh`,
//! `westwood_timeout_restarts_rtt_min`, `westwood_duplicate_acks_count_once`, `westwood_window_is_at_least_50_ms`,
//! `westwood_originals_reduce_at_once_and_never_raise`, `westwood_idle_time_fades_the_tustin_filter`,
//! `westwood_growth_is_reno`, `westwood_undo_stands`, `westwood_linux_takes_the_round_trip_time_of_the_ack_first`,
//! `westwood_keeps_at_least_half_if_asked`.

pub mod estimate;

use crate::growth::{self, ByteCounter};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use estimate::{AckedCount, Estimate, Filter, LinuxFilter, Plus, Tustin};
use narrows_units::{Bytes, Duration, Variable};

/// The kernel's round-trip time before there is a sample (`TCP_WESTWOOD_INIT_RTT`).
const INIT_RTT: Duration = Duration::from_secs(20);

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "westwood",
    title: "Westwood+ / Westwood",
    sources: &["Casetti et al. 2001 (profile paper)", "Mascolo et al. 2004 (profile plus)", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Estimate: linux (Westwood+ in integers), plus (Westwood+ 2004, real), paper (Westwood 2001, a sample per ACK).",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "plus", "paper"] },
        },
        Param {
            name: "keeps_half",
            doc: "In linux, a loss leaves at least half of the window, because the end of recovery is not told: as in ns-2.35.",
            kind: ParamKind::Switch { default: false },
        },
    ],
    // The kernel's bandwidth is in whole bytes per millisecond, which is coarse for small segments.
    variables: &[
        Variable::new("bw_est", "bytes/s", "BWE, the estimated bandwidth."),
        Variable::new("rtt_min", "s", "RTTmin; the kernel's initial 20 s before a sample."),
        Variable::new("accounted", "bytes", "Bytes counted by duplicate ACKs and not yet by a cumulative ACK."),
    ],
    traits: Traits {
        response: Response::ReducesToEstimate,
        needs_ecn: false,
        scales: false,
        l4s: false,
        own_start: None,
    },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("westwood.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let (linux, filter) = match params.choice(&ROW, "profile") {
        "plus" => (false, Filter::Plus(Plus::default())),
        "paper" => (false, Filter::Tustin(Tustin::default())),
        _ => (true, Filter::Linux(LinuxFilter::default())),
    };
    Box::new(Westwood {
        linux,
        estimate: Estimate::new(filter),
        count: AckedCount::default(),
        rtt: INIT_RTT,
        rtt_min: INIT_RTT,
        restart_rtt_min: true,
        keeps_half: params.switch(&ROW, "keeps_half") && linux,
        reduced: None,
        counter: ByteCounter::default(),
    })
}

/// Westwood; see the module's page.
#[derive(Clone, Debug)]
pub struct Westwood {
    linux: bool,
    estimate: Estimate,
    count: AckedCount,
    rtt: Duration,
    rtt_min: Duration,
    restart_rtt_min: bool,
    /// Whether the window after a recovery is at least ssthresh.
    keeps_half: bool,
    /// The estimate at the loss or ECN echo whose recovery has not ended (`linux`).
    reduced: Option<Bytes>,
    counter: ByteCounter,
}

impl Westwood {
    /// BWE times RTTmin, at least two segments.
    fn pipe(&self, path: &Path) -> Bytes {
        let pipe = self.estimate.pipe(self.rtt_min);
        if self.linux { path.smss * growth::whole_segments(pipe, path).max(2) } else { pipe.max(path.smss * 2) }
    }
}

impl CongestionControl for Westwood {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.estimate.start(path.now);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        // The kernel's `pkts_acked` comes before its `in_ack_event`; the papers leave the order open.
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = if self.linux { Duration::from_millis(rtt.as_nanos().div_ceil(1_000_000)) } else { rtt };
        }
        let counted = self.count.count(ack.acked, path.smss);
        self.estimate.observe(counted, self.rtt, path.now);
        self.rtt_min = if core::mem::take(&mut self.restart_rtt_min) { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let mut acked = if self.linux { ack.delivered } else { ack.acked };
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, if self.linux { Bytes::MAX } else { path.smss }, path);
        }
        if !acked.is_zero() {
            let per = if self.linux { path.smss * growth::whole_segments(win.cwnd, path) } else { win.cwnd };
            self.counter.add(acked, per, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        let timeout = matches!(event, Congestion::Timeout { .. });
        let pipe = self.pipe(path);
        self.reduced = (self.linux && !timeout).then_some(pipe);
        let halves = self.reduced.is_some() || self.keeps_half;
        let threshold = if halves { growth::reduced_segments(win.cwnd, 512, 2, path) } else { pipe };
        growth::answer(event, path, win, |_| threshold);
        if self.linux && matches!(event, Congestion::Timeout { repeated: false }) {
            self.restart_rtt_min = true;
        }
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        match self.reduced.take() {
            // TCP/Linux sets the estimate at the loss and raises it to ssthresh at the end, without a call to the
            // module.
            Some(pipe) if self.keeps_half => win.cwnd = win.ssthresh.map_or(pipe, |half| pipe.max(half)),
            Some(_) => {
                win.cwnd = self.pipe(path);
                win.ssthresh = Some(win.cwnd);
            }
            None => {}
        }
    }

    fn on_undo(&mut self, _path: &Path, _win: &mut Window) {
        self.reduced = None;
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bw_est", self.estimate.bytes_per_second());
        visit("rtt_min", self.rtt_min.as_secs_f64());
        visit("accounted", self.count.accounted().as_f64());
    }
}
