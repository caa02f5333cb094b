//! Steps of a test case do to a run what they say, and expectations are judged by what the run shows.

#![allow(clippy::unwrap_used, clippy::float_cmp, missing_docs)]

#[path = "common/cases.rs"]
mod cases;
mod common;

use cases::{
    BULK, TestExpectation, TestStep, Wait, bottleneck, case_of, data, decided, flow, happened, listened, network, next,
    parsed, whole, with_case,
};
use common::assert_conserved;
use narrows_queue::Dropped;
use narrows_sim::{Options, Outcome, Packets, run};
use narrows_timeline::{
    Action, Aggregation, Filter, Lapse, Pick, Policer, Quantifier, Selection, Side, Until, Verdict,
};
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use narrows_wifi::{Frame, Mpdu};
use narrows_wire::{Ecn, Packet};
use std::sync::{Arc, Mutex};

const ALWAYS: Quantifier = Quantifier::Always;
const NEVER: Quantifier = Quantifier::Never;
const EVENTUALLY: Quantifier = Quantifier::Eventually;
const THEN: Quantifier = Quantifier::Then;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// A step at a time.
fn at(ms: u64, action: Action) -> TestStep {
    ("step", None, Wait::At(ms), vec![action])
}

fn set(rate: Option<Rate>, delay: Option<Duration>, per: Option<Probability>) -> Action {
    Action::Set { edges: vec![bottleneck(&network(BULK), Side::Forward)], rate, delay, per }
}

fn drop(selection: Selection) -> Action {
    Action::Drop { edge: bottleneck(&network(BULK), Side::Forward), filter: data(), selection }
}

/// Row of the bottleneck's forward direction.
fn forward(outcome: &Outcome) -> narrows_samples::QueueTotal {
    let index = outcome.samples.queue_names.iter().position(|name| name == "r1->r2").unwrap();
    outcome.samples.queue_totals.row(index).unwrap()
}

/// Verdict of each expectation.
fn verdicts(outcome: &Outcome) -> Vec<Verdict> {
    case_of(outcome).expectations.iter().map(|found| found.verdict).collect()
}

/// Data packets of the bottleneck's forward direction: when each is sent, and those that are dropped or marked.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<(Instant, u64)>,
    dropped: Vec<(Instant, u64)>,
    marked: usize,
}

#[derive(Debug)]
struct Listener {
    edge: usize,
    seen: Mutex<Seen>,
}

fn sequence(packet: &Packet) -> Option<u64> {
    packet.tcp().filter(|_| packet.payload_len > 0).map(|tcp| tcp.seq.as_u32().into())
}

impl Packets for Listener {
    fn departed(&self, edge: usize, packet: &Packet, at: Instant) {
        let mut seen = self.seen.lock().unwrap();
        if let (true, Some(number)) = (edge == self.edge, sequence(packet)) {
            seen.sent.push((at, number));
            seen.marked += usize::from(packet.ip.ecn() == Ecn::Ce);
        }
    }
    fn dropped(&self, edge: usize, dropped: &Dropped, at: Instant) {
        if let (true, Some(number)) = (edge == self.edge, sequence(&dropped.packet)) {
            self.seen.lock().unwrap().dropped.push((at, number));
        }
    }
    fn corrupted(&self, _edge: usize, _packet: &Packet, _at: Instant) {}
    fn frame(&self, _channel: usize, _frame: &Frame, _mpdus: &[Mpdu]) {}
}

/// Runs with a step, and returns what the bottleneck did with data packets.
fn seen(text: &str, steps: &[TestStep]) -> (Outcome, Seen) {
    let edge = bottleneck(text, Side::Forward);
    let listener = Arc::new(Listener { edge: 2 * edge.link, seen: Mutex::default() });
    let scenario = with_case(text, steps, &[]);
    let outcome = listened(&scenario, &(Arc::clone(&listener) as Arc<dyn Packets>));
    assert_conserved(&outcome);
    let seen = std::mem::take(&mut *listener.seen.lock().unwrap());
    (outcome, seen)
}

