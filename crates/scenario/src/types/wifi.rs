//! The settings of 802.11 channels after defaults are merged.

use super::Queue;
use narrows_units::{Bytes, Duration, Probability, Rate};

/// An 802.11 channel: one base station, and the stations that it bridges to the wired network.
///
/// Every frame goes between the base station and a station (infrastructure mode). Packets from one station to another
/// pass through the base station. Rates are fixed: there is no rate adaptation, no fading and no mobility.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Name of the channel, unique; used in captures, drawings and tables.
    pub name: String,
    /// The base station, at a router.
    pub base: WifiStation,
    /// The stations, at hosts, in file order; at least one.
    pub stations: Vec<WifiStation>,
    /// Name of the PHY's preset in the catalogue (`802.11`, `802.11b`, `802.11g`, `802.11n` ..).
    pub phy: String,
    /// How data frames are modulated.
    pub mode: WifiMode,
    /// Rate of RTS, CTS, ACK and block ACK frames.
    pub basic_rate: Rate,
    /// Short PLCP preamble (802.11b only).
    pub short_preamble: bool,
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// aCWmin, slots.
    pub cw_min: u32,
    /// aCWmax, slots.
    pub cw_max: u32,
    /// Attempts of a frame that is not protected by RTS, and of an RTS (dot11ShortRetryLimit).
    pub short_retry: u32,
    /// Attempts of a frame that is protected by RTS (dot11LongRetryLimit).
    pub long_retry: u32,
    /// Data frames (MPDUs, or whole A-MPDUs) longer than this are protected by RTS and CTS; `None` is never.
    pub rts_threshold: Option<Bytes>,
    /// Propagation delay between any two of its stations.
    pub propagation: Duration,
    /// Capture: reception survives other frames that are weaker by this many decibels; `None` is never.
    pub capture_db: Option<f64>,
    /// A-MPDU aggregation with block ACK; `None` is one MPDU per frame.
    pub aggregation: Option<Aggregation>,
    /// Whether the base station has one queue for all stations, or one for each, served in turn.
    pub queues: WifiQueues,
    /// Pairs (a, b) of indices in `stations` where a does not reach b: the zeros of the reachability matrix. The base
    /// station reaches all stations, and all reach it.
    pub hidden: Vec<(usize, usize)>,
    /// Frame error rates of frames sent to or by a station, at one rate or at all rates. The last matching entry
    /// applies.
    pub errors: Vec<WifiErrors>,
}

/// A station of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiStation {
    /// Index of its node.
    pub node: usize,
    /// Its interface queue (at the base station: each of its queues).
    pub queue: Queue,
    /// Signal strength of its frames at every receiver, in decibels above an arbitrary level.
    pub signal_db: f64,
    /// Bytes between MAC header and IP packet: 8 for LLC and SNAP.
    pub overhead: Bytes,
}

/// Modulation of data frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WifiMode {
    /// 802.11, 802.11b, 802.11a, 802.11g: by its rate.
    Rate(Rate),
    /// 802.11n and 802.11ac: by the index of modulation and coding.
    Mcs {
        /// Modulation and coding of one stream: 0 to 7 (802.11n), 0 to 9 (802.11ac).
        mcs: u32,
        /// Channel width in MHz: 20, 40, 80, 160.
        width_mhz: u32,
        /// Spatial streams.
        streams: u32,
        /// Guard interval of 400 ns instead of 800 ns.
        short_guard: bool,
    },
}

/// A-MPDU aggregation (IEEE 802.11-2016, section 10.13) with immediate block ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Largest number of MPDUs in one A-MPDU: 1 to 64, the block ACK's window.
    pub max_mpdus: u32,
    /// Largest size of one A-MPDU in bytes.
    pub max_bytes: Bytes,
    /// Longest time on the air (aPPDUMaxTime).
    pub max_time: Duration,
}

/// Queues of a base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiQueues {
    /// One first-in, first-out queue for all stations.
    Shared,
    /// One for each station, served in turn.
    PerStation,
}

/// A frame error rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WifiErrors {
    /// The station, an index in `stations`: frames that it sends, and frames to it.
    pub station: usize,
    /// Only frames at this rate; `None` is all, control frames included.
    pub rate: Option<Rate>,
    /// Probability that a frame (an MPDU of an A-MPDU) arrives corrupted.
    pub fer: Probability,
}
