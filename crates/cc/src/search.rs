//! SEARCH: slow start ends when the bytes delivered no longer double from one round-trip time to the next.
//!
//! # Idea
//! While slow start has room, each round-trip time delivers twice what the one before it delivered. At the capacity of
//! the path it does not, whatever the delay does. SEARCH counts delivered bytes in bins of about a third of a
//! round-trip time, compares a window of ten bins with the window one round-trip time earlier, and leaves slow start
//! when the newer one is too far below twice the older one. A window of 3.5 round-trip times evens out the delays of
//! wireless links, which end HyStart too early.
//!
//! # Sources
//! J. Chung, M. Kachooei, F. Li, M. Claypool, "SEARCH -- a New Slow Start Algorithm for TCP and QUIC"
//! (draft-chung-ccwg-search), algorithm "SEARCH 3.0", in the authors' source of 4 June 2024; line numbers below are
//! those of its listing.
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | BIN_DURATION | `bin` | time |
//! | bin\[\] | `bins` | bytes |
//! | curr_idx | `count - 1` | - |
//! | bin_end | `bin_end` | time |
//! | prev_seq_num | `counted` | bytes |
//! | norm_diff | `norm_diff` | - |
//!
//! # Differences
//! * The draft keeps 25 bins, so the two ends of the older window share a bin when the round-trip time has grown by
//!   most of what it allows. We keep 26.
//! * INITIAL_RTT is the smallest round-trip time that is known at the first ACK of slow start; the draft takes the
//!   first sample of the connection.
//! * Delivered bytes include those that SACK reports; the draft counts cumulative acknowledgments.
//! * As SEARCH 3.1, the bins are cleared while something other than cwnd limits the sender: its deliveries do not
//!   double for another reason.
//! * Versions since -09 (2026) compare with bytes *sent* a round-trip time earlier and use THRESH = 0.26.
//!
//! # Limits
//! SEARCH runs in the first slow start only (ssthresh still unset). It needs ten bins, and those of a round-trip time
//! before, to decide: with a constant round-trip time five round-trip times. A round-trip time of more than 5.25 times
//! the first one has no older window in the bins, and SEARCH waits.
//!
//! # Vectors
//! `search_continues_while_deliveries_double`, `search_leaves_two_round_trips_after_the_capacity`,
//! `search_sums_by_hand`, `search_clears_its_bins_while_the_application_limits`.

use crate::{Path, Window, growth};
use narrows_units::{Bytes, Duration, Instant};

/// W: bins in a window.
const WINDOW: u64 = 10;
/// EXTRA_BINS: how many bins ago the older window may end.
const EXTRA: u64 = 15;
/// Bins that are kept: both windows at the largest distance.
const BINS: usize = (WINDOW + EXTRA + 1) as usize;
/// THRESH.
const THRESHOLD: f64 = 0.35;

/// The end of slow start by delivered bytes; see the module's page.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Length of a bin: 0.35 times the initial round-trip time; zero before the first ACK.
    bin: Duration,
    initial_rtt: Duration,
    bin_end: Instant,
    /// Bytes delivered in each bin, by number of the bin modulo their count.
    bins: [u64; BINS],
    /// Bins that have ended.
    count: u64,
    /// Bytes delivered when the last bin ended.
    counted: u64,
    norm_diff: f64,
}

impl Search {
    /// By how much the newer window falls short of twice the older one, as a share of that; 0 before both are known.
    #[must_use]
    pub fn norm_diff(&self) -> f64 {
        self.norm_diff
    }

    /// Counts what an ACK delivered, and leaves slow start if a bin has ended and deliveries no longer double. `rtt` is
    /// the sample of the ACK.
    pub fn observe(&mut self, rtt: Option<Duration>, path: &Path, win: &mut Window) {
        if !growth::may_grow(path) {
            *self = Self::default();
            return;
        }
        if self.bin.is_zero() {
            self.begin(rtt, path);
            return;
        }
        if path.now <= self.bin_end {
            return;
        }
        self.end_bins(path);
        let Some(rtt) = rtt.or(path.srtt) else { return };
        if self.is_at_capacity(rtt) {
            self.leave(path, win);
        }
    }

    /// Lines 7 to 9.
    fn begin(&mut self, rtt: Option<Duration>, path: &Path) {
        let Some(rtt) = path.min_rtt.or(rtt).filter(|rtt| rtt.as_nanos() >= 100) else { return };
        self.initial_rtt = rtt;
        self.bin = Duration::from_nanos(rtt.as_nanos() / 100 * 35);
        self.bin_end = path.now + self.bin;
        self.counted = path.delivered.as_u64();
    }

