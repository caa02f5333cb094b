//! Quantities in text: a number and a unit, read and shown without rounding through floats.

use crate::types::Limit;
pub(crate) use narrows_settings::queue::Amount;
use narrows_timeline::Lapse;
use narrows_units::{Bytes, Duration, Packets, Rate};

/// A unit: its spellings, the first of which is shown, and its size in base units.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) names: &'static [&'static str],
    pub(crate) size: u64,
}

const fn unit(names: &'static [&'static str], size: u64) -> Unit {
    Unit { names, size }
}

/// Times, in nanoseconds.
pub(crate) const TIME: &[Unit] = &[
    unit(&["ns"], 1),
    unit(&["us", "µs", "μs"], 1_000),
    unit(&["ms"], 1_000_000),
    unit(&["s"], 1_000_000_000),
    unit(&["min"], 60_000_000_000),
    unit(&["h"], 3_600_000_000_000),
];

/// Rates, in bits per second.
pub(crate) const RATE: &[Unit] = &[
    unit(&["b/s", "bit/s", "bps"], 1),
    unit(&["kb/s", "kbit/s", "kbps"], 1_000),
    unit(&["Mb/s", "Mbit/s", "Mbps"], 1_000_000),
    unit(&["Gb/s", "Gbit/s", "Gbps"], 1_000_000_000),
    unit(&["Tb/s", "Tbit/s", "Tbps"], 1_000_000_000_000),
];

/// Amounts of data, in bytes.
pub(crate) const SIZE: &[Unit] = &[
    unit(&["B", "byte", "bytes"], 1),
    unit(&["kB"], 1_000),
    unit(&["MB"], 1_000_000),
    unit(&["GB"], 1_000_000_000),
    unit(&["TB"], 1_000_000_000_000),
    unit(&["KiB"], 1 << 10),
    unit(&["MiB"], 1 << 20),
    unit(&["GiB"], 1 << 30),
];

/// Numbers of packets.
pub(crate) const PACKETS: &[Unit] = &[unit(&["packets", "packet"], 1)];

/// Numbers of round trips.
pub(crate) const ROUNDS: &[Unit] = &[unit(&["rounds", "round"], 1)];

/// A share of a rate, in percent.
pub(crate) const SHARE: &[Unit] = &[unit(&["%"], 1)];

/// Round-trip times of a path.
pub(crate) const RTTS: &[Unit] = &[unit(&["rtt"], 1)];

/// Bandwidth-delay products of a path.
pub(crate) const BDPS: &[Unit] = &[unit(&["bdp"], 1)];

/// A multiple of a quantity of the network: its number, in the unit that the field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaled(pub(crate) f64);

/// Largest multiple.
const MOST_SCALED: f64 = 1e6;

/// Reads a number in one of these units, if the text has one of them.
pub(crate) fn scaled(text: &str, units: &'static [Unit]) -> Option<Result<Scaled, Flaw>> {
    let (number, digits, name) = split(text).ok()?;
    find(units, name)?;
    let value = digits.replace('_', "").parse::<f64>().map_err(|_| Flaw::NoNumber);
    Some(match value {
        _ if number.negative && number.digits > 0 => Err(Flaw::Negative),
        Ok(value) if value.abs() > MOST_SCALED => Err(Flaw::TooLarge),
        value => value.map(|value| Scaled(value.abs())),
    })
}

