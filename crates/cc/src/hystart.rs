//! Slow start that ends before it overflows the queue: HyStart and HyStart++, as components of an algorithm.
//!
//! # Idea
//! Standard slow start ends when it has lost up to half of a window. Both variants end it earlier, when ACKs show that
//! the path is full: when the ACKs of a round span half a round-trip time (HyStart's ACK train), or when the smallest
//! round-trip time of a round has risen (both). HyStart leaves slow start at once. HyStart++ first grows at a quarter
//! of the speed (Conservative Slow Start) and returns if the delay falls again, so that jitter does not end slow start.
//!
//! # Sources
//! S. Ha, I. Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks", PFLDnet 2008, with the constants
//! of Linux 6.1; RFC 9406, sections 4.2 and 4.3 (HyStart++).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | `end_seq` (Linux), windowEnd (RFC 9406) | `round_end` | stream offset, bytes |
//! | `round_start`, `last_ack` | `round_start`, `last_ack` | time |
//! | `curr_rtt`, currentRoundMinRTT | `round_rtt` | time |
//! | lastRoundMinRTT | `last_round_rtt` | time |
//! | cssBaselineMinRtt | `baseline` | time |
//! | `sample_cnt`, rttSampleCount | `samples` | count |
//! | `found` | `found` | - |
//!
//! HyStart++ moves between three states:
//! ```text
//!             round's RTT >= last round's + threshold
//!   SlowStart ---------------------------------------> Conservative --- 5 rounds ---> Done
//!       ^------------ round's RTT < baseline ----------------+        (ssthresh = cwnd)
//!   either, on a loss or an ECN echo: ssthresh is set, so the flow is in congestion avoidance
//! ```
//!
//! # Differences
//! Linux enters at `curr_rtt > delay_min + thresh`. RFC 9406 uses `>=` and compares with the *last round*, not with the
//! smallest ever. ns-3 does not divide the delay by 8 and clamps at 1000 ms, so it hardly ever triggers. ns-2 has
//! neither. HyStart here is Linux 6.1's; HyStart++ is RFC 9406's.
//!
//! # Limits
//! * Segments count as paced if [`Path::pacing_rate`] is set, whoever set it. L is 8 without pacing and unlimited with
//!   it (RFC 9406, section 4.3).
//! * Linux computes a rate for unpaced flows too. Its allowance for aggregation (at most 1 ms) makes its threshold for
//!   them up to 0.5 ms longer than half the round-trip time. Here it is exactly half.
//! * HyStart++ runs in the first slow start only (ssthresh still unset). Later ones are standard, bounded by RFC 5681's
//!   L = 1.
//!
//! # Vectors
//! `hystart_ack_train_vector`, `hystart_ack_train_ends_slow_start`, `hystart_delay_threshold`, `hystartpp_threshold`,
//! `hystartpp_conservative_slow_start_lasts_five_rounds`, `hystartpp_resumes_when_the_delay_falls`.

use crate::growth;
use crate::search::Search;
use crate::{Path, Window};
use narrows_units::{Bytes, Duration, Instant};

/// Slow-start variant of an algorithm.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// RFC 5681, with RFC 3465's limit per ACK and RFC 3742's limit per round, both in segments.
    Standard {
        /// L: most that one ACK adds.
        limit: u64,
        /// Window above which growth is limited; 0 for none.
        max_ssthresh: u64,
    },
    /// Linux's HyStart.
    HyStart(HyStart),
    /// RFC 9406.
    PlusPlus(HyStartPlusPlus),
    /// SEARCH. Growth is Linux's, without a limit per ACK, in the first slow start, and RFC 5681's in later ones.
    Search(Box<Search>),
}

/// Input of slow start from one ACK.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    /// Bytes by which the window may grow.
    pub acked: Bytes,
    /// Round-trip time sample; `None` where the ACK has none or the algorithm does not trust it.
    pub rtt: Option<Duration>,
    /// Smallest round-trip time that the algorithm knows.
    pub min_rtt: Option<Duration>,
}

