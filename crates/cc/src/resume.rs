//! Careful resume: a connection begins again near the window that an earlier one on the same path had.
//!
//! # Idea
//! A sender that knows the path from an earlier connection need not search for its capacity by slow start. It sends an
//! initial window as always, and once that is acknowledged without congestion at a similar round-trip time, jumps to
//! half of the saved window, paced over a round-trip time. Until everything sent in the jump is acknowledged, a sign of
//! congestion makes it fall back to half of what the path is known to have delivered: no more than slow start would
//! have found.
//!
//! # Sources
//! RFC 9959 (N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi, C. Huitema, May 2026), read in the text of
//! draft-ietf-tsvwg-careful-resume-24, the version that became the RFC; sections 3.2 to 3.7 (phases) and 4 (guidance).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | saved_cwnd, saved_rtt | `saved` | bytes, time |
//! | jump_cwnd | `jump` | bytes |
//! | PipeSize | `pipe` | bytes |
//! | first unvalidated packet | `first` | offset in the stream |
//! | last unvalidated packet | `last` | offset in the stream |
//!
//! ```text
//!   Reconnaissance -- initial data acknowledged, RTT confirmed --> Unvalidated -- sent, or one RTT --> Validating
//!        |                                                              |                             |      |
//!        | congestion, RTT not confirmed                          congestion                    congestion   | all
//!        v                                                              v                             |      | is
//!      Normal <-- all is acknowledged: ssthresh <= PipeSize / 2 -- Safe Retreat <---------------------+      | acked
//!        ^---------------------------------------------------------------------------------------------------+
//! ```
//!
//! # Differences
//! * The text leaves it open when a sender that may jump does: we jump at the ACK that confirms the path if cwnd
//!   limits the sender then, otherwise at a later ACK.
//! * PRR would spread the reduction of Safe Retreat over a round-trip time, which the text calls unfit (section 4.5).
//!   The reduction is made at once, whatever the connection's setting ([`CongestionControl::reduces_at_once`]).
//! * max_jump is not configurable: a scenario gives saved_cwnd itself. Beta is 0.5, the default.
//!
//! # Limits
//! * A scenario gives saved_cwnd and saved_rtt. What a sender observes (section 3.1) is reported, so that one run can
//!   give them to another; lifetimes and endpoints have no meaning in one run.
//! * A loss-based algorithm only: the text has rules of its own for BBR (appendix), which are not here.
//!
//! # Vectors
//! `resume_jumps_to_half_of_the_saved_window`, `resume_needs_a_confirmed_round_trip_time`,
//! `resume_validates_what_was_sent`, `resume_retreats_to_half_of_the_pipe`, `resume_without_data_keeps_the_pipe`.

use crate::interface::{Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Path, Sent, Window};
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};

/// Parameters that an earlier connection left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// saved_cwnd: bytes that the earlier connection had delivered in a round-trip time.
    pub cwnd: Bytes,
    /// saved_rtt: its smallest round-trip time.
    pub rtt: Duration,
}

/// What the decorator reports.
pub const VARIABLES: &[Variable] = &[
    Variable::state(
        "resume_phase",
        "Phase of careful resume (RFC 9959, section 3).",
        &["normal", "reconnaissance", "unvalidated", "validating", "safe_retreat"],
    ),
    Variable::new(
        "resume_pipe",
        "bytes",
        "PipeSize: what the path is known to have carried; 0 before the jump (RFC 9959).",
    ),
    Variable::new(
        "resume_observed",
        "bytes",
        "Bytes delivered in the last full round-trip time: what a later connection may take as saved_cwnd.",
    ),
];

/// `inner`, begun again with `saved`.
#[must_use]
pub fn with(inner: Box<dyn CongestionControl>, saved: Saved) -> Box<dyn CongestionControl> {
    let observes = inner.needs().acks;
    Box::new(Resumed {
        inner,
        observes,
        saved,
        phase: Phase::Reconnaissance,
        initial: None,
        jump: saved.cwnd / 2,
        pipe: Bytes::ZERO,
        first: 0,
        last: 0,
        began: Instant::ZERO,
        round: Round::default(),
    })
}

/// A phase of section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Normal,
    Reconnaissance,
    Unvalidated,
    Validating,
    SafeRetreat,
}

/// Bytes delivered in a round-trip time (section 3.1).
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
    began: u64,
    observed: u64,
}

/// A congestion control that is begun again; see the module's page.
#[derive(Debug)]
struct Resumed {
    inner: Box<dyn CongestionControl>,
    /// Whether `inner` observes ACKs.
    observes: bool,
    saved: Saved,
    phase: Phase,
    /// End of the initial data as an offset, once the first ACK has come.
    initial: Option<u64>,
    jump: Bytes,
    pipe: Bytes,
    /// Where the first unvalidated segment begins.
    first: u64,
    /// Where the last one ends.
    last: u64,
    /// When the Unvalidated phase began.
    began: Instant,
    round: Round,
}

impl Resumed {
    /// Section 3.2: whether the path is confirmed and the jump would gain something.
    fn jump_if_confirmed(&mut self, path: &Path, win: &mut Window) {
        let initial = *self.initial.get_or_insert(path.snd_nxt);
        if path.snd_una < initial {
            return;
        }
        let rtt = path.min_rtt.or(path.srtt);
        let confirmed = rtt.is_some_and(|rtt| rtt > self.saved.rtt / 2 && rtt <= self.saved.rtt * 10);
        if !confirmed || self.jump <= win.cwnd {
            self.phase = Phase::Normal;
        } else if path.cwnd_limited {
            self.phase = Phase::Unvalidated;
            (self.pipe, self.first, self.last, self.began) = (path.flightsize, path.snd_nxt, path.snd_nxt, path.now);
            win.cwnd = self.jump;
            // ITT = RTT * MPS / jump_cwnd (section 4.3.2).
            win.pacing_rate = path.srtt.or(rtt).and_then(|rtt| rate(self.jump, rtt));
        }
    }

