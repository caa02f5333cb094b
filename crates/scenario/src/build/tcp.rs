//! TCP settings of a flow from its own table, `[tcp]` and the defaults.

use super::Build;
use crate::catalogue::{CatalogueKind, CatalogueParam, CatalogueRow};
use crate::check::Path;
use crate::problem::Place;
use crate::quantity;
use crate::record::{Item, Layers, OrWord, Record, Value};
use crate::schema::{DELAYED_ACK, PACING, RTO, TCP, Table};
use crate::suggest::hint;
use crate::types::{
    DelayedAck, EcnEcho, IdleRestart, InitialWindow, Pacing, ParamValue, Recovery, Reduction, RtoStyle, Tcp,
};
use narrows_units::{Bytes, Duration};

/// A congestion control and its parameters.
type Chosen = (String, Vec<(String, ParamValue)>);

/// Settings that hold where a flow gives none.
#[derive(Debug)]
pub(crate) struct Base {
    /// The settings of `[tcp]`; `None` where they are wrong.
    pub(crate) tcp: Option<Tcp>,
    chosen: Option<Chosen>,
    /// Whether its scheme has been refused already: flows share it.
    refused: bool,
}

const TOP: Path<'static> = Path::Key(&Path::Root, "tcp");

/// The scheme that has a table of its own.
const ACNS: &str = "acns";

