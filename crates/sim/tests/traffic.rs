//! Every kind of traffic, link and TCP option works end to end as the scenario says.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{BULK, PLAIN, path, run_text};
use narrows_samples::{FlowTotal, NONE};

fn flow(text: &str) -> FlowTotal {
    run_text(text).samples.flow_totals.row(0).unwrap()
}

fn with(kind: &str) -> String {
    path(PLAIN, &format!("[[flows]]\nname = \"f\"\nfrom = \"A\"\nto = \"B\"\n{kind}\n"))
}

#[test]
fn a_bounded_transfer_ends() {
    let f = flow(&with("kind = \"bulk\"\nsize = \"1 MB\""));
    assert_eq!(f.delivered_bytes, 1_000_000);
    assert!(f.finished_ns < 2_000_000_000, "{}", f.finished_ns);
    assert_eq!(flow(&with("kind = \"bulk\"")).finished_ns, NONE);
}

#[test]
fn a_flow_stops_when_it_is_told() {
    let f = flow(&with("kind = \"bulk\"\nstart = \"1 s\"\nstop = \"5 s\""));
    // Four seconds at 10 Mb/s, less slow start, headers, and data in flight at the stop.
    assert!(f.delivered_bytes > 4_000_000 && f.delivered_bytes < 5_100_000, "{}", f.delivered_bytes);
    assert_eq!((f.start_ns, f.stop_ns), (1_000_000_000, 5_000_000_000));
}

#[test]
fn a_stop_ends_bounded_transfers_and_responses_too() {
    for kind in
        ["kind = \"bulk\"\nsize = \"200 MB\"", "kind = \"request_response\"\nrequest = \"100 B\"\nresponse = \"1 GB\""]
    {
        let f = flow(&with(&format!("{kind}\nstop = \"5 s\"")));
        assert!(f.delivered_bytes > 4_000_000 && f.delivered_bytes < 6_300_000, "{kind}: {}", f.delivered_bytes);
    }
}

#[test]
fn a_long_idle_time_does_not_break_timestamps() {
    let kind = "kind = \"request_response\"\nrequest = \"1 kB\"\nresponse = \"1 kB\"\nthink = \"40 min\"";
    let f = flow(&with(kind).replace("\"20 s\"", "\"3 h\""));
    assert_eq!((f.transactions, f.retransmitted_packets), (5, 0));
}

#[test]
fn a_freeze_keeps_the_window_whatever_the_recovery() {
    // Only the link loses packets: every command is "normal", so no loss may shrink the window.
    let lossy = PLAIN.replace("10 Mb/s", "1 Gb/s").replace("50 packets", "5000 packets");
    for recovery in ["sack", "newreno", "reno"] {
        let kind = format!(
            "kind = \"bulk\"\ncc = \"reno\"\ntcp = {{ recovery = \"{recovery}\", max_cwnd = \"100 kB\" }}\n[acns]"
        );
        let text = path(
            &format!("{lossy}\nper = 0.0005"),
            &format!("[[flows]]\nname = \"f\"\nfrom = \"A\"\nto = \"B\"\n{kind}\n"),
        );
        let samples = run_text(&text.replace("duration", "sampling = \"10 ms\"\nduration")).samples;
        let totals = samples.flow_totals.row(0).unwrap();
        assert!(totals.fast_retransmits > 10 && totals.counters[1] + totals.counters[2] == 0, "{totals:?}");
        assert_eq!(totals.timeouts, 0, "a timeout would reduce the window, as it may: {recovery}");
        let windows = samples.flows.unpack().unwrap().cwnd_bytes;
        let late = windows.iter().skip(100);
        assert!(late.clone().all(|&cwnd| cwnd == 100_000), "{recovery}: {:?}", late.min());
    }
}

#[test]
fn an_application_rate_limits_tcp() {
    let f = flow(&with("kind = \"rate\"\nrate = \"2 Mb/s\""));
    let mbps = f.delivered_bytes as f64 * 8.0 / 20.0 / 1e6;
    assert!((mbps - 2.0).abs() < 0.02, "{mbps}");
    assert_eq!(f.lost_packets, 0);
}

#[test]
fn on_off_sends_its_share_of_the_time() {
    let f =
        flow(&with("kind = \"on_off\"\nrate = \"4 Mb/s\"\non = \"1 s\"\noff = \"3 s\"\ndistribution = \"constant\""));
    let mbps = f.delivered_bytes as f64 * 8.0 / 20.0 / 1e6;
    assert!((mbps - 1.0).abs() < 0.05, "{mbps}");
}

#[test]
fn requests_are_answered_one_after_the_other() {
    let f = flow(&with(
        "kind = \"request_response\"\nrequest = \"100 B\"\nresponse = \"20 kB\"\nthink = \"100 ms\"\ncount = 25",
    ));
    assert_eq!((f.transactions, f.delivered_bytes), (25, 25 * 20_000));
    // Each request takes two round trips of 24 ms (10 segments, then the rest) and the think time.
    assert!(f.finished_ns > 25 * 124_000_000 && f.finished_ns < 25 * 200_000_000, "{}", f.finished_ns);
}

#[test]
fn a_slow_reader_closes_the_window_and_loses_nothing() {
    let f = flow(&with("kind = \"bulk\"\ntcp = { recv_buffer = \"64 kB\", read_rate = \"1 Mb/s\" }"));
    let mbps = f.delivered_bytes as f64 * 8.0 / 20.0 / 1e6;
    assert!((mbps - 1.0).abs() < 0.05, "{mbps}");
    assert_eq!((f.lost_packets, f.retransmitted_packets), (0, 0));
}

