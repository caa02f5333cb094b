//! Vectors of the reference: retransmission timeout, delivery rate, window scaling, timestamps and first values.

use super::harness::{C, Net};
use crate::Config;
use crate::options::{tick, tick_before};
use crate::rate::{RateSampler, Stamp};
use crate::receiver::Receiver;
use crate::rto::{Rto, SampleContext};
use crate::segment::Segment;
use narrows_settings::{RtoConfig, RtoStyle};
use narrows_units::{Bytes, Duration, Instant, Rate, SeqNum};

const SAMPLES: [u64; 5] = [100, 200, 200, 100, 100];

fn config(style: RtoStyle, min: Duration) -> RtoConfig {
    RtoConfig {
        style,
        initial: Duration::from_secs(1),
        min,
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
    }
}

fn micros(d: Option<Duration>) -> f64 {
    d.map_or(0.0, |d| d.as_nanos() as f64 / 1e3)
}

#[test]
fn rto_of_rfc_6298() {
    let expected = [
        (100.0, 50.0, 300.0),
        (112.5, 62.5, 362.5),
        (123.4375, 68.75, 398.4375),
        (120.5078, 57.4219, 350.1953),
        (117.9443, 48.1934, 310.7178),
    ];
    let mut free = Rto::of(config(RtoStyle::Rfc6298, Duration::ZERO));
    let mut floored = Rto::of(config(RtoStyle::Rfc6298, Duration::from_secs(1)));
    assert_eq!(free.current(), Duration::from_secs(1), "before any sample");
    for (sample, (srtt, rttvar, rto)) in SAMPLES.into_iter().zip(expected) {
        for r in [&mut free, &mut floored] {
            r.on_sample(Duration::from_millis(sample), &SampleContext::default());
        }
        assert!((micros(free.srtt()) / 1e3 - srtt).abs() < 1e-4);
        assert!((micros(free.rttvar()) / 1e3 - rttvar).abs() < 1e-4);
        assert!((free.current().as_millis_f64() - rto).abs() < 1e-4);
        assert_eq!(floored.current(), Duration::from_secs(1));
    }
}

#[test]
fn rto_of_linux() {
    let expected = [
        (100_000, 50_000, 300_000),
        (112_500, 62_500, 362_500),
        (123_437, 68_750, 398_437),
        (120_507, 65_918, 384_179),
        (117_944, 61_938, 365_698),
    ];
    let mut rto = Rto::of(config(RtoStyle::Linux, Duration::from_millis(200)));
    for (i, (sample, (srtt, rttvar, timeout))) in SAMPLES.into_iter().zip(expected).enumerate() {
        let at = i as u64 * 10;
        rto.on_sample(
            Duration::from_millis(sample),
            &SampleContext { snd_una: at + 1, snd_nxt: at + 10, flight_segments: 1 },
        );
        assert_eq!(rto.srtt().unwrap().as_micros(), srtt);
        assert_eq!(rto.rttvar().unwrap().as_micros(), rttvar);
        assert_eq!(rto.current().as_micros(), timeout);
    }
    let mut constant = Rto::of(config(RtoStyle::Linux, Duration::from_millis(200)));
    for i in 0..100 {
        constant.on_sample(
            Duration::from_millis(10),
            &SampleContext { snd_una: i + 1, snd_nxt: i + 1, flight_segments: 1 },
        );
    }
    assert_eq!(constant.current(), Duration::from_millis(210), "the floor is on the variance");
}

#[test]
fn rto_of_ns2_counts_in_ticks() {
    let mut rto = Rto::of(RtoConfig {
        granularity: Duration::from_millis(10),
        ..config(RtoStyle::Ns2, Duration::from_millis(200))
    });
    // 104 ms are 10 ticks: SRTT 80/8, RTTVAR 20/4, so 10 + 20 ticks.
    rto.on_sample(Duration::from_millis(104), &SampleContext::default());
    assert_eq!((rto.srtt(), rto.current()), (Some(Duration::from_millis(100)), Duration::from_millis(300)));
    // 20 ticks: SRTT (80 + 10)/8, RTTVAR (20 + 10 - 5)/4; ((25 << 3) + 90) >> 3 is 36 ticks.
    rto.on_sample(Duration::from_millis(200), &SampleContext::default());
    assert_eq!(rto.current(), Duration::from_millis(360));
    let mut short = Rto::of(RtoConfig {
        granularity: Duration::from_millis(10),
        ..config(RtoStyle::Ns2, Duration::from_millis(200))
    });
    short.on_sample(Duration::from_millis(1), &SampleContext::default());
    assert_eq!(short.current(), Duration::from_millis(200), "the floor is on the whole");
}

