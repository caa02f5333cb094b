//! TCP options (RFC 9293, section 3.1; RFC 2018; RFC 7323; RFC 7413; RFC 9768): as values and as bytes.

use crate::accecn::{ACCECN_0, ACCECN_1, AccEcn, padded_len};
use crate::fast_open::{EXPERIMENT, FAST_OPEN, FastOpenCookie, MAGIC};
use crate::field::{u8_at, u16_at, u32_at};
use crate::{ParseError, Protocol};
use narrows_units::SeqNum;

/// The timestamps option (RFC 7323, section 3). Packed, so that a packet stays within two cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct Timestamps {
    /// TSval: the sender's clock. Narrows ticks it once a microsecond (RFC 7323 allows 1 ms to 1 s; Linux 6.7
    /// and later can use 1 us) unless the stack says otherwise.
    pub val: u32,
    /// TSecr: the clock value echoed; valid only with ACK.
    pub ecr: u32,
}

/// A SACK block without alignment, so that four blocks and their count leave no gap in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Block([u8; 8]);

impl Block {
    const fn new(left: SeqNum, right: SeqNum) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (left.as_u32().to_ne_bytes(), right.as_u32().to_ne_bytes());
        Self([a, b, c, d, e, f, g, h])
    }

    const fn edges(self) -> (SeqNum, SeqNum) {
        let [a, b, c, d, e, f, g, h] = self.0;
        (SeqNum::new(u32::from_ne_bytes([a, b, c, d])), SeqNum::new(u32::from_ne_bytes([e, f, g, h])))
    }
}

/// Up to four SACK blocks (RFC 2018), each `(left edge, right edge)`: the first byte held and the one after the last.
///
/// With [`TcpOptions::set_accecn`] an AccECN option takes the room of the last block, and on a SYN a Fast Open option
/// that of the first three: they compete for the 40 bytes of a header's options, and a packet of the engine is as small
/// as it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Number of blocks in the lowest three bits, or with [`COOKIE`] the length of a Fast Open cookie, as
    /// [`FastOpenCookie::into_parts`] has it; of an AccECN option the number of counters in [`COUNTERS`],
    /// [`ECT1_FIRST`] and [`ACCECN`].
    len: u8,
    /// The last byte of an AccECN option's counters.
    extra: u8,
    /// Zeros where there is neither a block nor a counter, so that derived equality compares what is there.
    blocks: [Block; 4],
}

/// Bits of [`SackBlocks`]'s length: the number of blocks.
const BLOCKS: u8 = 0b0000_0111;
/// Whether there is a Fast Open option, and so no block.
const COOKIE: u8 = 0b0000_1000;
/// The number of counters of the AccECN option.
const COUNTERS: u8 = 0b0011_0000;
/// Whether the AccECN option begins with ECT(1).
const ECT1_FIRST: u8 = 0b0100_0000;
/// Whether there is an AccECN option.
const ACCECN: u8 = 0b1000_0000;

/// Blocks beside an AccECN option.
const BLOCKS_BESIDE_ACCECN: usize = 3;

impl SackBlocks {
    /// No block.
    pub const EMPTY: Self = Self { len: 0, extra: 0, blocks: [Block::new(SeqNum::new(0), SeqNum::new(0)); 4] };

    /// Adds a block at the end; returns whether there was room.
    pub fn push(&mut self, left: SeqNum, right: SeqNum) -> bool {
        if self.len & COOKIE != 0 {
            return false;
        }
        let room = if self.len & ACCECN == 0 { self.blocks.len() } else { BLOCKS_BESIDE_ACCECN };
        let Some(slot) = self.blocks.get_mut(..room).and_then(|slots| slots.get_mut(usize::from(self.len & BLOCKS)))
        else {
            return false;
        };
        *slot = Block::new(left, right);
        self.len += 1;
        true
    }

