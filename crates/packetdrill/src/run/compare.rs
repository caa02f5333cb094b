//! Whether a packet of the host is the one that the script expects, field by field.
//!
//! The rules are those of the original tool: fields that the script leaves out are either fixed (an option list without
//! an option, an urgent pointer of 0) or not compared (`win`, IP fields, `<...>`). Timestamps are compared only with
//! `--tcp_ts_tick_usecs`; their echo is not.

use super::connection::Connection;
use super::emit::TcpHeader;
use super::icmp;
use super::observe::{Observed, ObservedBody};
use super::outcome::Difference;
use crate::notation;
use crate::options::Options;
use crate::syntax::{
    Body, Datagram, Direction, Echoed, Flags, Icmp, IpInfo, Packet, Ports, Segment, TcpOption, TcpOptions, Tos,
};
use narrows_units::Duration;
use narrows_wire::TcpFlags;

/// Returns the host's packet in the script's terms: sequence numbers and timestamps as the script would write them, and
/// the IP fields that the script names.
pub(super) fn in_script_terms(connection: &mut Connection, expected: &Packet, observed: &Observed) -> Packet {
    let ip = IpInfo {
        tos: match expected.ip.tos {
            Some(Tos::Byte(_)) => Some(Tos::Byte(observed.tos)),
            Some(Tos::Ecn(_) | Tos::AnyEct) => Some(Tos::Ecn(observed.tos & 3)),
            None => None,
        },
        flow_label: expected.ip.flow_label.map(|_| observed.flow_label),
        ttl: expected.ip.ttl.map(|_| observed.ttl),
    };
    let ports = Ports { source: observed.path.source.port(), destination: observed.path.destination.port() };
    let body = match &observed.body {
        ObservedBody::Tcp(header, _) => {
            let wanted = match &expected.body {
                Body::Tcp(segment) => Some(segment),
                _ => None,
            };
            Body::Tcp(segment(connection, wanted, header, ports))
        }
        ObservedBody::Udp(length) => {
            let has_ports = matches!(&expected.body, Body::Udp(Datagram { ports: Some(_), .. }));
            let length = u16::try_from(*length).unwrap_or(u16::MAX);
            Body::Udp(Datagram { ports: has_ports.then_some(ports), length })
        }
        ObservedBody::Icmp(kind, code) => {
            let (kind, code) = icmp::names(observed.path.source.is_ipv6(), *kind, *code);
            Body::Icmp(Icmp { kind, code, mtu: None, id: None, echoed: Echoed::Default })
        }
    };
    Packet { direction: Direction::Outbound, ip, body }
}

fn segment(connection: &mut Connection, expected: Option<&Segment>, header: &TcpHeader, ports: Ports) -> Segment {
    let bits = header.flags;
    let is_syn = bits.has(TcpFlags::SYN);
    let flags = Flags {
        fin: bits.has(TcpFlags::FIN),
        syn: is_syn,
        rst: bits.has(TcpFlags::RST),
        psh: bits.has(TcpFlags::PSH),
        ack: bits.has(TcpFlags::ACK),
        urg: bits.has(TcpFlags::URG),
        ace: bits.ace(),
        ace_as_number: expected.is_some_and(|expected| expected.flags.ace_as_number),
    };
    let remote = connection.remote_offset(is_syn);
    let ack = if flags.ack { header.ack.wrapping_sub(remote) } else { header.ack };
    let wanted = match expected.map(|expected| &expected.options) {
        Some(TcpOptions::List(list)) => &list[..],
        _ => &[],
    };
    let options = header.options.iter().map(|option| self::option(connection, option, wanted, remote)).collect();
    Segment {
        ports: expected.and_then(|expected| expected.ports).map(|_| ports),
        flags,
        start: header.seq.wrapping_sub(connection.local_offset(is_syn)),
        length: u32::try_from(header.length).unwrap_or(u32::MAX),
        ack: (flags.ack || ack != 0).then_some(ack),
        window: Some(header.window),
        urgent: (header.urgent != 0).then_some(header.urgent),
        options: TcpOptions::List(options),
    }
}

fn option(connection: &mut Connection, option: &TcpOption, wanted: &[TcpOption], remote: u32) -> TcpOption {
    match option {
        TcpOption::Sack(blocks) => {
            let relative = |(left, right): &(u32, u32)| (left.wrapping_sub(remote), right.wrapping_sub(remote));
            TcpOption::Sack(blocks.iter().map(relative).collect())
        }
        TcpOption::Timestamps { value, echo } => {
            let script = wanted.iter().find_map(|option| match option {
                TcpOption::Timestamps { value, .. } => Some(*value),
                _ => None,
            });
            let value = script.map_or(*value, |script| connection.note_timestamp(script, *value));
            TcpOption::Timestamps { value, echo: *echo }
        }
        other => other.clone(),
    }
}

/// What a comparison needs besides the packets.
pub(super) struct Context<'a> {
    pub(super) options: &'a Options,
    /// Time since the start of the script, for the tolerance of timestamps.
    pub(super) elapsed: Duration,
    /// Payloads are compared with zeros.
    pub(super) zeros: bool,
}