/// Data packets that the bottleneck sent from `from` to `to`, in milliseconds.
fn sent_between(seen: &Seen, from: u64, to: u64) -> usize {
    seen.sent.iter().filter(|(at, _)| (at_ms(from)..at_ms(to)).contains(at)).count()
}

/// Little enough data that the queue never overflows.
fn small() -> String {
    network(&format!("{BULK}tcp = {{ recv_buffer = \"30 kB\" }}\n"))
}

#[test]
fn the_next_data_packets_are_dropped_and_no_others() {
    let (outcome, seen) = seen(&small(), &[at(2_000, drop(next(3)))]);
    assert_eq!(seen.dropped.len(), 3);
    let steps = seen.dropped.windows(2).map(|pair| pair[1].1 - pair[0].1);
    assert!(steps.eq([1448, 1448]), "consecutive segments: {:?}", seen.dropped);
    assert!(seen.dropped.iter().all(|(at, _)| (at_ms(2_000)..at_ms(2_030)).contains(at)));
    assert_eq!(forward(&outcome).dropped_forced, 3);
    let flow = outcome.samples.flow_totals.row(0).unwrap();
    assert_eq!((flow.lost_packets, flow.timeouts), (3, 0));
    assert!((3..=4).contains(&flow.retransmitted_packets));
}

#[test]
fn every_twentieth_of_the_next_packets_is_dropped() {
    let every = Selection { pick: Pick::Every(20), packets: Some(100), time: None };
    let (outcome, _) = seen(&small(), &[at(2_000, drop(every))]);
    assert_eq!(forward(&outcome).dropped_forced, 5);
}

#[test]
fn a_share_of_the_packets_of_a_time_is_dropped_as_the_seed_says() {
    let share = || Selection {
        pick: Pick::Share(Probability::new(0.05).unwrap()),
        packets: None,
        time: Some(Lapse::Time(ms(1_000))),
    };
    let (outcome, first) = seen(&small(), &[at(2_000, drop(share()))]);
    let (_, second) = seen(&small(), &[at(2_000, drop(share()))]);
    assert_eq!(first.dropped, second.dropped);
    assert!(first.dropped.iter().all(|(at, _)| (at_ms(2_000)..at_ms(3_000)).contains(at)));
    assert!((5..80).contains(&first.dropped.len()), "{}", first.dropped.len());
    assert_eq!(forward(&outcome).dropped_forced, first.dropped.len() as u64);
}

#[test]
fn a_drop_of_a_round_trip_ends_with_it() {
    let all = Selection { pick: Pick::Every(4), packets: None, time: Some(Lapse::Rounds(3)) };
    let (_, seen) = seen(&small(), &[at(2_000, drop(all))]);
    let times: Vec<_> = seen.dropped.iter().map(|(at, _)| *at).collect();
    // A round trip takes 21 ms, and the first of the three is under way.
    assert!((4..=9).contains(&times.len()), "{times:?}");
    assert!(times.iter().all(|at| *at < at_ms(2_080)), "{times:?}");
}

#[test]
fn packets_of_another_flow_are_not_dropped() {
    let text = network(&format!("{BULK}[[flows]]\nname = \"s2\"\nfrom = \"s2\"\nto = \"d2\"\n"));
    let mut few = text.clone();
    few.push_str("tcp = { recv_buffer = \"20 kB\" }\n");
    let other = Filter::Flow(narrows_timeline::FlowRef { index: 1, name: "s2".into() });
    let action = Action::Drop { edge: bottleneck(&text, Side::Forward), filter: other, selection: next(2) };
    let outcome = whole(&with_case(&small(), &[], &[]));
    assert_eq!(outcome.samples.flow_totals.row(0).unwrap().lost_packets, 0);
    let outcome = whole(&with_case(&few, &[at(100, action)], &[]));
    assert_eq!(forward(&outcome).dropped_forced, 2);
    assert!(outcome.samples.flow_totals.row(1).unwrap().lost_packets >= 2);
    assert_conserved(&outcome);
}

