//! Packets: injects those of the script, and takes those that the host sends and compares them.

use super::compare::{Context, differences, in_script_terms};
use super::connection::{Connection, Phase};
use super::emit::{self, Path, TcpHeader};
use super::executor::{Executor, Stop, patience};
use super::observe::{Observed, ObservedBody};
use super::outcome::Difference;
use super::pieces::{continues, joined, observed_payload};
use crate::notation;
use crate::symbols;
use crate::syntax::{Body, Direction, IpInfo, Packet, Segment, TcpOption, TcpOptions};
use narrows_units::Instant;
use narrows_wire::TcpFlags;
use std::net::SocketAddr;

/// The first port of the other end of passive connections; each further connection takes the next.
pub(super) const FIRST_EPHEMERAL: u16 = 49_152;

impl Executor<'_> {
    // Which connection

    /// Returns the connection to which a packet of the script belongs.
    fn connection_of(&mut self, packet: &Packet) -> Result<usize, Stop> {
        let current = self.under_test.and_then(|index| self.connections.get(index).map(|c| (index, c.phase)));
        if let Body::Tcp(segment) = &packet.body {
            let listens = current.is_none_or(|(_, phase)| phase == Phase::Listening);
            if packet.direction == Direction::Inbound && listens {
                return Ok(self.passive(segment.start));
            }
            let opens = segment.flags.syn && !segment.flags.ack && packet.direction == Direction::Outbound;
            if let Some((index, Phase::Connecting)) = current
                && opens
                && let Some(connection) = self.connections.get_mut(index)
            {
                connection.phase = Phase::SynSent;
                connection.local_isn_script = segment.start;
            }
        }
        let fits = |connection: &Connection| match packet.body {
            Body::Tcp(_) => connection.protocol == symbols::IPPROTO_TCP,
            Body::Udp(_) => connection.protocol == symbols::IPPROTO_UDP,
            Body::Icmp(_) => true,
        };
        match current {
            Some((index, _)) if self.connections.get(index).is_some_and(fits) => Ok(index),
            _ => Err(Stop::Script("no socket of the script fits this packet".to_owned())),
        }
    }

    fn connection(&mut self, index: usize) -> Result<&mut Connection, Stop> {
        self.connections.get_mut(index).ok_or_else(|| Stop::Script("the connection is gone".to_owned()))
    }

    /// Makes the connection that an inbound packet for a listener begins, and tests it from now on.
    fn passive(&mut self, remote_isn: u32) -> usize {
        let options = &self.plan.options;
        let remote = SocketAddr::new(options.remote, self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_EPHEMERAL);
        self.connections.push(Connection {
            phase: Phase::SynReceived,
            protocol: symbols::IPPROTO_TCP,
            local: Some(SocketAddr::new(options.local, options.bind_port)),
            remote: Some(remote),
            remote_isn,
            ..Connection::default()
        });
        let index = self.connections.len() - 1;
        self.under_test = Some(index);
        index
    }

    /// Notes the host's address and initial sequence number, which its first packet tells.
    fn learn_local(&mut self, index: usize, path: Path, isn: u32) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.local = Some(path.source);
            connection.local_isn = isn;
        }
    }

    // Inbound

    pub(super) fn inject(&mut self, packet: &Packet) -> Result<(), Stop> {
        let index = self.connection_of(packet)?;
        let scaled = self.plan.options.timestamp_echo_scaled;
        let bytes = match &packet.body {
            Body::Tcp(segment) => self.inbound_tcp(index, &packet.ip, segment, scaled)?,
            Body::Udp(datagram) => {
                let mut path = self.inbound_path(index)?;
                if let Some(ports) = datagram.ports {
                    path.source.set_port(ports.source);
                    path.destination.set_port(ports.destination);
                }
                emit::udp(path, &packet.ip, datagram.length)
            }
            Body::Icmp(message) => {
                let path = self.inbound_path(index)?;
                let connection = self.connection(index)?;
                let isn = connection.local_offset(false);
                emit::icmp(path, &packet.ip, message, path.reversed(), isn).map_err(Stop::Script)?
            }
        };
        let at = self.host.now();
        self.capture(at, Direction::Inbound, bytes.clone());
        let (time, line) = (self.elapsed(), self.line);
        self.step(time, line, notation::packet(packet));
        Ok(self.host.inject(&bytes)?)
    }

    fn inbound_path(&mut self, index: usize) -> Result<Path, Stop> {
        let options = &self.plan.options;
        let (local, remote) =
            (SocketAddr::new(options.local, options.bind_port), SocketAddr::new(options.remote, options.connect_port));
        let connection = self.connection(index)?;
        Ok(Path { source: connection.remote.unwrap_or(remote), destination: connection.local.unwrap_or(local) })
    }

    fn inbound_tcp(&mut self, index: usize, ip: &IpInfo, segment: &Segment, scaled: bool) -> Result<Vec<u8>, Stop> {
        let mut path = self.inbound_path(index)?;
        if let Some(ports) = segment.ports {
            path.source.set_port(ports.source);
            path.destination.set_port(ports.destination);
        }
        let connection = self.connection(index)?;
        let flags = segment.flags;
        match connection.phase {
            Phase::SynAckSent if flags.ack => connection.phase = Phase::Accepted,
            Phase::SynSent if flags.syn && flags.ack => {
                connection.phase = Phase::Connected;
                connection.remote_isn = segment.start;
            }
            _ => {}
        }
        let local = connection.local_offset(flags.syn);
        let ack = segment.ack.unwrap_or(0);
        let mut options = match &segment.options {
            TcpOptions::List(list) => list.clone(),
            TcpOptions::Any => Vec::new(),
        };
        for option in &mut options {
            match option {
                TcpOption::Sack(blocks) => {
                    for (left, right) in blocks {
                        (*left, *right) = (left.wrapping_add(local), right.wrapping_add(local));
                    }
                }
                TcpOption::Timestamps { echo, .. } if flags.ack => {
                    *echo = connection.echo(*echo, scaled).ok_or_else(|| {
                        Stop::Script(format!("TS ecr {echo}: the host has not sent this timestamp in the script"))
                    })?;
                }
                _ => {}
            }
        }
        let header = TcpHeader {
            seq: segment.start.wrapping_add(connection.remote_offset(flags.syn)),
            ack: if flags.ack { ack.wrapping_add(local) } else { ack },
            flags: wire_flags(segment),
            window: segment.window.unwrap_or(0),
            urgent: segment.urgent.unwrap_or(0),
            options,
            length: segment.length as usize,
        };
        let bytes = emit::tcp(path, ip, &header);
        connection.last_injected = Some(header);
        Ok(bytes)
    }

    // Outbound

    pub(super) fn expect(&mut self, expected: &Packet) -> Result<(), Stop> {
        let index = self.connection_of(expected)?;
        let is_syn_ack = matches!(&expected.body, Body::Tcp(segment) if segment.flags.syn && segment.flags.ack);
        if let Body::Tcp(segment) = &expected.body
            && is_syn_ack
        {
            let connection = self.connection(index)?;
            if connection.phase == Phase::SynReceived {
                connection.local_isn_script = segment.start;
            }
        }
        let wanted = payload(&expected.body);
        let mut parts: Vec<(Instant, Observed)> = Vec::new();
        let mut taken = 0;
        loop {
            let (at, observed) = self.take(index, expected, taken)?;
            if let ObservedBody::Tcp(header, _) = &observed.body {
                let connection = self.connection(index)?;
                if connection.phase == Phase::SynReceived && is_syn_ack {
                    connection.phase = Phase::SynAckSent;
                    connection.local_isn = header.seq;
                }
                connection.last_sent = Some(header.clone());
            }
            let length = observed_payload(&observed);
            if let Some((_, before)) = parts.last()
                && !continues(before, &observed, length, wanted.saturating_sub(taken))
            {
                return self.odd_parts(index, expected, &parts, (at, observed));
            }
            taken += length;
            parts.push((at, observed));
            if taken >= wanted || self.plan.options.strict_segments {
                break;
            }
        }
        let Some((at, observed)) = joined(parts) else {
            return Ok(());
        };
        self.compare(index, expected, at, &observed)
    }

    /// Returns the next packet that the host sends for a connection. Packets of other connections are passed over.
    fn take(&mut self, index: usize, expected: &Packet, taken: usize) -> Result<(Instant, Observed), Stop> {
        let end = self.now.to.unwrap_or(self.now.from);
        let latest = (self.start + end).max(self.host.now()) + patience(self.now.any);
        loop {
            while let Some((at, bytes)) = self.sent.pop_front() {
                match Observed::read(&bytes) {
                    Ok(observed) => {
                        if self.belongs(index, &observed) {
                            return Ok((at, observed));
                        }
                    }
                    Err(reason) => {
                        let at = self.script_time(at);
                        let difference = Difference::new("packet", "a packet that can be read", &reason);
                        let wanted = notation::packet(expected);
                        return Err(self.differed("outbound packet", wanted, reason, at, vec![difference]));
                    }
                }
            }
            match self.advance(latest)? {
                Some(happening) => self.note(happening)?,
                None => return Err(self.missing(expected, taken)),
            }
        }
    }

    fn missing(&mut self, expected: &Packet, taken: usize) -> Stop {
        let actual = match taken {
            0 => "no packet".to_owned(),
            _ => format!("no packet after {taken} bytes of payload"),
        };
        let difference = Difference::new("packet", "one", if taken == 0 { "none" } else { "fewer bytes" });
        let mismatch =
            self.mismatch("outbound packet".to_owned(), notation::packet(expected), actual, None, vec![difference]);
        Stop::Differed(Box::new(mismatch))
    }

    /// Reports whether a packet that the host sent belongs to a connection. The first SYN tells the host's address.
    fn belongs(&mut self, index: usize, observed: &Observed) -> bool {
        let Some(connection) = self.connections.get(index) else {
            return false;
        };
        let path = observed.path;
        let is_icmp = matches!(observed.body, ObservedBody::Icmp(..));
        match connection.outbound() {
            Some(outbound) if outbound == path => return true,
            Some(outbound) if is_icmp => {
                return outbound.source.ip() == path.source.ip() && outbound.destination.ip() == path.destination.ip();
            }
            _ => {}
        }
        // A packet of another connection, such as the SYN of a socket that the script has left.
        if self.connections.iter().any(|other| other.outbound() == Some(path)) {
            return false;
        }
        let opens = match &observed.body {
            ObservedBody::Tcp(header, _) => {
                connection.phase == Phase::SynSent
                    && header.flags.has(TcpFlags::SYN)
                    && !header.flags.has(TcpFlags::ACK)
            }
            ObservedBody::Udp(_) => {
                connection.phase == Phase::Connecting && connection.protocol == symbols::IPPROTO_UDP
            }
            ObservedBody::Icmp(..) => false,
        };
        if !opens || connection.remote != Some(path.destination) {
            return false;
        }
        let isn = match &observed.body {
            ObservedBody::Tcp(header, _) => header.seq,
            _ => 0,
        };
        self.learn_local(index, path, isn);
        true
    }

    /// Compares a packet with what the script expects.
    fn compare(&mut self, index: usize, expected: &Packet, at: Instant, observed: &Observed) -> Result<(), Stop> {
        let plan = self.plan;
        let time = self.script_time(at);
        let context = Context { options: &plan.options, elapsed: self.now.from, zeros: !self.sends_bytes };
        let connection = self.connection(index)?;
        let actual = in_script_terms(connection, expected, observed);
        let mut found = differences(&context, connection, expected, &actual, observed);
        found.extend(self.time_difference(time));
        self.step(time, self.line, notation::packet(&actual));
        if found.is_empty() {
            return Ok(());
        }
        let (wanted, sent) = (notation::packet(expected), notation::packet(&actual));
        let mismatch = self.mismatch("outbound packet".to_owned(), wanted, sent, Some(time), found);
        if plan.options.packets_not_fatal {
            self.warnings.push(mismatch);
            return Ok(());
        }
        Err(Stop::Differed(Box::new(mismatch)))
    }

    /// Several packets that together have the payload expected, but do not fit together.
    fn odd_parts(
        &mut self,
        index: usize,
        expected: &Packet,
        parts: &[(Instant, Observed)],
        last: (Instant, Observed),
    ) -> Result<(), Stop> {
        let at = self.script_time(last.0);
        let connection = self.connection(index)?;
        let mut shown = Vec::new();
        for (_, part) in parts.iter().chain([&last]) {
            shown.push(notation::packet(&in_script_terms(connection, expected, part)));
        }
        let difference = Difference::new("segments", "one, or several that follow each other", shown.len());
        Err(self.differed("outbound packet", notation::packet(expected), shown.join("; "), at, vec![difference]))
    }

    /// Returns the RST that frees a connection in the host.
    pub(super) fn reset(&self, index: usize) -> Option<Vec<u8>> {
        let connection = self.connections.get(index)?;
        if connection.protocol != symbols::IPPROTO_TCP {
            return None;
        }
        let path = connection.inbound()?;
        let acked = |header: &&TcpHeader| header.flags.has(TcpFlags::ACK);
        let injected = connection.last_injected.as_ref().filter(acked);
        let sent = connection.last_sent.as_ref();
        let (seq, ack, window) = match (injected, sent) {
            (Some(header), _) => {
                let controls = u32::from(header.flags.has(TcpFlags::SYN)) + u32::from(header.flags.has(TcpFlags::FIN));
                let length = u32::try_from(header.length).unwrap_or(0);
                (header.seq.wrapping_add(controls).wrapping_add(length), header.ack, header.window)
            }
            (None, Some(header)) if header.flags.has(TcpFlags::ACK) => (header.ack, header.seq, 0),
            (None, Some(header)) => (0, header.seq.wrapping_add(1), 0),
            (None, None) => return None,
        };
        let flags = TcpFlags::RST.with(TcpFlags::ACK);
        let header = TcpHeader { seq, ack, flags, window, ..TcpHeader::default() };
        Some(emit::tcp(path, &IpInfo::default(), &header))
    }
}

fn wire_flags(segment: &Segment) -> TcpFlags {
    let flags = segment.flags;
    let mut bits = TcpFlags::NONE.with_ace(flags.ace);
    for (is_set, bit) in [
        (flags.fin, TcpFlags::FIN),
        (flags.syn, TcpFlags::SYN),
        (flags.rst, TcpFlags::RST),
        (flags.psh, TcpFlags::PSH),
        (flags.ack, TcpFlags::ACK),
        (flags.urg, TcpFlags::URG),
    ] {
        if is_set {
            bits = bits.with(bit);
        }
    }
    bits
}

/// Payload of a packet in bytes.
fn payload(body: &Body) -> usize {
    match body {
        Body::Tcp(segment) => segment.length as usize,
        Body::Udp(datagram) => usize::from(datagram.length),
        Body::Icmp(_) => 0,
    }
}
