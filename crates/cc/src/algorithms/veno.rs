//! Veno: Reno that decides at a loss whether congestion caused it.
//!
//! # Idea
//! Vegas' measure of the segments in the queue distinguishes two kinds of loss. With fewer than beta segments in the
//! queue the path was not full, so the loss was probably random, as on radio links, and takes one fifth of the window.
//! With more, the window is halved as in Reno. In that congestive state the window also grows in every other round
//! only.
//!
//! # Sources
//! C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", JSAC 21(2), 2003;
//! Linux 6.1, `net/ipv4/tcp_veno.c`, and its ancestor of 2006 in ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | BaseRTT, RTT, samples | `basertt`, `minrtt`, `cntrtt` | `base`, `min`, `samples` | time, time, count |
//! | N | `diff` | `backlog` | segments, half segments in the kernel |
//! | beta | `beta` | `beta` | segments |
//! | - | `inc` | `grows` | - |
//! | - | `doing_veno_now` | `doing` | - |
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-3 | ns-2 TCP-Linux | parameter |
//! |---|---|---|---|---|---|
//! | N | real | whole half segments, rounded up | whole segments | as Linux | `profile` |
//! | RTT in N | of the last ACK | smallest since the last ACK that grew | smallest | as Linux | - |
//! | congestive state | +1 per 2 rounds | +1 per 2 rounds | **+1 per round** | +1 per 2 rounds | `profile` |
//! | after a timeout | half | by N, as after a loss | by N | by N | `profile` |
//! | an ACK without sample | - | a whole window of backlog | - | a whole window | `profile` |
//! | an idle time | - | forgets BaseRTT | forgets BaseRTT | forgets BaseRTT | `profile` |
//! | counted | ACKs | segments acknowledged | segments acknowledged | ACKs, and one more | `profile` |
//!
//! The default follows Linux, because it is what hosts run. `profile = "paper"` is the paper's rule in real numbers.
//! `profile = "ns2"` counts ACKs, as the module of 2006 did. ns-3 forgets its samples on every ACK, so it never has
//! enough of them and always takes the branch for too few samples. Its increase is NewReno's, and only its response to
//! a loss is Veno's. There is no switch for that fault; a test checks that ours follows the rule.
//!
//! # Limits
//! * The smallest round-trip time since the last ACK that grew is nearly always the ACK's own.
//! * The paper describes one estimate per round-trip time. Its profile evaluates each sample.
//! * The handshake's round-trip time is no sample, as in the kernel.
//!
//! # Vectors
//! `veno_backlog_decides_the_answer_to_a_loss`, `veno_linux_from_40`, `veno_congestive_increase_is_not_newreno`,
//! `veno_grows_as_reno_without_backlog`, `veno_paper_halves_after_a_timeout`,
//! `veno_linux_without_sample_sees_a_full_window`, `veno_linux_idleness_forgets_the_base`, `veno_is_reno_outside_open`,
//! `veno_ns2_counts_acks`, `veno_ns3_increase_would_be_newreno`.

