//! The mapping between flows and ports: a packet's ports alone identify its flow.
//!
//! Flow `i` runs between client port `10000 + i % 50000` and server port `1000 + i / 50000`. The two directions differ
//! because client ports are above all server ports. No table is needed to find the flow of a packet.

use narrows_wire::{Packet, Transport};

const CLIENT_BASE: usize = 10_000;
const CLIENT_PORTS: usize = 50_000;
const SERVER_BASE: usize = 1_000;

/// Largest number of flows that ports can distinguish.
pub const MAX_FLOWS: usize = CLIENT_PORTS * (CLIENT_BASE - SERVER_BASE);

/// Client and server port of flow `index`.
pub fn ports(index: usize) -> (u16, u16) {
    ((CLIENT_BASE + index % CLIENT_PORTS) as u16, (SERVER_BASE + index / CLIENT_PORTS) as u16)
}

/// The flow that a packet belongs to, and whether it travels from the flow's `from` to its `to`.
#[inline]
pub fn flow_of(packet: &Packet) -> (usize, bool) {
    let (src, dst) = match &packet.transport {
        Transport::Tcp(h) => (h.src_port as usize, h.dst_port as usize),
        Transport::Udp(h) => (h.src_port as usize, h.dst_port as usize),
    };
    let along = src >= CLIENT_BASE;
    let (client, server) = if along { (src, dst) } else { (dst, src) };
    ((server - SERVER_BASE) * CLIENT_PORTS + (client - CLIENT_BASE), along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::{Ip, UdpRepr};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ports_name_the_flow_in_both_directions(index in 0..MAX_FLOWS) {
            let (client, server) = ports(index);
            let packet = |src_port, dst_port| Packet {
                ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
                transport: Transport::Udp(UdpRepr { src_port, dst_port, rtp: None }),
                payload_len: 0 };
            prop_assert_eq!(flow_of(&packet(client, server)), (index, true));
            prop_assert_eq!(flow_of(&packet(server, client)), (index, false));
        }
    }
}
