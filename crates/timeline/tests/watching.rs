//! When steps happen, and what expectations come to.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Run, Wait, Wanted, Written, wanted};
use narrows_timeline::{Lapse, Quantifier, Until, Values, VariableId, Verdict, Watch};
use narrows_units::{Duration, Instant};

const fn ms(n: u64) -> Lapse {
    Lapse::Time(Duration::from_millis(n))
}

fn expecting(expectations: &[Wanted]) -> Run {
    Run::new(&Written { steps: Vec::new(), expectations: expectations.to_vec() })
}

fn stepping(steps: &[(&'static str, Option<&'static str>, Wait)]) -> Run {
    Run::new(&Written { steps: steps.to_vec(), expectations: Vec::new() })
}

fn verdicts(run: &Run) -> Vec<Verdict> {
    run.finish().expectations.iter().map(|found| found.verdict).collect()
}

const CWND: &str = "flow.cwnd";

#[test]
fn always_fails_at_the_first_look_at_which_it_is_false() {
    let mut run = expecting(&[wanted(Quantifier::Always, "flow.cwnd >= 10 kB")]);
    run.look(0, &[(CWND, 20e3)]).look(5, &[(CWND, 9e3)]).look(9, &[(CWND, 20e3)]);
    assert!(run.watch.decided());
    let outcome = run.finish();
    let found = &outcome.expectations[0];
    assert_eq!((found.verdict, found.looks), (Verdict::NotMet, 2));
    assert_eq!(found.decided.unwrap().as_nanos(), 5_000_000);
    assert_eq!(found.reason, "`flow.cwnd >= 10 kB` is false: flow.cwnd is 9 kB");
    assert_eq!((found.values[0].text.as_str(), found.values[0].value), (CWND, 9000.0));
    assert!(!outcome.passed());
}

#[test]
fn always_without_an_end_needs_the_end_of_the_run() {
    let mut run = expecting(&[wanted(Quantifier::Always, "flow.cwnd >= 10 kB")]);
    run.look(0, &[(CWND, 20e3)]).look(5, &[]);
    assert!(!run.watch.decided());
    assert_eq!(verdicts(&run), [Verdict::Met]);
    assert!(run.finish().passed());
}

#[test]
fn looks_without_a_value_are_not_judged() {
    let mut run = expecting(&[
        wanted(Quantifier::Always, "flow.srtt < 10 ms"),
        wanted(Quantifier::Never, "not flow.srtt < 10 ms"),
        wanted(Quantifier::Eventually, "flow.srtt >= 0"),
        wanted(Quantifier::Always, "flow.srtt < 10 ms or flow.cwnd > 1 kB"),
    ]);
    run.look(0, &[(CWND, 2e3)]);
    let outcome = run.finish();
    assert_eq!(
        verdicts(&run),
        [Verdict::NothingSampled, Verdict::NothingSampled, Verdict::NothingSampled, Verdict::Met]
    );
    assert!(outcome.expectations[0].reason.contains("flow.srtt is no value"), "{}", outcome.expectations[0].reason);
    run.look(1, &[("flow.srtt", 0.005)]);
    assert_eq!(verdicts(&run), [Verdict::Met; 4]);
}

#[test]
fn never_and_eventually_are_judged_at_every_look() {
    let mut run = expecting(&[
        wanted(Quantifier::Never, "flow.phase == 'recovery'"),
        wanted(Quantifier::Eventually, "flow.phase == 'recovery'"),
        wanted(Quantifier::Eventually, "flow.phase == 'loss'"),
    ]);
    run.look(0, &[("flow.phase", 0.0)]).look(1, &[("flow.phase", 3.0)]).look(2, &[("flow.phase", 0.0)]);
    assert_eq!(verdicts(&run), [Verdict::NotMet, Verdict::Met, Verdict::NotMet]);
    let reasons: Vec<String> = run.finish().expectations.into_iter().map(|found| found.reason).collect();
    assert_eq!(reasons[0], "`flow.phase == 'recovery'` is true: flow.phase is recovery");
    assert_eq!(
        reasons[2],
        "was not true up to the end of the run: at the end `flow.phase == 'loss'` is false: flow.phase is open"
    );
}

#[test]
fn eventually_within_a_time_is_decided_at_its_end() {
    let until = Until::Lapse(ms(10));
    let mut run = expecting(&[Wanted { until, ..wanted(Quantifier::Eventually, "flow.cwnd > 1 kB") }]);
    run.look(5, &[(CWND, 500.0)]);
    assert_eq!(run.deadline_ms(), Some(15));
    run.look(15, &[]);
    assert!(run.watch.decided());
    assert_eq!(verdicts(&run), [Verdict::NotMet]);
    let mut late = expecting(&[Wanted { until, ..wanted(Quantifier::Eventually, "flow.cwnd > 1 kB") }]);
    late.look(5, &[(CWND, 500.0)]).look(16, &[(CWND, 2e3)]);
    assert_eq!(verdicts(&late), [Verdict::NotMet], "the end has passed");
    let mut just = expecting(&[Wanted { until, ..wanted(Quantifier::Eventually, "flow.cwnd > 1 kB") }]);
    just.look(5, &[(CWND, 500.0)]).look(15, &[(CWND, 2e3)]);
    assert_eq!(verdicts(&just), [Verdict::Met], "the end belongs to it");
}