    /// Whether the Unvalidated phase is over: everything is sent, an unvalidated segment was acknowledged, or a
    /// round-trip time has passed.
    fn is_sent(&self, path: &Path, win: &Window) -> bool {
        let unused = win.cwnd.saturating_sub(path.flightsize);
        let late = path.srtt.is_some_and(|rtt| path.now.since(self.began) > rtt);
        unused < path.smss || path.snd_una > self.first || late
    }

    /// Section 3.3, "Check flight_size".
    fn validate(&mut self, path: &Path, win: &mut Window) {
        win.pacing_rate = None;
        self.last = path.snd_nxt;
        let flight = path.flightsize;
        let validated = if flight < path.initial_window || flight <= self.pipe {
            self.phase = Phase::Normal;
            self.pipe.max(path.initial_window)
        } else {
            self.phase = Phase::Validating;
            flight
        };
        // Who has cut the window meanwhile, as a router's advice or an idle time does, keeps it cut.
        win.cwnd = win.cwnd.min(validated);
    }

    /// Section 3.5: the path did not carry the jump.
    fn retreat(&mut self, path: &Path, win: &mut Window) {
        if self.phase == Phase::Unvalidated {
            self.last = path.snd_nxt;
        }
        self.phase = Phase::SafeRetreat;
        win.pacing_rate = None;
        win.cwnd = win.cwnd.min((self.pipe / 2).max(path.smss));
    }

    /// Leaves Safe Retreat, or Validating, once everything unvalidated is acknowledged.
    fn end(&mut self, path: &Path, win: &mut Window) {
        if path.snd_una < self.last {
            return;
        }
        if self.phase == Phase::SafeRetreat {
            let threshold = (self.pipe / 2).max(path.smss * 2);
            win.ssthresh = Some(win.ssthresh.map_or(threshold, |now| now.min(threshold)));
        }
        self.phase = Phase::Normal;
    }

    fn watch(&mut self, path: &Path) {
        if path.snd_una >= self.round.end {
            let delivered = path.delivered.as_u64();
            self.round = Round { end: path.snd_nxt, began: delivered, observed: delivered - self.round.began };
        }
    }
}

/// `window` per `rtt`; `None` if that is zero or exceeds the range of a rate.
fn rate(window: Bytes, rtt: Duration) -> Option<Rate> {
    let bits = u128::from(window.as_u64()) * 8 * 1_000_000_000;
    let bps = bits.checked_div(u128::from(rtt.as_nanos()))?;
    u64::try_from(bps).ok().filter(|bps| *bps > 0).map(Rate::bps)
}

impl CongestionControl for Resumed {
    fn needs(&self) -> Needs {
        Needs { acks: true, sending: true, ..self.inner.needs() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.inner.on_start(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        if self.observes {
            self.inner.observe(ack, path);
        }
        if matches!(self.phase, Phase::Unvalidated | Phase::Validating | Phase::SafeRetreat) {
            self.pipe += ack.delivered;
        }
        self.watch(path);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.inner.on_lost(lost, path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        match self.phase {
            Phase::Normal => self.inner.on_ack(ack, path, win),
            Phase::Reconnaissance => {
                self.inner.on_ack(ack, path, win);
                self.jump_if_confirmed(path, win);
            }
            Phase::Unvalidated | Phase::SafeRetreat => {
                // The algorithm measures; cwnd is the jump's or the retreat's.
                self.inner.on_ack(ack, &Path { cwnd_limited: false, ..*path }, win);
                if self.phase == Phase::SafeRetreat {
                    self.end(path, win);
                } else if ack.rtt.is_some_and(|rtt| rtt <= self.saved.rtt / 2) {
                    self.retreat(path, win);
                } else if self.is_sent(path, win) {
                    self.validate(path, win);
                }
            }
            Phase::Validating => {
                self.inner.on_ack(ack, path, win);
                self.end(path, win);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.inner.on_congestion(event, path, win);
        match (event, self.phase) {
            (_, Phase::Normal) => {}
            // A timeout is persistent congestion (section 3.6).
            (Congestion::Timeout { .. }, _) | (_, Phase::Reconnaissance) => {
                self.phase = Phase::Normal;
                win.pacing_rate = None;
            }
            (_, Phase::Unvalidated | Phase::Validating | Phase::SafeRetreat) => self.retreat(path, win),
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if self.inner.needs().sending || !sent.idle.is_zero() {
            self.inner.on_sent(sent, path, win);
        }
        if self.phase == Phase::Unvalidated && self.is_sent(path, win) {
            self.validate(path, win);
        }
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        // The loss was none, but the jump is over: the window before it is validated.
        self.phase = Phase::Normal;
        self.inner.on_undo(path, win);
    }

    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.inner.on_advice(advice, path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.inner.on_window_set(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.inner.on_recovered(path, win);
        if self.phase == Phase::SafeRetreat {
            self.end(path, win);
        }
    }

    fn holds_back(&self) -> bool {
        self.inner.holds_back()
    }

    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        match self.phase {
            // The jump is no growth.
            Phase::Reconnaissance | Phase::Unvalidated => Bytes::MAX,
            _ => self.inner.growth_limit(flight, path, win),
        }
    }

    fn reduces_at_once(&self) -> bool {
        self.phase == Phase::SafeRetreat || self.inner.reduces_at_once()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("resume_phase", f64::from(self.phase as u8));
        visit("resume_pipe", self.pipe.as_f64());
        visit("resume_observed", self.round.observed as f64);
        self.inner.state(visit);
    }
}
