//! How much of the congestion window the application uses: Linux's `tcp_cwnd_validate` and `tcp_is_cwnd_limited`.

use narrows_cc::Window;
use narrows_units::{Duration, Instant};

/// Use of the window in the current window of data, and since something else began to limit the sender.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Whether cwnd stopped the sender in the current window of data (`is_cwnd_limited`).
    limited: bool,
    /// Largest flight in that window if cwnd did not stop the sender (`max_packets_out`), bytes.
    max_flight: u64,
    /// End of that window (`cwnd_usage_seq`), as an offset.
    window_end: u64,
    /// Largest flight since `since` (`snd_cwnd_used`), bytes.
    used: u64,
    /// When cwnd last was the limit, or was last set (`snd_cwnd_stamp`).
    since: Instant,
    /// Whether data was sent since the sender last stopped.
    sent: bool,
}

/// The state of a sender that stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Whether cwnd stops it.
    pub(crate) limited: bool,
    /// FlightSize, bytes.
    pub(crate) flight: u64,
    /// SND.UNA and SND.NXT as offsets.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// The current time.
    pub(crate) now: Instant,
}

impl Usage {
    /// Whether the window may grow: cwnd stopped the sender, or, in slow start, cwnd is below twice what was used, so
    /// that the limit is found in time. `at_equality`: see [`narrows_cc::Path::slow_start_at_equality`].
    #[inline]
    pub(crate) fn is_limited(&self, win: &Window, at_equality: bool) -> bool {
        self.limited || (win.is_below_ssthresh(at_equality) && win.cwnd.as_u64() < self.max_flight.saturating_mul(2))
    }

    /// Data was sent.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        self.sent = true;
    }

    /// Whether data was sent since the sender last stopped.
    #[inline]
    pub(crate) fn has_sent(&self) -> bool {
        self.sent
    }

    /// Restarts the measurement after the window was set: the use of the previous window no longer counts.
    #[inline]
    pub(crate) fn restart(&mut self, now: Instant) {
        (self.used, self.since) = (0, now);
    }

    /// Notes that the sender stops. A stop without a transmission does not count, unless cwnd prevented the
    /// transmission.
    #[inline]
    pub(crate) fn note(&mut self, stop: &Stop, win: &Window, at_equality: bool) {
        if !core::mem::take(&mut self.sent) && !stop.limited {
            return;
        }
        if stop.limited || stop.una >= self.window_end || (!self.limited && stop.flight > self.max_flight) {
            (self.limited, self.max_flight, self.window_end) = (stop.limited, stop.flight, stop.nxt);
        }
        if self.is_limited(win, at_equality) {
            self.restart(stop.now);
        } else {
            self.used = self.used.max(stop.flight);
        }
    }

    /// Returns the largest flight once cwnd has not been the limit for `rto`, and restarts the measurement.
    pub(crate) fn unused_for(&mut self, rto: Duration, now: Instant) -> Option<u64> {
        if now.since(self.since) < rto {
            return None;
        }
        let used = self.used;
        self.restart(now);
        Some(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Bytes;

    fn window(cwnd: u64, ssthresh: Option<u64>) -> Window {
        let ssthresh = ssthresh.map(Bytes::new);
        Window { cwnd: Bytes::new(cwnd), ssthresh, pacing_rate: None }
    }

    fn stop(limited: bool, flight: u64, una: u64) -> Stop {
        Stop { limited, flight, una, nxt: una + flight, now: Instant::ZERO }
    }

    fn note(usage: &mut Usage, s: &Stop, win: &Window) {
        usage.on_sent();
        usage.note(s, win, false);
    }

    #[test]
    fn d1_slow_start_may_grow_to_twice_what_is_used() {
        let mut usage = Usage::default();
        note(&mut usage, &stop(false, 6, 0), &window(10, None));
        assert!(usage.is_limited(&window(11, None), false), "11 < 2 * 6");
        assert!(!usage.is_limited(&window(12, None), false));
        assert!(!usage.is_limited(&window(11, Some(11)), false), "in slow start only");
    }

    #[test]
    fn d1_a_window_that_was_the_limit_once_counts_for_a_window_of_data() {
        let (mut usage, win) = (Usage::default(), window(10, Some(5)));
        note(&mut usage, &stop(true, 10, 0), &win);
        note(&mut usage, &stop(false, 4, 9), &win);
        assert!(usage.is_limited(&win, false), "until what was sent then is acknowledged");
        note(&mut usage, &stop(false, 4, 10), &win);
        assert!(!usage.is_limited(&win, false));
        note(&mut usage, &stop(true, 10, 11), &win);
        assert!(usage.is_limited(&win, false), "the stronger sign counts at once");
    }

    #[test]
    fn acknowledgments_that_release_nothing_are_no_sign() {
        let (mut usage, win) = (Usage::default(), window(10, Some(5)));
        note(&mut usage, &stop(true, 10, 0), &win);
        usage.note(&stop(false, 0, 10), &win, false);
        assert!(usage.is_limited(&win, false), "Linux validates only where something was sent");
    }

    #[test]
    fn unused_time_counts_from_the_last_time_the_window_was_the_limit() {
        let (mut usage, win) = (Usage::default(), window(10, Some(5)));
        let at = |n| Instant::from_nanos(n);
        note(&mut usage, &Stop { now: at(100), ..stop(true, 10, 0) }, &win);
        note(&mut usage, &Stop { now: at(200), ..stop(false, 3, 10) }, &win);
        assert_eq!(usage.unused_for(Duration::from_nanos(101), at(200)), None);
        assert_eq!(usage.unused_for(Duration::from_nanos(100), at(200)), Some(3));
        assert_eq!(usage.unused_for(Duration::from_nanos(100), at(299)), None, "and again an RTO later");
    }
}
