//! From the grammar's pairs to the script's values, with the checks that a grammar cannot make.

mod call;
mod expression;
mod packet;

use super::error::ScriptError;
use super::parser::Rule;
use super::{Action, Command, Direction, Event, MAX_EVENTS, Script, ScriptOption, When};
use narrows_units::Duration;
use pest::iterators::Pair;

/// A node of the parsed text.
pub(super) type Node<'a> = Pair<'a, Rule>;

/// Longest time in a script: a day. Later events are a mistake, and a limit keeps arithmetic far from its bounds.
const MAX_SECONDS: u64 = 86_400;

/// Builds values, and knows where in the file they stand.
pub(super) struct Builder<'a> {
    file: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(file: &'a str, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { file, lines: core::iter::once(0).chain(breaks).collect() }
    }

    /// Returns line and column, from 1, of a place in the text; columns count bytes.
    fn place(&self, at: usize) -> (u32, u32) {
        let line = self.lines.partition_point(|begin| *begin <= at);
        let column = at - self.lines.get(line - 1).copied().unwrap_or(0) + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    fn line(&self, node: &Node<'_>) -> u32 {
        self.place(node.as_span().start()).0
    }

    pub(super) fn error_at(&self, at: usize, message: impl Into<String>) -> ScriptError {
        let (line, column) = self.place(at);
        ScriptError { file: self.file.to_owned(), line, column: Some(column), message: message.into() }
    }

    fn error(&self, node: &Node<'_>, message: impl Into<String>) -> ScriptError {
        self.error_at(node.as_span().start(), message)
    }

    /// An error for a node that the grammar promises and that is not there.
    fn missing(&self, at: usize) -> ScriptError {
        self.error_at(at, "cannot be read; this is a defect of the parser")
    }

    /// Returns the first child.
    fn first<'n>(&self, node: Node<'n>) -> Result<Node<'n>, ScriptError> {
        let at = node.as_span().start();
        node.into_inner().next().ok_or_else(|| self.missing(at))
    }

    pub(super) fn options(&self, head: Node<'_>) -> Result<Vec<ScriptOption>, ScriptError> {
        let mut options = Vec::new();
        for node in head.into_inner().filter(|node| node.as_rule() == Rule::option) {
            let line = self.line(&node);
            let mut parts = node.into_inner();
            let name = parts.next().map(|name| name.as_str().to_owned()).unwrap_or_default();
            let value = parts.next().map(|value| unquote(value.as_str()).to_owned());
            options.push(ScriptOption { name, value, line });
        }
        Ok(options)
    }

    pub(super) fn script(&self, root: Node<'_>) -> Result<Script, ScriptError> {
        let mut script = Script::default();
        let (mut end, mut last_absolute) = (0, None);
        for node in root.into_inner() {
            end = node.as_span().start();
            match node.as_rule() {
                Rule::init => script.init = Some(self.command(node)?),
                Rule::cleanup => script.cleanup = Some(self.command(node)?),
                Rule::event => {
                    if script.events.len() == MAX_EVENTS {
                        return Err(self.error(&node, format!("the script has more than {MAX_EVENTS} events")));
                    }
                    let event = self.event(node.clone())?;
                    last_absolute = self.check_order(&node, &event, script.events.is_empty(), last_absolute)?;
                    script.events.push(event);
                }
                _ => {}
            }
        }
        if script.events.is_empty() {
            return Err(
                self.error_at(end, "the script has no event: expected a time and a packet, call, command or code")
            );
        }
        Ok(script)
    }

    /// Checks that the first event is at 0 and that absolute times do not go back. Returns the event's absolute time.
    fn check_order(
        &self,
        node: &Node<'_>,
        event: &Event,
        is_first: bool,
        last: Option<Duration>,
    ) -> Result<Option<Duration>, ScriptError> {
        let time = match event.when {
            When::At(time) | When::Between(time, _) => Some(time),
            When::After(_) | When::Any | When::AfterBetween(..) => None,
        };
        let at_zero = matches!(event.when, When::At(Duration::ZERO) | When::After(Duration::ZERO));
        if is_first && !at_zero {
            return Err(self.error(node, "the first event must be at time 0"));
        }
        match (last, time) {
            (Some(last), Some(time)) if time < last => {
                Err(self.error(node, format!("time goes back from {} to {} s", seconds(last), seconds(time))))
            }
            _ => Ok(time),
        }
    }

    fn command(&self, node: Node<'_>) -> Result<Command, ScriptError> {
        let line = self.line(&node);
        let text = self.first(node)?;
        Ok(Command { text: unquote(text.as_str()).to_owned(), line })
    }

    fn event(&self, node: Node<'_>) -> Result<Event, ScriptError> {
        let line = self.line(&node);
        let at = node.as_span().start();
        let mut parts = node.into_inner();
        let (when, action) = parts.next().zip(parts.next()).ok_or_else(|| self.missing(at))?;
        let when = self.when(when)?;
        let action = self.action(self.first(action)?)?;
        let is_expected_packet = matches!(&action, Action::Packet(packet) if packet.direction == Direction::Outbound);
        match when {
            When::Any if !is_expected_packet => {
                Err(self.error_at(at, "the time `*` is for packets from the host (`>`) only"))
            }
            When::Between(..) | When::AfterBetween(..) if !is_expected_packet => {
                Err(self.error_at(at, "a range of times is for packets from the host (`>`) only"))
            }
            _ => Ok(Event { when, action, line }),
        }
    }

    fn when(&self, node: Node<'_>) -> Result<When, ScriptError> {
        let node = self.first(node)?;
        let (rule, at) = (node.as_rule(), node.as_span().start());
        let mut times = Vec::new();
        for time in node.into_inner() {
            times.push(self.time(&time)?);
        }
        if let [first, last] = times[..]
            && last < first
        {
            return Err(self
                .error_at(at, format!("the range ends before it begins: {} to {} s", seconds(first), seconds(last))));
        }
        match (rule, &times[..]) {
            (Rule::any_time, []) => Ok(When::Any),
            (Rule::relative, [time]) => Ok(When::After(*time)),
            (Rule::absolute, [time]) => Ok(When::At(*time)),
            (Rule::relative_range, [first, last]) => Ok(When::AfterBetween(*first, *last)),
            (Rule::absolute_range, [first, last]) => Ok(When::Between(*first, *last)),
            _ => Err(self.missing(at)),
        }
    }

    /// Reads seconds with decimals as whole microseconds; further decimals are cut, as the tool does.
    fn time(&self, node: &Node<'_>) -> Result<Duration, ScriptError> {
        let text = node.as_str();
        if text.starts_with('-') {
            return Err(self.error(node, format!("`{text}` is a negative time; times begin at 0")));
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
        if whole >= MAX_SECONDS {
            return Err(self.error(node, format!("`{text}` is too late; times are below {MAX_SECONDS} s")));
        }
        let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
        let micros: u64 = digits.parse().map_err(|_| self.error(node, format!("`{text}` is no time in seconds")))?;
        Ok(Duration::from_micros(whole * 1_000_000 + micros))
    }

    fn action(&self, node: Node<'_>) -> Result<Action, ScriptError> {
        match node.as_rule() {
            Rule::packet => Ok(Action::Packet(self.packet(node)?)),
            Rule::call => Ok(Action::Call(self.call(node)?)),
            Rule::command => Ok(Action::Command(self.command(node)?.text)),
            Rule::code => {
                let text = node.as_str();
                let code = text.strip_prefix("%{").and_then(|text| text.strip_suffix("}%")).unwrap_or(text);
                Ok(Action::Code(code.trim_matches([' ', '\t']).to_owned()))
            }
            _ => Err(self.missing(node.as_span().start())),
        }
    }

    /// Reads an integer within bounds. `what` names it in the error.
    fn integer<T: TryFrom<i64>>(&self, node: &Node<'_>, what: &str, bounds: &str) -> Result<T, ScriptError> {
        let text = node.as_str();
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
            None => text.parse().ok(),
        };
        value
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| self.error(node, format!("{what} `{text}` is out of range: {bounds}")))
    }

    fn u32(&self, node: &Node<'_>, what: &str) -> Result<u32, ScriptError> {
        self.integer(node, what, "0 to 4294967295")
    }

    fn u16(&self, node: &Node<'_>, what: &str) -> Result<u16, ScriptError> {
        self.integer(node, what, "0 to 65535")
    }

    fn u8(&self, node: &Node<'_>, what: &str) -> Result<u8, ScriptError> {
        self.integer(node, what, "0 to 255")
    }
}

/// Returns text without the quotes around it, if it has any.
fn unquote(text: &str) -> &str {
    for quote in ['"', '`'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Returns seconds with six decimals, as scripts have them.
fn seconds(time: Duration) -> String {
    let micros = time.as_nanos() / 1000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
