//! PHYs: how long a frame is on the air, and the constants of each standard.

use narrows_units::{Bytes, Duration, Rate};

/// One way to modulate a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modulation {
    rate: Rate,
    preamble: Duration,
}

impl Modulation {
    /// DSSS and HR/DSSS (IEEE 802.11-2016, clauses 15 and 16): long preamble and header of 144 + 48 bits at 1 Mb/s, or short ones
    /// of 72 bits at 1 Mb/s and 48 bits at 2 Mb/s.
    #[must_use]
    pub const fn dsss(rate: Rate, short_preamble: bool) -> Self {
        Self { rate, preamble: Duration::from_micros(if short_preamble { 96 } else { 192 }) }
    }

    /// Time on the air of a PSDU of this size, preamble included.
    #[must_use]
    pub fn airtime(&self, psdu: Bytes) -> Duration {
        self.preamble + self.rate.time_for(psdu)
    }

    /// Rate of the data part.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Preamble and PLCP header: aPHY-RX-START-Delay, after which a receiver knows that a frame has begun.
    #[must_use]
    pub const fn preamble(&self) -> Duration {
        self.preamble
    }
}

/// A preset: one standard's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhyRow {
    /// The word in scenario files.
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
}

/// Every preset.
#[must_use]
pub const fn registry() -> &'static [PhyRow] {
    &[]
}
