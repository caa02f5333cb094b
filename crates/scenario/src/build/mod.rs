//! Builds the scenario from checked tables: resolves shorthands and defaults, and checks the rules among fields.

mod answer;
mod apps;
mod case;
mod cc;
mod defaults;
mod flows;
mod impair;
mod links;
mod nodes;
mod odd;
mod queues;
mod reach;
mod rules;
mod schemes;
mod shorthand;
mod sizes;
mod small_queue;
mod start;
mod tcp;
mod traces;
mod wifi;
mod workloads;

use crate::catalogue::Catalogue;
use crate::check::Path;
use crate::problem::{Place, Report};
use crate::record::{OrWord, Record};
use crate::schema::{MOST, NAME_LENGTH};
use crate::trace::{Files, NoFiles};
use crate::types::{IpVersion, Sampling, Scenario, Workload};
use narrows_units::Duration;
use schemes::Schemes;
use std::collections::{BTreeMap, BTreeSet};

pub use defaults::Choices;
pub(crate) use defaults::defaults;

/// State that all parts of the build share.
pub(crate) struct Build<'a> {
    catalogue: &'a Catalogue,
    report: &'a mut Report,
    root: &'a Record,
    duration: Duration,
    ip: IpVersion,
    schemes: Schemes,
    /// Bytes that routers of the scheme add to packets whose end points leave no room for them.
    router_adds: u64,
    files: &'a dyn Files,
    traces: traces::Traces,
    /// Whether TCP Small Queues of `[tcp]` have been refused already: flows share them.
    small_queue_refused: bool,
}

/// Builds the scenario; `None`, with the reasons in `report`, if that is not possible.
pub(crate) fn scenario(
    root: &Record,
    path: &str,
    (catalogue, files): (&Catalogue, &dyn Files),
    report: &mut Report,
) -> Option<Scenario> {
    let name = if root.given("name").is_some() { root.get("name")? } else { stem(path) };
    let ip = if root.get::<u64>("ip") == Some(6) { IpVersion::V6 } else { IpVersion::V4 };
    // A wrong duration is already reported. The largest one keeps starts from being reported as too late.
    let duration = root.get("duration").unwrap_or(Duration::MAX);
    let mut build = Build { duration, ip, files, ..Build::new(root, catalogue, report) };
    let (nodes, mut links) = build.topology();
    let wifi = build.wifi(&nodes, &mut links);
    let found = build.scheme(&nodes);
    let mut names = BTreeSet::new();
    let mut flows = build.flows(&nodes, (&links.list, &wifi), &mut names);
    let workloads = build.workloads(&nodes, (&links.list, &wifi), &mut names);
    let listed = flows.len();
    // Their transfers must fit into queues and frames as flows must.
    flows.extend(workloads.iter().flat_map(Workload::examples));
    build.around_scheme(&found, &flows);
    build.room_for_packets(&flows, &links);
    build.air_for_packets(&flows, &wifi);
    build.odd_links(&links, &flows);
    flows.truncate(listed);
    let (when, sample_state) = match root.table("sampling") {
        Some(table) => (table.get("interval")?, build.sampled_state(table)?),
        None => (root.get::<OrWord<Duration>>("sampling")?, false),
    };
    let sampling = match when {
        OrWord::Value(interval) => Sampling::Interval(interval),
        OrWord::Word("events") => Sampling::Events,
        OrWord::Word(_) => Sampling::Off,
    };
    let case = build.case((&nodes.list, &links.list, &flows));
    let title = if root.given("title").is_some() { root.get("title")? } else { name.clone() };
    Some(Scenario {
        title,
        name,
        description: root.get("description")?,
        duration,
        seed: root.get("seed")?,
        start_jitter: root.get("start_jitter")?,
        sampling,
        sample_state,
        nodes: nodes.list,
        links: links.list,
        wifi,
        flows,
        workloads,
        scheme: found.scheme,
        known_schemes: catalogue.schemes.iter().map(|row| row.name).collect(),
        ip,
        case,
    })
}

/// Derives a name from the file's: its stem, with characters that names may not have replaced.
fn stem(path: &str) -> String {
    if path == "-" {
        return "stdin".to_owned();
    }
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = stem.chars().take(NAME_LENGTH).map(fits).collect();
    if name.is_empty() { "scenario".to_owned() } else { name }
}

impl<'a> Build<'a> {
    fn new(root: &'a Record, catalogue: &'a Catalogue, report: &'a mut Report) -> Self {
        let schemes = Schemes::new(root, catalogue);
        Self {
            catalogue,
            report,
            root,
            duration: Duration::MAX,
            ip: IpVersion::V4,
            schemes,
            router_adds: 0,
            files: &NoFiles,
            traces: BTreeMap::new(),
            small_queue_refused: false,
        }
    }

    /// Returns whether the state of algorithms is sampled; refuses it where nothing is.
    fn sampled_state(&mut self, sampling: &Record) -> Option<bool> {
        let state: bool = sampling.get("state")?;
        if state && matches!(sampling.get("interval"), Some(OrWord::<Duration>::Word("off"))) {
            let at = Path::Key(&Path::Root, "sampling");
            let place = sampling.given("state").map_or(sampling.place, |item| item.place);
            self.report.add(place, Path::Key(&at, "state"), "true", "needs samples", "an interval, or \"events\"");
        }
        Some(state)
    }

    /// Whether `more` items fit beside the existing ones; reports a problem if they do not.
    fn fits(&mut self, what: &str, there: usize, more: u64, at: (Place, &Path<'_>), shown: &str) -> bool {
        let total = (there as u64).saturating_add(more);
        if total > MOST {
            self.report.add(at.0, at.1, shown, format!("makes {total} {what}"), format!("at most {MOST} {what}"));
        }
        total <= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_name_is_the_file_stem() {
        assert_eq!(stem("scenarios/two-cubic.toml"), "two-cubic");
        assert_eq!(stem("C:\\x\\a b.toml"), "a-b");
        assert_eq!(stem(""), "scenario");
        assert_eq!(stem("-"), "stdin");
    }
}
