//! NV: Vegas for data centres, which compares cwnd with what the highest rate of the last rounds needs.
//!
//! # Idea
//! The rate of a flow times the smallest round-trip time is the window that needs no queue. NV takes the highest rate
//! since its last decision, and allows ten segments more. A window above that is reduced by 30 % of the excess; one
//! below it grows as Reno's, or slower after timeouts. A decision takes many round-trip times, because those of hosts
//! with segmentation offload and interrupt coalescing are noisy. The smallest round-trip time is renewed every few
//! seconds, so that a change of route, or a standing queue of its own at the start, does not count for ever.
//!
//! # Sources
//! L. Brakmo, "TCP-NV: An Update to TCP-Vegas", 2010, and Linux 6.1, `net/ipv4/tcp_nv.c` (here).
//!
//! # State
//! | kernel | field | unit |
//! |---|---|---|
//! | `nv_min_rtt`, `nv_min_rtt_new`, `nv_min_rtt_reset_jiffies` | `min_rtt`, `next_min_rtt`, `renewal` | us, us, time |
//! | `nv_last_rtt` | `last_rtt`: mean of the last two, each of weight 1/2 | us |
//! | `nv_rtt_max_rate` | `max_rate` | 100 bit/s |
//! | `nv_rtt_start_seq`, `nv_last_snd_una` | `round_end`, `last_una` | stream offset, bytes |
//! | `nv_rtt_cnt`, `nv_eval_call_cnt` | `rounds`, `samples`: since the last decision | count |
//! | `nv_no_cong_cnt` | `uncongested`: decisions since the last congestion | count |
//! | `cwnd_growth_factor` | `growth`: a segment per 2^-growth windows | - |
//! | `nv_allow_cwnd_growth`, `nv_reset` | `may_grow`, `restarts` | - |
//! | `nv_min_cwnd` of the socket | `least`: segments that a round needs for more than one sample | segments |
//! | `nv_base_rtt`, `nv_lower_bound_rtt` | `settings.base_rtt`, 205/256 of it | us |
//!
//! # Differences
//! | question | Brakmo 2010 | Linux 6.1 | parameter |
//! |---|---|---|---|
//! | window allowed | by the slope of cwnd over rate | rate times `nv_min_rtt`, and 10 | `nv_pad` |
//! | reduction | 30 % of the excess | 38/128 of the excess, at least 2 segments | - |
//! | `nv_min_rtt` is renewed every | - | 3.75 to 6.25 s, at random | `nv_reset_period` |
//! | a known smallest round-trip time | - | from a socket-operations program | `base_rtt` |
//! | left after a loss | 0.8 | 819/1024 | - |
//! | data in flight of a sample | when the segment was sent | delivered since then (5.14) | - |
//!
//! The default is the kernel's form, which hosts can load. Its parameters are those of the module and the one that a
//! program can give. Neither ns-2 nor ns-3 has NV.
//!
//! # Limits
//! * The data in flight are those when the segment was sent. They are what the kernel counts if nothing is lost, and NV
//!   decides in Open and Disorder only.
//! * NV decides when the algorithm handles an ACK that delivers data. The kernel also decides on the duplicate ACK that
//!   begins a recovery, which sets the window anyway.
//! * The kernel raises a window below `nv_min_cwnd` to it at each decision. Here a decision only does not reduce
//!   further.
//! * A recovery forgets the smallest round-trip time, as in the kernel: until the next renewal, a queue that stands
//!   then counts as part of the path.
//! * The highest rate is kept until a decision. Between `nv_pad` and two segments less there is none, so that a short
//!   burst can hold a window for long, as in the kernel.
//! * A window that does not limit the sender still is reduced to what the rate needs, as in the kernel.
//! * Time is exact, not in jiffies. Random periods come from the seed of the run.
//! * The constants that are no parameters of the module are fixed here too.
//!
//! # Vectors
//! `nv_window_for_a_rate`, `nv_excess_falls_by_38_of_128`, `nv_a_small_excess_goes_at_once`,
//! `nv_decides_after_two_rounds_and_60_samples`, `nv_slow_start_ends_after_30_samples`,
//! `nv_grows_after_20_samples_without_congestion`, `nv_between_pad_and_buffer_nothing_changes`,
//! `nv_loss_leaves_819_of_1024`, `nv_timeouts_halve_the_growth`, `nv_growth_recovers_after_eight_decisions`,
//! `nv_min_rtt_is_renewed`, `nv_base_rtt_bounds_the_minimum`, `nv_recovery_forgets_the_round`,
//! `nv_one_sample_a_round_makes_rounds_longer`.

