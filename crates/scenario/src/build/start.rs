//! How a flow's cwnd begins: its slow start, and what an earlier connection left.
//!
//! A congestion control with a parameter `slow_start` (CUBIC) has some kinds itself, and the setting then gives the
//! parameter. In front of others the connection puts the kind, unless slow start is a part of the algorithm
//! ([`CatalogueRow::own_start`]) or a scheme's part at the sender sets the window.

use super::Build;
use super::cc::Chosen;
use super::rules::Rules;
use super::tcp::Said;
use crate::catalogue::{CatalogueKind, CatalogueRow};
use crate::record::Layers;
use crate::types::{CarefulResume, ParamValue, SlowStart};
use crate::words::Word;

/// The congestion control's own parameter.
const PARAM: &str = "slow_start";

/// What begins a flow's window, and its congestion control's own slow start if the setting gives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    pub(super) slow_start: SlowStart,
    pub(super) careful_resume: Option<CarefulResume>,
    /// The word for the congestion control's own parameter, if the setting gives it.
    own: Option<&'static str>,
}

impl Begins {
    /// Puts the word into the congestion control's own parameter, if it has one and the setting gives it.
    pub(super) fn give(&self, params: &mut [(String, ParamValue)]) {
        if let (Some(word), Some((_, value))) = (self.own, params.iter_mut().find(|(name, _)| name == PARAM)) {
            *value = ParamValue::Choice(word.to_owned());
        }
    }
}

impl Build<'_> {
    /// Resolves how cwnd begins; `scheme` is the one at the sender.
    pub(super) fn begins(
        &mut self,
        said: &Said<'_>,
        chosen: &Chosen<'_>,
        layers: &Layers<'_>,
        careful_resume: Option<CarefulResume>,
        scheme: Option<&str>,
    ) -> Option<Begins> {
        let given: SlowStart = layers.get(PARAM)?;
        let mut rules = Rules::new(self, said);
        let asked =
            [(PARAM, given != SlowStart::Own, "\"own\""), ("careful_resume", careful_resume.is_some(), "false")];
        for (key, _, none) in asked.into_iter().filter(|(_, asked, _)| *asked) {
            if let Some(reason) = &chosen.row.own_start {
                let reason = format!("is not available: {} {reason}", chosen.row.name);
                rules.broken(key, &[key, "cc"], &reason, &format!("{none}, or another congestion control"));
            } else if let Some(scheme) = scheme {
                let reason = format!("is not available: the sender's part of {scheme} sets the window");
                rules.broken(key, &[key, "assist"], &reason, &format!("{none}, or assist = \"none\""));
            }
        }
        let Some(own) = words(chosen.row) else {
            return Some(Begins { slow_start: given, careful_resume, own: None });
        };
        // The kinds that the congestion control lacks stand in front of its standard slow start.
        let kind = given.word();
        let (slow_start, word) = match given {
            SlowStart::Own => (given, None),
            _ if own.iter().any(|word| word == kind) => (SlowStart::Standard, Some(kind)),
            _ => (given, Some("standard")),
        };
        let word = word.and_then(|word| (word != "own").then_some(word));
        if let (Some(word), Some(ParamValue::Choice(param))) = (word, chosen.given(PARAM))
            && param != "profile"
            && param != word
        {
            let reason = format!("contradicts cc_params.slow_start = {param:?}");
            rules.broken(PARAM, &[PARAM, "cc_params"], &reason, "one of the two");
        }
        Some(Begins { slow_start, careful_resume, own: word })
    }
}

/// The kinds of slow start that a congestion control has itself, by a parameter.
fn words(row: &CatalogueRow) -> Option<&[String]> {
    match row.params.iter().find(|param| param.name == PARAM).map(|param| &param.kind) {
        Some(CatalogueKind::Choice { allowed, .. }) => Some(allowed),
        _ => None,
    }
}
