//! Queue disciplines from outside the registry: a row alone brings a discipline into files, their checks, their schema
//! and documents, both loops, samples and totals. Three toys stand for what real disciplines need: a timer (`ticker`),
//! sub-queues (`classes`), and packets that are held back (`gate`).

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod toys;

use narrows_queue::registry::registry;
use narrows_queue::{Disciplines, Row};
use narrows_samples::{Samples, Table};
use narrows_scenario::{Catalogue, Sampling, Scenario, parse, reference, schema};
use narrows_sim::{Options, Outcome, RunError, catalogue_with, run};
use proptest::prelude::*;

static ROWS: [&Row; 3] = [&toys::TICKER, &toys::CLASSES, &toys::GATE];
static OWN: Disciplines = Disciplines::with(&ROWS);

fn catalogue() -> Catalogue {
    catalogue_with(OWN)
}

/// Two pairs of hosts around a bottleneck with this queue; TCP of both pairs and UDP beside it.
fn text(queue: &str, more: &str) -> String {
    format!(
        "name = \"toy\"\nduration = \"3 s\"\nsampling = \"100 ms\"\n{more}\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"5 Mb/s\", delay = \"5 ms\", forward = {{ queue = {queue} }} }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n\
         [[flows]]\nname = \"low\"\nfrom = \"s1\"\nto = \"d1\"\n\
         [[flows]]\nname = \"high\"\nfrom = \"s2\"\nto = \"d2\"\ndscp = \"EF\"\nstart = \"500 ms\"\nstop = \"2 s\"\n\
         [[flows]]\nname = \"udp\"\nfrom = \"s1\"\nto = \"d2\"\nkind = \"udp\"\nrate = \"1 Mb/s\"\nstart = \"1 s\"\n"
    )
}

