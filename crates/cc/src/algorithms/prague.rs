//! Prague: a scalable congestion control for the Internet, for the low delay of L4S.
//!
//! # Idea
//! As DCTCP, Prague reduces the window by alpha / 2, where alpha is a moving average of the share of marked bytes. It
//! sends ECT(1), so that an L4S queue marks early and often, and it needs AccECN to hear each mark. It differs from
//! DCTCP where flows share the Internet: below a round-trip time of 25 ms it behaves as a flow of 25 ms does, so that
//! short paths do not take all of a link; it adds to the window on every unmarked byte, also in a window that was
//! reduced; it keeps the window's fraction; and it paces. A loss halves the window, and a peer without AccECN gets
//! Reno.
//!
//! # Sources
//! draft-briscoe-iccrg-prague-congestion-control-04 (K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, July 2024);
//! Linux's reference implementation (`net/ipv4/tcp_prague.c` of L4STeam/linux, module version 0.7), whose function
//! names stand below; RFC 9331, section 4 (the Prague requirements); RFC 8257 (DCTCP).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | alpha, `upscaled_alpha` (Linux) | `alpha` | share from 0 to 1 |
//! | g | `g`, 2^-`shift_g` | - |
//! | `frac_cwnd` | `window` | bytes with a fraction |
//! | `next_seq` | `round_end` | stream offset, bytes |
//! | delivered and marked since the last update of alpha | `delivered`, `marked` | bytes |
//! | `rtt_target`; the virtual RTT is max(SRTT, `rtt_target`) | `target` | ns |
//! | `round` | `rounds` | rounds since slow start ended |
//! | `alpha_stamp`, `cwr_stamp` | `alpha_at`, `reduced_at` | time |
//!
//! # Differences
//! | question | draft -04 | Linux | here | parameter |
//! |---|---|---|---|---|
//! | share of marks | packets or bytes | packets | bytes | - |
//! | alpha | real | 24 bits, times 16 | real | - |
//! | alpha is updated | once per virtual RTT | the same | the same | `rtt_target` |
//! | first mark | left open | window halved and alpha from 0, or alpha from 1 | the same | `first_mark` |
//! | increase per RTT, in segments | 1 - p, scaled by (RTT / virtual RTT)^2 | the same | the same | `rtt_target` |
//! | reductions | one per virtual RTT | when CWR begins, `rtt_target` after the last | one per round | `reduction` |
//! | RTT independence begins | after some rounds | 4 rounds after slow start | the same | `rtt_transition` |
//! | cwnd | rounded fraction | rounded up, one segment per ACK towards it | bytes, at once | - |
//! | windows below a few segments | smaller segments, rate-based | the same | as other windows | - |
//! | detection of a Classic queue that marks | optional | off | none | - |
//!
//! Linux's rule loses time: after a reduction it waits for the virtual RTT, for the end of CWR (which lasts an RTT from
//! the last mark that began it), and for the next mark. Beside CUBIC on DualPI2 at 120 Mb/s and 10 ms its flow takes
//! 1.7 times CUBIC's rate, and 1.3 times with one reduction in each round (RFC 8257's observation window).
//!
//! # Limits
//! * Linux sends bursts of a quarter of a millisecond; here the connection's setting `tso` decides.
//! * Retransmissions, pure ACKs and SYNs are not ECN-capable, and so pass through the Classic queue of an L4S link.
//! * RTT independence has no upper end here; Linux stops scaling above 100 ms, where its factor is 1 anyway.
//!
//! # Vectors
//! `prague_alpha_moves_once_per_virtual_rtt`, `prague_reduces_by_half_of_alpha_once_per_round`,
//! `prague_reduces_once_per_virtual_rtt_as_linux`,
//! `prague_grows_by_the_square_of_the_share_of_the_virtual_rtt`, `prague_marked_bytes_add_nothing`,
//! `prague_first_mark`, `prague_loss_halves_and_growth_waits`, `prague_without_accurate_feedback_is_reno`,
//! `prague_paces_at_the_window_per_rtt`.