impl Build<'_> {
    /// The settings of `[tcp]`.
    pub(crate) fn base(&mut self, acns: Option<bool>) -> Base {
        let record = self.root.table("tcp");
        let given = record.and_then(|record| record.given("cc"));
        let name = Layers::new(&TCP, [record]).get::<String>("cc");
        let chosen = name.and_then(|name| self.chosen(&name, given, record, &[], (&TOP, &TOP)));
        let tcp = self.tcp(&[record], chosen.clone(), &TOP, acns);
        Base { tcp, chosen, refused: false }
    }

    /// The settings of a flow; `cc` is the flow's own short form.
    pub(crate) fn flow_tcp(
        &mut self,
        flow: &Record,
        base: &mut Base,
        path: &Path<'_>,
        acns: Option<bool>,
    ) -> Option<Tcp> {
        let own = flow.table("tcp");
        if acns.is_none() {
            self.refuse_assist(own, base, path);
        }
        let short = flow.given("cc");
        if own.is_none() && short.is_none() {
            return base.tcp.clone();
        }
        let tcp_path = Path::Key(path, "tcp");
        let long = own.and_then(|own| own.given("cc"));
        if let (Some(short), Some(_)) = (short, long) {
            let reason = "stands beside `tcp.cc`, which says the same";
            self.report.add(short.place, Path::Key(path, "cc"), &short.shown, reason, "one of the two");
        }
        let cc_path = if short.is_some() { path } else { &tcp_path };
        let chosen = match short.or(long) {
            Some(item) => match &item.value {
                Value::Text(name) => {
                    let inherited = base.chosen.as_ref().filter(|(base, _)| base == name);
                    let inherited = inherited.map_or(&[][..], |(_, params)| params);
                    self.chosen(name, Some(item), own, inherited, (cc_path, &tcp_path))
                }
                _ => None,
            },
            None => match &base.chosen {
                Some((name, params)) => self.chosen(name, None, own, params, (cc_path, &tcp_path)),
                None => None,
            },
        };
        self.tcp(&[own, self.root.table("tcp")], chosen, &tcp_path, acns)
    }

    /// Looks up a congestion control, and takes its parameters from the table, from what is inherited, or its defaults.
    fn chosen(
        &mut self,
        name: &str,
        cc: Option<&Item>,
        record: Option<&Record>,
        inherited: &[(String, ParamValue)],
        paths: (&Path<'_>, &Path<'_>),
    ) -> Option<Chosen> {
        let catalogue = self.catalogue;
        let Some(row) = catalogue.find_cc(name) else {
            let names: Vec<&str> = catalogue.cc.iter().map(|row| row.name.as_str()).collect();
            let (place, shown) =
                cc.map_or((Place::Nowhere, format!("{name:?}")), |item| (item.place, item.shown.clone()));
            let reason = format!("is no congestion control{}", hint(name, names.iter().copied()));
            self.report.add(place, Path::Key(paths.0, "cc"), shown, reason, names.join(", "));
            return None;
        };
        let mut values = inherited.to_vec();
        let params = record.and_then(|record| record.given("cc_params"));
        // A congestion control chosen on the command line drops the parameters that the file gives for another.
        let stale = matches!(cc.map(|item| item.place), Some(Place::Set(_)))
            && matches!(params.map(|p| p.place), Some(Place::File(..)));
        if let (Some(Item { value: Value::Params(list), .. }), false) = (params, stale) {
            let at = Path::Key(paths.1, "cc_params");
            for (key, item) in list {
                if let Some(value) = self.param(row, key, item, &at) {
                    values.retain(|(known, _)| known != key);
                    values.push((key.clone(), value));
                }
            }
        }
        let value = |param: &CatalogueParam| {
            let given = values.iter().find(|(key, _)| *key == param.name).map(|(_, value)| value.clone());
            Some((param.name.clone(), given.or_else(|| default(&param.kind))?))
        };
        Some((name.to_owned(), row.params.iter().filter_map(value).collect()))
    }

    fn param(&mut self, row: &CatalogueRow, key: &str, item: &Item, path: &Path<'_>) -> Option<ParamValue> {
        let at = Path::Key(path, key);
        let Some(param) = row.params.iter().find(|param| param.name == key) else {
            let names: Vec<&str> = row.params.iter().map(|param| param.name.as_str()).collect();
            let reason = format!("is no parameter of {}{}", row.name, hint(key, names.iter().copied()));
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
                CatalogueKind::Number { unit, min, max, .. } => {
                    format!("a number from {min} to {max} {unit}").trim_end().to_owned()
                }
                CatalogueKind::Choice { allowed, .. } => allowed.join(", "),
                CatalogueKind::Switch { .. } => "true or false".to_owned(),
                CatalogueKind::Limit => crate::schema::Kind::Limit.allowed(),
            };
            self.report.add(item.place, at, &item.shown, "is not what this parameter takes", allowed);
        }
        value
    }

    /// The settings of a stack of tables, the flow's own first.
    fn tcp(
        &mut self,
        stack: &[Option<&Record>],
        chosen: Option<Chosen>,
        path: &Path<'_>,
        acns: Option<bool>,
    ) -> Option<Tcp> {
        let layers = Layers::new(&TCP, stack.iter().copied());
        let assist = self.assist(&layers, path, acns);
        let sack: bool = layers.get("sack")?;
        let recovery = match (layers.given("recovery"), sack) {
            (None, true) => Recovery::Sack,
            (None, false) => Recovery::NewReno,
            (Some(_), _) => match layers.get::<&str>("recovery")? {
                "rto_only" => Recovery::RtoOnly,
                "tahoe" => Recovery::Tahoe,
                "reno" => Recovery::Reno,
                "newreno" => Recovery::NewReno,
                "fack" => Recovery::Fack,
                _ => Recovery::Sack,
            },
        };
        let reduction = match layers.get::<&str>("reduction")? {
            "prr" => Reduction::Prr,
            "prr_linux" => Reduction::PrrLinux,
            _ => Reduction::Immediate,
        };
        let ecn: bool = layers.get("ecn")?;
        let ecn_echo = match layers.given("ecn_echo") {
            Some(_) if layers.get::<&str>("ecn_echo")? == "each_mark" => EcnEcho::EachMark,
            _ => EcnEcho::UntilCwr,
        };
        let mut rules = Rules { build: self, layers: &layers, path };
        if matches!(recovery, Recovery::Sack | Recovery::Fack) && !sack {
            rules.broken(&["recovery", "sack"], "needs sack = true", "another recovery, or sack = true");
        }
        if reduction != Reduction::Immediate && !sack {
            rules.broken(&["reduction", "sack"], "needs sack = true", "\"immediate\", or sack = true");
        }
        if ecn_echo == EcnEcho::EachMark && !ecn {
            rules.broken(&["ecn_echo", "ecn"], "needs ecn = true", "\"until_cwr\", or ecn = true");
        }
        let mss: Bytes = layers.get("mss")?;
        let max_cwnd = layers.get::<OrWord<Bytes>>("max_cwnd")?.value();
        let recv_buffer: Bytes = layers.get("recv_buffer")?;
        let one = format!("at least one mss ({} B)", mss.as_u64());
        if max_cwnd.is_some_and(|most| most < mss) {
            rules.broken(&["max_cwnd", "mss"], "is less than one segment", &one);
        }
        if recv_buffer < mss {
            rules.broken(&["recv_buffer", "mss"], "is less than one segment", &one);
        }
        let rto = self.rto(stack, path)?;
        let (cc, cc_params) = chosen?;
        Some(Tcp {
            cc,
            cc_params,
            assist: assist?,
            mss,
            initial_window: match layers.get::<OrWord<u64>>("initial_window")? {
                OrWord::Value(n) => InitialWindow::Segments(u32::try_from(n).ok()?),
                OrWord::Word("rfc5681") => InitialWindow::Rfc5681,
                OrWord::Word(_) => InitialWindow::Rfc6928,
            },
            initial_ssthresh: layers.get::<OrWord<Bytes>>("initial_ssthresh")?.value(),
            max_cwnd,
            delayed_ack: delayed_ack(stack)?,
            recovery,
            reduction,
            dupthresh: layers.get("dupthresh")?,
            limited_transmit: layers.get("limited_transmit")?,
            lost_retransmission: layers.get("lost_retransmission")?,
            undo: layers.get("undo")?,
            full_ack_cap: layers.get("full_ack_cap")?,
            max_retries: match layers.get::<OrWord<u64>>("max_retries")? {
                OrWord::Value(n) => Some(u32::try_from(n).ok()?),
                OrWord::Word(_) => None,
            },
            sack,
            timestamps: layers.get("timestamps")?,
            window_scaling: layers.get("window_scaling")?,
            ecn,
            ecn_echo,
            recv_buffer,
            read_rate: layers.get::<OrWord<_>>("read_rate")?.value(),
            nagle: layers.get("nagle")?,
            idle_restart: match layers.get::<OrWord<bool>>("idle_restart")? {
                OrWord::Value(false) | OrWord::Word("off") => IdleRestart::Off,
                OrWord::Word("linux") => IdleRestart::Linux,
                OrWord::Value(true) | OrWord::Word(_) => IdleRestart::Rfc5681,
            },
            cwnd_validation: layers.get("cwnd_validation")?,
            slow_start_at_equality: layers.get("slow_start_at_equality")?,
            pacing: pacing(stack)?,
            rto_style: rto.0,
            rto_initial: rto.1[0],
            rto_min: rto.1[1],
            rto_max: rto.1[2],
            rto_granularity: rto.1[3],
        })
    }

    /// Refuses ACNS at the end points of a flow where no `[acns]` gives its parameters and its routers.
    fn refuse_assist(&mut self, own: Option<&Record>, base: &mut Base, path: &Path<'_>) {
        let tcp = Path::Key(path, "tcp");
        let shared = self.root.table("tcp");
        let (item, path, shared) =
            match (own.and_then(|own| own.given("assist")), shared.and_then(|shared| shared.given("assist"))) {
                (Some(item), _) => (item, &tcp, false),
                (None, Some(item)) if !base.refused => (item, &TOP, true),
                _ => return,
            };
        let known = self.catalogue.schemes.iter().any(|row| row.name == ACNS);
        if known && matches!(&item.value, Value::Text(name) if name == ACNS) {
            base.refused |= shared;
            let allowed = "none, or an [acns] table beside it";
            self.report.add(item.place, Path::Key(path, "assist"), &item.shown, "needs an [acns] table", allowed);
        }
    }

    /// The scheme at the end points; ACNS by default where routers run it, none at all where it is switched off.
    fn assist(&mut self, layers: &Layers<'_>, path: &Path<'_>, acns: Option<bool>) -> Option<Option<String>> {
        let Some(item) = layers.given("assist") else { return Some((acns == Some(true)).then(|| ACNS.to_owned())) };
        let Value::Text(name) = &item.value else { return None };
        let names: Vec<&str> = self.catalogue.schemes.iter().map(|row| row.name.as_str()).collect();
        if name == "none" {
            return Some(None);
        }
        if !names.contains(&name.as_str()) {
            let own = layers.records.first().is_some_and(|record| record.given("assist").is_some());
            if own {
                let reason = format!("is no scheme{}", hint(name, names.iter().copied()));
                let allowed = std::iter::once("none").chain(names.iter().copied()).collect::<Vec<_>>().join(", ");
                self.report.add(item.place, Path::Key(path, "assist"), &item.shown, reason, allowed);
            }
            return None;
        }
        Some((acns != Some(false)).then(|| name.clone()))
    }

    fn rto(&mut self, stack: &[Option<&Record>], path: &Path<'_>) -> Option<(RtoStyle, [Duration; 4])> {
        let layers = Layers::new(&RTO, stack.iter().map(|record| record.and_then(|record| record.table("rto"))));
        let (style, defaults) = match layers.get::<&str>("style")? {
            "linux" => (RtoStyle::Linux, [1000, 200, 120_000, 1]),
            "ns2" => (RtoStyle::Ns2, [3000, 200, 60_000, 10]),
            _ => (RtoStyle::Rfc6298, [1000, 1000, 60_000, 1]),
        };
        let mut times = [Duration::ZERO; 4];
        for (index, key) in ["initial", "min", "max", "granularity"].into_iter().enumerate() {
            times[index] = match layers.given(key) {
                Some(_) => layers.get(key)?,
                None => Duration::from_millis(defaults[index]),
            };
        }
        let path = Path::Key(path, "rto");
        let mut rules = Rules { build: self, layers: &layers, path: &path };
        let most = quantity::show_time(times[2]);
        if times[1] > times[2] {
            rules.broken(&["min", "max"], "is more than max", &format!("at most {most}"));
        }
        if times[0] > times[2] {
            rules.broken(&["initial", "max"], "is more than max", &format!("at most {most}"));
        }
        Some((style, times))
    }
}