impl SlowStart {
    /// Checks the samples, grows the window if the flow is still in slow start and may grow, and returns the rest of
    /// `acked` for congestion avoidance.
    ///
    /// Call it on every ACK while [`Window::in_slow_start`].
    pub fn on_ack(&mut self, feed: &Feed, path: &Path, win: &mut Window) -> Bytes {
        match self {
            Self::Standard { limit, max_ssthresh } => {
                if !growth::may_grow(path) {
                    return Bytes::ZERO;
                }
                let (limit, max_ssthresh) = (path.smss * *limit, path.smss * *max_ssthresh);
                growth::limited_slow_start(win, feed.acked, limit, max_ssthresh, path)
            }
            Self::HyStart(hystart) => {
                hystart.observe(feed, path, win);
                match (growth::may_grow(path), win.in_slow_start(path)) {
                    (false, _) => Bytes::ZERO,
                    (true, true) => growth::slow_start(win, feed.acked, Bytes::MAX, path),
                    (true, false) => feed.acked,
                }
            }
            Self::PlusPlus(hystart) => hystart.on_ack(feed, path, win),
            Self::Search(search) => {
                if win.ssthresh.is_some() {
                    return if growth::may_grow(path) {
                        growth::slow_start(win, feed.acked, path.smss, path)
                    } else {
                        Bytes::ZERO
                    };
                }
                if growth::may_grow(path) {
                    growth::slow_start(win, feed.acked, Bytes::MAX, path);
                }
                search.observe(feed.rtt, path, win);
                Bytes::ZERO
            }
        }
    }

    /// Handles an expiry of the retransmission timer: Linux's HyStart starts again.
    pub fn on_timeout(&mut self, path: &Path) {
        if let Self::HyStart(hystart) = self {
            *hystart = HyStart::default();
            hystart.start_round(path);
        }
    }
}