#[test]
fn acks_on_the_way_back_are_dropped_too() {
    let text = small();
    let action = Action::Drop { edge: bottleneck(&text, Side::Reverse), filter: data(), selection: next(4) };
    let outcome = whole(&with_case(&text, &[at(2_000, action)], &[]));
    let back = outcome.samples.queue_names.iter().position(|name| name == "r2->r1").unwrap();
    assert_eq!(outcome.samples.queue_totals.row(back).unwrap().dropped_forced, 4);
    assert_conserved(&outcome);
}

#[test]
fn the_next_packets_are_marked() {
    let text = small().replace("recv_buffer", "ecn = true, recv_buffer");
    let mark = Action::Mark { edge: bottleneck(&text, Side::Forward), filter: data(), selection: next(2) };
    let (outcome, seen) = seen(&text, &[at(2_000, mark)]);
    assert_eq!((seen.marked, seen.dropped.len(), forward(&outcome).marked), (2, 0, 2));
    assert_eq!(outcome.samples.flow_totals.row(0).unwrap().ecn_reductions, 1);
}

#[test]
fn late_packets_are_overtaken_and_none_is_lost() {
    let text = small();
    let edge = bottleneck(&text, Side::Forward);
    let late = Action::Reorder { edge: edge.clone(), filter: data(), packets: 1, by: ms(8) };
    let outcome = whole(&with_case(&text, &[at(2_000, late)], &[]));
    let index =
        outcome.samples.impairment_totals.queue.iter().position(|queue| *queue == 2 * edge.link as u64).unwrap();
    assert_eq!(outcome.samples.impairment_totals.reordered[index], 1);
    assert_eq!(outcome.samples.flow_totals.row(0).unwrap().lost_packets, 0);
    assert_conserved(&outcome);
}

#[test]
fn a_new_rate_holds_from_the_step_on() {
    let slow = set(Some(Rate::mbps(2)), None, None);
    let (_, seen) = seen(&network(BULK), &[at(4_000, slow)]);
    // 10 Mb/s are 833 packets of 1500 bytes a second.
    assert!((830..=834).contains(&sent_between(&seen, 3_000, 4_000)));
    assert!((164..=168).contains(&sent_between(&seen, 4_000, 5_000)), "{}", sent_between(&seen, 4_000, 5_000));
}

#[test]
fn a_new_delay_and_a_new_loss_hold_from_the_step_on() {
    let text = network(BULK);
    let steps = [
        ("slower", None, Wait::At(2_000), vec![set(None, Some(ms(60)), None)]),
        ("lossy", None, Wait::At(4_000), vec![set(None, None, Some(Probability::new(1.0).unwrap()))]),
    ];
    let wanted = [
        (THEN, "path.rtt < 21 ms and path.rate == 10 Mb/s", Some("slower"), Until::End),
        (
            EVENTUALLY,
            "path.rtt > 70 ms and path.rtt < 71 ms and path.bdp > 87 kB",
            Some("slower"),
            Until::Lapse(Lapse::Time(ms(200))),
        ),
        (EVENTUALLY, "flow.rtt > 70 ms", Some("slower"), Until::Lapse(Lapse::Time(ms(200)))),
        (EVENTUALLY, "flow.timeouts > 0 and flow.phase == 'loss'", Some("lossy"), Until::End),
        (ALWAYS, "flow.timeouts == 0", None, Until::Step(1)),
    ];
    let outcome = whole(&with_case(&text, &steps, &wanted));
    assert_eq!(verdicts(&outcome), [Verdict::Met; 5], "{:?}", case_of(&outcome));
    assert!(forward(&outcome).corrupted > 5);
    assert_conserved(&outcome);
}

