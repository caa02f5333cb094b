//! From names of variables to what they measure.

use crate::ast::Path;
use crate::dimension::Type;
use crate::error::{Cause, ExpressionError};
use crate::unit::of_variable;
use crate::vocabulary::{Declared, FlowField, LinkField, PathField, Row, Side, Source, TRUTH, Variable, Vocabulary};
use std::sync::Arc;

/// A variable before its segment size is known.
pub(crate) struct Resolved {
    pub(crate) variable: Variable,
    /// Whether its raw value counts segments.
    pub(crate) in_segments: bool,
    /// The flow that it belongs to.
    pub(crate) flow: Option<usize>,
}

type Answer = Result<Resolved, ExpressionError>;

/// Names that a variable may begin with.
const HEADS: &[&str] = &["time", "flow", "flows", "link", "bottleneck", "path"];

/// Finds the variable of a path.
pub(crate) fn resolve(path: &Path, column: usize, words: &Vocabulary) -> Answer {
    let at = At { path, column, words };
    match (path.head.as_str(), &path.index) {
        ("time", None) if path.rest.is_empty() => Ok(plain(path.to_string(), Source::Time, "s", &[])),
        ("flow", None) => at.flow(words.under_test),
        ("flows", Some(name)) => match words.flows.iter().position(|flow| *flow.name == **name) {
            Some(flow) => at.flow(flow),
            None => Err(at.absent(name, "is not a flow", words.flows.iter().map(|flow| &*flow.name))),
        },
        ("flows", None) => Err(at.unknown("flows", "needs a name, such as `flows['NAME'].cwnd`", [])),
        ("link", Some(name)) => match words.links.iter().position(|link| *link.name == **name) {
            Some(link) => at.link(link),
            None => Err(at.absent(name, "is not a link", words.links.iter().map(|link| &*link.name))),
        },
        ("link", None) => Err(at.unknown("link", "needs a name, such as `link['A-B'].queue`", [])),
        ("bottleneck", None) => match words.bottleneck {
            Some(link) => at.link(link),
            None => {
                let reason = "is the link of a dumbbell, or the one that `bottleneck` of [case] names";
                Err(at.absent("bottleneck", reason, words.links.iter().map(|link| &*link.name)))
            }
        },
        ("path", None) => {
            let rows = PathField::ALL.iter().map(|field| (*field, field.row()));
            at.field(&path.rest, rows, Source::Path)
        }
        (head, Some(_)) if HEADS.contains(&head) => Err(at.unknown(head, "takes no name in brackets", [])),
        ("time", None) => Err(at.unknown("time", "has no parts", [])),
        (head, _) => Err(at.unknown(head, "is not a variable", HEADS.iter().copied())),
    }
}

struct At<'a> {
    path: &'a Path,
    column: usize,
    words: &'a Vocabulary,
}

