//! The PHY presets: one row for each standard.

use super::Modulation;
use super::mcs::Mcs;
use narrows_units::{Bytes, Duration, Rate};

/// A preset: one standard's constants, and the settings that its channels allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhyRow {
    /// Name in scenario files.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Clauses of the standard.
    pub sources: &'static [&'static str],
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// aCWmin, slots.
    pub cw_min: u32,
    /// aCWmax, slots.
    pub cw_max: u32,
    /// Rates of data frames, in rising order; empty if `max_mcs` gives them.
    pub rates: &'static [Rate],
    /// Rates of control frames, in rising order: the mandatory ones.
    pub basic_rates: &'static [Rate],
    /// Default rate of control frames: the lowest, which can answer data of any rate (section 10.7.6.5.2).
    pub basic_rate: Rate,
    /// Greatest MCS of one stream; `None` if `rates` gives the rates.
    pub max_mcs: Option<u32>,
    /// Channel widths, MHz.
    pub widths_mhz: &'static [u32],
    /// Most spatial streams.
    pub max_streams: u32,
    /// Whether there is a short preamble.
    pub short_preamble: bool,
    /// Most bytes of an A-MPDU; `None` if there is no aggregation.
    pub max_ampdu: Option<Bytes>,
    family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Dsss,
    Ofdm,
    Erp,
    Ht,
    Vht,
}

const DSSS_RATES: &[Rate] = &[Rate::mbps(1), Rate::mbps(2)];
const HR_RATES: &[Rate] = &[Rate::mbps(1), Rate::mbps(2), Rate::kbps(5_500), Rate::mbps(11)];
const OFDM_RATES: &[Rate] = &[
    Rate::mbps(6),
    Rate::mbps(9),
    Rate::mbps(12),
    Rate::mbps(18),
    Rate::mbps(24),
    Rate::mbps(36),
    Rate::mbps(48),
    Rate::mbps(54),
];
const OFDM_BASIC_RATES: &[Rate] = &[Rate::mbps(6), Rate::mbps(12), Rate::mbps(24)];

/// aSignalExtension of ERP-OFDM (table 18-5).
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);

/// Fields that the rows of OFDM in the 5 GHz band share (table 17-21).
const OFDM: PhyRow = PhyRow {
    name: "802.11a",
    title: "OFDM at 5 GHz, 6 to 54 Mb/s",
    sources: &["IEEE 802.11-2016, clause 17"],
    slot: Duration::from_micros(9),
    sifs: Duration::from_micros(16),
    cw_min: 15,
    cw_max: 1023,
    rates: OFDM_RATES,
    basic_rates: OFDM_BASIC_RATES,
    basic_rate: Rate::mbps(6),
    max_mcs: None,
    widths_mhz: &[20],
    max_streams: 1,
    short_preamble: false,
    max_ampdu: None,
    family: Family::Ofdm,
};

/// Fields that the rows of DSSS share (tables 15-5 and 16-4).
const DSSS: PhyRow = PhyRow {
    name: "802.11",
    title: "DSSS at 2.4 GHz, 1 and 2 Mb/s",
    sources: &["IEEE 802.11-2016, clause 15"],
    slot: Duration::from_micros(20),
    sifs: Duration::from_micros(10),
    cw_min: 31,
    cw_max: 1023,
    rates: DSSS_RATES,
    basic_rates: DSSS_RATES,
    basic_rate: Rate::mbps(1),
    max_mcs: None,
    widths_mhz: &[22],
    max_streams: 1,
    short_preamble: false,
    max_ampdu: None,
    family: Family::Dsss,
};