#[test]
fn windows_of_round_trips_follow_the_count() {
    let until = Until::Lapse(Lapse::Rounds(2));
    let judge = |values: &[(u64, f64, f64)]| {
        let mut run = expecting(&[Wanted { until, ..wanted(Quantifier::Eventually, "flow.cwnd > 1 kB") }]);
        for (at, rounds, cwnd) in values {
            run.look(*at, &[("flow.rounds", *rounds), (CWND, *cwnd)]);
        }
        (run.watch.decided(), verdicts(&run)[0])
    };
    assert_eq!(judge(&[(0, 7.0, 1.0), (1, 8.0, 1.0), (2, 9.0, 2e3)]), (true, Verdict::Met));
    assert_eq!(judge(&[(0, 7.0, 1.0), (1, 9.0, 1.0), (2, 10.0, 2e3)]), (true, Verdict::NotMet));
}

#[test]
fn steps_happen_at_their_time_or_their_condition() {
    let mut run = stepping(&[("a", None, Wait::At(10)), ("b", None, Wait::When("flow.cwnd > 5 kB"))]);
    assert_eq!(run.deadline_ms(), Some(10));
    run.look(1, &[(CWND, 1e3)]).look(10, &[]).look(11, &[(CWND, 6e3)]);
    assert_eq!(run.happened, [(10, "a".to_owned()), (11, "b".to_owned())]);
    assert!(run.watch.decided());
    let outcome = run.finish();
    assert!(outcome.passed());
    assert_eq!(outcome.steps[1].values[0].shown, "6 kB");
}

#[test]
fn a_step_waits_for_the_one_before_it() {
    let mut run = stepping(&[
        ("c", Some("b"), Wait::Later(ms(3))),
        ("b", Some("a"), Wait::When("flow.cwnd > 5 kB")),
        ("a", None, Wait::At(10)),
    ]);
    run.look(1, &[(CWND, 6e3)]);
    assert_eq!(run.happened, []);
    run.look(10, &[]);
    assert_eq!(run.happened, [(10, "a".to_owned()), (10, "b".to_owned())], "its condition is true already");
    assert_eq!(run.deadline_ms(), Some(13));
    run.look(13, &[]);
    assert_eq!(run.happened[2], (13, "c".to_owned()));
}

#[test]
fn a_step_may_come_round_trips_later() {
    let mut run = stepping(&[("a", None, Wait::At(0)), ("b", Some("a"), Wait::Later(Lapse::Rounds(2)))]);
    run.look(0, &[("flow.rounds", 4.0)]).look(1, &[("flow.rounds", 5.0)]).look(2, &[("flow.rounds", 6.0)]);
    assert_eq!(run.happened[1], (2, "b".to_owned()));
}

#[test]
fn a_step_that_does_not_happen_in_time_fails_the_case() {
    let mut run = Run::new(&Written {
        steps: vec![("a", None, Wait::Within("flow.cwnd > 5 kB", ms(10))), ("b", Some("a"), Wait::Later(ms(0)))],
        expectations: vec![
            Wanted { after: Some("b"), ..wanted(Quantifier::Always, "flow.cwnd > 0") },
            Wanted { until: Until::Step(0), ..wanted(Quantifier::Always, "flow.cwnd > 0") },
        ],
    });
    run.look(0, &[(CWND, 1e3)]);
    assert_eq!(run.deadline_ms(), Some(10));
    run.look(10, &[]);
    assert!(run.watch.decided());
    run.look(11, &[(CWND, 6e3)]);
    let outcome = run.finish();
    assert!(!outcome.passed());
    assert_eq!(
        outcome.steps[0].reason,
        "did not happen within 10 ms: at the end `flow.cwnd > 5 kB` is false: flow.cwnd is 1 kB"
    );
    assert_eq!(outcome.steps[1].reason, "comes after `a`, which did not happen");
    assert_eq!(verdicts(&run), [Verdict::NotJudged; 2]);
}

