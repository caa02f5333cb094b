//! Algorithms, queues, schemes and PHYs that a scenario may name. The caller passes them in: this crate does not
//! depend on an engine.

mod queues;
mod schemes;

use crate::types::Stack;
use crate::words::Word;
use narrows_settings::queue::Discipline;
use narrows_settings::scheme::Scheme;
use narrows_units::{Bytes, Duration, Rate, Variable};
pub(crate) use queues::show_param;
use serde_json::json;

/// Names that a scenario may use, with their parameters.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Congestion controls.
    pub cc: Vec<CatalogueRow>,
    /// Queue disciplines; the first is the default.
    pub queues: Vec<&'static Discipline>,
    /// Network-assisted schemes.
    pub schemes: Vec<&'static Scheme>,
    /// PHYs of 802.11 channels.
    pub phys: Vec<CataloguePhy>,
    /// Variables that a flow reports if its slow start is replaced.
    pub start_variables: Vec<CatalogueVariable>,
    /// Variables that a flow reports if it resumes a saved window.
    pub resume_variables: Vec<CatalogueVariable>,
}

/// A preset of an 802.11 PHY: the rates and options of the standard, and the defaults of a channel's table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CataloguePhy {
    /// Name in scenario files.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Clauses of the standard that it follows.
    pub sources: Vec<String>,
    /// Rates of data frames, in rising order; empty if the rate depends on `mcs`.
    pub rates: Vec<Rate>,
    /// Rates of control frames, in rising order.
    pub basic_rates: Vec<Rate>,
    /// Default rate of control frames.
    pub basic_rate: Rate,
    /// Largest index of modulation and coding; `None` if `rates` lists the rates.
    pub max_mcs: Option<u32>,
    /// Every combination that the standard has, with its rate. Empty if `rates` lists the rates, or if it is unknown
    /// which combinations are left out; then all are assumed to exist.
    pub mcs: Vec<CatalogueMcs>,
    /// Channel widths, MHz.
    pub widths_mhz: Vec<u32>,
    /// Largest number of spatial streams.
    pub max_streams: u32,
    /// Whether the PHY has a short preamble.
    pub short_preamble: bool,
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// aCWmin.
    pub cw_min: u32,
    /// aCWmax.
    pub cw_max: u32,
    /// Largest A-MPDU in bytes; `None` without aggregation.
    pub max_ampdu: Option<Bytes>,
}

/// A combination of modulation, coding, width and streams that a PHY supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatalogueMcs {
    /// Index of modulation and coding of one stream.
    pub mcs: u32,
    /// Channel width, MHz.
    pub width_mhz: u32,
    /// Spatial streams.
    pub streams: u32,
    /// Guard interval of 400 ns instead of 800 ns.
    pub short_guard: bool,
    /// Rate of its data frames.
    pub rate: Rate,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogueRow {
    /// Name in scenario files.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// RFC sections and papers it follows.
    pub sources: Vec<String>,
    /// Parameters.
    pub params: Vec<CatalogueParam>,
    /// Variables that it reports over a run; empty for entries that report none.
    pub variables: Vec<CatalogueVariable>,
    /// Loss recovery that the name of a congestion control implies, as a word of scenario files.
    pub recovery: Option<String>,
    /// Effect of congestion on the window of a congestion control: `nothing`, `reduces` or `models`; empty for other
    /// entries.
    pub response: &'static str,
    /// Whether a congestion control needs ECN with an echo of each mark (RFC 8257).
    pub needs_ecn: bool,
    /// Whether a congestion control is one for L4S (RFC 9331), which takes AccECN and ECT(1).
    pub l4s: bool,
    /// Why the slow start of a congestion control cannot be replaced, as the end of a sentence that begins with its
    /// name; `None` if it can.
    pub own_start: Option<String>,
    /// The ns-2.35 agent that has the congestion control.
    pub ns2: Option<Ns2Agent>,
    /// The entry's page in Markdown; empty where it has none.
    pub page: String,
}

/// An agent of ns-2.35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ns2Agent {
    /// One of its own one-way agents (`Agent/TCP/Reno` ..).
    Own,
    /// `Agent/TCP/Linux`.
    TcpLinux,
}

/// A number that an entry keeps over a run and reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueVariable {
    /// Name under which it is reported.
    pub name: String,
    /// Unit; empty where it has none.
    pub unit: String,
    /// Meaning of the number.
    pub doc: String,
    /// Words for the values 0, 1, 2 ..; empty for a quantity.
    pub words: Vec<String>,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueParam {
    /// Name in scenario files.
    pub name: String,
    /// Effect of the parameter.
    pub doc: String,
    /// Allowed values.
    pub kind: CatalogueKind,
}

