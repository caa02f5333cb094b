//! H-TCP: additive steps that grow with the time since the last loss.
//!
//! # Idea
//! For one second after a loss H-TCP behaves as Reno. Then its step alpha rises with the time Delta since that loss. So
//! large windows are reached soon, and small windows are left to Reno. After a loss the window keeps the share beta =
//! RTTmin / RTTmax, which just empties the queue. If the throughput has changed by much, it keeps one half.
//!
//! # Sources
//! D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; draft-leith-tcp-htcp-06;
//! Linux 6.1, `net/ipv4/tcp_htcp.c`, and its ancestor of 2007 in ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | Delta | `last_cong` (where it starts) | `s.last_cong` | ms |
//! | alpha, beta | `alpha`, `beta` | `alpha`, `beta` | 1/128 segment, 1/128 |
//! | RTTmin, RTTmax | `minRTT`, `maxRTT` | `min_rtt`, `s.max_rtt` | ms, 0 before a sample |
//! | B(k), B(k+1) | `old_maxB`, `maxB`, `Bi` | `s.old_max_b`, `max_b`, `b` | segments/s |
//! | - | `packetcount`, `lasttime` | `packets`, `since` | segments, ms |
//! | - | `snd_cwnd_cnt` | `count` | segments |
//! | - | `modeswitch` | `adaptive` | - |
//! | - | `undo_last_cong` and the other undo_ variables | `saved` | - |
//!
//! # Differences
//! | question | paper and draft | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|
//! | numbers | real | integers, alpha once per step | as Linux | real | `profile` |
//! | step per ACK | alpha / cwnd segments | counted | counted | alpha *bytes* | `profile` |
//! | RTT scaling | optional | on, 0.1 to 2 | on, 0.1 to 2 | off | `rtt_scaling` |
//! | bandwidth test | 20 % | 20 % | 20 % | rise of up to 20 % | `bandwidth_switch` |
//! | beta | 0.5 to 0.8 | 64/128 to 102/128 | as Linux | from 0.5 | `profile` |
//! | Delta starts | at the loss | at the end of recovery | at the end of recovery | at the loss | `profile` |
//! | RTT samples | - | every one | srtt, in avoidance | every one | `rtt_from_srtt` |
//! | least alpha | - | none | none | 1 | - |
//!
//! `rtt_from_srtt = true` measures as ns-2.35's module does, which comes from Linux 2.6.22. A flow that starts behind
//! the queue of others then takes that queue for a part of the path. The switch isolates how that affects rivals
//! (docs/validation.md); no stack turns it on.
//!
//! `profile = "linux"` is the default. The draft leaves open how throughput and RTTmax are measured; the kernel's
//! module was written by its authors, and both profiles use its measurement.
//!
//! # Limits
//! * The kernel makes its undo copies after it has lowered RTTmax and moved B(k), so its undo restores Delta only. We
//!   make them before, which is their purpose.
//! * The kernel's 32-bit products overflow after about 18 hours without a loss; ours saturate.
//! * A step adds at most what the ACK acknowledges (one segment in `linux`), so a window at most doubles in a round.
//! * Measurements use the cwnd after the last ACK.
//!
//! # Vectors
//! `htcp_f`, `htcp_linux_alpha`, `htcp_linux_trajectory`, `htcp_linux_beta`, `htcp_first_event_takes_half`,
//! `htcp_bandwidth_switch_takes_half`, `htcp_linux_rtt_scaling`, `htcp_max_rtt_ignores_jumps_and_fades`,
//! `htcp_delta_starts_at_the_end_of_recovery`, `htcp_undo_restores_delta_and_max_rtt`,
//! `htcp_foreign_cut_starts_a_new_epoch`, `htcp_draft_growth`, `htcp_draft_beta`, `htcp_takes_rtts_from_srtt_if_asked`.

use crate::growth::{self, Fraction};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Window};
use narrows_units::{Bytes, Instant, Variable};

