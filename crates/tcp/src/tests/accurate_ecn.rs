//! AccECN (RFC 9768): negotiation with all kinds of peers, feedback that differs on every ACK, and what paths do to it.

use super::harness::*;
use crate::{Agreement, Config, Connection, DelayedAck, EcnEcho, InitialWindow};
use narrows_cc::Congestion;
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{Ecn, Packet, TcpFlags, TcpOptions};

fn config() -> Config {
    Config {
        mss: 1000,
        ecn: true,
        accurate_ecn: true,
        timestamps: false,
        delayed_ack: DelayedAck::Off,
        initial_window: InitialWindow::Segments(20),
        ..Config::default()
    }
}

/// A sender whose window stays at 20 segments, its diary, and a receiver.
fn steady(config: Config, predicts: bool) -> (Net, Diary) {
    let cc = Box::new(Double { first: Some(20), watches: true, whole: true, ..Double::default() });
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [1, 1]);
    net.ends.iter_mut().for_each(|end| end.predicts = predicts);
    net.establish();
    net.ends[C].write(Bytes::MAX);
    (net, diary)
}

/// Removes the AccECN option from a packet.
fn strip(packet: &mut Packet) {
    let tcp = packet.tcp_mut().unwrap();
    let TcpOptions { mss, window_scale, sack_permitted, timestamps, .. } = tcp.options;
    tcp.options = TcpOptions { mss, window_scale, sack_permitted, timestamps, ..TcpOptions::default() };
}

/// Marks every data segment for which `marked` holds, by its number, drops ACKs for which `lost` holds, and strips the
/// option from the others unless `options`.
fn treat(net: &mut Net, options: bool, marked: fn(u32) -> bool, lost: fn(u32) -> bool) {
    let (mut n, mut acks) = (0, 0);
    net.rule = Box::new(move |from, packet, _| {
        if from == S {
            acks += 1;
            if !options {
                strip(packet);
            }
            return if lost(acks) { Fate::Drop } else { Fate::Pass };
        }
        if packet.payload_len > 0 {
            n += 1;
            if marked(n) {
                assert_eq!(packet.ip.ecn(), Ecn::Ect0);
                packet.ip.set_ecn(Ecn::Ce);
            }
        }
        Fate::Pass
    });
}

/// The ACE fields of the ACKs, in the order of sending.
fn ace(net: &Net) -> Vec<u8> {
    net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().flags.ace()).collect()
}

/// Packets that an end's peer reported as marked.
fn reported(end: &Connection) -> u64 {
    end.accurate_ecn().unwrap().ce_reported.as_u64()
}

fn marked_bytes(diary: &Diary) -> u64 {
    let of = |t: &Told| if let Told::Seen { marked, .. } = t { *marked } else { 0 };
    diary.lock().unwrap().iter().map(of).sum()
}

#[test]
fn an_ace_field_that_differs_on_every_ack_stays_on_the_fast_path() {
    for options in [false, true] {
        let [predicted, plain] = [true, false].map(|predicts| {
            let (mut net, diary) = steady(config(), predicts);
            treat(&mut net, options, |_| true, |_| false);
            net.run(at(2_290));
            (net, diary)
        });
        let (net, diary) = &predicted;
        let fields = ace(net);
        assert_eq!(fields.len(), 420, "21 windows");
        assert_eq!(fields[..5], [6, 7, 0, 1, 2]);
        assert!(fields.windows(2).all(|pair| pair[0] != pair[1]), "each ACK reports another mark");
        // In each window one ACK ends a reduction and begins the next; the first of all begins one. All others of those
        // 400 that arrived are as predicted.
        assert_eq!(net.ends[C].predicted, 400 - 20);
        assert_eq!(net.ends[C].stats().ecn_reductions, 20);
        assert_eq!(reported(&net.ends[C]), 400);
        assert_eq!(marked_bytes(diary), 400_000, "each of them told to the congestion control");
        // The long way gives the same, to the byte.
        assert_eq!(plain.0.ends[C].predicted, 0);
        assert_eq!(net.log, plain.0.log);
        assert_eq!(*diary.lock().unwrap(), *plain.1.lock().unwrap());
    }
}

