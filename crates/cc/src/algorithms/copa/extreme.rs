//! The smallest value of a window of time, from the best three samples (K. Nichols; Linux's `lib/win_minmax.c`).
//!
//! It takes constant room and time whatever the rate of samples. The exact filter of [`windowed`](crate::windowed)
//! keeps a sample for each ACK while a queue grows.

use narrows_units::{Duration, Instant};

/// The smallest value of a window. `Reverse` makes it the largest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Smallest<T> {
    /// The best, second and third best samples with their times, oldest first.
    best: Option<[(Instant, T); 3]>,
}

impl<T: Copy + Ord> Smallest<T> {
    /// The smallest value; `None` before a sample.
    pub fn get(&self) -> Option<T> {
        self.best.map(|[(_, value), ..]| value)
    }

    /// Adds a sample and forgets those older than `window`. Returns the smallest value.
    pub fn update(&mut self, now: Instant, value: T, window: Duration) -> T {
        let new = (now, value);
        let Some(mut s) = self.best.filter(|s| value > s[0].1 && now.since(s[2].0) <= window) else {
            self.best = Some([new; 3]);
            return value;
        };
        if value <= s[1].1 {
            (s[1], s[2]) = (new, new);
        } else if value <= s[2].1 {
            s[2] = new;
        }
        let age = now.since(s[0].0);
        if age > window {
            // The best has left the window: the others move up, twice if the second is too old as well.
            s = [s[1], s[2], new];
            if now.since(s[0].0) > window {
                s = [s[1], s[2], new];
            }
        } else if s[1].0 == s[0].0 && age > window / 4 {
            (s[1], s[2]) = (new, new);
        } else if s[2].0 == s[1].0 && age > window / 2 {
            s[2] = new;
        }
        self.best = Some(s);
        s[0].1
    }
}
