//! Every pairing of end points and routers works with whole TCP connections: negotiation, bits, commands, data.

#![allow(clippy::unwrap_used, missing_docs)]

use core::net::{IpAddr, SocketAddr};
use narrows_cc::Params;
use narrows_queue::{Limit, QueueView, Verdict};
use narrows_scheme::RouterAgent;
use narrows_scheme::acns::codec::{IpMessage, SETUP_SYN, SETUP_SYN_ACK, TcpMessage};
use narrows_scheme::acns::{Acns, AcnsAssist, AcnsConfig, AcnsRouter, Ipv6Encoding};
use narrows_tcp::{Agreement, Assist, Config, Connection, State};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, SeqNum};
use narrows_wire::{Ecn, Packet, TcpFlags, Transport};
use std::collections::{BTreeMap, BTreeSet};

const DELAY: Duration = Duration::from_millis(10);
/// Bytes that each end sends.
const DATA: [u64; 2] = [400_000, 100_000];

/// What an end point supports.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Support {
    acns: bool,
    ecn: bool,
}

const SUPPORT: [Support; 4] = [
    Support { acns: true, ecn: false },
    Support { acns: true, ecn: true },
    Support { acns: false, ecn: true },
    Support { acns: false, ecn: false },
];

/// A router on the path, in both directions. `EcnQueue` marks and `Drops` drops one data packet in this many.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hop {
    /// An ACNS router whose queue is this full, in percent.
    Acns(u64),
    EcnQueue(u64),
    Drops(u64),
}

/// How the network layer looks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Net {
    V4,
    V6(Ipv6Encoding),
}

const NETS: [Net; 3] = [Net::V4, Net::V6(Ipv6Encoding::Extension), Net::V6(Ipv6Encoding::FlowLabel)];

struct Router {
    hop: Hop,
    agent: AcnsRouter,
    seen: u64,
}

impl Router {
    /// Carries a packet; returns whether it continues.
    fn carry(&mut self, packet: &mut Packet, now: Instant) -> bool {
        let data = packet.payload_len > 0;
        self.seen += u64::from(data);
        match self.hop {
            Hop::Acns(percent) => {
                let queue = QueueView {
                    bytes: Bytes::new(percent * 1500),
                    packets: Packets::new(percent),
                    limit: Limit::Packets(Packets::new(100)),
                    rate: Rate::mbps(10),
                };
                self.agent.on_packet(packet, narrows_scheme::Port::default(), &queue, now) == Verdict::Pass
            }
            Hop::EcnQueue(one_in) => {
                if self.seen.is_multiple_of(one_in) && packet.ip.ecn().is_capable() {
                    packet.ip.set_ecn(Ecn::Ce);
                }
                true
            }
            Hop::Drops(one_in) => !(data && self.seen.is_multiple_of(one_in)),
        }
    }
}

/// A packet that an end sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: usize,
    left: Packet,
    /// The packet as it left the last router; `None` if it was dropped.
    arrived: Option<Packet>,
    again: bool,
}

struct Outcome {
    agreement: [Agreement; 2],
    received: [[u64; 3]; 2],
    ecn_reductions: [u64; 2],
    sent: Vec<Sent>,
}

fn address(net: Net, end: u8) -> SocketAddr {
    let ip = match net {
        Net::V4 => IpAddr::from([10, 0, 0, end + 1]),
        Net::V6(_) => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, u16::from(end) + 1]),
    };
    SocketAddr::new(ip, 1000 + u16::from(end))
}

fn config_of(net: Net) -> AcnsConfig {
    match net {
        Net::V4 => AcnsConfig::default(),
        Net::V6(ipv6) => AcnsConfig { ipv6, ..AcnsConfig::default() },
    }
}

