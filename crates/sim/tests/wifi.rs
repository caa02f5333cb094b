//! 802.11 channels among links: packets are conserved, runs repeat with either loop, and the numbers are correct.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{delivered, scenario};
use narrows_queue::registry::{Amount, Params, Value};
use narrows_samples::{QueueTotal, Samples};
use narrows_scenario::{
    Aggregation, Limit, Queue, Sampling, Scenario, Wifi, WifiErrors, WifiMode, WifiQueues, WifiStation,
};
use narrows_sim::{Options, Outcome, RunError, run};
use narrows_units::{Bytes, Duration, Packets, Probability, Rate};
use proptest::prelude::*;
use std::sync::Arc;

const US: fn(u64) -> Duration = Duration::from_micros;

/// A server `s`, a base station `ap`, and stations `w1`, `w2` .. that are not on a channel yet.
///
/// The scenario file connects the stations by links, because flows need a route; [`with`] removes those links.
fn text(stations: usize, flows: &str) -> String {
    let link = |a: &str, b: &str| {
        format!("[[links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\nper = 0.001\n\n")
    };
    let mut out = "format = 1\nname = \"wlan\"\nduration = \"4 s\"\n\n[[nodes]]\nname = \"s\"\n\n\
        [[nodes]]\nname = \"ap\"\nkind = \"router\"\n\n"
        .to_owned();
    for w in 1..=stations {
        out += &format!("[[nodes]]\nname = \"w{w}\"\n\n");
    }
    out += &link("s", "ap");
    for w in 1..=stations {
        out += &link("ap", &format!("w{w}"));
    }
    out + flows
}

fn droptail(packets: u64) -> Queue {
    Queue::new("droptail", Limit::Packets(Packets::new(packets)))
}

fn station(node: usize, queue: Queue) -> WifiStation {
    WifiStation { node, queue, signal_db: 0.0, overhead: Bytes::new(8) }
}

/// An 802.11b channel at 11 Mb/s with these stations at nodes of the scenario.
fn wlan(base: usize, stations: impl IntoIterator<Item = usize>) -> Wifi {
    Wifi {
        name: "wlan".to_owned(),
        base: station(base, droptail(100)),
        stations: stations.into_iter().map(|node| station(node, droptail(100))).collect(),
        phy: "802.11b".to_owned(),
        mode: WifiMode::Rate(Rate::mbps(11)),
        basic_rate: Rate::mbps(1),
        short_preamble: false,
        slot: US(20),
        sifs: US(10),
        cw_min: 31,
        cw_max: 1023,
        short_retry: 7,
        long_retry: 4,
        rts_threshold: None,
        propagation: US(1),
        capture_db: None,
        aggregation: None,
        queues: WifiQueues::Shared,
        hidden: Vec::new(),
        errors: Vec::new(),
    }
}

/// An 802.11n channel with aggregation.
fn ht(base: usize, stations: impl IntoIterator<Item = usize>) -> Wifi {
    Wifi {
        phy: "802.11n".to_owned(),
        mode: WifiMode::Mcs { mcs: 7, width_mhz: 20, streams: 1, short_guard: false },
        basic_rate: Rate::mbps(6),
        slot: US(9),
        sifs: US(16),
        cw_min: 15,
        aggregation: Some(Aggregation { max_mpdus: 64, max_bytes: Bytes::new(65_535), max_time: US(5_484) }),
        queues: WifiQueues::PerStation,
        ..wlan(base, stations)
    }
}

/// The scenario in `text` with only its first `links` links, and these channels.
fn with(text: &str, links: usize, wifi: Vec<Wifi>) -> Scenario {
    let mut scenario = scenario(text);
    scenario.links.truncate(links);
    scenario.wifi = wifi;
    scenario
}

fn go(scenario: &Scenario, seed: u64) -> Outcome {
    run(scenario, &Options { seed, ..Options::default() }).unwrap()
}

fn flow(name: &str, from: &str, to: &str, kind: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{kind}\n\n")
}

const BULK: &str = "kind = \"bulk\"";

