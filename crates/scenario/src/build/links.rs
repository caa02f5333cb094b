//! Links: two directions from one table and the differences in its `forward` and `reverse`; losses and changes.

use super::Build;
use super::nodes::Nodes;
use super::odd::Noted;
use super::queues::Drain;
use crate::check::{Path, fits_kind, missing};
use crate::problem::Place;
use crate::quantity::{show_rate, show_size, show_time};
use crate::record::{Layers, Record, Value};
use crate::schema::DIRECTION;
use crate::types::{Change, Direction, Flow, IpVersion, Link, Loss, Transport};
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// Largest IPv4 packet in bytes; no router makes a larger one.
pub(super) const LARGEST_PACKET: u64 = 65_535;

/// A limit in bytes, or in time at a link's rate.
#[derive(Debug)]
pub(super) struct ByteLimit {
    pub(super) bytes: Bytes,
    /// The link's rate, if the limit is a time.
    pub(super) rate: Option<Rate>,
    pub(super) place: Place,
    pub(super) field: String,
    /// The limit as written.
    pub(super) shown: String,
}

/// Links while they are being collected.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub(crate) list: Vec<Link>,
    ends: BTreeSet<(usize, usize)>,
    /// Limits in bytes or in time, to be compared with the flows' packets: one for each place.
    byte_limits: Vec<ByteLimit>,
    /// Indices of the limits by place.
    limit_at: BTreeMap<Place, usize>,
    /// Settings of links and queues that may be odd: one for each place.
    pub(super) odd: Vec<Noted>,
    /// Indices of these settings by place and field.
    pub(super) odd_at: BTreeMap<(Place, String), usize>,
    /// Places of limits that were refused already.
    pub(super) refused: BTreeSet<Place>,
    /// Places of queue tables that were checked already.
    pub(super) seen: BTreeSet<Place>,
}

impl Links {
    /// Adds a link; `false` if the two ends have one already.
    pub(crate) fn add(&mut self, a: usize, b: usize, (forward, reverse): (Direction, Direction)) -> bool {
        let new = self.ends.insert((a.min(b), a.max(b)));
        if new {
            self.list.push(Link { a, b, forward, reverse });
        }
        new
    }

    /// Notes a limit. Of those of one place, which links of other rates may share, the smallest counts.
    pub(super) fn note_bytes(&mut self, limit: ByteLimit) {
        let index = *self.limit_at.entry(limit.place).or_insert(self.byte_limits.len());
        match self.byte_limits.get_mut(index) {
            Some(known) if known.bytes <= limit.bytes => {}
            Some(known) => *known = limit,
            None => self.byte_limits.push(limit),
        }
    }

    /// Whether two nodes have a link.
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.ends.contains(&(a.min(b), a.max(b)))
    }
}

/// A queue's table and its path.
pub(crate) type QueueLayer<'a> = (&'a Record, Path<'a>);

