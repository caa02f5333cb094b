//! The cyclic redundancy check of 802 networks (IEEE 802.11-2016, section 9.2.4.8; IEEE 802.3-2018, section 3.2.9).

/// The generator x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, lowest
/// power first.
const GENERATOR: u32 = 0xedb8_8320;

/// Contribution of each byte value to the remainder.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ GENERATOR } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

/// The check of these bytes. Its lowest byte is sent first, so it is written little-endian.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_check_value_that_catalogues_of_crcs_give() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(&[]), 0);
    }

    proptest! {
        #[test]
        fn bytes_with_their_check_behind_them_leave_the_residue(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut all = bytes.clone();
            all.extend_from_slice(&crc32(&bytes).to_le_bytes());
            // IEEE 802.3-2018: a receiver that divides the frame with its FCS gets 0xc704dd7b; here its bits are
            // reversed and complemented.
            prop_assert_eq!(!crc32(&all), 0xc704_dd7b_u32.reverse_bits());
        }
    }
}