use crate::algorithms::reno::Reno;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, EcnFeedback, Needs, Path, Phase, Window, growth};
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "prague",
    title: "Prague",
    sources: &[
        "draft-briscoe-iccrg-prague-congestion-control-04",
        "Linux (L4STeam, tcp_prague 0.7)",
        "RFC 9331, section 4",
    ],
    params: &[
        Param {
            name: "rtt_target",
            doc: "Virtual round-trip time: flows with a shorter one behave as if they had this (prague_rtt_target); 0 is no RTT independence.",
            kind: ParamKind::Number { unit: "ms", default: 25.0, min: 0.0, max: 100.0 },
        },
        Param {
            name: "rtt_transition",
            doc: "Rounds after slow start before RTT independence begins (prague_rtt_transition); rounded down.",
            kind: ParamKind::Number { unit: "rounds", default: 4.0, min: 0.0, max: 1000.0 },
        },
        Param {
            name: "shift_g",
            doc: "The newest round weighs g = 2^-shift_g in alpha (PRAGUE_SHIFT_G: 1/16); rounded down.",
            kind: ParamKind::Number { unit: "", default: 4.0, min: 0.0, max: 10.0 },
        },
        Param {
            name: "first_mark",
            doc: "Response to the first mark: halve the window and begin with alpha = 0, or begin with alpha = 1 (prague_alpha_mode 0 and 1).",
            kind: ParamKind::Choice { default: "halve", allowed: &["halve", "alpha_one"] },
        },
        Param {
            name: "reduction",
            doc: "When an independent flow reduces: at the first mark of each round of alpha, or as Linux at a mark that begins an episode, rtt_target after the last reduction or later.",
            kind: ParamKind::Choice { default: "round", allowed: &["round", "episode"] },
        },
    ],
    variables: &[
        Variable::new("alpha", "", "The moving average of the share of bytes that are marked, from 0 to 1."),
        Variable::new("bytes_marked", "bytes", "Bytes reported as marked since alpha was updated."),
        Variable::new("bytes_delivered", "bytes", "Bytes delivered since alpha was updated."),
        Variable::new("rounds", "rounds", "Rounds since slow start ended."),
    ],
    traits: Traits {
        response: Response::Reduces,
        needs_ecn: false,
        scales: true,
        l4s: true,
        own_start: Some("has a slow start of its own, which paces and ends at the first mark"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("prague.rs"),
    build,
};

/// Smallest pacing rate (Linux: `MINIMUM_RATE`, 100 kb/s).
const MIN_RATE_BPS: u64 = 100_000;
/// Smallest window that a reduction leaves, in segments (Linux: `MIN_CWND_RTT`).
const MIN_SEGMENTS: u64 = 2;

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let shift = params.number(&ROW, "shift_g") as u32;
    let halves = params.choice(&ROW, "first_mark") == "halve";
    Box::new(Prague {
        classic: Reno::counting(true, u64::MAX, 0),
        target: Duration::from_nanos((params.number(&ROW, "rtt_target") * 1e6) as u64),
        transition: params.number(&ROW, "rtt_transition") as u32,
        g: 1.0 / f64::from(1u32 << shift.min(10)),
        alpha: if halves { 0.0 } else { 1.0 },
        halves,
        by_round: params.choice(&ROW, "reduction") == "round",
        window: 0.0,
        written: Bytes::ZERO,
        round_end: 0,
        delivered: 0,
        marked: 0,
        rounds: 0,
        alpha_at: Instant::ZERO,
        reduced_at: None,
        saw_mark: false,
        in_loss: false,
        before: None,
    })
}

/// Prague's window rules; see the module's page.
#[derive(Clone, Debug)]
pub struct Prague {
    /// The rules for a peer without AccECN.
    classic: Reno,
    target: Duration,
    transition: u32,
    g: f64,
    alpha: f64,
    /// Whether the first mark halves the window.
    halves: bool,
    /// Whether each round of alpha may reduce the window.
    by_round: bool,
    /// cwnd with its fraction, in bytes.
    window: f64,
    /// cwnd as written last; another value was set by someone else.
    written: Bytes,
    round_end: u64,
    delivered: u64,
    marked: u64,
    rounds: u32,
    alpha_at: Instant,
    reduced_at: Option<Instant>,
    /// Whether there was a mark, which proves that there is a queue that marks.
    saw_mark: bool,
    /// Whether a loss has reduced the window and recovery goes on.
    in_loss: bool,
    /// cwnd and ssthresh before the last reduction.
    before: Option<(Bytes, Option<Bytes>)>,
}

