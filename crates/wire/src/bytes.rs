//! Conversion of packets to bytes and back.

use crate::{
    Ip, Ipv4Repr, Ipv4View, Ipv6Repr, Ipv6View, Packet, ParseError, Protocol, TcpRepr, TcpView, Transport, UdpRepr,
    UdpView,
};
use core::net::IpAddr;

/// The largest value of a 16-bit length field.
const MAX_LEN: usize = 0xffff;

/// Whether a wrong checksum is an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checksums {
    Checked,
    Ignored,
}

impl Packet {
    /// Reads an IP packet. Ignores bytes past the packet's own length (link padding), TCP options and hop-by-hop
    /// options that Narrows does not know, and the payload's contents. Keeps IPv4 options as they are.
    ///
    /// # Errors
    /// [`ParseError`] for the first error found, checksums included.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        parse(bytes, Checksums::Checked)
    }

    /// Reads an IP packet without checking checksums, for captures made on the sending host before the network card
    /// fills them in.
    ///
    /// # Errors
    /// [`ParseError`] for the first error found, checksums excluded.
    pub fn parse_unchecked(bytes: &[u8]) -> Result<Self, ParseError> {
        parse(bytes, Checksums::Ignored)
    }

    /// Whether the packet's bytes are read back as the same packet: codepoint and flow label within their bits, a
    /// hop-by-hop option that is not padding, SACK blocks that fit, and no length beyond 16 bits.
    #[must_use]
    pub fn fits(&self) -> bool {
        let ip = match &self.ip {
            Ip::V4(h) => h.dscp < 64,
            Ip::V6(h) => h.dscp < 64 && h.flow_label < 1 << 20 && h.hop_by_hop.is_none_or(|o| o.kind > 1),
        };
        let options = self.tcp().is_none_or(|h| h.options.fits());
        ip && options && self.payload_len as usize == self.emitted_payload_len()
    }

    /// Returns the IP packet as bytes, with a payload of zeros and correct lengths and checksums.
    ///
    /// A packet that does not [fit](Self::fits) is reduced to what does: values are masked to their fields, and SACK
    /// blocks without room and payload beyond the 16-bit lengths are left out.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.ip.header_len() + self.transport_len() + self.emitted_payload_len());
        self.emit_into(&mut out);
        out
    }

    /// Appends the bytes of [`emit`](Self::emit).
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        self.emit_headers_into(out);
        let payload = self.emitted_payload_len();
        let end = out.len() + payload;
        if let Transport::Udp(header) = &self.transport
            && let Some(rtp) = header.rtp_in(payload)
        {
            out.extend_from_slice(&rtp);
        }
        out.resize(end, 0);
    }

    /// Appends the headers alone; lengths and checksums are those of the whole packet, as in a capture that truncates
    /// packets.
    pub fn emit_headers_into(&self, out: &mut Vec<u8>) {
        let payload = self.emitted_payload_len();
        let above = self.transport_len() + payload;
        let protocol = self.transport.protocol();
        let (src, dst): (IpAddr, IpAddr) = match &self.ip {
            Ip::V4(h) => {
                h.emit_into(protocol, above, out);
                (h.src.into(), h.dst.into())
            }
            Ip::V6(h) => {
                h.emit_into(protocol, above, out);
                (h.src.into(), h.dst.into())
            }
        };
        match &self.transport {
            Transport::Tcp(h) => h.emit_into(src, dst, payload, out),
            Transport::Udp(h) => h.emit_into(src, dst, payload, out),
        }
    }

    /// Payload bytes that fit in the 16-bit lengths.
    fn emitted_payload_len(&self) -> usize {
        // IPv4 counts its own header, IPv6 only what follows the fixed 40 bytes.
        let counted = match &self.ip {
            Ip::V4(_) => self.ip.header_len(),
            Ip::V6(_) => self.ip.header_len() - 40,
        };
        (self.payload_len as usize).min(MAX_LEN - counted - self.transport_len())
    }
}

fn parse(bytes: &[u8], checksums: Checksums) -> Result<Packet, ParseError> {
    let Some(first) = bytes.first() else {
        return Err(ParseError::Truncated { protocol: Protocol::Ip, needed: 20, have: 0 });
    };
    match first >> 4 {
        4 => {
            let view = Ipv4View::new_checked(bytes)?;
            if checksums == Checksums::Checked {
                view.check_checksum()?;
            }
            let ip = Ip::V4(Ipv4Repr::from_view(&view)?);
            parse_transport(ip, view.protocol(), view.payload(), checksums)
        }
        6 => {
            let view = Ipv6View::new_checked(bytes)?;
            let ip = Ip::V6(Ipv6Repr::from_view(&view)?);
            parse_transport(ip, view.protocol(), view.payload(), checksums)
        }
        version => Err(ParseError::BadVersion { version }),
    }
}

fn parse_transport(ip: Ip, protocol: u8, bytes: &[u8], checksums: Checksums) -> Result<Packet, ParseError> {
    let (transport, payload) = match protocol {
        6 => {
            let view = TcpView::new_checked(bytes)?;
            if checksums == Checksums::Checked {
                view.check_checksum(ip.src(), ip.dst())?;
            }
            (Transport::Tcp(TcpRepr::from_view(&view)?), view.payload().len())
        }
        17 => {
            let view = UdpView::new_checked(bytes)?;
            if checksums == Checksums::Checked {
                view.check_checksum(ip.src(), ip.dst())?;
            }
            (Transport::Udp(UdpRepr::from_view(&view)), view.payload().len())
        }
        number => return Err(ParseError::UnsupportedProtocol { number }),
    };
    // A payload is at most 65,535 bytes: the length fields checked above are 16 bits wide.
    Ok(Packet { ip, transport, payload_len: payload as u32 })
}
