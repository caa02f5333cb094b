//! PHYs: how long a frame is on the air, and the constants of each standard.
//!
//! Idea: a frame consists of its preamble and its bits. DSSS sends bits one after the other and ends on a whole
//! microsecond. OFDM fills symbols, and a frame ends at the end of a symbol, even if few bits are left for it. All
//! times are whole nanoseconds, computed in integers.
//!
//! Sources: IEEE 802.11-2016, clauses 15 (DSSS), 16 (HR/DSSS), 17 (OFDM), 18 (ERP), 19 (HT) and 21 (VHT): the TXTIME
//! equations of sections 16.3.4, 17.4.3, 18.5.3.2, 19.4.3 and 21.4.3, and each clause's table of characteristics.
//!
//! Differences: ns-2 does not round a DSSS frame up to the microsecond.
//! ns-3 leaves VHT-SIG-B (4 us) out of single-user frames.
//!
//! Limits: no LDPC, no STBC, no HT-greenfield, no multi-user VHT, no DSSS protection of ERP (a pure 802.11g network),
//! 802.11n in the 5 GHz band only.

mod mcs;
mod registry;

pub use mcs::Mcs;
pub use registry::{Mode, PhyError, PhyRow, modulations, registry};

use narrows_units::{Bytes, Duration, Rate};

/// One way to modulate a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulation {
    rate: Rate,
    preamble: Duration,
    body: Body,
}

/// The part of a frame after the preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// Bits one after the other, ending on a whole microsecond (the PLCP LENGTH field is in microseconds).
    Serial,
    /// OFDM symbols.
    Symbols(Symbols),
}

/// The data part of an OFDM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Symbols {
    /// Data bits of a symbol (N_DBPS).
    bits: u64,
    /// Bits of each frame besides its PSDU: 16 of SERVICE, and 6 tail bits for each encoder.
    extra_bits: u64,
    /// Length of a symbol.
    symbol: Duration,
    /// Silence after the last symbol that belongs to the frame (aSignalExtension of ERP).
    extension: Duration,
}

/// SERVICE bits of an OFDM frame (section 17.3.5.2).
const SERVICE_BITS: u64 = 16;
/// Tail bits of each convolutional encoder (section 17.3.5.3).
const TAIL_BITS: u64 = 6;
/// OFDM's symbol with the guard interval of 800 ns; frames with the short one also end on this grid (section 19.4.3).
const SYMBOL: Duration = Duration::from_micros(4);
/// L-STF, L-LTF and (L-)SIG, which begin all OFDM frames (section 17.3.2).
const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);

impl Modulation {
    /// DSSS and HR/DSSS (IEEE 802.11-2016, clauses 15 and 16): long preamble and header of 144 + 48 bits at 1 Mb/s, or
    /// short ones of 72 bits at 1 Mb/s and 48 bits at 2 Mb/s.
    #[must_use]
    pub const fn dsss(rate: Rate, short_preamble: bool) -> Self {
        Self::serial(rate, Duration::from_micros(if short_preamble { 96 } else { 192 }))
    }

    /// A preamble of any length, then bits one after the other, ending on a whole microsecond: for the PHYs of models
    /// and of other simulators.
    #[must_use]
    pub const fn serial(rate: Rate, preamble: Duration) -> Self {
        Self { rate, preamble, body: Body::Serial }
    }

    /// OFDM in 20 MHz (clauses 17 and 18) at 6, 9, 12, 18, 24, 36, 48 or 54 Mb/s; `extension` is 6 us for ERP.
    const fn ofdm(rate: Rate, extension: Duration) -> Self {
        let bits = rate.as_bps() / 250_000; // of a symbol of 4 us
        let body = Symbols { bits, extra_bits: SERVICE_BITS + TAIL_BITS, symbol: SYMBOL, extension };
        Self { rate, preamble: LEGACY_PREAMBLE, body: Body::Symbols(body) }
    }

    /// Airtime of a frame with a PSDU of this size: TXTIME, with the preamble (and ERP's signal extension).
    #[must_use]
    pub fn airtime(&self, psdu: Bytes) -> Duration {
        let bits = 8 * psdu.as_u64();
        self.preamble
            + match self.body {
                Body::Serial if self.rate.is_zero() => Duration::MAX,
                Body::Serial => Duration::from_micros((bits * 1_000_000).div_ceil(self.rate.as_bps())),
                Body::Symbols(body) => body.time(bits),
            }
    }

