//! Reads trace files as streams: each line is checked as it comes, and only the compact rows are kept.
//!
//! A file of opportunities has mahimahi's format: a whole number of milliseconds per line, none below the one before. A
//! file of rates is CSV: a header that names the units, then a time and a rate per line. The first line decides which
//! it is, because the header of a CSV file begins with a letter.

use super::{Deliveries, Step};
use narrows_units::{Instant, Rate};
use std::io::{BufRead, BufReader, Read};

/// Most rows of a trace: 200 MB of opportunities.
pub const MOST_ROWS: usize = 50_000_000;

/// Longest line of a trace, in bytes. A longer one is another format.
const LONGEST_LINE: u64 = 200;

/// Largest rate of a trace.
const FASTEST: u64 = crate::schema::FAST;

/// Latest time of a trace of rates, in nanoseconds.
const LATEST: u64 = crate::schema::LONG;

const TIMES: [(&str, u64); 4] = [("time_ns", 1), ("time_us", 1_000), ("time_ms", 1_000_000), ("time_s", 1_000_000_000)];
const RATES: [(&str, u64); 4] =
    [("rate_bps", 1), ("rate_kbps", 1_000), ("rate_mbps", 1_000_000), ("rate_gbps", 1_000_000_000)];

/// What a line of either format may be.
const ALLOWED: &str =
    "a whole number of milliseconds per line (mahimahi), or CSV with a header such as time_s,rate_mbps";
const MILLISECONDS: &str = "a whole number of milliseconds from 0 to 4294967295";
const ROW: &str = "a time and a rate, such as 0.5,12";
const RISING: &str = "times in rising order";
const NOT_FALLING: &str = "times that do not fall";
const NOT_ZERO: &str = "a trace that lasts longer than 0 ms";

/// Why a trace is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Line from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// The value as written, shortened; empty if there is none.
    pub value: String,
    /// The fault as a predicate.
    pub reason: String,
    /// What is allowed.
    pub allowed: String,
}

impl Refusal {
    pub(super) fn new(line: Option<usize>, value: &str, reason: impl Into<String>, allowed: impl Into<String>) -> Self {
        const SHOWN: usize = 40;
        let mut shown: String = value.chars().take(SHOWN).collect();
        if value.chars().nth(SHOWN).is_some() {
            shown.push_str(" ..");
        }
        let value = if value.is_empty() { String::new() } else { format!("{shown:?}") };
        Self { line, value, reason: reason.into(), allowed: allowed.into() }
    }
}

/// Reads the rows of a trace.
///
/// # Errors
/// [`Refusal`]: the first line that is wrong.
pub fn read(file: impl Read) -> Result<Deliveries, Refusal> {
    let mut lines = Lines::of(file);
    let Some(first) = lines.next()? else {
        return Err(Refusal::new(None, "", "is empty", ALLOWED));
    };
    if first.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) {
        let units = header(first).ok_or_else(|| Refusal::new(Some(1), first, "is not a header", ALLOWED))?;
        return rates(&mut lines, units);
    }
    let mut builder = Opportunities::default();
    builder.push(first, Some(1))?;
    while let Some(line) = lines.next()? {
        let line = line.to_owned();
        builder.push(&line, Some(lines.number))?;
    }
    builder.finish()
}

/// The lines of a file, one at a time, without their ends.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn of(file: R) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, file), line: Vec::new(), number: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Option<&str>, Refusal> {
        self.line.clear();
        self.number += 1;
        let number = Some(self.number);
        let read = self.reader.by_ref().take(LONGEST_LINE + 2).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Refusal::new(number, "", format!("cannot be read: {error}"), ""))?;
        if read == 0 {
            return Ok(None);
        }
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        match std::str::from_utf8(&self.line) {
            Ok(text) if self.line.len() as u64 <= LONGEST_LINE => Ok(Some(text)),
            Ok(text) => Err(Refusal::new(number, text, "is too long for a line of a trace", ALLOWED)),
            Err(_) => Err(Refusal::new(number, "", "is not text in UTF-8", ALLOWED)),
        }
    }
}

/// Collects opportunities.
#[derive(Debug, Default)]
pub(super) struct Opportunities(Vec<u32>);

