//! Test cases: steps and expectations in files, as values, as TOML, as JSON; and each rule's problem.

mod common;

use common::{SMALL, bad, bad_with, catalogue, good, good_with, pairs};
use narrows_scenario::{ProblemKind, parse};
use narrows_timeline::{Action, Filter, Lapse, Pick, Quantifier, Side, Source, Until, When};
use narrows_units::{Duration, Rate};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Everything that a case may have.
const WHOLE: &str = r#"
[case]
source = "draft-ietf-ccwg-bbr-06, appendix"
flow = "s1"
cc = ["bbr", "cubic"]
open = "Nothing."
grid = { rate = ["64 kb/s", "10 Mb/s"], rtt = "100 ms", buffer = [1.5, 2] }
[[steps]]
name = "begun"
at = "3 s"
[[steps]]
name = "up"
when = "flow.cc.phase == 'ProbeBW' and rounds_since('begun') > 2"
after = "begun"
within = "20 rounds"
set = { rate = "9 Mb/s", delay = "30 ms", per = "1 %" }
drop = { packets = 3 }
[[steps]]
name = "late"
after = "up"
delay = "100 ms"
link = "r1-r2"
direction = "reverse"
flows = "all"
set = { delay = "7 ms" }
drop = { share = "5 %", packets = 200, for = "1 s" }
mark = { every = 20, rounds = 2 }
reorder = { packets = 3, by = "10 ms" }
aggregate = { packets = 64, time = "20 ms" }
police = { rate = "5 Mb/s", burst = "30 kB" }
[[steps]]
after = "late"
rounds = 2
aggregate = false
police = false
flows = ["s1", "s2"]
pause = true
app_rate = "2 Mb/s"
[[steps]]
at = "9 s"
resume = true
app_rate = "unlimited"
[[expect]]
name = "max_bw is close to the bottleneck's rate"
after = "begun"
until = "late"
always = "near(flow.cc.max_bw_bps, bottleneck.rate, 5 %)"
[[expect]]
never = "flow.cwnd < 4 packets"
for = "2 s"
[[expect]]
after = "late"
eventually = "total('late', link['r1-r2'].reverse.dropped) >= 3"
within = "3 rounds"
unless = "flow.app_limited"
[[expect]]
after = "late"
then = "flows['s2'].cwnd <= at('up', flow.cwnd)"
"#;

/// Two flows on the dumbbell, and what follows.
fn file(rest: &str) -> String {
    format!(
        "duration = \"10 s\"\n{SMALL}name = \"s1\"\ncc = \"bbr\"\n[[flows]]\nname = \"s2\"\nfrom = \"s1\"\nto = \"d1\"\ncc = \"cubic\"\n[[flows]]\nname = \"voice\"\nkind = \"udp\"\nrate = \"64 kb/s\"\nfrom = \"s1\"\nto = \"d1\"\n{rest}"
    )
}

/// A step or an expectation is all that stands beside the flows; returns the problems.
fn refused(rest: &str) -> String {
    bad(&file(rest))
}

#[test]
fn a_file_without_a_case_has_none() {
    let scenario = good(&file(""));
    assert_eq!(scenario.case, None);
    assert!(scenario.to_json().get("case").is_none());
    assert!(!scenario.to_toml().contains("[case]"));
}