impl Build<'_> {
    /// Adds the links that the file lists.
    pub(crate) fn file_links(&mut self, nodes: &Nodes, links: &mut Links) {
        let root = self.root;
        let list = root.tables("links");
        let top = Path::Key(&Path::Root, "links");
        let place = root.given("links").map_or(Place::Nowhere, |item| item.place);
        self.root_queue();
        if !self.fits("links", 0, list.len() as u64, (place, &top), "") {
            return;
        }
        for (index, record) in list.iter().enumerate() {
            let path = Path::Index(&top, index);
            let ends = self.ends(record, nodes, &path);
            let sides = self.sides(record, &path, links);
            let (Some((a, b)), Some(sides)) = (ends, sides) else { continue };
            if !links.add(a, b, sides) {
                let (place, shown) = between(record);
                self.report.add(
                    place,
                    Path::Key(&path, "between"),
                    shown,
                    "already have a link",
                    "one link between two nodes",
                );
            }
        }
    }

    fn ends(&mut self, record: &Record, nodes: &Nodes, path: &Path<'_>) -> Option<(usize, usize)> {
        let at = Path::Key(path, "between");
        let Value::Names(names) = &record.given("between")?.value else { return None };
        let mut found = [None, None];
        for (index, item) in names.iter().take(2).enumerate() {
            let Value::Text(name) = &item.value else { continue };
            found[index] = nodes.expect(name, (item.place, &Path::Index(&at, index)), self.report);
        }
        let (a, b) = (found[0]?, found[1]?);
        if a == b {
            let (place, shown) = between(record);
            self.report.add(place, at, shown, "links a node to itself", "two different nodes");
            return None;
        }
        Some((a, b))
    }

    /// Returns both directions of a link.
    pub(crate) fn sides(
        &mut self,
        link: &Record,
        path: &Path<'_>,
        links: &mut Links,
    ) -> Option<(Direction, Direction)> {
        for key in ["rate", "delay"] {
            let side = |side: &str| link.table(side).is_some_and(|record| record.given(key).is_some());
            if link.given(key).is_none()
                && !(side("forward") && side("reverse"))
                && let Some(field) = link.table.field(key)
            {
                missing(field, link.place, path, self.report);
            }
        }
        let forward = self.direction(link, "forward", path, links);
        // Without `forward` and `reverse` both directions are the same, and their problems are reported once.
        let reverse = match (link.table("forward"), link.table("reverse")) {
            (None, None) => forward.clone(),
            _ => self.direction(link, "reverse", path, links),
        };
        Some((forward?, reverse?))
    }

    fn direction(
        &mut self,
        link: &Record,
        side: &'static str,
        path: &Path<'_>,
        links: &mut Links,
    ) -> Option<Direction> {
        let own = link.table(side);
        let own_path = Path::Key(path, side);
        let layers = Layers::new(&DIRECTION, [own, Some(link)]);
        let mut queues: Vec<QueueLayer<'_>> = Vec::with_capacity(3);
        queues.extend(own.and_then(|own| own.table("queue")).map(|queue| (queue, Path::Key(&own_path, "queue"))));
        queues.extend(link.table("queue").map(|queue| (queue, Path::Key(path, "queue"))));
        queues.extend(self.root.table("queue").map(|queue| (queue, Path::Key(&Path::Root, "queue"))));
        let changes = match own.filter(|own| own.given("changes").is_some()) {
            Some(own) => self.changes(own, &own_path),
            None => self.changes(link, path),
        };
        let rated = self.rate(&layers, own.map(|own| (own, &own_path)), (link, path), changes.as_deref());
        let rate = rated.as_ref().map(|(rate, _)| *rate);
        let queue = self.queue(&queues, Drain::Link(rate), links);
        let loss = self.loss(own, &own_path).or_else(|| self.loss(Some(link), path)).unwrap_or(Some(Loss::None));
        let impairments = self.impairments((own, &own_path), (link, path));
        let (rate, trace) = rated?;
        let made = Direction {
            rate,
            trace,
            delay: layers.get("delay")?,
            queue: queue?,
            loss: loss?,
            changes: changes?,
            impairments: impairments?,
        };
        let tables: Vec<_> = own.map(|own| (own, &own_path)).into_iter().chain([(link, path)]).collect();
        links.note_idle(&made, &tables, self.duration);
        Some(made)
    }

    /// Returns a table's losses: `None` if it gives none, `Some(None)` if they are wrong.
    fn loss(&mut self, record: Option<&Record>, path: &Path<'_>) -> Option<Option<Loss>> {
        let record = record?;
        if let (Some(per), Some(_)) = (record.given("per"), record.given("loss")) {
            let reason = "duplicates `loss`";
            self.report.add(per.place, Path::Key(path, "per"), &per.shown, reason, "one of the two");
            return Some(None);
        }
        if record.given("per").is_some() {
            return Some(record.get::<Probability>("per").map(uniform));
        }
        let item = record.given("loss")?;
        let Value::Table(loss) = &item.value else { return Some(None) };
        let kind = loss.get::<&str>("kind");
        if let Some(kind) = kind {
            fits_kind(loss, kind, &Path::Key(path, "loss"), self.report);
        }
        Some(kind.and_then(|kind| match kind {
            "uniform" => loss.get("per").map(uniform),
            "gilbert_elliott" => Some(Loss::GilbertElliott {
                to_bad: loss.get("to_bad")?,
                to_good: loss.get("to_good")?,
                per_good: loss.get("per_good")?,
                per_bad: loss.get("per_bad")?,
            }),
            _ => Some(Loss::None),
        }))
    }

    fn changes(&mut self, record: &Record, path: &Path<'_>) -> Option<Vec<Change>> {
        let top = Path::Key(path, "changes");
        let mut changes: Vec<Change> = Vec::new();
        let mut whole = !matches!(record.given("changes").map(|item| &item.value), Some(Value::Bad));
        for (index, change) in record.tables("changes").iter().enumerate() {
            let at_path = Path::Index(&top, index);
            let given = |key: &str| change.given(key).is_some();
            if !given("rate") && !given("delay") {
                self.report.add(change.place, at_path, "", "changes nothing", "a rate, a delay or both");
            }
            let Some(at) = change.get::<Duration>("at") else {
                whole = false;
                continue;
            };
            let at = Instant::from_nanos(at.as_nanos());
            let (place, shown) = change.given("at").map_or((change.place, ""), |item| (item.place, &item.shown));
            if changes.last().is_some_and(|last| last.at >= at) {
                let reason = "is not after the change before it";
                self.report.add(place, Path::Key(&at_path, "at"), shown, reason, "times in rising order");
            }
            if at >= Instant::ZERO + self.duration {
                let reason = "is not before the end of the run";
                let allowed = format!("less than {}", show_time(self.duration));
                self.report.add(place, Path::Key(&at_path, "at"), shown, reason, allowed);
            }
            changes.push(Change { at, rate: change.get("rate"), delay: change.get("delay") });
        }
        whole.then_some(changes)
    }

    /// Returns the bytes of a flow's largest packet anywhere in the network. A scheme's router may add bytes to packets
    /// of end points that leave no room for them. Which links that affects depends on routes, so every queue must hold
    /// the larger packet.
    pub(crate) fn packet(&self, flow: &Flow) -> u64 {
        let (tcp, udp) = match self.ip {
            IpVersion::V4 => (40, 28),
            IpVersion::V6 => (60, 48),
        };
        match &flow.transport {
            Transport::Udp(settings) => settings.payload.as_u64() + udp,
            Transport::Tcp(settings) => {
                let own = u64::from(settings.mss) + tcp;
                let enabled = self.schemes.enabled().map(|row| row.name);
                let leaves_room = settings.assist.as_deref() == enabled && settings.peer_assist() == enabled;
                if self.router_adds == 0 || leaves_room { own } else { (own + self.router_adds).min(LARGEST_PACKET) }
            }
        }
    }

    /// Refuses queues whose limit in bytes or in time is less than the largest packet.
    pub(crate) fn room_for_packets(&mut self, flows: &[Flow], links: &Links) {
        let Some(largest) = flows.iter().max_by_key(|flow| self.packet(flow)) else { return };
        let size = self.packet(largest);
        let what = format!("one packet of flow \"{}\"", largest.name);
        for ByteLimit { bytes, rate, place, field, shown } in &links.byte_limits {
            if bytes.as_u64() >= size {
                continue;
            }
            let (reason, least) = match rate {
                Some(rate) => {
                    let reason = format!("is {} at {}, less than {what}", show_size(*bytes), show_rate(*rate));
                    (reason, format!("{} at this rate", show_time(time_to_send(size, *rate))))
                }
                None => (format!("is less than {what}"), format!("{size} B")),
            };
            self.report.add(*place, field, shown, reason, format!("at least {least}"));
        }
    }
}

/// Returns the shortest time in which a rate above zero sends this many bytes.
fn time_to_send(bytes: u64, rate: Rate) -> Duration {
    let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.as_bps().max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn uniform(per: Probability) -> Loss {
    if per.is_never() { Loss::None } else { Loss::Uniform(per) }
}

fn between(record: &Record) -> (Place, &str) {
    record.given("between").map_or((record.place, ""), |item| (item.place, &item.shown))
}
