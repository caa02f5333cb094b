//! The two forms of `sampling`, and what they are refused for.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::catalogue;
use narrows_scenario::{Problems, Sampling, Scenario, parse};
use narrows_units::Duration;

const REST: &str = r#"
duration = "1 s"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "0 s" }]
flows = [{ from = "a", to = "b" }]
"#;

fn read(sampling: &str) -> Result<Scenario, Problems> {
    parse(&format!("sampling = {sampling}\n{REST}"), "s.toml", &[], &catalogue())
}

#[test]
fn a_time_alone_and_a_table_with_it_mean_the_same() {
    let short = read("\"10 ms\"").unwrap();
    assert_eq!(short, read("{ interval = \"10 ms\" }").unwrap());
    assert_eq!(short.sampling, Sampling::Interval(Duration::from_millis(10)));
    assert!(!short.sample_state);
    assert!(short.to_toml().contains("sampling = \"10 ms\"\n"));
    assert_eq!(short.size().state_rows, 0);
}

#[test]
fn a_table_may_ask_for_state_and_is_written_back() {
    for (text, sampling) in [
        ("{ state = true }", Sampling::Interval(Duration::from_millis(100))),
        ("{ interval = \"events\", state = true }", Sampling::Events),
    ] {
        let scenario = read(text).unwrap();
        assert_eq!((scenario.sampling, scenario.sample_state), (sampling, true));
        let shown = scenario.to_toml();
        assert_eq!(parse(&shown, "s.toml", &[], &catalogue()).unwrap(), scenario, "{shown}");
        assert_eq!(scenario.to_json()["sampling"]["state"], true);
    }
    let rows = read("{ interval = \"10 ms\", state = true }").unwrap().size();
    assert!(rows.state_rows > rows.flow_rows);
}

#[test]
fn an_override_may_add_state_to_a_table() {
    let set = [("sampling.state".to_owned(), "true".to_owned())];
    let scenario = parse(&format!("sampling = {{ interval = \"10 ms\" }}\n{REST}"), "s.toml", &set, &catalogue());
    assert!(scenario.unwrap().sample_state);
}

#[test]
fn an_override_keeps_the_interval_of_the_short_form() {
    let set = [("sampling.state".to_owned(), "true".to_owned())];
    let scenario = parse(&format!("sampling = \"10 ms\"\n{REST}"), "s.toml", &set, &catalogue()).unwrap();
    assert_eq!((scenario.sampling, scenario.sample_state), (Sampling::Interval(Duration::from_millis(10)), true));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let problem = |text: &str| {
        let problems = read(text).unwrap_err().to_string();
        problems.replace('\n', " ")
    };
    assert!(problem("{ interval = \"off\", state = true }").contains("sampling.state"));
    assert!(problem("{ interval = \"10 ms\", stat = true }").contains("did you mean `state`"));
    assert!(problem("{ state = 1 }").contains("sampling.state"));
    assert!(problem("\"10 mz\"").contains("sampling"));
    assert!(problem("[1]").contains("sampling"));
}
