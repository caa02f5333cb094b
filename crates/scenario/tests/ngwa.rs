//! `[ngwa]`: what it resolves to, how it affects flows, and which queues it leaves alone.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{SMALL, bad, catalogue, good, good_with};
use narrows_scenario::{Scenario, schema};
use narrows_scheme::ngwa::{Marks, NgwaConfig, Stamp};
use narrows_units::{Bytes, Duration};
use serde_json::json;

/// [`SMALL`] with lines before it.
fn after(lines: &str) -> String {
    format!("{lines}\n{SMALL}")
}

/// [`SMALL`] with NGWA, queues in bytes, and with lines in its table.
fn on(lines: &str) -> String {
    after(&format!("{BYTES}\n{lines}"))
}

const BYTES: &str = "[queue]\nlimit = \"97 kB\"\n[ngwa]";

const A_R: &str = "[[links]]\nbetween = [\"A\", \"R\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
const A_TO_B: &str = "[[flows]]\nfrom = \"A\"\nto = \"B\"\n";

/// Two hosts and a router, and what follows.
fn graph(rest: &str) -> String {
    format!("[[nodes]]\nname = \"A\"\n[[nodes]]\nname = \"R\"\nkind = \"router\"\n[[nodes]]\nname = \"B\"\n{rest}")
}

/// A server, a router that runs NGWA, and a station of its channel.
fn ngwa_cell(wifi: &str) -> String {
    let link = A_R.replace("[[links]]\n", "[[links]]\nqueue = { limit = \"97 kB\" }\n");
    graph(&format!("{link}[wifi]\nbase = \"R\"\nstations = [\"B\"]\nphy = \"802.11b\"\n{wifi}\n[ngwa]\n{A_TO_B}"))
}

/// The routers that run NGWA, and its settings.
fn ngwa(scenario: &Scenario) -> (&[usize], NgwaConfig) {
    let scheme = scenario.scheme.as_ref().unwrap();
    assert_eq!(scheme.row.name, "ngwa");
    (&scheme.routers, NgwaConfig::from_values(&scheme.values).unwrap())
}

#[test]
fn an_empty_table_has_the_values_of_the_paper() {
    let scenario = good(&after(BYTES));
    let (routers, ngwa) = ngwa(&scenario);
    let routers: Vec<&str> = routers.iter().map(|index| scenario.nodes[*index].name.as_str()).collect();
    assert_eq!((routers, ngwa.mode.number(), ngwa.stamp), (vec!["r1", "r2"], 6, Stamp::Departure));
    assert_eq!((ngwa.alpha, ngwa.flow_factor), (0.3, 0.98));
    assert_eq!((ngwa.idle_timeout, ngwa.max_flows), (Duration::from_secs(60), 65_536));
    assert_eq!((ngwa.marks, ngwa.packet_size), (Marks::All, Bytes::new(1500)));
    assert_eq!((ngwa.shrink, ngwa.fast_retransmit, ngwa.max_window), (false, false, None));
    assert_eq!(scenario.flows[0].tcp().unwrap().assist.as_deref(), Some("ngwa"));
    assert_eq!(
        scenario.to_json()["ngwa"],
        json!({
            "routers": ["r1", "r2"],
            "mode": 6,
            "alpha": 0.3,
            "flow_factor": 0.98,
            "idle_timeout_ns": 60_000_000_000_u64,
            "max_flows": 65_536,
            "shrink": false,
            "fast_retransmit": false,
            "stamp": "departure",
            "marks": "all",
            "packet_size_bytes": 1500,
            "max_window_bytes": null,
        })
    );
    assert_eq!(good(SMALL).to_json()["ngwa"], json!(null));
}

#[test]
fn every_key_is_taken_and_shown() {
    let text = after(&format!(
        "{BYTES}\nrouters = [\"r2\"]\nmode = 3\nalpha = 0.5\nflow_factor = 1\nidle_timeout = \"7 s\"\nmax_flows = 9\n\
         shrink = true\nfast_retransmit = true\nstamp = \"arrival\"\nmarks = \"data\"\npacket_size = \"1700 B\"\nmax_window = \"64 KiB\""
    ));
    let scenario = good(&text);
    let (routers, ngwa) = ngwa(&scenario);
    assert_eq!((routers, ngwa.mode.number(), ngwa.stamp), (&[2][..], 3, Stamp::Arrival));
    assert_eq!((ngwa.alpha, ngwa.flow_factor), (0.5, 1.0));
    assert_eq!((ngwa.idle_timeout, ngwa.max_flows), (Duration::from_secs(7), 9));
    assert_eq!((ngwa.marks, ngwa.packet_size), (Marks::Data, Bytes::new(1700)));
    assert_eq!((ngwa.shrink, ngwa.fast_retransmit, ngwa.max_window.map(|w| w.as_u64())), (true, true, Some(65_536)));
    assert_eq!(good(&scenario.to_toml()), good_with(&text, &[("name", "test")]));
}

#[test]
fn flows_take_the_scheme_that_is_on() {
    let assist = |lines: &str, flow: &str| good(&(after(lines) + flow)).flows[0].tcp().unwrap().assist.clone();
    let off = format!("{BYTES}\nenabled = false");
    assert_eq!(assist(BYTES, "tcp = { assist = \"none\" }\n"), None);
    assert_eq!(assist(BYTES, "tcp = { assist = \"ngwa\" }\n").as_deref(), Some("ngwa"));
    assert_eq!(assist(&off, ""), None);
    assert_eq!(assist(&off, "tcp = { assist = \"ngwa\" }\n"), None, "the run without it, by a switch alone");
    assert_eq!(assist(&format!("{off}\n[acns]"), "").as_deref(), Some("acns"));
    let both = format!("{BYTES}\n[acns]\nenabled = false");
    assert_eq!(assist(&both, "").as_deref(), Some("ngwa"));
    assert_eq!(assist(&both, "tcp = { assist = \"acns\" }\n"), None);
}

