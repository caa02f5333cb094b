//! Packets in the notation of scripts, for messages.

use crate::syntax::{Body, Direction, Echoed, Flags, IpInfo, Packet, Segment, TcpOption, TcpOptions, Tos};
use narrows_units::Duration;
use std::fmt::Write as _;

/// Returns a packet as a script would write it, without its time.
pub fn packet(packet: &Packet) -> String {
    let mut text = String::from(match packet.direction {
        Direction::Inbound => "<",
        Direction::Outbound => ">",
    });
    let ip = ip_info(&packet.ip);
    if !ip.is_empty() {
        text.push_str(&format!(" [{ip}]"));
    }
    text.push(' ');
    text.push_str(&match &packet.body {
        Body::Tcp(tcp) => segment(tcp),
        Body::Udp(udp) => match udp.ports {
            Some(ports) => format!("udp {} > {} ({})", ports.source, ports.destination, udp.length),
            None => format!("udp ({})", udp.length),
        },
        Body::Icmp(icmp) => {
            let mut text = format!("icmp {}", icmp.kind);
            let mut add = |part: String| {
                text.push(' ');
                text.push_str(&part);
            };
            icmp.code.iter().for_each(|code| add(code.clone()));
            icmp.mtu.iter().for_each(|mtu| add(format!("mtu {mtu}")));
            icmp.id.iter().for_each(|id| add(format!("id {id}")));
            match icmp.echoed {
                Echoed::Default => {}
                Echoed::Tcp { start, length } => add(format!("[{}]", sequence(start, length))),
                Echoed::Udp(length) => add(format!("[udp ({length})]")),
                Echoed::Raw(length) => add(format!("[raw ({length})]")),
            }
            text
        }
    });
    text
}

fn ip_info(ip: &IpInfo) -> String {
    let mut parts = Vec::new();
    match ip.tos {
        Some(Tos::Ecn(ecn)) => parts.push(["noecn", "ect1", "ect0", "ce"][usize::from(ecn & 3)].to_owned()),
        Some(Tos::AnyEct) => parts.push("ect01".to_owned()),
        Some(Tos::Byte(tos)) => parts.push(format!("tos 0x{tos:02x}")),
        None => {}
    }
    ip.flow_label.iter().for_each(|label| parts.push(format!("flowlabel 0x{label:x}")));
    ip.ttl.iter().for_each(|ttl| parts.push(format!("ttl {ttl}")));
    parts.join(",")
}

fn segment(segment: &Segment) -> String {
    let mut text = String::new();
    if let Some(ports) = segment.ports {
        text.push_str(&format!("{} > {} ", ports.source, ports.destination));
    }
    text.push_str(&flags(segment.flags));
    text.push(' ');
    text.push_str(&sequence(segment.start, segment.length));
    segment.ack.iter().for_each(|ack| text.push_str(&format!(" ack {ack}")));
    segment.window.iter().for_each(|window| text.push_str(&format!(" win {window}")));
    segment.urgent.iter().for_each(|urgent| text.push_str(&format!(" urg {urgent}")));
    match &segment.options {
        TcpOptions::Any => text.push_str(" <...>"),
        TcpOptions::List(list) if list.is_empty() => {}
        TcpOptions::List(list) => text.push_str(&format!(" <{}>", options(list))),
    }
    text
}

fn sequence(start: u32, length: u32) -> String {
    format!("{start}:{}({length})", start.wrapping_add(length))
}

/// Returns flags as a script writes them; `-` for none.
pub fn flags(flags: Flags) -> String {
    let mut text = String::new();
    for (is_set, letter) in [(flags.syn, 'S'), (flags.fin, 'F'), (flags.rst, 'R'), (flags.psh, 'P'), (flags.urg, 'U')] {
        if is_set {
            text.push(letter);
        }
    }
    if !flags.ace_as_number {
        for (bit, letter) in [(1, 'E'), (2, 'W'), (4, 'A')] {
            if flags.ace & bit != 0 {
                text.push(letter);
            }
        }
    }
    if flags.ack {
        text.push('.');
    }
    if flags.ace_as_number {
        text.push_str(&flags.ace.to_string());
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

/// Returns TCP options as a script writes them, without the angle brackets.
pub fn options(options: &[TcpOption]) -> String {
    options.iter().map(option).collect::<Vec<_>>().join(",")
}

fn option(option: &TcpOption) -> String {
    let named = |name: &str, bytes: &[u8]| {
        if bytes.is_empty() { name.to_owned() } else { format!("{name} {}", hexadecimal(bytes)) }
    };
    match option {
        TcpOption::Nop => "nop".to_owned(),
        TcpOption::Eol => "eol".to_owned(),
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".to_owned(),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(left, right)| format!("{left}:{right}")).collect();
            format!("sack {}", blocks.join(" "))
        }
        TcpOption::Timestamps { value, echo } => format!("TS val {value} ecr {echo}"),
        TcpOption::FastOpen(cookie) => named("FO", cookie),
        TcpOption::FastOpenExperimental(cookie) => named("FOEXP", cookie),
        TcpOption::Md5(digest) => named("md5", digest),
        TcpOption::AccEcn { ect1_first, counters } => {
            let names = if *ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
            let counters: Vec<String> =
                names.iter().zip(counters).map(|(name, counter)| format!("{name} {counter}")).collect();
            format!("ECN {}", counters.join(" "))
        }
        TcpOption::Unknown { kind, data } => named(&format!("kind {kind}"), data),
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns a time in seconds with six decimals.
pub fn time(time: Duration) -> String {
    let micros = time.as_nanos() / 1000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
