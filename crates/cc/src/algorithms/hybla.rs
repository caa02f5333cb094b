//! Hybla: long paths grow as fast in time as a path of 25 ms.
//!
//! # Idea
//! Reno adds one segment per round-trip time, so a flow over a satellite gets a small share beside a flow over a cable.
//! Hybla grows at the speed of a reference path of RTT0 = 25 ms. With rho = RTT / RTT0, an ACK adds 2^rho - 1 segments
//! in slow start and rho² / cwnd in congestion avoidance. A loss halves the window, as in Reno.
//!
//! # Sources
//! C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22(5), 2004; Linux 6.1, `net/ipv4/tcp_hybla.c`, and its ancestor of 2007 in
//! ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | kernel | field | unit |
//! |---|---|---|---|
//! | RTT0 | `rtt0` | `rtt0` | ms |
//! | rho | `rho_3ls` | `rho8` | eighths |
//! | smallest srtt | `minrtt_us` | `least` | time |
//! | parts of a segment | `snd_cwnd_cents` | `cents` | 1/128 segment |
//! | ACKs since the last step | `snd_cwnd_cnt` | `idle_acks` | ACKs |
//! | - | - | `fraction` (part of a byte in cwnd, `paper`) | bytes |
//!
//! # Differences
//! | question | paper | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|
//! | rho | real | in eighths | in eighths, srtt in jiffies | real, RTT0 50 ms | `profile`, `rtt0` |
//! | RTT of rho | measured | smallest srtt | smallest srtt | smallest RTT | `profile` |
//! | initial window | rho times the usual | int(rho) segments | int(rho) segments | unchanged | `profile` |
//! | initial ssthresh | rho times the usual | unchanged | unchanged | unchanged | `profile` |
//! | step per ACK | real | in 1/128 segment | in 1/128 segment | whole in slow start | `profile` |
//! | nothing to add | - | one segment per cwnd ACKs | nothing | - | `profile` |
//! | in Disorder and Loss | - | Reno | Reno | - | `profile` |
//!
//! `profile = "linux"` is the default, because it is what hosts run. It starts with rho segments: *one* on a short
//! path, where other algorithms start with ten. The paper multiplies the usual initial window. 1/128 of a segment is
//! coarse: with rho = 1, a window of 100 adds 0.8 segments per round, and above 128 segments only the rule of one
//! segment per cwnd ACKs adds anything.
//!
//! # Limits
//! * rho is at most 16 as an exponent (as in Linux 6.1), and at most 16 everywhere in the paper's profile. The window
//!   is at most 65,535 segments (as in Linux).
//! * The paper's rho follows the measured RTT. We use the smallest RTT, so that a standing queue does not speed up its
//!   own growth.
//! * If the handshake gave no sample, Linux uses rho = 1 forever. Here the first sample counts.
//! * The paper also requires pacing, SACK and timestamps; these are the connection's settings. Without pacing its
//!   bursts are long.
//!
//! # Vectors
//! `hybla_rho`, `hybla_linux_slow_start`, `hybla_linux_avoidance`, `hybla_linux_avoidance_at_rho_1`,
//! `hybla_linux_starts_with_rho_segments`, `hybla_linux_fractions_of_rho`, `hybla_linux_is_reno_outside_open`,
//! `hybla_loss_halves`, `hybla_rho_follows_the_smallest_srtt`, `hybla_slow_start_stops_at_ssthresh`,
//! `hybla_paper_scales_the_start`, `hybla_paper_growth`, `hybla_paper_grows_alike_in_time`.

use crate::growth::{self, ByteCounter, Fraction};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, Phase, Window};
use narrows_units::{Bytes, Duration, Variable};

/// The largest window in segments (Linux's `snd_cwnd_clamp`).
const CLAMP: u64 = 65_535;
/// The largest rho used as an exponent.
const RHO_MAX: u64 = 16;
/// 128 * 2^(i / 8), rounded.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "hybla",
    title: "TCP Hybla",
    sources: &["Caini, Firrincieli 2004", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Arithmetic: linux in eighths and 1/128 segments, paper (Caini, Firrincieli 2004) in real numbers.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "paper"] },
        },
        Param {
            name: "rtt0",
            doc: "RTT0, the round-trip time whose growth is imitated (paper and Linux 25, ns-3 50).",
            kind: ParamKind::Number { unit: "ms", default: 25.0, min: 1.0, max: 1000.0 },
        },
    ],
    variables: &[
        Variable::new("rho", "", "rho, the round-trip time divided by RTT0, at least 1."),
        Variable::new("rho2_7ls", "1/128", "rho squared, in the kernel's fixed point."),
        Variable::new(
            "snd_cwnd_cents",
            "1/128 segment",
            "Part of a segment that is earned but not yet in cwnd (`linux`).",
        ),
    ],
    traits: Traits {
        response: Response::ReducesAndLeaps,
        needs_ecn: false,
        scales: true,
        l4s: false,
        own_start: Some("has a slow start of its own, which grows by the round-trip time"),
    },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("hybla.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Hybla {
        paper: params.choice(&ROW, "profile") == "paper",
        rtt0: params.number(&ROW, "rtt0") as u64,
        rho8: 8,
        rho: 1.0,
        least: None,
        cents: 0,
        idle_acks: 0,
        reno: ByteCounter::default(),
        fraction: Fraction::default(),
    })
}

