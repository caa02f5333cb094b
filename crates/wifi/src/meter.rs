//! The counters of a station.

use narrows_units::Duration;

/// Counters of one station; the source of `narrows_samples::StationTotal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationMeter {
    /// Data frames sent (an A-MPDU is one), repetitions included.
    pub data_frames: u64,
    /// MPDUs sent, repetitions included.
    pub mpdus: u64,
    /// RTS frames sent.
    pub rts_frames: u64,
    /// CTS frames sent.
    pub cts_frames: u64,
    /// ACK and block ACK frames sent.
    pub ack_frames: u64,
    /// Attempts that failed at the RTS: no CTS came.
    pub rts_failures: u64,
    /// Attempts that failed at the data frame: no ACK came.
    pub data_failures: u64,
    /// MPDUs sent that had been sent before (repetitions).
    pub retried_mpdus: u64,
    /// Packets given up at a retry limit.
    pub given_up: u64,
    /// Packets delivered upwards.
    pub received: u64,
    /// MPDUs received that had been received before.
    pub duplicates: u64,
    /// Frames that it could not read because others overlapped.
    pub collisions: u64,
    /// Frames and MPDUs for it that were corrupted (frame error rate).
    pub corrupted: u64,
    /// Time during which it sent.
    pub airtime: Duration,
}