use crate::growth::{self, ByteCounter};
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Window};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Variable};

/// `nv_pad_buffer`: segments below the allowed window in which nothing changes.
const PAD_BUFFER: u64 = 2;
/// `nv_cong_dec_mult`: share of the excess that a decision takes, in 1/128 (30 %).
const DECREASE_128: u64 = 38;
/// `nv_loss_dec_factor`: share of cwnd that a loss leaves, in 1/1024 (80 %).
const LOSS_1024: u64 = 819;
/// `nv_cwnd_growth_rate_neg`: decisions without congestion after which a slowed growth doubles.
const GROWTH_RATE: u64 = 8;
/// `nv_dec_eval_min_calls`, `nv_inc_eval_min_calls`, `nv_ssthresh_eval_min_calls`: samples that a reduction, a growth
/// and the end of the first slow start need.
const SAMPLES: (u32, u32, u32) = (60, 20, 30);
/// `nv_stop_rtt_cnt`: rounds after which growth stops if there are too few samples to reduce.
const STOP_ROUNDS: u32 = 10;
/// `nv_rtt_min_cnt`: rounds that a reduction needs.
const LEAST_ROUNDS: u32 = 2;
/// `NV_MIN_CWND`, `NV_MIN_CWND_GROW` and `NV_TSO_CWND_BOUND` with one more, in segments.
const LEAST: (u64, u64, u64) = (4, 2, 81);
/// Time to the first renewal of the smallest round-trip time.
const FIRST_RENEWAL: Duration = Duration::from_secs(2);

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "nv",
    title: "NV",
    sources: &["Brakmo 2010", "Linux 6.1"],
    params: &[
        Param {
            name: "nv_pad",
            doc: "Segments that may wait in the queue (Linux 10).",
            kind: ParamKind::Number { unit: "segments", default: 10.0, min: 2.0, max: 1e6 },
        },
        Param {
            name: "nv_reset_period",
            doc: "Time after which the smallest round-trip time is renewed, on average (Linux 5).",
            kind: ParamKind::Number { unit: "s", default: 5.0, min: 1.0, max: 1e6 },
        },
        Param {
            name: "nv_min_cwnd",
            doc: "Window below which delay does not reduce (Linux 2).",
            kind: ParamKind::Number { unit: "segments", default: 2.0, min: 2.0, max: 1e6 },
        },
        Param {
            name: "base_rtt",
            doc: "Known round-trip time without a queue, which bounds the smallest one (from a program in Linux); 0 is none.",
            kind: ParamKind::Number { unit: "us", default: 0.0, min: 0.0, max: 1e9 },
        },
    ],
    variables: &[
        Variable::new("min_rtt", "s", "Smallest round-trip time, averaged and renewed; 0 before a sample."),
        Variable::new("last_rtt", "s", "Average of the last round-trip times; 0 before a sample."),
        Variable::new("rtt_cnt", "rounds", "Rounds since the last decision."),
        Variable::new("samples", "samples", "Round-trip times sampled since the last decision."),
        Variable::new("max_rate", "bit/s", "Highest rate since the last decision."),
        Variable::new("max_win", "segments", "Window that the highest rate allowed at the end of the last round."),
        Variable::new("growth_factor", "", "Growth in congestion avoidance is 2 to this power times Reno's."),
        Variable::new("may_grow", "", "1 while no congestion is known and the window may grow, else 0."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("ends slow start by the window that its rate needs"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("nv.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let whole = |name| params.number(&ROW, name) as u64;
    Box::new(Nv {
        settings: Settings {
            pad: whole("nv_pad"),
            period: Duration::from_secs_f64(params.number(&ROW, "nv_reset_period")),
            min_cwnd: whole("nv_min_cwnd"),
            base_rtt: whole("base_rtt"),
        },
        random: Stream::new(params.seed(), 0, "cc/nv", "renewal"),
        counter: ByteCounter::default(),
        min_rtt: None,
        next_min_rtt: None,
        renewal: Instant::ZERO,
        last_rtt: 0,
        max_rate: 0,
        round_end: 0,
        last_una: 0,
        rounds: 0,
        samples: 0,
        uncongested: 0,
        growth: 0,
        may_grow: true,
        restarts: false,
        least: LEAST.0,
        max_win: 0,
        decides: false,
    })
}

/// The module's parameters, and a program's base RTT in microseconds (0: none).
#[derive(Clone, Copy, Debug)]
struct Settings {
    pad: u64,
    period: Duration,
    min_cwnd: u64,
    base_rtt: u64,
}

/// NV by Linux 6.1; see the module's page.
#[derive(Clone, Debug)]
pub struct Nv {
    settings: Settings,
    random: Stream,
    counter: ByteCounter,
    min_rtt: Option<u64>,
    next_min_rtt: Option<u64>,
    renewal: Instant,
    last_rtt: u64,
    max_rate: u64,
    round_end: u64,
    last_una: u64,
    rounds: u32,
    samples: u32,
    uncongested: u64,
    growth: i32,
    may_grow: bool,
    restarts: bool,
    least: u64,
    max_win: u64,
    /// Whether the connection was Open or in Disorder before the present ACK.
    decides: bool,
}

impl Nv {
    /// Begins to measure again (`tcpnv_reset`).
    fn restart(&mut self, path: &Path) {
        (self.restarts, self.uncongested, self.rounds, self.samples) = (false, 0, 0, 0);
        (self.last_rtt, self.max_rate) = (0, 0);
        (self.round_end, self.last_una) = (path.snd_una, path.snd_una);
    }

    /// Takes a sample of the round-trip time and of the rate. `rtt` is in microseconds.
    fn sample(&mut self, rtt: u64, inflight: Bytes, path: &Path) {
        let average = if self.last_rtt > 0 { (rtt + self.last_rtt) / 2 } else { rtt };
        if self.last_rtt == 0 {
            self.min_rtt = Some(average.saturating_mul(2));
        }
        self.last_rtt = average;
        let rate = u128::from(inflight.as_u64()) * 80_000 / u128::from(average.max(1));
        self.max_rate = self.max_rate.max(u64::try_from(rate).unwrap_or(u64::MAX));
        self.samples = self.samples.saturating_add(1).min(255);
        let base = self.settings.base_rtt;
        // The lower bound of 80 % makes flows that see different queues fairer.
        let bounded = if base > 0 { average.clamp((base * 205) >> 8, base) } else { average };
        self.min_rtt = Some(self.min_rtt.map_or(bounded, |min| min.min(bounded)));
        self.next_min_rtt = Some(self.next_min_rtt.map_or(bounded, |min| min.min(bounded)));
        if path.now >= self.renewal {
            self.min_rtt = self.next_min_rtt.take();
            let share = 384 + (self.random.next_u64() & 0xff);
            self.renewal = path.now + Duration::from_nanos(self.settings.period.as_nanos() / 512) * share;
            self.least = (self.least / 2).max(LEAST.0);
        }
    }

    /// Ends a round: decides if there are samples enough.
    fn end_round(&mut self, acked: u64, path: &Path, win: &mut Window) {
        self.round_end = path.snd_nxt;
        self.rounds = self.rounds.saturating_add(1).min(255);
        let smss = path.smss.as_u64().max(1);
        if self.samples == 1 && acked >= (self.least - 1).saturating_mul(smss) && self.least < LEAST.2 {
            self.least = (self.least + LEAST.1).min(LEAST.2);
            self.round_end = path.snd_nxt.saturating_add(self.least.saturating_mul(smss));
            (self.samples, self.may_grow) = (0, true);
            return;
        }
        let min_rtt = self.min_rtt.unwrap_or(0);
        let needed = u128::from(self.max_rate) * u128::from(min_rtt) / (80_000 * u128::from(smss));
        self.max_win = u64::try_from(needed).unwrap_or(u64::MAX).saturating_add(self.settings.pad);
        let (before, cwnd) = (win.cwnd, growth::whole_segments(win.cwnd, path));
        let decided = if cwnd > self.max_win {
            self.is_congested(cwnd, path, win)
        } else {
            cwnd <= self.max_win.saturating_sub(PAD_BUFFER) && self.is_uncongested()
        };
        if decided {
            (self.samples, self.rounds, self.max_rate) = (0, 0, 0);
            // A decision never takes the window below this, and never raises it.
            win.cwnd = win.cwnd.max(before.min(path.smss * self.settings.min_cwnd));
        }
    }

    /// Reduces a window that is above the allowed one, if there are samples and rounds enough.
    fn is_congested(&mut self, cwnd: u64, path: &Path, win: &mut Window) -> bool {
        let (to_reduce, _, to_end_slow_start) = SAMPLES;
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if win.ssthresh.is_none() {
            if self.samples < to_end_slow_start {
                return false;
            }
        } else if self.samples < to_reduce {
            self.may_grow &= self.rounds <= STOP_ROUNDS;
            return false;
        }
        self.may_grow = false;
        win.ssthresh = Some(path.smss * self.max_win.max(2));
        let excess = cwnd - self.max_win;
        let less = if excess > 2 { (excess.saturating_mul(DECREASE_128) >> 7).max(2) } else { excess };
        win.cwnd = path.smss * (cwnd - less);
        self.growth = self.growth.min(0);
        self.uncongested = 0;
        true
    }

    /// Allows growth, if there are samples enough.
    fn is_uncongested(&mut self) -> bool {
        if self.samples < SAMPLES.1 {
            return false;
        }
        self.may_grow = true;
        self.uncongested += 1;
        if self.growth < 0 && self.uncongested > GROWTH_RATE {
            self.growth += 1;
            self.uncongested = 0;
        }
        true
    }
}

impl CongestionControl for Nv {
    fn needs(&self) -> Needs {
        Needs { acks: true, rates: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.restart(path);
        self.renewal = path.now + FIRST_RENEWAL;
    }

    fn observe(&mut self, _ack: &Ack, path: &Path) {
        self.decides = matches!(path.phase, Phase::Open | Phase::Disorder);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if let Some(rtt) = ack.rtt.filter(|_| self.decides) {
            let acked = path.snd_una.saturating_sub(self.last_una);
            self.last_una = path.snd_una;
            let inflight = ack.rate.map_or(path.flightsize + ack.acked, |rate| rate.tx_inflight);
            if !inflight.is_zero() {
                self.sample(rtt.as_micros(), inflight, path);
                if path.snd_una > self.round_end {
                    self.end_round(acked, path, win);
                }
            }
        }
        if ack.acked.is_zero() || !growth::may_grow(path) || !self.may_grow {
            return;
        }
        let mut left = ack.delivered;
        if win.in_slow_start(path) {
            left = growth::slow_start(win, left, Bytes::MAX, path);
        }
        if !left.is_zero() {
            let cwnd = growth::whole_segments(win.cwnd, path);
            let per = if self.growth < 0 { cwnd.saturating_mul(1 << -self.growth) } else { cwnd.max(4) };
            self.counter.add(left, path.smss * per, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        (self.restarts, self.may_grow) = (true, false);
        if matches!(event, Congestion::Timeout { .. }) {
            self.growth = (self.growth.min(0) - 1).max(-8);
        }
        growth::answer(event, path, win, |win| growth::reduced_segments(win.cwnd, LOSS_1024, 2, path));
    }

    fn on_recovered(&mut self, path: &Path, _win: &mut Window) {
        if self.restarts {
            self.restart(path);
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("min_rtt", self.min_rtt.unwrap_or(0) as f64 / 1e6);
        visit("last_rtt", self.last_rtt as f64 / 1e6);
        visit("rtt_cnt", f64::from(self.rounds));
        visit("samples", f64::from(self.samples));
        visit("max_rate", self.max_rate as f64 * 100.0);
        visit("max_win", self.max_win as f64);
        visit("growth_factor", f64::from(self.growth));
        visit("may_grow", f64::from(u8::from(self.may_grow)));
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