impl Opportunities {
    fn push(&mut self, text: &str, line: Option<usize>) -> Result<(), Refusal> {
        let wrong = |reason: &str, allowed: &str| Err(Refusal::new(line, text, reason, allowed));
        if text.is_empty() {
            return wrong("is an empty line", MILLISECONDS);
        }
        if !text.bytes().all(|c| c.is_ascii_digit()) {
            let fault = if text.starts_with('-') { "is negative" } else { "is not a whole number" };
            return wrong(fault, if line == Some(1) { ALLOWED } else { MILLISECONDS });
        }
        match text.parse() {
            Ok(ms) => self.add(ms, text, line),
            Err(_) => wrong("is too large", MILLISECONDS),
        }
    }

    /// Adds an opportunity; `text` shows it in messages.
    pub(super) fn add(&mut self, ms: u32, text: &str, line: Option<usize>) -> Result<(), Refusal> {
        if let Some(last) = self.0.last().filter(|last| **last > ms) {
            return Err(Refusal::new(line, text, format!("is before the {last} ms above it"), NOT_FALLING));
        }
        room(self.0.len(), line)?;
        self.0.push(ms);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Deliveries, Refusal> {
        match self.0.last() {
            None => return Err(Refusal::new(None, "", "is empty", ALLOWED)),
            Some(0) => {
                return Err(Refusal::new(Some(self.0.len()), "0", "is the time of the last opportunity", NOT_ZERO));
            }
            Some(_) => self.0.shrink_to_fit(),
        }
        Ok(Deliveries::Opportunities(self.0))
    }
}

pub(super) fn room(rows: usize, line: Option<usize>) -> Result<(), Refusal> {
    if rows < MOST_ROWS {
        return Ok(());
    }
    Err(Refusal::new(line, "", "is one row too many", format!("at most {MOST_ROWS} rows")))
}

/// Returns the sizes of the units that a header names, in nanoseconds and bits per second.
fn header(line: &str) -> Option<(u64, u64)> {
    let (time, rate) = line.split_once(',')?;
    let find = |units: &[(&str, u64)], name: &str| Some(units.iter().find(|unit| unit.0 == name.trim())?.1);
    Some((find(&TIMES, time)?, find(&RATES, rate)?))
}

fn rates(lines: &mut Lines<impl Read>, units: (u64, u64)) -> Result<Deliveries, Refusal> {
    let mut steps = Steps::default();
    while let Some(line) = lines.next()? {
        let text = line.to_owned();
        let number = Some(lines.number);
        let wrong = |value: &str, reason: &str, allowed: &str| Refusal::new(number, value, reason, allowed);
        let (time, rate) = text.split_once(',').ok_or_else(|| wrong(&text, "is not a row", ROW))?;
        let at = decimal(time.trim(), units.0).map_err(|reason| wrong(time, reason, ROW))?;
        let bps = decimal(rate.trim(), units.1).map_err(|reason| wrong(rate, reason, ROW))?;
        steps.add((at, bps), &text, number)?;
    }
    steps.finish()
}

/// Collects rates.
#[derive(Debug, Default)]
pub(super) struct Steps(Vec<Step>);

impl Steps {
    /// Adds a time in nanoseconds and a rate in bits per second; `text` shows them in messages.
    pub(super) fn add(&mut self, (at, bps): (u64, u64), text: &str, line: Option<usize>) -> Result<(), Refusal> {
        let wrong = |reason: &str, allowed: String| Err(Refusal::new(line, text, reason, allowed));
        match self.0.last() {
            None if at > 0 => return wrong("does not start at time 0", "0 as the first time".to_owned()),
            Some(last) if last.at.as_nanos() >= at => {
                return wrong("is not after the row above it", RISING.to_owned());
            }
            _ if at > LATEST => return wrong("is too late", "times of at most a million hours".to_owned()),
            _ if bps > FASTEST => return wrong("is too fast", format!("at most {}", Rate::bps(FASTEST))),
            _ => room(self.0.len(), line)?,
        }
        self.0.push(Step { at: Instant::from_nanos(at), rate: Rate::bps(bps) });
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Deliveries, Refusal> {
        if self.0.is_empty() {
            return Err(Refusal::new(None, "", "has no rows", ROW));
        }
        if self.0.iter().all(|step| step.rate.is_zero()) {
            return Err(Refusal::new(None, "", "has no rate above zero", "at least one row with a rate above zero"));
        }
        self.0.shrink_to_fit();
        Ok(Deliveries::Rates(self.0))
    }
}

/// Returns a decimal number times `unit`, exactly; the error is the fault as a predicate.
pub(super) fn decimal(text: &str, unit: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
    if text.starts_with('-') {
        return Err("is negative");
    }
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err("is not a number");
    }
    let mut value = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or("is too large")?;
    let mut place = unit;
    for digit in fraction.bytes().map(|c| u64::from(c - b'0')) {
        if digit > 0 && place < 10 {
            return Err("has more digits than nanoseconds or bits per second have");
        }
        place /= 10;
        value = value.checked_add(digit * place).ok_or("is too large")?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn opportunities(text: &str) -> Vec<u32> {
        match read(text.as_bytes()).unwrap() {
            Deliveries::Opportunities(times) => times,
            Deliveries::Rates(_) => Vec::new(),
        }
    }

    #[test]
    fn a_line_is_an_opportunity() {
        assert_eq!(opportunities("0\n3\n3\n7\n"), [0, 3, 3, 7]);
        assert_eq!(opportunities("4294967295"), [4_294_967_295]);
        assert_eq!(opportunities("1\r\n2\r\n"), [1, 2]);
    }

    #[test]
    fn a_header_names_the_units_of_rates() {
        let read = read("time_s,rate_mbps\n0,12\n0.5,0\n1.000000001,2.5\n".as_bytes()).unwrap();
        let step = |at, bps| Step { at: Instant::from_nanos(at), rate: Rate::bps(bps) };
        let steps = vec![step(0, 12_000_000), step(500_000_000, 0), step(1_000_000_001, 2_500_000)];
        assert_eq!(read, Deliveries::Rates(steps));
    }

    #[test]
    fn wrong_lines_are_refused_with_line_value_and_what_is_allowed() {
        for (text, line, said) in [
            ("", None, " is empty"),
            ("\n", Some(1), " is an empty line"),
            ("1\n\n2\n", Some(2), " is an empty line"),
            ("5\n4\n", Some(2), "\"4\" is before the 5 ms above it"),
            ("0\n0\n", Some(2), "\"0\" is the time of the last opportunity"),
            ("1\n2.5\n", Some(2), "\"2.5\" is not a whole number"),
            ("-1\n", Some(1), "\"-1\" is negative"),
            ("4294967296\n", Some(1), "\"4294967296\" is too large"),
            ("{\"a\": 1}\n", Some(1), "\"{\\\"a\\\": 1}\" is not a whole number"),
            ("time,rate\n", Some(1), "\"time,rate\" is not a header"),
            ("time_s,rate_bps\n", None, " has no rows"),
            ("time_s,rate_bps\n1,5\n", Some(2), "\"1,5\" does not start at time 0"),
            ("time_s,rate_bps\n0,5\n0,6\n", Some(3), "\"0,6\" is not after the row above it"),
            ("time_s,rate_bps\n0,0\n", None, " has no rate above zero"),
            ("time_s,rate_bps\n0,-5\n", Some(2), "\"-5\" is negative"),
            ("time_s,rate_bps\n0,1e6\n", Some(2), "\"1e6\" is not a number"),
            ("time_s,rate_bps\n0,0.5\n", Some(2), "\"0.5\" has more digits than nanoseconds or bits per second have"),
            ("time_s,rate_bps\n0,0.05\n", Some(2), "\"0.05\" has more digits than nanoseconds or bits per second have"),
            ("time_s,rate_gbps\n0,99999999999\n", Some(2), "\"99999999999\" is too large"),
            ("time_s,rate_gbps\n0,10001\n", Some(2), "\"0,10001\" is too fast"),
            ("time_s,rate_bps\n7\n", Some(2), "\"7\" is not a row"),
        ] {
            let refusal = read(text.as_bytes()).unwrap_err();
            assert_eq!(
                (refusal.line, format!("{} {}", refusal.value, refusal.reason)),
                (line, said.to_owned()),
                "{text:?}"
            );
            assert!(!refusal.allowed.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_file_of_another_format_is_refused_without_reading_it_all() {
        assert_eq!(read(&[b'1'; 100_000][..]).unwrap_err().reason, "is too long for a line of a trace");
        assert_eq!(read(&[0x1f, 0x8b, 8, 0, 0xff][..]).unwrap_err().reason, "is not text in UTF-8");
    }

    #[test]
    fn ten_million_lines_take_four_bytes_each() {
        struct Rows(u32);
        impl Read for Rows {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if self.0 == 10_000_000 {
                    return Ok(0);
                }
                self.0 += 1;
                let line = format!("{}\n", self.0 / 3);
                buffer[..line.len()].copy_from_slice(line.as_bytes());
                Ok(line.len())
            }
        }
        let Ok(Deliveries::Opportunities(times)) = read(Rows(0)) else { unreachable!() };
        assert_eq!((times.len(), times.capacity(), times[9_999_999]), (10_000_000, 10_000_000, 3_333_333));
    }
}