fn udp(rate: &str) -> String {
    format!("kind = \"udp\"\nrate = \"{rate}\"\npayload = \"972 B\"\nstop = \"2 s\"")
}

fn queue(samples: &Samples, name: &str) -> QueueTotal {
    let index = samples.queue_names.iter().position(|n| n == name).unwrap();
    samples.queue_totals.row(index).unwrap()
}

/// Rows of the interface queues.
fn interface_queues(samples: &Samples, links: usize) -> Vec<QueueTotal> {
    (2 * links..samples.queue_names.len()).map(|i| samples.queue_totals.row(i).unwrap()).collect()
}

fn fer(station: usize, rate: Option<Rate>, fer: f64) -> WifiErrors {
    WifiErrors { station, rate, fer: Probability::new(fer).unwrap() }
}

/// Asserts that every queue conserves packets, and that packets which a channel's queues handed to its stations were
/// received or given up, except those that the stations still hold, at most `held` packets each.
fn assert_conserved(outcome: &Outcome, links: usize, held: u64) {
    let samples = &outcome.samples;
    let queues = interface_queues(samples, links);
    for row in &queues {
        let dropped = row.dropped_overflow + row.dropped_early + row.dropped_forced;
        assert_eq!(row.arrived_packets, row.forwarded_packets + dropped + row.waiting_packets);
    }
    let sum = |column: fn(&QueueTotal) -> u64| queues.iter().map(column).sum::<u64>();
    let received: u64 = samples.station_totals.received_packets.iter().sum();
    let given_up: u64 = samples.station_totals.given_up_packets.iter().sum();
    assert!(sum(|q| q.corrupted) <= given_up);
    let gone = received + sum(|q| q.corrupted);
    let forwarded = sum(|q| q.forwarded_packets);
    let stations = samples.station_names.len() as u64;
    assert!(gone <= forwarded && forwarded <= gone + held * stations, "{gone} of {forwarded} are gone");
}

#[test]
fn a_download_fills_the_channel() {
    let outcome = go(&with(&text(1, &flow("f", "s", "w1", BULK)), 1, vec![wlan(1, [2])]), 1);
    let mbps = delivered(&outcome)[0] as f64 * 8.0 / 4.0 / 1e6;
    // 802.11b with a long preamble: 50 + 192 + 1118 + 10 + 304 us and on average 310 us of backoff for 1500 bytes, and
    // a TCP ACK for every second segment.
    assert!(mbps > 4.0 && mbps < 6.5, "{mbps} Mb/s");
    assert_conserved(&outcome, 1, 1);
    assert_eq!(outcome.samples.queue_names, ["s->ap", "ap->s", "ap->wlan", "w1->ap"]);
    assert_eq!(outcome.samples.station_names, ["ap", "w1"]);
    assert_eq!(outcome.samples.channel_names, ["wlan"]);
}

#[test]
fn saturated_datagrams_take_the_time_of_the_standard() {
    // A single sender: DIFS, mean backoff of 15.5 slots, frame, SIFS, ACK. 1000 bytes of IP, 8 of LLC, 28 of MAC.
    let s = with(&text(1, &flow("f", "w1", "s", &udp("8 Mb/s"))), 1, vec![wlan(1, [2])]);
    let outcome = go(&s, 1);
    let exchange = 50.0 + 15.5 * 20.0 + (192.0 + 754.0) + 10.0 + 304.0 + 2.0;
    let own = queue(&outcome.samples, "w1->ap");
    let sent = own.forwarded_packets;
    // The sender stopped at 2 s, and the queue of 100 packets was empty a little later.
    let per_second = sent as f64 / (2.0 + 100.0 * exchange / 1e6);
    assert!((per_second * exchange / 1e6 - 1.0).abs() < 0.02, "{per_second} packets/s, {}", 1e6 / exchange);
    assert_eq!((own.waiting_packets, own.max_packets, own.corrupted), (0, 100, 0));
    assert_eq!(own.capacity_bits, 44_000_000);
    assert_eq!(own.busy_ns, sent * (192_000 + 754_000));
    let stations = &outcome.samples.station_totals;
    assert_eq!(stations.airtime_ns, [sent * 304_000, own.busy_ns]);
    assert_eq!(stations.received_packets, [sent, 0]);
    // Packets wait for those ahead: the last ones for 99 waiting packets and the one in transmission.
    let (wait, turn) = (own.delay_max_ns as f64, exchange * 1e3);
    assert!(wait > 95.0 * turn && wait < 105.0 * turn, "{} turns", wait / turn);
}

