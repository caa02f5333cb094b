//! The JSON Schema (draft 2020-12) of scenario files, generated from the schema, for editors.

use crate::catalogue::{Catalogue, CataloguePhy, show_param};
use crate::check::kind_of;
use crate::dscp;
use crate::quantity::{PACKETS, RATE, ROUNDS, SIZE, TIME, Unit};
use crate::schema::{Field, Kind, NAME_PATTERN, Need, Table, WIFI, Word, root};
use narrows_settings::queue::Discipline;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Address of the JSON Schema: its `$id`, and what the first line of a scenario file names (`#:schema`).
pub const SCHEMA_ID: &str = "https://raw.githubusercontent.com/narrows/narrows/main/docs/scenario.schema.json";

/// Returns the JSON Schema of scenario files, restricted to the catalogue's names. An empty list restricts nothing.
#[must_use]
pub fn schema(catalogue: &Catalogue) -> Value {
    let mut writer = Writer { catalogue, tables: BTreeMap::new() };
    let Value::Object(root) = writer.table(root(&catalogue.schemes)) else { return Value::Null };
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("$id".into(), json!(SCHEMA_ID));
    schema.insert("title".into(), json!("Narrows scenario"));
    schema.extend(root);
    schema.insert("$defs".into(), writer.tables.into_iter().collect::<Map<_, _>>().into());
    Value::Object(schema)
}

struct Writer<'a> {
    catalogue: &'a Catalogue,
    tables: BTreeMap<String, Value>,
}

