//! Network-assisted schemes: their tables, switches and parameters, and the rules that their rows declare.

use super::Build;
use super::nodes::Nodes;
use crate::catalogue::Catalogue;
use crate::check::{Path, plain};
use crate::quantity::show_size;
use crate::record::{Item, Record, Value};
use crate::types::{Flow, IpOptions, IpVersion, NodeKind, Scheme};
use narrows_settings::scheme::{self, Rule, Usual, Values};
use narrows_units::Bytes;

/// Largest distance of a sum of weights from 1: decimal fractions are not exact.
const NEAR: f64 = 1e-9;

/// The catalogue's schemes, and whether their tables are switched on; `None` where the file has no such table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schemes {
    list: Vec<(&'static scheme::Scheme, Option<bool>)>,
}

impl Schemes {
    /// The tables of a file.
    pub(crate) fn new(root: &Record, catalogue: &Catalogue) -> Self {
        // A wrong switch has been reported; the scheme then counts as off.
        let on = |key| root.table(key).map(|record| record.get::<bool>("enabled").unwrap_or(false));
        Self { list: catalogue.schemes.iter().map(|row| (*row, on(row.name))).collect() }
    }

    /// Whether the scheme of this name is on; `None` if it has no table or the name is unknown.
    pub(crate) fn of(&self, name: &str) -> Option<bool> {
        self.list.iter().find(|(row, _)| row.name == name).and_then(|(_, on)| *on)
    }

    /// Returns the scheme that is on, the first if there are several.
    pub(crate) fn enabled(&self) -> Option<&'static scheme::Scheme> {
        self.list.iter().find(|(_, on)| *on == Some(true)).map(|(row, _)| *row)
    }
}

/// The tables of schemes of a file, if one is on.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The routers that run it; empty if its list of routers is wrong.
    routers: Vec<usize>,
    /// All settings, if they are correct.
    pub(crate) scheme: Option<Scheme>,
}

