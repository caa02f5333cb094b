//! Frames as the medium carries them.

use narrows_units::{Bytes, Duration, Instant};
use narrows_wire::Packet;

/// Length of an RTS frame, FCS included (IEEE 802.11-2016, section 9.3.1.2).
pub const RTS_LEN: Bytes = Bytes::new(20);
/// Length of a CTS frame (section 9.3.1.3).
pub const CTS_LEN: Bytes = Bytes::new(14);
/// Length of an ACK frame (section 9.3.1.4).
pub const ACK_LEN: Bytes = Bytes::new(14);
/// Length of a compressed block ACK frame (section 9.3.1.9).
pub const BLOCK_ACK_LEN: Bytes = Bytes::new(32);

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// One MPDU with data.
    Data,
    /// An A-MPDU of several MPDUs with data.
    Aggregate {
        /// How many.
        mpdus: u32,
    },
    /// Acknowledgment.
    Ack,
    /// Compressed block ACK: which of the 64 MPDUs from `start` arrived.
    BlockAck {
        /// Sequence number of the bitmap's first bit.
        start: u16,
        /// Bit `i` stands for `start + i`.
        bitmap: u64,
    },
}

/// A frame (PPDU) on the air. The MPDUs of data frames are passed separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// Station that sends it.
    pub from: usize,
    /// Station that it is for.
    pub to: usize,
    /// Duration field: how long after its end the medium is reserved (NAV).
    pub duration: Duration,
    /// When it starts.
    pub start: Instant,
    /// How long it lasts, preamble included.
    pub airtime: Duration,
    /// PSDU length.
    pub len: Bytes,
}

/// A MAC protocol data unit: one IP packet on its way to a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mpdu {
    /// Sequence number, 0 to 4095.
    pub seq: u16,
    /// Whether it was sent before.
    pub retry: bool,
    /// Failed attempts.
    pub attempts: u32,
    /// The packet.
    pub packet: Packet,
    /// Length on the air: MAC header, the bytes before the packet (`overhead`), packet and FCS.
    pub len: Bytes,
}
