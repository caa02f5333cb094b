//! Packets are copied by value through every ring on the hot path, so their size is a contract.

use narrows_wire::{Ip, Packet, SackBlocks, TcpOptions, TcpRepr};

#[test]
fn a_packet_is_two_cache_lines() {
    // Beyond 128 bytes a copy is a call to the C library, which costs a tenth of the whole simulation.
    assert!(size_of::<Packet>() <= 128, "{} bytes", size_of::<Packet>());
    let parts = [size_of::<Ip>(), size_of::<TcpRepr>(), size_of::<TcpOptions>(), size_of::<SackBlocks>()];
    assert_eq!(parts, [56, 68, 52, 34], "Ip, TcpRepr, TcpOptions, SackBlocks");
}
