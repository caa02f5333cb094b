//! Settings of links and queues that are legal but odd: they are warned of, not refused.

use super::Build;
use super::links::{LARGEST_PACKET, Links, QueueLayer};
use crate::check::Path;
use crate::problem::Place;
use crate::quantity::{show_rate, show_time};
use crate::record::Record;
use crate::types::{Direction, Flow, Loss};
use narrows_settings::queue::{Discipline, Params, Value};
use narrows_units::{Bytes, Duration, Rate};

/// More than any packet takes with all headers. A link that carries so much during the run is not noted as slow, so
/// that in a network of many links few are noted.
const MORE_THAN_A_PACKET: Bytes = Bytes::new(2 * LARGEST_PACKET);

/// A setting that may be odd. Whether it is depends on the flows and the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Bytes that a sub-queue may send in its turn.
    Quantum(Bytes),
    /// The accepted delay, and the link's rate at the start.
    Target(Duration, Rate),
    /// Marks instead of drops, or above a threshold.
    Marks,
    /// The rate of a link, without changes.
    Slow(Rate),
    /// The delay of a link, without changes.
    Late(Duration),
    /// Losses of every packet.
    Lost,
}

/// A parameter as the file gives it.
#[derive(Debug)]
pub(super) struct Noted {
    kind: Kind,
    place: Place,
    field: String,
    shown: String,
}

impl Links {
    /// Notes the parameters of a queue that the scenario gives, other than their defaults, and that may be odd. Those
    /// of one place, which several links share, count once: a target at the lowest rate.
    pub(super) fn note_odd(
        &mut self,
        row: &'static Discipline,
        params: &Params,
        stack: &[QueueLayer<'_>],
        rate: Option<Rate>,
    ) {
        for param in row.params {
            let Some(value) = params.get(param.name).filter(|value| *value != param.kind.default()) else { continue };
            let kind = match (param.name, value, rate) {
                ("quantum", Value::Size(bytes), _) => Kind::Quantum(bytes),
                ("target", Value::Time(target), Some(rate)) => Kind::Target(target, rate),
                ("ecn", Value::Switch(true), _) | ("ce_threshold", _, _) => Kind::Marks,
                _ => continue,
            };
            let found = stack.iter().find_map(|(record, path)| Some((record.given(param.name)?, path)));
            let Some((item, path)) = found else { continue };
            let field = Path::Key(path, param.name).to_string();
            self.note(Noted { kind, place: item.place, field, shown: item.shown.clone() });
        }
    }

    fn note(&mut self, noted: Noted) {
        let index = *self.odd_at.entry((noted.place, noted.field.clone())).or_insert(self.odd.len());
        match self.odd.get_mut(index) {
            Some(known) => match (known.kind, noted.kind) {
                (Kind::Target(_, before), Kind::Target(_, now)) if now < before => *known = noted,
                _ => {}
            },
            None => self.odd.push(noted),
        }
    }

    /// Notes settings with which a direction of a link may carry nothing in a run of `duration`. `layers` are the
    /// tables that give them, with their paths, the uppermost first.
    pub(super) fn note_idle(&mut self, made: &Direction, layers: &[(&Record, &Path<'_>)], duration: Duration) {
        let lost = match made.loss {
            Loss::None => false,
            Loss::Uniform(per) => per.is_certain(),
            Loss::GilbertElliott { per_good, per_bad, .. } => per_good.is_certain() && per_bad.is_certain(),
        };
        let constant = made.trace.is_none() && made.changes.iter().all(|change| change.rate.is_none());
        let near = made.changes.iter().any(|change| change.delay.is_some());
        for (key, kind) in [
            ("rate", (constant && made.rate.time_for(MORE_THAN_A_PACKET) >= duration).then_some(Kind::Slow(made.rate))),
            ("delay", (!near && made.delay >= duration).then_some(Kind::Late(made.delay))),
            ("per", lost.then_some(Kind::Lost)),
            ("loss", lost.then_some(Kind::Lost)),
        ] {
            let given = layers.iter().find_map(|(record, path)| Some((record.given(key)?, *path)));
            let (Some(kind), Some((item, path))) = (kind, given) else { continue };
            let field = Path::Key(path, key).to_string();
            self.note(Noted { kind, place: item.place, field, shown: item.shown.clone() });
        }
    }
}

impl Build<'_> {
    /// Warns of settings of links and queues that do not suit the flows.
    pub(super) fn odd_links(&mut self, links: &Links, flows: &[Flow]) {
        let Some(largest) = flows.iter().max_by_key(|flow| self.packet(flow)) else { return };
        let size = self.packet(largest);
        let packet = format!("one packet of flow \"{}\" ({size} B)", largest.name);
        let marks = flows.iter().filter_map(Flow::tcp).any(|tcp| tcp.ecn || tcp.accurate_ecn);
        for Noted { kind, place, field, shown } in &links.odd {
            let reason = match kind {
                Kind::Quantum(bytes) if bytes.as_u64() < size => {
                    format!("is less than {packet}: large packets wait several turns while small ones go ahead")
                }
                Kind::Target(target, rate) if rate.time_for(Bytes::new(size)) > *target => {
                    let takes = show_time(rate.time_for(Bytes::new(size)));
                    format!(
                        "is less than the {takes} that {packet} takes at {}, so even an empty queue is above it",
                        show_rate(*rate)
                    )
                }
                Kind::Marks if !marks => "has no effect: no flow uses ECN (tcp.ecn), so nothing is marked".to_owned(),
                Kind::Slow(rate) if rate.time_for(Bytes::new(size)) >= self.duration => format!(
                    "carries nothing: {packet} takes {}, and the run lasts {}",
                    show_time(rate.time_for(Bytes::new(size))),
                    show_time(self.duration)
                ),
                Kind::Late(delay) if *delay >= self.duration => {
                    format!("carries nothing: the run lasts {}", show_time(self.duration))
                }
                Kind::Lost => "carries nothing: every packet is lost".to_owned(),
                _ => continue,
            };
            self.report.warn(*place, field, shown, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_one_place_and_field_counts_and_of_targets_that_at_the_lowest_rate() {
        let mut links = Links::default();
        let noted = |kind, line, field: &str| Noted {
            kind,
            place: Place::File(line, 1),
            field: field.to_owned(),
            shown: String::new(),
        };
        let target = |rate| Kind::Target(Duration::from_millis(1), Rate::mbps(rate));
        for (kind, line, field) in [
            (target(10), 2, "target"),
            (target(5), 1, "target"),
            (Kind::Marks, 2, "ecn"),
            (target(4), 2, "target"),
            (target(8), 2, "target"),
            (Kind::Late(Duration::ZERO), 2, "ecn"),
        ] {
            links.note(noted(kind, line, field));
        }
        let kinds: Vec<_> = links.odd.iter().map(|noted| noted.kind).collect();
        assert_eq!(kinds, [target(4), target(5), Kind::Marks], "in the order in which places were first noted");
    }
}
