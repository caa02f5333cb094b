//! Settings of a channel and its stations.

use crate::phy::Modulation;
use narrows_units::{Bytes, Duration, Probability, Rate};

/// A channel's settings, the same for all its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Modulation of data frames.
    pub data: Modulation,
    /// Modulation of RTS, CTS, ACK and block ACK.
    pub control: Modulation,
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// Idle time after a frame that was not understood (IEEE 802.11-2016, section 10.3.2.3.7).
    pub eifs: Duration,
    /// Time after the end of an RTS or a data frame by which its answer must have begun (section 10.3.2.9).
    pub answer_timeout: Duration,
    /// aCWmin, slots.
    pub cw_min: u32,
    /// aCWmax, slots.
    pub cw_max: u32,
    /// dot11ShortRetryLimit: attempts of an RTS, and of a data frame without one.
    pub short_retry: u32,
    /// dot11LongRetryLimit: attempts of a data frame that an RTS protects.
    pub long_retry: u32,
    /// Data frames (PSDUs) longer than this are protected by RTS and CTS; `None` means never.
    pub rts_threshold: Option<Bytes>,
    /// Propagation delay between any two stations.
    pub propagation: Duration,
    /// A frame under reception survives others that are weaker by this many decibels; `None` means never.
    pub capture_db: Option<f64>,
    /// A-MPDU aggregation; `None` means one MPDU per frame with plain ACKs.
    pub aggregation: Option<Aggregation>,
}

impl Config {
    /// DIFS: SIFS and two slots (section 10.3.2.3.5).
    #[must_use]
    pub fn difs(&self) -> Duration {
        self.sifs + self.slot + self.slot
    }

    /// EIFS as in the standard: SIFS, an ACK at the PHY's slowest rate, DIFS (IEEE 802.11-2016, section 10.3.2.3.7). A
    /// station that could not read a frame does not know the rate of its answer.
    #[must_use]
    pub fn standard_eifs(sifs: Duration, slot: Duration, slowest: &Modulation) -> Duration {
        sifs + slowest.airtime(crate::frame::ACK_LEN) + sifs + slot + slot
    }

    /// The answer's timeout as in the standard: SIFS, a slot and aPHY-RX-START-Delay.
    #[must_use]
    pub fn standard_timeout(sifs: Duration, slot: Duration, control: &Modulation) -> Duration {
        sifs + slot + control.preamble()
    }
}

/// A-MPDU aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Most MPDUs in an A-MPDU, 1 to 64.
    pub max_mpdus: u32,
    /// Most bytes of an A-MPDU.
    pub max_bytes: Bytes,
    /// Longest time on the air.
    pub max_time: Duration,
}

/// One station's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationConfig {
    /// Signal strength of its frames at receivers, in decibels above an arbitrary level.
    pub signal_db: f64,
    /// Bytes between MAC header and IP packet: 8 of LLC and SNAP, or those of a peer simulator.
    pub overhead: Bytes,
}

/// Frame errors of one station: frames that it sends, and frames to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// The station.
    pub station: usize,
    /// Only frames at this rate; `None` means all.
    pub rate: Option<Rate>,
    /// Probability that a frame (an MPDU of an A-MPDU) arrives corrupted.
    pub fer: Probability,
}