/// The rise of the round-trip time that counts as one: `delay / 8`, between 4 and 16 ms.
fn rise(delay: Duration) -> Duration {
    (delay / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// Samples that a round needs before its minimum counts (N_RTT_SAMPLE; `HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;

/// HyStart as in Linux 6.1, with both detectors.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    found: bool,
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    round_rtt: Option<Duration>,
    samples: u32,
}

impl HyStart {
    /// Smallest window that HyStart checks, in segments (`hystart_low_window`).
    pub const LOW_WINDOW: u64 = 16;
    /// ACKs at most this far apart form a train (`hystart_ack_delta_us`).
    pub const ACK_DELTA: Duration = Duration::from_millis(2);

    /// Whether the end of slow start was found; the search restarts only after a timeout.
    #[must_use]
    pub fn found(&self) -> bool {
        self.found
    }

    fn start_round(&mut self, path: &Path) {
        self.round_start = path.now;
        self.last_ack = path.now;
        self.round_end = path.snd_nxt;
        self.round_rtt = None;
        self.samples = 0;
    }

    fn observe(&mut self, feed: &Feed, path: &Path, win: &mut Window) {
        let (Some(rtt), Some(min_rtt)) = (feed.rtt, feed.min_rtt) else { return };
        if self.found {
            return;
        }
        // Rounds are tracked from the first one on. If tracking began in the middle of a round, every round would span
        // the gap between two trains, and no train would ever be long.
        if path.snd_una > self.round_end {
            self.start_round(path);
        }
        if growth::whole_segments(win.cwnd, path) < Self::LOW_WINDOW {
            return;
        }
        let train = self.ack_train(min_rtt, path);
        if train || self.delay_rose(rtt, min_rtt) {
            self.found = true;
            win.ssthresh = Some(win.cwnd);
        }
    }

    fn ack_train(&mut self, min_rtt: Duration, path: &Path) -> bool {
        if path.now.since(self.last_ack) > Self::ACK_DELTA {
            return false;
        }
        self.last_ack = path.now;
        // Pacing by itself spreads ACKs over up to half a round-trip time, so the threshold is half of it only without
        // pacing. The allowance for aggregation is four full offload bursts at the pacing rate, at most 1 ms.
        let threshold = match path.pacing_rate {
            None => min_rtt / 2,
            Some(rate) => min_rtt + rate.time_for(Bytes::new(4 * 65_536)).min(Duration::from_millis(1)),
        };
        path.now.since(self.round_start) > threshold
    }

    fn delay_rose(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        let smallest = self.round_rtt.map_or(rtt, |r| r.min(rtt));
        self.round_rtt = Some(smallest);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        smallest > min_rtt + rise(min_rtt)
    }
}

/// HyStart++ (RFC 9406).
#[derive(Clone, Debug, Default)]
pub struct HyStartPlusPlus {
    /// Whether the first round has begun.
    started: bool,
    round_end: u64,
    round_rtt: Option<Duration>,
    last_round_rtt: Option<Duration>,
    samples: u32,
    /// Smallest round-trip time at the entry into Conservative Slow Start, while in it.
    baseline: Option<Duration>,
    /// Rounds of Conservative Slow Start that have ended.
    css_rounds: u32,
}

impl HyStartPlusPlus {
    /// L: largest growth per ACK without pacing, in segments.
    pub const LIMIT: u64 = 8;
    /// CSS_GROWTH_DIVISOR.
    pub const CSS_DIVISOR: u64 = 4;
    /// CSS_ROUNDS.
    pub const CSS_ROUNDS: u32 = 5;

    /// Whether the flow is in Conservative Slow Start.
    #[must_use]
    pub fn is_conservative(&self) -> bool {
        self.baseline.is_some()
    }

    /// Reports its variables by the names of [`start::VARIABLES`](crate::start::VARIABLES).
    pub fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |rtt: Option<Duration>| rtt.map_or(0.0, Duration::as_secs_f64);
        visit("current_round_min_rtt", seconds(self.round_rtt));
        visit("last_round_min_rtt", seconds(self.last_round_rtt));
        visit("rtt_sample_count", f64::from(self.samples));
        visit("css_baseline_min_rtt", seconds(self.baseline));
        visit("css_rounds", f64::from(self.css_rounds));
    }

    fn on_ack(&mut self, feed: &Feed, path: &Path, win: &mut Window) -> Bytes {
        let first = win.ssthresh.is_none();
        if growth::may_grow(path) {
            let limit = match (first, path.pacing_rate) {
                (false, _) => path.smss,
                (true, None) => path.smss * Self::LIMIT,
                (true, Some(_)) => Bytes::MAX,
            };
            let divisor = if first && self.is_conservative() { Self::CSS_DIVISOR } else { 1 };
            let left = growth::slow_start(win, feed.acked.min(limit) / divisor, Bytes::MAX, path);
            if !first {
                return left;
            }
        }
        if first {
            self.observe(feed, path, win);
        }
        Bytes::ZERO
    }

    fn observe(&mut self, feed: &Feed, path: &Path, win: &mut Window) {
        if !self.started {
            self.started = true;
            self.round_end = path.snd_nxt;
        }
        if let Some(rtt) = feed.rtt {
            self.sample(rtt);
        }
        // Ends the round after its last sample: the segment that ends a round was sent in it.
        if path.snd_una >= self.round_end {
            self.end_round(path, win);
        }
    }

    fn sample(&mut self, rtt: Duration) {
        let smallest = self.round_rtt.map_or(rtt, |r| r.min(rtt));
        self.round_rtt = Some(smallest);
        self.samples = self.samples.saturating_add(1);
        if self.samples < MIN_SAMPLES {
            return;
        }
        match (self.baseline, self.last_round_rtt) {
            (Some(baseline), _) if smallest < baseline => self.baseline = None,
            (None, Some(last)) if smallest >= last + rise(last) => {
                self.baseline = Some(smallest);
                self.css_rounds = 0;
            }
            _ => {}
        }
    }

    fn end_round(&mut self, path: &Path, win: &mut Window) {
        if self.is_conservative() {
            // The round in which CSS began counts too, although only a part of it was conservative.
            self.css_rounds += 1;
            if self.css_rounds >= Self::CSS_ROUNDS {
                win.ssthresh = Some(win.cwnd);
                self.baseline = None;
            }
        }
        self.round_end = path.snd_nxt;
        self.last_round_rtt = self.round_rtt.take();
        self.samples = 0;
    }
}
