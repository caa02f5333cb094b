//! Whether a system call returned what the script expects.

use super::expected::{Expected, ExpectedControl, ExpectedData, ExpectedOutput};
use super::files::Files;
use super::outcome::Difference;
use crate::call::{CallResult, Control, Errno, Output};
use crate::notation::hexadecimal;
use crate::symbols;
use narrows_units::{Duration, Instant};

/// What a comparison needs besides the result.
pub(super) struct Context<'a> {
    pub(super) files: &'a Files,
    /// When the script began, by the host's clock.
    pub(super) start: Instant,
    /// How far a timestamp may be off.
    pub(super) tolerance: Duration,
    /// `epoll_event.data` is a file.
    pub(super) event_is_file: bool,
}

/// Returns the fields in which a result differs from what is expected.
pub(super) fn differences(context: &Context<'_>, expected: &Expected, result: &CallResult) -> Vec<Difference> {
    let mut found = Vec::new();
    match (expected.value, result.value) {
        (None, _) => {}
        // Any file will do where the script expects one.
        (Some(_), Ok(value)) if expected.is_file && value >= 0 => {}
        (Some(wanted), Ok(value)) if wanted == value => {}
        (Some(-1), Err(errno)) => match &expected.errno {
            Some((_, number)) if *number == errno.0 => {}
            None => {}
            Some((name, _)) => found.push(Difference::new("error", name, error_name(errno))),
        },
        (Some(wanted), _) => {
            let wanted = match &expected.errno {
                Some((name, _)) => format!("{wanted} {name}"),
                None => wanted.to_string(),
            };
            found.push(Difference::new("result", wanted, shown(result)));
        }
    }
    if found.is_empty() {
        output(context, &expected.output, result, &mut found);
    }
    found
}

/// Returns a result as a script writes it: `-1 EAGAIN` or `1000`.
pub(super) fn shown(result: &CallResult) -> String {
    match result.value {
        Ok(value) => value.to_string(),
        Err(errno) => format!("-1 {}", error_name(errno)),
    }
}

fn error_name(errno: Errno) -> String {
    symbols::errno_name(errno).map_or_else(|| format!("error {}", errno.0), str::to_owned)
}

fn output(context: &Context<'_>, expected: &ExpectedOutput, result: &CallResult, found: &mut Vec<Difference>) {
    let mut compare = |field: &str, expected: String, actual: String| {
        if expected != actual {
            found.push(Difference::new(field, expected, actual));
        }
    };
    match (expected, &result.output) {
        (ExpectedOutput::Any, _) => {}
        (ExpectedOutput::Integer(wanted), output) => {
            let actual = match output {
                Output::Integer(value) => value.to_string(),
                _ => "nothing".to_owned(),
            };
            compare("value written", wanted.to_string(), actual);
        }
        (ExpectedOutput::Option { value, length }, Output::Option(actual)) => {
            compare("length of the option", length.to_string(), actual.len().to_string());
            if let Some(value) = value {
                compare("value of the option", option_value(value), option_value(actual));
            }
        }
        (ExpectedOutput::Ready(wanted), Output::Ready(actual)) => {
            let events = |list: &[i16]| list.iter().map(|bits| poll_events(*bits)).collect::<Vec<_>>().join(", ");
            compare("revents", events(wanted), events(actual));
        }
        (ExpectedOutput::Event(wanted), output) => {
            let first = match output {
                Output::Events(events) => events.first().copied(),
                _ => None,
            };
            let (events, data) = first.map_or((0, 0), |event| (event.events, event.data));
            compare("events", epoll_events(wanted.events), epoll_events(events));
            let data = match (context.event_is_file, i32::try_from(data)) {
                (true, Ok(fd)) if first.is_some() => context.files.script_number(fd).map_or(-1, i64::from),
                _ => data.cast_signed(),
            };
            compare("event data", wanted.data.cast_signed().to_string(), data.to_string());
        }
        (ExpectedOutput::Message { flags, control }, Output::Message { control: actual, flags: actual_flags, .. }) => {
            compare("msg_flags", message_flags(*flags), message_flags(*actual_flags));
            controls(context, control, actual, found);
        }
        // Output arguments of calls that return an error are not written.
        _ => {}
    }
}

