//! Settings of queues that are legal but odd: they are warned of, not refused.

use super::Build;
use super::links::{Links, QueueLayer};
use crate::check::Path;
use crate::problem::Place;
use crate::quantity::{show_rate, show_time};
use crate::types::Flow;
use narrows_settings::queue::{Discipline, Params, Value};
use narrows_units::{Bytes, Duration, Rate};

/// A parameter of a queue that may be odd. Whether it is depends on the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Bytes that a sub-queue may send in its turn.
    Quantum(Bytes),
    /// The accepted delay, and the link's rate at the start.
    Target(Duration, Rate),
    /// Marks instead of drops, or above a threshold.
    Marks,
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
            let noted = Noted { kind, place: item.place, field, shown: item.shown.clone() };
            match self.odd.iter_mut().find(|known| known.place == noted.place && known.field == noted.field) {
                Some(known) => match (known.kind, kind) {
                    (Kind::Target(_, before), Kind::Target(_, now)) if now < before => *known = noted,
                    _ => {}
                },
                None => self.odd.push(noted),
            }
        }
    }
}

impl Build<'_> {
    /// Warns of queue parameters that do not suit the flows.
    pub(super) fn odd_queues(&mut self, links: &Links, flows: &[Flow]) {
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
                _ => continue,
            };
            self.report.warn(*place, field, shown, reason);
        }
    }
}
