//! Segments that may be pieces of one: a host splits what a script shows as one super-segment (GSO).

use super::observe::{Observed, ObservedBody};
use crate::syntax::TcpOption;
use narrows_units::Instant;
use narrows_wire::TcpFlags;

/// Payload of a packet that the host sent, in bytes.
pub(super) fn observed_payload(observed: &Observed) -> usize {
    match &observed.body {
        ObservedBody::Tcp(header, _) => header.length,
        ObservedBody::Udp(length) => *length,
        ObservedBody::Icmp(..) => 0,
    }
}

/// Reports whether a segment carries on where the one before ended, so that both may be one segment that was split:
/// equal but for FIN, PSH and CWR, and equally long unless it is the last.
pub(super) fn continues(before: &Observed, next: &Observed, length: usize, missing: usize) -> bool {
    let (ObservedBody::Tcp(a, _), ObservedBody::Tcp(b, _)) = (&before.body, &next.body) else {
        return false;
    };
    let varying = TcpFlags::FIN.with(TcpFlags::PSH).with(TcpFlags::CWR);
    let same_flags = a.flags.without(varying) == b.flags.without(varying);
    let follows = a.seq.wrapping_add(u32::try_from(a.length).unwrap_or(0)) == b.seq;
    let same_length = length >= missing || length == a.length;
    let kinds = |options: &[TcpOption]| options.iter().map(TcpOption::wire_length).sum::<usize>();
    same_flags && follows && same_length && a.ack == b.ack && kinds(&a.options) == kinds(&b.options)
}

/// Joins segments to the one that they were: headers of the last, sequence number and CWR of the first.
pub(super) fn joined(parts: Vec<(Instant, Observed)>) -> Option<(Instant, Observed)> {
    let total: usize = parts.iter().map(|(_, part)| observed_payload(part)).sum();
    let all_zero = parts.iter().all(|(_, part)| matches!(part.body, ObservedBody::Tcp(_, true)));
    let first = parts.first().map(|(_, part)| part.clone())?;
    let (at, mut last) = parts.into_iter().next_back()?;
    if let (ObservedBody::Tcp(header, zero), ObservedBody::Tcp(first, _)) = (&mut last.body, &first.body) {
        let cwr = if first.flags.has(TcpFlags::CWR) { TcpFlags::CWR } else { TcpFlags::NONE };
        header.flags = header.flags.without(TcpFlags::CWR).with(cwr);
        header.seq = first.seq;
        header.length = total;
        *zero = all_zero;
    }
    Some((at, last))
}