#[test]
fn steps_that_wait_for_a_missed_one_are_settled_at_the_same_look() {
    let mut run = stepping(&[
        ("c", Some("b"), Wait::Later(ms(1))),
        ("b", Some("a"), Wait::When("flow.cwnd > 0")),
        ("a", None, Wait::Within("flow.cwnd > 5 kB", ms(10))),
    ]);
    run.look(0, &[(CWND, 1e3)]).look(10, &[]);
    assert!(run.watch.decided());
    assert_eq!(run.finish().steps[0].reason, "comes after `b`, which did not happen");
}

#[test]
fn a_step_that_never_comes_true_is_told_and_no_pass() {
    let mut run = Run::new(&Written {
        steps: vec![("a", None, Wait::When("flow.srtt > 1 s"))],
        expectations: vec![Wanted { after: Some("a"), ..wanted(Quantifier::Then, "true") }],
    });
    run.look(0, &[]).look(9, &[]);
    assert!(!run.watch.decided());
    let outcome = run.finish();
    assert!(!outcome.passed());
    assert_eq!(outcome.steps[0].happened, None);
    assert!(outcome.steps[0].reason.starts_with("did not happen up to the end of the run"));
    assert_eq!(outcome.expectations[0].verdict, Verdict::NotJudged);
    assert_eq!(outcome.expectations[0].reason, "step `a` did not happen");
}

#[test]
fn nothing_is_armed_or_judged_before_the_flow_begins() {
    let mut run = Run::new(&Written {
        steps: vec![("a", None, Wait::When("bottleneck.queue == 0")), ("b", None, Wait::At(2))],
        expectations: vec![wanted(Quantifier::Always, "bottleneck.queue > 0")],
    })
    .not_begun();
    run.look(1, &[("bottleneck.queue", 0.0)]).look(2, &[]);
    assert_eq!(run.happened, [(2, "b".to_owned())]);
    run.begin();
    run.look(3, &[("bottleneck.queue", 5.0)]);
    assert_eq!(verdicts(&run), [Verdict::Met]);
}

#[test]
fn an_expectation_is_judged_between_its_steps() {
    let steps = vec![("a", None, Wait::At(10)), ("b", None, Wait::At(20))];
    let between = Wanted { after: Some("a"), until: Until::Step(1), ..wanted(Quantifier::Always, "flow.cwnd > 5 kB") };
    let judge = |values: &[(u64, f64)]| {
        let mut run = Run::new(&Written { steps: steps.clone(), expectations: vec![between] });
        for (at, cwnd) in values {
            run.look(*at, &[(CWND, *cwnd)]);
        }
        verdicts(&run)[0]
    };
    assert_eq!(judge(&[(5, 1e3), (10, 6e3), (20, 6e3), (25, 1e3)]), Verdict::Met);
    assert_eq!(judge(&[(5, 1e3), (10, 6e3), (20, 1e3), (25, 1e3)]), Verdict::NotMet, "its last look belongs to it");
    assert_eq!(judge(&[(10, 1e3), (20, 6e3)]), Verdict::NotMet, "its first look belongs to it");
}

#[test]
fn then_is_judged_when_the_step_happens_and_unless_excuses() {
    let mut run = Run::new(&Written {
        steps: vec![("a", None, Wait::When("flow.cwnd > 5 kB"))],
        expectations: vec![
            Wanted { after: Some("a"), ..wanted(Quantifier::Then, "flow.ssthresh == 7 kB") },
            Wanted { after: Some("a"), ..wanted(Quantifier::Then, "flow.ssthresh == 8 kB") },
            Wanted { after: Some("a"), unless: Some("flow.app_limited"), ..wanted(Quantifier::Then, "false") },
            Wanted { after: Some("a"), ..wanted(Quantifier::Then, "flow.rtt > 0") },
        ],
    });
    run.look(0, &[(CWND, 1.0), ("flow.ssthresh", 1.0)]);
    run.look(1, &[(CWND, 6e3), ("flow.ssthresh", 7e3), ("flow.app_limited", 1.0)]);
    assert!(run.watch.decided());
    assert_eq!(verdicts(&run), [Verdict::Met, Verdict::NotMet, Verdict::DoesNotApply, Verdict::NothingSampled]);
}

#[test]
fn functions_of_the_past_follow_the_step() {
    let mut run = Run::new(&Written {
        steps: vec![("a", None, Wait::At(10))],
        expectations: [
            "at('a', flow.cwnd) == 4 kB",
            "highest('a', flow.cwnd) == 8 kB",
            "lowest('a', flow.cwnd) == 2 kB",
            "near(mean('a', flow.cwnd), 4.5 kB, 0.01 %)",
            "total('a', flow.cwnd) == -2 kB",
            "near(since('a'), 40 ms, 0.01 %)",
            "rounds_since('a') == 3",
            "was(flow.cwnd) == 8 kB",
        ]
        .map(|text| Wanted { after: Some("a"), ..wanted(Quantifier::Eventually, text) })
        .to_vec(),
    });
    run.look(5, &[(CWND, 100e3), ("flow.rounds", 1.0)]).look(10, &[(CWND, 4e3)]);
    // 4 kB for 30 ms and 8 kB for 10 ms would be 5 kB; 4 kB, 20 ms of it, then 2 kB 10 ms, then 8 kB 10 ms: 4.5 kB.
    run.look(30, &[(CWND, 2e3)]).look(40, &[(CWND, 8e3)]).look(50, &[(CWND, 2e3), ("flow.rounds", 4.0)]);
    let outcome = run.finish();
    for found in &outcome.expectations {
        assert_eq!(found.verdict, Verdict::Met, "{found:#?}");
    }
}