/// A queue of 100 packets that sends 500 kb/s at most.
fn shaper(kind: &'static str) -> Queue {
    let mut params = Params::default();
    params.set(if kind == "fq" { "maxrate" } else { "rate" }, Value::Rate(Rate::kbps(500)));
    if kind == "tbf" {
        params.set("burst", Value::Size(Bytes::new(1500)));
    }
    Queue { params: params.into(), ..Queue::new(kind, Limit::Packets(Packets::new(100))) }
}

#[test]
fn stations_are_woken_for_packets_that_were_held_back() {
    // No packet comes after 2 s. The last one waits for 99 or 100 others, each of which takes 16 ms at 500 kb/s.
    for (kind, aggregates, up) in [
        ("tbf", false, false),
        ("tbf", false, true),
        ("tbf", true, false),
        ("tbf", true, true),
        ("fq", false, false),
        ("fq", true, true),
    ] {
        let (from, to, name) = if up { ("w2", "s", "w2->ap") } else { ("s", "w2", "ap->wlan") };
        let mut wifi = if aggregates { ht(1, [2, 3]) } else { wlan(1, [2, 3]) };
        wifi.base.queue = shaper(kind);
        wifi.stations[1].queue = shaper(kind);
        let both = flow("f", from, to, &udp("2 Mb/s")) + &flow("other", "w1", "s", &udp("100 kb/s"));
        let outcome = go(&with(&text(2, &both), 1, vec![wifi]), 3);
        let name = if aggregates && !up { "ap->w2" } else { name };
        let shaped = queue(&outcome.samples, name);
        assert_eq!(shaped.waiting_packets, 0, "{kind}, aggregates: {aggregates}, up: {up}");
        let wait = shaped.delay_max_ns as f64 / 16e6;
        assert!(wait > 98.0 && wait < 101.0, "{kind}, aggregates: {aggregates}, up: {up}: {wait} packets");
        assert_conserved(&outcome, 1, 64);
    }
}

#[test]
fn every_datagram_is_accounted_for() {
    let both = flow("down", "s", "w1", &udp("2 Mb/s")) + &flow("up", "w2", "s", &udp("2 Mb/s"));
    for aggregates in [false, true] {
        let basic = if aggregates { Rate::mbps(6) } else { Rate::mbps(1) };
        for (control, rate) in [(false, None), (true, None), (false, Some(basic)), (true, Some(basic))] {
            let mut wifi = if aggregates { ht(1, [2, 3]) } else { wlan(1, [2, 3]) };
            wifi.short_retry = if rate.is_some() { 4 } else { 2 };
            wifi.rts_threshold = control.then_some(Bytes::ZERO);
            // Errors at the basic rate affect only acknowledgments, so packets that have arrived may be given up.
            wifi.errors = vec![fer(0, rate, 0.3), fer(1, rate, 0.2)];
            let outcome = go(&with(&text(2, &both), 1, vec![wifi]), 7);
            assert_conserved(&outcome, 1, 0);
            let mut given_up = 0;
            for i in 0..2 {
                let f = outcome.samples.flow_totals.row(i).unwrap();
                assert_eq!(f.sent_packets, f.arrived_packets + f.lost_packets, "{aggregates} {rate:?} {control}");
                given_up += f.lost_packets;
            }
            let queues = interface_queues(&outcome.samples, 1);
            let corrupted: u64 = queues.iter().map(|q| q.corrupted).sum();
            let wire = outcome.samples.queue_totals.corrupted[0] + outcome.samples.queue_totals.corrupted[1];
            let dropped: u64 = queues.iter().map(|q| q.dropped_overflow).sum();
            assert_eq!(given_up, corrupted + dropped + wire);
            let only_acks = rate.is_some() && !control;
            assert_eq!(corrupted == 0, only_acks, "{aggregates} {rate:?}: {corrupted}");
            if only_acks {
                assert!(outcome.samples.station_totals.given_up_packets.iter().sum::<u64>() > 0);
                assert!(outcome.samples.station_totals.duplicates.iter().sum::<u64>() > 0);
            }
        }
    }
}