#[test]
fn red_marks_instead_of_dropping_with_ecn() {
    let red =
        PLAIN.replace("{ kind = \"droptail\",", "{ kind = \"red\", min_threshold = 5, max_threshold = 15, ecn = true,");
    let outcome = run_text(&path(&red, &BULK.replace("kind", "tcp = { ecn = true }\nkind")));
    let f = outcome.samples.flow_totals.row(0).unwrap();
    let q = outcome.samples.queue_totals.row(2).unwrap();
    assert!(q.marked > 10 && f.ecn_reductions > 3, "{} marks, {} reductions", q.marked, f.ecn_reductions);
    // Retransmissions carry no ECT (RFC 3168, section 6.1.5), so a few of them are dropped early.
    assert!(q.dropped_early + q.dropped_forced <= f.retransmitted_packets, "{q:?}");
}

#[test]
fn ipv6_carries_everything_too() {
    let text = path(PLAIN, BULK).replace("duration", "ip = 6\nduration");
    let f = flow(&text);
    assert!(f.delivered_bytes > 20_000_000, "{}", f.delivered_bytes);
}

#[test]
fn directions_can_differ() {
    let asymmetric = format!("{PLAIN}\nreverse = {{ rate = \"100 kb/s\", delay = \"40 ms\" }}");
    let outcome = run_text(&path(&asymmetric, BULK));
    let f = outcome.samples.flow_totals.row(0).unwrap();
    assert!(f.rtt_min_ns > 54_000_000);
    let reverse = outcome.samples.queue_totals.row(3).unwrap();
    assert!(reverse.dropped_overflow > 100, "100 kb/s cannot carry an ACK for every second segment of 10 Mb/s");
    assert!(reverse.busy_ns > 19_000_000_000, "{}", reverse.busy_ns);
}

#[test]
fn a_change_of_rate_shows_in_the_throughput() {
    let changing = format!("{PLAIN}\nchanges = [{{ at = \"10 s\", rate = \"2 Mb/s\" }}]");
    let text = path(&changing, BULK).replace("duration", "sampling = \"1 s\"\nduration");
    let s = run_text(&text).samples;
    let arrived = s.flows.unpack().unwrap().arrived_bytes;
    let rate = |from: usize, to: usize| (arrived[to] - arrived[from]) as f64 * 8.0 / (to - from) as f64 / 1e6;
    assert!(rate(3, 9) > 9.5, "{}", rate(3, 9));
    assert!(rate(12, 19) > 1.9 && rate(12, 19) < 2.02, "{}", rate(12, 19));
    let q = s.queue_totals.row(2).unwrap();
    assert_eq!(q.capacity_bits, 120_000_000, "ten seconds of 10 Mb/s and ten of 2 Mb/s");
}

#[test]
fn a_sender_gives_up_where_nothing_arrives_any_longer() {
    let dead = format!("{PLAIN}\nchanges = [{{ at = \"5 s\", rate = \"1 b/s\" }}]");
    let with =
        |tcp: &str| flow(&path(&dead, BULK).replace("name = \"bulk\"", &format!("name = \"bulk\"\ntcp = {tcp}")));
    let up = with("{ max_retries = 2 }");
    // A full queue of 50 packets takes 60 ms. The timer then expires after 1 s, after 2 s more and after 4 s more.
    assert!((11_900_000_000..12_300_000_000).contains(&up.aborted_ns), "{}", up.aborted_ns);
    assert_eq!((up.stop_ns, up.timeouts, up.finished_ns), (up.aborted_ns, 2, NONE));
    let stopped = with("{ max_retries = 2 }\nstop = \"8 s\"");
    assert_eq!(
        (stopped.stop_ns, stopped.aborted_ns),
        (8_000_000_000, up.aborted_ns),
        "what was sent is still repeated"
    );
    for retries in ["15", "\"unlimited\""] {
        let on = with(&format!("{{ max_retries = {retries} }}"));
        assert_eq!((on.aborted_ns, on.stop_ns), (NONE, 20_000_000_000));
        assert!(on.timeouts > 2);
    }
    let unheard =
        flow(&path(&dead.replace("5 s", "0 s"), BULK).replace("duration = \"20 s\"", "duration = \"2000 s\""));
    // In effect, every SYN is lost: 1 + 2 + .. + 32 s, then ten times 60 s.
    assert_eq!((unheard.aborted_ns, unheard.timeouts), (663_000_000_000, 15));
}

#[test]
fn every_congestion_control_carries_a_transfer_over_a_lossy_path() {
    for row in narrows_sim::catalogue().cc {
        // Its default target is that of a data centre, and on 24 ms it sends next to nothing.
        let params = if row.name == "swift" { ", cc_params = { base_target = 50000 }" } else { "" };
        let ecn = if row.l4s { "\"accurate\"".to_owned() } else { row.needs_ecn.to_string() };
        for recovery in ["sack", "newreno", "reno", "rto_only"] {
            let tcp = format!(
                "kind = \"bulk\"\nsize = \"300 kB\"\ncc = \"{}\"\ntcp = {{ recovery = \"{recovery}\", ecn = {}{params} }}",
                row.name, ecn
            );
            let text = path(
                &format!("{PLAIN}\nper = 0.01"),
                &format!("[[flows]]\nname = \"f\"\nfrom = \"A\"\nto = \"B\"\n{tcp}\n"),
            );
            let f = flow(&text.replace("\"20 s\"", "\"120 s\""));
            assert_eq!(f.delivered_bytes, 300_000, "{} with {recovery}", row.name);
        }
    }
}