const ROWS: &[PhyRow] = &[
    DSSS,
    PhyRow {
        name: "802.11b",
        title: "HR/DSSS at 2.4 GHz, 1 to 11 Mb/s",
        sources: &["IEEE 802.11-2016, clause 16"],
        rates: HR_RATES,
        basic_rates: HR_RATES,
        short_preamble: true,
        ..DSSS
    },
    OFDM,
    PhyRow {
        name: "802.11g",
        title: "ERP-OFDM at 2.4 GHz without 802.11b stations, 6 to 54 Mb/s",
        sources: &["IEEE 802.11-2016, clause 18 (short slot, signal extension of 6 us)"],
        sifs: Duration::from_micros(10),
        family: Family::Erp,
        ..OFDM
    },
    PhyRow {
        name: "802.11n",
        title: "HT (mixed format) at 5 GHz, 6.5 to 600 Mb/s",
        sources: &["IEEE 802.11-2016, clause 19", "IEEE 802.11-2016, section 9.4.2.56.3 (A-MPDU parameters)"],
        rates: &[],
        max_mcs: Some(7),
        widths_mhz: &[20, 40],
        max_streams: 4,
        max_ampdu: Some(Bytes::new(65_535)),
        family: Family::Ht,
        ..OFDM
    },
    PhyRow {
        name: "802.11ac",
        title: "VHT at 5 GHz, 6.5 Mb/s to 6.93 Gb/s",
        sources: &["IEEE 802.11-2016, clause 21", "IEEE 802.11-2016, section 9.4.2.158.2 (A-MPDU length)"],
        rates: &[],
        max_mcs: Some(9),
        widths_mhz: &[20, 40, 80, 160],
        max_streams: 8,
        max_ampdu: Some(Bytes::new(1_048_575)),
        family: Family::Vht,
        ..OFDM
    },
];

/// Every preset.
#[must_use]
pub const fn registry() -> &'static [PhyRow] {
    ROWS
}

/// How data frames are modulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the rate: 802.11, 802.11b, 802.11a, 802.11g.
    Rate(Rate),
    /// By the MCS: 802.11n, 802.11ac.
    Mcs(Mcs),
}

/// Why a preset has no such modulation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhyError {
    /// No preset of this name.
    #[error("{name} is no 802.11 PHY; there are {allowed}")]
    Unknown {
        /// What was given.
        name: String,
        /// Names of all.
        allowed: String,
    },
    /// A rate for a preset that takes an MCS.
    #[error("{phy} takes an MCS (0 to {max_mcs}), channel width and streams, not a rate")]
    WantsMcs {
        /// The preset.
        phy: &'static str,
        /// Its greatest MCS.
        max_mcs: u32,
    },
    /// An MCS for a preset that takes a rate.
    #[error("{phy} takes a rate ({allowed}), not an MCS")]
    WantsRate {
        /// The preset.
        phy: &'static str,
        /// Its rates.
        allowed: String,
    },
    /// A value that the preset does not have.
    #[error("{phy} has no {what} of {value}; allowed: {allowed}")]
    Value {
        /// The preset.
        phy: &'static str,
        /// What kind of value it is.
        what: &'static str,
        /// What was given.
        value: String,
        /// Allowed values.
        allowed: String,
    },
    /// Values that the preset has, but not in this combination.
    #[error(
        "{phy} has no MCS {mcs} with {streams} streams in {width_mhz} MHz (the standard leaves it out); allowed there: MCS {allowed}"
    )]
    LeftOut {
        /// The preset.
        phy: &'static str,
        /// Modulation and coding.
        mcs: u32,
        /// Channel width, MHz.
        width_mhz: u32,
        /// Spatial streams.
        streams: u32,
        /// Every MCS with this width and these streams.
        allowed: String,
    },
    /// A short preamble for a preset that has none.
    #[error("{phy} has no short preamble; allowed: long")]
    ShortPreamble {
        /// The preset.
        phy: &'static str,
    },
}

