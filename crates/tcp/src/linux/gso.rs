//! How many segments Linux hands down the stack together, as one super-packet that GSO or the network card cuts.
//!
//! Sources: Linux 7.2, `net/ipv4/tcp_output.c` (`tcp_tso_autosize`, `tcp_cwnd_test`, `tcp_tso_should_defer`,
//! `tcp_mss_split_point`, `tcp_nagle_check`). Linux counts the congestion
//! window in segments; here octets are rounded up to segments.
//!
//! | Linux | here |
//! |---|---|
//! | `sk_gso_max_size` | [`MAX_SIZE`] |
//! | `sk_pacing_rate` | the pacer's rate; else by the same ratios, at the time of sending |
//! | `tcp_min_tso_segs`, `bbr_min_tso_segs` | [`Burst::min_segments`], [`paced`] |
//! | `tcp_wstamp_ns` | when data last left, or is due by the pacer |
//! | `snd_sml` | [`Gso::small_end`] |
//! | write queue | [`WriteQueue`] |
//!
//! TCP Small Queues ([`small_queue`](super::small_queue)) are a setting of their own: devices such as a kernel's TUN
//! device release a sender's memory at once, so nothing waits in them.

use super::write_queue::{MAX_SIZE, WriteQueue};
use narrows_settings::Burst;
use narrows_units::{Duration, Instant, Rate};

/// `GSO_MAX_SEGS`: the most segments of a super-packet.
const MAX_SEGMENTS: u32 = 65_535;

/// Smallest rate with bursts of two segments (`bbr_min_tso_rate`).
const TWO_FROM: Rate = Rate::kbps(1200);

/// Deferring is for a sender that sent within this time, and expects an ACK within it.
const SOON: Duration = Duration::from_millis(1);

/// More than so many segments leave without waiting, where no fraction of the window is set
/// (`tcp_max_tso_deferred_mss`).
const UNDIVIDED: u64 = 3;

/// Segments that leave together at `rate` (`tcp_tso_autosize`): 1/1024 s of it, at least `burst.min_segments`; without
/// a rate, as many as go. Short paths add a share of the largest burst, which halves with each 512 us as a rule
/// (`tcp_tso_rtt_log`, Linux 5.18).
pub(crate) fn segments(rate: Option<Rate>, smss: u64, min_rtt: Option<Duration>, burst: &Burst) -> u32 {
    let near = near(min_rtt, burst);
    let bytes = rate.map_or(MAX_SIZE, |rate| (rate.as_bps() / 8 / 1024).saturating_add(near).min(MAX_SIZE));
    u32::try_from(bytes / smss.max(1)).unwrap_or(u32::MAX).max(burst.min_segments).clamp(1, MAX_SEGMENTS)
}

/// Whether `octets`, in whole segments, are at least the most that leaves together: the same as by [`segments`],
/// without a division. `is_below` is whether the rate is below another; with no rate it is not.
#[inline]
pub(crate) fn is_full(
    octets: u64,
    smss: u64,
    min_rtt: Option<Duration>,
    burst: &Burst,
    is_below: impl FnOnce(Rate) -> bool,
) -> bool {
    if octets < u64::from(burst.min_segments) * smss {
        return false;
    }
    // Most octets beyond which one more segment would not fit.
    let most = octets + smss;
    if most > MAX_SIZE {
        return true;
    }
    let Some(by_rate) = most.checked_sub(near(min_rtt, burst)) else { return false };
    is_below(Rate::bps(by_rate * 8 * 1024))
}

/// Octets that are less than a super-packet in any case, as long as neither the window nor the round-trip time changes
/// much: what nearly every ACK is asked, without the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unfull {
    /// Least octets beyond which one more segment would not fit.
    most: u64,
    /// For a window of at least so many octets.
    cwnd: u64,
    /// For a smoothed round-trip time of at most this.
    srtt: Duration,
}

