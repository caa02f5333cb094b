//! The hash that puts packets into sub-queues, with a salt from the run's seed.
//!
//! Linux dissects packets and hashes them by SipHash with a random key. Which flows share a sub-queue differs here, how
//! often they do does not: the salt is drawn from the run's seed, so that other seeds let other flows collide.

use core::net::IpAddr;
use narrows_rng::Stream;
use narrows_wire::Packet;

/// A salted hash of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHash {
    salt: u64,
}

impl FlowHash {
    /// A hash whose salt is drawn from `chance`.
    pub(crate) fn new(chance: &mut Stream) -> Self {
        Self { salt: chance.next_u64() }
    }

    /// The hash of addresses, ports and protocol: equal for the packets of one direction of a flow.
    pub(crate) fn of_flow(self, packet: &Packet) -> u64 {
        let key = packet.flow();
        let ports = (u64::from(key.src_port) << 16) | u64::from(key.dst_port);
        let words = words(key.src).into_iter().chain(words(key.dst)).chain([(ports << 8) | u64::from(key.protocol)]);
        self.of(words)
    }

    /// The hash of one address: equal for all packets from it, or for all packets to it.
    pub(crate) fn of_host(self, address: IpAddr) -> u64 {
        self.of(words(address))
    }

    /// The hash of two addresses, in this order.
    pub(crate) fn of_hosts(self, source: IpAddr, destination: IpAddr) -> u64 {
        self.of(words(source).into_iter().chain(words(destination)))
    }

    fn of(self, words: impl IntoIterator<Item = u64>) -> u64 {
        words.into_iter().fold(self.salt, |hash, word| mixed(hash ^ word))
    }
}

/// Maps a hash to one of `count` sub-queues, by its upper half, without a bias worth mentioning (`reciprocal_scale`).
pub(crate) const fn scaled(hash: u64, count: usize) -> u32 {
    (((hash >> 32) * count as u64) >> 32) as u32
}

/// The bits of an address.
fn words(address: IpAddr) -> [u64; 2] {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    [(bits >> 64) as u64, bits as u64]
}

/// A bijection in which each bit of the argument changes half of the bits of the result (the finaliser of SplitMix64).
const fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn the_mixing_function_is_that_of_splitmix64() {
        // The first outputs of the published generator with seed 0, whose state grows by the golden ratio.
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn all_bits_of_an_address_count() {
        assert_eq!(words(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))), [0, 0x0a00_0001]);
        let long = core::net::Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, 7);
        assert_eq!(words(IpAddr::V6(long)), [0xfd00_0001_0002_0003, 0x0004_0005_0006_0007]);
    }

    #[test]
    fn each_field_of_a_flow_counts() {
        use narrows_wire::{Ip, TcpRepr, Transport, UdpRepr};
        let hash = FlowHash::new(&mut Stream::new(1, 0, "test", "hash"));
        let of = |src: u8, dst: u8, src_port, dst_port, tcp: bool| {
            let ip = Ip::between([10, 0, 0, src].into(), [10, 0, 0, dst].into());
            let transport = if tcp {
                Transport::Tcp(TcpRepr { src_port, dst_port, ..TcpRepr::default() })
            } else {
                Transport::Udp(UdpRepr { src_port, dst_port, rtp: None })
            };
            hash.of_flow(&Packet { ip, transport, payload_len: 100 })
        };
        let same = of(1, 2, 1000, 80, true);
        assert_eq!(of(1, 2, 1000, 80, true), same);
        for other in [
            of(3, 2, 1000, 80, true),
            of(1, 3, 1000, 80, true),
            of(1, 2, 1001, 80, true),
            of(1, 2, 1000, 81, true),
            of(1, 2, 1000, 80, false),
            of(2, 1, 80, 1000, true),
        ] {
            assert_ne!(other, same);
        }
    }

    #[test]
    fn hosts_count_by_their_place() {
        let hash = FlowHash::new(&mut Stream::new(1, 0, "test", "hash"));
        let [one, two] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        assert_eq!(hash.of_host(one), hash.of_host(one));
        assert_ne!(hash.of_host(one), hash.of_host(two));
        assert_eq!(hash.of_hosts(one, two), hash.of_hosts(one, two));
        let others = [hash.of_hosts(two, one), hash.of_hosts(one, one), hash.of_hosts(two, two), hash.of_host(one)];
        assert!(!others.contains(&hash.of_hosts(one, two)));
        assert_ne!(others[1], others[2]);
    }

    #[test]
    fn a_hash_scales_to_all_places() {
        assert_eq!([0, 1 << 63, u64::MAX].map(|hash| scaled(hash, 10)), [0, 5, 9]);
    }
}
