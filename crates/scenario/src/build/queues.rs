//! Queues: a discipline of the catalogue, its limit, and its parameters from layered tables.
//!
//! A limit in time becomes bytes here: those that the link sends in that time at its rate at the start.

use super::Build;
use super::links::{ByteLimit, Links, QueueLayer};
use crate::check::{Path, own_param};
use crate::problem::{Place, Report};
use crate::quantity::{show_rate, show_time};
use crate::record::{Layers, Record, Value};
use crate::schema::{LARGE, QUEUE};
use crate::types::{Limit, Queue};
use narrows_settings::queue::{Broken, Discipline, Params};
use narrows_units::{Bytes, Rate};
use std::sync::Arc;

/// What a queue waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Drain {
    /// A link with this rate at the start; `None` if the rate is wrong or missing, which is reported elsewhere.
    Link(Option<Rate>),
    /// An 802.11 channel, which has no single rate.
    Channel,
}

impl Build<'_> {
    /// Checks `[queue]` on its own.
    pub(super) fn root_queue(&mut self) {
        let root = self.root;
        if let Some(queue) = root.table("queue") {
            let layer = (queue, Path::Key(&Path::Root, "queue"));
            if let Some(row) = self.discipline(&[layer]) {
                self.fits_discipline(queue, row, &layer.1);
            }
        }
    }

    /// Returns a queue from layered tables, the uppermost first.
    pub(crate) fn queue(&mut self, stack: &[QueueLayer<'_>], drain: Drain, links: &mut Links) -> Option<Queue> {
        let layers = Layers::new(&QUEUE, stack.iter().map(|(record, _)| Some(*record)));
        for (depth, (record, path)) in stack.iter().enumerate() {
            // `[queue]` itself is checked once, before the links. A table without a kind inherits it from the tables
            // below.
            let top = self.root.table("queue").is_some_and(|queue| std::ptr::eq(queue, *record));
            if !top && links.seen.insert(record.place) {
                let row = self.discipline(&stack[depth..])?;
                self.fits_discipline(record, row, path);
            }
        }
        let row = self.discipline(stack)?;
        let limit = self.limit(&layers, stack, drain, links)?;
        let mut params = self.params(row, stack)?;
        if let Err(broken) = (row.fit)(&mut params, limit) {
            self.complain(broken, &layers, stack);
        }
        let rate = if let Drain::Link(rate) = drain { rate } else { None };
        links.note_odd(row, &params, stack, rate);
        Some(Queue { kind: row.name, limit, params: Arc::new(params) })
    }

    /// Returns the limit of a queue, and notes one in bytes, which must hold the largest packet.
    fn limit(
        &mut self,
        layers: &Layers<'_>,
        stack: &[QueueLayer<'_>],
        drain: Drain,
        links: &mut Links,
    ) -> Option<Limit> {
        let holder = stack.iter().find(|(record, _)| record.given("limit").is_some());
        let Some((_, path)) = holder else { return layers.get("limit") };
        let (place, shown) = (layers.place("limit"), layers.shown("limit"));
        let field = Path::Key(path, "limit").to_string();
        let (bytes, rate) = match (layers.given("limit").map(|item| &item.value), drain) {
            (Some(Value::Time(time)), Drain::Link(rate)) => (rate?.bytes_in(*time), rate),
            (Some(Value::Time(_)), Drain::Channel) => {
                // Many queues may share one limit. It is reported once.
                if links.refused.insert(place) {
                    let reason = "is a time, but a channel has no single rate";
                    let alone = if field == "queue.limit" { "; for channels alone as wifi.queue.limit" } else { "" };
                    self.report.add(place, field, shown, reason, format!("packets or bytes{alone}"));
                }
                return None;
            }
            _ => match layers.get("limit")? {
                Limit::Bytes(bytes) => (bytes, None),
                packets @ Limit::Packets(_) => return Some(packets),
            },
        };
        if let (true, Some(rate)) = (bytes.as_u64() > LARGE, rate) {
            if links.refused.insert(place) {
                let reason = format!("is too large at {}", show_rate(rate));
                let most = format!("at most {}", show_time(rate.time_for(Bytes::new(LARGE))));
                self.report.add(place, field, shown, reason, most);
            }
            return None;
        }
        links.note_bytes(ByteLimit { bytes, rate, place, field, shown });
        Some(Limit::Bytes(bytes))
    }

    /// Returns the discipline that the uppermost kind names, else the catalogue's first; `None` if the kind is wrong,
    /// which was reported.
    fn discipline(&mut self, stack: &[QueueLayer<'_>]) -> Option<&'static Discipline> {
        match stack.iter().find_map(|(record, _)| record.given("kind")).map(|item| &item.value) {
            Some(Value::Word(name)) => self.catalogue.find_queue(name),
            Some(_) => None,
            None => {
                let first = self.catalogue.queues.first().copied();
                if first.is_none() && self.report.is_empty() {
                    self.report.add(Place::Nowhere, "queue.kind", "", "names no discipline", "a catalogue with queues");
                }
                first
            }
        }
    }

    /// Reports parameters of a table that its discipline lacks, or whose values it does not accept.
    fn fits_discipline(&mut self, record: &Record, row: &Discipline, path: &Path<'_>) {
        for (key, place, item) in &record.entries {
            let at = Path::Key(path, key);
            match (row.param(key), &item.value) {
                _ if QUEUE.field(key).is_some() => {}
                (Some(param), Value::Raw(tree)) => {
                    own_param(&param.kind, tree, &at, self.report);
                }
                (Some(_), _) => {}
                (None, _) => {
                    let having = self.catalogue.queues.iter().filter(|row| row.param(key).is_some());
                    let only: Vec<String> = having.map(|row| format!("{:?}", row.name)).collect();
                    let reason = format!("has no meaning for kind = {:?}", row.name);
                    let allowed = format!("only with kind = {}", only.join(" or "));
                    self.report.add(*place, at, &item.shown, reason, allowed);
                }
            }
        }
    }

    /// Returns all parameters: the value of the uppermost table of the same discipline that gives one, else the
    /// default. `None` if a value is wrong, which was reported.
    fn params(&mut self, row: &'static Discipline, stack: &[QueueLayer<'_>]) -> Option<Params> {
        let mut params = Params::defaults(row.params);
        let mut depths = Vec::with_capacity(stack.len());
        for depth in 0..stack.len() {
            let own = self.discipline(&stack[depth..]);
            depths.extend(own.is_some_and(|own| own.name == row.name).then_some(depth));
        }
        for param in row.params {
            let given = depths.iter().find_map(|&depth| stack.get(depth)?.0.given(param.name));
            if let Some(item) = given {
                let Value::Raw(tree) = &item.value else { return None };
                // A wrong value was reported with its table.
                params.set(param.name, own_param(&param.kind, tree, &Path::Root, &mut Report::new(""))?);
            }
        }
        Some(params)
    }

    /// Reports a rule that a discipline's parameters break, where the parameter is given, else at the queue's table.
    fn complain(&mut self, broken: Broken, layers: &Layers<'_>, stack: &[QueueLayer<'_>]) {
        let Broken { param, reason, allowed } = broken;
        let given = stack.iter().find(|(record, _)| record.given(param).is_some());
        let holder = given.or(stack.first());
        let field = holder.map_or_else(|| format!("queue.{param}"), |(_, path)| Path::Key(path, param).to_string());
        let shown = if given.is_some() { layers.shown(param) } else { "the default".to_owned() };
        self.report.add(layers.place(param), field, shown, reason, allowed);
    }
}