impl Unfull {
    /// With this window and round-trip time, at a rate of at least `percent` of the window per round-trip time.
    pub(crate) fn by_ratio(percent: u32, cwnd: u64, srtt: Duration) -> Self {
        // An eighth is what both may change.
        let (cwnd, srtt) = (cwnd - cwnd / 8, srtt + srtt / 8);
        let octets = cwnd.saturating_mul(u64::from(percent)).saturating_mul(MS_IN_PERCENT) / srtt.as_nanos().max(1);
        Self { most: octets.min(MAX_SIZE), cwnd, srtt }
    }

    /// Whether `octets` are known not to be [full](is_full), where the rate goes by the window.
    #[inline]
    pub(crate) fn holds(&self, octets: u64, smss: u64, cwnd: u64, srtt: Duration, burst: &Burst) -> bool {
        let by_rate = octets + smss <= self.most && cwnd >= self.cwnd && srtt <= self.srtt;
        by_rate || octets < u64::from(burst.min_segments) * smss
    }
}

/// Nanoseconds of 1/1024 s, rounded down, in per cent.
const MS_IN_PERCENT: u64 = 1_000_000_000 / 1024 / 100;

/// What a short path adds to the largest burst, octets.
#[inline]
fn near(min_rtt: Option<Duration>, burst: &Burst) -> u64 {
    let halvings = min_rtt.map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> burst.rtt_log.min(63));
    if halvings < 32 { MAX_SIZE >> halvings } else { 0 }
}

/// The sizes for a congestion control that sets its own rate, as BBR: at a very low rate one segment is enough.
pub(crate) fn paced(rate: Rate, burst: Burst) -> Burst {
    Burst { min_segments: if rate < TWO_FROM { 1 } else { 2 }, ..burst }
}

/// Segments that a window of `cwnd` octets allows at once with `inflight` octets in the network: at most half of the
/// window, so that two super-packets are under way (`tcp_cwnd_test`). Zero if none fits.
pub(crate) fn quota(cwnd: u64, inflight: u64, smss: u64) -> u32 {
    let smss = smss.max(1);
    let window = cwnd / smss;
    let free = window.saturating_sub(inflight.div_ceil(smss));
    u32::try_from(free.min((window / 2).max(1))).unwrap_or(u32::MAX)
}

/// A sender with several segments to send, as `tcp_tso_should_defer` sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// Whether it is in fast recovery or after a timeout.
    pub(crate) repairs: bool,
    /// Octets of the buffer to send.
    pub(crate) octets: u64,
    /// Whether it is the last.
    pub(crate) last: bool,
    /// Whether nothing can be added to the buffer: it has the FIN, or ends a record.
    pub(crate) complete: bool,
    /// Octets that the peer's window has room for.
    pub(crate) send_room: u64,
    /// Octets that the congestion window has room for.
    pub(crate) cwnd_room: u64,
    /// Smaller of both windows, octets.
    pub(crate) window: u64,
    /// See [`Burst::win_divisor`].
    pub(crate) win_divisor: u32,
    /// SMSS in octets.
    pub(crate) smss: u64,
    /// When the last super-packet left.
    pub(crate) stamp: Instant,
    /// When the earliest outstanding segment left; `None` if nothing is outstanding.
    pub(crate) head_sent: Option<Instant>,
    /// Smoothed round-trip time; zero before the first sample.
    pub(crate) srtt: Duration,
    /// The current time.
    pub(crate) now: Instant,
}

/// Why a sender waits for more to send together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferred {
    /// The congestion window has no room for all of the buffer.
    Cwnd,
    /// The peer's window has none, or the application may write more.
    Otherwise,
}