    /// Lines 24 to 31: an ACK after a pause ends several bins, of which the last has all bytes.
    fn end_bins(&mut self, path: &Path) {
        let passed = path.now.since(self.bin_end).as_nanos() / self.bin.as_nanos() + 1;
        self.bin_end += Duration::from_nanos(self.bin.as_nanos().saturating_mul(passed));
        for number in 0..passed.min(BINS as u64) {
            self.bins[Self::place(self.count + number)] = 0;
        }
        self.count += passed;
        self.bins[Self::place(self.count - 1)] = path.delivered.as_u64() - self.counted;
        self.counted = path.delivered.as_u64();
    }

    fn place(number: u64) -> usize {
        (number % BINS as u64) as usize
    }

    /// Lines 12 to 18: whether the delivered bytes fall short of twice those of a round-trip time ago by THRESH.
    fn is_at_capacity(&mut self, rtt: Duration) -> bool {
        let (rtt, bin) = (rtt.as_nanos(), self.bin.as_nanos());
        let (back, current) = (rtt / bin, self.count - 1);
        if back > EXTRA || current < WINDOW + back {
            return false;
        }
        let previous = current - back;
        let fraction = (rtt % bin) as f64 / bin as f64;
        let now = self.sum(current - WINDOW, current, 0.0);
        let expected = 2.0 * self.sum(previous - WINDOW, previous, fraction);
        if expected <= 0.0 {
            return false;
        }
        self.norm_diff = (expected - now) / expected;
        self.norm_diff >= THRESHOLD
    }

    /// Lines 32 to 38: the bytes from the end of bin `from` to the end of bin `to`, both moved back by `fraction` of a
    /// bin.
    fn sum(&self, from: u64, to: u64, fraction: f64) -> f64 {
        let of = |number: u64| self.bins[Self::place(number)] as f64;
        let middle: f64 = (from + 1..to).map(of).sum();
        middle + of(from) * fraction + of(to) * (1.0 - fraction)
    }

    /// Lines 39 to 42: takes back what cwnd has grown since the path was full, about two round-trip times ago.
    fn leave(&mut self, path: &Path, win: &mut Window) {
        let back = 2 * self.initial_rtt.as_nanos() / self.bin.as_nanos();
        let current = self.count - 1;
        let overshoot = self.sum(current.saturating_sub(back), current, 0.0);
        let floor = path.initial_window.min(win.cwnd);
        win.cwnd = win.cwnd.saturating_sub(Bytes::from_f64(overshoot)).max(floor);
        win.ssthresh = Some(win.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::Search;
    use narrows_units::Duration;

    /// SEARCH with bins of 35 ms that delivered these bytes.
    fn with_bins(bytes: &[u64]) -> Search {
        let mut search =
            Search { bin: Duration::from_millis(35), initial_rtt: Duration::from_millis(100), ..Search::default() };
        for (number, bytes) in bytes.iter().enumerate() {
            search.bins[Search::place(number as u64)] = *bytes;
        }
        search.count = bytes.len() as u64;
        search
    }

    #[test]
    fn search_sums_by_hand() {
        // Bins 0 to 12 with 1 to 13 bytes. Current window: bins 3 to 12 = 4 + .. + 13 = 85. A round-trip time of
        // 87.5 ms is two bins and a half: the older window is half of bin 0, bins 1 to 9, half of bin 10: 0.5 + 54 +
        // 5.5 = 60.
        let bytes: Vec<u64> = (1..=13).collect();
        let mut search = with_bins(&bytes);
        assert!((search.sum(2, 12, 0.0) - 85.0).abs() < 1e-9);
        assert!((search.sum(0, 10, 0.5) - 60.0).abs() < 1e-9);
        assert!(!search.is_at_capacity(Duration::from_micros(87_500)), "(120 - 85) / 120 = 0.29");
        assert!((search.norm_diff - 35.0 / 120.0).abs() < 1e-9);
        let mut flat = with_bins(&[7; 13]);
        assert!(flat.is_at_capacity(Duration::from_micros(87_500)), "constant deliveries: 0.5");
        assert!((flat.norm_diff - 0.5).abs() < 1e-9);
        assert!(!with_bins(&[7; 12]).is_at_capacity(Duration::from_micros(87_500)), "one bin is missing");
        assert!(!with_bins(&[7; 40]).is_at_capacity(Duration::from_millis(561)), "the older window is forgotten");
        assert!(with_bins(&[7; 40]).is_at_capacity(Duration::from_millis(559)));
    }
}
