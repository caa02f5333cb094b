//! What the engine offers, as its registries say; the caller hands it in, since scenarios know no engine.

use crate::types::Stack;
use crate::words::Word;
use narrows_units::{Bytes, Duration, Rate};
use serde_json::json;

/// Names that a scenario may use, with their parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Congestion controls.
    pub cc: Vec<CatalogueRow>,
    /// Queues. Where it is empty, all kinds of the format are taken to be there.
    pub queues: Vec<CatalogueRow>,
    /// Network-assisted schemes.
    pub schemes: Vec<CatalogueRow>,
    /// PHYs of 802.11 channels.
    pub phys: Vec<CataloguePhy>,
}

/// A preset of an 802.11 PHY: what a channel of this standard may have, and has where its table does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CataloguePhy {
    /// The word in scenario files.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Clauses of the standard that it follows.
    pub sources: Vec<String>,
    /// Rates of data frames, in rising order; empty where `mcs` says.
    pub rates: Vec<Rate>,
    /// Rates of control frames, in rising order.
    pub basic_rates: Vec<Rate>,
    /// Rate of control frames where the table gives none.
    pub basic_rate: Rate,
    /// Greatest index of modulation and coding; `None` where `rates` say.
    pub max_mcs: Option<u32>,
    /// Every combination that the standard has, with its rate. Empty where `rates` say; also where nothing tells which
    /// combinations are left out, and then all are taken to be there.
    pub mcs: Vec<CatalogueMcs>,
    /// Channel widths, MHz.
    pub widths_mhz: Vec<u32>,
    /// Most spatial streams.
    pub max_streams: u32,
    /// Whether there is a short preamble.
    pub short_preamble: bool,
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// aCWmin.
    pub cw_min: u32,
    /// aCWmax.
    pub cw_max: u32,
    /// Most bytes of an A-MPDU; `None` where there is no aggregation.
    pub max_ampdu: Option<Bytes>,
}

/// A combination of modulation, coding, width and streams that a PHY has.
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
    /// The word in scenario files.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// RFC sections and papers it follows.
    pub sources: Vec<String>,
    /// Parameters.
    pub params: Vec<CatalogueParam>,
    /// Loss recovery that the name of a congestion control implies, as a word of scenario files.
    pub recovery: Option<String>,
    /// What congestion does to a congestion control's window: `nothing`, `reduces` or `models`; empty for other entries.
    pub response: &'static str,
    /// Whether a congestion control needs ECN with an echo of each mark (RFC 8257).
    pub needs_ecn: bool,
    /// Which of ns-2.35's agents has the congestion control.
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

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueParam {
    /// Name in scenario files.
    pub name: String,
    /// What it does.
    pub doc: String,
    /// What it takes.
    pub kind: CatalogueKind,
}

/// What a parameter takes.
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
    /// An amount of packets or of bytes, with its unit, that must be given.
    Limit,
}

impl Catalogue {
    /// The catalogue as JSON: `cc`, `queues`, `schemes` and `phys`, the first three each a list of entries with `name`, `title`, `sources` and
    /// `parameters` (`name`, `doc`, `kind`, and by kind `unit`, `default`, `min`, `max`, `allowed`); of congestion controls
    /// also `response` (`nothing`, `reduces` or `models`), `recovery` (the word its name implies, or null), `needs_ecn`, `ns2` (`own`, `tcp_linux` or null), `profiles`
    /// (the profile that each stack selects, where that is not the algorithm's default) and `page` (Markdown). PHYs have
    /// `name`, `title`, `sources`, and what [`CataloguePhy`] says, in the base units that keys end in; for its list of combinations stands
    /// `left_out`, those (MCS, width, streams) within the bounds that it lacks.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let rows = |rows: &[CatalogueRow]| rows.iter().map(CatalogueRow::to_json).collect::<Vec<_>>();
        let cc: Vec<_> = self.cc.iter().map(CatalogueRow::cc_to_json).collect();
        let phys: Vec<_> = self.phys.iter().map(CataloguePhy::to_json).collect();
        json!({ "cc": cc, "queues": rows(&self.queues), "schemes": rows(&self.schemes), "phys": phys })
    }

    /// The congestion control of this name.
    #[must_use]
    pub fn find_cc(&self, name: &str) -> Option<&CatalogueRow> {
        self.cc.iter().find(|row| row.name == name)
    }

    /// The PHY of this name.
    #[must_use]
    pub fn find_phy(&self, name: &str) -> Option<&CataloguePhy> {
        self.phys.iter().find(|phy| phy.name == name)
    }
}

impl CataloguePhy {
    /// The rate of a combination of `mcs`, width in MHz, streams and short guard interval, where the list has it.
    #[must_use]
    pub fn mcs_rate(&self, mcs: u32, width_mhz: u32, streams: u32, short_guard: bool) -> Option<Rate> {
        let same = |row: &&CatalogueMcs| {
            (row.mcs, row.width_mhz, row.streams, row.short_guard) == (mcs, width_mhz, streams, short_guard)
        };
        self.mcs.iter().find(same).map(|row| row.rate)
    }

    /// Combinations (MCS, width in MHz, streams) within the bounds of this PHY that its standard leaves out.
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

    /// Whether a key of a channel's table means something for it.
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
        json!({ "name": self.name, "title": self.title, "sources": self.sources, "parameters": parameters })
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
        row["ns2"] = json!(self.ns2.map(|agent| match agent {
            Ns2Agent::Own => "own",
            Ns2Agent::TcpLinux => "tcp_linux",
        }));
        row["profiles"] = profiles.into();
        row["page"] = json!(self.page);
        row
    }

    /// The value of the parameter `profile` that a stack selects; `None` is the algorithm's own default.
    ///
    /// It is the word of the stack's name, where the algorithm has it. The modules of ns-2's `Agent/TCP/Linux` are Linux's,
    /// so there `ns2` selects `linux` where the algorithm has no word for what changed since.
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
                json!({ "name": name, "doc": doc, "kind": "limit", "unit": "packets or bytes", "default": null })
            }
        }
    }
}