#[test]
fn a_policer_drops_what_exceeds_it_until_it_is_off() {
    let text = network(BULK);
    let edge = bottleneck(&text, Side::Forward);
    let rule = Some(Policer { rate: Rate::mbps(2), burst: Bytes::new(15_000) });
    let steps = [
        ("on", None, Wait::At(3_000), vec![Action::Police { edge: edge.clone(), rule }]),
        ("off", None, Wait::At(7_000), vec![Action::Police { edge, rule: None }]),
    ];
    let (outcome, seen) = seen(&text, &steps);
    let policed = sent_between(&seen, 4_000, 7_000);
    // 2 Mb/s are 500 packets in 3 s, and TCP loses some of that.
    assert!((250..=512).contains(&policed), "{policed}");
    assert!(sent_between(&seen, 9_000, 10_000) > 600, "{}", sent_between(&seen, 9_000, 10_000));
    assert!(forward(&outcome).dropped_forced > 10);
    assert!(seen.dropped.iter().all(|(at, _)| *at < at_ms(7_000) || *at > at_ms(7_500)));
}

#[test]
fn bursts_begin_and_end() {
    let text = small();
    let back = bottleneck(&text, Side::Reverse);
    let rule = Some(Aggregation { packets: 6, time: ms(50), acks: false });
    let steps = [
        ("on", None, Wait::At(2_000), vec![Action::Aggregate { edge: back.clone(), rule }]),
        ("off", None, Wait::At(3_000), vec![Action::Aggregate { edge: back.clone(), rule: None }]),
    ];
    let outcome = whole(&with_case(&text, &steps, &[]));
    let totals = &outcome.samples.impairment_totals;
    let index = totals.queue.iter().position(|queue| *queue == 2 * back.link as u64 + 1).unwrap();
    // The flow has 30 kB under way: 21 segments and half as many ACKs a round trip.
    assert!((50..1_000).contains(&totals.held[index]), "{}", totals.held[index]);
    assert_conserved(&outcome);
}

#[test]
fn a_paused_application_writes_nothing_and_a_resumed_one_again() {
    let steps = [
        ("pause", None, Wait::At(3_000), vec![Action::Pause(vec![flow()])]),
        ("resume", Some("pause"), Wait::Later(Lapse::Time(ms(2_000))), vec![Action::Resume(vec![flow()])]),
    ];
    let wanted = [
        (EVENTUALLY, "flow.idle and flow.inflight == 0 B", Some("pause"), Until::Lapse(Lapse::Time(ms(1_000)))),
        (EVENTUALLY, "flow.app_limited", Some("resume"), Until::Lapse(Lapse::Time(ms(100)))),
    ];
    let text = network(BULK);
    let outcome = whole(&with_case(&text, &steps, &wanted));
    assert_eq!(verdicts(&outcome), [Verdict::Met; 2], "{:?}", case_of(&outcome));
    assert_eq!((happened(&outcome, 0), happened(&outcome, 1)), (3.0, 5.0));
    let (_, seen) = seen(&text, &steps);
    assert_eq!(sent_between(&seen, 3_150, 5_000), 0, "a full queue drains in 120 ms");
    assert!(sent_between(&seen, 5_100, 6_100) > 300);
}

#[test]
fn a_pause_of_a_bounded_transfer_loses_none_of_it() {
    let text = network(&format!("{BULK}size = \"3 MB\"\n"));
    let steps = [
        ("pause", None, Wait::At(1_000), vec![Action::Pause(vec![flow()])]),
        ("resume", Some("pause"), Wait::Later(Lapse::Time(ms(500))), vec![Action::Resume(vec![flow()])]),
        (
            "slow",
            Some("resume"),
            Wait::Later(Lapse::Time(ms(500))),
            vec![Action::AppRate(vec![flow()], Some(Rate::mbps(4)))],
        ),
        ("fast", Some("slow"), Wait::Later(Lapse::Time(ms(500))), vec![Action::AppRate(vec![flow()], None)]),
    ];
    let outcome = whole(&with_case(&text, &steps, &[]));
    let total = outcome.samples.flow_totals.row(0).unwrap();
    assert_eq!(total.delivered_bytes, 3_000_000);
    // 2.4 s at 10 Mb/s, and half a second twice that is paused or slow.
    assert!((2_900_000_000..3_700_000_000).contains(&total.finished_ns), "{}", total.finished_ns);
}

