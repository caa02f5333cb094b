//! The ready-to-run files, what they show, and the page and the JSON Schema that describe them.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{ReadyToRun, SMALL, catalogue, good, good_with, ready_to_run};
use narrows_scenario::{
    Catalogue, DelayedAck, EcnEcho, IdleRestart, Pacing, RateLimited, Reduction, SCHEMA_ID, SlowStart, parse,
    parse_with, reference, schema,
};
use narrows_units::Duration;
use serde_json::Value;

#[test]
fn every_ready_to_run_file_is_valid_and_reads_back() {
    let files = ready_to_run();
    assert!(files.len() >= 9, "there are {} files", files.len());
    for (name, text) in files {
        let scenario =
            parse_with(&text, &name, &[], &catalogue(), &ReadyToRun).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(format!("{}.toml", scenario.name), name, "the default name is the file's");
        assert!(!scenario.title.is_empty() && scenario.title != scenario.name, "{name} has a title");
        let shown = scenario.to_toml();
        let again = parse(&shown, &name, &[], &catalogue()).unwrap_or_else(|problems| panic!("{problems}\n{shown}"));
        assert_eq!(scenario, again, "{shown}");
        assert_eq!(again.to_toml(), shown);
    }
}

#[test]
fn every_command_in_a_comment_works() {
    let mut overridden = 0;
    for (name, text) in ready_to_run() {
        for line in text.lines().filter_map(|line| line.strip_prefix("#   narrows run ")) {
            // A comment may follow after two spaces; quotes are for the shell.
            let command = line.split("  ").next().unwrap_or(line);
            let (file, rest) = command.split_once(' ').unwrap_or((command, ""));
            assert_eq!(format!("{file}.toml"), name, "{line}");
            let overrides: Vec<(String, String)> = rest
                .split("--set ")
                .skip(1)
                .map(|set| set.trim().trim_matches('\'').split_once('=').unwrap())
                .map(|(path, value)| (path.to_owned(), value.to_owned()))
                .collect();
            overridden += overrides.len();
            parse_with(&text, &name, &overrides, &catalogue(), &ReadyToRun)
                .unwrap_or_else(|problems| panic!("{line}\n{problems}"));
        }
    }
    assert!(overridden >= 8, "only {overridden} overrides were found in the comments");
}

#[test]
fn impairments_are_of_a_direction_or_of_both() {
    let text = "duration = \"20 s\"\nnodes = [{ name = \"a\" }, { name = \"b\" }]\n[[links]]\nbetween = [\"a\", \"b\"]\n\
                rate = \"1 Mb/s\"\ndelay = \"5 ms\"\njitter = \"2 ms\"\nduplicate = \"1 %\"\n\
                outages = [{ start = \"15 s\", duration = \"1 h\" }]\n\
                reverse = { jitter = \"0 s\", ack_decimation = 4, rate = \"100 kb/s\" }\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\n";
    let scenario = good(text);
    let [there, back] = [&scenario.links[0].forward, &scenario.links[0].reverse];
    assert_ne!(there.rate, back.rate);
    let [there, back] = [there, back].map(|direction| direction.impairments.as_deref().unwrap());
    assert_eq!(there.jitter.unwrap().time, Duration::from_millis(2));
    assert_eq!((back.jitter, there.ack_decimation.is_none(), back.ack_decimation.unwrap().every), (None, true, 4));
    assert_eq!((there.duplicate, &there.outages), (back.duplicate, &back.outages));
    assert_eq!(there.outages[0].duration, Duration::from_secs(5), "the end of the run ends an outage");
    let json = &scenario.to_json()["links"][0];
    assert_eq!(json["forward"]["impairments"]["jitter"]["time_ns"], 2_000_000);
    assert_eq!(json["forward"]["impairments"]["outages"][0]["start_ns"], 15_000_000_000_u64);
    assert_eq!(json["reverse"]["impairments"].get("jitter"), None, "absent ones have no key");
    let toml = scenario.to_toml();
    assert!(toml.contains("jitter = \"0 s\"") && !toml.contains("aggregation") && !toml.contains("ack_loss"), "{toml}");
    assert_eq!(good(&toml), scenario);
    let without = good(
        "nodes = [{ name = \"a\" }, { name = \"b\" }]\nduration = \"1 s\"\n\
                        links = [{ between = [\"a\", \"b\"], rate = \"1 Mb/s\", delay = \"5 ms\", corrupt = \"1 %\", duplicate = 0, reorder = false }]\n\
                        flows = [{ from = \"a\", to = \"b\" }]\n",
    );
    assert_eq!(without.links[0].forward.impairments, None);
    assert_eq!(without.to_json()["links"][0]["forward"]["impairments"], Value::Null);
    assert_eq!(without.to_json()["links"][0]["forward"]["loss"]["per"], 0.01, "`corrupt` is another name of `per`");
}

