//! Expectations: one condition each, and when it is judged.

use super::super::Build;
use super::steps::line;
use super::{At, Frame};
use crate::check::Path;
use narrows_timeline::{Expectation, Lapse, Quantifier, Scope, Until};

const TOP: Path<'static> = Path::Key(&Path::Root, "expect");

const QUANTIFIERS: [Quantifier; 4] = [Quantifier::Always, Quantifier::Never, Quantifier::Eventually, Quantifier::Then];

impl Build<'_> {
    pub(super) fn expectations(&mut self, frame: &Frame<'_>, scope: &mut Scope<'_>) -> Vec<Expectation> {
        let root = self.root;
        let mut found = Vec::new();
        for (index, record) in root.tables("expect").iter().enumerate() {
            let at = At { record, path: Path::Index(&TOP, index) };
            let after = self.step_named(at, "after", frame);
            let quantifier = self.quantifier(at);
            let until = self.until(at, quantifier, frame);
            let unless = self.condition(at, "unless", frame, scope);
            let Some(quantifier) = quantifier else { continue };
            let Some(expression) = self.condition(at, quantifier.word(), frame, scope) else { continue };
            let name: Option<String> = record.given("name").and_then(|_| record.get("name"));
            found.push(Expectation {
                named: name.is_some(),
                name: name.unwrap_or_else(|| expression.text.clone()),
                line: line(record),
                quantifier,
                expression,
                after,
                until,
                unless,
            });
        }
        found
    }

    fn quantifier(&mut self, at: At<'_>) -> Option<Quantifier> {
        let given: Vec<Quantifier> =
            QUANTIFIERS.into_iter().filter(|quantifier| at.record.given(quantifier.word()).is_some()).collect();
        let words = "always, never, eventually, then";
        match given.as_slice() {
            [] => {
                self.report.add(at.record.place, at.path, "", "has no condition", format!("one of {words}"));
                None
            }
            [one] => {
                if *one == Quantifier::Then && at.record.given("after").is_none() {
                    let path = Path::Key(&at.path, "then");
                    let allowed = "`after` beside it: the step at which it is judged";
                    self.report.add(at.place("then"), path, at.shown("then"), "has no moment", allowed);
                }
                Some(*one)
            }
            [_, second, ..] => {
                let path = Path::Key(&at.path, second.word());
                let shown = at.shown(second.word());
                let reason = "is a second condition";
                self.report.add(at.place(second.word()), path, shown, reason, format!("one of {words}"));
                None
            }
        }
    }

    fn until(&mut self, at: At<'_>, quantifier: Option<Quantifier>, frame: &Frame<'_>) -> Until {
        let step = self.step_named(at, "until", frame);
        let lapse = self.lapse(at, ("for", "rounds"));
        let within: Option<Lapse> = at.record.given("within").and_then(|_| at.record.get("within"));
        let given: Vec<&str> = ["until", "for", "rounds", "within"]
            .into_iter()
            .filter(|key| at.record.given(key).is_some() && !(*key == "rounds" && at.record.given("for").is_some()))
            .collect();
        for key in &given {
            let path = Path::Key(&at.path, key);
            let refused = match quantifier {
                Some(Quantifier::Then) => Some("not with `then`, which is judged at one moment"),
                Some(Quantifier::Eventually) if *key == "for" => Some("`within` with `eventually`"),
                Some(Quantifier::Always | Quantifier::Never) if *key == "within" => {
                    Some("only with `eventually`; `for` with the others")
                }
                _ => None,
            };
            if let Some(allowed) = refused {
                self.report.add(at.place(key), path, at.shown(key), "has no meaning here", allowed);
            }
        }
        if let [first, second, ..] = given.as_slice() {
            let reason = format!("stands beside `{first}`");
            self.report.add(at.place(second), Path::Key(&at.path, second), at.shown(second), reason, "one of the two");
        }
        match (step, lapse.or(within)) {
            (Some(step), _) => Until::Step(step),
            (None, Some(lapse)) => Until::Lapse(lapse),
            (None, None) => Until::End,
        }
    }
}
