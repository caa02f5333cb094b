//! Slow starts in front of any loss-based algorithm: HyStart++ (RFC 9406), RFC 3742, SEARCH.

use crate::common::Model;
use narrows_cc::start::{self, Start};
use narrows_cc::{Params, Row, registry};
use narrows_units::{Bytes, Duration};

const RTT: Duration = Duration::from_millis(100);

/// A flow of `row` with this slow start and a round-trip time of 100 ms.
fn flow(row: &Row, start: Start) -> Model {
    Model::of(start::with((row.build)(&Params::default()), start), 1448, RTT)
}

fn reno(start: Start) -> Model {
    flow(narrows_cc::find("reno").unwrap(), start)
}

/// The rows whose slow start can be replaced.
fn replaceable() -> impl Iterator<Item = &'static Row> {
    registry().iter().filter(|row| row.traits.own_start.is_none())
}

#[test]
fn started_hystartpp_enters_css_by_hand() {
    // Round 1: 10 ACKs, one segment each. Round 2, at 112.5 ms = 100 + clamp(100 / 8, 4, 16): the eighth sample enters
    // CSS after 8 segments; the other 12 ACKs add a quarter. Then 31 ACKs of a quarter: 38.75 segments, and so on until
    // the fifth round of CSS, the round of the entry included, sets ssthresh.
    for row in replaceable().filter(|row| row.name != "cubic") {
        let mut m = flow(row, Start::HyStartPlusPlus);
        assert_eq!(m.round(), 20.0, "{}", row.name);
        m.rtt = Duration::from_micros(112_500);
        assert_eq!(m.round(), 31.0, "{}", row.name);
        assert_eq!(m.state("slow_start"), 2.0, "{}", row.name);
        assert_eq!((m.state("last_round_min_rtt"), m.state("css_baseline_min_rtt")), (0.1125, 0.1125), "{}", row.name);
        assert_eq!((m.state("current_round_min_rtt"), m.state("css_rounds")), (0.1125, 1.0), "{}", row.name);
        assert_eq!(m.rounds(2), [38.75, 48.25], "{}", row.name);
        assert_eq!(m.win.ssthresh, None, "{}", row.name);
        m.rounds(3);
        assert!(m.win.ssthresh.is_some(), "{}: five rounds of CSS", row.name);
        assert_eq!(m.state("slow_start"), 0.0, "{}", row.name);
    }
}

#[test]
fn started_hystartpp_returns_when_the_delay_falls() {
    let mut m = reno(Start::HyStartPlusPlus);
    m.round();
    m.rtt = Duration::from_micros(112_500);
    assert_eq!(m.round(), 31.0);
    m.rtt = Duration::from_micros(112_400);
    let after = m.round();
    // The RFC's round ended 18 ACKs after the first, so two samples of 112.5 ms are in the next one. Its eighth sample
    // is the sixth ACK here: six ACKs add a quarter, and 25 add one each.
    assert_eq!(after, 31.0 + 6.0 / 4.0 + 25.0);
    assert_eq!(m.state("slow_start"), 1.0);
}

#[test]
fn started_hystartpp_adds_eight_segments_for_one_ack_unless_paced() {
    for (paced, after) in [(false, 18.0), (true, 20.0)] {
        let mut m = reno(Start::HyStartPlusPlus);
        m.path.pacing_rate = paced.then(|| narrows_units::Rate::mbps(10));
        m.ack(10 * 1448);
        assert_eq!(m.cwnd(), after, "L = 8 without pacing");
    }
}

#[test]
fn started_limited_grows_fifty_per_round() {
    // max_ssthresh = 100: at 101 to 149 segments K = 2, and from 150 K = 3: each round adds about 50 segments.
    let mut m = reno(Start::Limited { max_ssthresh: 100 }).at(100, None);
    let third = 482.0 / 1448.0;
    assert_eq!(m.round(), 150.0 + third, "one segment for the first ACK, 98 halves, and int(1448 / 3) bytes");
    let mut before = m.cwnd();
    for _ in 0..10 {
        let after = m.round();
        assert!((after - before - 50.0).abs() < 2.0, "{before} to {after}");
        before = after;
    }
    let mut low = reno(Start::Limited { max_ssthresh: 100 });
    assert_eq!(low.rounds(3), [20.0, 40.0, 80.0], "below the threshold as ever");
}

