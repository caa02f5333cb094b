//! Merging of segments that arrive (generic receive offload, GRO), as the device of a Linux host does before TCP sees
//! them.
//!
//! A segment with data and without PSH waits up to a window. Those that follow it in order join it, until one ends the
//! packet. TCP then handles one packet: it makes one decision about an ACK, and takes the size of its segments
//! (`gso_size`) for the peer's MSS.
//!
//! Sources: Linux 7.2, `net/core/gro.c` (`dev_gro_receive`, `skb_gro_receive`), `net/ipv4/tcp_offload.c`
//! (`tcp_gro_receive`), `net/ipv4/af_inet.c` (`inet_gro_receive`).
//!
//! | a segment | what happens |
//! |---|---|
//! | is next in order, of the same size, with the same ACK, window, flags, options, codepoints | it joins |
//! | is like that but shorter, or has PSH or FIN | it joins, and the packet goes to TCP |
//! | would make an IP packet of more than 65,535 bytes | the packet goes to TCP, the segment waits |
//! | has anything else that differs | the packet goes to TCP, the segment waits |
//! | does not join, and has no data, PSH, SYN, RST or IP options | the packet goes to TCP, then the segment |
//! | the window is over | the packet goes to TCP |
//!
//! So pure ACKs are never merged, and marks (CE) inside a burst are kept apart. Differences: the window counts from the
//! packet's first segment, where the kernel's timer (`gro_flush_timeout`) counts from the end of a poll of the device;
//! a segment with IP options, which the kernel's GRO passes by what waits, ends it here, so that nothing is reordered.

use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::{Ip, Packet, TcpFlags, TcpRepr};

/// Largest IP packet (`GRO_LEGACY_MAX_SIZE` minus 1).
const MOST: Bytes = Bytes::new(65_535);

/// Flags that may differ among segments of a packet.
const FREE: TcpFlags = TcpFlags::FIN.with(TcpFlags::PSH);

/// Of which segments a packet is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// How many.
    pub(crate) count: u32,
    /// Payload of each but the last, which may have less.
    pub(crate) size: u32,
}

impl Parts {
    /// Those of a segment that arrived alone.
    #[inline]
    pub(crate) fn single(segment: &Packet) -> Self {
        Self { count: 1, size: segment.payload_len }
    }
}

/// Segments as one packet: the header of the first, and the payload of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) packet: Packet,
    pub(crate) parts: Parts,
}

impl Merged {
    fn of(packet: &Packet) -> Self {
        Self { packet: *packet, parts: Parts::single(packet) }
    }

    /// Whether a segment joins.
    fn takes(&self, packet: &Packet, tcp: &TcpRepr) -> bool {
        let Some(first) = self.packet.tcp() else { return false };
        let len = packet.payload_len;
        len > 0
            && len <= self.parts.size
            && tcp.seq == first.seq + Bytes::new(self.packet.payload_len.into())
            && (tcp.ack, tcp.window, &tcp.options) == (first.ack, first.window, &first.options)
            && tcp.flags.without(FREE) == first.flags.without(FREE)
            && packet.ip == self.packet.ip
            && self.packet.len() + Bytes::new(len.into()) <= MOST
    }

    fn join(&mut self, packet: &Packet, tcp: &TcpRepr) {
        self.packet.payload_len += packet.payload_len;
        self.parts.count += 1;
        if let Some(first) = self.packet.tcp_mut() {
            first.flags = first.flags.with(tcp.flags);
        }
    }
}

/// What waits in the device for TCP.
#[derive(Debug)]
pub(crate) struct Gro {
    window: Duration,
    /// What others may join.
    held: Option<Merged>,
    /// A segment that nothing joins, behind what TCP is handling.
    ready: Option<Merged>,
    due: Instant,
    /// What TCP is handling, if it is of several segments.
    pub(crate) handled: Option<Parts>,
}