fn end(number: u8, support: Support, net: Net) -> Connection {
    let acns = config_of(net);
    let base = (narrows_cc::find("cubic").unwrap().build)(&Params::new(Vec::new()));
    let (cc, assist) = if support.acns {
        let assist: Box<dyn Assist> = Box::new(AcnsAssist::new(&acns));
        (Box::new(Acns::new(base, &acns)) as _, Some(assist))
    } else {
        (base, None)
    };
    // At most 40 segments of window, for an end without congestion signals.
    let config = Config { ecn: support.ecn, max_cwnd: Some(Bytes::new(40 * 1460)), ..Config::default() };
    let (local, remote) = (address(net, number), address(net, 1 - number));
    if number == 0 {
        Connection::connect(config, cc, assist, local, remote, SeqNum::new(u32::MAX - 5_000))
    } else {
        Connection::listen(config, cc, assist, local, remote, SeqNum::new(7))
    }
}

/// Runs a conversation: both ends send their data, close and finish, and all data arrives.
fn converse(support: [Support; 2], hops: &[Hop], net: Net) -> Outcome {
    let mut ends = [end(0, support[0], net), end(1, support[1], net)];
    let mut routers: Vec<Router> =
        hops.iter().map(|&hop| Router { hop, agent: AcnsRouter::new(&config_of(net)), seen: 0 }).collect();
    for (end, data) in ends.iter_mut().zip(DATA) {
        end.write(Bytes::new(data));
    }
    let mut wire: BTreeMap<(Instant, u64), (usize, Packet)> = BTreeMap::new();
    let (mut now, mut count) = (Instant::ZERO, 0u64);
    let mut sent = Vec::new();
    let mut starts = [BTreeSet::new(), BTreeSet::new()];
    let mut agreement = [Agreement::Nothing; 2];
    loop {
        for from in 0..2 {
            let open = matches!(ends[from].state(), State::Established | State::CloseWait);
            if open && ends[from].delivered_to_app().as_u64() == DATA[1 - from] {
                ends[from].close();
            }
            while let Some(mut packet) = ends[from].poll_transmit(now) {
                let seq = packet.tcp().unwrap().seq.as_u32();
                let again = packet.payload_len > 0 && !starts[from].insert(seq);
                let left = packet;
                let path: Box<dyn Iterator<Item = &mut Router>> =
                    if from == 0 { Box::new(routers.iter_mut()) } else { Box::new(routers.iter_mut().rev()) };
                let arrives = path.into_iter().all(|r| r.carry(&mut packet, now));
                sent.push(Sent { from, left, arrived: arrives.then_some(packet), again });
                if arrives {
                    wire.insert((now + DELAY, count), (1 - from, packet));
                    count += 1;
                }
            }
            if !matches!(ends[from].state(), State::Listen | State::SynSent | State::SynReceived | State::Closed) {
                agreement[from] = ends[from].info().agreement;
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
                let (to, packet) = entry.remove();
                ends[to].handle_segment(&packet, now);
            }
            _ => ends.iter_mut().for_each(|end| end.handle_timeout(now)),
        }
        assert!(now < Instant::ZERO + Duration::from_secs(1_000), "never ends: {ends:#?}");
    }
    for (i, end) in ends.iter().enumerate() {
        assert_eq!(end.state(), State::Closed);
        assert_eq!(end.delivered_to_app(), Bytes::new(DATA[1 - i]), "{support:?} over {hops:?}");
    }
    let [a, b] = &ends;
    let received = [a, b].map(|e| e.assist().map_or([0; 3], Assist::counters));
    Outcome { agreement, received, ecn_reductions: [a, b].map(|e| e.stats().ecn_reductions), sent }
}

/// Returns what both ends must agree on. RFC 3168's handshake does not know CMT: an ECN server takes an ACNS-setup SYN
/// for an ECN-setup SYN.
fn expected([client, server]: [Support; 2]) -> [Agreement; 2] {
    match (client, server) {
        (Support { acns: true, .. }, Support { acns: true, .. }) => [Agreement::Assisted; 2],
        // An ACNS-setup SYN offers ECN too, and the answer binds the client.
        (Support { acns: true, .. }, Support { acns: false, ecn: true }) => [Agreement::Ecn; 2],
        _ if client.ecn && server.ecn => [Agreement::Ecn; 2],
        _ => [Agreement::Nothing; 2],
    }
}

