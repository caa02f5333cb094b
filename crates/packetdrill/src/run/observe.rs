//! Bytes to values: what a packet that the host sent says.

use super::emit::{FAST_OPEN_MAGIC, Path, TCP, TcpHeader, UDP};
use crate::syntax::TcpOption;
use narrows_wire::{Ipv4View, Ipv6View, TcpView, UdpView};
use std::net::{IpAddr, SocketAddr};

/// A packet that the host sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observed {
    /// Source and destination; ports are 0 where there are none.
    pub(super) path: Path,
    /// The TOS byte or traffic class.
    pub(super) tos: u8,
    /// TTL or hop limit.
    pub(super) ttl: u8,
    /// The flow label; 0 in IPv4.
    pub(super) flow_label: u32,
    /// Bytes of IP options or extension headers.
    pub(super) ip_options: usize,
    /// What it carries.
    pub(super) body: ObservedBody,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObservedBody {
    /// A TCP segment; the flag says that its payload is all zero.
    Tcp(TcpHeader, bool),
    /// A UDP datagram with so much payload.
    Udp(usize),
    /// An ICMP message: type, code.
    Icmp(u8, u8),
}

impl Observed {
    /// Reads a packet, or says why it cannot be read.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let is_v6 = bytes.first().is_some_and(|first| first >> 4 == 6);
        if is_v6 {
            let view = Ipv6View::new_checked(bytes).map_err(|error| error.to_string())?;
            let (src, dst) = (view.src().into(), view.dst().into());
            let (path, body) = transport(src, dst, view.protocol(), view.payload())?;
            Ok(Self {
                path,
                tos: view.dscp() << 2 | view.ecn() as u8,
                ttl: view.hop_limit(),
                flow_label: view.flow_label(),
                ip_options: view.header_len() - 40,
                body,
            })
        } else {
            let view = Ipv4View::new_checked(bytes).map_err(|error| error.to_string())?;
            view.check_checksum().map_err(|error| error.to_string())?;
            let (src, dst) = (view.src().into(), view.dst().into());
            let (path, body) = transport(src, dst, view.protocol(), view.payload())?;
            Ok(Self {
                path,
                tos: view.dscp() << 2 | view.ecn() as u8,
                ttl: view.ttl(),
                flow_label: 0,
                ip_options: view.header_len() - 20,
                body,
            })
        }
    }
}

fn transport(src: IpAddr, dst: IpAddr, protocol: u8, payload: &[u8]) -> Result<(Path, ObservedBody), String> {
    let path = |source, destination| Path {
        source: SocketAddr::new(src, source),
        destination: SocketAddr::new(dst, destination),
    };
    match protocol {
        TCP => {
            let view = TcpView::new_checked(payload).map_err(|error| error.to_string())?;
            let urgent = payload.get(18..20).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
            let header = TcpHeader {
                seq: view.seq().as_u32(),
                ack: view.ack().as_u32(),
                flags: view.flags(),
                window: view.window(),
                urgent,
                options: options(view.options())?,
                length: view.payload().len(),
            };
            let is_zero = view.payload().iter().all(|byte| *byte == 0);
            Ok((path(view.src_port(), view.dst_port()), ObservedBody::Tcp(header, is_zero)))
        }
        UDP => {
            let view = UdpView::new_checked(payload).map_err(|error| error.to_string())?;
            Ok((path(view.src_port(), view.dst_port()), ObservedBody::Udp(view.payload().len())))
        }
        _ => {
            let (kind, code) = payload.first().zip(payload.get(1)).ok_or("the ICMP message is cut off")?;
            Ok((path(0, 0), ObservedBody::Icmp(*kind, *code)))
        }
    }
}

/// Reads TCP options as they stand, `eol` and what follows it included.
fn options(mut bytes: &[u8]) -> Result<Vec<TcpOption>, String> {
    let mut options = Vec::new();
    while let Some((&kind, rest)) = bytes.split_first() {
        if kind < 2 {
            options.push(if kind == 0 { TcpOption::Eol } else { TcpOption::Nop });
            bytes = rest;
            continue;
        }
        let length = rest.first().map_or(0, |length| usize::from(*length));
        let data = bytes.get(2..length).ok_or_else(|| format!("TCP option {kind} has the wrong length {length}"))?;
        options.push(option(kind, data));
        bytes = &bytes[length..];
    }
    Ok(options)
}

fn option(kind: u8, data: &[u8]) -> TcpOption {
    let word = |at: usize| data.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    match (kind, data) {
        (2, [a, b]) => TcpOption::Mss(u16::from_be_bytes([*a, *b])),
        (3, [shift]) => TcpOption::WindowScale(*shift),
        (4, []) => TcpOption::SackPermitted,
        (5, _) if !data.is_empty() && data.len().is_multiple_of(8) => {
            TcpOption::Sack((0..data.len() / 8).map(|block| (word(8 * block), word(8 * block + 4))).collect())
        }
        (8, _) if data.len() == 8 => TcpOption::Timestamps { value: word(0), echo: word(4) },
        (19, _) => TcpOption::Md5(data.to_vec()),
        (34, _) => TcpOption::FastOpen(data.to_vec()),
        (172 | 174, _) if data.len().is_multiple_of(3) && data.len() <= 9 => TcpOption::AccEcn {
            ect1_first: kind == 174,
            counters: data.chunks_exact(3).map(|c| u32::from_be_bytes([0, c[0], c[1], c[2]])).collect(),
        },
        (254, [a, b, cookie @ ..]) if u16::from_be_bytes([*a, *b]) == FAST_OPEN_MAGIC => {
            TcpOption::FastOpenExperimental(cookie.to_vec())
        }
        _ => TcpOption::Unknown { kind, data: data.to_vec() },
    }
}
