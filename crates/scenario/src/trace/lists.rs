//! CSV files of sizes and of transfers, read as streams, and the same rows as text in resolved scenarios.

use super::read::{Lines, Refusal, decimal, room};
use narrows_units::{Bytes, Instant};
use std::fmt::Write as _;
use std::io::Read;

/// Largest size in a file: that of the format.
const LARGEST: u64 = crate::schema::LARGE;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

const SIZES_HEADER: &str = "size_bytes,cdf";
const SIZES_FORM: &str = "the header size_bytes,cdf, then a size and a probability per line, such as 10000,0.15";
const ARRIVALS_HEADER: &str = "time_s,size_bytes";
const ARRIVALS_FORM: &str = "the header time_s,size_bytes, then a time and a size per line, such as 0.5,20000";
const SIZE: &str = "a whole number of bytes, at least 1";

/// Rows of sizes and their probabilities.
pub(crate) type Points = Vec<(u64, f64)>;

/// Rows of times and sizes.
pub(crate) type Transfers = Vec<(Instant, Bytes)>;

/// Reads a distribution function.
///
/// # Errors
/// [`Refusal`]: the first line that is wrong.
pub(crate) fn sizes(file: impl Read) -> Result<Points, Refusal> {
    let mut points = Vec::new();
    let end =
        each(file, (SIZES_HEADER, SIZES_FORM), |line, text, (size, cdf)| point(&mut points, line, text, size, cdf))?;
    ends_at_one(&points, Some(end))?;
    Ok(points)
}

/// Reads transfers.
///
/// # Errors
/// [`Refusal`]: the first line that is wrong.
pub(crate) fn arrivals(file: impl Read) -> Result<Transfers, Refusal> {
    let mut rows = Vec::new();
    each(file, (ARRIVALS_HEADER, ARRIVALS_FORM), |line, text, (time, size)| {
        transfer(&mut rows, line, text, time, size)
    })?;
    if rows.is_empty() {
        return Err(Refusal::new(None, "", "has no rows", ARRIVALS_FORM));
    }
    Ok(rows)
}

/// Calls `take` with the line's number, its text and its two values; returns the last line's number.
fn each(
    file: impl Read,
    (header, form): (&str, &str),
    mut take: impl FnMut(Option<usize>, &str, (&str, &str)) -> Result<(), Refusal>,
) -> Result<usize, Refusal> {
    let mut lines = Lines::of(file);
    let Some(first) = lines.next()? else { return Err(Refusal::new(None, "", "is empty", form)) };
    if first.split(',').map(str::trim).ne(header.split(',')) {
        return Err(Refusal::new(Some(1), first, "is not the header", form));
    }
    let mut last = 1;
    while let Some(text) = lines.next()? {
        last += 1;
        let pair = text.split_once(',').ok_or_else(|| Refusal::new(Some(last), text, "is not a row", form))?;
        take(Some(last), text, (pair.0.trim(), pair.1.trim()))?;
    }
    Ok(last)
}

fn whole(line: Option<usize>, text: &str) -> Result<u64, Refusal> {
    match text.parse::<u64>() {
        Ok(n @ 1..=LARGEST) => Ok(n),
        Ok(0) => Err(Refusal::new(line, text, "is not a size", SIZE)),
        _ if text.starts_with('-') => Err(Refusal::new(line, text, "is negative", SIZE)),
        Ok(_) => Err(Refusal::new(line, text, "is too large", format!("at most {LARGEST}"))),
        Err(_) => Err(Refusal::new(line, text, "is not a whole number", SIZE)),
    }
}

fn point(points: &mut Points, line: Option<usize>, text: &str, size: &str, cdf: &str) -> Result<(), Refusal> {
    const PROBABILITY: &str = "a probability above 0 and at most 1";
    let size = whole(line, size)?;
    let cdf = cdf.parse::<f64>().ok().filter(|cdf| *cdf > 0.0 && *cdf <= 1.0);
    let cdf = cdf.ok_or_else(|| Refusal::new(line, text, "has no probability", PROBABILITY))?;
    if points.last().is_some_and(|(above, _)| *above >= size) {
        return Err(Refusal::new(line, text, "has a size that is not above that of the row before", "rising sizes"));
    }
    if points.last().is_some_and(|(_, above)| *above >= cdf) {
        let reason = "has a probability that is not above that of the row before";
        return Err(Refusal::new(line, text, reason, "rising probabilities"));
    }
    room(points.len(), line)?;
    points.push((size, cdf));
    Ok(())
}

fn ends_at_one(points: &Points, line: Option<usize>) -> Result<(), Refusal> {
    match points.last() {
        None => Err(Refusal::new(None, "", "has no rows", SIZES_FORM)),
        Some((_, cdf)) if *cdf < 1.0 => {
            Err(Refusal::new(line, &cdf.to_string(), "is the last probability", "1 as the last probability"))
        }
        Some(_) => Ok(()),
    }
}

fn transfer(rows: &mut Transfers, line: Option<usize>, text: &str, time: &str, size: &str) -> Result<(), Refusal> {
    let at = decimal(time, SECOND).map_err(|reason| Refusal::new(line, time, reason, ARRIVALS_FORM))?;
    let at = Instant::from_nanos(at);
    let size = whole(line, size)?;
    if rows.last().is_some_and(|(above, _)| *above > at) {
        return Err(Refusal::new(line, text, "is before the row above it", "times that do not fall"));
    }
    room(rows.len(), line)?;
    rows.push((at, Bytes::new(size)));
    Ok(())
}

