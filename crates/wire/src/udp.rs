//! UDP headers as values (RFC 768).

/// A UDP header: the ports; length and checksum follow from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UdpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}
