//! Pacing by the connection's own setting (Linux's `tcp_update_pacing_rate`).

use super::harness::*;
use crate::{Config, DelayedAck, Pacing};
use narrows_units::{Bytes, Rate};

/// A client with endless data and Linux's ratios, established, with a round-trip time of 100 ms.
fn start(cc: Box<Double>) -> Net {
    let pacing = Pacing::Ratio { slow_start: 200, avoidance: 120 };
    let config = Config { mss: 1000, timestamps: false, delayed_ack: DelayedAck::Off, pacing, ..Config::default() };
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net
}

#[test]
fn the_first_ten_segments_are_not_paced_and_later_ones_are() {
    let mut net = start(reno());
    net.run(at(390));
    let times: Vec<_> = net.data(C).iter().map(|d| d.0).collect();
    assert_eq!(times[..10], [200; 10], "the initial window at once");
    // Two segments for each of ten ACKs: 200 % of a window per round-trip time spreads them over it.
    let later = &net.log.iter().filter(|e| e.1 == C && e.2.payload_len > 0).map(|e| e.0).collect::<Vec<_>>()[10..];
    assert!(later.len() >= 18, "{}", later.len());
    // The rate is computed for each ACK: at least 22 and at most 40 segments per 100 ms are allowed.
    for pair in later.windows(2) {
        let gap = pair[1].since(pair[0]);
        assert!(gap >= ms(100) / 40, "{gap} between two segments");
    }
}

#[test]
fn the_rate_in_force_is_shown_and_follows_the_window() {
    let mut net = start(reno());
    net.run(at(420));
    let info = net.ends[C].info();
    let (cwnd, srtt) = (info.cwnd, info.srtt.unwrap());
    let window = cwnd.max(info.flightsize);
    let rate = info.pacing_rate.unwrap();
    assert!(rate <= Rate::of(window * 2, srtt) && rate >= Rate::of(window * 2, srtt).mul_f64(0.95), "{rate}");
    assert_eq!(net.ends[S].info().pacing_rate, Some(Rate::of(Bytes::new(20_000), ms(100))), "from the first window on");
}

#[test]
fn a_rate_of_the_congestion_control_comes_before_the_setting() {
    let own = Rate::kbps(80);
    let mut net = start(Box::new(Double { reno: true, pacing: Some(own), ..Double::default() }));
    net.run(at(1_150));
    let times: Vec<_> = net.data(C).iter().map(|d| d.0).collect();
    assert_eq!(times, [200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100], "10 000 bytes a second, from the first on");
    assert_eq!(net.ends[C].info().pacing_rate, Some(own));
}

#[test]
fn a_paced_window_still_grows() {
    // Pacing stops the sender most of the time, but the window is still found to be the limit once in each round.
    let mut net = start(reno());
    net.run(at(810));
    assert!(net.ends[C].info().cwnd >= Bytes::new(100_000), "{}", net.ends[C].info().cwnd);
}