/// One, in the units of alpha and beta.
const ONE: u64 = 128;
/// Smallest and largest beta.
const BETA: (u64, u64) = (64, 102);
/// Ticks per second: the kernel's HZ.
const HZ: u64 = 1000;

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "htcp",
    title: "H-TCP",
    sources: &["Leith, Shorten 2004", "draft-leith-tcp-htcp-06", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Arithmetic: linux in integers and milliseconds, draft (draft-leith-tcp-htcp-06) in real numbers.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "draft"] },
        },
        Param {
            name: "rtt_from_srtt",
            doc: "Take RTTmin and RTTmax from srtt, in congestion avoidance only, as Linux 2.6.22 and ns-2.35 do.",
            kind: ParamKind::Switch { default: false },
        },
        Param {
            name: "rtt_scaling",
            doc: "Multiply alpha by RTTmin / 100 ms, within 0.1 and 2, for fairness between round-trip times.",
            kind: ParamKind::Switch { default: true },
        },
        Param {
            name: "bandwidth_switch",
            doc: "Take half where the throughput has changed by more than 20 % since the last loss.",
            kind: ParamKind::Switch { default: true },
        },
    ],
    variables: &[
        Variable::new("alpha", "segments per RTT", "alpha, the increase per round-trip time."),
        Variable::new("beta", "", "beta, the share of the window that a loss leaves."),
        Variable::new("min_rtt", "s", "RTTmin; 0 before a sample."),
        Variable::new("max_rtt", "s", "RTTmax; 0 before a sample."),
        Variable::new("max_b", "segments/s", "B(k+1), the largest throughput since the last loss."),
        Variable::new("old_max_b", "segments/s", "B(k), the largest throughput before the last loss."),
        Variable::new("last_cong", "s", "Time at which Delta starts: the last congestion event."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("htcp.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Htcp {
        draft: params.choice(&ROW, "profile") == "draft",
        from_srtt: params.switch(&ROW, "rtt_from_srtt"),
        rtt_scaling: params.switch(&ROW, "rtt_scaling"),
        bandwidth_switch: params.switch(&ROW, "bandwidth_switch"),
        s: Saved::default(),
        saved: None,
        congested: false,
        alpha: ONE,
        beta: BETA.0,
        exact_beta: 0.5,
        adaptive: false,
        min_rtt: 0,
        max_b: 0,
        b: 0,
        packets: 0,
        since: 0,
        acked: 1,
        cwnd: 0,
        count: 0,
        fraction: Fraction::default(),
    })
}

/// f(Delta), the factor of Reno's step `delta` seconds after a loss (Leith and Shorten 2004): 1 in the first second.
#[must_use]
pub fn f(delta: f64) -> f64 {
    if delta <= 1.0 {
        return 1.0;
    }
    let (over, half) = (delta - 1.0, (delta - 1.0) / 2.0);
    1.0 + 10.0 * over + half * half
}

/// State that an undo restores.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    last_cong: u64,
    max_rtt: u64,
    old_max_b: u64,
}

/// H-TCP; see the module's page.
#[derive(Clone, Debug)]
pub struct Htcp {
    draft: bool,
    /// Whether RTTmin and RTTmax come from srtt, in congestion avoidance only.
    from_srtt: bool,
    rtt_scaling: bool,
    bandwidth_switch: bool,
    s: Saved,
    saved: Option<Saved>,
    /// Whether a congestion event is in effect: neither ended nor undone.
    congested: bool,
    alpha: u64,
    beta: u64,
    /// beta without rounding (`draft`).
    exact_beta: f64,
    adaptive: bool,
    min_rtt: u64,
    max_b: u64,
    b: u64,
    packets: u64,
    since: u64,
    /// Segments that the last ACK in Open covered.
    acked: u64,
    /// cwnd after the last event, in segments.
    cwnd: u64,
    count: u64,
    fraction: Fraction,
}

