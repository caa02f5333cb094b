//! Base delay, current delay and queuing delay, as LEDBAT estimates them (RFC 6817, section 2.4.2); and one-way delays
//! without the wrap of timestamps.

use narrows_units::{Duration, Instant};
use std::collections::VecDeque;

/// Length of an entry of the base history.
const MINUTE: u64 = 60_000_000_000;

/// The difference between the clocks of both ends, unwrapped from 2^32 µs: each step takes the shorter way round (RFC
/// 7323, section 5.2), so that clocks that are not synchronised may wrap between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockDifference {
    /// Latest difference, in µs modulo 2^32.
    ticks: Option<u32>,
    /// The same, unwrapped.
    position: i64,
}

impl ClockDifference {
    /// The unwrapped difference in µs, from [`Ack::one_way_delay`](crate::Ack::one_way_delay). It contains the offset
    /// between the clocks, so only differences between results are meaningful.
    pub fn micros(&mut self, difference: Duration) -> i64 {
        let ticks = difference.as_micros() as u32;
        self.position = match self.ticks.replace(ticks) {
            Some(last) => self.position.saturating_add(i64::from(ticks.wrapping_sub(last).cast_signed())),
            None => i64::from(ticks),
        };
        self.position
    }
}

/// Delays of a path: the smallest of each of the last minutes, and the last few.
///
/// Delays are in nanoseconds and may contain a constant offset (that of unsynchronised clocks), so they may be
/// negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Smallest delay of each minute (`base_delays`), the newest last.
    minutes: VecDeque<i64>,
    /// Most minutes that are kept (`BASE_HISTORY`).
    history: usize,
    /// Minute of the newest entry, counted from time 0.
    minute: u64,
    /// The last delays (`current_delays`), the newest last.
    last: VecDeque<i64>,
    /// Most delays that are kept (`CURRENT_FILTER`).
    filter: usize,
}

impl Delays {
    /// No delays yet. `history` is the number of minutes that the base delay comes from, `filter` the number of samples
    /// whose smallest is the current delay; both at least 1.
    #[must_use]
    pub fn new(history: usize, filter: usize) -> Self {
        let (history, filter) = (history.max(1), filter.max(1));
        Self {
            minutes: VecDeque::with_capacity(history + 1),
            history,
            minute: 0,
            last: VecDeque::with_capacity(filter + 1),
            filter,
        }
    }

    /// Adds a delay in nanoseconds (`update_base_delay`, `update_current_delay`). A minute without delays has no entry,
    /// as in the RFC's pseudocode. The RFC's text stores infinity for it, so that ten idle minutes end the history.
    pub fn sample(&mut self, delay: i64, now: Instant) {
        let minute = now.as_nanos() / MINUTE;
        match self.minutes.back_mut() {
            Some(least) if minute == self.minute => *least = delay.min(*least),
            _ => {
                self.minutes.push_back(delay);
                if self.minutes.len() > self.history {
                    self.minutes.pop_front();
                }
                self.minute = minute;
            }
        }
        self.last.push_back(delay);
        if self.last.len() > self.filter {
            self.last.pop_front();
        }
    }

    /// Forgets all delays.
    pub fn forget(&mut self) {
        self.minutes.clear();
        self.last.clear();
    }

    /// The base delay: the smallest of the history, in nanoseconds; `None` before a sample.
    #[must_use]
    pub fn base(&self) -> Option<i64> {
        self.minutes.iter().copied().min()
    }

    /// The current delay: the smallest of the last samples, in nanoseconds; `None` before a sample.
    #[must_use]
    pub fn current(&self) -> Option<i64> {
        self.last.iter().copied().min()
    }

    /// The queuing delay: the current delay minus the base delay; `None` before a sample.
    #[must_use]
    pub fn queuing(&self) -> Option<Duration> {
        let over = self.current()?.saturating_sub(self.base()?);
        Some(Duration::from_nanos(u64::try_from(over).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn base_delay_is_the_smallest_of_ten_minutes() {
        let mut delays = Delays::new(10, 1);
        delays.sample(20, at(0));
        delays.sample(30, at(61));
        for minute in 2..10 {
            delays.sample(40, at(60 * minute));
            assert_eq!(delays.base(), Some(20));
        }
        delays.sample(40, at(600));
        assert_eq!(delays.base(), Some(30), "the eleventh entry displaces the first");
        delays.sample(40, at(660));
        assert_eq!(delays.base(), Some(40));
    }

    #[test]
    fn current_delay_is_the_smallest_of_the_last_four() {
        let mut delays = Delays::new(10, 4);
        assert_eq!((delays.current(), delays.queuing()), (None, None));
        for delay in [10, 50, 60, 70] {
            delays.sample(delay, at(0));
        }
        assert_eq!(delays.current(), Some(10));
        delays.sample(80, at(0));
        assert_eq!((delays.current(), delays.base()), (Some(50), Some(10)));
        assert_eq!(delays.queuing(), Some(Duration::from_nanos(40)));
    }

    #[test]
    fn an_offset_of_the_clocks_cancels() {
        let mut delays = Delays::new(10, 1);
        delays.sample(-5_000_000, at(0));
        delays.sample(-2_000_000, at(0));
        assert_eq!(delays.queuing(), Some(Duration::from_millis(3)));
    }

    #[test]
    fn the_wrap_of_timestamps_is_no_step() {
        let mut clock = ClockDifference::default();
        let top = u64::from(u32::MAX);
        assert_eq!(clock.micros(Duration::from_micros(top)), i64::from(u32::MAX));
        assert_eq!(clock.micros(Duration::from_micros(4)), i64::from(u32::MAX) + 5);
        assert_eq!(clock.micros(Duration::from_micros(top - 1)), i64::from(u32::MAX) - 1);
    }
}
