//! Receivers that break the rules, and senders that they feed (S. Savage et al., 1999).

use super::harness::*;
use crate::{Config, DelayedAck, Misbehavior};
use narrows_units::{Bytes, Duration, SeqNum};
use narrows_wire::{Ecn, TcpFlags};

const MSS: u16 = 1012;

/// Segments of 1000 bytes beside the timestamps, each acknowledged.
fn honest() -> Config {
    Config { mss: MSS, delayed_ack: DelayedAck::Off, ..Config::default() }
}

/// A connection whose server, the receiver, misbehaves; established.
fn net(config: Config, rules: Misbehavior) -> Net {
    let server = Config { misbehavior: Some(rules), ..config };
    let mut net = Net::new([config, server], [reno(), reno()], [1_000, 5_000]);
    net.establish();
    net
}

fn divided(pieces: u32) -> Misbehavior {
    Misbehavior { ack_division: pieces, ..Misbehavior::HONEST }
}

fn optimistic(bytes: u64) -> Misbehavior {
    Misbehavior { optimistic_acks: Bytes::new(bytes), ..Misbehavior::HONEST }
}

/// The ACK fields of what the server sent.
fn acks(net: &Net) -> Vec<u32> {
    net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().ack.as_u32()).collect()
}

#[test]
fn ack_division_acknowledges_each_segment_in_pieces() {
    let mut net = net(honest(), divided(4));
    net.ends[C].write(Bytes::new(2_000));
    net.run(at(1_000));
    assert_eq!(acks(&net), [1251, 1501, 1751, 2001, 2251, 2501, 2751, 3001]);
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(2_000));
    assert_eq!(net.ends[S].stats().acks_sent.as_u64(), 8, "each counts");
}

#[test]
fn the_acks_of_a_delay_timer_are_divided_too() {
    let config = Config { delayed_ack: DelayedAck::On { every: 2, timeout: ms(200) }, ..honest() };
    let mut net = net(config, divided(2));
    net.ends[C].write(Bytes::new(1_000));
    net.run(at(1_000));
    assert_eq!(acks(&net), [1501, 2001]);
}

#[test]
fn a_segment_acknowledged_in_part_is_repaired_by_its_rest() {
    // The second half of the first segment is not acknowledged, and everything after it is lost: only the rest leaves
    // again.
    let mut net = net(honest(), divided(2));
    let mut count = 0;
    net.rule = Box::new(move |from, _, _| {
        count += u32::from(from == S);
        if from == S && count > 1 { Fate::Drop } else { Fate::Pass }
    });
    net.ends[C].write(Bytes::new(1_000));
    net.run(at(700));
    net.rule = Box::new(|_, _, _| Fate::Pass);
    net.run(at(5_000));
    let data: Vec<_> = net.data(C).iter().map(|d| (d.1.tcp().unwrap().seq.as_u32(), d.1.payload_len)).collect();
    assert_eq!(data[..2], [(1001, 1000), (1501, 500)]);
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
}

/// The cwnd of a sender with `config` after `rounds` round trips of 100 ms with endless data.
fn cwnd_after(config: Config, rules: Misbehavior, rounds: u64) -> u64 {
    let mut net = net(config, rules);
    net.ends[C].write(Bytes::MAX);
    net.run(net.now + ms(100 * rounds + 50));
    net.ends[C].info().cwnd.as_u64()
}

#[test]
fn division_gains_nothing_where_bytes_are_counted() {
    // The test's Reno adds min(N, SMSS) in slow start (RFC 5681, section 3.1, equation 2).
    let honest_cwnd = cwnd_after(honest(), Misbehavior::HONEST, 4);
    for pieces in [2, 10, 100] {
        assert_eq!(cwnd_after(honest(), divided(pieces), 4), honest_cwnd, "{pieces}");
    }
}

#[test]
fn divided_acks_are_as_predicted() {
    let run = |predicts: bool| {
        let mut net = net(honest(), divided(7));
        net.ends[C].predicts = predicts;
        net.ends[C].write(Bytes::new(300_000));
        net.run(at(5_000));
        assert_eq!(net.ends[C].predicted > 1_000, predicts);
        let log: Vec<_> = net.log.iter().map(|e| format!("{e:?}")).collect();
        (log, net.ends[C].info())
    };
    let (fast, slow) = (run(true), run(false));
    assert!(fast == slow, "header prediction changes nothing");
}