#[test]
fn the_option_stands_on_pure_acks_and_counts_bytes() {
    // Every third segment is marked, so each ACK follows a change, or the ACK after one.
    let (mut net, _) = steady(config(), true);
    treat(&mut net, true, |n| n % 3 == 0, |_| false);
    net.run(at(390));
    let acks: Vec<_> = net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().options).collect();
    assert!(acks.iter().all(|options| options.len() == 12), "three counters");
    let last = acks.last().unwrap().accecn().unwrap();
    let segments = u32::try_from(acks.len()).unwrap();
    assert_eq!((last.ce(), last.ect0()), (Some(segments / 3 * 1_000), Some((segments - segments / 3) * 1_000 + 1)));
    assert!(net.data(C).iter().all(|d| d.1.tcp().unwrap().options.is_empty()), "data stays within its MSS");
}

#[test]
fn lost_acks_lose_no_mark() {
    // Of four ACKs three are lost: the field moves by up to four.
    for options in [false, true] {
        let (mut net, diary) = steady(config(), true);
        treat(&mut net, options, |n| n % 2 == 0, |ack| ack % 4 != 0);
        net.run(at(2_299));
        let arrived = net.ends[S].accurate_ecn().unwrap().ce_received.as_u64();
        let heard = reported(&net.ends[C]);
        assert!(
            arrived > 100 && heard <= arrived && arrived - heard <= 20,
            "{heard} of {arrived}: a window is on its way"
        );
        assert_eq!(marked_bytes(&diary), heard * 1_000);
    }
}

#[test]
fn a_mark_is_answered_once_per_window_and_without_cwr() {
    let (mut net, diary) = steady(config(), true);
    treat(&mut net, false, |n| matches!(n, 3..=9), |_| false);
    net.run(at(1_000));
    let of = |t: &Told| matches!(t, Told::Congestion(Congestion::Ecn { .. }, _));
    assert_eq!(diary.lock().unwrap().iter().filter(|t| of(t)).count(), 1);
    // The sender's segments carry the field of what arrived here: the first value, 0b101, as CWR is no flag of its own.
    let first = TcpFlags::AE.with(TcpFlags::ECE);
    assert!(net.data(C).iter().all(|d| d.1.tcp().unwrap().flags.without(first.with(TcpFlags::PSH)) == TcpFlags::ACK));
    assert!(net.data(C).iter().all(|d| d.1.tcp().unwrap().flags.has(first)));
}

#[test]
fn echoes_of_classic_ecn_within_a_reduced_window_are_predicted_too() {
    for ecn_echo in [EcnEcho::UntilCwr, EcnEcho::EachMark] {
        let [predicted, plain] = [true, false].map(|predicts| {
            let (mut net, diary) = steady(Config { ecn_echo, accurate_ecn: false, ..config() }, predicts);
            treat(&mut net, true, |n| n % 2 == 0, |_| false);
            net.run(at(2_290));
            (net, diary)
        });
        let (net, diary) = &predicted;
        assert_eq!(net.ends[C].stats().ecn_reductions, 20, "{ecn_echo:?}");
        assert!(net.ends[C].predicted >= 400 - 2 * 20, "{ecn_echo:?}: {}", net.ends[C].predicted);
        assert_eq!(net.log, plain.0.log);
        assert_eq!(*diary.lock().unwrap(), *plain.1.lock().unwrap());
    }
}

/// An end without ECN, with classic ECN and with AccECN.
fn kinds() -> [Config; 3] {
    let off = Config { ecn: false, accurate_ecn: false, ect1: true, ..config() };
    [off, Config { ecn: true, ..off }, Config { ecn: true, accurate_ecn: true, ..off }]
}

#[test]
fn two_ends_agree_on_the_best_that_both_have() {
    let agreements = [Agreement::Nothing, Agreement::Ecn, Agreement::AccurateEcn];
    for (client, ours) in kinds().into_iter().enumerate() {
        for (server, theirs) in kinds().into_iter().enumerate() {
            let mut net = Net::new([ours, theirs], [reno(), reno()], [1, 1]);
            net.establish();
            let agreed = agreements[client.min(server)];
            assert_eq!(net.ends.each_ref().map(|end| end.info().agreement), [agreed; 2], "{client} and {server}");
            net.ends.iter_mut().for_each(|end| end.write(Bytes::new(5_000)));
            net.run(at(600));
            for (end, config) in [ours, theirs].into_iter().enumerate() {
                // ECT(1) asks for a response that only accurate feedback allows.
                let expected = match agreed {
                    Agreement::AccurateEcn => Ecn::Ect1,
                    Agreement::Ecn if config.accurate_ecn => Ecn::Ect0,
                    Agreement::Ecn => Ecn::Ect1,
                    _ => Ecn::NotEct,
                };
                assert!(!net.data(end).is_empty() && net.data(end).iter().all(|d| d.1.ip.ecn() == expected));
                assert_eq!(net.ends[end].accurate_ecn().is_some(), agreed == Agreement::AccurateEcn);
            }
        }
    }
}