#[test]
fn queues_may_be_limited_in_packets() {
    for text in [
        after("[ngwa]"),
        after("[queue]\nlimit = \"50 packets\"\n[ngwa]"),
        ngwa_cell("queue = { limit = \"50 packets\" }"),
    ] {
        assert!(good(&text).scheme.is_some());
    }
}

#[test]
fn packets_grow_only_for_end_points_that_leave_no_room() {
    let text = after("[queue]\nlimit = \"1500 B\"\n[ngwa]");
    assert!(good(&text).scheme.is_some(), "its own end points send smaller segments");
    let none = "tcp = { assist = \"none\" }\n";
    assert!(good_with(&(text.clone() + none), &[("queue.limit", "1508 B")]).scheme.is_some());
    assert!(good_with(&(text.clone() + none), &[("ngwa.routers", "[]")]).scheme.is_some(), "nobody inserts anything");
    assert!(good_with(&(text.clone() + none), &[("ngwa.enabled", "false")]).scheme.is_none());
    let udp = text.clone() + "kind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"1472 B\"\n";
    assert!(good(&udp).scheme.is_some(), "UDP passes untouched");
    // No router makes a packet that is too long for IPv4.
    let most = [("tcp.mss", "65495 B"), ("queue.limit", "65535 B")];
    assert!(good_with(&(text + none), &most).scheme.is_some());
}

#[test]
fn the_json_schema_has_the_open_ranges() {
    let schema = schema(&catalogue());
    let range = |key: &str| {
        let field = &schema["$defs"]["ngwa"]["properties"][key];
        ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].map(|bound| field[bound].clone())
    };
    let null = || json!(null);
    assert_eq!(range("mode"), [json!(1), null(), json!(8), null()]);
    assert_eq!(range("alpha"), [null(), json!(0), null(), json!(1)]);
    assert_eq!(range("flow_factor"), [null(), json!(0), json!(1), null()]);
}

/// A golden list: run with `UPDATE_GOLDEN=1` to rewrite it, and read what changed.
#[test]
fn every_rule_has_its_message() {
    let cases: Vec<(&str, String)> = vec![
        ("no such NGWA mode", on("mode = 9")),
        ("NGWA mode as a text", on("mode = \"6\"")),
        ("smoothing that never forgets", on("alpha = 1")),
        ("smoothing that never learns", on("alpha = 0.0")),
        ("smoothing as NaN", on("alpha = nan")),
        ("more than the whole queue for flows", on("flow_factor = 1.01")),
        ("nothing of the queue for flows", on("flow_factor = 0")),
        ("no idle time", on("idle_timeout = \"0 s\"")),
        ("a table of no flows", on("max_flows = 0")),
        ("an unknown stamp", on("stamp = \"arival\"")),
        ("an unknown key of NGWA", on("aplha = 0.3")),
        ("fast retransmit beside a congestion window", after("[ngwa]\nenabled = false\nfast_retransmit = true")),
        ("a window that holds no segment", on("max_window = \"1459 B\"")),
        ("a window of nothing", on("max_window = \"0 B\"")),
        ("a host as NGWA router", after("[ngwa]\nenabled = false\nrouters = [\"d1\", \"r1\", \"r1\", \"r9\"]")),
        ("NGWA over IPv6", after("ip = 6\n[queue]\nlimit = \"97 kB\"\n[ngwa]")),
        ("two schemes", after("[queue]\nlimit = \"97 kB\"\n[acns]\n[ngwa]")),
        ("two schemes, both switched on", after("[queue]\nlimit = \"97 kB\"\n[acns]\n[ngwa]\nenabled = true")),
        ("NGWA of a flow without its table", after("[acns]") + "tcp = { assist = \"ngwa\" }\n"),
        ("ACNS of all flows beside NGWA", after("[tcp]\nassist = \"acns\"\n[queue]\nlimit = \"97 kB\"\n[ngwa]")),
        ("a host that strips options", graph(A_TO_B).replace("name = \"A\"", "name = \"A\"\nip_options = \"strip\"")),
        (
            "a middlebox with NGWA",
            graph(&format!("{A_R}{A_TO_B}[ngwa]\nrouters = [\"R\"]\n"))
                .replace("kind = \"router\"", "kind = \"router\"\nip_options = \"drop\""),
        ),
        ("no such rule", graph(A_R).replace("kind = \"router\"", "kind = \"router\"\nip_options = \"eat\"")),
        ("packets of nothing", on("packet_size = \"0 B\"")),
        (
            "no room for a packet and NGWA's option",
            after("[queue]\nlimit = \"1507 B\"\n[ngwa]") + "tcp = { assist = \"none\" }\n",
        ),
    ];
    let mut text =
        String::from("# Messages of NGWA's problems: written and checked by crates/scenario/tests/ngwa.rs.\n");
    for (title, scenario) in &cases {
        text.push_str(&format!("\n## {title}\n{}\n", bad(scenario)));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ngwa.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in text.lines().zip(golden.lines()) {
        assert_eq!(found, expected, "UPDATE_GOLDEN=1 writes tests/ngwa.txt anew");
    }
    assert_eq!(text, golden);
}