/// Lists the units' names for a message: `ns, us, ms, s, min or h`.
pub(crate) fn unit_names(units: &[Unit]) -> String {
    let names: Vec<&str> = units.iter().filter_map(|unit| unit.names.first().copied()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Why a text is not a valid quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The text does not begin with a number.
    NoNumber,
    /// The number has no unit.
    NoUnit,
    /// The unit is not one of those allowed.
    WrongUnit,
    /// The number is below zero.
    Negative,
    /// The number has too many digits, or its value does not fit.
    TooLarge,
    /// The number is a fraction, but the quantity must be whole.
    Fraction,
}

impl Flaw {
    /// Returns the flaw as the verb of a sentence.
    pub(crate) fn reason(self, noun: &str) -> String {
        match self {
            Self::NoNumber | Self::WrongUnit => format!("is not {noun}"),
            Self::NoUnit => "has no unit".to_owned(),
            Self::Negative => "is negative".to_owned(),
            Self::TooLarge => "is too large".to_owned(),
            Self::Fraction => "is not a whole number".to_owned(),
        }
    }
}

/// A decimal number as it was written: `digits * 10^exponent`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// Most digits of a number, without leading zeros. A `u128` holds them; later products are checked.
const MAX_DIGITS: usize = 27;

/// Splits `10 Mb/s` into its number (parsed, and as text) and its unit.
fn split(text: &str) -> Result<(Decimal, &str, &str), Flaw> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut at = 0;
    let negative = bytes.first() == Some(&b'-');
    if matches!(bytes.first(), Some(b'+' | b'-')) {
        at = 1;
    }
    let (mut digits, mut exponent, mut count, mut any, mut fraction) = (0_u128, 0_i32, 0_usize, false, false);
    while let Some(&c) = bytes.get(at) {
        match c {
            b'0'..=b'9' => {
                any = true;
                count += usize::from(digits > 0 || c != b'0');
                if count > MAX_DIGITS {
                    return Err(Flaw::TooLarge);
                }
                digits = digits * 10 + u128::from(c - b'0');
                exponent -= i32::from(fraction);
                if exponent < -100 {
                    return Err(Flaw::TooLarge);
                }
            }
            b'.' if !fraction && any => fraction = true,
            b'_' if any => {}
            _ => break,
        }
        at += 1;
    }
    if !any {
        return Err(Flaw::NoNumber);
    }
    if let Some((power, length)) = power(&bytes[at..]) {
        exponent = exponent.saturating_add(power);
        at += length;
    }
    Ok((Decimal { negative, digits, exponent }, &text[..at], text[at..].trim_start()))
}