impl Ready {
    /// Octets that both windows have room for.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.send_room.min(self.cwnd_room)
    }

    /// Whether the sender waits for the next ACK, to send more together (`tcp_tso_should_defer`). `is_full` is whether
    /// so many octets are a largest super-packet; it is asked last, because it takes the longest.
    #[inline(always)]
    pub(crate) fn deferred(&self, is_full: impl FnOnce(u64) -> bool) -> Option<Deferred> {
        // Handling a packet takes Linux some time, so exactly a millisecond later is later there.
        if self.repairs || self.now.since(self.stamp) >= SOON {
            return None;
        }
        let room = self.room();
        // An ACK that is not expected soon is not waited for.
        let late = self.head_sent? + self.srtt;
        let soon = SOON.min(Duration::from_nanos(self.srtt.as_nanos() / 2));
        if late.since(self.now) > soon || self.is_enough(room) || (!self.last && room >= self.octets) {
            return None;
        }
        if is_full(room) {
            return None;
        }
        if self.cwnd_room < self.send_room {
            if self.cwnd_room <= self.octets {
                return Some(Deferred::Cwnd);
            }
        } else if self.send_room <= self.octets {
            return Some(Deferred::Otherwise);
        }
        (!self.complete).then_some(Deferred::Otherwise)
    }

    /// Whether `room` is enough of the window to leave without waiting for more.
    #[inline]
    fn is_enough(&self, room: u64) -> bool {
        match u64::from(self.win_divisor) {
            0 => room > UNDIVIDED * self.smss,
            // The quotient, rounded down, is at most `room`.
            divisor => (room + 1).saturating_mul(divisor) > self.window,
        }
    }
}

/// Octets of a buffer of `octets` that leave as one super-packet of up to `most`, with `send_room` in the peer's window
/// (`tcp_mss_split_point`). `holds_back` is whether Nagle's algorithm holds a last segment that is not full; it is not
/// asked about a buffer that others follow and the window has room for.
pub(crate) fn split_point(
    octets: u64,
    last: bool,
    (most, smss): (u64, u64),
    send_room: u64,
    holds_back: impl FnOnce() -> bool,
) -> u64 {
    if most <= send_room && !last {
        return octets.min(most);
    }
    let needed = octets.min(send_room);
    if most <= needed {
        return most;
    }
    let partial = needed % smss.max(1);
    if partial > 0 && holds_back() { needed - partial } else { needed }
}

/// New data that leaves together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Octets of data.
    pub(crate) octets: u64,
    /// Whether its last segment has PSH.
    pub(crate) push: bool,
    /// Whether the FIN follows the data.
    pub(crate) fin: bool,
}

/// What is under way of the super-packet that leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: the next segment begins another.
    #[default]
    Nothing,
    /// New data.
    New(Batch),
    /// Retransmissions, of which the next would be that of the segment with this index; at most `most` more.
    Again { index: u64, most: u32 },
}

/// The state of a sender whose segments leave together.
#[derive(Debug, Default)]
pub(crate) struct Gso {
    /// The application's data that waits, in buffers.
    pub(crate) queue: WriteQueue,
    /// What follows in the super-packet under way.
    pub(crate) rest: Rest,
    /// Offset after the last segment that was not full; 0 before any.
    pub(crate) small_end: u64,
    /// Whether the next segment is the first of a super-packet.
    pub(crate) begins: bool,
    /// Whether new data leaves without waiting for room for more.
    pub(crate) eager: bool,
    /// Whether what waits in the host's device bounds the sender.
    bounded: bool,
    /// Whether neither of these asks for a rule beyond those of a bulk transfer.
    pub(crate) plain: bool,
    /// What is not worth computing again.
    pub(crate) unfull: Unfull,
}

impl Gso {
    /// A sender that has sent nothing; `tsq` is whether what waits in the host's device bounds it.
    pub(crate) fn new(tsq: bool) -> Self {
        Self { bounded: tsq, plain: !tsq, ..Self::default() }
    }

    /// Sets whether new data leaves without waiting for room for more.
    pub(crate) fn set_eager(&mut self, on: bool) {
        (self.eager, self.plain) = (on, !on && !self.bounded);
    }

