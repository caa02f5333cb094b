//! TCP-LP: a flow for background transfers, which gives way before others lose packets.
//!
//! # Idea
//! The delay towards the receiver rises before a queue overflows. If the smoothed one-way delay exceeds 15 % of the
//! range ever seen, TCP-LP takes it for an early sign of congestion. It halves its window and waits for three
//! round-trip times (the inference phase). If the sign is still there, others need the path, and the window becomes one
//! segment. Without signs TCP-LP grows as Reno and uses what others leave.
//!
//! # Sources
//! A. Kuzmanovic, E. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", ToN 14(4), 2006
//! (INFOCOM 2003); Linux 6.1, `net/ipv4/tcp_lp.c`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | d, smoothed one-way delay | `sowd` (times 8) | `smoothed` | time |
//! | d_min, d_max | `owd_min`, `owd_max` | `min`, `max` | time |
//! | - | `owd_max_rsv` | `reserve` (`linux`) | time |
//! | rate of the receiver's clock | `remote_hz` | `remote_hz` (`linux`) | Hz |
//! | inference phase | `inference`, `last_drop` | the same | time |
//! | delta | 15 / 100 | `delta` | - |
//!
//! ```text
//!           early sign: cwnd / 2                       early sign: cwnd = 1, the phase restarts
//!   Growing -----------------------> Inference, frozen ----+
//!       ^                              |         ^---------+
//!       +------ phase is over ---------+
//! ```
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-3 | ns-2 TCP-Linux | parameter |
//! |---|---|---|---|---|---|
//! | an early sign, of d against the threshold | above | at or above | above | at or above | `profile` |
//! | the clocks' offset | cancels | counts, and wraps | none | none | `profile`, `timestamp_offsets` |
//! | the receiver's clock | as the sender's | rate by pairs of stamps | as the sender's | as Linux | `profile` |
//! | after a sign | the range is kept | d_min = d, d_max = 2 d | as Linux | as Linux | `profile` |
//! | d_max | the largest | the largest but one | as Linux | as Linux | `profile` |
//! | inference phase | 3 RTT | 3 times the time since the echo | as Linux | as Linux | `inference` |
//! | signs in the first slow start | none (it finds the range) | count | count | count | `profile` |
//! | slow start after a sign | over: growth is additive | continues, ssthresh kept | as Linux | as Linux | `profile` |
//! | frozen in it | growth | growth | avoidance only | growth | - |
//! | unit of d | real | whole milliseconds | whole milliseconds | milliseconds | - |
//!
//! The default follows the paper, because it does what the name promises: it gives way, and it fills a path that nobody
//! else needs.
//!
//! **Linux's module is Reno in practice.** After each sign it makes its range from the delay itself, which includes the
//! offset between the clocks. With an offset of seconds, no queue reaches 15 % of that range. Linux gives the
//! timestamps between two hosts a random offset (`secure_tcp_ts_off`); `stack = "linux"` has it too
//! (`timestamp_offsets`). In seven of eight cases the clocks then differ by more than 2^29 ms. The smoothed delay wraps
//! there, and no sign ever comes. In the other cases signs come where the estimate of the receiver's clock exceeds 1000
//! Hz, and not where a queue is. On 20 Mb/s and 80 ms such a flow gets 15.2 to 16.4 Mb/s, compared with 18.9 for Reno
//! (4 of 24 seeds; Linux 6.1 in a virtual machine gets 15.5). So it gives way to nobody.
//!
//! Only if the clocks agree (`timestamp_offsets = false`; on Linux `net.ipv4.tcp_timestamps = 2` between two namespaces
//! of one machine) does the module react to a queue. Then it leaves ssthresh "arbitrarily high". A flow reduced to one
//! segment enters slow start again, takes the queue of its own bursts for the queue of others, and is reduced again.
//! Alone on 10 Mb/s and 40 ms it gets 0.235 Mb/s; Linux 6.1 gets 0.226. `profile = "linux"` reproduces all of this.
//!
//! # Limits
//! * One-way delays need timestamps (RFC 7323). Without them the algorithm is Reno.
//! * The kernel takes a sign from its first two samples, before there is a range. It halves the first window if the
//!   clocks agree. We keep this.
//! * A sign on the ACK that begins a recovery reduces the window before the recovery halves it, as in the kernel. The
//!   reduction step still starts from the window before the sign.
//! * `stack = "ns2"` has no timestamps, so the algorithm is Reno there unless `timestamps = true` is set. Timestamps
//!   take 12 bytes of each packet, which ns-2 does not count.
//! * In the paper profile, a sign within one round-trip time of the previous one is ignored, because it concerns data
//!   sent before the reduction. The paper does not say when the next sign counts. If it counted at once, every sign
//!   would end at one segment.
//! * An ACK of one segment that leaves nothing in flight may have waited for the receiver's timer (RFC 1122, section
//!   4.2.3.2), and so would its timestamp. In the paper profile it gives no sample. Otherwise a flow reduced to one
//!   segment would take the timer for congestion from then on. The kernel, and so the Linux profile, uses the sample.
//! * In recovery the recovery sets the window. A sign there changes only the range and the phase, as in the kernel. The
//!   ACK that ends a recovery still belongs to it.
//!
//! # Vectors
//! `lp_threshold_halves_then_leaves_one`, `lp_is_frozen_for_three_rounds`, `lp_range_moves_one_record_late`,
//! `lp_linux_makes_a_new_range_after_a_sign`, `lp_paper_keeps_its_range`, `lp_linux_with_clocks_apart_is_reno`,
//! `lp_linux_beyond_2_to_29_ms_sees_no_sign`, `lp_linux_guesses_the_rate_of_the_peers_clock`,
//! `lp_without_timestamps_is_reno`, `lp_loss_is_reno`, `lp_sign_in_recovery_cuts_nothing`,
//! `lp_linux_first_range_is_a_sign`, `lp_linux_sign_that_comes_with_a_loss_cuts_first`, `lp_wrap_of_the_timestamps`,
//! `lp_a_delayed_ack_is_no_congestion`, `lp_paper_ends_slow_start_at_a_sign`,
//! `lp_paper_finds_its_range_in_the_first_slow_start`.