#[test]
fn started_hystart_ends_by_the_ack_train_in_any_algorithm() {
    for row in replaceable().filter(|row| row.name != "cubic") {
        let mut m = flow(row, Start::HyStart);
        assert_eq!(m.rounds(3), [20.0, 40.0, 80.0], "{}", row.name);
        assert!(m.win.in_slow_start(&m.path), "{}", row.name);
        m.round();
        assert!((118.0..125.0).contains(&m.ssthresh()), "{}: half a round-trip time later", row.name);
    }
}

#[test]
fn search_continues_while_deliveries_double() {
    let mut m = reno(Start::Search);
    assert_eq!(m.rounds(10)[9], 10240.0);
    assert_eq!(m.win.ssthresh, None);
    assert!(m.state("search_norm_diff").abs() < 0.1, "{}", m.state("search_norm_diff"));
}

#[test]
fn search_leaves_two_round_trips_after_the_capacity() {
    // 160 segments fill the path after four rounds. From then on, with time t in round-trip times without a queue,
    // deliveries are constant, cwnd is 1 + t, and a sample is (1 + t) / 2. Twice the window of 3.5 that ended a sample
    // ago exceeds the one that ends now by 0.17 at t = 2, by 0.32 at t = 4 and by 0.40 at t = 5: the third round, of a
    // length of four, ends slow start. Two round-trip times of deliveries are then taken back.
    let mut m = reno(Start::Search).through(160);
    let mut windows = vec![];
    while m.win.ssthresh.is_none() && windows.len() < 10 {
        windows.push(m.round());
    }
    assert_eq!(windows[..6], [20.0, 40.0, 80.0, 160.0, 320.0, 640.0]);
    assert_eq!(windows.len(), 7);
    // (1 + t) 160 less five bins of 0.35 * 160.
    let threshold = m.ssthresh();
    assert!((584.0..960.0).contains(&threshold), "t from 4 to 6.7: {threshold}");
    let norm = m.state("search_norm_diff");
    assert!((0.35..0.42).contains(&norm), "{norm}");
}

#[test]
fn started_search_leaves_by_itself() {
    for row in replaceable() {
        let mut m = flow(row, Start::Search).through(160);
        m.rounds(8);
        assert!(m.win.ssthresh.is_some(), "{}", row.name);
    }
}

#[test]
fn search_clears_its_bins_while_the_application_limits() {
    let mut m = reno(Start::Search).at(100, None);
    m.path.cwnd_limited = false;
    m.rounds(20);
    assert_eq!((m.cwnd(), m.win.ssthresh), (100.0, None), "constant deliveries that mean nothing");
    m.path.cwnd_limited = true;
    let windows = m.rounds(4);
    assert_eq!((windows[0], m.win.ssthresh), (200.0, None), "the bins begin again");
}

#[test]
fn search_is_standard_after_the_first_slow_start() {
    let mut m = reno(Start::Search).at(100, Some(200));
    m.ack(2 * 1448);
    assert_eq!(m.cwnd(), 101.0, "RFC 5681: at most SMSS for an ACK");
}

#[test]
fn started_algorithms_grow_as_before_after_slow_start() {
    let kinds = [Start::HyStart, Start::HyStartPlusPlus, Start::Search, Start::Limited { max_ssthresh: 100 }];
    for row in replaceable() {
        let mut plain = Model::of((row.build)(&Params::default()), 1448, RTT).at(100, Some(50));
        let expected = plain.rounds(30);
        plain.loss();
        let after = plain.rounds(30);
        for kind in kinds {
            let mut m = flow(row, kind).at(100, Some(50));
            assert_eq!(m.rounds(30), expected, "{} {kind:?}", row.name);
            m.loss();
            assert_eq!(m.rounds(30), after, "{} {kind:?}", row.name);
        }
    }
}

#[test]
fn started_algorithms_do_not_grow_unless_cwnd_limited() {
    let kinds = [Start::HyStart, Start::HyStartPlusPlus, Start::Search, Start::Limited { max_ssthresh: 100 }];
    for row in replaceable() {
        for kind in kinds {
            let mut m = flow(row, kind);
            m.path.cwnd_limited = false;
            m.rounds(10);
            assert_eq!(m.win.cwnd, Bytes::new(14_480), "{} {kind:?}", row.name);
        }
    }
}

#[test]
fn the_other_algorithms_say_why_they_keep_their_slow_start() {
    let own: Vec<&str> = registry().iter().filter(|row| row.traits.own_start.is_some()).map(|row| row.name).collect();
    assert_eq!(
        own,
        [
            "none",
            "prague",
            "bbr",
            "bbr3",
            "compound",
            "hybla",
            "vegas",
            "copa",
            "cdg",
            "nv",
            "swift",
            "ledbat",
            "ledbat_pp",
            "yeah",
            "vivace"
        ]
    );
}
