//! Whole transfers.

use super::harness::*;
use crate::{Config, EcnEcho, IdleRestart, Pacing, RateLimited, RecoveryKind, Reduction, RtoConfig, RtoStyle, State};
use narrows_units::{Bytes, Duration, Instant, Rate};
use narrows_wire::Packet;
use proptest::prelude::*;

fn finish(net: &mut Net) {
    let limit = Instant::ZERO + Duration::from_secs(100_000);
    while net.ends[S].state() != State::Closed || net.ends[C].state() != State::Closed {
        if net.ends[S].state() == State::CloseWait {
            net.ends[S].close();
        }
        assert!(net.step(limit), "stuck: {:#?}", net.ends);
    }
}

#[test]
fn a_transfer_arrives_whole_and_closes() {
    let mut net = Net::simple(Config::default());
    net.ends[C].write(Bytes::new(1_000_000));
    net.ends[C].close();
    finish(&mut net);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(1_000_000));
    assert_eq!(net.ends[C].acked(), Bytes::new(1_000_000));
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 0);
}

fn configs() -> impl Strategy<Value = Config> {
    let kind = prop_oneof![
        Just(RecoveryKind::RtoOnly),
        Just(RecoveryKind::Tahoe),
        Just(RecoveryKind::Reno),
        Just(RecoveryKind::NewReno),
        Just(RecoveryKind::Sack),
        Just(RecoveryKind::Fack)
    ];
    let reduction = prop_oneof![Just(Reduction::Immediate), Just(Reduction::Prr), Just(Reduction::PrrLinux)];
    let flags = prop::collection::vec(any::<bool>(), 15);
    let rto = prop_oneof![Just(RtoStyle::Rfc6298), Just(RtoStyle::Linux), Just(RtoStyle::Ns2)];
    ((kind, reduction, rto), flags, 1u64..200_000, 100u16..1460).prop_map(
        |((recovery, reduction, rto), f, buffer, mss)| Config {
            recovery,
            reduction,
            sack: f[0],
            timestamps: f[1],
            window_scaling: f[2],
            ecn: f[3],
            nagle: f[4],
            limited_transmit: f[5],
            undo: f[6],
            full_ack_cap: f[7],
            impatient: f[13],
            lost_retransmission: f[8],
            pacing: if f[9] { Pacing::Ratio { slow_start: 200, avoidance: 120 } } else { Pacing::Off },
            idle_restart: if f[10] { IdleRestart::Linux } else { IdleRestart::Rfc5681 },
            cwnd_validation: f[11],
            rate_limited: if f[11] != f[12] { RateLimited::Unlimited } else { RateLimited::CwndLimited },
            ecn_echo: if f[12] { EcnEcho::EachMark } else { EcnEcho::UntilCwr },
            recv_buffer: Bytes::new(buffer),
            mss,
            gso: f[14],
            max_retries: Some(10_000),
            rto: RtoConfig { style: rto, ..Config::default().rto },
            ..Config::default()
        },
    )
}

/// What the network does with the first packets; later ones pass, so that every transfer ends.
fn misfortunes(fates: Vec<u8>) -> impl FnMut(usize, &mut Packet, Instant) -> Fate {
    let mut n = 0usize;
    move |_, packet, _| {
        n += 1;
        if n > 3 * fates.len() {
            return Fate::Pass;
        }
        match fates[n % fates.len()] {
            0 | 1 => Fate::Drop,
            2 => Fate::Late(ms(3)),
            3 => Fate::Late(ms(400)),
            4 => Fate::Twice,
            5 if packet.ip.ecn().is_capable() => {
                packet.ip.set_ecn(narrows_wire::Ecn::Ce);
                Fate::Pass
            }
            _ => Fate::Pass,
        }
    }
}

