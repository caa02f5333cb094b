//! A network-assisted scheme at the end points.

use super::harness::*;
use crate::{Agreement, Assist, Config, Connection, HeaderBits, Outgoing, SegmentKind};
use narrows_cc::Advice;
use narrows_units::{Bytes, Instant, SeqNum};
use narrows_wire::{Ecn, Packet, TcpFlags};
use std::sync::{Arc, Mutex};

const MARK: TcpFlags = TcpFlags::RESERVED_0X200;

type Kinds = Arc<Mutex<Vec<(SegmentKind, bool)>>>;

/// Marks the last data segment of a window and advises on every ACK that carries ECE.
#[derive(Debug, Default)]
struct Toy {
    kinds: Kinds,
    echo: bool,
}

impl Assist for Toy {
    fn bits(&self) -> HeaderBits {
        HeaderBits { flags: MARK.with(TcpFlags::ECE), ecn_field: true }
    }

    fn offer(&self) -> TcpFlags {
        MARK
    }

    fn accept(&mut self, syn: TcpFlags, ecn: bool) -> (Agreement, TcpFlags) {
        match (syn.has(MARK), ecn) {
            (true, _) => (Agreement::Assisted, MARK),
            (false, true) => (Agreement::Ecn, TcpFlags::ECE),
            _ => (Agreement::Nothing, TcpFlags::NONE),
        }
    }

    fn agreed(&mut self, syn_ack: TcpFlags) -> Agreement {
        if syn_ack.has(MARK) { Agreement::Assisted } else { Agreement::Nothing }
    }

    fn on_transmit(&mut self, packet: &mut Packet, out: &Outgoing) {
        self.kinds.lock().unwrap().push((out.kind, out.more));
        if out.kind == SegmentKind::Data && !out.more {
            packet.ip.set_ecn(Ecn::Ect1);
        }
        if core::mem::take(&mut self.echo) {
            let tcp = packet.tcp_mut().unwrap();
            tcp.flags = tcp.flags.with(TcpFlags::ECE);
        }
    }

    fn on_receive(&mut self, packet: &Packet, _now: Instant) -> Option<Advice> {
        self.echo |= packet.ip.ecn() == Ecn::Ect1;
        packet.tcp().unwrap().flags.has(TcpFlags::ECE).then_some(Advice::Freeze)
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 { 8 } else { 4 }
    }
}

fn pair(assists: [bool; 2]) -> (Net, Diary, Kinds) {
    let [a, b] = addresses();
    let config = Config { mss: 1000, timestamps: false, ecn: true, ..Config::default() };
    let cc = reno();
    let (diary, kinds) = (cc.diary.clone(), Kinds::default());
    let toy = |on: bool, kinds: Kinds| on.then(|| Box::new(Toy { kinds, echo: false }) as Box<dyn Assist>);
    let ends = [
        Connection::connect(config, cc, toy(assists[0], kinds.clone()), a, b, SeqNum::new(1)),
        Connection::listen(config, reno(), toy(assists[1], Kinds::default()), b, a, SeqNum::new(1)),
    ];
    (Net::with(ends), diary, kinds)
}

#[test]
fn a_scheme_that_both_ends_have_owns_the_bits() {
    let (mut net, diary, kinds) = pair([true, true]);
    net.establish();
    assert!(net.ends.iter().all(|e| e.info().agreement == Agreement::Assisted));
    assert_eq!(net.ends[C].info().smss, Bytes::new(996), "the scheme's header bytes are taken off");
    net.ends[C].write(Bytes::new(996 * 10));
    net.ends[C].close();
    net.run(at(280));
    let seen = kinds.lock().unwrap().clone();
    let data: Vec<_> = seen.iter().filter(|k| k.0 == SegmentKind::Data).map(|k| k.1).collect();
    // The tenth segment carries the FIN and counts as control.
    assert_eq!(data, [true; 9], "each is followed by another");
    assert!(seen.contains(&(SegmentKind::Control, false)));
    assert!(net.log.iter().all(|e| e.2.ip.ecn() != Ecn::Ect0), "the connection leaves ECN alone");
    net.run(at(1_000));
    drop(diary);
}

#[test]
fn advice_reaches_the_congestion_control_before_the_ack() {
    let (mut net, diary, kinds) = pair([true, true]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    net.run(at(305));
    let data: Vec<_> =
        kinds.lock().unwrap().iter().filter(|k| k.0 == SegmentKind::Data).map(|k| k.1).take(10).collect();
    assert_eq!(data, [true, true, true, true, true, true, true, true, true, false], "the last of the window");
    let diary = diary.lock().unwrap();
    let advice = diary.iter().position(|t| *t == Told::Advice(Advice::Freeze)).expect("advice");
    assert!(matches!(diary[advice + 1], Told::Ack { .. }), "{:?}", diary[advice + 1]);
    assert!(!diary.iter().any(|t| matches!(t, Told::Congestion(..))), "ECE is not the connection's");
}

#[test]
fn a_peer_without_the_scheme_gets_ecn_or_nothing() {
    let (mut net, _, _) = pair([false, true]);
    net.establish();
    assert!(net.ends.iter().all(|e| e.info().agreement == Agreement::Ecn));
    let (mut net, _, kinds) = pair([true, false]);
    net.establish();
    assert!(net.ends.iter().all(|e| e.info().agreement == Agreement::Nothing));
    assert!(kinds.lock().unwrap().is_empty(), "never asked for its bits");
}

#[test]
fn dscp_is_on_every_segment() {
    let mut net = Net::simple(Config::default());
    net.ends[C].set_dscp(46);
    net.ends[C].write(Bytes::new(5_000));
    net.run(at(1_000));
    assert!(net.log.iter().all(|e| e.2.ip.dscp() == if e.1 == C { 46 } else { 0 }));
}
