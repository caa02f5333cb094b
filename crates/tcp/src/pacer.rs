//! Pacing: the rate in force, and when the next segment may leave.
//!
//! The rate is the congestion control's own if it set one. Otherwise, with [`Pacing::Ratio`], it is Linux's
//! (`tcp_update_pacing_rate`): `ratio * SMSS * max(cwnd, packets out) / SRTT`, computed once per ACK.
//!
//! Without bursts, each segment waits for its own turn. With bursts ([`Config::tso`](crate::Config::tso)), segments
//! leave as in Linux with TSO: up to a millisecond's worth together (`tcp_tso_autosize`), and the first ten of a
//! connection unpaced. If a burst left late, the gap after it is shortened by the delay, up to half of the gap
//! (`tcp_update_skb_after_send`). With [`Config::gso`](crate::Config::gso) the super-packet that leaves is the burst
//! ([`crate::linux::gso`]).

use crate::linux::gso::{paced, segments};
use narrows_cc::Window;
use narrows_settings::{Burst, Pacing};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, Serialiser};

/// Data segments of a connection that leave before its own pacing begins.
const UNPACED: Packets = Packets::new(10);

/// Segments that leave together at `rate` where only paced ones do.
pub(crate) fn burst_segments(rate: Rate, smss: u64, min_rtt: Option<Duration>) -> u32 {
    segments(Some(rate), smss, min_rtt, &paced(rate, Burst::default()))
}

/// Linux's rate for a window (`tcp_update_pacing_rate`): `percent.0` of it per round-trip time while cwnd is less than
/// half of ssthresh, else `percent.1`. `None` if that is no rate.
#[inline]
pub(crate) fn rate_by_ratio(percent: (u32, u32), win: &Window, flight: u64, smss: u64, srtt: Duration) -> Option<Rate> {
    by_ratio(ratio(percent, win, smss), win.cwnd.as_u64().max(flight), srtt)
}

/// Whether that rate is below `rate`, without a division.
#[inline]
pub(crate) fn is_below_by_ratio(
    percent: (u32, u32),
    win: &Window,
    flight: u64,
    smss: u64,
    srtt: Duration,
    rate: Rate,
) -> bool {
    let (window, scale) = (win.cwnd.as_u64().max(flight), u64::from(ratio(percent, win, smss)) * SCALE);
    match (window.checked_mul(scale), rate.as_bps().checked_mul(srtt.as_nanos())) {
        (Some(bits), Some(others)) => bits < others,
        _ => u128::from(window) * u128::from(scale) < u128::from(rate.as_bps()) * u128::from(srtt.as_nanos()),
    }
}

#[inline]
fn ratio(percent: (u32, u32), win: &Window, smss: u64) -> u32 {
    // Linux compares whole segments: cwnd < ssthresh / 2.
    let cwnd = win.cwnd.as_u64();
    let is_far = |s: u64| cwnd < s / 2 && cwnd < s / smss.max(1) / 2 * smss;
    if win.ssthresh.is_none_or(|s| is_far(s.as_u64())) { percent.0 } else { percent.1 }
}

/// Bits of a byte times nanoseconds of a second, in per cent.
const SCALE: u64 = 80_000_000;

/// Releases segments no faster than a rate. Without a rate it delays nothing, and takes a pointer.
#[derive(Debug, Default)]
pub(crate) struct Pacer(Option<Box<Paced>>);

/// The state of a pacer that has paced something, or has a rate.
#[derive(Debug, Default)]
struct Paced {
    /// Whether a segment that could otherwise leave waits for the pacer.
    waiting: bool,
    next: Instant,
    /// Rate that the connection's own setting gave at the last ACK; zero without a setting, and before the first
    /// round-trip time.
    own: Rate,
    /// None before anything was paced.
    turn: Option<Box<Turn>>,
}

/// Segments that leave together, and the time that they take at the rate.
#[derive(Debug, Default)]
struct Turn {
    clock: Serialiser,
    began: Instant,
    /// Segments that may still leave at `began`.
    left: u32,
    /// Time that the segments which have left take.
    takes: Duration,
    /// How late the first of them left.
    late: Duration,
}

/// A data segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// Payload.
    pub(crate) bytes: u64,
    /// Number of the data segment in the connection, from 1.
    pub(crate) number: Packets,
    /// Segments that may leave together, by [`burst_segments`]; `None` if each waits for its own turn.
    pub(crate) burst: Option<u32>,
}

impl Pacer {
    /// The rate in force: the congestion control's own, or that of the connection's setting.
    #[inline]
    pub(crate) fn rate(&self, win: &Window) -> Option<Rate> {
        win.pacing_rate.or_else(|| self.0.as_ref().map(|paced| paced.own).filter(|&own| own > Rate::ZERO))
    }

    /// Whether it has paced something, or had a rate of the connection's own.
    pub(crate) fn is_used(&self) -> bool {
        self.0.is_some()
    }

