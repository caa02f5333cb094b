//! Workloads: names, pairs of hosts, times, arrivals, sizes, and the flow that their transfers are like.

use super::Build;
use super::flows::{Names, Row, shared};
use super::nodes::Nodes;
use super::reach::Reach;
use super::small_queue::Senders;
use crate::check::{Path, fits_kind};
use crate::problem::Place;
use crate::quantity::show_time;
use crate::record::{OrWord, Record, Value};
use crate::schema::NAME_LENGTH;
use crate::trace::lists;
use crate::types::{ArrivalTrace, Arrivals, Flow, Link, Pace, Sizes, Traffic, Transport, Wifi, Workload, WorkloadKind};
use narrows_units::{Duration, Instant};
use std::sync::Arc;

const TOP: Path<'static> = Path::Key(&Path::Root, "workloads");

/// Characters of a name that the numbers of transfers take.
const NUMBERS: usize = 16;

/// A workload's table, its path and its pairs of hosts.
struct Given<'a> {
    record: &'a Record,
    path: &'a Path<'a>,
    ends: &'a [(usize, usize)],
}

impl Build<'_> {
    /// Builds all workloads over links and channels.
    pub(crate) fn workloads(&mut self, nodes: &Nodes, net: (&[Link], &[Wifi]), taken: &mut Names) -> Vec<Workload> {
        let reach = Reach::new(&nodes.list, net.0, net.1);
        let list = self.root.tables("workloads");
        let mut base = None;
        let mut recent = Vec::new();
        let mut workloads = Vec::new();
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&TOP, index);
            let Some(kind) = record.get::<&str>("kind") else { continue };
            fits_kind(record, kind, &path, self.report);
            let base = base.get_or_insert_with(|| self.base());
            let tcp = self.flow_tcp(record, base, &path).map(|tcp| shared(tcp, &mut recent));
            let Some(pairs) = record.get::<u64>("pairs") else { continue };
            let times = self.span(record, &path);
            let ends = self.ends_of_copies(&Row { record, path, copies: pairs }, nodes, &reach);
            let name = self.workload_name(record, (index, &path), taken);
            let size = self.sizes(record, "size", &path);
            let given = ends.as_deref().map(|ends| Given { record, path: &path, ends });
            let arrivals = given.and_then(|given| self.arrivals(&given, net.1));
            let kind = workload_kind(record, kind);
            let size = self.needs_size(record, &path, (size, arrivals.as_ref(), kind));
            let (Some(tcp), Some((start, stop)), Some(ends), Some(name), Some(arrivals), Some(kind), Some(size)) =
                (tcp, times, ends, name, arrivals, kind, size)
            else {
                continue;
            };
            let answers = !matches!(kind, WorkloadKind::Transfers);
            self.small_queue(&Senders { tcp: &tcp, nodes, ends: &ends, answers }, (record, &path), net);
            let patterns = [record.get("from"), record.get("to")].map(Option::unwrap_or_default);
            let (Some(&(from, to)), Some(dscp)) = (ends.first(), record.get::<u64>("dscp")) else { continue };
            let Some(count) = record.get::<OrWord<u64>>("count").map(OrWord::value) else { continue };
            let flow = Flow {
                name,
                from,
                to,
                start,
                stop,
                dscp: u8::try_from(dscp).unwrap_or(0),
                jitter: false,
                traffic: Traffic::Bulk { size: None },
                transport: Transport::Tcp(tcp),
                part: None,
            };
            workloads.push(Workload { flow, patterns, pairs: ends, arrivals, kind, size, count });
        }
        workloads
    }

    fn workload_name(
        &mut self,
        record: &Record,
        (index, path): (usize, &Path<'_>),
        taken: &mut Names,
    ) -> Option<String> {
        let given = record.given("name");
        let name: String = match given {
            Some(_) => record.get("name")?,
            None => format!("workload{}", index + 1),
        };
        let (place, shown) = given.map_or((record.place, String::new()), |item| (item.place, item.shown.clone()));
        let at = Path::Key(path, "name");
        if name.len() + NUMBERS > NAME_LENGTH {
            let allowed = format!("at most {} characters: numbers of transfers follow", NAME_LENGTH - NUMBERS);
            self.report.add(place, at, shown, "is too long for the name of a workload", allowed);
            return None;
        }
        if !taken.insert(name.clone()) {
            let reason = "is the name of another workload or flow";
            self.report.add(place, at, format!("{name:?}"), reason, "unique names");
            return None;
        }
        Some(name)
    }

    /// Returns start and stop.
    fn span(&mut self, record: &Record, path: &Path<'_>) -> Option<(Instant, Instant)> {
        let start: Duration = record.get("start")?;
        let stop = record.get::<OrWord<Duration>>("stop")?.value();
        let end = self.duration;
        let mut complain = |key: &str, reason: String, allowed: String| {
            let (place, shown) = record.given(key).map_or((record.place, ""), |item| (item.place, &item.shown));
            self.report.add(place, Path::Key(path, key), shown, reason, allowed);
        };
        if start >= end {
            complain("start", "is not before the end of the run".into(), format!("less than {}", show_time(end)));
        } else if let Some(stop) = stop.filter(|stop| *stop <= start) {
            let reason = format!("is not after the start at {}", show_time(start));
            complain("stop", reason, format!("more than {}", show_time(start.max(stop))));
        }
        let stop = stop.map_or(end, |stop| stop.min(end));
        Some((Instant::from_nanos(start.as_nanos()), Instant::from_nanos(stop.as_nanos())))
    }

    fn arrivals(&mut self, given: &Given<'_>, wifi: &[Wifi]) -> Option<Arrivals> {
        let Given { record, path, .. } = given;
        let at = Path::Key(path, "arrivals");
        let item = record.given("arrivals");
        let mut word = "poisson";
        match item.map(|item| &item.value) {
            Some(Value::Table(table)) if table.given("trace").is_some() => {
                for key in ["load", "interval"] {
                    if let Some(item) = record.given(key) {
                        let reason = "is given beside a file of arrivals";
                        self.report.add(item.place, Path::Key(path, key), &item.shown, reason, "one of the two");
                        return None;
                    }
                }
                let (name, rows) =
                    self.rows(table, "trace", &at, (|file| lists::arrivals(file), |text| lists::arrivals_of(text)))?;
                return Some(Arrivals::Trace(Arc::new(ArrivalTrace { name, rows })));
            }
            Some(Value::Table(table)) => word = table.get("process")?,
            Some(_) => word = record.get("arrivals")?,
            None => {}
        }
        let pace = self.pace(given, wifi)?;
        Some(if word == "constant" { Arrivals::Constant(pace) } else { Arrivals::Poisson(pace) })
    }

    fn pace(&mut self, given: &Given<'_>, wifi: &[Wifi]) -> Option<Pace> {
        let Given { record, path, ends } = given;
        let allowed = "`load`, such as 0.6, or `interval`, such as \"50 ms\"";
        match (record.given("load"), record.given("interval")) {
            (None, None) => {
                self.report.add(record.place, *path, "", "says not how often transfers begin", allowed);
                None
            }
            (Some(load), Some(_)) => {
                let at = Path::Key(path, "load");
                self.report.add(load.place, at, &load.shown, "is given beside `interval`", "one of the two");
                None
            }
            (None, Some(_)) => Some(Pace::Every(record.get("interval")?)),
            (Some(load), None) => {
                let stations = || wifi.iter().flat_map(|channel| channel.stations.iter().map(|station| station.node));
                let radio = ends.first().is_some_and(|ends| stations().any(|node| node == ends.0 || node == ends.1));
                if radio {
                    let at = Path::Key(path, "load");
                    let reason = "has no link that it could be a share of: the path crosses an 802.11 channel";
                    self.report.add(load.place, at, &load.shown, reason, "`interval` instead");
                    return None;
                }
                Some(Pace::Load(record.get("load")?))
            }
        }
    }

    /// Returns the sizes of transfers. Those of a file of arrivals are its own.
    fn needs_size(
        &mut self,
        record: &Record,
        path: &Path<'_>,
        (size, arrivals, kind): (Option<Sizes>, Option<&Arrivals>, Option<WorkloadKind>),
    ) -> Option<Sizes> {
        let place = |key: &str| record.given(key).map_or((record.place, ""), |item| (item.place, item.shown.as_str()));
        let mut complain = |key: &str, (place, shown): (Place, &str), reason: &str, allowed: String| {
            self.report.add(place, Path::Key(path, key), shown, reason, allowed);
        };
        match (arrivals?, record.given("size")) {
            (Arrivals::Trace(_), _) if matches!(kind, Some(WorkloadKind::Pages { .. })) => {
                let allowed = "a process: a file has no sizes of objects".to_owned();
                complain("arrivals", place("arrivals"), "is a file, and the transfers are pages", allowed);
                None
            }
            (Arrivals::Trace(_), Some(_)) => {
                complain("size", place("size"), "is given beside a file of arrivals", "the file's sizes".to_owned());
                None
            }
            (Arrivals::Trace(trace), None) => Some(Sizes::constant(trace.rows.first()?.1)),
            (_, None) => {
                let field = record.table.field("size")?;
                crate::check::missing(field, record.place, path, self.report);
                None
            }
            (_, Some(_)) => size,
        }
    }
}

fn workload_kind(record: &Record, kind: &str) -> Option<WorkloadKind> {
    let count = |key: &str| record.get::<u32>(key);
    Some(match kind {
        "requests" => WorkloadKind::Requests { request: record.get("request")? },
        "pages" => WorkloadKind::Pages {
            request: record.get("request")?,
            objects: count("objects")?,
            connections: count("connections")?,
        },
        _ => WorkloadKind::Transfers,
    })
}
