//! Classic ECN (RFC 3168, section 6.1).

use super::harness::*;
use crate::{Config, Connection, DelayedAck, EcnEcho, InitialWindow};
use narrows_cc::{Congestion, Phase};
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Ecn, TcpFlags};

fn config(window: u32) -> Config {
    Config {
        mss: 1000,
        ecn: true,
        timestamps: false,
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(window),
        ..Config::default()
    }
}

fn start(window: u32) -> (Net, Diary) {
    start_with(config(window))
}

fn start_with(config: Config) -> (Net, Diary) {
    let cc = reno();
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    (net, diary)
}

/// Marks and loses the data segments with these numbers, in the order of transmission.
fn treat(net: &mut Net, marked: &'static [u32], lost: &'static [u32]) {
    let mut n = 0;
    net.rule = Box::new(move |from, packet, _| {
        if from == S || packet.payload_len == 0 {
            return Fate::Pass;
        }
        n += 1;
        if marked.contains(&n) {
            assert_eq!(packet.ip.ecn(), Ecn::Ect0);
            packet.ip.set_ecn(Ecn::Ce);
        }
        if lost.contains(&n) { Fate::Drop } else { Fate::Pass }
    });
}

fn congestions(diary: &Diary) -> Vec<Congestion> {
    let of = |t: &Told| if let Told::Congestion(c, _) = t { Some(*c) } else { None };
    diary.lock().unwrap().iter().filter_map(of).collect()
}

#[test]
fn an_echo_reduces_once_per_window_and_is_answered_with_cwr() {
    let (mut net, diary) = start(20);
    treat(&mut net, &[1, 2, 3, 8], &[]);
    net.run(at(399));
    assert_eq!(congestions(&diary), [Congestion::Ecn { marked: Bytes::new(1_000) }]);
    let info = net.ends[C].info();
    assert_eq!((info.cwnd, info.phase), (Bytes::new(9_500), Phase::Cwr), "half of the 19 still in flight");
    let cwr: Vec<_> = net.data(C).iter().filter(|d| d.1.tcp().unwrap().flags.has(TcpFlags::CWR)).map(|d| d.0).collect();
    assert_eq!(cwr, [300], "on the first new segment only");
    let echoes = net.log.iter().filter(|e| e.1 == S && e.2.tcp().unwrap().flags.has(TcpFlags::ECE)).count();
    assert_eq!(echoes, 20, "every ACK until CWR arrives");
    net.run(at(700));
    assert_eq!(congestions(&diary).len(), 1);
    assert_eq!(net.ends[C].info().phase, Phase::Open);
    assert!(diary.lock().unwrap().contains(&Told::Recovered));
    assert!(net.ends[C].info().cwnd > Bytes::new(9_000), "and the window grows again");
}

#[test]
fn every_algorithm_is_told_of_an_echo_once_per_window() {
    let rows = narrows_cc::registry().iter().filter(|row| row.traits.response != narrows_cc::Response::Nothing);
    for row in rows {
        let echo = if row.traits.needs_ecn { EcnEcho::EachMark } else { EcnEcho::UntilCwr };
        let config = Config { ecn_echo: echo, ..config(20) };
        let build = || (row.build)(&narrows_cc::Params::default());
        let [client, server] = addresses();
        let mut net = Net::with([
            Connection::connect(config, build(), None, client, server, SeqNum::new(1)),
            Connection::listen(config, build(), None, server, client, SeqNum::new(1)),
        ]);
        net.establish();
        net.ends[C].write(Bytes::MAX);
        treat(&mut net, &[1, 2, 3, 4], &[]);
        net.run(at(299));
        let before = net.ends[C].info().cwnd;
        net.run(at(399));
        assert_eq!(net.ends[C].stats().ecn_reductions, 1, "{}", row.name);
        if row.traits.response.reduces() {
            // LEDBAT begins with two segments, and none reduces below.
            let after = net.ends[C].info().cwnd;
            assert!(after < before || after == Bytes::new(2_000), "{}: {before}", row.name);
        }
    }
}

#[test]
fn marks_in_the_next_window_reduce_again() {
    let (mut net, diary) = start(20);
    treat(&mut net, &[1, 25], &[]);
    net.run(at(1_000));
    assert_eq!(congestions(&diary).len(), 2);
    assert_eq!(net.ends[C].stats().ecn_reductions, 2);
}