/// The modulations of data and control frames (RTS, CTS, ACK, block ACK) of a channel with this preset.
///
/// Frames at 1 Mb/s always have the long preamble, regardless of `short_preamble` (section 16.2.2.3).
///
/// # Errors
/// If the preset has no such mode, basic rate or preamble; the error lists the allowed values.
pub fn modulations(
    name: &str,
    mode: Mode,
    basic_rate: Rate,
    short_preamble: bool,
) -> Result<(Modulation, Modulation), PhyError> {
    let row = ROWS
        .iter()
        .find(|row| row.name == name)
        .ok_or_else(|| PhyError::Unknown { name: name.to_owned(), allowed: list(ROWS.iter().map(|row| row.name)) })?;
    row.modulations(mode, basic_rate, short_preamble)
}

impl PhyRow {
    /// The modulations of data and control frames; see [`modulations`].
    ///
    /// # Errors
    /// If there is no such mode, basic rate or preamble.
    pub fn modulations(
        &self,
        mode: Mode,
        basic_rate: Rate,
        short_preamble: bool,
    ) -> Result<(Modulation, Modulation), PhyError> {
        if short_preamble && !self.short_preamble {
            return Err(PhyError::ShortPreamble { phy: self.name });
        }
        let data = match (mode, self.max_mcs) {
            (Mode::Rate(rate), None) => {
                self.check("rate", rate, self.rates)?;
                self.by_rate(rate, short_preamble)
            }
            (Mode::Mcs(mcs), Some(max_mcs)) => self.by_mcs(mcs, max_mcs)?,
            (Mode::Rate(_), Some(max_mcs)) => return Err(PhyError::WantsMcs { phy: self.name, max_mcs }),
            (Mode::Mcs(_), None) => {
                return Err(PhyError::WantsRate { phy: self.name, allowed: list(self.rates) });
            }
        };
        self.check("basic rate", basic_rate, self.basic_rates)?;
        Ok((data, self.by_rate(basic_rate, short_preamble)))
    }

    /// The modulation of control frames at the lowest mandatory rate, which EIFS is computed with; DSSS with its long
    /// preamble.
    #[must_use]
    pub fn slowest(&self) -> Option<Modulation> {
        self.basic_rates.iter().min().map(|rate| self.by_rate(*rate, false))
    }

    /// Every combination that the standard has, ordered by width, streams, MCS and guard interval.
    pub fn combinations(&self) -> impl Iterator<Item = (Mcs, Modulation)> {
        let indices = self.max_mcs.map_or(0..0, |max_mcs| 0..max_mcs + 1);
        let one = move |width_mhz, streams, mcs, short_guard| {
            let combination = Mcs { mcs, width_mhz, streams, short_guard };
            Some((combination, self.build(combination)?))
        };
        self.widths_mhz.iter().flat_map(move |&width| {
            let indices = indices.clone();
            (1..=self.max_streams).flat_map(move |streams| {
                indices.clone().flat_map(move |mcs| {
                    [false, true].into_iter().filter_map(move |short| one(width, streams, mcs, short))
                })
            })
        })
    }

    fn build(&self, combination: Mcs) -> Option<Modulation> {
        if self.family == Family::Vht { combination.vht() } else { combination.ht() }
    }

    fn by_rate(&self, rate: Rate, short_preamble: bool) -> Modulation {
        match self.family {
            Family::Dsss => Modulation::dsss(rate, short_preamble && rate > Rate::mbps(1)),
            Family::Erp => Modulation::ofdm(rate, SIGNAL_EXTENSION),
            // Control frames of HT and VHT are in the format that all OFDM stations can read.
            Family::Ofdm | Family::Ht | Family::Vht => Modulation::ofdm(rate, Duration::ZERO),
        }
    }

