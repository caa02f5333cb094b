//! ACNS end to end: all pairings of end points and routers work together and lose no data; commands have their effects.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{path, run_text};
use narrows_sim::Outcome;

const TIGHT: &str = r#"rate = "3 Mb/s"
delay = "50 ms"
queue = { kind = "red", limit = "40 packets", min_threshold = 5, max_threshold = 15, ecn = true }"#;

const DROPTAIL: &str = r#"rate = "3 Mb/s"
delay = "50 ms"
queue = { kind = "droptail", limit = "40 packets" }"#;

/// A transfer of 2 MB between these end points over this bottleneck.
fn transfer(bottleneck: &str, tcp: &str, acns_routers: bool, ip: u8, ipv6: &str) -> Outcome {
    let routers = if acns_routers { "[\"R1\", \"R2\"]" } else { "[]" };
    let flows = format!(
        r#"
[acns]
routers = {routers}
ipv6 = "{ipv6}"

[[flows]]
name = "bulk"
from = "A"
to = "B"
kind = "bulk"
size = "2 MB"
tcp = {{ {tcp} }}
"#
    );
    run_text(&path(bottleneck, &flows).replace("duration", &format!("ip = {ip}\nduration")).replace("20 s", "60 s"))
}

#[test]
fn every_pairing_of_end_points_and_routers_delivers_everything() {
    let ends =
        ["assist = \"acns\"", "assist = \"acns\", ecn = true", "assist = \"none\", ecn = true", "assist = \"none\""];
    for bottleneck in [TIGHT, DROPTAIL] {
        for tcp in ends {
            for routers in [false, true] {
                for (ip, ipv6) in [(4, "extension"), (6, "extension"), (6, "flow_label")] {
                    let outcome = transfer(bottleneck, tcp, routers, ip, ipv6);
                    let flow = outcome.samples.flow_totals.row(0).unwrap();
                    assert_eq!(flow.delivered_bytes, 2_000_000, "{tcp} routers {routers} IPv{ip} {ipv6}");
                    let commands = flow.counters.iter().sum::<u64>();
                    assert_eq!(commands > 0, tcp.contains("acns"), "{tcp} routers {routers} IPv{ip} {ipv6}");
                    // Marks of a classic ECN queue read as commands; a drop-tail queue gives none.
                    if !routers && bottleneck == DROPTAIL {
                        assert_eq!(flow.counters[1] + flow.counters[2], 0, "nobody is there to command: {tcp}");
                    }
                }
            }
        }
    }
}

/// Ends of different support agree on the best that both have, whichever of them opens the connection.
#[test]
fn ends_of_different_support_agree_on_what_both_have() {
    let ends = [("acns", true), ("acns", false), ("none", true), ("none", false)];
    for (assist, ecn) in ends {
        for (peer_assist, peer_ecn) in ends {
            let tcp =
                format!("assist = \"{assist}\", ecn = {ecn}, peer_assist = \"{peer_assist}\", peer_ecn = {peer_ecn}");
            let outcome = transfer(TIGHT, &tcp, true, 4, "extension");
            let flow = outcome.samples.flow_totals.row(0).unwrap();
            assert_eq!(flow.delivered_bytes, 2_000_000, "{tcp}");
            let assisted = assist == "acns" && peer_assist == "acns";
            assert_eq!(flow.counters.iter().sum::<u64>() > 0, assisted, "{tcp}");
            // The SYN of an end with ACNS offers ECN as well, whatever its own setting.
            let by_ecn = !assisted && (ecn || assist == "acns") && peer_ecn;
            assert_eq!(flow.ecn_reductions > 0, by_ecn, "{tcp}");
        }
    }
}

#[test]
fn an_old_flow_of_low_priority_is_held_below_the_loss() {
    let outcome = transfer(DROPTAIL, "assist = \"acns\"", true, 4, "extension");
    let alone = transfer(DROPTAIL, "assist = \"none\"", true, 4, "extension");
    let (with, without) = (outcome.samples.flow_totals.row(0).unwrap(), alone.samples.flow_totals.row(0).unwrap());
    assert!(with.counters[1] + with.counters[2] > 0);
    assert!(with.lost_packets < without.lost_packets, "{} against {}", with.lost_packets, without.lost_packets);
}

#[test]
fn senders_that_do_not_obey_do_as_without_the_scheme() {
    let flows =
        |acns: &str| format!("[acns]\n{acns}\n[[flows]]\nname = \"bulk\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\n");
    let deaf = run_text(&path(DROPTAIL, &flows("obey = false")));
    let none = run_text(&path(DROPTAIL, &flows("enabled = false")));
    let (deaf, none) = (deaf.samples.flow_totals.row(0).unwrap(), none.samples.flow_totals.row(0).unwrap());
    assert_eq!(deaf.sent_bytes, none.sent_bytes);
    assert_eq!(deaf.lost_packets, none.lost_packets);
    assert!(deaf.counters[1] + deaf.counters[2] > 0 && none.counters[0] == 0);
}

#[test]
fn priority_protects() {
    let flow = |name: &str, dscp: u8| {
        format!("[[flows]]\nname = \"{name}\"\nfrom = \"A\"\nto = \"B\"\nkind = \"bulk\"\ndscp = {dscp}\n")
    };
    let text = path(DROPTAIL, &format!("[acns]\n{}{}", flow("low", 0), flow("high", 46))).replace("20 s", "100 s");
    let totals = run_text(&text).samples.flow_totals;
    assert!(totals.delivered_bytes[1] > 2 * totals.delivered_bytes[0], "{:?}", totals.delivered_bytes);
}
