//! Our disciplines beside Linux's: the same arrivals, the same clock and the same random numbers.
//!
//! `vectors/kernel_qdiscs.txt` holds arrivals and what Linux's qdiscs decided about them; `tools/kernel_qdiscs` has the
//! harness that recorded it. Each discipline must take the same decision about each packet at the same nanosecond,
//! unless [`DIFFERENCES`] names a reason.
#![allow(clippy::unwrap_used, clippy::panic)]

use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr};
use narrows_queue::registry::{Amount, Kind, Param, Params, Value, registry};
use narrows_queue::{Dropped, Limit, NO_SUBQUEUE, Queue};
use narrows_rng::Stream;
use narrows_units::{Bytes, Duration, Instant, Packets, Probability, Rate, SeqNum};
use narrows_wire::{Ecn, Ip, Packet, TcpRepr, Transport};
use std::collections::BTreeMap;

const ORACLE: &str = include_str!("vectors/kernel_qdiscs.txt");

/// Disciplines whose decisions differ from Linux's for a reason that docs/kernel-qdiscs.md explains, and the largest
/// relative difference of the median sojourn time in any scenario.
const DIFFERENCES: &[(&str, f64)] = &[];

/// What the name of a discipline may have after the row's name.
const VARIANTS: &[&str] = &["_ecn", "_short", "_bytes", "_rate", "_shaped"];

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    flow: u16,
    size: u32,
    tos: u8,
}

#[derive(Debug)]
struct Scenario {
    name: &'static str,
    rate: u64,
    arrivals: Vec<Arrival>,
}

/// One discipline's outcomes in one scenario.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    /// A letter for each packet: `S` sent, `M` marked and sent, `I` dropped as it arrived or by an arrival, `O` dropped
    /// on the way out, `T` dropped by a timer.
    packets: String,
    /// Hash of numbers and times of departures.
    departures: String,
    /// Median, 95th and 99th percentile, ns.
    sojourn: [u64; 3],
}

#[derive(Debug, Default)]
struct Discipline {
    name: &'static str,
    limit: &'static str,
    settings: Vec<(&'static str, &'static str)>,
    runs: BTreeMap<&'static str, Outcome>,
}

struct Oracle {
    linux: &'static str,
    scenarios: Vec<Scenario>,
    disciplines: Vec<Discipline>,
}

/// Run lengths as letters: `3SM` is `SSSM`.
fn expanded(coded: &str) -> String {
    let (mut out, mut count) = (String::new(), 0);
    for c in coded.chars() {
        if let Some(digit) = c.to_digit(10) {
            count = count * 10 + digit as usize;
        } else {
            out.extend(std::iter::repeat_n(c, count.max(1)));
            count = 0;
        }
    }
    out
}

fn train(text: &str, start: u64) -> impl Iterator<Item = Arrival> {
    let n: Vec<u64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    let [flow, size, tos, first, gap, count, burst] = n[..] else { panic!("{text}") };
    (0..count).map(move |i| Arrival {
        at: start + (first + i / burst * gap + i % burst * 10) * 1000,
        flow: flow as u16,
        size: size as u32,
        tos: tos as u8,
    })
}

fn oracle() -> Oracle {
    let mut found = Oracle { linux: "", scenarios: Vec::new(), disciplines: Vec::new() };
    let (mut start, mut run) = (0, "");
    for line in ORACLE.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        let outcome = |found: &mut Oracle, set: &mut dyn FnMut(&mut Outcome)| {
            set(found.disciplines.last_mut().unwrap().runs.entry(run).or_default());
        };
        match word {
            "linux" => found.linux = rest,
            "start" => start = rest.parse().unwrap(),
            "scenario" => {
                let (name, rate) = rest.split_once(' ').unwrap();
                found.scenarios.push(Scenario { name, rate: rate.parse().unwrap(), arrivals: Vec::new() });
            }
            "train" => found.scenarios.last_mut().unwrap().arrivals.extend(train(rest, start)),
            "disc" => {
                let (name, limit) = rest.split_once(' ').unwrap();
                found.disciplines.push(Discipline { name, limit, ..Discipline::default() });
            }
            "our" => found.disciplines.last_mut().unwrap().settings.push(rest.split_once(" = ").unwrap()),
            "run" => run = rest,
            "packets" => outcome(&mut found, &mut |o| o.packets = expanded(rest)),
            "departures" => outcome(&mut found, &mut |o| rest.clone_into(&mut o.departures)),
            "sojourn" => outcome(&mut found, &mut |o| {
                let times: Vec<u64> = rest.split(' ').map(|word| word.parse().unwrap()).collect();
                o.sojourn = times.try_into().unwrap();
            }),
            _ => {}
        }
    }
    for scenario in &mut found.scenarios {
        // Stable: at one time, trains come in the order of the file.
        scenario.arrivals.sort_by_key(|arrival| arrival.at);
    }
    found
}