/// The rows of a distribution function as text.
pub(crate) fn sizes_text(points: &[(u64, f64)]) -> String {
    let mut text = String::from("sizes");
    for (size, cdf) in points {
        // Writing to a String cannot fail.
        let _ = write!(text, " {size} {cdf:?}");
    }
    text
}

/// The rows of transfers as text, times in nanoseconds.
pub(crate) fn arrivals_text(rows: &[(Instant, Bytes)]) -> String {
    let mut text = String::from("transfers");
    for (at, size) in rows {
        let _ = write!(text, " {} {}", at.as_nanos(), size.as_u64());
    }
    text
}

/// Reads what [`sizes_text`] wrote.
pub(crate) fn sizes_of(text: &str) -> Result<Points, Refusal> {
    let mut points = Vec::new();
    pairs(text, "sizes", |size, cdf| point(&mut points, None, cdf, size, cdf))?;
    ends_at_one(&points, None)?;
    Ok(points)
}

/// Reads what [`arrivals_text`] wrote.
pub(crate) fn arrivals_of(text: &str) -> Result<Transfers, Refusal> {
    let mut rows: Transfers = Vec::new();
    pairs(text, "transfers", |at, size| {
        let nanos = at.parse().map_err(|_| Refusal::new(None, at, "is not a time", FORM))?;
        let (at, bytes) = (Instant::from_nanos(nanos), whole(None, size)?);
        if rows.last().is_some_and(|(above, _)| *above > at) {
            return Err(Refusal::new(None, size, "is before the row above it", "times that do not fall"));
        }
        rows.push((at, Bytes::new(bytes)));
        Ok(())
    })?;
    if rows.is_empty() { Err(Refusal::new(None, text, "has no rows", FORM)) } else { Ok(rows) }
}

const FORM: &str = "a word and numbers, as Narrows writes them into resolved scenarios";

fn pairs(text: &str, word: &str, mut take: impl FnMut(&str, &str) -> Result<(), Refusal>) -> Result<(), Refusal> {
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some(word) {
        return Err(Refusal::new(None, text, "is not the content of a file", FORM));
    }
    while let Some(first) = words.next() {
        let second = words.next().ok_or_else(|| Refusal::new(None, first, "has no second value", FORM))?;
        take(first, second)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_give_rows_and_text_gives_them_back() {
        let points = sizes("size_bytes,cdf\n1000,0.5\n20000, 1\n".as_bytes()).unwrap();
        assert_eq!(points, [(1000, 0.5), (20_000, 1.0)]);
        assert_eq!(sizes_of(&sizes_text(&points)).unwrap(), points);
        let rows = arrivals("time_s,size_bytes\r\n0,7\r\n0.25,8\r\n0.25,9\r\n".as_bytes()).unwrap();
        let row = |ms: u64, size| (Instant::from_nanos(ms * 1_000_000), Bytes::new(size));
        assert_eq!(rows, [row(0, 7), row(250, 8), row(250, 9)]);
        assert_eq!(arrivals_of(&arrivals_text(&rows)).unwrap(), rows);
    }

    #[test]
    fn wrong_lines_are_refused_with_line_and_value() {
        for (text, line, said) in [
            ("", None, " is empty"),
            ("10000,0.15\n", Some(1), "\"10000,0.15\" is not the header"),
            ("size_bytes,cdf\n", None, " has no rows"),
            ("size_bytes,cdf\n5\n", Some(2), "\"5\" is not a row"),
            ("size_bytes,cdf\n-5,0.5\n", Some(2), "\"-5\" is negative"),
            ("size_bytes,cdf\n0,0.5\n", Some(2), "\"0\" is not a size"),
            ("size_bytes,cdf\n1.5,0.5\n", Some(2), "\"1.5\" is not a whole number"),
            ("size_bytes,cdf\n5,1.5\n", Some(2), "\"5,1.5\" has no probability"),
            ("size_bytes,cdf\n5,nan\n", Some(2), "\"5,nan\" has no probability"),
            (
                "size_bytes,cdf\n5,0.5\n5,0.6\n",
                Some(3),
                "\"5,0.6\" has a size that is not above that of the row before",
            ),
            (
                "size_bytes,cdf\n5,0.5\n6,0.5\n",
                Some(3),
                "\"6,0.5\" has a probability that is not above that of the row before",
            ),
            ("size_bytes,cdf\n5,0.5\n6,0.9\n", Some(3), "\"0.9\" is the last probability"),
        ] {
            let refusal = sizes(text.as_bytes()).unwrap_err();
            assert_eq!((refusal.line, format!("{} {}", refusal.value, refusal.reason)), (line, said.to_owned()));
        }
        for (text, line, said) in [
            ("time_s,rate_mbps\n0,1\n", Some(1), "\"time_s,rate_mbps\" is not the header"),
            ("time_s,size_bytes\n", None, " has no rows"),
            ("time_s,size_bytes\n1,5\n0.5,5\n", Some(3), "\"0.5,5\" is before the row above it"),
            ("time_s,size_bytes\n-1,5\n", Some(2), "\"-1\" is negative"),
            ("time_s,size_bytes\n1,0\n", Some(2), "\"0\" is not a size"),
        ] {
            let refusal = arrivals(text.as_bytes()).unwrap_err();
            assert_eq!((refusal.line, format!("{} {}", refusal.value, refusal.reason)), (line, said.to_owned()));
        }
    }
}
