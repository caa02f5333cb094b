//! Flows: names, copies, end points that can reach each other, times, traffic.

use super::Build;
use super::nodes::Nodes;
use super::reach::Reach;
use super::small_queue::Senders;
use super::tcp::Base;
use crate::check::{Path, fits_kind};
use crate::problem::Place;
use crate::quantity::show_time;
use crate::record::{FromValue, OrWord, Record};
use crate::schema::NAME_LENGTH;
use crate::types::{Flow, Link, NodeKind, Pauses, Tcp, Traffic, Transport, Udp, Wifi};
use narrows_units::{Bytes, Duration, Instant, Rate};
use std::collections::BTreeSet;
use std::sync::Arc;

const TOP: Path<'static> = Path::Key(&Path::Root, "flows");

/// Names that are taken.
pub(super) type Names = BTreeSet<String>;

/// A flow's table, its path and how many copies there are.
pub(super) struct Row<'a> {
    pub(super) record: &'a Record,
    pub(super) path: Path<'a>,
    pub(super) copies: u64,
}

impl Row<'_> {
    pub(super) fn place(&self, key: &str) -> Place {
        self.record.given(key).map_or(self.record.place, |item| item.place)
    }

    pub(super) fn shown(&self, key: &str) -> String {
        self.record.given(key).map_or_else(String::new, |item| item.shown.clone())
    }
}

