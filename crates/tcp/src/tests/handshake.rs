//! Opening a connection.

use super::harness::*;
use crate::{Agreement, Config, Connection, State};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{Packet, TcpFlags};

fn flags(packet: &Packet) -> TcpFlags {
    packet.tcp().unwrap().flags
}

#[test]
fn three_way_handshake() {
    let mut net = Net::simple(Config::default());
    net.run(at(49));
    assert_eq!((net.ends[C].state(), net.ends[S].state()), (State::SynSent, State::Listen));
    net.run(at(99));
    assert_eq!(net.ends[S].state(), State::SynReceived);
    net.run(at(149));
    assert_eq!(net.ends[C].state(), State::Established);
    net.run(at(1_000));
    assert_eq!(net.ends[S].state(), State::Established);
    let sent: Vec<_> = net.log.iter().map(|e| (e.1, flags(&e.2))).collect();
    let syn_ack = TcpFlags::SYN.with(TcpFlags::ACK);
    assert_eq!(sent, [(C, TcpFlags::SYN), (S, syn_ack), (C, TcpFlags::ACK)]);
    let syn = net.log[0].2.tcp().unwrap();
    assert_eq!((syn.seq, syn.options.mss, syn.options.window_scale), (SeqNum::new(1_000), Some(1460), Some(9)));
    assert!(syn.options.sack_permitted && syn.options.timestamps.is_some());
    let info = net.ends[C].info();
    assert_eq!(info.smss, Bytes::new(1448));
    assert_eq!(info.cwnd, Bytes::new(14_480), "RFC 6928");
    assert_eq!(info.rtt, Some(ms(100)));
    assert_eq!(info.rwnd, Bytes::new(65_535), "the window of a SYN is not scaled");
    assert_eq!(net.ends[S].info().rtt, Some(ms(100)));
}

#[test]
fn a_lost_syn_is_sent_again_with_backoff_and_the_window_is_one_segment() {
    let mut net = Net::simple(Config { timestamps: false, ..Config::default() });
    let mut dropped = 0;
    net.rule = Box::new(move |from, _, _| {
        dropped += u32::from(from == C);
        if from == C && dropped <= 2 { Fate::Drop } else { Fate::Pass }
    });
    net.run(at(4_000));
    let times: Vec<_> = net.log.iter().filter(|e| e.1 == C).map(|e| e.0.since(Instant::ZERO).as_millis()).collect();
    assert_eq!(times, [0, 1_000, 3_000, 3_100]);
    let info = net.ends[C].info();
    assert_eq!(info.cwnd, info.smss);
    assert_eq!(info.rto, Duration::from_secs(3), "RFC 6298, rule 5.7");
    assert_eq!(net.ends[C].stats().timeouts, 2);
    assert_eq!(net.ends[S].info().cwnd, Bytes::new(14_600), "the SYN, ACK was not lost");
}

#[test]
fn a_lost_syn_ack_makes_the_servers_window_one_segment() {
    let mut net = Net::simple(Config::default());
    let mut first = true;
    net.rule =
        Box::new(move |from, _, _| if from == S && core::mem::take(&mut first) { Fate::Drop } else { Fate::Pass });
    net.run(at(4_000));
    assert_eq!(net.ends[S].state(), State::Established);
    assert_eq!(net.ends[S].info().cwnd, net.ends[S].info().smss);
}

#[test]
fn a_lost_third_ack_is_made_up_for() {
    let mut net = Net::simple(Config::default());
    let mut n = 0;
    net.rule = Box::new(move |from, _, _| {
        n += u32::from(from == C);
        if from == C && n == 2 { Fate::Drop } else { Fate::Pass }
    });
    net.run(at(3_000));
    assert_eq!(net.ends[S].state(), State::Established);
}

#[test]
fn simultaneous_open() {
    let [a, b] = addresses();
    let ends = [
        Connection::connect(Config::default(), reno(), None, a, b, SeqNum::new(u32::MAX)),
        Connection::connect(Config::default(), reno(), None, b, a, SeqNum::new(77)),
    ];
    let mut net = Net::with(ends);
    net.run(at(60));
    assert!(net.ends.iter().all(|e| e.state() == State::SynReceived));
    net.run(at(500));
    assert!(net.ends.iter().all(|e| e.state() == State::Established));
    net.ends[0].write(Bytes::new(10_000));
    net.ends[1].write(Bytes::new(20_000));
    net.run(at(2_000));
    assert_eq!(net.ends[1].delivered_to_app(), Bytes::new(10_000));
    assert_eq!(net.ends[0].delivered_to_app(), Bytes::new(20_000));
}

