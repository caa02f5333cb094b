//! Keys of the `[wifi]` table and its inner tables, with their units and defaults.

use super::{ANY_RATE, Field, Kind, Need, QUEUE, Table, Word};

/// Largest number of stations of a channel.
pub(crate) const MOST_STATIONS: usize = 1000;

/// A channel.
pub(crate) static WIFI: Table = Table {
    name: "wifi",
    doc: "An 802.11 channel (IEEE 802.11-2016, distributed coordination function): a base station and the stations that it \
          bridges to the wired network. Rates are fixed: there is no rate adaptation, no fading and no mobility; \
          `errors`, `signals` and `hidden` stand for what the air does. `[wifi]` is one channel, `[[wifi]]` one of several, \
          which do not disturb each other.",
    groups: &[ENDS, PHY, ACCESS, QUEUES, AIR],
};

const ENDS: &[Field] = &[
    Field::new(
        "name",
        Kind::Name,
        Need::Described("`wlan1`, `wlan2` .. by position"),
        "Unique name; no node may have it.",
    ),
    Field::new("base", Kind::Node, Need::Required, "The base station: a router that belongs to no other channel."),
    Field::new(
        "stations",
        Kind::Nodes(1, MOST_STATIONS),
        Need::Required,
        "The stations: hosts that belong to no other channel. They may also have links.",
    ),
];

const PHY: &[Field] = &[
    Field::new(
        "phy",
        Kind::Phy,
        Need::Required,
        "The standard. It determines the available rates and the default timing.",
    ),
    Field::new(
        "rate",
        ANY_RATE,
        Need::Described("the PHY's highest rate"),
        "Rate of data frames. Not for PHYs with `mcs`.",
    ),
    Field::new(
        "mcs",
        Kind::Integer(0, 9),
        Need::Described("7"),
        "Modulation and coding of each stream: 0 to 7 (802.11n) or 0 to 9 (802.11ac). Only for these.",
    ),
    Field::new(
        "channel_width",
        Kind::Choice(&[
            Word("20 MHz", "one channel"),
            Word("40 MHz", "two"),
            Word("80 MHz", "four; 802.11ac"),
            Word("160 MHz", "eight; 802.11ac"),
        ]),
        Need::Described("20 MHz"),
        "Channel width. Only for PHYs with `mcs`.",
    ),
    Field::new("streams", Kind::Integer(1, 8), Need::Described("1"), "Spatial streams. Only for PHYs with `mcs`."),
    Field::new(
        "guard_interval",
        Kind::Choice(&[Word("800 ns", "long guard interval"), Word("400 ns", "short guard interval")]),
        Need::Described("800 ns"),
        "Guard interval of data symbols. Only for PHYs with `mcs`.",
    ),
    Field::new(
        "basic_rate",
        ANY_RATE,
        Need::Described("the PHY's"),
        "Rate of RTS, CTS, ACK and block ACK frames; at most the rate of data frames.",
    ),
    Field::new(
        "preamble",
        Kind::Choice(&[Word("long", "192 us with its header"), Word("short", "96 us with its header")]),
        Need::Described("`long`"),
        "PLCP preamble. Only for PHYs that have a short one (802.11b).",
    ),
];

/// Times and contention windows. Their ranges include all standards and leave room for experiments.
const ACCESS: &[Field] = &[
    Field::new("slot", Kind::Time(1_000, 1_000_000), Need::Described("the PHY's"), "aSlotTime."),
    Field::new(
        "sifs",
        Kind::Time(1_000, 1_000_000),
        Need::Described("the PHY's"),
        "aSIFSTime. DIFS is SIFS and two slots.",
    ),
    Field::new(
        "cw_min",
        Kind::Integer(1, 32_767),
        Need::Described("the PHY's"),
        "aCWmin, slots: a power of two less one.",
    ),
    Field::new(
        "cw_max",
        Kind::Integer(1, 32_767),
        Need::Described("the PHY's"),
        "aCWmax, slots: a power of two less one.",
    ),
    Field::new(
        "short_retry",
        Kind::Integer(1, 255),
        Need::Default("7"),
        "Attempts of a frame that no RTS protects, and of an RTS (dot11ShortRetryLimit).",
    ),
    Field::new(
        "long_retry",
        Kind::Integer(1, 255),
        Need::Default("4"),
        "Attempts of a frame that an RTS protects (dot11LongRetryLimit).",
    ),
    Field::new(
        "rts_threshold",
        Kind::Or(&Kind::Size(0, 4_692_480), &[Word("never", "no RTS")]),
        Need::Default("never"),
        "Data frames (PSDUs: MPDUs, or whole A-MPDUs) longer than this are protected by RTS and CTS; `\"0 B\"` protects all.",
    ),
    Field::new(
        "aggregation",
        Kind::OrFalse(&AGGREGATION),
        Need::Described("on, with the table's own defaults, where the PHY has it"),
        "A-MPDU aggregation with block ACK, or `false`. Only for PHYs with `mcs`.",
    ),
];