impl At<'_> {
    fn unknown<'b>(&self, value: &str, reason: &str, known: impl IntoIterator<Item = &'b str>) -> ExpressionError {
        let known: Vec<&str> = known.into_iter().take(200).collect();
        let allowed = known.join(", ");
        ExpressionError::new(self.column, Cause::Unknown, value, reason, allowed).known(known)
    }

    fn absent<'b>(&self, value: &str, reason: &str, known: impl IntoIterator<Item = &'b str>) -> ExpressionError {
        ExpressionError { cause: Cause::Absent, ..self.unknown(value, reason, known) }
    }

    fn flow(&self, flow: usize) -> Answer {
        let Some(words) = self.words.flows.get(flow) else {
            return Err(self.absent(&self.path.head, "names no flow", []));
        };
        let Some((control, declared)) = &words.control else {
            return Err(self.unknown(&words.name, "is not a TCP flow", []));
        };
        if self.path.rest.first().is_some_and(|name| name == "cc") {
            return self.control(flow, (control, declared), |name| Source::Control { flow, name });
        }
        if self.path.rest.first().is_some_and(|name| name == "receiver") {
            let Some((control, declared)) = &words.receiver else {
                let reason = "has no congestion control of its receiver (`receiver_cc`)";
                return Err(self.unknown(&words.name, reason, []));
            };
            return self.control(flow, (control, declared), |name| Source::Receiver { flow, name });
        }
        let rows = FlowField::ALL.iter().map(|field| (*field, field.row()));
        let mut found = self.field(&self.path.rest, rows, |field| Source::Flow { flow, field });
        if let Err(error) = &mut found {
            let receiver =
                if words.receiver.is_some() { ", and receiver.NAME for those of its receiver's" } else { "" };
            error.allowed.push_str(", and cc.NAME for the variables of its congestion control");
            error.allowed.push_str(receiver);
            // A variable of the control without `cc.` is an easy slip.
            error.known.extend(declared.iter().map(|variable| format!("cc.{}", variable.name)));
            let name = self.path.rest.first().map_or("", String::as_str);
            if declared.iter().any(|variable| variable.name == name) {
                error.reason.push_str(&format!(", did you mean `cc.{name}`?"));
            }
        }
        found.map(|resolved| Resolved { flow: Some(flow), ..resolved })
    }

    fn control(
        &self,
        flow: usize,
        (control, declared): (&str, &[Declared]),
        source: impl FnOnce(Arc<str>) -> Source,
    ) -> Answer {
        let names = || declared.iter().map(|variable| variable.name.as_str());
        let [_, name] = self.path.rest.as_slice() else {
            return Err(self.unknown(&self.path.to_string(), "names no variable of the congestion control", names()));
        };
        let Some(variable) = declared.iter().find(|variable| variable.name == *name) else {
            let reason = format!("is no variable of {control}");
            let allowed =
                if declared.is_empty() { "it has none".to_owned() } else { names().collect::<Vec<_>>().join(", ") };
            let error = ExpressionError::new(self.column, Cause::NotOfControl, name, reason, allowed);
            return Err(error.known(names()));
        };
        let words: Vec<&str> = variable.words.iter().map(String::as_str).collect();
        let found = plain(self.path.to_string(), source(Arc::from(name.as_str())), &variable.unit, &words);
        Ok(Resolved { flow: Some(flow), ..found })
    }

    fn link(&self, link: usize) -> Answer {
        let (side, rest) = match self.path.rest.as_slice() {
            [first, rest @ ..] if first == "reverse" => (Side::Reverse, rest),
            [first, rest @ ..] if first == "forward" => (Side::Forward, rest),
            rest => (Side::Forward, rest),
        };
        let rows = LinkField::ALL.iter().map(|field| (*field, field.row()));
        self.field(rest, rows, |field| Source::Link { link, side, field })
    }

    fn field<F: Copy>(
        &self,
        rest: &[String],
        rows: impl Iterator<Item = (F, Row)> + Clone,
        source: impl FnOnce(F) -> Source,
    ) -> Answer {
        let names = || rows.clone().map(|(_, row)| row.name);
        let [name] = rest else {
            return Err(self.unknown(&self.path.to_string(), "names no variable", names()));
        };
        match rows.clone().find(|(_, row)| row.name == name) {
            Some((field, row)) => Ok(plain(self.path.to_string(), source(field), row.unit, row.words)),
            None => {
                let owner = &self.path.to_string();
                let owner = owner.strip_suffix(&format!(".{name}")).unwrap_or(owner);
                Err(self.unknown(name, &format!("is no variable of `{owner}`"), names()))
            }
        }
    }
}

fn plain(name: String, source: Source, unit: &str, words: &[&str]) -> Resolved {
    let (dimension, factor, segments) = of_variable(unit);
    let kind = match () {
        () if unit == TRUTH => Type::Truth,
        () if !words.is_empty() => Type::Word(words.iter().map(|&word| word.to_owned()).collect()),
        () => Type::Number(dimension),
    };
    let (factor, in_segments) = if matches!(kind, Type::Number(_)) { (factor, segments) } else { (1.0, false) };
    let variable = Variable { name, source, unit: unit.to_owned(), kind, factor, segment: None };
    Resolved { variable, in_segments, flow: None }
}
