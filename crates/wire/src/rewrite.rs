//! Applies a router's changes of packet headers to the packet's bytes.
//!
//! The engine hands packets to router agents as values. A [`Packet`] does not hold the payload and the unknown options
//! of a real packet, so there an agent's work is the difference between the packet read from the bytes and the packet
//! as the agent left it. [`rewrite`] applies that difference to the bytes and changes nothing else.

use crate::{Ip, Ipv4Repr, Ipv4View, Ipv6Repr, Ipv6View, Packet, TcpRepr, TcpView, Transport};
use core::fmt;

/// The largest total length of an IPv4 packet.
const LONGEST: usize = 0xffff;

/// Why a change of a packet cannot be applied to its bytes. The bytes are then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteError {
    /// The bytes are not those that the packet was read from.
    OtherPacket,
    /// A field differs that only the end hosts of a connection may write.
    Fixed {
        /// The first such field.
        field: &'static str,
    },
    /// The packet has become longer than its length field allows.
    TooLong {
        /// Length that it would have, in bytes.
        len: usize,
    },
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OtherPacket => f.write_str("the bytes are those of another packet than the one before the change"),
            Self::Fixed { field } => write!(
                f,
                "the {field} differs: allowed are changes of DSCP, ECN, TTL or hop limit, IPv4's reserved flag and \
                 options, IPv6's flow label and hop-by-hop data, TCP's flags and window"
            ),
            Self::TooLong { len } => {
                write!(f, "the IPv4 packet would be {len} bytes long: allowed are up to {LONGEST}")
            }
        }
    }
}

impl core::error::Error for RewriteError {}

/// Applies the difference between `before` and `after` to the bytes of an IP packet. `before` was read from the bytes
/// by [`Packet::parse`] or [`Packet::parse_unchecked`]; read again, the bytes give `after`.
///
/// The fields that may change are DSCP, ECN field, TTL or hop limit; in IPv4 the reserved flag and the option area,
/// which may grow or shrink; in IPv6 the flow label and the data of the hop-by-hop option, which must exist already (a
/// router may not insert an extension header: RFC 8200, section 4); in TCP the flags and the window. Only the lower
/// bits of values beyond their field are used, as in [`Packet::emit`].
///
/// All other bytes stay: payload, TCP options, urgent pointer, hop-by-hop options that Narrows does not know, and bytes
/// after the packet (link padding). The padding moves with the packet's end, and the caller may cut it.
///
/// Checksums are updated by the difference (RFC 1624) and never recomputed, so that a packet that was damaged earlier
/// does not look intact: a correct checksum stays correct, and a wrong one stays wrong by as much.
///
/// # Errors
/// [`RewriteError`]; the bytes are then unchanged.
pub fn rewrite(bytes: &mut Vec<u8>, before: &Packet, after: &Packet) -> Result<(), RewriteError> {
    if before == after {
        return Ok(());
    }
    if Packet::parse_unchecked(bytes) != Ok(*before) {
        return Err(RewriteError::OtherPacket);
    }
    if let Some(field) = fixed_field(before, after) {
        return Err(RewriteError::Fixed { field });
    }
    match (&before.ip, &after.ip) {
        (Ip::V4(before), Ip::V4(after)) => rewrite_ipv4(bytes, before, after)?,
        (Ip::V6(before), Ip::V6(after)) => rewrite_ipv6(bytes, before, after),
        _ => return Err(RewriteError::Fixed { field: "IP version" }),
    }
    if let (Transport::Tcp(before), Transport::Tcp(after)) = (&before.transport, &after.transport) {
        rewrite_tcp(bytes, before, after);
    }
    Ok(())
}

/// The first field that differs although it may not change.
fn fixed_field(before: &Packet, after: &Packet) -> Option<&'static str> {
    let ip: &[(&'static str, bool)] = match (&before.ip, &after.ip) {
        (Ip::V4(a), Ip::V4(b)) => &[
            ("IPv4 source address", a.src == b.src),
            ("IPv4 destination address", a.dst == b.dst),
            ("IPv4 Don't Fragment flag", a.dont_fragment == b.dont_fragment),
            ("IPv4 identification", a.ident == b.ident),
        ],
        (Ip::V6(a), Ip::V6(b)) => &[
            ("IPv6 source address", a.src == b.src),
            ("IPv6 destination address", a.dst == b.dst),
            ("kind of the IPv6 hop-by-hop option", a.hop_by_hop.map(|o| o.kind) == b.hop_by_hop.map(|o| o.kind)),
        ],
        _ => &[("IP version", false)],
    };
    let transport: &[(&'static str, bool)] = match (&before.transport, &after.transport) {
        (Transport::Tcp(a), Transport::Tcp(b)) => &[
            ("TCP source port", a.src_port == b.src_port),
            ("TCP destination port", a.dst_port == b.dst_port),
            ("TCP sequence number", a.seq == b.seq),
            ("TCP acknowledgment number", a.ack == b.ack),
            ("TCP options", a.options == b.options),
        ],
        (Transport::Udp(a), Transport::Udp(b)) => &[("UDP header", a == b)],
        _ => &[("protocol above IP", false)],
    };
    let payload = [("payload length", before.payload_len == after.payload_len)];
    ip.iter().chain(transport).chain(&payload).find(|(_, same)| !same).map(|&(field, _)| field)
}

/// The only step that can fail; it fails before it writes.
fn rewrite_ipv4(bytes: &mut Vec<u8>, before: &Ipv4Repr, after: &Ipv4Repr) -> Result<(), RewriteError> {
    let Ok(mut view) = Ipv4View::new_checked(bytes) else { return Err(RewriteError::OtherPacket) };
    if after.options != before.options {
        let len = view.total_len() - before.options.len() + after.options.len();
        if !view.set_options(&after.options) {
            return Err(RewriteError::TooLong { len });
        }
    }
    if after.dscp != before.dscp {
        view.set_dscp(after.dscp);
    }
    if after.ecn != before.ecn {
        view.set_ecn(after.ecn);
    }
    if after.reserved_flag != before.reserved_flag {
        view.set_reserved_flag(after.reserved_flag);
    }
    if after.ttl != before.ttl {
        view.set_ttl(after.ttl);
    }
    Ok(())
}

fn rewrite_ipv6(bytes: &mut [u8], before: &Ipv6Repr, after: &Ipv6Repr) {
    let Ok(mut view) = Ipv6View::new_checked(bytes) else { return };
    view.set_dscp(after.dscp);
    view.set_ecn(after.ecn);
    view.set_flow_label(after.flow_label);
    view.set_hop_limit(after.hop_limit);
    if let Some(option) = after.hop_by_hop
        && after.hop_by_hop != before.hop_by_hop
    {
        view.set_hop_by_hop_data(option.data);
    }
}

fn rewrite_tcp(bytes: &mut [u8], before: &TcpRepr, after: &TcpRepr) {
    let change = |segment: &mut [u8]| {
        let Ok(mut view) = TcpView::new_checked(segment) else { return };
        if after.flags != before.flags {
            view.set_flags(after.flags);
        }
        if after.window != before.window {
            view.set_window(after.window);
        }
    };
    if bytes.first().is_some_and(|byte| byte >> 4 == 4) {
        if let Ok(mut view) = Ipv4View::new_checked(bytes) {
            change(view.payload_mut());
        }
    } else if let Ok(mut view) = Ipv6View::new_checked(bytes) {
        change(view.payload_mut());
    }
}
