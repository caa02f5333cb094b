//! Traces in scenarios: where they are read from, what is refused, and what a resolved scenario says.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::catalogue;
use narrows_scenario::{Deliveries, Files, Scenario, parse, parse_with};
use narrows_units::{Duration, Rate};
use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;

/// One file in the folder `f`; counts how often it is opened.
struct One {
    name: &'static str,
    text: &'static str,
    opened: Cell<usize>,
}

impl One {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, opened: Cell::new(0) }
    }
}

impl Files for One {
    fn open(&self, name: &str) -> Result<(String, Box<dyn Read>), String> {
        self.opened.set(self.opened.get() + 1);
        if name == self.name {
            return Ok((format!("f/{name}"), Box::new(self.text.as_bytes())));
        }
        Err("is no file".to_owned())
    }
}

fn text(link: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"10 s\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         delay = \"1 ms\"\n{link}\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n"
    )
}

fn read(link: &str, files: &One) -> Result<Scenario, String> {
    parse_with(&text(link), "t.toml", &[], &catalogue(), files).map_err(|problems| problems.to_string())
}

#[test]
fn a_trace_is_read_once_and_shared_by_the_directions() {
    let files = One::new("x.trace", "2\n2\n4\n");
    let scenario = read("rate = { trace = \"x.trace\" }\nreverse = { delay = \"2 ms\" }", &files).unwrap();
    let link = &scenario.links[0];
    let (forward, reverse) = (link.forward.trace.as_ref().unwrap(), link.reverse.trace.as_ref().unwrap());
    assert_eq!((files.opened.get(), Arc::ptr_eq(forward, reverse)), (1, true));
    assert_eq!(forward.deliveries, Deliveries::Opportunities(vec![2, 2, 4]));
    assert_eq!((forward.repeat, forward.period()), (true, Duration::from_millis(4)));
    assert_eq!(link.forward.rate, Rate::bps(3 * 1504 * 8 * 250), "three opportunities in 4 ms");
    assert_eq!(link.forward.largest_rate(), link.forward.rate);
}

#[test]
fn each_direction_may_have_its_own() {
    let files = One::new("x.csv", "time_ms,rate_kbps\n0,100\n10,300\n40,0\n");
    let scenario = read("forward = { rate = { trace = \"x.csv\" } }\nreverse = { rate = \"5 Mb/s\" }", &files).unwrap();
    let link = &scenario.links[0];
    assert_eq!((link.forward.rate, link.reverse.rate), (Rate::kbps(250), Rate::mbps(5)));
    assert_eq!(link.forward.largest_rate(), Rate::kbps(300));
    assert!(!link.forward.trace.as_ref().unwrap().repeat && link.reverse.trace.is_none());
}

#[test]
fn a_resolved_scenario_needs_no_file() {
    for (name, text) in [("x", "2\n2\n4\n"), ("x", "time_s,rate_bps\n0,5\n7.5,0\n")] {
        let scenario = read("rate = { trace = \"x\", repeat = true }", &One::new(name, text)).unwrap();
        let toml = scenario.to_toml();
        assert_eq!(parse(&toml, "again.toml", &[], &catalogue()).unwrap(), scenario, "{toml}");
    }
    let made = read("rate = { trace = \"x\" }", &One::new("x", "2\n2\n4\n")).unwrap();
    assert!(made.to_toml().contains("{ trace = \"x\", repeat = true, content = \"opportunities 2 0 2\" }"));
    let expected = serde_json::json!({
        "file": "x", "kind": "opportunities", "rows": 3, "repeat": true, "period_ns": 4_000_000, "largest_rate_bps": 9_024_000,
    });
    assert_eq!(made.to_json()["links"][0]["forward"]["trace"], expected);
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_value() {
    let trace = "rate = { trace = \"x\" }";
    for (link, file, said) in [
        (
            trace,
            "5\n4\n",
            "f/x:2: links[0].rate.trace: \"4\" is before the 5 ms above it; allowed: times that do not fall",
        ),
        (
            trace,
            "",
            "f/x: links[0].rate.trace: is empty; allowed: a whole number of milliseconds per line (mahimahi), or CSV with a header such as time_s,rate_mbps",
        ),
        (
            trace,
            "1\nx\n",
            "f/x:2: links[0].rate.trace: \"x\" is not a whole number; allowed: a whole number of milliseconds from 0 to 4294967295",
        ),
        (
            "rate = { trace = \"y\" }",
            "1",
            "t.toml:7: links[0].rate.trace: \"y\" is no file; allowed: a file, relative to the scenario's directory",
        ),
        ("rate = {}", "1", "t.toml:7: links[0].rate.trace: is missing; allowed: text in quotes"),
        (
            "rate = { trace = \"x\" }\nchanges = [{ at = \"1 s\", rate = \"1 Mb/s\" }]",
            "1",
            "t.toml:7: links[0].rate: { .. } is given beside changes of the rate; allowed: a trace, or a rate with changes",
        ),
        (
            "rate = { trace = \"x\", repeat = true }",
            "time_s,rate_bps\n0,0\n1,5\n",
            "t.toml:7: links[0].rate.repeat: true repeats a time in which nothing is sent: the last row is the end of a period; \
             allowed: false, or a row with a rate above zero before the last one",
        ),
        (
            "rate = { trace = \"x\", content = \"opportunities 1 z\" }",
            "1",
            "t.toml:7: links[0].rate.content: \"z\" is not a number of a trace; allowed: opportunities or rates and their \
             numbers, as Narrows writes them into resolved scenarios",
        ),
        (
            "rate = { trace = \"x\", content = \"rates\" }",
            "1",
            "t.toml:7: links[0].rate.content: has no rows; allowed: a time and a rate, such as 0.5,12",
        ),
    ] {
        let files = One { name: "x", text: file, opened: Cell::new(0) };
        assert_eq!(read(link, &files).unwrap_err(), said);
    }
}

#[test]
fn changes_of_the_delay_go_with_a_trace() {
    let link = "rate = { trace = \"x\" }\nchanges = [{ at = \"1 s\", delay = \"5 ms\" }]";
    assert_eq!(read(link, &One::new("x", "1\n")).unwrap().links[0].forward.changes.len(), 1);
}

#[test]
fn without_files_a_trace_is_refused() {
    let said = parse(&text("rate = { trace = \"x\" }"), "t.toml", &[], &catalogue()).unwrap_err().to_string();
    assert!(said.contains("\"x\" cannot be read: files are not available here"), "{said}");
}
