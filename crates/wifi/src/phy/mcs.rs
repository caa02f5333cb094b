//! HT and VHT frames by their modulation and coding scheme, MCS (IEEE 802.11-2016, clauses 19 and 21).

use super::{Body, LEGACY_PREAMBLE, Modulation, SERVICE_BITS, SYMBOL, Symbols, TAIL_BITS};
use narrows_units::Duration;

/// How 802.11n and 802.11ac modulate data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    /// Modulation and coding of one stream: 0 to 7 (802.11n), 0 to 9 (802.11ac).
    pub mcs: u32,
    /// Channel width, MHz.
    pub width_mhz: u32,
    /// Spatial streams.
    pub streams: u32,
    /// Guard interval of 400 ns instead of 800 ns.
    pub short_guard: bool,
}

/// Symbol with the short guard interval of 400 ns.
const SHORT_SYMBOL: Duration = Duration::from_nanos(3_600);

/// Coded bits of a subcarrier, and the code rate as a fraction, of MCS 0 to 9 (tables 19-27 and 21-30).
const CODING: [(u64, u64, u64); 10] = [
    (1, 1, 2), // BPSK
    (2, 1, 2), // QPSK
    (2, 3, 4),
    (4, 1, 2), // 16-QAM
    (4, 3, 4),
    (6, 2, 3), // 64-QAM
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4), // 256-QAM
    (8, 5, 6),
];

