//! Windows that the application does not use: no growth (RFC 7661), restart after idle time (RFC 5681; Linux), decay
//! (RFC 2861).

use super::harness::*;
use crate::{Config, DelayedAck, IdleRestart, RateLimited};
use narrows_cc::Congestion;
use narrows_units::{Bytes, Duration};

/// A client whose window has grown past 60 segments with all data acknowledged, and its diary.
fn grown(config: Config, rules: bool) -> (Net, Diary) {
    let cc = Box::new(Double { reno: true, rules, ..Double::default() });
    let diary = cc.diary.clone();
    let config = Config { mss: 1000, timestamps: false, delayed_ack: DelayedAck::Off, ..config };
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::new(80_000));
    net.run(at(1_000));
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    assert!(net.ends[C].info().cwnd >= Bytes::new(60_000));
    diary.lock().unwrap().clear();
    (net, diary)
}

/// The window just after a write of one segment at `time`.
fn cwnd_after_write(net: &mut Net, time: u64) -> Bytes {
    net.now = at(time);
    net.ends[C].write(Bytes::new(1_000));
    net.poll();
    net.ends[C].info().cwnd
}

fn told_of_windows(diary: &Diary) -> Vec<u64> {
    let of = |t: &Told| if let Told::WindowSet(cwnd) = t { Some(*cwnd) } else { None };
    diary.lock().unwrap().iter().filter_map(of).collect()
}

#[test]
fn after_idle_time_the_window_restarts_by_the_rule_that_is_set() {
    let kinds = [IdleRestart::Off, IdleRestart::Rfc5681, IdleRestart::Linux];
    for (kind, rules) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let (mut net, diary) = grown(Config { idle_restart: kind, ..Config::default() }, rules);
        let before = net.ends[C].info();
        // The last data left at about 500 ms; the RTO is 1 s.
        let last = net.data(C).last().unwrap().0;
        let after = cwnd_after_write(&mut net, last + 2_500);
        let expected = match kind {
            IdleRestart::Rfc5681 if !rules => Bytes::new(10_000),
            IdleRestart::Linux if !rules => Bytes::new(before.cwnd.as_u64() / 1000 / 4 * 1000),
            _ => before.cwnd,
        };
        assert_eq!(after, expected, "{kind:?}, the algorithm rules: {rules}");
        let told: Vec<u64> = if after == before.cwnd { vec![] } else { vec![after.as_u64()] };
        assert_eq!(told_of_windows(&diary), told);
    }
}

#[test]
fn up_to_a_timeout_of_idleness_is_none() {
    let (mut net, diary) = grown(Config { idle_restart: IdleRestart::Linux, ..Config::default() }, false);
    let (before, last) = (net.ends[C].info(), net.data(C).last().unwrap().0);
    assert_eq!(before.rto, Duration::from_secs(1));
    assert_eq!(cwnd_after_write(&mut net, last + 1_000), before.cwnd);
    assert!(told_of_windows(&diary).is_empty());
}

#[test]
fn linux_keeps_three_quarters_of_the_window_as_threshold() {
    let config =
        Config { idle_restart: IdleRestart::Linux, initial_ssthresh: Some(Bytes::new(20_000)), ..Config::default() };
    let cc = reno();
    let config = Config { mss: 1000, timestamps: false, delayed_ack: DelayedAck::Off, ..config };
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::new(2_000_000));
    net.run(at(30_000));
    let cwnd = net.ends[C].info().cwnd.as_u64() / 1000;
    assert!(cwnd > 30);
    cwnd_after_write(&mut net, 100_000);
    let info = net.ends[C].info();
    assert_eq!(info.cwnd, Bytes::new(10_000));
    assert_eq!(info.ssthresh, Some(Bytes::new((cwnd / 2 + cwnd / 4) * 1000)));
}

/// The application writes two segments each 300 ms for `seconds`.
fn trickle(net: &mut Net, from: u64, seconds: u64) {
    let mut time = from;
    while time < from + seconds * 1_000 {
        net.ends[C].write(Bytes::new(2_000));
        time += 300;
        net.run(at(time));
    }
}

