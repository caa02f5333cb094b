//! Samples of a run on several threads: each part makes the rows of its own queues and flows, and two parts write them
//! in the order in which one thread writes them, one the rows of queues and one the rows of flows.

use super::cut::Cut;
use crate::edge::Link;
use crate::world::World;
use narrows_samples::{FlowRow, Probe, QueueRow, Samples};
use narrows_scenario::Sampling;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The part that writes the rows of queues.
pub(super) const QUEUES_BY: usize = 0;
/// The part that writes the rows of flows.
pub(super) const FLOWS_BY: usize = 1;

/// Rows that a part has made since it last handed them over.
#[derive(Debug, Default)]
pub(super) struct Rows {
    queues: Vec<QueueRow>,
    flows: Vec<FlowRow>,
    /// Losses of flows of other parts: the time of the sample that shows them, and the flow.
    lost: Vec<(u64, u32)>,
}

/// Where parts put rows for those that write them.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    queues: Mutex<Vec<QueueRow>>,
    flows: Mutex<FlowBox>,
}

type FlowBox = (Vec<FlowRow>, Vec<(u64, u32)>);

/// A lock that a part that panicked held is of no matter: the run ends without a result.
fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rows {
    /// Hands all rows over. The boxes give back what they had: empty vectors with room.
    pub(super) fn put_into(&mut self, boxes: &Boxes) {
        if !self.queues.is_empty() {
            core::mem::swap(&mut *open(&boxes.queues), &mut self.queues);
        }
        if !self.flows.is_empty() || !self.lost.is_empty() {
            let mut flows = open(&boxes.flows);
            core::mem::swap(&mut flows.0, &mut self.flows);
            core::mem::swap(&mut flows.1, &mut self.lost);
        }
    }
}

/// Where a part writes rows of all parts.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    samples: &'a mut Samples,
    /// Per flow: losses in other parts.
    lost: Vec<u64>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(samples: &'a mut Samples, flows: usize) -> Self {
        Self { samples, lost: vec![0; flows] }
    }

    /// Writes what part `own` has to write of the boxes' rows, and empties those; returns whether all is well.
    pub(super) fn write(&mut self, own: usize, boxes: &[Boxes], cut: &Cut) -> bool {
        if own == QUEUES_BY {
            let mut rows: Vec<_> = boxes.iter().map(|part| open(&part.queues)).collect();
            let of_parts: Vec<&[QueueRow]> = rows.iter().map(|rows| rows.as_slice()).collect();
            in_order(&of_parts, cut.queues(), |row| (row.time_ns, row.queue), |row| self.samples.queue(row));
            rows.iter_mut().for_each(|rows| rows.clear());
        }
        if own == FLOWS_BY {
            let mut rows: Vec<_> = boxes.iter().map(|part| open(&part.flows)).collect();
            self.write_flows(&rows, cut);
            rows.iter_mut().for_each(|rows| {
                rows.0.clear();
                rows.1.clear();
            });
        }
        self.samples.fault().is_none()
    }

    fn write_flows(&mut self, boxes: &[MutexGuard<'_, FlowBox>], cut: &Cut) {
        let of_parts: Vec<&[FlowRow]> = boxes.iter().map(|part| part.0.as_slice()).collect();
        let mut counted = vec![0; boxes.len()];
        let lost = &mut self.lost;
        let mut count = |until: u64, lost: &mut Vec<u64>| {
            for (part, counted) in boxes.iter().zip(&mut counted) {
                while let Some(&(time, flow)) = part.1.get(*counted)
                    && time <= until
                {
                    lost[flow as usize] += 1;
                    *counted += 1;
                }
            }
        };
        let mut time = None;
        let samples = &mut self.samples;
        in_order(
            &of_parts,
            cut.flows(),
            |row| (row.time_ns, row.flow),
            |row| {
                if time != Some(row.time_ns) {
                    time = Some(row.time_ns);
                    count(row.time_ns, lost);
                }
                let elsewhere = lost[row.flow as usize];
                samples.flow(&FlowRow { lost_packets: row.lost_packets + elsewhere, ..*row });
            },
        );
        count(u64::MAX, lost);
    }
}

/// Calls `put` with the rows of all parts, by time and then by index. `key` returns both of a row; `owners` has the
/// part of each index; the rows of a part are in this order already.
fn in_order<R>(parts: &[&[R]], owners: &[u8], key: impl Fn(&R) -> (u64, u64), mut put: impl FnMut(&R)) {
    let mut at = vec![0; parts.len()];
    while let Some(time) = parts.iter().zip(&at).filter_map(|(rows, &at)| rows.get(at)).map(|row| key(row).0).min() {
        for (index, &owner) in owners.iter().enumerate() {
            let at = &mut at[usize::from(owner)];
            if let Some(row) = parts[usize::from(owner)].get(*at)
                && key(row) == (time, index as u64)
            {
                put(row);
                *at += 1;
            }
        }
    }
}

impl World<'_> {
    /// Samples the queues and flows of this part, and arms the next sample.
    pub(super) fn sample_share(&mut self) {
        self.end_trains();
        let Some(mut share) = self.share.take() else { return };
        let now = self.now;
        let own = |&(_, &owner): &(usize, &u8)| owner == share.own;
        let rows = &mut share.rows;
        for (edge, _) in share.cut.queues().iter().enumerate().filter(own) {
            if let Link::Line(line) = &mut self.links[edge] {
                let row = line.look(now);
                rows.queues.push(QueueRow { time_ns: now.as_nanos(), queue: edge as u64, ..row });
            }
        }
        self.losses.count(now, &mut self.flows);
        let owners = share.cut.flows();
        let elsewhere = self.losses.told().filter(|&flow| owners[flow as usize] != share.own);
        rows.lost.extend(elsewhere.map(|flow| (now.as_nanos(), flow)));
        for (flow, _) in owners.iter().enumerate().take(self.listed).filter(own) {
            if self.flows[flow].start <= now {
                rows.flows.push(self.flow_row(flow));
            }
        }
        if share.own != 0 {
            // One thread has one event for the samples of an instant.
            self.events -= 1;
        }
        if let Sampling::Interval(every) = self.sampling {
            self.agenda.arm(self.slots.sampler(), now + every);
            self.ahead.sampled(now + every);
        }
        self.share = Some(share);
    }
}
