//! Tests at the level of headers: every pairing of end points with {ACNS, ECN, neither} and of routers with {ACNS, an
//! ECN queue, neither} works together.
#![allow(clippy::unwrap_used)]

use super::codec::{IpMessage, SETUP_SYN};
use super::{AcnsAssist, AcnsConfig, AcnsRouter, Ipv6Encoding};
use crate::RouterAgent;
use core::net::IpAddr;
use narrows_cc::Advice;
use narrows_queue::{Limit, QueueView, Verdict};
use narrows_tcp::{Agreement, Assist, Outgoing, SegmentKind};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate, SeqNum};
use narrows_wire::{Ecn, Ip, Packet, TcpFlags, TcpRepr, Transport};

const SETUP_ECN: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// What an end point supports.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Support {
    Acns { ecn: bool },
    Ecn,
    Neither,
}

const SUPPORT: [Support; 4] =
    [Support::Acns { ecn: true }, Support::Acns { ecn: false }, Support::Ecn, Support::Neither];

/// What a router on the path does. All queues of an ACNS router are `percent` full.
#[derive(Clone, Copy, Debug)]
enum Hop {
    Acns { percent: u64 },
    EcnQueue { marks: bool },
    Plain,
}

/// An end point: ACNS's agent, or an independent implementation of RFC 3168.
struct End {
    support: Support,
    assist: AcnsAssist,
    agreement: Agreement,
    /// RFC 3168 receiver: ECE until CWR.
    ece: bool,
}

impl End {
    fn new(support: Support, config: &AcnsConfig) -> Self {
        Self { support, assist: AcnsAssist::new(config), agreement: Agreement::Nothing, ece: false }
    }

    fn offer(&self) -> TcpFlags {
        match self.support {
            Support::Acns { .. } => self.assist.offer(),
            Support::Ecn => SETUP_ECN,
            Support::Neither => TcpFlags::NONE,
        }
    }

    fn accept(&mut self, syn: TcpFlags) -> TcpFlags {
        let (agreement, answer) = match self.support {
            Support::Acns { ecn } => self.assist.accept(syn, ecn),
            Support::Ecn if syn.has(SETUP_ECN) => (Agreement::Ecn, TcpFlags::ECE),
            Support::Ecn | Support::Neither => (Agreement::Nothing, TcpFlags::NONE),
        };
        self.agreement = agreement;
        answer
    }

    fn agreed(&mut self, syn_ack: TcpFlags) {
        self.agreement = match self.support {
            Support::Acns { .. } => self.assist.agreed(syn_ack),
            Support::Ecn if syn_ack.has(TcpFlags::ECE) && !syn_ack.has(TcpFlags::CWR) => Agreement::Ecn,
            Support::Ecn | Support::Neither => Agreement::Nothing,
        };
    }

    fn transmit(&mut self, p: &mut Packet, out: &Outgoing) {
        match self.agreement {
            Agreement::Assisted => self.assist.on_transmit(p, out),
            Agreement::Ecn => {
                if out.kind == SegmentKind::Data {
                    p.ip.set_ecn(Ecn::Ect0);
                }
                if self.ece {
                    let header = p.tcp_mut().unwrap();
                    header.flags = header.flags.with(TcpFlags::ECE);
                }
            }
            // No end of these tests offers accurate ECN.
            Agreement::AccurateEcn | Agreement::Nothing => {}
        }
    }