fn value(param: &Param, text: &str, rate: u64) -> Value {
    let text = text.replace("{rate80}", &(rate * 8 / 10).to_string()).replace("{rate20}", &(rate / 5).to_string());
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let whole = || number.parse::<u64>().unwrap();
    match param.kind {
        Kind::Switch { .. } => Value::Switch(text == "on"),
        Kind::Integer { .. } => Value::Integer(whole()),
        Kind::Number { .. } => Value::Number(number.parse().unwrap()),
        Kind::Probability { .. } => Value::Probability(Probability::clamped(number.parse().unwrap())),
        Kind::Amount { .. } => Value::Amount(Amount::Bytes(number.parse().unwrap())),
        Kind::Size { .. } => Value::Size(Bytes::new(whole())),
        Kind::Rate { .. } => Value::Rate(Rate::bps(whole())),
        Kind::Time { .. } if unit == "ms" => Value::Time(Duration::from_millis(whole())),
        Kind::Time { .. } => Value::Time(Duration::from_micros(whole())),
        Kind::Choice { words, .. } => Value::Choice(words.iter().find(|word| word.0 == text).unwrap().0),
    }
}

/// The discipline's queue, with the random numbers that Linux had.
fn queue(discipline: &Discipline, rate: u64) -> Box<dyn Queue> {
    let kind = VARIANTS.iter().fold(discipline.name, |name, variant| name.strip_suffix(variant).unwrap_or(name));
    let row = registry().iter().find(|row| row.about.name == kind).unwrap();
    let mut params = Params::default();
    for (name, text) in &discipline.settings {
        let param = row.about.param(name).unwrap();
        params.set(param.name, value(param, text, rate));
    }
    let (count, unit) = discipline.limit.split_once(' ').unwrap();
    let count = count.parse().unwrap();
    let limit = if unit == "p" { Limit::Packets(Packets::new(count)) } else { Limit::Bytes(Bytes::new(count)) };
    let mut queue = row.queue(limit, &params, Stream::new(1, 0, "oracle", "kernel")).unwrap();
    queue.set_rate(Rate::bps(rate));
    queue
}

fn packet(number: usize, arrival: &Arrival) -> Packet {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let mut ip = Ip::between(host(1), host(2));
    ip.set_dscp(arrival.tos >> 2);
    ip.set_ecn(Ecn::from_bits(arrival.tos));
    let tcp =
        TcpRepr { src_port: 1000 + arrival.flow, dst_port: 9, seq: SeqNum::new(number as u32), ..TcpRepr::default() };
    Packet { ip, transport: Transport::Tcp(tcp), payload_len: arrival.size - 40 }
}

fn number_of(packet: &Packet) -> usize {
    let Transport::Tcp(tcp) = packet.transport else { panic!("{packet:?}") };
    tcp.seq.as_u32() as usize
}

/// A link that takes packets from a queue; the order of calls at one instant is that of `Queue`'s contract.
struct Link<'a> {
    queue: Box<dyn Queue>,
    scenario: &'a Scenario,
    busy_until: Option<u64>,
    letters: Vec<u8>,
    gone: Vec<(u64, usize)>,
    waits: Vec<u64>,
    dropped: Vec<Dropped>,
    owners: BTreeMap<u32, u16>,
}

impl Link<'_> {
    fn note_drops(&mut self, letter: u8) {
        for drop in self.dropped.drain(..) {
            self.letters[number_of(&drop.packet)] = letter;
        }
    }

    fn depart(&mut self, now: u64) {
        let left = self.queue.dequeue(Instant::from_nanos(now), &mut self.dropped);
        self.note_drops(b'O');
        self.busy_until = left.map(|left| {
            let number = number_of(&left.packet);
            if self.letters[number] != b'M' {
                self.letters[number] = if left.marked { b'M' } else { b'S' };
            }
            self.gone.push((now, number));
            self.waits.push(now - self.scenario.arrivals[number].at);
            now + left.packet.len().as_u64() * 8 * 1_000_000_000 / self.scenario.rate
        });
    }

    fn arrive(&mut self, number: usize, now: u64, has_flows: bool) {
        let arrival = &self.scenario.arrivals[number];
        let packet = packet(number, arrival);
        assert_eq!(packet.len(), Bytes::new(u64::from(arrival.size)));
        let enqueued = self.queue.enqueue(packet, Instant::from_nanos(now), &mut self.dropped);
        if enqueued.marked {
            self.letters[number] = b'M';
        }
        self.note_drops(b'I');
        if has_flows && enqueued.subqueue != NO_SUBQUEUE {
            let owner = *self.owners.entry(enqueued.subqueue).or_insert(arrival.flow);
            assert_eq!(owner, arrival.flow, "flows collide in sub-queue {}", enqueued.subqueue);
        }
    }

    fn run(mut self, has_flows: bool) -> Outcome {
        let mut next = 0;
        loop {
            let arrival = self.scenario.arrivals.get(next).map(|arrival| arrival.at);
            let timer = self.queue.next_timer().filter(|&at| at != Instant::NEVER).map(Instant::as_nanos);
            let idle = self.queue.view().packets.is_zero() && self.busy_until.is_none();
            if arrival.is_none() && idle {
                break;
            }
            let Some(now) = [arrival, timer, self.busy_until].into_iter().flatten().min() else { break };
            if timer == Some(now) {
                self.queue.on_timer(Instant::from_nanos(now), &mut self.dropped);
                self.note_drops(b'T');
                if self.busy_until.is_none() {
                    self.depart(now);
                }
            } else if self.busy_until == Some(now) {
                self.depart(now);
            } else {
                self.arrive(next, now, has_flows);
                next += 1;
                if self.busy_until.is_none() {
                    self.depart(now);
                }
            }
        }
        self.waits.sort_unstable();
        let last = self.waits.len() - 1;
        let fnv = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        let departures = self.gone.iter().fold(0xcbf2_9ce4_8422_2325, |h, &(at, n)| fnv(fnv(h, n as u64), at));
        Outcome {
            packets: String::from_utf8(self.letters).unwrap(),
            departures: format!("{departures:016x}"),
            sojourn: [50, 95, 99].map(|percent| self.waits[(self.waits.len() * percent / 100).min(last)]),
        }
    }
}

