//! Invariants for any text given to the parser of packetdrill scripts. Panics if one is violated.

use narrows_packetdrill::notation;
use narrows_packetdrill::options::Options;
use narrows_packetdrill::run::Plan;
use narrows_packetdrill::syntax::{Action, Script, ScriptError, parse};
use std::collections::BTreeMap;

fn read(text: &str) -> Result<Script, ScriptError> {
    parse("input.pkt", text, &BTreeMap::new())
}

/// The parser's message about the text, or that of making the script ready; nothing if both accept it.
pub fn problem(bytes: &[u8]) -> Option<String> {
    let Ok(text) = core::str::from_utf8(bytes) else { return Some("not UTF-8".to_owned()) };
    ready(text).err().map(|error| error.to_string())
}

fn ready(text: &str) -> Result<Script, ScriptError> {
    let script = read(text)?;
    let options = Options::resolve("input.pkt", &script.options, &[])?;
    Plan::new("input.pkt", &script, &options)?;
    Ok(script)
}

/// A packet of a script that is read is written and read again as the same; an error has a message, and no line outside
/// the text.
pub fn script(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match ready(text) {
        Ok(script) => {
            for event in &script.events {
                let Action::Packet(packet) = &event.action else { continue };
                let written = notation::packet(packet);
                let again = read(&format!("0 {written}")).map(|script| script.events.into_iter().next());
                match again {
                    Ok(Some(again)) => assert_eq!(again.action, event.action, "{written}"),
                    other => panic!("{written}: {other:?}"),
                }
            }
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            let lines = text.lines().count().max(1);
            // Defined words may add lines.
            let defines = text.contains("--define");
            assert!(defines || error.line as usize <= lines + 1, "{error:?} of {lines}");
        }
    }
}