#[test]
fn an_application_s_rate_is_limited_and_let_go() {
    let steps = [
        ("limit", None, Wait::At(3_000), vec![Action::AppRate(vec![flow()], Some(Rate::mbps(1)))]),
        ("free", None, Wait::At(6_000), vec![Action::AppRate(vec![flow()], None)]),
    ];
    let (_, seen) = seen(&network(BULK), &steps);
    // 1 Mb/s of payload in segments of 1448 bytes: 86.3 a second.
    assert!((86..=87).contains(&sent_between(&seen, 4_000, 5_000)), "{}", sent_between(&seen, 4_000, 5_000));
    assert!(sent_between(&seen, 7_000, 8_000) > 700);
}

#[test]
fn conditions_and_steps_after_steps_happen_in_order() {
    let steps: [TestStep; 3] = [
        ("full", None, Wait::When("bottleneck.queue_packets > 60"), vec![set(Some(Rate::mbps(200)), None, None)]),
        ("empty", Some("full"), Wait::When("bottleneck.queue_packets < 5"), Vec::new()),
        ("rounds", Some("empty"), Wait::Later(Lapse::Rounds(2)), Vec::new()),
    ];
    let wanted: [TestExpectation; 4] = [
        (THEN, "bottleneck.queue_packets > 60 and bottleneck.rate == 10 Mb/s", Some("full"), Until::End),
        (ALWAYS, "bottleneck.rate == 10 Mb/s", None, Until::Step(0)),
        (EVENTUALLY, "flow.delivery_rate > 12 Mb/s", Some("full"), Until::End),
        (NEVER, "bottleneck.queue_packets > 100", None, Until::End),
    ];
    let outcome = whole(&with_case(&network(BULK), &steps, &wanted));
    assert_eq!(verdicts(&outcome), [Verdict::Met; 4], "{:?}", case_of(&outcome));
    let times = [0, 1, 2].map(|step| happened(&outcome, step));
    assert!(times.is_sorted() && times[0] > 0.0 && times[2] < 3.0, "{times:?}");
    assert!((0.03..0.4).contains(&(times[2] - times[1])), "{times:?}");
}

#[test]
fn a_run_ends_early_only_if_that_is_asked_for() {
    let steps = [("drop", None, Wait::At(2_000), vec![drop(next(1))])];
    let wanted = [(EVENTUALLY, "flow.phase == 'recovery'", Some("drop"), Until::Lapse(Lapse::Time(ms(1_000))))];
    let scenario = with_case(&small(), &steps, &wanted);
    let (short, long) = (decided(&scenario), whole(&scenario));
    let ended = case_of(&short).ended.as_secs_f64();
    assert!((2.02..2.1).contains(&ended), "{ended}");
    assert_eq!(case_of(&long).ended.as_secs_f64(), 10.0);
    assert_eq!((verdicts(&short), verdicts(&long)), (vec![Verdict::Met], vec![Verdict::Met]));
    assert_eq!(case_of(&short).expectations[0].decided, case_of(&long).expectations[0].decided);
    assert_eq!(forward(&short).dropped_forced, 1);
    assert!(forward(&long).forwarded_packets > 4 * forward(&short).forwarded_packets);
    assert_conserved(&short);
    // An always without an end needs the whole run.
    let scenario = with_case(&small(), &steps, &[(ALWAYS, "flow.timeouts == 0", None, Until::End)]);
    assert_eq!(case_of(&decided(&scenario)).ended.as_secs_f64(), 10.0);
}

