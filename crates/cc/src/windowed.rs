//! The largest value in a window that slides over a counter (rounds, probing cycles).
//!
//! Linux keeps the best three samples of a window (`lib/win_minmax.c`, after K. Nichols), which forgets a maximum late
//! or replaces it by a somewhat smaller one. This filter is exact and, since a window is only a few rounds long, just
//! as small.

/// Maximum over the present count and the `window` counts before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaxFilter<T> {
    /// Counts and their maxima, oldest first. Values decrease: an older value that is not larger cannot become the
    /// maximum.
    kept: Vec<(u64, T)>,
}

impl<T: Copy + Ord + Default> MaxFilter<T> {
    /// Adds a sample at `count`, which never decreases, and forgets samples more than `window` counts old. Returns the
    /// maximum.
    #[inline]
    pub fn update(&mut self, count: u64, value: T, window: u64) -> T {
        while self.kept.last().is_some_and(|&(_, kept)| kept <= value) {
            self.kept.pop();
        }
        // A smaller value of the same count can never become the maximum.
        if self.kept.last().is_none_or(|&(at, _)| at != count) {
            self.kept.push((count, value));
        }
        self.advance(count, window)
    }

    /// Forgets samples more than `window` counts before `count`, except the last, without adding one. Returns the
    /// maximum.
    #[inline]
    pub fn advance(&mut self, count: u64, window: u64) -> T {
        let old = self.kept.iter().take_while(|&&(at, _)| count.saturating_sub(at) > window).count();
        if old > 0 {
            self.kept.drain(..old.min(self.kept.len().saturating_sub(1)));
        }
        self.max()
    }

    /// The maximum; the type's zero before any sample.
    #[inline]
    #[must_use]
    pub fn max(&self) -> T {
        self.kept.first().map_or_else(T::default, |&(_, value)| value)
    }
}
