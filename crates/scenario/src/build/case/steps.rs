//! Steps: names, order, conditions.

use super::super::Build;
use super::actions::acts;
use super::{At, Frame};
use crate::check::Path;
use crate::problem::Place;
use crate::quantity::show_time;
use crate::record::Record;
use crate::suggest::hint;
use narrows_timeline::{Lapse, Line, Scope, Step, When};
use narrows_units::{Duration, Instant};

const TOP: Path<'static> = Path::Key(&Path::Root, "steps");

/// Returns the names of steps, by which others refer to them. A step without a name gets one that none can refer to.
pub(super) fn names(steps: &[Record]) -> Vec<String> {
    let name = |(index, step): (usize, &Record)| step.get("name").unwrap_or_else(|| format!("step {}", index + 1));
    steps.iter().enumerate().map(name).collect()
}

/// Returns the line of a table.
pub(super) const fn line(record: &Record) -> Line {
    match record.place {
        Place::File(line, _) => Line(Some(line)),
        _ => Line(None),
    }
}

impl Build<'_> {
    pub(super) fn steps(&mut self, frame: &Frame<'_>, scope: &mut Scope<'_>) -> Vec<Step> {
        let root = self.root;
        let mut found = Vec::new();
        for (index, record) in root.tables("steps").iter().enumerate() {
            let at = At { record, path: Path::Index(&TOP, index) };
            let name = &frame.steps[index];
            if record.given("name").is_some() && frame.steps[..index].contains(name) {
                self.report.add(
                    at.place("name"),
                    Path::Key(&at.path, "name"),
                    at.shown("name"),
                    "names two steps",
                    "a name of its own for each step",
                );
            }
            let after = self.step_named(at, "after", frame);
            let (when, within) = (self.when(at, frame, scope), self.within(at));
            let actions = self.actions(at, frame);
            if !acts(record) && record.given("name").is_none() {
                let allowed = "a name, by which others refer to it, or an action";
                self.report.add(record.place, at.path, "", "does nothing and has no name", allowed);
            }
            found.push(Step {
                name: name.clone(),
                named: record.given("name").is_some(),
                line: line(record),
                after,
                when,
                within,
                actions,
            });
        }
        self.no_circles(&found);
        found
    }

    /// Returns the index of the step that a key names.
    pub(super) fn step_named(&mut self, at: At<'_>, key: &str, frame: &Frame<'_>) -> Option<usize> {
        let name: String = at.record.get(key)?;
        let found = frame.steps.iter().position(|known| *known == name);
        if found.is_none() {
            let known: Vec<&str> =
                frame.steps.iter().map(String::as_str).filter(|name| !name.contains(' ')).take(100).collect();
            let reason = format!("is not the name of a step{}", hint(&name, known.iter().copied()));
            let allowed = if known.is_empty() { "no step has a name".to_owned() } else { known.join(", ") };
            self.report.add(at.place(key), Path::Key(&at.path, key), at.shown(key), reason, allowed);
        }
        found
    }

    /// Returns when a step happens. A wrong one is reported, and stands for "at once".
    fn when(&mut self, at: At<'_>, frame: &Frame<'_>, scope: &mut Scope<'_>) -> When {
        let record = at.record;
        let given = |key: &str| record.given(key).is_some();
        let at_once = When::Later(Lapse::Time(Duration::ZERO));
        let later = self.lapse(at, ("delay", "rounds"));
        if given("at") && given("when") {
            self.report.add(
                at.place("when"),
                Path::Key(&at.path, "when"),
                at.shown("when"),
                "stands beside `at`",
                "one of the two",
            );
            return at_once;
        }
        for key in ["delay", "rounds"].into_iter().filter(|key| given(key)) {
            if given("at") || given("when") || !given("after") {
                let reason = "has no meaning here";
                let allowed = "only with `after`, and without `at` and `when`";
                self.report.add(at.place(key), Path::Key(&at.path, key), at.shown(key), reason, allowed);
            }
        }
        if given("when") {
            return self.condition(at, "when", frame, scope).map_or(at_once, When::Condition);
        }
        if given("at") {
            let time: Duration = record.get("at").unwrap_or_default();
            if time > self.duration {
                let allowed = format!("a time of the run, which lasts {}", show_time(self.duration));
                let reason = "is after the end of the run";
                self.report.add(at.place("at"), Path::Key(&at.path, "at"), at.shown("at"), reason, allowed);
            }
            return When::At(Instant::ZERO + time);
        }
        if !given("after") {
            self.report.add(record.place, at.path, "", "says not when it happens", "one of `at`, `when` and `after`");
        }
        later.map_or(at_once, When::Later)
    }

    fn within(&mut self, at: At<'_>) -> Option<Lapse> {
        let within: Lapse = at.record.get("within")?;
        if at.record.given("when").is_none() {
            let allowed = "only with `when`";
            let path = Path::Key(&at.path, "within");
            self.report.add(at.place("within"), path, at.shown("within"), "has no meaning here", allowed);
        }
        Some(within)
    }

    /// Returns a length of time that one of two keys gives: as a lapse, or as a number of round trips.
    pub(super) fn lapse(&mut self, at: At<'_>, (key, rounds): (&str, &str)) -> Option<Lapse> {
        let found: Option<Lapse> = at.record.given(key).and_then(|_| at.record.get(key));
        let counted: Option<u64> = at.record.given(rounds).and_then(|_| at.record.get(rounds));
        if at.record.given(key).is_some() && at.record.given(rounds).is_some() {
            let reason = format!("stands beside `{key}`");
            let path = Path::Key(&at.path, rounds);
            self.report.add(at.place(rounds), path, at.shown(rounds), reason, "one of the two");
        }
        found.or(counted.map(Lapse::Rounds))
    }

    /// Reports steps that come after each other in a circle: none of them can happen.
    fn no_circles(&mut self, steps: &[Step]) {
        let root = self.root;
        let mut told = vec![false; steps.len()];
        for start in 0..steps.len() {
            let mut path = vec![start];
            let mut at = steps[start].after;
            while let Some(next) = at.filter(|next| *next != start && path.len() <= steps.len()) {
                path.push(next);
                at = steps.get(next).and_then(|step| step.after);
            }
            if at != Some(start) || told[start] {
                continue;
            }
            path.iter().for_each(|index| told[*index] = true);
            let names: Vec<&str> = path.iter().map(|index| steps[*index].name.as_str()).collect();
            let record = &root.tables("steps")[start];
            let place = record.given("after").map_or(record.place, |item| item.place);
            let shown = record.given("after").map_or("", |item| &item.shown);
            let reason = format!("makes a circle: {} after {}", names.join(" after "), names[0]);
            let top = Path::Index(&TOP, start);
            self.report.add(place, Path::Key(&top, "after"), shown, reason, "a step that does not wait for this one");
        }
    }
}