#[test]
fn a_step_that_never_comes_is_no_pass() {
    let steps: [TestStep; 2] = [
        ("never", None, Wait::Within("flow.cwnd > 100 MB", 3_000), Vec::new()),
        ("later", Some("never"), Wait::Later(Lapse::Time(ms(1))), vec![drop(next(1))]),
    ];
    let wanted = [(ALWAYS, "flow.timeouts == 0", Some("never"), Until::End)];
    let outcome = decided(&with_case(&small(), &steps, &wanted));
    let told = case_of(&outcome);
    assert!(!told.passed());
    assert_eq!(told.ended, at_ms(3_000), "nothing more can come of it");
    assert!(told.steps.iter().all(|step| step.happened.is_none() && !step.reason.is_empty()));
    assert_eq!(verdicts(&outcome), [Verdict::NotJudged]);
    assert_eq!(forward(&outcome).dropped_forced, 0);
}

#[test]
fn nothing_sampled_is_told_as_such() {
    let text = network(BULK).replace("[[flows]]", "[tcp]\npacing = \"none\"\n[[flows]]");
    let text = if narrows_scenario::parse(&text, "t.toml", &[], &narrows_sim::catalogue()).is_ok() {
        text
    } else {
        network(BULK)
    };
    let wanted = [(ALWAYS, "flow.pacing_rate < 1 b/s", None, Until::End)];
    let outcome = decided(&with_case(&text, &[], &wanted));
    assert_eq!(verdicts(&outcome), [Verdict::NothingSampled]);
}

#[test]
fn what_the_flow_shows_is_what_the_samples_say() {
    let steps: [TestStep; 1] = [("end", None, Wait::At(5_000), Vec::new())];
    let wanted = [
        (THEN, "near(flow.goodput, flow.delivered, 1 %) and flow.sent > flow.delivered", Some("end"), Until::End),
        (THEN, "flow.rounds > 35 and flow.rounds < 250 and flow.smss == 1448 B", Some("end"), Until::End),
        (THEN, "flow.min_rtt > 20 ms and flow.min_rtt < 23 ms and flow.srtt > flow.min_rtt", Some("end"), Until::End),
        (THEN, "near(flow.delivery_rate, 9.65 Mb/s, 5 %) and not flow.app_limited", Some("end"), Until::End),
        (THEN, "flow.losses > 0 and flow.lost > 0 B and flow.retransmitted >= flow.lost", Some("end"), Until::End),
        (THEN, "not flow.slow_start and flow.ssthresh <= flow.cwnd and not flow.idle", Some("end"), Until::End),
        (THEN, "bottleneck.dropped > 0 and bottleneck.sent > 5 MB and bottleneck.marked == 0", Some("end"), Until::End),
        (THEN, "flow.cc.w_max > 10 packets and time == 5 s", Some("end"), Until::End),
    ];
    let outcome = whole(&with_case(&network(BULK), &steps, &wanted));
    for found in &case_of(&outcome).expectations {
        assert_eq!(found.verdict, Verdict::Met, "{} {:?}", found.reason, found.values);
    }
}

#[test]
fn round_trips_are_counted_as_bbr_counts_them() {
    let text = network(&format!("{BULK}tcp = {{ cc = \"bbr3\" }}\n"));
    let steps = [at(2_000, drop(next(3)))];
    let wanted = [
        (ALWAYS, "flow.rounds == flow.cc.rounds or time < 25 ms", None, Until::End),
        (EVENTUALLY, "flow.rounds > 200", None, Until::End),
    ];
    let outcome = whole(&with_case(&text, &steps, &wanted));
    for found in &case_of(&outcome).expectations {
        assert_eq!(found.verdict, Verdict::Met, "{} {:?}", found.reason, found.values);
    }
}

