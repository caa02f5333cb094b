//! The format as data: tables, fields, kinds, defaults, ranges, docs. Parser, JSON Schema and reference read it.

pub(crate) mod case;
mod defaults;
pub(crate) mod impair;
mod kind;
mod root;
mod schemes;
mod stack;
mod tcp;
mod topology;
#[cfg(test)]
mod toy;
mod wifi;
mod workload;

pub(crate) use defaults::{default, tables};
pub(crate) use root::ROOT;
pub(crate) use schemes::{kind as scheme_kind, root};
pub(crate) use stack::{COLUMNS, STACKS, habits};
pub(crate) use tcp::{CAREFUL_RESUME, DELAYED_ACK, MISBEHAVIOR, PACING, RTO, TCP};
pub(crate) use topology::{DIRECTION, LINK, NODE, QUEUE, SHORTHAND};
pub(crate) use wifi::{AGGREGATION, WIFI};
pub(crate) use workload::WORKLOAD;

pub(crate) use narrows_settings::queue::Word;

use crate::quantity;
use crate::record::Value;
use crate::types::Tcp;

/// Largest number of nodes, links or flows of a scenario, and of items that a shorthand creates.
pub(crate) const MOST: u64 = 1_000_000;

/// Longest name, in characters.
pub(crate) const NAME_LENGTH: usize = 64;

/// Pattern of names.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";

/// A table of the format.
#[derive(Debug)]
pub(crate) struct Table {
    /// Name of the table in the reference and in the JSON Schema.
    pub(crate) name: &'static str,
    /// Description, one or two sentences.
    pub(crate) doc: &'static str,
    /// Its fields, in groups that tables may share.
    pub(crate) groups: &'static [&'static [Field]],
}

/// A field of a table.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its key.
    pub(crate) key: &'static str,
    /// Alternative keys, such as a paper's symbol.
    pub(crate) aliases: &'static [&'static str],
    /// The values that it accepts.
    pub(crate) kind: Kind,
    /// Whether the field is required, and its default otherwise.
    pub(crate) need: Need,
    /// Values of the table's `kind` for which the field has a meaning; empty for all.
    pub(crate) only: &'static [&'static str],
    /// Description of its effect.
    pub(crate) doc: &'static str,
    /// Unit suffix of its key in JSON, if the kind has no unit of its own; empty for none.
    pub(crate) unit: &'static str,
    /// How to read and set its value in a flow's settings; `None` outside `[tcp]`.
    pub(crate) lens: Option<Lens>,
    /// How a live run treats it, if it is a TCP setting.
    pub(crate) live: Live,
}

/// How a TCP setting is read from a flow's settings and put into them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens {
    /// Returns the setting's value.
    pub(crate) get: fn(&Tcp) -> Value,
    /// Puts a value of the field's kind into the settings; returns `None` if the value is wrong. Settings without this
    /// function also depend on others; `build/tcp.rs` resolves them.
    pub(crate) set: Option<fn(&mut Tcp, &Value) -> Option<()>>,
}

/// How a live run treats a TCP setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    /// Linux has one value for all connections, that of `stack = "linux"`. A flow that requests another is refused.
    Fixed,
    /// Linux accepts a flow's value, or the live run implements the setting itself.
    Honoured,
}

/// Whether a field is required, and its default otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The field must be given.
    Required,
    /// The field must be given for these kinds; for other kinds this is the default.
    RequiredIn(&'static [&'static str], &'static str),
    /// The default, written as on the command line.
    Default(&'static str),
    /// A description of the default.
    Described(&'static str),
    /// The default by [stack](COLUMNS), each written as on the command line.
    ByStack([&'static str; 4]),
    /// The default by stack, and a description for the reference if other settings change it.
    DescribedByStack(&'static str, [&'static str; 4]),
}

impl Need {
    /// Returns the default in column `index` of [`COLUMNS`], if the default depends on the stack.
    pub(crate) const fn by_stack(self, index: usize) -> Option<&'static str> {
        match self {
            Self::ByStack(texts) | Self::DescribedByStack(_, texts) => Some(texts[index]),
            _ => None,
        }
    }

    /// Returns the default that applies where no other setting changes it, as it is written; `None` if there is none.
    pub(crate) const fn default(self) -> Option<&'static str> {
        match self {
            Self::Default(text) | Self::RequiredIn(_, text) => Some(text),
            Self::ByStack([rfc, ..]) | Self::DescribedByStack(_, [rfc, ..]) => Some(rfc),
            Self::Required | Self::Described(_) => None,
        }
    }
}

