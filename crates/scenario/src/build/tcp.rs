//! One flow's TCP settings: its own keys, then `[tcp]`, then its stack's defaults, then the general ones.

use super::Build;
use super::answer::EcnOffer;
use super::cc::Chosen;
use super::rules::Rules;
use crate::check::Path;
use crate::problem::Place;
use crate::record::{FromValue, Item, Layers, OrWord, Record, Value};
use crate::schema::{CAREFUL_RESUME, DELAYED_ACK, MISBEHAVIOR, PACING, RTO, TCP, Table, default, habits};
use crate::suggest::hint;
use crate::types::{
    CarefulResume, DelayedAck, Misbehavior, Pacing, Peer, PeerEcn, ReceiverCc, RtoConfig, RtoStyle, Stack, Tcp,
};
use narrows_settings::Config;
use narrows_units::{Bytes, Duration};
use std::sync::Arc;

/// Settings that apply to flows that give none.
#[derive(Debug)]
pub(crate) struct Base<'a> {
    /// The settings of `[tcp]`; `None` if they are wrong.
    pub(crate) tcp: Option<Arc<Tcp>>,
    chosen: Option<Chosen<'a>>,
    /// Whether the settings of `[tcp]` are consistent.
    agreed: bool,
    /// Which of [`SCHEME_KEYS`] in `[tcp]` have been refused already, a bit each: flows share them.
    refused: u8,
}

/// Keys that name a scheme at an end point, with a bit for each.
const SCHEME_KEYS: [(&str, u8); 2] = [("assist", 1), ("peer_assist", 2)];

/// A field that was given, and its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) item: &'a Item,
    table: &'a Path<'a>,
    key: &'static str,
}

impl Given<'_> {
    /// Path of the field.
    pub(crate) fn path(&self) -> Path<'_> {
        Path::Key(self.table, self.key)
    }

    /// Its place in the file.
    pub(crate) fn place(&self) -> Place {
        self.item.place
    }
}

/// The TCP settings given for a flow, or by `[tcp]` for all flows.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    /// The flow's `tcp`, or `[tcp]` itself.
    pub(crate) own: Option<&'a Record>,
    /// Path of `own`.
    pub(crate) path: &'a Path<'a>,
    /// `[tcp]`, if `own` belongs to a flow.
    shared: Option<&'a Record>,
    /// The flow's own congestion control.
    pub(crate) cc: Option<Given<'a>>,
    /// The flow's own stack.
    pub(crate) stack: Option<Given<'a>>,
    /// Whether `[tcp]` is consistent; a contradiction then comes from the flow.
    pub(crate) agreed: bool,
}

impl<'a> Said<'a> {
    /// Returns the tables of a file, layered, without the stack's defaults.
    pub(super) fn tables(&self) -> [Option<&'a Record>; 2] {
        [self.own, self.shared]
    }

    fn stack(&self) -> Option<Stack> {
        match (&self.stack, self.shared) {
            (Some(given), _) => Stack::from_value(&given.item.value),
            (None, Some(shared)) => shared.get("stack"),
            (None, None) => Some(Stack::Rfc),
        }
    }
}

const TOP: Path<'static> = Path::Key(&Path::Root, "tcp");

