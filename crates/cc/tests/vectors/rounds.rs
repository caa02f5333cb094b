//! Rounds and their round-trip times (the reference's sections 0 and 18).

use crate::common::Model;
use narrows_cc::rounds::{Rounds, linux_sample, without_queue};
use narrows_units::Duration;

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn a_round_ends_past_what_was_sent_at_its_beginning() {
    let mut path = Model::new("reno", &[], 100).path;
    let mut rounds = Rounds::default();
    (path.snd_una, path.snd_nxt) = (1000, 5000);
    assert!(rounds.ended(&path), "before the first round");
    rounds.begin(&path);
    for (una, ended) in [(1000, false), (5000, false), (5001, true)] {
        path.snd_una = una;
        assert_eq!(rounds.ended(&path), ended, "{una}");
    }
}

#[test]
fn a_round_has_its_own_smallest_and_mean_rtt() {
    let path = Model::new("reno", &[], 100).path;
    let mut rounds = Rounds::default();
    assert_eq!((rounds.base(), rounds.min(), rounds.mean(), rounds.samples()), (None, None, None, 0));
    for ms in [40, 80, 60] {
        rounds.sample(MS(ms));
    }
    assert_eq!((rounds.base(), rounds.min(), rounds.mean()), (Some(MS(40)), Some(MS(40)), Some(MS(60))));
    rounds.begin(&path);
    assert_eq!((rounds.base(), rounds.longest()), (Some(MS(40)), Some(MS(80))), "kept over rounds");
    assert_eq!((rounds.min(), rounds.mean(), rounds.samples()), (None, None, 0));
    rounds.sample(MS(50));
    assert_eq!((rounds.base(), rounds.min(), rounds.samples()), (Some(MS(40)), Some(MS(50)), 1));
    rounds.forget(&path);
    let mut new = Rounds::default();
    new.begin(&path);
    assert_eq!(rounds, new);
}

#[test]
fn linux_counts_a_microsecond_more() {
    assert_eq!(linux_sample(Duration::from_nanos(1_999)), Duration::from_micros(2));
    assert_eq!(linux_sample(Duration::ZERO), Duration::from_micros(1));
    assert!(linux_sample(Duration::from_nanos(u64::MAX)) > MS(1));
}

#[test]
fn vegas_target() {
    for (cwnd, base, rtt, target) in [(40, 100, 105, 38), (40, 100, 110, 36), (40, 100, 115, 34), (10, 50, 62, 8)] {
        assert_eq!(without_queue(cwnd, MS(base), MS(rtt)), target);
    }
    assert_eq!(without_queue(u64::MAX, MS(10), Duration::ZERO), u64::MAX);
}

#[test]
fn a_queue_of_the_model_delays_what_exceeds_the_bandwidth_delay_product() {
    let mut m = Model::new("reno", &[], 100).at(50, Some(50)).through(50);
    m.path.cwnd_limited = false;
    for (cwnd, rtt) in [(50, 100), (75, 150), (10, 100)] {
        m = m.at(cwnd, Some(1));
        m.round();
        assert_eq!(m.rtt, MS(rtt), "{cwnd}");
    }
}