#[test]
fn a_case_is_read_as_it_stands() {
    let scenario = good(&file(WHOLE));
    let case = scenario.case.as_deref().unwrap();
    assert_eq!((case.flow, &*case.flow_name, case.bottleneck.as_deref()), (0, "s1", Some("r1-r2")));
    assert_eq!(case.controls, ["bbr", "cubic"]);
    assert_eq!(case.grid.rates, [Rate::kbps(64), Rate::mbps(10)]);
    assert_eq!((&case.grid.rtts[..], &case.grid.buffers[..]), (&[Duration::from_millis(100)][..], &[1.5, 2.0][..]));
    let names: Vec<&str> = case.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["begun", "up", "late", "step 4", "step 5"]);
    assert_eq!(case.steps.iter().map(|step| step.after).collect::<Vec<_>>(), [None, Some(0), Some(1), Some(2), None]);
    assert_eq!(case.steps[1].within, Some(Lapse::Rounds(20)));
    assert!(matches!(&case.steps[1].when, When::Condition(_)));
    assert_eq!(case.steps[3].when, When::Later(Lapse::Rounds(2)));
    let Action::Set { edges, .. } = &case.steps[1].actions[0] else { panic!("{:?}", case.steps[1]) };
    assert_eq!(edges.iter().map(|edge| edge.side).collect::<Vec<_>>(), [Side::Forward, Side::Reverse]);
    let Action::Drop { filter: Filter::Flow(flow), selection, .. } = &case.steps[1].actions[1] else { panic!() };
    assert_eq!((&*flow.name, &selection.pick, selection.packets), ("s1", &Pick::Each, Some(3)));
    let Action::Set { edges, .. } = &case.steps[2].actions[0] else { panic!() };
    assert_eq!(edges.iter().map(|edge| edge.side).collect::<Vec<_>>(), [Side::Reverse], "the direction that is given");
    assert_eq!(case.steps[2].actions.len(), 6);
    let Action::Mark { filter, selection, .. } = &case.steps[2].actions[2] else { panic!() };
    assert_eq!((filter, selection.pick, selection.time), (&Filter::All, Pick::Every(20), Some(Lapse::Rounds(2))));
    assert_eq!(case.expectations[1].until, Until::Lapse(Lapse::Time(Duration::from_secs(2))));
    assert_eq!(case.expectations[2].quantifier, Quantifier::Eventually);
    assert_eq!(case.expectations[2].until, Until::Lapse(Lapse::Rounds(3)));
    assert!(case.rounds.is_some_and(|id| case.variables[id.0].name == "flow.rounds"));
}

#[test]
fn quantities_of_steps_scale_with_the_network() {
    let scaled = "[[steps]]\nat = \"1 s\"\nset = { rate = \"90 %\", delay = \"0.5 rtt\" }\nreorder = { by = \"2 rtt\" }\n\
                  aggregate = { packets = 9, time = \"0.1 rtt\" }\npolice = { rate = \"200 %\", burst = \"0.5 bdp\" }\napp_rate = \"20 %\"\n";
    let actions = |overrides: &[(&str, &str)]| {
        let case = good_with(&file(scaled), overrides).case.unwrap();
        case.steps[0].actions.iter().map(Action::what).collect::<Vec<_>>().join("; ")
    };
    // 20 ms + 2 * 1 ms in each direction.
    assert_eq!(
        actions(&[]),
        "set rate = 9 Mb/s, delay = 22 ms of bottleneck; delay the next 1 packets of s1 on bottleneck by 88 ms; \
         aggregate up to 9 packets or 4.4 ms on bottleneck; police bottleneck to 20 Mb/s with a burst of 27.5 kB; \
         application of s1 writes at 2 Mb/s"
    );
    let slow = [("topology.bottleneck.rate", "1 Mb/s"), ("topology.bottleneck.delay", "98 ms")];
    assert!(actions(&slow).starts_with("set rate = 900 kb/s, delay = 100 ms of bottleneck"), "{}", actions(&slow));
    let negative = "[[steps]]\nat = \"1 s\"\nset = { rate = \"-9 %\" }\n";
    assert!(refused(negative).contains("steps[0].set.rate: \"-9 %\" is negative"));
}

#[test]
fn an_application_with_a_rate_of_its_own_takes_no_other() {
    let kind = "[[flows]]\nname = \"r\"\nkind = \"rate\"\nrate = \"1 Mb/s\"\nfrom = \"s1\"\nto = \"d1\"\n";
    let found = refused(&format!("{kind}[[steps]]\nat = \"1 s\"\nflows = \"r\"\napp_rate = \"1 Mb/s\"\n"));
    let message = "app_rate: \"1 Mb/s\" bounds no flow such as `r`; allowed: flows with kind = \"bulk\"";
    assert!(found.contains(message), "{found}");
}

#[test]
fn lines_are_those_of_the_tables() {
    let text = file(WHOLE);
    let case = good(&text).case.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for line in case.steps.iter().map(|step| step.line.0.unwrap()) {
        assert_eq!(lines[line - 1], "[[steps]]");
    }
    for line in case.expectations.iter().map(|expectation| expectation.line.0.unwrap()) {
        assert_eq!(lines[line - 1], "[[expect]]");
    }
}