impl Build<'_> {
    /// Reads the tables of all schemes. A table that is off is checked too, so that switching it on reveals no new
    /// problems within it.
    pub(crate) fn scheme(&mut self, nodes: &Nodes) -> Found {
        let mut found = Found::default();
        let running = self.schemes.enabled();
        let catalogue = self.catalogue;
        for &row in &catalogue.schemes {
            let Some(record) = self.root.table(row.name) else { continue };
            let top = Path::Key(&Path::Root, row.name);
            let values = self.scheme_values(row, record, &top);
            let routers = self.scheme_routers(record, nodes, &top);
            self.over_its_ip(row);
            if running == Some(row) {
                found.scheme = routers.clone().zip(values).map(|(routers, values)| Scheme { row, routers, values });
                found.routers = routers.unwrap_or_default();
                self.router_adds = if found.routers.is_empty() { 0 } else { row.router_adds };
            }
        }
        self.one_scheme();
        found
    }

    /// Checks what the scheme that is on requires of flows.
    pub(crate) fn around_scheme(&mut self, found: &Found, flows: &[Flow]) {
        let Some(row) = self.schemes.enabled() else { return };
        let Some(scheme) = &found.scheme else { return };
        for rule in row.rules {
            if let Rule::HoldsSegment(name) = rule
                && let Ok(Some(most)) = scheme.values.size(name)
            {
                self.holds_segment((row.name, name), most, flows);
            }
        }
    }

    /// Returns the values of a scheme's parameters; `None` if one is wrong.
    fn scheme_values(&mut self, row: &'static scheme::Scheme, record: &Record, top: &Path<'_>) -> Option<Values> {
        let mut values = Vec::with_capacity(row.params.len());
        for param in row.params {
            let usual = || plain(&record.table.field(param.name)?.kind, param.usual_text());
            let value = match (record.given(param.name), param.usual) {
                (Some(item), _) => value(&item.value),
                (None, Usual::Follows(..)) => value_beside(row, record, param.name).or_else(|| value(&usual()?)),
                (None, Usual::Value(_)) => value(&usual()?),
            };
            values.push((param.name, value));
        }
        for rule in row.rules {
            let of = |name| values.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
            match *rule {
                Rule::SumToOne(first, second) => self.sum_to_one(row, record, top, (first, second)),
                Rule::Ordered(low, high) => {
                    if let (Some(scheme::Value::Number(lower)), Some(scheme::Value::Number(upper))) =
                        (of(low), of(high))
                    {
                        self.ordered(record, top, (low, high), (lower, upper));
                    }
                }
                Rule::OnlyWith { switch, number, values, why } => {
                    if let (Some(scheme::Value::Switch(true)), Some(scheme::Value::Integer(n)), Some(item)) =
                        (of(switch), of(number), record.given(switch))
                        && !values.contains(&n)
                    {
                        let reason = format!("has no meaning in {number} {n}, {why}");
                        let allowed = format!("false, or {number} = {}", either(values));
                        self.report.add(item.place, Path::Key(top, switch), &item.shown, reason, allowed);
                    }
                }
                Rule::HoldsSegment(_) => {}
            }
        }
        let whole: Option<Vec<_>> = values.into_iter().map(|(name, value)| Some((name, value?))).collect();
        whole.map(Values::new)
    }

    fn sum_to_one(&mut self, row: &scheme::Scheme, record: &Record, top: &Path<'_>, (first, second): (&str, &str)) {
        let (Some(item), Some(other)) = (record.given(first), record.given(second)) else { return };
        if let (Value::Number(one), Value::Number(two)) = (&item.value, &other.value)
            && (one + two - 1.0).abs() > NEAR
        {
            let symbol = |name: &'_ str| row.param(name).and_then(|param| param.aliases.first().copied());
            let sum = [first, second].map(|name| symbol(name).unwrap_or(name).to_owned()).join(" + ");
            let reason = format!("and {second} {} do not add up to 1", other.shown);
            let allowed = format!("{sum} = 1; if one is missing, it follows from the other");
            self.report.add(item.place, Path::Key(top, first), &item.shown, reason, allowed);
        }
    }

    fn ordered(&mut self, record: &Record, top: &Path<'_>, (low, high): (&str, &str), (lower, upper): (f64, f64)) {
        if lower <= upper {
            return;
        }
        let key = if record.given(low).is_some() { low } else { high };
        let (place, shown) = record.given(key).map_or((record.place, ""), |item| (item.place, &item.shown));
        let (reason, allowed) = if key == low {
            (format!("is more than {high}"), format!("at most {upper}"))
        } else {
            (format!("is less than {low}"), format!("at least {lower}"))
        };
        self.report.add(place, Path::Key(top, key), shown, reason, allowed);
    }

    /// Refuses an amount of data below one segment of a flow that takes part.
    fn holds_segment(&mut self, (table, name): (&str, &str), most: Bytes, flows: &[Flow]) {
        let own = flows.iter().filter(|flow| flow.has_assist(table));
        let own = own.filter_map(|flow| Some((flow, Bytes::new(flow.tcp()?.mss.into()))));
        let Some((largest, mss)) = own.max_by_key(|(_, mss)| *mss) else { return };
        let Some(item) = self.root.table(table).and_then(|record| record.given(name)) else { return };
        if most < mss {
            let top = Path::Key(&Path::Root, table);
            let reason = format!("is less than one segment of flow {:?}", largest.name);
            let allowed = format!("at least its mss ({}), or \"none\"", show_size(mss));
            self.report.add(item.place, Path::Key(&top, name), &item.shown, reason, allowed);
        }
    }

    /// Refuses IPv6 for a scheme that is on and runs over IPv4 alone.
    fn over_its_ip(&mut self, row: &scheme::Scheme) {
        let Some(why) = row.ipv4_only.filter(|_| self.schemes.of(row.name) == Some(true)) else { return };
        if let (IpVersion::V6, Some(item)) = (self.ip, self.root.given("ip")) {
            let reason = format!("cannot be used with [{}], {why}", row.name);
            let allowed = format!("4, or enabled = false in [{}]", row.name);
            self.report.add(item.place, Path::Key(&Path::Root, "ip"), &item.shown, reason, allowed);
        }
    }

    /// Refuses two schemes at once: each would write the window, and flows would not know which is theirs.
    fn one_scheme(&mut self) {
        let on: Vec<&str> =
            self.schemes.list.iter().filter(|(_, on)| *on == Some(true)).map(|(row, _)| row.name).collect();
        let Some((first, others)) = on.split_first() else { return };
        for name in others {
            let Some(record) = self.root.table(name) else { continue };
            let top = Path::Key(&Path::Root, name);
            let reason = format!("conflicts with [{first}]: both are enabled");
            let allowed = format!("one scheme: enabled = false in [{first}] or in [{name}], or no such table");
            match record.given("enabled") {
                Some(item) => self.report.add(item.place, Path::Key(&top, "enabled"), &item.shown, reason, allowed),
                None => self.report.add(record.place, top, "", reason, allowed),
            }
        }
    }

    /// Returns the routers that a scheme's table lists; all routers but middleboxes if the table has no list.
    fn scheme_routers(&mut self, record: &Record, nodes: &Nodes, top: &Path<'_>) -> Option<Vec<usize>> {
        let is_router = |index: usize| nodes.list.get(index).is_some_and(|node| node.kind == NodeKind::Router);
        let is_middlebox = |index: usize| nodes.list.get(index).is_some_and(|node| node.ip_options != IpOptions::Keep);
        let Some(item) = record.given("routers") else {
            let plain = |index: &usize| is_router(*index) && !is_middlebox(*index);
            return Some((0..nodes.list.len()).filter(plain).collect());
        };
        let Value::Names(names) = &item.value else { return None };
        let at = Path::Key(top, "routers");
        let mut routers = Vec::with_capacity(names.len());
        for (index, item) in names.iter().enumerate() {
            let Value::Text(name) = &item.value else { continue };
            let path = Path::Index(&at, index);
            let Some(node) = nodes.expect(name, (item.place, &path), self.report) else { continue };
            if !is_router(node) {
                self.report.add(item.place, path, &item.shown, "is a host", "names of routers");
            } else if is_middlebox(node) {
                let allowed = "routers with ip_options = \"keep\"";
                self.report.add(item.place, path, &item.shown, "is a middlebox, which runs no scheme", allowed);
            } else if routers.contains(&node) {
                self.report.add(item.place, path, &item.shown, "is listed twice", "each router once");
            } else {
                routers.push(node);
            }
        }
        Some(routers)
    }
}

/// Returns the value that a sum of 1 gives a missing number: 1 minus the other number, if that is given.
fn value_beside(row: &scheme::Scheme, record: &Record, name: &str) -> Option<scheme::Value> {
    let other = row.rules.iter().find_map(|rule| match *rule {
        Rule::SumToOne(first, second) if first == name => Some(second),
        Rule::SumToOne(first, second) if second == name => Some(first),
        _ => None,
    })?;
    match record.given(other) {
        Some(Item { value: Value::Number(n), .. }) => Some(scheme::Value::Number(1.0 - n)),
        _ => None,
    }
}

/// Converts a checked value; `None` if it is wrong, which has been reported.
fn value(value: &Value) -> Option<scheme::Value> {
    Some(match *value {
        Value::Switch(on) => scheme::Value::Switch(on),
        Value::Integer(n) => scheme::Value::Integer(n),
        Value::Number(n) => scheme::Value::Number(n),
        Value::Time(time) => scheme::Value::Time(time),
        Value::Size(size) => scheme::Value::Size(size),
        Value::Word(word) => scheme::Value::Word(word),
        _ => return None,
    })
}

/// Lists numbers for a message: `3, 4, 7 or 8`.
fn either(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}