    fn by_mcs(&self, wanted: Mcs, max_mcs: u32) -> Result<Modulation, PhyError> {
        let Mcs { mcs, width_mhz, streams, .. } = wanted;
        let no = |what, value: String, allowed| PhyError::Value { phy: self.name, what, value, allowed };
        if mcs > max_mcs {
            return Err(no("MCS", mcs.to_string(), format!("0 to {max_mcs}")));
        }
        if !self.widths_mhz.contains(&width_mhz) {
            let allowed = list(self.widths_mhz.iter().map(|width| format!("{width} MHz")));
            return Err(no("channel width", format!("{width_mhz} MHz"), allowed));
        }
        if streams == 0 || streams > self.max_streams {
            return Err(no("number of streams", streams.to_string(), format!("1 to {}", self.max_streams)));
        }
        self.build(wanted).ok_or_else(|| {
            let there = (0..=max_mcs).filter(|&mcs| self.build(Mcs { mcs, ..wanted }).is_some());
            PhyError::LeftOut { phy: self.name, mcs, width_mhz, streams, allowed: list(there) }
        })
    }

    fn check(&self, what: &'static str, rate: Rate, allowed: &[Rate]) -> Result<(), PhyError> {
        if allowed.contains(&rate) {
            return Ok(());
        }
        Err(PhyError::Value { phy: self.name, what, value: rate.to_string(), allowed: list(allowed) })
    }
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::frame::ACK_LEN;

    fn mcs(mcs: u32, width_mhz: u32, streams: u32) -> Mode {
        Mode::Mcs(Mcs { mcs, width_mhz, streams, short_guard: false })
    }

    fn refusal(name: &str, mode: Mode, basic: Rate, short: bool) -> String {
        modulations(name, mode, basic, short).unwrap_err().to_string()
    }

    /// DIFS, a data frame with a packet of 1500 bytes (and 24 of MAC header, 8 of LLC and SNAP, 4 of FCS), SIFS and its
    /// ACK: for example 50 + (192 + 12288 / 11) + 10 + (192 + 112) us for 802.11b at 11 Mb/s.
    #[test]
    fn an_exchange_takes_what_the_standards_arithmetic_says() {
        let six = Rate::mbps(6);
        for (name, mode, basic, short, wanted) in [
            ("802.11", Mode::Rate(Rate::mbps(1)), Rate::mbps(1), false, 50 + (192 + 12_288) + 10 + (192 + 112)),
            ("802.11", Mode::Rate(Rate::mbps(2)), Rate::mbps(1), false, 50 + (192 + 6_144) + 10 + (192 + 112)),
            ("802.11b", Mode::Rate(Rate::kbps(5_500)), Rate::mbps(1), false, 50 + (192 + 2_235) + 10 + (192 + 112)),
            ("802.11b", Mode::Rate(Rate::mbps(11)), Rate::mbps(1), false, 50 + (192 + 1_118) + 10 + (192 + 112)),
            ("802.11b", Mode::Rate(Rate::mbps(11)), Rate::mbps(2), true, 50 + (96 + 1_118) + 10 + (96 + 56)),
            ("802.11b", Mode::Rate(Rate::mbps(11)), Rate::mbps(1), true, 50 + (96 + 1_118) + 10 + (192 + 112)),
            ("802.11a", Mode::Rate(Rate::mbps(54)), six, false, 34 + (20 + 4 * 57) + 16 + (20 + 4 * 6)),
            ("802.11a", Mode::Rate(six), six, false, 34 + (20 + 4 * 513) + 16 + (20 + 4 * 6)),
            ("802.11g", Mode::Rate(Rate::mbps(54)), six, false, 28 + (20 + 4 * 57 + 6) + 10 + (20 + 4 * 6 + 6)),
            ("802.11g", Mode::Rate(six), Rate::mbps(24), false, 28 + (20 + 4 * 513 + 6) + 10 + (20 + 4 * 2 + 6)),
            ("802.11n", mcs(7, 20, 1), six, false, 34 + (36 + 4 * 48) + 16 + (20 + 4 * 6)),
            ("802.11n", mcs(7, 40, 4), Rate::mbps(24), false, 34 + (48 + 4 * 6) + 16 + (20 + 4 * 2)),
            ("802.11ac", mcs(8, 20, 1), six, false, 34 + (40 + 4 * 40) + 16 + (20 + 4 * 6)),
            ("802.11ac", mcs(9, 80, 2), Rate::mbps(24), false, 34 + (44 + 4 * 4) + 16 + (20 + 4 * 2)),
        ] {
            let row = registry().iter().find(|row| row.name == name).unwrap();
            let (data, control) = row.modulations(mode, basic, short).unwrap();
            let difs = row.sifs + row.slot + row.slot;
            let exchange = difs + data.airtime(Bytes::new(1536)) + row.sifs + control.airtime(ACK_LEN);
            assert_eq!(exchange, Duration::from_micros(wanted), "{name} {mode:?} {basic} short {short}");
        }
    }

