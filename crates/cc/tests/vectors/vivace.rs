//! PCC Vivace over a paced link with a queue. The rules of single decisions have their tests beside the code.

use crate::common::params;
use narrows_cc::{Ack, Congestion, CongestionControl, LostSegment, Path, Phase, RateSample, Window, find};
use narrows_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const SMSS: u64 = 1448;
const STARTING: f64 = 0.0;
const PROBING: f64 = 1.0;

/// A segment under way: when its ACK arrives, when it was sent, and whether it is lost.
#[derive(Clone, Copy, Debug)]
struct Segment {
    at: Instant,
    sent: Instant,
    start: u64,
    lost: bool,
}

/// A sender that is paced by the algorithm, a bottleneck with a queue, and an ACK for each segment.
#[derive(Debug)]
struct Link {
    cc: Box<dyn CongestionControl>,
    win: Window,
    path: Path,
    rate: Rate,
    delay: Duration,
    /// Longest wait in the queue.
    queue: Duration,
    /// One segment in so many is lost before the queue; 0 for none.
    loses: u64,
    app_limited: bool,
    busy: Instant,
    sent: u64,
    under_way: VecDeque<Segment>,
    /// The sum of waits and their number, since they were last cleared.
    waits: (f64, f64),
}

impl Link {
    fn new(given: &[(&str, &str)], rate: Rate, delay_ms: u64, queue_ms: u64) -> Self {
        let row = find("vivace").unwrap();
        let cc = (row.build)(&params(row, given).seeded(1));
        let (delay, iw) = (Duration::from_millis(delay_ms), Bytes::new(10 * SMSS));
        let mut link = Self {
            cc,
            win: Window { cwnd: iw, ssthresh: None, pacing_rate: None },
            path: Path {
                now: Instant::from_nanos(1_000_000_000),
                smss: Bytes::new(SMSS),
                initial_window: iw,
                srtt: Some(delay),
                min_rtt: Some(delay),
                rto: Duration::from_secs(1),
                flightsize: Bytes::ZERO,
                inflight: Bytes::ZERO,
                snd_una: 0,
                snd_nxt: 0,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                cwnd_limited: true,
                pacing_rate: None,
                departure: Instant::from_nanos(1_000_000_000),
                phase: Phase::Open,
                ecn: narrows_cc::EcnFeedback::Nothing,
                slow_start_at_equality: false,
            },
            rate,
            delay,
            queue: Duration::from_millis(queue_ms),
            loses: 0,
            app_limited: false,
            busy: Instant::ZERO,
            sent: 0,
            under_way: VecDeque::new(),
            waits: (0.0, 0.0),
        };
        link.cc.on_start(&link.path, &mut link.win);
        link
    }

    fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.cc.state(&mut |n, v| found = if n == name { v } else { found });
        found
    }

    fn send(&mut self) {
        let now = self.path.now.max(self.path.departure);
        self.path.now = now;
        self.sent += 1;
        let wait = self.busy.since(now);
        let lost = wait > self.queue || (self.loses > 0 && self.sent.is_multiple_of(self.loses));
        if !lost {
            self.busy = now.max(self.busy) + self.rate.time_for(Bytes::new(SMSS));
            self.waits = (self.waits.0 + wait.as_secs_f64(), self.waits.1 + 1.0);
        }
        let at = now.max(self.busy) + self.delay;
        self.under_way.push_back(Segment { at, sent: now, start: self.path.snd_nxt, lost });
        self.path.snd_nxt += SMSS;
        self.path.inflight += Bytes::new(SMSS);
        self.path.departure = now + self.win.pacing_rate.unwrap().time_for(Bytes::new(SMSS));
    }

    fn arrive(&mut self, segment: Segment) {
        self.path.now = self.path.now.max(segment.at);
        let bytes = Bytes::new(SMSS);
        self.path.inflight = self.path.inflight.saturating_sub(bytes);
        self.path.snd_una = segment.start + SMSS;
        if segment.lost {
            self.path.lost += bytes;
            let lost = LostSegment {
                start: segment.start,
                bytes,
                tx_inflight: bytes,
                lost: bytes,
                app_limited: self.app_limited,
            };
            self.cc.on_lost(&lost, &self.path, &mut self.win);
            return;
        }
        self.path.delivered += bytes;
        let rtt = self.path.now.since(segment.sent);
        self.path.srtt = self.path.srtt.map(|s| Duration::from_nanos((s.as_nanos() * 7 + rtt.as_nanos()) / 8));
        self.path.min_rtt = self.path.min_rtt.map(|m| m.min(rtt));
        let rate = RateSample {
            delivered: bytes,
            interval: rtt,
            prior_delivered: self.path.delivered,
            tx_inflight: bytes,
            lost: Bytes::ZERO,
            app_limited: self.app_limited,
        };
        let ack = Ack { acked: bytes, delivered: bytes, rtt: Some(rtt), rate: Some(rate), ..Ack::default() };
        self.cc.on_ack(&ack, &self.path, &mut self.win);
    }

    /// Runs for `seconds` or until `done`; returns the bytes delivered in this time.
    fn run(&mut self, seconds: u64, done: impl Fn(&Self) -> bool) -> Bytes {
        let (end, before) = (self.path.now + Duration::from_secs(seconds), self.path.delivered);
        while self.path.now < end && !done(self) {
            let next = self.under_way.front().map(|s| s.at);
            let may_send = self.path.inflight + Bytes::new(SMSS) <= self.win.cwnd;
            let departs = self.path.now.max(self.path.departure);
            if may_send && next.is_none_or(|at| departs < at) {
                self.send();
            } else {
                let segment = self.under_way.pop_front().unwrap();
                self.arrive(segment);
            }
        }
        self.path.delivered.saturating_sub(before)
    }

    /// Share of the link used in `seconds`, and the mean wait in the queue.
    fn measure(&mut self, seconds: u64) -> (f64, f64) {
        self.waits = (0.0, 0.0);
        let delivered = self.run(seconds, |_| false);
        let share = delivered.as_f64() * 8.0 / seconds as f64 / self.rate.as_bps() as f64;
        (share, self.waits.0 / self.waits.1.max(1.0))
    }
}