/// The ACE fields of the handshake's segments and their AccECN options, without a change of state.
fn handshake(rule: fn(usize, &mut Packet)) -> (Net, Vec<(u8, Option<usize>)>) {
    let mut net = Net::new([config(); 2], [reno(), reno()], [1, 1]);
    net.rule = Box::new(move |from, packet, _| {
        rule(from, packet);
        Fate::Pass
    });
    net.run(at(200));
    let seen = |e: &(_, _, Packet, _)| {
        let tcp = e.2.tcp().unwrap();
        (tcp.flags.ace(), tcp.options.accecn().map(|option| option.len()))
    };
    let fields = net.log.iter().map(seen).collect();
    (net, fields)
}

/// The codepoint of the data that an end sends next.
fn codepoint(net: &mut Net, end: usize) -> Ecn {
    net.ends[end].write(Bytes::new(1_000));
    net.run(net.now + ms(300));
    net.data(end).last().unwrap().1.ip.ecn()
}

#[test]
fn the_handshake_reports_both_syns_and_shows_the_option() {
    // SYN without option; Not-ECT is 010 on the SYN-ACK, with the option, and on the ACK, with the option.
    let (mut net, fields) = handshake(|_, _| {});
    assert_eq!(fields, [(0b111, None), (0b010, Some(3)), (0b010, Some(3))]);
    assert_eq!([C, S].map(|end| codepoint(&mut net, end)), [Ecn::Ect0; 2]);
    assert!(net.ends.iter().all(|end| end.accurate_ecn().unwrap() == crate::AccurateEcn::default()));
}

#[test]
fn a_changed_ip_header_of_a_syn_ends_ecn_capable_data_of_its_sender() {
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        for changed in [C, S] {
            let mut net = Net::new([config(); 2], [reno(), reno()], [1, 1]);
            net.rule = Box::new(move |from, packet, _| {
                if from == changed && packet.tcp().unwrap().flags.has(TcpFlags::SYN) {
                    packet.ip.set_ecn(ecn);
                }
                Fate::Pass
            });
            net.run(at(200));
            let faults = net.ends.each_ref().map(|end| end.accurate_ecn().unwrap().faults);
            assert_eq!(faults, if changed == C { [1, 0] } else { [0, 1] }, "{ecn:?} on the SYN of {changed}");
            assert_eq!(codepoint(&mut net, changed), Ecn::NotEct);
            assert_eq!(codepoint(&mut net, 1 - changed), Ecn::Ect0);
            // A CE mark on the SYN-ACK is counted by both (tables 3 and 4).
            let counted = u64::from(changed == S && ecn == Ecn::Ce);
            assert_eq!(net.ends[C].accurate_ecn().unwrap().ce_received.as_u64(), counted);
            assert_eq!(reported(&net.ends[S]), counted);
        }
    }
}

#[test]
fn a_path_that_clears_the_field_is_found_by_both_ends() {
    let (mut net, _) = handshake(|_, packet| {
        let tcp = packet.tcp_mut().unwrap();
        if !tcp.flags.has(TcpFlags::SYN) {
            tcp.flags = tcp.flags.with_ace(0);
        }
    });
    assert_eq!(codepoint(&mut net, S), Ecn::NotEct, "the server saw the last ACK of the handshake");
    assert_eq!(codepoint(&mut net, C), Ecn::Ect0, "the client knows it from the first ACK of data");
    assert_eq!(codepoint(&mut net, C), Ecn::NotEct);
    assert!(net.ends.iter().all(|end| end.accurate_ecn().unwrap().faults == 1));
    assert!(net.ends.iter().all(|end| end.stats().ecn_reductions == 0));
}

/// Drops the first `n` segments of `of` with SYN.
fn drop_syns(net: &mut Net, of: usize, n: u32) {
    let mut left = n;
    net.rule = Box::new(move |from, packet, _| {
        let drops = from == of && left > 0 && packet.tcp().unwrap().flags.has(TcpFlags::SYN);
        left -= u32::from(drops);
        if drops { Fate::Drop } else { Fate::Pass }
    });
}