impl Build<'_> {
    /// Builds all flows over links and channels.
    pub(crate) fn flows(&mut self, nodes: &Nodes, net: (&[Link], &[Wifi]), names: &mut Names) -> Vec<Flow> {
        let list = self.root.tables("flows");
        let workloads = !self.root.tables("workloads").is_empty() || self.root.given("workloads").is_some();
        if list.is_empty() && !workloads && self.report.is_empty() {
            let (place, reason) =
                self.root.given("flows").map_or((self.root.place, "is missing"), |item| (item.place, "has no flows"));
            self.report.add(place, TOP, "", reason, "at least one [[flows]] or [[workloads]] table");
        }
        let reach = Reach::new(&nodes.list, net.0, net.1);
        let mut base = None;
        let mut recent = Vec::new();
        let mut flows = Vec::new();
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&TOP, index);
            let Some(copies) = record.get::<u64>("copies") else { continue };
            let row = Row { record, path, copies };
            if !self.fits(
                "flows",
                flows.len(),
                copies,
                (row.place("copies"), &Path::Key(&path, "copies")),
                &row.shown("copies"),
            ) {
                break;
            }
            let Some(kind) = record.get::<&str>("kind") else { continue };
            fits_kind(record, kind, &path, self.report);
            let udp = matches!(kind, "udp" | "frames" | "call");
            let transport = if udp {
                self.payload(&row, kind).map(|payload| Transport::Udp(Udp { payload }))
            } else {
                // Read at the first TCP flow: without one, nothing depends on it.
                if base.is_none() {
                    base = Some(self.base());
                }
                let tcp = base.as_mut().and_then(|base: &mut Base<'_>| self.flow_tcp(record, base, &path));
                tcp.map(|tcp| Transport::Tcp(shared(tcp, &mut recent)))
            };
            let times = self.times(&row);
            let ends = self.ends_of_copies(&row, nodes, &reach);
            let own = self.names(&row, index, names);
            let known = udp || transport.is_some();
            let traffic = known.then(|| self.traffic(&row, kind, transport.as_ref())).flatten();
            let (Some(transport), Some((start, stagger, stop)), Some(traffic), Some(ends), Some(own)) =
                (transport, times, traffic, ends, own)
            else {
                continue;
            };
            if let Transport::Tcp(tcp) = &transport {
                self.small_queue(
                    &Senders { tcp, nodes, ends: &ends, answers: traffic.server_sends() },
                    (record, &path),
                    net,
                );
            }
            let (Some(dscp), Some(jitter)) = (record.get::<u64>("dscp"), record.get("jitter")) else { continue };
            for (copy, (name, (from, to))) in (0_u64..).zip(own.into_iter().zip(ends)) {
                let flow_start = Instant::from_nanos(start.as_nanos()) + stagger * copy;
                let flow = Flow {
                    name,
                    from,
                    to,
                    start: flow_start,
                    stop,
                    dscp: u8::try_from(dscp).unwrap_or(0),
                    jitter,
                    traffic: traffic.clone(),
                    transport: transport.clone(),
                    part: None,
                };
                match kind {
                    "call" => flows.extend(self.call(&row, flow, names).into_iter().flatten()),
                    _ => flows.push(flow),
                }
            }
        }
        flows.shrink_to_fit();
        flows
    }

    /// Returns the names of the copies; reports names that other flows have.
    fn names(&mut self, row: &Row<'_>, index: usize, taken: &mut BTreeSet<String>) -> Option<Vec<String>> {
        let stem: String = match row.record.given("name") {
            Some(_) => row.record.get("name")?,
            None => format!("flow{}", index + 1),
        };
        let mut names = Vec::new();
        for copy in 1..=row.copies {
            let name = if row.copies == 1 { stem.clone() } else { format!("{stem}-{copy}") };
            let at = Path::Key(&row.path, "name");
            if name.len() > NAME_LENGTH {
                let reason = format!("gives the name {name:?}, which is too long");
                self.report.add(
                    row.place("name"),
                    at,
                    row.shown("name"),
                    reason,
                    format!("at most {NAME_LENGTH} characters"),
                );
                return None;
            }
            if !taken.insert(name.clone()) {
                self.report.add(row.place("name"), at, format!("{name:?}"), "is the name of two flows", "unique names");
                return None;
            }
            names.push(name);
        }
        Some(names)
    }

    /// Returns start, stagger and stop.
    fn times(&mut self, row: &Row<'_>) -> Option<(Duration, Duration, Instant)> {
        let record = row.record;
        let (start, stagger): (Duration, Duration) = (record.get("start")?, record.get("stagger")?);
        let stop = record.get::<OrWord<Duration>>("stop")?.value();
        let end = self.duration;
        let stops = stop.map_or(end, |stop| stop.min(end));
        let last = stagger.as_nanos().checked_mul(row.copies - 1).and_then(|n| n.checked_add(start.as_nanos()));
        let last = last.map_or(Duration::MAX, Duration::from_nanos);
        let jitter = if record.get("jitter")? {
            self.root.get("start_jitter").unwrap_or(Duration::ZERO)
        } else {
            Duration::ZERO
        };
        let mut complain = |key: &str, reason: String, allowed: String| {
            self.report.add(row.place(key), Path::Key(&row.path, key), row.shown(key), reason, allowed);
        };
        if start >= end {
            complain("start", "is not before the end of the run".into(), format!("less than {}", show_time(end)));
        } else if let Some(stop) = stop.filter(|stop| *stop <= start) {
            complain(
                "stop",
                format!("is not after the start at {}", show_time(start)),
                format!("more than {}", show_time(start.max(stop))),
            );
        } else if last >= stops {
            let reason = "starts the last copy after the flow's stop or the end of the run";
            complain("stagger", reason.into(), format!("the last copy before {}", show_time(stops)));
        } else if jitter > Duration::ZERO && last + jitter >= stops {
            let (which, by) = (if row.copies > 1 { "the last copy" } else { "the flow" }, show_time(jitter));
            let (late, stops) = (show_time(last + jitter), show_time(stops));
            let reason =
                format!("with start_jitter ({by}) lets {which} start as late as {late}, and it stops at {stops}");
            complain("start", reason, "a sum before that, or jitter = false".into());
        }
        Some((start, stagger, Instant::from_nanos(stops.as_nanos())))
    }

    /// Returns the end points of each copy.
    pub(super) fn ends_of_copies(
        &mut self,
        row: &Row<'_>,
        nodes: &Nodes,
        reach: &Reach<'_>,
    ) -> Option<Vec<(usize, usize)>> {
        let patterns: [Option<String>; 2] = [row.record.get("from"), row.record.get("to")];
        let mut ends = Vec::new();
        let mut last: Option<(usize, usize)> = None;
        let starred = patterns.iter().flatten().any(|pattern| pattern.contains('*'));
        for copy in 1..=row.copies {
            let pair = match last {
                Some(pair) if !starred => pair,
                _ => self.ends_of_copy(row, &patterns, copy, nodes, reach)?,
            };
            last = Some(pair);
            ends.push(pair);
        }
        Some(ends)
    }

    fn ends_of_copy(
        &mut self,
        row: &Row<'_>,
        patterns: &[Option<String>; 2],
        copy: u64,
        nodes: &Nodes,
        reach: &Reach<'_>,
    ) -> Option<(usize, usize)> {
        let mut found = [None, None];
        for (index, key) in ["from", "to"].into_iter().enumerate() {
            let Some(pattern) = &patterns[index] else { continue };
            let name = pattern.replace('*', &copy.to_string());
            let path = Path::Key(&row.path, key);
            let node = nodes.expect(&name, (row.place(key), &path), self.report);
            let host = node.and_then(|node| nodes.list.get(node)).is_some_and(|node| node.kind == NodeKind::Host);
            if node.is_some() && !host {
                self.report.add(row.place(key), path, format!("{name:?}"), "is a router", "the name of a host");
                continue;
            }
            found[index] = node;
        }
        let (from, to) = (found[0]?, found[1]?);
        let path = Path::Key(&row.path, "to");
        if from == to {
            self.report.add(row.place("to"), path, row.shown("to"), "is the flow's own source", "another host");
            return None;
        }
        // If there are other problems, a link may be missing only because it is wrong.
        if !reach.joined(from, to) && self.report.is_empty() {
            let name = |index: usize| nodes.list.get(index).map_or("", |node| node.name.as_str());
            let (reason, allowed) = match reach.host_between(from, to) {
                Some(host) => (
                    format!(
                        "can be reached from {:?} only through the host {host:?}, and hosts do not forward",
                        name(from)
                    ),
                    "a path through routers".to_owned(),
                ),
                None => (format!("cannot be reached from {:?}", name(from)), "a host with a path to it".to_owned()),
            };
            self.report.add(row.place("to"), path, format!("{:?}", name(to)), reason, allowed);
            return None;
        }
        Some((from, to))
    }

    fn traffic(&mut self, row: &Row<'_>, kind: &str, transport: Option<&Transport>) -> Option<Traffic> {
        let record = row.record;
        let rate = record.get::<OrWord<Rate>>("rate");
        if matches!(kind, "rate" | "udp" | "frames")
            && matches!((rate, record.given("rate")), (Some(OrWord::Word(_)), Some(_)))
        {
            let reason = format!("has no meaning for kind = \"{kind}\"");
            self.report.add(row.place("rate"), Path::Key(&row.path, "rate"), row.shown("rate"), reason, "a rate");
            return None;
        }
        Some(match kind {
            "bulk" => Traffic::Bulk { size: or_none(record, "size")? },
            "rate" => Traffic::RateLimited {
                rate: rate?.value()?,
                write: match (record.given("write"), transport) {
                    (None, Some(Transport::Tcp(tcp))) => Bytes::new(tcp.mss.into()),
                    _ => record.get("write")?,
                },
            },
            "on_off" => {
                let Pauses { on, off, distribution } = self.pauses(row, true)??;
                Traffic::OnOff { rate: rate?.value(), on, off, distribution }
            }
            "request_response" => Traffic::RequestResponse {
                request: record.get("request")?,
                response: self.sizes(record, "response", &row.path)?,
                think: record.get("think")?,
                count: or_none(record, "count")?,
            },
            "video" => Traffic::Video(Arc::new(self.video(row)?)),
            "frames" => Traffic::Frames { rate: rate?.value()?, frame_rate: record.get("frame_rate")? },
            "call" => Traffic::Frames { rate: record.get("video")?, frame_rate: record.get("frame_rate")? },
            _ => Traffic::Datagrams { rate: rate?.value()?, pauses: self.pauses(row, false)? },
        })
    }
}

/// Returns an equal one of the latest distinct settings, if there is one. Without this, a file with a table for each
/// flow would keep as many copies.
pub(super) fn shared(tcp: Arc<Tcp>, recent: &mut Vec<Arc<Tcp>>) -> Arc<Tcp> {
    const KEPT: usize = 8;
    if let Some(same) = recent.iter().find(|known| **known == tcp) {
        return Arc::clone(same);
    }
    if recent.len() == KEPT {
        recent.remove(0);
    }
    recent.push(Arc::clone(&tcp));
    tcp
}

pub(super) fn or_none<T: FromValue>(record: &Record, key: &str) -> Option<Option<T>> {
    record.get::<OrWord<T>>(key).map(OrWord::value)
}
