#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::testing::{lacks_root, skip};

const FLOW: &str = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"";

/// A dumbbell with this queue at its bottleneck.
fn with_queue(queue: &str) -> Scenario {
    let text = format!(
        "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"8 ms\", queue = {{ {queue} }} }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n{FLOW}\n"
    );
    narrows_scenario::parse(&text, "test.toml", &[], &narrows_fabric::catalogue()).unwrap()
}

/// The settings of the bottleneck's forward direction, in Linux's words.
fn words(queue: &str) -> String {
    let scenario = with_queue(queue);
    let (_, name, direction) = directions(&scenario).find(|(_, name, _)| name == "r1->r2").unwrap();
    table::settings(direction, &field(&name)).unwrap().unwrap().words
}

/// Queues that the kernel can carry, and what `tc` would call them.
const CARRIED: [(&str, &str); 11] = [
    ("kind = \"codel\", limit = \"1000 packets\", ecn = true", "codel limit 1000 target 5000us interval 100000us ecn"),
    (
        "kind = \"dualpi2\", limit = \"2000 packets\"",
        "dualpi2 limit 2000 memlimit 4294967295 target 15000us tupdate 16000us step_thresh 1000us alpha 0.16015625 \
         beta 3.19921875 min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect",
    ),
    (
        "kind = \"dualpi2\", limit = \"100 packets\", step_thresh = \"800 us\", alpha = 0.5, coupling = 3, \
         overload = \"overflow\", drop_early = true, classic_protection = 0.25, min_qlen_step = 2",
        "dualpi2 limit 100 memlimit 4294967295 target 15000us tupdate 16000us step_thresh 800us alpha 0.5 \
         beta 3.19921875 min_qlen_step 2 coupling_factor 3 overflow drop_enqueue classic_protection 25% l4s_ect",
    ),
    (
        "kind = \"fq_codel\", limit = \"10240 packets\"",
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5000us interval 100000us memory_limit 33554432 \
         drop_batch 64 ecn",
    ),
    ("kind = \"pie\", limit = \"1000 packets\"", "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn"),
    (
        "kind = \"pie\", limit = \"1000 packets\", bytemode = true, dq_rate_estimator = \"on\", alpha = 0.25",
        "pie limit 1000 target 15000us tupdate 15000us alpha 4 beta 20 noecn bytemode dq_rate_estimator",
    ),
    (
        "kind = \"red\", limit = \"150 kB\", profile = \"linux\", min_threshold = \"15 kB\", max_threshold = \"45 kB\", \
         mean_packet = \"1500 B\", weight = 0.0625, ecn = true",
        "red limit 150000 min 15000 max 45000 avpkt 1500 bandwidth 10000000bit probability 0.1 weight 1/16 ecn harddrop",
    ),
    (
        "kind = \"fq\", limit = \"10000 packets\"",
        "fq limit 10000 flow_limit 100 orphan_mask 1023 quantum 3028 initial_quantum 15140 refill_delay 40000us \
         low_rate_threshold 550000bit",
    ),
    (
        "kind = \"tbf\", limit = \"90 kB\", rate = \"8 Mb/s\", burst = \"6 kB\"",
        "tbf rate 8000000bit burst 6000b limit 90000b",
    ),
    (
        "kind = \"tbf\", limit = \"90 kB\", rate = \"8 Mb/s\", burst = \"6 kB\", peakrate = \"9 Mb/s\"",
        "tbf rate 8000000bit burst 6000b limit 90000b peakrate 9000000bit mtu 1500b",
    ),
    (
        "kind = \"cake\", limit = \"10240 packets\", bandwidth = \"8 Mb/s\"",
        "cake bandwidth 8000000bit besteffort triple-isolate rtt 100000us overhead 0 mpu 0 noatm memlimit 4194304",
    ),
];

#[test]
fn disciplines_have_linux_s_settings() {
    for (ours, linux) in CARRIED {
        assert_eq!(words(ours), linux, "{ours}");
    }
}