/// The values that a field accepts.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// A name: letters, digits, `-` and `_`.
    Name,
    /// `true` or `false`.
    Switch,
    /// A whole number in this range.
    Integer(u64, u64),
    /// One of these whole numbers.
    OneOf(&'static [u64]),
    /// A number in this range.
    Number(f64, f64),
    /// A number above 0 and below 1; with `one`, also 1 itself.
    Share {
        /// Whether 1 is allowed.
        one: bool,
    },
    /// A number from 0 to 1, or in percent.
    Probability,
    /// A rate, in bits per second, in this range.
    Rate(u64, u64),
    /// A time, in nanoseconds, in this range.
    Time(u64, u64),
    /// Bytes, in this range.
    Size(u64, u64),
    /// A number of packets or of bytes, at least one, or a time that is not zero.
    Limit,
    /// Packets or bytes, not necessarily whole.
    Amount,
    /// One of a few words.
    Choice(&'static [Word]),
    /// Another kind, or one of a few words.
    Or(&'static Kind, &'static [Word]),
    /// A table, or `false` for none.
    OrFalse(&'static Table),
    /// A table, or its first field's value alone.
    OrTable(&'static Kind, &'static Table),
    /// A differentiated services codepoint by number or name.
    Dscp,
    /// An IP address.
    Address,
    /// The name of a node.
    Node,
    /// The name of a node; `*` stands for the number of a copy.
    NodePattern,
    /// The names of nodes: at least and at most this many.
    Nodes(usize, usize),
    /// Rates: at least and at most this many.
    Rates(usize, usize),
    /// A quantity of a kind, or a multiple of one that the network has, in one of these units.
    Scaled(&'static Kind, &'static [quantity::Unit]),
    /// A value of a kind, or a list of at least one and at most this many.
    Several(&'static Kind, usize),
    /// A condition over the variables of a run.
    Condition,
    /// A time, or a number of round trips.
    Lapse,
    /// The name of a congestion control.
    Cc,
    /// The parameters of the congestion control.
    CcParams,
    /// The name of a queue discipline.
    Queue,
    /// The name of a scheme, or `none`.
    Scheme,
    /// The name of a PHY.
    Phy,
    /// A table.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// A table, or a list with one for each.
    OneOrMany(&'static Table),
}

impl Table {
    /// Returns the fields, in the order in which they are shown.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        let groups: &'static [&'static [Field]] = self.groups;
        groups.iter().flat_map(|group| group.iter())
    }

    /// Returns the field with this key or alias.
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields().find(|field| field.key == key || field.aliases.contains(&key))
    }

    /// Whether the catalogue's queue disciplines add fields to this table.
    pub(crate) fn takes_queue_params(&self) -> bool {
        self.field("kind").is_some_and(|field| matches!(field.kind, Kind::Queue))
    }

    /// Returns the values of the table's `kind` field; empty if it has none.
    pub(crate) fn kinds(&self) -> &'static [Word] {
        match self.field("kind").map(|field| &field.kind) {
            Some(Kind::Choice(words)) => words,
            _ => &[],
        }
    }
}

impl Field {
    const fn new(key: &'static str, kind: Kind, need: Need, doc: &'static str) -> Self {
        Self { key, aliases: &[], kind, need, only: &[], doc, unit: "", lens: None, live: Live::Fixed }
    }

    const fn only(self, only: &'static [&'static str]) -> Self {
        Self { only, ..self }
    }

    const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    const fn lens(self, lens: Lens) -> Self {
        Self { lens: Some(lens), ..self }
    }

    const fn honoured(self) -> Self {
        Self { live: Live::Honoured, ..self }
    }
}

/// Lists the words for a message: `"a", "b" or "c"`.
pub(crate) fn words(list: &[Word]) -> String {
    let quoted: Vec<String> = list.iter().map(|word| format!("\"{}\"", word.0)).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Largest time of the format: a million hours.
pub(crate) const LONG: u64 = 3_600_000_000_000_000_000;

/// Largest amount of data of the format.
pub(crate) const LARGE: u64 = 1_000_000_000_000_000_000;

/// Largest rate of the format.
pub(crate) const FAST: u64 = 10_000_000_000_000;

/// Any rate above zero.
pub(crate) const ANY_RATE: Kind = Kind::Rate(1, FAST);

/// Any time, zero included.
pub(crate) const ANY_TIME: Kind = Kind::Time(0, LONG);

/// A time that is not zero.
pub(crate) const SOME_TIME: Kind = Kind::Time(1, LONG);

/// An amount of data of at least one byte.
pub(crate) const SOME_SIZE: Kind = Kind::Size(1, LARGE);