#[test]
fn a_failing_conjunction_names_the_part_that_fails() {
    let mut run = expecting(&[wanted(
        Quantifier::Always,
        "flow.cwnd > 1 kB and near(flow.cc.max_bw, bottleneck.rate, 2 %) and flow.cwnd < 4 packets",
    )]);
    run.look(1, &[(CWND, 2e3), ("flow.cc.max_bw", 9.31e6), ("bottleneck.rate", 10e6), ("flow.smss", 1448.0)]);
    let found = run.finish().expectations.remove(0);
    assert_eq!(
        found.reason,
        "`near(flow.cc.max_bw, bottleneck.rate, 2 %)` is false: flow.cc.max_bw is 9.31 Mb/s, bottleneck.rate is 10 Mb/s"
    );
    let shown: Vec<&str> = found.values.iter().map(|value| value.shown.as_str()).collect();
    assert_eq!(shown, ["2 kB", "9.31 Mb/s", "10 Mb/s"]);
    run.look(2, &[]);
}

#[test]
fn segments_are_data_of_the_flow_that_counts_them() {
    let mut run = expecting(&[
        wanted(Quantifier::Eventually, "flows['s2'].cc.w_max == 14480 B"),
        wanted(Quantifier::Eventually, "flow.cwnd == 2 packets"),
    ]);
    run.look(0, &[("flows['s2'].cc.w_max", 10.0), ("flows['s2'].smss", 1448.0), (CWND, 2000.0), ("flow.smss", 1000.0)]);
    assert_eq!(verdicts(&run), [Verdict::Met; 2]);
}

#[test]
fn a_quotient_by_zero_has_no_value() {
    let mut run = expecting(&[wanted(Quantifier::Always, "flow.cwnd / flow.srtt > 1 b/s")]);
    run.look(0, &[(CWND, 1.0), ("flow.srtt", 0.0)]);
    assert_eq!(verdicts(&run), [Verdict::NothingSampled]);
}

#[test]
fn steps_and_expectations_are_told_in_words() {
    let run = Run::new(&Written {
        steps: vec![("a", None, Wait::Within("flow.cwnd > 5 kB", ms(10))), ("b", Some("a"), Wait::Later(ms(3)))],
        expectations: vec![Wanted { after: Some("b"), ..wanted(Quantifier::Never, "flow.cwnd == 0") }],
    });
    let what: Vec<String> = run.case.steps.iter().map(|step| step.what(&run.case)).collect();
    assert_eq!(what, ["when flow.cwnd > 5 kB, within 10 ms", "after a, 3 ms later"]);
    assert_eq!(run.case.expectations[0].what(&run.case), "after b: never flow.cwnd == 0");
}

/// A window that is the only variable.
struct Window(f64);

impl Values for Window {
    fn value(&self, _: VariableId) -> f64 {
        self.0
    }

    fn begun(&self) -> bool {
        true
    }
}

#[test]
fn a_recording_keeps_its_part_of_the_run_and_every_decisive_look() {
    let case = expecting(&[wanted(Quantifier::Never, "flow.cwnd == 7 B")]).case;
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let mut watch = Watch::new(case);
    watch.record(at(100), at(90_000));
    for ms in 0..100_000 {
        watch.look(at(ms), &Window(if ms == 50_001 { 7.0 } else { 20e3 }));
    }
    let series = watch.finish(at(100_000), &Window(20e3)).series.unwrap();
    assert!(series.columns.iter().all(|column| column.len() == series.times.len()));
    assert!((5_000..=20_000).contains(&series.times.len()), "{}", series.times.len());
    // Nothing is open after the failure, so there are no looks after it.
    let (first, last) = (series.times[0], *series.times.last().unwrap());
    assert_eq!((first, last), (at(100), at(50_001)));
    assert!(series.columns.iter().any(|column| (column.last().unwrap() - 7.0).abs() < 1e-9));
}

#[test]
fn nothing_is_recorded_unless_asked() {
    let run = expecting(&[wanted(Quantifier::Always, "flow.cwnd > 0 B")]);
    assert_eq!(run.finish().series, None);
}