#[test]
fn tcp_recovers_from_losses_on_wire_and_air() {
    let mut wifi = wlan(1, [2]);
    wifi.short_retry = 2;
    wifi.errors = vec![fer(0, None, 0.1)];
    let flows = flow("f", "s", "w1", "kind = \"bulk\"\nsize = \"500 kB\"")
        + &flow("g", "w1", "s", "kind = \"bulk\"\nsize = \"300 kB\"");
    let mut s = with(&text(1, &flows), 1, vec![wifi]);
    s.duration = Duration::from_secs(60);
    for f in &mut s.flows {
        f.stop = narrows_units::Instant::ZERO + s.duration;
    }
    let outcome = go(&s, 3);
    assert_eq!(delivered(&outcome), [500_000, 300_000]);
    assert!(outcome.samples.flow_totals.lost_packets.iter().all(|&n| n > 0));
    assert!(outcome.samples.flow_totals.retransmitted_packets.iter().all(|&n| n > 0));
    assert_conserved(&outcome, 1, 0);
}

#[test]
fn stations_reach_each_other_through_the_base_station() {
    let s = with(&text(2, &flow("f", "w1", "w2", BULK)), 1, vec![wlan(1, [2, 3])]);
    let outcome = go(&s, 1);
    let (up, down) = (queue(&outcome.samples, "w1->ap"), queue(&outcome.samples, "ap->wlan"));
    assert!(delivered(&outcome)[0] > 500_000);
    assert!(down.arrived_packets >= up.forwarded_packets - 1, "the base station sends on what it receives, and ACKs");
    assert_conserved(&outcome, 1, 1);
}

#[test]
fn the_base_station_serves_queues_of_stations_in_turn() {
    let flows = flow("a", "s", "w1", &udp("20 Mb/s"))
        + &flow("b", "s", "w2", &udp("20 Mb/s"))
        + &flow("c", "s", "w3", &udp("500 kb/s"));
    let mut wifi = wlan(1, [2, 3, 4]);
    wifi.queues = WifiQueues::PerStation;
    let outcome = go(&with(&text(3, &flows), 1, vec![wifi.clone()]), 1);
    assert_eq!(outcome.samples.queue_names[2..], ["ap->w1", "ap->w2", "ap->w3", "w1->ap", "w2->ap", "w3->ap"]);
    let arrived = &outcome.samples.flow_totals.arrived_packets;
    assert!(arrived[0].abs_diff(arrived[1]) <= 5, "{arrived:?}");
    // With a queue per station, a flow that needs less than its share gets its full rate. With one shared queue, the
    // fast flows cause drops of the slow one's packets.
    let quiet = |outcome: &Outcome| {
        let f = outcome.samples.flow_totals.row(2).unwrap();
        f.arrived_packets as f64 / f.sent_packets as f64
    };
    assert!(quiet(&outcome) > 0.97);
    wifi.queues = WifiQueues::Shared;
    let shared = go(&with(&text(3, &flows), 1, vec![wifi]), 1);
    assert!(quiet(&shared) < 0.5);
}