pub mod linux;

use crate::delays::ClockDifference;
use crate::growth::{self, ByteCounter};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Window};
use narrows_units::{Duration, Instant, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "lp",
    title: "TCP-LP",
    sources: &["Kuzmanovic, Knightly 2006", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Range of delays: paper keeps it, linux makes a new one after each early sign and leaves slow start as it is.",
            kind: ParamKind::Choice { default: "paper", allowed: &["paper", "linux"] },
        },
        Param {
            name: "delta",
            doc: "Share of the range of delays that is an early sign of congestion (0.15 in the paper and Linux).",
            kind: ParamKind::Number { unit: "", default: 0.15, min: 0.01, max: 1.0 },
        },
        Param {
            name: "inference",
            doc: "Length of the inference phase (3 in the paper and Linux).",
            kind: ParamKind::Number { unit: "RTT", default: 3.0, min: 0.0, max: 100.0 },
        },
    ],
    variables: &[
        Variable::new(
            "smoothed_delay",
            "s",
            "d, the smoothed one-way delay with the offset of the clocks; 0 before a sample.",
        ),
        Variable::new("min_delay", "s", "d_min, the smallest one-way delay with the offset of the clocks."),
        Variable::new("max_delay", "s", "d_max, the largest one-way delay with the offset of the clocks."),
        Variable::new("threshold", "s", "Delay above which TCP-LP infers congestion."),
        Variable::new("remote_hz", "Hz", "Estimated rate of the receiver's timestamp clock (`linux`)."),
        Variable::new("inference", "", "1 in the inference phase, else 0."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("lp.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let (delta, rounds) = (params.number(&ROW, "delta"), params.number(&ROW, "inference"));
    if params.choice(&ROW, "profile") == "linux" {
        return Box::new(linux::LpLinux::new(delta, rounds));
    }
    Box::new(Lp {
        delta,
        rounds,
        counter: ByteCounter::default(),
        searching: true,
        clocks: ClockDifference::default(),
        smoothed: None,
        min: None,
        max: Duration::ZERO,
        inference: Duration::ZERO,
        last_drop: None,
        frozen: false,
        cut: None,
    })
}

/// The reduction that an early congestion indication asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Half,
    ToOne,
}

impl Cut {
    /// Reduces the window.
    fn apply(self, path: &Path, win: &mut Window) {
        let left = match self {
            Self::ToOne => path.smss,
            Self::Half => path.smss * (growth::whole_segments(win.cwnd, path) / 2).max(1),
        };
        win.cwnd = win.cwnd.min(left);
    }
}

/// TCP-LP by the paper; see the module's page.
#[derive(Clone, Debug)]
pub struct Lp {
    delta: f64,
    /// Length of the inference phase in round-trip times.
    rounds: f64,
    counter: ByteCounter,
    /// Whether ssthresh is still "arbitrarily high".
    searching: bool,
    clocks: ClockDifference,
    smoothed: Option<Duration>,
    min: Option<Duration>,
    max: Duration,
    inference: Duration,
    last_drop: Option<Instant>,
    /// Whether the inference phase is running.
    frozen: bool,
    /// Reduction that the last indication asks for, pending until a hook may change the window.
    cut: Option<Cut>,
}

impl Lp {
    /// The one-way delay, with the offset between the clocks.
    fn delay(&mut self, difference: Duration) -> Duration {
        Duration::from_micros(u64::try_from(self.clocks.micros(difference)).unwrap_or(0))
    }

    /// Adds a one-way delay to the range and to the smoothed delay.
    fn sample(&mut self, delay: Duration) {
        self.min = Some(self.min.map_or(delay, |min| min.min(delay)));
        self.max = self.max.max(delay);
        // 7/8 of the old value and 1/8 of the sample, as in RFC 6298.
        self.smoothed = Some(match self.smoothed {
            Some(smoothed) if delay >= smoothed => smoothed + (delay - smoothed) / 8,
            Some(smoothed) => smoothed - (smoothed - delay) / 8,
            None => delay,
        });
    }

    /// The delay above which an early indication is given: `min + delta (max - min)`.
    fn threshold(&self) -> Duration {
        let min = self.min.unwrap_or(Duration::ZERO);
        min + (self.max - min).mul_f64(self.delta)
    }

    /// Whether the smoothed delay indicates early congestion.
    fn sign(&self) -> bool {
        let threshold = self.threshold();
        self.smoothed.is_some_and(|d| d > threshold)
    }
}

impl CongestionControl for Lp {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        let timed = ack.acked <= path.smss && path.flightsize.is_zero();
        if let (Some(difference), Some(rtt), false) = (ack.one_way_delay, ack.rtt, timed) {
            let delay = self.delay(difference);
            self.sample(delay);
            self.inference = rtt.mul_f64(self.rounds);
        }
        let since = self.last_drop.map(|at| path.now.since(at));
        self.frozen = since.is_some_and(|since| since < self.inference);
        // In the round after a reduction, delays still belong to segments sent before it. During the first slow start
        // only the range of delays is measured; it is used after the first loss.
        let stale = since.is_some_and(|since| ack.rtt.is_none_or(|rtt| since < rtt));
        if self.searching || stale || timed || !self.sign() {
            return;
        }
        if matches!(path.phase, Phase::Open | Phase::Disorder | Phase::Loss) {
            self.cut = Some(if self.frozen { Cut::ToOne } else { Cut::Half });
        }
        self.last_drop = Some(path.now);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.searching = win.ssthresh.is_none();
        if let Some(cut) = self.cut.take() {
            cut.apply(path, win);
            win.ssthresh = Some(win.cwnd.max(path.smss * 2));
        }
        if !ack.acked.is_zero() && !self.frozen && growth::may_grow(path) {
            growth::linux_reno(&mut self.counter, ack.delivered, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        // The recovery's reduction replaces that of the indication.
        self.cut = None;
        growth::answer(event, path, win, |win| growth::reduced_segments(win.cwnd, 512, 2, path));
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("smoothed_delay", self.smoothed.unwrap_or(Duration::ZERO).as_secs_f64());
        visit("min_delay", self.min.unwrap_or(Duration::ZERO).as_secs_f64());
        visit("max_delay", self.max.as_secs_f64());
        visit("threshold", self.threshold().as_secs_f64());
        visit("inference", f64::from(u8::from(self.frozen)));
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
