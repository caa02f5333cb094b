//! Impairments of links: the rules among their keys, and their values.

use super::Build;
use crate::check::Path;
use crate::quantity::show_time;
use crate::record::{FromValue, Item, Record, ToValue, Value};
use crate::schema::impair::{AGGREGATION, DECIMATION, DUPLICATE, IMPAIRMENTS, JITTER, OUTAGE, REORDER};
use crate::types::{AckDecimation, Duplicate, Impairments, Jitter, LinkAggregation, Outage, Reorder};
use narrows_units::{Duration, Instant, Probability};
use std::sync::Arc;

/// A table that gives impairments, and its path.
type Layer<'a> = (&'a Record, &'a Path<'a>);

impl Build<'_> {
    /// Returns a direction's impairments, each from the direction's own table if that gives it, else from the link's:
    /// `Some(None)` if it has none, `None` if one is wrong.
    pub(super) fn impairments(
        &mut self,
        (own, own_path): (Option<&Record>, &Path<'_>),
        link: Layer<'_>,
    ) -> Option<Option<Arc<Impairments>>> {
        let of = |key: &str| {
            let own = own.filter(|own| own.given(key).is_some()).map(|own| (own, own_path));
            let (record, path) = own.unwrap_or(link);
            (record.given(key), path)
        };
        let reorder = of("reorder");
        let outages = of("outages");
        let found = Impairments {
            jitter: value(of("jitter").0, jitter)?,
            reorder: match reorder.0 {
                Some(item) => self.reorder(item, &Path::Key(reorder.1, "reorder"))?,
                None => None,
            },
            duplicate: value(of("duplicate").0, duplicate)?,
            outages: match outages.0 {
                Some(item) => self.outages(item, &Path::Key(outages.1, "outages"))?,
                None => Vec::new(),
            },
            aggregation: value(of("aggregation").0, aggregation)?,
            ack_decimation: value(of("ack_decimation").0, decimation)?,
            ack_loss: of("ack_loss").0.map_or(Some(Probability::ZERO), |item| Probability::from_value(&item.value))?,
        };
        Some((!found.is_empty()).then(|| Arc::new(found)))
    }

    /// Returns a reordering: `Some(None)` for `false`, `None` if it is wrong.
    fn reorder(&mut self, item: &Item, path: &Path<'_>) -> Option<Option<Reorder>> {
        let record = match &item.value {
            Value::Off => return Some(None),
            Value::Table(record) => record,
            _ => return None,
        };
        let given = |key: &str| record.given(key);
        let mut refuse = |key: &str, reason: &str, allowed: &str| {
            let (place, shown) = given(key).map_or((record.place, ""), |item| (item.place, &item.shown));
            self.report.add(place, Path::Key(path, key), shown, reason, allowed);
        };
        match (given("probability"), given("gap")) {
            (None, None) => {
                refuse("probability", "is missing", "a probability, a gap or both");
                return None;
            }
            (None, Some(_)) if given("correlation").is_some() => {
                refuse("correlation", "has no effect without a probability", "only with probability");
            }
            _ => {}
        }
        let probability = match given("probability") {
            Some(item) => Probability::from_value(&item.value)?,
            None => Probability::ONE,
        };
        let gap: u64 = record.get("gap")?;
        if gap == 1 && probability == Probability::ONE {
            let key = if given("gap").is_some() { "gap" } else { "probability" };
            refuse(key, "selects every packet, which reorders none", "a probability below 1, or a gap of 2 or more");
        }
        Some(Some(Reorder {
            delay: record.get("delay")?,
            probability,
            correlation: record.get("correlation")?,
            gap,
            selected: record.get("selected")?,
        }))
    }

    /// Returns outages, which must be in order and begin before the end of the run.
    fn outages(&mut self, item: &Item, path: &Path<'_>) -> Option<Vec<Outage>> {
        let Value::Tables(records) = &item.value else { return None };
        let run = Instant::ZERO + self.duration;
        let mut outages: Vec<Outage> = Vec::with_capacity(records.len());
        let mut whole = true;
        for (index, record) in records.iter().enumerate() {
            let (Some(start), Some(duration), Some(queue)) =
                (record.get::<Duration>("start"), record.get::<Duration>("duration"), record.get("queue"))
            else {
                whole = false;
                continue;
            };
            let start = Instant::ZERO + start;
            let before = outages.last().map(|last| last.start + last.duration);
            let (place, shown) = record.given("start").map_or((record.place, ""), |item| (item.place, &item.shown));
            let mut refuse = |reason: &str, allowed: String| {
                self.report.add(place, Path::Key(&Path::Index(path, index), "start"), shown, reason, allowed);
            };
            if let Some(before) = before.filter(|before| start < *before) {
                let earliest = show_time(before.since(Instant::ZERO));
                refuse("is before the end of the outage before it", format!("at least {earliest}"));
            }
            if start >= run {
                refuse("is not before the end of the run", format!("less than {}", show_time(self.duration)));
            }
            // The end of the run ends an outage: the link then sends nothing more anyway.
            outages.push(Outage { start, duration: duration.min(run.since(start)), queue });
        }
        whole.then_some(outages)
    }
}

