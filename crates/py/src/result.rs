//! The class `Result`: what a run yields, as tables of little-endian words.

use crate::run::run_error;
use crate::{PyResultOf, Stopped, live};
use narrows_samples::{
    Counter, Data, DatagramTotals, Fault, FlowSamples, FlowTotals, ImpairmentTotals, Packed, Plain, PlaybackTotals,
    QueueSamples, QueueTotals, RouterSamples, RouterTotals, Samples, Series, StateSamples, StationTotals,
    SubqueueSamples, SubqueueTotals, Table, Transfers, named,
};
use narrows_scenario::{outcome_json, series_json};
use narrows_sim::{Outcome, Progress, RunError};
use narrows_units::Variable;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The outcome of one run; the conditions of a live one; and the progress that can stop the conversion.
#[pyclass(name = "Result", frozen)]
pub(crate) struct PyResult(pub(crate) Outcome, pub(crate) Option<narrows_live::Conditions>, pub(crate) Arc<Progress>);

#[pymethods]
impl PyResult {
    /// Compute SHA-256 of the samples.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResultOf<String> {
        let digest = || self.0.digest_unless_stopped(&self.2);
        // Passing the interpreter's lock to another thread and back takes as long as the digest of a short run.
        let made = if rows_of(&self.0.samples) < FEW { digest() } else { py.detach(digest) };
        made.map_err(|fault| lost(&fault))
    }

    /// Return what came of the scenario's test case as JSON.
    fn case(&self) -> Option<String> {
        self.0.case.as_ref().map(|(case, outcome)| outcome_json(case, outcome).to_string())
    }

    /// Return the recorded variables of the test case as JSON.
    fn case_series(&self) -> Option<String> {
        let (case, outcome) = self.0.case.as_ref()?;
        outcome.series.as_ref().map(|series| series_json(case, series).to_string())
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }

    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets
    }

    #[getter]
    fn flow_names(&self) -> Vec<String> {
        self.0.samples.flow_names.clone()
    }

    #[getter]
    fn queue_names(&self) -> Vec<String> {
        self.0.samples.queue_names.clone()
    }

    #[getter]
    fn router_names(&self) -> Vec<String> {
        self.0.samples.router_names.clone()
    }

    #[getter]
    fn station_names(&self) -> Vec<String> {
        self.0.samples.station_names.clone()
    }

    #[getter]
    fn channel_names(&self) -> Vec<String> {
        self.0.samples.channel_names.clone()
    }

    /// Return sub-queues in the order of their totals: index of the queue, index in it, and label.
    #[getter]
    fn subqueue_names(&self) -> Vec<(u64, u64, String)> {
        let Samples { subqueue_totals: totals, subqueue_names, .. } = &self.0.samples;
        let places = totals.queue.iter().copied().zip(totals.subqueue.iter().copied());
        places.zip(subqueue_names).map(|((queue, subqueue), label)| (queue, subqueue, label.clone())).collect()
    }

    /// Return the names of workloads, in the order of the index in the table of transfers.
    #[getter]
    fn workload_names(&self) -> Vec<String> {
        self.0.samples.workload_names.clone()
    }

    /// Return the conditions of a live run; None for a simulated one.
    fn conditions<'py>(&self, py: Python<'py>) -> PyResultOf<Option<Bound<'py, PyDict>>> {
        self.1.as_ref().map(|told| live::conditions(py, told)).transpose()
    }

    /// Return the totals: columns as (name, unit, meaning, little-endian u64 values); 2^64-1 is "no value".
    fn tables<'py>(&self, py: Python<'py>) -> PyResultOf<Bound<'py, PyDict>> {
        let Samples { flow_totals, queue_totals, router_totals, station_totals, subqueue_totals, counters, .. } =
            &self.0.samples;
        let Samples { transfers, playback_totals, datagram_totals, impairment_totals, .. } = &self.0.samples;
        let tables = PyDict::new(py);
        let progress = Some(&*self.2);
        tables.set_item(FlowTotals::NAME, columns(py, flow_totals, &counters.flow_totals, progress)?)?;
        tables.set_item(QueueTotals::NAME, columns(py, queue_totals, &[], progress)?)?;
        tables.set_item(RouterTotals::NAME, columns(py, router_totals, &counters.router_totals, progress)?)?;
        tables.set_item(StationTotals::NAME, columns(py, station_totals, &[], progress)?)?;
        tables.set_item(SubqueueTotals::NAME, columns(py, subqueue_totals, &[], progress)?)?;
        tables.set_item(Transfers::NAME, columns(py, transfers, &[], progress)?)?;
        tables.set_item(DatagramTotals::NAME, columns(py, datagram_totals, &[], progress)?)?;
        tables.set_item(ImpairmentTotals::NAME, columns(py, impairment_totals, &[], progress)?)?;
        tables.set_item(PlaybackTotals::NAME, columns(py, playback_totals, &[], progress)?)?;
        Ok(tables)
    }

    /// Return `count` rows of a table of totals from row `begin`, as far as there are some: dicts, with None for
    /// "no value".
    fn rows<'py>(&self, py: Python<'py>, table: &str, begin: usize, count: usize) -> PyResultOf<Bound<'py, PyList>> {
        let Samples { flow_totals, queue_totals, router_totals, station_totals, subqueue_totals, counters, .. } =
            &self.0.samples;
        let Samples { transfers, playback_totals, datagram_totals, impairment_totals, .. } = &self.0.samples;
        if self.2.stopped() {
            return Err(run_error(RunError::Stopped));
        }
        let part = begin..begin.saturating_add(count);
        match table {
            FlowTotals::NAME => rows(py, flow_totals, &counters.flow_totals, part),
            QueueTotals::NAME => rows(py, queue_totals, &[], part),
            RouterTotals::NAME => rows(py, router_totals, &counters.router_totals, part),
            StationTotals::NAME => rows(py, station_totals, &[], part),
            SubqueueTotals::NAME => rows(py, subqueue_totals, &[], part),
            Transfers::NAME => rows(py, transfers, &[], part),
            DatagramTotals::NAME => rows(py, datagram_totals, &[], part),
            ImpairmentTotals::NAME => rows(py, impairment_totals, &[], part),
            PlaybackTotals::NAME => rows(py, playback_totals, &[], part),
            _ => Err(PyValueError::new_err(format!("there is no table of totals {table}"))),
        }
    }

    /// Return the totals of flows or queues: names of the columns, and the values row after row, as little-endian u64;
    /// 2^64-1 is "no value".
    fn totals<'py>(&self, py: Python<'py>, table: &str) -> PyResultOf<(Bound<'py, PyTuple>, Bound<'py, PyBytes>)> {
        let Samples { flow_totals, queue_totals, counters, .. } = &self.0.samples;
        match table {
            FlowTotals::NAME => matrix(py, flow_totals, &counters.flow_totals),
            QueueTotals::NAME => matrix(py, queue_totals, &[]),
            _ => Err(PyValueError::new_err(format!("there are no totals {table} as a matrix"))),
        }
    }

    /// Return what the rows of `state` describe, by the index in their column `series`: kind of object, its index,
    /// algorithm, variable, unit, meaning, and words for the values 0, 1, 2 ...
    fn series(&self) -> Vec<SeriesTuple> {
        let told = |series: &Series| {
            let Series { owner, index, algorithm, variable: Variable { name, unit, doc, words } } = series;
            (owner.word(), *index, algorithm.clone(), *name, *unit, *doc, words.to_vec())
        };
        self.0.samples.series.iter().map(told).collect()
    }

    /// Return how many rows the samples of flows, queues, routers, sub-queues or state have, and in how many chunks.
    fn sampled(&self, table: &str) -> PyResultOf<(usize, usize)> {
        let Samples { flows, queues, routers, subqueues, state, .. } = &self.0.samples;
        match table {
            FlowSamples::NAME => Ok((flows.len(), flows.chunks())),
            QueueSamples::NAME => Ok((queues.len(), queues.chunks())),
            RouterSamples::NAME => Ok((routers.len(), routers.chunks())),
            StateSamples::NAME => Ok((state.len(), state.chunks())),
            SubqueueSamples::NAME => Ok((subqueues.len(), subqueues.chunks())),
            _ => Err(no_table(table)),
        }
    }

    /// Return a chunk of the samples of flows, queues, routers, sub-queues or state: columns as in `tables`.
    fn chunk<'py>(&self, py: Python<'py>, table: &str, number: usize) -> PyResultOf<Bound<'py, PyList>> {
        let Samples { flows, queues, routers, subqueues, state, counters, .. } = &self.0.samples;
        match table {
            FlowSamples::NAME => unpacked(py, flows, &counters.flows, number),
            QueueSamples::NAME => unpacked(py, queues, &[], number),
            RouterSamples::NAME => unpacked(py, routers, &counters.routers, number),
            StateSamples::NAME => unpacked(py, state, &[], number),
            SubqueueSamples::NAME => unpacked(py, subqueues, &[], number),
            _ => Err(no_table(table)),
        }
    }
}

