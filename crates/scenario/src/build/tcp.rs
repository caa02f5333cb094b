//! One flow's TCP settings: its own keys, then `[tcp]`, then its stack's defaults, then the general ones.

use super::Build;
use super::cc::Chosen;
use super::rules::Rules;
use crate::check::Path;
use crate::problem::Place;
use crate::record::{FromValue, Item, Layers, OrWord, Record, Value, default};
use crate::schema::{CAREFUL_RESUME, DELAYED_ACK, PACING, RTO, TCP, Table, habits};
use crate::suggest::hint;
use crate::types::{
    CarefulResume, DelayedAck, EcnEcho, Pacing, Peer, PeerEcn, RecoveryKind, Reduction, RtoConfig, RtoStyle, Stack, Tcp,
};
use crate::words::FromWord;
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
    fn tables(&self) -> [Option<&'a Record>; 2] {
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
                slow_start: begins.slow_start,
                careful_resume: begins.careful_resume,
                rto,
                ..Config::default()
            },
        };
        fill(&mut tcp, &layers)?;
        Some(tcp)
    }

    /// Builds the settings of loss recovery and ECN, which may depend on the congestion control; `assist` is the scheme
    /// at the end points, if it is known.
    fn answer(
        &mut self,
        said: &Said<'_>,
        chosen: Option<&Chosen<'_>>,
        layers: &Layers<'_>,
        assist: Option<&Option<String>>,
    ) -> Option<Answer> {
        let explicit = Layers::new(&TCP, said.tables());
        let row = chosen.map(|chosen| chosen.row);
        let needs_sack = |recovery| matches!(recovery, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Rack);
        let implied = row.and_then(|row| RecoveryKind::from_word(row.recovery.as_deref()?));
        let meant = if explicit.given("recovery").is_some() { Some(explicit.get("recovery")?) } else { implied };
        let sack = match explicit.given("sack") {
            Some(_) => explicit.get("sack")?,
            None => layers.get("sack")? || meant.is_some_and(needs_sack),
        };
        let recovery = match (meant, layers.get("recovery")?) {
            (Some(meant), _) => meant,
            (None, habit) if needs_sack(habit) && !sack => RecoveryKind::NewReno,
            (None, habit) => habit,
        };
        let l4s = row.is_some_and(|row| row.l4s);
        let offer = match explicit.given("ecn") {
            None if l4s => EcnOffer::Accurate,
            _ => layers.get("ecn")?,
        };
        let ecn = offer != EcnOffer::Off;
        let scoreboard = needs_sack(recovery);
        let reduction = match explicit.given("reduction") {
            Some(_) => explicit.get("reduction")?,
            None if scoreboard || ecn => layers.get("reduction")?,
            None => Reduction::Immediate,
        };
        let needs_ecn = row.is_some_and(|row| row.needs_ecn);
        let ecn_echo = match explicit.given("ecn_echo") {
            Some(_) => explicit.get("ecn_echo")?,
            None if needs_ecn => EcnEcho::EachMark,
            None => EcnEcho::UntilCwr,
        };
        let ect1 = match explicit.given("ect1") {
            Some(_) => explicit.get("ect1")?,
            None => l4s && ecn,
        };
        let scheme = assist.and_then(Option::as_ref).filter(|name| self.excludes_ecn(name));
        let cc = format!("cc = {:?}", row.map_or("", |row| &row.name));
        let mut rules = Rules::new(self, said);
        if scoreboard && !sack {
            let reason = "needs sack = true";
            match explicit.given("recovery") {
                Some(_) => {
                    rules.broken("recovery", &["recovery", "sack"], reason, "another recovery, or sack = true");
                }
                None => rules.broken(&cc, &["cc", "sack"], reason, "another one, or sack = true"),
            }
        }
        if reduction != Reduction::Immediate && !scoreboard && !ecn {
            let keys = ["reduction", "sack", "recovery", "ecn"];
            let reason = "needs recovery by sack, fack or rack, or ecn = true";
            rules.broken("reduction", &keys, reason, "\"immediate\", such a recovery, or ecn = true");
        }
        let fast = !matches!(recovery, RecoveryKind::Tahoe | RecoveryKind::RtoOnly);
        let asked = explicit.given("frto").is_some();
        let frto = layers.get("frto")? && (fast || asked);
        if frto && !fast {
            rules.broken("frto", &["frto", "recovery"], "needs fast recovery", "false, or another recovery");
        }
        if ect1 && !ecn {
            rules.broken("ect1", &["ect1", "ecn"], "needs ecn = true", "false, or ecn = true");
        }
        if l4s && offer != EcnOffer::Accurate {
            rules.broken(&cc, &["cc", "ecn"], "needs ecn = \"accurate\"", "another one, or ecn = \"accurate\"");
        }
        if l4s && ecn && !ect1 {
            rules.broken(&cc, &["cc", "ect1"], "needs ect1 = true", "another one, or ect1 = true");
        }
        if needs_ecn && !ecn {
            rules.broken(&cc, &["cc", "ecn"], "needs ecn = true", "another one, or ecn = true");
        } else if ecn_echo == EcnEcho::EachMark && !ecn {
            rules.broken("ecn_echo", &["ecn_echo", "ecn"], "needs ecn = true", "\"until_cwr\", or ecn = true");
        } else if let Some(scheme) = scheme {
            // With `ecn = true` alone the scheme's handshake may fall back to ECN, so that is no contradiction.
            let reason = format!("needs header bits of ECN that belong to {scheme}");
            if needs_ecn || l4s {
                rules.broken(&cc, &["cc", "assist"], &reason, "another one, or assist = \"none\"");
            } else if offer == EcnOffer::Accurate {
                rules.broken("ecn", &["ecn", "assist"], &reason, "true, false, or assist = \"none\"");
            } else if ecn_echo == EcnEcho::EachMark {
                rules.broken("ecn_echo", &["ecn_echo", "assist"], &reason, "\"until_cwr\", or assist = \"none\"");
            } else if ect1 {
                rules.broken("ect1", &["ect1", "assist"], &reason, "false, or assist = \"none\"");
            }
        }
        Some(Answer { sack, recovery, frto, reduction, ecn: offer, ecn_echo, ect1 })
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
    fn excludes_ecn(&self, name: &str) -> bool {
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
            None => set(tcp, &default(layers.table, field.key)?)?,
        }
    }
    Some(())
}

/// Settings of loss recovery and ECN.
struct Answer {
    sack: bool,
    recovery: RecoveryKind,
    frto: bool,
    reduction: Reduction,
    ecn: EcnOffer,
    ecn_echo: EcnEcho,
    ect1: bool,
}

/// The kind of ECN that a flow offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EcnOffer {
    Off,
    Classic,
    Accurate,
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

impl FromValue for PeerEcn {
    fn from_value(value: &Value) -> Option<Self> {
        EcnOffer::from_value(value).map(|offer| match offer {
            EcnOffer::Off => Self::Off,
            EcnOffer::Classic => Self::Classic,
            EcnOffer::Accurate => Self::Accurate,
        })
    }
}

impl FromValue for EcnOffer {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Switch(false) | Value::Word("off") => Some(Self::Off),
            Value::Switch(true) | Value::Word("classic") => Some(Self::Classic),
            Value::Word("accurate") => Some(Self::Accurate),
            _ => None,
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
