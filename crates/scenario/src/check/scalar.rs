//! Single values: whether the type, the unit and the range fit the kind.

use super::find;
use crate::dscp;
use crate::problem::Place;
use crate::quantity::{self, Amount, Flaw};
use crate::record::Value;
use crate::schema::{self, Kind};
use crate::suggest::{hint, units as unit_hint};
use crate::tree::{Branch, Tree};
use crate::types::Limit;
use narrows_timeline::Lapse;
use narrows_units::Probability;

/// Checks a scalar value; the error describes the fault.
pub(super) fn scalar(kind: &Kind, tree: &Tree) -> Result<Value, String> {
    let wrong = || Err(format!("is not {}", kind.noun()));
    let flawed = |flaw: Flaw| match (flaw, &tree.value) {
        (Flaw::WrongUnit, Branch::Text(text)) => flaw.reason(&kind.noun()) + &unit_hint::hint(kind, text),
        _ => flaw.reason(&kind.noun()),
    };
    match (kind, &tree.value) {
        // Unknown PHYs are refused later, where the catalogue with the known ones is available.
        (Kind::Text | Kind::Phy | Kind::Condition, Branch::Text(text)) => Ok(Value::Text(text.clone())),
        // In an override, quotes may be left out; "802.11" is then a number.
        (Kind::Phy, Branch::Float(number)) if matches!(tree.place, Place::Set(_)) => {
            Ok(Value::Text(number.to_string()))
        }
        (Kind::Name | Kind::Node | Kind::Cc | Kind::Scheme, Branch::Text(text)) => {
            name(text, false).ok_or_else(|| flawed(Flaw::NoNumber))
        }
        (Kind::NodePattern, Branch::Text(text)) => name(text, true).ok_or_else(|| flawed(Flaw::NoNumber)),
        (Kind::Switch, Branch::Switch(on)) => Ok(Value::Switch(*on)),
        (Kind::Integer(min, max), Branch::Integer(n)) => match u64::try_from(*n) {
            Ok(n) if (*min..=*max).contains(&n) => Ok(Value::Integer(n)),
            _ => Err("is out of range".into()),
        },
        (Kind::OneOf(list), Branch::Integer(n)) => match u64::try_from(*n) {
            Ok(n) if list.contains(&n) => Ok(Value::Integer(n)),
            _ => Err("is not one of the allowed numbers".into()),
        },
        (Kind::Number(min, max), Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            if n >= *min && n <= *max { Ok(Value::Number(n)) } else { Err("is out of range".into()) }
        }
        (Kind::Share { one }, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            let fits = n > 0.0 && (n < 1.0 || (*one && n <= 1.0));
            if fits { Ok(Value::Number(n)) } else { Err("is out of range".into()) }
        }
        (Kind::Probability, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            probability(n)
        }
        (Kind::Probability, Branch::Text(text)) => probability(quantity::percent(text).map_err(flawed)?),
        (Kind::Rate(min, max), Branch::Text(text)) => {
            let rate = quantity::rate(text).map_err(flawed)?;
            in_range(rate.as_bps(), *min, *max).map(|()| Value::Rate(rate))
        }
        (Kind::Time(min, max), Branch::Text(text)) => {
            let time = quantity::time(text).map_err(flawed)?;
            in_range(time.as_nanos(), *min, *max).map(|()| Value::Time(time))
        }
        (Kind::Scaled(inner, units), Branch::Text(text)) => match quantity::scaled(text, units) {
            Some(found) => found.map(Value::Scaled).map_err(flawed),
            None => scalar(inner, tree),
        },
        (Kind::Scaled(inner, _), _) => scalar(inner, tree),
        (Kind::Lapse, Branch::Text(text)) => match quantity::lapse(text).map_err(flawed)? {
            Lapse::Rounds(n) => in_range(n, 1, schema::case::MANY).map(|()| Value::Lapse(Lapse::Rounds(n))),
            Lapse::Time(time) => in_range(time.as_nanos(), 0, schema::LONG).map(|()| Value::Lapse(Lapse::Time(time))),
        },
        (Kind::Size(min, max), Branch::Text(text)) => {
            let size = quantity::size(text).map_err(flawed)?;
            in_range(size.as_u64(), *min, *max).map(|()| Value::Size(size))
        }
        (Kind::Limit, Branch::Text(text)) => {
            let limit = match quantity::limit(text) {
                Err(Flaw::WrongUnit) => {
                    let time = quantity::time(text).map_err(flawed)?;
                    return in_range(time.as_nanos(), 1, schema::LONG).map(|()| Value::Time(time));
                }
                limit => limit.map_err(flawed)?,
            };
            let n = match limit {
                Limit::Packets(n) => n.as_u64(),
                Limit::Bytes(n) => n.as_u64(),
            };
            in_range(n, 1, schema::LARGE).map(|()| Value::Limit(limit))
        }
        (Kind::Amount, Branch::Text(text)) => quantity::amount(text).map(Value::Amount).map_err(flawed),
        (Kind::Amount, Branch::Integer(_) | Branch::Float(_)) => {
            let n = if let Branch::Float(n) = tree.value { n } else { integer(tree) as f64 };
            if (0.0..=1e9).contains(&n) { Ok(Value::Amount(Amount::Bare(n))) } else { Err("is out of range".into()) }
        }
        (
            Kind::Rate(..) | Kind::Time(..) | Kind::Size(..) | Kind::Limit | Kind::Lapse,
            Branch::Integer(_) | Branch::Float(_),
        ) => Err("has no unit".into()),
        (Kind::Choice(words), Branch::Text(text)) => match find(words, text) {
            Some(word) => Ok(Value::Word(word)),
            None => Err(format!("is not one of the allowed words{}", hint(text, words.iter().map(|word| word.0)))),
        },
        (Kind::Dscp, Branch::Integer(n)) if (0..=63).contains(n) => Ok(Value::Integer(n.unsigned_abs() as u64)),
        (Kind::Dscp, Branch::Integer(_)) => Err("is out of range".into()),
        (Kind::Dscp, Branch::Text(text)) => match dscp::by_name(text) {
            Some(code) => Ok(Value::Integer(u64::from(code))),
            None => Err(format!("is not a DSCP{}", hint(text, dscp::NAMES.iter().map(|row| row.0)))),
        },
        (Kind::Address, Branch::Text(text)) => text.parse().map(Value::Address).or_else(|_| wrong()),
        _ => wrong(),
    }
}

fn integer(tree: &Tree) -> i128 {
    if let Branch::Integer(n) = tree.value { n } else { 0 }
}

fn name(text: &str, star: bool) -> Option<Value> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || (star && c == '*');
    (!text.is_empty() && text.len() <= schema::NAME_LENGTH && text.chars().all(fits))
        .then(|| Value::Text(text.to_owned()))
}

fn probability(n: f64) -> Result<Value, String> {
    Probability::new(n).map(Value::Probability).map_err(|_| "is not a probability".into())
}

fn in_range(n: u64, min: u64, max: u64) -> Result<(), String> {
    match n {
        0 if min > 0 => Err("is zero".into()),
        n if n < min => Err("is too small".into()),
        n if n > max => Err("is too large".into()),
        _ => Ok(()),
    }
}