#[test]
fn a_shown_case_reads_back_as_the_same() {
    let scenario = good(&file(WHOLE));
    let shown = scenario.to_toml();
    assert_eq!(good(&shown).case, scenario.case, "{shown}");
    assert_eq!(good(&shown).to_toml(), shown);
    let nameless = scenario.to_nameless_toml();
    assert!(!nameless.contains("draft-ietf") && !nameless.contains("is close to"), "{nameless}");
    assert!(nameless.contains("when = "), "steps change runs");
}

#[test]
fn a_case_as_json_tells_it_in_words() {
    let json = good(&file(WHOLE)).to_json();
    let case = &json["case"];
    assert_eq!(case["grid"]["rate_bps"], serde_json::json!([64_000, 10_000_000]));
    assert_eq!(case["grid"]["buffer_bdp"], serde_json::json!([1.5, 2.0]));
    assert_eq!(
        case["steps"][3]["what"],
        "after late, 2 rounds later: end aggregation on bottleneck; end policing of bottleneck; pause the application of s1, s2; application of s1, s2 writes at 2 Mb/s"
    );
    assert_eq!(case["expectations"][0]["kind"], "always");
    assert_eq!(case["expectations"][0]["text"], "near(flow.cc.max_bw_bps, bottleneck.rate, 5 %)");
}

#[test]
fn the_flow_under_test_is_the_first_tcp_flow_unless_named() {
    let then = "[[expect]]\nalways = \"flow.cwnd > 0\"\n";
    assert_eq!(&*good(&file(then)).case.unwrap().flow_name, "s1");
    let case = good(&file(&format!("[case]\nflow = \"s2\"\n{then}"))).case.unwrap();
    assert!(matches!(case.variables[0].source, Source::Flow { flow: 1, .. }));
    assert!(refused("[case]\nflow = \"s3\"").contains("case.flow: \"s3\" is not a flow, did you mean `s1`?"));
    assert!(refused("[case]\nflow = \"voice\"").contains("is not a TCP flow; allowed: a TCP flow: s1, s2"));
}

#[test]
fn the_variables_of_a_flow_are_those_of_its_control_and_its_slow_start() {
    let text = file("[[expect]]\nalways = \"flow.cc.max_bw_bps > 1 Mb/s\"\n");
    assert!(good(&text).case.is_some());
    let problems = parse(&text, "test.toml", &pairs(&[("flows[0].cc", "cubic")]), &catalogue()).unwrap_err();
    assert_eq!(problems.0.len(), 1);
    assert_eq!(problems.0[0].kind, ProblemKind::NotOfControl);
    assert_eq!(
        problems.0[0].message(),
        "expect[0].always: `max_bw_bps` at column 1 is no variable of cubic; allowed: it has none"
    );
    let start = "[[expect]]\nalways = \"flow.cc.start_phase == 'standard'\"\n";
    assert!(bad(&file(start)).contains("is no variable of bbr"));
    let text = file(&format!("[case]\nflow = \"s2\"\n{start}"));
    assert!(good_with(&text, &[("flows[1].tcp", "{ slow_start = \"hystart++\" }")]).case.is_some());
}

#[test]
fn a_fault_of_a_condition_has_its_line_and_column() {
    let text = file("[[steps]]\nname = \"a\"\nwhen = \"flow.cwmd > 3 kB\"\n");
    let problems = parse(&text, "test.toml", &[], &catalogue()).unwrap_err();
    let problem = &problems.0[0];
    let line = problem.line.unwrap();
    let column = problem.column.unwrap();
    assert_eq!(&text.lines().nth(line - 1).unwrap()[column - 1..column + 8], "flow.cwmd");
    assert!(problem.message().starts_with(
        "steps[0].when: `cwmd` at column 1 is no variable of `flow`, did you mean `cwnd`?; allowed: cwnd, ssthresh"
    ));
}