    #[test]
    fn every_row_takes_its_own_rates_and_default() {
        for row in registry() {
            let mode = match (row.rates.last(), row.max_mcs) {
                (Some(&rate), None) => Mode::Rate(rate),
                (None, Some(_)) => mcs(0, row.widths_mhz[0], row.max_streams),
                _ => panic!("{} goes by rates and by MCS", row.name),
            };
            let (_, control) = row.modulations(mode, row.basic_rate, row.short_preamble).unwrap();
            assert_eq!(control.rate(), row.basic_rate);
            for &rate in row.rates {
                assert_eq!(row.modulations(Mode::Rate(rate), row.basic_rate, false).unwrap().0.rate(), rate);
            }
            for list in [row.rates, row.basic_rates] {
                assert!(list.is_sorted(), "{}", row.name);
            }
            // Both are 2^k - 1, so that the contention window doubles from one to the other.
            assert!((row.cw_min + 1).is_power_of_two() && (row.cw_max + 1).is_power_of_two());
            assert!(!row.title.is_empty() && !row.sources.is_empty());
        }
    }

    #[test]
    fn what_a_preset_does_not_have_is_refused_with_what_it_has() {
        let (one, six) = (Rate::mbps(1), Rate::mbps(6));
        let all = "802.11, 802.11b, 802.11a, 802.11g, 802.11n, 802.11ac";
        assert_eq!(
            refusal("802.11z", Mode::Rate(one), one, false),
            format!("802.11z is no 802.11 PHY; there are {all}")
        );
        let wrong = refusal("802.11b", Mode::Rate(six), one, false);
        assert_eq!(wrong, "802.11b has no rate of 6 Mb/s; allowed: 1 Mb/s, 2 Mb/s, 5.5 Mb/s, 11 Mb/s");
        let wrong = refusal("802.11g", Mode::Rate(six), Rate::mbps(54), false);
        assert_eq!(wrong, "802.11g has no basic rate of 54 Mb/s; allowed: 6 Mb/s, 12 Mb/s, 24 Mb/s");
        assert_eq!(refusal("802.11a", Mode::Rate(six), six, true), "802.11a has no short preamble; allowed: long");
        assert!(refusal("802.11n", Mode::Rate(six), six, false).contains("takes an MCS (0 to 7)"));
        assert!(refusal("802.11a", mcs(1, 20, 1), six, false).contains("takes a rate (6 Mb/s, 9 Mb/s"));
        assert_eq!(refusal("802.11n", mcs(8, 20, 1), six, false), "802.11n has no MCS of 8; allowed: 0 to 7");
        let wrong = refusal("802.11n", mcs(7, 80, 1), six, false);
        assert_eq!(wrong, "802.11n has no channel width of 80 MHz; allowed: 20 MHz, 40 MHz");
        assert_eq!(
            refusal("802.11ac", mcs(7, 80, 9), six, false),
            "802.11ac has no number of streams of 9; allowed: 1 to 8"
        );
        assert_eq!(
            refusal("802.11n", mcs(7, 20, 0), six, false),
            "802.11n has no number of streams of 0; allowed: 1 to 4"
        );
        let wrong = refusal("802.11ac", mcs(9, 20, 1), six, false);
        assert!(wrong.ends_with("allowed there: MCS 0, 1, 2, 3, 4, 5, 6, 7, 8"), "{wrong}");
    }
}