#[test]
fn a_shared_queue_feeds_aggregates_in_its_own_order() {
    let flows = flow("a", "s", "w1", &udp("40 Mb/s")) + &flow("b", "s", "w2", &udp("40 Mb/s"));
    let mut wifi = ht(1, [2, 3]);
    wifi.queues = WifiQueues::Shared;
    wifi.base.queue = droptail(20_000);
    let outcome = go(&with(&text(2, &flows), 1, vec![wifi.clone()]), 1);
    assert_conserved(&outcome, 1, 1);
    let base = outcome.samples.station_totals.row(0).unwrap();
    // The two flows alternate in one queue, so runs of packets for one station are short.
    assert!(base.mpdus < 2 * base.data_frames, "{} in {}", base.mpdus, base.data_frames);
    wifi.queues = WifiQueues::PerStation;
    let apart = go(&with(&text(2, &flows), 1, vec![wifi]), 1);
    let base = apart.samples.station_totals.row(0).unwrap();
    assert!(base.mpdus > 5 * base.data_frames, "{} in {}", base.mpdus, base.data_frames);
}

#[test]
fn two_channels_do_not_disturb_each_other() {
    let nodes = "[[nodes]]\nname = \"ap2\"\nkind = \"router\"\n\n[[nodes]]\nname = \"v1\"\n\n";
    let wires = "[[links]]\nbetween = [\"s\", \"ap2\"]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\n\n\
        [[links]]\nbetween = [\"ap2\", \"v1\"]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\n\n";
    let flows = flow("f", "s", "w1", BULK) + &flow("g", "s", "v1", BULK);
    let base = text(1, &flows).replace("per = 0.001\n", "").replacen(
        "[[links]]\nbetween = [\"s\"",
        &format!("{nodes}[[links]]\nbetween = [\"s\""),
        1,
    );
    let base = base.replacen(
        "[[links]]\nbetween = [\"ap\", \"w1\"]",
        &format!("{wires}[[links]]\nbetween = [\"ap\", \"w1\"]"),
        1,
    );
    let mut s = scenario(&base);
    s.links.retain(|l| l.a == 0);
    let node = |name: &str| s.nodes.iter().position(|n| n.name == name).unwrap();
    let second = Wifi { name: "wlan2".to_owned(), ..ht(node("ap2"), [node("v1")]) };
    let first = wlan(node("ap"), [node("w1")]);
    s.wifi = vec![first.clone(), second.clone()];
    let both = go(&s, 1);
    assert_eq!(both.samples.channel_names, ["wlan", "wlan2"]);
    assert_eq!(both.samples.station_totals.channel, [0, 0, 1, 1]);
    assert_eq!(both.samples.station_names, ["ap", "w1", "ap2", "v1"]);
    // In the other order the results are the same.
    s.wifi = vec![second, first];
    let swapped = go(&s, 1);
    assert_eq!(both.samples.flow_totals, swapped.samples.flow_totals);
    assert!(delivered(&both)[1] > 2 * delivered(&both)[0], "802.11n against 802.11b: {:?}", delivered(&both));
}

#[test]
fn a_station_that_does_nothing_changes_nothing() {
    let flows = flow("f", "s", "w1", BULK) + &flow("g", "w2", "s", BULK);
    let mut wifi = wlan(1, [2, 3]);
    wifi.errors = vec![fer(0, None, 0.05)];
    let few = go(&with(&text(2, &flows), 1, vec![wifi.clone()]), 5);
    wifi.stations.push(station(4, droptail(10)));
    let more = go(&with(&text(3, &flows), 1, vec![wifi]), 5);
    assert_eq!(few.samples.flow_totals, more.samples.flow_totals);
    for name in &few.samples.queue_names {
        assert_eq!(queue(&few.samples, name), queue(&more.samples, name), "{name}");
    }
    for i in 0..3 {
        let (a, b) = (few.samples.station_totals.row(i).unwrap(), more.samples.station_totals.row(i).unwrap());
        assert_eq!(a, b, "{}", few.samples.station_names[i]);
    }
}

