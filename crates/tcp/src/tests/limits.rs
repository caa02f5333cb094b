//! How cwnd grows, and what becomes of it, while the application limits the sender: the rules besides Linux's.
#![allow(clippy::float_cmp, reason = "the values are small whole numbers and halves")]

use super::harness::*;
use crate::{Config, Connection, DelayedAck, IdleRestart, InitialWindow, RateLimited};
use narrows_cc::{CongestionControl, ParamValue, Params};
use narrows_units::{Bytes, SeqNum};

/// Reno that counts up to two segments per ACK, as the draft's appendix does.
fn counting_reno() -> Box<dyn CongestionControl> {
    let params = Params::new(vec![("abc_limit".to_owned(), ParamValue::Number(2.0))]);
    narrows_cc::build("reno", &params).unwrap()
}

/// A connection with segments of 1000 bytes, a round-trip time of 100 ms and an ACK for each two segments.
fn start(rate_limited: RateLimited) -> Net {
    let config = Config {
        mss: 1000,
        timestamps: false,
        initial_window: InitialWindow::Segments(10),
        delayed_ack: DelayedAck::On { every: 2, timeout: ms(200) },
        idle_restart: IdleRestart::Rfc5681,
        rate_limited,
        ..Config::default()
    };
    let [client, server] = addresses();
    let mut net = Net::with([
        Connection::connect(config, counting_reno(), None, client, server, SeqNum::new(1)),
        Connection::listen(config, counting_reno(), None, server, client, SeqNum::new(1)),
    ]);
    net.establish();
    net
}

/// Writes `segments` and lets them be acknowledged; returns cwnd in segments.
fn round(net: &mut Net, segments: u64) -> f64 {
    net.ends[C].write(Bytes::new(segments * 1000));
    let until = net.now + ms(300);
    net.run(until);
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    net.ends[C].info().cwnd.as_f64() / 1000.0
}

#[test]
fn max_flight_follows_the_draft_s_example_in_bytes() {
    // draft-ietf-ccwg-ratelimited-increase-11, appendix A: 4, 8, 4 and 20 segments.
    let mut net = start(RateLimited::MaxFlight);
    let windows = [4, 8, 4, 20].map(|segments| round(&mut net, segments));
    assert_eq!(windows, [14.0, 20.0, 20.0, 40.0]);
}

#[test]
fn the_other_rules_differ_in_the_draft_s_example() {
    let of = |rule| {
        let mut net = start(rule);
        [4, 8, 4, 20].map(|segments| round(&mut net, segments))
    };
    // Linux: in slow start up to twice the flight, of which 4 segments are no more than the initial window.
    assert_eq!(of(RateLimited::CwndLimited), [10.0, 16.0, 16.0, 36.0]);
    assert_eq!(of(RateLimited::Unlimited), [14.0, 22.0, 26.0, 46.0]);
}

#[test]
fn max_flight_allows_a_segment_more_in_congestion_avoidance() {
    let mut net = start(RateLimited::MaxFlight);
    net.ends[C].write(Bytes::new(200_000));
    let mut lost = false;
    net.rule = Box::new(move |from, packet, _| {
        let hit = from == C && !lost && packet.payload_len > 0 && packet.tcp().unwrap().seq == SeqNum::new(60_002);
        lost |= hit;
        if hit { Fate::Drop } else { Fate::Pass }
    });
    let until = net.now + ms(3_000);
    net.run(until);
    let info = net.ends[C].info();
    assert!(info.ssthresh.is_some());
    // maxFS is at most what was in flight after the reduction, so the window stays at a segment above it.
    let window = info.cwnd.as_u64() / 1000;
    for _ in 0..40 {
        round(&mut net, 2);
    }
    let after = net.ends[C].info().cwnd.as_u64() / 1000;
    assert!(after <= window + 1, "{window} to {after} segments, of which two are used");
}

#[test]
fn rfc7661_does_not_grow_a_window_without_validation() {
    let mut net = start(RateLimited::Rfc7661);
    // pipeACK is undefined at first: the standard methods apply.
    assert_eq!(round(&mut net, 10), 20.0);
    let mut before = 20.0;
    for _ in 0..20 {
        let after = round(&mut net, 2);
        assert!(after <= before + 6.0, "{before} to {after}");
        before = after;
    }
    let window = before;
    for _ in 0..20 {
        assert_eq!(round(&mut net, 2), window, "two segments are less than half of it");
    }
}

#[test]
fn rfc7661_keeps_a_window_over_idle_time_and_halves_it_after_five_minutes() {
    let mut net = start(RateLimited::Rfc7661);
    for segments in [10, 20, 40] {
        round(&mut net, segments);
    }
    assert_eq!(net.ends[C].info().cwnd, Bytes::new(80_000));
    let until = net.now + ms(60_000);
    net.run(until);
    let grown = round(&mut net, 4);
    assert!(grown >= 80.0, "a minute of idle time changes nothing: {grown}");
    // Four segments each second are no validation.
    let began = net.now;
    let mut halved = None;
    while net.now < began + ms(400_000) && halved.is_none() {
        let until = net.now + ms(700);
        net.run(until);
        if round(&mut net, 4) < grown {
            halved = Some(net.now.since(began).as_millis());
        }
    }
    let info = net.ends[C].info();
    assert_eq!(info.cwnd.as_f64() / 1000.0, grown / 2.0);
    let halved = halved.unwrap();
    assert!((298_000..304_000).contains(&halved), "after {halved} ms");
    assert_eq!(info.ssthresh, None, "an unlimited threshold stays");
}

#[test]
fn rfc7661_reduces_a_window_without_validation_to_half_of_what_is_used() {
    let windows = [RateLimited::Rfc7661, RateLimited::CwndLimited].map(|rule| {
        let mut net = start(rule);
        for segments in [10, 20, 40] {
            round(&mut net, segments);
        }
        for _ in 0..10 {
            round(&mut net, 8);
        }
        // Of eight segments the third is lost; those behind it find that.
        let mut count = 0;
        net.rule = Box::new(move |from, packet, _| {
            count += usize::from(from == C && packet.payload_len > 0);
            if from == C && packet.payload_len > 0 && count == 3 { Fate::Drop } else { Fate::Pass }
        });
        round(&mut net, 8)
    });
    // pipeACK is 8 segments, one of which was lost and sent again: (8 - 1) / 2. RFC 5681 takes FlightSize alone: two of
    // the eight are acknowledged when the loss is found.
    assert_eq!(windows, [3.5, 3.0]);
}
