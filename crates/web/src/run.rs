//! The class `Run`: what a run yields, as typed arrays.

use crate::objects::{number, object, strings, text};
use crate::packets::{Log, Rows, WHAT};
use js_sys::{Array, Float64Array, Uint8Array, Uint16Array, Uint32Array};
use narrows_samples::{
    Column, Counter, Data, DatagramTotals, Fault, FlowSamples, FlowTotals, ImpairmentTotals, PlaybackTotals,
    QueueSamples, QueueTotals, RouterSamples, RouterTotals, Samples, StateSamples, StationTotals, SubqueueSamples,
    SubqueueTotals, Table, Transfers, named,
};
use narrows_sim::Outcome;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// The outcome of one run.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Run {
    outcome: Outcome,
    log: Option<Arc<Log>>,
}

/// A column's description with its values.
type Named<'a> = (Column, Data<'a>);

impl Run {
    pub(crate) const fn new(outcome: Outcome, log: Option<Arc<Log>>) -> Self {
        Self { outcome, log }
    }

    /// The tables by name: samples over time first, then totals.
    fn named_tables(&self) -> Vec<(&'static str, usize, Vec<Named<'_>>)> {
        fn of<'a, T: Table>(table: &'a T, counters: &[Counter]) -> (&'static str, usize, Vec<Named<'a>>) {
            (T::NAME, table.len(), named(table, counters))
        }
        let Samples { flows, queues, routers, subqueues, state, counters, .. } = &self.outcome.samples;
        let Samples { flow_totals, queue_totals, router_totals, station_totals, subqueue_totals, .. } =
            &self.outcome.samples;
        let Samples { transfers, playback_totals, datagram_totals, impairment_totals, .. } = &self.outcome.samples;
        vec![
            of(flows, &counters.flows),
            of(queues, &[]),
            of(routers, &counters.routers),
            of(subqueues, &[]),
            of(state, &[]),
            of(flow_totals, &counters.flow_totals),
            of(queue_totals, &[]),
            of(router_totals, &counters.router_totals),
            of(station_totals, &[]),
            of(subqueue_totals, &[]),
            of(transfers, &[]),
            of(playback_totals, &[]),
            of(datagram_totals, &[]),
            of(impairment_totals, &[]),
        ]
    }
}

/// Names of all tables, for messages.
const TABLES: [&str; 14] = [
    FlowSamples::NAME,
    QueueSamples::NAME,
    RouterSamples::NAME,
    SubqueueSamples::NAME,
    StateSamples::NAME,
    FlowTotals::NAME,
    QueueTotals::NAME,
    RouterTotals::NAME,
    StationTotals::NAME,
    SubqueueTotals::NAME,
    Transfers::NAME,
    PlaybackTotals::NAME,
    DatagramTotals::NAME,
    ImpairmentTotals::NAME,
];

fn lost(fault: &Fault) -> JsError {
    JsError::new(&fault.to_string())
}