/// Hybla; see the module's page.
#[derive(Clone, Debug)]
pub struct Hybla {
    paper: bool,
    /// RTT0 in milliseconds.
    rtt0: u64,
    /// rho of the smallest srtt, in eighths (`linux`).
    rho8: u64,
    /// rho of the smallest RTT (`paper`).
    rho: f64,
    /// The smallest srtt seen.
    least: Option<Duration>,
    cents: u64,
    idle_acks: u64,
    reno: ByteCounter,
    fraction: Fraction,
}

impl Hybla {
    /// Records the round-trip time if it is the smallest so far.
    fn measure(&mut self, path: &Path) {
        let rtt = if self.paper { path.min_rtt.or(path.srtt) } else { path.srtt };
        if let Some(rtt) = rtt.filter(|&rtt| self.least.is_none_or(|least| rtt < least)) {
            self.least = Some(rtt);
            let rtt0 = Duration::from_millis(self.rtt0.max(1));
            self.rho8 = (rtt.as_micros().saturating_mul(8) / rtt0.as_micros()).clamp(8, 1 << 20);
            self.rho = (rtt.as_secs_f64() / rtt0.as_secs_f64()).clamp(1.0, RHO_MAX as f64);
        }
    }

    /// rho² in 1/128.
    fn rho_squared(&self) -> u64 {
        (self.rho8 * self.rho8) << 1
    }

    /// Grows the window for one ACK in the kernel's integers.
    fn grow_linux(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if path.phase != Phase::Open {
            self.grow_reno(ack.delivered, path, win);
            return;
        }
        let slow = win.in_slow_start(path);
        let cwnd = growth::whole_segments(win.cwnd, path).max(1);
        let step = if slow {
            (POWERS[(self.rho8 % 8) as usize] << (self.rho8 >> 3).min(RHO_MAX)) - 128
        } else {
            self.rho_squared() / cwnd
        };
        if !slow && step < 128 {
            self.idle_acks += 1;
        }
        self.cents += step % 128;
        let mut segments = step / 128;
        if self.cents >= 128 {
            self.cents -= 128;
            segments += 1;
            self.idle_acks = 0;
        }
        if step == 0 && self.idle_acks >= cwnd {
            segments += 1;
            self.idle_acks = 0;
        }
        self.add(path.smss * segments, slow, path, win);
    }

    /// Adds `step` to cwnd, up to the clamp and, in slow start, up to ssthresh.
    fn add(&self, step: Bytes, slow: bool, path: &Path, win: &mut Window) {
        let room = if slow { win.slow_start_room(path) } else { Bytes::MAX };
        let below_clamp = (path.smss * CLAMP).saturating_sub(win.cwnd);
        win.cwnd += step.min(room).min(below_clamp);
    }

    fn grow_reno(&mut self, mut acked: Bytes, path: &Path, win: &mut Window) {
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, Bytes::MAX, path);
        }
        if !acked.is_zero() {
            self.reno.add(acked, path.smss * growth::whole_segments(win.cwnd, path), path, win);
        }
    }

    /// Grows the window for one ACK in the paper's real numbers, weighted by the bytes acknowledged.
    fn grow_paper(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let slow = win.in_slow_start(path);
        let (cwnd, smss) = (self.fraction.exact(win).max(1.0), path.smss.as_f64());
        let step = if slow {
            libm::exp2(self.rho) - 1.0
        } else {
            (self.rho * self.rho * smss / cwnd).min(self.rho * self.rho)
        };
        let mut grown = *win;
        self.fraction.add(step * acked.as_f64(), &mut grown);
        self.add(grown.cwnd.saturating_sub(win.cwnd), slow, path, win);
    }
}

impl CongestionControl for Hybla {
    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.measure(path);
        if self.paper {
            win.cwnd = win.cwnd.mul_f64(self.rho);
            win.ssthresh = win.ssthresh.map(|ssthresh| ssthresh.mul_f64(self.rho));
        } else {
            win.cwnd = path.smss * (self.rho8 >> 3).min(CLAMP);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.measure(path);
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        if self.paper {
            self.grow_paper(ack.acked, path, win);
        } else {
            self.grow_linux(ack, path, win);
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.reno.reset();
        self.idle_acks = 0;
        let paper = self.paper;
        growth::answer(event, path, win, |win| match paper {
            true => growth::reduced(win.cwnd, 0.5, 2, path),
            false => growth::reduced_segments(win.cwnd, 512, 2, path),
        });
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("rho", if self.paper { self.rho } else { self.rho8 as f64 / 8.0 });
        visit("rho2_7ls", self.rho_squared() as f64);
        visit("snd_cwnd_cents", self.cents as f64);
    }
}