    /// The blocks in the order of the option.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SeqNum, SeqNum)> + '_ {
        self.blocks[..self.len()].iter().map(|block| block.edges())
    }

    /// How many blocks there are, 0 to 4.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.len & COOKIE == 0 { (self.len & BLOCKS) as usize } else { 0 }
    }

    /// Whether there is no block.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is neither a block nor another option in their room.
    #[inline]
    #[must_use]
    pub const fn is_unused(&self) -> bool {
        self.len == 0
    }

    /// Removes all blocks and keeps an AccECN option.
    fn clear(&mut self) {
        let accecn = self.accecn();
        *self = Self::EMPTY;
        if let Some(option) = accecn {
            self.set_accecn(option);
        }
    }

    /// The AccECN option in the room of the last block.
    fn accecn(&self) -> Option<AccEcn> {
        if self.len & ACCECN == 0 {
            return None;
        }
        let [_, _, _, Block([a, b, c, d, e, f, g, h])] = self.blocks;
        let len = (self.len & COUNTERS) >> COUNTERS.trailing_zeros();
        Some(AccEcn::from_parts(self.len & ECT1_FIRST != 0, len, [a, b, c, d, e, f, g, h, self.extra]))
    }

    /// Puts an AccECN option in the place of the last block.
    fn set_accecn(&mut self, option: AccEcn) {
        let (ect1_first, [a, b, c, d, e, f, g, h, i]) = option.into_parts();
        let counters = (option.len() as u8) << COUNTERS.trailing_zeros();
        let order = if ect1_first { ECT1_FIRST } else { 0 };
        let kept = if self.len & COOKIE == 0 {
            self.len().min(BLOCKS_BESIDE_ACCECN) as u8
        } else {
            self.len & (COOKIE | BLOCKS)
        };
        self.len = kept | counters | order | ACCECN;
        let [.., last] = &mut self.blocks;
        (*last, self.extra) = (Block([a, b, c, d, e, f, g, h]), i);
    }

    /// The Fast Open option in the room of the first three blocks.
    fn fast_open(&self) -> Option<FastOpenCookie> {
        if self.len & COOKIE == 0 {
            return None;
        }
        let [Block(low), Block(high), Block([experimental, ..]), _] = self.blocks;
        Some(FastOpenCookie::from_parts(self.len & BLOCKS, [low, high], experimental != 0))
    }

    /// Puts a Fast Open option in the place of the first three blocks.
    fn set_fast_open(&mut self, option: FastOpenCookie) {
        let (len, [low, high]) = option.into_parts();
        self.len = self.len & !BLOCKS | COOKIE | len;
        let [first, second, third, last] = &mut self.blocks;
        (*first, *second) = (Block(low), Block(high));
        *third = Block([u8::from(option.is_experimental()), 0, 0, 0, 0, 0, 0, 0]);
        if self.len & ACCECN == 0 {
            *last = Block::default();
        }
    }

    /// Length of the emitted Fast Open option with its NOPs, in bytes; zero if there is none.
    #[inline]
    fn fast_open_len(&self) -> usize {
        if self.len & COOKIE == 0 { 0 } else { self.fast_open().map_or(0, |option| option.padded_len()) }
    }

    /// Length of the emitted AccECN option with its NOPs, in bytes; zero if there is none.
    #[inline]
    const fn accecn_len(&self) -> usize {
        if self.len & ACCECN == 0 {
            return 0;
        }
        padded_len(((self.len & COUNTERS) >> COUNTERS.trailing_zeros()) as usize)
    }
}

/// The TCP options that Narrows sends and reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size in bytes (RFC 9293), on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323), on SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018), on SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018); at most three beside timestamps. A value put here replaces an AccECN option too.
    pub sack: SackBlocks,
}

/// Option kinds (IANA, TCP Option Kind Numbers).
const END: u8 = 0;
pub(crate) const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Room for options in bytes: the largest header is 60, of which 20 are fixed.
const ROOM: usize = 40;

