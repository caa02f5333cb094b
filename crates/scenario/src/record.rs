//! Checked tables: each value has its field's kind; rules among fields are not checked yet.

use crate::problem::Place;
use crate::quantity::{Amount, Scaled};
use crate::schema::{Table, default};
use crate::tree::Tree;
use crate::types::Limit;
use narrows_timeline::Lapse;
use narrows_units::{Bytes, Duration, Probability, Rate};
use std::net::IpAddr;

/// A checked value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A wrong value whose problem is reported already.
    Bad,
    Text(String),
    Switch(bool),
    Integer(u64),
    Number(f64),
    Probability(Probability),
    Rate(Rate),
    Time(Duration),
    Size(Bytes),
    Limit(Limit),
    Amount(Amount),
    Lapse(Lapse),
    Scaled(Scaled),
    /// One of the words that the schema lists.
    Word(&'static str),
    Address(IpAddr),
    /// Names of nodes, rates, or the values of a list.
    Names(Vec<Item>),
    /// No value. Files write a word for it (`unlimited`, `none`), which reading returns as [`Word`](Self::Word).
    Absent(&'static str),
    /// `false` instead of a table.
    Off,
    Table(Record),
    Tables(Vec<Record>),
    /// Parameters, in file order.
    Params(Vec<(String, Item)>),
    /// The parameter of a queue. Some discipline accepts the value; the table's own discipline may not.
    Raw(Tree),
}

/// A checked value, its place, and its text as written.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) place: Place,
    pub(crate) shown: String,
}

impl Item {
    /// Creates an item without a place in a file.
    pub(crate) const fn bare(value: Value) -> Self {
        Self { value, place: Place::Nowhere, shown: String::new() }
    }
}

/// A checked table: the fields that were given.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) table: &'static Table,
    pub(crate) place: Place,
    pub(crate) entries: Vec<(&'static str, Place, Item)>,
}

impl Record {
    /// Creates an empty table.
    pub(crate) fn empty(table: &'static Table, place: Place) -> Self {
        Self { table, place, entries: Vec::new() }
    }

    /// Creates a table of values without places in a file.
    pub(crate) fn of(table: &'static Table, values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let entry = |(key, value)| (key, Place::Nowhere, Item::bare(value));
        Self { table, place: Place::Nowhere, entries: values.into_iter().map(entry).collect() }
    }

    /// Returns the item given for `key`.
    pub(crate) fn given(&self, key: &str) -> Option<&Item> {
        self.entries.iter().find(|(known, ..)| *known == key).map(|(.., item)| item)
    }

    /// Returns the table given for `key`.
    pub(crate) fn table(&self, key: &str) -> Option<&Self> {
        match self.given(key).map(|item| &item.value) {
            Some(Value::Table(record)) => Some(record),
            _ => None,
        }
    }

    /// Returns the tables given for `key`.
    pub(crate) fn tables(&self, key: &str) -> &[Self] {
        match self.given(key).map(|item| &item.value) {
            Some(Value::Tables(records)) => records,
            _ => &[],
        }
    }

    /// Returns the value of `key`, or its default; `None` if it is wrong or missing.
    pub(crate) fn get<T: FromValue>(&self, key: &str) -> Option<T> {
        Layers::new(self.table, [Some(self)]).get(key)
    }
}

/// A stack of tables of one kind: the first table that gives a field determines its value.
#[derive(Clone, Debug)]
pub(crate) struct Layers<'a> {
    pub(crate) table: &'static Table,
    pub(crate) records: Vec<&'a Record>,
}

impl<'a> Layers<'a> {
    pub(crate) fn new(table: &'static Table, records: impl IntoIterator<Item = Option<&'a Record>>) -> Self {
        Self { table, records: records.into_iter().flatten().collect() }
    }

    /// Returns the item given for `key`, from the first table that has it.
    pub(crate) fn given(&self, key: &str) -> Option<&'a Item> {
        self.records.iter().find_map(|record| record.given(key))
    }

    /// Returns the value of `key`, or its default; `None` if it is wrong or missing.
    pub(crate) fn get<T: FromValue>(&self, key: &str) -> Option<T> {
        match self.given(key) {
            Some(item) => T::from_value(&item.value),
            None => T::from_value(&*default(self.table.field(key)?)?),
        }
    }

    /// Returns the place for a problem with `key`: the item's, or the first table's.
    pub(crate) fn place(&self, key: &str) -> Place {
        let first = self.records.first().map_or(Place::Nowhere, |record| record.place);
        self.given(key).map_or(first, |item| item.place)
    }

    /// Returns the text of `key` as written; empty if it was not given.
    pub(crate) fn shown(&self, key: &str) -> String {
        self.given(key).map_or_else(String::new, |item| item.shown.clone())
    }
}

/// A type that a checked value can be converted to.
pub(crate) trait FromValue: Sized {
    /// Returns the value, if it is of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $result:expr),+ $(,)?) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value { $pattern => Some($result), _ => None }
            }
        })+
    };
}

from_value! {
    String: Value::Text(text) => text.clone(),
    bool: Value::Switch(on) => *on,
    u64: Value::Integer(n) => *n,
    f64: Value::Number(n) => *n,
    Probability: Value::Probability(p) => *p,
    Rate: Value::Rate(rate) => *rate,
    Duration: Value::Time(time) => *time,
    Bytes: Value::Size(size) => *size,
    Limit: Value::Limit(limit) => *limit,
    Amount: Value::Amount(amount) => *amount,
    Lapse: Value::Lapse(lapse) => *lapse,
    &'static str: Value::Word(word) => word,
    IpAddr: Value::Address(address) => *address,
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Names(items) => items.iter().map(|item| T::from_value(&item.value)).collect(),
            _ => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(n) => Self::try_from(*n).ok(),
            _ => None,
        }
    }
}

/// A bound, or none where a word (`unlimited`) stands for it.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word(_) | Value::Absent(_) => Some(None),
            other => T::from_value(other).map(Some),
        }
    }
}

/// Conversion to a checked value: the reverse of [`FromValue`].
pub(crate) trait ToValue {
    fn to_value(&self) -> Value;
}

macro_rules! to_value {
    ($($type:ty: $value:ident => $result:expr),+ $(,)?) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value {
                let $value = *self;
                $result
            }
        })+
    };
}

to_value! {
    bool: on => Value::Switch(on),
    u32: n => Value::Integer(n.into()),
    Rate: rate => Value::Rate(rate),
    Duration: time => Value::Time(time),
    Bytes: size => Value::Size(size),
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Absent("unlimited"), T::to_value)
    }
}

/// A value, or a word that stands for its absence (`unlimited`, `end`, `off` ..).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OrWord<T> {
    Value(T),
    Word(&'static str),
}

impl<T> OrWord<T> {
    /// Returns the value, unless it is a word.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Word(_) => None,
        }
    }
}

impl<T: FromValue> FromValue for OrWord<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word(word) => Some(Self::Word(word)),
            other => T::from_value(other).map(Self::Value),
        }
    }
}
