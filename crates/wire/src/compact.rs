//! A TCP segment in one cache line, as it is stored while it is in flight.

use crate::{Ecn, Ip, Packet, SackBlocks, TcpFlags, TcpOptions, TcpRepr, Timestamps, Transport};
use core::net::IpAddr;
use narrows_units::{Bytes, SeqNum};

/// Which options a segment has besides SACK blocks and what shares their room.
mod has {
    pub(super) const TIMESTAMPS: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 4;
    pub(super) const SACK_PERMITTED: u8 = 8;
}

/// A TCP segment without its addresses and ports, in one cache line: those of a flow's segments are known from the flow
/// and the direction. [`Packet`] takes two lines.
///
/// [`of`](Self::of) and [`packet`](Self::packet) convert; the fields have the meaning of those of [`TcpRepr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Compact {
    /// Sequence number of the first payload byte, or of the SYN.
    pub seq: SeqNum,
    /// Next sequence number expected; meaningful only with [`TcpFlags::ACK`].
    pub ack: SeqNum,
    /// Payload length in bytes.
    pub payload_len: u32,
    /// Zeros without timestamps.
    stamps: [u32; 2],
    /// Flags.
    pub flags: TcpFlags,
    /// The window field in the header, unscaled.
    pub window: u16,
    /// The MSS option; zero without it.
    mss: u16,
    window_scale: u8,
    /// See [`has`].
    has: u8,
    /// DSCP in the upper six bits, ECN in the lower two.
    traffic_class: u8,
    /// SACK blocks, and what shares their room.
    sack: SackBlocks,
}

impl Compact {
    /// A segment without options, payload or flags.
    pub const EMPTY: Self = Self {
        seq: SeqNum::new(0),
        ack: SeqNum::new(0),
        payload_len: 0,
        stamps: [0; 2],
        flags: TcpFlags::NONE,
        window: 0,
        mss: 0,
        window_scale: 0,
        has: 0,
        traffic_class: 0,
        sack: SackBlocks::EMPTY,
    };

    /// The segment of a packet without its addresses and ports; `None` if it is no TCP, or its network header has more
    /// than addresses, DSCP and ECN besides what [`Ip::between`] sets.
    #[must_use]
    pub fn of(packet: &Packet) -> Option<Self> {
        let mut segment = Self::EMPTY;
        segment.set(packet).then_some(segment)
    }

    /// Stores the segment of a packet like [`of`](Self::of); returns `false`, and changes nothing, where that is
    /// `None`.
    #[inline]
    pub fn set(&mut self, packet: &Packet) -> bool {
        let Transport::Tcp(tcp) = &packet.transport else { return false };
        if !packet.ip.is_ordinary() {
            return false;
        }
        let TcpOptions { mss, window_scale, sack_permitted, timestamps, sack } = tcp.options;
        let has = (u8::from(timestamps.is_some()) * has::TIMESTAMPS)
            | (u8::from(mss.is_some()) * has::MSS)
            | (u8::from(window_scale.is_some()) * has::WINDOW_SCALE)
            | (u8::from(sack_permitted) * has::SACK_PERMITTED);
        *self = Self {
            seq: tcp.seq,
            ack: tcp.ack,
            payload_len: packet.payload_len,
            stamps: timestamps.map_or([0; 2], |stamps| [stamps.val, stamps.ecr]),
            flags: tcp.flags,
            window: tcp.window,
            mss: mss.unwrap_or(0),
            window_scale: window_scale.unwrap_or(0),
            has,
            traffic_class: packet.ip.traffic_class(),
            sack,
        };
        true
    }

    /// A segment without options. `traffic_class`: [`Ip::traffic_class`] of its network header.
    #[inline]
    #[must_use]
    pub fn bare(traffic_class: u8) -> Self {
        Self { traffic_class, ..Self::EMPTY }
    }

    /// Adds timestamps.
    #[inline]
    pub fn stamp(&mut self, stamps: Timestamps) {
        self.stamps = [stamps.val, stamps.ecr];
        self.has |= has::TIMESTAMPS;
    }

    /// The timestamps of a segment that has no other option but SACK blocks and what shares their room; with `on`
    /// false, zeros for a segment that has not even timestamps. `None` for any other.
    #[inline]
    #[must_use]
    pub fn sole_timestamps(&self, on: bool) -> Option<Timestamps> {
        let [val, ecr] = self.stamps;
        (self.has == u8::from(on) * has::TIMESTAMPS).then_some(Timestamps { val, ecr })
    }

    /// SACK blocks.
    #[inline]
    #[must_use]
    pub const fn sack(&self) -> &SackBlocks {
        &self.sack
    }