impl<'a> Build<'a> {
    /// The settings of `[tcp]`.
    pub(crate) fn base(&mut self) -> Base<'a> {
        let own = self.root.table("tcp");
        let before = self.report.count();
        let given = |key| own.and_then(|own| own.given(key)).map(|item| Given { item, table: &TOP, key });
        let said = Said { own, path: &TOP, shared: None, cc: given("cc"), stack: given("stack"), agreed: false };
        let name = Layers::new(&TCP, [own]).get::<String>("cc");
        let chosen = name.and_then(|name| self.chosen(&name, said.cc.as_ref(), own, &TOP, None));
        let tcp = self.tcp(&said, chosen.as_ref()).map(Arc::new);
        Base { agreed: tcp.is_some() && self.report.count() == before, tcp, chosen, refused: 0 }
    }

    /// The settings of a flow, which may give `cc` and `stack` beside its table.
    pub(crate) fn flow_tcp(&mut self, flow: &Record, base: &mut Base<'a>, path: &Path<'_>) -> Option<Arc<Tcp>> {
        let own = flow.table("tcp");
        for (key, bit) in SCHEME_KEYS {
            self.refuse_assist(own, base, path, (key, bit));
        }
        let inner = Path::Key(path, "tcp");
        let cc = self.either("cc", (flow, path), (own, &inner));
        let stack = self.either("stack", (flow, path), (own, &inner));
        if own.is_none() && cc.is_none() && stack.is_none() {
            return base.tcp.clone();
        }
        let name = match (&cc, &base.chosen) {
            (Some(given), _) => String::from_value(&given.item.value),
            (None, Some(below)) => Some(below.row.name.clone()),
            (None, None) => None,
        };
        let chosen = name.and_then(|name| self.chosen(&name, cc.as_ref(), own, &inner, base.chosen.as_ref()));
        let shared = self.root.table("tcp");
        let said = Said { own, path: &inner, shared, cc, stack, agreed: base.agreed };
        self.tcp(&said, chosen.as_ref()).map(Arc::new)
    }

    /// Returns a field of the flow's table or, in short form, of the flow itself; reports a field that is in both.
    fn either<'p>(
        &mut self,
        key: &'static str,
        (flow, path): (&'p Record, &'p Path<'p>),
        (own, inner): (Option<&'p Record>, &'p Path<'p>),
    ) -> Option<Given<'p>> {
        let short = flow.given(key).map(|item| Given { item, table: path, key });
        let long = own.and_then(|own| own.given(key)).map(|item| Given { item, table: inner, key });
        if let (Some(short), Some(_)) = (short, long) {
            let reason = format!("duplicates `tcp.{key}`");
            self.report.add(short.place(), short.path(), &short.item.shown, reason, "one of the two");
        }
        short.or(long)
    }

    /// Builds all settings from the given ones and the stack's defaults.
    fn tcp(&mut self, said: &Said<'_>, chosen: Option<&Chosen<'_>>) -> Option<Tcp> {
        let assist = self.assist(said);
        let peer_assist = self.peer_assist(said);
        let stack = said.stack()?;
        let habits = habits(stack, chosen.and_then(|chosen| chosen.row.ns2));
        let layers = Layers::new(&TCP, said.tables().into_iter().chain([Some(habits)]));
        let answer = self.answer(said, chosen, &layers, assist.as_ref())?;
        let mss: Bytes = layers.get("mss")?;
        let max_cwnd = layers.get::<OrWord<Bytes>>("max_cwnd")?.value();
        let recv_buffer: Bytes = layers.get("recv_buffer")?;
        let one = format!("at least one mss ({} B)", mss.as_u64());
        let mut rules = Rules::new(self, said);
        if max_cwnd.is_some_and(|most| most < mss) {
            rules.broken("max_cwnd", &["max_cwnd", "mss"], "is less than one segment", &one);
        }
        if recv_buffer < mss {
            rules.broken("recv_buffer", &["recv_buffer", "mss"], "is less than one segment", &one);
        }
        if layers.get::<ReceiverCc>("receiver_cc")? == ReceiverCc::Rledbat && !layers.get::<bool>("timestamps")? {
            let reason = "needs timestamps = true, from which the receiver measures";
            rules.broken("receiver_cc", &["receiver_cc", "timestamps"], reason, "\"none\", or timestamps = true");
        }
        let misbehavior = misbehavior(layers.records.as_slice())?;
        let runs_ahead = misbehavior.is_some_and(|it| it.optimistic_acks > Bytes::ZERO);
        if runs_ahead && layers.get::<ReceiverCc>("receiver_cc")? == ReceiverCc::Rledbat {
            let reason = "has optimistic_acks, and receiver_cc measures the data that it acknowledges";
            let allowed = "optimistic_acks = \"0 B\", or receiver_cc = \"none\"";
            rules.broken("misbehavior", &["misbehavior", "receiver_cc"], reason, allowed);
        }
        if layers.get("tsq")? && !layers.get::<bool>("gso")? {
            rules.broken(
                "tsq",
                &["tsq", "gso"],
                "needs gso = true, which Linux's TCP always has",
                "false, or gso = true",
            );
        }
        let rto = self.rto(said, habits)?;
        let tables = layers.records.as_slice();
        let chosen = chosen?;
        let scheme = assist.as_ref().and_then(Option::as_deref);
        let begins = self.begins(said, chosen, &layers, careful_resume(tables)?, scheme)?;
        let mut cc_params = chosen.params(stack);
        begins.give(&mut cc_params);
        let mut tcp = Tcp {
            stack,
            cc: chosen.row.name.clone(),
            cc_params,
            assist: assist?,
            peer: Peer { assist: peer_assist?, ecn: layers.get::<SameOr<PeerEcn>>("peer_ecn")?.0 },
            read_rate: None,
            config: Config {
                delayed_ack: delayed_ack(tables)?,
                recovery: answer.recovery,
                frto: answer.frto,
                reduction: answer.reduction,
                sack: answer.sack,
                ecn: answer.ecn != EcnOffer::Off,
                accurate_ecn: answer.ecn == EcnOffer::Accurate,
                ecn_echo: answer.ecn_echo,
                ect1: answer.ect1,
                autotuning: autotuning(said, &layers)?,
                pacing: pacing(tables)?,
                misbehavior,
                slow_start: begins.slow_start,
                careful_resume: begins.careful_resume,
                rto,
                ..Config::default()
            },
        };
        fill(&mut tcp, &layers)?;
        Some(tcp)
    }

    /// Refuses a scheme at the end points of a flow if no table of that name gives its parameters and its routers.
    ///
    /// `key` is one of [`SCHEME_KEYS`], with its bit in [`Base::refused`].
    fn refuse_assist(
        &mut self,
        own: Option<&Record>,
        base: &mut Base<'_>,
        path: &Path<'_>,
        (key, bit): (&'static str, u8),
    ) {
        let tcp = Path::Key(path, "tcp");
        let shared = self.root.table("tcp");
        let (item, path, shared) =
            match (own.and_then(|own| own.given(key)), shared.and_then(|shared| shared.given(key))) {
                (Some(item), _) => (item, &tcp, false),
                (None, Some(item)) if base.refused & bit == 0 => (item, &TOP, true),
                _ => return,
            };
        let Value::Text(name) = &item.value else { return };
        let known = self.catalogue.schemes.iter().any(|row| row.name == *name);
        if known && self.schemes.of(name).is_none() {
            base.refused |= if shared { bit } else { 0 };
            let (reason, allowed) =
                (format!("needs an [{name}] table"), format!("none, or an [{name}] table beside it"));
            self.report.add(item.place, Path::Key(path, key), &item.shown, reason, allowed);
        }
    }

    /// Whether a scheme of this name writes the header bits of ECN at the end points.
    pub(super) fn excludes_ecn(&self, name: &str) -> bool {
        self.catalogue.schemes.iter().any(|row| row.name == name && row.excludes_ecn)
    }

    /// Returns the scheme at the end points: by default the one that is on; none if the named one is off.
    fn assist(&mut self, said: &Said<'_>) -> Option<Option<String>> {
        self.scheme_at(said, "assist")
    }

    /// Returns the scheme that a key names, or the enabled one if it is not given.
    fn scheme_at(&mut self, said: &Said<'_>, key: &'static str) -> Option<Option<String>> {
        let Some(item) = Layers::new(&TCP, said.tables()).given(key) else {
            return Some(self.schemes.enabled().map(|row| row.name.to_owned()));
        };
        let Value::Text(name) = &item.value else { return None };
        let names: Vec<&str> = self.catalogue.schemes.iter().map(|row| row.name).collect();
        if name == "none" {
            return Some(None);
        }
        if !names.contains(&name.as_str()) {
            if said.own.is_some_and(|own| own.given(key).is_some()) {
                let reason = format!("is not a scheme{}", hint(name, names.iter().copied()));
                let allowed = std::iter::once("none").chain(names.iter().copied()).collect::<Vec<_>>().join(", ");
                self.report.add(item.place, Path::Key(said.path, key), &item.shown, reason, allowed);
            }
            return None;
        }
        Some((self.schemes.of(name) != Some(false)).then(|| name.clone()))
    }

    /// Returns the scheme at the end that the flow goes to, if it is named; see [`Self::assist`].
    fn peer_assist(&mut self, said: &Said<'_>) -> Option<Option<Option<String>>> {
        match Layers::new(&TCP, said.tables()).given("peer_assist") {
            None => Some(None),
            Some(item) if matches!(item.value, Value::Word("same")) => Some(None),
            Some(_) => self.scheme_at(said, "peer_assist").map(Some),
        }
    }

    /// Builds the timer's settings. The stack's times apply only with the stack's style; another style has its own
    /// times.
    fn rto(&mut self, said: &Said<'_>, habits: &Record) -> Option<RtoConfig> {
        let said_of = said.tables().map(|table| table.and_then(|table| table.table("rto")));
        let habit = habits.table("rto");
        let usual = habit.and_then(|habit| habit.get::<RtoStyle>("style"));
        let explicit = Layers::new(&RTO, said_of);
        let style = if explicit.given("style").is_some() { explicit.get("style")? } else { usual? };
        let layers = Layers::new(&RTO, said_of.into_iter().chain([habit.filter(|_| usual == Some(style))]));
        let defaults = match style {
            RtoStyle::Rfc6298 => [1000, 1000, 60_000, 1],
            RtoStyle::Linux => [1000, 200, 120_000, 1],
            RtoStyle::Ns2 => [3000, 200, 60_000, 10],
        };
        let mut times = [Duration::ZERO; 4];
        for (index, key) in ["initial", "min", "max", "granularity"].into_iter().enumerate() {
            times[index] = match layers.given(key) {
                Some(_) => layers.get(key)?,
                None => Duration::from_millis(defaults[index]),
            };
        }
        Rules::new(self, said).timer(&times);
        let [initial, min, max, granularity] = times;
        Some(RtoConfig { style, initial, min, max, granularity })
    }
}