/// A series of state: kind of object, its index, algorithm, variable, unit, meaning, words for its values.
type SeriesTuple = (&'static str, u64, String, &'static str, &'static str, &'static str, Vec<&'static str>);

fn no_table(name: &str) -> PyErr {
    let known = [FlowSamples::NAME, QueueSamples::NAME, RouterSamples::NAME, SubqueueSamples::NAME, StateSamples::NAME]
        .join(", ");
    PyValueError::new_err(format!("there is no table {name}; allowed: {known}"))
}

/// Converts a failure to keep or read samples to a Python exception.
pub(crate) fn lost(fault: &Fault) -> PyErr {
    match fault {
        Fault::OutOfMemory => PyMemoryError::new_err(fault.to_string()),
        Fault::Disk(_) => PyOSError::new_err(fault.to_string()),
        Fault::Stopped => Stopped::new_err(fault.to_string()),
    }
}

fn unpacked<'py, T: Plain + Send + Sync>(
    py: Python<'py>,
    table: &Packed<T>,
    counters: &[Counter],
    number: usize,
) -> PyResultOf<Bound<'py, PyList>>
where
    T::Cells: Send + Sync,
{
    let chunk = py.detach(|| table.chunk(number)).map_err(|fault| lost(&fault))?;
    columns(py, &chunk, counters, None)
}