impl Writer<'_> {
    /// Returns a reference to a table, and writes the table once.
    fn reference(&mut self, table: &'static Table) -> Value {
        if !self.tables.contains_key(table.name) {
            // The placeholder keeps a table that contains itself from recursing without end.
            self.tables.insert(table.name.to_owned(), Value::Null);
            let written = self.table(table);
            self.tables.insert(table.name.to_owned(), written);
        }
        json!({ "$ref": format!("#/$defs/{}", table.name) })
    }

    fn table(&mut self, table: &'static Table) -> Value {
        let mut properties = Map::new();
        for field in table.fields() {
            let value = self.field(field);
            for alias in field.aliases {
                properties.insert((*alias).to_owned(), value.clone());
            }
            properties.insert(field.key.to_owned(), value);
        }
        let queues = table.takes_queue_params();
        let params = if queues { self.queue_params() } else { Map::new() };
        let rules = self.rules(table, &params);
        properties.extend(params);
        let open = queues && self.catalogue.queues.is_empty();
        let required: Vec<&str> = table
            .fields()
            .filter(|field| field.only.is_empty() && field.need == Need::Required)
            .map(|field| field.key)
            .collect();
        let mut schema = Map::new();
        schema.insert("description".into(), json!(table.doc));
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), properties.into());
        schema.insert("additionalProperties".into(), json!(open));
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        if !rules.is_empty() {
            schema.insert("allOf".into(), json!(rules));
        }
        Value::Object(schema)
    }

    /// Returns the rules among a table's keys.
    fn rules(&self, table: &'static Table, params: &Map<String, Value>) -> Vec<Value> {
        let mut rules: Vec<Value> = table.kinds().iter().filter_map(|word| kind_rule(table, word.0)).collect();
        if std::ptr::eq(table, &WIFI) {
            rules.extend(self.catalogue.phys.iter().filter_map(phy_rule));
        }
        if table.takes_queue_params() {
            rules.extend(self.catalogue.queues.iter().filter_map(|row| queue_rule(row, params)));
        }
        rules
    }

    /// Returns the parameters of all queue disciplines. Where disciplines have different parameters of one name, any
    /// of them is allowed, and the description lists them by discipline.
    fn queue_params(&mut self) -> Map<String, Value> {
        let mut all: Vec<(&str, Vec<Value>, String)> = Vec::new();
        for (param, kinds) in self.catalogue.queue_params() {
            let described = format!("{} Default: {}.", param.doc, show_param(param.kind.default()));
            let schema = with_description(self.kind(&kind_of(&param.kind)), &described);
            let of_kinds = format!("{}: {described}", kinds.join(", "));
            match all.iter_mut().find(|(name, ..)| *name == param.name) {
                Some((_, schemas, list)) => {
                    schemas.push(schema);
                    *list += &format!(" {of_kinds}");
                }
                None => all.push((param.name, vec![schema], of_kinds)),
            }
        }
        let one = |mut schemas: Vec<Value>, list: &str| {
            if schemas.len() == 1 { schemas.remove(0) } else { with_description(any(&schemas), list) }
        };
        all.into_iter().map(|(name, schemas, list)| (name.to_owned(), one(schemas, &list))).collect()
    }

    fn field(&mut self, field: &'static Field) -> Value {
        let mut schema = self.kind(&field.kind);
        let default = match field.need {
            Need::Required => String::new(),
            Need::Described(_) if matches!(field.kind, Kind::Queue) && !self.catalogue.queues.is_empty() => {
                format!(" Default: {}.", self.catalogue.queues[0].name)
            }
            Need::Described(text) | Need::DescribedByStack(text, _) => format!(" Default: {text}."),
            Need::Default("") => " Default: empty.".to_owned(),
            Need::Default(text) | Need::ByStack([text, ..]) => format!(" Default: {text}."),
            Need::RequiredIn(kinds, text) => format!(" Needed for {}; else by default {text}.", kinds.join(", ")),
        };
        if let Value::Object(map) = &mut schema {
            map.insert("description".into(), json!(format!("{}{default}", field.doc)));
        }
        schema
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Name | Kind::Node => json!({ "type": "string", "pattern": NAME_PATTERN }),
            Kind::NodePattern => json!({ "type": "string", "pattern": NAME_PATTERN.replace("_-", "_*-") }),
            Kind::Switch => json!({ "type": "boolean" }),
            Kind::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Kind::OneOf(list) => json!({ "enum": list }),
            Kind::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
            Kind::Share { one: false } => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
            Kind::Share { one: true } => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
            Kind::Probability => any(&[json!({ "type": "number", "minimum": 0, "maximum": 1 }), quantity(&[], true)]),
            Kind::Rate(..) => quantity(&[RATE], false),
            Kind::Time(..) => quantity(&[TIME], false),
            Kind::Size(..) => quantity(&[SIZE], false),
            Kind::Limit => quantity(&[PACKETS, SIZE, TIME], false),
            Kind::Amount => any(&[json!({ "type": "number", "minimum": 0 }), quantity(&[PACKETS, SIZE], false)]),
            Kind::Choice(words) => choices(words),
            Kind::Or(inner, words) => {
                let inner = self.kind(inner);
                any(&[inner, choices(words)])
            }
            Kind::OrTable(inner, table) => any(&[self.kind(inner), self.reference(table)]),
            Kind::OrFalse(table) => {
                let table = self.reference(table);
                any(&[table, json!({ "const": false })])
            }
            Kind::Dscp => {
                let names: Vec<&str> = dscp::NAMES.iter().map(|row| row.0).collect();
                any(&[json!({ "type": "integer", "minimum": 0, "maximum": 63 }), json!({ "enum": names })])
            }
            Kind::Address => json!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] }),
            Kind::Nodes(min, max) => json!({
                "type": "array",
                "items": { "type": "string", "pattern": NAME_PATTERN },
                "minItems": min,
                "maxItems": max,
            }),
            Kind::Rates(min, max) => json!({
                "type": "array",
                "items": quantity(&[RATE], false),
                "minItems": min,
                "maxItems": max,
            }),
            Kind::Scaled(inner, units) => any(&[self.kind(inner), quantity(&[units], false)]),
            Kind::Several(inner, most) => {
                let inner = self.kind(inner);
                any(&[inner.clone(), json!({ "type": "array", "items": inner, "minItems": 1, "maxItems": most })])
            }
            Kind::Condition => json!({ "type": "string", "maxLength": narrows_timeline::LONGEST }),
            Kind::Lapse => quantity(&[TIME, ROUNDS], false),
            Kind::Cc => names(self.catalogue.cc.iter().map(|row| row.name.as_str()), None),
            Kind::Queue if self.catalogue.queues.is_empty() => json!({ "type": "string", "pattern": NAME_PATTERN }),
            Kind::Queue => choices(&self.catalogue.queue_words()),
            Kind::Scheme => names(self.catalogue.schemes.iter().map(|row| row.name), Some("none")),
            Kind::Phy => match names(self.catalogue.phys.iter().map(|row| row.name.as_str()), None) {
                open if self.catalogue.phys.is_empty() => json!({ "type": open["type"] }),
                known => known,
            },
            Kind::CcParams => json!({
                "type": "object",
                "additionalProperties": { "type": ["number", "string", "boolean"] },
            }),
            Kind::Table(table) => self.reference(table),
            Kind::Tables(table) => json!({ "type": "array", "items": self.reference(table) }),
            Kind::OneOrMany(table) => {
                let table = self.reference(table);
                any(&[table.clone(), json!({ "type": "array", "items": table })])
            }
        }
    }
}