#[test]
fn each_rule_of_steps_has_its_message() {
    for (rest, message) in [
        ("[[steps]]\nname = \"a\"\n", "steps[0]: says not when it happens; allowed: one of `at`, `when` and `after`"),
        ("[[steps]]\nat = \"1 s\"\n", "steps[0]: does nothing and has no name"),
        ("[[steps]]\nname = \"a\"\nat = \"11 s\"\n", "steps[0].at: \"11 s\" is after the end of the run"),
        ("[[steps]]\nname = \"a\"\nat = \"1 s\"\nwhen = \"true\"\n", "steps[0].when: \"true\" stands beside `at`"),
        ("[[steps]]\nname = \"a\"\nat = \"1 s\"\ndelay = \"1 s\"\n", "steps[0].delay: \"1 s\" has no meaning here"),
        ("[[steps]]\nname = \"a\"\nat = \"1 s\"\nwithin = \"1 s\"\n", "steps[0].within: \"1 s\" has no meaning here"),
        (
            "[[steps]]\nname = \"a\"\nat = \"1 s\"\n[[steps]]\nname = \"a\"\nat = \"1 s\"\n",
            "steps[1].name: \"a\" names two steps",
        ),
        (
            "[[steps]]\nname = \"policed\"\nat = \"1 s\"\n[[steps]]\nname = \"b\"\nafter = \"polced\"\n",
            "steps[1].after: \"polced\" is not the name of a step, did you mean `policed`?; allowed: policed, b",
        ),
        (
            "[[steps]]\nname = \"a\"\nafter = \"b\"\n[[steps]]\nname = \"b\"\nafter = \"a\"\n",
            "steps[0].after: \"b\" makes a circle: a after b after a",
        ),
        ("[[steps]]\nname = \"a\"\nafter = \"a\"\n", "steps[0].after: \"a\" makes a circle: a after a"),
        (
            "[[steps]]\nat = \"1 s\"\nlink = \"r1-r3\"\nset = { rate = \"1 Mb/s\" }\n",
            "steps[0].link: \"r1-r3\" is not a link, did you mean `r1-r2`?",
        ),
        ("[[steps]]\nat = \"1 s\"\nset = {}\n", "steps[0].set: {} changes nothing"),
        ("[[steps]]\nat = \"1 s\"\ndrop = {}\n", "steps[0].drop: takes every packet to the end of the run"),
        (
            "[[steps]]\nat = \"1 s\"\ndrop = { share = 0.1, every = 3 }\n",
            "steps[0].drop.every: 3 stands beside `share`",
        ),
        (
            "[[steps]]\nat = \"1 s\"\nflows = \"s3\"\npause = true\n",
            "steps[0].flows: \"s3\" is not a TCP flow, did you mean `s1`?",
        ),
        (
            "[[steps]]\nat = \"1 s\"\nflows = [\"s1\", \"s2\"]\ndrop = { packets = 1 }\n",
            "steps[0].flows: [\"s1\", \"s2\"] names several flows",
        ),
        ("[[steps]]\nat = \"1 s\"\npause = false\n", "steps[0].pause: false does nothing"),
        ("[[steps]]\nat = \"1 s\"\npause = true\nresume = true\n", "steps[0].resume: true stands beside `pause`"),
        ("[[steps]]\nat = \"1 s\"\npause = true\nlink = \"r1-r2\"\n", "steps[0].link: \"r1-r2\" has no meaning here"),
        (
            "[[steps]]\nat = \"1 s\"\nname = \"a\"\nwithin = \"2 parsecs\"\n",
            "steps[0].within: \"2 parsecs\" is not a time or a number of rounds",
        ),
        ("[case]\nbottleneck = \"x\"", "case.bottleneck: \"x\" is not a link"),
        ("[case]\ngrid = { rate = [] }", "case.grid.rate: [] has 0 values"),
        ("[case]\ngrid = { buffer = [0] }", "case.grid.buffer[0]: 0 is out of range"),
    ] {
        let found = refused(rest);
        assert!(found.contains(message), "{rest}: {found}");
    }
}