#[test]
fn spoofed_duplicates_inflate_newreno_alone() {
    let rules = Misbehavior { duplicate_acks: 5, ..Misbehavior::HONEST };
    let sent = |sack: bool, undo: bool, rules| {
        let config = Config { sack, undo, initial_ssthresh: Some(Bytes::new(10_000)), ..honest() };
        let mut net = net(config, rules);
        net.ends[C].write(Bytes::MAX);
        net.run(net.now + ms(350));
        net.ends[C].stats().sent_bytes.as_u64()
    };
    let fair = sent(false, false, Misbehavior::HONEST);
    let (spoofed, undone) = (sent(false, false, rules), sent(false, true, rules));
    assert!(spoofed > 3 * fair, "each duplicate lets a segment leave (RFC 5681, section 3.2): {spoofed} and {fair}");
    assert!(undone < 3 * fair / 2, "timestamps show the retransmission to be spurious (RFC 4015): {undone} and {fair}");
    let honest = sent(true, false, Misbehavior::HONEST);
    assert_eq!(sent(true, false, rules), honest, "with SACK a duplicate without news is none (RFC 6675)");
}

#[test]
fn optimistic_acks_run_ahead_and_hide_the_round_trip() {
    let rules = optimistic(20_000);
    assert!(cwnd_after(honest(), rules, 3) > cwnd_after(honest(), Misbehavior::HONEST, 3));
}

#[test]
fn an_ack_of_what_was_not_sent_is_refused_and_withdrawn() {
    // Three segments, and ACKs that soon run beyond them.
    let mut net = net(honest(), optimistic(1_000_000));
    net.ends[C].write(Bytes::new(3_000));
    net.run(at(2_000));
    let refusals = net.log.iter().filter(|e| e.1 == C && e.2.payload_len == 0).count();
    assert!(refusals > 0 && acks(&net).iter().any(|&ack| ack > 4_001), "{:?}", acks(&net));
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO, "what was sent is acknowledged");
    assert_eq!(net.ends[C].stats().timeouts, 0);
    net.ends[C].write(Bytes::new(50_000));
    net.run(at(9_000));
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(53_000));
}

#[test]
fn an_optimistic_receiver_does_without_what_is_lost() {
    let mut net = net(honest(), optimistic(4_000));
    let mut count = 0;
    net.rule = Box::new(move |from, packet, _| {
        count += u32::from(from == C && packet.payload_len > 0);
        if from == C && packet.payload_len > 0 && count == 5 { Fate::Drop } else { Fate::Pass }
    });
    net.ends[C].write(Bytes::new(40_000));
    net.ends[C].close();
    net.run(at(9_000));
    let stats = net.ends[C].stats();
    assert_eq!(stats.retransmitted_bytes, Bytes::ZERO, "the sender learns of no loss");
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(39_000), "the lost segment is missing");
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    assert_eq!(net.ends[S].state(), crate::State::CloseWait, "the FIN arrived");
    let blocks = net.log.iter().any(|e| e.1 == S && !e.2.tcp().unwrap().options.sack.is_empty());
    assert!(!blocks, "no gap is reported");
}

#[test]
fn the_window_s_edge_is_that_of_an_honest_receiver() {
    // 20 segments of buffer; `Net` checks that the edge never moves back and that data stays within it.
    let small = Config { recv_buffer: Bytes::new(20_000), window_scaling: false, ..honest() };
    for rules in [optimistic(1_000_000), divided(9), Misbehavior { ack_division: 3, ..optimistic(5_000) }] {
        let mut net = net(small, rules);
        net.ends[C].write(Bytes::new(200_000));
        net.run(at(20_000));
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(200_000), "{rules:?}");
    }
}

