//! The option area of an IPv4 header (RFC 791, section 3.1): kept byte for byte.

use crate::field::{range, u8_at};
use crate::{ParseError, Protocol};
use core::fmt;
use core::ops::Range;

/// Longest option area: the header length field counts up to 15 words of 4 bytes, 5 of which are the fixed header.
const MAX_LEN: usize = 40;
/// End of option list, and no operation: the two options of one byte.
const END: u8 = 0;
const NOP: u8 = 1;

/// The option area of an IPv4 header: up to 40 bytes, in whole words, as in the packet.
///
/// The options are not parsed before [`find`](Self::find) is called, so unknown options pass unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4Options {
    len: u8,
    /// Zeros from `len` on, so that derived equality compares the areas.
    area: [u8; MAX_LEN],
}

impl Ipv4Options {
    /// No options.
    pub const EMPTY: Self = Self { len: 0, area: [0; MAX_LEN] };

    /// Longest option area in bytes.
    pub const MAX_LEN: usize = MAX_LEN;

    /// An option area of these bytes; `None` if they are not whole words of 4 bytes, or more than 40 bytes.
    #[must_use]
    pub fn new(area: &[u8]) -> Option<Self> {
        if area.len() > MAX_LEN || !area.len().is_multiple_of(4) {
            return None;
        }
        let mut options = Self { len: area.len() as u8, area: [0; MAX_LEN] };
        options.area.get_mut(..area.len())?.copy_from_slice(area);
        Some(options)
    }

    /// Length of the area in bytes, padding included: a multiple of 4, at most 40.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no options.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The area as in the packet.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        range(&self.area, 0, self.len())
    }

    /// The range of the first option of this kind in the area, type and length bytes included; `None` if there is none
    /// before the end of the list.
    ///
    /// # Errors
    /// [`ParseError`] if that option or an earlier one is shorter than two bytes or runs past the area.
    pub fn find(&self, kind: u8) -> Result<Option<Range<usize>>, ParseError> {
        let mut at = 0;
        while let Some((found, place)) = self.option_at(at)? {
            if found == kind {
                return Ok(Some(place));
            }
            at = place.end;
        }
        Ok(None)
    }

    /// Appends an option after the existing ones and pads the area to whole words with zeros. Bytes after the end of
    /// the list, which no reader uses, are lost. The area never gets shorter. Returns `false`, and changes nothing, if
    /// there is no room.
    ///
    /// # Errors
    /// [`ParseError`] if the existing options are malformed.
    pub fn push(&mut self, option: &[u8]) -> Result<bool, ParseError> {
        let mut end = 0;
        while let Some((_, place)) = self.option_at(end)? {
            end = place.end;
        }
        let Some(room) = self.area.get_mut(end..).filter(|room| room.len() >= option.len()) else { return Ok(false) };
        room.fill(0);
        if let Some(slot) = room.get_mut(..option.len()) {
            slot.copy_from_slice(option);
        }
        let len = (end + option.len()).next_multiple_of(4) as u8;
        self.len = self.len.max(len);
        Ok(true)
    }

    /// Overwrites the bytes from `at` on, within the area.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        let len = self.len();
        if let Some(slot) = self.area.get_mut(..len).and_then(|area| area.get_mut(at..at + bytes.len())) {
            slot.copy_from_slice(bytes);
        }
    }

    /// Kind and range of the option that starts at `at`; `None` at the end of the list or of the area.
    fn option_at(&self, at: usize) -> Result<Option<(u8, Range<usize>)>, ParseError> {
        let area = self.as_bytes();
        if at >= area.len() {
            return Ok(None);
        }
        let protocol = Protocol::Ipv4;
        let kind = u8_at(area, at);
        let have = area.len() - at;
        let len = match kind {
            END => return Ok(None),
            NOP => 1,
            _ if have < 2 => return Err(ParseError::OptionOverrun { protocol, kind, have }),
            _ => usize::from(u8_at(area, at + 1)),
        };
        if kind != NOP && len < 2 {
            return Err(ParseError::BadOption { protocol, kind, len: len as u8, allowed: "at least 2" });
        }
        if len > have {
            return Err(ParseError::OptionOverrun { protocol, kind, have });
        }
        Ok(Some((kind, at..at + len)))
    }
}

impl Default for Ipv4Options {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Debug for Ipv4Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ipv4Options(")?;
        for (index, byte) in self.as_bytes().iter().enumerate() {
            write!(f, "{}{byte:02x}", if index == 0 { "" } else { " " })?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const OPTION: [u8; 6] = [0x21, 6, 0, 0, 0xb9, 0xaa];

    #[test]
    fn areas_are_whole_words_of_at_most_forty_bytes() {
        assert_eq!(Ipv4Options::new(&[]), Some(Ipv4Options::EMPTY));
        assert!(Ipv4Options::new(&[1; 3]).is_none() && Ipv4Options::new(&[1; 44]).is_none());
        assert_eq!(Ipv4Options::new(&[1; 40]).unwrap().as_bytes(), [1; 40]);
    }

    #[test]
    fn an_option_is_appended_behind_the_others_and_padded() {
        let mut options = Ipv4Options::EMPTY;
        assert_eq!(options.push(&OPTION), Ok(true));
        assert_eq!(options.as_bytes(), [0x21, 6, 0, 0, 0xb9, 0xaa, 0, 0]);
        assert_eq!(options.find(0x21), Ok(Some(0..6)));
        // After a router alert and a NOP, in their padding.
        let mut options = Ipv4Options::new(&[0x94, 4, 0, 0, 1, 0, 0, 0]).unwrap();
        assert_eq!(options.push(&OPTION), Ok(true));
        assert_eq!(options.as_bytes(), [0x94, 4, 0, 0, 1, 0x21, 6, 0, 0, 0xb9, 0xaa, 0]);
        assert_eq!((options.find(0x94), options.find(0x21)), (Ok(Some(0..4)), Ok(Some(5..11))));
    }

    #[test]
    fn padding_that_is_longer_than_it_need_be_stays_as_long() {
        let mut options = Ipv4Options::new(&[0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]).unwrap();
        assert_eq!(options.push(&OPTION), Ok(true));
        assert_eq!(options.as_bytes(), [0x21, 6, 0, 0, 0xb9, 0xaa, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_full_area_takes_no_more() {
        let mut full = Ipv4Options::new(&[1; 40]).unwrap();
        let before = full;
        assert_eq!(full.push(&OPTION), Ok(false));
        assert_eq!(full, before);
        // Six bytes of padding are just enough.
        let mut area = [1; 40];
        area[34..].fill(0);
        let mut just = Ipv4Options::new(&area).unwrap();
        assert_eq!(just.push(&OPTION), Ok(true));
        assert_eq!((just.len(), just.find(0x21)), (40, Ok(Some(34..40))));
    }

    #[test]
    fn what_runs_over_is_an_error_and_changes_nothing() {
        for area in [[0x21, 0, 0, 0], [0x21, 1, 0, 0], [0x44, 5, 0, 0], [1, 1, 1, 0x21]] {
            let mut options = Ipv4Options::new(&area).unwrap();
            assert!(options.find(0x21).is_err(), "{area:x?}");
            let before = options;
            assert!(options.push(&OPTION).is_err(), "{area:x?}");
            assert_eq!(options, before);
        }
    }

    #[test]
    fn the_end_of_the_list_hides_what_follows() {
        let options = Ipv4Options::new(&[0, 0x21, 6, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(options.find(0x21), Ok(None));
    }
}