#[test]
fn the_reference_page_is_what_the_schema_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (written, generated) = page.split_once("<!-- generated -->\n").unwrap();
    let expected = format!("\n{}", reference(&catalogue()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{written}<!-- generated -->\n{expected}")).unwrap();
        return;
    }
    assert!(generated == expected, "docs/scenario.md is not what the schema says: run this test with UPDATE_GOLDEN=1");
}

#[test]
fn the_examples_of_the_page_are_valid() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let page = std::fs::read_to_string(path).unwrap();
    let examples: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    examples.into_iter().for_each(|example| drop(good(example)));
}

#[test]
fn defaults_are_those_of_the_rfcs() {
    let tcp = good(SMALL).flows[0].tcp().unwrap().clone();
    assert_eq!((tcp.mss, tcp.dupthresh, tcp.recv_buffer.as_u64()), (1460, 3, 16 << 20));
    assert_eq!((tcp.rto.initial.as_millis(), tcp.rto.min.as_millis(), tcp.rto.max.as_millis()), (1000, 1000, 60_000));
    assert!(
        tcp.sack
            && tcp.timestamps
            && tcp.window_scaling
            && tcp.limited_transmit
            && tcp.lost_retransmission
            && tcp.undo
            && tcp.full_ack_cap
            && tcp.impatient
    );
    assert!(!tcp.quick_ack && !tcp.autotuning);
    assert!(
        !tcp.timestamp_offsets
            && !tcp.ecn
            && !tcp.nagle
            && !tcp.cwnd_validation
            && tcp.rate_limited == RateLimited::CwndLimited
            && tcp.slow_start == SlowStart::Own
            && tcp.careful_resume.is_none()
            && !tcp.tso
            && !tcp.gso
            && !tcp.slow_start_at_equality
    );
    assert_eq!((tcp.reduction, tcp.idle_restart), (Reduction::Immediate, IdleRestart::Rfc5681));
    assert_eq!((tcp.ecn_echo, tcp.pacing), (EcnEcho::UntilCwr, Pacing::Off));
    assert_eq!(tcp.delayed_ack, DelayedAck::On { every: 2, timeout: Duration::from_millis(200) });
    let linux = good_with(SMALL, &[("tcp.rto.style", "linux")]);
    assert_eq!(linux.flows[0].tcp().unwrap().rto.min.as_millis(), 200, "a style brings its own floor");
}

#[test]
fn the_schema_says_what_the_parser_takes() {
    let open = schema(&Catalogue::default());
    assert_eq!(open["$defs"]["queue"]["additionalProperties"], true, "which disciplines there are, it does not know");
    let schema = schema(&catalogue());
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], SCHEMA_ID);
    assert_eq!(schema["additionalProperties"], false);
    let defs = schema["$defs"].as_object().unwrap();
    for (name, def) in defs {
        assert_eq!(def["additionalProperties"], false, "{name}");
        for (key, property) in def["properties"].as_object().unwrap() {
            assert!(
                property["description"].as_str().is_some_and(|text| text.len() > 5),
                "{name}.{key} has no description"
            );
        }
    }
    let mut references = Vec::new();
    collect(&schema, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        assert!(defs.contains_key(name), "{reference} leads nowhere");
    }
    assert_eq!(
        schema["$defs"]["tcp"]["properties"]["cc"]["enum"],
        serde_json::json!([
            "cubic", "reno", "none", "tahoe", "fack", "dctcp", "prague", "bbr", "htcp", "westwood", "vegas"
        ])
    );
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => references.push(reference.clone()),
            _ => collect(value, references),
        }),
        Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