#[test]
fn what_linux_cannot_be_given_is_refused_with_its_parameter() {
    let refused = [
        ("kind = \"codel\", limit = \"60 kB\"", "limit"),
        ("kind = \"codel\", limit = \"60 packets\", mtu = \"100 B\"", "mtu"),
        ("kind = \"pie\", limit = \"60 packets\", alpha = 0.1", "alpha"),
        ("kind = \"pie\", limit = \"60 packets\", max_burst = \"100 ms\"", "max_burst"),
        ("kind = \"pie\", limit = \"60 packets\", mark_ecnth = 0.2", "mark_ecnth"),
        ("kind = \"pie\", limit = \"60 packets\", active_threshold = 0.3", "active_threshold"),
        ("kind = \"pie\", limit = \"60 packets\", derandomize = false", "derandomize"),
        ("kind = \"red\", limit = \"60 packets\"", "profile"),
        ("kind = \"dualpi2\", limit = \"60 kB\"", "limit"),
        ("kind = \"dualpi2\", limit = \"60 packets\", l4s_aqm = \"ramp\"", "l4s_aqm"),
        ("kind = \"dualpi2\", limit = \"60 packets\", scheduler = \"tsfifo\"", "scheduler"),
        ("kind = \"dualpi2\", limit = \"60 packets\", ce_is_l4s = false", "ce_is_l4s"),
        ("kind = \"dualpi2\", limit = \"60 packets\", th_len = 2", "th_len"),
        ("kind = \"dualpi2\", limit = \"60 packets\", tupdate = \"5 s\"", "tupdate"),
        ("kind = \"dualpi2\", limit = \"60 packets\", beta = 0.001", "beta"),
        ("kind = \"dualpi2\", limit = \"60 packets\", coupling = 1.5", "coupling"),
        ("kind = \"fq\", limit = \"60 packets\", flows = 1000", "flows"),
        ("kind = \"tbf\", limit = \"60 packets\"", "limit"),
        ("kind = \"cake\", limit = \"60 packets\"", "limit"),
    ];
    for (queue, param) in refused {
        let error = judge(&with_queue(queue)).unwrap_err();
        let wanted = format!("links.r1->r2.queue.{param}");
        let found = match &error {
            LiveError::Unsupported { field, .. } => field == &wanted,
            LiveError::Refused { refusals } => {
                refusals.iter().any(|one| matches!(one, LiveError::Unsupported { field, .. } if field == &wanted))
            }
            _ => false,
        };
        assert!(found, "{queue}: {error}");
    }
}

#[test]
fn a_scenario_without_such_a_queue_is_refused() {
    let said = judge(&with_queue("kind = \"droptail\", limit = \"60 kB\"")).unwrap_err().to_string();
    assert!(said.contains("cake, codel, dualpi2, fq, fq_codel, pie, red, tbf"), "{said}");
}

#[test]
fn modules_are_those_of_the_disciplines_and_the_shaper() {
    let scenario = with_queue("kind = \"codel\", limit = \"60 packets\"");
    assert_eq!(qdisc_modules(&scenario), ["sch_codel", "sch_htb"]);
}

/// The numbers of linux/pkt_sched.h of Linux 7.2, each with the length that its policy asks for.
#[test]
fn dualpi2_has_the_attributes_of_linux() {
    let scenario = with_queue("kind = \"dualpi2\", limit = \"2000 packets\"");
    let (_, name, direction) = directions(&scenario).find(|(_, name, _)| name == "r1->r2").unwrap();
    let options = table::settings(direction, &field(&name)).unwrap().unwrap().options;
    let mut wanted = message::Attributes::default();
    for (number, value) in [(1, 2000), (2, u32::MAX), (3, 15_000), (4, 16_000), (8, 1000), (5, 41), (6, 819), (9, 0)] {
        wanted.put_u32(number, value);
    }
    for (number, value) in [(10, 2), (11, 1), (12, 0), (13, 10), (14, 1)] {
        wanted.put(number, &[value]);
    }
    assert_eq!(options, wanted);
}

/// The kernel of this machine takes the settings, where it has the disciplines.
#[test]
fn the_kernel_takes_all_settings() {
    if lacks_root() {
        return;
    }
    for (ours, _) in CARRIED {
        match KernelQueues::new(&with_queue(ours)) {
            Ok(queues) => assert!(!queues.words().is_empty(), "{ours}"),
            // ENOENT: the kernel has no such discipline.
            Err(LiveError::Failed { what, reason }) if reason.contains("os error 2") => {
                skip(format!("{what}: {reason}"))
            }
            Err(error) => panic!("{ours}: {error}"),
        }
    }
}