#[test]
fn only_new_data_is_ect() {
    let (mut net, _) = start(10);
    treat(&mut net, &[], &[2]);
    net.run(at(600));
    let again = net.ends[C].stats().retransmitted_packets.as_u64();
    assert_eq!(again, 1);
    let plain = net.data(C).iter().filter(|d| d.1.ip.ecn() == Ecn::NotEct).count();
    assert_eq!(plain, 1, "the retransmission");
    assert!(net.log.iter().filter(|e| e.2.payload_len == 0).all(|e| e.2.ip.ecn() == Ecn::NotEct), "ACKs");
}

#[test]
fn a_loss_and_an_echo_of_one_window_are_one_event() {
    for (marked, lost) in [(&[1u32][..], &[5u32][..]), (&[9], &[1])] {
        let (mut net, diary) = start(20);
        treat(&mut net, marked, lost);
        net.run(at(520));
        assert_eq!(congestions(&diary).len(), 1, "marked {marked:?}, lost {lost:?}");
        assert_eq!(net.ends[C].stats().timeouts, 0);
    }
}

#[test]
fn a_loss_of_the_segment_that_carries_cwr_reduces_again() {
    for ecn_echo in [EcnEcho::UntilCwr, EcnEcho::EachMark] {
        for (lost, events) in [(&[20u32][..], 1), (&[21], 2), (&[22], 2)] {
            let (mut net, diary) = start_with(Config { ecn_echo, ..config(20) });
            treat(&mut net, &[1], lost);
            net.run(at(1_000));
            assert_eq!(congestions(&diary).len(), events, "{ecn_echo:?}, lost {lost:?}: {:?}", congestions(&diary));
            assert_eq!(net.ends[C].stats().timeouts, 0);
        }
    }
}

#[test]
fn a_loss_reduction_is_announced_by_cwr_too() {
    let (mut net, _) = start(20);
    treat(&mut net, &[], &[1]);
    net.run(at(399));
    let cwr = net.data(C).iter().filter(|d| d.1.tcp().unwrap().flags.has(TcpFlags::CWR)).count();
    assert_eq!(cwr, 1);
}

#[test]
fn a_change_of_the_mark_is_acknowledged_at_once() {
    let config = Config { ecn: true, timestamps: false, ..Config::default() };
    let mut net = Net::simple(config);
    net.establish();
    let feed = |net: &mut Net, seq: u32, ecn: Ecn| {
        let mut packet = forge(C, seq, Some(5_001), TcpFlags::NONE, 1_460);
        packet.ip.set_ecn(ecn);
        net.ends[S].handle_segment(&packet, net.now);
        net.ends[S].poll_transmit(net.now)
    };
    assert_eq!(feed(&mut net, 1_001, Ecn::Ect0), None);
    assert!(feed(&mut net, 2_461, Ecn::Ect0).is_some());
    let ack = feed(&mut net, 3_921, Ecn::Ce).expect("at once");
    assert!(ack.tcp().unwrap().flags.has(TcpFlags::ECE));
    assert_eq!(net.ends[S].stats().ce_received.as_u64(), 1);
}

#[test]
fn at_one_segment_an_echo_makes_the_sender_wait_for_the_timer() {
    let (mut net, _) = start(1);
    treat(&mut net, &[1], &[]);
    net.run(at(1_299));
    assert_eq!(net.data(C).len(), 1);
    net.run(at(1_300));
    assert_eq!(net.data(C).last().map(|d| d.0), Some(1_300), "RTO after the echo");
}

/// A server with an echo of each mark, to be fed with segments by hand.
fn each_mark(timestamps: bool) -> Net {
    let config = Config { ecn: true, timestamps, ecn_echo: EcnEcho::EachMark, ..Config::default() };
    let mut net = Net::simple(config);
    net.establish();
    net
}

/// The ACKs (acknowledged bytes, ECE) that the server sends at once when the client's `n`-th segment of 1000 bytes
/// arrives.
fn arrives(net: &mut Net, n: u32, ecn: Ecn, flags: TcpFlags) -> Vec<(u32, bool)> {
    let mut packet = forge(C, 1_001 + 1_000 * n, Some(5_001), flags, 1_000);
    packet.ip.set_ecn(ecn);
    net.ends[S].handle_segment(&packet, net.now);
    std::iter::from_fn(|| net.ends[S].poll_transmit(net.now))
        .map(|p| (p.tcp().unwrap().ack.as_u32() - 1_001, p.tcp().unwrap().flags.has(TcpFlags::ECE)))
        .collect()
}

