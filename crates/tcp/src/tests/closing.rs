//! FIN, RST and unacceptable segments, in every state (RFC 9293, sections 3.6 and 3.10.7.4).

use super::harness::*;
use crate::{Config, State};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::TcpFlags;

fn plain() -> Net {
    let mut net = Net::simple(Config { timestamps: false, time_wait: Duration::from_secs(10), ..Config::default() });
    net.establish();
    net
}

fn states(net: &Net) -> [State; 2] {
    [net.ends[C].state(), net.ends[S].state()]
}

#[test]
fn an_orderly_close_from_one_side() {
    let mut net = plain();
    net.ends[C].write(Bytes::new(100));
    net.ends[C].close();
    net.poll();
    assert_eq!(states(&net), [State::FinWait1, State::Established]);
    net.run(at(300));
    assert_eq!(states(&net), [State::FinWait2, State::CloseWait]);
    // The other direction stays open.
    net.ends[S].write(Bytes::new(50_000));
    net.run(at(1_000));
    assert_eq!(net.ends[C].delivered_to_app(), Bytes::new(50_000));
    net.ends[S].close();
    net.poll();
    assert_eq!(states(&net), [State::FinWait2, State::LastAck]);
    net.run(at(1_100));
    assert_eq!(states(&net), [State::TimeWait, State::Closed]);
    net.run(at(11_049));
    assert_eq!(states(&net), [State::TimeWait, State::Closed]);
    net.run(at(11_050));
    assert_eq!(states(&net), [State::Closed, State::Closed]);
    assert_eq!(net.ends[C].poll_timeout(), Instant::NEVER);
}

#[test]
fn a_simultaneous_close() {
    let mut net = plain();
    net.ends[C].close();
    net.ends[S].close();
    net.poll();
    assert_eq!(states(&net), [State::FinWait1, State::FinWait1]);
    net.run(at(251));
    assert_eq!(states(&net), [State::Closing, State::Closing]);
    net.run(at(301));
    assert_eq!(states(&net), [State::TimeWait, State::TimeWait]);
    net.run(at(11_000));
    assert_eq!(states(&net), [State::Closed, State::Closed]);
}

#[test]
fn fin_and_its_ack_in_one_segment_lead_straight_to_time_wait() {
    let mut net = plain();
    net.ends[C].close();
    net.poll();
    net.ends[C].handle_segment(&forge(S, 5_001, Some(1_002), TcpFlags::FIN, 0), net.now);
    assert_eq!(net.ends[C].state(), State::TimeWait);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut net = plain();
    let mut first = true;
    net.rule = Box::new(move |from, packet, _| {
        let fin = from == C && packet.tcp().unwrap().flags.has(TcpFlags::FIN);
        if fin && core::mem::take(&mut first) { Fate::Drop } else { Fate::Pass }
    });
    net.ends[C].close();
    net.run(at(1_400));
    assert_eq!(states(&net), [State::FinWait2, State::CloseWait]);
    assert_eq!(net.ends[C].stats().timeouts, 1);
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 0, "a FIN is no data");
}

#[test]
fn a_fin_that_comes_again_restarts_time_wait() {
    let mut net = plain();
    net.ends[C].close();
    net.run(at(300));
    net.ends[S].close();
    net.run(at(400));
    assert_eq!(net.ends[C].state(), State::TimeWait);
    let end = net.ends[C].poll_timeout();
    net.now = at(3_000);
    net.ends[C].handle_segment(&forge(S, 5_001, Some(1_002), TcpFlags::FIN, 0), net.now);
    assert!(net.ends[C].poll_timeout() > end);
    let ack = net.ends[C].poll_transmit(net.now).unwrap();
    assert_eq!(ack.tcp().unwrap().ack, SeqNum::new(5_002));
}

#[test]
fn a_reset_in_the_window_closes_every_synchronized_state() {
    for setup in 0..7 {
        let mut net = plain();
        match setup {
            0 => {}
            1 => net.ends[C].close(),
            2 | 3 => {
                net.ends[C].close();
                net.run(at(300));
            }
            4 => {
                net.ends[S].close();
                net.run(at(300));
            }
            5 => {
                net.ends[S].close();
                net.run(at(300));
                net.ends[C].close();
            }
            _ => {
                net.ends[C].close();
                net.ends[S].close();
                net.run(at(251));
            }
        }
        if setup == 3 {
            net.ends[S].close();
            net.run(at(400));
        }
        net.poll();
        let expected = [
            State::Established,
            State::FinWait1,
            State::FinWait2,
            State::TimeWait,
            State::CloseWait,
            State::LastAck,
            State::Closing,
        ];
        assert_eq!(net.ends[C].state(), expected[setup]);
        // RCV.NXT is 5001, or 5002 after the FIN. A RST outside the window is ignored.
        net.ends[C].handle_segment(&forge(S, 4_000, None, TcpFlags::RST, 0), net.now);
        assert_eq!(net.ends[C].state(), expected[setup], "outside the window");
        assert_eq!(net.ends[C].poll_transmit(net.now), None, "no answer to a RST");
        net.ends[C].handle_segment(&forge(S, 5_002, None, TcpFlags::RST, 0), net.now);
        assert_eq!(net.ends[C].state(), State::Closed);
        let ended = matches!(expected[setup], State::TimeWait | State::LastAck | State::Closing);
        assert_eq!(net.ends[C].aborted_at(), (!ended).then_some(net.now), "both had closed in {:?}", expected[setup]);
        assert_eq!(net.ends[C].poll_transmit(net.now), None);
        assert_eq!(net.ends[C].poll_timeout(), Instant::NEVER);
    }
}

