//! YeAH: Scalable TCP while the queue is short, Reno while it is not; YeAH drains the queue itself.
//!
//! # Idea
//! Vegas' measure of the segments in the queue selects one of two modes. Fast mode grows by one hundredth per round, as
//! Scalable TCP does, and fills a long fat path in seconds. Once the queue or the delay shows that the path is full,
//! slow mode grows as Reno. What waits in the queue is subtracted from the window before it is lost (precautionary
//! decongestion). The number of rounds in slow mode shows whether the flow competes with Reno flows. If it does, the
//! window stays above an estimate of theirs, and a loss halves it.
//!
//! # Sources
//! A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; Linux 6.1,
//! `net/ipv4/tcp_yeah.c`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | RTT_base, RTT_min | `baseRTT`, `minRTT` | `rounds` | time |
//! | Q | `lastQ` | `queue` | segments |
//! | L | - | computed at each end of a round | time |
//! | count_reno | `reno_count` | `reno_count` | segments |
//! | count_fast | `fast_count` | `fast_count` | rounds |
//! | - | `doing_reno_now` | `slow_rounds` | rounds |
//! | Q_max, gamma, delta, epsilon, phi, rho, zeta | `TCP_YEAH_ALPHA` and others | `settings` | see the parameters |
//!
//! ```text
//!           Q > alpha, or RTT_min - RTT_base > RTT_base / phy
//!   Fast ------------------------------------------------------> Slow (Q > alpha: cwnd -= Q)
//!       <------------------------------------------------------
//!                 neither, at the end of a round
//! ```
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-3 | ns-2 TCP-Linux | parameter |
//! |---|---|---|---|---|---|
//! | slow at a delay above | base / phi | base / 8 | base (1/8 is 0 in its integers) | base / 8 | `phy` |
//! | Q | real | whole segments | whole segments | whole segments | - |
//! | reduced on loss | max(Q, cwnd/8), or half | the same | swaps Q's bounds, FlightSize | as Linux | `delta`, `rho` |
//! | fast mode counts | ACKs | segments acknowledged | segments acknowledged | ACKs, and one more | - |
//! | an idle time | - | forgets the base | forgets the base | forgets the base | - |
//!
//! We follow Linux, whose module the paper's authors wrote. It differs from the paper in its integers only. In ns-3 any
//! queueing selects slow mode; there is no switch for that fault (`phy = 1000` is close to it).
//!
//! # Limits
//! * A loss takes at least one segment. The kernel takes none if cwnd is below 8 and it has seen no queue, which RFC
//!   5681 does not allow.
//! * A round that cwnd did not limit is not evaluated, as in the kernel, which returns before it measures.
//! * The module of 2007 in ns-2 counts ACKs. There is no profile for it.
//!
//! # Vectors
//! `yeah_queue_decides_the_mode`, `yeah_reduction_on_loss`, `yeah_linux_from_300`,
//! `yeah_competes_with_reno_after_rho_rounds`, `yeah_zeta_fast_rounds_forget_reno`,
//! `yeah_window_stays_above_the_estimate_of_reno`, `yeah_loss_takes_a_segment_at_least`,
//! `yeah_idleness_forgets_the_base`.

use crate::growth::{self, ByteCounter};
use crate::rounds::{self, Rounds, linux_sample};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Sent, Window};
use narrows_units::{Bytes, Duration, Variable};

