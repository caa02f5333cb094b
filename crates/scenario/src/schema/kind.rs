//! The words for kinds of values, in messages and in the reference.

use super::{ANY_TIME, FAST, Kind, LARGE, LONG, NAME_LENGTH, Table, words};
use crate::quantity;

impl Kind {
    /// Returns the table inside, if the kind has one.
    pub(crate) fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table)
            | Self::Tables(table)
            | Self::OneOrMany(table)
            | Self::OrFalse(table)
            | Self::OrTable(_, table) => Some(table),
            Self::Or(kind, _) => kind.table(),
            _ => None,
        }
    }

    /// Returns the kind with its article, for "... is not a rate".
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Name => "a name".into(),
            Self::Switch => "a switch".into(),
            Self::Integer(..) | Self::OneOf(_) => "a whole number".into(),
            Self::Number(..) | Self::Share { .. } => "a number".into(),
            Self::Probability => "a probability".into(),
            Self::Rate(..) => "a rate".into(),
            Self::Time(..) => "a time".into(),
            Self::Size(..) => "an amount of data".into(),
            Self::Limit => "a number of packets or bytes, or a time".into(),
            Self::Amount => "a number of packets or bytes".into(),
            Self::Choice(_) | Self::Queue => "one of the allowed words".into(),
            Self::Or(kind, _) | Self::OrTable(kind, _) => kind.noun(),
            Self::OrFalse(_) | Self::Table(_) => "a table".into(),
            Self::Dscp => "a DSCP".into(),
            Self::Address => "an IP address".into(),
            Self::Node | Self::NodePattern => "the name of a node".into(),
            Self::Nodes(..) => "a list of nodes".into(),
            Self::Rates(..) => "a list of rates".into(),
            Self::Scaled(kind, _) => kind.noun(),
            Self::Several(kind, _) => format!("{} or a list", kind.noun()),
            Self::Condition => "a condition".into(),
            Self::Lapse => "a time or a number of rounds".into(),
            Self::Cc => "the name of a congestion control".into(),
            Self::CcParams => "a table of parameters".into(),
            Self::Scheme => "the name of a scheme".into(),
            Self::Phy => "the name of a PHY".into(),
            Self::Tables(_) => "a list of tables".into(),
            Self::OneOrMany(_) => "a table or a list of tables".into(),
        }
    }

    /// Returns the allowed values, for messages and the reference.
    pub(crate) fn allowed(&self) -> String {
        let units = |noun: &str, units: &[quantity::Unit]| format!("{noun} and {}", quantity::unit_names(units));
        match self {
            Self::Text => "text in quotes".into(),
            Self::Name => format!("1 to {NAME_LENGTH} letters, digits, - and _"),
            Self::Switch => "true or false".into(),
            Self::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Self::OneOf(list) => list.iter().map(u64::to_string).collect::<Vec<_>>().join(" or "),
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::Share { one: false } => "a number above 0 and below 1".into(),
            Self::Share { one: true } => "a number above 0 and at most 1".into(),
            Self::Probability => "a number from 0 to 1, or a percentage such as \"1 %\"".into(),
            Self::Rate(min, _) => units("a number", quantity::RATE) + if *min > 0 { ", more than zero" } else { "" },
            Self::Time(min, max) => {
                let range = match (*min, *max) {
                    (0, LONG) => String::new(),
                    (1, LONG) => ", more than zero".to_owned(),
                    (0, max) => format!(", at most {}", show_time(max)),
                    (1, max) => format!(", more than zero and at most {}", show_time(max)),
                    (min, max) => format!(", from {} to {}", show_time(min), show_time(max)),
                };
                units("a number", quantity::TIME) + &range
            }
            Self::Size(min, max) => {
                let range = match (*min, *max) {
                    (0, LARGE) => String::new(),
                    (0, max) => format!(", at most {}", show_size(max)),
                    (min, LARGE) => format!(", at least {}", show_size(min)),
                    (min, max) => format!(", from {} to {}", show_size(min), show_size(max)),
                };
                units("a number", quantity::SIZE) + &range
            }
            Self::Limit => {
                let [size, time] = [quantity::SIZE, quantity::TIME].map(quantity::unit_names);
                format!("a whole number and packets, {size}, at least one, or a number and {time}, more than zero")
            }
            Self::Amount => format!("a number, or a number and packets, {}", quantity::unit_names(quantity::SIZE)),
            Self::Choice(list) => words(list),
            Self::Or(kind, list) => format!("{}, or {}", kind.allowed(), words(list)),
            Self::OrFalse(table) => format!("a table with {}, or false", keys(table)),
            Self::OrTable(kind, table) => format!("{}, or a table with {}", kind.allowed(), keys(table)),
            Self::Dscp => "a number from 0 to 63, or a name such as \"EF\", \"AF31\" or \"CS1\"".into(),
            Self::Address => "an IPv4 or IPv6 address in quotes".into(),
            Self::Node => "the name of a node".into(),
            Self::NodePattern => "the name of a host; `*` stands for the number of the copy".into(),
            Self::Nodes(2, 2) => "a list of two names of nodes".into(),
            Self::Nodes(0, _) => "a list of names of nodes".into(),
            Self::Nodes(least, most) => format!("a list of {least} to {most} names of nodes"),
            Self::Rates(least, most) => {
                format!("a list of {least} to {most} rates, each {}", Self::Rate(1, FAST).allowed())
            }
            Self::Scaled(kind, units) => format!("{}, or a number and {}", kind.allowed(), quantity::unit_names(units)),
            Self::Several(kind, most) => format!("{}, or a list of 1 to {most}", kind.allowed()),
            Self::Condition => "a condition in quotes, such as \"flow.cwnd > 30 kB\"".into(),
            Self::Lapse => format!("{}, or a whole number and rounds", ANY_TIME.allowed()),
            Self::Cc => "a congestion control that `narrows list cc` shows".into(),
            Self::CcParams => "a table with the congestion control's parameters".into(),
            Self::Queue => "a queue that `narrows list queues` shows".into(),
            Self::Scheme => "\"none\" or a scheme that `narrows list schemes` shows".into(),
            Self::Phy => "a PHY that `narrows list phys` shows, such as \"802.11b\"".into(),
            Self::Table(table) => format!("a table with {}", keys(table)),
            Self::Tables(table) => format!("a list of tables with {}", keys(table)),
            Self::OneOrMany(table) => format!("a table with {}, or a list with one for each", keys(table)),
        }
    }
}

fn show_time(nanos: u64) -> String {
    quantity::show_time(narrows_units::Duration::from_nanos(nanos))
}

fn show_size(bytes: u64) -> String {
    quantity::show_size(narrows_units::Bytes::new(bytes))
}

fn keys(table: &Table) -> String {
    table.fields().map(|field| field.key).collect::<Vec<_>>().join(", ")
}