#[test]
fn abort_sends_a_reset_that_the_peer_accepts() {
    let mut net = plain();
    net.ends[C].write(Bytes::new(100_000));
    net.poll();
    net.ends[C].abort();
    net.run(at(1_000));
    assert_eq!(states(&net), [State::Closed, State::Closed]);
    assert!(net.ends[C].stats().resets_sent.as_u64() > 0);
}

#[test]
fn unacceptable_segments_are_answered_with_an_ack_and_dropped() {
    let mut net = plain();
    let cases = [
        // Before and beyond the window; an ACK of what was never sent; SYN in the window.
        forge(C, 900, Some(5_001), TcpFlags::NONE, 50),
        forge(C, 1_001 + (20 << 20), Some(5_001), TcpFlags::NONE, 50),
        forge(C, 1_001, Some(9_999), TcpFlags::NONE, 50),
        forge(C, 1_001, Some(5_001), TcpFlags::SYN, 0),
    ];
    for packet in cases {
        net.ends[S].handle_segment(&packet, net.now);
        let ack = net.ends[S].poll_transmit(net.now).expect("an ACK");
        assert_eq!((ack.tcp().unwrap().flags, ack.tcp().unwrap().ack), (TcpFlags::ACK, SeqNum::new(1_001)));
        assert_eq!(net.ends[S].state(), State::Established);
        assert_eq!(net.ends[S].delivered_to_app(), Bytes::ZERO);
    }
    net.ends[S].handle_segment(&forge(C, 1_001, None, TcpFlags::NONE, 50), net.now);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::ZERO, "no ACK, no data");
}

#[test]
fn data_that_begins_before_the_window_is_trimmed() {
    let mut net = plain();
    net.ends[S].handle_segment(&forge(C, 1_001, Some(5_001), TcpFlags::NONE, 100), net.now);
    net.ends[S].handle_segment(&forge(C, 1_051, Some(5_001), TcpFlags::NONE, 100), net.now);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(150));
}

#[test]
fn nothing_follows_the_fin() {
    let mut net = plain();
    net.ends[S].handle_segment(&forge(C, 1_001, Some(5_001), TcpFlags::FIN, 100), net.now);
    assert_eq!(net.ends[S].state(), State::CloseWait);
    net.ends[S].handle_segment(&forge(C, 1_102, Some(5_001), TcpFlags::NONE, 100), net.now);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(100));
}

#[test]
fn a_fin_out_of_order_waits_for_its_turn() {
    let mut net = plain();
    net.ends[S].handle_segment(&forge(C, 1_101, Some(5_001), TcpFlags::FIN, 100), net.now);
    assert_eq!(net.ends[S].state(), State::Established);
    net.ends[S].handle_segment(&forge(C, 1_001, Some(5_001), TcpFlags::NONE, 100), net.now);
    assert_eq!(net.ends[S].state(), State::CloseWait);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(200));
}

#[test]
fn paws_drops_old_segments_and_segments_without_the_option() {
    let mut net = Net::simple(Config::default());
    net.establish();
    let mut packet = forge(C, 1_001, Some(5_001), TcpFlags::NONE, 50);
    net.ends[S].handle_segment(&packet, net.now);
    assert_eq!(net.ends[S].poll_transmit(net.now), None, "silently");
    let ts = |val| Some(narrows_wire::Timestamps { val, ecr: 0 });
    packet.tcp_mut().unwrap().options.timestamps = ts(0u32.wrapping_sub(5));
    net.ends[S].handle_segment(&packet, net.now);
    assert_eq!(net.ends[S].stats().paws_drops.as_u64(), 1);
    assert!(net.ends[S].poll_transmit(net.now).is_some(), "with an ACK");
    packet.tcp_mut().unwrap().options.timestamps = ts(200_000);
    net.ends[S].handle_segment(&packet, net.now);
    assert_eq!(net.ends[S].delivered_to_app(), Bytes::new(50));
    net.ends[S].handle_segment(&forge(C, 1_051, None, TcpFlags::RST, 0), net.now);
    assert_eq!(net.ends[S].state(), State::Closed, "a RST needs no timestamp");
}

#[test]
fn the_echo_is_of_the_earliest_unacknowledged_segment() {
    let mut net = Net::simple(Config::default());
    net.establish();
    for (i, val) in [(0, 300_000), (1, 310_000)] {
        let mut packet = forge(C, 1_001 + i * 1_448, Some(5_001), TcpFlags::NONE, 1_448);
        packet.tcp_mut().unwrap().options.timestamps = Some(narrows_wire::Timestamps { val, ecr: 0 });
        net.ends[S].handle_segment(&packet, net.now);
    }
    let ack = net.ends[S].poll_transmit(net.now).unwrap();
    assert_eq!({ ack.tcp().unwrap().options.timestamps.unwrap().ecr }, 300_000, "RFC 7323, section 4.3");
}
