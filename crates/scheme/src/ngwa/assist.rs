//! The end-point part: keeps the network's value for a connection and caps the window with it.

use super::codec::{self, Message};
use super::{NgwaConfig, Smoothing};
use narrows_cc::Advice;
use narrows_tcp::{Agreement, Assist, COUNTERS, HeaderBits, Outgoing, WindowCap};
use narrows_units::{Bytes, Instant};
use narrows_wire::{Ip, Packet, TcpFlags};

/// NGWA at one end of one connection (paper, sections 2.1, 2.3 and 4.2).
///
/// As a receiver it takes the value of each segment that has one, a SYN too, smooths it if the mode says so, and bounds
/// the window that it advertises: `W_a = min[W_b, W_max, W_ngwa]` (equation 2; `W_b` is what the connection itself
/// would offer). As a sender it only keeps segments small enough to leave room for the option (section 4.2); the peer's
/// window limits how much it sends.
///
/// # Choices
/// - Nothing is negotiated: the paper has no handshake. If only one end knows NGWA, it caps its own window and keeps
///   its own segments small enough. The other end ignores the option, as hosts do with options they do not know (RFC
///   1122, section 3.2.1.8).
/// - A segment without the option (its router did not write, or there was no room) changes nothing: the latest value
///   stays in force.
/// - Each segment with the option counts, including retransmissions, duplicates and window probes: the answer to a
///   probe reopens a window that the network closed. Which segments have it is the routers' choice
///   ([`Marks`](super::Marks)).
/// - A malformed option is ignored and counted.
#[derive(Debug)]
pub struct NgwaAssist {
    shrink: bool,
    max_window: Option<Bytes>,
    smooths: bool,
    smoothing: Smoothing,
    /// The network's value in bytes, smoothed or not.
    window: Option<Bytes>,
    /// Segments from whose option a value was taken.
    taken: u64,
    /// Segments whose malformed options were ignored.
    ignored: u64,
}

impl NgwaAssist {
    /// Creates the agent of one end. `config` has been [checked](NgwaConfig::check).
    #[must_use]
    pub fn new(config: &NgwaConfig) -> Self {
        Self {
            shrink: config.shrink,
            max_window: config.max_window,
            smooths: config.mode.smoothing,
            smoothing: Smoothing::new(config.alpha),
            window: None,
            taken: 0,
            ignored: 0,
        }
    }

    /// Returns the value that bounds the window: `W_ngwa`, or `S` with smoothing; `None` before the first.
    #[must_use]
    pub const fn window(&self) -> Option<Bytes> {
        self.window
    }
}

impl Assist for NgwaAssist {
    fn bits(&self) -> HeaderBits {
        HeaderBits::NONE
    }

    fn offer(&self) -> TcpFlags {
        TcpFlags::NONE
    }

    fn accept(&mut self, _syn: TcpFlags, _ecn: bool) -> (Agreement, TcpFlags) {
        (Agreement::Nothing, TcpFlags::NONE)
    }

    fn agreed(&mut self, _syn_ack: TcpFlags) -> Agreement {
        Agreement::Nothing
    }

    fn on_transmit(&mut self, _packet: &mut Packet, _out: &Outgoing) {}

    fn on_receive(&mut self, packet: &Packet, _now: Instant) -> Option<Advice> {
        if let Ip::V4(ip) = &packet.ip {
            match codec::read(&ip.options) {
                Message::Absent => {}
                Message::Window(value) => {
                    self.taken += 1;
                    let smooth = self.smoothing.update(value);
                    // Whole bytes; the mean of the values is at most the largest of them.
                    let bytes = if self.smooths { smooth as u64 } else { u64::from(value) };
                    self.window = Some(Bytes::new(bytes));
                }
                Message::Malformed => self.ignored += 1,
            }
        }
        None
    }

    fn header_overhead(&self, ipv6: bool) -> u16 {
        if ipv6 { 0 } else { codec::OVERHEAD }
    }

    fn window_cap(&self) -> Option<WindowCap> {
        let bytes = match (self.window, self.max_window) {
            (Some(window), Some(most)) => window.min(most),
            (window, most) => window.or(most)?,
        };
        Some(WindowCap { bytes, shrink: self.shrink })
    }

