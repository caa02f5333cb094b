//! Every pairing of end points and routers of NGWA works with whole TCP connections. Each packet travels as bytes.

#![allow(clippy::unwrap_used, missing_docs)]

use core::net::{IpAddr, SocketAddr};
use narrows_cc::Params;
use narrows_queue::{Limit, QueueView, Verdict};
use narrows_scheme::ngwa::codec::{Message, read};
use narrows_scheme::ngwa::{Marks, NgwaAssist, NgwaConfig, NgwaMode, NgwaRouter};
use narrows_scheme::{AgentCounters, Port, RouterAgent, on_bytes, on_departing_bytes};
use narrows_tcp::{Assist, COUNTERS, Config, Connection, RecoveryKind, State};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, SeqNum};
use narrows_wire::{Ip, Packet, TcpFlags};
use std::collections::BTreeMap;

const DELAY: Duration = Duration::from_millis(10);
/// Bytes that each end sends: more than any window offered before a value arrived, since no offer is taken back.
const DATA: [u64; 2] = [400_000, 300_000];
const LARGEST_WINDOW: u64 = 200_000;
/// Longest packet that a segment of an aware sender may become.
const MTU: u64 = 1500;

/// A router on the path, with one output queue in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hop {
    /// Queues of `limit` bytes that hold `waiting` bytes.
    Ngwa { limit: u64, waiting: u64 },
    /// Queues that are full until this time and then empty.
    Full { limit: u64, until: Instant },
    /// Does not know NGWA, and drops one data packet in this many.
    Drops(u64),
    /// Does not know NGWA.
    Plain,
}

impl Hop {
    fn queue(self, now: Instant) -> Option<QueueView> {
        let (limit, waiting) = match self {
            Self::Ngwa { limit, waiting } => (limit, waiting),
            Self::Full { limit, until } => (limit, if now < until { limit } else { 0 }),
            Self::Drops(_) | Self::Plain => return None,
        };
        let limit = Limit::Bytes(Bytes::new(limit));
        Some(QueueView {
            bytes: Bytes::new(waiting),
            packets: Packets::new(waiting / 1500),
            limit,
            rate: Rate::mbps(2),
        })
    }

    /// Returns the value that it gives a lone flow at the end.
    fn value(self, mode: NgwaMode) -> Option<u64> {
        let (limit, waiting) = match self {
            Self::Ngwa { limit, waiting } => (limit, waiting),
            Self::Full { limit, .. } => (limit, 0),
            Self::Drops(_) | Self::Plain => return None,
        };
        Some(if mode.flow_division { limit * 98 / 100 } else { limit - waiting })
    }
}

struct Router {
    hop: Hop,
    agent: NgwaRouter,
    seen: u64,
}

impl Router {
    /// Carries a packet; returns whether it continues.
    fn carry(&mut self, bytes: &mut Vec<u8>, port: Port, now: Instant) -> bool {
        let Some(queue) = self.hop.queue(now) else {
            let data = Packet::parse(bytes).unwrap().payload_len > 0;
            self.seen += u64::from(data);
            let Hop::Drops(one_in) = self.hop else { return true };
            return !(data && self.seen.is_multiple_of(one_in));
        };
        assert_eq!(on_bytes(&mut self.agent, bytes, port, &queue, now), Ok(Verdict::Pass));
        on_departing_bytes(&mut self.agent, bytes, port, &queue, now).unwrap();
        true
    }
}

/// One conversation.
#[derive(Clone, Debug)]
struct Setting {
    mode: u8,
    aware: [bool; 2],
    window_scaling: bool,
    shrink: bool,
    marks: Marks,
    hops: Vec<Hop>,
}

impl Setting {
    fn config(&self) -> NgwaConfig {
        NgwaConfig {
            mode: NgwaMode::new(self.mode).unwrap(),
            shrink: self.shrink,
            marks: self.marks,
            ..NgwaConfig::default()
        }
    }

    /// Whether routers write into this packet.
    fn marks(&self, packet: &Packet) -> bool {
        self.marks == Marks::All || packet.payload_len > 0
    }

    /// Returns the smallest value of the path.
    fn value(&self) -> Option<u64> {
        self.hops.iter().filter_map(|hop| hop.value(self.config().mode)).min()
    }

