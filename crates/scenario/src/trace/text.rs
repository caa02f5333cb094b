//! The rows of a trace as text, with which a resolved scenario carries them: it then needs no other file.
//!
//! `opportunities 3 0 5` has the milliseconds from each opportunity to the next, the first from zero on.
//! `rates 0 12000000 500000000 0` has the time of each step in nanoseconds, and its rate in bits per second.

use super::read::{Opportunities, Refusal, Steps};
use super::{Deliveries, Trace};
use std::fmt::Write as _;

const FORM: &str = "opportunities or rates and their numbers, as Narrows writes them into resolved scenarios";

impl Trace {
    /// The rows as text.
    #[must_use]
    pub(crate) fn content(&self) -> String {
        let mut text = String::from(self.kind());
        match &self.deliveries {
            Deliveries::Opportunities(times) => {
                let mut last = 0;
                for ms in times {
                    // Writing to a String cannot fail.
                    let _ = write!(text, " {}", ms - last);
                    last = *ms;
                }
            }
            Deliveries::Rates(steps) => {
                for step in steps {
                    let _ = write!(text, " {} {}", step.at.as_nanos(), step.rate.as_bps());
                }
            }
        }
        text
    }
}

/// Reads what [`Trace::content`] wrote.
pub(crate) fn parse(text: &str) -> Result<Deliveries, Refusal> {
    let mut words = text.split_ascii_whitespace();
    let wrong = |word: &str| Refusal::new(None, word, "is not a number of a trace", FORM);
    match words.next() {
        Some("opportunities") => {
            let mut rows = Opportunities::default();
            let mut last: u32 = 0;
            for word in words {
                let gap: u32 = word.parse().map_err(|_| wrong(word))?;
                last = last.checked_add(gap).ok_or_else(|| wrong(word))?;
                rows.add(last, word, None)?;
            }
            rows.finish()
        }
        Some("rates") => {
            let mut rows = Steps::default();
            while let Some(at) = words.next() {
                let rate = words.next().ok_or_else(|| wrong(at))?;
                let number = |word: &str| word.parse::<u64>().map_err(|_| wrong(word));
                rows.add((number(at)?, number(rate)?), at, None)?;
            }
            rows.finish()
        }
        _ => Err(Refusal::new(None, text, "is not the content of a trace", FORM)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn trace(text: &str) -> Trace {
        Trace { name: String::new(), repeat: true, deliveries: super::super::read(text.as_bytes()).unwrap() }
    }

    #[test]
    fn opportunities_are_gaps_and_rates_are_pairs() {
        assert_eq!(trace("0\n3\n3\n8\n").content(), "opportunities 0 3 0 5");
        assert_eq!(trace("time_ms,rate_kbps\n0,5\n2,0\n").content(), "rates 0 5000 2000000 0");
    }

    #[test]
    fn wrong_content_is_refused() {
        for text in [
            "",
            "x",
            "opportunities",
            "opportunities 1 -2",
            "opportunities 4294967295 1",
            "rates",
            "rates 0",
            "rates 0 0",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_text_reads_back(gaps in proptest::collection::vec(0_u32..50, 1..100)) {
            let mut at = 1;
            let lines: String = gaps.iter().map(|gap| { at += gap; format!("{at}\n") }).collect();
            let trace = trace(&lines);
            prop_assert_eq!(parse(&trace.content()).unwrap(), trace.deliveries);
        }
    }
}
