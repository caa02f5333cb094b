//! What a flow of datagrams measures: one-way delays, their variation, order, and frames.
//!
//! The sender numbers datagrams in their RTP headers and keeps when it sent each. The receiver finds that time by the
//! number, so a datagram that arrives late or twice is told from the others.

use narrows_samples::{DatagramTotal, Histogram, NONE};
use narrows_scenario::{Flow, Traffic};
use narrows_units::Instant;
use narrows_wire::RtpRepr;
use std::collections::VecDeque;

/// Datagrams whose times are kept. RTP numbers are unambiguous within half of their 2^16.
const KEPT: usize = 1 << 15;

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// Number of its frame.
    frame: u64,
    arrived: bool,
}

/// A frame of which datagrams are under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    at: Instant,
    /// Datagrams sent and not yet arrived; `whole` once its last one was sent.
    missing: u32,
    whole: bool,
}

/// Measures a flow of datagrams at both of its ends.
#[derive(Debug, Default)]
pub struct DatagramMeter {
    /// Number of the next datagram, and those before it that are kept.
    next: u64,
    sent: VecDeque<Sent>,
    frame: u64,
    frames: VecDeque<Frame>,
    /// Highest number that arrived, plus one.
    highest: u64,
    delays: Histogram,
    /// RFC 3550, section 6.4.1, in sixteenths of a nanosecond, and the transit time of the datagram before.
    jitter: u64,
    transit: Option<u64>,
    late: u64,
    twice: u64,
    frame_delays: Histogram,
    frames_sent: u64,
}

impl DatagramMeter {
    /// Notes a datagram that is sent at `now`, the `last` one of its frame or not; returns its number modulo 2^16.
    pub fn send(&mut self, now: Instant, last: bool) -> u16 {
        let number = self.next;
        self.next += 1;
        if self.sent.len() == KEPT {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { at: now, frame: self.frame, arrived: false });
        self.part_of_frame(now, last);
        number as u16
    }

    fn part_of_frame(&mut self, now: Instant, last: bool) {
        let begun = self.frames.back().is_some_and(|frame| !frame.whole);
        if !begun {
            if self.frames.len() == KEPT {
                self.frames.pop_front();
            }
            self.frames.push_back(Frame { at: now, missing: 0, whole: false });
        }
        if let Some(frame) = self.frames.back_mut() {
            frame.missing += 1;
            frame.whole = last;
        }
        self.frame += u64::from(last);
        self.frames_sent += u64::from(last);
    }

    /// Takes a datagram with this number modulo 2^16 that arrives at `now`. One whose time is no longer kept counts as
    /// late alone.
    pub fn receive(&mut self, number: u16, now: Instant) {
        // The latest number sent that ends so.
        let back = u64::from((self.next.wrapping_sub(1) as u16).wrapping_sub(number));
        let Some(full) = self.next.checked_sub(1 + back) else { return };
        let late = full < self.highest;
        self.highest = self.highest.max(full + 1);
        let first = self.next - self.sent.len() as u64;
        let Some(index) = full.checked_sub(first) else {
            self.late += 1;
            return;
        };
        let Some(sent) = self.sent.get_mut(index as usize) else { return };
        if sent.arrived {
            self.twice += 1;
            return;
        }
        sent.arrived = true;
        self.late += u64::from(late);
        let (at, frame) = (sent.at, sent.frame);
        let transit = now.since(at).as_nanos();
        self.delays.record(transit);
        if let Some(before) = self.transit.replace(transit) {
            // J += (|D| - J) / 16 in sixteenths, rounded as in the RFC's appendix A.8.
            self.jitter = self.jitter + transit.abs_diff(before) - ((self.jitter + 8) >> 4);
        }
        self.of_frame(frame, now);
    }

    fn of_frame(&mut self, number: u64, now: Instant) {
        let begun = self.frames.back().is_some_and(|frame| !frame.whole);
        let first = self.frame + u64::from(begun) - self.frames.len() as u64;
        let Some(index) = number.checked_sub(first) else { return };
        let Some(frame) = self.frames.get_mut(index as usize) else { return };
        frame.missing -= u32::from(frame.missing > 0);
        if frame.whole && frame.missing == 0 {
            self.frame_delays.record(now.since(frame.at).as_nanos());
        }
    }

    /// Its row of totals. `framed` flows send frames of several datagrams; others have no values of frames.
    #[must_use]
    pub fn total(&self, flow: usize, framed: bool) -> DatagramTotal {
        let of = |all: &Histogram, value: u64| if all.count() > 0 { value } else { NONE };
        let (delays, frames) = (&self.delays, &self.frame_delays);
        let part = |value: u64| if framed { value } else { NONE };
        DatagramTotal {
            flow: flow as u64,
            delay_samples: delays.count(),
            delay_sum_ns: delays.sum(),
            delay_min_ns: of(delays, delays.min()),
            delay_p50_ns: of(delays, delays.percentile(0.50)),
            delay_p95_ns: of(delays, delays.percentile(0.95)),
            delay_p99_ns: of(delays, delays.percentile(0.99)),
            delay_max_ns: of(delays, delays.max()),
            jitter_ns: if delays.count() > 1 { self.jitter / 16 } else { NONE },
            late_packets: self.late,
            duplicate_packets: self.twice,
            frames: part(self.frames_sent),
            complete_frames: part(frames.count()),
            frame_delay_p50_ns: part(of(frames, frames.percentile(0.50))),
            frame_delay_p95_ns: part(of(frames, frames.percentile(0.95))),
            frame_delay_p99_ns: part(of(frames, frames.percentile(0.99))),
        }
    }
}