    /// Whether a segment that was not full is not acknowledged, so that Nagle's algorithm in Minshall's variant holds
    /// back another (`tcp_minshall_check`).
    pub(crate) fn small_outstanding(&self, una: u64) -> bool {
        self.small_end > una
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::rate_by_ratio;
    use narrows_cc::Window;
    use narrows_units::Bytes;

    const SMSS: u64 = 1448;

    #[test]
    fn a_burst_is_a_millisecond_s_worth_and_two_segments_at_least() {
        let burst = Burst::default();
        let of = |rate: Rate, rtt_us: u64| {
            segments(Some(rate), SMSS, Some(Duration::from_micros(rtt_us)), &paced(rate, burst))
        };
        assert_eq!(
            [Rate::mbps(1), Rate::mbps(2), Rate::mbps(20), Rate::mbps(100)].map(|rate| of(rate, 40_000)),
            [1, 2, 2, 8]
        );
        assert_eq!((of(Rate::gbps(10), 40_000), segments(Some(Rate::mbps(20)), SMSS, None, &burst)), (45, 2));
        // 65,215 bytes halved ten times, and not at all.
        assert_eq!((of(Rate::mbps(20), 5 * 1024), of(Rate::mbps(20), 500)), (2, 45));
        assert_eq!(segments(None, SMSS, None, &burst), 45, "before the first round-trip time the rate has no bound");
        let ten = Burst { min_segments: 10, ..burst };
        assert_eq!(segments(Some(Rate::mbps(1)), SMSS, None, &ten), 10);
    }

    #[test]
    fn a_burst_is_full_where_no_more_segments_leave_together() {
        let ms = Duration::from_millis;
        for (kbps, rtt) in [(900, 40), (2_000, 40), (20_000, 3), (100_000, 12), (300_000, 1), (9_000_000, 80)] {
            for min_segments in [1, 2, 10] {
                let (rate, burst) = (Rate::kbps(kbps), Burst { min_segments, ..Burst::default() });
                let most = segments(Some(rate), SMSS, Some(ms(rtt)), &burst);
                for n in 1..60 {
                    let full = is_full(u64::from(n) * SMSS, SMSS, Some(ms(rtt)), &burst, |most| rate < most);
                    assert_eq!(full, n >= most, "{kbps} kb/s, {rtt} ms, {n} of {most}");
                }
            }
        }
    }

    #[test]
    fn what_is_known_to_be_less_than_a_burst_is_not_full() {
        let ms = Duration::from_millis;
        let mut known = 0;
        for (cwnd, srtt) in [(20_000, ms(70)), (1_500_000, ms(12)), (90_000, ms(3)), (3_000_000_000, ms(1))] {
            for (percent, min_segments) in [(120, 1), (200, 2), (120, 10)] {
                let burst = Burst { min_segments, ..Burst::default() };
                let unfull = Unfull::by_ratio(120, cwnd, srtt);
                // A smaller window and a longer time, to the bounds of what is known and beyond.
                for (cwnd, srtt) in
                    [(cwnd, srtt), (cwnd - cwnd / 8, srtt + srtt / 8), (cwnd / 2, srtt), (cwnd, srtt * 2)]
                {
                    let window = Window { cwnd: Bytes::new(cwnd), ssthresh: None, pacing_rate: None };
                    let rate = rate_by_ratio((percent, percent), &window, 0, SMSS, srtt).unwrap();
                    for octets in (0..60).map(|n| n * SMSS) {
                        let full = is_full(octets, SMSS, Some(srtt), &burst, |most| rate < most);
                        let holds = unfull.holds(octets, SMSS, cwnd, srtt, &burst);
                        assert!(!(full && holds), "{octets} of {cwnd} per {srtt:?}");
                        known += u32::from(holds);
                    }
                }
            }
        }
        assert!(known > 500, "{known}");
    }

    #[test]
    fn at_most_half_of_the_window_leaves_together() {
        // tcp_cwnd_test, Linux 7.2: min(max(cwnd / 2, 1), cwnd - in_flight).
        let of = |cwnd: u64, inflight: u64| quota(cwnd * SMSS, inflight, SMSS);
        assert_eq!([of(10, 0), of(10, 5 * SMSS), of(10, 9 * SMSS), of(10, 10 * SMSS)], [5, 5, 1, 0]);
        assert_eq!([of(1, 0), of(3, 0), of(2, SMSS)], [1, 1, 1]);
        assert_eq!(of(10, 8 * SMSS + 1), 1, "a segment that is not full counts as one");
        assert_eq!(of(10, 20 * SMSS), 0);
    }

    const MOST: fn(u64) -> bool = |octets| octets >= 8 * SMSS;

    fn ready() -> Ready {
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        Ready {
            repairs: false,
            octets: 60 * SMSS,
            last: false,
            complete: false,
            send_room: 1000 * SMSS,
            cwnd_room: 2 * SMSS,
            window: 30 * SMSS,
            win_divisor: 3,
            smss: SMSS,
            stamp: ms(100),
            head_sent: Some(ms(60)),
            srtt: Duration::from_millis(40),
            now: ms(100),
        }
    }

    #[test]
    fn a_sender_whose_ack_is_due_waits_to_send_more_together() {
        // tcp_tso_should_defer, Linux 7.2, each of its exits in turn.
        let base = ready();
        assert_eq!(base.deferred(MOST), Some(Deferred::Cwnd));
        let us = Duration::from_micros;
        let sends = |what: &str, ready: Ready| assert_eq!(ready.deferred(MOST), None, "{what}");
        sends("in recovery", Ready { repairs: true, ..base });
        sends("the last burst left a millisecond ago", Ready { now: base.now + us(1000), ..base });
        assert!(Ready { now: base.now + us(999), ..base }.deferred(MOST).is_some(), "a millisecond is not over");
        sends("a full burst fits", Ready { cwnd_room: 8 * SMSS, ..base });
        sends("all of a buffer that others follow fits", Ready { octets: 2 * SMSS, ..base });
        sends("a third of the window is free", Ready { window: 6 * SMSS, ..base });
        sends("nothing is outstanding", Ready { head_sent: None, ..base });
        sends("the ACK is due in 1.1 ms", Ready { head_sent: base.head_sent.map(|at| at + us(1100)), ..base });
        assert!(Ready { head_sent: base.head_sent.map(|at| at + us(1000)), ..base }.deferred(MOST).is_some());
        // Half of a round-trip time, where that is less than a millisecond.
        let near = Ready { srtt: us(800), head_sent: Some(base.now - us(400)), ..base };
        assert_eq!(near.deferred(MOST), Some(Deferred::Cwnd));
        sends("in 0.5 ms, on a path of 0.8", Ready { head_sent: Some(base.now - us(300)), ..near });
    }

    #[test]
    fn a_fraction_of_the_window_or_more_than_three_segments_are_enough() {
        let of = |win_divisor, room| Ready { window: 30_002, smss: 1000, win_divisor, ..ready() }.is_enough(room);
        assert_eq!([of(3, 9999), of(3, 10_000)], [false, true], "30,002 / 3, rounded down");
        assert_eq!([of(10, 2999), of(10, 3000), of(0, 3000), of(0, 3001)], [false, true, false, true]);
    }

    #[test]
    fn what_stops_a_sender_that_waits() {
        let base = ready();
        let window = Ready { send_room: 2 * SMSS, cwnd_room: 3 * SMSS, ..base };
        assert_eq!(window.deferred(MOST), Some(Deferred::Otherwise), "the peer's window");
        let application = Ready { octets: 2 * SMSS, cwnd_room: 3 * SMSS, last: true, ..base };
        assert_eq!(application.deferred(MOST), Some(Deferred::Otherwise), "the application may write more");
        assert_eq!(Ready { complete: true, ..application }.deferred(MOST), None, "it has closed");
    }

    #[test]
    fn a_super_packet_ends_with_a_full_segment_if_nagle_holds_the_rest() {
        // tcp_mss_split_point, Linux 7.2.
        let of = |octets, last, most, room, holds| split_point(octets, last, (most, 1000), room, || holds);
        assert_eq!(of(10_500, false, 4000, 100_000, true), 4000);
        assert_eq!(of(2500, false, 4000, 100_000, true), 2500, "others follow: no rule holds it back");
        assert_eq!(of(2500, true, 4000, 100_000, false), 2500);
        assert_eq!(of(2500, true, 4000, 100_000, true), 2000);
        assert_eq!(of(10_500, true, 4000, 100_000, true), 4000);
        assert_eq!(of(10_500, false, 4000, 2500, false), 2500, "the window ends inside a segment");
        assert_eq!(of(10_500, false, 4000, 2500, true), 2000);
    }
}