fn columns<'py, T: Table>(
    py: Python<'py>,
    table: &T,
    counters: &[Counter],
    progress: Option<&Progress>,
) -> PyResultOf<Bound<'py, PyList>> {
    let columns = PyList::empty(py);
    for (column, data) in named(table, counters) {
        give_way(py, table.len(), progress)?;
        let bytes = PyBytes::new_with(py, table.len() * 8, |buffer| {
            let mut cells = buffer.chunks_exact_mut(8);
            let copied = data.for_each_part(|values| {
                // Values come first: a zip does not advance its second iterator once the first has ended.
                for (value, cell) in values.iter().zip(cells.by_ref()) {
                    cell.copy_from_slice(&value.to_le_bytes());
                }
                Ok(())
            });
            copied.map_err(|fault| lost(&fault))
        })?;
        columns.append((column.name, column.unit, column.doc, bytes))?;
    }
    Ok(columns)
}

fn rows<'py, T: Table>(
    py: Python<'py>,
    table: &T,
    counters: &[Counter],
    part: Range<usize>,
) -> PyResultOf<Bound<'py, PyList>> {
    let made = PyList::empty(py);
    let part = part.start..part.end.min(table.len());
    if part.is_empty() {
        return Ok(made);
    }
    let columns = named(table, counters).into_iter().map(|(column, data)| {
        let values = match data {
            Data::Plain(values) => Cow::Borrowed(values),
            // One value for all rows.
            Data::Same(value, _) => Cow::Owned(vec![value]),
            Data::Packed(_) => Cow::Owned(data.to_vec().map_err(|fault| lost(&fault))?),
        };
        Ok((PyString::intern(py, column.name), values))
    });
    let columns: Vec<_> = columns.collect::<PyResultOf<_>>()?;
    for row in part {
        let dict = PyDict::new(py);
        for (name, values) in &columns {
            let value = values.get(row).or_else(|| values.first()).copied();
            // The table has signed numbers too; all others are below 2^63.
            dict.set_item(name, value.filter(|&value| value != u64::MAX).map(u64::cast_signed))?;
        }
        made.append(dict)?;
    }
    Ok(made)
}

/// The names of a table's columns, and its values row by row.
fn matrix<'py, T: Table>(
    py: Python<'py>,
    table: &T,
    counters: &[Counter],
) -> PyResultOf<(Bound<'py, PyTuple>, Bound<'py, PyBytes>)> {
    let columns = named(table, counters);
    let names = PyTuple::new(py, columns.iter().map(|(column, _)| PyString::intern(py, column.name)))?;
    let row = columns.len() * 8;
    let bytes = PyBytes::new_with(py, table.len() * row, |buffer| {
        for (number, (_, data)) in columns.iter().enumerate() {
            let mut rows = buffer.chunks_exact_mut(row);
            let copied = data.for_each_part(|values| {
                // Values come first: a zip does not advance its second iterator once the first has ended.
                for (value, cells) in values.iter().zip(rows.by_ref()) {
                    cells[number * 8..][..8].copy_from_slice(&value.to_le_bytes());
                }
                Ok(())
            });
            copied.map_err(|fault| lost(&fault))?;
        }
        Ok(())
    })?;
    Ok((names, bytes))
}

/// About how many rows a digest covers.
fn rows_of(samples: &Samples) -> usize {
    let Samples { flows, queues, routers, subqueues, state, flow_totals, queue_totals, transfers, .. } = samples;
    let sampled = flows.len() + queues.len() + routers.len() + subqueues.len() + state.len();
    sampled + flow_totals.len() + queue_totals.len() + transfers.len()
}

/// Lets other threads run, including one that may stop this, between columns of a table that is not small.
fn give_way(py: Python<'_>, rows: usize, progress: Option<&Progress>) -> PyResultOf<()> {
    if rows >= MANY {
        py.detach(std::thread::yield_now);
    }
    if progress.is_some_and(Progress::stopped) { Err(run_error(RunError::Stopped)) } else { Ok(()) }
}

/// Rows from which copying a column takes longer than letting other threads run.
const MANY: usize = 1000;

/// Rows up to which a digest takes less time than letting other threads run.
const FEW: usize = 100;