use crate::growth::{self, AckCounter, ByteCounter, Fraction};
use crate::rounds::{linux_sample, without_queue};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Phase, Sent, Window};
use narrows_units::{Bytes, Duration, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "veno",
    title: "Veno",
    sources: &["Fu, Liew 2003", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: linux is Linux 6.1, paper Fu and Liew in real numbers, ns2 the module of 2006.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "paper", "ns2"] },
        },
        Param {
            name: "beta",
            doc: "Backlog from which the path counts as congested (3 in the paper and Linux, which rounds to halves).",
            kind: ParamKind::Number { unit: "segments", default: 3.0, min: 0.5, max: 1000.0 },
        },
    ],
    variables: &[
        Variable::new("base_rtt", "s", "BaseRTT, the smallest round-trip time; 0 before a sample."),
        Variable::new("backlog", "segments", "N, the flow's segments in the queue."),
        Variable::new("grows", "", "1 if the next window in the congestive state adds a segment, else 0."),
        Variable::new("doing_veno", "", "1 while the connection is Open and Veno decides, else 0."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("veno.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let increase = match params.choice(&ROW, "profile") {
        "paper" => Increase::Spread(Fraction::default()),
        "ns2" => Increase::Acks(AckCounter::default()),
        _ => Increase::Bytes(ByteCounter::default()),
    };
    Box::new(Veno {
        increase,
        beta: params.number(&ROW, "beta"),
        base: None,
        min: None,
        samples: 0,
        backlog: 0.0,
        grows: true,
        doing: true,
    })
}

/// What the kernel computes with before the first sample: the largest positive number of microseconds.
const NO_SAMPLE: Duration = Duration::from_micros(0x7fff_ffff);

/// How the window grows, by profile.
#[derive(Clone, Debug)]
enum Increase {
    /// Linux 6.1: counts acknowledged segments.
    Bytes(ByteCounter),
    /// The module of 2006: counts ACKs.
    Acks(AckCounter),
    /// The paper: adds a fraction with each ACK.
    Spread(Fraction),
}

impl Increase {
    /// Adds one segment for each window acknowledged.
    fn reno(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let segments = growth::whole_segments(win.cwnd, path);
        match self {
            Self::Bytes(counter) => counter.add(acked, path.smss * segments, path, win),
            Self::Acks(counter) => counter.add(segments, path, win),
            Self::Spread(fraction) => fraction.add(spread(acked, path, win), win),
        }
    }

    /// Adds one segment for every other window acknowledged; `grows` is whether this window adds one.
    fn every_other(&mut self, grows: &mut bool, acked: Bytes, path: &Path, win: &mut Window) {
        let segments = growth::whole_segments(win.cwnd, path);
        let before = win.cwnd;
        match self {
            Self::Bytes(counter) if counter.counted() < path.smss * segments => return counter.note(acked),
            Self::Bytes(counter) => counter.reset(),
            Self::Acks(counter) => {
                counter.add(segments, path, win);
                if win.cwnd == before {
                    return;
                }
            }
            Self::Spread(fraction) => return fraction.add(spread(acked, path, win) / 2.0, win),
        }
        win.cwnd = if *grows { before + path.smss } else { before };
        *grows = !*grows;
    }

    fn reset(&mut self) {
        if let Self::Bytes(counter) = self {
            counter.reset();
        }
    }
}

/// One segment spread over the window: `SMSS * acked / cwnd`, at most a segment.
fn spread(acked: Bytes, path: &Path, win: &Window) -> f64 {
    path.smss.as_f64() * (acked.as_f64() / win.cwnd.as_f64().max(1.0)).min(1.0)
}

/// Veno; see the module's page.
#[derive(Clone, Debug)]
pub struct Veno {
    increase: Increase,
    /// In segments.
    beta: f64,
    base: Option<Duration>,
    min: Option<Duration>,
    samples: u32,
    /// N, in segments.
    backlog: f64,
    /// Whether the next window in the congestive state adds a segment.
    grows: bool,
    /// Whether the connection is Open.
    doing: bool,
}

impl Veno {
    fn paper(&self) -> bool {
        matches!(self.increase, Increase::Spread(_))
    }

    /// Computes N for the present window.
    fn measure(&mut self, path: &Path, win: &Window) {
        let (base, min) = (self.base.unwrap_or(NO_SAMPLE), self.min.unwrap_or(NO_SAMPLE));
        if self.paper() {
            if let (Some(base), Some(rtt)) = (self.base, self.min) {
                let waiting = 1.0 - base.as_secs_f64() / rtt.as_secs_f64().max(1e-9);
                self.backlog = win.cwnd.segments(path.smss) * waiting.clamp(0.0, 1.0);
            }
            return;
        }
        let halves = growth::whole_segments(win.cwnd, path).saturating_mul(2);
        self.backlog = halves.saturating_sub(without_queue(halves, base, min)) as f64 / 2.0;
    }

    fn congested(&self) -> bool {
        self.backlog >= self.beta
    }

    fn grow(&mut self, ack: &Ack, path: &Path, win: &mut Window, congested: bool) {
        let mut left = ack.delivered;
        if win.in_slow_start(path) {
            let limit = if let Increase::Acks(_) = self.increase { path.smss } else { Bytes::MAX };
            left = growth::slow_start(win, left, limit, path);
            if left.is_zero() {
                return;
            }
        }
        if congested {
            self.increase.every_other(&mut self.grows, left, path, win);
        } else {
            self.increase.reno(left, path, win);
        }
    }

    fn ssthresh(&self, event: &Congestion, path: &Path, win: &Window) -> Bytes {
        let by_timeout = matches!(event, Congestion::Timeout { .. });
        let cwnd = growth::whole_segments(win.cwnd, path);
        let left = if self.congested() || (self.paper() && by_timeout) { cwnd / 2 } else { cwnd.saturating_mul(4) / 5 };
        path.smss * left.max(2)
    }
}

impl CongestionControl for Veno {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn observe(&mut self, ack: &Ack, _path: &Path) {
        if let Some(rtt) = ack.rtt {
            let rtt = if self.paper() { rtt } else { linux_sample(rtt) };
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let open = path.phase == Phase::Open;
        if open && !self.doing {
            self.min = None;
        }
        self.doing = open;
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        if !self.doing || self.samples <= 2 {
            self.grow(ack, path, win, false);
        } else {
            self.measure(path, win);
            let congested = self.congested();
            self.grow(ack, path, win, congested);
            win.cwnd = win.cwnd.max(path.smss * 2);
        }
        if self.doing {
            self.min = None;
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.increase.reset();
        self.doing = false;
        growth::answer(event, path, win, |win| self.ssthresh(event, path, win));
    }

    fn on_sent(&mut self, sent: &Sent, _path: &Path, _win: &mut Window) {
        if !sent.idle.is_zero() && !self.paper() {
            self.base = None;
            self.min = None;
            self.grows = true;
            self.doing = true;
        }
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("base_rtt", self.base.unwrap_or(Duration::ZERO).as_secs_f64());
        visit("backlog", self.backlog);
        visit("grows", f64::from(u8::from(self.grows)));
        visit("doing_veno", f64::from(u8::from(self.doing)));
    }
}