/// The kernel's clock: whole milliseconds.
fn ticks(now: Instant) -> u64 {
    now.since(Instant::ZERO).as_millis()
}

impl Htcp {
    /// Milliseconds since the last congestion event, Delta.
    fn delta(&self, now: Instant) -> u64 {
        ticks(now).saturating_sub(self.s.last_cong)
    }

    /// Updates RTTmin and RTTmax from srtt (`measure_rtt` of Linux 2.6.22): RTTmax only after three RTTs without a
    /// loss.
    fn measure_srtt(&mut self, path: &Path) {
        if let Some(srtt) = path.srtt.map(|srtt| srtt.as_millis()).filter(|srtt| *srtt > 0) {
            let settled = self.min_rtt > 0 && self.delta(path.now) / self.min_rtt > 3;
            self.measure_rtt(srtt, path.phase == Phase::Open && settled);
        }
    }

    /// Adds a round-trip time sample, in ticks.
    fn measure_rtt(&mut self, rtt: u64, open: bool) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.s.max_rtt = self.s.max_rtt.max(self.min_rtt);
            // A larger jump has another cause than a queue that fills.
            if rtt <= self.s.max_rtt + 20 {
                self.s.max_rtt = self.s.max_rtt.max(rtt);
            }
        }
    }

    /// Adds an ACK's segments to the throughput, which is measured over about a window.
    fn measure_throughput(&mut self, segments: u64, path: &Path) {
        let now = ticks(path.now);
        if !matches!(path.phase, Phase::Open | Phase::Disorder) {
            self.packets = 0;
            self.since = now;
            return;
        }
        self.packets = self.packets.saturating_add(segments);
        let time = now.saturating_sub(self.since);
        let window = self.cwnd.saturating_sub((self.alpha / ONE).max(1));
        if self.packets < window || time < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let rate = self.packets.saturating_mul(HZ) / time.max(1);
        if self.delta(path.now) / self.min_rtt <= 3 {
            self.b = rate;
            self.max_b = rate;
        } else {
            self.b = self.b.saturating_mul(3).saturating_add(rate) / 4;
            self.max_b = self.max_b.max(self.b);
        }
        self.packets = 0;
        self.since = now;
    }

    /// Chooses beta at a congestion event (`htcp_beta_update`).
    fn update_beta(&mut self) {
        (self.beta, self.exact_beta) = (BETA.0, 0.5);
        if self.bandwidth_switch {
            let (new, old) = (self.max_b.saturating_mul(5), self.s.old_max_b);
            self.s.old_max_b = self.max_b;
            if new < old.saturating_mul(4) || new > old.saturating_mul(6) {
                self.adaptive = false;
                return;
            }
        }
        if self.adaptive && self.min_rtt > 10 && self.s.max_rtt > 0 {
            self.beta = (self.min_rtt.saturating_mul(ONE) / self.s.max_rtt).clamp(BETA.0, BETA.1);
            self.exact_beta = (self.min_rtt as f64 / self.s.max_rtt as f64).clamp(0.5, 0.8);
        } else {
            self.adaptive = true;
        }
    }

    /// alpha by the kernel's integers (`htcp_alpha_update`).
    fn update_alpha(&mut self, now: Instant) {
        let mut factor = 1;
        let over = self.delta(now).saturating_sub(HZ);
        if over > 0 {
            let square = (over / 2).saturating_mul(over / 2) / HZ;
            factor = 1 + over.saturating_mul(10).saturating_add(square) / HZ;
        }
        if self.rtt_scaling && self.min_rtt > 0 {
            let scale = (HZ * 8 / self.min_rtt.saturating_mul(10)).clamp(4, 80);
            factor = (factor.saturating_mul(8) / scale).max(1);
        }
        self.alpha = factor.saturating_mul(2 * (ONE - self.beta));
    }

    /// alpha in segments per round in real numbers (`draft`).
    fn exact_alpha(&self, now: Instant) -> f64 {
        let scale = if self.rtt_scaling && self.min_rtt > 0 { self.min_rtt as f64 / 100.0 } else { 1.0 };
        2.0 * (1.0 - self.exact_beta) * f(self.delta(now) as f64 / HZ as f64) * scale.clamp(0.1, 2.0)
    }

    /// One ACK's step in congestion avoidance.
    fn avoid(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        if self.draft {
            let share = (self.exact_alpha(path.now) * path.smss.as_f64() / self.fraction.exact(win).max(1.0)).min(1.0);
            self.fraction.add(acked.as_f64() * share, win);
            return;
        }
        if self.count.saturating_mul(self.alpha) / ONE >= growth::whole_segments(win.cwnd, path) {
            win.cwnd += path.smss;
            self.count = 0;
            self.update_alpha(path.now);
        } else {
            self.count = self.count.saturating_add(self.acked);
        }
        self.acked = 1;
    }

    /// Returns ssthresh after updating alpha and beta and decaying RTTmax (`htcp_recalc_ssthresh`).
    fn ssthresh(&mut self, path: &Path, win: &Window) -> Bytes {
        self.update_beta();
        self.update_alpha(path.now);
        if self.min_rtt > 0 && self.s.max_rtt > self.min_rtt {
            self.s.max_rtt = self.min_rtt + (self.s.max_rtt - self.min_rtt).saturating_mul(95) / 100;
        }
        if self.draft {
            return growth::reduced(win.cwnd, self.exact_beta, 2, path);
        }
        path.smss * (growth::whole_segments(win.cwnd, path).saturating_mul(self.beta) / ONE).max(2)
    }

    fn note(&mut self, path: &Path, win: &Window) {
        self.cwnd = growth::whole_segments(win.cwnd, path);
    }
}