    /// Recomputes the connection's own rate after an ACK, if its setting gives one.
    #[inline]
    pub(crate) fn on_ack(&mut self, setting: Pacing, win: &Window, flight: u64, smss: u64, srtt: Option<Duration>) {
        if let Pacing::Ratio { slow_start, avoidance } = setting {
            let rate = srtt.and_then(|srtt| rate_by_ratio((slow_start, avoidance), win, flight, smss, srtt));
            self.0.get_or_insert_default().own = rate.unwrap_or(Rate::ZERO);
        }
    }

    /// Whether a segment may leave now; if not, [`deadline`](Self::deadline) says when.
    #[inline]
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        let Some(paced) = &mut self.0 else { return true };
        paced.waiting = now < paced.next && !paced.turn.as_ref().is_some_and(|turn| turn.left > 0 && turn.began == now);
        !paced.waiting
    }

    /// A data segment left.
    #[inline]
    pub(crate) fn on_sent(&mut self, segment: Departure, win: &Window, now: Instant) {
        let Some(rate) = self.rate(win) else { return };
        let from_the_first = win.pacing_rate.is_some() && segment.burst.is_none();
        if !from_the_first && segment.number < UNPACED {
            return;
        }
        let Paced { turn, next, .. } = &mut **self.0.get_or_insert_default();
        let turn = turn.get_or_insert_default();
        if let Some(burst) = segment.burst {
            *next = turn.together(burst, Bytes::new(segment.bytes), rate, (*next, now));
            return;
        }
        if now > *next {
            turn.clock.restart();
            *next = now;
        }
        *next += turn.clock.time_for(Bytes::new(segment.bytes), rate);
    }

    /// A data segment left in a super-packet (`tcp_update_skb_after_send`): as the first of it if `first`.
    #[inline]
    pub(crate) fn on_sent_together(&mut self, segment: Departure, first: bool, win: &Window, now: Instant) {
        let Some(rate) = self.rate(win).filter(|_| segment.number >= UNPACED) else { return };
        let Paced { turn, next, .. } = &mut **self.0.get_or_insert_default();
        let turn = turn.get_or_insert_default();
        turn.left = if first { 0 } else { 1 };
        *next = turn.together(1, Bytes::new(segment.bytes), rate, (*next, now));
        // The end of a super-packet is not the pacer's to know.
        turn.left = 0;
    }

    /// When the next segment may leave; in the past if it may at once.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.0.as_ref().map_or(Instant::ZERO, |paced| paced.next)
    }

    /// Lets nothing leave before `until`.
    pub(crate) fn hold(&mut self, until: Instant) {
        let paced = self.0.get_or_insert_default();
        paced.next = paced.next.max(until);
    }

    /// Lets the next segment leave at once.
    pub(crate) fn release(&mut self) {
        if let Some(paced) = &mut self.0 {
            (paced.next, paced.waiting) = (Instant::ZERO, false);
        }
    }

    /// Notes that no segment waits any longer.
    #[inline]
    pub(crate) fn idle(&mut self) {
        if let Some(paced) = &mut self.0 {
            paced.waiting = false;
        }
    }

    /// Stops waiting if the deadline has passed. A segment that still waits sets it again at the next poll. A
    /// connection that no longer sends (all is acknowledged, the FIN too) does not, and its timer must not stay in the
    /// past.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if let Some(paced) = &mut self.0 {
            paced.waiting &= now < paced.next;
        }
    }

    /// When the waiting segment may leave.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.0.as_ref().filter(|paced| paced.waiting).map_or(Instant::NEVER, |paced| paced.next)
    }
}

impl Turn {
    /// Notes a segment that left at `now` in a burst of `burst`, which was due at `due`; returns when the next burst
    /// may leave.
    fn together(&mut self, burst: u32, bytes: Bytes, rate: Rate, (due, now): (Instant, Instant)) -> Instant {
        if self.left == 0 || self.began != now {
            let late = now.since(due);
            if !late.is_zero() {
                self.clock.restart();
            }
            (self.began, self.left, self.takes, self.late) = (now, burst.max(1), Duration::ZERO, late);
        }
        self.left -= 1;
        self.takes += self.clock.time_for(bytes, rate);
        let credit = self.late.min(Duration::from_nanos(self.takes.as_nanos() / 2));
        self.began + (self.takes - credit)
    }
}

