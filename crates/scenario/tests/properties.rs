//! No input makes the parser panic, and accepted input reads back.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{catalogue, ready_to_run};
use narrows_scenario::{Scenario, parse};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Parses a text. An accepted scenario must read back from its own TOML.
fn read(text: &str, overrides: &[(String, String)]) -> Option<Scenario> {
    let scenario = parse(text, "test.toml", overrides, &catalogue()).ok()?;
    let shown = scenario.to_toml();
    match parse(&shown, "test.toml", &[], &catalogue()) {
        Ok(again) => assert_eq!(scenario, again, "{text}\nis shown as\n{shown}"),
        Err(problems) => panic!("{text}\nis shown as\n{shown}\n{problems}"),
    }
    assert!(scenario.to_json().is_object());
    Some(scenario)
}

/// Keys and literals that a table may have; each may be present or not.
fn some(pool: &'static [&'static [&'static str]]) -> impl Strategy<Value = Vec<&'static str>> {
    pool.iter()
        .map(|values| proptest::option::weighted(0.3, select(*values)))
        .collect::<Vec<_>>()
        .prop_map(|lines| lines.into_iter().flatten().collect())
}

const TOP: &[&[&str]] = &[
    &["title = \"A \\\"title\\\" µ\\u0007\"", "title = ''"],
    &["description = '''\nTwo\n\\lines\t'''"],
    &["duration = \"90 s\"", "duration = \"10.000000001 s\""],
    &["seed = 0", "seed = 9223372036854775807"],
    &["start_jitter = \"1.5 ms\""],
    &["ip = 6"],
    &["sampling = \"off\"", "sampling = \"events\"", "sampling = \"1 s\""],
];

const TCP: &[&[&str]] = &[
    &["cc = \"reno\"", "cc = \"cubic\"", "cc = \"westwood\"", "cc = \"htcp\"", "cc = \"vegas\"", "cc = \"tahoe\""],
    &["stack = \"rfc\"", "stack = \"linux\"", "stack = \"ns2\""],
    &["assist = \"acns\"", "assist = \"ngwa\"", "assist = \"none\""],
    &["peer_assist = \"same\"", "peer_assist = \"acns\"", "peer_assist = \"none\""],
    &["peer_ecn = \"same\"", "peer_ecn = true", "peer_ecn = \"accurate\""],
    &["mss = \"536 B\"", "mss = \"8960 B\"", "mss = \"1 kB\""],
    &["initial_window = 3", "initial_window = \"rfc5681\"", "initial_window = \"rfc6928\""],
    &["initial_ssthresh = \"64 KiB\"", "initial_ssthresh = \"unlimited\""],
    &["max_cwnd = \"1 MB\"", "max_cwnd = \"unlimited\""],
    &[
        "delayed_ack = false",
        "delayed_ack = { every = 3 }",
        "delayed_ack = { timeout = \"40 ms\" }",
        "delayed_ack = {}",
    ],
    &["recovery = \"reno\"", "recovery = \"newreno\"", "recovery = \"rto_only\"", "recovery = \"tahoe\""],
    &["reduction = \"immediate\""],
    &["undo = false"],
    &["full_ack_cap = false", "full_ack_cap = true"],
    &["impatient = false", "impatient = true"],
    &["tso = false", "tso = true"],
    &["gso = false", "gso = true"],
    &["quick_ack = false", "quick_ack = true"],
    &["autotuning = false", "autotuning = true"],
    &["kernel = \"linux-6.1\"", "kernel = \"linux-6.12\"", "kernel = \"linux-7.2\""],
    &["dupthresh = 5"],
    &["limited_transmit = false"],
    &["lost_retransmission = false"],
    &["max_retries = 1", "max_retries = \"unlimited\""],
    &["timestamps = false", "timestamps = true"],
    &["timestamp_offsets = true", "timestamp_offsets = false"],
    &["window_scaling = false"],
    &["ecn = true", "ecn = false"],
    &["recv_buffer = \"1 MiB\""],
    &["read_rate = \"3 Mb/s\"", "read_rate = \"unlimited\""],
    &["nagle = true"],
    &["idle_restart = false", "idle_restart = true", "idle_restart = \"linux\"", "idle_restart = \"off\""],
    &["cwnd_validation = true"],
    &["rate_limited = \"max_flight\"", "rate_limited = \"rfc7661\"", "rate_limited = \"unlimited\""],
    &["slow_start_at_equality = true", "slow_start_at_equality = false"],
    &["pacing = false", "pacing = {}", "pacing = { slow_start = 300 }", "pacing = { avoidance = 1 }"],
    &["ecn_echo = \"until_cwr\""],
    &[
        "rto = { style = \"linux\" }",
        "rto = { style = \"ns2\", min = \"1 s\" }",
        "rto = { min = \"300 ms\", granularity = \"10 ms\" }",
        "rto = { max = \"2 s\" }",
    ],
];

const SPARSE: &[&[&str]] = &[
    &[
        "cc_params = { beta = 0.1 }",
        "cc_params = { profile = \"linux\", beta = \"0.5 s\" }",
        "cc_params = { fast_convergence = false }",
        "cc_params = { profile = \"linux\" }",
    ],
    &["sack = false"],
    &[
        "ecn_echo = \"each_mark\"",
        "reduction = \"prr\"",
        "reduction = \"prr_linux\"",
        "recovery = \"fack\"",
        "recovery = \"rack\"",
    ],
];

const LINK: &[&[&str]] = &[
    &[
        "queue = { limit = \"30 packets\" }",
        "queue = { limit = \"97 kB\" }",
        "queue = { limit = \"123.456789 ms\" }",
        "queue = { kind = \"tbf\", rate = \"3 Mb/s\", peakrate = \"4 Mb/s\" }",
        "queue = { kind = \"policer\", burst = \"9 kB\", exceed = \"mark\", limit = \"40 ms\" }",
        "queue = { kind = \"red\", max_p = \"5 %\" }",
        "queue = { kind = \"red\", bytes_mode = true, min_threshold = 7000.5, ecn = true }",
    ],
    &[
        "per = 0.01",
        "per = \"1 %\"",
        "per = 0",
        "loss = { kind = \"gilbert_elliott\", to_bad = 1e-7, to_good = 0.3 }",
        "loss = { kind = \"uniform\", per = 1 }",
    ],
    &["changes = [{ at = \"1 s\", rate = \"1 b/s\" }, { at = \"2.5 s\", delay = \"0 s\" }]"],
    &[
        "jitter = \"3 ms\"",
        "jitter = { time = \"1.5 ms\", distribution = \"paretonormal\", correlation = \"25 %\", order = \"kept\" }",
    ],
    &[
        "reorder = { delay = \"10 ms\", probability = \"25 %\", correlation = 0.5 }",
        "reorder = { delay = \"1 ms\", gap = 5, selected = \"behind\" }",
        "reorder = false",
    ],
    &["duplicate = \"1 %\"", "duplicate = { probability = 1e-9, correlation = 1 }", "duplicate = 0"],
    &[
        "outages = [{ start = \"0 s\", duration = \"1 s\" }, { start = \"1 s\", duration = \"1000 s\", queue = \"drop\" }]",
        "outages = []",
    ],
    &[
        "aggregation = { packets = 32, time = \"5 ms\", of = \"acks\" }",
        "aggregation = { packets = 1, time = \"1 s\" }",
    ],
    &["ack_decimation = 4", "ack_decimation = { every = 2, of = \"all\" }", "ack_decimation = 1"],
    &["ack_loss = \"10 %\"", "corrupt = \"1 %\""],
    &["forward = { rate = \"1.234567 Mb/s\", queue = { kind = \"droptail\" } }", "forward = { per = \"3 %\" }"],
    &[
        "reverse = { delay = \"7 us\", changes = [] }",
        "reverse = { jitter = \"0 s\", reorder = false, duplicate = 0, outages = [], aggregation = false, ack_decimation = 1, ack_loss = 0 }",
        "reverse = { jitter = \"1 ms\", ack_decimation = 8 }",
        "reverse = { queue = { kind = \"red\", limit = \"50 packets\", wait = false } }",
    ],
];

const ACNS: &[&[&str]] = &[
    &["enabled = false", "enabled = true"],
    &["routers = []", "routers = [\"r2\"]"],
    &["formula = \"thesis2013\""],
    &["v_p = 0.7", "age_weight = 0.3333333333", "v_p = 1\nv_a = 0"],
    &["th_A1 = 0.5"],
    &["count = 3"],
    &["p_max = \"observed\"", "p_max = 63"],
    &["command_scope = \"ack\""],
    &["ipv6 = \"flow_label\""],
    &["obey = false"],
];

const NGWA: &[&[&str]] = &[
    &["enabled = false", "enabled = true"],
    &["routers = []", "routers = [\"r2\"]"],
    &["mode = 1", "mode = 2", "mode = 5"],
    &["alpha = 1e-9", "alpha = 0.1234567890123", "alpha = 0.9999999999999999"],
    &["flow_factor = 1", "flow_factor = 5e-324"],
    &["idle_timeout = \"1 ns\""],
    &["max_flows = 1", "max_flows = 4294967296"],
    &["shrink = true"],
    &["mode = 7\nfast_retransmit = true", "fast_retransmit = false"],
    &["stamp = \"arrival\"", "stamp = \"departure\""],
    &["max_window = \"64 KiB\"", "max_window = \"none\"", "max_window = \"8960 B\""],
];

/// The table of a scheme, or none; NGWA needs queues in bytes.
fn scheme() -> impl Strategy<Value = String> {
    let table = |name: &str, lines: Vec<&str>| format!("[{name}]\n{}\n", lines.join("\n"));
    prop_oneof![
        2 => Just(String::new()),
        2 => some(ACNS).prop_map(move |lines| table("acns", lines)),
        2 => some(NGWA).prop_map(move |lines| table("ngwa", lines) + "[queue]\nlimit = \"97 kB\"\n"),
    ]
}

const FLOW: &[&[&str]] = &[
    &["start = \"1.25 s\""],
    &["stop = \"5 s\"", "stop = \"1000 s\"", "stop = \"end\""],
    &["dscp = \"EF\"", "dscp = 63"],
    &["jitter = false"],
    &["cc = \"vegas\"", "cc = \"dctcp\"", "cc = \"westwood\"\nstack = \"linux\"", "cc = \"fack\"", "stack = \"ns2\""],
    &["copies = 3\nstagger = \"1 ms\"", "copies = 2"],
    &[
        "size = \"1 MB\"",
        "kind = \"rate\"\nrate = \"1 Mb/s\"",
        "kind = \"rate\"\nrate = \"1 Mb/s\"\nwrite = \"10 B\"",
        "kind = \"on_off\"\non = \"1 s\"\noff = \"2 s\"\ndistribution = \"pareto\"",
        "kind = \"on_off\"\nrate = \"1 kb/s\"\non = \"1 s\"\noff = \"2 s\"",
        "kind = \"request_response\"\nresponse = \"1 kB\"\ncount = 3",
        "kind = \"request_response\"\nresponse = \"1 kB\"\nthink = \"1 s\"",
    ],
];

/// Lines of a channel with rates, and lines of a channel with indices of modulation and coding.
const RATES: &[&[&str]] = &[
    &["rate = \"1 Mb/s\"", "rate = \"5.5 Mb/s\"", "rate = \"11 Mb/s\""],
    &["basic_rate = \"1 Mb/s\""],
    &["preamble = \"short\"", "preamble = \"long\""],
    &["aggregation = false"],
];

const MCS: &[&[&str]] = &[
    &["mcs = 0", "mcs = 7", "mcs = 9"],
    &["channel_width = \"40 MHz\"", "channel_width = \"160 MHz\""],
    &["streams = 3", "streams = 8"],
    &["guard_interval = \"400 ns\"", "guard_interval = \"800 ns\""],
    &["aggregation = false", "aggregation = {}", "aggregation = { max_mpdus = 7, max_time = \"2.5 ms\" }"],
];

const WIFI: &[&[&str]] = &[
    &["name = \"air\""],
    &["slot = \"9 us\"", "slot = \"50 us\""],
    &["sifs = \"28 us\""],
    &["cw_min = 7", "cw_min = 1\ncw_max = 1", "cw_max = 32767"],
    &["short_retry = 1"],
    &["long_retry = 255"],
    &["rts_threshold = \"0 B\"", "rts_threshold = \"2 kB\"", "rts_threshold = \"never\""],
    &["propagation = \"0 s\"", "propagation = \"4.499 us\""],
    &["capture = \"never\"", "capture = 0.1", "capture = 24"],
    &["queues = \"shared\"", "queues = \"per_station\""],
    &["queue = { limit = \"97 kB\" }", "queue = { kind = \"red\", ecn = true }"],
    &["station_queue = { kind = \"droptail\" }", "station_queue = { limit = \"20 packets\" }"],
    &["overhead = \"0 B\"", "overhead = \"20 B\""],
    &["station_overhead = \"8 B\""],
    &[
        "hidden = [{ between = [\"w1\", \"w3\"] }, { between = [\"w3\", \"w2\"], one_way = true }]",
        "hidden = [{ between = [\"w2\", \"w1\"], one_way = true }, { between = [\"w2\", \"w1\"] }]",
    ],
    &[
        "signals = [{ station = \"w2\", signal = -3.3 }, { station = \"r2\", signal = 1e-300 }]",
        "signals = [{ station = \"w1\", signal = -0.0 }]",
    ],
    &[
        "errors = [{ station = \"w1\", fer = \"3 %\" }, { station = \"w3\", rate = \"1 Mb/s\", fer = 1 }]",
        "errors = [{ station = \"w2\", fer = 0.1 }, { station = \"w2\", fer = 1e-9 }]",
    ],
];

/// A channel at `r2` with three hosts, and a flow over it.
fn wifi_text() -> impl Strategy<Value = String> {
    let phy = prop_oneof![(Just("802.11b"), some(RATES)), (Just("802.11n"), some(MCS)), (Just("802.11ac"), some(MCS)),];
    (phy, some(WIFI), any::<bool>()).prop_map(|((phy, own), lines, many)| {
        let nodes: String = (1..=3).map(|i| format!("[[nodes]]\nname = \"w{i}\"\n")).collect();
        format!(
            "{nodes}{}\nbase = \"r2\"\nstations = [\"w1\", \"w2\", \"w3\"]\nphy = \"{phy}\"\n{}\n{}\n\
             [[flows]]\nname = \"air1\"\nfrom = \"s1\"\nto = \"w2\"\n",
            if many { "[[wifi]]" } else { "[wifi]" },
            own.join("\n"),
            lines.join("\n"),
        )
    })
}

fn scenario_text() -> impl Strategy<Value = String> {
    let tcp = || (some(TCP), some(SPARSE)).prop_map(|(a, b)| [a, b].concat());
    let flows = proptest::collection::vec((some(FLOW), proptest::option::of(tcp()), any::<bool>()), 1..4);
    let wifi = proptest::option::weighted(0.3, wifi_text());
    (some(TOP), some(LINK), proptest::option::of(tcp()), scheme(), (flows, wifi)).prop_map(
        |(top, link, tcp, scheme, (flows, wifi))| {
            let mut text = format!(
                "{}\n[topology]\nkind = \"dumbbell\"\npairs = 3\naccess = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n\
                 [topology.bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"20 ms\"\n{}\n",
                top.join("\n"),
                link.join("\n")
            );
            text += &tcp.map_or_else(String::new, |lines| format!("[tcp]\n{}\n", lines.join("\n")));
            text += &scheme;
            for (lines, own, udp) in flows {
                text += "[[flows]]\nfrom = \"s*\"\nto = \"d*\"\n";
                if udp && own.is_none() {
                    text += "kind = \"udp\"\nrate = \"1 Mb/s\"\n";
                    continue;
                }
                text += &lines.join("\n");
                text += &own.map_or_else(String::new, |own| format!("\n[flows.tcp]\n{}", own.join("\n")));
                text.push('\n');
            }
            text + &wifi.unwrap_or_default()
        },
    )
}

/// An edit of a text: where it starts, how much it removes, and what it inserts.
type Edit = (Index, u8, &'static str);

const BITS: &[&str] = &[
    "",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "-",
    "1e30",
    "nan",
    "inf",
    "-1",
    "0",
    "99999999999999999999",
    "true",
    "\"0 s\"",
    "\"1 packets\"",
    "[[flows]]\n",
    "[acns]\n",
    "[ngwa]\n",
    "kind = \"red\"\n",
    "[[wifi]]\n",
    "802.11",
    "copies = 7\n",
    "*",
    "é",
    "\u{0}",
    "name = \"x\"\n",
];

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for (at, cut, put) in edits {
        let start = at.index(text.len() + 1);
        let end = (start + usize::from(*cut)).min(text.len());
        text.splice(start..end, put.chars());
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_reads_back(text in scenario_text()) {
        // Some combinations contradict each other and are refused; `most_generated_scenarios_are_accepted` counts them.
        read(&text, &[]);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), path in any::<String>(), value in any::<String>()) {
        let problems = parse(&text, &path, &[(path.clone(), value)], &catalogue()).unwrap_err();
        prop_assert!(!problems.0.is_empty() && problems.iter().all(|problem| !problem.message().is_empty()));
    }

    #[test]
    fn a_changed_file_is_read_or_refused(
        file in any::<Index>(),
        edits in proptest::collection::vec((any::<Index>(), 0_u8..12, select(BITS)), 1..5),
    ) {
        let files = ready_to_run();
        read(&edited(&file.get(&files).1, &edits), &[]);
    }

    #[test]
    fn any_override_is_applied_or_refused(
        file in any::<Index>(),
        path in "[a-z_]{0,9}(\\[[0-9*]\\])?(\\.(rate|queue|tcp|cc|kind|limit|[a-z_0-9]{0,6})){0,3}",
        value in prop_oneof![any::<String>(), select(BITS).prop_map(str::to_owned)],
    ) {
        let files = ready_to_run();
        read(&file.get(&files).1, &[(path, value)]);
    }
}

#[test]
fn most_generated_scenarios_are_accepted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut accepted, mut channels, mut schemes, mut refused) = (0, 0, [0, 0], Vec::new());
    for _ in 0..300 {
        let text = proptest::strategy::ValueTree::current(&scenario_text().new_tree(&mut runner).unwrap());
        match parse(&text, "test.toml", &[], &catalogue()) {
            Ok(scenario) => {
                accepted += 1;
                channels += scenario.wifi.len();
                let runs = |name| scenario.scheme.as_ref().is_some_and(|scheme| scheme.row.name == name);
                schemes[0] += usize::from(runs("acns"));
                schemes[1] += usize::from(runs("ngwa"));
            }
            Err(problems) => refused.push(problems.to_string()),
        }
    }
    assert!(accepted >= 100, "only {accepted} of 300; refused for\n{}", refused.join("\n"));
    assert!(schemes.iter().all(|&n| n >= 10), "{schemes:?} with ACNS and NGWA; refused for\n{}", refused.join("\n"));
    assert!(channels >= 10, "only {channels} with a channel; refused for\n{}", refused.join("\n"));
}