#[test]
fn the_third_syn_offers_no_ecn() {
    for (lost, agreement) in [(1, Agreement::AccurateEcn), (2, Agreement::Nothing)] {
        let mut net = Net::new([config(); 2], [reno(), reno()], [1, 1]);
        drop_syns(&mut net, C, lost);
        net.run(at(9_000));
        assert_eq!(net.ends.each_ref().map(|end| end.info().agreement), [agreement; 2]);
    }
}

#[test]
fn after_a_syn_without_offer_an_agreement_reports_but_nothing_is_ecn_capable() {
    // Three SYN-ACKs are lost: the third SYN has no offer, and the server stays with what the first one agreed on.
    let mut net = Net::new([config(); 2], [reno(), reno()], [1, 1]);
    drop_syns(&mut net, S, 3);
    net.run(at(9_000));
    assert_eq!(net.ends.each_ref().map(|end| end.info().agreement), [Agreement::AccurateEcn; 2]);
    assert_eq!([C, S].map(|end| codepoint(&mut net, end)), [Ecn::NotEct; 2]);
    let of = |e: &&(_, usize, Packet, _)| e.1 == S && e.2.tcp().unwrap().flags.has(TcpFlags::SYN);
    let options = net.log.iter().filter(of).map(|e| e.2.tcp().unwrap().options.accecn().is_some());
    assert!(options.clone().next().unwrap() && !options.skip(1).any(|has| has), "only on the first SYN-ACK");
}

#[test]
fn a_simultaneous_open_agrees_on_accurate_ecn() {
    let [client, server] = addresses();
    let open = |local, remote, iss| Connection::connect(config(), reno(), None, local, remote, SeqNum::new(iss));
    let mut net = Net::with([open(client, server, 1), open(server, client, 500)]);
    net.run(at(400));
    assert_eq!(net.ends.each_ref().map(|end| end.info().agreement), [Agreement::AccurateEcn; 2]);
    assert_eq!([C, S].map(|end| codepoint(&mut net, end)), [Ecn::Ect0; 2]);
    assert!(net.ends.iter().all(|end| end.accurate_ecn().unwrap().faults == 0));
}

#[test]
fn delayed_acks_report_marks_early_and_the_option_a_few_times_per_round() {
    let config = Config { delayed_ack: DelayedAck::On { every: 2, timeout: ms(40) }, ..config() };
    let (mut net, diary) = steady(config, true);
    treat(&mut net, true, |n| n == 101, |_| false);
    net.run(at(2_290));
    let acks: Vec<_> = net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap()).collect();
    let with = acks.iter().filter(|tcp| tcp.options.accecn().is_some()).count();
    // Twenty-one rounds of ten ACKs at once and one that is delayed: a beacon for the first and one for the last.
    assert!(acks.len() > 200 && (20..=42).contains(&with), "{with} of {}", acks.len());
    assert_eq!((reported(&net.ends[C]), marked_bytes(&diary)), (1, 1_000));
    // The marked segment is the first of a pair, and its ACK does not wait for the second.
    let first = acks.iter().position(|tcp| tcp.flags.ace() == 6).unwrap();
    assert_eq!(acks[first].ack, acks[first - 1].ack + Bytes::new(1_000));
    assert_eq!(acks[first].options.accecn().unwrap().ce(), Some(1_000));
}

#[test]
fn an_overtaken_ack_reports_nothing() {
    // The ACK of a hole's duplicate is overtaken by later ones: its field looks like seven further marks.
    let (mut net, diary) = steady(config(), true);
    let (mut n, mut acks) = (0, 0);
    net.rule = Box::new(move |from, packet, _| {
        if from == S {
            acks += 1;
            return if acks == 8 { Fate::Late(ms(20)) } else { Fate::Pass };
        }
        n += u32::from(packet.payload_len > 0);
        if packet.payload_len > 0 && n <= 20 && n > 3 {
            packet.ip.set_ecn(Ecn::Ce);
        }
        if n == 3 && packet.payload_len > 0 { Fate::Drop } else { Fate::Pass }
    });
    net.run(at(800));
    assert_eq!(net.ends[S].accurate_ecn().unwrap().ce_received.as_u64(), 17);
    assert_eq!((reported(&net.ends[C]), marked_bytes(&diary)), (17, 17_000));
}
