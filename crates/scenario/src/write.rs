//! Checked values as JSON, as TOML and as text. The schema's rows determine the output.

use crate::quantity::{Amount, Scaled, show_lapse, show_limit, show_rate, show_size, show_time};
use crate::record::{Item, Record, Value};
use crate::schema::{Field, Kind, Live, TCP, Table};
use crate::types::Tcp;
use serde_json::json;

/// A TCP setting of a flow in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key below `tcp`, such as `rto.min`.
    pub name: String,
    /// Its value, as scenario files write it but without quotes.
    pub value: String,
    /// Whether a live run can honour it. Otherwise Linux's own value applies to every connection.
    pub honoured: bool,
}

impl Tcp {
    /// Returns all settings as a checked table, in the order of the format.
    pub(crate) fn record(&self) -> Record {
        let value = |field: &Field| Some((field.key, (field.lens?.get)(self)));
        Record::of(&TCP, TCP.fields().filter_map(value))
    }

    /// Returns all settings in words, in the order of the format. A setting that is a table has an entry for each of
    /// its keys.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let mut list = Vec::new();
        for (field, item) in fields(&self.record()) {
            let honoured = field.live == Live::Honoured;
            let mut push = |name, item: &Item| list.push(Setting { name, value: words(&item.value), honoured });
            match &item.value {
                Value::Table(inner) => {
                    inner.entries.iter().for_each(|(key, _, item)| push(format!("{}.{key}", field.key), item));
                }
                _ => push(field.key.to_owned(), item),
            }
        }
        list
    }
}

/// Returns the fields that a table sets, and their values.
fn fields(record: &Record) -> impl Iterator<Item = (&'static Field, &Item)> {
    let table: &'static Table = record.table;
    record.entries.iter().filter_map(|(key, _, item)| Some((table.field(key)?, item)))
}

/// Returns a table as JSON. Numbers are in the base units that their keys end in; `null` is no value or no table.
pub(crate) fn json(record: &Record) -> serde_json::Value {
    fields(record)
        .map(|(field, item)| (json_key(field), json_value(&item.value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Returns a field's key in JSON, which ends in the base unit of the value.
fn json_key(field: &Field) -> String {
    let unit = match &field.kind {
        Kind::Or(kind, _) => base_unit(kind),
        kind => base_unit(kind),
    };
    match (unit, field.unit) {
        (None, "") => field.key.to_owned(),
        (Some(unit), _) | (None, unit) => format!("{}_{unit}", field.key),
    }
}

const fn base_unit(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Rate(..) => Some("bps"),
        Kind::Time(..) => Some("ns"),
        Kind::Size(..) => Some("bytes"),
        _ => None,
    }
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Bad | Value::Off | Value::Absent(_) => serde_json::Value::Null,
        Value::Switch(on) => json!(on),
        Value::Integer(n) => json!(n),
        Value::Number(n) => json!(n),
        Value::Probability(p) => json!(p.as_f64()),
        Value::Rate(rate) => json!(rate.as_bps()),
        Value::Time(time) => json!(time.as_nanos()),
        Value::Size(size) => json!(size.as_u64()),
        Value::Lapse(lapse) => json!(show_lapse(*lapse)),
        Value::Scaled(Scaled(times)) => json!(times),
        Value::Table(record) => json(record),
        Value::Tables(records) => records.iter().map(json).collect(),
        Value::Names(items) => items.iter().map(|item| json_value(&item.value)).collect(),
        Value::Params(list) => {
            let params = list.iter().map(|(key, item)| (key.clone(), json_value(&item.value)));
            params.collect::<serde_json::Map<_, _>>().into()
        }
        Value::Text(_) | Value::Limit(_) | Value::Amount(_) | Value::Word(_) | Value::Address(_) | Value::Raw(_) => {
            json!(words(value))
        }
    }
}

/// Returns a value as text: as in TOML, but without quotes.
pub(crate) fn words(value: &Value) -> String {
    match value {
        Value::Bad => String::new(),
        Value::Off => "false".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Raw(tree) => tree.show(),
        Value::Word(word) | Value::Absent(word) => (*word).to_owned(),
        Value::Switch(on) => on.to_string(),
        Value::Integer(n) => n.to_string(),
        // The shortest decimal that reads back as the same float.
        Value::Number(n) => format!("{n:?}"),
        Value::Probability(p) => format!("{:?}", p.as_f64()),
        Value::Rate(rate) => show_rate(*rate),
        Value::Time(time) => show_time(*time),
        Value::Size(size) => show_size(*size),
        Value::Limit(limit) => show_limit(*limit),
        Value::Lapse(lapse) => show_lapse(*lapse),
        Value::Scaled(Scaled(times)) => format!("{times:?}"),
        Value::Amount(Amount::Bare(n)) => format!("{n:?}"),
        Value::Amount(Amount::Packets(n)) => format!("{n:?} packets"),
        Value::Amount(Amount::Bytes(n)) => format!("{n:?} B"),
        Value::Address(address) => address.to_string(),
        Value::Names(items) => {
            let names: Vec<String> = items.iter().map(|item| words(&item.value)).collect();
            names.join(", ")
        }
        Value::Table(record) => {
            let pairs: Vec<String> =
                record.entries.iter().map(|(key, _, item)| format!("{key} {}", words(&item.value))).collect();
            pairs.join(", ")
        }
        Value::Tables(records) => {
            let tables: Vec<String> = records.iter().map(|record| words(&Value::Table(record.clone()))).collect();
            tables.join("; ")
        }
        Value::Params(list) => {
            let pairs: Vec<String> = list.iter().map(|(key, item)| format!("{key} {}", words(&item.value))).collect();
            pairs.join(", ")
        }
    }
}