#[test]
fn the_resolved_scenario_has_names_and_base_units() {
    let text = ready_to_run().into_iter().find(|(name, _)| name == "acns.toml").unwrap().1;
    let json = good(&text).to_json();
    assert_eq!(json["links"][3]["a"], "R0");
    assert_eq!(json["links"][3]["forward"]["rate_bps"], 3_000_000);
    assert_eq!(json["links"][3]["forward"]["queue"]["limit"], "100 packets");
    assert_eq!(json["flows"][1]["start_ns"], 15_100_000_000_u64);
    assert_eq!(json["flows"][1]["dscp"], 26);
    assert_eq!(json["flows"][0]["tcp"]["assist"], "acns");
    assert_eq!(json["flows"][3]["tcp"], Value::Null, "UDP has no TCP settings");
    assert_eq!(json["flows"][3]["traffic"]["rate_bps"], 500_000);
    assert_eq!(json["acns"]["routers"], serde_json::json!(["R0", "R1", "R2", "P1", "P2", "R3"]));
}

#[test]
fn what_is_shared_in_the_text_is_the_same_as_in_the_tree() {
    let mixed = ready_to_run().into_iter().map(|(_, text)| text).chain([MANY.to_owned()]);
    for text in mixed {
        let scenario = good(&text);
        let mut shared: Value = serde_json::from_str(&scenario.to_shared_json()).unwrap();
        let mut take = |key: &str| shared.as_object_mut().unwrap().shift_remove(key).unwrap();
        let [directions, stops, traffics, tcps] = ["directions", "stops", "traffics", "tcps"].map(&mut take);
        let names: Value = shared["nodes"].as_array().unwrap().iter().map(|node| node["name"].clone()).collect();
        let put = |member: &mut Value, list: &Value| {
            if let Some(number) = member.as_u64() {
                *member = list[usize::try_from(number).unwrap()].clone();
            }
        };
        for link in shared["links"].as_array_mut().unwrap() {
            put(&mut link["a"], &names);
            put(&mut link["b"], &names);
            put(&mut link["forward"], &directions);
            put(&mut link["reverse"], &directions);
        }
        for flow in shared["flows"].as_array_mut().unwrap() {
            put(&mut flow["from"], &names);
            put(&mut flow["to"], &names);
            put(&mut flow["stop_ns"], &stops);
            put(&mut flow["traffic"], &traffics);
            put(&mut flow["tcp"], &tcps);
        }
        assert_eq!(shared, scenario.to_json());
    }
    let text = good(MANY).to_shared_json();
    assert_eq!(text.matches("\"rto\"").count(), 2, "settings that flows share stand once");
    assert!(text.len() < 300 * 150, "{} bytes for 300 flows", text.len());
}

/// Three hundred flows in three tables, with two different sets of TCP settings.
const MANY: &str = r#"
[topology]
kind = "star"
leaves = 2
access = { rate = "1 Mb/s", delay = "1 ms" }
[[flows]]
name = "one"
from = "h1"
to = "h2"
cc = "reno"
copies = 150
[[flows]]
name = "two"
from = "h2"
to = "h1"
copies = 149
stagger = "1 ms"
[[flows]]
name = "three"
from = "h2"
to = "h1"
cc = "reno"
"#;

