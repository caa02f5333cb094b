//! Traces of deliveries: what a link direction carries, recorded over time, instead of a constant rate.

pub(crate) mod lists;
mod read;
mod text;

pub use read::{MOST_ROWS, Refusal, read};
pub(crate) use text::parse as parse_content;

use narrows_units::{Bytes, Duration, Instant, Rate};
use std::io::Read;

/// Bytes that one opportunity delivers: mahimahi's `PACKET_SIZE` (`link_queue.hh`), the most that its TUN device reads.
pub const OPPORTUNITY: Bytes = Bytes::new(1504);

/// A trace of a link direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file as the scenario names it.
    pub name: String,
    /// Whether the trace starts again after its last row. Otherwise opportunities end, and the last rate stays.
    pub repeat: bool,
    /// What the link delivers.
    pub deliveries: Deliveries,
}

/// The rows of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Deliveries {
    /// Times of opportunities in milliseconds: at least one, in order, the last above zero. Four bytes each.
    Opportunities(Vec<u32>),
    /// Rates from given times on: the first time is zero, times rise, and at least one rate is above zero.
    Rates(Vec<Step>),
}

/// A rate from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time from the start of the trace.
    pub at: Instant,
    /// Rate from then on.
    pub rate: Rate,
}

/// Opens the files that scenarios name. The caller decides where they are; this crate opens none itself.
pub trait Files {
    /// Opens the file for reading, and returns its path for messages.
    ///
    /// # Errors
    /// Why the file cannot be read, as a predicate: `cannot be read: no such file`.
    fn open(&self, name: &str) -> Result<(String, Box<dyn Read>), String>;
}

/// No files: every name is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _name: &str) -> Result<(String, Box<dyn Read>), String> {
        Err("cannot be read: files are not available here".to_owned())
    }
}

impl Trace {
    /// Time after which the trace starts again: the time of its last row.
    #[must_use]
    pub fn period(&self) -> Duration {
        match &self.deliveries {
            Deliveries::Opportunities(times) => Duration::from_millis(times.last().copied().unwrap_or(0).into()),
            Deliveries::Rates(steps) => steps.last().map_or(Duration::ZERO, |last| last.at.since(Instant::ZERO)),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.deliveries {
            Deliveries::Opportunities(times) => times.len(),
            Deliveries::Rates(steps) => steps.len(),
        }
    }

    /// Mean rate over one period: the nominal rate of the link. The largest rate where the mean is zero.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let period = self.period();
        let mean = match &self.deliveries {
            Deliveries::Opportunities(times) => {
                Rate::of(Bytes::new(OPPORTUNITY.as_u64().saturating_mul(times.len() as u64)), period)
            }
            Deliveries::Rates(steps) if !period.is_zero() => {
                let bits = steps.iter().zip(steps.iter().skip(1)).fold(0_u128, |sum, (step, next)| {
                    sum + u128::from(step.rate.as_bps()) * u128::from(next.at.since(step.at).as_nanos())
                });
                Rate::bps(u64::try_from(bits / u128::from(period.as_nanos())).unwrap_or(u64::MAX))
            }
            Deliveries::Rates(_) => Rate::ZERO,
        };
        if mean.is_zero() { self.largest_rate() } else { mean }
    }

    /// Largest rate of a trace of rates; the mean rate of a trace of opportunities, which are instants. At least
    /// 1 b/s.
    #[must_use]
    pub fn largest_rate(&self) -> Rate {
        let largest = match &self.deliveries {
            Deliveries::Opportunities(times) => {
                Rate::of(Bytes::new(OPPORTUNITY.as_u64().saturating_mul(times.len() as u64)), self.period())
            }
            Deliveries::Rates(steps) => steps.iter().map(|step| step.rate).fold(Rate::ZERO, Rate::max),
        };
        largest.max(Rate::bps(1))
    }

    /// Name of the kind of rows: `opportunities` or `rates`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.deliveries {
            Deliveries::Opportunities(_) => "opportunities",
            Deliveries::Rates(_) => "rates",
        }
    }
}