#[test]
fn vivace_starting_doubles_until_utility_falls() {
    // The initial window in a round-trip time is 10 x 1448 x 8 / 0.05 = 2.3168 Mb/s; then it doubles.
    let mut link = Link::new(&[], Rate::mbps(30), 50, 100);
    let mut rates = vec![link.state("rate_bps") / 1e6];
    while link.state("phase") == STARTING {
        let before = link.state("rate_bps");
        link.run(10, |l| l.state("rate_bps") != before || l.state("phase") != STARTING);
        rates.push(link.state("rate_bps") / 1e6);
    }
    // 37.1 Mb/s fill the queue of a link of 30 Mb/s, so the rate falls back to half.
    for (got, want) in rates.iter().zip([2.3168, 4.6336, 9.2672, 18.5344, 37.0688, 18.5344]) {
        assert!((got - want).abs() < 1e-3, "{rates:?}");
    }
    assert_eq!((rates.len(), link.state("phase")), (6, PROBING));
}

#[test]
fn vivace_window_is_twice_the_product() {
    let mut link = Link::new(&[], Rate::mbps(30), 50, 100);
    link.run(5, |_| false);
    let pacing = link.win.pacing_rate.unwrap();
    assert_eq!(link.win.cwnd, pacing.bytes_in(link.path.srtt.unwrap()) * 2);
    // Tests are 5 % away from the rate that they are made around.
    let away = pacing.as_bps() as f64 / link.state("rate_bps");
    assert!([0.95, 1.0, 1.05].iter().any(|share| (away - share).abs() < 1e-6), "{away}");
}

#[test]
fn vivace_fills_a_bottleneck_without_a_standing_queue() {
    for profile in ["uspace", "paper"] {
        let mut link = Link::new(&[("profile", profile)], Rate::mbps(30), 50, 100);
        link.run(60, |_| false);
        let (share, wait) = link.measure(60);
        assert!(share > 0.8, "{profile} uses {share}");
        assert!(wait < 0.03, "{profile} waits {wait} s in a queue of 100 ms");
    }
}

#[test]
fn vivace_ignores_random_loss_below_five_percent() {
    let mut link = Link::new(&[("variant", "loss")], Rate::mbps(30), 50, 100);
    link.loses = 50;
    link.run(60, |_| false);
    let (share, _) = link.measure(30);
    assert!(share > 0.8, "{share}");
}

#[test]
fn vivace_app_limited_intervals_are_dropped() {
    let mut link = Link::new(&[], Rate::mbps(30), 50, 100);
    link.app_limited = true;
    link.run(5, |_| false);
    assert_eq!((link.state("rate_bps"), link.state("utility")), (2_316_800.0, 0.0));
    link.app_limited = false;
    link.run(1, |_| false);
    assert!(link.state("rate_bps") > 2_316_800.0);
}

#[test]
fn vivace_timeout_halves_and_undo() {
    let mut link = Link::new(&[], Rate::mbps(30), 50, 100);
    link.run(5, |_| false);
    let before = link.state("rate_bps");
    link.cc.on_congestion(&Congestion::Timeout { repeated: false }, &link.path, &mut link.win);
    assert_eq!((link.win.cwnd, link.state("phase")), (Bytes::new(SMSS), PROBING));
    assert!((link.state("rate_bps") - before / 2.0).abs() <= 1.0);
    link.cc.on_undo(&link.path, &mut link.win);
    assert_eq!(link.state("rate_bps"), before);
}
