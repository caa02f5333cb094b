//! Test cases built in code: a path of three links, a bulk flow or two, steps and expectations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use narrows_scenario::Scenario;
use narrows_sim::{Options, Outcome, Packets, catalogue, run};
use narrows_timeline::{
    Action, Case, Declared, Edge, Expectation, Filter, FlowRef, FlowWords, Lapse, Line, LinkWords, Pick, Quantifier,
    Scope, Selection, Side, Step, Until, Vocabulary, When,
};
use narrows_units::{Duration, Instant};
use std::sync::Arc;

/// When a step of a test happens.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    /// At this time in milliseconds.
    At(u64),
    /// When this becomes true.
    When(&'static str),
    /// As `When`, within so many milliseconds.
    Within(&'static str, u64),
    /// This long after the step before.
    Later(Lapse),
}

/// A step of a test: name, the step after which it is armed, when, and what it does.
pub type TestStep = (&'static str, Option<&'static str>, Wait, Vec<Action>);

/// An expectation of a test: how often, what, from which step on, up to when.
pub type TestExpectation = (Quantifier, &'static str, Option<&'static str>, Until);

/// A bottleneck of 10 Mb/s, 20 ms round trip and 100 packets, between fast access links.
pub fn network(flows: &str) -> String {
    format!(
        r#"
format = 1
name = "case"
duration = "10 s"
sampling = "100 ms"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = {{ rate = "10 Mb/s", delay = "10 ms", queue = {{ limit = "100 packets" }} }}
access = {{ rate = "1 Gb/s", delay = "1 us" }}
{flows}
"#
    )
}

/// A bulk flow of CUBIC from `s1`.
pub const BULK: &str = "[[flows]]\nname = \"s1\"\nfrom = \"s1\"\nto = \"d1\"\n";

/// Parses a scenario.
pub fn parsed(text: &str) -> Scenario {
    match narrows_scenario::parse(text, "test.toml", &[], &catalogue()) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems}"),
    }
}

/// The scenario in `text` with these steps and expectations; `flow` and `s1` are its first flow.
pub fn with_case(text: &str, steps: &[TestStep], expectations: &[TestExpectation]) -> Scenario {
    let mut scenario = parsed(text);
    let declared = |row: &narrows_units::Variable| Declared {
        name: row.name.to_owned(),
        unit: row.unit.to_owned(),
        words: row.words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let flow = |flow: &narrows_scenario::Flow| FlowWords {
        receiver: None,
        name: flow.name.as_str().into(),
        control: flow.tcp().map(|tcp| {
            let row = narrows_cc::registry().iter().find(|row| row.name == &*tcp.cc).unwrap();
            (row.name.into(), row.variables.iter().map(declared).collect())
        }),
    };
    let name = |node: usize| scenario.nodes[node].name.clone();
    let names: Vec<_> = scenario.links.iter().map(|link| format!("{}-{}", name(link.a), name(link.b))).collect();
    let words = Vocabulary {
        flows: scenario.flows.iter().map(flow).collect(),
        bottleneck: names.iter().position(|name| name == "r1-r2"),
        links: names.iter().map(|name| LinkWords { name: name.as_str().into() }).collect(),
        under_test: 0,
    };
    let known: Vec<&str> = steps.iter().map(|step| step.0).collect();
    let index = |name: Option<&str>| name.map(|name| known.iter().position(|known| *known == name).unwrap());
    let mut scope = Scope::new(&words, known.clone());
    let rounds = scope.rounds();
    let ms = Duration::from_millis;
    let mut made = Vec::new();
    for (name, after, wait, actions) in steps {
        let (when, within) = match *wait {
            Wait::At(at) => (When::At(Instant::ZERO + ms(at)), None),
            Wait::When(text) => (When::Condition(scope.condition(text).unwrap()), None),
            Wait::Within(text, within) => {
                (When::Condition(scope.condition(text).unwrap()), Some(Lapse::Time(ms(within))))
            }
            Wait::Later(lapse) => (When::Later(lapse), None),
        };
        let (name, line, after) = ((*name).to_owned(), Line(None), index(*after));
        made.push(Step { name, named: true, line, after, when, within, actions: actions.clone() });
    }
    let expectation = |(quantifier, text, after, until): &TestExpectation| Expectation {
        name: (*text).to_owned(),
        named: false,
        line: Line(None),
        quantifier: *quantifier,
        expression: scope.condition(text).unwrap(),
        after: index(*after),
        until: *until,
        unless: None,
    };
    let expectations = expectations.iter().map(expectation).collect();
    let (variables, memories) = scope.into_parts();
    let case = Case {
        flow_name: "s1".into(),
        variables,
        memories,
        rounds: Some(rounds),
        steps: made,
        expectations,
        ..Case::default()
    };
    scenario.case = Some(Arc::new(case));
    scenario
}

/// The bottleneck, in this direction.
pub fn bottleneck(scenario: &str, side: Side) -> Edge {
    let scenario = parsed(scenario);
    let link = scenario.links.iter().position(|link| {
        let name = |node: usize| &*scenario.nodes[node].name;
        (name(link.a), name(link.b)) == ("r1", "r2")
    });
    Edge { link: link.unwrap(), side, name: "bottleneck".into() }
}

/// The flow under test.
pub fn flow() -> FlowRef {
    FlowRef { index: 0, name: "s1".into() }
}

/// The data packets of the flow under test.
pub fn data() -> Filter {
    Filter::Flow(flow())
}

/// The next packets.
pub fn next(packets: u64) -> Selection {
    Selection { pick: Pick::Each, packets: Some(packets), time: None }
}

/// Runs to the end of the duration.
pub fn whole(scenario: &Scenario) -> Outcome {
    run(scenario, &Options { seed: 1, ..Options::default() }).unwrap()
}

/// Runs until all is decided.
pub fn decided(scenario: &Scenario) -> Outcome {
    run(scenario, &Options { seed: 1, until_decided: true, ..Options::default() }).unwrap()
}

/// What came of the case.
pub fn case_of(outcome: &Outcome) -> &narrows_timeline::Outcome {
    &outcome.case.as_ref().unwrap().1
}

/// When a step happened, in seconds.
pub fn happened(outcome: &Outcome, step: usize) -> f64 {
    case_of(outcome).steps[step].happened.map_or(f64::NAN, |at| at.as_secs_f64())
}

/// Runs with this listener of packets.
pub fn listened(scenario: &Scenario, listener: &Arc<dyn Packets>) -> Outcome {
    run(scenario, &Options { seed: 1, packets: Some(listener), ..Options::default() }).unwrap()
}