fn controls(context: &Context<'_>, expected: &[ExpectedControl], actual: &[Control], found: &mut Vec<Difference>) {
    if expected.len() != actual.len() {
        found.push(Difference::new("number of control messages", expected.len(), actual.len()));
        return;
    }
    for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        let field = |name: &str| format!("control message {index}, {name}");
        let mut compare = |name: &str, expected: String, actual: String| {
            if expected != actual {
                found.push(Difference::new(field(name), expected, actual));
            }
        };
        compare("level", expected.level.to_string(), actual.level.to_string());
        compare("type", expected.kind.to_string(), actual.kind.to_string());
        compare("length", expected.length().to_string(), actual.data.len().to_string());
        match expected.data {
            ExpectedData::Integer(value) => {
                compare("data", hexadecimal(&value.to_ne_bytes()), hexadecimal(&actual.data));
            }
            ExpectedData::ExtendedError(values) => {
                compare(
                    "data",
                    extended_error(values),
                    read_extended_error(&actual.data).map_or_else(|| "cut off".to_owned(), extended_error),
                );
            }
            ExpectedData::Timestamp(wanted) => {
                let stamp = read_timestamp(&actual.data);
                let since = |stamp: Duration| Instant::from_nanos(stamp.as_nanos()).since(context.start);
                let off = stamp.map(since).map(|at| if at > wanted { at - wanted } else { wanted - at });
                if wanted > Duration::ZERO && off.is_none_or(|off| off > context.tolerance) {
                    let at = stamp.map_or_else(|| "cut off".to_owned(), |stamp| crate::notation::time(since(stamp)));
                    compare("timestamp", crate::notation::time(wanted), at);
                }
            }
        }
    }
}

fn extended_error([errno, origin, kind, code, info, data]: [u32; 6]) -> String {
    format!("ee_errno={errno}, ee_origin={origin}, ee_type={kind}, ee_code={code}, ee_info={info}, ee_data={data}")
}

/// Reads `struct sock_extended_err`.
fn read_extended_error(bytes: &[u8]) -> Option<[u32; 6]> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let byte = |at: usize| bytes.get(at).map(|byte| u32::from(*byte));
    Some([word(0)?, byte(4)?, byte(5)?, byte(6)?, word(8)?, word(12)?])
}

/// Reads the first timestamp of `struct scm_timestamping`.
fn read_timestamp(bytes: &[u8]) -> Option<Duration> {
    let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Duration::from_nanos(word(0)?.saturating_mul(1_000_000_000).saturating_add(word(8)?)))
}

/// Returns an option's value: an integer where it has four bytes, else text or hexadecimal digits.
fn option_value(bytes: &[u8]) -> String {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return i32::from_ne_bytes(bytes).to_string();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c == '\0') => format!("{text:?}"),
        _ => hexadecimal(bytes),
    }
}

/// Returns set bits by their names in a table, and the rest as a number.
fn named_bits(bits: u32, table: &[(&str, i32)]) -> String {
    let mut rest = bits;
    let mut names = Vec::new();
    for (name, bit) in table {
        let bit = bit.cast_unsigned();
        if rest & bit == bit {
            names.push((*name).to_owned());
            rest &= !bit;
        }
    }
    if rest != 0 || names.is_empty() {
        names.push(if rest == 0 { "0".to_owned() } else { format!("0x{rest:x}") });
    }
    names.join("|")
}

fn poll_events(bits: i16) -> String {
    use crate::symbols::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI, POLLRDHUP};
    let table = [
        ("POLLIN", POLLIN),
        ("POLLPRI", POLLPRI),
        ("POLLOUT", POLLOUT),
        ("POLLERR", POLLERR),
        ("POLLHUP", POLLHUP),
        ("POLLNVAL", POLLNVAL),
        ("POLLRDHUP", POLLRDHUP),
    ];
    named_bits(u32::from(bits.cast_unsigned()), &table)
}

fn epoll_events(bits: u32) -> String {
    use crate::symbols::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP};
    let table = [
        ("EPOLLIN", EPOLLIN),
        ("EPOLLPRI", EPOLLPRI),
        ("EPOLLOUT", EPOLLOUT),
        ("EPOLLERR", EPOLLERR),
        ("EPOLLHUP", EPOLLHUP),
        ("EPOLLRDHUP", EPOLLRDHUP),
    ];
    named_bits(bits, &table)
}

fn message_flags(bits: i32) -> String {
    use crate::symbols::{MSG_CTRUNC, MSG_EOR, MSG_ERRQUEUE, MSG_OOB, MSG_TRUNC};
    let table = [
        ("MSG_OOB", MSG_OOB),
        ("MSG_CTRUNC", MSG_CTRUNC),
        ("MSG_TRUNC", MSG_TRUNC),
        ("MSG_EOR", MSG_EOR),
        ("MSG_ERRQUEUE", MSG_ERRQUEUE),
    ];
    named_bits(bits.cast_unsigned(), &table)
}
