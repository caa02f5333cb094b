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
        // A smaller value of the same count can never become the maximum. Most samples are such values.
        if self.kept.last().is_none_or(|&(at, kept)| at != count || kept <= value) {
            self.keep(count, value);
        }
        self.advance(count, window)
    }

    #[inline(never)]
    fn keep(&mut self, count: u64, value: T) {
        while self.kept.last().is_some_and(|&(_, kept)| kept <= value) {
            self.kept.pop();
        }
        if self.kept.last().is_none_or(|&(at, _)| at != count) {
            self.kept.push((count, value));
        }
    }

    /// Forgets samples more than `window` counts before `count`, except the last, without adding one. Returns the
    /// maximum.
    #[inline]
    pub fn advance(&mut self, count: u64, window: u64) -> T {
        if self.kept.first().is_some_and(|&(at, _)| count.saturating_sub(at) > window) {
            self.forget(count, window);
        }
        self.max()
    }

    #[inline(never)]
    fn forget(&mut self, count: u64, window: u64) {
        let old = self.kept.iter().take_while(|&&(at, _)| count.saturating_sub(at) > window).count();
        self.kept.drain(..old.min(self.kept.len().saturating_sub(1)));
    }

    /// The maximum; the type's zero before any sample.
    #[inline]
    #[must_use]
    pub fn max(&self) -> T {
        self.kept.first().map_or_else(T::default, |&(_, value)| value)
    }
}