#[test]
fn a_window_that_is_not_used_decays_where_it_is_validated() {
    for (cwnd_validation, rules) in [(true, false), (true, true), (false, false)] {
        let (mut net, diary) = grown(Config { cwnd_validation, ..Config::default() }, rules);
        let before = net.ends[C].info().cwnd;
        trickle(&mut net, 1_000, 20);
        let windows = told_of_windows(&diary);
        let after = net.ends[C].info().cwnd;
        if !cwnd_validation || rules {
            assert_eq!((after, windows.len()), (before, 0));
            continue;
        }
        // Halfway to the initial window, about once in an RTO of 1 s (four writes).
        let mut cwnd = before.as_u64() / 1000;
        for window in &windows {
            cwnd = cwnd.midpoint(10);
            assert_eq!(*window, cwnd * 1000);
        }
        assert_eq!(after, Bytes::new(10_000), "down to the initial window: {windows:?}");
    }
}

#[test]
fn a_window_that_is_not_used_grows_only_where_it_may() {
    for rate_limited in [RateLimited::CwndLimited, RateLimited::Unlimited] {
        let config = Config { mss: 1000, timestamps: false, rate_limited, ..Config::default() };
        let mut net = Net::new([config; 2], [reno(), reno()], [1, 1]);
        net.establish();
        let before = net.ends[C].info().cwnd;
        trickle(&mut net, 1_000, 20);
        let grown = net.ends[C].info().cwnd > before;
        assert_eq!(grown, rate_limited == RateLimited::Unlimited);
    }
}

#[test]
fn a_window_that_is_used_does_not_decay() {
    let config = Config { cwnd_validation: true, max_cwnd: Some(Bytes::new(100_000)), ..Config::default() };
    let (mut net, diary) = grown(config, false);
    net.ends[C].write(Bytes::MAX);
    net.run(at(5_000));
    assert!(told_of_windows(&diary).is_empty());
}

#[test]
fn a_window_that_the_peer_keeps_from_being_used_does_not_decay() {
    let config = Config { recv_buffer: Bytes::new(30_000), cwnd_validation: true, ..Config::default() };
    let cc = Box::new(Double { first: Some(100), ..Double::default() });
    let diary = cc.diary.clone();
    let config = Config { mss: 1000, timestamps: false, ..config };
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net.run(at(10_000));
    assert_eq!(net.ends[C].info().cwnd, Bytes::new(100_000));
    assert!(told_of_windows(&diary).is_empty());
    let of = |t: &Told| matches!(t, Told::Ack { limited: true, .. });
    assert!(!diary.lock().unwrap().iter().any(of), "and it is not the limit either, so that it does not grow");
}

#[test]
fn a_new_reduction_starts_the_time_of_validation_anew() {
    let (mut net, diary) = grown(Config { cwnd_validation: true, ..Config::default() }, false);
    trickle(&mut net, 1_000, 1);
    let n = told_of_windows(&diary).len();
    // The last of a burst of eight is lost; only the timer finds it.
    let mut count = 0;
    net.rule = Box::new(move |from, packet, _| {
        count += u32::from(from == C && packet.payload_len > 0);
        if from == C && count == 8 { Fate::Drop } else { Fate::Pass }
    });
    net.ends[C].write(Bytes::new(8_000));
    net.run(at(5_000));
    let congested = |t: &Told| matches!(t, Told::Congestion(Congestion::Timeout { .. }, _));
    assert!(diary.lock().unwrap().iter().any(congested));
    assert_eq!(told_of_windows(&diary).len(), n);
}

#[test]
fn the_window_does_not_grow_when_the_application_limits() {
    let mut net = Net::simple(Config { delayed_ack: crate::DelayedAck::Off, ..Config::default() });
    net.establish();
    for i in 0..20 {
        net.ends[C].write(Bytes::new(2_000));
        net.run(at(200 + 150 * (i + 1)));
    }
    assert_eq!(net.ends[C].info().cwnd, Bytes::new(14_480), "two segments a round trip do not use ten");
}
