//! Counters of the flows' part of a scheme, over time.

use crate::LiveError;
use crate::schemes::Schemes;
use narrows_samples::{FLOW_COUNTERS, FlowRow};
use narrows_scenario::Scenario;
use narrows_units::Instant;

/// A flow's counters so far, in the order of the scheme's row.
type Counts = [u64; FLOW_COUNTERS];

/// Per flow, the counts with the times at which they were read and had changed.
#[derive(Clone, Debug)]
pub(crate) struct SchemeCounters {
    seen: Vec<Vec<(Instant, Counts)>>,
}

impl SchemeCounters {
    /// Starts with no counts for any flow.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { seen: vec![Vec::new(); scenario.flows.len()] }
    }

    /// Reads the counters of the eBPF programs at `now`, if samples over time have them.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel does not return them.
    pub(crate) fn look(&mut self, schemes: &Schemes, scenario: &Scenario, now: Instant) -> Result<(), LiveError> {
        if !schemes.counts_over_time() {
            return Ok(());
        }
        for (flow, seen) in self.seen.iter_mut().enumerate() {
            if let Some(counters) = schemes.counters(scenario, flow)?
                && seen.last().is_none_or(|(_, last)| *last != counters)
            {
                seen.push((now, counters));
            }
        }
        Ok(())
    }

    /// Returns a flow's counters at the last look; zeros if it takes part in no scheme.
    pub(crate) fn last(&self, flow: usize) -> Counts {
        self.seen.get(flow).and_then(|seen| seen.last()).map_or([0; 3], |(_, counts)| *counts)
    }

    /// Adds to each of a flow's rows the counters as they were by then.
    pub(crate) fn fill(&self, rows: &mut [FlowRow], flow: usize) {
        let mut seen = self.seen.get(flow).map_or(&[][..], Vec::as_slice).iter().peekable();
        let mut counts = [0; 3];
        for row in rows {
            while let Some((_, next)) = seen.next_if(|(at, _)| at.as_nanos() <= row.time_ns) {
                counts = *next;
            }
            row.counters = counts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_what_was_received_by_their_time() {
        let at = Instant::from_nanos;
        let counters = SchemeCounters { seen: vec![Vec::new(), vec![(at(10), [1, 0, 0]), (at(20), [1, 2, 0])]] };
        let mut rows = [5, 10, 19, 25].map(|time_ns| FlowRow { time_ns, ..FlowRow::default() });
        counters.fill(&mut rows, 1);
        assert_eq!(rows.map(|row| row.counters[1]), [0, 0, 0, 2]);
        assert_eq!(rows.map(|row| row.counters[0]), [0, 1, 1, 1]);
        assert_eq!((counters.last(0), counters.last(1)), ([0; 3], [1, 2, 0]));
    }
}