#[test]
fn shorthands_make_what_they_say() {
    let links = |text: &str| {
        let scenario = good(text);
        let name = |index: usize| scenario.nodes[index].name.clone();
        scenario.links.iter().map(|link| format!("{}-{}", name(link.a), name(link.b))).collect::<Vec<_>>().join(" ")
    };
    let link = "{ rate = \"1 Mb/s\", delay = \"1 ms\" }";
    let flow = |from: &str, to: &str| format!("[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let two = format!("[topology]\nbottleneck = {link}\naccess = {link}\n");
    assert_eq!(
        links(&format!("{two}kind = \"dumbbell\"\npairs = 2\n{}", flow("s1", "d2"))),
        "r1-r2 s1-r1 r2-d1 s2-r1 r2-d2"
    );
    assert_eq!(
        links(&format!("{two}kind = \"parking_lot\"\nhops = 2\n{}", flow("s0", "d0"))),
        "r1-r2 r2-r3 s0-r1 r3-d0 s1-r1 r2-d1 s2-r2 r3-d2"
    );
    assert_eq!(
        links(&format!("[topology]\nkind = \"chain\"\nlink = {link}\n{}", flow("h1", "h2"))),
        "h1-r1 r1-r2 r2-h2"
    );
    assert_eq!(
        links(&format!("[topology]\nkind = \"chain\"\nrouters = 0\nlink = {link}\n{}", flow("h1", "h2"))),
        "h1-h2"
    );
    assert_eq!(
        links(&format!("[topology]\nkind = \"star\"\nleaves = 3\naccess = {link}\n{}", flow("h1", "h3"))),
        "h1-hub h2-hub h3-hub"
    );
}

#[test]
fn directions_take_what_they_do_not_say_from_their_link() {
    let scenario = good(
        "[queue]\nlimit = \"7 packets\"\n[[nodes]]\nname = \"A\"\n[[nodes]]\nname = \"B\"\n[[links]]\nbetween = [\"A\", \"B\"]\ndelay = \"5 ms\"\nper = \"1 %\"\n\
         queue = { kind = \"red\", max_threshold = 6 }\nforward = { rate = \"1 Mb/s\", queue = { ecn = true } }\n\
         reverse = { rate = \"2 Mb/s\", loss = { kind = \"none\" }, queue = { kind = \"droptail\" } }\n\
         [[flows]]\nfrom = \"A\"\nto = \"B\"\n",
    );
    let link = &scenario.links[0];
    assert_eq!((link.forward.rate.as_bps(), link.reverse.rate.as_bps()), (1_000_000, 2_000_000));
    assert_eq!(link.forward.delay, link.reverse.delay);
    assert_eq!(link.reverse.loss, narrows_scenario::Loss::None);
    assert!(matches!(link.forward.loss, narrows_scenario::Loss::Uniform(_)));
    let seven = narrows_scenario::Limit::Packets(narrows_units::Packets::new(7));
    assert_eq!(link.reverse.queue, narrows_scenario::Queue::new("droptail", seven));
    let red = &link.forward.queue;
    assert_eq!((red.kind, red.limit, red.params.switch("ecn")), ("red", seven, true));
    assert_eq!(red.params.amount("max_threshold"), narrows_settings::queue::Amount::Packets(6.0));
}

/// The text is part of the addresses of kept runs.
#[test]
fn nameless_text_lacks_four_lines_and_nothing_else() {
    let named = good(&format!("title = \"a \\\"b\\\"\\nseed = 3\"\nseed = 7\n{SMALL}")).to_toml();
    let (head, rest) = named.split_once("\n[").unwrap();
    let names = ["name = ", "title = ", "description = ", "seed = "];
    let kept: Vec<&str> = head.split('\n').filter(|line| !names.iter().any(|name| line.starts_with(name))).collect();
    assert_eq!(head.split('\n').count(), kept.len() + names.len());
    let other = good(&format!("name = \"other\"\ndescription = \"x\"\n{SMALL}"));
    assert_eq!(other.to_nameless_toml(), format!("{}\n[{rest}", kept.join("\n")));
}

/// Texts of scenarios one after the other, with and without resemblance to the one before.
#[test]
fn a_series_of_texts_is_the_text_of_each() {
    let base = "
        [topology]
        kind = \"dumbbell\"
        pairs = 2
        bottleneck = { rate = \"10 Mb/s\", delay = \"20 ms\", queue = { limit = \"50 packets\" } }
        access = { rate = \"100 Mb/s\", delay = \"1 ms\" }
        [[flows]]
        from = \"s1\"
        to = \"d1\"
        [[flows]]
        from = \"s2\"
        to = \"d2\"
        cc = \"reno\"
    ";
    let sets: [&[(&str, &str)]; 14] = [
        &[],
        &[("topology.bottleneck.queue.limit", "7 packets")],
        &[("topology.bottleneck.queue.limit", "7 packets"), ("flows[1].start", "1 s")],
        &[("duration", "3 s")],
        &[("duration", "3 s"), ("flows[0].stop", "3 s")],
        &[("topology.pairs", "3")],
        &[("topology.pairs", "3"), ("flows[1].to", "d3")],
        &[("tcp.mss", "1000 B")],
        &[("tcp.mss", "1000 B"), ("flows[0].cc", "reno")],
        &[("tcp.cc", "reno")],
        &[("ip", "6")],
        &[("flows[0].kind", "udp"), ("flows[0].rate", "1 Mb/s")],
        &[("flows[0].dscp", "3")],
        &[("name", "other"), ("seed", "5")],
    ];
    let read = |set: &[(&str, &str)]| {
        let overrides: Vec<_> = set.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        std::sync::Arc::new(narrows_scenario::parse(base, "x.toml", &overrides, &catalogue()).unwrap())
    };
    let scenarios: Vec<_> = sets.iter().map(|set| read(set)).collect();
    let mut texts = narrows_scenario::Texts::default();
    for first in &scenarios {
        for second in &scenarios {
            assert_eq!(texts.nameless_toml(first), first.to_nameless_toml());
            assert_eq!(texts.nameless_toml(second), second.to_nameless_toml());
        }
    }
}
