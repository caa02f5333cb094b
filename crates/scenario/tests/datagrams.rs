//! Flows of datagrams in scenario files: UDP with pauses, frames and calls.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{bad, good};
use narrows_scenario::{Distribution, Flow, Pauses, Scenario, Traffic};
use narrows_units::{Bytes, Duration, Rate};

fn text(kind: &str, lines: &str) -> String {
    format!(
        "duration = \"60 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"20 ms\" }}\naccess = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n\
         [[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"{kind}\"\n{lines}\n"
    )
}

fn payload(flow: &Flow) -> Bytes {
    flow.udp().unwrap().payload
}

fn round_trip(scenario: &Scenario) {
    let written = scenario.to_toml();
    assert_eq!(good(&written).flows, scenario.flows, "{written}");
    assert_eq!(good(&written).to_toml(), written);
}

#[test]
fn a_call_is_two_flows_and_each_reads_back() {
    let scenario = good(&text("call", "name = \"talk\""));
    let [up, down] = &scenario.flows[..] else { unreachable!() };
    assert_eq!((up.name.as_str(), down.name.as_str()), ("talk-up", "talk-down"));
    assert_eq!((up.from, up.to), (down.to, down.from));
    // 160 B of audio, 12 of RTP and 28 of UDP and IPv4, each 20 ms.
    assert_eq!(payload(up), Bytes::new(172));
    assert_eq!(up.traffic, Traffic::Datagrams { rate: Rate::kbps(80), pauses: None });
    assert_eq!(payload(down), Bytes::new(1200));
    assert_eq!(down.traffic, Traffic::Frames { rate: Rate::kbps(1500), frame_rate: 30 });
    round_trip(&scenario);
    let v6 = good(&(String::from("ip = 6\n") + &text("call", "ptime = \"10 ms\"\naudio = \"128 kb/s\"")));
    // 160 B of audio and 60 of headers in 10 ms.
    assert_eq!(v6.flows[0].traffic, Traffic::Datagrams { rate: Rate::kbps(176), pauses: None });
}

#[test]
fn pauses_and_frames_read_back() {
    let paused = good(&text("udp", "rate = \"1 Mb/s\"\non = \"1 s\"\noff = \"300 ms\"\ndistribution = \"pareto\""));
    let (on, off) = (Duration::from_secs(1), Duration::from_millis(300));
    let pauses = Some(Pauses { on, off, distribution: Distribution::Pareto });
    assert_eq!(paused.flows[0].traffic, Traffic::Datagrams { rate: Rate::mbps(1), pauses });
    assert_eq!(payload(&paused.flows[0]), Bytes::new(1000));
    round_trip(&paused);
    let frames = good(&text("frames", "rate = \"3 Mb/s\"\nframe_rate = 60\npayload = \"13 B\""));
    assert_eq!(frames.flows[0].traffic, Traffic::Frames { rate: Rate::mbps(3), frame_rate: 60 });
    round_trip(&frames);
}

#[test]
fn what_has_no_meaning_is_refused_with_field_and_allowed_values() {
    let long = format!("name = \"{}\"", "n".repeat(62));
    let twice = "name = \"talk\"\n[[flows]]\nname = \"talk-up\"\nfrom = \"s1\"\nto = \"d1\"";
    for (kind, lines, said) in [
        ("udp", "", "flows[0].rate: is missing"),
        (
            "udp",
            "rate = \"1 Mb/s\"\non = \"1 s\"",
            "flows[0].on: \"1 s\" is given without the other; allowed: both `on` and `off`",
        ),
        ("udp", "rate = \"1 Mb/s\"\noff = \"1 s\"", "flows[0].off: \"1 s\" is given without the other"),
        ("udp", "rate = \"1 Mb/s\"\non = \"0 s\"\noff = \"1 s\"", "flows[0].on: \"0 s\""),
        ("udp", "rate = \"1 Mb/s\"\nframe_rate = 3", "flows[0].frame_rate"),
        ("frames", "", "flows[0].rate: is missing"),
        ("frames", "rate = \"1 Mb/s\"\nframe_rate = 0", "flows[0].frame_rate: 0"),
        (
            "frames",
            "rate = \"1 Mb/s\"\npayload = \"12 B\"",
            "flows[0].payload: \"12 B\" leaves no room beside the RTP header",
        ),
        ("frames", "rate = \"1 Mb/s\"\non = \"1 s\"\noff = \"1 s\"", "flows[0].on"),
        ("call", "rate = \"1 Mb/s\"", "flows[0].rate"),
        ("call", "ptime = \"0 s\"", "flows[0].ptime: \"0 s\""),
        ("call", "video = \"0 b/s\"", "flows[0].video: \"0 b/s\""),
        ("call", "payload = \"5 B\"", "allowed: at least 13 B"),
        ("call", &long, "is too long for the name of a call"),
        ("call", twice, "\"talk-up\" is the name of two flows"),
        ("bulk", "audio = \"64 kb/s\"", "flows[0].audio"),
    ] {
        let found = bad(&text(kind, lines));
        assert!(found.contains(said), "{kind} {lines}\n{found}");
    }
}