impl Gro {
    /// Merges what arrives within `window`; `None` if that is zero.
    pub(crate) fn new(window: Duration) -> Option<Self> {
        let new = || Self { window, held: None, ready: None, due: Instant::NEVER, handled: None };
        (!window.is_zero()).then(new)
    }

    /// When what waits goes to TCP; [`Instant::NEVER`] if nothing waits.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// What is [due](Self::due).
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Merged> {
        if now < self.due {
            return None;
        }
        self.due = Instant::NEVER;
        self.ready.take().or_else(|| self.held.take())
    }

    /// Takes a segment that arrives, with nothing [due](Self::due) before it; returns what TCP handles now. If there is
    /// more for it, that is due at once: an ACK of the first may leave in between.
    pub(crate) fn offer(&mut self, packet: &Packet, now: Instant) -> Option<Merged> {
        let Some(tcp) = packet.tcp() else { return Some(Merged::of(packet)) };
        if let Some(held) = self.held.as_mut().filter(|held| held.takes(packet, tcp)) {
            held.join(packet, tcp);
            if packet.payload_len == held.parts.size && !tcp.flags.any(FREE) {
                return None;
            }
            self.due = Instant::NEVER;
            return self.held.take();
        }
        let before = self.held.take();
        if waits(packet, tcp) {
            (self.held, self.due) = (Some(Merged::of(packet)), now + self.window);
            return before;
        }
        match before {
            None => Some(Merged::of(packet)),
            Some(_) => {
                (self.ready, self.due) = (Some(Merged::of(packet)), now);
                before
            }
        }
    }
}