/// Whether a flow sends frames of several datagrams.
#[must_use]
pub const fn framed(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Frames { .. })
}

/// The RTP header of a datagram that is sent at `now`, the `last` of its frame or not: with frames the dynamic payload
/// type 96 and a clock of 90 kHz, otherwise type 0 (PCMU) and 8 kHz (RFC 3551, section 6).
#[must_use]
pub fn datagram_header(sequence: u16, now: Instant, index: usize, (framed, last): (bool, bool)) -> RtpRepr {
    let (payload_type, hertz) = if framed { (96, 90_000) } else { (0, 8_000) };
    let timestamp = (u128::from(now.as_nanos()) * hertz / 1_000_000_000) as u32;
    RtpRepr { marker: framed && last, payload_type, sequence, timestamp, ssrc: index as u32 + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn delays_and_jitter_are_those_of_the_rfc() {
        let mut meter = DatagramMeter::default();
        // Sent each 20 ms; transit times 10, 26, 26 and 10 ms.
        for (n, transit) in [10_u64, 26, 26, 10].into_iter().enumerate() {
            let at = 20 * n as u64;
            let number = meter.send(ms(at), true);
            assert_eq!(usize::from(number), n);
            meter.receive(number, ms(at + transit));
        }
        let total = meter.total(3, false);
        assert_eq!((total.flow, total.delay_samples, total.delay_sum_ns), (3, 4, 72_000_000));
        assert_eq!((total.delay_min_ns, total.delay_max_ns), (10_000_000, 26_000_000));
        // J: 16/16 = 1; 1 - 1/16 = 0.9375; 0.9375 + (16 - 0.9375)/16 = 1.8789 ms.
        assert!(total.jitter_ns.abs_diff(1_878_906) <= 2, "{}", total.jitter_ns);
        assert_eq!((total.late_packets, total.duplicate_packets, total.frames), (0, 0, NONE));
    }

    #[test]
    fn late_and_repeated_datagrams_are_told_apart() {
        let mut meter = DatagramMeter::default();
        let numbers: Vec<u16> = (0..4).map(|n| meter.send(ms(n), true)).collect();
        for (number, at) in [(0, 10), (2, 12), (1, 13), (2, 14), (3, 15)] {
            meter.receive(numbers[number], ms(at));
        }
        let total = meter.total(0, false);
        assert_eq!((total.delay_samples, total.late_packets, total.duplicate_packets), (4, 1, 1));
    }

    #[test]
    fn numbers_wrap_round_and_old_ones_are_forgotten() {
        let mut meter = DatagramMeter::default();
        for n in 0..200_000_u64 {
            let number = meter.send(ms(n), true);
            meter.receive(number, ms(n + 5));
        }
        let total = meter.total(0, false);
        assert_eq!((total.delay_samples, total.delay_max_ns, total.late_packets), (200_000, 5_000_000, 0));
        assert!(meter.sent.len() <= KEPT && meter.frames.len() <= KEPT);
        // 40,000 before the latest: its time is gone.
        meter.receive((200_000 - 40_000) as u16, ms(300_000));
        assert_eq!(meter.total(0, false).late_packets, 1);
        meter.receive(7, ms(300_000));
    }

    #[test]
    fn a_frame_is_complete_with_its_last_missing_datagram() {
        let mut meter = DatagramMeter::default();
        let frame =
            |meter: &mut DatagramMeter, at: u64| -> Vec<u16> { (0..3).map(|n| meter.send(ms(at), n == 2)).collect() };
        let first = frame(&mut meter, 0);
        let second = frame(&mut meter, 33);
        let third = frame(&mut meter, 66);
        for (number, at) in [(first[0], 10), (first[2], 12), (first[1], 15), (second[0], 43), (third[2], 80)] {
            meter.receive(number, ms(at));
        }
        meter.receive(third[0], ms(81));
        meter.receive(third[1], ms(86));
        let total = meter.total(0, true);
        assert_eq!((total.frames, total.complete_frames), (3, 2));
        assert!(total.frame_delay_p50_ns.abs_diff(15_000_000) < 120_000, "{}", total.frame_delay_p50_ns);
        assert!(total.frame_delay_p99_ns.abs_diff(20_000_000) < 160_000, "{}", total.frame_delay_p99_ns);
    }

    #[test]
    fn a_flow_of_which_nothing_arrived_has_no_delays() {
        let mut meter = DatagramMeter::default();
        meter.send(ms(0), true);
        let total = meter.total(0, true);
        assert_eq!((total.delay_samples, total.delay_p99_ns, total.jitter_ns), (0, NONE, NONE));
        assert_eq!((total.frames, total.complete_frames, total.frame_delay_p50_ns), (1, 0, NONE));
    }
}