fn message(packet: &Packet, net: Net) -> IpMessage {
    IpMessage::decode(&packet.ip, config_of(net).ipv6)
}

/// Only new data of an end that agreed carries anything but I1 (ACNS) or ECT(0) (ECN).
fn check_bits(sent: &[Sent], support: [Support; 2], agreement: [Agreement; 2], net: Net) {
    for s in sent {
        let tcp = s.left.tcp().unwrap();
        // Data on a FIN is data to RFC 3168; ACNS calls the whole segment control.
        let fin = tcp.flags.has(TcpFlags::FIN) && agreement[s.from] == Agreement::Assisted;
        let control = tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) || fin;
        let cmt = tcp.flags.has(TcpFlags::RESERVED_0X200);
        if control || s.again || s.left.payload_len == 0 {
            assert_eq!(message(&s.left, net), IpMessage::NotSupported, "{s:?}");
        }
        if tcp.flags.has(TcpFlags::SYN) {
            let offered = support[s.from].acns && (s.from == 0 || agreement[1] == Agreement::Assisted);
            assert_eq!(cmt, offered, "CMT offers ACNS: {s:?}");
            let setup = if s.from == 0 { SETUP_SYN } else { SETUP_SYN_ACK };
            assert!(!offered || tcp.flags.has(setup), "{s:?}");
            continue;
        }
        match agreement[s.from] {
            Agreement::Assisted | Agreement::AccurateEcn => {}
            Agreement::Ecn => {
                assert!(matches!(s.left.ip.ecn(), Ecn::NotEct | Ecn::Ect0) && !cmt, "{s:?}");
                let message = message(&s.left, net);
                assert!(matches!(message, IpMessage::NotSupported | IpMessage::EcnMode { ns: false }), "{s:?}");
            }
            Agreement::Nothing => {
                assert_eq!(message(&s.left, net), IpMessage::NotSupported, "{s:?}");
                assert_eq!(s.left, plain(s.left), "{s:?}");
            }
        }
    }
}

/// The packet without any bit of ECN or ACNS.
fn plain(mut packet: Packet) -> Packet {
    IpMessage::NotSupported.encode(&mut packet.ip, Ipv6Encoding::FlowLabel);
    if let narrows_wire::Ip::V6(h) = &mut packet.ip {
        h.hop_by_hop = None;
    }
    if let Transport::Tcp(tcp) = &mut packet.transport {
        let (syn, ack) = (tcp.flags.has(TcpFlags::SYN), tcp.flags.has(TcpFlags::ACK));
        let keep = [TcpFlags::FIN, TcpFlags::RST, TcpFlags::PSH].map(|f| (f, tcp.flags.has(f)));
        tcp.flags = TcpFlags::NONE;
        for (flag, on) in keep.into_iter().chain([(TcpFlags::SYN, syn), (TcpFlags::ACK, ack)]) {
            tcp.flags = if on { tcp.flags.with(flag) } else { tcp.flags };
        }
    }
    packet
}

#[test]
fn every_pairing_over_every_path_delivers_everything_and_keeps_to_its_bits() {
    let hops = [Hop::Acns(10), Hop::Acns(19), Hop::Acns(60), Hop::EcnQueue(20), Hop::Drops(25)];
    for net in NETS {
        for client in SUPPORT {
            for server in SUPPORT {
                for hop in hops {
                    let support = [client, server];
                    let got = converse(support, &[hop], net);
                    let context = format!("{support:?} over {hop:?}, {net:?}");
                    assert_eq!(got.agreement, expected(support), "{context}");
                    check_bits(&got.sent, support, got.agreement, net);
                    check_signals(&got, hop, &context);
                }
            }
        }
    }
}

