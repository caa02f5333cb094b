//! Helpers for tests of a scheme that bounds the advertised window.

use super::harness::*;
use crate::{Agreement, Assist, Config, Connection, DelayedAck, HeaderBits, Outgoing, WindowCap};
use narrows_cc::Advice;
use narrows_cc::none::Unlimited;
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{Packet, TcpFlags};
use std::sync::{Arc, Mutex};

/// The bound that a test sets, in bytes.
pub(super) type Dial = Arc<Mutex<Option<u64>>>;

/// A scheme that is not negotiated and takes its bound from a dial when a segment with payload arrives.
#[derive(Debug)]
pub(super) struct Cap {
    pub(super) dial: Dial,
    pub(super) now: Option<u64>,
    pub(super) shrink: bool,
}

impl Assist for Cap {
    fn bits(&self) -> HeaderBits {
        HeaderBits::NONE
    }

    fn offer(&self) -> TcpFlags {
        unreachable!("nothing is negotiated")
    }

    fn accept(&mut self, _syn: TcpFlags, _ecn: bool) -> (Agreement, TcpFlags) {
        unreachable!("nothing is negotiated")
    }

    fn agreed(&mut self, _syn_ack: TcpFlags) -> Agreement {
        unreachable!("nothing is negotiated")
    }

    fn on_transmit(&mut self, _packet: &mut Packet, _out: &Outgoing) {}

    fn on_receive(&mut self, packet: &Packet, _now: Instant) -> Option<Advice> {
        if packet.payload_len > 0 {
            self.now = *self.dial.lock().unwrap();
        }
        None
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 { 0 } else { 8 }
    }

    fn window_cap(&self) -> Option<WindowCap> {
        Some(WindowCap { bytes: Bytes::new(self.now?), shrink: self.shrink })
    }
}

/// Settings for segments of 1000 bytes, beside the scheme's eight.
pub(super) fn config() -> Config {
    let fixed = Config { mss: 1008, timestamps: false, delayed_ack: DelayedAck::Off, ..Config::default() };
    Config { recv_buffer: Bytes::new(64_000), ..fixed }
}

/// No congestion window: only the advertised window limits the sender.
pub(super) fn wide() -> Box<Unlimited> {
    Box::new(Unlimited)
}

/// Two ends without a scheme.
pub(super) fn plain(config: Config) -> Net {
    let [a, b] = addresses();
    Net::with([
        Connection::connect(config, wide(), None, a, b, SeqNum::new(1_000)),
        Connection::listen(config, wide(), None, b, a, SeqNum::new(5_000)),
    ])
}

/// A network with this bound before the first segment; `shrink` is whether the window may shrink.
pub(super) fn net_with(config: Config, first: Option<u64>, shrink: bool) -> (Net, Dial) {
    let ([a, b], dial) = (addresses(), Dial::default());
    *dial.lock().unwrap() = first;
    let cap = || Some(Box::new(Cap { dial: dial.clone(), now: first, shrink }) as Box<dyn Assist>);
    let ends = [
        Connection::connect(config, wide(), cap(), a, b, SeqNum::new(1_000)),
        Connection::listen(config, wide(), cap(), b, a, SeqNum::new(5_000)),
    ];
    let mut net = Net::with(ends);
    net.shrinks = [shrink; 2];
    (net, dial)
}

pub(super) fn turn(dial: &Dial, bytes: u64) {
    *dial.lock().unwrap() = Some(bytes);
}

/// A connection with `bytes` sent and acknowledged, and this bound since the first of them.
pub(super) fn settled(config: Config, shrink: bool, cap: u64, bytes: u64) -> (Net, Dial) {
    let (mut net, dial) = net_with(config, None, shrink);
    net.establish();
    turn(&dial, cap);
    net.ends[C].write(Bytes::new(bytes));
    net.run(net.now + Duration::from_secs(100));
    assert_eq!(net.ends[C].info().flightsize, Bytes::ZERO);
    net.log.clear();
    (net, dial)
}

/// Runs for `millis` more.
pub(super) fn go_on(net: &mut Net, millis: u64) {
    net.run(net.now + ms(millis));
}

/// The window fields that the server sent.
pub(super) fn offered(net: &Net) -> Vec<u16> {
    net.log.iter().filter(|e| e.1 == S).map(|e| e.2.tcp().unwrap().window).collect()
}
