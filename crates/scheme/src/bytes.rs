//! Router agents on real packets: bytes in, bytes out.
//!
//! A router agent sees a [`Packet`]. In a simulator that is the packet itself. Here the headers are read from bytes and
//! shown to the same agent, and [`rewrite`] copies the agent's changes back. A live bottleneck and a simulated one
//! therefore run the same code.
//!
//! - The payload is never read. A wrong checksum stays wrong (RFC 1624). A caller that must detect damage checks
//!   before, as a kernel checks the header checksum before it forwards.
//! - Fragments, ICMP, other protocols and bytes that are no packet return an error and are not changed. They do not
//!   concern agents, and the caller forwards them.
//! - The packet length that an agent sees does not include TCP options, IPv6 hop-by-hop options and bytes behind a
//!   datagram that Narrows does not know, since a [`Packet`] does not hold them.

use crate::{Port, RouterAgent};
use narrows_queue::{QueueView, Verdict};
use narrows_units::Instant;
use narrows_wire::{Packet, ParseError, RewriteError, rewrite};
use thiserror::Error;

/// Why a packet's bytes were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BytesError {
    /// The bytes are no packet that an agent could see; the agent was not called.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The agent saw the packet and changed it in a way that does not fit its bytes. The agent's own counters may
    /// include the change.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

/// Shows an IP packet that is about to enter the queue at `port` to the agent ([`RouterAgent::on_packet`]), and applies
/// the agent's changes of the headers to its bytes, which may grow. Returns the agent's verdict. The bytes of a dropped
/// packet are not changed; marking is left to the caller, as in the engine.
///
/// # Errors
/// [`BytesError`]; the bytes are then unchanged, and the caller forwards the packet.
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

/// Shows an IP packet that leaves the queue at `port` to the agent ([`RouterAgent::on_departure`]), and applies the
/// agent's changes of the headers to its bytes, which may grow. Does nothing if the agent does not see departures.
///
/// # Errors
/// [`BytesError`]; the bytes are then unchanged, and the caller forwards the packet.
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