#[test]
fn options_are_used_only_if_both_ends_offer_them() {
    let plain = Config { sack: false, timestamps: false, window_scaling: false, mss: 536, ..Config::default() };
    for configs in [[plain, Config::default()], [Config::default(), plain]] {
        let mut net = Net::new(configs, [reno(), reno()], [1, 1]);
        net.establish();
        for end in &net.ends {
            let info = end.info();
            assert!(!info.sack && !info.timestamps);
            assert_eq!(info.smss, Bytes::new(536), "the smaller MSS");
        }
        net.ends[C].write(Bytes::new(100_000));
        net.run(at(3_000));
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(100_000));
        assert!(net.log.iter().all(|e| e.2.tcp().unwrap().options.is_empty()));
    }
}

#[test]
fn an_unacceptable_ack_of_a_syn_is_reset() {
    let mut net = Net::simple(Config::default());
    net.poll();
    net.ends[C].handle_segment(&forge(S, 9, Some(5), TcpFlags::SYN, 0), net.now);
    let reset = net.ends[C].poll_transmit(net.now).unwrap();
    assert_eq!((flags(&reset), reset.tcp().unwrap().seq), (TcpFlags::RST, SeqNum::new(5)));
    assert_eq!(net.ends[C].state(), State::SynSent, "and the open goes on");
    net.ends[C].handle_segment(&forge(S, 0, Some(1_001), TcpFlags::RST, 0), net.now);
    assert_eq!(net.ends[C].state(), State::Closed, "connection refused");
    assert_eq!(net.ends[C].aborted_at(), Some(net.now));
}

#[test]
fn a_listener_resets_an_ack_and_ignores_a_reset() {
    let mut net = Net::simple(Config::default());
    net.ends[S].handle_segment(&forge(C, 1, None, TcpFlags::RST, 0), net.now);
    assert_eq!(net.ends[S].poll_transmit(net.now), None);
    net.ends[S].handle_segment(&forge(C, 1, Some(42), TcpFlags::NONE, 0), net.now);
    let reset = net.ends[S].poll_transmit(net.now).unwrap();
    assert_eq!((flags(&reset), reset.tcp().unwrap().seq), (TcpFlags::RST, SeqNum::new(42)));
    assert_eq!(net.ends[S].state(), State::Listen);
}

#[test]
fn a_reset_in_syn_received_returns_a_listener_to_listen() {
    let mut net = Net::simple(Config::default());
    net.run(at(60));
    assert_eq!(net.ends[S].state(), State::SynReceived);
    net.ends[S].handle_segment(&forge(C, 1_001, None, TcpFlags::RST, 0), net.now);
    assert_eq!((net.ends[S].state(), net.ends[S].aborted_at()), (State::Listen, None));
    net.run(at(6_000));
    assert_eq!(net.ends[S].state(), State::Listen);
}

#[test]
fn ecn_is_negotiated_by_both_or_not_at_all() {
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let with = |ecn| Config { ecn, ..Config::default() };
        let mut net = Net::new([with(client), with(server)], [reno(), reno()], [1, 1]);
        net.run(at(200));
        let expected = if client && server { Agreement::Ecn } else { Agreement::Nothing };
        assert!(net.ends.iter().all(|e| e.info().agreement == expected), "{client} {server}");
        assert!(net.log.iter().all(|e| !e.2.ip.ecn().is_capable()), "SYN, SYN ACK and ACK are not ECT");
    }
}

#[test]
fn a_closed_connection_answers_with_a_reset() {
    let mut net = Net::simple(Config::default());
    net.ends[C].abort();
    assert_eq!(net.ends[C].state(), State::Closed);
    assert_eq!(net.ends[C].poll_transmit(net.now), None, "the peer knows nothing yet");
    net.ends[C].handle_segment(&forge(S, 7, None, TcpFlags::SYN, 0), net.now);
    let reset = net.ends[C].poll_transmit(net.now).unwrap();
    let tcp = reset.tcp().unwrap();
    assert_eq!((tcp.flags, tcp.seq, tcp.ack), (TcpFlags::RST.with(TcpFlags::ACK), SeqNum::new(0), SeqNum::new(8)));
}