/// Fills the settings that depend on no other setting, by their rows; `None` if one is wrong.
fn fill(tcp: &mut Tcp, layers: &Layers<'_>) -> Option<()> {
    for field in layers.table.fields() {
        let Some(set) = field.lens.and_then(|lens| lens.set) else { continue };
        match layers.given(field.key) {
            Some(item) => set(tcp, &item.value)?,
            None => set(tcp, &*default(field)?)?,
        }
    }
    Some(())
}

/// A value, or the word `same`.
struct SameOr<T>(Option<T>);

impl<T: FromValue> FromValue for SameOr<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word("same") => Some(Self(None)),
            other => T::from_value(other).map(|own| Self(Some(own))),
        }
    }
}

fn delayed_ack(tables: &[&Record]) -> Option<DelayedAck> {
    let Some(layers) = or_off(tables, "delayed_ack", &DELAYED_ACK)? else { return Some(DelayedAck::Off) };
    Some(DelayedAck::On { every: layers.get("every")?, timeout: layers.get("timeout")? })
}

/// Whether the receive window is autotuned. A file that sets only the buffer turns autotuning off, as a program's
/// `SO_RCVBUF` does in Linux (`SOCK_RCVBUF_LOCK`).
fn autotuning(said: &Said<'_>, layers: &Layers<'_>) -> Option<bool> {
    let given = |key: &str| said.tables().into_iter().flatten().any(|table| table.given(key).is_some());
    Some(layers.get("autotuning")? && (given("autotuning") || !given("recv_buffer")))
}