fn good(text: &str) -> Scenario {
    parse(text, "toy.toml", &[], &catalogue()).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn bad(queue: &str) -> String {
    parse(&text(queue, ""), "toy.toml", &[], &catalogue()).unwrap_err().to_string()
}

fn go(scenario: &Scenario, seed: u64, plain_loop: bool) -> Outcome {
    run(scenario, &Options { seed, plain_loop, disciplines: OWN, ..Options::default() }).unwrap()
}

/// The outcome of a scenario, which both loops have.
fn both(scenario: &Scenario, seed: u64) -> Outcome {
    let [lazy, plain] = [false, true].map(|plain_loop| go(scenario, seed, plain_loop));
    assert_eq!(lazy.samples, plain.samples);
    assert_eq!(lazy.digest(), plain.digest());
    lazy
}

#[test]
fn a_row_alone_brings_a_discipline_into_a_file() {
    let scenario = good(&text("{ kind = \"ticker\", target = \"4 ms\", gain = 2, limit = \"60 packets\" }", ""));
    let queue = &scenario.links[0].forward.queue;
    assert_eq!((queue.kind, queue.params.time("target").as_millis(), queue.params.number("gain")), ("ticker", 4, 2.0));
    let json = &scenario.to_json()["links"][0]["forward"]["queue"];
    assert_eq!(
        (&json["kind"], &json["target_ns"], &json["interval_ns"]),
        (&"ticker".into(), &4_000_000.into(), &15_000_000.into())
    );
    let toml = scenario.to_toml();
    assert!(
        toml.contains(
            "{ kind = \"ticker\", limit = \"60 packets\", interval = \"15 ms\", target = \"4 ms\", gain = 2.0 }"
        ),
        "{toml}"
    );
    assert_eq!(good(&toml), scenario);
    let classes = good(&text("{ kind = \"classes\", order = \"weak_first\" }", ""));
    assert_eq!(good(&classes.to_toml()), classes);
    assert_eq!(classes.links[0].forward.queue.params.choice("order"), "weak_first");
}

#[test]
fn what_is_wrong_with_a_parameter_is_said_as_for_any_field() {
    let field = "toy.toml:8: topology.bottleneck.forward.queue";
    for (queue, message) in [
        ("{ kind = \"ticker\", gain = -1 }", ".gain: -1 is out of range; allowed: a number from 0 to 100"),
        (
            "{ kind = \"ticker\", target = 5 }",
            ".target: 5 has no unit; allowed: a number and ns, us, ms, s, min or h, from 1 us to 10 s",
        ),
        (
            "{ kind = \"ticker\", targt = \"5 ms\" }",
            ".targt: is not a known key, did you mean `target`?; allowed: kind, limit, ",
        ),
        (
            "{ kind = \"ticker\", max_p = 0.1 }",
            ".max_p: 0.1 has no meaning for kind = \"ticker\"; allowed: only with kind = \"red\"",
        ),
        (
            "{ kind = \"red\", gain = 1 }",
            ".gain: 1 has no meaning for kind = \"red\"; allowed: only with kind = \"ticker\"",
        ),
        (
            "{ kind = \"classes\", order = \"strog_first\" }",
            ".order: \"strog_first\" is not one of the allowed words, did you mean `strong_first`?; allowed: \"strong_first\" or \"weak_first\"",
        ),
        (
            "{ kind = \"tiker\" }",
            ".kind: \"tiker\" is not one of the allowed words, did you mean `ticker`?; allowed: \"droptail\", \"red\", ",
        ),
        (
            "{ kind = \"ticker\", target = \"20 ms\" }",
            ".target: \"20 ms\" is above the interval; allowed: at most 15 ms",
        ),
        (
            "{ kind = \"ticker\", interval = \"1 ms\" }",
            ".target: the default is above the interval; allowed: at most 1 ms",
        ),
    ] {
        let said = bad(queue);
        assert!(said.starts_with(&format!("{field}{message}")) && said.lines().count() == 1, "{queue}:\n{said}");
    }
}

#[test]
fn parameters_of_one_name_are_each_disciplines_own() {
    // `interval` of the gate is above 100 ms, that of the ticker is at most 10 s: the values of another discipline in
    // the tables below are neither taken nor refused.
    let below = "[queue]\nkind = \"ticker\"\ninterval = \"90 ms\"\ntarget = \"80 ms\"\n";
    let scenario = good(&text("{ kind = \"gate\" }", below));
    assert_eq!(scenario.links[0].forward.queue.params.time("interval").as_millis(), 200);
    assert_eq!(scenario.links[1].forward.queue.params.time("interval").as_millis(), 90);
    let said = bad("{ kind = \"gate\", interval = \"90 ms\" }");
    assert!(said.contains(".queue.interval: \"90 ms\" is too small"), "{said}");
}

#[test]
fn schema_and_documents_follow_the_row() {
    let known = schema(&catalogue());
    let schema = &known["$defs"]["queue"];
    let kinds: Vec<_> =
        schema["properties"]["kind"]["oneOf"].as_array().unwrap().iter().map(|one| &one["const"]).collect();
    let names: Vec<_> = registry().iter().map(|row| row.about.name).chain(["ticker", "classes", "gate"]).collect();
    assert_eq!(kinds, names);
    assert_eq!(schema["properties"]["gain"]["description"], "Gain of the controller. Default: 1.");
    assert_eq!(schema["properties"]["interval"]["anyOf"].as_array().unwrap().len(), 3);
    let rule =
        schema["allOf"].as_array().unwrap().iter().find(|rule| rule["if"]["properties"]["kind"]["const"] == "ticker");
    let refused = rule.unwrap()["then"]["properties"].as_object().unwrap();
    assert!(refused.contains_key("order") && refused.contains_key("max_p") && !refused.contains_key("gain"));
    let page = reference(&catalogue());
    assert!(
        page.contains("| `gain` | a number from 0 to 100 | `1` | Gain of the controller. Only for `ticker`. |"),
        "{page}"
    );
    assert!(page.contains("- `classes`: two queues, by DSCP") && page.contains("- `strong_first`: "), "{page}");
    let listed = catalogue().to_json();
    assert_eq!(listed["queues"][registry().len()]["parameters"][1]["default"], 0.015);
}

#[test]
fn an_engine_without_the_discipline_refuses_the_run() {
    let scenario = good(&text("{ kind = \"ticker\" }", ""));
    match run(&scenario, &Options::default()) {
        Err(RunError::Queue(error)) => {
            let names: Vec<_> = registry().iter().map(|row| row.about.name).collect();
            assert_eq!(error.to_string(), format!("queue \"ticker\" is unknown; allowed: {}", names.join(", ")));
        }
        other => panic!("{:?}", other.map(|outcome| outcome.events)),
    }
}

#[test]
fn a_timer_fires_at_its_time_however_seldom_the_queue_is_looked_at() {
    let scenario = good(&text("{ kind = \"ticker\", target = \"3 ms\" }", ""));
    let outcome = both(&scenario, 1);
    let totals = outcome.samples.queue_totals.row(0).unwrap();
    assert!(totals.dropped_early > 20, "{totals:?}");
    // Time by time: an interval of another length, however little, makes another run.
    let digest = |interval: &str| {
        let queue = format!("{{ kind = \"ticker\", target = \"3 ms\", interval = \"{interval}\" }}");
        both(&good(&text(&queue, "")), 1).digest().unwrap()
    };
    assert_eq!(digest("15 ms"), outcome.digest().unwrap());
    assert_ne!(digest("15.01 ms"), outcome.digest().unwrap());
}

#[test]
fn a_timer_sees_the_rate_that_a_change_brings() {
    for at in ["1.005 s", "1.0050001 s"] {
        let list = format!(
            "[{{ at = \"{at}\", rate = \"1 Mb/s\" }}, {{ at = \"2 s\", rate = \"9 Mb/s\", delay = \"1 ms\" }}]"
        );
        let overrides = [("topology.bottleneck.changes".to_owned(), list)];
        let scenario = parse(&text("{ kind = \"ticker\" }", ""), "toy.toml", &overrides, &catalogue()).unwrap();
        both(&scenario, 3);
    }
}

#[test]
fn a_discipline_that_holds_packets_back_is_asked_again_when_its_timer_fires() {
    let outcome = both(&good(&text("{ kind = \"gate\", interval = \"200 ms\", limit = \"500 packets\" }", "")), 1);
    let totals = outcome.samples.queue_totals.row(0).unwrap();
    assert!(totals.forwarded_packets > 200 && totals.delay_max_ns > 90_000_000, "{totals:?}");
    // The gate is shut for the first half of each interval, and samples at its end see nothing leave since its start.
    let rows = outcome.samples.queues.unpack().unwrap();
    let forwarded = |ms: u64| {
        let at = (0..rows.time_ns.len()).find(|&i| rows.queue[i] == 0 && rows.time_ns[i] == ms * 1_000_000);
        rows.forwarded_packets[at.unwrap()]
    };
    for start in (0..2_800).step_by(200) {
        assert!(forwarded(start + 100) <= forwarded(start) + 1, "{start} ms");
        assert!(start < 600 || forwarded(start + 200) > forwarded(start + 100), "{start} ms");
    }
}

#[test]
fn sub_queues_reach_samples_and_totals() {
    let outcome = both(&good(&text("{ kind = \"classes\", limit = \"30 packets\" }", "")), 1);
    let samples = &outcome.samples;
    assert_eq!(samples.subqueue_names, ["strong", "weak"]);
    let [strong, weak] = [0, 1].map(|index| samples.subqueue_totals.row(index).unwrap());
    let whole = samples.queue_totals.row(0).unwrap();
    assert_eq!([strong.queue, strong.subqueue, weak.queue, weak.subqueue], [0, 0, 0, 1]);
    assert_eq!(strong.arrived_packets + weak.arrived_packets, whole.arrived_packets);
    assert_eq!(strong.forwarded_bytes + weak.forwarded_bytes, whole.forwarded_bytes);
    assert_eq!(strong.dropped_overflow + weak.dropped_overflow, whole.dropped_overflow);
    assert_eq!(strong.waiting_packets + weak.waiting_packets, whole.waiting_packets);
    assert_eq!(strong.delay_samples + weak.delay_samples, whole.delay_samples);
    assert!(weak.dropped_overflow > 0 && strong.arrived_packets > 100, "{strong:?} {weak:?}");
    assert!(strong.delay_max_ns < weak.delay_max_ns, "the strong are served first");
    let rows = samples.subqueues.unpack().unwrap();
    let whole = samples.queues.unpack().unwrap();
    for i in (0..whole.time_ns.len()).filter(|&i| whole.queue[i] == 0) {
        let at: Vec<_> = (0..rows.time_ns.len()).filter(|&j| rows.time_ns[j] == whole.time_ns[i]).collect();
        assert_eq!(at.iter().map(|&j| rows.packets[j]).sum::<u64>(), whole.packets[i]);
        assert_eq!(at.iter().map(|&j| rows.bytes[j]).sum::<u64>(), whole.bytes[i]);
        assert_eq!(at.iter().map(|&j| rows.forwarded_bytes[j]).sum::<u64>(), whole.forwarded_bytes[i]);
    }
    let first = (0..rows.time_ns.len()).find(|&j| rows.subqueue[j] == 0).unwrap();
    assert_eq!(rows.time_ns[first], 600_000_000, "the first packet of the strong comes after 500 ms");
}

#[test]
fn samples_of_events_have_a_row_for_each_change_of_a_sub_queue() {
    let scenario = Scenario { sampling: Sampling::Events, ..good(&text("{ kind = \"classes\" }", "")) };
    let outcome = go(&scenario, 1, false);
    let rows = outcome.samples.subqueues.unpack().unwrap();
    assert!(rows.time_ns.len() > 1000, "{} rows", rows.time_ns.len());
    let last = |subqueue| {
        let row = (0..rows.time_ns.len()).rev().find(|&j| rows.subqueue[j] == subqueue);
        rows.forwarded_packets[row.unwrap()]
    };
    let last = [last(0), last(1)];
    let totals = &outcome.samples.subqueue_totals.forwarded_packets;
    assert!(last.iter().zip(totals).all(|(seen, total)| seen <= total && seen + 2 >= *total), "{last:?} {totals:?}");
}

#[test]
fn runs_without_sub_queues_have_no_rows_of_them() {
    for queue in ["{ kind = \"ticker\" }", "{ kind = \"red\" }", "{}"] {
        let samples = both(&good(&text(queue, "")), 1).samples;
        assert!(samples.subqueue_totals.queue.is_empty() && samples.subqueue_names.is_empty(), "{queue}");
    }
}

#[test]
fn a_channel_serves_timers_and_sub_queues_too() {
    let channel = |queue: &str| {
        format!(
            "duration = \"2 s\"\nsampling = \"100 ms\"\nnodes = [{{ name = \"ap\", kind = \"router\" }}, {{ name = \"a\" }}, {{ name = \"b\" }}]\n\
             [wifi]\nbase = \"ap\"\nstations = [\"a\", \"b\"]\nphy = \"802.11b\"\nqueue = {queue}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\n[[flows]]\nfrom = \"b\"\nto = \"a\"\ndscp = 46\n"
        )
    };
    let ticker = both(&good(&channel("{ kind = \"ticker\", target = \"1 ms\" }")), 2).samples;
    assert!(ticker.queue_totals.dropped_early.iter().sum::<u64>() > 5, "{:?}", ticker.queue_totals.dropped_early);
    let classes = both(&good(&channel("{ kind = \"classes\" }")), 2).samples;
    assert_eq!(classes.subqueue_totals.queue, [0, 0, 1, 1, 2, 2]);
    for (queue, total) in classes.queue_totals.forwarded_packets.iter().enumerate() {
        let of: u64 = (2 * queue..2 * queue + 2).map(|i| classes.subqueue_totals.forwarded_packets[i]).sum();
        assert_eq!(of, *total);
    }
}

/// Names of the registry's disciplines and of the toys.
fn all_names() -> Vec<&'static str> {
    registry().iter().map(|row| row.about.name).chain(["ticker", "classes", "gate"]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Rates, intervals and packets such that timers, departures and arrivals meet at one nanosecond.
    #[test]
    fn both_loops_agree_whenever_timers_fire(
        kind in prop::sample::select(all_names()),
        interval in prop::sample::select(&["200 ms", "1 ms", "999999 ns", "100001 us"][..]),
        rate in prop::sample::select(&["8 Mb/s", "1 Mb/s", "10 Tb/s"][..]),
        sampling in prop::sample::select(&["off", "1 ms", "77 ms"][..]),
        payload in prop::sample::select(&["97 B", "972 B"][..]),
        seed in 0_u64..1_000,
    ) {
        let params = match (kind, interval) {
            ("gate", "200 ms" | "100001 us") => format!(", interval = \"{interval}\""),
            ("ticker", _) => format!(", interval = \"{interval}\", target = \"999 us\""),
            ("tbf" | "policer", "200 ms") => ", rate = \"1 Mb/s\", burst = \"1500 B\"".to_owned(),
            ("dualpi2", _) => format!(", tupdate = \"{interval}\", target = \"1 ms\", step_thresh = \"1 ms\""),
            ("cake", "200 ms") => ", bandwidth = \"999983 b/s\", overhead = 18.0".to_owned(),
            ("fq", "200 ms") => ", maxrate = \"500 kb/s\"".to_owned(),
            ("cobalt", _) => format!(", interval = \"{interval}\", target = \"100 us\", increment = 0.2"),
            ("tbf", _) => ", rate = \"999983 b/s\", burst = \"3 kB\", peakrate = \"2 Mb/s\"".to_owned(),
            _ => String::new(),
        };
        let text = format!(
            "name = \"ties\"\nduration = \"700 ms\"\nsampling = \"{sampling}\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"1 ms\", queue = {{ kind = \"{kind}\"{params} }}, per = 0.01 }}\n\
             access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n\
             [[flows]]\nname = \"a\"\nfrom = \"s1\"\nto = \"d1\"\nkind = \"udp\"\nrate = \"1 Mb/s\"\npayload = \"{payload}\"\ndscp = 46\n\
             [[flows]]\nname = \"b\"\nfrom = \"s2\"\nto = \"d2\"\nkind = \"bulk\"\nsize = \"100 kB\"\n"
        );
        both(&good(&text), seed);
    }
}

#[test]
fn disciplines_with_a_target_keep_the_queue_short_and_are_the_same_in_both_loops() {
    let totals = |queue: &str| both(&good(&text(queue, "")), 1).samples;
    let mean = |samples: &Samples| {
        let total = samples.queue_totals.row(0).unwrap();
        total.delay_sum_ns / total.delay_samples
    };
    let tail = totals("{ kind = \"droptail\", limit = \"200 packets\" }");
    for queue in [
        "{ kind = \"codel\", limit = \"200 packets\" }",
        "{ kind = \"codel\", limit = \"200 packets\", profile = \"linux\" }",
        "{ kind = \"fq_codel\", limit = \"1000 packets\" }",
        "{ kind = \"cobalt\", limit = \"200 packets\" }",
        "{ kind = \"cobalt\", limit = \"200 packets\", profile = \"exact\" }",
        "{ kind = \"cake\", limit = \"1000 packets\" }",
        "{ kind = \"dualpi2\", limit = \"200 packets\" }",
        "{ kind = \"dualpi2\", limit = \"200 packets\", profile = \"linux\", l4s_aqm = \"ramp\", drop_early = true }",
        "{ kind = \"fq_codel\", limit = \"60 packets\", flows = 2, drop_batch = 4, profile = \"linux\" }",
    ] {
        let samples = totals(queue);
        let total = samples.queue_totals.row(0).unwrap();
        assert!(total.dropped_early > 3, "{queue}: {total:?}");
        assert!(mean(&samples) < mean(&tail) / 3, "{queue}: {} and {} ns", mean(&samples), mean(&tail));
    }
}

#[test]
fn fq_codel_keeps_a_slow_flow_apart_from_those_that_fill_the_link() {
    let samples = both(&good(&text("{ kind = \"fq_codel\", limit = \"1000 packets\" }", "")), 1).samples;
    let of_forward: Vec<_> = (0..samples.subqueue_totals.len())
        .filter_map(|row| samples.subqueue_totals.row(row))
        .filter(|total| total.queue == 0)
        .collect();
    assert_eq!(of_forward.len(), 3, "a sub-queue for each flow");
    // The slow one is the one that loses nothing; two packets of others may be sent before its own.
    let slow: Vec<_> = of_forward.iter().filter(|total| total.dropped_early + total.dropped_overflow == 0).collect();
    assert_eq!(slow.len(), 1, "{of_forward:?}");
    assert!(slow[0].delay_p99_ns < 8_000_000, "{slow:?}");
    assert!(of_forward.iter().any(|total| total.delay_p99_ns > 20_000_000), "{of_forward:?}");
}

/// One TCP flow for 10 s over 100 Mb/s with this queue; the round-trip time is 24 ms without queues.
fn fast(queue: &str) -> Scenario {
    good(&format!(
        "name = \"fast\"\nduration = \"10 s\"\nsampling = \"1 s\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"100 Mb/s\", delay = \"10 ms\", forward = {{ queue = {queue} }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\", queue = {{ limit = \"1000 packets\" }} }}\n\
         [[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"
    ))
}

/// Bytes that left the first queue up to this second.
fn forwarded(samples: &Samples, second: u64) -> u64 {
    let rows = samples.queues.unpack().unwrap();
    let at = (0..rows.time_ns.len()).find(|&i| rows.queue[i] == 0 && rows.time_ns[i] == second * 1_000_000_000);
    rows.forwarded_bytes[at.unwrap()]
}

#[test]
fn a_shaper_gives_a_flow_exactly_its_rate_with_a_queue() {
    let samples = both(&fast("{ kind = \"tbf\", rate = \"10 Mb/s\", limit = \"50 kB\" }"), 1).samples;
    let total = samples.queue_totals.row(0).unwrap();
    // 1.25 MB a second; a packet more or less where the second ends within one.
    for second in 3..10 {
        let bytes = forwarded(&samples, second + 1) - forwarded(&samples, second);
        assert!(bytes.abs_diff(1_250_000) <= 1_500, "second {second}: {bytes} B");
    }
    assert!(total.dropped_overflow > 0 && total.dropped_forced + total.dropped_early == 0, "{total:?}");
    // The queue holds 40 ms at the shaper's rate; the packets of a full bucket do not wait.
    assert_eq!((total.max_packets, total.max_bytes), (33, 49_500), "of 1500 bytes in 50 kB, though the link is idle");
    assert!(total.delay_p50_ns > 10_000_000 && total.delay_max_ns <= 41_200_000, "{total:?}");
}

#[test]
fn a_policer_holds_a_flow_to_its_rate_by_forced_drops_and_without_a_queue() {
    let samples = both(&fast("{ kind = \"policer\", rate = \"10 Mb/s\", limit = \"1000 packets\" }"), 1).samples;
    let total = samples.queue_totals.row(0).unwrap();
    // 10 s at 10 Mb/s, and the bucket, which is full at the start: 100 ms at the rate.
    assert!(total.forwarded_bytes <= 12_500_000 + 125_000, "{total:?}");
    assert!(total.forwarded_bytes > 6_000_000, "{total:?}");
    assert!(total.dropped_forced > 20 && total.dropped_overflow + total.dropped_early == 0, "{total:?}");
    assert!(total.delay_p95_ns < 5_000_000, "{total:?}");
}

#[test]
fn buckets_are_the_same_in_both_loops_and_tell_reasons_apart() {
    let totals = |queue: &str, more: &str| both(&good(&text(queue, more)), 1).samples.queue_totals.row(0).unwrap();
    let peak = totals("{ kind = \"tbf\", rate = \"3 Mb/s\", burst = \"30 kB\", peakrate = \"4 Mb/s\" }", "");
    assert!(peak.forwarded_bytes <= 30_000 + 1_125_000 && peak.dropped_forced == 0, "{peak:?}");
    let both_reasons = totals("{ kind = \"policer\", rate = \"4 Mb/s\", limit = \"15 ms\" }", "");
    assert!(both_reasons.dropped_forced > 0 && both_reasons.dropped_overflow > 0, "{both_reasons:?}");
    let marks = totals("{ kind = \"policer\", rate = \"3 Mb/s\", exceed = \"mark\" }", "[tcp]\necn = true\n");
    assert!(marks.marked > 20 && marks.dropped_forced > 0, "UDP is not capable: {marks:?}");
}
