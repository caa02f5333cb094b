//! 802.11 channels: what tables resolve to, which problems are reported, and what is written back.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{bad, bad_with, catalogue, good, good_with};
use narrows_scenario::{Aggregation, Catalogue, Limit, Scenario, Wifi, WifiMode, WifiQueues, parse, schema};
use narrows_units::{Bytes, Duration, Packets, Rate};
use serde_json::json;

/// Two routers with a wired host each, and three more hosts; channels follow.
const NET: &str = r#"[[nodes]]
name = "server"
[[nodes]]
name = "ap"
kind = "router"
[[nodes]]
name = "ap2"
kind = "router"
[[nodes]]
name = "w1"
[[nodes]]
name = "w2"
[[nodes]]
name = "w3"
[[links]]
between = ["server", "ap"]
rate = "100 Mb/s"
delay = "1 ms"
[[links]]
between = ["ap", "ap2"]
rate = "100 Mb/s"
delay = "1 ms"
[[flows]]
from = "server"
to = "w1"
"#;

/// A channel's table; the lines of a test follow from line 30 on.
const CELL: &str = "[wifi]\nbase = \"ap\"\nstations = [\"w1\", \"w2\"]\n";

/// The network with a channel of this PHY, and lines of its table.
fn cell(phy: &str, lines: &str) -> String {
    format!("{NET}{CELL}phy = \"{phy}\"\n{lines}\n")
}

fn channel(phy: &str, lines: &str) -> Wifi {
    good(&cell(phy, lines)).wifi.remove(0)
}

/// A second channel's table beside a first at `ap` with `w1` and `w2`.
fn two(second: &str) -> String {
    let first = CELL.replace("[wifi]", "[[wifi]]");
    format!("{NET}{first}phy = \"802.11b\"\n[[wifi]]\nphy = \"802.11b\"\n{second}\n")
}