/// The values that a parameter takes.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogueKind {
    /// A number in `unit`, from `min` to `max`.
    Number {
        /// Unit; empty where it has none.
        unit: String,
        /// Used when none is given.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of a few words.
    Choice {
        /// Used when none is given.
        default: String,
        /// Allowed words.
        allowed: Vec<String>,
    },
    /// On or off.
    Switch {
        /// Used when none is given.
        default: bool,
    },
    /// A number of packets or bytes, or a time, with its unit; it must be given.
    Limit,
}

impl Catalogue {
    /// Returns the catalogue as JSON: `cc`, `queues`, `schemes` and `phys`.
    ///
    /// The first three are lists of entries with `name`, `title`, `sources`, `parameters` (`name`, `doc`, `kind`,
    /// and by kind `unit`, `default`, `min`, `max`, `allowed`), `variables` and `page` (Markdown; empty of a scheme).
    /// Congestion controls also have `response` (`nothing`, `reduces` or `models`), `recovery` (the word that the name
    /// implies, or null), `needs_ecn`, `l4s`, `own_start` (why its slow start cannot be replaced, or null), `ns2`
    /// (`own`, `tcp_linux` or null) and `profiles` (the profile that each stack selects, unless it is the algorithm's
    /// default).
    ///
    /// PHYs have `name`, `title`, `sources` and the fields of [`CataloguePhy`], in the base units that the keys end in.
    /// Instead of the list of combinations they have `left_out`: the combinations (MCS, width, streams) within the
    /// bounds that the PHY lacks.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let rows = |rows: &[CatalogueRow]| rows.iter().map(CatalogueRow::to_json).collect::<Vec<_>>();
        let cc: Vec<_> = self.cc.iter().map(CatalogueRow::cc_to_json).collect();
        let phys: Vec<_> = self.phys.iter().map(CataloguePhy::to_json).collect();
        json!({ "cc": cc, "queues": rows(&self.queue_rows()), "schemes": rows(&self.scheme_rows()), "phys": phys })
    }

    /// The schemes as entries of a list.
    #[must_use]
    pub fn scheme_rows(&self) -> Vec<CatalogueRow> {
        self.schemes.iter().map(|row| schemes::entry(row)).collect()
    }

    /// The congestion control of this name.
    #[must_use]
    pub fn find_cc(&self, name: &str) -> Option<&CatalogueRow> {
        self.cc.iter().find(|row| row.name == name)
    }

    /// The queue discipline of this name.
    #[must_use]
    pub fn find_queue(&self, name: &str) -> Option<&'static Discipline> {
        self.queues.iter().copied().find(|row| row.name == name)
    }

    /// The queue disciplines as entries, with `limit` before their own parameters.
    #[must_use]
    pub fn queue_rows(&self) -> Vec<CatalogueRow> {
        self.queues.iter().map(|row| queues::entry(row)).collect()
    }

    /// The PHY of this name.
    #[must_use]
    pub fn find_phy(&self, name: &str) -> Option<&CataloguePhy> {
        self.phys.iter().find(|phy| phy.name == name)
    }
}

impl CataloguePhy {
    /// Returns the rate of a combination of `mcs`, width in MHz, streams and short guard interval, if the list has it.
    #[must_use]
    pub fn mcs_rate(&self, mcs: u32, width_mhz: u32, streams: u32, short_guard: bool) -> Option<Rate> {
        let same = |row: &&CatalogueMcs| {
            (row.mcs, row.width_mhz, row.streams, row.short_guard) == (mcs, width_mhz, streams, short_guard)
        };
        self.mcs.iter().find(same).map(|row| row.rate)
    }

    /// Returns the combinations (MCS, width in MHz, streams) within this PHY's bounds that its standard leaves out.
    #[must_use]
    pub fn left_out(&self) -> Vec<(u32, u32, u32)> {
        let Some(max_mcs) = self.max_mcs else { return Vec::new() };
        let mut found = Vec::new();
        for &width in &self.widths_mhz {
            for streams in 1..=self.max_streams {
                found.extend((0..=max_mcs).map(|mcs| (mcs, width, streams)));
            }
        }
        found.retain(|&(mcs, width, streams)| {
            !self.mcs.is_empty() && self.mcs_rate(mcs, width, streams, false).is_none()
        });
        found
    }