/// Reads an exponent (`e3`, `E-6`): the power and its length in bytes.
fn power(bytes: &[u8]) -> Option<(i32, usize)> {
    if !matches!(bytes.first(), Some(b'e' | b'E')) {
        return None;
    }
    let signed = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    let length = bytes[1 + signed..].iter().take_while(|c| c.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let size = bytes[1 + signed..1 + signed + length]
        .iter()
        .fold(0_i32, |n, c| n.saturating_mul(10).saturating_add(i32::from(c - b'0')));
    let sign = if bytes.get(1) == Some(&b'-') { -1 } else { 1 };
    Some((size.saturating_mul(sign), 1 + signed + length))
}

impl Decimal {
    /// Converts to base units, rounded to the nearest (half up), and returns whether the result is exact.
    fn times(self, size: u64) -> Result<(u64, bool), Flaw> {
        if self.negative && self.digits > 0 {
            return Err(Flaw::Negative);
        }
        let whole = self.digits.checked_mul(u128::from(size)).ok_or(Flaw::TooLarge)?;
        if whole == 0 {
            return Ok((0, true));
        }
        let scale = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let (value, exact) = match (self.exponent >= 0, scale) {
            (true, scale) => (scale.and_then(|s| whole.checked_mul(s)).ok_or(Flaw::TooLarge)?, true),
            (false, Some(scale)) => {
                (whole / scale + u128::from(whole % scale >= scale - scale / 2), whole % scale == 0)
            }
            (false, None) => (0, false),
        };
        Ok((u64::try_from(value).map_err(|_| Flaw::TooLarge)?, exact))
    }
}

fn find(units: &'static [Unit], name: &str) -> Option<&'static Unit> {
    units.iter().find(|unit| unit.names.contains(&name))
}

fn read(text: &str, units: &'static [Unit]) -> Result<(u64, bool), Flaw> {
    let (number, _, name) = split(text)?;
    if name.is_empty() {
        return Err(Flaw::NoUnit);
    }
    number.times(find(units, name).ok_or(Flaw::WrongUnit)?.size)
}

/// Splits `10 Mb/s` into the text of its number and its unit; `None` if either is missing or wrong.
pub(crate) fn parts(text: &str) -> Option<(&str, &str)> {
    let (number, digits, unit) = split(text).ok()?;
    (!number.negative && !unit.is_empty()).then_some((digits, unit))
}

/// Whether a text is a whole number of base units above zero, in one of these units.
pub(crate) fn fits(text: &str, units: &'static [Unit]) -> bool {
    read(text, units).is_ok_and(|(n, exact)| n > 0 && exact)
}

/// Reads a length of time, to the nanosecond.
pub(crate) fn time(text: &str) -> Result<Duration, Flaw> {
    read(text, TIME).map(|(n, _)| Duration::from_nanos(n))
}

/// Reads a rate, to the bit per second.
pub(crate) fn rate(text: &str) -> Result<Rate, Flaw> {
    read(text, RATE).map(|(n, _)| Rate::bps(n))
}

/// Reads a whole number of bytes.
pub(crate) fn size(text: &str) -> Result<Bytes, Flaw> {
    let (n, exact) = read(text, SIZE)?;
    if exact { Ok(Bytes::new(n)) } else { Err(Flaw::Fraction) }
}

/// Reads a whole number of packets or bytes.
pub(crate) fn limit(text: &str) -> Result<Limit, Flaw> {
    match read(text, PACKETS) {
        Ok((n, true)) => Ok(Limit::Packets(Packets::new(n))),
        Ok((_, false)) => Err(Flaw::Fraction),
        Err(Flaw::WrongUnit) => size(text).map(Limit::Bytes),
        Err(flaw) => Err(flaw),
    }
}

/// Reads a number of packets or bytes that need not be whole.
pub(crate) fn amount(text: &str) -> Result<Amount, Flaw> {
    let (number, digits, name) = split(text)?;
    if name.is_empty() {
        return Err(Flaw::NoUnit);
    }
    if number.negative && number.digits > 0 {
        return Err(Flaw::Negative);
    }
    let value: f64 = digits.replace('_', "").parse().map_err(|_| Flaw::NoNumber)?;
    if !value.is_finite() {
        return Err(Flaw::TooLarge);
    }
    if find(PACKETS, name).is_some() {
        return Ok(Amount::Packets(value.abs()));
    }
    let unit = find(SIZE, name).ok_or(Flaw::WrongUnit)?;
    Ok(Amount::Bytes(value.abs() * unit.size as f64))
}

/// Reads a time, or a whole number of round trips.
pub(crate) fn lapse(text: &str) -> Result<Lapse, Flaw> {
    match read(text, ROUNDS) {
        Ok((_, false)) => Err(Flaw::Fraction),
        Ok((rounds, true)) => Ok(Lapse::Rounds(rounds)),
        Err(Flaw::WrongUnit) => time(text).map(Lapse::Time),
        Err(flaw) => Err(flaw),
    }
}

/// Reads a share in percent (`1 %`) or without a unit (`0.01`). The caller checks that it is from 0 to 1.
pub(crate) fn percent(text: &str) -> Result<f64, Flaw> {
    let (number, digits, name) = split(text)?;
    if number.negative && number.digits > 0 {
        return Err(Flaw::Negative);
    }
    let value: f64 = digits.replace('_', "").parse().map_err(|_| Flaw::NoNumber)?;
    match name {
        "%" => Ok(value.abs() / 100.0),
        "" => Ok(value.abs()),
        _ => Err(Flaw::WrongUnit),
    }
}

/// Reads a number with the unit `name`, or without a unit.
pub(crate) fn number_in(text: &str, name: &str) -> Option<f64> {
    let (_, digits, found) = split(text).ok()?;
    (found.is_empty() || found == name).then(|| digits.replace('_', "").parse().ok()).flatten()
}

/// Shows `n` base units exactly, in the largest of `units` that is at most `n` and needs at most `places` decimals.
fn show(n: u64, units: &[&Unit], places: usize) -> String {
    for unit in units.iter().rev() {
        if n < unit.size && unit.size > 1 {
            continue;
        }
        let (whole, mut rest, mut decimals) = (n / unit.size, n % unit.size, String::new());
        while rest > 0 && decimals.len() < places {
            // `rest` is below 10^13 (the largest unit), so ten times `rest` fits.
            rest *= 10;
            decimals.push(char::from(b'0' + u8::try_from(rest / unit.size).unwrap_or(0)));
            rest %= unit.size;
        }
        if rest == 0 {
            let point = if decimals.is_empty() { "" } else { "." };
            return format!("{whole}{point}{decimals} {}", unit.names.first().unwrap_or(&""));
        }
    }
    format!("{n} {}", units.first().and_then(|unit| unit.names.first()).unwrap_or(&""))
}

/// Shows a time as text that reads back as the same value.
pub(crate) fn show_time(time: Duration) -> String {
    let units: Vec<&Unit> = TIME.iter().take(4).collect();
    if time.is_zero() { "0 s".to_owned() } else { show(time.as_nanos(), &units, 9) }
}

/// Shows a length of time as text that reads back as the same value.
pub(crate) fn show_lapse(lapse: Lapse) -> String {
    match lapse {
        Lapse::Time(time) => show_time(time),
        Lapse::Rounds(1) => "1 round".to_owned(),
        Lapse::Rounds(rounds) => format!("{rounds} rounds"),
    }
}

/// Shows a rate as text that reads back as the same value.
pub(crate) fn show_rate(rate: Rate) -> String {
    show(rate.as_bps(), &RATE.iter().take(4).collect::<Vec<_>>(), 9)
}

/// Shows an amount of data as text that reads back as the same value, in a unit in which the number is whole.
pub(crate) fn show_size(size: Bytes) -> String {
    let n = size.as_u64();
    let fits = |units: &'static [Unit]| units.iter().rev().find(|unit| n >= unit.size && n.is_multiple_of(unit.size));
    let (decimal, binary) = (fits(&SIZE[..5]), fits(&SIZE[5..]));
    match (decimal, binary) {
        (Some(unit), _) if unit.size > 1 => show(n, &[unit], 0),
        (_, Some(unit)) => show(n, &[unit], 0),
        _ => format!("{n} B"),
    }
}

/// Shows a limit as text that reads back as the same value.
pub(crate) fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(n) => format!("{} {}", n.as_u64(), if n.as_u64() == 1 { "packet" } else { "packets" }),
        Limit::Bytes(n) => show_size(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!(rate("10 Mb/s"), Ok(Rate::mbps(10)));
        assert_eq!(rate("0.1Mbit/s"), Ok(Rate::kbps(100)));
        assert_eq!(rate("1.5 Gbps"), Ok(Rate::mbps(1500)));
        assert_eq!(rate("1e3 kb/s"), Ok(Rate::mbps(1)));
        assert_eq!(time("15.1 s"), Ok(Duration::from_millis(15_100)));
        assert_eq!(time("0.1 us"), Ok(Duration::from_nanos(100)));
        assert_eq!(time("2 min"), Ok(Duration::from_secs(120)));
        assert_eq!(time("7 µs"), Ok(Duration::from_micros(7)));
        assert_eq!(size("97 kB"), Ok(Bytes::new(97_000)));
        assert_eq!(size("16 MiB"), Ok(Bytes::new(16 << 20)));
        assert_eq!(size("1.5 kB"), Ok(Bytes::new(1500)));
        assert_eq!(limit("20 packets"), Ok(Limit::Packets(Packets::new(20))));
        assert_eq!(limit("1_000 B"), Ok(Limit::Bytes(Bytes::new(1000))));
        assert_eq!(scaled("90 %", SHARE), Some(Ok(Scaled(90.0))));
        assert_eq!(scaled("0.5 rtt", RTTS), Some(Ok(Scaled(0.5))));
        assert_eq!(scaled("90 Mb/s", SHARE), None);
        assert_eq!(scaled("-1 bdp", BDPS), Some(Err(Flaw::Negative)));
        assert_eq!(lapse("3 rounds"), Ok(Lapse::Rounds(3)));
        assert_eq!(lapse("20 ms"), Ok(Lapse::Time(Duration::from_millis(20))));
        assert_eq!(lapse("1.5 rounds"), Err(Flaw::Fraction));
        assert_eq!(amount("2.5 packets"), Ok(Amount::Packets(2.5)));
        assert_eq!(percent("1 %"), Ok(0.01));
    }

    /// Conditions have a table of units of their own, since they know more dimensions and no whole numbers.
    #[test]
    fn conditions_have_the_units_of_files() {
        use narrows_timeline::Unit as Literal;
        let base = |units: &'static [Unit], first: &str| {
            for unit in units {
                for name in unit.names {
                    let one = |name| Literal::convert(Literal::find(name), "1").unwrap();
                    let ratio = one(name) / one(first);
                    assert!((ratio - unit.size as f64).abs() <= unit.size as f64 * 1e-12, "{name}: {ratio}");
                }
            }
        };
        base(TIME, "ns");
        base(RATE, "b/s");
        base(SIZE, "B");
        base(PACKETS, "packet");
    }

    #[test]
    fn what_is_not_a_quantity_says_why() {
        assert_eq!(rate("10 Mbit/h"), Err(Flaw::WrongUnit));
        assert_eq!(rate("10 mb/s"), Err(Flaw::WrongUnit), "milli is not mega");
        assert_eq!(rate("fast"), Err(Flaw::NoNumber));
        assert_eq!(rate("10"), Err(Flaw::NoUnit));
        assert_eq!(time("-2 ms"), Err(Flaw::Negative));
        assert_eq!(time("1e40 s"), Err(Flaw::TooLarge));
        assert_eq!(time("1e2147483647 s"), Err(Flaw::TooLarge));
        assert_eq!(time("1e99999999999 s"), Err(Flaw::TooLarge));
        assert_eq!(size("1.5 B"), Err(Flaw::Fraction));
        assert_eq!(limit("0.5 packets"), Err(Flaw::Fraction));
        assert_eq!(limit("5 ms"), Err(Flaw::WrongUnit), "the caller reads it as a time");
        assert_eq!(time(&format!("{} s", "9".repeat(400))), Err(Flaw::TooLarge));
        assert_eq!(time("."), Err(Flaw::NoNumber));
    }

    #[test]
    fn quantities_are_shown_in_readable_units() {
        assert_eq!(show_rate(Rate::kbps(1500)), "1.5 Mb/s");
        assert_eq!(show_rate(Rate::bps(1_234_567)), "1.234567 Mb/s");
        assert_eq!(show_rate(Rate::gbps(10)), "10 Gb/s");
        assert_eq!(show_time(Duration::from_millis(15_100)), "15.1 s");
        assert_eq!(show_time(Duration::from_millis(20)), "20 ms");
        assert_eq!(show_time(Duration::ZERO), "0 s");
        assert_eq!(show_size(Bytes::new(1460)), "1460 B");
        assert_eq!(show_size(Bytes::new(97_000)), "97 kB");
        assert_eq!(show_size(Bytes::new(16 << 20)), "16 MiB");
        assert_eq!(show_size(Bytes::ZERO), "0 B");
        assert_eq!(show_limit(Limit::Packets(Packets::new(20))), "20 packets");
    }

    proptest! {
        #[test]
        fn shown_quantities_read_back(n: u64) {
            prop_assert_eq!(time(&show_time(Duration::from_nanos(n))), Ok(Duration::from_nanos(n)));
            prop_assert_eq!(rate(&show_rate(Rate::bps(n))), Ok(Rate::bps(n)));
            prop_assert_eq!(size(&show_size(Bytes::new(n))), Ok(Bytes::new(n)));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in ".{0,40}") {
            let _ = (time(&text), rate(&text), size(&text), limit(&text), amount(&text), percent(&text));
        }
    }
}