impl Prague {
    /// Takes over a cwnd that something else has set.
    fn adopt(&mut self, win: &Window) {
        if win.cwnd != self.written {
            (self.window, self.written) = (win.cwnd.as_f64(), win.cwnd);
        }
    }

    fn write(&mut self, win: &mut Window) {
        win.cwnd = Bytes::from_f64(self.window.floor());
        self.written = win.cwnd;
    }

    /// Whether the flow behaves as one with the virtual RTT (`prague_is_rtt_indep`).
    fn independent(&self, path: &Path, win: &Window) -> bool {
        self.rounds >= self.transition && !win.in_slow_start(path)
    }

    /// Additive increase in segments per RTT (`prague_rate_scaled_ai_ack_increase`): 1, or below the virtual RTT the
    /// square of the RTT's share of it. One factor is for the rounds of a virtual RTT, one for the segments that a rate
    /// takes per round.
    fn increase(&self, path: &Path) -> f64 {
        let Some(srtt) = path.srtt.filter(|srtt| self.rounds >= self.transition && *srtt < self.target) else {
            return 1.0;
        };
        let share = srtt.as_nanos() as f64 / self.target.as_nanos().max(1) as f64;
        share * share
    }

    /// Ends the round and updates alpha if both the round and, for an independent flow, a virtual RTT have passed
    /// (`prague_should_update_ewma`, `prague_update_alpha`).
    fn end_round(&mut self, path: &Path, win: &Window) {
        let independent = self.independent(path, win);
        if path.snd_una < self.round_end || (independent && path.now.since(self.alpha_at) < self.target) {
            return;
        }
        if self.saw_mark && self.delivered > 0 {
            let share = self.marked as f64 / self.delivered as f64;
            self.alpha = (self.alpha + self.g * (share - self.alpha)).clamp(0.0, 1.0);
            self.alpha_at = path.now;
        }
        (self.delivered, self.marked, self.round_end) = (0, 0, path.snd_nxt);
        if !win.in_slow_start(path) {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Grows by `unmarked` bytes (`prague_update_cwnd`).
    fn grow(&mut self, unmarked: Bytes, path: &Path, win: &mut Window) {
        if unmarked.is_zero() || self.in_loss || !growth::may_grow(path) {
            return;
        }
        let mut left = unmarked;
        if win.in_slow_start(path) {
            left = growth::slow_start(win, unmarked, Bytes::MAX, path);
            self.adopt(win);
        }
        if !left.is_zero() && self.window > 0.0 {
            self.window += self.increase(path) * path.smss.as_f64() * left.as_f64() / self.window;
            self.write(win);
        }
    }

    /// The reduced window in bytes: `factor` of the present one, of at least two segments unless it is smaller already.
    fn reduce(&mut self, factor: f64, path: &Path, win: &mut Window) {
        let least = (path.smss * MIN_SEGMENTS).as_f64();
        self.window = (self.window * factor).max(least.min(self.window));
        self.write(win);
        win.ssthresh = Some(win.cwnd.max(path.smss * MIN_SEGMENTS));
    }

    /// Answers a mark, once per virtual RTT (`prague_enter_cwr`).
    fn on_mark(&mut self, path: &Path, win: &mut Window) {
        let first = !core::mem::replace(&mut self.saw_mark, true);
        if self.in_loss || (self.independent(path, win) && self.is_recent(path)) {
            return;
        }
        self.before = Some((win.cwnd, win.ssthresh));
        self.reduced_at = Some(path.now);
        let factor = if first && self.halves { 0.5 } else { 1.0 - self.alpha / 2.0 };
        self.reduce(factor, path, win);
    }

    /// Whether the window may not be reduced for a mark, because it was recently.
    fn is_recent(&self, path: &Path) -> bool {
        let recent = |at| if self.by_round { at >= self.alpha_at } else { path.now.since(at) < self.target };
        self.reduced_at.is_some_and(recent)
    }

    /// cwnd per SRTT, and twice that while cwnd is far below ssthresh (`prague_update_pacing_rate`).
    fn pace(&self, path: &Path, win: &mut Window) {
        let Some(srtt) = path.srtt.filter(|srtt| !srtt.is_zero()) else { return };
        let far = win.ssthresh.is_none_or(|ssthresh| win.cwnd < ssthresh / 2);
        let window = win.cwnd.max(path.inflight).as_u64();
        let bits = u128::from(window) * 8 * if far { 2 } else { 1 } * 1_000_000_000;
        let rate = u64::try_from(bits / u128::from(srtt.as_nanos())).unwrap_or(u64::MAX);
        win.pacing_rate = Some(Rate::bps(rate.max(MIN_RATE_BPS)));
    }
}

/// Whether the peer's feedback is too coarse for a scalable response.
fn is_classic(path: &Path) -> bool {
    path.ecn != EcnFeedback::Accurate
}

impl CongestionControl for Prague {
    fn needs(&self) -> Needs {
        // As Linux's `cong_control`: the window grows on unmarked bytes in a window that was reduced, too.
        Needs { window_in_recovery: true, loss_after_echo: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        (self.round_end, self.alpha_at) = (path.snd_nxt, path.now);
        self.adopt(win);
        if !is_classic(path) {
            self.pace(path, win);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if is_classic(path) {
            if !matches!(path.phase, Phase::Cwr | Phase::Recovery) {
                self.classic.on_ack(ack, path, win);
            }
            return;
        }
        self.adopt(win);
        let marked = ack.marked.min(ack.delivered);
        self.saw_mark |= !marked.is_zero();
        self.delivered = self.delivered.saturating_add(ack.delivered.as_u64());
        self.marked = self.marked.saturating_add(marked.as_u64());
        if !marked.is_zero() && self.by_round && self.independent(path, win) {
            // The connection may still be in the episode of a mark of the last round.
            self.on_mark(path, win);
        }
        self.grow(ack.delivered.saturating_sub(marked), path, win);
        self.end_round(path, win);
        self.pace(path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.adopt(win);
        let before = (win.cwnd, win.ssthresh);
        match event {
            _ if is_classic(path) => {
                if !matches!(event, Congestion::Timeout { repeated: true }) {
                    self.before = Some(before);
                }
                self.classic.on_congestion(event, path, win);
            }
            Congestion::Ecn { .. } => self.on_mark(path, win),
            // One loss of a recovery reduces, whatever is lost in it (`prague_enter_loss`).
            Congestion::Loss { .. } if self.in_loss => {}
            Congestion::Loss { .. } => {
                self.before = Some(before);
                self.in_loss = true;
                self.reduce(0.5, path, win);
            }
            Congestion::Timeout { repeated } => {
                if !repeated {
                    self.before = Some(before);
                    self.reduce(0.5, path, win);
                }
                self.in_loss = false;
                self.window = path.smss.as_f64();
                self.write(win);
            }
        }
        // The SMSS may have grown since the threshold was set (RFC 5681, equation 4: at least two segments).
        win.ssthresh = win.ssthresh.map(|ssthresh| ssthresh.max(path.smss * MIN_SEGMENTS));
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            win.cwnd = win.cwnd.max(cwnd);
            win.ssthresh = win.ssthresh.zip(ssthresh).map(|(now, before)| now.max(before));
        }
        self.in_loss = false;
        self.adopt(win);
        if !is_classic(path) {
            self.pace(path, win);
        }
    }

    fn on_recovered(&mut self, _path: &Path, _win: &mut Window) {
        self.in_loss = false;
    }

    /// Reports `alpha`: 0 to 1; `bytes_marked` and `bytes_delivered` since its update; `rounds` since slow start.
    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
        visit("bytes_marked", self.marked as f64);
        visit("bytes_delivered", self.delivered as f64);
        visit("rounds", f64::from(self.rounds));
    }
}