/// Sends `sizes` octets both ways, closes, and checks that each arrived once.
fn transfer(configs: [Config; 2], iss: [u32; 2], sizes: [u64; 2], fates: Vec<u8>, slow: bool) {
    let mut net = Net::new(configs, [reno(), reno()], iss);
    net.rule = Box::new(misfortunes(fates));
    net.ends[C].write(Bytes::new(sizes[0]));
    net.ends[S].write(Bytes::new(sizes[1]));
    net.ends[C].close();
    if slow {
        net.ends[S].set_auto_read(false);
    }
    let limit = Instant::ZERO + Duration::from_secs(10_000_000);
    let mut steps = 0u64;
    while net.ends.iter().any(|e| e.state() != State::Closed) {
        if net.ends[S].state() == State::CloseWait {
            net.ends[S].close();
        }
        steps += 1;
        assert!(steps < 2_000_000, "never ends");
        if slow && steps.is_multiple_of(7) {
            net.ends[S].read(Bytes::new(1 + steps % 5000));
        }
        if !net.step(limit) {
            if slow && !net.ends[S].readable().is_zero() {
                net.ends[S].read(Bytes::MAX);
                continue;
            }
            panic!("stuck at {}: {:#?}", net.now, net.ends);
        }
    }
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(sizes[0]));
    assert_eq!(net.ends[C].delivered_to_app(), Bytes::new(sizes[1]));
    assert_eq!(net.ends[C].acked(), Bytes::new(sizes[0]));
    assert_eq!(net.ends[S].acked(), Bytes::new(sizes[1]));
}

/// Eifel detection finds that the original of a retransmission was delivered: both copies count in pipe, but without
/// SACK a sender in Open is held by its FlightSize (RFC 5681, section 3.1), which counts octets once.
#[test]
fn after_an_undo_without_sack_the_window_limits_flightsize() {
    let common = Config {
        mss: 100,
        sack: false,
        timestamps: true,
        window_scaling: false,
        nagle: false,
        limited_transmit: false,
        cwnd_validation: false,
        max_retries: Some(10_000),
        ..Config::default()
    };
    let client = Config { recovery: RecoveryKind::Tahoe, undo: true, recv_buffer: Bytes::new(2637), ..common };
    let server = Config { recovery: RecoveryKind::RtoOnly, ..common };
    let fates = vec![0, 0, 5, 5, 4, 5, 5, 0, 2, 4, 4, 4, 0, 2, 2, 2, 4, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0];
    transfer([client, server], [0, 0], [353, 881], fates, true);
}

proptest! {
    /// The client has something to send: closing before a SYN leaves no connection (RFC 9293, section 3.10.4).
    #[test]
    fn every_byte_arrives_once_whatever_the_network_does(
        client in configs(),
        server in configs(),
        iss in any::<[u32; 2]>(),
        sizes in [1u64..150_000, 0u64..20_000],
        fates in prop::collection::vec(0u8..20, 1..300),
        slow in any::<bool>(),
    ) {
        transfer([client, server], iss, sizes, fates, slow);
    }
    /// Header prediction changes nothing that can be seen.
    #[test]
    fn predicted_segments_are_like_all_others(
        client in configs(),
        server in configs(),
        sizes in [0u64..300_000, 0u64..20_000],
        fates in prop::collection::vec(0u8..60, 1..200),
        slow in any::<bool>(),
        asks in any::<[bool; 4]>(),
        pacing in prop::option::of(100u64..100_000),
    ) {
        let [watches, rates, quiet, rules] = asks;
        let pacing = pacing.map(Rate::kbps);
        let diaries = [Diary::default(), Diary::default()];
        let mut nets = [true, false].map(|predicts| {
            let cc = || {
                let diary = diaries[usize::from(predicts)].clone();
                Box::new(Double { watches, rates, quiet, rules, pacing, whole: true, diary, ..*reno() })
            };
            let mut net = Net::new([client, server], [cc(), cc()], [u32::MAX - 5_000, 7]);
            net.rule = Box::new(misfortunes(fates.clone()));
            for end in [C, S] {
                net.ends[end].predicts = predicts;
                net.ends[end].write(Bytes::new(sizes[end]));
            }
            net.ends[C].close();
            net.ends[S].set_auto_read(!slow);
            net
        });
        let limit = Instant::ZERO + Duration::from_secs(10_000_000);
        for n in 0..20_000u64 {
            let went = nets.each_mut().map(|net| {
                if n.is_multiple_of(7) {
                    net.ends[S].read(Bytes::new(1 + n % 5000));
                }
                net.step(limit)
            });
            prop_assert_eq!(went[0], went[1]);
            prop_assert_eq!(nets[0].log.split_off(0), nets[1].log.split_off(0));
            let told = diaries.each_ref().map(|diary| diary.lock().unwrap().split_off(0));
            prop_assert_eq!(&told[0], &told[1]);
            for end in [C, S] {
                let of = |net: &Net| (net.ends[end].info(), net.ends[end].stats(), net.ends[end].poll_timeout());
                prop_assert_eq!(of(&nets[0]), of(&nets[1]));
            }
            if !went[0] {
                break;
            }
        }
    }
}
