//! A slow start of the user's choice in front of a congestion control that has the standard one.
//!
//! # Idea
//! Slow start is the same in all loss-based algorithms: they differ in congestion avoidance. So one decorator replaces
//! it in all of them. While the flow is in slow start, the algorithm sees each ACK with a window that may not grow: it
//! measures, and grows nothing. The decorator then grows the window by the chosen rule, which may also end slow start.
//! Everything else reaches the algorithm unchanged.
//!
//! # Sources
//! RFC 9406 (HyStart++), RFC 3742 (limited slow start), draft-chung-ccwg-search (see [`search`](crate::search)), and
//! Linux 6.1's `tcp_cubic.c` for HyStart. Linux has HyStart in CUBIC alone; here any loss-based algorithm can have it.
//!
//! # State
//! The variables of [`VARIABLES`].
//!
//! # Differences
//! | question | RFC 5681 | `hystart` | `hystart++` | `search` | `limited` |
//! |---|---|---|---|---|---|
//! | one ACK adds at most | SMSS | what it delivers | 8 SMSS, paced: all | what it acknowledges | SMSS, then SMSS / K |
//! | leaves slow start | on a loss | ACK train, delay | delay, 5 rounds of CSS | delivered bytes | on a loss |
//! | slow starts after the first | the same | after a timeout | standard | standard | the same |
//!
//! # Limits
//! * What remains of the ACK that ends slow start counts for nothing, where some algorithms give it to congestion
//!   avoidance: less than a segment of growth in a connection.
//! * An algorithm whose slow start is a part of itself has none to replace ([`Traits::own_start`](crate::Traits)).
//!
//! # Vectors
//! `started_hystartpp_enters_css_by_hand`, `started_limited_grows_fifty_per_round`, `started_search_leaves_by_itself`,
//! `started_algorithms_grow_as_before_after_slow_start`.

use crate::hystart::{Feed, HyStart, HyStartPlusPlus, SlowStart};
use crate::interface::{Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Path, Sent, Window};
use narrows_units::{Bytes, Variable};

/// The rule of a slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Linux's HyStart.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search).
    Search,
    /// Limited slow start (RFC 3742).
    Limited {
        /// Window above which growth is limited, in segments; the RFC proposes 100.
        max_ssthresh: u64,
    },
}

/// What the decorator reports.
pub const VARIABLES: &[Variable] = &[
    Variable::state(
        "slow_start",
        "Whether the flow is in slow start; `conservative` is HyStart++'s Conservative Slow Start (RFC 9406).",
        &["ended", "running", "conservative"],
    ),
    Variable::new(
        "search_norm_diff",
        "",
        "SEARCH: share by which deliveries fall short of twice those of a round-trip time ago; 0.35 ends slow start.",
    ),
    Variable::new("current_round_min_rtt", "s", "HyStart++'s currentRoundMinRTT; 0 before a sample of the round."),
    Variable::new("last_round_min_rtt", "s", "HyStart++'s lastRoundMinRTT; 0 before the second round."),
    Variable::new("rtt_sample_count", "samples", "HyStart++'s rttSampleCount: round-trip time samples of the round."),
    Variable::new("css_baseline_min_rtt", "s", "HyStart++'s cssBaselineMinRtt; 0 outside Conservative Slow Start."),
    Variable::new("css_rounds", "rounds", "HyStart++'s rounds of Conservative Slow Start that have ended."),
];

/// `inner` with the slow start `start` in place of its own.
#[must_use]
pub fn with(inner: Box<dyn CongestionControl>, start: Start) -> Box<dyn CongestionControl> {
    let rule = match start {
        Start::HyStart => SlowStart::HyStart(HyStart::default()),
        Start::HyStartPlusPlus => SlowStart::PlusPlus(HyStartPlusPlus::default()),
        Start::Search => SlowStart::Search(Box::default()),
        Start::Limited { max_ssthresh } => SlowStart::Standard { limit: 1, max_ssthresh },
    };
    Box::new(Started { inner, rule, slow: true })
}

/// A congestion control behind a slow start; see the module's page.
#[derive(Debug)]
struct Started {
    inner: Box<dyn CongestionControl>,
    rule: SlowStart,
    /// Whether the flow was in slow start at the last event.
    slow: bool,
}

impl Started {
    fn note(&mut self, path: &Path, win: &Window) {
        self.slow = win.in_slow_start(path);
    }
}

impl CongestionControl for Started {
    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.inner.on_start(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.inner.observe(ack, path);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.inner.on_lost(lost, path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if !win.in_slow_start(path) {
            self.slow = false;
            self.inner.on_ack(ack, path, win);
            return;
        }
        let measuring = Path { cwnd_limited: false, ..*path };
        self.inner.on_ack(ack, &measuring, win);
        if !ack.acked.is_zero() && win.in_slow_start(path) {
            // Linux's slow start counts what SACK reports too; RFC 5681 and RFC 9406 speak of what is acknowledged.
            let acked = if matches!(self.rule, SlowStart::HyStart(_)) { ack.delivered } else { ack.acked };
            let _: Bytes = self.rule.on_ack(&Feed { acked, rtt: ack.rtt, min_rtt: path.min_rtt }, path, win);
        }
        self.note(path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.inner.on_congestion(event, path, win);
        if matches!(event, Congestion::Timeout { .. }) {
            self.rule.on_timeout(path);
        }
        self.note(path, win);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        self.inner.on_sent(sent, path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.inner.on_undo(path, win);
        self.note(path, win);
    }

    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.inner.on_advice(advice, path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.inner.on_window_set(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.inner.on_recovered(path, win);
    }

    fn holds_back(&self) -> bool {
        self.inner.holds_back()
    }

    fn growth_limit(&self, flight: Bytes, path: &Path, win: &Window) -> Bytes {
        self.inner.growth_limit(flight, path, win)
    }

    fn reduces_at_once(&self) -> bool {
        self.inner.reduces_at_once()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let conservative = matches!(&self.rule, SlowStart::PlusPlus(rule) if rule.is_conservative());
        visit(
            "slow_start",
            if !self.slow {
                0.0
            } else if conservative {
                2.0
            } else {
                1.0
            },
        );
        match &self.rule {
            SlowStart::Search(search) => visit("search_norm_diff", search.norm_diff()),
            SlowStart::PlusPlus(rule) => rule.state(visit),
            SlowStart::Standard { .. } | SlowStart::HyStart(_) => {}
        }
        self.inner.state(visit);
    }
}
