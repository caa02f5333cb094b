//! Scalable TCP: a fixed share of the window per round, so that recovery takes the same number of rounds at any rate.
//!
//! # Idea
//! Each acknowledged segment adds one hundredth of a segment. Each loss takes one eighth of the window. Both are shares
//! of the window, so the time to recover from a loss, ln(1 / 0.875) / ln(1.01) = 13.4 round-trip times, does not depend
//! on the window. With Reno it grows in proportion to the window.
//!
//! # Sources
//! T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM SIGCOMM CCR 33(2), 2003; Linux
//! 6.1, `net/ipv4/tcp_scalable.c`, and its ancestor of 2007 in ns-2.35's `Agent/TCP/Linux`.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | cwnd, ssthresh | [`Window`] | bytes |
//! | a = 1 / 100 | `per` | segments acknowledged for one more |
//! | legacy window | `legacy` | segments |
//! | `snd_cwnd_cnt` (Linux), of octets or of ACKs | `bytes`, `acks` | bytes, ACKs |
//! | - | `fraction` (part of a byte in cwnd) | bytes |
//!
//! # Differences
//! | question | Kelly 2003 | Linux 6.1 | ns-2 TCP-Linux | ns-3 | parameter |
//! |---|---|---|---|---|---|
//! | segments for one more | 100 | min(cwnd, 100) | min(cwnd, 50) + 1 ACKs | min(cwnd, 50) | `profile`, `per` |
//! | left after a loss | 0.875 cwnd (half as Reno) | cwnd - cwnd / 8 | as Linux | 0.875 FlightSize | `profile` |
//! | as Reno, up to | 16 segments | 100 (growth) | 50 (growth) | 50 (growth) | `profile`, `legacy_window` |
//! | numbers | real | whole segments | whole segments | bytes | `profile` |
//! | slow start per ACK | 1 | all that was delivered | 1 | 1 | `profile` |
//! | counter after an increment | - | the excess | 0 | 0 | `profile` |
//!
//! `profile = "linux"` is the default, because it is what hosts run, and its rule is the paper's where the window
//! exceeds 100 segments. Older kernels and ns-3 count to 50 to compensate for delayed ACKs. Counting octets compensates
//! already; `per = 50` gives their rule.
//!
//! # Limits
//! Below eight segments one eighth is less than a segment, and Linux's window does not shrink. Kelly measured with
//! windows far above that.
//!
//! # Vectors
//! `scalable_linux_growth`, `scalable_growth_below_the_count_is_reno`, `scalable_ssthresh`, `scalable_paper_growth`,
//! `scalable_recovers_in_13_rounds_at_any_window`, `scalable_legacy_region_is_reno`, `scalable_ns2_counts_acks`.

use crate::growth::{self, AckCounter, ByteCounter, Fraction};
use crate::row::{Ns2Agent, Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Path, Window};
use narrows_units::{Bytes, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "scalable",
    title: "Scalable TCP",
    sources: &["Kelly 2003", "Linux 6.1"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: linux in whole segments, paper (Kelly 2003) in real numbers, ns2 the module of 2007, which counts ACKs.",
            kind: ParamKind::Choice { default: "linux", allowed: &["linux", "paper", "ns2"] },
        },
        Param {
            name: "per",
            doc: "Segments (ns2: ACKs) to be acknowledged for one more; 0 is the profile's: 100, in ns2 50.",
            kind: ParamKind::Number { unit: "segments", default: 0.0, min: 0.0, max: 1000.0 },
        },
        Param {
            name: "legacy_window",
            doc: "Window up to which the paper's algorithm is Reno (paper only).",
            kind: ParamKind::Number { unit: "segments", default: 16.0, min: 0.0, max: 1e6 },
        },
    ],
    variables: &[
        Variable::new("bytes_acked", "bytes", "Bytes acknowledged since the window last grew."),
        Variable::new("ack_cnt", "ACKs", "ACKs since the window last grew (`ns2`)."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: false, scales: true, l4s: false, own_start: None },
    ns2: Some(Ns2Agent::TcpLinux),
    recovery: None,
    source: include_str!("scalable.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let (profile, by_profile) = match params.choice(&ROW, "profile") {
        "paper" => (Profile::Paper, 100),
        "ns2" => (Profile::Ns2, 50),
        _ => (Profile::Linux, 100),
    };
    let per = match params.number(&ROW, "per") as u64 {
        0 => by_profile,
        n => n,
    };
    Box::new(Scalable {
        profile,
        per,
        legacy: params.number(&ROW, "legacy_window"),
        bytes: ByteCounter::default(),
        acks: AckCounter::default(),
        fraction: Fraction::default(),
    })
}

/// Which implementation's rules are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Linux,
    Paper,
    Ns2,
}

/// Scalable TCP; see the module's page.
#[derive(Clone, Debug)]
pub struct Scalable {
    profile: Profile,
    /// Segments (or ACKs) per segment of growth.
    per: u64,
    /// The paper's legacy window, in segments.
    legacy: f64,
    bytes: ByteCounter,
    acks: AckCounter,
    fraction: Fraction,
}

impl Scalable {
    /// One ACK's step in congestion avoidance.
    fn avoid(&mut self, acked: Bytes, path: &Path, win: &mut Window) {
        let per = growth::whole_segments(win.cwnd, path).min(self.per);
        match self.profile {
            Profile::Linux => self.bytes.add(acked, path.smss * per, path, win),
            Profile::Ns2 => self.acks.add(per, path, win),
            Profile::Paper => {
                let cwnd = self.fraction.exact(win).max(1.0);
                let share = if self.is_legacy(win, path) { path.smss.as_f64() / cwnd } else { 1.0 / self.per as f64 };
                self.fraction.add(acked.as_f64() * share.min(1.0), win);
            }
        }
    }

    fn is_legacy(&self, win: &Window, path: &Path) -> bool {
        win.cwnd.as_f64() <= self.legacy * path.smss.as_f64()
    }

    fn ssthresh(&self, path: &Path, win: &Window) -> Bytes {
        if self.profile == Profile::Paper {
            return growth::reduced(win.cwnd, if self.is_legacy(win, path) { 0.5 } else { 0.875 }, 2, path);
        }
        let cwnd = growth::whole_segments(win.cwnd, path);
        path.smss * (cwnd - cwnd / 8).max(2)
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if ack.acked.is_zero() || !growth::may_grow(path) {
            return;
        }
        let linux = self.profile == Profile::Linux;
        let mut acked = if linux { ack.delivered } else { ack.acked };
        if win.in_slow_start(path) {
            acked = growth::slow_start(win, acked, if linux { Bytes::MAX } else { path.smss }, path);
            if acked.is_zero() || self.profile == Profile::Ns2 {
                return;
            }
        }
        self.avoid(acked, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.bytes.reset();
        self.acks = AckCounter::default();
        growth::answer(event, path, win, |win| self.ssthresh(path, win));
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("bytes_acked", self.bytes.counted().as_f64());
        visit("ack_cnt", self.acks.counted() as f64);
    }
}