    /// What a sender hears: advice, or an ECN echo.
    fn receive(&mut self, p: &Packet) -> Option<Heard> {
        match self.agreement {
            Agreement::Assisted => self.assist.on_receive(p, Instant::ZERO).map(Heard::Advice),
            Agreement::Ecn => {
                self.ece |= p.ip.ecn() == Ecn::Ce;
                p.tcp().unwrap().flags.has(TcpFlags::ECE).then_some(Heard::EcnEcho)
            }
            Agreement::AccurateEcn | Agreement::Nothing => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Heard {
    Advice(Advice),
    EcnEcho,
}

/// A path in one direction.
struct Path {
    hop: Hop,
    router: AcnsRouter,
    now: Instant,
}

impl Path {
    fn new(hop: Hop, config: &AcnsConfig) -> Self {
        Self { hop, router: AcnsRouter::new(config), now: Instant::ZERO }
    }

    /// Carries a packet; returns whether it arrives.
    fn carry(&mut self, p: &mut Packet) -> bool {
        self.now += Duration::from_millis(10);
        match self.hop {
            Hop::Acns { percent } => {
                let queue = QueueView {
                    bytes: Bytes::new(percent * 1000),
                    packets: Packets::new(percent),
                    limit: Limit::Packets(Packets::new(100)),
                    rate: Rate::mbps(1),
                };
                self.router.on_packet(p, crate::Port::default(), &queue, self.now) == Verdict::Pass
            }
            // RFC 3168, section 5: mark capable packets. The others pass here, since early drops do not concern
            // headers.
            Hop::EcnQueue { marks } => {
                if marks && p.ip.ecn().is_capable() {
                    p.ip.set_ecn(Ecn::Ce);
                }
                true
            }
            Hop::Plain => true,
        }
    }
}

fn packet(v6: bool, back: bool, flags: TcpFlags, seq: u32, ack: u32, payload_len: u32) -> Packet {
    let host =
        |n: u8| if v6 { IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n.into()]) } else { IpAddr::from([10, 0, 0, n]) };
    let (src, dst) = if back { (2, 1) } else { (1, 2) };
    let tcp = TcpRepr {
        src_port: src.into(),
        dst_port: dst.into(),
        seq: SeqNum::new(seq),
        ack: SeqNum::new(ack),
        flags,
        ..TcpRepr::default()
    };
    Packet { ip: Ip::between(host(src), host(dst)), transport: Transport::Tcp(tcp), payload_len }
}

struct Outcome {
    agreement: Agreement,
    /// What the sender of data heard, over four windows of five segments with an ACK each.
    heard: Vec<Heard>,
    /// Asking segments that were sent.
    asked: usize,
}

/// Opens a connection from a client to a server, sends data to the server, and records what the client hears.
fn converse(client: Support, server: Support, hop: Hop, config: &AcnsConfig, v6: bool) -> Outcome {
    let (mut client, mut server) = (End::new(client, config), End::new(server, config));
    let (mut there, mut back) = (Path::new(hop, config), Path::new(hop, config));
    let (ack, syn) = (TcpFlags::ACK, TcpFlags::SYN);

    let mut p = packet(v6, false, syn.with(client.offer()), 0, 0, 0);
    assert!(there.carry(&mut p));
    let answer = server.accept(p.tcp().unwrap().flags);
    let mut p = packet(v6, true, syn.with(ack).with(answer), 0, 1, 0);
    let out = |kind, more| Outgoing { now: Instant::ZERO, kind, cwnd: Bytes::new(500), flightsize: Bytes::ZERO, more };
    server.transmit(&mut p, &out(SegmentKind::Control, false));
    assert!(back.carry(&mut p));
    client.agreed(p.tcp().unwrap().flags);

    let (mut heard, mut asked) = (Vec::new(), 0);
    for n in 0..20 {
        let mut data = packet(v6, false, ack, 1 + n * 100, 1, 100);
        client.transmit(&mut data, &out(SegmentKind::Data, n % 5 < 4));
        asked += usize::from(matches!(IpMessage::decode(&data.ip, config.ipv6), IpMessage::Ask { .. }));
        assert!(there.carry(&mut data), "data is never lost");
        assert_eq!(server.receive(&data), None);
        let mut echo = packet(v6, true, ack, 1, 101 + n * 100, 0);
        server.transmit(&mut echo, &out(SegmentKind::PureAck, false));
        assert_eq!(echo.ip.ecn(), Ecn::NotEct, "a pure ACK carries I1");
        assert!(back.carry(&mut echo), "ACKs are never lost");
        heard.extend(client.receive(&echo));
    }
    assert_eq!(client.agreement, server.agreement, "both ends know the same");
    Outcome { agreement: client.agreement, heard, asked }
}

/// Returns what two ends agree on. A server with ACNS uses classic ECN only if it is configured to. A client with ACNS
/// has offered ECN with its SYN.
fn expected_agreement(client: Support, server: Support) -> Agreement {
    let ecn = |s| matches!(s, Support::Acns { ecn: true } | Support::Ecn);
    match (client, server) {
        (Support::Acns { .. }, Support::Acns { .. }) => Agreement::Assisted,
        (Support::Acns { .. } | Support::Ecn, server) if ecn(server) => Agreement::Ecn,
        _ => Agreement::Nothing,
    }
}

#[test]
fn every_pairing_of_end_points_and_routers_works_together() {
    let config = AcnsConfig::default();
    let hops = [
        (Hop::Acns { percent: 0 }, Advice::Normal, false),
        (Hop::Acns { percent: 19 }, Advice::Freeze, false),
        (Hop::Acns { percent: 50 }, Advice::Fallback, false),
        (Hop::EcnQueue { marks: false }, Advice::Normal, false),
        (Hop::EcnQueue { marks: true }, Advice::Fallback, true),
        (Hop::Plain, Advice::Normal, false),
    ];
    for client in SUPPORT {
        for server in SUPPORT {
            // An ECN host takes the SYN of an ACNS host that would not use ECN for an ECN-setup SYN. The test
            // `an_acns_client_is_bound_by_the_ecn_that_its_syn_offered` covers this pairing.
            if client == (Support::Acns { ecn: false }) && server == Support::Ecn {
                continue;
            }
            for (hop, told, marked) in hops {
                let got = converse(client, server, hop, &config, false);
                let agreement = expected_agreement(client, server);
                assert_eq!(got.agreement, agreement, "{client:?} {server:?} {hop:?}");
                let expected = match agreement {
                    Agreement::Assisted => vec![Heard::Advice(told); 4],
                    // RFC 3168: ECE on every ACK until CWR, which this sender never sends.
                    Agreement::Ecn if marked => vec![Heard::EcnEcho; 20],
                    Agreement::Ecn | Agreement::AccurateEcn | Agreement::Nothing => vec![],
                };
                assert_eq!(got.heard, expected, "{client:?} {server:?} {hop:?}");
                assert_eq!(got.asked, if agreement == Agreement::Assisted { 4 } else { 0 });
            }
        }
    }
}

#[test]
fn an_acns_client_is_bound_by_the_ecn_that_its_syn_offered() {
    let config = AcnsConfig::default();
    let mut client = End::new(Support::Acns { ecn: false }, &config);
    let mut server = End::new(Support::Ecn, &config);
    let answer = server.accept(TcpFlags::SYN.with(SETUP_SYN));
    client.agreed(TcpFlags::SYN.with(TcpFlags::ACK).with(answer));
    assert_eq!((client.agreement, server.agreement), (Agreement::Ecn, Agreement::Ecn));
}

#[test]
fn both_ipv6_encodings_work_end_to_end() {
    let acns = Support::Acns { ecn: true };
    for ipv6 in [Ipv6Encoding::Extension, Ipv6Encoding::FlowLabel] {
        let config = AcnsConfig { ipv6, ..AcnsConfig::default() };
        for (percent, told) in [(0, Advice::Normal), (19, Advice::Freeze), (50, Advice::Fallback)] {
            let got = converse(acns, acns, Hop::Acns { percent }, &config, true);
            assert_eq!(got.heard, vec![Heard::Advice(told); 4], "{ipv6:?} at {percent} %");
        }
    }
}