/// HT-LTFs and VHT-LTFs for 1 to 8 streams (tables 19-13 and 21-13).
const TRAINING: [u64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

/// Combinations (MCS, width, streams) that VHT leaves out (tables 21-30 to 21-61) because their coded bits cannot be
/// divided among the encoders. Those at 20 MHz whose symbol would not hold a whole number of bits are left out too.
const LEFT_OUT: [(u32, u32, u32); 4] = [(6, 80, 3), (6, 80, 7), (9, 80, 6), (9, 160, 3)];

impl Mcs {
    /// HT-mixed format (section 19.4.3); `None` if there is no such combination.
    pub(super) fn ht(self) -> Option<Modulation> {
        // One encoder supports up to 320 Mb/s (tables 19-27 to 19-41).
        let encoders = self.data_bits()?.div_ceil(1_280);
        // HT-SIG, HT-STF and HT-LTFs.
        self.modulation(encoders, SYMBOL * (3 + self.training()?))
    }

    /// VHT, single user (section 21.4.3); `None` if the standard leaves the combination out.
    pub(super) fn vht(self) -> Option<Modulation> {
        if LEFT_OUT.contains(&(self.mcs, self.width_mhz, self.streams)) {
            return None;
        }
        // VHT-SIG-A, VHT-STF, VHT-LTFs and VHT-SIG-B.
        self.modulation(self.vht_encoders()?, SYMBOL * (4 + self.training()?))
    }

    /// Data subcarriers (tables 19-6 and 21-5).
    const fn subcarriers(self) -> Option<u64> {
        Some(match self.width_mhz {
            20 => 52,
            40 => 108,
            80 => 234,
            160 => 468,
            _ => return None,
        })
    }

    /// Coded bits of a symbol (N_CBPS), and the code rate as a fraction.
    fn coded(self) -> Option<(u64, u64, u64)> {
        let &(bits, numerator, denominator) = CODING.get(self.mcs as usize)?;
        Some((self.subcarriers()? * bits * u64::from(self.streams), numerator, denominator))
    }

    /// Data bits of a symbol (N_DBPS); `None` if their number would not be whole.
    fn data_bits(self) -> Option<u64> {
        let (coded, numerator, denominator) = self.coded()?;
        (coded % denominator == 0).then(|| coded / denominator * numerator)
    }

    /// Convolutional encoders of VHT (N_ES): the smallest number with at most 540 Mb/s each, and with whole blocks of
    /// bits for each (sections 21.3.8 and 21.5). This gives the column N_ES of tables 21-30 to 21-61.
    fn vht_encoders(self) -> Option<u64> {
        let (coded, numerator, denominator) = self.coded()?;
        let data = self.data_bits()?;
        (data.div_ceil(2_160)..=12).find(|n| data % (n * numerator) == 0 && coded % (n * denominator) == 0)
    }

    fn training(self) -> Option<u64> {
        let index = usize::try_from(self.streams).ok()?.checked_sub(1)?;
        TRAINING.get(index).copied()
    }

    fn modulation(self, encoders: u64, after_legacy: Duration) -> Option<Modulation> {
        let body = Symbols {
            bits: self.data_bits()?,
            extra_bits: SERVICE_BITS + TAIL_BITS * encoders,
            symbol: if self.short_guard { SHORT_SYMBOL } else { SYMBOL },
            extension: Duration::ZERO,
        };
        Some(Modulation { rate: body.rate(), preamble: LEGACY_PREAMBLE + after_legacy, body: Body::Symbols(body) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Bytes;

    fn combination(mcs: u32, width_mhz: u32, streams: u32, short_guard: bool) -> Mcs {
        Mcs { mcs, width_mhz, streams, short_guard }
    }

    /// Rates in units of 100 kb/s, rounded to the nearest as in the standard.
    fn rates(width: u32, streams: u32, short: bool, of: impl Fn(Mcs) -> Option<Modulation>) -> Vec<u64> {
        let rate =
            |mcs| of(combination(mcs, width, streams, short)).map_or(0, |m| (m.rate().as_bps() + 50_000) / 100_000);
        (0..10).map(rate).collect()
    }

    /// Tables 19-27, 19-31 (HT) and 21-30, 21-38, 21-46, 21-54 (VHT) for one stream; HT has the first eight rates.
    #[test]
    fn one_stream_has_the_rates_of_the_standards_tables() {
        for (width, short, wanted) in [
            (20, false, [65, 130, 195, 260, 390, 520, 585, 650, 780, 0]),
            (20, true, [72, 144, 217, 289, 433, 578, 650, 722, 867, 0]),
            (40, false, [135, 270, 405, 540, 810, 1080, 1215, 1350, 1620, 1800]),
            (40, true, [150, 300, 450, 600, 900, 1200, 1350, 1500, 1800, 2000]),
            (80, false, [293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900]),
            (80, true, [325, 650, 975, 1300, 1950, 2600, 2925, 3250, 3900, 4333]),
            (160, false, [585, 1170, 1755, 2340, 3510, 4680, 5265, 5850, 7020, 7800]),
            (160, true, [650, 1300, 1950, 2600, 3900, 5200, 5850, 6500, 7800, 8667]),
        ] {
            assert_eq!(rates(width, 1, short, Mcs::vht), wanted, "{width} MHz, short {short}");
            if width <= 40 {
                assert_eq!(rates(width, 1, short, Mcs::ht)[..8], wanted[..8], "{width} MHz, short {short}");
            }
        }
    }

    #[test]
    fn the_greatest_rates_are_those_of_the_standards() {
        assert_eq!(combination(7, 40, 4, true).ht().unwrap().rate().as_bps(), 600_000_000);
        assert_eq!(combination(9, 160, 8, true).vht().unwrap().rate().as_bps(), 6_933_333_333);
    }

    #[test]
    fn vht_leaves_out_what_the_standards_tables_leave_out() {
        let mut found = Vec::new();
        for width in [20, 40, 80, 160] {
            for streams in 1..=8 {
                found.extend((0..10).filter_map(|mcs| {
                    combination(mcs, width, streams, false).vht().is_none().then_some((mcs, width, streams))
                }));
            }
        }
        let wanted = [
            (9, 20, 1),
            (9, 20, 2),
            (9, 20, 4),
            (9, 20, 5),
            (9, 20, 7),
            (9, 20, 8),
            (6, 80, 3),
            (9, 80, 6),
            (6, 80, 7),
            (9, 160, 3),
        ];
        assert_eq!(found, wanted);
    }

    /// The rows of tables 21-30 to 21-61 where one encoder per 540 Mb/s (rounded up) would not divide the bits, and
    /// neighbouring rows.
    #[test]
    fn the_number_of_encoders_is_that_of_the_standards_tables() {
        for (mcs, width, streams, encoders) in [
            (8, 20, 8, 2),
            (0, 80, 1, 1),
            (2, 80, 7, 3),
            (7, 80, 7, 6),
            (8, 80, 7, 6),
            (7, 80, 8, 6),
            (7, 160, 4, 6),
            (8, 160, 5, 8),
            (7, 160, 6, 8),
            (3, 160, 7, 4),
            (4, 160, 7, 6),
            (5, 160, 7, 7),
            (7, 160, 7, 9),
            (8, 160, 7, 12),
            (9, 160, 7, 12),
            (9, 160, 8, 12),
        ] {
            assert_eq!(
                combination(mcs, width, streams, false).vht_encoders(),
                Some(encoders),
                "{mcs} {width} {streams}"
            );
        }
    }

    /// Section 19.4.3: 36 us before the first symbol with one stream, and 4 us for each further HT-LTF.
    #[test]
    fn an_ht_frame_has_its_preamble_and_whole_symbols() {
        let us = |m: Modulation, psdu| m.airtime(Bytes::new(psdu)).as_micros();
        let one = combination(7, 20, 1, false).ht().unwrap();
        assert_eq!(us(one, 1538), 16 + 4 + 8 + 4 + 4 + 4 * 48); // 12326 bits in 48 symbols of 260
        let four = combination(7, 40, 4, false).ht().unwrap();
        assert_eq!(us(four, 65_535), 16 + 4 + 8 + 4 + 16 + 4 * 243); // 524280 + 28 bits (two encoders) in 243 of 2160
    }

    #[test]
    fn a_frame_with_the_short_guard_ends_on_the_grid_of_long_symbols() {
        let short = combination(7, 20, 1, true).ht().unwrap();
        // 48 symbols of 3.6 us take 172.8 us, rounded up to 44 symbols of 4 us.
        assert_eq!(short.airtime(Bytes::new(1538)).as_nanos(), 36_000 + 176_000);
    }

    /// Section 21.4.3: 40 us before the first symbol with one stream.
    #[test]
    fn a_vht_frame_has_its_preamble_and_whole_symbols() {
        let us = |m: Modulation, psdu| m.airtime(Bytes::new(psdu)).as_micros();
        let one = combination(8, 20, 1, false).vht().unwrap();
        assert_eq!(us(one, 1542), 16 + 4 + 8 + 4 + 4 + 4 + 4 * 40); // 12358 bits in 40 symbols of 312
        let two = combination(9, 80, 2, false).vht().unwrap();
        assert_eq!(us(two, 100_000), 16 + 4 + 8 + 4 + 8 + 4 + 4 * 257); // 800028 bits (two encoders) in 257 of 3120
    }
}
