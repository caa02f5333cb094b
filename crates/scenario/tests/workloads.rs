//! Workloads, sizes and videos in scenario files: what is read, written back, and refused.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{bad, catalogue, good};
use narrows_scenario::{Arrivals, Files, Pace, SizeDistribution, Traffic, WorkloadKind, parse_with};
use narrows_units::{Bytes, Duration};
use std::io::{Cursor, Read};

const NETWORK: &str = "duration = \"60 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
                       bottleneck = { rate = \"10 Mb/s\", delay = \"20 ms\" }\naccess = { rate = \"100 Mb/s\", delay = \"1 ms\" }\n";

fn workload(lines: &str) -> String {
    format!("{NETWORK}[[workloads]]\nfrom = \"s1\"\nto = \"d1\"\n{lines}\n")
}

fn video(lines: &str) -> String {
    format!("{NETWORK}[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"video\"\n{lines}\n")
}

struct File(&'static str);

impl Files for File {
    fn open(&self, name: &str) -> Result<(String, Box<dyn Read>), String> {
        match name {
            "x.csv" => Ok(("/data/x.csv".to_owned(), Box::new(Cursor::new(self.0)))),
            _ => Err("cannot be read: no such file".to_owned()),
        }
    }
}

#[test]
fn a_workload_has_its_defaults_and_reads_back() {
    let text = workload("load = 0.5\nsize = { distribution = \"web_search\" }")
        + "[[workloads]]\nname = \"p\"\nkind = \"pages\"\nfrom = \"d*\"\nto = \"s*\"\npairs = 2\narrivals = \"constant\"\ninterval = \"2 s\"\nsize = { distribution = \"pareto\", mean = \"20 kB\", max = \"1 MB\" }\ncc = \"reno\"\n";
    let scenario = good(&text);
    let [web, pages] = &scenario.workloads[..] else { unreachable!() };
    assert_eq!((web.flow.name.as_str(), &web.kind), ("workload1", &WorkloadKind::Transfers));
    assert_eq!(web.arrivals, Arrivals::Poisson(Pace::Load(0.5)));
    assert_eq!(web.size.distribution, SizeDistribution::WebSearch);
    assert_eq!(pages.kind, WorkloadKind::Pages { request: Bytes::new(200), objects: 20, connections: 6 });
    assert_eq!(pages.arrivals, Arrivals::Constant(Pace::Every(Duration::from_secs(2))));
    assert_eq!((pages.pairs.len(), pages.flow.tcp().unwrap().cc.as_str()), (2, "reno"));
    assert!(scenario.flows.is_empty());
    let written = scenario.to_toml();
    assert_eq!(good(&written).workloads, scenario.workloads);
    assert_eq!(good(&written).to_toml(), written);
    let json = scenario.to_json();
    assert_eq!(json["workloads"][1]["size"]["mean_bytes"], serde_json::json!(pages.size.mean()));
}

#[test]
fn files_are_read_once_and_travel_in_the_resolved_scenario() {
    let cases = [
        (
            "size_bytes,cdf\n1000,0.25\n9000,1\n",
            "interval = \"1 s\"\nsize = { distribution = \"empirical\", file = \"x.csv\" }",
        ),
        ("time_s,size_bytes\n0.5,1000\n0.5,2000\n", "arrivals = { trace = \"x.csv\" }"),
    ];
    for (content, lines) in cases {
        let scenario = parse_with(&workload(lines), "t.toml", &[], &catalogue(), &File(content)).unwrap();
        assert_eq!(good(&scenario.to_toml()).workloads, scenario.workloads, "without the file");
    }
}

#[test]
fn wrong_files_are_refused_with_file_and_line() {
    let said = |content: &'static str, lines: &str| {
        parse_with(&workload(lines), "t.toml", &[], &catalogue(), &File(content)).unwrap_err().to_string()
    };
    let size = "interval = \"1 s\"\nsize = { distribution = \"empirical\", file = \"x.csv\" }";
    assert_eq!(
        said("size_bytes,cdf\n1000,0.5\n900,1\n", size),
        "/data/x.csv:3: workloads[0].size.file: \"900,1\" has a size that is not above that of the row before; allowed: rising sizes"
    );
    assert!(said("", size).starts_with("/data/x.csv: workloads[0].size.file: is empty"), "{}", said("", size));
    assert!(said("", &size.replace("x.csv", "y.csv")).contains("cannot be read: no such file"));
    let arrivals = "arrivals = { trace = \"x.csv\" }";
    assert!(said("time_s,size_bytes\n2,5\n1,5\n", arrivals).contains("x.csv:3: workloads[0].arrivals.trace:"));
}

#[test]
fn every_rule_of_workloads_has_its_message() {
    for (lines, said) in [
        ("size = \"1 kB\"", ":7: workloads[0]: says not how often transfers begin"),
        ("size = \"1 kB\"\nload = 1\ninterval = \"1 s\"", ":11: workloads[0].load: 1 is given beside `interval`"),
        ("load = 1", "workloads[0].size: is missing"),
        ("load = 0\nsize = \"1 kB\"", "workloads[0].load: 0 is out of range"),
        ("load = -1\nsize = \"1 kB\"", "workloads[0].load: -1 is out of range"),
        ("load = 1\nsize = \"0 B\"", "workloads[0].size: \"0 B\" is zero"),
        ("load = 1\nsize = { distribution = \"pareto\" }", "workloads[0].size.mean: is missing"),
        (
            "load = 1\nsize = { distribution = \"web_search\", mean = \"1 kB\" }",
            "mean: \"1 kB\" has no meaning for distribution = \"web_search\"",
        ),
        ("load = 1\nsize = { mean = \"1 kB\", shape = 2 }", "shape: 2 has no meaning for distribution = \"constant\""),
        ("load = 1\nsize = { distribution = \"pareto\", mean = \"1 kB\", shape = 1 }", "shape: 1 is out of range"),
        ("load = 1\nsize = { distribution = \"empirical\" }", "workloads[0].size.file: is missing"),
        ("load = 1\nsize = \"1 kB\"\nobjects = 3", "objects: 3 has no meaning for kind = \"transfers\""),
        ("load = 1\nsize = \"1 kB\"\nstart = \"60 s\"", "start: \"60 s\" is not before the end of the run"),
        ("load = 1\nsize = \"1 kB\"\nstart = \"5 s\"\nstop = \"5 s\"", "stop: \"5 s\" is not after the start at 5 s"),
        ("load = 1\nsize = \"1 kB\"\npairs = 3\nname = \"w\"", ""),
        (
            "load = 1\nsize = \"1 kB\"\nname = \"a-name-that-is-too-long-for-a-workload-with-its-number\"",
            "is too long for the name of a workload",
        ),
        (
            "kind = \"pages\"\nsize = \"1 kB\"\narrivals = { trace = \"x.csv\", content = \"transfers 0 5\" }",
            "is a file, and the transfers are pages",
        ),
        (
            "load = 1\narrivals = { trace = \"x.csv\", content = \"transfers 0 5\" }",
            "load: 1 is given beside a file of arrivals",
        ),
        (
            "size = \"1 kB\"\narrivals = { trace = \"x.csv\", content = \"transfers 0 5\" }",
            "size: \"1 kB\" is given beside a file of arrivals",
        ),
        ("arrivals = { trace = \"x.csv\", content = \"transfers 0\" }", "has no second value"),
    ] {
        if said.is_empty() {
            good(&workload(lines));
            continue;
        }
        let found = bad(&workload(lines));
        assert!(found.contains(said), "{lines}\n{found}");
    }
    let names =
        workload("load = 1\nsize = \"1 kB\"\nname = \"f\"") + "[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\n";
    assert!(bad(&names).contains("workloads[0].name: \"f\" is the name of another workload or flow"));
    assert!(bad(NETWORK).contains("flows: is missing; allowed: at least one [[flows]] or [[workloads]] table"));
    let starred = workload("load = 1\nsize = \"1 kB\"\npairs = 3").replace("s1", "s*").replace("d1", "d*");
    assert!(bad(&starred).contains("s3"), "there are two hosts on each side: {}", bad(&starred));
}

#[test]
fn a_load_needs_links() {
    let text = "nodes = [{ name = \"ap\", kind = \"router\" }, { name = \"w1\" }, { name = \"w2\" }]\n\
                [wifi]\nbase = \"ap\"\nstations = [\"w1\", \"w2\"]\nphy = \"802.11b\"\n\
                [[workloads]]\nfrom = \"w1\"\nto = \"w2\"\nload = 0.5\nsize = \"1 kB\"\n";
    assert!(bad(text).contains("the path crosses an 802.11 channel; allowed: `interval` instead"), "{}", bad(text));
    good(&text.replace("load = 0.5", "interval = \"1 s\""));
}

#[test]
fn a_video_needs_a_ladder_and_a_buffer_that_holds_its_map() {
    let scenario = good(&video("ladder = [\"1 Mb/s\", \"3 Mb/s\"]\nsegment = \"2 s\""));
    let Traffic::Video(found) = &scenario.flows[0].traffic else { unreachable!() };
    assert_eq!((found.startup, found.ladder.len()), (Duration::from_secs(2), 2));
    assert_eq!(good(&scenario.to_toml()).flows, scenario.flows);
    for (lines, said) in [
        ("", "flows[0].ladder: is missing"),
        ("ladder = []", "flows[0].ladder: [] has 0 rates"),
        ("ladder = [\"1 Mb/s\", \"fast\"]", "flows[0].ladder[1]: \"fast\" is not a rate"),
        ("ladder = [\"0 b/s\"]", "flows[0].ladder[0]: \"0 b/s\" is zero"),
        ("ladder = [\"3 Mb/s\", \"1 Mb/s\"]", "does not rise"),
        ("ladder = [\"1 Mb/s\"]\nbuffer = \"3 s\"", "flows[0].buffer: \"3 s\" holds no segment; allowed: at least 4 s"),
        (
            "ladder = [\"1 Mb/s\"]\nbuffer = \"40 s\"",
            "flows[0].cushion: with the reservoir is 48 s, more than the buffer holds",
        ),
        (
            "ladder = [\"1 Mb/s\"]\nstartup = \"61 s\"",
            "startup: \"61 s\" is more than the buffer holds; allowed: at most 60 s",
        ),
    ] {
        let found = bad(&video(lines));
        assert!(found.contains(said), "{lines}\n{found}");
    }
    let drawn = format!(
        "{NETWORK}[[flows]]\nkind = \"request_response\"\nfrom = \"s1\"\nto = \"d1\"\nresponse = {{ distribution = \"data_mining\" }}\n"
    );
    assert_eq!(good(&good(&drawn).to_toml()).flows, good(&drawn).flows);
}
