//! The congestion control of a flow, and its parameters.

use super::Build;
use super::tcp::Given;
use crate::catalogue::{CatalogueKind, CatalogueParam, CatalogueRow};
use crate::check::Path;
use crate::problem::Place;
use crate::quantity;
use crate::record::{Item, Record, Value};
use crate::suggest::hint;
use crate::types::{ParamValue, Stack};

/// A congestion control and the parameters given for it.
#[derive(Clone, Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) row: &'a CatalogueRow,
    given: Vec<(String, ParamValue)>,
}

impl Chosen<'_> {
    /// The value given for a parameter.
    pub(crate) fn given(&self, name: &str) -> Option<&ParamValue> {
        self.given.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns all parameters: the given value, else the stack's, else the algorithm's default.
    pub(crate) fn params(&self, stack: Stack) -> Vec<(String, ParamValue)> {
        let value = |param: &CatalogueParam| {
            if let Some((_, value)) = self.given.iter().find(|(key, _)| *key == param.name) {
                return Some((param.name.clone(), value.clone()));
            }
            let profile = self.row.profile(stack).filter(|_| param.name == "profile");
            let habit = profile.map(|word| ParamValue::Choice(word.to_owned()));
            Some((param.name.clone(), habit.or_else(|| default(&param.kind))?))
        };
        self.row.params.iter().filter_map(value).collect()
    }
}

impl<'a> Build<'a> {
    /// Looks up a congestion control and reads its parameters from `cc_params` of the table `own`, layered over those
    /// of `below` if that is the same congestion control.
    pub(crate) fn chosen(
        &mut self,
        name: &str,
        cc: Option<&Given<'_>>,
        own: Option<&Record>,
        path: &Path<'_>,
        below: Option<&Chosen<'a>>,
    ) -> Option<Chosen<'a>> {
        let catalogue = self.catalogue;
        let Some(row) = catalogue.find_cc(name) else {
            let names: Vec<&str> = catalogue.cc.iter().map(|row| row.name.as_str()).collect();
            let reason = format!("is not a congestion control{}", hint(name, names.iter().copied()));
            match cc {
                Some(cc) => self.report.add(cc.item.place, cc.path(), &cc.item.shown, reason, names.join(", ")),
                None => {
                    let (at, shown) = (Path::Key(path, "cc"), format!("{name:?}"));
                    self.report.add(Place::Nowhere, at, shown, reason, names.join(", "));
                }
            }
            return None;
        };
        let mut given = below.filter(|below| below.row.name == name).map_or_else(Vec::new, |below| below.given.clone());
        let params = own.and_then(|own| own.given("cc_params"));
        // A congestion control chosen on the command line drops the parameters that the file gives for another.
        let stale = matches!(cc.map(|cc| cc.item.place), Some(Place::Set(_)))
            && matches!(params.map(|p| p.place), Some(Place::File(..)));
        if let (Some(Item { value: Value::Params(list), .. }), false) = (params, stale) {
            let at = Path::Key(path, "cc_params");
            for (key, item) in list {
                if let Some(value) = self.param(row, key, item, &at) {
                    given.retain(|(known, _)| known != key);
                    given.push((key.clone(), value));
                }
            }
        }
        Some(Chosen { row, given })
    }

    fn param(&mut self, row: &CatalogueRow, key: &str, item: &Item, path: &Path<'_>) -> Option<ParamValue> {
        let at = Path::Key(path, key);
        let Some(param) = row.params.iter().find(|param| param.name == key) else {
            let names: Vec<&str> = row.params.iter().map(|param| param.name.as_str()).collect();
            let reason = format!("is not a parameter of {}{}", row.name, hint(key, names.iter().copied()));
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            self.report.add(item.place, at, "", reason, allowed);
            return None;
        };
        let value = match (&param.kind, &item.value) {
            (CatalogueKind::Number { min, max, .. }, Value::Number(n)) if n >= min && n <= max => {
                Some(ParamValue::Number(*n))
            }
            (CatalogueKind::Number { unit, min, max, .. }, Value::Text(text)) => {
                let number = quantity::number_in(text, unit).filter(|n| n >= min && n <= max);
                number.map(ParamValue::Number)
            }
            (CatalogueKind::Choice { allowed, .. }, Value::Text(word)) if allowed.contains(word) => {
                Some(ParamValue::Choice(word.clone()))
            }
            (CatalogueKind::Switch { .. }, Value::Switch(on)) => Some(ParamValue::Switch(*on)),
            _ => None,
        };
        if value.is_none() {
            let allowed = match &param.kind {
                // A user's own algorithm declares no range.
                CatalogueKind::Number { min, max, .. } if *min <= f64::MIN && *max >= f64::MAX => "a number".to_owned(),
                CatalogueKind::Number { unit, min, max, .. } => {
                    format!("a number from {min} to {max} {unit}").trim_end().to_owned()
                }
                CatalogueKind::Choice { allowed, .. } => allowed.join(", "),
                CatalogueKind::Switch { .. } => "true or false".to_owned(),
                CatalogueKind::Limit => crate::schema::Kind::Limit.allowed(),
            };
            let near = match (&param.kind, &item.value) {
                (CatalogueKind::Choice { allowed, .. }, Value::Text(word)) => {
                    hint(word, allowed.iter().map(String::as_str))
                }
                _ => String::new(),
            };
            let reason = format!("is not a value of this parameter{near}");
            self.report.add(item.place, at, &item.shown, reason, allowed);
        }
        value
    }
}

fn default(kind: &CatalogueKind) -> Option<ParamValue> {
    Some(match kind {
        CatalogueKind::Number { default, .. } => ParamValue::Number(*default),
        CatalogueKind::Choice { default, .. } => ParamValue::Choice(default.clone()),
        CatalogueKind::Switch { default } => ParamValue::Switch(*default),
        CatalogueKind::Limit => return None,
    })
}