fn ours(discipline: &Discipline, scenario: &Scenario) -> Outcome {
    let queue = queue(discipline, scenario.rate);
    let has_flows = !matches!(discipline.name, "prio" | "dualpi2") && !queue.subqueues().is_empty();
    let letters = vec![b'?'; scenario.arrivals.len()];
    let (gone, waits, dropped, owners) = Default::default();
    Link { queue, scenario, busy_until: None, letters, gone, waits, dropped, owners }.run(has_flows)
}

/// Where two outcomes begin to differ.
fn difference(ours: &Outcome, linux: &Outcome) -> Option<String> {
    if ours == linux {
        return None;
    }
    let mut pairs = ours.packets.chars().zip(linux.packets.chars()).enumerate();
    let count = ours.packets.chars().zip(linux.packets.chars()).filter(|(a, b)| a != b).count();
    Some(match pairs.find(|(_, (a, b))| a != b) {
        Some((n, (a, b))) => format!("packet {n}: {a}, Linux {b}; {count} of {} differ", ours.packets.len()),
        None => "the order or the times of departures".to_owned(),
    })
}

#[test]
fn decisions_are_those_of_linux() {
    let oracle = oracle();
    let mut failures = String::new();
    for discipline in &oracle.disciplines {
        for scenario in &oracle.scenarios {
            let (ours, linux) = (ours(discipline, scenario), &discipline.runs[scenario.name]);
            let found = difference(&ours, linux);
            let (a, b) = (ours.sojourn[0] as f64, linux.sojourn[0] as f64);
            let bad = match DIFFERENCES.iter().find(|known| known.0 == discipline.name) {
                None => found.is_some(),
                Some(&(_, bound)) => (a - b).abs() > bound * b,
            };
            if bad {
                let found = found.unwrap_or_default();
                let (a, b) = (ours.sojourn, linux.sojourn);
                writeln!(failures, "{} {}: {found}; sojourn {a:?}, Linux {b:?}", discipline.name, scenario.name)
                    .unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "Linux {}:\n{failures}", oracle.linux);
}

/// Prints the table of docs/kernel-qdiscs.md:
/// `cargo test -q -p narrows-queue --test kernel_qdiscs -- --ignored --nocapture`.
#[test]
#[ignore = "prints the table of a document"]
fn table() {
    let oracle = oracle();
    for discipline in &oracle.disciplines {
        println!("\n### {}\n", discipline.name);
        println!(
            "| scenario | packets | drops: Linux, ours | marks: Linux, ours | sojourn p50/p95/p99, Linux, ms | ours, ms | decisions |"
        );
        println!("|---|---|---|---|---|---|---|");
        for scenario in &oracle.scenarios {
            let (ours, linux) = (ours(discipline, scenario), &discipline.runs[scenario.name]);
            let drops = |o: &Outcome| o.packets.chars().filter(|c| "IOT".contains(*c)).count();
            let marks = |o: &Outcome| o.packets.chars().filter(|c| *c == 'M').count();
            let times = |o: &Outcome| o.sojourn.map(|ns| format!("{:.3}", ns as f64 / 1e6)).join(" / ");
            let same = difference(&ours, linux).map_or_else(
                || "equal".to_owned(),
                |_| {
                    let differ = ours.packets.chars().zip(linux.packets.chars()).filter(|(a, b)| a != b).count();
                    format!("{differ} differ")
                },
            );
            println!(
                "| {} | {} | {}, {} | {}, {} | {} | {} | {same} |",
                scenario.name,
                ours.packets.len(),
                drops(linux),
                drops(&ours),
                marks(linux),
                marks(&ours),
                times(linux),
                times(&ours),
            );
        }
    }
}
