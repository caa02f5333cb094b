//! Times: absolute, relative, ranges, any; late and early events.

use super::*;

/// What comes of a packet that the host sends `after` milliseconds, and the script expects at `when`.
fn sent(when: &str, after: u64) -> Outcome {
    let mut fake = server();
    let ack = segment(ACK, 1, 11, 0);
    fake.after_packet.push_back(vec![Reply(Duration::from_millis(after), ack)]);
    serve(&mut fake, &format!("+.1 < P. 1:11(10) ack 1 win 9\n{when} > . 1:1(0) ack 11\n"))
}

#[test]
fn a_packet_may_be_off_by_the_tolerance() {
    // The packet before is injected at 0.2 s. The tolerance is 4 ms, or an eighth of the time since then.
    for (when, after, matches) in [
        ("+0", 0, true),
        ("+0", 4, true),
        ("+0", 5, false),
        ("+.04", 35, true),
        ("+.04", 34, false),
        ("+.04", 45, true),
        ("+.04", 46, false),
        ("0.24", 40, true),
        ("+.4", 355, true),
        ("+.4", 345, false),
        ("+.01~+.05", 45, true),
        ("+.01~+.05", 5, false),
        ("+.01~+.05", 56, false),
        ("0.21~0.25", 30, true),
        ("*", 0, true),
        ("*", 30_000, true),
        ("*", 61_000, false),
    ] {
        let outcome = sent(when, after);
        assert_eq!(outcome.verdict == Verdict::Matched, matches, "{when} {after}: {:?}", outcome.verdict);
    }
}

#[test]
fn a_packet_at_the_wrong_time_names_both_times() {
    let found = mismatch(sent("+.3", 100));
    assert_eq!(found.differences.len(), 1);
    let text = found.to_string();
    assert!(text.contains("time: expected 0.500000 s, with a tolerance of 0.037500 s, found 0.300000 s"), "{text}");
}

#[test]
fn a_packet_that_does_not_come_is_missed_two_seconds_later() {
    let mut fake = server();
    let began = fake.clock;
    let outcome = serve(&mut fake, "+0 > . 1:1(0) ack 1\n");
    let found = mismatch(outcome);
    assert_eq!((found.actual.as_str(), found.actual_time), ("no packet", None));
    assert_eq!(fake.clock.since(began), Duration::from_millis(2100));
}

#[test]
fn inbound_packets_that_follow_each_other_do_not_add_up_delays() {
    let mut fake = server();
    let began = fake.clock;
    matched(&serve(&mut fake, "+.1 < . 1:1(0) ack 1 win 9\n+.1 < . 1:1(0) ack 1 win 9\n+.1 < . 1:1(0) ack 1 win 9\n"));
    let times: Vec<u64> = fake.injected.iter().map(|(at, _)| at.since(began).as_nanos() / 1_000_000).collect();
    // The last one is the reset at the end.
    assert_eq!(times, [0, 100, 200, 300, 400, 400]);
}

#[test]
fn an_event_whose_time_is_past_is_late() {
    let found = mismatch(serve(&mut server(), "0.05 < . 1:1(0) ack 1 win 9\n"));
    assert_eq!((found.line, found.what.as_str()), (9, "time of inbound packet"));
}