const QUEUES: &[Field] = &[
    Field::new(
        "queues",
        Kind::Choice(&[
            Word("shared", "one first-in, first-out queue for all stations"),
            Word("per_station", "one queue for each station, served in turn"),
        ]),
        Need::Described("`per_station` with aggregation, else `shared`"),
        "Queues of the base station.",
    ),
    Field::new(
        "queue",
        Kind::Table(&QUEUE),
        Need::Described("`[queue]`"),
        "Settings of the base station's queue or queues.",
    ),
    Field::new(
        "station_queue",
        Kind::Table(&QUEUE),
        Need::Described("as `queue`"),
        "Settings of each station's queue.",
    ),
    Field::new(
        "overhead",
        Kind::Size(0, 255),
        Need::Default("8 B"),
        "Bytes that the base station adds between MAC header and IP packet: LLC and SNAP.",
    ),
    Field::new(
        "station_overhead",
        Kind::Size(0, 255),
        Need::Described("as `overhead`"),
        "Bytes that stations add there.",
    ),
];

const AIR: &[Field] = &[
    Field::new(
        "propagation",
        Kind::Time(0, 1_000_000),
        Need::Default("1 us"),
        "Propagation delay between any two of its stations; the round trip must be shorter than a slot.",
    ),
    Field::new(
        "capture",
        Kind::Or(&Kind::Number(0.0, 100.0), &[Word("never", "all overlapping frames are lost")]),
        Need::Default("10"),
        "Capture: a frame in reception survives frames that are weaker by this many decibels.",
    ),
    Field::new(
        "signals",
        Kind::Tables(&SIGNAL),
        Need::Described("0 dB each"),
        "Signal strengths of stations. The base station may be listed too.",
    ),
    Field::new("hidden", Kind::Tables(&HIDDEN), Need::Described("none"), "Stations that do not hear each other."),
    Field::new(
        "errors",
        Kind::Tables(&ERRORS),
        Need::Described("none"),
        "Frame error rates. The last entry that matches a frame applies.",
    ),
];

/// A-MPDU aggregation.
pub(crate) static AGGREGATION: Table = Table {
    name: "wifi.aggregation",
    doc: "A-MPDU aggregation with immediate block ACK (IEEE 802.11-2016, section 10.13); `aggregation = false` sends one MPDU \
          per frame.",
    groups: &[&[
        Field::new(
            "max_mpdus",
            Kind::Integer(1, 64),
            Need::Default("64"),
            "Largest number of MPDUs: the window of a block ACK.",
        ),
        Field::new(
            "max_bytes",
            Kind::Size(1, 4_692_480),
            Need::Described("65535 B, or the PHY's limit"),
            "Largest size; at most the PHY's limit.",
        ),
        Field::new(
            "max_time",
            Kind::Time(1, 10_000_000),
            Need::Default("5.484 ms"),
            "Longest time on the air (aPPDUMaxTime).",
        ),
    ]],
};

/// A station's signal strength.
pub(crate) static SIGNAL: Table = Table {
    name: "wifi.signals",
    doc: "Signal strength of a station.",
    groups: &[&[
        Field::new("station", Kind::Node, Need::Required, "The station, or the base station."),
        Field::new(
            "signal",
            Kind::Number(-200.0, 200.0),
            Need::Required,
            "Signal strength of its frames at every receiver, in decibels above an arbitrary level.",
        ),
    ]],
};

/// A pair of stations hidden from each other, or one from the other.
pub(crate) static HIDDEN: Table = Table {
    name: "wifi.hidden",
    doc: "Two stations that do not hear each other. The base station hears all, and all hear it.",
    groups: &[&[
        Field::new("between", Kind::Nodes(2, 2), Need::Required, "The two stations."),
        Field::new(
            "one_way",
            Kind::Switch,
            Need::Default("false"),
            "Whether the second station does not hear the first, but the first hears the second.",
        ),
    ]],
};

/// A frame error rate.
pub(crate) static ERRORS: Table = Table {
    name: "wifi.errors",
    doc: "A frame error rate: frames that a station sends, and frames to it.",
    groups: &[&[
        Field::new("station", Kind::Node, Need::Required, "The station."),
        Field::new(
            "rate",
            ANY_RATE,
            Need::Described("all frames, control frames included"),
            "Only frames at this rate: that of data frames or `basic_rate`.",
        ),
        Field::new(
            "fer",
            Kind::Probability,
            Need::Required,
            "Probability that a frame (an MPDU of an A-MPDU) arrives corrupted.",
        ),
    ]],
};