/// The congestion events of a sender whose data is all marked, with classic or accurate ECN.
fn reductions(accurate_ecn: bool, rules: Misbehavior) -> usize {
    let config = Config { ecn: true, accurate_ecn, ..honest() };
    let server = Config { misbehavior: Some(rules), ..config };
    let sender = reno();
    let diary = std::sync::Arc::clone(&sender.diary);
    let mut net = Net::new([config, server], [sender, reno()], [1_000, 5_000]);
    net.establish();
    net.rule = Box::new(|from, packet, _| {
        if from == C && packet.payload_len > 0 {
            packet.ip.set_ecn(Ecn::Ce);
        }
        Fate::Pass
    });
    net.ends[C].write(Bytes::new(100_000));
    net.run(at(9_000));
    assert!(net.ends[S].stats().ce_received.as_u64() >= 100, "the marks arrived");
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(100_000));
    let told = diary.lock().unwrap();
    told.iter().filter(|told| matches!(told, Told::Congestion(..))).count()
}

#[test]
fn concealed_marks_reach_no_sender() {
    for accurate in [false, true] {
        assert!(reductions(accurate, Misbehavior::HONEST) > 0, "{accurate}");
        assert_eq!(reductions(accurate, Misbehavior { conceal_ce: true, ..Misbehavior::HONEST }), 0, "{accurate}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the receiver does and the network loses, the connection ends, its invariants hold (`Net` checks
        /// them at each event), and no octet is delivered twice.
        #[test]
        fn no_misbehavior_breaks_a_sender(
            ack_division in 1u32..12,
            duplicate_acks in 0u32..6,
            ahead in prop_oneof![Just(0u64), 1u64..60_000],
            lost in proptest::collection::hash_set(0u32..400, 0..20),
            every in 1u32..3,
            (sack, timestamps) in any::<(bool, bool)>(),
            kind in 0usize..4,
        ) {
            use crate::RecoveryKind::{NewReno, Rack, Reno, Sack};
            let delayed_ack = DelayedAck::On { every, timeout: ms(200) };
            let recovery = [Reno, NewReno, Sack, Rack][kind];
            let config = Config { sack, timestamps, delayed_ack, recovery, ..honest() };
            let rules = Misbehavior { ack_division, duplicate_acks, optimistic_acks: Bytes::new(ahead), conceal_ce: false };
            let mut net = net(config, rules);
            let mut count = 0;
            let fin_arrived = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let saw_fin = std::sync::Arc::clone(&fin_arrived);
            net.rule = Box::new(move |from, packet, _| {
                count += 1;
                if lost.contains(&count) {
                    return Fate::Drop;
                }
                if from == C && packet.tcp().unwrap().flags.has(TcpFlags::FIN) {
                    saw_fin.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                Fate::Pass
            });
            net.ends[C].write(Bytes::new(100_000));
            net.ends[C].close();
            net.run(net.now + Duration::from_secs(2_000));
            let delivered = net.ends[S].delivered_to_app().as_u64();
            prop_assert!(delivered <= 100_000);
            let fin_arrived = fin_arrived.load(std::sync::atomic::Ordering::Relaxed);
            if ahead == 0 {
                prop_assert_eq!(delivered, 100_000);
                prop_assert!(fin_arrived);
            }
            prop_assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
            // An optimistic receiver may acknowledge a FIN that is then lost: the sender does not send it again.
            let state = if fin_arrived { crate::State::CloseWait } else { crate::State::Established };
            prop_assert_eq!(net.ends[S].state(), state);
        }
    }
}

#[test]
fn an_ack_beyond_snd_nxt_changes_nothing_at_the_sender() {
    let mut net = net(honest(), Misbehavior::HONEST);
    net.ends[C].write(Bytes::new(3_000));
    net.poll();
    let before = net.ends[C].info();
    let mut ack = forge(S, 5_001, Some(1_001 + 3_001), TcpFlags::NONE, 0);
    if let Some(tcp) = ack.tcp_mut() {
        tcp.options.timestamps = Some(narrows_wire::Timestamps { val: u32::MAX / 4, ecr: 0 });
    }
    net.ends[C].handle_segment(&ack, net.now);
    let answer = net.ends[C].poll_transmit(net.now).unwrap();
    assert_eq!((answer.payload_len, answer.tcp().unwrap().seq), (0, SeqNum::new(4_001)), "an ACK with SND.NXT");
    assert_eq!(format!("{:?}", net.ends[C].info()), format!("{before:?}"));
}