impl TcpOptions {
    /// Length of the emitted options in bytes, 0 to 40, padded to a multiple of four with NOPs in Linux's layout: 4 for
    /// MSS, 12 for timestamps, 4 to 12 for AccECN, 4 for window scale, 4 + 8n for n SACK blocks, 4 to 20 for Fast Open.
    /// SACK permitted takes the place of the two NOPs before timestamps; without timestamps it takes 4. SACK blocks
    /// that do not fit are left out, the last ones first.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let rest = self.len_without_sack();
        match self.fitting_blocks(rest) {
            0 => rest,
            n => rest + 4 + 8 * n,
        }
    }

    /// Whether there is no option at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn len_without_sack(&self) -> usize {
        let mut n = 0;
        if self.mss.is_some() {
            n += 4;
        }
        if self.timestamps.is_some() {
            n += 12;
        } else if self.sack_permitted {
            n += 4;
        }
        if self.window_scale.is_some() {
            n += 4;
        }
        n + self.sack.accecn_len() + self.sack.fast_open_len()
    }

    /// Number of SACK blocks that fit beside `rest` bytes of other options, which are never more than 32.
    #[inline]
    fn fitting_blocks(&self, rest: usize) -> usize {
        self.sack.len().min((ROOM - 4 - rest) / 8)
    }

    /// The AccECN option (RFC 9768, section 3.2.3).
    #[must_use]
    pub fn accecn(&self) -> Option<AccEcn> {
        self.sack.accecn()
    }

    /// Sets the AccECN option. Beside it there are at most three SACK blocks; later ones are left out.
    pub fn set_accecn(&mut self, option: AccEcn) {
        self.sack.set_accecn(option);
    }

    /// The Fast Open option (RFC 7413, section 4.1.1).
    #[must_use]
    pub fn fast_open(&self) -> Option<FastOpenCookie> {
        self.sack.fast_open()
    }

    /// Sets the Fast Open option, in the place of SACK blocks: it is sent on SYN only, which has none.
    pub fn set_fast_open(&mut self, option: FastOpenCookie) {
        self.sack.set_fast_open(option);
    }

    /// Whether all options fit into a header, so that none is left out.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.fitting_blocks(self.len_without_sack()) == self.sack.len()
    }

    /// Appends the options, [`len`](Self::len) bytes of them.
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend_from_slice(&[MSS, 4]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        if let Some(Timestamps { val, ecr }) = self.timestamps {
            out.extend_from_slice(if self.sack_permitted { &[SACK_PERMITTED, 2] } else { &[NOP, NOP] });
            out.extend_from_slice(&[TIMESTAMPS, 10]);
            out.extend_from_slice(&val.to_be_bytes());
            out.extend_from_slice(&ecr.to_be_bytes());
        }
        if let Some(option) = self.accecn() {
            option.emit_into(out);
        }
        if self.sack_permitted && self.timestamps.is_none() {
            out.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        let blocks = self.fitting_blocks(self.len_without_sack());
        if blocks > 0 {
            // At most four blocks, so the length is at most 34.
            out.extend_from_slice(&[NOP, NOP, SACK, (2 + 8 * blocks) as u8]);
            for (left, right) in self.sack.iter().take(blocks) {
                out.extend_from_slice(&left.as_u32().to_be_bytes());
                out.extend_from_slice(&right.as_u32().to_be_bytes());
            }
        }
        if let Some(option) = self.fast_open() {
            option.emit_into(out);
        }
    }

    /// Reads options and skips those that Narrows does not know by their length; of two options of a kind the last one
    /// is used.
    ///
    /// # Errors
    /// [`ParseError::OptionOverrun`] and [`ParseError::BadOption`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        let mut rest = bytes;
        while let [kind, tail @ ..] = rest {
            match *kind {
                END => break,
                NOP => rest = tail,
                kind => {
                    let Some(&len) = tail.first() else {
                        return Err(ParseError::OptionOverrun { protocol: Protocol::Tcp, kind, have: 1 });
                    };
                    if len < 2 {
                        let allowed = "2 bytes or more";
                        return Err(ParseError::BadOption { protocol: Protocol::Tcp, kind, len, allowed });
                    }
                    let Some((option, after)) = rest.split_at_checked(usize::from(len)) else {
                        return Err(ParseError::OptionOverrun { protocol: Protocol::Tcp, kind, have: rest.len() });
                    };
                    options.take(kind, len, option)?;
                    rest = after;
                }
            }
        }
        Ok(options)
    }

    /// Stores one option; `option` is all of its `len` bytes.
    fn take(&mut self, kind: u8, len: u8, option: &[u8]) -> Result<(), ParseError> {
        let bad = |allowed| Err(ParseError::BadOption { protocol: Protocol::Tcp, kind, len, allowed });
        match (kind, len) {
            (MSS, 4) => self.mss = Some(u16_at(option, 2)),
            (MSS, _) => return bad("4 bytes"),
            (WINDOW_SCALE, 3) => self.window_scale = Some(u8_at(option, 2)),
            (WINDOW_SCALE, _) => return bad("3 bytes"),
            (SACK_PERMITTED, 2) => self.sack_permitted = true,
            (SACK_PERMITTED, _) => return bad("2 bytes"),
            (SACK, 10 | 18 | 26 | 34) => {
                self.sack.clear();
                for block in option.get(2..).unwrap_or_default().as_chunks::<8>().0 {
                    self.sack.push(SeqNum::new(u32_at(block, 0)), SeqNum::new(u32_at(block, 4)));
                }
            }
            (SACK, _) => return bad("10, 18, 26 or 34 bytes"),
            (TIMESTAMPS, 10) => {
                self.timestamps = Some(Timestamps { val: u32_at(option, 2), ecr: u32_at(option, 6) });
            }
            (TIMESTAMPS, _) => return bad("10 bytes"),
            (ACCECN_0 | ACCECN_1, _) => self.set_accecn(AccEcn::parse(kind, option)),
            (FAST_OPEN, _) => self.take_fast_open(option.get(2..), false),
            (EXPERIMENT, 4..) if u16_at(option, 2) == MAGIC => self.take_fast_open(option.get(4..), true),
            _ => {}
        }
        Ok(())
    }

    /// Stores a Fast Open option with these bytes as cookie. RFC 7413, section 4.1.1, says to ignore other lengths.
    fn take_fast_open(&mut self, cookie: Option<&[u8]>, experimental: bool) {
        if let Some(option) = FastOpenCookie::new(cookie.unwrap_or_default(), experimental) {
            self.set_fast_open(option);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::AccEcnOrder;

    fn emitted(options: &TcpOptions) -> Vec<u8> {
        let mut out = Vec::new();
        options.emit_into(&mut out);
        assert_eq!(out.len(), options.len());
        out
    }

    fn blocks(n: u32) -> SackBlocks {
        let mut sack = SackBlocks::EMPTY;
        for i in 0..n {
            assert!(sack.push(SeqNum::new(100 * i), SeqNum::new(100 * i + 50)));
        }
        sack
    }

    #[test]
    fn a_syn_is_laid_out_as_linux_does() {
        let syn = TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { val: 0x0102_0304, ecr: 0 }),
            sack: SackBlocks::EMPTY,
        };
        // As in any capture of a Linux SYN: MSS, SACK permitted, timestamps, NOP, window scale.
        let bytes = [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(emitted(&syn), bytes);
        assert_eq!(TcpOptions::parse(&bytes), Ok(syn));
    }

    #[test]
    fn three_sack_blocks_fit_beside_timestamps_and_four_without() {
        let timestamps = Some(Timestamps { val: 1, ecr: 2 });
        let three = TcpOptions { timestamps, sack: blocks(3), ..TcpOptions::default() };
        let four = TcpOptions { timestamps, sack: blocks(4), ..TcpOptions::default() };
        let alone = TcpOptions { sack: blocks(4), ..TcpOptions::default() };
        assert_eq!((three.len(), three.fits()), (40, true));
        assert_eq!((four.len(), four.fits()), (40, false));
        assert_eq!((alone.len(), alone.fits()), (36, true));
        assert_eq!(TcpOptions::parse(&emitted(&four)), Ok(three), "the fourth block is left out");
    }

    #[test]
    fn an_accecn_option_stands_beside_three_sack_blocks_at_most() {
        let option = AccEcn::new(AccEcnOrder::Ect1First, &[1, 0x02_0000, 3]);
        let mut options = TcpOptions { sack: blocks(4), ..TcpOptions::default() };
        options.set_accecn(option);
        assert_eq!((options.accecn(), options.sack.len(), options.len(), options.fits()), (Some(option), 3, 40, true));
        let bytes = emitted(&options);
        assert_eq!(bytes[..12], [174, 11, 0, 0, 1, 2, 0, 0, 0, 0, 3, 1]);
        assert_eq!(TcpOptions::parse(&bytes), Ok(options));
        assert!(!options.sack.push(SeqNum::new(0), SeqNum::new(1)), "no room");
        options.timestamps = Some(Timestamps { val: 1, ecr: 2 });
        assert_eq!((options.len(), options.fits()), (36, false), "one block beside timestamps");
        assert!(options.sack.iter().eq(blocks(3).iter()), "counters are no blocks");
        // In the other order, as other hosts may send them, both come through as well.
        let mut turned = bytes[12..].to_vec();
        turned.extend_from_slice(&bytes[..12]);
        let parsed = TcpOptions::parse(&turned).unwrap();
        assert_eq!((parsed.accecn(), parsed.sack.len()), (Some(option), 3));
    }

    #[test]
    fn every_length_of_an_accecn_option_is_read_and_what_is_no_whole_counter_is_padding() {
        for (n, len) in [(0, 4), (1, 8), (2, 8), (3, 12)] {
            let option = AccEcn::new(AccEcnOrder::Ect0First, &[9, 8, 7][..n]);
            let mut options = TcpOptions::default();
            options.set_accecn(option);
            assert_eq!((options.len(), emitted(&options).len()), (len, len));
            assert_eq!(TcpOptions::parse(&emitted(&options)).unwrap().accecn(), Some(option));
        }
        let accecn = |bytes: &[u8]| TcpOptions::parse(bytes).unwrap().accecn().unwrap();
        assert_eq!(accecn(&[172, 7, 0, 0, 5, 1, 1]), AccEcn::new(AccEcnOrder::Ect0First, &[5]), "RFC 9768, 3.2.3");
        let long = [174, 14, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4];
        assert_eq!(accecn(&long), AccEcn::new(AccEcnOrder::Ect1First, &[1, 2, 3]));
        assert!(TcpOptions::parse(&[172, 11, 0]).is_err(), "longer than the header");
    }

    #[test]
    fn unknown_options_are_skipped_by_their_length() {
        // User timeout (kind 28) and an experimental option (kind 254), then MSS.
        let bytes = [28, 4, 0x80, 5, 1, 254, 6, 9, 9, 9, 9, 2, 4, 2, 0, 0, 2, 3];
        let options = TcpOptions::parse(&bytes).unwrap();
        assert_eq!(options, TcpOptions { mss: Some(512), ..TcpOptions::default() }, "what follows the end is not read");
    }

    #[test]
    fn malformed_options_are_refused_with_their_values() {
        let protocol = Protocol::Tcp;
        let cases = [
            (&[2u8][..], ParseError::OptionOverrun { protocol, kind: 2, have: 1 }),
            (&[1, 8, 10, 0], ParseError::OptionOverrun { protocol, kind: 8, have: 3 }),
            (&[77, 1], ParseError::BadOption { protocol, kind: 77, len: 1, allowed: "2 bytes or more" }),
            (&[77, 0], ParseError::BadOption { protocol, kind: 77, len: 0, allowed: "2 bytes or more" }),
            (&[2, 3, 0], ParseError::BadOption { protocol, kind: 2, len: 3, allowed: "4 bytes" }),
            (&[5, 2], ParseError::BadOption { protocol, kind: 5, len: 2, allowed: "10, 18, 26 or 34 bytes" }),
            (&[4, 3, 0], ParseError::BadOption { protocol, kind: 4, len: 3, allowed: "2 bytes" }),
            (&[3, 2], ParseError::BadOption { protocol, kind: 3, len: 2, allowed: "3 bytes" }),
            (&[8, 2], ParseError::BadOption { protocol, kind: 8, len: 2, allowed: "10 bytes" }),
        ];
        for (bytes, error) in cases {
            assert_eq!(TcpOptions::parse(bytes), Err(error), "{bytes:?}");
        }
    }
}
