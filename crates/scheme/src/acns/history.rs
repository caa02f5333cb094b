//! The window's own history: finds its latest smaller value.

use narrows_units::Bytes;
use std::collections::VecDeque;

/// Largest number of values kept. Each belongs to one round trip, and only values that can still be an answer are kept.
const BOUND: usize = 128;

/// Windows of past round trips, from which the most recent one below a given window is found (`cwnd_last,x = W(t - x)`,
/// DCNET 2013, equation 11).
///
/// A value followed by one that is equal or smaller can never be an answer again, so it is dropped: the values that
/// stay rise from the oldest to the newest. A long freeze therefore takes one place, and 128 rising round trips are
/// remembered. Beyond that the oldest value, which is the smallest, is forgotten.
#[derive(Clone, Debug)]
pub(super) struct History(VecDeque<Bytes>);

impl History {
    /// Creates an empty history.
    pub(super) fn new() -> Self {
        Self(VecDeque::with_capacity(BOUND))
    }

    /// Records the window of a round trip.
    pub(super) fn push(&mut self, cwnd: Bytes) {
        while self.0.back().is_some_and(|&last| last >= cwnd) {
            self.0.pop_back();
        }
        if self.0.len() == BOUND {
            self.0.pop_front();
        }
        self.0.push_back(cwnd);
    }

    /// Returns the most recent window below `cwnd`.
    pub(super) fn latest_below(&self, cwnd: Bytes) -> Option<Bytes> {
        self.0.iter().rev().copied().find(|&w| w < cwnd)
    }

    /// Returns the number of values kept.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_latest_smaller_value_is_found_not_the_smallest() {
        let mut h = History::new();
        assert_eq!(h.latest_below(Bytes::new(100)), None);
        for w in [10, 20, 40, 80] {
            h.push(Bytes::new(w));
        }
        assert_eq!(h.latest_below(Bytes::new(100)), Some(Bytes::new(80)));
        assert_eq!(h.latest_below(Bytes::new(80)), Some(Bytes::new(40)));
        assert_eq!(h.latest_below(Bytes::new(10)), None);
    }

    #[test]
    fn a_long_freeze_does_not_push_smaller_values_out() {
        let mut h = History::new();
        h.push(Bytes::new(10));
        for _ in 0..10 * BOUND {
            h.push(Bytes::new(20));
        }
        assert_eq!((h.len(), h.latest_below(Bytes::new(20))), (2, Some(Bytes::new(10))));
    }

    #[test]
    fn a_long_sawtooth_does_not_either() {
        let mut h = History::new();
        h.push(Bytes::new(10));
        for n in 0..10 * BOUND as u64 {
            h.push(Bytes::new(20 + n % 3));
        }
        assert_eq!(h.latest_below(Bytes::new(20)), Some(Bytes::new(10)));
    }

    proptest! {
        #[test]
        fn it_answers_as_the_whole_history_would(
            windows in proptest::collection::vec(1u64..100, 0..200), present in 1u64..120,
        ) {
            let mut h = History::new();
            windows.iter().for_each(|&w| h.push(Bytes::new(w)));
            let plain = windows.iter().rev().copied().find(|&w| w < present).map(Bytes::new);
            prop_assert_eq!(h.latest_below(Bytes::new(present)), plain);
            prop_assert!(h.len() <= BOUND);
        }
    }
}
