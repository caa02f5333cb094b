//! MAC addresses.

use core::fmt;

/// A 48-bit MAC address (IEEE 802-2014, section 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddr([u8; 6]);

impl MacAddr {
    /// The address with these octets, in the order of transmission.
    #[must_use]
    pub const fn new(octets: [u8; 6]) -> Self {
        Self(octets)
    }

    /// The address of the node with this number: `02:00:00` and the number's lower 24 bits. It is locally administered
    /// (bit 0x02 of the first octet), so it belongs to no manufacturer.
    #[must_use]
    pub const fn of_node(index: u32) -> Self {
        let [_, a, b, c] = index.to_be_bytes();
        Self([0x02, 0, 0, a, b, c])
    }

    /// The octets in the order of transmission.
    #[must_use]
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_a_locally_administered_address_of_its_own() {
        let mac = MacAddr::of_node(0x01_02_03);
        assert_eq!(mac.to_string(), "02:00:00:01:02:03");
        assert_ne!(mac, MacAddr::of_node(0x01_02_04));
        assert_eq!(MacAddr::of_node(0xff00_0001), MacAddr::of_node(1), "24 bits count");
    }
}