    /// Whether a key of a channel's table has a meaning for this PHY.
    pub(crate) fn takes(&self, key: &str) -> bool {
        match key {
            "mcs" | "channel_width" | "streams" | "guard_interval" => self.max_mcs.is_some(),
            "rate" => self.max_mcs.is_none(),
            "preamble" => self.short_preamble,
            "aggregation" => self.max_ampdu.is_some(),
            _ => true,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let rates = |rates: &[Rate]| rates.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>();
        json!({
            "name": self.name,
            "title": self.title,
            "sources": self.sources,
            "rates_bps": rates(&self.rates),
            "basic_rates_bps": rates(&self.basic_rates),
            "basic_rate_bps": self.basic_rate.as_bps(),
            "max_mcs": self.max_mcs,
            "widths_mhz": self.widths_mhz,
            "max_streams": self.max_streams,
            "left_out": self.left_out(),
            "short_preamble": self.short_preamble,
            "slot_ns": self.slot.as_nanos(),
            "sifs_ns": self.sifs.as_nanos(),
            "cw_min": self.cw_min,
            "cw_max": self.cw_max,
            "max_ampdu_bytes": self.max_ampdu.map(Bytes::as_u64),
        })
    }
}

impl CatalogueRow {
    fn to_json(&self) -> serde_json::Value {
        let parameters: Vec<_> = self.params.iter().map(CatalogueParam::to_json).collect();
        let variables: Vec<_> = self.variables.iter().map(CatalogueVariable::to_json).collect();
        json!({
            "name": self.name, "title": self.title, "sources": self.sources,
            "parameters": parameters, "variables": variables, "page": self.page,
        })
    }

    fn cc_to_json(&self) -> serde_json::Value {
        let profiles = [Stack::Linux, Stack::Ns2]
            .into_iter()
            .filter_map(|stack| Some((stack.word().to_owned(), json!(self.profile(stack)?))))
            .collect::<serde_json::Map<_, _>>();
        let mut row = self.to_json();
        row["recovery"] = json!(self.recovery);
        row["response"] = json!(self.response);
        row["needs_ecn"] = json!(self.needs_ecn);
        row["l4s"] = json!(self.l4s);
        row["own_start"] = json!(self.own_start);
        row["ns2"] = json!(self.ns2.map(|agent| match agent {
            Ns2Agent::Own => "own",
            Ns2Agent::TcpLinux => "tcp_linux",
        }));
        row["profiles"] = profiles.into();
        row
    }

    /// Returns the value of the parameter `profile` that a stack selects; `None` is the algorithm's own default.
    ///
    /// It is the stack's name, if the algorithm has a profile of that name. The modules of ns-2's `Agent/TCP/Linux`
    /// come from Linux, so there `ns2` selects `linux`, unless the algorithm has a profile `ns2` for what changed
    /// since.
    #[must_use]
    pub fn profile(&self, stack: Stack) -> Option<&str> {
        let profile = self.params.iter().find(|param| param.name == "profile")?;
        let CatalogueKind::Choice { allowed, .. } = &profile.kind else { return None };
        let find = |word: &str| allowed.iter().find(|allowed| *allowed == word).map(String::as_str);
        match stack {
            Stack::Rfc => None,
            Stack::Linux => find("linux"),
            Stack::Ns2 => {
                find("ns2").or_else(|| (self.ns2 == Some(Ns2Agent::TcpLinux)).then(|| find("linux")).flatten())
            }
        }
    }
}

impl From<&Variable> for CatalogueVariable {
    fn from(variable: &Variable) -> Self {
        Self {
            name: variable.name.to_owned(),
            unit: variable.unit.to_owned(),
            doc: variable.doc.to_owned(),
            words: variable.words.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

impl CatalogueVariable {
    fn to_json(&self) -> serde_json::Value {
        json!({ "name": self.name, "unit": self.unit, "doc": self.doc, "words": self.words })
    }
}

impl CatalogueParam {
    fn to_json(&self) -> serde_json::Value {
        let (name, doc) = (&self.name, &self.doc);
        match &self.kind {
            CatalogueKind::Number { unit, default, min, max } => json!({
                "name": name, "doc": doc, "kind": "number",
                "unit": unit, "default": default, "min": min, "max": max,
            }),
            CatalogueKind::Choice { default, allowed } => {
                json!({ "name": name, "doc": doc, "kind": "choice", "default": default, "allowed": allowed })
            }
            CatalogueKind::Switch { default } => {
                json!({ "name": name, "doc": doc, "kind": "switch", "default": default })
            }
            CatalogueKind::Limit => {
                json!({ "name": name, "doc": doc, "kind": "limit", "unit": "packets, bytes or time", "default": null })
            }
        }
    }
}
