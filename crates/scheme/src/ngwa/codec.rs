//! The IPv4 option that carries the value (paper, section 4.1): type 33, six bytes, and its place among other options.
//!
//! ```text
//!   0                   1                   2                   3
//!  +---------------+---------------+-------------------------------+
//!  | type 33       | length 6      |          W_ngwa, upper half   |
//!  +---------------+---------------+---------------+---------------+
//!  |          W_ngwa, lower half   | end of list 0 |      0        |
//!  +-------------------------------+---------------+---------------+
//! ```
//! The value counts bytes, in network byte order. In an empty area the option is padded to eight bytes; behind other
//! options it uses the padding that is there. All functions work on the bytes of the area, so unknown options stay as
//! they are.

use narrows_wire::Ipv4Options;

/// The option's type: not copied into fragments, of the reserved class 1, number 1 (RFC 791, section 3.1).
pub const KIND: u8 = 33;
/// The option's length, type and length bytes included.
pub const LEN: usize = 6;
/// Bytes that the option adds to a header without options.
pub const OVERHEAD: u16 = 8;

/// The NGWA content of an option area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// There is no NGWA option.
    Absent,
    /// The smallest value of the path so far, in bytes.
    Window(u32),
    /// The options cannot be parsed, or the NGWA option's length is not six.
    Malformed,
}

/// The result of writing a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// There was no option; it was added.
    Inserted,
    /// The value there was larger; it was overwritten.
    Lowered,
    /// The value there was as small or smaller; it stayed.
    Kept,
    /// There was no option and no room for one; nothing was changed.
    Full,
    /// The options could not be read; nothing was changed.
    Malformed,
}

/// Returns the position of the value, and the value.
fn locate(options: &Ipv4Options) -> Result<Option<(usize, u32)>, ()> {
    let Some(place) = options.find(KIND).map_err(drop)? else { return Ok(None) };
    let option = options.as_bytes().get(place.clone()).ok_or(())?;
    match option {
        &[_, _, a, b, c, d] => Ok(Some((place.start + 2, u32::from_be_bytes([a, b, c, d])))),
        _ => Err(()),
    }
}

/// Reads the first NGWA option.
#[must_use]
pub fn read(options: &Ipv4Options) -> Message {
    match locate(options) {
        Ok(None) => Message::Absent,
        Ok(Some((_, value))) => Message::Window(value),
        Err(()) => Message::Malformed,
    }
}

/// Inserts the option with a node's value, or lowers the existing value to it (paper, section 4.1).
pub fn write(options: &mut Ipv4Options, value: u32) -> Written {
    match locate(options) {
        Ok(Some((_, there))) if there <= value => Written::Kept,
        Ok(Some((at, _))) => {
            options.overwrite(at, &value.to_be_bytes());
            Written::Lowered
        }
        Ok(None) => {
            let [a, b, c, d] = value.to_be_bytes();
            match options.push(&[KIND, LEN as u8, a, b, c, d]) {
                Ok(true) => Written::Inserted,
                Ok(false) => Written::Full,
                Err(_) => Written::Malformed,
            }
        }
        Err(()) => Written::Malformed,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn area(bytes: &[u8]) -> Ipv4Options {
        Ipv4Options::new(bytes).unwrap()
    }

    #[test]
    fn the_option_of_47530_bytes_is_that_of_the_vector() {
        let mut options = Ipv4Options::EMPTY;
        assert_eq!(write(&mut options, 47_530), Written::Inserted);
        assert_eq!(options.as_bytes(), [0x21, 0x06, 0x00, 0x00, 0xb9, 0xaa, 0x00, 0x00]);
        assert_eq!(options.len(), usize::from(OVERHEAD));
        assert_eq!(read(&options), Message::Window(47_530));
    }

    #[test]
    fn the_least_value_along_the_path_arrives() {
        let mut options = Ipv4Options::EMPTY;
        for (value, became, after) in [
            (50_000, Written::Inserted, 50_000),
            (60_000, Written::Kept, 50_000),
            (50_000, Written::Kept, 50_000),
            (20_000, Written::Lowered, 20_000),
            (0, Written::Lowered, 0),
            (u32::MAX, Written::Kept, 0),
        ] {
            assert_eq!(write(&mut options, value), became);
            assert_eq!(read(&options), Message::Window(after));
            assert_eq!(options.len(), 8);
        }
    }

    #[test]
    fn a_wrong_length_is_malformed_and_left_as_it_is() {
        for length in [0u8, 1, 2, 3, 5, 7, 8] {
            let mut options = area(&[KIND, length, 0, 0, 0xff, 0xff, 0, 0]);
            let before = options;
            assert_eq!(read(&options), Message::Malformed, "length {length}");
            assert_eq!(write(&mut options, 5), Written::Malformed);
            assert_eq!(options, before);
        }
    }

    #[test]
    fn other_options_stay() {
        // Record route with room for two addresses, then a security option.
        let others = [7, 11, 4, 10, 0, 0, 1, 0, 0, 0, 0, 0x86, 4, 1, 2, 1];
        let mut options = area(&others);
        assert_eq!(write(&mut options, 9), Written::Inserted);
        assert_eq!(&options.as_bytes()[..16], others);
        assert_eq!(&options.as_bytes()[16..], [KIND, 6, 0, 0, 0, 9, 0, 0]);
        assert_eq!(write(&mut options, 8), Written::Lowered);
        assert_eq!(&options.as_bytes()[..16], others);
    }

    #[test]
    fn a_full_area_is_left_alone() {
        let mut full = area(&[1; 40]);
        assert_eq!(write(&mut full, 5), Written::Full);
        assert_eq!(full, area(&[1; 40]));
        let mut bytes = [1; 40];
        bytes[34..].copy_from_slice(&[KIND, 6, 0, 0, 0, 9]);
        let mut full = area(&bytes);
        assert_eq!((write(&mut full, 5), read(&full)), (Written::Lowered, Message::Window(5)));
    }
}
