//! The rows of transfers at the end of a run: of workloads, and of requests.

use crate::app::Source;
use crate::exchange::Exchanged;
use crate::ideal::Paths;
use crate::topology::Topology;
use crate::video::Playback;
use narrows_samples::{NONE, PlaybackTotal, TransferRow};
use narrows_scenario::{Flow, Scenario, Traffic};
use narrows_units::{Bytes, Duration, Instant};

/// How a flow ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct End {
    /// When a bounded transfer was delivered in full.
    pub finished: Option<Instant>,
    /// Payload that its receiving application got.
    pub delivered: Bytes,
    /// Segments that the sender of the data sent again, if that is known.
    pub retransmitted_packets: Option<u64>,
    /// Expiries of its retransmission timer, if known.
    pub timeouts: Option<u64>,
}

/// Makes rows of transfers.
#[derive(Debug)]
pub struct Transfers<'a> {
    scenario: &'a Scenario,
    paths: Paths,
    end: Instant,
}

impl<'a> Transfers<'a> {
    /// The transfers of a run of this scenario, its workloads' flows included.
    pub fn new(scenario: &'a Scenario) -> Self {
        let paths = Paths::new(Topology::new(scenario));
        Self { scenario, paths, end: Instant::ZERO + scenario.duration }
    }

    /// Calls `row` with the rows of flow number `index`, which began at `start`. A transfer that would begin after the
    /// end of the run has none.
    pub fn rows(
        &mut self,
        (index, start): (usize, Instant),
        source: &Source,
        end: End,
        mut row: impl FnMut(&TransferRow),
    ) {
        let Some(flow) = self.scenario.flows.get(index) else { return };
        if flow.part.is_none() {
            for (number, exchanged) in source.exchange().map_or(&[][..], |of| of.exchanged()).iter().enumerate() {
                row(&self.request(flow, (index, number), source, exchanged));
            }
        } else if start < self.end
            && let Some(of) = self.of_workload(flow, start, source, end)
        {
            row(&of);
        }
    }

    /// A request of a flow of the file.
    fn request(
        &mut self,
        flow: &Flow,
        (index, number): (usize, usize),
        source: &Source,
        of: &Exchanged,
    ) -> TransferRow {
        let request = source.exchange().map_or(Bytes::ZERO, |exchange| exchange.request());
        let ideal = self.paths.exchange(self.scenario, flow, (request, of.size), number == 0);
        TransferRow {
            workload: NONE,
            flow: index as u64,
            number: number as u64,
            pair: 0,
            size_bytes: of.size.as_u64(),
            start_ns: of.began.as_nanos(),
            finished_ns: nanos(of.finished),
            ideal_ns: time(ideal),
            delivered_bytes: of.finished.map_or(NONE, |_| of.size.as_u64()),
            retransmitted_packets: NONE,
            timeouts: NONE,
        }
    }

    /// A transfer of a workload; `None` for the further connections of a page.
    fn of_workload(&mut self, flow: &Flow, start: Instant, source: &Source, end: End) -> Option<TransferRow> {
        let part = flow.part?;
        let mut row = TransferRow {
            workload: part.workload.into(),
            flow: NONE,
            number: part.number.into(),
            pair: part.pair.into(),
            size_bytes: 0,
            start_ns: start.as_nanos(),
            finished_ns: nanos(end.finished),
            ideal_ns: NONE,
            delivered_bytes: end.delivered.as_u64(),
            retransmitted_packets: end.retransmitted_packets.unwrap_or(NONE),
            timeouts: end.timeouts.unwrap_or(NONE),
        };
        match &flow.traffic {
            Traffic::Bulk { size: Some(size) } => {
                row.size_bytes = size.as_u64();
                row.ideal_ns = time(self.paths.transfer(self.scenario, flow, *size));
            }
            Traffic::Page(page) => {
                if part.connection > 0 {
                    return None;
                }
                let load = source.exchange().and_then(|exchange| exchange.page());
                row.size_bytes = page.objects.iter().map(|size| size.as_u64()).sum();
                row.finished_ns = nanos(load.and_then(|load| load.finished()));
                row.ideal_ns = time(self.paths.page(self.scenario, flow, page));
                row.delivered_bytes = if row.finished_ns == NONE { NONE } else { row.size_bytes };
                (row.retransmitted_packets, row.timeouts) = (NONE, NONE);
            }
            _ => {
                let exchange = source.exchange()?;
                // A request whose time to be written was not reached has not begun.
                let of = exchange.exchanged().first()?;
                row.size_bytes = of.size.as_u64();
                row.finished_ns = nanos(of.finished);
                row.ideal_ns = time(self.paths.exchange(self.scenario, flow, (exchange.request(), of.size), true));
            }
        }
        Some(row)
    }
}

/// The row of a flow's video player.
#[must_use]
pub fn playback_row(flow: usize, told: &Playback) -> PlaybackTotal {
    PlaybackTotal {
        flow: flow as u64,
        segments: told.segments,
        switches: told.switches,
        media_ns: told.media.as_nanos(),
        media_bits: told.media_bits,
        started_ns: nanos(told.started),
        stalls: told.stalls,
        stalled_ns: told.stalled.as_nanos(),
        played_ns: told.played.as_nanos(),
    }
}

fn nanos(at: Option<Instant>) -> u64 {
    at.map_or(NONE, Instant::as_nanos)
}

fn time(time: Option<Duration>) -> u64 {
    time.map_or(NONE, Duration::as_nanos)
}