/// Everything that steps can do, one after the other.
fn eventful() -> narrows_scenario::Scenario {
    let text =
        network(&format!("{BULK}tcp = {{ ecn = true }}\n[[flows]]\nname = \"s2\"\nfrom = \"s2\"\nto = \"d2\"\n"));
    let (edge, back) = (bottleneck(&text, Side::Forward), bottleneck(&text, Side::Reverse));
    let share = Selection {
        pick: Pick::Share(Probability::new(0.1).unwrap()),
        packets: Some(200),
        time: Some(Lapse::Rounds(4)),
    };
    let step = |name, ms, action| (name, None, Wait::At(ms), vec![action]);
    let steps = [
        ("full", None, Wait::When("bottleneck.queue_packets > 60"), vec![set(Some(Rate::mbps(20)), None, None)]),
        step("drop", 1_500, Action::Drop { edge: edge.clone(), filter: Filter::All, selection: share.clone() }),
        step("mark", 2_000, Action::Mark { edge: edge.clone(), filter: data(), selection: share }),
        step("late", 2_500, Action::Reorder { edge: edge.clone(), filter: data(), packets: 5, by: ms(3) }),
        step(
            "bursts",
            3_000,
            Action::Aggregate { edge: back.clone(), rule: Some(Aggregation { packets: 8, time: ms(4), acks: true }) },
        ),
        step(
            "police",
            3_500,
            Action::Police {
                edge: edge.clone(),
                rule: Some(Policer { rate: Rate::mbps(5), burst: Bytes::new(9_000) }),
            },
        ),
        step("pause", 4_000, Action::Pause(vec![flow()])),
        step("singles", 4_300, Action::Aggregate { edge: back, rule: None }),
        step("resume", 4_500, Action::Resume(vec![flow()])),
        step("free", 5_000, Action::Police { edge, rule: None }),
        step("limit", 5_500, Action::AppRate(vec![flow()], Some(Rate::mbps(3)))),
        (
            "lossy",
            Some("limit"),
            Wait::When("rounds_since('limit') > 5"),
            vec![set(Some(Rate::mbps(8)), Some(ms(30)), Some(Probability::new(0.01).unwrap()))],
        ),
    ];
    let wanted = [
        (NEVER, "flows['s2'].cwnd > 1 GB", None, Until::End),
        (EVENTUALLY, "flows['s2'].losses > 0 and bottleneck.reverse.queue == 0 B", Some("police"), Until::End),
    ];
    let mut scenario = with_case(&text, &steps, &wanted);
    scenario.sample_state = true;
    scenario
}

#[test]
fn both_loops_carry_out_steps_in_the_same_way() {
    let scenario = eventful();
    for until_decided in [false, true] {
        let go =
            |plain_loop| run(&scenario, &Options { seed: 3, plain_loop, until_decided, ..Options::default() }).unwrap();
        let (plain, lazy) = (go(true), go(false));
        assert_eq!(plain.digest().unwrap(), lazy.digest().unwrap());
        assert_eq!(case_of(&plain), case_of(&lazy));
        assert!(case_of(&plain).steps.iter().all(|step| step.happened.is_some()), "{:?}", case_of(&plain).steps);
        assert_eq!(verdicts(&plain), [Verdict::Met; 2]);
        assert_conserved(&plain);
    }
}

#[test]
fn a_case_gives_the_same_on_any_number_of_threads() {
    let scenario = Arc::new(eventful());
    let once = || run(&scenario, &Options { seed: 5, until_decided: true, ..Options::default() }).unwrap();
    let first = once();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(once)).collect();
        for thread in threads {
            let other = thread.join().unwrap();
            assert_eq!(other.digest().unwrap(), first.digest().unwrap());
            assert_eq!(case_of(&other), case_of(&first));
        }
    });
}

#[test]
fn a_case_without_steps_changes_no_sample() {
    let text = network(BULK);
    let plain = whole(&parsed(&text));
    let judged = whole(&with_case(&text, &[], &[(ALWAYS, "flow.timeouts == 0", None, Until::End)]));
    assert_eq!(plain.digest().unwrap(), judged.digest().unwrap());
    assert!(plain.case.is_none() && judged.case.is_some());
}