#[test]
fn a_router_agent_speaks_for_an_interface_queue() {
    let acns = "[acns]\nrouters = [\"ap\"]\n\n";
    let f = "kind = \"bulk\"\ntcp = { assist = \"acns\" }";
    let sampled = text(1, &(acns.to_owned() + &flow("f", "s", "w1", f))).replacen(
        "duration",
        "sampling = \"10 ms\"\nduration",
        1,
    );
    let mut wifi = wlan(1, [2]);
    wifi.base.queue = droptail(40);
    let outcome = go(&with(&sampled, 1, vec![wifi]), 1);
    let total = outcome.samples.flow_totals.row(0).unwrap();
    assert!(total.counters[1] + total.counters[2] > 0, "{total:?}");
    // The samples of the router describe its fullest queue, which is the 802.11 interface queue.
    let routers = outcome.samples.routers.unpack().unwrap();
    assert!(routers.values[1].iter().chain(&routers.values[2]).any(|&n| n > 0));
    assert_eq!(outcome.samples.router_names, ["ap"]);
}

#[test]
fn samples_over_time_agree_with_the_totals() {
    let flows = flow("f", "s", "w1", BULK) + &flow("g", "w1", "s", &udp("1 Mb/s"));
    for sampling in [Sampling::Interval(Duration::from_millis(10)), Sampling::Events] {
        let mut s = with(&text(1, &flows), 1, vec![wlan(1, [2])]);
        s.sampling = sampling;
        let samples = go(&s, 1).samples;
        let queues = samples.queues.unpack().unwrap();
        assert!(queues.time_ns.is_sorted());
        for (index, limit) in [(2, 100), (3, 100)] {
            let of = |column: &[u64]| -> Vec<u64> {
                column.iter().zip(&queues.queue).filter(|(_, q)| **q == index).map(|(v, _)| *v).collect()
            };
            let (packets, forwarded) = (of(&queues.packets), of(&queues.forwarded_packets));
            assert!(!packets.is_empty() && packets.iter().all(|&p| p <= limit));
            assert!(forwarded.is_sorted());
            let total = samples.queue_totals.row(index as usize).unwrap();
            let last = *forwarded.last().unwrap();
            assert!(last <= total.forwarded_packets && last + 10 > total.forwarded_packets);
            if sampling == Sampling::Events {
                assert_eq!(last, total.forwarded_packets, "every change is sampled");
                assert_eq!(packets.iter().copied().max().unwrap(), total.max_packets);
            }
        }
    }
}

#[test]
fn a_modulation_that_the_phy_does_not_have_is_refused() {
    let mut wifi = wlan(1, [2]);
    wifi.mode = WifiMode::Rate(Rate::mbps(54));
    let s = with(&text(1, &flow("f", "s", "w1", BULK)), 1, vec![wifi]);
    let error = run(&s, &Options::default()).unwrap_err();
    assert!(matches!(&error, RunError::Radio { channel, .. } if channel == "wlan"));
    assert!(error.to_string().contains("1 Mb/s, 2 Mb/s, 5.5 Mb/s, 11 Mb/s"), "{error}");
}

/// A random channel, its stations and its flows.
#[derive(Clone, Debug)]
struct Case {
    stations: usize,
    wifi: Wifi,
    flows: String,
}