/// Reports rules among fields that are broken.
struct Rules<'a, 'b> {
    build: &'a mut Build<'b>,
    layers: &'a Layers<'a>,
    path: &'a Path<'a>,
}

impl Rules<'_, '_> {
    /// Points at the first of the fields that the uppermost table gives. Where it gives none, the rule is broken further
    /// down, and is reported there.
    fn broken(&mut self, keys: &[&str], reason: &str, allowed: &str) {
        let top = self.layers.records.first();
        let Some((key, item)) = keys.iter().find_map(|key| Some((key, top?.given(key)?))) else { return };
        let shown = item.shown.clone();
        let first = keys.first().copied().unwrap_or(key);
        let reason = if *key == first { reason.to_owned() } else { format!("does not fit: {first} {reason}") };
        self.build.report.add(item.place, Path::Key(self.path, key), shown, reason, allowed);
    }
}

fn delayed_ack(stack: &[Option<&Record>]) -> Option<Option<DelayedAck>> {
    let Some(layers) = or_off(stack, "delayed_ack", &DELAYED_ACK)? else { return Some(None) };
    // Where no table says anything, they are on.
    Some(Some(DelayedAck { every: layers.get("every")?, timeout: layers.get("timeout")? }))
}

fn pacing(stack: &[Option<&Record>]) -> Option<Option<Pacing>> {
    match or_off(stack, "pacing", &PACING)? {
        Some(layers) if !layers.records.is_empty() => {
            Some(Some(Pacing { slow_start: layers.get("slow_start")?, avoidance: layers.get("avoidance")? }))
        }
        _ => Some(None),
    }
}

/// The tables given for `key`, which may also be `false`: `Some(None)` where that rules, `None` where one was wrong.
fn or_off<'a>(stack: &[Option<&'a Record>], key: &str, table: &'static Table) -> Option<Option<Layers<'a>>> {
    let mut records = Vec::new();
    for record in stack.iter().flatten() {
        match record.given(key).map(|item| &item.value) {
            Some(Value::Off) if records.is_empty() => return Some(None),
            // Switched off below, on above: what is above starts from the defaults.
            Some(Value::Off) => break,
            Some(Value::Table(table)) => records.push(Some(table)),
            Some(_) => return None,
            None => {}
        }
    }
    Some(Some(Layers::new(table, records)))
}

fn default(kind: &CatalogueKind) -> Option<ParamValue> {
    Some(match kind {
        CatalogueKind::Number { default, .. } => ParamValue::Number(*default),
        CatalogueKind::Choice { default, .. } => ParamValue::Choice(default.clone()),
        CatalogueKind::Switch { default } => ParamValue::Switch(*default),
        CatalogueKind::Limit => return None,
    })
}