fn pacing(tables: &[&Record]) -> Option<Pacing> {
    match or_off(tables, "pacing", &PACING)? {
        Some(layers) if !layers.records.is_empty() => {
            Some(Pacing::Ratio { slow_start: layers.get("slow_start")?, avoidance: layers.get("avoidance")? })
        }
        _ => Some(Pacing::Off),
    }
}

fn careful_resume(tables: &[&Record]) -> Option<Option<CarefulResume>> {
    match or_off(tables, "careful_resume", &CAREFUL_RESUME)? {
        Some(layers) if !layers.records.is_empty() => {
            let (saved_cwnd, saved_rtt) = (layers.get("saved_cwnd")?, layers.get("saved_rtt")?);
            Some(Some(CarefulResume { saved_cwnd, saved_rtt }))
        }
        _ => Some(None),
    }
}

fn misbehavior(tables: &[&Record]) -> Option<Option<Misbehavior>> {
    match or_off(tables, "misbehavior", &MISBEHAVIOR)? {
        Some(layers) if !layers.records.is_empty() => {
            let found = Misbehavior {
                ack_division: layers.get("ack_division")?,
                duplicate_acks: layers.get("duplicate_acks")?,
                optimistic_acks: layers.get("optimistic_acks")?,
                conceal_ce: layers.get("conceal_ce")?,
            };
            Some((found != Misbehavior::HONEST).then_some(found))
        }
        _ => Some(None),
    }
}

/// Returns the tables of `key`, which may also be `false`: `Some(None)` if `false` applies, `None` if one is wrong.
fn or_off<'a>(tables: &[&'a Record], key: &str, table: &'static Table) -> Option<Option<Layers<'a>>> {
    let mut records = Vec::new();
    for record in tables {
        match record.given(key).map(|item| &item.value) {
            Some(Value::Off) if records.is_empty() => return Some(None),
            // A lower table switches it off and a higher one on: the higher tables start from the defaults.
            Some(Value::Off) => break,
            Some(Value::Table(table)) => records.push(Some(table)),
            Some(_) => return None,
            None => {}
        }
    }
    Some(Some(Layers::new(table, records)))
}
