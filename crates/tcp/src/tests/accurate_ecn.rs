//! Room for AccECN (RFC 9768): feedback that differs on every ACK, beside header prediction.

use super::harness::*;
use crate::{Config, DelayedAck, EcnEcho, InitialWindow};
use narrows_cc::Congestion;
use narrows_units::Bytes;
use narrows_wire::{Ecn, TcpFlags};

fn config() -> Config {
    Config {
        mss: 1000,
        ecn: true,
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

/// Marks every data segment for which `marked` holds, by its number, and drops ACKs for which `lost` holds.
fn treat(net: &mut Net, marked: fn(u32) -> bool, lost: fn(u32) -> bool) {
    let (mut n, mut acks) = (0, 0);
    net.rule = Box::new(move |from, packet, _| {
        if from == S {
            acks += 1;
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

fn marked_bytes(diary: &Diary) -> u64 {
    let of = |t: &Told| if let Told::Seen { marked, .. } = t { *marked } else { 0 };
    diary.lock().unwrap().iter().map(of).sum()
}

#[test]
fn an_ace_field_that_differs_on_every_ack_stays_on_the_fast_path() {
    for options in [false, true] {
        let [predicted, plain] = [true, false].map(|predicts| {
            let (mut net, diary) = steady(config(), predicts);
            net.ends.iter_mut().for_each(|end| end.start_accurate(options));
            treat(&mut net, |_| true, |_| false);
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
        assert_eq!(net.ends[C].marked_packets()[1], 400);
        assert_eq!(marked_bytes(diary), 400_000, "each of them told to the congestion control");
        // The long way gives the same, to the byte.
        assert_eq!(plain.0.ends[C].predicted, 0);
        assert_eq!(net.log, plain.0.log);
        assert_eq!(*diary.lock().unwrap(), *plain.1.lock().unwrap());
    }
}

#[test]
fn the_option_stands_on_pure_acks_and_counts_bytes() {
    let (mut net, _) = steady(config(), true);
    net.ends.iter_mut().for_each(|end| end.start_accurate(true));
    treat(&mut net, |n| n % 3 == 0, |_| false);
    net.run(at(390));
    let acks: Vec<_> = net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().options).collect();
    assert!(acks.iter().all(|options| options.len() == 8), "two counters");
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
        net.ends.iter_mut().for_each(|end| end.start_accurate(options));
        treat(&mut net, |n| n % 2 == 0, |ack| ack % 4 != 0);
        net.run(at(2_299));
        let [arrived, heard] = [net.ends[S].marked_packets()[0], net.ends[C].marked_packets()[1]];
        assert!(
            arrived > 100 && heard <= arrived && arrived - heard <= 20,
            "{heard} of {arrived}: a window is on its way"
        );
        assert_eq!(marked_bytes(&diary), u64::from(heard) * 1_000);
    }
}

#[test]
fn a_mark_is_answered_once_per_window_and_without_cwr() {
    let (mut net, diary) = steady(config(), true);
    net.ends.iter_mut().for_each(|end| end.start_accurate(false));
    treat(&mut net, |n| matches!(n, 3..=9), |_| false);
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
            let (mut net, diary) = steady(Config { ecn_echo, ..config() }, predicts);
            treat(&mut net, |n| n % 2 == 0, |_| false);
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
