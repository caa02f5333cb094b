//! Finds the quantity that a text with an unknown unit probably means: `10mbit` is `10 Mb/s`.

use crate::quantity::{self, PACKETS, RATE, SIZE, TIME, Unit};
use crate::schema::Kind;
use narrows_units::Rate;

/// Spellings of units of time other than those that files take, in lower case.
const TIMES: &[(&str, &[&str])] = &[
    ("ns", &["nsec", "nsecs", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "usecs", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["m", "mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
];

/// Spellings of packets, in lower case.
const PACKET_NAMES: &[&str] = &["p", "pkt", "pkts", "packet", "packets"];

/// Prefixes of bits and bytes in lower case, with the unit of rate and of size that each gives.
const PREFIXES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("", Some("b/s"), Some("B")),
    ("k", Some("kb/s"), Some("kB")),
    ("kilo", Some("kb/s"), Some("kB")),
    ("m", Some("Mb/s"), Some("MB")),
    ("mega", Some("Mb/s"), Some("MB")),
    ("g", Some("Gb/s"), Some("GB")),
    ("giga", Some("Gb/s"), Some("GB")),
    ("t", Some("Tb/s"), Some("TB")),
    ("ki", None, Some("KiB")),
    ("mi", None, Some("MiB")),
    ("gi", None, Some("GiB")),
];

/// Returns `, did you mean "..."?` for a text that is no quantity of this kind because of its unit, or nothing.
pub(crate) fn hint(kind: &Kind, text: &str) -> String {
    let Some((digits, unit)) = quantity::parts(text) else { return String::new() };
    let compact: String = unit.chars().filter(|c| !c.is_whitespace()).collect();
    let found = match kind {
        Kind::Scaled(inner, _) => return hint(inner, text),
        Kind::Rate(..) => rate(digits, &compact),
        Kind::Time(..) | Kind::Lapse => time(digits, &compact),
        Kind::Size(..) => size(digits, &compact),
        Kind::Limit => packets(digits, &compact).or_else(|| size(digits, &compact)).or_else(|| time(digits, &compact)),
        Kind::Amount => packets(digits, &compact).or_else(|| size(digits, &compact)),
        Kind::Probability => percent(digits, &compact),
        _ => None,
    };
    found.map_or_else(String::new, |meant| format!(", did you mean {meant}?"))
}

/// Returns the quantity in quotes, if it can be read.
fn quoted(digits: &str, unit: &str, units: &'static [Unit]) -> Option<String> {
    let text = format!("{digits} {unit}");
    quantity::fits(&text, units).then(|| format!("{text:?}"))
}

/// Returns bits per second; for a unit of bytes also what as many bytes are in bits.
fn rate(digits: &str, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase();
    let stem = ["/second", "/sec", "/s", "persecond", "ps"].iter().find_map(|end| lower.strip_suffix(end));
    let stem = stem.unwrap_or(&lower);
    // `B` is a byte and `b` a bit, where the word does not say it.
    let bytes = stem.contains("byte") || (stem.ends_with('b') && unit.get(..stem.len())?.ends_with('B'));
    let ends = ["bytes", "byte", "bits", "bit", "b"];
    let prefix = ends.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem);
    let name = PREFIXES.iter().find(|row| row.0 == prefix)?.1?;
    let bits = quoted(digits, name, RATE)?;
    if !bytes {
        return Some(bits);
    }
    let of_bytes = quantity::rate(&format!("{digits} {name}")).ok()?.as_bps().checked_mul(8)?;
    Some(format!("{bits}, or {:?} for bytes", quantity::show_rate(Rate::bps(of_bytes))))
}

fn time(digits: &str, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase();
    let known = TIMES.iter().find(|(name, others)| *name == lower || others.contains(&lower.as_str()))?;
    quoted(digits, known.0, TIME)
}

fn size(digits: &str, unit: &str) -> Option<String> {
    let lower = unit.to_lowercase();
    let prefix = ["bytes", "byte", "b"].iter().find_map(|end| lower.strip_suffix(end)).unwrap_or(&lower);
    quoted(digits, PREFIXES.iter().find(|row| row.0 == prefix)?.2?, SIZE)
}

fn packets(digits: &str, unit: &str) -> Option<String> {
    PACKET_NAMES.contains(&unit.to_lowercase().as_str()).then(|| quoted(digits, "packets", PACKETS)).flatten()
}

fn percent(digits: &str, unit: &str) -> Option<String> {
    matches!(unit.to_lowercase().as_str(), "percent" | "pct" | "pc").then(|| format!("\"{digits} %\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ANY_RATE, ANY_TIME, LARGE};
    use proptest::prelude::*;

    const ANY_SIZE: Kind = Kind::Size(0, LARGE);

    #[test]
    fn units_of_other_programs_are_understood() {
        for (kind, text, meant) in [
            (&ANY_RATE, "10mbit", "10 Mb/s"),
            (&ANY_RATE, "10 mbps", "10 Mb/s"),
            (&ANY_RATE, "10 mb/s", "10 Mb/s"),
            (&ANY_RATE, "1.5 Mbits/sec", "1.5 Mb/s"),
            (&ANY_RATE, "100M", "100 Mb/s"),
            (&ANY_RATE, "2 GBIT", "2 Gb/s"),
            (&ANY_RATE, "64 kilobits per second", "64 kb/s"),
            (&ANY_TIME, "5msec", "5 ms"),
            (&ANY_TIME, "20 MS", "20 ms"),
            (&ANY_TIME, "2 minutes", "2 min"),
            (&ANY_SIZE, "64 kb", "64 kB"),
            (&ANY_SIZE, "1 mib", "1 MiB"),
            (&Kind::Limit, "50pkts", "50 packets"),
            (&Kind::Limit, "50 K", "50 kB"),
            (&Kind::Limit, "40 msec", "40 ms"),
            (&Kind::Amount, "15 Packets", "15 packets"),
            (&Kind::Probability, "1 percent", "1 %"),
        ] {
            assert_eq!(hint(kind, text), format!(", did you mean {meant:?}?"), "{text}");
        }
    }

    #[test]
    fn bytes_per_second_are_shown_both_ways() {
        let both = ", did you mean \"10 Mb/s\", or \"80 Mb/s\" for bytes?";
        for text in ["10 MB/s", "10MBps", "10 MByte/s", "10 megabytes per second"] {
            assert_eq!(hint(&ANY_RATE, text), both, "{text}");
        }
    }

    #[test]
    fn what_means_nothing_gets_no_hint() {
        for (kind, text) in [
            (&ANY_RATE, "10 parsecs"),
            (&ANY_RATE, "fast"),
            (&ANY_RATE, "10 Mibit/s"),
            (&ANY_TIME, "10 Mb/s"),
            (&ANY_SIZE, "10 kbit"),
            (&Kind::Limit, "0.5 pkts"),
            (&Kind::Switch, "10mbit"),
        ] {
            assert_eq!(hint(kind, text), "", "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_hint_panic(text in ".{0,20}", number in "[0-9]{1,3}") {
            for kind in [&ANY_RATE, &ANY_TIME, &ANY_SIZE, &Kind::Limit, &Kind::Amount, &Kind::Probability] {
                let _ = hint(kind, &format!("{number}{text}"));
            }
        }
    }
}