fn queues() -> impl Strategy<Value = Queue> {
    let limit = prop_oneof![
        (1_u64..60).prop_map(|n| Limit::Packets(Packets::new(n))),
        (1_500_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
    ];
    (limit, any::<bool>(), any::<bool>()).prop_map(|(limit, red, ecn)| {
        if !red {
            return Queue::new("droptail", limit);
        }
        let room = match limit {
            Limit::Packets(n) => n.as_f64(),
            Limit::Bytes(n) => n.as_f64() / 500.0,
        };
        let mut params = Params::default();
        params.set("min_threshold", Value::Amount(Amount::Packets(room.min(6.0) / 3.0)));
        params.set("max_threshold", Value::Amount(Amount::Packets(room.min(6.0))));
        params.set("weight", Value::Number(0.01));
        params.set("ecn", Value::Switch(ecn));
        Queue { params: Arc::new(params), ..Queue::new("red", limit) }
    })
}

fn flows(stations: usize) -> impl Strategy<Value = String> {
    // Kind, direction, the station, and the other station of a flow between stations.
    let one = (0_u8..3, 0_u8..3, 1..=stations, 1..=stations);
    prop::collection::vec(one, 1..6).prop_map(|list| {
        let mut out = String::new();
        for (i, (kind, direction, w, v)) in list.into_iter().enumerate() {
            let (w, v) = (format!("w{w}"), format!("w{v}"));
            let (from, to) = match direction {
                1 => (w.as_str(), "s"),
                2 if w != v => (w.as_str(), v.as_str()),
                _ => ("s", w.as_str()),
            };
            let kind = match kind {
                0 => udp("6 Mb/s"),
                1 => BULK.to_owned(),
                _ => format!("{BULK}\nsize = \"200 kB\"\ntcp = {{ ecn = true }}"),
            };
            out += &flow(&format!("f{i}"), from, to, &kind);
        }
        out
    })
}

fn cases() -> impl Strategy<Value = Case> {
    (1_usize..6).prop_flat_map(|stations| {
        let air = (
            0_usize..4,
            any::<bool>(),
            prop::option::of(prop_oneof![Just(0_u64), Just(700)]),
            prop::option::of(prop_oneof![Just(0.0), Just(10.0)]),
            (1_u32..8, 1_u32..5),
            prop::collection::vec((0..stations, 0..stations), 0..5),
            prop::collection::vec((0..stations, prop_oneof![Just(0.0), 0.0..0.5]), 0..4),
            prop::collection::vec(-15_i32..15, stations + 1),
        );
        let own = (queues(), queues(), 1_u32..65, flows(stations));
        (Just(stations), air, own).prop_map(|(stations, air, own)| {
            let (phy, per_station, rts, capture_db, (short, long), hidden, errors, signals) = air;
            let (base, other, mpdus, flows) = own;
            let nodes = 2..2 + stations;
            let mut wifi = match phy {
                0 => wlan(1, nodes),
                1 => Wifi { mode: WifiMode::Rate(Rate::mbps(2)), phy: "802.11".to_owned(), ..wlan(1, nodes) },
                2 => ht(1, nodes),
                _ => Wifi {
                    phy: "802.11g".to_owned(),
                    mode: WifiMode::Rate(Rate::mbps(54)),
                    sifs: US(10),
                    aggregation: None,
                    ..ht(1, nodes)
                },
            };
            if let Some(a) = &mut wifi.aggregation {
                a.max_mpdus = mpdus;
            }
            wifi.queues = if per_station { WifiQueues::PerStation } else { WifiQueues::Shared };
            wifi.rts_threshold = rts.map(Bytes::new);
            wifi.capture_db = capture_db;
            (wifi.short_retry, wifi.long_retry) = (short, long);
            wifi.hidden = hidden.into_iter().filter(|(a, b)| a != b).collect();
            wifi.errors = errors.into_iter().map(|(s, p)| fer(s, None, p)).collect();
            wifi.base.queue = base;
            wifi.base.signal_db = f64::from(signals[0]);
            for (s, signal) in wifi.stations.iter_mut().zip(&signals[1..]) {
                (s.queue, s.signal_db) = (other.clone(), f64::from(*signal));
            }
            Case { stations, wifi, flows }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_channel_conserves_packets_and_repeats_by_either_loop(case in cases(), seed: u64, events in 0_u8..4) {
        let mut s = with(&text(case.stations, &case.flows), 1, vec![case.wifi.clone()]);
        s.duration = Duration::from_secs(3);
        s.sampling = if events == 0 { Sampling::Events } else { Sampling::Interval(Duration::from_millis(7)) };
        let outcome = go(&s, seed);
        let held = match case.wifi.aggregation {
            None => 1,
            Some(_) => 64 * case.stations as u64,
        };
        assert_conserved(&outcome, 1, held);
        let repeated = go(&s, seed);
        prop_assert_eq!(&outcome.digest(), &repeated.digest());
        let plain = run(&s, &Options { seed, plain_loop: true, ..Options::default() }).unwrap();
        prop_assert_eq!(&outcome.samples, &plain.samples);
    }
}