#[test]
fn rfc_8257_each_ack_is_about_segments_of_one_kind() {
    let mut net = each_mark(false);
    let mut feed = |n, ecn| arrives(&mut net, n, ecn, TcpFlags::NONE);
    assert_eq!(feed(0, Ecn::Ect0), []);
    assert_eq!(feed(1, Ecn::Ect0), [(2_000, false)], "every second, as ever");
    assert_eq!(feed(2, Ecn::Ect0), []);
    assert_eq!(feed(3, Ecn::Ce), [(3_000, false), (4_000, true)], "the pending ACK tells the state before");
    assert_eq!(feed(4, Ecn::Ce), []);
    assert_eq!(feed(5, Ecn::Ce), [(6_000, true)], "marked segments are acknowledged by twos as well");
    assert_eq!(feed(6, Ecn::Ect0), [(7_000, false)], "nothing was pending");
    assert_eq!(feed(7, Ecn::Ce), [(8_000, true)]);
    assert_eq!(feed(8, Ecn::Ce), []);
    assert_eq!(feed(9, Ecn::Ect0), [(9_000, true), (10_000, false)]);
}

#[test]
fn rfc_8257_cwr_does_not_end_the_echo_of_a_mark() {
    let mut net = each_mark(false);
    assert_eq!(arrives(&mut net, 0, Ecn::Ce, TcpFlags::CWR), [(1_000, true)]);
    assert_eq!(
        arrives(&mut net, 1, Ecn::Ect0, TcpFlags::NONE),
        [(2_000, false)],
        "and without CWR it ends all the same"
    );
}

#[test]
fn with_each_mark_only_marked_bytes_count_as_marked() {
    let config = Config {
        mss: 1000,
        ecn: true,
        timestamps: false,
        ecn_echo: EcnEcho::EachMark,
        initial_window: InitialWindow::Segments(20),
        ..Config::default()
    };
    let cc = Box::new(Double { first: Some(20), watches: true, ..Double::default() });
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.establish();
    net.ends[C].write(Bytes::new(20_000));
    treat(&mut net, &[4, 5, 6, 12, 19, 20], &[]);
    net.run(at(1_000));
    let marked = |t: &Told| if let Told::Seen { marked, .. } = t { *marked } else { 0 };
    let delivered = |t: &Told| if let Told::Seen { delivered, .. } = t { *delivered } else { 0 };
    let diary = diary.lock().unwrap();
    assert_eq!(diary.iter().map(delivered).sum::<u64>(), 20_000);
    assert_eq!(diary.iter().map(marked).sum::<u64>(), 6_000, "delayed ACKs and all");
    assert_eq!(net.ends[S].stats().ce_received.as_u64(), 6);
}

#[test]
fn handshake_fin_probes_and_acks_are_never_ect() {
    let config = Config { ecn: true, recv_buffer: Bytes::new(3_000), ..Config::default() };
    let mut net = Net::simple(config);
    net.ends[S].set_auto_read(false);
    net.ends[C].write(Bytes::new(6_000));
    net.run(at(4_000));
    assert!(net.ends[C].stats().probes_sent.as_u64() > 0);
    net.ends[S].set_auto_read(true);
    net.ends[C].close();
    net.ends[S].close();
    net.run(at(20_000));
    assert!(net.ends[S].is_finished() && net.ends[C].is_finished());
    let mut ect = 0;
    for (_, from, packet, _) in &net.log {
        let new_data = *from == C && packet.payload_len > 1;
        assert!(new_data || packet.ip.ecn() == Ecn::NotEct, "{packet:?}");
        ect += u32::from(packet.ip.ecn() == Ecn::Ect0);
    }
    assert!(ect > 0);
}

#[test]
fn a_loss_after_an_echo_is_told_where_the_echo_does_not_cover_it() {
    for covers in [true, false] {
        let config =
            Config { mss: 1000, ecn: true, timestamps: false, delayed_ack: DelayedAck::Off, ..Config::default() };
        let cc = Box::new(Double { first: Some(20), uncovered: !covers, ..Double::default() });
        let diary = cc.diary.clone();
        let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
        net.establish();
        net.ends[C].write(Bytes::MAX);
        treat(&mut net, &[1], &[5]);
        net.run(at(390));
        let congestions = congestions(&diary);
        assert_eq!(congestions.len(), if covers { 1 } else { 2 }, "{congestions:?}");
        assert!(matches!(congestions[0], Congestion::Ecn { .. }));
    }
}
