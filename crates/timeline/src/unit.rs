//! Units of literals and of variables, and values in words.

use crate::dimension::{Dimension, Type};

/// A unit of literals.
#[derive(Debug, PartialEq)]
pub struct Unit {
    /// Its spellings; the first is written.
    pub names: &'static [&'static str],
    /// Its dimension.
    pub dimension: Dimension,
    /// Power of ten from the unit to base units. It is put behind a literal's digits, so that reading rounds once.
    pub power: i32,
    /// Further factor to base units.
    pub factor: f64,
    /// Whether it is the segment size of the flow under test.
    pub segments: bool,
}

impl Unit {
    /// The spelling that is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The unit of this spelling.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        UNITS.iter().find(|unit| unit.names.contains(&name))
    }

    /// Converts a literal's digits to base units; without the segment size, if the unit is one of segments.
    #[must_use]
    pub fn convert(unit: Option<&Self>, digits: &str) -> Option<f64> {
        let digits = digits.replace('_', "");
        let Some(unit) = unit else { return digits.parse().ok() };
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (digits.as_str(), 0),
        };
        let value: f64 = format!("{mantissa}e{}", exponent.checked_add(unit.power)?).parse().ok()?;
        Some(value * unit.factor)
    }
}

const fn unit(names: &'static [&'static str], dimension: Dimension, power: i32, factor: f64) -> Unit {
    Unit { names, dimension, power, factor, segments: false }
}

/// Bits in bytes.
const BIT: f64 = 0.125;

/// The units of literals: those of scenario files, percent, and packets.
pub const UNITS: &[Unit] = &[
    unit(&["ns"], Dimension::TIME, -9, 1.0),
    unit(&["us", "µs", "μs"], Dimension::TIME, -6, 1.0),
    unit(&["ms"], Dimension::TIME, -3, 1.0),
    unit(&["s"], Dimension::TIME, 0, 1.0),
    unit(&["min"], Dimension::TIME, 0, 60.0),
    unit(&["h"], Dimension::TIME, 0, 3600.0),
    unit(&["b/s", "bit/s", "bps"], Dimension::RATE, 0, BIT),
    unit(&["kb/s", "kbit/s", "kbps"], Dimension::RATE, 3, BIT),
    unit(&["Mb/s", "Mbit/s", "Mbps"], Dimension::RATE, 6, BIT),
    unit(&["Gb/s", "Gbit/s", "Gbps"], Dimension::RATE, 9, BIT),
    unit(&["Tb/s", "Tbit/s", "Tbps"], Dimension::RATE, 12, BIT),
    unit(&["B", "byte", "bytes"], Dimension::DATA, 0, 1.0),
    unit(&["kB"], Dimension::DATA, 3, 1.0),
    unit(&["MB"], Dimension::DATA, 6, 1.0),
    unit(&["GB"], Dimension::DATA, 9, 1.0),
    unit(&["TB"], Dimension::DATA, 12, 1.0),
    unit(&["KiB"], Dimension::DATA, 0, 1024.0),
    unit(&["MiB"], Dimension::DATA, 0, 1_048_576.0),
    unit(&["GiB"], Dimension::DATA, 0, 1_073_741_824.0),
    unit(&["%"], Dimension::NUMBER, -2, 1.0),
    Unit { names: &["packets", "packet"], dimension: Dimension::DATA, power: 0, factor: 1.0, segments: true },
];

/// The unit of a variable's raw value: dimension, factor to base units, and whether it is one of segments. A unit that
/// has no meaning here (`rounds`, `ACKs`) makes a plain number.
#[must_use]
pub(crate) fn of_variable(unit: &str) -> (Dimension, f64, bool) {
    match unit {
        "segments" | "packets" | "segment" | "packet" => (Dimension::DATA, 1.0, true),
        "segments/s" | "packets/s" => (Dimension::RATE, 1.0, true),
        "bytes/s" | "B/s" => (Dimension::RATE, 1.0, false),
        "Hz" | "1/s" => (Dimension::FREQUENCY, 1.0, false),
        "%" => (Dimension::NUMBER, 0.01, false),
        _ => Unit::find(unit).map_or((Dimension::NUMBER, 1.0, false), |unit| {
            (unit.dimension, Unit::convert(Some(unit), "1").unwrap_or(unit.factor), false)
        }),
    }
}

