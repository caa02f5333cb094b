//! ACKs at full ends, as Linux 7.2 has them: that of a FIN, and one that others have overtaken.

use super::harness::*;
use crate::{Config, DelayedAck, RecoveryKind, RecoveryStyle, SocketOptions};
use narrows_units::{Bytes, SeqNum};
use narrows_wire::{SackBlocks, TcpFlags};

fn established(config: Config) -> Net {
    let mut net = Net::simple(config);
    for end in &mut net.ends {
        end.set_socket(SocketOptions::default());
    }
    net.establish();
    net.now = at(1000);
    net
}

#[test]
fn the_ack_of_a_fin_waits_for_our_own() {
    let quick = DelayedAck::On { every: 2, timeout: ms(40) };
    let config = Config { timestamps: false, delayed_ack: quick, quick_ack: true, ..Config::default() };
    for closes in [false, true] {
        let mut net = established(config);
        net.ends[S].handle_segment(&forge(C, 1001, Some(5001), TcpFlags::PSH, 100), net.now);
        assert!(net.ends[S].poll_transmit(net.now).is_some(), "a quick ACK");
        net.ends[S].handle_segment(&forge(C, 1101, Some(5001), TcpFlags::FIN, 0), net.now);
        assert!(net.ends[S].poll_transmit(net.now).is_none(), "tcp_fin enters the interactive mode");
        if closes {
            net.ends[S].close();
            let fin = net.ends[S].poll_transmit(net.now).unwrap();
            let tcp = fin.tcp().unwrap();
            assert!(tcp.flags.has(TcpFlags::FIN) && tcp.ack == SeqNum::new(1102));
        } else {
            assert_eq!(net.ends[S].poll_timeout(), net.now + ms(40));
            net.now += ms(40);
            net.ends[S].handle_timeout(net.now);
            let ack = net.ends[S].poll_transmit(net.now).unwrap();
            assert_eq!(ack.tcp().unwrap().ack, SeqNum::new(1102));
        }
    }
}

#[test]
fn the_blocks_of_an_overtaken_ack_count() {
    let (recovery, recovery_style) = (RecoveryKind::Rack, RecoveryStyle::Linux);
    let config = Config { mss: 1000, timestamps: false, recovery, recovery_style, ..Config::default() };
    let mut net = established(config);
    net.ends[C].write(Bytes::new(8000));
    while net.ends[C].poll_transmit(net.now).is_some() {}
    let mut ack = |ack: u32, blocks: &[(u32, u32)]| {
        let mut packet = forge(S, 5001, Some(1001 + ack), TcpFlags::NONE, 0);
        let mut sack = SackBlocks::EMPTY;
        for &(left, right) in blocks {
            sack.push(SeqNum::new(1001 + left), SeqNum::new(1001 + right));
        }
        packet.tcp_mut().unwrap().options.sack = sack;
        net.ends[C].handle_segment(&packet, net.now + ms(100));
        net.ends[C].info().inflight.as_u64()
    };
    assert_eq!(ack(2000, &[]), 6000);
    assert_eq!(ack(1000, &[(4000, 6000)]), 4000, "tcp_ack, old_ack");
    assert_eq!(ack(1000, &[]), 4000);
}