impl CongestionControl for Htcp {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.s.last_cong = ticks(path.now);
        self.since = self.s.last_cong;
        self.note(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        let segments = ack.acked.as_u64().div_ceil(path.smss.as_u64().max(1));
        let open = path.phase == Phase::Open;
        if open {
            self.acked = segments;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero() && !self.from_srtt) {
            self.measure_rtt(rtt.as_nanos().div_ceil(1_000_000), open);
        }
        if self.bandwidth_switch {
            self.measure_throughput(segments, path);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if !ack.acked.is_zero() && growth::may_grow(path) {
            if win.in_slow_start(path) {
                let acked = if self.draft { ack.acked } else { ack.delivered };
                growth::slow_start(win, acked, if self.draft { path.smss } else { Bytes::MAX }, path);
            } else {
                if self.from_srtt {
                    self.measure_srtt(path);
                }
                self.avoid(ack.acked, path, win);
            }
        }
        self.note(path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        if !matches!(event, Congestion::Timeout { repeated: true }) {
            self.saved = Some(self.s);
        }
        self.count = 0;
        growth::answer(event, path, win, |win| self.ssthresh(path, win));
        self.s.last_cong = ticks(path.now);
        self.congested = true;
        self.note(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        if core::mem::take(&mut self.congested) && !self.draft {
            self.s.last_cong = ticks(path.now);
        }
        self.note(path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        if let Some(saved) = self.saved.take() {
            self.s = saved;
        }
        self.congested = false;
        self.note(path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        // Delta restarts, so that the steps are Reno's again; what is known of the path stays.
        self.s.last_cong = ticks(path.now);
        self.count = 0;
        self.update_alpha(path.now);
        self.note(path, win);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha as f64 / ONE as f64);
        visit("beta", if self.draft { self.exact_beta } else { self.beta as f64 / ONE as f64 });
        visit("min_rtt", self.min_rtt as f64 / HZ as f64);
        visit("max_rtt", self.s.max_rtt as f64 / HZ as f64);
        visit("max_b", self.max_b as f64);
        visit("old_max_b", self.s.old_max_b as f64);
        visit("last_cong", self.s.last_cong as f64 / HZ as f64);
    }
}
