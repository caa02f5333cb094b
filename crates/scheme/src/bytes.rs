//! Router agents on real packets: bytes in, bytes out.
//!
//! A router agent sees a [`Packet`]; in a simulator that is the packet. Here the packet is read from bytes, headers only,
//! shown to the same agent, and what the agent changed is carried back by [`rewrite`]. So a live bottleneck and a simulated
//! one run the same code.
//!
//! - Payload is never looked at. A checksum that was wrong stays wrong (RFC 1624): who cares about damage checks before,
//!   as a kernel does with the header checksum before it forwards.
//! - Fragments, ICMP, other protocols and bytes that are no packet give an error and are not changed: they are no business
//!   of an agent's, and the caller lets them pass.
//! - The length that an agent takes for that of the packet is without TCP options, IPv6 hop-by-hop options and bytes
//!   behind a datagram that Narrows does not know, since a [`Packet`] does not hold them.

use crate::{Port, RouterAgent};
use narrows_queue::{QueueView, Verdict};
use narrows_units::Instant;
use narrows_wire::{Packet, ParseError, RewriteError, rewrite};
use thiserror::Error;

/// Why an agent has not touched a packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BytesError {
    /// They are no packet that an agent could be shown; none was.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The agent was shown the packet and changed it in a way that does not fit its bytes. The agent's own books
    /// may count the change.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

/// Shows an IP packet that is about to enter the queue at `port` to the agent ([`RouterAgent::on_packet`]), and changes
/// its bytes as the agent changed its headers; they may grow. Returns what the agent says of it; the bytes of a packet
/// that is to be dropped are not changed, and marking is left to the caller as it is in the engine.
///
/// # Errors
/// [`BytesError`]; the bytes are then unchanged, and the packet is to pass.
pub fn on_bytes(
    agent: &mut dyn RouterAgent,
    bytes: &mut Vec<u8>,
    port: Port,
    queue: &QueueView,
    now: Instant,
) -> Result<Verdict, BytesError> {
    let before = Packet::parse_unchecked(bytes)?;
    let mut after = before;
    let verdict = agent.on_packet(&mut after, port, queue, now);
    if !matches!(verdict, Verdict::Drop(_)) {
        rewrite(bytes, &before, &after)?;
    }
    Ok(verdict)
}

/// Shows an IP packet that leaves the queue at `port` to the agent ([`RouterAgent::on_departure`]), and changes its bytes
/// as the agent changed its headers; they may grow. Does nothing where the agent does not see departures.
///
/// # Errors
/// [`BytesError`]; the bytes are then unchanged, and the packet is to pass.
pub fn on_departing_bytes(
    agent: &mut dyn RouterAgent,
    bytes: &mut Vec<u8>,
    port: Port,
    queue: &QueueView,
    now: Instant,
) -> Result<(), BytesError> {
    if !agent.sees_departures() {
        return Ok(());
    }
    let before = Packet::parse_unchecked(bytes)?;
    let mut after = before;
    agent.on_departure(&mut after, port, queue, now);
    Ok(rewrite(bytes, &before, &after)?)
}