    fn end(&self, number: usize) -> Connection {
        let ngwa = self.config();
        let base = (narrows_cc::find("reno").unwrap().build)(&Params::new(Vec::new()));
        let mut config = Config {
            window_scaling: self.window_scaling,
            recv_buffer: Bytes::new(if self.window_scaling { LARGEST_WINDOW } else { 65_535 }),
            ..Config::default()
        };
        let (cc, assist) = if self.aware[number] {
            let assist: Box<dyn Assist> = Box::new(NgwaAssist::new(&ngwa));
            if ngwa.mode.congestion_window {
                (base, Some(assist))
            } else {
                config.recovery = RecoveryKind::RtoOnly;
                (Box::new(narrows_cc::none::Unlimited) as _, Some(assist))
            }
        } else {
            (base, None)
        };
        let address = |end: usize| SocketAddr::new(IpAddr::from([10, 0, 0, end as u8 + 1]), 1000 + end as u16);
        let (local, remote) = (address(number), address(1 - number));
        if number == 0 {
            Connection::connect(config, cc, assist, local, remote, SeqNum::new(u32::MAX - 5_000))
        } else {
            Connection::listen(config, cc, assist, local, remote, SeqNum::new(7))
        }
    }
}

/// The windows that an end offers, as written in its packets.
#[derive(Default)]
struct Offers {
    shift: u8,
    /// Right edge of the window offered last.
    edge: Option<SeqNum>,
    /// The largest distance from the acknowledged byte to an edge that moved, once a value arrived.
    farthest: u64,
    moved_left: bool,
}

impl Offers {
    fn note(&mut self, packet: &Packet, scaled: bool, heard: bool) {
        let tcp = packet.tcp().unwrap();
        if !tcp.flags.has(TcpFlags::ACK) {
            self.shift = tcp.options.window_scale.unwrap_or(0);
            return;
        }
        let syn = tcp.flags.has(TcpFlags::SYN);
        if syn {
            self.shift = tcp.options.window_scale.unwrap_or(0);
        }
        let window = u64::from(tcp.window) << if scaled && !syn { self.shift } else { 0 };
        let edge = tcp.ack + Bytes::new(window);
        let step = self.edge.map_or(0, |last| edge.as_u32().wrapping_sub(last.as_u32()) as i32);
        self.moved_left |= step < 0;
        // A step below the field's unit is due to rounding, which keeps the edge from moving left.
        if step >= 1 << self.shift && heard {
            self.farthest = self.farthest.max(window);
        }
        self.edge = Some(edge);
    }
}

struct Outcome {
    heard: [[u64; COUNTERS]; 2],
    /// Segments into which routers write that reached each end.
    segments: [u64; 2],
    offers: [Offers; 2],
    /// Longest packet that left each end, and that reached the other.
    longest: [[u64; 2]; 2],
    /// Most bytes in flight from each end, once the first windows no longer count.
    flight: [u64; 2],
    triple: [u64; 2],
    took: Instant,
    counters: Vec<AgentCounters>,
}

/// Checks that an arriving packet is sound and has the option exactly where a router writes it.
fn check_arrival(setting: &Setting, packet: &Packet, now: Instant) {
    let Ip::V4(ip) = &packet.ip else { unreachable!() };
    if !setting.marks(packet) {
        assert!(ip.options.is_empty(), "routers write into data alone");
        return;
    }
    let full = setting.hops.iter().any(|hop| matches!(hop, Hop::Full { until, .. } if now < *until));
    let expected = match setting.value() {
        None => Message::Absent,
        Some(_) if full && !setting.config().mode.flow_division => Message::Window(0),
        Some(value) => Message::Window(value as u32),
    };
    assert_eq!(read(&ip.options), expected, "{setting:?}");
}