/// A whole number.
const fn whole(name: &'static str, doc: &'static str, unit: &'static str, default: f64, min: f64, max: f64) -> Param {
    Param { name, doc, kind: ParamKind::Number { unit, default, min, max } }
}

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "yeah",
    title: "YeAH",
    sources: &["Baiocchi, Castellani, Vacirca 2007", "Linux 6.1"],
    params: &[
        whole("alpha", "Q_max, most segments that may wait in the queue (Linux 80).", "segments", 80.0, 1.0, 1e6),
        whole("gamma", "Part of the queue that a round takes off the window: 1/gamma (Linux 1).", "", 1.0, 1.0, 100.0),
        whole("delta", "A loss takes at least 1/2^delta of the window (Linux 3).", "", 3.0, 1.0, 7.0),
        whole("epsilon", "Decongestion takes at most 1/2^epsilon of the window (Linux 1).", "", 1.0, 1.0, 7.0),
        whole("phy", "Slow mode where the queue's delay is above 1/phy of the path's (Linux 8).", "", 8.0, 1.0, 1000.0),
        whole("rho", "Rounds in slow mode after which a loss halves the window (Linux 16).", "rounds", 16.0, 1.0, 1e6),
        whole("zeta", "Rounds in fast mode that forget the estimate of Reno (Linux 50).", "rounds", 50.0, 1.0, 1e6),
    ],
    variables: &[
        Variable::new("base_rtt", "s", "RTT_base, the smallest round-trip time; 0 before a sample."),
        Variable::new("queue", "segments", "Q, the flow's segments in the queue at the end of the last round."),
        Variable::new("slow_rounds", "rounds", "Consecutive rounds in slow mode; 0 in fast mode."),
        Variable::new("reno_count", "segments", "count_reno, the estimate of the window that a Reno flow would have."),
        Variable::new("fast_count", "rounds", "count_fast, the rounds in fast mode."),
        Variable::new("snd_cwnd_cnt", "bytes", "Bytes acknowledged since the window last grew."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("ends slow start by its own estimate of the queue"),
    },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("yeah.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let number = |name| params.number(&ROW, name) as u64;
    Box::new(Yeah {
        settings: Settings {
            alpha: number("alpha"),
            gamma: number("gamma").max(1),
            delta: number("delta").min(63) as u32,
            epsilon: number("epsilon").min(63) as u32,
            phy: number("phy").max(1),
            rho: number("rho"),
            zeta: number("zeta"),
        },
        rounds: Rounds::default(),
        counter: ByteCounter::default(),
        open: true,
        queue: 0,
        slow_rounds: 0,
        reno_count: LEAST,
        fast_count: 0,
    })
}

/// Smallest estimate of a Reno flow's window, in segments.
const LEAST: u64 = 2;

/// Fast mode adds a segment per this many acknowledged, at most (Scalable TCP).
const SCALABLE: u64 = 100;

#[derive(Clone, Copy, Debug)]
struct Settings {
    alpha: u64,
    gamma: u64,
    delta: u32,
    epsilon: u32,
    phy: u64,
    rho: u64,
    zeta: u64,
}

/// YeAH; see the module's page.
#[derive(Clone, Debug)]
pub struct Yeah {
    settings: Settings,
    rounds: Rounds,
    counter: ByteCounter,
    /// Whether the connection was Open at the last check.
    open: bool,
    /// Q at the end of the last round, in segments.
    queue: u64,
    /// Consecutive rounds in slow mode; 0 is fast mode.
    slow_rounds: u64,
    /// Estimate of the window that a Reno flow would have, in segments.
    reno_count: u64,
    fast_count: u64,
}

impl Yeah {
    /// Restarts measuring when the connection is Open again.
    fn follow(&mut self, path: &Path) {
        let open = path.phase == Phase::Open;
        if open && !self.open {
            self.rounds.begin(path);
        }
        self.open = open;
    }

    fn grow(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let mut left = acked;
        if win.in_slow_start(path) {
            left = growth::slow_start(win, acked, Bytes::MAX, path);
            if left.is_zero() {
                return;
            }
        }
        let cwnd = growth::whole_segments(win.cwnd, path);
        let per = if self.slow_rounds == 0 { cwnd.min(SCALABLE) } else { cwnd };
        self.counter.add(left, path.smss * per, path, win);
    }

    /// Chooses the mode at the end of a round.
    fn decide(&mut self, base: Duration, rtt: Duration, path: &Path, win: &mut Window) {
        let (cwnd, delay) = (growth::whole_segments(win.cwnd, path), rtt - base);
        self.queue = rounds::share(cwnd, delay, rtt);
        let full = self.queue > self.settings.alpha;
        if !full && delay <= base / self.settings.phy {
            self.slow_rounds = 0;
            self.fast_count += 1;
            if self.fast_count > self.settings.zeta {
                self.reno_count = LEAST;
                self.fast_count = 0;
            }
            return;
        }
        let mut now = cwnd;
        if full && cwnd > self.reno_count {
            let off = (self.queue / self.settings.gamma).min(cwnd >> self.settings.epsilon);
            now = cwnd.saturating_sub(off).max(self.reno_count);
            win.cwnd = win.cwnd.min(path.smss * now);
            win.ssthresh = Some(win.cwnd);
        }
        self.reno_count =
            if self.reno_count <= LEAST { (now / 2).max(LEAST) } else { self.reno_count.saturating_add(1) };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }

    /// Returns the threshold after a congestion event and updates the estimates.
    fn reduce(&mut self, path: &Path, win: &Window) -> Bytes {
        let cwnd = growth::whole_segments(win.cwnd, path);
        let half = (cwnd / 2).max(LEAST);
        let off = if self.slow_rounds < self.settings.rho {
            self.queue.min(half).max(cwnd >> self.settings.delta).max(1)
        } else {
            half
        };
        self.fast_count = 0;
        self.reno_count = (self.reno_count / 2).max(LEAST);
        path.smss * cwnd.saturating_sub(off).max(2)
    }
}

impl CongestionControl for Yeah {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.rounds.forget(path);
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(linux_sample(rtt));
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.follow(path);
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        self.grow(ack.delivered, path, win);
        if self.rounds.ended(path) {
            if let (Some(base), Some(rtt), 3..) = (self.rounds.base(), self.rounds.min(), self.rounds.samples()) {
                self.decide(base, rtt, path, win);
            }
            self.rounds.begin(path);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.counter.reset();
        self.open = false;
        growth::answer(event, path, win, |win| self.reduce(path, win));
    }

    fn on_recovered(&mut self, path: &Path, _win: &mut Window) {
        self.follow(path);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, _win: &mut Window) {
        if !sent.idle.is_zero() {
            self.rounds.forget(path);
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("base_rtt", self.rounds.base().unwrap_or(Duration::ZERO).as_secs_f64());
        visit("queue", self.queue as f64);
        visit("slow_rounds", self.slow_rounds as f64);
        visit("reno_count", self.reno_count as f64);
        visit("fast_count", self.fast_count as f64);
        visit("snd_cwnd_cnt", self.counter.counted().as_f64());
    }
}
