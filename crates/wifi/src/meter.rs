//! What a station counts.

use narrows_units::Duration;

/// Counters of one station; what `narrows_samples::StationTotal` is made from.
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
    /// Packets that were sent again at least once more (MPDU repetitions).
    pub retried_mpdus: u64,
    /// Packets given up at a retry limit.
    pub given_up: u64,
    /// Packets delivered upwards.
    pub received: u64,
    /// MPDUs that had come before.
    pub duplicates: u64,
    /// Frames that it could not read because others overlapped.
    pub collisions: u64,
    /// Frames and MPDUs for it that the frame error rate struck.
    pub corrupted: u64,
    /// Time that it sent.
    pub airtime: Duration,
}