/// Whether a segment that joins no other waits for those that follow.
fn waits(packet: &Packet, tcp: &TcpRepr) -> bool {
    let plain = match &packet.ip {
        Ip::V4(ip) => ip.options.is_empty(),
        Ip::V6(ip) => ip.hop_by_hop.is_none(),
    };
    let ends = FREE.with(TcpFlags::SYN).with(TcpFlags::RST).with(TcpFlags::URG);
    plain && packet.payload_len > 0 && !tcp.flags.any(ends)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::SeqNum;
    use narrows_wire::{Ecn, Ipv4Options, Timestamps, Transport};

    const SIZE: u32 = 1000;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    /// The segment of `len` bytes at `seq`.
    fn segment(seq: u32, len: u32) -> Packet {
        let mut tcp =
            TcpRepr { seq: SeqNum::new(seq), ack: SeqNum::new(7), flags: TcpFlags::ACK, ..TcpRepr::default() };
        tcp.options.timestamps = Some(Timestamps { val: 3, ecr: 4 });
        tcp.window = 500;
        let ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: len }
    }

    fn changed(seq: u32, len: u32, change: impl FnOnce(&mut TcpRepr)) -> Packet {
        let mut packet = segment(seq, len);
        change(packet.tcp_mut().unwrap());
        packet
    }

    fn gro() -> Gro {
        Gro::new(Duration::from_micros(50)).unwrap()
    }

    /// Sequence number, payload and number of segments.
    fn shape(merged: Option<Merged>) -> Option<(u32, u32, u32)> {
        merged.map(|it| (it.packet.tcp().unwrap().seq.as_u32(), it.packet.payload_len, it.parts.count))
    }

    #[test]
    fn segments_in_order_become_one_packet_when_the_window_is_over() {
        let mut gro = gro();
        for (n, at) in [(0, 10), (1, 20), (2, 59)] {
            assert_eq!(gro.offer(&segment(n * SIZE, SIZE), us(at)), None);
        }
        assert_eq!(gro.due(), us(60), "the window counts from the first");
        assert_eq!(gro.expire(us(59)), None);
        let merged = gro.expire(us(60));
        assert_eq!(shape(merged), Some((0, 3000, 3)));
        assert_eq!(merged.unwrap().parts.size, SIZE);
        assert_eq!((gro.due(), gro.expire(us(1000))), (Instant::NEVER, None));
        assert!(Gro::new(Duration::ZERO).is_none());
    }

    #[test]
    fn a_shorter_segment_psh_and_fin_join_and_end_the_packet() {
        let cases = [
            segment(SIZE, 1),
            changed(SIZE, SIZE, |tcp| tcp.flags = tcp.flags.with(TcpFlags::PSH)),
            changed(SIZE, SIZE, |tcp| tcp.flags = tcp.flags.with(TcpFlags::FIN)),
        ];
        for last in cases {
            let mut gro = gro();
            assert_eq!(gro.offer(&segment(0, SIZE), us(0)), None);
            let merged = gro.offer(&last, us(1)).unwrap();
            assert_eq!(shape(Some(merged)), Some((0, SIZE + last.payload_len, 2)));
            assert_eq!(merged.packet.tcp().unwrap().flags, last.tcp().unwrap().flags);
            assert_eq!(gro.due(), Instant::NEVER);
        }
    }

    #[test]
    fn what_differs_ends_the_packet_and_waits_itself() {
        let ce = |mut packet: Packet| {
            packet.ip.set_ecn(Ecn::Ce);
            packet
        };
        let cases = [
            ("a gap", segment(2 * SIZE, SIZE)),
            ("old data", segment(0, SIZE)),
            ("a longer one", segment(SIZE, SIZE + 1)),
            ("another ACK", changed(SIZE, SIZE, |tcp| tcp.ack = SeqNum::new(8))),
            ("another window", changed(SIZE, SIZE, |tcp| tcp.window = 501)),
            ("another TSval", changed(SIZE, SIZE, |tcp| tcp.options.timestamps = Some(Timestamps { val: 4, ecr: 4 }))),
            ("CWR", changed(SIZE, SIZE, |tcp| tcp.flags = tcp.flags.with(TcpFlags::CWR))),
            ("a CE mark", ce(segment(SIZE, SIZE))),
        ];
        for (what, other) in cases {
            let mut gro = gro();
            assert_eq!(gro.offer(&segment(0, SIZE), us(0)), None, "{what}");
            assert_eq!(shape(gro.offer(&other, us(30))), Some((0, SIZE, 1)), "{what}");
            assert_eq!(gro.due(), us(80), "{what}: it waits from its own arrival");
            assert_eq!(gro.expire(us(80)), Some(Merged::of(&other)), "{what}");
        }
    }

    #[test]
    fn what_cannot_wait_follows_the_packet_that_it_ends() {
        let options = |mut packet: Packet| {
            if let Ip::V4(ip) = &mut packet.ip {
                ip.options = Ipv4Options::new(&[1, 1, 1, 1]).unwrap();
            }
            packet
        };
        let cases = [
            ("a pure ACK", segment(SIZE, 0)),
            ("PSH beyond a gap", changed(9 * SIZE, SIZE, |tcp| tcp.flags = tcp.flags.with(TcpFlags::PSH))),
            ("RST", changed(SIZE, 0, |tcp| tcp.flags = TcpFlags::RST)),
            ("IP options", options(segment(SIZE, SIZE))),
        ];
        for (what, other) in cases {
            let mut gro = gro();
            assert_eq!(gro.offer(&other, us(0)), Some(Merged::of(&other)), "{what}, with nothing before it");
            assert_eq!(gro.offer(&segment(0, SIZE), us(5)), None);
            assert_eq!(shape(gro.offer(&other, us(9))), Some((0, SIZE, 1)), "{what}");
            assert_eq!((gro.due(), gro.expire(us(9))), (us(9), Some(Merged::of(&other))), "{what}");
            assert_eq!(gro.due(), Instant::NEVER);
        }
    }

    #[test]
    fn no_packet_is_longer_than_an_ip_packet_can_be() {
        let mut gro = gro();
        // 52 bytes of headers and 65 segments are 65,052 bytes.
        for n in 0..65 {
            assert_eq!(gro.offer(&segment(n * SIZE, SIZE), us(0)), None);
        }
        assert_eq!(shape(gro.offer(&segment(65 * SIZE, SIZE), us(1))), Some((0, 65_000, 65)));
        assert_eq!(gro.due(), us(51));
    }
}