/// Returns the value of a key that was given: `Some(None)` if it was not, `None` if it is wrong.
fn value<T>(item: Option<&Item>, read: impl FnOnce(&Value) -> Option<Option<T>>) -> Option<Option<T>> {
    item.map_or(Some(None), |item| read(&item.value))
}

fn jitter(value: &Value) -> Option<Option<Jitter>> {
    let record = filled(&JITTER, "time", value)?;
    let jitter = Jitter {
        time: record.get("time")?,
        distribution: record.get("distribution")?,
        correlation: record.get("correlation")?,
        order: record.get("order")?,
    };
    Some((!jitter.time.is_zero()).then_some(jitter))
}

fn duplicate(value: &Value) -> Option<Option<Duplicate>> {
    let record = filled(&DUPLICATE, "probability", value)?;
    let duplicate = Duplicate { probability: record.get("probability")?, correlation: record.get("correlation")? };
    Some((!duplicate.probability.is_never()).then_some(duplicate))
}

fn aggregation(value: &Value) -> Option<Option<LinkAggregation>> {
    let record = match value {
        Value::Off => return Some(None),
        Value::Table(record) => record,
        _ => return None,
    };
    let aggregation =
        LinkAggregation { packets: record.get("packets")?, time: record.get("time")?, of: record.get("of")? };
    Some((aggregation.packets > 1).then_some(aggregation))
}

fn decimation(value: &Value) -> Option<Option<AckDecimation>> {
    let record = filled(&DECIMATION, "every", value)?;
    let decimation = AckDecimation { every: record.get("every")?, of: record.get("of")? };
    Some((decimation.every > 1).then_some(decimation))
}

/// Returns the table of a value, which may also be that of the table's first key alone.
fn filled(table: &'static crate::schema::Table, first: &'static str, value: &Value) -> Option<Record> {
    match value {
        Value::Table(record) => Some(record.clone()),
        Value::Bad => None,
        alone => Some(Record::of(table, [(first, alone.clone())])),
    }
}

impl Impairments {
    /// Returns the impairments as a checked table with all keys. Where there is none, a key has the value that says so.
    pub(crate) fn record(&self) -> Record {
        Record::of(
            &IMPAIRMENTS,
            [
                ("jitter", self.jitter.as_ref().map_or(Value::Time(Duration::ZERO), jitter_value)),
                ("reorder", self.reorder.as_ref().map_or(Value::Off, reorder_value)),
                ("duplicate", self.duplicate.as_ref().map_or(Value::Probability(Probability::ZERO), duplicate_value)),
                ("outages", Value::Tables(self.outages.iter().map(outage_record).collect())),
                ("aggregation", self.aggregation.as_ref().map_or(Value::Off, aggregation_value)),
                ("ack_decimation", self.ack_decimation.as_ref().map_or(Value::Integer(1), decimation_value)),
                ("ack_loss", Value::Probability(self.ack_loss)),
            ],
        )
    }
}

impl Impairments {
    /// Returns [`record`](Self::record) with the keys of the impairments that there are.
    pub(crate) fn present(&self) -> Record {
        let mut record = self.record();
        record.entries.retain(|(key, ..)| match *key {
            "jitter" => self.jitter.is_some(),
            "reorder" => self.reorder.is_some(),
            "duplicate" => self.duplicate.is_some(),
            "outages" => !self.outages.is_empty(),
            "aggregation" => self.aggregation.is_some(),
            "ack_decimation" => self.ack_decimation.is_some(),
            _ => !self.ack_loss.is_never(),
        });
        record
    }
}

fn jitter_value(jitter: &Jitter) -> Value {
    Value::Table(Record::of(
        &JITTER,
        [
            ("time", Value::Time(jitter.time)),
            ("distribution", jitter.distribution.to_value()),
            ("correlation", Value::Probability(jitter.correlation)),
            ("order", jitter.order.to_value()),
        ],
    ))
}

fn reorder_value(reorder: &Reorder) -> Value {
    Value::Table(Record::of(
        &REORDER,
        [
            ("delay", Value::Time(reorder.delay)),
            ("probability", Value::Probability(reorder.probability)),
            ("correlation", Value::Probability(reorder.correlation)),
            ("gap", Value::Integer(reorder.gap)),
            ("selected", reorder.selected.to_value()),
        ],
    ))
}

fn duplicate_value(duplicate: &Duplicate) -> Value {
    Value::Table(Record::of(
        &DUPLICATE,
        [
            ("probability", Value::Probability(duplicate.probability)),
            ("correlation", Value::Probability(duplicate.correlation)),
        ],
    ))
}

fn outage_record(outage: &Outage) -> Record {
    Record::of(
        &OUTAGE,
        [
            ("start", Value::Time(outage.start.since(Instant::ZERO))),
            ("duration", Value::Time(outage.duration)),
            ("queue", outage.queue.to_value()),
        ],
    )
}

fn aggregation_value(aggregation: &LinkAggregation) -> Value {
    Value::Table(Record::of(
        &AGGREGATION,
        [
            ("packets", Value::Integer(aggregation.packets)),
            ("time", Value::Time(aggregation.time)),
            ("of", aggregation.of.to_value()),
        ],
    ))
}

fn decimation_value(decimation: &AckDecimation) -> Value {
    Value::Table(Record::of(
        &DECIMATION,
        [("every", Value::Integer(decimation.every)), ("of", decimation.of.to_value())],
    ))
}