#[test]
fn backoff_doubles_to_the_ceiling_and_ends_with_a_sample() {
    let mut rto = Rto::of(config(RtoStyle::Rfc6298, Duration::from_secs(1)));
    let mut seen = Vec::new();
    for _ in 0..8 {
        seen.push(rto.current().as_millis() / 1000);
        rto.back_off();
    }
    assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
    rto.on_sample(Duration::from_millis(10), &SampleContext::default());
    assert_eq!(rto.current(), Duration::from_secs(1));
}

#[test]
fn many_samples_per_round_trip_share_the_gain() {
    // RFC 7323, appendix G: 40 segments in flight are 20 samples, so one moves SRTT by 1/160.
    let mut rto = Rto::of(config(RtoStyle::Rfc6298, Duration::ZERO));
    rto.on_sample(Duration::from_millis(100), &SampleContext::default());
    rto.on_sample(Duration::from_millis(260), &SampleContext { flight_segments: 40, ..SampleContext::default() });
    assert_eq!(rto.srtt(), Some(Duration::from_millis(101)));
}

#[test]
fn delivery_rate_of_the_reference() {
    let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
    let stamp = Stamp { delivered: 100, delivered_at: ms(950), first_sent_at: ms(940), lost: 0, tx_inflight: 1 };
    let segment = Segment { start: 0, len: 10, flags: 0, turn: 0, sent_at: ms(1000) };
    let sample = |min_rtt| {
        let mut sampler = RateSampler::at(100);
        sampler.on_delivered(&segment, Some(&stamp), ms(1050));
        sampler.sample(min_rtt, ms(1050))
    };
    let s = sample(None).unwrap();
    assert_eq!((s.delivered.as_u64(), s.interval.as_millis(), s.prior_delivered.as_u64()), (10, 100, 100));
    assert_eq!(Rate::of(s.delivered, s.interval), Rate::bps(800), "100 units a second");
    assert_eq!(sample(Some(Duration::from_millis(200))), None, "shorter than the smallest round trip");
}

#[test]
fn delivery_rate_is_application_limited_until_what_was_in_flight_is_delivered() {
    let mut sampler = RateSampler::at(100);
    let deliver = |sampler: &mut RateSampler, start: u64, n: u64| {
        let at = Instant::from_nanos(n * 1_000_000);
        let segment = Segment { start, len: 10, flags: 0, turn: 0, sent_at: at };
        sampler.on_delivered(&segment, Some(&Stamp::default()), at);
        let _sample = sampler.sample(None, at);
    };
    sampler.on_app_limited(20);
    deliver(&mut sampler, 0, 1);
    deliver(&mut sampler, 10, 2);
    assert!(sampler.is_app_limited(), "up to delivered + inflight");
    deliver(&mut sampler, 20, 3);
    assert!(!sampler.is_app_limited(), "beyond it");
    let mut fresh = RateSampler::sampling();
    fresh.on_app_limited(0);
    assert!(fresh.is_app_limited(), "max(.., 1): nothing delivered yet");
}

#[test]
fn wscale_largest_window() {
    let mut rx = Receiver::new(&Config { recv_buffer: Bytes::MAX, ..Config::default() }, None);
    rx.start(SeqNum::new(0), 14);
    assert_eq!((rx.on_ack_sent(true), rx.edges().0), (65_535, 1_073_725_440));
}

#[test]
fn paws_sign_bit_of_the_timestamp_clock() {
    // At 1 ms a tick the sign bit turns after 24.8 days; the clock here has ticks of 1 us: 35.8 minutes.
    let after = |minutes: u64| tick(Instant::from_nanos(minutes * 60_000_000_000));
    assert!(tick_before(after(0), after(35)) && !tick_before(after(0), after(36)));
}

#[test]
fn d10_initial_values() {
    let mut net = Net::simple(Config::default());
    let info = net.ends[C].info();
    assert_eq!((info.rto, info.ssthresh), (Duration::from_secs(1), None));
    net.establish();
    let info = net.ends[C].info();
    assert_eq!((info.smss, info.cwnd, info.ssthresh), (Bytes::new(1448), Bytes::new(14_480), None));
}