/// Runs a conversation: both ends send their data, close and finish, and all data arrives.
fn converse(setting: &Setting) -> Outcome {
    let mut ends = [setting.end(0), setting.end(1)];
    let ngwa = setting.config();
    let mut routers: Vec<Router> =
        setting.hops.iter().map(|&hop| Router { hop, agent: NgwaRouter::new(&ngwa), seen: 0 }).collect();
    for (end, data) in ends.iter_mut().zip(DATA) {
        end.write(Bytes::new(data));
    }
    let mut wire: BTreeMap<(Instant, u64), (usize, Vec<u8>)> = BTreeMap::new();
    let (mut now, mut count) = (Instant::ZERO, 0u64);
    let mut outcome = Outcome {
        heard: [[0; COUNTERS]; 2],
        segments: [0; 2],
        offers: Default::default(),
        longest: [[0; 2]; 2],
        flight: [0; 2],
        triple: [0; 2],
        took: now,
        counters: Vec::new(),
    };
    loop {
        for from in 0..2 {
            let open = matches!(ends[from].state(), State::Established | State::CloseWait);
            if open && ends[from].delivered_to_app().as_u64() == DATA[1 - from] {
                ends[from].close();
            }
            while let Some(packet) = ends[from].poll_transmit(now) {
                let mut bytes = packet.emit();
                let heard = ends[from].assist().is_some_and(|assist| assist.counters()[0] > 0);
                outcome.offers[from].note(&packet, setting.window_scaling, heard);
                outcome.longest[from][0] = outcome.longest[from][0].max(bytes.len() as u64);
                let port = Port::new(from as u32);
                let path: Box<dyn Iterator<Item = &mut Router>> =
                    if from == 0 { Box::new(routers.iter_mut()) } else { Box::new(routers.iter_mut().rev()) };
                if path.into_iter().all(|r| r.carry(&mut bytes, port, now)) {
                    outcome.longest[from][1] = outcome.longest[from][1].max(bytes.len() as u64);
                    check_arrival(setting, &Packet::parse(&bytes).unwrap(), now);
                    wire.insert((now + DELAY, count), (1 - from, bytes));
                    count += 1;
                }
            }
            let info = ends[from].info();
            if info.delivered > Bytes::new(LARGEST_WINDOW) {
                outcome.flight[from] = outcome.flight[from].max(info.flightsize.as_u64());
            }
        }
        let next = wire.first_key_value().map_or(Instant::NEVER, |(key, _)| key.0);
        let next = ends.iter().map(Connection::poll_timeout).fold(next, Instant::min);
        if next == Instant::NEVER {
            break;
        }
        now = next;
        match wire.first_entry() {
            Some(entry) if entry.key().0 == now => {
                let (to, bytes) = entry.remove();
                let packet = Packet::parse(&bytes).unwrap();
                outcome.segments[to] += u64::from(setting.marks(&packet));
                ends[to].handle_segment(&packet, now);
                let done = (0..2).all(|i| ends[i].delivered_to_app().as_u64() == DATA[1 - i]);
                outcome.took = if done { outcome.took } else { now };
            }
            _ => ends.iter_mut().for_each(|end| end.handle_timeout(now)),
        }
        assert!(now < Instant::ZERO + Duration::from_secs(2_000), "never ends: {setting:?}: {ends:#?}");
    }
    for (i, end) in ends.iter().enumerate() {
        assert_eq!(end.state(), State::Closed);
        assert_eq!(end.delivered_to_app(), Bytes::new(DATA[1 - i]), "{setting:?}");
        outcome.heard[i] = end.assist().map_or([0; COUNTERS], Assist::counters);
        outcome.triple[i] = end.stats().triple_duplicate_acks;
    }
    outcome.counters = routers.iter().map(|r| r.agent.counters()).collect();
    outcome
}

/// Checks what an end hears, offers and gets, given what it and the path know.
fn check(setting: &Setting, got: &Outcome) {
    let unit = |i: usize| 1u64 << got.offers[i].shift;
    for i in 0..2 {
        let (peer, context) = (1 - i, format!("end {i} of {setting:?}"));
        let options = if setting.aware[i] && setting.value().is_some() { got.segments[i] } else { 0 };
        assert_eq!(got.heard[i], [options, 0, 0], "{context}");
        assert!(got.segments[i] > 0);
        if setting.aware[i]
            && let Some(value) = setting.value()
        {
            assert!(got.offers[i].farthest > 0 && got.offers[i].farthest < value + unit(i), "{context}");
            assert!(got.flight[peer] < value + unit(i), "{context}: {:?}", got.flight);
        }
        assert!(setting.shrink || !got.offers[i].moved_left, "{context}");
        // The option makes an unaware sender's full segments longer than the path may take. An aware sender leaves
        // room.
        let grows = if setting.value().is_some() { 8 } else { 0 };
        let full = if setting.aware[i] { MTU - 8 } else { MTU };
        assert_eq!(got.longest[i], [full, full + grows], "{context}");
    }
}