    fn counters(&self) -> [u64; COUNTERS] {
        [self.taken, self.ignored, 0]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ngwa::NgwaMode;
    use core::net::IpAddr;
    use narrows_tcp::SegmentKind;
    use narrows_wire::{Ipv4Options, TcpRepr, Transport};

    fn assist(mode: u8, change: impl FnOnce(&mut NgwaConfig)) -> NgwaAssist {
        let mut config = NgwaConfig { mode: NgwaMode::new(mode).unwrap(), ..NgwaConfig::default() };
        change(&mut config);
        config.check().unwrap();
        NgwaAssist::new(&config)
    }

    fn segment(payload_len: u32, area: &[u8]) -> Packet {
        let mut ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        if let Ip::V4(header) = &mut ip {
            header.options = Ipv4Options::new(area).unwrap();
        }
        Packet { ip, transport: Transport::Tcp(TcpRepr::default()), payload_len }
    }

    fn told(value: u32) -> Packet {
        let mut options = Ipv4Options::EMPTY;
        codec::write(&mut options, value);
        segment(1000, options.as_bytes())
    }

    /// Takes the segment and returns the window's bound in bytes.
    fn take(a: &mut NgwaAssist, packet: &Packet) -> Option<u64> {
        assert_eq!(a.on_receive(packet, Instant::ZERO), None, "no advice to the congestion control");
        a.window_cap().map(|cap| cap.bytes.as_u64())
    }

    #[test]
    fn without_smoothing_the_latest_value_is_the_bound() {
        for mode in [1, 3, 5, 7] {
            let mut a = assist(mode, |_| {});
            assert_eq!((a.window_cap(), a.window()), (None, None), "nothing was heard yet");
            for value in [60_000, 20_000, 0, u32::MAX] {
                assert_eq!(take(&mut a, &told(value)), Some(u64::from(value)), "mode {mode}");
            }
            assert_eq!(a.counters(), [4, 0, 0]);
        }
    }

    #[test]
    fn with_smoothing_the_bound_follows_equation_4() {
        for mode in [2, 4, 6, 8] {
            let mut a = assist(mode, |_| {});
            for (value, s) in [(60_000, 60_000), (20_000, 48_000), (20_000, 39_600), (20_000, 33_720), (20_000, 29_604)]
            {
                assert_eq!(take(&mut a, &told(value)), Some(s), "mode {mode}");
                assert_eq!(a.window(), Some(Bytes::new(s)));
            }
        }
        let mut a = assist(2, |c| c.alpha = 0.5);
        take(&mut a, &told(10));
        assert_eq!(take(&mut a, &told(21)), Some(15), "whole bytes");
    }

    #[test]
    fn a_segment_without_the_option_keeps_the_bound() {
        let mut a = assist(6, |_| {});
        assert_eq!(take(&mut a, &segment(1000, &[])), None);
        take(&mut a, &told(30_000));
        for packet in [segment(1000, &[]), segment(1000, &[1, 1, 1, 0]), segment(0, &[])] {
            assert_eq!(take(&mut a, &packet), Some(30_000));
        }
        assert_eq!(a.counters(), [1, 0, 0]);
    }

    #[test]
    fn a_malformed_option_is_ignored_and_counted() {
        let mut a = assist(1, |_| {});
        take(&mut a, &told(30_000));
        for area in [[codec::KIND, 8, 0, 0, 0, 1, 0, 0], [codec::KIND, 1, 0, 0, 0, 1, 0, 0], [7, 9, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(take(&mut a, &segment(1000, &area)), Some(30_000));
        }
        assert_eq!(a.counters(), [1, 3, 0]);
    }

    #[test]
    fn an_option_on_a_segment_without_data_counts_too() {
        let mut a = assist(1, |_| {});
        assert_eq!(take(&mut a, &Packet { payload_len: 0, ..told(1) }), Some(1));
        assert_eq!(a.counters(), [1, 0, 0]);
    }

    #[test]
    fn the_largest_window_bounds_from_the_start() {
        let most = Bytes::new(65_536);
        let mut a = assist(5, |c| (c.max_window, c.shrink) = (Some(most), true));
        assert_eq!(a.window_cap(), Some(WindowCap { bytes: most, shrink: true }));
        assert_eq!(take(&mut a, &told(95_060)), Some(65_536));
        assert_eq!(take(&mut a, &told(47_530)), Some(47_530));
        assert_eq!(a.window(), Some(Bytes::new(47_530)));
        let mut a = assist(5, |_| {});
        take(&mut a, &told(7));
        assert_eq!(a.window_cap(), Some(WindowCap { bytes: Bytes::new(7), shrink: false }));
    }

    #[test]
    fn nothing_is_negotiated_and_segments_leave_as_they_are_but_for_room() {
        let mut a = assist(6, |_| {});
        assert!(!a.bits().excludes(HeaderBits::CLASSIC_ECN), "nothing is negotiated");
        assert_eq!(
            (a.offer(), a.accept(TcpFlags::from_bits(0xfff), true)),
            (TcpFlags::NONE, (Agreement::Nothing, TcpFlags::NONE))
        );
        assert_eq!(a.agreed(TcpFlags::from_bits(0xfff)), Agreement::Nothing);
        assert_eq!((a.header_overhead(false), a.header_overhead(true)), (8, 0));
        let before = segment(1000, &[]);
        let mut packet = before;
        let kind = SegmentKind::Data;
        let bytes = Bytes::new(10_000);
        a.on_transmit(&mut packet, &Outgoing { now: Instant::ZERO, kind, cwnd: bytes, flightsize: bytes, more: true });
        assert_eq!(packet, before);
    }
}