    /// ECN field.
    #[inline]
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }

    /// The packet between these addresses and ports, each `(source, destination)`.
    #[inline]
    #[must_use]
    pub fn packet(&self, (src, dst): (IpAddr, IpAddr), ports: (u16, u16)) -> Packet {
        self.behind(Ip::between(src, dst), ports)
    }

    /// The packet with the addresses of this network header, and these ports, `(source, destination)`.
    #[inline]
    #[must_use]
    pub fn behind(&self, mut ip: Ip, (src_port, dst_port): (u16, u16)) -> Packet {
        ip.set_dscp(self.traffic_class >> 2);
        ip.set_ecn(self.ecn());
        let has = |bit| self.has & bit != 0;
        let [val, ecr] = self.stamps;
        let options = TcpOptions {
            mss: has(has::MSS).then_some(self.mss),
            window_scale: has(has::WINDOW_SCALE).then_some(self.window_scale),
            sack_permitted: has(has::SACK_PERMITTED),
            timestamps: has(has::TIMESTAMPS).then_some(Timestamps { val, ecr }),
            sack: self.sack,
        };
        let Self { seq, ack, flags, window, payload_len, .. } = *self;
        let tcp = TcpRepr { src_port, dst_port, seq, ack, flags, window, options };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len }
    }

    /// Length of the IP packet with a network header of `header_len` bytes.
    #[must_use]
    pub fn len(&self, header_len: usize) -> Bytes {
        let unspecified = IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED);
        let packet = self.packet((unspecified, unspecified), (0, 0));
        Bytes::new(packet.len().as_u64() - packet.ip.header_len() as u64 + header_len as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{AccEcn, FastOpenCookie, Ipv4Options, UdpRepr};
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn segment(ip: Ip, options: TcpOptions) -> Packet {
        let tcp = TcpRepr {
            src_port: 5,
            dst_port: 6,
            seq: SeqNum::new(7),
            ack: SeqNum::new(8),
            flags: TcpFlags::ACK.with(TcpFlags::AE),
            window: 9,
            options,
        };
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: 1448 }
    }

    fn v4() -> Ip {
        Ip::between(Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into())
    }

    fn same(packet: &Packet) -> bool {
        let found = Compact::of(packet).map(|it| it.packet((packet.ip.src(), packet.ip.dst()), (5, 6)));
        found.as_ref() == Some(packet)
    }

    #[test]
    fn it_is_a_cache_line() {
        assert_eq!((size_of::<Compact>(), align_of::<Compact>()), (64, 64));
    }

    #[test]
    fn a_segment_is_what_it_was() {
        let stamps = Some(Timestamps { val: 1, ecr: 2 });
        let mut blocks = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
        for n in 0..4 {
            blocks.sack.push(SeqNum::new(10 * n), SeqNum::new(10 * n + 5));
        }
        let mut accecn = blocks;
        accecn.set_accecn(AccEcn::from_parts(true, 3, [3; 9]));
        let mut syn = TcpOptions { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..blocks };
        syn.set_fast_open(FastOpenCookie::from_parts(3, [[1; 8], [0; 8]], true));
        let mut marked = v4();
        marked.set_dscp(46);
        marked.set_ecn(Ecn::Ce);
        let mut v6 = Ip::between(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into());
        v6.set_ecn(Ecn::Ect1);
        for options in [TcpOptions::default(), blocks, accecn, syn] {
            for ip in [v4(), marked, v6] {
                let packet = segment(ip, options);
                assert!(same(&packet), "{packet:?}");
                let compact = Compact::of(&packet).unwrap();
                assert_eq!(compact.len(ip.header_len()), packet.len());
                assert_eq!(compact.ecn(), ip.ecn());
            }
        }
        let plain = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
        let seen = |options, on| Compact::of(&segment(v4(), options)).unwrap().sole_timestamps(on);
        assert_eq!((seen(plain, true), seen(plain, false)), (stamps, None));
        let zeros = Some(Timestamps { val: 0, ecr: 0 });
        assert_eq!((seen(TcpOptions::default(), true), seen(TcpOptions::default(), false)), (None, zeros));
        assert_eq!((seen(syn, true), seen(syn, false)), (None, None));
    }

    #[test]
    fn other_packets_have_none() {
        let udp = Transport::Udp(UdpRepr { src_port: 5, dst_port: 6, rtp: None });
        assert_eq!(Compact::of(&Packet { ip: v4(), transport: udp, payload_len: 0 }), None);
        let Ip::V4(header) = v4() else { return };
        let odd = [
            crate::Ipv4Repr { ttl: 63, ..header },
            crate::Ipv4Repr { ident: 1, ..header },
            crate::Ipv4Repr { dont_fragment: false, ..header },
            crate::Ipv4Repr { reserved_flag: true, ..header },
            crate::Ipv4Repr { options: Ipv4Options::new(&[1, 1, 1, 0]).unwrap(), ..header },
        ];
        for header in odd {
            assert_eq!(Compact::of(&segment(Ip::V4(header), TcpOptions::default())), None);
        }
        let Ip::V6(header) = Ip::between(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()) else { return };
        for header in [crate::Ipv6Repr { flow_label: 1, ..header }, crate::Ipv6Repr { hop_limit: 1, ..header }] {
            assert_eq!(Compact::of(&segment(Ip::V6(header), TcpOptions::default())), None);
        }
    }
}
