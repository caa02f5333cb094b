//! Packets: IP fields, TCP segments with their options, UDP datagrams, ICMP messages.

use super::{Builder, Node};
use crate::syntax::error::ScriptError;
use crate::syntax::parser::Rule;
use crate::syntax::{
    Body, Datagram, Direction, Echoed, Flags, Icmp, IpInfo, Packet, Ports, Segment, TcpOption, TcpOptions, Tos,
};

/// Most bytes of TCP options: the header has at most 60.
const MAX_OPTION_BYTES: usize = 40;

/// Bytes of the headers of IPv4 and TCP without options.
const HEADERS: usize = 40;

impl Builder<'_> {
    pub(super) fn packet(&self, node: Node<'_>) -> Result<Packet, ScriptError> {
        let at = node.as_span().start();
        let mut direction = Direction::Inbound;
        let mut ip = IpInfo::default();
        for part in node.into_inner() {
            match part.as_rule() {
                Rule::direction if part.as_str() == ">" => direction = Direction::Outbound,
                Rule::ip_info => ip = self.ip_info(part, direction)?,
                Rule::tcp => {
                    let body = Body::Tcp(self.segment(part, direction)?);
                    return Ok(Packet { direction, ip, body });
                }
                Rule::udp => {
                    let body = Body::Udp(self.datagram(part)?);
                    return Ok(Packet { direction, ip, body });
                }
                Rule::icmp => {
                    let body = Body::Icmp(self.icmp(part)?);
                    return Ok(Packet { direction, ip, body });
                }
                _ => {}
            }
        }
        Err(self.missing(at))
    }

    fn ip_info(&self, node: Node<'_>, direction: Direction) -> Result<IpInfo, ScriptError> {
        let mut info = IpInfo::default();
        for field in node.into_inner() {
            let field = self.first(field)?;
            match field.as_rule() {
                Rule::ecn => {
                    let tos = match field.as_str() {
                        "noecn" => Tos::Ecn(0),
                        "ect1" => Tos::Ecn(1),
                        "ect0" => Tos::Ecn(2),
                        "ce" => Tos::Ecn(3),
                        _ if direction == Direction::Inbound => {
                            return Err(self.error(&field, "`ect01` is for packets from the host (`>`) only"));
                        }
                        _ => Tos::AnyEct,
                    };
                    info.tos = Some(tos);
                }
                Rule::tos => info.tos = Some(Tos::Byte(self.u8(&self.first(field)?, "the TOS byte")?)),
                Rule::ttl => info.ttl = Some(self.u8(&self.first(field)?, "the TTL")?),
                Rule::flow_label => {
                    let value = self.first(field)?;
                    let label = self.u32(&value, "the flow label")?;
                    if label >> 20 != 0 {
                        return Err(self.error(&value, "the flow label has 20 bits: 0x0 to 0xfffff"));
                    }
                    info.flow_label = Some(label);
                }
                _ => {}
            }
        }
        Ok(info)
    }

    fn segment(&self, node: Node<'_>, direction: Direction) -> Result<Segment, ScriptError> {
        let at = node.as_span().start();
        let mut segment = Segment {
            ports: None,
            flags: Flags::default(),
            start: 0,
            length: 0,
            ack: None,
            window: None,
            urgent: None,
            options: TcpOptions::List(Vec::new()),
        };
        for part in node.into_inner() {
            match part.as_rule() {
                Rule::ports => segment.ports = Some(self.ports(part)?),
                Rule::flags => segment.flags = self.flags(&part)?,
                Rule::sequence => (segment.start, segment.length) = self.sequence(part)?,
                Rule::ack => segment.ack = Some(self.u32(&self.first(part)?, "the acknowledgment number")?),
                Rule::window => segment.window = Some(self.u16(&self.first(part)?, "the window")?),
                Rule::urgent => segment.urgent = Some(self.u16(&self.first(part)?, "the urgent pointer")?),
                Rule::tcp_options => segment.options = self.tcp_options(part, direction)?,
                _ => {}
            }
        }
        let options = match &segment.options {
            TcpOptions::List(list) => list.iter().map(TcpOption::wire_length).sum(),
            TcpOptions::Any => 0,
        };
        if segment.length as usize + HEADERS + options > usize::from(u16::MAX) {
            return Err(self.error_at(at, "the packet is longer than 65535 bytes with its headers"));
        }
        if direction == Direction::Inbound && segment.window.is_none() {
            return Err(self.error_at(at, "a packet to the host needs its window (`win`)"));
        }
        Ok(segment)
    }

    fn ports(&self, node: Node<'_>) -> Result<Ports, ScriptError> {
        let at = node.as_span().start();
        let mut parts = node.into_inner();
        let (source, destination) = parts.next().zip(parts.next()).ok_or_else(|| self.missing(at))?;
        Ok(Ports { source: self.u16(&source, "the port")?, destination: self.u16(&destination, "the port")? })
    }

    fn flags(&self, node: &Node<'_>) -> Result<Flags, ScriptError> {
        let mut flags = Flags::default();
        let mut letters = 0;
        for c in node.as_str().chars() {
            match c {
                'F' => flags.fin = true,
                'S' => flags.syn = true,
                'R' => flags.rst = true,
                'P' => flags.psh = true,
                'U' => flags.urg = true,
                '.' => flags.ack = true,
                'A' | 'W' | 'E' => {
                    flags.ace |= match c {
                        'A' => 4,
                        'W' => 2,
                        _ => 1,
                    };
                    letters += 1;
                }
                '0'..='7' if !flags.ace_as_number => {
                    flags.ace_as_number = true;
                    flags.ace = (c as u8) - b'0';
                }
                '-' if node.as_str() == "-" => {}
                _ => {
                    return Err(self.error(
                        node,
                        format!("`{c}` is no TCP flag; flags are `.` and `FSRPUEWA`, or one digit 0 to 7 for ACE"),
                    ));
                }
            }
        }
        if flags.ace_as_number && letters > 0 {
            return Err(self.error(node, "ACE is given both as a digit and as flags of `EWA`"));
        }
        Ok(flags)
    }

    /// Reads `first:last(length)` as first and length.
    fn sequence(&self, node: Node<'_>) -> Result<(u32, u32), ScriptError> {
        let at = node.as_span().start();
        let numbers: Vec<Node<'_>> = node.into_inner().collect();
        let [first, last, length] = &numbers[..] else {
            return Err(self.missing(at));
        };
        let (start, end) = (self.u32(first, "the sequence number")?, self.u32(last, "the sequence number")?);
        let length = u32::from(self.u16(length, "the length of the payload")?);
        if start.wrapping_add(length) != end {
            return Err(self.error_at(at, format!("the payload of {length} bytes does not end at {end}")));
        }
        Ok((start, length))
    }

    fn tcp_options(&self, node: Node<'_>, direction: Direction) -> Result<TcpOptions, ScriptError> {
        let at = node.as_span().start();
        let mut options = Vec::new();
        for part in node.into_inner() {
            if part.as_rule() == Rule::ellipsis {
                return if direction == Direction::Outbound {
                    Ok(TcpOptions::Any)
                } else {
                    Err(self.error(&part, "`<...>` is for packets from the host (`>`) only"))
                };
            }
            options.push(self.tcp_option(self.first(part)?)?);
        }
        let length: usize = options.iter().map(TcpOption::wire_length).sum();
        if length > MAX_OPTION_BYTES {
            return Err(self.error_at(at, format!("the options have {length} bytes; TCP allows {MAX_OPTION_BYTES}")));
        }
        if !length.is_multiple_of(4) {
            return Err(self.error_at(
                at,
                format!("the options have {length} bytes; fill them with `nop` or `eol` to a multiple of 4"),
            ));
        }
        Ok(TcpOptions::List(options))
    }

    fn tcp_option(&self, node: Node<'_>) -> Result<TcpOption, ScriptError> {
        let at = node.as_span().start();
        let rule = node.as_rule();
        let parts: Vec<Node<'_>> = node.into_inner().collect();
        let first = || parts.first().ok_or_else(|| self.missing(at));
        Ok(match rule {
            Rule::nop => TcpOption::Nop,
            Rule::eol => TcpOption::Eol,
            Rule::mss => TcpOption::Mss(self.u16(first()?, "the MSS")?),
            Rule::window_scale => TcpOption::WindowScale(self.u8(first()?, "the shift")?),
            Rule::sack_permitted => TcpOption::SackPermitted,
            Rule::sack => TcpOption::Sack(parts.into_iter().map(|block| self.block(block)).collect::<Result<_, _>>()?),
            Rule::timestamps => {
                let echo = parts.get(1).ok_or_else(|| self.missing(at))?;
                TcpOption::Timestamps {
                    value: self.u32(first()?, "the timestamp")?,
                    echo: self.u32(echo, "the timestamp echo")?,
                }
            }
            Rule::fast_open => TcpOption::FastOpen(self.bytes(parts.get(1))?),
            Rule::fast_open_experimental => TcpOption::FastOpenExperimental(self.bytes(parts.get(1))?),
            Rule::md5 => TcpOption::Md5(self.bytes(parts.first())?),
            Rule::accecn => self.accecn(at, parts)?,
            _ => return Err(self.missing(at)),
        })
    }

    fn block(&self, node: Node<'_>) -> Result<(u32, u32), ScriptError> {
        let at = node.as_span().start();
        let mut parts = node.into_inner();
        let (left, right) = parts.next().zip(parts.next()).ok_or_else(|| self.missing(at))?;
        Ok((self.u32(&left, "the left edge")?, self.u32(&right, "the right edge")?))
    }

    fn bytes(&self, node: Option<&Node<'_>>) -> Result<Vec<u8>, ScriptError> {
        let Some(node) = node else {
            return Ok(Vec::new());
        };
        let text = node.as_str().as_bytes();
        if text.len() % 2 != 0 && text.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.error(node, format!("`{}` has an odd number of hexadecimal digits", node.as_str())));
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        text.chunks_exact(2)
            .map(|pair| Some((digit(pair[0])? << 4) | digit(pair[1])?))
            .collect::<Option<Vec<u8>>>()
            .filter(|_| text.len() % 2 == 0)
            .ok_or_else(|| {
                self.error(
                    node,
                    format!("`{}` is neither hexadecimal nor a defined word (`-D WORD=DIGITS`)", node.as_str()),
                )
            })
    }

    /// Reads AccECN's counters. Their order is `e0b ceb e1b` or `e1b ceb e0b` (RFC 9768, section 3.2.3), cut anywhere.
    fn accecn(&self, at: usize, parts: Vec<Node<'_>>) -> Result<TcpOption, ScriptError> {
        let (mut names, mut counters) = (Vec::new(), Vec::new());
        for counter in parts {
            let mut fields = counter.into_inner();
            let (name, value) = fields.next().zip(fields.next()).ok_or_else(|| self.missing(at))?;
            let number = self.u32(&value, "the counter")?;
            if number >> 24 != 0 {
                return Err(self.error(&value, "AccECN's counters have 24 bits: 0 to 16777215"));
            }
            names.push(name.as_str());
            counters.push(number);
        }
        let orders = [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]];
        match orders.iter().position(|order| order.starts_with(&names)) {
            Some(order) if !names.is_empty() => Ok(TcpOption::AccEcn { ect1_first: order == 1, counters }),
            _ => Err(self.error_at(at, "AccECN's counters are `e0b ceb e1b` or `e1b ceb e0b`, or the first of them")),
        }
    }

    fn datagram(&self, node: Node<'_>) -> Result<Datagram, ScriptError> {
        let mut datagram = Datagram { ports: None, length: 0 };
        for part in node.into_inner() {
            match part.as_rule() {
                Rule::ports => datagram.ports = Some(self.ports(part)?),
                Rule::number => datagram.length = self.u16(&part, "the length of the payload")?,
                _ => {}
            }
        }
        Ok(datagram)
    }

    fn icmp(&self, node: Node<'_>) -> Result<Icmp, ScriptError> {
        let mut icmp = Icmp { kind: String::new(), code: None, mtu: None, id: None, echoed: Echoed::Default };
        for part in node.into_inner() {
            match part.as_rule() {
                Rule::icmp_type => icmp.kind = part.as_str().to_owned(),
                Rule::icmp_code => icmp.code = Some(part.as_str().to_owned()),
                Rule::icmp_mtu => icmp.mtu = Some(self.u32(&self.first(part)?, "the MTU")?),
                Rule::icmp_id => icmp.id = Some(self.u16(&self.first(part)?, "the identifier")?),
                Rule::echoed => icmp.echoed = self.echoed(self.first(part)?)?,
                _ => {}
            }
        }
        Ok(icmp)
    }

    fn echoed(&self, node: Node<'_>) -> Result<Echoed, ScriptError> {
        match node.as_rule() {
            Rule::echoed_udp => Ok(Echoed::Udp(self.u16(&self.first(node)?, "the length of the payload")?)),
            Rule::echoed_raw => Ok(Echoed::Raw(self.u16(&self.first(node)?, "the length")?)),
            _ => {
                let (start, length) = self.sequence(node)?;
                Ok(Echoed::Tcp { start, length })
            }
        }
    }
}