#[wasm_bindgen]
impl Run {
    /// Computes SHA-256 of the samples: the digest that every platform gives.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn digest(&self) -> Result<String, JsError> {
        self.outcome.digest().map_err(|fault| lost(&fault))
    }

    /// Events that the loop handled.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn events(&self) -> f64 {
        self.outcome.events as f64
    }

    /// Packets that arrived at a node, counted at every hop.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn packets(&self) -> f64 {
        self.outcome.packets as f64
    }

    /// Names by kind: `flows`, `queues`, `routers`, `stations`, `channels`, `workloads`, and `subqueues` as arrays of
    /// queue, index in the queue, and label.
    #[must_use]
    pub fn names(&self) -> JsValue {
        let samples = &self.outcome.samples;
        let totals = &samples.subqueue_totals;
        let places = totals.queue.iter().zip(&totals.subqueue).zip(&samples.subqueue_names);
        let subqueue = |((queue, index), label): ((&u64, &u64), &String)| -> JsValue {
            [number(*queue).into(), number(*index).into(), JsValue::from_str(label)]
                .into_iter()
                .collect::<Array>()
                .into()
        };
        object([
            ("flows", strings(&samples.flow_names)),
            ("queues", strings(&samples.queue_names)),
            ("routers", strings(&samples.router_names)),
            ("stations", strings(&samples.station_names)),
            ("channels", strings(&samples.channel_names)),
            ("workloads", strings(&samples.workload_names)),
            ("subqueues", places.map(subqueue).collect::<Array>().into()),
        ])
    }

    /// The tables: objects with `name`, `rows`, and `columns`, objects with `name`, `unit` and `doc`.
    #[must_use]
    pub fn tables(&self) -> JsValue {
        let column = |(column, _): &Named<'_>| {
            object([("name", column.name.into()), ("unit", column.unit.into()), ("doc", column.doc.into())])
        };
        let table = |(name, rows, columns): (&str, usize, Vec<Named<'_>>)| {
            let columns: Array = columns.iter().map(column).collect();
            object([("name", name.into()), ("rows", (rows as f64).into()), ("columns", columns.into())])
        };
        self.named_tables().into_iter().map(table).collect::<Array>().into()
    }

    /// A column's values; NaN is "no value". Integers above 2^53 are rounded.
    ///
    /// # Errors
    /// There is no such table or column, or not enough memory.
    pub fn column(&self, table: &str, column: &str) -> Result<Float64Array, JsError> {
        let tables = self.named_tables();
        let Some((_, rows, columns)) = tables.into_iter().find(|(name, _, _)| *name == table) else {
            return Err(JsError::new(&format!("there is no table {table}; allowed: {}", TABLES.join(", "))));
        };
        let Some((_, data)) = columns.iter().find(|(one, _)| one.name == column) else {
            let names: Vec<&str> = columns.iter().map(|(one, _)| one.name).collect();
            return Err(JsError::new(&format!("{table} has no column {column}; allowed: {}", names.join(", "))));
        };
        let mut values = Vec::with_capacity(rows);
        data.for_each_part(|part| {
            values.extend(part.iter().copied().map(number));
            Ok(())
        })
        .map_err(|fault| lost(&fault))?;
        Ok(Float64Array::from(values.as_slice()))
    }

    /// What the rows of `state` describe, by the number in their column `series`: objects with `owner` (kind of
    /// object), `index`, `algorithm`, `variable`, `unit`, `doc`, and `words` for the values 0, 1, 2 ...
    #[must_use]
    pub fn series(&self) -> JsValue {
        let one = |series: &narrows_samples::Series| {
            let variable = &series.variable;
            object([
                ("owner", series.owner.word().into()),
                ("index", number(series.index).into()),
                ("algorithm", text(Some(&series.algorithm))),
                ("variable", variable.name.into()),
                ("unit", variable.unit.into()),
                ("doc", variable.doc.into()),
                ("words", strings(variable.words)),
            ])
        };
        self.outcome.samples.series.iter().map(one).collect::<Array>().into()
    }

    /// The packets of a run that was asked for them, as typed arrays by column; null for another. `what` has an index
    /// into `words`; `left_out` counts the packets that did not fit.
    #[must_use]
    pub fn log(&self) -> JsValue {
        let Some(log) = &self.log else { return JsValue::NULL };
        let Rows {
            time_ns,
            edge,
            what,
            flow,
            along,
            bytes,
            payload,
            seq,
            ack,
            window,
            flags,
            ecn,
            identity,
            airtime_ns,
            sender,
            receiver,
            kind,
            sack_row,
            sack_left,
            sack_right,
            left_out,
        } = log.rows();
        let (f64s, u32s) =
            (|v: &Vec<f64>| Float64Array::from(&v[..]).into(), |v: &Vec<u32>| Uint32Array::from(&v[..]).into());
        let (u16s, u8s) =
            (|v: &Vec<u16>| Uint16Array::from(&v[..]).into(), |v: &Vec<u8>| Uint8Array::from(&v[..]).into());
        object([
            ("words", strings(&WHAT)),
            ("time_ns", f64s(&time_ns)),
            ("edge", u32s(&edge)),
            ("what", u8s(&what)),
            ("flow", u32s(&flow)),
            ("along", u8s(&along)),
            ("bytes", u32s(&bytes)),
            ("payload", u32s(&payload)),
            ("seq", u32s(&seq)),
            ("ack", u32s(&ack)),
            ("window", u32s(&window)),
            ("flags", u16s(&flags)),
            ("ecn", u8s(&ecn)),
            ("identity", u32s(&identity)),
            ("airtime_ns", f64s(&airtime_ns)),
            ("sender", u16s(&sender)),
            ("receiver", u16s(&receiver)),
            ("kind", u8s(&kind)),
            ("sack_row", u32s(&sack_row)),
            ("sack_left", u32s(&sack_left)),
            ("sack_right", u32s(&sack_right)),
            ("left_out", left_out.into()),
        ])
    }
}
