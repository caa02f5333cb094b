//! Shorthands: dumbbell, parking lot, chain and star become nodes and links.

use super::Build;
use super::links::Links;
use super::nodes::Nodes;
use crate::check::{Path, fits_kind};
use crate::record::{Record, Value};
use crate::types::{Direction, NodeKind};

/// A link to be made: names of its ends, key of its table, and its index among the links of this key.
#[derive(Debug)]
struct Wire {
    a: String,
    b: String,
    key: &'static str,
    number: usize,
}

/// Links that a shorthand makes once its nodes exist.
#[derive(Debug, Default)]
pub(crate) struct Made {
    wires: Vec<Wire>,
    /// How many links each key has.
    counts: Vec<(&'static str, usize)>,
}

impl Made {
    fn wire(&mut self, a: &str, b: &str, key: &'static str, number: usize) {
        self.wires.push(Wire { a: a.to_owned(), b: b.to_owned(), key, number });
    }
}

/// The directions of a key's links; `None` for links that are wrong.
type Kit = Vec<Option<(Direction, Direction)>>;

const TOP: Path<'static> = Path::Key(&Path::Root, "topology");

impl Build<'_> {
    /// Makes the nodes of the shorthand; returns the links to be made.
    pub(crate) fn shorthand_nodes(&mut self, nodes: &mut Nodes) -> Option<Made> {
        let record = self.root.table("topology")?;
        let kind: &str = record.get("kind")?;
        fits_kind(record, kind, &TOP, self.report);
        let key = match kind {
            "dumbbell" => "pairs",
            "parking_lot" => "hops",
            "chain" => "routers",
            _ => "leaves",
        };
        let n: u64 = record.get(key)?;
        let makes = match kind {
            "dumbbell" => 2 * n + 2,
            "parking_lot" => 3 * n + 3,
            "chain" => n + 2,
            _ => n + 1,
        };
        let (place, shown) = record.given(key).map_or((record.place, ""), |item| (item.place, &item.shown));
        if !self.fits("nodes", nodes.list.len(), makes, (place, &Path::Key(&TOP, key)), shown) {
            return None;
        }
        let n = usize::try_from(n).ok()?;
        let mut made = Made::default();
        let mut add = |name: String, kind: NodeKind| {
            nodes.add(name, kind, None, (record.place, &TOP), self.report);
        };
        match kind {
            "dumbbell" => dumbbell(n, &mut made, &mut add),
            "parking_lot" => parking_lot(n, &mut made, &mut add),
            "chain" => chain(n, &mut made, &mut add),
            _ => star(n, &mut made, &mut add),
        }
        Some(made)
    }

    /// Makes the links of the shorthand.
    pub(crate) fn shorthand_links(&mut self, made: &Made, nodes: &Nodes, links: &mut Links) {
        let Some(record) = self.root.table("topology") else { return };
        let (place, path) = (record.place, &TOP);
        if !self.fits("links", links.list.len(), made.wires.len() as u64, (place, path), "") {
            return;
        }
        let mut kits: Vec<(&str, Kit)> = Vec::new();
        for (key, count) in &made.counts {
            kits.push((key, self.kit(record, key, *count, links)));
        }
        for wire in &made.wires {
            let (Some(a), Some(b)) = (nodes.find(&wire.a), nodes.find(&wire.b)) else { continue };
            let kit = kits.iter().find(|(key, _)| *key == wire.key).map(|(_, sides)| sides);
            let sides = kit.and_then(|sides| sides.get(wire.number).or_else(|| sides.first()));
            if let Some(Some(sides)) = sides
                && !links.add(a, b, sides.clone())
            {
                let reason = format!("makes a link between {} and {}, which already have one", wire.a, wire.b);
                self.report.add(place, path, "", reason, "one link between two nodes");
            }
        }
    }

    /// The directions of the links of one key: one for all, or as many as there are links.
    fn kit(&mut self, record: &Record, key: &str, count: usize, links: &mut Links) -> Kit {
        let path = Path::Key(&TOP, key);
        match record.given(key).map(|item| (&item.value, item)) {
            Some((Value::Table(link), _)) => vec![self.sides(link, &path, links)],
            Some((Value::Tables(list), item)) => {
                if list.len() != count {
                    let reason = format!("lists {} of {count}", list.len());
                    self.report.add(item.place, path, &item.shown, reason, format!("one table, or a list of {count}"));
                    return Vec::new();
                }
                list.iter()
                    .enumerate()
                    .map(|(index, link)| self.sides(link, &Path::Index(&path, index), links))
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Adds a node with this name and kind.
type Add<'a> = &'a mut dyn FnMut(String, NodeKind);

fn dumbbell(pairs: usize, made: &mut Made, add: Add<'_>) {
    (1..=pairs).for_each(|i| add(format!("s{i}"), NodeKind::Host));
    add("r1".into(), NodeKind::Router);
    add("r2".into(), NodeKind::Router);
    (1..=pairs).for_each(|i| add(format!("d{i}"), NodeKind::Host));
    made.wire("r1", "r2", "bottleneck", 0);
    for i in 1..=pairs {
        pair(made, i, ("r1", "r2"), i - 1);
    }
    made.counts = vec![("bottleneck", 1), ("access", pairs)];
}

fn parking_lot(hops: usize, made: &mut Made, add: Add<'_>) {
    (0..=hops).for_each(|i| add(format!("s{i}"), NodeKind::Host));
    (1..=hops + 1).for_each(|i| add(format!("r{i}"), NodeKind::Router));
    (0..=hops).for_each(|i| add(format!("d{i}"), NodeKind::Host));
    for i in 1..=hops {
        made.wire(&format!("r{i}"), &format!("r{}", i + 1), "bottleneck", i - 1);
    }
    pair(made, 0, ("r1", &format!("r{}", hops + 1)), 0);
    for i in 1..=hops {
        pair(made, i, (&format!("r{i}"), &format!("r{}", i + 1)), i);
    }
    made.counts = vec![("bottleneck", hops), ("access", hops + 1)];
}

/// Connects host `s` to one router and host `d` to the other.
fn pair(made: &mut Made, host: usize, routers: (&str, &str), number: usize) {
    made.wire(&format!("s{host}"), routers.0, "access", number);
    made.wires.push(Wire { a: routers.1.to_owned(), b: format!("d{host}"), key: "access", number });
}

fn chain(routers: usize, made: &mut Made, add: Add<'_>) {
    add("h1".into(), NodeKind::Host);
    (1..=routers).for_each(|i| add(format!("r{i}"), NodeKind::Router));
    add("h2".into(), NodeKind::Host);
    let name = |i: usize| match i {
        0 => "h1".to_owned(),
        i if i > routers => "h2".to_owned(),
        i => format!("r{i}"),
    };
    for i in 0..=routers {
        made.wire(&name(i), &name(i + 1), "link", i);
    }
    made.counts = vec![("link", routers + 1)];
}

fn star(leaves: usize, made: &mut Made, add: Add<'_>) {
    add("hub".into(), NodeKind::Router);
    for i in 1..=leaves {
        add(format!("h{i}"), NodeKind::Host);
        made.wire(&format!("h{i}"), "hub", "access", i - 1);
    }
    made.counts = vec![("access", leaves)];
}