/// Returns the fields in which two packets differ; `actual` is `observed` in the script's terms.
pub(super) fn differences(
    context: &Context<'_>,
    connection: &mut Connection,
    expected: &Packet,
    actual: &Packet,
    observed: &Observed,
) -> Vec<Difference> {
    let mut found = Vec::new();
    if observed.ip_options > 0 {
        found.push(Difference::new("IP options", "none", format!("{} bytes", observed.ip_options)));
    }
    ip_fields(connection, expected, observed, &mut found);
    match (&expected.body, &actual.body) {
        (Body::Tcp(expected), Body::Tcp(actual)) => {
            tcp(expected, actual, &mut found);
            tcp_options(context, &expected.options, &actual.options, &mut found);
            let is_zero = matches!(observed.body, ObservedBody::Tcp(_, true));
            if context.zeros && !is_zero {
                found.push(Difference::new("payload", "zeros", "other bytes"));
            }
        }
        (Body::Udp(expected), Body::Udp(actual)) => {
            if expected.length != actual.length {
                found.push(Difference::new("length", expected.length, actual.length));
            }
        }
        (Body::Icmp(expected), Body::Icmp(_)) => {
            let is_v6 = observed.path.source.is_ipv6();
            let wanted = icmp::numbers(is_v6, &expected.kind, expected.code.as_deref());
            if let (Ok(wanted), ObservedBody::Icmp(kind, code)) = (wanted, &observed.body)
                && wanted != (*kind, *code)
            {
                found.push(Difference::new("ICMP type and code", format!("{wanted:?}"), format!("({kind}, {code})")));
            }
        }
        (expected, actual) => found.push(Difference::new("protocol", protocol(expected), protocol(actual))),
    }
    found
}

fn protocol(body: &Body) -> &'static str {
    match body {
        Body::Tcp(_) => "TCP",
        Body::Udp(_) => "UDP",
        Body::Icmp(_) => "ICMP",
    }
}

fn ip_fields(connection: &mut Connection, expected: &Packet, observed: &Observed, found: &mut Vec<Difference>) {
    let ecn = observed.tos & 3;
    let ecn_name = |ecn: u8| ["noecn", "ect1", "ect0", "ce"][usize::from(ecn & 3)];
    match expected.ip.tos {
        Some(Tos::Ecn(wanted)) if wanted != ecn => {
            found.push(Difference::new("IP ECN", ecn_name(wanted), ecn_name(ecn)));
        }
        Some(Tos::AnyEct) if !matches!(ecn, 1 | 2) => found.push(Difference::new("IP ECN", "ect01", ecn_name(ecn))),
        Some(Tos::Byte(wanted)) if wanted != observed.tos => {
            found.push(Difference::new("tos", format!("0x{wanted:02x}"), format!("0x{:02x}", observed.tos)));
        }
        _ => {}
    }
    if let Some(ttl) = expected.ip.ttl
        && ttl != observed.ttl
    {
        found.push(Difference::new("ttl", ttl, observed.ttl));
    }
    if let Some(wanted) = expected.ip.flow_label.filter(|label| *label != 0 && observed.path.source.is_ipv6()) {
        flow_label(connection, wanted, observed.flow_label, found);
    }
}

/// Compares flow labels by equality: the script's label stays as long as the host's does, and changes with it.
fn flow_label(connection: &mut Connection, script: u32, wire: u32, found: &mut Vec<Difference>) {
    let known = connection.flow_label;
    if wire == 0 {
        found.push(Difference::new("flowlabel", format!("0x{script:x}"), "none"));
        return;
    }
    match known {
        Some((before, label)) if before == script && label != wire => {
            found.push(Difference::new("flowlabel", format!("0x{label:x} as before"), format!("0x{wire:x}")));
        }
        Some((before, label)) if before != script && label == wire => {
            found.push(Difference::new("flowlabel", "another than before", format!("0x{wire:x} as before")));
        }
        _ => connection.flow_label = Some((script, wire)),
    }
}

fn tcp(expected: &Segment, actual: &Segment, found: &mut Vec<Difference>) {
    if expected.flags != actual.flags {
        found.push(Difference::new("flags", notation::flags(expected.flags), notation::flags(actual.flags)));
    }
    let mut compare = |field: &str, expected: u32, actual: u32| {
        if expected != actual {
            found.push(Difference::new(field, expected, actual));
        }
    };
    compare("sequence number", expected.start, actual.start);
    compare("payload length", expected.length, actual.length);
    compare("ack", expected.ack.unwrap_or(0), actual.ack.unwrap_or(0));
    if let Some(window) = expected.window {
        compare("win", window.into(), actual.window.unwrap_or(0).into());
    }
    compare("urg", expected.urgent.unwrap_or(0).into(), actual.urgent.unwrap_or(0).into());
}

fn tcp_options(context: &Context<'_>, expected: &TcpOptions, actual: &TcpOptions, found: &mut Vec<Difference>) {
    let (TcpOptions::List(expected), TcpOptions::List(actual)) = (expected, actual) else {
        return;
    };
    let equal = expected.len() == actual.len()
        && expected.iter().zip(actual).all(|(expected, actual)| option_matches(context, expected, actual));
    if !equal {
        let shown = |list: &[TcpOption]| {
            if list.is_empty() { "none".to_owned() } else { format!("<{}>", notation::options(list)) }
        };
        found.push(Difference::new("TCP options", shown(expected), shown(actual)));
    }
}

fn option_matches(context: &Context<'_>, expected: &TcpOption, actual: &TcpOption) -> bool {
    match (expected, actual) {
        (TcpOption::Timestamps { value: expected, .. }, TcpOption::Timestamps { value: actual, .. }) => {
            let tick = context.options.timestamp_tick.as_nanos();
            let off = actual.wrapping_sub(*expected).cast_signed().unsigned_abs();
            let tolerance = tolerance(context.options, context.elapsed);
            Duration::from_nanos(u64::from(off).saturating_mul(tick)) <= tolerance
        }
        (expected, actual) => expected == actual,
    }
}

/// Returns how far something may be from its time, `since` after the event before it.
pub(super) fn tolerance(options: &Options, since: Duration) -> Duration {
    let relative = since.mul_f64(options.tolerance_percent / 100.0);
    options.tolerance.max(relative)
}