/// `percent` of `window` bytes per `srtt`; `None` if that is zero or exceeds the range of a rate.
fn by_ratio(percent: u32, window: u64, srtt: Duration) -> Option<Rate> {
    let scale = u64::from(percent) * SCALE;
    let bps = match window.checked_mul(scale) {
        // Nearly always, and much faster.
        Some(bits) => bits.checked_div(srtt.as_nanos())?,
        None => {
            let bits = u128::from(window) * u128::from(scale);
            u64::try_from(bits.checked_div(u128::from(srtt.as_nanos()))?).ok()?
        }
    };
    Some(bps).filter(|bps| *bps > 0).map(Rate::bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Pacing = Pacing::Ratio { slow_start: 200, avoidance: 120 };

    fn window(cwnd: u64, ssthresh: Option<u64>, pacing_rate: Option<Rate>) -> Window {
        let ssthresh = ssthresh.map(Bytes::new);
        Window { cwnd: Bytes::new(cwnd), ssthresh, pacing_rate }
    }

    fn segment(number: u64) -> Departure {
        Departure { bytes: 1000, number: Packets::new(number), burst: None }
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_next_waits_for_all_of_it() {
        let win = window(100_000, None, Some(Rate::mbps(8)));
        let mut pacer = Pacer::default();
        let ms = |ms: u64| Instant::ZERO + Duration::from_micros(1000 * ms);
        let burst = |number| Departure { burst: Some(3), ..segment(number) };
        pacer.on_sent(burst(9), &win, ms(1));
        assert!(pacer.admits(ms(1)), "the first ten are not paced");
        for number in 10..13 {
            assert!(pacer.admits(ms(5)), "{number}");
            pacer.on_sent(burst(number), &win, ms(5));
        }
        assert!(!pacer.admits(ms(5)));
        // Three milliseconds' worth; the first was late by more than half of that.
        assert_eq!(pacer.deadline(), ms(5) + Duration::from_micros(1500));
        let due = pacer.deadline();
        pacer.on_sent(burst(13), &win, due);
        assert_eq!(pacer.due(), ms(7) + Duration::from_micros(500), "in time: the whole gap");
        assert!(pacer.admits(ms(5) + Duration::from_micros(1500)), "two are left of the burst");
        assert!(!pacer.admits(ms(7)), "and none at another time");
    }

    #[test]
    fn segments_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        let win = window(10_000, None, Some(Rate::mbps(8)));
        let mut now = Instant::ZERO;
        for _ in 0..10 {
            assert!(pacer.admits(now));
            pacer.on_sent(segment(1), &win, now);
            assert!(!pacer.admits(now), "one millisecond each, from the first where the algorithm set the rate");
            now = pacer.deadline();
        }
        assert_eq!(now, Instant::from_nanos(10_000_000));
    }

    #[test]
    fn a_timer_that_went_off_does_not_stay_in_the_past() {
        let mut pacer = Pacer::default();
        pacer.hold(Instant::from_nanos(100));
        assert!(!pacer.admits(Instant::ZERO));
        pacer.on_timeout(Instant::from_nanos(99));
        assert_eq!(pacer.deadline(), Instant::from_nanos(100));
        pacer.on_timeout(Instant::from_nanos(100));
        assert_eq!(pacer.deadline(), Instant::NEVER, "until somebody waits again");
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = Pacer::default();
        pacer.on_ack(LINUX, &window(10_000, None, None), 0, 1000, None);
        pacer.on_sent(segment(100), &window(10_000, None, None), Instant::ZERO);
        assert!(pacer.admits(Instant::ZERO), "no round-trip time yet");
        assert_eq!(pacer.deadline(), Instant::NEVER);
    }

    #[test]
    fn d9_rate_by_ratio() {
        let cwnd = 100 * 1448;
        let rate = |ssthresh: Option<u64>, flight| {
            let mut pacer = Pacer::default();
            let win = window(cwnd, ssthresh.map(|s| s * 1448), None);
            pacer.on_ack(LINUX, &win, flight, 1448, Some(Duration::from_millis(50)));
            pacer.rate(&win).map(|r| r.as_bps() / 8)
        };
        assert_eq!(rate(None, cwnd), Some(5_792_000));
        assert_eq!(rate(Some(202), cwnd), Some(5_792_000));
        assert_eq!(rate(Some(201), cwnd), Some(3_475_200), "cwnd < ssthresh / 2 in whole segments");
        assert_eq!(rate(Some(50), cwnd), Some(3_475_200));
        assert_eq!(rate(Some(50), 2 * cwnd), Some(6_950_400), "what is in flight, where that is more");
    }

    #[test]
    fn the_algorithm_s_rate_wins_over_the_setting() {
        let mut pacer = Pacer::default();
        let win = window(144_800, None, Some(Rate::mbps(1)));
        pacer.on_ack(LINUX, &win, 0, 1448, Some(Duration::from_millis(50)));
        assert_eq!(pacer.rate(&win), Some(Rate::mbps(1)));
    }

    #[test]
    fn extreme_rates_are_no_pacing() {
        assert_eq!(by_ratio(0, u64::MAX, Duration::from_millis(1)), None);
        assert_eq!(by_ratio(200, 1460, Duration::ZERO), None);
        assert_eq!(by_ratio(u32::MAX, u64::MAX, Duration::from_nanos(1)), None);
        assert_eq!(by_ratio(200, 1, Duration::MAX), None);
    }
}
