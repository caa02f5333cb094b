//! Packets are copied by value through every ring on the hot path, so their size is a contract.

use narrows_wire::{Ip, Packet, SackBlocks, TcpOptions, TcpRepr};

#[test]
fn a_packet_stays_small() {
    // IPv4 options make it four bytes longer than two cache lines; the addresses of IPv6 take the room of most of them.
    assert!(size_of::<Packet>() <= 132, "{} bytes", size_of::<Packet>());
    let parts = [size_of::<Ip>(), size_of::<TcpRepr>(), size_of::<TcpOptions>(), size_of::<SackBlocks>()];
    assert_eq!(parts, [56, 72, 56, 36], "Ip, TcpRepr, TcpOptions, SackBlocks");
}