    /// Rate of the data part, rounded down to a bit per second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Preamble and PHY header: aRxPHYStartDelay (aPHY-RX-START-Delay), after which a receiver knows that a frame has
    /// begun.
    #[must_use]
    pub const fn preamble(&self) -> Duration {
        self.preamble
    }
}

impl Symbols {
    /// Time from the end of the preamble to the end of the frame.
    fn time(&self, psdu_bits: u64) -> Duration {
        let symbols = (psdu_bits + self.extra_bits).div_ceil(self.bits);
        let nanos = (self.symbol * symbols).as_nanos().next_multiple_of(SYMBOL.as_nanos());
        Duration::from_nanos(nanos) + self.extension
    }

    /// Bits per second of an endless frame, rounded down.
    const fn rate(&self) -> Rate {
        Rate::bps(self.bits * 1_000_000_000 / self.symbol.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn micros(modulation: &Modulation, psdu: u64) -> f64 {
        modulation.airtime(Bytes::new(psdu)).as_nanos() as f64 / 1e3
    }

    fn ofdm(mbps: u64) -> Modulation {
        Modulation::ofdm(Rate::mbps(mbps), Duration::ZERO)
    }

    #[test]
    #[allow(clippy::float_cmp)] // whole microseconds
    fn dsss_ends_on_a_whole_microsecond() {
        let long = Modulation::dsss(Rate::mbps(11), false);
        assert_eq!(micros(&long, 1528), 192.0 + 1112.0); // 12224 bits: 1111.27 us
        assert_eq!(micros(&Modulation::dsss(Rate::mbps(11), true), 1528), 96.0 + 1112.0);
        assert_eq!(micros(&Modulation::dsss(Rate::kbps(5_500), false), 1528), 192.0 + 2223.0); // 2222.55 us
        assert_eq!(micros(&Modulation::dsss(Rate::mbps(2), false), 1528), 192.0 + 6112.0);
        assert_eq!(micros(&Modulation::dsss(Rate::mbps(1), false), 14), 192.0 + 112.0); // an ACK
    }

    /// Annex I.1: 100 bytes at 36 Mb/s fill six symbols of 144 bits.
    #[test]
    #[allow(clippy::float_cmp)]
    fn the_standards_example_of_an_ofdm_frame_has_six_symbols() {
        assert_eq!(micros(&ofdm(36), 100), 16.0 + 4.0 + 6.0 * 4.0);
    }

    /// TXTIME = 16 + 4 + 4 * ceil((16 + 8 * LENGTH + 6) / N_DBPS), section 17.4.3.
    #[test]
    #[allow(clippy::float_cmp)]
    fn ofdm_fills_whole_symbols() {
        for (rate, ack, data) in [
            (6, 44.0, 2072.0), // 134 bits in 6 symbols of 24; 12310 in 513
            (9, 36.0, 1388.0),
            (12, 32.0, 1048.0),
            (18, 28.0, 704.0),
            (24, 28.0, 536.0),
            (36, 24.0, 364.0),
            (48, 24.0, 280.0),
            (54, 24.0, 248.0), // 134 bits in one symbol of 216; 12310 in 57
        ] {
            assert_eq!((micros(&ofdm(rate), 14), micros(&ofdm(rate), 1536)), (ack, data), "{rate} Mb/s");
        }
    }

    #[test]
    #[allow(clippy::float_cmp)]
    fn erp_adds_its_signal_extension() {
        let erp = Modulation::ofdm(Rate::mbps(54), Duration::from_micros(6));
        assert_eq!(micros(&erp, 1536), 248.0 + 6.0);
    }

    #[test]
    fn a_rate_of_zero_never_ends() {
        assert_eq!(Modulation::dsss(Rate::ZERO, false).airtime(Bytes::new(1)), Duration::MAX);
    }

    proptest! {
        #[test]
        fn a_longer_frame_never_takes_less_time(psdu in 0_u64..70_000, more in 0_u64..100, rate in 0_usize..8) {
            let modulation = ofdm([6, 9, 12, 18, 24, 36, 48, 54][rate]);
            prop_assert!(modulation.airtime(Bytes::new(psdu + more)) >= modulation.airtime(Bytes::new(psdu)));
            // A frame takes less than one symbol more than its bits need.
            let least = (8 * psdu + 22) * 1_000 / (modulation.rate().as_bps() / 1_000_000);
            let body = (modulation.airtime(Bytes::new(psdu)) - LEGACY_PREAMBLE).as_nanos();
            prop_assert!(body >= least && body < least + 4_000);
        }
    }
}
