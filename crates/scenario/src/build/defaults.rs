//! Default TCP settings without a scenario file.

use super::Build;
use crate::catalogue::Catalogue;
use crate::problem::Report;
use crate::record::{Record, Value};
use crate::schema::{ROOT, TCP};
use crate::types::{RecoveryKind, Stack, Tcp};
use crate::words::Word;
use std::sync::Arc;

/// The settings of a flow that determine the defaults of the others.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    /// The system whose defaults apply.
    pub stack: Stack,
    /// Congestion control, by its name in the catalogue.
    pub cc: &'a str,
    /// ECN.
    pub ecn: bool,
    /// With ECN: AccECN.
    pub accurate_ecn: bool,
    /// SACK.
    pub sack: bool,
    /// Recovery; `None` is the default of the stack and the congestion control.
    pub recovery: Option<RecoveryKind>,
}

/// Builds the settings of a file whose `[tcp]` gives these choices and nothing else.
pub(crate) fn defaults(choices: &Choices<'_>, catalogue: &Catalogue, report: &mut Report) -> Option<Tcp> {
    let recovery = choices.recovery.map(|recovery| ("recovery", Value::Word(recovery.word())));
    let given = [
        ("stack", Value::Word(choices.stack.word())),
        ("cc", Value::Text(choices.cc.to_owned())),
        ("ecn", if choices.accurate_ecn { Value::Word("accurate") } else { Value::Switch(choices.ecn) }),
        ("sack", Value::Switch(choices.sack)),
    ];
    let tcp = Record::of(&TCP, given.into_iter().chain(recovery));
    let root = Record::of(&ROOT, [("tcp", Value::Table(tcp))]);
    Build::new(&root, catalogue, report).base().tcp.map(Arc::unwrap_or_clone)
}