const NEAR: Hop = Hop::Ngwa { limit: 50_000, waiting: 12_000 };
const TIGHT: Hop = Hop::Ngwa { limit: 30_000, waiting: 15_000 };

fn settings(hops: &[Hop]) -> impl Iterator<Item = Setting> {
    let hops = hops.to_vec();
    (0..128u8).map(move |n| Setting {
        mode: 1 + n % 8,
        aware: [n & 8 != 0, n & 16 != 0],
        window_scaling: n & 32 != 0,
        shrink: false,
        marks: if n & 64 != 0 { Marks::Data } else { Marks::All },
        hops: hops.clone(),
    })
}

#[test]
fn every_pairing_over_every_path_delivers_everything_and_keeps_to_the_least_value() {
    let paths = [vec![NEAR], vec![NEAR, Hop::Plain, TIGHT], vec![TIGHT, NEAR], vec![Hop::Plain]];
    for setting in paths.iter().flat_map(|hops| settings(hops)) {
        let got = converse(&setting);
        check(&setting, &got);
        for (hop, counters) in setting.hops.iter().zip(&got.counters) {
            let wrote: u64 = counters[..3].iter().sum();
            let segments = if hop.queue(Instant::ZERO).is_some() { got.segments[0] + got.segments[1] } else { 0 };
            assert_eq!(wrote, segments, "{setting:?}");
            assert_eq!(counters[3..], [0; 3], "none is full, malformed or unsupported");
        }
        assert_eq!(got.triple, [0; 2], "nothing is lost or reordered");
    }
}

#[test]
fn an_end_that_knows_nothing_of_it_offers_what_it_would() {
    let unaware = Setting {
        mode: 3,
        aware: [true, false],
        window_scaling: false,
        shrink: false,
        marks: Marks::All,
        hops: vec![TIGHT],
    };
    let got = converse(&unaware);
    assert!(got.flight[0] > 60_000, "without a congestion window all 65,535 bytes are used: {:?}", got.flight);
    let aware = Setting { aware: [true; 2], ..unaware };
    assert!(converse(&aware).flight[0] <= 15_000);
}

#[test]
fn losses_before_and_behind_the_routers_are_repaired_in_every_mode() {
    for hops in [[Hop::Drops(25), NEAR], [TIGHT, Hop::Drops(20)]] {
        for setting in settings(&hops) {
            let got = converse(&setting);
            for i in 0..2 {
                let options = if setting.aware[i] { got.segments[i] } else { 0 };
                assert_eq!(got.heard[i], [options, 0, 0], "{setting:?}");
                assert!(!got.offers[i].moved_left, "{setting:?}");
            }
        }
    }
}

#[test]
fn a_window_that_a_full_queue_closed_opens_again() {
    let until = Instant::ZERO + Duration::from_secs(5);
    for setting in settings(&[Hop::Full { limit: 20_000, until }]) {
        let got = converse(&setting);
        let capped = setting.aware != [false; 2] && !setting.config().mode.flow_division;
        assert_eq!(got.took > until, capped, "{setting:?} took {}", got.took);
        // Probes discover it at growing intervals: 1, 2, 4 seconds.
        assert!(got.took < until + Duration::from_secs(10), "{setting:?} took {}", got.took);
    }
}

#[test]
fn with_shrink_the_edge_moves_left_and_everything_arrives() {
    for setting in settings(&[NEAR, TIGHT]) {
        let setting = Setting { shrink: true, ..setting };
        let got = converse(&setting);
        check(&setting, &got);
        for i in 0..2 {
            // A window that the SYN already bounded has nothing to take back but what rounding to units gave.
            if setting.marks == Marks::Data || !setting.window_scaling {
                let late = setting.marks == Marks::Data;
                assert_eq!(got.offers[i].moved_left, setting.aware[i] && late, "{setting:?}");
            }
        }
    }
}