/// Checks who hears of congestion, and how.
fn check_signals(got: &Outcome, hop: Hop, context: &str) {
    let commands: [u64; 3] = core::array::from_fn(|i| got.received[0][i] + got.received[1][i]);
    let [normal, freeze, fallback] = commands;
    let rewritten = got.sent.iter().filter(|s| s.arrived.is_some_and(|a| a.ip != s.left.ip)).count();
    match (got.agreement[0], hop) {
        (Agreement::Assisted, Hop::Acns(10)) => {
            assert!(normal > 0 && freeze + fallback == 0, "{context}: {commands:?}")
        }
        // The first flow seen is the oldest; the other direction is younger only by a round trip.
        (Agreement::Assisted, Hop::Acns(19)) => assert!(freeze > 0 && fallback == 0, "{context}: {commands:?}"),
        (Agreement::Assisted, Hop::Acns(_)) => assert!(fallback > 0, "{context}: {commands:?}"),
        // A classic queue's CE is fallback on I2 and I3, and freeze on I4 and I5; only the answer to these counts.
        (Agreement::Assisted, Hop::EcnQueue(_)) => assert!(normal > 0 && rewritten > 0, "{context}: {commands:?}"),
        (Agreement::Assisted, Hop::Drops(_)) => assert!(normal > 0 && freeze + fallback == 0, "{context}"),
        (Agreement::Ecn, Hop::EcnQueue(_)) => assert!(got.ecn_reductions[0] > 0 && rewritten > 0, "{context}"),
        _ => assert_eq!(rewritten, 0, "nobody asked, and nothing is ECN-capable or marked: {context}"),
    }
    if got.agreement[0] != Agreement::Assisted {
        assert_eq!(commands, [0; 3], "{context}");
    }
    if got.agreement[0] != Agreement::Ecn || !matches!(hop, Hop::EcnQueue(_)) {
        assert_eq!(got.ecn_reductions, [0; 2], "{context}");
    }
    if let Hop::Drops(_) = hop {
        assert!(got.sent.iter().any(|s| s.again), "something is sent again: {context}");
    }
}

#[test]
fn of_several_acns_routers_the_harsher_wins_in_either_order() {
    let both = [SUPPORT[0]; 2];
    for net in NETS {
        for (hops, harshest) in [
            (vec![Hop::Acns(10), Hop::Acns(19)], 1),
            (vec![Hop::Acns(19), Hop::Acns(10)], 1),
            (vec![Hop::Acns(60), Hop::Acns(19), Hop::Acns(10)], 2),
            (vec![Hop::Acns(10), Hop::Acns(19), Hop::Acns(60)], 2),
        ] {
            let got = converse(both, &hops, net);
            let sum: [u64; 3] = core::array::from_fn(|i| got.received[0][i] + got.received[1][i]);
            assert!(sum[harshest] > 0, "{hops:?}, {net:?}: {sum:?}");
            assert_eq!(sum[harshest + 1..].iter().sum::<u64>(), 0, "{hops:?}, {net:?}: {sum:?}");
            let freezes = got.sent.iter().filter(|s| s.arrived.is_some_and(|a| message(&a, net) == IpMessage::Freeze));
            assert!(harshest == 1 || freezes.count() < got.sent.len() / 20, "the milder does not survive");
        }
    }
}

#[test]
fn an_echo_of_a_command_is_t5_or_t6_and_only_between_ends_that_agreed() {
    let got = converse([SUPPORT[1]; 2], &[Hop::Acns(60)], Net::V4);
    let told = |m: TcpMessage| {
        let of = |s: &&Sent| {
            let flags = s.left.tcp().unwrap().flags;
            !flags.has(TcpFlags::SYN) && TcpMessage::decode(flags) == m
        };
        got.sent.iter().filter(of).count()
    };
    assert!(told(TcpMessage::Fallback) > 0);
    let got = converse([SUPPORT[1], SUPPORT[2]], &[Hop::Acns(60)], Net::V4);
    let echoes = got.sent.iter().filter(|s| {
        let flags = s.left.tcp().unwrap().flags;
        !flags.has(TcpFlags::SYN) && flags.has(TcpFlags::ECE)
    });
    assert_eq!(echoes.count(), 0, "an ECN connection gets no command from an ACNS router");
}