fn any(list: &[Value]) -> Value {
    json!({ "anyOf": list })
}

fn choices(words: &[Word]) -> Value {
    let list: Vec<Value> = words.iter().map(|word| json!({ "const": word.0, "description": word.1 })).collect();
    json!({ "oneOf": list })
}

fn names<'a>(list: impl Iterator<Item = &'a str>, first: Option<&'a str>) -> Value {
    let list: Vec<&str> = list.collect();
    if list.is_empty() {
        return json!({ "type": "string", "pattern": NAME_PATTERN });
    }
    json!({ "enum": first.into_iter().chain(list).collect::<Vec<_>>() })
}

/// Returns the pattern of a number with one of these units; with `percent`, of a number with `%` or without a unit.
fn quantity(units: &[&[Unit]], percent: bool) -> Value {
    let number = r"^\s*\+?[0-9][0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9]+)?\s*";
    let names: Vec<&str> =
        units.iter().flat_map(|units| units.iter()).flat_map(|unit| unit.names.iter().copied()).collect();
    let unit = if percent { "%?".to_owned() } else { format!("({})", names.join("|")) };
    json!({ "type": "string", "pattern": format!(r"{number}{unit}\s*$") })
}

/// Returns the rule for this kind: fields without a meaning are refused, and fields that it needs are required.
fn kind_rule(table: &'static Table, kind: &str) -> Option<Value> {
    let refused: Map<String, Value> = table
        .fields()
        .filter(|field| !field.only.is_empty() && !field.only.contains(&kind))
        .map(|field| (field.key.to_owned(), json!(false)))
        .collect();
    let needed: Vec<&str> = table
        .fields()
        .filter(|field| match field.need {
            Need::Required => field.only.contains(&kind),
            Need::RequiredIn(kinds, _) => kinds.contains(&kind),
            _ => false,
        })
        .map(|field| field.key)
        .collect();
    if refused.is_empty() && needed.is_empty() {
        return None;
    }
    let mut then = Map::new();
    if !refused.is_empty() {
        then.insert("properties".into(), refused.into());
    }
    if !needed.is_empty() {
        then.insert("required".into(), json!(needed));
    }
    Some(json!({ "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] }, "then": then }))
}

/// Returns a schema with this description.
fn with_description(mut schema: Value, description: &str) -> Value {
    if let Value::Object(map) = &mut schema {
        map.insert("description".into(), json!(description));
    }
    schema
}

/// Returns the rule for this queue discipline: parameters of others are refused.
fn queue_rule(row: &Discipline, params: &Map<String, Value>) -> Option<Value> {
    let refused: Map<String, Value> =
        params.keys().filter(|name| row.param(name).is_none()).map(|name| (name.clone(), json!(false))).collect();
    let condition = json!({ "properties": { "kind": { "const": row.name } }, "required": ["kind"] });
    (!refused.is_empty()).then(|| json!({ "if": condition, "then": { "properties": refused } }))
}

/// Returns the rule for this PHY: keys without a meaning are refused, except `false` for a feature that the PHY lacks.
fn phy_rule(phy: &CataloguePhy) -> Option<Value> {
    let refused: Map<String, Value> = WIFI
        .fields()
        .filter(|field| !phy.takes(field.key))
        .map(|field| {
            let off = matches!(field.kind, Kind::OrFalse(_));
            (field.key.to_owned(), if off { json!({ "const": false }) } else { json!(false) })
        })
        .collect();
    let condition = json!({ "properties": { "phy": { "const": phy.name } }, "required": ["phy"] });
    (!refused.is_empty()).then(|| json!({ "if": condition, "then": { "properties": refused } }))
}