/// A value in words, with the unit and the value in it that results carry.
pub(crate) fn show(value: f64, kind: &Type) -> (f64, String, String) {
    let (scaled, unit) = match kind {
        Type::Number(Dimension::TIME) => (value, "s".to_owned()),
        Type::Number(Dimension::DATA) => (value, "bytes".to_owned()),
        Type::Number(Dimension::RATE) => (value / BIT, "bit/s".to_owned()),
        Type::Number(Dimension::FREQUENCY) => (value, "Hz".to_owned()),
        Type::Number(Dimension { data: 0, time: 0 }) | Type::Truth | Type::Word(_) => (value, String::new()),
        Type::Number(Dimension { data, time }) => (value, format!("bytes^{data} s^{time}")),
    };
    let shown = match kind {
        _ if value.is_nan() => "no value".to_owned(),
        Type::Truth => if value > 0.0 { "true" } else { "false" }.to_owned(),
        Type::Word(words) => words.get(value as usize).cloned().unwrap_or_else(|| digits(value)),
        Type::Number(Dimension::TIME) => prefixed(scaled, &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]),
        Type::Number(Dimension::DATA) => {
            prefixed(scaled, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)])
        }
        Type::Number(Dimension::RATE) => {
            prefixed(scaled, &[("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12)])
        }
        Type::Number(_) if unit.is_empty() => digits(scaled),
        Type::Number(_) => format!("{} {unit}", digits(scaled)),
    };
    (scaled, unit, shown)
}

/// In the largest unit that is not larger than the value.
fn prefixed(value: f64, units: &[(&str, f64)]) -> String {
    let size = value.abs();
    let fits = units.iter().rev().find(|(_, factor)| size >= *factor * 0.999_95);
    let zero = units.iter().find(|(_, factor)| *factor >= 1.0);
    let (name, factor) = match if size > 0.0 { fits.or(units.first()) } else { zero } {
        Some((name, factor)) => (*name, *factor),
        None => ("", 1.0),
    };
    format!("{} {name}", digits(value / factor))
}

/// Four significant digits, and all digits of a whole number.
fn digits(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() {
        return if value > 0.0 { "infinity" } else { "-infinity" }.to_owned();
    }
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{value:.3e}");
    }
    let decimals = [(1000.0, 0), (100.0, 1), (10.0, 2), (1.0, 3), (0.1, 4), (0.01, 5), (0.001, 6)]
        .iter()
        .find(|(least, _)| size >= *least)
        .map_or(7, |row| row.1);
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_near_as_floats_are() {
        let read = |digits, name| Unit::convert(Unit::find(name), digits).map(f64::to_bits);
        assert_eq!(read("9.3", "Mb/s"), Some(f64::to_bits(9_300_000.0 / 8.0)));
        assert_eq!(read("200", "ms"), Some(f64::to_bits(0.2)));
        assert_eq!(read("1_000", "ns"), Some(f64::to_bits(1e-6)));
        assert_eq!(read("1e3", "kB"), Some(f64::to_bits(1e6)));
        assert_eq!(read("2", "%"), Some(f64::to_bits(0.02)));
        assert_eq!(read("16", "KiB"), Some(f64::to_bits(16384.0)));
        assert_eq!(Unit::convert(None, "0.5"), Some(0.5));
    }

    #[test]
    fn values_are_shown_in_the_units_of_scenario_files() {
        let show = |value, dimension| super::show(value, &Type::Number(dimension)).2;
        assert_eq!(show(9.31e6 / 8.0, Dimension::RATE), "9.31 Mb/s");
        assert_eq!(show(0.0123, Dimension::TIME), "12.3 ms");
        assert_eq!(show(0.0, Dimension::TIME), "0 s");
        assert_eq!(show(0.1, Dimension::TIME), "100 ms");
        assert_eq!(show(14_480.0, Dimension::DATA), "14.48 kB");
        assert_eq!(show(f64::NAN, Dimension::DATA), "no value");
        assert_eq!(show(0.75, Dimension::NUMBER), "0.75");
        assert_eq!(show(12_345.0, Dimension::NUMBER), "12345");
        assert_eq!(show(2.0, Dimension { data: 2, time: -1 }), "2 bytes^2 s^-1");
        assert_eq!(super::show(1.0, &Type::Truth).2, "true");
        let words = Type::Word(["open".to_owned(), "loss".to_owned()].into());
        assert_eq!(super::show(1.0, &words).2, "loss");
    }

    #[test]
    fn units_of_rows_have_a_dimension_or_are_numbers() {
        assert_eq!(of_variable("bit/s"), (Dimension::RATE, 0.125, false));
        assert_eq!(of_variable("ms"), (Dimension::TIME, 0.001, false));
        assert_eq!(of_variable("bytes"), (Dimension::DATA, 1.0, false));
        assert_eq!(of_variable("segments"), (Dimension::DATA, 1.0, true));
        assert_eq!(of_variable("rounds"), (Dimension::NUMBER, 1.0, false));
    }
}