/// A golden list: run with `UPDATE_GOLDEN=1` to rewrite it, and read what changed.
#[test]
fn every_rule_has_its_message() {
    let b = |lines: &str| cell("802.11b", lines);
    let n = |lines: &str| cell("802.11n", lines);
    let ac = |lines: &str| cell("802.11ac", lines);
    let ends = |from: &str, to: &str| format!("{NET}{}", b("")[NET.len()..].replace(from, to));
    let cases: Vec<(&str, String)> = vec![
        ("a slot of no time", b("slot = \"0 us\"")),
        ("a slot of a second", b("slot = \"1 s\"")),
        ("no SIFS", b("sifs = \"0 s\"")),
        ("windows out of order", b("cw_min = 63\ncw_max = 31")),
        ("a greatest window below the default of the least", b("cw_max = 15")),
        ("windows that are no powers of two less one", b("cw_min = 30\ncw_max = 1024")),
        ("a window of nothing", b("cw_min = 0")),
        ("propagation beyond a slot", b("propagation = \"30 us\"")),
        ("answers that never come", b("propagation = \"10 us\"")),
        ("a slot shorter than propagation", b("slot = \"2 us\"")),
        ("retry limits of 0", b("short_retry = 0\nlong_retry = 0")),
        ("a threshold of a wrong word", b("rts_threshold = \"nevr\"")),
        ("a rate of another PHY", b("rate = \"54 Mb/s\"")),
        ("a rate of none", b("rate = \"0 Mb/s\"")),
        ("a basic rate of another PHY", b("basic_rate = \"6 Mb/s\"")),
        ("a basic rate above the data rate", b("rate = \"1 Mb/s\"\nbasic_rate = \"2 Mb/s\"")),
        ("mcs beyond the PHY", n("mcs = 9")),
        ("mcs beyond all", n("mcs = 10")),
        ("a width beyond the PHY", n("channel_width = \"80 MHz\"")),
        ("a width of no PHY", n("channel_width = \"30 MHz\"")),
        ("streams beyond the PHY", n("streams = 5")),
        ("a guard interval of no PHY", n("guard_interval = \"600 ns\"")),
        ("what the standard leaves out", ac("mcs = 9")),
        ("the same by streams", ac("streams = 2\nmcs = 9\nguard_interval = \"400 ns\"")),
        ("keys of 802.11n with 802.11b", b("mcs = 3\nstreams = 2\naggregation = {}")),
        ("rate with 802.11n", n("rate = \"65 Mb/s\"")),
        ("preamble with 802.11g", cell("802.11g", "preamble = \"short\"")),
        ("a near miss of a PHY", cell("802.11bb", "")),
        ("no PHY at all", cell("wifi6", "")),
        ("a PHY as a number", b("").replace("\"802.11b\"", "802.11")),
        ("no base station", ends("base = \"ap\"\n", "")),
        ("no stations", ends("stations = [\"w1\", \"w2\"]\n", "")),
        ("an empty list of stations", ends("[\"w1\", \"w2\"]", "[]")),
        ("a base station that is not there", ends("base = \"ap\"", "base = \"app\"")),
        ("a host as base station", ends("base = \"ap\"", "base = \"server\"")),
        ("a router as station", ends("\"w2\"", "\"ap2\"")),
        ("the base station as its own station", ends("\"w2\"", "\"ap\"")),
        ("a station twice", ends("\"w2\"", "\"w1\"")),
        ("a station that is not there", ends("\"w2\"", "\"w9\"")),
        ("a station with a link to the base station", ends("\"w2\"", "\"server\"")),
        ("a station of two base stations", two("base = \"ap2\"\nstations = [\"w3\", \"w2\"]")),
        ("a base station of two channels", two("base = \"ap\"\nstations = [\"w3\"]")),
        ("two channels of one name", two("name = \"wlan1\"\nbase = \"ap2\"\nstations = [\"w3\"]")),
        ("a channel of a node's name", two("name = \"server\"\nbase = \"ap2\"\nstations = [\"w3\"]")),
        ("a flow to a host that no channel has", b("").replace("to = \"w1\"", "to = \"w3\"")),
        (
            "a flow through a station",
            b("").replace(
                "[wifi]",
                "[[links]]\nbetween = [\"w2\", \"w3\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n[[flows]]\nfrom = \"server\"\nto = \"w3\"\n[wifi]",
            ),
        ),
        ("a queue of no packets", b("queue = { limit = \"0 packets\" }")),
        ("a queue in time", b("queue = { limit = \"40 ms\" }")),
        ("a station's queue in time", b("station_queue = { limit = \"40 ms\" }")),
        ("queues of links and of the channel in time", b("").replacen("[wifi]", "[queue]\nlimit = \"40 ms\"\n[wifi]", 1)),
        ("a station's queue below a packet", b("station_queue = { limit = \"1 kB\" }")),
        ("a key of RED on drop-tail", b("queue = { max_p = 0.1 }")),
        ("a queue that is no table", b("queue = \"50 packets\"")),
        ("a station hidden from itself", b("hidden = [{ between = [\"w1\", \"w1\"] }]")),
        ("a station hidden from the base station", b("hidden = [{ between = [\"w1\", \"ap\"] }]")),
        ("a hidden station of no channel", b("hidden = [{ between = [\"w1\", \"w3\"] }]")),
        ("a hidden station that is not there", b("hidden = [{ between = [\"w1\", \"w7\"] }]")),
        ("three hidden stations", b("hidden = [{ between = [\"w1\", \"w2\", \"w3\"] }]")),
        ("errors of the base station", b("errors = [{ station = \"ap\", fer = 0.1 }]")),
        ("errors of no station", b("errors = [{ station = \"w3\", fer = 0.1 }]")),
        ("errors at a rate of no frame", b("errors = [{ station = \"w1\", rate = \"5.5 Mb/s\", fer = 0.1 }]")),
        ("errors at a rate of no frame of 802.11n", n("errors = [{ station = \"w1\", rate = \"6 Mb/s\", fer = 0.1 }]")),
        ("a frame error rate above one", b("errors = [{ station = \"w1\", fer = 1.5 }]")),
        ("no frame error rate", b("errors = [{ station = \"w1\" }]")),
        ("a signal of no station", b("signals = [{ station = \"w3\", signal = 1 }]")),
        ("a signal of nobody", b("signals = [{ station = \"w9\", signal = 1 }]")),
        ("a signal twice", b("signals = [{ station = \"w1\", signal = 1 }, { station = \"w1\", signal = 2 }]")),
        ("a signal of a word", b("signals = [{ station = \"w1\", signal = \"-10 dB\" }]")),
        ("capture of a negative ratio", b("capture = -1")),
        ("packets larger than an MSDU", b("[tcp]\nmss = \"2260 B\"")),
        ("an A-MPDU below a packet", n("aggregation = { max_bytes = \"1 kB\" }")),
        ("an A-MPDU of too little time", n("mcs = 0\naggregation = { max_time = \"1 ms\" }")),
        ("an A-MPDU larger than 802.11n has", n("aggregation = { max_bytes = \"100 kB\" }")),
        ("MPDUs beyond a block ACK", n("aggregation = { max_mpdus = 65 }")),
        ("aggregation as a switch", n("aggregation = true")),
        ("unknown key, near miss", b("rts_treshold = \"never\"")),
        ("a list of words", format!("wifi = [\"x\"]\n{NET}")),
    ];
    let mut text = String::from(
        "# Messages of problems with 802.11 channels: written and checked by crates/scenario/tests/wifi.rs.\n",
    );
    for (title, scenario) in &cases {
        text.push_str(&format!("\n## {title}\n{}\n", bad(scenario)));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wifi.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in text.lines().zip(golden.lines()) {
        assert_eq!(found, expected, "UPDATE_GOLDEN=1 writes tests/wifi.txt anew");
    }
    assert_eq!(text, golden);
}

#[test]
fn without_a_catalogue_of_phys_every_phy_is_unknown() {
    let none = Catalogue { phys: Vec::new(), ..catalogue() };
    let problems = parse(&cell("802.11b", ""), "test.toml", &[], &none).unwrap_err();
    let problem = &problems.0[0];
    assert_eq!((problem.field.as_str(), problem.line), ("wifi.phy", Some(29)));
    assert_eq!(
        problem.message(),
        "wifi.phy: \"802.11b\" is not a PHY of this engine; allowed: none: this engine has no 802.11"
    );
}

#[test]
fn defaults_are_those_of_the_phy() {
    let b = channel("802.11b", "");
    assert_eq!((b.mode, b.basic_rate), (WifiMode::Rate(Rate::mbps(11)), Rate::mbps(2)));
    assert_eq!((b.slot, b.sifs), (Duration::from_micros(20), Duration::from_micros(10)));
    assert_eq!((b.cw_min, b.cw_max, b.short_retry, b.long_retry), (31, 1023, 7, 4));
    assert_eq!((b.rts_threshold, b.capture_db, b.aggregation), (None, Some(10.0), None));
    assert_eq!((b.propagation, b.short_preamble), (Duration::from_micros(1), false));
    assert_eq!((b.name.as_str(), b.queues), ("wlan1", WifiQueues::Shared));
    assert_eq!((b.base.overhead, b.stations[1].overhead), (Bytes::new(8), Bytes::new(8)));
    let n = channel("802.11n", "");
    assert_eq!(n.mode, WifiMode::Mcs { mcs: 7, width_mhz: 20, streams: 1, short_guard: false });
    let most = Aggregation { max_mpdus: 64, max_bytes: Bytes::new(65_535), max_time: Duration::from_micros(5484) };
    assert_eq!((n.aggregation, n.queues), (Some(most), WifiQueues::PerStation));
    let without = channel("802.11n", "aggregation = false");
    assert_eq!((without.aggregation, without.queues), (None, WifiQueues::Shared));
    assert_eq!(channel("802.11b", "aggregation = false").aggregation, None, "what is not there may be switched off");
}

#[test]
fn the_basic_rate_follows_a_low_data_rate() {
    assert_eq!(channel("802.11b", "rate = \"1 Mb/s\"").basic_rate, Rate::mbps(1));
    assert_eq!(channel("802.11n", "mcs = 0").basic_rate, Rate::mbps(6), "6.5 Mb/s at most");
    assert_eq!(channel("802.11g", "rate = \"54 Mb/s\"").basic_rate, Rate::mbps(24));
}

#[test]
fn queues_of_stations_say_what_differs() {
    let packets = |n| Limit::Packets(Packets::new(n));
    let limits = |lines: &str| {
        let scenario = good(&format!("[queue]\nlimit = \"70 packets\"\n{}", cell("802.11b", lines)));
        let channel = &scenario.wifi[0];
        let (base, station) = (&channel.base.queue, &channel.stations[0].queue);
        (base.limit, station.limit, station.kind)
    };
    assert_eq!((limits("").0, limits("").1), (packets(70), packets(70)));
    let base = limits("queue = { limit = \"9 packets\" }");
    assert_eq!((base.0, base.1), (packets(9), packets(9)), "stations have the base station's");
    let own = limits("queue = { kind = \"red\", limit = \"40 packets\" }\nstation_queue = { limit = \"20 packets\" }");
    assert_eq!((own.0, own.1), (packets(40), packets(20)));
    assert_eq!(own.2, "red");
}

#[test]
fn hidden_pairs_signals_and_errors_are_resolved() {
    let channel = channel(
        "802.11b",
        "hidden = [{ between = [\"w2\", \"w1\"], one_way = true }]\n\
         signals = [{ station = \"ap\", signal = 3 }, { station = \"w2\", signal = -10.5 }]\n\
         errors = [{ station = \"w2\", rate = \"11 Mb/s\", fer = \"1 %\" }, { station = \"w1\", fer = 0.5 }]",
    );
    assert_eq!(channel.hidden, [(1, 0)]);
    assert_eq!(
        (channel.base.signal_db, channel.stations[0].signal_db, channel.stations[1].signal_db),
        (3.0, 0.0, -10.5)
    );
    let errors: Vec<_> = channel.errors.iter().map(|e| (e.station, e.rate, e.fer.as_f64())).collect();
    assert_eq!(errors, [(1, Some(Rate::mbps(11)), 0.01), (0, None, 0.5)]);
    let both = good(&cell("802.11b", "hidden = [{ between = [\"w2\", \"w1\"] }]"));
    assert_eq!(both.wifi[0].hidden, [(0, 1), (1, 0)]);
}

#[test]
fn stations_may_have_links_beside_their_channel() {
    let link = "[[links]]\nbetween = [\"w1\", \"ap2\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n[wifi]";
    assert_eq!(good(&cell("802.11b", "").replace("[wifi]", link)).wifi[0].stations.len(), 2);
}

#[test]
fn overrides_reach_channels() {
    let text = cell("802.11b", "name = \"air\"");
    for path in ["wifi.rate", "wifi[0].rate", "wifi[*].rate"] {
        let scenario = good_with(&text, &[(path, "2 Mb/s")]);
        assert_eq!(scenario.wifi[0].mode, WifiMode::Rate(Rate::mbps(2)), "{path}");
    }
    // In an override, quotes may be left out; the name is then a number. Other numbers name no PHY.
    for phy in ["802.11", "\"802.11\""] {
        assert_eq!(good_with(&text, &[("wifi.phy", phy)]).wifi[0].phy, "802.11", "{phy}");
    }
    let refused = bad_with(&text, &[("wifi.phy", "802.16")]);
    assert!(refused.contains("wifi.phy") && refused.contains("802.16") && refused.contains("802.11ac"), "{refused}");
    let both = two("name = \"far\"\nbase = \"ap2\"\nstations = [\"w3\"]");
    let scenario =
        good_with(&both, &[("wifi[0].rate", "1 Mb/s"), ("wifi.far.rate", "2 Mb/s"), ("wifi[*].cw_min", "7")]);
    let modes: Vec<WifiMode> = scenario.wifi.iter().map(|channel| channel.mode).collect();
    assert_eq!(modes, [WifiMode::Rate(Rate::mbps(1)), WifiMode::Rate(Rate::mbps(2))]);
    assert!(scenario.wifi.iter().all(|channel| channel.cw_min == 7));
    assert!(bad_with(&text, &[("wifi[1].rate", "2 Mb/s")]).contains("has an index where there is no list"));
    assert_eq!(
        bad_with(&text, &[("wifi.rate", "3 Mb/s")]),
        "--set: wifi.rate: \"3 Mb/s\" is not a rate of 802.11b; allowed: 1 Mb/s, 2 Mb/s, 5.5 Mb/s or 11 Mb/s"
    );
}

fn reads_back(scenario: &Scenario) {
    let shown = scenario.to_toml();
    let again = good(&shown);
    assert_eq!(&again, scenario, "{shown}");
    assert_eq!(again.to_toml(), shown);
}

#[test]
fn channels_are_written_with_every_default_and_read_back() {
    let full = cell(
        "802.11b",
        "preamble = \"short\"\nrts_threshold = \"0 B\"\ncapture = \"never\"\nstation_overhead = \"20 B\"\nqueues = \"per_station\"\n\
         queue = { kind = \"red\" }\nstation_queue = { kind = \"droptail\", limit = \"3 packets\" }\n\
         hidden = [{ between = [\"w1\", \"w2\"] }]\nsignals = [{ station = \"w1\", signal = 1e-3 }]\n\
         errors = [{ station = \"w1\", fer = 0 }, { station = \"w1\", rate = \"2 Mb/s\", fer = 1 }]",
    );
    reads_back(&good(&full));
    reads_back(&good(&two("base = \"ap2\"\nstations = [\"w3\"]\nrate = \"5.5 Mb/s\"")));
    for lines in
        ["", "aggregation = false", "mcs = 3\nchannel_width = \"40 MHz\"\nstreams = 4\nguard_interval = \"400 ns\""]
    {
        reads_back(&good(&cell("802.11n", lines)));
    }
    let shown = good(&cell("802.11b", "")).to_toml();
    for line in
        ["[wifi]", "slot = \"20 us\"", "rts_threshold = \"never\"", "short_retry = 7", "station_overhead = \"8 B\""]
    {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in\n{shown}");
    }
}

#[test]
fn the_resolved_channel_has_names_and_base_units() {
    let text = cell(
        "802.11b",
        "rts_threshold = \"500 B\"\nhidden = [{ between = [\"w1\", \"w2\"], one_way = true }]\n\
         errors = [{ station = \"w2\", fer = 0.25 }]",
    );
    let json = &good(&text).to_json()["wifi"][0];
    let queue = json!({ "kind": "droptail", "limit": "100 packets", "limit_packets": 100, "limit_bytes": null });
    let expected = json!({
        "name": "wlan1",
        "base": { "node": "ap", "queue": queue, "signal_db": 0.0, "overhead_bytes": 8 },
        "stations": [
            { "node": "w1", "queue": queue, "signal_db": 0.0, "overhead_bytes": 8 },
            { "node": "w2", "queue": queue, "signal_db": 0.0, "overhead_bytes": 8 },
        ],
        "phy": "802.11b",
        "mode": { "kind": "rate", "rate_bps": 11_000_000 },
        "basic_rate_bps": 2_000_000,
        "short_preamble": false,
        "slot_ns": 20_000,
        "sifs_ns": 10_000,
        "cw_min": 31,
        "cw_max": 1023,
        "short_retry": 7,
        "long_retry": 4,
        "rts_threshold_bytes": 500,
        "propagation_ns": 1000,
        "capture_db": 10.0,
        "aggregation": null,
        "queues": "shared",
        "hidden": [["w1", "w2"]],
        "errors": [{ "station": "w2", "rate_bps": null, "fer": 0.25 }],
    });
    assert_eq!(json, &expected);
    let n = good(&cell("802.11n", "guard_interval = \"400 ns\"")).to_json();
    let mode = json!({ "kind": "mcs", "mcs": 7, "width_mhz": 20, "streams": 1, "guard_interval_ns": 400 });
    assert_eq!(n["wifi"][0]["mode"], mode);
    let aggregation = json!({ "max_mpdus": 64, "max_bytes": 65_535, "max_time_ns": 5_484_000 });
    assert_eq!(n["wifi"][0]["aggregation"], aggregation);
}

#[test]
fn the_schema_names_the_phys_and_what_each_takes() {
    let known = schema(&catalogue());
    let wifi = &known["$defs"]["wifi"];
    assert_eq!(wifi["properties"]["phy"]["enum"], json!(["802.11", "802.11b", "802.11g", "802.11n", "802.11ac"]));
    let rule = |phy: &str| {
        let rules = wifi["allOf"].as_array().unwrap();
        rules.iter().find(|rule| rule["if"]["properties"]["phy"]["const"] == phy).unwrap()["then"]["properties"].clone()
    };
    let refused = json!({
        "mcs": false, "channel_width": false, "streams": false, "guard_interval": false,
        "aggregation": { "const": false },
    });
    assert_eq!(rule("802.11b"), refused);
    assert_eq!(rule("802.11n"), json!({ "rate": false, "preamble": false }));
    assert_eq!(schema(&Catalogue::default())["$defs"]["wifi"]["properties"]["phy"]["type"], "string");
}

#[test]
fn a_thousand_stations_are_read_and_a_thousand_and_one_refused() {
    let text = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("\"x{i}\"")).collect();
        let nodes: String = names.iter().map(|name| format!("[[nodes]]\nname = {name}\n")).collect();
        let list = names.join(", ");
        format!("{NET}{nodes}{}phy = \"802.11b\"\n", CELL.replace("\"w1\", \"w2\"", &format!("\"w1\", {list}")))
    };
    assert_eq!(good(&text(999)).wifi[0].stations.len(), 1000);
    assert!(bad(&text(1000)).contains("has 1001 names; allowed: a list of 1 to 1000 names of nodes"));
}