#[test]
fn each_rule_of_expectations_has_its_message() {
    for (rest, message) in [
        ("", "expect[0]: has no condition; allowed: one of always, never, eventually, then"),
        ("always = \"true\"\nnever = \"true\"\n", "expect[0].never: \"true\" is a second condition"),
        ("then = \"true\"\n", "expect[0].then: \"true\" has no moment"),
        (
            "always = \"true\"\nwithin = \"1 s\"\n",
            "expect[0].within: \"1 s\" has no meaning here; allowed: only with `eventually`",
        ),
        ("eventually = \"true\"\nfor = \"1 s\"\n", "expect[0].for: \"1 s\" has no meaning here; allowed: `within`"),
        ("always = \"true\"\nfor = \"1 s\"\nrounds = 2\n", "expect[0].rounds: 2 stands beside `for`"),
        (
            "always = \"true\"\nuntil = \"x\"\n",
            "expect[0].until: \"x\" is not the name of a step; allowed: no step has a name",
        ),
        (
            "always = \"flow.cwnd > 3 ms\"\n",
            "expect[0].always: `flow.cwnd > 3 ms` at column 1 compares an amount of data with a time",
        ),
        ("always = \"link['x'].rate > 1 b/s\"\n", "expect[0].always: `x` at column 1 is not a link"),
        ("always = 3\n", "expect[0].always: 3 is not a condition"),
    ] {
        let found = refused(&format!("[[expect]]\n{rest}"));
        assert!(found.contains(message), "{rest}: {found}");
    }
}

#[test]
fn all_problems_of_a_case_are_told_at_once() {
    let found = refused(
        "[[steps]]\nwhen = \"flow.cwmd > 3 kB\"\nlink = \"x\"\nset = { rate = \"1 Mb/s\" }\n[[expect]]\nalways = \"flow.srt > 1 s\"\n",
    );
    assert_eq!(found.lines().count(), 3, "{found}");
}

#[test]
fn a_fault_elsewhere_causes_none_in_the_case() {
    let text =
        file("[[steps]]\nat = \"1 s\"\nset = { rate = \"1 Mb/s\" }\n[[expect]]\nalways = \"bottleneck.rate > 0\"\n");
    let found = bad_with(&text, &[("topology.bottleneck.rate", "10")]);
    assert_eq!(found.lines().count(), 1, "{found}");
}

const WAITS: &[&str] = &[
    "at = \"1 s\"",
    "when = \"flow.cwnd > 30 kB\"",
    "when = \"flow.cc.phase == 'Drain' and since('a') > 1 s\"\nafter = \"a\"\nwithin = \"20 rounds\"",
    "after = \"a\"",
    "after = \"a\"\ndelay = \"2 rounds\"",
    "after = \"a\"\ndelay = \"1.5 ms\"",
    "after = \"a\"\nat = \"2 s\"",
];

const ACTIONS: &[&str] = &[
    "link = \"r1-r2\"\nset = { rate = \"90 %\" }",
    "direction = \"reverse\"\ndrop = { packets = 3 }",
    "flows = [\"s2\"]\nmark = { share = \"5 %\", for = \"2 rounds\" }",
    "reorder = { packets = 2, by = \"0.1 rtt\" }",
    "aggregate = { packets = 5, time = \"3 ms\" }",
    "police = { rate = \"1 Mb/s\", burst = \"30 kB\" }",
    "pause = true",
    "app_rate = \"2 Mb/s\"",
];

const EXPECTED: &[&str] = &[
    "always = \"flow.cwnd > 2 packets\"",
    "never = \"flow.phase == 'LOSS'\"\nfor = \"3 rounds\"",
    "eventually = \"total('a', flow.delivered) > 1 MB\"\nwithin = \"5 s\"\nunless = \"flow.app_limited\"",
    "then = \"flow.cwnd < at('a', 2 * flow.cwnd)\"\nafter = \"a\"\nname = \"'quoted' \\\"name\\\"\"",
    "always = \"mean('a', bottleneck.queue_delay) < 5 ms\"\nafter = \"a\"\nuntil = \"a\"",
];

proptest! {
    /// Every action alone and with others, whatever the step waits for, and several expectations.
    #[test]
    fn any_case_reads_back_as_the_same(
        steps in prop::collection::vec((select(WAITS), subsequence(ACTIONS, 1..=ACTIONS.len())), 0..4),
        expected in subsequence(EXPECTED, 0..=EXPECTED.len()),
    ) {
        let mut text = "[[steps]]\nname = \"a\"\nat = \"0.5 s\"\n".to_owned();
        for (wait, actions) in steps {
            text += &format!("[[steps]]\n{wait}\n{}\n", actions.join("\n"));
        }
        text += &expected.iter().map(|lines| format!("[[expect]]\n{lines}\n")).collect::<String>();
        let scenario = good(&file(&text));
        let shown = scenario.to_toml();
        prop_assert_eq!(&good(&shown), &scenario, "{}", shown);
        prop_assert_eq!(good(&shown).to_toml(), shown);
    }
}
