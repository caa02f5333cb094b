//! The receiver's estimate of the peer's segment size (`icsk_ack.rcv_mss`; `tcp_measure_rcv_mss`).

/// `TCP_MSS_DEFAULT` (RFC 1122), bytes.
const DEFAULT: u64 = 536;
/// `TCP_MIN_MSS`, bytes.
const LEAST: u64 = 88;
/// Bytes of a TCP header without options.
const HEADER: u64 = 20;
/// Largest number of ACKs that leave at once (`TCP_MAX_QUICKACKS`).
pub(crate) const MAX_QUICK_ACKS: u32 = 16;

/// What the length and PSH of a segment show about the peer's application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// Nothing: more data follows.
    Nothing,
    /// A full segment with PSH: probably the end of a write.
    Pushed,
    /// A segment that is not full.
    Small,
}

/// The estimate. It starts low, because an ACK too many costs less than one too few.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerMss {
    bytes: u64,
    /// Size of the last segment, without options, if it was not full; else 0.
    last: u64,
    /// Upper bound: the MSS that this end announced.
    most: u64,
}

impl PeerMss {
    /// `tcp_initialize_rcv_mss`, for an announced MSS and an offered window, bytes.
    pub(crate) fn new(advmss: u64, window: u64) -> Self {
        Self { bytes: advmss.min(window / 2).clamp(LEAST, DEFAULT), last: 0, most: advmss.max(LEAST) }
    }

    /// The estimate, bytes; never 0.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.max(1)
    }

    /// Number of ACKs that may leave at once with a window of `window` bytes (`tcp_incr_quickack`).
    pub(crate) fn quota(&self, window: u64) -> u32 {
        match window / (2 * self.bytes()) {
            0 => 2,
            n => u32::try_from(n).unwrap_or(MAX_QUICK_ACKS).min(MAX_QUICK_ACKS),
        }
    }

    /// Updates the estimate with a segment of `len` bytes of payload behind `header` bytes of TCP header.
    pub(crate) fn measure(&mut self, len: u64, header: u64, push: bool) -> Note {
        let last = core::mem::take(&mut self.last);
        if len >= self.bytes {
            self.bytes = len.min(self.most);
            return if push { Note::Pushed } else { Note::Nothing };
        }
        // The length with the header does not vary with SACK blocks.
        let whole = len + header;
        if whole >= DEFAULT + HEADER || (whole >= LEAST + HEADER && !push) {
            self.last = len;
            if len == last {
                self.bytes = len;
                return Note::Nothing;
            }
        }
        Note::Small
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_begins_at_536_and_takes_the_first_full_segment() {
        let mut mss = PeerMss::new(1460, 65_160);
        assert_eq!(mss.bytes(), 536);
        assert_eq!(mss.measure(1448, 32, false), Note::Nothing);
        assert_eq!(mss.bytes(), 1448);
        assert_eq!(mss.measure(9000, 32, true), Note::Pushed);
        assert_eq!(mss.bytes(), 1460, "never above what was announced");
    }

    #[test]
    fn two_smaller_segments_alike_lower_it() {
        let mut mss = PeerMss::new(1460, 65_160);
        mss.measure(1448, 32, false);
        assert_eq!(mss.measure(1000, 32, false), Note::Small);
        assert_eq!((mss.bytes(), mss.measure(1000, 32, false)), (1448, Note::Nothing));
        assert_eq!(mss.bytes(), 1000);
        assert_eq!(mss.measure(30, 32, true), Note::Small);
        assert_eq!(mss.measure(30, 32, true), Note::Small, "a small one that was pushed says nothing of the MSS");
        assert_eq!(mss.bytes(), 1000);
    }

    #[test]
    fn sixteen_quick_acks_at_most_and_two_at_least() {
        let mut mss = PeerMss::new(1460, 65_160);
        mss.measure(1448, 32, false);
        assert_eq!([65_160, 5_792, 2_895].map(|window| mss.quota(window)), [16, 2, 2]);
        assert_eq!(mss.quota(8_688), 3);
    }
}
