//! Slow start, limited slow start and the cwnd-limited check (RFC 5681, 3465, 3742; the reference's sections 0.1 and
//! 1).

use crate::common::{Model, close};
use narrows_cc::growth::{ByteCounter, Fraction};
use narrows_units::Bytes;

#[test]
fn d1_no_growth_unless_cwnd_limited() {
    for (name, profile) in [("reno", "rfc5681"), ("reno", "linux"), ("cubic", "rfc9438"), ("cubic", "linux")] {
        for ssthresh in [None, Some(10)] {
            let mut m = Model::new(name, &[("profile", profile)], 100).at(20, ssthresh);
            m.path.cwnd_limited = false;
            assert_eq!(m.rounds(5), vec![20.0; 5], "{name} {profile}");
        }
    }
}

#[test]
fn d2_slow_start_passes_the_rest_to_congestion_avoidance() {
    // 10 segments in one ACK: 4 reach the threshold, and 6 count towards the next segment at a window of 20.
    let mut m = Model::new("reno", &[("profile", "linux")], 100).at(16, Some(20));
    let smss = m.path.smss.as_u64();
    m.ack(10 * smss);
    assert_eq!(m.cwnd(), 20.0);
    m.ack(13 * smss);
    assert_eq!(m.cwnd(), 20.0);
    m.ack(smss);
    assert_eq!(m.cwnd(), 21.0, "6 + 13 + 1 segments are a window of 20");
}

#[test]
fn d3_counter_adds_several_segments_for_a_large_ack() {
    let mut m = Model::new("reno", &[("profile", "linux")], 100).at(10, Some(10));
    let mut counter = ByteCounter::default();
    let smss = m.path.smss;
    counter.add(smss * 35, smss * 10, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), counter.counted()), (13.0, smss * 5));
    counter.add(smss, smss * 4, &m.path, &mut m.win);
    assert_eq!((m.cwnd(), counter.counted()), (14.0, smss), "credit of a dearer step is worth one segment");
}

#[test]
fn slow_start_counts_bytes_up_to_the_limit() {
    // An ACK for two segments: RFC 5681 adds one, L = 2 (RFC 3465) both, Linux all.
    for (given, per_round) in [
        (&[("profile", "rfc5681")][..], 1.5),
        (&[("profile", "rfc5681"), ("abc_limit", "2")][..], 2.0),
        (&[("profile", "linux")][..], 2.0),
    ] {
        let mut m = Model::new("reno", given, 100).at(64, None);
        assert_eq!(m.round_of(2), 64.0 * per_round, "{given:?}");
    }
    // An ACK of half a segment adds half a segment.
    let mut m = Model::new("reno", &[], 100).at(10, None);
    m.ack(724);
    assert_eq!(m.cwnd(), 10.5);
}

#[test]
fn limited_slow_start_adds_fifty_per_round() {
    // RFC 3742 adds a whole segment while cwnd <= max_ssthresh, so the very first ACK at 100 does. The vector of the
    // reference (100, 150, 200, 250, 300, 349.9, 399.8) leaves that out, which is half a segment.
    for name in ["reno", "cubic"] {
        let given = if name == "reno" { ("increase", "counting") } else { ("slow_start", "standard") };
        let mut m = Model::new(name, &[given, ("max_ssthresh", "100")], 100).at(100, None);
        close(&m.rounds(6), &[150.0, 200.0, 250.0, 300.0, 349.9, 399.8], 0.005);
        let mut free = Model::new(name, &[given], 100).at(100, None);
        assert_eq!(free.rounds(2), [200.0, 400.0], "off unless asked for");
    }
}

#[test]
fn limited_slow_start_ends_at_ssthresh() {
    let mut m = Model::new("reno", &[("max_ssthresh", "10")], 100).at(30, Some(32));
    let smss = m.path.smss.as_u64();
    m.win.cwnd = Bytes::new(32 * smss - 1);
    m.ack(smss);
    assert_eq!(m.win.cwnd, Bytes::new(32 * smss));
    assert!(!m.win.in_slow_start(&m.path));
}

#[test]
fn fractions_of_a_byte_are_carried() {
    let mut m = Model::new("none", &[], 100).at(10, None);
    let mut fraction = Fraction::default();
    let before = m.win.cwnd;
    for _ in 0..1000 {
        fraction.add(0.125, &mut m.win);
    }
    assert_eq!(m.win.cwnd, before + Bytes::new(125));
    fraction.add(f64::NAN, &mut m.win);
    fraction.add(-1.0, &mut m.win);
    assert_eq!(m.win.cwnd, before + Bytes::new(125), "not a growth");
    fraction.add(f64::INFINITY, &mut m.win);
    assert_eq!(m.win.cwnd, Bytes::MAX);
}

#[test]
fn rfc793_window_is_bounded_by_the_receiver_alone() {
    let mut m = Model::new("none", &[], 100);
    m.idle(narrows_units::Duration::from_nanos(1));
    let open = narrows_cc::algorithms::none::UNBOUNDED;
    assert_eq!(open.as_u64(), 1_073_725_440, "the largest window of RFC 7323");
    for event in [Model::loss, Model::ecn, |m: &mut Model| m.timeout(false)] {
        event(&mut m);
        assert_eq!((m.win.cwnd, m.win.ssthresh), (open, None));
    }
    assert!(m.cc.needs().window_in_recovery, "recovery must not reduce it either");
}
