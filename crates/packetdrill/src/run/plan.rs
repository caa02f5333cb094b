//! A script ready to run: its calls are evaluated and its names checked.

use super::icmp;
use super::prepare::{Prepared, prepare};
use crate::options::{IpVersion, Options};
use crate::syntax::{Action, Body, Direction, Packet, Script, ScriptError, When};

/// A script ready to run, with its options.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) options: Options,
    pub(super) init: Option<String>,
    pub(super) cleanup: Option<String>,
    pub(super) steps: Vec<Planned>,
}

/// An event ready to be carried out.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) line: u32,
    pub(super) when: When,
    pub(super) work: Work,
}

/// What an event does.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Injects a packet.
    Inject(Packet),
    /// Expects a packet.
    Expect(Packet),
    /// Makes a system call.
    Call(Box<Calling>),
    /// Runs a command line.
    Command(String),
    /// Records code.
    Code(String),
}

/// A system call with its name and its end.
#[derive(Clone, Debug)]
pub(super) struct Calling {
    pub(super) name: String,
    pub(super) prepared: Prepared,
    /// When it is to return, from the same origin as the event's time; nothing for calls that return at once.
    pub(super) until: Option<narrows_units::Duration>,
}

impl Plan {
    /// Evaluates a script's calls and checks its names.
    ///
    /// `file` is the script's name in errors.
    pub fn new(file: &str, script: &Script, options: &Options) -> Result<Self, ScriptError> {
        let is_v6 = options.ip_version == IpVersion::V6;
        let mut steps = Vec::with_capacity(script.events.len());
        for event in &script.events {
            let work = match &event.action {
                Action::Packet(packet) => {
                    check_icmp(file, event.line, is_v6, packet)?;
                    match packet.direction {
                        Direction::Inbound => Work::Inject(packet.clone()),
                        Direction::Outbound => Work::Expect(packet.clone()),
                    }
                }
                Action::Call(call) => {
                    let prepared = prepare(file, event.line, call, options)?;
                    Work::Call(Box::new(Calling { name: call.name.clone(), prepared, until: call.until }))
                }
                Action::Command(command) => Work::Command(command.clone()),
                Action::Code(code) => Work::Code(code.clone()),
            };
            steps.push(Planned { line: event.line, when: event.when, work });
        }
        let text = |command: &Option<crate::syntax::Command>| command.as_ref().map(|command| command.text.clone());
        Ok(Self { options: options.clone(), init: text(&script.init), cleanup: text(&script.cleanup), steps })
    }
}

fn check_icmp(file: &str, line: u32, is_v6: bool, packet: &Packet) -> Result<(), ScriptError> {
    let Body::Icmp(message) = &packet.body else {
        return Ok(());
    };
    icmp::numbers(is_v6, &message.kind, message.code.as_deref()).map(|_| ()).map_err(|message| ScriptError {
        file: file.to_owned(),
        line,
        column: None,
        message,
    })
}
